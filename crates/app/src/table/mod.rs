//! A file becomes a table: named columns of equal length, each of one kind.
//!
//! What gives a value its meaning is in [`meaning`] and nowhere else, so that CSV and Parquet, a file read whole and a
//! file read in pieces agree: what is missing, what is a number, a date or free text ([`TextEvidence`]), which code a
//! category gets (its place in order of first appearance in the file, so it depends on neither threads nor chunks).
//!
//! A [`Schema`] is what a model remembers of its table. Reading another file against it gives the same kinds and the
//! same codes; a level it does not know becomes [`UNSEEN`], which is not the same as missing.

mod dictionary;
mod forms;
mod meaning;
mod summary;

pub use forms::{DateFormat, Form};
pub use meaning::{date_text, datetime_text, number_text};
pub use summary::Summary;

pub(crate) use dictionary::{Dictionary, Strings};
pub(crate) use forms::FormSet;
pub(crate) use meaning::{
    Na, TextEvidence, boolean, civil_from_days, date, datetime, declared_boolean, number, number_within, quote,
};
pub(crate) use summary::Tally;

use ermine_core::error::{Error, Result};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc};

/// The code of a category that is missing.
pub const MISSING: u32 = u32::MAX;
/// The code of a category whose level the schema does not know.
pub const UNSEEN: u32 = u32::MAX - 1;
/// A string column with more distinct values than this is text: nothing can be learnt from so many levels, and the
/// limit keeps a schema, and the memory needed to find it, small. Also where a [`Summary`] stops counting.
pub const MAX_LEVELS: usize = 1 << 16;
/// Text or category is decided from at most this many rows at the head of a file, so that it is known early.
pub(crate) const SAMPLE_ROWS: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Number,
    Boolean,
    Category,
    Text,
    /// Days since 1970-01-01.
    Date,
    /// Seconds since 1970-01-01T00:00:00 UTC.
    DateTime,
}

impl Kind {
    pub const ALL: [Kind; 6] = [Kind::Number, Kind::Boolean, Kind::Category, Kind::Text, Kind::Date, Kind::DateTime];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Number => "number",
            Kind::Boolean => "boolean",
            Kind::Category => "category",
            Kind::Text => "text",
            Kind::Date => "date",
            Kind::DateTime => "datetime",
        }
    }

    /// How a message calls one value of this kind.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Kind::Number => "a number",
            Kind::Boolean => "true or false",
            Kind::Category => "a category",
            Kind::Text => "text",
            Kind::Date => "a date",
            Kind::DateTime => "a date and time",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| Error::Unknown {
            what: "kind of column",
            name: name.into(),
            known: Kind::ALL.map(|kind| kind.name().into()).into(),
        })
    }
}

/// The values of one column.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Column {
    /// NaN is missing.
    Number(Vec<f64>),
    Boolean(Vec<Option<bool>>),
    Category(Category),
    Text(Text),
    /// Days since 1970-01-01; NaN is missing.
    Date(Vec<f64>),
    /// Seconds since 1970-01-01T00:00:00 UTC; NaN is missing.
    DateTime(Vec<f64>),
}

/// A code per row: the place of its level, or [`MISSING`], or [`UNSEEN`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Category {
    pub codes: Vec<u32>,
    #[serde(with = "levels_as_list")]
    pub levels: Arc<[String]>,
}

impl Category {
    pub fn get(&self, row: usize) -> Option<&str> {
        self.levels.get(self.codes[row] as usize).map(String::as_str)
    }

    /// Rows whose level the schema does not know.
    pub fn unseen(&self) -> usize {
        self.codes.iter().filter(|&&code| code == UNSEEN).count()
    }
}

/// Strings in one buffer. The empty string is the missing value: a CSV file cannot tell the two apart.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Text {
    bytes: String,
    ends: Vec<usize>,
}

impl Text {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn get(&self, row: usize) -> &str {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes[start..self.ends[row]]
    }

