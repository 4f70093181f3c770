//! The quadratic problem behind every kernel SVM:
//!
//! ```text
//! min_b  1/2 b'Kb + c'b    with  lo <= b <= hi  and  the sum of b fixed within each group.
//! ```
//!
//! b is the multiplier times its sign, so classes, tubes and one-class problems differ only in c and the box. A
//! variable belongs to a row of K; several may share one.
//!
//! Method: decomposition in two levels. Outside, a working set of the worst violators and of what was free before is
//! solved on its own square of K, then the gradient f = Kb moves by one product with the rows that changed (ThunderSVM,
//! Wen et al. 2018). Inside, sequential minimal optimisation with second-order choice of the pair (Fan, Chen and Lin
//! 2005); where that takes very many steps, as with a large C on few columns, the free variables also move together to
//! their common minimum. Stops when no pair violates the optimality conditions by more than the tolerance, as LIBSVM
//! does, and the duality gap is within that share of the objective. Cost: one kernel row for each change of a variable
//! that the cache does not hold, and O(working set) a step.

use super::{double_double::Dd, gram::Gram};
use crate::{
    Bound, Ctx, Halt, Matrix, Result,
    core::{ctx::Progress, linalg::Cholesky, simd::vectorised, trace},
};

pub struct Problem {
    /// The row of K that each variable belongs to.
    pub rows: Vec<u32>,
    pub c: Vec<f64>,
    pub lo: Vec<f64>,
    pub hi: Vec<f64>,
    /// Group of each variable; all 0 when there is one constraint.
    pub group: Vec<u8>,
    /// A feasible start.
    pub b: Vec<f64>,
}

pub struct Solution {
    pub b: Vec<f64>,
    /// `K b` at every row.
    pub f: Vec<f64>,
    /// How far rounding may have moved f.
    pub error: Vec<f64>,
    /// What f + c is at free variables of each group: minus the multiplier of its constraint.
    pub level: [f64; 2],
    pub steps: usize,
    pub rounds: usize,
    /// Largest violation of the optimality conditions by a pair.
    pub violation: f64,
    /// How far the objective can be from its optimum.
    pub bound: Bound,
    /// The dual objective, which is minimised, after each round.
    pub path: Vec<f64>,
    /// What ended it, if not the bound.
    pub halt: Halt,
}

impl Solution {
    pub fn objective(&self) -> f64 {
        self.path.last().copied().unwrap_or(0.0)
    }
}

/// Most variables that are solved together. A small share of all, since their square of K is computed besides the rows
/// that change.
const WORKING_SET: usize = 1024;

/// Most free variables that move together, which takes a factorisation.
const TOGETHER: usize = 512;

/// Curvature of a pair that K says is flat or, rounding or an indefinite kernel, less.
const FLAT: f64 = 1e-12;

/// Rounds without a lower objective after which rounding is all that is left.
const PATIENCE: usize = 20;

/// `K b` as it was added up, with all that rounding may have done to it.
struct Product {
    f: Vec<f64>,
    /// Square roots of the diagonal of K, which bound its entries.
    root: Vec<f64>,
    /// Sum of what was added to b so far, each with its root.
    moved: f64,
}

impl Product {
    fn new(ctx: &Ctx, gram: &mut Gram, steps: &[(usize, f64)]) -> Result<Product> {
        let root = gram.diagonal.iter().map(|d| d.abs().sqrt()).collect();
        let mut product = Product { f: vec![0.0; gram.rows()], root, moved: 0.0 };
        product.add(ctx, gram, steps)?;
        Ok(product)
    }

    fn size(&self, steps: &[(usize, f64)]) -> f64 {
        steps.iter().map(|(row, step)| step.abs() * self.root[*row]).sum()
    }

    fn add(&mut self, ctx: &Ctx, gram: &mut Gram, steps: &[(usize, f64)]) -> Result<()> {
        self.moved += self.size(steps);
        gram.add_rows(ctx, steps, &mut self.f)
    }

    /// The same without what added up on the way. False if there is nothing to gain.
    fn anew(&mut self, ctx: &Ctx, gram: &mut Gram, steps: &[(usize, f64)]) -> Result<bool> {
        let worth = self.moved > 1.1 * self.size(steps);
        if worth {
            self.f.fill(0.0);
            self.moved = 0.0;
            self.add(ctx, gram, steps)?;
        }
        Ok(worth)
    }

