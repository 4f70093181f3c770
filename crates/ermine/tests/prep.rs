//! Transformers against scikit-learn's (recorded by reference/prep.py), and what they promise.

use ermine::{Ctx, Data, MODELS, Numbers, Output, Spec, Target, Task, X, make, pipeline, predict};
use serde_json::Value;

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap_or(f64::NAN)).collect()
}

fn spec(text: &str) -> Spec {
    Spec::parse(text).unwrap_or_else(|| Spec::new(text))
}

#[test]
fn transformers_equal_scikit_learn() {
    let reference: Value = serde_json::from_str(include_str!("reference/prep.json")).unwrap();
    let codes: Vec<u32> = reference["y"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as u32).collect();
    let ctx = Ctx::new(0);
    for case in reference["cases"].as_array().unwrap() {
        let what = case["spec"].as_str().unwrap();
        let x = floats(&case["x"]["values"]);
        let x = X::dense(&x, case["x"]["cols"].as_u64().unwrap() as usize).unwrap();
        let data = Data::new(x).classes(&codes, 3).unwrap();
        let fit = make(&spec(what)).unwrap().fit(&data, &ctx).unwrap();
        let out = predict(&ctx, &*fit.model, &x, Output::Transform, true).unwrap();
        let theirs = floats(&case["out"]["values"]);
        assert_eq!(out.values.len(), theirs.len(), "{what}: {} columns", out.cols);
        // The exponent of a power has a flat optimum.
        let tolerance = if what.starts_with("Power") { 1e-5 } else { 1e-10 };
        for (at, (a, b)) in out.values.iter().zip(&theirs).enumerate() {
            let close = (a - b).abs() <= tolerance * b.abs().max(1.0) || a.is_nan() && b.is_nan();
            assert!(close, "{what}, row {}, column {}: {a} {b}", at / out.cols, at % out.cols);
        }
        let sparse = pipeline::transform(&ctx, &*fit.model, &x, true, true).unwrap();
        assert_eq!(sparse.x().to_matrix().values.len(), out.values.len());
        if !out.values.iter().any(|value| value.is_nan()) {
            assert_eq!(sparse.x().to_matrix(), out, "{what}: sparse");
        }
        if let Some(names) = fit.model.feature_names(&["a", "b", "c", "d"].map(String::from)[..x.cols()]) {
            assert_eq!(names.len(), out.cols, "{what}: {names:?}");
        }
    }
}

#[test]
fn inverses_invert() {
    let mut rng = Ctx::new(6).rng("x", 0);
    let x: Vec<f64> = (0..300).map(|_| (rng.normal() * 4.0).round() / 2.0).collect();
    let codes: Vec<u32> = (0..100).map(|i| i % 2).collect();
    let x = X::dense(&x, 3).unwrap();
    let data = Data::new(x).target(Target::Class { codes: &codes, classes: 2 }).unwrap();
    let ctx = Ctx::new(1);
    let mut inverted = 0;
    for entry in
        MODELS.iter().filter(|entry| entry.info.task == Task::Transformation && entry.info.module == "preprocessing")
    {
        let fit = (entry.make)(&Default::default()).unwrap().fit(&data, &ctx).unwrap();
        if !fit.model.outputs().iter().any(|known| known.0 == Output::Inverse) {
            continue;
        }
        let z = predict(&ctx, &*fit.model, &x, Output::Transform, false).unwrap();
        let back = predict(&ctx, &*fit.model, &X::dense(&z.values, z.cols).unwrap(), Output::Inverse, false).unwrap();
        for (a, b) in back.values.iter().zip(&x.to_matrix().values) {
            assert!((a - b).abs() < 1e-9, "{}: {a} {b}", entry.name);
        }
        inverted += 1;
    }
    assert!(inverted >= 7, "{inverted}");
}

#[test]
fn target_encoding_does_not_tell_a_row_its_own_target() {
    // One category a row: encodings learned with the row's own target would give the target away.
    let x: Vec<f64> = (0..200).map(f64::from).collect();
    let mut rng = Ctx::new(6).rng("y", 0);
    let y: Vec<f64> = (0..200).map(|_| rng.normal()).collect();
    let data = Data::new(X::dense(&x, 1).unwrap()).real(&y).unwrap();
    let ctx = Ctx::new(1);
    let fit = make(&spec("TargetEncoder(smooth=0)")).unwrap().fit(&data, &ctx).unwrap();
    let correlation = |z: &[f64]| {
        let (mz, my) = (z.iter().sum::<f64>() / 200.0, y.iter().sum::<f64>() / 200.0);
        let sum = |f: &dyn Fn(usize) -> f64| (0..200).map(f).sum::<f64>();
        let products = sum(&|i| (z[i] - mz) * (y[i] - my));
        products / (sum(&|i| (z[i] - mz).powi(2)) * sum(&|i| (y[i] - my).powi(2))).sqrt()
    };
    let new = predict(&ctx, &*fit.model, &data.batch().x, Output::Transform, false).unwrap();
    assert!(correlation(&new.values) > 0.99);
    let Numbers::Float(crossed) = &fit.rows.iter().find(|rows| rows.0 == "transform").unwrap().1.values else {
        panic!()
    };
    assert!(correlation(crossed) < 0.3, "{}", correlation(crossed));
    // A pipeline learns from the crossed ones, so it finds nothing.
    let steps = [spec("TargetEncoder(smooth=0)"), spec("LinearRegression")];
    let fit = make(&pipeline::Pipeline::spec(&steps)).unwrap().fit(&data, &ctx).unwrap();
    let out = predict(&ctx, &*fit.model, &data.batch().x, Output::Value, false).unwrap();
    let r2 = ermine::metrics::r2_score(&y, &out.values, None).unwrap();
    assert!(r2 < 0.5, "{r2}");
}
