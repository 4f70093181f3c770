//! One table in one file or several, opened where it can be held: in memory, each worker its share, or read from disk
//! in pieces.
//!
//! What is known of it afterwards is the same wherever it is: the columns, a summary of each, the values of the target,
//! and a sample of rows that depends on their numbers alone.

use super::{ReadOptions, Scan, database, decoded_bytes, scan, shares, stream};
use crate::table::{Column, Dictionary, Field, FormSet, Kind, Schema, Summary, Table, Tally};
use ermine_core::{
    Ctx,
    ctx::{Progress, all_gather},
    error::{Error, Result},
    rng,
};
use rustc_hash::FxHashSet;
use std::path::{Path, PathBuf};

/// Rows of the sample that a table is inspected by.
const SAMPLE: usize = 20_000;
/// Values of a target that are looked at to name its classes: more than there may be.
const VALUES: usize = 2000;
/// Bytes that are kept of every row wherever the rows are: its label, and the part and fold that it is in.
const KEPT: u64 = 24;
/// So many bytes of them are always allowed, 11 million rows.
const LEAST_KEPT: u64 = 256 << 20;
/// Bytes of a file that are read at a time.
const PIECE: usize = 8 << 20;

/// A table of which everything is known but the rows.
pub struct Opened {
    pub schema: Schema,
    pub summary: Vec<Summary>,
    /// Of all workers.
    pub rows: usize,
    pub sample: Sample,
    /// Each value of the target once, as far as there are not too many.
    pub target: Option<Column>,
    pub place: Place,
    /// What was taken for granted when it was read.
    pub assumed: Vec<String>,
}

/// Where the rows of this worker are.
pub enum Place {
    Memory(Table),
    /// All rows, in these files; a worker skips those that are not its own.
    Disk(Vec<PathBuf>),
}

/// Some rows of a table, in order, with their numbers.
#[derive(Default)]
pub struct Sample {
    pub numbers: Vec<usize>,
    pub table: Table,
}

/// The files that an argument means: itself, what matches it as a pattern such as `part-*.csv`, sorted by name, or the
/// rows of a database.
pub fn files(data: &Path) -> Result<Vec<PathBuf>> {
    let data = &*database::local(data)?;
    let pattern = data.to_str().filter(|text| text.contains(['*', '?', '[']) && !data.exists());
    let Some(pattern) = pattern else { return Ok(vec![data.into()]) };
    let wrong = |problem: String| Error::io(data, "open", &std::io::Error::other(problem));
    let found = glob::glob(pattern).map_err(|error| wrong(format!("not a valid pattern: {error}")))?;
    let mut found: Vec<PathBuf> = found.collect::<Result<_, _>>().map_err(|error| wrong(error.to_string()))?;
    found.sort();
    if found.is_empty() { Err(wrong("no file matches this pattern".into())) } else { Ok(found) }
}

/// Bytes that the table in these files takes, its numbers, a part of them and their prepared form, side by side;
/// counted no further than `enough`.
pub fn bytes_needed(files: &[PathBuf], options: &ReadOptions, enough: u64) -> Result<u64> {
    let mut needed = 0u64;
    for file in files {
        needed = needed.saturating_add(decoded_bytes(file, options, enough / 4)?.saturating_mul(4));
    }
    Ok(needed)
}

impl Opened {
    /// Opens the table in memory if every worker's share of it takes no more than `memory` bytes there, otherwise on
    /// disk.
    pub fn open(
        files: &[PathBuf],
        options: &ReadOptions,
        target: Option<&str>,
        memory: u64,
        ctx: &Ctx,
    ) -> Result<Opened> {
        ctx.progress(Progress { what: "reading", step: 0, of: None, value: None });
        let exchange = ctx.exchange();
        let allowed = memory.saturating_mul(exchange.size() as u64);
        let fits = bytes_needed(files, options, allowed).map(|needed| needed <= allowed);
        let mut find = Finder::new(ctx.seed, target);
        if all_gather(exchange, fits)?.contains(&false) {
            let most = usize::try_from(memory.max(LEAST_KEPT) / KEPT).unwrap_or(usize::MAX);
            return Opened::on_disk(files, options, find, most, ctx);
        }
        // The estimate was of the whole; what is read does not exceed it either.
        let options = &ReadOptions { memory, ..options.clone() };
        let (table, first, rows, summary) = match files {
            [file] if exchange.size() == 1 => {
                let table = super::read(file, options)?;
                let (rows, summary) = (table.rows(), table.summary());
                (table, 0, rows, summary)
            }
            files => {
                let held = shares::read(files, options, exchange)?;
                (held.table, held.first, held.total, held.summary)
            }
        };
        let found = find.add(&table, first).map(|()| (find.numbers, find.sample.into_columns(), find.values));
        let mut all = Finder::new(ctx.seed, target);
        for (numbers, columns, values) in all_gather(exchange, found)? {
            let sample = Table::new(table.names().iter().cloned().zip(columns).collect())?;
            all.join(numbers, sample, values)?;
        }
        let (sample, target) = all.finish();
        let assumed = table.assumed().to_vec();
        Ok(Opened { schema: table.schema(), summary, rows, sample, target, place: Place::Memory(table), assumed })
    }

