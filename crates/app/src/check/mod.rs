//! Whether a model still fits the rows it sees.

mod diff;
mod drift;
mod profile;

pub use diff::{Diff, Paired};
pub use drift::{ColumnDrift, Drift, Limits, ScoreChange};
pub use profile::{ColumnProfile, Profile};
