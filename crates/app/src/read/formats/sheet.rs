//! A sheet of a workbook: Excel (xlsx, xlsm, xlsb, xls) or OpenDocument (ods). It is held in memory while it is read.

use super::{Line, Records, Rewritten};
use bytes::Bytes;
use calamine::{Data, Range, Reader};
use ermine_core::error::{Error, Result};
use std::{
    io::{self, Cursor, Read},
    path::Path,
};

/// The sheet of this name, or the first that has rows; and which it was.
pub(in crate::read) fn rows(
    path: &Path,
    bytes: Bytes,
    sheet: Option<&str>,
) -> Result<(impl Read + use<>, Vec<String>)> {
    let broken = |problem: String| {
        Error::format(path, None, format!("not a readable spreadsheet: {problem}"))
            .hint("a zip archive of other files has to be unpacked first")
    };
    let mut book =
        calamine::open_workbook_auto_from_rs(Cursor::new(bytes)).map_err(|error| broken(error.to_string()))?;
    let names = book.sheet_names();
    if let Some(sheet) = sheet.filter(|sheet| !names.iter().any(|name| name == sheet)) {
        return Err(Error::Unknown { what: "sheet", name: sheet.into(), known: names });
    }
    for name in names.iter().filter(|name| sheet.is_none_or(|sheet| sheet == *name)) {
        let range = book.worksheet_range(name).map_err(|error| broken(error.to_string()))?;
        if range.height() > 0 {
            let mut about = Vec::new();
            if names.len() > 1 && sheet.is_none() {
                about.push(format!("sheet '{name}' of {} was read; --sheet names another", names.len()));
            }
            return Ok((Rewritten::new(Sheet { range, row: 0 }), about));
        }
    }
    Err(Error::format(path, None, "no sheet has any rows"))
}

struct Sheet {
    range: Range<Data>,
    row: usize,
}

impl Records for Sheet {
    fn next(&mut self, line: &mut Line) -> io::Result<bool> {
        while self.row < self.range.height() {
            let row = &self.range[self.row];
            self.row += 1;
            if row.iter().all(|cell| matches!(cell, Data::Empty)) {
                continue;
            }
            row.iter().for_each(|cell| line.push(&text(cell)));
            return Ok(true);
        }
        Ok(false)
    }
}

/// What a cell would be in a file of text. An error such as #N/A is missing.
fn text(cell: &Data) -> String {
    match cell {
        Data::Empty | Data::Error(_) => String::new(),
        Data::DateTime(when) if when.is_duration() => {
            let seconds = (when.as_f64() * 86_400.0).round() as i64;
            format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
        }
        Data::DateTime(when) => {
            let (year, month, day, hour, minute, second, milli) = when.to_ymd_hms_milli();
            match (hour, minute, second, milli) {
                (0, 0, 0, 0) => format!("{year:04}-{month:02}-{day:02}"),
                _ => format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}"),
            }
        }
        Data::Float(value) => crate::table::number_text(*value),
        Data::Bool(value) => value.to_string(),
        other => other.to_string(),
    }
}
