//! Columns cut into at most 255 bins, for boosting: one byte a value, eight columns of a row side by side.
//!
//! A column with few distinct values gets a bin for each; others are cut at the quantiles of every s-th row, s = ceil(n
//! / 200,000), where a row of weight 2 counts as two. Bin 255 holds what is missing. Eight columns together make one
//! load serve eight histograms, which fit the first cache.
//!
//! Several workers have the bins of one: n and the numbers of rows go over all of them. Each worker cuts an equal share
//! of the columns, for which the others send it their sampled values and their counts of levels, and everyone receives
//! the cuts.

use crate::{
    Ctx, Feature, Result, X,
    core::{
        Batch,
        ctx::{Exchange, all_gather, all_to_all},
    },
    engine::{
        as_bytes,
        columns::{column, frequent},
        tree::{kinds, level},
    },
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;

pub const MISSING: u8 = 255;
/// Columns that lie side by side.
pub const GROUP: usize = 8;
const SAMPLE: usize = 200_000;
/// Columns that a worker cuts at a time: samples of 50 MB are under way.
const TOGETHER: usize = 32;

pub struct Bins {
    pub rows: usize,
    pub cols: usize,
    /// `groups[g][row][j]` is the bin of column `8 g + j`.
    pub groups: Vec<Vec<[u8; GROUP]>>,
    pub maps: Vec<Map>,
}

/// How a column becomes bins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Map {
    pub feature: Feature,
    /// Bins of what is not missing.
    pub bins: usize,
    /// Of a number: x is in the first bin whose edge it does not exceed, in the last if it exceeds all.
    edges: Vec<f64>,
    /// Of a category: the level of each bin.
    pub levels: Vec<u32>,
    by_level: Vec<u8>,
    pub missing: bool,
}

/// What the bins of a column are made from.
#[derive(Serialize, Deserialize)]
enum Tally {
    Number {
        /// Every s-th row, where it has a value.
        #[serde(with = "as_bytes")]
        sample: Vec<f64>,
        /// Of the sample; none where all rows count alike.
        #[serde(with = "as_bytes")]
        weights: Vec<f64>,
        missing: bool,
    },
    /// Rows of each level, and of none.
    Category { counts: Vec<u64>, unknown: u64 },
}

/// How rows count.
#[derive(Clone, Copy, PartialEq)]
enum Count {
    Alike,
    /// As often as their weights say, which are whole numbers.
    Repeated,
    /// In proportion to their weights.
    Weighted,
}

/// Weights above this are no numbers of repetitions, and sums of those below are exact.
const MOST_REPEATED: f64 = 1e9;

impl Count {
    fn of(exchange: &dyn Exchange, weights: Option<&[f64]>) -> Result<Count> {
        let whole = |weight: &f64| weight.fract() == 0.0 && *weight <= MOST_REPEATED;
        let mine = (weights.is_some(), weights.is_none_or(|weights| weights.iter().all(whole)));
        let everyones = all_gather(exchange, Ok(mine))?;
        Ok(match (everyones.iter().any(|(given, _)| *given), everyones.iter().all(|(_, whole)| *whole)) {
            (false, _) => Count::Alike,
            (_, true) => Count::Repeated,
            _ => Count::Weighted,
        })
    }
}

impl Tally {
    /// `column` holds row `first` and those after it; every `step`-th row of all is sampled. Rows of weight 0 are none.
    fn new(column: &[f64], feature: Feature, batch: &Batch, step: usize, count: Count) -> Tally {
        let rows = || column.iter().copied().enumerate().filter(|(i, _)| batch.weight(*i) > 0.0);
        match feature {
            Feature::Number => {
                let (mut sample, mut weights) = (Vec::new(), Vec::new());
                let drawn = rows().filter(|(i, value)| (batch.first + i).is_multiple_of(step) && !value.is_nan());
                for (i, value) in drawn {
                    sample.push(value);
                    if count != Count::Alike {
                        weights.push(batch.weight(i));
                    }
                }
                Tally::Number { sample, weights, missing: rows().any(|(_, value)| value.is_nan()) }
            }
            Feature::Category { levels } => {
                let (mut counts, mut unknown) = (vec![0; levels as usize], 0);
                for (i, value) in rows() {
                    let times = if count == Count::Repeated { batch.weight(i) as u64 } else { 1 };
                    *level(value).and_then(|level| counts.get_mut(level)).unwrap_or(&mut unknown) += times;
                }
                Tally::Category { counts, unknown }
            }
        }
    }

    /// Adds the rows of another worker. Their order does not matter: samples are sorted.
    fn add(&mut self, other: Tally) {
        match (self, other) {
            (
                Tally::Number { sample, weights, missing },
                Tally::Number { sample: more, weights: theirs, missing: also },
            ) => {
                sample.extend(more);
                weights.extend(theirs);
                *missing |= also;
            }
            (Tally::Category { counts, unknown }, Tally::Category { counts: more, unknown: also }) => {
                counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
                *unknown += also;
            }
            _ => {}
        }
    }
}

