//! From a path to a table, whatever the format: whole, in pieces, or only looked through.

pub mod csv;
mod database;
mod formats;
pub mod idx;
mod input;
mod open;
pub mod parquet;
pub mod shares;

pub use database::{is_query, shown};
use input::Input;
pub use input::{Format, READABLE};
pub(crate) use open::stream_all;
pub use open::{Opened, Place, Sample, bytes_needed, files};

use crate::table::{DateFormat, FormSet, Kind, Na, Schema, Summary, Table};
use ermine_core::error::{Error, Result};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
    path::{Path, PathBuf},
};

/// How to read a file. Everything left out is found in the file.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Comma, semicolon, tab or bar if not given.
    pub delimiter: Option<u8>,
    /// Whether the first line holds the names.
    pub header: Option<bool>,
    /// Columns that the user speaks of: a first line that has them all holds the names.
    pub named: Vec<String>,
    /// Missing markers beyond empty, NA, N/A, NaN, null, none and ?.
    pub na: Vec<String>,
    /// Kinds that the user knows better.
    pub kinds: BTreeMap<String, Kind>,
    /// Only these columns, in this order.
    pub columns: Option<Vec<String>>,
    /// Kinds and levels to read against; columns it does not name are left out.
    pub schema: Option<Schema>,
    /// A few fields that do not fit the schema are missing, and said to be; otherwise the first one is an error.
    pub lenient: bool,
    /// A file whose first column is put beside the others, as labels come with images.
    pub labels: Option<PathBuf>,
    /// What kind of file it is.
    pub format: Option<Format>,
    /// The encoding of a text, by any of its names.
    pub encoding: Option<String>,
    /// The sheet of a workbook.
    pub sheet: Option<String>,
    /// Texts that are levels though they usually mean missing, such as None.
    pub levels: Vec<String>,
    /// Decimals come after a comma, or after a point.
    pub decimal_comma: Option<bool>,
    /// How dates are written, wherever they are, and in columns by name.
    pub date_format: Option<DateFormat>,
    pub date_formats: BTreeMap<String, DateFormat>,
    /// The file can say that a value is missing: no text means it but the user's own.
    pub typed: bool,
    /// Columns of strings in a file that could have said number.
    pub strings: BTreeSet<String>,
    /// What was taken for granted so far.
    pub assumed: Vec<String>,
    /// Bytes of a CSV file that a thread takes at a time, at most. The table does not depend on it.
    pub chunk_bytes: usize,
    /// Bytes that the text or the values of a file may take in memory. What turns out to be larger is refused while it
    /// is read, whatever its size on disk said.
    pub memory: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            delimiter: None,
            header: None,
            named: Vec::new(),
            na: Vec::new(),
            kinds: BTreeMap::new(),
            columns: None,
            schema: None,
            lenient: false,
            labels: None,
            format: None,
            encoding: None,
            sheet: None,
            levels: Vec::new(),
            decimal_comma: None,
            date_format: None,
            date_formats: BTreeMap::new(),
            typed: false,
            strings: BTreeSet::new(),
            assumed: Vec::new(),
            chunk_bytes: 4 << 20,
            memory: u64::MAX,
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

    /// Which fields are missing, with these markers.
    pub(crate) fn missing(&self, markers: &[String]) -> Na {
        Na::new(markers).except(&self.levels).typed(self.typed)
    }

    /// The forms that a column may have before any of its values is seen.
    pub(crate) fn forms_of(&self, name: &str, delimiter: u8) -> FormSet {
        let mut forms = if self.strings.contains(name) { FormSet::NOT_NUMBERS } else { FormSet::ALL };
        if delimiter != b';' {
            forms = forms.points_first();
        }
        if let Some(comma) = self.decimal_comma {
            forms = forms.decimal(comma);
        }
        match (self.date_formats.get(name), self.date_format) {
            (Some(format), _) => forms.dates(*format).of_dates(),
            (None, Some(format)) => forms.dates(format),
            (None, None) => forms,
        }
    }
}

/// What [`scan`] finds out about a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    pub schema: Schema,
    pub rows: usize,
    pub summary: Vec<Summary>,
    /// What was taken for granted.
    pub assumed: Vec<String>,
    /// The forms that the values of each column of a text agree with.
    pub(crate) forms: Vec<FormSet>,
}

/// The file as a table; `-` is standard input. Formats are known by their first bytes, texts by their first lines.
/// Works in the current rayon pool; the table is the same for any number of threads.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Table> {
    let path = &*database::local(path.as_ref())?;
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
    if idx::is_idx(path)? {
        let table = idx::read(path, options.memory)?;
        return match &options.columns {
            Some(columns) => table.select(columns),
            None => Ok(table),
        };
    }
    if path == Path::new("-") {
        let bytes = Input::of(path, options.memory)?.whole()?;
        return if bytes.starts_with(PARQUET_MAGIC) {
            parquet::read_bytes(path, &bytes, options)
        } else {
            csv::read_bytes(path, bytes.into(), options)
        };
    }
    if is_parquet(path)? { parquet::read(path, options) } else { csv::read(path, options) }
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
        parquet::stream(path, options, schema, chunk_bytes, each)
    } else {
        csv::stream(path, options, schema, chunk_bytes, each)
    }
}

/// The names of the columns of a file.
pub fn names(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Vec<String>> {
    let path = &*database::local(path.as_ref())?;
    if idx::is_idx(path)? {
        return Ok(read_one(path, options)?.names().to_vec());
    }
    if is_parquet(path)? { Ok(parquet::ParquetFile::open(path, options)?.names()) } else { csv::names(path, options) }
}

/// The schema that [`read`] would find, and a summary of every column, in bounded memory.
pub fn scan(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Scan> {
    let path = path.as_ref();
    if options.labels.is_some() || idx::is_idx(path)? {
        return Err(Error::Unsupported("images with labels are read whole, not from disk".into())
            .hint("allow more with --memory"));
    }
    if is_parquet(path)? { parquet::scan(path, options) } else { csv::scan(path, options) }
}

/// About how many bytes the table of a file takes in memory: from what Parquet and IDX say of themselves, from the
/// length of a text and its head, from a packed text by unpacking it until it is more than `enough`. What streams is
/// not known before it is read, and counts 0.
pub fn decoded_bytes(path: impl AsRef<Path>, options: &ReadOptions, enough: u64) -> Result<u64> {
    let path = path.as_ref();
    if path == Path::new("-") || !path.is_file() {
        return Ok(0);
    }
    if idx::is_idx(path)? {
        return idx::decoded_bytes(path);
    }
    match is_parquet(path)? {
        true => parquet::decoded_bytes(path, options),
        false => csv::decoded_bytes(path, options, enough),
    }
}

/// What a file that is larger than it may be is refused with.
pub(crate) fn too_large(path: &Path, needed: u64, memory: u64) -> Error {
    let problem = format!("it needs at least {needed} bytes of memory, but only {memory} are allowed");
    Error::format(path, None, problem).hint("allow more with --memory")
}

/// Whether there is memory for so many bytes at all: an allocation that fails would end the process.
pub(crate) fn check_room(path: &Path, bytes: usize) -> Result<()> {
    match Vec::<u8>::new().try_reserve_exact(bytes) {
        Ok(()) => Ok(()),
        Err(_) => Err(Error::format(path, None, format!("it takes {bytes} bytes, more memory than is available"))),
    }
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
