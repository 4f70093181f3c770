//! Trees and forests on several workers are those of one process, bit by bit. The table has all that a split can meet:
//! numbers, categories, missing values, columns that are constant everywhere or nearly so, twins between which the
//! order of trying decides. In unit tests nodes count as large, and messages as full, much earlier.

use crate::{
    AnyModel, Ctx, Data, Error, Feature, Fit, Result, Source, Spec, Task, Value, X,
    core::{ctx::workers, model::Numbers, source::Shard},
    entry, make,
};

const ROWS: usize = 20_000;
const COLS: usize = 8;

struct Table {
    x: Vec<f64>,
    features: Vec<Feature>,
    real: Vec<f64>,
    two: Vec<f64>,
    codes: Vec<u32>,
    weights: Vec<f64>,
}

fn table() -> Table {
    let mut rng = Ctx::new(3).rng("table", 0);
    let mut features = vec![Feature::Number; COLS];
    features[2] = Feature::Category { levels: 70 };
    features[5] = Feature::Category { levels: 3 };
    let mut table = Table { x: vec![], features, real: vec![], two: vec![], codes: vec![], weights: vec![] };
    for i in 0..ROWS {
        let (smooth, count, level) = (rng.normal(), rng.below(300) as f64, rng.below(70) as f64);
        let rounded = if rng.uniform() < 0.2 { f64::NAN } else { (8.0 * rng.normal()).round() / 8.0 };
        let rare = if i % 1500 == 7 { i as f64 } else { -1.0 };
        let few = if i % 11 == 0 { f64::NAN } else { (i % 3) as f64 };
        let level = if level == 69.0 { 99.0 } else { level };
        table.x.extend([smooth, rounded, level, 4.5, rare, few, count, 2.0 * smooth]);
        let known = if rounded.is_nan() { 1.5 } else { rounded };
        let y = smooth * known + 0.05 * (level % 7.0) * few.max(0.5) - (count / 100.0).sin() + 0.4 * rng.normal();
        // Exact sums would hide another order of adding.
        table.real.push(y.abs() / 3.0);
        table.two.extend([y / 3.0, count / 7.0 - smooth]);
        table.codes.push(u32::from(y > 0.0) + u32::from(y > 1.0));
        table.weights.push([1.0, 0.3, 0.0, 2.1][i % 4]);
    }
    table
}

impl Table {
    /// So many classes, or so many numbers.
    fn data(&self, task: Task, targets: usize, weighted: bool) -> Data<'_> {
        let data = Data::new(X::dense(&self.x, COLS).unwrap()).features(&self.features[..]).unwrap();
        let data = match task {
            Task::Classification => data.classes(&self.codes, targets).unwrap(),
            _ if targets == 2 => data.reals(&self.two, 2).unwrap(),
            _ => data.real(&self.real).unwrap(),
        };
        if weighted { data.weights(&self.weights).unwrap() } else { data }
    }
}

/// Uneven shares, and a worker that has nothing.
fn cuts(rows: usize, count: usize) -> Vec<usize> {
    let mut cuts: Vec<usize> = (0..=count).map(|i| rows * i * i / (count * count)).collect();
    if count > 2 {
        cuts[2] = cuts[1];
    }
    cuts
}

type Outcome = Result<Fit<Box<dyn AnyModel>>>;

fn on_workers(count: usize, data: &dyn Source, fit: impl Fn(&dyn Source, &Ctx) -> Outcome + Sync) -> Vec<Outcome> {
    let cuts = cuts(data.shape().rows, count);
    workers(count, |exchange| {
        let shard = Shard::window(data, cuts[exchange.rank()]..cuts[exchange.rank() + 1]);
        fit(&shard, &Ctx::new(5).with_threads(2).with_exchange(exchange))
    })
}

fn numbers(fit: &Fit<Box<dyn AnyModel>>) -> Vec<u64> {
    let of = |values: &Numbers| match values {
        Numbers::Float(values) => values.iter().map(|value| value.to_bits()).collect(),
        _ => vec![],
    };
    fit.rows.iter().flat_map(|(_, array)| of(&array.values)).collect()
}

/// Up to nine workers, one of which has no column.
fn same(table: &Table, name: &str, params: &[(&str, Value)], targets: usize, weighted: bool) {
    let params = params.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    let spec = Spec { name: name.into(), params };
    let data = table.data(entry(name).unwrap().info.task, targets, weighted);
    let fit = |data: &dyn Source, ctx: &Ctx| make(&spec)?.fit(data, ctx);
    let one = fit(&data, &Ctx::new(5).with_threads(2)).unwrap();
    for count in [1, 2, 3, 5, 9] {
        let fits: Vec<_> = on_workers(count, &data, fit).into_iter().map(Result::unwrap).collect();
        for other in &fits {
            assert!(other.model.to_bytes() == one.model.to_bytes(), "{spec:?}: {count} workers");
            assert!(other.log == one.log, "{spec:?}: log of {count} workers");
        }
        // Everyone knows of its own rows.
        let rows: Vec<u64> = fits.iter().flat_map(numbers).collect();
        assert!(rows == numbers(&one), "{spec:?}: rows of {count} workers");
    }
}

