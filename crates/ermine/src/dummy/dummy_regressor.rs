//! One number for every row: `min_c sum_i w_i (y_i - c)^2`, the mean; or of the pinball loss, a quantile, such as the
//! median. The mean is one sum. A quantile is found among all values of the target, which the one pass brings together:
//! 8 bytes for each row, and O(n) by selection. With weights a row counts as often as its weight says.

use super::missing;
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Flexibility, Info, Matrix, Model, Output, Params, Passes, Result, Shape,
    Source, Task, X,
    core::{Batch, Reduce, TargetKind, choice, param::between, params, reduce, stats::Moments},
    engine::quantile,
};
use serde::{Deserialize, Serialize};

choice! {
    /// What is predicted.
    pub enum ValueRule {
        /// The mean of the target.
        Mean = "mean",
        /// The median of the target.
        Median = "median",
        /// The quantile of the target that is given.
        Quantile = "quantile",
        /// The number that is given.
        Constant = "constant",
    }
}

params! {
    /// A baseline that predicts one number for every row. What a model is worth is what it adds.
    pub struct DummyRegressor {
        /// What is predicted: the mean, the median or another quantile of the target, or a number that is given.
        strategy: ValueRule = ValueRule::Mean;
        /// What strategy=constant predicts: a number for each target.
        constant: Option<Vec<f64>> = None;
        /// Which quantile strategy=quantile predicts.
        quantile: Option<f64> = None, between(0.0, 1.0);
    }
}

impl Estimator for DummyRegressor {
    type Model = DummyModel;

    const INFO: Info = Info {
        missing: true,
        categories: true,
        multi_target: true,
        target_units: &["constant"],
        flexibility: Flexibility::Constant,
        ..Info::new("dummy", Task::Regression, "min_c sum_i (y_i - c)^2, c the same for every row", Passes::One)
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, _, targets) = shape.sizes();
        let each = if matches!(self.strategy, ValueRule::Median | ValueRule::Quantile) { 15.0 } else { 1.5 };
        1e-9 * (2e4 + each * n * targets)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<DummyModel>> {
        let shape = data.shape();
        let TargetKind::Real(targets) = shape.target else {
            return Err(Error::Data(format!("{} needs a target of numbers", Self::NAME)));
        };
        let mut log = FitLog::default();
        let quantiles = |q: f64| -> Result<(Vec<f64>, f64)> { Ok(reduce(ctx, data, &All { targets })?.quantiles(q)) };
        let value = match (self.strategy, self.quantile, &self.constant) {
            (ValueRule::Mean, ..) => {
                let moments = reduce(ctx, data, &Mean { targets })?;
                log.objective = vec![moments.scatter.iter().sum()];
                moments.mean
            }
            (ValueRule::Median, ..) | (ValueRule::Quantile, Some(_), _) => {
                let q = if self.strategy == ValueRule::Median { 0.5 } else { self.quantile.unwrap_or(0.5) };
                let (value, loss) = quantiles(q)?;
                log.objective = vec![loss];
                value
            }
            (ValueRule::Quantile, None, _) => {
                return Err(missing::<Self>("quantile", "quantile", "a number in [0, 1]".into()));
            }
            (ValueRule::Constant, _, Some(constant)) if constant.len() == targets => constant.clone(),
            (ValueRule::Constant, _, None) => {
                return Err(missing::<Self>("constant", "constant", "a number for each target".into()));
            }
            (ValueRule::Constant, _, Some(constant)) => {
                return Err(Error::Parameter {
                    model: Self::NAME.into(),
                    name: "constant".into(),
                    value: format!("{constant:?}"),
                    allowed: format!("{targets} numbers, one for each target"),
                });
            }
        };
        Ok(Fit::new(DummyModel { cols: shape.cols, value }, log))
    }
}

/// Mean and squares about it, of each target.
struct Mean {
    targets: usize,
}

impl Reduce for Mean {
    type Stat = Moments;

    fn zero(&self) -> Moments {
        Moments::new(self.targets)
    }

    fn add(&self, stat: &mut Moments, batch: &Batch) -> Result<()> {
        stat.add(&X::dense(batch.y.real(), self.targets)?, batch.weights);
        Ok(())
    }

    fn merge(&self, left: &mut Moments, right: Moments) {
        left.merge(right);
    }
}

/// All targets, row by row.
struct All {
    targets: usize,
}

#[derive(Serialize, Deserialize)]
struct Values {
    targets: usize,
    values: Vec<f64>,
    /// Empty where all rows count alike.
    weights: Vec<f64>,
}

impl Reduce for All {
    type Stat = Values;

    fn zero(&self) -> Values {
        Values { targets: self.targets, values: Vec::new(), weights: Vec::new() }
    }

    fn add(&self, stat: &mut Values, batch: &Batch) -> Result<()> {
        stat.values.extend_from_slice(batch.y.real());
        stat.weights.extend_from_slice(batch.weights.unwrap_or(&[]));
        Ok(())
    }

    fn merge(&self, left: &mut Values, right: Values) {
        left.values.extend(right.values);
        left.weights.extend(right.weights);
    }
}

