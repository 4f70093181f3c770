//! Bagging: the mean of models fitted to samples of the rows and columns (Breiman 1996). Any model of the list will do.
//!
//! A sample of rows is a weight for each row where the base takes weights, a copy where it does not. Members are fitted
//! from the random stream of their number. Rows that a member did not see judge it (out-of-bag).

use super::common::{Amount, check_draws, weights};
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Flexibility, Info, Matrix, Model, Output, Params, Passes, Result, Shape,
    Source, Spec, Target, Task, X,
    core::{
        Batch,
        ctx::Progress,
        memory,
        model::Property,
        param::{at_least, log},
        params, rng,
    },
    engine::nested::{self, Member, Subset, classes_of, reweighted},
    engine::tree::first_largest,
    entry,
};
use serde::{Deserialize, Serialize};

macro_rules! bagging {
    ($name:ident, $doc:literal, $base:literal, $task:expr, $better:literal) => {
        params! {
            #[doc = $doc]
            pub struct $name {
                /// The model to fit on each sample; none for a decision tree.
                estimator: Option<Spec> = None;
                /// Number of models.
                n_estimators: usize = 10, at_least(1.0), log(10.0, 200.0);
                /// Number of rows in a sample: a count or a fraction.
                max_samples: Amount = Amount::Share(1.0);
                /// Number of columns in a sample: a count or a fraction.
                max_features: Amount = Amount::Share(1.0);
                /// Whether to draw rows with replacement.
                bootstrap: bool = true;
                /// Whether to draw columns with replacement.
                bootstrap_features: bool = false;
                /// Whether to compute the score on out-of-bag rows.
                oob_score: bool = false;
            }
        }

        impl Estimator for $name {
            type Model = BaggingModel;

            const INFO: Info = Info {
                missing: true,
                categories: true,
                random: true,
                exceptions: &[(
                    Property::WeightIsRepetition,
                    "rows are drawn at random, and a repeated row is drawn more often than a heavy one",
                )],
                flexibility: Flexibility::Ensemble,
                not_compared: Some($better),
                ..Info::new(
                    "ensemble",
                    $task,
                    "f(x) = 1/T sum_t f_t(x), f_t fitted to a sample",
                    Passes::Memory(REASON),
                )
            };

            fn takes(&self) -> Info {
                nested::taken(Info { passes: self.passes(), ..Self::INFO }, self.estimator.as_slice())
            }

            fn cost(&self, shape: &Shape) -> f64 {
                let base = self.estimator.clone().unwrap_or_else(|| Spec::new($base));
                let rows = self.max_samples.of(shape.rows).clamp(1, shape.rows.max(1));
                let cols = self.max_features.of(shape.cols).clamp(1, shape.cols.max(1));
                self.n_estimators as f64 * nested::cost(&base, &Shape { rows, cols, ..shape.clone() })
            }

            fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<BaggingModel>> {
                let base = self.estimator.clone().unwrap_or_else(|| Spec::new($base));
                let plan = BaggingSettings {
                    name: Self::NAME,
                    base,
                    task: $task,
                    members: self.n_estimators,
                    rows: self.max_samples,
                    columns: self.max_features,
                    replace_rows: self.bootstrap,
                    replace_columns: self.bootstrap_features,
                    oob: self.oob_score,
                };
                plan.fit(data, ctx)
            }
        }
    };
}

const REASON: &str = "every member is fitted to a sample of all rows";

bagging!(
    BaggingClassifier,
    "Averages models fitted on random samples of rows and columns, which reduces the variance of unstable models.",
    "DecisionTreeClassifier",
    Task::Classification,
    "RandomForestClassifier is its better form"
);
bagging!(
    BaggingRegressor,
    "Averages models fitted on random samples of rows and columns, which reduces the variance of unstable models.",
    "DecisionTreeRegressor",
    Task::Regression,
    "RandomForestRegressor is its better form"
);

struct BaggingSettings {
    name: &'static str,
    base: Spec,
    task: Task,
    members: usize,
    rows: Amount,
    columns: Amount,
    replace_rows: bool,
    replace_columns: bool,
    oob: bool,
}

