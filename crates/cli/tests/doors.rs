//! The command line fits what the crate fits, to the last bit. (The Python tests add the third door.)

use ermine::{Ctx, Data, MODELS, Task, X};
use ermine_app::file;
use std::{fs, process::Command};

const COLS: usize = 4;

#[test]
fn the_command_line_fits_what_the_crate_fits() {
    let folder = tempfile::tempdir().unwrap();
    let (data, path) = (folder.path().join("data.csv"), folder.path().join("model.ermine"));
    let mut rng = Ctx::new(5).rng("doors", 0);
    let values: Vec<f64> = (0..90 * COLS).map(|_| (rng.normal().abs() * 4.0).round()).collect();
    let codes: Vec<u32> = values.chunks(COLS).map(|row| u32::from(row[0] + row[1] > 5.0)).collect();
    let real: Vec<f64> = values.chunks(COLS).map(|row| 1.0 + row[0] + 0.5 * row[2]).collect();
    let mut fitted = 0;
    for entry in MODELS {
        let target = |i: usize| match entry.info.task {
            Task::Regression => real[i].to_string(),
            _ => ["no", "yes"][codes[i] as usize].to_string(),
        };
        let cols = if entry.info.one_column { 1 } else { COLS };
        let values: Vec<f64> = values.chunks(COLS).flat_map(|row| row[..cols].to_vec()).collect();
        let mut text = ["a,", "b,", "c,", "d,"][..cols].concat() + "y\n";
        for (i, row) in values.chunks(cols).enumerate() {
            row.iter().for_each(|value| text += &format!("{value},"));
            text += &format!("{}\n", target(i));
        }
        fs::write(&data, text).unwrap();
        let supervised = matches!(entry.info.task, Task::Regression | Task::Classification) || entry.info.supervised;
        let mut command = Command::new(env!("CARGO_BIN_EXE_ermine"));
        command.arg("fit").arg(&data).args(["--model", entry.name, "--test", "0", "--folds", "0", "--seed", "3", "-o"]);
        command.arg(&path).args(if supervised { ["--target", "y"] } else { ["--ignore", "y"] });
        let output = command.output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {message}", entry.name);

        let file = file::load(&path).unwrap();
        let prepared = file.prepare(&Ctx::default(), &X::dense(&values, cols).unwrap(), &Default::default()).unwrap();
        let rows = Data::new(X::dense(&prepared.values, prepared.cols).unwrap());
        let rows = match entry.info.task {
            Task::Regression => rows.real(&real).unwrap(),
            _ if supervised => rows.classes(&codes, 2).unwrap(),
            _ => rows,
        };
        let estimator = (entry.make)(&file.header.values()).unwrap();
        let fit = estimator.fit(&rows, &Ctx::new(3)).unwrap();
        assert!(fit.model.to_bytes() == file.model.to_bytes(), "{}", entry.name);
        fitted += 1;
    }
    assert_eq!(fitted, MODELS.len());
}
