//! The linear programme of quantile regression with an L1 penalty: `min_beta sum_k max(high_k r_k, low_k r_k)`, `r =
//! c - Z beta`, where a row of weight s has the bounds `(q - 1) s` and `q s`, and a penalty `lambda |beta_j|` is one
//! more row: c = 0, z = e_j, bounds -lambda and lambda. Columns are centred and brought to unit deviation, the target
//! to unit deviation, so that units do not matter.
//!
//! Its dual is `max c.u` over `low <= u <= high`, `Z'u = 0`, of which u = 0 is inside. Method: steps of Newton's for
//! both at once towards `(high - u) above = (u - low) below = mu` with `r = above - below` (Frisch and Newton:
//! Portnoy and Koenker 1997), with Mehrotra's (1992) choice of mu and correction. A step is four passes over the
//! rows, of which one sums a matrix of pairs of columns: any source, O(n p^2) a step, some ten to twenty steps. Seven
//! numbers are kept for each row.
//!
//! The optimum is a corner, where some rows are met exactly. As soon as the gap is small the corner is guessed: of
//! the rows that are least held by their bounds the first independent ones are solved for beta, and u is moved onto
//! the equations by the rows that beta meets. If that proves it optimal up to rounding, the corner is the solution,
//! with exact zeros among its coefficients; if not, the steps go on.
//!
//! Certificate: for u within its bounds no objective is below `sum_k u_k r_k`, but for what rounding leaves of Z'u
//! times the coefficients of the optimum. It is counted in as if those were a hundred times as large as any that was
//! found.

use crate::{
    Bound, Ctx, Error, Halt, Matrix, Result, Source,
    core::{
        Batch, Sweep,
        ctx::Progress,
        linalg::{self, Cholesky},
        simd::{add_scaled, dot},
        sweep,
    },
    engine::newton::centred,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Share of the objective to which a fit has to be proven.
const TOLERANCE: f64 = 1e-9;
/// From this gap on, relative to the objective, corners are guessed.
const GUESS: f64 = 1e-3;
/// A gap of this share of the objective is rounding.
const ROUNDING: f64 = 1e-12;
/// How many times as large as any of those found the coefficients of the optimum may be for the proof to hold.
const LARGER: f64 = 100.0;
const STEPS: usize = 100;
/// How much of the way to a bound a step may go.
const SHORT: f64 = 0.9995;

/// The problem in scaled units; the last entry of beta is the intercept.
pub struct Programme<'a> {
    pub data: &'a dyn Source,
    pub ctx: &'a Ctx,
    pub quantile: f64,
    /// Subtracted from each column.
    pub centre: Vec<f64>,
    /// One over its deviation; 0 for a column that stays out.
    pub inverse: Vec<f64>,
    /// Subtracted from the target, and one over its deviation.
    pub level: f64,
    pub inverse_spread: f64,
    /// What weights are multiplied by, so that they average one.
    pub unit: f64,
    pub intercept: bool,
    /// Of each column; 0 for none.
    pub penalty: Vec<f64>,
}

/// A solution with its proof, in the units of the programme.
pub struct Solution {
    pub beta: Vec<f64>,
    /// The rows that a corner meets, by their numbers, those of penalties behind those of the data; none elsewhere.
    pub met: Vec<(usize, Vec<f64>)>,
    pub objective: Vec<f64>,
    pub bound: Bound,
    pub steps: usize,
    pub halt: Halt,
}

/// What is kept of a row from pass to pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cell {
    u: f64,
    /// r = above - below, both positive: what holds u at its upper and at its lower bound.
    above: f64,
    below: f64,
    r: f64,
    /// The direction; `above` and `below` follow from u.
    du: f64,
    /// What the step aims at: (high - u) above and (u - low) below.
    aims: [f64; 2],
}

/// A row of the programme in one pass.
struct Line<'a> {
    z: &'a [f64],
    c: f64,
    low: f64,
    high: f64,
    number: usize,
}

impl Line<'_> {
    fn loss(&self, r: f64) -> f64 {
        (self.high * r).max(self.low * r)
    }
}

impl Cell {
    fn rooms(&self, line: &Line) -> (f64, f64) {
        (line.high - self.u, self.u - line.low)
    }

    /// How far u moves for a residual of one: little at a bound.
    fn give(&self, line: &Line) -> f64 {
        let (over, under) = self.rooms(line);
        1.0 / (self.above / over + self.below / under)
    }

