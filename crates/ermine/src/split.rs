//! Which rows are learned from and which are held out. [`Data::take`] makes data of them.
//!
//! Where rows go is a function of the seed and of the number of the row (or the name of its group), never of threads,
//! so it is the same in every door. Every split keeps the order of rows. A fold is a pair of row numbers, `train` and
//! `test`.
//!
//! ```
//! use ermine::{prelude::*, split::Folds};
//! let x: Vec<[f64; 1]> = (0..20).map(|i| [f64::from(i)]).collect();
//! let y: Vec<bool> = (0..20).map(|i| i % 2 == 1).collect();
//! let data = Data::from_rows(&x)?.labels(&y)?;
//! let (train, test) = train_test(&data, 0.25, 7)?;
//! assert_eq!((train.batch().rows(), test.batch().rows()), (15, 5));
//! let folds = Folds::Stratified { n_splits: 5, shuffle: true };
//! for fold in folds.split(&data.batch(), None, 7)? {
//!     let test = data.take(&fold.test)?;
//!     assert_eq!(test.batch().y.codes().iter().filter(|&&code| code == 1).count(), 2);
//! }
//! # Ok::<(), ermine::Error>(())
//! ```

use crate::{
    Data, Error, Result, Target,
    core::{Batch, rng},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

/// Rows to learn from and rows held out, both increasing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    pub train: Vec<usize>,
    pub test: Vec<usize>,
}

impl Fold {
    fn holding_out(rows: usize, held: impl Fn(usize) -> bool) -> Fold {
        let (test, train) = (0..rows).partition(|&i| held(i));
        Fold { train, test }
    }

    /// A run of rows held out from all others.
    pub(crate) fn of_run(rows: usize, run: Range<usize>) -> Fold {
        Fold::holding_out(rows, |row| run.contains(&row))
    }
}

/// Ways to cut rows into folds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Folds {
    /// Consecutive parts of equal size, or parts drawn at random.
    KFold { n_splits: usize, shuffle: bool },
    /// Parts in which each class has its share. A real target is cut into ten quantiles first.
    Stratified { n_splits: usize, shuffle: bool },
    /// Rows of one group are never on both sides; parts of about equal size.
    Grouped { n_splits: usize, shuffle: bool },
    /// As grouped, and each class has about its share in every part.
    StratifiedGrouped { n_splits: usize, shuffle: bool },
    /// Shuffled parts (stratified where the target is of classes), several times anew.
    Repeated { n_splits: usize, n_repeats: usize },
    /// Every row alone.
    LeaveOneOut,
    /// Every group alone.
    LeaveOneGroupOut,
    /// Learn from the past: test parts follow one another at the end, and `gap` rows before each are left out.
    TimeSeries { n_splits: usize, test_size: Option<usize>, max_train_size: Option<usize>, gap: usize },
    /// Independent draws of a test part, stratified where the target is of classes.
    Shuffle { n_splits: usize, test_size: f64 },
}

impl Folds {
    /// The usual folds for a target: stratified for classes, plain otherwise, shuffled.
    pub fn usual(y: &Target, n_splits: usize) -> Folds {
        match y {
            Target::Class { .. } => Folds::Stratified { n_splits, shuffle: true },
            _ => Folds::KFold { n_splits, shuffle: true },
        }
    }

