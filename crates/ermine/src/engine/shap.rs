//! Shapley values of tree predictions: how much each column moved a prediction away from the mean.
//!
//! `f(x) = base + sum_j phi_j(x)`, where phi_j is the Shapley value of the game "know the columns in S, average over
//! the training rows for the others as the tree's weights do" (Lundberg, Erion, Lee 2018, path-dependent TreeSHAP).
//! Cost O(leaves x depth^2) for a row and a tree.

use crate::{
    AnyModel, Ctx, Error, Result, X,
    engine::tree::{Tree, first_largest},
    tree::{AdaBoostModel, BoostingModel, DecisionTreeModel, ForestModel},
};
use rayon::prelude::*;

/// Contributions of every column to every output of every row.
#[derive(Clone, Debug, PartialEq)]
pub struct Shap {
    /// rows x columns x outputs.
    pub values: Vec<f64>,
    /// The mean that contributions are added to, for each output.
    pub base: Vec<f64>,
    pub cols: usize,
}

/// Explains a model made of trees. Outputs are the values or probabilities of a tree or forest, the raw scores of a
/// boosting, and the scores of AdaBoost's classes.
pub fn explain(ctx: &Ctx, model: &dyn AnyModel, x: &X) -> Result<Shap> {
    let any = model.as_any();
    if let Some(model) = any.downcast_ref::<DecisionTreeModel>() {
        return sum(ctx, x, &[(&model.tree, 1.0, 0)], vec![0.0; model.tree.outputs()]);
    }
    if let Some(model) = any.downcast_ref::<ForestModel>() {
        let share = 1.0 / model.trees.len() as f64;
        let terms: Vec<_> = model.trees.iter().map(|tree| (tree, share, 0)).collect();
        return sum(ctx, x, &terms, vec![0.0; model.trees[0].outputs()]);
    }
    if let Some(model) = any.downcast_ref::<BoostingModel>() {
        let k = model.baseline.len();
        let terms: Vec<_> = model.trees.iter().enumerate().map(|(t, tree)| (tree, 1.0, t % k)).collect();
        return sum(ctx, x, &terms, model.baseline.clone());
    }
    if let Some(model) = any.downcast_ref::<AdaBoostModel>().filter(|model| model.classes > 0) {
        let (k, total): (usize, f64) = (model.classes, model.alphas.iter().sum());
        let mut trees = Vec::new();
        for (member, alpha) in model.members.iter().zip(&model.alphas) {
            let Some(member) = member.model.as_any().downcast_ref::<DecisionTreeModel>() else {
                return Err(Error::Unsupported("the members of this AdaBoost are not trees".into()));
            };
            let mut tree = member.tree.clone();
            for leaf in tree.leaf_values_mut().chunks_exact_mut(k) {
                let class = first_largest(leaf);
                leaf.iter_mut()
                    .enumerate()
                    .for_each(|(c, v)| *v = if c == class { 1.0 } else { -1.0 / (k as f64 - 1.0) });
            }
            trees.push((tree, alpha / total));
        }
        let terms: Vec<_> = trees.iter().map(|(tree, share)| (tree, *share, 0)).collect();
        return sum(ctx, x, &terms, vec![0.0; k]);
    }
    Err(Error::Unsupported("this model is not a sum of trees, so it has no tree Shapley values".into()))
}

/// Deeper paths would need more memory and precision than they are worth.
const DEEPEST: usize = 1000;

/// Terms: a tree, its factor, and the output that its first value belongs to.
fn sum(ctx: &Ctx, x: &X, terms: &[(&Tree, f64, usize)], mut base: Vec<f64>) -> Result<Shap> {
    let (cols, outputs) = (x.cols(), base.len());
    if let Some((tree, ..)) = terms.iter().find(|(tree, ..)| tree.cols() != cols) {
        return Err(Error::shape("x", format!("{} columns", tree.cols()), cols));
    }
    if let Some(depth) = terms.iter().map(|(tree, ..)| tree.depth()).find(|depth| *depth > DEEPEST) {
        return Err(Error::Unsupported(format!("a tree of depth {depth} is too deep for Shapley values")));
    }
    let prepared: Vec<(Vec<f64>, Vec<f64>)> = terms.iter().map(|(tree, ..)| tree.summary()).collect();
    for ((tree, scale, output), (_, values)) in terms.iter().zip(&prepared) {
        (0..tree.outputs()).for_each(|o| base[output + o] += scale * values[o]);
    }
    let mut values = vec![0.0; x.rows() * cols * outputs];
    ctx.install(|| {
        values.par_chunks_mut((cols * outputs).max(1)).enumerate().try_for_each(|(i, out)| {
            ctx.check()?;
            let mut row = vec![0.0; cols];
            x.row(i).for_each(|j, value| row[j] = value);
            for ((tree, scale, output), (weights, _)) in terms.iter().zip(&prepared) {
                let mut walk =
                    Walk { tree, weights, row: &row, scale: *scale, first: *output, outputs, out: &mut *out };
                walk.node(0, Vec::new(), 1.0, 1.0, usize::MAX);
            }
            Ok(())
        })
    })?;
    Ok(Shap { values, base, cols })
}

