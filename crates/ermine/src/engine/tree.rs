//! A decision tree as plain arrays, and the one walk that every tree model predicts with.
//!
//! Nodes stand level by level, 16 bytes each, the two children of a split side by side, so that a step is `at = next +
//! (x > threshold)` without a branch, and eight rows walk together to hide the memory's latency. A leaf points at
//! itself. Only leaves keep values and weights: those of an inner node are sums over its leaves. On disk the shape is
//! implied by the order of the nodes, which leaves about nine bytes a split.
//!
//! A missing value (NaN) goes where `missing left` says. A category goes left when its level is in the split's set; a
//! level that the split never saw is missing.

use crate::{Ctx, Error, Feature, Matrix, Result, X, core::trace};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

const CATEGORY: u32 = 1 << 31;
const MISSING_LEFT: u32 = 1 << 30;
const LEAF: u32 = 1 << 29;
const FEATURE: u32 = LEAF - 1;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Node {
    /// Of a number: left when x <= threshold. Of a category: the number of its set. Of a leaf: infinity, so that it
    /// stays.
    threshold: f64,
    /// Column and flags.
    feature: u32,
    /// The left child; of a leaf, itself.
    next: u32,
}

/// A fitted tree with `outputs` numbers in each leaf.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct Tree {
    cols: usize,
    outputs: usize,
    nodes: Vec<Node>,
    /// Levels that go left, as bits.
    sets: Vec<Box<[u64]>>,
    /// Number of each leaf; of an inner node nothing.
    leaf: Vec<u32>,
    values: Vec<f64>,
    weights: Vec<f64>,
    /// Of every node, or empty.
    impurity: Vec<f64>,
}

/// Where a row goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Split {
    pub feature: usize,
    pub test: Test,
    pub missing_left: bool,
}

/// What sends a row to the left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Test {
    /// x <= threshold
    AtMost(f64),
    /// The level is among these bits.
    Among(Box<[u64]>),
}

pub fn contains(set: &[u64], level: usize) -> bool {
    set.get(level / 64).is_some_and(|word| word >> (level % 64) & 1 == 1)
}

/// The level a number stands for, if it is one.
pub fn level(value: f64) -> Option<usize> {
    (value >= 0.0 && value < f64::from(u32::MAX) && value.fract() == 0.0).then_some(value as usize)
}

impl Split {
    pub fn goes_left(&self, value: f64) -> bool {
        match &self.test {
            Test::AtMost(threshold) => value <= *threshold || (self.missing_left && value.is_nan()),
            Test::Among(set) => {
                let level = level(value).filter(|level| level / 64 < set.len());
                level.map_or(self.missing_left, |level| contains(set, level))
            }
        }
    }
}

/// A tree under construction, in any order of nodes; node 0 is the root.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GrownTree {
    pub outputs: usize,
    pub nodes: Vec<GrownNode>,
    /// `outputs` numbers a node.
    pub values: Vec<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GrownNode {
    pub split: Option<Split>,
    pub left: usize,
    pub right: usize,
    pub weight: f64,
    pub rows: usize,
    pub impurity: f64,
}

impl GrownTree {
    pub fn value(&self, node: usize) -> &[f64] {
        &self.values[node * self.outputs..(node + 1) * self.outputs]
    }

    /// Total decrease of weighted impurity by column, as a share of all.
    pub fn importances(&self, cols: usize) -> Vec<f64> {
        let mut sums = vec![0.0; cols];
        let mut stack = vec![0];
        while let Some(at) = stack.pop() {
            let node = &self.nodes[at];
            if let Some(split) = &node.split {
                stack.extend([node.right, node.left]);
                let (left, right) = (&self.nodes[node.left], &self.nodes[node.right]);
                let weighted = |node: &GrownNode| node.weight * node.impurity;
                sums[split.feature] += (weighted(node) - weighted(left) - weighted(right)).max(0.0);
            }
        }
        normalise(&mut sums);
        sums
    }

