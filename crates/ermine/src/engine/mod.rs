//! Shared by models and never registered: losses and solvers.

pub mod bins;
pub mod boost_tree;
pub mod columns;
pub mod grow;
pub mod lbfgs;
pub mod least_squares;
pub mod members;
pub mod meter;
pub mod shap;
pub mod survival;
pub mod tree;