    pub fn push(&mut self, value: &str) {
        self.bytes.push_str(value);
        self.ends.push(self.bytes.len());
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|row| self.get(row))
    }

    fn append(&mut self, other: &Text) {
        let offset = self.bytes.len();
        self.bytes.push_str(&other.bytes);
        self.ends.extend(other.ends.iter().map(|end| end + offset));
    }

    pub(crate) fn concat(parts: Vec<Text>) -> Text {
        let mut parts = parts.into_iter();
        let Some(first) = parts.next() else { return Text::default() };
        let rest = parts.as_slice();
        if rest.is_empty() {
            return first;
        }
        let mut all = Text::default();
        all.bytes.reserve_exact(first.bytes.len() + rest.iter().map(|part| part.bytes.len()).sum::<usize>());
        all.ends.reserve_exact(first.ends.len() + rest.iter().map(|part| part.ends.len()).sum::<usize>());
        all.append(&first);
        drop(first);
        for part in parts {
            all.append(&part);
        }
        all
    }
}

impl<S: AsRef<str>> FromIterator<S> for Text {
    fn from_iter<I: IntoIterator<Item = S>>(values: I) -> Text {
        let mut text = Text::default();
        for value in values {
            text.push(value.as_ref());
        }
        text
    }
}

impl Column {
    /// A category column from strings; the empty string is missing.
    pub fn categories<S: AsRef<str>>(values: impl IntoIterator<Item = S>) -> Column {
        let mut levels = Dictionary::default();
        let codes = values
            .into_iter()
            .map(|value| if value.as_ref().is_empty() { MISSING } else { levels.code_of_str(value.as_ref()) })
            .collect();
        Column::Category(Category { codes, levels: levels.levels() })
    }

    pub fn kind(&self) -> Kind {
        match self {
            Column::Number(_) => Kind::Number,
            Column::Boolean(_) => Kind::Boolean,
            Column::Category(_) => Kind::Category,
            Column::Text(_) => Kind::Text,
            Column::Date(_) => Kind::Date,
            Column::DateTime(_) => Kind::DateTime,
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Column::Number(values) | Column::Date(values) | Column::DateTime(values) => values.len(),
            Column::Boolean(values) => values.len(),
            Column::Category(category) => category.codes.len(),
            Column::Text(text) => text.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An unseen level is a value, not a missing one.
    pub fn is_missing(&self, row: usize) -> bool {
        match self {
            Column::Number(values) | Column::Date(values) | Column::DateTime(values) => values[row].is_nan(),
            Column::Boolean(values) => values[row].is_none(),
            Column::Category(category) => category.codes[row] == MISSING,
            Column::Text(text) => text.get(row).is_empty(),
        }
    }

    pub fn take(&self, rows: &[usize]) -> Column {
        fn pick<T: Copy>(values: &[T], rows: &[usize]) -> Vec<T> {
            rows.iter().map(|&row| values[row]).collect()
        }
        match self {
            Column::Number(values) => Column::Number(pick(values, rows)),
            Column::Date(values) => Column::Date(pick(values, rows)),
            Column::DateTime(values) => Column::DateTime(pick(values, rows)),
            Column::Boolean(values) => Column::Boolean(pick(values, rows)),
            Column::Category(category) => {
                Column::Category(Category { codes: pick(&category.codes, rows), levels: category.levels.clone() })
            }
            Column::Text(text) => Column::Text(rows.iter().map(|&row| text.get(row)).collect()),
        }
    }

    /// The value as a CSV file would have it; empty when it is missing or its level unseen.
    pub fn value_text(&self, row: usize) -> String {
        match self {
            Column::Number(values) => number_text(values[row]),
            Column::Boolean(values) => values[row].map_or(String::new(), |value| value.to_string()),
            Column::Category(category) => category.get(row).unwrap_or_default().into(),
            Column::Text(text) => text.get(row).into(),
            Column::Date(values) => date_text(values[row]),
            Column::DateTime(values) => datetime_text(values[row]),
        }
    }

    pub(crate) fn append(&mut self, other: &Column) -> Result<()> {
        match (&mut *self, other) {
            (Column::Number(a), Column::Number(b))
            | (Column::Date(a), Column::Date(b))
            | (Column::DateTime(a), Column::DateTime(b)) => a.extend_from_slice(b),
            (Column::Boolean(a), Column::Boolean(b)) => a.extend_from_slice(b),
            (Column::Category(a), Column::Category(b)) if a.levels == b.levels => a.codes.extend_from_slice(&b.codes),
            (Column::Text(a), Column::Text(b)) => a.append(b),
            (a, b) => return Err(Error::shape("columns to join", a.kind(), b.kind())),
        }
        Ok(())
    }
}

/// Two missing values are equal.
impl PartialEq for Column {
    fn eq(&self, other: &Column) -> bool {
        fn same(a: &[f64], b: &[f64]) -> bool {
            a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()))
        }
        match (self, other) {
            (Column::Number(a), Column::Number(b))
            | (Column::Date(a), Column::Date(b))
            | (Column::DateTime(a), Column::DateTime(b)) => same(a, b),
            (Column::Boolean(a), Column::Boolean(b)) => a == b,
            (Column::Category(a), Column::Category(b)) => a == b,
            (Column::Text(a), Column::Text(b)) => a == b,
            _ => false,
        }
    }
}

