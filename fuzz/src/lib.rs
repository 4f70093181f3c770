//! What the targets share.

use std::{io::Write, path::PathBuf, sync::LazyLock};

/// The bytes as a file, always the same one: making and removing a file takes longer than reading it.
pub fn on_disk(bytes: &[u8]) -> &'static PathBuf {
    static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.into_temp_path().keep().expect("it stays")
    });
    let mut file = std::fs::OpenOptions::new().write(true).truncate(true).open(&*FILE).expect("it was made");
    file.write_all(bytes).expect("there is room");
    &FILE
}
