//! Optimisers as citizens: each minimises any objective and returns its whole path, to look at and to learn from. The
//! quasi-Newton and Newton steps are those that the models run on.
//!
//! ```
//! use ermine::optim::{Method, Objective, Options, minimise};
//!
//! struct Bowl;
//! impl Objective for Bowl {
//!     fn evaluate(&self, w: &[f64], gradient: &mut [f64]) -> ermine::Result<f64> {
//!         (gradient[0], gradient[1]) = (w[0], 20.0 * w[1]);
//!         Ok(0.5 * (w[0] * w[0] + 20.0 * w[1] * w[1]))
//!     }
//! }
//! let path = minimise(&Bowl, vec![1.0, 1.0], Method::Nesterov { step: 0.05 }, &Options::default())?;
//! assert!(path.values.last().unwrap() < &1e-12);
//! # Ok::<(), ermine::Error>(())
//! ```

use crate::{
    Ctx, Halt, Result,
    core::simd::dot,
    engine::{lbfgs, newton::newton_step},
};
use std::cell::RefCell;

pub use lbfgs::Objective;

/// A function with second derivatives.
pub trait Curved: Objective {
    /// Lower triangle of the Hessian at `w`, row-major n x n.
    fn hessian(&self, w: &[f64], out: &mut [f64]) -> Result<()>;
}

/// A sum of many terms, for stochastic gradients.
pub trait Terms {
    fn count(&self) -> usize;
    /// The value of term `i` at `w`; adds its gradient to `gradient`.
    fn term(&self, i: usize, w: &[f64], gradient: &mut [f64]) -> Result<f64>;
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// w - step g
    GradientDescent { step: f64 },
    /// v = momentum v - step g, w + v (Polyak 1964)
    Momentum { step: f64, momentum: f64 },
    /// The gradient is taken ahead of the step, with the accelerated schedule (Nesterov 1983).
    Nesterov { step: f64 },
    /// w - step / sqrt(t) g / ||g||: converges for functions with kinks, keeping the best point.
    SubGradient { step: f64 },
    /// Quasi-Newton from the last ten steps, with a line search.
    Lbfgs,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    pub max_iter: usize,
    /// Halt when no component of the gradient is larger.
    pub tolerance: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options { max_iter: 1000, tolerance: 1e-8 }
    }
}

/// Every point, with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    pub points: Vec<Vec<f64>>,
    pub values: Vec<f64>,
    /// Largest component of the gradient at the last point.
    pub gradient: f64,
    pub stop: Halt,
}

impl Path {
    /// The point with the least value.
    pub fn best(&self) -> &[f64] {
        let least = (0..self.values.len()).min_by(|&a, &b| self.values[a].total_cmp(&self.values[b]));
        &self.points[least.unwrap_or(0)]
    }
}

/// From `start` by a first-order method.
pub fn minimise(objective: &dyn Objective, start: Vec<f64>, method: Method, options: &Options) -> Result<Path> {
    if method == Method::Lbfgs {
        return by_lbfgs(objective, start, options);
    }
    let n = start.len();
    let mut gradient = vec![0.0; n];
    let mut w = start;
    let mut before = w.clone();
    let mut velocity = vec![0.0; n];
    let value = objective.evaluate(&w, &mut gradient)?;
    let mut path =
        Path { points: vec![w.clone()], values: vec![value], gradient: lbfgs::largest(&gradient), stop: Halt::MaxIter };
    let mut speed: f64 = 1.0;
    for t in 1..=options.max_iter {
        if path.gradient <= options.tolerance {
            path.stop = Halt::Stationary;
            break;
        }
        match method {
            Method::GradientDescent { step } => w.iter_mut().zip(&gradient).for_each(|(w, g)| *w -= step * g),
            Method::Momentum { step, momentum } => {
                for j in 0..n {
                    velocity[j] = momentum * velocity[j] - step * gradient[j];
                    w[j] += velocity[j];
                }
            }
            Method::Nesterov { step } => {
                let next = 0.5 * (1.0 + (1.0 + 4.0 * speed * speed).sqrt());
                let ahead: Vec<f64> = (0..n).map(|j| w[j] + (speed - 1.0) / next * (w[j] - before[j])).collect();
                objective.evaluate(&ahead, &mut gradient)?;
                before.copy_from_slice(&w);
                (0..n).for_each(|j| w[j] = ahead[j] - step * gradient[j]);
                // Going up: start the schedule again (O'Donoghue and Candès 2015).
                let climbs = (0..n).map(|j| gradient[j] * (w[j] - before[j])).sum::<f64>() > 0.0;
                speed = if climbs { 1.0 } else { next };
            }
            Method::SubGradient { step } => {
                let length = dot(&gradient, &gradient).sqrt().max(f64::MIN_POSITIVE);
                let step = step / (t as f64).sqrt() / length;
                w.iter_mut().zip(&gradient).for_each(|(w, g)| *w -= step * g);
            }
            Method::Lbfgs => {}
        }
        let value = objective.evaluate(&w, &mut gradient)?;
        path.points.push(w.clone());
        path.values.push(value);
        path.gradient = lbfgs::largest(&gradient);
        if !value.is_finite() {
            path.stop = Halt::Rounding;
            break;
        }
    }
    if path.stop == Halt::MaxIter && path.gradient <= options.tolerance {
        path.stop = Halt::Stationary;
    }
    Ok(path)
}

