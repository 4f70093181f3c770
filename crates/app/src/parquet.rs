//! Parquet to table: row groups in parallel, only the columns that are wanted.
//!
//! The file knows its types, so a column has a natural kind: integers, floats and decimals are numbers; strings are
//! categories or text by the same rule as in CSV; dates, timestamps and booleans are what they are. Nulls, empty strings
//! and the user's own markers are missing; `NA` is not, because the file could have said null. A schema or an override
//! that asks for another kind than the natural one gets it if every value can be read that way.
//!
//! Not done: nested columns, times of day, durations, raw bytes that are not UTF-8.

use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
};

use arrow_array::{
    Array, ArrowPrimitiveType, RecordBatch,
    cast::AsArray,
    types::{
        Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
        Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
        TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, TimeUnit};
use ermine_core::error::{Error, Result};
use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{
            ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
        },
    },
    errors::ParquetError,
};
use rayon::prelude::*;

use crate::table::{
    self, Category, Column, Dictionary, Field, Kind, MAX_LEVELS, MISSING, Na, Places, ReadOptions, SAMPLE_ROWS, Scan,
    Schema, Strings, Table, Tally, Text, TextEvidence, UNSEEN,
};

const BATCH_ROWS: usize = 1 << 15;

pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Table> {
    let path = path.as_ref();
    read_file(&Source::open(path, path, options, options.schema.as_ref())?)
}

/// Reads a file that is in memory already; `path` is for messages.
pub fn read_bytes(path: impl AsRef<Path>, bytes: &[u8], options: &ReadOptions) -> Result<Table> {
    let path = path.as_ref();
    let failed = |error: std::io::Error| Error::io(path, "read", &error);
    let mut copy = tempfile::NamedTempFile::new().map_err(failed)?;
    copy.write_all(bytes).map_err(failed)?;
    read_file(&Source::open(path, copy.path(), options, options.schema.as_ref())?)
}

fn read_file(source: &Source) -> Result<Table> {
    let groups = source.metadata.metadata().num_row_groups();
    // A file of few row groups is divided by columns as well.
    let bundles = source.bundles(rayon::current_num_threads().div_ceil(groups.max(1)));
    let tasks: Vec<(usize, &[usize])> =
        (0..groups).flat_map(|group| bundles.iter().map(move |bundle| (group, bundle.as_slice()))).collect();
    let parts = tasks.into_par_iter().map(|(group, bundle)| {
        let mut parts: Vec<Part> = bundle.iter().map(|&column| source.columns[column].part()).collect();
        for batch in source.reader(vec![group], bundle, BATCH_ROWS)? {
            source.decode(bundle, &batch.map_err(|error| source.error(&error.into()))?, &mut parts)?;
        }
        Ok(parts)
    });
    let mut columns: Vec<Vec<Part>> = source.columns.iter().map(|_| Vec::with_capacity(groups)).collect();
    for (task, parts) in parts.collect::<Result<Vec<_>>>()?.into_iter().enumerate() {
        for (&column, part) in bundles[task % bundles.len()].iter().zip(parts) {
            columns[column].push(part);
        }
    }
    let columns: Vec<Vec<Part>> = columns;
    let named = source.columns.par_iter().zip(columns).map(|(wanted, parts)| {
        let column = source.finish(wanted, parts, 0)?;
        Ok((wanted.name.clone(), column))
    });
    let table = Table::new(named.collect::<Result<_>>()?)?.with_na(source.markers.clone());
    if table.rows() == 0 { Err(source.problem("the file has no rows")) } else { Ok(table) }
}

