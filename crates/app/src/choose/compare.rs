//! Every sensible model with its sensible preparation, by cross-validation; then a search through the declared ranges
//! of the best few.
//!
//! Many rows: all candidates meet on a sample first, the better ones go on to four times as many rows, and so on
//! (successive halving, Jamieson and Talwalkar 2016). What is tried is planned by predicted work and not by the clock:
//! everything is drawn by (seed, name, number), so the outcome is the same on any machine, for any number of threads
//! and workers. A time limit can only stop it early, and then what was not done is said. Workers share out the
//! candidates.
//!
//! Of small tables the contenders are folded several times over. The best few together, as one model that votes, are a
//! candidate like any other. What decides is the score expected on all rows, from what a model gained from sample to
//! sample; so one that was scored on a sample only may win. Among the candidates is a guess, the same for every row: it
//! is chosen where no model is better by more than the error.

use super::{
    Comparison, Standing,
    candidates::{Size, candidates, in_units},
    standing::{is_guess, mark, mean_and_error, prefer_guess, prefer_simple},
};
use crate::{
    judge::{self, Predictions},
    rows::{Encoded, Labels, RowSet, Rows, sampled},
    table::Schema,
};
use ermine::{
    Cancel, Ctx, Error, Output, Result, Spec, Task, Value,
    core::{
        ctx::{Alone, Progress, all_gather},
        rng,
    },
    metrics::{self, Metric},
    search,
    split::Fold,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Instant};

/// Rows of the first rung when there are many.
const FIRST_RUNG: usize = 2000;
/// A search looks at this many rows at most; what it finds is then compared on all.
const SEARCH_ROWS: usize = 10_000;
/// How many models are searched.
const FINALISTS: usize = 3;
/// How many models a blend has at most.
const BLENDED: usize = 3;
/// Shares of the work that are spent when the samples, all rows, and the search are done.
const SAMPLES_END: f64 = 0.3;
const RUNGS_END: f64 = 0.6;
const SEARCH_END: f64 = 0.9;

/// What is to be compared, and how much work it may take.
pub struct Contest<'a> {
    pub task: Task,
    /// Only these models; empty for all that make sense.
    pub models: &'a [Spec],
    pub metric: &'static Metric,
    pub folds: usize,
    pub seed: u64,
    /// Rows that the chosen model can be fitted on, and the work that this may take.
    pub rows: usize,
    pub work_of_fit: f64,
    /// Candidates that a search draws for each finalist; 0 for no search.
    pub draws: usize,
    /// Predicted seconds of one core.
    pub work: f64,
    pub deadline: Option<Instant>,
    /// Ends the comparison when it is raised.
    pub enough: Option<&'a Cancel>,
    /// The columns of the rows.
    pub features: &'a Schema,
}

/// A sample with its folds.
struct Rung {
    rows: RowSet,
    folds: Vec<Fold>,
    /// The same rows folded anew, for those that are close to each other.
    again: Vec<Fold>,
}

impl Rung {
    fn new(rows: &Rows, size: usize, folds: usize, seed: u64) -> Result<Rung> {
        let set = RowSet::of(rows.take(&sampled(rows.len(), size, seed, "round")));
        let once = set.folds(folds, seed)?;
        let mut again = Vec::new();
        let repetitions = if set.labels().can_be_folded_anew() { repetitions(size) } else { 1 };
        for number in 1..repetitions {
            again.extend(set.folds(folds, rng::key(seed, "folds again", number))?);
        }
        Ok(Rung { folds: once, again, rows: set })
    }

    /// How often the contenders are folded.
    fn repeats(&self) -> usize {
        1 + self.again.len() / self.folds.len()
    }

    /// Mean square of the target about its mean, or 0 for classes.
    fn spread(&self) -> f64 {
        let Some(Encoded::Real(y)) = &self.rows.labels().target else { return 0.0 };
        let weights = self.rows.labels().weights.as_deref();
        let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
        let total: f64 = (0..y.len()).map(weight).sum();
        let mean = (0..y.len()).map(|i| weight(i) * y[i]).sum::<f64>() / total;
        (0..y.len()).map(|i| weight(i) * (y[i] - mean).powi(2)).sum::<f64>() / total
    }
}

