//! k-means: `min_c sum_i w_i min_k ||x_i - c_k||^2`.
//!
//! Lloyd's algorithm (1982): every row to its nearest centre, every centre to the mean of its rows, until nothing
//! moves. Both steps are one sum. The start is greedy k-means++ (Arthur and Vassilvitskii 2007): a few candidates drawn
//! with probability proportional to the squared distance, the best kept. An empty cluster takes over the row farthest
//! from its centre.
//!
//! Cost O(n k d) a pass at most: ||x - c||^2 = ||x||^2 - 2 x.c + ||c||^2 with rows and centres taken about the mean of
//! the data, so that an offset costs no digits, sixteen rows side by side with the two nearest centres kept in
//! registers. A row whose centre is surely still the nearest is not compared again (Hamerly 2010): each row keeps a
//! lower bound of its distance to every other centre, which shrinks by the largest move of a centre. Labels and inertia
//! are those of the plain method. Sparse rows go by products with all centres. Not a global optimum: several starts are
//! tried and the best is kept.

use super::watched;
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Halt, Info, Matrix, Model, Output, Passes, Result, Shape, Source, Task,
    X,
    core::{
        Batch, Reduce, Sweep, choice,
        ctx::Progress,
        data::Row,
        param::at_least,
        param::log,
        params, reduce,
        reduce::{leaf_rows, sweep},
        simd,
        stats::{ColumnMoments, Moments},
    },
};
use serde::{Deserialize, Serialize};

choice! {
    /// How the first centres are chosen.
    pub enum Init {
        /// Greedy k-means++.
        PlusPlus = "k-means++",
        /// Rows drawn at random.
        Random = "random",
    }
}

choice! {
    /// How many starts.
    pub enum Starts: usize where at_least(1.0) => {
        /// One for k-means++, which rarely misses; ten for random starts.
        Auto = "auto",
    }
}

impl Starts {
    /// Starts by number, or as many as `random` where the first centres are drawn at random.
    pub fn count(self, init: Init, random: usize) -> usize {
        match (self, init) {
            (Starts::Number(starts), _) => starts,
            (Starts::Auto, Init::PlusPlus) => 1,
            (Starts::Auto, Init::Random) => random,
        }
    }
}

params! {
    /// Groups rows around k centres. Pass an array as `init` to start from your own centres.
    pub struct KMeans {
        /// Number of clusters.
        n_clusters: usize = 8, at_least(1.0), log(2.0, 64.0);
        /// How the initial centres are chosen, unless they are given as an array.
        init: Init = Init::PlusPlus;
        /// Number of starts; the best result is kept.
        n_init: Starts = Starts::Auto;
        /// Maximum number of iterations of one start.
        max_iter: usize = 300, at_least(1.0);
        /// Stop when the centres move by less than this, squared and relative to the mean variance of the columns.
        tol: f64 = 1e-4, at_least(0.0);
    }
}

impl Estimator for KMeans {
    type Model = KMeansModel;

    const INFO: Info = Info {
        scale: true,
        random: true,
        ..Info::new("cluster", Task::Clustering, "min_c sum_i min_k ||x_i - c_k||^2", Passes::Many)
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, p, _) = shape.sizes();
        let (k, starts) = (self.n_clusters as f64, self.n_init.count(self.init, 10) as f64);
        // More rows settle later; of later passes most rows are spared by their bounds.
        let passes = (60.0 * (n / 2e4).powf(0.3)).min(self.max_iter as f64);
        1e-9 * (2e5 + starts * n * k * (p + passes * (3.3 + 0.5 * p)))
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<KMeansModel>> {
        let shape = data.shape();
        let k = self.n_clusters;
        if k > shape.rows {
            return Err(Error::Data(format!(
                "KMeans: n_clusters={k} is more than the {} rows (n_samples)",
                shape.rows
            )));
        }
        let moments = reduce(ctx, data, &ColumnMoments { cols: shape.cols })?;
        let problem = Problem { data, params: self, moments };
        let given = ctx.start("init");
        if let Some(given) = given
            && (given.rows, given.cols) != (k, shape.cols)
        {
            let found = format!("{} x {}", given.rows, given.cols);
            return Err(Error::shape("init", format!("{k} x {} centres", shape.cols), found));
        }
        let starts = if given.is_some() { 1 } else { self.n_init.count(self.init, 10) };
        let mut best: Option<Run> = None;
        for start in 0..starts {
            let centres = match given {
                Some(given) => given.clone(),
                None => problem.first_centres(ctx, start as u64)?,
            };
            let run = problem.lloyd(ctx, centres)?;
            if best.as_ref().is_none_or(|best| run.inertia < best.inertia) {
                best = Some(run);
            }
        }
        let best = best.expect("at least one start");
        ctx.record("chosen", || watched::centres(&best.centres, best.labels.iter().copied(), best.inertia));
        Ok(best.into_fit(problem.moments.mean))
    }
}

