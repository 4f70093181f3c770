//! Formats that are rewritten as CSV while they are read, one record after the other.

pub(super) mod arrow;
pub(super) mod blanks;
pub(super) mod json;
pub(super) mod libsvm;
pub(super) mod sheet;

use std::io::{self, Read};

/// Something with records.
pub(super) trait Records {
    /// The fields of the next record go to `line`; false at the end.
    fn next(&mut self, line: &mut Line) -> io::Result<bool>;
}

/// One record of CSV in the making.
#[derive(Default)]
pub(super) struct Line {
    bytes: Vec<u8>,
    fields: usize,
}

impl Line {
    pub(super) fn push(&mut self, field: &str) {
        if self.fields > 0 {
            self.bytes.push(b',');
        }
        self.fields += 1;
        let blank = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_whitespace());
        let bytes = field.as_bytes();
        let quotes = bytes.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'));
        if !quotes && !blank(bytes.first()) && !blank(bytes.last()) {
            return self.bytes.extend_from_slice(bytes);
        }
        self.bytes.push(b'"');
        self.bytes.extend_from_slice(field.replace('"', "\"\"").as_bytes());
        self.bytes.push(b'"');
    }

    fn end(&mut self) {
        // An empty line would be skipped.
        if self.bytes.is_empty() && self.fields > 0 {
            self.bytes.extend_from_slice(b"\"\"");
        }
        self.bytes.push(b'\n');
    }
}

/// Records as a stream of CSV.
pub(super) struct Rewritten<R> {
    records: R,
    line: Line,
    done: usize,
    ended: bool,
}

impl<R: Records> Rewritten<R> {
    pub(super) fn new(records: R) -> Rewritten<R> {
        Rewritten { records, line: Line::default(), done: 0, ended: false }
    }
}

impl<R: Records> Read for Rewritten<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.done == self.line.bytes.len() && !self.ended {
            (self.line.fields, self.done) = (0, 0);
            self.line.bytes.clear();
            match self.records.next(&mut self.line)? {
                true => self.line.end(),
                false => self.ended = true,
            }
        }
        let count = out.len().min(self.line.bytes.len() - self.done);
        out[..count].copy_from_slice(&self.line.bytes[self.done..self.done + count]);
        self.done += count;
        Ok(count)
    }
}

/// A mistake at a line of the file.
pub(super) fn wrong(line: u64, problem: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("line {line}: {problem}"))
}
