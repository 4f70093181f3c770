//! Where rows come from: memory, a disk cache, one worker's shard.
//!
//! A source knows the shape of the whole problem and hands out any range of the rows it holds. Rows are numbered over
//! all workers, so that a block has the same number wherever it is read.

use crate::{
    Error, OwnedX, Result,
    data::{Batch, Feature, Target, TargetKind, X},
};
use std::{borrow::Cow, ops::Range};

/// The whole problem, on all workers.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    pub rows: usize,
    pub cols: usize,
    pub target: TargetKind,
    pub sparse: bool,
    /// Values that a sparse row holds on average; 0 if nobody has counted.
    pub stored: usize,
    pub weighted: bool,
}

impl Shape {
    /// Rows, values of a row, and classes or targets (at least 1), as numbers for formulas of cost.
    pub fn sizes(&self) -> (f64, f64, f64) {
        let outputs = match self.target {
            TargetKind::None => 1,
            TargetKind::Real(targets) => targets,
            TargetKind::Class(classes) => classes,
        };
        let values = if self.sparse && self.stored > 0 { self.stored } else { self.cols };
        (self.rows.max(1) as f64, values.max(1) as f64, outputs.max(1) as f64)
    }
}

pub trait Source: Send + Sync {
    fn shape(&self) -> Shape;

    /// The rows that this worker holds; all of them when there is one.
    fn held(&self) -> Range<usize> {
        0..self.shape().rows
    }

    /// Rows `rows`, which must be held. What cannot be lent is put into the buffers.
    fn read<'a>(&'a self, rows: Range<usize>, buffers: &'a mut Buffers) -> Result<Batch<'a>>;

    /// All held rows at once, where that is possible.
    fn memory(&self) -> Option<Batch<'_>> {
        None
    }

    /// What each column means; empty when all are numbers.
    fn features(&self) -> &[Feature] {
        &[]
    }
}

impl dyn Source + '_ {
    /// All rows at once, or a refusal that says why `model` needs them.
    pub fn in_memory(&self, model: &str, reason: &str) -> Result<Batch<'_>> {
        let batch = self.share_in_memory(model, reason)?;
        match self.held().len() == self.shape().rows {
            true => Ok(batch),
            false => Err(Error::NeedsOneWorker { model: model.into(), reason: reason.into() }),
        }
    }

    /// All rows of this worker at once, or a refusal that says why `model` needs them.
    pub fn share_in_memory(&self, model: &str, reason: &str) -> Result<Batch<'_>> {
        self.memory().ok_or_else(|| Error::NeedsMemory { model: model.into(), reason: reason.into() })
    }
}

/// Space for a source that has to copy.
#[derive(Default)]
pub struct Buffers {
    /// Dense rows, or the stored values of sparse ones with their `starts` and `columns`.
    pub x: Vec<f64>,
    pub starts: Vec<usize>,
    pub columns: Vec<u32>,
    /// Rows that were made of those in `x`.
    pub made: Option<OwnedX>,
    pub y: Vec<f64>,
    pub codes: Vec<u32>,
    pub weights: Vec<f64>,
}

/// Rows in memory: the source that Rust users make.
///
/// ```
/// use ermine_core::{Data, X};
/// let x = [0.0, 1.0, 2.0, 3.0];
/// let data = Data::new(X::dense(&x, 1)?).real(&[1.0, 3.0, 5.0, 7.0])?;
/// # Ok::<(), ermine_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Data<'a> {
    x: X<'a>,
    y: Target<'a>,
    weights: Option<&'a [f64]>,
    features: Cow<'a, [Feature]>,
}

impl<'a> Data<'a> {
    pub fn new(x: X<'a>) -> Self {
        Data { x, y: Target::None, weights: None, features: Cow::Borrowed(&[]) }
    }

    /// One real target.
    pub fn real(self, values: &'a [f64]) -> Result<Self> {
        self.reals(values, 1)
    }

    /// Several real targets, row-major.
    pub fn reals(self, values: &'a [f64], cols: usize) -> Result<Self> {
        self.target(Target::Real { values, cols })
    }

    /// Class numbers below `classes`.
    pub fn classes(self, codes: &'a [u32], classes: usize) -> Result<Self> {
        self.target(Target::Class { codes, classes })
    }

    pub fn target(mut self, y: Target<'a>) -> Result<Self> {
        let rows = self.x.rows();
        match y {
            Target::None => {}
            Target::Real { values, cols } => {
                if cols == 0 || values.len() != rows * cols {
                    return Err(Error::shape("target", format!("{rows} x {cols} values"), values.len()));
                }
                if let Some(i) = values.iter().position(|value| !value.is_finite()) {
                    return Err(Error::value(i / cols, None, format!("the target is {}", values[i])));
                }
            }
            Target::Class { codes, classes } => {
                if codes.len() != rows {
                    return Err(Error::shape("target", format!("{rows} class codes"), codes.len()));
                }
                if let Some(i) = codes.iter().position(|&code| code as usize >= classes) {
                    return Err(Error::value(i, None, format!("class code {} of {classes} classes", codes[i])));
                }
            }
        }
        self.y = y;
        Ok(self)
    }

    pub fn weights(mut self, weights: &'a [f64]) -> Result<Self> {
        if weights.len() != self.x.rows() {
            return Err(Error::shape("weights", format!("{} values", self.x.rows()), weights.len()));
        }
        if let Some(i) = weights.iter().position(|weight| !weight.is_finite() || *weight < 0.0) {
            return Err(Error::value(i, None, format!("the weight is {}, but it must be 0 or more", weights[i])));
        }
        if weights.iter().all(|&weight| weight == 0.0) && !weights.is_empty() {
            return Err(Error::Data("all weights are zero".into()));
        }
        self.weights = Some(weights);
        Ok(self)
    }

