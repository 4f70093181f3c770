//! IDX files, the form MNIST comes in: numbers in an array of any dimensions, plain or gzip.
//!
//! ```text
//! 0 0 kind dimensions   4 bytes; kind 8: u8, 9: i8, 11: i16, 12: i32, 13: f32, 14: f64
//! length of each        u32, big-endian like all numbers
//! values                the last dimension fastest
//! ```
//!
//! The first dimension counts rows; the others become columns, `pixel_3_17` for images. A file of one dimension is a
//! column `label`. Bytes of images come as shares of 255.

use super::{check_room, too_large};
use crate::table::{Column, Table};
use ermine::{Error, Result};
use flate2::read::MultiGzDecoder;
use std::{fs::File, io::Read, path::Path};

/// Whether the file begins as an IDX file does, once unpacked. CSV never begins with a zero byte.
pub fn is_idx(path: &Path) -> Result<bool> {
    if path == Path::new("-") {
        return Ok(false);
    }
    let mut start = [0; 4];
    // What cannot be unpacked is for the other readers to complain about.
    Ok(open(path)?.read_exact(&mut start).is_ok() && width(&start).is_some())
}

/// What the first bytes say.
struct Layout {
    kind: u8,
    width: usize,
    lengths: Vec<usize>,
    rows: usize,
    cols: usize,
}

impl Layout {
    fn read(path: &Path, input: &mut dyn Read) -> Result<Layout> {
        let damaged = |problem: &str| Error::format(path, None, format!("not a whole IDX file: {problem}"));
        let mut start = [0; 4];
        input.read_exact(&mut start).map_err(|_| damaged("it ends in the first 4 bytes"))?;
        let width = width(&start).ok_or_else(|| damaged("it does not begin as one"))?;
        let mut lengths = vec![0; usize::from(start[3])];
        for length in &mut lengths {
            let mut bytes = [0; 4];
            input.read_exact(&mut bytes).map_err(|_| damaged("it ends in the lengths"))?;
            *length = u32::from_be_bytes(bytes) as usize;
        }
        let cols = lengths[1..].iter().try_fold(1usize, |total, length| total.checked_mul(*length));
        let (rows, cols) = (lengths[0], cols.ok_or_else(|| damaged("more columns are announced than there can be"))?);
        // Nothing times anything is no data either: no column is made for it.
        if rows == 0 || cols == 0 {
            return Err(damaged(&format!("{lengths:?} values are announced, which is none")));
        }
        Ok(Layout { kind: start[2], width, lengths, rows, cols })
    }

    /// Bytes of all values, if each takes `width`.
    fn bytes(&self, width: usize) -> u64 {
        (self.rows as u64).saturating_mul(self.cols as u64).saturating_mul(width as u64)
    }
}

/// Bytes of the table that [`read`] makes.
pub(crate) fn decoded_bytes(path: &Path) -> Result<u64> {
    Ok(Layout::read(path, &mut open(path)?)?.bytes(8))
}

pub fn read(path: &Path, memory: u64) -> Result<Table> {
    let mut input = open(path)?;
    let layout = Layout::read(path, &mut input)?;
    let (Layout { width, lengths, rows, cols, .. }, expected) = (&layout, layout.bytes(layout.width));
    let (width, rows, cols) = (*width, *rows, *cols);
    let damaged = |problem: String| Error::format(path, None, format!("not a whole IDX file: {problem}"));
    let mut values = Vec::new();
    // What is announced is not believed: values are read before anything is made for them.
    let most = expected.saturating_add(1).min(memory.saturating_add(1));
    input.take(most).read_to_end(&mut values).map_err(|error| Error::io(path, "read", &error))?;
    if values.len() as u64 > memory || values.len() as u64 == expected && layout.bytes(8) > memory {
        return Err(too_large(path, layout.bytes(8), memory));
    }
    if values.len() as u64 != expected {
        let follow = if values.len() as u64 > expected { "more" } else { "fewer" };
        return Err(damaged(format!("{lengths:?} values of {width} bytes were announced, and {follow} follow")));
    }
    check_room(path, usize::try_from(layout.bytes(8)).unwrap_or(usize::MAX))?;
    let start = [0, 0, layout.kind];
    let dimensions = lengths.len();
    let number = |at: usize| number(start[2], &values[at * width..(at + 1) * width]);
    let unit = if start[2] == 8 && dimensions > 1 { 255.0 } else { 1.0 };
    let column = |j: usize| Column::Number((0..rows).map(|i| number(i * cols + j) / unit).collect());
    let name = |j: usize| match lengths[1..] {
        [] => "label".to_string(),
        [_, across] => format!("pixel_{}_{}", j / across, j % across),
        _ => format!("value_{j}"),
    };
    Table::new((0..cols).map(|j| (name(j), column(j))).collect())
}

