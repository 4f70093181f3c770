//! Coordinate descent for least squares with an L1 part: the lasso and the elastic net, one strength or a whole path.
//!
//! ```text
//!     min_w  w'G w / 2 - c'w + yy / 2  +  l1 ||w||_1 + l2/2 ||w||^2,     G = X'X / n,  c = X'y / n,  yy = y'y / n
//! ```
//!
//! Method. Only a working set of columns is solved for at a time, on its own small G, where a coordinate costs a row of
//! that matrix whatever the number of rows; Anderson's extrapolation cuts the number of sweeps (Bertrand and Massias
//! 2021). Columns that are nearly dependent would take sweeps without end, so sweeps alternate with Newton steps on the
//! support, each with an exact search along the kinks that it crosses (as in the feature-sign search of Lee, Battle,
//! Raina and Ng 2007), and with no more work than the sweeps. Early sets are solved to a tenth of the gap of all
//! columns, and a large set by smaller ones within it, whose G fits in the cache. Between working sets one pass gives
//! the correlation of every column with the residual, and with it the duality gap and a ball that holds the dual
//! solution: columns that the ball proves to be zero are dropped (gap-safe screening: Ndiaye, Fercoq, Gramfort and
//! Salmon 2017), and the working set grows by those nearest to entering (Massias, Gramfort and Salmon 2018). The fit
//! ends when the gap says so, and the gap is its certificate.
//!
//! G comes from one pass over the rows when there are few columns or many strengths; otherwise column by column as
//! needed. Both are sums, so that a lasso runs on any source and any number of workers. Cost of a pass O(n p), of a
//! working set of k columns O(n k^2).

use crate::{
    Bound, Ctx, Halt, Matrix, Result, Source,
    core::{
        Batch, Reduce,
        data::Row,
        linalg::{self, View},
        reduce, simd,
        stats::Gram,
    },
};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A small problem with its whole matrix, symmetric and full; `l1` for each coordinate.
pub struct Quadratic<'a> {
    pub gram: &'a Matrix,
    pub linear: &'a [f64],
    pub l1: &'a [f64],
    pub l2: f64,
    pub positive: bool,
}

/// How many iterates are combined.
const ANDERSON: usize = 5;

/// So many combinations without settled signs are too many.
const CRAWL: usize = 6;

