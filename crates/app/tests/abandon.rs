//! A process that is about to end takes its temporary files with it. Alone in its file: nothing can be written
//! afterwards.

use ermine_app::store::writer::{Content, Output, abandon};
use std::{fs, time::Duration};

#[test]
fn temporary_files_go_with_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let output = Output::open(&folder.path().join("model"), Content::Model, false, &[]).unwrap();
    let bytes = vec![0; 64 << 20];
    let temporary = || {
        let mut entries = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        entries.any(|name| name.to_string_lossy().ends_with(".tmp"))
    };
    std::thread::spawn(move || {
        loop {
            let _ = output.write(&bytes);
        }
    });
    while !temporary() {
        std::thread::sleep(Duration::from_micros(50));
    }
    abandon();
    assert!(!temporary());
    std::thread::sleep(Duration::from_millis(300));
    assert!(!temporary(), "another one was made");
}
