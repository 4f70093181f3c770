//! How well a score orders rows: ROC and precision-recall curves, the areas under them, and the threshold for a stated
//! cost.
//!
//! A row is called positive when its score reaches the threshold. Scores are sorted once; rows with equal scores change
//! sides together. The area under the ROC curve is the probability that a positive row has a higher score than a
//! negative one, ties counting half, so without weights it needs no curve: the scores of both classes are sorted as
//! integers and merged.

use super::same_length;
use crate::{Error, Matrix, Result};
use rayon::prelude::*;

/// Rows whose score reaches each of the distinct scores, highest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Thresholds {
    pub threshold: Vec<f64>,
    /// Weight of the positive rows at or above the threshold.
    pub true_positives: Vec<f64>,
    /// Weight of the negative rows at or above the threshold.
    pub false_positives: Vec<f64>,
}

/// Integers in the order of the numbers, the two zeros being one.
fn key(score: f64) -> u64 {
    let bits = (score + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn check(positive: &[bool], scores: &[f64], weights: Option<&[f64]>) -> Result<()> {
    same_length(positive.len(), scores.len(), weights)?;
    match scores.iter().position(|score| score.is_nan()) {
        Some(i) => Err(Error::value(i, None, "the score is NaN")),
        None => Ok(()),
    }
}

/// Positives and negatives at every distinct score. Rows of weight zero are left out.
pub fn thresholds(positive: &[bool], scores: &[f64], weights: Option<&[f64]>) -> Result<Thresholds> {
    check(positive, scores, weights)?;
    if scores.len() > u32::MAX as usize {
        return Err(Error::shape("scores", "at most 4294967295 rows", scores.len()));
    }
    let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
    // Highest first; equal scores in the order of rows, so that sums of weights do not depend on the sort.
    let mut order: Vec<(u64, u32)> =
        (0..scores.len()).filter(|&i| weight(i) != 0.0).map(|i| (!key(scores[i]), i as u32)).collect();
    order.par_sort_unstable();
    let mut out = Thresholds { threshold: vec![], true_positives: vec![], false_positives: vec![] };
    let (mut tp, mut fp) = (0.0, 0.0);
    for (place, &(key, row)) in order.iter().enumerate() {
        let row = row as usize;
        if positive[row] {
            tp += weight(row);
        } else {
            fp += weight(row);
        }
        if order.get(place + 1).is_none_or(|next| next.0 != key) {
            out.threshold.push(scores[row]);
            out.true_positives.push(tp);
            out.false_positives.push(fp);
        }
    }
    Ok(out)
}

/// Points of the ROC curve from (0, 0) to (1, 1); NaN on the axis of a class that does not appear.
#[derive(Clone, Debug, PartialEq)]
pub struct RocCurve {
    /// False positive rate, `FP / (FP + TN)`.
    pub fpr: Vec<f64>,
    /// True positive rate, the recall.
    pub tpr: Vec<f64>,
    /// The first is infinite: nothing is called positive.
    pub threshold: Vec<f64>,
}

/// The ROC curve; `corners_only` leaves out points on a straight line between their neighbours.
pub fn roc_curve(positive: &[bool], scores: &[f64], weights: Option<&[f64]>, corners_only: bool) -> Result<RocCurve> {
    let Thresholds { threshold, true_positives: tp, false_positives: fp } = thresholds(positive, scores, weights)?;
    let last = threshold.len().wrapping_sub(1);
    let bent = |values: &[f64], i: usize| (values[i + 1] - values[i]) - (values[i] - values[i - 1]) != 0.0;
    let keep =
        |i: &usize| !corners_only || threshold.len() <= 2 || *i == 0 || *i == last || bent(&fp, *i) || bent(&tp, *i);
    let kept: Vec<usize> = (0..threshold.len()).filter(keep).collect();
    let rate = |values: &[f64]| {
        let whole = values.last().copied().unwrap_or(0.0);
        let whole = if whole > 0.0 { whole } else { f64::NAN };
        std::iter::once(0.0).chain(kept.iter().map(|&i| values[i])).map(|value| value / whole).collect()
    };
    let infinite_first = std::iter::once(f64::INFINITY).chain(kept.iter().map(|&i| threshold[i])).collect();
    Ok(RocCurve { fpr: rate(&fp), tpr: rate(&tp), threshold: infinite_first })
}

/// Area under the ROC curve: `P(score of a positive > score of a negative) + P(equal) / 2`. NaN when a class is
/// missing.
pub fn roc_auc(positive: &[bool], scores: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    if weights.is_none() {
        check(positive, scores, weights)?;
        return Ok(rank_auc(positive, scores));
    }
    let Thresholds { true_positives: tp, false_positives: fp, .. } = thresholds(positive, scores, weights)?;
    let (mut area, mut before) = (0.0, (0.0, 0.0));
    for (&tp, &fp) in tp.iter().zip(&fp) {
        area += (fp - before.1) * (tp + before.0) / 2.0;
        before = (tp, fp);
    }
    let whole = before.0 * before.1;
    Ok(if whole > 0.0 { area / whole } else { f64::NAN })
}

/// Standardised area under the ROC curve up to a false positive rate of `max_fpr` (McClish 1989): 0.5 for guessing.
pub fn partial_roc_auc(positive: &[bool], scores: &[f64], max_fpr: f64, weights: Option<&[f64]>) -> Result<f64> {
    if !(max_fpr > 0.0 && max_fpr <= 1.0) {
        let name = "max_fpr".into();
        let allowed = "above 0 and at most 1".into();
        return Err(Error::Parameter { model: "roc_auc".into(), name, value: max_fpr.to_string(), allowed });
    }
    if max_fpr == 1.0 {
        return roc_auc(positive, scores, weights);
    }
    let curve = roc_curve(positive, scores, weights, true)?;
    let mut area = 0.0;
    for i in 1..curve.fpr.len() {
        let (x0, x1, y0, y1) = (curve.fpr[i - 1], curve.fpr[i], curve.tpr[i - 1], curve.tpr[i]);
        if x1 <= max_fpr {
            area += (x1 - x0) * (y0 + y1) / 2.0;
        } else {
            let y = y0 + (y1 - y0) * (max_fpr - x0) / (x1 - x0);
            area += (max_fpr - x0) * (y0 + y) / 2.0;
            break;
        }
    }
    let least = max_fpr * max_fpr / 2.0;
    let defined = !curve.fpr[curve.fpr.len() - 1].is_nan() && !curve.tpr[curve.tpr.len() - 1].is_nan();
    Ok(if defined { 0.5 * (1.0 + (area - least) / (max_fpr - least)) } else { f64::NAN })
}

fn rank_auc(positive: &[bool], scores: &[f64]) -> f64 {
    let total = positive.par_iter().filter(|positive| **positive).count();
    let (mut high, mut low) = (Vec::with_capacity(total), Vec::with_capacity(scores.len() - total));
    for (&positive, &score) in positive.iter().zip(scores) {
        if positive {
            high.push(key(score));
        } else {
            low.push(key(score));
        }
    }
    if high.is_empty() || low.is_empty() {
        return f64::NAN;
    }
    rayon::join(|| sort_keys(&mut high), || sort_keys(&mut low));
    // Twice the number of pairs in the right order, exact in integers.
    let (mut twice, mut below, mut i) = (0u128, 0usize, 0usize);
    while i < high.len() {
        let value = high[i];
        while below < low.len() && low[below] < value {
            below += 1;
        }
        let equal = low[below..].iter().take_while(|low| **low == value).count();
        let run = high[i..].iter().take_while(|high| **high == value).count();
        twice += run as u128 * (2 * below + equal) as u128;
        below += equal;
        i += run;
    }
    twice as f64 / 2.0 / (high.len() as f64 * low.len() as f64)
}

/// Sorts by three counting passes over the 33 highest bits that differ, then sorts what is still equal in them.
fn sort_keys(keys: &mut Vec<u64>) {
    const BITS: u32 = 11;
    const SIZE: usize = 1 << BITS;
    if keys.len() < 1 << 14 {
        keys.sort_unstable();
        return;
    }
    let first = keys[0];
    let differing = keys.iter().fold(0, |bits, key| bits | (key ^ first));
    let shift = (64 - differing.leading_zeros()).saturating_sub(3 * BITS);
    let digit = |key: u64, pass: u32| (key >> (shift + pass * BITS)) as usize & (SIZE - 1);
    let mut counts = vec![[0usize; SIZE]; 3];
    for &key in keys.iter() {
        (0..3).for_each(|pass| counts[pass as usize][digit(key, pass)] += 1);
    }
    let mut other = vec![0; keys.len()];
    for pass in 0..3 {
        let starts = &mut counts[pass as usize];
        let mut next = 0;
        for start in starts.iter_mut() {
            next += std::mem::replace(start, next);
        }
        for &key in keys.iter() {
            let place = &mut starts[digit(key, pass)];
            other[*place] = key;
            *place += 1;
        }
        std::mem::swap(keys, &mut other);
    }
    let mut start = 0;
    for i in 1..=keys.len() {
        if i == keys.len() || keys[i] >> shift != keys[start] >> shift {
            if i - start > 1 {
                keys[start..i].sort_unstable();
            }
            start = i;
        }
    }
}

/// Precision and recall at every threshold, recall decreasing; the last point (1, 0) has no threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct PrecisionRecall {
    pub precision: Vec<f64>,
    pub recall: Vec<f64>,
    pub threshold: Vec<f64>,
}

/// The precision-recall curve. Without positive rows the recall is 1 everywhere.
pub fn precision_recall_curve(positive: &[bool], scores: &[f64], weights: Option<&[f64]>) -> Result<PrecisionRecall> {
    let Thresholds { threshold, true_positives: tp, false_positives: fp } = thresholds(positive, scores, weights)?;
    let whole = tp.last().copied().unwrap_or(0.0);
    let backwards = || (0..threshold.len()).rev();
    let precision = |i: usize| if tp[i] + fp[i] == 0.0 { 0.0 } else { tp[i] / (tp[i] + fp[i]) };
    let recall = |i: usize| if whole == 0.0 { 1.0 } else { tp[i] / whole };
    Ok(PrecisionRecall {
        precision: backwards().map(precision).chain([1.0]).collect(),
        recall: backwards().map(recall).chain([0.0]).collect(),
        threshold: backwards().map(|i| threshold[i]).collect(),
    })
}

/// Average precision, `sum_t (recall_t - recall_{t-1}) precision_t` over falling thresholds.
pub fn average_precision(positive: &[bool], scores: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    let curve = precision_recall_curve(positive, scores, weights)?;
    let steps = curve.recall.windows(2).zip(&curve.precision);
    Ok(steps.map(|(recall, precision)| (recall[0] - recall[1]) * precision).sum::<f64>().max(0.0))
}

/// Rows of class `c` among codes.
pub fn is_class(codes: &[u32], c: usize) -> Vec<bool> {
    codes.iter().map(|&code| code as usize == c).collect()
}

pub(crate) fn column(scores: &Matrix, c: usize) -> Vec<f64> {
    (0..scores.rows).map(|i| scores[(i, c)]).collect()
}

/// Mean over the classes of `binary(class against the rest, its column)`, plain or by the weight of the classes.
pub fn one_against_rest(
    codes: &[u32],
    scores: &Matrix,
    weights: Option<&[f64]>,
    weighted: bool,
    binary: impl Fn(&[bool], &[f64], Option<&[f64]>) -> Result<f64>,
) -> Result<f64> {
    same_length(codes.len(), scores.rows, weights)?;
    let mut shares = vec![1.0; scores.cols];
    if weighted {
        shares.fill(0.0);
        for (i, &code) in codes.iter().enumerate() {
            *shares
                .get_mut(code as usize)
                .ok_or_else(|| Error::shape("scores", "a column for each class", scores.cols))? +=
                weights.map_or(1.0, |weights| weights[i]);
        }
    }
    let mut sum = 0.0;
    for c in 0..scores.cols {
        sum += shares[c] * binary(&is_class(codes, c), &column(scores, c), weights)?;
    }
    Ok(sum / shares.iter().sum::<f64>())
}

/// Mean over the classes of the area of each against the rest.
pub fn roc_auc_ovr(codes: &[u32], scores: &Matrix, weights: Option<&[f64]>, weighted: bool) -> Result<f64> {
    one_against_rest(codes, scores, weights, weighted, roc_auc)
}

/// Mean over pairs of classes (Hand and Till 2001), which class shares do not affect; `weighted` by the weight of each
/// pair.
pub fn roc_auc_ovo(codes: &[u32], scores: &Matrix, weights: Option<&[f64]>, weighted: bool) -> Result<f64> {
    same_length(codes.len(), scores.rows, weights)?;
    let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
    let total: f64 = (0..codes.len()).map(weight).sum();
    let (mut sum, mut shares) = (0.0, 0.0);
    for a in 0..scores.cols {
        for b in a + 1..scores.cols {
            let rows: Vec<usize> = (0..codes.len()).filter(|&i| [a, b].contains(&(codes[i] as usize))).collect();
            let share = if weighted { rows.iter().map(|&i| weight(i)).sum::<f64>() / total } else { 1.0 };
            let some: Option<Vec<f64>> = weights.map(|weights| rows.iter().map(|&i| weights[i]).collect());
            let mut area = 0.0;
            for c in [a, b] {
                let positive: Vec<bool> = rows.iter().map(|&i| codes[i] as usize == c).collect();
                let column: Vec<f64> = rows.iter().map(|&i| scores[(i, c)]).collect();
                area += 0.5 * roc_auc(&positive, &column, some.as_deref())?;
            }
            sum += share * area;
            shares += share;
        }
    }
    Ok(sum / shares)
}

/// What each outcome costs; a gain is a negative cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    pub false_positive: f64,
    pub false_negative: f64,
    pub true_positive: f64,
    pub true_negative: f64,
}

