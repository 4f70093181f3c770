//! Classification by ridge regression: `min_{W,b} sum_i w_i ||t_i - W x_i - b||^2 + alpha ||W||^2`, where t_ik is 1
//! for the class of row i and -1 for the others; two classes have one score, that of the second. The class with the
//! largest score is predicted. Where a row may have several labels, each is a problem of its own, and a label is
//! predicted where its score is above 0. The work is in [`least_squares`]: one pass over the rows for any number of
//! classes.
//!
//! Scores are no probabilities: LogisticRegression has those.

use super::{LinearModel, model::class_of};
use crate::{
    Array, Ctx, Error, Estimator, Fit, Info, Model, Output, Passes, Result, Shape, Source, Target, Task, X,
    core::{
        Batch, Feature, TargetKind,
        param::{at_least, log},
        params,
        source::Buffers,
    },
    engine::{least_squares, non_negative},
};
use serde::{Deserialize, Serialize};
use std::ops::Range;

params! {
    /// Classification by ridge regression on targets of -1 and 1, one class against the rest: a closed form, and fast
    /// for many classes.
    pub struct RidgeClassifier {
        /// Regularisation strength; 0 is ordinary least squares.
        alpha: f64 = 1.0, at_least(0.0), log(1e-4, 1e4);
        /// Whether to fit intercepts, which are not penalised.
        fit_intercept: bool = true;
        /// Whether coefficients are constrained to be non-negative.
        positive: bool = false;
    }
}

impl Estimator for RidgeClassifier {
    type Model = RidgeClassModel;

    const INFO: Info = Info {
        multi_target: true,
        scale: true,
        not_compared: Some("LogisticRegression is as stiff and has probabilities"),
        ..Info::new(
            "linear_model",
            Task::Classification,
            "min_{W,b} sum_i ||t_i - W x_i - b||^2 + alpha ||W||^2, \
             t_ik = 1 for the class of row i and -1 for the others",
            Passes::One,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * least_squares::cost(shape)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<RidgeClassModel>> {
        let signs = Signs { data };
        let fit = if self.positive { non_negative::fit } else { least_squares::fit };
        Ok(fit(&signs, ctx, self.alpha, self.fit_intercept)?.map(|linear| signs.model(linear)))
    }
}

/// The same rows with a target of -1 and 1 for each class, of the second one alone for two, or for each label.
pub(super) struct Signs<'a> {
    pub data: &'a dyn Source,
}

impl Signs<'_> {
    pub fn model(&self, linear: LinearModel) -> RidgeClassModel {
        RidgeClassModel { linear, classes: self.classes() }
    }

    /// How many classes there are; none where a row may have several labels.
    pub fn classes(&self) -> Option<usize> {
        match self.data.shape().target {
            TargetKind::Class(classes) => Some(classes),
            _ => None,
        }
    }
}

impl Source for Signs<'_> {
    fn shape(&self) -> Shape {
        let shape = self.data.shape();
        let targets = match shape.target {
            TargetKind::None => 0,
            TargetKind::Real(labels) => labels,
            TargetKind::Class(classes) => scores_of(classes),
        };
        Shape { target: TargetKind::Real(targets), ..shape }
    }

    fn held(&self) -> Range<usize> {
        self.data.held()
    }

    fn read<'a>(&'a self, rows: Range<usize>, buffers: &'a mut Buffers) -> Result<Batch<'a>> {
        let Buffers { below, y: signs, .. } = buffers;
        let batch = self.data.read(rows, below.get_or_insert_default())?;
        let sign = |yes: bool| if yes { 1.0 } else { -1.0 };
        signs.clear();
        let targets = match batch.y {
            Target::None => return Err(Error::Data("a classifier needs a target".into())),
            Target::Real { values, cols } => {
                signs.extend(values.iter().map(|&label| sign(label > 0.0)));
                cols
            }
            Target::Class { codes, classes } => {
                let first = if classes == 2 { 1 } else { 0 };
                codes.iter().for_each(|&code| signs.extend((first..classes as u32).map(|class| sign(class == code))));
                scores_of(classes)
            }
        };
        Ok(Batch { y: Target::Real { values: signs, cols: targets }, ..batch })
    }

    fn features(&self) -> &[Feature] {
        self.data.features()
    }
}

/// One score is enough for two classes.
fn scores_of(classes: usize) -> usize {
    if classes == 2 { 1 } else { classes }
}

/// A score for each class, one alone for two; or for each label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RidgeClassModel {
    pub linear: LinearModel,
    /// None where a row may have several labels.
    pub classes: Option<usize>,
}

impl Model for RidgeClassModel {
    fn cols(&self) -> usize {
        self.linear.cols()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        let scores = self.linear.coef.rows;
        vec![(Output::Class, self.classes.map_or(scores, |_| 1)), (Output::Decision, scores)]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        if output == Output::Decision {
            return self.linear.predict(x, Output::Value, out);
        }
        let k = self.linear.coef.rows;
        let mut scores = vec![0.0; x.rows() * k];
        self.linear.predict(x, Output::Value, &mut scores)?;
        let each = if self.classes.is_some() { k } else { 1 };
        out.iter_mut().zip(scores.chunks_exact(each)).for_each(|(out, scores)| *out = class_of(scores) as f64);
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![("coef_", (&self.linear.coef).into()), ("intercept_", (&self.linear.intercept).into())]
    }

    fn check(&self) -> Result<()> {
        self.linear.check()?;
        match self.classes {
            Some(classes) if classes < 2 || self.linear.coef.rows != scores_of(classes) => Err(Error::shape(
                "stored coefficients",
                format!("a score for {classes} classes"),
                self.linear.coef.rows,
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Data, linear::Ridge};

    /// Each score is the ridge regression of its class's signs, and the largest one decides.
    #[test]
    fn scores_are_ridge_regressions() {
        let x: Vec<f64> = (0..60).map(|i| ((i * 37) % 23) as f64 - 0.1 * i as f64).collect();
        let rows = || Data::new(X::dense(&x, 3).unwrap());
        let codes: Vec<u32> = (0..20).map(|i| (i * 7 % 3) as u32).collect();
        let params = RidgeClassifier { alpha: 0.5, ..Default::default() };
        let fit = params.fit(&rows().classes(&codes, 3).unwrap(), &Ctx::new(0)).unwrap();
        for class in 0..3 {
            let signs: Vec<f64> = codes.iter().map(|&code| if code == class { 1.0 } else { -1.0 }).collect();
            let ridge = Ridge { alpha: 0.5, ..Default::default() };
            let one = ridge.fit(&rows().real(&signs).unwrap(), &Ctx::new(0)).unwrap();
            for (a, b) in fit.model.linear.coef.row(class as usize).iter().zip(&one.model.coef.values) {
                assert!((a - b).abs() < 1e-12, "{a} and {b}");
            }
        }
        // Labels of which a row may have several are the same problems.
        let labels: Vec<f64> =
            codes.iter().flat_map(|&code| (0..3).map(move |k| f64::from(u8::from(k == code)))).collect();
        let several = params.fit(&rows().reals(&labels, 3).unwrap(), &Ctx::new(0)).unwrap();
        assert_eq!(several.model.linear, fit.model.linear);
        assert_eq!(several.model.outputs()[0], (Output::Class, 3));
    }
}
