//! Limited-memory BFGS: minimises a smooth function f of many variables from values and gradients alone.
//!
//! The direction is -H g, with H built from the last ten steps by the two-loop recursion over a diagonal metric
//! (Nocedal 1980; Nocedal and Wright 2006, algorithm 7.4). The step satisfies the strong Wolfe conditions, found by
//! bracketing and cubic interpolation (Moré and Thuente 1994 in spirit). Cost: one or two evaluations and O(20 p) a
//! step.

use crate::{Halt, Result, core::simd::dot};
use std::collections::VecDeque;

/// What the solver sees of a problem.
pub trait Objective {
    /// The value at `w`; puts the gradient into `gradient`.
    fn evaluate(&self, w: &[f64], gradient: &mut [f64]) -> Result<f64>;
}

pub struct Options<'a> {
    pub max_iter: usize,
    /// Whether a point is good enough, from it, its value and its (least sub-)gradient.
    pub met: &'a dyn Fn(&[f64], f64, &[f64]) -> bool,
    /// Inverse curvature guess of each variable: what makes badly scaled columns harmless.
    pub metric: &'a [f64],
    /// Called after each step with its number and value.
    pub step: &'a dyn Fn(usize, f64),
}

pub struct Outcome {
    pub w: Vec<f64>,
    /// The (least sub-)gradient there.
    pub gradient: Vec<f64>,
    pub path: Vec<f64>,
    /// What ended it before the point was good enough, if anything.
    pub halt: Option<Halt>,
}

const MEMORY: usize = 10;

/// Steps in a row that may leave the value as it is.
const STILL: usize = 5;

pub fn minimise(objective: &dyn Objective, start: Vec<f64>, options: &Options) -> Result<Outcome> {
    let mut w = start;
    let mut gradient = vec![0.0; w.len()];
    let mut value = objective.evaluate(&w, &mut gradient)?;
    let mut path = vec![value];
    let mut steps: VecDeque<Step> = VecDeque::with_capacity(MEMORY);
    let (mut halt, mut still) = (Some(Halt::MaxIter), 0);
    for iteration in 0..options.max_iter {
        if (options.met)(&w, value, &gradient) {
            halt = None;
            break;
        }
        let mut direction = descent(&gradient, &steps, options.metric);
        let mut slope = dot(&direction, &gradient);
        if !(slope < 0.0) {
            // The memory misleads: forget it and go down the scaled gradient.
            steps.clear();
            direction = descent(&gradient, &steps, options.metric);
            slope = dot(&direction, &gradient);
        }
        let Some(found) = search(objective, &w, value, slope, &direction)? else {
            if steps.is_empty() {
                halt = Some(Halt::Rounding);
                break;
            }
            steps.clear();
            continue;
        };
        let change: Vec<f64> = direction.iter().map(|d| d * found.length).collect();
        let bend: Vec<f64> = found.gradient.iter().zip(&gradient).map(|(new, old)| new - old).collect();
        let curvature = dot(&change, &bend);
        if curvature > f64::EPSILON * dot(&bend, &bend).sqrt() * dot(&change, &change).sqrt() {
            if steps.len() == MEMORY {
                steps.pop_front();
            }
            steps.push_back(Step { change, bend, curvature });
        }
        // A value that keeps standing still is the floor of rounding.
        still = if found.value < value { 0 } else { still + 1 };
        (w, gradient, value) = (found.w, found.gradient, found.value);
        path.push(value);
        (options.step)(iteration + 1, value);
        if still == STILL {
            halt = Some(Halt::Rounding);
            break;
        }
    }
    if halt.is_some() && (options.met)(&w, value, &gradient) {
        halt = None;
    }
    Ok(Outcome { w, gradient, path, halt })
}

