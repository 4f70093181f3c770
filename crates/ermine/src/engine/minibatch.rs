//! Synchronous stochastic gradient descent on one linear score, a minibatch B of rows at a time:
//!
//! ```text
//! g  = 1/|B| sum_{i in B} c_i loss'(y_i, w.x_i + b) x_i
//! w <- soft(w - eta (g + alpha (1 - r) w), eta alpha r)        soft(v, d) = sign(v) max(0, |v| - d)
//! ```
//!
//! Minibatches are cut from one shuffle of all rows of all workers. No row travels: the gradient is a sum over the
//! leaves of the table's merge tree ([`mod@crate::core::reduce`]) of those rows of B that lie in each, so workers, who
//! hold whole leaves, exchange p + 5 numbers a step and have the weights of one process after every step, to the bit. A
//! step is never longer than what keeps descent on the minibatch stable, 1 / (largest curvature x mean c_i |x_i|^2).

use super::{
    loss::PointLoss,
    sgd::{Descent, Patience, Rows, Sgd, State},
};
use crate::{
    Ctx, Matrix, Result, Source,
    core::{
        reduce::{held_leaves, leaf_rows, merge_units},
        simd, trace,
    },
};
use std::ops::Range;

/// The rows of all workers, and which are held here.
pub struct Spread {
    rows: usize,
    held: Range<usize>,
    /// Rows of a leaf of the merge tree, all leaves, and those held here.
    leaf: usize,
    count: usize,
    leaves: Range<usize>,
}

/// What stands behind the gradient in a sum: slopes, losses, weights, weighted squared lengths, mistakes.
const TAIL: usize = 5;

/// Multiplications from which threads are worth waking.
const WORK: usize = 1 << 18;

impl Spread {
    pub fn new(data: &dyn Source) -> Result<Self> {
        let (shape, held) = (data.shape(), data.held());
        let leaf = leaf_rows(&shape);
        let leaves = held_leaves(&shape, &held)?;
        Ok(Spread { rows: shape.rows, held, leaf, count: shape.rows.div_ceil(leaf), leaves })
    }

    /// The sum over these rows of all workers. `add` is given the rows that are held here, by place.
    fn sum(&self, ctx: &Ctx, rows: &[u32], width: usize, add: impl Fn(&mut [f64], usize) + Sync) -> Result<Vec<f64>> {
        let mut places: Vec<Vec<usize>> = vec![Vec::new(); self.leaves.len()];
        for row in rows.iter().map(|&row| row as usize).filter(|row| self.held.contains(row)) {
            places[row / self.leaf - self.leaves.start].push(row - self.held.start);
        }
        // A leaf without rows of this minibatch is no summand: most have none where minibatches are small.
        let unit = |leaf: usize| {
            let mut stat = vec![0.0; width];
            places[leaf].iter().for_each(|&place| add(&mut stat, place));
            Ok((!places[leaf].is_empty()).then_some(stat))
        };
        let units = if rows.len() * width >= WORK && ctx.threads() > 1 {
            ctx.map(places.len(), unit)
        } else {
            (0..places.len()).map(unit).collect()
        };
        let merge = |left: &mut Option<Vec<f64>>, right: Option<Vec<f64>>| match (left.as_mut(), right) {
            (Some(left), Some(right)) => simd::add_scaled(1.0, &right, left),
            (None, right) => *left = right,
            (Some(_), None) => {}
        };
        let total = merge_units(ctx, self.count, self.leaves.clone(), units, &merge)?;
        Ok(total.unwrap_or_else(|| vec![0.0; width]))
    }
}

