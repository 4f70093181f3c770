//! A model with all it takes to use it on raw data: schema, preparation, classes, and the story of its fit.

use crate::{
    frame::{Frame, feature_kinds},
    score::{self, Predictions},
    table::{Field, Kind, Schema, Table},
};
use ermine::{AnyModel, Ctx, Error, FitLog, Matrix, Output, Result, Task, Value, Values, X, prepare::Preparation};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What anybody may want to know of a model without loading it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub model: String,
    /// As a person would type them.
    pub params: BTreeMap<String, String>,
    /// The feature columns, raw.
    pub schema: Schema,
    pub target: Option<TargetColumn>,
    pub seed: u64,
    /// Rows that the model was fitted on.
    pub rows: usize,
    /// Scores by part ("test", "cross-validation") and metric.
    pub scores: BTreeMap<String, BTreeMap<String, f64>>,
    /// Version of the program that wrote the file.
    pub version: String,
    /// CRC-32 of the raw numbers it was fitted on: whether a file is the one.
    pub fingerprint: u32,
}

/// What is predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetColumn {
    pub name: String,
    pub kind: Kind,
    /// Names of the classes in the order of their codes; empty for a number.
    pub classes: Vec<String>,
}

/// What only the program reads.
#[derive(Serialize, Deserialize)]
pub struct Body {
    preparation: Option<Preparation>,
    model: Vec<u8>,
    log: FitLog,
}

pub struct Fitted {
    pub header: Header,
    pub preparation: Option<Preparation>,
    pub model: Box<dyn AnyModel>,
    pub log: FitLog,
}

impl Fitted {
    pub fn body(&self) -> Body {
        Body { preparation: self.preparation.clone(), model: self.model.to_bytes(), log: self.log.clone() }
    }

    /// Puts a model together and checks that its parts fit, whatever they come from.
    pub fn from_parts(header: Header, body: Body) -> Result<Fitted> {
        let entry = ermine::entry(&header.model)?;
        (entry.make)(&header.values())?;
        let model = (entry.load)(&body.model)?;
        let mut cols = header.schema.columns.len();
        if let Some(preparation) = &body.preparation {
            preparation.check()?;
            if preparation.inputs() != cols {
                return Err(Error::shape("preparation", format!("{cols} columns"), preparation.inputs()));
            }
            cols = preparation.outputs();
        }
        if model.cols() != cols {
            return Err(Error::shape("model", format!("{cols} columns"), model.cols()));
        }
        let classes = header.target.as_ref().map_or(0, |target| target.classes.len());
        for (output, width) in model.outputs() {
            if entry.info.task == Task::Classification && output == Output::Probability && width != classes {
                return Err(Error::shape("class names", width, classes));
            }
        }
        Ok(Fitted { header, preparation: body.preparation, model, log: body.log })
    }

    pub fn task(&self) -> Result<Task> {
        Ok(ermine::entry(&self.header.model)?.info.task)
    }

    /// The class names of the target, empty if it has none.
    pub fn classes(&self) -> &[String] {
        self.header.target.as_ref().map_or(&[], |target| &target.classes)
    }

    /// Names of the columns that the model sees, after preparation: `island=Dream`.
    pub fn prepared_names(&self) -> Vec<String> {
        match &self.preparation {
            Some(preparation) => prepared_names(&self.header.schema, preparation),
            None => self.header.schema.names(),
        }
    }

    /// Raw rows of numbers into any output.
    pub fn predict(&self, ctx: &Ctx, x: &X, output: Output) -> Result<Matrix> {
        let missing = ermine::entry(&self.header.model)?.info.missing;
        self.prepared(x, |x| ermine::predict(ctx, &*self.model, x, output, missing))
    }

    /// What metrics want to know of raw rows.
    pub fn predictions(&self, ctx: &Ctx, x: &X) -> Result<Predictions> {
        let entry = ermine::entry(&self.header.model)?;
        self.prepared(x, |x| score::predictions(ctx, entry, &*self.model, x))
    }

    /// Raw rows as the model sees them.
    pub fn prepare(&self, x: &X) -> Result<Matrix> {
        self.prepared(x, |x| Ok(x.to_matrix()))
    }

    /// Runs `f` on prepared rows; errors speak of columns by name.
    fn prepared<R>(&self, x: &X, f: impl FnOnce(&X) -> Result<R>) -> Result<R> {
        match &self.preparation {
            None => f(x),
            Some(preparation) => preparation.apply(x).and_then(|prepared| f(&prepared.x())),
        }
        .map_err(|error| error.with_columns(&self.prepared_names()))
    }

    /// A table that was read against this model's schema, as raw numbers.
    pub fn frame(&self, table: &Table) -> Result<Frame> {
        Frame::of(table, &self.header.schema)
    }

    pub fn has(&self, wanted: Output) -> bool {
        self.model.outputs().iter().any(|(output, _)| *output == wanted)
    }
}

/// Names of prepared columns: a column's own, or `column=level`.
pub fn prepared_names(schema: &Schema, preparation: &Preparation) -> Vec<String> {
    let name = |column: usize, level: Option<u32>| {
        let Field { name, levels, .. } = &schema.columns[column];
        match level {
            Some(level) => format!("{name}={}", levels.get(level as usize).map_or("?", String::as_str)),
            None => name.clone(),
        }
    };
    preparation.origins().into_iter().map(|origin| name(origin.column, origin.level)).collect()
}

impl Header {
    pub fn values(&self) -> Values {
        self.params.iter().map(|(name, text)| (name.clone(), Value::parse(text))).collect()
    }

    pub fn features(&self) -> Vec<ermine::Feature> {
        feature_kinds(&self.schema)
    }
}