    fn error(&self, row: usize, rounding: f64) -> f64 {
        rounding * self.root[row] * self.moved + f64::EPSILON * self.f[row].abs()
    }
}

pub fn solve(
    ctx: &Ctx,
    what: &'static str,
    gram: &mut Gram,
    problem: Problem,
    tolerance: f64,
    max_steps: usize,
) -> Result<Solution> {
    let Problem { rows, c, lo, hi, group, mut b } = problem;
    let n = rows.len();
    let groups = group.iter().copied().max().map_or(1, |g| g as usize + 1);
    let totals = sums(&b, &group);
    let mut product = Product::new(ctx, gram, &merged(&rows, b.iter().copied()))?;

    let size = WORKING_SET.min((n / 8).next_multiple_of(2)).max(n.min(64));
    let mut previous: Vec<usize> = Vec::new();
    let (mut steps, mut rounds, mut path, mut halt) = (0, 0, Vec::new(), Halt::MaxIter);
    let boxed = (0..n).all(|v| (hi[v] - lo[v]).is_finite());
    let (mut stalled, mut least) = (0, f64::INFINITY);
    let mut violation: f64;
    let mut level = [0.0; 2];
    let mut bound;
    let mut h: Vec<f64> = vec![0.0; n];
    loop {
        ctx.check()?;
        for v in 0..n {
            h[v] = product.f[rows[v] as usize] + c[v];
        }
        let now = State { h: &h, b: &b, lo: &lo, hi: &hi, group: &group };
        let ends = (0..groups).map(|g| Ends::of(g as u8, now)).collect::<Vec<_>>();
        for (g, end) in ends.iter().enumerate() {
            level[g] = end.level(g as u8, now);
        }
        violation = ends.iter().map(Ends::violation).fold(f64::NEG_INFINITY, f64::max);
        // What is left of the sum moves the plane by that much of the centre.
        let off = sums(&b, &group)
            .into_iter()
            .zip(totals)
            .fold(Dd::default(), |off, (now, total)| off.add(now.subtract(total)));
        let lean = off.value().abs() * gram.centre;
        let error = |v: usize| {
            let row = rows[v] as usize;
            product.error(row, gram.rounding) + lean * product.root[row] + f64::EPSILON * c[v].abs()
        };
        let Judged { value, magnitude, gap, most } = now.judged(&c, level, totals, error);
        bound = Bound::new(most, tolerance, gap - value, magnitude);
        path.truncate(rounds);
        path.push(value);
        ctx.progress(Progress { what, step: rounds, of: None, value: Some(value) });
        if violation <= tolerance && (bound.holds() || !boxed) {
            break;
        }
        // More is asked for, but no step lowers the objective.
        stalled = if value < least - 1e-14 * magnitude { 0 } else { stalled + 1 };
        least = least.min(value);
        let over = steps >= max_steps || stalled > PATIENCE;
        // Of what is missing a part may be the rounding of all rounds.
        let all_but_rounding = violation <= tolerance && gap <= bound.tolerance;
        if (over || all_but_rounding) && product.anew(ctx, gram, &merged(&rows, b.iter().copied()))? {
            continue;
        }
        let set = if over { Vec::new() } else { working_set(now, &ends, &previous, size) };
        if set.is_empty() {
            halt = if steps >= max_steps { Halt::MaxIter } else { Halt::Rounding };
            break;
        }
        let members: Vec<usize> = set.iter().map(|&v| rows[v] as usize).collect();
        let mut inner = Inner::new(gram, ctx, &set, &members, now, groups);
        let mut seen = |now: &[f64]| {
            ctx.record("pair", || {
                let mut all = b.clone();
                set.iter().zip(now).for_each(|(&v, value)| all[v] = *value);
                multipliers(&all, &rows, gram).into()
            });
        };
        let most = (max_steps - steps).min(200 * size.max(100));
        steps += inner.run(inner_tolerance(violation, tolerance), most, ctx.is_traced().then_some(&mut seen));
        let before: Vec<f64> = set.iter().map(|&v| std::mem::replace(&mut b[v], 0.0)).collect();
        set.iter().zip(&inner.b).for_each(|(&v, value)| b[v] = *value);
        let mut changes: Vec<(u32, f64)> = set.iter().zip(before).map(|(&v, old)| (rows[v], b[v] - old)).collect();
        if groups == 1 {
            cancel(&rows, &mut b);
        }
        changes.extend(balance(&mut b, &lo, &hi, &group, totals).map(|(v, change)| (rows[v], change)));
        let moved: Vec<u32> = changes.iter().map(|(row, _)| *row).collect();
        product.add(ctx, gram, &merged(&moved, changes.iter().map(|(_, change)| *change)))?;
        previous = set;
        rounds += 1;
    }
    let error = (0..gram.rows()).map(|row| product.error(row, gram.rounding)).collect();
    let violation = violation.max(0.0);
    ctx.record("solved", || {
        let numbers = [("level", level[0]), ("violation", violation), ("gap", bound.gap)];
        let numbers = numbers.map(|(name, value)| (name, trace::number(value)));
        multipliers(&b, &rows, gram).into_iter().chain(numbers).collect()
    });
    Ok(Solution { b, f: product.f, error, level, steps, rounds, violation, bound, path, halt })
}

