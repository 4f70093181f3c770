//! Any bytes with a right checksum are a model that predicts, or an error in words.
#![no_main]

use ermine::{Ctx, Output, X};
use ermine_app::file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut whole = bytes[..bytes.len().saturating_sub(4)].to_vec();
    whole.extend_from_slice(&crc32fast::hash(&whole).to_le_bytes());
    let Ok(fitted) = file::from_bytes(&whole, "model".as_ref()) else { return };
    let cols = fitted.features().columns.len();
    if cols == 0 || cols > 1000 {
        return;
    }
    let row = vec![0.5; cols];
    let x = X::dense(&row, cols).unwrap();
    for (output, width) in fitted.model.outputs() {
        if output != Output::Inverse && width < 1 << 16 {
            let _ = fitted.predict(&Ctx::new(0).with_threads(1), &x, output);
        }
    }
    fitted.model.attributes();
    file::to_bytes(&fitted).unwrap();
});
