//! Arrow: the file format (also called Feather) and the stream. Record batches are decoded one at a time.

use super::{Line, Records, Rewritten};
use crate::read::input::Seekable;
use crate::table::{date_text, datetime_text, number_text};
use arrow_array::{Array, RecordBatch, RecordBatchReader, cast::AsArray, types::*};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use ermine_core::error::{Error, Result};
use std::{
    io::{self, Read},
    path::Path,
};

/// The rows, which columns are strings, and which are left out because a table has no place for them.
pub(in crate::read) fn rows(
    path: &Path,
    mut input: Box<dyn Seekable>,
) -> Result<(impl Read + use<>, Vec<String>, Vec<String>)> {
    let broken = |error: ArrowError| Error::format(path, None, format!("not a readable Arrow file: {error}"));
    let mut magic = [0; 6];
    let rewound = input.read_exact(&mut magic).and_then(|()| input.rewind());
    rewound.map_err(|error| Error::io(path, "read", &error))?;
    let reader: Box<dyn RecordBatchReader> = match &magic == b"ARROW1" {
        true => Box::new(FileReader::try_new(input, None).map_err(broken)?),
        false => Box::new(StreamReader::try_new(input, None).map_err(broken)?),
    };
    let schema = reader.schema();
    let (mut columns, mut strings, mut about) = (Vec::new(), Vec::new(), Vec::new());
    for (place, field) in schema.fields().iter().enumerate() {
        let (name, of) = (field.name(), field.data_type());
        if !is_readable(of) {
            about.push(format!("column '{name}' is left out: it holds {of}"));
            continue;
        }
        columns.push((place, name.clone()));
        if is_string(of) {
            strings.push(name.clone());
        }
    }
    Ok((Rewritten::new(Rows { reader, columns, batch: None, row: 0, named: false }), strings, about))
}

fn is_string(of: &DataType) -> bool {
    match of {
        DataType::Dictionary(_, values) => is_string(values),
        of => matches!(of, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    }
}

fn is_readable(of: &DataType) -> bool {
    match of {
        DataType::Dictionary(_, values) => is_readable(values),
        DataType::Null | DataType::Boolean | DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => true,
        DataType::Decimal128(..) | DataType::Decimal256(..) => true,
        of => of.is_primitive() && of.is_numeric() || is_string(of),
    }
}

struct Rows {
    reader: Box<dyn RecordBatchReader>,
    columns: Vec<(usize, String)>,
    batch: Option<RecordBatch>,
    row: usize,
    named: bool,
}

impl Records for Rows {
    fn next(&mut self, line: &mut Line) -> io::Result<bool> {
        if !self.named {
            self.named = true;
            self.columns.iter().for_each(|(_, name)| line.push(name));
            return Ok(!self.columns.is_empty());
        }
        while self.batch.as_ref().is_none_or(|batch| self.row == batch.num_rows()) {
            match self.reader.next() {
                None => return Ok(false),
                Some(batch) => (self.batch, self.row) = (Some(batch.map_err(io::Error::other)?), 0),
            }
        }
        if let Some(batch) = &self.batch {
            self.columns.iter().for_each(|(place, _)| line.push(&text(batch.column(*place).as_ref(), self.row)));
        }
        self.row += 1;
        Ok(true)
    }
}

/// A value as CSV has it.
fn text(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    macro_rules! number {
        ($($type:ident),*) => {
            match column.data_type() {
                $(of if *of == $type::DATA_TYPE => return column.as_primitive::<$type>().value(row).to_string(),)*
                _ => {}
            }
        };
    }
    number!(Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type);
    match column.data_type() {
        DataType::Float16 => number_text(f64::from(column.as_primitive::<Float16Type>().value(row))),
        DataType::Float32 => number_text(f64::from(column.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => number_text(column.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        DataType::Utf8 => column.as_string::<i32>().value(row).into(),
        DataType::LargeUtf8 => column.as_string::<i64>().value(row).into(),
        DataType::Utf8View => column.as_string_view().value(row).into(),
        DataType::Date32 => date_text(f64::from(column.as_primitive::<Date32Type>().value(row))),
        DataType::Date64 => datetime_text(column.as_primitive::<Date64Type>().value(row) as f64 / 1e3),
        DataType::Timestamp(unit, _) => {
            let (value, second) = match unit {
                TimeUnit::Second => (column.as_primitive::<TimestampSecondType>().value(row), 1.0),
                TimeUnit::Millisecond => (column.as_primitive::<TimestampMillisecondType>().value(row), 1e3),
                TimeUnit::Microsecond => (column.as_primitive::<TimestampMicrosecondType>().value(row), 1e6),
                TimeUnit::Nanosecond => (column.as_primitive::<TimestampNanosecondType>().value(row), 1e9),
            };
            datetime_text(value as f64 / second)
        }
        DataType::Decimal128(..) => column.as_primitive::<Decimal128Type>().value_as_string(row),
        DataType::Decimal256(..) => column.as_primitive::<Decimal256Type>().value_as_string(row),
        DataType::Dictionary(..) => {
            let dictionary = column.as_any_dictionary();
            let key = text(dictionary.keys(), row).parse::<usize>().unwrap_or(0);
            text(dictionary.values().as_ref(), key)
        }
        _ => String::new(),
    }
}
