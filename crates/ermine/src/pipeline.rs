//! Steps as one estimator: transformers, each learned from what the one before it makes, then a model. And transformers
//! side by side over groups of columns.
//!
//! ```
//! use ermine::prelude::*;
//!
//! let x = [[1.0, 200.0], [2.0, f64::NAN], [3.0, 100.0], [4.0, 400.0]];
//! let data = Data::from_rows(&x)?.labels(&["small", "small", "large", "large"])?;
//! let steps = [SimpleImputer::default().into(), StandardScaler::default().into(), LogisticRegression::default().into()];
//! let fit = Pipeline::new(&steps)?.fit(&data, &Ctx::default())?;
//! assert_eq!(fit.predict_labels(&[[1.5, f64::NAN]])?, ["small"]);
//!
//! // Columns apart: the first is scaled, the second cut into bins.
//! let columns = ColumnTransformer::new(
//!     &[
//!         (vec![0], vec![StandardScaler::default().into()]),
//!         (vec![1], vec![SimpleImputer::default().into(), KBinsDiscretizer { n_bins: 2, ..Default::default() }.into()]),
//!     ],
//!     false,
//! )?;
//! assert_eq!(columns.fit(&data, &Ctx::default())?.transform(&x)?.cols, 3);
//! # Ok::<(), ermine::Error>(())
//! ```
//!
//! Both are estimators like any other, and have a written form: `Pipeline(steps=[SimpleImputer, StandardScaler,
//! Ridge(alpha=2)])`, `ColumnTransformer(columns=[[0,1],[2]], steps=[[StandardScaler],[OneHotEncoder]])`. What a step
//! learns, it learns from the rows that the pipeline is fitted on and from nothing else. Rows in memory are transformed
//! once and kept; rows from disk are transformed anew in every pass. Results of encoders stay sparse where every later
//! step takes sparse rows.

use crate::{
    AnyEstimator, AnyModel, Array, Ctx, Data, Error, Feature, Fit, FitLog, Info, Matrix, Numbers, Output, OwnedCsr,
    OwnedX, Passes, Result, Shape, Source, Spec, Task, Value, Values, X,
    core::{
        Batch,
        model::{check_fit, check_source},
        source::Buffers,
    },
    make, predict,
};
use serde::{Deserialize, Serialize};
use std::{any::Any, ops::Range};

/// Transformers and, last, a model (or one more transformer).
pub struct Pipeline {
    specs: Vec<Spec>,
    steps: Vec<Box<dyn AnyEstimator>>,
}

/// A fitted pipeline.
pub struct PipelineModel {
    steps: Vec<Step>,
    cols: usize,
}

struct Step {
    name: String,
    model: Box<dyn AnyModel>,
    missing: bool,
}

impl Pipeline {
    pub fn new(specs: &[Spec]) -> Result<Self> {
        let steps = specs.iter().map(make).collect::<Result<Vec<_>>>()?;
        if let Some(step) = steps.iter().rev().skip(1).find(|step| step.info().task != Task::Transformation) {
            let problem = format!("Pipeline: {} is not a transformer; only the last step may be a model", step.name());
            return Err(Error::Unsupported(problem));
        }
        // Steps inside a step in one form, however they were typed.
        let composite = |name: &str| name == "Pipeline" || name == "ColumnTransformer";
        let settled = |(spec, step): (&Spec, &dyn AnyEstimator)| {
            let params = if composite(&spec.name) { step.values() } else { spec.params.clone() };
            Spec { name: spec.name.clone(), params }
        };
        Ok(Pipeline { specs: specs.iter().zip(steps.iter().map(|step| &**step)).map(settled).collect(), steps })
    }

    /// From the parameter `steps` of a spec.
    pub fn from_values(values: &Values) -> Result<Self> {
        if let Some(name) = values.keys().find(|name| *name != "steps") {
            return Err(Error::Unknown { what: "Pipeline parameter", name: name.clone(), known: vec!["steps".into()] });
        }
        Pipeline::new(&specs("Pipeline", "steps", values.get("steps").unwrap_or(&Value::List(vec![])))?)
    }

