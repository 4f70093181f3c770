//! Are there groups among the penguins, how many, and are they the species?

use ermine::{metrics::adjusted_rand_score, prelude::*};

pub fn main() -> Result<()> {
    let (rows, species) = super::table::measured();
    let ctx = Ctx::new(1);
    let scaled = StandardScaler::default().fit(&Data::from_rows(&rows)?, &ctx)?.transform(&rows)?;
    let data = Data::from_rows(&scaled)?;
    for n_clusters in 2..=5 {
        let kmeans = KMeans { n_clusters, n_init: cluster::Starts::Number(5), ..Default::default() };
        println!("{n_clusters} clusters: inertia {:.1}", kmeans.fit(&data, &ctx)?.model.inertia);
    }
    let fit = GaussianMixture { n_components: 3, ..Default::default() }.fit(&data, &ctx)?;
    let found: Vec<i64> = fit.predict(&scaled)?.iter().map(|&cluster| cluster as i64).collect();
    let labelled = Data::from_rows(&rows)?.labels(&species)?;
    let truth: Vec<i64> = labelled.batch().y.codes().iter().map(|&code| code.into()).collect();
    let agreement = adjusted_rand_score(&truth, &found)?;
    println!("three components and three species: adjusted Rand index {agreement:.3}; {}", fit.log);
    Ok(())
}
