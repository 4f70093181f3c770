//! Functions of one column that only rise or only fall.
//!
//! ```
//! use ermine::prelude::*;
//!
//! // How often a dose worked: more of it never works less often.
//! let doses = [[1.0], [2.0], [3.0], [4.0], [5.0]];
//! let data = Data::from_rows(&doses)?.real(&[0.1, 0.3, 0.2, 0.6, 0.9])?;
//! let fit = IsotonicRegression::default().fit(&data, &Ctx::default())?;
//! assert_eq!(fit.predict(&[[2.0], [3.0], [4.5]])?, [0.25, 0.25, 0.75]);
//! # Ok::<(), ermine::Error>(())
//! ```

mod isotonic_regression;

pub use isotonic_regression::{Beyond, Direction, IsotonicModel, IsotonicRegression};