impl Values {
    /// The quantile of each target, and the sum of their losses `max(q r, (q - 1) r)`.
    fn quantiles(&self, q: f64) -> (Vec<f64>, f64) {
        let (mut found, mut loss) = (Vec::new(), 0.0);
        for target in 0..self.targets {
            let mut values: Vec<f64> = self.values.iter().skip(target).step_by(self.targets).copied().collect();
            let value = if self.weights.is_empty() {
                quantile::selected(&mut values, q)
            } else {
                quantile::interpolated_weighted(&values, &self.weights, q)
            };
            let targets = self.values.iter().skip(target).step_by(self.targets);
            for (i, y) in targets.enumerate() {
                let residual = y - value;
                loss += self.weights.get(i).unwrap_or(&1.0) * (q * residual).max((q - 1.0) * residual);
            }
            found.push(value);
        }
        (found, loss)
    }
}

/// A number for each target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DummyModel {
    cols: usize,
    pub value: Vec<f64>,
}

impl Model for DummyModel {
    fn cols(&self) -> usize {
        self.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Value, self.value.len())]
    }

    fn predict(&self, _: &X, _: Output, out: &mut [f64]) -> Result<()> {
        out.chunks_exact_mut(self.value.len()).for_each(|out| out.copy_from_slice(&self.value));
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![("constant_", (&Matrix::from_fn(1, self.value.len(), |_, target| self.value[target])).into())]
    }

    fn check(&self) -> Result<()> {
        if self.cols == 0 || self.value.is_empty() || self.value.iter().any(|value| !value.is_finite()) {
            return Err(Error::shape("stored numbers", "finite numbers", format!("{:?}", self.value)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Data;

    /// No other number has a smaller loss, and weights are rows that are there more than once.
    #[test]
    fn is_optimal_and_weights_repeat_rows() {
        let mut rng = Ctx::new(3).rng("rows", 0);
        for case in 0..40 {
            let n = 1 + rng.below(20);
            let y: Vec<f64> = (0..2 * n).map(|_| (4.0 * rng.normal()).round()).collect();
            let weights: Vec<f64> = (0..n).map(|i| if i == 0 { 2.0 } else { rng.below(3) as f64 }).collect();
            let rows: Vec<usize> = (0..n).flat_map(|i| std::iter::repeat_n(i, weights[i] as usize)).collect();
            let repeated: Vec<f64> = rows.iter().flat_map(|&i| [y[2 * i], y[2 * i + 1]]).collect();
            let x = vec![0.0; n.max(rows.len())];
            let q = [0.1, 0.5, 0.75][case % 3];
            for strategy in [ValueRule::Mean, ValueRule::Median, ValueRule::Quantile] {
                let params = DummyRegressor { strategy, quantile: Some(q), constant: None };
                let q = if strategy == ValueRule::Median { 0.5 } else { q };
                let of = |y: &[f64], weights: Option<&[f64]>| {
                    let data = Data::new(X::dense(&x[..y.len() / 2], 1).unwrap()).reals(y, 2).unwrap();
                    let data = weights.map_or(Ok(data.clone()), |weights| data.clone().weights(weights)).unwrap();
                    params.fit(&data, &Ctx::new(0)).unwrap()
                };
                let (weighted, plain) = (of(&y, Some(&weights)), of(&repeated, None));
                for (a, b) in weighted.model.value.iter().zip(&plain.model.value) {
                    assert!((a - b).abs() < 1e-12, "{strategy:?}: {a} and {b}");
                }
                let loss = |value: &[f64]| -> f64 {
                    let each = |(at, y): (usize, &f64)| {
                        let residual = y - value[at % 2];
                        match strategy {
                            ValueRule::Mean => residual * residual,
                            _ => (q * residual).max((q - 1.0) * residual),
                        }
                    };
                    repeated.iter().enumerate().map(each).sum()
                };
                let best = loss(&plain.model.value);
                assert!((plain.log.objective[0] - best).abs() < 1e-9 * best.max(1.0));
                // A quantile between two values is as good as both only where the loss is flat between them.
                let flat = strategy != ValueRule::Quantile;
                for step in [-1.0, -0.1, 0.1, 1.0] {
                    let moved: Vec<f64> = plain.model.value.iter().map(|value| value + step).collect();
                    assert!(!flat || loss(&moved) >= best - 1e-9, "{strategy:?}: {moved:?} is better");
                }
            }
        }
    }

    #[test]
    fn a_strategy_needs_its_parameter() {
        let data = Data::new(X::dense(&[1.0, 2.0], 1).unwrap()).real(vec![3.0, 5.0]).unwrap();
        let error = |strategy, constant| {
            let params = DummyRegressor { strategy, constant, quantile: None };
            params.fit(&data, &Ctx::new(0)).err().unwrap().to_string()
        };
        assert!(error(ValueRule::Quantile, None).contains("quantile is none"));
        assert!(error(ValueRule::Constant, None).contains("constant is none"));
        assert!(error(ValueRule::Constant, Some(vec![1.0, 2.0])).contains("1 numbers"));
    }
}
