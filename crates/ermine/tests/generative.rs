//! Naive Bayes, discriminant analysis, PCA, PLS, k-means, mixtures and outliers against recorded values of scikit-learn, and what must
//! hold of them.

use ermine::{
    AnyModel, Ctx, Data, Estimator, Fit, Matrix, Numbers, Output, Source, Task, Value, X,
    bayes::{GaussianNB, LinearDiscriminantAnalysis, MultinomialNB, QuadraticDiscriminantAnalysis},
    cluster::{
        AgglomerativeClustering, BayesianGaussianMixture, Concentration, Covariance, DBSCAN, GaussianMixture, KMeans,
        Linkage, MiniBatchKMeans, MixtureInit,
    },
    decompose::{Components, IncrementalPCA, PCA},
    entry,
    inspect::{choose_clusters, choose_components},
    metrics, predict,
    tree::{Amount, Contamination, IsolationForest, SampleSize},
};

type Json = serde_json::Value;

fn numbers(value: &Json) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn reference() -> Json {
    serde_json::from_str(include_str!("reference/generative.json")).unwrap()
}

fn value(json: &Json) -> Value {
    match json {
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(value) if value.is_i64() => Value::Int(value.as_i64().unwrap()),
        Json::Number(value) => Value::Float(value.as_f64().unwrap()),
        Json::String(text) => Value::Text(text.clone()),
        other => panic!("{other}"),
    }
}

#[track_caller]
fn assert_near(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0, |scale: f64, v| scale.max(v.abs()));
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= tolerance * scale, "{what}[{i}]: {a}, expected {b}");
    }
}

#[test]
fn equal_to_scikit_learn() {
    let reference = reference();
    let x = numbers(&reference["x"]);
    let codes: Vec<u32> = numbers(&reference["y"]).iter().map(|&y| y as u32).collect();
    let counts: Vec<f64> = x.iter().map(|v| (v * 2.0).round_ties_even()).collect();
    let levels: Vec<f64> = x.iter().map(|v| v.floor().min(5.0)).collect();
    for fit in reference["fits"].as_array().unwrap() {
        let (name, params) = (fit["name"].as_str().unwrap(), fit["params"].as_object().unwrap());
        let what = format!("{name}{params:?}");
        let values = match fit["data"].as_str().unwrap() {
            "x" => &x,
            "counts" => &counts,
            _ => &levels,
        };
        let data = Data::new(X::dense(values, 4).unwrap());
        let data = match entry(name).unwrap().info.task {
            Task::Regression => data.real(numbers(&reference["y"])).unwrap(),
            _ => data.classes(&codes, 3).unwrap(),
        };
        let mut ctx = Ctx::new(0);
        for (start, shape) in fit["starts"].as_object().unwrap() {
            let shape = numbers(shape);
            let (rows, cols) = (shape[0] as usize, shape[1] as usize);
            let values = match start.as_str() {
                "weights_init" => vec![1.0 / 3.0; 3],
                "precisions_init" => numbers(&fit["precisions"]),
                _ => numbers(&reference["start"]),
            };
            ctx = ctx.with_start(start, Matrix::new(values, rows, cols));
        }
        let params = params.iter().map(|(name, json)| (name.clone(), value(json))).collect();
        let found = (entry(name).unwrap().make)(&params).unwrap().fit(&data, &ctx).unwrap();
        // EM stops when it gains little, so that a different rounding may stop it a little elsewhere.
        let tolerance = if name.ends_with("Mixture") { 1e-7 } else { 1e-9 };
        let attributes = found.model.attributes();
        for (attribute, expected) in fit["attributes"].as_object().unwrap() {
            let (_, array) = attributes.iter().find(|(name, _)| name == attribute).expect(attribute);
            let Numbers::Float(values) = &array.values else { panic!("{attribute}") };
            assert_near(values, &numbers(expected), tolerance, &format!("{what} {attribute}"));
        }
        let rows: Vec<f64> = values.chunks(4).step_by(5).flatten().copied().collect();
        let x = X::dense(&rows, 4).unwrap();
        for (output, expected) in fit["outputs"].as_object().unwrap() {
            let kind = found.model.outputs().into_iter().find(|(kind, _)| format!("{kind:?}") == *output).unwrap().0;
            let out = predict(&ctx, &*found.model, &x, kind, false).unwrap();
            assert_near(&out.values, &numbers(expected), tolerance, &format!("{what} {output}"));
        }
    }
}

