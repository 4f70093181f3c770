//! What a person meets: columns kept beside predictions, warnings, suggestions, clusters, outliers, weights in the
//! units of the file.

use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn penguins() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/penguins.csv")
}

fn run(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ermine"));
    command.env("NO_COLOR", "1").current_dir(folder).args(words).output().expect("it starts")
}

fn done(folder: &Path, words: &[&str]) -> (String, String) {
    let output = run(folder, words);
    let (out, talk) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{words:?}: {talk}");
    (out.into_owned(), talk.into_owned())
}

fn json(folder: &Path, words: &[&str]) -> Value {
    serde_json::from_str(&done(folder, words).0).expect("JSON")
}

fn refused(folder: &Path, words: &[&str]) -> String {
    let output = run(folder, words);
    assert!(!output.status.success(), "{words:?} should be refused");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::copy(penguins(), folder.path().join("penguins.csv")).expect("copied");
    // y = 2 + 3 x - 0.5 z, with an id that has zeros in front.
    let rows: String = (0..60)
        .map(|i| {
            let (x, z) = (f64::from(i) * 10.0, f64::from((i * 7) % 13));
            format!("{i:03},{x},{z},{}\n", 2.0 + 3.0 * x - 0.5 * z)
        })
        .collect();
    fs::write(folder.path().join("line.csv"), format!("id,x,z,y\n{rows}")).expect("written");
    folder
}

#[test]
fn predictions_stand_beside_the_columns_that_are_kept() {
    let folder = folder();
    let at = folder.path();
    done(at, &["fit", "line.csv", "--target", "y", "--model", "Ridge", "--ignore", "id", "-o", "line.ermine"]);
    fs::write(at.join("new.csv"), "id,x,z\n007,10,3\n008,9999,3\n").expect("written");
    let (kept, talk) = done(at, &["predict", "line.ermine", "new.csv", "--keep", "id"]);
    let lines: Vec<&str> = kept.lines().collect();
    assert_eq!(lines[0], "id,y");
    assert!(lines[1].starts_with("007,") && lines[2].starts_with("008,"), "{kept}");
    assert!(talk.contains("column 'x': 1 row lies outside 0 to 590"), "{talk}");
    done(at, &["predict", "line.ermine", "line.csv", "--append", "-o", "out.csv"]);
    let written = fs::read_to_string(at.join("out.csv")).expect("a file");
    assert!(written.starts_with("id,x,z,y,predicted y\n000,0,0,2,"), "{written}");
    assert!(refused(at, &["predict", "line.ermine", "line.csv", "-o", "line.ermine"]).contains("line.ermine"));
    assert!(refused(at, &["predict", "line.ermine", "line.csv", "--keep", "nosuch"]).contains("nosuch"));
}

#[test]
fn a_field_that_does_not_fit_is_missing_and_many_are_refused() {
    let folder = folder();
    let at = folder.path();
    let rows = |odd: &[usize], field: &str| -> String {
        let time =
            |i: usize| if odd.contains(&i) { field.into() } else { format!("{}:{:02}", 8 + i / 10, 6 * (i % 10)) };
        (0..60).map(|i| format!("{},{i},{}\n", time(i), 3 * i)).collect()
    };
    fs::write(at.join("caught.csv"), format!("at,n,y\n{}", rows(&[], ""))).expect("written");
    done(at, &["fit", "caught.csv", "--target", "y", "--model", "Ridge", "-o", "caught.ermine"]);
    let predict = |odd: &[usize], field: &str| {
        fs::write(at.join("new.csv"), format!("at,n,y\n{}", rows(odd, field))).expect("written");
        run(at, &["predict", "caught.ermine", "new.csv"])
    };
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let one = predict(&[11], "9.12");
    assert!(one.status.success(), "{}", said(&one));
    assert!(said(&one).contains("new.csv:13: column 'at': '9.12' is not"), "{}", said(&one));
    assert!(said(&one).contains("; it is taken for missing"), "{}", said(&one));
    // As if nothing stood there.
    assert_eq!(one.stdout, predict(&[11], "").stdout);
    let three = predict(&[11, 12, 40], "late");
    assert!(said(&three).contains("it and 2 more are taken for missing"), "{}", said(&three));
    // A file that is spelt otherwise is not guessed at.
    let many = predict(&[5, 11, 12, 40], "late");
    assert!(!many.status.success() && said(&many).contains("new.csv:7: column 'at': 'late' is not"), "{}", said(&many));
}

