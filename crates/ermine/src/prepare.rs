//! The default preparation: raw columns (numbers with NaN, categories as codes) into what a model can take.
//!
//! | column | becomes |
//! | --- | --- |
//! | number | missing filled with the mean; brought to mean 0 and deviation 1 where the model wants that |
//! | category | one column of 0 and 1 for each level; a missing or never seen level is all zeros |
//! | category of many levels | one column for each frequent level, and one for all that is rare, missing or never seen |
//!
//! Models that take NaN or codes themselves get them as they are. What is learnt is one sum over the rows, so a
//! preparation comes out the same from memory, disk and shards, and it is learnt inside a fold like any model.

use crate::{
    Ctx, Error, Feature, Info, Matrix, OwnedCsr, OwnedX, Result, Source, X,
    core::{
        Batch, Reduce,
        data::Row,
        reduce,
        source::{Buffers, Shape},
        stats::Moments,
    },
    engine::{columns::frequent, tree::level},
};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What the model at the end wants.
#[derive(Clone, Copy, Debug)]
pub struct Wants {
    pub scale: bool,
    /// Leave out the first level of each category.
    pub reference_level: bool,
    pub takes_missing: bool,
    pub takes_categories: bool,
    pub takes_sparse: bool,
}

impl From<&Info> for Wants {
    fn from(info: &Info) -> Self {
        Wants {
            scale: info.scale,
            reference_level: info.reference_level,
            takes_missing: info.missing,
            takes_categories: info.categories,
            takes_sparse: info.sparse,
        }
    }
}

/// A learnt preparation: plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preparation {
    steps: Vec<Step>,
    sparse: bool,
}

/// What becomes of one raw column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// As it is.
    Keep(Feature),
    /// `(x - centre) / scale`, NaN becoming `fill` first.
    Number { fill: f64, centre: f64, scale: f64 },
    /// One column for each level from `first` on.
    Levels { first: u32, levels: u32 },
    /// The code of its level, and one more for what is missing or was never seen.
    Code { levels: u32 },
    /// One column for each of these levels, in rising order, and a last one for every other value.
    Frequent { kept: Vec<u32> },
}

impl Step {
    fn width(&self) -> usize {
        match self {
            Step::Levels { first, levels } => (levels - first) as usize,
            Step::Frequent { kept } => kept.len() + 1,
            _ => 1,
        }
    }

    /// A category by its rows of each level.
    fn one_hot(levels: u32, counts: &[u64], reference_level: bool) -> Step {
        let frequent = frequent(counts);
        let first = u32::from(reference_level && levels > 1);
        if (0..counts.len()).all(|level| frequent(level) || counts[level] == 0) {
            return Step::Levels { first, levels };
        }
        let kept = (0..levels).filter(|&level| frequent(level as usize));
        Step::Frequent { kept: kept.skip(first as usize).collect() }
    }
}

/// The deviation, or where its square is beyond a double, what brings every double to where squares are not.
fn scale(moments: &Moments) -> f64 {
    let scale = moments.scale(0);
    if scale.is_finite() { scale } else { 2f64.powi(512) }
}

/// What a prepared column is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Origin {
    /// Raw column.
    pub column: usize,
    /// Level, if the column was a category and is not any more; [`Origin::OTHER`] for all that have no column of their
    /// own.
    pub level: Option<u32>,
}

impl Origin {
    pub const OTHER: u32 = u32::MAX;
}

impl Preparation {
    /// Learns from raw rows.
    pub fn fit(data: &dyn Source, ctx: &Ctx, wants: &Wants) -> Result<Preparation> {
        let shape = data.shape();
        let features = match data.features() {
            [] => vec![Feature::Number; shape.cols],
            features => features.to_vec(),
        };
        let (moments, counts) = reduce(ctx, data, &PresentMoments { features: &features })?;
        let number = |j: &usize| features[*j] == Feature::Number && moments[*j].weight > 0.0;
        if let Some(column) = (0..features.len()).filter(number).find(|&j| !moments[j].mean[0].is_finite()) {
            let problem = "its values are so large that they have no mean".to_string();
            return Err(Error::value(None, column, problem));
        }
        let steps = features.iter().zip(moments.iter().zip(&counts));
        let steps = steps.map(|(feature, (moments, counts))| match *feature {
            Feature::Category { .. } if wants.takes_categories && wants.takes_missing => Step::Keep(*feature),
            Feature::Category { levels } if wants.takes_categories => Step::Code { levels },
            Feature::Category { levels } => Step::one_hot(levels, counts, wants.reference_level),
            Feature::Number if wants.takes_missing && !wants.scale => Step::Keep(Feature::Number),
            Feature::Number => Step::Number {
                fill: moments.mean[0],
                centre: if wants.scale { moments.mean[0] } else { 0.0 },
                scale: if wants.scale && moments.weight > 0.0 { scale(moments) } else { 1.0 },
            },
        });
        let steps: Vec<Step> = steps.collect();
        let width: usize = steps.iter().map(Step::width).sum();
        // Sparse rows pay when most columns are levels that a row does not have.
        let sparse = wants.takes_sparse && width > 64 && steps.len() * 4 < width;
        Ok(Preparation { steps, sparse })
    }

