//! ndarray 0.17: rows from `ArrayBase<_, Ix2>`, lent where they lie row by row; an `Array2` from a [`Matrix`].
//!
//! ```
//! use ermine_core::Data;
//! use ndarray::{Array2, array};
//!
//! let (x, y) = (array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], array![1.0, 2.0, 3.0]);
//! let data = Data::from_rows(&x)?.real(y.to_vec())?;
//! assert_eq!(data.batch().x.to_matrix().row(1), [3.0, 4.0]);
//! let turned = x.t(); // another order in memory: copied
//! assert_eq!(Array2::from(Data::from_rows(&turned)?.batch().x.to_matrix()), turned);
//! # Ok::<(), ermine_core::Error>(())
//! ```

use super::{Rows, ToRows};
use crate::{Matrix, Result, X};
use ndarray::{Array2, ArrayBase, Data, Ix2};

impl<S: Data<Elem = f64>> ToRows for ArrayBase<S, Ix2> {
    fn to_rows(&self) -> Result<Rows<'_>> {
        match self.as_slice() {
            Some(values) => X::dense(values, self.ncols()).map(Rows::Lent),
            None => Ok(Matrix::new(self.iter().copied().collect(), self.nrows(), self.ncols()).into()),
        }
    }
}

impl From<Matrix> for Array2<f64> {
    fn from(matrix: Matrix) -> Self {
        let shape = (matrix.rows, matrix.cols);
        Array2::from_shape_vec(shape, matrix.values).expect("a matrix has as many values as it says")
    }
}
