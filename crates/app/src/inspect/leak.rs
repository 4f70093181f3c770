//! Columns that say the target by themselves: copies, copies with a few errors, what was made of the target or what the
//! target was made of.

use crate::{
    rows::Encoded,
    table::{Column, MISSING},
};
use ermine::{Ctx, Data, Estimator, Output, Result, X, core::rng, predict, tree::DecisionTreeClassifier};
use rustc_hash::FxHashMap;

/// Fewer rows prove nothing.
const ROWS: usize = 50;
const ROWS_OF_NUMBERS: usize = 100;
/// Rows that are looked at.
const MOST: usize = 5000;
/// A column of few values may be wrong about so many rows and still be a copy; a number about fewer.
const WRONG: f64 = 0.02;
const WRONG_OF_NUMBERS: f64 = 0.001;
/// And this share of every class must be right.
const RIGHT_OF_CLASS: f64 = 0.9;
const FOLDS: usize = 5;

/// How a column gives the target away, if it does.
pub fn gives_away(column: &Column, truth: &Encoded, seed: u64, ctx: &Ctx) -> Result<Option<String>> {
    match truth {
        Encoded::Class { codes, names } => of_classes(column, codes, names.len(), seed, ctx),
        Encoded::Real(y) => Ok(match column {
            Column::Number(x) => of_numbers(x, y),
            _ => None,
        }),
    }
}

/// The rows where both are known, at most so many, evenly spread.
fn known(rows: usize, is_known: impl Fn(usize) -> bool) -> Vec<usize> {
    let all: Vec<usize> = (0..rows).filter(|&row| is_known(row)).collect();
    let step = all.len().div_ceil(MOST).max(1);
    all.into_iter().step_by(step).collect()
}

fn of_classes(column: &Column, codes: &[u32], classes: usize, seed: u64, ctx: &Ctx) -> Result<Option<String>> {
    let rows = known(codes.len(), |row| codes[row] != MISSING && !column.is_missing(row));
    if rows.len() < ROWS || rows.len() * 10 < codes.len().min(MOST) * 9 {
        return Ok(None);
    }
    let truth: Vec<u32> = rows.iter().map(|&row| codes[row]).collect();
    let mut levels: FxHashMap<String, u32> = FxHashMap::default();
    let mut coded = Vec::with_capacity(rows.len());
    for &row in &rows {
        let next = levels.len() as u32;
        coded.push(*levels.entry(column.value_text(row)).or_insert(next));
        if levels.len() > 3 * classes + 3 {
            break;
        }
    }
    if coded.len() == rows.len() {
        let wrong = wrong_by_level(&coded, levels.len(), &truth, classes, seed);
        return Ok(verdict(&wrong, &truth, classes, WRONG));
    }
    let Column::Number(values) = column else { return Ok(None) };
    let x: Vec<f64> = rows.iter().map(|&row| values[row]).collect();
    // A column that no feature is made of may hold anything.
    if x.iter().any(|value| value.is_infinite()) {
        return Ok(None);
    }
    // Whole numbers of many values are mostly ids, which often go with whatever the table is sorted by.
    let mut distinct: Vec<u64> = x.iter().map(|value| value.to_bits()).collect();
    distinct.sort_unstable();
    distinct.dedup();
    if rows.len() < ROWS_OF_NUMBERS || distinct.len() > 30 && x.iter().all(|value| value.fract() == 0.0) {
        return Ok(None);
    }
    let wrong = wrong_by_intervals(&x, &truth, classes, seed, ctx)?;
    // The row next to the edge of a class, held out, falls on either side.
    let at_edges = (classes - 1) as f64 / rows.len() as f64;
    Ok(verdict(&wrong, &truth, classes, WRONG_OF_NUMBERS + at_edges))
}

fn fold(row: usize, seed: u64) -> usize {
    (rng::key(seed, "leak", row as u64) % FOLDS as u64) as usize
}

/// Rows whose class is not the most frequent of their level among the rows of the other folds.
fn wrong_by_level(coded: &[u32], levels: usize, truth: &[u32], classes: usize, seed: u64) -> Vec<bool> {
    let mut counts = vec![0i64; FOLDS * levels * classes];
    let place = |fold: usize, level: u32, class: usize| (fold * levels + level as usize) * classes + class;
    for (row, (&level, &class)) in coded.iter().zip(truth).enumerate() {
        counts[place(fold(row, seed), level, class as usize)] += 1;
    }
    let said = |row: usize| {
        let out = fold(row, seed);
        let others = |class: usize| {
            let all: i64 = (0..FOLDS).map(|fold| counts[place(fold, coded[row], class)]).sum();
            all - counts[place(out, coded[row], class)]
        };
        let best = (0..classes).max_by_key(|&class| (others(class), std::cmp::Reverse(class)));
        best.filter(|&class| others(class) > 0)
    };
    (0..coded.len()).map(|row| said(row) != Some(truth[row] as usize)).collect()
}

