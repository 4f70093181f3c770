//! LIBSVM: `label index:value index:value ... # comment`. What is not said is zero.

use super::{Line, Records, Rewritten, wrong};
use std::io::{self, BufRead, BufReader, Read};

/// Whether lines are a label with pairs behind it.
pub(in crate::read) fn is_libsvm(head: &str) -> bool {
    let lines: Vec<&str> = head.lines().map(without_comment).filter(|line| !line.is_empty()).take(50).collect();
    let pairs = |line: &&str| line.split_whitespace().skip(1).count() > 0;
    !lines.is_empty()
        && lines.iter().any(pairs)
        && lines.iter().all(|line| {
            let mut words = line.split_whitespace();
            let label = words.next().is_some_and(|label| label.split(',').all(|part| part.parse::<f64>().is_ok()));
            label && words.all(|word| pair(word).is_some())
        })
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or_default().trim()
}

/// The place of a value; that of a query is 0.
fn pair(word: &str) -> Option<(usize, &str)> {
    let (place, value) = word.split_once(':')?;
    value.parse::<f64>().ok()?;
    match place {
        "qid" => Some((0, value)),
        place => Some((place.parse::<usize>().ok()?.checked_add(1)?, value)),
    }
}

#[derive(Clone, Copy, Default)]
pub(in crate::read) struct Columns {
    queries: bool,
    /// The smallest and the largest place plus one.
    first: usize,
    last: usize,
}

pub(in crate::read) fn columns(text: impl Read) -> io::Result<Columns> {
    let mut columns = Columns { queries: false, first: usize::MAX, last: 0 };
    let mut lines = Lines { text: BufReader::new(text), line: String::new(), number: 0 };
    while lines.advance()? {
        for word in lines.words().skip(1) {
            match pair(word) {
                Some((0, _)) => columns.queries = true,
                Some((place, _)) => {
                    (columns.first, columns.last) = (columns.first.min(place), columns.last.max(place));
                }
                None => return Err(wrong(lines.number, format!("'{word}' is not index:value"))),
            }
        }
    }
    // Places count from 1, unless there is a 0.
    columns.first = columns.first.clamp(1, 2);
    Ok(columns)
}

pub(in crate::read) fn rows(text: impl Read, columns: Columns) -> impl Read {
    let lines = Lines { text: BufReader::new(text), line: String::new(), number: 0 };
    Rewritten::new(Rows { lines, columns, named: false })
}

struct Lines<R> {
    text: BufReader<R>,
    line: String,
    number: u64,
}

impl<R: Read> Lines<R> {
    fn advance(&mut self) -> io::Result<bool> {
        loop {
            self.line.clear();
            self.number += 1;
            if self.text.read_line(&mut self.line)? == 0 {
                return Ok(false);
            }
            if !without_comment(&self.line).is_empty() {
                return Ok(true);
            }
        }
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        without_comment(&self.line).split_whitespace()
    }
}

struct Rows<R> {
    lines: Lines<R>,
    columns: Columns,
    named: bool,
}

impl<R: Read> Records for Rows<R> {
    fn next(&mut self, line: &mut Line) -> io::Result<bool> {
        let Columns { queries, first, last } = self.columns;
        if !self.named {
            self.named = true;
            line.push("label");
            if queries {
                line.push("qid");
            }
            (first..=last).for_each(|place| line.push(&format!("x{}", place - 1)));
            return Ok(true);
        }
        if !self.lines.advance()? {
            return Ok(false);
        }
        let mut values = vec!["0"; last + 1 - first];
        let (mut words, mut query) = (self.lines.words(), "");
        line.push(words.next().unwrap_or_default());
        for (place, value) in words.filter_map(pair) {
            match place {
                0 => query = value,
                place => values[place - first] = value,
            }
        }
        if queries {
            line.push(query);
        }
        values.iter().for_each(|value| line.push(value));
        Ok(true)
    }
}
