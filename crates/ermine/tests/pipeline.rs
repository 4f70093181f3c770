//! Pipelines, searches and inspection: what they promise.

use ermine::{
    Ctx, Data, Output, OwnedData, Result, Shape, Source, Spec, Target, Value, X,
    core::{Batch, source::Buffers},
    inspect::{self, Calibrator, Method},
    make,
    metrics::metric,
    pipeline::{self, ColumnTransformer, Pipeline},
    predict, search,
    split::{Fold, Folds},
};
use std::ops::Range;

fn spec(text: &str) -> Spec {
    Spec::parse(text).unwrap_or_else(|| Spec::new(text))
}

/// Two numbers (one with missing values), one category of five levels, and a target that depends on all.
fn table(rows: usize, seed: u64) -> (Vec<f64>, Vec<f64>, Vec<u32>) {
    let mut rng = Ctx::new(seed).rng("table", 0);
    let (mut x, mut y, mut codes) = (vec![], vec![], vec![]);
    for _ in 0..rows {
        let (a, b, c) = (rng.normal(), 50.0 + 10.0 * rng.normal(), rng.below(5));
        let value = 2.0 * a + 0.1 * b + [0.0, 3.0, -2.0, 1.0, 5.0][c] + 0.5 * rng.normal();
        x.extend([if rng.uniform() < 0.1 { f64::NAN } else { a }, b, c as f64]);
        codes.push(u32::from(value > 6.0));
        y.push(value);
    }
    (x, y, codes)
}

fn prepared(model: &str) -> Spec {
    let numbers = vec![spec("SimpleImputer(add_indicator=true)"), spec("StandardScaler")];
    let categories = vec![spec("OneHotEncoder(handle_unknown=ignore)")];
    let columns = ColumnTransformer::spec(&[(vec![0, 1], numbers), (vec![2], categories)], false);
    Pipeline::spec(&[columns, spec(model)])
}

#[test]
fn a_pipeline_is_its_steps_one_after_another() {
    let (x, y, _) = table(400, 1);
    let data = Data::new(X::dense(&x, 3).unwrap()).real(&y).unwrap();
    let ctx = Ctx::new(3);
    let whole = prepared("Ridge(alpha=0.5)");
    let typed = Spec::parse(&whole.to_string()).unwrap();
    assert_eq!(make(&typed).unwrap().values(), make(&whole).unwrap().values(), "specs go round as text");
    let fit = make(&whole).unwrap().fit(&data, &ctx).unwrap();
    let batch = data.batch();
    let predicted = predict(&ctx, &*fit.model, &batch.x, Output::Value, true).unwrap();
    let r2 = metric("r2").unwrap().value(&batch.y, &predicted, None).unwrap();
    // Noise and the rows without the first column leave about 0.94 to be had.
    assert!(r2 > 0.9, "{r2}");

    // By hand.
    let Value::List(steps) = &whole.params["steps"] else { panic!() };
    let Value::Model(columns) = &steps[0] else { panic!() };
    let first = make(columns).unwrap().fit(&data, &ctx.child("step", 0)).unwrap();
    let features = predict(&ctx, &*first.model, &batch.x, Output::Transform, true).unwrap();
    assert_eq!(features.cols, 3 + 5);
    let names = first.model.feature_names(&["a".into(), "b".into(), "c".into()]).unwrap();
    assert_eq!(names[..4], ["a", "b", "a is missing", "c=0"]);
    let second = Data::new(X::dense(&features.values, 8).unwrap()).real(&y).unwrap();
    let second_fit = make(&spec("Ridge(alpha=0.5)")).unwrap().fit(&second, &ctx).unwrap();
    let by_hand = predict(&ctx, &*second_fit.model, &second.batch().x, Output::Value, false).unwrap();
    for (a, b) in predicted.values.iter().zip(&by_hand.values) {
        assert!((a - b).abs() < 1e-9);
    }

    // Saved and loaded.
    let loaded = pipeline::load("Pipeline", &fit.model.to_bytes()).unwrap();
    assert_eq!(predict(&ctx, &*loaded, &batch.x, Output::Value, true).unwrap(), predicted);
    let bytes = fit.model.to_bytes();
    for length in (0..bytes.len()).step_by(17) {
        assert!(pipeline::load("Pipeline", &bytes[..length]).is_err());
    }
    // The same bits with any number of threads.
    for threads in [1, 3] {
        let other = make(&whole).unwrap().fit(&data, &ctx.clone().with_threads(threads)).unwrap();
        assert!(other.model.to_bytes() == bytes);
    }
    assert!(Pipeline::new(&[spec("Ridge"), spec("StandardScaler")]).err().unwrap().to_string().contains("Ridge"));
}

