//! Functions of one column, piece by piece: bins, splines, isotonic regression.

use super::Said;
use crate::export::formula::{Formula, Id, Pair};
use ermine::{
    Matrix, Output,
    isotonic::{Beyond, IsotonicModel},
    prep::{BinsModel, Encode, SplineModel},
};
use std::any::Any;

pub fn lower(model: &dyn Any, x: Id, f: &mut Formula) -> Option<Said> {
    if let Some(model) = model.downcast_ref::<IsotonicModel>() {
        return Some(vec![(Output::Value, isotonic(model, x, f))]);
    }
    let parts = if let Some(model) = model.downcast_ref::<BinsModel>() {
        model.edges.iter().enumerate().map(|(j, edges)| bins(edges, model.encode, j, x, f)).collect()
    } else {
        let model = model.downcast_ref::<SplineModel>()?;
        let kept = (0..model.knots.len()).filter(|&j| model.knots[j].len() - model.degree > 2 || model.include_bias);
        kept.map(|j| bumps(model, j, x, f)).collect()
    };
    Some(vec![(Output::Transform, f.join(parts))])
}

/// A column as a number that is the same for every row.
fn always(value: f64, column: Id, f: &mut Formula) -> Id {
    f.affine(column, Matrix::zeros(1, 1), vec![value])
}

/// 1 where the column is below the edge.
fn below(edges: &[f64], column: Id, f: &mut Formula) -> Id {
    let edges = f.constant(edges.to_vec());
    f.pair(Pair::Above, edges, column)
}

fn bins(edges: &[f64], encode: Encode, j: usize, x: Id, f: &mut Formula) -> Id {
    let column = f.pick(x, vec![j]);
    let inner = &edges[1..edges.len() - 1];
    let ordinal = encode == Encode::Ordinal;
    if inner.is_empty() {
        return always(if ordinal { 0.0 } else { 1.0 }, column, f);
    }
    let (below, m) = (below(inner, column, f), inner.len());
    if ordinal {
        return f.affine(below, Matrix::new(vec![-1.0; m], m, 1), vec![m as f64]);
    }
    // Below the next edge and not below the last one.
    let steps = Matrix::from_fn(m, m + 1, |edge, bin| f64::from(edge == bin) - f64::from(edge + 1 == bin));
    let mut start = vec![0.0; m + 1];
    start[m] = 1.0;
    f.affine(below, steps, start)
}

/// `B_{i,k} = (x - t_i) / (t_{i+k} - t_i) B_{i,k-1} + (t_{i+k+1} - x) / (t_{i+k+1} - t_{i+1}) B_{i+1,k-1}`
fn bumps(model: &SplineModel, j: usize, x: Id, f: &mut Formula) -> Id {
    let (t, d) = (&model.knots[j], model.degree);
    let last = t.len() - d - 1;
    let column = f.pick(x, vec![j]);
    let above = f.with(Pair::Larger, column, t[d]);
    let x = f.with(Pair::Smaller, above, t[last]);
    // Which piece it is; the last one is closed, the first is open below.
    let pieces = t.len() - 1;
    let mut now = match &t[d + 1..last] {
        [] => {
            let only = (0..pieces).map(|i| f64::from(i == d)).collect();
            f.affine(x, Matrix::zeros(1, pieces), only)
        }
        inner => {
            let below = below(inner, x, f);
            let piece = |i: usize, edge: usize| f64::from(i == edge + d) - f64::from(i == edge + d + 1);
            let steps = Matrix::from_fn(inner.len(), pieces, |edge, i| piece(i, edge));
            f.affine(below, steps, (0..pieces).map(|i| f64::from(i == d + inner.len())).collect())
        }
    };
    for k in 1..=d {
        let count = pieces - k;
        let inverse = |i: usize| if t[i + k] > t[i] { 1.0 / (t[i + k] - t[i]) } else { 0.0 };
        let side = |knots: Vec<f64>, shift: usize, sign: f64, f: &mut Formula| {
            let knots = f.constant(knots);
            let away = f.pair(Pair::Subtract, x, knots);
            let inverses = f.constant((0..count).map(|i| sign * inverse(i + shift)).collect());
            let share = f.pair(Pair::Multiply, away, inverses);
            let before = f.pick(now, (shift..count + shift).collect());
            f.pair(Pair::Multiply, share, before)
        };
        let rising = side(t[..count].to_vec(), 0, 1.0, f);
        let falling = side(t[k + 1..].to_vec(), 1, -1.0, f);
        now = f.pair(Pair::Add, rising, falling);
    }
    let kept = f.width(now) - usize::from(!model.include_bias);
    f.pick(now, (0..kept).collect())
}

/// The first value, and what each piece adds on the way to x. What the model refuses is missing.
fn isotonic(model: &IsotonicModel, x: Id, f: &mut Formula) -> Id {
    let last = model.x.len() - 1;
    if last == 0 {
        return always(model.y[0], x, f);
    }
    let (lows, highs) = (f.constant(model.x[..last].to_vec()), f.constant(model.x[1..].to_vec()));
    let above = f.pair(Pair::Larger, x, lows);
    let inside = f.pair(Pair::Smaller, above, highs);
    let way = f.pair(Pair::Subtract, inside, lows);
    let lengths = f.pair(Pair::Subtract, highs, lows);
    let share = f.pair(Pair::Divide, way, lengths);
    let rises = (0..last).map(|k| model.y[k + 1] - model.y[k]).collect();
    let value = f.affine(share, Matrix::new(rises, last, 1), vec![model.y[0]]);
    if model.out_of_bounds == Beyond::Clip {
        return value;
    }
    let missing = f.constant(vec![f64::NAN]);
    let low = below(&model.x[..1], x, f);
    let high = f.with(Pair::Above, x, model.x[last]);
    let from_low = f.choose(low, missing, value);
    f.choose(high, missing, from_low)
}
