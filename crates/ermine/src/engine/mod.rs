//! Shared by models and never registered: losses, families and solvers.

pub mod coordinate;
pub mod family;
pub mod lbfgs;
pub mod least_squares;
pub mod quantile;
pub mod loss;
pub mod newton;
pub mod special;
pub mod gram;
pub mod kdtree;
pub mod kernel;
pub mod lbfgs;
pub mod least_squares;
pub mod neighbours;
pub mod points;
pub mod smo;
pub mod em;
pub mod lbfgs;
pub mod least_squares;
pub mod spectrum;