/// How far the working set is solved: within the violation of all, and further once the tolerance is near.
fn inner_tolerance(violation: f64, tolerance: f64) -> f64 {
    match violation {
        // Within the tolerance, but not the gap.
        v if v <= tolerance => 0.1 * v,
        v if v < 10.0 * tolerance => 0.5 * tolerance,
        v => (0.1 * v).max(0.5 * tolerance),
    }
}

/// The multipliers and the rows they belong to, for a trace.
fn multipliers(b: &[f64], rows: &[u32], gram: &Gram) -> [(&'static str, Matrix); 2] {
    let numbers = rows.iter().map(|&row| gram.number(row) as f64);
    [("multipliers", trace::column(b.iter().copied())), ("rows", trace::column(numbers))]
}

/// The sum of each group in 32 digits.
fn sums(b: &[f64], group: &[u8]) -> [Dd; 2] {
    let mut sums = [Dd::default(); 2];
    b.iter().zip(group).for_each(|(b, &g)| sums[g as usize] = sums[g as usize].add(Dd::new(*b)));
    sums
}

/// How far each group is from the sum that it has to keep.
fn imbalance(b: &[f64], group: &[u8], totals: [Dd; 2]) -> [f64; 2] {
    let now = sums(b, group);
    [0, 1].map(|g| now[g].subtract(totals[g]).value())
}

/// Of two variables of a row that pull against each other one becomes zero: their sum alone is the coefficient.
fn cancel(rows: &[u32], b: &mut [f64]) {
    let n = rows.len() / 2;
    if rows[..n] == rows[n..] {
        let (rising, falling) = b.split_at_mut(n);
        for (up, down) in rising.iter_mut().zip(falling).filter(|(up, down)| **up > 0.0 && **down < 0.0) {
            let both = up.min(-*down);
            (*up, *down) = (*up - both, *down + both);
        }
    }
}

/// Takes up what rounding has left of the constraints by the smallest free variable of each group, since a dual point
/// proves nothing unless it keeps them. Returns what changed.
fn balance(
    b: &mut [f64],
    lo: &[f64],
    hi: &[f64],
    group: &[u8],
    totals: [Dd; 2],
) -> impl Iterator<Item = (usize, f64)> + use<> {
    let off = imbalance(b, group, totals);
    let mut changes = Vec::new();
    for (g, off) in off.into_iter().enumerate().filter(|(_, off)| *off != 0.0) {
        let inside = |v: &usize| group[*v] as usize == g && b[*v] - off > lo[*v] && b[*v] - off < hi[*v];
        let free = (0..b.len()).filter(|&v| b[v] > lo[v] && b[v] < hi[v]).filter(inside);
        if let Some(v) = free.min_by(|&u, &v| b[u].abs().total_cmp(&b[v].abs())) {
            let old = std::mem::replace(&mut b[v], 0.0);
            b[v] = old - off;
            changes.push((v, b[v] - old));
        }
    }
    changes.into_iter()
}

/// Steps by row, with those of variables that share a row added up and nothing that did not move.
fn merged(rows: &[u32], steps: impl Iterator<Item = f64>) -> Vec<(usize, f64)> {
    let mut pairs: Vec<(usize, f64)> =
        rows.iter().map(|&row| row as usize).zip(steps).filter(|(_, s)| *s != 0.0).collect();
    pairs.sort_by_key(|(row, _)| *row);
    pairs.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0.0 };
        same
    });
    pairs.retain(|(_, step)| *step != 0.0);
    pairs
}

