//! Trees and ensembles: against recorded trees of scikit-learn, and properties that hold by definition.

use ermine::{
    AnyModel, Ctx, Data, Error, Estimator, Feature, Output, Result, Source, Spec, Value, X,
    core::{ctx::workers, reduce::shares, rng::Stream, source::Shard},
    engine::{
        shap,
        tree::{Test, Tree},
    },
    make, predict,
    tree::{
        AdaBoostClassifier, DecisionTreeClassifier, DecisionTreeRegressor, EarlyStopping,
        HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier, RealLoss,
        StackingClassifier, picture,
    },
};
use serde_json::Value as Json;

fn ctx() -> Ctx {
    Ctx::new(3).with_threads(2)
}

fn numbers(json: &Json) -> Vec<f64> {
    json.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

/// Same rows to the same sides, node by node; where another column does as well, the tie is accepted and the branch
/// left.
fn same_splits(tree: &Tree, reference: &Json, x: &[f64], cols: usize) -> (usize, usize) {
    let of = |what: &str| numbers(&reference[what]);
    let (feature, threshold, left, right) = (of("feature"), of("threshold"), of("left"), of("right"));
    let (impurity, count) = (of("impurity"), of("rows"));
    let all: Vec<usize> = (0..x.len() / cols).collect();
    let (mut same, mut ties) = (0, 0);
    let mut stack = vec![(0, 0, all)];
    while let Some((ours, theirs, rows)) = stack.pop() {
        assert_eq!(rows.len() as f64, count[theirs]);
        let found = tree.impurity(ours).unwrap();
        assert!((found - impurity[theirs]).abs() < 1e-6 * (1.0 + found), "impurity {found}, not {}", impurity[theirs]);
        let Some((split, child)) = tree.split(ours) else {
            assert!(left[theirs] < 0.0, "a leaf where scikit-learn goes on");
            continue;
        };
        assert!(left[theirs] >= 0.0, "a split where scikit-learn stops");
        let (l, r): (Vec<usize>, Vec<usize>) =
            rows.iter().partition(|&&i| split.goes_left(x[i * cols + split.feature]));
        let (tl, tr) = (left[theirs] as usize, right[theirs] as usize);
        let sides: Vec<usize> =
            rows.iter().copied().filter(|&i| x[i * cols + feature[theirs] as usize] <= threshold[theirs]).collect();
        if sides == l {
            if split.feature == feature[theirs] as usize {
                let Test::AtMost(own) = split.test else { panic!("iris has no categories") };
                assert!((own - threshold[theirs]).abs() < 1e-5, "threshold {own}, not {}", threshold[theirs]);
                same += 1;
            } else {
                ties += 1;
            }
            stack.push((child, tl, l));
            stack.push((child + 1, tr, r));
            continue;
        }
        let after = |a: f64, b: f64, n: usize, m: usize| a * n as f64 + b * m as f64;
        let own = after(tree.impurity(child).unwrap(), tree.impurity(child + 1).unwrap(), l.len(), r.len());
        let other = after(impurity[tl], impurity[tr], count[tl] as usize, count[tr] as usize);
        assert!((own - other).abs() < 1e-6 * (1.0 + own), "another split, and no tie: {own} and {other}");
        ties += 1;
    }
    (same, ties)
}

#[test]
fn splits_are_those_of_scikit_learn() {
    let sets: Json = serde_json::from_str(include_str!("reference/trees.json")).unwrap();
    let (mut same, mut ties) = (0, 0);
    for set in sets.as_array().unwrap() {
        let x: Vec<f64> = set["x"].as_array().unwrap().iter().flat_map(numbers).collect();
        let rows = set["x"].as_array().unwrap().len();
        let cols = x.len() / rows;
        let codes: Vec<u32> = numbers(&set["codes"]).iter().map(|v| *v as u32).collect();
        let real = numbers(&set["real"]);
        for reference in set["trees"].as_array().unwrap() {
            let mut spec = Spec::new(reference["model"].as_str().unwrap());
            for (name, value) in reference["params"].as_object().unwrap() {
                let value =
                    value.as_i64().map(Value::Int).unwrap_or_else(|| Value::Text(value.as_str().unwrap().into()));
                spec.params.insert(name.clone(), value);
            }
            let data = Data::new(X::dense(&x, cols).unwrap());
            let data = match spec.name.ends_with("Classifier") {
                true => data.classes(&codes, 3).unwrap(),
                false => data.real(&real).unwrap(),
            };
            let fit = make(&spec).unwrap().fit(&data, &ctx()).unwrap();
            let model: &ermine::tree::DecisionTreeModel = fit.model.as_any().downcast_ref().unwrap();
            let (s, t) = same_splits(&model.tree, reference, &x, cols);
            (same, ties) = (same + s, ties + t);
        }
        let data = Data::new(X::dense(&x, cols).unwrap()).classes(&codes, 3).unwrap();
        let path = DecisionTreeClassifier::default().pruning_path(&data, &ctx()).unwrap();
        let (alphas, impurities) = (numbers(&set["path"]["alphas"]), numbers(&set["path"]["impurities"]));
        // The stronger prunings do not hang on ties further down.
        let (own, other) = (path.last().unwrap(), (alphas.last().unwrap(), impurities.last().unwrap()));
        assert!((own.alpha - other.0).abs() < 1e-9 && (own.impurity - other.1).abs() < 1e-9, "{own:?} {other:?}");
    }
    println!("{same} equal splits, {ties} ties");
    assert!(same > 100 && ties < same / 2, "{same} equal, {ties} ties");
}

/// Rows whose target depends on steps and an interaction.
fn problem(rows: usize, cols: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = Stream::new(seed, "tree test", 0);
    let x: Vec<f64> = (0..rows * cols).map(|_| rng.normal()).collect();
    let y = x.chunks(cols).map(|r| 2.0 * f64::from(r[0] > 0.3) + r[1] * r[2] + 0.2 * rng.normal()).collect();
    (x, y)
}

#[test]
fn categories_are_split_into_the_best_sets() {
    // Levels 0, 3, 4 high; 1, 2, 5 low: one split with sets, many with thresholds.
    let x: Vec<f64> = (0..240).map(|i| (i % 6) as f64).collect();
    let y: Vec<f64> = x.iter().map(|&l| if [0.0, 3.0, 4.0].contains(&l) { 5.0 } else { 1.0 }).collect();
    let codes: Vec<u32> = y.iter().map(|&y| u32::from(y > 2.0)).collect();
    let data = Data::new(X::dense(&x, 1).unwrap()).features(vec![Feature::Category { levels: 6 }]).unwrap();
    let stump = DecisionTreeRegressor { max_depth: Some(1), ..Default::default() };
    let fit = stump.fit(&data.clone().real(&y).unwrap(), &ctx()).unwrap();
    let out = predict(&ctx(), &fit.model, &X::dense(&x, 1).unwrap(), Output::Value, true).unwrap();
    assert_eq!(out.values, y);
    let boosting = HistGradientBoostingClassifier { max_leaf_nodes: Some(2), max_iter: 20, ..Default::default() };
    let fit = boosting.fit(&data.classes(&codes, 2).unwrap(), &ctx()).unwrap();
    let out = predict(&ctx(), &fit.model, &X::dense(&x, 1).unwrap(), Output::Class, true).unwrap();
    assert!(out.values.iter().zip(&codes).all(|(p, &c)| *p == f64::from(c)));
}

#[test]
fn missing_values_go_the_better_way() {
    let x: Vec<f64> = (0..200).map(|i| if i % 4 == 0 { f64::NAN } else { (i % 10) as f64 }).collect();
    let y: Vec<f64> = x.iter().map(|x| if x.is_nan() || *x > 6.0 { 1.0 } else { 0.0 }).collect();
    let data = Data::new(X::dense(&x, 1).unwrap()).real(&y).unwrap();
    let fit = DecisionTreeRegressor { max_depth: Some(1), ..Default::default() }.fit(&data, &ctx()).unwrap();
    let out = predict(&ctx(), &fit.model, &X::dense(&x, 1).unwrap(), Output::Value, true).unwrap();
    assert_eq!(out.values, y);
}

#[test]
fn significance_and_pruning_keep_noise_out() {
    let (x, _) = problem(400, 5, 1);
    let mut rng = Stream::new(9, "noise", 0);
    let noise: Vec<u32> = (0..400).map(|_| rng.below(2) as u32).collect();
    let data = Data::new(X::dense(&x, 5).unwrap()).classes(&noise, 2).unwrap();
    let leaves = |params: DecisionTreeClassifier| params.fit(&data, &ctx()).unwrap().model.tree.leaves();
    let grown = leaves(DecisionTreeClassifier::default());
    assert!(grown > 50);
    assert!(leaves(DecisionTreeClassifier { significance: Some(1e-6), ..Default::default() }) == 1);
    assert!(leaves(DecisionTreeClassifier { ccp_alpha: 0.05, ..Default::default() }) == 1);
    assert!(leaves(DecisionTreeClassifier { prune_fraction: 0.3, ..Default::default() }) < grown / 2);
}

/// E[f | columns in the set], by the weights of the tree.
fn conditional(tree: &Tree, weights: &[f64], row: &[f64], set: u32, at: usize) -> f64 {
    let Some((split, left)) = tree.split(at) else { return tree.leaf_value(tree.leaf_of(at))[0] };
    let at_child = |child| conditional(tree, weights, row, set, child);
    if set >> split.feature & 1 == 1 {
        return at_child(if split.goes_left(row[split.feature]) { left } else { left + 1 });
    }
    (weights[left] * at_child(left) + weights[left + 1] * at_child(left + 1)) / weights[at]
}

#[test]
fn shapley_values_are_those_of_the_definition_and_add_up() {
    let (x, y) = problem(300, 4, 2);
    let data = Data::new(X::dense(&x, 4).unwrap()).real(&y).unwrap();
    let fit = DecisionTreeRegressor { max_depth: Some(6), ..Default::default() }.fit(&data, &ctx()).unwrap();
    let some = X::dense(&x[..40], 4).unwrap();
    let shap = shap::explain(&ctx(), &fit.model, &some).unwrap();
    let tree = &fit.model.tree;
    let (weights, _) = tree.summary();
    for i in 0..10 {
        let row = &x[i * 4..(i + 1) * 4];
        for j in 0..4 {
            let mut phi = 0.0;
            for set in (0..16u32).filter(|set| set >> j & 1 == 0) {
                let size = set.count_ones() as usize;
                let share = [1.0, 1.0, 2.0, 6.0][size] * [6.0, 2.0, 1.0, 1.0][size] / 24.0;
                let with = conditional(tree, &weights, row, set | 1 << j, 0);
                phi += share * (with - conditional(tree, &weights, row, set, 0));
            }
            assert!((phi - shap.values[i * 4 + j]).abs() < 1e-9, "{phi} {}", shap.values[i * 4 + j]);
        }
    }
    let codes: Vec<u32> = y.iter().map(|&y| u32::from(y > 0.5) + u32::from(y > 2.0)).collect();
    let data = Data::new(X::dense(&x, 4).unwrap()).classes(&codes, 3).unwrap();
    let small = RandomForestClassifier { n_estimators: 5, ..Default::default() }.fit(&data, &ctx()).unwrap().model;
    let boost = HistGradientBoostingClassifier { max_iter: 5, ..Default::default() }.fit(&data, &ctx()).unwrap().model;
    let ada = AdaBoostClassifier { n_estimators: 5, ..Default::default() }.fit(&data, &ctx()).unwrap().model;
    let models: [(&dyn AnyModel, Output); 3] =
        [(&small, Output::Probability), (&boost, Output::Decision), (&ada, Output::Decision)];
    for (model, output) in models {
        let shap = shap::explain(&ctx(), model, &some).unwrap();
        let out = predict(&ctx(), model, &some, output, true).unwrap();
        for i in 0..10 {
            for o in 0..3 {
                let sum: f64 = (0..4).map(|j| shap.values[(i * 4 + j) * 3 + o]).sum::<f64>() + shap.base[o];
                assert!((sum - out[(i, o)]).abs() < 1e-9, "{sum} {}", out[(i, o)]);
            }
        }
    }
}

#[test]
fn boosting_learns_each_loss_and_keeps_its_constraints() {
    let (x, y) = problem(2_000, 5, 4);
    let counts: Vec<f64> = y.iter().map(|y| (0.5 * y).exp()).collect();
    for loss in
        [RealLoss::SquaredError, RealLoss::AbsoluteError, RealLoss::Poisson, RealLoss::Gamma, RealLoss::Quantile]
    {
        let params = HistGradientBoostingRegressor { loss, max_iter: 40, ..Default::default() };
        let data = Data::new(X::dense(&x, 5).unwrap()).real(&counts).unwrap();
        let fit = params.fit(&data, &ctx()).unwrap();
        let path = &fit.log.objective;
        assert!(path.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9), "{loss:?} rose: {path:?}");
        // More rounds go on where the first stopped.
        let half = HistGradientBoostingRegressor { max_iter: 20, ..params.clone() }.fit(&data, &ctx()).unwrap();
        let on = params.resume(&half.model, &data, &ctx()).unwrap();
        assert_eq!(on.model.trees.len(), 40);
        assert!((on.model.train_loss[40] - fit.model.train_loss[40]).abs() < 1e-6);
    }
    let data = Data::new(X::dense(&x, 5).unwrap()).real(&y).unwrap();
    let params = HistGradientBoostingRegressor {
        monotonic_cst: vec![1, -1, 0, 0, 0],
        interaction_cst: vec![vec![0, 1], vec![2, 3]],
        ..Default::default()
    };
    let model = params.fit(&data, &ctx()).unwrap().model;
    let at = |v: [f64; 5]| model.scores(&X::dense(&v, 5).unwrap())[0];
    for row in x.chunks(5).take(50) {
        let row: [f64; 5] = row.try_into().unwrap();
        for step in 0..20 {
            let v = -2.0 + 0.2 * f64::from(step);
            let moved = |j: usize, v: f64| {
                let mut row = row;
                row[j] = v;
                at(row)
            };
            assert!(moved(0, v) <= moved(0, v + 0.2) + 1e-12 && moved(1, v) >= moved(1, v + 0.2) - 1e-12);
            // Columns 0 and 2 never meet on a path, so their effects add.
            let mut both = row;
            (both[0], both[2]) = (v, v);
            let apart = moved(0, v) + moved(2, v) - at(row);
            assert!((at(both) - apart).abs() < 1e-9);
        }
    }
    let stopped = HistGradientBoostingRegressor {
        early_stopping: EarlyStopping::Yes,
        learning_rate: 0.5,
        max_iter: 1000,
        ..Default::default()
    };
    let fit = stopped.fit(&data, &ctx()).unwrap();
    assert_eq!(fit.log.stop(), ermine::Stop::Halted(ermine::Halt::EarlyStopping));
    assert!(fit.model.trees.len() < 1000 && fit.model.validation_loss.len() == fit.model.trees.len() + 1);
}

