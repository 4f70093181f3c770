//! The main job through the real binary: looking, comparing, searching, explaining, reporting.

use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn penguins() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/penguins.csv");
    path.display().to_string()
}

fn run(arguments: &[&str]) -> Output {
    let arguments = arguments.iter().map(|word| word.replace("PENGUINS", &penguins()));
    Command::new(env!("CARGO_BIN_EXE_ermine")).env("NO_COLOR", "1").args(arguments).output().unwrap()
}

fn text(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(&[arguments, &["--json"]].concat())).unwrap()
}

/// A number that looks random and is the same everywhere.
fn noise(i: usize) -> f64 {
    let mut x = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

fn written(folder: &Path, name: &str, lines: impl IntoIterator<Item = String>) -> String {
    let path = folder.join(name);
    fs::write(&path, lines.into_iter().map(|line| line + "\n").collect::<String>()).unwrap();
    path.display().to_string()
}

/// A few quick models, so that the tests of everything around them are quick too.
const QUICK: &str = "RidgeCV,KNeighborsRegressor,DecisionTreeRegressor";

#[test]
fn what_gives_the_target_away_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let rows = (0..200).map(|i| {
        let (a, b, c) = (noise(3 * i), (noise(3 * i + 1) * 100.0).round(), (noise(3 * i + 2) * 50.0).round());
        format!("{},{a},{b},{c},{},{}", i + 1, b + c, (b + c) * 2.54 + 1.0)
    });
    let data = written(
        folder.path(),
        "sum.csv",
        ["id,a,casual,registered,total,total_cm".to_string()].into_iter().chain(rows),
    );
    let report = json(&["fit", &data, "--target", "total", "--models", QUICK]);
    let dropped: Vec<&str> =
        report["data"]["dropped"].as_array().unwrap().iter().map(|drop| drop["column"].as_str().unwrap()).collect();
    assert_eq!(dropped, ["id", "total_cm", "casual", "registered"]);
    assert!(
        report["notes"].to_string().contains("not significantly better"),
        "noise alone is left: {}",
        report["notes"]
    );
    let kept = json(&["fit", &data, "--target", "total", "--models", QUICK, "--keep", "casual,registered"]);
    assert!(kept["test"][0][1].as_f64().unwrap() > 0.99);
    assert!(kept["notes"].to_string().contains("'casual' is kept"), "{}", kept["notes"]);
}

#[test]
fn the_same_answer_for_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = |threads: &str| {
        let model = folder.path().join("model.ermine");
        let path = model.to_str().unwrap();
        text(&["fit", "PENGUINS", "--target", "body_mass_g", "--threads", threads, "-o", path, "--models", QUICK]);
        fs::read(model).unwrap()
    };
    let one = bytes("1");
    assert_eq!(one, bytes("2"));
    assert_eq!(one, bytes("5"));
}

