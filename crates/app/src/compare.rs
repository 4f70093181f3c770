//! Which model? Every sensible one with its sensible preparation, by cross-validation, inside a time budget; then a search
//! through the declared ranges of the best few.
//!
//! Many rows: all candidates meet on a sample first, the better ones go on to four times as many rows, and so on (successive
//! halving, Jamieson and Talwalkar 2016); only scores from all rows decide. Everything is drawn by (seed, name, number), so the
//! outcome is the same for any number of threads as long as the budget cuts nothing; what it cuts is said. Of models that are equally
//! good within the error of the comparison the simplest is chosen.

use crate::{
    frame::{Encoded, Rows},
    part::Part,
};
use ermine::{
    Ctx, Domain, Entry, Error, Flexibility, Info, MODELS, Passes, Result, Spec, Task, Value,
    core::{ctx::Progress, rng},
    metrics::{self, Metric},
    search,
    split::{Fold, Folds},
};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// Rows of the first round when there are many.
const FIRST_ROUND: usize = 2000;
/// Methods whose work grows with the square of the rows stop here.
const KERNEL_ROWS: usize = 10_000;
/// Methods whose work grows with the cube of the columns stop here.
const WIDE: usize = 500;
/// A search looks at this many rows at most; what it finds is then judged on all.
const SEARCH_ROWS: usize = 10_000;
/// How many models are searched.
const FINALISTS: usize = 3;

/// What is to be compared, and how long it may take.
pub struct Contest<'a> {
    pub task: Task,
    /// Only these models; empty for all that make sense.
    pub models: &'a [Spec],
    pub metric: &'static Metric,
    pub folds: usize,
    pub seed: u64,
    /// Candidates that a search draws for each finalist; 0 for no search.
    pub draws: usize,
    pub begin: Instant,
    pub budget: Duration,
}

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
    /// The metric on each fold.
    pub scores: Vec<f64>,
    pub mean: Option<f64>,
    /// Half the width of a 95 % interval for the mean, by Student's t over the folds.
    pub margin: Option<f64>,
    pub seconds: f64,
    /// Found by the search.
    pub tuned: bool,
    /// Not worse than the best by more than the standard error of the difference, fold by fold.
    pub as_good: bool,
    /// Why it has no score, or none from all rows.
    pub note: Option<String>,
    #[serde(skip)]
    tie: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub metric: &'static str,
    pub greater_is_better: bool,
    pub folds: usize,
    pub rows: usize,
    /// The chosen one first, then by score.
    pub standings: Vec<Standing>,
    /// The model of the highest score, where a simpler one that is as good was chosen.
    pub leader: Option<String>,
    /// Models that were not tried, and why.
    pub left_out: Vec<(String, String)>,
    /// Candidates of the search.
    pub searched: usize,
    /// What the budget cut; empty if the outcome depends on the data alone.
    pub cuts: Vec<String>,
    pub budget: f64,
    pub seconds: f64,
}

impl Comparison {
    pub fn best(&self) -> Option<&Standing> {
        self.standings.first().filter(|standing| standing.mean.is_some())
    }

    /// Why the first is first, in a sentence.
    pub fn verdict(&self) -> String {
        let Some(best) = self.best() else { return "no model could be scored".into() };
        let judged: Vec<&Standing> = self.standings.iter().filter(|standing| standing.mean.is_some()).collect();
        let as_good: Vec<&str> =
            judged.iter().skip(1).filter(|other| other.as_good).map(|other| other.model.as_str()).collect();
        let equal = match as_good.len() {
            0 => "no other is as good".to_string(),
            1 => format!("{} is as good within the error of the comparison", as_good[0]),
            n if n <= 4 => format!("{} are as good within the error of the comparison", as_good.join(", ")),
            n => format!("{n} others are as good within the error of the comparison"),
        };
        let tuned = if best.tuned { ", tuned" } else { "" };
        if let Some(leader) = &self.leader {
            let most = if as_good.len() > 1 { "the simplest" } else { "the simpler" };
            let of = format!("{most} of {} that are as good as any of {}", as_good.len() + 1, judged.len());
            let by = format!("by {}-fold {}", self.folds, self.metric);
            return format!("{of} {by}{tuned}; {leader} scores highest, by less than the error of the comparison");
        }
        format!("best of {} by {}-fold {}{tuned}; {equal}", judged.len(), self.folds, self.metric)
    }
}