    /// What becomes of each raw column.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Raw columns.
    pub fn inputs(&self) -> usize {
        self.steps.len()
    }

    /// Prepared columns.
    pub fn outputs(&self) -> usize {
        self.steps.iter().map(Step::width).sum()
    }

    /// What each prepared column is made of.
    pub fn origins(&self) -> Vec<Origin> {
        let mut origins = Vec::new();
        for (column, step) in self.steps.iter().enumerate() {
            match step {
                Step::Levels { first, levels } => {
                    origins.extend((*first..*levels).map(|level| Origin { column, level: Some(level) }));
                }
                Step::Frequent { kept } => {
                    let levels = kept.iter().copied().chain([Origin::OTHER]);
                    origins.extend(levels.map(|level| Origin { column, level: Some(level) }));
                }
                _ => origins.push(Origin { column, level: None }),
            }
        }
        origins
    }

    /// What each prepared column means.
    pub fn features(&self) -> Vec<Feature> {
        let mut features = Vec::new();
        for step in &self.steps {
            match step {
                Step::Keep(feature) => features.push(*feature),
                Step::Code { levels } => features.push(Feature::Category { levels: levels + 1 }),
                step => features.extend(std::iter::repeat_n(Feature::Number, step.width())),
            }
        }
        features
    }

    /// The scale and centre that a coefficient of a prepared column refers to; `None` for levels and kept columns.
    pub fn scaling(&self, column: usize) -> Option<(f64, f64)> {
        match self.steps[column] {
            Step::Number { centre, scale, .. } => Some((centre, scale)),
            _ => None,
        }
    }

    /// What stands for a missing number; `None` where the model takes it.
    pub fn filling(&self, column: usize) -> Option<f64> {
        match self.steps[column] {
            Step::Number { fill, .. } => Some(fill),
            _ => None,
        }
    }

    /// The level that has no column of its own, so that the others are compared with it.
    pub fn reference(&self, column: usize) -> Option<u32> {
        match self.steps[column] {
            Step::Levels { first: 1, .. } => Some(0),
            _ => None,
        }
    }

    /// Whether a preparation read from a file is what it says.
    pub fn check(&self) -> Result<()> {
        let sound = |step: &Step| match *step {
            Step::Levels { first, levels } => first <= levels && levels <= 1 << 24,
            Step::Frequent { ref kept } => kept.is_sorted_by(|a, b| a < b) && kept.last().is_none_or(|&l| l <= 1 << 24),
            Step::Code { levels } => levels <= 1 << 24,
            Step::Number { fill, centre, scale } => fill.is_finite() && centre.is_finite() && scale.is_finite(),
            Step::Keep(_) => true,
        };
        if self.steps.iter().all(sound) { Ok(()) } else { Err(Error::Data("the stored preparation is damaged".into())) }
    }

    /// Calls `put(column, value)` for each value of a prepared row that may differ from zero.
    #[inline(always)]
    fn each(&self, row: &[f64], mut put: impl FnMut(usize, f64)) {
        let mut at = 0;
        for (step, &value) in self.steps.iter().zip(row) {
            match *step {
                Step::Keep(_) => put(at, value),
                Step::Number { fill, centre, scale } => {
                    put(at, (if value.is_nan() { fill } else { value } - centre) / scale);
                }
                Step::Code { levels } => {
                    let known = value >= 0.0 && value < f64::from(levels);
                    put(at, if known { value } else { f64::from(levels) });
                }
                Step::Frequent { ref kept } => {
                    let place = kept.binary_search_by(|level| f64::from(*level).total_cmp(&value));
                    put(at + place.unwrap_or(kept.len()), 1.0);
                }
                Step::Levels { first, levels } => {
                    if value >= f64::from(first) && value < f64::from(levels) {
                        put(at + value as usize - first as usize, 1.0);
                    }
                }
            }
            at += step.width();
        }
    }

