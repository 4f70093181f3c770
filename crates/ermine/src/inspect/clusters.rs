//! How many clusters: k-means for each k in a range, judged by the elbow of the inertia and by the silhouette; mixtures
//! by AIC and BIC.
//!
//! The inertia always falls with k. Its elbow is the k farthest below the chord from the first to the last point, both
//! axes brought to 0..1 (Satopaa, Albrecht, Irwin and Raghavan 2011). The silhouette (Rousseeuw 1987) compares every
//! pair of rows, so that it is computed on at most [`SAMPLE`] rows, drawn by seed, with the labels of the whole fit.

use crate::{
    Ctx, Data, Error, Estimator, Numbers, Result,
    cluster::{GaussianMixture, KMeans},
    core::rng,
    metrics::silhouette_score,
};

/// Most rows that the silhouette is computed on.
pub const SAMPLE: usize = 3_000;

/// One number of clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterPoint {
    pub k: usize,
    pub inertia: f64,
    /// NaN for one cluster, which has nothing to be compared with.
    pub silhouette: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ClusterChoice {
    pub points: Vec<ClusterPoint>,
    /// Where the inertia bends; none for fewer than three points or a straight line.
    pub elbow: Option<usize>,
    /// Where the silhouette is largest.
    pub silhouette: Option<usize>,
    /// What to take: the best silhouette where there is one, or else the elbow.
    pub suggested: usize,
    pub verdict: String,
}

/// Fits `base` with each number of clusters in `ks` (ascending).
pub fn choose_clusters(ctx: &Ctx, data: &Data, base: &KMeans, ks: &[usize]) -> Result<ClusterChoice> {
    ascending("choose_clusters", ks)?;
    let batch = data.batch();
    let mut order: Vec<usize> = (0..batch.rows()).collect();
    if order.len() > SAMPLE {
        order.sort_by_key(|&row| (rng::key(ctx.seed, "silhouette sample", row as u64), row));
        order.truncate(SAMPLE);
        order.sort_unstable();
    }
    let sample = crate::OwnedX::take(&batch.x, order.iter().copied());
    let mut points = Vec::new();
    for &k in ks {
        let fit = KMeans { n_clusters: k, ..base.clone() }.fit(data, ctx)?;
        let Some(Numbers::Int(labels)) = fit.rows.iter().find(|(name, _)| *name == "labels_").map(|(_, a)| &a.values)
        else {
            return Err(Error::Data("k-means gave no labels".into()));
        };
        let labels: Vec<i64> = order.iter().map(|&row| labels[row]).collect();
        let distinct = labels.iter().collect::<std::collections::BTreeSet<_>>().len();
        let comparable = distinct >= 2 && distinct < labels.len();
        let silhouette = if comparable { silhouette_score(ctx, &sample.x(), &labels)? } else { f64::NAN };
        points.push(ClusterPoint { k, inertia: fit.model.inertia, silhouette });
    }
    let elbow = elbow(&points);
    let best = points
        .iter()
        .filter(|point| !point.silhouette.is_nan())
        .max_by(|a, b| a.silhouette.total_cmp(&b.silhouette).then(b.k.cmp(&a.k)));
    let silhouette = best.map(|point| point.k);
    let suggested = silhouette.or(elbow).unwrap_or(ks[0]);
    let verdict = match (best, elbow) {
        (Some(best), Some(elbow)) if best.k == elbow => {
            format!("{} clusters: elbow of the inertia and best silhouette ({:.3}) agree.", best.k, best.silhouette)
        }
        (Some(best), Some(elbow)) => format!(
            "{} clusters have the best silhouette ({:.3}); the inertia bends at {elbow}.{}",
            best.k,
            best.silhouette,
            if best.silhouette < 0.25 { " No number separates the rows well." } else { "" }
        ),
        (Some(best), None) => format!("{} clusters have the best silhouette ({:.3}).", best.k, best.silhouette),
        (None, _) => "One cluster, or as many as rows: there is nothing to compare.".into(),
    };
    Ok(ClusterChoice { points, elbow, silhouette, suggested, verdict })
}

fn ascending(name: &str, ks: &[usize]) -> Result<()> {
    if !ks.is_empty() && ks[0] > 0 && ks.windows(2).all(|pair| pair[0] < pair[1]) {
        return Ok(());
    }
    let (model, name, value) = (name.into(), "ks".into(), format!("{ks:?}"));
    Err(Error::Parameter { model, name, value, allowed: "integers >= 1, ascending".into() })
}

fn elbow(points: &[ClusterPoint]) -> Option<usize> {
    let (first, last) = (points.first()?, points.last()?);
    let (width, height) = ((last.k - first.k) as f64, first.inertia - last.inertia);
    if points.len() < 3 || !(height > 0.0) {
        return None;
    }
    let below = |point: &ClusterPoint| {
        let along = (point.k - first.k) as f64 / width;
        1.0 - along - (point.inertia - last.inertia) / height
    };
    let bend = points.iter().max_by(|a, b| below(a).total_cmp(&below(b)).then(b.k.cmp(&a.k)))?;
    (below(bend) > 1e-6).then_some(bend.k)
}

/// One number of components.
#[derive(Clone, Debug, PartialEq)]
pub struct MixturePoint {
    pub k: usize,
    /// Mean log-likelihood of a row.
    pub log_likelihood: f64,
    pub aic: f64,
    pub bic: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MixtureChoice {
    pub points: Vec<MixturePoint>,
    pub aic: usize,
    pub bic: usize,
    pub verdict: String,
}

/// Fits `base` with each number of components in `ks` (ascending) and compares the criteria: smaller is better.
pub fn choose_components(ctx: &Ctx, data: &Data, base: &GaussianMixture, ks: &[usize]) -> Result<MixtureChoice> {
    ascending("choose_components", ks)?;
    let batch = data.batch();
    let rows: f64 = (0..batch.rows()).map(|i| batch.weight(i)).sum();
    let mut points = Vec::new();
    for &k in ks {
        let model = GaussianMixture { n_components: k, ..base.clone() }.fit(data, ctx)?.model;
        let log_likelihood = model.bound;
        let (aic, bic) = (model.aic(log_likelihood, rows), model.bic(log_likelihood, rows));
        points.push(MixturePoint { k, log_likelihood, aic, bic });
    }
    let least = |value: fn(&MixturePoint) -> f64| {
        points.iter().min_by(|a, b| value(a).total_cmp(&value(b))).map_or(ks[0], |point| point.k)
    };
    let (aic, bic) = (least(|point| point.aic), least(|point| point.bic));
    let verdict = if aic == bic {
        format!("{bic} components by both AIC and BIC.")
    } else {
        format!("{bic} components by BIC, which charges more for each parameter; {aic} by AIC.")
    };
    Ok(MixtureChoice { points, aic, bic, verdict })
}
