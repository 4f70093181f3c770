//! One column at one node: its best cut, its best set of levels, or a random one.

use super::{COARSE, Candidate, Cut, Draws, Impurity, Limits, Scratch, TOGETHER};
use crate::{
    Feature,
    engine::{
        columns::{Column, MISSING},
        order::{self, sort},
    },
};

/// Whether the missing go left: both ways are tried where there are any.
fn directions(missing: &[u32]) -> &'static [bool] {
    if missing.is_empty() { &[false] } else { &[false, true] }
}

/// Where nothing was missing, what will be goes with the many.
fn with_the_many(cuts: Cuts, missing: &[u32]) -> Option<Best> {
    let Cuts { n, best, .. } = cuts;
    best.map(|best| if missing.is_empty() { Best { missing_left: 2 * best.taken > n, ..best } } else { best })
}

/// One column at one node.
pub(super) struct Node<'a> {
    pub(super) column: &'a Column,
    pub(super) feature: usize,
    pub(super) low: u32,
    pub(super) high: u32,
    pub(super) limits: &'a Limits,
    pub(super) tie: f64,
}

/// The best cut of a pass: the last code on the left and the first on the right, which is missing when only the missing
/// are there.
#[derive(Clone, Copy)]
pub(super) struct Best {
    score: f64,
    /// Rows on the left.
    taken: usize,
    last: u32,
    next: u32,
    missing_left: bool,
}

/// The cuts of a node of `n` rows that are looked at one after another, and the best so far.
struct Cuts {
    n: usize,
    /// Whether the missing are on the left of those looked at now.
    missing_left: bool,
    best: Option<Best>,
}

impl Cuts {
    fn of(n: usize) -> Cuts {
        Cuts { n, missing_left: false, best: None }
    }
}

