//! AdaBoost: `min_F sum_i w_i exp(-y_i F(x_i))`, `F = sum_t a_t f_t`, one weak model after the other on weights that
//! grow where the last was wrong.
//!
//! Classes: discrete AdaBoost (Freund and Schapire 1997) with a_t = ln((1 - e_t)/e_t) + ln(k - 1) for k classes (SAMME,
//! Zhu et al. 2009). With two classes the training error is at most prod_t 2 sqrt(e_t (1 - e_t)); this bound is the
//! objective in the log. Numbers: AdaBoost.R2 (Drucker 1997), weighted median of the members; rows are weighted, not
//! drawn again.
//!
//! Any base that takes weights will do. Trees share one ranked matrix over all rounds, so a round of stumps is one pass
//! over it.

use super::{
    common::{Criterion, DecisionTreeModel, check_target, plant, weights},
    decision_tree::{DecisionTreeClassifier, DecisionTreeRegressor, TreeSettings},
};
use crate::{
    Array, Certificate, Ctx, Error, Estimator, Fit, FitLog, Flexibility, Halt, Info, Model, Output, Params, Passes,
    Result, Shape, Source, Spec, Task, Value, X,
    core::{
        Batch, Feature, choice,
        ctx::Progress,
        param::{above, at_least, log},
        params, trace,
    },
    engine::{
        columns::Columns,
        nested::{self, Member, reweighted},
        tree::first_largest,
    },
    entry,
};
use serde::{Deserialize, Serialize};

choice! {
    /// Loss by which the row weights are updated.
    pub enum Distance {
        Linear = "linear",
        Square = "square",
        Exponential = "exponential",
    }
}

params! {
    /// Boosts weak models: each is fitted with more weight on the rows that the previous ones got wrong; a weighted
    /// vote.
    pub struct AdaBoostClassifier {
        /// The weak model; none for a decision tree of depth 1.
        estimator: Option<Spec> = None;
        /// Maximum number of boosting rounds.
        n_estimators: usize = 50, at_least(1.0), log(20.0, 500.0);
        /// Learning rate: shrinks the weight of each round.
        learning_rate: f64 = 1.0, above(0.0), log(0.01, 2.0);
    }
}

params! {
    /// Boosts weak models: each draws more of the rows with large errors; predicts their weighted median.
    pub struct AdaBoostRegressor {
        /// The weak model; none for a decision tree of depth 3.
        estimator: Option<Spec> = None;
        /// Maximum number of boosting rounds.
        n_estimators: usize = 50, at_least(1.0), log(20.0, 500.0);
        /// Learning rate: shrinks the weight of each round.
        learning_rate: f64 = 1.0, above(0.0), log(0.01, 2.0);
        /// Loss by which the row weights are updated.
        loss: Distance = Distance::Linear;
    }
}

const REASON: &str = "every round reweights all rows and fits a model to them";

impl Estimator for AdaBoostClassifier {
    type Model = AdaBoostModel;

    const INFO: Info = Info {
        missing: true,
        categories: true,
        random: true,
        flexibility: Flexibility::Ensemble,
        ..Info::new(
            "ensemble",
            Task::Classification,
            "min_F sum_i w_i exp(-y_i F(x_i)), F = sum_t a_t f_t",
            Passes::Memory(REASON),
        )
    };

    fn takes(&self) -> Info {
        nested::taken(Info { passes: self.passes(), ..Self::INFO }, self.estimator.as_slice())
    }

