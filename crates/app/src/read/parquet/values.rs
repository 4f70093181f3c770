//! Values of a column, decoded batch by batch and joined.

use super::{BATCH_ROWS, Wanted, meaning::Meaning, reason};
use crate::table::{self, Column, Dictionary, Kind, MISSING, Na, Strings};
use parquet::{
    column::reader::{ColumnReader, ColumnReaderImpl},
    data_type::{ByteArrayType, DataType},
};

/// Some rows of a column, of its natural kind.
pub(super) enum Part {
    Values(Kind, Vec<f64>),
    Boolean(Vec<Option<bool>>),
    Strings(Vec<u32>, Dictionary),
}

/// All parts of a column.
pub(super) enum Whole {
    Column(Column),
    Strings(Strings),
}

impl Whole {
    pub(super) fn into_column(self) -> Column {
        match self {
            Whole::Column(column) => column,
            // Text rather than category: cheap, and it converts just as well.
            Whole::Strings(strings) => Column::Text(strings.into_text()),
        }
    }
}

impl Column {
    pub(super) fn into_strings(self) -> Strings {
        let mut levels = Dictionary::default();
        let codes = (0..self.len()).map(|row| match self.is_missing(row) {
            true => MISSING,
            false => levels.code_of_str(&self.value_text(row)),
        });
        let codes: Vec<u32> = codes.collect();
        Strings { parts: vec![(codes.len(), levels)], codes }
    }
}

impl Part {
    pub(super) fn rows(&self) -> usize {
        match self {
            Part::Values(_, values) => values.len(),
            Part::Boolean(values) => values.len(),
            Part::Strings(codes, _) => codes.len(),
        }
    }

    pub(super) fn into_whole(self) -> Whole {
        match self {
            Part::Values(Kind::Date, values) => Whole::Column(Column::Date(values)),
            Part::Values(Kind::DateTime, values) => Whole::Column(Column::DateTime(values)),
            Part::Values(_, values) => Whole::Column(Column::Number(values)),
            Part::Boolean(values) => Whole::Column(Column::Boolean(values)),
            Part::Strings(codes, levels) => Whole::Strings(Strings { parts: vec![(codes.len(), levels)], codes }),
        }
    }

    pub(super) fn into_strings(self) -> Strings {
        match self.into_whole() {
            Whole::Strings(strings) => strings,
            Whole::Column(column) => column.into_strings(),
        }
    }

    pub(super) fn join(parts: Vec<Part>, wanted: &Wanted) -> Whole {
        let rows: usize = parts.iter().map(Part::rows).sum();
        let mut parts = parts.into_iter();
        let mut first = parts.next().unwrap_or_else(|| wanted.part());
        match &mut first {
            Part::Values(_, values) => values.reserve_exact(rows - values.len()),
            Part::Boolean(values) => values.reserve_exact(rows - values.len()),
            Part::Strings(codes, _) => codes.reserve_exact(rows - codes.len()),
        }
        let mut whole = first.into_whole();
        for part in parts {
            match (&mut whole, part) {
                (
                    Whole::Column(Column::Number(all) | Column::Date(all) | Column::DateTime(all)),
                    Part::Values(_, values),
                ) => all.extend(values),
                (Whole::Column(Column::Boolean(all)), Part::Boolean(values)) => all.extend(values),
                (Whole::Strings(all), Part::Strings(codes, levels)) => {
                    all.parts.push((codes.len(), levels));
                    all.codes.extend(codes);
                }
                // Parts of one column are made from one pattern.
                _ => {}
            }
        }
        whole
    }

    /// Adds up to `rows` rows; gives how many there were.
    pub(super) fn extend(
        &mut self,
        reader: &mut ColumnReader,
        meaning: Meaning,
        rows: usize,
        na: &Na,
    ) -> Result<usize, String> {
        match (self, reader) {
            (Part::Boolean(all), ColumnReader::BoolColumnReader(reader)) => {
                pull(reader, rows, |present, values| spread(all, present, values, None, |&value| Some(value)))
            }
            (Part::Strings(codes, levels), ColumnReader::ByteArrayColumnReader(reader)) => {
                extend_strings(codes, levels, reader, rows, na)
            }
            (Part::Values(_, values), reader) => {
                let start = values.len();
                let count = extend_values(values, reader, meaning, rows)?;
                for value in &mut values[start..] {
                    if na.is_missing_number(*value) {
                        *value = f64::NAN;
                    }
                }
                Ok(count)
            }
            // A part is made for the meaning, and that for the type.
            _ => Err("its values are not of the type of the column".into()),
        }
    }

    pub(super) fn extend_missing(&mut self, rows: usize) {
        match self {
            Part::Values(_, values) => values.resize(values.len() + rows, f64::NAN),
            Part::Boolean(values) => values.resize(values.len() + rows, None),
            Part::Strings(codes, _) => codes.resize(codes.len() + rows, MISSING),
        }
    }
}

