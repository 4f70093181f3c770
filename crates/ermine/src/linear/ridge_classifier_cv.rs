//! Classification by ridge regression ([`RidgeClassifier`](super::RidgeClassifier)) with the strength chosen by
//! cross-validation. Leaving out one row at a time has a closed form, and the strength of least squared error is
//! taken; with folds it is that of most rows put into their class. The search is RidgeCV's.

use super::{
    RidgeClassModel,
    ridge_classifier::Signs,
    ridge_cv::{self, Choice, Score},
};
use crate::{
    Array, Ctx, Estimator, Fit, Info, Model, Output, Passes, Result, Shape, Source, Task, X,
    core::{
        model::Property,
        param::{above, at_least},
        params,
    },
    engine::folds::{self, Folds},
};
use serde::{Deserialize, Serialize};

params! {
    /// Classification by ridge regression with the strength chosen by cross-validation; leave-one-out, the default,
    /// has a closed form.
    pub struct RidgeClassifierCV {
        /// Regularisation strengths to try.
        alphas: Vec<f64> = vec![0.1, 1.0, 10.0], above(0.0);
        /// Whether to fit intercepts, which are not penalised.
        fit_intercept: bool = true;
        /// Number of cross-validation folds; none for leave-one-out.
        cv: Option<usize> = None, at_least(2.0);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RidgeClassCvModel {
    pub classifier: RidgeClassModel,
    pub alpha: f64,
    /// Accuracy on held-out rows with folds, and else minus the mean squared error.
    pub best_score: f64,
}

impl Estimator for RidgeClassifierCV {
    type Model = RidgeClassCvModel;

    const INFO: Info = Info {
        multi_target: true,
        scale: true,
        not_compared: Some("LogisticRegression is as stiff and has probabilities"),
        exceptions: &[(
            Property::WeightIsRepetition,
            "leaving out a row of weight 2 leaves out what would be two rows",
        )],
        ..Info::new(
            "linear_model",
            Task::Classification,
            "min_{W,b} sum_i ||t_i - W x_i - b||^2 + alpha ||W||^2, \
             t_ik = 1 for the class of row i and -1 for the others, alpha by held-out rows",
            Passes::Many,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * ridge_cv::cost(shape, self.alphas.len(), self.cv)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<RidgeClassCvModel>> {
        let (signs, rows) = (Signs { data }, data.shape().rows);
        let folds = match self.cv {
            Some(count) => Some(Folds::given_or_turns(ctx, rows, count)?),
            None => folds::given(ctx, rows)?.map(Folds::Runs),
        };
        let score = match (&folds, signs.classes()) {
            (None, _) => Score::Squares,
            (Some(_), Some(_)) => Score::Classes,
            (Some(_), None) => Score::Labels,
        };
        let choice =
            Choice { name: "RidgeClassifierCV", alphas: &self.alphas, intercept: self.fit_intercept, folds, score };
        Ok(choice.fit(&signs, ctx)?.map(|found| RidgeClassCvModel {
            classifier: signs.model(found.linear),
            alpha: found.alpha,
            best_score: found.best_score,
        }))
    }
}

impl Model for RidgeClassCvModel {
    fn cols(&self) -> usize {
        self.classifier.cols()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        self.classifier.outputs()
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        self.classifier.predict(x, output, out)
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let mut attributes = self.classifier.attributes();
        attributes.push(("alpha_", self.alpha.into()));
        attributes.push(("best_score_", self.best_score.into()));
        attributes
    }

    fn check(&self) -> Result<()> {
        self.classifier.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Data, linear::RidgeClassifier};

    /// The strength that is chosen by folds is the one that refitting each fold by hand finds, also where rows are
    /// sorted by class.
    #[test]
    fn chooses_by_accuracy_on_held_out_rows() {
        let mut rng = Ctx::new(3).rng("rows", 0);
        let codes: Vec<u32> = (0..90).map(|i| i / 30).collect();
        let x: Vec<f64> =
            (0..360).map(|at| f64::from(codes[at / 4]) * [1.0, -0.5, 0.0, 0.2][at % 4] + rng.normal()).collect();
        let data = Data::new(X::dense(&x, 4).unwrap()).classes(&codes, 3).unwrap();
        let alphas = vec![1e-3, 3.0, 50.0, 1e3, 1e5];
        let accuracy = |alpha: f64| {
            let fold = |fold: usize| {
                let (test, train): (Vec<usize>, Vec<usize>) = (0..90).partition(|i| i % 5 == fold);
                let params = RidgeClassifier { alpha, ..Default::default() };
                let fit = params.fit(&data.take(&train).unwrap(), &Ctx::new(0)).unwrap();
                let mut said = vec![0.0; test.len()];
                fit.model.predict(&data.take(&test).unwrap().batch().x, Output::Class, &mut said).unwrap();
                let right = said.iter().zip(&test).filter(|(said, i)| **said == f64::from(codes[**i])).count();
                right as f64 / test.len() as f64
            };
            (0..5).map(fold).sum::<f64>() / 5.0
        };
        let by_hand: Vec<f64> = alphas.iter().map(|&alpha| accuracy(alpha)).collect();
        let best = by_hand.iter().copied().fold(0.0, f64::max);
        let fit = RidgeClassifierCV { alphas: alphas.clone(), cv: Some(5), ..Default::default() };
        let fit = fit.fit(&data, &Ctx::new(0)).unwrap();
        assert!((fit.model.best_score - best).abs() < 1e-12, "{} and {by_hand:?}", fit.model.best_score);
        let chosen = alphas.iter().position(|alpha| *alpha == fit.model.alpha).unwrap();
        assert_eq!(chosen, by_hand.iter().position(|score| *score == best).unwrap());
        assert!(by_hand.iter().any(|score| *score < best), "{by_hand:?}");
    }
}
