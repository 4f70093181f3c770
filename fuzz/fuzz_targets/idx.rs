//! Any bytes are a table or an error in words.
#![no_main]

use ermine_app::read::idx;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = ermine_fuzz::on_disk(bytes);
    let _ = idx::read(path, 64 << 20);
});
