//! Cutting a grown tree back.
//!
//! Cost complexity (Breiman et al. 1984): R_a(T) = R(T) + a |leaves|, R the weighted impurity of the leaves. The branch
//! at node t is worth keeping while a < (R(t) - R(branch)) / (|leaves| - 1); cutting the weakest branch first gives the
//! whole path of best subtrees, O(n depth log n). Reduced error (Quinlan 1987): bottom up, a branch that does not
//! predict held-out rows better than its root becomes a leaf.

use crate::{
    Target, X,
    engine::tree::{GrownTree, first_largest},
};
use std::collections::BinaryHeap;

/// One step of the path: the subtree that is best for penalties from `alpha` on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub alpha: f64,
    /// Total impurity of its leaves.
    pub impurity: f64,
    /// The node that became a leaf.
    node: Option<usize>,
}

#[derive(PartialEq)]
struct Weakest {
    alpha: f64,
    node: usize,
    version: u32,
}

impl Eq for Weakest {}

impl PartialOrd for Weakest {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Weakest {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // Smallest alpha first, then the node nearest to the root.
        other.alpha.total_cmp(&self.alpha).then(other.node.cmp(&self.node))
    }
}

/// The whole path, from the grown tree to its root.
pub fn path(draft: &GrownTree) -> Vec<Step> {
    let n = draft.nodes.len();
    let total = draft.nodes[0].weight;
    let own: Vec<f64> = draft.nodes.iter().map(|node| node.weight * node.impurity / total).collect();
    let (mut leaves, mut branch) = (vec![1usize; n], own.clone());
    let mut parent = vec![usize::MAX; n];
    // Children stand behind their parents.
    for at in (0..n).rev() {
        let node = &draft.nodes[at];
        if node.split.is_some() {
            (parent[node.left], parent[node.right]) = (at, at);
            leaves[at] = leaves[node.left] + leaves[node.right];
            branch[at] = branch[node.left] + branch[node.right];
        }
    }
    let mut version = vec![0u32; n];
    let mut cut: Vec<bool> = draft.nodes.iter().map(|node| node.split.is_none()).collect();
    let alpha = |at: usize, leaves: &[usize], branch: &[f64]| (own[at] - branch[at]) / (leaves[at] as f64 - 1.0);
    let mut heap: BinaryHeap<Weakest> = (0..n)
        .filter(|&at| !cut[at])
        .map(|node| Weakest { alpha: alpha(node, &leaves, &branch), node, version: 0 })
        .collect();
    let mut steps = vec![Step { alpha: 0.0, impurity: branch[0], node: None }];
    while let Some(weakest) = heap.pop() {
        let at = weakest.node;
        if cut[at] || version[at] != weakest.version {
            continue;
        }
        let (fewer, more) = (leaves[at] - 1, own[at] - branch[at]);
        let mut below = vec![at];
        while let Some(node) = below.pop() {
            if !cut[node] {
                cut[node] = true;
                below.extend([draft.nodes[node].left, draft.nodes[node].right]);
            }
        }
        let mut up = at;
        while up != usize::MAX {
            leaves[up] -= fewer;
            branch[up] += more;
            version[up] += 1;
            if up != at {
                heap.push(Weakest { alpha: alpha(up, &leaves, &branch), node: up, version: version[up] });
            }
            up = parent[up];
        }
        let last = steps.last().map_or(0.0, |step| step.alpha);
        steps.push(Step { alpha: weakest.alpha.max(last), impurity: branch[0], node: Some(at) });
    }
    steps
}

/// The smallest tree that is best for the penalty `alpha`.
pub fn cost_complexity(draft: &mut GrownTree, alpha: f64) {
    for step in path(draft) {
        if step.alpha > alpha {
            break;
        }
        if let Some(node) = step.node {
            draft.nodes[node].split = None;
        }
    }
}

/// The leaf of each of some rows.
pub fn leaves(draft: &GrownTree, x: &X, rows: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut dense = vec![0.0; x.cols()];
    let leaf = rows.map(|i| {
        dense.fill(0.0);
        x.row(i).for_each(|j, value| dense[j] = value);
        let mut at = 0;
        while let Some(split) = &draft.nodes[at].split {
            at = if split.goes_left(dense[split.feature]) { draft.nodes[at].left } else { draft.nodes[at].right };
        }
        at
    });
    leaf.collect()
}

/// Cuts branches that do not help on `rows`, which are in these leaves.
pub fn reduced_error(draft: &mut GrownTree, y: &Target, weights: &[f64], rows: &[u32], leaves: &[usize]) {
    let n = draft.nodes.len();
    let mut parent = vec![None; n];
    for (at, node) in draft.nodes.iter().enumerate().filter(|(_, node)| node.split.is_some()) {
        (parent[node.left], parent[node.right]) = (Some(at), Some(at));
    }
    let mut as_leaf = vec![0.0; n];
    for (&row, &leaf) in rows.iter().zip(leaves) {
        let i = row as usize;
        let mut up = Some(leaf);
        while let Some(at) = up {
            as_leaf[at] += weights[i] * error(draft.value(at), y, i);
            up = parent[at];
        }
    }
    let mut best = as_leaf.clone();
    for at in (0..n).rev() {
        let (left, right) = (draft.nodes[at].left, draft.nodes[at].right);
        if draft.nodes[at].split.is_some() {
            best[at] = best[left] + best[right];
            if as_leaf[at] <= best[at] {
                best[at] = as_leaf[at];
                draft.nodes[at].split = None;
            }
        }
    }
}

/// A wrong class, or squared distance.
fn error(value: &[f64], y: &Target, i: usize) -> f64 {
    match *y {
        Target::Class { codes, .. } => f64::from(first_largest(value) != codes[i] as usize),
        Target::Real { values, cols } => {
            values[i * cols..(i + 1) * cols].iter().zip(value).map(|(y, value)| (y - value).powi(2)).sum()
        }
        Target::None => 0.0,
    }
}
