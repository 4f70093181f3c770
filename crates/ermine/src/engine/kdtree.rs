//! A k-d tree over dense rows of few columns, for Minkowski distances (Bentley 1975; boxes as in Friedman et al. 1977).
//!
//! Split at the median of the widest column; leaves keep their rows column by column, so that distances to a whole leaf
//! vectorise. A branch is skipped when its box is farther than the worst neighbour so far. Box and row distances add
//! the same terms in the same order, and rounding is monotone, so no neighbour is ever missed. Building O(n log n), a
//! query O(log n) while columns are few.

use super::neighbours::{Best, Norm};
use crate::core::{Matrix, simd::vectorised};

pub struct KdTree {
    cols: usize,
    /// Rows in leaf order.
    order: Vec<u32>,
    nodes: Vec<Node>,
    /// Smallest and largest value of each column, for every node.
    boxes: Vec<f64>,
    /// The rows of each leaf, column by column.
    values: Vec<f64>,
}

/// What a query needs besides the tree, allocated once.
#[derive(Default)]
pub struct Room {
    waiting: Vec<(f64, usize)>,
    leaf: Vec<f64>,
}

struct Node {
    first: usize,
    rows: usize,
    /// The second child; the first follows its parent. 0 for a leaf.
    right: usize,
}

const LEAF: usize = 32;

/// Subtrees of fewer rows are built on one thread.
const ALONE: usize = 20_000;

impl KdTree {
    pub fn new(points: &Matrix) -> KdTree {
        let cols = points.cols;
        let mut order: Vec<u32> = (0..points.rows as u32).collect();
        let mut rows = points.values.clone();
        let (nodes, boxes) = build(cols, &mut rows, &mut order, 0);
        let mut values = vec![0.0; rows.len()];
        for node in nodes.iter().filter(|node| node.right == 0) {
            let at = node.first * cols;
            for (i, row) in rows[at..at + node.rows * cols].chunks_exact(cols).enumerate() {
                row.iter().enumerate().for_each(|(j, v)| values[at + j * node.rows + i] = *v);
            }
        }
        KdTree { cols, order, nodes, boxes, values }
    }

    /// The leaf that a query is nearest to, as a place among the rows: queries of one place need the same part of the
    /// tree.
    pub fn place(&self, query: &[f64], norm: Norm) -> usize {
        let mut at = 0;
        while self.nodes.get(at).is_some_and(|node| node.right != 0) {
            let right = self.nodes[at].right;
            at = if self.bound(at + 1, query, norm) <= self.bound(right, query, norm) { at + 1 } else { right };
        }
        self.nodes.get(at).map_or(0, |node| node.first)
    }

    /// Offers to `best` every row that may be among the nearest, by the norm's raw distance.
    pub fn nearest(&self, query: &[f64], norm: Norm, best: &mut Best, room: &mut Room) {
        if self.order.is_empty() {
            return;
        }
        let Room { waiting, leaf } = room;
        waiting.push((self.bound(0, query, norm), 0));
        while let Some((bound, at)) = waiting.pop() {
            if bound > best.worst() {
                continue;
            }
            let node = &self.nodes[at];
            if node.right == 0 {
                self.leaf(node, query, norm, leaf);
                for (i, &distance) in leaf.iter().enumerate() {
                    if distance <= best.worst() {
                        best.offer(distance, self.order[node.first + i]);
                    }
                }
                continue;
            }
            let (left, right) = (at + 1, node.right);
            let (near, far) = (self.bound(left, query, norm), self.bound(right, query, norm));
            // The nearer child is looked at first: it lowers the bar for the other.
            if near <= far {
                waiting.extend([(far, right), (near, left)]);
            } else {
                waiting.extend([(near, left), (far, right)]);
            }
        }
    }

