//! Models that compare a row with rows they keep: kernels, neighbours, centres.

use super::Said;
use crate::export::formula::{Formula, Function, Id, Metric, Pair};
use ermine::{
    Error, Matrix, Output, Result,
    cluster::KMeansModel,
    engine::{kernel::Kernel, neighbours},
    neighbors::{Known, NeighborsModel, Reach, Weighting},
    svm::{
        Expansion, KernelComponents, KernelFeatures, KernelRegressor, OneClassModel, SupportClassifier,
        SupportRegressor,
    },
};
use std::any::Any;

pub fn lower(name: &str, model: &dyn Any, x: Id, f: &mut Formula) -> Option<Result<Said>> {
    if let Some(model) = model.downcast_ref::<KMeansModel>() {
        let distances = f.distances(x, model.centres.clone(), Metric::SquaredEuclidean);
        let nearness = f.with(Pair::Multiply, distances, -1.0);
        return Some(Ok(vec![
            (Output::Cluster, f.arg_largest(nearness)),
            (Output::Transform, f.each(Function::Sqrt, distances)),
        ]));
    }
    if let Some(SupportRegressor { expansion }) = model.downcast_ref() {
        return Some(scores(expansion, x, f).map(|value| vec![(Output::Value, value)]));
    }
    if let Some(KernelRegressor { expansion }) = model.downcast_ref() {
        return Some(scores(expansion, x, f).map(|value| vec![(Output::Value, value)]));
    }
    if let Some(KernelComponents { expansion, .. }) = model.downcast_ref() {
        return Some(scores(expansion, x, f).map(|value| vec![(Output::Transform, value)]));
    }
    if let Some(KernelFeatures { expansion }) = model.downcast_ref() {
        return Some(scores(expansion, x, f).map(|value| vec![(Output::Transform, value)]));
    }
    if let Some(OneClassModel { expansion }) = model.downcast_ref() {
        return Some(scores(expansion, x, f).map(|score| {
            let inside = f.is_positive(score);
            let (one, other) = (f.constant(vec![1.0]), f.constant(vec![-1.0]));
            vec![(Output::Cluster, f.choose(inside, one, other)), (Output::Decision, score)]
        }));
    }
    if let Some(model) = model.downcast_ref::<SupportClassifier>() {
        return Some(machines(model, x, f));
    }
    model.downcast_ref::<NeighborsModel>().map(|model| neighbours_of(name, model, x, f))
}

fn scores(expansion: &Expansion, x: Id, f: &mut Formula) -> Result<Id> {
    let values = kernel(&expansion.kernel, x, &expansion.points.to_matrix(), f)?;
    Ok(f.affine(values, expansion.coef.clone(), expansion.intercept.clone()))
}

/// The kernel of a row with each point.
fn kernel(of: &Kernel, x: Id, points: &Matrix, f: &mut Formula) -> Result<Id> {
    let products = |f: &mut Formula, factor: f64, offset: f64| {
        let scaled = Matrix::from_fn(points.cols, points.rows, |j, i| factor * points[(i, j)]);
        f.affine(x, scaled, vec![offset; points.rows])
    };
    Ok(match of {
        Kernel::Linear => products(f, 1.0, 0.0),
        Kernel::Poly { degree, gamma, coef0 } => {
            let base = products(f, gamma.unwrap_or(1.0), coef0.unwrap_or(0.0));
            match degree.unwrap_or(3.0) {
                2.0 => f.pair(Pair::Multiply, base, base),
                3.0 => {
                    let square = f.pair(Pair::Multiply, base, base);
                    f.pair(Pair::Multiply, square, base)
                }
                degree => f.each(Function::Power(degree), base),
            }
        }
        Kernel::Rbf { gamma } | Kernel::Laplacian { gamma } => {
            let metric = if matches!(of, Kernel::Rbf { .. }) { Metric::SquaredEuclidean } else { Metric::Manhattan };
            let distances = f.distances(x, points.clone(), metric);
            let fall = f.with(Pair::Multiply, distances, -gamma.unwrap_or(1.0));
            f.each(Function::Exp, fall)
        }
        Kernel::Sigmoid { gamma, coef0 } => {
            let inner = products(f, gamma.unwrap_or(1.0), coef0.unwrap_or(0.0));
            f.each(Function::Tanh, inner)
        }
        Kernel::Constant(value) => f.constant(vec![*value; points.rows]),
        Kernel::Sum(parts) | Kernel::Product(parts) => {
            let pair = if matches!(of, Kernel::Sum(_)) { Pair::Add } else { Pair::Multiply };
            let mut all = parts.iter().map(|part| kernel(part, x, points, f)).collect::<Result<Vec<_>>>()?.into_iter();
            let first = all.next().ok_or_else(|| Error::Unsupported("a kernel of nothing".into()))?;
            all.fold(first, |sum, part| f.pair(pair, sum, part))
        }
        Kernel::Exp(inner) => {
            let inner = kernel(inner, x, points, f)?;
            f.each(Function::Exp, inner)
        }
        other => return Err(Error::Unsupported(format!("the kernel {other} has no form outside Ermine"))),
    })
}

