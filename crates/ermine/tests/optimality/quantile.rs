//! Quantile regression beside all of its corners: an optimum of a linear programme is at one of them, and of small
//! problems there are few hundred, each solved and judged in 32 digits.

use crate::{count, quad::Q};
use ermine::{Certificate, Ctx, Data, Estimator, X, core::rng::Stream, linear::QuantileRegressor};

const KINDS: [&str; 9] = [
    "Gaussian",
    "heavy tails",
    "whole numbers",
    "other units",
    "far from zero",
    "repeated rows",
    "a plane",
    "equal columns",
    "weights",
];
const COLS: usize = 2;

struct Problem {
    x: Vec<f64>,
    y: Vec<f64>,
    weights: Vec<f64>,
}

fn problem(kind: &str, rng: &mut Stream) -> Problem {
    let n = 6 + rng.below(7);
    let mut x: Vec<f64> = (0..n * COLS).map(|_| rng.normal()).collect();
    let mut weights = vec![1.0; n];
    let plane = |x: &[f64], i: usize| x[i * COLS] - 2.0 * x[i * COLS + 1] + 0.5;
    match kind {
        "whole numbers" => x.iter_mut().for_each(|x| *x = x.round()),
        "repeated rows" => (COLS..n * COLS).for_each(|at| x[at] = x[at % (3 * COLS)]),
        "equal columns" => (0..n).for_each(|i| x[i * COLS + 1] = x[i * COLS]),
        "weights" => weights.iter_mut().enumerate().for_each(|(i, weight)| *weight = [1.0, 0.0, 2.5, 1e-3][i % 4]),
        _ => {}
    }
    let mut y: Vec<f64> = (0..n).map(|i| plane(&x, i) + if kind == "a plane" { 0.0 } else { rng.normal() }).collect();
    match kind {
        "heavy tails" => y.iter_mut().for_each(|y| *y *= (4.0 * rng.normal()).exp()),
        "whole numbers" => y.iter_mut().for_each(|y| *y = y.round()),
        "other units" => {
            x.iter_mut().enumerate().for_each(|(at, x)| *x *= [1e-9, 1e7][at % COLS]);
            y.iter_mut().for_each(|y| *y *= 1e11);
        }
        "far from zero" => {
            x.iter_mut().for_each(|x| *x += 1e5);
            y.iter_mut().for_each(|y| *y -= 3e6);
        }
        _ => {}
    }
    Problem { x, y, weights }
}

/// The objective at (w, b).
fn objective(problem: &Problem, model: &QuantileRegressor, theta: &[Q]) -> Q {
    let (mut sum, mut weight) = (Q::new(0.0), Q::new(0.0));
    for (i, &y) in problem.y.iter().enumerate() {
        let line = &problem.x[i * COLS..(i + 1) * COLS];
        let r = line.iter().zip(theta).fold(Q::new(y) - theta[COLS], |r, (x, w)| r - Q::new(*x) * *w);
        let quantile = Q::new(model.quantile);
        sum = sum + Q::new(problem.weights[i]) * (quantile * r).max((quantile - Q::new(1.0)) * r);
        weight = weight + Q::new(problem.weights[i]);
    }
    theta[..COLS].iter().fold(sum / weight, |sum, w| sum + Q::new(model.alpha) * w.abs())
}

/// The least objective at any corner: where as many rows are met or coefficients zero as there are unknowns.
fn least(problem: &Problem, model: &QuantileRegressor) -> Q {
    let n = problem.y.len();
    let zero = Q::new(0.0);
    let mut equations: Vec<[Q; COLS + 2]> = Vec::new();
    for i in 0..n {
        let line = &problem.x[i * COLS..(i + 1) * COLS];
        let one = f64::from(u8::from(model.fit_intercept));
        equations.push([Q::new(line[0]), Q::new(line[1]), Q::new(one), Q::new(problem.y[i])]);
    }
    for j in 0..=COLS {
        let mut unit = [zero; COLS + 2];
        unit[j] = Q::new(1.0);
        equations.push(unit);
    }
    let mut best: Option<Q> = None;
    for a in 0..equations.len() {
        for b in 0..a {
            for c in 0..b {
                let Some(theta) = solve([equations[a], equations[b], equations[c]]) else { continue };
                // Without an intercept only corners that have none count.
                if !model.fit_intercept && theta[COLS].value() != 0.0 {
                    continue;
                }
                let value = objective(problem, model, &theta);
                best = Some(best.map_or(value, |best| if value.value() < best.value() { value } else { best }));
            }
        }
    }
    best.expect("zero is a corner")
}

