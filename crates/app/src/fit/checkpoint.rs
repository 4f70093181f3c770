//! Where a run keeps the state of its fits, so that it can be killed and go on: `ermine fit ... --checkpoint FILE`.
//!
//! ```text
//! "ermine checkpoint\n"
//! body       postcard: which run it is of, and the newest state of each of its fits by name ("fold 2", "test", "whole")
//! checksum   CRC-32 of everything before
//! ```
//!
//! Written whole under a temporary name and renamed, at most about twice a second. A model decides what its state is;
//! one that has none simply starts again.

use crate::store::writer::{Content, Output};
use ermine::{
    Ctx, Error, Result,
    core::ctx::{Checkpoint, Exchange, all_gather},
};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

pub(crate) const MAGIC: &[u8] = b"ermine checkpoint\n";
const BETWEEN_WRITES: Duration = Duration::from_millis(500);

/// The checkpoint of one run.
#[derive(Clone)]
pub struct CheckpointFile(Arc<Inner>);

struct Inner {
    /// Of the worker that writes.
    output: Option<Output>,
    run: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    fits: BTreeMap<String, Vec<u8>>,
    written: Option<Instant>,
}

impl CheckpointFile {
    /// Takes up what is in the file, if it is of the same run: model, parameters, seed, rows. Of several workers the
    /// first reads and writes it for all: they have the same state, so there may be more or fewer of them the next
    /// time.
    pub fn open(path: &Path, run: String, exchange: &dyn Exchange) -> Result<Self> {
        let bytes = || match std::fs::read(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(path, "read", &error)),
            Ok(bytes) => Ok(Some(bytes)),
        };
        let writes = exchange.rank() == 0;
        // What is not a checkpoint is never overwritten: it could not be gone on from either.
        let output = if writes { Output::open(path, Content::Checkpoint, false, &[]).map(Some) } else { Ok(None) };
        let mine = output.and_then(|output| Ok((if writes { bytes()? } else { None }, output)));
        let (mine, output) = match mine {
            Ok((mine, output)) => (Ok(mine), output),
            Err(error) => (Err(error), None),
        };
        let fits = match all_gather(exchange, mine)?.swap_remove(0).filter(|bytes| !bytes.is_empty()) {
            None => BTreeMap::new(),
            Some(bytes) => {
                let (of, fits) = parse(&bytes).ok_or_else(|| {
                    Error::format(path, None, "not a whole checkpoint").hint("delete it to start again")
                })?;
                if of != run {
                    return Err(Error::format(
                        path,
                        None,
                        format!("a checkpoint of another run: {of}, but this is {run}"),
                    )
                    .hint("delete it to start again, or give another file"));
                }
                fits
            }
        };
        let state = Mutex::new(State { fits, written: None });
        Ok(CheckpointFile(Arc::new(Inner { output, run, state })))
    }

    /// Circumstances whose fit keeps its state here under `name`.
    pub fn of(file: Option<&CheckpointFile>, ctx: Ctx, name: &str) -> Ctx {
        match file {
            Some(file) => ctx.with_checkpoint(FitCheckpoint { file: file.clone(), name: name.into() }),
            None => ctx,
        }
    }

    /// Circumstances of a fold of cross-validation.
    pub fn of_fold(file: Option<&CheckpointFile>, ctx: &Ctx, fold: usize) -> Ctx {
        CheckpointFile::of(file, ctx.child("fold", fold as u64), &format!("fold {fold}"))
    }

    /// Whether any fit has kept a state.
    pub fn is_used(&self) -> bool {
        !self.0.state.lock().unwrap_or_else(PoisonError::into_inner).fits.is_empty()
    }
}

fn parse(bytes: &[u8]) -> Option<(String, BTreeMap<String, Vec<u8>>)> {
    let (checked, checksum) = bytes.split_last_chunk::<4>()?;
    if crc32fast::hash(checked) != u32::from_le_bytes(*checksum) {
        return None;
    }
    postcard::from_bytes(checked.strip_prefix(MAGIC)?).ok()
}

/// One fit of the run.
struct FitCheckpoint {
    file: CheckpointFile,
    name: String,
}

impl Checkpoint for FitCheckpoint {
    fn load(&self) -> Result<Option<Vec<u8>>> {
        let state = self.file.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(state.fits.get(&self.name).cloned())
    }

    fn save(&self, bytes: &[u8]) -> Result<()> {
        let Inner { output, run, state } = &*self.file.0;
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.fits.insert(self.name.clone(), bytes.to_vec());
        // An older state leads to the same end, only later: not every short epoch is worth a write.
        let Some(output) = output else { return Ok(()) };
        if state.written.is_some_and(|written| written.elapsed() < BETWEEN_WRITES) {
            return Ok(());
        }
        let mut whole = MAGIC.to_vec();
        let body =
            postcard::to_stdvec(&(run, &state.fits)).map_err(|error| Error::Data(format!("checkpoint: {error}")))?;
        whole.extend_from_slice(&body);
        whole.extend_from_slice(&crc32fast::hash(&whole).to_le_bytes());
        output.write(&whole)?;
        state.written = Some(Instant::now());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ermine::core::ctx::Alone;

    #[test]
    fn states_come_back_and_other_runs_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.checkpoint");
        let file = CheckpointFile::open(&path, "this run".into(), &Alone).unwrap();
        assert!(!file.is_used());
        let ctx = |file: &CheckpointFile, name: &str| CheckpointFile::of(Some(file), Ctx::new(0), name);
        ctx(&file, "fold 0").checkpoint().unwrap().save(b"state").unwrap();
        let again = CheckpointFile::open(&path, "this run".into(), &Alone).unwrap();
        assert_eq!(ctx(&again, "fold 0").checkpoint().unwrap().load().unwrap().as_deref(), Some(&b"state"[..]));
        assert_eq!(ctx(&again, "fold 1").checkpoint().unwrap().load().unwrap(), None);
        let other = CheckpointFile::open(&path, "that run".into(), &Alone).err().unwrap().to_string();
        assert!(other.contains("another run: this run"), "{other}");
        let whole = std::fs::read(&path).unwrap();
        // An empty file, as mktemp makes it, is a checkpoint of nothing yet.
        for at in 1..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 4;
            std::fs::write(&path, &damaged).unwrap();
            assert!(CheckpointFile::open(&path, "this run".into(), &Alone).is_err(), "byte {at}");
            std::fs::write(&path, &whole[..at]).unwrap();
            assert!(CheckpointFile::open(&path, "this run".into(), &Alone).is_err(), "{at} bytes");
        }
    }
}
