//! A saved fit: the only file that this crate touches.
//!
//! ```text
//! "ermine fit\n"  11 bytes
//! format version  u32, little-endian
//! body            postcard: estimator, missing values, labels; fit log; model
//! checksum        CRC-32 of everything before, u32
//! ```
//!
//! It is the model alone. What the command line saves (`ermine fit -o`) also holds the columns, their preparation and
//! the scores.

use crate::{Error, FitLog, Result, core::fit::About};
use std::{
    fs,
    io::{ErrorKind, Write},
    path::Path,
};

const MAGIC: &[u8] = b"ermine fit\n";
const FORMAT: u32 = 1;

pub(crate) fn encode(about: &About, log: &FitLog, model: &[u8]) -> Vec<u8> {
    let body = postcard::to_stdvec(&(about, log, model)).expect("a fit is plain data");
    let mut bytes = [MAGIC, &FORMAT.to_le_bytes(), &body].concat();
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

pub(crate) fn decode(bytes: &[u8]) -> Result<(About, FitLog, Vec<u8>)> {
    let damaged = |what: &str| Error::Data(format!("not a whole fit: {what}"));
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        let wrong = Error::Data("not a saved fit".into());
        return Err(match bytes.starts_with(b"ermine model\n") {
            true => wrong.hint("this is a model of the command line; use it with 'ermine predict'"),
            false => wrong,
        });
    };
    let (version, rest) = rest.split_first_chunk().ok_or_else(|| damaged("it ends in the version"))?;
    let version = u32::from_le_bytes(*version);
    if version != FORMAT {
        return Err(Error::Data(format!("written in format {version}, but this program reads format {FORMAT}")));
    }
    let (body, checksum) = rest.split_last_chunk().ok_or_else(|| damaged("it has no checksum"))?;
    if crc32fast::hash(&bytes[..bytes.len() - checksum.len()]) != u32::from_le_bytes(*checksum) {
        return Err(damaged("the checksum does not match"));
    }
    match postcard::take_from_bytes(body) {
        Ok((fit, [])) => Ok(fit),
        _ => Err(damaged("the body is not readable")),
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| Error::io(path, "read", &error))
}

/// Says which file an error is about.
pub(crate) fn in_file(path: &Path, error: Error) -> Error {
    match error {
        Error::Data(problem) => Error::format(path, None, problem),
        Error::Hinted { error, hint } => in_file(path, *error).hint(hint),
        other => other,
    }
}

/// Beside its place first, then moved there: a reader finds the old file or the new one, never a part.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |error: std::io::Error| Error::io(path, "write", &error);
    let Some(name) = path.file_name() else {
        return Err(Error::format(path, None, "no name of a file"));
    };
    // The first free name: another writer has another one.
    let mut number = 0;
    let (beside, mut file) = loop {
        let beside = path.with_file_name(format!(".{}.{number}", name.to_string_lossy()));
        match fs::File::create_new(&beside) {
            Ok(file) => break (beside, file),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(failed(error)),
        }
    };
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    drop(file);
    let whole = written.and_then(|()| fs::rename(&beside, path));
    whole.map_err(|error| {
        // What could not be finished is of no use to anybody.
        fs::remove_file(&beside).ok();
        failed(error)
    })
}