impl Map {
    fn new(tally: Tally, feature: Feature, most: usize, count: Count) -> Map {
        let (mut sorted, weights, missing) = match tally {
            Tally::Number { sample, weights, missing } => (sample, weights, missing),
            Tally::Category { counts, unknown } => {
                // Rare levels count as missing, and so do those beyond the bins.
                let frequent = frequent(&counts);
                let mut kept: Vec<usize> = (0..counts.len()).filter(|&level| frequent(level)).collect();
                let present = counts.iter().filter(|count| **count > 0).count();
                let missing = unknown > 0 || kept.len() > most || kept.len() < present;
                kept.sort_by(|&a, &b| counts[b].cmp(&counts[a]).then(a.cmp(&b)));
                kept.truncate(most);
                kept.sort_unstable();
                let mut by_level = vec![MISSING; counts.len()];
                kept.iter().enumerate().for_each(|(bin, &level)| by_level[level] = bin as u8);
                let levels = kept.iter().map(|&level| level as u32).collect::<Vec<_>>();
                return Map { feature, bins: levels.len().max(1), edges: vec![], levels, by_level, missing };
            }
        };
        let mut ends = Vec::new();
        if count == Count::Alike {
            sorted.sort_unstable_by(f64::total_cmp);
        } else {
            let mut pairs: Vec<(f64, f64)> = sorted.into_iter().zip(weights).collect();
            pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            ends.extend(pairs.iter().scan(0.0, |sum, (_, weight)| {
                *sum += weight;
                Some(*sum)
            }));
            sorted = pairs.into_iter().map(|(value, _)| value).collect();
        }
        let mut distinct = sorted.clone();
        distinct.dedup();
        let middle = |a: f64, b: f64| {
            let middle = a / 2.0 + b / 2.0;
            if middle >= a && middle < b { middle } else { a }
        };
        let mut edges: Vec<f64> = if distinct.len() <= most {
            distinct.windows(2).map(|pair| middle(pair[0], pair[1])).collect()
        } else {
            // Row k of all repetitions is the first whose weights add up to more than k.
            let total = ends.last().copied().unwrap_or_default();
            let n = if count == Count::Repeated { total as usize } else { sorted.len() };
            let unit = if count == Count::Weighted { total / n as f64 } else { 1.0 };
            let row = |k: usize| match count {
                Count::Alike => sorted[k],
                _ => sorted[ends.partition_point(|end| *end <= k as f64 * unit).min(sorted.len() - 1)],
            };
            (1..most)
                .map(|i| {
                    let at = (i * n / most).clamp(1, n - 1);
                    middle(row(at - 1), row(at))
                })
                .collect()
        };
        edges.dedup();
        Map { feature, bins: edges.len() + 1, edges, levels: vec![], by_level: vec![], missing }
    }

    #[inline]
    pub fn bin(&self, value: f64) -> u8 {
        match self.feature {
            Feature::Number if value.is_nan() => MISSING,
            Feature::Number => self.edges.partition_point(|edge| *edge < value) as u8,
            Feature::Category { .. } => {
                level(value).and_then(|level| self.by_level.get(level).copied()).unwrap_or(MISSING)
            }
        }
    }

    /// The levels of a category that were too rare for a bin, or never seen.
    pub fn without_bin(&self) -> impl Iterator<Item = usize> {
        (0..self.by_level.len()).filter(|&level| self.by_level[level] == MISSING)
    }

    /// The largest number of bin `bin`; infinity for the last.
    pub fn edge(&self, bin: usize) -> f64 {
        self.edges.get(bin).copied().unwrap_or(f64::INFINITY)
    }
}

/// The columns that a worker cuts, and searches for splits.
pub fn columns_of(exchange: &dyn Exchange, rank: usize, cols: usize) -> Range<usize> {
    rank * cols / exchange.size()..(rank + 1) * cols / exchange.size()
}

/// `tally` gives what this worker's rows say of a column.
fn maps(
    ctx: &Ctx,
    kinds: &[Feature],
    most: usize,
    count: Count,
    tally: impl Fn(usize) -> Tally + Sync,
) -> Result<Vec<Map>> {
    let (exchange, cols) = (ctx.exchange(), kinds.len());
    if exchange.size() == 1 {
        // One column after the other: the samples of all would take more memory than their bins.
        return ctx.map(cols, |j| {
            ctx.check()?;
            Ok(Map::new(tally(j), kinds[j], most, count))
        });
    }
    let everyones: Vec<Range<usize>> = (0..exchange.size()).map(|rank| columns_of(exchange, rank, cols)).collect();
    let own = &everyones[exchange.rank()];
    let mut maps = Vec::new();
    for from in (0..cols.div_ceil(exchange.size())).step_by(TOGETHER) {
        let some = |columns: &Range<usize>| {
            let start = (columns.start + from).min(columns.end);
            start..(start + TOGETHER).min(columns.end)
        };
        let tallies = |columns| ctx.install(|| some(columns).into_par_iter().map(&tally).collect::<Vec<_>>());
        let mut parts = all_to_all(exchange, everyones.iter().map(tallies).collect())?.into_iter();
        let mut whole = parts.next().unwrap_or_default();
        for part in parts {
            whole.iter_mut().zip(part).for_each(|(whole, part)| whole.add(part));
        }
        let whole = whole.into_par_iter().zip(some(own));
        maps.extend(ctx.install(|| whole.map(|(tally, j)| Map::new(tally, kinds[j], most, count)).collect::<Vec<_>>()));
    }
    Ok(all_gather(exchange, ctx.check().map(|()| maps))?.into_iter().flatten().collect())
}