impl Quadratic<'_> {
    /// Sweeps and leaps until neither lowers the objective by more than `enough`, or until `good` of w and c - G w is
    /// good enough, at most `sweeps` times; returns the sweeps made.
    pub fn descend(&self, w: &mut [f64], enough: f64, sweeps: usize, good: &dyn Fn(&[f64], &[f64]) -> bool) -> usize {
        let mut slope = self.slope(w);
        // What sweeps have cost so far and leaps have not used up.
        let mut work = 0.0;
        let mut history: Vec<Vec<f64>> = vec![w.to_vec()];
        let (mut signs, mut crawled) = (self.signs(w), 0);
        for sweep in 1..=sweeps {
            let (fall, moved) = self.sweep(w, &mut slope);
            work += (moved * w.len()) as f64;
            if fall > enough {
                history.push(w.to_vec());
                if history.len() <= ANDERSON {
                    continue;
                }
                if let Some(jump) = extrapolate(&history, self.positive) {
                    let jumped = self.slope(&jump);
                    if self.value(&jump, &jumped) < self.value(w, &slope) {
                        w.copy_from_slice(&jump);
                        slope = jumped;
                    }
                }
                crawled += 1;
            }
            // Signs that have settled are most likely those of the solution, and then it is that of a linear system;
            // where they do not settle for long, it is the dependence of columns that keeps them from it.
            let now = self.signs(w);
            let settled = now == signs;
            if fall <= enough || settled || crawled >= CRAWL {
                crawled = 0;
                // At the end a leap decides; before it, leaps get as much work as sweeps.
                let leapt = self.leap(w, &mut slope, if fall <= enough { f64::INFINITY } else { work });
                work = 0.0;
                if fall <= enough && leapt <= enough {
                    return sweep;
                }
            }
            signs = self.signs(w);
            // Rounding of many updates does not pile up.
            slope = self.slope(w);
            if good(w, &slope) {
                return sweep;
            }
            history.clear();
            history.push(w.to_vec());
        }
        sweeps
    }

    fn signs(&self, w: &[f64]) -> Vec<i8> {
        w.iter().map(|w| (*w > 0.0) as i8 - (*w < 0.0) as i8).collect()
    }

    /// Newton steps on the support, `(G + l2 I) d = c - G w - l2 w - l1 sign`, each to the least point along its
    /// direction, until one crosses no kink or the work is used up; returns by how much the objective fell.
    fn leap(&self, w: &mut [f64], slope: &mut Vec<f64>, work: f64) -> f64 {
        let start = self.value(w, slope);
        // A step costs the cube of the support, so that large ones take turns with sweeps.
        let support = w.iter().filter(|w| **w != 0.0).count() as f64;
        let most = (20_000_000_000.0 / support.powi(3)).min(work / (support.powi(3) / 24.0)).clamp(1.0, 100.0);
        for _ in 0..most as usize {
            let support: Vec<usize> = (0..w.len()).filter(|&j| w[j] != 0.0 && self.gram[(j, j)] > 0.0).collect();
            let Some(direction) = self.newton(w, slope, &support) else { break };
            let crossed = self.along(w, slope, &support, &direction);
            if !crossed {
                break;
            }
        }
        start - self.value(w, slope)
    }

    /// The step to the minimum among all w with these signs; damped if columns of the support depend on each other.
    fn newton(&self, w: &[f64], slope: &[f64], support: &[usize]) -> Option<Vec<f64>> {
        let k = support.len();
        let root: Vec<f64> = support.iter().map(|&j| (self.gram[(j, j)] + self.l2).sqrt()).collect();
        let own = |a: usize, b: usize, ridge: f64| if a == b { self.l2 / (root[a] * root[b]) + ridge } else { 0.0 };
        let mut ridge = 0.0;
        while ridge < 1e-3 && k > 0 {
            let scaled = Matrix::from_fn(k, k, |a, b| {
                self.gram[(support[a], support[b])] / (root[a] * root[b]) + own(a, b, ridge)
            });
            if let Some(factor) = linalg::Cholesky::new(&scaled) {
                let mut step: Vec<f64> = support
                    .iter()
                    .zip(&root)
                    .map(|(&j, root)| (slope[j] - self.l2 * w[j] - self.l1[j] * w[j].signum()) / root)
                    .collect();
                factor.solve(&mut step, 1);
                step.iter_mut().zip(&root).for_each(|(d, root)| *d /= root);
                return step.iter().all(|d| d.is_finite()).then_some(step);
            }
            ridge = f64::max(1e-14, 30.0 * ridge);
        }
        None
    }

    /// Moves to the least point along a direction on the support, kink by kink; whether a coordinate met zero.
    fn along(&self, w: &mut [f64], slope: &mut Vec<f64>, support: &[usize], direction: &[f64]) -> bool {
        // G d on all coordinates.
        let mut turned = vec![0.0; w.len()];
        for (&j, &d) in support.iter().zip(direction) {
            simd::add_scaled(d, self.gram.row(j), &mut turned);
        }
        let (mut falls, mut bend) = (0.0, 0.0);
        for (&j, &d) in support.iter().zip(direction) {
            falls += d * (slope[j] - self.l2 * w[j] - self.l1[j] * w[j].signum());
            bend += d * (turned[j] + self.l2 * d);
        }
        let mut kinks: Vec<(f64, usize)> = (0..support.len())
            .filter(|&a| w[support[a]] * direction[a] < 0.0)
            .map(|a| (-w[support[a]] / direction[a], a))
            .collect();
        kinks.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        // The derivative is -falls + t bend, and rises by 2 l1 |d| at each kink.
        let (mut length, mut at_kink) = (0.0, None);
        let mut crossed = 0;
        for &(t, a) in &kinks {
            if falls <= t * bend {
                break;
            }
            (length, at_kink) = (t, Some(a));
            crossed += 1;
            falls -= 2.0 * self.l1[support[a]] * direction[a].abs();
            if self.positive {
                falls = f64::NEG_INFINITY;
            }
        }
        if falls > length * bend && bend > 0.0 {
            (length, at_kink) = (falls / bend, None);
        }
        if !(length > 0.0) || !length.is_finite() {
            return false;
        }
        for (a, (&j, &d)) in support.iter().zip(direction).enumerate() {
            w[j] = if at_kink == Some(a) { 0.0 } else { w[j] + length * d };
        }
        *slope = self.slope(w);
        crossed > 0
    }

    /// c - G w
    fn slope(&self, w: &[f64]) -> Vec<f64> {
        let mut slope = self.linear.to_vec();
        for (j, &w) in w.iter().enumerate().filter(|(_, w)| **w != 0.0) {
            simd::add_scaled(-w, self.gram.row(j), &mut slope);
        }
        slope
    }

    fn value(&self, w: &[f64], slope: &[f64]) -> f64 {
        let quadratic: f64 = (0..w.len()).map(|j| -0.5 * w[j] * (self.linear[j] + slope[j])).sum();
        let kinked: f64 = w.iter().zip(self.l1).map(|(w, l1)| l1 * w.abs()).sum();
        quadratic + kinked + 0.5 * self.l2 * simd::dot(w, w)
    }

    /// One exact step along each coordinate; returns a bound from below of how far the objective fell, and how many
    /// coordinates moved.
    fn sweep(&self, w: &mut [f64], slope: &mut [f64]) -> (f64, usize) {
        let (mut fall, mut moved) = (0.0, 0);
        for j in 0..w.len() {
            let curvature = self.gram[(j, j)];
            if curvature <= 0.0 {
                continue;
            }
            let target = slope[j] + curvature * w[j];
            let new = soft(target, self.l1[j], self.positive) / (curvature + self.l2);
            let change = new - w[j];
            if change != 0.0 {
                simd::add_scaled(-change, self.gram.row(j), slope);
                w[j] = new;
                fall += 0.5 * (curvature + self.l2) * change * change;
                moved += 1;
            }
        }
        (fall, moved)
    }
}

