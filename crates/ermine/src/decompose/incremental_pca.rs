//! Principal components of rows that come in parts: `min_V sum_i w_i ||x_i - m - V V' (x_i - m)||^2` over all rows seen
//! so far.
//!
//! The scatter matrix is a sum, so that the model keeps it (p x p numbers) and a later part adds to it (Chan, Golub and
//! LeVeque 1983). The components after any number of parts are those of all rows together, not an approximation, and do
//! not depend on how the rows were cut. Cost O(n p^2 + p^3) for each part. For more columns than their square fits into
//! memory, PCA itself reads rows from disk.

use super::pca::{PCAModel, check_weight};
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Info, Model, Output, Passes, Result, Source, Task, X,
    core::{
        param::at_least,
        params, reduce,
        stats::{CrossProducts, Gram},
    },
    engine::spectrum::from_gram,
};
use serde::{Deserialize, Serialize};

params! {
    /// Principal component analysis of rows that arrive in parts.
    pub struct IncrementalPCA {
        /// Number of components to keep; all unless given.
        n_components: Option<usize> = None, at_least(1.0);
        /// Whether to scale the components to unit variance.
        whiten: bool = false;
        /// Accepted for scikit-learn compatibility; ignored, because the result does not depend on the batches.
        batch_size: Option<usize> = None, at_least(1.0);
    }
}

impl Estimator for IncrementalPCA {
    type Model = IncrementalPCAModel;

    const INFO: Info = Info {
        scale: true,
        resume: true,
        ..Info::new(
            "decomposition",
            Task::Transformation,
            "min_V sum_i ||x_i - m - V V' (x_i - m)||^2,  V'V = I",
            Passes::One,
        )
    };

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<IncrementalPCAModel>> {
        self.finish(reduce(ctx, data, &CrossProducts { cols: data.shape().cols, targets: 0 })?)
    }

    fn learn_more(
        &self,
        model: &IncrementalPCAModel,
        data: &dyn Source,
        ctx: &Ctx,
    ) -> Result<Fit<IncrementalPCAModel>> {
        let mut gram = model.gram.clone();
        gram.merge(reduce(ctx, data, &CrossProducts { cols: data.shape().cols, targets: 0 })?);
        self.finish(gram)
    }
}

impl IncrementalPCA {
    fn finish(&self, gram: Gram) -> Result<Fit<IncrementalPCAModel>> {
        let (rows, cols) = (gram.rows, gram.mean.len());
        if rows < 2 {
            return Err(Error::Data(
                "IncrementalPCA: one row (1 sample) has no variance, and at least 2 are needed".into(),
            ));
        }
        check_weight("IncrementalPCA", gram.weight)?;
        let most = rows.max(gram.weight.round() as usize).min(cols);
        let count = self.n_components.unwrap_or(most);
        if count > most {
            return Err(Error::Parameter {
                model: "IncrementalPCA".into(),
                name: "n_components".into(),
                value: count.to_string(),
                allowed: format!(
                    "at most {most}, the smaller of the rows so far (n_samples) and the columns (n_features)"
                ),
            });
        }
        let mut spectrum = from_gram(&gram, rows, true)?;
        spectrum.complete(count);
        let pca = PCAModel::new(spectrum, most, self.whiten);
        let mut log = FitLog::exact(Default::default());
        log.objective.push(pca.reconstruction_error() * (gram.weight - 1.0) / gram.weight);
        Ok(Fit::new(IncrementalPCAModel { pca, gram }, log))
    }
}

/// The components, and the sums from which a later part goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IncrementalPCAModel {
    pub pca: PCAModel,
    pub gram: Gram,
}

impl Model for IncrementalPCAModel {
    fn cols(&self) -> usize {
        Model::cols(&self.pca)
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        Model::outputs(&self.pca)
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        Model::predict(&self.pca, x, output, out)
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let gram = &self.gram;
        let variance: Vec<f64> = (0..gram.mean.len()).map(|j| gram.scatter[(j, j)] / gram.weight).collect();
        let mut attributes = Model::attributes(&self.pca);
        attributes.extend([("var_", (&variance).into()), ("n_samples_seen_", gram.rows.into())]);
        attributes
    }

    fn check(&self) -> Result<()> {
        let p = self.gram.mean.len();
        let scatter = &self.gram.scatter;
        if !scatter.is_consistent() || (scatter.rows, scatter.cols) != (p, p) || self.pca.mean.len() != p {
            return Err(Error::shape("stored sums", format!("{p} x {p}"), scatter.values.len()));
        }
        self.pca.check()
    }
}
