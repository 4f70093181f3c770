//! Any text is a value, and any value is taken or refused by every model.
#![no_main]

use ermine::{MODELS, Spec, Value, Values};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let value = Value::parse(text);
    let _ = value.to_string();
    if let Some(spec) = Spec::parse(text) {
        let _ = ermine::make(&spec);
    }
    let entry = &MODELS[text.len() % MODELS.len()];
    for param in (entry.params)() {
        let _ = (entry.make)(&Values::from([(param.name.to_string(), value.clone())]));
    }
});