/// The same where every class is an interval of the numbers.
fn wrong_by_intervals(x: &[f64], truth: &[u32], classes: usize, seed: u64, ctx: &Ctx) -> Result<Vec<bool>> {
    let tree = DecisionTreeClassifier { max_leaf_nodes: Some(classes.max(2)), ..Default::default() };
    let mut wrong = vec![false; x.len()];
    for out in 0..FOLDS {
        let (test, train): (Vec<usize>, Vec<usize>) = (0..x.len()).partition(|&row| fold(row, seed) == out);
        let take = |rows: &[usize]| rows.iter().map(|&row| x[row]).collect::<Vec<f64>>();
        let (learnt, held) = (take(&train), take(&test));
        let codes: Vec<u32> = train.iter().map(|&row| truth[row]).collect();
        if train.is_empty() || test.is_empty() {
            continue;
        }
        let data = Data::new(X::dense(&learnt, 1)?).classes(&codes, classes)?;
        let fit = tree.fit(&data, ctx)?;
        let said = predict(ctx, &fit.model, &X::dense(&held, 1)?, Output::Class, true)?;
        test.iter().zip(said.values).for_each(|(&row, said)| wrong[row] = said != f64::from(truth[row]));
        // Already too many: no need for the other folds.
        if wrong.iter().filter(|wrong| **wrong).count() as f64 > WRONG * x.len() as f64 {
            return Ok(vec![true; x.len()]);
        }
    }
    Ok(wrong)
}

fn verdict(wrong: &[bool], truth: &[u32], classes: usize, allowed: f64) -> Option<String> {
    let (mut rows, mut right) = (vec![0usize; classes], vec![0usize; classes]);
    for (&wrong, &class) in wrong.iter().zip(truth) {
        rows[class as usize] += 1;
        right[class as usize] += usize::from(!wrong);
    }
    let judged: Vec<usize> = (0..classes).filter(|&class| rows[class] >= 5).collect();
    let all_right = judged.iter().all(|&class| right[class] as f64 >= RIGHT_OF_CLASS * rows[class] as f64);
    let share = right.iter().sum::<usize>() as f64 / wrong.len() as f64;
    let found = judged.len() >= 2 && all_right && 1.0 - share <= allowed;
    found.then(|| format!("it alone says the class of {:.1} % of the rows", 100.0 * share))
}

/// A number that is the target in most rows, or a plain function of it.
fn of_numbers(x: &[f64], y: &[f64]) -> Option<String> {
    let rows = known(y.len(), |row| x[row].is_finite() && y[row].is_finite());
    if rows.len() < ROWS || rows.len() * 10 < y.len().min(MOST) * 9 {
        return None;
    }
    let mut distinct: Vec<u64> = rows.iter().map(|&row| y[row].to_bits()).collect();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() < 20 {
        return None;
    }
    let same = rows.iter().filter(|&&row| x[row] == y[row]).count() as f64 / rows.len() as f64;
    if same >= 0.95 {
        return Some(format!("it is the target in {:.1} % of the rows", 100.0 * same));
    }
    let functions: [(&str, fn(f64) -> f64); 6] = [
        ("a straight line", |x| x),
        ("its logarithm", f64::ln),
        ("its exponential", f64::exp),
        ("its square", |x| x * x),
        ("its root", f64::sqrt),
        ("its reciprocal", |x| 1.0 / x),
    ];
    let linear = |&(_, f): &(&str, fn(f64) -> f64)| {
        let pairs: Vec<(f64, f64)> = rows.iter().map(|&row| (f(x[row]), y[row])).collect();
        pairs.iter().all(|(x, _)| x.is_finite()) && left_over(&pairs) <= 1e-5
    };
    let (name, _) = functions.iter().find(|function| linear(function))?;
    Some(match *name {
        "a straight line" => "the target is the same in other units".into(),
        name => format!("the target follows from {name}"),
    })
}

