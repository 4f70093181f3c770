//! How far predictions were off on rows that the model had not seen: what an interval around a new one is made of.
//!
//! Split conformal prediction (Vovk, Gammerman and Shafer 2005; Lei et al. 2018): of n errors on held-out rows the
//! ceil((n + 1) level)-th smallest covers a new row with at least that probability, whatever the model and the noise,
//! as long as rows are drawn alike. The kept model has seen the held-out rows too, so its errors are rather smaller.

use serde::{Deserialize, Serialize};

/// More are thinned out to this many.
const KEPT: usize = 1000;

/// Sizes of errors on held-out rows, rising.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOutErrors {
    rows: usize,
    sizes: Vec<f64>,
}

impl HeldOutErrors {
    pub fn of(truth: &[f64], predicted: &[f64]) -> Option<HeldOutErrors> {
        let mut sizes: Vec<f64> = truth.iter().zip(predicted).map(|(y, said)| (y - said).abs()).collect();
        if sizes.is_empty() || !sizes.iter().all(|size| size.is_finite()) {
            return None;
        }
        sizes.sort_by(f64::total_cmp);
        let rows = sizes.len();
        if rows > KEPT {
            // Rounded up: a wider interval covers as well.
            sizes = (1..=KEPT).map(|i| sizes[(i * rows).div_ceil(KEPT) - 1]).collect();
        }
        Some(HeldOutErrors { rows, sizes })
    }

    /// Half the width of an interval that covers a new row with this probability; `None` if there are too few rows for
    /// it.
    pub fn margin(&self, level: f64) -> Option<f64> {
        let rank = ((self.rows + 1) as f64 * level).ceil().max(1.0) as usize;
        if rank > self.rows {
            return None;
        }
        Some(self.sizes[(rank * self.sizes.len()).div_ceil(self.rows) - 1])
    }

    /// Whether a stored one is sound.
    pub fn check(&self) -> bool {
        let known = !self.sizes.is_empty() && self.sizes.len() == self.rows.min(KEPT);
        known && self.sizes.iter().all(|size| size.is_finite() && *size >= 0.0) && self.sizes.is_sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ermine::core::rng::Stream;

    #[test]
    fn intervals_cover_new_rows_as_often_as_they_say() {
        for (seed, rows) in [(0, 30), (1, 200), (2, 5000)] {
            let mut rng = Stream::new(seed, "conformal", 0);
            let mut draw = |rows: usize| -> Vec<f64> { (0..rows).map(|_| rng.normal().powi(3)).collect() };
            for level in [0.5, 0.8, 0.9, 0.95] {
                let (mut covered, repeats, new) = (0, 200, 50);
                for _ in 0..repeats {
                    let errors = HeldOutErrors::of(&draw(rows), &vec![0.0; rows]).unwrap();
                    assert!(errors.check());
                    let margin = errors.margin(level).unwrap();
                    covered += draw(new).iter().filter(|y| y.abs() <= margin).count();
                }
                let share = covered as f64 / (repeats * new) as f64;
                // Three standard errors of the draws, and at most 1 / (n + 1) and the thinning too many.
                let noise =
                    3.0 * (level * (1.0 - level) * (1.0 / rows as f64 + 1.0 / new as f64) / repeats as f64).sqrt();
                let most = level + 1.0 / (rows + 1) as f64 + 1e-3 + noise;
                assert!((level - noise..=most).contains(&share), "{rows} rows, {level}: {share}");
            }
        }
    }

    #[test]
    fn too_few_rows_promise_nothing() {
        let errors = HeldOutErrors::of(&[1.0, -2.0, 3.0], &[0.0; 3]).unwrap();
        assert_eq!(errors.margin(0.5), Some(2.0));
        assert_eq!(errors.margin(0.95), None);
        assert_eq!(HeldOutErrors::of(&[], &[]), None);
        assert_eq!(HeldOutErrors::of(&[f64::NAN], &[0.0]), None);
    }
}
