//! Mini-batch k-means (Sculley 2010): `min_c sum_i w_i min_k ||x_i - c_k||^2` by small random batches.
//!
//! Each step draws `batch_size` rows, gives each to its nearest centre, and moves every centre to the mean of all rows
//! it was ever given. It stops when the smoothed inertia of the batches has not improved for `max_no_improvement`
//! steps, or when the centres hardly move. The last pass labels all rows. Much cheaper than k-means when rows are many,
//! a little worse in inertia. Rows are drawn by number from the seed, so that the model does not depend on where they
//! are kept. A cluster that never gets a row keeps its starting row.

use super::k_means::{Init, KMeans, KMeansModel, Starts, assign_nearest, label_all, rows_by_number};
use crate::{
    Certificate, Ctx, Data, Error, Estimator, Fit, FitLog, Halt, Info, Matrix, Passes, Result, Shape, Source, Task, X,
    core::{
        ctx::Progress,
        model::Property,
        param::{at_least, log},
        params, reduce,
        stats::ColumnMoments,
    },
};

params! {
    /// k-means on small random batches of rows. Pass an array as `init` to start from your own centres.
    pub struct MiniBatchKMeans {
        /// Number of clusters.
        n_clusters: usize = 8, at_least(1.0), log(2.0, 64.0);
        /// How the initial centres are chosen, unless they are given as an array.
        init: Init = Init::PlusPlus;
        /// Maximum number of epochs, counted by the rows drawn.
        max_iter: usize = 100, at_least(1.0);
        /// Number of rows in a batch.
        batch_size: usize = 1024, at_least(1.0);
        /// Stop when the smoothed squared move of the centres, relative to the mean variance, is below this; 0 for no
        /// such test.
        tol: f64 = 0.0, at_least(0.0);
        /// Stop after this many batches without a better smoothed inertia; none for no such test.
        max_no_improvement: Option<usize> = Some(10), at_least(1.0);
        /// Number of rows from which the initial centres are chosen; three batches unless given.
        init_size: Option<usize> = None, at_least(1.0);
        /// Number of starts to compare on those rows.
        n_init: Starts = Starts::Auto;
    }
}

impl Estimator for MiniBatchKMeans {
    type Model = KMeansModel;

