//! Quantiles, plain and weighted.

/// The sample quantile with linear interpolation between order statistics (type 7 of Hyndman and Fan 1996), of values
/// in increasing order.
pub fn interpolated(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = q.clamp(0.0, 1.0) * last as f64;
    let (low, share) = (place.floor() as usize, place.fract());
    between(sorted[low], sorted[(low + 1).min(last)], share)
}

/// [`interpolated`] of values in any order, which it changes: by selection, without sorting all of them.
pub fn selected(values: &mut [f64], q: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    let low = (q.clamp(0.0, 1.0) * last as f64).floor() as usize;
    let (_, &mut a, above) = values.select_nth_unstable_by(low, f64::total_cmp);
    let b = above.iter().copied().min_by(f64::total_cmp).unwrap_or(a);
    between(a, b, (q.clamp(0.0, 1.0) * last as f64).fract())
}

/// From the nearer end, so that q = 1 and equal neighbours are exact.
fn between(a: f64, b: f64, share: f64) -> f64 {
    if share < 0.5 { a + (b - a) * share } else { b - (b - a) * (1.0 - share) }
}

/// [`interpolated`] where each value counts as often as its weight says: for whole weights the same as repeating the
/// values. Values of weight zero do not count; NaN when nothing does.
pub fn interpolated_weighted(values: &[f64], weights: &[f64], q: f64) -> f64 {
    let mut pairs: Vec<(f64, f64)> =
        values.iter().copied().zip(weights.iter().copied()).filter(|pair| pair.1 > 0.0).collect();
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut total = 0.0;
    for pair in &mut pairs {
        total += pair.1;
        pair.1 = total;
    }
    let Some(last) = pairs.len().checked_sub(1) else { return f64::NAN };
    let place = q.clamp(0.0, 1.0) * (total - 1.0).max(0.0);
    // The value that stands at a place of the repeated sequence.
    let at = |place: f64| pairs[pairs.partition_point(|pair| pair.1 <= place).min(last)].0;
    between(at(place.floor()), at(place.floor() + 1.0), place.fract())
}

/// The value at which the weighted distribution reaches `q`, the middle of two where it is flat there: for whole
/// weights the same as repeating the values. Values of weight zero do not count; NaN when nothing does.
pub fn weighted(values: &[f64], weights: Option<&[f64]>, q: f64) -> f64 {
    Weighted::new(values, weights).at(q)
}

/// [`weighted`] for many quantiles of the same values, which are sorted once.
pub struct Weighted {
    /// In increasing order, each with the weight up to it.
    pairs: Vec<(f64, f64)>,
}

impl Weighted {
    pub fn new(values: &[f64], weights: Option<&[f64]>) -> Weighted {
        let mut pairs: Vec<(f64, f64)> = match weights {
            None => values.iter().map(|&value| (value, 1.0)).collect(),
            Some(weights) => values.iter().copied().zip(weights.iter().copied()).filter(|pair| pair.1 > 0.0).collect(),
        };
        pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut total = 0.0;
        for pair in &mut pairs {
            total += pair.1;
            pair.1 = total;
        }
        Weighted { pairs }
    }

    pub fn at(&self, q: f64) -> f64 {
        let pairs = &self.pairs;
        let Some(last) = pairs.len().checked_sub(1) else { return f64::NAN };
        let rank = q * pairs[last].1;
        let at = pairs.partition_point(|pair| pair.1 < rank).min(last);
        if pairs[at].1 - rank > f64::EPSILON || rank == 0.0 {
            pairs[at].0
        } else {
            0.5 * (pairs[at].0 + pairs[(at + 1).min(last)].0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_repeat_values() {
        let (values, weights) = ([3.0, 1.0, 2.0, 5.0], [1.0, 3.0, 0.0, 2.0]);
        let repeated = [3.0, 1.0, 1.0, 1.0, 5.0, 5.0];
        for q in [0.0, 0.1, 0.25, 0.5, 0.6, 0.75, 1.0] {
            assert_eq!(weighted(&values, Some(&weights), q), weighted(&repeated, None, q), "{q}");
        }
        assert_eq!(weighted(&repeated, None, 0.5), 2.0);
        let mut sorted = repeated;
        sorted.sort_by(f64::total_cmp);
        for q in [0.0, 0.1, 0.25, 0.5, 0.6, 0.75, 1.0] {
            assert_eq!(interpolated_weighted(&values, &weights, q), interpolated(&sorted, q), "{q}");
            assert_eq!(selected(&mut repeated.clone(), q), interpolated(&sorted, q), "{q}");
        }
    }

    #[test]
    fn interpolates() {
        let sorted = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(interpolated(&sorted, 0.5), 3.0);
        assert_eq!(interpolated(&sorted, 1.0), 8.0);
        assert_eq!(interpolated(&sorted, 0.25), 1.75);
    }
}
