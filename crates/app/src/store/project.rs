//! The project folder of the lab: `tables` with what was dropped into it, `models` with model files and their reports,
//! and the settings of the pages. Everything is on disk at once, so that nothing is lost when the program is killed.
//!
//! Names come from a browser. A path is only ever made of a name that this folder itself lists, or of one that
//! [`plain_name`] has made harmless; the one file outside is the table named on the command line.

use super::{Fitted, file, writer};
use ermine::{Error, Result};
use serde::Serialize;
use serde_json::{Value, json};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};
use tempfile::{NamedTempFile, TempDir};

pub struct Project {
    root: PathBuf,
    /// The table of the command line, where it is.
    named: Option<PathBuf>,
    /// Removed at the end.
    temporary: Option<TempDir>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableEntry {
    pub name: String,
    pub bytes: u64,
    /// Where it is, for commands that a person types.
    pub path: String,
}

impl Project {
    /// In this folder, which is made if it is not there; without one, in a temporary folder.
    pub fn open(folder: Option<&Path>, named: Option<&Path>) -> Result<Project> {
        let (root, temporary) = match folder {
            Some(folder) => (folder.to_path_buf(), None),
            None => {
                let made = tempfile::Builder::new().prefix("ermine-lab-").tempdir();
                let made = made.map_err(|error| Error::io(std::env::temp_dir(), "write to", &error))?;
                (made.path().to_path_buf(), Some(made))
            }
        };
        for part in ["tables", "models"] {
            let part = root.join(part);
            fs::create_dir_all(&part).map_err(|error| Error::io(&part, "create", &error))?;
        }
        let named = named.map(|path| fs::canonicalize(path).map_err(|error| Error::io(path, "open", &error)));
        let named = named.transpose()?;
        if let Some(path) = named.as_ref().filter(|path| !path.is_file()) {
            return Err(Error::io(path, "open", &std::io::Error::other("it is not a file")));
        }
        Ok(Project { root, named, temporary })
    }

    pub fn folder(&self) -> &Path {
        &self.root
    }

    pub fn is_temporary(&self) -> bool {
        self.temporary.is_some()
    }

    /// The table of the command line first, then those of the folder by name.
    pub fn tables(&self) -> Vec<TableEntry> {
        let entry = |path: PathBuf| -> Option<TableEntry> {
            let meta = fs::metadata(&path).ok().filter(|meta| meta.is_file())?;
            let name = path.file_name()?.to_str().filter(|name| !name.starts_with('.'))?.to_string();
            Some(TableEntry { name, bytes: meta.len(), path: path.display().to_string() })
        };
        let named = self.named.clone().and_then(entry);
        let mut all = listed(&self.root.join("tables")).into_iter().filter_map(entry).collect::<Vec<_>>();
        all.retain(|table| named.as_ref().is_none_or(|named| named.name != table.name));
        all.sort_by(|a, b| a.name.cmp(&b.name));
        named.into_iter().chain(all).collect()
    }

    /// The path of a table that is listed.
    pub fn table(&self, name: &str) -> Result<PathBuf> {
        let tables = self.tables();
        let found = tables.iter().find(|table| table.name == name);
        found.map(|table| PathBuf::from(&table.path)).ok_or_else(|| Error::Unknown {
            what: "table",
            name: name.into(),
            known: tables.into_iter().map(|table| table.name).collect(),
        })
    }

    /// Begins a table; it is there when it is whole.
    pub fn upload(&self, name: &str) -> Result<Upload> {
        let folder = self.root.join("tables");
        let taken: Vec<String> = self.tables().into_iter().map(|table| table.name).collect();
        let name = free_name(&plain_name(name), &taken);
        let file = tempfile::Builder::new().prefix(".upload-").tempfile_in(&folder);
        let file = file.map_err(|error| Error::io(&folder, "write to", &error))?;
        Ok(Upload { file, place: folder.join(&name), name })
    }

    /// Keeps a model with its report and what it was asked for. Returns its name.
    pub fn keep(&self, fitted: &Fitted, report: &Value, asked: &Value) -> Result<String> {
        let folder = self.root.join("models");
        let taken: Vec<String> = self.models();
        let target = fitted.header.target.as_ref().map_or(String::new(), |target| format!("{}-", target.name));
        let name = free_name(&plain_name(&format!("{target}{}", fitted.header.model)), &taken);
        let path = folder.join(format!("{name}.ermine"));
        // The report first: a model is there when its file is.
        let about = json!({ "report": report, "asked": asked });
        whole(&folder.join(format!("{name}.json")), about.to_string().as_bytes())?;
        file::save(fitted, &writer::Output::open(&path, writer::Content::Model, false, &[])?)?;
        Ok(name)
    }

    /// Names of models, the newest last.
    pub fn models(&self) -> Vec<String> {
        let mut all: Vec<(std::time::SystemTime, String)> = listed(&self.root.join("models"))
            .into_iter()
            .filter(|path| path.extension().is_some_and(|end| end == "ermine") && path.with_extension("json").is_file())
            .filter_map(|path| {
                let time = fs::metadata(&path).and_then(|meta| meta.modified()).ok()?;
                Some((time, path.file_stem()?.to_str()?.to_string()))
            })
            .collect();
        all.sort();
        all.into_iter().map(|(_, name)| name).collect()
    }

