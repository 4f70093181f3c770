//! Every category becomes its number among the categories in increasing order: `z_j = |{c : c < x_j}|`. One sum over
//! rows.

use super::{columns::fill, levels, one_hot_encoder::categories_attribute};
use crate::{
    Array, Certificate, Ctx, Estimator, Fit, FitLog, Info, Model, Output, Passes, Result, Source, Task, X,
    core::{choice, param::any, params},
};
use serde::{Deserialize, Serialize};

choice! {
    /// What to do with a category that was not seen in fitting.
    pub enum OrdinalUnknown {
        /// Raise an error.
        Error = "error",
        /// Write `unknown_value`.
        Encoded = "use_encoded_value",
    }
}

params! {
    /// Encodes categories as the integers 0, 1, 2, ... in their order.
    pub struct OrdinalEncoder {
        /// What to do with a category that was not seen in fitting.
        handle_unknown: OrdinalUnknown = OrdinalUnknown::Error;
        /// Code of unknown categories.
        unknown_value: f64 = -1.0, any();
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrdinalModel {
    /// Categories of every column in increasing order; NaN stays NaN and has no number.
    pub categories: Vec<Vec<f64>>,
    /// The number of a category that was not seen; none if such rows are refused.
    pub unknown: Option<f64>,
}

impl Estimator for OrdinalEncoder {
    type Model = OrdinalModel;

    const INFO: Info = Info {
        missing: true,
        categories: true,
        // Which categories there are does not depend on weights.
        weights: false,
        ..Info::new("preprocessing", Task::Transformation, "z_j = |{c : c < x_j}|", Passes::One)
    };

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<OrdinalModel>> {
        let levels = levels::levels(data, ctx)?;
        let numbers = |levels: &Vec<(f64, f64)>| levels.iter().map(|l| l.0).filter(|l| !l.is_nan()).collect();
        let unknown = (self.handle_unknown == OrdinalUnknown::Encoded).then_some(self.unknown_value);
        let model = OrdinalModel { categories: levels.iter().map(numbers).collect(), unknown };
        Ok(Fit::new(model, FitLog::exact(Certificate::None)))
    }
}

impl Model for OrdinalModel {
    fn cols(&self) -> usize {
        self.categories.len()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Transform, self.categories.len()), (Output::Inverse, self.categories.len())]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let cols = self.categories.len();
        for (i, (row, out)) in x.iter().zip(out.chunks_exact_mut(cols)).enumerate() {
            fill(&row, out);
            for (j, out) in out.iter_mut().enumerate().filter(|(_, out)| !out.is_nan()) {
                *out = match (output, levels::find(&self.categories[j], *out), self.unknown) {
                    (Output::Inverse, _, _) => self.categories[j].get(*out as usize).copied().unwrap_or(f64::NAN),
                    (_, Some(number), _) => number as f64,
                    (_, None, Some(value)) => value,
                    (_, None, None) => return Err(levels::unknown(i, j, *out)),
                };
            }
        }
        Ok(())
    }

    fn feature_names(&self, input: &[String]) -> Option<Vec<String>> {
        Some(input.to_vec())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        categories_attribute(&self.categories)
    }

    fn check(&self) -> Result<()> {
        levels::check(&self.categories)
    }
}
