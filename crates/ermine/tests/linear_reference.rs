//! Linear models against scikit-learn, statsmodels, glmnet and exact arithmetic: values in reference/linear.json and
//! glmnet.json, made by the scripts beside them.

use ermine::{Ctx, Data, Estimator, Model, Output, Stop, X, linear::*};
use serde_json::Value as Json;

fn reference() -> Json {
    serde_json::from_str(include_str!("reference/linear.json")).unwrap()
}

fn numbers(json: &Json) -> Vec<f64> {
    json.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

struct Sample {
    json: Json,
    x: Vec<f64>,
    cols: usize,
    weights: Vec<f64>,
}

impl Sample {
    fn new() -> Self {
        let json = reference();
        Sample {
            x: numbers(&json["x"]),
            cols: json["cols"].as_u64().unwrap() as usize,
            weights: numbers(&json["weights"]),
            json,
        }
    }

    fn column(&self, name: &str) -> Vec<f64> {
        numbers(&self.json[name])
    }

    fn codes(&self, name: &str) -> Vec<u32> {
        self.column(name).iter().map(|&c| c as u32).collect()
    }

    fn data(&self) -> Data<'_> {
        Data::new(X::dense(&self.x, self.cols).unwrap())
    }

    fn expected(&self, model: &str, what: &str) -> Vec<f64> {
        numbers(&self.json["models"][model][what])
    }

    #[track_caller]
    fn same(&self, model: &str, coef: &[f64], intercept: &[f64], tolerance: f64) {
        close(model, coef, &self.expected(model, "coef"), tolerance);
        close(model, intercept, &self.expected(model, "intercept"), tolerance);
    }
}

#[track_caller]
fn close(what: &str, a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len(), "{what}");
    let scale = b.iter().fold(1e-3, |scale: f64, v| scale.max(v.abs()));
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= tolerance * scale, "{what}: {a} and {b}");
    }
}

fn ctx() -> Ctx {
    Ctx::new(0).with_threads(2)
}

#[test]
fn ridge_classifiers() {
    let sample = Sample::new();
    let (two, three) = (sample.codes("binary"), sample.codes("three"));
    let params = RidgeClassifier { alpha: 2.0, ..Default::default() };
    let data = sample.data().classes(&three, 3).unwrap();
    let weighted = data.clone().weights(&sample.weights).unwrap();
    let linear = params.fit(&weighted, &ctx()).unwrap().model.linear;
    sample.same("ridge_classifier", &linear.coef.values, &linear.intercept, 1e-12);
    let ones = two.iter().sum::<u32>() as f64;
    let rows = two.len() as f64;
    let balance: Vec<f64> = two.iter().map(|&c| rows / 2.0 / if c == 1 { ones } else { rows - ones }).collect();
    let balanced = sample.data().classes(&two, 2).unwrap().weights(balance).unwrap();
    let linear = params.fit(&balanced, &ctx()).unwrap().model.linear;
    sample.same("ridge_classifier_balanced", &linear.coef.values, &linear.intercept, 1e-12);
    let chosen = RidgeClassifierCV { alphas: vec![0.01, 1.0, 100.0, 1e4], ..Default::default() };
    let model = chosen.fit(&data, &ctx()).unwrap().model;
    let linear = &model.classifier.linear;
    sample.same("ridge_classifier_cv", &linear.coef.values, &linear.intercept, 1e-12);
    close("alpha", &[model.alpha], &sample.expected("ridge_classifier_cv", "alpha"), 0.0);
    close("score", &[model.best_score], &sample.expected("ridge_classifier_cv", "score"), 1e-12);
}

#[test]
fn quantiles() {
    let sample = Sample::new();
    let y = sample.column("y");
    let data = sample.data().real(&y).unwrap();
    let weighted = data.clone().weights(&sample.weights).unwrap();
    let half = QuantileRegressor { alpha: 0.0, ..Default::default() };
    let high = QuantileRegressor { quantile: 0.9, alpha: 0.02, ..Default::default() };
    let origin = QuantileRegressor { quantile: 0.3, alpha: 0.05, fit_intercept: false };
    for (name, params, data) in
        [("quantile_half", half, &data), ("quantile_high", high, &weighted), ("quantile_origin", origin, &data)]
    {
        let fit = params.fit(data, &ctx()).unwrap();
        assert_eq!(fit.log.stop(), Stop::Converged, "{name}: {}", fit.log);
        sample.same(name, &fit.model.coef.values, &fit.model.intercept, 1e-10);
        // Coefficients that are zero are exactly zero.
        let zeros = |w: &[f64]| w.iter().filter(|w| **w == 0.0).count();
        assert_eq!(zeros(&fit.model.coef.values), zeros(&sample.expected(name, "coef")), "{name}");
    }
}

#[test]
fn lasso_family() {
    let sample = Sample::new();
    let y = sample.column("y");
    let data = sample.data().real(&y).unwrap();
    let lasso = Lasso { alpha: 0.1, tol: 1e-12, ..Default::default() };
    let fit = lasso.fit(&data, &ctx()).unwrap();
    sample.same("lasso", &fit.model.coef.values, &fit.model.intercept, 1e-7);
    let weighted = sample.data().real(&y).unwrap().weights(&sample.weights).unwrap();
    let fit = lasso.fit(&weighted, &ctx()).unwrap();
    sample.same("lasso_weighted", &fit.model.coef.values, &fit.model.intercept, 1e-7);
    let fit = Lasso { alpha: 0.05, positive: true, tol: 1e-12, ..Default::default() }.fit(&data, &ctx()).unwrap();
    sample.same("lasso_positive", &fit.model.coef.values, &fit.model.intercept, 1e-7);
    let net = ElasticNet { alpha: 0.2, l1_ratio: 0.3, tol: 1e-12, ..Default::default() };
    let fit = net.fit(&data, &ctx()).unwrap();
    sample.same("elastic_net", &fit.model.coef.values, &fit.model.intercept, 1e-7);
    let fit = ElasticNet { fit_intercept: false, ..net }.fit(&data, &ctx()).unwrap();
    sample.same("elastic_net_origin", &fit.model.coef.values, &fit.model.intercept, 1e-7);
    let fit = LassoCV { tol: 1e-10, ..Default::default() }.fit(&data, &ctx()).unwrap();
    sample.same("lasso_cv", &fit.model.linear.coef.values, &fit.model.linear.intercept, 1e-5);
    close("alpha", &[fit.model.alpha], &sample.expected("lasso_cv", "alpha"), 1e-9);
    let folds = fit.model.mse_path.cols as f64;
    let mse: Vec<f64> =
        (0..fit.model.mse_path.rows).map(|i| fit.model.mse_path.row(i).iter().sum::<f64>() / folds).collect();
    close("errors", &mse, &sample.expected("lasso_cv", "mse"), 1e-6);
}

