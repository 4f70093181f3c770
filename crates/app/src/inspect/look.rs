//! A first look at a table: every column with its distribution, how it goes with the target, what is odd about it.
//!
//! Counts, ranges and missing values are of all rows; distributions and associations of a sample of them
//! ([`crate::read::Sample`]).

use super::{Findings, is_id};
use crate::{
    plan::{Dropped, Plan, Supervised},
    read::Opened,
    rows::Encoded,
    run::Job,
    table::{Column, Kind, MISSING, Summary, Table},
};
use ermine::{Ctx, Error, Result};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

const BINS: usize = 24;
/// Whole numbers that share a bar; of more, uneven shares are not seen.
const WHOLE: f64 = 20.0;
/// Levels that are named; the others are counted together.
const LEVELS: usize = 8;
/// Classes that a distribution is split by.
const CLASSES: usize = 6;
/// Columns of numbers that are set beside each other.
const CORRELATED: usize = 30;
/// Rows that are shown as they stand.
const SHOWN: usize = 20;
/// Columns of a report; a page of more would be slow and nobody would read it.
const REPORTED: usize = 60;

/// All that is shown of a table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Look {
    pub rows: usize,
    /// Rows that distributions are drawn from.
    pub sampled: usize,
    /// Rows of the sample that are equal to an earlier one.
    pub duplicates: usize,
    pub task: Option<&'static str>,
    pub target: Option<String>,
    /// Rows of the sample in which a value is missing.
    pub incomplete: usize,
    /// Those that a distribution is split by: the most frequent, in the order of all classes.
    pub classes: Vec<String>,
    /// The place of each of them among all classes, so that a class has one colour wherever it is drawn.
    pub places: Vec<usize>,
    pub columns: Vec<LookColumn>,
    /// Names and Pearson's correlation of each with each.
    pub correlations: Correlations,
    /// Columns that a comparison would leave out.
    pub left_out: Vec<Dropped>,
    pub worries: Vec<String>,
    pub assumed: Vec<String>,
    /// The first rows, as text.
    pub first: Vec<Vec<String>>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LookColumn {
    #[serde(flatten)]
    pub summary: Summary,
    pub picture: Picture,
    /// How it goes with the target.
    pub association: Option<Association>,
    /// Values further from the quartiles than three times the distance between them.
    pub outliers: usize,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Picture {
    /// Bins of equal width from `low` to `high`; one list of counts, or one for each class.
    Histogram {
        low: f64,
        high: f64,
        low_text: String,
        high_text: String,
        counts: Vec<Vec<usize>>,
    },
    /// The most frequent levels; the last is of all others, if there are any.
    Levels {
        names: Vec<String>,
        others: usize,
        counts: Vec<Vec<usize>>,
    },
    Text {
        examples: Vec<String>,
    },
    Empty,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Association {
    /// `correlation` has a sign; `correlation ratio` and `Cramér's V` are from 0 to 1.
    pub of: &'static str,
    pub value: f64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Correlations {
    pub names: Vec<String>,
    pub values: Vec<Vec<Option<f64>>>,
}

/// Looks at the table of a job. What cannot be planned yet (a target that is no target) becomes a worry.
pub fn look(job: &Job, opened: &Opened, ctx: &Ctx) -> Result<Look> {
    let mut look = match (&job.target, Plan::new(job, opened, ctx)) {
        (Some(_), Ok(plan)) => Look::of(opened, &plan)?,
        (Some(_), Err(error)) => Look { worries: vec![error.to_string()], ..Look::without_target(opened) },
        (None, _) => Look { left_out: ids(opened)?, ..Look::without_target(opened) },
    };
    look.target = job.target.clone();
    look.duplicates = duplicates(&opened.sample.table);
    look.first = first_rows(&opened.sample.table);
    Ok(look)
}

impl Look {
    /// The table of a plan.
    pub fn of(opened: &Opened, plan: &Plan) -> Result<Look> {
        let Some(target) = plan.target.as_ref().filter(|_| plan.task.is_supervised()) else {
            return Ok(Look { left_out: plan.dropped.clone(), ..Look::without_target(opened) });
        };
        let column = opened.sample.table.column(&target.name)?;
        let truth = match plan.classes() {
            [] => Encoded::real(&target.name, column)?,
            classes => Encoded::with_names(column, classes),
        };
        Ok(Look {
            task: Some(plan.task.name()),
            target: Some(target.name.clone()),
            left_out: plan.dropped.clone(),
            worries: plan.notes.clone(),
            ..Look::beside(opened, Some((&target.name, &truth)))
        })
    }

    fn without_target(opened: &Opened) -> Look {
        Look::beside(opened, None)
    }

    /// Every column by itself and beside the target.
    fn beside(opened: &Opened, target: Option<(&str, &Encoded)>) -> Look {
        let table = &opened.sample.table;
        let split = target.and_then(|(_, truth)| Split::of(truth));
        let seen = |(summary, (name, column)): (&Summary, (&str, &Column))| LookColumn {
            picture: picture(column, summary, split.as_ref()),
            association: target.filter(|(target, _)| *target != name).and_then(|(_, truth)| association(column, truth)),
            outliers: outliers(column),
            summary: summary.clone(),
        };
        Look {
            rows: opened.rows,
            sampled: table.rows(),
            incomplete: incomplete(table),
            columns: opened.summary.iter().zip(table.columns()).map(seen).collect(),
            correlations: correlations(table),
            assumed: opened.assumed.clone(),
            places: split.as_ref().map_or(Vec::new(), |split| split.places.clone()),
            classes: split.map_or(Vec::new(), |split| split.names),
            ..Look::default()
        }
    }

    /// What a report keeps of it: the target and the columns that go with it best. What the report says elsewhere, and
    /// rows of the table, it does not repeat.
    pub fn for_report(mut self) -> Look {
        let strength = |column: &LookColumn| match &column.association {
            _ if self.target.as_ref() == Some(&column.summary.name) => f64::INFINITY,
            Some(association) => association.value.abs(),
            None => -1.0,
        };
        if self.target.is_some() {
            let mut columns = std::mem::take(&mut self.columns);
            columns.sort_by(|a, b| strength(b).total_cmp(&strength(a)));
            self.columns = columns;
        }
        self.columns.truncate(REPORTED);
        Look { left_out: Vec::new(), worries: Vec::new(), assumed: Vec::new(), first: Vec::new(), ..self }
    }
}

/// Two columns of numbers as points, with a class where the target has few.
#[derive(Clone, Debug, Serialize)]
pub struct Points {
    pub names: [String; 2],
    /// Right, up, class.
    pub rows: Vec<(f64, f64, usize)>,
    pub classes: Vec<String>,
}

/// Points of a page: more would hide each other.
const POINTS: usize = 300;

/// The two columns of numbers that go with the target best, or the first two.
pub fn points(job: &Job, opened: &Opened, ctx: &Ctx) -> Result<Points> {
    let look = look(job, opened, ctx)?;
    let table = &opened.sample.table;
    let is_free = |column: &&LookColumn| {
        let name = &column.summary.name;
        column.summary.kind == Kind::Number
            && job.target.as_ref() != Some(name)
            && !job.ignore.contains(name)
            && look.left_out.iter().all(|drop| drop.column != *name)
    };
    let mut found: Vec<&LookColumn> = look.columns.iter().filter(is_free).collect();
    found.sort_by(|a, b| {
        let strength = |column: &LookColumn| column.association.as_ref().map_or(0.0, |found| found.value.abs());
        strength(b).total_cmp(&strength(a))
    });
    let [first, second, ..] = &found[..] else {
        return Err(Error::Data("the table has no two columns of numbers".into()));
    };
    let names = [first.summary.name.clone(), second.summary.name.clone()];
    let truth = match &job.target {
        Some(target) if !look.classes.is_empty() => Some(table.column(target)?),
        _ => None,
    };
    let (Column::Number(x), Column::Number(y)) = (table.column(&names[0])?, table.column(&names[1])?) else {
        return Err(Error::Data("the table has no two columns of numbers".into()));
    };
    let class = |row: usize| match truth {
        None => Some(0),
        Some(truth) if truth.is_missing(row) => None,
        Some(truth) => look.classes.iter().position(|name| *name == truth.value_text(row)),
    };
    let known = (0..table.rows()).filter(|&row| x[row].is_finite() && y[row].is_finite());
    let all: Vec<(f64, f64, usize)> = known.filter_map(|row| Some((x[row], y[row], class(row)?))).collect();
    let step = all.len().div_ceil(POINTS).max(1);
    Ok(Points { names, rows: all.into_iter().step_by(step).collect(), classes: look.classes })
}

/// Without a target, columns that look like an id.
fn ids(opened: &Opened) -> Result<Vec<Dropped>> {
    let mut found = Findings::default();
    for summary in &opened.summary {
        let column = opened.sample.table.column(&summary.name)?;
        let known = summary.rows - summary.missing;
        let repeats = summary.distinct.is_some_and(|distinct| distinct * 20 < known * 19);
        if !repeats && is_id(&summary.name, column, &opened.sample.numbers) {
            let reason = "looks like an id: every value is different".into();
            found.dropped.push(Dropped { column: summary.name.clone(), reason });
        }
    }
    Ok(found.dropped)
}

/// The class of each row, where there are few; rows of rarer classes have none.
struct Split {
    names: Vec<String>,
    /// Of each name among all classes.
    places: Vec<usize>,
    of_row: Vec<Option<usize>>,
}

impl Split {
    fn of(truth: &Encoded) -> Option<Split> {
        let Encoded::Class { codes, names } = truth else { return None };
        let mut counts = vec![0usize; names.len()];
        codes.iter().filter(|code| **code != MISSING).for_each(|code| counts[*code as usize] += 1);
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by_key(|&class| std::cmp::Reverse(counts[class]));
        order.truncate(CLASSES);
        order.sort_unstable();
        let place = |code: &u32| order.iter().position(|&class| class == *code as usize);
        Some(Split {
            names: order.iter().map(|&class| names[class].clone()).collect(),
            of_row: codes.iter().map(place).collect(),
            places: order,
        })
    }

    fn lists(split: Option<&Split>, bins: usize) -> Vec<Vec<usize>> {
        vec![vec![0; bins]; split.map_or(1, |split| split.names.len())]
    }

    fn count(split: Option<&Split>, counts: &mut [Vec<usize>], row: usize, bin: usize) {
        match split {
            None => counts[0][bin] += 1,
            Some(split) => {
                if let Some(class) = split.of_row[row] {
                    counts[class][bin] += 1;
                }
            }
        }
    }
}

fn picture(column: &Column, summary: &Summary, split: Option<&Split>) -> Picture {
    match column {
        Column::Number(values) | Column::Date(values) | Column::DateTime(values) => {
            let finite = || values.iter().copied().filter(|value| value.is_finite());
            let (low, high) =
                finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
            if low > high {
                return Picture::Empty;
            }
            // Few whole numbers have a bar each, more of them bars of as many: with 28 days in 24 bars some would be
            // twice as high for no reason.
            let values_of_bar = ((high - low + 1.0) / BINS as f64).ceil();
            let whole = values_of_bar <= WHOLE && finite().all(|value| value.fract() == 0.0);
            let last = high;
            let (low, high, bins) = match whole {
                true => {
                    let bins = ((high - low + 1.0) / values_of_bar).ceil();
                    (low - 0.5, low - 0.5 + bins * values_of_bar, bins as usize)
                }
                false if low == high => (low - 0.5, high + 0.5, 1),
                false => (low, high, BINS),
            };
            let mut counts = Split::lists(split, bins);
            for (row, value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
                let bin = ((value - low) / (high - low) * bins as f64) as usize;
                Split::count(split, &mut counts, row, bin.min(bins - 1));
            }
            let (low_text, high_text) = match whole {
                true => (summary.text_of(low + 0.5), summary.text_of(last)),
                false => (summary.text_of(low), summary.text_of(high)),
            };
            Picture::Histogram { low, high, low_text, high_text, counts }
        }
        Column::Boolean(_) | Column::Category(_) => {
            let mut rows: FxHashMap<String, Vec<usize>> = FxHashMap::default();
            for row in (0..column.len()).filter(|row| !column.is_missing(*row)) {
                rows.entry(column.value_text(row)).or_default().push(row);
            }
            let mut levels: Vec<(String, Vec<usize>)> = rows.into_iter().collect();
            levels.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.0.cmp(&b.0)));
            let shown = if levels.len() > LEVELS + 1 { LEVELS } else { levels.len() };
            let others = levels.len() - shown;
            let mut counts = Split::lists(split, shown + usize::from(others > 0));
            for (place, (_, rows)) in levels.iter().enumerate() {
                rows.iter().for_each(|row| Split::count(split, &mut counts, *row, place.min(shown)));
            }
            levels.truncate(shown);
            match levels.is_empty() {
                true => Picture::Empty,
                false => Picture::Levels { names: levels.into_iter().map(|(name, _)| name).collect(), others, counts },
            }
        }
        Column::Text(text) => {
            let short = |text: &str| text.chars().take(120).collect::<String>();
            Picture::Text { examples: text.iter().filter(|text| !text.is_empty()).take(3).map(short).collect() }
        }
    }
}

/// Numbers of a column, if it has any to compute with; true counts 1.
fn numbers(column: &Column) -> Option<Vec<f64>> {
    match column {
        Column::Number(values) | Column::Date(values) | Column::DateTime(values) => Some(values.clone()),
        Column::Boolean(values) => {
            Some(values.iter().map(|v| v.map_or(f64::NAN, |v| f64::from(u8::from(v)))).collect())
        }
        _ => None,
    }
}

/// The group of each row.
fn groups(column: &Column) -> Option<Vec<Option<u32>>> {
    match column {
        Column::Category(category) => {
            Some(category.codes.iter().map(|code| (*code != MISSING).then_some(*code)).collect())
        }
        Column::Boolean(values) => Some(values.iter().map(|value| value.map(u32::from)).collect()),
        _ => None,
    }
}

fn association(column: &Column, truth: &Encoded) -> Option<Association> {
    let found = |of, value: Option<f64>| value.map(|value| Association { of, value });
    match truth {
        Encoded::Real(y) => match (numbers(column), groups(column)) {
            (Some(x), _) => found("correlation", pearson(&x, y)),
            (None, Some(groups)) => found("correlation ratio", ratio(&groups, y)),
            (None, None) => None,
        },
        Encoded::Class { codes, .. } => {
            let classes: Vec<Option<u32>> = codes.iter().map(|code| (*code != MISSING).then_some(*code)).collect();
            match (groups(column), numbers(column)) {
                (Some(groups), _) => found("Cramér's V", cramer(&groups, &classes)),
                (None, Some(x)) => found("correlation ratio", ratio(&classes, &x)),
                (None, None) => None,
            }
        }
    }
}

pub fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    let both: Vec<(f64, f64)> =
        x.iter().zip(y).filter(|(x, y)| x.is_finite() && y.is_finite()).map(|(x, y)| (*x, *y)).collect();
    let n = both.len() as f64;
    let (mx, my) = both.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let (sxx, syy, sxy) = both.iter().fold((0.0, 0.0, 0.0), |(a, b, c), (x, y)| {
        (a + (x - mx) * (x - mx), b + (y - my) * (y - my), c + (x - mx) * (y - my))
    });
    (both.len() > 2 && sxx > 0.0 && syy > 0.0).then(|| (sxy / (sxx * syy).sqrt()).clamp(-1.0, 1.0))
}

