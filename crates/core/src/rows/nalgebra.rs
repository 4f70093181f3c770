//! nalgebra 0.35: rows from matrices of any size and storage, copied since nalgebra stores columns; a `DMatrix` from a
//! [`Matrix`].
//!
//! ```
//! use ermine_core::Data;
//! use nalgebra::{DMatrix, DVector};
//!
//! let x = DMatrix::from_row_slice(3, 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
//! let y = DVector::from_vec(vec![1.0, 2.0, 3.0]);
//! let data = Data::from_rows(&x)?.real(y.as_slice())?;
//! assert_eq!(data.batch().x.to_matrix().row(1), [3.0, 4.0]);
//! assert_eq!(DMatrix::from(data.batch().x.to_matrix()), x);
//! # Ok::<(), ermine_core::Error>(())
//! ```

use super::{Rows, ToRows};
use crate::{Matrix, Result};
use nalgebra::{DMatrix, Dim, RawStorage};

impl<R: Dim, C: Dim, S: RawStorage<f64, R, C>> ToRows for nalgebra::Matrix<f64, R, C, S> {
    fn to_rows(&self) -> Result<Rows<'_>> {
        Ok(Matrix::from_fn(self.nrows(), self.ncols(), |i, j| self[(i, j)]).into())
    }
}

impl From<Matrix> for DMatrix<f64> {
    fn from(matrix: Matrix) -> Self {
        DMatrix::from_row_slice(matrix.rows, matrix.cols, &matrix.values)
    }
}
