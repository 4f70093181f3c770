//! Whether a model still fits the rows it sees.

mod drift;
mod profile;

pub use drift::{ColumnDrift, Drift, Limits, ScoreChange};
pub use profile::{ColumnProfile, Profile};