/// Named columns of equal length. Selecting columns shares them.
#[derive(Debug, Clone, Default)]
pub struct Table {
    rows: usize,
    names: Vec<String>,
    /// Where each name stands: a table may have very many columns.
    places: FxHashMap<String, usize>,
    columns: Vec<Arc<Column>>,
    /// The user's own missing markers, kept because they belong to the schema.
    na: Vec<String>,
    /// How columns are spelt, where that needs a word.
    forms: BTreeMap<String, Form>,
    /// What was taken for granted when the file was read.
    assumed: Vec<String>,
}

/// What was taken for granted makes no difference.
impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        let same = self.rows == other.rows && self.names == other.names && self.columns == other.columns;
        same && self.na == other.na && self.forms == other.forms
    }
}

impl Table {
    pub fn new(columns: Vec<(String, Column)>) -> Result<Table> {
        let mut table = Table { rows: columns.first().map_or(0, |(_, column)| column.len()), ..Table::default() };
        let mut taken = FxHashSet::default();
        if let Some((name, _)) = columns.iter().find(|(name, _)| !taken.insert(name.as_str())) {
            return Err(Error::Data(format!("there are two columns '{name}'")));
        }
        for (name, column) in columns {
            table.push_new(name, column)?;
        }
        Ok(table)
    }

    pub(crate) fn with_na(mut self, na: Vec<String>) -> Table {
        self.na = na;
        self
    }

    /// How its file spells the columns, and what was taken for granted.
    pub(crate) fn with_forms(mut self, forms: BTreeMap<String, Form>, assumed: Vec<String>) -> Table {
        (self.forms, self.assumed) = (forms, assumed);
        self
    }

    pub(crate) fn with_assumed(self, assumed: Vec<String>) -> Table {
        Table { assumed, ..self }
    }

    /// What was taken for granted when the file was read.
    pub fn assumed(&self) -> &[String] {
        &self.assumed
    }

    pub fn push(&mut self, name: impl Into<String>, column: Column) -> Result<()> {
        let name = name.into();
        if self.places.contains_key(&name) {
            return Err(Error::Data(format!("there are two columns '{name}'")));
        }
        self.push_new(name, column)
    }

