//! DBSCAN (Ester, Kriegel, Sander and Xu 1996): clusters are what core rows reach. A row is core when the rows within
//! `eps` of it, itself included, weigh at least `min_samples`; core rows within `eps` of each other share a cluster;
//! any other row within `eps` of a core row joins (the lowest-numbered) cluster of such rows; the rest is noise, -1.
//!
//! Neighbours by a k-d tree where columns are few, plainly where they are many; all rows in memory. The model keeps the
//! core rows, and a new row is judged by the same rule, so that predicting the fitted rows gives their labels.

use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Info, Model, Output, OwnedX, Passes, Result, Shape, Source, Task, X,
    core::{
        param::{above, log},
        params,
    },
    engine::{
        neighbours,
        neighbours::{Metric, Search},
    },
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

params! {
    /// Density-based clustering: finds dense groups of any shape and marks isolated rows as noise.
    pub struct DBSCAN {
        /// Two rows within this distance are neighbours.
        eps: f64 = 0.5, above(0.0), log(1e-2, 1e2);
        /// Minimum total weight of the neighbours of a core row, itself included.
        min_samples: f64 = 5.0, above(0.0), log(2.0, 50.0);
        /// Distance between two rows.
        metric: Metric = Metric::Minkowski(2.0);
        /// Power of the Minkowski metric; 2 unless given.
        p: Option<f64> = None, above(0.0);
    }
}

const REASON: &str = "every row is compared with its neighbours";

impl Estimator for DBSCAN {
    type Model = DBSCANModel;

    const INFO: Info = Info {
        scale: true,
        ..Info::new(
            "cluster",
            Task::Clustering,
            "connected parts of the core rows, |N_eps(x)| >= min_samples",
            Passes::Memory(REASON),
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * neighbours::cost_within(shape, 1.25)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<DBSCANModel>> {
        let batch = data.in_memory("DBSCAN", REASON)?;
        batch.x.check_finite(batch.first)?;
        let (n, x) = (batch.rows(), batch.x);
        let metric = self.metric.resolve(self.p.unwrap_or(2.0), x.cols())?;
        let search = Search::new(OwnedX::all(&x), metric.clone());
        search.prepare();
        const BLOCK: usize = 256;
        let neighbours = |block: usize| {
            ctx.check()?;
            Ok(search.within(&x.slice(block * BLOCK..((block + 1) * BLOCK).min(n)), self.eps))
        };
        let found: Vec<Vec<Vec<(f64, u32)>>> =
            ctx.install(|| (0..n.div_ceil(BLOCK)).into_par_iter().map(neighbours).collect::<Result<_>>())?;
        let found: Vec<&Vec<(f64, u32)>> = found.iter().flatten().collect();
        let heavy = |near: &Vec<(f64, u32)>| {
            near.iter().map(|&(_, j)| batch.weight(j as usize)).sum::<f64>() >= self.min_samples
        };
        let core: Vec<bool> = (0..n).map(|i| batch.weight(i) > 0.0 && heavy(found[i])).collect();
        let mut labels = vec![-1i64; n];
        let mut clusters = 0;
        for seed in 0..n {
            if !core[seed] || labels[seed] >= 0 {
                continue;
            }
            labels[seed] = clusters;
            let mut open = vec![seed];
            while let Some(i) = open.pop() {
                for &(_, j) in found[i] {
                    let j = j as usize;
                    if labels[j] < 0 {
                        labels[j] = clusters;
                        if core[j] {
                            open.push(j);
                        }
                    }
                }
            }
            clusters += 1;
        }
        let indices: Vec<usize> = (0..n).filter(|&i| core[i]).collect();
        let model = DBSCANModel {
            eps: self.eps,
            core: OwnedX::take(&x, indices.iter().copied()),
            labels: indices.iter().map(|&i| labels[i]).collect(),
            indices: indices.iter().map(|&i| i as i64).collect(),
            metric,
            cols: x.cols(),
        };
        let mut log = FitLog::exact(Default::default());
        let noise = labels.iter().filter(|&&label| label < 0).count();
        log.notes.push(format!("{clusters} clusters, {noise} rows of noise"));
        let mut fit = Fit::new(model, log);
        fit.rows.push(("labels_", labels.into()));
        Ok(fit)
    }
}

/// The core rows with their clusters.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DBSCANModel {
    pub eps: f64,
    pub core: OwnedX,
    pub labels: Vec<i64>,
    pub indices: Vec<i64>,
    pub metric: Metric,
    pub cols: usize,
}

impl Model for DBSCANModel {
    fn cols(&self) -> usize {
        self.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Cluster, 1)]
    }

    fn predict(&self, x: &X, _: Output, out: &mut [f64]) -> Result<()> {
        if self.labels.is_empty() {
            out.fill(-1.0);
            return Ok(());
        }
        let search = Search::new(self.core.clone(), self.metric.clone());
        for (near, out) in search.within(x, self.eps).iter().zip(out) {
            *out = near.iter().map(|&(_, j)| self.labels[j as usize]).min().unwrap_or(-1) as f64;
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let components = self.core.to_matrix();
        vec![("core_sample_indices_", self.indices.clone().into()), ("components_", (&components).into())]
    }

    fn check(&self) -> Result<()> {
        let n = self.labels.len();
        if self.indices.len() != n
            || (n > 0 && (self.core.rows() != n || self.core.cols() != self.cols))
            || self.cols == 0
        {
            return Err(Error::shape("stored core rows", n, self.indices.len()));
        }
        if n == 0 { Ok(()) } else { Search::new(self.core.clone(), self.metric.clone()).check() }
    }
}
