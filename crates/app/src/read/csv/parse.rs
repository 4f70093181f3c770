//! Parsing on all threads: the rows of a piece go to their own part of columns that are allocated once.

use super::{
    fields::{Cursor, Fault, Span, trim},
    layout::Layout,
    records::cut,
};
use crate::table::{
    self, Category, Column, Dictionary, Form, FormSet, Kind, MISSING, Na, Places, Schema, Strings, Table, Text, UNSEEN,
};
use ermine_core::error::Result;
use memchr::memchr;
use rayon::prelude::*;
use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

/// What to do with each column of the file.
pub(super) struct Plan {
    pub(super) delimiter: u8,
    pub(super) wants: Vec<Want>,
    pub(super) na: Na,
    pub(super) names: Vec<String>,
    /// A field that must fit and does not is missing, and counted.
    pub(super) lenient: bool,
}

pub(super) enum Want {
    Skip,
    /// A field that does not fit is the user's mistake if it must, and our wrong guess otherwise.
    Value {
        form: Form,
        must: bool,
    },
    Text,
    /// Codes of our own.
    Strings,
    /// Codes of a schema.
    Levels(Dictionary),
}

impl Plan {
    pub(super) fn declared(path: &Path, layout: &Layout, schema: &Schema, na: Na) -> Result<Plan> {
        let mut wants: Vec<Want> = layout.names.iter().map(|_| Want::Skip).collect();
        let places = Places::of_names(&layout.names);
        for field in &schema.columns {
            let index = places
                .of(&field.name)
                .map_err(|error| error.hint(format!("{} needs all columns of the schema", path.display())))?;
            wants[index] = match field.kind {
                Kind::Category => Want::Levels(Dictionary::from_levels(&field.levels)),
                Kind::Text => Want::Text,
                kind => Want::Value { form: field.form.unwrap_or(Form::usual(kind)), must: true },
            };
        }
        Ok(Plan { delimiter: layout.delimiter, wants, na, names: layout.names.clone(), lenient: false })
    }
}

/// The rows of a stretch of the file, one entry for each of its columns.
pub(super) struct Block {
    pub(super) rows: usize,
    pub(super) columns: Vec<Raw>,
    pub(super) misfits: Vec<Misfit>,
}

/// Fields of a column that do not fit its kind.
pub(super) struct Misfit {
    index: usize,
    pub(super) count: usize,
    pub(super) first: Fault,
}

/// Adds misfits of later records; only the first is put into words.
fn add_misfits(all: &mut Vec<Misfit>, index: usize, count: usize, first: impl FnOnce() -> Fault) {
    match all.iter_mut().find(|known| known.index == index) {
        Some(known) => known.count += count,
        None => all.push(Misfit { index, count, first: first() }),
    }
}

pub(super) enum Raw {
    Skip,
    Number(Vec<f64>),
    Date(Vec<f64>),
    DateTime(Vec<f64>),
    Boolean(Vec<Option<bool>>),
    Levels(Vec<u32>),
    Strings(Strings),
    Text(Text),
    /// Some field does not fit; the kinds that remain possible.
    Failed(FormSet),
}

