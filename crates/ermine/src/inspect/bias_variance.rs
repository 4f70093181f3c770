//! Where the error comes from, by refits on disjoint halves of the rows (Geman, Bienenstock and Doursat 1992; Domingos
//! 2000).
//!
//! Regression, squared error, f and g fitted to two halves that share no row:
//! `(y - f)^2 + (y - g)^2 = 2 (y - f)(y - g) + (f - g)^2`. The halves are independent, so the mean of `(y - f)(y - g)`
//! is squared bias and noise, and that of `(f - g)^2 / 2` the variance, both without bias. (Refits on bootstrap samples
//! share rows, and their common errors would count as bias.) Noise cannot be told from bias by refits; it is given, or
//! estimated from pairs of nearest rows as the mean of `(y_i - y_j)^2 / 2` (an upper bound: neighbours are not equal).
//!
//! Classification, 0/1 loss, m(x) the class that most refits say: bias is the share of rows where m is wrong, variance
//! how often a refit differs from m. Variance hurts where m is right and helps where it is wrong: with two classes
//! `error = bias + variance where right - variance where wrong`.

use crate::{
    Ctx, Data, Error, Output, OwnedData, Result, Source, Spec, Target,
    core::{Batch, stats::Moments},
    make, predict,
};
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BiasVariance {
    /// Mean error of one refit on the test rows: squared error, or share of wrong classes.
    pub error: f64,
    /// Squared bias, noise taken off; or the share of rows that most refits get wrong.
    pub bias: f64,
    /// Spread of the refits about their mean; or how often a refit differs from the majority.
    pub variance: f64,
    /// Of the target itself, as given or estimated; 0 for classes, where it is part of the bias.
    pub noise: f64,
    /// Classes: the part of the variance that raises the error, less the part that lowers it. Numbers: the variance.
    pub net_variance: f64,
}

/// The rows that refit `index` learns from: one half of a random order of `train`, the next refit the other.
pub fn half(ctx: &Ctx, train: &[usize], index: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..train.len()).collect();
    ctx.child("halves", index as u64 / 2).rng("order", 0).shuffle(&mut order);
    let (first, second) = order.split_at(train.len() / 2);
    let mut rows: Vec<usize> =
        if index.is_multiple_of(2) { first } else { second }.iter().map(|&at| train[at]).collect();
    rows.sort_unstable();
    rows
}

/// Refits `spec` on halves of the rows `train`, an even number of times, and looks at the rows `test`.
pub fn bias_variance(
    ctx: &Ctx,
    spec: &Spec,
    data: &Data,
    train: &[usize],
    test: &[usize],
    refits: usize,
    noise: Option<f64>,
) -> Result<BiasVariance> {
    if refits < 2 || train.len() < 2 || test.is_empty() {
        return Err(Error::Data(
            "a bias-variance decomposition needs train rows, test rows and at least two refits".into(),
        ));
    }
    let features = Source::features(data);
    let test = OwnedData::of_rows(&data.batch(), test)?.with_features(features);
    let test_data = test.data()?;
    let batch = test_data.batch();
    let output = match batch.y {
        Target::Class { .. } => Output::Class,
        Target::Real { cols: 1, .. } => Output::Value,
        _ => return Err(Error::Data("a bias-variance decomposition needs one target".into())),
    };
    let refit = |index: usize| -> Result<Vec<f64>> {
        let child = ctx.child("refit", index as u64);
        let sample = OwnedData::of_rows(&data.batch(), &half(ctx, train, index))?.with_features(features);
        let estimator = make(spec)?;
        let fit = estimator.fit(&sample.data()?, &child)?;
        Ok(predict(&child, &*fit.model, &batch.x, output, estimator.info().missing)?.values)
    };
    decompose(&ctx.map(refits.next_multiple_of(2), refit)?, &batch, noise)
}

/// The parts of the error from what each refit says of the same rows: values, or class codes. Refits 0 and 1, 2 and 3,
/// and so on share no row.
pub fn decompose(answers: &[Vec<f64>], batch: &Batch, noise: Option<f64>) -> Result<BiasVariance> {
    if answers.len() < 2
        || answers.len() % 2 == 1
        || batch.rows() == 0
        || answers.iter().any(|said| said.len() != batch.rows())
    {
        return Err(Error::Data("a bias-variance decomposition needs the answers of an even number of refits".into()));
    }
    let total: f64 = (0..batch.rows()).map(|i| batch.weight(i)).sum();
    let mean = |of: &dyn Fn(usize) -> f64| (0..batch.rows()).map(|i| batch.weight(i) * of(i)).sum::<f64>() / total;
    let n = answers.len() as f64;
    Ok(match batch.y {
        Target::Real { values: y, .. } => {
            let pairs = answers.as_chunks::<2>().0;
            let over_pairs = |of: &dyn Fn(f64, f64) -> f64| {
                mean(&|i| pairs.iter().map(|[f, g]| of(f[i] - y[i], g[i] - y[i])).sum::<f64>() / pairs.len() as f64)
            };
            let (together, variance) = (over_pairs(&|f, g| f * g), over_pairs(&|f, g| (f - g).powi(2) / 2.0));
            // Below zero by chance only.
            let together = together.max(0.0);
            let noise = noise.unwrap_or_else(|| nearest_noise(batch, y)).min(together);
            BiasVariance { error: together + variance, bias: together - noise, variance, noise, net_variance: variance }
        }
        _ => {
            let codes = batch.y.codes();
            let classes = match batch.y {
                Target::Class { classes, .. } => classes,
                _ => 0,
            };
            let shares = |i: usize| {
                let mut votes = vec![0.0; classes];
                answers.iter().for_each(|a| votes[a[i] as usize] += 1.0 / n);
                votes
            };
            let main = |votes: &[f64]| {
                (0..classes).max_by(|&a, &b| votes[a].total_cmp(&votes[b]).then(b.cmp(&a))).unwrap_or(0)
            };
            let right = |i: usize| codes[i] as usize;
            let error = mean(&|i| 1.0 - shares(i)[right(i)]);
            let bias = mean(&|i| f64::from(u8::from(main(&shares(i)) != right(i))));
            let variance = mean(&|i| {
                let votes = shares(i);
                1.0 - votes[main(&votes)]
            });
            BiasVariance { error, bias, variance, noise: 0.0, net_variance: error - bias }
        }
    })
}

/// Half the mean squared difference of the targets of nearest rows, columns brought to one scale.
fn nearest_noise(batch: &Batch, y: &[f64]) -> f64 {
    // Enough rows for an estimate; all pairs are compared.
    let rows = batch.rows().min(2000);
    if rows < 2 {
        return 0.0;
    }
    let mut moments = Moments::new(batch.x.cols());
    let mut x = batch.x.slice(0..rows).to_matrix();
    x.values.iter_mut().filter(|value| !value.is_finite()).for_each(|value| *value = 0.0);
    if let Ok(view) = crate::X::dense(&x.values, x.cols) {
        moments.add(&view, None);
    }
    for i in 0..rows {
        for j in 0..x.cols {
            x[(i, j)] = (x[(i, j)] - moments.mean[j]) / moments.scale(j);
        }
    }
    let nearest = |i: usize| {
        let others = (0..rows).filter(|&j| j != i);
        let distance = |j: usize| crate::core::simd::distance2(x.row(i), x.row(j));
        others.map(|j| (distance(j), j)).min_by(|a, b| a.0.total_cmp(&b.0)).map_or(i, |found| found.1)
    };
    (0..rows).map(|i| (y[i] - y[nearest(i)]).powi(2)).sum::<f64>() / (2.0 * rows as f64)
}
