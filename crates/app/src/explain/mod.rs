//! What a fitted model has learnt, as plain data: what drives it, how its answer follows a column, where it errs and
//! from what, whether more rows would help, and why it says what it says of one row.

mod errors;
mod groups;
mod outliers;
mod watch;

pub use errors::{Threshold, WORST, WorstRow, describe, thresholds, values_as_text, worst};
pub use groups::{Group, Middle, Telling, groups};
pub use outliers::{Oddity, Outlier, OutlierMethod, Outliers};
pub use watch::{Seen, Watched, trace_line, watch};

use crate::{
    choose::clusters::ClusterCurve,
    fit::{Pipeline, Recipe, Texts, Whole},
    inspect::Look,
    judge::Predictions,
    plan::terms,
    rows::{Encoded, RowSet, Rows, sampled},
    store::Fitted,
    table::{Kind, Schema, Table},
};
use ermine::{
    AnyEstimator, AnyModel, Ctx, Entry, Error, Feature, Matrix, Numbers, Output, Result, Spec, Task, X,
    core::{ctx::Progress, rng},
    inspect::{self, Along, BiasVariance, CurvePoint},
    metrics::{self, Bins, Metric},
    split::{Folds, train_test_split},
    tree,
};
use serde::Serialize;

/// More columns than this are not shuffled one by one; those that the model itself rates highest are.
const SHUFFLED: usize = 100;
/// Rows are enough for a picture; more would only cost time.
pub const LOOKED_AT: usize = 2000;
/// Rows that a picture of one column follows.
pub const FOLLOWED: usize = 300;
/// Levels of a category that a picture of one column has room for.
const LEVELS: usize = 12;
/// Rows that a learning curve learns from.
pub const LEARNT_FROM: usize = 20_000;

/// How much the score falls when the values of a column are shuffled.
#[derive(Clone, Debug, Serialize)]
pub struct Weight {
    pub name: String,
    #[serde(skip)]
    pub column: usize,
    pub fall: f64,
    pub error: f64,
}

/// The mean prediction along one column, others as they are.
#[derive(Clone, Debug, Serialize)]
pub struct Dependence {
    pub name: String,
    pub category: bool,
    /// Values are days since 1970; `labels` writes them out.
    pub dated: bool,
    /// What is followed: `prediction`, `probability` or `score`.
    pub of: &'static str,
    /// Levels that are rarer than those that are shown.
    pub others: usize,
    /// Values of the column, or names of levels.
    pub at: Vec<f64>,
    pub labels: Vec<String>,
    /// One curve for each class, or a single one.
    pub means: Vec<Vec<f64>>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LearningCurve {
    pub rows: Vec<f64>,
    pub train: Vec<f64>,
    pub test: Vec<f64>,
    /// Standard errors of the held-out scores.
    pub error: Vec<f64>,
    pub verdict: String,
}

/// Points of a curve with the area under it.
#[derive(Clone, Debug, Serialize)]
pub struct Area {
    pub class: String,
    pub points: Vec<(f64, f64)>,
    pub area: f64,
}

/// Rows that clusters are described by.
pub const GROUPED: usize = 100_000;

/// Everything a report draws beside scores.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Insight {
    pub importance: Vec<Weight>,
    pub dependence: Vec<Dependence>,
    pub curve: Option<LearningCurve>,
    pub roc: Vec<Area>,
    pub precision_recall: Vec<Area>,
    /// Said probability, share that came true, rows.
    pub calibration: Vec<(f64, f64, f64)>,
    /// Truth and prediction of test rows.
    pub predicted: Vec<(f64, f64)>,
    /// Of two classes: what each threshold of the probability comes to.
    pub thresholds: Vec<Threshold>,
    /// Test rows that the model is most wrong about.
    pub worst: Vec<WorstRow>,
    /// A picture of a single tree.
    pub tree: Option<String>,
    /// How well each number of clusters does, where none was named.
    pub cluster_curve: Option<ClusterCurve>,
    /// What each cluster is.
    pub groups: Vec<Group>,
    /// The columns with their distributions.
    pub look: Option<Look>,
}

