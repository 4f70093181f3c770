//! A file becomes a table: named columns of equal length, each of one kind.
//!
//! Everything that gives a value its meaning is here and nowhere else, so that CSV and Parquet, a file read whole and a
//! file read in pieces agree: what is missing, what is a number, a date or free text ([`TextEvidence`]), which code a
//! category gets (its place in order of first appearance in the file, so it depends on neither threads nor chunks).
//!
//! A [`Schema`] is what a model remembers of its table. Reading another file against it gives the same kinds and the
//! same codes; a level it does not know becomes [`UNSEEN`], which is not the same as missing.

use std::{
    collections::BTreeMap,
    fmt,
    hash::Hasher,
    io::Read,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use ermine_core::error::{Error, Result};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use serde::{Deserialize, Serialize};

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
            Kind::Date => "a date like 2024-03-01",
            Kind::DateTime => "a date and time like 2024-03-01T10:00:00",
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
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    rows: usize,
    names: Vec<String>,
    columns: Vec<Arc<Column>>,
    /// The user's own missing markers, kept because they belong to the schema.
    na: Vec<String>,
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

    pub fn push(&mut self, name: impl Into<String>, column: Column) -> Result<()> {
        let name = name.into();
        if self.names.contains(&name) {
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
        match self.names.iter().position(|known| known == name) {
            Some(index) => Ok(&self.columns[index]),
            None => Err(unknown_column(&self.names, name)),
        }
    }

    /// These columns, in this order.
    pub fn select<S: AsRef<str>>(&self, names: &[S]) -> Result<Table> {
        let places = Places::of_names(&self.names);
        let mut table = Table { rows: self.rows, na: self.na.clone(), ..Table::default() };
        for name in names {
            let index = places.of(name.as_ref())?;
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
            columns: self.columns.par_iter().map(|column| Arc::new(column.take(rows))).collect(),
            na: self.na.clone(),
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

/// One column in a few numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub name: String,
    pub kind: Kind,
    pub rows: usize,
    pub missing: usize,
    /// Rows whose level the schema does not know.
    pub unseen: usize,
    /// `None` means more than [`MAX_LEVELS`].
    pub distinct: Option<usize>,
    /// Of numbers and dates; dates as [`Kind`] counts them, [`Summary::text_of`] writes them out.
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// Also of booleans, where it is the share of true.
    pub mean: Option<f64>,
}

impl Summary {
    /// A minimum, maximum or mean of this column for people.
    pub fn text_of(&self, value: f64) -> String {
        match self.kind {
            Kind::Date => date_text(value.floor()),
            Kind::DateTime => datetime_text(value.floor()),
            _ => number_text(value),
        }
    }
}

/// A summary in the making. Values are added in row order, so that pieces of a file give the same bits as the whole.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    rows: usize,
    missing: usize,
    unseen: usize,
    distinct: Distinct,
    range: Option<(f64, f64)>,
    total: f64,
}

#[derive(Serialize, Deserialize)]
enum Distinct {
    Hashes(FxHashSet<u64>),
    /// Counted elsewhere; `None` is too many.
    Known(Option<usize>),
}

impl Default for Distinct {
    fn default() -> Self {
        Distinct::Hashes(FxHashSet::default())
    }
}

impl Distinct {
    fn add(&mut self, hash: u64) {
        if let Distinct::Hashes(seen) = self {
            seen.insert(hash);
            if seen.len() > MAX_LEVELS {
                *self = Distinct::Known(None);
            }
        }
    }
}

impl Tally {
    pub(crate) fn add(&mut self, column: &Column) {
        self.rows += column.len();
        match column {
            Column::Number(values) | Column::Date(values) | Column::DateTime(values) => {
                for &value in values {
                    if value.is_nan() {
                        self.missing += 1;
                        continue;
                    }
                    let (low, high) = self.range.unwrap_or((value, value));
                    self.range = Some((low.min(value), high.max(value)));
                    self.total += value;
                    self.distinct.add((value + 0.0).to_bits());
                }
            }
            Column::Boolean(values) => {
                for value in values {
                    match value {
                        None => self.missing += 1,
                        Some(value) => {
                            self.total += f64::from(u8::from(*value));
                            self.distinct.add(u64::from(*value));
                        }
                    }
                }
            }
            Column::Category(category) => {
                let mut used = vec![false; category.levels.len()];
                for &code in &category.codes {
                    match code {
                        MISSING => self.missing += 1,
                        UNSEEN => self.unseen += 1,
                        code => used[code as usize] = true,
                    }
                }
                let used = used.iter().enumerate().filter(|(_, used)| **used);
                used.for_each(|(code, _)| self.distinct.add(code as u64));
            }
            Column::Text(text) => text.iter().for_each(|value| {
                if value.is_empty() {
                    self.missing += 1;
                } else {
                    self.distinct.add(hash(value.as_bytes()));
                }
            }),
        }
    }

    /// Adds what was counted in the rows that follow.
    pub(crate) fn merge(&mut self, other: Tally) {
        self.rows += other.rows;
        self.missing += other.missing;
        self.unseen += other.unseen;
        self.total += other.total;
        self.range = match (self.range, other.range) {
            (Some((low, high)), Some((lower, higher))) => Some((low.min(lower), high.max(higher))),
            (range, None) | (None, range) => range,
        };
        match other.distinct {
            Distinct::Hashes(seen) => seen.into_iter().for_each(|hash| self.distinct.add(hash)),
            known => self.distinct = known,
        }
    }

    /// Rows of a string column whose levels are counted elsewhere.
    pub(crate) fn add_codes(&mut self, codes: &[u32]) {
        self.rows += codes.len();
        self.missing += codes.iter().filter(|&&code| code == MISSING).count();
    }

    pub(crate) fn set_distinct(&mut self, distinct: Option<usize>) {
        self.distinct = Distinct::Known(distinct);
    }

    pub(crate) fn finish(self, name: &str, kind: Kind) -> Summary {
        let known = self.rows - self.missing;
        let ordered = matches!(kind, Kind::Number | Kind::Date | Kind::DateTime);
        Summary {
            name: name.into(),
            kind,
            rows: self.rows,
            missing: self.missing,
            unseen: self.unseen,
            distinct: match self.distinct {
                Distinct::Hashes(seen) => Some(seen.len()),
                Distinct::Known(count) => count,
            },
            min: self.range.map(|(low, _)| low),
            max: self.range.map(|(_, high)| high),
            mean: (known > 0 && (ordered || kind == Kind::Boolean)).then(|| self.total / known as f64),
        }
    }
}

/// How to read a file. Everything left out is found in the file.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Comma, semicolon, tab or bar if not given.
    pub delimiter: Option<u8>,
    /// Whether the first line holds the names.
    pub header: Option<bool>,
    /// Missing markers beyond empty, NA, N/A, NaN, null, none and ?.
    pub na: Vec<String>,
    /// Kinds that the user knows better.
    pub kinds: BTreeMap<String, Kind>,
    /// Only these columns, in this order.
    pub columns: Option<Vec<String>>,
    /// Kinds and levels to read against; columns it does not name are left out.
    pub schema: Option<Schema>,
    /// A file whose first column is put beside the others, as labels come with images.
    pub labels: Option<PathBuf>,
    /// Bytes of a CSV file that a thread takes at a time, at most. The table does not depend on it.
    pub chunk_bytes: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            delimiter: None,
            header: None,
            na: Vec::new(),
            kinds: BTreeMap::new(),
            columns: None,
            schema: None,
            labels: None,
            chunk_bytes: 4 << 20,
        }
    }
}

