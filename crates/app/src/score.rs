//! Which metrics a run reports, and what a guess that ignores the columns would score.

use crate::{frame::Encoded, report::Scores};
use ermine::{Matrix, Task};

/// Predictions as metrics want them.
pub enum Predictions {
    Values(Vec<f64>),
    Classes { codes: Vec<u32>, probability: Option<Matrix> },
}

impl Predictions {
    /// Adds the predictions of the rows that follow.
    pub fn append(&mut self, more: Predictions) {
        match (self, more) {
            (Predictions::Values(values), Predictions::Values(more)) => values.extend(more),
            (
                Predictions::Classes { codes, probability },
                Predictions::Classes { codes: more_codes, probability: more_probability },
            ) => {
                codes.extend(more_codes);
                if let (Some(probability), Some(more)) = (probability, more_probability) {
                    probability.values.extend(more.values);
                    probability.rows += more.rows;
                }
            }
            _ => unreachable!("one model has one kind of prediction"),
        }
    }
}

/// The metric to look at first.
pub fn main_metric(task: Task) -> &'static str {
    if task == Task::Classification { "accuracy" } else { "r2" }
}

pub fn scores(truth: &Encoded, predicted: &Predictions, weights: Option<&[f64]>) -> Scores {
    let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
    match (truth, predicted) {
        (Encoded::Real(y), Predictions::Values(p)) => {
            let total: f64 = (0..y.len()).map(weight).sum();
            let mean = (0..y.len()).map(|i| weight(i) * y[i]).sum::<f64>() / total;
            let squares: f64 = (0..y.len()).map(|i| weight(i) * (y[i] - p[i]).powi(2)).sum();
            let spread: f64 = (0..y.len()).map(|i| weight(i) * (y[i] - mean).powi(2)).sum();
            let absolute: f64 = (0..y.len()).map(|i| weight(i) * (y[i] - p[i]).abs()).sum();
            vec![("r2", 1.0 - squares / spread), ("rmse", (squares / total).sqrt()), ("mae", absolute / total)]
        }
        (Encoded::Class { codes: y, names }, Predictions::Classes { codes: p, probability }) => {
            let total: f64 = (0..y.len()).map(weight).sum();
            let right: f64 = (0..y.len()).filter(|&i| y[i] == p[i]).map(weight).sum();
            let (mut of_class, mut right_of_class) = (vec![0.0; names.len()], vec![0.0; names.len()]);
            for i in 0..y.len() {
                of_class[y[i] as usize] += weight(i);
                right_of_class[y[i] as usize] += if y[i] == p[i] { weight(i) } else { 0.0 };
            }
            let recalls = of_class.iter().zip(&right_of_class).filter(|(of, _)| **of > 0.0);
            let recalls: Vec<f64> = recalls.map(|(of, right)| right / of).collect();
            let balanced = recalls.iter().sum::<f64>() / recalls.len() as f64;
            let mut scores = vec![("accuracy", right / total), ("balanced_accuracy", balanced)];
            if let Some(probability) = probability {
                let loss = |i: usize| -weight(i) * probability[(i, y[i] as usize)].max(f64::EPSILON).ln();
                scores.push(("log_loss", (0..y.len()).map(loss).sum::<f64>() / total));
            }
            scores
        }
        _ => Vec::new(),
    }
}

/// What one would say without looking: the mean, or the most frequent class with the shares of all as probabilities.
pub fn guess(learnt: &Encoded, weights: Option<&[f64]>, rows: usize) -> Predictions {
    let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
    match learnt {
        Encoded::Real(y) => {
            let total: f64 = (0..y.len()).map(weight).sum();
            Predictions::Values(vec![(0..y.len()).map(|i| weight(i) * y[i]).sum::<f64>() / total; rows])
        }
        Encoded::Class { codes, names } => {
            let mut shares = vec![0.0; names.len()];
            codes.iter().enumerate().for_each(|(i, &code)| shares[code as usize] += weight(i));
            let total: f64 = shares.iter().sum();
            let most = (0..shares.len()).max_by(|&a, &b| shares[a].total_cmp(&shares[b])).unwrap_or(0);
            Predictions::Classes {
                codes: vec![most as u32; rows],
                probability: Some(Matrix::from_fn(rows, shares.len(), |_, class| shares[class] / total)),
            }
        }
    }
}

/// Weight of each class by predicted class.
pub fn confusion(truth: &Encoded, predicted: &Predictions, weights: Option<&[f64]>) -> Option<Vec<Vec<f64>>> {
    let (Encoded::Class { codes: y, names }, Predictions::Classes { codes: p, .. }) = (truth, predicted) else {
        return None;
    };
    let mut table = vec![vec![0.0; names.len()]; names.len()];
    for i in 0..y.len() {
        table[y[i] as usize][p[i] as usize] += weights.map_or(1.0, |weights| weights[i]);
    }
    Some(table)
}
