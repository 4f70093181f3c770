//! Random Fourier features: `phi(x) = sqrt(2 / m) cos(W'x + b)` with W normal of variance 2 gamma and b uniform on [0,
//! 2 pi), so that phi(x).phi(z) is near exp(-gamma ||x - z||^2) (Rahimi and Recht 2007). The error falls as 1 /
//! sqrt(m). O(m d) a row.

use crate::{
    Array, Certificate, Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Model, Output, Passes, Result, Source, Task,
    X,
    core::{
        choice, memory,
        param::{at_least, log},
        params, reduce,
        stats::ColumnMoments,
    },
    engine::kernel::scale_gamma,
};
use serde::{Deserialize, Serialize};

choice! {
    /// The width of the kernel.
    pub enum Width: f64 where at_least(0.0) => {
        /// 1 / (columns x variance of all values).
        Scale = "scale",
    }
}

params! {
    /// Approximates the Gaussian kernel by random Fourier features.
    pub struct RBFSampler {
        /// Coefficient of the kernel exp(-gamma ||x - z||^2).
        gamma: Width = Width::Number(1.0), at_least(0.0), log(1e-4, 1e1);
        /// Number of features to construct.
        n_components: usize = 100, at_least(1.0), log(10.0, 1000.0);
    }
}

impl Estimator for RBFSampler {
    type Model = FourierFeatures;

    const INFO: Info = Info {
        scale: true,
        weights: false,
        random: true,
        ..Info::new(
            "kernel_approximation",
            Task::Transformation,
            "phi(x) = sqrt(2/m) cos(W'x + b), so that phi(x).phi(z) is near exp(-gamma ||x - z||^2)",
            Passes::One,
        )
    };

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<FourierFeatures>> {
        let cols = data.shape().cols;
        memory::check("RBFSampler", &format!("n_components={}", self.n_components), &[self.n_components, cols + 1], 8)?;
        let moments = reduce(ctx, data, &ColumnMoments { cols })?;
        let gamma = match self.gamma {
            Width::Number(gamma) => gamma,
            Width::Scale => {
                let p = cols as f64;
                let centre = moments.mean.iter().sum::<f64>() / p;
                let spread = |j: usize| moments.variance(j) + (moments.mean[j] - centre).powi(2);
                let variance = (0..cols).map(spread).sum::<f64>() / p;
                scale_gamma(p, variance)
            }
        };
        let mut rng = ctx.rng("RBFSampler", 0);
        let scale = (2.0 * gamma).sqrt();
        let mut drawn = 0_usize;
        let mut draw = |one: &mut dyn FnMut() -> f64| {
            drawn += 1;
            if drawn.is_multiple_of(1 << 14) {
                ctx.check()?;
            }
            Ok(one())
        };
        let count = cols * self.n_components;
        let weights = (0..count).map(|_| draw(&mut || scale * rng.normal())).collect::<Result<_>>()?;
        let offset = (0..self.n_components).map(|_| draw(&mut || std::f64::consts::TAU * rng.uniform()));
        let offset = offset.collect::<Result<_>>()?;
        let weights = Matrix::new(weights, cols, self.n_components);
        Ok(Fit::new(FourierFeatures { weights, offset }, FitLog::exact(Certificate::None)))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FourierFeatures {
    /// One column for each feature.
    pub weights: Matrix,
    pub offset: Vec<f64>,
}

impl Model for FourierFeatures {
    #[expect(clippy::misnamed_getters, reason = "the weights are stored with a row for each column of the data")]
    fn cols(&self) -> usize {
        self.weights.rows
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Transform, self.offset.len())]
    }

    fn predict(&self, x: &X, _: Output, out: &mut [f64]) -> Result<()> {
        let m = self.offset.len();
        x.times_matrix(&self.weights.values, m, out);
        let scale = (2.0 / m as f64).sqrt();
        for row in out.chunks_exact_mut(m) {
            row.iter_mut().zip(&self.offset).for_each(|(v, b)| *v = scale * (*v + b).cos());
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![("random_weights_", (&self.weights).into()), ("random_offset_", (&self.offset).into())]
    }

    fn check(&self) -> Result<()> {
        let fits = self.weights.is_consistent() && self.weights.rows > 0 && self.weights.cols == self.offset.len();
        if fits && !self.offset.is_empty() {
            Ok(())
        } else {
            Err(Error::shape("stored features", self.weights.cols, self.offset.len()))
        }
    }
}