impl ReadOptions {
    /// The user's missing markers and those of the schema.
    pub(crate) fn all_na(&self, schema: Option<&Schema>) -> Vec<String> {
        let mut all = schema.map_or(Vec::new(), |schema| schema.na.clone());
        all.extend(self.na.iter().filter(|marker| !all.contains(marker)).cloned().collect::<Vec<_>>());
        all
    }
}

/// What [`scan`] finds out about a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    pub schema: Schema,
    pub rows: usize,
    pub summary: Vec<Summary>,
}

/// The file as a table; `-` is standard input. Parquet and IDX are known by their first bytes, anything else is CSV, plain or gzip.
/// Works in the current rayon pool; the table is the same for any number of threads.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Table> {
    let path = path.as_ref();
    let Some(labels) = &options.labels else { return read_one(path, options) };
    let label = read_one(labels, &ReadOptions { schema: None, columns: None, ..options.clone() })?;
    let (name, column) = label.columns().next().ok_or_else(|| Error::format(labels, None, "there is no column"))?;
    // What is asked of the columns is asked of both files.
    let mut rest = options.clone();
    if let Some(schema) = &mut rest.schema {
        schema.columns.retain(|field| field.name != name);
    }
    if let Some(columns) = &mut rest.columns {
        columns.retain(|column| column != name);
    }
    let mut table = read_one(path, &rest)?;
    if column.len() != table.rows() && !table.names().is_empty() {
        let found = format!("{} in {}", column.len(), labels.display());
        return Err(Error::shape("labels", format!("{} rows as in {}", table.rows(), path.display()), found));
    }
    table.push(name, column.clone())?;
    Ok(table)
}

