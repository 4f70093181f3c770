//! From the bytes of a file to lines of CSV: unpacked, decoded to UTF-8, and rewritten where the file is something
//! else.
//!
//! Every format that is not CSV, Parquet or IDX is read as the CSV that it could have been, record by record. So kinds,
//! missing values, pieces, several files and workers are the business of [`super::csv`] alone. What is rewritten cannot
//! be cut between workers; a spreadsheet is held in memory while it is read, everything else streams.

use super::{ReadOptions, formats, too_large};
use crate::store::writer::Staged;
use bytes::{Buf, Bytes};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use ermine_core::error::{Error, Result};
use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

/// What is in a file, when it is neither Parquet nor IDX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Csv,
    /// Fields between blanks, of which any number is one.
    Blanks,
    /// Fields at the same place of every line.
    Fixed,
    /// An object a line, or an array of objects.
    Json,
    Libsvm,
    /// xlsx, xls, xlsb, ods.
    Sheet,
    /// Also called Feather.
    Arrow,
}

impl Format {
    pub const ALL: [(&'static str, Format); 7] = [
        ("csv", Format::Csv),
        ("blanks", Format::Blanks),
        ("fixed", Format::Fixed),
        ("json", Format::Json),
        ("libsvm", Format::Libsvm),
        ("sheet", Format::Sheet),
        ("arrow", Format::Arrow),
    ];
}

/// What can be read, for messages.
pub const READABLE: &str = "CSV (also separated by tabs, semicolons or blanks), fixed-width columns, JSON lines, LIBSVM, Excel and \
                            ODS sheets, Arrow (Feather), Parquet and IDX; text also packed with gzip, zstd, xz or bzip2";

/// Where bytes come from.
#[derive(Clone)]
pub(super) enum Input {
    File(PathBuf),
    /// What came from standard input.
    Bytes(PathBuf, Bytes),
}

impl Input {
    pub(super) fn path(&self) -> &Path {
        match self {
            Input::File(path) | Input::Bytes(path, _) => path,
        }
    }

    /// A file; what can be read only once is read now.
    pub(super) fn of(path: &Path, memory: u64) -> Result<Input> {
        let is_file = path != Path::new("-") && std::fs::metadata(path).map_or(true, |about| about.is_file());
        if is_file {
            return Ok(Input::File(path.into()));
        }
        let stream = Input::File(path.into()).open()?;
        let mut bytes = Vec::new();
        let done = stream.take(memory.saturating_add(1)).read_to_end(&mut bytes);
        done.map_err(|error| Error::io(path, "read", &error))?;
        if bytes.len() as u64 > memory {
            return Err(too_large(path, bytes.len() as u64, memory)
                .hint("write it to a file, which is read from disk in blocks"));
        }
        Ok(Input::Bytes(path.into(), bytes.into()))
    }

    /// To go back and forth in.
    pub(super) fn seek(&self) -> Result<Box<dyn Seekable>> {
        Ok(match self {
            Input::Bytes(_, bytes) => Box::new(io::Cursor::new(bytes.clone())),
            Input::File(path) => {
                Box::new(BufReader::new(File::open(path).map_err(|error| Error::io(path, "open", &error))?))
            }
        })
    }

    fn open(&self) -> Result<Box<dyn Read>> {
        Ok(match self {
            Input::File(path) if path == Path::new("-") => Box::new(io::stdin()),
            Input::File(path) => Box::new(File::open(path).map_err(|error| Error::io(path, "open", &error))?),
            Input::Bytes(_, bytes) => Box::new(bytes.clone().reader()),
        })
    }

    /// All bytes.
    pub(super) fn whole(&self) -> Result<Bytes> {
        match self {
            Input::Bytes(_, bytes) => Ok(bytes.clone()),
            Input::File(path) => std::fs::read(path).map(Bytes::from).map_err(|error| Error::io(path, "read", &error)),
        }
    }
}

pub(super) trait Seekable: Read + io::Seek {}
impl<T: Read + io::Seek> Seekable for T {}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Pack {
    None,
    Gzip,
    Zstd,
    Xz,
    Bzip2,
}

impl Pack {
    fn of(head: &[u8]) -> Pack {
        let magics: [(&[u8], Pack); 4] = [
            (&[0x1f, 0x8b], Pack::Gzip),
            (&[0x28, 0xb5, 0x2f, 0xfd], Pack::Zstd),
            (&[0xfd, b'7', b'z', b'X', b'Z', 0], Pack::Xz),
            (b"BZh", Pack::Bzip2),
        ];
        magics.into_iter().find(|(magic, _)| head.starts_with(magic)).map_or(Pack::None, |(_, pack)| pack)
    }

