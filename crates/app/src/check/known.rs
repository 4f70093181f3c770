//! The rows of a file as a model takes them, with or without what it predicts.

use crate::{
    Fitted, Supervised,
    read::{self, ReadOptions},
    rows::{Encoded, Frame, Labels, Rows},
    table::{Field, Kind, Table},
};
use ermine::{Error, Result, Task};
use std::path::Path;

/// Rows of a file whose target is known.
pub struct Known {
    pub rows: Rows,
    /// Which they are in the file, counted from 0.
    pub numbers: Vec<usize>,
    /// What was taken for granted, not known or left out.
    pub said: Vec<String>,
}

impl Fitted {
    /// The columns of the model, and its target if asked for. Also what was taken for granted and what the model does
    /// not know.
    pub fn rows_of(&self, path: &Path, read: &ReadOptions, with_target: bool) -> Result<(Table, Frame, Vec<String>)> {
        let mut schema = self.header.schema.clone();
        if with_target {
            let target = self.header.target.as_ref();
            let target = target.ok_or_else(|| Error::Unsupported(format!("{} has no target", self.header.model)))?;
            let levels = if target.kind == Kind::Category { target.classes.clone() } else { Vec::new() };
            let levels = levels.into();
            schema.columns.push(Field { name: target.name.clone(), kind: target.kind, levels, form: target.form });
        }
        let table = read::read(path, &ReadOptions { schema: Some(schema), lenient: true, ..read.clone() })?;
        let frame = self.frame(&table)?;
        let unseen = frame.unseen.iter().map(|(column, rows)| {
            let rows = if *rows == 1 { "1 row has".into() } else { format!("{rows} rows have") };
            format!("column '{column}': {rows} a category that the model has not seen; it is treated as unknown")
        });
        let said = table.assumed().iter().cloned().chain(unseen).collect();
        Ok((table, frame, said))
    }

    /// The rows with a known target, as a supervised model takes them.
    pub fn known_rows(&self, path: &Path, read: &ReadOptions) -> Result<Known> {
        let task = self.task()?;
        let target = self.header.target.as_ref().filter(|_| task.is_supervised());
        let target = target
            .ok_or_else(|| Error::Unsupported(format!("{} has no target to evaluate against", self.header.model)))?;
        let (table, frame, mut said) = self.rows_of(path, read, true)?;
        let column = table.column(&target.name)?;
        let truth = match task {
            Task::Classification => Encoded::with_names(column, &target.classes),
            _ => Encoded::real(&target.name, column)?,
        };
        let numbers: Vec<usize> = (0..table.rows()).filter(|&row| !truth.is_missing(row)).collect();
        if numbers.is_empty() {
            return Err(Error::Data(format!("no row has a known value of '{}'", target.name)));
        }
        if numbers.len() < table.rows() {
            let left_out = table.rows() - numbers.len();
            said.push(format!("{left_out} rows without a value of '{}' are left out", target.name));
        }
        let features = self.header.features();
        let labels = Labels { target: Some(truth), ..Labels::default() };
        let rows = Rows { x: frame.x, features, labels, texts: frame.texts, one_unit: false };
        Ok(Known { rows: rows.take(&numbers), numbers, said })
    }
}
