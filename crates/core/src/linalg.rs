//! The only door to linear algebra. faer works inside and is not seen outside.
//!
//! Everything runs on the calling thread: parallelism is over row blocks, one level up, where the merge order is fixed.

use crate::{rng::Stream, simd};
use faer::{
    Accum, MatMut, MatRef, Par, Side,
    linalg::matmul::{matmul, triangular, triangular::BlockStructure},
    linalg::solvers::Solve,
};
use serde::{Deserialize, Serialize};

/// An owned row-major matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    pub values: Vec<f64>,
    pub rows: usize,
    pub cols: usize,
}

impl Matrix {
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Matrix { values: vec![0.0; rows * cols], rows, cols }
    }

    pub fn new(values: Vec<f64>, rows: usize, cols: usize) -> Self {
        assert_eq!(values.len(), rows * cols, "a matrix of {rows} x {cols}");
        Matrix { values, rows, cols }
    }

    pub fn from_fn(rows: usize, cols: usize, mut f: impl FnMut(usize, usize) -> f64) -> Self {
        let values = (0..rows * cols).map(|at| f(at / cols, at % cols)).collect();
        Matrix { values, rows, cols }
    }

    /// Whether a matrix read from a file is what it says.
    pub fn is_consistent(&self) -> bool {
        self.rows.checked_mul(self.cols) == Some(self.values.len())
    }

    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.cols..(i + 1) * self.cols]
    }

    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.values[i * self.cols..(i + 1) * self.cols]
    }

    pub fn view(&self) -> View<'_> {
        View::rows(&self.values, self.rows, self.cols)
    }

    pub fn transposed(&self) -> Matrix {
        Matrix::from_fn(self.cols, self.rows, |i, j| self[(j, i)])
    }

    /// `self b`
    pub fn times(&self, b: &Matrix) -> Matrix {
        let mut out = Matrix::zeros(self.rows, b.cols);
        multiply(self.view(), b.view(), 0.0, &mut out.values);
        out
    }

    /// Copies the lower triangle onto the upper.
    pub fn mirror(&mut self) {
        for i in 0..self.rows {
            for j in 0..i {
                self.values[j * self.cols + i] = self.values[i * self.cols + j];
            }
        }
    }
}

impl std::ops::Index<(usize, usize)> for Matrix {
    type Output = f64;
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.values[i * self.cols + j]
    }
}

impl std::ops::IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.values[i * self.cols + j]
    }
}

/// A matrix lent for a product.
#[derive(Clone, Copy)]
pub struct View<'a>(MatRef<'a, f64>);

impl<'a> View<'a> {
    pub fn rows(values: &'a [f64], rows: usize, cols: usize) -> Self {
        View(MatRef::from_row_major_slice(&values[..rows * cols], rows, cols))
    }

    pub fn transposed(self) -> Self {
        View(self.0.transpose())
    }

    /// Columns `columns` of every row.
    pub fn columns(self, columns: std::ops::Range<usize>) -> Self {
        View(self.0.subcols(columns.start, columns.len()))
    }
}

/// `out = a b + beta out`, `out` row-major; `beta` is 0 (overwrite) or anything else.
pub fn multiply(a: View, b: View, beta: f64, out: &mut [f64]) {
    let (rows, cols) = (a.0.nrows(), b.0.ncols());
    let out = &mut out[..rows * cols];
    if beta != 0.0 && beta != 1.0 {
        out.iter_mut().for_each(|value| *value *= beta);
    }
    let accumulate = if beta == 0.0 { Accum::Replace } else { Accum::Add };
    matmul(MatMut::from_row_major_slice_mut(out, rows, cols), accumulate, a.0, b.0, 1.0, Par::Seq);
}

/// `out = A B'` in single precision for rows of `cols` numbers, `out` row-major: twice as fast, where what is lost is
/// made good elsewhere.
pub fn multiply_single(a: &[f32], b: &[f32], cols: usize, out: &mut [f32]) {
    let (rows, others) = (a.len() / cols, b.len() / cols);
    let (a, b) = (MatRef::from_row_major_slice(a, rows, cols), MatRef::from_row_major_slice(b, others, cols));
    let out = MatMut::from_row_major_slice_mut(&mut out[..rows * others], rows, others);
    matmul(out, Accum::Replace, a, b.transpose(), 1.0, Par::Seq);
}