    /// Two passes: the columns first, what is in them second. Every worker looks through everything. A small file may
    /// unfold to more rows than can be kept track of: it is refused as soon as there are more than `most`.
    fn on_disk(files: &[PathBuf], options: &ReadOptions, mut find: Finder, most: usize, ctx: &Ctx) -> Result<Opened> {
        ctx.progress(Progress { what: "scanning", step: 0, of: None, value: None });
        let mut look = || -> Result<(Schema, Vec<String>, usize, Vec<Tally>)> {
            let (schema, assumed) = common_schema(files, options)?;
            let mut tallies: Vec<Tally> = schema.columns.iter().map(|_| Tally::default()).collect();
            let mut rows = 0;
            stream_all(files, options, &schema, |chunk| {
                ctx.check()?;
                tallies.iter_mut().zip(chunk.columns()).for_each(|(tally, (_, column))| tally.add(column));
                find.add(&chunk, rows)?;
                rows += chunk.rows();
                if rows > most {
                    let problem =
                        format!("it has more than {most} rows, the most that the allowed memory can keep track of");
                    return Err(Error::format(&files[0], None, problem).hint("allow more with --memory"));
                }
                ctx.progress(Progress { what: "scanning", step: rows, of: None, value: None });
                Ok(())
            })?;
            Ok((schema, assumed, rows, tallies))
        };
        let outcome = look();
        all_gather(ctx.exchange(), outcome.as_ref().map(|(_, _, rows, _)| *rows).map_err(Error::clone))?;
        let (schema, assumed, rows, tallies) = outcome?;
        let named = tallies.into_iter().zip(&schema.columns);
        let summary = named.map(|(tally, field)| tally.finish(&field.name, field.kind)).collect();
        let (sample, target) = find.finish();
        Ok(Opened { schema, summary, rows, sample, target, place: Place::Disk(files.to_vec()), assumed })
    }
}

/// All rows of the files, one behind the other, as tables of some megabytes.
pub(crate) fn stream_all(
    files: &[PathBuf],
    options: &ReadOptions,
    schema: &Schema,
    mut each: impl FnMut(Table) -> Result<()>,
) -> Result<()> {
    // Kinds are the schema's business now.
    let options = ReadOptions { columns: None, kinds: Default::default(), ..options.clone() };
    files.iter().try_for_each(|file| stream(file, &options, schema, PIECE, &mut each).map(drop))
}

/// The columns that a table in these files has: a kind that fits every file, levels in the order of their first
/// appearance.
fn common_schema(files: &[PathBuf], options: &ReadOptions) -> Result<(Schema, Vec<String>)> {
    let mut options = options.clone();
    loop {
        let scans = files.iter().map(|file| scan(file, &options)).collect::<Result<Vec<Scan>>>()?;
        for (file, scan) in files.iter().zip(&scans).skip(1) {
            shares::same_names(&files[0], &scans[0].schema.names(), file, &scan.schema.names())?;
        }
        let mut common = scans[0].schema.clone();
        let mut changed = false;
        for field in &mut common.columns {
            let of_files: Vec<&Field> =
                scans.iter().map(|scan| scan.schema.field(&field.name)).collect::<Result<_>>()?;
            let strings = |kind: Kind| matches!(kind, Kind::Category | Kind::Text);
            let forms = scans.iter().filter_map(|scan| {
                let place = scan.schema.columns.iter().position(|other| other.name == field.name)?;
                scan.forms.get(place).copied()
            });
            let common = forms.reduce(FormSet::and).and_then(FormSet::first);
            if let (Some(form), false) = (common, of_files.iter().any(|field| strings(field.kind))) {
                (field.kind, field.form) = (form.kind(), (!form.is_usual()).then_some(form));
                continue;
            }
            if of_files.iter().all(|other| other.kind == field.kind) {
                let mut levels = Dictionary::default();
                of_files.iter().flat_map(|field| field.levels.iter()).for_each(|level| {
                    levels.code_of_str(level);
                });
                field.levels = levels.levels();
                continue;
            }
            // Strings hold anything; free text in one file is free text in all.
            let text = of_files.iter().any(|field| field.kind == Kind::Text);
            options.kinds.insert(field.name.clone(), if text { Kind::Text } else { Kind::Category });
            changed = true;
        }
        if !changed {
            let mut assumed: Vec<String> = Vec::new();
            for note in scans.into_iter().flat_map(|scan| scan.assumed) {
                if !assumed.contains(&note) {
                    assumed.push(note);
                }
            }
            return Ok((common, assumed));
        }
    }
}