    fn cost(&self, shape: &Shape) -> f64 {
        // Trees share one ranking, which is about half of a small one.
        let base = self.estimator.clone().unwrap_or_else(|| tree("DecisionTreeClassifier", 1));
        0.5 * self.n_estimators as f64 * nested::cost(&base, shape)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<AdaBoostModel>> {
        let batch = data.in_memory(Self::NAME, REASON)?;
        let base = self.estimator.clone().unwrap_or_else(|| tree("DecisionTreeClassifier", 1));
        let mut rounds = Rounds::new(Self::NAME, base, Task::Classification, &batch, data.features(), ctx)?;
        let (codes, classes) = (batch.y.codes(), data.shape().target);
        let crate::core::TargetKind::Class(k) = classes else { return Err(Error::Data("no classes".into())) };
        let (mut alphas, mut errors, mut bounds) = (vec![], vec![], vec![]);
        let mut bound = 1.0;
        let mut halt = Halt::Passes;
        for round in 0..self.n_estimators {
            let member = rounds.fit(round)?;
            let wrong: Vec<bool> =
                member.predict(&batch.x, Output::Class)?.iter().zip(codes).map(|(p, &y)| *p != f64::from(y)).collect();
            let total: f64 = rounds.weights.iter().sum();
            let before = ctx.is_traced().then(|| rounds.weights.clone());
            let error =
                rounds.weights.iter().zip(&wrong).filter(|(_, wrong)| **wrong).map(|(w, _)| w).sum::<f64>() / total;
            if error >= 1.0 - 1.0 / k as f64 {
                if round == 0 {
                    return Err(Error::Data(format!(
                        "{}: the base model is no better than chance ({error:.3} wrong)",
                        Self::NAME
                    )));
                }
                halt = Halt::Stalled;
                break;
            }
            let perfect = error <= 0.0;
            let alpha =
                if perfect { 1.0 } else { self.learning_rate * (((1.0 - error) / error).ln() + (k as f64 - 1.0).ln()) };
            bound *= 2.0 * (error * (1.0 - error)).sqrt();
            rounds.members.push(member);
            alphas.push(alpha);
            errors.push(error);
            bounds.push(bound);
            ctx.record("round", || {
                let wrong = wrong.iter().map(|wrong| f64::from(u8::from(*wrong)));
                let mut values = vec![
                    ("weights", trace::column(before.iter().flatten().copied())),
                    ("wrong", trace::column(wrong)),
                    ("error", trace::number(error)),
                    ("alpha", trace::number(alpha)),
                    ("bound", trace::number(bound)),
                ];
                let tree = rounds.members.last().and_then(|member| member.model.as_any().downcast_ref());
                values.extend(tree.map(|model: &DecisionTreeModel| ("nodes", model.tree.as_rows())));
                values
            });
            ctx.progress(Progress {
                what: "adaboost",
                step: round + 1,
                of: Some(self.n_estimators),
                value: Some(error),
            });
            if perfect {
                halt = Halt::Settled;
                break;
            }
            let factor = alpha.exp();
            rounds.weights.iter_mut().zip(&wrong).filter(|(_, wrong)| **wrong).for_each(|(w, _)| *w *= factor);
            rounds.normalise();
        }
        let objective = if k == 2 && self.learning_rate == 1.0 { bounds } else { vec![] };
        let certificate = if objective.is_empty() { Certificate::None } else { FitLog::monotone(&objective) };
        let log = FitLog::ended(alphas.len(), objective, halt, certificate).with_notes(why(halt));
        let model = AdaBoostModel { cols: batch.x.cols(), classes: k, members: rounds.members, alphas, errors };
        Ok(Fit::new(model, log))
    }
}

impl Estimator for AdaBoostRegressor {
    type Model = AdaBoostModel;

    const INFO: Info = Info {
        missing: true,
        categories: true,
        random: true,
        flexibility: Flexibility::Ensemble,
        ..Info::new(
            "ensemble",
            Task::Regression,
            "weighted median of models fitted to rows that the others miss",
            Passes::Memory(REASON),
        )
    };

    fn takes(&self) -> Info {
        nested::taken(Info { passes: self.passes(), ..Self::INFO }, self.estimator.as_slice())
    }

