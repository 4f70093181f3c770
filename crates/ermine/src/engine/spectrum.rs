//! Leading right singular vectors of the rows (about their mean, or as they stand), `A = sqrt(w) (X - m)`, by the
//! cheapest path that the shape allows. All three are sums, so that they run on any source.
//!
//! - Fewer rows than columns: the statistic is the rows themselves, and their SVD is taken.
//! - Not too many columns: the matrix A'A in one pass, and its eigenvectors.
//! - Few components of many columns: subspace iteration `Q <- orth(A'A Q)` from a random start with some columns to
//!   spare (Halko, Martinsson and Tropp 2011), until the Ritz values stand still. Each pass costs O(stored values x
//!   components).

use crate::{
    Ctx, Error, Matrix, Result, Source, X,
    core::{
        Batch, Reduce,
        ctx::Progress,
        linalg::{Eigen, Svd},
        reduce, simd,
        stats::{ColumnMoments, CrossProducts, Gram},
    },
    engine::gather::Rows,
};

/// Up to this many columns the matrix A'A is cheap whatever is asked for.
const SMALL: usize = 1024;
/// Most passes of the subspace iteration, and the relative change of the Ritz values at which it stops.
const PASSES: usize = 30;
const SETTLED: f64 = 1e-9;

pub struct Spectrum {
    pub rows: usize,
    pub weight: f64,
    pub mean: Vec<f64>,
    /// Squared singular values, descending: all of them, or as many as were asked for.
    pub squares: Vec<f64>,
    /// One row for each, largest entry positive.
    pub vectors: Matrix,
    /// Sum of all squared singular values.
    pub total: f64,
    /// A square below this share of the largest is rounding, and its direction means nothing.
    pub rounding: f64,
    pub passes: usize,
    pub method: &'static str,
}

/// `wanted` is how many components are needed, all without it.
pub fn decompose(data: &dyn Source, ctx: &Ctx, centred: bool, wanted: Option<usize>) -> Result<Spectrum> {
    let shape = data.shape();
    let few = wanted.is_some_and(|wanted| wanted * 8 <= shape.cols.min(shape.rows));
    if shape.rows < shape.cols && (shape.rows <= SMALL || !few) {
        by_rows(data, ctx, centred)
    } else if shape.cols <= SMALL || !few {
        by_columns(data, ctx, centred)
    } else {
        by_iteration(data, ctx, centred, wanted.unwrap_or(shape.cols))
    }
}

impl Spectrum {
    /// Exactly `count` directions. Those without variance say nothing about the rows, and which of them a decomposition
    /// returns is chance: they are replaced by what is left of the first axes beside the directions before them, so
    /// that equal rows give equal directions however they are written (weight 2 or twice).
    pub fn complete(&mut self, count: usize) {
        let p = self.mean.len();
        let limit = self.rounding * self.squares.first().copied().unwrap_or(0.0);
        let known = self.squares.iter().take(count).take_while(|&&square| square > limit).count();
        self.squares.truncate(count);
        self.squares[known..].fill(0.0);
        self.squares.resize(count, 0.0);
        self.vectors.values.truncate(known * p);
        for axis in 0..p {
            if self.vectors.values.len() == count * p {
                break;
            }
            let mut rest = vec![0.0; p];
            rest[axis] = 1.0;
            // Twice: once leaves rounding of the size of what was taken off.
            for _ in 0..2 {
                for vector in self.vectors.values.chunks_exact(p) {
                    simd::add_scaled(-simd::dot(&rest, vector), vector, &mut rest);
                }
            }
            let norm = simd::dot(&rest, &rest).sqrt();
            if norm > 1e-5 {
                self.vectors.values.extend(rest.iter().map(|value| value / norm));
            }
        }
        self.vectors.rows = self.vectors.values.len() / p;
        self.squares.truncate(self.vectors.rows);
    }
}

fn not_converged() -> Error {
    Error::Diverged("the decomposition did not converge".into())
}

