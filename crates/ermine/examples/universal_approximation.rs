//! One hidden layer comes as near to a smooth function as it is wide: `cargo run --release --example
//! universal_approximation`.
//!
//! Cybenko (1989) and Hornik (1991): sums of sigmoids are dense in the continuous functions on a compact set. Barron
//! (1993): the squared error that can be reached falls at least as 1 / width. Here: f(x) = sin(3 x) + cos(7 x) / 2 on
//! [-2, 2], tanh units, L-BFGS, best of three starts.

use ermine::{
    Ctx, Data, Estimator, Output, Result, X,
    neural::{MLPRegressor, network::Activation, optimiser::Solver},
    predict,
};

fn f(x: f64) -> f64 {
    (3.0 * x).sin() + 0.5 * (7.0 * x).cos()
}

fn main() -> Result<()> {
    let grid =
        |n: usize, shift: f64| -> Vec<f64> { (0..n).map(|i| -2.0 + 4.0 * (i as f64 + shift) / n as f64).collect() };
    let (x, between) = (grid(400, 0.5), grid(400, 0.25));
    let y: Vec<f64> = x.iter().map(|x| f(*x)).collect();
    let data = Data::new(X::dense(&x, 1)?).real(&y)?;
    println!("{:>6} {:>12}", "width", "rms error");
    for width in [1, 2, 4, 8, 16, 32, 64] {
        let network = MLPRegressor {
            hidden_layer_sizes: vec![width],
            activation: Activation::Tanh,
            solver: Solver::Lbfgs,
            alpha: 0.0,
            max_iter: 20_000,
            tol: 1e-9,
            ..Default::default()
        };
        let mut best = f64::INFINITY;
        for seed in 0..3 {
            let ctx = Ctx::new(seed);
            let model = network.fit(&data, &ctx)?.model;
            // Judged between the points that it was fitted on.
            let out = predict(&ctx, &model, &X::dense(&between, 1)?, Output::Value, false)?;
            let squares: f64 = out.values.iter().zip(&between).map(|(p, x)| (p - f(*x)).powi(2)).sum();
            best = best.min((squares / between.len() as f64).sqrt());
        }
        let bar = "#".repeat((12.0 * (best * 1e4).max(1.0).log10()) as usize);
        println!("{width:>6} {best:>12.2e}  {bar}");
    }
    Ok(())
}