/// Where the variables are: their gradients, values, boxes and groups.
#[derive(Clone, Copy)]
struct State<'a> {
    h: &'a [f64],
    b: &'a [f64],
    lo: &'a [f64],
    hi: &'a [f64],
    group: &'a [u8],
}

/// What a state proves.
struct Judged {
    /// The dual objective.
    value: f64,
    /// Of the terms of its sum.
    magnitude: f64,
    /// Primal minus dual.
    gap: f64,
    /// The most that this can be within the rounding of the gradients and of the constraints.
    most: f64,
}

impl State<'_> {
    /// The gap is a sum over the variables of terms that are convex in their gradients, so each is largest at an end of
    /// its error.
    fn judged(&self, c: &[f64], level: [f64; 2], totals: [Dd; 2], error: impl Fn(usize) -> f64) -> Judged {
        let State { h, b, lo, hi, group } = *self;
        let mut found = Judged { value: 0.0, magnitude: 0.0, gap: 0.0, most: 0.0 };
        for v in 0..h.len() {
            let term = |slope: f64| match slope {
                0.0 => 0.0,
                _ if slope > 0.0 => slope * (b[v] - lo[v]),
                _ => slope * (b[v] - hi[v]),
            };
            let (slope, error) = (h[v] - level[group[v] as usize], error(v));
            found.value += 0.5 * b[v] * (h[v] + c[v]);
            found.magnitude += (b[v] * h[v]).abs();
            found.gap += term(slope);
            let (below, above) = (term(slope - error), term(slope + error));
            found.most += if below > above { below } else { above };
        }
        // The best level is not known, but of the size of this one.
        let off = imbalance(b, group, totals);
        found.most += (0..2).map(|g| 2.0 * (off[g] * level[g]).abs()).sum::<f64>();
        found
    }
}

/// The extreme gradients of a group: `up` among variables that can rise, `down` among those that can fall.
struct Ends {
    up: f64,
    down: f64,
}

impl Ends {
    fn of(g: u8, State { h, b, lo, hi, group }: State) -> Ends {
        let (mut up, mut down) = (f64::INFINITY, f64::NEG_INFINITY);
        for v in 0..h.len() {
            if group[v] != g {
                continue;
            }
            if b[v] < hi[v] {
                up = up.min(h[v]);
            }
            if b[v] > lo[v] {
                down = down.max(h[v]);
            }
        }
        Ends { up, down }
    }

    fn violation(&self) -> f64 {
        self.down - self.up
    }

    fn level(&self, g: u8, State { h, b, lo, hi, group }: State) -> f64 {
        let (mut sum, mut count) = (0.0, 0);
        for v in 0..h.len() {
            if group[v] == g && b[v] > lo[v] && b[v] < hi[v] {
                sum += h[v];
                count += 1;
            }
        }
        match (count, self.up.is_finite(), self.down.is_finite()) {
            (1.., _, _) => sum / count as f64,
            (_, true, true) => 0.5 * (self.up + self.down),
            (_, true, false) => self.up,
            (_, false, true) => self.down,
            _ => 0.0,
        }
    }
}

