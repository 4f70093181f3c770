//! One record, field by field: quotes, blanks, the delimiter; and problems with their place in the file.

use super::{newlines, parse::is_blank_line};
use crate::table;
use ermine_core::error::{Error, Result};
use memchr::memchr;
use std::path::Path;

/// A problem at a byte; the line is counted only now that somebody wants it.
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) problem: String,
    pub(super) hint: Option<&'static str>,
}

impl Fault {
    pub(super) fn new(at: usize, problem: impl Into<String>) -> Fault {
        Fault { at, problem: problem.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: &'static str) -> Fault {
        self.hint = Some(hint);
        self
    }

    pub(super) fn locate(self, path: &Path, data: &[u8], first_line: u64) -> Error {
        let error = Error::format(path, first_line + newlines(&data[..self.at]), self.problem);
        match self.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

/// Where a field is, without its quotes or the blanks around it.
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The last field of its record.
    pub(super) last: bool,
    /// It has doubled quotes, so its bytes are not those of the file.
    pub(super) doubled: bool,
}

/// Goes through records that are known to begin at `pos`.
pub(super) struct Cursor<'a> {
    pub(super) data: &'a [u8],
    pub(super) pos: usize,
    pub(super) delimiter: u8,
    /// One bit for each delimiter and newline among the 64 bytes from `block`, those before `pos` taken out.
    pub(super) ends: u64,
    pub(super) block: usize,
    /// A quoted field in which quotes were doubled.
    unquoted: Vec<u8>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(data: &'a [u8], pos: usize, delimiter: u8) -> Cursor<'a> {
        let mut cursor = Cursor { data, pos, delimiter, ends: 0, block: 0, unquoted: Vec::new() };
        cursor.jump(pos);
        cursor
    }

    fn jump(&mut self, pos: usize) {
        self.pos = pos;
        self.block = pos;
        self.ends = find_two(self.data, pos, self.delimiter, b'\n');
    }

    pub(super) fn at_end(&self) -> bool {
        self.pos >= self.data.len()
    }

    /// Where the field ends that contains `pos`, which lies outside quotes.
    #[inline]
    fn next_end(&mut self) -> usize {
        while self.ends == 0 {
            self.block += 64;
            if self.block >= self.data.len() {
                return self.data.len();
            }
            self.ends = find_two(self.data, self.block, self.delimiter, b'\n');
        }
        let end = self.block + self.ends.trailing_zeros() as usize;
        self.ends &= self.ends - 1;
        end
    }

    /// The next field.
    #[inline(always)]
    pub(super) fn field(&mut self) -> Result<Span, Box<Fault>> {
        let start = self.pos;
        // Blanks and quotes are at the very bottom of ASCII.
        if start < self.data.len() && self.data[start] <= b'"' && (self.data[start] == b'"' || self.begins_with_quote())
        {
            return self.quoted_field();
        }
        let end = self.next_end();
        self.pos = end + 1;
        let last = end == self.data.len() || self.data[end] == b'\n';
        if end > start && (self.data[start] <= b' ' || self.data[end - 1] <= b' ') {
            return Ok(self.without_blanks(start, end, last));
        }
        Ok(Span { start, end, last, doubled: false })
    }

    /// The bytes of the field that was last found.
    #[inline(always)]
    pub(super) fn bytes(&self, span: &Span) -> &[u8] {
        if span.doubled { &self.unquoted } else { &self.data[span.start..span.end] }
    }

    fn without_blanks(&self, start: usize, end: usize, last: bool) -> Span {
        let field = &self.data[start..end];
        let start = end - trim_start(field).len();
        let end = start + trim(field).len();
        Span { start, end, last, doubled: false }
    }

    #[inline(never)]
    fn begins_with_quote(&self) -> bool {
        let blank = |byte: &&u8| matches!(byte, b' ' | b'\t') && **byte != self.delimiter;
        self.data[self.pos..].iter().find(|byte| !blank(byte)) == Some(&b'"')
    }

    #[inline(never)]
    fn quoted_field(&mut self) -> Result<Span, Box<Fault>> {
        let data = self.data;
        let start = self.pos;
        let open = start + memchr(b'"', &data[start..]).unwrap_or(0);
        let mut from = open + 1;
        let mut doubled = false;
        self.unquoted.clear();
        let close = loop {
            let Some(quote) = next_quote(data, from) else {
                return Err(Box::new(Fault::new(open, "a quote opens a field here and is never closed")));
            };
            if data.get(quote + 1) != Some(&b'"') {
                break quote;
            }
            doubled = true;
            self.unquoted.extend_from_slice(&data[from..=quote]);
            from = quote + 2;
        };
        let mut end = close + 1;
        while end < data.len() && matches!(data[end], b' ' | b'\t' | b'\r') && data[end] != self.delimiter {
            end += 1;
        }
        let last = match data.get(end) {
            None | Some(b'\n') => true,
            Some(byte) if *byte == self.delimiter => false,
            Some(_) => {
                let rest = &data[close + 1..];
                let rest = &rest[..memchr(b'\n', rest).unwrap_or(rest.len())];
                let problem = format!(
                    "the quoted field that starts here is followed by {} instead of a delimiter or the end of the line",
                    table::quote(rest)
                );
                return Err(Box::new(Fault::new(open, problem).hint("a quote inside a quoted field must be doubled")));
            }
        };
        // Short fields mostly end within the bits in hand.
        let next = end + 1;
        if (self.block..self.block + 64).contains(&next) {
            self.ends &= u64::MAX << (next - self.block);
            self.pos = next;
        } else {
            self.jump(next);
        }
        if doubled {
            self.unquoted.extend_from_slice(&data[from..close]);
        }
        Ok(Span { start: open + 1, end: close, last, doubled })
    }

    /// All fields of the next record; `None` at the end. Empty lines are skipped.
    pub(super) fn record(&mut self) -> Result<Option<Vec<Vec<u8>>>, Box<Fault>> {
        while !self.at_end() {
            let start = self.pos;
            let mut fields = Vec::new();
            loop {
                let span = self.field()?;
                fields.push(self.bytes(&span).to_vec());
                if span.last {
                    break;
                }
            }
            if fields.len() == 1 && is_blank_line(self.data, start) {
                continue;
            }
            return Ok(Some(fields));
        }
        Ok(None)
    }
}

#[inline]
fn trim_start(mut field: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r', rest @ ..] = field {
        field = rest;
    }
    field
}

#[inline]
pub(super) fn trim(field: &[u8]) -> &[u8] {
    let mut field = trim_start(field);
    while let [rest @ .., b' ' | b'\t' | b'\r'] = field {
        field = rest;
    }
    field
}

/// One bit for each of 64 bytes that is `a` or `b`.
#[inline]
fn find_two(data: &[u8], from: usize, a: u8, b: u8) -> u64 {
    if let Some(bytes) = data.get(from..from + 64).and_then(|bytes| bytes.first_chunk()) {
        return find_two_of(bytes, a, b);
    }
    let mut padded = [0; 64];
    let tail = data.get(from..).unwrap_or_default();
    padded[..tail.len()].copy_from_slice(tail);
    let mask = find_two_of(&padded, a, b);
    if tail.is_empty() { 0 } else { mask & (u64::MAX >> (64 - tail.len())) }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn find_two_of(bytes: &[u8; 64], a: u8, b: u8) -> u64 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { find_two_by_sse2(bytes, a, b) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn find_two_by_sse2(bytes: &[u8; 64], a: u8, b: u8) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8};
    let word = |at: usize| i64::from_le_bytes(*bytes[at..].first_chunk().unwrap_or(&[0; 8]));
    let mut mask = 0;
    for quarter in 0..4 {
        let bytes = _mm_set_epi64x(word(16 * quarter + 8), word(16 * quarter));
        let found =
            _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(a as i8)), _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b as i8)));
        mask |= u64::from(_mm_movemask_epi8(found) as u32) << (16 * quarter);
    }
    mask
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn find_two_of(bytes: &[u8; 64], a: u8, b: u8) -> u64 {
    find_two_by_words(bytes, a, b)
}

