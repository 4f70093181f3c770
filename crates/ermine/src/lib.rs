//! Classical machine learning that proves its fits.
//!
//! ```
//! use ermine::prelude::*;
//!
//! let petals = [[1.4, 0.2], [4.7, 1.4], [1.3, 0.2], [4.5, 1.5]];
//! let data = Data::from_rows(&petals)?.labels(&["setosa", "versicolor", "setosa", "versicolor"])?;
//!
//! let fit = LogisticRegression { C: 10.0, ..Default::default() }.fit(&data, &Ctx::default())?;
//!
//! assert_eq!(fit.predict_labels(&[[1.5, 0.3]])?, ["setosa"]);
//! println!("accuracy {}; {}", fit.score(&data)?, fit.log); // the log says how far from the optimum the fit can be
//! # Ok::<(), ermine::Error>(())
//! ```
//!
//! - **Data** ([`Data`]) are rows of numbers, from [anything that rows can be made of](ToRows), and a target: numbers
//!   ([`Data::real`]) or labels ([`Data::labels`]). What has to be a number is made one at the edges: [`text`],
//!   [`prep`].
//! - **An estimator** is a struct of its parameters, named and defaulted as in scikit-learn. [`Estimator::fit`] refuses
//!   parameters out of range and data that the model cannot take, by name.
//! - **A fit** ([`Fit`]) predicts ([`Fit::predict`], [`Fit::predict_labels`], [`Fit::predict_proba`],
//!   [`Fit::transform`]), is judged and saved ([`Fitted::score`], [`Fitted::save`]; [`Load::load`] reads it), and tells
//!   how it went ([`Fit::log`](FitLog)). The numbers that were learned are fields of its `model`.
//! - **The context** ([`Ctx`]) is everything else: seed, threads, progress, cancelling. The same seed gives the same
//!   bits for any number of threads.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`linear`], [`isotonic`], [`bayes`], [`svm`], [`neighbors`], [`tree`], [`neural`] | models that learn a target |
//! | [`dummy`] | baselines that look at the target alone |
//! | [`cluster`], [`decompose`] | models that need none |
//! | [`prep`], [`text`], [`pipeline`] | new features from old ones, from text, step by step |
//! | [`split`], [`search`], [`metrics`], [`inspect`] | held-out rows, cross-validation and tuning, scores, explanations |
//! | [`optim`], [`kernel`], [`family`] | minimisers, kernels and distributions to use on their own |
//! | [`core`] | what models are made of, for those who write one |
//!
//! Cargo features, none of them on by default, take rows and targets from other crates: `ndarray` (0.17), `nalgebra`
//! (0.35), `faer` (0.24), `arrow` (arrow-array 60); see [`core::rows`].
//!
//! Every model is one file and one line in [`MODELS`]; the command line, the Python package, the reference pages, the
//! conformance suite and the benchmark are made from that list.

pub mod bayes;
pub mod cluster;
pub mod decompose;
pub mod dummy;
#[doc(hidden)]
pub mod engine;
mod file;
mod fitted;
pub mod inspect;
pub mod isotonic;
pub mod linear;
pub mod metrics;
pub mod neighbors;
pub mod neural;
pub mod optim;
pub mod pipeline;
pub mod prep;
pub mod prepare;
pub mod search;
pub mod split;
pub mod svm;
pub mod text;
pub mod tree;

/// Distributions of a target, and what links their mean to a score.
pub use engine::family;
/// Kernels: positive definite functions of two rows.
pub use engine::kernel;
pub use fitted::{Fitted, Load, from_bytes, load};

pub use ermine_core as core;
pub use ermine_core::{
    Cancel, Ctx, Data, Error, Feature, Label, Matrix, OwnedCsr, OwnedData, OwnedTarget, OwnedX, Result, Rows, Shape,
    Source, Target, ToRows, X,
    log::{Bound, Certificate, FitLog, Halt, Stop},
    model::{
        AnyEstimator, AnyModel, Array, Domain, Entry, Estimator, Fit, Flexibility, Info, Model, Numbers, Output,
        Passes, Task, predict,
    },
    param::{Params, Spec, Value, Values},
};

