//! How good predictions are: the list of metrics, and the plain functions behind it.
//!
//! A metric has scikit-learn's scoring name. [`Metric::value`] is the quantity itself (an error is positive);
//! [`Metric::score`] turns it so that more is better, which is what searches compare. NaN means that the data do not
//! define it (an area with one class, R2 of one row). Parallel work runs in the pool of the caller (`ctx.install`).
//!
//! ```
//! use ermine::{Ctx, Matrix, Target, metrics};
//! let truth = Target::Class { codes: &[0, 0, 1, 1], classes: 2 };
//! let p = Matrix::new(vec![0.9, 0.1, 0.6, 0.4, 0.65, 0.35, 0.2, 0.8], 4, 2);
//! let auc = metrics::metric("roc_auc")?;
//! assert_eq!(auc.value(&truth, &p, None)?, 0.75);
//! let interval = auc.interval(&Ctx::default(), &truth, &p, None, 0.95, 200)?;
//! assert!(interval.low <= 0.75 && 0.75 <= interval.high);
//! # Ok::<(), ermine::Error>(())
//! ```

mod classification;
mod cluster;
mod ranking;
mod regression;

pub use classification::{
    Average, Bins, Calibration, Confusion, Counts, brier_score_loss, calibration_curve, calibration_error,
    confusion_matrix, d2_brier_score, d2_log_loss_score, log_loss,
};
pub use cluster::{
    adjusted_rand_score, calinski_harabasz_score, davies_bouldin_score, homogeneity_completeness_v_measure,
    normalized_mutual_info_score, silhouette_samples, silhouette_score,
};
pub use ranking::{
    Choice, Costs, PrecisionRecall, RocCurve, Thresholds, average_precision, best_threshold, is_class,
    one_against_rest, partial_roc_auc, precision_recall_curve, roc_auc, roc_auc_ovo, roc_auc_ovr, roc_curve,
    thresholds,
};
pub use regression::{
    d2_absolute_error_score, d2_pinball_score, d2_tweedie_score, explained_variance_score, max_error,
    mean_absolute_error, mean_absolute_percentage_error, mean_pinball_loss, mean_squared_error, mean_squared_log_error,
    mean_tweedie_deviance, median_absolute_error, r2_score, root_mean_squared_error,
};

use crate::{Ctx, Error, Matrix, Output, Result, Target, Task, engine::quantile};

/// What a metric compares with the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Predicted class codes, one column.
    Class,
    /// A probability for each class.
    Probability,
    /// A decision score or a probability; one column will do for two classes.
    Score,
    /// Predicted numbers, one column for each target.
    Value,
}

impl Needs {
    /// Outputs of a model that serve, the preferred one first.
    pub fn outputs(self) -> &'static [Output] {
        match self {
            Needs::Class => &[Output::Class],
            Needs::Probability => &[Output::Probability],
            Needs::Score => &[Output::Decision, Output::Probability],
            Needs::Value => &[Output::Value],
        }
    }
}

/// One line of the list.
#[derive(Clone, Copy)]
pub struct Metric {
    /// scikit-learn's scoring name.
    pub name: &'static str,
    /// The definition in symbols.
    pub definition: &'static str,
    pub task: Task,
    pub needs: Needs,
    /// Of the value; the score is turned where this is false.
    pub greater_is_better: bool,
    /// Whether it is only for two classes.
    pub binary: bool,
    compute: Compute,
}

#[derive(Clone, Copy)]
enum Compute {
    Class(fn(&Confusion) -> Result<f64>),
    Probability(fn(&[u32], &Matrix, Option<&[f64]>) -> Result<f64>),
    Value(fn(&[f64], &[f64], Option<&[f64]>) -> Result<f64>),
}

const fn class(name: &'static str, definition: &'static str, of: fn(&Confusion) -> Result<f64>) -> Metric {
    Metric {
        name,
        definition,
        task: Task::Classification,
        needs: Needs::Class,
        greater_is_better: true,
        binary: false,
        compute: Compute::Class(of),
    }
}