#[inline]
fn soft(value: f64, threshold: f64, positive: bool) -> f64 {
    if value > threshold {
        value - threshold
    } else if value < -threshold && !positive {
        value + threshold
    } else {
        0.0
    }
}

/// Anderson's combination of iterates: weights that minimise the combined step, by the small normal equations.
fn extrapolate(history: &[Vec<f64>], positive: bool) -> Option<Vec<f64>> {
    let k = history.len() - 1;
    let n = history[0].len();
    let steps: Vec<Vec<f64>> =
        history.windows(2).map(|pair| pair[1].iter().zip(&pair[0]).map(|(new, old)| new - old).collect()).collect();
    let mut normal = Matrix::from_fn(k, k, |i, j| simd::dot(&steps[i], &steps[j]));
    let trace: f64 = (0..k).map(|i| normal[(i, i)]).sum();
    if !(trace > 0.0) {
        return None;
    }
    (0..k).for_each(|i| normal[(i, i)] += 1e-12 * trace);
    let mut weights = vec![1.0; k];
    linalg::Cholesky::new(&normal)?.solve(&mut weights, 1);
    let total: f64 = weights.iter().sum();
    if !total.is_finite() || total.abs() < 1e-300 {
        return None;
    }
    let mut jump = vec![0.0; n];
    for (weight, iterate) in weights.iter().zip(&history[1..]) {
        simd::add_scaled(weight / total, iterate, &mut jump);
    }
    if positive {
        jump.iter_mut().for_each(|w| *w = w.max(0.0));
    }
    jump.iter().all(|w| w.is_finite()).then_some(jump)
}

/// What the working-set method sees of the columns.
pub trait Columns {
    fn cols(&self) -> usize;
    /// yy
    fn scale(&self) -> f64;
    /// G_jj, 0 for a column that is constant.
    fn length2(&self, j: usize) -> f64;
    fn linear(&self) -> &[f64];
    /// c - G w for every column, and the mean squared residual.
    fn correlations(&mut self, w: &[f64]) -> Result<(Vec<f64>, f64)>;
    /// G of some columns, square and full.
    fn block(&mut self, columns: &[usize]) -> Result<Matrix>;
}

/// All of G, from one pass.
pub struct Whole {
    gram: Matrix,
    linear: Vec<f64>,
    yy: f64,
}

impl Whole {
    /// From the scatter of (x, y); `target` counts the columns after the `cols` of x.
    pub fn new(gram: &Gram, cols: usize, target: usize, intercept: bool) -> Whole {
        let scatter = if intercept { gram.scatter.clone() } else { gram.about_zero() };
        let n = gram.weight;
        let mut whole = Matrix::zeros(cols, cols);
        for i in 0..cols {
            for j in 0..=i {
                whole[(i, j)] = scatter[(i, j)] / n;
            }
            // What rounding of the mean alone would leave is no spread.
            if whole[(i, i)] <= (4.0 * f64::EPSILON * gram.mean[i]).powi(2) {
                whole[(i, i)] = 0.0;
            }
        }
        whole.mirror();
        let at = cols + target;
        Whole { gram: whole, linear: (0..cols).map(|j| scatter[(at, j)] / n).collect(), yy: scatter[(at, at)] / n }
    }

