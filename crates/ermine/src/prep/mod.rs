//! Transformers: new features from old ones, learned from the rows they are fitted on. Categories come as codes.

mod affine;
pub(crate) mod columns;
mod extremes;
mod levels;
mod max_abs_scaler;
mod min_max_scaler;
mod one_hot_encoder;
mod ordinal_encoder;
mod robust_scaler;
mod simple_imputer;
mod standard_scaler;

pub use affine::{AffineModel, Found, Statistic};
pub use max_abs_scaler::MaxAbsScaler;
pub use min_max_scaler::MinMaxScaler;
pub use one_hot_encoder::{Drop, HandleUnknown, OneHotEncoder, OneHotModel};
pub use ordinal_encoder::{OrdinalEncoder, OrdinalModel, OrdinalUnknown};
pub use robust_scaler::RobustScaler;
pub use simple_imputer::{ImputeStrategy, ImputerModel, SimpleImputer};
pub use standard_scaler::StandardScaler;
