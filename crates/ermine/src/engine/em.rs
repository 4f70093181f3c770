//! Expectation maximisation (Dempster, Laird and Rubin 1977) as a small loop: a sum for the E step, a closed form for
//! the M step.
//!
//! A latent-variable model gives [`Em`]: `expect` is a [`Reduce`] whose statistic holds what the M step needs together
//! with the log-likelihood (or its lower bound) at the present parameters, and `maximise` turns the statistic into new
//! parameters. Each pass computes both at once, so that n passes cost n + 1 sums and the objective of each pass is
//! known. It never falls but for rounding; the log keeps the path and by how much it ever did.

use crate::{
    Ctx, FitLog, Halt, Matrix, Result, Source,
    core::{Reduce, ctx::Progress, reduce},
};

/// A model that EM can fit.
pub trait Em {
    type Params: Clone;
    type Expect: Reduce;

    /// The E step at `params`.
    fn expect(&self, params: &Self::Params) -> Result<Self::Expect>;

    /// Log-likelihood or lower bound that the statistic was summed at, a mean over the rows or a total: as `tol`
    /// measures it.
    fn bound(&self, params: &Self::Params, stat: &<Self::Expect as Reduce>::Stat) -> f64;

    /// What a pass shows of parameters with this bound.
    fn step(&self, _params: &Self::Params, _bound: f64, _data: &dyn Source) -> Vec<(&'static str, Matrix)> {
        Vec::new()
    }

    /// The M step; `Err` says what collapsed.
    fn maximise(&self, params: &Self::Params, stat: <Self::Expect as Reduce>::Stat) -> Result<Self::Params>;
}

/// How far to go.
pub struct Limits {
    pub what: &'static str,
    pub max_iter: usize,
    /// Least gain of the bound in one pass.
    pub tol: f64,
}

/// Parameters, with the bound at each pass; the last entry belongs to the parameters that are returned.
pub struct Outcome<P> {
    pub params: P,
    pub bound: f64,
    pub log: FitLog,
}

/// E and M steps until the bound gains less than `tol`.
pub fn run<M: Em>(
    model: &M,
    data: &dyn Source,
    ctx: &Ctx,
    limits: &Limits,
    start: M::Params,
) -> Result<Outcome<M::Params>> {
    let mut params = start;
    let mut path: Vec<f64> = Vec::new();
    let mut stop = Halt::MaxIter;
    while path.len() < limits.max_iter {
        ctx.check()?;
        let stat = reduce(ctx, data, &model.expect(&params)?)?;
        let bound = model.bound(&params, &stat);
        ctx.record("expect", || model.step(&params, bound, data));
        params = model.maximise(&params, stat)?;
        let gain = path.last().map_or(f64::INFINITY, |last| bound - last);
        path.push(bound);
        ctx.progress(Progress { what: limits.what, step: path.len(), of: Some(limits.max_iter), value: Some(bound) });
        if gain.abs() < limits.tol {
            stop = Halt::Settled;
            break;
        }
    }
    let passes = path.len();
    // The bound of the parameters that are returned.
    let last = reduce(ctx, data, &model.expect(&params)?)?;
    path.push(model.bound(&params, &last));
    let falling: Vec<f64> = path.iter().map(|bound| -bound).collect();
    let certificate = FitLog::monotone(&falling);
    let bound = path[path.len() - 1];
    // The objective is minimised: minus the bound.
    let log = FitLog::ended(passes, falling, stop, certificate);
    Ok(Outcome { params, bound, log })
}
