//! Rows that are unlike the others, and in which columns.
//!
//! *Neighbours.* The distance to the tenth nearest row (Ramaswamy, Rastogi and Shim 2000): large where a row stands
//! alone, whatever the shape of the rest. *Mahalanobis.* The distance from the mean in standard deviations along the
//! principal axes, `sqrt(sum_k s_k^2 / l_k)`: large where columns that usually go together do not. *Isolation.* How few
//! random cuts set a row apart, between 0 and 1 ([`ermine::tree::IsolationForest`]): large where single columns stand
//! out, also among many that do not. *Local.* How much thinner rows lie around a row than around its neighbours
//! ([`ermine::neighbors::LocalOutlierFactor`]), about 1 inside a group: large where a row stands apart from a group,
//! however dense that is. Columns are prepared as for clustering: missing values filled in, levels as columns of 0 and
//! 1, brought to deviation 1; cuts need neither of the first and the last.

use crate::{
    plan::Plan,
    rows::{RowSet, Rows, sampled},
    run::Job,
    table::{Kind, date_text, number_text},
};
use ermine::{Ctx, Error, Matrix, Numbers, Output, Result, Spec};
use rayon::prelude::*;
use serde::Serialize;

/// Which neighbour counts.
const NEIGHBOUR: usize = 10;
/// Rows that every row is compared with, drawn by seed where there are more.
const COMPARED: usize = 20_000;
/// Rows and columns that are shown.
const SHOWN: usize = 20;
const ODD: usize = 3;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OutlierMethod {
    #[default]
    Neighbours,
    Mahalanobis,
    Isolation,
    Local,
}

