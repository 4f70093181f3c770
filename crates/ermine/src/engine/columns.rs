//! Columns for exact splits: every value replaced by its rank among the distinct values of its column.
//!
//! Sorting happens once, here. A tree then works with small integers: it counts into bins where a node's ranks lie
//! close together and sorts integers where they do not, and never looks at a floating point number again until it needs
//! a threshold. One set of columns serves every tree of a forest and every round of a boosting.
//!
//! Several workers have some rows each, and a rank takes all rows of a column. So columns are dealt: each of N workers
//! has an equal share of them, with all rows, 4 n p / N bytes of ranks. The values travel there once, 8 n p (N - 1) /
//! N^2 bytes to each worker.

use crate::{
    Ctx, Error, Feature, Result, X,
    core::{Batch, ctx::all_gather},
    engine::tree::{kinds, level},
};
use rayon::prelude::*;
use std::ops::Range;

/// The code of a missing value.
pub const MISSING: u32 = u32::MAX;

/// From this many levels on, one of fewer rows than [`RARE`] says too little about itself: such levels count as
/// missing, all together.
const MANY_LEVELS: usize = 10;
const RARE: u64 = 3;

/// Levels that have a say of their own, by the rows of each.
pub fn frequent(counts: &[u64]) -> impl Fn(usize) -> bool + '_ {
    let present = counts.iter().filter(|count| **count > 0).count();
    let least = if present > MANY_LEVELS { RARE } else { 1 };
    move |level: usize| counts[level] >= least
}

/// Bytes on their way to a worker at a time, about. A unit test has more than one round.
pub const AT_ONCE: usize = if cfg!(test) { 1 << 17 } else { 1 << 28 };

/// Bytes of all columns, with ranks of 4 bytes and values of 8, that every worker may be given. Unit tests have less.
const FOR_EACH: usize = if cfg!(test) { 1 << 18 } else { 1 << 30 };

pub struct Columns {
    pub columns: Vec<Column>,
    /// Those that this worker has, where they were dealt: the others have no codes here. None where nobody else is
    /// needed.
    pub dealt: Option<Range<usize>>,
    /// Numbers of the rows among all, where these are only some of them.
    pub numbers: Vec<u32>,
}

pub struct Column {
    pub feature: Feature,
    /// Rank of each row's value, or its level, or [`MISSING`].
    pub codes: Vec<u32>,
    /// The distinct values of a number, rising.
    pub values: Vec<f64>,
    /// Their ranks, where these rows are only some of all; empty where a rank is a place among the values.
    pub ranks: Vec<u32>,
}

impl Column {
    /// Codes, then values.
    fn bytes(&self) -> Vec<u8> {
        let codes = self.codes.iter().flat_map(|code| code.to_le_bytes());
        codes.chain(self.values.iter().flat_map(|value| value.to_le_bytes())).collect()
    }

    /// Where the value of a code stands.
    pub fn place(&self, code: u32) -> usize {
        if self.ranks.is_empty() { code as usize } else { self.ranks.partition_point(|rank| *rank < code) }
    }

    /// The code of the value that stands there.
    pub fn code(&self, place: usize) -> u32 {
        self.ranks.get(place).copied().unwrap_or(place as u32)
    }

    /// All codes of a number are below this.
    pub fn end(&self) -> usize {
        self.ranks.last().map_or(self.values.len(), |last| *last as usize + 1)
    }

    /// A threshold between the values ranked `low` and `high`: nearer to neither, unless they are neighbours in
    /// floating point.
    pub fn between(&self, low: u32, high: u32) -> f64 {
        let (a, b) = (self.values[self.place(low)], self.values[self.place(high)]);
        let middle = a / 2.0 + b / 2.0;
        if middle >= a && middle < b { middle } else { a }
    }
}

