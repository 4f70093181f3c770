//! Text into counts of words or characters: sparse rows from documents.
//!
//! One pass over the bytes of a document: it is lower-cased, cut into terms, and each term is counted under a number of
//! its own. Documents are cut into parts that run in parallel; the vocabularies of the parts are merged and sorted, so
//! the result does not depend on the parts. A word is a run of two or more letters, digits or underscores of any
//! script. An n-gram is n neighbouring words (joined by a blank) or characters.
//!
//! `tf-idf = tf (ln((1 + n) / (1 + df)) + 1)`, each row then brought to length 1 (smooth idf, the default; Salton and
//! Buckley 1988). Hashed counts need no vocabulary: column `|h| mod m` and sign of the 32-bit MurmurHash3 of the term
//! (Weinberger et al. 2009). Parameters are those of scikit-learn's CountVectorizer, TfidfVectorizer and
//! HashingVectorizer.
//!
//! ```
//! use ermine::{Ctx, text::{Tfidf, TextModel}};
//! let (model, x) = Tfidf::default().fit_transform(&["a red fox", "the red dog"], &Ctx::default())?;
//! assert_eq!(model.vocabulary(), ["dog", "fox", "red", "the"]);
//! assert_eq!(x.rows(), 2);
//! # Ok::<(), ermine::Error>(())
//! ```

use crate::{
    Ctx, Error, OwnedCsr, Params, Result,
    core::{
        choice,
        param::{above, at_least},
        params,
    },
};
use hashbrown::HashTable;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use serde::{Deserialize, Serialize};
use std::{hash::Hasher, sync::OnceLock};

choice! {
    /// What counts as a term.
    pub enum Analyzer {
        /// Words, or neighbouring words.
        Word = "word",
        /// Neighbouring characters.
        Char = "char",
        /// Neighbouring characters inside a word, blanks at its ends included.
        CharWb = "char_wb",
    }
}

choice! {
    /// How rows are scaled.
    pub enum Norm {
        /// To length 1.
        L2 = "l2",
        /// To sum 1.
        L1 = "l1",
        /// No shrinkage.
        None = "none",
    }
}

params! {
    /// Counts the terms of each document.
    pub struct Counts {
        /// What counts as a term.
        analyzer: Analyzer = Analyzer::Word;
        /// Minimum and maximum length of n-grams.
        ngram_range: Vec<usize> = vec![1, 1], at_least(1.0);
        /// Whether to convert text to lower case.
        lowercase: bool = true;
        /// Words to ignore; `english` is a built-in list of common English words.
        stop_words: Vec<String> = vec![];
        /// Ignore terms in fewer documents than this; a value below 1 is a fraction of the documents.
        min_df: f64 = 1.0, at_least(0.0);
        /// Ignore terms in more documents than this; a value up to 1 is a fraction of the documents.
        max_df: f64 = 1.0, above(0.0);
        /// Maximum number of terms; the most frequent are kept.
        max_features: Option<usize> = None, at_least(1.0);
        /// Whether to record only presence (0 or 1) instead of counts.
        binary: bool = false;
    }
}

/// Weighs counts by how rare each term is.
#[derive(Clone, Debug, PartialEq)]
pub struct Tfidf {
    pub counts: Counts,
    pub norm: Norm,
    /// Whether rare terms weigh more.
    pub use_idf: bool,
    /// Whether document frequencies are raised by one, as if one more document had every term.
    pub smooth_idf: bool,
    /// Whether `1 + ln tf` replaces tf.
    pub sublinear_tf: bool,
}

impl Default for Tfidf {
    fn default() -> Self {
        Tfidf { counts: Counts::default(), norm: Norm::L2, use_idf: true, smooth_idf: true, sublinear_tf: false }
    }
}

/// Counts under the hash of each term; nothing is learned.
#[derive(Clone, Debug, PartialEq)]
pub struct Hashed {
    pub counts: Counts,
    pub n_features: usize,
    /// Whether half of the terms count negatively, so that collisions cancel on average.
    pub alternate_sign: bool,
    pub norm: Norm,
}

impl Default for Hashed {
    fn default() -> Self {
        Hashed { counts: Counts::default(), n_features: 1 << 20, alternate_sign: true, norm: Norm::L2 }
    }
}