#[test]
fn names_of_other_packages_are_understood() {
    let folder = folder();
    let suggested = |words: &[&str]| refused(folder.path(), words);
    for (model, meant) in [
        ("rf", "RandomForestClassifier, RandomForestRegressor"),
        ("RandomForest", "RandomForestClassifier, RandomForestRegressor"),
        ("xgboost", "HistGradientBoostingClassifier, HistGradientBoostingRegressor"),
    ] {
        let said = suggested(&["fit", "penguins.csv", "--target", "species", "--model", model]);
        assert!(said.contains(&format!("there is no model '{model}'; expected one of: {meant}")), "{said}");
    }
    for (metric, meant) in [("rmse", "root_mean_squared_error"), ("acc", "accuracy")] {
        let said = suggested(&["fit", "penguins.csv", "--target", "body_mass_g", "--scoring", metric]);
        assert!(said.contains(meant), "{said}");
    }
}

#[test]
fn weights_are_in_the_units_of_the_file() {
    let folder = folder();
    let fit = |more: &[&str]| {
        let words = ["fit", "line.csv", "--target", "y", "--model", "Ridge", "--alpha", "1e-9", "--ignore", "id"];
        json(folder.path(), &[&words[..], more, &["--json"]].concat())
    };
    for more in [&[][..], &["--no-scale"]] {
        let report = fit(more);
        let weight = |name: &str| {
            let drivers = report["drivers"].as_array().expect("weights");
            let found = drivers.iter().find(|driver| driver["name"] == name).expect("the column");
            found["weights"][0].as_f64().expect("a number")
        };
        assert!((weight("x") - 3.0).abs() < 1e-6 && (weight("z") + 0.5).abs() < 1e-6, "{report}");
        assert!((report["intercept"][0].as_f64().expect("a number") - 2.0).abs() < 1e-4, "{}", report["intercept"]);
        let scaled = report["preparation"][0]["scaled"].as_bool().expect("known");
        assert_eq!(scaled, more.is_empty(), "{}", report["preparation"]);
    }
}

#[test]
fn k_means_chooses_its_number_and_says_what_clusters_are() {
    let folder = folder();
    let at = folder.path();
    let columns = "--ignore=species,island,sex,year";
    let chosen = json(at, &["fit", "penguins.csv", "--model", "KMeans", columns, "--json"]);
    let curve = &chosen["insight"]["cluster_curve"];
    assert_eq!(curve["criterion"], "silhouette");
    let best = curve["points"]
        .as_array()
        .expect("points")
        .iter()
        .max_by(|a, b| a["value"].as_f64().unwrap_or(-1.0).total_cmp(&b["value"].as_f64().unwrap_or(-1.0)));
    assert_eq!(best.expect("one")["k"], curve["chosen"]);
    assert_eq!(chosen["clusters"].as_array().expect("sizes").len() as u64, curve["chosen"].as_u64().expect("k"));
    let middle = &chosen["insight"]["groups"][0]["middle"];
    let mass = middle.as_array().expect("columns").iter().find(|m| m["column"] == "body_mass_g").expect("a column");
    assert!((2700.0..6300.0).contains(&mass["mean"].as_f64().expect("grams")), "{mass}");
    // One start of k-means++ can end anywhere; several end at the best that is known.
    let three = json(at, &["fit", "penguins.csv", "--model", "KMeans", "--n-clusters", "3", columns, "--json"]);
    let objective = three["log"]["objective"].as_array().expect("passes").last().and_then(Value::as_f64);
    assert!(objective.expect("inertia") < 385.0, "{objective:?}");
    let mixture = json(at, &["fit", "penguins.csv", "--model", "GaussianMixture", columns, "--json"]);
    assert_eq!(mixture["insight"]["cluster_curve"]["criterion"], "bic");
    assert!(refused(at, &["tune", "penguins.csv", "--model", "KMeans"]).contains("KMeans has none"));
}

#[test]
fn components_show_what_they_explain() {
    let folder = folder();
    let report =
        json(folder.path(), &["fit", "penguins.csv", "--model", "PCA", "--ignore=species,island,sex,year", "--json"]);
    let parts = report["components"].as_array().expect("components");
    let shares: Vec<f64> = parts.iter().map(|part| part["share"].as_f64().expect("a share")).collect();
    assert!(shares.windows(2).all(|pair| pair[0] >= pair[1]), "{shares:?}");
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
}