/// The share of the spread of y that a straight line in x leaves over.
fn left_over(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let (mx, my) = pairs.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in pairs {
        xx += (x - mx) * (x - mx);
        xy += (x - mx) * (y - my);
        yy += (y - my) * (y - my);
    }
    if xx > 0.0 && yy > 0.0 { 1.0 - xy * xy / (xx * yy) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Category;
    use ermine::core::rng::Stream;

    const N: usize = 400;

    fn found(column: &Column, truth: &Encoded) -> bool {
        gives_away(column, truth, 0, &Ctx::new(0)).unwrap().is_some()
    }

    fn category(of: impl Fn(usize) -> u32, levels: u32) -> Column {
        let levels = (0..levels).map(|level| format!("level {level}")).collect();
        Column::Category(Category { codes: (0..N).map(of).collect(), levels })
    }

    fn number(of: impl Fn(usize) -> f64) -> Column {
        Column::Number((0..N).map(of).collect())
    }

    #[test]
    fn planted_leaks_are_found_and_honest_columns_are_not() {
        let mut rng = Stream::new(3, "leaks", 0);
        let hidden: Vec<f64> = (0..N).map(|_| rng.normal()).collect();
        let noise: Vec<f64> = (0..N).map(|_| rng.normal()).collect();
        let two: Vec<u32> = hidden.iter().map(|h| u32::from(*h > 0.2)).collect();
        let three: Vec<u32> = hidden.iter().map(|h| u32::from(*h > -0.4) + u32::from(*h > 0.7)).collect();
        let price: Vec<f64> = hidden.iter().map(|h| (10.0 + 2.0 * h).max(1.0)).collect();
        let names = |count: u32| (0..count).map(|class| class.to_string()).collect();
        let of_two = Encoded::Class { codes: two.clone(), names: names(2) };
        let of_three = Encoded::Class { codes: three.clone(), names: names(3) };
        let of_price = Encoded::Real(price.clone());
        let flipped = |row: usize, every: usize| row % every == 7;

        let leaks = [
            ("two: a copy", category(|i| two[i], 2), &of_two),
            ("two: the other way round", category(|i| 1 - two[i], 2), &of_two),
            ("two: 0 and 1", number(|i| f64::from(two[i])), &of_two),
            ("two: 3 and 9", number(|i| 3.0 + 6.0 * f64::from(two[i])), &of_two),
            ("two: yes and no", Column::Boolean(two.iter().map(|c| Some(*c == 1)).collect()), &of_two),
            ("two: 99 % of a copy", category(|i| if flipped(i, 100) { 1 - two[i] } else { two[i] }, 2), &of_two),
            ("two: finer levels", category(|i| 2 * two[i] + (i % 2) as u32, 4), &of_two),
            (
                "two: three finer levels of one",
                category(|i| if two[i] == 1 { 1 + (i % 3) as u32 } else { 0 }, 4),
                &of_two,
            ),
            ("two: the number behind it", number(|i| hidden[i]), &of_two),
            ("two: in other units", number(|i| 1.8 * hidden[i] + 32.0), &of_two),
            ("two: turned round", number(|i| -hidden[i]), &of_two),
            ("two: its exponential", number(|i| hidden[i].exp()), &of_two),
            ("two: rounded to tenths", number(|i| ((hidden[i] - 0.2) * 10.0).ceil() / 10.0), &of_two),
            ("two: a sum that is 0 for one class", number(|i| f64::from(two[i]) * (1.0 + noise[i].abs())), &of_two),
            ("two: a late date", number(|i| 100.5 + 300.0 * f64::from(two[i]) + 50.0 * noise[i].tanh()), &of_two),
            ("three: a copy", category(|i| three[i], 3), &of_three),
            ("three: shuffled names", category(|i| [2, 0, 1][three[i] as usize], 3), &of_three),
            ("three: numbers", number(|i| [5.0, 1.0, 3.0][three[i] as usize]), &of_three),
            ("three: 99 % of a copy", category(|i| if flipped(i, 100) { 0 } else { three[i] }, 3), &of_three),
            ("three: finer levels", category(|i| 3 * three[i] + (i % 3) as u32, 9), &of_three),
            ("three: the number behind it", number(|i| hidden[i]), &of_three),
            ("price: a copy", number(|i| price[i]), &of_price),
            ("price: in pence", number(|i| 100.0 * price[i]), &of_price),
            ("price: with tax and fee", number(|i| 1.2 * price[i] + 3.0), &of_price),
            ("price: rounded to cents", number(|i| (100.0 * price[i]).round() / 100.0), &of_price),
            ("price: 97 % of a copy", number(|i| if flipped(i, 33) { 5.0 } else { price[i] }), &of_price),
            ("price: its logarithm", number(|i| price[i].ln()), &of_price),
            ("price: its root", number(|i| price[i].sqrt()), &of_price),
            ("price: its square", number(|i| price[i] * price[i]), &of_price),
            ("price: its reciprocal", number(|i| 1.0 / price[i]), &of_price),
        ];
        assert_eq!(leaks.len(), 30);
        let missed: Vec<_> =
            leaks.iter().filter(|(_, column, truth)| !found(column, truth)).map(|leak| leak.0).collect();
        assert!(missed.is_empty(), "{missed:?}");

        let honest = [
            ("two: a good predictor", number(|i| hidden[i] + 0.2 * noise[i]), &of_two),
            ("two: right in 90 %", category(|i| if flipped(i, 10) { 1 - two[i] } else { two[i] }, 2), &of_two),
            ("two: noise", number(|i| noise[i]), &of_two),
            ("two: many levels", category(|i| 50 * two[i] + (i % 50) as u32, 100), &of_two),
            ("two: a running number of sorted rows", number(|i| 1000.0 * f64::from(two[i]) + i as f64), &of_two),
            ("price: a good predictor", number(|i| price[i] + 0.05 * noise[i]), &of_price),
            ("price: a class", number(|i| f64::from(two[i])), &of_price),
            ("price: noise", number(|i| noise[i]), &of_price),
        ];
        let alarms: Vec<_> = honest.iter().filter(|(_, column, truth)| found(column, truth)).map(|it| it.0).collect();
        assert!(alarms.is_empty(), "{alarms:?}");
    }
}
