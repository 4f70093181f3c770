//! A formula as one SELECT: each step is a column of a common table expression, so that nothing is
//! written twice.
//!
//! A missing value is NULL, as it is in a table; a level that the model does not know is NULL as well. What goes in
//! and what comes out is cast to a double: in PostgreSQL a number with an exponent is a decimal.

use super::{
    Written,
    formula::{Formula, Function, Id, Op, Pair, PlainNode, PlainTest, PlainTree},
};
use crate::{Fitted, table::Kind};
use ermine::{Error, Output, Result};
use std::fmt::Write;

/// How intermediate tables are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// `AS MATERIALIZED`, which SQLite and DuckDB read as well. PostgreSQL would put each step into the next one
    /// otherwise, wherever that uses it, and not come to an end.
    #[default]
    PostgreSql,
    /// Nothing but standard SQL.
    Standard,
}

/// A longer statement is no use in a database.
const MOST: usize = 4 << 20;
/// Columns of an intermediate table; SQLite allows 2,000.
const MOST_COLUMNS: usize = 1500;

/// `SELECT` of the prediction for each row of `table`, beside the columns in `keep`.
pub fn select(fitted: &Fitted, table: &str, keep: &[String], dialect: Dialect) -> Result<String> {
    let written = Written::of(fitted)?;
    let none = |what: &str| Err(Error::Unsupported(format!("{what} has no form in SQL")));
    let Written { formula, said } = &written;
    let wanted: Vec<Id> = said.iter().map(|(_, id)| *id).collect();
    let needed = formula.needed(&wanted);
    let mut raw = Vec::new();
    for field in &fitted.header.schema.columns {
        let column = name(&field.name);
        raw.push(match field.kind {
            Kind::Number => double(&column),
            Kind::Boolean => format!("CASE WHEN {column} THEN 1e0 WHEN NOT {column} THEN 0e0 END"),
            Kind::Category if field.levels.is_empty() => double("NULL"),
            Kind::Category => {
                let mut text = format!("CASE {column}");
                for (code, level) in field.levels.iter().enumerate() {
                    let _ = write!(text, " WHEN {} THEN {}", string(level), number(code as f64));
                }
                text + " END"
            }
            _ => return none(&format!("a column of kind {}", field.kind)),
        });
    }
    let mut layers = Layers::new(formula, table, dialect);
    for (at, step) in formula.steps.iter().enumerate().filter(|(at, _)| needed[*at]) {
        match &step.op {
            Op::Rows => layers.put(at, raw.clone()),
            // Written where they are used.
            Op::Constant(_) => {}
            Op::Distances { .. } => return none("a model that compares rows with others"),
            Op::Neighbours { .. } => return none("a model of neighbours"),
            Op::Median { .. } => return none("a weighted median"),
            op => {
                let columns = layers.step(op, step.width);
                layers.put(at, columns);
            }
        }
        if layers.length() > MOST || layers.columns > MOST_COLUMNS {
            let problem = format!("{} is too large for SQL", fitted.header.model);
            return Err(Error::Unsupported(problem).hint("ONNX has room for it: --to onnx"));
        }
    }
    Ok(layers.finish(fitted, said, keep))
}