    /// Calls `found` for every row within the raw distance `limit`.
    pub fn within(&self, query: &[f64], norm: Norm, limit: f64, mut found: impl FnMut(f64, u32)) {
        let (mut waiting, mut leaf) = (if self.order.is_empty() { vec![] } else { vec![0] }, Vec::new());
        while let Some(at) = waiting.pop() {
            if self.bound(at, query, norm) > limit {
                continue;
            }
            let node = &self.nodes[at];
            if node.right == 0 {
                self.leaf(node, query, norm, &mut leaf);
                for (i, &distance) in leaf.iter().enumerate().filter(|(_, d)| **d <= limit) {
                    found(distance, self.order[node.first + i]);
                }
            } else {
                waiting.extend([at + 1, node.right]);
            }
        }
    }

    /// Raw distance from the query to the box of a node.
    #[inline]
    fn bound(&self, at: usize, query: &[f64], norm: Norm) -> f64 {
        let sides = &self.boxes[at * 2 * self.cols..(at + 1) * 2 * self.cols];
        let (low, high) = sides.split_at(self.cols);
        norm.sum(query.iter().zip(low.iter().zip(high)).map(|(q, (low, high))| (low - q).max(q - high).max(0.0)))
    }

    fn leaf(&self, node: &Node, query: &[f64], norm: Norm, out: &mut Vec<f64>) {
        out.clear();
        out.resize(node.rows, 0.0);
        let values = &self.values[node.first * self.cols..(node.first + node.rows) * self.cols];
        vectorised(
            #[inline(always)]
            || {
                for (q, column) in query.iter().zip(values.chunks_exact(node.rows)) {
                    norm.add_each(*q, column, out);
                }
            },
        );
    }
}

/// Nodes of a subtree in depth-first order, places relative to the subtree, and their boxes. `rows` and `order`, their
/// numbers, are put in the order of the leaves as it goes down, so that a node's rows lie together.
fn build(cols: usize, rows: &mut [f64], order: &mut [u32], first: usize) -> (Vec<Node>, Vec<f64>) {
    let (mut low, mut high) = (vec![f64::INFINITY; cols], vec![f64::NEG_INFINITY; cols]);
    for row in rows.chunks_exact(cols) {
        for (j, &v) in row.iter().enumerate() {
            low[j] = low[j].min(v);
            high[j] = high[j].max(v);
        }
    }
    let mut boxes = low.clone();
    boxes.extend(&high);
    let widest = (0..cols).fold(0, |best, j| if high[j] - low[j] > high[best] - low[best] { j } else { best });
    let mut nodes = vec![Node { first, rows: order.len(), right: 0 }];
    if order.len() <= LEAF || high[widest] <= low[widest] {
        return (nodes, boxes);
    }
    let middle = order.len() / 2;
    let keys = rows.chunks_exact(cols).zip(order.iter()).zip(0u32..);
    let mut keys: Vec<(f64, u32, u32)> = keys.map(|((row, &number), place)| (row[widest], number, place)).collect();
    keys.select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let before = rows.to_vec();
    for ((row, number), key) in rows.chunks_exact_mut(cols).zip(order.iter_mut()).zip(keys) {
        *number = key.1;
        row.copy_from_slice(&before[key.2 as usize * cols..(key.2 as usize + 1) * cols]);
    }
    drop(before);
    let (left, right) = order.split_at_mut(middle);
    let (left_rows, right_rows) = rows.split_at_mut(middle * cols);
    let mut one = || build(cols, left_rows, left, first);
    let mut other = || build(cols, right_rows, right, first + middle);
    let halves = if 2 * middle > ALONE { rayon::join(one, other) } else { (one(), other()) };
    for (part, sides) in [halves.0, halves.1] {
        let offset = nodes.len();
        // Written twice: the second child stays.
        nodes[0].right = offset;
        nodes.extend(
            part.into_iter().map(|node| Node { right: if node.right == 0 { 0 } else { node.right + offset }, ..node }),
        );
        boxes.extend(sides);
    }
    (nodes, boxes)
}
