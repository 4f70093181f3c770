//! Columns between blanks, and columns of fixed width.

use super::{Line, Records, Rewritten};
use std::io::{self, BufRead, BufReader, Read};

/// Lines of the head that are looked at.
const LINES: usize = 100;

/// Whether nothing but blanks separates fields, the same number of them in every line.
pub(in crate::read) fn is_separated(head: &str) -> bool {
    let lines: Vec<&str> = head.lines().filter(|line| !line.trim().is_empty()).take(LINES).collect();
    if lines.len() < 2 || lines.iter().all(|line| line.contains('\t') && !line.contains(' ')) {
        return false;
    }
    // Any other delimiter that is there throughout is one.
    if [',', ';', '|'].iter().any(|mark| lines.iter().all(|line| line.contains(*mark))) {
        return false;
    }
    let counts: Vec<usize> = lines.iter().map(|line| fields(line).len()).collect();
    let number = |field: &String| crate::table::number(field.as_bytes()).is_some();
    counts[0] > 1 && counts.iter().all(|count| *count == counts[0]) && fields(lines[1]).iter().any(number)
}

/// The fields of a line; quotes keep blanks together.
fn fields(line: &str) -> Vec<String> {
    let (mut all, mut rest) = (Vec::new(), line.trim());
    while !rest.is_empty() {
        let quoted = rest.strip_prefix('"').and_then(|inner| inner.split_once('"'));
        let (field, after) = match quoted {
            Some((field, after)) if after.is_empty() || after.starts_with([' ', '\t']) => (field, after),
            _ => rest.split_at(rest.find([' ', '\t']).unwrap_or(rest.len())),
        };
        all.push(field.to_string());
        rest = after.trim_start();
    }
    all
}

pub(in crate::read) fn separated(text: impl Read) -> impl Read {
    Rewritten::new(Lines { text: BufReader::new(text), line: String::new(), split: fields })
}

/// Where no line of the head has anything but blanks, one column ends and another begins.
pub(in crate::read) fn cuts(head: &str) -> Vec<(usize, usize)> {
    let mut taken: Vec<bool> = Vec::new();
    for line in head.lines().take(LINES) {
        for (place, c) in line.chars().enumerate() {
            if place >= taken.len() {
                taken.resize(place + 1, false);
            }
            taken[place] |= !c.is_whitespace();
        }
    }
    let mut cuts: Vec<(usize, usize)> = Vec::new();
    for (place, taken) in taken.into_iter().enumerate() {
        match cuts.last_mut() {
            Some((_, end)) if taken && *end == place => *end += 1,
            _ if taken => cuts.push((place, place + 1)),
            _ => {}
        }
    }
    cuts
}

pub(in crate::read) fn fixed(text: impl Read, cuts: Vec<(usize, usize)>) -> impl Read {
    let split = move |line: &str| {
        let characters: Vec<char> = line.chars().collect();
        let field = |(place, (start, end)): (usize, &(usize, usize))| {
            // A field may be longer than those of the head, as far as the next column.
            let end = cuts.get(place + 1).map_or(characters.len(), |(next, _)| (*next).max(*end));
            let text: String = characters.iter().take(end).skip(*start).collect();
            text.trim().to_string()
        };
        cuts.iter().enumerate().map(field).collect()
    };
    Rewritten::new(Lines { text: BufReader::new(text), line: String::new(), split })
}

struct Lines<R, F> {
    text: BufReader<R>,
    line: String,
    split: F,
}

impl<R: Read, F: Fn(&str) -> Vec<String>> Records for Lines<R, F> {
    fn next(&mut self, line: &mut Line) -> io::Result<bool> {
        loop {
            self.line.clear();
            if self.text.read_line(&mut self.line)? == 0 {
                return Ok(false);
            }
            let text = self.line.trim_end_matches(['\n', '\r']);
            if !text.trim().is_empty() {
                (self.split)(text).iter().for_each(|field| line.push(field));
                return Ok(true);
            }
        }
    }
}
