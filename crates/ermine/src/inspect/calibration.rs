//! Probabilities that mean what they say: a classifier's scores put through a rising function fitted on rows that it
//! has not seen.
//!
//! Sigmoid (Platt 1999): `p = 1 / (1 + exp(a s + b))`, a and b by maximum likelihood with Platt's smoothed targets,
//! Newton with halved steps (Lin, Lin and Weng 2007). Isotonic (Zadrozny and Elkan 2002): the rising step function of
//! least squared error, by pooling neighbours that fall, O(n log n); between steps it interpolates. With several
//! classes each has its own function and the results are brought to sum 1. The base model is fitted on all rows; the
//! functions come from cross-validated scores.

use crate::{
    AnyEstimator, AnyModel, Array, Ctx, Data, Error, Fit, Info, Matrix, Output, Passes, Result, Shape, Source, Spec,
    Target, Task, Value, Values, X,
    core::simd::sigmoid as logistic,
    engine::pool,
    make,
    metrics::{METRICS, Metric, Needs, is_class},
    search::cross_val_predict,
    split::Folds,
};
use serde::{Deserialize, Serialize};
use std::any::Any;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Sigmoid,
    Isotonic,
}

/// A rising function from score to probability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Calibrator {
    /// `1 / (1 + exp(a s + b))`
    Sigmoid { a: f64, b: f64 },
    /// Linear between points, constant outside.
    Isotonic { scores: Vec<f64>, values: Vec<f64> },
}

impl Calibrator {
    pub fn probability(&self, score: f64) -> f64 {
        match self {
            Calibrator::Sigmoid { a, b } => logistic(-(a * score + b)),
            Calibrator::Isotonic { scores, values } => {
                let after = scores.partition_point(|known| *known <= score);
                match after {
                    0 => values[0],
                    after if after == scores.len() => values[after - 1],
                    after => {
                        let (s0, s1) = (scores[after - 1], scores[after]);
                        values[after - 1] + (values[after] - values[after - 1]) * (score - s0) / (s1 - s0)
                    }
                }
            }
        }
    }

    fn check(&self) -> Result<()> {
        match self {
            Calibrator::Isotonic { scores, values }
                if scores.is_empty()
                    || scores.len() != values.len()
                    || scores.windows(2).any(|pair| !(pair[0] < pair[1])) =>
            {
                Err(Error::Data("the stored calibration is inconsistent".into()))
            }
            _ => Ok(()),
        }
    }
}

/// Platt's sigmoid.
pub fn sigmoid(scores: &[f64], positive: &[bool], weights: Option<&[f64]>) -> Result<Calibrator> {
    let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
    let sum = |wanted: bool| (0..positive.len()).filter(|&i| positive[i] == wanted).map(weight).sum::<f64>();
    let (above, below) = (sum(true), sum(false));
    if scores.len() != positive.len() || scores.is_empty() || scores.iter().any(|score| !score.is_finite()) {
        return Err(Error::Data("calibration needs one finite score for each row".into()));
    }
    // Targets kept away from 0 and 1 by one row of each kind, so that separable scores do not run off.
    let target = |i: usize| if positive[i] { (above + 1.0) / (above + 2.0) } else { 1.0 / (below + 2.0) };
    // In units of the largest score, as Newton's tolerance is absolute.
    let unit = scores.iter().fold(0.0, |unit: f64, score| unit.max(score.abs())).max(f64::MIN_POSITIVE);
    let loss = |a: f64, b: f64| -> f64 {
        let of = |i: usize| {
            let z = a * scores[i] / unit + b;
            weight(i) * (kernel_softplus(z) - (1.0 - target(i)) * z)
        };
        (0..scores.len()).map(of).sum()
    };
    let (mut a, mut b) = (0.0, ((below + 1.0) / (above + 1.0)).ln());
    let mut value = loss(a, b);
    for _ in 0..100 {
        let (mut g, mut h) = ([0.0; 2], [1e-12, 0.0, 1e-12]);
        for i in 0..scores.len() {
            let s = scores[i] / unit;
            let q = logistic(a * s + b);
            let (d1, d2) = (weight(i) * (q - 1.0 + target(i)), weight(i) * q * (1.0 - q));
            g[0] += d1 * s;
            g[1] += d1;
            h[0] += d2 * s * s;
            h[1] += d2 * s;
            h[2] += d2;
        }
        if g[0].abs().max(g[1].abs()) < 1e-10 * (above + below) {
            break;
        }
        let det = h[0] * h[2] - h[1] * h[1];
        let (da, db) = (-(h[2] * g[0] - h[1] * g[1]) / det, -(h[0] * g[1] - h[1] * g[0]) / det);
        let slope = g[0] * da + g[1] * db;
        let mut step = 1.0;
        loop {
            let next = loss(a + step * da, b + step * db);
            if next <= value + 1e-4 * step * slope {
                (a, b, value) = (a + step * da, b + step * db, next);
                break;
            }
            step /= 2.0;
            if step < 1e-10 {
                return Ok(Calibrator::Sigmoid { a: a / unit, b });
            }
        }
    }
    Ok(Calibrator::Sigmoid { a: a / unit, b })
}