impl Sgd {
    /// Makes up to `limit` passes from `state`, `self.batch_size` rows a step. `rows` are those held here.
    pub fn run_minibatches(
        &self,
        rows: &Rows,
        spread: &Spread,
        state: State,
        ctx: &Ctx,
        limit: usize,
    ) -> Result<Descent> {
        let (mut order, judged) = self.cut(spread.rows, ctx);
        let p = rows.x.cols();
        let mut walk = Walk::new(self, state);
        let mut out = Descent::default();
        let mut patience = Patience::new(self);
        for pass in 0..limit {
            ctx.check()?;
            if self.shuffle {
                ctx.rng("shuffle", pass as u64).shuffle(&mut order);
            }
            let (mut loss, mut weight, mut mistakes) = (0.0, 0.0, 0.0);
            for minibatch in order.chunks(self.batch_size) {
                let state = &walk.state;
                let sum = spread.sum(ctx, minibatch, p + TAIL, |stat, i| {
                    let (row, y) = (rows.x.row(i), rows.y[i]);
                    let c = rows.weights.map_or(1.0, |weights| weights[i]);
                    let s = row.dot(&state.w) + state.b;
                    let point = self.loss.at(y, s);
                    let slope = (c * point.slope).clamp(-1e12, 1e12);
                    let wrong = if self.loss.classifies() { (2.0 * y - 1.0) * s <= 0.0 } else { slope != 0.0 };
                    let (gradient, tail) = stat.split_at_mut(p);
                    row.add_to(slope, gradient);
                    let addends = [slope, c * point.value, c, c * rows.norms2[i], f64::from(u8::from(wrong))];
                    tail.iter_mut().zip(addends).for_each(|(sum, addend)| *sum += addend);
                })?;
                let (gradient, tail) = sum.split_at(p);
                walk.step(gradient, tail[0], tail[3], minibatch.len() as f64, patience.eta);
                ctx.record("step", || {
                    let State { w, b, .. } = &walk.state;
                    vec![
                        ("coef", Matrix::new(w.clone(), 1, p)),
                        ("intercept", trace::number(*b)),
                        ("rows", trace::column(minibatch.iter().map(|row| f64::from(*row)))),
                        ("loss", trace::number(tail[1] / tail[2].max(f64::MIN_POSITIVE))),
                    ]
                });
                loss += tail[1];
                weight += tail[2];
                mistakes += tail[4];
            }
            ctx.rows(order.len());
            out.losses.push(loss / f64::max(weight, f64::MIN_POSITIVE));
            out.mistakes.push(mistakes as usize);
            let judge = || {
                let value = |stat: &mut [f64], i: usize| {
                    let State { w, b, .. } = &walk.state;
                    stat[0] += self.loss.value(rows.y[i], rows.x.row(i).dot(w) + b);
                };
                Ok(spread.sum(ctx, &judged, 1, value)?[0] / judged.len() as f64)
            };
            if patience.is_over(&mut out, !judged.is_empty(), judge)? {
                break;
            }
        }
        out.shortened = walk.shortened;
        out.state = walk.state;
        out.state.record("done", ctx);
        Ok(out)
    }
}

struct Walk<'a> {
    sgd: &'a Sgd,
    state: State,
    t0: f64,
    shortened: usize,
}

impl<'a> Walk<'a> {
    fn new(sgd: &'a Sgd, mut state: State) -> Self {
        let p = state.w.len();
        if !sgd.average {
            (state.sum, state.sum_b, state.averaged) = (Vec::new(), 0.0, 0.0);
        } else if state.sum.is_empty() {
            state.sum = vec![0.0; p];
        }
        if sgd.momentum == 0.0 {
            state.velocity = Vec::new();
        } else if state.velocity.len() != p + 1 {
            state.velocity = vec![0.0; p + 1];
        }
        Walk { sgd, state, t0: sgd.t0(), shortened: 0 }
    }

