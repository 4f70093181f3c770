//! Models whose prediction is a linear function of the row, or a known function of one.

mod elastic_net;
mod elastic_net_cv;
mod gamma_regressor;
mod generalized_linear_regressor;
mod glm;
mod lasso;
mod lasso_cv;
mod linear_regression;
mod logistic_regression;
mod model;
mod net;
mod poisson_regressor;
mod ridge;
mod tweedie_regressor;

pub use elastic_net::ElasticNet;
pub use elastic_net_cv::ElasticNetCV;
pub use gamma_regressor::GammaRegressor;
pub use generalized_linear_regressor::{FamilyName, GeneralizedLinearRegressor, LinkName};
pub use glm::GlmModel;
pub use lasso::Lasso;
pub use lasso_cv::LassoCV;
pub use linear_regression::LinearRegression;
pub use logistic_regression::{LogisticModel, LogisticRegression};
pub use model::LinearModel;
pub use net::{Alphas, ChosenModel, Path};
pub use poisson_regressor::PoissonRegressor;
pub use ridge::Ridge;
pub use tweedie_regressor::{TweedieLink, TweedieRegressor};
