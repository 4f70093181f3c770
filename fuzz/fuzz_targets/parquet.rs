//! Any bytes are a table or an error in words.
#![no_main]

use ermine_app::read::{ReadOptions, parquet};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions { memory: 64 << 20, ..ReadOptions::default() };
    let _ = parquet::read_bytes("t.parquet", bytes, &options);
});
