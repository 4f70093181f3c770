//! Every model on odd tables, from the file to the saved model and back: what is saved loads, and says of every row
//! what it said before.

use ermine::{Ctx, Entry, Error, MODELS, Output, Spec, Task, Value, X};
use ermine_app::{
    Fitted, Job, file, judge,
    read::{self, ReadOptions},
    rows::{Encoded, Frame, Labels, Rows},
    store::writer::{Content, Output as Place},
};
use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

/// Tables with a column `class`, a column `y`, and something wrong.
fn tables() -> Vec<(&'static str, String)> {
    let noise = |i: usize| ((i * 7919 + 13) % 101) as f64 / 17.0;
    let lines = |head: &str, count: usize, row: &dyn Fn(usize) -> String| {
        (0..count).fold(format!("{head}\n"), |text, i| text + &row(i) + "\n")
    };
    let class = |i: usize| if i.is_multiple_of(2) { "a" } else { "b" };
    vec![
        (
            "a class of one row",
            lines("p,q,class,y", 41, &|i| {
                let class = if i == 40 { "c" } else { class(i) };
                format!("{},{},{class},{}", noise(i), noise(3 * i) + (i % 2) as f64, noise(5 * i) + 1.0)
            }),
        ),
        (
            "values above 1e155",
            lines("p,q,class,y", 24, &|i| {
                format!("{}e155,{},{},{}", noise(i) + 1.0, noise(2 * i), class(i), noise(i) + 1.0)
            }),
        ),
        (
            "values below 1e-155",
            lines("p,q,class,y", 24, &|i| {
                format!("{}e-160,{}e-310,{},{}e-200", noise(i), noise(2 * i), class(i), noise(i) + 1.0)
            }),
        ),
        (
            "missing values, constants and empty columns",
            lines("p,q,r,s,class,y", 30, &|i| {
                let p = if i % 3 == 0 { String::new() } else { noise(i).to_string() };
                let y = if i % 7 == 3 { String::new() } else { (noise(i) + 1.0).to_string() };
                format!("{p},4,,{},{},{y}", noise(2 * i), if i % 11 == 5 { "" } else { class(i) })
            }),
        ),
        (
            "categories, text, dates and flags",
            lines("who,when,flag,note,n,class,y", 40, &|i| {
                let note = format!("the {} fox number {i} jumps over {}", class(i), ["dogs", "hens", "cats"][i % 3]);
                let when = format!("20{:02}-{:02}-{:02}", 10 + i % 9, 1 + i % 12, 1 + i % 28);
                let who = if i % 9 == 4 { "".into() } else { format!("w{}", i % 6) };
                format!("{who},{when},{},{note},{},{},{}", i % 3 == 0, noise(i), class(i / 2), noise(i) + 2.0)
            }),
        ),
        (
            "five rows",
            lines("p,q,class,y", 5, &|i| format!("{},{},{},{}", noise(i), noise(2 * i), class(i), noise(i) + 1.0)),
        ),
        (
            "more columns than rows",
            lines(&((0..30).map(|j| format!("x{j},")).collect::<String>() + "class,y"), 12, &|i| {
                let row: String = (0..30).map(|j| format!("{},", noise(i * 31 + j * j))).collect();
                row + &format!("{},{}", class(i), noise(i) + 1.0)
            }),
        ),
        (
            "odd names and repeated rows",
            lines("\"<img src=x onerror=alert(1)>\",\"\u{1b}[31m\",\"a,\"\"b\",class,y", 24, &|i| {
                format!("{},{},{},{},{}", i % 3, i % 2, 7, class(i), i % 5 + 1)
            }),
        ),
    ]
}

fn quick(entry: &Entry) -> Spec {
    let declared = (entry.params)();
    let fewer = [("max_iter", 20), ("n_estimators", 5)];
    let fewer = fewer.into_iter().filter(|(name, _)| declared.iter().any(|param| param.name == *name));
    Spec { name: entry.name.into(), params: fewer.map(|(name, n)| (name.to_string(), Value::Int(n))).collect() }
}

