//! Any bytes with a right checksum are a checkpoint or an error in words.
#![no_main]

use ermine::core::ctx::Alone;
use ermine_app::fit::CheckpointFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut whole = b"ermine checkpoint\n".to_vec();
    whole.extend_from_slice(bytes);
    whole.extend_from_slice(&crc32fast::hash(&whole).to_le_bytes());
    let path = ermine_fuzz::on_disk(&whole);
    let _ = CheckpointFile::open(path, "a run".into(), &Alone);
});
