//! Stacking (Wolpert 1992): a last model learns how to put the predictions of the others together.
//!
//! What it learns from are predictions for rows that a model did not see: rows are dealt into folds (class by class, by
//! seed, unless the caller brings folds), each model is fitted without one fold and predicts it. The models that are
//! kept are fitted to all rows. Cost: (folds + 1) fits of each model.

use crate::{
    Array, Ctx, Data, Error, Estimator, Fit, FitLog, Flexibility, Info, Model, Output, Params, Passes, Result, Shape,
    Source, Spec, Target, Task, X,
    core::{Batch, TargetKind, ctx::Progress, model::Property, param::at_least, params, rng},
    engine::{
        folds,
        nested::{self, Member, Subset},
    },
};
use serde::{Deserialize, Serialize};

params! {
    /// Fits a final classifier on the cross-validated predictions of other models.
    pub struct StackingClassifier {
        /// Models whose predictions are combined.
        estimators: Vec<Spec> = vec![Spec::new("LogisticRegression"), Spec::new("DecisionTreeClassifier")];
        /// Model that combines the predictions; none for LogisticRegression.
        final_estimator: Option<Spec> = None;
        /// Number of folds for the predictions that the final model learns from.
        cv: usize = 5, at_least(2.0);
        /// Whether the final model also gets the original columns.
        passthrough: bool = false;
    }
}

params! {
    /// Fits a final model on the cross-validated predictions of other models.
    pub struct StackingRegressor {
        /// Models whose predictions are combined.
        estimators: Vec<Spec> = vec![Spec::new("LinearRegression"), Spec::new("DecisionTreeRegressor")];
        /// Model that combines the predictions; none for Ridge.
        final_estimator: Option<Spec> = None;
        /// Number of folds for the predictions that the final model learns from.
        cv: usize = 5, at_least(2.0);
        /// Whether the final model also gets the original columns.
        passthrough: bool = false;
    }
}

const REASON: &str = "every model is fitted to all rows and to all but each fold";
const FOLDS: &[(Property, &str)] =
    &[(Property::WeightIsRepetition, "rows are dealt into folds, and copies of a row may fall into different ones")];

macro_rules! layers {
    ($type:ty, $task:ident, $last:literal) => {
        impl $type {
            fn layers(&self) -> Layers<'_> {
                Layers {
                    name: Self::NAME,
                    task: Task::$task,
                    specs: &self.estimators,
                    last: self.final_estimator.clone().unwrap_or_else(|| Spec::new($last)),
                    folds: self.cv,
                    passthrough: self.passthrough,
                }
            }
        }
    };
}

impl Estimator for StackingClassifier {
    type Model = StackingModel;

    const INFO: Info = Info {
        missing: true,
        random: true,
        exceptions: FOLDS,
        flexibility: Flexibility::Ensemble,
        not_compared: Some("needs a choice of models to combine"),
        ..Info::new(
            "ensemble",
            Task::Classification,
            "g(f_1(x), ..., f_m(x)), g fitted to held-out predictions",
            Passes::Memory(REASON),
        )
    };

    fn takes(&self) -> Info {
        self.layers().takes(Info { passes: self.passes(), ..Self::INFO })
    }

    fn cost(&self, shape: &Shape) -> f64 {
        self.layers().cost(shape)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<StackingModel>> {
        self.layers().fit(data, ctx)
    }
}

layers!(StackingClassifier, Classification, "LogisticRegression");

impl Estimator for StackingRegressor {
    type Model = StackingModel;

    const INFO: Info = Info {
        missing: true,
        random: true,
        exceptions: FOLDS,
        flexibility: Flexibility::Ensemble,
        not_compared: Some("needs a choice of models to combine"),
        ..Info::new(
            "ensemble",
            Task::Regression,
            "g(f_1(x), ..., f_m(x)), g fitted to held-out predictions",
            Passes::Memory(REASON),
        )
    };

