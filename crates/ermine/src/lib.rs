//! Classical machine learning that proves its fits.
//!
//! ```
//! use ermine::{Ctx, Data, Estimator, X, linear::Ridge};
//!
//! let x = [0.0, 1.0, 2.0, 3.0];
//! let data = Data::new(X::dense(&x, 1)?).real(&[1.0, 3.0, 5.0, 7.0])?;
//! let fit = Ridge { alpha: 0.0, ..Default::default() }.fit(&data, &Ctx::default())?;
//! assert!((fit.model.coef[(0, 0)] - 2.0).abs() < 1e-12);
//! println!("{}", fit.log);
//! # Ok::<(), ermine::Error>(())
//! ```
//!
//! Every model is one file and one line in [`MODELS`]; the command line, the Python package, the reference pages, the
//! conformance suite and the benchmark are made from that list.

pub mod bayes;
pub mod cluster;
pub mod decompose;
pub mod engine;
pub mod inspect;
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

pub use ermine_core as core;
pub use ermine_core::{
    Cancel, Ctx, Data, Error, Feature, Matrix, OwnedCsr, OwnedData, OwnedTarget, OwnedX, Result, Shape, Source, Target,
    X,
    log::{Bound, Certificate, FitLog, Halt, Stop},
    model::{
        AnyEstimator, AnyModel, Array, Domain, Entry, Estimator, Fit, Flexibility, Info, Model, Numbers, Output,
        Passes, Task, predict,
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
    linear::RidgeCV,
    linear::BayesianRidge,
    linear::HuberRegressor,
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
    prep::KNNImputer,
    prep::SelectFromModel,
    prep::RFE,
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
];

/// The estimator that a spec describes.
pub fn make(spec: &Spec) -> Result<Box<dyn AnyEstimator>> {
    match spec.name.as_str() {
        "Pipeline" => Ok(Box::new(pipeline::Pipeline::from_values(&spec.params)?)),
        "ColumnTransformer" => Ok(Box::new(pipeline::ColumnTransformer::from_values(&spec.params)?)),
        name => (entry(name)?.make)(&spec.params),
    }
}
