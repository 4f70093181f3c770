//! The one way a file is written: model, report and checkpoint.
//!
//! [`Output::open`] looks at the place before the work: it refuses what is not ours to overwrite, and what could not be
//! written in the end. [`Output::write`] then writes all or nothing: under a temporary name beside the place, synced,
//! renamed, and the folder synced. A link leads to the file it names, a pipe or a device is written to as it is. A new
//! file has the mode that the umask allows; one that is replaced keeps its mode and its owner.
//!
//! A temporary file is locked while it is written. What a killed process left behind is not locked, and the next run
//! removes it; a program that hears of its end in time calls [`abandon`].

use ermine::{Error, Result};
use std::{
    collections::BTreeSet,
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};
use tempfile::NamedTempFile;

/// What is written, known by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Model,
    Report,
    Checkpoint,
    /// CSV with a header.
    Predictions,
    /// The card of a model, as a page or as Markdown.
    Card,
    /// The steps of a fit, a JSON object a line.
    Trace,
    /// A model in another form; what stands there is not known.
    Export,
}

/// Text with a line of names, and no page, model or checkpoint.
fn is_table(head: &[u8]) -> bool {
    let is_text = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    let other = [super::file::MAGIC, crate::fit::checkpoint::MAGIC].iter().any(|magic| head.starts_with(magic));
    is_text && !other && !head.starts_with(b"<") && head.contains(&b'\n')
}

impl Content {
    fn noun(self) -> &'static str {
        match self {
            Content::Model => "a model file",
            Content::Report => "a report of Ermine",
            Content::Checkpoint => "a checkpoint",
            Content::Predictions => "a table of text",
            Content::Card => "the card of a model",
            Content::Trace => "the trace of a fit",
            Content::Export => "empty",
        }
    }

    /// Whether a file that begins so is of this kind. An empty one loses nothing.
    fn begins(self, head: &[u8]) -> bool {
        let holds = |wanted: &[u8]| head.windows(wanted.len()).any(|window| window == wanted);
        head.is_empty()
            || match self {
                Content::Model => head.starts_with(super::file::MAGIC),
                Content::Report => head.starts_with(b"<!DOCTYPE html>") && holds(b"content=\"ermine "),
                Content::Card => Content::Report.begins(head) || (head.starts_with(b"# ") && holds(b" columns.")),
                Content::Checkpoint => head.starts_with(crate::fit::checkpoint::MAGIC),
                Content::Predictions => is_table(head),
                Content::Trace => head.starts_with(b"{\"step\":"),
                Content::Export => false,
            }
    }
}

/// A place that was found fit to be written to.
#[derive(Debug)]
pub struct Output {
    /// As it was given, for messages.
    path: PathBuf,
    place: Place,
}

#[derive(Debug, PartialEq)]
enum Place {
    /// A file or none yet, where all links have led to.
    File(PathBuf),
    /// A pipe, a terminal, a device, or what is open already.
    Stream,
}