impl KMeans {
    /// Centres to start from, by themselves.
    pub(super) fn first_centres(&self, data: &dyn Source, ctx: &Ctx) -> Result<Matrix> {
        let moments = Moments::new(data.shape().cols);
        Problem { data, params: self, moments }.first_centres(ctx, 0)
    }
}

struct Problem<'a> {
    data: &'a dyn Source,
    params: &'a KMeans,
    moments: Moments,
}

struct Run {
    centres: Matrix,
    inertia: f64,
    labels: Vec<i64>,
    path: Vec<f64>,
    halt: Halt,
    notes: Vec<String>,
}

impl Run {
    fn into_fit(self, mean: Vec<f64>) -> Fit<KMeansModel> {
        let certificate = FitLog::monotone(&self.path);
        let log = FitLog::ended(self.path.len(), self.path, self.halt, certificate).with_notes(self.notes);
        let mut fit = Fit::new(KMeansModel { centres: self.centres, inertia: self.inertia, mean }, log);
        fit.rows.push(("labels_", self.labels.into()));
        fit
    }
}

impl Problem<'_> {
    fn lloyd(&self, ctx: &Ctx, mut centres: Matrix) -> Result<Run> {
        let held = self.data.held().len();
        let mut cells = vec![Cell::default(); held];
        let mean_variance = (0..centres.cols).map(|j| self.moments.variance(j)).sum::<f64>() / centres.cols as f64;
        let tolerance = self.params.tol * mean_variance;
        let (mut path, mut notes) = (Vec::new(), Vec::new());
        let mut halt = Halt::MaxIter;
        let mut moves = Moves::default();
        for pass in 0..self.params.max_iter {
            let assign = Assign::new(&centres, &self.moments.mean, moves);
            let mut sums = sweep(ctx, self.data, &assign, &mut cells)?;
            path.push(sums.inertia);
            ctx.record("assign", || watched::centres(&centres, cells.iter().map(|c| c.label.into()), sums.inertia));
            let empty = sums.weight.iter().filter(|&&weight| weight == 0.0).count();
            if empty > 0 {
                let farthest = sweep(ctx, self.data, &Farthest { centres: &centres, count: empty }, &mut cells)?;
                notes.push(format!(
                    "pass {}: {} of {empty} empty clusters took over far rows",
                    pass + 1,
                    farthest.len()
                ));
                sums.refill(&farthest);
            }
            let next = sums.centres(&centres);
            let shift: f64 = next.values.iter().zip(&centres.values).map(|(a, b)| (a - b) * (a - b)).sum();
            ctx.progress(Progress {
                what: "k-means",
                step: pass + 1,
                of: Some(self.params.max_iter),
                value: Some(sums.inertia),
            });
            moves = Moves::between(&centres, &next);
            centres = next;
            if sums.changed == 0 || shift <= tolerance {
                halt = Halt::Settled;
                break;
            }
        }
        // Labels and inertia of the centres that are returned.
        let last = sweep(ctx, self.data, &Assign::new(&centres, &self.moments.mean, moves), &mut cells)?;
        path.push(last.inertia);
        let labels = cells.into_iter().map(|cell| i64::from(cell.label)).collect();
        Ok(Run { centres, inertia: last.inertia, labels, path, halt, notes })
    }

    fn first_centres(&self, ctx: &Ctx, start: u64) -> Result<Matrix> {
        let shape = self.data.shape();
        let k = self.params.n_clusters;
        let mut rng = ctx.rng("k-means start", start);
        if self.params.init == Init::Random {
            // Distinct rows, the first k of a shuffle that is never written out in full.
            let mut chosen = std::collections::BTreeSet::new();
            while chosen.len() < k {
                chosen.insert(rng.below(shape.rows));
            }
            let mut chosen: Vec<usize> = chosen.into_iter().collect();
            rng.shuffle(&mut chosen);
            return Ok(rows_by_number(self.data, ctx, &chosen)?.0);
        }
        let candidates = 2 + (k as f64).ln() as usize;
        let mut centres = Matrix::zeros(0, shape.cols);
        // Squared distance of each row to the nearest centre so far.
        let mut nearest = vec![f64::INFINITY; self.data.held().len()];
        let leaf = leaf_rows(&shape);
        let mut latest: Option<Vec<f64>> = None;
        while centres.rows < k {
            let draws: Vec<f64> = (0..if centres.rows == 0 { 1 } else { candidates }).map(|_| rng.uniform()).collect();
            // First the leaf, by the sums of all leaves, then the row inside it.
            let masses = sweep(ctx, self.data, &Lower { centre: latest.as_deref(), leaf }, &mut nearest)?;
            let total: f64 = masses.iter().map(|(_, mass)| mass).sum();
            let last = masses.iter().copied().rfind(|(_, mass)| *mass > 0.0).unwrap_or((0, 0.0));
            let picks: Vec<(usize, f64)> = draws
                .iter()
                .map(|draw| {
                    let mut left = draw * total;
                    for &(first, mass) in &masses {
                        if left < mass {
                            return (first, left);
                        }
                        left -= mass;
                    }
                    last
                })
                .collect();
            let found = sweep(ctx, self.data, &Pick { leaf, picks: &picks }, &mut nearest)?.rows;
            let mut points = Matrix::zeros(picks.len(), shape.cols);
            for (at, row) in found.into_iter().enumerate() {
                match row {
                    Some(row) => points.row_mut(at).copy_from_slice(&row),
                    // Rounding let the draw fall behind the last row of its leaf.
                    None => {
                        points.row_mut(at).copy_from_slice(rows_by_number(self.data, ctx, &[picks[at].0])?.0.row(0))
                    }
                }
            }
            let best = if points.rows == 1 {
                0
            } else {
                let potentials = sweep(ctx, self.data, &Potential { points: &points }, &mut nearest)?;
                (0..points.rows).min_by(|&a, &b| potentials[a].total_cmp(&potentials[b])).unwrap_or(0)
            };
            centres.values.extend_from_slice(points.row(best));
            centres.rows += 1;
            latest = Some(points.row(best).to_vec());
        }
        Ok(centres)
    }
}

