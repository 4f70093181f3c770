//! Strings to codes, in order of first appearance, also when threads meet them in another order.

use super::{Category, Column, MAX_LEVELS, MISSING, Text, TextEvidence};
use rayon::prelude::*;
use rustc_hash::FxHasher;
use std::{hash::Hasher, sync::Arc};

/// Distinct strings in order of first appearance. A hash table of our own, because it keeps the strings in one buffer
/// and is looked up by bytes that become a string only when they are new.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dictionary {
    bytes: String,
    entries: Vec<Entry>,
    /// A part of the hash above, code + 1 below, or 0 where free; the size is a power of two and at most half is taken.
    slots: Vec<u64>,
}

#[derive(Debug, Clone)]
struct Entry {
    start: usize,
    end: usize,
}

pub(crate) struct NotUtf8;

#[inline]
pub(super) fn hash(value: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(value);
    // A zero byte string and an empty one would collide without the length.
    hasher.write_usize(value.len());
    hasher.finish()
}

impl Dictionary {
    pub(crate) fn from_levels(levels: &[String]) -> Dictionary {
        let mut dictionary = Dictionary::default();
        levels.iter().for_each(|level| {
            dictionary.code_of_str(level);
        });
        dictionary
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn level(&self, code: u32) -> &str {
        let entry = &self.entries[code as usize];
        &self.bytes[entry.start..entry.end]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).map(|code| self.level(code))
    }

    pub(crate) fn levels(&self) -> Arc<[String]> {
        self.iter().map(String::from).collect()
    }

    /// The code, or the free slot where it would go.
    #[inline]
    fn find(&self, value: &[u8], hash: u64) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = (hash as usize) & mask;
        loop {
            let taken = self.slots[slot];
            if taken == 0 {
                return Err(slot);
            }
            // Other strings are nearly always told by the hash, without a look at them.
            if (taken ^ hash) >> 32 == 0 {
                let code = taken as u32 - 1;
                let entry = &self.entries[code as usize];
                if &self.bytes.as_bytes()[entry.start..entry.end] == value {
                    return Ok(code);
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    #[inline]
    pub(crate) fn get(&self, value: &[u8]) -> Option<u32> {
        if self.slots.is_empty() { None } else { self.find(value, hash(value)).ok() }
    }

    /// The code of a string, which is added if it is new.
    #[inline]
    pub(crate) fn code(&mut self, value: &[u8]) -> Result<u32, NotUtf8> {
        let hash = hash(value);
        if !self.slots.is_empty()
            && let Ok(code) = self.find(value, hash)
        {
            return Ok(code);
        }
        let text = std::str::from_utf8(value).map_err(|_| NotUtf8)?;
        Ok(self.insert(text, hash))
    }

    pub(crate) fn code_of_str(&mut self, value: &str) -> u32 {
        let hash = hash(value.as_bytes());
        if !self.slots.is_empty()
            && let Ok(code) = self.find(value.as_bytes(), hash)
        {
            return code;
        }
        self.insert(value, hash)
    }

    #[cold]
    fn insert(&mut self, value: &str, hash: u64) -> u32 {
        if 2 * (self.len() + 1) > self.slots.len() {
            self.slots = vec![0; (2 * self.slots.len()).max(16)];
            for code in 0..self.len() as u32 {
                let hash = self::hash(self.level(code).as_bytes());
                self.take_slot(code, hash);
            }
        }
        let code = self.len() as u32;
        let start = self.bytes.len();
        self.bytes.push_str(value);
        self.entries.push(Entry { start, end: self.bytes.len() });
        self.take_slot(code, hash);
        code
    }

    /// The next free slot for a string that has none.
    fn take_slot(&mut self, code: u32, hash: u64) {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot] != 0 {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = (hash >> 32) << 32 | u64::from(code + 1);
    }
}

/// A string column as it comes from several threads: each part of the rows has codes and a dictionary of its own.
pub(crate) struct Strings {
    pub(crate) codes: Vec<u32>,
    /// How many rows, and what their codes mean.
    pub(crate) parts: Vec<(usize, Dictionary)>,
}

impl Strings {
    /// One dictionary in order of first appearance. A column of too many levels becomes text, unless it has to be a
    /// category.
    pub(crate) fn finish(mut self, must_be_category: bool) -> Column {
        let mut all = Dictionary::default();
        let mut maps: Vec<Vec<u32>> = Vec::with_capacity(self.parts.len());
        for (_, part) in &self.parts {
            maps.push(part.iter().map(|level| all.code_of_str(level)).collect());
            if all.len() > MAX_LEVELS && !must_be_category {
                return Column::Text(self.into_text());
            }
        }
        let mut rest = self.codes.as_mut_slice();
        let mut pieces = Vec::with_capacity(maps.len());
        for ((rows, _), map) in self.parts.iter().zip(&maps) {
            let (piece, tail) = rest.split_at_mut(*rows);
            pieces.push((piece, map));
            rest = tail;
        }
        pieces.into_par_iter().for_each(|(piece, map)| {
            for code in piece {
                if *code != MISSING {
                    *code = map[*code as usize];
                }
            }
        });
        Column::Category(Category { codes: self.codes, levels: all.levels() })
    }

    pub(crate) fn into_text(self) -> Text {
        let mut start = 0;
        let mut pieces = Vec::with_capacity(self.parts.len());
        for (rows, part) in self.parts {
            pieces.push((&self.codes[start..start + rows], part));
            start += rows;
        }
        let texts = pieces
            .into_par_iter()
            .map(|(codes, part)| {
                codes.iter().map(|&code| if code == MISSING { "" } else { part.level(code) }).collect()
            })
            .collect();
        Text::concat(texts)
    }

    /// Codes of another dictionary.
    pub(crate) fn codes_in(self, code_of: impl Fn(&str) -> u32) -> Vec<u32> {
        let mut codes = self.codes;
        let mut start = 0;
        for (rows, part) in &self.parts {
            let map: Vec<u32> = part.iter().map(&code_of).collect();
            for code in &mut codes[start..start + rows] {
                if *code != MISSING {
                    *code = map[*code as usize];
                }
            }
            start += rows;
        }
        codes
    }

    /// What the first rows say about text or category.
    pub(crate) fn evidence(&self, rows: usize) -> TextEvidence {
        let mut evidence = TextEvidence::default();
        self.evidence_into(&mut evidence, rows);
        evidence
    }

    pub(crate) fn evidence_into(&self, evidence: &mut TextEvidence, rows: usize) {
        let mut start = 0;
        for (count, part) in &self.parts {
            let end = (start + count).min(rows);
            if start >= end {
                break;
            }
            let codes = &self.codes[start..end];
            codes.iter().filter(|&&code| code != MISSING).for_each(|&code| evidence.add(part.level(code)));
            start += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionary_keeps_order_and_finds_again() {
        let mut dictionary = Dictionary::default();
        let words: Vec<String> = (0..5000).map(|i| format!("w{}", i * 7 % 5000)).collect();
        for (place, word) in words.iter().enumerate() {
            assert_eq!(dictionary.code_of_str(word), place as u32);
        }
        for (place, word) in words.iter().enumerate() {
            assert_eq!(dictionary.get(word.as_bytes()), Some(place as u32));
            assert_eq!(dictionary.level(place as u32), word);
        }
        assert_eq!(dictionary.get(b"other"), None);
        assert!(dictionary.code(b"\xff").is_err());
    }
}