impl Output {
    /// Looks at the place before anything is computed. With `force`, a file is overwritten whatever it holds.
    pub fn open(path: &Path, content: Content, force: bool, inputs: &[PathBuf]) -> Result<Output> {
        let output = Output { path: path.into(), place: place(path)? };
        let about = match fs::metadata(path) {
            Ok(about) => Some(about),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(output.failed(&error)),
        };
        if about.as_ref().is_some_and(Metadata::is_dir) {
            return Err(output.failed(&io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")));
        }
        if !force && about.is_some() && inputs.iter().any(|input| is_same(input, path)) {
            return Err(output.refused("it is the table to learn from".into()));
        }
        let Place::File(at) = &output.place else {
            if content == Content::Checkpoint {
                return Err(output.failed(&io::Error::other("a checkpoint is read again, so it has to be a file")));
            }
            if !force && about.as_ref().is_some_and(is_block_device) {
                return Err(output.refused("it is a block device, which may hold a file system".into()));
            }
            // To open a pipe already means something to who reads it.
            if about.as_ref().is_some_and(|about| !is_pipe(about)) {
                OpenOptions::new().write(true).open(path).map_err(|error| output.failed(&error))?;
            }
            return Ok(output);
        };
        if let (Some(about), false) = (&about, force) {
            let mut head = Vec::new();
            let file = File::open(at).map_err(|error| output.failed(&error))?;
            file.take(4096).read_to_end(&mut head).map_err(|error| output.failed(&error))?;
            if !content.begins(&head) {
                return Err(output.refused(format!("the file exists, and it is not {}", content.noun())));
            }
            if about.permissions().readonly() {
                return Err(output.refused("the existing file is read-only".into()));
            }
            OpenOptions::new().write(true).open(at).map_err(|error| output.failed(&error))?;
        }
        sweep(folder(at));
        drop(output.temporary(at)?);
        Ok(output)
    }

    /// Refuses two outputs in one place: the second would replace the first.
    pub fn check_apart<'a>(outputs: impl IntoIterator<Item = &'a Output>) -> Result<()> {
        let mut seen: Vec<&Output> = Vec::new();
        for output in outputs {
            let same = |other: &&&Output| matches!(output.place, Place::File(_)) && output.place == other.place;
            if let Some(other) = seen.iter().find(same) {
                let problem = format!("{} and {} are one file", other.path.display(), output.path.display());
                return Err(Error::Unsupported(format!("{problem}: the second output would replace the first"))
                    .hint("give each a name of its own"));
            }
            seen.push(output);
        }
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes all or nothing.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        let failed = |error: io::Error| self.failed(&error);
        let Place::File(at) = &self.place else {
            let mut stream = OpenOptions::new().write(true).open(&self.path).map_err(failed)?;
            return stream.write_all(bytes).and_then(|()| stream.flush()).map_err(failed);
        };
        let mut temporary = self.temporary(at)?;
        temporary.file.write_all(bytes).map_err(failed)?;
        if let Ok(before) = fs::metadata(at) {
            keep_owner_and_mode(temporary.file.path(), &before).map_err(failed)?;
        }
        temporary.file.as_file().sync_all().map_err(failed)?;
        temporary.rename(at).map_err(failed)?;
        sync_folder(folder(at)).map_err(failed)
    }

    fn temporary(&self, at: &Path) -> Result<Temporary> {
        Temporary::new(folder(at)).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &io::Error) -> Error {
        Error::io(&self.path, "write", error)
    }

    fn refused(&self, why: String) -> Error {
        let error = io::Error::other(why);
        self.failed(&error).hint("give another name; --force overwrites it")
    }
}

/// Follows links by hand: the last one may lead to a file that does not exist yet.
fn place(path: &Path) -> Result<Place> {
    let failed = |error: io::Error| Error::io(path, "write", &error);
    if fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        return Ok(Place::Stream);
    }
    let mut at = path.to_path_buf();
    for _ in 0..40 {
        let name = at.file_name().ok_or_else(|| failed(io::Error::other("it is a folder, not a file")))?;
        let folder = fs::canonicalize(folder(&at)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => failed(io::Error::new(error.kind(), "there is no such folder")),
            _ => failed(error),
        })?;
        // What this process has open already, as /dev/stdout: its name is no name to rename to.
        if folder.starts_with("/proc") && folder.ends_with("fd") {
            return Ok(Place::Stream);
        }
        let here = folder.join(name);
        match fs::read_link(&here) {
            Ok(link) => at = folder.join(link),
            Err(_) => return Ok(Place::File(here)),
        }
    }
    Err(failed(io::Error::other("its symbolic links form a loop")))
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Begins the names of all temporary files; nothing else is ever swept away.
const PREFIX: &str = ".ermine-";
const SUFFIX: &str = ".tmp";

/// Temporary files of this process, for [`abandon`].
static LIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn live() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of this process and lets it make no more: for a program that is about to end, also by
/// a signal.
pub fn abandon() {
    let live = live();
    for path in live.iter() {
        // Nobody is left to hear of a failure.
        let _ = fs::remove_file(path);
    }
    std::mem::forget(live);
}

struct Temporary {
    file: NamedTempFile,
}

impl Temporary {
    fn new(folder: &Path) -> io::Result<Temporary> {
        loop {
            // Held until the name is known, so that no signal falls between.
            let mut live = live();
            let mut builder = tempfile::Builder::new();
            builder.prefix(PREFIX).suffix(SUFFIX);
            #[cfg(unix)]
            let builder = builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
            let file = builder.tempfile_in(folder)?;
            live.insert(file.path().into());
            drop(live);
            let temporary = Temporary { file };
            // Some file systems have no locks; then only age tells what was left behind.
            let _ = temporary.file.as_file().try_lock();
            // Another run may have taken it for left behind before it was locked.
            if temporary.file.path().exists() {
                return Ok(temporary);
            }
        }
    }

