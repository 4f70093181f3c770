//! Numbers of about 32 digits as unevaluated sums of two doubles (Dekker 1971; Hida, Li and Bailey 2001), and what
//! least squares needs of them: a Gram matrix as a sum over rows and the solution of its system.

use crate::{
    Result,
    core::{Batch, Reduce, data::Row},
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dd {
    pub hi: f64,
    pub lo: f64,
}

/// a + b exactly.
fn two_sum(a: f64, b: f64) -> Dd {
    let hi = a + b;
    let from_b = hi - a;
    Dd { hi, lo: (a - (hi - from_b)) + (b - from_b) }
}

/// a + b exactly, for |a| >= |b|.
fn quick_sum(a: f64, b: f64) -> Dd {
    let hi = a + b;
    Dd { hi, lo: b - (hi - a) }
}

/// a b exactly.
fn two_product(a: f64, b: f64) -> Dd {
    let hi = a * b;
    Dd { hi, lo: a.mul_add(b, -hi) }
}

impl Dd {
    pub fn new(value: f64) -> Self {
        Dd { hi: value, lo: 0.0 }
    }

    /// a - b exactly.
    pub fn difference(a: f64, b: f64) -> Self {
        two_sum(a, -b)
    }

    pub fn add(self, other: Dd) -> Dd {
        let (s, t) = (two_sum(self.hi, other.hi), two_sum(self.lo, other.lo));
        let s = quick_sum(s.hi, s.lo + t.hi);
        quick_sum(s.hi, s.lo + t.lo)
    }

    pub fn negative(self) -> Dd {
        Dd { hi: -self.hi, lo: -self.lo }
    }

    pub fn subtract(self, other: Dd) -> Dd {
        self.add(other.negative())
    }

    pub fn times(self, other: Dd) -> Dd {
        let p = two_product(self.hi, other.hi);
        quick_sum(p.hi, p.lo + (self.hi * other.lo + self.lo * other.hi))
    }

    pub fn over(self, other: Dd) -> Dd {
        let first = self.hi / other.hi;
        let rest = self.subtract(other.times(Dd::new(first)));
        let second = rest.hi / other.hi;
        let rest = rest.subtract(other.times(Dd::new(second)));
        let third = rest.hi / other.hi;
        quick_sum(first, second).add(Dd::new(third))
    }

    /// Times a power of two, which rounds nothing.
    pub fn scaled(self, power: f64) -> Dd {
        Dd { hi: self.hi * power, lo: self.lo * power }
    }

    pub fn value(self) -> f64 {
        self.hi + self.lo
    }
}

/// Lower triangle, row by row, of the sum of w z z' over the rows z = (1, x - centre, y - centre), each difference
/// exact.
pub struct ExactProducts<'a> {
    pub cols: usize,
    pub targets: usize,
    pub centre: &'a [f64],
}

impl Reduce for ExactProducts<'_> {
    type Stat = Vec<Dd>;

    fn zero(&self) -> Vec<Dd> {
        let n = 1 + self.cols + self.targets;
        vec![Dd::default(); n * (n + 1) / 2]
    }

    fn add(&self, stat: &mut Vec<Dd>, batch: &Batch) -> Result<()> {
        each_row(batch, self.cols, self.targets, self.centre, |weight, z| {
            let mut at = 0;
            for a in 0..z.len() {
                let weighted = weight.times(z[a]);
                for b in 0..=a {
                    stat[at] = stat[at].add(weighted.times(z[b]));
                    at += 1;
                }
            }
        });
        Ok(())
    }

    fn merge(&self, left: &mut Vec<Dd>, right: Vec<Dd>) {
        left.iter_mut().zip(right).for_each(|(left, right)| *left = left.add(right));
    }
}

/// Weight and (1, x - centre, y - centre) of every row.
fn each_row(batch: &Batch, cols: usize, targets: usize, centre: &[f64], mut f: impl FnMut(Dd, &[Dd])) {
    let mut z = vec![Dd::new(1.0); 1 + cols + targets];
    let mut row = vec![0.0; cols];
    let y = batch.y.real();
    for i in 0..batch.rows() {
        match batch.x.row(i) {
            Row::Dense(x) => row.copy_from_slice(x),
            sparse => {
                row.fill(0.0);
                sparse.for_each(|j, value| row[j] = value);
            }
        }
        for j in 0..cols {
            z[1 + j] = Dd::difference(row[j], centre[j]);
        }
        for t in 0..targets {
            z[1 + cols + t] = Dd::difference(y[i * targets + t], centre[cols + t]);
        }
        f(Dd::new(batch.weight(i)), &z);
    }
}

/// For each target the sum of w z r over the rows, r = y - v.z its residual: what is left of the normal equations at
/// `v`. Their own matrix squares the condition; these residuals do not.
pub struct ExactResiduals<'a> {
    pub cols: usize,
    pub targets: usize,
    pub centre: &'a [f64],
    /// One vector of 1 + cols for each target.
    pub solution: &'a [Vec<Dd>],
}