fn read_one(path: &Path, options: &ReadOptions) -> Result<Table> {
    if crate::idx::is_idx(path)? {
        let table = crate::idx::read(path)?;
        return match &options.columns {
            Some(columns) => table.select(columns),
            None => Ok(table),
        };
    }
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(|error| Error::io("-", "read", &error))?;
        return if bytes.starts_with(PARQUET_MAGIC) {
            crate::parquet::read_bytes(path, &bytes, options)
        } else {
            crate::csv::read_bytes(path, bytes, options)
        };
    }
    if is_parquet(path)? { crate::parquet::read(path, options) } else { crate::csv::read(path, options) }
}

/// Hands out consecutive rows in order, as tables of about `chunk_bytes` of the file each, without ever holding more
/// than a few of them. Returns the number of rows.
pub fn stream(
    path: impl AsRef<Path>,
    options: &ReadOptions,
    schema: &Schema,
    chunk_bytes: usize,
    each: impl FnMut(Table) -> Result<()>,
) -> Result<usize> {
    let path = path.as_ref();
    if is_parquet(path)? {
        crate::parquet::stream(path, options, schema, chunk_bytes, each)
    } else {
        crate::csv::stream(path, options, schema, chunk_bytes, each)
    }
}

/// The schema that [`read`] would find, and a summary of every column, in bounded memory.
pub fn scan(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Scan> {
    let path = path.as_ref();
    if options.labels.is_some() || crate::idx::is_idx(path)? {
        return Err(Error::Unsupported("images with labels are read whole, not from disk".into())
            .hint("give more with --memory"));
    }
    if is_parquet(path)? { crate::parquet::scan(path, options) } else { crate::csv::scan(path, options) }
}

const PARQUET_MAGIC: &[u8] = b"PAR1";

pub(crate) fn is_parquet(path: &Path) -> Result<bool> {
    if path == Path::new("-") {
        return Ok(false);
    }
    let mut start = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| Error::io(path, "open", &error))?;
    file.take(4).read_to_end(&mut start).map_err(|error| Error::io(path, "read", &error))?;
    Ok(start == PARQUET_MAGIC)
}

// ---------------------------------------------------------------------------------------------------------------------
// What a value means

/// Which fields count as missing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Na {
    texts: Vec<Vec<u8>>,
    /// A marker that is a number is also meant when the file writes that number another way (-999 and -999.0).
    numbers: Vec<f64>,
}

impl Na {
    pub(crate) fn new(markers: &[String]) -> Na {
        let texts: Vec<Vec<u8>> = markers.iter().map(|marker| marker.trim().as_bytes().to_vec()).collect();
        let numbers = texts.iter().filter_map(|text| number(text)).filter(|value| !value.is_nan()).collect();
        Na { texts, numbers }
    }

    /// The user gave no markers, so nothing that is a number, a date or a boolean is missing.
    #[inline]
    pub(crate) fn is_only_usual(&self) -> bool {
        self.texts.is_empty()
    }

    /// `field` without blanks around it.
    #[inline]
    pub(crate) fn is_missing(&self, field: &[u8]) -> bool {
        (field.len() <= 4 && is_usual_marker(field)) || (!self.texts.is_empty() && self.is_marker(field))
    }

    /// One of the user's own markers.
    pub(crate) fn is_marker(&self, value: &[u8]) -> bool {
        self.texts.iter().any(|text| text == value)
    }

    #[inline]
    pub(crate) fn is_missing_number(&self, value: f64) -> bool {
        !self.numbers.is_empty() && self.numbers.contains(&value)
    }
}

fn is_usual_marker(field: &[u8]) -> bool {
    match field.len() {
        0 => true,
        1 => field == b"?",
        2 => field.eq_ignore_ascii_case(b"na"),
        3 => field.eq_ignore_ascii_case(b"nan") || field.eq_ignore_ascii_case(b"n/a"),
        4 => [b"null", b"none", b"#n/a", b"<na>"].iter().any(|marker| field.eq_ignore_ascii_case(*marker)),
        _ => false,
    }
}

/// The kinds that all values seen so far could have. A column gets the first one, in this order, that all its values
/// agree with; that does not depend on the order in which values are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KindSet(u8);

