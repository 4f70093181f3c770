//! SelectFromModel and RFE: keep the columns that a model relies on.
//!
//! The importance of a column is what the model itself says: `feature_importances_`, or the size of its coefficients,
//! added up over classes or targets. SelectFromModel fits once and keeps columns of at least a threshold. RFE
//! (recursive feature elimination; Guyon et al. 2002) fits, leaves out the least important columns, and fits again on
//! the rest until few enough are left; ranking_ is 1 for those kept and rises in the order of leaving. Cost: one fit,
//! or p / step fits. Coefficients mean something only when the columns have one scale.

use super::selection::{ChosenBy, SelectionModel};
use crate::{
    Certificate, Ctx, Data, Error, Estimator, Fit, FitLog, Info, Numbers, OwnedX, Params, Passes, Result, Source, Spec,
    Target, Task,
    core::{
        Batch, choice,
        param::{above, at_least},
        params,
    },
    make,
};

choice! {
    /// Minimum importance of a column.
    pub enum Threshold: f64 where at_least(0.0) => {
        /// The mean over the columns.
        Mean = "mean",
        /// The median over the columns.
        Median = "median",
    }
}

params! {
    /// Selects the columns whose importance in a model is at least a threshold.
    pub struct SelectFromModel {
        /// Model that rates the columns; none for logistic regression (classes) or ridge regression (numbers).
        estimator: Option<Spec> = None;
        /// Minimum importance of a column.
        threshold: Threshold = Threshold::Mean;
        /// Maximum number of columns to keep; none for no limit.
        max_features: Option<usize> = None, at_least(1.0);
    }
}

params! {
    /// Recursive feature elimination: drops the least important columns, fits again, and repeats.
    pub struct RFE {
        /// Model that rates the columns; none for logistic regression (classes) or ridge regression (numbers).
        estimator: Option<Spec> = None;
        /// Number of columns to keep; a value below 1 is a fraction; none for half of them.
        n_features_to_select: Option<f64> = None, above(0.0);
        /// Number of columns to drop at a time; a value below 1 is a fraction of all columns.
        step: f64 = 1.0, above(0.0);
    }
}

const REASON: &str = "columns are taken out of the rows";

/// The importance that a model fitted on these columns gives to each.
fn importances(
    name: &str,
    estimator: &Option<Spec>,
    batch: &Batch,
    columns: &[usize],
    data: &dyn Source,
    ctx: &Ctx,
) -> Result<Vec<f64>> {
    let spec = estimator.clone().unwrap_or_else(|| match batch.y {
        Target::Class { .. } => Spec::new("LogisticRegression"),
        _ => Spec::new("Ridge"),
    });
    let estimator = make(&spec)?;
    let x = OwnedX::of_columns(&batch.x, columns);
    let mut some = Data::new(x.x()).target(batch.y)?;
    if let features @ [_, ..] = data.features() {
        some = some.features(columns.iter().map(|&j| features[j]).collect::<Vec<_>>())?;
    }
    if let Some(weights) = batch.weights.filter(|_| estimator.info().weights) {
        some = some.weights(weights)?;
    }
    let fit = estimator.fit(&some, ctx)?;
    for wanted in ["feature_importances_", "coef_"] {
        for (found, array) in fit.model.attributes() {
            if let (true, Numbers::Float(values)) = (found == wanted, &array.values)
                && values.len() % columns.len() == 0
            {
                let of = |j: usize| values.iter().skip(j).step_by(columns.len()).map(|value| value.abs()).sum();
                return Ok((0..columns.len()).map(of).collect());
            }
        }
    }
    let problem = format!("{name}: {} has no coefficients or feature importances", spec.name);
    Err(Error::Unsupported(problem).hint("use a linear model or one made of trees"))
}

const fn info(objective: &'static str) -> Info {
    Info {
        supervised: true,
        random: true,
        ..Info::new("feature_selection", Task::Transformation, objective, Passes::Memory(REASON))
    }
}