/// The folds of few rows depend much on how they fall.
fn repetitions(rows: usize) -> u64 {
    match rows {
        0..=300 => 4,
        301..=1000 => 2,
        _ => 1,
    }
}

/// How a candidate came out.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Scored {
    /// The metric on each fold.
    pub scores: Vec<f64>,
    /// Log loss on each fold, infinite without probabilities.
    pub losses: Vec<f64>,
    pub seconds: f64,
    /// Why there are no scores.
    pub problem: Option<String>,
    /// Stopped by the clock.
    pub cut: bool,
    /// Some prediction was far outside the target.
    pub wild: bool,
}

/// The comparison under way.
struct Course<'a> {
    contest: &'a Contest<'a>,
    rows: &'a Rows,
    size: Size,
    spent: f64,
    /// How models did on each rung: rows, and the metric.
    curves: BTreeMap<String, Vec<(usize, f64)>>,
    /// What the clock, and what the effort did not allow.
    cuts: Vec<String>,
    skipped: Vec<String>,
}

/// Runs the comparison on rows that no test score will be taken from, the same on every worker.
pub fn compare(contest: &Contest, rows: &Rows, ctx: &Ctx) -> Result<Comparison> {
    let begin = Instant::now();
    let (specs, left_out) = candidates(contest.task, contest.models, rows)?;
    if specs.is_empty() {
        return Err(Error::Data("there is no model to compare".into()));
    }
    let size = Size::of(rows);
    let (curves, cuts, skipped) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut course = Course { contest, rows, size, spent: 0.0, curves, cuts, skipped };
    let (mut standings, out, last) = course.climb(specs, ctx)?;
    let mut searched = 0;
    if contest.draws > 0 && !standings.is_empty() {
        searched = course.search(&last, &mut standings, ctx)?;
    }
    standings.sort_by(|a, b| better(contest.metric, a, b));
    course.repeat(&last, &mut standings, ctx)?;
    if contest.draws > 0 && !standings.is_empty() {
        if contest.models.is_empty() {
            course.blend(&last, &mut standings, ctx)?;
            standings.sort_by(|a, b| better(contest.metric, a, b));
        }
        // One line a model: its best form.
        if contest.models.len() != 1 {
            let mut seen: Vec<String> = Vec::new();
            standings.retain(|standing| {
                let first = !seen.contains(&standing.model);
                seen.push(standing.model.clone());
                first
            });
        }
    }
    mark(&mut standings, last.folds.len());
    let mut leader = prefer_guess(&mut standings, contest.metric, last.folds.len());
    if !standings.first().is_some_and(|first| is_guess(&first.model)) {
        leader = prefer_simple(&mut standings, contest.metric);
    }
    if contest.models.is_empty() {
        course.say_probabilities(&last, &mut standings, ctx)?;
    }
    let mut out = out;
    out.sort_by(|a, b| b.rows.cmp(&a.rows).then(better(contest.metric, a, b)));
    for standing in standings.iter_mut().chain(&mut out) {
        standing.expected = course.expected(standing)?;
    }
    let end = standings.len();
    standings.extend(out);
    if let Some(place) = overtaking(&standings, (end, last.folds.len()), contest.metric) {
        standings.iter_mut().for_each(|standing| standing.as_good = false);
        standings[..=place].rotate_right(1);
        standings[0].as_good = true;
        leader = None;
    }
    lower_guess(&mut standings, contest.metric);
    Ok(Comparison {
        metric: contest.metric.plain_name(),
        greater_is_better: contest.metric.greater_is_better,
        folds: last.folds.len(),
        repeats: last.repeats(),
        rows: rows.len(),
        standings,
        leader,
        left_out,
        searched,
        skipped: course.skipped,
        cuts: course.cuts,
        work: course.spent,
        seconds: begin.elapsed().as_secs_f64(),
    })
}

/// Contenders, which were folded several times, before the others; the higher score first, then the smaller loss;
/// whoever predicted values far outside the target comes last.
fn better(metric: &Metric, a: &Standing, b: &Standing) -> std::cmp::Ordering {
    let score = |s: &Standing| s.mean.map_or(f64::NEG_INFINITY, |mean| metric.turned(mean));
    let contends = |s: &Standing| std::cmp::Reverse(s.scores.len());
    a.wild
        .cmp(&b.wild)
        .then(contends(a).cmp(&contends(b)))
        .then(score(b).total_cmp(&score(a)))
        .then(b.tie.total_cmp(&a.tie))
}

