//! Ridge regression in the feature space of a kernel: `min_f sum_i w_i (y_i - f(x_i))^2 + alpha ||f||^2`, no intercept.
//!
//! The minimum is f(x) = sum_i c_i k(x_i, x) with (K + alpha W^-1) c = y, solved by a blocked Cholesky factor on all
//! threads: n^3 / 3 operations and n^2 numbers. With `n_components` the sum runs over that many landmark rows only
//! (Nyström): O(n m^2), for large n. A kernel that is not positive definite is solved through its eigenvalues, as
//! scikit-learn falls back to least squares.

use super::{Expansion, support::resolve};
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Flexibility, Info, Matrix, Model, Output, OwnedX, Passes, Result, Shape,
    Source, Task, X,
    core::{
        Batch,
        linalg::{Eigen, View, multiply},
        param::{any, at_least, log},
        params,
    },
    engine::{
        block_cholesky,
        kernel::{Gamma, Kernel},
    },
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

params! {
    /// Ridge regression in the feature space of a kernel.
    pub struct KernelRidge {
        /// Regularisation strength.
        alpha: f64 = 1.0, at_least(0.0), log(1e-4, 1e2);
        /// A kernel such as rbf, or sums and products of kernels: 0.5*rbf(gamma=0.1) + poly(degree=2)[0,3].
        kernel: Kernel = Kernel::Linear;
        /// Kernel coefficient, where the kernel does not set its own; none is 1 / number of columns.
        gamma: Option<f64> = None, at_least(0.0), log(1e-4, 1e1);
        /// Degree of the poly kernel, where the kernel does not set its own.
        degree: usize = 3, at_least(0.0);
        /// Constant term of the poly and sigmoid kernels, where the kernel does not set its own.
        coef0: f64 = 1.0, any();
        /// Number of landmark rows for an approximate (Nystroem) solution; none for the exact one.
        n_components: Option<usize> = None, at_least(1.0);
    }
}

const WHY_MEMORY: &str = "the solution is a sum over all rows";

/// Numbers of a Gram matrix beyond which the exact solution is refused: 16 GB.
const MOST: usize = 1 << 31;

impl Estimator for KernelRidge {
    type Model = KernelRegressor;

    const INFO: Info = Info {
        multi_target: true,
        scale: true,
        random: true,
        flexibility: Flexibility::Kernel,
        not_compared: Some("has no intercept; SVR is as flexible"),
        ..Info::new(
            "kernel_ridge",
            Task::Regression,
            "min_f sum_i (y_i - f(x_i))^2 + alpha ||f||^2",
            Passes::Memory(WHY_MEMORY),
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, p, targets) = shape.sizes();
        let landmarks = self.n_components.map_or(n, |count| n.min(count as f64));
        1e-9 * (3e4 + n * landmarks * (2.0 + 0.2 * p + targets) + 0.1 * n * landmarks * landmarks)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<KernelRegressor>> {
        let batch = data.in_memory("KernelRidge", WHY_MEMORY)?;
        ctx.check()?;
        batch.x.check_finite(batch.first)?;
        let gamma = self.gamma.map_or(Gamma::Auto, Gamma::Number);
        let kernel = resolve(&self.kernel, gamma, self.degree, self.coef0, &batch)?;
        let rows: Vec<usize> = (0..batch.rows()).filter(|&i| batch.weight(i) > 0.0).collect();
        let mut notes: Vec<String> = kernel.definiteness(&batch.x).into_iter().collect();
        let (ids, coef) = match self.n_components {
            Some(m) if m < rows.len() => self.landmarks(ctx, &batch, &kernel, &rows, m, &mut notes)?,
            _ => self.exact(ctx, &batch, &kernel, rows, &mut notes)?,
        };
        let intercept = vec![0.0; coef.cols];
        let expansion = Expansion::new(kernel, &batch.x, ids, coef, intercept);
        let log = FitLog::default().with_notes(notes);
        Ok(Fit::new(KernelRegressor { expansion }, log))
    }
}

/// `K[rows, rows]`, by blocks of rows on all threads.
pub fn gram(ctx: &Ctx, batch: &Batch, kernel: &Kernel, rows: &[usize]) -> Result<Matrix> {
    let n = rows.len();
    if n.saturating_mul(n) > MOST {
        let size = (n as f64).powi(2) * 8e-9;
        return Err(Error::Data(format!("the kernel matrix of {n} x {n} values would take {size:.0} GB of memory"))
            .hint("use n_components, Nystroem or a sample of the rows"));
    }
    let points = OwnedX::take(&batch.x, rows.iter().copied());
    let ids: &[usize] = if kernel.is_precomputed() { rows } else { &[] };
    let mut out = Matrix::zeros(n, n);
    let band = 128;
    ctx.install(|| {
        out.values.par_chunks_mut(band * n).enumerate().try_for_each(|(k, out)| {
            ctx.check()?;
            let (x, first) = (points.x(), k * band);
            kernel.block_with(&x.slice(first..(first + band).min(n)), &x, ids, out);
            Ok(())
        })
    })?;
    Ok(out)
}

impl KernelRidge {
    fn exact(
        &self,
        ctx: &Ctx,
        batch: &Batch,
        kernel: &Kernel,
        rows: Vec<usize>,
        notes: &mut Vec<String>,
    ) -> Result<(Vec<usize>, Matrix)> {
        let n = rows.len();
        let (y, targets) = (batch.y.real(), batch.y.real().len() / batch.rows());
        let mut k = gram(ctx, batch, kernel, &rows)?;
        // sqrt(w) on both sides keeps the system symmetric, and no weight is divided by.
        let root: Vec<f64> = rows.iter().map(|&row| batch.weight(row).sqrt()).collect();
        for i in 0..n {
            let (ri, row) = (root[i], k.row_mut(i));
            row.iter_mut().zip(&root).for_each(|(v, rj)| *v *= ri * rj);
            row[i] += self.alpha;
        }
        let mut coef = Matrix::from_fn(n, targets, |i, t| root[i] * y[rows[i] * targets + t]);
        let mut factored = k;
        if block_cholesky::factor(ctx, &mut factored)?.is_some() {
            block_cholesky::solve(&factored, &mut coef.values, targets);
        } else {
            notes.push("the Gram matrix is not positive definite: solved by its eigenvalues".into());
            let mut k = gram(ctx, batch, kernel, &rows)?;
            for i in 0..n {
                let (ri, row) = (root[i], k.row_mut(i));
                row.iter_mut().zip(&root).for_each(|(v, rj)| *v *= ri * rj);
                row[i] += self.alpha;
            }
            coef = pseudo_solve(&k, &coef)?;
        }
        (0..n).for_each(|i| coef.row_mut(i).iter_mut().for_each(|c| *c *= root[i]));
        Ok((rows, coef))
    }

