//! The nearest rows: exact, by a k-d tree where columns are few, by tiles of matrix products where they are many.
//!
//! ||x - z||^2 = ||x||^2 - 2 x.z + ||z||^2 finds candidates at the speed of a matrix product but loses digits, so some more than
//! asked for are kept, their distances computed again term by term, and the gap to the first one left out compared with
//! a bound on what was lost. Euclidean candidates among dense rows are found in single precision; a query that fails
//! the test is searched in double precision, and one that fails again plainly. Equal distances are ordered by row.

use super::{
    kdtree::{KdTree, Room},
    kernel::{Defaults, Kernel},
    points::{for_each_pair, products},
};
use crate::{
    Error, Matrix, OwnedCsr, OwnedX, Result, Shape, X,
    core::{
        data::Row,
        linalg::multiply_single,
        param::{Field, Form, Range, Value},
        simd::{add_scaled, distance2, vectorised},
    },
};
use serde::{Deserialize, Serialize};
use std::{cmp::Ordering, collections::BinaryHeap, sync::OnceLock};

/// How far apart two rows are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Metric {
    /// By the parameter `p`, which is 2 unless stated.
    Minkowski(f64),
    Chebyshev,
    /// 1 - x.z / (||x|| ||z||)
    Cosine,
    /// Distance in the feature space: sqrt(k(x, x) - 2 k(x, z) + k(z, z)).
    Kernel(Kernel),
}

impl Field for Metric {
    fn forms(_: Range) -> Vec<Form> {
        vec![Form::Choice(vec!["minkowski", "euclidean", "manhattan", "chebyshev", "cosine"]), Form::Text]
    }
    fn to_value(&self) -> Value {
        Value::Text(match self {
            Metric::Minkowski(p) if *p == 2.0 => "euclidean".into(),
            Metric::Minkowski(p) if *p == 1.0 => "manhattan".into(),
            Metric::Minkowski(_) => "minkowski".into(),
            Metric::Chebyshev => "chebyshev".into(),
            Metric::Cosine => "cosine".into(),
            Metric::Kernel(kernel) => kernel.to_string(),
        })
    }
    fn from_value(value: &Value) -> Option<Self> {
        let text = String::from_value(value)?;
        Some(match text.as_str() {
            // Zero stands for "what p says".
            "minkowski" => Metric::Minkowski(0.0),
            "euclidean" | "l2" => Metric::Minkowski(2.0),
            "manhattan" | "cityblock" | "l1" => Metric::Minkowski(1.0),
            "chebyshev" | "infinity" => Metric::Chebyshev,
            "cosine" => Metric::Cosine,
            other => Metric::Kernel(Kernel::parse(other).ok().filter(|kernel| !kernel.is_precomputed())?),
        })
    }
}

impl Metric {
    /// The metric with its power in place, checked against the columns.
    pub fn resolve(&self, p: f64, cols: usize) -> Result<Metric> {
        Ok(match self {
            Metric::Minkowski(0.0) if p == f64::INFINITY => Metric::Chebyshev,
            // Roots of so small a power overflow as soon as two columns differ.
            Metric::Minkowski(0.0) if (cols as f64).powf(1.0 / p) > 1e100 => {
                return Err(Error::Unsupported(format!(
                    "a Minkowski metric with p={p:e} on {cols} columns: the root overflows"
                ))
                .hint("use p of 0.1 or more"));
            }
            Metric::Minkowski(0.0) => Metric::Minkowski(p),
            Metric::Kernel(kernel) => {
                let kernel = kernel.resolve(&Defaults { gamma: 1.0 / cols as f64, degree: 3.0, coef0: 1.0 });
                kernel.check(cols)?;
                Metric::Kernel(kernel)
            }
            same => same.clone(),
        })
    }

    fn norm(&self) -> Option<Norm> {
        match *self {
            Metric::Minkowski(1.0) => Some(Norm::One),
            Metric::Minkowski(2.0) => Some(Norm::Two),
            Metric::Minkowski(p) if p > HIGH => Some(Norm::High(p)),
            Metric::Minkowski(p) => Some(Norm::Power(p)),
            Metric::Chebyshev => Some(Norm::Largest),
            _ => None,
        }
    }