/// The guess was folded as often as the contenders, but is none: unless it is chosen or tied, it stands where its score
/// puts it.
fn lower_guess(standings: &mut Vec<Standing>, metric: &Metric) {
    let is_loser = |standing: &Standing| is_guess(&standing.model) && !standing.as_good;
    let Some(place) = standings.iter().skip(1).position(is_loser).map(|place| place + 1) else { return };
    let guess = standings.remove(place);
    let turned = |standing: &Standing| standing.mean.map(|mean| metric.turned(mean));
    let last = standings.iter().rposition(|other| turned(other) >= turned(&guess));
    standings.insert(last.map_or(place, |last| last + 1), guess);
}

/// Who is expected to be ahead of the first on all rows, and says how sure it is. Those that came to the end must gain
/// on more rows, and lead by more than the error of the difference, fold by fold. One that was scored on a sample only
/// must lead by more than its own error: on more rows it does not get worse.
fn overtaking(standings: &[Standing], (end, folds): (usize, usize), metric: &Metric) -> Option<usize> {
    let first = standings.first()?;
    let beaten = metric.turned(first.expected?);
    let error = |place: usize| {
        let own = &standings[place];
        if place >= end {
            return Some(mean_and_error(&own.scores, own.scores.len()).1);
        }
        let comparable = own.expected != own.mean && own.scores.len() == first.scores.len();
        let differences: Vec<f64> = own.scores.iter().zip(&first.scores).map(|(own, first)| own - first).collect();
        comparable.then(|| mean_and_error(&differences, folds).1)
    };
    let lead = |place: usize| {
        let expected = standings[place].expected.filter(|_| !standings[place].wild && standings[place].can_vote())?;
        Some(metric.turned(expected) - beaten - error(place)?).filter(|lead| *lead > 0.0)
    };
    let places = (1..standings.len()).filter_map(|place| Some((place, lead(place)?)));
    places.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map(|(place, _)| place)
}

/// Sizes of the rungs: a sample, four times as many, and so on; all rows last.
fn sizes(rows: usize) -> Vec<usize> {
    let mut sizes = Vec::new();
    let mut size = FIRST_RUNG;
    while size * 2 < rows {
        sizes.push(size);
        size *= 4;
    }
    sizes.push(rows);
    sizes
}

