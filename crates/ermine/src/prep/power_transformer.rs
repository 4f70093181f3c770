//! A power of each column that makes it as normal as it can be, then mean 0 and variance 1.
//!
//! Yeo and Johnson (2000): `((x + 1)^l - 1) / l` for x >= 0 (ln(x + 1) at l = 0) and `-((1 - x)^(2 - l) - 1) / (2 - l)`
//! for x < 0 (-ln(1 - x) at l = 2). Box and Cox (1964), for x > 0: `(x^l - 1) / l`, ln x at l = 0. The exponent is that
//! of greatest likelihood, `- n/2 ln Var(t(x)) + sum ln t'(x)`, by golden section: a column at a time, columns in
//! parallel, in memory.

use super::columns::{column_values, fill};
use crate::{
    Array, Certificate, Ctx, Error, Estimator, Fit, FitLog, Info, Model, Output, Passes, Result, Source, Task, X,
    core::{choice, params},
};
use serde::{Deserialize, Serialize};

choice! {
    /// Family of power transforms.
    pub enum Family {
        /// Any numbers.
        YeoJohnson = "yeo-johnson",
        /// Numbers above 0.
        BoxCox = "box-cox",
    }
}

params! {
    /// Makes columns more normal by a fitted power transform.
    pub struct PowerTransformer {
        /// Family of power transforms.
        method: Family = Family::YeoJohnson;
        /// Whether to standardise the result to mean 0 and variance 1.
        standardize: bool = true;
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerModel {
    pub lambdas: Vec<f64>,
    pub mean: Vec<f64>,
    pub scale: Vec<f64>,
    pub family: Family,
}

impl Family {
    fn apply(self, x: f64, l: f64) -> f64 {
        // (e^(l ln u) - 1) / l, which is ln u at l = 0.
        let power = |log: f64, l: f64| if l.abs() < 1e-12 { log } else { (l * log).exp_m1() / l };
        match self {
            Family::BoxCox => power(x.ln(), l),
            Family::YeoJohnson if x >= 0.0 => power(x.ln_1p(), l),
            Family::YeoJohnson => -power((-x).ln_1p(), 2.0 - l),
        }
    }

    fn invert(self, z: f64, l: f64) -> f64 {
        let log = |z: f64, l: f64| if l.abs() < 1e-12 { z } else { (l * z).ln_1p() / l };
        match self {
            Family::BoxCox => log(z, l).exp(),
            Family::YeoJohnson if z >= 0.0 => log(z, l).exp_m1(),
            Family::YeoJohnson => -log(-z, 2.0 - l).exp_m1(),
        }
    }

    /// Logarithm of the derivative, but for the exponent: `(l - 1)` times this.
    fn slope(self, x: f64) -> f64 {
        match self {
            Family::BoxCox => x.ln(),
            Family::YeoJohnson => x.signum() * x.abs().ln_1p(),
        }
    }
}

fn moments(values: impl Iterator<Item = (f64, f64)> + Clone) -> (f64, f64) {
    let total: f64 = values.clone().map(|(_, weight)| weight).sum();
    let mean = values.clone().map(|(value, weight)| weight * value).sum::<f64>() / total;
    (mean, values.map(|(value, weight)| weight * (value - mean).powi(2)).sum::<f64>() / total)
}

impl Estimator for PowerTransformer {
    type Model = PowerModel;

    const INFO: Info = Info::new(
        "preprocessing",
        Task::Transformation,
        "max_l -n/2 ln Var(t_l(x)) + sum ln t_l'(x)",
        Passes::Memory("every step of the search looks at whole columns"),
    );

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<PowerModel>> {
        let batch = data.in_memory("PowerTransformer", "every step of the search looks at whole columns")?;
        batch.x.check_finite(0)?;
        let family = self.method;
        let of_column = |j: usize| -> Result<(f64, f64, f64)> {
            ctx.check()?;
            let values = column_values(&batch.x, j);
            if let Some(i) = values.iter().position(|x| family == Family::BoxCox && *x <= 0.0) {
                let problem = format!("Box-Cox needs positive numbers, but the value is {}", values[i]);
                return Err(Error::value(i, j, problem).hint("yeo-johnson takes any numbers"));
            }
            let counted = || (0..values.len()).map(|i| (values[i], batch.weight(i))).filter(|pair| pair.1 > 0.0);
            let total: f64 = counted().map(|pair| pair.1).sum();
            let slope: f64 = counted().map(|(x, weight)| weight * family.slope(x)).sum();
            let loss = |l: f64| {
                let (_, variance) = moments(counted().map(|(x, weight)| (family.apply(x, l), weight)));
                let loss = 0.5 * total * variance.ln() - (l - 1.0) * slope;
                if loss.is_finite() { loss } else { f64::INFINITY }
            };
            let (mean, variance) = moments(counted());
            let constant = variance.sqrt() <= 10.0 * f64::EPSILON * mean.abs() || variance == 0.0;
            let lambda = if constant { 1.0 } else { golden(loss) };
            let (mean, variance) = moments(counted().map(|(x, weight)| (family.apply(x, lambda), weight)));
            let scale = if constant || !(variance > 0.0) { 1.0 } else { variance.sqrt() };
            Ok(if self.standardize { (lambda, mean, scale) } else { (lambda, 0.0, 1.0) })
        };
        let found = ctx.map(batch.x.cols(), of_column)?;
        let model = PowerModel {
            lambdas: found.iter().map(|found| found.0).collect(),
            mean: found.iter().map(|found| found.1).collect(),
            scale: found.iter().map(|found| found.2).collect(),
            family,
        };
        Ok(Fit::new(model, FitLog::exact(Certificate::None)))
    }
}

/// The minimum of a function with one valley: a coarse look, then golden section.
fn golden(f: impl Fn(f64) -> f64) -> f64 {
    // Columns far from zero have their best exponent far out: widen while it lies at the edge.
    let (mut low, mut high) = (-8.0, 8.0);
    for width in [8.0, 32.0, 128.0, 512.0] {
        let at = |i: usize| width * (i as f64 / 16.0 - 1.0);
        let coarse: Vec<f64> = (0..=32).map(|i| f(at(i))).collect();
        let best = (0..=32).min_by(|&a, &b| coarse[a].total_cmp(&coarse[b])).unwrap_or(18);
        (low, high) = (at(best.saturating_sub(1)), at((best + 1).min(32)));
        if best != 0 && best != 32 {
            break;
        }
    }
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut a, mut b) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut fa, mut fb) = (f(a), f(b));
    // Values that near the minimum cannot be told apart; the parabola below does the rest.
    while high - low > 1e-5 * (1.0 + high.abs()) {
        if fa <= fb {
            (high, b, fb) = (b, a, fa);
            a = high - ratio * (high - low);
            fa = f(a);
        } else {
            (low, a, fa) = (a, b, fb);
            b = low + ratio * (high - low);
            fb = f(b);
        }
    }
    let (middle, step) = (0.5 * (low + high), 1e-4 * (1.0 + high.abs()));
    let (left, centre, right) = (f(middle - step), f(middle), f(middle + step));
    let bend = left - 2.0 * centre + right;
    if bend > 0.0 { middle + (0.5 * step * (left - right) / bend).clamp(-step, step) } else { middle }
}