/// What a row keeps from pass to pass: its centre, and a lower bound of the distance to every other.
#[derive(Clone, Copy)]
struct Cell {
    label: u32,
    lower: f64,
}

impl Default for Cell {
    fn default() -> Self {
        Cell { label: u32::MAX, lower: f64::NEG_INFINITY }
    }
}

/// How far the centres went in the last step: the farthest, and the farthest of the others.
#[derive(Clone, Copy, Default)]
struct Moves {
    farthest: usize,
    most: f64,
    others: f64,
}

impl Moves {
    fn between(old: &Matrix, new: &Matrix) -> Self {
        let mut moves = Moves::default();
        for c in 0..old.rows {
            // A little more than it was, so that rounding cannot make a bound too tight.
            let moved = simd::distance2(old.row(c), new.row(c)).sqrt() * (1.0 + 1e-12);
            if moved > moves.most {
                moves = Moves { farthest: c, most: moved, others: moves.most };
            } else if moved > moves.others {
                moves.others = moved;
            }
        }
        moves
    }

    /// What the bound of a row with this label loses.
    fn loss(&self, label: usize) -> f64 {
        if label == self.farthest { self.others } else { self.most }
    }
}

/// Rows that go through the kernel side by side.
const LANES: usize = 16;
/// Rows whose distances are kept at hand between the two halves of a pass.
const SHEET: usize = 256;

/// Every row to its nearest centre, and the sums that move the centres.
struct Assign<'a> {
    centres: &'a Matrix,
    mean: &'a [f64],
    /// `-2 (c - m)`, one column for each centre, m the mean of the data: for products with sparse rows.
    shifted: Matrix,
    /// `||c - m||^2 + 2 m.(c - m)`, so that shifted and offset give `||x - c||^2 - ||x - m||^2` without large numbers.
    offset: Vec<f64>,
    /// `-2 (c - m)`, one row for each centre and one to make their number even: for the kernel.
    by_centre: Vec<f64>,
    /// `||c - m||^2`; infinity for the extra centre.
    norms: Vec<f64>,
    /// Half the distance of each centre to the nearest other: no row nearer than that has another centre.
    half: Vec<f64>,
    /// What rounding may do to a squared distance, relative to the norms that it was computed from.
    largest_norm: f64,
    moves: Moves,
}