    fn rename(self, to: &Path) -> io::Result<()> {
        let mut live = live();
        let from = self.file.path().to_path_buf();
        fs::rename(&from, to)?;
        live.remove(&from);
        Ok(())
    }
}

/// A file of this process alone, which is removed at its end, also by a signal.
pub(crate) struct Staged(Temporary);

impl Staged {
    pub(crate) fn new(folder: &Path) -> Result<Staged> {
        sweep(folder);
        Temporary::new(folder).map(Staged).map_err(|error| Error::io(folder, "write to", &error))
    }

    /// Whether a path leads to such a file, of which nobody has heard.
    pub(crate) fn is(path: &Path) -> bool {
        live().contains(path)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.file.path()
    }

    pub(crate) fn file(&self) -> &File {
        self.0.file.as_file()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut live = live();
        // Once renamed, there is nothing by this name.
        let _ = fs::remove_file(self.file.path());
        live.remove(self.file.path());
    }
}

/// Removes what killed runs left in a folder. What cannot be removed does no harm.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if !ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let left_behind = match File::open(entry.path()).map(|file| file.try_lock()) {
            Ok(Ok(())) => true,
            Ok(Err(fs::TryLockError::WouldBlock)) => false,
            _ => {
                let age = entry.metadata().and_then(|about| about.modified()).map(|time| time.elapsed());
                matches!(age, Ok(Ok(age)) if age.as_secs() > 86_400)
            }
        };
        if left_behind {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(unix)]
fn keep_owner_and_mode(path: &Path, before: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let now = fs::metadata(path)?;
    if (now.uid(), now.gid()) != (before.uid(), before.gid()) {
        // Only the superuser can give files away; anybody else keeps what is theirs.
        let _ = std::os::unix::fs::chown(path, Some(before.uid()), Some(before.gid()));
    }
    fs::set_permissions(path, fs::Permissions::from_mode(before.mode() & 0o7777))
}

#[cfg(not(unix))]
fn keep_owner_and_mode(_: &Path, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// The name of a file is safe on disk only when its folder is.
fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    match File::open(folder)?.sync_all() {
        // Not every file system knows how.
        Err(error) if !matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            return Err(error);
        }
        _ => {}
    }
    let _ = folder;
    Ok(())
}

#[cfg(unix)]
fn is_same(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) => a.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_same(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

#[cfg(unix)]
fn is_pipe(about: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&about.file_type())
}