/// The sign of a direction is free: its largest entry is positive.
fn positive(vectors: &mut Matrix) {
    for i in 0..vectors.rows {
        let row = vectors.row_mut(i);
        let largest = row.iter().copied().fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
        if largest < 0.0 {
            row.iter_mut().for_each(|value| *value = -*value);
        }
    }
}

fn by_columns(data: &dyn Source, ctx: &Ctx, centred: bool) -> Result<Spectrum> {
    let shape = data.shape();
    let gram = reduce(ctx, data, &CrossProducts { cols: shape.cols, targets: 0 })?;
    from_gram(&gram, shape.rows, centred)
}

/// All eigenvectors of the scatter matrix of `rows` rows.
pub fn from_gram(gram: &Gram, rows: usize, centred: bool) -> Result<Spectrum> {
    let p = gram.mean.len();
    let scatter = if centred { gram.scatter.clone() } else { gram.about_zero() };
    let eigen = Eigen::new(&scatter).ok_or_else(not_converged)?;
    let squares: Vec<f64> = eigen.values.iter().rev().map(|value| value.max(0.0)).collect();
    let mut vectors = Matrix::from_fn(p, p, |i, j| eigen.vectors[(j, p - 1 - i)]);
    positive(&mut vectors);
    let total = (0..p).map(|j| scatter[(j, j)]).sum();
    let mean = if centred { gram.mean.clone() } else { vec![0.0; p] };
    let rounding = f64::EPSILON * p as f64;
    Ok(Spectrum {
        rows,
        weight: gram.weight,
        mean,
        squares,
        vectors,
        total,
        rounding,
        passes: 1,
        method: "eigenvectors",
    })
}

fn by_rows(data: &dyn Source, ctx: &Ctx, centred: bool) -> Result<Spectrum> {
    let shape = data.shape();
    let (n, p) = (shape.rows, shape.cols);
    let mut rows = Rows::new(data, ctx)?;
    let mean = if centred { rows.centre()? } else { vec![0.0; p] };
    let Rows { x: mut a, weights, .. } = rows;
    for i in 0..n {
        let root = weights[i].sqrt();
        a.row_mut(i).iter_mut().for_each(|x| *x *= root);
    }
    ctx.check()?;
    let svd = Svd::new(&a).ok_or_else(not_converged)?;
    let mut vectors = svd.v.transposed();
    positive(&mut vectors);
    let squares: Vec<f64> = svd.s.iter().map(|s| s * s).collect();
    let (total, weight) = (squares.iter().sum(), weights.iter().sum());
    let rounding = (f64::EPSILON * p as f64).powi(2);
    Ok(Spectrum { rows: n, weight, mean, squares, vectors, total, rounding, passes: 1, method: "singular vectors" })
}

/// `sum w (x - m) ((x - m)' Q)`
struct Apply<'a> {
    mean: &'a [f64],
    q: &'a Matrix,
    /// `m' Q`
    offset: Vec<f64>,
}

impl Reduce for Apply<'_> {
    /// Products with x, and with one, from which the mean is taken off at the end.
    type Stat = (Vec<f64>, Vec<f64>);

    fn zero(&self) -> Self::Stat {
        (vec![0.0; self.q.values.len()], vec![0.0; self.q.cols])
    }

    fn add(&self, (products, sums): &mut Self::Stat, batch: &Batch) -> Result<()> {
        let l = self.q.cols;
        let mut y = vec![0.0; batch.rows() * l];
        let centred: Vec<f64>;
        let x = match batch.x {
            X::Dense(dense) => {
                // Dense rows are centred before they are multiplied: an offset then costs no digits.
                centred = dense
                    .values
                    .chunks_exact(dense.cols)
                    .flat_map(|row| row.iter().zip(self.mean).map(|(x, m)| x - m))
                    .collect();
                X::dense(&centred, dense.cols)?
            }
            sparse => sparse,
        };
        x.times_matrix(&self.q.values, l, &mut y);
        for (i, y) in y.chunks_exact_mut(l).enumerate() {
            if x.is_sparse() {
                simd::add_scaled(-1.0, &self.offset, y);
            }
            let weight = batch.weight(i);
            y.iter_mut().for_each(|y| *y *= weight);
            simd::add_scaled(1.0, y, sums);
        }
        x.add_transposed_matrix(&y, l, products);
        Ok(())
    }

    fn merge(&self, left: &mut Self::Stat, right: Self::Stat) {
        simd::add_scaled(1.0, &right.0, &mut left.0);
        simd::add_scaled(1.0, &right.1, &mut left.1);
    }
}

