//! CSV to table: find the delimiter, the header and the kind of every column, and parse on all threads.
//!
//! *Where records begin.* A quote matters only at the start of a field (RFC 4180), so a look at the quotes alone, at
//! the speed of `memchr`, tells which newlines end a record. The file is cut at newlines; every piece is scanned as if
//! it began outside quotes; pieces that turn out to begin inside a quoted field are put right in order ([`cut`]). No
//! guess remains when parsing starts.
//!
//! *Where values go.* The newlines of a piece bound its rows, so all columns are allocated once and every piece writes
//! into its own part of them; nothing is joined afterwards, and there is no second copy.
//!
//! *Which kind a column has.* The head of the file suggests a kind. A field that does not fit shrinks the set of
//! possible kinds ([`KindSet`]), and the columns concerned, only those, are parsed again. What is left at the end is the
//! first kind that fits every field, whatever the pieces and threads were.
//!
//! Blanks around a field without quotes are not part of it; empty lines are skipped; quotes do not change what a field
//! means, so `"1"` is a number and `"NA"` is missing. Not done: decimal commas, thousands separators, comment lines,
//! encodings other than UTF-8.

use std::{
    fs::File,
    io::{BufWriter, Read, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use ermine_core::error::{Error, Result};
use flate2::read::MultiGzDecoder;
use memchr::{memchr, memchr_iter, memrchr};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::table::{
    self, Category, Column, Dictionary, Kind, KindSet, MAX_LEVELS, MISSING, Na, Places, ReadOptions, SAMPLE_ROWS, Scan,
    Schema, Strings, Table, Tally, Text, UNSEEN,
};

/// The head of a file that delimiter, header and first guesses are taken from: at most this many bytes.
const HEAD_BYTES: usize = 4 << 20;
/// Fields in the head that kinds are guessed from, so that a file of thousands of columns does not spend its time here.
const HEAD_FIELDS: usize = 1 << 19;
/// When reading in pieces, a record longer than this is taken for a quote that somebody forgot to close.
const LONGEST_RECORD: usize = 1 << 28;

// ---------------------------------------------------------------------------------------------------------------------
// What users call

/// Reads a whole CSV file, plain or gzip; `-` is standard input.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Table> {
    let path = path.as_ref();
    if path == Path::new("-") {
        return read_from(path, std::io::stdin().lock(), options);
    }
    read_plain(path, &Content::open(path)?, options)
}

/// The bytes of a file, unpacked.
enum Content {
    Map(memmap2::Mmap),
    Bytes(Vec<u8>),
}

impl Content {
    fn open(path: &Path) -> Result<Content> {
        let mut file = File::open(path).map_err(|error| Error::io(path, "open", &error))?;
        let about = file.metadata().map_err(|error| Error::io(path, "open", &error))?;
        // An empty file cannot be mapped.
        if about.is_file() && about.len() > 0 {
            // SAFETY: the map is read only and lives shorter than `file`. Another process that shortens the file meanwhile
            // would end this one; every reader that maps files takes that risk.
            let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|error| Error::io(path, "read", &error))?;
            if !map.starts_with(GZIP_MAGIC) {
                return Ok(Content::Map(map));
            }
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| Error::io(path, "read", &error))?;
        Ok(Content::Bytes(unpacked(path, bytes)?))
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

fn unpacked(path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>> {
    if !bytes.starts_with(GZIP_MAGIC) {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    let done = MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut plain);
    done.map_err(|error| Error::io(path, "unpack", &error))?;
    Ok(plain)
}

/// Reads CSV, plain or gzip, from anything; `path` is for messages.
pub fn read_from(path: impl AsRef<Path>, mut input: impl Read, options: &ReadOptions) -> Result<Table> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(|error| Error::io(path.as_ref(), "read", &error))?;
    read_bytes(path, bytes, options)
}

/// Reads CSV, plain or gzip, from memory; `path` is for messages.
pub fn read_bytes(path: impl AsRef<Path>, bytes: Vec<u8>, options: &ReadOptions) -> Result<Table> {
    let path = path.as_ref();
    read_plain(path, &unpacked(path, bytes)?, options)
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
    let plan = Plan::declared(path, &pieces.layout, &schema, Na::new(&na))?;
    let mut total = 0;
    while pieces.advance()? {
        let block = parse(pieces.piece(), &plan, options.chunk_bytes).map_err(|fault| pieces.error(fault))?;
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

/// The schema that [`read`] would find, the number of rows and a summary of every column, in bounded memory. Goes
/// through the file once, and once more if the head of the file was misleading.
pub fn scan(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Scan> {
    let path = path.as_ref();
    if path == Path::new("-") {
        return Err(Error::Unsupported("standard input can be read only once, so it cannot be scanned".into())
            .hint("save it to a file first"));
    }
    let mut pieces = Pieces::open(path, options, options.schema.as_ref(), 16 << 20)?;
    let mut columns = Inference::start(&pieces.layout, pieces.rest(), options, |fault| pieces.error(fault))?;
    let count = columns.columns.len();
    let mut summaries: Vec<Option<(Tally, Option<Dictionary>)>> = (0..count).map(|_| None).collect();
    let mut rows;
    loop {
        let plan = columns.plan();
        let mut tallies: Vec<(Tally, Option<Dictionary>)> =
            (0..count).map(|_| (Tally::default(), Some(Dictionary::default()))).collect();
        rows = 0;
        while pieces.advance()? {
            let block = parse(pieces.piece(), &plan, options.chunk_bytes).map_err(|fault| pieces.error(fault))?;
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
    let mut scan =
        Scan { schema: Schema { columns: Vec::new(), na: columns.markers.clone() }, rows, summary: Vec::new() };
    for &index in &columns.order {
        let name = &pieces.layout.names[index];
        let Some((mut tally, levels)) = summaries[index].take() else { continue };
        let mut field = table::Field { name: name.clone(), kind: Kind::Text, levels: Default::default() };
        match columns.columns[index].want() {
            Wanted::Kind(kind) => field.kind = kind,
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

// ---------------------------------------------------------------------------------------------------------------------
// A whole file

fn read_plain(path: &Path, data: &[u8], options: &ReadOptions) -> Result<Table> {
    let data = without_bom(path, data)?;
    let layout = Layout::find(path, data, options, options.schema.as_ref())?;
    let body = &data[layout.body..];
    let locate = |fault: Box<Fault>| fault.locate(path, body, 1 + newlines(&data[..layout.body]));
    if let Some(schema) = &options.schema {
        let schema = wanted_schema(options, schema)?;
        let na = options.all_na(Some(&schema));
        let plan = Plan::declared(path, &layout, &schema, Na::new(&na))?;
        let block = parse(body, &plan, options.chunk_bytes).map_err(locate)?;
        if block.rows == 0 {
            return Err(no_rows(path, &layout));
        }
        return block.into_table(&layout, &schema, &na);
    }
    let mut part = Part::start(path, data, &layout, layout.body..data.len(), options)?;
    part.settle()?;
    if part.rows == 0 {
        return Err(no_rows(path, &layout));
    }
    let markers = part.inference.markers.clone();
    Ok(Table::new(part.finish())?.with_na(markers))
}

/// Some records of a file on their way to columns. Kinds are found in all of them; where other parts of the same table allow fewer,
/// [`Part::narrow`] says so.
struct Part<'a> {
    path: &'a Path,
    data: &'a [u8],
    layout: &'a Layout,
    records: Range<usize>,
    inference: Inference,
    found: Vec<Option<Raw>>,
    rows: usize,
    chunk_bytes: usize,
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
        Ok(Part { path, data, layout, records, inference, found, rows: 0, chunk_bytes: options.chunk_bytes })
    }

    /// Parses until every column has the first kind that all its fields fit.
    fn settle(&mut self) -> Result<()> {
        loop {
            let records = &self.data[self.records.clone()];
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
    fn possible(&self) -> Vec<KindSet> {
        self.inference.order.iter().map(|&index| self.inference.columns[index].possible).collect()
    }

    /// Parses again what no longer has the kind it was parsed as.
    fn narrow(&mut self, possible: &[KindSet]) -> Result<()> {
        let mut any = false;
        for (&index, &possible) in self.inference.order.iter().zip(possible) {
            let column = &mut self.inference.columns[index];
            let before = column.possible.first();
            column.possible = column.possible.and(possible);
            if column.declared.is_none() && column.possible.first() != before {
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

// ---------------------------------------------------------------------------------------------------------------------
// Parts of a table in several files, for several readers

/// A file that holds some of the rows of a table.
pub(crate) struct CsvFile {
    path: PathBuf,
    content: Content,
    bom: usize,
    layout: Layout,
}

/// Where the records of a stretch begin, if it begins outside of quotes and if it begins inside; and whether it then ends inside.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Stretch {
    outside: (Option<usize>, bool),
    inside: (Option<usize>, bool),
}

impl Stretch {
    /// Where the records of each stretch begin, for all stretches of one file in their order.
    pub(crate) fn starts(all: &[Stretch]) -> Vec<Option<usize>> {
        let mut inside = false;
        let start = |stretch: &Stretch| {
            let (start, ends_inside) = if inside { stretch.inside } else { stretch.outside };
            inside = ends_inside;
            start
        };
        all.iter().map(start).collect()
    }
}

impl CsvFile {
    pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<CsvFile> {
        let content = Content::open(path)?;
        let data = without_bom(path, &content)?;
        let bom = content.len() - data.len();
        let layout = Layout::find(path, data, options, None)?;
        Ok(CsvFile { path: path.into(), bom, layout, content })
    }

    fn data(&self) -> &[u8] {
        &self.content[self.bom..]
    }

    pub(crate) fn is_packed(path: &Path) -> Result<bool> {
        let mut start = Vec::new();
        let file = File::open(path).map_err(|error| Error::io(path, "open", &error))?;
        file.take(2).read_to_end(&mut start).map_err(|error| Error::io(path, "read", &error))?;
        Ok(start == GZIP_MAGIC)
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.layout.names
    }

    pub(crate) fn len(&self) -> usize {
        self.data().len()
    }

    /// Which string columns are free text, by the head of the file, in the order wanted.
    pub(crate) fn texts(&self, options: &ReadOptions) -> Result<Vec<bool>> {
        let part = Part::start(&self.path, self.data(), &self.layout, 0..0, options)?;
        Ok(part.inference.order.iter().map(|&index| part.inference.columns[index].is_text).collect())
    }

    /// The line after the one that `byte` of the file is in; the first row at least.
    pub(crate) fn border(&self, byte: usize) -> usize {
        let (data, at) = (self.data(), byte.saturating_sub(self.bom));
        if at <= self.layout.body {
            return self.layout.body;
        }
        let from = at.min(data.len()) - 1;
        memchr(b'\n', &data[from..]).map_or(data.len(), |offset| from + offset + 1)
    }

    /// Between two borders.
    pub(crate) fn stretch(&self, from: usize, to: usize) -> Stretch {
        let of = |inside| first_record(self.data(), from, to, inside, self.layout.delimiter);
        Stretch { outside: of(false), inside: of(true) }
    }

    /// These records, not yet as columns; `texts` as the first file of the table has them.
    pub(crate) fn part(&self, records: Range<usize>, options: &ReadOptions, texts: &[bool]) -> Result<CsvPart<'_>> {
        let mut part = Part::start(&self.path, self.data(), &self.layout, records, options)?;
        for (&index, &is_text) in part.inference.order.iter().zip(texts) {
            part.inference.columns[index].is_text = is_text;
        }
        part.settle()?;
        Ok(CsvPart(part))
    }
}

pub(crate) struct CsvPart<'a>(Part<'a>);

impl CsvPart<'_> {
    pub(crate) fn possible(&self) -> Vec<KindSet> {
        self.0.possible()
    }

    pub(crate) fn narrow(&mut self, possible: &[KindSet]) -> Result<()> {
        self.0.narrow(possible)
    }

    pub(crate) fn finish(self) -> Vec<Column> {
        self.0.finish().into_iter().map(|(_, column)| column).collect()
    }
}

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

fn without_bom<'a>(path: &Path, data: &'a [u8]) -> Result<&'a [u8]> {
    if data.starts_with(&[0xff, 0xfe]) || data.starts_with(&[0xfe, 0xff]) {
        return Err(Error::format(path, None, "the text is UTF-16").hint("save it as UTF-8"));
    }
    if data.starts_with(b"PK\x03\x04") {
        let error = Error::format(path, None, "this is a zip archive or a spreadsheet, not CSV");
        return Err(error.hint("save the sheet as CSV, or unpack the archive"));
    }
    Ok(data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data))
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

// ---------------------------------------------------------------------------------------------------------------------
// Problems, with their place

/// A problem at a byte; the line is counted only now that somebody wants it.
struct Fault {
    at: usize,
    problem: String,
    hint: Option<&'static str>,
}

impl Fault {
    fn new(at: usize, problem: impl Into<String>) -> Fault {
        Fault { at, problem: problem.into(), hint: None }
    }

    fn hint(mut self, hint: &'static str) -> Fault {
        self.hint = Some(hint);
        self
    }

    fn locate(self, path: &Path, data: &[u8], first_line: u64) -> Error {
        let error = Error::format(path, first_line + newlines(&data[..self.at]), self.problem);
        match self.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Fields

/// Where a field is, without its quotes or the blanks around it.
struct Span {
    start: usize,
    end: usize,
    /// The last field of its record.
    last: bool,
    /// It has doubled quotes, so its bytes are not those of the file.
    doubled: bool,
}

/// Goes through records that are known to begin at `pos`.
struct Cursor<'a> {
    data: &'a [u8],
    pos: usize,
    delimiter: u8,
    /// One bit for each delimiter and newline among the 64 bytes from `block`, those before `pos` taken out.
    ends: u64,
    block: usize,
    /// A quoted field in which quotes were doubled.
    unquoted: Vec<u8>,
}

impl<'a> Cursor<'a> {
    fn new(data: &'a [u8], pos: usize, delimiter: u8) -> Cursor<'a> {
        let mut cursor = Cursor { data, pos, delimiter, ends: 0, block: 0, unquoted: Vec::new() };
        cursor.jump(pos);
        cursor
    }

    fn jump(&mut self, pos: usize) {
        self.pos = pos;
        self.block = pos;
        self.ends = find_two(self.data, pos, self.delimiter, b'\n');
    }

    fn at_end(&self) -> bool {
        self.pos >= self.data.len()
    }

    /// Where the field ends that contains `pos`, which lies outside quotes.
    #[inline]
    fn next_end(&mut self) -> usize {
        while self.ends == 0 {
            self.block += 64;
            if self.block >= self.data.len() {
                return self.data.len();
            }
            self.ends = find_two(self.data, self.block, self.delimiter, b'\n');
        }
        let end = self.block + self.ends.trailing_zeros() as usize;
        self.ends &= self.ends - 1;
        end
    }

    /// The next field.
    #[inline(always)]
    fn field(&mut self) -> Result<Span, Box<Fault>> {
        let start = self.pos;
        // Blanks and quotes are at the very bottom of ASCII.
        if start < self.data.len() && self.data[start] <= b'"' && (self.data[start] == b'"' || self.begins_with_quote())
        {
            return self.quoted_field();
        }
        let end = self.next_end();
        self.pos = end + 1;
        let last = end == self.data.len() || self.data[end] == b'\n';
        if end > start && (self.data[start] <= b' ' || self.data[end - 1] <= b' ') {
            return Ok(self.without_blanks(start, end, last));
        }
        Ok(Span { start, end, last, doubled: false })
    }

    /// The bytes of the field that was last found.
    #[inline(always)]
    fn bytes(&self, span: &Span) -> &[u8] {
        if span.doubled { &self.unquoted } else { &self.data[span.start..span.end] }
    }

    fn without_blanks(&self, start: usize, end: usize, last: bool) -> Span {
        let field = &self.data[start..end];
        let start = end - trim_start(field).len();
        let end = start + trim(field).len();
        Span { start, end, last, doubled: false }
    }

    #[inline(never)]
    fn begins_with_quote(&self) -> bool {
        let blank = |byte: &&u8| matches!(byte, b' ' | b'\t') && **byte != self.delimiter;
        self.data[self.pos..].iter().find(|byte| !blank(byte)) == Some(&b'"')
    }

    #[inline(never)]
    fn quoted_field(&mut self) -> Result<Span, Box<Fault>> {
        let data = self.data;
        let start = self.pos;
        let open = start + memchr(b'"', &data[start..]).unwrap_or(0);
        let mut from = open + 1;
        let mut doubled = false;
        self.unquoted.clear();
        let close = loop {
            let Some(quote) = next_quote(data, from) else {
                return Err(Box::new(Fault::new(open, "a quote opens a field here and is never closed")));
            };
            if data.get(quote + 1) != Some(&b'"') {
                break quote;
            }
            doubled = true;
            self.unquoted.extend_from_slice(&data[from..=quote]);
            from = quote + 2;
        };
        let mut end = close + 1;
        while end < data.len() && matches!(data[end], b' ' | b'\t' | b'\r') && data[end] != self.delimiter {
            end += 1;
        }
        let last = match data.get(end) {
            None | Some(b'\n') => true,
            Some(byte) if *byte == self.delimiter => false,
            Some(_) => {
                let rest = &data[close + 1..];
                let rest = &rest[..memchr(b'\n', rest).unwrap_or(rest.len())];
                let problem = format!(
                    "the quoted field that starts here is followed by {} instead of a delimiter or the end of the line",
                    table::quote(rest)
                );
                return Err(Box::new(Fault::new(open, problem).hint("a quote inside a quoted field must be doubled")));
            }
        };
        // Short fields mostly end within the bits in hand.
        let next = end + 1;
        if (self.block..self.block + 64).contains(&next) {
            self.ends &= u64::MAX << (next - self.block);
            self.pos = next;
        } else {
            self.jump(next);
        }
        if doubled {
            self.unquoted.extend_from_slice(&data[from..close]);
        }
        Ok(Span { start: open + 1, end: close, last, doubled })
    }

    /// All fields of the next record; `None` at the end. Empty lines are skipped.
    fn record(&mut self) -> Result<Option<Vec<Vec<u8>>>, Box<Fault>> {
        while !self.at_end() {
            let start = self.pos;
            let mut fields = Vec::new();
            loop {
                let span = self.field()?;
                fields.push(self.bytes(&span).to_vec());
                if span.last {
                    break;
                }
            }
            if fields.len() == 1 && is_blank_line(self.data, start) {
                continue;
            }
            return Ok(Some(fields));
        }
        Ok(None)
    }
}

#[inline]
fn trim_start(mut field: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r', rest @ ..] = field {
        field = rest;
    }
    field
}

#[inline]
fn trim(field: &[u8]) -> &[u8] {
    let mut field = trim_start(field);
    while let [rest @ .., b' ' | b'\t' | b'\r'] = field {
        field = rest;
    }
    field
}

/// One bit for each of 64 bytes that is `a` or `b`.
#[inline]
fn find_two(data: &[u8], from: usize, a: u8, b: u8) -> u64 {
    if let Some(bytes) = data.get(from..from + 64).and_then(|bytes| bytes.first_chunk()) {
        return find_two_of(bytes, a, b);
    }
    let mut padded = [0; 64];
    let tail = data.get(from..).unwrap_or_default();
    padded[..tail.len()].copy_from_slice(tail);
    let mask = find_two_of(&padded, a, b);
    if tail.is_empty() { 0 } else { mask & (u64::MAX >> (64 - tail.len())) }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn find_two_of(bytes: &[u8; 64], a: u8, b: u8) -> u64 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { find_two_by_sse2(bytes, a, b) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn find_two_by_sse2(bytes: &[u8; 64], a: u8, b: u8) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8};
    let word = |at: usize| i64::from_le_bytes(*bytes[at..].first_chunk().unwrap_or(&[0; 8]));
    let mut mask = 0;
    for quarter in 0..4 {
        let bytes = _mm_set_epi64x(word(16 * quarter + 8), word(16 * quarter));
        let found =
            _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(a as i8)), _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b as i8)));
        mask |= u64::from(_mm_movemask_epi8(found) as u32) << (16 * quarter);
    }
    mask
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn find_two_of(bytes: &[u8; 64], a: u8, b: u8) -> u64 {
    find_two_by_words(bytes, a, b)
}

/// The same eight bytes at a time, for any processor.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn find_two_by_words(bytes: &[u8; 64], a: u8, b: u8) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // The high bit of every byte that is zero.
    let zeros = |word: u64| !(((word & LOW) + LOW) | word | LOW);
    let repeat = |byte: u8| u64::from_le_bytes([byte; 8]);
    let mut mask = 0;
    for (place, eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
        let word = u64::from_le_bytes(*eight);
        let found = zeros(word ^ repeat(a)) | zeros(word ^ repeat(b));
        // Gathers the eight high bits in one byte, the first in the lowest place.
        mask |= ((found >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * place);
    }
    mask
}

/// The next quote from `from` on. Quotes are either near or rare.
#[inline]
fn next_quote(data: &[u8], from: usize) -> Option<usize> {
    match find_two(data, from, b'"', b'"') {
        0 => memchr(b'"', data.get(from + 64..)?).map(|offset| from + 64 + offset),
        near => Some(from + near.trailing_zeros() as usize),
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Where records begin

/// Whether a quote found outside quotes opens a field: only blanks lie between it and a delimiter or newline.
fn opens(data: &[u8], quote: usize, delimiter: u8) -> bool {
    // Nearly always a delimiter or newline is right before it.
    if quote > 0 && (data[quote - 1] == delimiter || data[quote - 1] == b'\n') {
        return true;
    }
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t') && **byte != delimiter;
    match data[..quote].iter().rev().find(|byte| !blank(byte)) {
        None => true,
        Some(&byte) => byte == delimiter || byte == b'\n',
    }
}

/// Walks over the quotes of `data[from..to]`, calls `outside` with each stretch that lies outside quotes until it
/// returns true, and says whether the end lies inside quotes. Neither end may cut a doubled quote in two.
fn walk_quotes(
    data: &[u8],
    from: usize,
    to: usize,
    mut inside: bool,
    delimiter: u8,
    mut outside: impl FnMut(usize, usize) -> bool,
) -> bool {
    let (mut pos, mut begin) = (from, from);
    let stretch = &data[..to];
    while let Some(quote) = next_quote(stretch, pos) {
        pos = quote + 1;
        if !inside {
            inside = opens(data, quote, delimiter);
            if inside && outside(begin, quote) {
                return inside;
            }
        } else if data.get(pos) == Some(&b'"') {
            pos += 1;
        } else {
            inside = false;
            begin = pos;
        }
    }
    if !inside {
        outside(begin, to);
    }
    inside
}

/// Pieces of whole records, each with a bound on its rows.
struct Cuts {
    starts: Vec<usize>,
    /// Newlines before each start, and at last in all.
    newlines: Vec<usize>,
}

fn cut(data: &[u8], delimiter: u8, chunk_bytes: usize) -> Cuts {
    let chunk_bytes = chunk_bytes.max(1);
    let mut borders = vec![0];
    let mut border = 0;
    while data.len() - border > chunk_bytes {
        // At a newline, so that a border is hardly ever inside quotes and never between two of them.
        border += chunk_bytes;
        border = memchr(b'\n', &data[border - 1..]).map_or(data.len(), |offset| border + offset);
        if border < data.len() {
            borders.push(border);
        }
    }
    borders.push(data.len());
    let pieces: Vec<(usize, usize)> = borders.iter().copied().zip(borders[1..].iter().copied()).collect();
    let scanned = pieces.par_iter().map(|&(from, to)| {
        (newlines(&data[from..to]) as usize, walk_quotes(data, from, to, false, delimiter, |_, _| false))
    });
    let scanned: Vec<(usize, bool)> = scanned.collect();

    let mut cuts = Cuts { starts: Vec::new(), newlines: Vec::new() };
    let (mut inside, mut before) = (false, 0);
    for (&(from, to), (lines, ends_inside)) in pieces.iter().zip(scanned) {
        let start = if inside {
            let start;
            (start, inside) = first_record(data, from, to, true, delimiter);
            start
        } else {
            inside = ends_inside;
            Some(from)
        };
        if let Some(start) = start {
            cuts.starts.push(start);
            cuts.newlines.push(before + newlines(&data[from..start]) as usize);
        }
        before += lines;
    }
    cuts.starts.push(data.len());
    // The last record may lack a newline.
    cuts.newlines.push(before + 1);
    cuts
}

/// Where the first record of a stretch between newlines begins, if it begins inside or outside of quotes, and whether it ends inside.
fn first_record(data: &[u8], from: usize, to: usize, inside: bool, delimiter: u8) -> (Option<usize>, bool) {
    let mut start = (!inside).then_some(from);
    let first_newline = |begin: usize, end: usize| {
        start = start.or_else(|| memchr(b'\n', &data[begin..end]).map(|offset| begin + offset + 1));
        false
    };
    let ends_inside = walk_quotes(data, from, to, inside, delimiter, first_newline);
    (start.filter(|&start| !inside || start < to), ends_inside)
}

/// The end of the last whole record, given that `data` begins with one.
fn last_record_end(data: &[u8], delimiter: u8) -> Option<usize> {
    let mut last = None;
    walk_quotes(data, 0, data.len(), false, delimiter, |from, to| {
        last = memrchr(b'\n', &data[from..to]).map(|offset| from + offset + 1).or(last);
        false
    });
    last
}

// ---------------------------------------------------------------------------------------------------------------------
// Delimiter, header, names

struct Layout {
    delimiter: u8,
    header: bool,
    names: Vec<String>,
    /// Where the first row begins.
    body: usize,
}

impl Layout {
    /// From the head of a file: its first few megabytes, and the first line in any case.
    fn find(path: &Path, data: &[u8], options: &ReadOptions, schema: Option<&Schema>) -> Result<Layout> {
        let mut head = data;
        if data.len() > HEAD_BYTES {
            // Half a record would look ragged.
            let end = memrchr(b'\n', &data[..HEAD_BYTES]).or_else(|| memchr(b'\n', data));
            head = &data[..end.map_or(data.len(), |end| end + 1)];
        }
        if trim_lines(head).is_empty() {
            return Err(Error::format(path, None, "the file is empty"));
        }
        if memchr(b'\n', head).is_none() && memchr(b'\r', head).is_some_and(|at| at + 1 < head.len()) {
            let error = Error::format(path, None, "lines end with carriage returns only");
            return Err(error.hint("save the file with line ends of Unix or Windows"));
        }
        let delimiter = options.delimiter.unwrap_or_else(|| find_delimiter(head));
        if matches!(delimiter, b'"' | b'\n' | b'\r') {
            return Err(Error::Unsupported("a quote or a line end cannot be the delimiter".into()));
        }
        let mut cursor = Cursor::new(head, 0, delimiter);
        let first = cursor.record().map_err(|fault| fault.locate(path, head, 1))?.unwrap_or_default();
        let known = |field: &Vec<u8>, name: &String| field == name.as_bytes();
        let all_named = schema.is_some_and(|schema| {
            !schema.columns.is_empty()
                && schema.columns.iter().all(|wanted| first.iter().any(|field| known(field, &wanted.name)))
        });
        let header = options.header.unwrap_or_else(|| all_named || looks_like_header(&first));
        let names = if header {
            let names: Result<Vec<String>, _> = first.into_iter().map(String::from_utf8).collect();
            let names = names
                .map_err(|_| Error::format(path, 1, "the header is not valid UTF-8").hint("save the file as UTF-8"))?;
            unique_names(names)
        } else {
            unique_names(vec![String::new(); first.len()])
        };
        let body = if header { cursor.pos.min(head.len()) } else { 0 };
        Ok(Layout { delimiter, header, names, body })
    }
}

fn trim_lines(data: &[u8]) -> &[u8] {
    let start = data.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(data.len());
    &data[start..]
}

/// Names of columns do not look like values.
fn looks_like_header(first: &[Vec<u8>]) -> bool {
    !first.iter().any(|field| KindSet::of(field).first().is_some())
}

/// The candidate that splits the first records into the same number of fields, the most if several do.
fn find_delimiter(head: &[u8]) -> u8 {
    let (mut best, mut most) = (None, 1);
    let (mut fallback, mut first_most) = (b',', 1);
    for delimiter in *b",;\t|" {
        let mut cursor = Cursor::new(head, 0, delimiter);
        let mut counts = Vec::new();
        while counts.len() < 100 {
            match cursor.record() {
                Ok(Some(fields)) => counts.push(fields.len()),
                Ok(None) => break,
                Err(_) => {
                    counts.push(0);
                    break;
                }
            }
        }
        let first = counts.first().copied().unwrap_or(0);
        if first > most && counts.iter().all(|&count| count == first) {
            (best, most) = (Some(delimiter), first);
        }
        if first > first_most {
            (fallback, first_most) = (delimiter, first);
        }
    }
    best.unwrap_or(fallback)
}

/// An empty name becomes `column_3` by its place; the second `x` becomes `x_2`.
fn unique_names(names: Vec<String>) -> Vec<String> {
    let mut taken: std::collections::HashSet<String> = names.iter().filter(|name| !name.is_empty()).cloned().collect();
    let mut first_seen = std::collections::HashSet::new();
    let mut unique = Vec::with_capacity(names.len());
    for (index, name) in names.into_iter().enumerate() {
        let (stem, mut next) = match name.as_str() {
            "" => ("column", index + 1),
            name if first_seen.insert(name.to_owned()) => {
                unique.push(name.to_owned());
                continue;
            }
            name => (name, 2),
        };
        let mut candidate = format!("{stem}_{next}");
        while !taken.insert(candidate.clone()) {
            next += 1;
            candidate = format!("{stem}_{next}");
        }
        unique.push(candidate);
    }
    unique
}

// ---------------------------------------------------------------------------------------------------------------------
// Which kind a column has

struct Inference {
    columns: Vec<InferredColumn>,
    /// Columns of the file in the order wanted.
    order: Vec<usize>,
    na: Na,
    markers: Vec<String>,
    delimiter: u8,
    names: Vec<String>,
}

struct InferredColumn {
    /// The user's word.
    declared: Option<Kind>,
    possible: KindSet,
    /// What a string column becomes.
    is_text: bool,
    state: State,
}

#[derive(PartialEq)]
enum State {
    Unwanted,
    /// To be parsed in the next pass, or parsed without trouble in this one.
    Parsing,
    /// A field did not fit: one more pass.
    Failed,
    Done,
}

enum Wanted {
    Kind(Kind),
    /// A category if it does not have too many levels.
    Strings,
}

impl InferredColumn {
    fn want(&self) -> Wanted {
        match self.declared.or(self.possible.first()) {
            Some(Kind::Category) => Wanted::Strings,
            Some(kind) => Wanted::Kind(kind),
            None if self.is_text => Wanted::Kind(Kind::Text),
            None => Wanted::Strings,
        }
    }
}

impl Inference {
    fn start(
        layout: &Layout,
        body: &[u8],
        options: &ReadOptions,
        locate: impl Fn(Box<Fault>) -> Error,
    ) -> Result<Inference> {
        let names = &layout.names;
        let places = Places::of_names(names);
        let order: Vec<usize> = match &options.columns {
            Some(wanted) => wanted.iter().map(|name| places.of(name)).collect::<Result<_>>()?,
            None => (0..names.len()).collect(),
        };
        let mut declared = vec![None; names.len()];
        for (name, kind) in &options.kinds {
            declared[places.of(name)?] = Some(*kind);
        }
        let markers = options.all_na(None);
        let na = Na::new(&markers);
        let mut columns = Vec::with_capacity(names.len());
        for declared in declared {
            let state = State::Unwanted;
            columns.push(InferredColumn { declared, possible: KindSet::ALL, is_text: false, state });
        }
        for &index in &order {
            columns[index].state = State::Parsing;
        }
        let (delimiter, names) = (layout.delimiter, names.clone());
        let mut inference = Inference { columns, order, na, markers, delimiter, names };
        let head = head_of(body, delimiter, (HEAD_FIELDS / inference.names.len().max(1)).clamp(200, SAMPLE_ROWS));
        let mut plan = inference.plan();
        plan.wants.iter_mut().filter(|want| !matches!(want, Want::Skip)).for_each(|want| *want = Want::Strings);
        let block = parse(head, &plan, options.chunk_bytes).map_err(locate)?;
        let na = &inference.na;
        inference.columns.par_iter_mut().zip(&block.columns).for_each(|(column, raw)| {
            if let Raw::Strings(strings) = raw {
                let levels = strings.parts.iter().flat_map(|(_, part)| part.iter());
                let fields = levels.map(|level| trim(level.as_bytes()));
                column.possible = fields
                    .filter(|field| !table::number(field).is_some_and(|value| na.is_missing_number(value)))
                    .fold(KindSet::ALL, |possible, field| possible.and(KindSet::of(field)));
                column.is_text = strings.evidence(block.rows).is_text();
            }
        });
        Ok(inference)
    }

    fn plan(&self) -> Plan {
        let wants = self.columns.iter().map(|column| match (&column.state, column.want()) {
            (State::Unwanted | State::Done, _) => Want::Skip,
            (_, Wanted::Kind(kind)) => Want::Kind { kind, must: column.declared.is_some() },
            (_, Wanted::Strings) => Want::Strings,
        });
        Plan { delimiter: self.delimiter, wants: wants.collect(), na: self.na.clone(), names: self.names.clone() }
    }

    fn learn(&mut self, block: &Block) {
        for (column, raw) in self.columns.iter_mut().zip(&block.columns) {
            if let Raw::Failed(possible) = raw {
                column.possible = column.possible.and(*possible);
                column.state = State::Failed;
            }
        }
    }

    /// After a pass: whether it was the last one.
    fn settle(&mut self) -> bool {
        let mut done = true;
        for column in &mut self.columns {
            match column.state {
                State::Parsing => column.state = State::Done,
                State::Failed => {
                    column.state = State::Parsing;
                    done = false;
                }
                State::Unwanted | State::Done => {}
            }
        }
        done
    }
}

/// The first `rows` records, as far as they lie in the first few megabytes; one record at least.
fn head_of(body: &[u8], delimiter: u8, rows: usize) -> &[u8] {
    let limit = body.len().min(HEAD_BYTES);
    let (mut count, mut end) = (0, 0);
    walk_quotes(body, 0, body.len(), false, delimiter, |from, to| {
        for newline in memchr_iter(b'\n', &body[from..to]) {
            let next = from + newline + 1;
            if count > 0 && (count >= rows || next > limit) {
                return true;
            }
            (count, end) = (count + 1, next);
        }
        count >= rows
    });
    if end == 0 || (count < rows && body.len() <= limit) { body } else { &body[..end] }
}

// ---------------------------------------------------------------------------------------------------------------------
// Parsing

/// What to do with each column of the file.
struct Plan {
    delimiter: u8,
    wants: Vec<Want>,
    na: Na,
    names: Vec<String>,
}

enum Want {
    Skip,
    /// A field that does not fit is the user's mistake if the kind was declared, and our wrong guess otherwise.
    Kind {
        kind: Kind,
        must: bool,
    },
    /// Codes of our own.
    Strings,
    /// Codes of a schema.
    Levels(Dictionary),
}

impl Plan {
    fn declared(path: &Path, layout: &Layout, schema: &Schema, na: Na) -> Result<Plan> {
        let mut wants: Vec<Want> = layout.names.iter().map(|_| Want::Skip).collect();
        let places = Places::of_names(&layout.names);
        for field in &schema.columns {
            let index = places
                .of(&field.name)
                .map_err(|error| error.hint(format!("{} needs all columns of the schema", path.display())))?;
            wants[index] = match field.kind {
                Kind::Category => Want::Levels(Dictionary::from_levels(&field.levels)),
                kind => Want::Kind { kind, must: true },
            };
        }
        Ok(Plan { delimiter: layout.delimiter, wants, na, names: layout.names.clone() })
    }
}

/// The rows of a stretch of the file, one entry for each of its columns.
struct Block {
    rows: usize,
    columns: Vec<Raw>,
}

enum Raw {
    Skip,
    Number(Vec<f64>),
    Date(Vec<f64>),
    DateTime(Vec<f64>),
    Boolean(Vec<Option<bool>>),
    Levels(Vec<u32>),
    Strings(Strings),
    Text(Text),
    /// Some field does not fit; the kinds that remain possible.
    Failed(KindSet),
}

impl Raw {
    /// Without further knowledge; codes get no levels.
    fn into_column(self) -> Column {
        match self {
            Raw::Number(values) => Column::Number(values),
            Raw::Date(values) => Column::Date(values),
            Raw::DateTime(values) => Column::DateTime(values),
            Raw::Boolean(values) => Column::Boolean(values),
            Raw::Strings(strings) => strings.finish(false),
            Raw::Text(text) => Column::Text(text),
            Raw::Levels(codes) => Column::Category(Category { codes, levels: Default::default() }),
            Raw::Skip | Raw::Failed(_) => Column::Number(Vec::new()),
        }
    }
}

impl Block {
    fn into_table(self, layout: &Layout, schema: &Schema, na: &[String]) -> Result<Table> {
        let mut columns: Vec<Option<Raw>> = self.columns.into_iter().map(Some).collect();
        let places = Places::of_names(&layout.names);
        let mut named = Vec::with_capacity(schema.columns.len());
        for field in &schema.columns {
            let column = match columns[places.of(&field.name)?].take() {
                Some(Raw::Levels(codes)) => Column::Category(Category { codes, levels: field.levels.clone() }),
                Some(raw) => raw.into_column(),
                None => continue,
            };
            named.push((field.name.clone(), column));
        }
        Ok(Table::new(named)?.with_na(na.to_vec()))
    }
}

/// Where one piece puts the values of one column.
enum Slot<'a> {
    Skip,
    Number(&'a mut [f64]),
    Date(&'a mut [f64]),
    DateTime(&'a mut [f64]),
    Boolean(&'a mut [Option<bool>]),
    Levels(&'a mut [u32], &'a Dictionary),
    Strings(&'a mut [u32], Box<Dictionary>),
    Text(Box<Text>),
    Failed(KindSet),
}

/// What a piece leaves behind besides values in place.
enum Rest {
    Nothing,
    Dictionary(Box<Dictionary>),
    Text(Box<Text>),
    Failed(KindSet),
}

/// Parses a stretch of whole records.
fn parse(data: &[u8], plan: &Plan, chunk_bytes: usize) -> Result<Block, Box<Fault>> {
    // A short file is shared out too; the pieces make no difference to the outcome.
    let chunk_bytes = chunk_bytes.min((data.len() / (4 * rayon::current_num_threads())).max(1 << 16));
    let cuts = cut(data, plan.delimiter, chunk_bytes);
    let pieces = cuts.starts.len() - 1;
    let bounds: Vec<usize> = cuts.newlines.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let total = bounds.iter().sum();

    let mut columns: Vec<Raw> = plan
        .wants
        .par_iter()
        .map(|want| match want {
            // Zeroed memory costs nothing until a thread writes to it.
            Want::Kind { kind: Kind::Number, .. } => Raw::Number(vec![0.0; total]),
            Want::Kind { kind: Kind::Date, .. } => Raw::Date(vec![0.0; total]),
            Want::Kind { kind: Kind::DateTime, .. } => Raw::DateTime(vec![0.0; total]),
            Want::Kind { kind: Kind::Boolean, .. } => Raw::Boolean(vec![None; total]),
            Want::Kind { kind: Kind::Text, .. } => Raw::Text(Text::default()),
            Want::Kind { kind: Kind::Category, .. } | Want::Strings => {
                Raw::Strings(Strings { codes: vec![0; total], parts: Vec::new() })
            }
            Want::Levels(_) => Raw::Levels(vec![0; total]),
            Want::Skip => Raw::Skip,
        })
        .collect();

    let mut slots: Vec<Vec<Slot>> = (0..pieces).map(|_| Vec::with_capacity(columns.len())).collect();
    for (raw, want) in columns.iter_mut().zip(&plan.wants) {
        match (raw, want) {
            (Raw::Number(values), _) => deal(&mut slots, &bounds, values, Slot::Number),
            (Raw::Date(values), _) => deal(&mut slots, &bounds, values, Slot::Date),
            (Raw::DateTime(values), _) => deal(&mut slots, &bounds, values, Slot::DateTime),
            (Raw::Boolean(values), _) => deal(&mut slots, &bounds, values, Slot::Boolean),
            (Raw::Levels(codes), Want::Levels(levels)) => {
                deal(&mut slots, &bounds, codes, |part| Slot::Levels(part, levels));
            }
            (Raw::Strings(strings), _) => {
                deal(&mut slots, &bounds, &mut strings.codes, |part| Slot::Strings(part, Box::default()));
            }
            (Raw::Text(_), _) => slots.iter_mut().for_each(|slots| slots.push(Slot::Text(Box::default()))),
            _ => slots.iter_mut().for_each(|slots| slots.push(Slot::Skip)),
        }
    }
    let failed: Vec<AtomicBool> = plan.wants.iter().map(|_| AtomicBool::new(false)).collect();
    let parsed = slots.into_par_iter().enumerate().map(|(piece, mut slots)| {
        let rows = parse_piece(&data[..cuts.starts[piece + 1]], cuts.starts[piece], plan, &mut slots, &failed)?;
        let rest = slots.into_iter().map(|slot| match slot {
            Slot::Strings(_, dictionary) => Rest::Dictionary(dictionary),
            Slot::Text(text) => Rest::Text(text),
            Slot::Failed(possible) => Rest::Failed(possible),
            _ => Rest::Nothing,
        });
        Ok((rows, rest.collect()))
    });
    let parsed: Vec<Result<(usize, Vec<Rest>), Box<Fault>>> = parsed.collect();
    // The first problem in the file, not the first one found.
    let parsed: Vec<(usize, Vec<Rest>)> = parsed.into_iter().collect::<Result<_, Box<Fault>>>()?;
    let rows: Vec<usize> = parsed.iter().map(|(rows, _)| *rows).collect();

    let mut rests: Vec<Vec<Rest>> = columns.iter().map(|_| Vec::with_capacity(pieces)).collect();
    for (_, piece) in parsed {
        piece.into_iter().zip(&mut rests).for_each(|(rest, rests)| rests.push(rest));
    }
    columns.par_iter_mut().zip(rests).for_each(|(raw, rests)| {
        let mut possible = None;
        let mut texts = Vec::new();
        match raw {
            Raw::Number(values) | Raw::Date(values) | Raw::DateTime(values) => close_gaps(values, &bounds, &rows),
            Raw::Boolean(values) => close_gaps(values, &bounds, &rows),
            Raw::Levels(codes) => close_gaps(codes, &bounds, &rows),
            Raw::Strings(strings) => close_gaps(&mut strings.codes, &bounds, &rows),
            _ => {}
        }
        for (rest, rows) in rests.into_iter().zip(&rows) {
            match (rest, &mut *raw) {
                (Rest::Dictionary(dictionary), Raw::Strings(strings)) => strings.parts.push((*rows, *dictionary)),
                (Rest::Text(text), _) => texts.push(*text),
                (Rest::Failed(kinds), _) => possible = Some(kinds.and(possible.unwrap_or(KindSet::ALL))),
                _ => {}
            }
        }
        if let Some(possible) = possible {
            *raw = Raw::Failed(possible);
        } else if let Raw::Text(text) = raw {
            *text = Text::concat(texts);
        }
    });
    Ok(Block { rows: rows.iter().sum(), columns })
}

/// Gives every piece its part of a column.
fn deal<'a, T>(
    slots: &mut [Vec<Slot<'a>>],
    bounds: &[usize],
    mut values: &'a mut [T],
    slot: impl Fn(&'a mut [T]) -> Slot<'a>,
) {
    for (slots, &bound) in slots.iter_mut().zip(bounds) {
        let (part, rest) = values.split_at_mut(bound);
        slots.push(slot(part));
        values = rest;
    }
}

/// Pieces with empty lines or newlines inside quotes have fewer rows than newlines.
fn close_gaps<T: Copy>(values: &mut Vec<T>, bounds: &[usize], rows: &[usize]) {
    let (mut from, mut to) = (0, 0);
    for (&bound, &rows) in bounds.iter().zip(rows) {
        if from != to {
            values.copy_within(from..from + rows, to);
        }
        from += bound;
        to += rows;
    }
    values.truncate(to);
    // The last line ends with a newline nearly always; one spare row is not worth moving everything.
    if from > to + to / 64 + 16 {
        values.shrink_to_fit();
    }
}

/// Parses the records of `data` from `start` on. Returns how many there were.
fn parse_piece(
    data: &[u8],
    start: usize,
    plan: &Plan,
    slots: &mut [Slot<'_>],
    failed: &[AtomicBool],
) -> Result<usize, Box<Fault>> {
    for (slot, failed) in slots.iter_mut().zip(failed) {
        if failed.load(Ordering::Relaxed) {
            *slot = Slot::Skip;
        }
    }
    let mut cursor = Cursor::new(data, start, plan.delimiter);
    let na = &plan.na;
    let count = slots.len();
    let mut row = 0;
    'records: while !cursor.at_end() {
        let begin = cursor.pos;
        for (index, slot) in slots.iter_mut().enumerate() {
            let span = cursor.field()?;
            let field = cursor.bytes(&span);
            if span.last != (index + 1 == count) || (count == 1 && field.is_empty()) {
                if index == 0 && span.last && is_blank_line(data, begin) {
                    continue 'records;
                }
                if span.last != (index + 1 == count) {
                    return Err(ragged(&mut cursor, begin, count, index + 1, span.last));
                }
            }
            // The usual case of each kind first; blanks inside quotes and missing markers are left to the slow way.
            let fits = match slot {
                Slot::Number(out) => match table::number_within(data, span.start, span.end) {
                    Some(value) if na.is_only_usual() && !span.doubled => {
                        out[row] = value;
                        true
                    }
                    _ => put_number(&mut out[row], field, na, table::number),
                },
                Slot::Date(out) => match table::date(field) {
                    Some(value) if na.is_only_usual() => {
                        out[row] = value;
                        true
                    }
                    _ => put_number(&mut out[row], field, na, table::date),
                },
                Slot::DateTime(out) => match table::datetime(field) {
                    Some(value) if na.is_only_usual() => {
                        out[row] = value;
                        true
                    }
                    _ => put_number(&mut out[row], field, na, table::datetime),
                },
                Slot::Boolean(out) => match table::boolean(field) {
                    Some(value) if na.is_only_usual() => {
                        out[row] = Some(value);
                        true
                    }
                    _ => {
                        let declared = matches!(plan.wants[index], Want::Kind { must: true, .. });
                        put_boolean(&mut out[row], field, na, declared)
                    }
                },
                Slot::Strings(out, levels) => {
                    out[row] = if na.is_missing(trim(field)) {
                        MISSING
                    } else {
                        match levels.code(field) {
                            Ok(code) => code,
                            Err(_) => return Err(not_utf8(span.start, &plan.names[index], field)),
                        }
                    };
                    true
                }
                Slot::Levels(out, levels) => {
                    out[row] = match levels.get(field) {
                        Some(code) => code,
                        None if na.is_missing(trim(field)) => MISSING,
                        None => UNSEEN,
                    };
                    true
                }
                Slot::Text(text) => {
                    let value = if na.is_missing(trim(field)) { Ok("") } else { std::str::from_utf8(field) };
                    match value {
                        Ok(value) => text.push(value),
                        Err(_) => return Err(not_utf8(span.start, &plan.names[index], field)),
                    }
                    true
                }
                Slot::Skip | Slot::Failed(_) => true,
            };
            if !fits {
                let field = trim(field);
                if let Want::Kind { kind, must: true } = plan.wants[index] {
                    let (name, value) = (&plan.names[index], table::quote(field));
                    let problem = format!("column '{name}': {value} is not {}", kind.noun());
                    return Err(Box::new(Fault::new(span.start, problem)));
                }
                failed[index].store(true, Ordering::Relaxed);
                *slot = Slot::Failed(KindSet::of(field));
            }
        }
        row += 1;
    }
    Ok(row)
}

/// Returns whether the field fits.
fn put_number(out: &mut f64, field: &[u8], na: &Na, parse: impl Fn(&[u8]) -> Option<f64>) -> bool {
    let field = trim(field);
    let value = if na.is_missing(field) { Some(f64::NAN) } else { parse(field) };
    *out = value.filter(|&value| !na.is_missing_number(value)).unwrap_or(f64::NAN);
    value.is_some()
}

fn put_boolean(out: &mut Option<bool>, field: &[u8], na: &Na, declared: bool) -> bool {
    let field = trim(field);
    let missing = na.is_missing(field);
    let value = if declared { table::declared_boolean(field) } else { table::boolean(field) };
    *out = if missing { None } else { value };
    missing || value.is_some()
}

fn is_blank_line(data: &[u8], start: usize) -> bool {
    let line = &data[start..];
    let line = &line[..memchr(b'\n', line).unwrap_or(line.len())];
    trim(line).is_empty()
}

#[cold]
fn ragged(cursor: &mut Cursor, begin: usize, expected: usize, mut found: usize, mut last: bool) -> Box<Fault> {
    while !last {
        match cursor.field() {
            Ok(span) => (found, last) = (found + 1, span.last),
            Err(fault) => return fault,
        }
    }
    let fields = |count: usize| if count == 1 { "1 field".into() } else { format!("{count} fields") };
    let fault = Fault::new(begin, format!("expected {}, found {found}", fields(expected)));
    Box::new(if found > expected { fault.hint("a field that contains the delimiter must be in quotes") } else { fault })
}

#[cold]
fn not_utf8(at: usize, name: &str, field: &[u8]) -> Box<Fault> {
    let problem = format!("column '{name}': {} is not valid UTF-8", table::quote(field));
    Box::new(Fault::new(at, problem).hint("save the file as UTF-8"))
}

// ---------------------------------------------------------------------------------------------------------------------
// A file in pieces

/// Goes through a file in pieces of whole records.
struct Pieces {
    path: PathBuf,
    input: Box<dyn Read>,
    layout: Layout,
    buffer: Vec<u8>,
    /// The current piece in the buffer.
    start: usize,
    end: usize,
    input_ended: bool,
    /// Line of the file that `start` is in.
    line: u64,
    chunk_bytes: usize,
}

impl Pieces {
    fn open(path: &Path, options: &ReadOptions, schema: Option<&Schema>, chunk_bytes: usize) -> Result<Pieces> {
        let mut input: Box<dyn Read> = if path == Path::new("-") {
            Box::new(std::io::stdin())
        } else {
            Box::new(File::open(path).map_err(|error| Error::io(path, "open", &error))?)
        };
        let mut magic = Vec::new();
        input.by_ref().take(2).read_to_end(&mut magic).map_err(|error| Error::io(path, "read", &error))?;
        let is_gzip = magic == GZIP_MAGIC;
        let whole = std::io::Cursor::new(magic).chain(input);
        let input: Box<dyn Read> = if is_gzip { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) };

        let layout = Layout { delimiter: b',', header: false, names: Vec::new(), body: 0 };
        let (buffer, path) = (Vec::new(), path.to_path_buf());
        let mut pieces =
            Pieces { path, input, layout, buffer, start: 0, end: 0, input_ended: false, line: 1, chunk_bytes };
        pieces.fill(HEAD_BYTES + 4)?;
        let bom = pieces.buffer.len() - without_bom(&pieces.path, &pieces.buffer)?.len();
        pieces.start = bom;
        while !pieces.input_ended && memchr(b'\n', pieces.rest()).is_none() {
            pieces.fill(2 * pieces.buffer.len())?;
        }
        pieces.layout = Layout::find(&pieces.path, pieces.rest(), options, schema)?;
        pieces.line += newlines(&pieces.rest()[..pieces.layout.body]);
        pieces.start += pieces.layout.body;
        // As much as kinds are guessed from when the whole file is at hand.
        let mut target = HEAD_BYTES + 1;
        pieces.fill(target)?;
        while !pieces.input_ended && last_record_end(pieces.rest(), pieces.layout.delimiter).is_none() {
            target = pieces.longer(target)?;
            pieces.fill(target)?;
        }
        pieces.end = pieces.start;
        Ok(pieces)
    }

    /// Everything read and not yet done with.
    fn rest(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    fn piece(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    fn error(&self, fault: Box<Fault>) -> Error {
        fault.locate(&self.path, self.rest(), self.line)
    }

    /// Reads until there are `target` bytes from `start` on.
    fn fill(&mut self, target: usize) -> Result<()> {
        if self.start > self.buffer.len() / 2 {
            self.buffer.drain(..self.start);
            self.end -= self.start.min(self.end);
            self.start = 0;
        }
        let have = self.buffer.len() - self.start;
        if !self.input_ended && have < target {
            let want = (target - have) as u64;
            let read = self.input.by_ref().take(want).read_to_end(&mut self.buffer);
            let read = read.map_err(|error| Error::io(&self.path, "read", &error))?;
            self.input_ended = (read as u64) < want;
        }
        Ok(())
    }

    fn longer(&self, target: usize) -> Result<usize> {
        if target > LONGEST_RECORD {
            let problem = format!("the record that starts here is longer than {} MB", LONGEST_RECORD >> 20);
            return Err(Error::format(&self.path, self.line, problem).hint("is there a quote that is never closed?"));
        }
        Ok(2 * target)
    }

    /// Goes on to the next piece, if there is one.
    fn advance(&mut self) -> Result<bool> {
        self.line += newlines(self.piece());
        self.start = self.end;
        let mut target = self.chunk_bytes.max(1);
        loop {
            self.fill(target)?;
            let window = &self.rest()[..self.rest().len().min(target)];
            if self.input_ended && window.len() == self.rest().len() {
                self.end = self.buffer.len();
                return Ok(self.end > self.start);
            }
            if let Some(end) = last_record_end(window, self.layout.delimiter) {
                self.end = self.start + end;
                return Ok(true);
            }
            target = self.longer(target)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_finding_bytes_agree() {
        let mut bytes = [b'x'; 64];
        let mut state = 1_u64;
        for _ in 0..2000 {
            for byte in &mut bytes {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                *byte = *b",\nx\x00\xff-\x0b\x8c".get((state >> 61) as usize).unwrap_or(&b'y');
            }
            assert_eq!(find_two_of(&bytes, b',', b'\n'), find_two_by_words(&bytes, b',', b'\n'));
            let expected = bytes.iter().rev().fold(0, |mask, byte| mask << 1 | u64::from(matches!(byte, b',' | b'\n')));
            assert_eq!(find_two_of(&bytes, b',', b'\n'), expected);
        }
    }

    #[test]
    fn records_begin_outside_quotes_only() {
        let data = b"a,\"1\n2\"\nb,\"\"\"\n\"\"\",5\" pipe\n \"x\n\",\"y\"\n\"\"\n";
        let records = [0, 8, 26, 36, 39];
        for chunk in 1..data.len() + 1 {
            let cuts = cut(data, b',', chunk);
            for start in &cuts.starts {
                assert!(records.contains(start), "{start} is no record, pieces of {chunk}");
            }
            assert!(cuts.starts.windows(2).all(|pair| pair[0] < pair[1]));
        }
        assert_eq!(last_record_end(&data[..data.len() - 1], b','), Some(36));
    }

    #[test]
    fn names_are_made_unique() {
        let names = |list: &[&str]| unique_names(list.iter().map(|name| name.to_string()).collect());
        assert_eq!(names(&["a", "", "a", "a_2", "a"]), ["a", "column_2", "a_3", "a_2", "a_4"]);
        assert_eq!(names(&["", "column_1"]), ["column_2", "column_1"]);
    }
}
