//! Categories of many levels: one that says nothing must cost next to nothing, one that says something must be heard.

use ermine::{
    Ctx, Data, Feature, Output, OwnedX, Spec, X,
    core::rng::Stream,
    predict,
    prepare::{Preparation, Wants},
};

/// Columns of numbers.
const NUMBERS: usize = 5;

/// Rows of five numbers and a category.
struct Table {
    x: Vec<f64>,
    real: Vec<f64>,
    codes: Vec<u32>,
    levels: u32,
}

impl Table {
    /// `heard`: how much the target depends on the level.
    fn new(rows: usize, levels: u32, heard: f64, seed: u64) -> Table {
        let mut rng = Stream::new(seed, "categories", 0);
        let effects: Vec<f64> = (0..levels).map(|_| rng.normal()).collect();
        let mut table = Table { x: vec![], real: vec![], codes: vec![], levels };
        for _ in 0..rows {
            let numbers: Vec<f64> = (0..NUMBERS).map(|_| rng.normal()).collect();
            let level = rng.below(levels as usize);
            let mean = 1.5 * numbers[0] + f64::from(numbers[1] > 0.0) - numbers[2] * numbers[0].signum();
            let y = mean + heard * effects[level] + 0.5 * rng.normal();
            table.x.extend(numbers);
            table.x.push(level as f64);
            table.real.push(y);
            table.codes.push(u32::from(y > 0.5));
        }
        table
    }

    /// R2 or accuracy of a model on the last `tests` rows, learnt from those before, with or without the category.
    fn score(&self, model: &str, tests: usize, category: bool) -> f64 {
        let (ctx, cut) = (Ctx::new(0), self.real.len() - tests);
        let cols = if category { NUMBERS + 1 } else { NUMBERS };
        let x: Vec<f64> = self.x.chunks(NUMBERS + 1).flat_map(|row| &row[..cols]).copied().collect();
        let mut features = vec![Feature::Number; cols];
        if category {
            features[NUMBERS] = Feature::Category { levels: self.levels };
        }
        let estimator = ermine::make(&Spec::new(model)).unwrap();
        let raw = Data::new(X::dense(&x[..cut * cols], cols).unwrap()).features(features).unwrap();
        let preparation = Preparation::fit(&raw, &ctx, &Wants::from(&estimator.info())).unwrap();
        let prepared = preparation.apply(&raw.batch().x).unwrap();
        let data = Data::new(prepared.x()).features(preparation.features()).unwrap();
        let held: OwnedX = preparation.apply(&X::dense(&x[cut * cols..], cols).unwrap()).unwrap();
        if model.ends_with("Classifier") || model == "LogisticRegression" {
            let fit = estimator.fit(&data.classes(&self.codes[..cut], 2).unwrap(), &ctx).unwrap();
            let said = predict(&ctx, &*fit.model, &held.x(), Output::Class, true).unwrap();
            let right = said.values.iter().zip(&self.codes[cut..]).filter(|(said, code)| **said == f64::from(**code));
            return right.count() as f64 / tests as f64;
        }
        let fit = estimator.fit(&data.real(&self.real[..cut]).unwrap(), &ctx).unwrap();
        let said = predict(&ctx, &*fit.model, &held.x(), Output::Value, true).unwrap();
        let truth = &self.real[cut..];
        let mean = truth.iter().sum::<f64>() / tests as f64;
        let squares = |of: &dyn Fn(usize) -> f64| (0..tests).map(|i| (truth[i] - of(i)).powi(2)).sum::<f64>();
        1.0 - squares(&|i| said.values[i]) / squares(&|_| mean)
    }
}

/// What the category costs, or brings if below zero: the mean over some tables, and its standard error.
fn cost(model: &str, rows: usize, levels: u32, heard: f64) -> (f64, f64) {
    const TABLES: u64 = 8;
    let tests = 3000;
    let one = |seed: u64| {
        let table = Table::new(rows + tests, levels, heard, seed);
        table.score(model, tests, false) - table.score(model, tests, true)
    };
    let costs: Vec<f64> = (0..TABLES).map(one).collect();
    let mean = costs.iter().sum::<f64>() / TABLES as f64;
    let squares: f64 = costs.iter().map(|cost| (cost - mean).powi(2)).sum();
    (mean, (squares / (TABLES * (TABLES - 1)) as f64).sqrt())
}

const TREES: [&str; 10] = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
];

#[test]
fn an_irrelevant_category_costs_next_to_nothing() {
    let mut dear = Vec::new();
    for (rows, levels) in [(600, 438), (2000, 500), (6000, 500)] {
        for model in TREES {
            let (cost, error) = cost(model, rows, levels, 0.0);
            println!("{model} on {rows} rows with {levels} levels: {cost:.4} +- {error:.4}");
            if cost - error > 0.01 {
                dear.push(format!("{model} on {rows} rows with {levels} levels: {cost:.4} +- {error:.4}"));
            }
        }
    }
    assert!(dear.is_empty(), "{}", dear.join("\n"));
}

#[test]
fn a_category_that_matters_is_heard() {
    let mut deaf = Vec::new();
    for model in TREES {
        let gain = -cost(model, 6000, 100, 1.0).0;
        println!("{model}: {gain:.4}");
        if gain < 0.02 {
            deaf.push(format!("{model}: {gain:.4}"));
        }
    }
    assert!(deaf.is_empty(), "{}", deaf.join("\n"));
}