const fn binary(name: &'static str, definition: &'static str, of: fn(&Confusion) -> Result<f64>) -> Metric {
    Metric { binary: true, ..class(name, definition, of) }
}

type OfProbability = fn(&[u32], &Matrix, Option<&[f64]>) -> Result<f64>;

const fn probability(name: &'static str, definition: &'static str, of: OfProbability) -> Metric {
    let base = class(name, definition, |_| Ok(f64::NAN));
    Metric { needs: Needs::Probability, compute: Compute::Probability(of), ..base }
}

const fn value(
    name: &'static str,
    definition: &'static str,
    of: fn(&[f64], &[f64], Option<&[f64]>) -> Result<f64>,
) -> Metric {
    let base = class(name, definition, |_| Ok(f64::NAN));
    Metric { task: Task::Regression, needs: Needs::Value, compute: Compute::Value(of), ..base }
}

const fn loss(metric: Metric) -> Metric {
    Metric { greater_is_better: false, ..metric }
}

/// THE list of metrics.
pub static METRICS: &[Metric] = &[
    class("accuracy", "sum_c n_cc / n", |c| Ok(c.accuracy())),
    class("balanced_accuracy", "mean over classes of n_cc / n_c.", |c| Ok(c.balanced_accuracy(false))),
    binary("precision", "TP / (TP + FP)", |c| c.precision(Average::Binary)),
    class("precision_macro", "mean over classes of TP / (TP + FP)", |c| c.precision(Average::Macro)),
    class("precision_micro", "sum TP / sum (TP + FP)", |c| c.precision(Average::Micro)),
    class("precision_weighted", "sum_c n_c. precision_c / n", |c| c.precision(Average::Weighted)),
    binary("recall", "TP / (TP + FN), the sensitivity", |c| c.recall(Average::Binary)),
    class("recall_macro", "mean over classes of TP / (TP + FN)", |c| c.recall(Average::Macro)),
    class("recall_micro", "sum TP / sum (TP + FN)", |c| c.recall(Average::Micro)),
    class("recall_weighted", "sum_c n_c. recall_c / n", |c| c.recall(Average::Weighted)),
    binary("specificity", "TN / (TN + FP)", |c| c.specificity(Average::Binary)),
    class("specificity_macro", "mean over classes of TN / (TN + FP)", |c| c.specificity(Average::Macro)),
    binary("f1", "2 TP / (2 TP + FP + FN)", |c| c.f_beta(1.0, Average::Binary)),
    class("f1_macro", "mean over classes of 2 TP / (2 TP + FP + FN)", |c| c.f_beta(1.0, Average::Macro)),
    class("f1_micro", "2 sum TP / sum (2 TP + FP + FN)", |c| c.f_beta(1.0, Average::Micro)),
    class("f1_weighted", "sum_c n_c. f1_c / n", |c| c.f_beta(1.0, Average::Weighted)),
    binary("jaccard", "TP / (TP + FP + FN)", |c| c.jaccard(Average::Binary)),
    class("jaccard_macro", "mean over classes of TP / (TP + FP + FN)", |c| c.jaccard(Average::Macro)),
    class("jaccard_micro", "sum TP / sum (TP + FP + FN)", |c| c.jaccard(Average::Micro)),
    class("jaccard_weighted", "sum_c n_c. jaccard_c / n", |c| c.jaccard(Average::Weighted)),
    class("matthews_corrcoef", "(n sum_c n_cc - sum_c n_c. n_.c) / sqrt((n^2 - sum n_.c^2) (n^2 - sum n_c.^2))", |c| {
        Ok(c.matthews())
    }),
    class("cohen_kappa", "(accuracy - chance) / (1 - chance), chance = sum_c n_c. n_.c / n^2", |c| Ok(c.kappa(0))),
    Metric {
        needs: Needs::Score,
        binary: true,
        ..probability("roc_auc", "P(s+ > s-) + P(s+ = s-) / 2", |y, s, w| {
            roc_auc(&is_class(y, 1), &second_class(s)?, w)
        })
    },
    probability("roc_auc_ovr", "mean over classes of the area of each against the rest", |y, s, w| {
        roc_auc_ovr(y, s, w, false)
    }),
    probability("roc_auc_ovr_weighted", "sum_c n_c roc_auc_c / n", |y, s, w| roc_auc_ovr(y, s, w, true)),
    probability("roc_auc_ovo", "mean over pairs of classes of the area between them", |y, s, w| {
        roc_auc_ovo(y, s, w, false)
    }),
    probability("roc_auc_ovo_weighted", "mean over pairs of classes by their share", |y, s, w| {
        roc_auc_ovo(y, s, w, true)
    }),
    Metric {
        needs: Needs::Score,
        ..probability("average_precision", "sum_t (recall_t - recall_{t-1}) precision_t", |y, s, w| {
            if s.cols <= 2 {
                average_precision(&is_class(y, 1), &second_class(s)?, w)
            } else {
                one_against_rest(y, s, w, false, average_precision)
            }
        })
    },
    loss(probability("neg_log_loss", "- sum w log p(true class) / W", log_loss)),
    loss(probability(
        "neg_brier_score",
        "sum w sum_c (1[y = c] - p_c)^2 / W, half of it for two classes",
        brier_score_loss,
    )),
    probability("d2_log_loss_score", "1 - log loss / log loss of the class shares", d2_log_loss_score),
    probability("d2_brier_score", "1 - Brier score / Brier score of the class shares", d2_brier_score),
    value("r2", "1 - sum w (y - f)^2 / sum w (y - mean)^2", r2_score),
    value("explained_variance", "1 - Var(y - f) / Var(y)", explained_variance_score),
    loss(value("neg_mean_squared_error", "sum w (y - f)^2 / W", mean_squared_error)),
    loss(value("neg_root_mean_squared_error", "sqrt(sum w (y - f)^2 / W)", root_mean_squared_error)),
    loss(value("neg_mean_absolute_error", "sum w |y - f| / W", mean_absolute_error)),
    loss(value("neg_median_absolute_error", "weighted median of |y - f|", median_absolute_error)),
    loss(value("neg_max_error", "max |y - f|", |y, f, _| max_error(y, f))),
    loss(value("neg_mean_absolute_percentage_error", "sum w |y - f| / |y| / W", mean_absolute_percentage_error)),
    loss(value("neg_mean_squared_log_error", "sum w (log(1 + y) - log(1 + f))^2 / W", mean_squared_log_error)),
    loss(value("neg_root_mean_squared_log_error", "sqrt(sum w (log(1 + y) - log(1 + f))^2 / W)", |y, f, w| {
        Ok(mean_squared_log_error(y, f, w)?.sqrt())
    })),
    loss(value("neg_mean_poisson_deviance", "2 sum w (y log(y / f) - y + f) / W", |y, f, w| {
        mean_tweedie_deviance(y, f, 1.0, w)
    })),
    loss(value("neg_mean_gamma_deviance", "2 sum w (log(f / y) + y / f - 1) / W", |y, f, w| {
        mean_tweedie_deviance(y, f, 2.0, w)
    })),
    value("d2_absolute_error_score", "1 - sum w |y - f| / sum w |y - median|", d2_absolute_error_score),
    value("d2_poisson_score", "1 - Poisson deviance / Poisson deviance of the mean", |y, f, w| {
        d2_tweedie_score(y, f, 1.0, w)
    }),
    value("d2_gamma_score", "1 - gamma deviance / gamma deviance of the mean", |y, f, w| {
        d2_tweedie_score(y, f, 2.0, w)
    }),
    loss(value("neg_mean_pinball_loss", "sum w |y - f| / 2 / W, the quantile loss of the median", |y, f, w| {
        mean_pinball_loss(y, f, 0.5, w)
    })),
];