    /// Prepared rows. Infinite values and NaN that nothing can be done about are left for the model to refuse.
    pub fn apply(&self, x: &X) -> Result<OwnedX> {
        if x.cols() != self.inputs() {
            return Err(Error::shape("rows", format!("{} columns", self.inputs()), x.cols()));
        }
        let width = self.outputs();
        let mut buffer = vec![0.0; x.cols()];
        if self.sparse {
            let mut csr = OwnedCsr::new(width);
            for row in x.iter() {
                self.each(raw(row, &mut buffer), |j, value| {
                    if value != 0.0 {
                        csr.push(j, value);
                    }
                });
                csr.end_row();
            }
            return Ok(OwnedX::Sparse(csr));
        }
        let mut out = Matrix::zeros(x.rows(), width);
        self.fill(x, &mut out.values, &mut buffer);
        Ok(OwnedX::Dense(out))
    }

    fn fill(&self, x: &X, out: &mut [f64], buffer: &mut [f64]) {
        for (row, out) in x.iter().zip(out.chunks_exact_mut(self.outputs().max(1))) {
            self.each(raw(row, buffer), |j, value| out[j] = value);
        }
    }
}

fn raw<'a>(row: Row<'a>, buffer: &'a mut [f64]) -> &'a [f64] {
    match row {
        Row::Dense(row) => row,
        sparse => {
            buffer.fill(0.0);
            sparse.for_each(|j, value| buffer[j] = value);
            buffer
        }
    }
}

/// A source whose rows are prepared as they are read, for rows that do not fit in memory.
pub struct PreparedSource<'a> {
    pub raw: &'a dyn Source,
    pub preparation: &'a Preparation,
    features: Vec<Feature>,
}

impl<'a> PreparedSource<'a> {
    pub fn new(raw: &'a dyn Source, preparation: &'a Preparation) -> Self {
        PreparedSource { raw, preparation, features: preparation.features() }
    }
}

impl Source for PreparedSource<'_> {
    fn shape(&self) -> Shape {
        Shape { cols: self.preparation.outputs(), sparse: self.preparation.sparse, ..self.raw.shape() }
    }

    fn held(&self) -> Range<usize> {
        self.raw.held()
    }

    fn read<'b>(&'b self, rows: Range<usize>, buffers: &'b mut Buffers) -> Result<Batch<'b>> {
        let prepared = self.preparation.apply(&self.raw.read(rows.clone(), buffers)?.x)?;
        let x = buffers.made.insert(prepared).x();
        // A source that lends keeps its target; one that copies has put it into the buffers.
        if let Some(whole) = self.raw.memory() {
            let first = rows.start - self.held().start;
            return Ok(Batch { x, ..whole.slice(first..first + rows.len()) });
        }
        let y = match self.raw.shape().target {
            crate::core::TargetKind::None => crate::Target::None,
            crate::core::TargetKind::Real(cols) => crate::Target::Real { values: &buffers.y, cols },
            crate::core::TargetKind::Class(classes) => crate::Target::Class { codes: &buffers.codes, classes },
        };
        let weights = self.raw.shape().weighted.then_some(&buffers.weights[..]);
        Ok(Batch { x, y, weights, first: rows.start })
    }

    fn features(&self) -> &[Feature] {
        &self.features
    }
}

/// Moments of each column over the rows where it is present; of a category the rows of each level.
struct PresentMoments<'a> {
    features: &'a [Feature],
}

