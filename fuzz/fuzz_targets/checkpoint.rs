//! Any bytes with a right checksum are a checkpoint or an error in words.
#![no_main]

use ermine::core::ctx::Alone;
use ermine_app::fit::CheckpointFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut whole = b"ermine checkpoint\n".to_vec();
    whole.extend_from_slice(bytes);
    whole.extend_from_slice(&crc32fast::hash(&whole).to_le_bytes());
    std::fs::write(file.path(), &whole).unwrap();
    let _ = CheckpointFile::open(file.path(), "a run".into(), &Alone);
});