    pub fn features(mut self, features: impl Into<Cow<'a, [Feature]>>) -> Result<Self> {
        let features = features.into();
        if !features.is_empty() && features.len() != self.x.cols() {
            return Err(Error::shape("features", self.x.cols(), features.len()));
        }
        self.features = features;
        Ok(self)
    }

    pub fn batch(&self) -> Batch<'a> {
        Batch { x: self.x, y: self.y, weights: self.weights, first: 0 }
    }
}

impl Source for Data<'_> {
    fn shape(&self) -> Shape {
        Shape {
            rows: self.x.rows(),
            cols: self.x.cols(),
            target: self.y.kind(),
            sparse: self.x.is_sparse(),
            stored: 0,
            weighted: self.weights.is_some(),
        }
    }

    fn read<'a>(&'a self, rows: Range<usize>, _: &'a mut Buffers) -> Result<Batch<'a>> {
        Ok(self.batch().slice(rows))
    }

    fn memory(&self) -> Option<Batch<'_>> {
        Some(self.batch())
    }

    fn features(&self) -> &[Feature] {
        &self.features
    }
}

/// One worker's part of a larger problem: some rows of another source, the rest being held elsewhere.
pub struct Shard<'a> {
    part: &'a dyn Source,
    held: Range<usize>,
    total: usize,
    /// `part` already numbers its rows over all workers (a view of the whole) or from zero (a file of its own).
    offset: usize,
}

impl<'a> Shard<'a> {
    /// A part that numbers its rows from zero and stands at `first` among `total`.
    pub fn new(part: &'a dyn Source, first: usize, total: usize) -> Self {
        Shard { part, held: first..first + part.shape().rows, total, offset: first }
    }

    /// A window on a source that holds everything, as the in-process workers use it.
    pub fn window(whole: &'a dyn Source, held: Range<usize>) -> Self {
        Shard { part: whole, held, total: whole.shape().rows, offset: 0 }
    }
}

impl Source for Shard<'_> {
    fn shape(&self) -> Shape {
        Shape { rows: self.total, ..self.part.shape() }
    }

    fn held(&self) -> Range<usize> {
        self.held.clone()
    }

    fn read<'a>(&'a self, rows: Range<usize>, buffers: &'a mut Buffers) -> Result<Batch<'a>> {
        let first = rows.start;
        let batch = self.part.read(rows.start - self.offset..rows.end - self.offset, buffers)?;
        Ok(Batch { first, ..batch })
    }

    fn memory(&self) -> Option<Batch<'_>> {
        let batch = self.part.memory()?.slice(self.held.start - self.offset..self.held.end - self.offset);
        Some(Batch { first: self.held.start, ..batch })
    }

    fn features(&self) -> &[Feature] {
        self.part.features()
    }
}

/// Where a [`Disk`] source keeps its numbers. Core does no I/O: the file is somebody else's.
pub trait Store: Send + Sync {
    /// Fills `values` from the number at `offset` on.
    fn read_at(&self, offset: u64, values: &mut [f64]) -> Result<()>;
}

/// Dense rows in a store, one after another: the columns of x, the target, the weight if there is one. Class codes are
/// stored as numbers. At most one block for each thread is in memory.
pub struct Disk {
    pub store: Box<dyn Store>,
    pub shape: Shape,
    pub features: Vec<Feature>,
}

impl Disk {
    /// Numbers that one row takes in the store.
    pub fn width(shape: &Shape) -> usize {
        let target = match shape.target {
            TargetKind::None => 0,
            TargetKind::Real(cols) => cols,
            TargetKind::Class(_) => 1,
        };
        shape.cols + target + usize::from(shape.weighted)
    }
}

impl Source for Disk {
    fn shape(&self) -> Shape {
        self.shape.clone()
    }

    fn read<'a>(&'a self, rows: Range<usize>, buffers: &'a mut Buffers) -> Result<Batch<'a>> {
        let (width, cols, n) = (Disk::width(&self.shape), self.shape.cols, rows.len());
        let Buffers { x, y, codes, weights, .. } = buffers;
        x.resize(n * width, 0.0);
        self.store.read_at((rows.start * width) as u64, x)?;
        // Target and weight leave first, then the rows close up in place.
        y.clear();
        codes.clear();
        weights.clear();
        for row in x.chunks_exact(width) {
            match self.shape.target {
                TargetKind::None => {}
                TargetKind::Real(targets) => y.extend_from_slice(&row[cols..cols + targets]),
                TargetKind::Class(_) => codes.push(row[cols] as u32),
            }
            if self.shape.weighted {
                weights.push(row[width - 1]);
            }
        }
        if width > cols {
            for i in 1..n {
                x.copy_within(i * width..i * width + cols, i * cols);
            }
        }
        x.truncate(n * cols);
        let target = match self.shape.target {
            TargetKind::None => Target::None,
            TargetKind::Real(cols) => Target::Real { values: y, cols },
            TargetKind::Class(classes) => Target::Class { codes, classes },
        };
        let weights = self.shape.weighted.then_some(&weights[..]);
        Ok(Batch { x: X::dense(x, cols)?, y: target, weights, first: rows.start })
    }

    fn features(&self) -> &[Feature] {
        &self.features
    }
}
