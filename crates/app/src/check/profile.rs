//! What the columns of a model looked like when it was fitted: quantiles, shares of levels, missing values. Kept in
//! the model
//! file, so that new rows can be compared with the old ones when those are gone. No row of the table can be told from
//! it,
//! except the largest and the smallest value of a column and levels that few rows have.

use crate::{
    rows::{Rows, feature_kinds},
    table::{Kind, Schema, Summary},
};
use ermine::{Feature, Matrix, core::rng};
use serde::{Deserialize, Serialize};

/// Steps between the quantiles that are kept.
const STEPS: usize = 20;
/// A table with more columns keeps no profile: it would be longer than the model.
const COLUMNS: usize = 2000;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Rows that were looked at.
    pub rows: usize,
    /// In the order of the features.
    pub columns: Vec<ColumnProfile>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ColumnProfile {
    /// Rows without a value.
    pub missing: usize,
    /// Of numbers: smallest value, quantiles in steps of 5 %, largest value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<f64>,
    /// Of categories: rows with each level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<usize>,
}

impl Profile {
    /// Rows of a table with so many columns that are worth a look.
    pub fn rows(columns: usize) -> usize {
        if columns > COLUMNS { 0 } else { (1_000_000 / columns.max(1)).min(10_000) }
    }

    /// Of some rows of a table; its summary knows the range of all of them.
    pub fn of(rows: &Rows, schema: &Schema, summary: &[Summary]) -> Option<Profile> {
        if schema.columns.len() > COLUMNS {
            return None;
        }
        let mut columns = Vec::new();
        for (j, (field, feature)) in schema.columns.iter().zip(feature_kinds(schema)).enumerate() {
            let mut column = ColumnProfile::default();
            if field.kind == Kind::Text {
                columns.push(column);
                continue;
            }
            let mut present: Vec<f64> = (0..rows.len()).map(|i| rows.x[(i, j)]).filter(|x| x.is_finite()).collect();
            column.missing = rows.len() - present.len();
            match feature {
                Feature::Category { levels } => {
                    column.levels = vec![0; levels as usize];
                    present.iter().for_each(|code| column.levels[*code as usize] += 1);
                }
                Feature::Number => {
                    present.sort_unstable_by(f64::total_cmp);
                    column.quantiles = quantiles(&present);
                    let known = summary.iter().find(|known| known.name == field.name && known.kind == field.kind);
                    let unit = if field.kind == Kind::DateTime { 86_400.0 } else { 1.0 };
                    if let (Some(known), [first, .., last]) = (known, &mut column.quantiles[..]) {
                        *first = known.min.map_or(*first, |min| first.min(min / unit));
                        *last = known.max.map_or(*last, |max| last.max(max / unit));
                    }
                }
            }
            columns.push(column);
        }
        Some(Profile { rows: rows.len(), columns })
    }

    /// Whether what a file says fits its features.
    pub fn check(&self, schema: &Schema) -> bool {
        let sound = |(column, feature): (&ColumnProfile, Feature)| match feature {
            Feature::Category { levels } => {
                column.quantiles.is_empty() && [0, levels as usize].contains(&column.levels.len())
            }
            Feature::Number => {
                let ordered = column.quantiles.is_sorted() && column.quantiles.iter().all(|x| x.is_finite());
                column.levels.is_empty() && [0, STEPS + 1].contains(&column.quantiles.len()) && ordered
            }
        };
        self.columns.len() == schema.columns.len() && self.columns.iter().zip(feature_kinds(schema)).all(sound)
    }

    /// Whether a number lies outside what the model was fitted on.
    pub fn is_outside(&self, column: usize, value: f64) -> bool {
        match &self.columns[column].quantiles[..] {
            [first, .., last] => value < *first || value > *last,
            _ => false,
        }
    }

    /// Rows with the columns of the table, each column by itself: what a single prediction is compared with when the
    /// rows of
    /// the table are gone.
    pub fn background(&self, rows: usize) -> Matrix {
        let mut all = Matrix::zeros(rows, self.columns.len());
        for (j, column) in self.columns.iter().enumerate() {
            let mut order: Vec<usize> = (0..rows).collect();
            order.sort_by_key(|&row| rng::key(j as u64, "background", row as u64));
            for (place, row) in order.into_iter().enumerate() {
                all[(row, j)] = column.at((place as f64 + 0.5) / rows as f64, self.rows);
            }
        }
        all
    }
}

impl ColumnProfile {
    /// The value below which this share of the rows lies; rows without one come last.
    fn at(&self, share: f64, rows: usize) -> f64 {
        let present = rows.saturating_sub(self.missing) as f64 / rows.max(1) as f64;
        if share >= present {
            return f64::NAN;
        }
        let share = share / present;
        if !self.levels.is_empty() {
            let mut left = share * self.levels.iter().sum::<usize>() as f64;
            for (code, count) in self.levels.iter().enumerate() {
                left -= *count as f64;
                if left < 0.0 {
                    return code as f64;
                }
            }
            return f64::NAN;
        }
        if self.quantiles.is_empty() {
            return f64::NAN;
        }
        // A value that was there: between two of them a column of whole numbers has nothing.
        self.quantiles[(share * STEPS as f64).round() as usize]
    }
}

/// Of ordered values; values that were there, not between them.
fn quantiles(ordered: &[f64]) -> Vec<f64> {
    if ordered.is_empty() {
        return Vec::new();
    }
    (0..=STEPS).map(|step| ordered[(step * (ordered.len() - 1) + STEPS / 2) / STEPS]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        rows::{Frame, Labels},
        table::{Column, Table},
    };

    #[test]
    fn a_background_has_the_shares_of_the_table() {
        let number: Vec<f64> = (0..1000).map(|i| if i % 4 == 0 { f64::NAN } else { f64::from(i) }).collect();
        let level = (0..1000).map(|i| if i % 10 == 0 { "rare" } else { "common" });
        let columns = vec![("x".into(), Column::Number(number)), ("k".into(), Column::categories(level))];
        let table = Table::new(columns).unwrap();
        let schema = table.schema();
        let frame = Frame::of(&table, &schema).unwrap();
        let features = feature_kinds(&schema);
        let rows = Rows { x: frame.x, features, labels: Labels::default(), texts: frame.texts, one_unit: false };
        let profile = Profile::of(&rows, &schema, &table.summary()).unwrap();
        assert!(profile.check(&schema));
        assert_eq!((profile.columns[0].missing, &profile.columns[1].levels[..]), (250, &[100, 900][..]));
        assert_eq!((profile.columns[0].quantiles[0], profile.columns[0].quantiles[STEPS]), (1.0, 999.0));
        assert!(profile.is_outside(0, 0.5) && !profile.is_outside(0, 1.0) && !profile.is_outside(0, f64::NAN));
        let background = profile.background(200);
        let missing = (0..200).filter(|&i| background[(i, 0)].is_nan()).count();
        let rare = (0..200).filter(|&i| background[(i, 1)] == 0.0).count();
        assert_eq!((missing, rare), (50, 20));
        // Columns do not depend on each other.
        let both = (0..200).filter(|&i| background[(i, 0)].is_nan() && background[(i, 1)] == 0.0).count();
        assert!(both < 15, "{both}");
    }
}
