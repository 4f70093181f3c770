//! Models of how each class makes its rows, turned round by Bayes' rule: `p(class | x) ~ p(class) p(x | class)`.
//!
//! ```
//! use ermine::prelude::*;
//!
//! let petals = [[1.4, 0.2], [1.3, 0.3], [4.7, 1.4], [4.5, 1.6], [6.0, 2.5], [5.9, 2.1]];
//! let species = ["setosa", "setosa", "versicolor", "versicolor", "virginica", "virginica"];
//! let data = Data::from_rows(&petals)?.labels(&species)?;
//! let fit = GaussianNB::default().fit(&data, &Ctx::default())?;
//! assert_eq!(fit.predict_labels(&[[1.5, 0.2], [5.8, 2.2]])?, ["setosa", "virginica"]);
//! # Ok::<(), ermine::Error>(())
//! ```

mod bernoulli_nb;
mod categorical_nb;
mod class_scatter;
mod complement_nb;
mod counts;
mod gaussian_nb;
mod linear_discriminant;
mod multinomial_nb;
mod quadratic_discriminant;

pub use bernoulli_nb::BernoulliNB;
pub use categorical_nb::{CategoricalModel, CategoricalNB};
pub use complement_nb::ComplementNB;
pub use counts::{CountModel, Counts};
pub use gaussian_nb::{GaussianNB, GaussianNBModel};
pub use linear_discriminant::{LinearDiscriminantAnalysis, LinearDiscriminantModel, Shrinkage};
pub use multinomial_nb::MultinomialNB;
pub use quadratic_discriminant::{QuadraticDiscriminantAnalysis, QuadraticDiscriminantModel, QuadraticPart};

use crate::{
    Error, Output, Result,
    core::{TargetKind, simd, source::Shape},
};

/// How many classes the target has.
pub(crate) fn class_count(model: &str, shape: &Shape) -> Result<usize> {
    match shape.target {
        TargetKind::Class(classes) => Ok(classes),
        _ => Err(Error::Data(format!("{model} needs a target of classes"))),
    }
}

/// More data of the same classes, for models that go on.
pub(crate) fn same_classes(model: &str, known: usize, shape: &Shape) -> Result<()> {
    let found = class_count(model, shape)?;
    if found == known { Ok(()) } else { Err(Error::shape("target", format!("{known} classes"), found)) }
}

/// Given probabilities of the classes, checked; or, without any, the shares of the weight.
pub(crate) fn priors(model: &str, name: &str, given: Option<&Vec<f64>>, weights: &[f64]) -> Result<Vec<f64>> {
    let Some(given) = given else {
        let total: f64 = weights.iter().sum();
        return Ok(weights.iter().map(|weight| weight / total).collect());
    };
    let refused = |allowed: String| Error::Parameter {
        model: model.into(),
        name: name.into(),
        value: format!("{given:?}"),
        allowed,
    };
    if given.len() != weights.len() {
        return Err(refused(format!(
            "{} numbers, one for each class (Number of priors must match number of classes)",
            weights.len()
        )));
    }
    if (given.iter().sum::<f64>() - 1.0).abs() > 1e-8 {
        return Err(refused("probabilities that add up to 1 (The sum of the priors should be 1)".into()));
    }
    Ok(given.clone())
}

/// From `ln p(class) + ln p(x | class)` of `k` classes for each row to the output: the likeliest class or all
/// probabilities.
pub(crate) fn posterior(joint: &mut [f64], k: usize, output: Output, out: &mut [f64]) {
    if output == Output::Class {
        for (row, out) in joint.chunks_exact(k).zip(out) {
            *out = first_largest(row) as f64;
        }
        return;
    }
    simd::vectorised(
        #[inline(always)]
        || {
            for (row, out) in joint.chunks_exact_mut(k).zip(out.chunks_exact_mut(k)) {
                let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                if largest == f64::NEG_INFINITY {
                    out.fill(1.0 / k as f64);
                    continue;
                }
                let mut total = 0.0;
                for (out, score) in out.iter_mut().zip(row) {
                    *out = simd::exp(*score - largest);
                    total += *out;
                }
                out.iter_mut().for_each(|p| *p /= total);
            }
        },
    );
}

/// The place of the largest value, the first of equals.
pub(crate) fn first_largest(values: &[f64]) -> usize {
    let mut best = 0;
    for (at, &value) in values.iter().enumerate() {
        if value > values[best] {
            best = at;
        }
    }
    best
}
