//! Where the program writes, it destroys nothing: inputs, other outputs, links, pipes, devices, files of other kinds.
#![cfg(unix)]

use std::{
    fs,
    os::unix::{
        fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink},
        process::ExitStatusExt,
    },
    path::Path,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

fn ermine(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ermine"));
    command.env("NO_COLOR", "1").current_dir(folder).args(words);
    command
}

const FIT: [&str; 9] = ["fit", "t.csv", "--target", "y", "--model", "Ridge", "--folds", "0", "--seed=1"];

fn fit(folder: &Path, more: &[&str]) -> Output {
    ermine(folder, &[&FIT[..], more].concat()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let table: String =
        "a,b,y\n".to_string() + &(0..40).map(|i| format!("{i},{},{}\n", i * i % 7, 3 * i)).collect::<String>();
    fs::write(folder.path().join("t.csv"), &table).unwrap();
    (folder, table)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn inputs_and_files_of_others_are_refused_before_the_fit() {
    let (folder, table) = folder();
    let at = folder.path();
    fs::write(at.join("notes.txt"), "mine").unwrap();
    symlink("t.csv", at.join("link")).unwrap();
    fs::hard_link(at.join("t.csv"), at.join("hard")).unwrap();
    fs::write(at.join("quiet.ermine"), "").unwrap();
    fs::set_permissions(at.join("quiet.ermine"), fs::Permissions::from_mode(0o400)).unwrap();
    for (words, problem) in [
        (&["-o", "t.csv"][..], "it is the table to learn from"),
        (&["-o", "./link"], "it is the table to learn from"),
        (&["-o", "hard"], "it is the table to learn from"),
        (&["--report", "t.csv"], "it is the table to learn from"),
        (&["--checkpoint", "t.csv"], "it is the table to learn from"),
        (&["-o", "notes.txt"], "it is not a model file"),
        (&["--report", "notes.txt"], "it is not a report of Ermine"),
        (&["--checkpoint", "notes.txt"], "it is not a checkpoint"),
        (&["--checkpoint", "notes.txt", "--force"], "it is not a checkpoint"),
        (&["-o", "quiet.ermine"], "read-only"),
        (&["-o", "x", "--report", "x"], "one file"),
        (&["-o", "x", "--checkpoint", "./x"], "one file"),
        (&["-o", "."], "folder"),
        (&["-o", "none/x"], "there is no such folder"),
        (&["-o", "x", "--report", "none/x", "--force"], "there is no such folder"),
    ] {
        let output = fit(at, words);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {}", said(&output));
        assert!(said(&output).contains(problem), "{words:?}: {}", said(&output));
        assert_eq!(output.stdout, b"", "{words:?}");
    }
    assert_eq!(fs::read_to_string(at.join("t.csv")).unwrap(), table);
    assert_eq!(fs::read_to_string(at.join("notes.txt")).unwrap(), "mine");
    assert_eq!(names(at), ["hard", "link", "notes.txt", "quiet.ermine", "t.csv"]);
    assert!(said(&fit(at, &["-o", "notes.txt"])).contains("hint: give another name; --force overwrites it"));

    assert!(fit(at, &["-o", "notes.txt", "--force"]).status.success());
    assert!(fs::read(at.join("notes.txt")).unwrap().starts_with(b"ermine model"));
    // Its own kind is replaced without a question.
    assert!(fit(at, &["-o", "notes.txt"]).status.success());
    assert!(fit(at, &["-o", "t.csv", "--force"]).status.success());
}

#[test]
fn links_modes_pipes_and_devices_stay_what_they_are() {
    let (folder, _) = folder();
    let at = folder.path();
    fs::create_dir(at.join("far")).unwrap();
    symlink("far/model.ermine", at.join("link.ermine")).unwrap();
    assert!(fit(at, &["-o", "link.ermine"]).status.success());
    assert!(at.join("link.ermine").is_symlink());
    fs::set_permissions(at.join("far/model.ermine"), fs::Permissions::from_mode(0o600)).unwrap();
    assert!(fit(at, &["-o", "link.ermine"]).status.success());
    assert_eq!(fs::metadata(at.join("far/model.ermine")).unwrap().mode() & 0o777, 0o600);
    let model = fs::read(at.join("far/model.ermine")).unwrap();

    let umask = |mask: &str| {
        let line = format!("umask {mask}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.current_dir(at).args(["-c", &line, env!("CARGO_BIN_EXE_ermine")]).args(FIT).args(["-o", mask]);
        assert!(command.output().unwrap().status.success());
        fs::metadata(at.join(mask)).unwrap().mode() & 0o777
    };
    assert_eq!((umask("077"), umask("002")), (0o600, 0o664));

    let node = |words: &[&str]| {
        Command::new("mknod").current_dir(at).args(words).output().is_ok_and(|made| made.status.success())
    };
    assert!(node(&["pipe", "p"]));
    let reader = Command::new("cat").arg(at.join("pipe")).stdout(Stdio::piped()).spawn().unwrap();
    assert!(fit(at, &["-o", "pipe"]).status.success());
    assert_eq!(reader.wait_with_output().unwrap().stdout, model);
    assert!(fs::metadata(at.join("pipe")).unwrap().file_type().is_fifo());
    // A node of our own that swallows everything; only the superuser can make one.
    if node(&["null", "c", "1", "3"]) && fs::OpenOptions::new().write(true).open(at.join("null")).is_ok() {
        let output = fit(at, &["-o", "null", "--report", "null"]);
        assert!(output.status.success(), "{}", said(&output));
        assert!(fs::metadata(at.join("null")).unwrap().file_type().is_char_device());
        let refused = fit(at, &["--checkpoint", "null"]);
        assert!(said(&refused).contains("has to be a file"), "{}", said(&refused));
    }
}

#[test]
fn nothing_is_left_behind_by_a_signal_or_a_crash() {
    let (folder, _) = folder();
    let at = folder.path();
    let rows: String = (0..4000).map(|i| format!("{},{},{},{}\n", i % 97, i * 31 % 89, i * 7 % 83, i % 3)).collect();
    fs::write(at.join("t.csv"), "a,b,c,y\n".to_string() + &rows).unwrap();
    fs::write(at.join(".ermine-crashed.tmp"), "half").unwrap();
    for (signal, number) in [("TERM", 15), ("INT", 2)] {
        let words =
            ["fit", "t.csv", "--target", "y", "--model", "MLPRegressor", "--folds", "0", "--max-iter", "100000"];
        let more = ["--tol", "0", "--checkpoint", "state", "-o", "model", "--n-iter-no-change", "100000"];
        let mut child = ermine(at, &[&words[..], &more].concat()).stderr(Stdio::null()).spawn().unwrap();
        let begin = Instant::now();
        while !at.join("state").exists() && begin.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(child.wait().unwrap().signal(), Some(number));
        assert_eq!(names(at), ["state", "t.csv"], "after {signal}");
        fs::remove_file(at.join("state")).unwrap();
    }
}