#[derive(Serialize, Deserialize)]
struct Sums {
    inertia: f64,
    changed: usize,
    weight: Vec<f64>,
    /// Sum of the rows of each cluster.
    sum: Matrix,
    #[serde(skip)]
    products: Vec<f64>,
}

impl<'a> Assign<'a> {
    fn new(centres: &'a Matrix, mean: &'a [f64], moves: Moves) -> Self {
        let (k, cols) = (centres.rows, centres.cols);
        let shifted = Matrix::from_fn(cols, k, |j, c| -2.0 * (centres[(c, j)] - mean[j]));
        let offset = (0..k)
            .map(|c| (0..cols).map(|j| (centres[(c, j)] - mean[j]) * (centres[(c, j)] + mean[j])).sum())
            .collect();
        let even = k.next_multiple_of(2);
        let mut by_centre = vec![0.0; even * cols];
        let mut norms = vec![f64::INFINITY; even];
        for c in 0..k {
            for j in 0..cols {
                by_centre[c * cols + j] = -2.0 * (centres[(c, j)] - mean[j]);
            }
            norms[c] = simd::distance2(centres.row(c), mean);
        }
        let largest_norm = norms[..k].iter().copied().fold(0.0, f64::max);
        let mut half = vec![f64::INFINITY; k];
        for a in 0..k {
            for b in 0..a {
                let apart = 0.5 * simd::distance2(centres.row(a), centres.row(b)).sqrt();
                half[a] = half[a].min(apart);
                half[b] = half[b].min(apart);
            }
        }
        Assign { centres, mean, shifted, offset, by_centre, norms, half, largest_norm, moves }
    }

    /// Nearest centre and second smallest score of each row of a chunk, which holds `x - m` by column.
    #[inline(always)]
    fn two_nearest(&self, chunk: &[f64]) -> ([f64; LANES], [f64; LANES]) {
        let cols = self.mean.len();
        let (mut best, mut second, mut label) = ([f64::INFINITY; LANES], [f64::INFINITY; LANES], [0.0; LANES]);
        for (pair, centres) in self.by_centre.chunks_exact(2 * cols).enumerate() {
            let (left, right) = centres.split_at(cols);
            let (mut a, mut b) = ([self.norms[2 * pair]; LANES], [self.norms[2 * pair + 1]; LANES]);
            for ((x, &left), &right) in chunk.chunks_exact(LANES).zip(left).zip(right) {
                let x: &[f64; LANES] = x.try_into().expect("a chunk of rows");
                for lane in 0..LANES {
                    a[lane] = left.mul_add(x[lane], a[lane]);
                    b[lane] = right.mul_add(x[lane], b[lane]);
                }
            }
            let (first, next) = ((2 * pair) as f64, (2 * pair + 1) as f64);
            for lane in 0..LANES {
                let (smaller, larger) = if b[lane] < a[lane] { (b[lane], a[lane]) } else { (a[lane], b[lane]) };
                let winner = if b[lane] < a[lane] { next } else { first };
                let better = smaller < best[lane];
                let runner_up = if better { best[lane] } else { smaller };
                let rest = if larger < runner_up { larger } else { runner_up };
                second[lane] = if rest < second[lane] { rest } else { second[lane] };
                label[lane] = if better { winner } else { label[lane] };
                best[lane] = if better { smaller } else { best[lane] };
            }
        }
        (label, second)
    }

    /// Compares the rows `wanted` of a sheet with all centres.
    #[inline(always)]
    fn compare(&self, values: &[f64], wanted: &[u32], chunk: &mut [f64], mut found: impl FnMut(usize, u32, f64)) {
        let cols = self.mean.len();
        for rows in wanted.chunks(LANES) {
            for lane in 0..LANES {
                let row = rows[lane.min(rows.len() - 1)] as usize;
                let row = &values[row * cols..(row + 1) * cols];
                for j in 0..cols {
                    chunk[j * LANES + lane] = row[j] - self.mean[j];
                }
            }
            let mut norm = [0.0; LANES];
            for x in chunk.chunks_exact(LANES) {
                for lane in 0..LANES {
                    norm[lane] += x[lane] * x[lane];
                }
            }
            let (label, second) = self.two_nearest(chunk);
            for (lane, &row) in rows.iter().enumerate() {
                let rounding = 1e-13 * (norm[lane] + self.largest_norm);
                let lower = (second[lane] + norm[lane] - rounding).max(0.0).sqrt();
                found(row as usize, label[lane] as u32, lower);
            }
        }
    }

