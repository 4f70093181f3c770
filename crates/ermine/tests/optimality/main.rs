//! What a fit says of itself is true: on hard problems the objective of the returned coefficients is no further from
//! the optimum
//! than the bound in the log, by a reference solver of 32 digits that shares nothing with the engine.
//!
//! `ERMINE_OPTIMALITY=count` tries so many problems of each model instead of a few.

mod correlated;
mod hard;
mod huber;
mod quad;
mod quantile;
mod reference;

pub fn count(few: usize) -> usize {
    std::env::var("ERMINE_OPTIMALITY").ok().and_then(|text| text.parse().ok()).unwrap_or(few)
}
