//! Where rows come from: memory, a disk cache, one worker's shard.
//!
//! A source knows the shape of the whole problem and hands out any range of the rows it holds. Rows are numbered over
//! all workers, so that a block has the same number wherever it is read.

use crate::{
    Error, Label, OwnedData, OwnedTarget, OwnedX, Result, Rows, ToRows,
    data::{Batch, Feature, Target, TargetKind, X},
    label,
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
    /// Different values of a column on average; 0 if nobody has counted.
    pub distinct: usize,
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

    /// What the classes of the target are called, by their number; empty when nobody said.
    fn labels(&self) -> &[Label] {
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
    /// Space of a source underneath, for one that changes what that one reads.
    pub below: Option<Box<Buffers>>,
}

/// Rows in memory: the source that Rust users make.
///
/// ```
/// use ermine_core::{Data, X};
/// // A column each for length and width; a target of numbers, or of labels.
/// let rows = [[1.4, 0.2], [4.7, 1.4], [1.3, 0.2], [4.5, 1.5]];
/// let weights = Data::from_rows(&rows)?.real(&[3.1, 9.0, 2.9, 8.7])?;
/// let species = Data::from_rows(&rows)?.labels(&["setosa", "versicolor", "setosa", "versicolor"])?;
/// // Rows one after the other in a slice of numbers.
/// let data = Data::new(X::dense(&[0.0, 1.0, 2.0, 3.0], 1)?).real(&[1.0, 3.0, 5.0, 7.0])?;
/// # Ok::<(), ermine_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Data<'a> {
    x: Rows<'a>,
    y: Y<'a>,
    weights: Option<Cow<'a, [f64]>>,
    features: Cow<'a, [Feature]>,
    labels: Vec<Label>,
}

/// A target that is lent or owned.
#[derive(Clone, Debug)]
enum Y<'a> {
    None,
    Real { values: Cow<'a, [f64]>, cols: usize },
    Class { codes: Cow<'a, [u32]>, classes: usize },
}

impl Y<'_> {
    fn target(&self) -> Target<'_> {
        match self {
            Y::None => Target::None,
            Y::Real { values, cols } => Target::Real { values, cols: *cols },
            Y::Class { codes, classes } => Target::Class { codes, classes: *classes },
        }
    }
}

impl<'a> Data<'a> {
    /// Rows without a target, lent or handed over.
    pub fn new(x: impl Into<Rows<'a>>) -> Self {
        Data { x: x.into(), y: Y::None, weights: None, features: Cow::Borrowed(&[]), labels: Vec::new() }
    }

    /// Rows without a target, from anything that rows can be made of.
    pub fn from_rows(rows: &'a (impl ToRows + ?Sized)) -> Result<Self> {
        rows.to_rows().map(Data::new)
    }

    /// One real target.
    pub fn real(self, values: impl Into<Cow<'a, [f64]>>) -> Result<Self> {
        self.reals(values, 1)
    }

    /// Several real targets, row-major.
    pub fn reals(self, values: impl Into<Cow<'a, [f64]>>, cols: usize) -> Result<Self> {
        self.with_y(Y::Real { values: values.into(), cols })
    }

    /// Class numbers below `classes`.
    pub fn classes(self, codes: impl Into<Cow<'a, [u32]>>, classes: usize) -> Result<Self> {
        self.with_y(Y::Class { codes: codes.into(), classes })
    }

    /// Classes by name: text, whole numbers or booleans. They are numbered in their order, and a fit remembers what
    /// they are called.
    pub fn labels<L: Clone + Into<Label>>(self, labels: &[L]) -> Result<Self> {
        let labels: Vec<Label> = labels.iter().map(|label| label.clone().into()).collect();
        let (codes, names) = label::encode(&labels);
        let data = self.classes(codes, names.len())?;
        Ok(Data { labels: names, ..data })
    }

    pub fn target(self, y: Target<'a>) -> Result<Self> {
        self.with_y(match y {
            Target::None => Y::None,
            Target::Real { values, cols } => Y::Real { values: values.into(), cols },
            Target::Class { codes, classes } => Y::Class { codes: codes.into(), classes },
        })
    }

    fn with_y(self, y: Y<'a>) -> Result<Self> {
        let rows = self.x.x().rows();
        match y.target() {
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
        Ok(Data { y, labels: Vec::new(), ..self })
    }

    pub fn weights(self, weights: impl Into<Cow<'a, [f64]>>) -> Result<Self> {
        let weights = weights.into();
        let rows = self.x.x().rows();
        if weights.len() != rows {
            return Err(Error::shape("weights", format!("{rows} values"), weights.len()));
        }
        if let Some(i) = weights.iter().position(|weight| !weight.is_finite() || *weight < 0.0) {
            return Err(Error::value(i, None, format!("the weight is {}, but it must be 0 or more", weights[i])));
        }
        if weights.iter().all(|&weight| weight == 0.0) && !weights.is_empty() {
            return Err(Error::Data("all weights are zero".into()));
        }
        Ok(Data { weights: Some(weights), ..self })
    }

    pub fn features(self, features: impl Into<Cow<'a, [Feature]>>) -> Result<Self> {
        let features = features.into();
        let cols = self.x.x().cols();
        if !features.is_empty() && features.len() != cols {
            return Err(Error::shape("features", cols, features.len()));
        }
        Ok(Data { features, ..self })
    }

    pub fn batch(&self) -> Batch<'_> {
        Batch { x: self.x.x(), y: self.y.target(), weights: self.weights.as_deref(), first: 0 }
    }

    /// The rows with these numbers, in this order, as data of their own; labels keep their numbers.
    pub fn take(&self, rows: &[usize]) -> Result<Data<'static>> {
        let OwnedData { x, y, weights, .. } = OwnedData::of_rows(&self.batch(), rows)?;
        let data = Data::new(x).features(self.features.to_vec())?.with_y(match y {
            OwnedTarget::None => Y::None,
            OwnedTarget::Real { values, cols } => Y::Real { values: values.into(), cols },
            OwnedTarget::Class { codes, classes } => Y::Class { codes: codes.into(), classes },
        })?;
        let data = Data { labels: self.labels.clone(), ..data };
        match weights {
            Some(weights) => data.weights(weights),
            None => Ok(data),
        }
    }
}

impl Source for Data<'_> {
    fn shape(&self) -> Shape {
        let x = self.x.x();
        Shape {
            rows: x.rows(),
            cols: x.cols(),
            target: self.y.target().kind(),
            sparse: x.is_sparse(),
            stored: 0,
            distinct: 0,
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

    fn labels(&self) -> &[Label] {
        &self.labels
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

    fn labels(&self) -> &[Label] {
        self.part.labels()
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
