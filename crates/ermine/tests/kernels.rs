//! Kernel machines and neighbours against recorded values and against their own promises.

use ermine::{
    Certificate, Ctx, Data, Estimator, Fit, Matrix, Model, Output, OwnedX, Result, Task, Values, X,
    core::param::named,
    engine::{
        kernel::{Gamma, Kernel},
        neighbours::{Metric, Search},
    },
    neighbors::KNeighborsClassifier,
    predict,
    svm::{KernelRidge, SVC, SVR},
};
use serde_json::Value;

/// The data of reference/kernels.py.
fn reference_data() -> (Vec<f64>, Vec<u32>, Vec<f64>) {
    let (mut x, mut classes, mut score) = (vec![], vec![], vec![]);
    for i in 1..=240 {
        let i = f64::from(i);
        let row: Vec<f64> = [2.0f64, 3.0, 5.0, 7.0].iter().map(|r| (i * r.sqrt()).fract() * 4.0 - 2.0).collect();
        let s = (1.5 * row[0]).sin() + row[1] * row[2] * 0.5 + 0.8 * (i * 11.0f64.sqrt()).fract() - 0.4;
        x.extend(row);
        classes.push(u32::from(s > -0.5) + u32::from(s > 0.5));
        score.push(s);
    }
    (x, classes, score)
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0, |s: f64, v| s.max(v.abs()));
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= tolerance * scale, "{what}, value {i}: {f} instead of {e}");
    }
}

#[test]
fn scikit_learn_values() {
    let text = include_str!("reference/kernels.json");
    let reference: Value = serde_json::from_str(text).unwrap();
    let (x, classes, score) = reference_data();
    let two: Vec<u32> = classes.iter().map(|&c| u32::from(c > 0)).collect();
    let rows = X::dense(&x, 4).unwrap();
    let ctx = Ctx::new(0).with_threads(2);
    let mut models = 0;
    for case in reference["cases"].as_array().unwrap() {
        let name = case["model"].as_str().unwrap();
        // Not positive semi-definite: the dual has several stationary points, and each solver may stop at its own.
        if case["params"]["kernel"] == "sigmoid" {
            continue;
        }
        let entry = ermine::entry(name.trim_end_matches('3')).unwrap();
        let known: Vec<&str> = (entry.params)().iter().map(|param| param.name).collect();
        let mut values = Values::new();
        for (param, value) in case["params"].as_object().unwrap() {
            let value = match value {
                Value::Number(n) => ermine::Value::Float(n.as_f64().unwrap()),
                Value::String(s) => ermine::Value::Text(s.clone()),
                _ => continue,
            };
            if known.contains(&param.as_str()) {
                values.insert(param.clone(), value);
            }
        }
        if name.starts_with("Linear") {
            values.insert("tol".into(), ermine::Value::Float(1e-9));
            values.insert("max_iter".into(), ermine::Value::Int(100_000));
        }
        let data = Data::new(rows);
        let data = match name {
            "SVC3" | "LinearSVC3" => data.classes(&classes, 3).unwrap(),
            "SVC" | "NuSVC" | "LinearSVC" => data.classes(&two, 2).unwrap(),
            "SVR" | "NuSVR" | "LinearSVR" | "KernelRidge" => data.real(&score).unwrap(),
            _ => data,
        };
        let what = format!("{name} {}", case["params"]);
        let fit = (entry.make)(&values).unwrap().fit(&data, &ctx).unwrap();
        let output = match name {
            "SVC" | "SVC3" | "NuSVC" | "OneClassSVM" | "LinearSVC" | "LinearSVC3" => Output::Decision,
            "KernelPCA" => Output::Transform,
            _ => Output::Value,
        };
        let out = predict(&ctx, &*fit.model, &rows, output, false).unwrap();
        let mut found: Vec<f64> = out.values.iter().step_by(7).copied().collect();
        if name == "KernelPCA" {
            found.iter_mut().for_each(|v| *v = v.abs());
        }
        // LIBLINEAR stops its own way: what it leaves is the larger part of the difference.
        let tolerance = if name.starts_with("Linear") { 2e-4 } else { 1e-5 };
        close(&found, &numbers(&case["values"]), tolerance, &what);
        let attribute = |wanted: &str| {
            let found = fit.model.attributes().into_iter().find(|(name, _)| *name == wanted);
            found.unwrap_or_else(|| panic!("{what} has no {wanted}")).1
        };
        if let Some(count) = case.get("support") {
            // With a kernel of low rank the multipliers are not unique, nor is their number.
            let slack = if case["params"]["kernel"] == "rbf" { 0 } else { 8 };
            let (found, expected) = (attribute("support_").shape[0] as i64, count.as_i64().unwrap());
            assert!((found - expected).abs() <= slack, "{what}: {found} support vectors instead of {expected}");
        }
        if let Some(objective) = case.get("objective") {
            let found = *fit.log.objective.last().unwrap();
            close(&[found], &[objective.as_f64().unwrap()], 1e-6, &format!("{what}: objective"));
        }
        if let Some(values) = case.get("eigenvalues") {
            let ermine::Numbers::Float(found) = attribute("eigenvalues_").values else { panic!("{what}") };
            close(&found, &numbers(values), 1e-9, &what);
        }
        models += 1;
    }
    assert!(models > 30);
}