    fn takes(&self) -> Info {
        self.layers().takes(Info { passes: self.passes(), ..Self::INFO })
    }

    fn cost(&self, shape: &Shape) -> f64 {
        self.layers().cost(shape)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<StackingModel>> {
        self.layers().fit(data, ctx)
    }
}

layers!(StackingRegressor, Regression, "Ridge");

/// What both estimators have in common.
struct Layers<'a> {
    name: &'static str,
    task: Task,
    specs: &'a [Spec],
    last: Spec,
    folds: usize,
    passthrough: bool,
}

impl Layers<'_> {
    /// Each model on all rows and without each fold, then the last one on what they predict.
    fn cost(&self, shape: &Shape) -> f64 {
        let fits = self.folds as f64 + 1.0;
        let width = width(if let TargetKind::Class(classes) = shape.target { classes } else { 0 });
        let cols = self.specs.len() * width + if self.passthrough { shape.cols } else { 0 };
        let stacked = Shape { cols, sparse: false, ..shape.clone() };
        fits * self.specs.iter().map(|spec| nested::cost(spec, shape)).sum::<f64>() + nested::cost(&self.last, &stacked)
    }

    /// The last model sees the columns only if they are passed through to it.
    fn takes(self, info: Info) -> Info {
        let mut all = self.specs.to_vec();
        all.extend(self.passthrough.then_some(self.last));
        nested::taken(info, &all)
    }

    fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<StackingModel>> {
        let &Layers { name, task, specs, ref last, folds, passthrough } = self;
        let batch = data.in_memory(name, REASON)?;
        ctx.check()?;
        let n = batch.rows();
        if specs.is_empty() {
            return Err(Error::Parameter {
                model: name.into(),
                name: "estimators".into(),
                value: "an empty list".into(),
                allowed: "a list of at least one model".into(),
            });
        }
        if n < folds {
            return Err(Error::Data(format!("{name}: cv={folds} folds need as many rows, but there are {n}")));
        }
        let classes = match batch.y {
            Target::Class { classes, .. } => classes,
            _ => 0,
        };
        let (fold, folds) = match folds::given(ctx, n)? {
            Some(runs) => ((0..n).map(|row| runs.partition_point(|run| run.end <= row)).collect(), runs.len()),
            None => (deal(ctx, &batch, folds), folds),
        };
        let all: Vec<u32> = (0..n as u32).collect();
        let whole = Subset::new(&batch, data.features(), &all, None);
        let mut members = Vec::new();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for (m, spec) in specs.iter().enumerate() {
            let member = Member::fit(name, spec, task, &whole.data(&batch.y)?, &ctx.child("member", m as u64))?;
            let width = member_width(&member, classes);
            let mut held_out = vec![0.0; n * width];
            for f in 0..folds {
                ctx.check()?;
                let (inside, outside): (Vec<u32>, Vec<u32>) = all.iter().partition(|&&row| fold[row as usize] != f);
                if outside.is_empty() {
                    continue;
                }
                let (train, test) =
                    (Subset::new(&batch, data.features(), &inside, None), Subset::new(&batch, &[], &outside, None));
                let child = ctx.child("member", m as u64).child("fold", f as u64);
                let part = Member::fit(name, spec, task, &train.data(&batch.y)?, &child)?;
                let predicted = features(&part, &X::dense(&test.x, test.cols)?, classes)?;
                for (row, values) in outside.iter().zip(predicted.chunks_exact(width)) {
                    held_out[*row as usize * width..(*row as usize + 1) * width].copy_from_slice(values);
                }
            }
            columns.push(held_out);
            members.push(member);
            ctx.progress(Progress { what: "stacking", step: m + 1, of: Some(specs.len()), value: None });
        }
        let table = assemble(&columns, passthrough.then_some(&batch.x), n);
        let cols = table.len() / n;
        let last_data = Data::new(X::dense(&table, cols)?).target(batch.y)?;
        let last_data = match batch.weights {
            Some(weights) => last_data.weights(weights)?,
            None => last_data,
        };
        let last = Member::fit(name, last, task, &last_data, &ctx.child("last", 0))?;
        let log = FitLog::members(specs.len() * (folds + 1) + 1);
        Ok(Fit::new(StackingModel { cols: batch.x.cols(), classes, passthrough, members, last }, log))
    }
}

