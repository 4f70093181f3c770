//! Growing one tree on several workers, to the very bits of one.
//!
//! Exact splits order all rows of a node, so rows cannot stay with their workers: columns are dealt
//! ([`Columns::shared`]), and everyone knows the targets and weights of all rows. Then a tree has two parts.
//!
//! Large nodes: everyone walks along with the same samples. Each worker tries those of the drawn columns that it has,
//! the found splits go to everyone and are judged in the order of one process. Whoever has the column of the best says
//! on which side each row is: one bit a row.
//!
//! Small subtrees: each is grown by one worker, who gets the codes of its rows from the others, 4 bytes a cell, and 8
//! for each distinct value. Codes stay those of the whole column, because they decide how a node is ordered. The grown
//! subtrees go to everyone.
//!
//! What one worker cannot go on with reaches the others in the next message. No exchange runs inside a pool of threads:
//! workers that are threads of one process share it, and would wait in it for each other.

use super::{Candidate, Draws, Grower, Impurity, LARGE, Task, Workspace, keep, mix, tie};
use crate::{
    Feature, Result,
    core::ctx::all_gather,
    engine::{
        columns::{AT_ONCE, Column, Columns, MISSING},
        tree::GrownTree,
    },
};
use rayon::prelude::*;
use std::{cmp::Reverse, ops::Range};

/// Where a column stands among those drawn, whether it varies, and its best split.
type Tried = (usize, bool, Option<Candidate>);

impl Grower<'_> {
    pub(super) fn search_together<M: Impurity>(
        &self,
        workspace: &mut Workspace<M>,
        rows: &[u32],
        seed: u64,
        dealt: &Range<usize>,
    ) -> Result<Option<Candidate>> {
        let (exchange, cols) = (self.ctx.exchange(), self.columns.columns.len());
        let count = self.limits.max_features.clamp(1, cols);
        let mut drawn: Vec<usize> = (0..cols).collect();
        if count < cols {
            let mut draws = Draws(seed);
            (0..cols).for_each(|place| drawn.swap(place, place + draws.below(cols - place)));
        }
        let tie = tie(&workspace.impurity);
        let here = |places: Range<usize>| places.filter(|&place| dealt.contains(&drawn[place]));
        let one = |workspace: &mut Workspace<M>, place: usize| -> Tried {
            let j = drawn[place];
            let (varies, found) = self.column(workspace, rows, None, j, mix(seed ^ j as u64), tie);
            // Whoever hears of it may not have the values.
            let column = &self.columns.columns[j];
            (place, varies, found.map(|found| Candidate { cut: found.cut.with_threshold(column), ..found }))
        };
        let mine: Vec<usize> = here(0..count).collect();
        let tried: Vec<Tried> = if self.parallel && mine.len() > 1 && rows.len() * mine.len() > LARGE {
            let workspace = &*workspace;
            self.ctx.install(|| mine.into_par_iter().map_init(|| workspace.clone(), one).collect())
        } else {
            mine.into_iter().map(|place| one(workspace, place)).collect()
        };
        let mut tried = all_gather(exchange, self.ctx.check().map(|()| tried))?.concat();
        tried.sort_by_key(|&(place, ..)| place);
        let mut best = None;
        let any = tried.iter().any(|&(_, varies, _)| varies);
        tried.into_iter().for_each(|(.., found)| keep(&mut best, found, tie));
        if !any && count < cols {
            // The search goes on until a column varies: the first of everyone's first.
            let first = here(count..cols).map(|place| one(workspace, place)).find(|&(_, varies, _)| varies);
            let firsts = all_gather(exchange, Ok(first))?.into_iter().flatten();
            best = firsts.min_by_key(|&(place, ..)| place).and_then(|(.., found)| found);
        }
        Ok(best)
    }

    /// Which rows go left.
    pub(super) fn sides_together(&self, found: &Candidate, rows: &[u32], dealt: &Range<usize>) -> Result<Vec<bool>> {
        let mut bits = Vec::new();
        if dealt.contains(&found.feature) {
            let codes = &self.columns.columns[found.feature].codes;
            let bit = |(i, &row): (usize, &u32)| u8::from(found.goes_left(codes[row as usize])) << i;
            bits = rows.chunks(8).map(|rows| rows.iter().enumerate().map(bit).sum()).collect();
        }
        let bits = self.ctx.exchange().all_gather(bits)?.concat();
        Ok((0..rows.len()).map(|i| bits[i / 8] >> (i % 8) & 1 == 1).collect())
    }

    pub(super) fn subtrees_together<M: Impurity>(
        &self,
        workspace: &mut Workspace<M>,
        tasks: &[Task],
        samples: &[u32],
        dealt: &Range<usize>,
    ) -> Result<Vec<GrownTree>> {
        let (exchange, all) = (self.ctx.exchange(), &self.columns.columns);
        let (rank, size) = (exchange.rank(), exchange.size());
        let most = (AT_ONCE / (12 * all.len())).max(1) * size;
        let mut drafts = Vec::with_capacity(tasks.len());
        let mut rest = tasks;
        while !rest.is_empty() {
            let sums = rest.iter().scan(0, |sum, task| {
                *sum += task.rows();
                Some(*sum)
            });
            let (round, tail) = rest.split_at(sums.take_while(|sum| *sum <= most).count().max(1));
            rest = tail;
            let owners = owners(round, size);
            let rows_of = |rank: usize| -> Vec<u32> {
                let theirs = round.iter().zip(&owners).filter(|(_, owner)| **owner == rank);
                theirs.flat_map(|(task, _)| &samples[task.start..task.end]).copied().collect()
            };
            let to = self.ctx.install(|| {
                let pack = |rank: usize| {
                    let rows = rows_of(rank);
                    all[dealt.clone()].par_iter().map(|column| pack(column, &rows)).collect::<Vec<_>>().concat()
                };
                (0..size).map(pack).collect()
            });
            let received = exchange.all_to_all(to)?;
            let numbers = rows_of(rank);
            let mut local: Vec<u32> = (0..numbers.len() as u32).collect();
            let mut start = 0;
            let mine = round.iter().zip(&owners).filter(|(_, owner)| **owner == rank).map(|(task, _)| {
                start += task.rows();
                Task { start: start - task.rows(), end: start, ..*task }
            });
            let mine: Vec<Task> = mine.collect();
            let grown = self.ctx.install(|| {
                let columns = Columns { columns: unpack(all, &received, numbers.len()), dealt: None, numbers };
                Grower { columns: &columns, ..*self }.subtrees(workspace, &mine, &mut local)
            });
            let mut grown: Vec<_> = all_gather(exchange, grown)?.into_iter().map(Vec::into_iter).collect();
            drafts.extend(owners.iter().filter_map(|&owner| grown[owner].next()));
        }
        Ok(drafts)
    }
}

