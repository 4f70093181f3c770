//! A file that is read in pieces of bounded size, for tables that need not fit into memory.

use super::{
    HEAD_BYTES, LONGEST_RECORD, fields::Fault, layout::Layout, newlines, records::last_record_end, without_bom,
};
use crate::{
    read::{ReadOptions, input::Decoding},
    table::Schema,
};
use ermine_core::error::{Error, Result};
use memchr::memchr;
use std::{
    io::Read,
    path::{Path, PathBuf},
};

/// Goes through a file in pieces of whole records.
pub(super) struct Pieces {
    pub(super) path: PathBuf,
    /// As the decoded text is to be read.
    pub(super) options: ReadOptions,
    input: Box<dyn Read>,
    pub(super) layout: Layout,
    buffer: Vec<u8>,
    /// The current piece in the buffer.
    pub(super) start: usize,
    pub(super) end: usize,
    input_ended: bool,
    /// Line of the file that `start` is in.
    pub(super) line: u64,
    pub(super) chunk_bytes: usize,
}

impl Pieces {
    pub(super) fn open(
        path: &Path,
        options: &ReadOptions,
        schema: Option<&Schema>,
        chunk_bytes: usize,
    ) -> Result<Pieces> {
        let (input, options) = Decoding::of_file(path, options)?.open(options)?;
        let layout = Layout { delimiter: b',', header: false, names: Vec::new(), body: 0, assumed: Vec::new() };
        let (buffer, path) = (Vec::new(), path.to_path_buf());
        let mut pieces =
            Pieces { path, options, input, layout, buffer, start: 0, end: 0, input_ended: false, line: 1, chunk_bytes };
        pieces.fill(HEAD_BYTES + 4)?;
        let bom = pieces.buffer.len() - without_bom(&pieces.buffer).len();
        pieces.start = bom;
        while !pieces.input_ended && memchr(b'\n', pieces.rest()).is_none() {
            pieces.fill(2 * pieces.buffer.len())?;
        }
        pieces.layout = Layout::find(&pieces.path, pieces.rest(), &pieces.options, schema)?;
        pieces.line += newlines(&pieces.rest()[..pieces.layout.body]);
        pieces.start += pieces.layout.body;
        // As much as kinds are guessed from when the whole file is at hand.
        let mut target = HEAD_BYTES + 1;
        pieces.fill(target)?;
        while !pieces.input_ended && last_record_end(pieces.rest(), pieces.layout.delimiter).is_none() {
            target = pieces.longer(target)?;
            pieces.fill(target)?;
        }
        pieces.end = pieces.start;
        Ok(pieces)
    }

    /// Everything read and not yet done with.
    pub(super) fn rest(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    pub(super) fn piece(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    pub(super) fn error(&self, fault: Fault) -> Error {
        fault.locate(&self.path, self.rest(), self.line)
    }

    /// Reads until there are `target` bytes from `start` on.
    fn fill(&mut self, target: usize) -> Result<()> {
        if self.start > self.buffer.len() / 2 {
            self.buffer.drain(..self.start);
            self.end -= self.start.min(self.end);
            self.start = 0;
        }
        let have = self.buffer.len() - self.start;
        if !self.input_ended && have < target {
            let want = (target - have) as u64;
            let read = self.input.by_ref().take(want).read_to_end(&mut self.buffer);
            let read = read.map_err(|error| Error::io(&self.path, "read", &error))?;
            self.input_ended = (read as u64) < want;
        }
        Ok(())
    }

    pub(super) fn longer(&self, target: usize) -> Result<usize> {
        if target > LONGEST_RECORD {
            let problem = format!("the record that starts here is longer than {} MB", LONGEST_RECORD >> 20);
            return Err(Error::format(&self.path, self.line, problem).hint("is there a quote that is never closed?"));
        }
        Ok(2 * target)
    }

    /// Goes on to the next piece, if there is one.
    pub(super) fn advance(&mut self) -> Result<bool> {
        self.line += newlines(self.piece());
        self.start = self.end;
        let mut target = self.chunk_bytes.max(1);
        loop {
            self.fill(target)?;
            let window = &self.rest()[..self.rest().len().min(target)];
            if self.input_ended && window.len() == self.rest().len() {
                self.end = self.buffer.len();
                return Ok(self.end > self.start);
            }
            if let Some(end) = last_record_end(window, self.layout.delimiter) {
                self.end = self.start + end;
                return Ok(true);
            }
            target = self.longer(target)?;
        }
    }
}