    fn unpack(self, input: Box<dyn Read>) -> io::Result<Box<dyn Read>> {
        let input = BufReader::with_capacity(1 << 18, input);
        Ok(match self {
            Pack::None => Box::new(input),
            Pack::Gzip => Box::new(flate2::read::MultiGzDecoder::new(input)),
            Pack::Zstd => Box::new(zstd::Decoder::with_buffer(input)?),
            Pack::Xz => Box::new(lzma_rust2::XzReader::new(input, true)),
            Pack::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(input)),
        })
    }
}

/// How the bytes of a file become CSV.
pub(super) struct Decoding {
    input: Input,
    pack: Pack,
    charset: &'static Encoding,
    format: Format,
    sheet: Option<String>,
    /// Where fields of fixed width begin and end.
    cuts: Vec<(usize, usize)>,
    /// What was taken for granted.
    assumed: Vec<String>,
}

/// Bytes that are looked at to know a format.
const HEAD: usize = 1 << 20;

impl Decoding {
    pub(super) fn of_file(path: &Path, options: &ReadOptions) -> Result<Decoding> {
        Decoding::find(Input::of(path, options.memory)?, options)
    }

    /// Looks at the head of a file.
    pub(super) fn find(input: Input, options: &ReadOptions) -> Result<Decoding> {
        let path = input.path().to_path_buf();
        let failed = |error: io::Error| Error::io(&path, "read", &error);
        let mut magic = Vec::new();
        input.open()?.take(16).read_to_end(&mut magic).map_err(failed)?;
        let pack = Pack::of(&magic);
        let mut head = Vec::new();
        let unpacked = pack.unpack(input.open()?).and_then(|input| input.take(HEAD as u64).read_to_end(&mut head));
        // A file that ends early is complained about when it is read.
        if let (Err(error), true) = (&unpacked, head.is_empty()) {
            return Err(Error::io(&path, "unpack", error));
        }
        let sheet = options.sheet.clone();
        let mut decoding =
            Decoding { input, pack, charset: UTF_8, format: Format::Csv, sheet, cuts: Vec::new(), assumed: Vec::new() };
        if let Some(format) =
            options.format.filter(|format| matches!(format, Format::Sheet | Format::Arrow)).or(binary(&path, &head)?)
        {
            if pack != Pack::None {
                return Err(
                    Error::format(&path, None, "a packed spreadsheet or Arrow file is not read").hint("unpack it")
                );
            }
            decoding.format = format;
            return Ok(decoding);
        }
        decoding.charset = decoding.find_charset(&path, &head, options)?;
        let text = decoding.charset.decode(&head).0;
        // Half a line would look ragged.
        let whole = if head.len() < HEAD { text.len() } else { text.rfind('\n').map_or(text.len(), |end| end + 1) };
        decoding.find_format(&text[..whole], options);
        Ok(decoding)
    }