    /// The spec of a pipeline with these steps.
    pub fn spec(steps: &[Spec]) -> Spec {
        let steps = steps.iter().map(|step| Value::Model(Box::new(step.clone()))).collect();
        Spec { name: "Pipeline".into(), params: [("steps".to_string(), Value::List(steps))].into() }
    }

    pub fn steps(&self) -> &[Spec] {
        &self.specs
    }

    /// Learns every step from what those before it make of the data.
    pub fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<PipelineModel>> {
        Ok(self.fit_steps(data, ctx)?.of("Pipeline", AnyEstimator::info(self).missing, data))
    }
}

impl From<&Pipeline> for Spec {
    fn from(pipeline: &Pipeline) -> Spec {
        Pipeline::spec(&pipeline.specs)
    }
}

impl From<&ColumnTransformer> for Spec {
    fn from(columns: &ColumnTransformer) -> Spec {
        Spec { name: "ColumnTransformer".into(), params: AnyEstimator::values(columns) }
    }
}

/// A list of specs from what a door hands over.
fn specs(model: &str, name: &str, value: &Value) -> Result<Vec<Spec>> {
    let one = |value: &Value| match value {
        Value::Model(spec) => Ok((**spec).clone()),
        Value::Text(text) => Ok(Spec::parse(text).unwrap_or_else(|| Spec::new(text))),
        other => Err(Error::Parameter {
            model: model.into(),
            name: name.into(),
            value: other.to_string(),
            allowed: "a list of models, as Name(parameter=value, ...)".into(),
        }),
    };
    match value {
        Value::List(values) => values.iter().map(one).collect(),
        Value::None => Ok(Vec::new()),
        value => Ok(vec![one(value)?]),
    }
}

/// Rows through a fitted transformer, in parallel blocks; sparse where it can be and `sparse` allows it.
pub fn transform(ctx: &Ctx, model: &dyn AnyModel, x: &X, missing: bool, sparse: bool) -> Result<OwnedX> {
    if sparse && x.rows() > 0 {
        let block = 4096;
        let part = |first: usize| {
            ctx.check()?;
            let x = x.slice(first..(first + block).min(x.rows()));
            if !missing {
                x.check_finite(first)?;
            }
            model.transform_sparse(&x).map_err(|error| shift_row(error, first))
        };
        let starts: Vec<usize> = (0..x.rows()).step_by(block).collect();
        if let Some(first) = part(starts[0])? {
            let rest = ctx.map(starts.len() - 1, |i| part(starts[i + 1]))?;
            let mut all = first;
            if rest.iter().all(Option::is_some) {
                rest.into_iter().flatten().for_each(|part| all.append(part));
                return Ok(OwnedX::Sparse(all));
            }
        }
    }
    Ok(OwnedX::Dense(predict(ctx, model, x, Output::Transform, missing)?))
}

/// A transformer counts rows inside its block.
fn shift_row(error: Error, first: usize) -> Error {
    match error {
        Error::Value { row: Some(row), column, problem } => Error::Value { row: Some(row + first), column, problem },
        Error::Hinted { error, hint } => Error::Hinted { error: Box::new(shift_row(*error, first)), hint },
        other => other,
    }
}

/// One block of rows through a transformer, without threads.
fn transform_block(model: &dyn AnyModel, x: &X, sparse: bool) -> Result<OwnedX> {
    if sparse && let Some(csr) = model.transform_sparse(x)? {
        return Ok(OwnedX::Sparse(csr));
    }
    let width = transform_width(model)?;
    let mut out = Matrix::zeros(x.rows(), width);
    if width > 0 && x.rows() > 0 {
        model.predict_block(x, Output::Transform, &mut out.values)?;
    }
    Ok(OwnedX::Dense(out))
}

fn transform_width(model: &dyn AnyModel) -> Result<usize> {
    let found = model.outputs().into_iter().find(|(output, _)| *output == Output::Transform);
    found.map(|(_, width)| width).ok_or_else(|| Error::Unsupported("this step makes no new features".into()))
}