fn outputs(fitted: &Fitted, x: &X, frame: &Frame, ctx: &Ctx) -> Vec<Result<Vec<u64>, String>> {
    let outputs = fitted.model.outputs().into_iter().filter(|(output, _)| *output != Output::Inverse);
    let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect();
    let said = |output| match fitted.predict_with(ctx, x, &frame.texts, output) {
        Ok(values) => Ok(bits(values.values)),
        Err(error) => Err(error.to_string()),
    };
    outputs.map(|(output, _)| said(output)).collect()
}

/// The whole road; `None` when the fit was refused in words.
fn road(data: &Path, spec: &Spec, folds: usize, test: f64) -> Result<Option<Fitted>, String> {
    let entry = ermine::entry(&spec.name).unwrap();
    let ctx = Ctx::new(0).with_threads(1);
    let task = entry.info.task;
    let (target, other) = if task == Task::Regression { ("y", "class") } else { ("class", "y") };
    let mut job = Job::new(data);
    (job.model, job.folds, job.test) = (Some(spec.clone()), folds, test);
    job.ignore = vec![other.into()];
    job.target = Some(target.into());
    let (fitted, report) = match job.run(&ctx) {
        Ok(found) => found,
        Err(Error::Cancelled) => return Err("cancelled by nobody".into()),
        Err(error) if error.to_string().len() > 10 => return Ok(None),
        Err(error) => return Err(format!("refused without words: {error}")),
    };
    serde_json::to_string(&report).map_err(|error| error.to_string())?;
    let place = data.with_file_name(format!("{}.ermine", entry.name));
    let output = Place::open(&place, Content::Model, false, &[]).map_err(|error| error.to_string())?;
    file::save(&fitted, &output).map_err(|error| format!("not saved: {error}"))?;
    let loaded = file::load(&place).map_err(|error| format!("saved and not loaded: {error}"))?;
    if loaded.header != fitted.header {
        return Err("another header".into());
    }
    let read = ReadOptions { schema: Some(loaded.header.schema.clone()), ..ReadOptions::default() };
    let table = read::read(data, &read).map_err(|error| error.to_string())?;
    let frame = loaded.frame(&table).map_err(|error| error.to_string())?;
    let x = X::dense(&frame.x.values, frame.x.cols.max(1)).map_err(|error| error.to_string())?;
    if outputs(&fitted, &x, &frame, &ctx) != outputs(&loaded, &x, &frame, &ctx) {
        return Err("the loaded model says something else".into());
    }
    if matches!(task, Task::Regression | Task::Classification) {
        // What evaluate and explain do with the rows whose target is known.
        let all = read::read(data, &ReadOptions::default()).map_err(|error| error.to_string())?;
        let column = all.column(target).map_err(|error| error.to_string())?;
        let truth = match task {
            Task::Classification => Encoded::with_names(column, loaded.classes()),
            _ => Encoded::real(target, column).map_err(|error| error.to_string())?,
        };
        let known: Vec<usize> = (0..all.rows()).filter(|&row| !truth.is_missing(row)).collect();
        let (features, texts) = (loaded.header.features(), frame.texts);
        let rows = Rows {
            x: frame.x,
            features,
            labels: Labels { target: Some(truth), ..Labels::default() },
            texts,
            one_unit: false,
        }
        .take(&known);
        let data = rows.data().map_err(|error| error.to_string())?;
        if let Ok(said) = loaded.predictions(&ctx, &data.batch().x, &rows.texts) {
            let truth = rows.labels.target.as_ref().unwrap();
            judge::scores(truth, &said, None).map_err(|error| format!("evaluate: {error}"))?;
            judge::confusion(truth, &said, None);
            // Shuffled rows may have no neighbour within a radius, which is said with a hint.
            match loaded.insight(&rows, &ctx) {
                Err(error) if !error.to_string().contains("hint:") => return Err(format!("explain: {error}")),
                _ => {}
            }
        }
    }
    Ok(Some(loaded))
}