/// Root of the share of the variance of `y` that lies between groups.
fn ratio(groups: &[Option<u32>], y: &[f64]) -> Option<f64> {
    let mut sums: FxHashMap<u32, (f64, f64)> = FxHashMap::default();
    let (mut n, mut total, mut squares) = (0.0, 0.0, 0.0);
    let known = || groups.iter().zip(y).filter(|(_, y)| y.is_finite()).filter_map(|(group, y)| Some(((*group)?, *y)));
    known().for_each(|(_, y)| (n, total) = (n + 1.0, total + y));
    let mean = total / n;
    for (group, y) in known() {
        let sum = sums.entry(group).or_default();
        (sum.0, sum.1) = (sum.0 + 1.0, sum.1 + (y - mean));
        squares += (y - mean) * (y - mean);
    }
    // As many groups as rows explain everything and tell nothing.
    let enough = n > 2.0 && squares > 0.0 && (sums.len() as f64) < 0.5 * n;
    enough.then(|| (sums.values().map(|(n, sum)| sum * sum / n).sum::<f64>() / squares).clamp(0.0, 1.0).sqrt())
}

fn cramer(a: &[Option<u32>], b: &[Option<u32>]) -> Option<f64> {
    let (mut cells, mut rows, mut cols) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
    let mut n = 0.0;
    for (a, b) in a.iter().zip(b) {
        if let (Some(a), Some(b)) = (a, b) {
            *cells.entry((*a, *b)).or_insert(0.0) += 1.0;
            *rows.entry(*a).or_insert(0.0) += 1.0;
            *cols.entry(*b).or_insert(0.0) += 1.0;
            n += 1.0;
        }
    }
    let least = rows.len().min(cols.len()) as f64 - 1.0;
    if least < 1.0 || n < 3.0 || rows.len() as f64 > 0.5 * n {
        return None;
    }
    // chi2 = n (sum o^2 / (r c) - 1), which needs the cells that occur only.
    let sum: f64 = cells.iter().map(|((a, b), o): (&(u32, u32), &f64)| o * o / (rows[a] * cols[b])).sum();
    Some((((sum - 1.0) / least).max(0.0)).sqrt().min(1.0))
}

