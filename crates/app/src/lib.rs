//! Files in, reports out: the road from a table on disk to a fitted model and back. Rooms, in the order in which data
//! passes through:
//!
//! | module | from what to what |
//! | --- | --- |
//! | [`read`] | a file -> a table in memory, or a stream of tables |
//! | [`table`] | typed columns, and what a cell means |
//! | [`inspect`] | what is odd about a table: ids, leaks, copies, rare classes |
//! | [`plan`] | target, task, features, formula -> a plan |
//! | [`rows`] | encoded rows in memory, on disk, or shared out over workers |
//! | [`choose`] | candidates, rungs of rows, folds, search -> a choice |
//! | [`fit`] | preparation and model on a set of rows; checkpoints |
//! | [`judge`] | predictions -> scores with intervals |
//! | [`explain`] | importance, dependence, Shapley values, curves, bias and variance |
//! | [`report`] | plain data -> JSON, HTML |
//! | [`store`] | the model file |
//! | [`wire`] | rows over a wire -> a table; predictions in the same form |
//! | [`check`] | whether a model still fits the rows it sees |
//! | [`export`] | a model in other programs |
//! | [`run`] | the whole story |

pub mod check;
pub mod choose;
pub mod explain;
pub mod export;
pub mod fit;
pub mod inspect;
pub mod judge;
pub mod plan;
pub mod read;
pub mod report;
pub mod rows;
pub mod run;
pub mod store;
pub mod table;
pub mod wire;

pub use choose::Effort;
pub use plan::Supervised;
pub use report::Report;
pub use run::Job;
pub use store::{Fitted, file};
