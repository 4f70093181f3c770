//! What the head of a file says about its form: delimiter, header, names.

use super::{HEAD_BYTES, fields::Cursor};
use crate::{
    read::ReadOptions,
    table::{FormSet, Schema},
};
use ermine_core::error::{Error, Result};
use memchr::{memchr, memrchr};
use std::path::Path;

pub(super) struct Layout {
    pub(super) delimiter: u8,
    pub(super) header: bool,
    pub(super) names: Vec<String>,
    /// Where the first row begins.
    pub(super) body: usize,
    /// What was taken for granted.
    pub(super) assumed: Vec<String>,
}

impl Layout {
    /// From the head of a file: its first few megabytes, and the first line in any case.
    pub(super) fn find(path: &Path, data: &[u8], options: &ReadOptions, schema: Option<&Schema>) -> Result<Layout> {
        let mut head = data;
        if data.len() > HEAD_BYTES {
            // Half a record would look ragged.
            let end = memrchr(b'\n', &data[..HEAD_BYTES]).or_else(|| memchr(b'\n', data));
            head = &data[..end.map_or(data.len(), |end| end + 1)];
        }
        if trim_lines(head).is_empty() {
            return Err(Error::format(path, None, "the file is empty"));
        }
        if memchr(b'\n', head).is_none() && memchr(b'\r', head).is_some_and(|at| at + 1 < head.len()) {
            let error = Error::format(path, None, "lines end with carriage returns only");
            return Err(error.hint("save the file with line ends of Unix or Windows"));
        }
        let delimiter = options.delimiter.unwrap_or_else(|| find_delimiter(head));
        if matches!(delimiter, b'"' | b'\n' | b'\r') {
            return Err(Error::Unsupported("a quote or a line end cannot be the delimiter".into()));
        }
        let mut cursor = Cursor::new(head, 0, delimiter);
        let first = cursor.record().map_err(|fault| fault.locate(path, head, 1))?.unwrap_or_default();
        let known = |field: &Vec<u8>, name: &String| field == name.as_bytes();
        let all_named = schema.is_some_and(|schema| {
            !schema.columns.is_empty()
                && schema.columns.iter().all(|wanted| first.iter().any(|field| known(field, &wanted.name)))
        });
        let spoken_of = !options.named.is_empty()
            && options.named.iter().all(|name| first.iter().filter(|field| known(field, name)).count() == 1);
        let mut assumed = Vec::new();
        let header = options.header.unwrap_or_else(|| {
            all_named || spoken_of || looks_like_header(&first) || {
                let counted = counts_on(&first) && !next_counts_on(&mut Cursor::new(head, cursor.pos, delimiter));
                if counted {
                    assumed
                        .push("the numbers in the first line are names of columns; --no-header says otherwise".into());
                }
                counted
            }
        });
        let names = if header {
            let names: Result<Vec<String>, _> = first.into_iter().map(String::from_utf8).collect();
            let names = names.map_err(|_| {
                Error::format(path, 1, "the header is not valid UTF-8").hint("name its encoding with --encoding")
            })?;
            let unique = unique_names(names.clone());
            let renamed = names.iter().zip(&unique).filter(|(name, unique)| name != unique && !name.is_empty());
            let renamed: Vec<String> = renamed.map(|(name, unique)| format!("'{name}' to '{unique}'")).collect();
            if !renamed.is_empty() {
                let more = if renamed.len() > 3 { format!(" and {} more", renamed.len() - 3) } else { String::new() };
                let some = renamed.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
                assumed.push(format!("columns of the same name are renamed: {some}{more}"));
            }
            unique
        } else {
            unique_names(vec![String::new(); first.len()])
        };
        let body = if header { cursor.pos.min(head.len()) } else { 0 };
        Ok(Layout { delimiter, header, names, body, assumed })
    }
}

fn trim_lines(data: &[u8]) -> &[u8] {
    let start = data.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(data.len());
    &data[start..]
}