impl Course<'_> {
    fn cost(&self, spec: &Spec, rows: usize, folds: usize) -> Result<f64> {
        let learnt = rows - rows / folds.max(1);
        Ok(self.size.cost(&*ermine::make(spec)?, learnt) * folds as f64)
    }

    fn cheapest_first(&self, specs: Vec<Spec>) -> Result<Vec<Spec>> {
        let mut costed = Vec::new();
        for spec in specs {
            costed.push((self.cost(&spec, self.rows.len().min(FIRST_RUNG), 3)?, spec));
        }
        costed.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(costed.into_iter().map(|(_, spec)| spec).collect())
    }

    /// Whoever keeps learning right behind the first, or before it where that costs more: it must not be the one that
    /// the work does not reach.
    fn late_learners_early(&self, mut specs: Vec<Spec>, rows: usize) -> Result<Vec<Spec>> {
        if let Some(place) = specs.iter().position(|spec| keeps_learning(&spec.name)) {
            let is_cheaper = self.cost(&specs[place], rows, 3)? < self.cost(&specs[0], rows, 3)?;
            let to = if is_cheaper { 0 } else { 1.min(place) };
            specs[to..=place].rotate_right(1);
        }
        Ok(specs)
    }

    /// Those of the candidates, in order, that the work up to this share of all allows; models that were asked for
    /// always.
    fn affordable(&mut self, specs: Vec<Spec>, rung: &Rung, until: f64) -> Result<Vec<Spec>> {
        let rows = rung.rows.len();
        let mut taken = Vec::new();
        for spec in specs {
            let cost = self.cost(&spec, rows, rung.folds.len())?;
            let free = !self.contest.models.is_empty() || taken.is_empty();
            if free || self.spent + cost <= until * self.contest.work {
                self.spent += cost;
                taken.push(spec);
            } else {
                self.skipped.push(format!("{} on {rows} rows", spec.name));
            }
        }
        Ok(taken)
    }

    /// From the smallest sample to all rows, the better ones going on. Those that came to the end, those that did not,
    /// and the last rung.
    fn climb(&mut self, specs: Vec<Spec>, ctx: &Ctx) -> Result<(Vec<Standing>, Vec<Standing>, Rung)> {
        let (contest, n) = (self.contest, self.rows.len());
        let folds = contest.folds.max(2).min(n / 2).max(2);
        let folds = if n > 10_000 { folds.min(3) } else { folds };
        let sizes = sizes(n);
        let mut alive = self.cheapest_first(specs)?;
        let mut out: Vec<Standing> = Vec::new();
        let mut before: Vec<Standing> = Vec::new();
        for (number, &size) in sizes.iter().enumerate() {
            let last = number + 1 == sizes.len();
            let rung = Rung::new(self.rows, size, if last { folds } else { folds.min(3) }, contest.seed)?;
            let until = if last { RUNGS_END } else { SAMPLES_END * (number + 1) as f64 / (sizes.len() - 1) as f64 };
            let tried = self.affordable(self.late_learners_early(alive, size)?, &rung, until)?;
            let scored = self.evaluate("comparing", &tried, (&rung, &rung.folds), ctx)?;
            let (mut standings, mut failed) = (Vec::new(), Vec::new());
            for (spec, scored) in tried.iter().zip(scored) {
                let standing = Standing::new(spec, size, false)?.scored(scored, rung.folds.len());
                if standing.mean.is_some() { standings.push(standing) } else { failed.push(standing) }
            }
            standings.sort_by(|a, b| better(contest.metric, a, b));
            for standing in &standings {
                let curve = self.curves.entry(standing.model.clone()).or_default();
                curve.extend(standing.mean.map(|mean| (size, mean)));
            }
            // Whoever did not get as far as the others stands where it was last seen.
            let stopped = before.drain(..).filter(|known| !standings.iter().any(|here| here.spec == known.spec));
            out.extend(stopped);
            failed.retain(|failed| !out.iter().any(|known| known.spec == failed.spec));
            out.extend(failed);
            if last {
                // Nothing was done on all rows: the largest sample that was decides.
                if standings.is_empty() {
                    let most = out.iter().filter(|known| known.mean.is_some()).map(|known| known.rows).max();
                    let (decide, rest) =
                        out.into_iter().partition(|known| known.mean.is_some() && Some(known.rows) == most);
                    (standings, out) = (decide, rest);
                    standings.sort_by(|a, b| better(contest.metric, a, b));
                }
                return Ok((standings, out, rung));
            }
            let seats = if number + 2 == sizes.len() { 4 } else { 6 };
            let (ahead, behind) = split_seats(standings, seats);
            out.extend(behind);
            alive = ahead.iter().map(|standing| standing.spec.clone()).collect();
            before = ahead;
        }
        unreachable!("the last rung returns")
    }

    /// Scores of candidates by cross-validation. Workers deal them out; everyone gets all scores.
    fn evaluate(
        &mut self,
        what: &'static str,
        specs: &[Spec],
        (rung, folds): (&Rung, &[Fold]),
        ctx: &Ctx,
    ) -> Result<Vec<Scored>> {
        let (exchange, contest) = (ctx.exchange(), self.contest);
        let (rank, workers, rows) = (exchange.rank(), exchange.size(), rung.rows.len());
        let mut alone = ctx.clone().with_exchange(Alone);
        if let Some(deadline) = contest.deadline {
            alone = alone.with_deadline(deadline);
        }
        if let Some(enough) = contest.enough {
            alone = alone.with_enough(enough.clone());
        }
        let score = || -> Result<Vec<(usize, Scored)>> {
            let mut mine = Vec::new();
            for i in (0..specs.len()).filter(|i| i % workers == rank) {
                ctx.check()?;
                ctx.progress(Progress { what, step: i + 1, of: Some(specs.len()), value: None });
                let scored = self.score(&specs[i], rung, folds, &alone)?;
                let standing =
                    Standing::new(&specs[i], rows, what == "searching")?.scored(scored.clone(), rung.folds.len());
                ctx.candidate(&standing.candidate(contest.metric));
                mine.push((i, scored));
            }
            Ok(mine)
        };
        let mine = score();
        let mut all: Vec<(usize, Scored)> = all_gather(exchange, mine)?.concat();
        all.sort_by_key(|(i, _)| *i);
        let cut = all.iter().filter(|(_, scored)| scored.cut);
        self.cuts.extend(cut.map(|(i, _)| format!("{} on {rows} rows", specs[*i].name)));
        Ok(all.into_iter().map(|(_, scored)| scored).collect())
    }

    fn score(&self, spec: &Spec, rung: &Rung, folds: &[Fold], ctx: &Ctx) -> Result<Scored> {
        let (metric, begin) = (self.contest.metric, Instant::now());
        let estimator = ermine::make(spec)?;
        let (loss, squares) = (metrics::metric("neg_log_loss")?, metrics::metric("neg_mean_squared_error")?);
        let spread = rung.spread();
        let score = |said: Predictions, learnt: &Labels, test: &Labels| -> Result<(f64, f64, bool)> {
            let truth = test.target.as_ref().ok_or_else(|| Error::Data("there is no target".into()))?;
            let weights = test.weights.as_deref();
            let value = match metric.name == "r2" && spread > 0.0 {
                true => 1.0 - said.metric(squares, truth, weights)?.abs() / spread,
                false => said.metric(metric, truth, weights)?,
            };
            Ok((value, said.metric(loss, truth, weights).unwrap_or(f64::INFINITY), is_wild(&said, learnt, truth)))
        };
        let outcome = judge::cross_validate(&rung.rows, folds, &*estimator, self.contest.features, None, ctx, score);
        let seconds = begin.elapsed().as_secs_f64();
        let none = Scored { seconds, ..Scored::default() };
        Ok(match outcome {
            Ok(folds) => Scored {
                losses: folds.iter().map(|(_, loss, _)| *loss).collect(),
                wild: folds.iter().any(|(.., wild)| *wild),
                scores: folds.into_iter().map(|(value, ..)| value).collect(),
                ..none
            },
            Err(Error::Cancelled) => Scored { problem: Some("stopped early".into()), cut: true, ..none },
            Err(error) => {
                let line = error.to_string().lines().next().unwrap_or_default().to_string();
                Scored { problem: Some(line), ..none }
            }
        })
    }

    /// Draws from the declared ranges of the best few; the best draw of each joins the standings. Returns how many were
    /// tried.
    fn search(&mut self, last: &Rung, standings: &mut Vec<Standing>, ctx: &Ctx) -> Result<usize> {
        let contest = self.contest;
        let small = match self.rows.len() > SEARCH_ROWS {
            true => Some(Rung::new(self.rows, SEARCH_ROWS, 3, contest.seed)?),
            false => None,
        };
        let rung = small.as_ref().unwrap_or(last);
        let rows = rung.rows.len();
        // The candidates of each finalist, the one that is standing first; what is known of it already.
        let mut finalists: Vec<Vec<Spec>> = Vec::new();
        let mut found: Vec<Vec<Standing>> = Vec::new();
        for standing in standings.iter().filter(|standing| !is_guess(&standing.model)).take(FINALISTS) {
            let space = search::space(&standing.spec)?;
            if space.is_empty() {
                continue;
            }
            let seed = rng::key(contest.seed, &standing.model, 0);
            let mut draws = search::random(&Spec::new(&standing.model), &space, contest.draws + 1, seed)?;
            draws = draws.into_iter().map(|spec| in_units(spec, self.rows)).collect::<Result<_>>()?;
            draws[0] = standing.spec.clone();
            finalists.push(draws);
            found.push(if small.is_none() { vec![standing.clone()] } else { Vec::new() });
        }
        // Everybody's first draw, then everybody's second: when the work is spent, all had the same chance.
        let most = finalists.iter().map(Vec::len).max().unwrap_or(0);
        let order = (0..most).flat_map(|number| (0..finalists.len()).map(move |finalist| (finalist, number)));
        let (mut planned, mut complete) = (Vec::new(), true);
        let known = |finalist: usize, number: usize| number < found[finalist].len();
        let wanted = order.filter(|&(finalist, number)| number < finalists[finalist].len() && !known(finalist, number));
        for (finalist, number) in wanted {
            let cost = self.cost(&finalists[finalist][number], rows, rung.folds.len())?;
            if number > 1 && self.spent + cost > SEARCH_END * contest.work {
                complete = false;
                break;
            }
            self.spent += cost;
            planned.push((finalist, number));
        }
        let of = |&(finalist, number): &(usize, usize)| finalists[finalist][number].clone();
        let specs: Vec<Spec> = planned.iter().map(of).collect();
        let scored = self.evaluate("searching", &specs, (rung, &rung.folds), ctx)?;
        if !complete {
            let all = finalists.iter().map(Vec::len).sum::<usize>() - found.iter().map(Vec::len).sum::<usize>();
            self.skipped.push(format!("{} of {all} candidates of the search", all - planned.len()));
        }
        for ((finalist, number), scored) in planned.iter().zip(scored) {
            let standing = Standing::new(&finalists[*finalist][*number], rows, *number > 0)?;
            found[*finalist].push(standing.scored(scored, rung.folds.len()));
        }
        let mut proven: Vec<Standing> = Vec::new();
        for all in found {
            if contest.models.len() == 1 && small.is_none() {
                standings.extend(all.into_iter().filter(|standing| standing.tuned && standing.mean.is_some()));
            } else {
                proven.extend(best_draw(all, contest.metric, rung.folds.len()));
            }
        }
        if small.is_some() && !proven.is_empty() {
            let specs: Vec<Spec> = proven.iter().map(|standing| standing.spec.clone()).collect();
            let specs = self.affordable(specs, last, 1.0)?;
            let scored = self.evaluate("searching", &specs, (last, &last.folds), ctx)?;
            let standing = |(spec, scored): (&Spec, Scored)| {
                Ok(Standing::new(spec, last.rows.len(), true)?.scored(scored, last.folds.len()))
            };
            proven = specs.iter().zip(scored).map(standing).collect::<Result<_>>()?;
        }
        standings.extend(proven.into_iter().filter(|standing| standing.mean.is_some()));
        Ok(planned.len())
    }

    /// The score on as many rows as the chosen model is fitted on. Each time that the rows are four times as many, a
    /// model gains half of what it gained the last time, as an error does that falls with the root of the rows.
    fn expected(&self, standing: &Standing) -> Result<Option<f64>> {
        let Some(mean) = standing.mean else { return Ok(None) };
        let estimator = ermine::make(&standing.spec)?;
        let rows = self.size.rows_within(&*estimator, self.contest.rows, self.contest.work_of_fit);
        let fourfold = |from: usize, to: usize| (to as f64 / from as f64).log(4.0).max(0.0);
        let gain = match self.curves.get(&standing.model).map(Vec::as_slice) {
            Some([.., (before, then), (after, now)]) => {
                let metric = self.contest.metric;
                (metric.turned(*now) - metric.turned(*then)).max(0.0) / fourfold(*before, *after)
            }
            _ => 0.0,
        };
        let more = gain * (1.0 - 0.5f64.powf(fourfold(standing.rows, rows)));
        Ok(Some(if self.contest.metric.greater_is_better { mean + more } else { mean - more }))
    }

    /// Folds the rows anew for those that are tied or may go into a blend: on few rows one way of folding decides too
    /// much.
    fn repeat(&mut self, last: &Rung, standings: &mut [Standing], ctx: &Ctx) -> Result<()> {
        if last.again.is_empty() {
            return Ok(());
        }
        mark(standings, last.folds.len());
        let mut close = Vec::new();
        for (place, standing) in standings.iter().enumerate().filter(|(_, standing)| standing.rows == last.rows.len()) {
            let cost = self.cost(&standing.spec, last.rows.len(), last.again.len())?;
            let wanted = standing.as_good || place < BLENDED || is_guess(&standing.model);
            if wanted && self.spent + cost <= self.contest.work {
                self.spent += cost;
                close.push(place);
            }
        }
        let specs: Vec<Spec> = close.iter().map(|&place| standings[place].spec.clone()).collect();
        let scored = self.evaluate("comparing again", &specs, (last, &last.again), ctx)?;
        for (place, scored) in close.into_iter().zip(scored) {
            standings[place].scored_again(scored, last.folds.len());
        }
        standings.sort_by(|a, b| better(self.contest.metric, a, b));
        Ok(())
    }

    /// How one candidate does on all folds of the last rung.
    fn judged(&mut self, what: &'static str, spec: &Spec, last: &Rung, ctx: &Ctx) -> Result<Option<Standing>> {
        let folds: Vec<Fold> = last.folds.iter().chain(&last.again).cloned().collect();
        let scored = self.evaluate(what, std::slice::from_ref(spec), (last, &folds), ctx)?.swap_remove(0);
        let standing = Standing::new(spec, last.rows.len(), false)?.scored(scored, last.folds.len());
        Ok(Some(standing).filter(|standing| standing.mean.is_some()))
    }

    /// The best few of different kinds, each in its best form, as one model that averages them: a candidate like any
    /// other.
    fn blend(&mut self, last: &Rung, standings: &mut Vec<Standing>, ctx: &Ctx) -> Result<()> {
        let voting = match self.contest.task {
            Task::Classification => "VotingClassifier",
            _ => "VotingRegressor",
        };
        let rows = last.rows.len();
        let mut members: Vec<&Standing> = Vec::new();
        for standing in
            standings.iter().filter(|standing| standing.rows == rows && !standing.wild && standing.can_vote())
        {
            let is_new = members.iter().all(|member| member.model != standing.model);
            if members.len() < BLENDED && is_new && !is_guess(&standing.model) {
                members.push(standing);
            }
        }
        if members.len() < 2 {
            return Ok(());
        }
        let specs = members.iter().map(|member| Value::Model(Box::new(member.spec.clone()))).collect();
        let mut blend = Spec::new(voting);
        blend.params.insert("estimators".into(), Value::List(specs));
        if self.contest.task == Task::Classification {
            blend.params.insert("voting".into(), Value::Text("soft".into()));
        }
        let cost = self.cost(&blend, rows, last.folds.len() + last.again.len())?;
        if self.spent + cost > self.contest.work {
            self.skipped.push(format!("a blend on {rows} rows"));
            return Ok(());
        }
        self.spent += cost;
        standings.extend(self.judged("blending", &blend, last, ctx)?);
        Ok(())
    }

    /// A chosen classifier says how sure it is. One that has margins only gives its place to a tied one that has
    /// probabilities, or gets its margins calibrated: a logistic regression on margins of rows that it did not learn
    /// from (Platt 1999).
    fn say_probabilities(&mut self, last: &Rung, standings: &mut Vec<Standing>, ctx: &Ctx) -> Result<()> {
        let Some(first) = standings.first().filter(|first| !first.can_vote()) else { return Ok(()) };
        let tied = standings.iter().position(|other| other.as_good && other.can_vote() && !is_guess(&other.model));
        if let Some(place) = tied {
            standings[..=place].rotate_right(1);
            return Ok(());
        }
        let mut calibrated = Spec::new("StackingClassifier");
        let member = Value::Model(Box::new(first.spec.clone()));
        calibrated.params.insert("estimators".into(), Value::List(vec![member]));
        self.spent += self.cost(&calibrated, last.rows.len(), last.folds.len() + last.again.len())?;
        if let Some(standing) = self.judged("calibrating", &calibrated, last, ctx)? {
            standings.insert(0, Standing { as_good: true, ..standing });
        }
        Ok(())
    }
}