/// The gap proves itself on shapes that the small sample does not have: more columns than rows, and columns on demand.
#[test]
fn lasso_gap_holds_where_columns_come_on_demand() {
    let (n, p) = (80, 700);
    let mut rng = Ctx::new(3).rng("lasso", 0);
    let mut x: Vec<f64> = (0..n * p).map(|_| rng.normal() + 3.0).collect();
    (0..n).for_each(|i| x[i * p + 1] = x[i * p] * 1e4);
    let y: Vec<f64> = x.chunks(p).map(|r| r[0] - 2.0 * r[5] + 0.5 * r[9] + rng.normal()).collect();
    let data = Data::new(X::dense(&x, p).unwrap()).real(&y).unwrap();
    let mean = y.iter().sum::<f64>() / n as f64;
    let spread = y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n as f64;
    for (l1_ratio, alpha) in [(1.0, 0.3), (1.0, 0.02), (0.5, 0.1)] {
        let net = ElasticNet { alpha, l1_ratio, tol: 1e-10, ..Default::default() };
        let fit = net.fit(&data, &ctx()).unwrap();
        assert_eq!(fit.log.stop(), Stop::Converged, "{alpha} {l1_ratio}: {}", fit.log);
        // The conditions of the optimum, from the rows themselves.
        let (w, b) = (fit.model.coef.row(0), fit.model.intercept[0]);
        let residual: Vec<f64> =
            x.chunks(p).zip(&y).map(|(r, y)| y - b - r.iter().zip(w).map(|(x, w)| x * w).sum::<f64>()).collect();
        for j in 0..p {
            let own: f64 =
                (0..n).map(|i| x[i * p + j] * residual[i]).sum::<f64>() / n as f64 - alpha * (1.0 - l1_ratio) * w[j];
            let length = (0..n).map(|i| (x[i * p + j] - 3.0).powi(2)).sum::<f64>() / n as f64;
            let slack = 1e-4 * (length * spread).sqrt();
            let bound = alpha * l1_ratio;
            let ok =
                if w[j] == 0.0 { own.abs() <= bound + slack } else { (own - bound * w[j].signum()).abs() <= slack };
            assert!(ok, "{alpha} {l1_ratio} column {j}: {own} against {bound}, w = {}", w[j]);
        }
    }
}

/// Columns that depend on each other, by name: rows and columns.
fn dependent_columns() -> Vec<(&'static str, usize, Vec<f64>)> {
    let mut rng = Ctx::new(8).rng("dependent", 0);
    let (n, p) = (60, 240);
    let mut made = Vec::new();
    // Each a step away from the one before it.
    let mut walk = vec![0.0; n * p];
    let mut close = vec![0.0; n * p];
    let mut binary = vec![0.0; n * p];
    for row in 0..n {
        let (mut level, mut near, mut bit) = (0.0, 0.0, 0.0);
        for at in row * p..(row + 1) * p {
            level += rng.normal();
            near = 0.99 * near + 0.14 * rng.normal();
            bit = if rng.uniform() < 0.1 { f64::from(u8::from(rng.uniform() < 0.4)) } else { bit };
            (walk[at], close[at], binary[at]) = (level, near, bit);
        }
    }
    made.push(("a walk", p, walk));
    made.push(("neighbours", p, close));
    made.push(("0 and 1", p, binary));
    let noise: Vec<f64> = (0..n * (p + 20)).map(|_| rng.normal()).collect();
    let band = |i: usize, j: usize| noise[i * (p + 20) + j..][..20].iter().sum::<f64>();
    made.push(("bands", p, (0..n * p).map(|at| band(at / p, at % p)).collect()));
    let step = |at: usize| f64::from(u8::from(at / 120 >= at % 120));
    made.push(("steps", 120, (0..121 * 120).map(step).collect()));
    let hat = |i: usize, j: usize| {
        let width = [0.01, 0.03, 0.1, 0.3][j % 4];
        let u = (i as f64 / 79.0 - (j / 4) as f64 / 59.0) / width;
        (1.0 - u * u) * (-0.5 * u * u).exp()
    };
    made.push(("wavelets", p, (0..80 * p).map(|at| hat(at / p, at % p)).collect()));
    made.push(("powers", 40, (0..100 * 40).map(|at| (0.01 * (at / 40) as f64).powi((at % 40) as i32 + 1)).collect()));
    made
}