#[test]
fn encoded_columns_are_called_by_their_levels() {
    let folder = folder();
    let at = folder.path();
    let ignored = "--ignore=bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,year,sex";
    done(at, &["fit", "penguins.csv", "--model", "OneHotEncoder", ignored, "-o", "levels.ermine"]);
    let (table, _) = done(at, &["predict", "levels.ermine", "penguins.csv"]);
    let head = "species=Adelie,species=Gentoo,species=Chinstrap,island=Torgersen,island=Biscoe,island=Dream";
    assert_eq!(table.lines().next(), Some(head));
}

#[test]
fn a_planted_row_is_found() {
    let folder = folder();
    let at = folder.path();
    let mut text: String = "a,b,c\n".into();
    for i in 0..200 {
        let a = f64::from(i % 20);
        // Row 101 has ordinary values that do not go together.
        let b = if i == 100 { 30.0 - 2.0 * a } else { 2.0 * a + f64::from(i % 3) };
        text += &format!("{a},{b},{}\n", i % 7);
    }
    fs::write(at.join("rows.csv"), &text).expect("written");
    for method in ["neighbours", "mahalanobis", "local"] {
        let found = json(at, &["outliers", "rows.csv", "--method", method, "--json"]);
        assert_eq!(found["top"][0]["row"], 101, "{method}");
    }
    // A row that is far out in one column needs few cuts.
    fs::write(at.join("far.csv"), text.replace("\n0,0,", "\n-40,0,")).expect("written");
    let found = json(at, &["outliers", "far.csv", "--method", "isolation", "--json"]);
    assert!(found["top"][0]["score"].as_f64().expect("a score") > 0.6, "{}", found["top"][0]);
    assert_eq!(found["top"][0]["odd"][0]["value"], "-40");
    done(at, &["outliers", "rows.csv", "-o", "scores.csv"]);
    assert_eq!(fs::read_to_string(at.join("scores.csv")).expect("a file").lines().count(), 201);
}

#[test]
fn formulas_with_splines_factors_and_arithmetic() {
    let folder = folder();
    let at = folder.path();
    let rows: String = (0..80)
        .map(|i| {
            let (a, b) = (f64::from(i % 9), 1.0 + f64::from(i % 5));
            format!("{a},{b},{},{}\n", i % 3, a / b + 10.0 * f64::from(i % 3 == 1))
        })
        .collect();
    fs::write(at.join("made.csv"), format!("a,b,g,y\n{rows}")).expect("written");
    let fit = |formula: &str| {
        let words =
            ["fit", "made.csv", "--target", "y", "--model", "LinearRegression", "--json", "--features", formula];
        json(at, &words)
    };
    let exact = fit("I(a / b) + factor(g)");
    let test = exact["test"].as_array().expect("scores").iter().find(|score| score[0] == "r2").expect("R2");
    assert!(test[1].as_f64().expect("a number") > 0.999_999, "{test}");
    let noted = fit("log(a) + b");
    let notes = noted["notes"].to_string();
    assert!(notes.contains("log(a) is not defined in 9 of 80 rows") && notes.contains("log1p(a)"), "{notes}");
    assert!(!fit("log1p(a) + spline(b, 3)")["notes"].to_string().contains("not defined"));
    assert!(refused(at, &["fit", "made.csv", "--target", "y", "--features", "I(a +)"]).contains("I(a +)"));
}

#[test]
fn manual_pages_and_completions() {
    let folder = folder();
    assert!(done(folder.path(), &["man"]).0.contains(".TH ermine 1"));
    let page = done(folder.path(), &["man", "fit"]).0;
    assert!(page.contains("ermine-fit") && page.contains("date\\-format"), "{page}");
    assert!(refused(folder.path(), &["man", "fti"]).contains("did you mean 'fit'?"));
    assert!(done(folder.path(), &["completions", "bash"]).0.contains("outliers"));
}