impl OutlierMethod {
    pub const ALL: [(&'static str, OutlierMethod); 4] = [
        ("neighbours", OutlierMethod::Neighbours),
        ("mahalanobis", OutlierMethod::Mahalanobis),
        ("isolation", OutlierMethod::Isolation),
        ("local", OutlierMethod::Local),
    ];
}

#[derive(Clone, Debug, Serialize)]
pub struct Outliers {
    pub method: OutlierMethod,
    pub rows: usize,
    pub columns: usize,
    /// Half of the rows have a smaller score.
    pub median: f64,
    /// The farthest first.
    pub top: Vec<Outlier>,
    /// Of every row, in their order.
    pub scores: Vec<f64>,
    /// What was taken for granted, and which columns are left out.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Outlier {
    /// Counted from 1.
    pub row: usize,
    pub score: f64,
    /// Its oddest columns.
    pub odd: Vec<Oddity>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Oddity {
    pub column: String,
    pub value: String,
    /// The mean, or the share of rows with the same level.
    pub typical: String,
    /// In standard deviations.
    pub apart: f64,
}

impl Job {
    /// Scores every row by how unlike the others it is.
    pub fn outliers(&self, method: OutlierMethod, ctx: &Ctx) -> Result<Outliers> {
        ctx.install(|| {
            let (plan, rows, mut notes) = self.rows_to_look_at(ctx)?;
            if rows.most_gathered() < rows.len() {
                return Err(Error::Unsupported("outliers are looked for in memory, and the rows do not fit".into())
                    .hint("allow more with --memory, or leave columns out with --ignore"));
            }
            let raw = rows.gather(&(0..rows.len()).collect::<Vec<_>>(), ctx)?;
            if raw.len() < 3 {
                return Err(Error::Data("outliers need three rows at least".into()));
            }
            let scores = match method {
                OutlierMethod::Neighbours => neighbours(&prepared(&raw, "KMeans", &plan, ctx)?.0, ctx),
                OutlierMethod::Mahalanobis => mahalanobis(&raw, &plan, ctx)?,
                OutlierMethod::Isolation => isolation(&raw, &plan, ctx)?,
                OutlierMethod::Local => local(&raw, &plan, ctx)?,
            };
            let mut order: Vec<usize> = (0..scores.len()).collect();
            order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
            let median = scores[order[order.len() / 2]];
            let typical = Typical::of(&raw, &plan);
            let top = order.iter().take(SHOWN).map(|&row| Outlier {
                row: row + 1,
                score: scores[row],
                odd: typical.odd(&raw, &plan, row),
            });
            notes.extend(plan.dropped.iter().map(|drop| format!("'{}' is left out: {}", drop.column, drop.reason)));
            let columns = plan.features.columns.len();
            Ok(Outliers { method, rows: raw.len(), columns, median, top: top.collect(), scores, notes })
        })
    }
}

/// Rows as a model of this name sees them, and its attributes.
fn prepared(raw: &Rows, model: &str, plan: &Plan, ctx: &Ctx) -> Result<(Matrix, crate::fit::Pipeline)> {
    let mut spec = Spec::new(model);
    if model == "KMeans" {
        // Only its preparation is wanted.
        spec.params.insert("n_clusters".into(), ermine::Value::parse("1"));
    }
    let set = RowSet::of(raw.take(&(0..raw.len()).collect::<Vec<_>>()));
    let pipeline = set.fit(&*ermine::make(&spec)?, &plan.features, ctx)?;
    let x = pipeline.recipe.apply(&raw.data()?.batch().x, &raw.texts, ctx)?;
    Ok((x.x().to_matrix(), pipeline))
}

fn neighbours(x: &Matrix, ctx: &Ctx) -> Vec<f64> {
    let others = sampled(x.rows, COMPARED, ctx.seed, "outliers");
    let row = |i: usize| &x.values[i * x.cols..(i + 1) * x.cols];
    let score = |i: usize| {
        let distance = |j: usize| row(i).iter().zip(row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        let mut all: Vec<f64> = others.iter().filter(|&&j| j != i).map(|&j| distance(j)).collect();
        let place = NEIGHBOUR.min(all.len()) - 1;
        let (_, nearest, _) = all.select_nth_unstable_by(place, f64::total_cmp);
        nearest.sqrt()
    };
    (0..x.rows).into_par_iter().map(score).collect()
}

/// The score of the paper, which is the negative of what the model says.
fn isolation(raw: &Rows, plan: &Plan, ctx: &Ctx) -> Result<Vec<f64>> {
    let (x, pipeline) = prepared(raw, "IsolationForest", plan, ctx)?;
    let x = ermine::X::dense(&x.values, x.cols)?;
    let scores = ermine::predict(ctx, &*pipeline.fit.model, &x, Output::Density, true)?;
    Ok(scores.values.iter().map(|score| -score).collect())
}

/// The factor, which is the negative of what the fit says of its rows.
fn local(raw: &Rows, plan: &Plan, ctx: &Ctx) -> Result<Vec<f64>> {
    let (_, pipeline) = prepared(raw, "LocalOutlierFactor", plan, ctx)?;
    match pipeline.fit.rows.first().map(|(_, array)| &array.values) {
        Some(Numbers::Float(scores)) => Ok(scores.iter().map(|score| -score).collect()),
        _ => Err(Error::Data("the fit says nothing of its rows".into())),
    }
}

fn mahalanobis(raw: &Rows, plan: &Plan, ctx: &Ctx) -> Result<Vec<f64>> {
    let (x, pipeline) = prepared(raw, "PCA", plan, ctx)?;
    let attributes = pipeline.fit.model.attributes();
    let variances = attributes.iter().find(|(name, _)| *name == "explained_variance_").map(|(_, array)| &array.values);
    let Some(Numbers::Float(variances)) = variances else {
        return Err(Error::Data("the principal axes have no variances".into()));
    };
    let along =
        ermine::predict(ctx, &*pipeline.fit.model, &ermine::X::dense(&x.values, x.cols)?, Output::Transform, false)?;
    // Axes without variance are combinations of others: nothing is seen along them.
    let least = 1e-9 * variances.iter().fold(0.0f64, |most, v| most.max(*v));
    let axes: Vec<usize> = (0..along.cols.min(variances.len())).filter(|&k| variances[k] > least).collect();
    let score = |i: usize| axes.iter().map(|&k| along[(i, k)] * along[(i, k)] / variances[k]).sum::<f64>().sqrt();
    Ok((0..along.rows).map(score).collect())
}

/// Mean and deviation of each column of numbers, shares of the levels of the others.
struct Typical {
    numbers: Vec<(f64, f64)>,
    shares: Vec<Vec<f64>>,
    /// Share of rows without a value.
    missing: Vec<f64>,
}

impl Typical {
    fn of(raw: &Rows, plan: &Plan) -> Typical {
        let mut typical = Typical { numbers: Vec::new(), shares: Vec::new(), missing: Vec::new() };
        for (j, field) in plan.features.columns.iter().enumerate() {
            let values: Vec<f64> = (0..raw.len()).map(|i| raw.x[(i, j)]).filter(|value| !value.is_nan()).collect();
            let count = values.len().max(1) as f64;
            let mean = values.iter().sum::<f64>() / count;
            let deviation = (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count).sqrt();
            let mut shares = vec![0.0; field.levels.len()];
            if field.kind == Kind::Category {
                for code in &values {
                    if let Some(share) = shares.get_mut(*code as usize) {
                        *share += 1.0 / count;
                    }
                }
            }
            typical.numbers.push((mean, deviation));
            typical.shares.push(shares);
            typical.missing.push(1.0 - values.len() as f64 / raw.len() as f64);
        }
        typical
    }

    fn odd(&self, raw: &Rows, plan: &Plan, row: usize) -> Vec<Oddity> {
        let mut odd = Vec::new();
        for (j, field) in plan.features.columns.iter().enumerate() {
            let value = raw.x[(row, j)];
            let column = field.name.clone();
            match field.kind {
                Kind::Text => {}
                _ if value.is_nan() => {
                    let share = self.missing[j].max(1e-9);
                    let typical = format!("{:.1} % of rows", 100.0 * share);
                    odd.push(Oddity {
                        column,
                        value: "missing".into(),
                        typical,
                        apart: ((1.0 - share) / share).sqrt(),
                    });
                }
                Kind::Category => {
                    let Some(&share) = self.shares[j].get(value as usize) else { continue };
                    let apart = ((1.0 - share) / share.max(1e-9)).sqrt();
                    let typical = format!("{:.1} % of rows", 100.0 * share);
                    odd.push(Oddity { column, value: field.levels[value as usize].clone(), typical, apart });
                }
                kind => {
                    let (mean, deviation) = self.numbers[j];
                    let text = |value: f64| match kind {
                        Kind::Date | Kind::DateTime => date_text(value.floor()),
                        _ => number_text(format!("{value:.4e}").parse().unwrap_or(value)),
                    };
                    let apart = if deviation > 0.0 { (value - mean).abs() / deviation } else { 0.0 };
                    odd.push(Oddity { column, value: text(value), typical: format!("mean {}", text(mean)), apart });
                }
            }
        }
        odd.sort_by(|a, b| b.apart.total_cmp(&a.apart));
        odd.retain(|oddity| oddity.apart > 1.5);
        odd.truncate(ODD);
        odd
    }
}