    /// `(K_mn W K_nm + alpha K_mm) c = K_mn W y` over m landmark rows.
    fn landmarks(
        &self,
        ctx: &Ctx,
        batch: &Batch,
        kernel: &Kernel,
        rows: &[usize],
        m: usize,
        notes: &mut Vec<String>,
    ) -> Result<(Vec<usize>, Matrix)> {
        let (y, targets) = (batch.y.real(), batch.y.real().len() / batch.rows());
        let mut order = rows.to_vec();
        ctx.rng("landmarks", 0).shuffle(&mut order);
        order.truncate(m);
        order.sort_unstable();
        notes.push(format!("approximate: {m} landmark rows of {}", rows.len()));
        let marks = OwnedX::take(&batch.x, order.iter().copied());
        let ids: &[usize] = if kernel.is_precomputed() { &order } else { &[] };
        let parts: Vec<(Matrix, Matrix)> = ctx.install(|| {
            rows.par_chunks(rows.len().div_ceil(32).max(512))
                .map(|chunk| {
                    ctx.check()?;
                    let (mut a, mut b) = (Matrix::zeros(m, m), Matrix::zeros(m, targets));
                    for chunk in chunk.chunks(512) {
                        let part = OwnedX::take(&batch.x, chunk.iter().copied());
                        let mut block = vec![0.0; chunk.len() * m];
                        kernel.block_with(&part.x(), &marks.x(), ids, &mut block);
                        let mut right = vec![0.0; chunk.len() * targets];
                        for (i, &row) in chunk.iter().enumerate() {
                            let root = batch.weight(row).sqrt();
                            block[i * m..(i + 1) * m].iter_mut().for_each(|v| *v *= root);
                            for t in 0..targets {
                                right[i * targets + t] = root * y[row * targets + t];
                            }
                        }
                        let block = View::rows(&block, chunk.len(), m);
                        multiply(block.transposed(), block, 1.0, &mut a.values);
                        multiply(block.transposed(), View::rows(&right, chunk.len(), targets), 1.0, &mut b.values);
                    }
                    Ok((a, b))
                })
                .collect::<Result<_>>()
        })?;
        let (mut a, mut b) = (gram(ctx, batch, kernel, &order)?, Matrix::zeros(m, targets));
        a.values.iter_mut().for_each(|v| *v *= self.alpha);
        for (part_a, part_b) in parts {
            a.values.iter_mut().zip(part_a.values).for_each(|(a, p)| *a += p);
            b.values.iter_mut().zip(part_b.values).for_each(|(b, p)| *b += p);
        }
        let mut factored = a.clone();
        // Landmarks may be nearly equal; what rounding has blurred is left out.
        if block_cholesky::factor(ctx, &mut factored)?.is_some() {
            block_cholesky::solve(&factored, &mut b.values, targets);
        } else {
            b = pseudo_solve(&a, &b)?;
        }
        Ok((order, b))
    }
}

/// The least-squares solution of smallest norm of a symmetric system.
fn pseudo_solve(a: &Matrix, b: &Matrix) -> Result<Matrix> {
    let Some(eigen) = Eigen::new(a) else {
        return Err(Error::Diverged("KernelRidge: the eigenvalues of the Gram matrix were not found".into()));
    };
    let largest = eigen.values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let limit = largest * f64::EPSILON * a.rows as f64;
    let mut image = eigen.vectors.transposed().times(b);
    for (i, value) in eigen.values.iter().enumerate() {
        let inverse = if value.abs() > limit { 1.0 / value } else { 0.0 };
        image.row_mut(i).iter_mut().for_each(|v| *v *= inverse);
    }
    Ok(eigen.vectors.times(&image))
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelRegressor {
    pub expansion: Expansion,
}

impl Model for KernelRegressor {
    fn cols(&self) -> usize {
        self.expansion.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Value, self.expansion.outputs())]
    }

    fn predict(&self, x: &X, _: Output, out: &mut [f64]) -> Result<()> {
        self.expansion.scores(x, out);
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let coef = &self.expansion.coef;
        let dual = if coef.cols == 1 { (&coef.values).into() } else { coef.into() };
        vec![("dual_coef_", dual), ("X_fit_", (&self.expansion.points.to_matrix()).into())]
    }

    fn check(&self) -> Result<()> {
        self.expansion.check()
    }
}