/// Why a model does not suit these rows, if it does not.
fn unsuited(entry: &Entry, rows: &Rows) -> Option<String> {
    let info: &Info = &entry.info;
    let n = rows.len();
    if let Some(reason) = info.not_compared {
        return Some(reason.into());
    }
    if rows.weights.is_some() && !info.weights {
        return Some("it takes no weights".into());
    }
    let lowest = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    if let Some(Encoded::Real(y)) = &rows.target {
        match info.target {
            Domain::Any => {}
            Domain::Count => {
                if !(lowest(y) >= 0.0 && y.iter().all(|y| y.fract() == 0.0)) {
                    return Some("the target is not a count".into());
                }
            }
            Domain::Positive => {
                if !(lowest(y) > 0.0) {
                    return Some("the target is not above 0 everywhere".into());
                }
            }
        }
    }
    if info.word_counts {
        let numbers = rows.x.cols - rows.texts.0.len();
        if numbers > 0 {
            return Some("it is for counts of words".into());
        }
    }
    let squares = ["svm", "kernel_ridge", "gaussian_process"].contains(&info.module)
        && matches!(info.passes, Passes::Memory(_))
        && !entry.name.starts_with("Linear");
    if squares && n > KERNEL_ROWS {
        return Some(format!("its work grows with the square of the rows, and there are more than {KERNEL_ROWS}"));
    }
    let wide = rows.x.cols > WIDE || !rows.texts.is_empty();
    if wide && ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"].contains(&entry.name) {
        return Some(format!("its work grows with the cube of the columns, and there are more than {WIDE}"));
    }
    None
}

/// The models to try, and those left out with the reason.
fn candidates(contest: &Contest, rows: &Rows) -> Result<(Vec<Spec>, Vec<(String, String)>)> {
    if !contest.models.is_empty() {
        return Ok((contest.models.to_vec(), Vec::new()));
    }
    let (mut tried, mut left_out) = (Vec::new(), Vec::new());
    for entry in MODELS.iter().filter(|entry| entry.info.task == contest.task) {
        match unsuited(entry, rows) {
            Some(reason) => left_out.push((entry.name.to_string(), reason)),
            None => tried.push(in_units(Spec::new(entry.name), rows)?),
        }
    }
    Ok((tried, left_out))
}

/// Parameters that are in the units of the target, brought to its scale.
fn in_units(mut spec: Spec, rows: &Rows) -> Result<Spec> {
    let entry = ermine::entry(&spec.name)?;
    let (false, Some(Encoded::Real(y))) = (entry.info.target_units.is_empty(), &rows.target) else {
        return Ok(spec);
    };
    let n = y.len() as f64;
    let mean = y.iter().sum::<f64>() / n;
    let unit = (y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n).sqrt();
    for param in (entry.params)().into_iter().filter(|param| entry.info.target_units.contains(&param.name)) {
        let value = match spec.params.get(param.name).unwrap_or(&param.default) {
            Value::Float(value) => *value,
            Value::Int(value) => *value as f64,
            _ => continue,
        };
        spec.params.insert(param.name.into(), Value::Float(value * unit));
    }
    Ok(spec)
}

/// A sample with its folds taken apart once, for all candidates.
struct Round {
    rows: usize,
    parts: Vec<(Rows, Rows)>,
}

impl Round {
    fn new(rows: &Rows, size: usize, folds: usize, seed: u64) -> Result<Round> {
        let sample;
        let rows = if size < rows.len() {
            let mut order: Vec<usize> = (0..rows.len()).collect();
            order.sort_by_key(|&row| (rng::key(seed, "round", row as u64), row));
            order.truncate(size);
            order.sort_unstable();
            sample = rows.take(&order);
            &sample
        } else {
            rows
        };
        let data = rows.data()?;
        // Classes with fewer rows than folds cannot be in every part; plain folds then do.
        let usual = Folds::usual(&data.batch().y, folds).split(&data.batch(), None, seed);
        let parts = match usual {
            Ok(parts) => parts,
            Err(_) => Folds::KFold { n_splits: folds, shuffle: true }.split(&data.batch(), None, seed)?,
        };
        let parts = parts.iter().map(|Fold { train, test }| (rows.take(train), rows.take(test))).collect();
        Ok(Round { rows: rows.len(), parts })
    }
}

