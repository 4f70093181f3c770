//! What clustering shows of its steps.

use super::gaussian_mixture::{Covariance, Mixture, predict_mixture};
use crate::{Matrix, Output, Source, core::trace};

/// Centres with the cluster of each row and the sum of squared distances.
pub fn centres(centres: &Matrix, labels: impl Iterator<Item = i64>, inertia: f64) -> Vec<(&'static str, Matrix)> {
    let labels = trace::column(labels.map(|label| label as f64));
    vec![("centres", centres.clone()), ("labels", labels), ("inertia", trace::number(inertia))]
}

/// A mixture with its bound and, where the rows are at hand, the share of each component in each of them.
pub fn mixture(params: &Mixture, bound: f64, data: &dyn Source) -> Vec<(&'static str, Matrix)> {
    let (k, held) = (params.weights.len(), params.covariances.len());
    // Tied components share one row.
    let rows = if params.covariance_type == Covariance::Tied { 1 } else { k };
    let mut values = vec![
        ("means", params.means.clone()),
        ("covariances", Matrix::new(params.covariances.clone(), rows, held / rows)),
        ("weights", trace::column(params.weights.iter().copied())),
        ("bound", trace::number(bound)),
    ];
    if let Ok(batch) = data.in_memory("GaussianMixture", "its steps are recorded") {
        let mut shares = Matrix::zeros(batch.rows(), k);
        if predict_mixture(params, &params.constants(), &batch.x, Output::Probability, &mut shares.values).is_ok() {
            values.push(("responsibilities", shares));
        }
    }
    values
}
