//! Voting: several models of different kinds on the same rows, and their mean, or the class that most of them choose.

use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Flexibility, Info, Model, Output, Params, Passes, Result, Shape, Source,
    Spec, Task, X,
    core::{TargetKind, choice, param::at_least, params},
    engine::nested::{self, Member, classes_of},
    entry,
};
use serde::{Deserialize, Serialize};

choice! {
    /// How the votes are combined.
    pub enum Voting {
        /// Majority vote.
        Hard = "hard",
        /// Mean probabilities.
        Soft = "soft",
    }
}

params! {
    /// Combines different models by majority vote or by the mean of their probabilities.
    pub struct VotingClassifier {
        /// Models to combine.
        estimators: Vec<Spec> = vec![Spec::new("LogisticRegression"), Spec::new("DecisionTreeClassifier")];
        /// Majority vote (hard) or mean probabilities (soft).
        voting: Voting = Voting::Hard;
        /// Weight of each model; empty for equal weights.
        weights: Vec<f64> = vec![], at_least(0.0);
    }
}

params! {
    /// Predicts the mean of different models.
    pub struct VotingRegressor {
        /// Models to combine.
        estimators: Vec<Spec> = vec![Spec::new("LinearRegression"), Spec::new("DecisionTreeRegressor")];
        /// Weight of each model; empty for equal weights.
        weights: Vec<f64> = vec![], at_least(0.0);
    }
}

impl Estimator for VotingClassifier {
    type Model = VotingModel;

    const INFO: Info = Info {
        missing: true,
        random: true,
        flexibility: Flexibility::Ensemble,
        not_compared: Some("needs a choice of models to combine"),
        ..Info::new(
            "ensemble",
            Task::Classification,
            "argmax_c sum_m w_m [f_m(x) = c], or of mean probabilities",
            Passes::Shares("the tree among its members looks at rows many times"),
        )
    };

    fn takes(&self) -> Info {
        nested::together(Self::INFO, &self.estimators)
    }

    fn cost(&self, shape: &Shape) -> f64 {
        self.estimators.iter().map(|spec| nested::cost(spec, shape)).sum()
    }

    fn passes(&self) -> Passes {
        self.takes().passes
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<VotingModel>> {
        fit(Self::NAME, Task::Classification, &self.estimators, &self.weights, self.voting == Voting::Soft, data, ctx)
    }
}

impl Estimator for VotingRegressor {
    type Model = VotingModel;

    const INFO: Info = Info {
        missing: true,
        random: true,
        flexibility: Flexibility::Ensemble,
        not_compared: Some("needs a choice of models to combine"),
        ..Info::new(
            "ensemble",
            Task::Regression,
            "f(x) = sum_m w_m f_m(x) / sum_m w_m",
            Passes::Shares("the tree among its members looks at rows many times"),
        )
    };

    fn takes(&self) -> Info {
        nested::together(Self::INFO, &self.estimators)
    }

    fn cost(&self, shape: &Shape) -> f64 {
        self.estimators.iter().map(|spec| nested::cost(spec, shape)).sum()
    }

    fn passes(&self) -> Passes {
        self.takes().passes
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<VotingModel>> {
        fit(Self::NAME, Task::Regression, &self.estimators, &self.weights, false, data, ctx)
    }
}

fn fit(
    name: &str,
    task: Task,
    specs: &[Spec],
    weights: &[f64],
    soft: bool,
    data: &dyn Source,
    ctx: &Ctx,
) -> Result<Fit<VotingModel>> {
    let shape = data.shape();
    let refused = |name_of: &str, value: String, allowed: String| Error::Parameter {
        model: name.into(),
        name: name_of.into(),
        value,
        allowed,
    };
    if specs.is_empty() {
        return Err(refused("estimators", "an empty list".into(), "a list of at least one model".into()));
    }
    if !weights.is_empty() && (weights.len() != specs.len() || weights.iter().sum::<f64>() <= 0.0) {
        let allowed = format!("empty, or {} numbers of which one is above 0", specs.len());
        return Err(refused("weights", format!("a list of {}", weights.len()), allowed));
    }
    let mut members = Vec::new();
    for (i, spec) in specs.iter().enumerate() {
        ctx.check()?;
        let known = entry(&spec.name)?;
        if known.info.task != task {
            return Err(Error::Unsupported(format!("{name}: {} is no model for {task:?}", known.name)));
        }
        let fit = crate::make(spec)?.fit(data, &ctx.child("member", i as u64))?;
        members.push(Member { entry: known, model: fit.model });
    }
    if let (true, Some(member)) = (soft, members.iter().find(|member| !member.has(Output::Probability))) {
        return Err(Error::Unsupported(format!(
            "{name}: voting=soft needs probabilities, and {} has none",
            member.entry.name
        )));
    }
    let classes = match shape.target {
        TargetKind::Class(classes) => classes,
        _ => 0,
    };
    let weights = if weights.is_empty() { vec![1.0; members.len()] } else { weights.to_vec() };
    let log = FitLog::members(members.len());
    Ok(Fit::new(VotingModel { cols: shape.cols, classes, soft, members, weights }, log))
}

/// Models and how much each counts.
#[derive(Serialize, Deserialize)]
pub struct VotingModel {
    pub cols: usize,
    /// 0 for numbers.
    pub classes: usize,
    pub soft: bool,
    pub members: Vec<Member>,
    pub weights: Vec<f64>,
}

impl Model for VotingModel {
    fn cols(&self) -> usize {
        self.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        match (self.classes, self.soft) {
            (0, _) => vec![(Output::Value, 1)],
            (_, false) => vec![(Output::Class, 1)],
            (k, true) => vec![(Output::Class, 1), (Output::Probability, k)],
        }
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let k = self.classes.max(1);
        let mut sums = vec![0.0; x.rows() * k];
        for (member, weight) in self.members.iter().zip(&self.weights) {
            if self.classes > 0 && !self.soft {
                for (row, class) in sums.chunks_exact_mut(k).zip(member.predict(x, Output::Class)?) {
                    if let Some(votes) = row.get_mut(class as usize) {
                        *votes += weight;
                    }
                }
                continue;
            }
            let values = if self.classes > 0 { member.shares(x, k)? } else { member.predict(x, Output::Value)? };
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
        }
        let total: f64 = self.weights.iter().sum();
        sums.iter_mut().for_each(|sum| *sum /= total);
        match output {
            Output::Class => classes_of(&sums, k, out),
            _ => out.copy_from_slice(&sums),
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![]
    }

    fn check(&self) -> Result<()> {
        if self.members.is_empty() || self.weights.len() != self.members.len() || self.classes == 1 {
            return Err(Error::Data("the stored voting is inconsistent".into()));
        }
        self.members.iter().try_for_each(|member| member.check(self.cols, self.classes))
    }
}
