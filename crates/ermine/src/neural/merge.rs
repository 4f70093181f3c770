//! Sums over the blocks of a minibatch, along the fixed tree.
//!
//! A minibatch is cut into blocks by its size and the network's alone. Each block gives one flat statistic (gradient,
//! loss, weight), and these are summed along the binary tree over block numbers, whoever computed them. Worker r of N
//! computes an equal share of the blocks, and sums and moves an equal share of the weights: of every other worker it
//! needs the sums of the largest subtrees that this one holds, over its own weights only. So a gradient of W numbers
//! brings about W numbers to each, half of them here and half as new weights.

use crate::core::{
    ctx::Exchange,
    reduce::{middle, subtrees},
    simd,
};
use std::ops::Range;

/// Blocks of a minibatch, by its size and the work a row takes: enough of each that a thread is worth waking, few
/// enough that summing their gradients stays cheap. A power of two, for even shares.
pub fn blocks(rows: usize, work: usize) -> usize {
    const ROWS: usize = 96;
    const WORK: usize = 2_000_000;
    const MOST: usize = 16;
    let mut count = 1;
    while count < MOST && rows / (2 * count) >= ROWS && rows.saturating_mul(work) / (2 * count) >= WORK {
        count *= 2;
    }
    count
}

/// The blocks of a rank.
pub fn blocks_of(exchange: &dyn Exchange, rank: usize, count: usize) -> Range<usize> {
    rank * count / exchange.size()..(rank + 1) * count / exchange.size()
}

/// Numbers that are summed at a time: they stay in the first-level cache.
pub const CHUNK: usize = 512;

/// The sum over the blocks of one node of the tree, the first of which is `first`.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    pub first: usize,
    pub numbers: &'a [f64],
}

/// `out` = the sum over `blocks`, a node of the tree, of the numbers in `range`. The nodes make these blocks up, in
/// order.
pub fn sum(nodes: &[Node], blocks: Range<usize>, range: Range<usize>, out: &mut [f64]) {
    if let [node] = nodes {
        out.copy_from_slice(&node.numbers[range]);
        return;
    }
    if out.len() > CHUNK {
        let (left, right) = out.split_at_mut(CHUNK);
        sum(nodes, blocks.clone(), range.start..range.start + CHUNK, left);
        return sum(nodes, blocks, range.start + CHUNK..range.end, right);
    }
    let mid = middle(blocks.start, blocks.end);
    let (left, right) = nodes.split_at(nodes.partition_point(|node| node.first < mid));
    sum(left, blocks.start..mid, range.clone(), out);
    if let [node] = right {
        return simd::add_scaled(1.0, &node.numbers[range], out);
    }
    let mut other = [0.0; CHUNK];
    let other = &mut other[..out.len()];
    sum(right, mid..blocks.end, range, other);
    simd::add_scaled(1.0, other, out);
}

/// Sums over the largest subtrees that the nodes, one for each block of `mine`, make up.
pub fn held<'a>(nodes: &'a [Node], mine: &Range<usize>, count: usize) -> Vec<(Range<usize>, &'a [Node<'a>])> {
    let of = |tree: Range<usize>| (tree.clone(), &nodes[tree.start - mine.start..tree.end - mine.start]);
    subtrees(0, count, mine).into_iter().map(of).collect()
}

/// What workers exchange gradients in, allocated once.
#[derive(Default)]
pub struct Mail {
    sent: Vec<f64>,
    received: Vec<f64>,
}

impl Mail {
    /// The nodes over all blocks for the weights of this worker, `shares[rank]`, of which it has those of its own
    /// blocks.
    pub fn scatter<'a>(
        &'a mut self,
        exchange: &dyn Exchange,
        own: &[Node<'a>],
        count: usize,
        shares: &[Range<usize>],
    ) -> crate::Result<Vec<Node<'a>>> {
        let (me, size) = (exchange.rank(), exchange.size());
        let here = |node: &Node<'a>| Node { numbers: &node.numbers[shares[me].clone()], ..*node };
        if size == 1 {
            return Ok(own.iter().map(here).collect());
        }
        let trees: Vec<Vec<Range<usize>>> =
            (0..size).map(|rank| subtrees(0, count, &blocks_of(exchange, rank, count))).collect();
        // What stays here is not sent.
        let others = |rank: usize, numbers: usize| if rank == me { 0 } else { numbers };
        let from = one_after_another((0..size).map(|rank| others(rank, trees[rank].len() * shares[me].len())));
        self.received.resize(from.last().map_or(0, |range| range.end), 0.0);
        if let [node] = own {
            // It is a sum already, and stands where it is sent from.
            let to: Vec<Range<usize>> =
                shares.iter().enumerate().map(|(rank, share)| if rank == me { 0..0 } else { share.clone() }).collect();
            exchange.all_to_all_v(node.numbers, &to, &mut self.received, &from)?;
        } else {
            let to = one_after_another((0..size).map(|rank| others(rank, trees[me].len() * shares[rank].len())));
            self.sent.resize(to.last().map_or(0, |range| range.end), 0.0);
            let mut rest = &mut self.sent[..];
            for rank in (0..size).filter(|&rank| rank != me) {
                for (tree, nodes) in held(own, &blocks_of(exchange, me, count), count) {
                    let (now, later) = rest.split_at_mut(shares[rank].len());
                    sum(nodes, tree, shares[rank].clone(), now);
                    rest = later;
                }
            }
            exchange.all_to_all_v(&self.sent, &to, &mut self.received, &from)?;
        }
        let mut rest = &self.received[..];
        let mut nodes = Vec::new();
        for (rank, trees) in trees.iter().enumerate() {
            if rank == me {
                nodes.extend(own.iter().map(here));
                continue;
            }
            for tree in trees {
                let (numbers, later) = rest.split_at(shares[me].len());
                nodes.push(Node { first: tree.start, numbers });
                rest = later;
            }
        }
        Ok(nodes)
    }

    /// Everyone's share of `numbers`, as long as the weights, to everyone.
    pub fn spread(
        &mut self,
        exchange: &dyn Exchange,
        numbers: &mut [f64],
        shares: &[Range<usize>],
    ) -> crate::Result<()> {
        let (me, size) = (exchange.rank(), exchange.size());
        if size == 1 || numbers.is_empty() {
            return Ok(());
        }
        let mine = shares[me].clone();
        let to: Vec<Range<usize>> = (0..size).map(|rank| 0..if rank == me { 0 } else { mine.len() }).collect();
        // The first and the last send from where their share stands, those in between need a copy.
        let (mine, others, first) = if mine.start == 0 {
            let (mine, others) = numbers.split_at_mut(mine.end);
            (&*mine, others, mine.len())
        } else if mine.end == numbers.len() {
            let (others, mine) = numbers.split_at_mut(mine.start);
            (&*mine, others, 0)
        } else {
            self.sent.clear();
            self.sent.extend_from_slice(&numbers[mine]);
            (&self.sent[..], numbers, 0)
        };
        let place = |(rank, share): (usize, &Range<usize>)| match rank == me || share.is_empty() {
            true => 0..0,
            false => share.start - first..share.end - first,
        };
        let from: Vec<Range<usize>> = shares.iter().enumerate().map(place).collect();
        exchange.all_to_all_v(mine, &to, others, &from)
    }
}

fn one_after_another(lengths: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut end = 0;
    let range = |length: usize| {
        end += length;
        end - length..end
    };
    lengths.map(range).collect()
}