fn certificate(log: &ermine::FitLog) -> (f64, f64) {
    match *log.certificate() {
        Certificate::Bound { gap, tolerance } => (gap, tolerance),
        _ => panic!("{log}"),
    }
}

#[test]
fn the_gap_closes_with_the_tolerance() {
    let (x, classes, score) = reference_data();
    let data = Data::new(X::dense(&x, 4).unwrap());
    let ctx = Ctx::new(0).with_threads(2);
    for tol in [1e-2, 1e-4, 1e-8] {
        let fit = SVC { tol, ..Default::default() }.fit(&data.clone().classes(&classes, 3).unwrap(), &ctx).unwrap();
        let (gap, allowed) = certificate(&fit.log);
        assert!((-1e-9..=allowed + 1e-9).contains(&gap), "SVC {tol}: {gap} of {allowed}");
        let fit = SVR { tol, ..Default::default() }.fit(&data.clone().real(&score).unwrap(), &ctx).unwrap();
        let (gap, allowed) = certificate(&fit.log);
        assert!((-1e-9..=allowed + 1e-9).contains(&gap), "SVR {tol}: {gap} of {allowed}");
        assert!(fit.log.objective.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12), "{:?}", fit.log.objective);
    }
}

fn decision(fit: &Fit<ermine::svm::SupportClassifier>, x: &X, output: Output) -> Matrix {
    predict(&Ctx::new(0), &fit.model, x, output, false).unwrap()
}

#[test]
fn a_tight_tolerance_makes_weights_repetition_and_a_small_cache_the_same_model() {
    let (x, classes, _) = reference_data();
    let rows = X::dense(&x, 4).unwrap();
    let ctx = Ctx::new(0).with_threads(2);
    let svc = SVC { tol: 1e-9, ..Default::default() };
    let weights: Vec<f64> = (0..240).map(|i| [1.0, 2.0, 0.0][i % 3]).collect();
    let weighted = svc.fit(&Data::new(rows).classes(&classes, 3).unwrap().weights(&weights).unwrap(), &ctx).unwrap();
    let ids: Vec<usize> = (0..240).flat_map(|i| std::iter::repeat_n(i, weights[i] as usize)).collect();
    let points = OwnedX::take(&rows, ids.iter().copied());
    let codes: Vec<u32> = ids.iter().map(|&i| classes[i]).collect();
    let repeated = svc.fit(&Data::new(points.x()).classes(&codes, 3).unwrap(), &ctx).unwrap();
    let (a, b) = (decision(&weighted, &rows, Output::Decision), decision(&repeated, &rows, Output::Decision));
    close(&a.values, &b.values, 1e-6, "weights");

    let data = Data::new(rows).classes(&classes, 3).unwrap();
    let whole = svc.fit(&data, &ctx).unwrap();
    // Room for about three rows of the Gram matrix.
    let small = SVC { cache_size: 0.02, ..svc.clone() }.fit(&data, &ctx).unwrap();
    let (a, b) = (decision(&whole, &rows, Output::Decision), decision(&small, &rows, Output::Decision));
    close(&a.values, &b.values, 1e-6, "cache");
}

