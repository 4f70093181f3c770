//! A file that is scanned and streamed is the table that it is when it is read whole.
#![no_main]

use ermine_app::read::{ReadOptions, csv};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = ermine_fuzz::on_disk(bytes);
    let options = ReadOptions { memory: 64 << 20, ..ReadOptions::default() };
    let whole = csv::read(path, &options);
    let scan = csv::scan(path, &options);
    assert_eq!(whole.is_ok(), scan.is_ok(), "{:?} {:?}", whole.err(), scan.err());
    let (Ok(whole), Ok(scan)) = (whole, scan) else { return };
    assert_eq!(whole.schema(), scan.schema);
    let mut rows = 0;
    let streamed = csv::stream(path, &options, &scan.schema, 64, |table| {
        rows += table.rows();
        Ok(())
    });
    assert_eq!(streamed.unwrap(), whole.rows());
    assert_eq!(rows, whole.rows());
});
