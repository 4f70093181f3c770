//! What models of outliers have in common.

use crate::core::{choice, param::above_to};

choice! {
    /// Share of the rows of a fit that are outliers; auto for those whose score is beyond what the method says.
    pub enum Contamination: f64 where above_to(0.0, 0.5) => { Auto = "auto" }
}
