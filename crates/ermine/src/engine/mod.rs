//! Shared by models and never registered: losses and solvers.

pub mod lbfgs;
pub mod least_squares;
pub mod quantile;
