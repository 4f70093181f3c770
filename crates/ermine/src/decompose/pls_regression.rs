//! Partial least squares: regression on the few directions of x that go most with y.
//!
//! Component k is the unit vector `w = argmax ||Y' V X w||` of what the components before have left of the rows; its
//! score is `t = X w`. Both tables lose what t explains of them, `X -= t p'` with `p = X' V t / t' V t` and
//! `Y -= t q'` likewise. Columns are centred and, with `scale`, brought to deviation 1 before; V holds the weights of
//! the rows. With R the directions that make all scores of the rows at once, the model is `y = (x - mean) R Q'`
//! (Wold, Sjöström and Eriksson 2001; Wegelin 2000, section 4.1).
//!
//! One target has its direction in one step; with several it is found by the power method (NIPALS), which stops when
//! the direction moves by less than the square root of `tol`. Cost O(n p) for each step and component, with the rows as
//! dense numbers in memory. As many components as columns give least squares.

use crate::{
    Array, Certificate, Ctx, Error, Estimator, Fit, FitLog, Halt, Info, Matrix, Model, Output, Params, Passes, Result,
    Shape, Source, Task, X,
    core::{
        memory,
        param::{at_least, log},
        params,
    },
    linear::{check_linear, scores},
};
use serde::{Deserialize, Serialize};

params! {
    /// Regression on the few directions of the columns that go most with the targets. For columns that say the same.
    pub struct PLSRegression {
        /// Number of components.
        n_components: usize = 2, at_least(1.0), log(1.0, 20.0);
        /// Whether to divide columns and targets by their standard deviations.
        scale: bool = true;
        /// Maximum number of steps of the power method for each component, with several targets.
        max_iter: usize = 500, at_least(1.0);
        /// The power method stops when the squared change of the direction is below this.
        tol: f64 = 1e-6, at_least(0.0);
    }
}

const WHY_MEMORY: &str = "each component is taken off the rows before the next one is looked for";

impl Estimator for PLSRegression {
    type Model = PlsModel;

