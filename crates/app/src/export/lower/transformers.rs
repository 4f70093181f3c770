//! New features from old ones.

use super::Said;
use crate::export::formula::{Formula, Function, Id, Pair};
use ermine::{
    Output,
    decompose::{IncrementalPCAModel, PCAModel, TruncatedSVDModel},
    prep::{AffineModel, RowFunction, RowModel, SelectionModel},
};
use std::any::Any;

pub fn lower(model: &dyn Any, x: Id, f: &mut Formula) -> Option<Said> {
    let transformed = if let Some(AffineModel { center, scale, clip, .. }) = model.downcast_ref() {
        let centre = f.constant(center.clone());
        let about = f.pair(Pair::Subtract, x, centre);
        let scale = f.constant(scale.clone());
        let mut scaled = f.pair(Pair::Divide, about, scale);
        if let Some((low, high)) = clip {
            scaled = f.with(Pair::Larger, scaled, *low);
            scaled = f.with(Pair::Smaller, scaled, *high);
        }
        scaled
    } else if let Some(model) = model.downcast_ref::<PCAModel>() {
        components(model, x, f)
    } else if let Some(model) = model.downcast_ref::<IncrementalPCAModel>() {
        components(&model.pca, x, f)
    } else if let Some(TruncatedSVDModel { components, .. }) = model.downcast_ref() {
        f.affine(x, components.transposed(), vec![0.0; components.rows])
    } else if let Some(SelectionModel { kept, .. }) = model.downcast_ref() {
        f.pick(x, kept.clone())
    } else {
        row_function(model.downcast_ref()?, x, f)?
    };
    Some(vec![(Output::Transform, transformed)])
}

fn components(model: &PCAModel, x: Id, f: &mut Formula) -> Id {
    let mean = f.constant(model.mean.clone());
    let about = f.pair(Pair::Subtract, x, mean);
    let z = f.affine(about, model.components.transposed(), vec![0.0; model.components.rows]);
    if !model.whiten {
        return z;
    }
    let deviations = model.explained.iter().map(|v| v.sqrt().max(f64::EPSILON)).collect();
    let deviations = f.constant(deviations);
    f.pair(Pair::Divide, z, deviations)
}

fn row_function(model: &RowModel, x: Id, f: &mut Formula) -> Option<Id> {
    Some(match model.what {
        RowFunction::Above(threshold) => f.with(Pair::Above, x, threshold),
        RowFunction::L1 => {
            let sizes = f.each(Function::Abs, x);
            let length = f.sum(sizes);
            over_length(x, length, f)
        }
        RowFunction::L2 => {
            let squares = f.pair(Pair::Multiply, x, x);
            let sum = f.sum(squares);
            let length = f.each(Function::Sqrt, sum);
            over_length(x, length, f)
        }
        RowFunction::Max => {
            let sizes = f.each(Function::Abs, x);
            let length = f.largest(sizes);
            over_length(x, length, f)
        }
        // ln(1 + x) near 0 needs a function of its own.
        RowFunction::SignedLog | RowFunction::Log => return None,
    })
}

/// A row of length 0 stays.
fn over_length(x: Id, length: Id, f: &mut Formula) -> Id {
    let some = f.is_positive(length);
    let one = f.constant(vec![1.0]);
    let safe = f.choose(some, length, one);
    f.pair(Pair::Divide, x, safe)
}
