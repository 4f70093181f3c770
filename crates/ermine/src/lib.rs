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

pub mod cluster;
pub mod engine;
pub mod inspect;
pub mod linear;
pub mod metrics;
pub mod pipeline;
pub mod prep;
pub mod search;
pub mod split;
pub mod text;

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
    linear::LogisticRegression,
    cluster::KMeans,
    prep::StandardScaler,
    prep::MinMaxScaler,
    prep::MaxAbsScaler,
    prep::RobustScaler,
    prep::SimpleImputer,
    prep::OneHotEncoder,
    prep::OrdinalEncoder,
    prep::TargetEncoder,
    prep::PowerTransformer,
    prep::LogTransformer,
    prep::PolynomialFeatures,
    prep::SplineTransformer,
    prep::KBinsDiscretizer,
    prep::Normalizer,
    prep::Binarizer,
    prep::VarianceThreshold,
    prep::SelectKBest,
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
    match spec.name.as_str() {
        "Pipeline" => Ok(Box::new(pipeline::Pipeline::from_values(&spec.params)?)),
        "ColumnTransformer" => Ok(Box::new(pipeline::ColumnTransformer::from_values(&spec.params)?)),
        name => (entry(name)?.make)(&spec.params),
    }
}