/// What is proven of the lasso holds for columns that depend on each other, and takes few working sets: the objective
/// and a dual point are computed from the rows.
#[test]
fn lasso_of_dependent_columns() {
    for (what, p, x) in dependent_columns() {
        let n = x.len() / p;
        let mut rng = Ctx::new(9).rng("noise", 0);
        let y: Vec<f64> = x.chunks(p).map(|r| r[3] - r[p / 2] + 0.5 * r[p - 2] + 0.1 * rng.normal()).collect();
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / n as f64;
        let centre: Vec<f64> = (0..p).map(|j| mean(&mut x.iter().skip(j).step_by(p).copied())).collect();
        let level = mean(&mut y.iter().copied());
        // X'r / n of centred columns.
        let pull = |r: &[f64], j: usize| mean(&mut (0..n).map(|i| (x[i * p + j] - centre[j]) * r[i]));
        let target: Vec<f64> = y.iter().map(|y| y - level).collect();
        let top = (0..p).map(|j| pull(&target, j).abs()).fold(0.0, f64::max);
        let data = Data::new(X::dense(&x, p).unwrap()).real(&y).unwrap();
        for (share, l1_ratio) in [(0.1, 1.0), (1e-2, 1.0), (1e-3, 1.0), (1e-2, 0.5)] {
            let alpha = share * top / l1_ratio;
            let fit = ElasticNet { alpha, l1_ratio, ..Default::default() }.fit(&data, &ctx()).unwrap();
            let what = format!("{what}, {share} of the strongest, {l1_ratio}");
            assert!(fit.log.converged() && fit.log.passes() <= 40, "{what}: {}", fit.log);
            let (w, b) = (fit.model.coef.row(0), fit.model.intercept[0]);
            let residual = |(row, y): (&[f64], &f64)| y - b - row.iter().zip(w).map(|(x, w)| x * w).sum::<f64>();
            let r: Vec<f64> = x.chunks(p).zip(&y).map(residual).collect();
            let (l1, l2) = (alpha * l1_ratio, alpha * (1.0 - l1_ratio));
            let squares = mean(&mut r.iter().map(|r| r * r)) + l2 * w.iter().map(|w| w * w).sum::<f64>();
            let objective = 0.5 * squares + l1 * w.iter().map(|w| w.abs()).sum::<f64>();
            let norm = (0..p).map(|j| (pull(&r, j) - l2 * w[j]).abs()).fold(0.0, f64::max);
            let shrink = (l1 / norm).min(1.0);
            let dual = shrink * mean(&mut target.iter().zip(&r).map(|(y, r)| y * r)) - 0.5 * shrink * shrink * squares;
            // Or by strong convexity: half the square of the least subgradient over l2.
            let least = |j: usize| match (pull(&r, j) - l2 * w[j], w[j]) {
                (pull, 0.0) => (pull.abs() - l1).max(0.0),
                (pull, w) => pull - l1 * w.signum(),
            };
            let strong =
                if l2 > 0.0 { 0.5 * (0..p).map(|j| least(j).powi(2)).sum::<f64>() / l2 } else { f64::INFINITY };
            let gap = strong.min(objective - dual);
            assert!(gap <= 2e-4 * objective, "{what}: {gap:e} of {objective:e} is open");
            let said = fit.log.objective.last().unwrap();
            assert!((said - objective).abs() <= 1e-9 * (objective + top), "{what}: {said} is not {objective}");
        }
    }
}

#[test]
fn ridge_by_leave_one_out_and_by_evidence() {
    let sample = Sample::new();
    let y = sample.column("y");
    let data = sample.data().real(&y).unwrap();
    let alphas = vec![0.01, 0.1, 1.0, 10.0, 100.0];
    let fit = RidgeCV { alphas: alphas.clone(), ..Default::default() }.fit(&data, &ctx()).unwrap();
    sample.same("ridge_cv", &fit.model.linear.coef.values, &fit.model.linear.intercept, 1e-9);
    close("alpha", &[fit.model.alpha], &sample.expected("ridge_cv", "alpha"), 0.0);
    close("score", &[fit.model.best_score], &sample.expected("ridge_cv", "score"), 1e-9);

    let fit = BayesianRidge { tol: 1e-10, ..Default::default() }.fit(&data, &ctx()).unwrap();
    sample.same("bayesian_ridge", &fit.model.linear.coef.values, &fit.model.linear.intercept, 1e-7);
    close("alpha", &[fit.model.alpha], &sample.expected("bayesian_ridge", "alpha"), 1e-6);
    close("lambda", &[fit.model.lambda], &sample.expected("bayesian_ridge", "lambda_"), 1e-6);
    close("sigma", &fit.model.sigma.values, &sample.expected("bayesian_ridge", "sigma"), 1e-6);
    close("score", &[-fit.log.objective.last().unwrap()], &sample.expected("bayesian_ridge", "score"), 1e-6);

    let fit = HuberRegressor { tol: 1e-10, ..Default::default() }.fit(&data, &ctx()).unwrap();
    sample.same("huber", &fit.model.linear.coef.values, &fit.model.linear.intercept, 1e-5);
    close("scale", &[fit.model.scale], &sample.expected("huber", "scale"), 1e-5);
}