    fn cost(&self, shape: &Shape) -> f64 {
        // Trees share one ranking, which is about half of a small one.
        let base = self.estimator.clone().unwrap_or_else(|| tree("DecisionTreeRegressor", 3));
        0.5 * self.n_estimators as f64 * nested::cost(&base, shape)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<AdaBoostModel>> {
        let batch = data.in_memory(Self::NAME, REASON)?;
        let base = self.estimator.clone().unwrap_or_else(|| tree("DecisionTreeRegressor", 3));
        let mut rounds = Rounds::new(Self::NAME, base, Task::Regression, &batch, data.features(), ctx)?;
        let y = batch.y.real();
        let (mut alphas, mut errors) = (vec![], vec![]);
        let mut halt = Halt::Passes;
        for round in 0..self.n_estimators {
            let member = rounds.fit(round)?;
            let mut misses: Vec<f64> =
                member.predict(&batch.x, Output::Value)?.iter().zip(y).map(|(p, y)| (p - y).abs()).collect();
            let largest =
                misses.iter().zip(&rounds.weights).filter(|(_, w)| **w > 0.0).fold(0.0, |a: f64, (m, _)| a.max(*m));
            if largest > 0.0 {
                misses.iter_mut().for_each(|miss| {
                    let share = (*miss / largest).min(1.0);
                    *miss = match self.loss {
                        Distance::Linear => share,
                        Distance::Square => share * share,
                        Distance::Exponential => 1.0 - (-share).exp(),
                    };
                });
            }
            let total: f64 = rounds.weights.iter().sum();
            let error = rounds.weights.iter().zip(&misses).map(|(w, miss)| w * miss).sum::<f64>() / total;
            let perfect = error <= 0.0;
            if error >= 0.5 && round > 0 {
                halt = Halt::Stalled;
                break;
            }
            let beta: f64 = if perfect { 0.0 } else { error / (1.0 - error) };
            rounds.members.push(member);
            alphas.push(if perfect { 1.0 } else { (self.learning_rate * (1.0 / beta).ln()).max(f64::MIN_POSITIVE) });
            errors.push(error);
            ctx.progress(Progress {
                what: "adaboost",
                step: round + 1,
                of: Some(self.n_estimators),
                value: Some(error),
            });
            if perfect || error >= 0.5 {
                halt = if perfect { Halt::Settled } else { Halt::Stalled };
                break;
            }
            rounds
                .weights
                .iter_mut()
                .zip(&misses)
                .for_each(|(w, miss)| *w *= beta.powf((1.0 - miss) * self.learning_rate));
            rounds.normalise();
        }
        let log = FitLog::ended(alphas.len(), vec![], halt, Certificate::None).with_notes(why(halt));
        let model = AdaBoostModel { cols: batch.x.cols(), classes: 0, members: rounds.members, alphas, errors };
        Ok(Fit::new(model, log))
    }
}

/// What ended the rounds before their number.
fn why(halt: Halt) -> Vec<String> {
    match halt {
        Halt::Settled => vec!["a member makes no mistake: there is nothing left to boost".into()],
        Halt::Stalled => {
            vec!["a member is no better than chance on the weighted rows: boosting ends with the one before".into()]
        }
        _ => vec![],
    }
}

fn tree(name: &str, depth: i64) -> Spec {
    Spec { name: name.into(), params: [("max_depth".to_string(), Value::Int(depth))].into() }
}

/// The weak models so far and the weights for the next.
struct Rounds<'a> {
    name: &'static str,
    base: Spec,
    task: Task,
    batch: &'a Batch<'a>,
    features: &'a [Feature],
    ctx: &'a Ctx,
    /// One matrix for all rounds, when the base is a plain tree.
    shared: Option<(Columns, TreeSettings)>,
    members: Vec<Member>,
    weights: Vec<f64>,
    total: f64,
}

impl<'a> Rounds<'a> {
    fn new(
        name: &'static str,
        base: Spec,
        task: Task,
        batch: &'a Batch<'a>,
        features: &'a [Feature],
        ctx: &'a Ctx,
    ) -> Result<Self> {
        ctx.check()?;
        let info = entry(&base.name)?.info;
        if !info.weights {
            return Err(Error::Unsupported(format!("{name}: {} takes no weights, so it cannot be boosted", base.name)));
        }
        let weights = weights(batch);
        let total: f64 = weights.iter().sum();
        let (rows, cols) = (batch.rows(), batch.x.cols());
        let plan = match entry(&base.name)?.name {
            "DecisionTreeClassifier" => {
                Some(DecisionTreeClassifier::from_values(&base.params)?.plan(rows, cols, total))
            }
            "DecisionTreeRegressor" => Some(DecisionTreeRegressor::from_values(&base.params)?.plan(rows, cols, total)),
            _ => None,
        };
        let shared = match plan.filter(|plan| {
            plan.ccp_alpha == 0.0
                && plan.prune_fraction == 0.0
                && matches!(plan.criterion, Criterion::Class(_)) == (task == Task::Classification)
        }) {
            Some(plan) => {
                check_target(name, plan.criterion, &batch.y)?;
                Some((Columns::new(ctx, &batch.x, features)?, plan))
            }
            None => None,
        };
        Ok(Rounds { name, base, task, batch, features, ctx, shared, members: vec![], weights, total })
    }

    fn fit(&self, round: usize) -> Result<Member> {
        self.ctx.check()?;
        let ctx = self.ctx.child("round", round as u64);
        let Some((columns, plan)) = &self.shared else {
            let data = reweighted(self.batch, self.features, &self.weights)?;
            return Member::fit(self.name, &self.base, self.task, &data, &ctx);
        };
        let grow = || plant(&ctx, columns, &self.batch.y, &self.weights, &plan.growth(ctx.seed));
        let draft = ctx.install(grow)?;
        let cols = self.batch.x.cols();
        let tree = draft.finish(cols, false);
        let model = DecisionTreeModel {
            classes: if self.task == Task::Classification { tree.outputs() } else { 0 },
            importances: draft.importances(cols),
            max_features: plan.limits.max_features,
            tree,
        };
        Ok(Member { entry: entry(&self.base.name)?, model: Box::new(model) })
    }

