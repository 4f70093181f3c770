//! CSV to table: find the delimiter, the header and the kind of every column, and parse on all threads.
//!
//! *Where records begin.* A quote matters only at the start of a field (RFC 4180), so a look at the quotes alone, at
//! the speed of `memchr`, tells which newlines end a record. The file is cut at newlines; every piece is scanned as if
//! it began outside quotes; pieces that turn out to begin inside a quoted field are put right in order
//! ([`records::cut`]). No guess remains when parsing starts.
//!
//! *Where values go.* The newlines of a piece bound its rows, so all columns are allocated once and every piece writes
//! into its own part of them; nothing is joined afterwards, and there is no second copy.
//!
//! *Which kind a column has.* The head of the file suggests a kind. A field that does not fit shrinks the set of
//! possible kinds ([`FormSet`]), and the columns concerned, only those, are parsed again. What is left at the end is
//! the first kind that fits every field, whatever the pieces and threads were.
//!
//! Blanks around a field without quotes are not part of it; empty lines are skipped; quotes do not change what a field
//! means, so `"1"` is a number and `"NA"` is missing. Not done: comment lines.

mod fields;
mod kinds;
mod layout;
mod parse;
mod pieces;
mod records;
mod several;

pub(crate) use several::{CsvFile, CsvPart, Stretch};

use self::{
    fields::Fault,
    kinds::{Inference, State, Wanted},
    layout::Layout,
    parse::{Plan, Raw, parse},
    pieces::Pieces,
};
use super::{
    ReadOptions, Scan, check_room,
    input::{Decoding, Input},
    too_large,
};
use crate::table::{self, Column, Dictionary, FormSet, Kind, MAX_LEVELS, Schema, Table, Tally};
use bytes::Bytes;
use ermine_core::error::{Error, Result};
use memchr::memchr_iter;
use rayon::prelude::*;
use std::{
    fs::File,
    io::{BufWriter, Read, Write},
    ops::Range,
    path::Path,
};

/// The head of a file that delimiter, header and first guesses are taken from: at most this many bytes.
const HEAD_BYTES: usize = 4 << 20;
/// Fields in the head that kinds are guessed from, so that a file of thousands of columns does not spend its time here.
const HEAD_FIELDS: usize = 1 << 19;
/// One field of a column in so many rows may be no value of its kind.
const ROWS_PER_MISFIT: usize = 20;
/// When reading in pieces, a record longer than this is taken for a quote that somebody forgot to close.
const LONGEST_RECORD: usize = 1 << 28;

/// Reads a whole file; `-` is standard input.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Table> {
    let path = path.as_ref();
    let (content, options) = Content::open(path, Input::of(path, options.memory)?, options)?;
    read_plain(path, &content, &options)
}

/// The bytes of a file as CSV.
enum Content {
    Map(memmap2::Mmap),
    Bytes(Bytes),
}

impl Content {
    /// All of it, and how to read it. A file that is cut meanwhile is an error: were it mapped, it would be the end of
    /// the process.
    fn open(path: &Path, input: Input, options: &ReadOptions) -> Result<(Content, ReadOptions)> {
        let failed = |error: std::io::Error| Error::io(path, "read", &error);
        let memory = options.memory;
        let decoding = Decoding::find(input.clone(), options)?;
        if !decoding.is_plain() {
            return decoded(path, &decoding, options);
        }
        let known = ReadOptions { assumed: decoding.assumed().to_vec(), ..options.clone() };
        let Input::File(path) = &input else { return Ok((Content::Bytes(input.whole()?), known)) };
        let file = File::open(path).map_err(|error| Error::io(path, "open", &error))?;
        let size = file.metadata().map_err(|error| Error::io(path, "open", &error))?.len();
        if size > memory {
            return Err(too_large(path, size, memory));
        }
        let length = usize::try_from(size).map_err(|_| too_large(path, size, memory))?;
        check_room(path, length)?;
        let mut bytes = vec![0; length];
        let piece = 8 << 20;
        let pieces = bytes.par_chunks_mut(piece).enumerate();
        pieces.try_for_each(|(i, bytes)| read_at(&file, bytes, (i * piece) as u64)).map_err(failed)?;
        Ok((Content::Bytes(bytes.into()), known))
    }

