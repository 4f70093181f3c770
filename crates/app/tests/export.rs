//! Every model as a formula says what the model says, also of rows with missing values and levels that it does not
//! know.

use ermine::{Ctx, Entry, MODELS, Output, Spec, Task, Value, X};
use ermine_app::{
    Fitted, Job,
    export::{Written, code, onnx, sql},
    read::{self, ReadOptions},
};
use std::{fs, path::Path};

/// Models without a form outside Ermine: scores of their own rows only, an iteration, or a function that no standard
/// has.
const NONE: &[&str] = &[
    "AgglomerativeClustering",
    "DBSCAN",
    "LocalOutlierFactor",
    "NearestNeighbors",
    "QuantileTransformer",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
];

fn table(rows: usize, new: bool, whole: bool) -> String {
    let noise = |i: usize| ((i * 7919 + 13) % 101) as f64 / 17.0;
    let mut text = "p,q,r,kind,class,y\n".to_string();
    for i in 0..rows {
        let i = if new { i + 1000 } else { i };
        let kind = if new && i % 7 == 0 { "other" } else { ["red", "gr'een", "blue"][i % 3] };
        let kind = if !whole && i % 11 == 4 { "" } else { kind };
        let q = if !whole && i % 5 == 2 { String::new() } else { format!("{}", noise(3 * i)) };
        let class = ["a", "b", "c"][(noise(i) + noise(3 * i) + (i % 3) as f64) as usize / 5 % 3];
        let y = noise(i) * 2.0 + noise(5 * i) + (i % 3) as f64 + 0.5;
        text += &format!("{},{q},{},{kind},{class},{y}\n", noise(i), noise(5 * i) - 3.0);
    }
    text
}

fn quick(entry: &Entry) -> Spec {
    let declared = (entry.params)();
    let fewer = [("max_iter", 20), ("n_estimators", 5)];
    let fewer = fewer.into_iter().filter(|(name, _)| declared.iter().any(|param| param.name == *name));
    Spec { name: entry.name.into(), params: fewer.map(|(name, n)| (name.to_string(), Value::Int(n))).collect() }
}

fn fit(data: &Path, entry: &Entry) -> Result<Fitted, String> {
    let (target, other) = if entry.info.task == Task::Regression { ("y", "class") } else { ("class", "y") };
    let mut job = Job::new(data);
    (job.model, job.folds, job.test) = (Some(quick(entry)), 0, 0.0);
    job.ignore = vec![other.into()];
    if entry.info.word_counts || entry.info.non_negative {
        job.ignore.push("r".into());
    }
    if entry.info.one_column {
        job.ignore.extend(["q", "r", "kind"].map(String::from));
    }
    job.target = Some(target.into());
    let ctx = Ctx::new(0).with_threads(1);
    job.run(&ctx).map(|(fitted, _)| fitted).map_err(|error| error.to_string())
}

/// The largest difference from the model on the rows of a file.
fn difference(fitted: &Fitted, written: &Written, data: &Path) -> Result<f64, String> {
    let options = ReadOptions { schema: Some(fitted.header.schema.clone()), ..ReadOptions::default() };
    let table = read::read(data, &options).map_err(|error| error.to_string())?;
    let frame = fitted.frame(&table).map_err(|error| error.to_string())?;
    let x = X::dense(&frame.x.values, frame.x.cols).map_err(|error| error.to_string())?;
    let mut most: f64 = 0.0;
    for (output, id) in &written.said {
        let said = fitted.predict(&Ctx::new(0), &x, *output).map_err(|error| error.to_string())?;
        for row in 0..said.rows {
            let found = &written.formula.evaluate(frame.x.row(row))[id.0];
            if found.len() != said.cols {
                return Err(format!("{output:?} has {} columns, not {}", found.len(), said.cols));
            }
            for (found, expected) in found.iter().zip(said.row(row)) {
                let off = (found - expected).abs() / expected.abs().max(1.0);
                if off.is_nan() && !(found.is_nan() && expected.is_nan()) {
                    return Err(format!("{output:?}, row {row}: {found} is not {expected}"));
                }
                most = most.max(off);
            }
        }
    }
    Ok(most)
}

#[test]
fn formulas_say_what_models_say() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    fs::write(place("old.csv"), table(150, false, false)).unwrap();
    fs::write(place("new.csv"), table(80, true, false)).unwrap();
    let mut wrong = Vec::new();
    let (mut forms, mut in_sql, mut in_c) = (0, Vec::new(), 0);
    for entry in MODELS {
        let fitted = match fit(&place("old.csv"), entry) {
            Ok(fitted) => fitted,
            Err(problem) => {
                println!("{}: not fitted: {problem}", entry.name);
                continue;
            }
        };
        let none = NONE.contains(&entry.name);
        let written = match Written::of(&fitted) {
            Ok(written) => written,
            Err(error) => {
                if !none {
                    wrong.push(format!("{}: {error}", entry.name));
                }
                continue;
            }
        };
        if none {
            wrong.push(format!("{} has a form now", entry.name));
        }
        if !written.said.iter().any(|(output, _)| fitted.natural_outputs().contains(output)) {
            wrong.push(format!("{} does not say what it is asked for", entry.name));
        }
        forms += 1;
        // These refuse a row with a level that they have not seen.
        let refuses = ["OneHotEncoder", "OrdinalEncoder"].contains(&entry.name);
        for data in ["old.csv", "new.csv"].into_iter().filter(|data| !refuses || *data == "old.csv") {
            match difference(&fitted, &written, &place(data)) {
                Ok(most) if most <= 1e-9 => {}
                Ok(most) => wrong.push(format!("{} on {data}: off by {most:e}", entry.name)),
                Err(problem) => wrong.push(format!("{} on {data}: {problem}", entry.name)),
            }
        }
        onnx::model(&fitted).unwrap();
        if sql::select(&fitted, "data", &[], sql::Dialect::default()).is_ok() {
            in_sql.push(entry.name);
        }
        in_c += usize::from(code::source(&fitted, code::Language::C).is_ok());
        // Probabilities come along where there are any.
        let has = |wanted: Output| written.said.iter().any(|(output, _)| *output == wanted);
        if fitted.has(Output::Probability) && !has(Output::Probability) && !["SVC", "NuSVC"].contains(&entry.name) {
            wrong.push(format!("{} loses its probabilities", entry.name));
        }
    }
    println!("{forms} forms, {} in SQL, {in_c} in C", in_sql.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(forms > 80, "{forms}");
}

#[test]
fn classes_named_by_cost_are_named_so_outside() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    fs::write(place("old.csv"), table(150, false, false)).unwrap();
    fs::write(place("new.csv"), table(80, true, false)).unwrap();
    for name in ["LogisticRegression", "RandomForestClassifier"] {
        let mut fitted = fit(&place("old.csv"), ermine::entry(name).unwrap()).unwrap();
        let of = |fitted: &Fitted| Written::of(fitted).unwrap();
        let likeliest = of(&fitted);
        fitted.header.target.as_mut().unwrap().costs = vec![1.0, 6.0, 0.3];
        assert!(difference(&fitted, &of(&fitted), &place("new.csv")).unwrap() < 1e-9, "{name}");
        // And the costs make a difference.
        assert!(difference(&fitted, &likeliest, &place("new.csv")).unwrap() >= 0.5, "{name}");
    }
}
