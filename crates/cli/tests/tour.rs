//! Every command of docs/tour.md works as it stands.

use std::{fs, path::Path, process::Command};

/// The words of a command line, quotes taken off.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quote, mut open) = (vec![String::new()], None, false);
    for c in line.chars() {
        match (c, quote) {
            ('"' | '\'', None) => (quote, open) = (Some(c), true),
            (c, Some(end)) if c == end => quote = None,
            (' ', None) => {
                if open || !words.last().unwrap().is_empty() {
                    words.push(String::new());
                }
                open = false;
            }
            (c, _) => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn every_command_of_the_tour_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tour = fs::read_to_string(root.join("docs/tour.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("examples")).unwrap();
    fs::copy(root.join("examples/penguins.csv"), folder.path().join("examples/penguins.csv")).unwrap();
    let (mut inside, mut commands) = (false, 0);
    for line in tour.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            line if inside => {
                let words = words(line);
                assert_eq!(words[0], "ermine", "{line}");
                let output =
                    Command::new(env!("CARGO_BIN_EXE_ermine")).current_dir(&folder).args(&words[1..]).output().unwrap();
                assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
                assert!(!output.stdout.is_empty(), "{line}");
                commands += 1;
            }
            _ => {}
        }
    }
    assert!(commands >= 20, "{commands} commands");
    for page in ["species.html", "tree.html", "simple.html", "flexible.html"] {
        assert!(fs::metadata(folder.path().join(page)).unwrap().len() > 100_000, "{page}");
    }
}
