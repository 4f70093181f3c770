//! Files in, reports out: the road from a table on disk to a fitted model and back.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`table`], [`csv`], [`parquet`], [`idx`] | files into typed columns, whole or in chunks |
//! | [`frame`] | typed columns into numbers; the target into values or classes |
//! | [`disk`] | rows larger than memory |
//! | [`terms`], [`recipe`], [`part`] | features from raw columns, what is learnt before the model, both as one fit |
//! | [`job`] | one run from file to fitted model |
//! | [`look`], [`compare`](mod@compare), [`explain`] | what the data are, which model, why it says what it says |
//! | [`checkpoint`] | the state of a run that may be killed |
//! | [`score`], [`report`] | how good it is, as plain data |
//! | [`html`] | a report to look at |
//! | [`fitted`], [`file`](mod@file) | a model with all it takes to use it, and its file |
//! | [`writer`] | the one way a file is written |

pub mod checkpoint;
pub mod compare;
pub mod csv;
pub mod disk;
pub mod explain;
pub mod file;
pub mod fitted;
pub mod frame;
pub mod html;
pub mod idx;
pub mod job;
pub mod look;
pub mod parquet;
pub mod part;
pub mod parts;
pub mod recipe;
pub mod report;
pub mod score;
pub mod table;
pub mod terms;
pub mod writer;

pub use fitted::Fitted;
pub use job::{Job, Supervised};
pub use report::Report;
