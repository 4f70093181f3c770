//! A Gram matrix that is never whole unless it fits: rows of it by matrix products over tiles of the data, as many kept
//! as the cache allows.
//!
//! The data are cut into tiles whose size depends on their shape alone, and every tile owns its part of the cache, so
//! that tiles run in parallel without meeting and the result is the same for any number of threads.

use super::kernel::Kernel;
use crate::{Ctx, OwnedX, Result, core::simd::add_scaled, core::simd::add_transposed_vector};
use rayon::prelude::*;

pub struct Gram<'a> {
    kernel: &'a Kernel,
    points: &'a OwnedX,
    /// Numbers of the points among the columns of x, which only precomputed values need.
    ids: &'a [usize],
    pub diagonal: Vec<f64>,
    /// How far an entry may be off, relative to the roots of the two entries of the diagonal.
    pub rounding: f64,
    /// How far the point that rows were moved by is from zero.
    pub centre: f64,
    /// Numbers of the points among the rows of the table, where they are some of them; for whoever watches.
    numbers: &'a [usize],
    tiles: Vec<Tile>,
    tile_rows: usize,
    /// Where a row is kept, or `NOWHERE`.
    slot: Vec<u32>,
    /// Which row a slot holds and when it was last used.
    holds: Vec<(u32, u64)>,
    capacity: usize,
    clock: u64,
    pub computed: usize,
}

struct Tile {
    first: usize,
    rows: usize,
    /// `capacity` x `rows`, as far as used.
    kept: Vec<f64>,
}

const NOWHERE: u32 = u32::MAX;

/// Kernel rows are computed at most this many at a time, which bounds what a tile needs beside its cache.
const TOGETHER: usize = 512;

impl<'a> Gram<'a> {
    /// A Gram matrix of `points` with a cache of `bytes`.
    pub fn new(kernel: &'a Kernel, points: &'a OwnedX, ids: &'a [usize], bytes: f64) -> Self {
        let x = points.x();
        let n = x.rows();
        let tile_rows = if n >= 32_768 { 1024 } else { 256 };
        let capacity = ((bytes / (8.0 * n.max(1) as f64)) as usize).min(n);
        let tiles = (0..n)
            .step_by(tile_rows)
            .map(|first| Tile { first, rows: tile_rows.min(n - first), kept: Vec::new() })
            .collect();
        Gram {
            kernel,
            points,
            ids,
            diagonal: kernel.diagonal_with(&x, ids),
            rounding: kernel.rounding(&x),
            centre: 0.0,
            numbers: &[],
            tiles,
            tile_rows,
            slot: vec![NOWHERE; n],
            holds: Vec::new(),
            capacity,
            clock: 0,
            computed: 0,
        }
    }

    /// Of rows that were moved by `centre`.
    pub fn about(self, centre: &[f64]) -> Self {
        Gram { centre: centre.iter().map(|c| c * c).sum::<f64>().sqrt(), ..self }
    }

    /// Of rows that have these numbers in the table.
    pub fn numbered(self, numbers: &'a [usize]) -> Self {
        Gram { numbers, ..self }
    }

    /// The number of a point among the rows of the table.
    pub fn number(&self, point: u32) -> usize {
        self.numbers.get(point as usize).copied().unwrap_or(point as usize)
    }

    pub fn rows(&self) -> usize {
        self.diagonal.len()
    }

    fn gather(&self, rows: &[usize]) -> (OwnedX, Vec<usize>) {
        let ids = if self.ids.is_empty() { Vec::new() } else { rows.iter().map(|&i| self.ids[i]).collect() };
        (OwnedX::take(&self.points.x(), rows.iter().copied()), ids)
    }