/// A column on the path: the share of rows that would come this way without knowing it, whether this row does, and the
/// weight of all subsets of so many columns.
#[derive(Clone, Copy)]
struct Step {
    feature: usize,
    zero: f64,
    one: f64,
    weight: f64,
}

struct Walk<'a> {
    tree: &'a Tree,
    weights: &'a [f64],
    row: &'a [f64],
    scale: f64,
    first: usize,
    outputs: usize,
    out: &'a mut [f64],
}

impl Walk<'_> {
    fn node(&mut self, at: usize, mut path: Vec<Step>, zero: f64, one: f64, feature: usize) {
        extend(&mut path, zero, one, feature);
        let Some((split, left)) = self.tree.split(at) else {
            let value = self.tree.leaf_value(self.tree.leaf_of(at));
            for i in 1..path.len() {
                let Step { feature, zero, one, .. } = path[i];
                let factor = self.scale * unwound(&path, i) * (one - zero);
                for (o, value) in value.iter().enumerate() {
                    self.out[feature * self.outputs + self.first + o] += factor * value;
                }
            }
            return;
        };
        let goes_left = split.goes_left(self.row[split.feature]);
        let (hot, cold) = if goes_left { (left, left + 1) } else { (left + 1, left) };
        let (mut known_zero, mut known_one) = (1.0, 1.0);
        if let Some(i) = path.iter().position(|step| step.feature == split.feature) {
            (known_zero, known_one) = (path[i].zero, path[i].one);
            unwind(&mut path, i);
        }
        let share = |child: usize| if self.weights[at] > 0.0 { self.weights[child] / self.weights[at] } else { 0.5 };
        let (hot_share, cold_share) = (known_zero * share(hot), known_zero * share(cold));
        if cold_share > 0.0 {
            self.node(cold, path.clone(), cold_share, 0.0, split.feature);
        }
        self.node(hot, path, hot_share, known_one, split.feature);
    }
}

fn extend(path: &mut Vec<Step>, zero: f64, one: f64, feature: usize) {
    let l = path.len();
    path.push(Step { feature, zero, one, weight: if l == 0 { 1.0 } else { 0.0 } });
    let whole = (l + 1) as f64;
    for i in (0..l).rev() {
        path[i + 1].weight += one * path[i].weight * (i + 1) as f64 / whole;
        path[i].weight *= zero * (l - i) as f64 / whole;
    }
}

/// The path without step `i`.
fn unwind(path: &mut Vec<Step>, i: usize) {
    let l = path.len() - 1;
    let (Step { zero, one, .. }, whole) = (path[i], (l + 1) as f64);
    let mut next = path[l].weight;
    for j in (0..l).rev() {
        if one != 0.0 {
            let before = path[j].weight;
            path[j].weight = next * whole / ((j + 1) as f64 * one);
            next = before - path[j].weight * zero * (l - j) as f64 / whole;
        } else {
            path[j].weight *= whole / (zero * (l - j) as f64);
        }
    }
    for j in i..l {
        let weight = path[j].weight;
        path[j] = Step { weight, ..path[j + 1] };
    }
    path.pop();
}

/// The sum of all weights of the path without step `i`.
fn unwound(path: &[Step], i: usize) -> f64 {
    let l = path.len() - 1;
    let (Step { zero, one, .. }, whole) = (path[i], (l + 1) as f64);
    let (mut next, mut sum) = (path[l].weight, 0.0);
    for j in (0..l).rev() {
        if one != 0.0 {
            let weight = next * whole / ((j + 1) as f64 * one);
            sum += weight;
            next = path[j].weight - weight * zero * (l - j) as f64 / whole;
        } else if zero != 0.0 {
            sum += path[j].weight * whole / (zero * (l - j) as f64);
        }
    }
    sum
}
