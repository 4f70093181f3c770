//! `z = (x - mean) / sd` for every column, with the population variance `sum w (x - mean)^2 / sum w`; a constant column
//! is only moved. One sum over rows; sparse rows become dense where the mean is taken off.

use super::affine::{AffineModel, Statistic};
use crate::{
    Certificate, Ctx, Estimator, Fit, FitLog, Info, Passes, Result, Source, Task,
    core::{params, reduce, stats::ColumnMoments},
};

params! {
    /// Standardises every column to mean 0 and standard deviation 1.
    pub struct StandardScaler {
        /// Whether to subtract the mean.
        with_mean: bool = true;
        /// Whether to divide by the standard deviation.
        with_std: bool = true;
    }
}

impl Estimator for StandardScaler {
    type Model = AffineModel;

    const INFO: Info = Info::new("preprocessing", Task::Transformation, "z = (x - mean(x)) / sd(x)", Passes::One);

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<AffineModel>> {
        let cols = data.shape().cols;
        let moments = reduce(ctx, data, &ColumnMoments { cols })?;
        let scale = (0..cols).map(|j| if self.with_std { moments.scale(j) } else { 1.0 }).collect();
        let variance: Vec<f64> = (0..cols).map(|j| moments.variance(j)).collect();
        let center = if self.with_mean { moments.mean.clone() } else { vec![0.0; cols] };
        let mut model = AffineModel { center, scale, clip: None, found: vec![Statistic::Mean.of(&moments.mean)] };
        if self.with_std {
            model.found.extend([Statistic::Variance.of(&variance), Statistic::Scale.of(&model.scale)]);
        }
        Ok(Fit::new(model, FitLog::exact(Certificate::None)))
    }
}