    const INFO: Info = Info {
        multi_target: true,
        not_compared: Some("shrinks in steps what Ridge shrinks smoothly"),
        ..Info::new(
            "cross_decomposition",
            Task::Regression,
            "w_k = argmax ||Y' X w|| with ||w|| = 1, t_k = X w_k, and X and Y lose what t_k explains",
            Passes::Memory(WHY_MEMORY),
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, p, _) = shape.sizes();
        1e-9 * (2e4 + n * p * (8.0 + 4.0 * (self.n_components as f64).min(p)))
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<PlsModel>> {
        let name = Self::NAME;
        let batch = data.in_memory(name, WHY_MEMORY)?;
        ctx.check()?;
        batch.x.check_finite(batch.first)?;
        let (n, p, most) = (batch.rows(), batch.x.cols(), batch.rows().min(batch.x.cols()));
        if self.n_components > most {
            return Err(Error::Parameter {
                model: name.into(),
                name: "n_components".into(),
                value: self.n_components.to_string(),
                allowed: format!("a number from 1 to {most}, the smaller one of {n} rows and {p} columns"),
            });
        }
        memory::check(name, "the rows as dense numbers", &[n, p], 2 * size_of::<f64>())?;
        let weights: Vec<f64> = (0..n).map(|i| batch.weight(i)).collect();
        let q = batch.y.real().len() / n;
        let mut x = Table::new(batch.x.to_matrix(), &weights, self.scale);
        let mut y = Table::new(Matrix::new(batch.y.real().to_vec(), n, q), &weights, self.scale);

        let mut found = Components::new(self.n_components, p, q);
        let mut notes = Vec::new();
        let mut halt = None;
        let (mut x_scores, mut y_scores) = (Matrix::zeros(n, self.n_components), Matrix::zeros(n, self.n_components));
        for k in 0..self.n_components {
            ctx.check()?;
            let Some(first) = y.first_that_varies(&weights) else {
                notes.push(format!("y residual is constant at iteration {k}: nothing is left to explain"));
                break;
            };
            let (mut w, mut c, steps) = self.direction(&x, &y, &weights, first, ctx)?;
            if steps == self.max_iter && q > 1 {
                halt = Some(Halt::Passes);
            }
            if w.iter().any(|w| !w.is_finite()) {
                return Err(Error::Data(format!("{name}: sums of squares overflow"))
                    .hint("bring columns and target to a smaller scale"));
            }
            if w.iter().all(|w| *w == 0.0) {
                notes.push(format!("no column goes with what is left of the target after {k} components"));
                break;
            }
            // The largest weight is positive, so that the sign does not depend on rounding.
            let largest = w.iter().fold(0.0, |most: f64, w| if w.abs() > most.abs() { *w } else { most });
            if largest < 0.0 {
                w.iter_mut().chain(&mut c).for_each(|value| *value = -*value);
            }
            let t = x.times(&w);
            let square = dot(&t, &t, &weights);
            if square == 0.0 {
                notes.push(format!("nothing is left of the columns after {k} components"));
                break;
            }
            let length = c.iter().map(|c| c * c).sum::<f64>();
            for (i, u) in y.times(&c).into_iter().enumerate() {
                (x_scores[(i, k)], y_scores[(i, k)]) = (t[i], u / length);
            }
            let loadings = x.transposed_times(&t, &weights, square);
            let targets = y.transposed_times(&t, &weights, square);
            x.lose(&t, &loadings);
            y.lose(&t, &targets);
            found.keep(k, [&w, &c, &loadings, &targets], steps);
        }
        let model = found.model(&x, &y);
        let mut log = FitLog::exact(Certificate::None);
        if let Some(halt) = halt {
            log = FitLog::ended(self.max_iter, Vec::new(), halt, Certificate::None);
        }
        let rows = vec![("x_scores_", (&x_scores).into()), ("y_scores_", (&y_scores).into())];
        Ok(Fit { rows, ..Fit::new(model, log.with_notes(notes)) })
    }
}

impl PLSRegression {
    /// The direction of x, what it says of each target, and the steps that were taken.
    fn direction(
        &self,
        x: &Table,
        y: &Table,
        weights: &[f64],
        first: usize,
        ctx: &Ctx,
    ) -> Result<(Vec<f64>, Vec<f64>, usize)> {
        let q = y.rows.cols;
        let mut score: Vec<f64> = (0..y.rows.rows).map(|i| y.rows[(i, first)]).collect();
        let mut before: Option<Vec<f64>> = None;
        for step in 1.. {
            ctx.check()?;
            let mut w = x.transposed_times(&score, weights, dot(&score, &score, weights));
            let length = w.iter().map(|w| w * w).sum::<f64>().sqrt() + f64::EPSILON;
            w.iter_mut().for_each(|w| *w /= length);
            let t = x.times(&w);
            let square = dot(&t, &t, weights);
            if square == 0.0 {
                return Ok((vec![0.0; w.len()], vec![0.0; q], step));
            }
            let c = y.transposed_times(&t, weights, square);
            let length = c.iter().map(|c| c * c).sum::<f64>() + f64::EPSILON;
            score = y.times(&c);
            score.iter_mut().for_each(|score| *score /= length);
            let moved = before.as_ref().map_or(f64::INFINITY, |before| {
                w.iter().zip(before).map(|(w, before)| (w - before) * (w - before)).sum::<f64>()
            });
            if moved < self.tol || q == 1 || step == self.max_iter {
                return Ok((w, c, step));
            }
            before = Some(w);
        }
        unreachable!("max_iter is at least 1")
    }
}

fn dot(a: &[f64], b: &[f64], weights: &[f64]) -> f64 {
    a.iter().zip(b).zip(weights).map(|((a, b), weight)| weight * a * b).sum()
}

/// Rows about their mean, in deviations, and what is left of them.
struct Table {
    rows: Matrix,
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl Table {
    fn new(mut rows: Matrix, weights: &[f64], scale: bool) -> Table {
        let cols = rows.cols;
        let total: f64 = weights.iter().sum();
        let mut mean = vec![0.0; cols];
        for (i, weight) in weights.iter().enumerate() {
            mean.iter_mut().zip(rows.row(i)).for_each(|(mean, value)| *mean += weight * value);
        }
        mean.iter_mut().for_each(|mean| *mean /= total);
        let mut squares = vec![0.0; cols];
        for (i, weight) in weights.iter().enumerate() {
            for ((value, mean), square) in rows.row_mut(i).iter_mut().zip(&mean).zip(&mut squares) {
                *value -= mean;
                *square += weight * *value * *value;
            }
        }
        let free = if total > 1.0 { total - 1.0 } else { total };
        let deviation = |square: &f64| (square / free).sqrt();
        let usable = |deviation: f64| if scale && deviation > 0.0 && deviation.is_finite() { deviation } else { 1.0 };
        let deviation: Vec<f64> = squares.iter().map(deviation).map(usable).collect();
        for i in 0..rows.rows {
            rows.row_mut(i).iter_mut().zip(&deviation).for_each(|(value, deviation)| *value /= deviation);
        }
        Table { rows, mean, deviation }
    }

    /// The first column of which more than rounding is left; columns of less become zero.
    fn first_that_varies(&mut self, weights: &[f64]) -> Option<usize> {
        let cols = self.rows.cols;
        let counted = || (0..weights.len()).filter(|&i| weights[i] > 0.0);
        let largest = |rows: &Matrix, j: usize| counted().map(|i| rows[(i, j)].abs()).fold(0.0, f64::max);
        for j in (0..cols).filter(|&j| largest(&self.rows, j) < 10.0 * f64::EPSILON).collect::<Vec<_>>() {
            (0..self.rows.rows).for_each(|i| self.rows[(i, j)] = 0.0);
        }
        (0..cols).find(|&j| largest(&self.rows, j) > f64::EPSILON)
    }

    fn times(&self, w: &[f64]) -> Vec<f64> {
        (0..self.rows.rows).map(|i| self.rows.row(i).iter().zip(w).map(|(x, w)| x * w).sum()).collect()
    }

    /// `X' V t / square`
    fn transposed_times(&self, t: &[f64], weights: &[f64], square: f64) -> Vec<f64> {
        let mut out = vec![0.0; self.rows.cols];
        for (i, (t, weight)) in t.iter().zip(weights).enumerate() {
            out.iter_mut().zip(self.rows.row(i)).for_each(|(out, x)| *out += weight * t * x);
        }
        out.iter_mut().for_each(|out| *out /= square);
        out
    }

    fn lose(&mut self, t: &[f64], loadings: &[f64]) {
        for (i, t) in t.iter().enumerate() {
            self.rows.row_mut(i).iter_mut().zip(loadings).for_each(|(x, loading)| *x -= t * loading);
        }
    }
}

/// What was found of each component; zero for those that were not.
struct Components {
    x_weights: Matrix,
    y_weights: Matrix,
    x_loadings: Matrix,
    y_loadings: Matrix,
    steps: Vec<u32>,
}

impl Components {
    fn new(count: usize, p: usize, q: usize) -> Components {
        let (x, y) = (Matrix::zeros(p, count), Matrix::zeros(q, count));
        Components { x_weights: x.clone(), y_weights: y.clone(), x_loadings: x, y_loadings: y, steps: Vec::new() }
    }

