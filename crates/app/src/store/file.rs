//! The model file: a header that anybody can read, a compact body, a checksum over both.
//!
//! ```text
//! "ermine model\n"      13 bytes
//! format version        u32, little-endian like all numbers
//! length of the header  u64
//! header                JSON: model, parameters, schema, classes, seed, scores, program version, data fingerprint
//! length of the body    u64
//! body                  postcard: preparation, model, fit log
//! checksum              CRC-32 of everything before
//! ```
//!
//! A file is read back and checked before it is written, and written all or nothing ([`super::writer`]). Reading checks
//! lengths against the file before taking memory, then the checksum, then every part of the model; no code runs.

use super::{Body, Fitted, Header, writer::Output};
use ermine::{Error, Result, core::error::Result as CoreResult};
use sha2::{Digest, Sha256};
use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

pub(crate) const MAGIC: &[u8; 13] = b"ermine model\n";

/// The newest format this program writes, and the newest it reads.
pub const FORMAT: u32 = 1;

/// Everything in the file: small enough that a checksum over all of it costs nothing.
pub fn to_bytes(fitted: &Fitted) -> CoreResult<Vec<u8>> {
    let header = serde_json::to_vec(&fitted.header).map_err(|error| Error::Data(format!("model header: {error}")))?;
    let body = fitted.body();
    let body = postcard::to_stdvec(&body).map_err(|error| Error::Data(format!("model body: {error}")))?;
    let mut bytes = Vec::with_capacity(header.len() + body.len() + 64);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&FORMAT.to_le_bytes());
    bytes.extend_from_slice(&(header.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&header);
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&body);
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
    Ok(bytes)
}

/// Saves what can be loaded again, and nothing else: a model is not written before its bytes have been read back.
pub fn save(fitted: &Fitted, to: &Output) -> Result<()> {
    let bytes = to_bytes(fitted)?;
    if let Err(error) = from_bytes(&bytes, to.path()) {
        let model = &fitted.header.model;
        return Err(Error::Data(format!("{model}: the model could not be read back, so it was not saved: {error}")));
    }
    to.write(&bytes)
}

pub fn load(path: &Path) -> Result<Fitted> {
    let bytes = fs::read(path).map_err(|error| Error::io(path, "read", &error))?;
    from_bytes(&bytes, path)
}

/// A model and what tells its file from every other: the first half of its SHA-256.
pub fn load_versioned(path: &Path) -> Result<(Fitted, String)> {
    let bytes = fs::read(path).map_err(|error| Error::io(path, "read", &error))?;
    Ok((from_bytes(&bytes, path)?, version(&bytes)))
}

fn version(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// What changes when a file is replaced or written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    modified: SystemTime,
    length: u64,
    inode: u64,
}

impl Stamp {
    pub fn of(path: &Path) -> Result<Stamp> {
        let about = fs::metadata(path).map_err(|error| Error::io(path, "read", &error))?;
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&about);
        #[cfg(not(unix))]
        let inode = 0;
        let modified = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Ok(Stamp { modified, length: about.len(), inode })
    }

    /// Written so recently that another write might leave the same stamp: file systems count time in steps.
    pub fn is_recent(&self) -> bool {
        self.modified.elapsed().is_ok_and(|age| age < Duration::from_secs(2))
    }
}

pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Fitted> {
    let damaged = |what: &str| Error::format(path, None, format!("not a whole model file: {what}"));
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return Err(Error::format(path, None, "not an Ermine model file")
            .hint("make one with 'ermine fit DATA --target COLUMN -o FILE'"));
    };
    let (version, rest) = rest.split_first_chunk::<4>().ok_or_else(|| damaged("it ends in the version"))?;
    let version = u32::from_le_bytes(*version);
    if version == 0 || version > FORMAT {
        return Err(Error::Version { path: path.into(), found: version, supported: FORMAT });
    }
    let (checked, checksum) = bytes.split_last_chunk::<4>().ok_or_else(|| damaged("it has no checksum"))?;
    if rest.len() < 4 || crc32fast::hash(checked) != u32::from_le_bytes(*checksum) {
        return Err(damaged("the checksum does not match"));
    }
    let rest = &rest[..rest.len() - 4];
    let (header, rest) = part(rest).ok_or_else(|| damaged("it ends in the header"))?;
    let (body, rest) = part(rest).ok_or_else(|| damaged("it ends in the body"))?;
    if !rest.is_empty() {
        return Err(damaged("something follows the body"));
    }
    let header: Header = serde_json::from_slice(header).map_err(|error| damaged(&format!("header: {error}")))?;
    let body: Body = postcard::from_bytes(body).map_err(|error| damaged(&format!("body: {error}")))?;
    Fitted::from_parts(header, body).map_err(|error| damaged(&error.to_string()))
}

/// A length and that many bytes.
fn part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
}
