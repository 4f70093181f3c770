//! A model with all it takes to use it on raw data: schema, preparation, classes, and the story of its fit.

pub mod file;
pub mod project;
pub mod writer;

use crate::{
    check::Profile,
    fit::{Recipe, Stored, Texts},
    judge::{self, HeldOutErrors, Predictions},
    plan::terms::{self, Term},
    rows::{Frame, Rows, feature_kinds},
    table::{Column, Form, Kind, Schema, Table},
};
use ermine::{
    AnyModel, Ctx, Data, Error, FitLog, Matrix, Output, Result, Task, Value, Values, X,
    engine::special::normal_quantile, linear::Inference,
};
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
    /// Features made of those columns, where they are not used as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<DerivedColumns>,
    pub target: Option<TargetColumn>,
    /// Smallest and largest value of each raw column of numbers or dates in the rows of the fit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ranges: BTreeMap<String, (f64, f64)>,
    pub seed: u64,
    /// Rows that the model was fitted on.
    pub rows: usize,
    /// Scores by part ("test", "cross-validation") and metric; none where the rows did not define one.
    pub scores: BTreeMap<String, BTreeMap<String, Option<f64>>>,
    /// Version of the program that wrote the file.
    pub version: String,
    /// CRC-32 of the raw numbers it was fitted on: whether a file is the one.
    pub fingerprint: u32,
    /// What the features looked like; files of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Of a predicted number on the test rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<HeldOutErrors>,
    /// How it came about; files of earlier versions do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// What the card of a model tells of its run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// Why this model, when nobody asked for one.
    pub choice: Option<String>,
    /// Columns that were left out, and why.
    pub left_out: Vec<(String, String)>,
    pub train_rows: usize,
    pub test_rows: usize,
    /// What the test scores have beside them.
    pub stated: Vec<Stated>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stated {
    pub metric: String,
    /// At 95 %.
    pub interval: Option<(f64, f64)>,
    /// Score of a guess that ignores the columns.
    pub baseline: Option<f64>,
}

/// Features that are made of raw columns row by row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DerivedColumns {
    pub terms: Vec<Term>,
    /// The features that come out.
    pub schema: Schema,
}

/// What is predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetColumn {
    pub name: String,
    pub kind: Kind,
    /// Names of the classes in the order of their codes; empty for a number.
    pub classes: Vec<String>,
    /// What it costs to miss each class; empty if all cost the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<f64>,
    /// How the file spells it, if not as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
}

/// How wide an interval around a prediction is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Width {
    /// So many of the deviations that the model states for each row, to either side.
    Deviations(f64),
    /// The same for every row, to either side ([`HeldOutErrors`]).
    Margin(f64),
}

/// What only the program reads.
#[derive(Serialize, Deserialize)]
pub struct Body {
    preparation: Option<Stored>,
    model: Vec<u8>,
    log: FitLog,
}

pub struct Fitted {
    pub header: Header,
    pub preparation: Option<Recipe>,
    pub model: Box<dyn AnyModel>,
    pub log: FitLog,
}

impl Fitted {
    pub fn body(&self) -> Body {
        Body {
            preparation: self.preparation.as_ref().map(Recipe::store),
            model: self.model.to_bytes(),
            log: self.log.clone(),
        }
    }

    /// Puts a model together and checks that its parts fit, whatever they come from.
    pub fn from_parts(header: Header, body: Body) -> Result<Fitted> {
        let entry = ermine::entry(&header.model)?;
        (entry.make)(&header.values())?;
        let model = (entry.load)(&body.model)?;
        let mut cols = header.made.as_ref().map_or(&header.schema, |made| &made.schema).columns.len();
        let preparation = body.preparation.map(Recipe::load).transpose()?;
        if let Some(preparation) = &preparation {
            if preparation.inputs() != cols {
                return Err(Error::shape("preparation", format!("{cols} columns"), preparation.inputs()));
            }
            cols = preparation.outputs();
        }
        if model.cols() != cols {
            return Err(Error::shape("model", format!("{cols} columns"), model.cols()));
        }
        check_target(entry.info.task, header.target.as_ref(), &model.outputs())?;
        check_costs(header.target.as_ref(), &header.model, &*model)?;
        let features = header.made.as_ref().map_or(&header.schema, |made| &made.schema);
        if header.profile.as_ref().is_some_and(|profile| !profile.check(features)) {
            return Err(Error::Data("its profile is not that of its columns".into()));
        }
        if header.errors.as_ref().is_some_and(|errors| !errors.check()) {
            return Err(Error::Data("its errors on held-out rows are damaged".into()));
        }
        Ok(Fitted { header, preparation, model, log: body.log })
    }