    /// For workers of which each looks at its own part of a file that none could hold.
    fn map(path: &Path, options: &ReadOptions) -> Result<(Content, ReadOptions)> {
        let decoding = Decoding::of_file(path, options)?;
        let file = File::open(path).map_err(|error| Error::io(path, "open", &error))?;
        let about = file.metadata().map_err(|error| Error::io(path, "open", &error))?;
        // An empty file cannot be mapped.
        if decoding.is_plain() && about.is_file() && about.len() > 0 {
            // SAFETY: the map is read only and lives shorter than `file`. Another process that shortens the file
            // meanwhile would end this one.
            let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|error| Error::io(path, "read", &error))?;
            let known = ReadOptions { assumed: decoding.assumed().to_vec(), ..options.clone() };
            return Ok((Content::Map(map), known));
        }
        decoded(path, &decoding, options)
    }
}

/// A stream to its end, as long as it is no longer than the memory allowed.
fn decoded(path: &Path, decoding: &Decoding, options: &ReadOptions) -> Result<(Content, ReadOptions)> {
    let (text, known) = decoding.open(options)?;
    let mut bytes = Vec::new();
    let done = text.take(options.memory.saturating_add(1)).read_to_end(&mut bytes);
    done.map_err(|error| Error::io(path, decoding.action(), &error))?;
    if bytes.len() as u64 > options.memory {
        return Err(too_large(path, bytes.len() as u64, options.memory));
    }
    Ok((Content::Bytes(bytes.into()), known))
}

/// These bytes of a file, from any thread.
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => std::io::Error::other("it became shorter while it was read"),
        _ => error,
    });
    #[cfg(not(unix))]
    {
        use std::io::{Seek, SeekFrom};
        let mut file = file.try_clone()?;
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(bytes)
    }
}

impl std::ops::Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Content::Map(map) => map,
            Content::Bytes(bytes) => bytes,
        }
    }
}

/// Reads what is in memory already; `path` is for messages.
pub fn read_bytes(path: impl AsRef<Path>, bytes: Vec<u8>, options: &ReadOptions) -> Result<Table> {
    let path = path.as_ref();
    let (content, options) = Content::open(path, Input::Bytes(path.into(), bytes.into()), options)?;
    read_plain(path, &content, &options)
}

/// About how many bytes the table of a file takes: its fields, as the head has them, over the whole length of the text.
/// A packed file is unpacked for it, as far as needed to know whether it takes more than `enough`.
pub(crate) fn decoded_bytes(path: &Path, options: &ReadOptions, enough: u64) -> Result<u64> {
    let file = File::open(path).map_err(|error| Error::io(path, "open", &error))?;
    let about = file.metadata().map_err(|error| Error::io(path, "open", &error))?;
    if !about.is_file() {
        return Ok(0);
    }
    let failed = |error: std::io::Error| Error::io(path, "read", &error);
    let decoding = Decoding::of_file(path, options)?;
    let (mut input, options) = decoding.open(options)?;
    let mut head = Vec::new();
    input.by_ref().take(1 << 18).read_to_end(&mut head).map_err(failed)?;
    let delimiter = options.delimiter.unwrap_or_else(|| layout::find_delimiter(&head));
    let fields = head.iter().filter(|&&byte| byte == delimiter || byte == b'\n').count() as u64 + 1;
    let bytes = |text: u64| text.max((8.0 * fields as f64 / head.len().max(1) as f64 * text as f64) as u64);
    if decoding.is_plain() {
        return Ok(bytes(about.len()));
    }
    // Deflate makes at most 1,032 of one.
    if decoding.is_gzip() && bytes(about.len().saturating_mul(1032)) <= enough {
        return Ok(bytes(about.len().saturating_mul(1032)));
    }
    let mut text = head.len() as u64;
    let mut buffer = vec![0; 1 << 18];
    while bytes(text) <= enough {
        match input.read(&mut buffer).map_err(|error| Error::io(path, "unpack", &error))? {
            0 => break,
            read => text += read as u64,
        }
    }
    Ok(bytes(text))
}