    /// Dense rows, a sheet at a time: who may have moved, where to, and the sums.
    fn add_dense(&self, stat: &mut Sums, batch: &Batch, values: &[f64], cells: &mut [Cell]) {
        let cols = self.mean.len();
        stat.products.resize(cols * LANES, 0.0);
        simd::vectorised(
            #[inline(always)]
            || {
                for (sheet, cells) in cells.chunks_mut(SHEET).enumerate() {
                    let first = sheet * SHEET;
                    let values = &values[first * cols..(first + cells.len()) * cols];
                    let mut own = [0.0; SHEET];
                    let (mut open, mut count) = ([0u32; SHEET], 0);
                    for (i, (row, cell)) in values.chunks_exact(cols).zip(cells.iter_mut()).enumerate() {
                        let label = cell.label as usize;
                        if label < self.centres.rows {
                            own[i] = squared(row, self.centres.row(label));
                            cell.lower -= self.moves.loss(label);
                            let bound = if cell.lower > self.half[label] { cell.lower } else { self.half[label] };
                            if own[i].sqrt() * (1.0 + 1e-9) < bound {
                                continue;
                            }
                        }
                        open[count] = i as u32;
                        count += 1;
                    }
                    let Sums { products, changed, inertia, weight, sum, .. } = &mut *stat;
                    self.compare(values, &open[..count], products, |i, label, lower| {
                        if cells[i].label != label {
                            *changed += 1;
                            own[i] = squared(&values[i * cols..(i + 1) * cols], self.centres.row(label as usize));
                        }
                        cells[i] = Cell { label, lower };
                    });
                    for (i, (row, cell)) in values.chunks_exact(cols).zip(cells.iter()).enumerate() {
                        let (c, w) = (cell.label as usize, batch.weight(first + i));
                        *inertia += w * own[i];
                        weight[c] += w;
                        for (sum, x) in sum.row_mut(c).iter_mut().zip(row) {
                            *sum += w * x;
                        }
                    }
                }
            },
        );
    }
}

