//! Where a model errs on rows it has not learnt from: the rows it is most wrong about, and what a threshold would
//! change.

use crate::{
    judge::Predictions,
    rows::{Encoded, Rows},
    table::{Kind, Schema, number_text},
};
use ermine::{Feature, Output};
use serde::Serialize;

/// Rows that are shown.
pub const WORST: usize = 10;

/// A row that the model is far off about.
#[derive(Clone, Debug, Serialize)]
pub struct WorstRow {
    pub truth: String,
    pub said: String,
    /// True minus predicted number, or the probability that the true class got.
    pub off: f64,
    /// Column and value, in the order of the features.
    pub values: Vec<(String, String)>,
}

/// How wrong the model is about each row, in units that order the rows; none where it says nothing to judge by.
fn losses(truth: &Encoded, said: &Predictions) -> Option<Vec<f64>> {
    match truth {
        Encoded::Real(y) => {
            let values = said.get(Output::Value)?;
            Some(y.iter().enumerate().map(|(i, y)| (y - values[(i, 0)]).abs()).collect())
        }
        Encoded::Class { codes, names } => {
            let p = said.get(Output::Probability).filter(|p| p.cols == names.len())?;
            Some(codes.iter().enumerate().map(|(i, code)| 1.0 - p[(i, *code as usize)]).collect())
        }
    }
}

/// The numbers of the worst rows, increasing. A class that was rightly predicted is no error, however unsure.
pub fn worst(truth: &Encoded, said: &Predictions, most: usize) -> Vec<usize> {
    let Some(losses) = losses(truth, said) else { return Vec::new() };
    let classes = said.classes();
    let is_wrong = |row: &usize| match (truth, &classes) {
        (Encoded::Class { codes, .. }, Some(said)) => said[*row] != codes[*row],
        _ => losses[*row] > 0.0,
    };
    let mut rows: Vec<usize> = (0..losses.len()).filter(is_wrong).collect();
    rows.sort_by(|&a, &b| losses[b].total_cmp(&losses[a]).then(a.cmp(&b)));
    rows.truncate(most);
    rows.sort_unstable();
    rows
}

/// The columns of a row and their values as people read them; long texts are left out.
pub fn values_as_text(rows: &Rows, place: usize, schema: &Schema) -> Vec<(String, String)> {
    let shown = schema.columns.iter().enumerate().filter(|(_, field)| field.kind != Kind::Text);
    let text = |(j, field): (usize, &crate::table::Field)| {
        let value = rows.x[(place, j)];
        let text = match rows.features[j] {
            _ if value.is_nan() => "missing".to_string(),
            Feature::Category { .. } => field.levels.get(value as usize).cloned().unwrap_or_default(),
            Feature::Number => field.text_of(value),
        };
        (field.name.clone(), text)
    };
    shown.map(text).collect()
}

/// Those rows as people read them, the worst first.
pub fn describe(truth: &Encoded, said: &Predictions, numbers: &[usize], rows: &Rows, schema: &Schema) -> Vec<WorstRow> {
    let classes = said.classes();
    let describe = |(place, &row): (usize, &usize)| -> Option<WorstRow> {
        Some(match truth {
            Encoded::Real(y) => {
                let value = said.get(Output::Value)?[(row, 0)];
                let (truth, said) = (number_text(y[row]), number_text(value));
                WorstRow { truth, said, off: y[row] - value, values: values_as_text(rows, place, schema) }
            }
            Encoded::Class { codes, names } => {
                let p = said.get(Output::Probability)?;
                let called = classes.as_ref()?[row] as usize;
                let (truth, said) = (names[codes[row] as usize].clone(), names[called].clone());
                WorstRow {
                    truth,
                    said,
                    off: p[(row, codes[row] as usize)],
                    values: values_as_text(rows, place, schema),
                }
            }
        })
    };
    let mut all: Vec<WorstRow> = numbers.iter().enumerate().filter_map(describe).collect();
    match truth {
        Encoded::Real(_) => all.sort_by(|a, b| b.off.abs().total_cmp(&a.off.abs())),
        Encoded::Class { .. } => all.sort_by(|a, b| a.off.total_cmp(&b.off)),
    }
    all
}

/// What two classes come to when the second is called from this probability on.
#[derive(Clone, Debug, Serialize)]
pub struct Threshold {
    pub at: f64,
    /// Rows of the second class that are called so, and that are not.
    pub hits: f64,
    pub misses: f64,
    /// Rows of the first class that are called the second, and that are not.
    pub alarms: f64,
    pub rest: f64,
}

const THRESHOLDS: usize = 100;

pub fn thresholds(codes: &[u32], probability: &[f64], weights: Option<&[f64]>) -> Vec<Threshold> {
    let at = |step: usize| {
        let at = step as f64 / THRESHOLDS as f64;
        let mut found = Threshold { at, hits: 0.0, misses: 0.0, alarms: 0.0, rest: 0.0 };
        for (i, (code, p)) in codes.iter().zip(probability).enumerate() {
            let cell = match (*code == 1, *p >= at) {
                (true, true) => &mut found.hits,
                (true, false) => &mut found.misses,
                (false, true) => &mut found.alarms,
                (false, false) => &mut found.rest,
            };
            *cell += weights.map_or(1.0, |weights| weights[i]);
        }
        found
    };
    (0..=THRESHOLDS).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ermine::Matrix;

    #[test]
    fn a_threshold_counts_every_row_once_and_the_worst_row_comes_first() {
        let (codes, p) = (vec![0, 1, 1, 0], vec![0.2, 0.9, 0.4, 0.6]);
        let all = thresholds(&codes, &p, None);
        assert!(all.iter().all(|t| t.hits + t.misses + t.alarms + t.rest == 4.0));
        let half = &all[50];
        assert_eq!((half.hits, half.misses, half.alarms, half.rest), (1.0, 1.0, 1.0, 1.0));
        assert_eq!((all[0].hits, all[0].alarms), (2.0, 2.0));

        let mut said = Predictions::default();
        said.insert(Output::Class, Matrix::new(vec![0.0, 1.0, 0.0, 1.0], 4, 1));
        let both = p.iter().flat_map(|p| [1.0 - p, *p]).collect();
        said.insert(Output::Probability, Matrix::new(both, 4, 2));
        let truth = Encoded::Class { codes, names: vec!["no".into(), "yes".into()] };
        assert_eq!(worst(&truth, &said, 9), [2, 3]);
        assert_eq!(worst(&truth, &said, 1), [2], "0.4 and 0.4 for the truth: the earlier row");
    }
}
