//! Shared by models and never registered: losses and solvers.

pub mod columns;
pub mod grow;
pub mod lbfgs;
pub mod least_squares;
pub mod meter;
pub mod survival;
pub mod tree;
