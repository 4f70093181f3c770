//! Which penguins are most like this one?

use ermine::prelude::*;

pub fn main() -> Result<()> {
    let (rows, species) = super::table::measured();
    let ctx = Ctx::default();
    let scaler = StandardScaler::default().fit(&Data::from_rows(&rows)?, &ctx)?;
    let scaled = scaler.transform(&rows)?;
    let fit = NearestNeighbors { n_neighbors: 3, ..Default::default() }.fit(&Data::from_rows(&scaled)?, &ctx)?;
    let asked = [[50.0, 19.5, 196.0, 3900.0]];
    // Numbers of the rows first, then how far they are.
    let found = fit.output(&scaler.transform(&asked)?, Output::Neighbours, &ctx)?;
    let (numbers, distances) = found.row(0).split_at(3);
    for (&number, distance) in numbers.iter().zip(distances) {
        println!("{:?} ({}) at distance {distance:.2}", rows[number as usize], species[number as usize]);
    }

    let labelled = Data::from_rows(&scaled)?.labels(&species)?;
    let scores = cross_val_score(KNeighborsClassifier::default(), &labelled, 5, &Ctx::new(1))?;
    println!("species by five neighbours: {scores:.3?}");
    Ok(())
}
