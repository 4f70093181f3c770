//! How many clusters, when nobody says: k-means by the silhouette, mixtures by BIC, on a sample of the rows that
//! depends on seed and number alone. And several starts, because one is often caught in a poor minimum.

use crate::{
    rows::{RowSet, Rows, sampled},
    table::Schema,
};
use ermine::{
    Ctx, Data, Error, Result, Spec, Value,
    cluster::{GaussianMixture, KMeans, Starts},
    core::ctx::Alone,
    inspect::{choose_clusters, choose_components},
};
use serde::Serialize;

/// Rows that the numbers are compared on.
const ROWS: usize = 10_000;
/// The largest number that is tried.
const MOST: usize = 10;
/// Starts for tables of up to so many rows, and for larger ones.
const MANY_STARTS: (usize, usize) = (10, 100_000);
const FEW_STARTS: usize = 3;

/// How well each number of clusters does.
#[derive(Clone, Debug, Serialize)]
pub struct ClusterCurve {
    /// What the number is chosen by: `silhouette`, where larger is better, or `bic`, where smaller is.
    pub criterion: &'static str,
    pub points: Vec<ClusterScore>,
    pub chosen: usize,
    pub verdict: String,
    /// Rows that were looked at.
    pub rows: usize,
}

#[derive(Clone, Debug, Serialize)]
pub struct ClusterScore {
    pub k: usize,
    /// The criterion; none where it is not defined.
    pub value: Option<f64>,
    /// Sum of squared distances to the centres, of k-means.
    pub inertia: Option<f64>,
    /// Of a mixture.
    pub aic: Option<f64>,
}

/// A model with all it was not told: starts, and the number of clusters with the curve that it was chosen by.
pub fn settle(spec: &Spec, rows: &RowSet, features: &Schema, ctx: &Ctx) -> Result<(Spec, Option<ClusterCurve>)> {
    let mut spec = spec.clone();
    let name = ermine::entry(&spec.name)?.name;
    let number = match name {
        "KMeans" | "MiniBatchKMeans" => "n_clusters",
        "GaussianMixture" => "n_components",
        _ => return Ok((spec, None)),
    };
    let (many, up_to) = MANY_STARTS;
    let starts = if rows.len() <= up_to { many } else { FEW_STARTS };
    if !spec.params.contains_key("n_init") && !spec.params.contains_key("init") {
        spec.params.insert("n_init".into(), Value::parse(&starts.to_string()));
    }
    if spec.params.contains_key(number) {
        return Ok((spec, None));
    }
    let sample = rows.gather(&sampled(rows.len(), ROWS.min(rows.most_gathered()), ctx.seed, "clusters"), ctx)?;
    let ks: Vec<usize> =
        (if number == "n_clusters" { 2 } else { 1 }..=MOST).filter(|k| 2 * k <= sample.len()).collect();
    if ks.is_empty() {
        return Ok((spec, None));
    }
    // Everyone has the same sample and comes to the same number.
    let alone = ctx.clone().with_exchange(Alone);
    // What cannot be compared cannot be fitted either, and the fit says why.
    let curve = match curve(name, &sample, features, &ks, &alone) {
        Ok(curve) => curve,
        Err(Error::Cancelled) => return Err(Error::Cancelled),
        Err(_) => return Ok((spec, None)),
    };
    spec.params.insert(number.into(), Value::parse(&curve.chosen.to_string()));
    Ok((spec, Some(curve)))
}

fn curve(name: &str, sample: &Rows, features: &Schema, ks: &[usize], ctx: &Ctx) -> Result<ClusterCurve> {
    let any = ermine::make(&Spec::new(name))?;
    let set = RowSet::of(sample.take(&(0..sample.len()).collect::<Vec<_>>()));
    // The preparation is that of the model.
    let recipe = set.fit(&*any, features, ctx)?.recipe;
    let prepared = recipe.apply(&sample.data()?.batch().x, &sample.texts, ctx)?;
    let data = Data::new(prepared.x());
    if name == "GaussianMixture" {
        let base = GaussianMixture { n_init: FEW_STARTS, ..GaussianMixture::default() };
        let found = choose_components(ctx, &data, &base, ks)?;
        let points = found.points.iter();
        let points = points.map(|p| ClusterScore { k: p.k, value: Some(p.bic), inertia: None, aic: Some(p.aic) });
        let points = points.collect();
        return Ok(ClusterCurve {
            criterion: "bic",
            points,
            chosen: found.bic,
            verdict: found.verdict,
            rows: sample.len(),
        });
    }
    let base = KMeans { n_init: Starts::Number(MANY_STARTS.0), ..KMeans::default() };
    let found = choose_clusters(ctx, &data, &base, ks)?;
    let known = |value: f64| Some(value).filter(|value| value.is_finite());
    let points = found.points.iter().map(|point| ClusterScore {
        k: point.k,
        value: known(point.silhouette),
        inertia: known(point.inertia),
        aic: None,
    });
    let points = points.collect();
    Ok(ClusterCurve {
        criterion: "silhouette",
        points,
        chosen: found.suggested,
        verdict: found.verdict,
        rows: sample.len(),
    })
}