/// The same eight bytes at a time, for any processor.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn find_two_by_words(bytes: &[u8; 64], a: u8, b: u8) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // The high bit of every byte that is zero.
    let zeros = |word: u64| !(((word & LOW) + LOW) | word | LOW);
    let repeat = |byte: u8| u64::from_le_bytes([byte; 8]);
    let mut mask = 0;
    for (place, eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
        let word = u64::from_le_bytes(*eight);
        let found = zeros(word ^ repeat(a)) | zeros(word ^ repeat(b));
        // Gathers the eight high bits in one byte, the first in the lowest place.
        mask |= ((found >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * place);
    }
    mask
}

/// The next quote from `from` on. Quotes are either near or rare.
#[inline]
pub(super) fn next_quote(data: &[u8], from: usize) -> Option<usize> {
    match find_two(data, from, b'"', b'"') {
        0 => memchr(b'"', data.get(from + 64..)?).map(|offset| from + 64 + offset),
        near => Some(from + near.trailing_zeros() as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_finding_bytes_agree() {
        let mut bytes = [b'x'; 64];
        let mut state = 1_u64;
        for _ in 0..2000 {
            for byte in &mut bytes {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                *byte = *b",\nx\x00\xff-\x0b\x8c".get((state >> 61) as usize).unwrap_or(&b'y');
            }
            assert_eq!(find_two_of(&bytes, b',', b'\n'), find_two_by_words(&bytes, b',', b'\n'));
            let expected = bytes.iter().rev().fold(0, |mask, byte| mask << 1 | u64::from(matches!(byte, b',' | b'\n')));
            assert_eq!(find_two_of(&bytes, b',', b'\n'), expected);
        }
    }
}
