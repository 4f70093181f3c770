//! Shared by models and never registered: losses, families and solvers.

pub mod coordinate;
pub mod em;
pub mod family;
pub mod gram;
pub mod kdtree;
pub mod kernel;
pub mod lbfgs;
pub mod least_squares;
pub mod loss;
pub mod neighbours;
pub mod newton;
pub mod points;
pub mod quantile;
pub mod smo;
pub mod special;
pub mod spectrum;