/// Another source with its rows put through a transformer, anew whenever they are read.
struct Transformed<'a> {
    source: &'a dyn Source,
    model: &'a dyn AnyModel,
    width: usize,
    missing: bool,
    sparse: bool,
}

impl Source for Transformed<'_> {
    fn shape(&self) -> Shape {
        Shape { cols: self.width, sparse: self.sparse, ..self.source.shape() }
    }

    fn held(&self) -> Range<usize> {
        self.source.held()
    }

    fn read<'a>(&'a self, rows: Range<usize>, buffers: &'a mut Buffers) -> Result<Batch<'a>> {
        let mut inner = Buffers::default();
        let batch = self.source.read(rows, &mut inner)?;
        if !self.missing {
            batch.x.check_finite(batch.first)?;
        }
        let made = transform_block(self.model, &batch.x, self.sparse);
        match made.map_err(|error| shift_row(error, batch.first))? {
            OwnedX::Dense(dense) => buffers.x = dense.values,
            OwnedX::Sparse(csr) => (buffers.starts, buffers.columns, buffers.x) = (csr.starts, csr.columns, csr.values),
        }
        buffers.y = batch.y.real().to_vec();
        buffers.codes = batch.y.codes().to_vec();
        buffers.weights = batch.weights.map_or_else(Vec::new, <[f64]>::to_vec);
        let y = match batch.y {
            crate::Target::None => crate::Target::None,
            crate::Target::Real { cols, .. } => crate::Target::Real { values: &buffers.y, cols },
            crate::Target::Class { classes, .. } => crate::Target::Class { codes: &buffers.codes, classes },
        };
        let weights = batch.weights.is_some().then_some(&buffers.weights[..]);
        let x = match self.sparse {
            true => X::csr(&buffers.starts, &buffers.columns, &buffers.x, self.width)?,
            false => X::dense(&buffers.x, self.width)?,
        };
        Ok(Batch { x, y, weights, first: batch.first })
    }
}

/// Data of a batch without what an estimator does not take.
fn lend<'a>(x: X<'a>, batch: &Batch<'a>, features: &'a [Feature], weights: bool) -> Result<Data<'a>> {
    let data = Data::new(x).target(batch.y)?.features(features)?;
    match batch.weights.filter(|_| weights) {
        Some(weights) => data.weights(weights),
        None => Ok(data),
    }
}

