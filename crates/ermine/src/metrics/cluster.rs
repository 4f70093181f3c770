//! How good groups are: against known labels (Rand index, mutual information), and by themselves (silhouette and its
//! kin).
//!
//! Labels are any integers; -1 (noise) is a label like any other, as in scikit-learn.

use crate::{Ctx, Error, Matrix, Result, X, core::simd};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// How often label a meets label b, with the sums over rows and columns.
struct Contingency {
    cells: Vec<(usize, usize, f64)>,
    left: Vec<f64>,
    right: Vec<f64>,
    total: f64,
}

/// Labels as 0, 1, 2, ... in the order of their values, and how many there are.
fn compact(labels: &[i64]) -> (Vec<usize>, usize) {
    let mut codes: BTreeMap<i64, usize> = labels.iter().map(|&label| (label, 0)).collect();
    codes.values_mut().enumerate().for_each(|(at, code)| *code = at);
    (labels.iter().map(|label| codes[label]).collect(), codes.len())
}

impl Contingency {
    fn new(a: &[i64], b: &[i64]) -> Result<Self> {
        if a.len() != b.len() {
            return Err(Error::shape("labels", format!("{} labels", a.len()), b.len()));
        }
        let ((a, k), (b, l)) = (compact(a), compact(b));
        let mut cells: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        let (mut left, mut right) = (vec![0.0; k], vec![0.0; l]);
        for (&a, &b) in a.iter().zip(&b) {
            *cells.entry((a, b)).or_default() += 1.0;
            left[a] += 1.0;
            right[b] += 1.0;
        }
        let cells = cells.into_iter().map(|((a, b), count)| (a, b, count)).collect();
        Ok(Contingency { cells, left, right, total: a.len() as f64 })
    }

    fn mutual_information(&self) -> f64 {
        let term = |&(a, b, count): &(usize, usize, f64)| {
            count / self.total * (count * self.total / (self.left[a] * self.right[b])).ln()
        };
        self.cells.iter().map(term).sum::<f64>().max(0.0)
    }
}

fn entropy(counts: &[f64], total: f64) -> f64 {
    -counts.iter().filter(|&&count| count > 0.0).map(|count| count / total * (count / total).ln()).sum::<f64>()
}

/// Share of pairs on which two labellings agree, adjusted so that chance has 0 and equality 1 (Hubert and Arabie 1985).
pub fn adjusted_rand_score(a: &[i64], b: &[i64]) -> Result<f64> {
    let table = Contingency::new(a, b)?;
    let pairs = |count: f64| count * (count - 1.0) / 2.0;
    let both: f64 = table.cells.iter().map(|cell| pairs(cell.2)).sum();
    let (left, right): (f64, f64) =
        (table.left.iter().map(|&c| pairs(c)).sum(), table.right.iter().map(|&c| pairs(c)).sum());
    let all = pairs(table.total);
    let (expected, most) = (if all > 0.0 { left * right / all } else { 0.0 }, 0.5 * (left + right));
    // Both are one group, or both are all single rows.
    Ok(if most == expected { 1.0 } else { (both - expected) / (most - expected) })
}

/// Mutual information over the mean of the two entropies: 1 for equal labellings.
pub fn normalized_mutual_info_score(a: &[i64], b: &[i64]) -> Result<f64> {
    let table = Contingency::new(a, b)?;
    if (table.left.len() <= 1 && table.right.len() <= 1) || table.total == 0.0 {
        return Ok(1.0);
    }
    let information = table.mutual_information();
    if information <= f64::EPSILON {
        return Ok(0.0);
    }
    let mean = 0.5 * (entropy(&table.left, table.total) + entropy(&table.right, table.total));
    Ok(information / mean)
}

/// Whether each cluster holds one class, whether each class is in one cluster, and the harmonic mean of the two.
pub fn homogeneity_completeness_v_measure(truth: &[i64], clusters: &[i64]) -> Result<(f64, f64, f64)> {
    let table = Contingency::new(truth, clusters)?;
    let information = table.mutual_information();
    let share = |entropy: f64| if entropy == 0.0 { 1.0 } else { information / entropy };
    let homogeneity = share(entropy(&table.left, table.total));
    let completeness = share(entropy(&table.right, table.total));
    let sum = homogeneity + completeness;
    Ok((homogeneity, completeness, if sum == 0.0 { 0.0 } else { 2.0 * homogeneity * completeness / sum }))
}

fn groups(x: &X, labels: &[i64]) -> Result<(Vec<usize>, Vec<f64>)> {
    if labels.len() != x.rows() {
        return Err(Error::shape("labels", format!("{} labels", x.rows()), labels.len()));
    }
    let (codes, k) = compact(labels);
    if k < 2 || k >= x.rows() {
        return Err(Error::Data(format!(
            "clusters are compared when there are at least 2 and fewer than rows, and there are {k} for {} rows",
            x.rows()
        )));
    }
    let mut counts = vec![0.0; k];
    codes.iter().for_each(|&code| counts[code] += 1.0);
    Ok((codes, counts))
}

