//! Which model? The one that was asked for, or the best of a comparison.

mod blend;
mod candidates;
pub mod clusters;
mod compare;
mod standing;

pub use candidates::Size;
pub use compare::{Contest, compare};
pub use standing::Standing;

use crate::report;
use ermine::{AnyEstimator, Entry, Result, Spec, Task};
use serde::Serialize;
use std::cmp::Ordering;

/// How much work a comparison may take: about ten seconds, a minute, ten minutes on a laptop with two cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    Quick,
    #[default]
    Normal,
    Thorough,
}

impl Effort {
    pub const ALL: [Effort; 3] = [Effort::Quick, Effort::Normal, Effort::Thorough];

    pub fn name(self) -> &'static str {
        match self {
            Effort::Quick => "quick",
            Effort::Normal => "normal",
            Effort::Thorough => "thorough",
        }
    }

    /// Predicted seconds of one core for the comparison; the two fits that follow may take as much again.
    pub fn work(self) -> f64 {
        match self {
            Effort::Quick => 10.0,
            Effort::Normal => 60.0,
            Effort::Thorough => 600.0,
        }
    }

    /// Predicted seconds of one core for each of the fits that follow: without the test rows, and on all.
    pub fn work_of_fit(self) -> f64 {
        0.5 * self.work()
    }

    /// Models are compared on this many rows at most.
    pub fn rows(self) -> usize {
        match self {
            Effort::Quick => 8_000,
            Effort::Normal => 32_000,
            Effort::Thorough => 128_000,
        }
    }

    /// Candidates that a search draws for each of the best models.
    pub fn draws(self) -> usize {
        match self {
            Effort::Quick => 4,
            Effort::Normal => 12,
            Effort::Thorough => 40,
        }
    }
}

/// The model that is fitted, and why.
pub struct Choice {
    pub spec: Spec,
    pub entry: &'static Entry,
    pub estimator: Box<dyn AnyEstimator>,
    /// None when it was asked for.
    pub reason: Option<String>,
    pub comparison: Option<Comparison>,
}

impl Choice {
    pub fn of(spec: &Spec, reason: Option<String>) -> Result<Choice> {
        let (entry, estimator) = (ermine::entry(&spec.name)?, ermine::make(spec)?);
        Ok(Choice { spec: spec.clone(), entry, estimator, reason, comparison: None })
    }

    /// A sound first model where nothing is compared.
    pub fn first(task: Task) -> Result<Choice> {
        let (name, why) = match task {
            Task::Regression => ("Ridge", "a sound default for regression"),
            Task::Classification => ("LogisticRegression", "a sound default for classification"),
            _ => ("KMeans", "there is no target, so rows are clustered"),
        };
        Choice::of(&Spec::new(name), Some(format!("{name}: {why}; choose another with --model")))
    }

    /// The best of a comparison; a sound first model where the budget left no time for any.
    pub fn best(comparison: Comparison, task: Task) -> Result<Choice> {
        let choice = match comparison.best() {
            Some(best) => Choice::of(&best.spec, Some(comparison.verdict()))?,
            None if !comparison.cuts.is_empty() => {
                let why = "a sound first model: the budget ran out before any could be scored";
                Choice { reason: Some(why.into()), ..Choice::first(task)? }
            }
            None => {
                let why = comparison.standings.iter().find_map(|standing| standing.note.clone()).unwrap_or_default();
                Choice {
                    reason: Some(format!("a sound first model: none could be scored ({why})")),
                    ..Choice::first(task)?
                }
            }
        };
        Ok(Choice { comparison: Some(comparison), ..choice })
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub metric: &'static str,
    pub greater_is_better: bool,
    pub folds: usize,
    /// How often the rows were folded anew.
    pub repeats: usize,
    /// Rows that models were compared on.
    pub rows: usize,
    /// The chosen one first, then by score.
    pub standings: Vec<Standing>,
    /// The model of the highest score, where a simpler one that is tied with it was chosen.
    pub leader: Option<String>,
    /// Models that were not tried, and why.
    pub left_out: Vec<(String, String)>,
    /// Candidates of the search.
    pub searched: usize,
    /// What the effort did not allow.
    pub skipped: Vec<String>,
    /// What the budget cut; empty if the outcome depends on the data alone.
    pub cuts: Vec<String>,
    /// Predicted seconds of one core that were planned.
    pub work: f64,
    pub seconds: f64,
}

impl Comparison {
    pub fn best(&self) -> Option<&Standing> {
        self.standings.first().filter(|standing| standing.mean.is_some())
    }

