//! Columns that depend on each other: random walks over the column before, bands, zeros and ones, wavelets, powers.
//! The lasso converges on
//! all of them, and the duality gap of what it returns, worked out here from the rows, is as small as it says.

use ermine::{
    Ctx, Data, Estimator, X,
    core::rng::Stream,
    linear::{ElasticNet, Lasso},
};

struct Design {
    name: &'static str,
    x: Vec<f64>,
    rows: usize,
    cols: usize,
}

fn designs(rng: &mut Stream) -> Vec<Design> {
    let mut found = Vec::new();
    let mut add = |name, rows: usize, cols: usize, cell: &mut dyn FnMut(usize, usize, f64) -> f64| {
        let mut x = vec![0.0; rows * cols];
        for i in 0..rows {
            let mut before = 0.0;
            for j in 0..cols {
                before = cell(i, j, before);
                x[i * cols + j] = before;
            }
        }
        found.push(Design { name, x, rows, cols });
    };
    add("walk", 60, 200, &mut |_, _, before| before + rng.normal());
    add("band", 60, 200, &mut |_, _, before| 0.95 * before + 0.31 * rng.normal());
    add("zeros and ones", 80, 200, &mut |_, _, _| f64::from(u8::from(rng.uniform() < 0.1)));
    add("wavelets", 64, 120, &mut |i, j, _| {
        // Steps of every width that fits, at every half of their width.
        let (mut width, mut at) = (2, j);
        while at >= 2 * 64 / width - 1 {
            at -= 2 * 64 / width - 1;
            width *= 2;
        }
        let from = at * width / 2;
        match i {
            _ if i < from || i >= from + width => 0.0,
            _ if i < from + width / 2 => 1.0,
            _ => -1.0,
        }
    });
    add("powers", 100, 30, &mut |i, j, before| {
        let t = i as f64 / 50.0 - 1.0;
        if j == 0 { t } else { before * t }
    });
    found
}

/// The objective of centred rows and a bound from below by the residual, shrunk until it is feasible.
fn gap(design: &Design, y: &[f64], w: &[f64], b: f64, l1: f64, l2: f64) -> (f64, f64) {
    let (n, p) = (design.rows, design.cols);
    let row = |i: usize| &design.x[i * p..(i + 1) * p];
    let mean = |j: usize| (0..n).map(|i| row(i)[j]).sum::<f64>() / n as f64;
    let means: Vec<f64> = (0..p).map(mean).collect();
    let y_mean = y.iter().sum::<f64>() / n as f64;
    let residual: Vec<f64> = (0..n).map(|i| y[i] - b - row(i).iter().zip(w).map(|(x, w)| x * w).sum::<f64>()).collect();
    let squares = residual.iter().map(|r| r * r).sum::<f64>() / n as f64;
    let norm2: f64 = w.iter().map(|w| w * w).sum();
    let primal = 0.5 * squares + l1 * w.iter().map(|w| w.abs()).sum::<f64>() + 0.5 * l2 * norm2;
    let slope = |j: usize| (0..n).map(|i| (row(i)[j] - means[j]) * residual[i]).sum::<f64>() / n as f64 - l2 * w[j];
    let steepest = (0..p).map(|j| slope(j).abs()).fold(0.0, f64::max);
    // The rows of an elastic net go on with sqrt(n l2) w, whose residual is minus that.
    let fitted = (0..n).map(|i| (y[i] - y_mean) * residual[i]).sum::<f64>() / n as f64;
    let whole = squares + l2 * norm2;
    let shrink = (fitted / whole).clamp(0.0, if steepest > l1 { l1 / steepest } else { f64::INFINITY });
    (primal, primal - (shrink * fitted - 0.5 * shrink * shrink * whole))
}

#[test]
fn dependent_columns_keep_no_lasso_from_its_optimum() {
    let mut rng = Ctx::new(3).rng("correlated", 0);
    for design in designs(&mut rng) {
        let w: Vec<f64> = (0..design.cols).map(|j| if j % 17 == 0 { rng.normal() } else { 0.0 }).collect();
        let rows = design.x.chunks_exact(design.cols);
        let y: Vec<f64> =
            rows.map(|row| row.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() + 0.3 * rng.normal()).collect();
        let data = Data::new(X::dense(&design.x, design.cols).unwrap()).real(&y).unwrap();
        for alpha in [1e-3, 1e-2, 0.3] {
            for l1_ratio in [1.0, 0.7] {
                let ctx = Ctx::new(0).with_threads(1);
                let fit = match l1_ratio {
                    1.0 => Lasso { alpha, ..Default::default() }.fit(&data, &ctx).unwrap(),
                    _ => ElasticNet { alpha, l1_ratio, ..Default::default() }.fit(&data, &ctx).unwrap(),
                };
                let what = format!("{}, alpha {alpha}, l1_ratio {l1_ratio}: {}", design.name, fit.log);
                assert!(fit.log.converged(), "{what}");
                let (l1, l2) = (alpha * l1_ratio, alpha * (1.0 - l1_ratio));
                let (w, b) = (fit.model.coef.row(0), fit.model.intercept[0]);
                let (primal, gap) = gap(&design, &y, w, b, l1, l2);
                // The rows are summed in another order than the engine's products.
                let variance = y.iter().map(|y| y * y).sum::<f64>() / y.len() as f64;
                assert!(
                    gap <= 1.01e-4 * primal + 1e-12 * variance,
                    "{what}: a gap of {:e} of {primal:e}",
                    gap / primal
                );
                let said = fit.log.objective.last().unwrap();
                assert!((said - primal).abs() <= 1e-9 * primal + 1e-13 * variance, "{what}: {said} and {primal}");
            }
        }
    }
}