/// More values than bins, so that the cuts count weights too.
#[test]
fn boosting_takes_a_row_of_weight_two_for_two_rows() {
    let (rows, cols) = (400, 2);
    let mut rng = ctx().rng("weights", 0);
    let x: Vec<f64> = (0..rows * cols).map(|_| rng.normal()).collect();
    let score: Vec<f64> = x.chunks(cols).map(|row| row[0] + (2.0 * row[1]).sin() + 0.3 * rng.normal()).collect();
    let weights: Vec<f64> = (0..rows).map(|_| rng.below(3) as f64).collect();
    let again: Vec<usize> = (0..rows).flat_map(|i| std::iter::repeat_n(i, weights[i] as usize)).collect();
    let repeated: Vec<f64> = again.iter().flat_map(|&i| x[i * cols..(i + 1) * cols].to_vec()).collect();
    let (whole, parts) = (X::dense(&x, cols).unwrap(), X::dense(&repeated, cols).unwrap());
    let code = |i: usize, classes: usize| (((score[i] + 1.5) * 0.7).clamp(0.0, 2.0) as u32).min(classes as u32 - 1);
    for classes in [0, 2, 3] {
        let fit = |x: &X, rows: &[usize], weights: Option<&[f64]>| {
            let codes: Vec<u32> = rows.iter().map(|&i| code(i, classes.max(1))).collect();
            let y: Vec<f64> = rows.iter().map(|&i| score[i]).collect();
            let data = Data::new(*x);
            let data = if classes > 0 { data.classes(&codes, classes) } else { data.real(&y) }.unwrap();
            let data = if let Some(weights) = weights { data.weights(weights).unwrap() } else { data };
            let model = match classes {
                0 => HistGradientBoostingRegressor { min_samples_leaf: 1, ..Default::default() }.fit(&data, &ctx()),
                _ => HistGradientBoostingClassifier { min_samples_leaf: 1, ..Default::default() }.fit(&data, &ctx()),
            };
            model.unwrap().model.scores(&whole)
        };
        let all: Vec<usize> = (0..rows).collect();
        let (one, two) = (fit(&whole, &all, Some(&weights)), fit(&parts, &again, None));
        let apart = one.iter().zip(&two).map(|(a, b)| (a - b).abs() / (1.0 + a.abs())).fold(0.0, f64::max);
        // Gradients are summed in fixed point, whose unit is that of the largest, weights and all.
        assert!(apart < 1e-5, "{classes} classes: scores differ by {apart:e}");
    }
}