/// Numbers in an order that integers keep.
fn ordered(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

impl Columns {
    /// All columns of rows that are all here.
    pub fn new(ctx: &Ctx, x: &X, features: &[Feature]) -> Result<Columns> {
        check_count(x.rows())?;
        check(x, 0)?;
        let kinds = kinds(features, x.cols());
        let coded = |j: usize| ctx.check().map(|()| coded(&column(x, j), kinds[j]));
        let columns = ctx.install(|| (0..x.cols()).into_par_iter().map(coded).collect::<Result<Vec<_>>>())?;
        Ok(Columns { columns, dealt: None, numbers: vec![] })
    }

    /// The columns of a problem of `rows` rows, of which the batch are those of this worker: dealt where there are
    /// others.
    pub fn shared(ctx: &Ctx, batch: &Batch, rows: usize, features: &[Feature]) -> Result<Columns> {
        let (exchange, x) = (ctx.exchange(), &batch.x);
        if exchange.size() == 1 {
            return Columns::new(ctx, x, features);
        }
        check_count(rows)?;
        let checked = ctx.check().and_then(|()| check(x, batch.first));
        let held = all_gather(exchange, checked.map(|()| batch.first..batch.first + batch.rows()))?;
        let (cols, size) = (x.cols(), exchange.size());
        let kinds = kinds(features, cols);
        let share = |rank: usize| share(cols, rank, size);
        let dealt = share(exchange.rank());
        let elsewhere = |&feature: &Feature| Column { feature, codes: vec![], values: vec![], ranks: vec![] };
        let mut columns: Vec<Column> = kinds.iter().map(elsewhere).collect();
        // A few columns of everyone at a time; where a single one is too long, some of its rows.
        let bytes = 8 * rows.max(1);
        let (few, pieces) = ((AT_ONCE / bytes).max(1), bytes.div_ceil(AT_ONCE));
        for first in (0..cols.div_ceil(size)).step_by(few) {
            let group = |rank: usize| {
                let all = share(rank);
                (all.start + first).min(all.end)..(all.start + first + few).min(all.end)
            };
            let piece = |rows: &Range<usize>, piece: usize| {
                let edge = |piece: usize| rows.start + rows.len() * piece / pieces;
                edge(piece)..edge(piece + 1)
            };
            let mine = group(exchange.rank());
            let mut values = vec![vec![0.0; rows]; mine.len()];
            for at in 0..pieces {
                let here = x.slice(piece(&(0..x.rows()), at));
                let pack = |j: usize| column(&here, j).into_iter().flat_map(f64::to_le_bytes).collect::<Vec<u8>>();
                let pack = |rank: usize| group(rank).into_par_iter().map(pack).collect::<Vec<_>>().concat();
                let to = ctx.install(|| (0..size).map(pack).collect());
                for (bytes, held) in exchange.all_to_all(to)?.iter().zip(&held) {
                    let rows = piece(held, at);
                    for (values, bytes) in values.iter_mut().zip(bytes.chunks_exact((8 * rows.len()).max(1))) {
                        let numbers = bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
                        values[rows.clone()].iter_mut().zip(numbers).for_each(|(value, number)| *value = number);
                    }
                }
            }
            let here = columns[mine.clone()].par_iter_mut().zip(values).zip(&kinds[mine]);
            ctx.install(|| here.for_each(|((column, values), &kind)| *column = coded(&values, kind)));
        }
        Ok(Columns { columns, dealt: Some(dealt), numbers: vec![] })
    }

    /// All columns for everyone, unless that is too much: then nobody needs the others to grow a tree.
    pub fn for_everyone(mut self, ctx: &Ctx, rows: usize) -> Result<Columns> {
        let (exchange, cols) = (ctx.exchange(), self.columns.len());
        let Some(mine) = self.dealt.take_if(|_| 12 * rows * cols <= FOR_EACH) else { return Ok(self) };
        // One column of everyone at a time.
        for at in 0..cols.div_ceil(exchange.size()) {
            let bytes = mine.clone().nth(at).map_or(vec![], |j| self.columns[j].bytes());
            for (rank, bytes) in exchange.all_gather(bytes)?.iter().enumerate() {
                if let Some(j) = share(cols, rank, exchange.size()).nth(at).filter(|j| !mine.contains(j)) {
                    let (codes, values) = bytes.split_at(4 * rows);
                    let column = &mut self.columns[j];
                    column.codes = codes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
                    column.values = values.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
                }
            }
        }
        Ok(self)
    }
}

/// The columns of a worker.
fn share(cols: usize, rank: usize, size: usize) -> Range<usize> {
    rank * cols / size..(rank + 1) * cols / size
}

fn check_count(rows: usize) -> Result<()> {
    match rows < u32::MAX as usize {
        true => Ok(()),
        false => Err(Error::Unsupported(format!("a tree takes fewer than {} rows", u32::MAX))),
    }
}

fn coded(column: &[f64], feature: Feature) -> Column {
    match feature {
        Feature::Number => number(column),
        Feature::Category { levels } => {
            let known = |value: f64| level(value).filter(|level| *level < levels as usize);
            let mut counts = vec![0; levels as usize];
            column.iter().filter_map(|&value| known(value)).for_each(|level| counts[level] += 1);
            let frequent = frequent(&counts);
            let code = |level: usize| if frequent(level) { level as u32 } else { MISSING };
            let codes = column.iter().map(|&value| known(value).map_or(MISSING, code)).collect();
            Column { feature, codes, values: vec![], ranks: vec![] }
        }
    }
}

/// Column `j` as an array of its own.
pub fn column(x: &X, j: usize) -> Vec<f64> {
    match x {
        X::Dense(dense) => dense.values.iter().skip(j).step_by(dense.cols).copied().collect(),
        X::Sparse(_) => {
            let mut out = vec![0.0; x.rows()];
            for (i, row) in x.iter().enumerate() {
                if let crate::core::Row::Sparse { columns, values } = row
                    && let Ok(at) = columns.binary_search(&(j as u32))
                {
                    out[i] = values[at];
                }
            }
            out
        }
    }
}

/// Missing values are welcome, infinite ones have no midpoints. The rows are `first` and those after it.
pub fn check(x: &X, first: usize) -> Result<()> {
    let stored = match x {
        X::Dense(dense) => dense.values,
        X::Sparse(sparse) => sparse.values,
    };
    if !stored.iter().fold(false, |found, value| found | value.is_infinite()) {
        return Ok(());
    }
    for (i, row) in x.iter().enumerate() {
        let mut found = None;
        row.for_each(|j, value| {
            if value.is_infinite() {
                found = found.or(Some(j));
            }
        });
        if let Some(j) = found {
            let problem = "the value is infinity, but only finite numbers, or NaN for missing ones, can be ordered";
            return Err(Error::value(first + i, j, problem));
        }
    }
    Ok(())
}

fn number(column: &[f64]) -> Column {
    let mut order: Vec<(u64, u32)> = Vec::with_capacity(column.len());
    for (i, &value) in column.iter().enumerate() {
        if !value.is_nan() {
            order.push((ordered(value), i as u32));
        }
    }
    order.sort_unstable_by_key(|&(key, _)| key);
    let mut codes = vec![MISSING; column.len()];
    let mut values = Vec::new();
    let mut last = None;
    for (key, row) in order {
        if last != Some(key) {
            values.push(column[row as usize] + 0.0);
            last = Some(key);
        }
        codes[row as usize] = values.len() as u32 - 1;
    }
    Column { feature: Feature::Number, codes, values, ranks: vec![] }
}