fn open(path: &Path) -> Result<Box<dyn Read>> {
    let failed = |error: std::io::Error| Error::io(path, "open", &error);
    let mut magic = Vec::new();
    File::open(path).map_err(failed)?.take(2).read_to_end(&mut magic).map_err(failed)?;
    let file = std::io::BufReader::with_capacity(1 << 18, File::open(path).map_err(failed)?);
    Ok(if magic == [0x1f, 0x8b] { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) })
}

/// Bytes of a value.
fn width(start: &[u8; 4]) -> Option<usize> {
    match *start {
        [0, 0, 8 | 9, 1..=255] => Some(1),
        [0, 0, 11, 1..=255] => Some(2),
        [0, 0, 12 | 13, 1..=255] => Some(4),
        [0, 0, 14, 1..=255] => Some(8),
        _ => None,
    }
}

fn number(kind: u8, bytes: &[u8]) -> f64 {
    match (kind, bytes) {
        (8, &[a]) => f64::from(a),
        (9, &[a]) => f64::from(a as i8),
        (11, &[a, b]) => f64::from(i16::from_be_bytes([a, b])),
        (12, &[a, b, c, d]) => f64::from(i32::from_be_bytes([a, b, c, d])),
        (13, &[a, b, c, d]) => f64::from(f32::from_be_bytes([a, b, c, d])),
        (_, &[a, b, c, d, e, f, g, h]) => f64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn images_and_labels() {
        let images = [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 7, 8, 250, 255];
        let packed = {
            use std::io::Write;
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(&images).unwrap();
            out.finish().unwrap()
        };
        for bytes in [&images[..], &packed] {
            let file = file(bytes);
            assert!(is_idx(file.path()).unwrap());
            let table = read(file.path(), u64::MAX).unwrap();
            assert_eq!(table.names(), ["pixel_0_0", "pixel_0_1"]);
            assert!(
                matches!(table.column("pixel_0_1").unwrap(), Column::Number(values) if *values == [8.0 / 255.0, 1.0])
            );
        }
        let labels = file(&[0, 0, 11, 1, 0, 0, 0, 2, 255, 255, 1, 0]);
        let table = read(labels.path(), u64::MAX).unwrap();
        assert!(matches!(table.column("label").unwrap(), Column::Number(values) if *values == [-1.0, 256.0]));
    }

    #[test]
    fn cut_files_and_others_are_refused() {
        let images = [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 7, 8, 250, 255];
        for length in 4..images.len() {
            let error = read(file(&images[..length]).path(), u64::MAX).unwrap_err().to_string();
            assert!(error.contains("not a whole IDX file"), "{error}");
        }
        // Lengths that no memory holds.
        let huge = [0, 0, 14, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        assert!(read(file(&huge).path(), u64::MAX).is_err());
        // No rows of very many columns: 16 bytes that once asked for all memory there is.
        for lengths in [[0, 1 << 31, 1 << 31], [1 << 31, 0, 1 << 31], [0, u32::MAX, 1]] {
            let mut bytes = vec![0, 0, 8, 3];
            bytes.extend(lengths.iter().flat_map(|length| length.to_be_bytes()));
            assert!(read(file(&bytes).path(), u64::MAX).unwrap_err().to_string().contains("none"));
        }
        // A whole file that is larger than it may be.
        assert!(read(file(&images).path(), 16).unwrap_err().to_string().contains("32 bytes"));
        for other in [&b"a,b\n1,2\n"[..], b"", b"\0", b"PAR1"] {
            assert!(!is_idx(file(other).path()).unwrap());
        }
    }
}