/// Names of columns do not look like values; `inf` and `nan` may be names.
fn looks_like_header(first: &[Vec<u8>]) -> bool {
    let word = |field: &[u8]| matches!(field.to_ascii_lowercase().as_slice(), b"inf" | b"infinity" | b"nan");
    !first.iter().any(|field| !word(field) && FormSet::of(field).first().is_some())
}

/// So many numbers hardly ever stand in order by chance.
const MANY: usize = 6;

/// Whether the numbers among these fields go up as years and numbered columns do: in equal steps, or in any if they are
/// many or years.
fn counts_on(fields: &[Vec<u8>]) -> bool {
    let numbers: Vec<f64> = fields.iter().filter_map(|field| crate::table::number(field)).collect();
    let [first, second, ..] = numbers[..] else { return false };
    let whole = numbers.iter().all(|value| value.fract() == 0.0);
    let up = numbers.windows(2).all(|pair| pair[1] > pair[0]);
    let even = numbers.windows(2).all(|pair| pair[1] - pair[0] == second - first);
    let years = numbers.len() >= 3 && numbers.iter().all(|year| (1500.0..2200.0).contains(year));
    let others = |field: &Vec<u8>| crate::table::number(field).is_some() || FormSet::of(field).first().is_none();
    whole && up && (even || years || numbers.len() >= MANY) && fields.iter().all(others)
}

/// Whether any of the next records does: then the first is a row like them.
fn next_counts_on(cursor: &mut Cursor) -> bool {
    (0..20).any(|_| matches!(cursor.record(), Ok(Some(fields)) if counts_on(&fields)))
}

/// The candidate that splits the first records into the same number of fields, the most if several do.
pub(super) fn find_delimiter(head: &[u8]) -> u8 {
    let (mut best, mut most) = (None, 1);
    let (mut fallback, mut first_most) = (b',', 1);
    for delimiter in *b",;\t|" {
        let mut cursor = Cursor::new(head, 0, delimiter);
        let mut counts = Vec::new();
        while counts.len() < 100 {
            match cursor.record() {
                Ok(Some(fields)) => counts.push(fields.len()),
                Ok(None) => break,
                Err(_) => {
                    counts.push(0);
                    break;
                }
            }
        }
        let first = counts.first().copied().unwrap_or(0);
        if first > most && counts.iter().all(|&count| count == first) {
            (best, most) = (Some(delimiter), first);
        }
        if first > first_most {
            (fallback, first_most) = (delimiter, first);
        }
    }
    best.unwrap_or(fallback)
}

/// An empty name becomes `column_3` by its place; the second `x` becomes `x_2`.
fn unique_names(names: Vec<String>) -> Vec<String> {
    let mut taken: std::collections::HashSet<String> = names.iter().filter(|name| !name.is_empty()).cloned().collect();
    let mut first_seen = std::collections::HashSet::new();
    // Where the numbers of a name go on: a thousand equal names are a thousand steps.
    let mut numbers: std::collections::HashMap<String, usize> = Default::default();
    let mut unique = Vec::with_capacity(names.len());
    for (index, name) in names.into_iter().enumerate() {
        let (stem, mut next) = match name.as_str() {
            "" => ("column", index + 1),
            name if first_seen.insert(name.to_owned()) => {
                unique.push(name.to_owned());
                continue;
            }
            name => (name, 2),
        };
        if !name.is_empty() {
            next = numbers.get(stem).copied().unwrap_or(next);
        }
        let mut candidate = format!("{stem}_{next}");
        while !taken.insert(candidate.clone()) {
            next += 1;
            candidate = format!("{stem}_{next}");
        }
        if !name.is_empty() {
            numbers.insert(name, next + 1);
        }
        unique.push(candidate);
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_unique() {
        let names = |list: &[&str]| unique_names(list.iter().map(|name| name.to_string()).collect());
        assert_eq!(names(&["a", "", "a", "a_2", "a"]), ["a", "column_2", "a_3", "a_2", "a_4"]);
        assert_eq!(names(&["", "column_1"]), ["column_2", "column_1"]);
        // In a time that grows with their number, not with its square.
        let many = unique_names(vec!["x".to_string(); 200_000]);
        assert_eq!(many[199_999], "x_200000");
    }
}
