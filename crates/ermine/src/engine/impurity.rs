//! The criteria of a tree as [`Impurity`]s. Two classes, one squared or Poisson target need two sums (weight and
//! weighted target) and share one meter; more classes and more targets keep a sum for each; absolute error keeps the
//! medians of all prefixes.

use crate::{
    core::simd,
    engine::{grow::Impurity, survival},
};

/// G of a side with weight `w` and weighted sum of targets `s`.
pub trait Score: Copy + Send + Sync + 'static {
    /// The target is 0 or 1 and leaves hold two shares.
    const CLASSES: bool;
    /// G is a few operations, which vectors do for several cuts at once.
    const SIMPLE: bool = false;
    fn gain(w: f64, s: f64) -> f64;
    /// What a row adds to the part of the impurity that no cut changes; `s` is its weighted target.
    fn constant(w: f64, s: f64) -> f64;
}

#[derive(Clone, Copy)]
pub struct Squares;
#[derive(Clone, Copy)]
pub struct Poisson;
#[derive(Clone, Copy)]
pub struct Gini;
#[derive(Clone, Copy)]
pub struct Entropy;

impl Score for Squares {
    const CLASSES: bool = false;
    const SIMPLE: bool = true;
    #[inline(always)]
    fn gain(w: f64, s: f64) -> f64 {
        s * s / w
    }
    fn constant(w: f64, s: f64) -> f64 {
        if w > 0.0 { s * s / w } else { 0.0 }
    }
}

impl Score for Poisson {
    const CLASSES: bool = false;
    /// A side without a single event would predict a rate of zero: not allowed.
    fn gain(w: f64, s: f64) -> f64 {
        if s > 0.0 { s * (s / w).ln() } else { f64::NEG_INFINITY }
    }
    fn constant(w: f64, s: f64) -> f64 {
        if s > 0.0 { s * (s / w).ln() } else { 0.0 }
    }
}

impl Score for Gini {
    const CLASSES: bool = true;
    const SIMPLE: bool = true;
    #[inline(always)]
    fn gain(w: f64, s: f64) -> f64 {
        (s * s + (w - s) * (w - s)) / w
    }
    fn constant(w: f64, _: f64) -> f64 {
        w
    }
}

fn x_log_x(x: f64) -> f64 {
    if x > 0.0 { x * x.log2() } else { 0.0 }
}

impl Score for Entropy {
    const CLASSES: bool = true;
    fn gain(w: f64, s: f64) -> f64 {
        x_log_x(s) + x_log_x(w - s) - x_log_x(w)
    }
    fn constant(_: f64, _: f64) -> f64 {
        0.0
    }
}

/// Weight and weighted target of every row.
#[derive(Clone)]
pub struct Moments<'a, S> {
    rows: &'a [[f64; 2]],
    /// Was taken off the targets before.
    centre: f64,
    local: Vec<[f64; 2]>,
    total: [f64; 2],
    constant: f64,
    pure: bool,
    left: [f64; 2],
    bins: Vec<[f64; 2]>,
    /// Weight and sum to the left of every cut.
    weights: Vec<f64>,
    sums: Vec<f64>,
    score: std::marker::PhantomData<S>,
}

impl<'a, S: Score> Moments<'a, S> {
    pub fn new(rows: &'a [[f64; 2]], centre: f64) -> Self {
        Moments {
            rows,
            centre,
            local: vec![],
            total: [0.0; 2],
            constant: 0.0,
            pure: false,
            left: [0.0; 2],
            bins: vec![],
            weights: vec![],
            sums: vec![],
            score: std::marker::PhantomData,
        }
    }

    fn right(&self) -> [f64; 2] {
        [self.total[0] - self.left[0], self.total[1] - self.left[1]]
    }
}

