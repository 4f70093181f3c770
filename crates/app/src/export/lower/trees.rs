//! Trees and sums of them.

use super::{Said, linear::of_scores};
use crate::export::formula::{Formula, Function, Id, Pair, PlainTree};
use ermine::{
    Feature, Output,
    engine::tree::{Tree, first_largest},
    tree::{AdaBoostModel, BoostingModel, DecisionTreeModel, ForestModel, IsolationModel, boost_loss::Loss},
};
use std::any::Any;

pub fn lower(model: &dyn Any, x: Id, features: &[Feature], f: &mut Formula) -> Option<Said> {
    let plain = |tree: &Tree, to: usize| {
        PlainTree::of(tree, to, |column| match features.get(column) {
            Some(Feature::Category { levels }) => *levels as usize,
            _ => 0,
        })
    };
    if let Some(DecisionTreeModel { tree, classes, .. }) = model.downcast_ref() {
        let values = f.trees(x, vec![plain(tree, 0)], vec![0.0; tree.outputs()]);
        return Some(of_values(values, *classes, f));
    }
    if let Some(ForestModel { trees, classes, .. }) = model.downcast_ref() {
        let all = trees.iter().map(|tree| plain(tree, 0)).collect();
        let sums = f.trees(x, all, vec![0.0; trees[0].outputs()]);
        let means = f.with(Pair::Divide, sums, trees.len() as f64);
        return Some(of_values(means, *classes, f));
    }
    if let Some(BoostingModel { trees, classes, baseline, loss, .. }) = model.downcast_ref() {
        let all = trees.iter().enumerate().map(|(t, tree)| plain(tree, t % baseline.len())).collect();
        let scores = f.trees(x, all, baseline.clone());
        return Some(match classes {
            0 => vec![(
                Output::Value,
                match loss {
                    Loss::Poisson | Loss::Gamma => f.each(Function::Exp, scores),
                    Loss::Binary => f.each(Function::Sigmoid, scores),
                    _ => scores,
                },
            )],
            _ => of_scores(scores, f),
        });
    }
    if let Some(model) = model.downcast_ref::<IsolationModel>() {
        let all = model.trees.iter().map(|tree| plain(tree, 0)).collect();
        let depths = f.trees(x, all, vec![0.0]);
        let powers = f.with(Pair::Multiply, depths, -std::f64::consts::LN_2 / model.trees.len() as f64);
        let powers = f.each(Function::Exp, powers);
        let below = f.with(Pair::Add, powers, model.offset);
        let outside = f.is_positive(below);
        let (one, other) = (f.constant(vec![1.0]), f.constant(vec![-1.0]));
        let side = f.choose(outside, other, one);
        return Some(vec![(Output::Cluster, side), (Output::Decision, f.with(Pair::Multiply, below, -1.0))]);
    }
    ada_boost(model.downcast_ref()?, x, plain, f)
}

fn of_values(values: Id, classes: usize, f: &mut Formula) -> Said {
    match classes {
        0 => vec![(Output::Value, values)],
        _ => vec![(Output::Class, f.arg_largest(values)), (Output::Probability, values)],
    }
}

/// Only of trees, as it is unless asked otherwise: a leaf is a vote.
fn ada_boost(model: &AdaBoostModel, x: Id, plain: impl Fn(&Tree, usize) -> PlainTree, f: &mut Formula) -> Option<Said> {
    let members: Vec<&DecisionTreeModel> =
        model.members.iter().map(|member| member.model.as_any().downcast_ref()).collect::<Option<_>>()?;
    let (k, total) = (model.classes, model.alphas.iter().sum::<f64>());
    if k == 0 {
        let trees = members.iter().enumerate().map(|(t, member)| plain(&member.tree, t)).collect();
        let values = f.trees(x, trees, vec![0.0; members.len()]);
        return Some(vec![(Output::Value, f.median(values, model.alphas.clone()))]);
    }
    let mut trees = Vec::new();
    for (member, alpha) in members.iter().zip(&model.alphas) {
        let mut tree = plain(&member.tree, 0);
        for leaf in 0..tree.leaves() {
            let class = first_largest(tree.leaf(leaf));
            for c in 0..k {
                tree.values[leaf * k + c] = if c == class { *alpha } else { -alpha / (k as f64 - 1.0) };
            }
        }
        trees.push(tree);
    }
    let votes = f.trees(x, trees, vec![0.0; k]);
    let scores = f.with(Pair::Divide, votes, total);
    let scaled = f.with(Pair::Divide, scores, k as f64 - 1.0);
    let probability = f.softmax(scaled);
    Some(vec![(Output::Class, f.arg_largest(scores)), (Output::Probability, probability)])
}