/// Columns that a packed row takes for `cols` values: whole vectors, so that the kernel has no edges.
pub fn padded(cols: usize) -> usize {
    cols.next_multiple_of(4)
}

/// Above this many columns a general matrix product is faster than the narrow kernel.
const NARROW: usize = 160;

/// Rows to pack before [`add_gram`]: for the narrow kernel as many as stay in the cache between packing and
/// multiplying; for a general product enough that reading and writing `out` is little beside it.
pub fn sheet_rows(stride: usize) -> usize {
    if stride > NARROW { 256 } else { (8192 / stride).clamp(32, 256) }
}

/// Lower triangle of `out += Z' Z` for packed rows `z` (`stride` = [`padded`] columns each, zeros in the padding);
/// `out` is `stride` x `stride`. The statistic behind least squares, Newton steps, covariances.
pub fn add_gram(z: &[f64], stride: usize, out: &mut [f64]) {
    let rows = z.len() / stride;
    if stride > NARROW {
        let z = MatRef::from_row_major_slice(&z[..rows * stride], rows, stride);
        triangular::matmul(
            MatMut::from_row_major_slice_mut(out, stride, stride),
            BlockStructure::TriangularLower,
            Accum::Add,
            z.transpose(),
            BlockStructure::Rectangular,
            z,
            BlockStructure::Rectangular,
            1.0,
            Par::Seq,
        );
        return;
    }
    simd::vectorised(
        #[inline(always)]
        || {
            // Few enough rows that a tile finds them all in the first-level cache.
            let sheet = (2048 / stride).clamp(16, 256) * stride;
            for z in z.chunks(sheet) {
                for i in (0..stride).step_by(4) {
                    for j in (0..=i).step_by(12) {
                        match (i + 4 - j) / 4 {
                            1 => gram_tile::<4>(z, stride, i, j, out),
                            2 => gram_tile::<8>(z, stride, i, j, out),
                            _ => gram_tile::<12>(z, stride, i, j, out),
                        }
                    }
                }
            }
        },
    );
}

/// A tile of 4 x N sums kept in registers while the rows go by.
#[inline(always)]
fn gram_tile<const N: usize>(z: &[f64], stride: usize, i: usize, j: usize, out: &mut [f64]) {
    let mut sums = [[0.0f64; N]; 4];
    for row in z.chunks_exact(stride) {
        let left: &[f64; 4] = row[i..i + 4].try_into().expect("four columns");
        let right: &[f64; N] = row[j..j + N].try_into().expect("N columns");
        for a in 0..4 {
            for b in 0..N {
                sums[a][b] = left[a].mul_add(right[b], sums[a][b]);
            }
        }
    }
    for a in 0..4 {
        let out = &mut out[(i + a) * stride + j..(i + a) * stride + j + N];
        for b in 0..N {
            out[b] += sums[a][b];
        }
    }
}

/// `A = L L'` of a symmetric positive definite matrix.
pub struct Cholesky {
    factor: faer::linalg::solvers::Llt<f64>,
    norm: f64,
    n: usize,
}

impl Cholesky {
    /// From the lower triangle; `None` when the matrix is not positive definite in floating point.
    pub fn new(a: &Matrix) -> Option<Self> {
        let n = a.rows;
        let view = MatRef::from_row_major_slice(&a.values, n, n);
        let factor = view.llt(Side::Lower).ok()?;
        let norm = one_norm(n, |i, j| if i >= j { a[(i, j)] } else { a[(j, i)] });
        norm.is_finite().then_some(Cholesky { factor, norm, n })
    }

    /// Solves `A x = b` in place for `k` right-hand sides, row-major `n` x `k`.
    pub fn solve(&self, b: &mut [f64], k: usize) {
        self.factor.solve_in_place(MatMut::from_row_major_slice_mut(&mut b[..self.n * k], self.n, k));
    }

    /// The factor L, row-major.
    pub fn lower(&self) -> Matrix {
        let l = self.factor.L();
        Matrix::from_fn(self.n, self.n, |i, j| if j <= i { l[(i, j)] } else { 0.0 })
    }

    pub fn inverse(&self) -> Matrix {
        let mut out = Matrix::from_fn(self.n, self.n, |i, j| f64::from(i == j));
        self.solve(&mut out.values, self.n);
        out
    }

