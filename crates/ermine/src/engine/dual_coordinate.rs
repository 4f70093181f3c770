//! Linear machines one coordinate at a time, for rows dense or sparse with an appended constant column.
//!
//! * [`classify`]: `min_w 1/2 ||w||^2 + sum_i c_i loss(y_i w.x_i)`, hinge or squared hinge, in the dual with random
//!   order and shrinking (Hsieh et al. 2008, the method of LIBLINEAR).
//! * [`regress`]: the same with the (squared) epsilon-insensitive loss (Ho and Lin 2012).
//! * [`sparse_weights`]: `min_w ||w||_1 + sum_i c_i max(0, 1 - y_i w.x_i)^2`, in the primal, one column at a time by a
//!   Newton step and a line search (Fan et al. 2008, Yuan et al. 2010).
//!
//! Each step touches one row (or column): O(stored values) a pass. The constant column makes the intercept part of the
//! penalty.

use super::double_double::Dd;
use crate::{Bound, Ctx, Halt, Result, Shape, X, core::rng::Stream};

/// Rows with the constant appended to each, their costs and what they are to become.
pub struct Rows<'a> {
    pub x: X<'a>,
    /// Value of the appended column; 0 for none.
    pub constant: f64,
    /// Price of a unit of loss, for each row; rows that cost nothing do not count.
    pub cost: Vec<f64>,
    /// -1 or 1, or the number to predict.
    pub y: Vec<f64>,
}

pub struct Outcome {
    /// The appended column's weight last.
    pub w: Vec<f64>,
    pub passes: usize,
    /// What ended it, if not the bound.
    pub halt: Halt,
    /// Value of the primal.
    pub objective: f64,
    pub bound: Bound,
}

/// Violations that are too small to be told from rounding.
const LEAST: f64 = 1e-15;

impl Rows<'_> {
    fn dot(&self, i: usize, w: &[f64]) -> f64 {
        let p = self.x.cols();
        self.x.row(i).dot(&w[..p]) + self.constant * w[p]
    }

    fn add(&self, i: usize, a: f64, w: &mut [f64]) {
        let p = self.x.cols();
        self.x.row(i).add_to(a, &mut w[..p]);
        w[p] += a * self.constant;
    }

    fn norms(&self) -> Vec<f64> {
        self.x.iter().map(|row| row.norm2() + self.constant * self.constant).collect()
    }

    /// The sum of `coef_i x_i`, in 32 digits: what coordinate steps add up to, without their rounding.
    fn combined(&self, coef: impl Iterator<Item = (usize, f64)>) -> Vec<f64> {
        let p = self.x.cols();
        let mut w = vec![Dd::default(); p + 1];
        for (i, coef) in coef.filter(|(_, coef)| *coef != 0.0) {
            let coef = Dd::new(coef);
            self.x.row(i).for_each(|j, v| w[j] = w[j].add(coef.times(Dd::new(v))));
            w[p] = w[p].add(coef.times(Dd::new(self.constant)));
        }
        w.into_iter().map(Dd::value).collect()
    }

    /// w.x_i and how far rounding may have moved it.
    fn score(&self, i: usize, w: &[f64]) -> (f64, f64) {
        let p = self.x.cols();
        let mut size = (self.constant * w[p]).abs();
        self.x.row(i).for_each(|j, v| size += (v * w[j]).abs());
        (self.dot(i, w), 4.0 * f64::EPSILON * size)
    }

    fn counting(&self) -> Vec<usize> {
        (0..self.x.rows()).filter(|&i| self.cost[i] > 0.0).collect()
    }
}

/// Weights with their objective and its bound. The gap is a sum over the rows of terms that are convex in the score, so
/// each is largest at an end of its error.
fn proof(
    rows: &Rows,
    w: Vec<f64>,
    tol: f64,
    loss: impl Fn(usize, f64) -> f64,
    term: impl Fn(usize, f64) -> f64,
) -> (Vec<f64>, f64, Bound) {
    let (mut primal, mut gap) = (0.5 * w.iter().map(|w| w * w).sum::<f64>(), 0.0);
    for i in rows.counting() {
        let (score, error) = rows.score(i, &w);
        primal += rows.cost[i] * loss(i, score);
        gap += term(i, score - error).max(term(i, score + error));
    }
    (w, primal, Bound::new(gap, tol, primal, primal))
}

