//! Transformers: new features from old ones, learned from the rows they are fitted on. Categories come as codes.
//!
//! ```
//! use ermine::prelude::*;
//!
//! // A number that may be missing, and the code of a colour.
//! let x = [[1.0, 0.0], [f64::NAN, 2.0], [3.0, 1.0]];
//! let data = Data::from_rows(&x)?;
//! let filled = SimpleImputer::default().fit(&data, &Ctx::default())?.transform(&x)?;
//! assert_eq!(filled[(1, 0)], 2.0);
//! let colours = [[0.0], [2.0], [1.0]];
//! let hot = OneHotEncoder::default().fit(&Data::from_rows(&colours)?, &Ctx::default())?.transform(&colours)?;
//! assert_eq!((hot.cols, hot.row(1)), (3, &[0.0, 0.0, 1.0][..]));
//! # Ok::<(), ermine::Error>(())
//! ```

mod affine;
mod bins;
mod by_row;
pub(crate) mod columns;
mod extremes;
mod knn_imputer;
mod levels;
mod max_abs_scaler;
mod min_max_scaler;
mod one_hot_encoder;
mod ordinal_encoder;
mod polynomial_features;
mod power_transformer;
mod quantile_transformer;
mod robust_scaler;
mod select_by_model;
mod selection;
mod simple_imputer;
mod standard_scaler;
mod stateless;
mod target_encoder;

pub use affine::{AffineModel, ColumnStatistic, Statistic};
pub use bins::{BinsModel, Cuts, Encode, KBinsDiscretizer, SplineModel, SplineTransformer};
pub use by_row::{Binarizer, LogTransformer, Normalizer, RowNorm};
pub use knn_imputer::{DonorWeights, KNNImputer, KNNImputerModel};
pub use max_abs_scaler::MaxAbsScaler;
pub use min_max_scaler::MinMaxScaler;
pub use one_hot_encoder::{Drop, HandleUnknown, OneHotEncoder, OneHotModel};
pub use ordinal_encoder::{OrdinalEncoder, OrdinalModel, OrdinalUnknown};
pub use polynomial_features::{PolynomialFeatures, PolynomialModel};
pub use power_transformer::{Family, PowerModel, PowerTransformer};
pub use quantile_transformer::{Distribution, QuantileModel, QuantileTransformer};
pub use robust_scaler::RobustScaler;
pub use select_by_model::{RFE, SelectFromModel, Threshold};
pub use selection::{ChosenBy, Keep, SelectKBest, SelectionModel, VarianceThreshold};
pub use simple_imputer::{ImputeStrategy, ImputerModel, SimpleImputer};
pub use standard_scaler::StandardScaler;
pub use stateless::{RowFunction, RowModel};
pub use target_encoder::{Smooth, TargetEncoder, TargetModel};