#[test]
fn adaboost_keeps_its_bound_and_takes_other_models() {
    let (x, y) = problem(600, 4, 5);
    let codes: Vec<u32> = y.iter().map(|&y| u32::from(y > 0.8)).collect();
    let data = Data::new(X::dense(&x, 4).unwrap()).classes(&codes, 2).unwrap();
    let fit = AdaBoostClassifier::default().fit(&data, &ctx()).unwrap();
    for rounds in 1..=fit.model.members.len() {
        let scores = fit.model.scores(&X::dense(&x, 4).unwrap(), rounds).unwrap();
        let wrong = scores.chunks(2).zip(&codes).filter(|(s, c)| u32::from(s[1] > s[0]) != **c).count();
        assert!(wrong as f64 / 600.0 <= fit.log.objective[rounds - 1] + 1e-12, "round {rounds}");
    }
    let other = AdaBoostClassifier { estimator: Some(Spec::new("LogisticRegression")), ..Default::default() };
    assert!(!other.fit(&data, &ctx()).unwrap().model.members.is_empty());
    let stacked = StackingClassifier::default().fit(&data, &ctx()).unwrap();
    let out = predict(&ctx(), &stacked.model, &X::dense(&x, 4).unwrap(), Output::Class, true).unwrap();
    let right = out.values.iter().zip(&codes).filter(|(p, c)| **p == f64::from(**c)).count();
    assert!(right > 540, "{right}");
}