/// A vocabulary with what turns counts into numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TextModel {
    terms: Vec<String>,
    idf: Option<Vec<f64>>,
    norm: Norm,
    sublinear_tf: bool,
    binary: bool,
    cutter: Cutter,
    /// The place of each term, from when it is first looked up.
    #[serde(skip)]
    numbers: OnceLock<FxHashMap<Box<str>, u32>>,
}

/// How a document is cut into terms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Cutter {
    analyzer: Analyzer,
    least: usize,
    most: usize,
    lowercase: bool,
    stop_words: Vec<String>,
}

/// Function words of English.
const ENGLISH: &str = "a about above after again all almost also although always am among an and another any are as at be because \
    been before being below between both but by can could did do does doing down during each either else ever every \
    few for from \
    further had has have having he her here hers herself him himself his how however i if in into is it its itself \
    just least less \
    may me might mine more most much must my myself neither never no nor not now of off often on once only or other \
    others our ours \
    ourselves out over own per quite rather same she should since so some such than that the their theirs them \
    themselves then there \
    these they this those though through thus to too toward under until up upon us very was we were what when where \
    whether which \
    while who whole whom whose why will with within without would yet you your yours yourself yourselves";

impl Counts {
    fn cutter(&self) -> Result<Cutter> {
        self.validate()?;
        let (least, most) = match self.ngram_range[..] {
            [least, most] if least <= most => (least, most),
            _ => {
                return Err(Error::Parameter {
                    model: "Counts".into(),
                    name: "ngram_range".into(),
                    value: format!("{:?}", self.ngram_range),
                    allowed: "two integers >= 1, the smaller first".into(),
                });
            }
        };
        let mut stop_words: Vec<String> = Vec::new();
        for word in &self.stop_words {
            match word.as_str() {
                "english" => stop_words.extend(ENGLISH.split_whitespace().map(String::from)),
                word => stop_words.push(word.into()),
            }
        }
        stop_words.sort();
        stop_words.dedup();
        Ok(Cutter { analyzer: self.analyzer, least, most, lowercase: self.lowercase, stop_words })
    }

    /// Learns the vocabulary and counts.
    pub fn fit_transform(&self, documents: &[&str], ctx: &Ctx) -> Result<(TextModel, OwnedCsr)> {
        let plain = Tfidf { counts: self.clone(), norm: Norm::None, use_idf: false, ..Tfidf::default() };
        plain.fit_transform(documents, ctx)
    }
}

/// Terms numbered in the order of their first appearance. They lie in one text, so that those that are looked up most
/// stay in the cache.
#[derive(Default)]
struct Terms {
    text: String,
    ends: Vec<usize>,
    table: HashTable<u32>,
}

impl Terms {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, number: usize) -> &str {
        term(&self.text, &self.ends, number)
    }

    /// The number of a term, a new one if it is new.
    #[inline]
    fn number(&mut self, word: &str) -> u32 {
        let Terms { text, ends, table } = self;
        let is_it = |&number: &u32| term(text, ends, number as usize) == word;
        if let Some(&number) = table.find(hash(word), is_it) {
            return number;
        }
        let number = ends.len() as u32;
        text.push_str(word);
        ends.push(text.len());
        table.insert_unique(hash(word), number, |&number| hash(term(text, ends, number as usize)));
        number
    }
}

fn term<'a>(text: &'a str, ends: &[usize], number: usize) -> &'a str {
    &text[if number == 0 { 0 } else { ends[number - 1] }..ends[number]]
}

fn hash(word: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(word.as_bytes());
    hasher.finish()
}

/// What is known of a term while documents are counted.
#[derive(Clone, Copy, Default)]
struct Tally {
    documents: u64,
    occurrences: u64,
    /// The document that had it last, counted from 1, and where it stands among the cells.
    last: usize,
    at: usize,
}

/// The terms of one part of the documents.
#[derive(Default)]
struct Chunk {
    terms: Terms,
    tallies: Vec<Tally>,
    /// (term, count) of every document, one after another.
    cells: Vec<(u32, u32)>,
    ends: Vec<usize>,
}