    const INFO: Info = Info {
        scale: true,
        random: true,
        exceptions: &[(
            Property::WeightIsRepetition,
            "batches draw rows by number, and a repeated row has two numbers",
        )],
        ..Info::new("cluster", Task::Clustering, "min_c sum_i min_k ||x_i - c_k||^2, by random batches", Passes::Many)
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, p, _) = shape.sizes();
        let (k, batch) = (self.n_clusters as f64, (self.batch_size as f64).min(n));
        let steps = 60.0f64.min(self.max_iter as f64 * n / batch);
        1e-9 * (2e6 + n * k * (130.0 + 3.0 * p) + 0.1 * steps * batch * p * k)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<KMeansModel>> {
        let shape = data.shape();
        let (k, n) = (self.n_clusters, shape.rows);
        if k > n {
            return Err(Error::Data(format!("MiniBatchKMeans: n_clusters={k} is more than the {n} rows (n_samples)")));
        }
        let moments = reduce(ctx, data, &ColumnMoments { cols: shape.cols })?;
        let mut centres = self.start(data, ctx)?;
        let batch = self.batch_size.min(n);
        let steps = (self.max_iter * n).div_ceil(batch);
        let smoothing = (2.0 * batch as f64 / (n as f64 + 1.0)).min(1.0);
        let tolerance = self.tol * (0..shape.cols).map(|j| moments.variance(j)).sum::<f64>() / shape.cols as f64;
        let mut count = vec![0.0; k];
        let (mut smooth, mut best, mut since, mut moved) = (f64::NAN, f64::INFINITY, 0, f64::NAN);
        let (mut path, mut halt) = (Vec::new(), Halt::MaxIter);
        for step in 0..steps {
            ctx.check()?;
            let mut rng = ctx.rng("batch", step as u64);
            let wanted: Vec<usize> = (0..batch).map(|_| rng.below(n)).collect();
            let (rows, weights) = rows_by_number(data, ctx, &wanted)?;
            let (mut sum, mut weight) = (Matrix::zeros(k, shape.cols), vec![0.0; k]);
            let (mut inertia, mut total) = (0.0, 0.0);
            let x = X::dense(&rows.values, shape.cols)?;
            for (row, &w) in x.iter().zip(&weights) {
                let c = assign_nearest(&row, &centres);
                inertia += w * row.distance2(centres.row(c));
                total += w;
                weight[c] += w;
                row.add_to(w, sum.row_mut(c));
            }
            let mut shift = 0.0;
            for c in (0..k).filter(|&c| weight[c] > 0.0) {
                count[c] += weight[c];
                for j in 0..shape.cols {
                    let d = (sum[(c, j)] - weight[c] * centres[(c, j)]) / count[c];
                    centres[(c, j)] += d;
                    shift += d * d;
                }
            }
            // Batches scatter: what counts is the smoothed inertia for each row.
            let mean = inertia / f64::max(total, f64::MIN_POSITIVE);
            smooth = if smooth.is_nan() { mean } else { (1.0 - smoothing) * smooth + smoothing * mean };
            moved = if moved.is_nan() { shift } else { (1.0 - smoothing) * moved + smoothing * shift };
            path.push(smooth);
            ctx.progress(Progress { what: "mini-batch", step: step + 1, of: Some(steps), value: Some(smooth) });
            (best, since) = if smooth < best { (smooth, 0) } else { (best, since + 1) };
            if self.max_no_improvement.is_some_and(|most| since >= most) || (self.tol > 0.0 && moved <= tolerance) {
                halt = Halt::Settled;
                break;
            }
        }
        let (labels, inertia) = label_all(data, ctx, &centres, &moments.mean)?;
        let log = FitLog::ended(path.len(), path, halt, Certificate::None);
        let mut fit = Fit::new(KMeansModel { centres, inertia, mean: moments.mean }, log);
        fit.rows.push(("labels_", labels.into()));
        Ok(fit)
    }
}

impl MiniBatchKMeans {
    /// The best of some starts, judged and drawn on a sample.
    fn start(&self, data: &dyn Source, ctx: &Ctx) -> Result<Matrix> {
        let shape = data.shape();
        let k = self.n_clusters;
        if let Some(given) = ctx.start("init") {
            if (given.rows, given.cols) != (k, shape.cols) {
                let found = format!("{} x {}", given.rows, given.cols);
                return Err(Error::shape("init", format!("{k} x {} centres", shape.cols), found));
            }
            return Ok(given.clone());
        }
        let starts = self.n_init.count(self.init, 3);
        let size = self.init_size.unwrap_or(3 * self.batch_size).max(3 * k).min(shape.rows);
        let mut best: Option<(f64, Matrix)> = None;
        for start in 0..starts as u64 {
            let child = ctx.child("mini-batch start", start);
            let mut rng = child.rng("sample", 0);
            let wanted: Vec<usize> = if size == shape.rows {
                (0..size).collect()
            } else {
                (0..size).map(|_| rng.below(shape.rows)).collect()
            };
            let (rows, weights) = rows_by_number(data, ctx, &wanted)?;
            let sample = Data::new(X::dense(&rows.values, shape.cols)?);
            let k_means = KMeans { n_clusters: k, init: self.init, ..KMeans::default() };
            let centres = k_means.first_centres(&sample, &child)?;
            let x = sample.batch().x;
            let inertia = x
                .iter()
                .zip(&weights)
                .map(|(row, w)| w * row.distance2(centres.row(assign_nearest(&row, &centres))))
                .sum();
            if best.as_ref().is_none_or(|best| inertia < best.0) {
                best = Some((inertia, centres));
            }
        }
        Ok(best.expect("at least one start").1)
    }
}