/// The minimum of f(w) + sum_j l1_j |w_j|, orthant-wise (Andrew and Gao 2007): the direction keeps to the orthant that
/// the least sub-gradient points into, and a coordinate that would cross zero stops there.
pub fn minimise_l1(objective: &dyn Objective, start: Vec<f64>, l1: &[f64], options: &Options) -> Result<Outcome> {
    let kinked = |w: &[f64]| w.iter().zip(l1).map(|(w, l1)| l1 * w.abs()).sum::<f64>();
    let n = start.len();
    let mut w = start;
    let mut gradient = vec![0.0; n];
    let mut value = objective.evaluate(&w, &mut gradient)? + kinked(&w);
    let mut path = vec![value];
    let mut steps: VecDeque<Step> = VecDeque::with_capacity(MEMORY);
    let mut halt = Some(Halt::MaxIter);
    let least = |w: &[f64], g: &[f64]| -> Vec<f64> {
        let one = |j: usize| match w[j] {
            0.0 if g[j] > l1[j] => g[j] - l1[j],
            0.0 if g[j] < -l1[j] => g[j] + l1[j],
            0.0 => 0.0,
            w => g[j] + l1[j] * w.signum(),
        };
        (0..w.len()).map(one).collect()
    };
    let mut pseudo = least(&w, &gradient);
    for iteration in 0..options.max_iter {
        if (options.met)(&w, value, &pseudo) {
            halt = None;
            break;
        }
        let mut direction = descent(&pseudo, &steps, options.metric);
        // Only where it agrees with going down.
        direction.iter_mut().zip(&pseudo).for_each(|(d, g)| {
            if *d * g >= 0.0 {
                *d = 0.0;
            }
        });
        let orthant: Vec<f64> =
            w.iter().zip(&pseudo).map(|(w, g)| if *w != 0.0 { w.signum() } else { -g.signum() }).collect();
        let mut length = 1.0;
        let mut found = None;
        for _ in 0..40 {
            let moved: Vec<f64> = (0..n)
                .map(|j| {
                    let to = w[j] + length * direction[j];
                    if l1[j] > 0.0 && to * orthant[j] < 0.0 { 0.0 } else { to }
                })
                .collect();
            let mut there = vec![0.0; n];
            let reached = objective.evaluate(&moved, &mut there)? + kinked(&moved);
            let promised: f64 = moved.iter().zip(&w).zip(&pseudo).map(|((new, old), g)| (new - old) * g).sum();
            if reached <= value + 1e-4 * promised + value.abs() * 2.0 * f64::EPSILON {
                found = Some((moved, there, reached));
                break;
            }
            length *= 0.5;
        }
        let Some((moved, there, reached)) = found else {
            if steps.is_empty() {
                halt = Some(Halt::Rounding);
                break;
            }
            steps.clear();
            continue;
        };
        let change: Vec<f64> = moved.iter().zip(&w).map(|(new, old)| new - old).collect();
        let bend: Vec<f64> = there.iter().zip(&gradient).map(|(new, old)| new - old).collect();
        let curvature = dot(&change, &bend);
        if curvature > f64::EPSILON * dot(&bend, &bend).sqrt() * dot(&change, &change).sqrt() {
            if steps.len() == MEMORY {
                steps.pop_front();
            }
            steps.push_back(Step { change, bend, curvature });
        }
        let next = least(&moved, &there);
        let stuck = reached >= value && largest(&next) >= largest(&pseudo);
        (w, gradient, value, pseudo) = (moved, there, reached, next);
        path.push(value);
        (options.step)(iteration + 1, value);
        if stuck {
            halt = Some(Halt::Rounding);
            break;
        }
    }
    if halt.is_some() && (options.met)(&w, value, &pseudo) {
        halt = None;
    }
    Ok(Outcome { w, gradient: pseudo, path, halt })
}

struct Step {
    change: Vec<f64>,
    bend: Vec<f64>,
    curvature: f64,
}

pub fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, value| value.abs().max(largest))
}

/// -H g by the two-loop recursion.
fn descent(gradient: &[f64], steps: &VecDeque<Step>, metric: &[f64]) -> Vec<f64> {
    let mut q: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut along = Vec::with_capacity(steps.len());
    for step in steps.iter().rev() {
        let a = dot(&step.change, &q) / step.curvature;
        q.iter_mut().zip(&step.bend).for_each(|(q, y)| *q -= a * y);
        along.push(a);
    }
    // The metric, at the length that the last step measured.
    let scale = steps.back().map_or(1.0, |last| {
        let weighted: f64 = last.bend.iter().zip(metric).map(|(y, m)| y * y * m).sum();
        last.curvature / weighted
    });
    q.iter_mut().zip(metric).for_each(|(q, m)| *q *= scale * m);
    for (step, a) in steps.iter().zip(along.into_iter().rev()) {
        let b = dot(&step.bend, &q) / step.curvature;
        q.iter_mut().zip(&step.change).for_each(|(q, s)| *q += (a - b) * s);
    }
    q
}