fn by_lbfgs(objective: &dyn Objective, start: Vec<f64>, options: &Options) -> Result<Path> {
    /// Remembers where the function was last evaluated: the point that a step then accepts.
    struct Watched<'a> {
        objective: &'a dyn Objective,
        last: RefCell<Vec<f64>>,
    }
    impl Objective for Watched<'_> {
        fn evaluate(&self, w: &[f64], gradient: &mut [f64]) -> Result<f64> {
            *self.last.borrow_mut() = w.to_vec();
            self.objective.evaluate(w, gradient)
        }
    }
    let watched = Watched { objective, last: RefCell::new(start.clone()) };
    let points = RefCell::new(vec![start.clone()]);
    let metric = vec![1.0; start.len()];
    let step = |_, _| points.borrow_mut().push(watched.last.borrow().clone());
    let met = |_: &[f64], _: f64, gradient: &[f64]| lbfgs::largest(gradient) <= options.tolerance;
    let settings = lbfgs::Options { max_iter: options.max_iter, met: &met, metric: &metric, step: &step };
    let outcome = lbfgs::minimise(&watched, start, &settings)?;
    Ok(Path {
        points: points.into_inner(),
        values: outcome.path,
        gradient: lbfgs::largest(&outcome.gradient),
        stop: outcome.halt.unwrap_or(Halt::Stationary),
    })
}

/// Newton's method: steps that solve H d = -g, halved until the value falls.
pub fn newton(objective: &dyn Curved, start: Vec<f64>, options: &Options) -> Result<Path> {
    let n = start.len();
    let mut w = start;
    let mut gradient = vec![0.0; n];
    let mut hessian = vec![0.0; n * n];
    let mut value = objective.evaluate(&w, &mut gradient)?;
    let mut path =
        Path { points: vec![w.clone()], values: vec![value], gradient: lbfgs::largest(&gradient), stop: Halt::MaxIter };
    for _ in 0..options.max_iter {
        if path.gradient <= options.tolerance {
            path.stop = Halt::Stationary;
            break;
        }
        objective.hessian(&w, &mut hessian)?;
        let step = newton_step(&hessian, n, &gradient);
        let promised = -dot(&step, &gradient);
        let mut length = 1.0;
        loop {
            let moved: Vec<f64> = w.iter().zip(&step).map(|(w, d)| w + length * d).collect();
            let mut there = vec![0.0; n];
            let reached = objective.evaluate(&moved, &mut there)?;
            if reached <= value - 1e-4 * length * promised + 4.0 * f64::EPSILON * value.abs() {
                (w, gradient, value) = (moved, there, reached);
                break;
            }
            length *= 0.5;
            if length < 1e-12 {
                path.stop = Halt::Rounding;
                return Ok(path);
            }
        }
        path.points.push(w.clone());
        path.values.push(value);
        path.gradient = lbfgs::largest(&gradient);
    }
    if path.stop == Halt::MaxIter && path.gradient <= options.tolerance {
        path.stop = Halt::Stationary;
    }
    Ok(path)
}

