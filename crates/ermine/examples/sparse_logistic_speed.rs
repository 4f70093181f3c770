//! Times LogisticRegression on sparse counts, 20,000 rows of 50,000 words: prints seconds and the log.
use ermine::{Ctx, Data, Estimator, X, linear::LogisticRegression};
use std::time::Instant;

fn main() {
    let (n, p) = (20_000usize, 50_000usize);
    let mut rng = Ctx::new(7).rng("sparse", 0);
    let (mut starts, mut columns, mut values, mut codes) = (vec![0], Vec::new(), Vec::new(), Vec::new());
    for i in 0..n {
        let class = i % 2;
        // Rare words are many; the first thousand lean to a class.
        let mut words: Vec<u32> = (0..100).map(|_| (p as f64 * rng.uniform().powi(3)) as u32).collect();
        words.iter_mut().filter(|w| **w < 1000 && **w as usize % 2 != class && i % 3 == 0).for_each(|w| *w ^= 1);
        words.sort_unstable();
        for &word in &words {
            match columns.last() {
                Some(&last) if last == word && columns.len() > starts[i] => *values.last_mut().unwrap() += 1.0,
                _ => {
                    columns.push(word);
                    values.push(1.0);
                }
            }
        }
        starts.push(columns.len());
        codes.push(class as u32);
    }
    let x = X::csr(&starts, &columns, &values, p).unwrap();
    let data = Data::new(x).classes(&codes, 2).unwrap();
    for tol in [1e-4, 1e-6] {
        let begin = Instant::now();
        let fit = LogisticRegression { C: 1.0, tol, ..Default::default() }.fit(&data, &Ctx::new(0)).unwrap();
        let objective = fit.log.objective.last().unwrap();
        println!("tol {tol:e}: {:.2} s, objective {objective:.6}: {}", begin.elapsed().as_secs_f64(), fit.log);
    }
}
