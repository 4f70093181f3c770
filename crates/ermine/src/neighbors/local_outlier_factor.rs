//! Local outlier factor: how much thinner rows lie around a row than around its neighbours.
//!
//! With d_k(z) the distance of z to its k-th neighbour, a row reaches z at `max(d(x, z), d_k(z))`. Its density is the
//! inverse of the mean reach of its k neighbours, `1 / (mean + 1e-10)`, and its factor the mean of their densities over
//! its own: about 1 inside a group however dense that is, large where a row stands apart from a group (Breunig,
//! Kriegel, Ng and Sander 2000). The score is minus the factor, and rows whose score is below the offset are outliers:
//! -1.5, or what a given share of the rows of the fit is below.
//!
//! A row of the fit is not its own neighbour. A new row that equals one of the fit has that one as neighbour, and so
//! another score: new rows are only scored with `novelty`, as in scikit-learn. Exact search
//! ([`neighbours`](crate::engine::neighbours)); cost that of k + 1 neighbours for every row.

use super::model::{Algorithm, WHY_MEMORY};
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Flexibility, Info, Model, Output, OwnedX, Params, Passes, Result, Shape,
    Source, Task, X,
    core::{
        param::{above_to, at_least},
        params,
    },
    engine::{
        neighbours::{self, Metric, Search},
        outliers::Contamination,
        quantile,
    },
};
use serde::{Deserialize, Serialize};

params! {
    /// Outlier detection by density: rows that lie in thinner surroundings than their neighbours do.
    pub struct LocalOutlierFactor {
        /// Number of neighbours.
        n_neighbors: usize = 20, at_least(1.0);
        /// Accepted for scikit-learn compatibility; ignored, because the fastest exact search is chosen automatically.
        algorithm: Algorithm = Algorithm::Auto;
        /// Accepted for scikit-learn compatibility; ignored.
        leaf_size: usize = 30, at_least(1.0);
        /// Metric: minkowski, euclidean, manhattan, chebyshev, cosine, or the distance of a kernel such as
        /// rbf(gamma=0.1).
        metric: Metric = Metric::Minkowski(0.0);
        /// Power of the Minkowski metric: 1 is Manhattan, 2 is Euclidean, infinity is Chebyshev distance.
        p: f64 = 2.0, above_to(0.0, f64::INFINITY);
        /// Fraction of the rows that are outliers; auto for those whose score is below -1.5.
        contamination: Contamination = Contamination::Auto;
        /// Whether new rows are to be scored, and not only those of the fit.
        novelty: bool = false;
    }
}

/// The score above which a row belongs, if no share is given.
const OFFSET: f64 = -1.5;
/// Keeps the density of rows finite that are all the same.
const LEAST: f64 = 1e-10;
/// Rows that are searched together.
const ROWS: usize = 4096;

impl Estimator for LocalOutlierFactor {
    type Model = LocalOutlierModel;