/// Who grows each subtree: the largest first, always to the one with the fewest rows.
fn owners(tasks: &[Task], size: usize) -> Vec<usize> {
    let mut by_size: Vec<usize> = (0..tasks.len()).collect();
    by_size.sort_by_key(|&i| Reverse(tasks[i].rows()));
    let (mut loads, mut owners) = (vec![0; size], vec![0; tasks.len()]);
    for i in by_size {
        owners[i] = (0..size).min_by_key(|&rank| loads[rank]).unwrap_or(0);
        loads[owners[i]] += tasks[i].rows();
    }
    owners
}

/// Some rows of a column as bytes: how many distinct values there are, the codes, the values.
fn pack(column: &Column, rows: &[u32]) -> Vec<u8> {
    let codes: Vec<u32> = rows.iter().map(|&row| column.codes[row as usize]).collect();
    let ranks = if column.feature == Feature::Number { distinct(&codes) } else { vec![] };
    let mut bytes = Vec::with_capacity(4 + 4 * codes.len() + 8 * ranks.len());
    bytes.extend((ranks.len() as u32).to_le_bytes());
    codes.iter().for_each(|code| bytes.extend(code.to_le_bytes()));
    ranks.iter().for_each(|&rank| bytes.extend(column.values[rank as usize].to_le_bytes()));
    bytes
}

/// `rows` rows of every column, from those who have the columns.
fn unpack(all: &[Column], messages: &[Vec<u8>], rows: usize) -> Vec<Column> {
    let mut parts = Vec::with_capacity(all.len());
    for message in messages {
        let mut rest = &message[..];
        while let Some((&distinct, tail)) = rest.split_first_chunk() {
            let (codes, tail) = tail.split_at(4 * rows);
            let (values, tail) = tail.split_at(8 * u32::from_le_bytes(distinct) as usize);
            parts.push((codes, values));
            rest = tail;
        }
    }
    let column = |(&(codes, values), column): (&(&[u8], &[u8]), &Column)| {
        let codes: Vec<u32> = codes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        Column {
            feature: column.feature,
            values: values.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect(),
            ranks: if column.feature == Feature::Number { distinct(&codes) } else { vec![] },
            codes,
        }
    };
    parts.par_iter().zip(all).map(column).collect()
}

/// The codes that occur, rising.
fn distinct(codes: &[u32]) -> Vec<u32> {
    let known = || codes.iter().copied().filter(|code| *code != MISSING);
    let words = known().max().map_or(0, |last| last as usize / 64 + 1);
    let mut bits = vec![0u64; words];
    known().for_each(|code| bits[code as usize / 64] |= 1 << (code % 64));
    let mut distinct = Vec::new();
    for (at, mut word) in bits.into_iter().enumerate() {
        while word != 0 {
            distinct.push(at as u32 * 64 + word.trailing_zeros());
            word &= word - 1;
        }
    }
    distinct
}