/// Hands out consecutive rows in order, as tables of about `chunk_bytes` of the file each, read against a schema, with
/// no more in memory than one of them and its part of the file. Returns the number of rows.
pub fn stream(
    path: impl AsRef<Path>,
    options: &ReadOptions,
    schema: &Schema,
    chunk_bytes: usize,
    mut each: impl FnMut(Table) -> Result<()>,
) -> Result<usize> {
    let path = path.as_ref();
    let mut pieces = Pieces::open(path, options, Some(schema), chunk_bytes)?;
    let schema = wanted_schema(options, schema)?;
    let na = options.all_na(Some(&schema));
    let plan = Plan::declared(path, &pieces.layout, &schema, pieces.options.missing(&na))?;
    let mut total = 0;
    while pieces.advance()? {
        let block = parse(pieces.piece(), &plan, options.chunk_bytes).map_err(|fault| pieces.error(*fault))?;
        total += block.rows;
        if block.rows > 0 {
            each(block.into_table(&pieces.layout, &schema, &na)?)?;
        }
    }
    if total == 0 {
        return Err(no_rows(path, &pieces.layout));
    }
    Ok(total)
}

/// The names of the columns.
pub(crate) fn names(path: &Path, options: &ReadOptions) -> Result<Vec<String>> {
    Ok(Pieces::open(path, options, options.schema.as_ref(), 1 << 20)?.layout.names)
}

/// The schema that [`read`] would find, the number of rows and a summary of every column, in bounded memory. Goes
/// through the file once, and once more if the head of the file was misleading.
pub fn scan(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Scan> {
    let path = path.as_ref();
    if path == Path::new("-") {
        return Err(Error::Unsupported("standard input can be read only once, so it cannot be scanned".into())
            .hint("save it to a file first"));
    }
    let mut pieces = Pieces::open(path, options, options.schema.as_ref(), 16 << 20)?;
    let mut columns = Inference::start(&pieces.layout, pieces.rest(), &pieces.options, |fault| pieces.error(*fault))?;
    let count = columns.columns.len();
    let mut summaries: Vec<Option<(Tally, Option<Dictionary>)>> = (0..count).map(|_| None).collect();
    let mut rows;
    loop {
        let plan = columns.plan();
        let mut tallies: Vec<(Tally, Option<Dictionary>)> =
            (0..count).map(|_| (Tally::default(), Some(Dictionary::default()))).collect();
        rows = 0;
        while pieces.advance()? {
            let block = parse(pieces.piece(), &plan, options.chunk_bytes).map_err(|fault| pieces.error(*fault))?;
            rows += block.rows;
            columns.learn(&block);
            let must = &columns.columns;
            let raw = block.columns.into_par_iter().zip(&mut tallies).zip(must);
            raw.for_each(|((raw, (tally, levels)), column)| match raw {
                Raw::Strings(strings) => {
                    tally.add_codes(&strings.codes);
                    for (_, part) in &strings.parts {
                        let Some(all) = levels else { break };
                        part.iter().for_each(|level| {
                            all.code_of_str(level);
                        });
                        if all.len() > MAX_LEVELS && column.declared != Some(Kind::Category) {
                            *levels = None;
                        }
                    }
                }
                Raw::Skip | Raw::Failed(_) => {}
                raw => tally.add(&raw.into_column()),
            });
        }
        for ((tally, column), summary) in tallies.into_iter().zip(&columns.columns).zip(&mut summaries) {
            if column.state == State::Parsing {
                *summary = Some(tally);
            }
        }
        if columns.settle() {
            break;
        }
        pieces = Pieces::open(path, options, options.schema.as_ref(), 16 << 20)?;
    }
    if rows == 0 {
        return Err(no_rows(path, &pieces.layout));
    }
    let (forms, assumed) = columns.spelling();
    let schema = Schema { columns: Vec::new(), na: columns.markers.clone() };
    let mut scan = Scan { schema, rows, summary: Vec::new(), assumed, forms: Vec::new() };
    for &index in &columns.order {
        let name = &pieces.layout.names[index];
        let Some((mut tally, levels)) = summaries[index].take() else { continue };
        let mut field = table::Field { name: name.clone(), kind: Kind::Text, levels: Default::default(), form: None };
        match columns.columns[index].want() {
            Wanted::Form(form) => (field.kind, field.form) = (form.kind(), forms.get(name).copied()),
            Wanted::Text => {}
            Wanted::Strings => match levels {
                Some(levels) => {
                    tally.set_distinct(Some(levels.len()));
                    (field.kind, field.levels) = (Kind::Category, levels.levels());
                }
                None => tally.set_distinct(None),
            },
        }
        scan.summary.push(tally.finish(name, field.kind));
        scan.schema.columns.push(field);
        scan.forms.push(columns.columns[index].possible);
    }
    Ok(scan)
}

/// Writes RFC 4180 CSV with a header. Numbers have the fewest digits that read back as the same number. A missing value
/// is an empty field, and so is an unseen level, whose name is not known.
pub fn write(table: &Table, out: impl Write) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let mut line = String::new();
    let columns: Vec<(&str, &Column)> = table.columns().collect();
    let single = columns.len() == 1;
    let mut put = |line: &mut String| {
        // An empty line would be skipped when the file is read.
        if single && line.is_empty() {
            line.push_str("\"\"");
        }
        line.push('\n');
        let done = out.write_all(line.as_bytes());
        line.clear();
        done
    };
    for (index, (name, _)) in columns.iter().enumerate() {
        if index > 0 {
            line.push(',');
        }
        push_field(&mut line, name);
    }
    put(&mut line)?;
    for row in 0..table.rows() {
        for (index, (_, column)) in columns.iter().enumerate() {
            if index > 0 {
                line.push(',');
            }
            match column {
                Column::Category(category) => push_field(&mut line, category.get(row).unwrap_or_default()),
                Column::Text(text) => push_field(&mut line, text.get(row)),
                other => line.push_str(&other.value_text(row)),
            }
        }
        put(&mut line)?;
    }
    out.flush()
}

