//! Growing one tree with exact best splits.
//!
//! At a node every candidate column is ordered by its ranks ([`Columns`]): counted into bins where the ranks lie close
//! together, sorted as integers where not; small subtrees order their rows once ([`Order`]). Rows then move from right
//! to left one distinct value at a time, and an [`Impurity`] says how pure the two sides are. Rows are partitioned in
//! place and keep their order. Cost: O(rows x candidates) a level, sorting of small nodes apart.
//!
//! Ties go to the first column and the lowest threshold; what rounding cannot tell apart is a tie. A category is split
//! into two sets of levels: in the order of the mean target the best cut is the best of all subsets (Fisher 1958;
//! Breiman et al. 1984), for more than two classes the order is tried for each class. Sorted means of many levels
//! explain much by chance alone, so as much is taken off as they would where the target does not depend on them, like
//! in an adjusted R2. Missing values are tried on both sides; levels that a node has no row of go where the missing go.
//! The random choices at a node hang on its path from the root, so subtrees can grow in any order, on any thread and on
//! any worker (`grow/on_workers.rs`).

use crate::{
    Ctx, Error, Feature, Result,
    core::rng,
    engine::{
        columns::{Column, Columns, MISSING},
        order::{self, Marks, Order},
        tree::{GrownNode, GrownTree, Split, Test, contains},
    },
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BinaryHeap;

mod node;
mod on_workers;

use node::Node;

/// When to stop and what to try.
#[derive(Clone, Debug)]
pub struct Limits {
    pub max_depth: usize,
    pub min_rows_split: usize,
    pub min_rows_leaf: usize,
    pub min_weight_leaf: f64,
    pub max_features: usize,
    /// Best first up to so many leaves, instead of everything.
    pub max_leaves: Option<usize>,
    pub min_decrease: f64,
    /// One random threshold a column instead of the best.
    pub random: bool,
    /// In large nodes, the best of evenly ranked cuts and then the best around it, instead of the best of all.
    pub coarse: bool,
    /// A split must differ from chance at this level.
    pub significance: Option<f64>,
}

impl Limits {
    pub fn none(cols: usize) -> Self {
        Limits {
            max_depth: usize::MAX,
            min_rows_split: 2,
            min_rows_leaf: 1,
            min_weight_leaf: 0.0,
            max_features: cols,
            max_leaves: None,
            min_decrease: 0.0,
            random: false,
            coarse: false,
            significance: None,
        }
    }
}

/// What a tree minimises, as seen from one node: sums over rows that move from the right side to the left.
///
/// With G(side) the weight of a side times the part of its impurity that depends on the cut, negated, the decrease of
/// weighted impurity by a split is G(left) + G(right) - G(node).
pub trait Impurity: Clone + Send + Sync {
    /// Numbers kept for a bin; 0 where a bin is not enough to know.
    fn bin_width(&self) -> usize;
    /// Numbers in a leaf.
    fn outputs(&self) -> usize;
    /// Takes up the rows of a node; from here on a row is known by its place among them.
    fn load(&mut self, rows: &[u32]);
    fn weight(&self) -> f64;
    fn of_node(&self) -> f64;
    fn gain(&self) -> f64;
    /// Nothing is left to tell apart.
    fn pure(&self) -> bool;
    fn value(&self, out: &mut Vec<f64>);
    /// How many orders of categories are worth trying, and what a row adds to the mean of its level in one: (weight,
    /// weighted value).
    fn orders(&self) -> usize {
        1
    }
    fn order_by(&self, i: usize, order: usize) -> (f64, f64);

    /// All rows to the right. `sequence` is the order in which they will move, empty when whole bins move.
    fn start(&mut self, sequence: &[u32]);
    fn take(&mut self, i: usize);
    fn clear_bins(&mut self, bins: usize);
    fn add_to_bin(&mut self, bin: usize, i: usize);
    fn take_bin(&mut self, bin: usize);
    fn sides(&self) -> (f64, f64);
    fn score(&self) -> f64;
    /// The scores after each row of `sequence` has moved, where all of them together cost less than one by one.
    fn scores(&mut self, _sequence: &[u32], _out: &mut Vec<f64>) -> bool {
        false
    }

    /// Probability of a split at least as good where the target does not depend on the side. Rows with `left` have
    /// moved.
    fn p_value(&self, left: &[bool]) -> f64;
}

/// Grows a tree on `samples`, row numbers in rising order.
pub fn grow<M: Impurity>(
    ctx: &Ctx,
    columns: &Columns,
    impurity: M,
    mut samples: Vec<u32>,
    limits: &Limits,
    seed: u64,
    parallel: bool,
) -> Result<GrownTree> {
    if samples.is_empty() {
        return Err(Error::Data("a tree needs at least one row of positive weight".into()));
    }
    let mut probe = impurity.clone();
    probe.load(&samples);
    let grower = Grower { ctx, columns, limits, total: probe.weight(), parallel };
    let mut workspace = Workspace { impurity, scratch: Scratch::default() };
    if limits.max_leaves.is_some() {
        return grower.best_first(&mut workspace, &mut samples, seed);
    }
    grower.depth_first(&mut workspace, &mut samples, seed)
}

struct Grower<'a> {
    ctx: &'a Ctx,
    columns: &'a Columns,
    limits: &'a Limits,
    total: f64,
    parallel: bool,
}

