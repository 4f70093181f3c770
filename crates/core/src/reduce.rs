//! Training as a sum: a statistic per block of rows, merged along one fixed binary tree.
//!
//! Rows are cut into leaves whose size depends on the shape of the problem alone. Leaf statistics merge along the
//! binary tree over leaf numbers; a thread or a worker computes whole subtrees, and workers exchange the subtrees that
//! they hold. The result is therefore the same to the last bit for any number of threads and workers, from memory or
//! from disk.

use crate::{
    Ctx, Error, Result,
    ctx::all_gather,
    data::Batch,
    source::{Buffers, Shape, Source},
};
use serde::{Serialize, de::DeserializeOwned};
use std::{collections::BTreeMap, ops::Range};

/// A sum over rows.
pub trait Reduce: Sync {
    type Stat: Send + Serialize + DeserializeOwned;

    fn zero(&self) -> Self::Stat;

    /// Adds a batch of at most [`block_rows`] rows.
    fn add(&self, stat: &mut Self::Stat, batch: &Batch) -> Result<()>;

    /// Called when the last batch of a leaf was added, for statistics that keep work under way.
    fn close(&self, _stat: &mut Self::Stat) {}

    /// Adds what was summed over the rows that follow.
    fn merge(&self, left: &mut Self::Stat, right: Self::Stat);
}

/// A sum over rows that also keeps something for every row from pass to pass (a bound, a label, a margin).
pub trait Sweep: Sync {
    type Stat: Send + Serialize + DeserializeOwned;
    type Cell: Send;

    fn zero(&self) -> Self::Stat;

    /// `cells[i]` belongs to row i of the batch.
    fn add(&self, stat: &mut Self::Stat, batch: &Batch, cells: &mut [Self::Cell]) -> Result<()>;

    /// Called when the last batch of a leaf was added, for statistics that keep work under way.
    fn close(&self, _stat: &mut Self::Stat) {}

    fn merge(&self, left: &mut Self::Stat, right: Self::Stat);
}

/// Rows of one batch: about half a megabyte of dense numbers, so that a kernel can go over them twice in cache.
pub fn block_rows(cols: usize) -> usize {
    let fitting = (1 << 16) / cols.max(1);
    if fitting >= 4096 { 4096 } else { (fitting.max(1).next_power_of_two()).clamp(256, 4096) }
}

/// No more leaves than this: enough for many threads, few enough that merging large statistics costs little.
const LEAVES: usize = 128;

/// Rows of one leaf: whole blocks, from the shape of the whole problem. As many rows as columns at least, so that
/// statistics of pairs of columns cost more to make than to merge.
pub fn leaf_rows(shape: &Shape) -> usize {
    let block = block_rows(shape.cols);
    let blocks = shape.rows.div_ceil(block).max(1);
    let square = shape.cols.min(2048).div_ceil(block);
    block * blocks.div_ceil(LEAVES).max(square).next_power_of_two()
}

/// Where a worker's rows must begin and end so that it holds whole leaves: the cut nearest to an even share.
pub fn shares(shape: &Shape, workers: usize) -> Vec<Range<usize>> {
    let leaf = leaf_rows(shape);
    let leaves = shape.rows.div_ceil(leaf);
    let cut = |worker: usize| (worker * leaves / workers * leaf).min(shape.rows);
    (0..workers).map(|worker| cut(worker)..cut(worker + 1)).collect()
}

/// The leaves of a worker that holds these rows, which must be whole leaves.
pub fn held_leaves(shape: &Shape, held: &Range<usize>) -> Result<Range<usize>> {
    let leaf = leaf_rows(shape);
    let is_edge = |row: usize| row.is_multiple_of(leaf) || row == shape.rows;
    if !is_edge(held.start) || !is_edge(held.end) {
        return Err(Error::shape("a worker's rows", format!("whole blocks of {leaf}"), format!("{held:?}")));
    }
    Ok(held.start.div_ceil(leaf)..held.end.div_ceil(leaf))
}

