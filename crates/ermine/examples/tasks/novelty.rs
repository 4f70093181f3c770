//! Penguins of one species as a model of what is usual, and those of another before it.

use ermine::prelude::*;

pub fn main() -> Result<()> {
    let (rows, species) = super::table::measured();
    let of = |name: &str| -> Vec<[f64; 4]> {
        rows.iter().zip(&species).filter(|(_, species)| **species == name).map(|(row, _)| *row).collect()
    };
    let (usual, others) = (of("Adelie"), of("Gentoo"));
    let steps = [StandardScaler::default().into(), OneClassSVM { nu: 0.05, ..Default::default() }.into()];
    let fit = Pipeline::new(&steps)?.fit(&Data::from_rows(&usual)?, &Ctx::default())?;
    for (name, rows) in [("Adelie", &usual), ("Gentoo", &others)] {
        let outside = fit.predict(rows)?.iter().filter(|&&side| side < 0.0).count();
        println!("{name}: {outside} of {} do not belong", rows.len());
    }
    Ok(())
}