    /// The folds of these rows. `groups` gives a group number to each row, for the grouped kinds.
    pub fn split(&self, batch: &Batch, groups: Option<&[u64]>, seed: u64) -> Result<Vec<Fold>> {
        let rows = batch.rows();
        if let Some(groups) = groups.filter(|groups| groups.len() != rows) {
            return Err(Error::shape("groups", format!("{rows} values"), groups.len()));
        }
        let of_group = || groups.ok_or_else(|| Error::Data("these folds need a group for each row".into()));
        match *self {
            Folds::KFold { n_splits, shuffle } => {
                enough(n_splits, rows, "rows")?;
                let order = if shuffle { shuffled(rows, seed, 0) } else { (0..rows).collect() };
                let mut part = vec![0; rows];
                order.iter().enumerate().for_each(|(place, &row)| part[row] = part_of(place, rows, n_splits));
                Ok(by_part(&part, n_splits))
            }
            Folds::Stratified { n_splits, shuffle } => {
                enough(n_splits, rows, "rows")?;
                Ok(by_part(&stratified(&strata(&batch.y, rows), n_splits, shuffle, seed, 0)?, n_splits))
            }
            Folds::Grouped { n_splits, shuffle } => grouped(of_group()?, None, n_splits, shuffle, seed),
            Folds::StratifiedGrouped { n_splits, shuffle } => {
                let strata = strata(&batch.y, rows);
                grouped(of_group()?, Some(&strata), n_splits, shuffle, seed)
            }
            Folds::Repeated { n_splits, n_repeats } => {
                let mut folds = Vec::new();
                for repeat in 0..n_repeats {
                    folds.extend(Folds::usual(&batch.y, n_splits).split(
                        batch,
                        None,
                        rng::key(seed, "repeat", repeat as u64),
                    )?);
                }
                Ok(folds)
            }
            Folds::LeaveOneOut => {
                enough(2, rows, "rows")?;
                Ok((0..rows).map(|row| Fold::holding_out(rows, |i| i == row)).collect())
            }
            Folds::LeaveOneGroupOut => {
                let groups = of_group()?;
                let names: BTreeSet<u64> = groups.iter().copied().collect();
                enough(2, names.len(), "groups")?;
                Ok(names.into_iter().map(|name| Fold::holding_out(rows, |i| groups[i] == name)).collect())
            }
            Folds::TimeSeries { n_splits, test_size, max_train_size, gap } => {
                time_series(rows, n_splits, test_size, max_train_size, gap)
            }
            Folds::Shuffle { n_splits, test_size } => (0..n_splits)
                .map(|index| {
                    let seed = rng::key(seed, "draw", index as u64);
                    train_test_split(batch, test_size, None, seed)
                })
                .collect(),
        }
    }
}

/// One split: about `test_size` of the rows (a share below 1, or a count) held out; each class, or with `groups` whole
/// groups.
pub fn train_test_split(batch: &Batch, test_size: f64, groups: Option<&[u64]>, seed: u64) -> Result<Fold> {
    let rows = batch.rows();
    let count = if test_size < 1.0 { (test_size * rows as f64).ceil() } else { test_size };
    let possible = test_size > 0.0 && count >= 1.0 && count < rows as f64;
    if !possible {
        let allowed = format!("a share above 0 and below 1, or a count below the {rows} rows");
        let name = "test_size".into();
        return Err(Error::Parameter { model: "split".into(), name, value: test_size.to_string(), allowed });
    }
    let mut held = vec![false; rows];
    if let Some(groups) = groups {
        // Whole groups in random order until the size is met; never all of them.
        let mut members: BTreeMap<u64, usize> = BTreeMap::new();
        groups.iter().for_each(|&group| *members.entry(group).or_default() += 1);
        enough(2, members.len(), "groups")?;
        let mut names: Vec<u64> = members.keys().copied().collect();
        names.sort_by_key(|&name| (rng::key(seed, "split group", name), name));
        let (mut size, mut chosen) = (0, BTreeSet::new());
        for &name in &names[..names.len() - 1] {
            if size as f64 >= count {
                break;
            }
            size += members[&name];
            chosen.insert(name);
        }
        return Ok(Fold::holding_out(rows, |i| chosen.contains(&groups[i])));
    }
    let order = shuffled(rows, seed, 1);
    match batch.y {
        Target::Class { codes, classes } => {
            // Largest remainders: each class its share, and the total right.
            let mut size = vec![0usize; classes];
            codes.iter().for_each(|&code| size[code as usize] += 1);
            let share = count / rows as f64;
            let mut take: Vec<usize> = size.iter().map(|&size| (size as f64 * share) as usize).collect();
            let mut rest: Vec<usize> = (0..classes).collect();
            rest.sort_by(|&a, &b| (size[b] as f64 * share).fract().total_cmp(&(size[a] as f64 * share).fract()));
            let missing = (count as usize).saturating_sub(take.iter().sum());
            rest.iter().filter(|&&c| size[c] > 0).take(missing).for_each(|&c| take[c] += 1);
            for &row in &order {
                let left = &mut take[codes[row] as usize];
                if *left > 0 {
                    *left -= 1;
                    held[row] = true;
                }
            }
        }
        _ => order.iter().take(count as usize).for_each(|&row| held[row] = true),
    }
    Ok(Fold::holding_out(rows, |i| held[i]))
}

