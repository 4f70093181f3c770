//! The models behind the endpoints. A changed file is loaded beside the old model and takes its place in one step; a
//! request keeps
//! the model it began with.

use super::Log;
use arc_swap::ArcSwap;
use ermine::{Ctx, Error, Matrix, Output, Result};
use ermine_app::{Fitted, file, file::Stamp, rows::Frame, wire::Reader};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Rows that a single prediction is compared with when it is explained.
const BACKGROUND: usize = 200;

/// A model and what it takes to use it, made once.
pub struct Loaded {
    pub fitted: Fitted,
    pub reader: Reader,
    pub version: String,
    /// What it says when nothing else is asked for.
    pub natural: Vec<Output>,
    pub background: Option<Matrix>,
    pub ctx: Ctx,
}

impl Loaded {
    pub fn load(path: &Path, threads: usize) -> Result<Loaded> {
        let (fitted, version) = file::load_versioned(path)?;
        let background = fitted.header.profile.as_ref().map(|profile| profile.background(BACKGROUND));
        Ok(Loaded {
            reader: Reader::new(&fitted),
            natural: fitted.natural_outputs(),
            ctx: Ctx::new(fitted.header.seed).with_threads(threads),
            version,
            background,
            fitted,
        })
    }
}

/// Values of one column that the model was not fitted for.
#[derive(Clone, Copy, Default)]
pub struct Strange {
    pub unseen: u64,
    pub outside: u64,
}

/// A name with its current model.
pub struct Slot {
    pub name: String,
    path: PathBuf,
    threads: usize,
    current: ArcSwap<Loaded>,
    seen: Mutex<Stamp>,
    pub rows: AtomicU64,
    pub swaps: AtomicU64,
    pub refused: AtomicU64,
    strange: Mutex<BTreeMap<String, Strange>>,
}

impl Slot {
    pub fn open(name: String, path: PathBuf, threads: usize) -> Result<Slot> {
        let stamp = Stamp::of(&path)?;
        let loaded = Loaded::load(&path, threads)?;
        Ok(Slot {
            name,
            path,
            threads,
            current: ArcSwap::from_pointee(loaded),
            seen: Mutex::new(stamp),
            rows: AtomicU64::new(0),
            swaps: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            strange: Mutex::default(),
        })
    }

    pub fn current(&self) -> Arc<Loaded> {
        self.current.load_full()
    }

    /// Loads the file again if it has changed. What cannot be loaded is refused, and the old model stays.
    pub fn refresh(&self, log: &Log) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(stamp) = Stamp::of(&self.path) else { return };
        let changed = *seen != stamp;
        if !changed && !stamp.is_recent() {
            return;
        }
        *seen = stamp;
        let about = |event: &str, more: Value| {
            let mut line = json!({ "event": event, "model": self.name });
            line.as_object_mut().expect("a map").extend(more.as_object().cloned().unwrap_or_default());
            log.event(line);
        };
        match Loaded::load(&self.path, self.threads) {
            Ok(loaded) => {
                let old = self.current();
                if old.version == loaded.version {
                    return;
                }
                let same_columns = old.fitted.header.schema == loaded.fitted.header.schema;
                about(
                    "model swapped",
                    json!({ "from": old.version, "to": loaded.version, "same_columns": same_columns }),
                );
                self.current.store(Arc::new(loaded));
                self.swaps.fetch_add(1, Ordering::Relaxed);
            }
            // Once for each change: a recent stamp is read again until it is old.
            Err(error) if changed => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                about("model refused", json!({ "reason": error.to_string() }));
            }
            Err(_) => {}
        }
    }

    /// Counts what the model was not fitted for.
    pub fn count(&self, loaded: &Loaded, frame: &Frame) {
        self.rows.fetch_add(frame.x.rows as u64, Ordering::Relaxed);
        let mut found: BTreeMap<&str, Strange> = BTreeMap::new();
        for (column, rows) in &frame.unseen {
            found.entry(column).or_default().unseen += *rows as u64;
        }
        if let Some(profile) = &loaded.fitted.header.profile {
            for (j, field) in loaded.fitted.features().columns.iter().enumerate() {
                let outside = (0..frame.x.rows).filter(|&i| profile.is_outside(j, frame.x[(i, j)])).count();
                if outside > 0 {
                    found.entry(&field.name).or_default().outside += outside as u64;
                }
            }
        }
        if found.is_empty() {
            return;
        }
        let mut all = self.strange.lock().unwrap_or_else(PoisonError::into_inner);
        for (column, more) in found {
            let known = all.entry(column.into()).or_default();
            known.unseen += more.unseen;
            known.outside += more.outside;
        }
    }

    /// Of every column, also of those where nothing strange has been seen.
    pub fn strange(&self) -> Vec<(String, Strange)> {
        let all = self.strange.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = self.current();
        let names = loaded.fitted.features().names();
        names.into_iter().map(|name| (name.clone(), all.get(&name).copied().unwrap_or_default())).collect()
    }

    /// What anybody may want to know of it.
    pub fn info(&self) -> Value {
        let loaded = self.current();
        let header = &loaded.fitted.header;
        json!({
            "name": self.name,
            "version": loaded.version,
            "model": header.model,
            "parameters": header.params,
            "columns": header.schema.columns,
            "target": header.target,
            "outputs": loaded.fitted.model.outputs().iter().map(|(output, _)| output_name(*output)).collect::<Vec<_>>(),
            "fitted_rows": header.rows,
            "scores": header.scores,
            "fingerprint": format!("{:08x}", header.fingerprint),
            "ermine": header.version,
        })
    }
}

fn output_name(output: Output) -> String {
    ermine_app::wire::name_of(output)
}

/// `NAME=FILE`, or a file whose name without its end is the name.
pub fn named(text: &str) -> Result<(String, PathBuf)> {
    let (name, path) = match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !name.contains(['/', '\\']) => (name.to_string(), path.into()),
        _ => {
            let path = PathBuf::from(text);
            (path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), path)
        }
    };
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(plain) {
        let allowed = "letters, digits, '-', '_' and '.'; give one as NAME=FILE".to_string();
        return Err(Error::Parameter { model: "serve".into(), name: "MODEL".into(), value: name, allowed });
    }
    Ok((name, path))
}