#[test]
fn nothing_of_a_held_out_row_reaches_a_fit() {
    // Changing the held-out rows, targets included, must change no prediction for other held-out rows of any fold's
    // model: so compare out-of-fold predictions of fold 0 with those after the test rows of fold 0 (but one) have been
    // ruined.
    let (x, y, _) = table(200, 2);
    let ctx = Ctx::new(9);
    let data = Data::new(X::dense(&x, 3).unwrap()).real(&y).unwrap();
    let folds = Folds::KFold { n_splits: 4, shuffle: true }.split(&data.batch(), None, 1).unwrap();
    let (probe, ruined) = folds[0].test.split_first().unwrap();
    let (mut x2, mut y2) = (x.clone(), y.clone());
    for &row in ruined {
        x2[row * 3] = 1e6;
        x2[row * 3 + 1] = -1e6;
        x2[row * 3 + 2] = 77.0;
        y2[row] = 1e9;
    }
    let spoiled = Data::new(X::dense(&x2, 3).unwrap()).real(&y2).unwrap();
    let r2 = metric("r2").unwrap();
    for model in ["Ridge", "LinearRegression"] {
        let spec = prepared(model);
        let clean = search::cross_val_predict(&ctx, &spec, &data, &folds, r2).unwrap();
        let after = search::cross_val_predict(&ctx, &spec, &spoiled, &folds, r2).unwrap();
        assert_eq!(clean[(*probe, 0)], after[(*probe, 0)], "{model}");
        // The check can fail: models of other folds did learn from the ruined rows.
        let other = folds[1].test[0];
        assert_ne!(clean[(other, 0)], after[(other, 0)], "{model}");
    }
}

#[test]
fn searches_find_what_is_best_and_do_not_depend_on_threads() {
    let (x, y, _) = table(150, 4);
    let data = Data::new(X::dense(&x, 3).unwrap()).real(&y).unwrap();
    let folds = Folds::KFold { n_splits: 5, shuffle: true }.split(&data.batch(), None, 1).unwrap();
    let base = prepared("Ridge");
    let space = search::space(&base).unwrap();
    assert_eq!(space.iter().map(|s| s.0.as_str()).collect::<Vec<_>>(), ["Ridge__alpha"]);
    let candidates = search::grid(&base, &space, 9).unwrap();
    assert_eq!(candidates.len(), 9);
    let r2 = metric("r2").unwrap();
    let found = search::search(&Ctx::new(1), &candidates, &data, &folds, r2).unwrap();
    let best = found.candidates.iter().map(|c| c.mean).fold(f64::MIN, f64::max);
    assert_eq!(found.best().mean, best);
    assert_eq!(found.best().rank, 1);
    let one = search::search(&Ctx::new(1).with_threads(1), &candidates, &data, &folds, r2).unwrap();
    for (a, b) in found.candidates.iter().zip(&one.candidates) {
        assert_eq!(a.scores, b.scores);
    }
    // Each score is that of a plain cross-validation.
    let alone = search::cross_validate(&Ctx::new(1), &candidates[3], &data, &folds, &[r2], true).unwrap();
    assert_eq!(alone.iter().map(|r| r.test[0]).collect::<Vec<_>>(), found.candidates[3].scores);
    assert!(alone.iter().all(|result| result.train.is_some()));

    let drawn = search::random(&base, &space, 12, 5).unwrap();
    assert_eq!((drawn.len(), &drawn[0]), (12, &base));
    let halved = search::halving(&Ctx::new(1), &drawn, &data, &folds, r2, 3).unwrap();
    assert!(halved.candidates.len() <= 4 && halved.best().mean > 0.9);
    let nested = search::nested(
        &Ctx::new(1),
        &candidates[3..6],
        &data,
        &folds,
        |batch, seed| Folds::KFold { n_splits: 3, shuffle: true }.split(batch, None, seed),
        r2,
    )
    .unwrap();
    assert!(nested.len() == 5 && nested.iter().all(|(_, score)| *score > 0.5));

    // A candidate that cannot be fitted is reported, and does not win.
    let bad = [spec("Ridge"), prepared("Ridge")];
    let found = search::search(&Ctx::new(1), &bad, &data, &folds, r2).unwrap();
    assert!(found.best == 1 && found.candidates[0].failure.as_ref().unwrap().contains("NaN"));
    assert!(search::search(&Ctx::new(1), &bad[..1], &data, &folds, r2).is_err());
    let mut unknown = base.clone();
    assert!(search::set(&mut unknown, "Lasso__alpha", Value::Int(1)).unwrap_err().to_string().contains("Lasso"));
}

