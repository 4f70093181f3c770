//! Naive Bayes, discriminants and mixtures: the logarithm of a joint density, and the posterior of it.

use super::{Said, posterior};
use crate::export::formula::{Formula, Function, Id, Pair};
use ermine::{
    Matrix, Output,
    bayes::{CategoricalModel, CountModel, GaussianNBModel, LinearDiscriminantModel, QuadraticDiscriminantModel},
    cluster::{
        BayesianGaussianMixtureModel, CountFamily, CountMixtureModel, Covariance, GaussianMixtureModel, Mixture,
    },
};
use std::any::Any;

pub fn lower(model: &dyn Any, x: Id, f: &mut Formula) -> Option<Said> {
    if let Some(model) = model.downcast_ref::<GaussianNBModel>() {
        let joint = (0..model.prior.len())
            .map(|c| {
                let variance = model.variance.row(c);
                let inverse: Vec<f64> = variance.iter().map(|v| -0.5 / v).collect();
                let log_scale: f64 = variance.iter().map(|v| (std::f64::consts::TAU * v).ln()).sum();
                let about = about(x, &model.moments[c].mean, f);
                let squares = f.pair(Pair::Multiply, about, about);
                let constant = model.prior[c].ln() - 0.5 * log_scale;
                f.affine(squares, Matrix::new(inverse, variance.len(), 1), vec![constant])
            })
            .collect();
        return Some(joined(joint, f));
    }
    if let Some(model) = model.downcast_ref::<CountModel>() {
        let x = match model.binarize {
            Some(threshold) => f.with(Pair::Above, x, threshold),
            None => x,
        };
        let joint = f.affine(x, model.weights.clone(), model.offset.clone());
        return Some(posterior(joint, f));
    }
    if let Some(model) = model.downcast_ref::<CategoricalModel>() {
        let k = model.class_log_prior.len();
        // A level is the whole part of a number.
        let x = f.each(Function::Floor, x);
        let mut parts = Vec::new();
        let mut table = Vec::new();
        for (column, logs) in model.log_prob.iter().enumerate() {
            parts.push(f.one_hot(x, column, 0, logs.len() / k));
            table.extend_from_slice(logs);
        }
        let levels = f.join(parts);
        let joint = f.affine(levels, Matrix::new(table.clone(), table.len() / k, k), model.class_log_prior.clone());
        return Some(posterior(joint, f));
    }
    if let Some(model) = model.downcast_ref::<LinearDiscriminantModel>() {
        let scores = f.affine(x, model.coef.transposed(), model.intercept.clone());
        let joint = match f.width(scores) {
            1 => {
                let zero = f.constant(vec![0.0]);
                f.join(vec![zero, scores])
            }
            _ => scores,
        };
        return Some(posterior(joint, f));
    }
    if let Some(model) = model.downcast_ref::<QuadraticDiscriminantModel>() {
        let joint = model.parts.iter().zip(&model.prior).map(|(part, prior)| {
            let constant = prior.ln() - 0.5 * part.log_determinant;
            quadratic(x, &part.mean, part.whiten.clone(), constant, f)
        });
        let joint = joint.collect();
        return Some(joined(joint, f));
    }
    if let Some(model) = model.downcast_ref::<CountMixtureModel>() {
        return Some(counts(model, x, f));
    }
    let (mixture, constants) = match model.downcast_ref::<GaussianMixtureModel>() {
        Some(model) => (&model.mixture, model.mixture.constants()),
        None => {
            let model = model.downcast_ref::<BayesianGaussianMixtureModel>()?;
            (&model.posterior.mixture, model.posterior.constants())
        }
    };
    Some(mixture_of(mixture, &constants, x, f))
}

fn about(x: Id, mean: &[f64], f: &mut Formula) -> Id {
    let mean = f.constant(mean.to_vec());
    f.pair(Pair::Subtract, x, mean)
}

/// `constant - ||(x - mean) W||^2 / 2`
fn quadratic(x: Id, mean: &[f64], whiten: Matrix, constant: f64, f: &mut Formula) -> Id {
    let about = about(x, mean, f);
    let bias = vec![0.0; whiten.cols];
    let z = f.affine(about, whiten, bias);
    let squares = f.pair(Pair::Multiply, z, z);
    let width = f.width(squares);
    f.affine(squares, Matrix::new(vec![-0.5; width], width, 1), vec![constant])
}

fn joined(joint: Vec<Id>, f: &mut Formula) -> Said {
    let joint = f.join(joint);
    posterior(joint, f)
}

fn mixture_of(mixture: &Mixture, constants: &[f64], x: Id, f: &mut Formula) -> Said {
    let p = mixture.means.cols;
    let diagonal = |of: &dyn Fn(usize) -> f64| Matrix::from_fn(p, p, |i, j| if i == j { of(i) } else { 0.0 });
    let joint = constants.iter().enumerate().map(|(c, constant)| {
        let whiten = match mixture.covariance_type {
            // Rows of L^-1, lower.
            Covariance::Full => Matrix::new(mixture.factors[c * p * p..(c + 1) * p * p].to_vec(), p, p).transposed(),
            Covariance::Tied => Matrix::new(mixture.factors.clone(), p, p).transposed(),
            Covariance::Diag => diagonal(&|j| mixture.factors[c * p + j]),
            Covariance::Spherical => diagonal(&|_| mixture.factors[c]),
        };
        quadratic(x, mixture.means.row(c), whiten, *constant, f)
    });
    let joint = joint.collect();
    let said = joined(joint, f);
    clusters(said)
}

/// Components are no classes.
fn clusters(said: Said) -> Said {
    said.into_iter().map(|(output, id)| (if output == Output::Class { Output::Cluster } else { output }, id)).collect()
}

fn counts(model: &CountMixtureModel, x: Id, f: &mut Formula) -> Said {
    let yes_no = model.family == CountFamily::Bernoulli;
    let x = if yes_no { f.is_positive(x) } else { x };
    let theta = &model.theta;
    let weights = Matrix::from_fn(theta.cols, theta.rows, |j, c| {
        let t = theta[(c, j)];
        if yes_no { t.ln() - (1.0 - t).ln() } else { t.ln() }
    });
    let absent = |c: usize| if yes_no { theta.row(c).iter().map(|t| (1.0 - t).ln()).sum() } else { 0.0 };
    let offset = model.weights.iter().enumerate().map(|(c, weight)| weight.ln() + absent(c)).collect();
    let joint = f.affine(x, weights, offset);
    clusters(posterior(joint, f))
}