#[test]
fn forests_judge_themselves_out_of_bag() {
    let (x, y) = problem(1_500, 6, 6);
    let codes: Vec<u32> = y.iter().map(|&y| u32::from(y > 0.8)).collect();
    let data = Data::new(X::dense(&x[..1_000 * 6], 6).unwrap()).classes(&codes[..1_000], 2).unwrap();
    let fit =
        RandomForestClassifier { oob_score: true, n_estimators: 60, ..Default::default() }.fit(&data, &ctx()).unwrap();
    let out = predict(&ctx(), &fit.model, &X::dense(&x[1_000 * 6..], 6).unwrap(), Output::Class, true).unwrap();
    let right = out.values.iter().zip(&codes[1_000..]).filter(|(p, c)| **p == f64::from(**c)).count();
    assert!((fit.model.oob_score.unwrap() - right as f64 / 500.0).abs() < 0.05);
    let importances = &fit.model.importances;
    assert!((0..3).all(|j| (3..6).all(|noise| importances[j] > importances[noise])), "{importances:?}");
}

#[test]
fn pictures_show_names_and_escape_them() {
    let (x, y) = problem(200, 3, 7);
    let codes: Vec<u32> = y.iter().map(|&y| u32::from(y > 0.8)).collect();
    let data = Data::new(X::dense(&x, 3).unwrap()).classes(&codes, 2).unwrap();
    let model = DecisionTreeClassifier { max_depth: Some(2), ..Default::default() }.fit(&data, &ctx()).unwrap().model;
    let names = |list: &[&str]| list.iter().map(|s| s.to_string()).collect::<Vec<_>>();
    let (features, classes) = (names(&["a < b", "say \"hi\"", "c"]), names(&["low", "high"]));
    let names = picture::Names { features: &features, classes: &classes, levels: &[] };
    let text = picture::text(&model.tree, &names, true, 10);
    assert!(text.contains("a < b <= ") && text.contains("rows") && text.lines().count() == 6, "{text}");
    let svg = picture::svg(&model.tree, &names, true, 10);
    assert!(svg.contains("a &lt; b") && svg.ends_with("</svg>\n") && svg.matches("rx=\"6\"").count() == 7, "{svg}");
    let dot = picture::dot(&model.tree, &names, true, 10);
    assert!(dot.starts_with("digraph") && dot.matches("->").count() == 6, "{dot}");
    let words = picture::words(&model.tree, &names, true, &x[..3]);
    assert!(words.contains("because") && words.contains("the prediction is"), "{words}");
}

