//! Columns that depend on each other, in thousands of small draws: the rank is that of the construction, the named
//! relations hold, the coefficients are the ones of least norm, and the fit is as good as any. More draws: DRAWS=1000
//! cargo test --test rank.

use ermine::{
    Certificate, Ctx, Data, Estimator, Matrix, Model, Output, X,
    core::{linalg::Svd, log::Redundant, rng::Stream},
    linear::*,
};

struct Draw {
    what: String,
    cols: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    weights: Option<Vec<f64>>,
    intercept: bool,
    /// Directions of coefficients that change no prediction; `None` where rounding decides.
    null: Option<Vec<Vec<f64>>>,
}

const KINDS: &[&str] = &["proportional", "summed", "copied", "one-hot", "near", "offset", "independent", "constant"];

impl Draw {
    fn new(kind: &str, number: u64) -> Draw {
        let mut rng = Ctx::new(number).rng(kind, 0);
        let rows = 12 + rng.below(90);
        let free = 2 + rng.below(4);
        let size: Vec<f64> = (0..free).map(|_| 10f64.powf(6.0 * rng.uniform() - 3.0)).collect();
        let shift: Vec<f64> = size.iter().map(|size| size * 5.0 * rng.normal()).collect();
        let mut base = Matrix::from_fn(rows, free, |_, j| shift[j] + size[j] * rng.normal());
        let mut intercept = rng.uniform() < 0.8;
        let (a, b) = (rng.below(free), rng.below(free));
        let factor = if number.is_multiple_of(2) { 1.0 / 24.0 } else { 10f64.powf(6.0 * rng.uniform() - 3.0) };
        let mut what = kind.to_string();
        let unit = |j: usize, value: f64| (0..=free).map(|i| if i == j { value } else { 0.0 }).collect::<Vec<f64>>();
        let (added, null): (Vec<f64>, Option<Vec<Vec<f64>>>) = match kind {
            "proportional" => {
                let mut null = unit(free, -1.0);
                null[a] = factor;
                ((0..rows).map(|i| factor * base[(i, a)]).collect(), Some(vec![null]))
            }
            "copied" => {
                let mut null = unit(free, -1.0);
                null[a] = 1.0;
                ((0..rows).map(|i| base[(i, a)]).collect(), Some(vec![null]))
            }
            "summed" => {
                let mut null = vec![1.0; free];
                null.push(-1.0);
                ((0..rows).map(|i| base.row(i).iter().sum()).collect(), Some(vec![null]))
            }
            "one-hot" => {
                // Levels of one column instead of the base, so that their sum is the intercept.
                intercept = true;
                let level: Vec<usize> = (0..rows).map(|i| if i <= free { i } else { rng.below(free + 1) }).collect();
                base = Matrix::from_fn(rows, free, |i, j| f64::from(u8::from(level[i] == j)));
                let last = level.iter().map(|&level| f64::from(u8::from(level == free))).collect();
                (last, Some(vec![vec![1.0; free + 1]]))
            }
            "near" => {
                // From clearly different to the same number; in between rounding decides.
                let noise = 10f64.powf(-2.0 - 16.0 * rng.uniform());
                what = format!("{kind} {noise:.1e}");
                let length = (shift[a].powi(2) + size[a].powi(2)).sqrt();
                let added = (0..rows).map(|i| base[(i, a)] + noise * size[a] * rng.normal()).collect();
                let unknown = f64::EPSILON * length / size[a];
                let mut null = unit(free, -1.0);
                null[a] = 1.0;
                let null = if noise > 1e3 * unknown.max(1e-13) {
                    Some(Vec::new())
                } else if noise < 0.1 * unknown {
                    Some(vec![null])
                } else {
                    None
                };
                (added, null)
            }
            "offset" => {
                let offset = 10f64.powf(2.0 + 7.0 * rng.uniform());
                what = format!("{kind} {offset:.1e}");
                intercept = true;
                base = Matrix::from_fn(rows, free, |_, _| offset + rng.normal());
                let b = if a == b { (a + 1) % free } else { b };
                let mut null = unit(free, -1.0);
                (null[a], null[b]) = (0.3, 0.7);
                ((0..rows).map(|i| 0.3 * base[(i, a)] + 0.7 * base[(i, b)]).collect(), Some(vec![null]))
            }
            "constant" => {
                intercept = true;
                (vec![factor; rows], Some(vec![unit(free, 1.0)]))
            }
            _ => ((0..rows).map(|_| rng.normal()).collect(), Some(Vec::new())),
        };
        let x: Vec<f64> = (0..rows).flat_map(|i| [base.row(i), &added[i..=i]].concat()).collect();
        // The target depends on deviations, so that no column is lost in the size of another.
        let centred = |i: usize, j: usize| {
            (base[(i, j)] - base[(0, j)]) / (base[(1, j)] - base[(0, j)]).abs().max(1e-3 * size[j])
        };
        let y = (0..rows).map(|i| (0..free).map(|j| centred(i, j)).sum::<f64>() + rng.normal()).collect();
        let weights = (rng.uniform() < 0.3).then(|| (0..rows).map(|_| 0.2 + rng.uniform()).collect());
        // The new column stands anywhere.
        let place = rng.below(free + 1);
        let turn = |row: &mut [f64]| row[place..].rotate_right(1);
        let mut draw = Draw { what: format!("{what} {number}"), cols: free + 1, x, y, weights, intercept, null };
        draw.x.chunks_mut(free + 1).for_each(turn);
        draw.null.iter_mut().flatten().for_each(|null| turn(null));
        draw
    }