/// The metric called `name`, with or without `neg_`, or an error that suggests the nearest.
pub fn metric(name: &str) -> Result<&'static Metric> {
    let same = |metric: &&Metric| metric.name == name || metric.plain_name() == name;
    METRICS.iter().find(same).ok_or_else(|| Error::Unknown {
        what: "metric",
        name: name.into(),
        known: crate::core::error::related(
            name,
            METRICS.iter().map(|metric| metric.plain_name().into()).collect(),
            SYNONYMS,
        ),
    })
}

/// What metrics are called elsewhere, in small letters, and here.
const SYNONYMS: &[(&[&str], &[&str])] = &[
    (&["rmse", "rmsd"], &["root_mean_squared_error"]),
    (&["mse", "l2", "squarederror"], &["mean_squared_error"]),
    (&["mae", "l1", "absoluteerror"], &["mean_absolute_error"]),
    (&["mape"], &["mean_absolute_percentage_error"]),
    (&["acc", "error"], &["accuracy", "balanced_accuracy"]),
    (&["auc", "auroc", "roc"], &["roc_auc"]),
    (&["aucpr", "auprc", "prauc", "ap"], &["average_precision"]),
    (&["logloss", "crossentropy", "nll", "deviance"], &["log_loss"]),
    (&["mcc"], &["matthews_corrcoef"]),
    (&["kappa"], &["cohen_kappa"]),
    (&["sensitivity", "tpr"], &["recall"]),
    (&["tnr"], &["specificity"]),
    (&["ppv"], &["precision"]),
    (&["rsquared", "rsq", "r2score"], &["r2"]),
    (&["fscore", "f", "f1score"], &["f1", "f1_macro", "f1_weighted"]),
    (&["brier"], &["brier_score"]),
];