impl Reduce for ExactResiduals<'_> {
    type Stat = Vec<Dd>;

    fn zero(&self) -> Vec<Dd> {
        vec![Dd::default(); self.targets * (1 + self.cols)]
    }

    fn add(&self, stat: &mut Vec<Dd>, batch: &Batch) -> Result<()> {
        let width = 1 + self.cols;
        each_row(batch, self.cols, self.targets, self.centre, |weight, z| {
            for (t, (stat, v)) in stat.chunks_exact_mut(width).zip(self.solution).enumerate() {
                let fitted = |r: Dd, j: usize| r.subtract(v[j].times(z[j]));
                let residual = weight.times((0..width).fold(z[width + t], fitted));
                stat.iter_mut().zip(z).for_each(|(sum, z)| *sum = sum.add(residual.times(*z)));
            }
        });
        Ok(())
    }

    fn merge(&self, left: &mut Vec<Dd>, right: Vec<Dd>) {
        left.iter_mut().zip(right).for_each(|(left, right)| *left = left.add(right));
    }
}

/// The sum of w r^2, r = y - b - w.x, for a model of one target in doubles.
pub struct ExactSquares<'a> {
    pub coef: &'a [f64],
    pub intercept: f64,
}

impl Reduce for ExactSquares<'_> {
    type Stat = Dd;

    fn zero(&self) -> Dd {
        Dd::default()
    }

    fn add(&self, stat: &mut Dd, batch: &Batch) -> Result<()> {
        for (i, &y) in batch.y.real().iter().enumerate() {
            let mut residual = Dd::difference(y, self.intercept);
            batch.x.row(i).for_each(|j, x| residual = residual.subtract(two_product(self.coef[j], x)));
            *stat = stat.add(residual.times(residual).times(Dd::new(batch.weight(i))));
        }
        Ok(())
    }

    fn merge(&self, left: &mut Dd, right: Dd) {
        *left = left.add(right);
    }
}

/// `start - a.b`
pub fn minus_dot(start: f64, a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(Dd::new(start), |sum, (a, b)| sum.subtract(two_product(*a, *b))).value()
}

/// A = L D L', packed by rows: L below, D on the diagonal.
pub struct Factor {
    l: Vec<Dd>,
    n: usize,
}

fn at(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

impl Factor {
    /// From the packed lower triangle; `None` when A is not positive definite.
    pub fn new(a: &[Dd], n: usize) -> Option<Factor> {
        let mut l = a[..n * (n + 1) / 2].to_vec();
        for j in 0..n {
            for i in j..n {
                let mut sum = l[at(i, j)];
                for k in 0..j {
                    sum = sum.subtract(l[at(i, k)].times(l[at(j, k)]).times(l[at(k, k)]));
                }
                l[at(i, j)] = sum;
            }
            let pivot = l[at(j, j)];
            if !(pivot.hi > 0.0) {
                return None;
            }
            for i in j + 1..n {
                l[at(i, j)] = l[at(i, j)].over(pivot);
            }
        }
        Some(Factor { l, n })
    }

    /// A^-1 x in place.
    pub fn solve(&self, x: &mut [Dd]) {
        let Factor { l, n } = self;
        for i in 0..*n {
            for k in 0..i {
                x[i] = x[i].subtract(l[at(i, k)].times(x[k]));
            }
        }
        for i in 0..*n {
            x[i] = x[i].over(l[at(i, i)]);
        }
        for i in (0..*n).rev() {
            for k in i + 1..*n {
                x[i] = x[i].subtract(l[at(k, i)].times(x[k]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_digits_survive() {
        let third = Dd::new(1.0).over(Dd::new(3.0));
        let one = third.times(Dd::new(3.0)).subtract(Dd::new(1.0));
        assert!(one.value().abs() < 1e-31, "{one:?}");
        let big = Dd::new(1e16).add(Dd::new(1.0)).subtract(Dd::new(1e16));
        assert_eq!(big.value(), 1.0);
    }

    #[test]
    fn hilbert_of_order_twelve_is_solved() {
        // Condition 1.7e16: hopeless in double precision.
        let n = 12;
        let entry = |i: usize, j: usize| Dd::new(1.0).over(Dd::new((i + j + 1) as f64));
        let a: Vec<Dd> = (0..n).flat_map(|i| (0..=i).map(move |j| entry(i, j))).collect();
        let sums: Vec<Dd> = (0..n).map(|i| (0..n).fold(Dd::default(), |s, j| s.add(entry(i, j)))).collect();
        let mut b = sums;
        Factor::new(&a, n).unwrap().solve(&mut b);
        assert!(b.iter().all(|x| (x.value() - 1.0).abs() < 1e-12), "{b:?}");
    }
}