/// Stochastic gradients: `passes` times over the terms in shuffled order with steps `step` / sqrt(pass). A point a
/// pass.
pub fn sgd(terms: &dyn Terms, start: Vec<f64>, step: f64, passes: usize, ctx: &Ctx) -> Result<Path> {
    let mut w = start;
    let mut order: Vec<usize> = (0..terms.count()).collect();
    let mut gradient = vec![0.0; w.len()];
    let mut path = Path { points: vec![w.clone()], values: Vec::new(), gradient: f64::NAN, stop: Halt::MaxIter };
    for pass in 0..passes {
        ctx.check()?;
        ctx.rng("optim", pass as u64).shuffle(&mut order);
        let eta = step / ((pass + 1) as f64).sqrt();
        let mut sum = 0.0;
        for &i in &order {
            gradient.fill(0.0);
            sum += terms.term(i, &w, &mut gradient)?;
            w.iter_mut().zip(&gradient).for_each(|(w, g)| *w -= eta * g);
        }
        path.values.push(sum / order.len().max(1) as f64);
        path.points.push(w.clone());
    }
    gradient.fill(0.0);
    let mut sum = 0.0;
    for i in 0..terms.count() {
        sum += terms.term(i, &w, &mut gradient)?;
    }
    path.values.push(sum / terms.count().max(1) as f64);
    path.gradient = lbfgs::largest(&gradient) / terms.count().max(1) as f64;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bowl of condition 20 with its minimum at (1, 1).
    struct Bowl;

    impl Objective for Bowl {
        fn evaluate(&self, w: &[f64], g: &mut [f64]) -> Result<f64> {
            let (a, b) = (w[0] - 1.0, w[1] - 1.0);
            (g[0], g[1]) = (a, 20.0 * b);
            Ok(0.5 * (a * a + 20.0 * b * b))
        }
    }

    impl Curved for Bowl {
        fn hessian(&self, _: &[f64], out: &mut [f64]) -> Result<()> {
            out.copy_from_slice(&[1.0, 0.0, 0.0, 20.0]);
            Ok(())
        }
    }

    #[test]
    fn every_method_finds_the_minimum_and_the_faster_ones_sooner() {
        let options = Options::default();
        let steps = |method| {
            let path = minimise(&Bowl, vec![-3.0, 2.0], method, &options).unwrap();
            assert_eq!(path.stop, Halt::Stationary, "{method:?}");
            assert!(path.best().iter().all(|w| (w - 1.0).abs() < 1e-7), "{method:?}");
            assert_eq!(path.points.len(), path.values.len());
            path.points.len()
        };
        let plain = steps(Method::GradientDescent { step: 0.05 });
        assert!(steps(Method::Momentum { step: 0.05, momentum: 0.6 }) < plain);
        assert!(steps(Method::Nesterov { step: 0.05 }) < plain);
        assert!(steps(Method::Lbfgs) < 20);
        let path = newton(&Bowl, vec![-3.0, 2.0], &options).unwrap();
        assert_eq!((path.points.len(), path.stop), (2, Halt::Stationary));
    }

    #[test]
    fn sub_gradients_reach_a_kink() {
        struct Kink;
        impl Objective for Kink {
            fn evaluate(&self, w: &[f64], g: &mut [f64]) -> Result<f64> {
                (g[0], g[1]) = ((w[0] - 1.0).signum(), 3.0 * w[1].signum());
                Ok((w[0] - 1.0).abs() + 3.0 * w[1].abs())
            }
        }
        let options = Options { max_iter: 5000, tolerance: 0.0 };
        let path = minimise(&Kink, vec![4.0, 2.0], Method::SubGradient { step: 1.0 }, &options).unwrap();
        let best = path.values.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(best < 0.1, "{best}");
    }

    #[test]
    fn stochastic_gradients_come_near() {
        struct Lines;
        impl Terms for Lines {
            fn count(&self) -> usize {
                50
            }
            fn term(&self, i: usize, w: &[f64], g: &mut [f64]) -> Result<f64> {
                let x = i as f64 / 25.0 - 1.0;
                let r = w[0] * x + w[1] - (2.0 * x + 0.5);
                (g[0], g[1]) = (g[0] + r * x, g[1] + r);
                Ok(0.5 * r * r)
            }
        }
        let path = sgd(&Lines, vec![0.0, 0.0], 0.3, 60, &Ctx::new(0)).unwrap();
        let end = path.points.last().unwrap();
        assert!((end[0] - 2.0).abs() < 1e-3 && (end[1] - 0.5).abs() < 1e-3, "{end:?}");
    }
}
