//! What a formula says of a row: the meaning of every step, which all ways to spell it must keep.

use super::formula::{Formula, Function, Metric, Op, Pair, PlainNode, PlainTest, PlainTree};

impl Formula {
    /// The numbers of every step for one row of raw columns.
    pub fn evaluate(&self, row: &[f64]) -> Vec<Vec<f64>> {
        let mut all: Vec<Vec<f64>> = Vec::new();
        for step in &self.steps {
            let value = |id: &super::formula::Id| &all[id.0];
            let wide = |values: &[f64], j: usize| values[if values.len() == 1 { 0 } else { j }];
            let result: Vec<f64> = match &step.op {
                Op::Rows => row.to_vec(),
                Op::Constant(values) => values.clone(),
                Op::Fill(of, by) => value(of).iter().zip(by).map(|(x, by)| if x.is_nan() { *by } else { *x }).collect(),
                Op::Join(parts) => parts.iter().flat_map(|part| value(part).clone()).collect(),
                Op::Pick(of, columns) => columns.iter().map(|&j| value(of)[j]).collect(),
                Op::OneHot { of, column, first } => {
                    (0..step.width).map(|i| f64::from(value(of)[*column] == (first + i) as f64)).collect()
                }
                Op::Affine { of, weights, bias } => {
                    let x = value(of);
                    (0..step.width)
                        .map(|k| bias[k] + (0..x.len()).map(|j| x[j] * weights[(j, k)]).sum::<f64>())
                        .collect()
                }
                Op::Each(function, of) => value(of).iter().map(|x| function.of(*x)).collect(),
                Op::Pair(pair, a, b) => {
                    (0..step.width).map(|j| pair.of(wide(value(a), j), wide(value(b), j))).collect()
                }
                Op::Choose(condition, then, other) => (0..step.width)
                    .map(|j| wide(value(if wide(value(condition), j) != 0.0 { then } else { other }), j))
                    .collect(),
                Op::Sum(of) => vec![value(of).iter().sum()],
                Op::Largest(of) => vec![value(of).iter().copied().fold(f64::NEG_INFINITY, f64::max)],
                Op::ArgLargest(of) => {
                    let x = value(of);
                    vec![(0..x.len()).fold(0, |best, j| if x[j] > x[best] { j } else { best }) as f64]
                }
                Op::Trees { of, trees, start } => {
                    let mut sums = start.clone();
                    for tree in trees {
                        let leaf = tree.leaf(tree.find(value(of)));
                        leaf.iter().zip(&mut sums[tree.to..]).for_each(|(value, sum)| *sum += value);
                    }
                    sums
                }
                Op::Distances { of, points, metric } => {
                    (0..points.rows).map(|i| metric.between(value(of), points.row(i))).collect()
                }
                Op::Neighbours { distances, count, values, inverse } => {
                    let mut near: Vec<(f64, usize)> = value(distances).iter().copied().zip(0..).collect();
                    near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                    near.truncate(*count);
                    let here = near[0].0 == 0.0;
                    let weight = |distance: f64| match (inverse, here) {
                        (false, _) => f64::from(distance < f64::INFINITY),
                        (true, true) => f64::from(distance == 0.0),
                        (true, false) => distance.recip(),
                    };
                    let total: f64 = near.iter().map(|(distance, _)| weight(*distance)).sum();
                    let mean = |k: usize| near.iter().map(|(d, i)| weight(*d) * values[(*i, k)]).sum::<f64>() / total;
                    (0..step.width).map(mean).collect()
                }
                Op::Median { of, weights } => {
                    let mut votes: Vec<(f64, f64)> = value(of).iter().copied().zip(weights.iter().copied()).collect();
                    votes.sort_by(|a, b| a.0.total_cmp(&b.0));
                    let half = 0.5 * weights.iter().sum::<f64>();
                    let mut sum = 0.0;
                    let at = votes.iter().position(|vote| {
                        sum += vote.1;
                        sum >= half
                    });
                    vec![votes[at.unwrap_or(votes.len() - 1)].0]
                }
            };
            all.push(result);
        }
        all
    }
}

impl Function {
    fn of(self, x: f64) -> f64 {
        match self {
            Function::Exp => x.exp(),
            Function::Ln => x.ln(),
            Function::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Function::Tanh => x.tanh(),
            Function::Sqrt => x.sqrt(),
            Function::Abs => x.abs(),
            Function::Floor => x.floor(),
            Function::Power(power) => x.powf(power),
            Function::Cos => x.cos(),
            Function::Missing => f64::from(x.is_nan()),
        }
    }
}

impl Pair {
    fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Pair::Add => a + b,
            Pair::Subtract => a - b,
            Pair::Multiply => a * b,
            Pair::Divide => a / b,
            Pair::Larger => a.max(b),
            Pair::Smaller => a.min(b),
            Pair::Above => f64::from(a > b),
            Pair::Equal => f64::from(a == b),
        }
    }
}

impl Metric {
    fn between(self, a: &[f64], b: &[f64]) -> f64 {
        let differences = a.iter().zip(b).map(|(a, b)| (a - b).abs());
        match self {
            Metric::SquaredEuclidean => differences.map(|d| d * d).sum(),
            Metric::Manhattan => differences.sum(),
            Metric::Chebyshev => differences.fold(0.0, f64::max),
            Metric::Shared => {
                let shared: Vec<f64> = differences.filter(|d| !d.is_nan()).collect();
                shared.iter().map(|d| d * d).sum::<f64>() * a.len() as f64 / shared.len() as f64
            }
        }
    }
}

impl PlainTree {
    /// The leaf of a row.
    pub fn find(&self, row: &[f64]) -> usize {
        let mut at = 0;
        loop {
            match &self.nodes[at] {
                PlainNode::Leaf(leaf) => return *leaf,
                PlainNode::Split { feature, test, missing_left, left, right } => {
                    let value = row[*feature];
                    let goes_left = match test {
                        _ if value.is_nan() => *missing_left,
                        PlainTest::AtMost(threshold) => value <= *threshold,
                        PlainTest::Among(codes) => codes.binary_search(&(value as usize)).is_ok(),
                    };
                    at = if goes_left { *left } else { *right };
                }
            }
        }
    }
}
