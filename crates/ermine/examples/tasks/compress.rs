//! Four measures in two numbers, and what is lost.

use ermine::prelude::*;

pub fn main() -> Result<()> {
    let (rows, species) = super::table::measured();
    let ctx = Ctx::default();
    let scaled = StandardScaler::default().fit(&Data::from_rows(&rows)?, &ctx)?.transform(&rows)?;
    let two = PCA { n_components: decompose::Components::Number(2.0), ..Default::default() };
    let fit = two.fit(&Data::from_rows(&scaled)?, &ctx)?;
    let kept = fit.model.explained.iter().sum::<f64>() / fit.model.total;
    println!("two components keep {:.1} % of the variance", 100.0 * kept);

    let places = fit.transform(&scaled)?;
    let back = fit.output(&places, Output::Inverse, &ctx)?;
    let worst = scaled.values.iter().zip(&back.values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    println!("the first penguin ({}) lies at {:.2?}; largest error {worst:.2}", species[0], places.row(0));
    Ok(())
}