    /// Mean of (y - w.x - b)^2 over the rows of these moments, for a model fitted elsewhere.
    pub fn error(gram: &Gram, target: usize, w: &[f64], b: f64) -> f64 {
        let (p, at) = (w.len(), w.len() + target);
        let support: Vec<usize> = (0..p).filter(|&j| w[j] != 0.0).collect();
        let entry = |i: usize, j: usize| gram.scatter[(i.max(j), i.min(j))];
        let mut scatter = entry(at, at);
        for &i in &support {
            scatter -= 2.0 * w[i] * entry(at, i);
            scatter += w[i] * support.iter().map(|&j| w[j] * entry(i, j)).sum::<f64>();
        }
        let bias = gram.mean[at] - b - support.iter().map(|&j| w[j] * gram.mean[j]).sum::<f64>();
        scatter.max(0.0) / gram.weight + bias * bias
    }
}

impl Columns for Whole {
    fn cols(&self) -> usize {
        self.linear.len()
    }

    fn scale(&self) -> f64 {
        self.yy
    }

    fn length2(&self, j: usize) -> f64 {
        self.gram[(j, j)]
    }

    fn linear(&self) -> &[f64] {
        &self.linear
    }

    fn correlations(&mut self, w: &[f64]) -> Result<(Vec<f64>, f64)> {
        let mut q = self.linear.clone();
        for (j, &w) in w.iter().enumerate().filter(|(_, w)| **w != 0.0) {
            simd::add_scaled(-w, self.gram.row(j), &mut q);
        }
        let explained: f64 = w.iter().zip(&self.linear).zip(&q).map(|((w, c), q)| w * (c + q)).sum();
        Ok((q, (self.yy - explained).max(0.0)))
    }

    fn block(&mut self, columns: &[usize]) -> Result<Matrix> {
        if columns.len() == self.cols() {
            return Ok(self.gram.clone());
        }
        Ok(Matrix::from_fn(columns.len(), columns.len(), |i, j| self.gram[(columns[i], columns[j])]))
    }
}

/// Columns of G on demand: a pass for the correlations, and one for what a working set adds.
pub struct Lazy<'a> {
    data: &'a dyn Source,
    ctx: &'a Ctx,
    target: usize,
    targets: usize,
    /// Rows that are left out, by number.
    without: Range<usize>,
    x_mean: Vec<f64>,
    y_mean: f64,
    weight: f64,
    lengths2: Vec<f64>,
    linear: Vec<f64>,
    yy: f64,
    known: Vec<usize>,
    gram: Matrix,
}

impl<'a> Lazy<'a> {
    /// `means` of x and y over the rows that count, zero without an intercept.
    pub fn new(
        data: &'a dyn Source,
        ctx: &'a Ctx,
        (target, targets): (usize, usize),
        without: Range<usize>,
        x_mean: Vec<f64>,
        y_mean: f64,
        x_true_mean: &[f64],
    ) -> Result<Self> {
        let cols = x_mean.len();
        let mut lazy = Lazy {
            data,
            ctx,
            target,
            targets,
            without,
            x_mean,
            y_mean,
            weight: 1.0,
            lengths2: vec![0.0; cols],
            linear: Vec::new(),
            yy: 0.0,
            known: Vec::new(),
            gram: Matrix::zeros(0, 0),
        };
        let first = lazy.pass(&[], &vec![0.0; cols], true)?;
        lazy.weight = first.weight;
        lazy.lengths2 = first.lengths2.iter().map(|value| value / first.weight).collect();
        for (length2, mean) in lazy.lengths2.iter_mut().zip(x_true_mean) {
            if *length2 <= (4.0 * f64::EPSILON * mean).powi(2) {
                *length2 = 0.0;
            }
        }
        lazy.linear = lazy.centred(&first);
        lazy.yy = first.squares / first.weight;
        Ok(lazy)
    }

    fn pass(&self, support: &[usize], w: &[f64], lengths: bool) -> Result<Correlation> {
        let values: Vec<f64> = support.iter().map(|&j| w[j]).collect();
        let shift = self.y_mean - support.iter().map(|&j| w[j] * self.x_mean[j]).sum::<f64>();
        reduce(self.ctx, self.data, &Correlations { lazy: self, support, values, shift, lengths })
    }

    /// (X - mean)'r / n from X'r and the sum of r.
    fn centred(&self, pass: &Correlation) -> Vec<f64> {
        pass.products
            .iter()
            .zip(&self.x_mean)
            .map(|(product, mean)| (product - mean * pass.sum) / self.weight)
            .collect()
    }

    fn weight_of(&self, batch: &Batch, i: usize) -> f64 {
        if self.without.contains(&(batch.first + i)) { 0.0 } else { batch.weight(i) }
    }
}

