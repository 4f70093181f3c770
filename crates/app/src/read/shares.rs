//! One table in several files, read by several workers: each reads its part, and all agree on what the columns are.
//!
//! *Who reads what.* The files stand one behind the other; each worker has an equal share of their bytes. Of a CSV file
//! it reads the records that begin in its share: it scans its bytes as if they began outside quotes and as if they
//! began inside, everyone's ends are put together in order, and then it is known which was true (as
//! [`crate::read::csv`] does between threads). Of a Parquet file it reads the row groups that begin in its share. A
//! file that is packed, encoded or rewritten cannot be cut: it is read whole by the worker in whose share it begins.
//!
//! *What is agreed.* Names come from the first file, and every other file must have the same. A column has the first
//! kind that all its fields in all parts fit; levels have the order of their first appearance over all parts; whether
//! strings are free text is decided by the head of the first file. So the columns are those of the same rows in a
//! single file, read by a single process, unless the first file is too short to tell text from categories.

use super::{
    ReadOptions,
    csv::{CsvFile, CsvPart, Stretch},
    idx,
    parquet::ParquetFile,
};
use crate::table::{Category, Column, Dictionary, Form, FormSet, Kind, MAX_LEVELS, MISSING, Summary, Table, Tally};
use ermine_core::{
    ctx::{Exchange, all_gather},
    error::{Error, Result},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
};

/// The consecutive rows of a table that one worker holds.
pub struct Held {
    pub table: Table,
    /// The number of its first row among all.
    pub first: usize,
    /// Rows of all workers.
    pub total: usize,
    /// Of all rows of all workers.
    pub summary: Vec<Summary>,
}

/// This worker's rows of the table in these files.
pub fn read(files: &[PathBuf], options: &ReadOptions, exchange: &dyn Exchange) -> Result<Held> {
    let markers = options.all_na(None);
    let (names, columns, (forms, assumed)) = read_columns(files, options, exchange)?;
    let rows = columns.first().map_or(0, Column::len);
    let table = Table::new(names.into_iter().zip(columns).collect())?.with_na(markers).with_forms(forms, assumed);
    let counts = all_gather(exchange, Ok(rows))?;
    let (first, total) = (counts[..exchange.rank()].iter().sum(), counts.iter().sum());
    if total == 0 {
        return Err(Error::format(&files[0], None, "there are no rows"));
    }
    let mut summary = Vec::new();
    // Column by column: the values that were seen may be many.
    for (name, column) in table.columns() {
        let mut tally = Tally::default();
        tally.add(column);
        let mut all = all_gather(exchange, Ok(tally))?.into_iter();
        let mut tally = all.next().expect("one worker at least");
        all.for_each(|more| tally.merge(more));
        summary.push(tally.finish(name, column.kind()));
    }
    Ok(Held { table, first, total, summary })
}

/// How columns are spelt, and what was taken for granted.
type Spelling = (BTreeMap<String, Form>, Vec<String>);

fn read_columns(
    files: &[PathBuf],
    options: &ReadOptions,
    exchange: &dyn Exchange,
) -> Result<(Vec<String>, Vec<Column>, Spelling)> {
    let survey = Survey::of(files, options, exchange)?;
    if let Format::Images = survey.format {
        let (names, columns) = images(files, options, exchange)?;
        return Ok((names, columns, Spelling::default()));
    }
    let shares = survey.shares(exchange);
    let open = || -> Result<Vec<(Open, Share)>> {
        shares.iter().map(|share| Ok((Open::file(&share.path, survey.format, options)?, share.clone()))).collect()
    };
    // Whoever has the first byte of the first file says what the others must have too.
    let opened = open();
    let head = opened.as_ref().map_err(Error::clone).and_then(|files| match files.first() {
        Some((file, share)) if share.index == 0 && share.bytes.start == 0 => file.head(&share.path, options).map(Some),
        _ => Ok(None),
    });
    let head = all_gather(exchange, head)?.into_iter().flatten().next();
    let head = head.ok_or_else(|| Error::format(&files[0], None, "the file is empty"))?;
    let opened = opened?;
    let options = ReadOptions { columns: Some(head.wanted.clone()), ..options.clone() };
    let same =
        opened.iter().try_for_each(|(file, share)| same_names(&files[0], &head.names, &share.path, &file.names()));
    all_gather(exchange, same)?;

    let mut parts: Vec<(usize, Vec<Column>)> = Vec::new();
    let mut spelling = Spelling::default();
    match survey.format {
        Format::Csv => (parts, spelling) = csv_parts(&opened, &head, &options, exchange)?,
        _ => {
            let mut read = || -> Result<()> {
                for share in &shares {
                    let mut file = ParquetFile::open(&share.path, &options)?;
                    let groups = file.groups(share.bytes.clone());
                    parts.push((share.index, file.part(groups, &head.texts)?));
                }
                Ok(())
            };
            let outcome = read();
            all_gather(exchange, outcome)?;
        }
    }
    let columns = agree(files, &head.wanted, &options, parts, exchange)?;
    Ok((head.wanted, columns, spelling))
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Format {
    Csv,
    Parquet,
    Images,
}

/// What there is to read.
struct Survey<'a> {
    files: &'a [PathBuf],
    /// Bytes of each file, and whether it can be cut.
    sizes: Vec<(u64, bool)>,
    format: Format,
}

