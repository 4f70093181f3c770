//! Inspects a table before anything is learned from it: ids, columns that leak the target, duplicate rows, rare
//! classes, rows sorted by time.
//!
//! What is certain to mislead (an id, a copy of the target, the parts of a target that is their sum) is left out, with
//! the reason; `--keep` brings a column back. What may mislead becomes a warning.

mod leak;
mod look;

pub use look::{Association, Correlations, Look, LookColumn, Picture, Points, look, points};

use crate::{
    plan::Dropped,
    read::Sample,
    rows::{Encoded, Labels},
    store::TargetColumn,
    table::{Column, Field, Schema, Summary, Table},
};
use ermine::{Ctx, Data, Estimator, Matrix, Result, X, core::ctx::Alone, linear::LinearRegression, split::Fold};
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    pub dropped: Vec<Dropped>,
    pub worries: Vec<String>,
}

/// Looks at the columns to learn from and the target, in a sample of the rows. Columns in `keep` are never left out.
pub fn inspect(
    sample: &Sample,
    summary: &[Summary],
    features: &Schema,
    target: &TargetColumn,
    keep: &[String],
    ctx: &Ctx,
) -> Result<Findings> {
    // Every worker has the whole sample.
    let ctx = &ctx.clone().with_exchange(Alone);
    let (table, mut look) = (&sample.table, Findings::default());
    let truth = table.column(&target.name)?;
    let encoded = match target.classes.is_empty() {
        true => Encoded::real(&target.name, truth)?,
        false => Encoded::with_names(truth, &target.classes),
    };
    let drop = |look: &mut Findings, column: &str, reason: String| {
        if keep.iter().any(|kept| kept == column) {
            look.worries.push(format!("'{column}' is kept, but {reason}"));
        } else {
            look.dropped.push(Dropped { column: column.into(), reason });
        }
    };
    for field in &features.columns {
        let column = table.column(&field.name)?;
        let repeats = summary.iter().any(|known| {
            known.name == field.name
                && known.distinct.is_some_and(|distinct| distinct * 20 < (known.rows - known.missing) * 19)
        });
        if !repeats && is_id(&field.name, column, &sample.numbers) {
            drop(&mut look, &field.name, "looks like an id: every value is different".into());
        } else if is_copy(column, truth, !target.classes.is_empty()) {
            drop(&mut look, &field.name, format!("leaks the target: maps one-to-one to '{}'", target.name));
        } else if !is_called_id(&field.name)
            && let Some(how) = leak::gives_away(column, &encoded, ctx.seed, ctx)?
        {
            drop(&mut look, &field.name, format!("leaks the target '{}': {how}", target.name));
        }
    }
    if target.classes.is_empty() {
        for name in parts_of_sum(table, features, target, &look, ctx)? {
            drop(&mut look, &name, format!("leaks the target: '{}' is the sum of it and other columns", target.name));
        }
    }
    let left = features.columns.iter().filter(|field| look.dropped.iter().all(|drop| drop.column != field.name));
    let left: Vec<&str> = left.map(|field| field.name.as_str()).collect();
    if left.is_empty() && !look.dropped.is_empty() {
        // Better a warning than nothing to learn from.
        let kept = std::mem::take(&mut look.dropped);
        look.worries.extend(kept.into_iter().map(|drop| format!("'{}' is kept, but {}", drop.column, drop.reason)));
    }
    Ok(look)
}