/// Rows on nine leaves of the merge tree: numbers with gaps and ties, few levels, more levels than bins.
struct Spread {
    x: Vec<f64>,
    y: Vec<f64>,
    weights: Vec<f64>,
}

const SPREAD: usize = 70;

impl Spread {
    fn new() -> Spread {
        let rows = 8 * 1024 + 300;
        let mut rng = Stream::new(4, "workers", 0);
        let (mut x, mut y, mut weights) = (vec![], vec![], vec![]);
        for i in 0..rows {
            let mut row: Vec<f64> = (0..SPREAD).map(|_| rng.normal()).collect();
            // The rows of late workers differ from those of early ones.
            row[1] = (3.0 * row[1]).round() + (i / 2000) as f64;
            row[2] = rng.below(12) as f64;
            row[3] = (rng.uniform() * rng.uniform() * 400.0).floor();
            if rng.below(5) == 0 || i > 6000 {
                row[4] = f64::NAN;
            }
            let level = row[2] % 3.0 + if row[4].is_nan() { 1.0 } else { row[4] };
            y.push((10.0 * (row[0] + 0.3 * row[1] + level + 0.5 * rng.normal())).round() / 10.0);
            weights.push([1.0, 0.3, 2.5, 0.0, 0.7][i % 5]);
            x.extend(row);
        }
        Spread { x, y, weights }
    }