/// The closed form is what leaving each row out gives, and moments are what leaving out folds gives, with more columns
/// than rows and with fewer.
#[test]
fn held_out_errors_are_what_they_say() {
    let mut rng = Ctx::new(4).rng("loo", 0);
    for ((n, p), cv) in [((12, 3), None), ((8, 20), None), ((12, 3), Some(5)), ((8, 20), Some(3))] {
        let x: Vec<f64> = (0..n * p).map(|_| rng.normal() + 1.0).collect();
        let y: Vec<f64> = x.chunks(p).map(|r| r[0] - r[1] + rng.normal()).collect();
        let data = Data::new(X::dense(&x, p).unwrap()).real(&y).unwrap();
        let chosen = RidgeCV { alphas: vec![0.7], cv, ..Default::default() }.fit(&data, &ctx()).unwrap();
        let folds = cv.unwrap_or(n);
        let mut sum = 0.0;
        for fold in 0..folds {
            // The first folds are longer by one where it does not come out even.
            let start = |fold: usize| fold * (n / folds) + fold.min(n % folds);
            let out = start(fold)..start(fold + 1);
            let keep: Vec<usize> = (0..n).filter(|i| !out.contains(i)).collect();
            let x2: Vec<f64> = keep.iter().flat_map(|&i| x[i * p..(i + 1) * p].to_vec()).collect();
            let y2: Vec<f64> = keep.iter().map(|&i| y[i]).collect();
            let data = Data::new(X::dense(&x2, p).unwrap()).real(&y2).unwrap();
            let fit = Ridge { alpha: 0.7, ..Default::default() }.fit(&data, &ctx()).unwrap();
            let mut values = vec![0.0; out.len()];
            let rows = X::dense(&x[out.start * p..out.end * p], p).unwrap();
            fit.model.predict(&rows, Output::Value, &mut values).unwrap();
            let squares = values.iter().zip(&y[out.clone()]).map(|(value, y)| (y - value).powi(2));
            sum += squares.sum::<f64>() / out.len() as f64;
        }
        close("held out", &[-chosen.model.best_score], &[sum / folds as f64], 1e-9);
    }
}

#[test]
fn logistic_and_softmax() {
    let sample = Sample::new();
    let (two, three) = (sample.codes("binary"), sample.codes("three"));
    let base = LogisticRegression { tol: 1e-11, max_iter: 5000, ..Default::default() };
    for (name, c, l1_ratio, codes, classes, weighted, tolerance) in [
        ("logistic", 0.7, 0.0, &two, 2, false, 1e-7),
        ("logistic_weighted", 0.7, 0.0, &two, 2, true, 1e-7),
        ("logistic_l1", 0.1, 1.0, &two, 2, false, 1e-5),
        ("logistic_mixed", 0.1, 0.4, &two, 2, false, 1e-5),
        ("softmax", 0.7, 0.0, &three, 3, false, 1e-5),
        ("softmax_l1", 0.1, 1.0, &three, 3, false, 1e-3),
    ] {
        let mut data = sample.data().classes(codes, classes).unwrap();
        if weighted {
            data = data.weights(&sample.weights).unwrap();
        }
        let fit = LogisticRegression { C: c, l1_ratio, ..base.clone() }.fit(&data, &ctx()).unwrap();
        let mut intercept = sample.expected(name, "intercept");
        let mut own = fit.model.intercept.clone();
        if classes == 3 {
            // A constant in every score changes nothing.
            for values in [&mut intercept, &mut own] {
                let mean = values.iter().sum::<f64>() / 3.0;
                values.iter_mut().for_each(|v| *v -= mean);
            }
        }
        close(name, &fit.model.coef.values, &sample.expected(name, "coef"), tolerance);
        close(name, &own, &intercept, tolerance);
    }
}

#[test]
fn separable_classes_are_said_to_be() {
    let x: Vec<f64> = (0..40).map(|i| f64::from(i) - 20.0 + if i < 20 { -1.0 } else { 1.0 }).collect();
    let codes: Vec<u32> = (0..40).map(|i| u32::from(i >= 20)).collect();
    let data = Data::new(X::dense(&x, 1).unwrap()).classes(&codes, 2).unwrap();
    let free = LogisticRegression { C: f64::INFINITY, ..Default::default() }.fit(&data, &ctx()).unwrap();
    assert!(free.log.notes.iter().any(|note| note.contains("separated")), "{:?}", free.log);
    assert!(!free.log.converged());
    let held = LogisticRegression::default().fit(&data, &ctx()).unwrap();
    assert!(held.log.notes.is_empty() && held.log.stop() == Stop::Converged);
}

#[test]
fn penalised_glms() {
    let sample = Sample::new();
    let (counts, amounts) = (sample.column("counts"), sample.column("amounts"));
    let data = sample.data().real(&counts).unwrap();
    let poisson = PoissonRegressor { alpha: 0.3, tol: 1e-11, ..Default::default() };
    let fit = poisson.fit(&data, &ctx()).unwrap();
    sample.same("poisson", &fit.model.coef.values, &[fit.model.intercept], 1e-8);
    let fit = poisson.fit(&data.weights(&sample.weights).unwrap(), &ctx()).unwrap();
    sample.same("poisson_weighted", &fit.model.coef.values, &[fit.model.intercept], 1e-8);
    let data = sample.data().real(&amounts).unwrap();
    let fit = GammaRegressor { alpha: 0.3, tol: 1e-11, ..Default::default() }.fit(&data, &ctx()).unwrap();
    sample.same("gamma", &fit.model.coef.values, &[fit.model.intercept], 1e-8);
    for (name, power, tolerance) in [("tweedie", 1.5, 1e-8), ("tweedie3", 3.0, 1e-5)] {
        let model = TweedieRegressor { power, alpha: 0.3, tol: 1e-10, max_iter: 1000, ..Default::default() };
        let fit = model.fit(&data, &ctx()).unwrap();
        sample.same(name, &fit.model.coef.values, &[fit.model.intercept], tolerance);
    }
}