    /// One step along sums over `rows` rows.
    fn step(&mut self, gradient: &[f64], slopes: f64, lengths: f64, rows: f64, eta0: f64) {
        let (sgd, State { w, b, t, velocity, .. }) = (self.sgd, &mut self.state);
        *t += 1.0;
        let mut eta = sgd.eta(*t, self.t0, eta0);
        if let Some(ceiling) = sgd.loss.largest_curvature() {
            let longest = rows / (ceiling * lengths).max(f64::MIN_POSITIVE);
            self.shortened += usize::from(longest < eta);
            eta = eta.min(longest);
        }
        let (shrinks, pays) = (sgd.alpha * (1.0 - sgd.l1_ratio), eta * sgd.alpha * sgd.l1_ratio);
        let slope = if sgd.fit_intercept { slopes / rows } else { 0.0 };
        if velocity.is_empty() {
            let keep = (1.0 - eta * shrinks).max(0.0);
            w.iter_mut().zip(gradient).for_each(|(w, g)| *w = keep * *w - eta / rows * g);
            *b -= eta * slope;
        } else {
            for ((w, v), g) in w.iter_mut().zip(&mut velocity[..]).zip(gradient) {
                *v = sgd.momentum * *v - eta * (shrinks * *w + g / rows);
                *w += *v;
            }
            let last = velocity.last_mut().expect("one more than weights");
            *last = sgd.momentum * *last - eta * slope;
            *b += *last;
        }
        if pays > 0.0 {
            w.iter_mut().for_each(|w| *w = w.signum() * (w.abs() - pays).max(0.0));
        }
        if sgd.average {
            simd::add_scaled(1.0, &self.state.w, &mut self.state.sum);
            self.state.sum_b += self.state.b;
            self.state.averaged += 1.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Data, X,
        core::{ctx::workers, reduce::shares, source::Shard},
        engine::{loss::Loss, sgd::LearningRate},
    };

    fn sgd() -> Sgd {
        Sgd {
            loss: Loss::Logistic,
            alpha: 0.01,
            l1_ratio: 0.0,
            fit_intercept: true,
            batch_size: 1,
            max_iter: 3,
            tol: None,
            shuffle: true,
            rate: LearningRate::Optimal,
            eta0: 0.05,
            power_t: 0.25,
            momentum: 0.0,
            average: true,
            n_iter_no_change: 5,
            validation_fraction: 0.0,
        }
    }

    struct Problem {
        x: Vec<f64>,
        y: Vec<f64>,
        weights: Vec<f64>,
        norms2: Vec<f64>,
    }

    impl Problem {
        fn new(rows: usize) -> Self {
            let x: Vec<f64> = (0..3 * rows).map(|i| ((i * 37) % 101) as f64 / 50.0 - 1.0).collect();
            let y = x.chunks(3).map(|r| f64::from(u8::from(r[0] - 2.0 * r[1] + 0.3 > 0.0))).collect();
            let norms2 = x.chunks(3).map(|r| simd::dot(r, r) + 1.0).collect();
            Problem { x, y, weights: (0..rows).map(|i| [1.0, 0.5, 2.0][i % 3]).collect(), norms2 }
        }

        fn rows(&self, held: Range<usize>) -> Rows<'_> {
            Rows {
                x: X::dense(&self.x[3 * held.start..3 * held.end], 3).unwrap(),
                y: &self.y[held.clone()],
                weights: Some(&self.weights[held.clone()]),
                norms2: &self.norms2[held],
            }
        }

        fn data(&self) -> Data<'_> {
            Data::new(X::dense(&self.x, 3).unwrap()).real(&self.y).unwrap()
        }
    }

    /// Minibatches of one row are the descent a row at a time.
    #[test]
    fn a_minibatch_of_one_is_a_row() {
        let problem = Problem::new(60);
        let spread = Spread::new(&problem.data()).unwrap();
        let ctx = Ctx::new(3);
        for momentum in [0.0, 0.5] {
            let sgd = Sgd { momentum, validation_fraction: 0.2, tol: Some(1e-9), ..sgd() };
            let rows = problem.rows(0..60);
            let row = sgd.run(&rows, State::new(3), &ctx, 3).unwrap();
            let minibatch = sgd.run_minibatches(&rows, &spread, State::new(3), &ctx, 3).unwrap();
            let (expected, found) = (row.state.result(), minibatch.state.result());
            (0..3).for_each(|j| assert!((expected.0[j] - found.0[j]).abs() < 1e-12, "{expected:?} {found:?}"));
            assert!((expected.1 - found.1).abs() < 1e-12);
            assert_eq!(row.mistakes, minibatch.mistakes);
            (0..3).for_each(|pass| assert!((row.losses[pass] - minibatch.losses[pass]).abs() < 1e-12));
        }
    }

    #[test]
    fn any_number_of_workers_makes_the_steps_of_one() {
        let problem = Problem::new(20_000);
        let data = problem.data();
        let sgd = Sgd { batch_size: 90, l1_ratio: 0.3, validation_fraction: 0.1, tol: Some(1e-9), ..sgd() };
        let fit = |shard: &dyn Source, ctx: &Ctx| {
            let spread = Spread::new(shard).unwrap();
            sgd.run_minibatches(&problem.rows(shard.held()), &spread, State::new(3), ctx, 3).unwrap()
        };
        let alone = fit(&data, &Ctx::new(1).with_threads(2));
        for count in [2, 3, 5] {
            let shares = shares(&data.shape(), count);
            workers(count, |exchange| {
                let shard = Shard::window(&data, shares[exchange.rank()].clone());
                let found = fit(&shard, &Ctx::new(1).with_threads(2).with_exchange(exchange));
                assert!(found.state == alone.state && found.losses == alone.losses, "{count} workers");
            });
        }
    }

    /// At the end the gradient of the whole objective is as good as zero.
    #[test]
    fn it_comes_to_the_minimum() {
        let problem = Problem::new(2000);
        let rows = problem.rows(0..2000);
        let sgd =
            Sgd { batch_size: 50, average: false, rate: LearningRate::Invscaling, power_t: 0.6, eta0: 2.0, ..sgd() };
        let spread = Spread::new(&problem.data()).unwrap();
        let out = sgd.run_minibatches(&rows, &spread, State::new(3), &Ctx::new(1), 400).unwrap();
        let (mut gradient, w) = (vec![0.0; 3], &out.state.w);
        for i in 0..2000 {
            let row = rows.x.row(i);
            let slope = problem.weights[i] * sgd.loss.slope(problem.y[i], row.dot(w) + out.state.b);
            row.add_to(slope / 2000.0, &mut gradient);
        }
        for (g, w) in gradient.iter().zip(w) {
            assert!((g + sgd.alpha * w).abs() < 2e-3, "{gradient:?} {w:?}");
        }
    }
}