fn shuffle(rng: &mut Stream, order: &mut [usize]) {
    rng.shuffle(order);
}

pub fn classify(ctx: &Ctx, rows: &Rows, squared: bool, tol: f64, max_iter: usize, rng: &mut Stream) -> Result<Outcome> {
    let n = rows.x.rows();
    let mut w = vec![0.0; rows.x.cols() + 1];
    let mut alpha = vec![0.0; n];
    let ridge: Vec<f64> = rows.cost.iter().map(|c| if squared { 0.5 / c } else { 0.0 }).collect();
    let upper = |i: usize| if squared { f64::INFINITY } else { rows.cost[i] };
    let diagonal: Vec<f64> = rows.norms().iter().zip(&ridge).map(|(norm, ridge)| norm + ridge).collect();
    let all = rows.counting();
    let mut order = all.clone();
    let mut active = order.len();
    let (mut high, mut low) = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut halt, mut passes, mut strict) = (Halt::MaxIter, 0, tol);
    let prove = |alpha: &[f64]| {
        let w = rows.combined(all.iter().map(|&i| (i, alpha[i] * rows.y[i])));
        let loss = |i: usize, score: f64| {
            let slack = (1.0 - rows.y[i] * score).max(0.0);
            if squared { slack * slack } else { slack }
        };
        // Loss, its conjugate and alpha y score together, without differences of what is large.
        let term = |i: usize, score: f64| {
            let (slack, cost, alpha) = (1.0 - rows.y[i] * score, rows.cost[i], alpha[i]);
            match slack > 0.0 {
                true if squared => cost * (slack - ridge[i] * alpha).powi(2),
                true => slack * (cost - alpha),
                false => alpha * (0.5 * ridge[i] * alpha - slack),
            }
        };
        proof(rows, w, tol, loss, term)
    };
    let mut proven = None;
    while passes < max_iter {
        ctx.check()?;
        let (mut top, mut bottom) = (f64::NEG_INFINITY, f64::INFINITY);
        shuffle(rng, &mut order[..active]);
        let mut at = 0;
        while at < active {
            let i = order[at];
            let y = rows.y[i];
            let gradient = y * rows.dot(i, &w) - 1.0 + ridge[i] * alpha[i];
            let upper = upper(i);
            let projected = if alpha[i] == 0.0 {
                if gradient > high {
                    active -= 1;
                    order.swap(at, active);
                    continue;
                }
                gradient.min(0.0)
            } else if alpha[i] == upper {
                if gradient < low {
                    active -= 1;
                    order.swap(at, active);
                    continue;
                }
                gradient.max(0.0)
            } else {
                gradient
            };
            top = top.max(projected);
            bottom = bottom.min(projected);
            if projected.abs() > 1e-12 && diagonal[i] > 0.0 {
                let old = alpha[i];
                alpha[i] = (old - gradient / diagonal[i]).clamp(0.0, upper);
                rows.add(i, (alpha[i] - old) * y, &mut w);
            }
            at += 1;
        }
        passes += 1;
        if top - bottom <= strict {
            if active == all.len() {
                // No row violates the conditions by more; whether that is enough, the gap decides.
                let (fresh, primal, bound) = prove(&alpha);
                w = fresh;
                if bound.holds() || strict < LEAST {
                    (proven, halt) = (Some((primal, bound)), Halt::Rounding);
                    break;
                }
                strict *= 0.1;
            }
            // Converged on what was left: look at everything once more.
            active = all.len();
            (high, low) = (f64::INFINITY, f64::NEG_INFINITY);
            continue;
        }
        high = if top <= 0.0 { f64::INFINITY } else { top };
        low = if bottom >= 0.0 { f64::NEG_INFINITY } else { bottom };
    }
    let (objective, bound) = match proven {
        Some(proven) => proven,
        None => {
            let (fresh, objective, bound) = prove(&alpha);
            w = fresh;
            (objective, bound)
        }
    };
    Ok(Outcome { w, passes, halt, objective, bound })
}