impl BaggingSettings {
    fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<BaggingModel>> {
        let batch = data.in_memory(self.name, REASON)?;
        ctx.check()?;
        if self.oob && !self.replace_rows {
            return Err(Error::Parameter {
                model: self.name.into(),
                name: "oob_score".into(),
                value: "true".into(),
                allowed: "false without bootstrap".into(),
            });
        }
        let asked = format!("n_estimators={}", self.members);
        memory::check(self.name, &asked, &[self.members], 2 * size_of::<(Bagged, Vec<u32>)>())?;
        check_draws(self.name, if self.replace_rows { self.rows.of(batch.rows()) } else { 0 }, batch.rows())?;
        let classes = match batch.y {
            Target::Class { classes, .. } => classes,
            _ => 0,
        };
        let (n, cols, own) = (batch.rows(), batch.x.cols(), weights(&batch));
        let takes_weights = entry(&self.base.name)?.info.weights;
        let features = data.features();
        let member = |number: u64| -> Result<(Bagged, Vec<u32>)> {
            ctx.check()?;
            let ctx = ctx.child("member", number);
            let counts = draw(
                &ctx,
                "rows",
                n,
                self.rows.of(n).clamp(1, if self.replace_rows { usize::MAX } else { n }),
                self.replace_rows,
            );
            let wanted = self.columns.of(cols).clamp(1, cols);
            let drawn = draw(&ctx, "columns", cols, wanted, self.replace_columns);
            let columns: Vec<u32> = (0..cols).flat_map(|j| std::iter::repeat_n(j as u32, drawn[j] as usize)).collect();
            let all = columns.len() == cols && columns.iter().enumerate().all(|(j, &column)| j == column as usize);
            let sampled: Vec<f64> = own.iter().zip(&counts).map(|(w, &count)| w * f64::from(count)).collect();
            let seen = sampled.iter().any(|w| *w > 0.0);
            let fitted = if all && takes_weights && seen {
                Member::fit(self.name, &self.base, self.task, &reweighted(&batch, features, &sampled)?, &ctx)?
            } else {
                let rows: Vec<u32> = (0..n).flat_map(|i| std::iter::repeat_n(i as u32, counts[i] as usize)).collect();
                let part = Subset::new(&batch, features, &rows, Some(&columns));
                Member::fit(self.name, &self.base, self.task, &part.data(&batch.y)?, &ctx)?
            };
            Ok((Bagged { member: fitted, columns: if all { vec![] } else { columns } }, counts))
        };
        let fitted: Vec<(Bagged, Vec<u32>)> = ctx.map(self.members, |i| member(i as u64))?;
        ctx.progress(Progress { what: "members", step: self.members, of: Some(self.members), value: None });
        let mut rows = Vec::new();
        let mut score = None;
        if self.oob {
            let (predicted, value) = out_of_bag(&fitted, &batch, classes)?;
            let name = if classes > 0 { "oob_decision_function_" } else { "oob_prediction_" };
            rows.push((name, (&predicted).into()));
            score = value;
        }
        let model = BaggingModel {
            cols,
            classes,
            members: fitted.into_iter().map(|(member, _)| member).collect(),
            oob_score: score,
        };
        let log = FitLog::members(self.members);
        Ok(Fit { rows, ..Fit::new(model, log) })
    }
}

/// How often each of `n` is drawn.
fn draw(ctx: &Ctx, what: &str, n: usize, draws: usize, replace: bool) -> Vec<u32> {
    if !replace && draws >= n {
        return vec![1; n];
    }
    let mut stream: rng::Stream = ctx.rng(what, 0);
    let mut counts = vec![0; n];
    if replace {
        (0..draws).for_each(|_| counts[stream.below(n)] += 1);
    } else {
        let mut order: Vec<usize> = (0..n).collect();
        stream.shuffle(&mut order);
        order[..draws].iter().for_each(|&at| counts[at] = 1);
    }
    counts
}