/// What a task is judged by unless something else is asked for.
pub fn default_metric(task: Task) -> Option<&'static Metric> {
    let name = match task {
        Task::Classification => "accuracy",
        Task::Regression => "r2",
        _ => return None,
    };
    METRICS.iter().find(|metric| metric.name == name)
}

impl Metric {
    /// Without the `neg_` of losses: the name of [`Metric::value`].
    pub fn plain_name(&self) -> &'static str {
        self.name.strip_prefix("neg_").unwrap_or(self.name)
    }

    /// The quantity itself. `predicted` is what [`Needs`] says: codes, probabilities, scores or numbers, row by row.
    pub fn value(&self, truth: &Target, predicted: &Matrix, weights: Option<&[f64]>) -> Result<f64> {
        match (self.compute, truth) {
            (Compute::Class(of), &Target::Class { codes, classes }) => {
                let called: Vec<u32> = predicted.values.iter().map(|&code| code as u32).collect();
                of(&confusion_matrix(codes, &called, classes, weights)?)
            }
            (Compute::Probability(of), &Target::Class { codes, classes }) => {
                let single = self.needs == Needs::Score && classes == 2 && predicted.cols == 1;
                if self.binary && classes != 2 {
                    let found = format!("{} is for two classes, but there are {classes}", self.name);
                    return Err(Error::Unsupported(found).hint(format!("take {}_ovr or {0}_ovo", self.name)));
                }
                if predicted.cols != classes && !single {
                    return Err(Error::shape(self.name, format!("{classes} columns of scores"), predicted.cols));
                }
                of(codes, predicted, weights)
            }
            (Compute::Value(of), &Target::Real { values, cols }) => {
                if predicted.cols != cols {
                    return Err(Error::shape(self.name, format!("{cols} columns of numbers"), predicted.cols));
                }
                if cols == 1 {
                    return of(values, &predicted.values, weights);
                }
                let mut sum = 0.0;
                for t in 0..cols {
                    let truth: Vec<f64> = values.iter().skip(t).step_by(cols).copied().collect();
                    sum += of(&truth, &ranking::column(predicted, t), weights)?;
                }
                Ok(sum / cols as f64)
            }
            (Compute::Value(_), _) => Err(Error::Data(format!("{} needs a target of numbers", self.name))),
            _ => Err(Error::Data(format!("{} needs a target of classes", self.name))),
        }
    }

    /// The value, turned so that more is better.
    pub fn score(&self, truth: &Target, predicted: &Matrix, weights: Option<&[f64]>) -> Result<f64> {
        Ok(self.turned(self.value(truth, predicted, weights)?))
    }

    /// From value to score and back.
    pub fn turned(&self, value: f64) -> f64 {
        if self.greater_is_better { value } else { -value }
    }

    /// A percentile bootstrap interval of the value: rows are drawn with replacement, truth and prediction together.
    pub fn interval(
        &self,
        ctx: &Ctx,
        truth: &Target,
        predicted: &Matrix,
        weights: Option<&[f64]>,
        level: f64,
        resamples: usize,
    ) -> Result<Interval> {
        let estimate = self.value(truth, predicted, weights)?;
        bootstrap(ctx, predicted.rows, estimate, level, resamples, |rows| {
            let some = Matrix::from_fn(rows.len(), predicted.cols, |i, j| predicted[(rows[i], j)]);
            let weights: Option<Vec<f64>> = weights.map(|weights| rows.iter().map(|&i| weights[i]).collect());
            match *truth {
                Target::Class { codes, classes } => {
                    let codes: Vec<u32> = rows.iter().map(|&i| codes[i]).collect();
                    self.value(&Target::Class { codes: &codes, classes }, &some, weights.as_deref())
                }
                Target::Real { values, cols } => {
                    let values: Vec<f64> =
                        rows.iter().flat_map(|&i| values[i * cols..(i + 1) * cols].iter().copied()).collect();
                    self.value(&Target::Real { values: &values, cols }, &some, weights.as_deref())
                }
                Target::None => self.value(truth, &some, weights.as_deref()),
            }
        })
    }
}