/// Whether some prediction is further outside the target that was learnt from than that target is wide, and as far from
/// the truth: what lies out there itself is rightly predicted there.
fn is_wild(said: &Predictions, learnt: &Labels, truth: &Encoded) -> bool {
    let (Some(values), Some(Encoded::Real(y)), Encoded::Real(truth)) = (said.get(Output::Value), &learnt.target, truth)
    else {
        return false;
    };
    let low = y.iter().copied().fold(f64::INFINITY, f64::min);
    let high = y.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let wide = high - low;
    let allowed = low - wide..=high + wide;
    let is_wrong = |(value, truth): (&f64, &f64)| !(allowed.contains(value) || (value - truth).abs() <= wide);
    values.values.iter().zip(truth).any(is_wrong)
}

/// Of many draws one is best by luck: it counts if it beats the first by more than the error of the difference.
fn best_draw(mut all: Vec<Standing>, metric: &Metric, folds: usize) -> Option<Standing> {
    let first = all.first().cloned()?;
    all.retain(|standing| standing.mean.is_some());
    let best = all.into_iter().min_by(|a, b| better(metric, a, b)).filter(|best| best.tuned)?;
    if first.mean.is_none() {
        return Some(best);
    }
    let pairs = best.scores.iter().zip(&first.scores);
    let gains: Vec<f64> = pairs.map(|(a, b)| metric.turned(*a) - metric.turned(*b)).collect();
    let (gain, error) = mean_and_error(&gains, folds);
    (gain > error || best.tie > first.tie && gain >= 0.0).then_some(best)
}

