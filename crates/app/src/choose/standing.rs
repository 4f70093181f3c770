//! How one candidate did, who is tied with the best, and which of them is chosen.

use super::compare::Scored;
use ermine::{Flexibility, Result, Spec, Task, Value, core::ctx::Candidate, metrics::Metric, search};
use serde::Serialize;
use std::collections::BTreeMap;

/// One line of the leaderboard.
#[derive(Clone, Debug, Serialize)]
pub struct Standing {
    pub model: String,
    /// Parameters that differ from their defaults.
    pub params: BTreeMap<String, String>,
    #[serde(skip)]
    pub spec: Spec,
    /// Rows of the sample that was split into folds.
    pub rows: usize,
    /// The metric on each fold; R2 against the spread of all rows, so that a fold whose rows are alike does not decide.
    pub scores: Vec<f64>,
    pub mean: Option<f64>,
    /// What the mean becomes on all rows that the model can be fitted on, judged by how it rose from sample to sample.
    pub expected: Option<f64>,
    /// Half the width of a 95 % interval for the mean, by Student's t over the folds; folds share most of their rows to
    /// learn from, which widens it (Nadeau and Bengio 2003).
    pub margin: Option<f64>,
    pub seconds: f64,
    /// Found by the search.
    pub tuned: bool,
    /// Tied with the best: not worse by more than the standard error of the difference, fold by fold, nor by more than
    /// that of the best.
    pub as_good: bool,
    /// Some prediction was further outside the target it had learnt from than that target is wide.
    pub wild: bool,
    /// Why it has no score, or none from all rows.
    pub note: Option<String>,
    /// Breaks ties of the metric; higher is better.
    #[serde(skip)]
    pub(super) tie: f64,
    /// Log loss on each fold, where there are probabilities.
    #[serde(skip)]
    pub(super) losses: Vec<f64>,
}

impl Standing {
    pub(super) fn new(spec: &Spec, rows: usize, tuned: bool) -> Result<Standing> {
        let entry = ermine::entry(&spec.name)?;
        let defaults: BTreeMap<&str, Value> = (entry.params)().into_iter().map(|p| (p.name, p.default)).collect();
        let changed = spec.params.iter().filter(|(name, value)| defaults.get(name.as_str()) != Some(value));
        Ok(Standing {
            model: entry.name.into(),
            params: changed.map(|(name, value)| (name.clone(), value.to_string())).collect(),
            spec: spec.clone(),
            rows,
            scores: Vec::new(),
            mean: None,
            expected: None,
            margin: None,
            seconds: 0.0,
            tuned,
            as_good: false,
            wild: false,
            note: None,
            tie: f64::NEG_INFINITY,
            losses: Vec::new(),
        })
    }

    pub(super) fn scored(mut self, outcome: Scored, folds: usize) -> Standing {
        let Scored { scores, losses, seconds, problem, wild, .. } = outcome;
        let tie = -losses.iter().sum::<f64>() / losses.len() as f64;
        (self.seconds, self.note) = (seconds, problem);
        if self.note.is_none() {
            let (mean, error) = mean_and_error(&scores, folds);
            if mean.is_finite() {
                self.mean = Some(mean);
                self.margin = Some(error * students_t(scores.len().saturating_sub(1)));
                (self.tie, self.wild) = (if tie.is_nan() { f64::NEG_INFINITY } else { tie }, wild);
                if wild {
                    self.note = Some("predicts values far outside the target".into());
                }
            } else {
                self.note = Some("the score is not defined on every fold".into());
            }
            (self.scores, self.losses) = (scores, losses);
        }
        self
    }

    /// The same on folds of another repetition; where that could not be done, the standing is what it was.
    pub(super) fn scored_again(&mut self, outcome: Scored, folds: usize) {
        if outcome.problem.is_some() {
            return;
        }
        let wild = self.wild || outcome.wild;
        let scores = self.scores.iter().copied().chain(outcome.scores).collect();
        let losses = self.losses.iter().copied().chain(outcome.losses).collect();
        let seconds = self.seconds + outcome.seconds;
        *self = self.clone().scored(Scored { scores, losses, seconds, wild, ..outcome }, folds);
    }