/// The fall of a score without each column, the largest first. Looks at rows that the model has not seen.
pub fn importance(whole: &Whole, schema: &Schema, rows: &Rows, metric: &Metric, ctx: &Ctx) -> Result<Vec<Weight>> {
    let some = sample(rows, LOOKED_AT, ctx.seed);
    let data = some.data()?;
    let columns = worth_shuffling(whole.recipe, whole.model, some.x.cols);
    let repeats = if some.len() * columns.len() > 50_000 { 3 } else { 10 };
    let found = inspect::permutation_importance_of(ctx, whole, &data.batch(), metric, true, repeats, &columns)?;
    let mut weights: Vec<Weight> = found
        .into_iter()
        .map(|found| Weight {
            name: schema.columns[found.column].name.clone(),
            column: found.column,
            fall: found.mean,
            error: found.standard_error,
        })
        .collect();
    weights.sort_by(|a, b| b.fall.total_cmp(&a.fall));
    Ok(weights)
}

/// All columns, or those with the largest coefficients or importances of the model's own.
fn worth_shuffling(recipe: &Recipe, model: &dyn AnyModel, cols: usize) -> Vec<usize> {
    if cols <= SHUFFLED {
        return (0..cols).collect();
    }
    let origins = recipe.origins();
    let mut rating = vec![0.0f64; cols];
    for (name, array) in model.attributes() {
        let Numbers::Float(values) = &array.values else { continue };
        if ["coef_", "feature_importances_"].contains(&name) && values.len() % origins.len().max(1) == 0 {
            for (place, value) in values.iter().enumerate() {
                let column = origins[place % origins.len()];
                rating[column] = rating[column].max(value.abs());
            }
        }
    }
    let mut order: Vec<usize> = (0..cols).filter(|&column| rating[column] > 0.0).collect();
    order.sort_by(|&a, &b| rating[b].total_cmp(&rating[a]).then(a.cmp(&b)));
    order.truncate(SHUFFLED);
    order
}

/// At most so many rows, drawn by seed and number.
fn sample(rows: &Rows, most: usize, seed: u64) -> Rows {
    rows.take(&sampled(rows.len(), most, seed, "look"))
}

/// The output that pictures show.
fn shown(model: &dyn AnyModel, task: Task) -> Option<Output> {
    let wanted: &[Output] = match task {
        Task::Classification => &[Output::Probability, Output::Decision],
        _ => &[Output::Value],
    };
    wanted.iter().copied().find(|output| model.outputs().iter().any(|(known, _)| known == output))
}

/// Whether there is a number to follow along a column; votes that are only counted have none.
pub fn can_be_followed(model: &dyn AnyModel, task: Task) -> bool {
    shown(model, task).is_some()
}

/// The prediction along one raw column.
pub fn dependence(
    whole: &Whole,
    task: Task,
    schema: &Schema,
    rows: &Rows,
    column: usize,
    ctx: &Ctx,
) -> Result<Dependence> {
    let output =
        shown(whole, task).ok_or_else(|| Error::Unsupported("this model has no prediction to follow".into()))?;
    let some = sample(rows, FOLLOWED, ctx.seed);
    let data = some.data()?;
    let feature = some.features[column];
    let along = Along { column, feature, resolution: 24, curves: 0 };
    let found = inspect::partial_dependence(ctx, whole, &data.batch(), along, (output, 0), true)?;
    let field = &schema.columns[column];
    let category = matches!(feature, Feature::Category { .. });
    let label = |value: &f64| match category {
        true => field.levels.get(*value as usize).cloned().unwrap_or_default(),
        false => field.text_of(*value),
    };
    // Places of the grid: of many levels the most frequent ones, the order of the file among equals.
    let mut places: Vec<usize> = (0..found.grid.len()).collect();
    if category && places.len() > LEVELS {
        let count = |place: &usize| (0..some.len()).filter(|&row| some.x[(row, column)] == found.grid[*place]).count();
        places.sort_by_cached_key(|place| std::cmp::Reverse(count(place)));
        places.truncate(LEVELS);
    }
    let at: Vec<f64> = places.iter().map(|&place| found.grid[place]).collect();
    Ok(Dependence {
        name: field.name.clone(),
        category,
        dated: matches!(field.kind, Kind::Date | Kind::DateTime),
        of: match output {
            Output::Probability => "probability",
            Output::Value => "prediction",
            _ => "score",
        },
        others: found.grid.len() - at.len(),
        labels: at.iter().map(label).collect(),
        means: (0..found.mean.cols).map(|c| places.iter().map(|&place| found.mean[(place, c)]).collect()).collect(),
        at,
    })
}

