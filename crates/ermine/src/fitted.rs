//! What a fit can do beyond predicting: be judged, be saved, be loaded again.

use crate::{
    AnyModel, Data, Error, Estimator, Fit, Label, Result, Source, Target, Task, file,
    metrics::{Metric, default_metric},
    search::output_for,
};
use std::path::Path;

/// Judging and saving a fit.
pub trait Fitted {
    /// How well the model predicts these data: the share of right classes, or R² of predicted numbers.
    fn score(&self, data: &Data) -> Result<f64>;

    /// The score by a metric of [the list](crate::metrics::METRICS), more being better.
    fn score_by(&self, data: &Data, metric: &Metric) -> Result<f64>;

    /// Writes the fit to a file, which is there as a whole or not at all. [`Load::load`] reads it.
    fn save(&self, path: impl AsRef<Path>) -> Result<()>;

    /// What [`Fitted::save`] writes.
    fn to_bytes(&self) -> Vec<u8>;
}

impl<M: AnyModel> Fitted for Fit<M> {
    fn score(&self, data: &Data) -> Result<f64> {
        let task = match Source::shape(data).target {
            crate::core::TargetKind::Class(_) => Task::Classification,
            _ => Task::Regression,
        };
        self.score_by(data, default_metric(task).expect("both tasks have one"))
    }

    fn score_by(&self, data: &Data, metric: &Metric) -> Result<f64> {
        let ctx = crate::Ctx::default();
        let batch = data.batch();
        let predicted = output_for(&ctx, &self.model, &batch, metric, self.about.missing)?;
        let Target::Class { codes, classes } = batch.y else {
            return metric.score(&batch.y, &predicted, batch.weights);
        };
        // The data may number their labels in another way, and have some that the fit has never seen.
        let (fitted, here) = (self.labels(), Source::labels(data));
        let (codes, classes) = if fitted.is_empty() || here.is_empty() || fitted == here {
            (codes.to_vec(), classes.max(fitted.len()))
        } else {
            let of = |label: &Label| fitted.iter().position(|known| known == label).unwrap_or(fitted.len()) as u32;
            let numbers: Vec<u32> = here.iter().map(of).collect();
            let classes = numbers.iter().map(|&number| number as usize + 1).fold(fitted.len(), usize::max);
            (codes.iter().map(|&code| numbers[code as usize]).collect(), classes)
        };
        metric.score(&Target::Class { codes: &codes, classes }, &predicted, batch.weights)
    }

    fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        file::write(path.as_ref(), &self.to_bytes())
    }

    fn to_bytes(&self) -> Vec<u8> {
        file::encode(&self.about, &self.log, &self.model.to_bytes())
    }
}

/// Reading a fit that was saved, with the type of its model: `Ridge::load("ridge.fit")`. [`load`] reads one of any
/// type.
pub trait Load: Estimator {
    fn load(path: impl AsRef<Path>) -> Result<Fit<Self::Model>> {
        let path = path.as_ref();
        Self::from_bytes(&file::read(path)?).map_err(|error| file::in_file(path, error))
    }

    fn from_bytes(bytes: &[u8]) -> Result<Fit<Self::Model>> {
        let (about, log, model) = file::decode(bytes)?;
        if about.name != Self::NAME {
            return Err(Error::Data(format!("this is a fit of {}, not of {}", about.name, Self::NAME)));
        }
        Ok(Fit { about, ..Fit::new(crate::core::model::load::<Self>(&model)?, log) })
    }
}

impl<E: Estimator> Load for E {}

/// A saved fit of any estimator, pipelines included.
pub fn load(path: impl AsRef<Path>) -> Result<Fit<Box<dyn AnyModel>>> {
    let path = path.as_ref();
    from_bytes(&file::read(path)?).map_err(|error| file::in_file(path, error))
}

/// What [`Fitted::to_bytes`] made, as a fit again.
pub fn from_bytes(bytes: &[u8]) -> Result<Fit<Box<dyn AnyModel>>> {
    let (about, log, model) = file::decode(bytes)?;
    let model = crate::pipeline::load(&about.name, &model)?;
    Ok(Fit { about, ..Fit::new(model, log) })
}