    fn data(&self) -> Data<'_> {
        let data = Data::new(X::dense(&self.x, self.cols).unwrap()).real(&self.y).unwrap();
        match &self.weights {
            Some(weights) => data.weights(weights).unwrap(),
            None => data,
        }
    }

    fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[i])
    }

    /// Residual sum of squares of predictions in double.
    fn squares(&self, model: &LinearModel) -> f64 {
        let mut fitted = vec![0.0; self.y.len()];
        model.predict(&X::dense(&self.x, self.cols).unwrap(), Output::Value, &mut fitted).unwrap();
        (0..fitted.len()).map(|i| self.weight(i) * (self.y[i] - fitted[i]).powi(2)).sum()
    }

    fn mean(&self, column: usize) -> f64 {
        let total: f64 = (0..self.y.len()).map(|i| self.weight(i)).sum();
        let sum: f64 = (0..self.y.len()).map(|i| self.weight(i) * self.x[i * self.cols + column]).sum();
        if self.intercept { sum / total } else { 0.0 }
    }

    /// As LAPACK's gelsd does it after centring: an SVD of the columns as they are, with its own limit.
    fn by_svd(&self) -> LinearModel {
        let (n, p) = (self.y.len(), self.cols);
        let mean: Vec<f64> = (0..p).map(|j| self.mean(j)).collect();
        let total: f64 = (0..n).map(|i| self.weight(i)).sum();
        let level = (0..n).map(|i| self.weight(i) * self.y[i]).sum::<f64>() / total;
        let level = if self.intercept { level } else { 0.0 };
        let a = Matrix::from_fn(n, p, |i, j| self.weight(i).sqrt() * (self.x[i * p + j] - mean[j]));
        let svd = Svd::new(&a).unwrap();
        let mut coef = Matrix::zeros(1, p);
        for k in (0..p).filter(|&k| svd.s[k] > svd.s[0] * f64::EPSILON * n.max(p) as f64) {
            let along: f64 = (0..n).map(|i| svd.u[(i, k)] * self.weight(i).sqrt() * (self.y[i] - level)).sum();
            (0..p).for_each(|j| coef[(0, j)] += along / svd.s[k] * svd.v[(j, k)]);
        }
        let intercept = vec![level - (0..p).map(|j| coef[(0, j)] * mean[j]).sum::<f64>()];
        LinearModel { coef, intercept }
    }

    /// The named columns are what they are said to be.
    fn check_relations(&self, redundant: &[Redundant]) {
        for Redundant { column, of } in redundant {
            let value = |i: usize, j: usize| self.x[i * self.cols + j];
            let left = |i: usize| value(i, *column) - of.iter().map(|(j, factor)| factor * value(i, *j)).sum::<f64>();
            let size = (0..self.y.len()).map(|i| value(i, *column).abs()).fold(0.0, f64::max);
            let spread = (0..self.y.len()).map(|i| (value(i, *column) - value(0, *column)).abs()).fold(0.0, f64::max);
            let first = if self.intercept { left(0) } else { 0.0 };
            let allowed = 1e-5 * spread + 1e-13 * size;
            for i in 0..self.y.len() {
                assert!((left(i) - first).abs() <= allowed, "{}: {column} is not {of:?}", self.what);
            }
        }
    }

    fn check(&self) {
        let ctx = Ctx::new(0).with_threads(1);
        let model = LinearRegression { fit_intercept: self.intercept, ..Default::default() };
        let fit = model.fit(&self.data(), &ctx).unwrap_or_else(|error| panic!("{}: {error}", self.what));
        let Certificate::LeastSquares { rank, redundant, .. } = fit.log.certificate() else { panic!("{}", self.what) };
        assert_eq!(redundant.len(), self.cols - rank, "{}", self.what);
        self.check_relations(redundant);
        // No worse than LAPACK's solution in predictions: but for a direction or two of rounding, which explain a share
        // of the noise.
        let (own, other) = (self.squares(&fit.model), self.squares(&self.by_svd()));
        let total = self.squares(&LinearModel {
            coef: Matrix::zeros(1, self.cols),
            intercept: vec![self.y.iter().sum::<f64>() / self.y.len() as f64],
        });
        let noise = if *rank < self.cols { own * 12.0 / (self.y.len() - self.cols) as f64 } else { 0.0 };
        // Predictions are sums of products in double: with coefficients of 1e11 they differ by their rounding, whoever
        // solves.
        let error = |i: usize| {
            let (w, b) = (fit.model.coef.row(0), fit.model.intercept[0]);
            let size: f64 = (0..self.cols).map(|j| (w[j] * self.x[i * self.cols + j]).abs()).sum();
            f64::EPSILON * (size + b.abs())
        };
        let squared: f64 = (0..self.y.len()).map(|i| error(i).powi(2)).sum();
        let rounding = 2.0 * (other * squared).sqrt() + squared;
        assert!(own <= other + noise + rounding + 1e-9 * total, "{}: {own} above {other} of {total}", self.what);
        let Some(null) = &self.null else { return };
        assert_eq!(self.cols - rank, null.len(), "{}: {}", self.what, fit.log.certificate());
        for null in null {
            let (w, length) = (fit.model.coef.row(0), |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt());
            let along: f64 = w.iter().zip(null).map(|(w, v)| w * v).sum();
            assert!(along.abs() <= 1e-5 * length(w) * length(null), "{}: not the least norm: {w:?}", self.what);
        }
        let summary = summary(&fit.model, self.intercept, 0.95, &self.data(), &ctx).unwrap();
        let aliased: Vec<usize> = summary.aliased.iter().map(|aliased| aliased.column).collect();
        assert_eq!(aliased, redundant.iter().map(|redundant| redundant.column).collect::<Vec<_>>(), "{}", self.what);
        for term in &summary.terms {
            let is_aliased = term.column.is_some_and(|j| aliased.contains(&j));
            assert_eq!(is_aliased, term.std_error.is_nan(), "{}", self.what);
        }
    }
}

