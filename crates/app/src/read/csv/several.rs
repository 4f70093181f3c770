//! A CSV file that several workers read, each the records that begin in its bytes ([`crate::read::shares`]).

use super::{Content, Part, layout::Layout, records::first_record, without_bom};
use crate::{
    read::{ReadOptions, input::Decoding},
    table::{Column, Form, FormSet},
};
use ermine_core::error::Result;
use memchr::memchr;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
};

/// A file that holds some of the rows of a table.
pub(crate) struct CsvFile {
    pub(super) path: PathBuf,
    content: Content,
    pub(super) bom: usize,
    pub(super) layout: Layout,
    /// As the decoded text is to be read.
    options: ReadOptions,
}

/// Where the records of a stretch begin, if it begins outside of quotes and if it begins inside; and whether it then
/// ends inside.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Stretch {
    pub(super) outside: (Option<usize>, bool),
    pub(super) inside: (Option<usize>, bool),
}

impl Stretch {
    /// Where the records of each stretch begin, for all stretches of one file in their order.
    pub(crate) fn starts(all: &[Stretch]) -> Vec<Option<usize>> {
        let mut inside = false;
        let start = |stretch: &Stretch| {
            let (start, ends_inside) = if inside { stretch.inside } else { stretch.outside };
            inside = ends_inside;
            start
        };
        all.iter().map(start).collect()
    }
}

impl CsvFile {
    pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<CsvFile> {
        let (content, options) = Content::map(path, options)?;
        let data = without_bom(&content);
        let bom = content.len() - data.len();
        let layout = Layout::find(path, data, &options, None)?;
        Ok(CsvFile { path: path.into(), bom, layout, content, options })
    }

    pub(super) fn data(&self) -> &[u8] {
        &self.content[self.bom..]
    }

    /// Whether each worker can read a part of it.
    pub(crate) fn can_be_cut(path: &Path, options: &ReadOptions) -> Result<bool> {
        Ok(Decoding::of_file(path, options)?.is_plain())
    }

    /// What is asked of the columns, and what is known of the text.
    fn asked(&self, options: &ReadOptions) -> ReadOptions {
        let ReadOptions { columns, kinds, .. } = options.clone();
        ReadOptions { columns, kinds, ..self.options.clone() }
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.layout.names
    }

    pub(crate) fn len(&self) -> usize {
        self.data().len()
    }

    /// Which string columns are free text, by the head of the file, in the order wanted.
    pub(crate) fn texts(&self, options: &ReadOptions) -> Result<Vec<bool>> {
        let part = Part::start(&self.path, self.data(), &self.layout, 0..0, &self.asked(options))?;
        Ok(part.inference.order.iter().map(|&index| part.inference.columns[index].is_text).collect())
    }

    /// The line after the one that `byte` of the file is in; the first row at least.
    pub(crate) fn border(&self, byte: usize) -> usize {
        let (data, at) = (self.data(), byte.saturating_sub(self.bom));
        if at <= self.layout.body {
            return self.layout.body;
        }
        let from = at.min(data.len()) - 1;
        memchr(b'\n', &data[from..]).map_or(data.len(), |offset| from + offset + 1)
    }

    /// Between two borders.
    pub(crate) fn stretch(&self, from: usize, to: usize) -> Stretch {
        let of = |inside| first_record(self.data(), from, to, inside, self.layout.delimiter);
        Stretch { outside: of(false), inside: of(true) }
    }

    /// These records, not yet as columns; `texts` as the first file of the table has them.
    pub(crate) fn part(&self, records: Range<usize>, options: &ReadOptions, texts: &[bool]) -> Result<CsvPart<'_>> {
        let mut part = Part::start(&self.path, self.data(), &self.layout, records, &self.asked(options))?;
        for (&index, &is_text) in part.inference.order.iter().zip(texts) {
            part.inference.columns[index].is_text = is_text;
        }
        part.settle()?;
        Ok(CsvPart(part))
    }
}

pub(crate) struct CsvPart<'a>(Part<'a>);

impl CsvPart<'_> {
    pub(crate) fn possible(&self) -> Vec<FormSet> {
        self.0.possible()
    }

    pub(crate) fn narrow(&mut self, possible: &[FormSet]) -> Result<()> {
        self.0.narrow(possible)
    }

    pub(crate) fn spelling(&self) -> (BTreeMap<String, Form>, Vec<String>) {
        self.0.inference.spelling()
    }

    pub(crate) fn finish(self) -> Vec<Column> {
        self.0.finish().into_iter().map(|(_, column)| column).collect()
    }
}
