//! Several processes under the real `mpirun` come to the model file of a single one, byte by byte; what goes wrong in
//! one of them ends all of them with one message.

#![cfg(feature = "mpi")]

use ermine::{Entry, MODELS, Task};
use parquet::{
    data_type::{ByteArray, ByteArrayType, DoubleType},
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::parser::parse_message_type,
};
use std::{
    fs,
    ops::Range,
    path::Path,
    process::{Command, Output, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

const ERMINE: &str = env!("CARGO_BIN_EXE_ermine");

/// More processes than cores, also as root: settings of Open MPI that other launchers do not look at.
fn mpirun(folder: &Path) -> Command {
    let mut command = Command::new("mpirun");
    command.current_dir(folder).envs([
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_MCA_hwloc_base_binding_policy", "none"),
        // Nothing leaves the machine, and no other way is looked for.
        ("OMPI_MCA_pml", "ob1"),
        ("OMPI_MCA_btl", "self,vader"),
    ]);
    command.stdin(Stdio::null());
    command
}

fn fit(folder: &Path, processes: Option<usize>, args: &[&str]) -> Output {
    let mut command = match processes {
        None => {
            let mut command = Command::new(ERMINE);
            command.current_dir(folder);
            command
        }
        Some(count) => {
            let mut command = mpirun(folder);
            command.args(["-n", &count.to_string(), ERMINE]);
            command
        }
    };
    command.arg("fit").args(args).args(["--threads", "1"]).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A table as text. Sums of these numbers show the order in which they were added.
struct Rows {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

const NUMBERS: usize = 31;

fn rows(count: usize) -> Rows {
    let mut state = 9u64;
    let mut draw = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    let mut names: Vec<String> = (0..NUMBERS).map(|j| format!("x{j}")).collect();
    names.extend(["town", "grade", "day", "w", "y", "positive", "class"].map(String::from));
    let mut rows = Vec::with_capacity(count);
    for i in 0..count {
        let x: Vec<f64> = (0..NUMBERS).map(|j| (draw() * (j + 3) as f64 * 1e4).round() / 1e4).collect();
        // Levels that appear late, quotes, delimiters and line ends inside fields.
        let town = if i < 40 {
            "Ely"
        } else {
            ["Ely", "St. Ives, \"old\"", "two\nlines", "", "Wells"][(draw() * 5.0) as usize]
        };
        // Numbers for most of the file, then letters: no part but the last can know.
        let grade = if i < count * 4 / 5 { ["1", "2"][i % 2] } else { ["1", "2", "A"][i % 3] };
        let day = format!("20{}-0{}-1{}", 10 + i % 7, 1 + i % 9, i % 3);
        let y = x[0] - 0.5 * x[1] + if town == "Wells" { 2.0 } else { 0.0 } + draw();
        let class = ["low", "mid", "high"][(y > -1.0) as usize + (y > 1.0) as usize];
        let mut row: Vec<String> = x.iter().map(f64::to_string).collect();
        if i % 37 == 5 {
            row[3].clear();
        }
        let target = if i % 501 == 7 { String::new() } else { y.to_string() };
        let weight = [1.0, 0.5, 2.25][i % 3].to_string();
        let positive = (x[0].abs() + 0.1).to_string();
        row.extend([town.into(), grade.into(), day, weight, target, positive, class.into()]);
        rows.push(row);
    }
    Rows { names, rows }
}

impl Rows {
    fn csv(&self, path: &Path, rows: Range<usize>, newline_at_end: bool) {
        let quoted = |field: &String| match field.contains([',', '"', '\n']) {
            true => format!("\"{}\"", field.replace('"', "\"\"")),
            false => field.clone(),
        };
        let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",");
        let mut lines = vec![line(&self.names)];
        lines.extend(self.rows[rows].iter().map(line));
        fs::write(path, lines.join("\n") + if newline_at_end { "\n" } else { "" }).unwrap();
    }

    fn parquet(&self, path: &Path, rows: Range<usize>, rows_a_group: usize) {
        self.parquet_with_text(path, rows, rows_a_group, "");
    }

    /// With one column of numbers as text.
    fn parquet_with_text(&self, path: &Path, rows: Range<usize>, rows_a_group: usize, text: &str) {
        let is_number = |name: &str| name != text && (name.starts_with('x') || ["w", "y", "positive"].contains(&name));
        let field = |name: &String| match is_number(name) {
            true => format!("optional double {name};"),
            false => format!("optional binary {name} (STRING);"),
        };
        let fields: Vec<String> = self.names.iter().map(field).collect();
        let schema = parse_message_type(&format!("message table {{ {} }}", fields.join(" "))).unwrap();
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer =
            SerializedFileWriter::new(fs::File::create(path).unwrap(), Arc::new(schema), properties).unwrap();
        for start in rows.clone().step_by(rows_a_group) {
            let mut group = writer.next_row_group().unwrap();
            for (j, name) in self.names.iter().enumerate() {
                let cells: Vec<&String> =
                    self.rows[start..rows.end.min(start + rows_a_group)].iter().map(|row| &row[j]).collect();
                let present: Vec<i16> = cells.iter().map(|cell| i16::from(!cell.is_empty())).collect();
                let known = cells.iter().filter(|cell| !cell.is_empty());
                let mut column = group.next_column().unwrap().unwrap();
                if is_number(name) {
                    let values: Vec<f64> = known.map(|cell| cell.parse().unwrap()).collect();
                    column.typed::<DoubleType>().write_batch(&values, Some(&present), None).unwrap();
                } else {
                    let values: Vec<ByteArray> = known.map(|cell| ByteArray::from(cell.as_str())).collect();
                    column.typed::<ByteArrayType>().write_batch(&values, Some(&present), None).unwrap();
                }
                column.close().unwrap();
            }
            group.close().unwrap();
        }
        writer.close().unwrap();
    }

    /// One file, and the same rows in files cut where it hurts: a handful of rows, one row, none, most.
    fn write(&self, folder: &Path) {
        let count = self.rows.len();
        self.csv(&folder.join("whole.csv"), 0..count, true);
        self.parquet(&folder.join("whole.parquet"), 0..count, 4001);
        let cuts = [0, 41, 42, 42, count / 7, count * 2 / 3, count];
        for (k, cut) in cuts.windows(2).enumerate() {
            self.csv(&folder.join(format!("part-{k}.csv")), cut[0]..cut[1], k % 2 == 0);
            self.parquet(&folder.join(format!("part-{k}.parquet")), cut[0]..cut[1], 1777);
        }
    }
}

/// What each model is asked to learn.
fn question(entry: &Entry) -> Vec<&'static str> {
    let info = &entry.info;
    // Parquet has days as text here.
    let mut args = vec!["--model", entry.name, "--kind", "day=date"];
    let target = match info.task {
        Task::Classification => Some("class"),
        Task::Regression if info.target != ermine::Domain::Any => Some("positive"),
        Task::Regression => Some("y"),
        _ if info.supervised => Some("class"),
        _ => None,
    };
    args.extend(target.iter().flat_map(|target| ["--target", target]));
    let others = ["y", "positive", "class"].into_iter().filter(|name| Some(*name) != target);
    args.extend(others.flat_map(|name| ["--ignore", name]));
    args.extend(if info.weights { ["--row-weights", "w"] } else { ["--ignore", "w"] });
    match entry.name {
        "MLPClassifier" | "MLPRegressor" => args.extend(["--max-iter", "3", "--hidden-layer-sizes", "[8]"]),
        "KMeans" | "MiniBatchKMeans" => args.extend(["--n-clusters", "3", "--n-init", "1"]),
        "GaussianMixture" | "BayesianGaussianMixture" | "CountMixture" => {
            args.extend(["--n-components", "2", "--max-iter", "5"]);
        }
        // It takes codes and nothing else.
        "CategoricalNB" => {
            return vec!["--model", entry.name, "--target", "class", "--features", "grade", "--folds", "0"];
        }
        // Of one column.
        "IsotonicRegression" => {
            let of = ["--target", "y", "--features", "x0", "--row-weights", "w", "--folds", "0"];
            return ["--model", entry.name].into_iter().chain(of).collect();
        }
        "LogisticRegressionCV" => args.extend(["--Cs", "2", "--cv", "2"]),
        "LassoCV" | "ElasticNetCV" => args.extend(["--alphas", "5", "--cv", "2"]),
        "HistGradientBoostingClassifier" | "HistGradientBoostingRegressor" => {
            args.extend(["--max-iter", "3", "--max-leaf-nodes", "8", "--early-stopping", "true", "--subsample", "0.7"]);
        }
        "SGDClassifier" | "SGDRegressor" => args.extend(["--batch-size", "90", "--max-iter", "3", "--average", "true"]),
        "RandomForestClassifier" | "RandomForestRegressor" => {
            args.extend(["--n-estimators", "4", "--oob-score", "true"]);
        }
        "ExtraTreesClassifier" | "ExtraTreesRegressor" => args.extend(["--n-estimators", "4"]),
        "DecisionTreeClassifier" | "DecisionTreeRegressor" => args.extend(["--prune-fraction", "0.2"]),
        "PolynomialFeatures" => args.extend(["--degree", "1"]),
        _ => {}
    }
    // Splits and folds move rows between workers; two models show it.
    match entry.name {
        "Ridge" | "LogisticRegression" => args.extend(["--folds", "3"]),
        _ => args.extend(["--folds", "0"]),
    }
    args
}

#[test]
fn every_sum_gives_the_model_file_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    rows(6_200).write(folder);
    // Some are sums with other parameters than the defaults.
    let by_minibatches = |entry: &Entry| entry.name.starts_with("SGD");
    let is_sum = |entry: &Entry| entry.info.passes.needs_one_worker().is_none() || by_minibatches(entry);
    let models: Vec<&Entry> = MODELS.iter().filter(|entry| is_sum(entry)).collect();
    assert!(models.len() > 40);
    let run = |entry: &Entry, processes: Option<usize>, data: &str| -> Result<Vec<u8>, String> {
        let to = format!("{}.ermine", entry.name);
        let mut args = vec![data, "-o", &to];
        args.extend(question(entry));
        let output = fit(folder, processes, &args);
        if !output.status.success() {
            return Err(format!("{} {data} {processes:?}: {}", entry.name, stderr(&output)));
        }
        let bytes = fs::read(folder.join(&to)).unwrap();
        fs::remove_file(folder.join(to)).unwrap();
        Ok(bytes)
    };
    // Each model is run in two of the ways, every way by two models in five; `make test-all` runs all.
    let thorough = std::env::var_os("ERMINE_THOROUGH").is_some();
    let check = |place: usize, entry: &Entry| -> Result<(), String> {
        let one = run(entry, None, "whole.csv")?;
        let cuts =
            [(1, "part-*.csv"), (2, "whole.csv"), (3, "part-*.parquet"), (4, "whole.parquet"), (7, "part-*.csv")];
        let wanted = |way: usize| thorough || (way + place) % cuts.len() < 2;
        for (_, (processes, data)) in cuts.into_iter().enumerate().filter(|(way, _)| wanted(*way)) {
            if run(entry, Some(processes), data)? != one {
                return Err(format!("{}: {processes} processes come to another model from {data}", entry.name));
            }
        }
        Ok(())
    };
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(entry) = models.get(place) else { break };
            let begin = Instant::now();
            wrong.lock().unwrap().extend(check(place, entry).err());
            println!("{:6.1} s  {}", begin.elapsed().as_secs_f64(), entry.name);
        }
    };
    std::thread::scope(|scope| {
        // Starting processes is mostly waiting.
        (0..4).for_each(|_| drop(scope.spawn(work)));
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Scores, intervals and pictures look at the rows that a single process looks at.
#[test]
fn the_report_is_that_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    rows(12_200).write(folder);
    let common = ["--kind", "day=date", "--ignore", "positive", "--folds", "2", "--report", "page.html", "--json"];
    let questions = [
        ["--model", "LogisticRegression", "--target", "class", "--ignore", "y"],
        ["--model", "Ridge", "--target", "y", "--ignore", "class"],
    ];
    for question in questions {
        let report = |processes: Option<usize>, data: &str| -> serde_json::Value {
            let output = fit(folder, processes, &[&[data][..], &question[..], &common[..]].concat());
            assert!(output.status.success(), "{}", stderr(&output));
            assert!(fs::read_to_string(folder.join("page.html")).unwrap().contains("dependence"));
            fs::remove_file(folder.join("page.html")).unwrap();
            serde_json::from_slice(&output.stdout).unwrap()
        };
        let one = report(None, "whole.csv");
        for part in ["importance", "dependence"] {
            assert!(!one["insight"][part].as_array().unwrap().is_empty(), "{part}");
        }
        assert!(one["insight"]["curve"].is_object());
        for (processes, data) in [(2, "part-*.csv"), (3, "whole.parquet")] {
            let several = report(Some(processes), data);
            for part in ["test", "intervals", "baseline", "folds", "confusion", "insight"] {
                assert_eq!(several[part], one[part], "{part} of {processes} processes");
            }
        }
    }
}

/// A run that must fail: one message, and no model.
fn refused(folder: &Path, mut command: Command) -> String {
    let output = command.output().unwrap();
    let message = stderr(&output);
    assert!(!output.status.success(), "{message}");
    assert_eq!(message.matches("error:").count(), 1, "{message}");
    assert!(!folder.join("no.ermine").exists());
    message
}

fn fit_by(folder: &Path, processes: usize, args: &[&str]) -> Command {
    let mut command = mpirun(folder);
    command.args(["-n", &processes.to_string(), ERMINE, "fit", "-o", "no.ermine", "--threads", "1"]).args(args);
    command
}

#[test]
fn what_one_worker_finds_wrong_stops_all_with_one_message() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let rows = rows(300);
    rows.csv(&folder.join("a.csv"), 0..100, true);
    rows.csv(&folder.join("b.csv"), 100..200, true);
    let ridge = ["--target", "y", "--model", "Ridge"];
    let fit = |processes: usize, data: &[&str]| refused(folder, fit_by(folder, processes, &[data, &ridge].concat()));

    let message = fit(3, &["a.csv", "missing.csv"]);
    assert!(message.contains("missing.csv"), "{message}");
    let message = fit(3, &["nothing-*.csv"]);
    assert!(message.contains("no file matches"), "{message}");

    // The second worker starts in a folder that lacks a file.
    let elsewhere = folder.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::copy(folder.join("a.csv"), elsewhere.join("a.csv")).unwrap();
    let mut command = mpirun(folder);
    for place in [folder, &elsewhere] {
        command.args(["-n", "1", "--wdir"]).arg(place).args([ERMINE, "fit", "a.csv", "b.csv", "-o", "no.ermine"]);
        command.args(ridge).arg(":");
    }
    let message = refused(folder, command);
    assert!(message.contains("worker 1") && message.contains("b.csv"), "{message}");

    let other =
        Rows { names: rows.names.iter().map(|name| name.replace("x3", "other")).collect(), rows: rows.rows.clone() };
    other.csv(&folder.join("other.csv"), 200..300, true);
    let message = fit(3, &["a.csv", "b.csv", "other.csv"]);
    assert!(message.contains("other.csv") && message.contains("'x3'") && message.contains("a.csv"), "{message}");

    rows.parquet(&folder.join("a.parquet"), 0..100, 30);
    rows.parquet_with_text(&folder.join("b.parquet"), 100..200, 30, "x5");
    let message = fit(2, &["a.parquet", "b.parquet"]);
    assert!(message.contains("b.parquet: column 'x5' holds category") && message.contains("number"), "{message}");

    // A short line far from the beginning: its number is that of the file.
    let mut text = fs::read_to_string(folder.join("b.csv")).unwrap();
    let lines = text.lines().count();
    text.push_str("1,2,3\n");
    fs::write(folder.join("short.csv"), text).unwrap();
    let message = fit(4, &["a.csv", "short.csv"]);
    assert!(message.contains(&format!("short.csv:{}", lines + 1)), "{message}");
}