/// Data to learn from and data to judge on: about `test_size` of the rows (a share below 1, or a count) are held out,
/// each class with its share.
pub fn train_test(data: &Data, test_size: f64, seed: u64) -> Result<(Data<'static>, Data<'static>)> {
    let fold = train_test_split(&data.batch(), test_size, None, seed)?;
    Ok((data.take(&fold.train)?, data.take(&fold.test)?))
}

/// Rows in an order that depends on the seed and their numbers alone: sorted by their hash.
fn shuffled(rows: usize, seed: u64, use_of: u64) -> Vec<usize> {
    let seed = rng::key(seed, "split", use_of);
    let mut order: Vec<(u64, usize)> = (0..rows).map(|row| (rng::key(seed, "row", row as u64), row)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, row)| row).collect()
}

/// Part of a place in an order when `rows` are cut into `parts` whose sizes differ by one, the larger ones first.
fn part_of(place: usize, rows: usize, parts: usize) -> usize {
    let (size, larger) = (rows / parts, rows % parts);
    let edge = larger * (size + 1);
    if place < edge { place / (size + 1) } else { larger + (place - edge) / size }
}

fn by_part(part: &[usize], parts: usize) -> Vec<Fold> {
    (0..parts).map(|p| Fold::holding_out(part.len(), |i| part[i] == p)).collect()
}

fn enough(n_splits: usize, there: usize, what: &str) -> Result<()> {
    if n_splits >= 2 && n_splits <= there {
        return Ok(());
    }
    let allowed = format!("at least 2 and at most the number of {what}, {there}");
    let name = "n_splits".into();
    Err(Error::Parameter { model: "split".into(), name, value: n_splits.to_string(), allowed })
}

/// Class codes, or the tenth of a real target in which a row lies; none without a target.
fn strata(y: &Target, rows: usize) -> Vec<usize> {
    match *y {
        Target::Class { codes, .. } => codes.iter().map(|&code| code as usize).collect(),
        Target::Real { values, cols } => {
            let mut order: Vec<usize> = (0..rows).collect();
            order.sort_by(|&a, &b| values[a * cols].total_cmp(&values[b * cols]));
            let mut out = vec![0; rows];
            order.iter().enumerate().for_each(|(place, &row)| out[row] = place * 10 / rows.max(1));
            out
        }
        Target::None => vec![0; rows],
    }
}

