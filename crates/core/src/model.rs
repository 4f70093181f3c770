//! Estimators, models, and what the list knows of each.
//!
//! The parameter struct is the estimator. Fitting it gives a model and a log. The list holds one [`Entry`] for each,
//! from which every door, document and test is made.

pub use crate::fit::{About, Fit};
use crate::{
    Ctx, Error, OwnedCsr, Result, Source, X,
    linalg::Matrix,
    log::FitLog,
    memory,
    param::{Param, Params, Values},
    source::{Buffers, Shape},
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::any::Any;

/// Parameters that can be fitted.
pub trait Estimator: Params {
    type Model: Model;
    const INFO: Info;

    /// How these parameters go through the rows, where it depends on them. [`Estimator::INFO`] speaks of the defaults.
    /// A fit may rely on it: rows that cannot be reached so are refused before.
    fn passes(&self) -> Passes {
        Self::INFO.passes
    }

    /// What these parameters take, where it depends on them: a model made of others takes what all of them take.
    fn takes(&self) -> Info {
        Info { passes: self.passes(), ..Self::INFO }
    }

    /// Predicted seconds of one core of a common laptop for a fit on rows of this shape and predictions for a quarter
    /// as many; of sparse rows `cols` counts the values that a row stores on average. A formula of rows, columns,
    /// classes and parameters with constants from `examples/cost.rs`, so that work can be planned without a clock. What
    /// is not worth a formula, such as a transformer, passes over its rows a few times.
    fn cost(&self, shape: &Shape) -> f64 {
        let (n, p, _) = shape.sizes();
        1e-9 * (2e4 + 10.0 * n * p)
    }

    /// Learns a model from the data. Parameters outside their ranges and data that the model cannot take are refused by
    /// name.
    fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<Self::Model>> {
        ready(self, data)?;
        sound(self, self.learn(data, ctx)?, data)
    }

    /// Goes on from a model with more data or more passes (`partial_fit`, `warm_start`).
    fn resume(&self, model: &Self::Model, data: &dyn Source, ctx: &Ctx) -> Result<Fit<Self::Model>> {
        ready(self, data)?;
        check_same_columns(Model::cols(model), data.shape().cols)?;
        sound(self, self.learn_more(model, data, ctx)?, data)
    }

    /// The method itself: what a model implements, and what [`Estimator::fit`] calls with checked parameters and data.
    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<Self::Model>>;

    /// The method from an earlier model on, where it has a way: what [`Estimator::resume`] calls.
    fn learn_more(&self, _model: &Self::Model, _data: &dyn Source, _ctx: &Ctx) -> Result<Fit<Self::Model>> {
        Err(Error::Unsupported(format!("{} cannot continue an earlier fit", Self::NAME)))
    }
}

/// What every fit checks before a row is read.
fn ready<E: Estimator>(estimator: &E, data: &dyn Source) -> Result<()> {
    check_fit(E::NAME, &E::INFO, &data.shape())?;
    estimator.validate()?;
    check_source(E::NAME, estimator.passes(), data)
}

/// What every fit checks before it hands out a model.
fn sound<E: Estimator>(estimator: &E, fit: Fit<E::Model>, data: &dyn Source) -> Result<Fit<E::Model>> {
    check_sound(E::NAME, &fit.model, &fit.log, data)?;
    Ok(fit.of(E::NAME, estimator.takes().missing, data))
}

/// What a model computes for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Output {
    /// Predicted numbers, one column for each target.
    Value,
    /// Number of the predicted class.
    Class,
    /// Probability of each class or component.
    Probability,
    /// Score of each class; a single column (of the second class) when there are two.
    Decision,
    /// New features.
    Transform,
    /// Old features from new ones.
    Inverse,
    /// Number of the cluster; -1 for noise.
    Cluster,
    /// Log density of the row.
    Density,
    /// Leaf of each tree.
    Leaf,
    /// Standard deviation of the predicted numbers.
    Deviation,
    /// Numbers of the nearest training rows, the nearest first, and then how far each is.
    Neighbours,
}