impl Pipeline {
    fn fit_steps(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<PipelineModel>> {
        let Some((last, transformers)) = self.steps.split_last() else {
            return Err(Error::Data("Pipeline: there are no steps".into()));
        };
        let info = AnyEstimator::info(self);
        check_fit("Pipeline", &info, &data.shape())?;
        check_source("Pipeline", info.passes, data)?;
        let mut model = PipelineModel { steps: Vec::new(), cols: data.shape().cols };
        let mut notes = Vec::new();
        // Of several workers one may hold all rows: it then meets the others in every step, as they do.
        let alone = ctx.exchange().size() == 1 && data.held().len() == data.shape().rows;
        let memory = data.memory().filter(|_| alone);
        let Some(batch) = memory else { return self.fit_stream(data, ctx, model) };
        let mut owned: Option<OwnedX> = None;
        let mut features = data.features().to_vec();
        for (number, step) in transformers.iter().enumerate() {
            let info = step.info();
            let x = owned.as_ref().map_or(batch.x, OwnedX::x);
            let child = ctx.child("step", number as u64);
            let fit = step.fit(&lend(x, &batch, &features, info.weights)?, &child)?;
            notes.extend(fit.log.notes.iter().map(|note| format!("{}: {note}", step.name())));
            // Sparse only if everything that follows takes it.
            let sparse = self.steps[number + 1..].iter().all(|step| step.info().sparse);
            let crossed = fit.rows.iter().find(|(name, _)| *name == "transform");
            let next = match crossed {
                // A transformer that saw the target hands over what it would say of these rows without their own
                // targets.
                Some((_, Array { shape, values: Numbers::Float(values) })) if shape.len() == 2 => {
                    OwnedX::Dense(Matrix::new(values.clone(), shape[0], shape[1]))
                }
                _ => transform(&child, &*fit.model, &x, info.missing, sparse)?,
            };
            owned = Some(next);
            features.clear();
            model.steps.push(Step { name: step.name().into(), model: fit.model, missing: info.missing });
        }
        let x = owned.as_ref().map_or(batch.x, OwnedX::x);
        let fit = last.fit(&lend(x, &batch, &features, true)?, ctx)?;
        model.steps.push(Step { name: last.name().into(), model: fit.model, missing: last.info().missing });
        let mut log = fit.log;
        log.notes.splice(0..0, notes);
        Ok(Fit { rows: fit.rows, ..Fit::new(model, log) })
    }

    /// Rows are not in memory: every step reads through those before it.
    fn fit_stream(&self, data: &dyn Source, ctx: &Ctx, mut model: PipelineModel) -> Result<Fit<PipelineModel>> {
        fn descend(
            steps: &[Box<dyn AnyEstimator>],
            data: &dyn Source,
            ctx: &Ctx,
            number: u64,
            model: &mut PipelineModel,
        ) -> Result<(FitLog, Vec<(&'static str, Array)>)> {
            let step = &steps[0];
            let info = step.info();
            let child = if steps.len() == 1 { ctx.clone() } else { ctx.child("step", number) };
            let fit = step.fit(data, &child)?;
            let outcome = if steps.len() == 1 {
                (fit.log, fit.rows)
            } else {
                let width = transform_width(&*fit.model)?;
                // As in memory: sparse if the step makes sparse rows and everything that follows takes them.
                let sparse = steps[1..].iter().all(|step| step.info().sparse)
                    && fit.model.transform_sparse(&X::dense(&[], data.shape().cols)?)?.is_some();
                let next = Transformed { source: data, model: &*fit.model, width, missing: info.missing, sparse };
                descend(&steps[1..], &next, ctx, number + 1, model)?
            };
            model.steps.insert(0, Step { name: step.name().into(), model: fit.model, missing: info.missing });
            Ok(outcome)
        }
        let (log, rows) = descend(&self.steps, data, ctx, 0, &mut model)?;
        Ok(Fit { rows, ..Fit::new(model, log) })
    }
}

impl AnyEstimator for Pipeline {
    fn name(&self) -> &'static str {
        "Pipeline"
    }

    fn info(&self) -> Info {
        let Some((last, transformers)) = self.steps.split_last() else {
            return Info::new("pipeline", Task::Transformation, "no steps", Passes::One);
        };
        let mut info = Info { module: "pipeline", ..last.info() };
        if let Some(first) = transformers.first() {
            let first = first.info();
            (info.sparse, info.categories) = (first.sparse, first.categories);
            (info.missing, info.non_negative) = (first.missing, first.non_negative);
        }
        for step in transformers {
            info.supervised |= step.info().supervised;
            info.random |= step.info().random;
        }
        // Of several workers' rows a step sees what those before it make of them, block by block and nowhere in memory.
        if let Some(reason) = self.steps.iter().find_map(|step| step.info().passes.needs_memory()) {
            info.passes = Passes::Memory(reason);
        }
        (info.scale, info.exceptions) = (false, &[]);
        info
    }

    /// The sum over the steps. How many columns a transformer makes is not known before it is fitted: as many as it
    /// takes.
    fn cost(&self, shape: &Shape) -> f64 {
        self.steps.iter().map(|step| step.cost(shape)).sum::<f64>().max(1e-6)
    }

    fn values(&self) -> Values {
        Pipeline::spec(&self.specs).params
    }

    fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<Box<dyn AnyModel>>> {
        Ok(Pipeline::fit(self, data, ctx)?.boxed())
    }

    fn resume(&self, _: &dyn AnyModel, _: &dyn Source, _: &Ctx) -> Result<Fit<Box<dyn AnyModel>>> {
        Err(Error::Unsupported("Pipeline cannot continue an earlier fit".into()))
    }
}

impl PipelineModel {
    /// Names and models of the steps.
    pub fn steps(&self) -> impl Iterator<Item = (&str, &dyn AnyModel)> {
        self.steps.iter().map(|step| (step.name.as_str(), &*step.model))
    }

