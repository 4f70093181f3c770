//! Rows as they come over a wire, read against the schema of a model, and predictions in the same form.
//!
//! A cell means what it means in a file ([`crate::table`]): the same missing markers, dates and levels. Where a file
//! ends at the first bad cell, rows of a request are read to the end, so that one answer names every cell that is
//! wrong.

mod answer;
mod json;

pub use answer::{Answer, Explained, Interval, name_of, prediction_columns};

use crate::{
    Fitted,
    read::{self, Format, ReadOptions},
    table::{
        self, Category, Column, Field, Kind, MISSING, Na, Schema, Table, Text, UNSEEN, boolean, date, datetime,
        declared_boolean, number, number_text, quote,
    },
};
use ermine::{Error, Result};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `[{"a": 1, "b": "x"}, ...]`, also as `{"records": [...]}`.
    Records,
    /// `{"columns": {"a": [1, ...], "b": ["x", ...]}}`.
    Columns,
    Csv,
    /// A stream of Arrow IPC.
    Arrow,
}

/// What a sender says that its bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    Json,
    Csv,
    Arrow,
}

/// What is wrong with a cell, or with a row as a whole. Rows count from 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BadCell {
    pub row: Option<usize>,
    pub column: Option<String>,
    pub value: Option<String>,
    pub problem: String,
}

/// Why rows were not taken.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// It is not what its form promises.
    Syntax(String),
    /// More rows than are allowed at once.
    TooMany(usize),
    /// The first cells that cannot be read, and how many there are.
    Cells(Vec<BadCell>, usize),
}

/// At most so many bad cells are named.
const NAMED: usize = 20;

/// What it takes to read rows for a model, made once.
pub struct Reader {
    schema: Schema,
    places: FxHashMap<String, usize>,
    levels: Vec<FxHashMap<String, u32>>,
    na: Na,
}

impl Reader {
    pub fn new(fitted: &Fitted) -> Reader {
        let schema = fitted.header.schema.clone();
        let levels = |field: &Field| field.levels.iter().cloned().zip(0..).collect();
        Reader {
            places: schema.columns.iter().map(|field| field.name.clone()).zip(0..).collect(),
            levels: schema.columns.iter().map(levels).collect(),
            na: Na::new(&schema.na),
            schema,
        }
    }

    /// A table of at most so many rows, and the form it came in.
    pub fn read(&self, bytes: &[u8], media: Media, most_rows: usize) -> Result<(Table, Form), Refused> {
        match media {
            Media::Json => json::read(self, bytes, most_rows),
            Media::Csv => {
                std::str::from_utf8(bytes).map_err(not_utf8)?;
                Ok((self.file(bytes, Format::Csv, most_rows)?, Form::Csv))
            }
            Media::Arrow => Ok((self.file(bytes, Format::Arrow, most_rows)?, Form::Arrow)),
        }
    }

    /// As the reader of files has it.
    fn file(&self, bytes: &[u8], format: Format, most_rows: usize) -> Result<Table, Refused> {
        let options = ReadOptions {
            schema: Some(self.schema.clone()),
            header: Some(true),
            format: Some(format),
            // What is packed may not unfold without an end.
            memory: (64 * bytes.len() as u64).max(1 << 20),
            ..ReadOptions::default()
        };
        let table = read::csv::read_bytes("the rows", bytes.to_vec(), &options).map_err(of_file)?;
        if table.rows() > most_rows {
            return Err(Refused::TooMany(most_rows));
        }
        Ok(table)
    }
}

fn not_utf8(error: std::str::Utf8Error) -> Refused {
    Refused::Syntax(format!("byte {} is not valid UTF-8", error.valid_up_to() + 1))
}

/// The reader of files counts lines, the first of which holds the names.
fn of_file(error: Error) -> Refused {
    match error {
        Error::Hinted { error, hint } => match of_file(*error) {
            Refused::Cells(mut cells, count) => {
                cells.iter_mut().for_each(|cell| cell.problem = format!("{} ({hint})", cell.problem));
                Refused::Cells(cells, count)
            }
            Refused::Syntax(problem) => Refused::Syntax(format!("{problem} ({hint})")),
            other => other,
        },
        Error::Format { line: Some(line), problem, .. } if line > 1 => {
            let row = Some(line as usize - 1);
            Refused::Cells(vec![BadCell { row, column: None, value: None, problem }], 1)
        }
        Error::Format { problem, .. } => Refused::Syntax(problem),
        Error::Unknown { what: "column", name, .. } => {
            let problem = "the column is not there".to_string();
            Refused::Cells(vec![BadCell { row: None, column: Some(name), value: None, problem }], 1)
        }
        other => Refused::Syntax(other.to_string()),
    }
}

/// One value as a form has it.
enum Cell<'a> {
    Missing,
    Boolean(bool),
    Integer(i128),
    Number(f64),
    Text(&'a str),
    /// A list or a map.
    Nested(&'static str),
}

impl Cell<'_> {
    /// As the user sees it in a message.
    fn quoted(&self) -> String {
        match self {
            Cell::Missing => "null".into(),
            Cell::Boolean(value) => value.to_string(),
            Cell::Integer(value) => value.to_string(),
            Cell::Number(value) => number_text(*value),
            Cell::Text(text) => quote(text.as_bytes()),
            Cell::Nested(what) => (*what).into(),
        }
    }
}

/// Columns in the making.
struct Cells<'a> {
    reader: &'a Reader,
    columns: Vec<Column>,
    bad: Vec<BadCell>,
    /// All of them, named or not.
    bad_count: usize,
}

