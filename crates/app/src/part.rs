//! A preparation and the model fitted behind it: what a fold, a candidate and a run fit.

use crate::{
    frame::Rows,
    recipe::{Recipe, Texts, Whole},
    score::{self, Predictions},
};
use ermine::{AnyEstimator, AnyModel, Ctx, Data, Entry, Fit, Result, X, prepare::Wants};

pub struct Part {
    pub recipe: Recipe,
    pub fit: Fit<Box<dyn AnyModel>>,
}

impl Part {
    /// Learns the preparation from these rows and nothing else, then the model. Errors speak of columns by number.
    pub fn fit(estimator: &dyn AnyEstimator, rows: &Rows, ctx: &Ctx) -> Result<Part> {
        let recipe = Part::prepare(estimator, rows, ctx)?;
        Part::fit_behind(estimator, recipe, rows, ctx)
    }

    pub fn prepare(estimator: &dyn AnyEstimator, rows: &Rows, ctx: &Ctx) -> Result<Recipe> {
        let data = rows.data()?;
        let wants = Wants::from(&estimator.info());
        let wants = Wants { scale: wants.scale && !rows.one_unit, ..wants };
        Recipe::fit(&data.batch(), &rows.features, &rows.texts, ctx, &wants)
    }

    pub fn fit_behind(estimator: &dyn AnyEstimator, recipe: Recipe, rows: &Rows, ctx: &Ctx) -> Result<Part> {
        let raw = rows.data()?;
        let batch = raw.batch();
        let prepared = recipe.apply(&batch.x, &rows.texts, ctx)?;
        let mut data = Data::new(prepared.x()).target(batch.y)?.features(recipe.features())?;
        if let Some(weights) = batch.weights {
            data = data.weights(weights)?;
        }
        Ok(Part { fit: estimator.fit(&data, ctx)?, recipe })
    }

    /// Predictions for raw rows, as the metrics want them.
    pub fn outputs(&self, entry: &Entry, x: &X, texts: &Texts, ctx: &Ctx) -> Result<Predictions> {
        let prepared = self.recipe.apply(x, texts, ctx)?;
        score::predictions(ctx, entry, &*self.fit.model, &prepared.x())
    }

    /// As one model of raw rows.
    pub fn whole<'a>(&'a self, texts: &'a Texts, ctx: &Ctx) -> Whole<'a> {
        Whole { recipe: &self.recipe, model: &*self.fit.model, texts, ctx: ctx.clone() }
    }
}
