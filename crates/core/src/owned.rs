//! Rows that own their numbers: what a split picks out and what a transformer makes.

use crate::{
    Batch, Data, Error, Feature, Matrix, Result, Row, Target, X,
    data::{Csr, Dense},
};
use serde::{Deserialize, Serialize};

/// Sparse rows with their own storage; see [`Csr`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnedCsr {
    pub starts: Vec<usize>,
    pub columns: Vec<u32>,
    pub values: Vec<f64>,
    pub cols: usize,
}

impl OwnedCsr {
    /// No rows yet.
    pub fn new(cols: usize) -> Self {
        OwnedCsr { starts: vec![0], columns: Vec::new(), values: Vec::new(), cols }
    }

    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Puts a value into the row under way; columns must increase.
    pub fn push(&mut self, column: usize, value: f64) {
        self.columns.push(column as u32);
        self.values.push(value);
    }

    pub fn end_row(&mut self) {
        self.starts.push(self.values.len());
    }

    /// Adds rows at the end.
    pub fn append(&mut self, other: OwnedCsr) {
        let offset = self.values.len();
        self.starts.extend(other.starts[1..].iter().map(|start| start + offset));
        self.columns.extend(other.columns);
        self.values.extend(other.values);
    }

    /// The rows as a model sees them.
    pub fn x(&self) -> X<'_> {
        X::Sparse(Csr { starts: &self.starts, columns: &self.columns, values: &self.values, cols: self.cols })
    }

    /// Whether the parts fit together, for what was read from a file.
    pub fn check(&self) -> Result<()> {
        X::csr(&self.starts, &self.columns, &self.values, self.cols).map(drop)
    }
}

/// Rows with their own storage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum OwnedX {
    Dense(Matrix),
    Sparse(OwnedCsr),
}

impl OwnedX {
    pub fn x(&self) -> X<'_> {
        match self {
            OwnedX::Dense(m) => X::Dense(Dense { values: &m.values, rows: m.rows, cols: m.cols }),
            OwnedX::Sparse(csr) => csr.x(),
        }
    }

    /// The columns of all pieces side by side, as sparse rows or dense ones. Every piece has the same rows.
    pub fn hstack(pieces: &[OwnedX], sparse: bool) -> Self {
        let rows = pieces.first().map_or(0, |piece| piece.x().rows());
        let cols = pieces.iter().map(|piece| piece.x().cols()).sum();
        if !sparse {
            let mut out = Matrix::zeros(rows, cols);
            let mut start = 0;
            for piece in pieces.iter().map(OwnedX::x) {
                piece.iter().enumerate().for_each(|(i, row)| row.for_each(|j, value| out[(i, start + j)] = value));
                start += piece.cols();
            }
            return OwnedX::Dense(out);
        }
        let mut out = OwnedCsr::new(cols);
        for i in 0..rows {
            let mut start = 0;
            for piece in pieces.iter().map(OwnedX::x) {
                piece.row(i).for_each(|j, value| {
                    if value != 0.0 {
                        out.push(start + j, value);
                    }
                });
                start += piece.cols();
            }
            out.end_row();
        }
        OwnedX::Sparse(out)
    }

    /// The rows with these numbers, in this order, dense or sparse as they were.
    pub fn of_rows(x: &X, rows: &[usize]) -> Self {
        OwnedX::take(x, rows.iter().copied())
    }

    /// The rows with these numbers, in this order, dense or sparse as they were.
    pub fn take(x: &X, rows: impl IntoIterator<Item = usize>) -> Self {
        let rows = rows.into_iter();
        match x {
            X::Dense(_) => {
                let mut values = Vec::with_capacity(rows.size_hint().0 * x.cols());
                let mut count = 0;
                for i in rows {
                    if let Row::Dense(row) = x.row(i) {
                        values.extend_from_slice(row);
                    }
                    count += 1;
                }
                OwnedX::Dense(Matrix::new(values, count, x.cols()))
            }
            X::Sparse(_) => {
                let mut out = OwnedCsr::new(x.cols());
                for i in rows {
                    x.row(i).for_each(|j, value| out.push(j, value));
                    out.end_row();
                }
                OwnedX::Sparse(out)
            }
        }
    }

    /// All rows.
    pub fn all(x: &X) -> Self {
        OwnedX::take(x, 0..x.rows())
    }

    /// The same rows without their zeros, where these are most numbers: products are then made of what is left.
    pub fn thinned(self) -> Self {
        let OwnedX::Dense(Matrix { values, rows, cols }) = &self else { return self };
        let stored = values.iter().filter(|value| **value != 0.0).count();
        if stored * 4 > values.len() {
            return self;
        }
        let mut out = OwnedCsr::new(*cols);
        for row in values.chunks_exact((*cols).max(1)).take(*rows) {
            row.iter().enumerate().filter(|cell| *cell.1 != 0.0).for_each(|(j, &value)| out.push(j, value));
            out.end_row();
        }
        OwnedX::Sparse(out)
    }

    pub fn rows(&self) -> usize {
        match self {
            OwnedX::Dense(m) => m.rows,
            OwnedX::Sparse(csr) => csr.starts.len().saturating_sub(1),
        }
    }

    pub fn cols(&self) -> usize {
        match self {
            OwnedX::Dense(m) => m.cols,
            OwnedX::Sparse(csr) => csr.cols,
        }
    }

    pub fn to_matrix(&self) -> Matrix {
        match self {
            OwnedX::Dense(m) => m.clone(),
            OwnedX::Sparse(_) => self.x().to_matrix(),
        }
    }

    /// Whether rows that were read from a file hold together.
    pub fn check(&self) -> Result<()> {
        match self {
            OwnedX::Dense(m) if m.is_consistent() && m.cols > 0 => Ok(()),
            OwnedX::Dense(m) => Err(Error::shape("stored rows", format!("{} x {}", m.rows, m.cols), m.values.len())),
            // A width beyond memory would be refused by nobody else.
            OwnedX::Sparse(csr) if csr.cols == 0 || csr.cols > u32::MAX as usize => {
                Err(Error::shape("stored rows", "at least one column", csr.cols))
            }
            OwnedX::Sparse(csr) => csr.check(),
        }
    }

    /// The columns with these numbers, in this order.
    pub fn of_columns(x: &X, columns: &[usize]) -> Self {
        match x {
            X::Dense(dense) => {
                let mut values = Vec::with_capacity(dense.rows * columns.len());
                for row in dense.values.chunks_exact(dense.cols.max(1)) {
                    values.extend(columns.iter().map(|&j| row[j]));
                }
                OwnedX::Dense(Matrix::new(values, dense.rows, columns.len()))
            }
            X::Sparse(_) => {
                let mut places = vec![Vec::new(); x.cols()];
                columns.iter().enumerate().for_each(|(place, &j)| places[j].push(place));
                let mut out = OwnedCsr::new(columns.len());
                let mut cells: Vec<(usize, f64)> = Vec::new();
                for row in x.iter() {
                    cells.clear();
                    row.for_each(|j, value| cells.extend(places[j].iter().map(|&place| (place, value))));
                    cells.sort_unstable_by_key(|cell| cell.0);
                    cells.iter().for_each(|&(place, value)| out.push(place, value));
                    out.end_row();
                }
                OwnedX::Sparse(out)
            }
        }
    }
}