/// Hands out the next `rows` rows in batches: which rows have a value (empty when all have), and these values.
fn pull<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    mut each: impl FnMut(&[i16], &[T::T]),
) -> Result<usize, String> {
    let (mut present, mut values) = (Vec::new(), Vec::new());
    let mut done = 0;
    while done < rows {
        present.clear();
        values.clear();
        let (count, with_value, _) = reader
            .read_records((rows - done).min(BATCH_ROWS), Some(&mut present), None, &mut values)
            .map_err(reason)?;
        if count == 0 {
            break;
        }
        if with_value == count {
            present.clear();
        }
        each(&present, &values);
        done += count;
    }
    Ok(done)
}

fn spread<V, A: Clone>(all: &mut Vec<A>, present: &[i16], values: &[V], missing: A, mut convert: impl FnMut(&V) -> A) {
    if present.is_empty() {
        all.extend(values.iter().map(convert));
    } else {
        let mut values = values.iter();
        let mut next = || values.next().map_or_else(|| missing.clone(), &mut convert);
        all.extend(present.iter().map(|&level| if level == 0 { missing.clone() } else { next() }));
    }
}

fn extend_values(
    all: &mut Vec<f64>,
    reader: &mut ColumnReader,
    meaning: Meaning,
    rows: usize,
) -> Result<usize, String> {
    fn each<T: DataType>(
        all: &mut Vec<f64>,
        reader: &mut ColumnReaderImpl<T>,
        rows: usize,
        convert: impl Fn(&T::T) -> f64,
    ) -> Result<usize, String> {
        pull(reader, rows, |present, values| spread(all, present, values, f64::NAN, &convert))
    }
    match reader {
        ColumnReader::Int32ColumnReader(reader) => match meaning {
            Meaning::Unsigned => each(all, reader, rows, |&value| f64::from(value as u32)),
            Meaning::Decimal(scale) => each(all, reader, rows, |&value| f64::from(value) / scale),
            _ => each(all, reader, rows, |&value| f64::from(value)),
        },
        ColumnReader::Int64ColumnReader(reader) => match meaning {
            Meaning::Unsigned => each(all, reader, rows, |&value| value as u64 as f64),
            Meaning::Decimal(scale) | Meaning::Ticks(scale) => each(all, reader, rows, |&value| value as f64 / scale),
            // Nanoseconds need more digits than a float has; whole microseconds fit.
            Meaning::Nanoseconds => each(all, reader, rows, |&value| (value / 1000) as f64 / 1e6),
            _ => each(all, reader, rows, |&value| value as f64),
        },
        ColumnReader::Int96ColumnReader(reader) => each(all, reader, rows, |value| value.to_micros() as f64 / 1e6),
        ColumnReader::FloatColumnReader(reader) => each(all, reader, rows, |&value| f64::from(value)),
        ColumnReader::DoubleColumnReader(reader) => each(all, reader, rows, |&value| value),
        ColumnReader::ByteArrayColumnReader(reader) => {
            let Meaning::Decimal(scale) = meaning else { return Err("strings are not numbers".into()) };
            each(all, reader, rows, |value| big_integer(value.data()) / scale)
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => match meaning {
            Meaning::Decimal(scale) => each(all, reader, rows, |value| big_integer(value.data()) / scale),
            _ => each(all, reader, rows, |value| match value.data() {
                &[low, high] => half_float(u16::from_le_bytes([low, high])),
                _ => f64::NAN,
            }),
        },
        ColumnReader::BoolColumnReader(_) => Err("booleans are not numbers".into()),
    }
}

/// The float nearest to an integer in two's complement, highest byte first; nothing at all is missing.
fn big_integer(bytes: &[u8]) -> f64 {
    let Some(&first) = bytes.first() else { return f64::NAN };
    let fill = if first >= 128 { 0xff } else { 0 };
    let bytes = &bytes[bytes.iter().take_while(|&&byte| byte == fill).count()..];
    let integer = |bytes: &[u8]| {
        bytes.iter().fold(if fill == 0 { 0 } else { -1 }, |value: i128, &byte| (value << 8) | i128::from(byte))
    };
    if bytes.len() <= 15 {
        return integer(bytes) as f64;
    }
    // The first bytes, and whether anything follows, decide how the float is rounded.
    let (head, tail) = bytes.split_at(15);
    let follows = i128::from(tail.iter().any(|&byte| byte != 0));
    ((integer(head) << 1) | follows) as f64 * 2_f64.powi(8 * tail.len().min(1000) as i32 - 1)
}

fn half_float(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

fn extend_strings(
    codes: &mut Vec<u32>,
    levels: &mut Dictionary,
    reader: &mut ColumnReaderImpl<ByteArrayType>,
    rows: usize,
    na: &Na,
) -> Result<usize, String> {
    let mut invalid = None;
    let count = pull(reader, rows, |present, values| {
        spread(codes, present, values, MISSING, |value| match value.data() {
            value if value.is_empty() || na.is_marker(value) => MISSING,
            value => levels.code(value).unwrap_or_else(|_| {
                invalid.get_or_insert_with(|| format!("{} is not valid UTF-8", table::quote(value)));
                MISSING
            }),
        });
    })?;
    invalid.map_or(Ok(count), Err)
}
