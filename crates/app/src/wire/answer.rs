//! Predictions in the form that their rows came in.

use super::Form;
use crate::{
    Fitted,
    explain::RowExplanation,
    fit::Texts,
    read,
    store::Width,
    table::{Category, Column, Kind, Table},
};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use ermine::{Ctx, Error, Matrix, Output, Result, X};
use std::{ops::Range, sync::Arc};

/// The predictions of some rows as columns, named after the target.
pub fn prediction_columns(
    fitted: &Fitted,
    ctx: &Ctx,
    x: &X,
    texts: &Texts,
    wanted: &[Output],
    width: Option<Width>,
) -> Result<Vec<(String, Column)>> {
    let said = fitted.outputs_of(ctx, x, texts, wanted)?;
    let deviations = match width {
        Some(Width::Deviations(_)) => Some(fitted.predict_with(ctx, x, texts, Output::Deviation)?),
        _ => None,
    };
    let interval = width.map(|width| Interval { width, deviations: deviations.as_ref() });
    let rows = 0..x.rows();
    Ok(Answer { fitted, said: &said, rows, interval, explained: &[] }.columns())
}

impl Fitted {
    /// What a user expects of this model without asking for anything else.
    pub fn natural_outputs(&self) -> Vec<Output> {
        let natural = [Output::Value, Output::Class, Output::Cluster, Output::Probability];
        let wanted: Vec<Output> = natural.into_iter().filter(|output| self.has(*output)).collect();
        match wanted.is_empty() {
            true => self.model.outputs().iter().map(|(output, _)| *output).take(1).collect(),
            false => wanted,
        }
    }

    /// Several outputs for the same rows.
    pub fn outputs_of(&self, ctx: &Ctx, x: &X, texts: &Texts, wanted: &[Output]) -> Result<Vec<(Output, Matrix)>> {
        wanted.iter().map(|&output| Ok((output, self.predict_with(ctx, x, texts, output)?))).collect()
    }
}

/// An interval for each row.
#[derive(Clone, Copy)]
pub struct Interval<'a> {
    pub width: Width,
    /// Of each row, where the width is counted in them.
    pub deviations: Option<&'a Matrix>,
}

pub type Explained = RowExplanation;

/// What is said of some rows of a batch.
pub struct Answer<'a> {
    pub fitted: &'a Fitted,
    pub said: &'a [(Output, Matrix)],
    /// Those of the batch that are answered.
    pub rows: Range<usize>,
    pub interval: Option<Interval<'a>>,
    /// One for each row, or none.
    pub explained: &'a [Explained],
}