/// The part of a file that begins in one worker's share of the bytes.
#[derive(Clone)]
struct Share {
    index: usize,
    path: PathBuf,
    bytes: Range<u64>,
    to_the_end: bool,
}

impl<'a> Survey<'a> {
    fn of(files: &'a [PathBuf], options: &ReadOptions, exchange: &dyn Exchange) -> Result<Survey<'a>> {
        let format_of = |path: &PathBuf| -> Result<Format> {
            if options.labels.is_some() || idx::is_idx(path)? {
                return Ok(Format::Images);
            }
            Ok(if super::is_parquet(path)? { Format::Parquet } else { Format::Csv })
        };
        let look = || -> Result<(Vec<(u64, bool)>, Format)> {
            if files.iter().any(|path| path == Path::new("-")) {
                let problem = "standard input cannot be shared between files or workers";
                return Err(Error::Unsupported(problem.into()).hint("save it to a file first"));
            }
            let format = format_of(&files[0])?;
            let mut sizes = Vec::new();
            for path in files {
                let size = std::fs::metadata(path).map_err(|error| Error::io(path, "open", &error))?.len();
                let found = format_of(path)?;
                if found != format {
                    let problem = format!("this is {found:?}, but {} is {format:?}", files[0].display());
                    return Err(Error::format(path, None, problem));
                }
                sizes.push((size, format == Format::Parquet || CsvFile::can_be_cut(path, options)?));
            }
            Ok((sizes, format))
        };
        let mine = look();
        let seen = mine.as_ref().map(|(sizes, _)| sizes.clone()).map_err(Error::clone);
        let all = all_gather(exchange, seen)?;
        let (sizes, format) = mine?;
        for (rank, theirs) in all.iter().enumerate() {
            if let Some(file) = (0..sizes.len()).find(|&file| theirs.get(file) != all[0].get(file)) {
                let size = |sizes: &[(u64, bool)]| sizes.get(file).map_or(0, |(size, _)| *size);
                let problem = format!("worker {rank} sees {} bytes, worker 0 {}", size(theirs), size(&all[0]));
                return Err(Error::format(&files[file], None, problem).hint("all workers must see the same files"));
            }
        }
        Ok(Survey { files, sizes, format })
    }

    fn shares(&self, exchange: &dyn Exchange) -> Vec<Share> {
        let total: u64 = self.sizes.iter().map(|(size, _)| size).sum();
        let cut = |rank: usize| (u128::from(total) * rank as u128 / exchange.size() as u128) as u64;
        let mine = cut(exchange.rank())..cut(exchange.rank() + 1);
        let (mut shares, mut start) = (Vec::new(), 0);
        for (index, (path, &(size, can_be_cut))) in self.files.iter().zip(&self.sizes).enumerate() {
            let file = start..start + size;
            start = file.end;
            let (from, to) = (mine.start.clamp(file.start, file.end), mine.end.clamp(file.start, file.end));
            let bytes = match can_be_cut {
                true => from - file.start..to - file.start,
                false if mine.contains(&file.start) => 0..size,
                false => continue,
            };
            if !bytes.is_empty() {
                let to_the_end = bytes.end == size;
                shares.push(Share { index, path: path.clone(), bytes, to_the_end });
            }
        }
        shares
    }
}

/// What the first file says of the whole table.
#[derive(Serialize, Deserialize)]
struct Head {
    /// All columns of the file.
    names: Vec<String>,
    /// The columns to read, in this order.
    wanted: Vec<String>,
    /// Which of them are free text, if they are strings.
    texts: Vec<bool>,
}

enum Open {
    Csv(CsvFile),
    Parquet(ParquetFile),
}

impl Open {
    fn file(path: &Path, format: Format, options: &ReadOptions) -> Result<Open> {
        // Which columns are wanted is asked when it is known which there are.
        let all = ReadOptions { columns: None, kinds: Default::default(), ..options.clone() };
        Ok(match format {
            Format::Csv => Open::Csv(CsvFile::open(path, &all)?),
            _ => Open::Parquet(ParquetFile::open(path, &all)?),
        })
    }