fn push_field(line: &mut String, value: &str) {
    // Blanks around a field without quotes would be lost.
    let quotes = value.contains([',', '"', '\n', '\r']) || value.trim() != value;
    if !quotes {
        return line.push_str(value);
    }
    line.push('"');
    line.push_str(&value.replace('"', "\"\""));
    line.push('"');
}

fn read_plain(path: &Path, data: &[u8], options: &ReadOptions) -> Result<Table> {
    let data = without_bom(data);
    let layout = Layout::find(path, data, options, options.schema.as_ref())?;
    let body = &data[layout.body..];
    let locate = |fault: Box<Fault>| fault.locate(path, body, 1 + newlines(&data[..layout.body]));
    if let Some(schema) = &options.schema {
        let schema = wanted_schema(options, schema)?;
        let na = options.all_na(Some(&schema));
        let mut plan = Plan::declared(path, &layout, &schema, options.missing(&na))?;
        plan.lenient = options.lenient;
        let mut block = parse(body, &plan, options.chunk_bytes).map_err(locate)?;
        if block.rows == 0 {
            return Err(no_rows(path, &layout));
        }
        let mut assumed = Vec::new();
        for misfit in std::mem::take(&mut block.misfits) {
            let first = locate(Box::new(misfit.first));
            if misfit.count > block.rows / ROWS_PER_MISFIT {
                return Err(first);
            }
            assumed.push(match misfit.count {
                1 => format!("{first}; it is taken for missing"),
                count => format!("{first}; it and {} more are taken for missing", count - 1),
            });
        }
        let table = block.into_table(&layout, &schema, &na)?;
        return Ok(table.with_assumed(assumed));
    }
    let mut part = Part::start(path, data, &layout, layout.body..data.len(), options)?;
    part.settle()?;
    if part.rows == 0 {
        return Err(no_rows(path, &layout));
    }
    let markers = part.inference.markers.clone();
    let (forms, assumed) = part.inference.spelling();
    Ok(Table::new(part.finish())?.with_na(markers).with_forms(forms, assumed))
}