impl<S: Score> Impurity for Moments<'_, S> {
    fn bin_width(&self) -> usize {
        1
    }
    fn outputs(&self) -> usize {
        if S::CLASSES { 2 } else { 1 }
    }
    fn load(&mut self, rows: &[u32]) {
        self.local.clear();
        self.local.extend(rows.iter().map(|&row| self.rows[row as usize]));
        self.total = [0.0; 2];
        self.constant = 0.0;
        let first = self.local[0];
        self.pure = true;
        for [w, s] in &self.local {
            self.total[0] += w;
            self.total[1] += s;
            self.constant += S::constant(*w, *s);
            self.pure &= s * first[0] == first[1] * w;
        }
    }
    fn weight(&self) -> f64 {
        self.total[0]
    }
    fn of_node(&self) -> f64 {
        if self.pure { 0.0 } else { ((self.constant - self.gain()) / self.total[0]).max(0.0) }
    }
    fn gain(&self) -> f64 {
        S::gain(self.total[0], self.total[1])
    }
    fn pure(&self) -> bool {
        self.pure
    }
    fn value(&self, out: &mut Vec<f64>) {
        let [w, s] = if self.pure { self.local[0] } else { self.total };
        let mean = if w > 0.0 { s / w } else { 0.0 };
        match S::CLASSES {
            true => out.extend([(w - s) / w, mean]),
            false => out.push(mean + self.centre),
        }
    }
    fn order_by(&self, i: usize, _: usize) -> (f64, f64) {
        (self.local[i][0], self.local[i][1])
    }
    fn start(&mut self, _: &[u32]) {
        self.left = [0.0; 2];
    }
    #[inline]
    fn take(&mut self, i: usize) {
        let [w, s] = self.local[i];
        self.left[0] += w;
        self.left[1] += s;
    }
    fn clear_bins(&mut self, bins: usize) {
        self.bins.clear();
        self.bins.resize(bins, [0.0; 2]);
    }
    #[inline]
    fn add_to_bin(&mut self, bin: usize, i: usize) {
        let [w, s] = self.local[i];
        let bin = &mut self.bins[bin];
        bin[0] += w;
        bin[1] += s;
    }
    #[inline]
    fn take_bin(&mut self, bin: usize) {
        let [w, s] = self.bins[bin];
        self.left[0] += w;
        self.left[1] += s;
    }
    fn scores(&mut self, sequence: &[u32], out: &mut Vec<f64>) -> bool {
        if !S::SIMPLE {
            return false;
        }
        let Moments { local, weights, sums, total: [total_weight, total], .. } = self;
        weights.clear();
        sums.clear();
        let (mut weight, mut sum) = (0.0, 0.0);
        for &i in sequence {
            let [w, s] = local[i as usize];
            weight += w;
            sum += s;
            weights.push(weight);
            sums.push(sum);
        }
        out.resize(sequence.len(), 0.0);
        simd::vectorised(
            #[inline(always)]
            || {
                for ((out, &w), &s) in out.iter_mut().zip(weights.iter()).zip(sums.iter()) {
                    *out = S::gain(w, s) + S::gain(*total_weight - w, *total - s);
                }
            },
        );
        true
    }
    fn sides(&self) -> (f64, f64) {
        (self.left[0], self.right()[0])
    }
    #[inline]
    fn score(&self) -> f64 {
        let [w, s] = self.right();
        S::gain(self.left[0], self.left[1]) + S::gain(w, s)
    }
    fn p_value(&self, _: &[bool]) -> f64 {
        let ([lw, ls], [rw, rs]) = (self.left, self.right());
        if S::CLASSES {
            return chi_squared(&[lw - ls, ls], &[rw - rs, rs]);
        }
        let decrease = self.score() - self.gain();
        if std::any::TypeId::of::<S>() == std::any::TypeId::of::<Poisson>() {
            return survival::chi_squared(2.0 * decrease, 1.0);
        }
        f_test(decrease, self.constant - self.gain() - decrease, self.local.len())
    }
}

/// One factor of two levels: decrease of squares against what is left.
fn f_test(decrease: f64, left_over: f64, rows: usize) -> f64 {
    let freedom = rows as f64 - 2.0;
    survival::f(decrease / (left_over.max(0.0) / freedom), 1.0, freedom)
}

/// Pearson's test of a table with two columns.
fn chi_squared(left: &[f64], right: &[f64]) -> f64 {
    let (l, r): (f64, f64) = (left.iter().sum(), right.iter().sum());
    let (mut statistic, mut rows) = (0.0, 0);
    for (a, b) in left.iter().zip(right).filter(|(a, b)| *a + *b > 0.0) {
        let share = (a + b) / (l + r);
        statistic += (a - share * l).powi(2) / (share * l) + (b - share * r).powi(2) / (share * r);
        rows += 1;
    }
    survival::chi_squared(statistic, f64::from(rows) - 1.0)
}

