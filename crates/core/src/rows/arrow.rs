//! Arrow (arrow-array 60): rows from record batches of numbers, a null being NaN; targets from single columns.
//!
//! ```
//! use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
//! use ermine_core::{Data, rows::arrow};
//! use std::sync::Arc;
//!
//! let width: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.2), None, Some(1.4)]));
//! let petals: ArrayRef = Arc::new(Int32Array::from(vec![5, 5, 4]));
//! let species = StringArray::from(vec!["setosa", "setosa", "versicolor"]);
//! let batch = RecordBatch::try_from_iter([("width", width), ("petals", petals)]).unwrap();
//! let data = Data::from_rows(&batch)?.labels(&arrow::labels(&species)?)?;
//! assert!(data.batch().x.to_matrix()[(1, 0)].is_nan());
//! assert_eq!(arrow::numbers(&**batch.column(1))?, [5.0, 5.0, 4.0]);
//! # Ok::<(), ermine_core::Error>(())
//! ```

use super::{Rows, ToRows};
use crate::{Error, Label, Matrix, Result};
use arrow_array::{Array, RecordBatch, cast::AsArray, types::*};

impl ToRows for RecordBatch {
    fn to_rows(&self) -> Result<Rows<'_>> {
        let mut out = Matrix::zeros(self.num_rows(), self.num_columns());
        for (j, column) in self.columns().iter().enumerate() {
            let named = |error: Error| Error::Data(format!("column '{}': {error}", self.schema().field(j).name()));
            numbers(&**column).map_err(named)?.into_iter().enumerate().for_each(|(i, value)| out[(i, j)] = value);
        }
        Ok(out.into())
    }
}

/// The numbers of a column; booleans are 0 and 1, nulls are NaN.
pub fn numbers(column: &dyn Array) -> Result<Vec<f64>> {
    macro_rules! of {
        ($($type:ident),*) => {$(
            if let Some(column) = column.as_primitive_opt::<$type>() {
                return Ok(column.iter().map(|value| value.map_or(f64::NAN, |value| value as f64)).collect());
            }
        )*};
    }
    of!(
        Float64Type,
        Float32Type,
        Int64Type,
        Int32Type,
        Int16Type,
        Int8Type,
        UInt64Type,
        UInt32Type,
        UInt16Type,
        UInt8Type
    );
    if let Some(column) = column.as_boolean_opt() {
        return Ok(column.iter().map(|value| value.map_or(f64::NAN, |value| f64::from(u8::from(value)))).collect());
    }
    Err(Error::Unsupported(format!("{} is no type of numbers", column.data_type())))
}

/// The labels of a column of text, whole numbers or booleans; a null is refused.
pub fn labels(column: &dyn Array) -> Result<Vec<Label>> {
    fn all<T: Into<Label>>(values: impl Iterator<Item = Option<T>>) -> Result<Vec<Label>> {
        let one = |(i, value): (usize, Option<T>)| {
            value.map(T::into).ok_or_else(|| Error::value(i, None, "the label is null"))
        };
        values.enumerate().map(one).collect()
    }
    macro_rules! of {
        ($($type:ident),*) => {$(
            if let Some(column) = column.as_primitive_opt::<$type>() {
                return all(column.iter());
            }
        )*};
    }
    of!(Int64Type, Int32Type, Int16Type, Int8Type, UInt64Type, UInt32Type, UInt16Type, UInt8Type);
    if let Some(column) = column.as_string_opt::<i32>() {
        return all(column.iter());
    }
    if let Some(column) = column.as_string_opt::<i64>() {
        return all(column.iter());
    }
    match column.as_boolean_opt() {
        Some(column) => all(column.iter()),
        None => Err(Error::Unsupported(format!("{} is no type of labels", column.data_type()))),
    }
}
