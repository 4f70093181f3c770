//! Models made of models.

use super::{Said, find, model as lower_model};
use crate::export::formula::{Formula, Id, Pair};
use ermine::{
    Feature, Output, Result,
    engine::nested::Member,
    tree::{AdaBoostModel, BaggingModel, StackingModel, VotingModel},
};
use std::any::Any;

pub fn lower(name: &str, model: &dyn Any, x: Id, features: &[Feature], f: &mut Formula) -> Option<Result<Said>> {
    if let Some(model) = model.downcast_ref::<VotingModel>() {
        return Some(voting(model, x, features, f));
    }
    if let Some(model) = model.downcast_ref::<BaggingModel>() {
        return Some(bagging(model, x, features, f));
    }
    if let Some(model) = model.downcast_ref::<StackingModel>() {
        return Some(stacking(model, x, features, f));
    }
    model.downcast_ref::<AdaBoostModel>().map(|_| {
        Err(ermine::Error::Unsupported(format!("{name} has a form outside Ermine only when its members are trees")))
    })
}

/// Probabilities, or all of it for the predicted class of a model that has none.
fn shares(member: &Member, classes: usize, x: Id, features: &[Feature], f: &mut Formula) -> Result<Id> {
    let said = lower_model(member.entry.name, &*member.model, x, features, f)?;
    match find(&said, Output::Probability) {
        Some(probability) => Ok(probability),
        None if member.has(Output::Probability) => Err(super::none(member.entry.name)),
        None => votes(&said, member.entry.name, classes, f),
    }
}

fn votes(said: &Said, name: &str, classes: usize, f: &mut Formula) -> Result<Id> {
    let class = find(said, Output::Class).ok_or_else(|| super::none(name))?;
    Ok(f.one_hot(class, 0, 0, classes))
}

fn value(member: &Member, x: Id, features: &[Feature], f: &mut Formula) -> Result<Id> {
    let said = lower_model(member.entry.name, &*member.model, x, features, f)?;
    find(&said, Output::Value).ok_or_else(|| super::none(member.entry.name))
}

/// The sum of some steps.
fn total(parts: Vec<Id>, f: &mut Formula) -> Id {
    let first = parts[0];
    parts[1..].iter().fold(first, |sum, part| f.pair(Pair::Add, sum, *part))
}

fn voting(model: &VotingModel, x: Id, features: &[Feature], f: &mut Formula) -> Result<Said> {
    let mut parts = Vec::new();
    for (member, weight) in model.members.iter().zip(&model.weights) {
        let part = match (model.classes, model.soft) {
            (0, _) => value(member, x, features, f)?,
            (classes, true) => shares(member, classes, x, features, f)?,
            (classes, false) => {
                let said = lower_model(member.entry.name, &*member.model, x, features, f)?;
                votes(&said, member.entry.name, classes, f)?
            }
        };
        parts.push(f.with(Pair::Multiply, part, *weight));
    }
    let sum = total(parts, f);
    let mean = f.with(Pair::Divide, sum, model.weights.iter().sum());
    Ok(match (model.classes, model.soft) {
        (0, _) => vec![(Output::Value, mean)],
        (_, true) => vec![(Output::Class, f.arg_largest(mean)), (Output::Probability, mean)],
        (_, false) => vec![(Output::Class, f.arg_largest(mean))],
    })
}

fn bagging(model: &BaggingModel, x: Id, features: &[Feature], f: &mut Formula) -> Result<Said> {
    let mut parts = Vec::new();
    for bagged in &model.members {
        let (x, features) = match bagged.columns.is_empty() {
            true => (x, features.to_vec()),
            false => {
                let columns: Vec<usize> = bagged.columns.iter().map(|&column| column as usize).collect();
                let picked = columns.iter().map(|&column| features[column]).collect();
                (f.pick(x, columns), picked)
            }
        };
        parts.push(match model.classes {
            0 => value(&bagged.member, x, &features, f)?,
            classes => shares(&bagged.member, classes, x, &features, f)?,
        });
    }
    let count = parts.len() as f64;
    let sum = total(parts, f);
    let mean = f.with(Pair::Divide, sum, count);
    Ok(match model.classes {
        0 => vec![(Output::Value, mean)],
        _ => vec![(Output::Class, f.arg_largest(mean)), (Output::Probability, mean)],
    })
}

fn stacking(model: &StackingModel, x: Id, features: &[Feature], f: &mut Formula) -> Result<Said> {
    let mut parts = Vec::new();
    for member in &model.members {
        // Margins where there are no probabilities.
        if model.classes > 0 && !member.has(Output::Probability) && member.has(Output::Decision) {
            let said = lower_model(member.entry.name, &*member.model, x, features, f)?;
            parts.push(find(&said, Output::Decision).ok_or_else(|| super::none(member.entry.name))?);
            continue;
        }
        parts.push(match model.classes {
            0 => value(member, x, features, f)?,
            2 => {
                let shares = shares(member, 2, x, features, f)?;
                f.pick(shares, vec![1])
            }
            classes => shares(member, classes, x, features, f)?,
        });
    }
    let mut kinds: Vec<Feature> = vec![Feature::Number; parts.iter().map(|part| f.width(*part)).sum()];
    if model.passthrough {
        parts.push(x);
        kinds.extend_from_slice(features);
    }
    let all = f.join(parts);
    lower_model(model.last.entry.name, &*model.last.model, all, &kinds, f)
}
