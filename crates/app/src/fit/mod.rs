//! A preparation and the model fitted behind it: what a fold, a candidate and a run fit.

pub mod checkpoint;
mod preparation;

pub use checkpoint::CheckpointFile;
pub use preparation::{Recipe, Stored, Texts, Whole, most_terms};

use crate::judge::{self, Predictions};
use ermine::{AnyModel, Ctx, Entry, Error, Fit, FitLog, Numbers, Result, X};

pub struct Pipeline {
    pub recipe: Recipe,
    pub fit: Fit<Box<dyn AnyModel>>,
}

impl Pipeline {
    /// Predictions for raw rows, as the metrics want them.
    pub fn predict(&self, entry: &Entry, x: &X, texts: &Texts, ctx: &Ctx) -> Result<Predictions> {
        let prepared = self.recipe.apply(x, texts, ctx)?;
        judge::predictions(ctx, entry, &*self.fit.model, &prepared.x())
    }

    /// As one model of raw rows.
    pub fn whole<'a>(&'a self, texts: &'a Texts, ctx: &Ctx) -> Whole<'a> {
        Whole { recipe: &self.recipe, model: &*self.fit.model, texts, ctx: ctx.clone() }
    }

    /// The cluster of each row that was fitted here; empty if there are none.
    pub fn labels(&self) -> &[i64] {
        match self.fit.rows.iter().find(|(name, _)| *name == "labels_").map(|(_, labels)| &labels.values) {
            Some(Numbers::Int(labels)) => labels,
            _ => &[],
        }
    }

    /// Rows in each cluster, of those that were fitted here.
    pub fn cluster_sizes(&self) -> Vec<usize> {
        let labels = self.labels();
        let mut sizes = vec![0; labels.iter().max().map_or(0, |most| (*most + 1).max(0) as usize)];
        labels.iter().filter(|label| **label >= 0).for_each(|label| sizes[*label as usize] += 1);
        sizes
    }

    /// For another worker. What the fit found out about its own rows stays here.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let whole = (self.recipe.store(), self.fit.model.to_bytes(), &self.fit.log);
        postcard::to_stdvec(&whole).map_err(|error| Error::Data(format!("a message: {error}")))
    }

    pub fn from_bytes(model: &str, bytes: &[u8]) -> Result<Pipeline> {
        let (recipe, bytes, log): (Stored, Vec<u8>, FitLog) =
            postcard::from_bytes(bytes).map_err(|error| Error::Data(format!("a message: {error}")))?;
        let model = (ermine::entry(model)?.load)(&bytes)?;
        Ok(Pipeline { recipe: Recipe::load(recipe)?, fit: Fit::new(model, log) })
    }
}