fn correlations(table: &Table) -> Correlations {
    let columns: Vec<(&str, &Vec<f64>)> = table
        .columns()
        .filter_map(|(name, column)| match column {
            Column::Number(values) => Some((name, values)),
            _ => None,
        })
        .take(CORRELATED)
        .collect();
    let mut values = vec![vec![None; columns.len()]; columns.len()];
    for i in 0..columns.len() {
        for j in 0..=i {
            let found = if i == j { Some(1.0) } else { pearson(columns[i].1, columns[j].1) };
            (values[i][j], values[j][i]) = (found, found);
        }
    }
    Correlations { names: columns.iter().map(|(name, _)| name.to_string()).collect(), values }
}

fn outliers(column: &Column) -> usize {
    let Column::Number(values) = column else { return 0 };
    let mut known: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    known.sort_unstable_by(f64::total_cmp);
    if known.len() < 20 {
        return 0;
    }
    let (low, high) = (known[known.len() / 4], known[known.len() * 3 / 4]);
    let far = 3.0 * (high - low);
    // A column that is mostly one value has no spread to measure by.
    if far > 0.0 { known.iter().filter(|x| **x < low - far || **x > high + far).count() } else { 0 }
}

fn duplicates(table: &Table) -> usize {
    let mut seen: FxHashSet<String> = FxHashSet::default();
    let row = |row: usize| table.columns().map(|(_, column)| column.value_text(row)).collect::<Vec<_>>().join("\u{1f}");
    (0..table.rows()).filter(|&i| !seen.insert(row(i))).count()
}

