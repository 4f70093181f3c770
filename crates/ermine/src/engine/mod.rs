//! Shared by models and never registered: losses and solvers.

pub mod gram;
pub mod kdtree;
pub mod kernel;
pub mod lbfgs;
pub mod least_squares;
pub mod neighbours;
pub mod points;
pub mod smo;
