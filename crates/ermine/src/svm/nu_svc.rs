//! Support vector classification with nu in place of C: for each pair of classes
//! `min_{w,b,rho} 1/2 ||w||^2 - nu rho + 1/n sum_i max(0, rho - y_i (w.phi(x_i) + b))`.
//!
//! nu bounds the share of margin errors from above and that of support vectors from below (Schölkopf et al. 2000). The
//! dual has one more constraint than SVC's, which becomes a second group of variables for the same solver.

use super::support::cost;
use super::support::{
    AS_FAR_AS_TOL, Common, DecisionShape, Machine, SupportClassifier, Task as Pair, WHY_MEMORY, fit_pairs,
};
use crate::{
    Ctx, Error, Estimator, Fit, Flexibility, Info, Passes, Result, Shape, Source, Task,
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
    /// Support vector classification with a parameter `nu` that bounds the fraction of margin errors.
    pub struct NuSVC {
        /// Upper bound on the fraction of margin errors and lower bound on the fraction of support vectors.
        nu: f64 = 0.5, above_to(0.0, 1.0), linear(0.05, 0.8);
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
        /// Whether to fit probability estimates, which takes five more fits.
        probability: bool = false;
        /// Stop when no pair of rows violates the optimality conditions by more than this.
        tol: f64 = 1e-3, above(0.0);
        /// Size of the kernel cache in megabytes.
        cache_size: f64 = 200.0, above(0.0);
        /// Maximum number of steps for each pair of classes; -1 for no limit.
        max_iter: i64 = -1, at_least(-1.0);
        /// Shape of the decision function for more than two classes.
        decision_function_shape: DecisionShape = DecisionShape::Ovr;
        /// Whether ties in the votes are broken by the decision values instead of the order of the classes.
        break_ties: bool = false;
    }
}

impl Estimator for NuSVC {
    type Model = SupportClassifier;

    const INFO: Info = Info {
        scale: true,
        exceptions: &[(Property::WeightIsRepetition, AS_FAR_AS_TOL)],
        flexibility: Flexibility::Kernel,
        not_compared: Some("SVC has the same solutions"),
        ..Info::new(
            "svm",
            Task::Classification,
            "min_{w,b,rho} ||w||^2 / 2 - nu rho + sum_i max(0, rho - y_i (w.phi(x_i) + b)) / n",
            Passes::Memory(WHY_MEMORY),
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        // Probabilities come from five folds more.
        1e-9 * cost(shape, if self.probability { 5.0 } else { 1.0 })
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<SupportClassifier>> {
        let common = Common {
            name: "NuSVC",
            kernel: &self.kernel,
            gamma: self.gamma,
            degree: self.degree,
            coef0: self.coef0,
            tol: self.tol,
            cache_size: self.cache_size,
            max_iter: self.max_iter,
        };
        let solve = |ctx: &Ctx, pair: &Pair| self.machine(ctx, pair);
        fit_pairs(&common, data, ctx, self.decision_function_shape, self.break_ties, self.probability, solve)
    }
}

impl NuSVC {
    fn machine(&self, ctx: &Ctx, pair: &Pair) -> Result<Machine> {
        let n = pair.rows.len();
        let total = |range: std::ops::Range<usize>| range.map(|at| pair.weight(at)).sum::<f64>();
        let (yes, no) = (total(0..pair.positive), total(pair.positive..n));
        let half = 0.5 * self.nu * (yes + no);
        if half > yes.min(no) * (1.0 + 1e-12) {
            return Err(Error::Parameter {
                model: "NuSVC".into(),
                name: "nu".into(),
                value: self.nu.to_string(),
                allowed: format!(
                    "at most {:.4}: the specified nu is infeasible where the smaller class weighs {} of {}",
                    2.0 * yes.min(no) / (yes + no),
                    yes.min(no),
                    yes + no
                ),
            });
        }
        let sign = |at: usize| if at < pair.positive { 1.0 } else { -1.0 };
        let ends = |at: usize| {
            let end = sign(at) * pair.weight(at);
            (end.min(0.0), end.max(0.0))
        };
        // Each class has half of nu to spend; the first rows take it.
        let mut left = [half, half];
        let b = (0..n)
            .map(|at| {
                let group = usize::from(at >= pair.positive);
                let share = pair.weight(at).min(left[group]);
                left[group] -= share;
                sign(at) * share
            })
            .collect();
        let problem = smo::Problem {
            rows: (0..n as u32).collect(),
            c: vec![0.0; n],
            lo: (0..n).map(|at| ends(at).0).collect(),
            hi: (0..n).map(|at| ends(at).1).collect(),
            group: (0..n).map(|at| u8::from(at >= pair.positive)).collect(),
            b,
        };
        let solution = pair.solve(ctx, problem, self.tol)?;
        // The level of each class is its margin rho away from the boundary; the model is scaled to a margin of one.
        let [yes, no] = solution.level;
        let (rho, middle) = (0.5 * (yes - no), 0.5 * (yes + no));
        let rho = if rho > 0.0 { rho } else { 1.0 };
        Ok(Machine { coef: solution.b.iter().map(|b| b / rho).collect(), intercept: -middle / rho, solution })
    }
}