/// Half the set are the worst violators on either side, the rest what was free in the set before: those are the
/// variables whose values are still being found.
fn working_set(state: State, ends: &[Ends], previous: &[usize], size: usize) -> Vec<usize> {
    let State { h, b, lo, hi, group } = state;
    let n = h.len();
    let mut taken = vec![false; n];
    let mut set = Vec::with_capacity(size);
    // The first round has nothing to keep.
    let fresh = if previous.is_empty() { size } else { size / 2 };
    let mut sides: Vec<Vec<usize>> = Vec::new();
    for (g, end) in ends.iter().enumerate() {
        let mut rising: Vec<usize> =
            (0..n).filter(|&v| group[v] as usize == g && b[v] < hi[v] && h[v] < end.down).collect();
        let mut falling: Vec<usize> =
            (0..n).filter(|&v| group[v] as usize == g && b[v] > lo[v] && h[v] > end.up).collect();
        let limit = fresh;
        worst(&mut rising, limit, |&v| (h[v], v));
        worst(&mut falling, limit, |&v| (-h[v], v));
        sides.push(rising);
        sides.push(falling);
    }
    let mut at = 0;
    while set.len() < fresh && sides.iter().any(|side| at < side.len()) {
        for side in &sides {
            if let Some(&v) = side.get(at)
                && !taken[v]
                && set.len() < fresh
            {
                taken[v] = true;
                set.push(v);
            }
        }
        at += 1;
    }
    let free = |v: usize| b[v] > lo[v] && b[v] < hi[v];
    for wanted in [true, false] {
        for &v in previous {
            if set.len() < size && !taken[v] && free(v) == wanted {
                taken[v] = true;
                set.push(v);
            }
        }
    }
    set
}

/// Keeps the `limit` smallest by key, in order.
fn worst(candidates: &mut Vec<usize>, limit: usize, key: impl Fn(&usize) -> (f64, usize)) {
    let order = |a: &usize, b: &usize| {
        let (a, b) = (key(a), key(b));
        a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
    };
    if candidates.len() > limit && limit > 0 {
        candidates.select_nth_unstable_by(limit - 1, order);
        candidates.truncate(limit);
    }
    candidates.sort_unstable_by(order);
}

/// The problem on a working set, with its square of K at hand.
struct Inner {
    k: Vec<f64>,
    diagonal: Vec<f64>,
    h: Vec<f64>,
    b: Vec<f64>,
    lo: Vec<f64>,
    hi: Vec<f64>,
    /// `can_rise[g][v]` is 0 where the variable is of group g and below its upper end, infinity elsewhere; `can_fall`
    /// likewise.
    can_rise: Vec<Vec<f64>>,
    can_fall: Vec<Vec<f64>>,
    group: Vec<u8>,
}

const LANES: usize = 8;

impl Inner {
    fn new(gram: &Gram, ctx: &Ctx, set: &[usize], rows: &[usize], state: State, groups: usize) -> Inner {
        // Padded to whole vectors with variables that can neither rise nor fall.
        let (m, padded) = (set.len(), set.len().next_multiple_of(LANES));
        let square = gram.square(ctx, rows);
        let mut k = vec![0.0; m * padded];
        for (to, from) in k.chunks_exact_mut(padded).zip(square.chunks_exact(m)) {
            to[..m].copy_from_slice(from);
        }
        let take = |values: &[f64]| {
            let mut out: Vec<f64> = set.iter().map(|&v| values[v]).collect();
            out.resize(padded, 0.0);
            out
        };
        let mut diagonal: Vec<f64> = rows.iter().map(|&row| gram.diagonal[row]).collect();
        diagonal.resize(padded, 0.0);
        let mut group: Vec<u8> = set.iter().map(|&v| state.group[v]).collect();
        group.resize(padded, u8::MAX);
        let mut inner = Inner {
            k,
            diagonal,
            h: take(state.h),
            b: take(state.b),
            lo: take(state.lo),
            hi: take(state.hi),
            can_rise: vec![vec![f64::INFINITY; padded]; groups],
            can_fall: vec![vec![f64::INFINITY; padded]; groups],
            group,
        };
        (0..m).for_each(|v| inner.mark(v));
        inner
    }

    fn mark(&mut self, v: usize) {
        let g = self.group[v] as usize;
        self.can_rise[g][v] = if self.b[v] < self.hi[v] { 0.0 } else { f64::INFINITY };
        self.can_fall[g][v] = if self.b[v] > self.lo[v] { 0.0 } else { f64::INFINITY };
    }

    /// Steps until no pair violates by more than `tolerance`; returns how many. Where pairs take very many, the free
    /// variables move together now and then.
    fn run(&mut self, tolerance: f64, max_steps: usize, mut seen: Option<&mut dyn FnMut(&[f64])>) -> usize {
        let patience = 500 + 20 * self.h.len();
        let mut done = 0;
        while done < max_steps {
            let most = patience.min(max_steps - done);
            let taken = vectorised(
                #[inline(always)]
                || {
                    for step in 0..most {
                        let Some((i, j)) = self.pair(tolerance) else { return step };
                        self.step(i, j);
                        if let Some(seen) = &mut seen {
                            seen(&self.b);
                        }
                    }
                    most
                },
            );
            done += taken;
            if taken < most {
                break;
            }
            self.move_free();
        }
        done
    }