    /// By how much `above` and `below` move with u.
    fn follow(&self, line: &Line) -> (f64, f64) {
        let (over, under) = self.rooms(line);
        let above = (self.aims[0] + self.above * self.du) / over - self.above;
        let below = (self.aims[1] - self.below * self.du) / under - self.below;
        (above, below)
    }

    /// What is solved for in Newton's equation.
    fn pull(&self, line: &Line) -> f64 {
        let (over, under) = self.rooms(line);
        self.r + self.aims[1] / under - self.aims[0] / over
    }

    /// Turns towards the aims, beta going so far along the row.
    fn turn(&mut self, line: &Line, along: f64) {
        self.du = self.give(line) * (self.pull(line) - along);
    }

    /// How far the steps of u and of the residuals may go, and what products of both would be left.
    fn reach(&self, line: &Line, reach: &mut Reach) {
        let (over, under) = self.rooms(line);
        let (above, below) = self.follow(line);
        let room = |value: f64, change: f64| if change < 0.0 { -value / change } else { f64::INFINITY };
        reach.dual = reach.dual.min(room(over, -self.du)).min(room(under, self.du));
        reach.primal = reach.primal.min(room(self.above, above)).min(room(self.below, below));
        reach.now += self.above * over + self.below * under;
        reach.with_primal += above * over + below * under;
        reach.with_dual += self.du * (self.below - self.above);
        reach.with_both += self.du * (below - above);
    }

    /// Mehrotra's correction for the step that aimed at zero, towards `mu`.
    fn correct(&mut self, line: &Line, mu: f64) {
        let (above, below) = self.follow(line);
        self.aims = [mu + self.du * above, mu - self.du * below];
    }

    fn go(&mut self, line: &Line, reach: &Reach) {
        let (above, below) = self.follow(line);
        self.u += reach.dual * self.du;
        self.above += reach.primal * above;
        self.below += reach.primal * below;
        self.aims = [0.0; 2];
        self.du = 0.0;
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Reach {
    dual: f64,
    primal: f64,
    /// Sum of (high - u) above + (u - low) below, and how it changes with either step and with both.
    now: f64,
    with_primal: f64,
    with_dual: f64,
    with_both: f64,
}

impl Reach {
    fn new() -> Reach {
        let far = f64::INFINITY;
        Reach { dual: far, primal: far, now: 0.0, with_primal: 0.0, with_dual: 0.0, with_both: 0.0 }
    }

    fn merge(&mut self, right: Reach) {
        self.dual = self.dual.min(right.dual);
        self.primal = self.primal.min(right.primal);
        self.now += right.now;
        self.with_primal += right.with_primal;
        self.with_dual += right.with_dual;
        self.with_both += right.with_both;
    }

    /// Not quite to the bounds, and no further than Newton's equation reaches.
    fn shortened(mut self) -> Reach {
        self.dual = (SHORT * self.dual).min(1.0);
        self.primal = (SHORT * self.primal).min(1.0);
        self
    }

    fn left(&self) -> f64 {
        let straight = self.primal * self.with_primal + self.dual * self.with_dual;
        (self.now + straight + self.primal * self.dual * self.with_both).max(0.0)
    }
}

/// Sums at one point.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Sums {
    objective: f64,
    /// Sum of loss - u r: the gap but for rounding.
    gap: f64,
    /// Of the terms that cancel in residuals.
    magnitude: f64,
    rows: usize,
    /// Z'u
    balance: Vec<f64>,
    /// Z' give r
    right: Vec<f64>,
    /// Lower triangle of Z' give Z, padded.
    gram: Vec<f64>,
    #[serde(skip)]
    packed: Vec<f64>,
}

impl Sums {
    fn new(width: usize) -> Sums {
        let stride = linalg::padded(width);
        Sums { balance: vec![0.0; width], right: vec![0.0; width], gram: vec![0.0; stride * stride], ..Sums::default() }
    }

    fn add(&mut self, line: &Line, r: f64, u: f64) {
        self.rows += 1;
        self.objective += line.loss(r);
        self.gap += line.loss(r) - u * r;
        self.magnitude += line.high.max(-line.low) * line.c.abs();
        add_scaled(u, line.z, &mut self.balance);
    }

    fn curve(&mut self, line: &Line, give: f64) {
        let stride = linalg::padded(line.z.len());
        let (first, root) = (self.packed.len(), give.sqrt());
        self.packed.resize(first + stride, 0.0);
        self.packed[first..].iter_mut().zip(line.z).for_each(|(out, z)| *out = root * z);
        if self.packed.len() >= linalg::sheet_rows(stride) * stride {
            self.close();
        }
    }

