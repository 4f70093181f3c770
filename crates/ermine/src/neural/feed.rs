//! Rows of minibatches, for whoever computes with them.
//!
//! An epoch is a shuffle of all rows, which does not know who holds what: of the rows that a worker computes with, it holds one in N. So
//! workers swap rows before they compute, those of several minibatches at a time, since a meeting costs more than a few rows.

use super::network::Rows;
use crate::{
    Error, Result, Source,
    core::{Batch, Target, ctx::Exchange, source::Buffers},
};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Numbers that are swapped at a time by all workers together, about.
const SWAPPED: usize = 1 << 20;

/// Rows by number, as far as they are held here.
pub struct Feed<'a> {
    pub source: &'a dyn Source,
    memory: Option<Batch<'a>>,
    held: Range<usize>,
}

impl<'a> Feed<'a> {
    pub fn new(source: &'a dyn Source) -> Self {
        Feed { source, memory: source.memory(), held: source.held() }
    }

    pub fn load(&self, row: usize, rows: &mut Rows, buffers: &mut Buffers) -> Result<()> {
        match &self.memory {
            Some(batch) => push(rows, batch, row - self.held.start),
            None => push(rows, &self.source.read(row..row + 1, buffers)?, 0),
        }
        Ok(())
    }

    /// How many minibatches are swapped at a time.
    pub fn together(&self, minibatch: usize) -> usize {
        (SWAPPED / (minibatch * self.source.shape().cols).max(1)).max(1)
    }

    /// Gives the rows of some minibatches to the workers that compute with them: `of(rank, length)` are the places of a rank in a
    /// minibatch of that length.
    pub fn swap<'m>(
        &self,
        exchange: &dyn Exchange,
        minibatches: impl Iterator<Item = &'m [usize]>,
        of: impl Fn(usize, usize) -> Range<usize>,
    ) -> Result<Swapped> {
        let empty = || Share { places: Vec::new(), rows: Rows::new(self.source.shape().cols) };
        let mut shares: Vec<Share> = (0..exchange.size()).map(|_| empty()).collect();
        let mut buffers = Buffers::default();
        let mut first = 0;
        let collect = || -> Result<()> {
            for minibatch in minibatches {
                for rank in (0..exchange.size()).filter(|&rank| rank != exchange.rank()) {
                    for place in of(rank, minibatch.len()).filter(|&place| self.held.contains(&minibatch[place])) {
                        self.load(minibatch[place], &mut shares[rank].rows, &mut buffers)?;
                        shares[rank].places.push(first + place);
                    }
                }
                first += minibatch.len();
            }
            Ok(())
        };
        // A worker that cannot read says so: the others wait for it.
        let outcome = collect();
        let message = |share: &Share| {
            let message: Result<&Share, String> = outcome.as_ref().map(|()| share).map_err(Error::to_string);
            postcard::to_stdvec(&message)
        };
        let messages: Result<Vec<Vec<u8>>, _> = shares.iter().map(message).collect();
        let received = exchange.all_to_all(messages.map_err(|error| Error::Data(format!("rows: {error}")))?)?;
        outcome?;
        let mut swapped = Swapped { shares: Vec::new(), at: vec![None; first] };
        for (rank, bytes) in received.iter().enumerate() {
            let share: Result<Share, String> =
                postcard::from_bytes(bytes).unwrap_or_else(|error| Err(error.to_string()));
            let share = share.map_err(|message| Error::Worker { rank, message })?;
            for (i, &place) in share.places.iter().enumerate() {
                swapped.at[place] = Some((rank, i));
            }
            swapped.shares.push(share.rows);
        }
        Ok(swapped)
    }
}

#[derive(Serialize, Deserialize)]
struct Share {
    places: Vec<usize>,
    rows: Rows,
}

/// Rows that came from other workers.
#[derive(Default)]
pub struct Swapped {
    shares: Vec<Rows>,
    /// Worker and number of the row at each place of the minibatches, if it is not held here.
    at: Vec<Option<(usize, usize)>>,
}

impl Swapped {
    /// Says whether the row at this place came from elsewhere.
    pub fn load(&self, place: usize, rows: &mut Rows) -> bool {
        let Some(&Some((worker, i))) = self.at.get(place) else { return false };
        let share = &self.shares[worker];
        let width = share.y.len() / share.len();
        rows.push(share.x().row(i), share.y[i * width..(i + 1) * width].iter().copied(), share.weights[i]);
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