impl Chunk {
    fn count(cutter: &Cutter, documents: &[&str], ctx: &Ctx) -> Result<Chunk> {
        let mut part = Chunk::default();
        let mut scratch = Scratch::new(cutter);
        for (number, document) in documents.iter().enumerate() {
            if number % 256 == 0 {
                ctx.check()?;
            }
            let Chunk { terms, tallies, cells, .. } = &mut part;
            scratch.terms(cutter, document, |term| {
                let id = terms.number(term);
                if id as usize == tallies.len() {
                    tallies.push(Tally::default());
                }
                let tally = &mut tallies[id as usize];
                tally.occurrences += 1;
                if tally.last == number + 1 {
                    cells[tally.at].1 += 1;
                } else {
                    tally.documents += 1;
                    (tally.last, tally.at) = (number + 1, cells.len());
                    cells.push((id, 1));
                }
            });
            part.ends.push(part.cells.len());
        }
        Ok(part)
    }
}

impl Tfidf {
    /// Learns the vocabulary and the weights, and applies them.
    pub fn fit_transform(&self, documents: &[&str], ctx: &Ctx) -> Result<(TextModel, OwnedCsr)> {
        let cutter = self.counts.cutter()?;
        if documents.is_empty() {
            return Err(Error::Data("there are no documents to learn from".into()));
        }
        // Every part has a vocabulary of its own that must be merged, so there are few.
        let parts: Vec<Chunk> =
            in_parts(documents, ctx.threads(), ctx, |documents| Chunk::count(&cutter, documents, ctx))?;

        // One vocabulary, with documents and occurrences of each term.
        let (mut terms, mut frequency): (Terms, Vec<(u64, u64)>) = Default::default();
        let mut maps: Vec<Vec<u32>> = Vec::with_capacity(parts.len());
        for part in &parts {
            let map = part.tallies.iter().enumerate().map(|(local, tally)| {
                let number = terms.number(part.terms.get(local));
                if number as usize == frequency.len() {
                    frequency.push((0, 0));
                }
                let (documents, total) = &mut frequency[number as usize];
                *documents += tally.documents;
                *total += tally.occurrences;
                number
            });
            maps.push(map.collect());
        }
        let terms: Vec<&str> = (0..terms.len()).map(|number| terms.get(number)).collect();
        let kept = self.counts.choose(&terms, &frequency, documents.len())?;
        let mut final_number = vec![u32::MAX; terms.len()];
        kept.iter().enumerate().for_each(|(number, &term)| final_number[term as usize] = number as u32);

        let n = documents.len() as f64;
        let smooth = f64::from(u8::from(self.smooth_idf));
        let idf = |&term: &u32| ((n + smooth) / (frequency[term as usize].0 as f64 + smooth)).ln() + 1.0;
        let model = TextModel {
            terms: kept.iter().map(|&term| terms[term as usize].to_string()).collect(),
            idf: self.use_idf.then(|| kept.iter().map(idf).collect()),
            norm: self.norm,
            sublinear_tf: self.sublinear_tf,
            binary: self.counts.binary,
            cutter: cutter.clone(),
            numbers: OnceLock::new(),
        };
        let rows = |i: usize| {
            let part = &parts[i];
            let map: Vec<u32> = maps[i].iter().map(|&number| final_number[number as usize]).collect();
            let mut out = OwnedCsr::new(model.terms.len());
            let (mut start, mut cells) = (0, Vec::new());
            for &end in &part.ends {
                let known = part.cells[start..end].iter().map(|&(local, count)| (map[local as usize], count));
                cells
                    .extend(known.filter(|(number, _)| *number != u32::MAX).map(|(number, count)| cell(number, count)));
                model.finish_row(&mut cells, &mut out);
                start = end;
            }
            Ok(out)
        };
        let x = join(ctx.map(parts.len(), rows)?, model.terms.len());
        Ok((model, x))
    }
}

/// A term's number with its count in the low half, which sorts as one number does.
fn cell(number: u32, count: u32) -> u64 {
    u64::from(number) << 32 | u64::from(count)
}

/// `f` of consecutive documents, cut into at most `count` parts of about as many bytes, in order.
fn in_parts<T: Send>(
    documents: &[&str],
    count: usize,
    ctx: &Ctx,
    f: impl Fn(&[&str]) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let bytes: usize = documents.iter().map(|document| document.len() + 1).sum();
    let size = bytes.div_ceil(count).max(1 << 14);
    let (mut parts, mut first, mut held) = (Vec::new(), 0, 0);
    for (i, document) in documents.iter().enumerate() {
        held += document.len() + 1;
        if held >= size {
            parts.push(&documents[first..=i]);
            (first, held) = (i + 1, 0);
        }
    }
    parts.push(&documents[first..]);
    ctx.map(parts.len(), |i| f(parts[i]))
}

