//! `z = x / max |x|`: zero stays zero, so sparse rows stay sparse. One sum over rows.

use super::{
    affine::{AffineModel, Statistic},
    extremes::{Extremes, extremes},
};
use crate::{
    Certificate, Ctx, Estimator, Fit, FitLog, Info, Passes, Result, Source, Task,
    core::{params, reduce},
};

params! {
    /// Scales every column by its largest absolute value.
    pub struct MaxAbsScaler {
        /// Whether to clip new values to the range -1 to 1.
        clip: bool = false;
    }
}

impl Estimator for MaxAbsScaler {
    type Model = AffineModel;

    const INFO: Info = Info::new("preprocessing", Task::Transformation, "z = x / max |x|", Passes::One);

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<AffineModel>> {
        let cols = data.shape().cols;
        let (low, high) = extremes(reduce(ctx, data, &Extremes { cols })?);
        let largest: Vec<f64> = low.iter().zip(&high).map(|(low, high)| low.abs().max(high.abs())).collect();
        let scale: Vec<f64> = largest.iter().map(|&largest| if largest == 0.0 { 1.0 } else { largest }).collect();
        let found = vec![Statistic::Scale.of(&scale), Statistic::MaxAbs.of(&largest)];
        let clip = self.clip.then_some((-1.0, 1.0));
        let model = AffineModel { center: vec![0.0; cols], scale, clip, found };
        Ok(Fit::new(model, FitLog::exact(Certificate::None)))
    }
}