/// `||a - b||^2`, to be inlined where vectors are wide.
#[inline(always)]
fn squared(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    let mut sums = [0.0; 4];
    let whole = n - n % 4;
    for start in (0..whole).step_by(4) {
        for lane in 0..4 {
            let d = a[start + lane] - b[start + lane];
            sums[lane] += d * d;
        }
    }
    for j in whole..n {
        sums[j - whole] += (a[j] - b[j]) * (a[j] - b[j]);
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

/// The nearest of some centres, the first of equals.
pub(super) fn assign_nearest(row: &Row, centres: &Matrix) -> usize {
    let mut best = (0, f64::INFINITY);
    for c in 0..centres.rows {
        let distance = row.distance2(centres.row(c));
        if distance < best.1 {
            best = (c, distance);
        }
    }
    best.0
}

impl Sums {
    /// Gives each empty cluster one of the farthest rows.
    fn refill(&mut self, farthest: &[Far]) {
        let empty: Vec<usize> = (0..self.weight.len()).filter(|&c| self.weight[c] == 0.0).collect();
        for (&cluster, far) in empty.iter().zip(farthest) {
            self.weight[far.cluster] -= far.weight;
            self.weight[cluster] += far.weight;
            simd::add_scaled(-far.weight, &far.values, self.sum.row_mut(far.cluster));
            simd::add_scaled(far.weight, &far.values, self.sum.row_mut(cluster));
        }
    }

    fn centres(&self, old: &Matrix) -> Matrix {
        Matrix::from_fn(old.rows, old.cols, |c, j| match self.weight[c] > 0.0 {
            true => self.sum[(c, j)] / self.weight[c],
            false => old[(c, j)],
        })
    }
}

impl Sweep for Assign<'_> {
    type Stat = Sums;
    type Cell = Cell;

    fn zero(&self) -> Sums {
        let (k, cols) = (self.centres.rows, self.centres.cols);
        Sums { inertia: 0.0, changed: 0, weight: vec![0.0; k], sum: Matrix::zeros(k, cols), products: Vec::new() }
    }

    fn add(&self, stat: &mut Sums, batch: &Batch, cells: &mut [Cell]) -> Result<()> {
        if let X::Dense(x) = batch.x {
            self.add_dense(stat, batch, x.values, cells);
            return Ok(());
        }
        let k = self.centres.rows;
        // Products of a sheet of rows with all centres stay in the cache until the nearest is found.
        let sheet = (16384 / k).clamp(16, 256);
        for first in (0..batch.rows()).step_by(sheet) {
            let part = batch.slice(first..(first + sheet).min(batch.rows()));
            stat.products.resize(part.rows() * k, 0.0);
            part.x.times_matrix(&self.shifted.values, k, &mut stat.products);
            let cells = &mut cells[first..first + part.rows()];
            simd::vectorised(
                #[inline(always)]
                || {
                    for (i, products) in stat.products.chunks_exact(k).enumerate() {
                        let nearest = nearest(products, &self.offset) as u32;
                        stat.changed += usize::from(cells[i].label != nearest);
                        cells[i].label = nearest;
                    }
                },
            );
            for i in 0..part.rows() {
                let (c, weight, row) = (cells[i].label as usize, part.weight(i), part.x.row(i));
                stat.inertia += weight * row.distance2(self.centres.row(c));
                stat.weight[c] += weight;
                row.add_to(weight, stat.sum.row_mut(c));
            }
        }
        Ok(())
    }

    fn close(&self, stat: &mut Sums) {
        stat.products = Vec::new();
    }

    fn merge(&self, left: &mut Sums, right: Sums) {
        left.inertia += right.inertia;
        left.changed += right.changed;
        simd::add_scaled(1.0, &right.weight, &mut left.weight);
        simd::add_scaled(1.0, &right.sum.values, &mut left.sum.values);
    }
}

/// The first k with the smallest `products[k] + offset[k]`: the smallest value by eight lanes, then its place.
#[inline(always)]
fn nearest(products: &[f64], offset: &[f64]) -> usize {
    let mut least = [f64::INFINITY; 8];
    let (p, o) = (products.chunks_exact(8), offset.chunks_exact(8));
    let mut smallest = f64::INFINITY;
    for (p, o) in p.remainder().iter().zip(o.remainder()) {
        smallest = if p + o < smallest { p + o } else { smallest };
    }
    for (p, o) in p.zip(o) {
        for lane in 0..8 {
            let score = p[lane] + o[lane];
            least[lane] = if score < least[lane] { score } else { least[lane] };
        }
    }
    for value in least {
        smallest = if value < smallest { value } else { smallest };
    }
    products.iter().zip(offset).position(|(p, o)| p + o == smallest).unwrap_or(0)
}

/// A row far from its centre.
#[derive(Clone, Serialize, Deserialize)]
struct Far {
    distance: f64,
    row: usize,
    cluster: usize,
    weight: f64,
    values: Vec<f64>,
}

/// The `count` rows farthest from their centres, the first of equals first.
struct Farthest<'a> {
    centres: &'a Matrix,
    count: usize,
}

impl Farthest<'_> {
    fn keep(&self, far: &mut Vec<Far>) {
        far.sort_by(|a, b| b.distance.total_cmp(&a.distance).then(a.row.cmp(&b.row)));
        far.truncate(self.count);
    }
}

impl Sweep for Farthest<'_> {
    type Stat = Vec<Far>;
    type Cell = Cell;

    fn zero(&self) -> Vec<Far> {
        Vec::new()
    }

    fn add(&self, stat: &mut Vec<Far>, batch: &Batch, cells: &mut [Cell]) -> Result<()> {
        for i in 0..batch.rows() {
            let (row, cluster, weight) = (batch.x.row(i), cells[i].label as usize, batch.weight(i));
            let distance = row.distance2(self.centres.row(cluster));
            let near = stat.len() == self.count && stat.last().is_some_and(|last| distance <= last.distance);
            if distance == 0.0 || weight == 0.0 || near {
                continue;
            }
            let mut values = vec![0.0; self.centres.cols];
            row.add_to(1.0, &mut values);
            stat.push(Far { distance, row: batch.first + i, cluster, weight, values });
            self.keep(stat);
        }
        Ok(())
    }

    fn merge(&self, left: &mut Vec<Far>, right: Vec<Far>) {
        left.extend(right);
        self.keep(left);
    }
}