#[test]
fn hard_margins_and_their_refusal() {
    let ctx = Ctx::new(0).with_threads(2);
    let x = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 3.0, 3.0, 4.0, 3.0, 3.0, 4.0];
    let rows = X::dense(&x, 2).unwrap();
    let hard = SVC { C: f64::INFINITY, kernel: Kernel::Linear, tol: 1e-6, ..Default::default() };
    let fit = hard.fit(&Data::new(rows).classes(&[0, 0, 0, 1, 1, 1], 2).unwrap(), &ctx).unwrap();
    // The margin runs between (1, 0), (0, 1) and (3, 3): w = (0.4, 0.4), b = -1.4.
    let scores = decision(&fit, &rows, Output::Decision).values;
    close(&scores[1..4], &[-1.0, -1.0, 1.0], 1e-4, "hard margin");
    let error = hard.fit(&Data::new(rows).classes(&[0, 1, 0, 1, 0, 0], 2).unwrap(), &ctx).err().unwrap().to_string();
    assert!(error.contains("no margin separates class 0 from class 1"), "{error}");
}

#[test]
fn probabilities_never_contradict_the_class() {
    let (x, classes, _) = reference_data();
    let rows = X::dense(&x, 4).unwrap();
    let ctx = Ctx::new(0).with_threads(2);
    for (codes, k) in [(classes.clone(), 3), (classes.iter().map(|&c| u32::from(c > 1)).collect::<Vec<u32>>(), 2)] {
        let data = Data::new(rows).classes(&codes, k).unwrap();
        let fit = SVC { probability: true, ..Default::default() }.fit(&data, &ctx).unwrap();
        let (class, p) = (decision(&fit, &rows, Output::Class), decision(&fit, &rows, Output::Probability));
        let mut likelihood = 0.0;
        for i in 0..240 {
            let row = p.row(i);
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let chosen = row[class[(i, 0)] as usize];
            assert!(row.iter().all(|p| *p <= chosen), "{row:?}, class {}", class[(i, 0)]);
            likelihood += row[codes[i] as usize].max(1e-9).ln() / 240.0;
        }
        assert!(likelihood > -0.8, "{likelihood}");
    }
}

#[test]
fn precomputed_values_give_the_same_model() {
    let (x, classes, score) = reference_data();
    let rows = X::dense(&x, 4).unwrap();
    let ctx = Ctx::new(0).with_threads(2);
    let kernel = Kernel::parse("rbf(gamma=0.3) + 0.1*linear[0,2]").unwrap();
    let mut gram = vec![0.0; 240 * 240];
    kernel.block(&rows, &rows, &mut gram);
    let gram = X::dense(&gram, 240).unwrap();
    let svc = SVC { kernel: kernel.clone(), tol: 1e-8, ..Default::default() };
    let direct = svc.fit(&Data::new(rows).classes(&classes, 3).unwrap(), &ctx).unwrap();
    let given = SVC { kernel: Kernel::Precomputed, ..svc }.fit(&Data::new(gram).classes(&classes, 3).unwrap(), &ctx);
    let given = given.unwrap();
    let (a, b) = (decision(&direct, &rows, Output::Decision), decision(&given, &gram, Output::Decision));
    close(&a.values, &b.values, 1e-7, "SVC");
    given.model.check().unwrap();

    let ridge = KernelRidge { kernel, ..Default::default() };
    let direct = ridge.fit(&Data::new(rows).real(&score).unwrap(), &ctx).unwrap();
    let given = KernelRidge { kernel: Kernel::Precomputed, ..ridge }.fit(&Data::new(gram).real(&score).unwrap(), &ctx);
    let (a, b) = (
        predict(&ctx, &direct.model, &rows, Output::Value, false).unwrap(),
        predict(&ctx, &given.unwrap().model, &gram, Output::Value, false).unwrap(),
    );
    close(&a.values, &b.values, 1e-10, "KernelRidge");
}

