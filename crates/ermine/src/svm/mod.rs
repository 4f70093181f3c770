//! Margins and kernels: support vector machines, kernel ridge, kernel features.
//!
//! ```
//! use ermine::prelude::*;
//!
//! // A ring around a spot: no straight line parts them, a kernel does.
//! let at = |radius: f64, i: i32| [radius * f64::from(i).cos(), radius * f64::from(i).sin()];
//! let x: Vec<[f64; 2]> = (0..20).map(|i| at(if i < 10 { 1.0 } else { 4.0 }, i)).collect();
//! let inside: Vec<bool> = (0..20).map(|i| i < 10).collect();
//! let data = Data::from_rows(&x)?.labels(&inside)?;
//! let svc = SVC { C: 10.0, kernel: svm::Kernel::Rbf { gamma: Some(0.5) }, ..Default::default() };
//! let fit = svc.fit(&data, &Ctx::default())?;
//! assert_eq!(fit.predict_labels(&[[0.2, 0.1], [3.9, 0.5]])?, [true, false]);
//! println!("{}", fit.log); // how far from the optimum at most
//! # Ok::<(), ermine::Error>(())
//! ```

mod expansion;
mod kernel_pca;
mod kernel_ridge;
mod linear_svc;
mod linear_svr;
mod nu_svc;
mod nu_svr;
mod nystroem;
mod one_class_svm;
mod rbf_sampler;
mod support;
mod svc;
mod svr;

pub use crate::engine::kernel::{Gamma, Kernel, Map};
pub use expansion::Expansion;
pub use kernel_pca::{EigenSolver, KernelComponents, KernelPCA};
pub use kernel_ridge::{KernelRegressor, KernelRidge};
pub use linear_svc::{Dual, LinearClassifier, LinearSVC, Loss, Penalty};
pub use linear_svr::{LinearSVR, TubeLoss};
pub use nu_svc::NuSVC;
pub use nu_svr::NuSVR;
pub use nystroem::{KernelFeatures, Nystroem};
pub use one_class_svm::{OneClassModel, OneClassSVM};
pub use rbf_sampler::{FourierFeatures, RBFSampler, Width};
pub use support::{DecisionShape, SupportClassifier};
pub use svc::SVC;
pub use svr::{SVR, SupportRegressor};