    fn close(&mut self) {
        linalg::add_gram(&self.packed, linalg::padded(self.balance.len()), &mut self.gram);
        self.packed.clear();
    }

    fn merge(&mut self, right: Sums) {
        self.objective += right.objective;
        self.gap += right.gap;
        self.magnitude += right.magnitude;
        self.rows += right.rows;
        add_scaled(1.0, &right.balance, &mut self.balance);
        add_scaled(1.0, &right.right, &mut self.right);
        add_scaled(1.0, &right.gram, &mut self.gram);
    }

    /// The gap, with what the equations lack counted for coefficients far larger than those at hand.
    fn proof(&self, beta: &[f64]) -> f64 {
        let largest = beta.iter().fold(1.0f64, |largest, beta| largest.max(beta.abs()));
        self.gap + LARGER * largest * self.balance.iter().map(|left| left.abs()).sum::<f64>()
    }
}

/// A pass: `add` for each row of the data that has weight, and `close` behind each run of them.
struct Pass<'a, T, A, M> {
    programme: &'a Programme<'a>,
    zero: T,
    add: A,
    close: fn(&mut T),
    merge: M,
}

impl<T, A, M> Sweep for Pass<'_, T, A, M>
where
    T: Clone + Send + Sync + Serialize + DeserializeOwned,
    A: Fn(&mut T, &Line, &mut Cell) + Sync,
    M: Fn(&mut T, T) + Sync,
{
    type Stat = T;
    type Cell = Cell;

    fn zero(&self) -> T {
        self.zero.clone()
    }

    fn add(&self, stat: &mut T, batch: &Batch, cells: &mut [Cell]) -> Result<()> {
        let Programme { centre, inverse, quantile, .. } = self.programme;
        let p = centre.len();
        let mut z = vec![f64::from(u8::from(self.programme.intercept)); p + 1];
        for (i, cell) in cells.iter_mut().enumerate() {
            let weight = self.programme.unit * batch.weight(i);
            if weight == 0.0 {
                continue;
            }
            centred(&batch.x.row(i), centre, &mut z[..p]);
            z[..p].iter_mut().zip(inverse).for_each(|(z, inverse)| *z *= inverse);
            let c = (batch.y.real()[i] - self.programme.level) * self.programme.inverse_spread;
            let (low, high) = ((quantile - 1.0) * weight, quantile * weight);
            (self.add)(stat, &Line { z: &z, c, low, high, number: batch.first + i }, cell);
        }
        Ok(())
    }

    fn close(&self, stat: &mut T) {
        (self.close)(stat);
    }

    fn merge(&self, left: &mut T, right: T) {
        (self.merge)(left, right);
    }
}

/// Cells of the rows held here, and of the penalties, which everyone has.
struct Cells {
    rows: Vec<Cell>,
    penalties: Vec<Cell>,
}

/// A guess of the optimum.
struct Corner {
    beta: Vec<f64>,
    met: Vec<(usize, Vec<f64>)>,
    objective: f64,
    gap: f64,
}

