//! Fitted models inside a model: saved as the name of their entry and their bytes, loaded through the list.

use crate::{
    AnyModel, Ctx, Data, Entry, Error, Info, Output, Passes, Result, Shape, Spec, Task, X,
    core::{Batch, Feature, Target, param::DEEPEST},
    engine::tree::first_largest,
    entry, make,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use std::cell::Cell;

/// A fitted model of any kind.
pub struct Member {
    pub entry: &'static Entry,
    pub model: Box<dyn AnyModel>,
}

impl Member {
    /// Fits a spec; a base that cannot do what is asked is refused by name.
    pub fn fit(owner: &str, spec: &Spec, task: Task, data: &Data, ctx: &Ctx) -> Result<Member> {
        let entry = entry(&spec.name)?;
        if entry.info.task != task {
            return Err(Error::Unsupported(format!("{owner}: {} is no model for {task:?}", entry.name)));
        }
        let fit = make(spec)?.fit(data, ctx)?;
        Ok(Member { entry, model: fit.model })
    }

    pub fn has(&self, output: Output) -> bool {
        self.model.outputs().iter().any(|(known, _)| *known == output)
    }

    /// Row-major values of an output.
    pub fn predict(&self, x: &X, output: Output) -> Result<Vec<f64>> {
        let outputs = self.model.outputs();
        let Some((_, width)) = outputs.iter().find(|(known, _)| *known == output) else {
            return Err(Error::Unsupported(format!("{} has no output {output:?}", self.entry.name)));
        };
        if !self.entry.info.missing {
            x.check_finite(0)?;
        }
        let mut out = vec![0.0; x.rows() * width];
        self.model.predict_block(x, output, &mut out)?;
        // What has no value by itself, as a row without neighbours, must not become a part of others.
        if let Some(at) = out.iter().position(|value| value.is_nan()) {
            return Err(Error::value(at / width, None, format!("{} has no prediction here", self.entry.name)));
        }
        Ok(out)
    }

    /// Probabilities, or all of it for the predicted class of a model that has none.
    pub fn shares(&self, x: &X, classes: usize) -> Result<Vec<f64>> {
        if self.has(Output::Probability) {
            return self.predict(x, Output::Probability);
        }
        let mut out = vec![0.0; x.rows() * classes];
        for (row, class) in out.chunks_exact_mut(classes).zip(self.predict(x, Output::Class)?) {
            // A damaged file may hold a model of other classes.
            if let Some(share) = row.get_mut(class as usize) {
                *share = 1.0;
            }
        }
        Ok(out)
    }

    /// Whether a loaded member fits its place.
    pub fn check(&self, cols: usize, classes: usize) -> Result<()> {
        let outputs = self.model.outputs();
        let fits = self.model.cols() == cols
            && outputs.iter().all(|&(output, width)| match output {
                Output::Probability => width == classes,
                _ => true,
            })
            && if classes == 0 { self.has(Output::Value) } else { self.has(Output::Class) };
        if fits { Ok(()) } else { Err(Error::Data(format!("the stored {} does not fit its place", self.entry.name))) }
    }
}

/// What a model takes that hands its rows to these: missing values and categories if all of them do, scaled columns if
/// one wants them.
pub fn taken(info: Info, specs: &[Spec]) -> Info {
    let passes = info.passes;
    Info { passes, ..together(info, specs) }
}

/// The same where every member goes through the rows in its own way: the most demanding one decides where they may be.
/// Each member is asked once, so that models nested in models are not asked again and again.
pub fn together(info: Info, specs: &[Spec]) -> Info {
    // What cannot be made is refused by the fit.
    let members = specs.iter().filter_map(|spec| Some(make(spec).ok()?.info()));
    members.fold(Info { passes: Passes::Many, ..info }, |info, member| Info {
        missing: info.missing && member.missing,
        categories: info.categories && member.categories,
        scale: info.scale || member.scale,
        passes: info.passes.and(member.passes),
        ..info
    })
}

thread_local! {
    /// A file can nest models in models; a hostile one should not exhaust the stack.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

impl Serialize for Member {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.entry.name.is_empty() {
            return Err(ser::Error::custom("a member has a name"));
        }
        (self.entry.name, self.model.to_bytes()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (name, bytes): (String, Vec<u8>) = Deserialize::deserialize(deserializer)?;
        let depth = DEPTH.get();
        if depth >= DEEPEST {
            return Err(de::Error::custom("models are nested too deeply"));
        }
        DEPTH.set(depth + 1);
        let loaded = entry(&name).and_then(|entry| Ok(Member { entry, model: (entry.load)(&bytes)? }));
        DEPTH.set(depth);
        loaded.map_err(de::Error::custom)
    }
}

/// The rows of a batch with other weights.
pub fn reweighted<'a>(batch: &Batch<'a>, features: &'a [Feature], weights: &'a [f64]) -> Result<Data<'a>> {
    Data::new(batch.x).target(batch.y)?.features(features)?.weights(weights)
}

/// Some rows and columns as an array of their own, for what cannot be said by weights.
pub struct Subset {
    pub x: Vec<f64>,
    pub cols: usize,
    real: Vec<f64>,
    codes: Vec<u32>,
    weights: Option<Vec<f64>>,
    features: Vec<Feature>,
}

impl Subset {
    pub fn new(batch: &Batch, features: &[Feature], rows: &[u32], columns: Option<&[u32]>) -> Subset {
        let all: Vec<u32> = (0..batch.x.cols() as u32).collect();
        let columns = columns.unwrap_or(&all);
        let mut dense = vec![0.0; batch.x.cols()];
        let mut x = Vec::with_capacity(rows.len() * columns.len());
        let (mut real, mut codes) = (vec![], vec![]);
        for &row in rows {
            let row = row as usize;
            dense.fill(0.0);
            batch.x.row(row).for_each(|j, value| dense[j] = value);
            x.extend(columns.iter().map(|&j| dense[j as usize]));
            match batch.y {
                Target::Real { values, cols } => real.extend_from_slice(&values[row * cols..(row + 1) * cols]),
                Target::Class { codes: from, .. } => codes.push(from[row]),
                Target::None => {}
            }
        }
        let weights = batch.weights.map(|weights| rows.iter().map(|&row| weights[row as usize]).collect());
        let features =
            if features.is_empty() { vec![] } else { columns.iter().map(|&j| features[j as usize]).collect() };
        Subset { x, cols: columns.len(), real, codes, weights, features }
    }

    pub fn data(&self, y: &Target) -> Result<Data<'_>> {
        let data = Data::new(X::dense(&self.x, self.cols)?).features(&self.features[..])?;
        let data = match *y {
            Target::Real { cols, .. } => data.reals(&self.real, cols)?,
            Target::Class { classes, .. } => data.classes(&self.codes, classes)?,
            Target::None => data,
        };
        match &self.weights {
            Some(weights) => data.weights(weights),
            None => Ok(data),
        }
    }
}

/// Class with the largest share in each row.
pub fn classes_of(shares: &[f64], classes: usize, out: &mut [f64]) {
    out.iter_mut().zip(shares.chunks_exact(classes)).for_each(|(out, row)| *out = first_largest(row) as f64);
}

/// Predicted seconds of a fit of a member; see [`crate::Estimator::cost`]. A spec that is refused costs nothing before
/// it is.
pub fn cost(spec: &Spec, shape: &Shape) -> f64 {
    make(spec).map_or(0.0, |estimator| estimator.cost(shape))
}