/// Scores with growing shares of the rows, on rows learnt from and on new ones; as many points as the time allows.
pub fn learning_curve(
    estimator: &dyn AnyEstimator,
    entry: &Entry,
    features: &Schema,
    rows: &Rows,
    metric: &Metric,
    ctx: &Ctx,
) -> Result<Option<LearningCurve>> {
    if rows.len() < 30 {
        return Ok(None);
    }
    let data = rows.data()?;
    let folds = if rows.len() > 3000 { 3 } else { 5 };
    let Ok(folds) = Folds::usual(&data.batch().y, folds).split(&data.batch(), None, ctx.seed) else { return Ok(None) };
    let seed = rng::key(ctx.seed, "learning curve", 0);
    let mut points: Vec<CurvePoint> = Vec::new();
    for share in [0.1, 0.2, 0.4, 0.7, 1.0] {
        let scored = ctx.map(folds.len(), |f| {
            let child = ctx.child("fold", f as u64);
            let mut order = folds[f].train.clone();
            order.sort_by_key(|&row| (rng::key(seed, "row", row as u64), row));
            order.truncate(((order.len() as f64 * share).round() as usize).max(2));
            order.sort_unstable();
            let (train, test) = (rows.take(&order), rows.take(&folds[f].test));
            let (train, test) = (RowSet::of(train), RowSet::of(test));
            let pipeline = train.fit(estimator, features, &child)?;
            let score = |rows: &RowSet| -> Result<f64> {
                let (said, labels) = (rows.predict(entry, &pipeline, &child)?, rows.labels());
                let truth = labels.target.as_ref().ok_or_else(|| Error::Data("there is no target".into()))?;
                Ok(metric.turned(said.metric(metric, truth, labels.weights.as_deref())?))
            };
            Ok((score(&train)?, score(&test)?, train.len()))
        });
        // A share too small for the model, or no time: the other points still tell.
        let Ok(scored) = scored else { continue };
        let of = |f: fn(&(f64, f64, usize)) -> f64| -> (f64, f64) {
            ermine::search::mean_and_error(&scored.iter().map(f).collect::<Vec<f64>>())
        };
        let ((train, train_error), (test, test_error)) = (of(|s| s.0), of(|s| s.1));
        if train.is_finite() && test.is_finite() {
            let at = of(|s| s.2 as f64).0;
            points.push(CurvePoint { at, label: format!("{at:.0}"), train, train_error, test, test_error });
        }
    }
    if points.len() < 2 {
        return Ok(None);
    }
    Ok(Some(LearningCurve {
        verdict: inspect::learning_verdict(&points, metric),
        rows: points.iter().map(|point| point.at.round()).collect(),
        train: points.iter().map(|point| metric.turned(point.train)).collect(),
        test: points.iter().map(|point| metric.turned(point.test)).collect(),
        error: points.iter().map(|point| point.test_error).collect(),
    }))
}