impl Estimator for SelectFromModel {
    type Model = SelectionModel;
    const INFO: Info = info("keep j with importance_j(model fitted on x, y) >= threshold");

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<SelectionModel>> {
        let batch = data.in_memory(Self::NAME, REASON)?;
        batch.x.check_finite(batch.first)?;
        let cols = batch.x.cols();
        let all: Vec<usize> = (0..cols).collect();
        let scores = importances(Self::NAME, &self.estimator, &batch, &all, data, ctx)?;
        let threshold = match self.threshold {
            Threshold::Number(value) => value,
            Threshold::Mean => scores.iter().sum::<f64>() / cols as f64,
            Threshold::Median => {
                let mut sorted = scores.clone();
                sorted.sort_by(f64::total_cmp);
                crate::engine::quantile::interpolated(&sorted, 0.5)
            }
        };
        let mut kept: Vec<usize> = all.into_iter().filter(|&j| scores[j] >= threshold).collect();
        kept.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
        kept.truncate(self.max_features.unwrap_or(usize::MAX));
        kept.sort_unstable();
        if kept.is_empty() {
            return Err(Error::Data(format!("{}: no column has an importance of {threshold} or more", Self::NAME)));
        }
        let model = SelectionModel { cols, kept, scores, chosen_by: ChosenBy::Importance };
        Ok(Fit::new(model, FitLog::exact(Certificate::None)))
    }
}

impl Estimator for RFE {
    type Model = SelectionModel;
    const INFO: Info = info("while |J| > k: J without its least important columns by a model fitted on x_J, y");

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<SelectionModel>> {
        let batch = data.in_memory(Self::NAME, REASON)?;
        batch.x.check_finite(batch.first)?;
        let cols = batch.x.cols();
        let share = |value: f64| if value < 1.0 { (value * cols as f64) as usize } else { value as usize };
        let wanted = self.n_features_to_select.map_or(cols / 2, share).clamp(1, cols);
        let step = share(self.step).max(1);
        let mut kept: Vec<usize> = (0..cols).collect();
        let mut rounds: Vec<Vec<usize>> = Vec::new();
        while kept.len() > wanted {
            ctx.check()?;
            let scores = importances(Self::NAME, &self.estimator, &batch, &kept, data, ctx)?;
            let mut order: Vec<usize> = (0..kept.len()).collect();
            order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]).then(a.cmp(&b)));
            order.truncate(step.min(kept.len() - wanted));
            let leaving: Vec<usize> = order.into_iter().map(|place| kept[place]).collect();
            kept.retain(|column| !leaving.contains(column));
            rounds.push(leaving);
        }
        let mut ranking = vec![1.0; cols];
        for (place, round) in rounds.iter().rev().enumerate() {
            round.iter().for_each(|&column| ranking[column] = (place + 2) as f64);
        }
        let log = FitLog::members(rounds.len());
        Ok(Fit::new(SelectionModel { cols, kept, scores: ranking, chosen_by: ChosenBy::Ranking }, log))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::X;

    /// Columns 1 and 3 of six make the target.
    fn rows() -> (Vec<f64>, Vec<f64>) {
        let mut rng = Ctx::new(2).rng("test", 0);
        let x: Vec<f64> = (0..600).map(|_| rng.normal()).collect();
        let y = x.chunks(6).map(|row| 2.0 * row[1] - 3.0 * row[3] + 0.1 * rng.normal()).collect();
        (x, y)
    }

    #[test]
    fn the_columns_that_matter_are_kept() {
        let (x, y) = rows();
        let data = Data::new(X::dense(&x, 6).unwrap()).real(&y).unwrap();
        let by_size = SelectFromModel::default().fit(&data, &Ctx::default()).unwrap().model;
        assert_eq!(by_size.kept, [1, 3]);
        let tree = Some(Spec::new("RandomForestRegressor"));
        let one = SelectFromModel { estimator: tree.clone(), max_features: Some(1), ..Default::default() };
        assert_eq!(one.fit(&data, &Ctx::default()).unwrap().model.kept, [3]);
        for estimator in [None, tree] {
            let rfe = RFE { estimator, n_features_to_select: Some(2.0), ..Default::default() };
            let model = rfe.fit(&data, &Ctx::default()).unwrap().model;
            assert_eq!(model.kept, [1, 3]);
            let mut ranking = model.scores.clone();
            ranking.sort_by(f64::total_cmp);
            assert_eq!(ranking, [1.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        }
        let knn = RFE { estimator: Some(Spec::new("KNeighborsRegressor")), ..Default::default() };
        let error = knn.fit(&data, &Ctx::default()).err().unwrap().to_string();
        assert!(error.contains("KNeighborsRegressor"), "{error}");
    }
}