impl KindSet {
    pub(crate) const ALL: KindSet = KindSet(0b11111);
    const NUMBER: u8 = 1;
    const BOOLEAN: u8 = 2;
    const DATE: u8 = 4;
    const DATETIME: u8 = 8;
    const STRING: u8 = 16;

    /// Kinds of a field that is not missing.
    pub(crate) fn of(field: &[u8]) -> KindSet {
        let special = if number(field).is_some() {
            KindSet::NUMBER
        } else if boolean(field).is_some() {
            KindSet::BOOLEAN
        } else if date(field).is_some() {
            KindSet::DATE | KindSet::DATETIME
        } else if datetime(field).is_some() {
            KindSet::DATETIME
        } else {
            0
        };
        KindSet(special | KindSet::STRING)
    }

    pub(crate) fn and(self, other: KindSet) -> KindSet {
        KindSet(self.0 & other.0)
    }

    /// `None` is a string: category or text.
    pub(crate) fn first(self) -> Option<Kind> {
        [
            (KindSet::NUMBER, Kind::Number),
            (KindSet::BOOLEAN, Kind::Boolean),
            (KindSet::DATE, Kind::Date),
            (KindSet::DATETIME, Kind::DateTime),
        ]
        .into_iter()
        .find_map(|(bit, kind)| (self.0 & bit != 0).then_some(kind))
    }
}

/// Whether a string column is free text rather than a category. It is when, in the first rows of the file, more than
/// half of the values are different and they have on average at least three words, or at least fifty characters. So
/// names of people, towns and identifiers stay categories; messages, reviews and descriptions are text. Beyond that, a
/// column of more than [`MAX_LEVELS`] different values is text whatever it looks like.
#[derive(Default)]
pub(crate) struct TextEvidence {
    values: usize,
    words: usize,
    characters: usize,
    distinct: FxHashSet<u64>,
}

impl TextEvidence {
    pub(crate) fn add(&mut self, value: &str) {
        self.values += 1;
        self.words += value.split_whitespace().count();
        self.characters += value.chars().count();
        self.distinct.insert(hash(value.as_bytes()));
    }

    pub(crate) fn is_text(&self) -> bool {
        let many = 2 * self.distinct.len() > self.values;
        many && (self.words >= 3 * self.values || self.characters >= 50 * self.values)
    }
}

/// A field without blanks around it as a number. NaN, in any spelling, is a number that is missing.
pub(crate) fn number(field: &[u8]) -> Option<f64> {
    // Words are common, and the parser need not see them.
    if field.iter().any(|byte| byte.is_ascii_digit() || matches!(byte, b'n' | b'N')) {
        fast_float2::parse(field).ok()
    } else {
        None
    }
}

/// `data[start..end]` as a number. The same as [`number`], and faster for decimals of up to 16 characters, which are
/// nearly all there is: sixteen bytes that end where the field ends become sixteen digits without a loop, so that fields
/// of different lengths do not mislead the processor's guess where the loop will stop.
#[inline]
pub(crate) fn number_within(data: &[u8], start: usize, end: usize) -> Option<f64> {
    const ZEROS: u128 = u128::from_le_bytes([b'0'; 16]);
    const POINT: u8 = b'.' ^ b'0';
    let negative = start < end && data[start] == b'-';
    let length = end - start - usize::from(negative);
    if (1..=16).contains(&length)
        && let Some(bytes) = end.checked_sub(16).and_then(|from| data[from..end].first_chunk())
    {
        // What precedes the digits becomes zeros; bytes that are digits are now their values.
        let before = (1 << (8 * (16 - length))) - 1;
        let mut digits = (u128::from_le_bytes(*bytes) ^ ZEROS) & !before;
        let others = not_digits(digits as u64) as u128 | (not_digits((digits >> 64) as u64) as u128) << 64;
        let mut decimals = 0;
        let mut plain = others == 0;
        if !plain {
            // A single point is taken out: what stands before it moves up.
            let place = others.trailing_zeros() / 8;
            plain = others & (others - 1) == 0 && (digits >> (8 * place)) as u8 == POINT && length > 1;
            let behind = u128::MAX.checked_shl(8 * (place + 1)).unwrap_or(0);
            let ahead = (1 << (8 * place)) - 1;
            digits = (digits & behind) | (digits & ahead) << 8;
            decimals = 15 - place as usize;
        }
        let mantissa = eight_digits(digits as u64) * 100_000_000 + eight_digits((digits >> 64) as u64);
        if plain && mantissa <= 1 << 53 {
            // Both are exact, so one division rounds correctly (Clinger 1990).
            let value = if decimals == 0 { mantissa as f64 } else { mantissa as f64 / POWERS_OF_TEN[decimals] };
            return Some(if negative { -value } else { value });
        }
    }
    number(&data[start..end])
}