/// A fitted model: plain data that predicts and saves.
pub trait Model: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Columns that rows must have.
    fn cols(&self) -> usize;

    /// What it can compute, the natural prediction first, with the number of columns of each.
    fn outputs(&self) -> Vec<(Output, usize)>;

    /// Computes `output` for a block of rows into row-major `out`. The driver has checked columns, width and
    /// finiteness.
    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()>;

    /// At least so many rows are best predicted together, where there are as many: a model larger than the caches is
    /// then read less often.
    fn rows_at_once(&self) -> usize {
        1
    }

    /// The same as [`Output::Transform`] as sparse rows, for transformers whose results are mostly zero.
    fn transform_sparse(&self, _x: &X) -> Result<Option<OwnedCsr>> {
        Ok(None)
    }

    /// Names of the new features from those of the old, for transformers that know what each is made of.
    fn feature_names(&self, _input: &[String]) -> Option<Vec<String>> {
        None
    }

    /// Named arrays for inspection: coefficients, centres. Names are scikit-learn's where it has them.
    fn attributes(&self) -> Vec<(&'static str, Array)>;

    /// Whether a model read from a file is consistent, so that predicting cannot go wrong.
    fn check(&self) -> Result<()>;
}

/// A [`Model`] of any type.
pub trait AnyModel: Send + Sync {
    fn cols(&self) -> usize;
    fn outputs(&self) -> Vec<(Output, usize)>;
    fn predict_block(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()>;
    fn rows_at_once(&self) -> usize {
        1
    }
    fn transform_sparse(&self, x: &X) -> Result<Option<OwnedCsr>>;
    fn feature_names(&self, input: &[String]) -> Option<Vec<String>>;
    fn attributes(&self) -> Vec<(&'static str, Array)>;
    fn to_bytes(&self) -> Vec<u8>;
    fn as_any(&self) -> &dyn Any;
}

impl<M: Model> AnyModel for M {
    fn cols(&self) -> usize {
        Model::cols(self)
    }
    fn outputs(&self) -> Vec<(Output, usize)> {
        Model::outputs(self)
    }
    fn predict_block(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        Model::predict(self, x, output, out)
    }
    fn rows_at_once(&self) -> usize {
        Model::rows_at_once(self)
    }
    fn transform_sparse(&self, x: &X) -> Result<Option<OwnedCsr>> {
        Model::transform_sparse(self, x)
    }
    fn feature_names(&self, input: &[String]) -> Option<Vec<String>> {
        Model::feature_names(self, input)
    }
    fn attributes(&self) -> Vec<(&'static str, Array)> {
        Model::attributes(self)
    }
    fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a model is plain data")
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A box is the model inside.
impl AnyModel for Box<dyn AnyModel> {
    fn cols(&self) -> usize {
        (**self).cols()
    }
    fn outputs(&self) -> Vec<(Output, usize)> {
        (**self).outputs()
    }
    fn predict_block(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        (**self).predict_block(x, output, out)
    }
    fn rows_at_once(&self) -> usize {
        (**self).rows_at_once()
    }
    fn transform_sparse(&self, x: &X) -> Result<Option<OwnedCsr>> {
        (**self).transform_sparse(x)
    }
    fn feature_names(&self, input: &[String]) -> Option<Vec<String>> {
        (**self).feature_names(input)
    }
    fn attributes(&self) -> Vec<(&'static str, Array)> {
        (**self).attributes()
    }
    fn to_bytes(&self) -> Vec<u8> {
        (**self).to_bytes()
    }
    fn as_any(&self) -> &dyn Any {
        (**self).as_any()
    }
}

/// The one prediction path: rows in, matrix out, blocks in parallel. `missing` lets NaN through to models that take it.
pub fn predict(ctx: &Ctx, model: &dyn AnyModel, x: &X, output: Output, missing: bool) -> Result<Matrix> {
    let outputs = model.outputs();
    let Some(&(_, width)) = outputs.iter().find(|(known, _)| *known == output) else {
        return Err(Error::Unsupported(format!("this model has no output {output:?}")));
    };
    if output != Output::Inverse && x.cols() != model.cols() {
        let found = format!("{} features, but the model was fitted with {}", x.cols(), model.cols());
        return Err(Error::shape("x", format!("{} columns", model.cols()), found));
    }
    let share = x.rows().div_ceil(4 * ctx.threads());
    let block = crate::reduce::block_rows(x.cols()).min(1024).max(share.min(model.rows_at_once()));
    // Between two blocks a cancel is heard of: wide rows come in smaller ones.
    let block = block.min((1 << 20) / width.max(1)).max(1);
    if x.rows().saturating_mul(width) > 1 << 24 {
        memory::check("a prediction", &format!("{} rows of {width} values", x.rows()), &[x.rows(), width], 8)?;
    }
    let mut out = Matrix::zeros(x.rows(), width);
    let run = |(i, out): (usize, &mut [f64])| {
        ctx.check()?;
        let first = i * block;
        let x = x.slice(first..(first + block).min(x.rows()));
        if !missing {
            x.check_finite(first)?;
        }
        model.predict_block(&x, output, out)
    };
    // A single block, as one row in a server, should not pay for threads.
    if x.rows() <= block {
        if x.rows() > 0 && width > 0 {
            run((0, &mut out.values))?;
        }
    } else if width > 0 {
        ctx.install(|| out.values.par_chunks_mut(block * width).enumerate().try_for_each(run))?;
    }
    Ok(out)
}

/// A named array of any shape, for inspection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Array {
    /// Empty for a single number.
    pub shape: Vec<usize>,
    pub values: Numbers,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Numbers {
    Float(Vec<f64>),
    Int(Vec<i64>),
    Text(Vec<String>),
    /// Arrays of different shapes, such as the weights of each layer.
    List(Vec<Array>),
}

impl From<f64> for Array {
    fn from(value: f64) -> Self {
        Array { shape: vec![], values: Numbers::Float(vec![value]) }
    }
}

impl From<usize> for Array {
    fn from(value: usize) -> Self {
        Array { shape: vec![], values: Numbers::Int(vec![value as i64]) }
    }
}

impl From<&[f64]> for Array {
    fn from(values: &[f64]) -> Self {
        Array { shape: vec![values.len()], values: Numbers::Float(values.to_vec()) }
    }
}

impl From<&Vec<f64>> for Array {
    fn from(values: &Vec<f64>) -> Self {
        values.as_slice().into()
    }
}

impl From<Vec<i64>> for Array {
    fn from(values: Vec<i64>) -> Self {
        Array { shape: vec![values.len()], values: Numbers::Int(values) }
    }
}

impl From<&Matrix> for Array {
    fn from(matrix: &Matrix) -> Self {
        Array { shape: vec![matrix.rows, matrix.cols], values: Numbers::Float(matrix.values.clone()) }
    }
}

/// What kind of question a model answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Task {
    Regression,
    Classification,
    Clustering,
    /// New features from old ones.
    Transformation,
    /// A density, or which rows do not belong.
    Density,
}

/// How the method goes through the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Passes {
    /// One sum: any size, any number of workers.
    One,
    /// A loop of sums: any size, any number of workers.
    Many,
    /// Many looks at rows that stay in memory, for this reason: any number of workers, each with its own rows.
    Shares(&'static str),
    /// All rows in the memory of one worker, for this reason.
    Memory(&'static str),
}

impl Passes {
    /// How several methods that see the same rows go through them together: as the most demanding one.
    pub fn and(self, other: Passes) -> Passes {
        let demand = |passes: Passes| match passes {
            Passes::One => 0,
            Passes::Many => 1,
            Passes::Shares(_) => 2,
            Passes::Memory(_) => 3,
        };
        if demand(other) > demand(self) { other } else { self }
    }

    /// Why rows cannot be read from disk block by block, if they cannot.
    pub const fn needs_memory(self) -> Option<&'static str> {
        match self {
            Passes::One | Passes::Many => None,
            Passes::Shares(reason) | Passes::Memory(reason) => Some(reason),
        }
    }

    /// Why rows cannot be spread over workers, if they cannot.
    pub const fn needs_one_worker(self) -> Option<&'static str> {
        match self {
            Passes::One | Passes::Many | Passes::Shares(_) => None,
            Passes::Memory(reason) => Some(reason),
        }
    }
}

/// A property of the conformance suite that a model is excused from; the reason stands beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Property {
    /// Weight 2 is the same as the row twice.
    WeightIsRepetition,
    /// Dense and sparse rows give the same model within rounding.
    SparseIsDense,
    /// A column that is constant changes nothing.
    ConstantColumn,
    /// One row is enough to fit, or is refused by name.
    OneRow,
    /// Columns may have any scale.
    AnyScale,
}