/// Like [`crate::csv::stream`].
pub fn stream(
    path: impl AsRef<Path>,
    options: &ReadOptions,
    schema: &Schema,
    chunk_bytes: usize,
    mut each: impl FnMut(Table) -> Result<()>,
) -> Result<usize> {
    let path = path.as_ref();
    let source = Source::open(path, path, options, Some(schema))?;
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

/// Like [`crate::csv::scan`].
pub fn scan(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Scan> {
    let path = path.as_ref();
    let source = Source::open(path, path, options, None)?;
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
    let mut scan =
        Scan { schema: Schema { columns: Vec::new(), na: source.markers.clone() }, rows, summary: Vec::new() };
    for (wanted, mut state) in source.columns.iter().zip(states) {
        let mut field = Field { name: wanted.name.clone(), kind: wanted.natural, levels: Default::default() };
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
    file: PathBuf,
    metadata: ArrowReaderMetadata,
    columns: Vec<Wanted>,
    na: Na,
    markers: Vec<String>,
}

struct Wanted {
    name: String,
    /// Place among the columns of the file.
    root: usize,
    natural: Kind,
    target: Target,
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
    fn open(path: &Path, file: &Path, options: &ReadOptions, schema: Option<&Schema>) -> Result<Source> {
        let opened = File::open(file).map_err(|error| Error::io(path, "open", &error))?;
        let metadata = ArrowReaderMetadata::load(&opened, ArrowReaderOptions::new())
            .map_err(|error| Error::format(path, None, format!("not a readable Parquet file: {error}")))?;
        let markers = options.all_na(schema);
        let na = Na::new(&markers);
        let mut source = Source { path: path.into(), file: file.into(), metadata, columns: Vec::new(), na, markers };

        let fields = source.metadata.schema().fields().clone();
        let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        let places = Places::of_names(&names);
        let schema = match (schema, &options.columns) {
            (Some(schema), Some(wanted)) => Some(schema.select(wanted)?),
            (schema, _) => schema.cloned(),
        };
        let wanted = match (&schema, &options.columns) {
            (Some(schema), _) => schema.names(),
            (None, Some(wanted)) => wanted.clone(),
            (None, None) => names.clone(),
        };
        for name in options.kinds.keys() {
            places.of(name)?;
        }
        for (place, name) in wanted.into_iter().enumerate() {
            let root = places.of(&name).map_err(|error| match &schema {
                Some(_) => error.hint(format!("{} needs all columns of the schema", path.display())),
                None => error,
            })?;
            let data_type = fields[root].data_type();
            let natural = natural_kind(data_type).ok_or_else(|| {
                source
                    .problem(format!("column '{name}' has type {data_type}, which cannot be a column of a table"))
                    .hint("leave the column out, or flatten it before")
            })?;
            let target = match (&schema, options.kinds.get(&name)) {
                (Some(schema), _) => Target::Field(schema.columns[place].clone()),
                (None, Some(kind)) => Target::Kind(*kind),
                (None, None) => Target::Natural,
            };
            source.columns.push(Wanted { name, root, natural, target });
        }
        Ok(source)
    }

    fn problem(&self, problem: impl Into<String>) -> Error {
        Error::format(&self.path, None, problem)
    }

    fn error(&self, error: &ParquetError) -> Error {
        self.problem(error.to_string())
    }

    /// The wanted columns in about `count` parts.
    fn bundles(&self, count: usize) -> Vec<Vec<usize>> {
        let mut places: Vec<usize> = (0..self.columns.len()).collect();
        // Batches have their columns in the order of the file.
        places.sort_by_key(|&place| self.columns[place].root);
        places.chunks(places.len().div_ceil(count.max(1)).max(1)).map(<[usize]>::to_vec).collect()
    }

    fn reader(&self, groups: Vec<usize>, bundle: &[usize], batch: usize) -> Result<ParquetRecordBatchReader> {
        // Every reader has its own file: clones of one would share its position.
        let file = File::open(&self.file).map_err(|error| Error::io(&self.path, "open", &error))?;
        let roots = bundle.iter().map(|&place| self.columns[place].root);
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), roots);
        ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
            .with_row_groups(groups)
            .with_projection(mask)
            .with_batch_size(batch)
            .build()
            .map_err(|error| self.error(&error))
    }

    fn decode(&self, bundle: &[usize], batch: &RecordBatch, parts: &mut [Part]) -> Result<()> {
        for ((&place, array), part) in bundle.iter().zip(batch.columns()).zip(parts) {
            part.extend(array, &self.na)
                .map_err(|problem| self.problem(format!("column '{}': {problem}", self.columns[place].name)))?;
        }
        Ok(())
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
                if strings.evidence(SAMPLE_ROWS).is_text() {
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

fn natural_kind(data_type: &DataType) -> Option<Kind> {
    Some(match data_type {
        DataType::Boolean => Kind::Boolean,
        DataType::Date32 | DataType::Date64 => Kind::Date,
        DataType::Timestamp(..) => Kind::DateTime,
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView => Kind::Category,
        DataType::Dictionary(_, values) => natural_kind(values).filter(|kind| *kind == Kind::Category)?,
        DataType::Null => Kind::Number,
        numeric if numeric.is_numeric() => Kind::Number,
        _ => return None,
    })
}

// ---------------------------------------------------------------------------------------------------------------------
// Values

/// Some rows of a column, of its natural kind.
enum Part {
    Values(Kind, Vec<f64>),
    Boolean(Vec<Option<bool>>),
    Strings(Vec<u32>, Dictionary),
}

/// All parts of a column.
enum Whole {
    Column(Column),
    Strings(Strings),
}

impl Whole {
    fn into_column(self) -> Column {
        match self {
            Whole::Column(column) => column,
            // Text rather than category: cheap, and it converts just as well.
            Whole::Strings(strings) => Column::Text(strings.into_text()),
        }
    }
}

impl Column {
    fn into_strings(self) -> Strings {
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
    fn rows(&self) -> usize {
        match self {
            Part::Values(_, values) => values.len(),
            Part::Boolean(values) => values.len(),
            Part::Strings(codes, _) => codes.len(),
        }
    }

    fn into_whole(self) -> Whole {
        match self {
            Part::Values(Kind::Date, values) => Whole::Column(Column::Date(values)),
            Part::Values(Kind::DateTime, values) => Whole::Column(Column::DateTime(values)),
            Part::Values(_, values) => Whole::Column(Column::Number(values)),
            Part::Boolean(values) => Whole::Column(Column::Boolean(values)),
            Part::Strings(codes, levels) => Whole::Strings(Strings { parts: vec![(codes.len(), levels)], codes }),
        }
    }

    fn into_strings(self) -> Strings {
        match self.into_whole() {
            Whole::Strings(strings) => strings,
            Whole::Column(column) => column.into_strings(),
        }
    }

    fn join(parts: Vec<Part>, wanted: &Wanted) -> Whole {
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

    fn extend(&mut self, array: &dyn Array, na: &Na) -> Result<(), String> {
        match self {
            Part::Boolean(values) => values.extend(array.as_boolean().iter()),
            Part::Values(_, values) => {
                let start = values.len();
                extend_values(values, array)?;
                for value in &mut values[start..] {
                    if na.is_missing_number(*value) {
                        *value = f64::NAN;
                    }
                }
            }
            Part::Strings(codes, levels) => extend_strings(codes, levels, array, na)?,
        }
        Ok(())
    }
}

fn extend_values(values: &mut Vec<f64>, array: &dyn Array) -> Result<(), String> {
    fn primitive<T: ArrowPrimitiveType>(values: &mut Vec<f64>, array: &dyn Array, convert: impl Fn(T::Native) -> f64) {
        let array = array.as_primitive::<T>();
        if array.null_count() == 0 {
            values.extend(array.values().iter().map(|&value| convert(value)));
        } else {
            values.extend(array.iter().map(|value| value.map_or(f64::NAN, &convert)));
        }
    }
    // Divided, not multiplied by the inverse: then 12.34 is the number that the text 12.34 is.
    let scaled = |scale: i8| 10_f64.powi(i32::from(scale));
    match array.data_type() {
        DataType::Null => values.resize(values.len() + array.len(), f64::NAN),
        DataType::Int8 => primitive::<Int8Type>(values, array, f64::from),
        DataType::Int16 => primitive::<Int16Type>(values, array, f64::from),
        DataType::Int32 => primitive::<Int32Type>(values, array, f64::from),
        DataType::Int64 => primitive::<Int64Type>(values, array, |value| value as f64),
        DataType::UInt8 => primitive::<UInt8Type>(values, array, f64::from),
        DataType::UInt16 => primitive::<UInt16Type>(values, array, f64::from),
        DataType::UInt32 => primitive::<UInt32Type>(values, array, f64::from),
        DataType::UInt64 => primitive::<UInt64Type>(values, array, |value| value as f64),
        DataType::Float16 => primitive::<Float16Type>(values, array, |value| value.to_f64()),
        DataType::Float32 => primitive::<Float32Type>(values, array, f64::from),
        DataType::Float64 => primitive::<Float64Type>(values, array, |value| value),
        DataType::Decimal32(_, scale) => {
            let scale = scaled(*scale);
            primitive::<Decimal32Type>(values, array, |value| f64::from(value) / scale);
        }
        DataType::Decimal64(_, scale) => {
            let scale = scaled(*scale);
            primitive::<Decimal64Type>(values, array, |value| value as f64 / scale);
        }
        DataType::Decimal128(_, scale) => {
            let scale = scaled(*scale);
            primitive::<Decimal128Type>(values, array, |value| value as f64 / scale);
        }
        DataType::Decimal256(_, scale) => {
            let scale = scaled(*scale);
            let parse = |text: String| table::number(text.as_bytes()).unwrap_or(f64::NAN);
            primitive::<Decimal256Type>(values, array, |value| parse(value.to_string()) / scale);
        }
        DataType::Date32 => primitive::<Date32Type>(values, array, f64::from),
        DataType::Date64 => primitive::<Date64Type>(values, array, |value| value.div_euclid(86_400_000) as f64),
        DataType::Timestamp(TimeUnit::Second, _) => {
            primitive::<TimestampSecondType>(values, array, |value| value as f64);
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            primitive::<TimestampMillisecondType>(values, array, |value| value as f64 / 1e3);
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            primitive::<TimestampMicrosecondType>(values, array, |value| value as f64 / 1e6);
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            // Nanoseconds need more digits than a float has; whole microseconds fit.
            primitive::<TimestampNanosecondType>(values, array, |value| (value / 1000) as f64 / 1e6);
        }
        other => return Err(format!("type {other} cannot be read")),
    }
    Ok(())
}

fn extend_strings(codes: &mut Vec<u32>, levels: &mut Dictionary, array: &dyn Array, na: &Na) -> Result<(), String> {
    let mut code = |value: Option<&[u8]>| match value {
        Some(value) if !value.is_empty() && !na.is_marker(value) => {
            levels.code(value).map_err(|_| format!("{} is not valid UTF-8", table::quote(value)))
        }
        _ => Ok(MISSING),
    };
    fn each<'a>(
        codes: &mut Vec<u32>,
        values: impl Iterator<Item = Option<&'a [u8]>>,
        code: impl FnMut(Option<&[u8]>) -> Result<u32, String>,
    ) -> Result<(), String> {
        codes.reserve(values.size_hint().0);
        values.map(code).try_for_each(|code| {
            codes.push(code?);
            Ok(())
        })
    }
    match array.data_type() {
        DataType::Utf8 => each(codes, array.as_string::<i32>().iter().map(|value| value.map(str::as_bytes)), code),
        DataType::LargeUtf8 => each(codes, array.as_string::<i64>().iter().map(|value| value.map(str::as_bytes)), code),
        DataType::Utf8View => each(codes, array.as_string_view().iter().map(|value| value.map(str::as_bytes)), code),
        DataType::Binary => each(codes, array.as_binary::<i32>().iter(), code),
        DataType::LargeBinary => each(codes, array.as_binary::<i64>().iter(), code),
        DataType::BinaryView => each(codes, array.as_binary_view().iter(), code),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            if dictionary.values().is_empty() {
                codes.resize(codes.len() + array.len(), MISSING);
                return Ok(());
            }
            let mut own = Vec::new();
            let mut spellings = Vec::new();
            let mut local = Dictionary::default();
            extend_strings(&mut own, &mut local, dictionary.values(), na)?;
            // Levels get their code when a row first has them, not in the order of the file's dictionary.
            spellings.resize(local.len(), MISSING);
            for (row, key) in dictionary.normalized_keys().into_iter().enumerate() {
                let value = if array.is_null(row) { MISSING } else { own[key] };
                codes.push(match value {
                    MISSING => MISSING,
                    value => {
                        let known = &mut spellings[value as usize];
                        if *known == MISSING {
                            *known = code(Some(local.level(value).as_bytes()))?;
                        }
                        *known
                    }
                });
            }
            Ok(())
        }
        other => Err(format!("type {other} cannot be read")),
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// A file in pieces

/// Consecutive rows of all columns. Threads share the columns; each has a reader of its own.
struct Batches<'a> {
    source: &'a Source,
    readers: Vec<Bundle>,
    rows: usize,
}

struct Bundle {
    places: Vec<usize>,
    reader: ParquetRecordBatchReader,
    /// What the last batch had too much.
    left: Option<RecordBatch>,
}

impl<'a> Batches<'a> {
    fn new(source: &'a Source, chunk_bytes: usize) -> Result<Batches<'a>> {
        let groups = source.metadata.metadata().row_groups();
        let rows: i64 = groups.iter().map(|group| group.num_rows()).sum();
        let bytes: i64 = groups.iter().map(|group| group.total_byte_size()).sum();
        let bytes_a_row = (bytes as f64 / rows.max(1) as f64).max(8.0 * source.columns.len() as f64).max(1.0);
        let rows = ((chunk_bytes as f64 / bytes_a_row) as usize).clamp(1, 1 << 24);
        let mut readers = Vec::new();
        for places in source.bundles(rayon::current_num_threads()) {
            let reader = source.reader((0..groups.len()).collect(), &places, rows.min(BATCH_ROWS))?;
            readers.push(Bundle { places, reader, left: None });
        }
        Ok(Batches { source, readers, rows })
    }

    fn next(&mut self) -> Result<Option<Vec<Part>>> {
        let (source, rows) = (self.source, self.rows);
        let done = self.readers.par_iter_mut().map(|bundle| {
            let mut parts: Vec<Part> = bundle.places.iter().map(|&place| source.columns[place].part()).collect();
            let mut have = 0;
            while have < rows {
                let batch = match bundle.left.take() {
                    Some(batch) => batch,
                    None => match bundle.reader.next() {
                        Some(batch) => batch.map_err(|error| source.error(&error.into()))?,
                        None => break,
                    },
                };
                let take = batch.num_rows().min(rows - have);
                source.decode(&bundle.places, &batch.slice(0, take), &mut parts)?;
                if take < batch.num_rows() {
                    bundle.left = Some(batch.slice(take, batch.num_rows() - take));
                }
                have += take;
            }
            Ok(parts)
        });
        let mut all: Vec<Option<Part>> = source.columns.iter().map(|_| None).collect();
        for (parts, bundle) in done.collect::<Result<Vec<_>>>()?.into_iter().zip(&self.readers) {
            for (part, &place) in parts.into_iter().zip(&bundle.places) {
                all[place] = Some(part);
            }
        }
        let all: Vec<Part> = all.into_iter().flatten().collect();
        Ok(if all.first().is_none_or(|part| part.rows() == 0) { None } else { Some(all) })
    }
}