fn by_iteration(data: &dyn Source, ctx: &Ctx, centred: bool, wanted: usize) -> Result<Spectrum> {
    let shape = data.shape();
    let p = shape.cols;
    let moments = reduce(ctx, data, &ColumnMoments { cols: p })?;
    let mean = if centred { moments.mean.clone() } else { vec![0.0; p] };
    let about_zero = |j: usize| if centred { 0.0 } else { moments.weight * moments.mean[j] * moments.mean[j] };
    let total: f64 = (0..p).map(|j| moments.scatter[j] + about_zero(j)).sum();
    let l = (wanted + 10.max(wanted / 2)).min(p);
    let mut rng = ctx.rng("subspace", 0);
    let orthonormal = |a: &Matrix| Svd::new(a).map(|svd| svd.u).ok_or_else(not_converged);
    let mut q = orthonormal(&Matrix::from_fn(p, l, |_, _| rng.normal()))?;
    let mut squares = vec![0.0; wanted];
    let mut passes = 1;
    loop {
        let offset: Vec<f64> = (0..l).map(|a| (0..p).map(|j| mean[j] * q[(j, a)]).sum()).collect();
        let (products, sums) = reduce(ctx, data, &Apply { mean: &mean, q: &q, offset })?;
        let mut z = Matrix::new(products, p, l);
        if shape.sparse {
            (0..p).for_each(|j| simd::add_scaled(-mean[j], &sums, z.row_mut(j)));
        }
        passes += 1;
        let ritz = Eigen::new(&q.transposed().times(&z)).ok_or_else(not_converged)?;
        let latest: Vec<f64> = ritz.values.iter().rev().take(wanted).map(|value| value.max(0.0)).collect();
        let change = latest.iter().zip(&squares).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        squares = latest;
        ctx.progress(Progress { what: "subspace", step: passes, of: None, value: Some(squares.iter().sum()) });
        if change <= SETTLED * squares[0] || passes > PASSES {
            let turn = Matrix::from_fn(l, wanted, |a, i| ritz.vectors[(a, l - 1 - i)]);
            let mut vectors = q.times(&turn).transposed();
            positive(&mut vectors);
            let (rows, weight, rounding) = (shape.rows, moments.weight, SETTLED * f64::EPSILON);
            let method = "subspace iteration";
            return Ok(Spectrum { rows, weight, mean, squares, vectors, total, rounding, passes, method });
        }
        q = orthonormal(&z)?;
    }
}

/// `out = (x - mean) V'` for the rows of V.
pub fn project(x: &X, mean: &[f64], vectors: &Matrix, out: &mut [f64]) {
    let k = vectors.rows;
    let directions = vectors.transposed();
    match x {
        X::Dense(dense) => {
            let centred: Vec<f64> = dense
                .values
                .chunks_exact(dense.cols)
                .flat_map(|row| row.iter().zip(mean).map(|(x, m)| x - m))
                .collect();
            let centred = X::Dense(crate::core::data::Dense { values: &centred, ..*dense });
            centred.times_matrix(&directions.values, k, out);
        }
        sparse => {
            sparse.times_matrix(&directions.values, k, out);
            let offset: Vec<f64> = (0..k).map(|a| simd::dot(mean, vectors.row(a))).collect();
            out.chunks_exact_mut(k).for_each(|row| simd::add_scaled(-1.0, &offset, row));
        }
    }
}