impl Programme<'_> {
    fn width(&self) -> usize {
        self.centre.len() + 1
    }

    /// One pass over the rows and the penalties.
    fn pass<T, A, M>(&self, cells: &mut Cells, zero: T, close: fn(&mut T), add: A, merge: M) -> Result<T>
    where
        T: Clone + Send + Sync + Serialize + DeserializeOwned,
        A: Fn(&mut T, &Line, &mut Cell) + Sync,
        M: Fn(&mut T, T) + Sync,
    {
        let pass = Pass { programme: self, zero, add, close, merge };
        let mut stat = sweep(self.ctx, self.data, &pass, &mut cells.rows)?;
        let (mut z, first) = (vec![0.0; self.width()], self.data.shape().rows);
        for (j, cell) in cells.penalties.iter_mut().enumerate().filter(|(j, _)| self.penalty[*j] > 0.0) {
            z[j] = 1.0;
            let (low, high) = (-self.penalty[j], self.penalty[j]);
            (pass.add)(&mut stat, &Line { z: &z, c: 0.0, low, high, number: first + j }, cell);
            z[j] = 0.0;
        }
        close(&mut stat);
        Ok(stat)
    }

    fn sums(&self, cells: &mut Cells, add: impl Fn(&mut Sums, &Line, &mut Cell) + Sync) -> Result<Sums> {
        self.pass(cells, Sums::new(self.width()), Sums::close, add, Sums::merge)
    }

    fn vector(&self, cells: &mut Cells, add: impl Fn(&mut [f64], &Line, &mut Cell) + Sync) -> Result<Vec<f64>> {
        let merge = |left: &mut Vec<f64>, right: Vec<f64>| add_scaled(1.0, &right, left);
        self.pass(cells, vec![0.0; self.width()], |_| (), |sum, line, cell| add(sum, line, cell), merge)
    }

    fn reach(&self, cells: &mut Cells, turn: impl Fn(&Line, &mut Cell) + Sync) -> Result<Reach> {
        let add = |reach: &mut Reach, line: &Line, cell: &mut Cell| {
            turn(line, cell);
            cell.reach(line, reach);
        };
        Ok(self.pass(cells, Reach::new(), |_| (), add, Reach::merge)?.shortened())
    }

    /// Where the residuals are those of least squares, and u is zero.
    fn start(&self, cells: &mut Cells) -> Result<(Vec<f64>, Sums)> {
        let squares = self.sums(cells, |sums, line, _| {
            sums.add(line, line.c, 0.0);
            sums.curve(line, 1.0);
            add_scaled(line.c, line.z, &mut sums.right);
        })?;
        let beta = Equations::new(&squares.gram, self.width()).solve(&squares.right);
        // Sizes of residuals, in the place of the objective.
        let sizes = self.vector(cells, |sum, line, _| sum[0] += (line.c - dot(line.z, &beta)).abs())?;
        let apart = (sizes[0] / squares.rows as f64).max(1e-12);
        let here = self.sums(cells, |sums, line, cell| {
            cell.r = line.c - dot(line.z, &beta);
            (cell.above, cell.below) = (cell.r.max(0.0) + apart, (-cell.r).max(0.0) + apart);
            self.measure(sums, line, cell);
        })?;
        Ok((beta, here))
    }

    fn measure(&self, sums: &mut Sums, line: &Line, cell: &Cell) {
        sums.add(line, cell.r, cell.u);
        let give = cell.give(line);
        sums.curve(line, give);
        add_scaled(give * cell.r, line.z, &mut sums.right);
    }

    pub fn solve(&self) -> Result<Solution> {
        let blank = Cell::default();
        let mut cells = Cells { rows: vec![blank; self.data.held().len()], penalties: vec![blank; self.penalty.len()] };
        let (mut beta, mut here) = self.start(&mut cells)?;
        if !here.objective.is_finite() || !here.gram.iter().all(|sum| sum.is_finite()) {
            return Err(Error::Data("QuantileRegressor: the values overflow".into())
                .hint("bring the columns and the target to a common scale"));
        }
        let mut best =
            Corner { beta: beta.clone(), met: Vec::new(), objective: here.objective, gap: here.proof(&beta) };
        // No objective is below this.
        let mut floor = f64::NEG_INFINITY;
        let (mut path, mut halt, mut guessed) = (vec![here.objective], Halt::MaxIter, f64::INFINITY);
        while path.len() <= STEPS {
            let gap = here.proof(&beta);
            floor = floor.max(here.objective - gap);
            let least = (ROUNDING * best.objective).max(8.0 * f64::EPSILON * here.magnitude);
            if here.objective < best.objective - least {
                best = Corner { beta: beta.clone(), met: Vec::new(), objective: here.objective, gap };
            }
            let enough = |gap: f64| gap <= least;
            if gap <= GUESS * here.objective && gap <= 0.3 * guessed || enough(gap) {
                guessed = gap;
                let corner = self.corner(&mut cells)?;
                floor = floor.max(corner.objective - corner.gap);
                let done = enough(corner.gap);
                // Of equally good solutions a corner.
                if corner.objective <= best.objective + least {
                    best = corner;
                }
                if done || enough(gap) {
                    halt = Halt::Rounding;
                    break;
                }
            }
            let Some(next) = self.step(&mut cells, &mut beta, &here)? else {
                halt = Halt::Rounding;
                break;
            };
            here = next;
            path.push(here.objective);
            self.ctx.progress(Progress { what: "step", step: path.len() - 1, of: None, value: path.last().copied() });
        }
        path.push(best.objective);
        let bound = Bound::new(best.objective - floor, TOLERANCE, best.objective, here.magnitude);
        Ok(Solution { steps: path.len() - 1, beta: best.beta, met: best.met, objective: path, bound, halt })
    }

    /// One step of beta and of the cells; none where rounding allows none.
    fn step(&self, cells: &mut Cells, beta: &mut [f64], here: &Sums) -> Result<Option<Sums>> {
        let equations = Equations::new(&here.gram, self.width());
        let straight: Vec<f64> = here.right.iter().zip(&here.balance).map(|(right, left)| right + left).collect();
        let way = equations.solve(&straight);
        let reach = self.reach(cells, |line, cell| cell.turn(line, dot(line.z, &way)))?;
        let mu = reach.left().powi(3) / reach.now.powi(2) / (2 * here.rows) as f64;
        let mut right = self.vector(cells, |sum, line, cell| {
            cell.correct(line, mu);
            add_scaled(cell.give(line) * cell.pull(line), line.z, sum);
        })?;
        add_scaled(1.0, &here.balance, &mut right);
        let way = equations.solve(&right);
        let reach = self.reach(cells, |line, cell| cell.turn(line, dot(line.z, &way)))?;
        let sound = way.iter().all(|way| way.is_finite()) && reach.left().is_finite();
        if !sound || reach.primal.max(reach.dual) < 1e-8 {
            return Ok(None);
        }
        add_scaled(reach.primal, &way, beta);
        let there = self.sums(cells, |sums, line, cell| {
            cell.go(line, &reach);
            cell.r = line.c - dot(line.z, beta);
            self.measure(sums, line, cell);
        })?;
        let sound = there.objective.is_finite() && there.gram.iter().all(|sum| sum.is_finite());
        Ok(sound.then_some(there))
    }

    /// The corner where the rows that are least held by their bounds are met exactly, with its proof.
    fn corner(&self, cells: &mut Cells) -> Result<Corner> {
        let width = self.width();
        let most = 4 * width + 16;
        let better = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        let cut = |found: &mut Vec<(f64, usize)>| {
            if found.len() > most {
                found.select_nth_unstable_by(most - 1, better);
                found.truncate(most);
            }
        };
        let add = |found: &mut Vec<(f64, usize)>, line: &Line, cell: &mut Cell| {
            found.push((cell.give(line) * dot(line.z, line.z), line.number));
            if found.len() > 4 * most {
                cut(found);
            }
        };
        let merge = |left: &mut Vec<(f64, usize)>, right: Vec<(f64, usize)>| {
            left.extend(right);
            cut(left);
        };
        let mut found = self.pass(cells, Vec::new(), |_| (), add, merge)?;
        cut(&mut found);
        found.sort_unstable_by(better);
        let mut numbers: Vec<usize> = found.iter().map(|(_, number)| *number).collect();
        numbers.sort_unstable();
        let add = |rows: &mut Vec<(usize, Vec<f64>, f64)>, line: &Line, _: &mut Cell| {
            if numbers.binary_search(&line.number).is_ok() {
                rows.push((line.number, line.z.to_vec(), line.c));
            }
        };
        let rows = self.pass(cells, Vec::new(), |_| (), add, |left, right| left.extend(right))?;
        let (mut basis, mut met) = (Basis::default(), Vec::new());
        for (_, number) in found {
            let (number, z, c) = &rows[rows.partition_point(|row| row.0 < number)];
            if basis.offer(z, *c) {
                met.push((*number, z.clone()));
            }
            if met.len() == width {
                break;
            }
        }
        self.proven(cells, basis.solve(width), met)
    }

    /// What can be proven of beta by the rows that it meets: u of the others is at its bounds, and theirs solves the
    /// equations.
    fn proven(&self, cells: &mut Cells, beta: Vec<f64>, met: Vec<(usize, Vec<f64>)>) -> Result<Corner> {
        let residual = |line: &Line| {
            let (mut r, mut size) = (line.c, line.c.abs());
            for (z, beta) in line.z.iter().zip(&beta) {
                r -= z * beta;
                size += (z * beta).abs();
            }
            if r.abs() <= 1e-11 * size { 0.0 } else { r }
        };
        // As long as the direction is not needed it holds the u of the proof.
        let first = self.sums(cells, |sums, line, cell| {
            let r = residual(line);
            cell.du = match r {
                0.0 => cell.u,
                r if r > 0.0 => line.high,
                _ => line.low,
            };
            if r == 0.0 {
                let (over, under) = cell.rooms(line);
                sums.curve(line, over.min(under));
            }
            add_scaled(cell.du, line.z, &mut sums.balance);
        })?;
        let missing: Vec<f64> = first.balance.iter().map(|left| -left).collect();
        let way = Equations::new(&first.gram, self.width()).solve(&missing);
        let last = self.sums(cells, |sums, line, cell| {
            if residual(line) == 0.0 {
                let (over, under) = cell.rooms(line);
                cell.du = (cell.du + over.min(under) * dot(line.z, &way)).clamp(line.low, line.high);
            }
            sums.add(line, line.c - dot(line.z, &beta), cell.du);
            cell.du = 0.0;
        })?;
        Ok(Corner { objective: last.objective, gap: last.proof(&beta), beta, met })
    }
}

