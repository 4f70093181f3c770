//! One tree of a boosting: grown leaf by leaf on histograms of gradients.
//!
//! Gradients and Hessians are rounded to fixed point, 30 bits, before they are summed. Sums of integers are exact in
//! any order, so a histogram may be cut into any pieces and a child's histogram taken from its parent's without losing
//! a bit: the tree is the same for any number of threads and workers. A bin keeps the gradient in one word, Hessian and
//! row count together in another, for which Hessians of more than 2^16 rows give up two bits with every doubling: 8 are
//! left at 10^8 rows.
//!
//! The gain of a split is G_l^2/(H_l+L) + G_r^2/(H_r+L) - G^2/(H+L) (Friedman 2001; Chen and Guestrin 2016). Only the
//! smaller child of a split is counted. Categories are ordered by gradient over Hessian; what so many levels gain by
//! chance is taken off. Monotone columns forbid splits that turn the wrong way and bound the values below (LightGBM's
//! and scikit-learn's basic method).
//!
//! Several workers grow one tree, each on its own rows (LightGBM's data-parallel learner, Ke et al. 2017). A worker
//! searches the columns that it owns: the others send it their counts of these, and all hear everyone's best split. So
//! a counted node brings to each of N workers 16 bytes for every bin of its 1/N of the columns from N - 1 others, which
//! is less than one whole histogram.

use crate::{
    Ctx, Error, Feature, Result,
    core::{ctx::all_gather, rng, simd},
    engine::{
        bins::{Bins, GROUP, MISSING, Map, columns_of},
        tree::{GrownNode, GrownTree, Split, Test},
    },
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Gradient, and Hessian with the count in its low bits.
type Cell = [i64; 2];
const WIDTH: usize = 256;
/// No more rows than this on all workers: beyond, a Hessian would be left without bits.
pub const MOST_ROWS: usize = 1 << 30;

pub struct Options<'a> {
    pub max_leaves: usize,
    pub max_depth: usize,
    pub min_rows_leaf: usize,
    pub l2: f64,
    /// Columns tried at a split.
    pub max_features: usize,
    /// -1, 0 or 1 for each column, or empty.
    pub monotone: &'a [i64],
    /// Columns that may appear together on a path; empty for all.
    pub interactions: &'a [Vec<usize>],
    pub seed: u64,
}

/// Fixed-point gradients of one tree.
pub struct Gradients {
    pub cells: Vec<[i32; 2]>,
    /// Value of one unit.
    g: f64,
    h: f64,
    /// Bits of the count.
    shift: u32,
}

/// The larger gradient and the larger Hessian.
pub fn larger(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [a[0].max(b[0]), a[1].max(b[1])]
}

impl Gradients {
    /// The largest gradient, whatever its sign, and the largest Hessian: they set the units.
    pub fn largest(floats: &[[f32; 2]]) -> [f32; 2] {
        let part = |part: &[[f32; 2]]| part.iter().fold([0.0; 2], |most, [g, h]| larger(most, [g.abs(), *h]));
        floats.par_chunks(1 << 14).map(part).reduce(|| [0.0; 2], larger)
    }

    /// `floats` holds gradient and Hessian of each row, none above `largest`; there are `total` rows on all workers.
    pub fn new(floats: &[[f32; 2]], largest: [f32; 2], total: usize, cells: Vec<[i32; 2]>) -> Gradients {
        let shift = usize::BITS - total.leading_zeros();
        let bits = (62 - 2 * shift as i32).clamp(1, 30);
        let unit = |largest: f32, bits: i32| match largest > 0.0 {
            // A power of two, so that single precision rounds nothing off the larger ones.
            true => (f64::from(largest).log2().ceil() - f64::from(bits)).exp2(),
            false => 1.0,
        };
        let (g, h) = (unit(largest[0], 30), unit(largest[1], bits));
        let (up_g, up_h) = (1.0 / g, 1.0 / h);
        let mut cells = cells;
        cells.resize(floats.len(), [0; 2]);
        cells.par_chunks_mut(1 << 14).zip(floats.par_chunks(1 << 14)).for_each(|(cells, floats)| {
            for (cell, float) in cells.iter_mut().zip(floats) {
                *cell = [
                    (f64::from(float[0]) * up_g).round_ties_even() as i32,
                    (f64::from(float[1]) * up_h).round_ties_even() as i32,
                ];
            }
        });
        Gradients { cells, g, h, shift }
    }