/// The part of JSON Schema that docs/cli/report.schema.json uses.
fn check(schema: &Value, value: &Value, at: &str, problems: &mut Vec<String>) {
    if let Some(choices) = schema["anyOf"].as_array() {
        let fits = |choice: &Value| {
            let mut found = Vec::new();
            check(choice, value, at, &mut found);
            found.is_empty()
        };
        if !choices.iter().any(fits) {
            problems.push(format!("{at} fits no choice"));
            choices.iter().take(1).for_each(|choice| check(choice, value, at, problems));
        }
        return;
    }
    if let Some(known) = schema["enum"].as_array() {
        if !known.contains(value) {
            problems.push(format!("{at}: {value} is not one of {known:?}"));
        }
        return;
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is = |name: &&str| match *name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => value.is_object(),
    };
    if !types.is_empty() && !types.iter().any(is) {
        return problems.push(format!("{at}: {value} is not {types:?}"));
    }
    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
        if schema["items"].is_object() {
            check(&schema["items"], item, &format!("{at}[{i}]"), problems);
        }
    }
    let Some(members) = value.as_object() else { return };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !members.contains_key(name) {
            problems.push(format!("{at} lacks '{name}'"));
        }
    }
    for (name, member) in members {
        match &schema["properties"][name] {
            Value::Null if schema["additionalProperties"] == false => {
                problems.push(format!("{at}.{name} is not described"))
            }
            Value::Null if schema["additionalProperties"].is_object() => {
                check(&schema["additionalProperties"], member, &format!("{at}.{name}"), problems);
            }
            Value::Null => {}
            described => check(described, member, &format!("{at}.{name}"), problems),
        }
    }
}

#[test]
fn json_is_as_its_schema_says() {
    let folder = folder();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli/report.schema.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).expect("the schema")).expect("JSON");
    let few = "LogisticRegression,GaussianNB";
    for words in [
        &["fit", "penguins.csv", "--target", "species", "--models", few, "--effort", "quick"][..],
        &["fit", "penguins.csv", "--target", "body_mass_g", "--model", "Lasso"],
        &["fit", "penguins.csv", "--target", "species", "--model", "DecisionTreeClassifier", "--test", "0"],
        &["fit", "penguins.csv", "--model", "KMeans", "--ignore", "species"],
        &["fit", "penguins.csv", "--model", "PCA", "--ignore", "species"],
    ] {
        let report = json(folder.path(), &[words, &["--json"]].concat());
        let mut problems = Vec::new();
        check(&schema, &report, "report", &mut problems);
        assert!(problems.is_empty(), "{words:?}: {problems:#?}");
    }
    let mut problems = Vec::new();
    check(&schema, &serde_json::json!({ "model": 3 }), "report", &mut problems);
    assert!(problems.len() > 10, "the check finds nothing");
}

/// Rows of a rare class that two columns hint at.
fn rare(at: &Path, rows: usize) {
    let noise = |i: usize| ((i as f64 * 12.9898).sin() * 43758.5453).fract().abs();
    let row = |i: usize| {
        let (a, b) = (noise(3 * i), noise(3 * i + 1));
        let name = if a + b + noise(3 * i + 2) > 2.1 { "ill" } else { "well" };
        format!("{a},{b},{},{name}\n", ["north", "south"][i % 2])
    };
    let rows: String = (0..rows).map(row).collect();
    fs::write(at.join("rare.csv"), format!("a,b,region,state\n{rows}")).expect("written");
}

