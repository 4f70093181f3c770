//! Measures what `Estimator::cost` predicts, so that its constants can be taken again with each release.
//!
//!     cargo run --release -p ermine --example cost -- [part of a name] [most predicted seconds, 5 unless told] [name=value ...]
//!
//! One line for each model and shape: predicted and measured seconds of one core, and predicted / measured. Models that
//! miss by more than a factor of three anywhere are named at the end.

use ermine::{
    AnyEstimator, Ctx, Data, Domain, Entry, MODELS, OwnedTarget, Result, Source, Task, Value, Values, X, predict,
};
use std::time::Instant;

/// Rows, columns, classes.
const SHAPES: [(usize, usize, usize); 9] = [
    (200, 5, 2),
    (1_000, 20, 3),
    (500, 200, 2),
    (5_000, 10, 2),
    (5_000, 50, 5),
    (20_000, 20, 2),
    (20_000, 100, 2),
    (100_000, 10, 3),
    (100_000, 50, 2),
];

/// An ordinary table: some columns matter, two by more than a line, and there is noise.
fn table(entry: &Entry, rows: usize, cols: usize, classes: usize) -> (Vec<f64>, OwnedTarget) {
    let mut rng = Ctx::new(1).rng("cost", (rows * cols) as u64);
    let counts = entry.info.non_negative || entry.info.word_counts;
    let slopes: Vec<f64> = (0..classes * cols).map(|_| rng.normal()).collect();
    let (mut x, mut real, mut codes) = (Vec::with_capacity(rows * cols), vec![], vec![]);
    let scale = (cols as f64).sqrt();
    for _ in 0..rows {
        let group = if rng.uniform() < 0.5 { -1.0 } else { 1.0 };
        let row: Vec<f64> = (0..cols)
            .map(|j| rng.normal() + if j % 3 == 0 { group } else { 0.0 })
            .map(|value| if counts { (value.abs() * 2.0).floor() } else { value })
            .collect();
        let score = |class: usize| {
            let line: f64 = row.iter().zip(&slopes[class * cols..]).map(|(x, slope)| x * slope).sum();
            line / scale + if class == 0 { (row[0] * row[1]).sin() + 0.5 * row[1].abs() } else { 0.0 }
        };
        let scores: Vec<f64> = (0..classes).map(|class| score(class) + 0.5 * rng.normal()).collect();
        real.push(match entry.info.target {
            Domain::Any => scores[0],
            Domain::Count => (0.5 * scores[0]).exp().round(),
            Domain::Positive => (0.5 * scores[0]).exp(),
        });
        codes.push((0..classes).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0) as u32);
        x.extend(row);
    }
    let target = match entry.info.task {
        Task::Regression => OwnedTarget::Real { values: real, cols: 1 },
        Task::Classification => OwnedTarget::Class { codes, classes },
        _ => OwnedTarget::None,
    };
    (x, target)
}

/// Seconds that all threads of this process computed, where the system counts them: other programs then do not matter.
fn clock(begin: Instant) -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let spent = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok());
    let spent: f64 = spent.filter_map(|text| text.split(' ').next()?.parse::<f64>().ok()).sum();
    if spent > 0.0 { 1e-9 * spent } else { begin.elapsed().as_secs_f64() }
}

fn measure(entry: &Entry, estimator: &dyn AnyEstimator, data: &Data, ctx: &Ctx) -> Result<f64> {
    let (begin, mut runs) = (Instant::now(), 0);
    let start = clock(begin);
    // Short fits are repeated: the first one also warms the caches.
    loop {
        let fit = estimator.fit(data, ctx)?;
        let x = data.batch().x;
        let some = x.slice(0..x.rows() / 4);
        if let Some((output, _)) = fit.model.outputs().first() {
            predict(ctx, &*fit.model, &some, *output, entry.info.missing)?;
        }
        runs += 1;
        if begin.elapsed().as_secs_f64() > 0.05 || runs >= 20 {
            return Ok((clock(begin) - start) / f64::from(runs));
        }
    }
}

fn main() -> Result<()> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let mut values = Values::new();
    args.retain(|arg| match arg.split_once('=') {
        Some((name, value)) => {
            let value = value.parse().map(Value::Float).unwrap_or(Value::Text(value.into()));
            values.insert(name.into(), value);
            false
        }
        None => true,
    });
    let pattern = args.first().cloned().unwrap_or_default();
    let most: f64 = args.get(1).and_then(|most| most.parse().ok()).unwrap_or(5.0);
    let ctx = Ctx::new(1).with_threads(1);
    let mut missed: Vec<String> = Vec::new();
    println!(
        "{:30} {:>7} {:>4} {:>2} {:>10} {:>10} {:>6}",
        "model", "rows", "cols", "k", "predicted", "measured", "ratio"
    );
    for entry in MODELS.iter().filter(|entry| entry.info.task != Task::Transformation && entry.name.contains(&pattern))
    {
        let estimator = (entry.make)(&values)?;
        for (rows, cols, classes) in SHAPES {
            let (x, target) = table(entry, rows, cols, classes);
            let data = Data::new(X::dense(&x, cols)?).target(target.target())?;
            let predicted = estimator.cost(&data.shape());
            if predicted > most {
                println!("{:30} {rows:7} {cols:4} {classes:2} {predicted:10.5}", entry.name);
                continue;
            }
            let measured = match measure(entry, &*estimator, &data, &ctx) {
                Ok(measured) => measured,
                Err(error) => {
                    println!("{:30} {rows:7} {cols:4} {classes:2} {error}", entry.name);
                    continue;
                }
            };
            let ratio = predicted / measured;
            println!("{:30} {rows:7} {cols:4} {classes:2} {predicted:10.5} {measured:10.5} {ratio:6.2}", entry.name);
            if !(1.0 / 3.0..=3.0).contains(&ratio) {
                missed.push(format!("{} at {rows} x {cols}: {ratio:.2}", entry.name));
            }
        }
    }
    println!("\n{} outside a factor of three", missed.len());
    missed.iter().for_each(|line| println!("  {line}"));
    Ok(())
}
