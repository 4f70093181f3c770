//! Rows, sums, parameters and linear algebra: what every Ermine model is made of. No I/O, no printing, no algorithm.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`data`] | `X` (dense or sparse), `Row`, `Target`, `Batch`: views that a model sees |
//! | [`owned`] | rows, targets and data that own their numbers: subsets, sparse results |
//! | [`source`] | where batches come from: memory, disk, one worker's shard |
//! | [`reduce`](mod@reduce) | training as a sum along one fixed merge tree |
//! | [`stats`] | mergeable means, scatter matrices, class weights |
//! | [`ctx`] | seed, threads, progress, cancelling, the exchange between workers |
//! | [`rng`] | random streams by name |
//! | [`param`] | parameters declared once |
//! | [`rows`], [`label`] | what rows and labels can be made of |
//! | [`fit`] | a fitted model: predictions, probabilities, new features |
//! | [`model`] | estimators, models and their entries in the list |
//! | [`log`] | how a fit went and its certificate |
//! | [`linalg`], [`simd`] | the door to linear algebra, and the hot loops |
//! | [`trace`] | what a fit knew after each of its steps |
//! | [`memory`] | what a parameter asks for, priced before it is asked |
//! | [`error`] | the one error type |

pub mod ctx;
pub mod data;
pub mod error;
pub mod fit;
pub mod label;
pub mod linalg;
pub mod log;
pub mod memory;
pub mod model;
pub mod owned;
pub mod param;
pub mod reduce;
pub mod rng;
pub mod rows;
pub mod simd;
pub mod source;
pub mod stats;
pub mod trace;

pub use ctx::{Cancel, Ctx};
pub use data::{Batch, Feature, Row, Target, TargetKind, X};
pub use error::{Error, Result};
pub use fit::Fit;
pub use label::Label;
pub use linalg::Matrix;
pub use owned::{OwnedCsr, OwnedData, OwnedTarget, OwnedX};
pub use reduce::{Reduce, Sweep, reduce, sweep};
pub use rows::{Rows, ToRows};
pub use source::{Data, Shape, Source};
