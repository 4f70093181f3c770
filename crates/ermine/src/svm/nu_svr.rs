//! Support vector regression with nu in place of epsilon:
//! `min_{w,b,eps} 1/2 ||w||^2 + C (nu n eps + sum_i w_i max(0, |y_i - w.phi(x_i) - b| - eps))`.
//!
//! The tube is as wide as leaves a share of at most nu of the rows outside (Schölkopf et al. 2000). One more constraint
//! than SVR, which becomes a second group of variables for the same solver.

use super::{
    SupportRegressor,
    support::{AS_FAR_AS_TOL, Common, WHY_MEMORY, cost},
    svr::fit_tube,
};
use crate::{
    Ctx, Estimator, Fit, Flexibility, Info, Passes, Result, Shape, Source, Task,
    core::{
        model::Property,
        param::{above, above_to, any, at_least, linear, log},
        params,
    },
    engine::{
        kernel::{Gamma, Kernel},
        smo,
    },
};

params! {
    /// Support vector regression with a parameter `nu` that bounds the fraction of rows outside the tube.
    pub struct NuSVR {
        /// Upper bound on the fraction of rows outside the tube and lower bound on the fraction of support vectors.
        nu: f64 = 0.5, above_to(0.0, 1.0), linear(0.05, 0.95);
        /// Inverse regularisation strength: cost of an error above epsilon.
        C: f64 = 1.0, above(0.0), log(1e-3, 1e3);
        /// A kernel such as rbf, or sums and products of kernels: 0.5*rbf(gamma=0.1) + poly(degree=2)[0,3].
        kernel: Kernel = Kernel::Rbf { gamma: None };
        /// Degree of the poly kernel, where the kernel does not set its own.
        degree: usize = 3, at_least(0.0);
        /// Kernel coefficient, where the kernel does not set its own.
        gamma: Gamma = Gamma::Scale, at_least(0.0), log(1e-4, 1e1);
        /// Constant term of the poly and sigmoid kernels, where the kernel does not set its own.
        coef0: f64 = 0.0, any();
        /// Accepted for scikit-learn compatibility; ignored, because the solver has no use for shrinking.
        shrinking: bool = true;
        /// Stop when no pair of rows violates the optimality conditions by more than this.
        tol: f64 = 1e-3, above(0.0);
        /// Size of the kernel cache in megabytes.
        cache_size: f64 = 200.0, above(0.0);
        /// Maximum number of steps; -1 for no limit.
        max_iter: i64 = -1, at_least(-1.0);
    }
}

impl Estimator for NuSVR {
    type Model = SupportRegressor;

    const INFO: Info = Info {
        scale: true,
        exceptions: &[(Property::WeightIsRepetition, AS_FAR_AS_TOL)],
        target_units: &["C"],
        flexibility: Flexibility::Kernel,
        not_compared: Some("SVR has the same solutions"),
        ..Info::new(
            "svm",
            Task::Regression,
            "min_{w,b,eps} ||w||^2 / 2 + C (nu n eps + sum_i max(0, |y_i - w.phi(x_i) - b| - eps))",
            Passes::Memory(WHY_MEMORY),
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * cost(shape, 2.5)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<SupportRegressor>> {
        let common = Common {
            name: "NuSVR",
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
            // What each side has to spend; the first rows take it.
            let mut left = 0.5 * self.nu * (0..n).map(cost).sum::<f64>();
            let start: Vec<f64> = (0..n)
                .map(|at| {
                    let share = cost(at).min(left);
                    left -= share;
                    share
                })
                .collect();
            smo::Problem {
                rows: (0..n as u32).chain(0..n as u32).collect(),
                c: y.iter().chain(y).map(|y| -y).collect(),
                lo: std::iter::repeat_n(0.0, n).chain((0..n).map(|at| -cost(at))).collect(),
                hi: (0..n).map(cost).chain(std::iter::repeat_n(0.0, n)).collect(),
                group: std::iter::repeat_n(0, n).chain(std::iter::repeat_n(1, n)).collect(),
                b: start.iter().copied().chain(start.iter().map(|b| -b)).collect(),
            }
        })
    }
}