impl Bins {
    /// `batch` is this worker's part of `total` rows, without infinite values.
    pub fn new(ctx: &Ctx, batch: &Batch, total: usize, features: &[Feature], most: usize) -> Result<Bins> {
        let (x, rows, cols) = (&batch.x, batch.rows(), batch.x.cols());
        let kinds = kinds(features, cols);
        let step = total.div_ceil(SAMPLE).max(1);
        let count = Count::of(ctx.exchange(), batch.weights)?;
        let maps = maps(ctx, &kinds, most, count, |j| Tally::new(&column(x, j), kinds[j], batch, step, count))?;
        let groups = ctx.install(|| {
            (0..cols.div_ceil(GROUP))
                .into_par_iter()
                .map(|g| {
                    ctx.check()?;
                    let first = g * GROUP;
                    let maps = &maps[first..(first + GROUP).min(cols)];
                    let mut group = vec![[0u8; GROUP]; rows];
                    if let X::Dense(dense) = x {
                        group.par_chunks_mut(8192).zip(dense.values.par_chunks(8192 * cols)).for_each(|(group, x)| {
                            for (bins, row) in group.iter_mut().zip(x.chunks_exact(cols)) {
                                for ((bin, value), map) in bins.iter_mut().zip(&row[first..]).zip(maps) {
                                    *bin = map.bin(*value);
                                }
                            }
                        });
                    } else {
                        for (j, map) in maps.iter().enumerate() {
                            let values = column(x, first + j);
                            group.iter_mut().zip(values).for_each(|(bins, value)| bins[j] = map.bin(value));
                        }
                    }
                    Ok(group)
                })
                .collect::<Result<Vec<_>>>()
        });
        // One that was stopped here stops the others.
        all_gather(ctx.exchange(), groups.as_ref().map(drop).map_err(Clone::clone))?;
        Ok(Bins { rows, cols, groups: groups?, maps })
    }

    #[inline]
    pub fn bin(&self, row: usize, column: usize) -> u8 {
        self.groups[column / GROUP][row][column % GROUP]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Data, Source,
        core::{ctx::workers, reduce::shares, rng::Stream, source::Shard},
    };

    /// More rows than the sample, so that every third is looked at, and workers whose first row is none of them.
    #[test]
    fn workers_cut_the_bins_of_one() {
        let (rows, cols) = (450_001, 5);
        let mut rng = Stream::new(8, "bins", 0);
        let mut x = Vec::with_capacity(rows * cols);
        for i in 0..rows {
            let number = rng.normal() + (i as f64 / 1e5);
            let gap = if i > 420_000 { f64::NAN } else { number * number };
            // Most of these levels have no bin of their own; one level appears late.
            let many = (rng.uniform() * rng.uniform() * 600.0).floor();
            let few = if i == 440_000 { 9.0 } else { rng.below(4) as f64 };
            x.extend([number, gap, rng.below(30) as f64, many, few]);
        }
        let mut features = vec![Feature::Number; 3];
        features.extend([Feature::Category { levels: 600 }, Feature::Category { levels: 10 }]);
        let data = Data::new(X::dense(&x, cols).unwrap());
        let ctx = Ctx::new(0).with_threads(2);
        let one = Bins::new(&ctx, &data.batch(), rows, &features, 200).unwrap();
        assert_eq!(one.maps.iter().map(|map| map.bins).collect::<Vec<_>>(), [200, 200, 30, 200, 5]);
        assert_eq!(one.maps.iter().map(|map| map.missing).collect::<Vec<_>>(), [false, true, false, true, false]);
        // More workers than columns, too.
        for count in [2, 3, 7] {
            let shares = shares(&data.shape(), count);
            let parts = workers(count, |exchange| {
                let shard = Shard::window(&data, shares[exchange.rank()].clone());
                let ctx = ctx.clone().with_exchange(exchange);
                Bins::new(&ctx, &shard.memory().unwrap(), rows, &features, 200).unwrap()
            });
            assert!(parts.iter().all(|part| part.maps == one.maps), "{count} workers");
            for (g, group) in one.groups.iter().enumerate() {
                let joined = parts.iter().flat_map(|part| &part.groups[g]);
                assert!(joined.eq(group), "{count} workers: other bytes in group {g}");
            }
        }
    }
}