#[test]
fn glms_without_a_penalty_and_their_inference() {
    let sample = Sample::new();
    let p = sample.cols;
    let base = GeneralizedLinearRegressor { tol: 1e-11, max_iter: 1000, ..Default::default() };
    for (name, target, family, link, theta) in [
        ("sm_logit", "binary", FamilyName::Binomial, LinkName::Auto, 1.0),
        ("sm_probit", "binary", FamilyName::Binomial, LinkName::Probit, 1.0),
        ("sm_gamma", "amounts", FamilyName::Gamma, LinkName::Log, 1.0),
        ("sm_inverse", "amounts", FamilyName::InverseGaussian, LinkName::Log, 1.0),
        ("sm_negative", "counts", FamilyName::NegativeBinomial, LinkName::Log, 0.5),
    ] {
        let y = sample.column(target);
        let data = sample.data().real(&y).unwrap();
        let fit = GeneralizedLinearRegressor { family, link, theta, ..base.clone() }.fit(&data, &ctx()).unwrap();
        let summary = glm_summary(&fit.model, true, 0.95, &data, &ctx()).unwrap();
        let get = |f: &dyn Fn(&Term) -> f64| summary.terms.iter().map(f).collect::<Vec<_>>();
        close(name, &get(&|t| t.estimate), &sample.expected(name, "estimate"), 1e-6);
        close(name, &get(&|t| t.std_error), &sample.expected(name, "std_error"), 1e-5);
        close(name, &[summary.deviance], &sample.expected(name, "deviance"), 1e-8);
        close(name, &[summary.null_deviance], &sample.expected(name, "null_deviance"), 1e-8);
        close(name, &[summary.pearson], &sample.expected(name, "pearson"), 1e-5);
        if summary.dispersion == 1.0 {
            close(name, &get(&|t| t.p_value), &sample.expected(name, "p_value"), 1e-5);
            close(name, &[summary.log_likelihood.unwrap()], &sample.expected(name, "log_likelihood"), 1e-8);
        }
        assert!(summary.table(&[]).contains("(Intercept)"));
    }
    // An exposure is a column whose logarithm has coefficient one.
    let (counts, exposure) = (sample.column("counts"), sample.column("exposure"));
    let wide: Vec<f64> = sample.x.chunks(p).zip(&exposure).flat_map(|(row, e)| [row, &[*e]].concat()).collect();
    let data = Data::new(X::dense(&wide, p + 1).unwrap()).real(&counts).unwrap();
    let model = GeneralizedLinearRegressor { family: FamilyName::Poisson, exposure: Some(p), ..base };
    let fit = model.fit(&data, &ctx()).unwrap();
    let summary = glm_summary(&fit.model, true, 0.95, &data, &ctx()).unwrap();
    let estimates: Vec<f64> = summary.terms.iter().map(|t| t.estimate).collect();
    close("exposure", &estimates, &sample.expected("sm_poisson", "estimate"), 1e-7);
    let errors: Vec<f64> = summary.terms.iter().map(|t| t.std_error).collect();
    close("exposure", &errors, &sample.expected("sm_poisson", "std_error"), 1e-6);
    close("exposure", &[summary.log_likelihood.unwrap()], &sample.expected("sm_poisson", "log_likelihood"), 1e-9);
}

#[test]
fn least_squares_inference() {
    let sample = Sample::new();
    let y = sample.column("y");
    let data = sample.data().real(&y).unwrap();
    let fit = LinearRegression::default().fit(&data, &ctx()).unwrap();
    let summary = summary(&fit.model, true, 0.95, &data, &ctx()).unwrap();
    let get = |f: &dyn Fn(&Term) -> f64| summary.terms.iter().map(f).collect::<Vec<_>>();
    for (what, values) in [
        ("estimate", get(&|t| t.estimate)),
        ("std_error", get(&|t| t.std_error)),
        ("statistic", get(&|t| t.statistic)),
        ("p_value", get(&|t| t.p_value)),
        ("low", get(&|t| t.low)),
        ("high", get(&|t| t.high)),
        ("r2", vec![summary.r2]),
        ("adjusted_r2", vec![summary.adjusted_r2]),
        ("f", vec![summary.f]),
        ("log_likelihood", vec![summary.log_likelihood]),
        ("variance", vec![summary.variance]),
    ] {
        close(what, &values, &sample.expected("ols", what), 1e-9);
    }
    let interval = summary.interval(&sample.x[..sample.cols]);
    close("mean", &[interval.confidence.0, interval.confidence.1], &sample.expected("ols", "mean"), 1e-9);
    close("next", &[interval.prediction.0, interval.prediction.1], &sample.expected("ols", "next"), 1e-9);
    let ratio = summary.f_p_value / sample.expected("ols", "f_p_value")[0];
    assert!((ratio - 1.0).abs() < 1e-8, "{ratio}");
}

/// Ten digits for the matrix as given, where its condition would cost them all.
#[test]
fn ill_conditioned_least_squares_keeps_its_digits() {
    let sample = Sample::new();
    for name in ["far_polynomial", "collinear_series"] {
        let (x, y) = (sample.expected(name, "x"), sample.expected(name, "y"));
        let cols = sample.expected(name, "cols")[0] as usize;
        let data = Data::new(X::dense(&x, cols).unwrap()).real(&y).unwrap();
        let fit = LinearRegression::default().fit(&data, &ctx()).unwrap();
        let expected = sample.expected(name, "solution");
        let found: Vec<f64> = fit.model.intercept.iter().chain(fit.model.coef.row(0)).copied().collect();
        for (a, b) in found.iter().zip(&expected) {
            assert!((a / b - 1.0).abs() < 1e-10, "{name}: {a} and {b}, {}", fit.log);
        }
    }
}

/// Digits of the worst value, up to the fifteen that NIST certifies; a value that should be zero by its size.
fn digits(values: &[f64], certified: &[f64]) -> f64 {
    assert_eq!(values.len(), certified.len());
    let of = |(a, b): (&f64, &f64)| -(if *b == 0.0 { a.abs() } else { (a / b - 1.0).abs() }).log10();
    values.iter().zip(certified).map(of).fold(15.0, f64::min)
}

