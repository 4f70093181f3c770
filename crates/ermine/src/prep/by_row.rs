//! Normalizer, Binarizer and LogTransformer: functions of one row, or of one value, with nothing to learn.

use super::stateless::{RowFunction, RowModel};
use crate::{
    Certificate, Ctx, Estimator, Fit, FitLog, Info, Passes, Result, Source, Task,
    core::{Batch, Reduce, choice, param::any, params, reduce},
};

choice! {
    /// Norm to divide each row by.
    pub enum RowNorm {
        /// Its sum of absolute values.
        L1 = "l1",
        /// Its length.
        L2 = "l2",
        /// Its largest absolute value.
        Max = "max",
    }
}

params! {
    /// Scales every row to unit norm.
    pub struct Normalizer {
        /// Norm to divide each row by.
        norm: RowNorm = RowNorm::L2;
    }
}

params! {
    /// Sets values above a threshold to 1 and the others to 0.
    pub struct Binarizer {
        /// Threshold.
        threshold: f64 = 0.0, any();
    }
}

params! {
    /// Logarithm for heavy tails: `sign(x) ln(1 + |x|)`, or `ln(1 + x)`, which needs values above -1.
    pub struct LogTransformer {
        /// Whether to mirror negative values; if false, values must be above -1.
        signed: bool = true;
    }
}

/// Looks at every row, so that bad values are refused when fitting and not later.
struct Finite;

impl Reduce for Finite {
    type Stat = ();
    fn zero(&self) {}
    fn add(&self, _: &mut (), batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)
    }
    fn merge(&self, _: &mut (), _: ()) {}
}

fn fit(what: RowFunction, data: &dyn Source, ctx: &Ctx) -> Result<Fit<RowModel>> {
    reduce(ctx, data, &Finite)?;
    Ok(Fit::new(RowModel { cols: data.shape().cols, what }, FitLog::exact(Certificate::None)))
}

impl Estimator for Normalizer {
    type Model = RowModel;
    const INFO: Info = Info::new("preprocessing", Task::Transformation, "z = x / ||x||", Passes::One);

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<RowModel>> {
        let what = match self.norm {
            RowNorm::L1 => RowFunction::L1,
            RowNorm::L2 => RowFunction::L2,
            RowNorm::Max => RowFunction::Max,
        };
        fit(what, data, ctx)
    }
}

impl Estimator for Binarizer {
    type Model = RowModel;
    const INFO: Info = Info::new("preprocessing", Task::Transformation, "z_j = 1[x_j > threshold]", Passes::One);

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<RowModel>> {
        fit(RowFunction::Above(self.threshold), data, ctx)
    }
}

impl Estimator for LogTransformer {
    type Model = RowModel;
    const INFO: Info = Info::new("preprocessing", Task::Transformation, "z = sign(x) ln(1 + |x|)", Passes::One);

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<RowModel>> {
        fit(if self.signed { RowFunction::SignedLog } else { RowFunction::Log }, data, ctx)
    }
}
