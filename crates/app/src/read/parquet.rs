//! Parquet to table: row groups in parallel, only the columns that are wanted.
//!
//! The file knows its types, so a column has a natural kind: integers, floats and decimals are numbers; strings are
//! categories or text by the same rule as in CSV; dates, timestamps and booleans are what they are. Nulls, empty
//! strings and the user's own markers are missing; `NA` is not, because the file could have said null. A schema or an
//! override that asks for another kind than the natural one gets it if every value can be read that way.
//!
//! Types are those of Parquet itself. What only the note of another library beside the schema tells is not known here:
//! a duration is the number that is stored.
//!
//! Not done: nested columns, times of day, raw bytes that are not UTF-8, Brotli and LZO.

mod meaning;
mod values;

use meaning::{Meaning, type_name};
use values::{Part, Whole};

use std::{
    fs::File,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use ermine_core::error::{Error, Result};
use parquet::{
    basic::Compression,
    column::{
        page::PageReader,
        reader::{ColumnReader, get_column_reader},
    },
    errors::ParquetError,
    file::{
        metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader},
        serialized_reader::SerializedPageReader,
    },
};
use rayon::prelude::*;

use super::{ReadOptions, Scan, check_room, too_large};
use crate::table::{
    self, Category, Column, Dictionary, Field, Kind, MAX_LEVELS, Na, Places, SAMPLE_ROWS, Schema, Strings, Table,
    Tally, Text, TextEvidence, UNSEEN,
};

/// Rows decoded at once: enough to forget the calls, few enough to stay in the cache.
const BATCH_ROWS: usize = 1 << 12;

pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Table> {
    let path = path.as_ref();
    read_file(&Source::open(path, Input::File(path.into()), options, options.schema.as_ref())?)
}

/// Reads a file that is in memory already; `path` is for messages.
pub fn read_bytes(path: impl AsRef<Path>, bytes: &[u8], options: &ReadOptions) -> Result<Table> {
    let input = Input::Bytes(Bytes::copy_from_slice(bytes));
    read_file(&Source::open(path.as_ref(), input, options, options.schema.as_ref())?)
}

/// Bytes of the table that [`read`] makes: rows times columns, and the strings.
pub(crate) fn decoded_bytes(path: &Path, options: &ReadOptions) -> Result<u64> {
    Ok(Source::open(path, Input::File(path.into()), options, options.schema.as_ref())?.decoded_bytes())
}

fn read_file(source: &Source) -> Result<Table> {
    let needed = source.decoded_bytes();
    if needed > source.memory {
        return Err(too_large(&source.path, needed, source.memory));
    }
    check_room(&source.path, usize::try_from(needed).unwrap_or(usize::MAX))?;
    let table = source.read_groups(0..source.metadata.num_row_groups())?;
    if table.rows() == 0 { Err(source.problem("the file has no rows")) } else { Ok(table) }
}

/// A file that holds some of the rows of a table, for several readers.
pub(crate) struct ParquetFile(Source);

impl ParquetFile {
    pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<ParquetFile> {
        Ok(ParquetFile(Source::open(path, Input::File(path.into()), options, None)?))
    }

    /// All columns of the file.
    pub(crate) fn names(&self) -> Vec<String> {
        let fields = self.0.metadata.file_metadata().schema_descr().root_schema().get_fields();
        fields.iter().map(|field| field.name().to_string()).collect()
    }

    /// Which string columns are free text, by the head of the file, in the order wanted.
    pub(crate) fn texts(&self) -> Result<Vec<bool>> {
        let source = &self.0;
        let groups = source.metadata.num_row_groups();
        let of = |place: usize| {
            let wanted = &source.columns[place];
            if !matches!((&wanted.target, wanted.natural), (Target::Natural, Kind::Category)) {
                return Ok(false);
            }
            let mut part = wanted.part();
            Cursor::new(place, 0..groups).read(source, &source.handle()?, SAMPLE_ROWS, &mut part)?;
            Ok(part.into_strings().evidence(SAMPLE_ROWS).is_text())
        };
        (0..source.columns.len()).into_par_iter().map(of).collect()
    }

