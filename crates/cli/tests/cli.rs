//! The real binary: arguments in; stdout, stderr and exit code out.

use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

fn ermine() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ermine"));
    command.env("NO_COLOR", "1").env_remove("RUST_BACKTRACE");
    command
}

fn penguins() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/penguins.csv")
}

/// stdout, stderr and exit code, with times and paths taken out.
fn seen(output: &Output) -> String {
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).replace(&penguins().display().to_string(), "penguins.csv");
        text.lines()
            .filter(|line| !(line.ends_with(" s") && line.trim_end_matches(" s").parse::<f64>().is_ok()))
            .map(|line| line.trim_end().to_string() + "\n")
            .collect::<String>()
    };
    let code = output.status.code().map_or("killed".into(), |code| code.to_string());
    format!("exit {code}\n--- stdout\n{}--- stderr\n{}", text(&output.stdout), text(&output.stderr))
}

fn run(arguments: &[&str]) -> Output {
    let arguments = arguments.iter().map(|word| word.replace("PENGUINS", &penguins().display().to_string()));
    ermine().args(arguments).output().unwrap()
}

fn run_with_input(arguments: &[&str], input: &str) -> Output {
    let mut child =
        ermine().args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A program that refuses early closes its input; that is not this test's business.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn the_main_job() {
    // A fixed field, so that a new model in the list does not change what is seen here.
    let field = "LogisticRegression,LinearDiscriminantAnalysis,KNeighborsClassifier,GaussianNB,RandomForestClassifier";
    insta::assert_snapshot!(seen(&run(&["fit", "PENGUINS", "--target", "species", "--models", field])));
}

#[test]
fn a_regression_with_parameters() {
    let arguments = ["fit", "PENGUINS", "--target", "body_mass_g", "--model", "Ridge", "--alpha", "0.5", "--seed", "3"];
    insta::assert_snapshot!(seen(&run(&arguments)));
}

#[test]
fn clusters_without_a_target() {
    let arguments = ["fit", "PENGUINS", "--model", "kmeans", "--n_clusters", "3", "--ignore", "species,year"];
    insta::assert_snapshot!(seen(&run(&arguments)));
}

#[test]
fn one_model_described() {
    insta::assert_snapshot!(seen(&run(&["models", "Ridge"])));
}

#[test]
fn misspelt_names_get_suggestions() {
    for (arguments, expected) in [
        (&["fit", "PENGUINS", "--target", "specis"][..], "there is no column 'specis'; did you mean 'species'?"),
        (
            &["fit", "PENGUINS", "--target", "species", "--model", "Rigde"],
            "there is no model 'Rigde'; did you mean 'Ridge'?",
        ),
        (&["fit", "PENGUINS", "--target", "species", "--model", "Ridge", "--alpa", "1"], "--alpha"),
        (&["models", "KMean"], "did you mean 'KMeans'?"),
        (&["pridict", "PENGUINS"], "'predict'"),
    ] {
        let output = run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty(), "talk goes to stderr");
    }
}

#[test]
fn a_value_that_is_not_allowed_is_a_wrong_call() {
    let output = run(&["fit", "PENGUINS", "--target", "body_mass_g", "--model", "Ridge", "--alpha", "-1"]);
    insta::assert_snapshot!(seen(&output));
}

/// Fits `input` and returns what was said and the exit code; nothing may be left behind.
fn refused(input: &str, arguments: &[&str]) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model.ermine");
    let all = [&["fit", "-", "-o", model.to_str().unwrap()], arguments].concat();
    let output = run_with_input(&all, input);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "something was left behind");
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
}