fn name(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn string(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Negative ones in brackets.
fn number(value: f64) -> String {
    match value {
        value if value.is_nan() => double("NULL"),
        value if value < 0.0 => format!("({value:e})"),
        value => format!("{value:e}"),
    }
}

fn double(column: &str) -> String {
    format!("CAST({column} AS DOUBLE PRECISION)")
}

/// Balanced, so that no parser runs out of stack.
fn sum(terms: &[String]) -> String {
    match terms {
        [] => number(0.0),
        [one] => one.clone(),
        many => {
            let (left, right) = many.split_at(many.len() / 2);
            format!("({} + {})", sum(left), sum(right))
        }
    }
}

/// One table after the other, each with the columns of one step more.
struct Layers<'a> {
    formula: &'a Formula,
    layers: Vec<String>,
    from: String,
    columns: usize,
    dialect: Dialect,
}

impl<'a> Layers<'a> {
    fn new(formula: &'a Formula, table: &str, dialect: Dialect) -> Layers<'a> {
        let from = table.split('.').map(name).collect::<Vec<_>>().join(".");
        Layers { formula, layers: Vec::new(), from, columns: 0, dialect }
    }

    fn length(&self) -> usize {
        self.layers.iter().map(String::len).sum()
    }

    fn put(&mut self, step: usize, columns: Vec<String>) {
        let list: Vec<String> =
            columns.into_iter().enumerate().map(|(j, column)| format!("{column} AS e{step}_{j}")).collect();
        self.columns += list.len();
        let as_table = if self.dialect == Dialect::PostgreSql { "AS MATERIALIZED" } else { "AS" };
        let layer = format!("e{step} {as_table} (SELECT *, {} FROM {})", list.join(",\n  "), self.from);
        self.layers.push(layer);
        self.from = format!("e{step}");
    }

    /// One number of a step.
    fn cell(&self, id: Id, j: usize) -> String {
        let step = &self.formula.steps[id.0];
        let j = if step.width == 1 { 0 } else { j };
        match &step.op {
            Op::Constant(values) => number(values[j]),
            _ => format!("e{}_{j}", id.0),
        }
    }

    fn step(&self, op: &Op, width: usize) -> Vec<String> {
        let all = |id: Id| (0..self.formula.width(id)).map(|j| self.cell(id, j)).collect::<Vec<_>>();
        let each = |f: &dyn Fn(usize) -> String| (0..width).map(f).collect::<Vec<_>>();
        match op {
            Op::Fill(x, by) => each(&|j| match by[j].is_nan() {
                true => self.cell(*x, j),
                false => format!("COALESCE({}, {})", self.cell(*x, j), number(by[j])),
            }),
            Op::Join(parts) => parts.iter().flat_map(|part| all(*part)).collect(),
            Op::Pick(x, columns) => columns.iter().map(|&j| self.cell(*x, j)).collect(),
            Op::OneHot { of, column, first } => each(&|i| {
                let code = number((first + i) as f64);
                format!("CASE WHEN {} = {code} THEN 1e0 ELSE 0e0 END", self.cell(*of, *column))
            }),
            Op::Affine { of, weights, bias } => each(&|k| {
                let mut terms = vec![number(bias[k])];
                for j in (0..weights.rows).filter(|&j| weights[(j, k)] != 0.0) {
                    terms.push(format!("{} * {}", self.cell(*of, j), number(weights[(j, k)])));
                }
                sum(&terms)
            }),
            Op::Each(function, x) => each(&|j| {
                let x = self.cell(*x, j);
                match function {
                    // Beyond these the answer is 0 or the largest double; databases complain instead.
                    Function::Exp => {
                        format!("CASE WHEN {x} < -7e2 THEN 0e0 WHEN {x} > 7.09e2 THEN EXP(7.09e2) ELSE EXP({x}) END")
                    }
                    Function::Ln => format!("LN({x})"),
                    Function::Sigmoid => {
                        format!(
                            "CASE WHEN {x} < -7e2 THEN 0e0 WHEN {x} > 7e2 THEN 1e0 ELSE 1e0 / (1e0 + EXP(-({x}))) END"
                        )
                    }
                    Function::Tanh => {
                        let twice = format!("EXP(-2e0 * ABS({x}))");
                        format!("SIGN({x}) * (1e0 - {twice}) / (1e0 + {twice})")
                    }
                    Function::Sqrt => format!("SQRT({x})"),
                    Function::Abs => format!("ABS({x})"),
                    Function::Floor => format!("FLOOR({x})"),
                    Function::Power(power) => format!("POWER({x}, {})", number(*power)),
                    Function::Cos => format!("COS({x})"),
                    Function::Missing => format!("CASE WHEN {x} IS NULL THEN 1e0 ELSE 0e0 END"),
                }
            }),
            Op::Pair(pair, a, b) => each(&|j| {
                let (a, b) = (self.cell(*a, j), self.cell(*b, j));
                match pair {
                    Pair::Add => format!("({a} + {b})"),
                    Pair::Subtract => format!("({a} - {b})"),
                    Pair::Multiply => format!("({a} * {b})"),
                    Pair::Divide => format!("({a} / {b})"),
                    Pair::Larger => format!("CASE WHEN {a} >= {b} THEN {a} WHEN {b} > {a} THEN {b} END"),
                    Pair::Smaller => format!("CASE WHEN {a} <= {b} THEN {a} WHEN {b} < {a} THEN {b} END"),
                    Pair::Above => format!("CASE WHEN {a} > {b} THEN 1e0 ELSE 0e0 END"),
                    Pair::Equal => format!("CASE WHEN {a} = {b} THEN 1e0 ELSE 0e0 END"),
                }
            }),
            Op::Choose(condition, then, other) => each(&|j| {
                let condition = self.cell(*condition, j);
                format!("CASE WHEN {condition} <> 0e0 THEN {} ELSE {} END", self.cell(*then, j), self.cell(*other, j))
            }),
            Op::Sum(x) => vec![sum(&all(*x))],
            Op::Largest(x) => {
                let all = all(*x);
                vec![greatest(&all, |best| all[best].clone())]
            }
            Op::ArgLargest(x) => vec![greatest(&all(*x), |best| number(best as f64))],
            Op::Trees { of, trees, start } => each(&|k| {
                let mut terms = vec![number(start[k])];
                for tree in trees.iter().filter(|tree| (tree.to..tree.to + tree.outputs).contains(&k)) {
                    terms.push(self.tree(tree, 0, *of, k - tree.to));
                }
                sum(&terms)
            }),
            Op::Rows | Op::Constant(_) | Op::Distances { .. } | Op::Neighbours { .. } | Op::Median { .. } => Vec::new(),
        }
    }

    fn tree(&self, tree: &PlainTree, at: usize, x: Id, output: usize) -> String {
        match &tree.nodes[at] {
            PlainNode::Leaf(leaf) => number(tree.leaf(*leaf)[output]),
            PlainNode::Split { feature, test, missing_left, left, right } => {
                let x_j = self.cell(x, *feature);
                let condition = match test {
                    // Known or missing; infinity has no spelling of its own.
                    PlainTest::AtMost(f64::INFINITY) => format!("{x_j} IS NOT NULL"),
                    PlainTest::AtMost(threshold) => format!("{x_j} <= {}", number(*threshold)),
                    PlainTest::Among(codes) if codes.is_empty() => "1 = 0".into(),
                    PlainTest::Among(codes) => {
                        let codes: Vec<String> = codes.iter().map(|&code| number(code as f64)).collect();
                        format!("{x_j} IN ({})", codes.join(", "))
                    }
                };
                let missing = if *missing_left { format!(" OR {x_j} IS NULL") } else { String::new() };
                let (left, right) = (self.tree(tree, *left, x, output), self.tree(tree, *right, x, output));
                format!("CASE WHEN {condition}{missing} THEN {left} ELSE {right} END")
            }
        }
    }

    fn finish(self, fitted: &Fitted, said: &[(Output, Id)], keep: &[String]) -> String {
        let mut columns: Vec<String> = keep.iter().map(|column| name(column)).collect();
        let classes = fitted.classes();
        for (output, id) in said {
            match output {
                Output::Class if !classes.is_empty() => {
                    let mut text = format!("CASE {}", self.cell(*id, 0));
                    for (code, class) in classes.iter().enumerate() {
                        let _ = write!(text, " WHEN {} THEN {}", number(code as f64), string(class));
                    }
                    columns.push(text + " END AS prediction");
                }
                Output::Probability => {
                    for j in 0..self.formula.width(*id) {
                        let class = classes.get(j).cloned().unwrap_or_else(|| j.to_string());
                        columns.push(format!("{} AS {}", double(&self.cell(*id, j)), name(&format!("p({class})"))));
                    }
                }
                Output::Transform => {
                    for j in 0..self.formula.width(*id) {
                        columns.push(format!("{} AS transform{j}", double(&self.cell(*id, j))));
                    }
                }
                _ => columns.push(format!("{} AS prediction", double(&self.cell(*id, 0)))),
            }
        }
        let Layers { layers, from, .. } = self;
        format!("WITH {}\nSELECT {}\nFROM {from}\n", layers.join(",\n"), columns.join(",\n  "))
    }
}

/// A choice among cells by which of them is the first of the largest.
fn greatest(cells: &[String], chosen: impl Fn(usize) -> String) -> String {
    let mut text = "CASE".to_string();
    for (best, cell) in cells.iter().enumerate() {
        let others = cells.iter().enumerate().filter(|(other, _)| *other != best);
        let beats = others
            .map(|(at, other)| if at < best { format!("{cell} > {other}") } else { format!("{cell} >= {other}") });
        let beats: Vec<String> = beats.collect();
        if best + 1 == cells.len() || beats.is_empty() {
            return if best == 0 { chosen(0) } else { format!("{text} ELSE {} END", chosen(best)) };
        }
        let _ = write!(text, " WHEN {} THEN {}", beats.join(" AND "), chosen(best));
    }
    text
}
