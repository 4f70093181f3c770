//! A saved model in other programs: as ONNX, as SQL, as a function in C or Rust. The preparation goes along: raw
//! columns in, predictions
//! out.

pub mod code;
mod evaluate;
pub mod formula;
mod lower;
pub mod onnx;
mod proto;
pub mod sql;

use crate::{Fitted, fit::Recipe, table::Kind};
use ermine::{Error, Feature, Matrix, Output, Result, prepare::Step};
use formula::{Formula, Id};

/// A formula and where its answers stand.
pub struct Written {
    pub formula: Formula,
    pub said: Vec<(Output, Id)>,
}

impl Written {
    /// The whole of a fitted model, from its feature columns.
    pub fn of(fitted: &Fitted) -> Result<Written> {
        let none = |what: &str| Err(Error::Unsupported(format!("{what} has no form outside Ermine")));
        if fitted.header.made.is_some() {
            return none("a feature that is made of other columns");
        }
        if fitted.header.schema.columns.iter().any(|field| field.kind == Kind::Text) {
            return none("a column of free text");
        }
        let mut formula = Formula::default();
        let rows = formula.rows(fitted.header.schema.columns.len());
        let x = match &fitted.preparation {
            Some(recipe) => prepared(recipe, rows, &mut formula)?,
            None => rows,
        };
        let features = fitted.preparation.as_ref().map_or_else(|| fitted.header.features(), Recipe::features);
        let mut written = Written::model(&fitted.header.model, &*fitted.model, x, &features, formula)?;
        written.decide(fitted.costs())?;
        Ok(written)
    }

    /// Names the class that costs least instead of the likeliest.
    fn decide(&mut self, costs: &[f64]) -> Result<()> {
        if costs.is_empty() {
            return Ok(());
        }
        let find = |wanted: Output| self.said.iter().position(|(output, _)| *output == wanted);
        let (Some(class), Some(probability)) = (find(Output::Class), find(Output::Probability)) else {
            let problem = "classes are named by cost, and their probabilities have no form outside Ermine";
            return Err(Error::Unsupported(problem.into()));
        };
        let (probability, f) = (self.said[probability].1, &mut self.formula);
        let costs = f.constant(costs.to_vec());
        let weighed = f.pair(formula::Pair::Multiply, probability, costs);
        self.said[class].1 = f.arg_largest(weighed);
        Ok(())
    }

    fn model(
        name: &str,
        model: &dyn ermine::AnyModel,
        x: Id,
        features: &[Feature],
        mut formula: Formula,
    ) -> Result<Written> {
        let said = lower::model(name, model, x, features, &mut formula)?;
        let shown = [Output::Value, Output::Class, Output::Cluster, Output::Probability, Output::Transform];
        let said = said.into_iter().filter(|(output, _)| shown.contains(output)).collect();
        Ok(Written { formula, said })
    }
}

/// A column for each of these levels, and one for every other value.
fn frequent(kept: &[u32], x: Id, column: usize, f: &mut Formula) -> Vec<Id> {
    let Some(last) = kept.last() else { return vec![f.constant(vec![1.0])] };
    let all = f.one_hot(x, column, 0, *last as usize + 1);
    let own = f.pick(all, kept.iter().map(|&level| level as usize).collect());
    let total = f.sum(own);
    vec![own, f.affine(total, Matrix::new(vec![-1.0], 1, 1), vec![1.0])]
}

/// Raw columns as the model sees them.
fn prepared(recipe: &Recipe, rows: Id, f: &mut Formula) -> Result<Id> {
    let Some(preparation) = recipe.numbers() else { return Ok(rows) };
    let steps = preparation.steps();
    let fills = steps.iter().map(|step| match *step {
        Step::Number { fill, .. } => fill,
        Step::Code { levels } => f64::from(levels),
        Step::Keep(_) | Step::Levels { .. } | Step::Frequent { .. } => f64::NAN,
    });
    let fills = fills.collect();
    let filled = f.fill(rows, fills);
    let scaling = |step: &Step| match *step {
        Step::Number { centre, scale, .. } => (centre, scale),
        _ => (0.0, 1.0),
    };
    let (centres, scales): (Vec<f64>, Vec<f64>) = steps.iter().map(scaling).unzip();
    let mut x = filled;
    if centres.iter().any(|centre| *centre != 0.0) {
        let centres = f.constant(centres);
        x = f.pair(formula::Pair::Subtract, x, centres);
    }
    if scales.iter().any(|scale| *scale != 1.0) {
        let scales = f.constant(scales);
        x = f.pair(formula::Pair::Divide, x, scales);
    }
    let mut parts = Vec::new();
    let mut run: Vec<usize> = Vec::new();
    for (column, step) in steps.iter().enumerate() {
        if !matches!(step, Step::Levels { .. } | Step::Frequent { .. }) {
            run.push(column);
            continue;
        }
        if !run.is_empty() {
            parts.push(f.pick(x, std::mem::take(&mut run)));
        }
        match step {
            Step::Levels { first, levels } if levels > first => {
                parts.push(f.one_hot(x, column, *first as usize, (levels - first) as usize));
            }
            Step::Frequent { kept } => parts.extend(frequent(kept, x, column, f)),
            _ => {}
        }
    }
    if !run.is_empty() {
        parts.push(f.pick(x, run));
    }
    Ok(f.join(parts))
}
