//! Support vector regression: `min_{w,b} 1/2 ||w||^2 + C sum_i w_i max(0, |y_i - w.phi(x_i) - b| - epsilon)`, the
//! intercept free.
//!
//! Rows inside the tube of width epsilon cost nothing and drop out; the others are support vectors (Drucker et al.
//! 1997). Solved in the dual by block SMO, with two variables for each row: one pulls up, one pulls down.

use super::{
    Expansion,
    expansion::offset,
    support::{AS_FAR_AS_TOL, Common, WHY_MEMORY, cost, story},
};
use crate::{
    Array, Ctx, Error, Estimator, Fit, Flexibility, Info, Matrix, Model, Output, Passes, Result, Shape, Source, Task,
    X,
    core::{
        Batch,
        model::Property,
        param::{above, any, at_least, log},
        params,
    },
    engine::{
        gram::Gram,
        kernel::{Gamma, Kernel},
        smo,
    },
};
use serde::{Deserialize, Serialize};

params! {
    /// Support vector regression: errors below epsilon cost nothing, in the feature space of a kernel.
    pub struct SVR {
        /// A kernel such as rbf, or sums and products of kernels: 0.5*rbf(gamma=0.1) + poly(degree=2)[0,3].
        kernel: Kernel = Kernel::Rbf { gamma: None };
        /// Degree of the poly kernel, where the kernel does not set its own.
        degree: usize = 3, at_least(0.0);
        /// Kernel coefficient, where the kernel does not set its own.
        gamma: Gamma = Gamma::Scale, at_least(0.0), log(1e-4, 1e1);
        /// Constant term of the poly and sigmoid kernels, where the kernel does not set its own.
        coef0: f64 = 0.0, any();
        /// Stop when no pair of rows violates the optimality conditions by more than this.
        tol: f64 = 1e-3, above(0.0);
        /// Inverse regularisation strength: cost of an error above epsilon.
        C: f64 = 1.0, above(0.0), log(1e-3, 1e3);
        /// Errors below this cost nothing.
        epsilon: f64 = 0.1, at_least(0.0), log(1e-3, 1e0);
        /// Accepted for scikit-learn compatibility; ignored, because the solver has no use for shrinking.
        shrinking: bool = true;
        /// Size of the kernel cache in megabytes.
        cache_size: f64 = 200.0, above(0.0);
        /// Maximum number of steps; -1 for no limit.
        max_iter: i64 = -1, at_least(-1.0);
    }
}

impl Estimator for SVR {
    type Model = SupportRegressor;

    const INFO: Info = Info {
        scale: true,
        exceptions: &[(Property::WeightIsRepetition, AS_FAR_AS_TOL)],
        target_units: &["C", "epsilon"],
        flexibility: Flexibility::Kernel,
        ..Info::new(
            "svm",
            Task::Regression,
            "min_{w,b} ||w||^2 / 2 + C sum_i max(0, |y_i - w.phi(x_i) - b| - epsilon)",
            Passes::Memory(WHY_MEMORY),
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * cost(shape, 2.5)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<SupportRegressor>> {
        let common = Common {
            name: "SVR",
            kernel: &self.kernel,
            gamma: self.gamma,
            degree: self.degree,
            coef0: self.coef0,
            tol: self.tol,
            cache_size: self.cache_size,
            max_iter: self.max_iter,
        };
        fit_tube(&common, data, ctx, |batch, rows, y| {
            let n = rows.len();
            let cost = |at: usize| self.C * batch.weight(rows[at]);
            smo::Problem {
                rows: (0..n as u32).chain(0..n as u32).collect(),
                c: y.iter().map(|y| self.epsilon - y).chain(y.iter().map(|y| -self.epsilon - y)).collect(),
                lo: std::iter::repeat_n(0.0, n).chain((0..n).map(|at| -cost(at))).collect(),
                hi: (0..n).map(cost).chain(std::iter::repeat_n(0.0, n)).collect(),
                group: vec![0; 2 * n],
                b: vec![0.0; 2 * n],
            }
        })
    }
}

/// What SVR and NuSVR share: the problem has a rising and a falling variable for each row that counts. It is given the
/// targets of these rows about their mean, which the intercept takes up.
pub fn fit_tube(
    common: &Common,
    data: &dyn Source,
    ctx: &Ctx,
    problem: impl Fn(&Batch, &[usize], &[f64]) -> smo::Problem,
) -> Result<Fit<SupportRegressor>> {
    let batch = common.batch(data, ctx)?;
    let (kernel, notes) = common.resolve(&batch)?;
    let rows: Vec<usize> = (0..batch.rows()).filter(|&i| batch.weight(i) > 0.0).collect();
    let centre = kernel.centre(&batch.x, &rows);
    let points = kernel.points_about(&batch.x, rows.iter().copied(), &centre);
    let y: Vec<f64> = rows.iter().map(|&row| batch.y.real()[row]).collect();
    let mean = y.iter().map(|y| y / rows.len() as f64).sum::<f64>();
    let y: Vec<f64> = y.iter().map(|y| y - mean).collect();
    let ids: &[usize] = if kernel.is_precomputed() { &rows } else { &[] };
    let mut gram = Gram::new(&kernel, &points, ids, common.bytes()).about(&centre);
    let problem = problem(&batch, &rows, &y);
    let groups = problem.group.iter().any(|&group| group > 0);
    let solution = smo::solve(ctx, common.name, &mut gram, problem, common.tol, common.max_steps(rows.len()))?;
    let n = rows.len();
    let coef: Vec<f64> = (0..n).map(|at| solution.b[at] + solution.b[at + n]).collect();
    let level = if groups { 0.5 * (solution.level[0] + solution.level[1]) } else { solution.level[0] };
    let intercept = mean - level - offset(&batch.x, &rows, &coef, &centre);
    let used: Vec<usize> = (0..n).filter(|&at| coef[at] != 0.0).collect();
    let coef = Matrix::new(used.iter().map(|&at| coef[at]).collect(), used.len(), 1);
    let ids = used.iter().map(|&at| rows[at]).collect();
    let mut log = story(&[&solution], common.tol, notes.is_empty());
    log.notes.extend(notes);
    log.notes.push(format!("{} support vectors of {} rows", used.len(), batch.rows()));
    let expansion = Expansion::new(kernel, &batch.x, ids, coef, vec![intercept]);
    Ok(Fit::new(SupportRegressor { expansion }, log))
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SupportRegressor {
    pub expansion: Expansion,
}

impl Model for SupportRegressor {
    fn cols(&self) -> usize {
        self.expansion.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Value, 1)]
    }

    fn predict(&self, x: &X, _: Output, out: &mut [f64]) -> Result<()> {
        self.expansion.scores(x, out);
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        machine_attributes(&self.expansion)
    }

    fn check(&self) -> Result<()> {
        self.expansion.check()?;
        if self.expansion.outputs() == 1 {
            Ok(())
        } else {
            Err(Error::Data("the stored machine has several outputs".into()))
        }
    }
}

/// Attributes of a single machine.
pub fn machine_attributes(expansion: &Expansion) -> Vec<(&'static str, Array)> {
    let mut attributes = expansion.support();
    attributes.push(("n_support_", vec![expansion.ids.len() as i64].into()));
    attributes.push(("dual_coef_", (&expansion.coef.transposed()).into()));
    attributes.push(("intercept_", (&expansion.intercept).into()));
    attributes.extend(expansion.linear().map(|w| ("coef_", (&w).into())));
    attributes
}
