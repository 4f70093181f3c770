//! Any bytes are a table or an error in words.
#![no_main]

use ermine_app::read::idx;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let _ = idx::read(file.path(), 64 << 20);
});
