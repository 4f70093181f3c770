//! Penguins of the Palmer archipelago: bill length, bill depth, flipper length, body mass; NaN where nobody measured.

/// The four measures of each penguin, and its species.
pub fn penguins() -> (Vec<[f64; 4]>, Vec<&'static str>) {
    let text = include_str!("../../../../examples/penguins.csv");
    let columns: Vec<&str> = text.lines().next().unwrap_or_default().split(',').collect();
    let column = |name: &str| columns.iter().position(|found| *found == name).expect("the table has this column");
    let measures = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"].map(column);
    let read = |line: &'static str| {
        let cells: Vec<&'static str> = line.split(',').collect();
        (measures.map(|at| cells[at].parse().unwrap_or(f64::NAN)), cells[column("species")])
    };
    text.lines().skip(1).map(read).unzip()
}

/// Those that were measured in every way.
pub fn measured() -> (Vec<[f64; 4]>, Vec<&'static str>) {
    let (rows, species) = penguins();
    let all = rows.into_iter().zip(species);
    all.filter(|(row, _)| row.iter().all(|value| value.is_finite())).unzip()
}