    /// How scores came about: `5-fold`, `4 x 5-fold`.
    pub fn folding(&self) -> String {
        match self.repeats {
            1 => format!("{}-fold", self.folds),
            repeats => format!("{repeats} x {}-fold", self.folds),
        }
    }

    /// Why the first is first, in a sentence.
    pub fn verdict(&self) -> String {
        let Some(best) = self.best() else { return "no model could be scored".into() };
        let scored: Vec<&Standing> = self.standings.iter().filter(|standing| standing.mean.is_some()).collect();
        let tied: Vec<&str> =
            scored.iter().skip(1).filter(|other| other.as_good).map(|other| other.model.as_str()).collect();
        let tuned = if best.tuned { ", tuned" } else { "" };
        let by = format!("by {} {}{tuned}", self.folding(), self.metric);
        if standing::is_guess(&best.model) {
            let what = match ermine::entry(&best.model).map(|entry| entry.info.task) {
                Ok(Task::Classification) => "the most frequent class",
                _ => "the mean of the target",
            };
            let led = self.leader.as_ref().map_or(String::new(), |leader| format!(" ({leader} scores highest)"));
            return format!(
                "no model is better than guessing by more than its error, {by}{led}: {what} is predicted for every row"
            );
        }
        if let Some(leader) = &self.leader {
            let most = if tied.len() > 1 { "simplest" } else { "simpler" };
            let tied = tied.len() + 1;
            return format!("the {most} of {tied} tied models among {} {by}; {leader} scores highest", scored.len());
        }
        if best.rows < self.rows {
            let on = format!("on a sample of {} rows", best.rows);
            return format!("best of {} {by}; {on} ahead of the others on {}", scored.len(), self.rows);
        }
        let is_ahead = |other: &Standing| {
            let order = other.mean.partial_cmp(&best.mean);
            order == Some(if self.greater_is_better { Ordering::Greater } else { Ordering::Less })
        };
        let tried = scored.len();
        if let (Some(expected), Some(ahead)) = (best.expected, scored.iter().find(|other| is_ahead(other))) {
            let expected = report::digits(expected);
            return format!(
                "best of {tried} {by}: it gains most from more rows, {expected} expected; {} led",
                ahead.model
            );
        }
        let others = match tied.len() {
            0 => "no other is tied with it".to_string(),
            n if n <= 4 => format!("tied with {}", tied.join(", ")),
            n => format!("tied with {n} others"),
        };
        format!("best of {tried} {by}; {others}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Job;
    use ermine::{Ctx, core::rng::Stream};

    /// The model that is chosen, and why, where a target follows the first of three columns with this R2.
    fn chosen(rows: usize, r2: f64, classes: bool, seed: u64) -> (String, String) {
        let mut rng = Stream::new(seed, "signal", rows as u64);
        let mut csv = String::from("a,b,c,y\n");
        for _ in 0..rows {
            let x: Vec<f64> = (0..3).map(|_| rng.normal()).collect();
            let y = r2.sqrt() * x[0] + (1.0 - r2).sqrt() * rng.normal();
            let y = if classes { if y > 0.3 { "yes".into() } else { "no".into() } } else { y.to_string() };
            csv += &format!("{},{},{},{y}\n", x[0], x[1], x[2]);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, csv).unwrap();
        let job = Job { target: Some("y".into()), effort: Effort::Quick, seed, ..Job::new(path) };
        let (_, report) = job.run(&Ctx::new(seed)).unwrap();
        (report.model, report.choice.unwrap_or_default())
    }

    #[test]
    fn of_noise_the_answer_is_a_guess_and_of_a_signal_it_is_not() {
        for classes in [false, true] {
            let guesses = |rows: usize, r2: f64| {
                let all: Vec<(String, String)> = (0..6).map(|seed| chosen(rows, r2, classes, seed)).collect();
                for (_, why) in all.iter().filter(|(model, _)| standing::is_guess(model)) {
                    assert!(why.starts_with("no model is better than guessing"), "{why}");
                }
                all.iter().filter(|(model, _)| standing::is_guess(model)).count()
            };
            let (noise, signal) = (guesses(80, 0.0), guesses(150, 0.3));
            assert!(noise >= 4 && signal == 0, "classes {classes}: {noise} guesses of noise, {signal} of a signal");
        }
    }
}
