//! The steps of a fit, kept while it runs: what an engine knew after each pass, as named arrays.
//!
//! A fit records what it computes anyway, so that what is shown is what was fitted. A trace holds a bounded number of
//! numbers: when it is full every second step is forgotten and from then on only every second one is kept, so that a
//! long fit is seen evenly. The last step is always there.

use crate::linalg::Matrix;
use serde::Serialize;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Numbers that a trace holds, unless it is told otherwise: 16 MB.
const MOST: usize = 2 << 20;

/// What was known after one step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Counted from 0.
    pub step: usize,
    /// What kind of step: `assign`, `pass`, `split`.
    pub what: &'static str,
    pub values: BTreeMap<&'static str, Matrix>,
}

/// Shared by whoever asks for the steps and the fit that records them.
#[derive(Clone, Debug, Default)]
pub struct Trace(Arc<Mutex<Kept>>);

#[derive(Debug)]
struct Kept {
    steps: Vec<Step>,
    last: Option<Step>,
    recorded: usize,
    every: usize,
    held: usize,
    most: usize,
}

impl Default for Kept {
    fn default() -> Self {
        Kept { steps: Vec::new(), last: None, recorded: 0, every: 1, held: 0, most: MOST }
    }
}

impl Trace {
    /// At most so many numbers, and one step more.
    pub fn holding(most: usize) -> Trace {
        Trace(Arc::new(Mutex::new(Kept { most, ..Kept::default() })))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn record(&self, what: &'static str, values: Vec<(&'static str, Matrix)>) {
        let mut kept = self.kept();
        let step = Step { step: kept.recorded, what, values: values.into_iter().collect() };
        kept.recorded += 1;
        if let Some(before) = kept.last.replace(step)
            && before.step % kept.every == 0
        {
            kept.held += before.size();
            kept.steps.push(before);
        }
        while kept.held > kept.most && kept.steps.len() > 1 {
            kept.every *= 2;
            let every = kept.every;
            kept.steps.retain(|step| step.step % every == 0);
            kept.held = kept.steps.iter().map(Step::size).sum();
        }
    }

    /// The steps in order, the last one always among them.
    pub fn steps(&self) -> Vec<Step> {
        let kept = self.kept();
        kept.steps.iter().chain(&kept.last).cloned().collect()
    }

    /// How many were recorded, also those that are forgotten.
    pub fn recorded(&self) -> usize {
        self.kept().recorded
    }
}

impl Step {
    fn size(&self) -> usize {
        self.values.values().map(|values| values.values.len()).sum()
    }
}

/// A column of numbers.
pub fn column(values: impl IntoIterator<Item = f64>) -> Matrix {
    let values: Vec<f64> = values.into_iter().collect();
    let rows = values.len();
    Matrix::new(values, rows, 1)
}

/// A single number.
pub fn number(value: f64) -> Matrix {
    Matrix::new(vec![value], 1, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_fit_is_seen_evenly_and_to_its_end() {
        let trace = Trace::holding(100);
        for step in 0..1000 {
            trace.record("pass", vec![("w", Matrix::new(vec![step as f64; 5], 5, 1))]);
        }
        let steps = trace.steps();
        assert!(steps.len() <= 22 && steps.len() >= 10, "{}", steps.len());
        assert_eq!((steps[0].step, steps.last().unwrap().step, trace.recorded()), (0, 999, 1000));
        let gaps: Vec<usize> = steps.windows(2).map(|pair| pair[1].step - pair[0].step).collect();
        assert!(gaps[..gaps.len() - 1].iter().all(|gap| *gap == gaps[0]), "{gaps:?}");
        assert!(steps.iter().all(|step| step.values["w"][(0, 0)] == step.step as f64));
    }
}