impl Costs {
    /// What mistakes cost, right answers being free.
    pub fn new(false_positive: f64, false_negative: f64) -> Self {
        Costs { false_positive, false_negative, true_positive: 0.0, true_negative: 0.0 }
    }

    /// The threshold on a true probability above which calling positive costs less, from the costs alone:
    /// `(FP - TN) / (FP - TN + FN - TP)`.
    pub fn probability_threshold(&self) -> f64 {
        let (alarm, miss) = (self.false_positive - self.true_negative, self.false_negative - self.true_positive);
        alarm / (alarm + miss)
    }
}

/// The cheapest threshold on given rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Call positive from this score on; infinite when calling nothing positive is cheapest.
    pub threshold: f64,
    /// Mean cost of a row.
    pub cost: f64,
    /// The same at the ends: nothing, and everything, called positive.
    pub cost_of_none: f64,
    pub cost_of_all: f64,
}

/// The threshold of least mean cost on these rows, the highest among equals. Choose it on rows that the model has not
/// seen.
pub fn best_threshold(positive: &[bool], scores: &[f64], costs: Costs, weights: Option<&[f64]>) -> Result<Choice> {
    let points = thresholds(positive, scores, weights)?;
    let Some(last) = points.threshold.len().checked_sub(1) else {
        return Err(Error::Data("there are no rows to choose a threshold on".into()));
    };
    let (p, n) = (points.true_positives[last], points.false_positives[last]);
    let cost = |tp: f64, fp: f64| {
        let right = tp * costs.true_positive + (n - fp) * costs.true_negative;
        (right + fp * costs.false_positive + (p - tp) * costs.false_negative) / (p + n)
    };
    let none = cost(0.0, 0.0);
    let mut best = Choice { threshold: f64::INFINITY, cost: none, cost_of_none: none, cost_of_all: cost(p, n) };
    for i in 0..=last {
        let here = cost(points.true_positives[i], points.false_positives[i]);
        if here < best.cost {
            (best.cost, best.threshold) = (here, points.threshold[i]);
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ctx;

    #[test]
    fn counting_sort_sorts() {
        let mut rng = Ctx::new(3).rng("keys", 0);
        for kind in 0..5 {
            let mut keys: Vec<u64> = (0..40_000)
                .map(|i| match kind {
                    0 => key(rng.uniform()),
                    1 => key(rng.normal() * 1e100),
                    2 => key((i % 7) as f64 - 3.0),
                    3 => key(1.0 + i as f64 * f64::EPSILON),
                    _ => key(if i % 2 == 0 { -0.0 } else { 0.0 }),
                })
                .collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            sort_keys(&mut keys);
            assert!(keys == expected, "{kind}");
        }
    }

    #[test]
    fn the_fast_area_is_the_area_of_the_curve() {
        let mut rng = Ctx::new(4).rng("auc", 0);
        for n in [2, 3, 50, 40_000] {
            for ties in [4.0, 1e9] {
                let scores: Vec<f64> = (0..n).map(|_| (rng.normal() * ties).round() / ties).collect();
                let positive: Vec<bool> = (0..n).map(|i| i == 0 || i > 1 && rng.uniform() < 0.3).collect();
                let ones = vec![1.0; n];
                let (a, b) =
                    (roc_auc(&positive, &scores, None).unwrap(), roc_auc(&positive, &scores, Some(&ones)).unwrap());
                assert!((a - b).abs() < 1e-12, "{a} {b}");
            }
        }
        assert!(roc_auc(&[true, true], &[0.0, 1.0], None).unwrap().is_nan());
        assert!(roc_auc(&[true, false], &[0.0, f64::NAN], None).is_err());
    }

    #[test]
    fn the_chosen_threshold_is_the_cheapest() {
        let mut rng = Ctx::new(5).rng("cost", 0);
        let scores: Vec<f64> = (0..500).map(|_| (rng.uniform() * 50.0).round() / 50.0).collect();
        let positive: Vec<bool> = scores.iter().map(|&p| rng.uniform() < p).collect();
        for (fp, missed) in [(1.0, 1.0), (1.0, 10.0), (25.0, 1.0), (1.0, 0.0)] {
            let costs = Costs::new(fp, missed);
            let choice = best_threshold(&positive, &scores, costs, None).unwrap();
            let cost = |threshold: f64| {
                let of = |i: usize| match (scores[i] >= threshold, positive[i]) {
                    (true, false) => fp,
                    (false, true) => missed,
                    _ => 0.0,
                };
                (0..500).map(of).sum::<f64>() / 500.0
            };
            assert!((cost(choice.threshold) - choice.cost).abs() < 1e-12);
            assert!(scores.iter().all(|&t| cost(t) >= choice.cost - 1e-12));
            assert!(choice.cost <= choice.cost_of_none.min(choice.cost_of_all));
        }
        assert_eq!(Costs::new(1.0, 3.0).probability_threshold(), 0.25);
    }
}
