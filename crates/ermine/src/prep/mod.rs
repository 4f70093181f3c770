//! Transformers: new features from old ones, learned from the rows they are fitted on. Categories come as codes.

mod affine;
mod bins;
pub(crate) mod columns;
mod extremes;
mod levels;
mod max_abs_scaler;
mod min_max_scaler;
mod one_hot_encoder;
mod ordinal_encoder;
mod polynomial_features;
mod power_transformer;
mod robust_scaler;
mod row_transformers;
mod selection;
mod simple_imputer;
mod standard_scaler;
mod stateless;
mod target_encoder;

pub use affine::{AffineModel, Found, Statistic};
pub use bins::{BinsModel, Cuts, Encode, KBinsDiscretizer, SplineModel, SplineTransformer};
pub use max_abs_scaler::MaxAbsScaler;
pub use min_max_scaler::MinMaxScaler;
pub use one_hot_encoder::{Drop, HandleUnknown, OneHotEncoder, OneHotModel};
pub use ordinal_encoder::{OrdinalEncoder, OrdinalModel, OrdinalUnknown};
pub use polynomial_features::{PolynomialFeatures, PolynomialModel};
pub use power_transformer::{Family, PowerModel, PowerTransformer};
pub use robust_scaler::RobustScaler;
pub use row_transformers::{Binarizer, LogTransformer, Normalizer, RowNorm};
pub use selection::{Keep, SelectKBest, SelectionModel, VarianceThreshold};
pub use simple_imputer::{ImputeStrategy, ImputerModel, SimpleImputer};
pub use standard_scaler::StandardScaler;
pub use stateless::{RowFunction, RowModel};
pub use target_encoder::{Smooth, TargetEncoder, TargetModel};