/// Some records of a file on their way to columns. Kinds are found in all of them; where other parts of the same table
/// allow fewer, [`Part::narrow`] says so.
struct Part<'a> {
    path: &'a Path,
    data: &'a [u8],
    layout: &'a Layout,
    records: Range<usize>,
    inference: Inference,
    found: Vec<Option<Raw>>,
    rows: usize,
    chunk_bytes: usize,
    memory: u64,
}

impl<'a> Part<'a> {
    fn start(
        path: &'a Path,
        data: &'a [u8],
        layout: &'a Layout,
        records: Range<usize>,
        options: &ReadOptions,
    ) -> Result<Part<'a>> {
        let body = &data[layout.body..];
        let locate = |fault: Box<Fault>| fault.locate(path, body, 1 + newlines(&data[..layout.body]));
        let inference = Inference::start(layout, body, options, locate)?;
        let found = layout.names.iter().map(|_| None).collect();
        Ok(Part {
            path,
            data,
            layout,
            records,
            inference,
            found,
            rows: 0,
            chunk_bytes: options.chunk_bytes,
            memory: options.memory,
        })
    }

    /// Parses until every column has the first kind that all its fields fit.
    fn settle(&mut self) -> Result<()> {
        loop {
            let records = &self.data[self.records.clone()];
            // Columns are made before the rows are known: one for each line at most.
            let wanted = self.inference.columns.iter().filter(|column| column.state == State::Parsing).count();
            let needed = (newlines(records) + 1).saturating_mul(8 * wanted as u64);
            if needed > self.memory {
                return Err(too_large(self.path, needed, self.memory));
            }
            check_room(self.path, usize::try_from(needed).unwrap_or(usize::MAX))?;
            let locate =
                |fault: Box<Fault>| fault.locate(self.path, records, 1 + newlines(&self.data[..self.records.start]));
            let block = parse(records, &self.inference.plan(), self.chunk_bytes).map_err(locate)?;
            self.rows = block.rows;
            self.inference.learn(&block);
            for ((raw, column), found) in block.columns.into_iter().zip(&self.inference.columns).zip(&mut self.found) {
                if column.state == State::Parsing {
                    *found = Some(raw);
                }
            }
            if self.inference.settle() {
                return Ok(());
            }
        }
    }

    /// The kinds that the fields of each wanted column allow.
    fn possible(&self) -> Vec<FormSet> {
        self.inference.order.iter().map(|&index| self.inference.columns[index].possible).collect()
    }

    /// Parses again what no longer has the kind it was parsed as.
    fn narrow(&mut self, possible: &[FormSet]) -> Result<()> {
        let mut any = false;
        for (&index, &possible) in self.inference.order.iter().zip(possible) {
            let column = &mut self.inference.columns[index];
            let before = column.form();
            column.possible = column.possible.and(possible);
            if column.form() != before {
                (column.state, any) = (State::Parsing, true);
            }
        }
        if any { self.settle() } else { Ok(()) }
    }

    fn finish(mut self) -> Vec<(String, Column)> {
        let inference = &self.inference;
        let raw: Vec<(usize, Option<Raw>)> =
            inference.order.iter().map(|&index| (index, self.found[index].take())).collect();
        let finished = raw.into_par_iter().filter_map(|(index, raw)| {
            let must_be_category = inference.columns[index].declared == Some(Kind::Category);
            let column = match raw? {
                Raw::Strings(strings) => strings.finish(must_be_category),
                raw => raw.into_column(),
            };
            Some((self.layout.names[index].clone(), column))
        });
        finished.collect()
    }
}

fn without_bom(data: &[u8]) -> &[u8] {
    data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data)
}

fn newlines(data: &[u8]) -> u64 {
    memchr_iter(b'\n', data).count() as u64
}

fn no_rows(path: &Path, layout: &Layout) -> Error {
    if layout.header {
        let error = Error::format(path, None, "there is a header but no row below it");
        error.hint("if the first line is data, say that there is no header")
    } else {
        Error::format(path, None, "the file is empty")
    }
}

/// The part of a schema that the options ask for.
fn wanted_schema(options: &ReadOptions, schema: &Schema) -> Result<Schema> {
    match &options.columns {
        Some(names) => schema.select(names),
        None => Ok(schema.clone()),
    }
}
