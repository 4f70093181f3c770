//! Linear models, generalised ones, networks, and baselines, which are an intercept alone.

use super::{Said, classes_of};
use crate::export::formula::{Formula, Function, Id, Pair};
use ermine::{
    Matrix, Output,
    decompose::PlsModel,
    dummy::{ClassRule, DummyClassModel, DummyModel},
    engine::{family::Link, loss::Loss},
    linear::{
        BayesianRidgeModel, ChosenModel, GlmModel, HuberModel, LinearModel, LogisticCvModel, LogisticModel,
        RidgeClassCvModel, RidgeClassModel, RidgeCvModel, SgdModel,
    },
    neural::{
        NeuralModel,
        network::{Activation, Head},
    },
    svm::LinearClassifier,
};
use std::any::Any;

pub fn lower(model: &dyn Any, x: Id, f: &mut Formula) -> Option<Said> {
    let linear = model
        .downcast_ref::<LinearModel>()
        .or_else(|| model.downcast_ref::<BayesianRidgeModel>().map(|model| &model.linear))
        .or_else(|| model.downcast_ref::<HuberModel>().map(|model| &model.linear))
        .or_else(|| model.downcast_ref::<ChosenModel>().map(|model| &model.linear))
        .or_else(|| model.downcast_ref::<RidgeCvModel>().map(|model| &model.linear));
    if let Some(linear) = linear {
        return Some(vec![(Output::Value, scores(&linear.coef, &linear.intercept, x, f))]);
    }
    if let Some(model) = model.downcast_ref::<PlsModel>() {
        return Some(vec![(Output::Value, scores(&model.coef, &model.intercept, x, f))]);
    }
    let logistic = model
        .downcast_ref::<LogisticModel>()
        .or_else(|| model.downcast_ref::<LogisticCvModel>().map(|model| &model.logistic));
    if let Some(logistic) = logistic {
        let scores = scores(&logistic.coef, &logistic.intercept, x, f);
        return Some(of_scores(scores, f));
    }
    if let Some(LinearClassifier { linear, .. }) = model.downcast_ref() {
        let scores = scores(&linear.coef, &linear.intercept, x, f);
        return Some(vec![(Output::Class, classes_of(scores, f)), (Output::Decision, scores)]);
    }
    let ridge = model
        .downcast_ref::<RidgeClassModel>()
        .or_else(|| model.downcast_ref::<RidgeClassCvModel>().map(|model| &model.classifier));
    if let Some(RidgeClassModel { linear, classes }) = ridge {
        classes.as_ref()?; // a row of a table has one label
        let scores = scores(&linear.coef, &linear.intercept, x, f);
        return Some(vec![(Output::Class, classes_of(scores, f)), (Output::Decision, scores)]);
    }
    if let Some(model) = model.downcast_ref::<SgdModel>() {
        return Some(sgd(model, x, f));
    }
    if let Some(model) = model.downcast_ref::<GlmModel>() {
        return glm(model, x, f);
    }
    if let Some(model) = model.downcast_ref::<DummyModel>() {
        return Some(vec![(Output::Value, same(&model.value, x, f))]);
    }
    if let Some(model) = model.downcast_ref::<DummyClassModel>() {
        return baseline(model, x, f);
    }
    model.downcast_ref::<NeuralModel>().and_then(|model| network(model, x, f))
}

/// The same numbers for every row, whatever it lacks.
fn same(values: &[f64], x: Id, f: &mut Formula) -> Id {
    let width = f.width(x);
    let whole = f.fill(x, vec![0.0; width]);
    f.affine(whole, Matrix::zeros(width, values.len()), values.to_vec())
}

fn baseline(model: &DummyClassModel, x: Id, f: &mut Formula) -> Option<Said> {
    let probability = match model.strategy {
        ClassRule::Prior => model.prior.clone(),
        ClassRule::MostFrequent | ClassRule::Constant => {
            (0..model.prior.len()).map(|class| if class == model.class { 1.0 } else { 0.0 }).collect()
        }
        // Drawn.
        ClassRule::Stratified | ClassRule::Uniform => return None,
    };
    let probability = same(&probability, x, f);
    Some(vec![(Output::Class, same(&[model.class as f64], x, f)), (Output::Probability, probability)])
}

fn scores(coef: &Matrix, intercept: &[f64], x: Id, f: &mut Formula) -> Id {
    f.affine(x, coef.transposed(), intercept.to_vec())
}

/// Classes and probabilities of logistic scores.
pub(super) fn of_scores(scores: Id, f: &mut Formula) -> Said {
    let probability = if f.width(scores) == 1 { f.two_sides(scores) } else { f.softmax(scores) };
    vec![(Output::Class, classes_of(scores, f)), (Output::Probability, probability), (Output::Decision, scores)]
}