impl Columns for Lazy<'_> {
    fn cols(&self) -> usize {
        self.x_mean.len()
    }

    fn scale(&self) -> f64 {
        self.yy
    }

    fn length2(&self, j: usize) -> f64 {
        self.lengths2[j]
    }

    fn linear(&self) -> &[f64] {
        &self.linear
    }

    fn correlations(&mut self, w: &[f64]) -> Result<(Vec<f64>, f64)> {
        let support: Vec<usize> = (0..w.len()).filter(|&j| w[j] != 0.0).collect();
        if support.is_empty() {
            return Ok((self.linear.clone(), self.yy));
        }
        let pass = self.pass(&support, w, false)?;
        Ok((self.centred(&pass), pass.squares / self.weight))
    }

    fn block(&mut self, columns: &[usize]) -> Result<Matrix> {
        let mut place = vec![usize::MAX; self.cols()];
        self.known.iter().enumerate().for_each(|(at, &j)| place[j] = at);
        let new: Vec<usize> = columns.iter().copied().filter(|&j| place[j] == usize::MAX).collect();
        if !new.is_empty() {
            let all: Vec<usize> = self.known.iter().chain(&new).copied().collect();
            let old = self.known.len();
            let sum = reduce(self.ctx, self.data, &Products { lazy: self, columns: &all, old })?;
            let mut gram = Matrix::zeros(all.len(), all.len());
            for i in 0..old {
                gram.row_mut(i)[..old].copy_from_slice(self.gram.row(i));
            }
            for i in old..all.len() {
                for j in 0..=i {
                    let value = sum[(i - old) * all.len() + j] / self.weight;
                    gram[(i, j)] = value;
                    gram[(j, i)] = value;
                }
            }
            for (at, &j) in new.iter().enumerate() {
                place[j] = old + at;
            }
            (self.known, self.gram) = (all, gram);
        }
        Ok(Matrix::from_fn(columns.len(), columns.len(), |i, j| self.gram[(place[columns[i]], place[columns[j]])]))
    }
}

/// X'r with r = y - X w - b, the sum and the squares of r; the squared lengths of the columns at the first pass.
struct Correlations<'a, 'b> {
    lazy: &'a Lazy<'b>,
    support: &'a [usize],
    values: Vec<f64>,
    shift: f64,
    lengths: bool,
}

#[derive(Serialize, Deserialize)]
struct Correlation {
    weight: f64,
    products: Vec<f64>,
    sum: f64,
    squares: f64,
    lengths2: Vec<f64>,
    #[serde(skip)]
    residuals: Vec<f64>,
}

impl Reduce for Correlations<'_, '_> {
    type Stat = Correlation;

    fn zero(&self) -> Correlation {
        let cols = self.lazy.x_mean.len();
        Correlation {
            weight: 0.0,
            products: vec![0.0; cols],
            sum: 0.0,
            squares: 0.0,
            lengths2: if self.lengths { vec![0.0; cols] } else { Vec::new() },
            residuals: Vec::new(),
        }
    }

    fn add(&self, stat: &mut Correlation, batch: &Batch) -> Result<()> {
        let lazy = self.lazy;
        let y = batch.y.real();
        stat.residuals.resize(batch.rows(), 0.0);
        for i in 0..batch.rows() {
            let fitted: f64 = match batch.x.row(i) {
                Row::Dense(row) => self.support.iter().zip(&self.values).map(|(&j, w)| row[j] * w).sum(),
                Row::Sparse { columns, values } => {
                    // Both lists increase: walk them together.
                    let (mut sum, mut at) = (0.0, 0);
                    for (&j, value) in columns.iter().zip(values) {
                        while at < self.support.len() && self.support[at] < j as usize {
                            at += 1;
                        }
                        if at < self.support.len() && self.support[at] == j as usize {
                            sum += value * self.values[at];
                        }
                    }
                    sum
                }
            };
            let weight = lazy.weight_of(batch, i);
            let r = y[i * lazy.targets + lazy.target] - fitted - self.shift;
            stat.weight += weight;
            stat.sum += weight * r;
            stat.squares += weight * r * r;
            stat.residuals[i] = weight * r;
        }
        batch.x.add_transposed_vector(&stat.residuals, &mut stat.products);
        if self.lengths {
            let mut zeros = 0.0;
            for i in 0..batch.rows() {
                let weight = lazy.weight_of(batch, i);
                match batch.x.row(i) {
                    Row::Dense(row) => {
                        for ((sum, x), mean) in stat.lengths2.iter_mut().zip(row).zip(&lazy.x_mean) {
                            *sum += weight * (x - mean) * (x - mean);
                        }
                    }
                    sparse => {
                        // Stored values in place of the zero that is added below.
                        zeros += weight;
                        sparse.for_each(|j, value| {
                            let mean = lazy.x_mean[j];
                            stat.lengths2[j] += weight * ((value - mean) * (value - mean) - mean * mean);
                        });
                    }
                }
            }
            if zeros > 0.0 {
                for (sum, mean) in stat.lengths2.iter_mut().zip(&lazy.x_mean) {
                    *sum += zeros * mean * mean;
                }
            }
        }
        Ok(())
    }