    /// From what is compared to what is shown.
    fn shown(&self, raw: f64) -> f64 {
        match *self {
            Metric::Minkowski(1.0) => raw,
            Metric::Minkowski(2.0) => raw.sqrt(),
            Metric::Minkowski(p) if p <= HIGH => raw.powf(1.0 / p),
            Metric::Kernel(_) => raw.max(0.0).sqrt(),
            Metric::Minkowski(_) | Metric::Chebyshev | Metric::Cosine => raw,
        }
    }

    fn raw(&self, shown: f64) -> f64 {
        match *self {
            Metric::Minkowski(2.0) => shown * shown,
            Metric::Minkowski(p) if p != 1.0 && p <= HIGH => shown.powf(p),
            Metric::Kernel(_) => shown * shown,
            _ => shown,
        }
    }
}

/// A Minkowski distance before its root: what can be compared and bounded by column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Norm {
    One,
    Two,
    Power(f64),
    /// A power that leaves the range of numbers: the root is taken with every term.
    High(f64),
    Largest,
}

/// Powers above this are of distances that are scaled first.
const HIGH: f64 = 8.0;

/// The p-norm of two numbers that are not negative.
#[inline(always)]
fn joined(a: f64, b: f64, p: f64) -> f64 {
    let (large, small) = (a.max(b), a.min(b));
    if small == 0.0 { large } else { large * ((small / large).powf(p).ln_1p() / p).exp() }
}

impl Norm {
    #[inline(always)]
    fn term(self, difference: f64) -> f64 {
        match self {
            Norm::Two => difference * difference,
            Norm::One | Norm::Largest | Norm::High(_) => difference.abs(),
            Norm::Power(p) => difference.abs().powf(p),
        }
    }

    #[inline(always)]
    pub fn sum(self, differences: impl Iterator<Item = f64>) -> f64 {
        match self {
            Norm::Largest => differences.fold(0.0, |sum: f64, d| sum.max(d.abs())),
            Norm::Two => differences.fold(0.0, |sum, d| sum + d * d),
            Norm::High(p) => differences.fold(0.0, |sum, d| joined(sum, d.abs(), p)),
            _ => differences.fold(0.0, |sum, d| sum + self.term(d)),
        }
    }

