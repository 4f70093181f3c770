//! A fit with its steps, for a page that shows an algorithm at work: the engine that fits everything else, on a few
//! points, with a trace; then the model's own attributes and what it says over a grid.

use crate::plan::Supervised;
use ermine::{
    Array, Ctx, Data, Error, Matrix, Numbers, Output, Result, Spec, Task, X,
    core::trace::{Step, Trace},
    predict,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, time::Instant};

/// A page shows points that can be told apart.
const MOST_POINTS: usize = 2000;
const MOST_COLUMNS: usize = 50;
const MOST_CELLS: usize = 40_000;
/// Numbers of a trace: what a browser takes at once.
const MOST_NUMBERS: usize = 300_000;

/// What is to be watched.
#[derive(Clone, Debug, Deserialize)]
pub struct Watched {
    /// `KMeans(n_clusters=3)`.
    pub model: String,
    /// Rows of the points.
    pub points: Vec<Vec<f64>>,
    /// A number or a class for each point.
    #[serde(default)]
    pub target: Vec<f64>,
    #[serde(default)]
    pub seed: u64,
    /// Starting points by name.
    #[serde(default)]
    pub starts: BTreeMap<String, Vec<Vec<f64>>>,
    /// Rows that the fitted model is asked about.
    #[serde(default)]
    pub grid: Vec<Vec<f64>>,
    /// What it is asked, by the name of the output.
    #[serde(default)]
    pub outputs: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Seen {
    pub steps: Vec<Value>,
    /// Steps that were recorded, also those that are not kept.
    pub recorded: usize,
    /// The fitted model's own arrays.
    pub attributes: Map<String, Value>,
    /// What the fit says about its rows.
    pub rows: Map<String, Value>,
    pub objective: Vec<f64>,
    /// The problem in symbols.
    pub problem: &'static str,
    /// How it ended, in a line.
    pub log: String,
    /// What the model says of the grid, and of the points, by output.
    pub grid: Map<String, Value>,
    pub said: Map<String, Value>,
    pub seconds: f64,
}

fn refused(problem: impl Into<String>) -> Error {
    Error::Data(problem.into())
}

fn matrix(rows: &[Vec<f64>], what: &str) -> Result<Matrix> {
    let cols = rows.first().map_or(0, Vec::len);
    if cols == 0 || cols > MOST_COLUMNS || rows.iter().any(|row| row.len() != cols) {
        return Err(refused(format!("{what} must be rows of equal length, of 1 to {MOST_COLUMNS} numbers")));
    }
    Ok(Matrix::new(rows.concat(), rows.len(), cols))
}

/// Fits and tells. Points that no model takes are refused in words.
pub fn watch(asked: &Watched, ctx: &Ctx) -> Result<Seen> {
    let begin = Instant::now();
    let spec = Spec::parse(&asked.model).unwrap_or_else(|| Spec::new(asked.model.trim()));
    let estimator = ermine::make(&spec)?;
    if asked.points.len() > MOST_POINTS || asked.grid.len() > MOST_CELLS {
        return Err(refused(format!("at most {MOST_POINTS} points and {MOST_CELLS} cells of a grid are taken")));
    }
    let x = matrix(&asked.points, "points")?;
    let trace = Trace::holding(MOST_NUMBERS);
    let mut ctx = ctx.clone().with_trace(trace.clone());
    ctx.seed = asked.seed;
    for (name, rows) in &asked.starts {
        ctx = ctx.with_start(name, matrix(rows, name)?);
    }
    let info = estimator.info();
    let supervised = info.supervised || info.task.is_supervised();
    if asked.target.len() != x.rows && (supervised || !asked.target.is_empty()) {
        return Err(refused(format!("{} points have {} values of the target", x.rows, asked.target.len())));
    }
    let codes: Vec<u32> = asked.target.iter().map(|value| value.max(0.0) as u32).collect();
    let mut data = Data::new(X::dense(&x.values, x.cols)?);
    if supervised {
        data = match info.task {
            Task::Classification => data.classes(&codes, codes.iter().max().map_or(0, |most| *most as usize + 1))?,
            _ => data.real(&asked.target)?,
        };
    }
    let fit = ctx.install(|| estimator.fit(&data, &ctx))?;
    let known = fit.model.outputs();
    let (mut grid, mut said) = (Map::new(), Map::new());
    for name in &asked.outputs {
        let output = known.iter().map(|(output, _)| *output).find(|output| crate::wire::name_of(*output) == *name);
        let output = output.filter(|output| *output != Output::Inverse);
        let output = output.ok_or_else(|| refused(format!("{} has no output '{name}'", spec.name)))?;
        let of = |rows: &Matrix| -> Result<Value> {
            Ok(nested(&predict(&ctx, &*fit.model, &X::dense(&rows.values, rows.cols)?, output, info.missing)?))
        };
        said.insert(name.clone(), of(&x)?);
        if !asked.grid.is_empty() {
            grid.insert(name.clone(), of(&matrix(&asked.grid, "grid")?)?);
        }
    }
    Ok(Seen {
        steps: trace.steps().iter().map(trace_line).collect(),
        recorded: trace.recorded(),
        attributes: named(&fit.model.attributes()),
        rows: named(&fit.rows),
        objective: fit.log.objective.clone(),
        problem: info.objective,
        log: fit.log.to_string(),
        grid,
        said,
        seconds: begin.elapsed().as_secs_f64(),
    })
}

fn named(list: &[(&'static str, Array)]) -> Map<String, Value> {
    list.iter().map(|(name, array)| (name.to_string(), plain(array))).collect()
}

/// A step as a line of a trace has it.
pub fn trace_line(step: &Step) -> Value {
    let values: Map<String, Value> =
        step.values.iter().map(|(name, values)| (name.to_string(), nested(values))).collect();
    json!({ "step": step.step, "what": step.what, "values": values })
}

/// Rows of numbers.
fn nested(matrix: &Matrix) -> Value {
    (0..matrix.rows).map(|row| json!(matrix.row(row))).collect()
}

/// An array as nested lists.
fn plain(array: &Array) -> Value {
    fn cut(values: Vec<Value>, shape: &[usize]) -> Value {
        match shape {
            [] => values.into_iter().next().unwrap_or(Value::Null),
            [_] => Value::Array(values),
            [_, rest @ ..] => {
                let each = rest.iter().product::<usize>().max(1);
                Value::Array(values.chunks(each).map(|part| cut(part.to_vec(), rest)).collect())
            }
        }
    }
    let values: Vec<Value> = match &array.values {
        Numbers::Float(values) => values.iter().map(|value| json!(value)).collect(),
        Numbers::Int(values) => values.iter().map(|value| json!(value)).collect(),
        Numbers::Text(values) => values.iter().map(|value| json!(value)).collect(),
        Numbers::List(list) => return list.iter().map(plain).collect(),
    };
    cut(values, &array.shape)
}