/// Parts one after another, copied once.
fn join(parts: Vec<OwnedCsr>, cols: usize) -> OwnedCsr {
    let mut parts = parts.into_iter();
    let mut all = parts.next().unwrap_or_else(|| OwnedCsr::new(cols));
    parts.for_each(|part| all.append(part));
    all
}

impl Counts {
    /// Which terms are kept, in alphabetical order of their bytes.
    fn choose(&self, terms: &[&str], frequency: &[(u64, u64)], documents: usize) -> Result<Vec<u32>> {
        let n = documents as f64;
        let least = if self.min_df < 1.0 { self.min_df * n } else { self.min_df };
        let most = if self.max_df <= 1.0 { self.max_df * n } else { self.max_df };
        if least > most {
            let problem = format!("no term can be in at least {least} (min_df) and at most {most} (max_df) documents");
            return Err(Error::Data(problem));
        }
        let allowed = |term: &u32| {
            let documents = frequency[*term as usize].0 as f64;
            least <= documents && documents <= most
        };
        let mut kept: Vec<u32> = (0..terms.len() as u32).filter(allowed).collect();
        if let Some(most) = self.max_features.filter(|most| *most < kept.len()) {
            kept.sort_by_key(|&term| (std::cmp::Reverse(frequency[term as usize].1), terms[term as usize]));
            kept.truncate(most);
        }
        if kept.is_empty() {
            let problem = "no terms are left: the documents are empty, or hold only stop words, or min_df and max_df rule all out";
            return Err(Error::Data(problem.into()));
        }
        kept.par_sort_unstable_by_key(|&term| terms[term as usize]);
        Ok(kept)
    }
}

/// Whether a term was looked up yet makes no difference.
impl PartialEq for TextModel {
    fn eq(&self, other: &Self) -> bool {
        self.to_bytes() == other.to_bytes()
    }
}

impl TextModel {
    fn numbers(&self) -> &FxHashMap<Box<str>, u32> {
        let number = |(i, term): (usize, &String)| (term.as_str().into(), i as u32);
        self.numbers.get_or_init(|| self.terms.iter().enumerate().map(number).collect())
    }

    /// The terms, one for each column.
    pub fn vocabulary(&self) -> &[String] {
        &self.terms
    }

    /// The weight of each term, where there are such.
    pub fn idf(&self) -> Option<&[f64]> {
        self.idf.as_deref()
    }

    /// New documents with the same vocabulary; other terms do not count.
    pub fn transform(&self, documents: &[&str], ctx: &Ctx) -> Result<OwnedCsr> {
        let numbers = self.numbers();
        let part = |documents: &[&str]| {
            let mut scratch = Scratch::new(&self.cutter);
            let mut out = OwnedCsr::new(self.terms.len());
            let mut cells: Vec<u64> = Vec::new();
            for document in documents {
                scratch.terms(&self.cutter, document, |term| {
                    cells.extend(numbers.get(term).map(|&number| cell(number, 1)));
                });
                self.finish_row(&mut cells, &mut out);
            }
            ctx.check().map(|()| out)
        };
        let parts = in_parts(documents, 4 * ctx.threads(), ctx, part)?;
        Ok(join(parts, self.terms.len()))
    }

    /// Sorts, adds up and weighs the cells of a document, and empties them.
    fn finish_row(&self, cells: &mut Vec<u64>, out: &mut OwnedCsr) {
        cells.sort_unstable();
        let start = out.values.len();
        for run in cells.chunk_by(|a, b| a >> 32 == b >> 32) {
            let number = (run[0] >> 32) as usize;
            let count: u32 = run.iter().map(|cell| *cell as u32).sum();
            let mut value = if self.binary { 1.0 } else { f64::from(count) };
            if self.sublinear_tf {
                value = 1.0 + value.ln();
            }
            if let Some(idf) = &self.idf {
                value *= idf[number];
            }
            out.push(number, value);
        }
        scale(&mut out.values[start..], self.norm);
        out.end_row();
        cells.clear();
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a vocabulary is plain data")
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let unreadable = || Error::Data("the stored vocabulary is not readable".into());
        let (model, rest): (TextModel, _) = postcard::take_from_bytes(bytes).map_err(|_| unreadable())?;
        let fits = model.idf.as_ref().is_none_or(|idf| idf.len() == model.terms.len());
        let range = 1 <= model.cutter.least && model.cutter.least <= model.cutter.most;
        if !rest.is_empty() || !fits || !range || model.terms.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(unreadable());
        }
        Ok(model)
    }
}