#[test]
fn importance_and_dependence_see_what_matters() {
    let mut rng = Ctx::new(3).rng("x", 0);
    let x: Vec<f64> = (0..600).map(|_| rng.normal()).collect();
    let y: Vec<f64> = x.chunks(3).map(|row| 3.0 * row[0] - row[1] + 0.1 * rng.normal()).collect();
    let data = Data::new(X::dense(&x, 3).unwrap()).real(&y).unwrap();
    let ctx = Ctx::new(1);
    let fit = make(&spec("LinearRegression")).unwrap().fit(&data, &ctx).unwrap();
    let (batch, r2) = (data.batch(), metric("r2").unwrap());
    let importance = inspect::permutation_importance(&ctx, &*fit.model, &batch, r2, false, 5).unwrap();
    assert!(importance[0].mean > 3.0 * importance[1].mean && importance[2].mean.abs() < 0.01, "{importance:?}");
    let along = inspect::Along { column: 0, feature: ermine::Feature::Number, resolution: 11, curves: 4 };
    let line = inspect::partial_dependence(&ctx, &*fit.model, &batch, along, (Output::Value, 0), false).unwrap();
    assert_eq!((line.grid.len(), line.individual.rows, line.individual.cols), (11, 4, 11));
    for g in 1..11 {
        let slope = (line.mean[(g, 0)] - line.mean[(g - 1, 0)]) / (line.grid[g] - line.grid[g - 1]);
        assert!((slope - 3.0).abs() < 0.05, "{slope}");
    }
}

#[test]
fn curves_say_what_would_help() {
    let (x, y, _) = table(300, 6);
    let data = Data::new(X::dense(&x, 3).unwrap()).real(&y).unwrap();
    let folds = Folds::KFold { n_splits: 4, shuffle: true }.split(&data.batch(), None, 1).unwrap();
    let (ctx, r2) = (Ctx::new(1), metric("r2").unwrap());
    let curve = inspect::learning_curve(&ctx, &prepared("Ridge"), &data, &folds, r2, &[0.1, 0.3, 0.6, 1.0]).unwrap();
    assert_eq!(curve.points.len(), 4);
    assert!(
        curve.points[0].at < curve.points[3].at && curve.verdict.contains("No sign of overfitting"),
        "{}",
        curve.verdict
    );
    let values = [1e-3, 1.0, 1e3, 1e6].map(Value::Float);
    let curve =
        inspect::validation_curve(&ctx, &prepared("Ridge"), &data, &folds, r2, "Ridge__alpha", &values).unwrap();
    assert!(curve.points[3].test < 0.3 && curve.verdict.starts_with("Best with Ridge__alpha="), "{}", curve.verdict);

    // Noise alone, more columns than is good: it learns its rows by heart.
    let mut rng = Ctx::new(3).rng("noise", 0);
    let x: Vec<f64> = (0..60 * 30).map(|_| rng.normal()).collect();
    let y: Vec<f64> = (0..60).map(|_| rng.normal()).collect();
    let data = Data::new(X::dense(&x, 30).unwrap()).real(&y).unwrap();
    let folds = Folds::KFold { n_splits: 4, shuffle: true }.split(&data.batch(), None, 1).unwrap();
    let curve = inspect::learning_curve(&ctx, &spec("LinearRegression"), &data, &folds, r2, &[0.9, 1.0]).unwrap();
    assert!(curve.verdict.contains("Overfitting"), "{}", curve.verdict);
}

#[test]
fn bias_and_variance_add_up() {
    // A parabola: a straight line is biased and steady, so bias dwarfs variance; noise is 0.25.
    let mut rng = Ctx::new(8).rng("parabola", 0);
    let x: Vec<f64> = (0..600).map(|_| 4.0 * rng.uniform() - 2.0).collect();
    let y: Vec<f64> = x.iter().map(|x| x * x + 0.5 * rng.normal()).collect();
    let data = Data::new(X::dense(&x, 1).unwrap()).real(&y).unwrap();
    let (train, test): (Vec<usize>, Vec<usize>) = ((0..300).collect(), (300..600).collect());
    let line = inspect::bias_variance(&Ctx::new(1), &spec("LinearRegression"), &data, &train, &test, 30, None).unwrap();
    assert!((line.error - line.bias - line.variance - line.noise).abs() < 1e-9, "{line:?}");
    assert!((line.noise - 0.25).abs() < 0.08 && (line.bias - 1.42).abs() < 0.3, "{line:?}");
    assert!(line.variance < 0.1 * line.bias);

    let codes: Vec<u32> = y.iter().map(|&y| u32::from(y > 1.3)).collect();
    let data = Data::new(X::dense(&x, 1).unwrap()).classes(&codes, 2).unwrap();
    let split =
        inspect::bias_variance(&Ctx::new(1), &spec("LogisticRegression"), &data, &train, &test, 20, None).unwrap();
    assert!((split.error - split.bias - split.net_variance).abs() < 1e-9 && split.bias > 0.2, "{split:?}");
}