#[test]
fn what_it_costs_to_miss_a_class_decides_what_is_predicted() {
    let folder = folder();
    let at = folder.path();
    rare(at, 600);
    let fit = ["fit", "rare.csv", "--target", "state", "--model", "LogisticRegression", "--json"];
    let plain = json(at, &[&fit[..], &["-o", "plain.ermine"]].concat());
    let costly = json(at, &[&fit[..], &["--cost", "ill=8", "-o", "costly.ermine"]].concat());
    // The model is the same; the named class is the cheaper one, at every door.
    let cost = |report: &Value, part: &str| {
        let scores = report[part].as_array().expect("scores").clone();
        scores.iter().find(|score| score[0] == "mean_cost").map(|score| score[1].as_f64().expect("a number"))
    };
    assert_eq!(cost(&plain, "test"), None);
    assert!(cost(&costly, "test") < cost(&costly, "baseline"), "{costly}");
    assert!(costly["notes"].to_string().contains("'well' is predicted from a probability of 0.889 on"), "{costly}");
    let predicted = |model: &str| {
        done(at, &["predict", model, "rare.csv"]).0.lines().skip(1).map(String::from).collect::<Vec<String>>()
    };
    let (likeliest, cheapest) = (predicted("plain.ermine"), predicted("costly.ermine"));
    for (likely, cheap) in likeliest.iter().zip(&cheapest) {
        let cells: Vec<&str> = cheap.split(',').collect();
        assert_eq!(cells[1..], likely.split(',').collect::<Vec<_>>()[1..], "probabilities stay");
        let ill: f64 = cells[1].parse().expect("a probability");
        assert_eq!(cells[0], if ill > 1.0 / 9.0 { "ill" } else { "well" }, "{cheap}");
    }
    assert_ne!(likeliest, cheapest);
    let balanced = json(at, &[&fit[..], &["--class-weight", "balanced"]].concat());
    assert!(balanced["notes"].to_string().contains("for the least expected cost"), "{balanced}");

    // The class that is asked about comes last.
    let turned = json(at, &[&fit[..], &["--positive", "ill"]].concat());
    assert_eq!(turned["classes"], serde_json::json!(["well", "ill"]));
    let weight = |report: &Value| {
        let found = report["drivers"].as_array().expect("drivers").iter().find(|driver| driver["name"] == "a");
        found.expect("a")["weights"][0].as_f64().expect("a number")
    };
    assert!((weight(&turned) + weight(&plain)).abs() < 1e-6 && weight(&turned) > 0.0);

    let said = |more: &[&str]| refused(at, &[&fit[..6], more].concat());
    assert!(said(&["--cost", "dead=2"]).contains("dead"));
    assert!(said(&["--cost", "ill=0"]).contains("above 0"));
    assert!(said(&["--positive", "dead"]).contains("dead"));
    let svm = ["fit", "rare.csv", "--target", "state", "--model", "LinearSVC", "--cost", "ill=2"];
    assert!(refused(at, &svm).contains("LinearSVC has no probabilities"));
    assert!(refused(at, &["fit", "line.csv", "--target", "y", "--cost", "a=2"]).contains("predicted as a number"));
}

#[test]
fn a_card_tells_what_a_stranger_asks() {
    let folder = folder();
    let at = folder.path();
    rare(at, 300);
    let models = "LogisticRegression,GaussianNB";
    done(at, &["fit", "rare.csv", "--target", "state", "--models", models, "--effort", "quick", "-o", "m.ermine"]);
    let (card, _) = done(at, &["inspect", "m.ermine", "--card", "-"]);
    for part in
        ["for state", "ill, well", "## Scores", "95 % interval", "## Limits of use", "--target state", "fingerprint"]
    {
        assert!(card.contains(part), "{part} is not in\n{card}");
    }
    done(at, &["inspect", "m.ermine", "--card", "card.html", "--data", "rare.csv", "--by", "region"]);
    let page = fs::read_to_string(at.join("card.html")).expect("a page");
    assert!(page.contains("<td>north</td>") && page.contains("<td>150</td>"), "{page}");
    // It can be written again, and over nothing else.
    done(at, &["inspect", "m.ermine", "--card", "card.html"]);
    assert!(refused(at, &["inspect", "m.ermine", "--card", "rare.csv"]).contains("rare.csv"));
    assert!(refused(at, &["inspect", "m.ermine", "--card", "m.ermine"]).contains("m.ermine"));
    // Names are text.
    let hostile = "a,\"<b>|x\",y\n".to_string() + &"1,2,<i>k</i>\n3,4,v\n2,1,<i>k</i>\n5,3,v\n".repeat(10);
    fs::write(at.join("hostile.csv"), hostile).expect("written");
    done(at, &["fit", "hostile.csv", "--target", "y", "--model", "GaussianNB", "-o", "h.ermine"]);
    assert!(done(at, &["inspect", "h.ermine", "--card", "-"]).0.contains("\\<b\\>\\|x"));
    done(at, &["inspect", "h.ermine", "--card", "h.html"]);
    let page = fs::read_to_string(at.join("h.html")).expect("a page");
    assert!(page.contains("&lt;b&gt;|x") && !page.contains("<i>k"), "{page}");
}