    fn open(&self, cell: Cell) -> Sums {
        Sums {
            g: cell[0] as f64 * self.g,
            h: (cell[1] >> self.shift) as f64 * self.h,
            rows: (cell[1] & ((1 << self.shift) - 1)) as usize,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Sums {
    g: f64,
    h: f64,
    rows: usize,
}

/// A leaf of the finished tree: its rows, and its node.
pub struct Leaf {
    pub rows: Range<usize>,
    pub node: usize,
}

struct Candidate {
    node: usize,
    rows: Range<usize>,
    histogram: Vec<Cell>,
    total: Cell,
    bounds: (f64, f64),
    /// Interaction sets that hold every column on the path.
    sets: Vec<usize>,
    depth: usize,
    best: Option<Best>,
}

/// What a level of a category gains by chance: the mean square of the gradients over the mean Hessian.
#[derive(Clone, Copy)]
struct Chance(f64);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Best {
    gain: f64,
    feature: usize,
    /// Bins that go left.
    left: [u64; 4],
    test: Test,
    missing_left: bool,
    sums: Cell,
    middle: f64,
}

pub struct Grower<'a> {
    pub ctx: &'a Ctx,
    pub bins: &'a Bins,
    pub options: &'a Options<'a>,
}

const CHUNK: usize = 1 << 15;

impl Grower<'_> {
    /// Grows a tree on this worker's `rows`, which end up side by side for each leaf. The leaves, in an order that is
    /// the same for all workers, may lack rows of this one. Values of nodes are the unshrunk Newton steps.
    pub fn grow(
        &self,
        gradients: &Gradients,
        rows: &mut [u32],
        spare: &mut Vec<u32>,
    ) -> Result<(GrownTree, Vec<Leaf>)> {
        let mut draft = GrownTree { outputs: 1, ..GrownTree::default() };
        let mut histogram = self.ctx.install(|| self.build(gradients, rows));
        let total = self.merge(&mut histogram)?;
        let root = Candidate {
            node: 0,
            rows: 0..rows.len(),
            histogram,
            total,
            bounds: (f64::NEG_INFINITY, f64::INFINITY),
            sets: (0..self.options.interactions.len()).collect(),
            depth: 0,
            best: None,
        };
        self.push(&mut draft, gradients, &root);
        let mut open = vec![root];
        let chance = self.chance(gradients, rows, total)?;
        self.search(gradients, chance, &mut open[..])?;
        while open.len() < self.options.max_leaves {
            let gain = |candidate: &Candidate| candidate.best.as_ref().map_or(0.0, |best| best.gain);
            let mut at = 0;
            for i in 1..open.len() {
                if gain(&open[i]) > gain(&open[at]) {
                    at = i;
                }
            }
            if gain(&open[at]) <= 0.0 {
                break;
            }
            let parent = open.swap_remove(at);
            let mut children = self.split(&mut draft, gradients, parent, rows, spare)?;
            self.search(gradients, chance, &mut children)?;
            open.extend(children);
        }
        let leaves = open.into_iter().map(|leaf| Leaf { rows: leaf.rows, node: leaf.node }).collect();
        Ok((draft, leaves))
    }

    /// Squares of integers are summed, so the sum is the same however rows are shared out.
    fn chance(&self, gradients: &Gradients, rows: &[u32], total: Cell) -> Result<Chance> {
        let of_choice = |map: &Map| matches!(map.feature, Feature::Category { .. }) && map.bins > 2;
        if !self.bins.maps.iter().any(of_choice) {
            return Ok(Chance(0.0));
        }
        let square = |row: &u32| i128::from(gradients.cells[*row as usize][0]).pow(2);
        let mine: i128 = self.ctx.install(|| rows.par_iter().map(square).sum());
        let all: i128 = all_gather(self.ctx.exchange(), Ok(mine))?.into_iter().sum();
        let hessian = gradients.open(total).h;
        Ok(Chance(if hessian > 0.0 { all as f64 * gradients.g * gradients.g / hessian } else { 0.0 }))
    }

    fn push(&self, draft: &mut GrownTree, gradients: &Gradients, candidate: &Candidate) {
        let sums = gradients.open(candidate.total);
        let value = self.value(&sums).clamp(candidate.bounds.0, candidate.bounds.1);
        draft.nodes.push(GrownNode {
            split: None,
            left: 0,
            right: 0,
            weight: sums.rows as f64,
            rows: sums.rows,
            impurity: 0.0,
        });
        draft.values.push(value);
    }

    fn value(&self, sums: &Sums) -> f64 {
        let h = sums.h + self.options.l2;
        if h > 0.0 { -sums.g / h } else { 0.0 }
    }

    fn group_of(&self, g: usize) -> Range<usize> {
        g * GROUP..((g + 1) * GROUP).min(self.bins.cols)
    }

    /// Counts this worker's rows of a node.
    fn build(&self, gradients: &Gradients, rows: &[u32]) -> Vec<Cell> {
        let mut histogram = vec![[0; 2]; self.bins.cols * WIDTH];
        // A run of rows in their order needs no looking up; the gradients of others are gathered once for all groups.
        let run = match (rows.first(), rows.last()) {
            (Some(&first), Some(&last))
                if rows.len() == self.bins.rows && (last - first) as usize + 1 == rows.len() =>
            {
                Some(first as usize)
            }
            _ => None,
        };
        let gathered: Vec<[i32; 2]> = match run {
            Some(_) => Vec::new(),
            None => {
                let mut cells = vec![[0; 2]; rows.len()];
                cells.par_chunks_mut(CHUNK).zip(rows.par_chunks(CHUNK)).for_each(|(cells, rows)| {
                    cells.iter_mut().zip(rows).for_each(|(cell, &row)| *cell = gradients.cells[row as usize]);
                });
                cells
            }
        };
        let cells = if run.is_some() { &gradients.cells[..rows.len()] } else { &gathered[..] };
        let shift = gradients.shift;
        let groups = histogram.chunks_mut(GROUP * WIDTH).zip(&self.bins.groups).collect::<Vec<_>>();
        // Many rows in few groups: cut the rows as well. Sums of integers do not mind.
        let pieces = if groups.len() >= 16 { 1 } else { (rows.len() / (1 << 15)).clamp(1, 8) };
        let each = rows.len().div_ceil(pieces).max(1);
        groups.into_par_iter().for_each(|(histogram, group)| {
            let width = histogram.len() / WIDTH;
            if pieces == 1 {
                count(histogram, width, group, cells, shift, rows, run);
                return;
            }
            let parts: Vec<Vec<Cell>> = rows
                .par_chunks(each)
                .zip(cells.par_chunks(each))
                .map(|(rows, cells)| {
                    let mut part = vec![[0; 2]; width * WIDTH];
                    count(&mut part, width, group, cells, shift, rows, run.map(|_| rows[0] as usize));
                    part
                })
                .collect();
            for part in parts {
                histogram.iter_mut().zip(part).for_each(|(sum, cell)| *sum = add(*sum, cell));
            }
        });
        histogram
    }

    /// The bins of a column that rows fall into.
    fn used(&self, column: usize) -> impl Iterator<Item = usize> {
        let map = &self.bins.maps[column];
        (0..map.bins).chain(map.missing.then_some(MISSING as usize)).map(move |bin| column * WIDTH + bin)
    }

    /// Adds what the others counted of the same node, to the columns that this worker owns. Returns the sum over the
    /// node.
    fn merge(&self, histogram: &mut [Cell]) -> Result<Cell> {
        let mut total = self.used(0).fold([0; 2], |sum, bin| add(sum, histogram[bin]));
        let (exchange, cols) = (self.ctx.exchange(), self.bins.cols);
        if exchange.size() == 1 {
            return Ok(total);
        }
        let used = |rank: usize| columns_of(exchange, rank, cols).flat_map(|column| self.used(column));
        let pack = |rank: usize| {
            let mut bytes =
                Vec::with_capacity((columns_of(exchange, rank, cols).len() * WIDTH + 1) * size_of::<Cell>());
            for [g, h] in [total].into_iter().chain(used(rank).map(|bin| histogram[bin])) {
                bytes.extend_from_slice(&g.to_le_bytes());
                bytes.extend_from_slice(&h.to_le_bytes());
            }
            bytes
        };
        // What stays here is not packed.
        let to = |rank: usize| if rank == exchange.rank() { Vec::new() } else { pack(rank) };
        let received = exchange.all_to_all((0..exchange.size()).map(to).collect())?;
        let own: Vec<usize> = used(exchange.rank()).collect();
        for (rank, bytes) in received.iter().enumerate().filter(|(rank, _)| *rank != exchange.rank()) {
            let (words, _) = bytes.as_chunks::<8>();
            let mut cells = words.as_chunks::<2>().0.iter().map(|cell| cell.map(i64::from_le_bytes));
            if bytes.len() != (own.len() + 1) * size_of::<Cell>() {
                return Err(Error::Worker { rank, message: "it counted other columns".into() });
            }
            total = cells.next().map_or(total, |more| add(total, more));
            own.iter().zip(cells).for_each(|(&bin, more)| histogram[bin] = add(histogram[bin], more));
        }
        Ok(total)
    }

    fn split(
        &self,
        draft: &mut GrownTree,
        gradients: &Gradients,
        parent: Candidate,
        rows: &mut [u32],
        spare: &mut Vec<u32>,
    ) -> Result<Vec<Candidate>> {
        let Some(best) = parent.best else { return Ok(vec![]) };
        let group = &self.bins.groups[best.feature / GROUP];
        let j = best.feature % GROUP;
        let goes_left = |row: u32| {
            let bin = group[row as usize][j];
            best.left[(bin >> 6) as usize] >> (bin & 63) & 1 == 1
        };
        let left_rows = self.ctx.install(|| partition(&mut rows[parent.rows.clone()], spare, goes_left));
        let cut = parent.rows.start + left_rows;
        let monotone = self.options.monotone.get(best.feature).copied().unwrap_or(0);
        let (low, high) = parent.bounds;
        let (left_bounds, right_bounds) = match monotone {
            0 => (parent.bounds, parent.bounds),
            1.. => ((low, best.middle), (best.middle, high)),
            _ => ((best.middle, high), (low, best.middle)),
        };
        let sets: Vec<usize> =
            parent.sets.into_iter().filter(|&set| self.options.interactions[set].contains(&best.feature)).collect();
        let right_total = [parent.total[0] - best.sums[0], parent.total[1] - best.sums[1]];
        let child = |node, rows, total, bounds, sets| Candidate {
            node,
            rows,
            histogram: vec![],
            total,
            bounds,
            sets,
            depth: parent.depth + 1,
            best: None,
        };
        let at = draft.nodes.len();
        draft.nodes[parent.node].left = at;
        draft.nodes[parent.node].right = at + 1;
        draft.nodes[parent.node].split =
            Some(Split { feature: best.feature, test: best.test, missing_left: best.missing_left });
        let mut left = child(at, parent.rows.start..cut, best.sums, left_bounds, sets.clone());
        let mut right = child(at + 1, cut..parent.rows.end, right_total, right_bounds, sets);
        self.push(draft, gradients, &left);
        self.push(draft, gradients, &right);
        // The last children of a full tree are never split, so they need no histogram.
        let full = draft.nodes.len() / 2 + 1 >= self.options.max_leaves || left.depth >= self.options.max_depth;
        if !full {
            // The smaller one of all workers' rows.
            let left_is_small = gradients.open(left.total).rows <= gradients.open(right.total).rows;
            let (small, large) = if left_is_small { (&mut left, &mut right) } else { (&mut right, &mut left) };
            small.histogram = self.ctx.install(|| self.build(gradients, &rows[small.rows.clone()]));
            self.merge(&mut small.histogram)?;
            large.histogram = parent.histogram;
            let pairs = large.histogram.par_chunks_mut(GROUP * WIDTH).zip(small.histogram.par_chunks(GROUP * WIDTH));
            let subtract = |(large, small): (&mut [Cell], &[Cell])| {
                large.iter_mut().zip(small).for_each(|(large, small)| {
                    large[0] -= small[0];
                    large[1] -= small[1];
                });
            };
            self.ctx.install(|| pairs.for_each(subtract));
        }
        Ok(vec![left, right])
    }

    /// The best split of each candidate that has a histogram. Of equal ones the first column's is taken.
    fn search(&self, gradients: &Gradients, chance: Chance, candidates: &mut [Candidate]) -> Result<()> {
        let tasks: Vec<(usize, usize)> = (0..candidates.len())
            .filter(|&c| !candidates[c].histogram.is_empty() && candidates[c].total[1] != 0)
            .flat_map(|c| (0..self.bins.groups.len()).map(move |g| (c, g)))
            .collect();
        if tasks.is_empty() {
            return Ok(());
        }
        let exchange = self.ctx.exchange();
        let own = columns_of(exchange, exchange.rank(), self.bins.cols);
        let task = |&(c, g): &(usize, usize)| {
            let columns = self.group_of(g).filter(|feature| own.contains(feature));
            let allowed = columns.filter(|&feature| self.allowed(&candidates[c], feature));
            let found = |feature| self.feature(gradients, chance, &candidates[c], feature);
            let best = allowed.fold(None, |best, feature| better(best, found(feature)));
            (c, best)
        };
        let found: Vec<(usize, Option<Best>)> = self.ctx.install(|| tasks.par_iter().map(task).collect());
        let mut mine: Vec<Option<Best>> = vec![None; candidates.len()];
        found.into_iter().for_each(|(c, found)| mine[c] = better(mine[c].take(), found));
        // Workers own columns in the order of their ranks.
        for found in all_gather(exchange, self.ctx.check().map(|()| mine))? {
            let found = candidates.iter_mut().zip(found);
            found.for_each(|(candidate, found)| candidate.best = better(candidate.best.take(), found));
        }
        Ok(())
    }

    fn allowed(&self, candidate: &Candidate, feature: usize) -> bool {
        let Options { interactions, max_features, seed, .. } = *self.options;
        if !interactions.is_empty() && !candidate.sets.iter().any(|&set| interactions[set].contains(&feature)) {
            return false;
        }
        if max_features >= self.bins.cols {
            return true;
        }
        // The columns whose keys are among the smallest at this node.
        let key = |feature: usize| rng::key(seed, "column", (candidate.node * self.bins.cols + feature) as u64);
        let own = key(feature);
        (0..self.bins.cols).filter(|&other| key(other) < own).count() < max_features
    }

    fn feature(&self, gradients: &Gradients, chance: Chance, candidate: &Candidate, feature: usize) -> Option<Best> {
        let map = &self.bins.maps[feature];
        let cells = &candidate.histogram[feature * WIDTH..(feature + 1) * WIDTH];
        let missing = cells[MISSING as usize];
        let total = candidate.total;
        let whole = gradients.open(total);
        let parent_gain = whole.g * whole.g / (whole.h + self.options.l2).max(f64::MIN_POSITIVE);
        let monotone = self.options.monotone.get(feature).copied().unwrap_or(0);
        let least = self.options.min_rows_leaf;
        let mut best: Option<(f64, usize, bool, Cell, f64)> = None;
        let mut judge = |cell: Cell, at: usize, missing_left: bool| {
            let left = gradients.open(cell);
            let right = gradients.open([total[0] - cell[0], total[1] - cell[1]]);
            if left.rows < least || right.rows < least || left.h < 1e-3 || right.h < 1e-3 {
                return;
            }
            let l2 = self.options.l2;
            let (mut gain, mut middle) =
                (left.g * left.g / (left.h + l2) + right.g * right.g / (right.h + l2) - parent_gain, 0.0);
            if monotone != 0 || candidate.bounds.0.is_finite() || candidate.bounds.1.is_finite() {
                let clamp = |sums: &Sums| self.value(sums).clamp(candidate.bounds.0, candidate.bounds.1);
                let (l, r) = (clamp(&left), clamp(&right));
                if (r - l) * (monotone as f64) < 0.0 {
                    return;
                }
                // Loss at the bounded values, negated and doubled.
                let at = |sums: &Sums, v: f64| -2.0 * sums.g * v - (sums.h + l2) * v * v;
                gain = at(&left, l) + at(&right, r) - at(&whole, clamp(&whole));
                middle = (l + r) / 2.0;
            }
            if best.is_none_or(|best| gain > best.0) && gain > 1e-12 * parent_gain.abs() {
                best = Some((gain, at, missing_left, cell, middle));
            }
        };
        let mut order: Vec<usize> = (0..map.bins).collect();
        if matches!(map.feature, Feature::Category { .. }) {
            let rank = |bin: usize| {
                let sums = gradients.open(cells[bin]);
                // Few rows say little about a level: they are drawn to the middle.
                sums.g / (sums.h + 10.0)
            };
            order.retain(|&bin| cells[bin][1] != 0);
            order.sort_by(|&a, &b| rank(a).total_cmp(&rank(b)).then(a.cmp(&b)));
        }
        let directions: &[bool] = if missing[1] == 0 { &[false] } else { &[false, true] };
        for &missing_left in directions {
            let mut sum = if missing_left { missing } else { [0; 2] };
            let last = if missing[1] != 0 && !missing_left { order.len() } else { order.len().saturating_sub(1) };
            for (at, &bin) in order[..last].iter().enumerate() {
                if cells[bin][1] != 0 {
                    sum = add(sum, cells[bin]);
                    judge(sum, at, missing_left);
                }
            }
        }
        let (mut gain, at, mut missing_left, sums, middle) = best?;
        if matches!(map.feature, Feature::Category { .. }) {
            // Two levels leave no choice of an order.
            gain -= chance.0 * order.len().saturating_sub(2) as f64;
            if gain <= 1e-12 * parent_gain.abs() {
                return None;
            }
        }
        if missing[1] == 0 {
            let left = gradients.open(sums).rows;
            missing_left = 2 * left > whole.rows;
        }
        let mut left = [0u64; 4];
        order[..=at].iter().for_each(|&bin| left[bin / 64] |= 1 << (bin % 64));
        if missing_left {
            left[3] |= 1 << 63;
        }
        let test = match map.feature {
            Feature::Number => Test::AtMost(map.edge(at)),
            Feature::Category { levels } => {
                let mut set = vec![0u64; (levels as usize).div_ceil(64)];
                let binned = order[..=at].iter().map(|&bin| map.levels[bin] as usize);
                // A level without a bin was counted as missing; one without a row here goes the same way.
                let absent =
                    (0..map.levels.len()).filter(|&bin| cells[bin][1] == 0).map(|bin| map.levels[bin] as usize);
                for level in binned.chain(map.without_bin().chain(absent).filter(|_| missing_left)) {
                    set[level / 64] |= 1 << (level % 64);
                }
                Test::Among(set.into())
            }
        };
        Some(Best { gain, feature, left, test, missing_left, sums, middle })
    }
}

/// The split of more gain; the first of equal ones.
fn better(first: Option<Best>, second: Option<Best>) -> Option<Best> {
    match (first, second) {
        (Some(first), Some(second)) => Some(if second.gain > first.gain { second } else { first }),
        (first, second) => first.or(second),
    }
}

fn add(a: Cell, b: Cell) -> Cell {
    [a[0] + b[0], a[1] + b[1]]
}

/// Each row adds its gradient to one bin of each column of a group. `run`: the rows are this one and those after it.
fn count(
    histogram: &mut [Cell],
    width: usize,
    group: &[[u8; GROUP]],
    cells: &[[i32; 2]],
    shift: u32,
    rows: &[u32],
    run: Option<usize>,
) {
    let count = match width {
        1 => count_columns::<1>,
        2 => count_columns::<2>,
        3 => count_columns::<3>,
        4 => count_columns::<4>,
        5 => count_columns::<5>,
        6 => count_columns::<6>,
        7 => count_columns::<7>,
        _ => count_columns::<GROUP>,
    };
    count(histogram, group, cells, shift, rows, run);
}

/// The hot loop.
fn count_columns<const COLUMNS: usize>(
    histogram: &mut [Cell],
    group: &[[u8; GROUP]],
    cells: &[[i32; 2]],
    shift: u32,
    rows: &[u32],
    run: Option<usize>,
) {
    let Some(histogram) = histogram.as_chunks_mut::<WIDTH>().0.first_chunk_mut::<COLUMNS>() else { return };
    let mut put = |bins: [u8; GROUP], [g, h]: [i32; 2]| {
        let cell = [i64::from(g), (i64::from(h) << shift) + 1];
        for j in 0..COLUMNS {
            let bin = &mut histogram[j][bins[j] as usize];
            bin[0] += cell[0];
            bin[1] += cell[1];
        }
    };
    if let Some(first) = run {
        group[first..first + rows.len()].iter().zip(cells).for_each(|(bins, cell)| put(*bins, *cell));
        return;
    }
    for (at, (&row, &cell)) in rows.iter().zip(cells).enumerate() {
        if let Some(&ahead) = rows.get(at + AHEAD) {
            simd::prefetch(&group[ahead as usize]);
        }
        put(group[row as usize], cell);
    }
}

/// How many rows ahead memory is asked for.
const AHEAD: usize = 16;

/// Stable partition; large ranges in chunks and in parallel.
fn partition(rows: &mut [u32], spare: &mut Vec<u32>, left: impl Fn(u32) -> bool + Sync) -> usize {
    let n = rows.len();
    if spare.len() < n {
        spare.resize(n, 0);
    }
    let spare = &mut spare[..n];
    let one = |(from, to): (&[u32], &mut [u32])| {
        // Left ones from the front, right ones from the back, reversed. Written to both ends, where the wrong one is
        // written over later: which way a row goes is a coin that no branch predictor guesses.
        let (mut l, mut r) = (0, to.len());
        for &row in from {
            let goes = usize::from(left(row));
            to[l] = row;
            to[r - 1] = row;
            l += goes;
            r -= 1 - goes;
        }
        to[l..].reverse();
        l
    };
    let counts: Vec<usize> = match n <= 2 * CHUNK {
        true => vec![one((rows, spare))],
        false => rows.par_chunks(CHUNK).zip(spare.par_chunks_mut(CHUNK)).map(one).collect(),
    };
    let chunk = if n <= 2 * CHUNK { n.max(1) } else { CHUNK };
    let total: usize = counts.iter().sum();
    let (mut lefts, mut rights) = rows.split_at_mut(total);
    let mut jobs = Vec::with_capacity(counts.len());
    for (from, &count) in spare.chunks(chunk).zip(&counts) {
        let (l, rest) = lefts.split_at_mut(count);
        let (r, tail) = rights.split_at_mut(from.len() - count);
        jobs.push((from, l, r));
        (lefts, rights) = (rest, tail);
    }
    let copy = |(from, l, r): (&[u32], &mut [u32], &mut [u32])| {
        l.copy_from_slice(&from[..l.len()]);
        r.copy_from_slice(&from[l.len()..]);
    };
    if jobs.len() > 1 {
        jobs.into_par_iter().for_each(copy)
    } else {
        jobs.into_iter().for_each(copy)
    }
    total
}