/// Values of the target that a model is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Domain {
    Any,
    /// 0, 1, 2 and so on; a fit takes any number of 0 or more.
    Count,
    /// Above 0.
    Positive,
}

/// How far a family bends to the data, from stiff to flexible: of equally good models the stiffer one is easier to
/// explain and to trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Flexibility {
    /// The same for every row.
    Constant,
    Linear,
    Tree,
    Neighbours,
    Kernel,
    Ensemble,
    Network,
}

/// What the list knows of a model.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Info {
    /// scikit-learn's submodule of the class.
    pub module: &'static str,
    pub task: Task,
    /// The problem in symbols, one line.
    pub objective: &'static str,
    pub passes: Passes,
    /// Whether it takes CSR rows as they are.
    pub sparse: bool,
    /// Whether it takes NaN as missing.
    pub missing: bool,
    /// Whether it takes categories as codes; without that they are one-hot encoded first.
    pub categories: bool,
    /// Whether the default preparation should bring columns to one scale.
    pub scale: bool,
    /// Whether one-hot columns should leave out a level, because dependent columns have no single best coefficient.
    pub reference_level: bool,
    /// Whether it takes weights.
    pub weights: bool,
    /// Whether it takes a single column.
    pub one_column: bool,
    /// Whether it takes several targets: numbers, or labels that are 0 or 1.
    pub multi_target: bool,
    /// Whether a transformer needs a target.
    pub supervised: bool,
    /// Whether the seed matters.
    pub random: bool,
    /// Whether x must be 0 or more (counts, shares).
    pub non_negative: bool,
    /// Whether every column is the count of a word, or whether the word is there.
    pub word_counts: bool,
    /// Values of the target that it is for.
    pub target: Domain,
    /// Parameters that are counted in the units of the target, such as the width of a tube.
    pub target_units: &'static [&'static str],
    /// Values of parameters that suit a few hundred rows where the defaults are made for many: a comparison starts
    /// there.
    #[serde(skip)]
    pub on_few_rows: &'static [(&'static str, f64)],
    pub flexibility: Flexibility,
    /// Whether more rows keep improving it where simpler models have stopped: on a sample it looks worse than it is.
    pub keeps_learning: bool,
    /// Why a comparison tries it only when it is asked for by name.
    pub not_compared: Option<&'static str>,
    /// Whether it can go on from an earlier fit ([`Estimator::resume`]): `partial_fit` and `warm_start` in Python.
    pub resume: bool,
    pub exceptions: &'static [(Property, &'static str)],
}