    /// For whoever watches the comparison.
    pub(super) fn candidate(&self, metric: &Metric) -> Candidate {
        Candidate {
            model: self.model.clone(),
            params: self.params.clone(),
            rows: self.rows,
            mean: self.mean,
            margin: self.margin.filter(|margin| margin.is_finite()),
            seconds: self.seconds,
            tuned: self.tuned,
            note: self.note.clone(),
            metric: metric.plain_name(),
            greater_is_better: metric.greater_is_better,
        }
    }

    /// Whether it says how sure it is, or is a number anyway.
    pub(super) fn can_vote(&self) -> bool {
        let task = ermine::entry(&self.model).map(|entry| entry.info.task);
        self.mean.is_some() && (task != Ok(Task::Classification) || self.tie.is_finite())
    }
}

/// A guess gives way to a gain of so many standard errors. More of them lose on weak signals what they save on noise.
const BEATS_GUESS: f64 = 0.5;

/// The 97.5 % point of Student's t: what a 95 % interval of a mean over few folds needs.
fn students_t(freedom: usize) -> f64 {
    const TABLE: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    match freedom {
        0 => f64::INFINITY,
        df if df <= TABLE.len() => TABLE[df - 1],
        df => 1.96 + 2.5 / df as f64,
    }
}

/// Mean over the folds, of which each repetition has so many, and its standard error. Folds share rows to learn from,
/// so their scores are not independent: Nadeau and Bengio's correction (2003).
pub(super) fn mean_and_error(scores: &[f64], folds: usize) -> (f64, f64) {
    let n = scores.len() as f64;
    let (mean, error) = search::mean_and_error(scores);
    (mean, error * (1.0 + n / (folds as f64 - 1.0).max(1.0)).sqrt())
}

/// Says who is as good as the first, by the differences on the same folds. A model whose scores jump about has a large
/// error of the difference: it is allowed no more than the error of the best, or it would be rewarded for its noise.
pub(super) fn mark(standings: &mut [Standing], folds: usize) {
    let Some((best, rows)) = standings.first().map(|best| (best.scores.clone(), best.rows)) else { return };
    let comparable = |standing: &Standing| {
        standing.scores.len() == best.len() && standing.mean.is_some() && standing.rows == rows && !standing.wild
    };
    let difference = |standing: &Standing| {
        let differences: Vec<f64> = best.iter().zip(&standing.scores).map(|(a, b)| a - b).collect();
        mean_and_error(&differences, folds)
    };
    let (_, of_best) = mean_and_error(&best, folds);
    for standing in standings.iter_mut() {
        let (mean, error) = difference(standing);
        // Differing on a single fold the two are equal but for rounding.
        standing.as_good = comparable(standing) && mean.abs() <= error.min(of_best) * (1.0 + 1e-9);
    }
    if let Some(best) = standings.first_mut() {
        best.as_good = true;
    }
}

fn flexibility(model: &str) -> Option<Flexibility> {
    ermine::entry(model).ok().map(|entry| entry.info.flexibility)
}

/// Whether it says the same of every row.
pub(super) fn is_guess(model: &str) -> bool {
    flexibility(model) == Some(Flexibility::Constant)
}

/// Whether these gains, fold by fold, are beyond their error.
fn is_gain(gains: &[f64], folds: usize) -> bool {
    let (gain, error) = mean_and_error(gains, folds);
    gain > BEATS_GUESS * error && gain > 1e-12
}

/// Where nothing can be learnt, the best of many models is the luckiest one, and on new rows it is below a guess. The
/// guess takes the first place unless a contender beats it by more than the error of the difference, by the metric or,
/// of classes, by how sure it was: log loss sees a weak signal long before accuracy does. Where the guess scores highest
/// and a tied model is surer, that model goes before it. Returns who led, if the guess has taken its place.
pub(super) fn prefer_guess(standings: &mut [Standing], metric: &Metric, folds: usize) -> Option<String> {
    let place = standings.iter().position(|standing| is_guess(&standing.model) && standing.mean.is_some())?;
    let (guess, first) = (&standings[place], standings.first()?);
    let beats = |other: &&Standing| {
        if other.wild || other.rows != guess.rows || other.scores.len() != guess.scores.len() {
            return false;
        }
        let gains: Vec<f64> =
            other.scores.iter().zip(&guess.scores).map(|(a, b)| metric.turned(*a) - metric.turned(*b)).collect();
        let sure: Vec<f64> = guess.losses.iter().zip(&other.losses).map(|(a, b)| a - b).collect();
        is_gain(&gains, folds) || is_gain(&sure, folds)
    };
    if first.scores.len() != guess.scores.len() {
        return None;
    }
    let surer = standings.iter().position(|other| other.as_good && beats(&other));
    if let (0, Some(surer)) = (place, surer) {
        standings[..=surer].rotate_right(1);
        mark(standings, folds);
        return None;
    }
    if surer.is_some() || place > 0 && standings.iter().any(|other| beats(&other)) {
        return None;
    }
    let leader = first.model.clone();
    standings[..=place].rotate_right(1);
    for standing in &mut standings[1..] {
        standing.as_good = false;
    }
    standings[0].as_good = true;
    (place > 0).then_some(leader)
}