    fn data(&self) -> Data<'_> {
        let mut features = vec![Feature::Number; SPREAD];
        (features[2], features[3]) = (Feature::Category { levels: 12 }, Feature::Category { levels: 400 });
        Data::new(X::dense(&self.x, SPREAD).unwrap()).features(features).unwrap()
    }
}

/// What each of `count` workers makes of its part.
fn on_workers<R: Send>(data: &Data, count: usize, work: impl Fn(&dyn Source, &Ctx) -> R + Sync) -> Vec<R> {
    let shares = shares(&data.shape(), count);
    workers(count, |exchange| {
        let shard = Shard::window(data, shares[exchange.rank()].clone());
        work(&shard, &ctx().with_exchange(exchange))
    })
}

fn assert_same_on_workers(what: &str, data: &Data, fit: impl Fn(&dyn Source, &Ctx) -> Result<Vec<u8>> + Sync) {
    let alone = fit(data, &ctx()).unwrap();
    // With twelve workers some have no rows.
    for count in [1, 2, 3, 4, 7, 12] {
        let models = on_workers(data, count, |source, ctx| fit(source, ctx).unwrap());
        assert!(models.iter().all(|model| *model == alone), "{what}: {count} workers come to another model");
    }
}

#[test]
fn workers_boost_to_the_bits_of_one() {
    let spread = Spread::new();
    let (plain, weighted) = (spread.data(), spread.data().weights(&spread.weights).unwrap());
    let counts: Vec<f64> = spread.y.iter().map(|y| y.max(0.0).floor()).collect();
    let codes = |classes: usize| -> Vec<u32> {
        spread.y.iter().map(|y| (y + 1.0).clamp(0.0, (classes - 1) as f64) as u32).collect()
    };
    let (two, three) = (codes(2), codes(3));
    let check = |what: &str, estimator: &dyn ermine::AnyEstimator, data: Data| {
        assert_same_on_workers(what, &data, |source, ctx| Ok(estimator.fit(source, ctx)?.model.to_bytes()));
    };
    let (max_iter, max_leaf_nodes, max_bins) = (3, Some(12), 40);
    let class = HistGradientBoostingClassifier { max_iter, max_leaf_nodes, max_bins, ..Default::default() };
    let real = HistGradientBoostingRegressor { max_iter, max_leaf_nodes, max_bins, ..Default::default() };
    let of = |loss| HistGradientBoostingRegressor { loss, ..real.clone() };

    check("binary", &class, plain.clone().classes(&two, 2).unwrap());
    let sampled = HistGradientBoostingClassifier { subsample: 0.6, max_features: 0.5, ..class.clone() };
    check("softmax, weights, subsample", &sampled, weighted.clone().classes(&three, 3).unwrap());
    let monotonic_cst = [vec![1, 1], vec![0; SPREAD - 2]].concat();
    let interaction_cst = vec![vec![0, 1, 2], vec![1, 3, 4]];
    let bound = HistGradientBoostingRegressor { monotonic_cst, interaction_cst, ..real.clone() };
    check("squared, bounds, weights", &bound, weighted.clone().real(&spread.y).unwrap());
    // Stops after a few rounds: held-out rows decide, and a tree of depth one counts no child.
    let early = HistGradientBoostingRegressor {
        early_stopping: EarlyStopping::Yes,
        validation_fraction: 0.4,
        n_iter_no_change: 2,
        learning_rate: 1.5,
        max_depth: Some(1),
        max_iter: 50,
        ..real.clone()
    };
    check("squared, early stopping", &early, plain.clone().real(&spread.y).unwrap());
    let absolute = HistGradientBoostingRegressor { early_stopping: EarlyStopping::Yes, ..of(RealLoss::AbsoluteError) };
    check("absolute, weights, early stopping", &absolute, weighted.clone().real(&spread.y).unwrap());
    let quantile = HistGradientBoostingRegressor { quantile: 0.8, subsample: 0.6, ..of(RealLoss::Quantile) };
    check("quantile, subsample", &quantile, plain.clone().real(&spread.y).unwrap());
    check("poisson, weights", &of(RealLoss::Poisson), weighted.clone().real(&counts).unwrap());
    // No worker draws a row: the first of all is taken.
    let none = HistGradientBoostingRegressor { subsample: 1e-9, min_samples_leaf: 1, ..real.clone() };
    check("no row drawn", &none, plain.clone().real(&spread.y).unwrap());

    let data = weighted.classes(&three, 3).unwrap();
    let half = HistGradientBoostingClassifier { max_iter: 1, ..class.clone() };
    let whole = Estimator::fit(&class, &data, &ctx()).unwrap().model.to_bytes();
    assert_same_on_workers("resumed", &data, |source, ctx| {
        let begun = Estimator::fit(&half, source, ctx)?.model;
        let resumed = Estimator::resume(&class, &begun, source, ctx)?.model.to_bytes();
        assert!(resumed == whole, "going on is another fit");
        Ok(resumed)
    });
}

