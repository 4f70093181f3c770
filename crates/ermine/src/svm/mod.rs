//! Margins and kernels: support vector machines, kernel ridge, kernel features.

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

pub use expansion::Expansion;
pub use kernel_pca::{KernelComponents, KernelPCA};
pub use kernel_ridge::{KernelRegressor, KernelRidge};
pub use linear_svc::{LinearClassifier, LinearSVC};
pub use linear_svr::LinearSVR;
pub use nu_svc::NuSVC;
pub use nu_svr::NuSVR;
pub use nystroem::{KernelFeatures, Nystroem};
pub use one_class_svm::{OneClassModel, OneClassSVM};
pub use rbf_sampler::{FourierFeatures, RBFSampler};
pub use support::SupportClassifier;
pub use svc::SVC;
pub use svr::{SVR, SupportRegressor};
