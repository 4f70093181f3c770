//! Levels as numbers. A level that an encoder refuses has no number outside: it becomes a missing value.

use super::Said;
use crate::export::formula::{Formula, Function, Id, Pair};
use ermine::{
    Matrix, Output,
    prep::{HandleUnknown, OneHotModel, OrdinalModel, TargetModel},
};
use std::any::Any;

pub fn lower(model: &dyn Any, x: Id, f: &mut Formula) -> Option<Said> {
    let parts: Vec<Id> = if let Some(model) = model.downcast_ref::<OneHotModel>() {
        (0..model.categories.len()).filter(|&j| model.widths[j] > 0).map(|j| one_hot(model, j, x, f)).collect()
    } else if let Some(model) = model.downcast_ref::<OrdinalModel>() {
        (0..model.categories.len()).map(|j| ordinal(model, j, x, f)).collect()
    } else {
        let model = model.downcast_ref::<TargetModel>()?;
        (0..model.categories.len()).map(|j| target(model, j, x, f)).collect()
    };
    Some(vec![(Output::Transform, f.join(parts))])
}

/// 1 for the level that the column has, 0 for all others.
fn is_level(levels: &[f64], column: Id, f: &mut Formula) -> Id {
    let known: Vec<f64> = levels.iter().copied().filter(|level| !level.is_nan()).collect();
    let mut parts = Vec::new();
    if !known.is_empty() {
        let known = f.constant(known);
        parts.push(f.pair(Pair::Equal, column, known));
    }
    // Missing is the last level, where it is one.
    if levels.last().is_some_and(|level| level.is_nan()) {
        parts.push(f.each(Function::Missing, column));
    }
    f.join(parts)
}

fn one_hot(model: &OneHotModel, j: usize, x: Id, f: &mut Formula) -> Id {
    let column = f.pick(x, vec![j]);
    let is = is_level(&model.categories[j], column, f);
    let (levels, width) = (model.categories[j].len(), model.widths[j]);
    let mut places = Matrix::zeros(levels, width);
    let mut start = vec![0.0; width];
    for (level, place) in model.places[j].iter().enumerate() {
        if let Some(place) = place {
            places[(level, *place as usize)] = 1.0;
        }
    }
    // An unknown level is none of the known ones.
    if let (HandleUnknown::Infrequent, Some(shared)) = (model.handle_unknown, model.infrequent[j]) {
        start[shared as usize] = 1.0;
        (0..levels).for_each(|level| places[(level, shared as usize)] -= 1.0);
    }
    let hot = f.affine(is, places, start);
    match model.handle_unknown {
        HandleUnknown::Error => known_or(is, hot, f64::NAN, f),
        HandleUnknown::Ignore | HandleUnknown::Infrequent => hot,
    }
}

/// `value` where one of the levels is there, `other` elsewhere.
fn known_or(is: Id, value: Id, other: f64, f: &mut Formula) -> Id {
    let any = f.sum(is);
    let other = f.constant(vec![other]);
    f.choose(any, value, other)
}

fn ordinal(model: &OrdinalModel, j: usize, x: Id, f: &mut Formula) -> Id {
    let column = f.pick(x, vec![j]);
    let levels = model.categories[j].len();
    let unknown = model.unknown.unwrap_or(f64::NAN);
    let code = match levels {
        0 => f.affine(column, Matrix::zeros(1, 1), vec![unknown]),
        _ => {
            let is = is_level(&model.categories[j], column, f);
            let numbers = Matrix::from_fn(levels, 1, |level, _| level as f64);
            let code = f.affine(is, numbers, vec![0.0]);
            known_or(is, code, unknown, f)
        }
    };
    let missing = f.each(Function::Missing, column);
    f.choose(missing, column, code)
}

fn target(model: &TargetModel, j: usize, x: Id, f: &mut Formula) -> Id {
    let column = f.pick(x, vec![j]);
    let is = is_level(&model.categories[j], column, f);
    let mean = f.affine(is, model.encodings[j].clone(), vec![0.0; model.target_mean.len()]);
    let any = f.sum(is);
    let overall = f.constant(model.target_mean.clone());
    f.choose(any, mean, overall)
}