#[test]
fn dependent_columns_are_found_named_and_harmless() {
    let draws = std::env::var("DRAWS").map_or(250, |draws| draws.parse().unwrap());
    for kind in KINDS {
        (0..draws).for_each(|number| Draw::new(kind, number).check());
    }
}

/// Wide rows have one answer wherever they lie, and it is the one of least norm that goes through every row.
#[test]
fn wide_rows_are_interpolated_with_least_norm() {
    for number in 0..40u64 {
        let mut rng = Stream::new(number, "wide", 0);
        let (n, p) = (3 + rng.below(20), 25 + rng.below(40));
        let offset = if number.is_multiple_of(2) { 0.0 } else { 10f64.powi(rng.below(9) as i32) };
        let x: Vec<f64> = (0..n * p).map(|_| offset + rng.normal()).collect();
        let y: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let data = Data::new(X::dense(&x, p).unwrap()).real(&y).unwrap();
        let fit = LinearRegression::default().fit(&data, &Ctx::new(0)).unwrap();
        let mut fitted = vec![0.0; n];
        fit.model.predict(&X::dense(&x, p).unwrap(), Output::Value, &mut fitted).unwrap();
        let allowed = 1e-9 + 1e-14 * offset * p as f64;
        assert!(fitted.iter().zip(&y).all(|(a, b)| (a - b).abs() <= allowed), "{number}: {offset}");
        // Of least norm: a combination of centred rows, so that nothing is left beside their plane.
        let mean: Vec<f64> = (0..p).map(|j| (0..n).map(|i| x[i * p + j]).sum::<f64>() / n as f64).collect();
        let rows = Matrix::from_fn(n, p, |i, j| x[i * p + j] - mean[j]);
        let svd = Svd::new(&rows).unwrap();
        let w = fit.model.coef.row(0);
        let along = |k: usize| (0..p).map(|j| svd.v[(j, k)] * w[j]).sum::<f64>();
        let inside: f64 = (0..n - 1).map(|k| along(k).powi(2)).sum();
        let length: f64 = w.iter().map(|w| w * w).sum();
        assert!((inside / length - 1.0).abs() < 1e-6, "{number}: {inside} of {length}");
    }
}