impl Info {
    /// A plain model: dense and sparse numbers, weights, one target. Override what differs.
    pub const fn new(module: &'static str, task: Task, objective: &'static str, passes: Passes) -> Self {
        Info {
            module,
            task,
            objective,
            passes,
            sparse: true,
            missing: false,
            categories: false,
            scale: false,
            reference_level: false,
            weights: true,
            one_column: false,
            multi_target: false,
            supervised: false,
            random: false,
            non_negative: false,
            word_counts: false,
            target: Domain::Any,
            target_units: &[],
            on_few_rows: &[],
            flexibility: Flexibility::Linear,
            keeps_learning: false,
            not_compared: None,
            resume: false,
            exceptions: &[],
        }
    }
}

fn another_kind(name: &str) -> Error {
    Error::Unsupported(format!("{name} cannot continue from a model of another kind"))
}

fn check_same_columns(fitted: usize, found: usize) -> Result<()> {
    if fitted == found {
        return Ok(());
    }
    let found = format!("{found} features, but the model was fitted with {fitted}");
    Err(Error::shape("x", format!("{fitted} columns"), found))
}

/// One line of the list.
#[derive(Clone, Copy)]
pub struct Entry {
    pub name: &'static str,
    pub doc: &'static str,
    pub info: Info,
    pub params: fn() -> Vec<Param>,
    pub make: fn(&Values) -> Result<Box<dyn AnyEstimator>>,
    pub load: fn(&[u8]) -> Result<Box<dyn AnyModel>>,
}