/// Columns by which rows belong together, where they are split one by one: time, and whatever was measured several
/// times.
pub fn structure(table: &Table, features: &Schema) -> Result<Vec<String>> {
    let mut worries = Vec::new();
    for Field { name, .. } in &features.columns {
        match table.column(name)? {
            Column::Date(values) | Column::DateTime(values) if values.len() > 10 && values.is_sorted() => {
                worries.push(format!(
                    "rows are sorted by '{name}', but test rows are drawn at random: scores on future rows may be \
                     lower; \
                     --split time:{name} tests on the latest rows"
                ));
            }
            column if is_called_group(name) => {
                let mut rows_of: FxHashMap<String, usize> = FxHashMap::default();
                (0..column.len()).for_each(|row| *rows_of.entry(column.value_text(row)).or_default() += 1);
                let (rows, groups) = (column.len(), rows_of.len());
                if groups >= 5 && groups * 2 <= rows {
                    worries.push(format!(
                        "each '{name}' has {} rows or so: if new rows come from others, scores may be lower; \
                         --group {name} keeps them together",
                        rows / groups
                    ));
                }
            }
            _ => {}
        }
    }
    Ok(worries)
}

/// Whether a column is called by what is measured again and again.
fn is_called_group(name: &str) -> bool {
    const CALLED: [&str; 12] = [
        "subject",
        "subj",
        "patient",
        "person",
        "participant",
        "animal",
        "customer",
        "user",
        "household",
        "student",
        "session",
        "group_id",
    ];
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix("_id").or(name.strip_suffix("id")).unwrap_or(&name);
    name.is_empty() || CALLED.contains(&name.trim_end_matches(['.', '_', ' ']))
}

/// Every value different and either called an id, a running number, or a short code. A number that runs along with the
/// rows but counts something else, as years and ages do, is no id: what a table of years has to say is in the year.
fn is_id(name: &str, column: &Column, numbers: &[usize]) -> bool {
    let rows = column.len();
    if rows < 20 {
        return false;
    }
    let called = is_called_id(name);
    match column {
        Column::Number(values) => {
            let whole = values.iter().all(|value| value.fract() == 0.0);
            // Also where the sample has left rows out in between.
            let steps = numbers.windows(2).map(|pair| (pair[1] - pair[0]) as f64);
            let running = values.windows(2).zip(steps).all(|(pair, step)| pair[1] - pair[0] == step);
            let first = numbers.first().map_or(0.0, |row| values[0] - *row as f64);
            let counts_rows = running && (first == 0.0 || first == 1.0) && !is_called_measure(name);
            whole && (counts_rows || called && all_different(values.iter().map(|value| value.to_bits())))
        }
        Column::Category(category) => {
            let distinct = category.levels.len();
            distinct * 20 >= rows * 19 && category.levels.iter().all(|level| !level.trim().contains(' '))
                || called && distinct * 2 > rows
        }
        Column::Text(text) => {
            let short = text.iter().take(1000).all(|value| value.len() <= 40 && !value.trim().contains(' '));
            short && all_different(text.iter())
        }
        _ => false,
    }
}

fn is_called_id(name: &str) -> bool {
    // CustomerID, but not PAID.
    let of_words = name.strip_suffix("ID").or(name.strip_suffix("Id"));
    if of_words.is_some_and(|before| before.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())) {
        return true;
    }
    let name = name.to_ascii_lowercase();
    ["id", "index", "uuid", "guid", "rownum", "row", "key"].contains(&name.as_str())
        || name.ends_with("_id")
        || name.starts_with("unnamed")
}

/// Whether a column is called by what runs from one row to the next without being a number of the row.
fn is_called_measure(name: &str) -> bool {
    const CALLED: [&str; 20] = [
        "age", "date", "day", "days", "depth", "distance", "dose", "hour", "hours", "minute", "month", "months",
        "period", "quarter", "t", "time", "week", "weeks", "year", "years",
    ];
    let name = name.to_ascii_lowercase();
    name.split(['_', '.', ' ', '-']).any(|word| CALLED.contains(&word))
}

fn all_different<T: Hash + Eq>(values: impl Iterator<Item = T>) -> bool {
    let mut seen = rustc_hash::FxHashSet::default();
    let mut count = 0usize;
    for value in values {
        seen.insert(value);
        count += 1;
    }
    seen.len() == count
}