#[test]
fn the_steps_of_a_fit_are_written() {
    let folder = folder();
    let at = folder.path();
    let fit = ["fit", "penguins.csv", "--target", "species", "--model", "AdaBoostClassifier", "--n-estimators", "7"];
    done(at, &[&fit[..], &["--trace", "steps.jsonl"]].concat());
    let text = fs::read_to_string(at.join("steps.jsonl")).expect("a trace");
    let steps: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(!steps.is_empty() && steps.len() <= 7, "{}", steps.len());
    // Every row has its weight before each round, one on average.
    for step in &steps {
        let weights = step["values"]["weights"].as_array().expect("weights");
        let total: f64 = weights.iter().map(|weight| weight[0].as_f64().expect("a number")).sum();
        assert!(weights.len() == 344 && (total - 344.0).abs() < 1e-9, "{} rows, {total}", weights.len());
    }
    done(at, &[&fit[..], &["--trace", "steps.jsonl"]].concat());
    assert!(refused(at, &[&fit[..], &["--trace", "line.csv"]].concat()).contains("line.csv"));
}

#[test]
fn predictions_are_spelt_as_the_file_spells_them() {
    let folder = folder();
    let at = folder.path();
    // As pandas, R, databases, and several people together write it.
    for (no, yes, also) in [
        ("False", "True", "True"),
        ("FALSE", "TRUE", "TRUE"),
        ("false", "true", "true"),
        ("no", "yes", "yes"),
        ("False", "True", "true"),
    ] {
        let row = |i: usize| {
            format!(
                "{},{}\n",
                i,
                if i < 20 {
                    no
                } else if i == 30 {
                    also
                } else {
                    yes
                }
            )
        };
        let rows: String = (0..40).map(row).collect();
        fs::write(at.join("spelt.csv"), format!("x,y\n{rows}")).expect("written");
        done(at, &["fit", "spelt.csv", "--target", "y", "--model", "GaussianNB", "-o", "spelt.ermine"]);
        let (said, _) = done(at, &["predict", "spelt.ermine", "spelt.csv"]);
        let expected = if yes == also { [no, yes] } else { ["false", "true"] };
        for (i, line) in said.lines().skip(1).enumerate().filter(|(i, _)| !(18..23).contains(i)) {
            assert_eq!(line.split(',').next(), Some(expected[usize::from(i >= 20)]), "{yes}: {line}");
        }
        let (scores, _) = done(at, &["evaluate", "spelt.ermine", "spelt.csv", "--json"]);
        assert!(scores.contains("\"rows\": 40"), "{scores}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_best_if_asked() {
    let folder = folder();
    let at = folder.path();
    rare(at, 20_000);
    let words = ["fit", "rare.csv", "--target", "state", "--effort", "thorough", "--keep-best", "-o", "best.ermine"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_ermine"));
    let child = command.env("NO_COLOR", "1").current_dir(at).args(words).stdout(std::process::Stdio::piped());
    let child = child.stderr(std::process::Stdio::piped()).spawn().expect("it starts");
    std::thread::sleep(std::time::Duration::from_secs(3));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    let output = child.wait_with_output().expect("it ends");
    let (out, talk) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{talk}");
    assert!(talk.contains("the best so far is fitted"), "{talk}");
    assert!(out.contains("stopped early"), "{out}");
    assert!(done(at, &["inspect", "best.ermine"]).0.contains("state"));
}

#[test]
fn an_infinite_value_is_named_where_it_stands() {
    let folder = folder();
    let at = folder.path();
    for target in ["kind", "y"] {
        let b = |i: usize| if i == 22 { "inf".into() } else { (i * i % 7).to_string() };
        let row = |i: usize| format!("{},{},{},{}\n", i * 7 % 13, b(i), ["u", "v"][i % 2], i % 11);
        let rows: String = (0..60).map(row).collect();
        fs::write(at.join("inf.csv"), format!("a,b,kind,y\n{rows}")).expect("written");
        let talk = refused(at, &["fit", "inf.csv", "--target", target]);
        assert!(talk.contains("column 'b', row 23: the value is infinity") && talk.contains("--na inf"), "{talk}");
        done(at, &["fit", "inf.csv", "--target", target, "--na", "inf", "--effort", "quick"]);
        // A formula that does not name it does not read it.
        done(at, &["fit", "inf.csv", "--target", target, "--features", "a", "--effort", "quick"]);
    }
}

#[test]
fn blanks_around_a_name_do_not_count() {
    let folder = folder();
    let at = folder.path();
    fs::write(at.join("blanks.csv"), fs::read_to_string(at.join("line.csv")).expect("read").replace("id,x", " id,  x"))
        .expect("written");
    done(at, &["fit", "blanks.csv", "--target", " y ", "--ignore", " id", "--model", "Ridge"]);
}