/// What one thread works with.
#[derive(Clone)]
struct Workspace<M> {
    impurity: M,
    scratch: Scratch,
}

#[derive(Clone, Default)]
struct Scratch {
    codes: Vec<u32>,
    keys: Vec<u64>,
    spare: Vec<u64>,
    counts: Vec<u32>,
    sequence: Vec<u32>,
    missing: Vec<u32>,
    right: Vec<u32>,
    scores: Vec<f64>,
    marks: Marks,
    numbers: Vec<u32>,
}

/// Nodes with more rows than this are opened one after the other, their columns in parallel; smaller subtrees grow in
/// parallel. In unit tests a smaller table has both.
const LARGE: usize = if cfg!(test) { 1 << 13 } else { 1 << 14 };

/// From this many rows on, cuts are scored together.
const TOGETHER: usize = 16;

/// Evenly ranked cuts of a large node, at most.
const COARSE: usize = 256;

/// A node to be opened.
#[derive(Clone, Copy)]
struct Task {
    start: usize,
    end: usize,
    depth: usize,
    seed: u64,
    /// Where its number goes.
    parent: Option<(usize, bool)>,
}

impl Task {
    fn rows(&self) -> usize {
        self.end - self.start
    }

    fn child(&self, parent: usize, left: bool, start: usize, end: usize) -> Task {
        let seed = mix(self.seed ^ if left { 0x9e37_79b9_7f4a_7c15 } else { 0xd1b5_4a32_d192_ed03 });
        Task { start, end, depth: self.depth + 1, seed, parent: Some((parent, left)) }
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A few draws at a node: splitmix64, a whole stream would cost more than a small node.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    fn uniform(&mut self) -> f64 {
        rng::unit(self.next())
    }
}

/// The best split of a column, or of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Candidate {
    score: f64,
    feature: usize,
    cut: Cut,
    missing_left: bool,
}

/// A test on codes.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Cut {
    /// The last code on the left, and the first on the right: missing when only the missing are there. The threshold
    /// lies between.
    Between(u32, u32),
    /// The last code on the left, and the threshold.
    At(u32, f64),
    Among(Box<[u64]>),
}

impl Cut {
    /// Values are looked up here: of all columns that are tried only the best needs a threshold.
    fn with_threshold(self, column: &Column) -> Cut {
        match self {
            Cut::Between(last, MISSING) => Cut::At(last, f64::INFINITY),
            Cut::Between(last, next) => Cut::At(last, column.between(last, next)),
            known => known,
        }
    }

