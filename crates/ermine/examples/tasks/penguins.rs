//! Which species is it? Learned from three quarters of the penguins, judged on the rest, saved and used again.

use ermine::prelude::*;

pub fn main() -> Result<()> {
    let (rows, species) = super::table::measured();
    let data = Data::from_rows(&rows)?.labels(&species)?;
    let (train, test) = train_test(&data, 0.25, 1)?;

    let steps = [StandardScaler::default().into(), LogisticRegression { C: 10.0, ..Default::default() }.into()];
    let fit = Pipeline::new(&steps)?.fit(&train, &Ctx::default())?;
    println!("right on {:.1} % of the held-out penguins; {}", 100.0 * fit.score(&test)?, fit.log);

    let path = std::env::temp_dir().join(format!("penguins-{}.fit", std::process::id()));
    fit.save(&path)?;
    let loaded = ermine::load(&path)?;
    let found = [[39.0, 18.7, 181.0, 3750.0], [46.5, 13.5, 210.0, 4550.0]];
    let probabilities = loaded.predict_proba(&found)?;
    for (i, label) in loaded.predict_labels(&found)?.iter().enumerate() {
        let sure = probabilities.row(i).iter().copied().fold(0.0, f64::max);
        println!("{:?}: {label}, by {:.1} %", found[i], 100.0 * sure);
    }
    std::fs::remove_file(&path).map_err(|error| Error::io(&path, "remove", &error))
}
