//! Margins and kernels: support vector machines, kernel ridge, kernel features.

mod expansion;
mod nu_svc;
mod nu_svr;
mod one_class_svm;
mod support;
mod svc;
mod svr;

pub use expansion::Expansion;
pub use nu_svc::NuSVC;
pub use nu_svr::NuSVR;
pub use one_class_svm::{OneClassModel, OneClassSVM};
pub use support::SupportClassifier;
pub use svc::SVC;
pub use svr::{SVR, SupportRegressor};