/// More than two classes. Sums of squares, or of x log x, change by one term when a row moves.
#[derive(Clone)]
pub struct Classes<'a> {
    codes: &'a [u32],
    weights: &'a [f64],
    classes: usize,
    entropy: bool,
    local: Vec<(u32, f64)>,
    total: Vec<f64>,
    weight: f64,
    left: Vec<f64>,
    right: Vec<f64>,
    left_weight: f64,
    left_sum: f64,
    right_sum: f64,
    bins: Vec<f64>,
}

impl<'a> Classes<'a> {
    pub fn new(codes: &'a [u32], weights: &'a [f64], classes: usize, entropy: bool) -> Self {
        Classes {
            codes,
            weights,
            classes,
            entropy,
            local: vec![],
            total: vec![0.0; classes],
            weight: 0.0,
            left: vec![0.0; classes],
            right: vec![0.0; classes],
            left_weight: 0.0,
            left_sum: 0.0,
            right_sum: 0.0,
            bins: vec![],
        }
    }

    fn term(&self, x: f64) -> f64 {
        if self.entropy { x_log_x(x) } else { x * x }
    }

    fn side(&self, weight: f64, sum: f64) -> f64 {
        if self.entropy { sum - x_log_x(weight) } else { sum / weight }
    }

    #[inline]
    fn shift(&mut self, class: usize, weight: f64) {
        let (l, r) = (self.left[class], self.right[class]);
        self.left[class] = l + weight;
        self.right[class] = r - weight;
        self.left_weight += weight;
        if self.entropy {
            self.left_sum += x_log_x(l + weight) - x_log_x(l);
            self.right_sum += x_log_x(r - weight) - x_log_x(r);
        } else {
            self.left_sum += weight * (l + l + weight);
            self.right_sum -= weight * (r + r - weight);
        }
    }
}

impl Impurity for Classes<'_> {
    fn bin_width(&self) -> usize {
        self.classes
    }
    fn outputs(&self) -> usize {
        self.classes
    }
    fn load(&mut self, rows: &[u32]) {
        self.local.clear();
        self.local.extend(rows.iter().map(|&row| (self.codes[row as usize], self.weights[row as usize])));
        self.total.fill(0.0);
        self.local.iter().for_each(|&(class, weight)| self.total[class as usize] += weight);
        self.weight = self.total.iter().sum();
    }
    fn weight(&self) -> f64 {
        self.weight
    }
    fn of_node(&self) -> f64 {
        if self.pure() {
            return 0.0;
        }
        let constant = if self.entropy { 0.0 } else { self.weight };
        ((constant - self.gain()) / self.weight).max(0.0)
    }
    fn gain(&self) -> f64 {
        self.side(self.weight, self.total.iter().map(|&x| self.term(x)).sum())
    }
    fn pure(&self) -> bool {
        self.total.iter().filter(|&&weight| weight > 0.0).count() <= 1
    }
    fn value(&self, out: &mut Vec<f64>) {
        out.extend(self.total.iter().map(|total| total / self.weight));
    }
    fn orders(&self) -> usize {
        self.classes
    }
    fn order_by(&self, i: usize, order: usize) -> (f64, f64) {
        let (class, weight) = self.local[i];
        (weight, if class as usize == order { weight } else { 0.0 })
    }
    fn start(&mut self, _: &[u32]) {
        self.left.fill(0.0);
        self.right.copy_from_slice(&self.total);
        self.left_weight = 0.0;
        self.left_sum = 0.0;
        self.right_sum = self.total.iter().map(|&x| self.term(x)).sum();
    }
    #[inline]
    fn take(&mut self, i: usize) {
        let (class, weight) = self.local[i];
        self.shift(class as usize, weight);
    }
    fn clear_bins(&mut self, bins: usize) {
        self.bins.clear();
        self.bins.resize(bins * self.classes, 0.0);
    }
    #[inline]
    fn add_to_bin(&mut self, bin: usize, i: usize) {
        let (class, weight) = self.local[i];
        self.bins[bin * self.classes + class as usize] += weight;
    }
    fn take_bin(&mut self, bin: usize) {
        for class in 0..self.classes {
            let weight = self.bins[bin * self.classes + class];
            if weight > 0.0 {
                self.shift(class, weight);
            }
        }
    }
    fn sides(&self) -> (f64, f64) {
        (self.left_weight, self.weight - self.left_weight)
    }
    #[inline]
    fn score(&self) -> f64 {
        self.side(self.left_weight, self.left_sum) + self.side(self.weight - self.left_weight, self.right_sum)
    }
    fn p_value(&self, _: &[bool]) -> f64 {
        chi_squared(&self.left, &self.right)
    }
}