/// `road`, with panics as problems.
fn walk(data: &Path, spec: &Spec, folds: usize, test: f64) -> Result<Option<Fitted>, String> {
    catch_unwind(AssertUnwindSafe(|| road(data, spec, folds, test))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        Err(format!("panic: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("?")))
    })
}

#[test]
fn what_is_saved_loads_whatever_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let tables = tables();
    let work = |thread: usize| {
        let (mut fits, mut wrong) = (0, Vec::new());
        for (what, text) in &tables {
            let place = folder.path().join(format!("{thread}"));
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("t.csv"), text).unwrap();
            for (i, entry) in MODELS.iter().enumerate().skip(thread).step_by(2) {
                // Scores are asked for in all ways: by folds, by a test part, by both, and not at all.
                let (folds, test) = [(0, 0.2), (3, 0.2), (3, 0.0), (0, 0.0)][i / 2 % 4];
                match walk(&place.join("t.csv"), &quick(entry), folds, test) {
                    Ok(found) => fits += usize::from(found.is_some()),
                    Err(problem) => wrong.push(format!("{} on {what}: {problem}", entry.name)),
                }
            }
        }
        (fits, wrong)
    };
    let found = std::thread::scope(|scope| {
        let work = &work;
        [0, 1].map(|thread| scope.spawn(move || work(thread))).map(|thread| thread.join().unwrap())
    });
    let fits: usize = found.iter().map(|(fits, _)| fits).sum();
    let wrong: Vec<&String> = found.iter().flat_map(|(_, wrong)| wrong).collect();
    println!("{fits} of {} fitted", MODELS.len() * tables.len());
    assert!(wrong.is_empty(), "{} lost:\n{wrong:#?}", wrong.len());
    assert!(fits > MODELS.len() * tables.len() / 2, "only {fits} fitted");
}

#[test]
fn models_that_were_lost_are_kept_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let tables = tables();
    let rare = place("rare.csv", &tables[0].1);
    let kept = |data: &Path, text: &str, folds, test| {
        let spec = Spec::parse(text).unwrap_or_else(|| Spec::new(text));
        walk(data, &spec, folds, test).unwrap_or_else(|problem| panic!("{text}: {problem}"))
    };
    for model in ["LogisticRegression", "DecisionTreeClassifier", "RandomForestClassifier", "GaussianNB"] {
        for (folds, test) in [(5, 0.2), (0, 0.2), (5, 0.0), (0, 0.0)] {
            assert!(kept(&rare, model, folds, test).is_some(), "{model}");
        }
    }
    assert!(kept(&rare, "RadiusNeighborsRegressor", 5, 0.2).is_some());
    assert!(kept(&place("large.csv", &tables[1].1), "Ridge", 5, 0.2).is_some());
    kept(&rare, "AdaBoostClassifier(learning_rate=5e-324)", 0, 0.2);
    kept(&rare, "Nystroem(kernel=poly, degree=50)", 0, 0.0);
    let nested = (0..10).fold("Ridge".to_string(), |inner, _| format!("VotingRegressor(estimators=[{inner}])"));
    assert!(kept(&rare, &nested, 0, 0.2).is_some(), "ten deep is not too deep");
    // What cannot be loaded is refused before it is fitted, and does not exhaust the stack.
    let deep = (0..5000).fold("Ridge".to_string(), |inner, _| format!("VotingRegressor(estimators=[{inner}])"));
    assert!(kept(&rare, &deep, 0, 0.2).is_none());
}

#[test]
fn scores_that_are_not_numbers_load() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("t.csv");
    fs::write(&data, &tables()[0].1).unwrap();
    let mut fitted = walk(&data, &Spec::new("GaussianNB"), 0, 0.2).unwrap().unwrap();
    fitted.header.scores.entry("test".into()).or_default().insert("r2".into(), None);
    let bytes = file::to_bytes(&fitted).unwrap();
    let loaded = file::from_bytes(&bytes, Path::new("model")).unwrap();
    assert_eq!(loaded.header, fitted.header);
}
