//! From typed columns to numbers: categories become codes, missing values NaN, dates days. The target is encoded apart.

use crate::{
    fit::Texts,
    table::{Category, Column, Field, Kind, MISSING, Schema, Table, UNSEEN, date_text, number_text},
};
use ermine::{Error, Feature, Matrix, Result, Target};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Raw feature columns as numbers.
pub struct Frame {
    pub x: Matrix,
    /// Columns with levels that the schema does not know, and how many rows have them.
    pub unseen: Vec<(String, usize)>,
    /// The documents of text columns; their cells hold row numbers.
    pub texts: Texts,
}

/// What each column of the schema means to a model.
pub fn feature_kinds(schema: &Schema) -> Vec<Feature> {
    let kind = |field: &Field| match field.kind {
        Kind::Category => Feature::Category { levels: field.levels.len() as u32 },
        _ => Feature::Number,
    };
    schema.columns.iter().map(kind).collect()
}

impl Frame {
    /// The columns of the schema, row by row. The table has been read against that schema or gave it.
    pub fn of(table: &Table, schema: &Schema) -> Result<Frame> {
        let columns: Vec<&Column> =
            schema.columns.iter().map(|field| table.column(&field.name)).collect::<Result<_>>()?;
        for (column, field) in columns.iter().zip(&schema.columns) {
            if column.kind() != field.kind {
                let problem = format!("it holds {}, but the model was fitted on {}", column.kind(), field.kind);
                return Err(Error::Value {
                    row: None,
                    column: Some(ermine::core::error::Column::Name(field.name.clone())),
                    problem,
                });
            }
        }
        let mut x = Matrix::zeros(table.rows(), columns.len());
        // Blocks of rows, so that a line of the cache is filled by all columns before it leaves.
        const BLOCK: usize = 256;
        let fill = |(block, out): (usize, &mut [f64])| {
            for (j, column) in columns.iter().enumerate() {
                let rows = out.chunks_exact_mut(columns.len()).map(|row| &mut row[j]);
                copy(column, block * BLOCK, rows);
            }
        };
        match (columns.len(), table.rows()) {
            (0, _) | (_, 0) => {}
            // A few rows, as in a server, should not pay for threads.
            (_, rows) if rows <= BLOCK => fill((0, &mut x.values)),
            _ => x.values.par_chunks_mut(BLOCK * columns.len()).enumerate().for_each(fill),
        }
        let unseen = columns.iter().zip(&schema.columns).filter_map(|(column, field)| match column {
            Column::Category(category) => Some((field.name.clone(), category.unseen())).filter(|(_, count)| *count > 0),
            _ => None,
        });
        let texts = columns.iter().enumerate().filter_map(|(j, column)| match column {
            Column::Text(text) => Some((j, Arc::new(text.clone()))),
            _ => None,
        });
        Ok(Frame { unseen: unseen.collect(), texts: Texts(texts.collect()), x })
    }
}

fn copy<'a>(column: &Column, first: usize, out: impl Iterator<Item = &'a mut f64>) {
    match column {
        Column::Number(values) | Column::Date(values) => {
            out.zip(&values[first..]).for_each(|(out, value)| *out = *value)
        }
        // Days, like dates.
        Column::DateTime(values) => out.zip(&values[first..]).for_each(|(out, value)| *out = value / 86_400.0),
        Column::Boolean(values) => {
            out.zip(&values[first..])
                .for_each(|(out, value)| *out = value.map_or(f64::NAN, |v| f64::from(u8::from(v))));
        }
        Column::Category(Category { codes, .. }) => out.zip(&codes[first..]).for_each(|(out, &code)| {
            *out = if code == MISSING || code == UNSEEN { f64::NAN } else { f64::from(code) };
        }),
        Column::Text(_) => out.enumerate().for_each(|(row, out)| *out = (first + row) as f64),
    }
}

/// A target as a model takes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Encoded {
    Real(Vec<f64>),
    Class { codes: Vec<u32>, names: Vec<String> },
}

impl Encoded {
    /// A number as it is; rows where it is missing are NaN.
    pub fn real(name: &str, column: &Column) -> Result<Encoded> {
        match column {
            Column::Number(values) | Column::Date(values) | Column::DateTime(values) => {
                Ok(Encoded::Real(values.clone()))
            }
            other => {
                Err(Error::Data(format!("the target '{name}' holds {}, but a regression needs numbers", other.kind()))
                    .hint("choose a classification model, or --task classification"))
            }
        }
    }