/// NIST's reference data sets: what is certified comes out as far as the rounding of the data to double allows, within
/// half a digit.
#[test]
fn nist_certified_values() {
    let sets: Json = serde_json::from_str(include_str!("reference/nist.json")).unwrap();
    for (name, set) in sets.as_object().unwrap() {
        let (x, y, intercept) = (numbers(&set["x"]), numbers(&set["y"]), set["intercept"].as_bool().unwrap());
        let cols = set["cols"].as_u64().unwrap() as usize;
        let data = Data::new(X::dense(&x, cols).unwrap()).real(&y).unwrap();
        let fit = LinearRegression { fit_intercept: intercept, ..Default::default() }.fit(&data, &ctx()).unwrap();
        let found = summary(&fit.model, intercept, 0.95, &data, &ctx()).unwrap();
        let get = |f: &dyn Fn(&Term) -> f64| found.terms.iter().map(f).collect::<Vec<_>>();
        let values = [("estimate", get(&|t| t.estimate)), ("std_error", get(&|t| t.std_error)), ("r2", vec![found.r2])];
        for (what, values) in values {
            let certified = numbers(&set["certified"][what]);
            let limit = digits(&numbers(&set["as_given"][what]), &certified);
            let own = digits(&values, &certified);
            // An exact fit has no noise: anything below the rounding of its target is none.
            let limit = if certified.iter().all(|v| *v == 0.0) { limit.min(9.0) } else { limit };
            assert!(own >= limit - 0.5, "{name} {what}: {own:.1} digits of {limit:.1}, {}", fit.log.certificate());
        }
    }
}

/// Columns that depend on each other have no errors of their own, and the others have those of the model without them,
/// as in R.
#[test]
fn aliased_columns_have_no_standard_errors() {
    let mut rng = Ctx::new(7).rng("aliased", 0);
    let rows: Vec<[f64; 3]> = (0..200)
        .map(|_| {
            let c = 100.0 * rng.uniform();
            [c, c / 24.0, 20.0 + 40.0 * rng.uniform()]
        })
        .collect();
    let mean: Vec<f64> = rows.iter().map(|row| (0.01 * row[0] + 0.02 * row[2] - 1.0).exp()).collect();
    let counts: Vec<f64> = mean.iter().map(|mean| (mean + mean.sqrt() * rng.normal()).max(0.0).round()).collect();
    let classes: Vec<u32> = mean.iter().map(|mean| u32::from(mean + rng.normal() > 1.5)).collect();
    let three: Vec<f64> = rows.iter().flatten().copied().collect();
    let two: Vec<f64> = rows.iter().flat_map(|row| [row[0], row[2]]).collect();
    let of = |x, cols| Data::new(X::dense(x, cols).unwrap());
    let poisson = PoissonRegressor { alpha: 0.0, tol: 1e-10, ..Default::default() };
    let logistic = LogisticRegression { C: f64::INFINITY, tol: 1e-10, ..Default::default() };
    let values = [("C".to_string(), ermine::Value::Float(f64::INFINITY))].into_iter().collect();
    let both = [(&three, 3), (&two, 2)].map(|(x, cols)| {
        let data = of(x, cols).real(&counts).unwrap();
        let fit = poisson.fit(&data, &ctx()).unwrap();
        let counted = glm_summary(&fit.model, true, 0.95, &data, &ctx()).unwrap();
        assert_eq!(fit.log.notes.len(), cols - 2, "{:?}", fit.log.notes);
        let data = of(x, cols).classes(&classes, 2).unwrap();
        let fit = logistic.fit(&data, &ctx()).unwrap();
        assert_eq!(fit.log.notes.len(), cols - 2, "{:?}", fit.log.notes);
        // The coefficients of least norm: in proportion to the columns.
        assert!(cols == 2 || (fit.model.coef[(0, 0)] / fit.model.coef[(0, 1)] / 24.0 - 1.0).abs() < 1e-6);
        let found = Inference::of("LogisticRegression", &values, &fit.model, 0.9, &data, &ctx()).unwrap();
        let Inference::Glm(classed) = found else { panic!("a generalised linear model") };
        (counted, classed)
    });
    let [(counted, classed), (plain_counted, plain_classed)] = both;
    for (aliased, plain) in [(counted, plain_counted), (classed, plain_classed)] {
        assert_eq!(aliased.aliased.len(), 1);
        assert!(aliased.terms[2].std_error.is_nan() && aliased.table(&[]).contains("NA"));
        let known: Vec<&Term> = aliased.terms.iter().filter(|term| !term.estimate.is_nan()).collect();
        assert_eq!(known.len(), 3);
        for (a, b) in known.iter().zip(&plain.terms) {
            close("estimate", &[a.estimate], &[b.estimate], 1e-5);
            close("error", &[a.std_error], &[b.std_error], 1e-5);
        }
        close("bic", &[aliased.bic.unwrap()], &[plain.bic.unwrap()], 1e-8);
        let by_hand = plain.aic.unwrap() - 2.0 * 3.0 + 3.0 * 200f64.ln();
        close("bic", &[plain.bic.unwrap()], &[by_hand], 1e-12);
    }
}

#[test]
fn the_solution_family_changes_no_prediction() {
    let x: Vec<f64> = (0..30)
        .flat_map(|i| {
            let t = f64::from(i);
            [t, 24.0 * t, (t * 0.7).sin(), 2.0]
        })
        .collect();
    let y: Vec<f64> = x.chunks(4).map(|r| 3.0 * r[0] + r[2] + 1.0).collect();
    let data = Data::new(X::dense(&x, 4).unwrap()).real(&y).unwrap();
    let family = ermine::engine::least_squares::solution_family(&data, &ctx(), true).unwrap();
    assert_eq!(family.basis.cols, 2);
    let other = family.at(&[5.0, -3.0]);
    let predict = |model: &LinearModel| {
        let mut out = vec![0.0; 30];
        model.predict(&X::dense(&x, 4).unwrap(), Output::Value, &mut out).unwrap();
        out
    };
    close("family", &predict(&other), &predict(&family.particular), 1e-10);
    let norm = |model: &LinearModel| model.coef.values.iter().map(|w| w * w).sum::<f64>();
    assert!(norm(&other) > norm(&family.particular));
}