/// Several targets with squared error, averaged.
#[derive(Clone)]
pub struct Reals<'a> {
    y: &'a [f64],
    targets: usize,
    weights: &'a [f64],
    centre: &'a [f64],
    /// Weight and weighted, centred targets of each row.
    local: Vec<f64>,
    total: Vec<f64>,
    left: Vec<f64>,
    squares: f64,
    pure: bool,
    bins: Vec<f64>,
}

impl<'a> Reals<'a> {
    pub fn new(y: &'a [f64], targets: usize, weights: &'a [f64], centre: &'a [f64]) -> Self {
        Reals {
            y,
            targets,
            weights,
            centre,
            local: vec![],
            total: vec![0.0; targets + 1],
            left: vec![0.0; targets + 1],
            squares: 0.0,
            pure: false,
            bins: vec![],
        }
    }

    fn add(to: &mut [f64], from: &[f64]) {
        to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
    }
}

impl Impurity for Reals<'_> {
    fn bin_width(&self) -> usize {
        self.targets + 1
    }
    fn outputs(&self) -> usize {
        self.targets
    }
    fn load(&mut self, rows: &[u32]) {
        self.local.clear();
        self.total.fill(0.0);
        self.squares = 0.0;
        let of = |row: u32| &self.y[row as usize * self.targets..(row as usize + 1) * self.targets];
        self.pure = rows.iter().all(|&row| of(row) == of(rows[0]));
        for &row in rows {
            let weight = self.weights[row as usize];
            self.local.push(weight);
            for (y, centre) in of(row).iter().zip(self.centre) {
                self.local.push(weight * (y - centre));
                self.squares += weight * (y - centre) * (y - centre);
            }
        }
        self.local.chunks_exact(self.targets + 1).for_each(|row| Self::add(&mut self.total, row));
    }
    fn weight(&self) -> f64 {
        self.total[0]
    }
    fn of_node(&self) -> f64 {
        match self.pure {
            true => 0.0,
            false => ((self.squares / self.targets as f64 - self.gain()) / self.total[0]).max(0.0),
        }
    }
    fn gain(&self) -> f64 {
        self.total[1..].iter().map(|s| s * s / self.total[0]).sum::<f64>() / self.targets as f64
    }
    fn pure(&self) -> bool {
        self.pure
    }
    fn value(&self, out: &mut Vec<f64>) {
        let sums = if self.pure { &self.local[..self.targets + 1] } else { &self.total };
        out.extend(sums[1..].iter().zip(self.centre).map(|(s, centre)| s / sums[0] + centre));
    }
    fn orders(&self) -> usize {
        self.targets
    }
    fn order_by(&self, i: usize, order: usize) -> (f64, f64) {
        let row = &self.local[i * (self.targets + 1)..];
        (row[0], row[1 + order])
    }
    fn start(&mut self, _: &[u32]) {
        self.left.fill(0.0);
    }
    fn take(&mut self, i: usize) {
        let width = self.targets + 1;
        Self::add(&mut self.left, &self.local[i * width..(i + 1) * width]);
    }
    fn clear_bins(&mut self, bins: usize) {
        self.bins.clear();
        self.bins.resize(bins * (self.targets + 1), 0.0);
    }
    fn add_to_bin(&mut self, bin: usize, i: usize) {
        let width = self.targets + 1;
        Self::add(&mut self.bins[bin * width..(bin + 1) * width], &self.local[i * width..(i + 1) * width]);
    }
    fn take_bin(&mut self, bin: usize) {
        let width = self.targets + 1;
        Self::add(&mut self.left, &self.bins[bin * width..(bin + 1) * width]);
    }
    fn sides(&self) -> (f64, f64) {
        (self.left[0], self.total[0] - self.left[0])
    }
    fn score(&self) -> f64 {
        let (l, r) = self.sides();
        let sum: f64 = (1..=self.targets)
            .map(|t| {
                self.left[t] * self.left[t] / l + (self.total[t] - self.left[t]) * (self.total[t] - self.left[t]) / r
            })
            .sum();
        sum / self.targets as f64
    }
    fn p_value(&self, _: &[bool]) -> f64 {
        let targets = self.targets as f64;
        let decrease = self.score() - self.gain();
        f_test(decrease, self.squares / targets - self.gain() - decrease, self.local.len() / (self.targets + 1))
    }
}