#[test]
fn bad_input_is_refused_by_name_and_leaves_nothing() {
    let rows = |line: &str, n: usize| format!("{line}\n").repeat(n);
    for (what, input, expected) in [
        ("empty file", String::new(), "empty"),
        ("header only", "a,y\n".into(), "there is a header but no row below it"),
        ("ragged line", "a,y\n1,2\n3\n4,5\n".into(), ":3:"),
        ("unknown target", "a,b\n1,2\n".into(), "there is no column 'y'"),
        ("constant target", format!("a,y\n{}", rows("1,7", 12) + "2,7\n"), "the target 'y' has the single value 7"),
        ("all-missing columns", format!("a,y\n{}", rows("NA,7", 6) + &rows(",8", 6)), "all values are missing"),
        ("infinite value", format!("a,y\n{}", rows("inf,7", 6) + &rows("1,8", 6)), "column 'a'"),
        ("missing target", format!("a,y\n{}", rows("1,", 6) + &rows("2,", 6)), "the target 'y'"),
    ] {
        let (stderr, code) = refused(&input, &["--target", "y", "--model", "Ridge"]);
        assert!(matches!(code, Some(1 | 2)), "{what}: exit {code:?}: {stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(expected), "{what}: {stderr}");
    }
}

fn fitted(folder: &std::path::Path, arguments: &[&str]) -> PathBuf {
    let model = folder.join("model.ermine");
    let all = [&["fit", "PENGUINS", "-o", model.to_str().unwrap()], arguments].concat();
    let output = run(&all);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    model
}

#[test]
fn predictions_have_names_and_probabilities() {
    let folder = tempfile::tempdir().unwrap();
    let model = fitted(folder.path(), &["--target", "species", "--model", "LogisticRegression"]);
    let output = run(&["predict", model.to_str().unwrap(), "PENGUINS"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("species,p(Adelie),p(Chinstrap),p(Gentoo)"));
    assert_eq!(text.lines().count(), 345);
    for line in lines {
        let (name, probabilities) = line.split_once(',').unwrap();
        let probabilities: Vec<f64> = probabilities.split(',').map(|p| p.parse().unwrap()).collect();
        let most = probabilities.iter().copied().fold(0.0, f64::max);
        let place = ["Adelie", "Chinstrap", "Gentoo"].iter().position(|class| *class == name).unwrap();
        assert_eq!(probabilities[place], most, "{line}");
    }
    let evaluated = run(&["evaluate", model.to_str().unwrap(), "PENGUINS", "--json"]);
    let scores: serde_json::Value = serde_json::from_slice(&evaluated.stdout).unwrap();
    assert!(scores["scores"]["accuracy"].as_f64().unwrap() > 0.97, "{scores}");
}

#[test]
fn raw_files_at_predict_time() {
    let folder = tempfile::tempdir().unwrap();
    let model =
        fitted(folder.path(), &["--target", "body_mass_g", "--model", "Ridge", "--ignore", "year,bill_depth_mm"]);
    let model = model.to_str().unwrap();
    // Other order, more columns, a missing value, a category never seen.
    let rows = "sex,extra,species,flipper_length_mm,island,bill_length_mm\nmale,1,Gentoo,220,Biscoe,46\nmale,2,Emperor,,Atlantis,46\n";
    let output = run_with_input(&["predict", model, "-"], rows);
    let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert_eq!(stdout.lines().count(), 3);
    assert!(stdout.lines().skip(1).all(|value| value.parse::<f64>().unwrap().is_finite()), "{stdout}");
    assert!(stderr.contains("'species': 1 row has a category that the model has not seen"), "{stderr}");

    let output = run_with_input(&["predict", model, "-"], "sex,species,island,bill_length_mm\nmale,Gentoo,Biscoe,46\n");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("flipper_length_mm"), "{stderr}");

    let text = "sex,species,flipper_length_mm,island,bill_length_mm\nmale,Gentoo,long,Biscoe,46\n";
    let output = run_with_input(&["predict", model, "-"], text);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("flipper_length_mm") && stderr.contains("long") && stderr.contains(":2:"), "{stderr}");
}

#[test]
fn every_damaged_byte_of_a_model_file_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..12).map(|i| format!("{i},{}\n", 2 * i + i % 3)).collect();
    let data = folder.path().join("data.csv");
    fs::write(&data, format!("a,y\n{rows}")).unwrap();
    let model = folder.path().join("model.ermine");
    let arguments = ["fit", data.to_str().unwrap(), "--target", "y", "--model", "Ridge", "-o", model.to_str().unwrap()];
    assert!(run(&arguments).status.success());
    let bytes = fs::read(&model).unwrap();
    let load = |bytes: &[u8]| ermine_app::file::from_bytes(bytes, "model.ermine".as_ref());
    assert!(load(&bytes).is_ok());
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            assert!(load(&damaged).is_err(), "byte {at}, bit {bit}");
        }
        let error = load(&bytes[..at]).err().unwrap_or_else(|| panic!("{at} bytes were enough")).to_string();
        assert!(error.starts_with("model.ermine"), "{error}");
    }
    // Once through the binary, for the message and the code.
    fs::write(&model, &bytes[..bytes.len() / 2]).unwrap();
    let output = run(&["inspect", model.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a whole model file"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_fills_up_while_saving_leaves_the_old_model() {
    let folder = tempfile::tempdir().unwrap();
    let model = fitted(folder.path(), &["--target", "species", "--model", "GaussianNB"]);
    let before = fs::read(&model).unwrap();
    // The second write is cut off after 4 KiB, as by a disk that is full; a forest is larger.
    let script = "ulimit -f 8; trap '' XFSZ; exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_ermine"), "fit"])
        .arg(penguins())
        .args(["--target", "species", "--model", "RandomForestClassifier", "-o"])
        .arg(&model)
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains(&format!("cannot write {}", model.display())), "{message}");
    assert_eq!(fs::read(&model).unwrap(), before);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [model.file_name().unwrap()], "something half-written was left");
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_an_error() {
    let output = ermine()
        .args(["models"])
        .stdout(fs::OpenOptions::new().write(true).open("/dev/full").unwrap())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write the output"));
}

