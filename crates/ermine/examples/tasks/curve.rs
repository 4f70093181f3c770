//! A network learns a curve from noisy points.

use ermine::prelude::*;

pub fn main() -> Result<()> {
    let mut noise = Ctx::new(3).rng("noise", 0);
    let x: Vec<[f64; 1]> = (0..200).map(|i| [f64::from(i) / 40.0 - 2.5]).collect();
    let y: Vec<f64> = x.iter().map(|row| (2.0 * row[0]).sin() + 0.1 * noise.normal()).collect();
    let (train, test) = train_test(&Data::from_rows(&x)?.real(&y)?, 0.25, 1)?;
    let network = MLPRegressor {
        hidden_layer_sizes: vec![20],
        activation: neural::Activation::Tanh,
        solver: neural::Solver::Lbfgs,
        alpha: 1e-3,
        max_iter: 400,
        ..Default::default()
    };
    let fit = network.fit(&train, &Ctx::new(1))?;
    println!("R² {:.3} on held-out points; {}", fit.score(&test)?, fit.log);
    for at in [-1.0f64, 0.0, 1.0] {
        println!("at {at:+}: {:+.3}, in truth {:+.3}", fit.predict(&[[at]])?[0], (2.0 * at).sin());
    }
    Ok(())
}