    /// The path of a model file that is listed.
    pub fn model(&self, name: &str) -> Result<PathBuf> {
        let known = self.models();
        match known.iter().any(|model| model == name) {
            true => Ok(self.root.join("models").join(format!("{name}.ermine"))),
            false => Err(Error::Unknown { what: "model", name: name.into(), known }),
        }
    }

    pub fn model_bytes(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.model(name)?;
        fs::read(&path).map_err(|error| Error::io(&path, "read", &error))
    }

    /// What is known of a model: `report` and `asked`.
    pub fn about(&self, name: &str) -> Result<Value> {
        let path = self.model(name)?.with_extension("json");
        let text = fs::read(&path).map_err(|error| Error::io(&path, "read", &error))?;
        serde_json::from_slice(&text).map_err(|error| Error::format(&path, None, error.to_string()))
    }

    pub fn remove_model(&self, name: &str) -> Result<()> {
        let path = self.model(name)?;
        fs::remove_file(&path).map_err(|error| Error::io(&path, "remove", &error))?;
        let _ = fs::remove_file(path.with_extension("json"));
        Ok(())
    }

    /// Settings of the pages.
    pub fn settings(&self) -> Value {
        let text = fs::read(self.root.join("lab.json")).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_else(|_| json!({}))
    }

    pub fn set_settings(&self, settings: &Value) -> Result<()> {
        whole(&self.root.join("lab.json"), settings.to_string().as_bytes())
    }
}

/// A table on its way into the folder. Dropped before its end, nothing is left of it.
pub struct Upload {
    file: NamedTempFile,
    place: PathBuf,
    name: String,
}

impl Upload {
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| Error::io(&self.place, "write to", &error))
    }

    /// The name it has in the folder.
    pub fn finish(self) -> Result<String> {
        let place = self.place;
        self.file.persist_noclobber(&place).map_err(|error| Error::io(&place, "write to", &error.error))?;
        Ok(self.name)
    }
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map_or(Vec::new(), |entries| entries.flatten().map(|entry| entry.path()).collect())
}

/// Writes all or nothing.
fn whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let wrong = |error: std::io::Error| Error::io(path, "write to", &error);
    let mut file = NamedTempFile::new_in(path.parent().unwrap_or(Path::new("."))).map_err(wrong)?;
    file.write_all(bytes).map_err(wrong)?;
    file.persist(path).map_err(|error| wrong(error.error))?;
    Ok(())
}

/// The last part of a name, without anything that means something to a file system.
fn plain_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let mut name: String = last.chars().map(plain).collect::<String>().trim_matches('.').to_string();
    // A file system counts bytes.
    while name.len() > 120 {
        name.remove(0);
    }
    if name.is_empty() { "table".into() } else { name }
}

/// `a.csv`, `a-2.csv`, `a-3.csv`: the first that nobody has.
fn free_name(name: &str, taken: &[String]) -> String {
    let (stem, end) = match name.find('.') {
        Some(at) if at > 0 => name.split_at(at),
        _ => (name, ""),
    };
    let number = |n: usize| if n == 1 { name.to_string() } else { format!("{stem}-{n}{end}") };
    (1..).map(number).find(|name| !taken.contains(name)).expect("there is always another number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_the_folder() {
        for (given, plain) in [
            ("penguins.csv", "penguins.csv"),
            ("../../etc/passwd", "passwd"),
            ("..\\..\\boot.ini", "boot.ini"),
            ("..", "table"),
            ("", "table"),
            ("a\0b\n.csv", "a_b_.csv"),
            (".hidden", "hidden"),
            ("<img src=x>.csv", "_img_src_x_.csv"),
        ] {
            assert_eq!(plain_name(given), plain, "{given:?}");
        }
        assert!(plain_name(&"ü".repeat(500)).len() <= 120);
        assert_eq!(free_name("a.csv", &["a.csv".into(), "a-2.csv".into()]), "a-3.csv");
    }

    #[test]
    fn only_what_is_listed_has_a_path() {
        let folder = tempfile::tempdir().unwrap();
        let project = Project::open(Some(folder.path()), None).unwrap();
        let mut upload = project.upload("../a.csv").unwrap();
        upload.write(b"x\n1\n").unwrap();
        assert!(project.tables().is_empty(), "a table that is not whole");
        assert_eq!(upload.finish().unwrap(), "a.csv");
        assert!(project.table("a.csv").is_ok());
        fs::write(folder.path().join("secret"), "x").unwrap();
        for name in ["../secret", "secret", "..", "", "tables/a.csv", "../tables/a.csv", "/etc/passwd"] {
            assert!(project.table(name).is_err() && project.model(name).is_err(), "{name}");
        }
        project.set_settings(&json!({ "table": "a.csv" })).unwrap();
        let again = Project::open(Some(folder.path()), None).unwrap();
        assert_eq!((again.settings()["table"].as_str(), again.tables().len()), (Some("a.csv"), 1));
    }
}