/// The high bit of every byte that is more than nine.
#[inline]
fn not_digits(bytes: u64) -> u64 {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    (((bytes & !HIGH) + 0x7676_7676_7676_7676) | bytes) & HIGH
}

/// Eight digits, the first in the lowest byte, as their number: pairs, then fours, then all.
#[inline]
fn eight_digits(digits: u64) -> u64 {
    const PAIRS: u64 = 0x0000_00ff_0000_00ff;
    let pairs = digits.wrapping_mul(10) + (digits >> 8);
    let even = (pairs & PAIRS).wrapping_mul(100 + (1_000_000 << 32));
    let odd = ((pairs >> 16) & PAIRS).wrapping_mul(1 + (10_000 << 32));
    even.wrapping_add(odd) >> 32
}

const POWERS_OF_TEN: [f64; 18] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17];

pub(crate) fn boolean(field: &[u8]) -> Option<bool> {
    match field.len() {
        4 if field.eq_ignore_ascii_case(b"true") => Some(true),
        5 if field.eq_ignore_ascii_case(b"false") => Some(false),
        _ => None,
    }
}

/// More spellings, for a column that is known to be a boolean.
pub(crate) fn declared_boolean(field: &[u8]) -> Option<bool> {
    boolean(field).or_else(|| match field.to_ascii_lowercase().as_slice() {
        b"1" | b"1.0" | b"yes" | b"y" | b"t" => Some(true),
        b"0" | b"0.0" | b"no" | b"n" | b"f" => Some(false),
        _ => None,
    })
}

#[inline]
fn two_digits(field: &[u8], at: usize) -> Option<u32> {
    let (tens, ones) = (field.get(at)?.wrapping_sub(b'0'), field.get(at + 1)?.wrapping_sub(b'0'));
    (tens <= 9 && ones <= 9).then(|| 10 * u32::from(tens) + u32::from(ones))
}

/// `2024-03-01` as days since 1970-01-01.
#[inline]
pub(crate) fn date(field: &[u8]) -> Option<f64> {
    const FORM: u64 = u64::from_le_bytes(*b"0000-00-");
    const DASHES: u64 = 0xff00_00ff_0000_0000;
    if field.len() != 10 {
        return None;
    }
    // Digits become their values and dashes zero; anything else is something else.
    let digits = u64::from_le_bytes(*field.first_chunk()?) ^ FORM;
    if not_digits(digits) != 0 || digits & DASHES != 0 {
        return None;
    }
    let digit = |place: u32| (digits >> (8 * place)) as u32 & 0xff;
    let year = 1000 * digit(0) + 100 * digit(1) + 10 * digit(2) + digit(3);
    let month = 10 * digit(5) + digit(6);
    let day = two_digits(field, 8)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return None,
    };
    (1..=length).contains(&day).then(|| f64::from(days_from_civil(year, month, day)))
}

