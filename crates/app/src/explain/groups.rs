//! What clusters are: how many rows each has, where its middle lies in the units of the file, and what tells it from
//! the others.

use crate::{
    rows::Rows,
    table::{Kind, Schema},
};
use serde::Serialize;

/// At most this many columns tell a cluster from the others.
const TELLING: usize = 3;
/// A column tells something if it is this many standard deviations, or this share of rows, away from all rows.
const FAR: f64 = 0.3;

#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Rows, of those that were looked at.
    pub rows: usize,
    pub middle: Vec<Middle>,
    /// The columns that differ most from those of all rows, the most telling first.
    pub telling: Vec<Telling>,
}

/// One column of the middle of a cluster.
#[derive(Clone, Debug, Serialize)]
pub struct Middle {
    pub column: String,
    /// The mean, of numbers and dates.
    pub mean: Option<f64>,
    /// The most frequent level and its share.
    pub level: Option<(String, f64)>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Telling {
    pub column: String,
    pub level: Option<String>,
    /// Mean or share here and in all rows.
    pub here: f64,
    pub overall: f64,
    /// The difference in standard deviations of all rows.
    pub apart: f64,
}

/// `labels` has the cluster of each row; a negative one has none.
pub fn groups(rows: &Rows, schema: &Schema, labels: &[i64]) -> Vec<Group> {
    let count = labels.iter().max().map_or(0, |most| (most + 1).max(0) as usize);
    let mut groups: Vec<Group> = (0..count)
        .map(|label| Group {
            rows: labels.iter().filter(|other| **other == label as i64).count(),
            middle: Vec::new(),
            telling: Vec::new(),
        })
        .collect();
    for (j, field) in schema.columns.iter().enumerate() {
        match field.kind {
            Kind::Text => {}
            Kind::Category => levels(rows, j, &field.name, &field.levels, labels, &mut groups),
            _ => numbers(rows, j, &field.name, labels, &mut groups),
        }
    }
    for group in &mut groups {
        group.telling.sort_by(|a, b| b.apart.abs().total_cmp(&a.apart.abs()));
        group.telling.truncate(TELLING);
    }
    groups
}

fn numbers(rows: &Rows, j: usize, name: &str, labels: &[i64], groups: &mut [Group]) {
    let values = || (0..labels.len()).map(|i| (labels[i], rows.x[(i, j)])).filter(|(_, value)| !value.is_nan());
    let mean_of = |keep: &dyn Fn(i64) -> bool| {
        let (sum, count) =
            values().filter(|(label, _)| keep(*label)).fold((0.0, 0usize), |(s, n), (_, v)| (s + v, n + 1));
        (count > 0).then(|| sum / count as f64)
    };
    let Some(overall) = mean_of(&|_| true) else { return };
    let (sum, count) = values().fold((0.0, 0usize), |(s, n), (_, v)| (s + (v - overall) * (v - overall), n + 1));
    let deviation = (sum / count as f64).sqrt();
    for (label, group) in groups.iter_mut().enumerate() {
        let mean = mean_of(&|other| other == label as i64);
        group.middle.push(Middle { column: name.into(), mean, level: None });
        let apart = mean.map_or(0.0, |mean| if deviation > 0.0 { (mean - overall) / deviation } else { 0.0 });
        if apart.abs() >= FAR {
            let here = mean.unwrap_or(overall);
            group.telling.push(Telling { column: name.into(), level: None, here, overall, apart });
        }
    }
}

fn levels(rows: &Rows, j: usize, name: &str, levels: &[String], labels: &[i64], groups: &mut [Group]) {
    let mut counts = vec![vec![0usize; levels.len()]; groups.len()];
    for (i, label) in labels.iter().enumerate() {
        let code = rows.x[(i, j)];
        if *label >= 0 && code >= 0.0 && (code as usize) < levels.len() {
            counts[*label as usize][code as usize] += 1;
        }
    }
    let all: Vec<usize> = (0..levels.len()).map(|level| counts.iter().map(|of| of[level]).sum()).collect();
    let total: usize = all.iter().sum();
    for (group, counts) in groups.iter_mut().zip(&counts) {
        let known: usize = counts.iter().sum();
        let share = |level: usize| counts[level] as f64 / known.max(1) as f64;
        let most = (0..levels.len()).max_by_key(|level| (counts[*level], levels.len() - level));
        let level = most.filter(|_| known > 0).map(|most| (levels[most].clone(), share(most)));
        group.middle.push(Middle { column: name.into(), mean: None, level });
        let Some((most, here)) = most.filter(|_| known > 0).map(|most| (most, share(most))) else { continue };
        let overall = all[most] as f64 / total.max(1) as f64;
        let deviation = (overall * (1.0 - overall)).sqrt();
        let apart = if deviation > 0.0 { (here - overall) / deviation } else { 0.0 };
        if (here - overall).abs() >= FAR {
            group.telling.push(Telling {
                column: name.into(),
                level: Some(levels[most].clone()),
                here,
                overall,
                apart,
            });
        }
    }
}