impl Reduce for PresentMoments<'_> {
    type Stat = (Vec<Moments>, Vec<Vec<u64>>);

    fn zero(&self) -> Self::Stat {
        let counts = |feature: &Feature| match *feature {
            Feature::Category { levels } => vec![0; levels as usize],
            Feature::Number => vec![],
        };
        (vec![Moments::new(1); self.features.len()], self.features.iter().map(counts).collect())
    }

    fn add(&self, (stat, counts): &mut Self::Stat, batch: &Batch) -> Result<()> {
        let (mut present, mut weights) = (Vec::new(), Vec::new());
        let dense;
        let x = match batch.x {
            X::Dense(x) => x.values,
            X::Sparse(_) => {
                dense = batch.x.to_matrix();
                &dense.values
            }
        };
        for (j, counts) in counts.iter_mut().enumerate().filter(|(_, counts)| !counts.is_empty()) {
            for value in x.iter().skip(j).step_by(batch.x.cols()) {
                if let Some(count) = level(*value).and_then(|level| counts.get_mut(level)) {
                    *count += 1;
                }
            }
        }
        for (j, moments) in stat.iter_mut().enumerate().filter(|(j, _)| self.features[*j] == Feature::Number) {
            present.clear();
            weights.clear();
            for i in 0..batch.rows() {
                let value = x[i * batch.x.cols() + j];
                if value.is_infinite() {
                    return Err(Error::value(batch.first + i, j, "the value is infinity"));
                }
                if !value.is_nan() {
                    present.push(value);
                    weights.push(batch.weight(i));
                }
            }
            if !present.is_empty() {
                moments.add(&X::dense(&present, 1)?, Some(&weights));
            }
        }
        Ok(())
    }

    fn merge(&self, (left, counts): &mut Self::Stat, (right, more): Self::Stat) {
        left.iter_mut().zip(right).for_each(|(left, right)| left.merge(right));
        let pairs = counts.iter_mut().flatten().zip(more.into_iter().flatten());
        pairs.for_each(|(count, more)| *count += more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Data;

    const WANTS: Wants = Wants {
        scale: true,
        reference_level: false,
        takes_missing: false,
        takes_categories: false,
        takes_sparse: false,
    };

    #[test]
    fn fills_scales_and_spreads_levels() {
        let raw = [1.0, 0.0, 3.0, 2.0, f64::NAN, 1.0, 5.0, f64::NAN];
        let features = vec![Feature::Number, Feature::Category { levels: 3 }];
        let data = Data::new(X::dense(&raw, 2).unwrap()).features(features).unwrap();
        let preparation = Preparation::fit(&data, &Ctx::new(0), &WANTS).unwrap();
        let OwnedX::Dense(out) = preparation.apply(&data.batch().x).unwrap() else { panic!("dense") };
        let z = 2.0 / (8.0f64 / 3.0).sqrt();
        for (row, expected) in
            [[-z, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0], [z, 0.0, 0.0, 0.0]].iter().enumerate()
        {
            (0..4).for_each(|j| assert!((out[(row, j)] - expected[j]).abs() < 1e-12, "{row} {j} {}", out[(row, j)]));
        }
        let reference = Preparation::fit(&data, &Ctx::new(0), &Wants { reference_level: true, ..WANTS }).unwrap();
        assert_eq!(reference.origins()[1], Origin { column: 1, level: Some(1) });
    }

    /// Transformers of the list, one after the other.
    fn through(chain: &[&str], data: &Data) -> Matrix {
        let mut x = data.batch().x.to_matrix();
        for text in chain {
            let estimator = crate::make(&crate::Spec::parse(text).unwrap()).unwrap();
            let data = Data::new(X::dense(&x.values, x.cols).unwrap()).features(data.features().to_vec()).unwrap();
            let fit = estimator.fit(&data, &Ctx::new(0)).unwrap();
            let missing = estimator.info().missing;
            x = crate::predict(&Ctx::new(0), &*fit.model, &data.batch().x, crate::Output::Transform, missing).unwrap();
        }
        x
    }

    /// What is learnt here in one sum is what the transformers of the list learn, each in its own.
    #[test]
    fn is_the_transformers_of_the_list_in_one_pass() {
        let one_hot = "OneHotEncoder(handle_unknown=infrequent_if_exist,min_frequency=3,sparse_output=false)";
        let plain = "OneHotEncoder(handle_unknown=ignore,sparse_output=false)";
        for seed in 0..50 {
            let mut rng = Ctx::new(seed).rng("table", 0);
            let scale = 10f64.powi((seed % 9) as i32 - 4);
            let whole: Vec<f64> = (0..600).map(|_| scale * (rng.uniform() - 0.3) + 7.0).collect();
            let gaps: Vec<f64> = whole.iter().map(|&x| if rng.uniform() < 0.1 { f64::NAN } else { x }).collect();
            let [whole, gaps] = [&whole, &gaps].map(|values| Data::new(X::dense(values, 3).unwrap()));
            let own = |data: &Data, wants: &Wants| {
                let preparation = Preparation::fit(data, &Ctx::new(0), wants).unwrap();
                preparation.apply(&data.batch().x).unwrap().x().to_matrix()
            };
            let close = |a: &Matrix, b: &Matrix| {
                assert_eq!((a.rows, a.cols), (b.rows, b.cols));
                a.values.iter().zip(&b.values).all(|(a, b)| (a - b).abs() <= 1e-12 * (1.0 + a.abs()))
            };
            assert!(close(&own(&whole, &WANTS), &through(&["StandardScaler"], &whole)));
            let unscaled = Wants { scale: false, ..WANTS };
            assert!(close(&own(&gaps, &unscaled), &through(&["SimpleImputer"], &gaps)));

            let mut rng = Ctx::new(seed).rng("levels", 0);
            for (levels, encoder) in [(7, plain), (40, one_hot)] {
                // Squared, so that some levels are rare; each of the few has a row, or there would be no column for it.
                let mut code =
                    |i: usize| if i < 7 { i as f64 } else { (rng.uniform().powi(2) * f64::from(levels)).floor() };
                let codes: Vec<f64> = (0..150).map(&mut code).collect();
                let features = vec![Feature::Category { levels }];
                let data = Data::new(X::dense(&codes, 1).unwrap()).features(features).unwrap();
                assert_eq!(own(&data, &WANTS), through(&[encoder], &data), "{levels} levels, {seed}");
            }
        }
    }

    #[test]
    fn rare_levels_share_a_column_with_the_missing() {
        // Levels 0 and 1 have six rows each, ten others one, 12 none.
        let raw: Vec<f64> = (0..22).map(|i| if i < 12 { (i % 2) as f64 } else { (i - 10) as f64 }).collect();
        let data = Data::new(X::dense(&raw, 1).unwrap()).features(vec![Feature::Category { levels: 13 }]).unwrap();
        let preparation = Preparation::fit(&data, &Ctx::new(0), &WANTS).unwrap();
        let levels: Vec<_> = preparation.origins().iter().map(|origin| origin.level).collect();
        assert_eq!(levels, [Some(0), Some(1), Some(Origin::OTHER)]);
        let new = X::dense(&[1.0, 7.0, 12.0, f64::NAN, 99.0], 1).unwrap();
        let expected = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]];
        assert_eq!(preparation.apply(&new).unwrap().x().to_matrix().values, expected.concat());
        let stored: Preparation = serde_json::from_str(&serde_json::to_string(&preparation).unwrap()).unwrap();
        assert!(stored == preparation && stored.check().is_ok());
    }

    #[test]
    fn sparse_rows_hold_the_same_numbers() {
        let raw: Vec<f64> = (0..3000).map(|i| if i % 2 == 0 { (i * 7 % 90) as f64 } else { i as f64 }).collect();
        let features = vec![Feature::Category { levels: 90 }, Feature::Number];
        let data = Data::new(X::dense(&raw, 2).unwrap()).features(features).unwrap();
        let dense = Preparation::fit(&data, &Ctx::new(0), &WANTS).unwrap();
        let sparse = Preparation::fit(&data, &Ctx::new(0), &Wants { takes_sparse: true, ..WANTS }).unwrap();
        let (dense, sparse) = (dense.apply(&data.batch().x).unwrap(), sparse.apply(&data.batch().x).unwrap());
        assert!(matches!(sparse, OwnedX::Sparse(_)));
        assert_eq!(dense.x().to_matrix(), sparse.x().to_matrix());
    }

    #[test]
    fn preparing_while_reading_is_preparing_before() {
        let raw: Vec<f64> = (0..20_000).map(|i| if i % 97 == 0 { f64::NAN } else { (i as f64).sin() }).collect();
        let y: Vec<f64> = (0..10_000).map(f64::from).collect();
        let data = Data::new(X::dense(&raw, 2).unwrap()).real(&y).unwrap();
        let preparation = Preparation::fit(&data, &Ctx::new(0), &WANTS).unwrap();
        let before = preparation.apply(&data.batch().x).unwrap();
        let source = PreparedSource::new(&data, &preparation);
        let mut buffers = Buffers::default();
        let batch = source.read(4000..6000, &mut buffers).unwrap();
        assert_eq!(batch.x.to_matrix(), before.x().slice(4000..6000).to_matrix());
        assert_eq!(batch.y.real(), &y[4000..6000]);
    }
}
