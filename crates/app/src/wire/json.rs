//! Rows as JSON, records or columns, straight into typed columns.

use super::{Cell, Cells, Form, Reader, Refused, not_utf8};
use crate::table::Table;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

pub(super) fn read(reader: &Reader, bytes: &[u8], most_rows: usize) -> Result<(Table, Form), Refused> {
    let text = std::str::from_utf8(bytes).map_err(not_utf8)?;
    let mut state = State { cells: Cells::new(reader), most_rows, form: None, too_many: false };
    let mut json = serde_json::Deserializer::from_str(text);
    let outcome = Whole(&mut state).deserialize(&mut json).and_then(|()| json.end());
    if state.too_many {
        return Err(Refused::TooMany(most_rows));
    }
    if let Err(error) = outcome {
        return Err(Refused::Syntax(error.to_string()));
    }
    match state.form {
        Some(form) => Ok((state.cells.finish()?, form)),
        None => Err(Refused::Syntax(EXPECTED.into())),
    }
}

const EXPECTED: &str = "rows are expected as [{...}, ...], {\"records\": [{...}, ...]} or {\"columns\": {...}}";

struct State<'a> {
    cells: Cells<'a>,
    most_rows: usize,
    form: Option<Form>,
    too_many: bool,
}

/// The whole body.
struct Whole<'s, 'a>(&'s mut State<'a>);

impl<'de> DeserializeSeed<'de> for Whole<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Whole<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, seq: S) -> Result<(), S::Error> {
        self.0.form = Some(Form::Records);
        Records(self.0).visit_seq(seq)
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(key) = map.next_key::<std::borrow::Cow<str>>()? {
            if self.0.form.is_some() {
                return Err(de::Error::custom("one list of records or one map of columns is expected"));
            }
            match key.as_ref() {
                "records" => {
                    self.0.form = Some(Form::Records);
                    map.next_value_seed(Records(self.0))?;
                }
                "columns" => {
                    self.0.form = Some(Form::Columns);
                    map.next_value_seed(Columns(self.0))?;
                }
                _ => return Err(de::Error::custom(EXPECTED)),
            }
        }
        Ok(())
    }
}

/// A list of records.
struct Records<'s, 'a>(&'s mut State<'a>);

impl<'de> DeserializeSeed<'de> for Records<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Records<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of records")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<(), S::Error> {
        let mut row = 0;
        while seq.next_element_seed(Record { cells: &mut self.0.cells, row })?.is_some() {
            row += 1;
            if row > self.0.most_rows {
                self.0.too_many = true;
                return Err(de::Error::custom("too many rows"));
            }
        }
        Ok(())
    }
}

struct Record<'s, 'a> {
    cells: &'s mut Cells<'a>,
    row: usize,
}

impl<'de> DeserializeSeed<'de> for Record<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Record<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a record with a value for each column (row {})", self.row + 1)
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let Record { cells, row } = self;
        // Records name their columns in one order, nearly always that of the schema.
        let mut guess = 0;
        while let Some(found) = map.next_key_seed(Name { reader: cells.reader, guess })? {
            let Some(column) = found else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            guess = column + 1;
            if cells.columns[column].len() > row {
                map.next_value::<IgnoredAny>()?;
                cells.refuse(Some(row), Some(column), None, "the column is there twice".into());
                continue;
            }
            map.next_value_seed(Value { cells, column })?;
        }
        for column in 0..cells.columns.len() {
            if cells.columns[column].len() == row {
                cells.push(column, Cell::Missing);
                let problem = "the column is not there; a missing value is null".to_string();
                cells.refuse(Some(row), Some(column), None, problem);
            }
        }
        Ok(())
    }
}

/// The name of a column as its place, `None` for one that the model does not use.
struct Name<'a> {
    reader: &'a Reader,
    guess: usize,
}

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Option<usize>, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the name of a column")
    }

    fn visit_str<E>(self, name: &str) -> Result<Option<usize>, E> {
        match self.reader.schema.columns.get(self.guess) {
            Some(field) if field.name == name => Ok(Some(self.guess)),
            _ => Ok(self.reader.places.get(name).copied()),
        }
    }
}

/// A cell of the column.
struct Value<'s, 'a> {
    cells: &'s mut Cells<'a>,
    column: usize,
}

impl<'de> DeserializeSeed<'de> for Value<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.cells.push(self.column, Cell::Missing);
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.cells.push(self.column, Cell::Boolean(value));
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.cells.push(self.column, Cell::Integer(value.into()));
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.cells.push(self.column, Cell::Integer(value.into()));
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.cells.push(self.column, Cell::Number(value));
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.cells.push(self.column, Cell::Text(value));
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<(), S::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        self.cells.push(self.column, Cell::Nested("a list"));
        Ok(())
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.cells.push(self.column, Cell::Nested("a map"));
        Ok(())
    }
}

/// A map from names to lists.
struct Columns<'s, 'a>(&'s mut State<'a>);

impl<'de> DeserializeSeed<'de> for Columns<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Columns<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a map from the names of columns to lists")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let state = self.0;
        let mut there = vec![false; state.cells.columns.len()];
        let (mut guess, mut rows) = (0, None);
        while let Some(found) = map.next_key_seed(Name { reader: state.cells.reader, guess })? {
            let Some(column) = found else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            guess = column + 1;
            if std::mem::replace(&mut there[column], true) {
                map.next_value::<IgnoredAny>()?;
                state.cells.refuse(None, Some(column), None, "the column is there twice".into());
                continue;
            }
            map.next_value_seed(List { state, column })?;
            let count = state.cells.columns[column].len();
            let expected = *rows.get_or_insert(count);
            if count != expected {
                let problem = format!("the column has {count} rows, and another has {expected}");
                state.cells.refuse(None, Some(column), None, problem);
            }
        }
        for column in (0..there.len()).filter(|&column| !there[column]) {
            state.cells.refuse(None, Some(column), None, "the column is not there".into());
        }
        Ok(())
    }
}

struct List<'s, 'a> {
    state: &'s mut State<'a>,
    column: usize,
}

impl<'de> DeserializeSeed<'de> for List<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of values")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<(), S::Error> {
        let List { state, column } = self;
        while seq.next_element_seed(Value { cells: &mut state.cells, column })?.is_some() {
            if state.cells.columns[column].len() > state.most_rows {
                state.too_many = true;
                return Err(de::Error::custom("too many rows"));
            }
        }
        Ok(())
    }
}