/// The sum over all rows of all workers.
pub fn reduce<R: Reduce>(ctx: &Ctx, source: &dyn Source, sum: &R) -> Result<R::Stat> {
    struct Cellless<'a, R>(&'a R);
    impl<R: Reduce> Sweep for Cellless<'_, R> {
        type Stat = R::Stat;
        type Cell = ();
        fn zero(&self) -> R::Stat {
            self.0.zero()
        }
        fn add(&self, stat: &mut R::Stat, batch: &Batch, _: &mut [()]) -> Result<()> {
            self.0.add(stat, batch)
        }
        fn close(&self, stat: &mut R::Stat) {
            self.0.close(stat);
        }
        fn merge(&self, left: &mut R::Stat, right: R::Stat) {
            self.0.merge(left, right);
        }
    }
    // Cells of no size cost nothing.
    sweep(ctx, source, &Cellless(sum), &mut vec![(); source.held().len()])
}

/// The sum over all rows of all workers, with `cells` of this worker's rows at hand.
pub fn sweep<S: Sweep>(ctx: &Ctx, source: &dyn Source, sum: &S, cells: &mut [S::Cell]) -> Result<S::Stat> {
    let shape = source.shape();
    let (held, leaf) = (source.held(), leaf_rows(&shape));
    if shape.rows == 0 {
        return Ok(sum.zero());
    }
    let pass = Pass { ctx, source, sum, rows: shape.rows, leaf, block: block_rows(shape.cols) };
    let mut mine = Vec::new();
    let outcome = held_leaves(&shape, &held)
        .and_then(|leaves| ctx.install(|| pass.collect(0, shape.rows.div_ceil(leaf), &leaves, cells, &mut mine)));
    let merge = |left: &mut S::Stat, right: S::Stat| sum.merge(left, right);
    let total = join_all(ctx, shape.rows.div_ceil(leaf), outcome.map(|()| mine), &merge)?;
    ctx.rows(shape.rows);
    Ok(total)
}

/// The sum of `count` units along the fixed tree, where this worker computed those of `mine`, in order, and the others
/// the rest. For sums over something else than the rows of a source: the blocks of a minibatch.
pub fn merge_units<T: Serialize + DeserializeOwned>(
    ctx: &Ctx,
    count: usize,
    mine: Range<usize>,
    units: Result<Vec<T>>,
    merge: &dyn Fn(&mut T, T),
) -> Result<T> {
    fn sum<T>(lo: usize, hi: usize, units: &mut impl Iterator<Item = T>, merge: &dyn Fn(&mut T, T)) -> T {
        if hi - lo == 1 {
            return units.next().expect("a unit for each of mine");
        }
        let mid = middle(lo, hi);
        let mut left = sum(lo, mid, units, merge);
        merge(&mut left, sum(mid, hi, units, merge));
        left
    }
    let mine = units.map(|units| {
        // Subtrees come in the order of their units.
        let mut units = units.into_iter();
        let trees = subtrees(0, count, &mine).into_iter();
        trees.map(|Range { start, end }| (start, end, sum(start, end, &mut units, merge))).collect()
    });
    join_all(ctx, count, mine, merge)
}

/// The largest subtrees under lo..hi whose units are all among `mine`, in order.
pub fn subtrees(lo: usize, hi: usize, mine: &Range<usize>) -> Vec<Range<usize>> {
    if hi <= mine.start || mine.end <= lo {
        return Vec::new();
    }
    if mine.start <= lo && hi <= mine.end {
        return std::iter::once(lo..hi).collect();
    }
    let mid = middle(lo, hi);
    [subtrees(lo, mid, mine), subtrees(mid, hi, mine)].concat()
}

/// A subtree: first leaf, leaf behind the last, statistic.
type Subtree<T> = (usize, usize, T);

struct Pass<'a, S> {
    ctx: &'a Ctx,
    source: &'a dyn Source,
    sum: &'a S,
    rows: usize,
    leaf: usize,
    block: usize,
}

/// Where the node over leaves lo..hi is cut: its left child is a full binary tree.
pub fn middle(lo: usize, hi: usize) -> usize {
    lo + (hi - lo).next_power_of_two() / 2
}