    /// One step for each split, from the root down, level by level: where it is, what it asks, and what it gains.
    pub fn record(&self, ctx: &Ctx) {
        if !ctx.is_traced() {
            return;
        }
        let mut queue = VecDeque::from([(0, 0)]);
        let mut next = 1;
        while let Some((at, number)) = queue.pop_front() {
            let node = &self.nodes[at];
            let Some(split) = &node.split else { continue };
            let (left, right) = (&self.nodes[node.left], &self.nodes[node.right]);
            queue.extend([(node.left, next), (node.right, next + 1)]);
            let Test::AtMost(threshold) = split.test else { continue };
            let gain = node.impurity - (left.weight * left.impurity + right.weight * right.impurity) / node.weight;
            ctx.record("split", || {
                let value = |node: usize| Matrix::new(self.value(node).to_vec(), 1, self.outputs);
                vec![
                    ("node", trace::number(number as f64)),
                    ("children", trace::column([next as f64, next as f64 + 1.0])),
                    ("feature", trace::number(split.feature as f64)),
                    ("threshold", trace::number(threshold)),
                    ("gain", trace::number(gain)),
                    ("impurity", trace::column([node.impurity, left.impurity, right.impurity])),
                    ("rows", trace::column([node.rows, left.rows, right.rows].map(|rows| rows as f64))),
                    ("value", value(at)),
                    ("left", value(node.left)),
                    ("right", value(node.right)),
                ]
            });
            next += 2;
        }
    }

    pub fn finish(&self, cols: usize, with_impurity: bool) -> Tree {
        let mut tree = Tree {
            cols,
            outputs: self.outputs,
            nodes: Vec::with_capacity(self.nodes.len()),
            sets: vec![],
            leaf: vec![],
            values: vec![],
            weights: vec![],
            impurity: vec![],
        };
        let mut queue = VecDeque::from([0]);
        let mut next = 1;
        while let Some(at) = queue.pop_front() {
            let node = &self.nodes[at];
            if with_impurity {
                tree.impurity.push(node.impurity);
            }
            match &node.split {
                Some(split) => {
                    queue.extend([node.left, node.right]);
                    let missing = if split.missing_left { MISSING_LEFT } else { 0 };
                    let feature = split.feature as u32 | missing;
                    tree.nodes.push(match &split.test {
                        Test::AtMost(threshold) => Node { threshold: *threshold, feature, next },
                        Test::Among(set) => {
                            tree.sets.push(set.clone());
                            Node { threshold: (tree.sets.len() - 1) as f64, feature: feature | CATEGORY, next }
                        }
                    });
                    tree.leaf.push(0);
                    next += 2;
                }
                None => {
                    let itself = tree.nodes.len() as u32;
                    tree.nodes.push(Node { threshold: f64::INFINITY, feature: LEAF, next: itself });
                    tree.leaf.push(tree.weights.len() as u32);
                    tree.weights.push(node.weight);
                    tree.values.extend_from_slice(self.value(at));
                }
            }
        }
        tree
    }
}

/// Makes shares of sums, where there is anything to share.
pub fn normalise(sums: &mut [f64]) {
    let total: f64 = sums.iter().sum();
    if total > 0.0 {
        sums.iter_mut().for_each(|sum| *sum /= total);
    }
}

/// Rows that walk a tree together.
const LANES: usize = 8;

impl Tree {
    /// A row for each node: column (-1 for a leaf), threshold, left child, and the values of a leaf.
    pub fn as_rows(&self) -> Matrix {
        let mut rows = Matrix::zeros(self.nodes.len(), 3 + self.outputs);
        for at in 0..self.nodes.len() {
            let row = rows.row_mut(at);
            match self.split(at) {
                Some((Split { feature, test: Test::AtMost(threshold), .. }, left)) => {
                    row[..3].copy_from_slice(&[feature as f64, threshold, left as f64]);
                }
                Some(_) => row[..3].copy_from_slice(&[f64::NAN; 3]),
                None => {
                    row[..3].copy_from_slice(&[-1.0, f64::INFINITY, at as f64]);
                    row[3..].copy_from_slice(self.leaf_value(self.leaf_of(at)));
                }
            }
        }
        rows
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    pub fn outputs(&self) -> usize {
        self.outputs
    }

    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    pub fn leaves(&self) -> usize {
        self.weights.len()
    }

    /// The split of a node and its left child, or `None` at a leaf. The right child follows the left.
    pub fn split(&self, node: usize) -> Option<(Split, usize)> {
        let Node { threshold, feature, next } = self.nodes[node];
        if feature & LEAF != 0 {
            return None;
        }
        let test = match feature & CATEGORY != 0 {
            true => Test::Among(self.sets[threshold as usize].clone()),
            false => Test::AtMost(threshold),
        };
        let split = Split { feature: (feature & FEATURE) as usize, test, missing_left: feature & MISSING_LEFT != 0 };
        Some((split, next as usize))
    }

    /// Number of the leaf that a node is.
    pub fn leaf_of(&self, node: usize) -> usize {
        self.leaf[node] as usize
    }

    pub fn leaf_value(&self, leaf: usize) -> &[f64] {
        &self.values[leaf * self.outputs..(leaf + 1) * self.outputs]
    }

    pub fn leaf_values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    pub fn impurity(&self, node: usize) -> Option<f64> {
        self.impurity.get(node).copied()
    }

    /// Weight and mean value of every node, from the leaves up.
    pub fn summary(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut weights, mut values) = (vec![0.0; self.nodes.len()], vec![0.0; self.nodes.len() * self.outputs]);
        for at in (0..self.nodes.len()).rev() {
            let node = &self.nodes[at];
            if node.feature & LEAF != 0 {
                weights[at] = self.weights[self.leaf_of(at)];
                values[at * self.outputs..(at + 1) * self.outputs].copy_from_slice(self.leaf_value(self.leaf_of(at)));
                continue;
            }
            let (left, right) = (node.next as usize, node.next as usize + 1);
            weights[at] = weights[left] + weights[right];
            for output in 0..self.outputs {
                let of = |child: usize| weights[child] * values[child * self.outputs + output];
                let sum = of(left) + of(right);
                values[at * self.outputs + output] = if weights[at] > 0.0 { sum / weights[at] } else { 0.0 };
            }
        }
        (weights, values)
    }