    fn merge(&self, left: &mut Correlation, right: Correlation) {
        left.weight += right.weight;
        left.sum += right.sum;
        left.squares += right.squares;
        simd::add_scaled(1.0, &right.products, &mut left.products);
        simd::add_scaled(1.0, &right.lengths2, &mut left.lengths2);
    }
}

/// Products of the columns from `old` on with all of them.
struct Products<'a, 'b> {
    lazy: &'a Lazy<'b>,
    columns: &'a [usize],
    old: usize,
}

impl Reduce for Products<'_, '_> {
    type Stat = Vec<f64>;

    fn zero(&self) -> Vec<f64> {
        vec![0.0; (self.columns.len() - self.old) * self.columns.len()]
    }

    fn add(&self, stat: &mut Vec<f64>, batch: &Batch) -> Result<()> {
        let lazy = self.lazy;
        let k = self.columns.len();
        let mut packed = vec![0.0; batch.rows() * k];
        let mut wide = vec![0.0; if batch.x.is_sparse() { lazy.x_mean.len() } else { 0 }];
        let means: Vec<f64> = self.columns.iter().map(|&j| lazy.x_mean[j]).collect();
        for (i, out) in packed.chunks_exact_mut(k).enumerate() {
            let root = lazy.weight_of(batch, i).sqrt();
            let row = match batch.x.row(i) {
                Row::Dense(row) => row,
                sparse => {
                    sparse.for_each(|j, value| wide[j] = value);
                    &wide
                }
            };
            for ((out, &j), mean) in out.iter_mut().zip(self.columns).zip(&means) {
                *out = root * (row[j] - mean);
            }
            if batch.x.is_sparse() {
                batch.x.row(i).for_each(|j, _| wide[j] = 0.0);
            }
        }
        let all = View::rows(&packed, batch.rows(), k);
        linalg::multiply(all.columns(self.old..k).transposed(), all, 1.0, stat);
        Ok(())
    }

    fn merge(&self, left: &mut Vec<f64>, right: Vec<f64>) {
        simd::add_scaled(1.0, &right, left);
    }
}

/// One strength of the penalty.
#[derive(Clone, Copy, Debug)]
pub struct Penalty {
    pub l1: f64,
    pub l2: f64,
    pub positive: bool,
}

pub struct Solved {
    /// On the objective.
    pub bound: Bound,
    /// Working sets that were solved.
    pub passes: usize,
    /// What ended it, if not the bound.
    pub halt: Halt,
    /// The objective after each working set.
    pub path: Vec<f64>,
}

/// A point and its dual: the residual, shrunk until no column correlates with it beyond l1.
struct Pair {
    primal: f64,
    dual: f64,
    shrink: f64,
}

impl Penalty {
    /// How column j, of those that are not known to be zero, pulls at w.
    fn touching(&self, q: &[f64], w: &[f64], j: usize) -> f64 {
        let pull = q[j] - self.l2 * w[j];
        if self.positive { pull } else { pull.abs() }
    }

    /// At w with `q` = c - G w and the mean of the squared residuals; `norm` is the strongest pull.
    fn pair(&self, w: &[f64], linear: &[f64], squares: f64, yy: f64, norm: f64) -> Pair {
        let squares_w = simd::dot(w, w);
        let primal = 0.5 * squares + self.l1 * w.iter().map(|w| w.abs()).sum::<f64>() + 0.5 * self.l2 * squares_w;
        let fitted = yy - simd::dot(w, linear);
        // The longest multiple that is feasible, or less where the dual is higher. A norm that rounding puts below l1
        // is no licence for more: at the optimum the unbounded multiple is above one.
        let longest = if norm > 0.0 { self.l1 / norm } else { f64::INFINITY };
        let shrink = (fitted / (squares + self.l2 * squares_w)).clamp(0.0, longest.max(0.0)).min(longest);
        let shrink = if shrink.is_finite() { shrink } else { 1.0 };
        let dual = shrink * fitted - 0.5 * shrink * shrink * (squares + self.l2 * squares_w);
        Pair { primal, dual, shrink }
    }
}

