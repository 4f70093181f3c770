//! `z = (x - median) / (q_high - q_low)`: outliers do not move the scale. Quantiles interpolate between order
//! statistics without weights; with weights they are those of repeated rows. Columns are sorted in memory, in parallel.

use super::{
    affine::{AffineModel, Statistic},
    columns::column_values,
};
use crate::{
    Certificate, Ctx, Error, Estimator, Fit, FitLog, Info, Passes, Result, Source, Task, core::params, engine::quantile,
};

params! {
    /// Subtracts the median and divides by the range between two quantiles, which is robust to outliers.
    pub struct RobustScaler {
        /// Whether to subtract the median.
        with_centering: bool = true;
        /// Whether to divide by the quantile range.
        with_scaling: bool = true;
        /// Lower and upper quantile, in percent.
        quantile_range: Vec<f64> = vec![25.0, 75.0];
    }
}

impl Estimator for RobustScaler {
    type Model = AffineModel;

    const INFO: Info = Info {
        ..Info::new(
            "preprocessing",
            Task::Transformation,
            "z = (x - median(x)) / (q75(x) - q25(x))",
            Passes::Memory("quantiles need sorted columns"),
        )
    };

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<AffineModel>> {
        let (low, high) = match self.quantile_range[..] {
            [low, high] if 0.0 <= low && low < high && high <= 100.0 => (low / 100.0, high / 100.0),
            _ => {
                return Err(Error::Parameter {
                    model: "RobustScaler".into(),
                    name: "quantile_range".into(),
                    value: format!("{:?}", self.quantile_range),
                    allowed: "two percentages between 0 and 100, the lower one first".into(),
                });
            }
        };
        let batch = data.in_memory("RobustScaler", "quantiles need sorted columns")?;
        batch.x.check_finite(0)?;
        let cols = batch.x.cols();
        let of_column = |j: usize| -> Result<[f64; 3]> {
            ctx.check()?;
            let mut values = column_values(&batch.x, j);
            let quantiles = [low, 0.5, high];
            Ok(match batch.weights {
                Some(weights) => quantiles.map(|q| quantile::interpolated_weighted(&values, weights, q)),
                None => {
                    values.sort_unstable_by(f64::total_cmp);
                    quantiles.map(|q| quantile::interpolated(&values, q))
                }
            })
        };
        let found: Vec<[f64; 3]> = ctx.map(cols, of_column)?;
        let center: Vec<f64> = found.iter().map(|q| if self.with_centering { q[1] } else { 0.0 }).collect();
        let range = |q: &[f64; 3]| if q[2] - q[0] <= 10.0 * f64::MIN_POSITIVE { 1.0 } else { q[2] - q[0] };
        let scale: Vec<f64> = found.iter().map(|q| if self.with_scaling { range(q) } else { 1.0 }).collect();
        let found = vec![Statistic::Center.of(&center), Statistic::Scale.of(&scale)];
        Ok(Fit::new(AffineModel { center, scale, clip: None, found }, FitLog::exact(Certificate::None)))
    }
}