    pub fn depth(&self) -> usize {
        let mut depth = vec![0; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.feature & LEAF == 0) {
            depth[node.next as usize] = depth[at] + 1;
            depth[node.next as usize + 1] = depth[at] + 1;
        }
        depth.into_iter().max().unwrap_or(0)
    }

    /// Whether a row goes left at a node that is no leaf.
    fn goes_left(&self, node: &Node, value: f64) -> bool {
        let missing = node.feature & MISSING_LEFT != 0;
        if node.feature & CATEGORY != 0 {
            let set = &self.sets[node.threshold as usize];
            return level(value).filter(|level| level / 64 < set.len()).map_or(missing, |level| contains(set, level));
        }
        value <= node.threshold || (missing && value.is_nan())
    }

    /// The nodes from the root to the leaf of a row.
    pub fn path(&self, row: &[f64]) -> Vec<usize> {
        let mut path = vec![0];
        let mut at = 0;
        while self.nodes[at].feature & LEAF == 0 {
            let node = &self.nodes[at];
            at = node.next as usize + usize::from(!self.goes_left(node, row[(node.feature & FEATURE) as usize]));
            path.push(at);
        }
        path
    }

    fn walk(&self, row: &[f64]) -> u32 {
        let mut at = 0;
        loop {
            let node = &self.nodes[at as usize];
            if node.feature & LEAF != 0 {
                return at;
            }
            at = node.next + u32::from(!self.goes_left(node, row[(node.feature & FEATURE) as usize]));
        }
    }

    /// Calls `f(row, leaf)` for every row of a block.
    pub fn for_each_leaf(&self, block: &Block, mut f: impl FnMut(usize, usize)) {
        let cols = self.cols;
        let rows = block.values.len() / cols;
        let mut done = 0;
        if block.complete && self.sets.is_empty() {
            for lanes in block.values.chunks_exact(LANES * cols) {
                let mut at = [0u32; LANES];
                loop {
                    let mut moved = 0;
                    for lane in 0..LANES {
                        // SAFETY: building or loading a tree made sure that every feature is below `cols`, and that
                        // `next` and `next + 1` of a split, and `next` of a leaf, which no number that is not NaN
                        // leaves, are nodes.
                        let to = unsafe {
                            let node = self.nodes.get_unchecked(at[lane] as usize);
                            let value = *lanes.get_unchecked(lane * cols + (node.feature & FEATURE) as usize);
                            node.next + u32::from(value > node.threshold)
                        };
                        moved |= to ^ at[lane];
                        at[lane] = to;
                    }
                    if moved == 0 {
                        break;
                    }
                }
                for at in at {
                    f(done, self.leaf[at as usize] as usize);
                    done += 1;
                }
            }
        }
        for row in done..rows {
            let at = self.walk(&block.values[row * cols..(row + 1) * cols]);
            f(row, self.leaf[at as usize] as usize);
        }
    }

    /// The same tree with every value so many times as large.
    pub fn scale(&mut self, factor: f64) {
        self.values.iter_mut().for_each(|value| *value *= factor);
    }

    /// `out[row] += scale * value of its leaf`
    pub fn add_to(&self, block: &Block, scale: f64, out: &mut [f64]) {
        let k = self.outputs;
        match k {
            1 => self.for_each_leaf(block, |row, leaf| out[row] += scale * self.values[leaf]),
            _ => self.for_each_leaf(block, |row, leaf| {
                for (out, value) in out[row * k..(row + 1) * k].iter_mut().zip(self.leaf_value(leaf)) {
                    *out += scale * value;
                }
            }),
        }
    }
}

