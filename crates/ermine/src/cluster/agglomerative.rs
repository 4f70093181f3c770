//! Agglomerative clustering: every row begins as a cluster, and the two nearest clusters merge until `n_clusters` are
//! left, or until none are nearer than `distance_threshold`. Distance between clusters: the rise of the sum of squares
//! (ward), the farthest pair (complete), the mean over pairs (average), the nearest pair (single).
//!
//! Nearest-neighbour chains with the update of Lance and Williams (Murtagh 1983; Muellner 2011): O(n^2) time, n^2 / 2
//! distances in memory. A new row belongs to the cluster whose mean is nearest.

use super::k_means::assign_nearest;
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Model, Numbers, Output, Passes, Result, Shape, Source,
    Task, X,
    core::{
        choice,
        param::{at_least, linear},
        params, simd,
    },
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

choice! {
    /// How the distance between two clusters is defined.
    pub enum Linkage {
        /// By how much the sum of squares within clusters would rise.
        Ward = "ward",
        /// The farthest pair.
        Complete = "complete",
        /// The mean over all pairs.
        Average = "average",
        /// The nearest pair.
        Single = "single",
    }
}

params! {
    /// Hierarchical clustering: merges the closest clusters, starting from single rows, and keeps the tree of merges.
    pub struct AgglomerativeClustering {
        /// Number of clusters to find; must be none if `distance_threshold` is given.
        n_clusters: Option<usize> = Some(2), at_least(1.0), linear(2.0, 20.0);
        /// How the distance between two clusters is defined.
        linkage: Linkage = Linkage::Ward;
        /// Clusters at or above this distance are not merged.
        distance_threshold: Option<f64> = None, at_least(0.0);
    }
}

const REASON: &str = "it keeps the distances of all pairs of rows";
/// Half of the square of this many rows is 6.4 GB of distances.
const MOST_ROWS: usize = 40_000;

impl Estimator for AgglomerativeClustering {
    type Model = AgglomerativeModel;

    const INFO: Info = Info {
        scale: true,
        weights: false,
        ..Info::new(
            "cluster",
            Task::Clustering,
            "merge argmin_{A,B} d(A, B) until n_clusters are left",
            Passes::Memory(REASON),
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, p, _) = shape.sizes();
        1e-9 * (2e5 + n * n * (20.0 + 0.1 * p))
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<AgglomerativeModel>> {
        let name = "AgglomerativeClustering";
        let batch = data.in_memory(name, REASON)?;
        batch.x.check_finite(batch.first)?;
        let n = batch.rows();
        if n < 2 {
            return Err(Error::Data(format!(
                "{name}: one row (1 sample) cannot be merged with anything; at least 2 are needed"
            )));
        }
        if n > MOST_ROWS {
            return Err(Error::Data(format!(
                "{name} keeps the distances of all pairs, and {n} rows are more than {MOST_ROWS}"
            ))
            .hint("use KMeans or DBSCAN, or a sample of the rows"));
        }
        let wanted = match (self.n_clusters, self.distance_threshold) {
            (Some(clusters), None) if clusters <= n => Some(clusters),
            (Some(clusters), None) => {
                return Err(Error::Data(format!(
                    "{name}: n_clusters={clusters} is more than the {n} rows (n_samples)"
                )));
            }
            (None, Some(_)) => None,
            _ => {
                return Err(Error::Parameter {
                    model: name.into(),
                    name: "n_clusters".into(),
                    value: self.n_clusters.map_or("none".into(), |clusters| clusters.to_string()),
                    allowed: "given, or distance_threshold, and the other none".into(),
                });
            }
        };
        let rows = batch.x.to_matrix();
        let merges = self.merges(&rows, ctx)?;
        let clusters = wanted.unwrap_or_else(|| {
            let limit = self.distance_threshold.unwrap_or(f64::INFINITY);
            n - merges.iter().filter(|merge| merge.height < limit).count()
        });
        let labels = cut(&merges, n, clusters);
        let mut centres = Matrix::zeros(clusters, rows.cols);
        let mut counts = vec![0.0; clusters];
        for (i, &label) in labels.iter().enumerate() {
            counts[label as usize] += 1.0;
            simd::add_scaled(1.0, rows.row(i), centres.row_mut(label as usize));
        }
        (0..clusters).for_each(|c| centres.row_mut(c).iter_mut().for_each(|value| *value /= counts[c]));
        let children = merges.iter().flat_map(|merge| [merge.left as i64, merge.right as i64]).collect();
        let heights = merges.iter().map(|merge| merge.height).collect();
        let mut fit = Fit::new(AgglomerativeModel { centres, children, heights }, FitLog::exact(Default::default()));
        fit.rows.push(("labels_", labels.into()));
        Ok(fit)
    }
}

#[derive(Clone, Copy)]
struct Merge {
    left: usize,
    right: usize,
    height: f64,
}

/// Distances of pairs i > j, row after row.
struct Pairs(Vec<f64>);

impl Pairs {
    fn at(i: usize, j: usize) -> usize {
        let (i, j) = if i > j { (i, j) } else { (j, i) };
        i * (i - 1) / 2 + j
    }

