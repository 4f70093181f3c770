//! A fitted model as a formula: a list of steps, each a few numbers for every row, from the raw columns to what is
//! predicted. It is written
//! down once for each kind of model ([`super::lower`]); ONNX, SQL, C and Rust are ways to spell it.

use ermine::{
    Matrix,
    engine::tree::{Test, Tree, contains},
};

/// A step that others refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(pub usize);

#[derive(Clone, Debug)]
pub struct Step {
    pub op: Op,
    /// Numbers for each row.
    pub width: usize,
}

/// Steps in an order in which they can be computed; the first is the raw columns.
#[derive(Clone, Debug, Default)]
pub struct Formula {
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub enum Op {
    /// The raw columns: numbers and codes of levels, NaN where a value is missing or a level unknown.
    Rows,
    Constant(Vec<f64>),
    /// NaN becomes this, column by column; where this is NaN itself it stays.
    Fill(Id, Vec<f64>),
    /// Side by side.
    Join(Vec<Id>),
    Pick(Id, Vec<usize>),
    /// 1 where the column has the code `first + i`, 0 elsewhere.
    OneHot {
        of: Id,
        column: usize,
        first: usize,
    },
    /// `x W + b`, W with one row for each number of x.
    Affine {
        of: Id,
        weights: Matrix,
        bias: Vec<f64>,
    },
    Each(Function, Id),
    /// Widths are equal, or one of them is 1.
    Pair(Pair, Id, Id),
    /// The second where the first is not 0, else the third.
    Choose(Id, Id, Id),
    Sum(Id),
    Largest(Id),
    /// The place of the first of the largest.
    ArgLargest(Id),
    /// What all trees say together, added to `start`.
    Trees {
        of: Id,
        trees: Vec<PlainTree>,
        start: Vec<f64>,
    },
    /// Distances to points, one for each.
    Distances {
        of: Id,
        points: Matrix,
        metric: Metric,
    },
    /// The mean of the values of the `count` points with the smallest distances, plainly or by the inverse of the
    /// distance. Points at an infinite distance do not count; with no others the mean is missing.
    Neighbours {
        distances: Id,
        count: usize,
        values: Matrix,
        inverse: bool,
    },
    /// The smallest value with at least half of the weight at or below it.
    Median {
        of: Id,
        weights: Vec<f64>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Function {
    Exp,
    Ln,
    Sigmoid,
    Tanh,
    Sqrt,
    Abs,
    /// The largest whole number at most as large.
    Floor,
    Power(f64),
    Cos,
    /// 1 where the value is missing, else 0.
    Missing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    Add,
    Subtract,
    Multiply,
    Divide,
    Larger,
    Smaller,
    /// 1 if the first is above the second, else 0.
    Above,
    /// 1 if they are equal, else 0; what is missing equals nothing.
    Equal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    SquaredEuclidean,
    Manhattan,
    Chebyshev,
    /// Squared, over the columns that both have, scaled up for the others; missing if they share none.
    Shared,
}

/// A tree with its leaves in a table.
#[derive(Clone, Debug)]
pub struct PlainTree {
    pub nodes: Vec<PlainNode>,
    /// Numbers in a leaf, and the first column they are added to.
    pub outputs: usize,
    pub to: usize,
    /// One row for each leaf.
    pub values: Vec<f64>,
}

#[derive(Clone, Debug)]
pub enum PlainNode {
    Leaf(usize),
    Split { feature: usize, test: PlainTest, missing_left: bool, left: usize, right: usize },
}

#[derive(Clone, Debug)]
pub enum PlainTest {
    AtMost(f64),
    /// Codes that go left.
    Among(Vec<usize>),
}

impl PlainTree {
    /// `levels` knows how many codes a column has.
    pub fn of(tree: &Tree, to: usize, levels: impl Fn(usize) -> usize) -> PlainTree {
        let node = |at: usize| match tree.split(at) {
            None => PlainNode::Leaf(tree.leaf_of(at)),
            Some((split, left)) => {
                let test = match &split.test {
                    Test::AtMost(threshold) => PlainTest::AtMost(*threshold),
                    Test::Among(set) => {
                        // A level that the split never saw is missing.
                        let goes = |level: &usize| match level / 64 < set.len() {
                            true => contains(set, *level),
                            false => split.missing_left,
                        };
                        let count = levels(split.feature).max(64 * set.len());
                        PlainTest::Among((0..count).filter(goes).collect())
                    }
                };
                let (feature, missing_left) = (split.feature, split.missing_left);
                PlainNode::Split { feature, test, missing_left, left, right: left + 1 }
            }
        };
        PlainTree {
            nodes: (0..tree.node_count()).map(node).collect(),
            outputs: tree.outputs(),
            to,
            values: (0..tree.leaves()).flat_map(|leaf| tree.leaf_value(leaf).to_vec()).collect(),
        }
    }

    pub fn leaves(&self) -> usize {
        self.values.len() / self.outputs.max(1)
    }

    pub fn leaf(&self, leaf: usize) -> &[f64] {
        &self.values[leaf * self.outputs..(leaf + 1) * self.outputs]
    }
}

impl Formula {
    pub fn width(&self, id: Id) -> usize {
        self.steps[id.0].width
    }

    fn push(&mut self, op: Op, width: usize) -> Id {
        self.steps.push(Step { op, width });
        Id(self.steps.len() - 1)
    }

    pub fn rows(&mut self, width: usize) -> Id {
        self.push(Op::Rows, width)
    }

    pub fn constant(&mut self, values: Vec<f64>) -> Id {
        let width = values.len();
        self.push(Op::Constant(values), width)
    }

    pub fn fill(&mut self, of: Id, by: Vec<f64>) -> Id {
        match by.iter().all(|by| by.is_nan()) {
            true => of,
            false => self.push(Op::Fill(of, by), self.width(of)),
        }
    }

    pub fn join(&mut self, parts: Vec<Id>) -> Id {
        if let [one] = parts[..] {
            return one;
        }
        let width = parts.iter().map(|part| self.width(*part)).sum();
        self.push(Op::Join(parts), width)
    }

    pub fn pick(&mut self, of: Id, columns: Vec<usize>) -> Id {
        if columns.iter().copied().eq(0..self.width(of)) {
            return of;
        }
        let width = columns.len();
        self.push(Op::Pick(of, columns), width)
    }

    pub fn one_hot(&mut self, of: Id, column: usize, first: usize, width: usize) -> Id {
        self.push(Op::OneHot { of, column, first }, width)
    }

    /// `weights` with one row for each number of `of`.
    pub fn affine(&mut self, of: Id, weights: Matrix, bias: Vec<f64>) -> Id {
        let width = weights.cols;
        self.push(Op::Affine { of, weights, bias }, width)
    }

    pub fn each(&mut self, function: Function, of: Id) -> Id {
        self.push(Op::Each(function, of), self.width(of))
    }

    pub fn pair(&mut self, pair: Pair, a: Id, b: Id) -> Id {
        let width = self.width(a).max(self.width(b));
        self.push(Op::Pair(pair, a, b), width)
    }

    /// With a number on the right.
    pub fn with(&mut self, pair: Pair, a: Id, number: f64) -> Id {
        let number = self.constant(vec![number]);
        self.pair(pair, a, number)
    }

    pub fn choose(&mut self, condition: Id, then: Id, other: Id) -> Id {
        let width = self.width(condition).max(self.width(then)).max(self.width(other));
        self.push(Op::Choose(condition, then, other), width)
    }

    pub fn sum(&mut self, of: Id) -> Id {
        self.push(Op::Sum(of), 1)
    }

    pub fn largest(&mut self, of: Id) -> Id {
        self.push(Op::Largest(of), 1)
    }

    pub fn arg_largest(&mut self, of: Id) -> Id {
        self.push(Op::ArgLargest(of), 1)
    }

    pub fn trees(&mut self, of: Id, trees: Vec<PlainTree>, start: Vec<f64>) -> Id {
        let width = start.len();
        self.push(Op::Trees { of, trees, start }, width)
    }

    pub fn distances(&mut self, of: Id, points: Matrix, metric: Metric) -> Id {
        let width = points.rows;
        self.push(Op::Distances { of, points, metric }, width)
    }

    pub fn neighbours(&mut self, distances: Id, count: usize, values: Matrix, inverse: bool) -> Id {
        let width = values.cols;
        self.push(Op::Neighbours { distances, count, values, inverse }, width)
    }

    pub fn median(&mut self, of: Id, weights: Vec<f64>) -> Id {
        self.push(Op::Median { of, weights }, 1)
    }

    /// `e^x / sum e^x`, from the largest down, so that nothing overflows.
    pub fn softmax(&mut self, of: Id) -> Id {
        let largest = self.largest(of);
        let below = self.pair(Pair::Subtract, of, largest);
        let powers = self.each(Function::Exp, below);
        let total = self.sum(powers);
        self.pair(Pair::Divide, powers, total)
    }

    /// `sigmoid(-s), sigmoid(s)`
    pub fn two_sides(&mut self, score: Id) -> Id {
        let other = self.with(Pair::Multiply, score, -1.0);
        let both = self.join(vec![other, score]);
        self.each(Function::Sigmoid, both)
    }

    /// `e^x - 1`, also near 0: `tanh(x / 2) (e^x + 1)`
    pub fn exp_m1(&mut self, x: Id) -> Id {
        let half = self.with(Pair::Divide, x, 2.0);
        let slope = self.each(Function::Tanh, half);
        let power = self.each(Function::Exp, x);
        let raised = self.with(Pair::Add, power, 1.0);
        self.pair(Pair::Multiply, slope, raised)
    }

    /// `ln(1 + x)`, also near 0 (Kahan): what is lost in `u = 1 + x` is lost in `u - 1` too.
    pub fn ln_1p(&mut self, x: Id) -> Id {
        let raised = self.with(Pair::Add, x, 1.0);
        let seen = self.with(Pair::Subtract, raised, 1.0);
        let one = self.constant(vec![1.0]);
        let safe = self.choose(seen, seen, one);
        let log = self.each(Function::Ln, raised);
        let product = self.pair(Pair::Multiply, log, x);
        let ratio = self.pair(Pair::Divide, product, safe);
        self.choose(seen, ratio, x)
    }

    /// 1 above zero, else 0.
    pub fn is_positive(&mut self, score: Id) -> Id {
        self.with(Pair::Above, score, 0.0)
    }

    /// Those steps that lead to `wanted`, as flags.
    pub fn needed(&self, wanted: &[Id]) -> Vec<bool> {
        let mut needed = vec![false; self.steps.len()];
        wanted.iter().for_each(|id| needed[id.0] = true);
        for at in (0..self.steps.len()).rev().filter(|at| *at < self.steps.len()) {
            if needed[at] {
                self.steps[at].op.inputs().into_iter().for_each(|id| needed[id.0] = true);
            }
        }
        needed
    }
}

impl Op {
    pub fn inputs(&self) -> Vec<Id> {
        match self {
            Op::Rows | Op::Constant(_) => Vec::new(),
            Op::Join(parts) => parts.clone(),
            Op::Pair(_, a, b) => vec![*a, *b],
            Op::Choose(a, b, c) => vec![*a, *b, *c],
            Op::Fill(of, _)
            | Op::Pick(of, _)
            | Op::OneHot { of, .. }
            | Op::Affine { of, .. }
            | Op::Each(_, of)
            | Op::Sum(of)
            | Op::Largest(of)
            | Op::ArgLargest(of)
            | Op::Trees { of, .. }
            | Op::Distances { of, .. }
            | Op::Median { of, .. } => vec![*of],
            Op::Neighbours { distances, .. } => vec![*distances],
        }
    }
}