/// Scores of one candidate: the metric (as it is), and what breaks ties.
fn judge(contest: &Contest, spec: &Spec, round: &Round, ctx: &Ctx) -> Result<(Vec<f64>, f64)> {
    let entry = ermine::entry(&spec.name)?;
    let estimator = ermine::make(spec)?;
    let scores = ctx.map(round.parts.len(), |fold| {
        // The same seed for a fold whatever the candidate: differences are those of the models.
        let child = ctx.child("fold", fold as u64);
        let (train, test) = &round.parts[fold];
        let part = Part::fit(&*estimator, train, &child)?;
        let said = part.outputs(entry, &test.data()?.batch().x, &test.texts, &child)?;
        let truth = test.target.as_ref().ok_or_else(|| Error::Data("there is no target".into()))?;
        let value = said.metric(contest.metric, truth, test.weights.as_deref())?;
        let tie = metrics::metric("neg_log_loss").and_then(|loss| said.metric(loss, truth, test.weights.as_deref()));
        Ok((value, tie.map_or(f64::INFINITY, |loss| loss)))
    })?;
    let tie = scores.iter().map(|(_, loss)| -loss).sum::<f64>();
    Ok((scores.into_iter().map(|(value, _)| value).collect(), tie))
}

impl Standing {
    fn new(spec: &Spec, rows: usize, tuned: bool) -> Result<Standing> {
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
            margin: None,
            seconds: 0.0,
            tuned,
            as_good: false,
            note: None,
            tie: f64::NEG_INFINITY,
        })
    }

    fn scored(mut self, outcome: Result<(Vec<f64>, f64)>, seconds: f64) -> Result<Standing> {
        self.seconds = seconds;
        match outcome {
            Ok((scores, tie)) => {
                let (mean, error) = search::mean_and_error(&scores);
                if mean.is_finite() {
                    self.mean = Some(mean);
                    self.margin = Some(error * students_t(scores.len().saturating_sub(1)));
                    self.tie = tie;
                } else {
                    self.note = Some("the score is not defined on every fold".into());
                }
                self.scores = scores;
            }
            Err(Error::Cancelled) => self.note = Some("not done in the time there was".into()),
            Err(error) => self.note = Some(error.to_string().lines().next().unwrap_or_default().into()),
        }
        Ok(self)
    }
}

/// The 97.5 % point of Student's t: what a 95 % interval of a mean over few folds needs.
fn students_t(freedom: usize) -> f64 {
    const TABLE: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    match freedom {
        0 => f64::INFINITY,
        df if df <= TABLE.len() => TABLE[df - 1],
        df => 1.96 + 2.5 / df as f64,
    }
}

/// Sizes of the rounds: a sample, four times as many, and so on; all rows last.
fn sizes(rows: usize) -> Vec<usize> {
    let mut sizes = Vec::new();
    let mut size = FIRST_ROUND;
    while size * 2 < rows {
        sizes.push(size);
        size *= 4;
    }
    sizes.push(rows);
    sizes
}

/// Who goes on to more rows: the first `seats`, and boosted trees. On a sample these are often behind models that have less to learn, on all rows
/// mostly ahead, and they cost little.
fn split_seats(standings: Vec<Standing>, seats: usize) -> (Vec<Standing>, Vec<Standing>) {
    let (ahead, behind): (Vec<_>, Vec<_>) = standings
        .into_iter()
        .enumerate()
        .partition(|(place, standing)| *place < seats || standing.model.starts_with("HistGradientBoosting"));
    let without_place = |list: Vec<(usize, Standing)>| list.into_iter().map(|(_, standing)| standing).collect();
    (without_place(ahead), without_place(behind))
}