    fn test(self, column: &Column) -> Test {
        match self.with_threshold(column) {
            Cut::Between(..) => unreachable!("it is settled"),
            Cut::At(_, threshold) => Test::AtMost(threshold),
            Cut::Among(set) => Test::Among(set),
        }
    }
}

impl Candidate {
    #[inline]
    fn goes_left(&self, code: u32) -> bool {
        match &self.cut {
            _ if code == MISSING => self.missing_left,
            Cut::Between(last, _) | Cut::At(last, _) => code <= *last,
            Cut::Among(set) => contains(set, code as usize),
        }
    }
}

impl Grower<'_> {
    fn depth_first<M: Impurity>(
        &self,
        workspace: &mut Workspace<M>,
        samples: &mut [u32],
        seed: u64,
    ) -> Result<GrownTree> {
        let mut draft = GrownTree { outputs: workspace.impurity.outputs(), ..GrownTree::default() };
        let mut small = Vec::new();
        let mut stack = vec![Task { start: 0, end: samples.len(), depth: 0, seed, parent: None }];
        while let Some(task) = stack.pop() {
            if task.parent.is_some() && task.rows() <= LARGE {
                small.push(task);
                continue;
            }
            let rows = &mut samples[task.start..task.end];
            if let Some((at, left)) = self.step(workspace, &mut draft, rows, None, &task)? {
                stack.push(task.child(at, false, task.start + left, task.end));
                stack.push(task.child(at, true, task.start, task.start + left));
            }
        }
        small.sort_by_key(|task| task.start);
        let drafts = match &self.columns.dealt {
            None => self.subtrees(workspace, &small, samples)?,
            Some(dealt) => self.subtrees_together(workspace, &small, samples, dealt)?,
        };
        for (task, part) in small.iter().zip(drafts) {
            let offset = draft.nodes.len();
            if let Some((parent, left)) = task.parent {
                *(if left { &mut draft.nodes[parent].left } else { &mut draft.nodes[parent].right }) = offset;
            }
            draft.values.extend(part.values);
            draft.nodes.extend(part.nodes.into_iter().map(|mut node| {
                node.left += offset;
                node.right += offset;
                node
            }));
        }
        Ok(draft)
    }

    /// Grows small subtrees on their parts of the samples, in rising order.
    fn subtrees<M: Impurity>(
        &self,
        workspace: &mut Workspace<M>,
        tasks: &[Task],
        samples: &mut [u32],
    ) -> Result<Vec<GrownTree>> {
        let mut parts = Vec::with_capacity(tasks.len());
        let (mut rest, mut offset) = (samples, 0);
        for task in tasks {
            let (_, tail) = rest.split_at_mut(task.start - offset);
            let (part, tail) = tail.split_at_mut(task.rows());
            parts.push((*task, part));
            (rest, offset) = (tail, task.end);
        }
        let subtree =
            |workspace: &mut Workspace<M>, (task, rows): (Task, &mut [u32])| self.subtree(workspace, task, rows);
        if self.parallel && parts.len() > 1 {
            return parts.into_par_iter().map_init(|| workspace.clone(), subtree).collect();
        }
        parts.into_iter().map(|part| subtree(workspace, part)).collect()
    }

    fn subtree<M: Impurity>(&self, workspace: &mut Workspace<M>, task: Task, rows: &mut [u32]) -> Result<GrownTree> {
        self.ctx.check()?;
        let mut draft = GrownTree { outputs: workspace.impurity.outputs(), ..GrownTree::default() };
        let mut stack = vec![Task { start: 0, end: rows.len(), parent: None, ..task }];
        // The order of the small subtree that is being grown: its nodes lie on top of the stack until it is done.
        let mut order: Option<(Order, usize)> = None;
        while let Some(task) = stack.pop() {
            let range = task.start..task.end;
            if order.as_ref().is_some_and(|(_, depth)| stack.len() < *depth) {
                order = None;
            }
            let pays = range.len() <= order::MOST
                && range.len() >= order::LEAST
                && self.limits.max_depth - task.depth > 2
                && !self.limits.random;
            if order.is_none() && pays {
                let Scratch { keys, spare, .. } = &mut workspace.scratch;
                order = Some((Order::new(self.columns, &rows[range.clone()], keys, spare), stack.len()));
                (0..).zip(&mut rows[range.clone()]).for_each(|(i, row)| *row = i);
            }
            let known = order.as_ref().map(|(order, _)| order);
            if let Some((at, left)) = self.step(workspace, &mut draft, &mut rows[range], known, &task)? {
                stack.push(task.child(at, false, task.start + left, task.end));
                stack.push(task.child(at, true, task.start, task.start + left));
            }
        }
        Ok(draft)
    }

    /// Opens a node, adds it to the draft and partitions its rows; returns its number and how many went left.
    fn step<M: Impurity>(
        &self,
        workspace: &mut Workspace<M>,
        draft: &mut GrownTree,
        rows: &mut [u32],
        order: Option<&Order>,
        task: &Task,
    ) -> Result<Option<(usize, usize)>> {
        let (at, found) = self.open(workspace, draft, rows, order, task)?;
        found.map(|found| Ok((at, self.split(workspace, draft, rows, order, at, found)?))).transpose()
    }

    fn split<M>(
        &self,
        workspace: &mut Workspace<M>,
        draft: &mut GrownTree,
        rows: &mut [u32],
        order: Option<&Order>,
        at: usize,
        found: Candidate,
    ) -> Result<usize> {
        let right = &mut workspace.scratch.right;
        let left = match (order, &self.columns.dealt) {
            (Some(order), _) => partition(rows, |row| found.goes_left(order.code(found.feature, row)), right),
            (None, Some(dealt)) => {
                let mut sides = self.sides_together(&found, rows, dealt)?.into_iter();
                partition(rows, |_| sides.next().unwrap_or(false), right)
            }
            (None, None) => {
                let codes = &self.columns.columns[found.feature].codes;
                partition(rows, |row| found.goes_left(codes[row as usize]), right)
            }
        };
        let test = found.cut.test(&self.columns.columns[found.feature]);
        draft.nodes[at].split = Some(Split { feature: found.feature, test, missing_left: found.missing_left });
        Ok(left)
    }

    /// The leaf that gains most is split next.
    fn best_first<M: Impurity>(
        &self,
        workspace: &mut Workspace<M>,
        samples: &mut [u32],
        seed: u64,
    ) -> Result<GrownTree> {
        struct Open {
            decrease: f64,
            at: usize,
            task: Task,
            found: Candidate,
        }
        impl PartialEq for Open {
            fn eq(&self, other: &Self) -> bool {
                self.cmp(other).is_eq()
            }
        }
        impl Eq for Open {}
        impl PartialOrd for Open {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }
        impl Ord for Open {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                self.decrease.total_cmp(&other.decrease).then(other.at.cmp(&self.at))
            }
        }
        let mut draft = GrownTree { outputs: workspace.impurity.outputs(), ..GrownTree::default() };
        let mut heap = BinaryHeap::new();
        let root = Task { start: 0, end: samples.len(), depth: 0, seed, parent: None };
        let most = self.limits.max_leaves.unwrap_or(usize::MAX);
        let mut leaves = 1;
        let mut next = vec![root];
        loop {
            for task in next.drain(..) {
                let (at, found) = self.open(workspace, &mut draft, &samples[task.start..task.end], None, &task)?;
                if let Some(found) = found {
                    let decrease = found.score - workspace.impurity.gain();
                    heap.push(Open { decrease, at, task, found });
                }
            }
            if leaves >= most {
                break;
            }
            let Some(Open { at, task, found, .. }) = heap.pop() else { break };
            let left = self.split(workspace, &mut draft, &mut samples[task.start..task.end], None, at, found)?;
            next.push(task.child(at, true, task.start, task.start + left));
            next.push(task.child(at, false, task.start + left, task.end));
            leaves += 1;
        }
        Ok(draft)
    }

    /// Adds a node to the draft and finds its split.
    fn open<M: Impurity>(
        &self,
        workspace: &mut Workspace<M>,
        draft: &mut GrownTree,
        rows: &[u32],
        order: Option<&Order>,
        task: &Task,
    ) -> Result<(usize, Option<Candidate>)> {
        let limits = self.limits;
        if rows.len() > LARGE && self.columns.dealt.is_none() {
            self.ctx.check()?;
        }
        // The impurity knows a row by its number among all, the order of a subtree and the columns by their own.
        let numbers = &mut workspace.scratch.numbers;
        numbers.clear();
        match (order, &self.columns.numbers[..]) {
            (None, []) => {}
            (None, all) => numbers.extend(rows.iter().map(|&row| all[row as usize])),
            (Some(order), []) => numbers.extend(rows.iter().map(|&row| order.rows[row as usize])),
            (Some(order), all) => numbers.extend(rows.iter().map(|&row| all[order.rows[row as usize] as usize])),
        }
        workspace.impurity.load(if numbers.is_empty() { rows } else { numbers });
        let (weight, impurity) = (workspace.impurity.weight(), workspace.impurity.of_node());
        let at = draft.nodes.len();
        if let Some((parent, left)) = task.parent {
            *(if left { &mut draft.nodes[parent].left } else { &mut draft.nodes[parent].right }) = at;
        }
        draft.nodes.push(GrownNode { split: None, left: 0, right: 0, weight, rows: rows.len(), impurity });
        workspace.impurity.value(&mut draft.values);
        let stop = task.depth >= limits.max_depth
            || rows.len() < limits.min_rows_split
            || rows.len() < 2 * limits.min_rows_leaf
            || weight < 2.0 * limits.min_weight_leaf
            || workspace.impurity.pure();
        if stop {
            return Ok((at, None));
        }
        if let Some(order) = order {
            workspace.scratch.marks.load(order, rows);
        }
        let found = match &self.columns.dealt {
            None => self.search(workspace, rows, order, task.seed),
            Some(dealt) => self.search_together(workspace, rows, task.seed, dealt)?,
        };
        let Some(found) = found else { return Ok((at, None)) };
        let decrease = (found.score - workspace.impurity.gain()) / self.total;
        if decrease + f64::EPSILON < limits.min_decrease {
            return Ok((at, None));
        }
        if let Some(level) = limits.significance {
            let codes = &self.columns.columns[found.feature].codes;
            let code = |row: u32| order.map_or_else(|| codes[row as usize], |order| order.code(found.feature, row));
            let left: Vec<bool> = match &self.columns.dealt {
                None => rows.iter().map(|&row| found.goes_left(code(row))).collect(),
                Some(dealt) => self.sides_together(&found, rows, dealt)?,
            };
            workspace.impurity.start(&[]);
            (0..rows.len()).filter(|&i| left[i]).for_each(|i| workspace.impurity.take(i));
            if workspace.impurity.p_value(&left) > level {
                return Ok((at, None));
            }
        }
        Ok((at, Some(found)))
    }

    fn search<M: Impurity>(
        &self,
        workspace: &mut Workspace<M>,
        rows: &[u32],
        order: Option<&Order>,
        seed: u64,
    ) -> Option<Candidate> {
        let cols = self.columns.columns.len();
        let tried = self.limits.max_features.clamp(1, cols);
        let mut draws = Draws(seed);
        let tie = tie(&workspace.impurity);
        let mut best: Option<Candidate> = None;
        let mut keep = |found: Option<Candidate>| keep(&mut best, found, tie);
        if tried == cols && self.parallel && order.is_none() && rows.len() * cols > LARGE {
            let results: Vec<_> = (0..cols)
                .into_par_iter()
                .map_init(
                    || workspace.clone(),
                    |workspace, j| self.column(workspace, rows, order, j, mix(seed ^ j as u64), tie),
                )
                .collect();
            results.into_iter().for_each(|(_, found)| keep(found));
            return best;
        }
        if tried == cols {
            for j in 0..cols {
                keep(self.column(workspace, rows, order, j, mix(seed ^ j as u64), tie).1);
            }
            return best;
        }
        // Constant columns count as tried, but the search goes on until one is not.
        let mut columns: Vec<u32> = (0..cols as u32).collect();
        let mut any = false;
        for visited in 0..cols {
            if visited >= tried && any {
                break;
            }
            columns.swap(visited, visited + draws.below(cols - visited));
            let j = columns[visited] as usize;
            let (varies, found) = self.column(workspace, rows, order, j, mix(seed ^ j as u64), tie);
            any |= varies;
            keep(found);
        }
        best
    }

    /// Whether a column varies, and its best split.
    fn column<M: Impurity>(
        &self,
        workspace: &mut Workspace<M>,
        rows: &[u32],
        order: Option<&Order>,
        j: usize,
        seed: u64,
        tie: f64,
    ) -> (bool, Option<Candidate>) {
        let column = &self.columns.columns[j];
        let Workspace { impurity, scratch } = workspace;
        if let Some(order) = order.and_then(|order| order.column(j)) {
            order.arrange(rows, &mut scratch.marks, &mut scratch.keys, &mut scratch.missing);
            let (Some(first), Some(last)) = (scratch.keys.first(), scratch.keys.last()) else { return (false, None) };
            let (low, high) = ((first >> 32) as u32, (last >> 32) as u32);
            if low == high && scratch.missing.is_empty() {
                return (false, None);
            }
            let node = Node { column, feature: j, low, high, limits: self.limits, tie };
            return (true, node.in_order(impurity, scratch, 0).map(|best| node.at_most(best)));
        }
        scratch.codes.clear();
        scratch.missing.clear();
        let (mut low, mut high) = (MISSING, 0);
        for &row in rows {
            let number = order.map_or(row, |order| order.rows[row as usize]);
            let code = column.codes[number as usize];
            scratch.codes.push(code);
            // The code of missing is the largest of all, so it cannot lower `low`.
            low = low.min(code);
            high = high.max(code);
        }
        if low == MISSING || (low == high) {
            return (false, None);
        }
        if high == MISSING {
            high = 0;
            for (i, &code) in scratch.codes.iter().enumerate() {
                if code == MISSING {
                    scratch.missing.push(i as u32);
                } else {
                    high = high.max(code);
                }
            }
        }
        let node = Node { column, feature: j, low, high, limits: self.limits, tie };
        match (self.limits.random, column.feature) {
            (true, _) => (true, node.random(impurity, scratch, &mut Draws(seed))),
            (false, Feature::Number) => (true, node.best(impurity, scratch)),
            // A category that says no more than chance is as good as constant.
            (false, Feature::Category { .. }) => {
                let found = node.best_subset(impurity, scratch);
                (found.is_some(), found)
            }
        }
    }
}

/// Scores nearer than this are equal.
fn tie(impurity: &impl Impurity) -> f64 {
    1e-10 * impurity.weight() * impurity.of_node() + 8.0 * f64::EPSILON * impurity.gain().abs()
}

/// Columns are judged in the order in which they are tried.
fn keep(best: &mut Option<Candidate>, found: Option<Candidate>, tie: f64) {
    if let Some(found) = found
        && best.as_ref().is_none_or(|best| found.score > best.score + tie)
    {
        *best = Some(found);
    }
}

#[inline(always)]
fn partition(rows: &mut [u32], mut goes_left: impl FnMut(u32) -> bool, right: &mut Vec<u32>) -> usize {
    right.clear();
    right.resize(rows.len(), 0);
    let (mut l, mut r) = (0, 0);
    for i in 0..rows.len() {
        let row = rows[i];
        let left = goes_left(row);
        // Both are written, one counts: no branch to mispredict.
        rows[l] = row;
        right[r] = row;
        l += usize::from(left);
        r += usize::from(!left);
    }
    rows[l..].copy_from_slice(&right[..r]);
    l
}