/// Each value of the column goes with one value of the target and the other way round; numbers up to a change of units.
fn is_copy(column: &Column, target: &Column, classes: bool) -> bool {
    if column.len() < 20 {
        return false;
    }
    if let (Column::Number(x), Column::Number(y), false) = (column, target, classes) {
        return is_affine(x, y);
    }
    if !classes {
        return false;
    }
    let discrete = |column: &Column| match column {
        Column::Number(values) => values.iter().all(|value| value.is_nan() || value.fract() == 0.0),
        Column::Category(_) | Column::Boolean(_) => true,
        _ => false,
    };
    if !discrete(column) {
        return false;
    }
    let (mut there, mut back) = (FxHashMap::default(), FxHashMap::default());
    for row in 0..column.len() {
        if column.is_missing(row) || target.is_missing(row) {
            continue;
        }
        let (x, y) = (column.value_text(row), target.value_text(row));
        if *there.entry(x.clone()).or_insert_with(|| y.clone()) != y || *back.entry(y).or_insert_with(|| x.clone()) != x
        {
            return false;
        }
        if there.len() > 1000 {
            return false;
        }
    }
    there.len() > 1
}

/// y = a + b x for every row, to rounding.
fn is_affine(x: &[f64], y: &[f64]) -> bool {
    let both: Vec<(f64, f64)> =
        x.iter().zip(y).filter(|(x, y)| x.is_finite() && y.is_finite()).map(|(x, y)| (*x, *y)).collect();
    let n = both.len() as f64;
    if both.len() < 20 || both.len() * 10 < x.len() * 9 {
        return false;
    }
    let (mx, my) = both.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let (sxx, sxy) = both.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + (x - mx) * (x - mx), b + (x - mx) * (y - my)));
    let syy: f64 = both.iter().map(|(_, y)| (y - my) * (y - my)).sum();
    if sxx == 0.0 || syy == 0.0 {
        return false;
    }
    let b = sxy / sxx;
    let rest: f64 = both.iter().map(|(x, y)| (y - my - b * (x - mx)).powi(2)).sum();
    rest <= 1e-12 * syy
}

/// Number columns whose plain sum is the target: `count = casual + registered`.
fn parts_of_sum(
    table: &Table,
    features: &Schema,
    target: &TargetColumn,
    look: &Findings,
    ctx: &Ctx,
) -> Result<Vec<String>> {
    let Encoded::Real(y) = Encoded::real(&target.name, table.column(&target.name)?)? else { return Ok(Vec::new()) };
    let mut names: Vec<&str> = Vec::new();
    let mut columns: Vec<&[f64]> = Vec::new();
    for field in &features.columns {
        if let Column::Number(values) = table.column(&field.name)?
            && !look.dropped.iter().any(|drop| drop.column == field.name)
        {
            names.push(&field.name);
            columns.push(values);
        }
    }
    let rows: Vec<usize> =
        (0..y.len()).filter(|&i| y[i].is_finite() && columns.iter().all(|column| column[i].is_finite())).collect();
    let step = rows.len().div_ceil(5000).max(1);
    let rows: Vec<usize> = rows.into_iter().step_by(step).collect();
    if names.len() < 2 || names.len() > 500 || rows.len() < 3 * names.len() || rows.len() < 30 {
        return Ok(Vec::new());
    }
    let x = Matrix::from_fn(rows.len(), names.len(), |i, j| columns[j][rows[i]]);
    let y: Vec<f64> = rows.iter().map(|&i| y[i]).collect();
    let Ok(fit) = LinearRegression::default().fit(&Data::new(X::dense(&x.values, x.cols)?).real(&y)?, ctx) else {
        return Ok(Vec::new());
    };
    let coef = &fit.model.coef.values;
    let weight = |j: usize| if (coef[j].abs() - 1.0).abs() < 1e-6 { coef[j].round() } else { 0.0 };
    let parts: Vec<usize> = (0..names.len()).filter(|&j| weight(j) != 0.0).collect();
    let size = y.iter().fold(0.0f64, |most, y| most.max(y.abs()));
    let adds_up = (0..rows.len()).all(|i| {
        let sum: f64 = parts.iter().map(|&j| weight(j) * x[(i, j)]).sum();
        (sum - y[i]).abs() <= 1e-9 * size.max(1.0)
    });
    Ok(if parts.len() >= 2 && adds_up { parts.into_iter().map(|j| names[j].to_string()).collect() } else { Vec::new() })
}