macro_rules! models {
    ($dollar:tt $($family:ident :: $name:ident),* $(,)?) => {
        /// THE list of models.
        pub static MODELS: &[Entry] = &[$(Entry::of::<$family::$name>()),*];

        /// All that most programs need: `use ermine::prelude::*;`.
        ///
        /// Every estimator, the modules with what their parameters are made of (`cluster::Starts`), data, fits and
        /// errors. Estimators of any type ([`AnyEstimator`]) are left out: their methods have the same names.
        pub mod prelude {
            pub use crate::{
                Ctx, Data, Error, Estimator, Feature, Fit, Fitted, Label, Load, Matrix, Output, Params, Result, Spec, ToRows, X,
                bayes, cluster, decompose, dummy, isotonic, linear, metrics, neighbors, neural, prep, search, split, svm, text, tree,
                pipeline::{ColumnTransformer, Pipeline},
                search::cross_val_score,
                split::train_test,
                $($family::$name,)*
            };
        }

        /// Calls a macro with the type of every estimator, for tests that need the types.
        #[doc(hidden)]
        #[macro_export]
        macro_rules! for_each_model {
            ($dollar call:ident) => { $($dollar call!($crate::$family::$name);)* };
        }
    };
}

models! { $
    linear::LinearRegression,
    linear::Ridge,
    linear::RidgeCV,
    linear::RidgeClassifier,
    linear::RidgeClassifierCV,
    linear::BayesianRidge,
    linear::HuberRegressor,
    linear::QuantileRegressor,
    linear::Lasso,
    linear::ElasticNet,
    linear::LassoCV,
    linear::ElasticNetCV,
    linear::LogisticRegression,
    linear::LogisticRegressionCV,
    linear::PoissonRegressor,
    linear::GammaRegressor,
    linear::TweedieRegressor,
    linear::GeneralizedLinearRegressor,
    linear::SGDRegressor,
    linear::SGDClassifier,
    linear::Perceptron,
    isotonic::IsotonicRegression,
    bayes::GaussianNB,
    bayes::MultinomialNB,
    bayes::BernoulliNB,
    bayes::ComplementNB,
    bayes::CategoricalNB,
    bayes::LinearDiscriminantAnalysis,
    bayes::QuadraticDiscriminantAnalysis,
    decompose::PCA,
    decompose::TruncatedSVD,
    decompose::IncrementalPCA,
    decompose::PLSRegression,
    cluster::KMeans,
    cluster::MiniBatchKMeans,
    cluster::GaussianMixture,
    cluster::BayesianGaussianMixture,
    cluster::CountMixture,
    cluster::DBSCAN,
    cluster::AgglomerativeClustering,
    svm::SVC,
    svm::NuSVC,
    svm::SVR,
    svm::NuSVR,
    svm::OneClassSVM,
    svm::LinearSVC,
    svm::LinearSVR,
    svm::KernelRidge,
    svm::KernelPCA,
    svm::Nystroem,
    svm::RBFSampler,
    neighbors::KNeighborsClassifier,
    neighbors::KNeighborsRegressor,
    neighbors::NearestNeighbors,
    neighbors::RadiusNeighborsClassifier,
    neighbors::RadiusNeighborsRegressor,
    neighbors::LocalOutlierFactor,
    neural::MLPClassifier,
    neural::MLPRegressor,
    prep::StandardScaler,
    prep::MinMaxScaler,
    prep::MaxAbsScaler,
    prep::RobustScaler,
    prep::SimpleImputer,
    prep::OneHotEncoder,
    prep::OrdinalEncoder,
    tree::DecisionTreeClassifier,
    tree::DecisionTreeRegressor,
    tree::RandomForestClassifier,
    tree::RandomForestRegressor,
    tree::ExtraTreesClassifier,
    tree::ExtraTreesRegressor,
    tree::HistGradientBoostingClassifier,
    tree::HistGradientBoostingRegressor,
    tree::AdaBoostClassifier,
    tree::AdaBoostRegressor,
    tree::BaggingClassifier,
    tree::BaggingRegressor,
    tree::VotingClassifier,
    tree::VotingRegressor,
    tree::StackingClassifier,
    tree::StackingRegressor,
    tree::IsolationForest,
    prep::TargetEncoder,
    prep::PowerTransformer,
    prep::QuantileTransformer,
    prep::LogTransformer,
    prep::PolynomialFeatures,
    prep::SplineTransformer,
    prep::KBinsDiscretizer,
    prep::Normalizer,
    prep::Binarizer,
    prep::VarianceThreshold,
    prep::SelectKBest,
    prep::KNNImputer,
    prep::SelectFromModel,
    prep::RFE,
    dummy::DummyClassifier,
    dummy::DummyRegressor,
}