    /// ln det A
    pub fn log_determinant(&self) -> f64 {
        let l = self.factor.L();
        (0..self.n).map(|i| 2.0 * l[(i, i)].ln()).sum()
    }

    /// An estimate from below of the condition number in the one-norm, rarely by more than a factor of three: Hager's
    /// ascent on
    /// ||A^-1 x||_1 over the unit ball (Higham 2002, algorithm 15.1). It starts where A^-1 sends random vectors: any vector of
    /// one's own choice is orthogonal to the direction that matters for some data, and then the estimate is of another
    /// direction. Four random ones all miss a direction by 1e-3 or more with a probability below 1e-12 (Dixon 1983).
    pub fn condition(&self) -> f64 {
        const STARTS: usize = 4;
        let n = self.n;
        let mut rng = Stream::new(0, "condition", n as u64);
        let mut sent: Vec<f64> = (0..n * STARTS).map(|_| rng.normal()).collect();
        self.solve(&mut sent, STARTS);
        let length = |k: usize| sent.iter().skip(k).step_by(STARTS).map(|v| v.abs()).sum::<f64>();
        let longest = (0..STARTS).max_by(|&a, &b| length(a).total_cmp(&length(b))).unwrap_or(0);
        let mut x: Vec<f64> = sent.iter().skip(longest).step_by(STARTS).map(|v| v / length(longest)).collect();
        let mut estimate = 0.0f64;
        for _ in 0..5 {
            let mut y = x.clone();
            self.solve(&mut y, 1);
            let norm: f64 = y.iter().map(|v| v.abs()).sum();
            if norm.is_nan() {
                return f64::INFINITY;
            }
            if norm <= estimate {
                break;
            }
            estimate = norm;
            let mut sign: Vec<f64> = y.iter().map(|v| 1.0f64.copysign(*v)).collect();
            self.solve(&mut sign, 1);
            let steepest = (0..n).max_by(|&a, &b| sign[a].abs().total_cmp(&sign[b].abs())).unwrap_or(0);
            let reached: f64 = sign.iter().zip(&x).map(|(z, x)| z * x).sum();
            if sign[steepest].abs() <= reached {
                break;
            }
            x.fill(0.0);
            x[steepest] = 1.0;
        }
        estimate * self.norm
    }
}

fn one_norm(n: usize, at: impl Fn(usize, usize) -> f64) -> f64 {
    (0..n).map(|j| (0..n).map(|i| at(i, j).abs()).sum()).fold(0.0, f64::max)
}

/// `A = Q diag(values) Q'`, values ascending, eigenvectors in the columns of `vectors`.
pub struct Eigen {
    pub values: Vec<f64>,
    pub vectors: Matrix,
}

impl Eigen {
    /// From the lower triangle of a symmetric matrix.
    pub fn new(a: &Matrix) -> Option<Self> {
        let n = a.rows;
        let eigen = MatRef::from_row_major_slice(&a.values, n, n).self_adjoint_eigen(Side::Lower).ok()?;
        let vectors = Matrix::from_fn(n, n, |i, j| eigen.U()[(i, j)]);
        Some(Eigen { values: (0..n).map(|i| eigen.S()[i]).collect(), vectors })
    }
}

/// `A = U diag(s) V'`, thin, singular values descending.
pub struct Svd {
    pub u: Matrix,
    pub s: Vec<f64>,
    pub v: Matrix,
}

impl Svd {
    pub fn new(a: &Matrix) -> Option<Self> {
        let svd = MatRef::from_row_major_slice(&a.values, a.rows, a.cols).thin_svd().ok()?;
        let k = a.rows.min(a.cols);
        Some(Svd {
            u: Matrix::from_fn(a.rows, k, |i, j| svd.U()[(i, j)]),
            s: (0..k).map(|i| svd.S()[i]).collect(),
            v: Matrix::from_fn(a.cols, k, |i, j| svd.V()[(i, j)]),
        })
    }
}

/// The triangle R of `A = Q R`, square of `a.cols`, row-major, with a non-negative diagonal. R'R = A'A, so that
/// triangles of two blocks of rows, put on top of each other, give the triangle of both: QR is a sum.
pub fn triangle(a: &Matrix) -> Matrix {
    triangle_of(a.view())
}