    fn find_charset(&mut self, path: &Path, head: &[u8], options: &ReadOptions) -> Result<&'static Encoding> {
        if let Some(name) = &options.encoding {
            return charset(name).ok_or_else(|| {
                let known = ["utf-8", "latin-1", "cp1252", "utf-16", "iso-8859-15", "shift_jis", "gbk"];
                let known = known.map(String::from).to_vec();
                Error::Unknown { what: "encoding", name: name.clone(), known }
            });
        }
        if let Some((charset, _)) = Encoding::for_bom(head) {
            if charset != UTF_8 {
                self.assumed.push(format!("the text is {}", charset.name()));
            }
            return Ok(charset);
        }
        let zeros = |first: usize| head.iter().skip(first).step_by(2).take(500).filter(|byte| **byte == 0).count();
        let wide = match (zeros(0), zeros(1)) {
            (even, odd) if head.len() > 3 && even > 4 * odd.max(head.len().min(1000) / 16) => Some(UTF_16BE),
            (even, odd) if head.len() > 3 && odd > 4 * even.max(head.len().min(1000) / 16) => Some(UTF_16LE),
            _ => None,
        };
        if let Some(charset) = wide {
            self.assumed.push(format!("the text was taken for {}; --encoding says otherwise", charset.name()));
            return Ok(charset);
        }
        match std::str::from_utf8(head) {
            // The head may end within a character.
            Err(error) if error.error_len().is_some() || head.len() < HEAD => {
                if head.iter().filter(|byte| **byte < 9).count() > head.len() / 50 {
                    return Err(Error::format(path, None, "this is not a text, and no format that is known")
                        .hint(format!("what is read: {READABLE}")));
                }
                self.assumed
                    .push("the text is not UTF-8: read as windows-1252 (latin-1); --encoding says otherwise".into());
                Ok(WINDOWS_1252)
            }
            _ => Ok(UTF_8),
        }
    }

    fn find_format(&mut self, head: &str, options: &ReadOptions) {
        let (format, said) = match options.format {
            Some(format) => (format, true),
            None if options.delimiter.is_some() => (Format::Csv, true),
            None if formats::json::is_json(head) => (Format::Json, false),
            None if formats::libsvm::is_libsvm(head) => (Format::Libsvm, false),
            None if formats::blanks::is_separated(head) => (Format::Blanks, false),
            None => (Format::Csv, false),
        };
        self.format = format;
        match format {
            Format::Fixed => self.cuts = formats::blanks::cuts(head),
            Format::Blanks if !said => self.assumed.push("columns are separated by blanks".into()),
            Format::Json if !said && !Staged::is(self.input.path()) => {
                self.assumed.push("the file is JSON, a row an object".into())
            }
            Format::Libsvm if !said => {
                self.assumed.push("the file is LIBSVM: columns 'label', 'x1', 'x2', ...; what is not said is 0".into());
            }
            _ => {}
        }
    }

    /// What was taken for granted.
    pub(super) fn assumed(&self) -> &[String] {
        &self.assumed
    }

    /// What is done to the bytes, for messages.
    pub(super) fn action(&self) -> &'static str {
        if self.pack == Pack::None { "read" } else { "unpack" }
    }

    /// The bytes of the file are what is parsed.
    pub(super) fn is_plain(&self) -> bool {
        self.pack == Pack::None && self.charset == UTF_8 && self.format == Format::Csv
    }

    /// Gzip makes at most 1,032 bytes of one; others any number.
    pub(super) fn is_gzip(&self) -> bool {
        self.pack == Pack::Gzip && self.charset == UTF_8 && self.format == Format::Csv
    }

    /// UTF-8, CSV, as a stream, and what is known of it.
    pub(super) fn open(&self, options: &ReadOptions) -> Result<(Box<dyn Read>, ReadOptions)> {
        let path = self.input.path();
        let failed = |error: io::Error| Error::io(path, "read", &error);
        let mut known = ReadOptions { assumed: self.assumed.clone(), ..options.clone() };
        if self.format != Format::Csv {
            (known.delimiter, known.format) = (Some(b','), Some(Format::Csv));
        }
        let text = || -> Result<Box<dyn Read>> {
            let bytes = self.pack.unpack(self.input.open()?).map_err(|error| Error::io(path, "unpack", &error))?;
            Ok(if self.charset == UTF_8 { bytes } else { Box::new(Decoded::new(bytes, self.charset)) })
        };
        let rows: Box<dyn Read> = match self.format {
            Format::Csv => text()?,
            Format::Blanks => Box::new(formats::blanks::separated(text()?)),
            Format::Fixed => Box::new(formats::blanks::fixed(text()?, self.cuts.clone())),
            Format::Json => {
                let columns = formats::json::columns(text()?).map_err(failed)?;
                (known.typed, known.header) = (true, Some(true));
                known.strings.extend(columns.strings());
                Box::new(formats::json::rows(text()?, columns))
            }
            Format::Libsvm => {
                let columns = formats::libsvm::columns(text()?).map_err(failed)?;
                known.header = Some(true);
                Box::new(formats::libsvm::rows(text()?, columns))
            }
            Format::Sheet => {
                let size = std::fs::metadata(path).map_or(0, |about| about.len());
                if size > options.memory {
                    return Err(too_large(path, size, options.memory));
                }
                let (rows, about) = formats::sheet::rows(path, self.input.whole()?, self.sheet.as_deref())?;
                known.assumed.extend(about);
                Box::new(rows)
            }
            Format::Arrow => {
                let (rows, strings, about) = formats::arrow::rows(path, self.input.seek()?)?;
                (known.typed, known.header) = (true, Some(true));
                known.assumed.extend(about);
                known.strings.extend(strings);
                Box::new(rows)
            }
        };
        Ok((rows, known))
    }
}