/// Each stratum dealt out like cards, going on where the last one stopped, so that parts differ by at most one row.
fn stratified(strata: &[usize], parts: usize, shuffle: bool, seed: u64, use_of: u64) -> Result<Vec<usize>> {
    let rows = strata.len();
    let order = if shuffle { shuffled(rows, seed, use_of) } else { (0..rows).collect() };
    let classes = strata.iter().max().map_or(0, |last| last + 1);
    let mut members = vec![Vec::new(); classes];
    order.iter().for_each(|&row| members[strata[row]].push(row));
    let largest = members.iter().map(Vec::len).max().unwrap_or(0);
    if largest < parts {
        let problem = format!("{parts} stratified folds, but the largest class has {largest} rows");
        return Err(Error::Data(problem));
    }
    let mut part = vec![0; rows];
    let mut next = 0;
    for class in &members {
        if shuffle {
            for &row in class {
                part[row] = next % parts;
                next += 1;
            }
        } else {
            // In order: a class is cut into consecutive pieces of the sizes that dealing would give.
            let mut sizes = vec![0usize; parts];
            (0..class.len()).for_each(|i| sizes[(next + i) % parts] += 1);
            next += class.len();
            let mut rows = class.iter();
            for (p, &size) in sizes.iter().enumerate() {
                rows.by_ref().take(size).for_each(|&row| part[row] = p);
            }
        }
    }
    Ok(part)
}

/// Largest group first, each to the part where it does least harm: to the balance of sizes, or of the strata.
fn grouped(groups: &[u64], strata: Option<&[usize]>, parts: usize, shuffle: bool, seed: u64) -> Result<Vec<Fold>> {
    let classes = strata.map_or(1, |strata| strata.iter().max().map_or(1, |last| last + 1));
    let mut counts: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    let mut total = vec![0.0; classes];
    for (i, &group) in groups.iter().enumerate() {
        let class = strata.map_or(0, |strata| strata[i]);
        counts.entry(group).or_insert_with(|| vec![0.0; classes])[class] += 1.0;
        total[class] += 1.0;
    }
    enough(parts, counts.len(), "groups")?;
    let mut order: Vec<u64> = counts.keys().copied().collect();
    let size = |group: &u64| counts[group].iter().sum::<f64>() as u64;
    let tie = |group: &u64| if shuffle { rng::key(seed, "group", *group) } else { 0 };
    order.sort_by_key(|group| (u64::MAX - size(group), tie(group), *group));
    let mut load = vec![vec![0.0; classes]; parts];
    let mut part_of_group: BTreeMap<u64, usize> = BTreeMap::new();
    for group in order {
        // Sum over classes of the squared share of each part grows least where the group is needed most.
        let rise = |part: usize| -> f64 {
            (0..classes)
                .filter(|&c| total[c] > 0.0)
                .map(|c| (2.0 * load[part][c] + counts[&group][c]) * counts[&group][c] / (total[c] * total[c]))
                .sum()
        };
        let filled = |part: usize| load[part].iter().sum::<f64>();
        let best = (0..parts)
            .min_by(|&a, &b| rise(a).total_cmp(&rise(b)).then(filled(a).total_cmp(&filled(b))))
            .expect("at least two parts");
        (0..classes).for_each(|c| load[best][c] += counts[&group][c]);
        part_of_group.insert(group, best);
    }
    let part: Vec<usize> = groups.iter().map(|group| part_of_group[group]).collect();
    Ok(by_part(&part, parts))
}