impl Entry {
    pub const fn of<E: Estimator>() -> Entry {
        Entry {
            name: E::NAME,
            doc: E::DOC,
            info: E::INFO,
            params: E::declared,
            make: |values| Ok(Box::new(E::from_values(values)?)),
            load: |bytes| Ok(Box::new(load::<E>(bytes)?)),
        }
    }
}

/// A model from what [`AnyModel::to_bytes`] made of it, checked.
pub fn load<E: Estimator>(bytes: &[u8]) -> Result<E::Model> {
    let unreadable = || Error::Data(format!("the stored {} is not readable", E::NAME));
    let (model, rest): (E::Model, _) = postcard::take_from_bytes(bytes).map_err(|_| unreadable())?;
    model.check()?;
    if rest.is_empty() { Ok(model) } else { Err(unreadable()) }
}

/// An [`Estimator`] of any type.
pub trait AnyEstimator: Send + Sync {
    fn name(&self) -> &'static str;
    fn info(&self) -> Info;
    fn values(&self) -> Values;
    /// [`Estimator::cost`], finite and never 0.
    fn cost(&self, shape: &Shape) -> f64;
    fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<Box<dyn AnyModel>>>;
    fn resume(&self, model: &dyn AnyModel, data: &dyn Source, ctx: &Ctx) -> Result<Fit<Box<dyn AnyModel>>>;
}

impl<E: Estimator> AnyEstimator for E {
    fn name(&self) -> &'static str {
        E::NAME
    }

    fn info(&self) -> Info {
        self.takes()
    }

    fn values(&self) -> Values {
        Params::values(self)
    }

    fn cost(&self, shape: &Shape) -> f64 {
        Estimator::cost(self, shape).clamp(1e-6, 1e12)
    }

    fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<Box<dyn AnyModel>>> {
        Ok(Estimator::fit(self, data, ctx)?.boxed())
    }

    fn resume(&self, model: &dyn AnyModel, data: &dyn Source, ctx: &Ctx) -> Result<Fit<Box<dyn AnyModel>>> {
        let model = model.as_any().downcast_ref::<E::Model>().ok_or_else(|| another_kind(E::NAME))?;
        Ok(Estimator::resume(self, model, data, ctx)?.boxed())
    }
}

/// Refuses rows that these passes cannot reach, before the first of them is read.
pub fn check_source(name: &str, passes: Passes, data: &dyn Source) -> Result<()> {
    if let Some(reason) = passes.needs_memory() {
        data.share_in_memory(name, reason)?;
    }
    if let Some(reason) = passes.needs_one_worker() {
        data.in_memory(name, reason)?;
    }
    Ok(())
}

