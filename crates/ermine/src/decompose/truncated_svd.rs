//! Truncated singular value decomposition (latent semantic analysis on word counts): `min_V sum_i ||x_i - V V'
//! x_i||^2`, V'V = I.
//!
//! PCA without centring, so that sparse rows stay sparse. The decomposition is chosen by the shape
//! (engine/spectrum.rs): sums on any source, subspace iteration until it settles for few components of many columns.

use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Model, Output, Passes, Result, Source, Task, X,
    core::{param::at_least, param::log, params, reduce, simd, stats::ColumnMoments},
    engine::spectrum::decompose,
};
use serde::{Deserialize, Serialize};

params! {
    /// Projects onto the leading singular vectors without centring; suits sparse rows such as word counts.
    pub struct TruncatedSVD {
        /// Number of components.
        n_components: usize = 2, at_least(1.0), log(2.0, 200.0);
    }
}

impl Estimator for TruncatedSVD {
    type Model = TruncatedSVDModel;

    const INFO: Info = Info {
        random: true,
        ..Info::new("decomposition", Task::Transformation, "min_V sum_i ||x_i - V V' x_i||^2,  V'V = I", Passes::Many)
    };

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<TruncatedSVDModel>> {
        let shape = data.shape();
        let k = self.n_components;
        if k > shape.cols {
            return Err(Error::Parameter {
                model: "TruncatedSVD".into(),
                name: "n_components".into(),
                value: k.to_string(),
                allowed: format!("at most the {} columns (n_features)", shape.cols),
            });
        }
        let moments = reduce(ctx, data, &ColumnMoments { cols: shape.cols })?;
        let spectrum = decompose(data, ctx, false, Some(k))?;
        // Fewer rows than components: the rest has nothing left to explain.
        let found = k.min(spectrum.squares.len());
        let mut components = Matrix::zeros(k, shape.cols);
        components.values[..found * shape.cols].copy_from_slice(&spectrum.vectors.values[..found * shape.cols]);
        let square = |a: usize| spectrum.squares.get(a).copied().unwrap_or(0.0);
        let explained: Vec<f64> = (0..k)
            .map(|a| (square(a) / moments.weight - simd::dot(&moments.mean, components.row(a)).powi(2)).max(0.0))
            .collect();
        let total = moments.scatter.iter().sum::<f64>() / moments.weight;
        let singular = (0..k).map(|a| square(a).sqrt()).collect();
        let mut log = FitLog::default();
        log.objective.push((spectrum.total - spectrum.squares.iter().take(k).sum::<f64>()).max(0.0) / moments.weight);
        log.notes.push(format!("by {}, {} passes", spectrum.method, spectrum.passes + 1));
        Ok(Fit::new(TruncatedSVDModel { components, explained, singular, total }, log))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TruncatedSVDModel {
    /// One row for each component.
    pub components: Matrix,
    /// Variance of the rows along each.
    pub explained: Vec<f64>,
    pub singular: Vec<f64>,
    /// Variance along all directions together.
    pub total: f64,
}

impl Model for TruncatedSVDModel {
    fn cols(&self) -> usize {
        self.components.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Transform, self.components.rows), (Output::Inverse, self.components.cols)]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let (k, p) = (self.components.rows, self.components.cols);
        if output == Output::Inverse {
            if x.cols() != k {
                return Err(Error::shape("x", format!("{k} columns, one for each component"), x.cols()));
            }
            x.times_matrix(&self.components.values, p, out);
        } else {
            x.times_matrix(&self.components.transposed().values, k, out);
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let share: Vec<f64> =
            self.explained.iter().map(|v| if self.total > 0.0 { v / self.total } else { 0.0 }).collect();
        vec![
            ("components_", (&self.components).into()),
            ("explained_variance_", (&self.explained).into()),
            ("explained_variance_ratio_", (&share).into()),
            ("singular_values_", (&self.singular).into()),
        ]
    }

    fn check(&self) -> Result<()> {
        let (k, p) = (self.components.rows, self.components.cols);
        let fits =
            self.components.is_consistent() && k > 0 && p > 0 && self.explained.len() == k && self.singular.len() == k;
        if fits {
            Ok(())
        } else {
            Err(Error::shape("stored components", format!("{k} x {p}"), self.components.values.len()))
        }
    }
}