#[test]
fn an_invalid_kernel_is_named_in_the_log() {
    let (x, classes, _) = reference_data();
    let data = Data::new(X::dense(&x, 4).unwrap()).classes(&classes, 3).unwrap();
    let bad =
        SVC { kernel: Kernel::parse("sigmoid(gamma=1, coef0=-2)").unwrap(), max_iter: 10_000, ..Default::default() };
    let fit = bad.fit(&data, &Ctx::new(0).with_threads(2)).unwrap();
    assert!(fit.log.notes.iter().any(|note| note.contains("not positive semi-definite")), "{:?}", fit.log.notes);
    let fine = SVC { gamma: Gamma::Auto, ..Default::default() }.fit(&data, &Ctx::new(0).with_threads(2)).unwrap();
    assert!(!fine.log.notes.iter().any(|note| note.contains("semi-definite")));
}

/// Distances by the definition.
fn plain(a: &[f64], b: &[f64], metric: &Metric) -> f64 {
    let pairs = || a.iter().zip(b);
    match metric {
        Metric::Minkowski(p) => pairs().map(|(a, b)| (a - b).abs().powf(*p)).sum::<f64>().powf(1.0 / p),
        Metric::Chebyshev => pairs().map(|(a, b)| (a - b).abs()).fold(0.0, f64::max),
        Metric::Cosine => {
            let norm = |a: &[f64]| a.iter().map(|v| v * v).sum::<f64>().sqrt();
            1.0 - pairs().map(|(a, b)| a * b).sum::<f64>() / (norm(a) * norm(b))
        }
        Metric::Kernel(kernel) => {
            let (x, z) = (X::dense(a, a.len()).unwrap(), X::dense(b, b.len()).unwrap());
            let value = |a: &X, b: &X| {
                let mut out = [0.0];
                kernel.block(a, b, &mut out);
                out[0]
            };
            (value(&x, &x) - 2.0 * value(&x, &z) + value(&z, &z)).max(0.0).sqrt()
        }
    }
}

#[test]
fn neighbours_are_the_nearest_for_every_metric_and_search() {
    let mut rng = Ctx::new(1).rng("neighbours", 0);
    let kernel = Metric::Kernel(Kernel::parse("rbf(gamma=0.2)").unwrap());
    for cols in [2, 30] {
        // Coarse values, so that there are ties and duplicates; far from the origin, so that products lose digits.
        let values: Vec<f64> = (0..700 * cols).map(|_| 100.0 + rng.below(4) as f64).collect();
        let x = X::dense(&values, cols).unwrap();
        for metric in [
            Metric::Minkowski(1.0),
            Metric::Minkowski(2.0),
            Metric::Minkowski(3.0),
            Metric::Minkowski(20.0),
            Metric::Chebyshev,
            Metric::Cosine,
            kernel.clone(),
        ] {
            let search = Search::new(OwnedX::all(&x), metric.clone());
            let found = search.nearest(&x.slice(0..20), 7);
            let around = search.within(&x.slice(0..20), 1.1);
            for q in 0..20 {
                let query = &values[q * cols..(q + 1) * cols];
                let mut all: Vec<(f64, usize)> =
                    values.chunks(cols).enumerate().map(|(i, row)| (plain(query, row, &metric), i)).collect();
                all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                for (found, expected) in found[q * 7..(q + 1) * 7].iter().zip(&all) {
                    let near = (found.0 - expected.0).abs() < 1e-5;
                    assert!(near, "{metric:?}, {cols} columns: {found:?} and {expected:?}");
                    if matches!(metric, Metric::Minkowski(1.0 | 2.0) | Metric::Chebyshev) {
                        assert_eq!(found.1 as usize, expected.1, "{metric:?}, {cols} columns: ties by row");
                    }
                }
                if matches!(metric, Metric::Minkowski(1.0 | 2.0) | Metric::Chebyshev) {
                    let count = all.iter().filter(|(distance, _)| *distance <= 1.1).count();
                    assert_eq!(around[q].len(), count, "{metric:?}");
                    assert!(around[q].windows(2).all(|pair| pair[0].1 < pair[1].1));
                }
            }
        }
    }
}