fn scale(values: &mut [f64], norm: Norm) {
    let length = match norm {
        Norm::None => return,
        Norm::L1 => values.iter().map(|value| value.abs()).sum::<f64>(),
        Norm::L2 => values.iter().map(|value| value * value).sum::<f64>().sqrt(),
    };
    if length > 0.0 {
        values.iter_mut().for_each(|value| *value /= length);
    }
}

impl Hashed {
    pub fn transform(&self, documents: &[&str], ctx: &Ctx) -> Result<OwnedCsr> {
        let cutter = self.counts.cutter()?;
        if self.n_features == 0 || self.n_features > i32::MAX as usize {
            return Err(Error::Parameter {
                model: "Hashed".into(),
                name: "n_features".into(),
                value: self.n_features.to_string(),
                allowed: "an integer between 1 and 2147483647".into(),
            });
        }
        let part = |documents: &[&str]| {
            let mut scratch = Scratch::new(&cutter);
            let mut out = OwnedCsr::new(self.n_features);
            let mut cells: Vec<(u32, f64)> = Vec::new();
            for document in documents {
                scratch.terms(&cutter, document, |term| {
                    let hash = murmur3(term.as_bytes()) as i32;
                    let sign = if self.alternate_sign && hash < 0 { -1.0 } else { 1.0 };
                    cells.push(((hash.unsigned_abs() as usize % self.n_features) as u32, sign));
                });
                cells.sort_by_key(|cell| cell.0);
                let start = out.values.len();
                for run in cells.chunk_by(|a, b| a.0 == b.0) {
                    let sum: f64 = run.iter().map(|cell| cell.1).sum();
                    if sum != 0.0 || self.counts.binary {
                        out.push(run[0].0 as usize, if self.counts.binary { 1.0 } else { sum });
                    }
                }
                scale(&mut out.values[start..], self.norm);
                out.end_row();
                cells.clear();
            }
            ctx.check().map(|()| out)
        };
        let parts = in_parts(documents, 4 * ctx.threads(), ctx, part)?;
        Ok(join(parts, self.n_features))
    }
}

/// MurmurHash3 (Appleby 2011), the 32-bit form, seed 0.
fn murmur3(bytes: &[u8]) -> u32 {
    let stir = |k: u32| k.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let mut hash = 0u32;
    let (blocks, tail) = bytes.as_chunks::<4>();
    for block in blocks {
        hash = (hash ^ stir(u32::from_le_bytes(*block))).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    if !tail.is_empty() {
        hash ^= stir(tail.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte)));
    }
    hash ^= bytes.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

/// Room that is used again for every document.
struct Scratch<'a> {
    text: String,
    joined: String,
    /// Words of the document, as ranges of `text`.
    words: Vec<(usize, usize)>,
    stop: FxHashSet<&'a str>,
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

impl<'a> Scratch<'a> {
    fn new(cutter: &'a Cutter) -> Self {
        let stop = cutter.stop_words.iter().map(String::as_str).collect();
        Scratch { text: String::new(), joined: String::new(), words: Vec::new(), stop }
    }

    /// Hands every term of a document to `f`.
    fn terms(&mut self, cutter: &Cutter, document: &str, mut f: impl FnMut(&str)) {
        self.text.clear();
        if cutter.lowercase {
            push_lowercase(&mut self.text, document);
        } else {
            self.text.push_str(document);
        }
        match cutter.analyzer {
            Analyzer::Word => self.words(cutter, f),
            Analyzer::Char => {
                // Blanks in a row count as one.
                self.joined.clear();
                let mut blanks = 0;
                for c in self.text.chars() {
                    blanks = if c.is_whitespace() { blanks + 1 } else { 0 };
                    match blanks {
                        0 | 1 => self.joined.push(c),
                        2 => {
                            self.joined.pop();
                            self.joined.push(' ');
                        }
                        _ => {}
                    }
                }
                grams(&self.joined, cutter, &mut self.words, false, &mut f);
            }
            Analyzer::CharWb => {
                for word in self.text.split_whitespace() {
                    self.joined.clear();
                    self.joined.extend([" ", word, " "]);
                    grams(&self.joined, cutter, &mut self.words, true, &mut f);
                }
            }
        }
    }