/// Curves of test predictions: ROC, precision and recall, calibration; or truth beside prediction.
pub fn curves(
    insight: &mut Insight,
    truth: &Encoded,
    said: &Predictions,
    weights: Option<&[f64]>,
    seed: u64,
) -> Result<()> {
    match truth {
        Encoded::Real(y) => {
            let Some(values) = said.get(Output::Value) else { return Ok(()) };
            let mut order: Vec<usize> = (0..y.len()).collect();
            order.sort_by_key(|&row| (rng::key(seed, "look", row as u64), row));
            order.truncate(LOOKED_AT);
            insight.predicted = order.into_iter().map(|row| (y[row], values[(row, 0)])).collect();
        }
        Encoded::Class { codes, names } => {
            let scores = said.get(Output::Probability).or(said.get(Output::Decision));
            let Some(scores) = scores.filter(|scores| scores.cols == names.len() || scores.cols == 1) else {
                return Ok(());
            };
            let shown: Vec<usize> = if names.len() == 2 { vec![1] } else { (0..names.len().min(10)).collect() };
            for class in shown {
                let positive = metrics::is_class(codes, class);
                let column = if scores.cols == 1 { 0 } else { class };
                let column: Vec<f64> = (0..scores.rows).map(|i| scores[(i, column)]).collect();
                if !positive.contains(&true) || !positive.contains(&false) {
                    continue;
                }
                let roc = metrics::roc_curve(&positive, &column, weights, true)?;
                let points = thinned(roc.fpr.iter().copied().zip(roc.tpr.iter().copied()).collect());
                let area = metrics::roc_auc(&positive, &column, weights)?;
                insight.roc.push(Area { class: names[class].clone(), points, area });
                let pr = metrics::precision_recall_curve(&positive, &column, weights)?;
                let points = thinned(pr.recall.iter().copied().zip(pr.precision.iter().copied()).collect());
                let area = metrics::average_precision(&positive, &column, weights)?;
                insight.precision_recall.push(Area { class: names[class].clone(), points, area });
            }
            if let Some(p) = said.get(Output::Probability).filter(|p| p.cols == names.len()) {
                // Of the class that is called, whatever the number of classes; with two, of the second.
                let (mut positive, mut probability) = (Vec::new(), Vec::new());
                for i in 0..p.rows {
                    let row = p.row(i);
                    let called = if names.len() == 2 {
                        1
                    } else {
                        (0..row.len()).fold(0, |a, b| if row[b] > row[a] { b } else { a })
                    };
                    positive.push(codes[i] as usize == called);
                    probability.push(row[called]);
                }
                if names.len() == 2 {
                    insight.thresholds = thresholds(codes, &probability, weights);
                }
                let bins = metrics::calibration_curve(&positive, &probability, 10, Bins::Uniform, weights)?;
                insight.calibration = bins.iter().map(|bin| (bin.predicted, bin.observed, bin.weight)).collect();
            }
        }
    }
    Ok(())
}

/// At most a few hundred points, ends included.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(400).max(1);
    let last = points.len().saturating_sub(1);
    points.into_iter().enumerate().filter(|(i, _)| i % step == 0 || *i == last).map(|(_, point)| point).collect()
}

/// A picture of a single tree, the first questions of it.
pub fn tree_picture(pipeline: &Pipeline, schema: &Schema, classes: &[String], depth: usize) -> Option<String> {
    let model = pipeline.fit.model.as_any().downcast_ref::<tree::DecisionTreeModel>()?;
    let (features, levels) = (pipeline.recipe.names(schema), pipeline.recipe.levels(schema));
    let names = tree::picture::Names { features: &features, classes, levels: &levels };
    Some(tree::picture::svg(&model.tree, &names, !classes.is_empty(), depth))
}

impl Fitted {
    /// What drives the model on these rows, and how.
    pub fn insight(&self, rows: &Rows, ctx: &Ctx) -> Result<Insight> {
        let recipe = self.preparation.as_ref();
        let recipe =
            recipe.ok_or_else(|| Error::Unsupported("this model file has no preparation to explain".into()))?;
        let whole = Whole { recipe, model: &*self.model, texts: &rows.texts, ctx: ctx.clone() };
        let (task, schema) = (self.task()?, self.features());
        let mut insight = Insight::default();
        if rows.labels.target.is_some()
            && !rows.is_empty()
            && let Some(metric) = metrics::default_metric(task)
        {
            insight.importance = importance(&whole, schema, rows, metric, ctx)?;
        }
        let driving = insight.importance.iter().filter(|weight| weight.fall > 0.0);
        let mut columns: Vec<usize> = driving.map(|weight| weight.column).collect();
        if columns.is_empty() {
            columns = worth_shuffling(recipe, &*self.model, rows.x.cols);
        }
        let is_text = |column: &usize| rows.texts.0.iter().any(|(known, _)| known == column);
        columns.retain(|column| !is_text(column) && can_be_followed(&whole, task));
        for &column in columns.iter().take(4) {
            insight.dependence.push(dependence(&whole, task, schema, rows, column, ctx)?);
        }
        Ok(insight)
    }

