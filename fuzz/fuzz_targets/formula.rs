//! Any text is a list of terms over the columns or an error in words.
#![no_main]

use ermine_app::{
    plan::terms,
    read::{ReadOptions, csv},
    table::Table,
};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let data = "a,b,job,when,note(x)\n1,2,x,2024-01-01,3\n2,-1,y,2024-01-02,4\n,0,x,,5\n";
    csv::read_bytes("t.csv", data.into(), &ReadOptions::default()).unwrap()
});

fuzz_target!(|text: &str| {
    if let Ok(terms) = terms::parse(text, &TABLE.schema())
        && terms.len() < 1000
        && let Ok(terms) = terms::learn(terms, &TABLE)
    {
        let _ = terms::derive(&terms, &TABLE);
    }
});