/// Newton's equations, columns brought to one size; those without any curvature stay where they are.
struct Equations {
    factor: Option<Cholesky>,
    scale: Vec<f64>,
    matrix: Matrix,
}

impl Equations {
    fn new(gram: &[f64], width: usize) -> Equations {
        let stride = linalg::padded(width);
        let entry = |i: usize, j: usize| gram[i.max(j) * stride + i.min(j)];
        let inverse = |size: f64| if size > 0.0 && size.is_finite() { 1.0 / size.sqrt() } else { 0.0 };
        let scale: Vec<f64> = (0..width).map(|j| inverse(entry(j, j))).collect();
        let matrix = Matrix::from_fn(width, width, |i, j| match (i == j, scale[i] * scale[j] == 0.0) {
            (true, true) => 1.0,
            (false, true) => 0.0,
            _ => entry(i, j) * scale[i] * scale[j],
        });
        let (mut ridge, mut factor) = (0.0f64, None);
        while factor.is_none() && ridge < 1.0 {
            let damped = |i: usize, j: usize| matrix[(i, j)] + if i == j { ridge } else { 0.0 };
            factor = Cholesky::new(&Matrix::from_fn(width, width, damped));
            ridge = (100.0 * ridge).max(1e-15);
        }
        Equations { factor, scale, matrix }
    }