impl Model for PowerModel {
    fn cols(&self) -> usize {
        self.lambdas.len()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Transform, self.lambdas.len()), (Output::Inverse, self.lambdas.len())]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        for (i, (row, out)) in x.iter().zip(out.chunks_exact_mut(self.lambdas.len())).enumerate() {
            fill(&row, out);
            for (j, x) in out.iter_mut().enumerate() {
                let (l, mean, scale) = (self.lambdas[j], self.mean[j], self.scale[j]);
                *x = if output == Output::Inverse {
                    self.family.invert(*x * scale + mean, l)
                } else if self.family == Family::BoxCox && *x <= 0.0 {
                    return Err(Error::value(i, j, format!("Box-Cox needs positive numbers, but the value is {x}")));
                } else {
                    (self.family.apply(*x, l) - mean) / scale
                };
            }
        }
        Ok(())
    }

    fn feature_names(&self, input: &[String]) -> Option<Vec<String>> {
        Some(input.to_vec())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![("lambdas_", (&self.lambdas).into())]
    }

    fn check(&self) -> Result<()> {
        let n = self.lambdas.len();
        if n > 0 && self.mean.len() == n && self.scale.len() == n {
            return Ok(());
        }
        Err(Error::Data("the stored powers are inconsistent".into()))
    }
}
