//! Whether a model still fits the rows it sees.

mod diff;
mod drift;
mod known;
mod profile;

pub use diff::{Agreement, Diff, Differing, Paired};
pub use drift::{ColumnDrift, Drift, Limits, ScoreChange};
pub use known::Known;
pub use profile::{ColumnProfile, Profile};
