//! Columns cut into at most 255 bins, for boosting: one byte a value, eight columns of a row side by side.
//!
//! A column with few distinct values gets a bin for each; others are cut at quantiles of up to 200,000 rows. Bin 255 holds what is
//! missing. Eight columns together make one load serve eight histograms, which fit the first cache.

use crate::{
    Ctx, Feature, Result, X,
    engine::{
        columns::{check, column},
        tree::{kinds, level},
    },
};
use rayon::prelude::*;

pub const MISSING: u8 = 255;
/// Columns that lie side by side.
pub const GROUP: usize = 8;
const SAMPLE: usize = 200_000;

pub struct Bins {
    pub rows: usize,
    pub cols: usize,
    /// `groups[g][row][j]` is the bin of column `8 g + j`.
    pub groups: Vec<Vec<[u8; GROUP]>>,
    pub maps: Vec<Map>,
}

/// How a column becomes bins.
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

impl Map {
    fn new(column: &[f64], feature: Feature, most: usize) -> Map {
        let missing = column.iter().any(|value| value.is_nan());
        let step = column.len().div_ceil(SAMPLE).max(1);
        let sample = column.iter().step_by(step).copied();
        if let Feature::Category { levels } = feature {
            let mut counts = vec![0usize; levels as usize];
            let known = |value: f64| level(value).filter(|level| *level < levels as usize);
            column.iter().filter_map(|&value| known(value)).for_each(|level| counts[level] += 1);
            let mut kept: Vec<usize> = (0..counts.len()).filter(|&level| counts[level] > 0).collect();
            // Rare levels of a column with very many count as missing.
            kept.sort_by(|&a, &b| counts[b].cmp(&counts[a]).then(a.cmp(&b)));
            kept.truncate(most);
            kept.sort_unstable();
            let mut by_level = vec![MISSING; levels as usize];
            kept.iter().enumerate().for_each(|(bin, &level)| by_level[level] = bin as u8);
            let missing = column.iter().any(|&value| known(value).is_none_or(|level| by_level[level] == MISSING));
            let levels = kept.iter().map(|&level| level as u32).collect::<Vec<_>>();
            return Map { feature, bins: levels.len().max(1), edges: vec![], levels, by_level, missing };
        }
        let mut sorted: Vec<f64> = sample.filter(|value| !value.is_nan()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let mut distinct = sorted.clone();
        distinct.dedup();
        let middle = |a: f64, b: f64| {
            let middle = a / 2.0 + b / 2.0;
            if middle >= a && middle < b { middle } else { a }
        };
        let mut edges: Vec<f64> = if distinct.len() <= most {
            distinct.windows(2).map(|pair| middle(pair[0], pair[1])).collect()
        } else {
            let n = sorted.len();
            (1..most)
                .map(|i| {
                    let at = (i * n / most).clamp(1, n - 1);
                    middle(sorted[at - 1], sorted[at])
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

    /// The largest number of bin `bin`; infinity for the last.
    pub fn edge(&self, bin: usize) -> f64 {
        self.edges.get(bin).copied().unwrap_or(f64::INFINITY)
    }
}

impl Bins {
    pub fn new(ctx: &Ctx, x: &X, features: &[Feature], most: usize) -> Result<Bins> {
        check(x)?;
        let (rows, cols) = (x.rows(), x.cols());
        let kinds = kinds(features, cols);
        let (groups, maps) = ctx.install(|| {
            let maps = (0..cols)
                .into_par_iter()
                .map(|j| {
                    ctx.check()?;
                    Ok(Map::new(&column(x, j), kinds[j], most))
                })
                .collect::<Result<Vec<Map>>>()?;
            let groups = (0..cols.div_ceil(GROUP))
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
                .collect::<Result<Vec<_>>>()?;
            Ok((groups, maps))
        })?;
        Ok(Bins { rows, cols, groups, maps })
    }

    #[inline]
    pub fn bin(&self, row: usize, column: usize) -> u8 {
        self.groups[column / GROUP][row][column % GROUP]
    }
}