/// `(b - a) / max(a, b)` of each row, a the mean distance to its own cluster, b that to the nearest other (Rousseeuw
/// 1987).
pub fn silhouette_samples(ctx: &Ctx, x: &X, labels: &[i64]) -> Result<Vec<f64>> {
    let (codes, counts) = groups(x, labels)?;
    let rows = x.to_matrix();
    let one = |i: usize| {
        let mut sums = vec![0.0; counts.len()];
        for (j, &code) in codes.iter().enumerate() {
            sums[code] += simd::distance2(rows.row(i), rows.row(j)).sqrt();
        }
        let own = codes[i];
        if counts[own] == 1.0 {
            return 0.0;
        }
        let a = sums[own] / (counts[own] - 1.0);
        let others = (0..counts.len()).filter(|&c| c != own).map(|c| sums[c] / counts[c]);
        let b = others.fold(f64::INFINITY, f64::min);
        if a.max(b) > 0.0 { (b - a) / a.max(b) } else { 0.0 }
    };
    ctx.check()?;
    Ok(ctx.install(|| (0..rows.rows).into_par_iter().map(one).collect()))
}

/// The mean of [`silhouette_samples`]: near 1 for tight, separate clusters, below 0 for wrong ones.
pub fn silhouette_score(ctx: &Ctx, x: &X, labels: &[i64]) -> Result<f64> {
    let samples = silhouette_samples(ctx, x, labels)?;
    Ok(samples.iter().sum::<f64>() / samples.len() as f64)
}

fn centroids(x: &X, codes: &[usize], counts: &[f64]) -> Matrix {
    let mut centres = Matrix::zeros(counts.len(), x.cols());
    for (row, &code) in x.iter().zip(codes) {
        row.add_to(1.0, centres.row_mut(code));
    }
    // Divided at the end: shares of a third would leave a spread of rounding errors where all rows are equal.
    counts.iter().enumerate().for_each(|(c, count)| centres.row_mut(c).iter_mut().for_each(|sum| *sum /= count));
    centres
}

/// Scatter between clusters over that within, each by its degrees of freedom (Calinski and Harabasz 1974).
pub fn calinski_harabasz_score(x: &X, labels: &[i64]) -> Result<f64> {
    let (codes, counts) = groups(x, labels)?;
    let (n, k) = (x.rows() as f64, counts.len() as f64);
    let centres = centroids(x, &codes, &counts);
    let centre = centroids(x, &vec![0; x.rows()], &[n]);
    let between: f64 = (0..counts.len()).map(|c| counts[c] * simd::distance2(centres.row(c), centre.row(0))).sum();
    let within: f64 = x.iter().zip(&codes).map(|(row, &c)| row.distance2(centres.row(c))).sum();
    Ok(if within == 0.0 { 1.0 } else { between * (n - k) / (within * (k - 1.0)) })
}

/// Mean over clusters of the worst (spread + spread) / distance with another (Davies and Bouldin 1979): smaller is
/// better.
pub fn davies_bouldin_score(x: &X, labels: &[i64]) -> Result<f64> {
    let (codes, counts) = groups(x, labels)?;
    let centres = centroids(x, &codes, &counts);
    let mut spread = vec![0.0; counts.len()];
    for (row, &c) in x.iter().zip(&codes) {
        spread[c] += row.distance2(centres.row(c)).sqrt() / counts[c];
    }
    let worst = |a: usize| {
        let ratio = |b: usize| {
            let apart = simd::distance2(centres.row(a), centres.row(b)).sqrt();
            if apart > 0.0 { (spread[a] + spread[b]) / apart } else { 0.0 }
        };
        (0..counts.len()).filter(|&b| b != a).map(ratio).fold(0.0, f64::max)
    };
    Ok((0..counts.len()).map(worst).sum::<f64>() / counts.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_scikit_learn() {
        let (a, b) = ([0, 0, 1, 1, 2, 2, 2], [5, 5, 5, 1, 1, 0, 0]);
        assert!((adjusted_rand_score(&a, &b).unwrap() - 0.2125).abs() < 1e-12);
        assert!((normalized_mutual_info_score(&a, &b).unwrap() - 0.5636355530993447).abs() < 1e-12);
        assert_eq!(adjusted_rand_score(&a, &a).unwrap(), 1.0);
        let x = [0.0, 0.0, 1.0, 0.5, 4.0, 4.0, 5.0, 4.5, 9.0, 0.0, 8.0, 1.0, 4.5, 3.0];
        let x = X::dense(&x, 2).unwrap();
        let score = silhouette_score(&Ctx::new(0), &x, &a).unwrap();
        assert!((score - 0.46132154781146284).abs() < 1e-12, "{score}");
        let score = calinski_harabasz_score(&x, &a).unwrap();
        assert!((score - 8.285714285714286).abs() < 1e-9, "{score}");
        let score = davies_bouldin_score(&x, &a).unwrap();
        assert!((score - 0.580446565662429).abs() < 1e-9, "{score}");
        let equal = X::dense(&[0.5; 14], 2).unwrap();
        assert_eq!(calinski_harabasz_score(&equal, &a).unwrap(), 1.0);
        assert_eq!(davies_bouldin_score(&equal, &a).unwrap(), 0.0);
    }

    #[test]
    fn one_cluster_is_refused_in_words() {
        let x = X::dense(&[0.0, 1.0], 1).unwrap();
        assert!(silhouette_score(&Ctx::new(0), &x, &[0, 0]).unwrap_err().to_string().contains("at least 2"));
    }
}