    fn get(&self, i: usize, j: usize) -> f64 {
        self.0[Pairs::at(i, j)]
    }
}

impl AgglomerativeClustering {
    /// All merges, lowest first, with rows 0..n and merged clusters n, n + 1, ... in the order of the merges.
    fn merges(&self, rows: &Matrix, ctx: &Ctx) -> Result<Vec<Merge>> {
        let n = rows.rows;
        let mut values = vec![0.0; n * (n - 1) / 2];
        let mut parts: Vec<(usize, &mut [f64])> = Vec::with_capacity(n);
        let mut rest = &mut values[..];
        for i in 1..n {
            let (part, behind) = rest.split_at_mut(i);
            parts.push((i, part));
            rest = behind;
        }
        // Ward works on squares, which Lance and Williams' rule keeps linear.
        let squared = self.linkage == Linkage::Ward;
        ctx.install(|| {
            parts.into_par_iter().for_each(|(i, part)| {
                for (j, out) in part.iter_mut().enumerate() {
                    let distance = simd::distance2(rows.row(i), rows.row(j));
                    *out = if squared { distance } else { distance.sqrt() };
                }
            });
        });
        if !values.iter().all(|distance| distance.is_finite()) {
            return Err(Error::Data(
                "AgglomerativeClustering: the rows are farther apart than a double can say".into(),
            )
            .hint("bring the columns to a smaller scale"));
        }
        let mut pairs = Pairs(values);
        let mut size = vec![1.0; n];
        let mut active: Vec<usize> = (0..n).collect();
        let mut chain: Vec<usize> = Vec::new();
        let mut found: Vec<Merge> = Vec::with_capacity(n - 1);
        while found.len() < n - 1 {
            ctx.check()?;
            if chain.is_empty() {
                chain.push(active[0]);
            }
            loop {
                let tip = chain[chain.len() - 1];
                let before = chain.len().checked_sub(2).map(|at| chain[at]);
                // The one before wins ties, so that chains end.
                let mut best = before.map_or((usize::MAX, f64::INFINITY), |b| (b, pairs.get(tip, b)));
                for &other in active.iter().filter(|&&other| other != tip) {
                    let distance = pairs.get(tip, other);
                    if distance < best.1 {
                        best = (other, distance);
                    }
                }
                if Some(best.0) == before {
                    break;
                }
                chain.push(best.0);
            }
            let (a, b) = (chain[chain.len() - 1], chain[chain.len() - 2]);
            chain.truncate(chain.len() - 2);
            let (keep, gone) = if a < b { (a, b) } else { (b, a) };
            let apart = pairs.get(keep, gone);
            for &other in active.iter().filter(|&&other| other != keep && other != gone) {
                let (x, y) = (pairs.get(keep, other), pairs.get(gone, other));
                let (p, q, r) = (size[keep], size[gone], size[other]);
                pairs.0[Pairs::at(keep, other)] = match self.linkage {
                    Linkage::Ward => ((p + r) * x + (q + r) * y - r * apart) / (p + q + r),
                    Linkage::Complete => x.max(y),
                    Linkage::Average => (p * x + q * y) / (p + q),
                    Linkage::Single => x.min(y),
                };
            }
            size[keep] += size[gone];
            active.retain(|&other| other != gone);
            found.push(Merge { left: keep, right: gone, height: if squared { apart.max(0.0).sqrt() } else { apart } });
        }
        // Chains find merges out of order: sort, then name clusters by the order of their merges.
        found.sort_by(|a, b| a.height.total_cmp(&b.height));
        let mut root: Vec<usize> = (0..n).collect();
        let mut node: Vec<usize> = (0..n).collect();
        fn find(root: &mut [usize], mut i: usize) -> usize {
            while root[i] != i {
                root[i] = root[root[i]];
                i = root[i];
            }
            i
        }
        for (step, merge) in found.iter_mut().enumerate() {
            let (a, b) = (find(&mut root, merge.left), find(&mut root, merge.right));
            let (x, y) = (node[a], node[b]);
            (merge.left, merge.right) = (x.min(y), x.max(y));
            root[b] = a;
            node[a] = n + step;
        }
        Ok(found)
    }
}

/// Labels after all but the last `clusters - 1` merges, numbered by their first row.
fn cut(merges: &[Merge], n: usize, clusters: usize) -> Vec<i64> {
    let mut parent: Vec<usize> = (0..n + merges.len()).collect();
    for (step, merge) in merges.iter().take(n - clusters).enumerate() {
        parent[merge.left] = n + step;
        parent[merge.right] = n + step;
    }
    // Parents have larger numbers, so one walk downwards settles all.
    for i in (0..parent.len()).rev() {
        parent[i] = parent[parent[i]];
    }
    let mut names = std::collections::BTreeMap::new();
    (0..n)
        .map(|i| {
            let next = names.len() as i64;
            *names.entry(parent[i]).or_insert(next)
        })
        .collect()
}

/// The tree of merges, and the mean of each cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgglomerativeModel {
    pub centres: Matrix,
    /// Two numbers for each merge: rows, or n + the number of an earlier merge.
    pub children: Vec<i64>,
    pub heights: Vec<f64>,
}

impl Model for AgglomerativeModel {
    fn cols(&self) -> usize {
        self.centres.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Cluster, 1)]
    }

    fn predict(&self, x: &X, _: Output, out: &mut [f64]) -> Result<()> {
        for (row, out) in x.iter().zip(out) {
            *out = assign_nearest(&row, &self.centres) as f64;
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let children = Array { shape: vec![self.heights.len(), 2], values: Numbers::Int(self.children.clone()) };
        vec![
            ("n_clusters_", self.centres.rows.into()),
            ("n_leaves_", (self.heights.len() + 1).into()),
            ("children_", children),
            ("distances_", (&self.heights).into()),
        ]
    }

    fn check(&self) -> Result<()> {
        let fits = self.centres.is_consistent()
            && self.centres.rows > 0
            && self.centres.cols > 0
            && self.children.len() == 2 * self.heights.len();
        if fits { Ok(()) } else { Err(Error::shape("stored merges", 2 * self.heights.len(), self.children.len())) }
    }
}