/// A machine for each pair of classes; the class with most votes.
fn machines(model: &SupportClassifier, x: Id, f: &mut Formula) -> Result<Said> {
    let scores = scores(&model.expansion, x, f)?;
    let k = model.classes();
    if k == 2 {
        let decision = f.with(Pair::Multiply, scores, -1.0);
        // Above zero is the first class, everything else the second.
        let first = f.is_positive(scores);
        let (one, zero) = (f.constant(vec![1.0]), f.constant(vec![0.0]));
        let class = f.choose(first, zero, one);
        let mut said = vec![(Output::Class, class), (Output::Decision, decision)];
        if let Some([(a, b)]) = model.platt.as_deref() {
            let inner = f.affine(scores, Matrix::new(vec![-a], 1, 1), vec![-b]);
            let p = f.each(Function::Sigmoid, inner);
            let above = f.with(Pair::Larger, p, 1e-7);
            let p = f.with(Pair::Smaller, above, 1.0 - 1e-7);
            let q = f.affine(p, Matrix::new(vec![-1.0], 1, 1), vec![1.0]);
            // The predicted class is never the less probable one.
            let half = f.constant(vec![0.5]);
            let at_least = f.pair(Pair::Larger, p, half);
            let at_most = f.pair(Pair::Smaller, p, half);
            let own = f.choose(first, at_least, at_most);
            let q_most = f.pair(Pair::Smaller, q, half);
            let q_least = f.pair(Pair::Larger, q, half);
            let other = f.choose(first, q_most, q_least);
            said.push((Output::Probability, f.join(vec![own, other])));
        }
        return Ok(said);
    }
    // Probabilities of several classes are found by an iteration: there is no formula.
    let mut won = Matrix::zeros(k * (k - 1) / 2, k);
    let mut start = vec![0.0; k];
    let pairs = (0..k).flat_map(|i| (i + 1..k).map(move |j| (i, j)));
    for (pair, (i, j)) in pairs.enumerate() {
        won[(pair, i)] = 1.0;
        won[(pair, j)] = -1.0;
        start[j] += 1.0;
    }
    if model.break_ties {
        return Err(Error::Unsupported("SVC with break_ties has no form outside Ermine".into()));
    }
    let above = f.is_positive(scores);
    let votes = f.affine(above, won, start);
    Ok(vec![(Output::Class, f.arg_largest(votes))])
}

fn neighbours_of(name: &str, model: &NeighborsModel, x: Id, f: &mut Formula) -> Result<Said> {
    let none = |what: &str| Err(Error::Unsupported(format!("{name} {what} has no form outside Ermine")));
    let Reach::Count(count) = model.reach else { return none("with a radius") };
    let inverse = model.weighting == Weighting::Distance;
    let points = model.search.points.to_matrix();
    let metric = match model.search.metric {
        neighbours::Metric::Minkowski(2.0) => Metric::SquaredEuclidean,
        neighbours::Metric::Minkowski(1.0) => Metric::Manhattan,
        neighbours::Metric::Chebyshev => Metric::Chebyshev,
        _ => return none("with this metric"),
    };
    let mut distances = f.distances(x, points, metric);
    if inverse && metric == Metric::SquaredEuclidean {
        distances = f.each(Function::Sqrt, distances);
    }
    Ok(match &model.known {
        Known::Nothing => return none("without a target"),
        Known::Real(values) => vec![(Output::Value, f.neighbours(distances, count, values.clone(), inverse))],
        Known::Class { codes, classes, .. } => {
            let votes = Matrix::from_fn(codes.len(), *classes, |i, c| f64::from(u8::from(codes[i] as usize == c)));
            let shares = f.neighbours(distances, count, votes, inverse);
            vec![(Output::Class, f.arg_largest(shares)), (Output::Probability, shares)]
        }
    })
}