    /// To the minimum over the free variables, or until no more of them are free: variables that meet an end stay
    /// there.
    fn move_free(&mut self) {
        let padded = self.h.len();
        loop {
            let free: Vec<usize> = (0..padded).filter(|&v| self.b[v] > self.lo[v] && self.b[v] < self.hi[v]).collect();
            if free.len() < 2 || free.len() > TOGETHER {
                return;
            }
            let Some(direction) = self.free_direction(&free) else { return };
            let mut change = vec![0.0; padded];
            for (&v, &d) in free.iter().zip(&direction) {
                let row = &self.k[v * padded..(v + 1) * padded];
                change.iter_mut().zip(row).for_each(|(c, k)| *c += d * k);
            }
            let slope: f64 = free.iter().zip(&direction).map(|(&v, d)| self.h[v] * d).sum();
            let bend: f64 = free.iter().zip(&direction).map(|(&v, d)| change[v] * d).sum();
            if !(slope < 0.0) || !bend.is_finite() {
                return;
            }
            // How far to the first end, and whose it is.
            let room =
                |v: usize, d: f64| if d > 0.0 { (self.hi[v] - self.b[v]) / d } else { (self.lo[v] - self.b[v]) / d };
            let (mut length, mut first) = (if bend > 0.0 { -slope / bend } else { f64::INFINITY }, None);
            for (&v, &d) in free.iter().zip(&direction).filter(|(_, d)| **d != 0.0) {
                if room(v, d) < length {
                    (length, first) = (room(v, d), Some(v));
                }
            }
            if !length.is_finite() {
                return;
            }
            for (&v, &d) in free.iter().zip(&direction) {
                let to = if first == Some(v) {
                    if d > 0.0 { self.hi[v] } else { self.lo[v] }
                } else {
                    self.b[v] + length * d
                };
                self.b[v] = to.clamp(self.lo[v], self.hi[v]);
                self.mark(v);
            }
            self.h.iter_mut().zip(&change).for_each(|(h, c)| *h += length * c);
            if first.is_none() {
                return;
            }
        }
    }

    /// Where the quadratic of the free variables is least, with the sum of each group kept: (K + a little) d = -h +
    /// level of the group.
    fn free_direction(&self, free: &[usize]) -> Option<Vec<f64>> {
        let (padded, groups) = (self.h.len(), self.can_rise.len());
        let largest = free.iter().map(|&v| self.diagonal[v].abs()).fold(0.0, f64::max);
        let mut ridge = 1e-13 * largest;
        let factor = loop {
            let a = Matrix::from_fn(free.len(), free.len(), |i, j| {
                self.k[free[i] * padded + free[j]] + if i == j { ridge } else { 0.0 }
            });
            match Cholesky::new(&a) {
                Some(factor) => break factor,
                None if ridge < 1e-3 * largest => ridge *= 100.0,
                None => return None,
            }
        };
        let mut direction: Vec<f64> = free.iter().map(|&v| -self.h[v]).collect();
        // Against the mean slope of its group, which the constraint takes up anyway.
        let of = |g: usize| free.iter().map(move |&v| f64::from(u8::from(self.group[v] as usize == g)));
        for g in 0..groups {
            let count: f64 = of(g).sum();
            let mean = of(g).zip(&direction).map(|(one, d)| one * d).sum::<f64>() / count.max(1.0);
            of(g).zip(&mut direction).for_each(|(one, d)| *d -= one * mean);
        }
        factor.solve(&mut direction, 1);
        let units: Vec<Vec<f64>> = (0..groups)
            .map(|g| {
                let mut unit: Vec<f64> = of(g).collect();
                factor.solve(&mut unit, 1);
                unit
            })
            .collect();
        let total = |g: usize, values: &[f64]| of(g).zip(values).map(|(one, value)| one * value).sum::<f64>();
        // One equation for each group that has free variables.
        let (a, d) = (total(0, &units[0]), total(0, &direction));
        let levels = match groups {
            1 => vec![d / a],
            _ => {
                let (b, c, e) = (total(1, &units[0]), total(1, &units[1]), total(1, &direction));
                match (a > 0.0, c > 0.0) {
                    (true, true) => {
                        let determinant = a * c - b * b;
                        vec![(d * c - e * b) / determinant, (a * e - b * d) / determinant]
                    }
                    (true, false) => vec![d / a, 0.0],
                    _ => vec![0.0, e / c],
                }
            }
        };
        for (level, unit) in levels.iter().zip(&units) {
            direction.iter_mut().zip(unit).for_each(|(d, u)| *d -= level * u);
        }
        direction.iter().all(|d| d.is_finite()).then_some(direction)
    }