    /// `out[a, b] = K[rows[a], rows[b]]`.
    pub fn square(&self, ctx: &Ctx, rows: &[usize]) -> Vec<f64> {
        let m = rows.len();
        let (points, ids) = self.gather(rows);
        let mut out = vec![0.0; m * m];
        let band = 64;
        ctx.install(|| {
            out.par_chunks_mut(band * m).enumerate().for_each(|(k, out)| {
                let first = k * band;
                let mine = &rows[first..(first + band).min(m)];
                // Rows that are kept are copied, the others computed together.
                let fresh: Vec<usize> = (0..mine.len()).filter(|&a| self.slot[mine[a]] == NOWHERE).collect();
                if !fresh.is_empty() {
                    let left = OwnedX::take(&points.x(), fresh.iter().map(|&a| first + a));
                    let mut part = vec![0.0; fresh.len() * m];
                    self.kernel.block_with(&left.x(), &points.x(), &ids, &mut part);
                    for (row, &a) in part.chunks_exact(m).zip(&fresh) {
                        out[a * m..(a + 1) * m].copy_from_slice(row);
                    }
                }
                for (a, &row) in mine.iter().enumerate().filter(|(_, row)| self.slot[**row] != NOWHERE) {
                    let slot = self.slot[row] as usize;
                    for (to, &b) in out[a * m..(a + 1) * m].iter_mut().zip(rows) {
                        let tile = &self.tiles[b / self.tile_rows];
                        *to = tile.kept[slot * tile.rows + b - tile.first];
                    }
                }
            });
        });
        out
    }

    /// `f += sum_j step_j K[., row_j]`, each row kept if there is room: the oldest make way.
    pub fn add_rows(&mut self, ctx: &Ctx, steps: &[(usize, f64)], f: &mut [f64]) -> Result<()> {
        for steps in steps.chunks(TOGETHER) {
            ctx.check()?;
            self.add_some(ctx, steps, f);
        }
        Ok(())
    }

    fn add_some(&mut self, ctx: &Ctx, steps: &[(usize, f64)], f: &mut [f64]) {
        self.clock += 1;
        let (kept, fresh): (Vec<(usize, f64)>, Vec<(usize, f64)>) =
            steps.iter().partition(|(row, _)| self.slot[*row] != NOWHERE);
        let kept: Vec<(usize, f64)> = kept
            .into_iter()
            .map(|(row, step)| {
                let slot = self.slot[row] as usize;
                self.holds[slot].1 = self.clock;
                (slot, step)
            })
            .collect();
        self.computed += fresh.len();
        // Free slots first, then those unused for longest, but none of this round.
        let mut slots: Vec<usize> = (self.holds.len()..self.capacity).take(fresh.len()).collect();
        if slots.len() < fresh.len() {
            let mut old: Vec<(u64, usize)> =
                self.holds.iter().enumerate().filter(|(_, h)| h.1 < self.clock).map(|(s, h)| (h.1, s)).collect();
            old.sort_unstable();
            slots.extend(old.into_iter().map(|(_, s)| s).take(fresh.len() - slots.len()));
        }
        let (left, _) = self.gather(&fresh.iter().map(|(row, _)| *row).collect::<Vec<_>>());
        let weights: Vec<f64> = fresh.iter().map(|(_, step)| *step).collect();
        let (kernel, x, ids) = (self.kernel, self.points.x(), self.ids);
        let room = slots.iter().max().map_or(0, |slot| slot + 1);
        let tile_rows = self.tile_rows;
        ctx.install(|| {
            self.tiles.par_iter_mut().zip(f.par_chunks_mut(tile_rows)).for_each(|(tile, f)| {
                for &(slot, step) in &kept {
                    add_scaled(step, &tile.kept[slot * tile.rows..(slot + 1) * tile.rows], f);
                }
                if weights.is_empty() {
                    return;
                }
                let range = tile.first..tile.first + tile.rows;
                let mut part = vec![0.0; weights.len() * tile.rows];
                let ids = if ids.is_empty() { ids } else { &ids[range.clone()] };
                kernel.block_with(&left.x(), &x.slice(range), ids, &mut part);
                add_transposed_vector(&part, tile.rows, &weights, f);
                if tile.kept.len() < room * tile.rows {
                    tile.kept.resize(room * tile.rows, 0.0);
                }
                for (row, slot) in part.chunks_exact(tile.rows).zip(&slots) {
                    tile.kept[slot * tile.rows..(slot + 1) * tile.rows].copy_from_slice(row);
                }
            });
        });
        for (&(row, _), slot) in fresh.iter().zip(slots) {
            if slot < self.holds.len() {
                self.slot[self.holds[slot].0 as usize] = NOWHERE;
                self.holds[slot] = (row as u32, self.clock);
            } else {
                self.holds.push((row as u32, self.clock));
            }
            self.slot[row] = slot as u32;
        }
    }
}