fn text(value: &str) -> Value {
    Value::Text(value.into())
}

#[test]
fn trees_of_classes() {
    let table = table();
    let name = "DecisionTreeClassifier";
    same(&table, name, &[], 3, true);
    let cut = [("significance", Value::Float(0.01)), ("ccp_alpha", Value::Float(1e-4))];
    same(&table, name, &[&cut[..], &[("prune_fraction", Value::Float(0.2))]].concat(), 3, false);
    same(&table, name, &[("max_leaf_nodes", Value::Int(60)), ("max_features", Value::Int(1))], 3, false);
}

#[test]
fn trees_of_numbers() {
    let table = table();
    let name = "DecisionTreeRegressor";
    same(&table, name, &[("prune_fraction", Value::Float(0.3))], 1, true);
    same(&table, name, &[("max_depth", Value::Int(9))], 2, true);
    same(&table, name, &[("criterion", text("absolute_error")), ("max_depth", Value::Int(5))], 1, false);
    same(&table, name, &[("criterion", text("poisson")), ("splitter", text("random"))], 1, true);
}

#[test]
fn random_forests() {
    let table = table();
    // One column at a time: often a constant one, and then the search goes on.
    let few = [("n_estimators", Value::Int(3)), ("oob_score", Value::Bool(true)), ("max_features", Value::Int(1))];
    same(&table, "RandomForestClassifier", &few, 3, true);
    let of_numbers = [("max_samples", Value::Float(0.7)), ("min_weight_fraction_leaf", Value::Float(1e-4))];
    let of_numbers = [&few[..2], &of_numbers, &[("max_features", Value::Int(6))]].concat();
    same(&table, "RandomForestRegressor", &of_numbers, 1, false);
}

/// Forests look for cuts at evenly spaced codes, which must be those of the whole column also in a subtree. In noise
/// every cut is as good as the next, so other codes are another tree.
#[test]
fn forests_of_noise() {
    let mut rng = Ctx::new(4).rng("noise", 0);
    let noise = Table { codes: (0..ROWS).map(|_| rng.below(3) as u32).collect(), ..table() };
    same(&noise, "RandomForestClassifier", &[("n_estimators", Value::Int(3)), ("max_depth", Value::Int(9))], 3, false);
}

#[test]
fn extra_trees() {
    let table = table();
    let few = [("n_estimators", Value::Int(3)), ("max_features", Value::Int(1))];
    same(&table, "ExtraTreesClassifier", &few, 3, false);
    same(&table, "ExtraTreesRegressor", &few[..1], 1, true);
}

/// A bad value is met by all, with its number among all rows, and nobody waits.
#[test]
fn what_is_wrong_on_one_worker_stops_all() {
    let mut table = table();
    table.x[15_000 * COLS] = f64::INFINITY;
    table.real[16_000] = -1.0;
    let heard = |name: &str, params: &[(&str, Value)], words: &str| {
        let params = params.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        let spec = Spec { name: name.into(), params };
        let data = table.data(entry(name).unwrap().info.task, 3, false);
        for outcome in on_workers(3, &data, |data, ctx| make(&spec)?.fit(data, ctx)) {
            let message = outcome.map(drop).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
    };
    heard("RandomForestClassifier", &[], "row 15000");
    heard("DecisionTreeRegressor", &[("criterion", text("poisson"))], "row 16000");

    // Somebody cancels in the midst of it.
    table.x[15_000 * COLS] = 0.0;
    let outcomes = on_workers(3, &table.data(Task::Regression, 1, false), |data, ctx| {
        let ctx = match ctx.exchange().rank() {
            2 => ctx.clone().with_deadline(std::time::Instant::now() + std::time::Duration::from_millis(300)),
            _ => ctx.clone(),
        };
        let many = [("n_estimators".to_string(), Value::Int(10_000))].into();
        make(&Spec { name: "RandomForestRegressor".into(), params: many })?.fit(data, &ctx)
    });
    for (rank, outcome) in outcomes.into_iter().enumerate() {
        let error = outcome.map(drop).unwrap_err();
        assert!(matches!((rank, &error), (2, Error::Cancelled) | (_, Error::Worker { rank: 2, .. })), "{error}");
    }
}
