//! Boosted trees, and which measures drive what they say.

use ermine::{inspect::permutation_importance, prelude::*};

pub fn main() -> Result<()> {
    // Trees take missing values as they are.
    let (rows, species) = super::table::penguins();
    let (train, test) = train_test(&Data::from_rows(&rows)?.labels(&species)?, 0.3, 2)?;
    let boosting = HistGradientBoostingClassifier { max_iter: 40, learning_rate: 0.2, ..Default::default() };
    let fit = boosting.fit(&train, &Ctx::new(1))?;
    println!("right on {:.1} % of the held-out penguins", 100.0 * fit.score(&test)?);

    let accuracy = metrics::metric("accuracy")?;
    let found = permutation_importance(&Ctx::new(1), &fit.model, &test.batch(), accuracy, true, 10)?;
    for (name, fall) in ["bill length", "bill depth", "flipper length", "body mass"].iter().zip(&found) {
        println!("{name:<15} {:+.3} ± {:.3} when it is shuffled", -fall.mean, fall.standard_error);
    }
    Ok(())
}
