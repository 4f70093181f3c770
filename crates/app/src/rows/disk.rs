//! Rows larger than memory: raw numbers in a temporary file that nobody else sees and that is gone when it is closed.

use ermine::{
    Error, Feature, Result,
    core::source::{Disk, Shape, Store},
};
use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

/// Writes rows one after another; [`RowFile::finish`] makes them a source.
pub struct RowFile {
    file: BufWriter<File>,
    rows: usize,
}

impl RowFile {
    pub fn new(folder: &Path) -> Result<Self> {
        let file =
            tempfile::tempfile_in(folder).map_err(|error| Error::io(folder, "make a temporary file in", &error))?;
        Ok(RowFile { file: BufWriter::with_capacity(1 << 20, file), rows: 0 })
    }

    /// Rows of so many numbers, one behind the other.
    pub fn push(&mut self, rows: &[f64], width: usize) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(rows);
        self.rows += rows.len() / width.max(1);
        let full = |error: std::io::Error| {
            Error::io(std::env::temp_dir(), "write to", &error)
                .hint("the disk may be full; --scratch names another folder")
        };
        self.file.write_all(bytes).map_err(full)
    }

    pub fn finish(self, mut shape: Shape, features: Vec<Feature>) -> Result<Disk> {
        shape.rows = self.rows;
        let file =
            self.file.into_inner().map_err(|error| Error::io(std::env::temp_dir(), "write to", error.error()))?;
        Ok(Disk { store: Box::new(FileStore(file)), shape, features })
    }
}

struct FileStore(File);

impl Store for FileStore {
    fn read_at(&self, offset: u64, values: &mut [f64]) -> Result<()> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        let failed = |error: std::io::Error| Error::io("a temporary file", "read", &error);
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_exact_at(&self.0, bytes, offset * 8).map_err(failed);
        #[cfg(not(unix))]
        {
            use std::io::{Read, Seek, SeekFrom};
            let mut file = self.0.try_clone().map_err(failed)?;
            file.seek(SeekFrom::Start(offset * 8)).and_then(|_| file.read_exact(bytes)).map_err(failed)
        }
    }
}