impl Raw {
    /// Without further knowledge; codes get no levels.
    pub(super) fn into_column(self) -> Column {
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
    pub(super) fn into_table(self, layout: &Layout, schema: &Schema, na: &[String]) -> Result<Table> {
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
        let forms = schema.columns.iter().filter_map(|field| Some((field.name.clone(), field.form?))).collect();
        Ok(Table::new(named)?.with_na(na.to_vec()).with_forms(forms, Vec::new()))
    }
}

/// Where one piece puts the values of one column.
enum Slot<'a> {
    Skip,
    Number(&'a mut [f64]),
    Date(&'a mut [f64]),
    DateTime(&'a mut [f64]),
    /// Spelt otherwise than usual.
    Value(&'a mut [f64], Form),
    Boolean(&'a mut [Option<bool>]),
    Levels(&'a mut [u32], &'a Dictionary),
    Strings(&'a mut [u32], Box<Dictionary>),
    Text(Box<Text>),
    Failed(FormSet),
}

/// What a piece leaves behind besides values in place.
enum Rest {
    Nothing,
    Dictionary(Box<Dictionary>),
    Text(Box<Text>),
    Failed(FormSet),
}

/// Parses a stretch of whole records.
pub(super) fn parse(data: &[u8], plan: &Plan, chunk_bytes: usize) -> Result<Block, Box<Fault>> {
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
            Want::Value { form, .. } => match form.kind() {
                Kind::Date => Raw::Date(vec![0.0; total]),
                Kind::DateTime => Raw::DateTime(vec![0.0; total]),
                Kind::Boolean => Raw::Boolean(vec![None; total]),
                _ => Raw::Number(vec![0.0; total]),
            },
            Want::Text => Raw::Text(Text::default()),
            Want::Strings => Raw::Strings(Strings { codes: vec![0; total], parts: Vec::new() }),
            Want::Levels(_) => Raw::Levels(vec![0; total]),
            Want::Skip => Raw::Skip,
        })
        .collect();

    let mut slots: Vec<Vec<Slot>> = (0..pieces).map(|_| Vec::with_capacity(columns.len())).collect();
    for (raw, want) in columns.iter_mut().zip(&plan.wants) {
        match (raw, want) {
            (Raw::Number(values) | Raw::Date(values) | Raw::DateTime(values), Want::Value { form, .. }) => {
                let slot = |part| match form.kind() {
                    _ if !form.is_usual() => Slot::Value(part, *form),
                    Kind::Date => Slot::Date(part),
                    Kind::DateTime => Slot::DateTime(part),
                    _ => Slot::Number(part),
                };
                deal(&mut slots, &bounds, values, slot);
            }
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
        let done = parse_piece(&data[..cuts.starts[piece + 1]], cuts.starts[piece], plan, &mut slots, &failed)?;
        let rest = slots.into_iter().map(|slot| match slot {
            Slot::Strings(_, dictionary) => Rest::Dictionary(dictionary),
            Slot::Text(text) => Rest::Text(text),
            Slot::Failed(possible) => Rest::Failed(possible),
            _ => Rest::Nothing,
        });
        Ok((done, rest.collect()))
    });
    let parsed: Vec<Result<(Done, Vec<Rest>), Box<Fault>>> = parsed.collect();
    // The first problem in the file, not the first one found.
    let parsed: Vec<(Done, Vec<Rest>)> = parsed.into_iter().collect::<Result<_, Box<Fault>>>()?;
    let rows: Vec<usize> = parsed.iter().map(|(done, _)| done.rows).collect();
    let mut misfits = Vec::new();

    let mut rests: Vec<Vec<Rest>> = columns.iter().map(|_| Vec::with_capacity(pieces)).collect();
    for (done, piece) in parsed {
        for Misfit { index, count, first } in done.misfits {
            add_misfits(&mut misfits, index, count, || first);
        }
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
                (Rest::Failed(kinds), _) => possible = Some(kinds.and(possible.unwrap_or(FormSet::ALL))),
                _ => {}
            }
        }
        if let Some(possible) = possible {
            *raw = Raw::Failed(possible);
        } else if let Raw::Text(text) = raw {
            *text = Text::concat(texts);
        }
    });
    Ok(Block { rows: rows.iter().sum(), columns, misfits })
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

/// The records of a piece that were parsed.
struct Done {
    rows: usize,
    misfits: Vec<Misfit>,
}

/// Parses the records of `data` from `start` on.
fn parse_piece(
    data: &[u8],
    start: usize,
    plan: &Plan,
    slots: &mut [Slot<'_>],
    failed: &[AtomicBool],
) -> Result<Done, Box<Fault>> {
    for (slot, failed) in slots.iter_mut().zip(failed) {
        if failed.load(Ordering::Relaxed) {
            *slot = Slot::Skip;
        }
    }
    let mut cursor = Cursor::new(data, start, plan.delimiter);
    let count = slots.len();
    let (mut row, mut misfits) = (0, Vec::new());
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
            let fits = put(slot, row, index, data, field, &span, plan)?;
            if !fits {
                let field = trim(field);
                if let Want::Value { form, must: true } = plan.wants[index] {
                    let fault = || unfit(span.start, &plan.names[index], field, form);
                    if !plan.lenient {
                        return Err(Box::new(fault()));
                    }
                    add_misfits(&mut misfits, index, 1, fault);
                    continue;
                }
                failed[index].store(true, Ordering::Relaxed);
                *slot = Slot::Failed(FormSet::of(field));
            }
        }
        row += 1;
    }
    Ok(Done { rows: row, misfits })
}

/// Puts a field into its column. Returns whether it fits there.
#[inline(always)]
fn put(
    slot: &mut Slot<'_>,
    row: usize,
    index: usize,
    data: &[u8],
    field: &[u8],
    span: &Span,
    plan: &Plan,
) -> Result<bool, Box<Fault>> {
    let na = &plan.na;
    // The usual case of each kind first; blanks inside quotes and missing markers are left to the slow way.
    Ok(match slot {
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
        Slot::Value(out, form) => put_number(&mut out[row], field, na, |field| form.read(field)),
        Slot::Boolean(out) => match table::boolean(field) {
            Some(value) if na.is_only_usual() => {
                out[row] = Some(value);
                true
            }
            _ => {
                let declared = matches!(plan.wants[index], Want::Value { must: true, .. });
                put_boolean(&mut out[row], field, na, declared)
            }
        },
        Slot::Strings(out, levels) => {
            out[row] = if na.is_missing_string(trim(field)) {
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
            let value = if na.is_missing_string(trim(field)) { Ok("") } else { std::str::from_utf8(field) };
            match value {
                Ok(value) => text.push(value),
                Err(_) => return Err(not_utf8(span.start, &plan.names[index], field)),
            }
            true
        }
        Slot::Skip | Slot::Failed(_) => true,
    })
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

pub(super) fn is_blank_line(data: &[u8], start: usize) -> bool {
    let line = &data[start..];
    let line = &line[..memchr(b'\n', line).unwrap_or(line.len())];
    trim(line).is_empty()
}

#[cold]
pub(super) fn ragged(
    cursor: &mut Cursor,
    begin: usize,
    expected: usize,
    mut found: usize,
    mut last: bool,
) -> Box<Fault> {
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
fn unfit(at: usize, name: &str, field: &[u8], form: Form) -> Fault {
    let like = match form.kind() {
        Kind::Date if form.is_usual() => " like 2024-03-01".into(),
        Kind::DateTime if form.is_usual() => " like 2024-03-01T10:00:00".into(),
        _ if form.is_usual() => String::new(),
        _ => format!(" like {form}"),
    };
    Fault::new(at, format!("column '{name}': {} is not {}{like}", table::quote(field), form.kind().noun()))
}

#[cold]
fn not_utf8(at: usize, name: &str, field: &[u8]) -> Box<Fault> {
    let problem = format!("column '{name}': {} is not valid UTF-8", table::quote(field));
    Box::new(Fault::new(at, problem).hint("name its encoding, such as --encoding windows-1252"))
}