/// What no fit hands out, in one place: a model that could not be loaded again, or that has no number to say of its own
/// first rows.
fn check_sound<M: Model>(name: &str, model: &M, log: &FitLog, data: &dyn Source) -> Result<()> {
    const ROWS: usize = 8;
    let beyond = |what: String| {
        Error::Data(format!("{name}: the fit overflowed: {what}"))
            .hint("bring columns and target to a smaller scale, or choose less extreme parameters")
    };
    model.check().map_err(|error| beyond(error.to_string()))?;
    if log.objective.iter().any(|value| value.is_nan()) {
        return Err(beyond("the objective is NaN".into()));
    }
    // Workers have one model and different rows, and have to come to one answer.
    let held = data.held();
    if held.len() < data.shape().rows {
        return Ok(());
    }
    let mut buffers = Buffers::default();
    let batch = data.read(held.start..held.end.min(held.start + ROWS), &mut buffers)?;
    let x = batch.x;
    for (output, width) in Model::outputs(model) {
        if width == 0 || matches!(output, Output::Inverse | Output::Leaf) {
            continue;
        }
        let mut out = vec![0.0; x.rows() * width];
        // What predicting refuses in words is refused there.
        if Model::predict(model, &x, output, &mut out).is_err() {
            continue;
        }
        for (i, said) in out.chunks_exact(width.max(1)).enumerate() {
            // Of rows without weight nothing was learnt.
            let mut known = batch.weight(i) > 0.0;
            x.row(i).for_each(|_, value| known &= value.is_finite());
            let sound = |value: &f64| match output {
                // Impossible rows have density 0, and a transformer may hand on what is missing.
                Output::Density => !value.is_nan(),
                Output::Transform => value.is_finite() || !known,
                _ => value.is_finite() || batch.weight(i) == 0.0,
            };
            if let Some(value) = said.iter().find(|value| !sound(value)) {
                return Err(beyond(format!("what it says of row {} is {value}", held.start + i)));
            }
        }
    }
    Ok(())
}

/// What every fit refuses, in one place.
pub fn check_fit(name: &str, info: &Info, shape: &Shape) -> Result<()> {
    use crate::data::TargetKind::{Class, None, Real};
    if shape.rows == 0 {
        return Err(Error::Data(format!("{name}: there are no rows (0 samples) to learn from")));
    }
    if shape.cols == 0 {
        return Err(Error::Data(format!("{name}: there are no columns (0 features) to learn from")));
    }
    if info.one_column && shape.cols > 1 {
        return Err(Error::Data(format!("{name} takes one column, and there are {} columns", shape.cols))
            .hint("choose the column that the target rises or falls with"));
    }
    if shape.sparse && !info.sparse {
        return Err(Error::Unsupported(format!("{name} takes dense rows only")));
    }
    if shape.weighted && !info.weights {
        return Err(Error::Unsupported(format!("{name} takes no weights")));
    }
    match (info.task, shape.target) {
        (Task::Regression, Real(1)) | (Task::Classification, Class(2..)) => Ok(()),
        (Task::Regression | Task::Classification, Real(n)) if info.multi_target => {
            if n == 0 {
                Err(Error::Data(format!("{name}: the target has no columns")))
            } else {
                Ok(())
            }
        }
        (Task::Regression, Real(n)) => Err(Error::Unsupported(format!("{name} supports one target, not {n}"))),
        (Task::Regression, None | Class(_)) => Err(Error::Data(format!("{name} needs a target of numbers"))),
        (Task::Classification, Class(n)) => {
            Err(Error::Data(format!("{name} needs at least two classes in the target, but there is only {n} class")))
        }
        (Task::Classification, None | Real(_)) => Err(Error::Data(format!("{name} needs a target of classes"))),
        (Task::Transformation, None) if info.supervised => Err(Error::Data(format!("{name} needs a target"))),
        (Task::Clustering | Task::Transformation | Task::Density, _) => Ok(()),
    }
}