/// An estimate with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
    pub standard_error: f64,
    /// Probability that the interval is meant to have.
    pub level: f64,
}

/// The percentile interval (Efron 1979) of any statistic of rows, given by numbers. Resamples on which the statistic is
/// not defined do not count.
pub fn bootstrap(
    ctx: &Ctx,
    rows: usize,
    estimate: f64,
    level: f64,
    resamples: usize,
    statistic: impl Fn(&[usize]) -> Result<f64> + Sync,
) -> Result<Interval> {
    if !(level > 0.0 && level < 1.0) {
        let allowed = "above 0 and below 1".into();
        return Err(Error::Parameter {
            model: "bootstrap".into(),
            name: "level".into(),
            value: level.to_string(),
            allowed,
        });
    }
    let undefined = Interval { estimate, low: f64::NAN, high: f64::NAN, standard_error: f64::NAN, level };
    if rows == 0 {
        return Ok(undefined);
    }
    let draw = |index: usize| {
        ctx.check()?;
        let mut rng = ctx.rng("bootstrap", index as u64);
        let sample: Vec<usize> = (0..rows).map(|_| rng.below(rows)).collect();
        statistic(&sample)
    };
    let mut values: Vec<f64> = ctx.map(resamples, draw)?;
    values.retain(|value| value.is_finite());
    if values.len() < 2 {
        return Ok(undefined);
    }
    values.sort_unstable_by(f64::total_cmp);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64;
    let tail = (1.0 - level) / 2.0;
    let (low, high) = (quantile::interpolated(&values, tail), quantile::interpolated(&values, 1.0 - tail));
    Ok(Interval { estimate, low, high, standard_error: variance.sqrt(), level })
}

/// The column of scores of class 1: the only one, or the second of two.
fn second_class(scores: &Matrix) -> Result<Vec<f64>> {
    match scores.cols {
        1 => Ok(scores.values.clone()),
        2 => Ok(ranking::column(scores, 1)),
        found => Err(Error::shape("scores of two classes", "one or two columns", found)),
    }
}

fn same_length(truth: usize, predicted: usize, weights: Option<&[f64]>) -> Result<()> {
    if truth != predicted {
        return Err(Error::shape("predictions", format!("{truth}, one for each true value"), predicted));
    }
    if truth == 0 {
        return Err(Error::Data("there are no rows to score".into()));
    }
    let Some(weights) = weights else { return Ok(()) };
    if weights.len() != truth {
        return Err(Error::shape("weights", format!("{truth} values"), weights.len()));
    }
    match weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0)) {
        Some(i) => Err(Error::value(i, None, format!("the weight is {}, but it must be 0 or more", weights[i]))),
        None => Ok(()),
    }
}