/// Powers that no distance could be raised to: the largest difference is all that is left.
#[test]
fn a_power_without_end_is_the_largest_difference() {
    let mut rng = Ctx::new(4).rng("neighbours", 1);
    for (cols, unit) in [(2, 1e-5), (30, 1e30)] {
        let values: Vec<f64> = (0..400 * cols).map(|_| unit * rng.normal()).collect();
        let x = X::dense(&values, cols).unwrap();
        let [high, largest] = [Metric::Minkowski(1e300), Metric::Chebyshev]
            .map(|metric| Search::new(OwnedX::all(&x), metric).nearest(&x.slice(0..20), 5));
        assert_eq!(high, largest, "{cols} columns");
    }
}

/// All columns moved by a power of two, which rounds nothing off these values: kernels of differences and machines with
/// an intercept predict the same.
#[test]
fn offsets_take_nothing_from_kernel_machines() {
    let mut rng = Ctx::new(6).rng("offsets", 0);
    let (rows, cols, unit) = (80, 3, (1u64 << 20) as f64);
    let near: Vec<f64> = (0..rows * cols).map(|_| (rng.normal() * unit).round() / unit).collect();
    let far: Vec<f64> = near.iter().map(|x| x + unit).collect();
    let y: Vec<f64> = near.chunks(cols).map(|row| row[0] - 2.0 * row[1] + 0.2 * rng.normal()).collect();
    let codes: Vec<u32> = y.iter().map(|y| u32::from(y + rng.normal() > 0.0)).collect();
    for (name, kernel) in [
        ("SVC", "linear"),
        ("SVC", "rbf"),
        ("NuSVC", "linear"),
        ("SVR", "linear"),
        ("SVR", "rbf"),
        ("NuSVR", "linear"),
        ("OneClassSVM", "rbf"),
        ("KernelRidge", "rbf"),
    ] {
        let entry = ermine::entry(name).unwrap();
        let mut values = Values::from([("kernel".to_string(), named(kernel))]);
        // Two fits are as close as their tolerance.
        if (entry.params)().iter().any(|param| param.name == "tol") {
            values.insert("tol".into(), ermine::Value::Float(1e-9));
        }
        let [here, there] = [&near, &far].map(|x| {
            let x = X::dense(x, cols).unwrap();
            let data = Data::new(x);
            let (data, output) = match entry.info.task {
                Task::Regression => (data.real(&y).unwrap(), Output::Value),
                Task::Classification => (data.classes(&codes, 2).unwrap(), Output::Decision),
                _ => (data, Output::Decision),
            };
            let fit = (entry.make)(&values).unwrap().fit(&data, &Ctx::new(0).with_threads(1)).unwrap();
            assert!(fit.log.converged(), "{name}, {kernel}: {}", fit.log);
            predict(&Ctx::new(0), &*fit.model, &x, output, false).unwrap().values
        });
        let apart = here.iter().zip(&there).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart < 1e-6, "{name}, {kernel}: predictions differ by {apart:e}");
    }
}

