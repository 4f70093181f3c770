//! What is watched is what is fitted: the last step that an engine records holds the numbers of its model, and a fit
//! that records is the fit that does not, to the last bit.

use ermine::{Ctx, Data, Matrix, Spec, Task, X};
use ermine_app::explain::{Seen, Watched, watch};
use serde_json::{Value, json};

/// Two clouds that overlap a little, as classes and as a height over the first column.
fn points() -> (Vec<Vec<f64>>, Vec<f64>, Vec<f64>) {
    let mut draw = Ctx::new(3).rng("points", 0);
    let mut next = || 2.0 * draw.uniform() - 1.0;
    let (mut rows, mut classes, mut heights) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..60 {
        let side = f64::from(i % 2);
        let row = vec![next() + 1.2 * side, next() - 0.9 * side];
        heights.push((2.0 * row[0]).sin() + 0.2 * next());
        classes.push(side);
        rows.push(row);
    }
    (rows, classes, heights)
}

fn seen(model: &str, classes: bool) -> Seen {
    let (rows, codes, heights) = points();
    let target = if classes { codes } else { heights };
    let asked = json!({ "model": model, "points": rows, "target": target, "seed": 1 });
    watch(&serde_json::from_value::<Watched>(asked).unwrap(), &Ctx::new(0).with_threads(2)).unwrap()
}

/// The last step, which must be there.
fn last(seen: &Seen) -> &Value {
    &seen.steps.last().expect("something was recorded")["values"]
}

fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list.iter().flat_map(flat).collect(),
        number => vec![number.as_f64().expect("a number")],
    }
}

#[test]
fn the_last_step_is_the_model() {
    let found = seen("KMeans(n_clusters=3, n_init=4)", true);
    assert_eq!(flat(&last(&found)["centres"]), flat(&found.attributes["cluster_centers_"]));
    assert_eq!(flat(&last(&found)["labels"]), flat(&found.rows["labels_"]));
    assert_eq!(flat(&last(&found)["inertia"]), flat(&found.attributes["inertia_"]));

    let found = seen("GaussianMixture(n_components=2, n_init=3)", true);
    for (step, attribute) in [("means", "means_"), ("covariances", "covariances_"), ("weights", "weights_")] {
        assert_eq!(flat(&last(&found)[step]), flat(&found.attributes[attribute]), "{step}");
    }
    assert_eq!(flat(&last(&found)["bound"]), flat(&found.attributes["lower_bound_"]));

    for (model, classes) in [
        ("Perceptron(max_iter=5, tol=none)", true),
        ("SGDClassifier(loss=log_loss, max_iter=4, tol=none)", true),
        ("SGDClassifier(loss=hinge, max_iter=4, tol=none, average=true)", true),
        ("SGDRegressor(max_iter=4, tol=none, batch_size=16, momentum=0.5)", false),
        ("LogisticRegression(C=2.0)", true),
    ] {
        let found = seen(model, classes);
        assert!(found.steps.len() > 2, "{model}: {} steps", found.steps.len());
        assert_eq!(flat(&last(&found)["coef"]), flat(&found.attributes["coef_"]), "{model}");
        assert_eq!(flat(&last(&found)["intercept"]), flat(&found.attributes["intercept_"]), "{model}");
    }

    let found = seen("AdaBoostClassifier(n_estimators=12)", true);
    let of = |name: &str| found.steps.iter().flat_map(|step| flat(&step["values"][name])).collect::<Vec<_>>();
    assert_eq!(of("alpha"), flat(&found.attributes["estimator_weights_"]));
    assert_eq!(of("error"), flat(&found.attributes["estimator_errors_"]));

    let found = seen("SVC(kernel=linear, C=0.5)", true);
    let step = last(&found);
    let mut held: Vec<(f64, f64)> = flat(&step["rows"]).into_iter().zip(flat(&step["multipliers"])).collect();
    held.retain(|(_, multiplier)| *multiplier != 0.0);
    let support = flat(&found.attributes["support_"]);
    let dual: Vec<(f64, f64)> = support.into_iter().zip(flat(&found.attributes["dual_coef_"])).collect();
    let by_row = |mut list: Vec<(f64, f64)>| {
        list.sort_by(|a, b| a.0.total_cmp(&b.0));
        list.into_iter().map(|(row, value)| (row, value.abs())).collect::<Vec<_>>()
    };
    assert_eq!(by_row(held), by_row(dual));
    assert!(found.steps.len() > 10, "{} steps", found.steps.len());

    let found = seen("MLPClassifier(hidden_layer_sizes=[5], max_iter=8)", true);
    let layers = |name: &str| found.attributes[name].as_array().unwrap().iter().map(flat).collect::<Vec<_>>();
    let each = layers("coefs_").into_iter().zip(layers("intercepts_"));
    let weights: Vec<f64> = each.flat_map(|(weights, bias)| [weights, bias].concat()).collect();
    assert_eq!(flat(&last(&found)["weights"]), weights);
    assert_eq!(found.steps.len(), 9, "eight epochs and the end");

    let found = seen("DecisionTreeClassifier(max_depth=4)", true);
    assert_eq!(found.steps.len() as f64 + 1.0, flat(&found.attributes["n_leaves_"])[0]);
}