/// Runs the comparison on rows that no test score will be taken from.
pub fn compare(contest: &Contest, rows: &Rows, ctx: &Ctx) -> Result<Comparison> {
    let begin = Instant::now();
    let (mut alive, left_out) = candidates(contest, rows)?;
    if alive.is_empty() {
        return Err(Error::Data("there is no model to compare".into()));
    }
    let asked = contest.folds.max(2);
    if rows.len() < 2 * asked {
        let problem = format!("{} rows to learn from are too few to compare models by {asked} folds", rows.len());
        return Err(Error::Data(problem).hint("name a model with --model, or give fewer --folds"));
    }
    // Many rows make each fold large enough for its score to be steady.
    let folds = if rows.len() > 10_000 { asked.min(3) } else { asked };
    let at = |share: f64| contest.begin + contest.budget.mul_f64(share);
    let better = |a: &Standing, b: &Standing| {
        let score = |s: &Standing| s.mean.map_or(f64::NEG_INFINITY, |mean| contest.metric.turned(mean));
        score(b).total_cmp(&score(a)).then(b.tie.total_cmp(&a.tie))
    };
    let sizes = sizes(rows.len());
    let mut cuts: Vec<String> = Vec::new();
    let mut out: Vec<Standing> = Vec::new();
    let mut last: Vec<Standing> = Vec::new();
    let mut round = None;
    for (number, &size) in sizes.iter().enumerate() {
        let here = Round::new(rows, size, if size < rows.len() { folds.min(3) } else { folds }, contest.seed)?;
        let final_round = number + 1 == sizes.len();
        // A quarter of the budget for samples, up to half for all rows; the rest for the search, the test and the report.
        let share = if final_round { 0.5 } else { 0.25 * (number + 1) as f64 / (sizes.len() - 1) as f64 };
        let end = at(share);
        let mut standings = Vec::new();
        for (c, spec) in alive.iter().enumerate() {
            ctx.check()?;
            ctx.progress(Progress { what: "comparing", step: c + 1, of: Some(alive.len()), value: None });
            let fresh = Standing::new(spec, here.rows, false)?;
            let start = Instant::now();
            let left = end.saturating_duration_since(start);
            // Nobody may starve the others; who did well on fewer rows may take longer.
            let fair = left / (alive.len() - c) as u32;
            let allowance = if number == 0 { (fair * 2).min(left) } else { (fair * 3).max(left / 2).min(left) };
            // What it took on the last sample, for more rows.
            let before = last.iter().find(|known| known.spec == *spec);
            let growth = before.map_or(1.0, |known| (here.rows as f64 / known.rows as f64).powf(0.9));
            let expected = before.map_or(0.0, |known| known.seconds * growth);
            if left.is_zero() || expected > allowance.as_secs_f64() {
                cuts.push(format!("{} on {} rows", fresh.model, here.rows));
                let slow = Standing { note: Some("too slow for the budget on more rows".into()), ..fresh };
                out.push(before.map_or(slow.clone(), |known| Standing { note: slow.note, ..known.clone() }));
                continue;
            }
            let outcome = judge(contest, spec, &here, &ctx.clone().with_deadline(start + allowance));
            // A cancelled run is ours only while the whole has time left.
            ctx.check()?;
            let cut = matches!(outcome, Err(Error::Cancelled));
            let standing = fresh.scored(outcome, start.elapsed().as_secs_f64())?;
            if cut {
                cuts.push(format!("{} on {} rows", standing.model, here.rows));
            }
            match standing.mean {
                Some(_) => standings.push(standing),
                None => {
                    out.push(before.map_or(standing.clone(), |known| Standing { note: standing.note, ..known.clone() }))
                }
            }
        }
        standings.sort_by(better);
        if standings.is_empty() && final_round {
            // Nothing was done on all rows: the last sample decides.
            standings = std::mem::take(&mut last);
            out.retain(|known| !standings.iter().any(|standing| standing.spec == known.spec));
        } else if !final_round {
            let keep = if number + 2 == sizes.len() { 4 } else { 6 };
            let (ahead, behind) = split_seats(standings, keep);
            standings = ahead;
            out.extend(behind);
            // The best first: if time runs out, it is not they who go without.
            alive = standings.iter().map(|standing| standing.spec.clone()).collect();
        }
        last = standings;
        round = Some(here);
        if alive.is_empty() {
            break;
        }
    }
    let mut standings = last;
    let mut searched = 0;
    if let (true, Some(round)) = (contest.draws > 0 && !standings.is_empty(), &round) {
        searched = tune(contest, rows, round, &mut standings, &mut cuts, ctx)?;
        standings.sort_by(better);
        // One line a model: its best form.
        let mut seen: Vec<String> = Vec::new();
        if contest.models.len() != 1 {
            standings.retain(|standing| {
                let first = !seen.contains(&standing.model);
                seen.push(standing.model.clone());
                first
            });
        }
    }
    mark(&mut standings);
    let leader = prefer_simple(&mut standings, contest.metric);
    out.sort_by(|a, b| b.rows.cmp(&a.rows).then(better(a, b)));
    standings.extend(out);
    Ok(Comparison {
        metric: contest.metric.plain_name(),
        greater_is_better: contest.metric.greater_is_better,
        folds,
        rows: rows.len(),
        standings,
        leader,
        left_out,
        searched,
        cuts,
        budget: contest.budget.as_secs_f64(),
        seconds: begin.elapsed().as_secs_f64(),
    })
}