    /// The row groups that begin in these bytes of the file.
    pub(crate) fn groups(&self, bytes: Range<u64>) -> Range<usize> {
        let begins = |group: usize| {
            let pages = |chunk: &ColumnChunkMetaData| {
                let dictionary = chunk.dictionary_page_offset().unwrap_or(i64::MAX);
                dictionary.min(chunk.data_page_offset()).max(0) as u64
            };
            self.0.metadata.row_group(group).columns().iter().map(pages).min().unwrap_or(0)
        };
        let before = |byte: u64| (0..self.0.metadata.num_row_groups()).filter(|&group| begins(group) < byte).count();
        before(bytes.start)..before(bytes.end)
    }

    /// These row groups; `texts` as the first file of the table has them.
    pub(crate) fn part(&mut self, groups: Range<usize>, texts: &[bool]) -> Result<Vec<Column>> {
        for (column, &text) in self.0.columns.iter_mut().zip(texts) {
            column.text = Some(text);
        }
        Ok(self.0.read_groups(groups)?.into_columns())
    }
}

/// Like [`crate::read::csv::stream`].
pub fn stream(
    path: impl AsRef<Path>,
    options: &ReadOptions,
    schema: &Schema,
    chunk_bytes: usize,
    mut each: impl FnMut(Table) -> Result<()>,
) -> Result<usize> {
    let path = path.as_ref();
    let source = Source::open(path, Input::File(path.into()), options, Some(schema))?;
    let mut batches = Batches::new(&source, chunk_bytes)?;
    let mut rows = 0;
    while let Some(parts) = batches.next()? {
        let named = source.columns.par_iter().zip(parts).map(|(wanted, part)| {
            let column = source.finish(wanted, vec![part], rows)?;
            Ok((wanted.name.clone(), column))
        });
        let table = Table::new(named.collect::<Result<_>>()?)?.with_na(source.markers.clone());
        rows += table.rows();
        each(table)?;
    }
    if rows == 0 { Err(source.problem("the file has no rows")) } else { Ok(rows) }
}