#[test]
fn a_budget_that_is_too_small_still_gives_a_model() {
    let said = text(&["fit", "PENGUINS", "--target", "species", "--budget", "1ms"]);
    assert!(said.contains("LogisticRegression") && said.contains("the budget ran out"), "{said}");
    let output = run(&["fit", "PENGUINS", "--target", "species", "--budget", "soon"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn models_are_compared_and_one_is_tuned() {
    let found = json(&[
        "compare",
        "PENGUINS",
        "--target",
        "species",
        "--models",
        "LogisticRegression,GaussianNB",
        "--folds",
        "3",
    ]);
    let standings = found["comparison"]["standings"].as_array().unwrap();
    assert_eq!(standings[0]["model"], "LogisticRegression");
    assert!(standings[0]["mean"].as_f64().unwrap() > standings[1]["mean"].as_f64().unwrap());
    let comparison = &found["comparison"];
    assert_eq!((&comparison["folds"], &comparison["repeats"]), (&3.into(), &2.into()));
    assert_eq!(standings[0]["scores"].as_array().unwrap().len(), 6);
    let tuned = json(&["tune", "PENGUINS", "--target", "species", "--model", "KNeighborsClassifier", "--draws", "6"]);
    let standings = tuned["comparison"]["standings"].as_array().unwrap();
    assert!(standings.len() > 3 && standings.iter().all(|standing| standing["model"] == "KNeighborsClassifier"));
    let output = run(&["tune", "PENGUINS", "--target", "species"]);
    assert_eq!(output.status.code(), Some(2));
    let output = run(&["fit", "PENGUINS", "--target", "species", "--scoring", "r2"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("metric of regression"));
}

#[test]
fn an_error_is_split_into_parts_that_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let parts = |target: &str, model: &[&str]| {
        let path = folder.path().join("m.ermine").display().to_string();
        text(&[&["fit", "PENGUINS", "--target", target, "-o", &path, "--model"], model].concat());
        let found = json(&["explain", &path, "PENGUINS", "--bias-variance", "--refits", "12"]);
        let part = |name: &str| found[name].as_f64().unwrap();
        let sum = part("bias") + part("net_variance") + part("noise");
        assert!((part("error") - sum).abs() <= 1e-9 * part("error"), "{found}");
        assert_eq!(found["refits"], 12);
        (part("bias"), part("variance"), found["verdict"].as_str().unwrap().to_string())
    };
    let simple = parts("body_mass_g", &["DecisionTreeRegressor", "--max-depth", "1"]);
    let flexible = parts("body_mass_g", &["DecisionTreeRegressor"]);
    assert!(simple.0 > flexible.0 && simple.1 < flexible.1, "{simple:?} {flexible:?}");
    assert!(flexible.2.contains("variance"), "{}", flexible.2);
    parts("species", &["KNeighborsClassifier"]);
    // Without the target there is no error.
    let path = folder.path().join("m.ermine").display().to_string();
    let header = fs::read_to_string(penguins()).unwrap().lines().take(30).collect::<Vec<_>>().join("\n");
    let without = written(folder.path(), "without.csv", [header.replacen("species", "kind", 1)]);
    let output = run(&["explain", &path, &without, "--bias-variance"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("no column 'species'"), "{output:?}");
}

#[test]
fn a_row_is_explained_by_parts_that_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("m.ermine");
    let model = model.to_str().unwrap();
    text(&["fit", "PENGUINS", "--target", "body_mass_g", "--model", "RandomForestRegressor", "-o", model]);
    let why = json(&["explain", model, "PENGUINS", "--row", "17"]);
    let parts: f64 = why["parts"].as_array().unwrap().iter().map(|part| part[2].as_f64().unwrap()).sum();
    let (base, prediction) = (why["base"].as_f64().unwrap(), why["prediction"].as_f64().unwrap());
    assert!((base + parts - prediction).abs() < 1e-6 * prediction, "{why}");
    let all = text(&["explain", model, "PENGUINS"]);
    assert!(all.contains("drivers") && all.contains("along"), "{all}");
    assert!(text(&["explain", model]).contains("RandomForestRegressor"));
    let output = run(&["explain", model, "PENGUINS", "--row", "999"]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn text_and_dates_are_learnt_from() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["river", "stone", "cloud", "letter", "garden", "window", "paper", "shoulder", "market", "summer"];
    let rows = (0..240).map(|i| {
        let some: Vec<&str> = (0..6).map(|k| words[(noise(7 * i + k) * 10.0) as usize]).collect();
        let spam = i % 3 == 0;
        let win = if spam { "prize winner" } else { "see you" };
        format!(
            "2024-{:02}-{:02},{} {win} {},{}",
            1 + i % 12,
            1 + i % 28,
            some.join(" "),
            i,
            if spam { "spam" } else { "ham" }
        )
    });
    let data = written(folder.path(), "mail.csv", ["sent,message,label".to_string()].into_iter().chain(rows));
    let model = folder.path().join("mail.ermine");
    let model = model.to_str().unwrap();
    let arguments = ["fit", &data, "--target", "label", "--models", "LogisticRegression,MultinomialNB", "-o", model];
    let report = json(&arguments);
    assert!(report["test"][0][1].as_f64().unwrap() > 0.95, "{}", report["test"]);
    assert_eq!(report["insight"]["importance"][0]["name"], "message");
    let predicted = text(&["predict", model, &data]);
    assert_eq!(predicted.lines().count(), 241);
    let header = json(&["inspect", model]);
    let features = header["features"].to_string();
    assert!(features.contains("message:prize") && features.contains("month(sent)"), "{features}");
    let evaluated = json(&["evaluate", model, &data]);
    assert!(evaluated["scores"]["accuracy"].as_f64().unwrap() > 0.95);
}

#[test]
fn formulas_make_features() {
    let folder = tempfile::tempdir().unwrap();
    let rows = (0..200).map(|i| {
        let (x, job) = (1.0 + 9.0 * noise(2 * i), ["smith", "baker"][i % 2]);
        let slope = if job == "smith" { 3.0 } else { -2.0 };
        format!("{x},{job},{}", slope * x + 5.0 * f64::ln(x) + 0.01 * noise(2 * i + 1))
    });
    let data = written(folder.path(), "f.csv", ["x,job,y".to_string()].into_iter().chain(rows));
    let model = folder.path().join("f.ermine");
    let model = model.to_str().unwrap();
    let linear = ["fit", &data, "--target", "y", "--model", "LinearRegression"];
    let plain = json(&linear)["test"][0][1].as_f64().unwrap();
    let made = json(&[&linear[..], &["--features", "x:job + job + log(x)", "-o", model]].concat());
    assert!(made["test"][0][1].as_f64().unwrap() > 0.99999 && plain < 0.9, "{plain} {}", made["test"]);
    let again = text(&["predict", model, &data]);
    assert_eq!(again.lines().count(), 201);
    let output = run(&[&linear[..], &["--features", "lgo(x)"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("did you mean 'log'?"));
}

#[test]
fn a_report_is_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let arguments = ["fit", "PENGUINS", "--target", "species", "--models", "GaussianNB,DecisionTreeClassifier"];
    text(&[&arguments[..], &["--report", page.to_str().unwrap()]].concat());
    let page = fs::read_to_string(page).unwrap();
    let elsewhere = ["src=\"http", "href=\"http", "@import", "url(http"];
    assert!(elsewhere.iter().all(|link| !page.contains(link)), "the page loads something");
    let start = page.find("id=\"data\">").unwrap() + 10;
    let data: Value = serde_json::from_str(&page[start..start + page[start..].find("</script>").unwrap()]).unwrap();
    for section in ["roc", "precision_recall", "calibration", "importance", "dependence"] {
        assert!(!data["insight"][section].as_array().unwrap().is_empty(), "{section}");
    }
    assert!(
        data["insight"]["curve"]["verdict"].is_string() && data["command"].as_str().unwrap().starts_with("ermine fit")
    );
}

#[test]
fn groups_and_times_are_not_torn_apart() {
    let folder = tempfile::tempdir().unwrap();
    // Five rows of each subject, alike but for the last digits, and a target of the subject alone.
    let rows = (0..300).map(|i| {
        let (subject, wobble) = (i / 5, 1e-3 * noise(i));
        let of = |k: usize| noise(1000 + 7 * subject + k);
        format!("s{subject},{},{},{}", of(0) + wobble, of(1) + wobble, of(2))
    });
    let data = written(folder.path(), "subjects.csv", ["subject,a,b,y".to_string()].into_iter().chain(rows));
    let ask = |data: &str, how: &[&str]| {
        let words = [
            "fit",
            data,
            "--target",
            "y",
            "--model",
            "KNeighborsRegressor",
            "--n-neighbors",
            "1",
            "--ignore",
            "subject",
        ];
        json(&[&words[..], how].concat())
    };
    let score = |report: &Value| report["test"][0][1].as_f64().unwrap();
    let (torn, whole) = (ask(&data, &[]), ask(&data, &["--group", "subject"]));
    assert!(score(&torn) > 0.9 && score(&whole) < 0.2, "{} {}", score(&torn), score(&whole));
    // Folds follow the same rule as the test.
    let folded = |report: &Value| report["folds"]["scores"][0][1].as_f64().unwrap();
    assert!(folded(&torn) > 0.9 && folded(&whole) < 0.2, "{} {}", folded(&torn), folded(&whole));
    assert!(whole["notes"].to_string().contains("stay together"), "{}", whole["notes"]);
    assert_eq!(ask(&data, &["--split", "group:subject"])["test"], whole["test"]);
    let noticed = text(&["fit", &data, "--target", "y", "--models", QUICK, "--effort", "quick"]);
    assert!(noticed.contains("--group subject"), "{noticed}");

    // What rises with time is not seen in the past.
    let rows = (0..200).map(|i| format!("s,{},{},{}", i, noise(i), f64::from(i as u32) + noise(i)));
    let data = written(folder.path(), "times.csv", ["subject,when,a,y".to_string()].into_iter().chain(rows));
    let (mixed, future) = (ask(&data, &["--keep", "when"]), ask(&data, &["--keep", "when", "--split", "time:when"]));
    assert!(score(&mixed) > 0.99 && score(&future) < 0.0, "{} {}", score(&mixed), score(&future));

    let refused = |how: &str| String::from_utf8(run(&["fit", &data, "--target", "y", "--split", how]).stderr).unwrap();
    assert!(refused("time:subject").contains("cannot be put in order by 'subject'"), "{}", refused("time:subject"));
    assert!(refused("weekly").contains("random, group:COLUMN or time:COLUMN"), "{}", refused("weekly"));
    assert!(refused("time:wen").contains("did you mean 'when'?"), "{}", refused("time:wen"));
}

#[test]
fn intervals_hold_what_they_promise() {
    let folder = tempfile::tempdir().unwrap();
    let table = |name: &str, rows: std::ops::Range<usize>| {
        let row = |i: usize| {
            let (a, b) = (noise(3 * i), noise(3 * i + 1));
            format!("{a},{b},{}", 3.0 * a - b + (noise(3 * i + 2) - 0.5).powi(3))
        };
        written(folder.path(), name, ["a,b,y".to_string()].into_iter().chain(rows.map(row)))
    };
    let (old, new) = (table("old.csv", 0..600), table("new.csv", 600..1600));
    let model = folder.path().join("m.ermine").display().to_string();
    text(&["fit", &old, "--target", "y", "--model", "RandomForestRegressor", "-o", &model]);
    let said = text(&["predict", &model, &new, "--interval", "0.9", "--keep", "y"]);
    assert_eq!(said.lines().next(), Some("y,predicted y,low,high"));
    let rows = said.lines().skip(1).map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect::<Vec<f64>>());
    let covered = rows.filter(|row| row[2] <= row[0] && row[0] <= row[3]).count();
    // 120 test rows: the level itself is known to within three standard errors of 0.027.
    assert!((820..=980).contains(&covered), "{covered} of 1000");
    let refused = run(&["predict", &model, &new, "--interval", "0.999"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("too few"), "{refused:?}");
    assert_eq!(run(&["predict", &model, &new, "--interval", "90"]).status.code(), Some(2));
}
