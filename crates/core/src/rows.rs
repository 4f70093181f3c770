//! What rows can be made of: slices of arrays, vectors of vectors, matrices, tables of other crates.
//!
//! What lies row by row in memory is lent as it is; anything else is copied once.
//!
//! | type | feature | copied |
//! | --- | --- | --- |
//! | [`X`], [`Data`], [`Matrix`], `[[f64; N]]`, `Vec<[f64; N]>` | | no |
//! | `[Vec<f64>]`, `Vec<Vec<f64>>`, `[&[f64]]` | | yes |
//! | matrices of ndarray 0.17 | `ndarray` | unless row by row |
//! | matrices of nalgebra 0.35, of faer 0.24 | `nalgebra`, `faer` | yes |
//! | record batches of arrow-array 60 | `arrow` | yes |
//!
//! The features are off by default and stand in the manifest of the crate `ermine` too.

#[cfg(feature = "arrow")]
pub mod arrow;
#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "nalgebra")]
mod nalgebra;
#[cfg(feature = "ndarray")]
mod ndarray;

use crate::{Data, Error, Matrix, OwnedCsr, OwnedX, Result, X};

/// Rows that are lent, or that had to be copied.
#[derive(Clone, Debug)]
pub enum Rows<'a> {
    Lent(X<'a>),
    Owned(OwnedX),
}

impl Rows<'_> {
    /// The rows as a model sees them.
    pub fn x(&self) -> X<'_> {
        match self {
            Rows::Lent(x) => *x,
            Rows::Owned(owned) => owned.x(),
        }
    }
}

impl<'a> From<X<'a>> for Rows<'a> {
    fn from(x: X<'a>) -> Self {
        Rows::Lent(x)
    }
}

impl From<OwnedX> for Rows<'_> {
    fn from(x: OwnedX) -> Self {
        Rows::Owned(x)
    }
}

impl From<Matrix> for Rows<'_> {
    fn from(matrix: Matrix) -> Self {
        Rows::Owned(OwnedX::Dense(matrix))
    }
}

impl From<OwnedCsr> for Rows<'_> {
    fn from(rows: OwnedCsr) -> Self {
        Rows::Owned(OwnedX::Sparse(rows))
    }
}

/// Anything that rows can be made of.
///
/// ```
/// use ermine_core::ToRows;
/// assert_eq!([[1.0, 2.0], [3.0, 4.0]].to_rows()?.x().cols(), 2);
/// assert_eq!(vec![vec![1.0], vec![2.0]].to_rows()?.x().rows(), 2);
/// let ragged = vec![vec![1.0], vec![2.0, 3.0]].to_rows().unwrap_err();
/// assert_eq!(ragged.to_string(), "row 1: expected 1 values, found 2");
/// # Ok::<(), ermine_core::Error>(())
/// ```
pub trait ToRows {
    fn to_rows(&self) -> Result<Rows<'_>>;
}

impl ToRows for X<'_> {
    fn to_rows(&self) -> Result<Rows<'_>> {
        Ok(Rows::Lent(*self))
    }
}

impl ToRows for Rows<'_> {
    fn to_rows(&self) -> Result<Rows<'_>> {
        Ok(Rows::Lent(self.x()))
    }
}

impl ToRows for Data<'_> {
    fn to_rows(&self) -> Result<Rows<'_>> {
        Ok(Rows::Lent(self.batch().x))
    }
}

impl ToRows for Matrix {
    fn to_rows(&self) -> Result<Rows<'_>> {
        if !self.is_consistent() {
            return Err(Error::shape("matrix", format!("{} x {} values", self.rows, self.cols), self.values.len()));
        }
        X::dense(&self.values, self.cols).map(Rows::Lent)
    }
}

impl ToRows for OwnedX {
    fn to_rows(&self) -> Result<Rows<'_>> {
        Ok(Rows::Lent(self.x()))
    }
}

impl ToRows for OwnedCsr {
    fn to_rows(&self) -> Result<Rows<'_>> {
        Ok(Rows::Lent(self.x()))
    }
}

impl<const N: usize> ToRows for [[f64; N]] {
    fn to_rows(&self) -> Result<Rows<'_>> {
        X::dense(self.as_flattened(), N).map(Rows::Lent)
    }
}

impl<const N: usize, const M: usize> ToRows for [[f64; N]; M] {
    fn to_rows(&self) -> Result<Rows<'_>> {
        self[..].to_rows()
    }
}

impl<const N: usize> ToRows for Vec<[f64; N]> {
    fn to_rows(&self) -> Result<Rows<'_>> {
        self[..].to_rows()
    }
}

/// Rows of slices, which must be of one length.
fn copied<R: AsRef<[f64]>>(rows: &[R]) -> Result<Rows<'static>> {
    let cols = rows.first().map_or(0, |row| row.as_ref().len());
    if let Some((i, row)) = rows.iter().enumerate().find(|(_, row)| row.as_ref().len() != cols) {
        return Err(Error::shape(format!("row {i}"), format!("{cols} values"), row.as_ref().len()));
    }
    let values = rows.iter().flat_map(|row| row.as_ref().iter().copied()).collect();
    Ok(Matrix::new(values, rows.len(), cols).into())
}

impl ToRows for [Vec<f64>] {
    fn to_rows(&self) -> Result<Rows<'_>> {
        copied(self)
    }
}

impl ToRows for Vec<Vec<f64>> {
    fn to_rows(&self) -> Result<Rows<'_>> {
        copied(self)
    }
}

impl ToRows for [&[f64]] {
    fn to_rows(&self) -> Result<Rows<'_>> {
        copied(self)
    }
}