fn keeps_learning(model: &str) -> bool {
    ermine::entry(model).is_ok_and(|entry| entry.info.keeps_learning)
}

/// Who goes on to more rows: the first `seats`, and whoever keeps learning. On a sample these are often behind models
/// that have less to learn, on all rows mostly ahead.
fn split_seats(standings: Vec<Standing>, seats: usize) -> (Vec<Standing>, Vec<Standing>) {
    let stays = |(place, standing): &(usize, Standing)| *place < seats || keeps_learning(&standing.model);
    let (ahead, behind): (Vec<_>, Vec<_>) = standings.into_iter().enumerate().partition(stays);
    let of = |list: Vec<(usize, Standing)>| list.into_iter().map(|(_, standing)| standing).collect();
    (of(ahead), of(behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_on_a_sample_may_win() {
        let standing = |model: &str, rows: usize, scores: &[f64], gain: f64| {
            let scores = scores.to_vec();
            let scored = Scored { scores, ..Scored::default() };
            let standing = Standing::new(&Spec::new(model), rows, false).unwrap().scored(scored, 3);
            Standing { expected: standing.mean.map(|mean| mean + gain), ..standing }
        };
        let r2 = metrics::metric("r2").unwrap();
        let overtakes = |other: Standing| {
            let standings = [standing("RidgeCV", 32_000, &[0.68, 0.69, 0.68], 0.0), other];
            let end = if standings[1].rows == 32_000 { 2 } else { 1 };
            overtaking(&standings, (end, 3), r2) == Some(1)
        };
        let sampled = |scores: &[f64]| standing("RandomForestRegressor", 2000, scores, 0.0);
        assert!(overtakes(sampled(&[0.74, 0.75, 0.74])));
        // By no more than its own error.
        assert!(!overtakes(sampled(&[0.60, 0.80, 0.70])));
        assert!(!overtakes(sampled(&[0.64, 0.65, 0.66])));
        // Level on the same rows, and rising.
        let boosted = |gain: f64| standing("HistGradientBoostingRegressor", 32_000, &[0.67, 0.69, 0.68], gain);
        assert!(overtakes(boosted(0.03)) && !overtakes(boosted(0.002)) && !overtakes(boosted(0.0)));
    }

    #[test]
    fn far_out_is_wild_only_where_the_truth_is_not() {
        let labels = |y: &[f64]| Labels { target: Some(Encoded::Real(y.to_vec())), ..Labels::default() };
        let said = |value: f64| {
            let mut said = Predictions::default();
            said.insert(Output::Value, ermine::Matrix::new(vec![1.0, value], 2, 1));
            said
        };
        let learnt = labels(&[0.0, 10.0, 4.0]);
        let wild = |value: f64, truth: f64| is_wild(&said(value), &learnt, &Encoded::Real(vec![1.0, truth]));
        assert!(wild(5000.0, 5.0) && wild(-11.0, 0.0) && wild(f64::NAN, 5.0) && wild(5000.0, 90.0));
        // A row that is a thousand times as large as all others, rightly predicted.
        assert!(!wild(5000.0, 5003.0) && !wild(19.0, 3.0));
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
}