fn time_series(
    rows: usize,
    n_splits: usize,
    test_size: Option<usize>,
    max_train_size: Option<usize>,
    gap: usize,
) -> Result<Vec<Fold>> {
    let test = test_size.unwrap_or(rows / (n_splits + 1));
    if n_splits == 0 || test == 0 || n_splits * test + gap >= rows {
        let found = format!("{n_splits} test parts of {test} rows and a gap of {gap} leave no training rows of {rows}");
        return Err(Error::Data(found));
    }
    let fold = |k: usize| {
        let start = rows - (n_splits - k) * test;
        let end = start - gap;
        let first = max_train_size.map_or(0, |most| end.saturating_sub(most));
        Fold { train: (first..end).collect(), test: (start..start + test).collect() }
    };
    Ok((0..n_splits).map(fold).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ctx, X};

    const ROWS: usize = 103;

    fn each_row_is_tested_once(folds: &[Fold]) {
        let mut tested = vec![0; ROWS];
        for fold in folds {
            fold.test.iter().for_each(|&row| tested[row] += 1);
            let mut both: Vec<usize> = fold.train.iter().chain(&fold.test).copied().collect();
            both.sort_unstable();
            assert_eq!(both, (0..ROWS).collect::<Vec<_>>());
        }
        assert!(tested.iter().all(|&times| times == 1), "{tested:?}");
    }

    #[test]
    fn every_kind_of_folds_keeps_its_promise() {
        let x = vec![0.0; ROWS];
        let mut rng = Ctx::new(1).rng("test", 0);
        let codes: Vec<u32> = (0..ROWS).map(|_| u32::from(rng.uniform() < 0.3)).collect();
        let groups: Vec<u64> = (0..ROWS).map(|_| rng.below(17) as u64).collect();
        let data = Data::new(X::dense(&x, 1).unwrap()).classes(&codes, 2).unwrap();
        let batch = data.batch();
        let n_splits = 5;
        for shuffle in [false, true] {
            let plain = Folds::KFold { n_splits, shuffle }.split(&batch, None, 3).unwrap();
            each_row_is_tested_once(&plain);
            assert!(plain.iter().all(|fold| (20..=21).contains(&fold.test.len())));
            assert_eq!(plain, Folds::KFold { n_splits, shuffle }.split(&batch, None, 3).unwrap());
            let stratified = Folds::Stratified { n_splits, shuffle }.split(&batch, None, 3).unwrap();
            each_row_is_tested_once(&stratified);
            let ones = codes.iter().filter(|code| **code == 1).count();
            for fold in &stratified {
                let here = fold.test.iter().filter(|&&row| codes[row] == 1).count();
                assert!(here == ones / 5 || here == ones / 5 + 1, "{here} of {ones}");
            }
            for kind in [Folds::Grouped { n_splits, shuffle }, Folds::StratifiedGrouped { n_splits, shuffle }] {
                let folds = kind.split(&batch, Some(&groups), 3).unwrap();
                each_row_is_tested_once(&folds);
                for fold in &folds {
                    assert!(fold.test.iter().all(|&t| fold.train.iter().all(|&r| groups[r] != groups[t])));
                    assert!((12..=30).contains(&fold.test.len()), "{}", fold.test.len());
                }
            }
        }
        let repeated = Folds::Repeated { n_splits, n_repeats: 3 }.split(&batch, None, 3).unwrap();
        assert_eq!(repeated.len(), 15);
        each_row_is_tested_once(&repeated[5..10]);
        assert_ne!(repeated[0], repeated[5]);
        each_row_is_tested_once(&Folds::LeaveOneOut.split(&batch, None, 0).unwrap());
        each_row_is_tested_once(&Folds::LeaveOneGroupOut.split(&batch, Some(&groups), 0).unwrap());
        let series = Folds::TimeSeries { n_splits: 4, test_size: None, max_train_size: Some(30), gap: 2 };
        for fold in series.split(&batch, None, 0).unwrap() {
            assert_eq!((fold.test.len(), fold.train[fold.train.len() - 1] + 3), (20, fold.test[0]));
            assert!(fold.train.len() <= 30);
        }
        for fold in (Folds::Shuffle { n_splits: 3, test_size: 0.25 }).split(&batch, None, 9).unwrap() {
            assert_eq!((fold.test.len(), fold.train.len()), (26, 77));
        }
        let whole_groups = train_test_split(&batch, 0.3, Some(&groups), 1).unwrap();
        assert!(whole_groups.test.iter().all(|&t| whole_groups.train.iter().all(|&r| groups[r] != groups[t])));
        let error = Folds::KFold { n_splits: 200, shuffle: true }.split(&batch, None, 0).unwrap_err().to_string();
        assert!(error.contains("n_splits is 200") && error.contains("103"), "{error}");
        assert!(train_test_split(&batch, 0.0, None, 0).is_err() && train_test_split(&batch, 103.0, None, 0).is_err());
    }
}