pub fn regress(
    ctx: &Ctx,
    rows: &Rows,
    squared: bool,
    epsilon: f64,
    tol: f64,
    max_iter: usize,
    rng: &mut Stream,
) -> Result<Outcome> {
    let n = rows.x.rows();
    let mut w = vec![0.0; rows.x.cols() + 1];
    let mut beta = vec![0.0; n];
    let ridge: Vec<f64> = rows.cost.iter().map(|c| if squared { 0.5 / c } else { 0.0 }).collect();
    let norms = rows.norms();
    let all = rows.counting();
    let mut order = all.clone();
    let (mut halt, mut passes, mut first, mut strict) = (Halt::MaxIter, 0, None, tol);
    let prove = |beta: &[f64]| {
        let w = rows.combined(all.iter().map(|&i| (i, beta[i])));
        let loss = |i: usize, score: f64| {
            let slack = ((score - rows.y[i]).abs() - epsilon).max(0.0);
            if squared { slack * slack } else { slack }
        };
        // Loss, its conjugate and beta (score - y) together, without differences of what is large.
        let term = |i: usize, score: f64| {
            let (off, cost) = (score - rows.y[i], rows.cost[i]);
            // What pulls back to the tube is positive.
            let (slack, pull) = (off.abs() - epsilon, -beta[i] * off.signum());
            match slack > 0.0 && pull >= 0.0 {
                true if squared => cost * (slack - ridge[i] * pull).powi(2),
                true => slack * (cost - pull),
                false => {
                    let outside = slack.max(0.0);
                    let loss = cost * if squared { outside * outside } else { outside };
                    let within = if pull >= 0.0 { -slack * pull } else { -pull * (off.abs() + epsilon) };
                    loss + within + 0.5 * ridge[i] * pull * pull
                }
            }
        };
        proof(rows, w, tol, loss, term)
    };
    let mut proven = None;
    while passes < max_iter {
        ctx.check()?;
        shuffle(rng, &mut order);
        let mut violations = 0.0;
        for &i in &order {
            let curvature = norms[i] + ridge[i];
            if curvature <= 0.0 {
                continue;
            }
            let upper = if squared { f64::INFINITY } else { rows.cost[i] };
            let gradient = rows.dot(i, &w) - rows.y[i] + ridge[i] * beta[i];
            let (rising, falling) = (gradient + epsilon, gradient - epsilon);
            violations += if beta[i] == 0.0 {
                (-rising).max(falling).max(0.0)
            } else if beta[i] >= upper {
                rising.max(0.0)
            } else if beta[i] <= -upper {
                (-falling).max(0.0)
            } else if beta[i] > 0.0 {
                rising.abs()
            } else {
                falling.abs()
            };
            let step = if rising < curvature * beta[i] {
                -rising / curvature
            } else if falling > curvature * beta[i] {
                -falling / curvature
            } else {
                -beta[i]
            };
            if step.abs() > 1e-14 {
                let old = beta[i];
                beta[i] = (old + step).clamp(-upper, upper);
                rows.add(i, beta[i] - old, &mut w);
            }
        }
        passes += 1;
        let first = *first.get_or_insert(violations);
        if violations <= strict * first {
            let (fresh, primal, bound) = prove(&beta);
            w = fresh;
            if bound.holds() || strict < LEAST {
                (proven, halt) = (Some((primal, bound)), Halt::Rounding);
                break;
            }
            strict *= 0.1;
        }
    }
    let (objective, bound) = match proven {
        Some(proven) => proven,
        None => {
            let (fresh, objective, bound) = prove(&beta);
            w = fresh;
            (objective, bound)
        }
    };
    Ok(Outcome { w, passes, halt, objective, bound })
}