fn incomplete(table: &Table) -> usize {
    (0..table.rows()).filter(|&row| table.columns().any(|(_, column)| column.is_missing(row))).count()
}

fn first_rows(table: &Table) -> Vec<Vec<String>> {
    let cell = |column: &Column, row: usize| column.value_text(row).chars().take(80).collect::<String>();
    let row = |row: usize| table.columns().map(|(_, column)| cell(column, row)).collect();
    (0..table.rows().min(SHOWN)).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn associations_are_those_of_the_books() {
        let x: Vec<f64> = (0..40).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|x| 3.0 - 2.0 * x).collect();
        assert!((pearson(&x, &y).unwrap() + 1.0).abs() < 1e-12);
        let groups: Vec<Option<u32>> = (0..40).map(|i| Some(i % 2)).collect();
        let by_group: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
        assert!((ratio(&groups, &by_group).unwrap() - 1.0).abs() < 1e-12);
        assert!((cramer(&groups, &groups).unwrap() - 1.0).abs() < 1e-12);
        // Independent by construction: each pair of levels equally often.
        let other: Vec<Option<u32>> = (0..40).map(|i| Some((i / 2) % 2)).collect();
        assert_eq!(cramer(&groups, &other), Some(0.0));
        // A 2 x 2 table by hand: [[15, 5], [5, 15]] has chi2 = 10 and V = sqrt(10 / 40).
        let a: Vec<Option<u32>> = (0..40).map(|i| Some(u32::from(i >= 20))).collect();
        let b: Vec<Option<u32>> = (0..40).map(|i| Some(u32::from((15..35).contains(&i)))).collect();
        assert!((cramer(&a, &b).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(pearson(&[1.0; 5], &x[..5]), None);
    }

    #[test]
    fn histograms_count_every_value_once() {
        let values: Vec<f64> = (0..1000).map(|i| f64::from(i).sqrt()).chain([f64::NAN]).collect();
        let column = Column::Number(values);
        let summary = Table::new(vec![("x".into(), column.clone())]).unwrap().summary().remove(0);
        let Picture::Histogram { counts, .. } = picture(&column, &summary, None) else { panic!("a histogram") };
        assert_eq!((counts.len(), counts[0].len(), counts[0].iter().sum::<usize>()), (1, BINS, 1000));
        // 48 whole numbers, each as often: every bar is as high.
        let column = Column::Number((0..480).map(|i| f64::from(i % 48) - 7.0).collect());
        let summary = Table::new(vec![("x".into(), column.clone())]).unwrap().summary().remove(0);
        let Picture::Histogram { counts, low_text, high_text, .. } = picture(&column, &summary, None) else {
            panic!("a histogram")
        };
        assert_eq!((counts[0].clone(), low_text.as_str(), high_text.as_str()), (vec![20; 24], "-7", "40"));
    }
}
