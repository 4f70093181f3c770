//! Complement naive Bayes (Rennie, Shih, Teevan and Karger 2003): like the multinomial, but each class is judged by how
//! badly a row fits the rows of all other classes, which is steadier when classes have very different sizes.
//!
//! `score_c = - sum_j x_j ln p_j(not c)`, p_j(not c) the smoothed share of column j among the other classes; with
//! `norm`, the weights of each class are divided by their sum. One pass of class sums.

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
    /// Naive Bayes for counts that estimates each class from the rows of all others; suits imbalanced classes.
    pub struct ComplementNB {
        /// Additive (Laplace) smoothing: added to the count of every column and class.
        alpha: f64 = 1.0, at_least(0.0), log(1e-3, 10.0);
        /// If false, an alpha below 1e-10 is raised to 1e-10.
        force_alpha: bool = true;
        /// Whether to learn the class probabilities; affects only `class_log_prior_`, not the scores.
        fit_prior: bool = true;
        /// Prior probabilities of the classes; not used in the scores.
        class_prior: Option<Vec<f64>> = None, at_least(0.0);
        /// Whether to normalise the weights of each class.
        norm: bool = false;
    }
}

impl Estimator for ComplementNB {
    type Model = CountModel;

    const INFO: Info = Info {
        resume: true,
        non_negative: true,
        word_counts: true,
        ..Info::new(
            "naive_bayes",
            Task::Classification,
            "max_c -sum_j x_j ln q_cj,  q_cj the smoothed share of j outside class c",
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
        same_classes("ComplementNB", model.counts.class.len(), &data.shape())?;
        let mut counts = model.counts.clone();
        counts.merge(&self.count(data, ctx)?);
        self.finish(counts)
    }
}

impl ComplementNB {
    fn count(&self, data: &dyn Source, ctx: &Ctx) -> Result<Counts> {
        let (shape, model) = (data.shape(), "ComplementNB");
        let classes = class_count(model, &shape)?;
        reduce(ctx, data, &CountClasses { model, classes, cols: shape.cols, binarize: None, non_negative: true })
    }

    fn finish(&self, counts: Counts) -> Result<Fit<CountModel>> {
        let (k, p) = (counts.feature.rows, counts.feature.cols);
        let alpha = smoothing(self.alpha, self.force_alpha);
        let class_log_prior = log_priors("ComplementNB", self.class_prior.as_ref(), self.fit_prior, &counts.class)?;
        let mut all = vec![0.0; p];
        (0..k).for_each(|c| crate::core::simd::add_scaled(1.0, counts.feature.row(c), &mut all));
        let mut feature_log_prob = Matrix::zeros(k, p);
        for c in 0..k {
            let others: Vec<f64> = (0..p).map(|j| all[j] - counts.feature[(c, j)] + alpha).collect();
            if let Some(j) = others.iter().position(|&count| count <= 0.0) {
                return Err(unseen("ComplementNB", j, "it", (c + 1) % k));
            }
            let total = others.iter().sum::<f64>().ln();
            let logs: Vec<f64> = others.iter().map(|count| count.ln() - total).collect();
            let divisor = if self.norm { logs.iter().sum() } else { -1.0 };
            (0..p).for_each(|j| feature_log_prob[(c, j)] = logs[j] / divisor);
        }
        let model = CountModel {
            weights: feature_log_prob.transposed(),
            offset: vec![0.0; k],
            counts,
            class_log_prior,
            feature_log_prob,
            binarize: None,
            feature_all: Some(all),
        };
        Ok(Fit::new(model, FitLog::exact(Default::default())))
    }
}