    /// The variable that rises: the steepest of its group. The one that falls: where the pair gains most to second
    /// order.
    #[inline(always)]
    fn pair(&self, tolerance: f64) -> Option<(usize, usize)> {
        let padded = self.h.len();
        let mut best: Option<(f64, usize, usize)> = None;
        for g in 0..self.can_rise.len() {
            let (rise, fall) = (&self.can_rise[g][..padded], &self.can_fall[g][..padded]);
            let h = &self.h[..padded];
            let (steepest, i) = least(padded, |v| h[v] + rise[v]);
            let mut down = [f64::NEG_INFINITY; LANES];
            for at in (0..padded).step_by(LANES) {
                for lane in 0..LANES {
                    let value = h[at + lane] - fall[at + lane];
                    down[lane] = if value > down[lane] { value } else { down[lane] };
                }
            }
            let down = down.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if steepest == f64::INFINITY || down - steepest <= tolerance {
                continue;
            }
            let row = &self.k[i * padded..(i + 1) * padded];
            let (diagonal, own) = (&self.diagonal[..padded], self.diagonal[i]);
            let (gain, j) = least(padded, |v| {
                let slope = h[v] - steepest;
                let flat = own + diagonal[v] - 2.0 * row[v];
                let curvature = if flat > FLAT { flat } else { FLAT };
                let gain = -slope * slope / curvature;
                // Infinity where it cannot fall; positive slopes only.
                if slope > 0.0 { gain + fall[v] } else { f64::INFINITY }
            });
            if gain < best.map_or(0.0, |(gain, _, _)| gain) {
                best = Some((gain, i, j));
            }
        }
        best.map(|(_, i, j)| (i, j))
    }

    #[inline(always)]
    fn step(&mut self, i: usize, j: usize) {
        let padded = self.h.len();
        let curvature = (self.diagonal[i] + self.diagonal[j] - 2.0 * self.k[i * padded + j]).max(FLAT);
        let full = (self.h[j] - self.h[i]) / curvature;
        let (room_i, room_j) = (self.hi[i] - self.b[i], self.b[j] - self.lo[j]);
        let t = full.min(room_i).min(room_j);
        // Ends are met exactly, so that a variable at its bound is at its bound.
        self.b[i] = if t == room_i { self.hi[i] } else { self.b[i] + t };
        self.b[j] = if t == room_j { self.lo[j] } else { self.b[j] - t };
        self.mark(i);
        self.mark(j);
        let (ki, kj) = (&self.k[i * padded..(i + 1) * padded], &self.k[j * padded..(j + 1) * padded]);
        for ((h, ki), kj) in self.h.iter_mut().zip(ki).zip(kj) {
            *h += t * (ki - kj);
        }
    }
}

/// The smallest value and its first place, by eight lanes.
#[inline(always)]
fn least(padded: usize, value: impl Fn(usize) -> f64) -> (f64, usize) {
    let (mut best, mut place) = ([f64::INFINITY; LANES], [0usize; LANES]);
    for at in (0..padded).step_by(LANES) {
        for lane in 0..LANES {
            let v = value(at + lane);
            let better = v < best[lane];
            best[lane] = if better { v } else { best[lane] };
            place[lane] = if better { at } else { place[lane] };
        }
    }
    let mut found = (f64::INFINITY, 0);
    for lane in 0..LANES {
        let here = (best[lane], place[lane] + lane);
        if here.0 < found.0 || (here.0 == found.0 && here.1 < found.1) {
            found = here;
        }
    }
    found
}
