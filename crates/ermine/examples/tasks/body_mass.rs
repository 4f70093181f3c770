//! How heavy is a penguin, by its bill and its flippers? With standard errors, and what the fit can prove.

use ermine::prelude::*;

pub fn main() -> Result<()> {
    let (rows, _) = super::table::measured();
    let x: Vec<[f64; 3]> = rows.iter().map(|row| [row[0], row[1], row[2]]).collect();
    let mass: Vec<f64> = rows.iter().map(|row| row[3]).collect();
    let data = Data::from_rows(&x)?.real(&mass)?;

    let fit = LinearRegression::default().fit(&data, &Ctx::default())?;
    let summary = linear::summary(&fit.model, true, 0.95, &data, &Ctx::default())?;
    for (name, term) in ["constant", "bill length", "bill depth", "flipper length"].iter().zip(&summary.terms) {
        println!("{name:<15} {:9.2} ± {:.2}", term.estimate, term.std_error);
    }
    println!("R² {:.3}; {}", summary.r2, fit.log);

    // Squares and products of the measures, held in check by a penalty that is chosen by cross-validation.
    let curved = Pipeline::new(&[
        StandardScaler::default().into(),
        PolynomialFeatures { degree: 3, ..Default::default() }.into(),
        RidgeCV::default().into(),
    ])?;
    for (name, model) in [("straight", LinearRegression::default().into()), ("curved", Spec::from(&curved))] {
        let scores = cross_val_score(model, &data, 5, &Ctx::new(1))?;
        println!("{name}: R² of five folds {scores:.3?}");
    }
    Ok(())
}