/// The first worker fits what needs all rows in one memory, and hands the model to the others.
#[test]
fn what_is_no_sum_gives_the_model_file_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    rows(600).write(folder);
    for model in ["SVC", "KNeighborsClassifier", "AdaBoostClassifier"] {
        let question = ["--model", model, "--target", "class", "--ignore", "y,positive", "-o", "m.ermine", "--force"];
        let file = |processes: Option<usize>| {
            let output = fit(folder, processes, &[&["whole.csv"][..], &question].concat());
            assert!(output.status.success(), "{model}: {}", stderr(&output));
            fs::read(folder.join("m.ermine")).unwrap()
        };
        assert!(file(None) == file(Some(3)), "{model}");
    }
}

#[test]
fn a_wrong_call_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Nothing is read: there is no such file.
    let fit =
        |args: &[&str]| refused(folder, fit_by(folder, 2, &[&["none.csv", "--target", "class"][..], args].concat()));
    let mut command = mpirun(folder);
    command.args(["-n", "2", ERMINE, "models"]);
    let message = refused(folder, command);
    assert!(message.contains("without mpirun"), "{message}");
    let message = fit(&["--model", "Rigde"]);
    assert!(message.contains("Ridge"), "{message}");
}

/// Processes that `mpirun` has started here.
fn workers_of(mpirun: u32) -> Vec<u32> {
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut found: Vec<u32> = processes.filter(|&pid| parent(pid) == Some(mpirun)).collect();
    found.sort();
    found
}

