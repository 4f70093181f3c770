//! Images in, a network out, and a run that is killed ends with the same bits as one that is not.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

fn ermine() -> Command {
    Command::new(env!("CARGO_BIN_EXE_ermine"))
}

/// Images of 6 x 6 with a bright row or column, whose number is the label: IDX files as MNIST has them.
fn images(folder: &Path, count: usize) {
    let mut images = vec![0, 0, 8, 3];
    let mut labels = vec![0, 0, 8, 1];
    for length in [count as u32, 6, 6] {
        images.extend(length.to_be_bytes());
    }
    labels.extend((count as u32).to_be_bytes());
    let mut state = 1u32;
    for i in 0..count {
        let label = i % 12;
        for pixel in 0..36 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let lit = if label < 6 { pixel / 6 == label } else { pixel % 6 == label - 6 };
            images.push((state >> 24) as u8 / 2 + if lit { 110 } else { 0 });
        }
        labels.push(label as u8);
    }
    fs::write(folder.join("images.idx"), images).unwrap();
    fs::write(folder.join("labels.idx"), labels).unwrap();
}

fn fit(folder: &Path, model: &str, checkpoint: Option<&str>) -> Command {
    let mut command = ermine();
    command.current_dir(folder).args([
        "fit",
        "images.idx",
        "--labels",
        "labels.idx",
        "--model",
        "MLPClassifier",
        "-o",
        model,
    ]);
    command.args(["--hidden-layer-sizes", "[48,24]", "--max-iter", "40", "--tol", "0", "--n-iter-no-change", "1000"]);
    command.args(["--dropout", "0.1", "--test", "0.2", "--folds", "0", "--seed", "3"]);
    if let Some(checkpoint) = checkpoint {
        command.args(["--checkpoint", checkpoint]);
    }
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

#[test]
fn killed_runs_end_with_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    images(folder.path(), 3000);
    let begin = std::time::Instant::now();
    assert!(fit(folder.path(), "whole.ermine", None).status().unwrap().success());
    let whole = fs::read(folder.path().join("whole.ermine")).unwrap();
    let takes = begin.elapsed();
    let mut kills = 0;
    for wait in [0.35, 0.6, 0.8, 1.0] {
        let mut child = fit(folder.path(), "killed.ermine", Some("run.checkpoint")).spawn().unwrap();
        std::thread::sleep(Duration::from_secs_f64(takes.as_secs_f64() * wait));
        kills += usize::from(child.try_wait().unwrap().is_none());
        // SIGKILL: nothing is cleaned up.
        let _ = child.kill();
        child.wait().unwrap();
    }
    let last = fit(folder.path(), "killed.ermine", Some("run.checkpoint")).output().unwrap();
    assert!(last.status.success(), "{}", String::from_utf8_lossy(&last.stderr));
    assert!(fs::read(folder.path().join("killed.ermine")).unwrap() == whole, "after {kills} kills");
    assert!(folder.path().join("run.checkpoint").is_file());

    let other = fit(folder.path(), "other.ermine", Some("run.checkpoint")).args(["--alpha", "1"]).output().unwrap();
    let message = String::from_utf8_lossy(&other.stderr);
    assert!(!other.status.success() && message.contains("a checkpoint of another run"), "{message}");

    let evaluate = ["evaluate", "whole.ermine", "images.idx", "--labels", "labels.idx", "--json"];
    let scores = ermine().current_dir(folder.path()).args(evaluate).output().unwrap();
    assert!(scores.status.success(), "{}", String::from_utf8_lossy(&scores.stderr));
    let scores = String::from_utf8_lossy(&scores.stdout).into_owned();
    assert!(scores.contains("accuracy"), "{scores}");
    let predict = ermine().current_dir(folder.path()).args(["predict", "whole.ermine", "images.idx"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&predict.stdout).lines().count(), 3001);
}
