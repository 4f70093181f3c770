//! `z = low + (x - min) (high - low) / (max - min)`; a constant column goes to `low`. One sum over rows.

use super::{
    affine::{AffineModel, Statistic},
    extremes::{Extremes, extremes},
};
use crate::{
    Certificate, Ctx, Error, Estimator, Fit, FitLog, Info, Passes, Result, Source, Task,
    core::{params, reduce},
};

params! {
    /// Scales every column to a range, by default 0 to 1.
    pub struct MinMaxScaler {
        /// Lower and upper limit of the range.
        feature_range: Vec<f64> = vec![0.0, 1.0];
        /// Whether to clip new values to the range.
        clip: bool = false;
    }
}

impl Estimator for MinMaxScaler {
    type Model = AffineModel;

    const INFO: Info =
        Info::new("preprocessing", Task::Transformation, "z = (x - min(x)) / (max(x) - min(x))", Passes::One);

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<AffineModel>> {
        let (to_low, to_high) = match self.feature_range[..] {
            [low, high] if low < high => (low, high),
            _ => {
                return Err(Error::Parameter {
                    model: "MinMaxScaler".into(),
                    name: "feature_range".into(),
                    value: format!("{:?}", self.feature_range),
                    allowed: "two numbers, the lower one first".into(),
                });
            }
        };
        let cols = data.shape().cols;
        let (low, high) = extremes(reduce(ctx, data, &Extremes { cols })?);
        let range: Vec<f64> = (0..cols).map(|j| high[j] - low[j]).collect();
        // A range at rounding level is none.
        let width = |j: usize| if range[j] <= 10.0 * f64::MIN_POSITIVE { 1.0 } else { range[j] };
        let scale: Vec<f64> = (0..cols).map(|j| width(j) / (to_high - to_low)).collect();
        let center: Vec<f64> = (0..cols).map(|j| low[j] - to_low * scale[j]).collect();
        let multiplier: Vec<f64> = scale.iter().map(|scale| 1.0 / scale).collect();
        let min: Vec<f64> = (0..cols).map(|j| to_low - low[j] * multiplier[j]).collect();
        let found = vec![
            Statistic::Scale.of(&multiplier),
            Statistic::Min.of(&min),
            Statistic::DataMin.of(&low),
            Statistic::DataMax.of(&high),
            Statistic::DataRange.of(&range),
        ];
        let clip = self.clip.then_some((to_low, to_high));
        Ok(Fit::new(AffineModel { center, scale, clip, found }, FitLog::exact(Certificate::None)))
    }
}
