//! A fitted model: what it says of rows, and the story of its fit.

use crate::{
    Ctx, Error, Label, Matrix, Result, Source, ToRows,
    log::FitLog,
    model::{AnyModel, Array, Output, predict},
};
use serde::{Deserialize, Serialize};

/// A fitted model with the story of its fit.
pub struct Fit<M> {
    pub model: M,
    pub log: FitLog,
    /// What the fit found out about its own rows (labels, out-of-bag predictions): not part of the model.
    pub rows: Vec<(&'static str, Array)>,
    pub about: About,
}

/// What predictions need to know beside the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The estimator, by its name in the list.
    pub name: String,
    /// Whether NaN is taken as missing.
    pub missing: bool,
    /// What the classes are called, by their number; empty where they are numbers.
    pub labels: Vec<Label>,
}

impl<M> Fit<M> {
    pub fn new(model: M, log: FitLog) -> Self {
        Fit { model, log, rows: Vec::new(), about: About::default() }
    }

    /// The same fit of another form of the model.
    pub fn map<N>(self, f: impl FnOnce(M) -> N) -> Fit<N> {
        Fit { model: f(self.model), log: self.log, rows: self.rows, about: self.about }
    }

    /// The fit of the estimator `name` on these data.
    pub fn of(self, name: &str, missing: bool, data: &dyn Source) -> Self {
        Fit { about: About { name: name.into(), missing, labels: data.labels().to_vec() }, ..self }
    }
}

impl<M: AnyModel + 'static> Fit<M> {
    /// Without the type of its model.
    pub fn boxed(self) -> Fit<Box<dyn AnyModel>> {
        self.map(|model| Box::new(model) as Box<dyn AnyModel>)
    }
}

impl<M: AnyModel> Fit<M> {
    /// What the model is for, one number for each row: the predicted value, the number of the class or of the cluster.
    /// With several targets the numbers of a row follow one another.
    pub fn predict(&self, x: &(impl ToRows + ?Sized)) -> Result<Vec<f64>> {
        let answers = [Output::Value, Output::Class, Output::Cluster];
        match self.model.outputs().into_iter().find(|(output, _)| answers.contains(output)) {
            Some((output, _)) => Ok(self.output(x, output, &Ctx::default())?.values),
            None => {
                let problem = format!("{} has no prediction", self.about.name);
                Err(Error::Unsupported(problem).hint("ask for what it computes with 'transform' or 'output'"))
            }
        }
    }

    /// The predicted classes by the names that [`Data::labels`](crate::Data::labels) gave them; by number where they
    /// had none.
    pub fn predict_labels(&self, x: &(impl ToRows + ?Sized)) -> Result<Vec<Label>> {
        let codes = self.output(x, Output::Class, &Ctx::default())?;
        let name = |&code: &f64| match self.about.labels.get(code as usize) {
            Some(label) => label.clone(),
            None => Label::from(code as i64),
        };
        Ok(codes.values.iter().map(name).collect())
    }

    /// The probability of each class (a column each, in the order of [`Fit::labels`]) or of each component of a
    /// mixture.
    pub fn predict_proba(&self, x: &(impl ToRows + ?Sized)) -> Result<Matrix> {
        self.output(x, Output::Probability, &Ctx::default())
    }

    /// New features from old ones.
    pub fn transform(&self, x: &(impl ToRows + ?Sized)) -> Result<Matrix> {
        self.output(x, Output::Transform, &Ctx::default())
    }

    /// Anything else that the model computes, on the threads of `ctx`.
    pub fn output(&self, x: &(impl ToRows + ?Sized), output: Output, ctx: &Ctx) -> Result<Matrix> {
        predict(ctx, &self.model, &x.to_rows()?.x(), output, self.about.missing)
    }

    /// What the classes are called, by their number.
    pub fn labels(&self) -> &[Label] {
        &self.about.labels
    }
}