/// Like [`crate::read::csv::scan`].
pub fn scan(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Scan> {
    let path = path.as_ref();
    let source = Source::open(path, Input::File(path.into()), options, None)?;
    let mut batches = Batches::new(&source, 16 << 20)?;
    struct State {
        tally: Tally,
        evidence: TextEvidence,
        levels: Option<Dictionary>,
    }
    let fresh =
        || State { tally: Tally::default(), evidence: TextEvidence::default(), levels: Some(Dictionary::default()) };
    let mut states: Vec<State> = source.columns.iter().map(|_| fresh()).collect();
    let mut rows = 0;
    while let Some(parts) = batches.next()? {
        let count = parts.first().map_or(0, Part::rows);
        let work = source.columns.par_iter().zip(parts).zip(&mut states);
        work.try_for_each(|((wanted, part), state)| {
            let strings = match (&wanted.target, part) {
                (Target::Natural, Part::Strings(codes, levels)) => {
                    Strings { parts: vec![(codes.len(), levels)], codes }
                }
                (Target::Kind(Kind::Category), part) => part.into_strings(),
                (_, part) => {
                    state.tally.add(&source.finish(wanted, vec![part], rows)?);
                    return Ok(());
                }
            };
            if rows < SAMPLE_ROWS {
                strings.evidence_into(&mut state.evidence, SAMPLE_ROWS - rows);
            }
            state.tally.add_codes(&strings.codes);
            for (_, part) in &strings.parts {
                let Some(all) = &mut state.levels else { break };
                part.iter().for_each(|level| {
                    all.code_of_str(level);
                });
                if all.len() > MAX_LEVELS && matches!(wanted.target, Target::Natural) {
                    state.levels = None;
                }
            }
            Ok(())
        })?;
        rows += count;
    }
    if rows == 0 {
        return Err(source.problem("the file has no rows"));
    }
    let mut scan = Scan {
        schema: Schema { columns: Vec::new(), na: source.markers.clone() },
        rows,
        summary: Vec::new(),
        assumed: Vec::new(),
        forms: Vec::new(),
    };
    for (wanted, mut state) in source.columns.iter().zip(states) {
        let mut field =
            Field { name: wanted.name.clone(), kind: wanted.natural, levels: Default::default(), form: None };
        if let Target::Kind(kind) = wanted.target {
            field.kind = kind;
        }
        if field.kind == Kind::Category {
            state.tally.set_distinct(state.levels.as_ref().map(Dictionary::len));
            match state.levels {
                Some(levels) if !matches!(wanted.target, Target::Natural) || !state.evidence.is_text() => {
                    field.levels = levels.levels();
                }
                _ => field.kind = Kind::Text,
            }
        }
        scan.summary.push(state.tally.finish(&wanted.name, field.kind));
        scan.schema.columns.push(field);
    }
    Ok(scan)
}

// ---------------------------------------------------------------------------------------------------------------------
// The file

struct Source {
    /// For messages.
    path: PathBuf,
    input: Input,
    metadata: ParquetMetaData,
    columns: Vec<Wanted>,
    na: Na,
    markers: Vec<String>,
    /// Bytes that a whole table may take.
    memory: u64,
}

enum Input {
    File(PathBuf),
    Bytes(Bytes),
}

/// An input to read from. For one thread at a time: readers of one file share its position.
enum Handle {
    File(Arc<File>),
    Bytes(Arc<Bytes>),
}

struct Wanted {
    name: String,
    /// Place among the chunks of a row group.
    leaf: usize,
    meaning: Meaning,
    natural: Kind,
    target: Target,
    /// Whether strings are free text, where that is known already.
    text: Option<bool>,
}

enum Target {
    /// The natural kind; strings by the rule for category and text.
    Natural,
    Kind(Kind),
    Field(Field),
}

impl Wanted {
    fn part(&self) -> Part {
        match self.natural {
            Kind::Number | Kind::Date | Kind::DateTime => Part::Values(self.natural, Vec::new()),
            Kind::Boolean => Part::Boolean(Vec::new()),
            Kind::Category | Kind::Text => Part::Strings(Vec::new(), Dictionary::default()),
        }
    }
}

impl Source {
    fn open(path: &Path, input: Input, options: &ReadOptions, schema: Option<&Schema>) -> Result<Source> {
        let parser = ParquetMetaDataReader::new();
        let metadata = match &input {
            Input::File(file) => {
                parser.parse_and_finish(&File::open(file).map_err(|error| Error::io(path, "open", &error))?)
            }
            Input::Bytes(bytes) => parser.parse_and_finish(bytes),
        };
        let metadata = metadata
            .map_err(|error| Error::format(path, None, format!("not a readable Parquet file: {}", reason(error))))?;
        let markers = options.all_na(schema);
        let na = Na::new(&markers);
        let descriptor = metadata.file_metadata().schema_descr();
        let fields = descriptor.root_schema().get_fields().to_vec();
        let mut leaves = vec![0; fields.len()];
        for leaf in 0..descriptor.num_columns() {
            leaves[descriptor.get_column_root_idx(leaf)] = leaf;
        }
        let memory = options.memory;
        let mut source = Source { path: path.into(), input, metadata, columns: Vec::new(), na, markers, memory };

        let names: Vec<String> = fields.iter().map(|field| field.name().to_string()).collect();
        let schema = match (schema, &options.columns) {
            (Some(schema), Some(wanted)) => Some(schema.select(wanted)?),
            (schema, _) => schema.cloned(),
        };
        let wanted = match (&schema, &options.columns) {
            (Some(schema), _) => schema.names(),
            (None, Some(wanted)) => wanted.clone(),
            (None, None) => names.clone(),
        };
        let places = Places::of_names(&names);
        for name in options.kinds.keys() {
            places.of(name)?;
        }
        for (place, name) in wanted.into_iter().enumerate() {
            let root = places.of(&name).map_err(|error| match &schema {
                Some(_) => error.hint(format!("{} needs all columns of the schema", path.display())),
                None => error,
            })?;
            let meaning = Meaning::of(&fields[root]).ok_or_else(|| {
                let its_type = type_name(&fields[root]);
                source
                    .problem(format!("column '{name}' has type {its_type}, which cannot be a column of a table"))
                    .hint("leave the column out, or flatten it before")
            })?;
            let target = match (&schema, options.kinds.get(&name)) {
                (Some(schema), _) => Target::Field(schema.columns[place].clone()),
                (None, Some(kind)) => Target::Kind(*kind),
                (None, None) => Target::Natural,
            };
            let natural = meaning.kind();
            source.columns.push(Wanted { name, leaf: leaves[root], meaning, natural, target, text: None });
        }
        Ok(source)
    }

    /// As the metadata have it. Equal values may take next to nothing in the file; in a table each has its place.
    fn decoded_bytes(&self) -> u64 {
        let bytes = |group: usize| {
            let rows = self.group_rows(group) as u64;
            let chunks = self.metadata.row_group(group).columns();
            let of = |wanted: &Wanted| match wanted.natural {
                Kind::Number | Kind::Date | Kind::DateTime => rows.saturating_mul(8),
                Kind::Boolean => rows,
                Kind::Category | Kind::Text => {
                    let strings = chunks.get(wanted.leaf).map_or(0, |chunk| chunk.uncompressed_size().max(0) as u64);
                    rows.saturating_mul(4).saturating_add(strings)
                }
            };
            self.columns.iter().map(of).fold(0u64, u64::saturating_add)
        };
        (0..self.metadata.num_row_groups()).map(bytes).fold(0u64, u64::saturating_add)
    }

    fn problem(&self, problem: impl Into<String>) -> Error {
        Error::format(&self.path, None, problem)
    }

    /// The wanted columns in about `count` parts.
    fn bundles(&self, count: usize) -> Vec<Vec<usize>> {
        let mut places: Vec<usize> = (0..self.columns.len()).collect();
        // Neighbours in the file are read one after the other.
        places.sort_by_key(|&place| self.columns[place].leaf);
        places.chunks(places.len().div_ceil(count.max(1)).max(1)).map(<[usize]>::to_vec).collect()
    }

    fn handle(&self) -> Result<Handle> {
        Ok(match &self.input {
            Input::File(path) => {
                Handle::File(Arc::new(File::open(path).map_err(|error| Error::io(&self.path, "open", &error))?))
            }
            Input::Bytes(bytes) => Handle::Bytes(Arc::new(bytes.clone())),
        })
    }

    fn read_groups(&self, groups: Range<usize>) -> Result<Table> {
        // Few row groups are divided by columns as well.
        let bundles = self.bundles(rayon::current_num_threads().div_ceil(groups.len().max(1)));
        let tasks: Vec<(usize, &[usize])> =
            groups.clone().flat_map(|group| bundles.iter().map(move |bundle| (group, bundle.as_slice()))).collect();
        let parts = tasks.into_par_iter().map(|(group, bundle)| {
            let handle = self.handle()?;
            let mut parts = Vec::with_capacity(bundle.len());
            for &place in bundle {
                let mut part = self.columns[place].part();
                Cursor::new(place, group..group + 1).read(self, &handle, usize::MAX, &mut part)?;
                parts.push(part);
            }
            Ok(parts)
        });
        let mut columns: Vec<Vec<Part>> = self.columns.iter().map(|_| Vec::with_capacity(groups.len())).collect();
        for (task, parts) in parts.collect::<Result<Vec<_>>>()?.into_iter().enumerate() {
            for (&column, part) in bundles[task % bundles.len()].iter().zip(parts) {
                columns[column].push(part);
            }
        }
        let before = (0..groups.start).map(|group| self.group_rows(group)).sum();
        let named = self.columns.par_iter().zip(columns).map(|(wanted, parts)| {
            let column = self.finish(wanted, parts, before)?;
            Ok((wanted.name.clone(), column))
        });
        Ok(Table::new(named.collect::<Result<_>>()?)?.with_na(self.markers.clone()))
    }

    fn group_rows(&self, group: usize) -> usize {
        usize::try_from(self.metadata.row_group(group).num_rows()).unwrap_or(0)
    }

    fn column_reader(&self, handle: &Handle, group: usize, wanted: &Wanted) -> Result<ColumnReader> {
        let rows = self.group_rows(group);
        let chunk = self.metadata.row_group(group).columns().get(wanted.leaf);
        let negative = |offset: i64| offset < 0;
        let chunk = chunk
            .filter(|chunk| {
                !negative(chunk.data_page_offset())
                    && !negative(chunk.compressed_size())
                    && !chunk.dictionary_page_offset().is_some_and(negative)
            })
            .ok_or_else(|| self.column_problem(wanted, "its place in the file is not valid"))?;
        if let codec @ (Compression::BROTLI(_) | Compression::LZO) = chunk.compression() {
            let name = if codec == Compression::LZO { "LZO" } else { "Brotli" };
            return Err(self
                .column_problem(wanted, format!("compressed with {name}, which is not supported"))
                .hint("write the file with zstd, snappy, gzip, lz4 or no compression"));
        }
        let pages: parquet::errors::Result<Box<dyn PageReader>> = match handle {
            Handle::File(file) => {
                SerializedPageReader::new(file.clone(), chunk, rows, None).map(|pages| Box::new(pages) as _)
            }
            Handle::Bytes(bytes) => {
                SerializedPageReader::new(bytes.clone(), chunk, rows, None).map(|pages| Box::new(pages) as _)
            }
        };
        let pages = pages.map_err(|error| self.column_problem(wanted, reason(error)))?;
        Ok(get_column_reader(chunk.column_descr_ptr(), pages))
    }

    fn column_problem(&self, wanted: &Wanted, problem: impl std::fmt::Display) -> Error {
        self.problem(format!("column '{}': {problem}", wanted.name))
    }

    /// The column that was asked for; `row` is the number of rows before it.
    fn finish(&self, wanted: &Wanted, parts: Vec<Part>, row: usize) -> Result<Column> {
        let mut whole = Part::join(parts, wanted);
        let (kind, levels) = match &wanted.target {
            Target::Natural => (None, None),
            Target::Kind(kind) => (Some(*kind), None),
            Target::Field(field) => (Some(field.kind), Some(&field.levels)),
        };
        if kind == Some(Kind::Category) && !matches!(whole, Whole::Strings(_)) {
            whole = Whole::Strings(whole.into_column().into_strings());
        }
        Ok(match (whole, kind, levels) {
            (Whole::Strings(strings), Some(Kind::Category), Some(levels)) => {
                let known = Dictionary::from_levels(levels);
                let code_of = |level: &str| known.get(level.as_bytes()).unwrap_or(UNSEEN);
                Column::Category(Category { codes: strings.codes_in(code_of), levels: levels.clone() })
            }
            (Whole::Strings(strings), Some(Kind::Category), None) => strings.finish(true),
            (Whole::Strings(strings), Some(Kind::Text), _) => Column::Text(strings.into_text()),
            (Whole::Strings(strings), None, _) => {
                if wanted.text.unwrap_or_else(|| strings.evidence(SAMPLE_ROWS).is_text()) {
                    Column::Text(strings.into_text())
                } else {
                    strings.finish(false)
                }
            }
            (whole, kind, _) => {
                let column = whole.into_column();
                match kind {
                    Some(kind) if kind != column.kind() => self.convert(&wanted.name, &column, kind, row)?,
                    _ => column,
                }
            }
        })
    }

    /// Another kind, by way of the text of every value.
    fn convert(&self, name: &str, column: &Column, kind: Kind, first_row: usize) -> Result<Column> {
        let numbers = |parse: &dyn Fn(&[u8]) -> Option<f64>| {
            let values = (0..column.len()).map(|row| {
                let text = column.value_text(row);
                let missing = column.is_missing(row) || self.na.is_missing(text.trim().as_bytes());
                let value = if missing { Some(f64::NAN) } else { parse(text.trim().as_bytes()) };
                value.ok_or_else(|| {
                    let (row, value) = (first_row + row + 1, table::quote(text.as_bytes()));
                    self.problem(format!("column '{name}', row {row}: {value} is not {}", kind.noun()))
                })
            });
            values.collect::<Result<Vec<f64>>>()
        };
        Ok(match (kind, column) {
            (Kind::Number, Column::Boolean(values)) => Column::Number(
                values.iter().map(|value| value.map_or(f64::NAN, |value| f64::from(u8::from(value)))).collect(),
            ),
            (Kind::Date, Column::DateTime(values))
                if values.iter().all(|value| value.is_nan() || value % 86_400.0 == 0.0) =>
            {
                Column::Date(values.iter().map(|value| value / 86_400.0).collect())
            }
            (Kind::Number, _) => Column::Number(numbers(&table::number)?),
            (Kind::Date, _) => Column::Date(numbers(&table::date)?),
            (Kind::DateTime, _) => Column::DateTime(numbers(&table::datetime)?),
            (Kind::Boolean, _) => {
                let values = numbers(&|text| table::declared_boolean(text).map(|value| f64::from(u8::from(value))))?;
                Column::Boolean(values.into_iter().map(|value| (!value.is_nan()).then_some(value == 1.0)).collect())
            }
            (Kind::Text, _) => Column::Text((0..column.len()).map(|row| column.value_text(row)).collect::<Text>()),
            (Kind::Category, _) => Column::categories((0..column.len()).map(|row| column.value_text(row))),
        })
    }
}

/// What went wrong, without the name of the library before it.
fn reason(error: ParquetError) -> String {
    match error {
        ParquetError::General(text) | ParquetError::NYI(text) | ParquetError::EOF(text) => text,
        other => other.to_string(),
    }
}

/// Where a column is being read.
struct Cursor {
    place: usize,
    /// Row groups that are not begun.
    groups: Range<usize>,
    /// Nothing where there is nothing to read: before the first group, and in a column of nulls.
    reader: Option<ColumnReader>,
    /// Rows of the current group.
    left: usize,
}

impl Cursor {
    fn new(place: usize, groups: Range<usize>) -> Cursor {
        Cursor { place, groups, reader: None, left: 0 }
    }

    /// Adds the next rows, up to `rows`, of all groups that are left.
    fn read(&mut self, source: &Source, handle: &Handle, rows: usize, part: &mut Part) -> Result<()> {
        let wanted = &source.columns[self.place];
        let mut open = rows;
        while open > 0 {
            if self.left == 0 {
                let Some(group) = self.groups.next() else { break };
                self.left = source.group_rows(group);
                let any = self.left > 0 && wanted.meaning != Meaning::Null;
                self.reader = any.then(|| source.column_reader(handle, group, wanted)).transpose()?;
                continue;
            }
            let take = open.min(self.left);
            match &mut self.reader {
                None => part.extend_missing(take),
                Some(reader) => {
                    // Some damage in a page makes the decoders panic; what they leave behind is not used again.
                    let work = AssertUnwindSafe(|| part.extend(reader, wanted.meaning, take, &source.na));
                    let count = catch_unwind(work).unwrap_or_else(|_| Err("its values are damaged".into()));
                    let count = count.map_err(|problem| source.column_problem(wanted, problem))?;
                    if count < take {
                        let problem = format!("{} values are missing at the end of a row group", take - count);
                        return Err(source.column_problem(wanted, problem));
                    }
                }
            }
            self.left -= take;
            open -= take;
        }
        Ok(())
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// A file in pieces

/// Consecutive rows of all columns. Threads share the columns; each has a handle of its own.
struct Batches<'a> {
    source: &'a Source,
    bundles: Vec<(Handle, Vec<Cursor>)>,
    rows: usize,
}

impl<'a> Batches<'a> {
    fn new(source: &'a Source, chunk_bytes: usize) -> Result<Batches<'a>> {
        let groups = source.metadata.row_groups();
        let rows: i64 = groups.iter().map(|group| group.num_rows()).sum();
        let bytes: i64 = groups.iter().map(|group| group.total_byte_size()).sum();
        let bytes_a_row = (bytes as f64 / rows.max(1) as f64).max(8.0 * source.columns.len() as f64).max(1.0);
        let rows = ((chunk_bytes as f64 / bytes_a_row) as usize).clamp(1, 1 << 24);
        let bundles = source.bundles(rayon::current_num_threads()).into_iter().map(|places| {
            let cursors = places.into_iter().map(|place| Cursor::new(place, 0..groups.len())).collect();
            Ok((source.handle()?, cursors))
        });
        Ok(Batches { source, bundles: bundles.collect::<Result<_>>()?, rows })
    }

    fn next(&mut self) -> Result<Option<Vec<Part>>> {
        let (source, rows) = (self.source, self.rows);
        let done = self.bundles.par_iter_mut().map(|(handle, cursors)| {
            let parts = cursors.iter_mut().map(|cursor| {
                let mut part = source.columns[cursor.place].part();
                cursor.read(source, handle, rows, &mut part)?;
                Ok(part)
            });
            parts.collect::<Result<Vec<Part>>>()
        });
        let mut all: Vec<Option<Part>> = source.columns.iter().map(|_| None).collect();
        for (parts, (_, cursors)) in done.collect::<Result<Vec<_>>>()?.into_iter().zip(&self.bundles) {
            for (part, cursor) in parts.into_iter().zip(cursors) {
                all[cursor.place] = Some(part);
            }
        }
        let all: Vec<Part> = all.into_iter().flatten().collect();
        Ok(if all.first().is_none_or(|part| part.rows() == 0) { None } else { Some(all) })
    }
}
