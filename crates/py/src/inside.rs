//! What a model is made of: the nodes of its trees and its members, for tools that read scikit-learn's own forms.

use crate::Model;
use ermine::{
    AnyModel,
    engine::{
        nested::Member,
        tree::{Test, Tree},
    },
    prep::{ChosenBy, SelectionModel},
    tree::{
        AdaBoostModel, BaggingModel, BoostingModel, DecisionTreeModel, ForestModel, IsolationModel, StackingModel,
        VotingModel,
    },
};
use numpy::PyArray1;
use pyo3::{
    prelude::*,
    types::{PyDict, PyList},
};

/// The arrays of each tree, nodes from the root down, the left branch first: `left`, `right` and `feature` (-1 and -2
/// at leaves), `threshold`, `missing_left`, `impurity` (of all nodes, or empty), `weight`, `value` (of all outputs of a
/// node) and `leaf`, the node of each leaf in the order in which the model numbers them. Nothing from models without
/// trees, and from trees with sets of categories, which scikit-learn's have not.
pub fn trees<'py>(py: Python<'py>, model: &dyn AnyModel) -> PyResult<Option<Bound<'py, PyList>>> {
    let any = model.as_any();
    let trees: &[Tree] = if let Some(model) = any.downcast_ref::<DecisionTreeModel>() {
        std::slice::from_ref(&model.tree)
    } else if let Some(model) = any.downcast_ref::<ForestModel>() {
        &model.trees
    } else if let Some(model) = any.downcast_ref::<IsolationModel>() {
        &model.trees
    } else if let Some(model) = any.downcast_ref::<BoostingModel>() {
        &model.trees
    } else {
        return Ok(None);
    };
    let found = PyList::empty(py);
    for tree in trees {
        let Some(nodes) = nodes(py, tree)? else { return Ok(None) };
        found.append(nodes)?;
    }
    Ok(Some(found))
}

/// Where a boosting starts before its first tree.
pub fn baseline(model: &dyn AnyModel) -> Option<Vec<f64>> {
    model.as_any().downcast_ref::<BoostingModel>().map(|model| model.baseline.clone())
}

fn nodes<'py>(py: Python<'py>, tree: &Tree) -> PyResult<Option<Bound<'py, PyDict>>> {
    let n = tree.node_count();
    // Where each node of the tree stands among those that are handed out.
    let mut place = vec![0; n];
    let mut order = Vec::with_capacity(n);
    let mut stack = vec![0];
    while let Some(at) = stack.pop() {
        place[at] = order.len();
        order.push(at);
        if let Some((_, next)) = tree.split(at) {
            stack.extend([next + 1, next]);
        }
    }
    let (weights, values) = tree.summary();
    let k = tree.outputs();
    let (mut left, mut right, mut feature) = (vec![-1i64; n], vec![-1i64; n], vec![-2i64; n]);
    let (mut threshold, mut missing_left) = (vec![-2.0; n], vec![false; n]);
    let mut leaf = vec![0i64; tree.leaves()];
    for (i, &at) in order.iter().enumerate() {
        let Some((split, next)) = tree.split(at) else {
            leaf[tree.leaf_of(at)] = i as i64;
            continue;
        };
        let Test::AtMost(limit) = split.test else { return Ok(None) };
        left[i] = place[next] as i64;
        right[i] = place[next + 1] as i64;
        feature[i] = split.feature as i64;
        threshold[i] = limit;
        missing_left[i] = split.missing_left;
    }
    let found = PyDict::new(py);
    found.set_item("left", PyArray1::from_vec(py, left))?;
    found.set_item("right", PyArray1::from_vec(py, right))?;
    found.set_item("feature", PyArray1::from_vec(py, feature))?;
    found.set_item("threshold", PyArray1::from_vec(py, threshold))?;
    found.set_item("missing_left", PyArray1::from_vec(py, missing_left))?;
    let impurity: Option<Vec<f64>> = order.iter().map(|&at| tree.impurity(at)).collect();
    found.set_item("impurity", PyArray1::from_vec(py, impurity.unwrap_or_default()))?;
    found.set_item("weight", PyArray1::from_vec(py, order.iter().map(|&at| weights[at]).collect()))?;
    let value = order.iter().flat_map(|&at| values[at * k..(at + 1) * k].iter().copied()).collect();
    found.set_item("value", PyArray1::from_vec(py, value))?;
    found.set_item("leaf", PyArray1::from_vec(py, leaf))?;
    Ok(Some(found))
}

/// The members of an ensemble, each with the columns it looks at (none is all); the last is the one that a stacking
/// learns from the others.
pub fn members(model: &dyn AnyModel) -> PyResult<Option<Vec<(Model, Vec<u32>)>>> {
    let copy = |member: &Member| -> PyResult<Model> {
        let model = (member.entry.load)(&member.model.to_bytes()).map_err(|error| crate::failure(error, None))?;
        Ok(Model { entry: member.entry, model })
    };
    let all =
        |members: &[Member]| members.iter().map(|member| Ok((copy(member)?, vec![]))).collect::<PyResult<Vec<_>>>();
    let any = model.as_any();
    if let Some(model) = any.downcast_ref::<AdaBoostModel>() {
        all(&model.members).map(Some)
    } else if let Some(model) = any.downcast_ref::<VotingModel>() {
        all(&model.members).map(Some)
    } else if let Some(model) = any.downcast_ref::<StackingModel>() {
        let mut found = all(&model.members)?;
        found.push((copy(&model.last)?, vec![]));
        Ok(Some(found))
    } else if let Some(model) = any.downcast_ref::<BaggingModel>() {
        let bagged = model.members.iter().map(|bagged| Ok((copy(&bagged.member)?, bagged.columns.clone())));
        bagged.collect::<PyResult<Vec<_>>>().map(Some)
    } else {
        Ok(None)
    }
}

/// The selection of columns by RFE or SelectFromModel as a model: `scores` are ranks or importances.
pub fn selection(name: &str, kept: &[bool], scores: Vec<f64>) -> SelectionModel {
    let chosen_by = if name == "RFE" { ChosenBy::Ranking } else { ChosenBy::Importance };
    let cols = kept.len();
    SelectionModel { cols, kept: (0..cols).filter(|&j| kept[j]).collect(), scores, chosen_by }
}