    /// The features of one row as a person reads them.
    pub fn values_of(&self, table: &Table, row: usize) -> Result<Vec<String>> {
        let one = table.take(&[row]);
        let made = match &self.header.made {
            Some(made) => terms::derive(&made.terms, &one)?,
            None => one,
        };
        self.features().columns.iter().map(|field| Ok(made.column(&field.name)?.value_text(0))).collect()
    }
}

/// Where the error of a model comes from: refits on halves of most rows, judged on the others.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorParts {
    pub refits: usize,
    /// Rows that two refits share out, and rows to judge on.
    pub train_rows: usize,
    pub test_rows: usize,
    /// `mean squared error`, or `share of wrong classes`.
    pub of: &'static str,
    #[serde(flatten)]
    pub parts: BiasVariance,
    pub verdict: String,
}

impl Fitted {
    /// Refits the model, preparation included, on halves of seven tenths of the rows, an even number of times.
    pub fn error_parts(&self, rows: &Rows, refits: usize, ctx: &Ctx) -> Result<ErrorParts> {
        let spec = Spec { name: self.header.model.clone(), params: self.header.values() };
        let (entry, estimator) = (ermine::entry(&spec.name)?, ermine::make(&spec)?);
        let output = if self.task()? == Task::Classification { Output::Class } else { Output::Value };
        let data = rows.data()?;
        let split = train_test_split(&data.batch(), 0.3, None, rng::key(ctx.seed, "bias and variance", 0))?;
        let test = rows.take(&split.test);
        let test_data = test.data()?;
        let batch = test_data.batch();
        let refits = refits.max(2).next_multiple_of(2);
        let answers = ctx.map(refits, |refit| {
            let child = ctx.child("refit", refit as u64);
            let sample = inspect::half(ctx, &split.train, refit);
            let pipeline = RowSet::of(rows.take(&sample)).fit(&*estimator, self.features(), &child)?;
            let said = pipeline.predict(entry, &batch.x, &test.texts, &child)?;
            let said = said.get(output).ok_or_else(|| Error::Unsupported(format!("{} does not predict", spec.name)))?;
            ctx.progress(Progress { what: "refitting", step: refit + 1, of: Some(refits), value: None });
            Ok(said.values.clone())
        })?;
        // Numbers of documents say nothing about which rows are near: noise then stays a part of the bias.
        let noise = (!rows.texts.is_empty()).then_some(0.0);
        let parts = inspect::decompose(&answers, &batch, noise)?;
        Ok(ErrorParts {
            refits,
            train_rows: split.train.len(),
            test_rows: split.test.len(),
            of: if output == Output::Class { "share of wrong classes" } else { "mean squared error" },
            verdict: verdict_of(&parts, output == Output::Class),
            parts,
        })
    }
}

/// What to do about it, in words.
fn verdict_of(found: &BiasVariance, classes: bool) -> String {
    let BiasVariance { error, bias, noise, net_variance: variance, .. } = *found;
    if error == 0.0 {
        return "no refit makes an error".into();
    }
    let share = |part: f64| format!("{:.0} % of the error", 100.0 * part / error);
    if variance > bias.max(noise) {
        let advice = "more rows, a simpler model, more regularisation or averaging (bagging) would help";
        return format!("mostly variance ({}): {advice}", share(variance));
    }
    if noise > bias {
        return format!(
            "mostly noise ({}): similar rows have different targets, which no model can predict",
            share(noise)
        );
    }
    let or_noise = if classes { " or noise" } else { "" };
    let advice = "a more flexible model, less regularisation or better columns would help; more rows would not";
    format!("mostly bias{or_noise} ({}): {advice}", share(bias))
}