#[cfg(unix)]
fn is_block_device(about: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_block_device(&about.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &Metadata) -> bool {
    false
}

#[cfg(not(unix))]
fn is_block_device(_: &Metadata) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    const OLD: &[u8] = b"ermine model\nold";
    const NEW: &[u8] = b"ermine model\nnew";

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn open(path: &Path) -> Result<Output> {
        Output::open(path, Content::Model, false, &[])
    }

    #[test]
    fn what_is_not_ours_is_refused_unless_forced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        fs::write(&path, "a,b\n1,2\n").unwrap();
        let error = open(&path).unwrap_err().to_string();
        assert!(error.contains("not a model file") && error.contains("--force"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"a,b\n1,2\n");
        Output::open(&path, Content::Model, true, &[]).unwrap().write(NEW).unwrap();
        assert_eq!(fs::read(&path).unwrap(), NEW);
        // Of its own kind, but also what is read: by another name, or through a link.
        for name in ["other", "link"] {
            let other = folder.path().join(name);
            if name == "link" { symlink(&path, &other) } else { fs::hard_link(&path, &other) }.unwrap();
            let error = Output::open(&other, Content::Model, false, std::slice::from_ref(&path)).unwrap_err();
            assert!(error.to_string().contains("the table to learn from"), "{error}");
        }
        for (content, own) in [
            (Content::Model, OLD),
            (Content::Checkpoint, b"ermine checkpoint\n..."),
            (Content::Report, b"<!DOCTYPE html>\n<meta name=\"generator\" content=\"ermine 0.1.0\">"),
        ] {
            for (other, begin) in [(Content::Model, OLD), (content, own), (content, b""), (content, b"<!DOCTYPE html>")]
            {
                fs::write(&path, begin).unwrap();
                let same = other == content && begin != b"<!DOCTYPE html>";
                assert_eq!(Output::open(&path, content, false, &[]).is_ok(), same, "{content:?} {begin:?}");
            }
        }
        assert!(Output::open(folder.path(), Content::Model, true, &[]).is_err(), "a folder");
        let error = open(&folder.path().join("none/model")).unwrap_err().to_string();
        assert!(error.contains("no such folder"), "{error}");
    }

    #[test]
    fn links_are_kept_and_lead_to_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("far")).unwrap();
        symlink("far/model", at("near")).unwrap();
        symlink("near", at("link")).unwrap();
        for bytes in [OLD, NEW] {
            open(&at("link")).unwrap().write(bytes).unwrap();
            assert_eq!(fs::read(at("far/model")).unwrap(), bytes);
        }
        assert!(at("link").is_symlink() && at("near").is_symlink());
        let outputs = [open(&at("link")).unwrap(), open(&at("far/model")).unwrap()];
        assert!(Output::check_apart(&outputs).unwrap_err().to_string().contains("one file"));
        symlink("circle", at("circle")).unwrap();
        assert!(open(&at("circle")).is_err());
        assert_eq!(names(folder.path()), ["circle", "far", "link", "near"]);
        assert_eq!(names(&at("far")), ["model"]);
    }

    #[test]
    fn modes_are_kept_and_new_files_follow_the_umask() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mode = |name: &str| fs::metadata(at(name)).unwrap().mode() & 0o777;
        File::create(at("plain")).unwrap();
        open(&at("new")).unwrap().write(NEW).unwrap();
        assert_eq!(mode("new"), mode("plain"), "as any new file");
        fs::set_permissions(at("new"), fs::Permissions::from_mode(0o640)).unwrap();
        open(&at("new")).unwrap().write(OLD).unwrap();
        assert_eq!(mode("new"), 0o640);
        fs::set_permissions(at("new"), fs::Permissions::from_mode(0o440)).unwrap();
        assert!(open(&at("new")).unwrap_err().to_string().contains("read-only"));
        Output::open(&at("new"), Content::Model, true, &[]).unwrap().write(NEW).unwrap();
        assert_eq!((fs::read(at("new")).unwrap(), mode("new")), (NEW.to_vec(), 0o440));
    }

    #[test]
    fn pipes_and_devices_are_written_to_and_stay() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let make = |arguments: &[&str]| {
            let made = std::process::Command::new("mknod").current_dir(folder.path()).args(arguments).output();
            made.is_ok_and(|made| made.status.success())
        };
        assert!(make(&["pipe", "p"]));
        let reader = std::thread::spawn({
            let pipe = at("pipe");
            move || fs::read(pipe).unwrap()
        });
        open(&at("pipe")).unwrap().write(NEW).unwrap();
        assert_eq!(reader.join().unwrap(), NEW);
        assert!(is_pipe(&fs::metadata(at("pipe")).unwrap()));
        // Only the superuser can make a device: one that takes everything, as /dev/null does.
        if make(&["null", "c", "1", "3"]) && OpenOptions::new().write(true).open(at("null")).is_ok() {
            open(&at("null")).unwrap().write(NEW).unwrap();
            assert!(!fs::metadata(at("null")).unwrap().is_file());
        }
        assert!(names(folder.path()).iter().all(|name| !name.starts_with('.')));
    }

    #[test]
    fn only_what_was_left_behind_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in [".ermine-left.tmp", ".ermine-mine", "ermine.tmp"] {
            fs::write(at(name), "x").unwrap();
        }
        let busy = Temporary::new(folder.path()).unwrap();
        let busy_name = busy.file.path().file_name().unwrap().to_str().unwrap().to_string();
        open(&at("model")).unwrap();
        let mut kept = vec![busy_name, ".ermine-mine".to_string(), "ermine.tmp".into()];
        kept.sort();
        assert_eq!(names(folder.path()), kept);
        drop(busy);
        assert_eq!(names(folder.path()), [".ermine-mine", "ermine.tmp"]);
        assert!(live().iter().all(|path| !path.starts_with(folder.path())));
    }
}