/// Dense rows for a walk, and whether none of their values is missing.
pub struct Block<'a> {
    values: std::borrow::Cow<'a, [f64]>,
    complete: bool,
}

impl<'a> Block<'a> {
    pub fn new(x: &X<'a>) -> Self {
        let values: std::borrow::Cow<[f64]> = match x {
            X::Dense(dense) => dense.values.into(),
            X::Sparse(_) => x.to_matrix().values.into(),
        };
        let complete = !values.iter().fold(false, |nan, value| nan | value.is_nan());
        Block { values, complete }
    }

    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

/// The saved form: what the order of the nodes implies is left out.
#[derive(Serialize, Deserialize)]
struct Stored {
    cols: usize,
    outputs: usize,
    /// 0 for a leaf, else 1 + (feature, category?, missing left?).
    kinds: Vec<u32>,
    thresholds: Vec<f64>,
    sets: Vec<Box<[u64]>>,
    values: Vec<f64>,
    weights: Vec<f64>,
    impurity: Vec<f64>,
}

impl From<Tree> for Stored {
    fn from(tree: Tree) -> Self {
        let kind = |node: &Node| match node.feature & LEAF {
            0 => 1 + ((node.feature & FEATURE) << 2 | node.feature >> 30),
            _ => 0,
        };
        let numbers = tree.nodes.iter().filter(|node| node.feature & (LEAF | CATEGORY) == 0);
        Stored {
            cols: tree.cols,
            outputs: tree.outputs,
            kinds: tree.nodes.iter().map(kind).collect(),
            thresholds: numbers.map(|node| node.threshold).collect(),
            sets: tree.sets,
            values: tree.values,
            weights: tree.weights,
            impurity: tree.impurity,
        }
    }
}

impl TryFrom<Stored> for Tree {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        let Stored { cols, outputs, kinds, thresholds, sets, values, weights, impurity } = stored;
        let broken = |what: &str| Error::Data(format!("the stored tree has {what}"));
        let (mut nodes, mut leaf) = (Vec::with_capacity(kinds.len()), Vec::with_capacity(kinds.len()));
        let (mut next, mut leaves, mut used_sets) = (1u32, 0u32, 0usize);
        let mut thresholds = thresholds.into_iter();
        for (at, &kind) in kinds.iter().enumerate() {
            if at as u32 >= next {
                return Err(broken("nodes without a parent"));
            }
            if kind == 0 {
                nodes.push(Node { threshold: f64::INFINITY, feature: LEAF, next: at as u32 });
                leaf.push(leaves);
                leaves += 1;
                continue;
            }
            let (feature, flags) = ((kind - 1) >> 2, ((kind - 1) & 3) << 30);
            if feature as usize >= cols || feature > FEATURE {
                return Err(broken("a split on a column that does not exist"));
            }
            let threshold = if flags & CATEGORY != 0 {
                used_sets += 1;
                (used_sets - 1) as f64
            } else {
                thresholds.next().ok_or_else(|| broken("too few thresholds"))?
            };
            nodes.push(Node { threshold, feature: feature | flags, next });
            leaf.push(0);
            next = next.checked_add(2).ok_or_else(|| broken("too many nodes"))?;
        }
        let fits = next as usize == nodes.len()
            && thresholds.next().is_none()
            && used_sets == sets.len()
            && weights.len() == leaves as usize
            && outputs > 0
            && cols > 0
            && Some(values.len()) == weights.len().checked_mul(outputs)
            && (impurity.is_empty() || impurity.len() == nodes.len());
        if !fits {
            return Err(broken("arrays that are inconsistent"));
        }
        Ok(Tree { cols, outputs, nodes, sets, leaf, values, weights, impurity })
    }
}

/// What every model of trees checks when it is loaded.
pub fn check_trees(trees: &[Tree], cols: usize, outputs: usize) -> Result<()> {
    match trees.iter().find(|tree| tree.cols != cols || tree.outputs != outputs) {
        Some(tree) => Err(Error::shape(
            "a stored tree",
            format!("{cols} columns and {outputs} outputs"),
            format!("{} and {}", tree.cols, tree.outputs),
        )),
        None => Ok(()),
    }
}

/// What each column means, with numbers where nothing is said.
pub fn kinds(features: &[Feature], cols: usize) -> Vec<Feature> {
    if features.is_empty() { vec![Feature::Number; cols] } else { features.to_vec() }
}

/// The first of the largest values.
pub fn first_largest(values: &[f64]) -> usize {
    let mut best = 0;
    for (i, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = i;
        }
    }
    best
}