/// The strength above which every coefficient is zero.
pub fn strongest(columns: &dyn Columns, positive: bool) -> f64 {
    columns.linear().iter().fold(0.0, |top, &c| f64::max(top, if positive { c } else { c.abs() }))
}

/// A working set is solved to the end where its gap would have to be within so many tolerances: the last one always is.
const LOOSE: f64 = 30.0;

/// A working set of a working set is chosen anew at most so many times.
const ROUNDS: usize = 50;

/// Below this many columns a working set is all of them.
const SMALL: usize = 64;

/// The `size` columns that are nearest to entering, in rising order; of equals the first.
fn nearest(mut distances: Vec<(f64, usize)>, size: usize) -> Vec<usize> {
    if size < distances.len() {
        distances.select_nth_unstable_by(size, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        distances.truncate(size);
    }
    let mut columns: Vec<usize> = distances.into_iter().map(|(_, j)| j).collect();
    columns.sort_unstable();
    columns
}

/// A working set with its matrix. What moves in it is a working set again: a sweep of a hundred columns among
/// thousands reads what fits in the cache.
struct Block<'a> {
    gram: &'a Matrix,
    linear: &'a [f64],
    yy: f64,
    penalty: Penalty,
}

impl Block<'_> {
    /// Until the duality gap is within `target`, or nothing lowers the objective by more than `enough`.
    fn solve(&self, w: &mut [f64], target: f64, enough: f64, ctx: &Ctx) -> Result<()> {
        let Penalty { l1, l2, positive } = self.penalty;
        let mut before: Vec<usize> = Vec::new();
        let (mut exact, mut crowded) = (false, false);
        let all: Vec<f64> = vec![l1; w.len()];
        let whole = Quadratic { gram: self.gram, linear: self.linear, l1: &all, l2, positive };
        for _ in 0..ROUNDS {
            ctx.check()?;
            let slope = whole.slope(w);
            let here = self.gap(w, &slope, self.linear);
            if here <= target {
                break;
            }
            let distance = |j: usize| match w[j] {
                0.0 => l1 - self.penalty.touching(&slope, w, j),
                _ => f64::NEG_INFINITY,
            };
            let near: Vec<(f64, usize)> =
                (0..w.len()).map(|j| (distance(j), j)).filter(|(distance, _)| *distance < 0.0).collect();
            let support = w.iter().filter(|w| **w != 0.0).count();
            let active = nearest(near, support + support / 2 + SMALL);
            let again = active == before;
            if again && exact {
                break;
            }
            if 2 * active.len() > w.len() {
                whole.descend(w, enough, 2000, &|w, q| self.gap(w, q, self.linear) <= target);
                break;
            }
            // The same columns again, or none that would enter: to the end.
            exact = again || active.iter().all(|&j| w[j] != 0.0);
            let gram = Matrix::from_fn(active.len(), active.len(), |i, j| self.gram[(active[i], active[j])]);
            let linear: Vec<f64> = active.iter().map(|&j| self.linear[j]).collect();
            let problem = Quadratic { gram: &gram, linear: &linear, l1: &all[..active.len()], l2, positive };
            let mut part: Vec<f64> = active.iter().map(|&j| w[j]).collect();
            let goal = if exact || crowded { target } else { target.max(0.1 * here) };
            problem.descend(&mut part, enough, 2000, &|w, q| self.gap(w, q, &linear) <= goal);
            crowded = 4 * part.iter().filter(|w| **w != 0.0).count() > 3 * part.len();
            active.iter().zip(&part).for_each(|(&j, &value)| w[j] = value);
            before = active;
        }
        Ok(())
    }

    /// Of the problem with these columns only: `q` = c - G w and `linear` = c of them.
    fn gap(&self, w: &[f64], q: &[f64], linear: &[f64]) -> f64 {
        let explained: f64 = w.iter().zip(linear).zip(q).map(|((w, c), q)| w * (c + q)).sum();
        let norm = (0..w.len()).fold(0.0, |top: f64, j| top.max(self.penalty.touching(q, w, j)));
        let pair = self.penalty.pair(w, linear, (self.yy - explained).max(0.0), self.yy, norm);
        pair.primal - pair.dual
    }
}

