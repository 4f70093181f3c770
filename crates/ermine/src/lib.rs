//! Classical machine learning that proves its fits.
//!
//! ```
//! use ermine::{Ctx, Data, Estimator, X, linear::Ridge};
//!
//! let x = [0.0, 1.0, 2.0, 3.0];
//! let data = Data::new(X::dense(&x, 1)?).real(&[1.0, 3.0, 5.0, 7.0])?;
//! let fit = Ridge { alpha: 0.0, ..Default::default() }.fit(&data, &Ctx::default())?;
//! assert!((fit.model.coef[(0, 0)] - 2.0).abs() < 1e-12);
//! println!("{}", fit.log.certificate);
//! # Ok::<(), ermine::Error>(())
//! ```
//!
//! Every model is one file and one line in [`MODELS`]; the command line, the Python package, the reference pages, the
//! conformance suite and the benchmark are made from that list.

pub mod bayes;
pub mod cluster;
pub mod decompose;
pub mod engine;
pub mod kernel;
pub mod linear;
pub mod metrics;
pub mod neighbors;
pub mod prepare;
pub mod split;

pub use ermine_core as core;
pub use ermine_core::{
    Cancel, Ctx, Data, Error, Feature, Matrix, OwnedCsr, OwnedData, OwnedTarget, OwnedX, Result, Source, Target, X,
    log::{Certificate, FitLog, Stop},
    model::{
        AnyEstimator, AnyModel, Array, Entry, Estimator, Fit, Info, Model, Numbers, Output, Passes, Task, predict,
    },
    param::{Params, Spec, Value, Values},
};

macro_rules! models {
    ($($family:ident :: $name:ident),* $(,)?) => {
        /// THE list of models.
        pub static MODELS: &[Entry] = &[$(Entry::of::<$family::$name>()),*];
    };
}

models! {
    linear::LinearRegression,
    linear::Ridge,
    linear::Lasso,
    linear::ElasticNet,
    linear::LassoCV,
    linear::ElasticNetCV,
    linear::LogisticRegression,
    linear::PoissonRegressor,
    linear::GammaRegressor,
    linear::TweedieRegressor,
    linear::GeneralizedLinearRegressor,
    bayes::GaussianNB,
    bayes::MultinomialNB,
    bayes::BernoulliNB,
    bayes::ComplementNB,
    bayes::CategoricalNB,
    bayes::LinearDiscriminantAnalysis,
    bayes::QuadraticDiscriminantAnalysis,
    decompose::PCA,
    decompose::TruncatedSVD,
    cluster::KMeans,
    cluster::GaussianMixture,
    kernel::SVC,
    kernel::NuSVC,
    kernel::SVR,
    kernel::NuSVR,
    kernel::OneClassSVM,
    neighbors::KNeighborsClassifier,
    neighbors::KNeighborsRegressor,
    neighbors::NearestNeighbors,
    neighbors::RadiusNeighborsClassifier,
    neighbors::RadiusNeighborsRegressor,
}

/// The entry called `name`, or an error that suggests the nearest.
pub fn entry(name: &str) -> Result<&'static Entry> {
    let same = |entry: &&Entry| entry.name.eq_ignore_ascii_case(name);
    MODELS.iter().find(same).ok_or_else(|| Error::Unknown {
        what: "model",
        name: name.into(),
        known: MODELS.iter().map(|entry| entry.name.into()).collect(),
    })
}

/// The estimator that a spec describes.
pub fn make(spec: &Spec) -> Result<Box<dyn AnyEstimator>> {
    (entry(&spec.name)?.make)(&spec.params)
}