fn kernel_softplus(z: f64) -> f64 {
    z.max(0.0) + (-z.abs()).exp().ln_1p()
}

/// The rising function of least weighted squared error.
pub fn isotonic(scores: &[f64], positive: &[bool], weights: Option<&[f64]>) -> Result<Calibrator> {
    if scores.len() != positive.len() || scores.is_empty() || scores.iter().any(|score| !score.is_finite()) {
        return Err(Error::Data("calibration needs one finite score for each row".into()));
    }
    let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
    let mut order: Vec<usize> = (0..scores.len()).filter(|&i| weight(i) > 0.0).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let runs: Vec<&[usize]> = order.chunk_by(|&a, &b| scores[a] == scores[b]).collect();
    let pools = pool::pools(runs.iter().map(|run| {
        let ones: f64 = run.iter().filter(|&&i| positive[i]).map(|&i| weight(i)).sum();
        (ones, run.iter().map(|&i| weight(i)).sum())
    }));
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    for pool in pools {
        let score = |run: usize| scores[runs[run][0]];
        xs.push(score(pool.first));
        ys.push(pool.mean());
        if pool.count > 1 {
            xs.push(score(pool.first + pool.count - 1));
            ys.push(pool.mean());
        }
    }
    if xs.is_empty() {
        return Err(Error::Data("all weights are zero".into()));
    }
    Ok(Calibrator::Isotonic { scores: xs, values: ys })
}

/// A classifier whose probabilities are calibrated on cross-validated scores.
pub struct CalibratedClassifier {
    pub spec: Spec,
    pub method: Method,
    pub n_splits: usize,
}

pub struct CalibratedModel {
    base: Box<dyn AnyModel>,
    name: String,
    /// One for two classes, otherwise one for each.
    calibrators: Vec<Calibrator>,
    output: Output,
    classes: usize,
}

/// Stands for "scores, however the model gives them".
fn scores_metric() -> &'static Metric {
    METRICS.iter().find(|metric| metric.needs == Needs::Score).expect("the list has areas under curves")
}

impl CalibratedClassifier {
    pub fn fit(&self, data: &Data, ctx: &Ctx) -> Result<Fit<CalibratedModel>> {
        let batch = data.batch();
        let Target::Class { codes, classes } = batch.y else {
            return Err(Error::Data("CalibratedClassifier needs a target of classes".into()));
        };
        let estimator = make(&self.spec)?;
        let folds = Folds::Stratified { n_splits: self.n_splits, shuffle: true }.split(&batch, None, ctx.seed)?;
        let held_out = cross_val_predict(ctx, &self.spec, data, &folds, scores_metric())?;
        let Fit { model: base, log, rows, .. } = estimator.fit(data, ctx)?;
        let output = if base.outputs().iter().any(|known| known.0 == Output::Decision) {
            Output::Decision
        } else {
            Output::Probability
        };
        let fit_one = |column: usize, class: usize| {
            let scores: Vec<f64> = (0..held_out.rows).map(|i| held_out[(i, column)]).collect();
            let positive = is_class(codes, class);
            match self.method {
                Method::Sigmoid => sigmoid(&scores, &positive, batch.weights),
                Method::Isotonic => isotonic(&scores, &positive, batch.weights),
            }
        };
        let calibrators = if classes == 2 {
            vec![fit_one(held_out.cols - 1, 1)?]
        } else {
            (0..classes).map(|c| fit_one(c, c)).collect::<Result<_>>()?
        };
        let model = CalibratedModel { base, name: self.spec.name.clone(), calibrators, output, classes };
        let fit = Fit { rows, ..Fit::new(model, log) };
        Ok(fit.of("CalibratedClassifier", estimator.info().missing, data))
    }
}

