//! Metrics against scikit-learn's, on random and degenerate predictions (recorded by reference/metrics.py).

use ermine::{Matrix, Target, metrics::*};
use serde_json::Value;

fn reference() -> Value {
    serde_json::from_str(include_str!("reference/metrics.json")).unwrap()
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

/// Infinities are written as text and NaN as null.
fn number(value: &Value) -> f64 {
    value.as_f64().or(value.as_str().and_then(|text| text.parse().ok())).unwrap_or(f64::NAN)
}

fn codes(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as u32).collect()
}

fn assert_same(case: &str, what: &str, ours: f64, theirs: f64) {
    let same =
        ours == theirs || (ours - theirs).abs() <= 1e-12 * theirs.abs().max(1.0) || ours.is_nan() && theirs.is_nan();
    assert!(same, "{case}, {what}: {ours:?}, and scikit-learn has {theirs:?}");
}

fn assert_all_same(case: &str, what: &str, ours: &[f64], theirs: &Value) {
    let theirs = floats(theirs);
    assert_eq!(ours.len(), theirs.len(), "{case}, {what}: {ours:?} {theirs:?}");
    ours.iter().zip(&theirs).for_each(|(a, b)| assert_same(case, what, *a, *b));
}

#[test]
fn classification_metrics_equal_scikit_learn() {
    let mut compared = 0;
    for case in reference()["classification"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let classes = case["classes"].as_u64().unwrap() as usize;
        let (y, called, p) = (codes(&case["y"]), codes(&case["called"]), floats(&case["p"]));
        let weights = case["weights"].as_array().map(|_| floats(&case["weights"]));
        let w = weights.as_deref();
        let p = Matrix::new(p, y.len(), classes);
        let class = Matrix::new(called.iter().map(|&code| f64::from(code)).collect(), y.len(), 1);
        let truth = Target::Class { codes: &y, classes };
        let confusion = confusion_matrix(&y, &called, classes, w).unwrap();
        for (score, theirs) in case["scores"].as_object().unwrap() {
            let theirs = number(theirs);
            let ours = match score.as_str() {
                "kappa_linear" => confusion.kappa(1),
                "kappa_quadratic" => confusion.kappa(2),
                "f2.5" => confusion.f_beta(2.5, Average::Binary).unwrap(),
                "f2.5_micro" => confusion.f_beta(2.5, Average::Micro).unwrap(),
                "f2.5_macro" => confusion.f_beta(2.5, Average::Macro).unwrap(),
                "f2.5_weighted" => confusion.f_beta(2.5, Average::Weighted).unwrap(),
                "partial_roc_auc" => {
                    let scores: Vec<f64> = (0..y.len()).map(|i| p[(i, 1)]).collect();
                    partial_roc_auc(&is_class(&y, 1), &scores, 0.3, w).unwrap()
                }
                score => {
                    let metric = metric(score).unwrap();
                    let predicted = if metric.needs == Needs::Class { &class } else { &p };
                    metric.value(&truth, predicted, w).unwrap()
                }
            };
            assert_same(name, score, ours, theirs);
            compared += 1;
        }
        let positive = is_class(&y, 1);
        let scores: Vec<f64> = (0..y.len()).map(|i| p[(i, 1)]).collect();
        let curves = &case["curves"];
        if !curves["roc"].is_null() {
            let roc = roc_curve(&positive, &scores, w, true).unwrap();
            assert_all_same(name, "fpr", &roc.fpr, &curves["roc"][0]);
            assert_all_same(name, "tpr", &roc.tpr, &curves["roc"][1]);
            assert_all_same(name, "roc threshold", &roc.threshold[1..], &curves["roc"][2]);
            let pr = precision_recall_curve(&positive, &scores, w).unwrap();
            assert_all_same(name, "precision", &pr.precision, &curves["pr"][0]);
            assert_all_same(name, "recall", &pr.recall, &curves["pr"][1]);
            assert_all_same(name, "pr threshold", &pr.threshold, &curves["pr"][2]);
        }
        for (bins, key) in [(Bins::Uniform, "calibration_uniform"), (Bins::Quantile, "calibration_quantile")] {
            if curves[key].is_null() {
                continue;
            }
            let curve = calibration_curve(&positive, &scores, 7, bins, None).unwrap();
            let (observed, predicted): (Vec<f64>, Vec<f64>) =
                curve.iter().map(|bin| (bin.observed, bin.predicted)).unzip();
            assert_all_same(name, key, &observed, &curves[key][0]);
            assert_all_same(name, key, &predicted, &curves[key][1]);
        }
    }
    assert!(compared > 400, "{compared}");
}