impl<S: Sweep> Pass<'_, S> {
    /// The largest subtrees under lo..hi whose leaves are all held here.
    fn collect(
        &self,
        lo: usize,
        hi: usize,
        held: &Range<usize>,
        cells: &mut [S::Cell],
        found: &mut Vec<Subtree<S::Stat>>,
    ) -> Result<()> {
        if hi <= held.start || held.end <= lo {
            return Ok(());
        }
        if held.start <= lo && hi <= held.end {
            found.push((lo, hi, self.subtree(lo, hi, cells)?));
            return Ok(());
        }
        let mid = middle(lo, hi);
        let row = |leaf: usize| (leaf.clamp(held.start, held.end) * self.leaf).min(self.rows);
        let (left, right) = cells.split_at_mut(row(mid) - row(lo));
        self.collect(lo, mid, held, left, found)?;
        self.collect(mid, hi, held, right, found)
    }

    fn subtree(&self, lo: usize, hi: usize, cells: &mut [S::Cell]) -> Result<S::Stat> {
        if hi - lo == 1 {
            return self.leaf(lo, cells);
        }
        let mid = middle(lo, hi);
        let (left, right) = cells.split_at_mut((mid - lo) * self.leaf);
        let (mut left_sum, mut right_sum) = (None, None);
        both(&mut || left_sum = Some(self.subtree(lo, mid, left)), &mut || {
            right_sum = Some(self.subtree(mid, hi, right))
        });
        let mut sum = left_sum.expect("it ran")?;
        self.sum.merge(&mut sum, right_sum.expect("it ran")?);
        Ok(sum)
    }

    fn leaf(&self, leaf: usize, cells: &mut [S::Cell]) -> Result<S::Stat> {
        let mut stat = self.sum.zero();
        let mut buffers = Buffers::default();
        let first = leaf * self.leaf;
        let last = (first + self.leaf).min(self.rows);
        for start in (first..last).step_by(self.block) {
            self.ctx.check()?;
            let end = (start + self.block).min(last);
            let batch = self.source.read(start..end, &mut buffers)?;
            self.sum.add(&mut stat, &batch, &mut cells[start - first..end - first])?;
        }
        self.sum.close(&mut stat);
        Ok(stat)
    }
}

/// Two things at once. Erased, so that it is compiled once and not for every sum.
fn both(left: &mut (dyn FnMut() + Send), right: &mut (dyn FnMut() + Send)) {
    rayon::join(left, right);
}

/// The sum over all leaves from everyone's subtrees.
fn join_all<T: Serialize + DeserializeOwned>(
    ctx: &Ctx,
    leaves: usize,
    mine: Result<Vec<Subtree<T>>>,
    merge: &dyn Fn(&mut T, T),
) -> Result<T> {
    let everyone = all_gather(ctx.exchange(), mine)?.into_iter().flatten();
    join(merge, 0, leaves, &mut everyone.map(|(lo, hi, stat)| ((lo, hi), stat)).collect())
}

