//! Bernoulli naive Bayes: columns are yes or no, `p(x | c) = prod_j p_cj^{x_j} (1 - p_cj)^{1 - x_j}`, with
//! `p_cj = (n_cj + alpha) / (n_c + 2 alpha)`, n_cj the rows of class c that have column j.
//!
//! One pass of class sums. Unlike the multinomial model it also counts what is absent: `ln p(x | c) = sum_j ln(1 -
//! p_cj) + sum_j x_j (ln p_cj - ln(1 - p_cj))`, so that sparse rows cost their stored values alone.

use super::{
    class_count,
    counts::{CountClasses, CountModel, Counts, log_priors, smoothing, unseen},
    same_classes,
};
use crate::{
    Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Passes, Result, Shape, Source, Task,
    core::{
        param::{at_least, log},
        params, reduce,
    },
};

params! {
    /// Naive Bayes for binary columns: each column is an independent Bernoulli variable within each class.
    pub struct BernoulliNB {
        /// Additive (Laplace) smoothing: added to both counts of every column and class.
        alpha: f64 = 1.0, at_least(0.0), log(1e-3, 10.0);
        /// If false, an alpha below 1e-10 is raised to 1e-10.
        force_alpha: bool = true;
        /// Values above this threshold become 1, the others 0; none if the columns are already 0 and 1.
        binarize: Option<f64> = Some(0.0);
        /// Whether to learn the class probabilities; if false they are equal.
        fit_prior: bool = true;
        /// Prior probabilities of the classes; learned from the data unless given.
        class_prior: Option<Vec<f64>> = None, at_least(0.0);
    }
}

impl Estimator for BernoulliNB {
    type Model = CountModel;

    const INFO: Info = Info {
        resume: true,
        word_counts: true,
        ..Info::new(
            "naive_bayes",
            Task::Classification,
            "max_c ln p(c) + sum_j x_j ln p_cj + (1 - x_j) ln(1 - p_cj),  p_cj = (n_cj + alpha) / (n_c + 2 alpha)",
            Passes::One,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, p, classes) = shape.sizes();
        1e-9 * (1e5 + 10.0 * n + n * p * (1.5 + 0.2 * classes) + 30.0 * p * classes)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<CountModel>> {
        self.finish(self.count(data, ctx)?)
    }

    fn learn_more(&self, model: &CountModel, data: &dyn Source, ctx: &Ctx) -> Result<Fit<CountModel>> {
        same_classes("BernoulliNB", model.counts.class.len(), &data.shape())?;
        let mut counts = model.counts.clone();
        counts.merge(&self.count(data, ctx)?);
        self.finish(counts)
    }
}

impl BernoulliNB {
    fn count(&self, data: &dyn Source, ctx: &Ctx) -> Result<Counts> {
        let (shape, model) = (data.shape(), "BernoulliNB");
        let (classes, cols, binarize) = (class_count(model, &shape)?, shape.cols, self.binarize);
        reduce(ctx, data, &CountClasses { model, classes, cols, binarize, non_negative: binarize.is_none() })
    }

    fn finish(&self, counts: Counts) -> Result<Fit<CountModel>> {
        let (k, p) = (counts.feature.rows, counts.feature.cols);
        let alpha = smoothing(self.alpha, self.force_alpha);
        let class_log_prior = log_priors("BernoulliNB", self.class_prior.as_ref(), self.fit_prior, &counts.class)?;
        let (mut feature_log_prob, mut weights) = (Matrix::zeros(k, p), Matrix::zeros(p, k));
        let mut offset = class_log_prior.clone();
        for c in 0..k {
            let total = counts.class[c] + 2.0 * alpha;
            for (j, &count) in counts.feature.row(c).iter().enumerate() {
                let (yes, no) = (count + alpha, counts.class[c] - count + alpha);
                if yes == 0.0 {
                    return Err(unseen("BernoulliNB", j, "it", c));
                }
                if no <= 0.0 {
                    let always =
                        format!("it is 1 in all rows of class {c}, and a row without it could never be of that class");
                    return Err(
                        Error::value(None, j, always).hint("set alpha of BernoulliNB above 0, or binarize the values")
                    );
                }
                let (yes, no) = ((yes / total).ln(), (no / total).ln());
                feature_log_prob[(c, j)] = yes;
                weights[(j, c)] = yes - no;
                offset[c] += no;
            }
        }
        let binarize = self.binarize;
        let model =
            CountModel { weights, offset, counts, class_log_prior, feature_log_prob, binarize, feature_all: None };
        Ok(Fit::new(model, FitLog::exact(Default::default())))
    }
}