impl Node<'_> {
    pub(super) fn best<M: Impurity>(&self, impurity: &mut M, scratch: &mut Scratch) -> Option<Candidate> {
        let best = self.pass(impurity, scratch, self.low, self.high)?;
        Some(self.at_most(best))
    }

    pub(super) fn at_most(&self, best: Best) -> Candidate {
        let cut = Cut::Between(best.last, best.next);
        Candidate { score: best.score, feature: self.feature, cut, missing_left: best.missing_left }
    }

    /// The best cut of the codes in the scratch, which lie in low..=high or are missing.
    fn pass<M: Impurity>(&self, impurity: &mut M, scratch: &mut Scratch, low: u32, high: u32) -> Option<Best> {
        let n = scratch.codes.len();
        let range = (high - low) as usize + 1;
        let width = impurity.bin_width();
        if width > 0 && range.saturating_mul(width) <= 4 * n {
            return self.by_bins(impurity, scratch, low, range, 0);
        }
        if width > 0 && self.limits.coarse && n > order::MOST {
            let shift = usize::BITS - (range / COARSE).leading_zeros();
            let best = self.by_bins(impurity, scratch, low, (range >> shift) + 1, shift)?;
            return self.around(impurity, scratch, low, shift, best);
        }
        scratch.keys.clear();
        for (i, &code) in scratch.codes.iter().enumerate() {
            if code != MISSING {
                scratch.keys.push(u64::from(code - low) << 32 | i as u64);
            }
        }
        sort(&mut scratch.keys, &mut scratch.spare, range);
        self.in_order(impurity, scratch, low)
    }

    /// The best cut where rows of equal code, or of codes that differ in their last `shift` bits only, move together.
    fn by_bins<M: Impurity>(
        &self,
        impurity: &mut M,
        scratch: &mut Scratch,
        low: u32,
        bins: usize,
        shift: u32,
    ) -> Option<Best> {
        let mut cuts = Cuts::of(scratch.codes.len());
        scratch.counts.clear();
        scratch.counts.resize(bins, 0);
        impurity.clear_bins(bins);
        for (i, &code) in scratch.codes.iter().enumerate() {
            if code != MISSING {
                let bin = ((code - low) >> shift) as usize;
                scratch.counts[bin] += 1;
                impurity.add_to_bin(bin, i);
            }
        }
        for &missing_left in directions(&scratch.missing) {
            cuts.missing_left = missing_left;
            impurity.start(&[]);
            let mut taken = 0;
            if missing_left {
                scratch.missing.iter().for_each(|&i| impurity.take(i as usize));
                taken = scratch.missing.len();
            }
            let mut last = MISSING;
            for bin in 0..bins {
                let count = scratch.counts[bin] as usize;
                if count == 0 {
                    continue;
                }
                if last != MISSING {
                    self.consider(impurity, taken, last, low + ((bin as u32) << shift), &mut cuts);
                }
                impurity.take_bin(bin);
                taken += count;
                last = low + ((bin as u32) << shift);
            }
            if taken < cuts.n {
                self.consider(impurity, taken, last, MISSING, &mut cuts);
            }
        }
        with_the_many(cuts, &scratch.missing)
    }

    /// The best cut inside the two bins beside a cut between bins.
    fn around<M: Impurity>(
        &self,
        impurity: &mut M,
        scratch: &mut Scratch,
        low: u32,
        shift: u32,
        cut: Best,
    ) -> Option<Best> {
        let left = (cut.last - low) >> shift;
        let right = if cut.next == MISSING { left } else { (cut.next - low) >> shift };
        scratch.keys.clear();
        for (i, &code) in scratch.codes.iter().enumerate() {
            if code != MISSING && ((code - low) >> shift == left || (code - low) >> shift == right) {
                scratch.keys.push(u64::from(code - low) << 32 | i as u64);
            }
        }
        scratch.keys.sort_unstable();
        impurity.start(&[]);
        let mut taken = 0;
        if cut.missing_left {
            scratch.missing.iter().for_each(|&i| impurity.take(i as usize));
            taken = scratch.missing.len();
        }
        for bin in (0..left as usize).filter(|&bin| scratch.counts[bin] > 0) {
            impurity.take_bin(bin);
            taken += scratch.counts[bin] as usize;
        }
        let mut cuts = Cuts { missing_left: cut.missing_left, ..Cuts::of(scratch.codes.len()) };
        let last = self.code_by_code(impurity, &scratch.keys, taken, low, &mut cuts);
        if cut.next == MISSING {
            self.consider(impurity, taken + scratch.keys.len(), last, MISSING, &mut cuts);
        }
        with_the_many(cuts, &scratch.missing)
    }

    /// The best cut where the keys, `code - low` and place, are in order.
    pub(super) fn in_order<M: Impurity>(&self, impurity: &mut M, scratch: &mut Scratch, low: u32) -> Option<Best> {
        let n = scratch.keys.len() + scratch.missing.len();
        let mut cuts = Cuts::of(n);
        for &missing_left in directions(&scratch.missing) {
            cuts.missing_left = missing_left;
            scratch.sequence.clear();
            let known = scratch.keys.iter().map(|&key| key as u32);
            if missing_left {
                scratch.sequence.extend(scratch.missing.iter().copied().chain(known));
            } else {
                scratch.sequence.extend(known.chain(scratch.missing.iter().copied()));
            }
            let mut taken = if missing_left { scratch.missing.len() } else { 0 };
            let together = n >= TOGETHER && self.limits.min_weight_leaf == 0.0;
            if together && impurity.scores(&scratch.sequence, &mut scratch.scores) {
                let mut last = (scratch.keys[0] >> 32) as u32;
                let mut offer = |taken: usize, next: u32, last: u32| {
                    let score = scratch.scores[taken - 1];
                    if self.counts(taken, score, &cuts) {
                        cuts.best = Some(Best { score, taken, last, next, missing_left });
                    }
                };
                for &key in &scratch.keys {
                    let code = (key >> 32) as u32;
                    if code != last {
                        offer(taken, code + low, last + low);
                        last = code;
                    }
                    taken += 1;
                }
                if taken < n {
                    offer(taken, MISSING, last + low);
                }
                continue;
            }
            impurity.start(&scratch.sequence);
            scratch.sequence[..taken].iter().for_each(|&i| impurity.take(i as usize));
            let last = self.code_by_code(impurity, &scratch.keys, taken, low, &mut cuts);
            if !missing_left && !scratch.missing.is_empty() {
                self.consider(impurity, scratch.keys.len(), last, MISSING, &mut cuts);
            }
        }
        with_the_many(cuts, &scratch.missing)
    }

    /// Moves rows to the left code by code, where `taken` are there already, and judges every cut between two codes.
    /// Returns the last.
    fn code_by_code<M: Impurity>(
        &self,
        impurity: &mut M,
        keys: &[u64],
        mut taken: usize,
        low: u32,
        cuts: &mut Cuts,
    ) -> u32 {
        let mut last = (keys[0] >> 32) as u32;
        for &key in keys {
            let code = (key >> 32) as u32;
            if code != last {
                self.consider(impurity, taken, last + low, code + low, cuts);
                last = code;
            }
            impurity.take(key as u32 as usize);
            taken += 1;
        }
        last + low
    }

    /// Whether a cut with `taken` rows on the left is allowed and better than the best.
    #[inline]
    fn counts(&self, taken: usize, score: f64, cuts: &Cuts) -> bool {
        let least = self.limits.min_rows_leaf;
        cuts.best.is_none_or(|best| score > best.score + self.tie)
            && score.is_finite()
            && taken >= least
            && cuts.n - taken >= least
    }

    #[inline]
    fn consider<M: Impurity>(&self, impurity: &M, taken: usize, last: u32, next: u32, cuts: &mut Cuts) {
        let score = impurity.score();
        if self.counts(taken, score, cuts) {
            let (left, right) = impurity.sides();
            if left >= self.limits.min_weight_leaf && right >= self.limits.min_weight_leaf {
                cuts.best = Some(Best { score, taken, last, next, missing_left: cuts.missing_left });
            }
        }
    }

    pub(super) fn best_subset<M: Impurity>(&self, impurity: &mut M, scratch: &mut Scratch) -> Option<Candidate> {
        let levels = scratch.codes.clone();
        let range = (self.high - self.low) as usize + 1;
        let mut found: Option<Candidate> = None;
        for order in 0..impurity.orders() {
            // Of each level: weights, weighted values, squared weights.
            let mut sums = vec![(0.0, 0.0, 0.0); range];
            let mut present = vec![false; range];
            for (i, &level) in levels.iter().enumerate().filter(|(_, level)| **level != MISSING) {
                let (weight, value) = impurity.order_by(i, order);
                let at = (level - self.low) as usize;
                let sum = &mut sums[at];
                *sum = (sum.0 + weight, sum.1 + value, sum.2 + weight * weight);
                present[at] = true;
            }
            let mut by_mean: Vec<usize> = (0..range).filter(|&level| present[level]).collect();
            let mean = |level: usize| if sums[level].0 > 0.0 { sums[level].1 / sums[level].0 } else { 0.0 };
            by_mean.sort_by(|&a, &b| mean(a).total_cmp(&mean(b)).then(a.cmp(&b)));
            let mut place = vec![MISSING; range];
            by_mean.iter().enumerate().for_each(|(at, &level)| place[level] = at as u32);
            for (code, &level) in scratch.codes.iter_mut().zip(&levels) {
                *code = if level == MISSING { MISSING } else { place[(level - self.low) as usize] };
            }
            let Some(best) = self.pass(impurity, scratch, 0, by_mean.len() as u32 - 1) else { continue };
            let by_chance = impurity.of_node() * by_chance(&sums);
            let score = best.score - by_chance;
            let gains = by_chance == 0.0 || score > impurity.gain() + self.tie;
            if gains && found.as_ref().is_none_or(|found| score > found.score + self.tie) {
                let present: Vec<usize> = by_mean.iter().map(|&level| level + self.low as usize).collect();
                found = Some(self.among(&present, best.last as usize + 1, score, best.missing_left));
            }
        }
        found
    }

    /// The first so many of the levels of the node to the left; those that it has no row of go where the missing go.
    fn among(&self, present: &[usize], left: usize, score: f64, missing_left: bool) -> Candidate {
        let Feature::Category { levels } = self.column.feature else { unreachable!("a category has levels") };
        let mut set = vec![if missing_left { u64::MAX } else { 0 }; (levels as usize).div_ceil(64)];
        let (left, right) = present.split_at(left);
        left.iter().for_each(|level| set[level / 64] |= 1 << (level % 64));
        right.iter().for_each(|level| set[level / 64] &= !(1 << (level % 64)));
        // No bits beyond the last level.
        if let (Some(last), used @ 1..) = (set.last_mut(), levels % 64) {
            *last &= (1 << used) - 1;
        }
        Candidate { score, feature: self.feature, cut: Cut::Among(set.into()), missing_left }
    }

    /// A random cut between the smallest and the largest value of the node, or a random set of its levels.
    pub(super) fn random<M: Impurity>(
        &self,
        impurity: &mut M,
        scratch: &mut Scratch,
        draws: &mut Draws,
    ) -> Option<Candidate> {
        let (n, missing) = (scratch.codes.len(), scratch.missing.len());
        let found = match self.column.feature {
            Feature::Number => {
                let values = &self.column.values;
                let (low, high) = (self.column.place(self.low), self.column.place(self.high));
                let (first, last) = (values[low], values[high]);
                let drawn = first + draws.uniform() * (last - first);
                let threshold = if drawn >= last || !drawn.is_finite() { first } else { drawn };
                let known = &values[low..=high];
                let (cut, threshold) = match self.low == self.high {
                    // Only known and missing differ.
                    true => (self.high, f64::INFINITY),
                    false => {
                        let left = known.partition_point(|value| *value <= threshold);
                        (self.column.code(low + left - 1), threshold)
                    }
                };
                // Missing is the largest code of all.
                let here = scratch.codes.iter().filter(|&&code| code <= cut).count();
                let missing_left = self.missing_left(here, n, missing, draws);
                Candidate { score: 0.0, feature: self.feature, cut: Cut::At(cut, threshold), missing_left }
            }
            Feature::Category { levels } => {
                let mut counts = vec![0usize; levels as usize];
                scratch.codes.iter().filter(|code| **code != MISSING).for_each(|&code| counts[code as usize] += 1);
                let present: Vec<usize> = (0..levels as usize).filter(|&level| counts[level] > 0).collect();
                // One level surely left, one surely right, the others by the toss of a coin.
                let (a, b) = (draws.below(present.len()), draws.below(present.len().max(2) - 1));
                let b = if b >= a { b + 1 } else { b };
                let (mut left, mut right) = (Vec::new(), Vec::new());
                for (at, &level) in present.iter().enumerate() {
                    let goes_left = at == a || (at != b && draws.next() & 1 == 1);
                    if goes_left { left.push(level) } else { right.push(level) }
                }
                let here = left.iter().map(|&level| counts[level]).sum();
                let missing_left = self.missing_left(here, n, missing, draws);
                self.among(&[&left[..], &right[..]].concat(), left.len(), 0.0, missing_left)
            }
        };
        let taken = scratch.codes.iter().filter(|&&code| found.goes_left(code)).count();
        let least = self.limits.min_rows_leaf.max(1);
        if taken < least || n - taken < least {
            return None;
        }
        // Rows that go left, then the others, each in their order.
        scratch.sequence.resize(n, 0);
        let (mut left, mut right) = (0, taken);
        for (i, &code) in scratch.codes.iter().enumerate() {
            let place = if found.goes_left(code) { &mut left } else { &mut right };
            scratch.sequence[*place] = i as u32;
            *place += 1;
        }
        impurity.start(&scratch.sequence);
        scratch.sequence[..taken].iter().for_each(|&i| impurity.take(i as usize));
        let (left, right) = impurity.sides();
        let score = impurity.score();
        let allowed = left >= self.limits.min_weight_leaf && right >= self.limits.min_weight_leaf;
        (allowed && score.is_finite()).then_some(Candidate { score, ..found })
    }

    /// By the toss of a coin; with the many where nothing is missing.
    fn missing_left(&self, here: usize, n: usize, missing: usize, draws: &mut Draws) -> bool {
        match missing {
            0 => 2 * here > n,
            _ => self.low != self.high && draws.next() & 1 == 1,
        }
    }
}

/// How many rows of mean weight the means of levels explain where the target does not depend on them, each row as much
/// as its share of its level: for equal weights the number of levels less two, which leave no choice of an order. Few
/// heavy rows, as boosting makes them, explain more than many light ones.
fn by_chance(levels: &[(f64, f64, f64)]) -> f64 {
    let (weight, squares) = levels.iter().fold((0.0, 0.0), |(w, s), level| (w + level.0, s + level.2));
    if !(weight > 0.0 && squares > 0.0) {
        return 0.0;
    }
    let explained: f64 = levels.iter().filter(|level| level.0 > 0.0).map(|level| level.2 / level.0).sum();
    let rows = weight * weight / squares;
    (explained - 2.0 * squares / weight).max(0.0) * rows / (rows - 1.0).max(1.0)
}
