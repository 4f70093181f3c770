//! Files in, reports out: the road from a table on disk to a fitted model and back.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`table`], [`csv`], [`parquet`], [`idx`] | files into typed columns, whole or in chunks |
//! | [`frame`] | typed columns into numbers; the target into values or classes |
//! | [`disk`] | rows larger than memory |
//! | [`job`] | one run from file to fitted model |
//! | [`checkpoint`] | the state of a run that may be killed |
//! | [`score`], [`report`] | how good it is, as plain data |
//! | [`fitted`], [`file`](mod@file) | a model with all it takes to use it, and its file |

pub mod checkpoint;
pub mod csv;
pub mod disk;
pub mod file;
pub mod fitted;
pub mod frame;
pub mod idx;
pub mod job;
pub mod parquet;
pub mod report;
pub mod score;
pub mod table;

pub use fitted::Fitted;
pub use job::{Job, Supervised};
pub use report::Report;