#[test]
fn a_row_that_one_worker_cannot_take_stops_all() {
    let mut spread = Spread::new();
    spread.y.iter_mut().for_each(|y| *y = y.abs() + 0.1);
    let messages = |spread: &Spread, loss: RealLoss| {
        let boosting = HistGradientBoostingRegressor { loss, max_iter: 1, ..Default::default() };
        let data = spread.data().real(&spread.y).unwrap();
        on_workers(&data, 3, |source, ctx| Estimator::fit(&boosting, source, ctx).err().unwrap().to_string())
    };
    // The last worker holds row 7000; rows are named as they are numbered over all.
    spread.y[7000] = 0.0;
    for (rank, message) in messages(&spread, RealLoss::Gamma).iter().enumerate() {
        assert!(message.contains("row 7000") && message.contains("gamma needs"), "{message}");
        assert_eq!(message.starts_with("worker 2:"), rank != 2, "{message}");
    }
    spread.y.fill(0.0);
    assert!(messages(&spread, RealLoss::Poisson).iter().all(|message| message.contains("above 0")));
    spread.x[7000 * SPREAD + 7] = f64::INFINITY;
    let messages = messages(&spread, RealLoss::SquaredError);
    assert!(
        messages.iter().all(|message| message.contains("row 7000") && message.contains("infinity")),
        "{messages:?}"
    );

    spread.x[7000 * SPREAD + 7] = 0.0;
    // Rows that begin or end inside a leaf of the merge tree would be summed in another order.
    let data = spread.data().real(&spread.y).unwrap();
    let errors = workers(2, |exchange| {
        let held = [0..5000, 5000..spread.y.len()][exchange.rank()].clone();
        let boosting = HistGradientBoostingRegressor::default();
        Estimator::fit(&boosting, &Shard::window(&data, held), &ctx().with_exchange(exchange)).err()
    });
    assert!(errors.iter().all(|error| matches!(error, Some(Error::Shape { .. } | Error::Worker { .. }))), "{errors:?}");
}
