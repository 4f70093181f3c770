//! faer 0.24: rows from `Mat` and `MatRef`, copied since faer stores columns; a `Mat` from a [`Matrix`].
//!
//! ```
//! use ermine_core::Data;
//! use faer::{Mat, mat};
//!
//! let x = mat![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
//! let data = Data::from_rows(&x)?.real(&[1.0, 2.0, 3.0])?;
//! assert_eq!(data.batch().x.to_matrix().row(1), [3.0, 4.0]);
//! assert_eq!(Mat::from(data.batch().x.to_matrix()), x);
//! # Ok::<(), ermine_core::Error>(())
//! ```

use super::{Rows, ToRows};
use crate::{Matrix, Result};
use faer::{Mat, MatRef};

impl ToRows for MatRef<'_, f64> {
    fn to_rows(&self) -> Result<Rows<'_>> {
        Ok(Matrix::from_fn(self.nrows(), self.ncols(), |i, j| self[(i, j)]).into())
    }
}

impl ToRows for Mat<f64> {
    fn to_rows(&self) -> Result<Rows<'_>> {
        Ok(Matrix::from_fn(self.nrows(), self.ncols(), |i, j| self[(i, j)]).into())
    }
}

impl From<Matrix> for Mat<f64> {
    fn from(matrix: Matrix) -> Self {
        Mat::from_fn(matrix.rows, matrix.cols, |i, j| matrix[(i, j)])
    }
}
