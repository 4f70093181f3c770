//! How much each member of a blend counts: the shares that predict held-out rows best (Breiman, Stacked regressions,
//! 1996). With residuals `r_m = p_m - y` of predictions that were made in cross-validation,
//!
//! ```text
//! min_w |sum_m w_m r_m|^2 = w' G w,   w >= 0,   sum_m w_m = 1,   G_ml = r_m . r_l
//! ```
//!
//! Of classes p are probabilities and y is 1 for the class of the row, so that the sum is the Brier score. Shares that
//! are not negative and sum to 1 hardly overfit, however many members there are.

use super::Standing;
use crate::rows::{Encoded, Labels};
use ermine::{Matrix, split::Fold};

/// A member that counts less is left out.
const LEAST: f64 = 0.05;

/// The share of each member, to two digits, 0 for those that are left out. `None` where predictions are not known.
pub fn shares(members: &[&Standing], labels: &Labels, folds: &[Fold]) -> Option<Vec<f64>> {
    let mut gram = Matrix::zeros(members.len(), members.len());
    for (number, fold) in folds.iter().enumerate() {
        let held = labels.take(&fold.test);
        let truth = held.target.as_ref()?;
        let residuals: Vec<Vec<f64>> =
            members.iter().map(|member| residuals(member.said.get(number)?, truth)).collect::<Option<_>>()?;
        let width = residuals.first()?.len() / truth.len().max(1);
        let weight = |place: usize| held.weights.as_ref().map_or(1.0, |weights| weights[place / width]);
        for (i, a) in residuals.iter().enumerate() {
            for (j, b) in residuals.iter().enumerate().take(i + 1) {
                gram[(i, j)] += a.iter().zip(b).enumerate().map(|(place, (a, b))| weight(place) * a * b).sum::<f64>();
                gram[(j, i)] = gram[(i, j)];
            }
        }
    }
    if gram.values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let least = |share: f64| if share < LEAST { 0.0 } else { share };
    let kept: Vec<f64> = on_simplex(&gram).into_iter().map(least).collect();
    let total: f64 = kept.iter().sum();
    Some(kept.into_iter().map(|share| (100.0 * share / total).round() / 100.0).collect())
}

/// What is predicted less what is true, row by row and class by class.
fn residuals(said: &Matrix, truth: &Encoded) -> Option<Vec<f64>> {
    if said.rows != truth.len() {
        return None;
    }
    Some(match truth {
        Encoded::Real(y) => said.values.iter().zip(y).map(|(said, y)| said - y).collect(),
        Encoded::Class { codes, .. } => {
            let is_true = |place: usize| codes[place / said.cols] as usize == place % said.cols;
            let values = said.values.iter().enumerate();
            values.map(|(place, said)| said - f64::from(u8::from(is_true(place)))).collect()
        }
    })
}

/// The point of the simplex where `w' G w` is least, G being positive semidefinite: weight moves from the member where
/// the slope is largest to the one where it is smallest, as far as that helps, until no move helps.
fn on_simplex(gram: &Matrix) -> Vec<f64> {
    const MOST: usize = 10_000;
    let n = gram.rows;
    let mut w = vec![1.0 / n as f64; n];
    let mut slope: Vec<f64> = (0..n).map(|i| (0..n).map(|j| gram[(i, j)] * w[j]).sum()).collect();
    let scale = (0..n).map(|i| gram[(i, i)]).fold(0.0, f64::max);
    for _ in 0..MOST {
        let low = (0..n).min_by(|&a, &b| slope[a].total_cmp(&slope[b])).unwrap_or(0);
        let Some(high) = (0..n).filter(|&i| w[i] > 0.0).max_by(|&a, &b| slope[a].total_cmp(&slope[b])) else { break };
        let gain = slope[high] - slope[low];
        if gain <= 1e-12 * scale {
            break;
        }
        let bend = gram[(low, low)] + gram[(high, high)] - 2.0 * gram[(low, high)];
        let step = if bend > 0.0 { (gain / bend).min(w[high]) } else { w[high] };
        w[low] += step;
        w[high] -= step;
        for i in 0..n {
            slope[i] += step * (gram[(i, low)] - gram[(i, high)]);
        }
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;
    use ermine::core::rng::Stream;

    fn gram(rows: &[Vec<f64>]) -> Matrix {
        let dot = |i: usize, j: usize| rows[i].iter().zip(&rows[j]).map(|(a, b)| a * b).sum();
        Matrix::from_fn(rows.len(), rows.len(), dot)
    }

    #[test]
    fn shares_are_where_no_move_helps() {
        let mut rng = Stream::new(1, "simplex", 0);
        for members in 1..8 {
            let bias = rng.normal();
            let rows: Vec<Vec<f64>> =
                (0..members).map(|m| (0..20).map(|_| bias + (1.0 + m as f64) * rng.normal()).collect()).collect();
            let gram = gram(&rows);
            let w = on_simplex(&gram);
            assert!(w.iter().all(|w| *w >= 0.0) && (w.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            // Kuhn and Tucker: the slope is the same wherever there is weight, and nowhere smaller.
            let slope = |i: usize| (0..members).map(|j| gram[(i, j)] * w[j]).sum::<f64>();
            let least = (0..members).map(slope).fold(f64::INFINITY, f64::min);
            let scale = gram.values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
            assert!((0..members).all(|i| w[i] == 0.0 || slope(i) <= least + 1e-9 * scale));
        }
    }

    #[test]
    fn errors_that_are_independent_share_by_their_variance() {
        // Orthogonal residuals of squares 1 and 4: shares 4/5 and 1/5. A copy of the first adds nothing.
        let two = gram(&[vec![1.0, 0.0], vec![0.0, 2.0]]);
        let w = on_simplex(&two);
        assert!((w[0] - 0.8).abs() < 1e-9 && (w[1] - 0.2).abs() < 1e-9, "{w:?}");
        let three = gram(&[vec![1.0, 0.0], vec![1.0, 0.0], vec![0.0, 2.0]]);
        let w = on_simplex(&three);
        assert!((w[0] + w[1] - 0.8).abs() < 1e-9, "{w:?}");
        // A member that is nowhere better gets nothing.
        assert_eq!(on_simplex(&gram(&[vec![1.0, 1.0], vec![2.0, 2.0]])), [1.0, 0.0]);
    }
}