/// Noise of deviation 0.3 about a sine.
fn sine(rows: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = Ctx::new(seed).rng("sine", 0);
    let x: Vec<f64> = (0..rows).map(|_| 6.0 * rng.uniform()).collect();
    let y = x.iter().map(|x| x.sin() + 0.3 * rng.normal()).collect();
    (x, y)
}

/// Squared bias and variance of a model of 500 such rows, from tables that nobody has but who knows the truth.
fn true_parts(spec: &Spec) -> (f64, f64) {
    const TABLES: usize = 200;
    let at: Vec<f64> = (0..600).map(|i| f64::from(i) / 100.0).collect();
    let fit = |seed: usize| {
        let ((x, y), ctx) = (sine(500, 1000 + seed as u64), Ctx::new(0));
        let data = Data::new(X::dense(&x, 1).unwrap()).real(&y).unwrap();
        let fit = make(spec).unwrap().fit(&data, &ctx).unwrap();
        predict(&ctx, &*fit.model, &X::dense(&at, 1).unwrap(), Output::Value, true).unwrap().values
    };
    let all: Vec<Vec<f64>> = (0..TABLES).map(fit).collect();
    let (mut bias, mut variance) = (0.0, 0.0);
    for i in 0..at.len() {
        let mean = all.iter().map(|said| said[i]).sum::<f64>() / TABLES as f64;
        bias += (mean - at[i].sin()).powi(2) / at.len() as f64;
        let squares: f64 = all.iter().map(|said| (said[i] - mean).powi(2)).sum();
        variance += squares / (TABLES - 1) as f64 / at.len() as f64;
    }
    (bias, variance)
}

/// A deep tree repeats the noise of its rows and is right on average; a stump is wrong on average, and its cut moves.
/// Decomposition and learning curve say so of each, from one table.
#[test]
fn parts_of_the_error_are_those_of_the_truth() {
    let (x, y) = sine(3000, 4);
    let data = Data::new(X::dense(&x, 1).unwrap()).real(&y).unwrap();
    let (train, test): (Vec<usize>, Vec<usize>) = ((0..1000).collect(), (1000..3000).collect());
    let deep = spec("DecisionTreeRegressor");
    let mut stump = deep.clone();
    stump.params.insert("max_depth".into(), Value::Int(1));
    let parts = |spec: &Spec| inspect::bias_variance(&Ctx::new(1), spec, &data, &train, &test, 20, Some(0.09)).unwrap();
    for spec in [&deep, &stump] {
        let (found, (bias, variance)) = (parts(spec), true_parts(spec));
        // One table of 1,000 rows is one draw: its own luck is a tenth of the error.
        let close = |a: f64, b: f64| (a - b).abs() < 0.1 * (bias + variance) + 0.005;
        assert!(close(found.bias, bias) && close(found.variance, variance), "{found:?}: {bias} and {variance}");
    }

    let folds = Folds::KFold { n_splits: 4, shuffle: true }.split(&data.batch(), None, 1).unwrap();
    let curve = |spec: &Spec| {
        let r2 = metric("r2").unwrap();
        inspect::learning_curve(&Ctx::new(1), spec, &data, &folds, r2, &[0.5, 1.0]).unwrap().verdict
    };
    assert!(curve(&deep).contains("Overfitting"), "{}", curve(&deep));
    assert!(curve(&stump).contains("No sign of overfitting"), "{}", curve(&stump));
}

