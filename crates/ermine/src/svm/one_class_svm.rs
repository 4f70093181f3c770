//! The support of a distribution: `min_{w,rho} 1/2 ||w||^2 - rho + 1/(nu n) sum_i w_i max(0, rho - w.phi(x_i))`.
//!
//! At most a share nu of the training rows falls outside (Schölkopf et al. 2001). Rows inside get 1, rows outside -1.
//! Solved in the dual by block SMO.

use super::{
    Expansion,
    support::{AS_FAR_AS_TOL, Common, WHY_MEMORY, cost, story},
    svr::machine_attributes,
};
use crate::{
    Array, Ctx, Error, Estimator, Fit, Flexibility, Info, Matrix, Model, Output, Passes, Result, Shape, Source, Task,
    X,
    core::{
        model::Property,
        param::{above, above_to, any, at_least, linear, log},
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
    /// Outlier detection: separates rows that resemble the training data from those that do not.
    pub struct OneClassSVM {
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
        /// Upper bound on the fraction of training rows outside and lower bound on the fraction of support vectors.
        nu: f64 = 0.5, above_to(0.0, 1.0), linear(0.01, 0.5);
        /// Accepted for scikit-learn compatibility; ignored, because the solver has no use for shrinking.
        shrinking: bool = true;
        /// Size of the kernel cache in megabytes.
        cache_size: f64 = 200.0, above(0.0);
        /// Maximum number of steps; -1 for no limit.
        max_iter: i64 = -1, at_least(-1.0);
    }
}

impl Estimator for OneClassSVM {
    type Model = OneClassModel;

    const INFO: Info = Info {
        scale: true,
        exceptions: &[(Property::WeightIsRepetition, AS_FAR_AS_TOL)],
        flexibility: Flexibility::Kernel,
        ..Info::new(
            "svm",
            Task::Density,
            "min_{w,rho} ||w||^2 / 2 - rho + sum_i max(0, rho - w.phi(x_i)) / (nu n)",
            Passes::Memory(WHY_MEMORY),
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * cost(shape, 1.0)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<OneClassModel>> {
        let common = Common {
            name: "OneClassSVM",
            kernel: &self.kernel,
            gamma: self.gamma,
            degree: self.degree,
            coef0: self.coef0,
            tol: self.tol,
            cache_size: self.cache_size,
            max_iter: self.max_iter,
        };
        let batch = common.batch(data, ctx)?;
        let (kernel, notes) = common.resolve(&batch)?;
        let rows: Vec<usize> = (0..batch.rows()).filter(|&i| batch.weight(i) > 0.0).collect();
        let points = kernel.points(&batch.x, rows.iter().copied());
        let ids: &[usize] = if kernel.is_precomputed() { &rows } else { &[] };
        let mut gram = Gram::new(&kernel, &points, ids, common.bytes());
        let n = rows.len();
        let hi: Vec<f64> = rows.iter().map(|&row| batch.weight(row)).collect();
        let mut left = self.nu * hi.iter().sum::<f64>();
        let start = hi
            .iter()
            .map(|weight| {
                let share = weight.min(left);
                left -= share;
                share
            })
            .collect();
        let problem = smo::Problem {
            rows: (0..n as u32).collect(),
            c: vec![0.0; n],
            lo: vec![0.0; n],
            hi,
            group: vec![0; n],
            b: start,
        };
        let solution = smo::solve(ctx, common.name, &mut gram, problem, common.tol, common.max_steps(n))?;
        let used: Vec<usize> = (0..n).filter(|&at| solution.b[at] != 0.0).collect();
        let coef = Matrix::new(used.iter().map(|&at| solution.b[at]).collect(), used.len(), 1);
        let ids = used.iter().map(|&at| rows[at]).collect();
        let mut log = story(&[&solution], common.tol, notes.is_empty());
        log.notes.extend(notes);
        log.notes.push(format!("{} support vectors of {} rows", used.len(), batch.rows()));
        let expansion = Expansion::new(kernel, &batch.x, ids, coef, vec![-solution.level[0]]);
        Ok(Fit::new(OneClassModel { expansion }, log))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OneClassModel {
    pub expansion: Expansion,
}

impl Model for OneClassModel {
    fn cols(&self) -> usize {
        self.expansion.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Cluster, 1), (Output::Decision, 1), (Output::Density, 1)]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        self.expansion.scores(x, out);
        match output {
            Output::Cluster => out.iter_mut().for_each(|v| *v = if *v > 0.0 { 1.0 } else { -1.0 }),
            // scikit-learn's score_samples: the score before its threshold is taken off.
            Output::Density => out.iter_mut().for_each(|v| *v -= self.expansion.intercept[0]),
            _ => {}
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let mut attributes = machine_attributes(&self.expansion);
        attributes.push(("offset_", (-self.expansion.intercept[0]).into()));
        attributes
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
