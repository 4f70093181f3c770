//! Times the linear models on generated data: `linear_speed TASK` prints seconds (best of three) and the objective.
use ermine::{Ctx, Data, Estimator, X, linear::*};
use std::time::Instant;

/// A cheap generator, so that data of any size is there at once and the same everywhere.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
    /// Close enough to normal for timing: the sum of four.
    fn normal(&mut self) -> f64 {
        ((0..4).map(|_| self.uniform()).sum::<f64>() - 2.0) * 1.732
    }
}

fn main() {
    let task = std::env::args().nth(1).unwrap_or_default();
    let file = std::env::args().nth(2);
    let read = |name: &str| -> Vec<f64> {
        let bytes = std::fs::read(format!("{}.{name}", file.as_deref().unwrap())).unwrap();
        bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
    };
    let threads = std::env::var("THREADS").map_or(usize::MAX, |threads| threads.parse().unwrap());
    let ctx = Ctx::new(0).with_threads(threads);
    let shape = |t: &str| match t {
        "ols" => (1_000_000, 50),
        "ols_wide" | "lasso_tall" => (20_000, 1000),
        "ridge" => (200_000, 200),
        "lasso_wide" => (1000, 20_000),
        "lasso_cv" => (2000, 2000),
        "huber" => (100_000, 50),
        _ => (500_000, 50),
    };
    let (n, p) = shape(&task);
    // Rows from a file have as many columns as COLS says.
    let p = std::env::var("COLS").map_or(p, |cols| cols.parse().unwrap());
    let (x, y) = if file.is_some() {
        (read("x"), read("y"))
    } else {
        let mut noise = Noise(7);
        let x: Vec<f64> = (0..n * p).map(|_| noise.normal()).collect();
        let y = x.chunks(p).map(|r| r[0] - 2.0 * r[1] + 0.5 * r[2] + noise.normal()).collect();
        (x, y)
    };
    let codes: Vec<u32> = y.iter().map(|&y| u32::from(y > 0.5)).collect();
    let x = X::dense(&x, p).unwrap();
    let data = Data::new(x);
    let real = data.clone().real(&y).unwrap();
    let class = data.classes(&codes, 2).unwrap();
    let run = |f: &dyn Fn() -> String| {
        let mut best = f64::INFINITY;
        let mut said = String::new();
        for _ in 0..3 {
            let start = Instant::now();
            said = f();
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("{task}: {best:.3} s  {said}");
    };
    fn say<M>(fit: ermine::Fit<M>) -> String {
        format!("{}, {:?}", fit.log, fit.log.objective.last())
    }
    match task.as_str() {
        "ols" | "ols_wide" => run(&|| say(LinearRegression::default().fit(&real, &ctx).unwrap())),
        "ridge" => run(&|| say(Ridge::default().fit(&real, &ctx).unwrap())),
        "lasso_tall" | "lasso_wide" => {
            let alpha = std::env::var("ALPHA").map_or(0.1, |a| a.parse().unwrap());
            let tol = std::env::var("TOL").map_or(1e-4, |a| a.parse().unwrap());
            let l1_ratio = std::env::var("RATIO").map_or(1.0, |a| a.parse().unwrap());
            run(&|| say(ElasticNet { alpha, l1_ratio, tol, ..Default::default() }.fit(&real, &ctx).unwrap()))
        }
        "lasso_cv" => run(&|| {
            let fit = LassoCV::default().fit(&real, &ctx).unwrap();
            let alpha = fit.model.alpha;
            format!("{} alpha {alpha}", say(fit))
        }),
        "elastic_net" => {
            let alpha = std::env::var("ALPHA").map_or(0.1, |a| a.parse().unwrap());
            run(&|| say(ElasticNet { alpha, ..Default::default() }.fit(&real, &ctx).unwrap()))
        }
        "logistic" => run(&|| say(LogisticRegression::default().fit(&class, &ctx).unwrap())),
        "huber" => run(&|| say(HuberRegressor::default().fit(&real, &ctx).unwrap())),
        "poisson" => run(&|| say(PoissonRegressor { alpha: 1e-4, ..Default::default() }.fit(&real, &ctx).unwrap())),
        other => panic!("no task {other}"),
    }
}