    /// Back to the weight that the data came with, so that penalties of a base keep their meaning.
    fn normalise(&mut self) {
        let sum: f64 = self.weights.iter().sum();
        let factor = self.total / sum;
        self.weights.iter_mut().for_each(|w| *w *= factor);
    }
}

/// Weak models with their votes.
#[derive(Serialize, Deserialize)]
pub struct AdaBoostModel {
    pub cols: usize,
    /// 0 for numbers.
    pub classes: usize,
    pub members: Vec<Member>,
    pub alphas: Vec<f64>,
    /// Weighted error of each round.
    pub errors: Vec<f64>,
}

impl AdaBoostModel {
    /// Share of the votes for each class after the first `rounds`, as a score that is 0 on average: k columns.
    pub fn scores(&self, x: &X, rounds: usize) -> Result<Vec<f64>> {
        let k = self.classes;
        let mut out = vec![0.0; x.rows() * k];
        let mut total = 0.0;
        for (member, &alpha) in self.members.iter().zip(&self.alphas).take(rounds) {
            total += alpha;
            for (row, class) in out.chunks_exact_mut(k).zip(member.predict(x, Output::Class)?) {
                for (c, score) in row.iter_mut().enumerate() {
                    *score += if c == class as usize { alpha } else { -alpha / (k as f64 - 1.0) };
                }
            }
        }
        out.iter_mut().for_each(|score| *score /= total);
        Ok(out)
    }

    /// Weighted median of the first `rounds` members.
    pub fn medians(&self, x: &X, rounds: usize) -> Result<Vec<f64>> {
        let members: Vec<Vec<f64>> =
            self.members.iter().take(rounds).map(|member| member.predict(x, Output::Value)).collect::<Result<_>>()?;
        let half = 0.5 * self.alphas.iter().take(rounds).sum::<f64>();
        Ok((0..x.rows())
            .map(|i| {
                let mut votes: Vec<(f64, f64)> = members.iter().zip(&self.alphas).map(|(p, &a)| (p[i], a)).collect();
                votes.sort_by(|a, b| a.0.total_cmp(&b.0));
                let mut sum = 0.0;
                let at = votes.iter().position(|vote| {
                    sum += vote.1;
                    sum >= half
                });
                votes[at.unwrap_or(votes.len() - 1)].0
            })
            .collect())
    }
}

impl Model for AdaBoostModel {
    fn cols(&self) -> usize {
        self.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        match self.classes {
            0 => vec![(Output::Value, 1)],
            2 => vec![(Output::Class, 1), (Output::Probability, 2), (Output::Decision, 1)],
            k => vec![(Output::Class, 1), (Output::Probability, k), (Output::Decision, k)],
        }
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        if output == Output::Value {
            out.copy_from_slice(&self.medians(x, self.members.len())?);
            return Ok(());
        }
        let k = self.classes;
        let scores = self.scores(x, self.members.len())?;
        let rows = scores.chunks_exact(k);
        match output {
            Output::Class => out.iter_mut().zip(rows).for_each(|(out, row)| *out = first_largest(row) as f64),
            Output::Decision if k == 2 => out.iter_mut().zip(rows).for_each(|(out, row)| *out = row[1] - row[0]),
            Output::Decision => out.copy_from_slice(&scores),
            _ => {
                for (out, row) in out.chunks_exact_mut(k).zip(rows) {
                    let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let mut sum = 0.0;
                    for (out, score) in out.iter_mut().zip(row) {
                        *out = ((score - top) / (k as f64 - 1.0)).exp();
                        sum += *out;
                    }
                    out.iter_mut().for_each(|p| *p /= sum);
                }
            }
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let mut out: Vec<(&'static str, Array)> =
            vec![("estimator_weights_", (&self.alphas).into()), ("estimator_errors_", (&self.errors).into())];
        let trees: Option<Vec<&DecisionTreeModel>> =
            self.members.iter().map(|member| member.model.as_any().downcast_ref()).collect();
        if let Some(trees) = trees {
            let total: f64 = self.alphas.iter().sum();
            let mut sums = vec![0.0; self.cols];
            for (tree, alpha) in trees.iter().zip(&self.alphas) {
                sums.iter_mut().zip(&tree.importances).for_each(|(sum, share)| *sum += alpha / total * share);
            }
            out.push(("feature_importances_", (&sums).into()));
        }
        out
    }

    fn check(&self) -> Result<()> {
        if self.members.is_empty()
            || self.alphas.len() != self.members.len()
            || self.classes == 1
            || !self.alphas.iter().all(|alpha| *alpha > 0.0 && alpha.is_finite())
        {
            return Err(Error::Data("the stored AdaBoost is inconsistent".into()));
        }
        self.members.iter().try_for_each(|member| member.check(self.cols, self.classes))
    }
}