/// Absolute error: leaves hold medians. The loss of every prefix and suffix of a sequence comes from a Fenwick tree
/// over the ranks of the node's targets, O(log n) a row.
#[derive(Clone)]
pub struct Absolutes<'a> {
    y: &'a [f64],
    targets: usize,
    weights: &'a [f64],
    /// Weight, then targets of each row.
    local: Vec<f64>,
    /// Rank of each row's target within the node, and the targets in that order; by target.
    ranks: Vec<Vec<u32>>,
    sorted: Vec<Vec<f64>>,
    weight: f64,
    losses: Vec<f64>,
    taken: usize,
    left_weight: f64,
}

impl<'a> Absolutes<'a> {
    pub fn new(y: &'a [f64], targets: usize, weights: &'a [f64]) -> Self {
        Absolutes {
            y,
            targets,
            weights,
            local: vec![],
            ranks: vec![vec![]; targets],
            sorted: vec![vec![]; targets],
            weight: 0.0,
            losses: vec![],
            taken: 0,
            left_weight: 0.0,
        }
    }

    fn len(&self) -> usize {
        self.local.len() / (self.targets + 1)
    }

    /// Loss about the median of each prefix of the sequence.
    fn prefixes(&self, target: usize, sequence: impl Iterator<Item = usize>, mut put: impl FnMut(usize, f64)) {
        let mut tree = Fenwick::new(self.len());
        let width = self.targets + 1;
        for (at, i) in sequence.enumerate() {
            tree.add(self.ranks[target][i] as usize, self.local[i * width], self.local[i * width + 1 + target]);
            put(at + 1, tree.loss(&self.sorted[target]));
        }
    }

    fn median(&self, target: usize) -> f64 {
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_unstable_by_key(|&i| self.ranks[target][i]);
        let width = self.targets + 1;
        let mut sum = 0.0;
        let half = self.weight / 2.0;
        for (at, &i) in order.iter().enumerate() {
            sum += self.local[i * width];
            let y = self.local[i * width + 1 + target];
            if sum > half {
                return y;
            }
            if sum == half && at + 1 < order.len() {
                return (y + self.local[order[at + 1] * width + 1 + target]) / 2.0;
            }
        }
        order.last().map_or(0.0, |&i| self.local[i * width + 1 + target])
    }
}