/// The class that outnumbers the others, and its share of the rows.
pub fn imbalanced(labels: &Labels) -> Option<(&str, f64)> {
    let Some(Encoded::Class { codes, names }) = &labels.target else { return None };
    let mut counts = vec![0usize; names.len()];
    codes.iter().for_each(|&code| counts[code as usize] += 1);
    let most = (0..names.len()).max_by_key(|&class| counts[class])?;
    let share = counts[most] as f64 / codes.len() as f64;
    (share > 0.8).then_some((names[most].as_str(), share))
}

/// Classes that are rare, and one that outnumbers the others.
pub fn balance(labels: &Labels) -> Vec<String> {
    let mut worries = Vec::new();
    let Some(Encoded::Class { codes, names }) = &labels.target else { return worries };
    let mut counts = vec![0usize; names.len()];
    codes.iter().for_each(|&code| counts[code as usize] += 1);
    let few: Vec<String> = (0..names.len())
        .filter(|&class| counts[class] < 10)
        .map(|class| format!("{} ({})", names[class], counts[class]))
        .collect();
    if !few.is_empty() {
        let more = if few.len() > 5 { ", ..." } else { "" };
        let few = few[..few.len().min(5)].join(", ");
        worries.push(format!("classes with very few rows: {few}{more}; their scores are unreliable"));
    }
    if let Some((most, share)) = imbalanced(labels) {
        worries.push(format!(
            "imbalanced classes: {:.0} % of the rows are {most}, so always predicting it has that accuracy; look at \
             balanced accuracy and ROC AUC",
            100.0 * share
        ));
    }
    worries
}

/// Rows that are equal to an earlier one in every column, and test rows that are equal to a training row, by their
/// hashes.
pub fn duplicates(hashes: &[u64], split: &Fold) -> Vec<String> {
    let Fold { train, test } = split;
    let mut seen = rustc_hash::FxHashSet::default();
    let twice = train.iter().filter(|&&row| !seen.insert(hashes[row])).count();
    let known = test.iter().filter(|&&row| seen.contains(&hashes[row])).count();
    let mut worries = Vec::new();
    if (twice + known) * 100 > hashes.len() {
        worries.push(format!("{} of {} rows are duplicates of another row", twice + known, hashes.len()));
    }
    if known * 50 > test.len() {
        worries.push(format!(
            "{known} of {} test rows are duplicates of a training row: the test score is optimistic",
            test.len()
        ));
    }
    worries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_number_is_an_id_unless_it_counts_something_else() {
        let rows: Vec<usize> = (0..40).collect();
        let running = |first: f64| Column::Number(rows.iter().map(|&row| first + row as f64).collect());
        assert!(is_id("case", &running(1.0), &rows) && is_id("x", &running(0.0), &rows));
        assert!(is_id("customer_id", &running(7000.0), &rows) && is_id("CustomerID", &running(7000.0), &rows));
        assert!(!is_id("PAID", &running(7000.0), &rows));
        assert!(!is_id("Year", &running(1900.0), &rows) && !is_id("x", &running(1900.0), &rows));
        assert!(!is_id("age", &running(1.0), &rows) && !is_id("day_of_study", &running(0.0), &rows));
        // Rows of a sample, with others in between.
        let some: Vec<usize> = rows.iter().map(|row| 3 * row + 2).collect();
        let values = |first: f64| Column::Number(some.iter().map(|&row| first + row as f64).collect());
        assert!(is_id("case", &values(1.0), &some) && !is_id("case", &values(500.0), &some));
    }
}