/// Lowers the distance of every row to the nearest centre by one more centre, and gives the mass w d^2 of each leaf,
/// for drawing a row in proportion to it. Before the first centre, w alone.
struct Lower<'a> {
    centre: Option<&'a [f64]>,
    leaf: usize,
}

fn mass(weight: f64, nearest: f64) -> f64 {
    if nearest.is_infinite() { weight } else { weight * nearest }
}

impl Sweep for Lower<'_> {
    /// First row and mass of each leaf, in order.
    type Stat = Vec<(usize, f64)>;
    type Cell = f64;

    fn zero(&self) -> Self::Stat {
        Vec::new()
    }

    fn add(&self, stat: &mut Self::Stat, batch: &Batch, nearest: &mut [f64]) -> Result<()> {
        if let Some(centre) = self.centre {
            match batch.x {
                X::Dense(x) => simd::vectorised(
                    #[inline(always)]
                    || {
                        for (row, nearest) in x.values.chunks_exact(x.cols).zip(nearest.iter_mut()) {
                            *nearest = nearest.min(squared(row, centre));
                        }
                    },
                ),
                x => x.iter().zip(nearest.iter_mut()).for_each(|(row, d)| *d = d.min(row.distance2(centre))),
            }
        }
        let total: f64 = nearest.iter().enumerate().map(|(i, d)| mass(batch.weight(i), *d)).sum();
        match stat.last_mut() {
            Some(leaf) => leaf.1 += total,
            None => stat.push((batch.first / self.leaf * self.leaf, total)),
        }
        Ok(())
    }

    fn merge(&self, left: &mut Self::Stat, right: Self::Stat) {
        left.extend(right);
    }
}

/// The rows where the running mass of their leaf passes what was drawn.
struct Pick<'a> {
    leaf: usize,
    /// First row of the leaf, and the mass inside it.
    picks: &'a [(usize, f64)],
}

/// The rows that were picked, and the mass of the leaf under way.
#[derive(Serialize, Deserialize)]
struct Picked {
    rows: Vec<Option<Vec<f64>>>,
    mass: f64,
}

impl Sweep for Pick<'_> {
    type Stat = Picked;
    type Cell = f64;

    fn zero(&self) -> Picked {
        Picked { rows: vec![None; self.picks.len()], mass: 0.0 }
    }

    fn add(&self, stat: &mut Picked, batch: &Batch, nearest: &mut [f64]) -> Result<()> {
        let leaf = batch.first / self.leaf * self.leaf;
        if self.picks.iter().all(|pick| pick.0 != leaf) {
            return Ok(());
        }
        for (i, d) in nearest.iter().enumerate() {
            stat.mass += mass(batch.weight(i), *d);
            for (pick, row) in self.picks.iter().zip(stat.rows.iter_mut()) {
                if pick.0 == leaf && row.is_none() && stat.mass > pick.1 {
                    let mut values = vec![0.0; batch.x.cols()];
                    batch.x.row(i).add_to(1.0, &mut values);
                    *row = Some(values);
                }
            }
        }
        Ok(())
    }

    fn merge(&self, left: &mut Picked, right: Picked) {
        for (left, right) in left.rows.iter_mut().zip(right.rows) {
            *left = left.take().or(right);
        }
    }
}

/// What the sum of squared distances would be with each of some points as the next centre.
struct Potential<'a> {
    points: &'a Matrix,
}

impl Sweep for Potential<'_> {
    type Stat = Vec<f64>;
    type Cell = f64;

    fn zero(&self) -> Vec<f64> {
        vec![0.0; self.points.rows]
    }

    fn add(&self, stat: &mut Vec<f64>, batch: &Batch, nearest: &mut [f64]) -> Result<()> {
        if let X::Dense(x) = batch.x {
            simd::vectorised(
                #[inline(always)]
                || {
                    for (i, row) in x.values.chunks_exact(x.cols).enumerate() {
                        let (weight, nearest) = (batch.weight(i), nearest[i]);
                        for (sum, point) in stat.iter_mut().zip(self.points.values.chunks_exact(x.cols)) {
                            *sum += weight * squared(row, point).min(nearest);
                        }
                    }
                },
            );
            return Ok(());
        }
        for (i, row) in batch.x.iter().enumerate() {
            for (point, sum) in stat.iter_mut().enumerate() {
                *sum += batch.weight(i) * row.distance2(self.points.row(point)).min(nearest[i]);
            }
        }
        Ok(())
    }

    fn merge(&self, left: &mut Vec<f64>, right: Vec<f64>) {
        simd::add_scaled(1.0, &right, left);
    }
}