    /// Distinct values in their natural order as classes; a missing value has no class (`MISSING`).
    pub fn classes(column: &Column) -> Encoded {
        match column {
            Column::Category(Category { codes, levels }) => {
                let mut used = vec![false; levels.len()];
                for &code in codes.iter().filter(|&&code| (code as usize) < levels.len()) {
                    used[code as usize] = true;
                }
                let mut order: Vec<usize> = (0..levels.len()).filter(|&level| used[level]).collect();
                order.sort_by(|&a, &b| levels[a].cmp(&levels[b]));
                let mut place = vec![MISSING; levels.len()];
                order.iter().enumerate().for_each(|(class, &level)| place[level] = class as u32);
                let codes = codes.iter().map(|&code| place.get(code as usize).copied().unwrap_or(MISSING)).collect();
                Encoded::Class { codes, names: order.into_iter().map(|level| levels[level].clone()).collect() }
            }
            Column::Boolean(values) => {
                let (has_false, has_true) = (values.contains(&Some(false)), values.contains(&Some(true)));
                let names: Vec<String> = [(has_false, "false"), (has_true, "true")]
                    .iter()
                    .filter(|(has, _)| *has)
                    .map(|(_, n)| n.to_string())
                    .collect();
                let code = |value: bool| u32::from(value && has_false);
                Encoded::Class { codes: values.iter().map(|value| value.map_or(MISSING, code)).collect(), names }
            }
            Column::Number(values) => by_value(values, number_text),
            Column::Date(values) => by_value(values, date_text),
            Column::DateTime(values) => by_value(values, crate::table::datetime_text),
            Column::Text(text) => {
                let values: Vec<&str> = text.iter().collect();
                let mut names: Vec<&str> = values.iter().copied().filter(|value| !value.is_empty()).collect();
                names.sort_unstable();
                names.dedup();
                let code = |value: &&str| names.binary_search(value).map_or(MISSING, |class| class as u32);
                Encoded::Class {
                    codes: values.iter().map(code).collect(),
                    names: names.iter().map(|name| name.to_string()).collect(),
                }
            }
        }
    }

    /// Codes of a column under the class names of a model; a value it does not know has none.
    pub fn with_names(column: &Column, names: &[String]) -> Encoded {
        let Encoded::Class { codes, names: found } = Encoded::classes(column) else { unreachable!("classes") };
        // True and TRUE are the same.
        let is_same = |known: &String, name: &String| match column {
            Column::Boolean(_) => known.eq_ignore_ascii_case(name),
            _ => known == name,
        };
        let place: Vec<u32> = found
            .iter()
            .map(|name| names.iter().position(|known| is_same(known, name)).map_or(MISSING, |place| place as u32))
            .collect();
        let codes = codes.iter().map(|&code| place.get(code as usize).copied().unwrap_or(MISSING)).collect();
        Encoded::Class { codes, names: names.to_vec() }
    }

    pub fn is_missing(&self, row: usize) -> bool {
        match self {
            Encoded::Real(values) => values[row].is_nan(),
            Encoded::Class { codes, .. } => codes[row] == MISSING,
        }
    }

    pub fn take(&self, rows: &[usize]) -> Encoded {
        match self {
            Encoded::Real(values) => Encoded::Real(rows.iter().map(|&i| values[i]).collect()),
            Encoded::Class { codes, names } => {
                Encoded::Class { codes: rows.iter().map(|&i| codes[i]).collect(), names: names.clone() }
            }
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Encoded::Real(values) => values.len(),
            Encoded::Class { codes, .. } => codes.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a row, or its class code, as a number.
    pub fn number(&self, row: usize) -> f64 {
        match self {
            Encoded::Real(values) => values[row],
            Encoded::Class { codes, .. } => f64::from(codes[row]),
        }
    }

    /// A target of this kind from numbers.
    pub fn of_numbers(&self, numbers: impl Iterator<Item = f64>) -> Encoded {
        match self {
            Encoded::Real(_) => Encoded::Real(numbers.collect()),
            Encoded::Class { names, .. } => {
                Encoded::Class { codes: numbers.map(|code| code as u32).collect(), names: names.clone() }
            }
        }
    }

    /// Adds the target of the rows that follow.
    pub fn append(&mut self, more: Encoded) {
        match (self, more) {
            (Encoded::Real(all), Encoded::Real(more)) => all.extend(more),
            (Encoded::Class { codes: all, .. }, Encoded::Class { codes: more, .. }) => all.extend(more),
            _ => unreachable!("a target is of one kind"),
        }
    }

    pub fn target(&self) -> Target<'_> {
        match self {
            Encoded::Real(values) => Target::Real { values, cols: 1 },
            Encoded::Class { codes, names } => Target::Class { codes, classes: names.len() },
        }
    }
}

fn by_value(values: &[f64], text: impl Fn(f64) -> String) -> Encoded {
    let mut distinct: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    let code = |value: &f64| match value.is_nan() {
        true => MISSING,
        false => distinct.partition_point(|other| other < value) as u32,
    };
    Encoded::Class {
        codes: values.iter().map(code).collect(),
        names: distinct.iter().map(|&value| text(value)).collect(),
    }
}
