//! Models whose prediction is a linear function of the row, or a known function of one.

mod linear_regression;
mod logistic_regression;
mod model;
mod ridge;

pub use linear_regression::LinearRegression;
pub use logistic_regression::{LogisticModel, LogisticRegression};
pub use model::LinearModel;
pub use ridge::Ridge;