/// The entry called `name`, or an error that suggests the nearest.
pub fn entry(name: &str) -> Result<&'static Entry> {
    let same = |entry: &&Entry| entry.name.eq_ignore_ascii_case(name);
    MODELS.iter().find(same).ok_or_else(|| Error::Unknown {
        what: "model",
        name: name.into(),
        known: core::error::related(name, MODELS.iter().map(|entry| entry.name.into()).collect(), SYNONYMS),
    })
}

/// What models are called elsewhere, in small letters, and here.
const SYNONYMS: &[(&[&str], &[&str])] = &[
    (&["rf", "forest", "ranger"], &["RandomForestClassifier", "RandomForestRegressor"]),
    (
        &[
            "xgboost",
            "xgb",
            "lightgbm",
            "lgbm",
            "lgb",
            "catboost",
            "gbm",
            "gbdt",
            "gbt",
            "boosting",
            "hgb",
            "gradientboosting",
        ],
        &["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"],
    ),
    (
        &["gradientboostingclassifier", "xgbclassifier", "lgbmclassifier", "catboostclassifier"],
        &["HistGradientBoostingClassifier"],
    ),
    (
        &["gradientboostingregressor", "xgbregressor", "lgbmregressor", "catboostregressor"],
        &["HistGradientBoostingRegressor"],
    ),
    (&["svm", "libsvm"], &["SVC", "SVR", "LinearSVC", "LinearSVR"]),
    (&["knn", "kneighbors", "neighbors"], &["KNeighborsClassifier", "KNeighborsRegressor"]),
    (&["logreg", "logit", "logistic", "lr", "glmnet"], &["LogisticRegression"]),
    (&["ols", "lm", "linear", "leastsquares", "regression"], &["LinearRegression", "Ridge", "Lasso"]),
    (&["glm"], &["GeneralizedLinearRegressor", "LogisticRegression", "PoissonRegressor", "GammaRegressor"]),
    (&["mlp", "nn", "neuralnet", "neuralnetwork", "dnn", "deep"], &["MLPClassifier", "MLPRegressor"]),
    (&["tree", "cart", "rpart", "dt"], &["DecisionTreeClassifier", "DecisionTreeRegressor"]),
    (&["nb", "naivebayes", "bayes"], &["GaussianNB", "MultinomialNB", "BernoulliNB", "CategoricalNB"]),
    (&["lda"], &["LinearDiscriminantAnalysis"]),
    (&["qda"], &["QuadraticDiscriminantAnalysis"]),
    (&["gmm", "mixture"], &["GaussianMixture", "BayesianGaussianMixture"]),
    (&["hclust", "hierarchical", "ward"], &["AgglomerativeClustering"]),
    (&["svd"], &["TruncatedSVD"]),
    (&["en", "enet"], &["ElasticNet"]),
    (&["iforest"], &["IsolationForest"]),
    (&["pls", "plsr", "partialleastsquares"], &["PLSRegression"]),
    (&["lof"], &["LocalOutlierFactor"]),
    (&["outlier", "outliers", "anomaly", "novelty"], &["IsolationForest", "LocalOutlierFactor", "OneClassSVM"]),
    (&["baseline", "naive", "constant", "zeror", "dummy"], &["DummyClassifier", "DummyRegressor"]),
];

/// The estimator that a spec describes.
pub fn make(spec: &Spec) -> Result<Box<dyn AnyEstimator>> {
    match spec.name.as_str() {
        "Pipeline" => Ok(Box::new(pipeline::Pipeline::from_values(&spec.params)?)),
        "ColumnTransformer" => Ok(Box::new(pipeline::ColumnTransformer::from_values(&spec.params)?)),
        name => (entry(name)?.make)(&spec.params),
    }
}