    /// How wide an interval has to be that holds a new value of the target with this probability.
    pub fn width(&self, level: f64) -> Result<Width> {
        if self.has(Output::Deviation) {
            return Ok(Width::Deviations(normal_quantile(0.5 + level / 2.0)));
        }
        let model = &self.header.model;
        let Some(errors) = &self.header.errors else {
            return Err(Error::Unsupported(format!("{model} has no errors on held-out rows to make an interval of"))
                .hint("intervals are of numbers; fit with test rows (--test 0.2) to have them"));
        };
        errors.margin(level).map(Width::Margin).ok_or_else(|| {
            Error::Unsupported(format!("the test rows of {model} are too few for an interval of level {level}"))
        })
    }

    pub fn task(&self) -> Result<Task> {
        Ok(ermine::entry(&self.header.model)?.info.task)
    }

    /// The class names of the target, empty if it has none.
    pub fn classes(&self) -> &[String] {
        self.header.target.as_ref().map_or(&[], |target| &target.classes)
    }

    /// What it costs to miss each class; empty if all cost the same.
    pub fn costs(&self) -> &[f64] {
        self.header.target.as_ref().map_or(&[], |target| &target.costs)
    }

    /// Names of the columns that the model sees, after preparation: `island=Dream`.
    pub fn prepared_names(&self) -> Vec<String> {
        match &self.preparation {
            Some(preparation) => preparation.names(self.features()),
            None => self.features().names(),
        }
    }

    /// The columns that preparation sees: raw ones, or what is made of them.
    pub fn features(&self) -> &Schema {
        self.header.made.as_ref().map_or(&self.header.schema, |made| &made.schema)
    }

    /// Rows of numbers into any output.
    pub fn predict(&self, ctx: &Ctx, x: &X, output: Output) -> Result<Matrix> {
        self.predict_with(ctx, x, &Texts::default(), output)
    }

    /// The same for rows whose text columns have documents.
    pub fn predict_with(&self, ctx: &Ctx, x: &X, texts: &Texts, output: Output) -> Result<Matrix> {
        let costs = self.costs();
        if output == Output::Class && !costs.is_empty() {
            return Ok(judge::cheapest(&self.predict_with(ctx, x, texts, Output::Probability)?, costs));
        }
        let missing = ermine::entry(&self.header.model)?.info.missing;
        let said = self.prepared(ctx, x, texts, |x| ermine::predict(ctx, &*self.model, x, output, missing))?;
        self.check_classes(output, &said)?;
        Ok(said)
    }

    /// What metrics want to know of raw rows.
    pub fn predictions(&self, ctx: &Ctx, x: &X, texts: &Texts) -> Result<Predictions> {
        let entry = ermine::entry(&self.header.model)?;
        let said = self.prepared(ctx, x, texts, |x| judge::predictions(ctx, entry, &*self.model, x))?;
        if let Some(classes) = said.get(Output::Class) {
            self.check_classes(Output::Class, classes)?;
        }
        Ok(said.decide(self.costs()))
    }

    /// A model without probabilities does not tell how many classes it knows before it names one.
    fn check_classes(&self, output: Output, said: &Matrix) -> Result<()> {
        let names = self.classes().len() as f64;
        match said.values.iter().find(|class| output == Output::Class && names > 0.0 && **class >= names) {
            Some(class) => Err(Error::Data(format!("the model says class {class}, and there are {names} class names"))),
            None => Ok(()),
        }
    }

    /// Raw rows as the model sees them.
    pub fn prepare(&self, ctx: &Ctx, x: &X, texts: &Texts) -> Result<Matrix> {
        self.prepared(ctx, x, texts, |x| Ok(x.to_matrix()))
    }

