//! Any bytes are a table or an error in words, and the table is the same for any size of the pieces.
#![no_main]

use ermine_app::read::{ReadOptions, csv};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let read = |chunk_bytes: usize| {
        let options = ReadOptions { chunk_bytes, memory: 64 << 20, ..ReadOptions::default() };
        csv::read_bytes("t.csv", bytes.to_vec(), &options).map_err(|error| error.to_string())
    };
    assert_eq!(read(1 << 20), read(7));
});