impl<'a> Cells<'a> {
    fn new(reader: &'a Reader) -> Cells<'a> {
        let empty = |field: &Field| match field.kind {
            Kind::Number => Column::Number(Vec::new()),
            Kind::Boolean => Column::Boolean(Vec::new()),
            Kind::Category => Column::Category(Category { codes: Vec::new(), levels: field.levels.clone() }),
            Kind::Text => Column::Text(Text::default()),
            Kind::Date => Column::Date(Vec::new()),
            Kind::DateTime => Column::DateTime(Vec::new()),
        };
        let columns = reader.schema.columns.iter().map(empty).collect();
        Cells { reader, columns, bad: Vec::new(), bad_count: 0 }
    }

    fn refuse(&mut self, row: Option<usize>, column: Option<usize>, value: Option<String>, problem: String) {
        self.bad_count += 1;
        if self.bad.len() < NAMED {
            let column = column.map(|column| self.reader.schema.columns[column].name.clone());
            self.bad.push(BadCell { row: row.map(|row| row + 1), column, value, problem });
        }
    }

    /// The next cell of a column. One that cannot be read is named and counts as missing.
    fn push(&mut self, column: usize, cell: Cell) {
        let na = &self.reader.na;
        let strings = matches!(self.columns[column], Column::Category(_) | Column::Text(_));
        let is_missing = |text: &str| match strings {
            true => na.is_missing_string(text.trim().as_bytes()),
            false => na.is_missing(text.trim().as_bytes()),
        };
        let cell = match cell {
            Cell::Text(text) if is_missing(text) => Cell::Missing,
            Cell::Number(value) if na.is_missing_number(value) => Cell::Missing,
            Cell::Integer(value) if na.is_missing_number(value as f64) => Cell::Missing,
            cell => cell,
        };
        let row = self.columns[column].len();
        let form = self.reader.schema.columns[column].form;
        let fits = match &mut self.columns[column] {
            Column::Number(values) => put(values, number_of(&cell, form)),
            Column::Date(values) => put(values, time_of(&cell, form, date)),
            Column::DateTime(values) => put(values, time_of(&cell, form, datetime)),
            Column::Boolean(values) => {
                let value = boolean_of(&cell);
                values.push(value.flatten());
                value.is_some()
            }
            Column::Category(category) => {
                let code = level_of(&cell).map(|level| match level {
                    None => MISSING,
                    Some(level) => self.reader.levels[column].get(level.as_ref()).copied().unwrap_or(UNSEEN),
                });
                category.codes.push(code.unwrap_or(MISSING));
                code.is_some()
            }
            Column::Text(text) => {
                let value = level_of(&cell);
                text.push(value.iter().flatten().next().map_or("", |text| text.as_ref()));
                value.is_some()
            }
        };
        if !fits {
            let (value, kind) = (cell.quoted(), self.reader.schema.columns[column].kind);
            let problem = format!("{value} is not {}", kind.noun());
            self.refuse(Some(row), Some(column), Some(value), problem);
        }
    }

    fn finish(self) -> Result<Table, Refused> {
        if self.bad_count > 0 {
            return Err(Refused::Cells(self.bad, self.bad_count));
        }
        let names = self.reader.schema.columns.iter().map(|field| field.name.clone());
        Table::new(names.zip(self.columns).collect()).map_err(|error| Refused::Syntax(error.to_string()))
    }
}

fn put(values: &mut Vec<f64>, value: Option<f64>) -> bool {
    values.push(value.unwrap_or(f64::NAN));
    value.is_some()
}

/// As the file of the fit spelt it, or as usual.
fn spelt(text: &str, form: Option<table::Form>, usual: fn(&[u8]) -> Option<f64>) -> Option<f64> {
    let field = text.trim().as_bytes();
    form.and_then(|form| form.read(field)).or_else(|| usual(field))
}

fn number_of(cell: &Cell, form: Option<table::Form>) -> Option<f64> {
    match cell {
        Cell::Missing => Some(f64::NAN),
        Cell::Integer(value) => Some(*value as f64),
        Cell::Number(value) => Some(*value),
        Cell::Text(text) => spelt(text, form, number),
        Cell::Boolean(_) | Cell::Nested(_) => None,
    }
}

fn time_of(cell: &Cell, form: Option<table::Form>, usual: fn(&[u8]) -> Option<f64>) -> Option<f64> {
    match cell {
        Cell::Missing => Some(f64::NAN),
        Cell::Text(text) => spelt(text, form, usual),
        // A number of seconds since 1970, where the file had those.
        Cell::Integer(value) => form.and_then(|form| form.read(value.to_string().as_bytes())),
        _ => None,
    }
}

fn boolean_of(cell: &Cell) -> Option<Option<bool>> {
    match cell {
        Cell::Missing => Some(None),
        Cell::Boolean(value) => Some(Some(*value)),
        Cell::Integer(value @ (0 | 1)) => Some(Some(*value == 1)),
        Cell::Text(text) => {
            let text = text.trim().as_bytes();
            boolean(text).or_else(|| declared_boolean(text)).map(Some)
        }
        _ => None,
    }
}

fn level_of<'a>(cell: &Cell<'a>) -> Option<Option<std::borrow::Cow<'a, str>>> {
    match cell {
        Cell::Missing => Some(None),
        Cell::Text(text) => Some(Some((*text).into())),
        Cell::Boolean(value) => Some(Some(value.to_string().into())),
        Cell::Integer(value) => Some(Some(value.to_string().into())),
        Cell::Number(value) => Some(Some(number_text(*value).into())),
        Cell::Nested(_) => None,
    }
}