/// The triangle of a matrix that is lent: of `a.view().transposed()` for the rows of `a` as columns.
pub fn triangle_of(a: View) -> Matrix {
    let p = a.0.ncols();
    let qr = a.0.qr();
    let r = qr.thin_R();
    let mut out = Matrix::zeros(p, p);
    for i in 0..r.nrows() {
        let sign = 1.0f64.copysign(r[(i, i)]);
        for j in i..p {
            out[(i, j)] = sign * r[(i, j)];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are neither structured nor random.
    fn sample(rows: usize, cols: usize) -> Matrix {
        Matrix::from_fn(rows, cols, |i, j| ((i * 37 + j * 101 + 13) as f64 * 0.618_033_988_75).fract() - 0.5)
    }

    fn largest_difference(a: &Matrix, b: &Matrix) -> f64 {
        a.values.iter().zip(&b.values).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn gram_equals_the_product() {
        for cols in [1, 3, 4, 11, 12, 50, 64, 129, 200] {
            let (stride, plain) = (padded(cols), sample(301, cols));
            let z = Matrix::from_fn(301, stride, |i, j| if j < cols { plain[(i, j)] } else { 0.0 });
            let mut gram = Matrix::zeros(stride, stride);
            add_gram(&z.values, stride, &mut gram.values);
            gram.mirror();
            assert!(largest_difference(&gram, &z.transposed().times(&z)) < 1e-11, "{cols} columns");
        }
    }

    #[test]
    fn factorisations_give_the_matrix_back() {
        let a = sample(30, 7);
        let gram = a.transposed().times(&a);
        let l = Cholesky::new(&gram).unwrap().lower();
        assert!(largest_difference(&l.times(&l.transposed()), &gram) < 1e-12);

        let r = triangle(&a);
        assert!(largest_difference(&r.transposed().times(&r), &gram) < 1e-12);
        assert!((0..7).all(|i| r[(i, i)] >= 0.0));

        let svd = Svd::new(&a).unwrap();
        let us = Matrix::from_fn(30, 7, |i, j| svd.u[(i, j)] * svd.s[j]);
        assert!(largest_difference(&us.times(&svd.v.transposed()), &a) < 1e-12);
        assert!(svd.s.windows(2).all(|pair| pair[0] >= pair[1]));

        let eigen = Eigen::new(&gram).unwrap();
        let scaled = Matrix::from_fn(7, 7, |i, j| eigen.vectors[(i, j)] * eigen.values[j]);
        assert!(largest_difference(&scaled.times(&eigen.vectors.transposed()), &gram) < 1e-12);
    }

    #[test]
    fn condition_of_a_known_matrix() {
        // The Hilbert matrix of order 6 has condition 2.9e7 in the one-norm.
        let hilbert = Matrix::from_fn(6, 6, |i, j| 1.0 / (i + j + 1) as f64);
        let condition = Cholesky::new(&hilbert).unwrap().condition();
        assert!((0.9e7..4e7).contains(&condition), "{condition:e}");
        assert!(Cholesky::new(&Matrix::from_fn(3, 3, |_, _| 1.0)).is_none_or(|c| c.condition() > 1e14));
    }

    /// A start of equal entries is orthogonal to (1, -1) and to every difference of copied columns: however they lie, a
    /// singular matrix is never taken for a good one.
    #[test]
    fn condition_sees_every_null_direction() {
        let mut rng = Stream::new(3, "null", 0);
        for draw in 0..2000 {
            let n = 2 + draw % 7;
            let (first, second) = (draw % n, (draw + 1 + draw / n % (n - 1)) % n);
            let mut z = Matrix::from_fn(40, n, |_, _| rng.normal());
            let noise = if draw % 3 == 0 { 0.0 } else { 1e-7 };
            (0..40).for_each(|i| z[(i, second)] = z[(i, first)] + noise * rng.normal());
            let length: Vec<f64> = (0..n).map(|j| (0..40).map(|i| z[(i, j)].powi(2)).sum::<f64>().sqrt()).collect();
            let z = Matrix::from_fn(40, n, |i, j| z[(i, j)] / length[j]);
            let condition = Cholesky::new(&z.transposed().times(&z)).map_or(f64::INFINITY, |c| c.condition());
            assert!(condition > 1e12, "draw {draw}: {condition:e}");
        }
    }
}
