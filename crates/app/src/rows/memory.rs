//! Rows in memory, with their targets and weights.

use super::Encoded;
use crate::fit::Texts;
use ermine::{
    Data, Error, Feature, Matrix, Result, Target, X,
    core::data::Dense,
    split::{Fold, Folds, train_test_split},
};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What keeps rows from being drawn one by one where they are split.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Division {
    /// A number for the group of each row: no group is on both sides.
    Groups(Vec<u64>),
    /// When each row was: nothing is learnt from what came later.
    Times(Vec<f64>),
}

impl Division {
    fn take(&self, rows: &[usize]) -> Division {
        match self {
            Division::Groups(groups) => Division::Groups(rows.iter().map(|&row| groups[row]).collect()),
            Division::Times(times) => Division::Times(rows.iter().map(|&row| times[row]).collect()),
        }
    }

    fn append(&mut self, more: Division) {
        match (self, more) {
            (Division::Groups(all), Division::Groups(more)) => all.extend(more),
            (Division::Times(all), Division::Times(more)) => all.extend(more),
            _ => unreachable!("rows of one table are divided in one way"),
        }
    }
}

/// Targets and weights without the columns: what splits and scores look at.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Labels {
    pub target: Option<Encoded>,
    pub weights: Option<Vec<f64>>,
    pub division: Option<Division>,
}

impl Labels {
    /// Rows, as far as there is a target or a weight to tell.
    pub fn len_or(&self, otherwise: usize) -> usize {
        match (&self.target, &self.weights) {
            (Some(target), _) => target.len(),
            (None, Some(weights)) => weights.len(),
            (None, None) => otherwise,
        }
    }

    pub fn take(&self, rows: &[usize]) -> Labels {
        Labels {
            target: self.target.as_ref().map(|target| target.take(rows)),
            weights: self.weights.as_ref().map(|weights| rows.iter().map(|&i| weights[i]).collect()),
            division: self.division.as_ref().map(|division| division.take(rows)),
        }
    }

    /// Whether folding the rows anew gives other folds.
    pub fn can_be_folded_anew(&self) -> bool {
        !matches!(self.division, Some(Division::Times(_)))
    }

    /// Adds those of the rows that follow.
    pub fn append(&mut self, more: Labels) {
        match (&mut self.target, more.target) {
            (Some(all), Some(more)) => all.append(more),
            (all, more) => *all = more.or(all.take()),
        }
        match (&mut self.weights, more.weights) {
            (Some(all), Some(more)) => all.extend(more),
            (all, more) => *all = more.or(all.take()),
        }
        match (&mut self.division, more.division) {
            (Some(all), Some(more)) => all.append(more),
            (all, more) => *all = more.or(all.take()),
        }
    }

    /// Rows to learn from and rows to test on, each class its share; none of the latter when there are too few.
    pub fn split(&self, rows: usize, share: f64, seed: u64) -> Result<Fold> {
        if share == 0.0 || rows < 10 {
            return Ok(Fold { train: (0..rows).collect(), test: Vec::new() });
        }
        let data = self.data(rows)?;
        match &self.division {
            None => train_test_split(&data.batch(), share, None, seed),
            Some(Division::Groups(groups)) => train_test_split(&data.batch(), share, Some(groups), seed),
            Some(Division::Times(times)) => {
                let order = in_time(times);
                // Rows of one moment stay together, on the side of the later ones.
                let from = times[order[((1.0 - share) * rows as f64) as usize]];
                let (test, train): (Vec<usize>, Vec<usize>) = (0..rows).partition(|&row| times[row] >= from);
                match train.is_empty() {
                    true => Err(Error::Data("all rows have the same time, so they cannot be split by it".into())),
                    false => Ok(Fold { train, test }),
                }
            }
        }
    }

    /// Folds with each class its share; plain ones where no class has a row for each fold.
    pub fn folds(&self, rows: usize, folds: usize, seed: u64) -> Result<Vec<Fold>> {
        let data = self.data(rows)?;
        match &self.division {
            None => {}
            Some(Division::Groups(groups)) => {
                let grouped = match data.batch().y {
                    Target::Class { .. } => Folds::StratifiedGrouped { n_splits: folds, shuffle: true },
                    _ => Folds::Grouped { n_splits: folds, shuffle: true },
                };
                return grouped.split(&data.batch(), Some(groups), seed);
            }
            Some(Division::Times(times)) => {
                let order = in_time(times);
                let past = Folds::TimeSeries { n_splits: folds, test_size: None, max_train_size: None, gap: 0 };
                let rows_of = |places: Vec<usize>| {
                    let mut rows: Vec<usize> = places.into_iter().map(|place| order[place]).collect();
                    rows.sort_unstable();
                    rows
                };
                let folds = past.split(&data.batch(), None, seed)?.into_iter();
                return Ok(folds.map(|fold| Fold { train: rows_of(fold.train), test: rows_of(fold.test) }).collect());
            }
        }
        let stratified = Folds::usual(&data.batch().y, folds).split(&data.batch(), None, seed);
        stratified.or_else(|_| Folds::KFold { n_splits: folds, shuffle: true }.split(&data.batch(), None, seed))
    }