/// Draws from the declared ranges of the best few; the best draw of each joins the standings.
fn tune(
    contest: &Contest,
    rows: &Rows,
    last: &Round,
    standings: &mut Vec<Standing>,
    cuts: &mut Vec<String>,
    ctx: &Ctx,
) -> Result<usize> {
    let end = contest.begin + contest.budget.mul_f64(0.65);
    let small;
    let round = if rows.len() > SEARCH_ROWS {
        small = Round::new(rows, SEARCH_ROWS, 3, contest.seed)?;
        &small
    } else {
        last
    };
    struct Lane {
        draws: Vec<Spec>,
        best: Option<Standing>,
        all: Vec<Standing>,
    }
    let mut lanes: Vec<Lane> = Vec::new();
    for standing in standings.iter().take(FINALISTS) {
        let space = search::space(&standing.spec)?;
        if space.is_empty() {
            continue;
        }
        let seed = rng::key(contest.seed, &standing.model, 0);
        let mut draws = search::random(&Spec::new(&standing.model), &space, contest.draws + 1, seed)?;
        draws[0] = standing.spec.clone();
        let draws = draws.into_iter().enumerate().map(|(i, spec)| if i == 0 { Ok(spec) } else { in_units(spec, rows) });
        lanes.push(Lane { draws: draws.collect::<Result<_>>()?, best: None, all: Vec::new() });
    }
    let total = lanes.iter().map(|lane| lane.draws.len()).max().unwrap_or(0);
    let score = |standing: &Standing| standing.mean.map_or(f64::NEG_INFINITY, |mean| contest.metric.turned(mean));
    let (mut searched, mut cut) = (0, false);
    // Everybody's first draw, then everybody's second: when the time is up, all had the same chance.
    'draws: for number in 0..total {
        for lane in &mut lanes {
            let Some(spec) = lane.draws.get(number) else { continue };
            ctx.check()?;
            let start = Instant::now();
            if start >= end {
                cut = true;
                break 'draws;
            }
            ctx.progress(Progress { what: "searching", step: number + 1, of: Some(total), value: None });
            let known = standings.iter().find(|known| number == 0 && known.rows == round.rows && known.spec == *spec);
            let standing = match known {
                Some(known) => known.clone(),
                None => {
                    let outcome = judge(contest, spec, round, &ctx.clone().with_deadline(end));
                    ctx.check()?;
                    cut |= matches!(outcome, Err(Error::Cancelled));
                    Standing::new(spec, round.rows, number > 0)?.scored(outcome, start.elapsed().as_secs_f64())?
                }
            };
            searched += 1;
            let leads =
                lane.best.as_ref().is_none_or(|best| (score(&standing), standing.tie) > (score(best), best.tie));
            if leads && standing.mean.is_some() {
                lane.best = Some(standing.clone());
            }
            lane.all.push(standing);
        }
    }
    if cut {
        cuts.push(format!("the search after {searched} candidates"));
    }
    let one_model = contest.models.len() == 1;
    for lane in lanes {
        if one_model && round.rows == last.rows {
            standings.extend(lane.all.into_iter().filter(|standing| standing.tuned));
            continue;
        }
        // Of many draws one is best by luck: it counts if it beats the defaults by more than the error of the difference.
        let proven = |best: &Standing| match lane.all.first().filter(|first| first.mean.is_some()) {
            Some(first) => {
                let pairs = best.scores.iter().zip(&first.scores);
                let gains: Vec<f64> =
                    pairs.map(|(a, b)| contest.metric.turned(*a) - contest.metric.turned(*b)).collect();
                let (gain, error) = search::mean_and_error(&gains);
                gain > error || best.tie > first.tie && gain >= 0.0
            }
            None => true,
        };
        let Some(best) = lane.best.as_ref().filter(|best| best.tuned && proven(best)).cloned() else { continue };
        if round.rows == last.rows {
            standings.push(best);
            continue;
        }
        let start = Instant::now();
        let expected = best.seconds * (last.rows as f64 / round.rows as f64).powf(0.9);
        let end = contest.begin + contest.budget.mul_f64(0.75);
        if start + Duration::from_secs_f64(expected) > end {
            cuts.push(format!("{} as the search found it, on all rows", best.model));
            continue;
        }
        let outcome = judge(contest, &best.spec, last, &ctx.clone().with_deadline(end));
        ctx.check()?;
        let standing = Standing::new(&best.spec, last.rows, true)?.scored(outcome, start.elapsed().as_secs_f64())?;
        match standing.mean {
            Some(_) => standings.push(standing),
            None => cuts.push(format!("{} as the search found it, on all rows", standing.model)),
        }
    }
    Ok(searched)
}