/// From `w` to where the duality gap is within `tol` of the objective.
pub fn solve(
    columns: &mut dyn Columns,
    penalty: Penalty,
    w: &mut [f64],
    tol: f64,
    max_iter: usize,
    ctx: &Ctx,
) -> Result<Solved> {
    let p = columns.cols();
    let Penalty { l1, l2, .. } = penalty;
    let linear = columns.linear().to_vec();
    let yy = columns.scale();
    let mut alive: Vec<bool> = (0..p).map(|j| columns.length2(j) > 0.0).collect();
    (0..p).filter(|&j| !alive[j]).for_each(|j| w[j] = 0.0);
    let mut set_size = 0;
    let mut tighten = 0.1;
    let mut path: Vec<f64> = Vec::new();
    let (mut best_dual, mut best_gap) = (f64::NEG_INFINITY, f64::INFINITY);
    let (mut stalled, mut crowded) = (0, false);
    loop {
        ctx.check()?;
        let (q, squares) = columns.correlations(w)?;
        let touching = |j: usize| penalty.touching(&q, w, j);
        let norm = (0..p).filter(|&j| alive[j]).fold(0.0, |top: f64, j| top.max(touching(j)));
        let Pair { primal, dual, shrink } = penalty.pair(w, &linear, squares, yy, norm);
        // Dual points stay feasible whatever w becomes: the best so far counts.
        best_dual = best_dual.max(dual);
        let mut gap = primal - best_dual;
        if l2 > 0.0 {
            let least = |j: usize| match w[j] {
                0.0 => (touching(j) - l1).max(0.0),
                at => q[j] - l2 * at - l1 * at.signum(),
            };
            gap = gap.min((0..p).filter(|&j| alive[j]).map(|j| least(j).powi(2)).sum::<f64>() / (2.0 * l2));
        }
        let bound = Bound::new(gap, tol, primal, yy);
        let fell = path.last().is_none_or(|last| primal < last - 1e-15 * yy);
        let passes = path.len();
        path.push(primal);
        if bound.holds() || passes >= max_iter {
            return Ok(Solved { bound, passes, halt: Halt::MaxIter, path });
        }
        // A gap that no longer shrinks is the floor of rounding, unless the inner solves were too loose or the set too
        // small.
        let shrank = bound.gap < 0.75 * best_gap;
        if bound.gap >= 0.5 * best_gap {
            tighten = f64::max(tighten * 1e-2, 1e-12);
        }
        stalled = if fell || bound.gap < 0.9 * best_gap || tighten > 1e-10 { 0 } else { stalled + 1 };
        if stalled > 3 {
            return Ok(Solved { bound, passes, halt: Halt::Rounding, path });
        }
        best_gap = best_gap.min(bound.gap);

        let radius = (2.0 * (primal - dual).max(0.0)).sqrt();
        let mut near: Vec<(f64, usize)> = Vec::new();
        for j in 0..p {
            if !alive[j] {
                continue;
            }
            let length = (columns.length2(j) + l2).sqrt();
            let slack = l1 - shrink * touching(j);
            if slack > radius * length {
                // Proved to be zero at the optimum; what stood there is taken back.
                alive[j] = w[j] != 0.0;
                if !alive[j] {
                    continue;
                }
            }
            near.push((if w[j] != 0.0 { f64::NEG_INFINITY } else { slack / length }, j));
        }
        let support = w.iter().filter(|w| **w != 0.0).count();
        set_size = if near.len() <= SMALL {
            near.len()
        } else {
            // Zeros beyond as many as there are others cost much and seldom enter, unless without them nothing moves.
            let most = if shrank { 2 * support + SMALL } else { usize::MAX };
            near.len().min((support + support / 2 + SMALL).max(set_size.min(most)))
        };
        let set = nearest(near, set_size);
        let gram = columns.block(&set)?;
        let inner: Vec<f64> = set.iter().map(|&j| linear[j]).collect();
        let mut part: Vec<f64> = set.iter().map(|&j| w[j]).collect();
        let enough = (tighten * bound.tolerance.min(bound.gap) * 0.1).max(yy * 1e-18);
        // While columns are still missing, the gap of those that are there need not be much below that of all.
        let loose = tighten * bound.gap;
        // A set whose columns nearly all entered is a hint of more columns than rows can tell apart: a loose solution
        // would take in all of them.
        let target = if loose > LOOSE * bound.tolerance && !crowded { loose } else { f64::NEG_INFINITY };
        Block { gram: &gram, linear: &inner, yy, penalty }.solve(&mut part, target, enough, ctx)?;
        crowded = 4 * part.iter().filter(|w| **w != 0.0).count() > 3 * part.len() && part.len() > SMALL;
        set.iter().zip(&part).for_each(|(&j, &value)| w[j] = value);
        set_size *= 2;
    }
}