    fn names(&self) -> Vec<String> {
        match self {
            Open::Csv(file) => file.names().to_vec(),
            Open::Parquet(file) => file.names(),
        }
    }

    fn head(&self, path: &Path, options: &ReadOptions) -> Result<Head> {
        let (names, texts) = match self {
            Open::Csv(file) => (file.names().to_vec(), file.texts(options)?),
            Open::Parquet(file) => (file.names(), ParquetFile::open(path, options)?.texts()?),
        };
        Ok(Head { wanted: options.columns.clone().unwrap_or_else(|| names.clone()), names, texts })
    }
}

pub(super) fn same_names(first: &Path, expected: &[String], path: &Path, found: &[String]) -> Result<()> {
    let other = |a: &[String], b: &[String]| a.iter().find(|name| !b.contains(name)).cloned();
    let problem = match (other(expected, found), other(found, expected)) {
        (Some(name), _) => format!("there is no column '{name}', but {} has one", first.display()),
        (None, Some(name)) => format!("there is a column '{name}', but {} has none", first.display()),
        (None, None) => return Ok(()),
    };
    Err(Error::format(path, None, problem))
}

/// The records that begin in this worker's shares, of kinds that all parts allow.
fn csv_parts(
    opened: &[(Open, Share)],
    head: &Head,
    options: &ReadOptions,
    exchange: &dyn Exchange,
) -> Result<(Vec<(usize, Vec<Column>)>, Spelling)> {
    let mut stretches: Vec<(usize, Stretch)> = Vec::new();
    let mut files: Vec<(usize, &CsvFile)> = Vec::new();
    for (file, share) in opened {
        let Open::Csv(file) = file else { continue };
        let end = if share.to_the_end { file.len() } else { file.border(share.bytes.end as usize) };
        stretches.push((share.index, file.stretch(file.border(share.bytes.start as usize), end)));
        files.push((share.index, file));
    }
    let all = all_gather(exchange, Ok(stretches))?;
    let mut parts: Vec<(usize, CsvPart)> = Vec::new();
    let mut parse = || -> Result<()> {
        for &(index, file) in &files {
            let of_file: Vec<(usize, Stretch)> = (all.iter().enumerate())
                .flat_map(|(rank, stretches)| stretches.iter().map(move |&(file, stretch)| (rank, file, stretch)))
                .filter(|&(_, file, _)| file == index)
                .map(|(rank, _, stretch)| (rank, stretch))
                .collect();
            let starts = Stretch::starts(&of_file.iter().map(|(_, stretch)| *stretch).collect::<Vec<_>>());
            let place = of_file.iter().position(|(rank, _)| *rank == exchange.rank());
            let Some((place, start)) = place.and_then(|place| Some((place, starts[place]?))) else { continue };
            let end = starts[place + 1..].iter().flatten().next().copied().unwrap_or(file.len());
            parts.push((index, file.part(start..end, options, &head.texts)?));
        }
        Ok(())
    };
    let parsed = parse();
    all_gather(exchange, parsed)?;
    // Kinds only ever become fewer, so this ends; nearly always at once.
    loop {
        let mut mine = vec![FormSet::ALL; head.wanted.len()];
        for (_, part) in &parts {
            mine.iter_mut().zip(part.possible()).for_each(|(all, possible)| *all = all.and(possible));
        }
        let everyone = all_gather(exchange, Ok(mine))?;
        let allowed: Vec<FormSet> = (0..head.wanted.len())
            .map(|column| everyone.iter().fold(FormSet::ALL, |allowed, mine| allowed.and(mine[column])))
            .collect();
        let before: Vec<Vec<FormSet>> = parts.iter().map(|(_, part)| part.possible()).collect();
        let narrowed = parts.iter_mut().try_for_each(|(_, part)| part.narrow(&allowed));
        let changed = parts.iter().zip(&before).any(|((_, part), before)| part.possible() != *before);
        if !all_gather(exchange, narrowed.map(|()| changed))?.contains(&true) {
            break;
        }
    }
    // All parts agree by now; the first speaks.
    let mine = parts.first().map(|(_, part)| part.spelling());
    let spelling = all_gather(exchange, Ok(mine))?.into_iter().flatten().next().unwrap_or_default();
    Ok((parts.into_iter().map(|(index, part)| (index, part.finish())).collect(), spelling))
}

/// One column of one part, as the others need to know it.
#[derive(Serialize, Deserialize)]
struct Note {
    kind: Kind,
    levels: Vec<String>,
}

/// One kind and one list of levels for each column over all parts, and this worker's parts joined.
fn agree(
    files: &[PathBuf],
    names: &[String],
    options: &ReadOptions,
    parts: Vec<(usize, Vec<Column>)>,
    exchange: &dyn Exchange,
) -> Result<Vec<Column>> {
    let note = |column: &Column| Note {
        kind: column.kind(),
        levels: if let Column::Category(category) = column { category.levels.to_vec() } else { Vec::new() },
    };
    let mut joined = Vec::new();
    let mut parts: Vec<(usize, std::vec::IntoIter<Column>)> =
        parts.into_iter().map(|(index, columns)| (index, columns.into_iter())).collect();
    for name in names {
        let mine: Vec<(usize, Column)> = parts
            .iter_mut()
            .map(|(index, columns)| (*index, columns.next().expect("a column for each name")))
            .collect();
        let notes: Vec<(usize, Note)> = mine.iter().map(|(index, column)| (*index, note(column))).collect();
        let notes: Vec<(usize, Note)> = all_gather(exchange, Ok(notes))?.into_iter().flatten().collect();
        let (_, first) = notes.first().ok_or_else(|| Error::format(&files[0], None, "there are no rows"))?;
        let is_string = |kind: Kind| matches!(kind, Kind::Category | Kind::Text);
        let other = |note: &Note| note.kind != first.kind && !(is_string(note.kind) && is_string(first.kind));
        if let Some((index, found)) = notes.iter().find(|(_, note)| other(note)) {
            let first_file = files[notes[0].0].display();
            let problem = format!("column '{name}' holds {}, but in {first_file} it holds {}", found.kind, first.kind);
            return Err(Error::format(&files[*index], None, problem));
        }
        let mut levels = Dictionary::default();
        let must_be_category = options.kinds.get(name) == Some(&Kind::Category);
        let mut kind = first.kind;
        if is_string(kind) {
            notes.iter().flat_map(|(_, note)| &note.levels).for_each(|level| {
                levels.code_of_str(level);
            });
            let is_text = notes.iter().any(|(_, note)| note.kind == Kind::Text);
            let too_many = levels.len() > MAX_LEVELS && !must_be_category;
            kind = if is_text || too_many { Kind::Text } else { Kind::Category };
        }
        let known = levels.levels();
        let convert = |column: Column| match (column, kind) {
            (Column::Category(category), Kind::Category) => {
                let map: Vec<u32> =
                    category.levels.iter().map(|level| levels.get(level.as_bytes()).unwrap_or(MISSING)).collect();
                let code = |code: u32| if code == MISSING { MISSING } else { map[code as usize] };
                Column::Category(Category {
                    codes: category.codes.into_iter().map(code).collect(),
                    levels: known.clone(),
                })
            }
            (Column::Category(category), _) => {
                Column::Text((0..category.codes.len()).map(|row| category.get(row).unwrap_or_default()).collect())
            }
            (column, _) => column,
        };
        let mut whole: Option<Column> = None;
        for column in mine.into_iter().map(|(_, column)| column).map(convert) {
            match &mut whole {
                None => whole = Some(column),
                Some(whole) => whole.append(&column)?,
            }
        }
        joined.push(whole.unwrap_or_else(|| empty(kind, &known)));
    }
    Ok(joined)
}

fn empty(kind: Kind, levels: &std::sync::Arc<[String]>) -> Column {
    match kind {
        Kind::Number => Column::Number(Vec::new()),
        Kind::Date => Column::Date(Vec::new()),
        Kind::DateTime => Column::DateTime(Vec::new()),
        Kind::Boolean => Column::Boolean(Vec::new()),
        Kind::Text => Column::Text(Default::default()),
        Kind::Category => Column::Category(Category { codes: Vec::new(), levels: levels.clone() }),
    }
}

/// Images are read whole by every worker, which keeps its share of the rows.
fn images(files: &[PathBuf], options: &ReadOptions, exchange: &dyn Exchange) -> Result<(Vec<String>, Vec<Column>)> {
    let read = || match files {
        [file] => super::read(file, options),
        _ => Err(Error::Unsupported("images come in one file, with one file of labels".into())),
    };
    let whole = read();
    all_gather(exchange, whole.as_ref().map(|_| ()).map_err(Error::clone))?;
    let whole = whole?;
    let cut = |rank: usize| rank * whole.rows() / exchange.size();
    let rows: Vec<usize> = (cut(exchange.rank())..cut(exchange.rank() + 1)).collect();
    let names = whole.names().to_vec();
    Ok((names, if exchange.size() == 1 { whole } else { whole.take(&rows) }.into_columns()))
}