/// One standard error rule (Breiman et al. 1984): the simplest of those that are as good as the first takes its place,
/// if the first does not beat it on most folds as well; a single wild fold makes a wide error, and many things as good.
/// Nor if the simpler one is surer of what is wrong: on few rows many are tied by accuracy, and a single tree has
/// probabilities of 0 and 1. Returns who led.
pub(super) fn prefer_simple(standings: &mut [Standing], metric: &Metric) -> Option<String> {
    let first = standings.first()?;
    let close = |other: &Standing| {
        let pairs = first.scores.iter().zip(&other.scores);
        let beaten = pairs.filter(|(a, b)| metric.turned(**a) > metric.turned(**b)).count();
        let as_sure = !first.tie.is_finite() || other.tie >= 1.05 * first.tie - 0.01;
        other.as_good && !is_guess(&other.model) && 2 * beaten <= first.scores.len() + 1 && as_sure
    };
    // The first of several is the one that scores highest.
    let (at, simplest) = standings
        .iter()
        .enumerate()
        .filter(|(_, other)| close(other))
        .min_by_key(|(_, other)| flexibility(&other.model))?;
    if flexibility(&simplest.model) >= flexibility(&first.model) {
        return None;
    }
    let leader = first.model.clone();
    standings[..=at].rotate_right(1);
    Some(leader)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ermine::metrics;

    /// Standings in the order of these scores by fold, as a comparison leaves them; who is chosen, and who led.
    fn chosen(scores: &[(&str, [f64; 5])]) -> (String, Option<String>) {
        let standing = |(model, scores): &(&str, [f64; 5])| {
            let scores = scores.to_vec();
            let scored = Scored { scores, seconds: 0.1, ..Scored::default() };
            Ok(Standing::new(&Spec::new(model), 100, false)?.scored(scored, 5))
        };
        let mut standings: Vec<Standing> = scores.iter().map(standing).collect::<Result<_>>().unwrap();
        mark(&mut standings, 5);
        let leader = prefer_simple(&mut standings, metrics::metric("r2").unwrap());
        assert_eq!(standings.len(), scores.len());
        (standings[0].model.clone(), leader)
    }

    #[test]
    fn of_equally_good_models_the_simplest_is_chosen() {
        let forest = ("RandomForestRegressor", [0.81, 0.79, 0.84, 0.80, 0.82]);
        let tree = ("DecisionTreeRegressor", [0.80, 0.80, 0.83, 0.81, 0.81]);
        let line = ("RidgeCV", [0.80, 0.80, 0.83, 0.81, 0.81]);
        let led = Some("RandomForestRegressor".to_string());
        assert_eq!(chosen(&[forest, tree, line]), ("RidgeCV".into(), led.clone()));
        assert_eq!(chosen(&[forest, tree]), ("DecisionTreeRegressor".into(), led));
        // One row of one fold is no difference.
        let almost = ("RidgeCV", [0.81, 0.79, 0.84, 0.80, 0.80]);
        assert_eq!(chosen(&[forest, almost]).0, "RidgeCV");
        // Worse by more than the error of the difference.
        let worse = ("RidgeCV", [0.78, 0.77, 0.81, 0.78, 0.79]);
        assert_eq!(chosen(&[forest, worse]), ("RandomForestRegressor".into(), None));
        // Beaten on nearly all folds it is not as good, whatever one wild fold does to the error.
        let steady = ("RandomForestRegressor", [0.81, 0.79, 0.84, 0.80, 0.30]);
        let wild = ("RidgeCV", [0.70, 0.70, 0.70, 0.70, 0.50]);
        assert_eq!(chosen(&[steady, wild]), ("RandomForestRegressor".into(), None));
        // The simplest may lead already.
        assert_eq!(chosen(&[line, forest]), ("RidgeCV".into(), None));
    }

    #[test]
    fn a_guess_gives_way_to_what_is_better_by_more_than_its_error() {
        // Scores, log losses; who is first.
        let first = |models: &[(&str, [f64; 5], [f64; 5])]| {
            let standing = |(model, scores, losses): &(&str, [f64; 5], [f64; 5])| {
                let (scores, losses) = (scores.to_vec(), losses.to_vec());
                let scored = Scored { scores, losses, seconds: 0.1, ..Scored::default() };
                Standing::new(&Spec::new(model), 100, false).unwrap().scored(scored, 5)
            };
            let mut standings: Vec<Standing> = models.iter().map(standing).collect();
            mark(&mut standings, 5);
            let leader = prefer_guess(&mut standings, metrics::metric("accuracy").unwrap(), 5);
            assert_eq!(standings.len(), models.len());
            (standings[0].model.clone(), leader)
        };
        let prior = [0.69, 0.68, 0.70, 0.69, 0.69];
        let guess = ("DummyClassifier", [0.55, 0.54, 0.56, 0.55, 0.55], prior);
        let name = "LogisticRegression";
        // The luckiest of many: now better, now worse, and no surer.
        let lucky = (name, [0.65, 0.45, 0.66, 0.50, 0.55], [0.70, 0.69, 0.71, 0.70, 0.70]);
        assert_eq!(first(&[lucky, guess]), ("DummyClassifier".into(), Some(name.into())));
        assert_eq!(first(&[guess, lucky]), ("DummyClassifier".into(), None));
        // Better on every fold.
        let better = (name, [0.65, 0.62, 0.66, 0.64, 0.67], [0.70, 0.69, 0.71, 0.70, 0.70]);
        assert_eq!(first(&[better, guess]), (name.into(), None));
        // Tied by accuracy, and surer on every fold, also where the guess scores a hair higher.
        let surer = |scores| (name, scores, [0.66, 0.65, 0.66, 0.65, 0.66]);
        assert_eq!(first(&[surer(lucky.1), guess]), (name.into(), None));
        assert_eq!(first(&[guess, surer([0.56, 0.53, 0.55, 0.55, 0.54])]), (name.into(), None));
        // Surer, but below the guess by what was asked for.
        let below = surer([0.45, 0.44, 0.46, 0.45, 0.45]);
        assert_eq!(first(&[guess, below]).0, "DummyClassifier");
    }

    #[test]
    fn noise_is_no_merit() {
        let leader = ("HistGradientBoostingRegressor", [0.60, 0.62, 0.61, 0.59, 0.63]);
        let steady = ("KNeighborsRegressor", [0.59, 0.60, 0.60, 0.58, 0.62]);
        let noisy = ("DecisionTreeRegressor", [0.80, 0.20, 0.75, 0.30, 0.61]);
        // Both are behind; the noisy one by more, and simpler, and its error is wide enough for a tie.
        assert_ne!(chosen(&[leader, steady, noisy]).0, "DecisionTreeRegressor");
    }

    #[test]
    fn whoever_is_surer_of_what_is_wrong_does_not_take_the_first_place() {
        let standing = |model: &str, scores: [f64; 5], loss: f64| {
            let scored = Scored { scores: scores.to_vec(), losses: vec![loss; 5], seconds: 0.1, ..Scored::default() };
            Standing::new(&Spec::new(model), 100, false).unwrap().scored(scored, 5)
        };
        let chosen = |loss: f64| {
            let forest = standing("ExtraTreesClassifier", [0.69, 0.66, 0.72, 0.68, 0.70], 0.6);
            let tree = standing("DecisionTreeClassifier", [0.68, 0.67, 0.71, 0.69, 0.69], loss);
            let mut standings = [forest, tree];
            mark(&mut standings, 5);
            prefer_simple(&mut standings, metrics::metric("accuracy").unwrap());
            standings[0].model.clone()
        };
        assert_eq!(chosen(0.61), "DecisionTreeClassifier");
        assert_eq!(chosen(9.0), "ExtraTreesClassifier");
    }
}
