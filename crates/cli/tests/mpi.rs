//! Several processes under the real `mpirun` come to the model file of a single one, byte by byte; what goes wrong in one of them ends all of
//! them with one message.

#![cfg(feature = "mpi")]

use ermine::{Entry, MODELS, Passes, Task};
use parquet::{
    data_type::{ByteArray, ByteArrayType, DoubleType},
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::parser::parse_message_type,
};
use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
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
        // Nothing leaves the machine.
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

const NUMBERS: usize = 34;

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

    fn is_number(name: &str) -> bool {
        name.starts_with('x') || ["w", "y", "positive"].contains(&name)
    }

    fn parquet(&self, path: &Path, rows: Range<usize>, rows_a_group: usize) {
        let field = |name: &String| match Rows::is_number(name) {
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
                if Rows::is_number(name) {
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
        Task::Regression if info.positive_target => Some("positive"),
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
        "CategoricalNB" => args.extend(["--kind", "x0=category", "--ignore", CategoryOnly::IGNORED]),
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

/// Numbers that are not categories.
struct CategoryOnly;

impl CategoryOnly {
    const IGNORED: &str = "x1,x2,x3,x4,x5,x6,x7,x8,x9,x10,x11,x12,x13,x14,x15,x16,x17,x18,x19,x20,x21,x22,x23,x24,x25,x26,x27,x28,x29,x30,\
                           x31,x32,x33,day";
}

#[test]
fn every_sum_gives_the_model_file_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    rows(15_000).write(folder);
    let models: Vec<&Entry> = MODELS.iter().filter(|entry| !matches!(entry.info.passes, Passes::Memory(_))).collect();
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
    let check = |entry: &Entry| -> Result<(), String> {
        let one = run(entry, None, "whole.csv")?;
        let cuts =
            [(1, "part-*.csv"), (2, "whole.csv"), (3, "part-*.parquet"), (4, "whole.parquet"), (7, "part-*.csv")];
        for (processes, data) in cuts {
            if run(entry, Some(processes), data)? != one {
                return Err(format!("{}: {processes} processes come to another model from {data}", entry.name));
            }
        }
        Ok(())
    };
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(entry) = models.get(next.fetch_add(1, Ordering::Relaxed)) {
            wrong.lock().unwrap().extend(check(entry).err());
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