    fn push_new(&mut self, name: String, column: Column) -> Result<()> {
        if self.names.is_empty() {
            self.rows = column.len();
        }
        if column.len() != self.rows {
            return Err(Error::shape(format!("rows of column '{name}'"), self.rows, column.len()));
        }
        self.places.insert(name.clone(), self.names.len());
        self.names.push(name);
        self.columns.push(Arc::new(column));
        Ok(())
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub fn columns(&self) -> impl ExactSizeIterator<Item = (&str, &Column)> {
        self.names.iter().map(String::as_str).zip(self.columns.iter().map(Arc::as_ref))
    }

    pub(crate) fn into_columns(self) -> Vec<Column> {
        self.columns.into_iter().map(Arc::unwrap_or_clone).collect()
    }

    pub fn column(&self, name: &str) -> Result<&Column> {
        match self.places.get(name) {
            Some(&index) => Ok(&self.columns[index]),
            None => Err(unknown_column(&self.names, name)),
        }
    }

    /// These columns, in this order.
    pub fn select<S: AsRef<str>>(&self, names: &[S]) -> Result<Table> {
        let mut table = Table { rows: self.rows, na: self.na.clone(), forms: self.forms.clone(), ..Table::default() };
        for name in names {
            let place = self.places.get(name.as_ref()).copied();
            let index = place.ok_or_else(|| unknown_column(&self.names, name.as_ref()))?;
            // The first of two equal ones is found by its name.
            table.places.entry(self.names[index].clone()).or_insert(table.names.len());
            table.names.push(self.names[index].clone());
            table.columns.push(self.columns[index].clone());
        }
        Ok(table)
    }

    /// These rows, in this order.
    pub fn take(&self, rows: &[usize]) -> Table {
        Table {
            rows: rows.len(),
            names: self.names.clone(),
            places: self.places.clone(),
            columns: self.columns.par_iter().map(|column| Arc::new(column.take(rows))).collect(),
            na: self.na.clone(),
            forms: self.forms.clone(),
            assumed: self.assumed.clone(),
        }
    }

    /// Rows of another table with the same names, kinds and levels after these.
    pub fn append(&mut self, other: &Table) -> Result<()> {
        if self.names != other.names {
            return Err(Error::shape("columns to join", self.names.join(", "), other.names.join(", ")));
        }
        for (column, more) in self.columns.iter_mut().zip(&other.columns) {
            Arc::make_mut(column).append(more)?;
        }
        self.rows += other.rows;
        Ok(())
    }

    pub fn schema(&self) -> Schema {
        let columns = self.columns().map(|(name, column)| Field {
            name: name.into(),
            kind: column.kind(),
            levels: if let Column::Category(category) = column { category.levels.clone() } else { Arc::default() },
            form: self.forms.get(name).copied(),
        });
        Schema { columns: columns.collect(), na: self.na.clone() }
    }

    pub fn summary(&self) -> Vec<Summary> {
        let tallies = self.columns.par_iter().map(|column| {
            let mut tally = Tally::default();
            tally.add(column);
            tally
        });
        let tallies: Vec<Tally> = tallies.collect();
        self.columns().zip(tallies).map(|((name, column), tally)| tally.finish(name, column.kind())).collect()
    }
}

fn unknown_column(names: &[String], name: &str) -> Error {
    Error::Unknown { what: "column", name: name.into(), known: names.to_vec() }
}

/// Columns by name, for tables with thousands of them.
pub(crate) struct Places<'a> {
    names: &'a [String],
    places: FxHashMap<&'a str, usize>,
}

impl<'a> Places<'a> {
    pub(crate) fn of_names(names: &'a [String]) -> Places<'a> {
        Places { names, places: names.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect() }
    }

    pub(crate) fn of(&self, name: &str) -> Result<usize> {
        self.places.get(name).copied().ok_or_else(|| unknown_column(self.names, name))
    }
}

/// What a model remembers of the table it was fitted on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    pub columns: Vec<Field>,
    /// Missing markers beyond the usual ones.
    #[serde(default)]
    pub na: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Field {
    pub name: String,
    pub kind: Kind,
    /// Of a category; the place of a level is its code.
    #[serde(with = "levels_as_list", default)]
    pub levels: Arc<[String]>,
    /// How the file spells the values, if not as usual.
    #[serde(default)]
    pub form: Option<Form>,
}

impl Field {
    /// A value of this column in rows, where dates count in days, as people read it.
    pub fn text_of(&self, value: f64) -> String {
        match self.kind {
            Kind::Date => date_text(value.floor()),
            Kind::DateTime => datetime_text((value * 86_400.0).round()),
            _ => number_text(value),
        }
    }
}

mod levels_as_list {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(levels: &Arc<[String]>, serializer: S) -> Result<S::Ok, S::Error> {
        levels.as_ref().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[String]>, D::Error> {
        Ok(Vec::<String>::deserialize(deserializer)?.into())
    }
}

impl Schema {
    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(|field| field.name.clone()).collect()
    }

    pub fn field(&self, name: &str) -> Result<&Field> {
        let found = self.columns.iter().find(|field| field.name == name);
        found.ok_or_else(|| unknown_column(&self.names(), name))
    }

    /// These columns, in this order: a file to predict from need not have the target.
    pub fn select<S: AsRef<str>>(&self, names: &[S]) -> Result<Schema> {
        let all = self.names();
        let places = Places::of_names(&all);
        let columns = names.iter().map(|name| Ok(self.columns[places.of(name.as_ref())?].clone()));
        let columns = columns.collect::<Result<_>>()?;
        Ok(Schema { columns, na: self.na.clone() })
    }
}
