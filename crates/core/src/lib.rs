//! Rows, sums, parameters and linear algebra: what every Ermine model is made of. No I/O, no printing, no algorithm.
pub mod error;
pub use error::{Error, Result};