#[test]
fn perceptron_keeps_novikoffs_promise_and_goes_on() {
    let mut rng = Ctx::new(5).rng("perceptron", 0);
    let mut x = Vec::new();
    let mut codes = Vec::new();
    while codes.len() < 300 {
        let (a, b) = (rng.normal(), rng.normal());
        if (a + 2.0 * b - 0.3).abs() > 0.3 {
            x.extend([a, b]);
            codes.push(u32::from(a + 2.0 * b > 0.3));
        }
    }
    let data = Data::new(X::dense(&x, 2).unwrap()).classes(&codes, 2).unwrap();
    let fit = Perceptron { tol: None, ..Default::default() }.fit(&data, &ctx()).unwrap();
    assert!(fit.log.converged(), "{}", fit.log);
    assert_eq!(*fit.log.objective.last().unwrap(), 0.0);
    assert!(fit.log.notes[0].starts_with("separated"), "{:?}", fit.log.notes);
    let once = Perceptron { max_iter: 1, tol: None, shuffle: false, ..Default::default() };
    let first = once.fit(&data, &ctx()).unwrap();
    let more = once.resume(&first.model, &data, &ctx()).unwrap();
    let twice = Perceptron { max_iter: 2, ..once }.fit(&data, &ctx()).unwrap();
    assert_eq!(more.model.coef, twice.model.coef);
}

#[test]
fn sgd_comes_close_to_the_optimum_and_stays_finite_at_any_scale() {
    let sample = Sample::new();
    let (p, y) = (sample.cols, sample.column("y"));
    // Standard columns: on others averaged descent is as slow as its worst direction, here and elsewhere.
    let mut z = sample.x.clone();
    for j in 0..p {
        let n = y.len() as f64;
        let mean = (0..y.len()).map(|i| z[i * p + j]).sum::<f64>() / n;
        let spread = ((0..y.len()).map(|i| (z[i * p + j] - mean).powi(2)).sum::<f64>() / n).sqrt();
        (0..y.len()).for_each(|i| z[i * p + j] = (z[i * p + j] - mean) / spread);
    }
    let data = Data::new(X::dense(&z, p).unwrap()).real(&y).unwrap();
    let exact = LinearRegression::default().fit(&data, &ctx()).unwrap();
    let sgd = SGDRegressor { alpha: 0.0, tol: None, max_iter: 400, average: true, ..Default::default() };
    let fit = sgd.fit(&data, &ctx()).unwrap();
    close("sgd", &fit.model.coef.values, &exact.model.coef.values, 0.01);
    let huge: Vec<f64> = sample.x.iter().map(|x| x * 1e6).collect();
    let data = Data::new(X::dense(&huge, p).unwrap()).real(&y).unwrap();
    assert!(sgd.fit(&data, &ctx()).unwrap().model.coef.values.iter().all(|w| w.is_finite()));
}

#[test]
fn coefficients_of_zero_or_more() {
    let sample = Sample::new();
    let y = sample.column("y");
    let data = sample.data().real(&y).unwrap();
    let fit = LinearRegression { positive: true, ..Default::default() }.fit(&data, &ctx()).unwrap();
    sample.same("least_squares_positive", &fit.model.coef.values, &fit.model.intercept, 1e-10);
    let data = data.weights(&sample.weights).unwrap();
    let fit = Ridge { alpha: 2.0, positive: true, ..Default::default() }.fit(&data, &ctx()).unwrap();
    // scikit-learn's comes from L-BFGS-B.
    sample.same("ridge_positive", &fit.model.coef.values, &fit.model.intercept, 1e-5);
}

/// glmnet's own definition of the lasso, the elastic net for classes and the penalised Poisson model: values made by
/// glmnet.R.
#[test]
fn what_glmnet_finds() {
    let mut sample = Sample::new();
    sample.json["models"] = serde_json::from_str(include_str!("reference/glmnet.json")).unwrap();
    let (y, counts, codes) = (sample.column("y"), sample.column("counts"), sample.codes("binary"));
    let data = sample.data().real(&y).unwrap();
    let lasso = |alpha| Lasso { alpha, tol: 1e-12, ..Default::default() };
    let fit = lasso(0.1).fit(&data, &ctx()).unwrap();
    sample.same("lasso", &fit.model.coef.values, &fit.model.intercept, 1e-7);
    let fit = Lasso { positive: true, ..lasso(0.05) }.fit(&data, &ctx()).unwrap();
    sample.same("lasso_positive", &fit.model.coef.values, &fit.model.intercept, 1e-7);
    let fit = lasso(0.1).fit(&data.weights(&sample.weights).unwrap(), &ctx()).unwrap();
    sample.same("lasso_weighted", &fit.model.coef.values, &fit.model.intercept, 1e-7);

    let data = sample.data().classes(&codes, 2).unwrap();
    let strength = 1.0 / (0.05 * codes.len() as f64);
    for (name, l1_ratio) in [("logistic_l1", 1.0), ("logistic_mixed", 0.4)] {
        let model = LogisticRegression { C: strength, l1_ratio, tol: 1e-11, max_iter: 5000, ..Default::default() };
        let fit = model.fit(&data, &ctx()).unwrap();
        sample.same(name, &fit.model.coef.values, &fit.model.intercept, 1e-6);
    }
    let poisson = PoissonRegressor { alpha: 0.3, tol: 1e-11, ..Default::default() };
    let fit = poisson.fit(&sample.data().real(&counts).unwrap(), &ctx()).unwrap();
    sample.same("poisson", &fit.model.coef.values, &[fit.model.intercept], 1e-7);
}