    fn keep(&mut self, k: usize, columns: [&[f64]; 4], steps: usize) {
        let tables = [&mut self.x_weights, &mut self.y_weights, &mut self.x_loadings, &mut self.y_loadings];
        for (table, column) in tables.into_iter().zip(columns) {
            column.iter().enumerate().for_each(|(j, value)| table[(j, k)] = *value);
        }
        self.steps.push(steps as u32);
    }

    fn model(self, x: &Table, y: &Table) -> PlsModel {
        let (p, q, count) = (self.x_weights.rows, self.y_weights.rows, self.x_weights.cols);
        // R = W (P'W)^-1, where P'W has ones on the diagonal and zeros below.
        let mut rotations = self.x_weights.clone();
        for k in 0..count {
            for earlier in 0..k {
                let share: f64 = (0..p).map(|j| self.x_loadings[(j, earlier)] * self.x_weights[(j, k)]).sum();
                (0..p).for_each(|j| rotations[(j, k)] -= share * rotations[(j, earlier)]);
            }
        }
        let coef = Matrix::from_fn(q, p, |target, j| {
            let sum: f64 = (0..count).map(|k| rotations[(j, k)] * self.y_loadings[(target, k)]).sum();
            sum * y.deviation[target] / x.deviation[j]
        });
        let intercept = (0..q)
            .map(|target| y.mean[target] - coef.row(target).iter().zip(&x.mean).map(|(w, mean)| w * mean).sum::<f64>());
        PlsModel {
            intercept: intercept.collect(),
            coef,
            rotations,
            x_mean: x.mean.clone(),
            x_deviation: x.deviation.clone(),
            y_mean: y.mean.clone(),
            y_deviation: y.deviation.clone(),
            x_weights: self.x_weights,
            y_weights: self.y_weights,
            x_loadings: self.x_loadings,
            y_loadings: self.y_loadings,
            steps: self.steps,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlsModel {
    /// A row for each target.
    pub coef: Matrix,
    pub intercept: Vec<f64>,
    /// A column for each component, here and below.
    pub rotations: Matrix,
    pub x_mean: Vec<f64>,
    pub x_deviation: Vec<f64>,
    pub y_mean: Vec<f64>,
    pub y_deviation: Vec<f64>,
    pub x_weights: Matrix,
    pub y_weights: Matrix,
    pub x_loadings: Matrix,
    pub y_loadings: Matrix,
    /// Of the power method, for each component.
    pub steps: Vec<u32>,
}

impl Model for PlsModel {
    fn cols(&self) -> usize {
        self.coef.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![
            (Output::Value, self.coef.rows),
            (Output::Transform, self.rotations.cols),
            (Output::Inverse, self.coef.cols),
        ]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let (p, k) = (self.coef.cols, self.rotations.cols);
        match output {
            Output::Value => scores(x, &self.coef, &self.intercept, out),
            Output::Inverse => {
                for (row, out) in x.iter().zip(out.chunks_exact_mut(p)) {
                    out.copy_from_slice(&self.x_mean);
                    row.for_each(|k, score| {
                        (0..p).for_each(|j| out[j] += score * self.x_loadings[(j, k)] * self.x_deviation[j]);
                    });
                }
            }
            _ => {
                let mut centred = vec![0.0; p];
                for (row, out) in x.iter().zip(out.chunks_exact_mut(k)) {
                    centred.fill(0.0);
                    row.for_each(|j, value| centred[j] = value);
                    out.fill(0.0);
                    for (j, value) in centred.iter().enumerate() {
                        let value = (value - self.x_mean[j]) / self.x_deviation[j];
                        out.iter_mut().zip(self.rotations.row(j)).for_each(|(out, r)| *out += value * r);
                    }
                }
            }
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![
            ("coef_", (&self.coef).into()),
            // As in scikit-learn, whose rows are centred before they meet the coefficients.
            ("intercept_", (&self.y_mean).into()),
            ("x_weights_", (&self.x_weights).into()),
            ("y_weights_", (&self.y_weights).into()),
            ("x_loadings_", (&self.x_loadings).into()),
            ("y_loadings_", (&self.y_loadings).into()),
            ("x_rotations_", (&self.rotations).into()),
            ("_x_mean", (&self.x_mean).into()),
            ("_x_std", (&self.x_deviation).into()),
            ("_y_mean", (&self.y_mean).into()),
            ("_y_std", (&self.y_deviation).into()),
            ("_steps", self.steps.iter().map(|&steps| i64::from(steps)).collect::<Vec<_>>().into()),
        ]
    }

    fn check(&self) -> Result<()> {
        check_linear(&self.coef, &self.intercept)?;
        let (p, q, k) = (self.coef.cols, self.coef.rows, self.rotations.cols);
        let sized = |matrix: &Matrix, rows: usize| matrix.is_consistent() && (matrix.rows, matrix.cols) == (rows, k);
        let fits = k > 0
            && [&self.rotations, &self.x_weights, &self.x_loadings].into_iter().all(|matrix| sized(matrix, p))
            && [&self.y_weights, &self.y_loadings].into_iter().all(|matrix| sized(matrix, q))
            && (self.x_mean.len(), self.x_deviation.len()) == (p, p)
            && (self.y_mean.len(), self.y_deviation.len()) == (q, q)
            && self.steps.len() <= k;
        if fits { Ok(()) } else { Err(Error::Data("the stored components are inconsistent".into())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Data, Numbers, linear::LinearRegression, predict};

    fn rows(n: usize, p: usize) -> (Vec<f64>, Vec<f64>) {
        let mut rng = Ctx::new(4).rng("rows", 0);
        let x: Vec<f64> = (0..n * p).map(|at| rng.normal() + (at / p) as f64 / n as f64).collect();
        let y = x.chunks(p).map(|row| row[0] - 2.0 * row[1] + row[0] * row[2] + 0.1 * rng.normal()).collect();
        (x, y)
    }

    /// All components together are least squares; scores of different components have no product.
    #[test]
    fn all_components_are_least_squares() {
        let (x, y) = rows(60, 4);
        let data = Data::new(X::dense(&x, 4).unwrap()).real(&y).unwrap();
        for scale in [true, false] {
            let pls = PLSRegression { n_components: 4, scale, ..Default::default() };
            let fit = pls.fit(&data, &Ctx::default()).unwrap();
            let plain = LinearRegression::default().fit(&data, &Ctx::default()).unwrap();
            let (a, b) = (fit.predict(&data).unwrap(), plain.predict(&data).unwrap());
            assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-9));
            let scores = predict(&Ctx::default(), &fit.model, &data.batch().x, Output::Transform, false).unwrap();
            let products = scores.transposed().times(&scores);
            let largest = (0..4).map(|k| products[(k, k)]).fold(0.0, f64::max);
            for (i, j) in (0..4).flat_map(|i| (0..i).map(move |j| (i, j))) {
                assert!(products[(i, j)].abs() < 1e-9 * largest);
            }
            // The scores of the fit are those of the rotations, and turn back into the rows.
            let Numbers::Float(found) = &fit.rows[0].1.values else { panic!() };
            assert!(found.iter().zip(&scores.values).all(|(a, b)| (a - b).abs() < 1e-9));
            let z = X::dense(&scores.values, 4).unwrap();
            let back = predict(&Ctx::default(), &fit.model, &z, Output::Inverse, false).unwrap();
            assert!(back.values.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-9));
        }
    }

    /// No direction of length 1 has a larger covariance with the targets than the first one.
    #[test]
    fn the_first_direction_has_the_largest_covariance() {
        let (x, y) = rows(50, 3);
        let both: Vec<f64> = y.iter().zip(x.chunks(3)).flat_map(|(y, row)| [*y, row[2] * row[2]]).collect();
        let data = Data::new(X::dense(&x, 3).unwrap()).reals(&both, 2).unwrap();
        let pls = PLSRegression { n_components: 1, scale: false, tol: 1e-24, ..Default::default() };
        let model = pls.fit(&data, &Ctx::default()).unwrap().model;
        let weights = vec![1.0; 50];
        let (x, y) = (Matrix::new(x, 50, 3), Matrix::new(both, 50, 2));
        let (x, y) = (Table::new(x, &weights, false), Table::new(y, &weights, false));
        let covariance = |w: &[f64]| {
            let found = y.transposed_times(&x.times(w), &weights, 1.0);
            found.iter().map(|c| c * c).sum::<f64>()
        };
        let best = covariance(&model.x_weights.values);
        let mut rng = Ctx::new(5).rng("directions", 0);
        for _ in 0..500 {
            let w = [rng.normal(), rng.normal(), rng.normal()];
            let length = w.iter().map(|w| w * w).sum::<f64>().sqrt();
            assert!(covariance(&w.map(|w| w / length)) <= best * (1.0 + 1e-9));
        }
    }

    #[test]
    fn what_is_explained_ends_the_fit() {
        let x: Vec<f64> = (0..30).flat_map(|i| [f64::from(i), f64::from(i % 5), f64::from(i % 3)]).collect();
        let y: Vec<f64> = (0..30).map(|_| 2.0).collect();
        let data = Data::new(X::dense(&x, 3).unwrap()).real(&y).unwrap();
        let fit = PLSRegression::default().fit(&data, &Ctx::default()).unwrap();
        assert_eq!(fit.predict(&[[1.0, 2.0, 3.0]]).unwrap(), [2.0]);
        assert!(fit.log.notes[0].contains("constant at iteration 0"), "{:?}", fit.log.notes);
        let error = PLSRegression { n_components: 4, ..Default::default() }.fit(&data, &Ctx::default()).err().unwrap();
        assert!(error.to_string().contains("n_components is 4"), "{error}");
    }
}
