//! The main job with its default options gives one model file, byte by byte: from memory, from disk, on any number of
//! threads and processes, on a machine that is busy.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const ERMINE: &str = env!("CARGO_BIN_EXE_ermine");

fn penguins() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/penguins.csv")
}

/// Fits with these arguments, under `mpirun` if so many processes are asked for, and returns the model file.
fn model(folder: &Path, data: &Path, processes: Option<usize>, arguments: &[&str]) -> Vec<u8> {
    let model = folder.join("model.ermine");
    let _ = fs::remove_file(&model);
    let mut command = match processes {
        None => Command::new(ERMINE),
        Some(count) => {
            let mut command = Command::new("mpirun");
            command.envs([
                ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
                ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
                ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
                ("OMPI_MCA_hwloc_base_binding_policy", "none"),
                ("OMPI_MCA_pml", "ob1"),
                ("OMPI_MCA_btl", "self,vader"),
            ]);
            command.args(["-n", &count.to_string(), ERMINE]);
            command
        }
    };
    let output = command.arg("fit").arg(data).args(arguments).arg("-o").arg(&model).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{processes:?} {arguments:?}: {said}");
    fs::read(model).unwrap()
}

/// Numbers with gaps, categories, a date: 6,000 rows.
fn mixed(path: &Path) {
    let mut state = 11u64;
    let mut draw = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    let mut lines = vec!["size,age,town,day,price".to_string()];
    for i in 0..6000 {
        let (size, age, town) =
            (20.0 + 200.0 * draw(), 80.0 * draw(), ["Ely", "Ripon", "Wells"][(3.0 * draw()) as usize]);
        let price = 2.0 * size - age + if town == "Ely" { 40.0 } else { 0.0 } + 0.01 * size * age + 20.0 * draw();
        let age = if i % 17 == 3 { String::new() } else { format!("{age:.1}") };
        lines.push(format!("{size:.2},{age},{town},20{}-0{}-11,{price:.2}", 10 + i % 9, 1 + i % 7));
    }
    fs::write(path, lines.join("\n")).unwrap();
}

#[test]
fn penguins_from_memory_disk_threads_and_processes() {
    let folder = tempfile::tempdir().unwrap();
    let (data, target) = (penguins(), ["--target", "species"]);
    let memory = model(folder.path(), &data, None, &target);
    assert!(memory == model(folder.path(), &data, None, &[&target[..], &["--memory", "10KB"]].concat()), "disk");
    assert!(memory == model(folder.path(), &data, None, &[&target[..], &["--threads", "1"]].concat()), "one thread");
    if cfg!(feature = "mpi") {
        for processes in [1, 2, 3, 7] {
            let spread = model(folder.path(), &data, Some(processes), &[&target[..], &["--threads", "1"]].concat());
            assert!(memory == spread, "{processes} processes");
        }
        let both = [&target[..], &["--memory", "10KB", "--threads", "1"]].concat();
        assert!(memory == model(folder.path(), &data, Some(3), &both), "3 processes, each from disk");
    }
}

#[test]
fn a_table_of_several_files_from_memory_disk_and_processes() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("houses.csv");
    mixed(&data);
    let options = ["--target", "price", "--effort", "quick"];
    let memory = model(folder.path(), &data, None, &options);
    assert!(memory == model(folder.path(), &data, None, &[&options[..], &["--memory", "50KB"]].concat()), "disk");
    // The same rows in two files.
    let text = fs::read_to_string(&data).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(folder.path().join("part-1.csv"), lines[..2500].join("\n")).unwrap();
    fs::write(folder.path().join("part-2.csv"), [&lines[..1], &lines[2500..]].concat().join("\n")).unwrap();
    let parts = folder.path().join("part-*.csv");
    assert!(memory == model(folder.path(), &parts, None, &options), "two files");
    assert!(memory == model(folder.path(), &parts, None, &[&options[..], &["--memory", "50KB"]].concat()), "from disk");
    if cfg!(feature = "mpi") {
        let one = [&options[..], &["--threads", "1"]].concat();
        assert!(memory == model(folder.path(), &parts, Some(2), &one), "two processes");
    }
}
