//! Multinomial naive Bayes: rows are counts (of words), `p(x | c) ~ prod_j p_cj^{x_j}`, with `p_cj = (n_cj + alpha) /
//! (n_c + alpha p)`, n_cj the count of column j in class c (Laplace's rule for alpha = 1, Lidstone's below).
//!
//! One pass of class sums. `feature_log_prob_` is the weight of each word in each class. A column that a class has
//! never seen and that is not smoothed is refused by name instead of turning into minus infinity.

use super::{
    class_count,
    counts::{CountClasses, CountModel, Counts, log_priors, smoothing, unseen},
    same_classes,
};
use crate::{
    Ctx, Estimator, Fit, FitLog, Info, Matrix, Passes, Result, Shape, Source, Task,
    core::{
        param::{at_least, log},
        params, reduce,
    },
};

params! {
    /// Naive Bayes for counts, such as word counts of documents.
    pub struct MultinomialNB {
        /// Additive (Laplace) smoothing: added to the count of every column and class, so that no probability is zero.
        alpha: f64 = 1.0, at_least(0.0), log(1e-3, 10.0);
        /// If false, an alpha below 1e-10 is raised to 1e-10.
        force_alpha: bool = true;
        /// Whether to learn the class probabilities; if false they are equal.
        fit_prior: bool = true;
        /// Prior probabilities of the classes; learned from the data unless given.
        class_prior: Option<Vec<f64>> = None, at_least(0.0);
    }
}

impl Estimator for MultinomialNB {
    type Model = CountModel;

    const INFO: Info = Info {
        resume: true,
        non_negative: true,
        word_counts: true,
        ..Info::new(
            "naive_bayes",
            Task::Classification,
            "max_c ln p(c) + sum_j x_j ln p_cj,  p_cj = (n_cj + alpha) / sum_j (n_cj + alpha)",
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
        same_classes("MultinomialNB", model.counts.class.len(), &data.shape())?;
        let mut counts = model.counts.clone();
        counts.merge(&self.count(data, ctx)?);
        self.finish(counts)
    }
}

impl MultinomialNB {
    fn count(&self, data: &dyn Source, ctx: &Ctx) -> Result<Counts> {
        let (shape, model) = (data.shape(), "MultinomialNB");
        let classes = class_count(model, &shape)?;
        reduce(ctx, data, &CountClasses { model, classes, cols: shape.cols, binarize: None, non_negative: true })
    }

    fn finish(&self, counts: Counts) -> Result<Fit<CountModel>> {
        let (k, p) = (counts.feature.rows, counts.feature.cols);
        let alpha = smoothing(self.alpha, self.force_alpha);
        let class_log_prior = log_priors("MultinomialNB", self.class_prior.as_ref(), self.fit_prior, &counts.class)?;
        let mut feature_log_prob = Matrix::zeros(k, p);
        for c in 0..k {
            let total = (counts.feature.row(c).iter().sum::<f64>() + alpha * p as f64).ln();
            for (j, count) in counts.feature.row(c).iter().enumerate() {
                if count + alpha == 0.0 {
                    return Err(unseen("MultinomialNB", j, "it", c));
                }
                feature_log_prob[(c, j)] = (count + alpha).ln() - total;
            }
        }
        let model = CountModel {
            weights: feature_log_prob.transposed(),
            offset: class_log_prior.clone(),
            counts,
            class_log_prior,
            feature_log_prob,
            binarize: None,
            feature_all: None,
        };
        Ok(Fit::new(model, FitLog::exact(Default::default())))
    }
}