#[test]
fn a_fit_that_is_watched_is_the_same_fit() {
    let (rows, codes, heights) = points();
    let x = Matrix::new(rows.concat(), rows.len(), 2);
    let codes: Vec<u32> = codes.iter().map(|code| *code as u32).collect();
    for model in [
        "KMeans(n_clusters=3)",
        "GaussianMixture(n_components=2)",
        "Perceptron(max_iter=7)",
        "SGDClassifier(max_iter=7)",
        "SGDRegressor(max_iter=7, batch_size=8)",
        "LogisticRegression",
        "SVC(C=3.0)",
        "SVR",
        "MLPClassifier(hidden_layer_sizes=[4], max_iter=5)",
        "AdaBoostClassifier(n_estimators=9)",
        "DecisionTreeRegressor(max_depth=3)",
    ] {
        let spec = Spec::parse(model).unwrap_or_else(|| Spec::new(model));
        let estimator = ermine::make(&spec).unwrap();
        let data = Data::new(X::dense(&x.values, 2).unwrap());
        let data = match estimator.info().task == Task::Regression {
            true => data.real(&heights).unwrap(),
            false => data.classes(&codes, 2).unwrap(),
        };
        let trace = ermine::core::trace::Trace::default();
        let plain = estimator.fit(&data, &Ctx::new(5)).unwrap();
        let watched = estimator.fit(&data, &Ctx::new(5).with_trace(trace.clone())).unwrap();
        assert_eq!(plain.model.to_bytes(), watched.model.to_bytes(), "{model}");
        assert_eq!(plain.log, watched.log, "{model}");
        assert!(trace.recorded() > 1, "{model} records {} steps", trace.recorded());
    }
}

#[test]
fn what_cannot_be_watched_is_refused_in_words() {
    let ask = |asked: Value| watch(&serde_json::from_value::<Watched>(asked).unwrap(), &Ctx::new(0)).unwrap_err();
    let none = ask(json!({ "model": "KMeans", "points": [] }));
    assert!(none.to_string().contains("points must be rows"), "{none}");
    let ragged = ask(json!({ "model": "KMeans", "points": [[1.0], [1.0, 2.0]] }));
    assert!(ragged.to_string().contains("equal length"), "{ragged}");
    let short = ask(json!({ "model": "SVC", "points": [[1.0], [2.0]], "target": [1.0] }));
    assert!(short.to_string().contains("2 points have 1 values"), "{short}");
    let unknown = ask(json!({ "model": "KMeens", "points": [[1.0]] }));
    assert!(unknown.to_string().contains("KMeans"), "{unknown}");
}