impl Answer<'_> {
    /// As columns of a table.
    pub fn columns(&self) -> Vec<(String, Column)> {
        let target = self.fitted.header.target.as_ref().map_or("prediction", |target| target.name.as_str());
        let classes = self.fitted.classes();
        let mut columns = Vec::new();
        for (output, values) in self.said {
            let column = |j: usize| Column::Number(self.rows.clone().map(|i| values[(i, j)]).collect());
            match output {
                Output::Class if values.cols == 1 && !classes.is_empty() => {
                    let codes = self.rows.clone().map(|i| values[(i, 0)] as u32).collect();
                    columns.push((target.into(), Column::Category(Category { codes, levels: classes.into() })));
                }
                Output::Value if values.cols == 1 => columns.push((target.into(), column(0))),
                Output::Cluster => columns.push(("cluster".into(), column(0))),
                Output::Probability if values.cols == classes.len() => {
                    columns.extend(classes.iter().enumerate().map(|(j, name)| (format!("p({name})"), column(j))));
                }
                Output::Transform if made_names(self.fitted).is_some_and(|names| names.len() == values.cols) => {
                    let names = made_names(self.fitted).unwrap_or_default();
                    columns.extend(names.into_iter().enumerate().map(|(j, name)| (name, column(j))));
                }
                other => {
                    let name = name_of(*other);
                    let numbered = |j: usize| if values.cols == 1 { name.clone() } else { format!("{name}{j}") };
                    columns.extend((0..values.cols).map(|j| (numbered(j), column(j))));
                }
            }
        }
        if self.interval.is_some() {
            let side = |end: fn((f64, f64)) -> f64| self.rows.clone().map(|i| end(self.ends(i))).collect();
            columns.push(("low".into(), Column::Number(side(|ends| ends.0))));
            columns.push(("high".into(), Column::Number(side(|ends| ends.1))));
        }
        columns
    }

    fn ends(&self, row: usize) -> (f64, f64) {
        let half = match self.interval {
            Some(Interval { width: Width::Margin(half), .. }) => half,
            Some(Interval { width: Width::Deviations(count), deviations: Some(of) }) => count * of[(row, 0)],
            _ => f64::NAN,
        };
        let middle = self.said.iter().find(|(output, _)| *output == Output::Value);
        let middle = middle.map_or(f64::NAN, |(_, values)| values[(row, 0)]);
        (middle - half, middle + half)
    }

    pub fn csv(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        read::csv::write(&Table::new(self.all_columns())?, &mut out).expect("memory takes everything");
        Ok(out)
    }

    /// A stream of Arrow IPC: numbers as doubles, classes as strings.
    pub fn arrow(&self) -> Result<Vec<u8>> {
        let failed = |error: ArrowError| Error::Data(format!("cannot write Arrow: {error}"));
        let columns = self.all_columns().into_iter().map(|(name, column)| {
            let values: ArrayRef = match column {
                Column::Number(values) => Arc::new(Float64Array::from(values)),
                other => {
                    let text =
                        (0..other.len()).map(|row| Some(other.value_text(row)).filter(|_| !other.is_missing(row)));
                    Arc::new(text.collect::<StringArray>())
                }
            };
            (name, values)
        });
        let batch = RecordBatch::try_from_iter(columns).map_err(failed)?;
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).map_err(failed)?;
        writer.write(&batch).map_err(failed)?;
        writer.into_inner().map_err(failed)
    }

    /// Predictions, and the parts of each column where they are explained.
    fn all_columns(&self) -> Vec<(String, Column)> {
        let mut columns = self.columns();
        if let Some(first) = self.explained.first() {
            columns.push(("base".into(), Column::Number(self.explained.iter().map(|one| one.base).collect())));
            let mut names: Vec<&String> = first.parts.iter().map(|(name, ..)| name).collect();
            names.sort();
            for name in names {
                let part = |one: &Explained| one.parts.iter().find(|(known, ..)| known == name).map_or(0.0, |p| p.2);
                let parts = self.explained.iter().map(part).collect();
                columns.push((format!("part({name})"), Column::Number(parts)));
            }
        }
        columns
    }

    /// `{"model": ..., "predictions": ...}` with `head` as the first entries.
    pub fn json(&self, form: Form, head: &[(&str, &str)]) -> Vec<u8> {
        let mut out = Vec::with_capacity(256 + 96 * self.rows.len());
        out.push(b'{');
        for (name, value) in head {
            text(&mut out, name);
            out.push(b':');
            text(&mut out, value);
            out.push(b',');
        }
        out.extend_from_slice(b"\"predictions\":");
        match form {
            Form::Columns => self.json_columns(&mut out),
            _ => list(&mut out, self.rows.clone(), |out, row| self.json_record(out, row)),
        }
        out.push(b'}');
        out
    }

    fn json_record(&self, out: &mut Vec<u8>, row: usize) {
        out.push(b'{');
        for (place, (output, values)) in self.said.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            text(out, key_of(*output));
            out.push(b':');
            self.json_value(out, *output, values, row);
        }
        if self.interval.is_some() {
            out.extend_from_slice(b",\"interval\":");
            self.json_interval(out, row);
        }
        if !self.explained.is_empty() {
            out.extend_from_slice(b",\"explanation\":");
            self.json_explanation(out, row);
        }
        out.push(b'}');
    }

    fn json_columns(&self, out: &mut Vec<u8>) {
        let classes = self.fitted.classes();
        out.push(b'{');
        for (place, (output, values)) in self.said.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            text(out, key_of(*output));
            out.push(b':');
            if *output == Output::Probability && values.cols == classes.len() {
                out.push(b'{');
                for (j, name) in classes.iter().enumerate() {
                    if j > 0 {
                        out.push(b',');
                    }
                    text(out, name);
                    out.push(b':');
                    list(out, self.rows.clone(), |out, row| number(out, values[(row, j)]));
                }
                out.push(b'}');
            } else {
                list(out, self.rows.clone(), |out, row| self.json_value(out, *output, values, row));
            }
        }
        if self.interval.is_some() {
            out.extend_from_slice(b",\"interval\":");
            list(out, self.rows.clone(), |out, row| self.json_interval(out, row));
        }
        if !self.explained.is_empty() {
            out.extend_from_slice(b",\"explanation\":");
            list(out, self.rows.clone(), |out, row| self.json_explanation(out, row));
        }
        out.push(b'}');
    }

    /// What one output says of one row.
    fn json_value(&self, out: &mut Vec<u8>, output: Output, values: &Matrix, row: usize) {
        let classes = self.fitted.classes();
        match output {
            Output::Class if values.cols == 1 && !classes.is_empty() => {
                let name = &classes[values[(row, 0)] as usize];
                // A class that was a number or true or false in the table is one here.
                match self.fitted.header.target.as_ref().map(|target| target.kind) {
                    Some(Kind::Number) if name.parse::<f64>().is_ok_and(f64::is_finite) => {
                        number(out, name.parse().unwrap_or(f64::NAN));
                    }
                    Some(Kind::Boolean) if crate::table::boolean(name.as_bytes()).is_some() => {
                        out.extend_from_slice(name.to_ascii_lowercase().as_bytes());
                    }
                    _ => text(out, name),
                }
            }
            Output::Probability if values.cols == classes.len() => {
                out.push(b'{');
                for (j, name) in classes.iter().enumerate() {
                    if j > 0 {
                        out.push(b',');
                    }
                    text(out, name);
                    out.push(b':');
                    number(out, values[(row, j)]);
                }
                out.push(b'}');
            }
            _ if values.cols == 1 => number(out, values[(row, 0)]),
            _ => list(out, 0..values.cols, |out, j| number(out, values[(row, j)])),
        }
    }

    fn json_interval(&self, out: &mut Vec<u8>, row: usize) {
        let (low, high) = self.ends(row);
        list(out, 0..2, |out, side| number(out, if side == 0 { low } else { high }));
    }

    fn json_explanation(&self, out: &mut Vec<u8>, row: usize) {
        let one = &self.explained[row - self.rows.start];
        out.extend_from_slice(b"{\"of\":");
        text(out, &one.of);
        out.extend_from_slice(b",\"base\":");
        number(out, one.base);
        out.extend_from_slice(b",\"parts\":{");
        for (place, (name, _, part)) in one.parts.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            text(out, name);
            out.push(b':');
            number(out, *part);
        }
        out.extend_from_slice(b"}}");
    }
}