    /// Zero where the matrix is no matrix of numbers.
    fn solve(&self, right: &[f64]) -> Vec<f64> {
        let Some(factor) = &self.factor else { return vec![0.0; right.len()] };
        let scaled: Vec<f64> = right.iter().zip(&self.scale).map(|(right, scale)| right * scale).collect();
        let mut found = scaled.clone();
        factor.solve(&mut found, 1);
        // Once more for what is left.
        let mut left: Vec<f64> = (0..found.len()).map(|i| scaled[i] - dot(self.matrix.row(i), &found)).collect();
        factor.solve(&mut left, 1);
        add_scaled(1.0, &left, &mut found);
        found.iter_mut().zip(&self.scale).for_each(|(found, scale)| *found *= scale);
        found
    }
}

/// Independent rows, eliminated as they come: each has a column that no later one has.
#[derive(Default)]
pub struct Basis {
    /// Pivot column, the row without the earlier pivots, and its right-hand side.
    rows: Vec<(usize, Vec<f64>, f64)>,
    /// Columns that rows of a penalty hold at zero.
    zeros: Vec<usize>,
}

impl Basis {
    /// Takes the row if it says something that those before do not.
    pub fn offer(&mut self, z: &[f64], c: f64) -> bool {
        let size = |z: &[f64]| z.iter().fold(0.0f64, |size, z| size.max(z.abs()));
        let (whole, mut rest, mut side) = (size(z), z.to_vec(), c);
        for (pivot, row, right) in &self.rows {
            let factor = rest[*pivot] / row[*pivot];
            if factor != 0.0 {
                add_scaled(-factor, row, &mut rest);
                rest[*pivot] = 0.0;
                side -= factor * right;
            }
        }
        if size(&rest) <= 1e-8 * whole {
            return false;
        }
        if c == 0.0 && z.iter().filter(|z| **z != 0.0).count() == 1 {
            self.zeros.extend(z.iter().position(|z| *z != 0.0));
        }
        let pivot = (0..rest.len()).fold(0, |best, j| if rest[j].abs() > rest[best].abs() { j } else { best });
        self.rows.push((pivot, rest, side));
        true
    }

    /// Where all rows are met; columns that none of them has a pivot in are zero.
    pub fn solve(&self, width: usize) -> Vec<f64> {
        let mut beta = vec![0.0; width];
        for (pivot, row, right) in self.rows.iter().rev() {
            beta[*pivot] = 0.0;
            beta[*pivot] = (right - dot(row, &beta)) / row[*pivot];
        }
        self.zeros.iter().for_each(|&j| beta[j] = 0.0);
        beta
    }
}