    fn data(&self, rows: usize) -> Result<Data<'_>> {
        let data = Data::new(X::Dense(Dense { values: &[], rows, cols: 0 }));
        match &self.target {
            Some(target) => data.target(target.target()),
            None => Ok(data),
        }
    }
}

/// The rows from the first to the last.
fn in_time(times: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by(|&a, &b| times[a].total_cmp(&times[b]).then(a.cmp(&b)));
    order
}

/// Raw rows with their labels, all owned: what is split, folded and fitted.
pub struct Rows {
    pub x: Matrix,
    pub features: Vec<Feature>,
    pub labels: Labels,
    /// The documents of text columns, shared by all rows taken from these.
    pub texts: Texts,
    /// All columns are measured in one unit, as pixels are: each by itself must not be brought to unit spread.
    pub one_unit: bool,
}

impl Rows {
    /// No rows of so many columns.
    pub fn empty(cols: usize, features: Vec<Feature>, labels: Labels, one_unit: bool) -> Rows {
        Rows { x: Matrix::zeros(0, cols), features, labels, texts: Texts::default(), one_unit }
    }

    pub fn len(&self) -> usize {
        self.x.rows
    }

    pub fn is_empty(&self) -> bool {
        self.x.rows == 0
    }

    pub fn take(&self, rows: &[usize]) -> Rows {
        let cols = self.x.cols;
        let mut x = Matrix::zeros(rows.len(), cols);
        for (to, &from) in rows.iter().enumerate() {
            x.row_mut(to).copy_from_slice(self.x.row(from));
        }
        Rows {
            x,
            features: self.features.clone(),
            labels: self.labels.take(rows),
            texts: self.texts.clone(),
            one_unit: self.one_unit,
        }
    }

    /// Those with a target, where there is one.
    pub fn with_target(self) -> Rows {
        let Some(target) = &self.labels.target else { return self };
        let known: Vec<usize> = (0..self.len()).filter(|&row| !target.is_missing(row)).collect();
        if known.len() == self.len() { self } else { self.take(&known) }
    }

    pub fn data(&self) -> Result<Data<'_>> {
        let mut data = Data::new(X::dense(&self.x.values, self.x.cols)?).features(&self.features[..])?;
        if let Some(target) = &self.labels.target {
            data = data.target(target.target())?;
        }
        if let Some(weights) = &self.labels.weights {
            data = data.weights(weights)?;
        }
        Ok(data)
    }

    /// Numbers of a packed row: columns, target, weight.
    pub fn width(&self) -> usize {
        self.x.cols + usize::from(self.labels.target.is_some()) + usize::from(self.labels.weights.is_some())
    }

    pub fn pack(&self, rows: Range<usize>) -> Vec<f64> {
        let mut packed = Vec::with_capacity(rows.len() * self.width());
        for row in rows {
            packed.extend_from_slice(self.x.row(row));
            packed.extend(self.labels.target.as_ref().map(|target| target.number(row)));
            packed.extend(self.labels.weights.as_ref().map(|weights| weights[row]));
        }
        packed
    }

    /// Packed rows with the columns of these; how they are divided is not packed.
    pub fn unpack(&self, packed: &[f64]) -> Rows {
        let (cols, width) = (self.x.cols, self.width());
        let rows = packed.chunks_exact(width.max(1));
        let column = |place: usize| rows.clone().map(move |row| row[place]);
        Rows {
            x: Matrix::new(rows.clone().flat_map(|row| &row[..cols]).copied().collect(), rows.len(), cols),
            features: self.features.clone(),
            labels: Labels {
                target: self.labels.target.as_ref().map(|target| target.of_numbers(column(cols))),
                weights: self.labels.weights.as_ref().map(|_| column(width - 1).collect()),
                division: None,
            },
            texts: self.texts.clone(),
            one_unit: self.one_unit,
        }
    }

    /// Adds rows that follow.
    pub fn append(&mut self, more: Rows) {
        self.x.rows += more.x.rows;
        self.x.values.extend(more.x.values);
        self.labels.append(more.labels);
    }
}