    pub fn load(bytes: &[u8]) -> Result<Self> {
        let (cols, steps): (usize, Vec<Stored>) = stored(bytes, "Pipeline")?;
        let steps = steps.into_iter().map(Step::load).collect::<Result<Vec<_>>>()?;
        let mut width = cols;
        for (number, step) in steps.iter().enumerate() {
            if step.model.cols() != width {
                return Err(Error::shape(format!("step {}", step.name), format!("{width} columns"), step.model.cols()));
            }
            if number + 1 < steps.len() {
                width = transform_width(&*step.model)?;
            }
        }
        if steps.is_empty() {
            Err(Error::Data("the stored Pipeline has no steps".into()))
        } else {
            Ok(PipelineModel { steps, cols })
        }
    }

    /// A block through all steps but the last, handed to `last`.
    fn through<R>(&self, x: &X, last: impl FnOnce(&dyn AnyModel, &X) -> Result<R>) -> Result<R> {
        let (model, transformers) = self.steps.split_last().expect("a fitted pipeline has steps");
        let mut owned: Option<OwnedX> = None;
        for step in transformers {
            let x = owned.as_ref().map_or(*x, OwnedX::x);
            owned = Some(transform_block(&*step.model, &x, true)?);
        }
        let x = owned.as_ref().map_or(*x, OwnedX::x);
        if !model.missing && owned.is_some() {
            x.check_finite(0)?;
        }
        last(&*model.model, &x)
    }
}

impl AnyModel for PipelineModel {
    fn cols(&self) -> usize {
        self.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        let last = self.steps.last().map_or_else(Vec::new, |step| step.model.outputs());
        if self.steps.len() == 1 {
            last
        } else {
            last.into_iter().filter(|(output, _)| *output != Output::Inverse).collect()
        }
    }

    fn predict_block(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        self.through(x, |model, x| model.predict_block(x, output, out))
    }

    fn rows_at_once(&self) -> usize {
        self.steps.last().map_or(1, |step| step.model.rows_at_once())
    }

    fn transform_sparse(&self, x: &X) -> Result<Option<OwnedCsr>> {
        self.through(x, |model, x| model.transform_sparse(x))
    }

    fn feature_names(&self, input: &[String]) -> Option<Vec<String>> {
        // Of the features that the last step sees, or makes if it is a transformer.
        let mut names = input.to_vec();
        for step in &self.steps {
            let Ok(width) = transform_width(&*step.model) else { break };
            names = step
                .model
                .feature_names(&names)
                .unwrap_or_else(|| (0..width).map(|j| format!("{}{j}", step.name)).collect());
        }
        Some(names)
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        self.steps.last().map_or_else(Vec::new, |step| step.model.attributes())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let steps: Vec<Stored> = self.steps.iter().map(Step::store).collect();
        postcard::to_stdvec(&(self.cols, steps)).expect("a pipeline is plain data")
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    name: String,
    missing: bool,
    bytes: Vec<u8>,
}

impl Step {
    fn store(&self) -> Stored {
        Stored { name: self.name.clone(), missing: self.missing, bytes: self.model.to_bytes() }
    }