/// Both forests are random, and the means over many trees agree.
#[test]
fn isolation_is_that_of_scikit_learn() {
    let reference = reference();
    let (x, expected) = (numbers(&reference["x"]), numbers(&reference["isolation"]["scores"]));
    let data = Data::new(X::dense(&x, 4).unwrap());
    let forest = IsolationForest {
        n_estimators: 3000,
        max_samples: SampleSize::Number(Amount::Count(64)),
        contamination: Contamination::Number(0.1),
        ..Default::default()
    };
    let fit = forest.fit(&data, &Ctx::new(0)).unwrap();
    let scores = predict(&Ctx::new(0), &fit.model, &data.batch().x, Output::Density, true).unwrap();
    assert_near(&scores.values, &expected, 0.01, "scores");
    assert_near(&[fit.model.offset], &[reference["isolation"]["offset"].as_f64().unwrap()], 0.01, "offset");
}

/// Rows around `k` centres.
fn blobs(rows: usize, cols: usize, k: usize, seed: u64) -> Vec<f64> {
    let mut rng = Ctx::new(seed).rng("blobs", 0);
    let centres: Vec<f64> = (0..k * cols).map(|_| 3.0 * rng.normal()).collect();
    (0..rows)
        .flat_map(|_| {
            let c = rng.below(k);
            (0..cols).map(|j| centres[c * cols + j] + rng.normal()).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn bounds_change_nothing() {
    // The plain method: all distances in every pass.
    let x = blobs(3_000, 7, 9, 1);
    let start = Matrix::new(x[..13 * 7].to_vec(), 13, 7);
    let data = Data::new(X::dense(&x, 7).unwrap());
    let fit = KMeans { n_clusters: 13, max_iter: 12, tol: 0.0, ..Default::default() }
        .fit(&data, &Ctx::new(0).with_start("init", start.clone()))
        .unwrap();
    let mut centres = start;
    let mut path = Vec::new();
    let nearest = |row: &[f64], centres: &Matrix| {
        let distance = |c: usize| row.iter().zip(centres.row(c)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        (0..13).map(|c| (c, distance(c))).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap()
    };
    for _ in 0..12 {
        let (mut sum, mut count, mut inertia) = (Matrix::zeros(13, 7), [0.0; 13], 0.0);
        for row in x.chunks(7) {
            let (c, d) = nearest(row, &centres);
            inertia += d;
            count[c] += 1.0;
            sum.row_mut(c).iter_mut().zip(row).for_each(|(s, x)| *s += x);
        }
        path.push(inertia);
        centres = Matrix::from_fn(13, 7, |c, j| sum[(c, j)] / count[c]);
    }
    assert_near(&fit.log.objective[..12], &path, 1e-12, "inertia");
    assert_near(&fit.model.centres.values, &centres.values, 1e-10, "centres");
    assert!(fit.log.objective.windows(2).all(|pair| pair[1] <= pair[0]));
    let Numbers::Int(labels) = &fit.rows[0].1.values else { panic!() };
    for (row, &label) in x.chunks(7).zip(labels) {
        assert_eq!(nearest(row, &centres).0 as i64, label);
    }
}

#[test]
fn likelihood_never_falls_from_any_start() {
    let x = blobs(2_500, 3, 4, 2);
    let data = Data::new(X::dense(&x, 3).unwrap());
    for covariance_type in [Covariance::Full, Covariance::Tied, Covariance::Diag, Covariance::Spherical] {
        let starts = [MixtureInit::KMeans, MixtureInit::PlusPlus, MixtureInit::Random, MixtureInit::RandomFromData];
        for init_params in starts {
            let mixture = GaussianMixture {
                n_components: 4,
                covariance_type,
                init_params,
                tol: 1e-8,
                reg_covar: 0.0,
                ..Default::default()
            };
            let fit = mixture.fit(&data, &Ctx::new(3)).unwrap();
            let rise = fit.log.objective.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
            assert!(rise < 1e-12, "{covariance_type:?} {init_params:?}: {rise:e}");
            // The density that is reported is the density that is predicted.
            let density = predict(&Ctx::new(0), &fit.model, &data.batch().x, Output::Density, false).unwrap();
            let mean = density.values.iter().sum::<f64>() / density.values.len() as f64;
            assert!((mean - fit.model.bound).abs() < 1e-10);
            for threads in [1, 3] {
                let again = mixture.fit(&data, &Ctx::new(3).with_threads(threads)).unwrap();
                assert!(again.model == fit.model, "{covariance_type:?} {init_params:?}: {threads} threads");
            }
        }
    }
}

#[test]
fn a_sample_has_the_moments_of_its_mixture() {
    let x = blobs(4_000, 2, 2, 4);
    let data = Data::new(X::dense(&x, 2).unwrap());
    let fit = GaussianMixture { n_components: 2, ..Default::default() }.fit(&data, &Ctx::new(0)).unwrap();
    let (rows, components) = fit.model.sample(40_000, &Ctx::new(1)).unwrap();
    for c in 0..2 {
        let own: Vec<&[f64]> = (0..40_000).filter(|&i| components[i] == c).map(|i| rows.row(i)).collect();
        assert!((own.len() as f64 / 40_000.0 - fit.model.mixture.weights[c]).abs() < 0.01);
        for j in 0..2 {
            let mean = own.iter().map(|row| row[j]).sum::<f64>() / own.len() as f64;
            assert!((mean - fit.model.mixture.means[(c, j)]).abs() < 0.05);
        }
    }
}

#[test]
fn collapse_is_said() {
    // Thirty equal rows and one component for them alone.
    let mut x = blobs(100, 2, 1, 5);
    x.extend([50.0, 50.0].repeat(30));
    let data = Data::new(X::dense(&x, 2).unwrap());
    let mixture = GaussianMixture { n_components: 2, ..Default::default() };
    let fit = mixture.fit(&data, &Ctx::new(0)).unwrap();
    assert!(fit.log.notes.iter().any(|note| note.contains("collapsed")), "{:?}", fit.log.notes);
    let error = GaussianMixture { reg_covar: 0.0, ..mixture }.fit(&data, &Ctx::new(0)).err().unwrap().to_string();
    assert!(error.contains("collapsed") && error.contains("reg_covar"), "{error}");
}

#[test]
fn going_on_with_more_rows_is_fitting_all() {
    let x: Vec<f64> = blobs(600, 4, 3, 6).iter().map(|v| v.abs().round()).collect();
    let codes: Vec<u32> = (0..600).map(|i| (i * 7 % 3) as u32).collect();
    let part = |from: usize, to: usize| {
        Data::new(X::dense(&x[from * 4..to * 4], 4).unwrap()).classes(&codes[from..to], 3).unwrap()
    };
    fn check<E: Estimator>(model: E, parts: [&dyn Source; 3]) {
        let ctx = Ctx::new(0);
        let first = model.fit(parts[0], &ctx).unwrap();
        let both: Fit<E::Model> = model.resume(&first.model, parts[1], &ctx).unwrap();
        let all = model.fit(parts[2], &ctx).unwrap();
        for ((name, a), (_, b)) in AnyModel::attributes(&both.model).iter().zip(&AnyModel::attributes(&all.model)) {
            let (Numbers::Float(a), Numbers::Float(b)) = (&a.values, &b.values) else { continue };
            assert_near(a, b, 1e-12, name);
        }
    }
    let parts: [&dyn Source; 3] = [&part(0, 250), &part(250, 600), &part(0, 600)];
    check(GaussianNB::default(), parts);
    check(MultinomialNB::default(), parts);
    check(ermine::bayes::BernoulliNB::default(), parts);
    check(ermine::bayes::ComplementNB::default(), parts);
}

#[test]
fn a_word_that_a_class_never_had_is_named() {
    let x = [1.0, 2.0, 0.0, 3.0];
    let data = Data::new(X::dense(&x, 2).unwrap()).classes(&[0, 1], 2).unwrap();
    let model = MultinomialNB { alpha: 0.0, ..Default::default() };
    let error =
        model.fit(&data, &Ctx::new(0)).err().unwrap().with_columns(&["free".into(), "hello".into()]).to_string();
    assert!(error.contains("'free'") && error.contains("class 1") && error.contains("alpha"), "{error}");
}

#[test]
fn log_odds_of_discriminant_analysis_are_linear_in_closed_form() {
    // Two classes of one covariance: coef = S^-1 (m1 - m0).
    let mut x = blobs(400, 3, 1, 7);
    (200 * 3..).step_by(3).take(200).for_each(|at| x[at] += 2.0);
    let codes: Vec<u32> = (0..400).map(|i| u32::from(i >= 200)).collect();
    let data = Data::new(X::dense(&x, 3).unwrap()).classes(&codes, 2).unwrap();
    let model = LinearDiscriminantAnalysis::default().fit(&data, &Ctx::new(0)).unwrap().model;
    let difference: Vec<f64> = (0..3).map(|j| model.mean[(1, j)] - model.mean[(0, j)]).collect();
    let back = Matrix::new(model.coef.values.clone(), 1, 3).times(&model.covariance);
    assert_near(&back.values, &difference, 1e-10, "S coef");
}

#[test]
fn components_reconstruct_and_all_paths_agree() {
    let x = blobs(300, 6, 3, 8);
    let data = Data::new(X::dense(&x, 6).unwrap());
    let ctx = Ctx::new(0);
    let fit = PCA { n_components: Components::Number(2.0), ..Default::default() }.fit(&data, &ctx).unwrap();
    let z = predict(&ctx, &fit.model, &data.batch().x, Output::Transform, false).unwrap();
    let back = predict(&ctx, &fit.model, &X::dense(&z.values, 2).unwrap(), Output::Inverse, false).unwrap();
    let error = x.iter().zip(&back.values).map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / 300.0;
    assert!((error / fit.log.objective[0] - 1.0).abs() < 1e-10);
    // Many columns: subspace iteration against the exact eigenvectors, by asking for all and for few.
    let (rows, cols) = (1_500, 1_100);
    let mut rng = ctx.rng("wide", 0);
    let loadings: Vec<f64> = (0..5 * cols).map(|_| rng.normal()).collect();
    let mut wide = Vec::with_capacity(rows * cols);
    for _ in 0..rows {
        let scores: Vec<f64> = (0..5).map(|k| rng.normal() * (6 - k) as f64).collect();
        wide.extend(
            (0..cols).map(|j| 10.0 + (0..5).map(|k| scores[k] * loadings[k * cols + j]).sum::<f64>() + rng.normal()),
        );
    }
    let data = Data::new(X::dense(&wide, cols).unwrap());
    let few = PCA { n_components: Components::Number(4.0), ..Default::default() }.fit(&data, &ctx).unwrap();
    assert!(few.log.notes[0].contains("subspace"), "{:?}", few.log.notes);
    let scatter = |v: &[f64]| {
        let projected: Vec<f64> = wide.chunks(cols).map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum()).collect();
        let mean = projected.iter().sum::<f64>() / rows as f64;
        projected.iter().map(|z| (z - mean) * (z - mean)).sum::<f64>() / (rows - 1) as f64
    };
    for a in 0..4 {
        assert!((scatter(few.model.components.row(a)) / few.model.explained[a] - 1.0).abs() < 1e-8);
    }
}

/// Labels of a fit.
fn labels<M>(fit: &Fit<M>) -> Vec<i64> {
    match &fit.rows.iter().find(|(name, _)| *name == "labels_").unwrap().1.values {
        Numbers::Int(labels) => labels.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn trees_of_merges_and_dense_clusters_are_scikit_learns() {
    let reference = reference();
    let x = numbers(&reference["x"]);
    let data = Data::new(X::dense(&x, 4).unwrap());
    let integers = |json: &Json| numbers(json).iter().map(|&v| v as i64).collect::<Vec<_>>();
    for case in reference["agglomerative"].as_array().unwrap() {
        let linkage = match case["linkage"].as_str().unwrap() {
            "ward" => Linkage::Ward,
            "complete" => Linkage::Complete,
            "average" => Linkage::Average,
            _ => Linkage::Single,
        };
        let model = AgglomerativeClustering { n_clusters: Some(4), linkage, ..Default::default() };
        let fit = model.fit(&data, &Ctx::new(0)).unwrap();
        assert_near(&fit.model.heights, &numbers(&case["distances"]), 1e-12, &format!("{linkage:?} heights"));
        let agree = metrics::adjusted_rand_score(&labels(&fit), &integers(&case["labels"])).unwrap();
        assert!(agree == 1.0, "{linkage:?}: {agree}");
    }
    for case in reference["dbscan"].as_array().unwrap() {
        let (eps, min_samples) = (case["eps"].as_f64().unwrap(), case["min_samples"].as_f64().unwrap());
        let fit = DBSCAN { eps, min_samples, ..Default::default() }.fit(&data, &Ctx::new(0)).unwrap();
        assert_eq!(labels(&fit), integers(&case["labels"]), "eps {eps}");
        assert_eq!(fit.model.indices, integers(&case["core"]), "eps {eps}");
    }
}

#[test]
fn clusterings_are_judged_as_scikit_learn_does() {
    let reference = reference();
    let (x, case) = (numbers(&reference["x"]), &reference["metrics"]);
    let x = X::dense(&x, 4).unwrap();
    let truth: Vec<i64> = numbers(&reference["y"]).iter().map(|&y| y as i64).collect();
    let found: Vec<i64> = numbers(&case["labels"]).iter().map(|&y| y as i64).collect();
    let pairs = [
        ("silhouette", metrics::silhouette_score(&Ctx::new(0), &x, &found)),
        ("rand", metrics::adjusted_rand_score(&truth, &found)),
        ("information", metrics::normalized_mutual_info_score(&truth, &found)),
        ("v", metrics::homogeneity_completeness_v_measure(&truth, &found).map(|(_, _, v)| v)),
        ("calinski", metrics::calinski_harabasz_score(&x, &found)),
        ("davies", metrics::davies_bouldin_score(&x, &found)),
    ];
    for (name, value) in pairs {
        assert_near(&[value.unwrap()], &[case[name].as_f64().unwrap()], 1e-12, name);
    }
}

#[test]
fn evidence_never_falls_and_spare_components_empty() {
    let x = blobs(1_200, 2, 3, 12);
    let data = Data::new(X::dense(&x, 2).unwrap());
    for kind in [Concentration::Process, Concentration::Distribution] {
        for covariance_type in [Covariance::Full, Covariance::Tied, Covariance::Diag, Covariance::Spherical] {
            let mixture = BayesianGaussianMixture {
                n_components: 6,
                covariance_type,
                weight_concentration_prior_type: kind,
                weight_concentration_prior: Some(1e-2),
                reg_covar: 0.0,
                max_iter: 150,
                ..Default::default()
            };
            let fit = mixture.fit(&data, &Ctx::new(1)).unwrap();
            let rise = fit.log.objective.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
            assert!(rise < 1e-7, "{kind:?} {covariance_type:?}: {rise:e}");
            let weights = &fit.model.posterior.mixture.weights;
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(weights.iter().filter(|&&weight| weight < 1e-3).count() >= 1, "{weights:?}");
        }
    }
}

#[test]
fn parts_one_after_another_are_all_rows_at_once() {
    let x = blobs(500, 5, 2, 9);
    let part = |from: usize, to: usize| Data::new(X::dense(&x[from * 5..to * 5], 5).unwrap());
    let (ctx, model) = (Ctx::new(0), IncrementalPCA { n_components: Some(3), ..Default::default() });
    let first = model.fit(&part(0, 120), &ctx).unwrap();
    let second = model.resume(&first.model, &part(120, 300), &ctx).unwrap();
    let third = model.resume(&second.model, &part(300, 500), &ctx).unwrap();
    let all = PCA { n_components: Components::Number(3.0), ..Default::default() }.fit(&part(0, 500), &ctx).unwrap();
    assert_near(&third.model.pca.components.values, &all.model.components.values, 1e-11, "components");
    assert_near(&third.model.pca.explained, &all.model.explained, 1e-12, "variance");
    assert_eq!(third.model.gram.rows, 500);
}

#[test]
fn directions_without_variance_do_not_depend_on_how_rows_are_written() {
    // Twelve rows of twenty columns, some of weight zero, against the same rows repeated.
    let mut rng = Ctx::new(3).rng("rows", 0);
    let x: Vec<f64> = (0..12 * 20).map(|_| rng.uniform()).collect();
    let weights: Vec<f64> = (0..12).map(|i| [3.0, 0.0, 1.0, 4.0][i % 4]).collect();
    let repeated: Vec<f64> = (0..12).flat_map(|i| x[i * 20..(i + 1) * 20].repeat(weights[i] as usize)).collect();
    let weighted = Data::new(X::dense(&x, 20).unwrap()).weights(&weights).unwrap();
    let repeated = Data::new(X::dense(&repeated, 20).unwrap());
    let ctx = Ctx::new(0);
    let (a, b) = (PCA::default().fit(&weighted, &ctx).unwrap(), PCA::default().fit(&repeated, &ctx).unwrap());
    assert_eq!(a.model.components.rows, 20);
    let rows = X::dense(&x, 20).unwrap();
    let scores = |model: &dyn AnyModel| predict(&ctx, model, &rows, Output::Transform, false).unwrap().values;
    assert_near(&scores(&a.model), &scores(&b.model), 1e-10, "scores");
    let gram = a.model.components.times(&a.model.components.transposed());
    let identity = Matrix::from_fn(20, 20, |i, j| f64::from(i == j));
    assert_near(&gram.values, &identity.values, 1e-10, "orthonormal");
}

#[test]
fn log_odds_are_those_of_the_probabilities() {
    let x = blobs(600, 3, 3, 10);
    let codes: Vec<u32> = (0..600).map(|i| ((x[i * 3] > 0.0) as u32) + ((x[i * 3 + 1] > 1.0) as u32)).collect();
    let data = Data::new(X::dense(&x, 3).unwrap()).classes(&codes, 3).unwrap();
    let ctx = Ctx::new(0);
    let linear = LinearDiscriminantAnalysis::default().fit(&data, &ctx).unwrap().model;
    let quadratic = QuadraticDiscriminantAnalysis::default().fit(&data, &ctx).unwrap().model;
    let rows = data.batch().x.slice(0..50);
    let (p, q) = (
        predict(&ctx, &linear, &rows, Output::Probability, false).unwrap(),
        predict(&ctx, &quadratic, &rows, Output::Probability, false).unwrap(),
    );
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for (a, b) in [(0, 1), (2, 1)] {
        let ((w, c), (square, v, d)) = (linear.log_odds(a, b), quadratic.log_odds(a, b));
        for i in 0..50 {
            let row = &x[i * 3..(i + 1) * 3];
            // Sure rows have lost the digits of the small probability.
            if p[(i, a)].min(p[(i, b)]) > 1e-6 {
                assert!((dot(&w, row) + c - (p[(i, a)] / p[(i, b)]).ln()).abs() < 1e-8);
            }
            if q[(i, a)].min(q[(i, b)]) > 1e-6 {
                let form: f64 = (0..3).map(|j| row[j] * dot(square.row(j), row)).sum();
                assert!((form + dot(&v, row) + d - (q[(i, a)] / q[(i, b)]).ln()).abs() < 1e-8);
            }
        }
    }
}

#[test]
fn the_number_of_clusters_is_found_where_it_is_plain() {
    // Four groups, far apart.
    let mut rng = Ctx::new(4).rng("groups", 0);
    let x: Vec<f64> = (0..800)
        .flat_map(|i| [(i % 2) as f64 * 20.0 + rng.normal(), (i / 2 % 2) as f64 * 20.0 + rng.normal()])
        .collect();
    let data = Data::new(X::dense(&x, 2).unwrap());
    let (ctx, ks) = (Ctx::new(0), [1, 2, 3, 4, 5, 6, 7, 8]);
    let choice =
        choose_clusters(&ctx, &data, &KMeans { n_init: ermine::cluster::Starts::Number(4), ..Default::default() }, &ks);
    let choice = choice.unwrap();
    assert_eq!((choice.suggested, choice.silhouette), (4, Some(4)), "{}", choice.verdict);
    assert!(choice.points.windows(2).all(|pair| pair[1].inertia < pair[0].inertia));
    let mixture = GaussianMixture { n_init: 2, ..Default::default() };
    assert_eq!(choose_components(&ctx, &data, &mixture, &ks[..6]).unwrap().bic, 4);
    assert!(choose_clusters(&ctx, &data, &KMeans::default(), &[3, 2]).is_err());
}

#[test]
fn small_batches_come_near_to_k_means() {
    let x = blobs(6_000, 4, 5, 11);
    let data = Data::new(X::dense(&x, 4).unwrap());
    let ctx = Ctx::new(2);
    let starts = ermine::cluster::Starts::Number(5);
    let full = KMeans { n_clusters: 5, n_init: starts, ..Default::default() }.fit(&data, &ctx).unwrap();
    let small = MiniBatchKMeans { n_clusters: 5, n_init: starts, ..Default::default() }.fit(&data, &ctx).unwrap();
    let ratio = small.model.inertia / full.model.inertia;
    assert!((1.0 - 1e-9..1.1).contains(&ratio), "{ratio}");
}