fn join<T>(merge: &dyn Fn(&mut T, T), lo: usize, hi: usize, subtrees: &mut BTreeMap<(usize, usize), T>) -> Result<T> {
    if let Some(stat) = subtrees.remove(&(lo, hi)) {
        return Ok(stat);
    }
    if hi - lo == 1 {
        return Err(Error::Data(format!("no worker holds block {lo}")));
    }
    let mid = middle(lo, hi);
    let mut left = join(merge, lo, mid, subtrees)?;
    merge(&mut left, join(merge, mid, hi, subtrees)?);
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Data, X, ctx::workers, source::Shard};

    /// A sum whose bits betray any other order of adding.
    struct Total;

    impl Reduce for Total {
        type Stat = f64;
        fn zero(&self) -> f64 {
            0.0
        }
        fn add(&self, stat: &mut f64, batch: &Batch) -> Result<()> {
            batch.x.iter().for_each(|row| row.for_each(|_, value| *stat += value));
            Ok(())
        }
        fn merge(&self, left: &mut f64, right: f64) {
            *left += right;
        }
    }

    /// Remembers which leaves met in which order, so that a wrong tree shows as itself and not as a rounding error.
    struct Shape;

    impl Reduce for Shape {
        type Stat = String;
        fn zero(&self) -> String {
            String::new()
        }
        fn add(&self, stat: &mut String, batch: &Batch) -> Result<()> {
            *stat += &format!("{}:", batch.first / block_rows(1));
            Ok(())
        }
        fn merge(&self, left: &mut String, right: String) {
            *left = format!("({left}{right})");
        }
    }

    #[test]
    fn the_tree_is_fixed() {
        let values = vec![0.0; 5 * block_rows(1) - 7];
        let data = Data::new(X::dense(&values, 1).unwrap());
        for threads in [1, 2, 3, 7] {
            let ctx = Ctx::new(0).with_threads(threads);
            assert_eq!(reduce(&ctx, &data, &Shape).unwrap(), "(((0:1:)(2:3:))4:)");
        }
    }

    #[test]
    fn same_bits_for_any_number_of_threads_and_workers() {
        let values: Vec<f64> = (0..900_001).map(|i| (i as f64 * 0.37).sin() * 1e3).collect();
        let data = Data::new(X::dense(&values, 1).unwrap());
        let alone = reduce(&Ctx::new(0).with_threads(1), &data, &Total).unwrap();
        for threads in [2, 3, 7] {
            let total = reduce(&Ctx::new(0).with_threads(threads), &data, &Total).unwrap();
            assert_eq!(total.to_bits(), alone.to_bits());
        }
        for count in [1, 2, 3, 4, 10] {
            let shares = shares(&data.shape(), count);
            let totals = workers(count, |exchange| {
                let shard = Shard::window(&data, shares[exchange.rank()].clone());
                reduce(&Ctx::new(0).with_threads(2).with_exchange(exchange), &shard, &Total).unwrap()
            });
            assert!(totals.iter().all(|total| total.to_bits() == alone.to_bits()), "{count} workers");
        }
    }

    #[test]
    fn units_merge_along_the_same_tree() {
        let merge = |left: &mut String, right: String| *left = format!("({left}{right})");
        for (count, expected) in [(1, "0"), (3, "((01)2)"), (6, "(((01)(23))(45))")] {
            for size in [1, 2, 3, 4] {
                let sums = workers(size, |exchange| {
                    let mine = exchange.rank() * count / size..(exchange.rank() + 1) * count / size;
                    let units = Ok(mine.clone().map(|unit| unit.to_string()).collect());
                    merge_units(&Ctx::new(0).with_exchange(exchange), count, mine, units, &merge).unwrap()
                });
                assert!(sums.iter().all(|sum| sum == expected), "{size} workers: {sums:?}");
            }
        }
    }

    /// Puts the number of each row into its cell and counts the rows that had it already.
    struct Mark;

    impl Sweep for Mark {
        type Stat = usize;
        type Cell = usize;
        fn zero(&self) -> usize {
            0
        }
        fn add(&self, stat: &mut usize, batch: &Batch, cells: &mut [usize]) -> Result<()> {
            for (i, cell) in cells.iter_mut().enumerate() {
                *stat += usize::from(*cell == batch.first + i);
                *cell = batch.first + i;
            }
            Ok(())
        }
        fn merge(&self, left: &mut usize, right: usize) {
            *left += right;
        }
    }

    #[test]
    fn cells_stay_with_their_rows() {
        let values = vec![0.0; 30_011];
        let data = Data::new(X::dense(&values, 1).unwrap());
        for count in [1, 3, 4] {
            let shares = shares(&data.shape(), count);
            workers(count, |exchange| {
                let held = shares[exchange.rank()].clone();
                let shard = Shard::window(&data, held.clone());
                let ctx = Ctx::new(0).with_threads(2).with_exchange(exchange);
                let mut cells = vec![usize::MAX; held.len()];
                assert_eq!(sweep(&ctx, &shard, &Mark, &mut cells).unwrap(), 0);
                assert_eq!(sweep(&ctx, &shard, &Mark, &mut cells).unwrap(), 30_011);
                assert!(cells.iter().copied().eq(held));
            });
        }
    }

    #[test]
    fn a_failing_worker_stops_all_with_its_message() {
        struct Fails;
        impl Reduce for Fails {
            type Stat = ();
            fn zero(&self) {}
            fn add(&self, _: &mut (), batch: &Batch) -> Result<()> {
                if batch.first == 0 { Err(Error::Data("row 0 is bad".into())) } else { Ok(()) }
            }
            fn merge(&self, _: &mut (), _: ()) {}
        }
        let values = vec![0.0; 50_000];
        let data = Data::new(X::dense(&values, 1).unwrap());
        let shares = shares(&data.shape(), 3);
        let errors = workers(3, |exchange| {
            let shard = Shard::window(&data, shares[exchange.rank()].clone());
            reduce(&Ctx::new(0).with_threads(1).with_exchange(exchange), &shard, &Fails).unwrap_err().to_string()
        });
        assert_eq!(errors, ["row 0 is bad", "worker 0: row 0 is bad", "worker 0: row 0 is bad"]);
    }
}
