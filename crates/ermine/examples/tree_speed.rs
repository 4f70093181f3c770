//! Times one model on a matrix of raw numbers: `tree_speed Spec x.f64 y.f64 rows cols [repeats]`.
//!
//! The last fifth of the rows is held out; prints the shortest fit, the shortest prediction and the held-out score.

use ermine::{AnyModel, Ctx, Data, Output, Spec, Task, X, entry, make, predict};
use std::time::Instant;

fn read(path: &str) -> Vec<f64> {
    let bytes = std::fs::read(path).expect("a readable file");
    bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes"))).collect()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let spec = Spec::parse(&args[1]).unwrap_or_else(|| Spec::new(&args[1]));
    let (x, y) = (read(&args[2]), read(&args[3]));
    let (rows, cols): (usize, usize) = (args[4].parse().expect("rows"), args[5].parse().expect("columns"));
    let repeats: usize = args.get(6).map_or(1, |n| n.parse().expect("repeats"));
    let cut = rows * 4 / 5;
    let info = entry(&spec.name).expect("a model").info;
    let classes = y.iter().fold(0.0, |a: f64, b| a.max(*b)) as usize + 1;
    let codes: Vec<u32> = y.iter().map(|y| *y as u32).collect();
    let train = Data::new(X::dense(&x[..cut * cols], cols).expect("x"));
    let train = match info.task {
        Task::Classification => train.classes(&codes[..cut], classes),
        _ => train.real(&y[..cut]),
    }
    .expect("a target");
    let ctx = Ctx::new(0);
    let test = X::dense(&x[cut * cols..], cols).expect("x");
    let (mut fit_time, mut predict_time) = (f64::INFINITY, f64::INFINITY);
    let mut score = 0.0;
    let mut size = 0;
    for _ in 0..repeats {
        let start = Instant::now();
        let fit = make(&spec).expect("a model").fit(&train, &ctx).expect("a fit");
        fit_time = fit_time.min(start.elapsed().as_secs_f64());
        let model: &dyn AnyModel = &*fit.model;
        let output = if info.task == Task::Classification { Output::Class } else { Output::Value };
        let start = Instant::now();
        let p = predict(&ctx, model, &test, output, true).expect("predictions");
        predict_time = predict_time.min(start.elapsed().as_secs_f64());
        let y = &y[cut..];
        score = match info.task {
            Task::Classification => p.values.iter().zip(y).filter(|(a, b)| a == b).count() as f64 / y.len() as f64,
            _ => {
                let mean = y.iter().sum::<f64>() / y.len() as f64;
                let off: f64 = p.values.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum();
                1.0 - off / y.iter().map(|y| (y - mean).powi(2)).sum::<f64>()
            }
        };
        size = model.to_bytes().len();
    }
    println!("{spec}: fit {fit_time:.3} s, predict {predict_time:.4} s, score {score:.5}, {size} bytes");
}