/// By Gauss; none for rows that depend on each other.
fn solve(mut rows: [[Q; COLS + 2]; COLS + 1]) -> Option<[Q; COLS + 1]> {
    let n = COLS + 1;
    for row in &mut rows {
        let size = row[..n].iter().fold(0.0f64, |size, v| size.max(v.value().abs()));
        row.iter_mut().for_each(|v| *v = *v / Q::new(size));
    }
    for k in 0..n {
        let pivot = (k..n).max_by(|&a, &b| rows[a][k].value().abs().total_cmp(&rows[b][k].value().abs()))?;
        rows.swap(k, pivot);
        if rows[k][k].value().abs() <= 1e-24 {
            return None;
        }
        for i in (0..n).filter(|&i| i != k) {
            let factor = rows[i][k] / rows[k][k];
            let above = rows[k];
            (0..n + 1).for_each(|j| rows[i][j] = rows[i][j] - factor * above[j]);
            rows[i][k] = Q::new(0.0);
        }
    }
    Some([rows[0][3] / rows[0][0], rows[1][3] / rows[1][1], rows[2][3] / rows[2][2]])
}

#[test]
fn no_corner_is_better_than_the_log_says() {
    let (mut wrong, mut open, mut steps) = (Vec::new(), 0, 0);
    let cases = count(270);
    for at in 0..cases {
        let kind = KINDS[at % KINDS.len()];
        let mut rng = Ctx::new(9).rng("quantile", at as u64);
        let problem = problem(kind, &mut rng);
        let model = QuantileRegressor {
            quantile: [0.5, 0.1, 0.75, 0.5][rng.below(4)],
            alpha: [0.0, 1e-3, 0.1, 1.0][rng.below(4)],
            fit_intercept: rng.below(4) > 0,
        };
        let data = Data::new(X::dense(&problem.x, COLS).unwrap()).real(&problem.y).unwrap();
        let fit = model.fit(&data.weights(&problem.weights).unwrap(), &Ctx::new(1).with_threads(1)).unwrap();
        let mut theta: Vec<Q> = fit.model.coef.values.iter().map(|w| Q::new(*w)).collect();
        theta.push(Q::new(fit.model.intercept[0]));
        let above = (objective(&problem, &model, &theta) - least(&problem, &model)).value();
        let Certificate::Bound { gap, .. } = *fit.log.certificate() else { panic!("{}", fit.log) };
        // Coefficients are rounded to double, and with them the predictions.
        let size = |i: usize| {
            let line = &problem.x[i * COLS..(i + 1) * COLS];
            let products = line.iter().zip(&theta).map(|(x, w)| (x * w.value()).abs()).sum::<f64>();
            problem.y[i].abs() + products + theta[COLS].value().abs()
        };
        let rounding = 4.0 * f64::EPSILON * (0..problem.y.len()).map(size).fold(0.0, f64::max);
        if !fit.log.converged() {
            open += 1;
            println!("{at} ({kind}, {model:?}): {}", fit.log);
        }
        steps += fit.log.passes();
        if above > gap + rounding {
            wrong.push(format!("{at} ({kind}, {model:?}): {above:.1e} above, bound {gap:.1e}: {}", fit.log));
        }
    }
    println!("{cases} problems, {open} not proven, {:.1} steps each", steps as f64 / cases as f64);
    assert!(wrong.is_empty(), "{} of {cases}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(100 * open <= cases, "{open} of {cases} are not proven");
}