fn sgd(model: &SgdModel, x: Id, f: &mut Formula) -> Said {
    let scores = scores(&model.coef, &model.intercept, x, f);
    if model.classes == 0 {
        return vec![(Output::Value, scores)];
    }
    let mut said = vec![(Output::Class, classes_of(scores, f)), (Output::Decision, scores)];
    if !matches!(model.loss, Loss::Logistic | Loss::ModifiedHuber) {
        return said;
    }
    let sides = match model.classes {
        2 => {
            let other = f.with(Pair::Multiply, scores, -1.0);
            f.join(vec![other, scores])
        }
        _ => scores,
    };
    let own = match model.loss {
        Loss::ModifiedHuber => {
            let above = f.with(Pair::Larger, sides, -1.0);
            let inside = f.with(Pair::Smaller, above, 1.0);
            let raised = f.with(Pair::Add, inside, 1.0);
            f.with(Pair::Divide, raised, 2.0)
        }
        _ => f.each(Function::Sigmoid, sides),
    };
    let probability = match model.classes {
        2 => own,
        classes => {
            // Where no class claims the row at all, all are alike.
            let total = f.sum(own);
            let some = f.is_positive(total);
            let one = f.constant(vec![1.0]);
            let safe = f.choose(some, total, one);
            let shares = f.pair(Pair::Divide, own, safe);
            let alike = f.constant(vec![1.0 / classes as f64; classes]);
            f.choose(some, shares, alike)
        }
    };
    said.push((Output::Probability, probability));
    said
}

fn glm(model: &GlmModel, x: Id, f: &mut Formula) -> Option<Said> {
    // A probit has no elementary form, and an exposure is read beside the columns.
    if model.exposure.is_some() || model.link == Link::Probit {
        return None;
    }
    let score = scores(&model.coef, &[model.intercept], x, f);
    let mean = match model.link {
        Link::Identity => score,
        Link::Log => f.each(Function::Exp, score),
        Link::Logit => f.each(Function::Sigmoid, score),
        Link::Inverse => {
            let one = f.constant(vec![1.0]);
            f.pair(Pair::Divide, one, score)
        }
        Link::Sqrt => f.pair(Pair::Multiply, score, score),
        Link::Cloglog => {
            let power = f.each(Function::Exp, score);
            let fall = f.with(Pair::Multiply, power, -1.0);
            let left = f.each(Function::Exp, fall);
            let one = f.constant(vec![1.0]);
            f.pair(Pair::Subtract, one, left)
        }
        Link::Probit => return None,
    };
    let below = f.with(Pair::Smaller, mean, f64::MAX);
    Some(vec![(Output::Value, f.with(Pair::Larger, below, -f64::MAX))])
}

fn network(model: &NeuralModel, x: Id, f: &mut Formula) -> Option<Said> {
    const VARIANCE_FLOOR: f64 = 1e-5;
    let network = &model.network;
    let parts = network.parts();
    let all = &model.state.weights;
    let mut now = x;
    for (l, part) in parts.iter().enumerate() {
        let mut weights = Matrix::new(all[part.weights.clone()].to_vec(), part.inputs, part.outputs);
        let mut bias = all[part.bias.clone()].to_vec();
        if !part.gain.is_empty() {
            // A normalised layer is another linear one.
            let (means, variances) = model.state.running[part.running.clone()].split_at(part.outputs);
            let gain = &all[part.gain.clone()];
            for k in 0..part.outputs {
                let factor = gain[k] / (variances[k] + VARIANCE_FLOOR).sqrt();
                (0..part.inputs).for_each(|j| weights[(j, k)] *= factor);
                bias[k] -= factor * means[k];
            }
        }
        now = f.affine(now, weights, bias);
        if l + 1 < parts.len() {
            now = activation(network.activation, now, f)?;
        }
    }
    let (head, scores) = (network.head, now);
    Some(match head {
        Head::Softmax => vec![(Output::Class, f.arg_largest(scores)), (Output::Probability, f.softmax(scores))],
        Head::Each(Loss::Logistic) => {
            vec![(Output::Class, f.is_positive(scores)), (Output::Probability, f.two_sides(scores))]
        }
        Head::Labels => {
            vec![(Output::Class, f.is_positive(scores)), (Output::Probability, f.each(Function::Sigmoid, scores))]
        }
        Head::Each(Loss::PoissonLog) => vec![(Output::Value, f.each(Function::Exp, scores))],
        Head::Each(_) => vec![(Output::Value, scores)],
    })
}

fn activation(activation: Activation, z: Id, f: &mut Formula) -> Option<Id> {
    Some(match activation {
        Activation::Identity => z,
        Activation::Relu => f.with(Pair::Larger, z, 0.0),
        Activation::LeakyRelu => {
            let small = f.with(Pair::Multiply, z, 0.01);
            f.pair(Pair::Larger, z, small)
        }
        Activation::Logistic => f.each(Function::Sigmoid, z),
        Activation::Tanh => f.each(Function::Tanh, z),
        Activation::Softplus => {
            // max(z, 0) + ln(1 + e^-|z|)
            let size = f.each(Function::Abs, z);
            let fall = f.with(Pair::Multiply, size, -1.0);
            let power = f.each(Function::Exp, fall);
            let raised = f.with(Pair::Add, power, 1.0);
            let log = f.each(Function::Ln, raised);
            let above = f.with(Pair::Larger, z, 0.0);
            f.pair(Pair::Add, above, log)
        }
        Activation::Gelu => return None,
    })
}
