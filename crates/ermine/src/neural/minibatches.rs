//! Rows of minibatches, for whoever computes with them.
//!
//! An epoch is a shuffle of all rows, which does not know who holds what: of the rows that a worker computes with, it
//! holds one in N. So workers swap rows before they compute, those of several minibatches at a time, since a meeting
//! costs more than a few rows.

use super::network::Rows;
use crate::{
    Error, Result, Source,
    core::{Batch, Row, Target, ctx::Exchange, source::Buffers},
};
use std::ops::Range;

/// Numbers that are swapped at a time by all workers together, about.
const SWAPPED: usize = 1 << 20;

/// Rows by number, as far as they are held here.
pub struct Minibatches<'a> {
    pub source: &'a dyn Source,
    memory: Option<Batch<'a>>,
    held: Range<usize>,
}

impl<'a> Minibatches<'a> {
    pub fn new(source: &'a dyn Source) -> Self {
        Minibatches { source, memory: source.memory(), held: source.held() }
    }

    pub fn load(&self, row: usize, rows: &mut Rows, buffers: &mut Buffers) -> Result<()> {
        match &self.memory {
            Some(batch) => push(rows, batch, row - self.held.start),
            None => push(rows, &self.source.read(row..row + 1, buffers)?, 0),
        }
        Ok(())
    }

    /// How many minibatches are swapped at a time.
    pub fn per_swap(&self, minibatch: usize) -> usize {
        (SWAPPED / (minibatch * self.source.shape().cols).max(1)).max(1)
    }

    /// Gives the rows of some minibatches to the workers that compute with them: `of(rank, length)` are the places of a
    /// rank in a minibatch of that length.
    pub fn swap<'m>(
        &self,
        exchange: &dyn Exchange,
        minibatches: impl Iterator<Item = &'m [usize]>,
        of: impl Fn(usize, usize) -> Range<usize>,
    ) -> Result<Swapped> {
        let mut messages = vec![vec![READ]; exchange.size()];
        let (mut one, mut buffers) = (Rows::new(self.source.shape().cols), Buffers::default());
        let mut first = 0;
        let collect = || -> Result<()> {
            for minibatch in minibatches {
                for rank in (0..exchange.size()).filter(|&rank| rank != exchange.rank()) {
                    for place in of(rank, minibatch.len()).filter(|&place| self.held.contains(&minibatch[place])) {
                        one.clear();
                        self.load(minibatch[place], &mut one, &mut buffers)?;
                        messages[rank].extend(((first + place) as u64).to_le_bytes());
                        pack(&one, &mut messages[rank]);
                    }
                }
                first += minibatch.len();
            }
            Ok(())
        };
        // A worker that cannot read says so: the others wait for it.
        let outcome = collect();
        if let Err(error) = &outcome {
            messages.fill([&[FAILED], error.to_string().as_bytes()].concat());
        }
        let received = exchange.all_to_all(messages)?;
        outcome?;
        let mut at = vec![None; first];
        for (rank, message) in received.iter().enumerate() {
            if let [FAILED, reason @ ..] = &message[..] {
                return Err(Error::Worker { rank, message: String::from_utf8_lossy(reason).into_owned() });
            }
            let mut rest = Reader(message.get(1..).unwrap_or_default());
            while !rest.0.is_empty() {
                let place = rest.number() as usize;
                at[place] = Some((rank, message.len() - rest.0.len()));
                rest.skip(self.source.shape().cols);
            }
        }
        Ok(Swapped { messages: received, at })
    }
}

/// What a message begins with: rows, or why there are none.
const READ: u8 = 0;
const FAILED: u8 = 1;

/// How a row is sent.
const DENSE: u8 = 0;
const SPARSE: u8 = 1;
/// Dense, but mostly zeros (pixels, one-hot columns), which stay behind.
const THINNED: u8 = 2;

/// The only one of some rows, as bytes: its form, stored values if not all, columns of these, values, targets, weight.
fn pack(one: &Rows, bytes: &mut Vec<u8>) {
    let counts = |value: &f64| value.to_bits() != 0;
    let put =
        |bytes: &mut Vec<u8>, numbers: &[f64]| numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    match one.x().row(0) {
        Row::Sparse { columns, values } => {
            bytes.push(SPARSE);
            bytes.extend((values.len() as u64).to_le_bytes());
            columns.iter().for_each(|column| bytes.extend(column.to_le_bytes()));
            put(bytes, values);
        }
        Row::Dense(values) => {
            let stored = values.iter().filter(|value| counts(value)).count();
            if 12 * stored < 8 * values.len() {
                let known = || values.iter().enumerate().filter(|(_, value)| counts(value));
                bytes.push(THINNED);
                bytes.extend((stored as u64).to_le_bytes());
                known().for_each(|(column, _)| bytes.extend((column as u32).to_le_bytes()));
                known().for_each(|(_, value)| bytes.extend(value.to_le_bytes()));
            } else {
                bytes.push(DENSE);
                put(bytes, values);
            }
        }
    }
    bytes.extend((one.y.len() as u64).to_le_bytes());
    put(bytes, &one.y);
    put(bytes, &one.weights);
}

