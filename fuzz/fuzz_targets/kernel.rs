//! Any text is a kernel or an error in words, and a kernel reads back from what it prints.
#![no_main]

use ermine::engine::kernel::Kernel;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(kernel) = Kernel::parse(text) {
        let printed = kernel.to_string();
        let again = Kernel::parse(&printed).unwrap_or_else(|error| panic!("{printed}: {error}"));
        assert_eq!(again.to_string(), printed);
    }
});