/// A file of each format stays here for ever. `ERMINE_WRITE_SAMPLES=1` makes those of a new format.
#[test]
fn model_files_of_every_format_load_and_predict_the_same() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/formats/1");
    let kinds = [
        ("linear", "--target body_mass_g --model Ridge --alpha 0.5"),
        ("logistic", "--target species --model LogisticRegression"),
        ("clusters", "--model KMeans --n_clusters 3"),
    ];
    for (name, arguments) in kinds {
        let (model, expected) = (folder.join(format!("{name}.ermine")), folder.join(format!("{name}.csv")));
        let predict = || run(&["predict", model.to_str().unwrap(), "PENGUINS"]);
        if std::env::var_os("ERMINE_WRITE_SAMPLES").is_some() {
            let fit = [&["fit", "PENGUINS", "-o", model.to_str().unwrap()], &*arguments.split(' ').collect::<Vec<_>>()];
            assert!(run(&fit.concat()).status.success());
            fs::write(&expected, predict().stdout).unwrap();
        }
        let output = predict();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let (found, expected) = (String::from_utf8(output.stdout).unwrap(), fs::read_to_string(&expected).unwrap());
        assert_eq!(found.lines().count(), expected.lines().count(), "{name}");
        // Another machine's vectors may round the last digit otherwise.
        for (found, expected) in found.lines().zip(expected.lines()) {
            let same = |(a, b): (&str, &str)| match (a.parse::<f64>(), b.parse::<f64>()) {
                (Ok(a), Ok(b)) => (a - b).abs() <= 1e-9 * (1.0 + b.abs()),
                _ => a == b,
            };
            assert!(found.split(',').zip(expected.split(',')).all(same), "{name}: {found} was {expected}");
        }
    }
}

#[test]
#[cfg(unix)]
fn a_broken_pipe_is_not_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let model = fitted(folder.path(), &["--target", "species", "--model", "LogisticRegression"]);
    // A reader that leaves at once, and more output than a pipe holds.
    let rows: String = fs::read_to_string(penguins()).unwrap();
    let (header, body) = rows.split_once('\n').unwrap();
    let big = folder.path().join("big.csv");
    fs::write(&big, format!("{header}\n{}", body.repeat(60))).unwrap();
    let mut child = ermine()
        .args(["predict", model.to_str().unwrap(), big.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn same_file_for_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = |threads: &str, memory: &[&str]| {
        let arguments =
            [&["--target", "body_mass_g", "--model", "LinearRegression", "--threads", threads], memory].concat();
        fs::read(fitted(folder.path(), &arguments)).unwrap()
    };
    let reference = bytes("1", &[]);
    assert_eq!(reference, bytes("2", &[]));
    assert_eq!(reference, bytes("7", &[]));
}

#[test]
fn larger_than_memory_is_read_from_disk() {
    let report = |memory: &str| {
        let arguments =
            ["fit", "PENGUINS", "--target", "species", "--memory", memory, "--test", "0", "--folds", "0", "--json"];
        let output = run(&arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let (memory, disk) = (report("1GB"), report("10KB"));
    assert_eq!((&memory["data"]["from_disk"], &disk["data"]["from_disk"]), (&false.into(), &true.into()));
    assert_eq!(memory["drivers"], disk["drivers"]);
    assert!(memory["fingerprint"].is_string());
    assert_eq!(memory["fingerprint"], disk["fingerprint"]);
    assert_eq!(memory["log"]["objective"], disk["log"]["objective"]);
}

#[test]
fn help_and_completions() {
    let help = run(&["fit", "--model", "Ridge", "--help"]);
    assert_eq!(help.status.code(), Some(0));
    let text = String::from_utf8_lossy(&help.stdout).into_owned();
    assert!(
        text.contains("--alpha") && text.contains("Regularisation strength") && text.contains("Examples:"),
        "{text}"
    );
    for shell in ["bash", "zsh", "fish"] {
        let output = run(&["completions", shell]);
        assert!(output.status.success() && output.stdout.len() > 1000);
    }
}

#[test]
fn a_summary_is_about_the_rows_of_the_fit() {
    let folder = tempfile::tempdir().unwrap();
    let model = fitted(folder.path(), &["--target", "body_mass_g", "--model", "LinearRegression"]);
    let output = run(&["summary", model.to_str().unwrap(), "PENGUINS"]);
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for expected in ["(Intercept)", "flipper_length_mm", "Std. Error", "Adjusted R-squared", "degrees of freedom"] {
        assert!(table.contains(expected), "{table}");
    }
    let few: String =
        fs::read_to_string(penguins()).unwrap().lines().take(50).map(|line| line.to_string() + "\n").collect();
    let output = run_with_input(&["summary", model.to_str().unwrap(), "-"], &few);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the rows of the fit"));
}
