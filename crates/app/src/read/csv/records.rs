//! Where records begin: newlines outside quotes, found in every piece of a file by itself and put right in order.

use super::{fields::next_quote, newlines};
use memchr::{memchr, memrchr};
use rayon::prelude::*;

/// Whether a quote found outside quotes opens a field: only blanks lie between it and a delimiter or newline.
pub(super) fn opens(data: &[u8], quote: usize, delimiter: u8) -> bool {
    // Nearly always a delimiter or newline is right before it.
    if quote > 0 && (data[quote - 1] == delimiter || data[quote - 1] == b'\n') {
        return true;
    }
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t') && **byte != delimiter;
    match data[..quote].iter().rev().find(|byte| !blank(byte)) {
        None => true,
        Some(&byte) => byte == delimiter || byte == b'\n',
    }
}

/// Walks over the quotes of `data[from..to]`, calls `outside` with each stretch that lies outside quotes until it
/// returns true, and says whether the end lies inside quotes. Neither end may cut a doubled quote in two.
pub(super) fn walk_quotes(
    data: &[u8],
    from: usize,
    to: usize,
    mut inside: bool,
    delimiter: u8,
    mut outside: impl FnMut(usize, usize) -> bool,
) -> bool {
    let (mut pos, mut begin) = (from, from);
    let stretch = &data[..to];
    while let Some(quote) = next_quote(stretch, pos) {
        pos = quote + 1;
        if !inside {
            inside = opens(data, quote, delimiter);
            if inside && outside(begin, quote) {
                return inside;
            }
        } else if data.get(pos) == Some(&b'"') {
            pos += 1;
        } else {
            inside = false;
            begin = pos;
        }
    }
    if !inside {
        outside(begin, to);
    }
    inside
}

/// Pieces of whole records, each with a bound on its rows.
pub(super) struct Cuts {
    pub(super) starts: Vec<usize>,
    /// Newlines before each start, and at last in all.
    pub(super) newlines: Vec<usize>,
}

pub(super) fn cut(data: &[u8], delimiter: u8, chunk_bytes: usize) -> Cuts {
    let chunk_bytes = chunk_bytes.max(1);
    let mut borders = vec![0];
    let mut border = 0;
    while data.len() - border > chunk_bytes {
        // At a newline, so that a border is hardly ever inside quotes and never between two of them.
        border += chunk_bytes;
        border = memchr(b'\n', &data[border - 1..]).map_or(data.len(), |offset| border + offset);
        if border < data.len() {
            borders.push(border);
        }
    }
    borders.push(data.len());
    let pieces: Vec<(usize, usize)> = borders.iter().copied().zip(borders[1..].iter().copied()).collect();
    let scanned = pieces.par_iter().map(|&(from, to)| {
        (newlines(&data[from..to]) as usize, walk_quotes(data, from, to, false, delimiter, |_, _| false))
    });
    let scanned: Vec<(usize, bool)> = scanned.collect();

    let mut cuts = Cuts { starts: Vec::new(), newlines: Vec::new() };
    let (mut inside, mut before) = (false, 0);
    for (&(from, to), (lines, ends_inside)) in pieces.iter().zip(scanned) {
        let start = if inside {
            let start;
            (start, inside) = first_record(data, from, to, true, delimiter);
            start
        } else {
            inside = ends_inside;
            Some(from)
        };
        if let Some(start) = start {
            cuts.starts.push(start);
            cuts.newlines.push(before + newlines(&data[from..start]) as usize);
        }
        before += lines;
    }
    cuts.starts.push(data.len());
    // The last record may lack a newline.
    cuts.newlines.push(before + 1);
    cuts
}

/// Where the first record of a stretch between newlines begins, if it begins inside or outside of quotes, and whether
/// it ends inside.
pub(super) fn first_record(data: &[u8], from: usize, to: usize, inside: bool, delimiter: u8) -> (Option<usize>, bool) {
    let mut start = (!inside).then_some(from);
    let first_newline = |begin: usize, end: usize| {
        start = start.or_else(|| memchr(b'\n', &data[begin..end]).map(|offset| begin + offset + 1));
        false
    };
    let ends_inside = walk_quotes(data, from, to, inside, delimiter, first_newline);
    (start.filter(|&start| !inside || start < to), ends_inside)
}

/// The end of the last whole record, given that `data` begins with one.
pub(super) fn last_record_end(data: &[u8], delimiter: u8) -> Option<usize> {
    let mut last = None;
    walk_quotes(data, 0, data.len(), false, delimiter, |from, to| {
        last = memrchr(b'\n', &data[from..to]).map(|offset| from + offset + 1).or(last);
        false
    });
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_begin_outside_quotes_only() {
        let data = b"a,\"1\n2\"\nb,\"\"\"\n\"\"\",5\" pipe\n \"x\n\",\"y\"\n\"\"\n";
        let records = [0, 8, 26, 36, 39];
        for chunk in 1..data.len() + 1 {
            let cuts = cut(data, b',', chunk);
            for start in &cuts.starts {
                assert!(records.contains(start), "{start} is no record, pieces of {chunk}");
            }
            assert!(cuts.starts.windows(2).all(|pair| pair[0] < pair[1]));
        }
        assert_eq!(last_record_end(&data[..data.len() - 1], b','), Some(36));
    }
}
