//! Principal components in the feature space of a kernel: the eigenvectors of the centred Gram matrix (Schölkopf et al.
//! 1998).
//!
//! Component j of a row is `sum_i v_ij k_c(x_i, x) / sqrt(lambda_j)`, k_c the kernel between centred features. The
//! vectors are orthogonal to one, so centring a new row is a constant. O(n^3) for the eigenvalues, n^2 numbers. Signs
//! are set so that the largest entry of each vector is positive. There is no map back to the rows.

use super::{Expansion, kernel_ridge::gram, support::resolve};
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Model, Output, Passes, Result, Source, Task, X,
    core::{
        choice,
        linalg::Eigen,
        param::{any, at_least, log},
        params,
    },
    engine::kernel::{Gamma, Kernel},
};
use serde::{Deserialize, Serialize};

choice! {
    /// Accepted for scikit-learn compatibility; ignored, because all eigenvalues are computed directly.
    pub enum EigenSolver {
        Auto = "auto",
        Dense = "dense",
        Arpack = "arpack",
        Randomized = "randomized",
    }
}

params! {
    /// Principal component analysis in the feature space of a kernel.
    pub struct KernelPCA {
        /// Number of components; none keeps all with non-zero variance.
        n_components: Option<usize> = None, at_least(1.0), log(1.0, 64.0);
        /// A kernel such as rbf, or sums and products of kernels: 0.5*rbf(gamma=0.1) + poly(degree=2)[0,3].
        kernel: Kernel = Kernel::Linear;
        /// Kernel coefficient, where the kernel does not set its own; none is 1 / number of columns.
        gamma: Option<f64> = None, at_least(0.0), log(1e-4, 1e1);
        /// Degree of the poly kernel, where the kernel does not set its own.
        degree: usize = 3, at_least(0.0);
        /// Constant term of the poly and sigmoid kernels, where the kernel does not set its own.
        coef0: f64 = 1.0, any();
        /// Accepted for scikit-learn compatibility; ignored, because all eigenvalues are computed directly.
        eigen_solver: EigenSolver = EigenSolver::Auto;
        /// Accepted for scikit-learn compatibility; ignored, because components with zero variance are never kept.
        remove_zero_eig: bool = false;
    }
}

const WHY_MEMORY: &str = "the components are sums over all rows";

/// Eigenvalues below this share of the largest are rounding.
const ZERO: f64 = 1e-11;

impl Estimator for KernelPCA {
    type Model = KernelComponents;

    const INFO: Info = Info {
        scale: true,
        weights: false,
        ..Info::new(
            "decomposition",
            Task::Transformation,
            "max_V tr(V' K_c V) with V'V = I",
            Passes::Memory(WHY_MEMORY),
        )
    };

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<KernelComponents>> {
        let batch = data.in_memory("KernelPCA", WHY_MEMORY)?;
        ctx.check()?;
        batch.x.check_finite(batch.first)?;
        let gamma = self.gamma.map_or(Gamma::Auto, Gamma::Number);
        let kernel = resolve(&self.kernel, gamma, self.degree, self.coef0, &batch)?;
        let mut notes: Vec<String> = kernel.definiteness(&batch.x).into_iter().collect();
        let n = batch.rows();
        let rows: Vec<usize> = (0..n).collect();
        let mut k = gram(ctx, &batch, &kernel, &rows)?;
        let mean: Vec<f64> = (0..n).map(|i| k.row(i).iter().sum::<f64>() / n as f64).collect();
        let grand = mean.iter().sum::<f64>() / n as f64;
        for i in 0..n {
            let own = mean[i];
            k.row_mut(i).iter_mut().zip(&mean).for_each(|(v, other)| *v -= own + other - grand);
        }
        ctx.check()?;
        let Some(eigen) = Eigen::new(&k) else {
            return Err(Error::Diverged("KernelPCA: the eigenvalues of the Gram matrix were not found".into()));
        };
        let largest = eigen.values.last().copied().unwrap_or(0.0);
        // What the kernel would have to exceed to be more than rounding of its own size.
        let noise = f64::EPSILON * n as f64 * grand.abs().max(mean.iter().fold(0.0, |m: f64, v| m.max(v.abs())));
        let positive = eigen.values.iter().filter(|v| **v > (ZERO * largest).max(noise)).count();
        if positive == 0 {
            return Err(Error::Data("KernelPCA: all rows are the same to the kernel, there is no component".into()));
        }
        let kept = self.n_components.unwrap_or(positive).min(positive);
        if let Some(wanted) = self.n_components.filter(|wanted| *wanted > kept) {
            notes.push(format!("{kept} components of {wanted}: the rest have no variance"));
        }
        let values: Vec<f64> = eigen.values.iter().rev().take(kept).copied().collect();
        let mut coef = Matrix::zeros(n, kept);
        for (c, value) in values.iter().enumerate() {
            let column = n - 1 - c;
            let vector: Vec<f64> = (0..n).map(|i| eigen.vectors[(i, column)]).collect();
            let top = (0..n).fold(0, |best, i| if vector[i].abs() > vector[best].abs() { i } else { best });
            let centre = vector.iter().sum::<f64>() / n as f64;
            let scale = 1.0f64.copysign(vector[top]) / value.sqrt();
            (0..n).for_each(|i| coef[(i, c)] = (vector[i] - centre) * scale);
        }
        let intercept = (0..kept).map(|c| -(0..n).map(|i| coef[(i, c)] * mean[i]).sum::<f64>()).collect();
        let expansion = Expansion::new(kernel, &batch.x, rows, coef, intercept);
        let log = FitLog::default().with_notes(notes);
        Ok(Fit::new(KernelComponents { expansion, eigenvalues: values }, log))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelComponents {
    pub expansion: Expansion,
    pub eigenvalues: Vec<f64>,
}

impl Model for KernelComponents {
    fn cols(&self) -> usize {
        self.expansion.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Transform, self.expansion.outputs())]
    }

    fn predict(&self, x: &X, _: Output, out: &mut [f64]) -> Result<()> {
        self.expansion.scores(x, out);
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let coef = &self.expansion.coef;
        let vectors = Matrix::from_fn(coef.rows, coef.cols, |i, c| coef[(i, c)] * self.eigenvalues[c].sqrt());
        vec![("eigenvalues_", (&self.eigenvalues).into()), ("eigenvectors_", (&vectors).into())]
    }

    fn check(&self) -> Result<()> {
        self.expansion.check()?;
        if self.eigenvalues.len() == self.expansion.outputs() {
            Ok(())
        } else {
            Err(Error::shape("stored eigenvalues", self.expansion.outputs(), self.eigenvalues.len()))
        }
    }
}