/// Why a model says what it says of one row: the part of each column in the difference from the mean prediction.
#[derive(Clone, Debug, Serialize)]
pub struct RowExplanation {
    pub row: usize,
    /// What is explained: the prediction, or the probability of this class.
    pub of: String,
    pub prediction: f64,
    /// Mean over the rows compared with.
    pub base: f64,
    /// Column, its value in this row, its part; the largest first. `base` and all parts add up to `prediction`.
    pub parts: Vec<(String, String, f64)>,
}

/// Shapley values by sampling (Strumbelj and Kononenko 2014): columns are switched from a background row to this one in
/// random order and each is credited with the change; forwards and backwards, so that the parts add up for every pair
/// of rows.
pub fn explain_row(fitted: &Fitted, rows: &Rows, values: &[String], row: usize, ctx: &Ctx) -> Result<RowExplanation> {
    let found = explain_values(fitted, rows.x.row(row), values, &rows.x, &rows.texts, ctx)?;
    Ok(RowExplanation { row, ..found })
}

/// The same for one row of numbers beside any background.
pub fn explain_values(
    fitted: &Fitted,
    this: &[f64],
    values: &[String],
    background: &Matrix,
    texts: &Texts,
    ctx: &Ctx,
) -> Result<RowExplanation> {
    let names: Vec<String> = fitted.features().columns.iter().map(|field| field.name.clone()).collect();
    let recipe = fitted.preparation.as_ref();
    let recipe = recipe.ok_or_else(|| Error::Unsupported("this model file has no preparation to explain".into()))?;
    let whole = Whole { recipe, model: &*fitted.model, texts, ctx: ctx.clone() };
    let task = fitted.task()?;
    let output =
        shown(&whole, task).ok_or_else(|| Error::Unsupported("this model has no prediction to explain".into()))?;
    let cols = background.cols;
    let predict = |x: &Matrix| ermine::predict(ctx, &whole, &X::dense(&x.values, cols)?, output, true);
    let here = predict(&Matrix::new(this.to_vec(), 1, cols))?;
    let which = (0..here.cols).fold(0, |a, b| if here[(0, b)] > here[(0, a)] { b } else { a });
    let classes = fitted.classes();
    let of = match (output, classes) {
        (Output::Value, _) => "prediction".to_string(),
        (Output::Probability, classes) => format!("probability of {}", classes[which]),
        (_, classes) if here.cols == 1 => format!("score of {}", classes[1]),
        (_, classes) => format!("score of {}", classes[which]),
    };
    let which = if output == Output::Value { 0 } else { which };
    let rounds = (4000 / cols.max(1)).clamp(20, 200);
    let mut parts = vec![0.0; cols];
    let mut base = 0.0;
    for round in 0..rounds {
        ctx.check()?;
        let mut rng = ctx.rng("background", (round / 2) as u64);
        let other = background.row(rng.below(background.rows)).to_vec();
        let mut order: Vec<usize> = (0..cols).collect();
        rng.shuffle(&mut order);
        if round % 2 == 1 {
            order.reverse();
        }
        // The rows on the way from the other one to this one.
        let mut path = Matrix::zeros(cols + 1, cols);
        let mut now = other;
        path.row_mut(0).copy_from_slice(&now);
        for (step, &column) in order.iter().enumerate() {
            now[column] = this[column];
            path.row_mut(step + 1).copy_from_slice(&now);
        }
        let said = predict(&path)?;
        base += said[(0, which)] / rounds as f64;
        for (step, &column) in order.iter().enumerate() {
            parts[column] += (said[(step + 1, which)] - said[(step, which)]) / rounds as f64;
        }
    }
    let mut parts: Vec<(String, String, f64)> =
        (0..cols).map(|column| (names[column].clone(), values[column].clone(), parts[column])).collect();
    parts.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
    Ok(RowExplanation { row: 0, of, prediction: here[(0, which)], base, parts })
}