pub fn sparse_weights(ctx: &Ctx, rows: &Rows, tol: f64, max_iter: usize, rng: &mut Stream) -> Result<Outcome> {
    let (n, p) = (rows.x.rows(), rows.x.cols());
    // Columns of y_i x_i, the constant last.
    let mut columns: Vec<Vec<(u32, f64)>> = vec![Vec::new(); p + 1];
    for i in rows.counting() {
        rows.x.row(i).for_each(|j, v| {
            if v != 0.0 {
                columns[j].push((i as u32, v * rows.y[i]));
            }
        });
        if rows.constant != 0.0 {
            columns[p].push((i as u32, rows.constant * rows.y[i]));
        }
    }
    let mut w = vec![0.0; p + 1];
    // 1 - y_i w.x_i
    let mut slack = vec![1.0; n];
    let mut order: Vec<usize> = (0..=p).filter(|&j| !columns[j].is_empty()).collect();
    let (mut halt, mut passes, mut first, mut strict) = (Halt::MaxIter, 0, None, tol);
    let counting = rows.counting();
    // With v the least sub-gradient, objective - optimum <= v.(w - w*), and ||w*||_1 is at most the objective.
    let prove = |w: &[f64], slack: &[f64]| {
        let loss: f64 = counting.iter().map(|&i| rows.cost[i] * slack[i].max(0.0).powi(2)).sum();
        let objective = loss + w.iter().map(|w| w.abs()).sum::<f64>();
        let (mut along, mut most) = (0.0, 0.0f64);
        for j in 0..=p {
            let part = |&(i, v): &(u32, f64)| -2.0 * rows.cost[i as usize] * slack[i as usize].max(0.0) * v;
            let slope: f64 = columns[j].iter().map(part).sum();
            let v = if w[j] == 0.0 { (slope.abs() - 1.0).max(0.0) } else { slope + w[j].signum() };
            along += v * w[j];
            most = most.max(v.abs());
        }
        (objective, Bound::new(along + most * objective, tol, objective, objective))
    };
    let mut proven = None;
    while passes < max_iter {
        ctx.check()?;
        shuffle(rng, &mut order);
        let mut violations = 0.0;
        for &j in &order {
            let (mut slope, mut curvature, mut here) = (0.0, 0.0, 0.0);
            for &(i, v) in &columns[j] {
                let (s, c) = (slack[i as usize], rows.cost[i as usize]);
                if s > 0.0 {
                    slope -= 2.0 * c * s * v;
                    curvature += 2.0 * c * v * v;
                    here += c * s * s;
                }
            }
            let curvature = curvature.max(1e-12);
            violations += match w[j] {
                0.0 => (slope.abs() - 1.0).max(0.0),
                wj if wj > 0.0 => (slope + 1.0).abs(),
                _ => (slope - 1.0).abs(),
            };
            let step = if slope + 1.0 <= curvature * w[j] {
                -(slope + 1.0) / curvature
            } else if slope - 1.0 >= curvature * w[j] {
                -(slope - 1.0) / curvature
            } else {
                -w[j]
            };
            if step.abs() < 1e-14 {
                continue;
            }
            let promised = slope * step + (w[j] + step).abs() - w[j].abs();
            let mut length = 1.0;
            for _ in 0..30 {
                let there: f64 = columns[j]
                    .iter()
                    .map(|&(i, v)| {
                        let s = (slack[i as usize] - length * step * v).max(0.0);
                        rows.cost[i as usize] * s * s
                    })
                    .sum();
                if there - here + (w[j] + length * step).abs() - w[j].abs() <= 0.01 * length * promised + 1e-14 * here {
                    for &(i, v) in &columns[j] {
                        slack[i as usize] -= length * step * v;
                    }
                    w[j] += length * step;
                    break;
                }
                length *= 0.5;
            }
        }
        passes += 1;
        let first = *first.get_or_insert(violations);
        if violations <= strict * first {
            counting.iter().for_each(|&i| slack[i] = 1.0 - rows.y[i] * rows.dot(i, &w));
            let (primal, bound) = prove(&w, &slack);
            if bound.holds() || strict < LEAST {
                (proven, halt) = (Some((primal, bound)), Halt::Rounding);
                break;
            }
            strict *= 0.1;
        }
    }
    let (objective, bound) = proven.unwrap_or_else(|| prove(&w, &slack));
    Ok(Outcome { w, passes, halt, objective, bound })
}

/// Nanoseconds of a descent that goes on for a thousand passes if it may, as it often does. Rows are visited at random:
/// once they are many, each comes from main memory.
pub fn cost(shape: &Shape, max_iter: usize) -> f64 {
    let (n, p, _) = shape.sizes();
    let away = (n * p / 1e6).min(1.0);
    1000.0f64.min(max_iter as f64) * n * (30.0 + 1.5 * p + away * (150.0 + 2.5 * p))
}