/// A date, optionally with `T` or a blank and `10:00[:00[.123]][Z|+01:00]`, as seconds since 1970-01-01T00:00:00 UTC.
/// Without a zone the time is taken as UTC.
pub(crate) fn datetime(field: &[u8]) -> Option<f64> {
    let day = date(field.get(..10)?)? * 86_400.0;
    if field.len() == 10 {
        return Some(day);
    }
    if !matches!(field[10], b'T' | b't' | b' ') || field.get(13) != Some(&b':') {
        return None;
    }
    let (hour, minute) = (two_digits(field, 11)?, two_digits(field, 14)?);
    let mut rest = &field[16..];
    let mut second = 0;
    let mut fraction = 0.0;
    if rest.first() == Some(&b':') {
        second = two_digits(rest, 1)?;
        rest = &rest[3..];
        if let [b'.' | b',', tail @ ..] = rest {
            let count = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if !(1..=9).contains(&count) {
                return None;
            }
            let parts = tail[..count].iter().fold(0, |parts, digit| parts * 10 + u64::from(digit - b'0'));
            fraction = parts as f64 / POWERS_OF_TEN[count];
            rest = &tail[count..];
        }
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let zone = match rest {
        [] | [b'Z' | b'z'] => 0.0,
        [sign @ (b'+' | b'-'), zone @ ..] => {
            let hours = two_digits(zone, 0)?;
            let minutes = match zone.len() {
                2 => 0,
                4 => two_digits(zone, 2)?,
                5 if zone[2] == b':' => two_digits(zone, 3)?,
                _ => return None,
            };
            let seconds = f64::from(hours * 3600 + minutes * 60);
            if *sign == b'+' { seconds } else { -seconds }
        }
        _ => return None,
    };
    Some(day + f64::from(hour * 3600 + minute * 60 + second) - zone + fraction)
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar. Years begin in March, so that the leap day comes last.
#[inline]
fn days_from_civil(year: u32, month: u32, day: u32) -> i32 {
    // A cycle of 400 years more, so that year 0 does not go below zero.
    let year = year + 400 - u32::from(month <= 2);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    (year * 365 + year / 4 - year / 100 + year / 400 + day_of_year) as i32 - 719_468 - 146_097
}

pub(crate) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// Days since 1970-01-01 as `2024-03-01`; empty if missing.
pub fn date_text(days: f64) -> String {
    if days.is_nan() {
        return String::new();
    }
    let (year, month, day) = civil_from_days(days as i64);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Seconds since 1970-01-01T00:00:00 UTC as `2024-03-01T10:00:00`, with as many decimals as needed; empty if missing.
pub fn datetime_text(seconds: f64) -> String {
    if seconds.is_nan() {
        return String::new();
    }
    let whole = seconds.floor();
    let write = |decimals: usize| {
        let mut whole = whole as i64;
        let scale = 10_f64.powi(decimals as i32);
        let mut fraction = ((seconds - seconds.floor()) * scale).round();
        if fraction >= scale {
            (whole, fraction) = (whole + 1, 0.0);
        }
        let (day, second) = (whole.div_euclid(86_400), whole.rem_euclid(86_400));
        let tail = if decimals == 0 { String::new() } else { format!(".{fraction:0decimals$}") };
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        format!("{}T{hour:02}:{minute:02}:{second:02}{tail}", date_text(day as f64))
    };
    let exact = (0..9).step_by(3).map(write).find(|text| datetime(text.as_bytes()) == Some(seconds));
    exact.unwrap_or_else(|| write(9))
}

/// The shortest text that reads back as the same number; empty if missing.
pub fn number_text(value: f64) -> String {
    if value.is_nan() {
        String::new()
    } else if value == 0.0 || (1e-5..1e16).contains(&value.abs()) || value.is_infinite() {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Strings to codes

/// Distinct strings in order of first appearance. A hash table of our own, because it keeps the strings in one buffer
/// and is looked up by bytes that become a string only when they are new.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dictionary {
    bytes: String,
    entries: Vec<Entry>,
    /// A part of the hash above, code + 1 below, or 0 where free; the size is a power of two and at most half is taken.
    slots: Vec<u64>,
}

#[derive(Debug, Clone)]
struct Entry {
    start: usize,
    end: usize,
}

pub(crate) struct NotUtf8;

#[inline]
fn hash(value: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(value);
    // A zero byte string and an empty one would collide without the length.
    hasher.write_usize(value.len());
    hasher.finish()
}

impl Dictionary {
    pub(crate) fn from_levels(levels: &[String]) -> Dictionary {
        let mut dictionary = Dictionary::default();
        levels.iter().for_each(|level| {
            dictionary.code_of_str(level);
        });
        dictionary
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn level(&self, code: u32) -> &str {
        let entry = &self.entries[code as usize];
        &self.bytes[entry.start..entry.end]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).map(|code| self.level(code))
    }

    pub(crate) fn levels(&self) -> Arc<[String]> {
        self.iter().map(String::from).collect()
    }

    /// The code, or the free slot where it would go.
    #[inline]
    fn find(&self, value: &[u8], hash: u64) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = (hash as usize) & mask;
        loop {
            let taken = self.slots[slot];
            if taken == 0 {
                return Err(slot);
            }
            // Other strings are nearly always told by the hash, without a look at them.
            if (taken ^ hash) >> 32 == 0 {
                let code = taken as u32 - 1;
                let entry = &self.entries[code as usize];
                if &self.bytes.as_bytes()[entry.start..entry.end] == value {
                    return Ok(code);
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    #[inline]
    pub(crate) fn get(&self, value: &[u8]) -> Option<u32> {
        if self.slots.is_empty() { None } else { self.find(value, hash(value)).ok() }
    }

    /// The code of a string, which is added if it is new.
    #[inline]
    pub(crate) fn code(&mut self, value: &[u8]) -> Result<u32, NotUtf8> {
        let hash = hash(value);
        if !self.slots.is_empty()
            && let Ok(code) = self.find(value, hash)
        {
            return Ok(code);
        }
        let text = std::str::from_utf8(value).map_err(|_| NotUtf8)?;
        Ok(self.insert(text, hash))
    }

    pub(crate) fn code_of_str(&mut self, value: &str) -> u32 {
        let hash = hash(value.as_bytes());
        if !self.slots.is_empty()
            && let Ok(code) = self.find(value.as_bytes(), hash)
        {
            return code;
        }
        self.insert(value, hash)
    }

    #[cold]
    fn insert(&mut self, value: &str, hash: u64) -> u32 {
        if 2 * (self.len() + 1) > self.slots.len() {
            self.slots = vec![0; (2 * self.slots.len()).max(16)];
            for code in 0..self.len() as u32 {
                let hash = self::hash(self.level(code).as_bytes());
                self.take_slot(code, hash);
            }
        }
        let code = self.len() as u32;
        let start = self.bytes.len();
        self.bytes.push_str(value);
        self.entries.push(Entry { start, end: self.bytes.len() });
        self.take_slot(code, hash);
        code
    }

    /// The next free slot for a string that has none.
    fn take_slot(&mut self, code: u32, hash: u64) {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot] != 0 {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = (hash >> 32) << 32 | u64::from(code + 1);
    }
}

/// A string column as it comes from several threads: each part of the rows has codes and a dictionary of its own.
pub(crate) struct Strings {
    pub(crate) codes: Vec<u32>,
    /// How many rows, and what their codes mean.
    pub(crate) parts: Vec<(usize, Dictionary)>,
}

impl Strings {
    /// One dictionary in order of first appearance. A column of too many levels becomes text, unless it has to be a
    /// category.
    pub(crate) fn finish(mut self, must_be_category: bool) -> Column {
        let mut all = Dictionary::default();
        let mut maps: Vec<Vec<u32>> = Vec::with_capacity(self.parts.len());
        for (_, part) in &self.parts {
            maps.push(part.iter().map(|level| all.code_of_str(level)).collect());
            if all.len() > MAX_LEVELS && !must_be_category {
                return Column::Text(self.into_text());
            }
        }
        let mut rest = self.codes.as_mut_slice();
        let mut pieces = Vec::with_capacity(maps.len());
        for ((rows, _), map) in self.parts.iter().zip(&maps) {
            let (piece, tail) = rest.split_at_mut(*rows);
            pieces.push((piece, map));
            rest = tail;
        }
        pieces.into_par_iter().for_each(|(piece, map)| {
            for code in piece {
                if *code != MISSING {
                    *code = map[*code as usize];
                }
            }
        });
        Column::Category(Category { codes: self.codes, levels: all.levels() })
    }

    pub(crate) fn into_text(self) -> Text {
        let mut start = 0;
        let mut pieces = Vec::with_capacity(self.parts.len());
        for (rows, part) in self.parts {
            pieces.push((&self.codes[start..start + rows], part));
            start += rows;
        }
        let texts = pieces
            .into_par_iter()
            .map(|(codes, part)| {
                codes.iter().map(|&code| if code == MISSING { "" } else { part.level(code) }).collect()
            })
            .collect();
        Text::concat(texts)
    }

    /// Codes of another dictionary.
    pub(crate) fn codes_in(self, code_of: impl Fn(&str) -> u32) -> Vec<u32> {
        let mut codes = self.codes;
        let mut start = 0;
        for (rows, part) in &self.parts {
            let map: Vec<u32> = part.iter().map(&code_of).collect();
            for code in &mut codes[start..start + rows] {
                if *code != MISSING {
                    *code = map[*code as usize];
                }
            }
            start += rows;
        }
        codes
    }

    /// What the first rows say about text or category.
    pub(crate) fn evidence(&self, rows: usize) -> TextEvidence {
        let mut evidence = TextEvidence::default();
        self.evidence_into(&mut evidence, rows);
        evidence
    }

    pub(crate) fn evidence_into(&self, evidence: &mut TextEvidence, rows: usize) {
        let mut start = 0;
        for (count, part) in &self.parts {
            let end = (start + count).min(rows);
            if start >= end {
                break;
            }
            let codes = &self.codes[start..end];
            codes.iter().filter(|&&code| code != MISSING).for_each(|&code| evidence.add(part.level(code)));
            start += count;
        }
    }
}

/// A value in a message: short, on one line.
pub(crate) fn quote(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    let mut short: String = text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(40).is_some() {
        short.push_str("...");
    }
    format!("'{short}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_the_standard_library_reads_them() {
        for text in [
            "0",
            "-0",
            "1",
            "-1.5",
            "0.1",
            "123456789.123",
            "9007199254740993",
            "90071992547409.93",
            "1e3",
            "1E-7",
            ".5",
            "5.",
            "+4",
            "-.25",
            "1234567890123456789",
            "0.00000000000000001",
            "inf",
            "-Infinity",
            "1e400",
            "2.5e-324",
        ] {
            let expected = text.parse().ok().map(f64::to_bits);
            assert_eq!(number(text.as_bytes()).map(f64::to_bits), expected, "{text}");
            for before in ["", "7", "12345678901234567890", "1234567890,", "-1234567890123456789,"] {
                let (start, end) = (before.len(), before.len() + text.len());
                let data = format!("{before}{text},9");
                let found = number_within(data.as_bytes(), start, end);
                assert_eq!(found.map(f64::to_bits), expected, "{text} after {before}");
            }
        }
        for text in ["", "-", ".", "-.", "1.2.3", "1-2", "abc", "e5", "1e", "--1", "1 2", "0x10", "1,5", "٣"] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
            let data = format!("1234567890123456{text}");
            assert_eq!(number_within(data.as_bytes(), 16, data.len()), None, "{text}");
        }
    }

    #[test]
    fn sixteen_digits_at_once_are_the_same_as_one_by_one() {
        let mut state = 7_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for _ in 0..200_000 {
            let length = 1 + draw(18) as usize;
            let mut text: Vec<u8> = (0..length).map(|_| b'0' + draw(10) as u8).collect();
            if draw(3) > 0 {
                text[draw(length as u64) as usize] = b'.';
            }
            if draw(4) == 0 {
                text[0] = b'-';
            }
            if draw(50) == 0 {
                text[draw(length as u64) as usize] = draw(256) as u8;
            }
            let data = [b"1234567890123456".as_slice(), &text].concat();
            let found = number_within(&data, 16, data.len()).map(f64::to_bits);
            assert_eq!(found, number(&text).map(f64::to_bits), "{}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn dates_count_from_1970() {
        assert_eq!(date(b"1970-01-01"), Some(0.0));
        assert_eq!(date(b"2000-02-29"), Some(11_016.0));
        assert_eq!(date(b"1900-03-01"), Some(-25_508.0));
        for text in ["1900-02-29", "2024-13-01", "2024-00-01", "2024-01-32", "2024-1-1", "2024/01/01", "20240101ab"] {
            assert_eq!(date(text.as_bytes()), None, "{text}");
        }
        for day in (-700_000..800_000).step_by(97) {
            let text = date_text(f64::from(day));
            if text.len() == 10 {
                assert_eq!(date(text.as_bytes()), Some(f64::from(day)), "{text}");
            }
        }
    }

    #[test]
    fn times_with_zone_and_fraction() {
        assert_eq!(datetime(b"1970-01-02"), Some(86_400.0));
        assert_eq!(datetime(b"1970-01-01T00:01"), Some(60.0));
        assert_eq!(datetime(b"1970-01-01 01:00:00.250Z"), Some(3600.25));
        assert_eq!(datetime(b"1970-01-01T01:00:00+01:00"), Some(0.0));
        assert_eq!(datetime(b"1970-01-01T00:00:00-0130"), Some(5400.0));
        for text in ["1970-01-01T", "1970-01-01T24:00", "1970-01-01T10", "1970-01-01T10:00:0", "1970-01-01T10:00:00."] {
            assert_eq!(datetime(text.as_bytes()), None, "{text}");
        }
        for seconds in [0.0, -1.0, 0.5, 1_709_287_200.123, -86_400.25, 1e9 + 1e-6] {
            assert_eq!(datetime(datetime_text(seconds).as_bytes()), Some(seconds));
        }
    }

    #[test]
    fn dictionary_keeps_order_and_finds_again() {
        let mut dictionary = Dictionary::default();
        let words: Vec<String> = (0..5000).map(|i| format!("w{}", i * 7 % 5000)).collect();
        for (place, word) in words.iter().enumerate() {
            assert_eq!(dictionary.code_of_str(word), place as u32);
        }
        for (place, word) in words.iter().enumerate() {
            assert_eq!(dictionary.get(word.as_bytes()), Some(place as u32));
            assert_eq!(dictionary.level(place as u32), word);
        }
        assert_eq!(dictionary.get(b"other"), None);
        assert!(dictionary.code(b"\xff").is_err());
    }
}
