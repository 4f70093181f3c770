//! New features from old ones.

use super::Said;
use crate::export::formula::{Formula, Function, Id, Metric, Pair};
use ermine::{
    Matrix, Output,
    decompose::{IncrementalPCAModel, PCAModel, TruncatedSVDModel},
    prep::{
        AffineModel, Family, ImputerModel, KNNImputerModel, PolynomialModel, PowerModel, RowFunction, RowModel,
        SelectionModel,
    },
    svm::FourierFeatures,
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
    } else if let Some(model) = model.downcast_ref::<ImputerModel>() {
        imputed(model, x, f)
    } else if let Some(model) = model.downcast_ref::<KNNImputerModel>() {
        imputed_by_neighbours(model, x, f)
    } else if let Some(model) = model.downcast_ref::<PolynomialModel>() {
        products(model, x, f)
    } else if let Some(model) = model.downcast_ref::<PowerModel>() {
        powers(model, x, f)
    } else if let Some(FourierFeatures { weights, offset }) = model.downcast_ref() {
        let angle = f.affine(x, weights.clone(), offset.clone());
        let waves = f.each(Function::Cos, angle);
        f.with(Pair::Multiply, waves, (2.0 / offset.len() as f64).sqrt())
    } else {
        row_function(model.downcast_ref()?, x, f)
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

fn row_function(model: &RowModel, x: Id, f: &mut Formula) -> Id {
    match model.what {
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
        RowFunction::Log => f.ln_1p(x),
        RowFunction::SignedLog => {
            let size = f.each(Function::Abs, x);
            let log = f.ln_1p(size);
            signed(x, log, f)
        }
    }
}

/// A row of length 0 stays.
fn over_length(x: Id, length: Id, f: &mut Formula) -> Id {
    let some = f.is_positive(length);
    let one = f.constant(vec![1.0]);
    let safe = f.choose(some, length, one);
    f.pair(Pair::Divide, x, safe)
}

/// With the sign of x.
fn signed(x: Id, size: Id, f: &mut Formula) -> Id {
    let negative = f.constant(vec![0.0]);
    let negative = f.pair(Pair::Above, negative, x);
    let mirrored = f.with(Pair::Multiply, size, -1.0);
    f.choose(negative, mirrored, size)
}

/// Columns that are kept, and a flag for each of some.
fn with_flags(filled: Id, kept: Vec<usize>, flags: &[usize], x: Id, f: &mut Formula) -> Id {
    let kept = f.pick(filled, kept);
    if flags.is_empty() {
        return kept;
    }
    let flagged = f.pick(x, flags.to_vec());
    let missing = f.each(Function::Missing, flagged);
    f.join(vec![kept, missing])
}

fn imputed(model: &ImputerModel, x: Id, f: &mut Formula) -> Id {
    let filled = f.fill(x, model.statistics.clone());
    let kept = (0..model.statistics.len()).filter(|&j| !model.statistics[j].is_nan()).collect();
    with_flags(filled, kept, &model.indicators, x, f)
}

fn imputed_by_neighbours(model: &KNNImputerModel, x: Id, f: &mut Formula) -> Id {
    let rows = &model.rows;
    let mut distances = f.distances(x, rows.clone(), Metric::Shared);
    if model.by_distance {
        distances = f.each(Function::Sqrt, distances);
    }
    // Who shares no column with the row is no neighbour.
    let distances = f.fill(distances, vec![f64::INFINITY; rows.rows]);
    let mut columns = Vec::new();
    for j in 0..rows.cols {
        let column = f.pick(x, vec![j]);
        let donors: Vec<usize> = (0..rows.rows).filter(|&i| !rows[(i, j)].is_nan()).collect();
        if donors.is_empty() {
            columns.push(f.fill(column, vec![model.means[j]]));
            continue;
        }
        let theirs = Matrix::from_fn(donors.len(), 1, |i, _| rows[(donors[i], j)]);
        let count = model.n_neighbors.min(donors.len());
        let near = f.pick(distances, donors);
        let mean = f.neighbours(near, count, theirs, model.by_distance);
        let mean = f.fill(mean, vec![model.means[j]]);
        let missing = f.each(Function::Missing, column);
        columns.push(f.choose(missing, mean, column));
    }
    let all = f.join(columns);
    let kept = (0..rows.cols).filter(|&j| !model.means[j].is_nan()).collect();
    with_flags(all, kept, &model.indicators, x, f)
}

/// Products of as many factors stand side by side.
fn products(model: &PolynomialModel, x: Id, f: &mut Formula) -> Id {
    let runs = model.products.chunk_by(|a, b| a.len() == b.len());
    let parts = runs.map(|run| match run[0].len() {
        0 => f.affine(x, Matrix::zeros(model.cols, run.len()), vec![1.0; run.len()]),
        degree => {
            let first = f.pick(x, run.iter().map(|product| product[0]).collect());
            (1..degree).fold(first, |product, k| {
                let factor = f.pick(x, run.iter().map(|product| product[k]).collect());
                f.pair(Pair::Multiply, product, factor)
            })
        }
    });
    let parts = parts.collect();
    f.join(parts)
}

/// `(e^(l ln u) - 1) / l` with u = x, or 1 + |x|, and l by the sign of x.
fn powers(model: &PowerModel, x: Id, f: &mut Formula) -> Id {
    let curved = match model.family {
        Family::BoxCox => {
            let log = f.each(Function::Ln, x);
            power(log, &model.lambdas, f)
        }
        Family::YeoJohnson => {
            let size = f.each(Function::Abs, x);
            let log = f.ln_1p(size);
            let (above, below) = (power(log, &model.lambdas, f), {
                let others: Vec<f64> = model.lambdas.iter().map(|l| 2.0 - l).collect();
                power(log, &others, f)
            });
            let zero = f.constant(vec![0.0]);
            let negative = f.pair(Pair::Above, zero, x);
            let mirrored = f.with(Pair::Multiply, below, -1.0);
            f.choose(negative, mirrored, above)
        }
    };
    let mean = f.constant(model.mean.clone());
    let about = f.pair(Pair::Subtract, curved, mean);
    let scale = f.constant(model.scale.clone());
    f.pair(Pair::Divide, about, scale)
}

/// The logarithm itself where the exponent is 0.
fn power(log: Id, lambdas: &[f64], f: &mut Formula) -> Id {
    let is_log: Vec<f64> = lambdas.iter().map(|l| f64::from(l.abs() < 1e-12)).collect();
    let safe: Vec<f64> = lambdas.iter().zip(&is_log).map(|(l, is_log)| if *is_log == 1.0 { 1.0 } else { *l }).collect();
    let exponents = f.constant(safe.clone());
    let inner = f.pair(Pair::Multiply, log, exponents);
    let raised = f.exp_m1(inner);
    let safe = f.constant(safe);
    let curved = f.pair(Pair::Divide, raised, safe);
    if is_log.iter().all(|is_log| *is_log == 0.0) {
        return curved;
    }
    let is_log = f.constant(is_log);
    f.choose(is_log, log, curved)
}
