//! Which models suit a table, what they cost there, and the units of their parameters. What is known of a model stands
//! in its `Info`.

use crate::{
    fit::most_terms,
    rows::{Encoded, Rows},
};
use ermine::{
    AnyEstimator, Domain, Entry, Feature, Info, MODELS, Result, Spec, Task, Value,
    core::{TargetKind, source::Shape},
    prepare::Wants,
};
use rustc_hash::FxHashSet;

/// Fewer rows than this are few.
const FEW_ROWS: usize = 1000;
/// Terms of a text column that a row has.
const TERMS_IN_ROW: usize = 40;

/// Why a model does not suit these rows, if it does not.
fn unsuited(entry: &Entry, rows: &Rows) -> Option<String> {
    let info: &Info = &entry.info;
    if let Some(reason) = info.not_compared {
        return Some(reason.into());
    }
    if rows.labels.weights.is_some() && !info.weights {
        return Some("does not support row weights".into());
    }
    if let Some(Encoded::Real(y)) = &rows.labels.target {
        match info.target {
            Domain::Count if !y.iter().all(|y| *y >= 0.0 && y.fract() == 0.0) => {
                return Some("the target is not a count".into());
            }
            Domain::Positive if !y.iter().all(|y| *y > 0.0) => {
                return Some("the target is not positive".into());
            }
            _ => {}
        }
    }
    let numbers = rows.x.cols - rows.texts.0.len();
    (info.word_counts && numbers > 0).then(|| "for word counts only".into())
}

/// The models to try, and those left out with the reason.
pub fn candidates(task: Task, asked: &[Spec], rows: &Rows) -> Result<(Vec<Spec>, Vec<(String, String)>)> {
    if !asked.is_empty() {
        return Ok((asked.to_vec(), Vec::new()));
    }
    let (mut tried, mut left_out) = (Vec::new(), Vec::new());
    for entry in MODELS.iter().filter(|entry| entry.info.task == task) {
        match unsuited(entry, rows) {
            Some(reason) => left_out.push((entry.name.to_string(), reason)),
            None => tried.push(in_units(start(entry.name, rows)?, rows)?),
        }
    }
    Ok((tried, left_out))
}

/// Where a comparison starts: the defaults, or of few rows what suits them.
pub fn start(model: &str, rows: &Rows) -> Result<Spec> {
    let (mut spec, entry) = (Spec::new(model), ermine::entry(model)?);
    if rows.len() >= FEW_ROWS {
        return Ok(spec);
    }
    for param in (entry.params)() {
        let known = entry.info.on_few_rows.iter().find(|(name, _)| *name == param.name);
        if let Some((name, value)) = known {
            let is_count = matches!(param.default, Value::Int(_));
            let value = if is_count { Value::Int(*value as i64) } else { Value::Float(*value) };
            spec.params.insert((*name).into(), value);
        }
    }
    Ok(spec)
}

/// Parameters that are in the units of the target, brought to its scale.
pub fn in_units(mut spec: Spec, rows: &Rows) -> Result<Spec> {
    let entry = ermine::entry(&spec.name)?;
    let (false, Some(Encoded::Real(y))) = (entry.info.target_units.is_empty(), &rows.labels.target) else {
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

/// How many different values a column has, on average, as far as a few rows show; 0 where nothing can be said.
fn distinct(rows: &Rows) -> usize {
    // More make no difference to the cost of any model.
    const MANY: usize = 256;
    let (n, cols) = (rows.len().min(Size::ROWS), rows.x.cols);
    if n == 0 || cols == 0 {
        return 0;
    }
    let different = |column: usize| {
        let values: FxHashSet<u64> = (0..n).map(|row| rows.x.values[row * cols + column].to_bits()).collect();
        // Nearly as many as rows: there are more.
        if 2 * values.len() > n { MANY } else { values.len().min(MANY) }
    };
    (0..cols).map(different).sum::<usize>().div_ceil(cols)
}

/// What decides the cost of a fit, before anything is prepared.
#[derive(Clone)]
pub struct Size {
    features: Vec<Feature>,
    texts: usize,
    target: TargetKind,
    weighted: bool,
    /// Different values of a column, on average.
    distinct: usize,
}

impl Size {
    /// As many rows as it looks at.
    pub const ROWS: usize = 1000;

    pub fn of(rows: &Rows) -> Size {
        Size {
            features: rows.features.clone(),
            texts: rows.texts.0.len(),
            target: rows.labels.target.as_ref().map_or(TargetKind::None, |target| target.target().kind()),
            weighted: rows.labels.weights.is_some(),
            distinct: distinct(rows),
        }
    }

    /// Prepared rows as a model of this kind gets them; of sparse ones the values that a row stores.
    fn shape(&self, info: &Info, rows: usize) -> Shape {
        let width = |feature: &Feature| match *feature {
            // Rare levels share a column.
            Feature::Category { levels } if !info.categories => (levels as usize).min(10 + rows / 3),
            _ => 1,
        };
        let wide: usize = self.features.iter().map(width).sum();
        let sparse = info.sparse && (self.texts > 0 || wide > 64 && self.features.len() * 4 < wide);
        let cols = wide + self.texts * rows.min(most_terms(&Wants::from(info)));
        let stored = self.features.len() + self.texts * TERMS_IN_ROW;
        let (target, weighted, distinct) = (self.target, self.weighted, self.distinct);
        Shape { rows, cols: cols.max(1), target, sparse, stored, distinct, weighted }
    }

    /// Predicted seconds of one core for a fit on so many rows, and predictions for a quarter as many.
    pub fn cost(&self, estimator: &dyn AnyEstimator, rows: usize) -> f64 {
        estimator.cost(&self.shape(&estimator.info(), rows))
    }

    /// The most rows, up to `most`, on which a fit costs no more than this.
    pub fn rows_within(&self, estimator: &dyn AnyEstimator, most: usize, cost: f64) -> usize {
        if self.cost(estimator, most) <= cost {
            return most;
        }
        let (mut low, mut high) = (most.min(1000), most);
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if self.cost(estimator, middle) <= cost { low = middle } else { high = middle }
        }
        low
    }
}