    /// What a linear model says about its population, on the rows it was fitted to.
    pub fn inference(&self, ctx: &Ctx, rows: &Rows, level: f64) -> Result<Inference> {
        let raw = rows.data()?;
        let batch = raw.batch();
        self.prepared(ctx, &batch.x, &rows.texts, |x| {
            let mut data = Data::new(*x).target(batch.y)?;
            if let Some(weights) = batch.weights {
                data = data.weights(weights)?;
            }
            Inference::of(&self.header.model, &self.header.values(), &*self.model, level, &data, ctx)
        })
    }

    /// Runs `f` on prepared rows; errors speak of columns by name.
    fn prepared<R>(&self, ctx: &Ctx, x: &X, texts: &Texts, f: impl FnOnce(&X) -> Result<R>) -> Result<R> {
        match &self.preparation {
            None => f(x),
            Some(preparation) => preparation.apply(x, texts, ctx).and_then(|prepared| f(&prepared.x())),
        }
        .map_err(|error| error.with_columns(&self.prepared_names()))
    }

    /// A table that was read against this model's schema, as raw numbers.
    pub fn frame(&self, table: &Table) -> Result<Frame> {
        match &self.header.made {
            Some(made) => Frame::of(&terms::derive(&made.terms, table)?, &made.schema),
            None => Frame::of(table, &self.header.schema),
        }
    }

    /// Columns of a table with values outside the rows of the fit, and how many: there a prediction is an
    /// extrapolation.
    pub fn outside(&self, table: &Table) -> Vec<(String, usize)> {
        let count = |(name, (low, high)): (&String, &(f64, f64))| {
            let (Column::Number(values) | Column::Date(values) | Column::DateTime(values)) = table.column(name).ok()?
            else {
                return None;
            };
            let count = values.iter().filter(|value| **value < *low || **value > *high).count();
            (count > 0).then(|| (name.clone(), count))
        };
        self.header.ranges.iter().filter_map(count).collect()
    }

    pub fn has(&self, wanted: Output) -> bool {
        self.model.outputs().iter().any(|(output, _)| *output == wanted)
    }
}

/// Whether a file names what its model predicts. Labels of which a row may have several are numbers and have no names.
fn check_target(task: Task, target: Option<&TargetColumn>, outputs: &[(Output, usize)]) -> Result<()> {
    let target = match (task, target) {
        (Task::Regression | Task::Classification, None) => return Err(Error::Data("it names no target".into())),
        (Task::Classification, Some(target)) => target,
        _ => return Ok(()),
    };
    let width = |wanted: Output| outputs.iter().find(|(output, _)| *output == wanted).map(|(_, width)| *width);
    let names = target.classes.len();
    if width(Output::Class).is_some_and(|labels| labels > 1) && names == 0 {
        return Ok(());
    }
    // One score for two classes, one for each of several, or one for each pair.
    let scores = [1, names, names * names.saturating_sub(1) / 2];
    let fits = names >= 2
        && width(Output::Probability).is_none_or(|width| width == names)
        && width(Output::Decision).is_none_or(|width| scores.contains(&width) && (width > 1 || names == 2));
    if fits { Ok(()) } else { Err(Error::Data(format!("its {names} class names are not those of its model"))) }
}

/// Classes are named by cost only where their probabilities are known.
pub(crate) fn check_costs(target: Option<&TargetColumn>, name: &str, model: &dyn AnyModel) -> Result<()> {
    let Some(TargetColumn { costs, classes, .. }) = target.filter(|target| !target.costs.is_empty()) else {
        return Ok(());
    };
    if costs.len() != classes.len() || !costs.iter().all(|cost| cost.is_finite() && *cost > 0.0) {
        return Err(Error::Data("its costs are not those of its classes".into()));
    }
    match model.outputs().contains(&(Output::Probability, classes.len())) {
        true => Ok(()),
        false => Err(Error::Unsupported(format!("{name} has no probabilities to weigh costs by"))
            .hint("name no model: those that are compared all have them")),
    }
}

impl Header {
    pub fn values(&self) -> Values {
        self.params.iter().map(|(name, text)| (name.clone(), Value::parse(text))).collect()
    }

    pub fn features(&self) -> Vec<ermine::Feature> {
        feature_kinds(self.made.as_ref().map_or(&self.schema, |made| &made.schema))
    }
}