impl Impurity for Absolutes<'_> {
    fn bin_width(&self) -> usize {
        0
    }
    fn outputs(&self) -> usize {
        self.targets
    }
    fn load(&mut self, rows: &[u32]) {
        self.local.clear();
        self.weight = 0.0;
        for &row in rows {
            let row = row as usize;
            self.weight += self.weights[row];
            self.local.push(self.weights[row]);
            self.local.extend_from_slice(&self.y[row * self.targets..(row + 1) * self.targets]);
        }
        let width = self.targets + 1;
        for target in 0..self.targets {
            let y = |i: u32| self.local[i as usize * width + 1 + target];
            let mut order: Vec<u32> = (0..rows.len() as u32).collect();
            order.sort_by(|&a, &b| y(a).total_cmp(&y(b)));
            self.sorted[target] = order.iter().map(|&i| y(i)).collect();
            self.ranks[target] = vec![0; rows.len()];
            order.iter().enumerate().for_each(|(rank, &i)| self.ranks[target][i as usize] = rank as u32);
        }
        self.losses.clear();
    }
    fn weight(&self) -> f64 {
        self.weight
    }
    fn of_node(&self) -> f64 {
        -self.gain() / self.weight
    }
    fn gain(&self) -> f64 {
        let width = self.targets + 1;
        let loss = |target: usize| {
            let median = self.median(target);
            self.local.chunks_exact(width).map(|row| row[0] * (row[1 + target] - median).abs()).sum::<f64>()
        };
        -(0..self.targets).map(loss).sum::<f64>() / self.targets as f64
    }
    fn pure(&self) -> bool {
        let width = self.targets + 1;
        self.local.chunks_exact(width).all(|row| row[1..] == self.local[1..width])
    }
    fn value(&self, out: &mut Vec<f64>) {
        out.extend((0..self.targets).map(|target| self.median(target)));
    }
    fn orders(&self) -> usize {
        self.targets
    }
    fn order_by(&self, i: usize, order: usize) -> (f64, f64) {
        let row = &self.local[i * (self.targets + 1)..];
        (row[0], row[0] * row[1 + order])
    }
    fn start(&mut self, sequence: &[u32]) {
        let n = self.len();
        self.taken = 0;
        self.left_weight = 0.0;
        let mut losses = vec![0.0; n + 1];
        if sequence.len() == n {
            for target in 0..self.targets {
                self.prefixes(target, sequence.iter().map(|&i| i as usize), |at, loss| losses[at] += loss);
                self.prefixes(target, sequence.iter().rev().map(|&i| i as usize), |at, loss| losses[n - at] += loss);
            }
        }
        self.losses = losses;
    }
    fn take(&mut self, i: usize) {
        self.taken += 1;
        self.left_weight += self.local[i * (self.targets + 1)];
    }
    fn clear_bins(&mut self, _: usize) {}
    fn add_to_bin(&mut self, _: usize, _: usize) {}
    fn take_bin(&mut self, _: usize) {}
    fn sides(&self) -> (f64, f64) {
        (self.left_weight, self.weight - self.left_weight)
    }
    fn score(&self) -> f64 {
        -self.losses[self.taken] / self.targets as f64
    }
    /// Mood's median test.
    fn p_value(&self, left: &[bool]) -> f64 {
        let width = self.targets + 1;
        let test = |target: usize| {
            let median = self.median(target);
            let mut table = [[0.0; 2]; 2];
            for (row, &left) in self.local.chunks_exact(width).zip(left) {
                table[usize::from(left)][usize::from(row[1 + target] > median)] += row[0];
            }
            chi_squared(&table[0], &table[1])
        };
        (0..self.targets).map(test).fold(1.0, f64::min) * self.targets as f64
    }
}

/// Sums of weight and weighted value over ranks.
struct Fenwick {
    sums: Vec<[f64; 2]>,
    weight: f64,
    value: f64,
}

impl Fenwick {
    fn new(n: usize) -> Self {
        Fenwick { sums: vec![[0.0; 2]; n + 1], weight: 0.0, value: 0.0 }
    }

    fn add(&mut self, rank: usize, weight: f64, y: f64) {
        self.weight += weight;
        self.value += weight * y;
        let mut at = rank + 1;
        while at < self.sums.len() {
            self.sums[at][0] += weight;
            self.sums[at][1] += weight * y;
            at += at & at.wrapping_neg();
        }
    }

    /// Weighted absolute deviations from the lower median.
    fn loss(&self, sorted: &[f64]) -> f64 {
        let (mut at, mut weight, mut value) = (0, 0.0, 0.0);
        let mut step = (self.sums.len() - 1).next_power_of_two();
        while step > 0 {
            let to = at + step;
            if to < self.sums.len() && weight + self.sums[to][0] < self.weight / 2.0 {
                at = to;
                weight += self.sums[to][0];
                value += self.sums[to][1];
            }
            step /= 2;
        }
        let median = sorted[at.min(sorted.len() - 1)];
        (median * weight - value) + (self.value - value - median * (self.weight - weight))
    }
}
