//! The crates depend on each other in one direction, and only where they should: read from the manifests.

use std::{collections::BTreeMap, fs, path::Path};

/// Which of our crates each may use, and which others only it may use.
fn allowed() -> BTreeMap<&'static str, &'static [&'static str]> {
    BTreeMap::from([
        ("core", &[][..]),
        ("ermine", &["ermine-core"][..]),
        ("app", &["ermine-core", "ermine"][..]),
        ("web", &["ermine", "ermine-app"][..]),
        ("cli", &["ermine", "ermine-app", "ermine-web"][..]),
        ("py", &["ermine", "ermine-app"][..]),
    ])
}

/// Dependencies that belong behind one door.
const DOORS: &[(&str, &str)] = &[
    ("faer", "core"),
    ("pulp", "core"),
    ("clap", "cli"),
    ("anstream", "cli"),
    ("indicatif", "cli"),
    ("mpi", "cli"),
    ("parquet", "app"),
    ("memmap2", "app"),
    ("flate2", "app"),
    ("axum", "web"),
    ("hyper", "web"),
    ("hyper-util", "web"),
    ("tokio", "web"),
    ("pyo3", "py"),
    ("numpy", "py"),
];

fn dependencies(manifest: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line == "[dependencies]";
        } else if inside && !line.trim().is_empty() && !line.starts_with('#') {
            found.push(line.split(['.', '=', ' ']).next().unwrap_or_default().to_string());
        }
    }
    found
}

#[test]
fn crates_depend_in_one_direction() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let allowed = allowed();
    for folder in fs::read_dir(&crates).unwrap() {
        let folder = folder.unwrap().file_name().into_string().unwrap();
        let manifest = fs::read_to_string(crates.join(&folder).join("Cargo.toml")).unwrap();
        let ours = allowed.get(folder.as_str()).unwrap_or_else(|| panic!("crates/{folder} has no place in the layers"));
        for name in dependencies(&manifest) {
            if name.starts_with("ermine") {
                assert!(ours.contains(&name.as_str()), "crates/{folder} must not use {name}");
            }
            if let Some((_, door)) = DOORS.iter().find(|(guarded, _)| *guarded == name) {
                assert_eq!(*door, folder, "{name} is for crates/{door} alone");
            }
        }
    }
}

#[test]
fn only_the_edges_touch_files_or_print() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // The web crate speaks HTTP through its runtime; files are app's and printing is cli's.
    for folder in ["core", "ermine", "web"] {
        let mut stack = vec![crates.join(folder).join("src")];
        while let Some(path) = stack.pop() {
            if path.is_dir() {
                stack.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                continue;
            }
            if path.extension().is_none_or(|end| end != "rs") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
                for banned in ["std::fs", "std::net", "println!", "eprintln!", "std::env", "process::exit"] {
                    let speaks_http = folder == "web" && banned == "std::net";
                    // The crate on its own saves a fit, in one place.
                    let saves = folder == "ermine" && banned == "std::fs" && path.ends_with("src/file.rs");
                    assert!(speaks_http || saves || !line.contains(banned), "{}: {line}", path.display());
                }
            }
        }
    }
}