struct LinePoint {
    length: f64,
    w: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

/// A point along the direction with enough decrease and a flat enough slope; `None` when rounding allows none.
fn search(
    objective: &dyn Objective,
    w: &[f64],
    value: f64,
    slope: f64,
    direction: &[f64],
) -> Result<Option<LinePoint>> {
    const DECREASE: f64 = 1e-4;
    const FLATTER: f64 = 0.9;
    let noise = value.abs() * 4.0 * f64::EPSILON;
    let at = |length: f64| -> Result<(LinePoint, f64)> {
        let moved: Vec<f64> = w.iter().zip(direction).map(|(w, d)| w + length * d).collect();
        let mut gradient = vec![0.0; w.len()];
        let value = objective.evaluate(&moved, &mut gradient)?;
        let slope = dot(&gradient, direction);
        Ok((LinePoint { length, w: moved, value, gradient }, slope))
    };
    // (length, value, slope) at the two ends of the bracket; the upper end is open at first.
    let mut low = (0.0, value, slope);
    let mut high: Option<(f64, f64, f64)> = None;
    let mut length = 1.0;
    for _ in 0..40 {
        let (found, s) = at(length)?;
        let here = (length, found.value, s);
        let descends = found.value.is_finite() && found.value <= value + DECREASE * length * slope + noise;
        if !descends || found.value > low.1 + noise {
            high = Some(here);
        } else if s.abs() <= -FLATTER * slope {
            return Ok(Some(found));
        } else if s > 0.0 {
            high = Some(here);
        } else {
            low = here;
        }
        length = match high {
            None => 2.5 * length,
            Some(high) => between(low, high),
        };
        if let Some(high) = high
            && (high.0 - low.0).abs() <= 1e-14 * high.0.abs()
        {
            break;
        }
    }
    // The best bracketed point still counts when it goes down.
    if low.0 > 0.0 { Ok(Some(at(low.0)?.0)) } else { Ok(None) }
}

/// The minimum of the cubic through both ends, kept away from them; the middle when the cubic says nothing.
fn between(a: (f64, f64, f64), b: (f64, f64, f64)) -> f64 {
    let width = b.0 - a.0;
    let theta = 3.0 * (a.1 - b.1) / width + a.2 + b.2;
    let root = theta * theta - a.2 * b.2;
    let cubic = if root >= 0.0 && b.1.is_finite() {
        b.0 - width * (b.2 + root.sqrt() - theta) / (b.2 - a.2 + 2.0 * root.sqrt())
    } else {
        f64::NAN
    };
    let (near, far) = (a.0 + 0.1 * width, a.0 + 0.9 * width);
    if cubic.is_nan() { a.0 + 0.5 * width } else { cubic.clamp(near.min(far), near.max(far)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Rosenbrock;

    impl Objective for Rosenbrock {
        fn evaluate(&self, w: &[f64], g: &mut [f64]) -> Result<f64> {
            let (a, b) = (1.0 - w[0], w[1] - w[0] * w[0]);
            g[0] = -2.0 * a - 400.0 * w[0] * b;
            g[1] = 200.0 * b;
            Ok(a * a + 100.0 * b * b)
        }
    }

    #[test]
    fn follows_a_curved_valley_to_its_end() {
        let options =
            Options { max_iter: 200, met: &|_, _, g| largest(g) <= 1e-9, metric: &[1.0, 1.0], step: &|_, _| {} };
        let outcome = minimise(&Rosenbrock, vec![-1.2, 1.0], &options).unwrap();
        assert_eq!(outcome.halt, None);
        assert!((outcome.w[0] - 1.0).abs() < 1e-8 && (outcome.w[1] - 1.0).abs() < 1e-8);
        assert!(outcome.path.windows(2).all(|pair| pair[1] <= pair[0]));
    }

    #[test]
    fn the_metric_makes_scales_harmless() {
        struct Bowl;
        impl Objective for Bowl {
            fn evaluate(&self, w: &[f64], g: &mut [f64]) -> Result<f64> {
                let c = [1e8, 1.0, 1e-8];
                (0..3).for_each(|j| g[j] = c[j] * (w[j] - 1.0));
                Ok((0..3).map(|j| 0.5 * c[j] * (w[j] - 1.0) * (w[j] - 1.0)).sum())
            }
        }
        let metric = [1e-8, 1.0, 1e8];
        let options = Options { max_iter: 20, met: &|_, _, g| largest(g) <= 1e-12, metric: &metric, step: &|_, _| {} };
        let outcome = minimise(&Bowl, vec![0.0; 3], &options).unwrap();
        assert!(outcome.path.len() < 10 && outcome.w.iter().all(|w| (w - 1.0).abs() < 1e-3), "{:?}", outcome.w);
    }
}