fn out_of_bag(fitted: &[(Bagged, Vec<u32>)], batch: &Batch, classes: usize) -> Result<(Matrix, Option<f64>)> {
    let (n, k) = (batch.rows(), classes.max(1));
    let (mut sums, mut counts) = (vec![0.0; n * k], vec![0.0; n]);
    for (bagged, drawn) in fitted {
        let predicted = bagged.predict(&batch.x, classes)?;
        for i in (0..n).filter(|&i| drawn[i] == 0) {
            counts[i] += 1.0;
            (0..k).for_each(|j| sums[i * k + j] += predicted[i * k + j]);
        }
    }
    let means = Matrix::from_fn(n, k, |i, j| sums[i * k + j] / counts[i]);
    let known: Vec<usize> = (0..n).filter(|&i| counts[i] > 0.0 && batch.weight(i) > 0.0).collect();
    let total: f64 = known.iter().map(|&i| batch.weight(i)).sum();
    let score = match batch.y {
        _ if known.is_empty() => None,
        Target::Class { codes, .. } => {
            let right = known.iter().filter(|&&i| first_largest(means.row(i)) == codes[i] as usize);
            Some(right.map(|&i| batch.weight(i)).sum::<f64>() / total)
        }
        y => {
            let y = y.real();
            let mean = known.iter().map(|&i| batch.weight(i) * y[i]).sum::<f64>() / total;
            let sum = |f: &dyn Fn(usize) -> f64| known.iter().map(|&i| batch.weight(i) * f(i)).sum::<f64>();
            Some(1.0 - sum(&|i| (y[i] - means[(i, 0)]).powi(2)) / sum(&|i| (y[i] - mean).powi(2)))
        }
    };
    Ok((means, score))
}

/// A member and the columns that it sees; none for all.
#[derive(Serialize, Deserialize)]
pub struct Bagged {
    pub member: Member,
    pub columns: Vec<u32>,
}

impl Bagged {
    fn predict(&self, x: &X, classes: usize) -> Result<Vec<f64>> {
        let all =
            |x: &X| if classes > 0 { self.member.shares(x, classes) } else { self.member.predict(x, Output::Value) };
        if self.columns.is_empty() {
            return all(x);
        }
        let mut dense = vec![0.0; x.cols()];
        let mut values = Vec::with_capacity(x.rows() * self.columns.len());
        for row in x.iter() {
            dense.fill(0.0);
            row.for_each(|j, value| dense[j] = value);
            values.extend(self.columns.iter().map(|&j| dense[j as usize]));
        }
        all(&X::dense(&values, self.columns.len())?)
    }
}

/// Members whose predictions are averaged.
#[derive(Serialize, Deserialize)]
pub struct BaggingModel {
    pub cols: usize,
    /// 0 for numbers.
    pub classes: usize,
    pub members: Vec<Bagged>,
    pub oob_score: Option<f64>,
}

impl Model for BaggingModel {
    fn cols(&self) -> usize {
        self.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        match self.classes {
            0 => vec![(Output::Value, 1)],
            k => vec![(Output::Class, 1), (Output::Probability, k)],
        }
    }

    fn rows_at_once(&self) -> usize {
        self.members.iter().map(|bagged| bagged.member.model.rows_at_once()).max().unwrap_or(1)
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let mut sums = vec![0.0; x.rows() * self.classes.max(1)];
        for member in &self.members {
            sums.iter_mut().zip(member.predict(x, self.classes)?).for_each(|(sum, value)| *sum += value);
        }
        let count = self.members.len() as f64;
        sums.iter_mut().for_each(|sum| *sum /= count);
        match output {
            Output::Class => classes_of(&sums, self.classes, out),
            _ => out.copy_from_slice(&sums),
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        self.oob_score.map(|score| ("oob_score_", score.into())).into_iter().collect()
    }

    fn check(&self) -> Result<()> {
        if self.members.is_empty() || self.classes == 1 || self.cols == 0 {
            return Err(Error::Data("the stored bagging is inconsistent".into()));
        }
        self.members.iter().try_for_each(|bagged| {
            if bagged.columns.iter().any(|&column| column as usize >= self.cols) {
                return Err(Error::Data("a stored member looks at a column that does not exist".into()));
            }
            let cols = if bagged.columns.is_empty() { self.cols } else { bagged.columns.len() };
            bagged.member.check(cols, self.classes)
        })
    }
}
