//! Logistic regression with the strength and mix of its penalty chosen by cross-validation, then fitted on all rows.
//!
//! Unless the caller brings folds, a row belongs to the fold of its number modulo the number of folds: every fold has
//! its share of
//! every class when rows are in random order and when they are sorted by class. Within a fold, strengths are fitted
//! from strong to
//! weak, each from the one before. Each fold is the same source with the weight of the held-out rows at zero, so that
//! nothing is
//! copied and any source will do.

use super::{LogisticModel, LogisticRegression, logistic_regression::Prepared, net::Alphas};
use crate::{
    Array, Ctx, Error, Estimator, Fit, Info, Matrix, Model, Output, Passes, Result, Shape, Source, Task, X,
    core::{
        Batch, Feature, Reduce, Sweep,
        ctx::Progress,
        memory,
        model::Property,
        param::{above, at_least, between},
        params, reduce,
        source::Buffers,
        sweep,
    },
    engine::folds::Folds,
};
use serde::{Deserialize, Serialize};
use std::ops::Range;

params! {
    /// Logistic regression with the penalty chosen by cross-validated accuracy.
    pub struct LogisticRegressionCV {
        /// Number of values of C to try between 1e-4 and 1e4, or the values themselves.
        Cs: Alphas = Alphas::Count(10);
        /// L1 ratios to try.
        l1_ratios: Vec<f64> = vec![0.0], between(0.0, 1.0);
        /// Whether to fit intercepts, which are not penalised.
        fit_intercept: bool = true;
        /// Number of cross-validation folds.
        cv: usize = 5, at_least(2.0);
        /// Stop when the objective is proven to be this close to its optimum, relative to it.
        tol: f64 = 1e-6, above(0.0);
        /// Maximum number of iterations of each fit.
        max_iter: usize = 300, at_least(1.0);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogisticCvModel {
    pub logistic: LogisticModel,
    pub c: f64,
    pub l1_ratio: f64,
    pub cs: Vec<f64>,
    /// Accuracy, (shares x strengths) x folds.
    pub scores: Matrix,
}

impl Estimator for LogisticRegressionCV {
    type Model = LogisticCvModel;

    const INFO: Info = Info {
        scale: true,
        exceptions: &[(Property::WeightIsRepetition, "folds are cut by row number, so repeated rows give other folds")],
        not_compared: Some("the search tunes LogisticRegression"),
        ..Info::new(
            "linear_model",
            Task::Classification,
            "min_{W,b} C sum_i log sum_k exp(s_ik - s_iy) + (1 - r)/2 ||W||^2 + r ||W||_1, C and r by cross-validation",
            Passes::Many,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let one = LogisticRegression { max_iter: self.max_iter, ..Default::default() };
        // Each strength starts from the one before.
        let fits = 0.5 * (self.cv * self.Cs.count() * self.l1_ratios.len()) as f64 + 1.0;
        fits * Estimator::cost(&one, shape)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<LogisticCvModel>> {
        let tried = self.Cs.count();
        memory::check(
            "LogisticRegressionCV",
            &format!("Cs={tried}"),
            &[tried, self.l1_ratios.len().max(1), self.cv + 1],
            8,
        )?;
        let mut cs = match &self.Cs {
            Alphas::Count(1) => vec![1.0],
            Alphas::Count(count) => {
                (0..*count).map(|i| 10f64.powf(-4.0 + 8.0 * i as f64 / (count - 1) as f64)).collect()
            }
            Alphas::List(list) => list.clone(),
        };
        cs.sort_by(f64::total_cmp);
        cs.retain(|c| *c > 0.0);
        if cs.is_empty() || self.l1_ratios.is_empty() {
            return Err(Error::Data("LogisticRegressionCV: there is no penalty to choose from".into()));
        }
        let cut = Folds::given_or_turns(ctx, data.shape().rows, self.cv)?;
        let folds = cut.count();
        let params = |c: f64, l1_ratio: f64| LogisticRegression {
            C: c,
            l1_ratio,
            fit_intercept: self.fit_intercept,
            tol: self.tol,
            max_iter: self.max_iter,
        };
        let mut given = vec![0.0; data.held().len()];
        sweep(ctx, data, &Weights, &mut given)?;
        let mut scores = Matrix::zeros(cs.len() * self.l1_ratios.len(), folds);
        for fold in 0..folds {
            let first = data.held().start;
            let kept = |i: usize| cut.of(first + i) != fold;
            let weights = given.iter().enumerate().map(|(i, &w)| if kept(i) { w } else { 0.0 }).collect();
            let part = Reweighted { data, weights };
            let prepared = Prepared::new(&part, ctx)?;
            if !prepared.has_two_classes() {
                return Err(Error::Data(format!("without fold {fold} there is only one class to train on")));
            }
            for (r, &l1_ratio) in self.l1_ratios.iter().enumerate() {
                let mut before: Option<LogisticModel> = None;
                for (i, &c) in cs.iter().enumerate() {
                    let fit = prepared.fit(&params(c, l1_ratio), before.as_ref())?;
                    let hits = reduce(ctx, data, &Hits { model: &fit.model, held: |row| cut.of(row) == fold })?;
                    scores[(r * cs.len() + i, fold)] = if hits.1 > 0.0 { hits.0 / hits.1 } else { 0.0 };
                    before = Some(fit.model);
                }
            }
            ctx.progress(Progress { what: "fold", step: fold + 1, of: Some(folds), value: None });
        }
        let mean = |i: usize| scores.row(i).iter().sum::<f64>() / folds as f64;
        // Of equals the first: the strongest penalty.
        let best = (0..scores.rows).fold(0, |best, i| if mean(i) > mean(best) { i } else { best });
        let (c, l1_ratio) = (cs[best % cs.len()], self.l1_ratios[best / cs.len()]);
        let fit = params(c, l1_ratio).fit(data, ctx)?;
        Ok(fit.map(|logistic| LogisticCvModel { logistic, c, l1_ratio, cs, scores }))
    }
}

/// Copies the weight of every row.
struct Weights;

impl Sweep for Weights {
    type Stat = ();
    type Cell = f64;

    fn zero(&self) {}

    fn add(&self, (): &mut (), batch: &Batch, cells: &mut [f64]) -> Result<()> {
        cells.iter_mut().enumerate().for_each(|(i, cell)| *cell = batch.weight(i));
        Ok(())
    }

    fn merge(&self, (): &mut (), (): ()) {}
}

/// Weight of the held-out rows that a model gets right, and of all of them.
struct Hits<'a, H> {
    model: &'a LogisticModel,
    held: H,
}

impl<H: Fn(usize) -> bool + Sync> Reduce for Hits<'_, H> {
    type Stat = (f64, f64);

    fn zero(&self) -> (f64, f64) {
        (0.0, 0.0)
    }

    fn add(&self, stat: &mut (f64, f64), batch: &Batch) -> Result<()> {
        let mut class = vec![0.0; batch.rows()];
        self.model.predict(&batch.x, Output::Class, &mut class)?;
        for (i, &code) in batch.y.codes().iter().enumerate() {
            if (self.held)(batch.first + i) {
                stat.0 += if class[i] == f64::from(code) { batch.weight(i) } else { 0.0 };
                stat.1 += batch.weight(i);
            }
        }
        Ok(())
    }

    fn merge(&self, left: &mut (f64, f64), right: (f64, f64)) {
        left.0 += right.0;
        left.1 += right.1;
    }
}

/// The same rows with other weights.
struct Reweighted<'a> {
    data: &'a dyn Source,
    /// Of the rows held here.
    weights: Vec<f64>,
}

impl Source for Reweighted<'_> {
    fn shape(&self) -> Shape {
        Shape { weighted: true, ..self.data.shape() }
    }

    fn held(&self) -> Range<usize> {
        self.data.held()
    }

    fn read<'a>(&'a self, rows: Range<usize>, buffers: &'a mut Buffers) -> Result<Batch<'a>> {
        let first = self.data.held().start;
        let weights = &self.weights[rows.start - first..rows.end - first];
        Ok(Batch { weights: Some(weights), ..self.data.read(rows, buffers)? })
    }

    fn memory(&self) -> Option<Batch<'_>> {
        Some(Batch { weights: Some(&self.weights), ..self.data.memory()? })
    }

    fn features(&self) -> &[Feature] {
        self.data.features()
    }
}

impl Model for LogisticCvModel {
    fn cols(&self) -> usize {
        self.logistic.cols()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        self.logistic.outputs()
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        self.logistic.predict(x, output, out)
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let mut attributes = self.logistic.attributes();
        attributes.push(("C_", self.c.into()));
        attributes.push(("l1_ratio_", self.l1_ratio.into()));
        attributes.push(("Cs_", (&self.cs).into()));
        attributes.push(("scores_", (&self.scores).into()));
        attributes
    }

    fn check(&self) -> Result<()> {
        self.logistic.check()?;
        if !self.scores.is_consistent() {
            return Err(Error::shape("stored scores", "strengths x folds", self.scores.values.len()));
        }
        Ok(())
    }
}