#[test]
fn a_killed_worker_ends_the_run_and_another_number_of_them_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    rows(2_500).write(folder);
    let network = [
        "part-*.csv",
        "--target",
        "class",
        "--ignore",
        "y,positive,w",
        "--model",
        "MLPClassifier",
        "--folds",
        "0",
        "--test",
        "0",
        "--hidden-layer-sizes",
        "[32,16]",
        "--max-iter",
        "60",
        "--tol",
        "0",
        "--n-iter-no-change",
        "1000",
        "--threads",
        "1",
    ];
    let command = |processes: usize, to: &str| {
        let mut command = mpirun(folder);
        command.args(["-n", &processes.to_string(), ERMINE, "fit", "-o", to, "--checkpoint", "state"]).args(network);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    let begin = Instant::now();
    let one =
        Command::new(ERMINE).current_dir(folder).args(["fit", "-o", "one.ermine"]).args(network).output().unwrap();
    assert!(one.status.success(), "{}", stderr(&one));
    let takes = begin.elapsed().as_secs_f64();
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    let is_same = || read("killed.ermine") == read("one.ermine");
    let kills: usize = std::env::var("ERMINE_KILLS").map_or(4, |kills| kills.parse().unwrap());
    let mut killed = 0;
    for kill in 0..kills {
        let processes = [2, 3, 4][kill % 3];
        let mut run = command(processes, "killed.ermine").spawn().unwrap();
        while workers_of(run.id()).len() < processes && run.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_secs_f64(0.3 + takes * [0.1, 0.6, 0.3, 0.9][kill % 4]));
        let victims = workers_of(run.id());
        if let Some(victim) = victims.get(kill % processes) {
            Command::new("kill").args(["-9", &victim.to_string()]).status().unwrap();
        }
        let output = run.wait_with_output().unwrap();
        if !output.status.success() {
            killed += 1;
            assert!(stderr(&output).contains("signal 9"), "{}", stderr(&output));
        }
        // A worker that dies after the model was saved leaves it whole. Then all begins anew.
        if folder.join("killed.ermine").exists() {
            assert!(is_same(), "another model after {killed} kills");
            fs::remove_file(folder.join("killed.ermine")).unwrap();
            fs::remove_file(folder.join("state")).unwrap();
        }
    }
    assert!(killed > 0, "every run was over before a worker was killed");
    let last = command(3, "killed.ermine").output().unwrap();
    assert!(last.status.success(), "{}", stderr(&last));
    assert!(is_same(), "another model after {killed} kills");
    println!("{killed} kills");
}
