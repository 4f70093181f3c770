//! One column of 0 and 1 for each category: `z_jc = 1[x_j = c]`. One category may be the reference and have no column;
//! rare categories may share one; NaN is a category of its own. One sum over rows; the result is sparse by nature.

use super::{
    columns::{fill, name_of},
    levels::{self, levels, unknown},
};
use crate::{
    Array, Certificate, Ctx, Error, Estimator, Fit, FitLog, Info, Model, Numbers, Output, OwnedCsr, Passes, Result,
    Source, Task, X,
    core::{
        choice,
        param::{above, at_least},
        params,
    },
};
use serde::{Deserialize, Serialize};

choice! {
    /// Which category to drop.
    pub enum Drop {
        /// No category.
        None = "none",
        /// The first category of every column.
        First = "first",
        /// The first category of columns with two.
        IfBinary = "if_binary",
    }
}

choice! {
    /// What to do with a category that was not seen in fitting.
    pub enum HandleUnknown {
        /// Raise an error.
        Error = "error",
        /// All columns of that feature are zero.
        Ignore = "ignore",
        /// Treat it as a rare category if rare ones share a column; otherwise ignore it.
        Infrequent = "infrequent_if_exist",
    }
}

params! {
    /// Encodes each categorical column as one column of 0 and 1 for each category.
    pub struct OneHotEncoder {
        /// Which category to drop.
        drop: Drop = Drop::None;
        /// What to do with a category that was not seen in fitting.
        handle_unknown: HandleUnknown = HandleUnknown::Error;
        /// Categories with fewer rows share one column; a value below 1 is a fraction of the rows.
        min_frequency: Option<f64> = None, above(0.0);
        /// Maximum number of columns for one feature; rare categories share the last.
        max_categories: Option<usize> = None, at_least(1.0);
        /// Whether to return sparse output where it is supported.
        sparse_output: bool = true;
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OneHotModel {
    /// Categories of every column in increasing order, NaN last.
    pub categories: Vec<Vec<f64>>,
    /// New column of each category, counted inside its feature; none for the reference.
    pub places: Vec<Vec<Option<u32>>>,
    /// New columns of each feature.
    pub widths: Vec<usize>,
    /// The column that rare categories share.
    pub infrequent: Vec<Option<u32>>,
    pub handle_unknown: HandleUnknown,
    sparse: bool,
}

impl Estimator for OneHotEncoder {
    type Model = OneHotModel;

    const INFO: Info = Info {
        missing: true,
        categories: true,
        // Which categories there are does not depend on weights.
        weights: false,
        ..Info::new("preprocessing", Task::Transformation, "z_jc = 1[x_j = c]", Passes::One)
    };

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<OneHotModel>> {
        let mut model = OneHotModel {
            categories: vec![],
            places: vec![],
            widths: vec![],
            infrequent: vec![],
            handle_unknown: self.handle_unknown,
            sparse: self.sparse_output,
        };
        for counted in levels(data, ctx)? {
            let rare = self.rare(&counted);
            let frequent = rare.iter().filter(|rare| !**rare).count();
            let group = rare.iter().any(|rare| *rare);
            let outcomes = frequent + usize::from(group);
            let first = match self.drop {
                Drop::None => None,
                Drop::First => Some(0),
                Drop::IfBinary => (outcomes == 2).then_some(0),
            };
            // Frequent categories in order, the shared column last, the reference taken out.
            let place = |number: usize| match first {
                Some(first) if number == first => None,
                Some(_) => Some(number as u32 - 1),
                None => Some(number as u32),
            };
            let mut next = 0..;
            let places = rare.iter().map(|rare| {
                let number = if *rare { frequent } else { next.next().expect("without end") };
                place(number)
            });
            model.places.push(places.collect());
            model.infrequent.push(if group { place(frequent) } else { None });
            model.widths.push(outcomes - usize::from(first.is_some()));
            model.categories.push(counted.into_iter().map(|(level, _)| level).collect());
        }
        Ok(Fit::new(model, FitLog::exact(Certificate::None)))
    }
}

impl OneHotEncoder {
    fn rare(&self, counted: &[(f64, f64)]) -> Vec<bool> {
        let total: f64 = counted.iter().map(|(_, weight)| weight).sum();
        let least = self.min_frequency.map_or(0.0, |least| if least < 1.0 { least * total } else { least });
        let mut rare: Vec<bool> = counted.iter().map(|(_, weight)| *weight < least).collect();
        let outcomes = rare.iter().filter(|rare| !**rare).count() + 1;
        if let Some(most) = self.max_categories.filter(|most| *most < outcomes && *most < counted.len()) {
            let mut order: Vec<usize> = (0..counted.len()).collect();
            order.sort_by(|&a, &b| counted[a].1.total_cmp(&counted[b].1));
            order[..counted.len() - (most - 1)].iter().for_each(|&c| rare[c] = true);
        }
        rare
    }
}

impl OneHotModel {
    fn starts(&self) -> Vec<usize> {
        let before = |j: usize| self.widths[..j].iter().sum();
        (0..self.widths.len()).map(before).collect()
    }

    /// New column of a value inside its feature.
    fn place(&self, row: usize, j: usize, value: f64) -> Result<Option<u32>> {
        match levels::find(&self.categories[j], value) {
            Some(c) => Ok(self.places[j][c]),
            None => match self.handle_unknown {
                HandleUnknown::Error => Err(unknown(row, j, value)),
                HandleUnknown::Ignore => Ok(None),
                HandleUnknown::Infrequent => Ok(self.infrequent[j]),
            },
        }
    }
}

impl Model for OneHotModel {
    fn cols(&self) -> usize {
        self.categories.len()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Transform, self.widths.iter().sum()), (Output::Inverse, self.categories.len())]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let (cols, width, starts) = (self.categories.len(), self.widths.iter().sum::<usize>(), self.starts());
        if output == Output::Inverse {
            if x.cols() != width {
                return Err(Error::shape("x", format!("{width} columns"), x.cols()));
            }
            let mut dense = vec![0.0; width];
            for (row, out) in x.iter().zip(out.chunks_exact_mut(cols)) {
                fill(&row, &mut dense);
                for j in 0..cols {
                    let part = &dense[starts[j]..starts[j] + self.widths[j]];
                    let chosen = part.iter().position(|z| *z > 0.5).map(|place| place as u32);
                    // Rare ones are not told apart; no column at all is the reference where there is one.
                    let found = (0..self.categories[j].len()).filter(|&c| self.places[j][c] == chosen);
                    let found: Vec<usize> = found.take(2).collect();
                    out[j] = if let [c] = found[..] { self.categories[j][c] } else { f64::NAN };
                }
            }
            return Ok(());
        }
        out.fill(0.0);
        let mut dense = vec![0.0; cols];
        for (i, row) in x.iter().enumerate() {
            fill(&row, &mut dense);
            for (j, &value) in dense.iter().enumerate() {
                if let Some(place) = self.place(i, j, value)? {
                    out[i * width + starts[j] + place as usize] = 1.0;
                }
            }
        }
        Ok(())
    }

    fn transform_sparse(&self, x: &X) -> Result<Option<OwnedCsr>> {
        if !self.sparse {
            return Ok(None);
        }
        let starts = self.starts();
        let mut out = OwnedCsr::new(self.widths.iter().sum());
        out.columns.reserve(x.rows() * x.cols());
        out.values.reserve(x.rows() * x.cols());
        let mut dense = vec![0.0; self.categories.len()];
        for (i, row) in x.iter().enumerate() {
            fill(&row, &mut dense);
            for (j, &value) in dense.iter().enumerate() {
                if let Some(place) = self.place(i, j, value)? {
                    out.push(starts[j] + place as usize, 1.0);
                }
            }
            out.end_row();
        }
        Ok(Some(out))
    }

    fn feature_names(&self, input: &[String]) -> Option<Vec<String>> {
        let mut names = Vec::new();
        for j in 0..self.categories.len() {
            let name = name_of(input, j);
            let mut part = vec![format!("{name}=other"); self.widths[j]];
            for (level, place) in self.categories[j].iter().zip(&self.places[j]) {
                if let Some(place) = place.filter(|place| Some(*place) != self.infrequent[j]) {
                    part[place as usize] = levels::named(&name, *level);
                }
            }
            names.extend(part);
        }
        Some(names)
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        categories_attribute(&self.categories)
    }

    fn check(&self) -> Result<()> {
        levels::check(&self.categories)?;
        let cols = self.categories.len();
        let same = [self.places.len(), self.widths.len(), self.infrequent.len()].iter().all(|&len| len == cols);
        let inside = |j: usize, place: Option<u32>| place.is_none_or(|place| (place as usize) < self.widths[j]);
        let fits = |j: usize| {
            self.places[j].len() == self.categories[j].len()
                && self.widths[j] <= self.categories[j].len()
                && self.places[j].iter().all(|&place| inside(j, place))
                && inside(j, self.infrequent[j])
        };
        if same && (0..cols).all(fits) {
            return Ok(());
        }
        Err(Error::Data("the stored encoder is inconsistent".into()))
    }
}

/// The categories of every column, one after another, with how many each column has.
pub(super) fn categories_attribute(categories: &[Vec<f64>]) -> Vec<(&'static str, Array)> {
    let counts = categories.iter().map(|levels| levels.len() as i64).collect::<Vec<_>>();
    let all = categories.concat();
    vec![
        ("categories_", Array { shape: vec![all.len()], values: Numbers::Float(all) }),
        ("n_categories_", counts.into()),
    ]
}