    fn load(stored: Stored) -> Result<Step> {
        Ok(Step { model: load(&stored.name, &stored.bytes)?, missing: stored.missing, name: stored.name })
    }
}

fn stored<'a, T: Deserialize<'a>>(bytes: &'a [u8], name: &str) -> Result<T> {
    let unreadable = || Error::Data(format!("the stored {name} is not readable"));
    let (value, rest) = postcard::take_from_bytes(bytes).map_err(|_| unreadable())?;
    if rest.is_empty() { Ok(value) } else { Err(unreadable()) }
}

/// A stored model of any kind by the name of its estimator, pipelines and column transformers included.
pub fn load(name: &str, bytes: &[u8]) -> Result<Box<dyn AnyModel>> {
    match name {
        "Pipeline" => Ok(Box::new(PipelineModel::load(bytes)?)),
        "ColumnTransformer" => Ok(Box::new(ColumnModel::load(bytes)?)),
        "CalibratedClassifier" => Ok(Box::new(crate::inspect::CalibratedModel::load(bytes)?)),
        name => (crate::entry(name)?.load)(bytes),
    }
}

/// Transformers side by side: each group of columns goes through its own steps, and the results stand next to each
/// other.
pub struct ColumnTransformer {
    groups: Vec<Group>,
    /// Whether columns of no group are handed on, last.
    pub keep_rest: bool,
}

struct Group {
    columns: Vec<usize>,
    /// Without steps the columns are handed on as they are.
    steps: Pipeline,
}

pub struct ColumnModel {
    parts: Vec<(Vec<usize>, Option<PipelineModel>)>,
    cols: usize,
}

impl ColumnTransformer {
    pub fn new(groups: &[(Vec<usize>, Vec<Spec>)], keep_rest: bool) -> Result<Self> {
        let groups = groups.iter().map(|(columns, specs)| {
            let steps = Pipeline::new(specs)?;
            if let Some(step) = steps.steps.iter().find(|step| step.info().task != Task::Transformation) {
                return Err(Error::Unsupported(format!("ColumnTransformer: {} is not a transformer", step.name())));
            }
            Ok(Group { columns: columns.clone(), steps })
        });
        Ok(ColumnTransformer { groups: groups.collect::<Result<_>>()?, keep_rest })
    }

    pub fn from_values(values: &Values) -> Result<Self> {
        let refused = |name: &str, value: &Value, allowed: &str| Error::Parameter {
            model: "ColumnTransformer".into(),
            name: name.into(),
            value: value.to_string(),
            allowed: allowed.into(),
        };
        let (mut columns, mut steps, mut keep_rest) = (Vec::new(), Vec::new(), false);
        for (name, value) in values {
            match (name.as_str(), value) {
                ("columns", Value::List(lists)) => {
                    for list in lists {
                        let allowed = "a list of lists of column numbers";
                        let Value::List(numbers) = list else { return Err(refused("columns", value, allowed)) };
                        let number = |value: &Value| match value {
                            Value::Int(j) if *j >= 0 => Ok(*j as usize),
                            other => Err(refused("columns", other, allowed)),
                        };
                        columns.push(numbers.iter().map(number).collect::<Result<Vec<_>>>()?);
                    }
                }
                ("steps", Value::List(lists)) => {
                    for list in lists {
                        steps.push(specs("ColumnTransformer", "steps", list)?);
                    }
                }
                ("remainder", Value::Text(text)) if text == "passthrough" || text == "drop" => {
                    keep_rest = text == "passthrough";
                }
                ("remainder", value) => return Err(refused("remainder", value, "drop | passthrough")),
                ("columns" | "steps", value) => {
                    return Err(refused(name, value, "a list with one entry for each group"));
                }
                _ => {
                    let known = ["columns", "steps", "remainder"].map(String::from).into();
                    return Err(Error::Unknown { what: "ColumnTransformer parameter", name: name.clone(), known });
                }
            }
        }
        if columns.len() != steps.len() {
            return Err(Error::shape(
                "ColumnTransformer steps",
                format!("{} lists, one for each group", columns.len()),
                steps.len(),
            ));
        }
        ColumnTransformer::new(&columns.into_iter().zip(steps).collect::<Vec<_>>(), keep_rest)
    }