/// Draws the sample and collects the values of the target, from rows that come piece by piece.
struct Finder {
    seed: u64,
    target: Option<String>,
    seen: FxHashSet<u64>,
    values: Option<Column>,
    numbers: Vec<usize>,
    sample: Table,
}

impl Finder {
    fn new(seed: u64, target: Option<&str>) -> Finder {
        let target = target.map(String::from);
        Finder { seed, target, seen: FxHashSet::default(), values: None, numbers: Vec::new(), sample: Table::default() }
    }

    /// Rows of which the first has this number.
    fn add(&mut self, table: &Table, first: usize) -> Result<()> {
        let drawn = self.drawn((first..first + table.rows()).collect());
        let places: Vec<usize> = drawn.iter().map(|row| row - first).collect();
        let mut values = None;
        if let Some(target) = &self.target {
            let column = table.column(target)?;
            let is_new = |&row: &usize| {
                self.seen.len() < VALUES && !column.is_missing(row) && self.seen.insert(value_key(column, row))
            };
            values = Some(column.take(&(0..table.rows()).filter(is_new).collect::<Vec<_>>()));
        }
        self.join(drawn, table.take(&places), values)
    }

    /// Rows and values found elsewhere, which follow.
    fn join(&mut self, numbers: Vec<usize>, table: Table, values: Option<Column>) -> Result<()> {
        match (&mut self.values, values) {
            (Some(all), Some(more)) => all.append(&more)?,
            (all, more) => *all = more.or(all.take()),
        }
        if self.numbers.is_empty() {
            (self.numbers, self.sample) = (numbers, table);
        } else {
            self.numbers.extend(numbers);
            self.sample.append(&table)?;
        }
        // Now and then, so that it costs little.
        if self.numbers.len() > 2 * SAMPLE {
            self.thin();
        }
        Ok(())
    }

    /// Those of the rows that a sample of these alone would have.
    fn drawn(&self, mut rows: Vec<usize>) -> Vec<usize> {
        if rows.len() > SAMPLE {
            rows.sort_by_key(|&row| (rng::key(self.seed, "sample", row as u64), row));
            rows.truncate(SAMPLE);
            rows.sort_unstable();
        }
        rows
    }

    fn thin(&mut self) {
        let kept = self.drawn(self.numbers.clone());
        if kept.len() < self.numbers.len() {
            let place = |row: &usize| self.numbers.partition_point(|other| other < row);
            let places: Vec<usize> = kept.iter().map(place).collect();
            (self.sample, self.numbers) = (self.sample.take(&places), kept);
        }
    }

    fn finish(mut self) -> (Sample, Option<Column>) {
        self.thin();
        (Sample { numbers: self.numbers, table: self.sample }, self.values)
    }
}

/// Equal for equal values.
fn value_key(column: &Column, row: usize) -> u64 {
    match column {
        Column::Number(values) | Column::Date(values) | Column::DateTime(values) => (values[row] + 0.0).to_bits(),
        Column::Boolean(values) => values[row].map_or(2, u64::from),
        Column::Category(category) => u64::from(category.codes[row]),
        Column::Text(text) => rng::key(0, text.get(row), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small packed file of many rows is refused while it is read, not when its labels no longer fit.
    #[test]
    fn no_more_rows_than_can_be_kept_track_of() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("many.csv");
        std::fs::write(&path, format!("a,b\n{}", "1.5,0\n".repeat(1000))).unwrap();
        let open = |most: usize| {
            let find = Finder::new(1, Some("b"));
            Opened::on_disk(std::slice::from_ref(&path), &ReadOptions::default(), find, most, &Ctx::new(1))
        };
        assert_eq!(open(1000).unwrap().rows, 1000);
        let error = open(999).err().unwrap().to_string();
        assert!(error.contains("many.csv") && error.contains("more than 999 rows"), "{error}");
    }
}
