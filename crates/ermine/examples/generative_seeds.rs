//! Inertia of k-means and log-likelihood of mixtures over twenty seeds, to compare with a peer.
//!
//!     cargo run --release --example generative_seeds -- old_faithful.csv 2 wine.csv 3 digits.csv 10
//!
//! Each file has a header; columns that are not numbers are left out, and so is the last column of files of more than
//! two.

use ermine::{
    Ctx, Data, Estimator, X,
    cluster::{Covariance, GaussianMixture, KMeans},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    for pair in args.chunks_exact(2) {
        let text = std::fs::read_to_string(&pair[0])?;
        let k: usize = pair[1].parse()?;
        let rows: Vec<Vec<f64>> = text.lines().skip(1).map(numbers).collect();
        let cols = rows.first().map_or(0, Vec::len);
        let x: Vec<f64> = rows.concat();
        let data = Data::new(X::dense(&x, cols)?);
        let (mut inertia, mut likelihood) = (Vec::new(), Vec::new());
        for seed in 0..20 {
            let ctx = Ctx::new(seed);
            inertia.push(KMeans { n_clusters: k, ..Default::default() }.fit(&data, &ctx)?.model.inertia);
            let mixture = GaussianMixture {
                n_components: k,
                covariance_type: if cols > 20 { Covariance::Diag } else { Covariance::Full },
                reg_covar: if cols > 20 { 1e-2 } else { 1e-6 },
                ..Default::default()
            };
            likelihood.push(mixture.fit(&data, &ctx)?.model.bound);
        }
        println!("{} {} x {cols}, k = {k}", pair[0], rows.len());
        for (name, mut values) in [("inertia", inertia), ("log-likelihood", likelihood)] {
            values.sort_by(f64::total_cmp);
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            println!(
                "  {name:<15} least {:.6}  median {:.6}  mean {mean:.6}  most {:.6}",
                values[0], values[10], values[19]
            );
        }
    }
    Ok(())
}

/// The leading numbers of a line; the class behind them is not one of the columns.
fn numbers(line: &str) -> Vec<f64> {
    let fields: Vec<&str> = line.split(',').collect();
    let count = if fields.len() > 2 { fields.len() - 1 } else { fields.len() };
    fields[..count].iter().filter_map(|field| field.parse().ok()).collect()
}