    fn words(&mut self, cutter: &Cutter, mut f: impl FnMut(&str)) {
        let Scratch { text, joined, words, stop } = self;
        let single = cutter.most == 1;
        words.clear();
        let mut found = |start: usize, end: usize| {
            let word = &text[start..end];
            if stop.is_empty() || !stop.contains(word) {
                if single {
                    f(word);
                } else {
                    words.push((start, end));
                }
            }
        };
        // Most letters of most texts are ASCII and stand in a table.
        let bytes = text.as_bytes();
        let (mut at, mut start, mut length) = (0, 0, 0);
        while at < bytes.len() {
            let (word, width) = match bytes[at] {
                byte if byte.is_ascii() => (WORD[byte as usize], 1),
                _ => text[at..].chars().next().map_or((false, 1), |c| (is_word(c), c.len_utf8())),
            };
            if word {
                if length == 0 {
                    start = at;
                }
                length += 1;
            } else {
                if length >= 2 {
                    found(start, at);
                }
                length = 0;
            }
            at += width;
        }
        if length >= 2 {
            found(start, text.len());
        }
        if single {
            return;
        }
        for n in cutter.least..=cutter.most.min(words.len()) {
            for group in words.windows(n) {
                joined.clear();
                for (place, &(start, end)) in group.iter().enumerate() {
                    if place > 0 {
                        joined.push(' ');
                    }
                    joined.push_str(&text[start..end]);
                }
                f(joined);
            }
        }
    }
}

/// As `str::to_lowercase`, into room that is there, runs of ASCII at once.
fn push_lowercase(out: &mut String, document: &str) {
    // The one letter whose lower case depends on its neighbours.
    if document.contains('\u{3a3}') {
        out.push_str(&document.to_lowercase());
        return;
    }
    if document.is_ascii() {
        out.push_str(document);
        out.make_ascii_lowercase();
        return;
    }
    let mut rest = document;
    while !rest.is_empty() {
        let (from, plain) = (out.len(), rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len()));
        out.push_str(&rest[..plain]);
        out[from..].make_ascii_lowercase();
        let mut others = rest[plain..].chars();
        out.extend(others.by_ref().take(1).flat_map(char::to_lowercase));
        rest = others.as_str();
    }
}

/// Which ASCII bytes belong to words.
const WORD: [bool; 128] = {
    let mut table = [false; 128];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    table
};

/// All runs of `least..=most` characters; a text that is too short for a length is one run, if `whole`, and then the
/// last one.
fn grams(text: &str, cutter: &Cutter, starts: &mut Vec<(usize, usize)>, whole: bool, f: &mut impl FnMut(&str)) {
    starts.clear();
    starts.extend(text.char_indices().map(|(at, c)| (at, at + c.len_utf8())));
    for n in cutter.least..=cutter.most {
        if n >= starts.len() {
            if n == starts.len() || whole {
                f(text);
            }
            break;
        }
        starts.windows(n).for_each(|run| f(&text[run[0].0..run[n - 1].1]));
    }
}

/// Simple facts about a document: words, mean letters of a word, sentences, mean words of a sentence.
pub fn simple_features(document: &str) -> [f64; 4] {
    let (mut words, mut letters, mut inside, mut sentences, mut open) = (0.0, 0.0, false, 0.0, false);
    for c in document.chars() {
        let word = is_word(c);
        if word && !inside {
            words += 1.0;
            open = true;
        }
        letters += f64::from(u8::from(word));
        if matches!(c, '.' | '!' | '?' | '\u{2026}' | '\u{3002}') && open {
            sentences += 1.0;
            open = false;
        }
        inside = word;
    }
    sentences += f64::from(u8::from(open));
    let share = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
    [words, share(letters, words), sentences, share(words, sentences)]
}