    const INFO: Info = Info {
        scale: true,
        weights: false,
        flexibility: Flexibility::Neighbours,
        ..Info::new(
            "neighbors",
            Task::Density,
            "s(x) = -mean of density(z) / density(x) over the k nearest z, density the inverse of the mean reach",
            Passes::Memory(WHY_MEMORY),
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * neighbours::cost(shape, 1.25)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<LocalOutlierModel>> {
        let batch = data.in_memory(Self::NAME, WHY_MEMORY)?;
        ctx.check()?;
        batch.x.check_finite(batch.first)?;
        let n = batch.rows();
        if n < 2 {
            let problem = format!("{}: a row has no neighbours where there is no other (n_samples={n})", Self::NAME);
            return Err(Error::Data(problem));
        }
        let k = self.n_neighbors.min(n - 1);
        let metric = self.metric.resolve(self.p, batch.x.cols())?;
        let mut log = FitLog::default();
        if let Metric::Kernel(kernel) = &metric {
            log.notes.extend(kernel.definiteness(&batch.x));
        }
        if k < self.n_neighbors {
            log.notes.push(format!("n_neighbors={} of {n} rows: each has {k} neighbours", self.n_neighbors));
        }
        let search = Search::new(OwnedX::all(&batch.x), metric);
        ctx.install(|| search.prepare());
        let near = ctx.map(n.div_ceil(ROWS), |block| {
            ctx.check()?;
            let rows = block * ROWS..((block + 1) * ROWS).min(n);
            let found = search.nearest(&batch.x.slice(rows.clone()), k + 1);
            Ok(rows.zip(found.chunks_exact(k + 1)).flat_map(|(row, near)| others(row, near)).collect::<Vec<_>>())
        })?;
        let near = near.concat();
        let reach: Vec<f64> = near.chunks_exact(k).map(|near| near[k - 1].0).collect();
        let density: Vec<f64> = near.chunks_exact(k).map(|near| density(near, &reach)).collect();
        let scores: Vec<f64> =
            near.chunks_exact(k).zip(&density).map(|(near, own)| score(near, *own, &density)).collect();
        if let Some(row) = (0..n).find(|&i| !(scores[i].is_finite() && reach[i].is_finite() && density[i] > 0.0)) {
            let problem = format!("{}: the distances of row {row} overflow", Self::NAME);
            return Err(Error::Data(problem).hint("bring the columns to a smaller scale"));
        }
        let offset = match self.contamination {
            Contamination::Auto => OFFSET,
            Contamination::Number(share) => quantile::selected(&mut scores.clone(), share),
        };
        let model = LocalOutlierModel { search, k, reach, density, offset, novelty: self.novelty };
        let rows = vec![("negative_outlier_factor_", (&scores).into())];
        Ok(Fit { rows, ..Fit::new(model, log) })
    }
}

/// The neighbours of a row without the row itself; of many that are the same any other one may be left out for it.
fn others(row: usize, near: &[(f64, u32)]) -> Vec<(f64, u32)> {
    let own = near.iter().position(|near| near.1 as usize == row).unwrap_or(0);
    [&near[..own], &near[own + 1..]].concat()
}

/// The inverse of the mean reach of these neighbours, of which `reach` knows how far they look.
fn density(near: &[(f64, u32)], reach: &[f64]) -> f64 {
    let sum: f64 = near.iter().map(|&(distance, row)| distance.max(reach[row as usize])).sum();
    (sum / near.len() as f64 + LEAST).recip()
}

fn score(near: &[(f64, u32)], own: f64, density: &[f64]) -> f64 {
    -near.iter().map(|&(_, row)| density[row as usize] / own).sum::<f64>() / near.len() as f64
}

#[derive(Serialize, Deserialize)]
pub struct LocalOutlierModel {
    pub search: Search,
    /// How many neighbours count.
    pub k: usize,
    /// Distance of each row of the fit to its last neighbour, and its density.
    pub reach: Vec<f64>,
    pub density: Vec<f64>,
    /// Scores below this are outliers.
    pub offset: f64,
    pub novelty: bool,
}

impl Model for LocalOutlierModel {
    fn cols(&self) -> usize {
        self.search.points.cols()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        let scores = [(Output::Cluster, 1), (Output::Decision, 1), (Output::Density, 1)];
        let mut outputs = if self.novelty { scores.to_vec() } else { Vec::new() };
        outputs.push((Output::Neighbours, 2 * self.k));
        outputs
    }

    fn rows_at_once(&self) -> usize {
        self.search.rows_at_once()
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let near = self.search.nearest(x, self.k);
        let near = near.chunks_exact(self.k);
        if output == Output::Neighbours {
            for (out, near) in out.chunks_exact_mut(2 * self.k).zip(near) {
                let (rows, distances) = out.split_at_mut(self.k);
                for (i, &(distance, row)) in near.iter().enumerate() {
                    (rows[i], distances[i]) = (f64::from(row), distance);
                }
            }
            return Ok(());
        }
        for (out, near) in out.iter_mut().zip(near) {
            // A row too far for a number is as thin as can be.
            let own = density(near, &self.reach).max(f64::MIN_POSITIVE);
            let score = score(near, own, &self.density).max(f64::MIN);
            *out = match output {
                Output::Cluster if score < self.offset => -1.0,
                Output::Cluster => 1.0,
                Output::Decision => (score - self.offset).max(f64::MIN),
                _ => score,
            };
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![
            ("offset_", self.offset.into()),
            ("n_neighbors_", self.k.into()),
            ("n_samples_fit_", self.reach.len().into()),
        ]
    }

    fn check(&self) -> Result<()> {
        self.search.check()?;
        let n = self.search.points.rows();
        let fits = (1..=n).contains(&self.k)
            && n <= u32::MAX as usize
            && (self.reach.len(), self.density.len()) == (n, n)
            && self.reach.iter().all(|reach| *reach >= 0.0 && reach.is_finite())
            && self.density.iter().all(|density| *density > 0.0 && density.is_finite())
            && self.offset.is_finite();
        if fits { Ok(()) } else { Err(Error::Data("the stored densities are inconsistent".into())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Data, Numbers, predict};

    fn scores(fit: &Fit<LocalOutlierModel>) -> Vec<f64> {
        match &fit.rows[0].1.values {
            Numbers::Float(values) => values.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// By hand: scikit-learn's own test of the values.
    #[test]
    fn a_corner_has_the_factor_of_the_definition() {
        let rows = [[1.0, 1.0], [1.0, 2.0], [2.0, 1.0]];
        let model = LocalOutlierFactor { n_neighbors: 2, novelty: true, ..Default::default() };
        let fit = model.fit(&Data::from_rows(&rows).unwrap(), &Ctx::default()).unwrap();
        let root = 2f64.sqrt();
        let (corner, end) = (2.0 * root / (1.0 + root), (1.0 + root) * (0.25 / root + 0.5 / (1.0 + root)));
        for (found, expected) in scores(&fit).iter().zip([corner, end, end]) {
            assert!((found + expected).abs() < 1e-9, "{found} and {expected}");
        }
        // A new row counts those of the fit only.
        let new = predict(&Ctx::default(), &fit.model, &X::dense(&[2.0, 2.0], 2).unwrap(), Output::Density, false);
        assert!((new.unwrap()[(0, 0)] + corner).abs() < 1e-9);
    }

    /// Densities of two groups differ by a factor of 100, and no row of either is an outlier for that.
    #[test]
    fn thin_groups_are_no_outliers() {
        let mut rng = Ctx::new(1).rng("rows", 0);
        let mut rows: Vec<[f64; 2]> = (0..200).map(|_| [0.01 * rng.uniform(), 0.01 * rng.uniform()]).collect();
        rows.extend((0..200).map(|_| [5.0 + rng.uniform(), rng.uniform()]));
        rows.push([0.05, 0.05]);
        let data = Data::from_rows(&rows).unwrap();
        let scores = scores(&LocalOutlierFactor::default().fit(&data, &Ctx::default()).unwrap());
        assert!(scores[400] < -3.0, "{}", scores[400]);
        assert!(scores[..400].iter().all(|&score| score > -2.0));
    }

    /// However often a row is there, it leaves itself out once.
    #[test]
    fn copies_are_neighbours_of_each_other() {
        let near = [(0.0, 3), (0.0, 5), (0.0, 8)];
        assert_eq!(others(5, &near), [(0.0, 3), (0.0, 8)]);
        assert_eq!(others(9, &near), [(0.0, 5), (0.0, 8)]);
    }
}