/// Copies of some rows: (place among the wanted, weight, values).
struct Rows<'a> {
    wanted: &'a [usize],
}

impl Reduce for Rows<'_> {
    type Stat = Vec<(usize, f64, Vec<f64>)>;

    fn zero(&self) -> Self::Stat {
        Vec::new()
    }

    fn add(&self, stat: &mut Self::Stat, batch: &Batch) -> Result<()> {
        let here = batch.first..batch.first + batch.rows();
        for (at, row) in self.wanted.iter().enumerate().filter(|(_, row)| here.contains(row)) {
            let mut values = vec![0.0; batch.x.cols()];
            batch.x.row(row - batch.first).add_to(1.0, &mut values);
            stat.push((at, batch.weight(row - batch.first), values));
        }
        Ok(())
    }

    fn merge(&self, left: &mut Self::Stat, right: Self::Stat) {
        left.extend(right);
    }
}

/// Copies of rows by number, wherever they are held, and their weights.
pub(super) fn rows_by_number(data: &dyn Source, ctx: &Ctx, wanted: &[usize]) -> Result<(Matrix, Vec<f64>)> {
    let (mut out, mut weights) = (Matrix::zeros(wanted.len(), data.shape().cols), vec![0.0; wanted.len()]);
    for (at, weight, row) in reduce(ctx, data, &Rows { wanted })? {
        out.row_mut(at).copy_from_slice(&row);
        weights[at] = weight;
    }
    Ok((out, weights))
}

/// Every row of this worker to its nearest centre, and the inertia of all.
pub(super) fn label_all(data: &dyn Source, ctx: &Ctx, centres: &Matrix, mean: &[f64]) -> Result<(Vec<i64>, f64)> {
    let mut cells = vec![Cell::default(); data.held().len()];
    let sums = sweep(ctx, data, &Assign::new(centres, mean, Moves::default()), &mut cells)?;
    Ok((cells.into_iter().map(|cell| i64::from(cell.label)).collect(), sums.inertia))
}

/// Centres, and how tight the rows of the fit were around them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KMeansModel {
    pub centres: Matrix,
    pub inertia: f64,
    /// Mean of the fitted rows, about which distances are computed.
    pub mean: Vec<f64>,
}

impl Model for KMeansModel {
    fn cols(&self) -> usize {
        self.centres.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Cluster, 1), (Output::Transform, self.centres.rows)]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        match output {
            Output::Transform => {
                for (row, out) in x.iter().zip(out.chunks_exact_mut(self.centres.rows)) {
                    for (c, out) in out.iter_mut().enumerate() {
                        *out = row.distance2(self.centres.row(c)).sqrt();
                    }
                }
            }
            // The very sums of the last pass of the fit, so that predicting the fitted rows gives their labels.
            _ => {
                let assign = Assign::new(&self.centres, &self.mean, Moves::default());
                if let X::Dense(x) = x {
                    let mut chunk = vec![0.0; x.cols * LANES];
                    let wanted: Vec<u32> = (0..x.rows as u32).collect();
                    simd::vectorised(
                        #[inline(always)]
                        || {
                            assign.compare(x.values, &wanted, &mut chunk, |i, label, _| out[i] = f64::from(label));
                        },
                    );
                    return Ok(());
                }
                let mut products = vec![0.0; x.rows() * self.centres.rows];
                x.times_matrix(&assign.shifted.values, self.centres.rows, &mut products);
                for (out, products) in out.iter_mut().zip(products.chunks_exact(self.centres.rows)) {
                    *out = nearest(products, &assign.offset) as f64;
                }
            }
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![("cluster_centers_", (&self.centres).into()), ("inertia_", self.inertia.into())]
    }

    fn check(&self) -> Result<()> {
        if self.centres.is_consistent() && self.centres.rows > 0 && self.mean.len() == self.centres.cols {
            return Ok(());
        }
        Err(Error::shape("stored centres", format!("{} x {}", self.centres.rows, self.centres.cols), self.mean.len()))
    }
}
