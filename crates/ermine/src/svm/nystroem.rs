//! Features whose inner products approximate a kernel: `phi(x) = K_mm^-1/2 (k(z_1, x), ..., k(z_m, x))` for m rows z
//! drawn at random (Williams and Seeger 2001).
//!
//! The rows with the smallest random keys are drawn, so that drawing is a sum and the data may be of any size. O(m^3)
//! to fit, O(m d + m^2) a row. Eigenvalues below 1e-12 count as 1e-12.

use super::Expansion;
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Model, Output, OwnedX, Passes, Result, Source, Task, X,
    core::{
        Batch, Reduce,
        linalg::Eigen,
        param::{any, at_least, log},
        params, reduce,
        rng::key,
    },
    engine::kernel::{Defaults, Kernel},
};
use serde::{Deserialize, Serialize};

params! {
    /// Approximates a kernel by explicit features, computed from a sample of rows.
    pub struct Nystroem {
        /// A kernel such as rbf, or sums and products of kernels: 0.5*rbf(gamma=0.1) + poly(degree=2)[0,3].
        kernel: Kernel = Kernel::Rbf { gamma: None };
        /// Kernel coefficient, where the kernel does not set its own; none is 1 / number of columns.
        gamma: Option<f64> = None, at_least(0.0), log(1e-4, 1e1);
        /// Constant term of the poly and sigmoid kernels, where the kernel does not set its own; none is 1.
        coef0: Option<f64> = None, any();
        /// Degree of the poly kernel, where the kernel does not set its own; none is 3.
        degree: Option<f64> = None, at_least(0.0);
        /// Number of features to construct, which is the number of rows sampled.
        n_components: usize = 100, at_least(1.0), log(10.0, 1000.0);
    }
}

impl Estimator for Nystroem {
    type Model = KernelFeatures;

    const INFO: Info = Info {
        scale: true,
        weights: false,
        random: true,
        ..Info::new(
            "kernel_approximation",
            Task::Transformation,
            "phi(x) = K_mm^(-1/2) k_m(x), so that phi(x).phi(z) is near k(x, z)",
            Passes::One,
        )
    };

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<KernelFeatures>> {
        let shape = data.shape();
        if self.kernel.is_precomputed() {
            return Err(Error::Unsupported("Nystroem: kernel=precomputed has no rows to draw".into()));
        }
        let kernel = self.kernel.resolve(&Defaults {
            gamma: self.gamma.unwrap_or(1.0 / shape.cols as f64),
            degree: self.degree.unwrap_or(3.0),
            coef0: self.coef0.unwrap_or(1.0),
        });
        kernel.check(shape.cols)?;
        let mut drawn = reduce(ctx, data, &Draw { seed: ctx.seed, count: self.n_components })?;
        drawn.sort_by_key(|row| row.1);
        let m = drawn.len();
        let ids: Vec<usize> = drawn.iter().map(|row| row.1 as usize).collect();
        let values = drawn.into_iter().flat_map(|row| row.2).collect();
        let points = OwnedX::Dense(Matrix::new(values, m, shape.cols));
        let mut notes: Vec<String> = kernel.definiteness(&points.x()).into_iter().collect();
        if m < self.n_components {
            notes.push(format!("n_components={} is more than the {m} rows: {m} features", self.n_components));
        }
        let mut gram = Matrix::zeros(m, m);
        kernel.block(&points.x(), &points.x(), &mut gram.values);
        let Some(eigen) = Eigen::new(&gram) else {
            return Err(Error::Diverged("Nystroem: the eigenvalues of the Gram matrix were not found".into()));
        };
        let scaled =
            Matrix::from_fn(m, m, |i, j| eigen.vectors[(i, j)] * eigen.values[j].abs().max(1e-12).sqrt().recip());
        let coef = scaled.times(&eigen.vectors.transposed());
        let expansion = Expansion { kernel, cols: shape.cols, points, ids, coef, intercept: vec![0.0; m] };
        let log = FitLog::default().with_notes(notes);
        Ok(Fit::new(KernelFeatures { expansion }, log))
    }
}

/// The `count` rows with the smallest keys: key, number, values.
struct Draw {
    seed: u64,
    count: usize,
}

impl Draw {
    fn trim(&self, drawn: &mut Vec<(u64, u64, Vec<f64>)>) {
        drawn.sort_by_key(|row| (row.0, row.1));
        drawn.truncate(self.count);
    }
}

impl Reduce for Draw {
    type Stat = Vec<(u64, u64, Vec<f64>)>;

    fn zero(&self) -> Self::Stat {
        Vec::new()
    }

    fn add(&self, stat: &mut Self::Stat, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        for i in 0..batch.rows() {
            let row = (batch.first + i) as u64;
            let key = key(self.seed, "nystroem", row);
            if stat.len() >= self.count && stat.last().is_some_and(|last| last.0 < key) {
                continue;
            }
            let mut values = vec![0.0; batch.x.cols()];
            batch.x.row(i).for_each(|j, v| values[j] = v);
            let at = stat.partition_point(|other| (other.0, other.1) < (key, row));
            stat.insert(at, (key, row, values));
            stat.truncate(self.count);
        }
        Ok(())
    }

    fn merge(&self, left: &mut Self::Stat, right: Self::Stat) {
        left.extend(right);
        self.trim(left);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelFeatures {
    pub expansion: Expansion,
}

impl Model for KernelFeatures {
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
        let indices: Vec<i64> = self.expansion.ids.iter().map(|&id| id as i64).collect();
        vec![
            ("components_", (&self.expansion.points.to_matrix()).into()),
            ("component_indices_", indices.into()),
            ("normalization_", (&self.expansion.coef).into()),
        ]
    }

    fn check(&self) -> Result<()> {
        self.expansion.check()
    }
}
