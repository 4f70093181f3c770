//! What a page asks for, as a job of the engine; and the same as a command and as Python, ready to copy.

use ermine::{Ctx, Error, Result, Spec, Task};
use ermine_app::{
    Effort, Job,
    inspect::{Look, look},
    read::Opened,
    report::html::shell,
    store::project::Project,
    table::Kind,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

/// The settings of the pages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Asked {
    /// One of the project's.
    pub table: String,
    pub target: Option<String>,
    pub ignore: Vec<String>,
    pub keep: Vec<String>,
    /// Kinds that the user knows better.
    pub kinds: BTreeMap<String, String>,
    /// What to learn from, as a formula.
    pub features: Option<String>,
    pub task: Option<String>,
    pub effort: Option<String>,
    /// Only these are compared; a single one is fitted as it is, or tuned.
    pub models: Vec<String>,
    pub tune: bool,
    pub metric: Option<String>,
    pub seed: u64,
}

fn wrong(name: &str, value: &str, allowed: &str) -> Error {
    Error::Parameter { model: "lab".into(), name: name.into(), value: value.into(), allowed: allowed.into() }
}

/// A field that is empty was not filled in.
fn filled(text: &Option<String>) -> Option<&str> {
    text.as_deref().map(str::trim).filter(|text| !text.is_empty())
}

impl Asked {
    pub fn of(body: &[u8]) -> Result<Asked> {
        serde_json::from_slice(body).map_err(|error| Error::Data(format!("not what this address takes: {error}")))
    }

    fn specs(&self) -> Vec<Spec> {
        self.models.iter().map(|text| Spec::parse(text).unwrap_or_else(|| Spec::new(text))).collect()
    }

    /// What is asked of the table, without the training.
    pub fn job(&self, project: &Project) -> Result<Job> {
        let mut job = Job::new(project.table(&self.table)?);
        for (column, kind) in &self.kinds {
            job.read.kinds.insert(column.clone(), kind.parse::<Kind>()?);
        }
        job.target = filled(&self.target).map(String::from);
        job.ignore = self.ignore.clone();
        job.keep = self.keep.clone();
        job.features = filled(&self.features).map(String::from);
        job.task = match filled(&self.task) {
            None => None,
            Some("classification") => Some(Task::Classification),
            Some("regression") => Some(Task::Regression),
            Some(other) => return Err(wrong("task", other, "classification or regression")),
        };
        job.effort = match filled(&self.effort) {
            None => Effort::default(),
            Some(name) => Effort::ALL
                .into_iter()
                .find(|effort| effort.name() == name)
                .ok_or_else(|| wrong("effort", name, "quick, normal or thorough"))?,
        };
        job.metric = filled(&self.metric).map(String::from);
        job.seed = self.seed;
        job.insight = true;
        match &self.specs()[..] {
            [one] => (job.model, job.tune) = (Some(one.clone()), self.tune),
            several => job.models = several.to_vec(),
        }
        Ok(job)
    }

    /// The job with its table.
    pub fn open(&self, project: &Project, ctx: &Ctx) -> Result<(Job, Opened)> {
        let job = self.job(project)?;
        let open = || Opened::open(&job.inputs()?, &job.read, job.target.as_deref(), job.limits.memory, ctx);
        let opened = ctx.install(open)?;
        Ok((job, opened))
    }

    /// The same on the command line.
    pub fn command(&self, table: &Path, name: &str) -> Vec<String> {
        let specs = self.specs();
        let verb = if self.tune && specs.len() == 1 { "tune" } else { "fit" };
        let mut words = vec!["ermine".into(), verb.into(), table.display().to_string()];
        let mut flag = |name: &str, value: &str| words.extend([format!("--{name}"), value.to_string()]);
        if let Some(target) = filled(&self.target) {
            flag("target", target);
        }
        match &specs[..] {
            [] => {}
            [one] => {
                flag("model", &one.name);
                one.params.iter().for_each(|(name, value)| flag(&name.replace('_', "-"), &value.to_string()));
            }
            several => flag("models", &several.iter().map(Spec::to_string).collect::<Vec<_>>().join(",")),
        }
        for (name, value) in
            [("effort", &self.effort), ("scoring", &self.metric), ("task", &self.task), ("features", &self.features)]
        {
            if let Some(value) = filled(value) {
                flag(name, value);
            }
        }
        self.ignore.iter().for_each(|column| flag("ignore", column));
        self.keep.iter().for_each(|column| flag("keep", column));
        self.kinds.iter().for_each(|(column, kind)| flag("kind", &format!("{column}={kind}")));
        if self.seed != 0 {
            flag("seed", &self.seed.to_string());
        }
        flag("report", &format!("{name}.html"));
        flag("output", &format!("{name}.ermine"));
        words
    }
}

/// Code that gives the model of a run: as it is kept, and its last fit again.
pub fn python(asked: &Asked, report: &Value, command: &[String], name: &str) -> String {
    let text = |value: &str| serde_json::to_string(value).unwrap_or_default();
    let model = report["model"].as_str().unwrap_or_default();
    let mut lines = vec![
        "import subprocess".to_string(),
        "import ermine".into(),
        String::new(),
        "# The whole run: the same file as here, to the bit.".into(),
        format!("subprocess.run([{}], check=True)", command.iter().map(|w| text(w)).collect::<Vec<_>>().join(", ")),
        format!("model = ermine.load({})  # {model}, with its preparation", text(&format!("{name}.ermine"))),
    ];
    if filled(&asked.target).is_some() {
        lines.extend([
            String::new(),
            "import pandas as pd".into(),
            format!("table = pd.read_csv({})", text(command.get(2).map_or("", String::as_str))),
            "model.predict(table)  # raw columns in, predictions out".into(),
        ]);
    }
    lines.join("\n") + "\n"
}

/// For a person to copy.
pub fn typed(command: &[String]) -> String {
    shell(command)
}

/// The last few looks at tables: a reload does not read the file again.
#[derive(Default)]
pub struct Looks(Mutex<VecDeque<(Asked, u64, Arc<Look>)>>);

impl Looks {
    const KEPT: usize = 8;

    pub fn look(&self, asked: &Asked, project: &Project, ctx: &Ctx) -> Result<Arc<Look>> {
        // Models and effort change nothing of it.
        let asked = Asked { models: Vec::new(), tune: false, effort: None, metric: None, ..asked.clone() };
        let bytes = project.tables().iter().find(|table| table.name == asked.table).map_or(0, |table| table.bytes);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., look)) = kept.iter().find(|(known, size, _)| *known == asked && *size == bytes) {
            return Ok(look.clone());
        }
        drop(kept);
        let (job, opened) = asked.open(project, ctx)?;
        let found = Arc::new(ctx.install(|| look(&job, &opened, ctx))?);
        kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back((asked, bytes, found.clone()));
        if kept.len() > Looks::KEPT {
            kept.pop_front();
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_and_a_command_ask_for_the_same() {
        let asked = Asked {
            target: Some("a b".into()),
            ignore: vec!["id".into()],
            kinds: [("year".to_string(), "category".to_string())].into(),
            models: vec!["Ridge(alpha=0.3)".into()],
            effort: Some("quick".into()),
            ..Asked::default()
        };
        let words = asked.command(Path::new("x y.csv"), "m");
        assert_eq!(
            typed(&words),
            "ermine fit 'x y.csv' --target 'a b' --model Ridge --alpha 0.3 --effort quick --ignore id --kind \
             year=category \
             --report m.html --output m.ermine"
        );
        assert!(Asked::of(br#"{"table": "x", "nonsense": 1}"#).is_err());
    }
}