    /// The spec of a column transformer with these groups.
    pub fn spec(groups: &[(Vec<usize>, Vec<Spec>)], keep_rest: bool) -> Spec {
        let columns =
            groups.iter().map(|(columns, _)| Value::List(columns.iter().map(|&j| Value::Int(j as i64)).collect()));
        let steps = groups
            .iter()
            .map(|(_, steps)| Value::List(steps.iter().map(|step| Value::Model(Box::new(step.clone()))).collect()));
        let remainder = Value::Text(if keep_rest { "passthrough" } else { "drop" }.into());
        let params = [
            ("columns".to_string(), Value::List(columns.collect())),
            ("steps".to_string(), Value::List(steps.collect())),
            ("remainder".to_string(), remainder),
        ];
        Spec { name: "ColumnTransformer".into(), params: params.into() }
    }
}

impl ColumnTransformer {
    /// Learns the steps of every group from its columns.
    pub fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<ColumnModel>> {
        let batch = data.in_memory("ColumnTransformer", "columns are taken apart")?;
        let cols = batch.x.cols();
        let mut parts = Vec::new();
        let mut notes = Vec::new();
        let mut used = vec![false; cols];
        // What training rows become without their own targets, where a group has such an encoder.
        let mut crossed: Vec<Option<Array>> = Vec::new();
        for (number, group) in self.groups.iter().enumerate() {
            if let Some(&j) = group.columns.iter().find(|&&j| j >= cols) {
                return Err(Error::shape("ColumnTransformer columns", format!("numbers below {cols}"), j));
            }
            group.columns.iter().for_each(|&j| used[j] = true);
            if group.columns.is_empty() {
                continue;
            }
            if group.steps.steps.is_empty() {
                parts.push((group.columns.clone(), None));
                crossed.push(None);
                continue;
            }
            let x = OwnedX::of_columns(&batch.x, &group.columns);
            let features: Vec<Feature> = match data.features() {
                [] => Vec::new(),
                features => group.columns.iter().map(|&j| features[j]).collect(),
            };
            let info = AnyEstimator::info(&group.steps);
            if !info.missing {
                x.x().check_finite(0)?;
            }
            let fit = group
                .steps
                .fit_steps(&lend(x.x(), &batch, &features, info.weights)?, &ctx.child("group", number as u64))?;
            notes.extend(fit.log.notes);
            crossed.push(fit.rows.into_iter().find(|(name, _)| *name == "transform").map(|(_, array)| array));
            parts.push((group.columns.clone(), Some(fit.model)));
        }
        let rest: Vec<usize> = (0..cols).filter(|&j| !used[j]).collect();
        if self.keep_rest && !rest.is_empty() {
            parts.push((rest, None));
            crossed.push(None);
        }
        let model = ColumnModel { parts, cols };
        let mut rows = Vec::new();
        if crossed.iter().any(Option::is_some) {
            let mut all = predict(ctx, &model, &batch.x, Output::Transform, true)?;
            let mut start = 0;
            for (part, crossed) in model.parts.iter().zip(&crossed) {
                let width = part_width(part)?;
                if let Some(Array { values: Numbers::Float(values), .. }) = crossed {
                    for i in 0..all.rows {
                        all.row_mut(i)[start..start + width].copy_from_slice(&values[i * width..(i + 1) * width]);
                    }
                }
                start += width;
            }
            rows.push(("transform", (&all).into()));
        }
        let fit = Fit { rows, ..Fit::new(model, FitLog::default().with_notes(notes)) };
        Ok(fit.of("ColumnTransformer", true, data))
    }
}

impl AnyEstimator for ColumnTransformer {
    fn name(&self) -> &'static str {
        "ColumnTransformer"
    }

    fn info(&self) -> Info {
        // Which columns may be missing or are categories is for each group to say.
        let base = Info::new(
            "compose",
            Task::Transformation,
            "each group of columns through its own steps",
            Passes::Memory("columns are taken apart"),
        );
        let infos: Vec<Info> = self.groups.iter().map(|group| AnyEstimator::info(&group.steps)).collect();
        Info {
            missing: true,
            categories: true,
            supervised: infos.iter().any(|info| info.supervised),
            random: infos.iter().any(|info| info.random),
            ..base
        }
    }

    fn cost(&self, shape: &Shape) -> f64 {
        let of = |cols: usize| Shape { cols, ..shape.clone() };
        self.groups.iter().map(|group| group.steps.cost(&of(group.columns.len()))).sum::<f64>().max(1e-6)
    }

    fn values(&self) -> Values {
        let groups: Vec<_> =
            self.groups.iter().map(|group| (group.columns.clone(), group.steps.specs.clone())).collect();
        ColumnTransformer::spec(&groups, self.keep_rest).params
    }

    fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<Box<dyn AnyModel>>> {
        Ok(ColumnTransformer::fit(self, data, ctx)?.boxed())
    }

    fn resume(&self, _: &dyn AnyModel, _: &dyn Source, _: &Ctx) -> Result<Fit<Box<dyn AnyModel>>> {
        Err(Error::Unsupported("ColumnTransformer cannot continue an earlier fit".into()))
    }
}

fn part_width(part: &(Vec<usize>, Option<PipelineModel>)) -> Result<usize> {
    part.1.as_ref().map_or(Ok(part.0.len()), |model| transform_width(model))
}

impl ColumnModel {
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let (cols, parts): (usize, Vec<(Vec<usize>, Option<Vec<u8>>)>) = stored(bytes, "ColumnTransformer")?;
        let part = |(columns, bytes): (Vec<usize>, Option<Vec<u8>>)| {
            let model = bytes.map(|bytes| PipelineModel::load(&bytes)).transpose()?;
            let fits = model.as_ref().is_none_or(|model| model.cols == columns.len());
            if columns.iter().any(|&j| j >= cols) || !fits {
                return Err(Error::Data("the stored ColumnTransformer is inconsistent".into()));
            }
            Ok((columns, model))
        };
        Ok(ColumnModel { parts: parts.into_iter().map(part).collect::<Result<_>>()?, cols })
    }

    fn pieces(&self, x: &X, sparse: bool) -> Result<Vec<OwnedX>> {
        let piece = |(columns, model): &(Vec<usize>, Option<PipelineModel>)| {
            let picked = OwnedX::of_columns(x, columns);
            match model {
                Some(model) => transform_block(model, &picked.x(), sparse),
                None => Ok(picked),
            }
        };
        self.parts.iter().map(piece).collect()
    }
}

impl AnyModel for ColumnModel {
    fn cols(&self) -> usize {
        self.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Transform, self.parts.iter().map(|part| part_width(part).unwrap_or(0)).sum())]
    }

    fn predict_block(&self, x: &X, _: Output, out: &mut [f64]) -> Result<()> {
        if let OwnedX::Dense(all) = OwnedX::hstack(&self.pieces(x, false)?, false) {
            out.copy_from_slice(&all.values);
        }
        Ok(())
    }

    fn transform_sparse(&self, x: &X) -> Result<Option<OwnedCsr>> {
        let pieces = self.pieces(x, true)?;
        let width: usize = pieces.iter().map(|piece| piece.x().cols()).sum();
        // Sparse pays only where most of the whole is zero; the same for every block of rows.
        let filled = |(piece, part): (&OwnedX, &(Vec<usize>, Option<PipelineModel>))| match piece {
            OwnedX::Dense(dense) => dense.cols,
            OwnedX::Sparse(_) => part.0.len(),
        };
        let stored: usize = pieces.iter().zip(&self.parts).map(filled).sum();
        if !pieces.iter().any(|piece| matches!(piece, OwnedX::Sparse(_))) || stored * 4 > width {
            return Ok(None);
        }
        match OwnedX::hstack(&pieces, true) {
            OwnedX::Sparse(csr) => Ok(Some(csr)),
            OwnedX::Dense(_) => Ok(None),
        }
    }

    fn feature_names(&self, input: &[String]) -> Option<Vec<String>> {
        let mut names = Vec::new();
        for (columns, model) in &self.parts {
            let some: Vec<String> = columns.iter().map(|&j| crate::prep::columns::name_of(input, j)).collect();
            names.extend(match model {
                Some(model) => model.feature_names(&some)?,
                None => some,
            });
        }
        Some(names)
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        Vec::new()
    }

    fn to_bytes(&self) -> Vec<u8> {
        let parts: Vec<(&Vec<usize>, Option<Vec<u8>>)> =
            self.parts.iter().map(|(columns, model)| (columns, model.as_ref().map(AnyModel::to_bytes))).collect();
        postcard::to_stdvec(&(self.cols, parts)).expect("a column transformer is plain data")
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