#[test]
fn calibration_repairs_probabilities() {
    // Scores that are twice as sure as they should be.
    let mut rng = Ctx::new(5).rng("scores", 0);
    let truth: Vec<f64> = (0..4000).map(|_| 2.0 * rng.normal()).collect();
    let positive: Vec<bool> = truth.iter().map(|z| rng.uniform() < 1.0 / (1.0 + (-z).exp())).collect();
    let scores: Vec<f64> = truth.iter().map(|z| 2.0 * z + 1.0).collect();
    let Calibrator::Sigmoid { a, b } = inspect::sigmoid(&scores, &positive, None).unwrap() else { panic!() };
    assert!((a + 0.5).abs() < 0.04 && (b - 0.5).abs() < 0.08, "{a} {b}");
    let stairs = inspect::isotonic(&scores, &positive, None).unwrap();
    let mut before = 0.0;
    for score in (-80..80).map(|i| i as f64 / 10.0) {
        let p = stairs.probability(score);
        assert!((before..=1.0).contains(&p));
        before = p;
        assert!((p - 1.0 / (1.0 + (-(score - 1.0) / 2.0).exp())).abs() < 0.2, "{score}: {p}");
    }
    let separated = inspect::sigmoid(&[-1.0, -0.5, 0.5, 1.0], &[false, false, true, true], None).unwrap();
    assert!(separated.probability(1.0).is_finite() && separated.probability(1.0) > 0.6);

    let (x, _, codes) = table(500, 7);
    let data = Data::new(X::dense(&x, 3).unwrap()).classes(&codes, 2).unwrap();
    let ctx = Ctx::new(2);
    for method in [Method::Sigmoid, Method::Isotonic] {
        let wrapped = inspect::CalibratedClassifier { spec: prepared("LogisticRegression"), method, n_splits: 5 };
        let fit = wrapped.fit(&data, &ctx).unwrap();
        let p = predict(&ctx, &fit.model, &data.batch().x, Output::Probability, true).unwrap();
        let loss = metric("log_loss").unwrap().value(&data.batch().y, &p, None).unwrap();
        assert!(loss < 0.35, "{loss}");
        let loaded = inspect::CalibratedModel::load(&ermine::AnyModel::to_bytes(&fit.model)).unwrap();
        assert_eq!(predict(&ctx, &loaded, &data.batch().x, Output::Probability, true).unwrap(), p);
    }
}

#[test]
fn subsets_are_lent_as_data() {
    let (x, y, _) = table(20, 9);
    let weights: Vec<f64> = (0..20).map(f64::from).collect();
    let data = Data::new(X::dense(&x, 3).unwrap()).real(&y).unwrap().weights(&weights).unwrap();
    let fold = Fold { train: vec![], test: vec![3, 1, 3] };
    let owned = OwnedData::of_rows(&data.batch(), &fold.test).unwrap();
    let lent = owned.data().unwrap();
    let Target::Real { values, cols: 1 } = lent.batch().y else { panic!() };
    assert_eq!((values, lent.batch().weights.unwrap()), (&[y[3], y[1], y[3]][..], &[3.0, 1.0, 3.0][..]));
    assert!(OwnedData::of_rows(&data.batch(), &[20]).is_err());
}

#[test]
fn a_pipeline_is_the_same_from_memory_and_read_in_blocks() {
    /// The rows of another source, one block at a time.
    struct Blocks<'a>(Data<'a>);
    impl Source for Blocks<'_> {
        fn shape(&self) -> Shape {
            self.0.shape()
        }
        fn read<'a>(&'a self, rows: Range<usize>, buffers: &'a mut Buffers) -> Result<Batch<'a>> {
            self.0.read(rows, buffers)
        }
    }
    let (x, y, _) = table(9_000, 5);
    let x: Vec<f64> = x.into_iter().map(|value| if value.is_nan() { 0.0 } else { value.round() }).collect();
    let data = Data::new(X::dense(&x, 3).unwrap()).real(&y).unwrap();
    // Encoders make sparse rows, which are summed in another order than dense ones.
    for steps in [["StandardScaler", "Ridge"], ["OneHotEncoder", "Ridge"], ["OneHotEncoder", "PoissonRegressor"]] {
        let steps: Vec<Spec> = steps.iter().map(|step| spec(step)).collect();
        let pipeline = make(&Pipeline::spec(&steps)).unwrap();
        let counts: Vec<f64> = y.iter().map(|y| y.abs().round()).collect();
        let data = data.clone().real(&counts).unwrap();
        let memory = pipeline.fit(&data, &Ctx::new(1)).unwrap().model.to_bytes();
        let blocks = pipeline.fit(&Blocks(data), &Ctx::new(1)).unwrap().model.to_bytes();
        assert!(memory == blocks, "{steps:?}");
    }
    // What needs whole columns is refused before a row is read.
    let median = Pipeline::spec(&[spec("SimpleImputer(strategy=median)"), spec("Ridge")]);
    let error = make(&median).unwrap().fit(&Blocks(data), &Ctx::new(1)).err().unwrap();
    assert!(matches!(error, ermine::Error::NeedsMemory { .. }), "{error}");
}