/// Candidates are found in single precision, which must not show: far from the origin, with numbers that it cannot
/// hold, with differences that it cannot see, and with rows that are equal.
#[test]
fn neighbours_by_single_precision_are_exact() {
    let mut rng = Ctx::new(2).rng("neighbours", 0);
    let cols = 20;
    let normal: Vec<f64> = (0..900 * cols).map(|_| rng.normal()).collect();
    let turned = |f: &dyn Fn(f64) -> f64| normal.iter().map(|&v| f(v)).collect::<Vec<f64>>();
    let coarse = turned(&|v| v.round());
    for (what, values) in [
        ("plain", normal.clone()),
        ("far", turned(&|v| v + 1e9)),
        ("large", turned(&|v| v * 1e30)),
        ("small", turned(&|v| v * 1e-40)),
        ("one far out", normal.iter().enumerate().map(|(i, v)| if i == 7 { 1e25 } else { *v }).collect()),
        ("two places", normal.iter().enumerate().map(|(i, v)| v * 1e-6 + (i / cols % 2) as f64 * 1e3).collect()),
        ("equal rows", coarse),
    ] {
        let x = X::dense(&values, cols).unwrap();
        let search = Search::new(OwnedX::all(&x), Metric::Minkowski(2.0));
        let found = search.nearest(&x.slice(0..150), 9);
        for q in 0..150 {
            let query = &values[q * cols..(q + 1) * cols];
            let squared = |row: &[f64]| row.iter().zip(query).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            let mut all: Vec<(f64, u32)> = values.chunks(cols).zip(0..).map(|(row, i)| (squared(row), i)).collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            for (found, expected) in found[q * 9..(q + 1) * 9].iter().zip(&all) {
                let close = (found.0 - expected.0.sqrt()).abs() <= 1e-12 * expected.0.sqrt();
                assert!(close, "{what}, query {q}: {found:?} and {expected:?}");
                assert!(found.1 == expected.1 || what != "equal rows", "{what}, query {q}: {found:?} and {expected:?}");
            }
        }
    }
}

#[test]
fn a_kernel_distance_is_a_metric_by_text() -> Result<()> {
    let (x, classes, _) = reference_data();
    let rows = X::dense(&x, 4)?;
    let mut knn = KNeighborsClassifier::default();
    ermine::Params::set(&mut knn, "metric", &ermine::Value::Text("rbf(gamma=0.1)".into()))?;
    let fit = knn.fit(&Data::new(rows).classes(&classes, 3)?, &Ctx::new(0).with_threads(2))?;
    // A Gaussian kernel's distance grows with the Euclidean one: the same neighbours.
    let plain =
        KNeighborsClassifier::default().fit(&Data::new(rows).classes(&classes, 3)?, &Ctx::new(0).with_threads(2))?;
    let of = |model: &dyn ermine::AnyModel| predict(&Ctx::new(0), model, &rows, Output::Neighbours, false).unwrap();
    // But for distances that are equal within rounding. A row has the numbers of its five neighbours, then how far they
    // are.
    let (by_kernel, by_distance) = (of(&fit.model), of(&plain.model));
    let numbers = |found: &Matrix, i: usize| found.row(i)[..5].to_vec();
    let equal =
        |i: usize| numbers(&by_kernel, i).iter().zip(numbers(&by_distance, i)).filter(|(a, b)| **a == *b).count();
    let same: usize = (0..by_kernel.rows).map(equal).sum();
    assert!(by_kernel.rows * 5 == 1200 && same >= 1190, "{same} of 1200");
    assert!((0..by_distance.rows).all(|i| by_distance.row(i)[5..].is_sorted() && by_distance.row(i)[5] == 0.0));
    Ok(())
}