/// What a transformer calls its columns, codes as the levels they stand for; none if two would have one name.
fn made_names(fitted: &Fitted) -> Option<Vec<String>> {
    let inputs = fitted.prepared_names();
    let levels = fitted.preparation.as_ref().map_or(Vec::new(), |recipe| recipe.levels(fitted.features()));
    let named = |made: String| {
        let of = |(input, levels): (&String, &Vec<String>)| {
            let code = made.strip_prefix(input.as_str())?.strip_prefix('=')?;
            match code.parse::<f64>() {
                Ok(code) if code.is_nan() => Some(format!("{input}=missing")),
                Ok(code) => Some(format!("{input}={}", levels.get(code as usize)?)),
                Err(_) => None,
            }
        };
        let found = inputs.iter().zip(&levels).filter(|(_, levels)| !levels.is_empty()).find_map(of);
        found.unwrap_or(made)
    };
    let names: Vec<String> = fitted.model.feature_names(&inputs)?.into_iter().map(named).collect();
    let distinct = names.iter().collect::<std::collections::BTreeSet<_>>().len();
    (distinct == names.len()).then_some(names)
}

/// The name of an output where a user asks for it and where it is not the prediction itself.
pub fn name_of(output: Output) -> String {
    format!("{output:?}").to_lowercase()
}

fn key_of(output: Output) -> &'static str {
    match output {
        Output::Value | Output::Class | Output::Cluster => "prediction",
        Output::Probability => "probability",
        Output::Decision => "decision",
        Output::Transform => "transform",
        Output::Inverse => "inverse",
        Output::Density => "density",
        Output::Leaf => "leaf",
        Output::Deviation => "deviation",
        Output::Neighbours => "neighbours",
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("memory takes everything");
}

/// The shortest that reads back as the same number; JSON has no other than finite ones.
fn number(out: &mut Vec<u8>, value: f64) {
    if value.is_finite() && value.fract() == 0.0 && value.abs() < 1e15 {
        serde_json::to_writer(out, &(value as i64)).expect("memory takes everything");
    } else {
        serde_json::to_writer(out, &value).expect("memory takes everything");
    }
}

fn list(out: &mut Vec<u8>, rows: Range<usize>, mut one: impl FnMut(&mut Vec<u8>, usize)) {
    out.push(b'[');
    for row in rows.clone() {
        if row > rows.start {
            out.push(b',');
        }
        one(out, row);
    }
    out.push(b']');
}