/// Hard rows for a certificate: what each shape has to say, by name.
fn hard_rows() -> Vec<(&'static str, usize, Vec<f64>)> {
    let mut rng = Ctx::new(5).rng("hard", 0);
    let mut normal = |rows: usize, cols: usize| -> Vec<f64> { (0..rows * cols).map(|_| rng.normal()).collect() };
    let plain = normal(200, 8);
    let mostly_zero: Vec<f64> = plain.iter().map(|v| if v.abs() > 1.0 { *v } else { 0.0 }).collect();
    let mut collinear = plain.clone();
    for row in collinear.chunks_mut(8) {
        (row[3], row[4]) = (row[0] + row[1], row[2] * (1.0 + 1e-9));
    }
    let mut sizes = plain.clone();
    sizes.chunks_mut(8).for_each(|row| (0..8).for_each(|j| row[j] *= 10f64.powf(-8.0 + 16.0 * j as f64 / 7.0)));
    vec![
        ("dense", 8, plain),
        ("mostly zero", 8, mostly_zero),
        ("more columns than rows", 60, normal(30, 60)),
        ("collinear", 8, collinear),
        ("columns from 1e-8 to 1e8", 8, sizes),
    ]
}

/// Every solver proves its optimum on every hard shape, dense and sparse alike; and the proof is checked from outside
/// by the objective of its neighbours.
#[test]
fn certificates_hold_on_hard_rows() {
    for (what, cols, x) in hard_rows() {
        let rows = x.len() / cols;
        // The target depends on columns brought to a common size, so that every size of column matters.
        let size = |j: usize| (x.iter().skip(j).step_by(cols).map(|v| v * v).sum::<f64>() / rows as f64).sqrt();
        let sizes: Vec<f64> = (0..cols).map(size).collect();
        let score = |row: &[f64]| row[0] / sizes[0] - row[1] / sizes[1] + 0.5 * row[cols - 1] / sizes[cols - 1];
        let wave = |i: usize| (i as f64 * 1.7).sin();
        let y: Vec<f64> = x.chunks(cols).enumerate().map(|(i, row)| score(row) + wave(i)).collect();
        let counts: Vec<f64> = y.iter().map(|y| (0.3 * y).exp().round()).collect();
        let noisy: Vec<u32> = y.iter().map(|y| u32::from(*y > 0.0)).collect();
        let separable: Vec<u32> = x.chunks(cols).map(|row| u32::from(score(row) > 0.0)).collect();
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in x.chunks(cols) {
            for (j, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                columns.push(j as u32);
                values.push(*value);
            }
            starts.push(values.len());
        }
        let forms = [X::dense(&x, cols).unwrap(), X::csr(&starts, &columns, &values, cols).unwrap()];
        for x in forms {
            let real = Data::new(x).real(&y).unwrap();
            let count = Data::new(x).real(&counts).unwrap();
            let mut logs = Vec::new();
            // The penalty of a lasso is in the units of the columns: one that keeps the middle sizes.
            logs.push(("Lasso", Lasso { alpha: 0.05, ..Default::default() }.fit(&real, &ctx()).unwrap().log));
            let net = ElasticNet { alpha: 0.05, ..Default::default() };
            logs.push(("ElasticNet", net.fit(&real, &ctx()).unwrap().log));
            for (name, codes) in [("noisy", &noisy), ("separable", &separable)] {
                let data = Data::new(x).classes(codes, 2).unwrap();
                for l1_ratio in [0.0, 0.5, 1.0] {
                    let model = LogisticRegression { l1_ratio, max_iter: 2000, ..Default::default() };
                    logs.push((name, model.fit(&data, &ctx()).unwrap().log));
                }
            }
            logs.push(("Poisson", PoissonRegressor::default().fit(&count, &ctx()).unwrap().log));
            let positive = LinearRegression { positive: true, ..Default::default() };
            logs.push(("positive", positive.fit(&real, &ctx()).unwrap().log));
            for (name, log) in logs {
                assert!(log.converged(), "{what}, sparse {}, {name}: {} {:?}", x.is_sparse(), log, log.notes);
            }
        }
    }
}

/// Baselines: values in reference/dummy.json.
#[test]
fn baselines_equal_scikit_learn() {
    use ermine::dummy::{ClassRule, DummyClassifier, DummyRegressor, ValueRule};
    let json: Json = serde_json::from_str(include_str!("reference/dummy.json")).unwrap();
    let (y, weights) = (numbers(&json["y"]), numbers(&json["weights"]));
    let codes: Vec<u32> = numbers(&json["codes"]).iter().map(|&code| code as u32).collect();
    let x = vec![0.0; codes.len()];
    let data = || Data::new(X::dense(&x, 1).unwrap());
    for (what, strategy) in [
        ("mean", ValueRule::Mean),
        ("weighted mean", ValueRule::Mean),
        ("median", ValueRule::Median),
        ("quantile", ValueRule::Quantile),
        ("constant", ValueRule::Constant),
    ] {
        let rows = data().reals(&y, 2).unwrap();
        let rows = if what == "weighted mean" { rows.weights(&weights).unwrap() } else { rows };
        let params = DummyRegressor { strategy, constant: Some(vec![1.5, -2.0]), quantile: Some(0.3) };
        let fit = params.fit(&rows, &Ctx::new(0)).unwrap();
        close(what, &fit.predict(&[[5.0]]).unwrap(), &numbers(&json["values"][what]), 1e-14);
    }
    let rows = data().classes(&codes, 4).unwrap().weights(&weights).unwrap();
    for (what, strategy) in [
        ("prior", ClassRule::Prior),
        ("most_frequent", ClassRule::MostFrequent),
        ("uniform", ClassRule::Uniform),
        ("constant", ClassRule::Constant),
    ] {
        let fit = DummyClassifier { strategy, constant: Some(2) }.fit(&rows, &Ctx::new(0)).unwrap();
        close(what, &fit.predict_proba(&[[5.0]]).unwrap().values, &numbers(&json["probabilities"][what]), 1e-14);
    }
}