impl AnyEstimator for CalibratedClassifier {
    fn name(&self) -> &'static str {
        "CalibratedClassifier"
    }

    fn info(&self) -> Info {
        let base = make(&self.spec).map(|estimator| estimator.info());
        let reason = "scores come from cross-validation";
        let fallback = Info::new("calibration", Task::Classification, "p = g(score), g rising", Passes::Memory(reason));
        base.map_or(fallback, |base| Info {
            sparse: base.sparse,
            missing: base.missing,
            weights: base.weights,
            ..fallback
        })
    }

    fn cost(&self, shape: &Shape) -> f64 {
        let folds = self.n_splits as f64;
        (folds * make(&self.spec).map_or(0.0, |estimator| estimator.cost(shape))).max(1e-6)
    }

    fn values(&self) -> Values {
        let method = if self.method == Method::Sigmoid { "sigmoid" } else { "isotonic" };
        [
            ("estimator".to_string(), Value::Model(Box::new(self.spec.clone()))),
            ("method".to_string(), Value::Text(method.into())),
            ("cv".to_string(), Value::Int(self.n_splits as i64)),
        ]
        .into()
    }

    fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<Box<dyn AnyModel>>> {
        let batch = data.in_memory("CalibratedClassifier", "scores come from cross-validation")?;
        let owned = Data::new(batch.x).target(batch.y)?.features(data.features())?;
        let owned = match batch.weights {
            Some(weights) => owned.weights(weights)?,
            None => owned,
        };
        let fit = CalibratedClassifier::fit(self, &owned, ctx)?;
        let missing = fit.about.missing;
        Ok(fit.of("CalibratedClassifier", missing, data).boxed())
    }

    fn resume(&self, _: &dyn AnyModel, _: &dyn Source, _: &Ctx) -> Result<Fit<Box<dyn AnyModel>>> {
        Err(Error::Unsupported("CalibratedClassifier cannot continue an earlier fit".into()))
    }
}

impl CalibratedModel {
    pub fn calibrators(&self) -> &[Calibrator] {
        &self.calibrators
    }

    pub fn load(bytes: &[u8]) -> Result<Self> {
        let unreadable = || Error::Data("the stored CalibratedClassifier is not readable".into());
        let ((name, base, calibrators, output, classes), rest): ((String, Vec<u8>, Vec<Calibrator>, Output, usize), _) =
            postcard::take_from_bytes(bytes).map_err(|_| unreadable())?;
        let base = crate::pipeline::load(&name, &base)?;
        calibrators.iter().try_for_each(Calibrator::check)?;
        let width = base.outputs().iter().find(|known| known.0 == output).map_or(0, |known| known.1);
        let fits = if classes == 2 {
            calibrators.len() == 1 && width >= 1
        } else {
            calibrators.len() == classes && width == classes
        };
        if !rest.is_empty() || !fits || classes < 2 {
            return Err(unreadable());
        }
        Ok(CalibratedModel { base, name, calibrators, output, classes })
    }

    fn probabilities(&self, x: &X) -> Result<Matrix> {
        let width = self.base.outputs().iter().find(|known| known.0 == self.output).map_or(0, |known| known.1);
        let mut scores = Matrix::zeros(x.rows(), width);
        self.base.predict_block(x, self.output, &mut scores.values)?;
        let mut out = Matrix::zeros(x.rows(), self.classes);
        for i in 0..x.rows() {
            let row = out.row_mut(i);
            if self.classes == 2 {
                row[1] = self.calibrators[0].probability(scores[(i, width - 1)]);
                row[0] = 1.0 - row[1];
                continue;
            }
            for (c, p) in row.iter_mut().enumerate() {
                *p = self.calibrators[c].probability(scores[(i, c)]);
            }
            let total: f64 = row.iter().sum();
            let classes = self.classes as f64;
            row.iter_mut().for_each(|p| *p = if total > 0.0 { *p / total } else { 1.0 / classes });
        }
        Ok(out)
    }
}

impl AnyModel for CalibratedModel {
    fn cols(&self) -> usize {
        self.base.cols()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Class, 1), (Output::Probability, self.classes)]
    }

    fn predict_block(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let p = self.probabilities(x)?;
        match output {
            Output::Probability => out.copy_from_slice(&p.values),
            _ => {
                for (i, out) in out.iter_mut().enumerate() {
                    let row = p.row(i);
                    *out =
                        (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b]).then(b.cmp(&a))).unwrap_or(0) as f64;
                }
            }
        }
        Ok(())
    }

    fn transform_sparse(&self, _: &X) -> Result<Option<crate::OwnedCsr>> {
        Ok(None)
    }

    fn feature_names(&self, input: &[String]) -> Option<Vec<String>> {
        self.base.feature_names(input)
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        self.base.attributes()
    }

    fn to_bytes(&self) -> Vec<u8> {
        let parts = (&self.name, self.base.to_bytes(), &self.calibrators, self.output, self.classes);
        postcard::to_stdvec(&parts).expect("a calibrated model is plain data")
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