/// Says who is as good as the first, by the differences on the same folds.
fn mark(standings: &mut [Standing]) {
    let Some(best) = standings.first().map(|best| best.scores.clone()) else { return };
    for standing in standings.iter_mut() {
        if standing.scores.len() == best.len() && standing.mean.is_some() {
            let differences: Vec<f64> = best.iter().zip(&standing.scores).map(|(a, b)| a - b).collect();
            let (mean, error) = search::mean_and_error(&differences);
            // Differing on a single fold the two are equal but for rounding.
            standing.as_good = mean.abs() <= error * (1.0 + 1e-9);
        }
    }
}

fn flexibility(model: &str) -> Option<Flexibility> {
    ermine::entry(model).ok().map(|entry| entry.info.flexibility)
}

/// One standard error rule (Breiman et al. 1984): the simplest of those that are as good as the first takes its place, if the first
/// does not beat it on most folds as well; a single wild fold makes a wide error, and many things as good. Returns who led.
fn prefer_simple(standings: &mut [Standing], metric: &Metric) -> Option<String> {
    let first = standings.first()?;
    let close = |other: &Standing| {
        let pairs = first.scores.iter().zip(&other.scores);
        let beaten = pairs.filter(|(a, b)| metric.turned(**a) > metric.turned(**b)).count();
        other.as_good && 2 * beaten <= first.scores.len() + 1
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

    /// Standings in the order of these scores by fold, as a comparison leaves them; who is chosen, and who led.
    fn chosen(scores: &[(&str, [f64; 5])]) -> (String, Option<String>) {
        let standing = |(model, scores): &(&str, [f64; 5])| {
            Standing::new(&Spec::new(model), 100, false)?.scored(Ok((scores.to_vec(), 0.0)), 0.1)
        };
        let mut standings: Vec<Standing> = scores.iter().map(standing).collect::<Result<_>>().unwrap();
        mark(&mut standings);
        let leader = prefer_simple(&mut standings, metrics::metric("r2").unwrap());
        assert_eq!(standings.len(), scores.len());
        (standings[0].model.clone(), leader)
    }

    #[test]
    fn boosted_trees_go_on_to_more_rows() {
        let models = ["RidgeCV", "SVR", "LassoCV", "HistGradientBoostingRegressor", "DecisionTreeRegressor"];
        let standing = |model: &&str| Standing::new(&Spec::new(model), 100, false);
        let standings = models.iter().map(standing).collect::<Result<_>>().unwrap();
        let (ahead, behind) = split_seats(standings, 2);
        let names = |list: Vec<Standing>| list.into_iter().map(|standing| standing.model).collect::<Vec<_>>();
        assert_eq!(names(ahead), ["RidgeCV", "SVR", "HistGradientBoostingRegressor"]);
        assert_eq!(names(behind), ["LassoCV", "DecisionTreeRegressor"]);
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
}