/// The fold of each row: the rows of each class in a random order, one fold after the other.
fn deal(ctx: &Ctx, batch: &Batch, folds: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..batch.rows()).collect();
    let key = |row: usize| rng::key(ctx.seed, "fold", row as u64);
    let class = |row: usize| batch.y.codes().get(row).copied().unwrap_or(0);
    order.sort_by_key(|&row| (class(row), key(row)));
    let mut fold = vec![0; batch.rows()];
    order.iter().enumerate().for_each(|(at, &row)| fold[row] = at % folds);
    fold
}

/// Numbers that a member contributes for a row.
fn width(classes: usize) -> usize {
    if classes <= 2 { 1 } else { classes }
}

/// Numbers of a fitted member: one without probabilities gives its margins.
fn member_width(member: &Member, classes: usize) -> usize {
    match margins(member) {
        Some(margins) if classes > 0 => margins,
        _ => width(classes),
    }
}

/// How many margins a member without probabilities has.
fn margins(member: &Member) -> Option<usize> {
    let outputs = member.model.outputs();
    let decision = outputs.iter().find(|(output, _)| *output == Output::Decision);
    decision.filter(|_| !member.has(Output::Probability)).map(|(_, width)| *width)
}

/// Predicted numbers, probabilities, or margins where there are none; of two classes the second says it all.
fn features(member: &Member, x: &X, classes: usize) -> Result<Vec<f64>> {
    match classes {
        0 => member.predict(x, Output::Value),
        _ if margins(member).is_some() => member.predict(x, Output::Decision),
        2 => Ok(member.shares(x, 2)?.chunks_exact(2).map(|row| row[1]).collect()),
        k => member.shares(x, k),
    }
}

/// Columns of all members side by side, then those of x.
fn assemble(columns: &[Vec<f64>], x: Option<&X>, rows: usize) -> Vec<f64> {
    let mut out = Vec::new();
    for i in 0..rows {
        for values in columns {
            let width = values.len() / rows;
            out.extend_from_slice(&values[i * width..(i + 1) * width]);
        }
        if let Some(x) = x {
            let first = out.len();
            out.resize(first + x.cols(), 0.0);
            x.row(i).for_each(|j, value| out[first + j] = value);
        }
    }
    out
}

/// Models, and the one that puts them together.
#[derive(Serialize, Deserialize)]
pub struct StackingModel {
    pub cols: usize,
    /// 0 for numbers.
    pub classes: usize,
    pub passthrough: bool,
    pub members: Vec<Member>,
    pub last: Member,
}

impl Model for StackingModel {
    fn cols(&self) -> usize {
        self.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        let wanted = [Output::Value, Output::Class, Output::Probability, Output::Decision];
        self.last.model.outputs().into_iter().filter(|(output, _)| wanted.contains(output)).collect()
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let columns: Vec<Vec<f64>> =
            self.members.iter().map(|member| features(member, x, self.classes)).collect::<Result<_>>()?;
        let table = assemble(&columns, self.passthrough.then_some(x), x.rows());
        out.copy_from_slice(&self.last.predict(&X::dense(&table, self.last.model.cols())?, output)?);
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![]
    }

    fn check(&self) -> Result<()> {
        if self.members.is_empty() || self.classes == 1 {
            return Err(Error::Data("the stored stacking is inconsistent".into()));
        }
        self.members.iter().try_for_each(|member| member.check(self.cols, self.classes))?;
        let own: usize = self.members.iter().map(|member| member_width(member, self.classes)).sum();
        self.last.check(own + if self.passthrough { self.cols } else { 0 }, self.classes)
    }
}
