//! Columns as transformers see them.

use crate::X;

/// Column `j` with the zeros that sparse rows do not store.
pub(crate) fn column_values(x: &X, j: usize) -> Vec<f64> {
    match x {
        X::Dense(x) => x.values.iter().skip(j).step_by(x.cols.max(1)).copied().collect(),
        X::Sparse(_) => {
            let mut out = vec![0.0; x.rows()];
            for (row, out) in x.iter().zip(&mut out) {
                if let crate::core::Row::Sparse { columns, values } = row
                    && let Ok(at) = columns.binary_search(&(j as u32))
                {
                    *out = values[at];
                }
            }
            out
        }
    }
}

/// Fills `dense` with a row, zeros included.
pub(crate) fn fill(row: &crate::core::Row, dense: &mut [f64]) {
    dense.fill(0.0);
    row.for_each(|j, value| dense[j] = value);
}

/// `name` or, where there are no names, `x` and the number of the column.
pub(crate) fn name_of(input: &[String], j: usize) -> String {
    input.get(j).cloned().unwrap_or_else(|| format!("x{j}"))
}