    /// Adds the terms of one column to the distances of all rows.
    #[inline(always)]
    pub fn add_each(self, q: f64, column: &[f64], out: &mut [f64]) {
        match self {
            Norm::Two => out.iter_mut().zip(column).for_each(|(out, v)| *out += (q - v) * (q - v)),
            Norm::One => out.iter_mut().zip(column).for_each(|(out, v)| *out += (q - v).abs()),
            Norm::Largest => out.iter_mut().zip(column).for_each(|(out, v)| *out = out.max((q - v).abs())),
            Norm::Power(p) => out.iter_mut().zip(column).for_each(|(out, v)| *out += (q - v).abs().powf(p)),
            Norm::High(p) => out.iter_mut().zip(column).for_each(|(out, v)| *out = joined(*out, (q - v).abs(), p)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Near(f64, u32);

impl Eq for Near {}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The k nearest so far; of equal distances the first rows.
pub struct Best {
    k: usize,
    heap: BinaryHeap<Near>,
    worst: f64,
}

impl Best {
    pub fn new(k: usize) -> Self {
        Best { k, heap: BinaryHeap::with_capacity(k + 1), worst: f64::INFINITY }
    }

    /// What a distance must not exceed to count.
    #[inline(always)]
    pub fn worst(&self) -> f64 {
        self.worst
    }

    #[inline]
    pub fn offer(&mut self, distance: f64, row: u32) {
        let near = Near(distance, row);
        if self.heap.len() < self.k {
            self.heap.push(near);
        } else if let Some(mut top) = self.heap.peek_mut()
            && near < *top
        {
            *top = near;
        }
        if self.heap.len() == self.k {
            self.worst = self.heap.peek().map_or(f64::INFINITY, |top| top.0);
        }
    }

    fn sorted(&mut self) -> Vec<(f64, u32)> {
        let mut all: Vec<Near> = self.heap.drain().collect();
        self.worst = f64::INFINITY;
        all.sort_unstable();
        all.into_iter().map(|Near(distance, row)| (distance, row)).collect()
    }
}

/// Rows to be found.
#[derive(Serialize, Deserialize)]
pub struct Search {
    pub points: OwnedX,
    pub metric: Metric,
    #[serde(skip)]
    prepared: OnceLock<Prepared>,
}

struct Prepared {
    tree: Option<KdTree>,
    single: Option<Single>,
    /// k(z, z) or ||z||^2 of every point.
    norms: Vec<f64>,
}

/// Points in single precision: about their mean, which no distance notices, and scaled so that the longest has length
/// 1.
struct Single {
    mean: Vec<f64>,
    scale: f64,
    values: Vec<f32>,
    norms: Vec<f32>,
}

impl Single {
    /// None where squares are beyond double precision too.
    fn new(points: &Matrix) -> Option<Self> {
        let (n, d) = (points.rows.max(1) as f64, points.cols);
        let rows = || points.values.chunks_exact(d);
        let mut mean = vec![0.0; d];
        rows().for_each(|row| add_scaled(1.0 / n, row, &mut mean));
        let longest = rows().map(|row| distance2(row, &mean)).fold(0.0, f64::max).sqrt();
        if !(longest.is_normal() && longest.recip().is_normal()) {
            return None;
        }
        let mut single = Single { mean, scale: longest.recip(), values: Vec::new(), norms: Vec::new() };
        let (mut values, mut norms) = (Vec::with_capacity(points.values.len()), Vec::with_capacity(points.rows));
        rows().for_each(|row| norms.push(single.push(row, &mut values) as f32));
        (single.values, single.norms) = (values, norms);
        Some(single)
    }

    /// Appends a row; returns its squared length.
    fn push(&self, row: &[f64], values: &mut Vec<f32>) -> f64 {
        let mut norm = 0.0;
        values.extend(row.iter().zip(&self.mean).map(|(value, mean)| {
            let value = (value - mean) * self.scale;
            norm += value * value;
            value as f32
        }));
        norm
    }
}

/// What a distance in product form may lose: a few roundings of the squared lengths that it is the difference of, which
/// are `size` together.
fn lost(epsilon: f64, cols: usize, size: f64) -> f64 {
    4.0 * epsilon * (8.0 + cols as f64 / 8.0) * size
}

/// A tree helps below this many columns.
const TREE_COLUMNS: usize = 15;
/// Queries and points of one tile.
const QUERIES: usize = 128;
const TILE: usize = 512;
/// Points of one tile in single precision: tile and points stay in the second cache.
const SINGLE_TILE: usize = 256;

impl Search {
    pub fn new(points: OwnedX, metric: Metric) -> Self {
        Search { points, metric, prepared: OnceLock::new() }
    }

    /// Builds what queries need; they would do it themselves, on the first one's time.
    pub fn prepare(&self) {
        self.prepared();
    }

    fn prepared(&self) -> &Prepared {
        self.prepared.get_or_init(|| {
            let tree = match (&self.points, self.metric.norm()) {
                (OwnedX::Dense(m), Some(_)) if m.cols <= TREE_COLUMNS && m.rows > 256 => Some(KdTree::new(m)),
                _ => None,
            };
            let x = self.points.x();
            let norms = match &self.metric {
                Metric::Kernel(kernel) => kernel.diagonal(&x),
                _ => x.iter().map(|row| row.norm2()).collect(),
            };
            let single = match (&self.points, self.metric.norm()) {
                (OwnedX::Dense(m), Some(Norm::Two)) if tree.is_none() && m.rows >= TILE => Single::new(m),
                _ => None,
            };
            Prepared { tree, single, norms }
        })
    }

    /// Queries that are best searched together: many where they can be put in an order that suits a tree.
    pub fn rows_at_once(&self) -> usize {
        if self.prepared().tree.is_some() { 1 << 15 } else { 1 }
    }

    pub fn check(&self) -> Result<()> {
        self.points.check()?;
        let fits = match &self.metric {
            Metric::Kernel(kernel) => return kernel.check(self.points.cols()),
            Metric::Minkowski(p) => *p > 0.0 && p.is_finite(),
            _ => true,
        };
        if fits { Ok(()) } else { Err(Error::Data("the stored metric has no power".into())) }
    }

    /// The `k` nearest points of every row, by distance and then by row: (distance, row) pairs, k of them for each
    /// query.
    pub fn nearest(&self, x: &X, k: usize) -> Vec<(f64, u32)> {
        let k = k.min(self.points.rows());
        let prepared = self.prepared();
        let mut out = Vec::with_capacity(x.rows() * k);
        match (&prepared.tree, self.metric.norm()) {
            (Some(tree), Some(norm)) => {
                let (mut best, mut room, mut wide) = (Best::new(k), Room::default(), Vec::new());
                // Queries that are close to each other follow each other: they find their part of the tree in the
                // cache.
                let mut order: Vec<(usize, usize)> = x
                    .iter()
                    .enumerate()
                    .map(|(i, row)| (tree.place(dense(row, x.cols(), &mut wide), norm), i))
                    .collect();
                order.sort_unstable();
                out.resize(x.rows() * k, (0.0, 0));
                for (_, i) in order {
                    tree.nearest(dense(x.row(i), x.cols(), &mut wide), norm, &mut best, &mut room);
                    out[i * k..(i + 1) * k].copy_from_slice(&best.sorted());
                }
            }
            (_, Some(Norm::Two) | None) => {
                for first in (0..x.rows()).step_by(QUERIES) {
                    let queries = x.slice(first..(first + QUERIES).min(x.rows()));
                    match &prepared.single {
                        Some(single) if !x.is_sparse() => self.single_tiles(single, &queries, k, &mut out),
                        _ => self.tiles(&queries, k, &mut out),
                    }
                }
            }
            _ => {
                let mut best = Best::new(k);
                for row in x.iter() {
                    self.plain(row, &mut best);
                    out.extend(best.sorted());
                }
            }
        }
        out.iter_mut().for_each(|(distance, _)| *distance = self.metric.shown(*distance));
        out
    }

    /// All points within `radius` of every row, by row.
    pub fn within(&self, x: &X, radius: f64) -> Vec<Vec<(f64, u32)>> {
        let limit = self.metric.raw(radius);
        let prepared = self.prepared();
        let mut wide = Vec::new();
        let one = |row: Row| {
            let mut found = Vec::new();
            match (&prepared.tree, self.metric.norm()) {
                (Some(tree), Some(norm)) => {
                    tree.within(dense(row, x.cols(), &mut wide), norm, limit, |d, i| found.push((d, i)));
                    found.sort_unstable_by_key(|(_, row)| *row);
                }
                _ => {
                    let own = self.own(row);
                    for i in 0..self.points.rows() {
                        let distance = self.exact(row, own, i);
                        if distance <= limit {
                            found.push((distance, i as u32));
                        }
                    }
                }
            }
            found.iter_mut().for_each(|(distance, _)| *distance = self.metric.shown(*distance));
            found
        };
        x.iter().map(one).collect()
    }

    /// k(x, x) or ||x||^2, what an exact distance needs of the query.
    fn own(&self, row: Row) -> f64 {
        match &self.metric {
            Metric::Kernel(kernel) => kernel.diagonal(&single(row, self.points.cols()).x())[0],
            _ => row.norm2(),
        }
    }

    /// The raw distance, term by term.
    fn exact(&self, row: Row, own: f64, i: usize) -> f64 {
        let point = self.points.x().row(i);
        let prepared = self.prepared();
        match (&self.metric, row, point) {
            (Metric::Minkowski(2.0), Row::Dense(a), Row::Dense(b)) => distance2(a, b),
            (Metric::Cosine, _, _) => {
                let (mut dot, norm) = (0.0, own.sqrt() * prepared.norms[i].sqrt());
                for_each_pair(row, point, |a, b| dot += a * b);
                if norm > 0.0 { (1.0 - dot / norm).max(0.0) } else { 1.0 }
            }
            (Metric::Kernel(kernel), _, _) => {
                let mut value = [0.0];
                kernel.block(&single(row, self.points.cols()).x(), &self.points.x().slice(i..i + 1), &mut value);
                (own - 2.0 * value[0] + prepared.norms[i]).max(0.0)
            }
            (metric, _, _) => {
                let norm = metric.norm().unwrap_or(Norm::Two);
                let mut sum = 0.0f64;
                match norm {
                    Norm::Largest => for_each_pair(row, point, |a, b| sum = sum.max((a - b).abs())),
                    Norm::High(p) => for_each_pair(row, point, |a, b| sum = joined(sum, (a - b).abs(), p)),
                    _ => for_each_pair(row, point, |a, b| sum += norm.term(a - b)),
                }
                sum
            }
        }
    }

    fn plain(&self, row: Row, best: &mut Best) {
        let own = self.own(row);
        for i in 0..self.points.rows() {
            let distance = self.exact(row, own, i);
            if distance <= best.worst() {
                best.offer(distance, i as u32);
            }
        }
    }

    /// As [`Self::tiles`], where single precision tells the candidates apart.
    fn single_tiles(&self, single: &Single, x: &X, k: usize, out: &mut Vec<(f64, u32)>) {
        let (n, d) = (self.points.rows(), x.cols());
        let kept = (k + k / 4 + 8).min(n);
        let mut best: Vec<Best> = (0..x.rows()).map(|_| Best::new(kept)).collect();
        let (mut queries, mut wide) = (Vec::with_capacity(x.rows() * d), Vec::new());
        let own: Vec<f64> = x.iter().map(|row| single.push(dense(row, d, &mut wide), &mut queries)).collect();
        let mut tile = vec![0f32; x.rows() * SINGLE_TILE.min(n)];
        for first in (0..n).step_by(SINGLE_TILE) {
            let m = SINGLE_TILE.min(n - first);
            multiply_single(&queries, &single.values[first * d..(first + m) * d], d, &mut tile);
            let norms = &single.norms[first..first + m];
            vectorised(
                #[inline(always)]
                || {
                    for (products, best) in tile.chunks_exact(m).zip(&mut best) {
                        for (at, (products, norms)) in products.chunks(16).zip(norms.chunks(16)).enumerate() {
                            // Up to the squared length of the query, which is the same for all points. Most are too
                            // far: sixteen at a time.
                            let mut away = [f32::INFINITY; 16];
                            for (away, (norm, product)) in away.iter_mut().zip(norms.iter().zip(products)) {
                                *away = norm - 2.0 * product;
                            }
                            let nearest = away.iter().fold(f32::INFINITY, |a, &b| if b < a { b } else { a });
                            if f64::from(nearest) > best.worst() {
                                continue;
                            }
                            for (i, &away) in away[..products.len()].iter().enumerate() {
                                if f64::from(away) <= best.worst() {
                                    best.offer(f64::from(away), (first + at * 16 + i) as u32);
                                }
                            }
                        }
                    }
                },
            );
        }
        let mut exact = Best::new(k);
        let (mut found, mut failed): (Vec<Vec<(f64, u32)>>, Vec<usize>) = Default::default();
        for (i, best) in best.iter_mut().enumerate() {
            let row = x.row(i);
            let cut = if kept < n { own[i] + best.worst() } else { f64::INFINITY };
            for (_, candidate) in best.sorted() {
                exact.offer(self.exact(row, own[i], candidate as usize), candidate);
            }
            let worst = exact.worst() * single.scale * single.scale;
            // A query that is too far out for single precision makes sums that are no numbers, which compare as false.
            let sure = worst + lost(f64::from(f32::EPSILON), d, own[i] + 1.0) < cut && own[i] < 1e30;
            if !sure {
                failed.push(i);
            }
            found.push(exact.sorted());
        }
        if !failed.is_empty() {
            let mut again = Vec::new();
            self.tiles(&OwnedX::take(x, failed.iter().copied()).x(), k, &mut again);
            failed.iter().zip(again.chunks(k)).for_each(|(&i, again)| found[i] = again.to_vec());
        }
        out.extend(found.into_iter().flatten());
    }

    /// Queries against all points by tiles of products; distances in `out` are raw and exact.
    fn tiles(&self, x: &X, k: usize, out: &mut Vec<(f64, u32)>) {
        let (prepared, n) = (self.prepared(), self.points.rows());
        let kept = (k + k / 4 + 8).min(n);
        let mut best: Vec<Best> = (0..x.rows()).map(|_| Best::new(kept)).collect();
        let own: Vec<f64> = x.iter().map(|row| self.own(row)).collect();
        let mut tile = vec![0.0; x.rows() * TILE.min(n)];
        let points = self.points.x();
        for first in (0..n).step_by(TILE) {
            let m = TILE.min(n - first);
            let tile = &mut tile[..x.rows() * m];
            let part = points.slice(first..first + m);
            match &self.metric {
                Metric::Kernel(kernel) => kernel.block(x, &part, tile),
                _ => products(x, &part, tile),
            }
            let norms = &prepared.norms[first..first + m];
            vectorised(
                #[inline(always)]
                || {
                    for ((values, best), own) in tile.chunks_exact_mut(m).zip(&mut best).zip(&own) {
                        if self.metric == Metric::Cosine {
                            for (v, norm) in values.iter_mut().zip(norms) {
                                let scale = (own * norm).sqrt();
                                *v = if scale > 0.0 { 1.0 - *v / scale } else { 1.0 };
                            }
                        } else {
                            values.iter_mut().zip(norms).for_each(|(v, norm)| *v = own + norm - 2.0 * *v);
                        }
                        for (at, values) in values.chunks(8).enumerate() {
                            // Most points are too far: eight at a time.
                            let nearest = values.iter().copied().fold(f64::INFINITY, |a, b| if b < a { b } else { a });
                            if nearest > best.worst() {
                                continue;
                            }
                            for (i, &v) in values.iter().enumerate() {
                                if v <= best.worst() {
                                    best.offer(v, (first + at * 8 + i) as u32);
                                }
                            }
                        }
                    }
                },
            );
        }
        let largest = prepared.norms.iter().copied().fold(0.0, f64::max);
        let mut exact = Best::new(k);
        for (i, best) in best.iter_mut().enumerate() {
            let row = x.row(i);
            let cut = if kept < n { best.worst() } else { f64::INFINITY };
            for (_, candidate) in best.sorted() {
                exact.offer(self.exact(row, own[i], candidate as usize), candidate);
            }
            let size = if self.metric == Metric::Cosine { 1.0 } else { own[i].abs() + largest };
            if exact.worst() + lost(f64::EPSILON, x.cols(), size) >= cut {
                exact.sorted();
                self.plain(row, &mut exact);
            }
            out.extend(exact.sorted());
        }
    }
}

fn dense<'a>(row: Row<'a>, cols: usize, wide: &'a mut Vec<f64>) -> &'a [f64] {
    if let Row::Dense(values) = row {
        return values;
    }
    wide.clear();
    wide.resize(cols, 0.0);
    row.for_each(|j, v| wide[j] = v);
    wide
}

fn single(row: Row, cols: usize) -> OwnedX {
    match row {
        Row::Dense(values) => OwnedX::Dense(Matrix::new(values.to_vec(), 1, cols)),
        Row::Sparse { columns, values } => OwnedX::Sparse(OwnedCsr {
            starts: vec![0, values.len()],
            columns: columns.to_vec(),
            values: values.to_vec(),
            cols,
        }),
    }
}

/// Nanoseconds of looking for all rows near this share of the rows. The tree looks at few of them while columns are
/// few; otherwise every row is compared.
pub fn cost_within(shape: &Shape, share: f64) -> f64 {
    let (n, p, _) = shape.sizes();
    let compared = if p <= TREE_COLUMNS as f64 { n.min(8.0 * 1.3f64.powf(p) * n.powf(0.1)) } else { n };
    3e5 + share * n * compared * (10.0 + 0.25 * p)
}

/// Nanoseconds of looking for the neighbours of this share of the rows among all of them. The tree helps while columns
/// are few; with each column it has to look at more, up to half of the rows.
pub fn cost(shape: &Shape, share: f64) -> f64 {
    let (n, p, _) = shape.sizes();
    let query = if p <= TREE_COLUMNS as f64 {
        4.0 * (12.0 * 1.8f64.powf(p) * n.powf(0.1)).min(0.5 * n)
    } else {
        n * (1.5 + 0.04 * p)
    };
    5e5 + 20.0 * n * p + share * n * query
}
