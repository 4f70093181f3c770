//! Baselines that look at the target alone: what any other model has to beat.
//!
//! ```
//! use ermine::prelude::*;
//!
//! let data = Data::from_rows(&[[1.0], [2.0], [3.0], [4.0]])?.labels(&["yes", "no", "yes", "yes"])?;
//! let fit = DummyClassifier::default().fit(&data, &Ctx::default())?;
//! assert_eq!(fit.predict_labels(&[[7.0]])?, ["yes"]);
//! assert_eq!(fit.predict_proba(&[[7.0]])?.values, [0.25, 0.75]);
//! # Ok::<(), ermine::Error>(())
//! ```

mod dummy_classifier;
mod dummy_regressor;

pub use dummy_classifier::{ClassRule, DummyClassModel, DummyClassifier};
pub use dummy_regressor::{DummyModel, DummyRegressor, ValueRule};

use crate::{Error, Params};

/// A strategy without the parameter that it is about.
fn missing<P: Params>(name: &str, strategy: &str, allowed: String) -> Error {
    Error::Parameter {
        model: P::NAME.into(),
        name: name.into(),
        value: "none".into(),
        allowed: format!("{allowed} for strategy={strategy}"),
    }
}