/// An encoding by any of its names, also as Python spells them.
fn charset(name: &str) -> Option<&'static Encoding> {
    let plain = name.to_ascii_lowercase().replace('_', "-");
    let name = match plain.as_str() {
        "latin-1" | "latin1" => "windows-1252",
        "utf-16-le" => "utf-16le",
        "utf-16-be" => "utf-16be",
        "utf-8-sig" => "utf-8",
        other => other,
    };
    Encoding::for_label(name.as_bytes())
}

/// Formats that are known by their first bytes; those that cannot be read are refused by name.
fn binary(path: &Path, head: &[u8]) -> Result<Option<Format>> {
    if head.starts_with(b"ARROW1") || head.starts_with(&[0xff, 0xff, 0xff, 0xff]) {
        return Ok(Some(Format::Arrow));
    }
    if head.starts_with(b"PK\x03\x04") || head.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]) {
        return Ok(Some(Format::Sheet));
    }
    let others: [(&[u8], &str); 14] = [
        (b"PAR1", "a packed Parquet file"),
        (b"FEA1", "Feather of the first version"),
        (b"\x89HDF", "HDF5"),
        (b"\x93NUMPY", "an array of NumPy"),
        (b"\x80\x03", "a pickle of Python"),
        (b"\x80\x04", "a pickle of Python"),
        (b"\x80\x05", "a pickle of Python"),
        (b"RDX", "data of R"),
        (b"RDA", "data of R"),
        (b"X\n\0", "an object of R"),
        (b"<stata_dta>", "a Stata file"),
        (b"$FL2", "an SPSS file"),
        (b"ORC", "ORC"),
        (b"%PDF", "a PDF"),
    ];
    if head.starts_with(b"SQLite format 3\0") {
        let name = path.display();
        return Err(Error::format(path, None, "this is an SQLite database, and no table is named")
            .hint(format!("'sqlite:{name}?table=NAME' reads one")));
    }
    let page = head.iter().take(200).map(u8::to_ascii_lowercase).collect::<Vec<u8>>();
    let is_page = page.starts_with(b"<!doctype html") || page.starts_with(b"<html");
    let known = others.into_iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, name)| name);
    match known.or(is_page.then_some("a page of HTML")) {
        Some(name) => {
            let error = Error::format(path, None, format!("this is {name}, which is not read"));
            Err(error.hint(format!("what is read: {READABLE}")))
        }
        None => Ok(None),
    }
}

/// A text of any encoding as UTF-8. What is no character becomes U+FFFD.
struct Decoded {
    input: Box<dyn Read>,
    decoder: encoding_rs::Decoder,
    bytes: Vec<u8>,
    text: Vec<u8>,
    done: usize,
    ended: bool,
}

impl Decoded {
    fn new(input: Box<dyn Read>, charset: &'static Encoding) -> Decoded {
        let decoder = charset.new_decoder_with_bom_removal();
        Decoded { input, decoder, bytes: vec![0; 1 << 16], text: Vec::new(), done: 0, ended: false }
    }
}

impl Read for Decoded {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.done == self.text.len() && !self.ended {
            let count = self.input.read(&mut self.bytes)?;
            self.ended = count == 0;
            let needed = self.decoder.max_utf8_buffer_length(count).unwrap_or(4 << 16);
            self.text.resize(needed.max(16), 0);
            let (_, _, written, _) = self.decoder.decode_to_utf8(&self.bytes[..count], &mut self.text, self.ended);
            self.text.truncate(written);
            self.done = 0;
        }
        let count = out.len().min(self.text.len() - self.done);
        out[..count].copy_from_slice(&self.text[self.done..self.done + count]);
        self.done += count;
        Ok(count)
    }
}