#[test]
fn regression_metrics_equal_scikit_learn() {
    for case in reference()["regression"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let cols = case["cols"].as_u64().unwrap() as usize;
        let (y, f) = (floats(&case["y"]), floats(&case["f"]));
        let weights = case["weights"].as_array().map(|_| floats(&case["weights"]));
        let w = weights.as_deref();
        let truth = Target::Real { values: &y, cols };
        let predicted = Matrix::new(f.clone(), y.len() / cols, cols);
        let averaged = |of: &dyn Fn(&[f64], &[f64]) -> f64| {
            let column = |values: &[f64], t: usize| values.iter().skip(t).step_by(cols).copied().collect::<Vec<_>>();
            (0..cols).map(|t| of(&column(&y, t), &column(&f, t))).sum::<f64>() / cols as f64
        };
        for (score, theirs) in case["scores"].as_object().unwrap() {
            let theirs = number(theirs);
            let ours = match score.split_once("tweedie_") {
                Some(("", power)) => mean_tweedie_deviance(&y, &f, power.parse().unwrap(), w).unwrap(),
                Some((_, power)) => d2_tweedie_score(&y, &f, power.parse().unwrap(), w).unwrap(),
                None => match score.as_str() {
                    "pinball_0.2" => averaged(&|y, f| mean_pinball_loss(y, f, 0.2, w).unwrap()),
                    "d2_pinball_0.2" => averaged(&|y, f| d2_pinball_score(y, f, 0.2, w).unwrap()),
                    score => metric(score).unwrap().value(&truth, &predicted, w).unwrap(),
                },
            };
            assert_same(name, score, ours, theirs);
        }
    }
}

#[test]
fn the_list_is_complete_and_refuses_in_words() {
    for metric in METRICS {
        assert!(metric.definition.len() > 5 && !metric.needs.outputs().is_empty(), "{}", metric.name);
        assert_eq!(metric.name.starts_with("neg_"), !metric.greater_is_better, "{}", metric.name);
        let wrong = if metric.task == ermine::Task::Regression {
            Target::Class { codes: &[0, 1], classes: 2 }
        } else {
            Target::Real { values: &[0.0, 1.0], cols: 1 }
        };
        assert!(metric.value(&wrong, &Matrix::zeros(2, 1), None).is_err(), "{}", metric.name);
        let empty = Target::Class { codes: &[], classes: 2 };
        let empty = if metric.task == ermine::Task::Regression { Target::Real { values: &[], cols: 1 } } else { empty };
        assert!(
            metric.value(&empty, &Matrix::zeros(0, if metric.needs == Needs::Class { 1 } else { 2 }), None).is_err()
        );
    }
    assert!(metric("acuracy").err().unwrap().to_string().contains("accuracy"));
    let three = Target::Class { codes: &[0, 1, 2], classes: 3 };
    let message = metric("f1").unwrap().value(&three, &Matrix::zeros(3, 1), None).unwrap_err().to_string();
    assert!(message.contains("_macro"), "{message}");
    let message = metric("roc_auc").unwrap().value(&three, &Matrix::zeros(3, 3), None).unwrap_err().to_string();
    assert!(message.contains("roc_auc_ovr"), "{message}");
}

#[test]
fn bootstrap_intervals_cover() {
    // The 90 % interval of an accuracy over 300 rows contains the true accuracy about nine times in ten.
    let accuracy = metric("accuracy").unwrap();
    let mut inside = 0;
    for trial in 0..60 {
        let ctx = ermine::Ctx::new(trial);
        let mut rng = ctx.rng("truth", 0);
        let y: Vec<u32> = (0..300).map(|_| rng.below(2) as u32).collect();
        let f: Vec<f64> =
            y.iter().map(|&y| if rng.uniform() < 0.8 { f64::from(y) } else { f64::from(1 - y) }).collect();
        let truth = Target::Class { codes: &y, classes: 2 };
        let interval = accuracy.interval(&ctx, &truth, &Matrix::new(f, 300, 1), None, 0.9, 200).unwrap();
        inside += usize::from(interval.low <= 0.8 && 0.8 <= interval.high);
        assert!((interval.standard_error - (0.8f64 * 0.2 / 300.0).sqrt()).abs() < 0.01);
    }
    assert!((46..=60).contains(&inside), "{inside} of 60");
}