/// Bytes that are still to be read; they come from workers of the same program.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take<const SIZE: usize>(&mut self, count: usize) -> &'a [[u8; SIZE]] {
        let (now, later) = self.0.split_at(SIZE * count);
        self.0 = later;
        now.as_chunks().0
    }

    fn number(&mut self) -> u64 {
        u64::from_le_bytes(self.take(1)[0])
    }

    fn floats(&mut self, count: usize) -> impl Iterator<Item = f64> + use<'a> {
        self.take(count).iter().map(|bytes| f64::from_le_bytes(*bytes))
    }

    /// Goes past the next row.
    fn skip(&mut self, cols: usize) {
        let [form] = self.take::<1>(1)[0];
        if form == DENSE {
            self.take::<8>(cols);
        } else {
            let stored = self.number() as usize;
            self.take::<12>(stored);
        }
        let targets = self.number() as usize;
        self.take::<8>(targets + 1);
    }

    /// Adds the next row.
    fn row(&mut self, rows: &mut Rows) {
        let [form] = self.take::<1>(1)[0];
        if form == DENSE {
            rows.values.extend(self.floats(rows.cols));
        } else {
            let stored = self.number() as usize;
            let columns = self.take(stored).iter().map(|bytes| u32::from_le_bytes(*bytes));
            let values = self.floats(stored);
            if form == SPARSE {
                rows.columns.extend(columns);
                rows.values.extend(values);
                rows.starts.push(rows.values.len());
            } else {
                let start = rows.values.len();
                rows.values.resize(start + rows.cols, 0.0);
                columns.zip(values).for_each(|(column, value)| rows.values[start + column as usize] = value);
            }
        }
        let targets = self.number() as usize;
        rows.y.extend(self.floats(targets));
        rows.weights.extend(self.floats(1));
    }
}

/// Rows that came from other workers.
#[derive(Default)]
pub struct Swapped {
    messages: Vec<Vec<u8>>,
    /// Worker and first byte of the row at each place of the minibatches, if it is not held here.
    at: Vec<Option<(usize, usize)>>,
}

impl Swapped {
    /// Says whether the row at this place came from elsewhere.
    pub fn load(&self, place: usize, rows: &mut Rows) -> bool {
        let Some(&Some((worker, start))) = self.at.get(place) else { return false };
        Reader(&self.messages[worker][start..]).row(rows);
        true
    }
}

pub fn push(rows: &mut Rows, batch: &Batch, i: usize) {
    let weight = batch.weight(i);
    match batch.y {
        Target::Real { values, cols } => {
            rows.push(batch.x.row(i), values[i * cols..(i + 1) * cols].iter().copied(), weight)
        }
        Target::Class { codes, .. } => rows.push(batch.x.row(i), [f64::from(codes[i])], weight),
        Target::None => rows.push(batch.x.row(i), [], weight),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_arrive_as_they_were_sent() {
        let full = [1.5, -2.0, 0.0, f64::MIN_POSITIVE];
        let thin = [0.0, 0.0, -0.0, 0.0];
        let (columns, values) = ([1, 3], [7.0, 0.0]);
        let dense = vec![Row::Dense(&full), Row::Dense(&thin)];
        let sparse = vec![Row::Sparse { columns: &columns, values: &values }];
        for rows in [dense, sparse] {
            let (mut sent, mut received, mut bytes) = (Rows::new(4), Rows::new(4), Vec::new());
            for (i, row) in rows.iter().enumerate() {
                let mut one = Rows::new(4);
                let targets = vec![i as f64 + 0.5; i];
                one.push(*row, targets.clone(), 3.0);
                sent.push(*row, targets, 3.0);
                pack(&one, &mut bytes);
            }
            let (mut reader, mut skipper) = (Reader(&bytes), Reader(&bytes));
            for _ in &rows {
                reader.row(&mut received);
                skipper.skip(4);
                assert_eq!(reader.0.len(), skipper.0.len());
            }
            assert!(reader.0.is_empty());
            let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&received.values), bits(&sent.values));
            assert_eq!((received.starts, received.columns), (sent.starts, sent.columns));
            assert_eq!((received.y, received.weights), (sent.y, sent.weights));
        }
    }
}
