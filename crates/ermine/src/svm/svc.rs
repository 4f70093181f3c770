//! Support vector classification: for each pair of classes
//! `min_{w,b} 1/2 ||w||^2 + C sum_i w_i max(0, 1 - y_i (w.phi(x_i) + b))`, the intercept free.
//!
//! Solved in the dual by block SMO ([`smo`](crate::engine::smo)); the solution, the number of support vectors and the
//! decision are LIBSVM's (Chang and Lin 2011). More than two classes vote pair by pair. C = infinity asks for the hard
//! margin and is refused, in words, when no margin separates the classes. Probabilities are Platt's, cross-fitted, and
//! never contradict the predicted class. Weights also enter gamma="scale", so that weight 2 is the row twice.
//!
//! Cost between O(n^2 d) and O(n^3 d). Not for millions of rows: LinearSVC, or Nystroem in front of it, is.

use super::support::cost;
use super::support::{
    AS_FAR_AS_TOL, Common, DecisionShape, Machine, SupportClassifier, Task as Pair, WHY_MEMORY, fit_pairs,
};
use crate::{
    Bound, Ctx, Error, Estimator, Fit, Flexibility, Info, Passes, Result, Shape, Source, Task,
    core::{
        model::Property,
        param::{above, above_to, any, at_least, log},
        params,
    },
    engine::{
        kernel::{Gamma, Kernel},
        smo,
    },
};

params! {
    /// Support vector classification: the widest margin in the feature space of a kernel.
    pub struct SVC {
        /// Inverse regularisation strength: cost of a row inside the margin; infinity for a hard margin.
        C: f64 = 1.0, above_to(0.0, f64::INFINITY), log(1e-3, 1e3);
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

impl Estimator for SVC {
    type Model = SupportClassifier;

    const INFO: Info = Info {
        scale: true,
        exceptions: &[(Property::WeightIsRepetition, AS_FAR_AS_TOL)],
        flexibility: Flexibility::Kernel,
        ..Info::new(
            "svm",
            Task::Classification,
            "min_{w,b} ||w||^2 / 2 + C sum_i max(0, 1 - y_i (w.phi(x_i) + b))",
            Passes::Memory(WHY_MEMORY),
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        // Probabilities come from five folds more.
        1e-9 * cost(shape, if self.probability { 5.0 } else { 1.0 })
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<SupportClassifier>> {
        let common = Common {
            name: "SVC",
            kernel: &self.kernel,
            gamma: self.gamma,
            degree: self.degree,
            coef0: self.coef0,
            tol: self.tol,
            cache_size: self.cache_size,
            max_iter: self.max_iter,
        };
        let solve = |ctx: &Ctx, pair: &Pair| {
            if self.C.is_finite() { self.machine(ctx, pair, self.C, None) } else { self.hard_margin(ctx, pair) }
        };
        fit_pairs(&common, data, ctx, self.decision_function_shape, self.break_ties, self.probability, solve)
    }
}

impl SVC {
    fn machine(&self, ctx: &Ctx, pair: &Pair, c: f64, start: Option<Vec<f64>>) -> Result<Machine> {
        let n = pair.rows.len();
        let sign = |at: usize| if at < pair.positive { 1.0 } else { -1.0 };
        let ends = |at: usize| {
            let end = sign(at) * c * pair.weight(at);
            (end.min(0.0), end.max(0.0))
        };
        let problem = smo::Problem {
            rows: (0..n as u32).collect(),
            c: (0..n).map(|at| -sign(at)).collect(),
            lo: (0..n).map(|at| ends(at).0).collect(),
            hi: (0..n).map(|at| ends(at).1).collect(),
            group: vec![0; n],
            b: start.unwrap_or_else(|| vec![0.0; n]),
        };
        let solution = pair.solve(ctx, problem, self.tol)?;
        Ok(Machine { coef: solution.b.clone(), intercept: -solution.level[0], solution })
    }

    /// A large C first: if rows are on the wrong side even then, no margin worth the name separates the classes, and
    /// the hard problem would have no solution. C sum xi <= ||w||^2 / 2 of the hard solution makes this a proof for
    /// margins above 1 / sqrt(2 C).
    fn hard_margin(&self, ctx: &Ctx, pair: &Pair) -> Result<Machine> {
        let x = pair.kernel.points_about(&pair.batch.x, pair.rows.iter().copied(), pair.centre);
        let ids: &[usize] = if pair.kernel.is_precomputed() { &pair.rows } else { &[] };
        let diagonal = pair.kernel.diagonal_with(&x.x(), ids);
        let scale = diagonal.iter().sum::<f64>() / diagonal.len() as f64;
        let large = 1e5 / scale.max(f64::MIN_POSITIVE);
        let soft = self.machine(ctx, pair, large, None)?;
        let wrong = (0..pair.rows.len())
            .filter(|&at| {
                let score = soft.solution.f[at] + soft.intercept;
                (if at < pair.positive { score } else { -score }) <= 0.0
            })
            .count();
        if wrong > 0 || soft.solution.steps >= pair.common.max_steps(pair.rows.len()) {
            let classes = pair.batch.y.codes();
            let (first, last) = (classes[pair.rows[0]], classes[pair.rows[pair.rows.len() - 1]]);
            return Err(Error::Data(format!(
                "SVC: C is infinite, but no margin separates class {first} from class {last} with the kernel {} \
                 ({wrong} of {} rows stay on the wrong side)",
                pair.kernel,
                pair.rows.len()
            ))
            .hint("use a finite C, or a kernel with more freedom"));
        }
        let mut machine = self.machine(ctx, pair, f64::INFINITY, Some(soft.coef))?;
        // The plane scaled until no row is inside the margin is feasible, so its length bounds the optimum from above.
        let solution = &mut machine.solution;
        let norm2: f64 = solution.b.iter().zip(&solution.f).map(|(b, f)| b * f).sum();
        let rounding: f64 = solution.b.iter().zip(&solution.error).map(|(b, error)| b.abs() * error).sum();
        let norm2 = norm2 + rounding;
        let margin = (0..pair.rows.len()).map(|at| {
            let score = solution.f[at] + machine.intercept;
            (if at < pair.positive { score } else { -score }) - solution.error[at]
        });
        let margin = margin.fold(f64::INFINITY, f64::min);
        let dual = solution.b.iter().map(|b| b.abs()).sum::<f64>() - 0.5 * norm2;
        let primal = if margin > 0.0 { 0.5 * norm2 / (margin * margin) } else { f64::INFINITY };
        solution.bound = Bound::new(primal - dual, self.tol, primal, primal);
        Ok(machine)
    }
}