/// A target with its own storage.
#[derive(Clone, Debug, PartialEq)]
pub enum OwnedTarget {
    None,
    Real { values: Vec<f64>, cols: usize },
    Class { codes: Vec<u32>, classes: usize },
}

impl OwnedTarget {
    pub fn of_rows(y: &Target, rows: &[usize]) -> Self {
        match *y {
            Target::None => OwnedTarget::None,
            Target::Real { values, cols } => {
                let picked = rows.iter().flat_map(|&i| values[i * cols..(i + 1) * cols].iter().copied());
                OwnedTarget::Real { values: picked.collect(), cols }
            }
            Target::Class { codes, classes } => {
                OwnedTarget::Class { codes: rows.iter().map(|&i| codes[i]).collect(), classes }
            }
        }
    }

    pub fn target(&self) -> Target<'_> {
        match self {
            OwnedTarget::None => Target::None,
            OwnedTarget::Real { values, cols } => Target::Real { values, cols: *cols },
            OwnedTarget::Class { codes, classes } => Target::Class { codes, classes: *classes },
        }
    }
}

/// Rows, target and weights that own their numbers; [`OwnedData::data`] lends them to a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedData {
    pub x: OwnedX,
    pub y: OwnedTarget,
    pub weights: Option<Vec<f64>>,
    pub features: Vec<Feature>,
}

impl OwnedData {
    /// The rows with these numbers, in this order; a number may come twice.
    pub fn of_rows(batch: &Batch, rows: &[usize]) -> Result<Self> {
        if let Some(&row) = rows.iter().find(|&&row| row >= batch.rows()) {
            return Err(Error::shape("rows", format!("numbers below {}", batch.rows()), row));
        }
        Ok(OwnedData {
            x: OwnedX::of_rows(&batch.x, rows),
            y: OwnedTarget::of_rows(&batch.y, rows),
            weights: batch.weights.map(|weights| rows.iter().map(|&i| weights[i]).collect()),
            features: Vec::new(),
        })
    }

    /// What each column means, as the source said; empty when all are numbers.
    pub fn with_features(self, features: &[Feature]) -> Self {
        OwnedData { features: features.to_vec(), ..self }
    }

    pub fn data(&self) -> Result<Data<'_>> {
        let data = Data::new(self.x.x()).target(self.y.target())?.features(&self.features[..])?;
        match &self.weights {
            Some(weights) => data.weights(weights),
            None => Ok(data),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_are_picked_alike_dense_and_sparse() {
        let values = [0.0, 1.0, 0.0, 2.0, 0.0, 3.0, 4.0, 0.0, 0.0, 5.0, 6.0, 0.0];
        let dense = X::dense(&values, 3).unwrap();
        let mut csr = OwnedCsr::new(3);
        for row in values.chunks(3) {
            row.iter().enumerate().filter(|cell| *cell.1 != 0.0).for_each(|(j, &value)| csr.push(j, value));
            csr.end_row();
        }
        csr.check().unwrap();
        for rows in [vec![], vec![2, 0, 2], vec![3, 1]] {
            let (a, b) = (OwnedX::of_rows(&dense, &rows), OwnedX::of_rows(&csr.x(), &rows));
            assert_eq!(a.x().to_matrix(), b.x().to_matrix());
        }
        for columns in [vec![2, 0], vec![1, 1, 0], vec![2]] {
            let (a, b) = (OwnedX::of_columns(&dense, &columns), OwnedX::of_columns(&csr.x(), &columns));
            assert_eq!(a.x().to_matrix(), b.x().to_matrix());
            for sparse in [false, true] {
                let all = OwnedX::hstack(&[a.clone(), b.clone()], sparse);
                assert_eq!(matches!(all, OwnedX::Sparse(_)), sparse);
                let twice: Vec<usize> = columns.iter().chain(&columns).copied().collect();
                assert_eq!(all.x().to_matrix(), OwnedX::of_columns(&dense, &twice).x().to_matrix());
            }
        }
    }
}
