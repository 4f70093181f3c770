//! Missing values, columns on their own ways, and the best parameters: all learned inside each fold.

use ermine::{prelude::*, split::Folds};

pub fn main() -> Result<()> {
    let (rows, species) = super::table::penguins();
    let data = Data::from_rows(&rows)?.labels(&species)?;
    let ctx = Ctx::new(1);

    // Bills are scaled; flippers and mass are cut into bins.
    let filled = || Spec::from(SimpleImputer { strategy: prep::ImputeStrategy::Median, ..Default::default() });
    let columns = ColumnTransformer::new(
        &[
            (vec![0, 1], vec![filled(), StandardScaler::default().into()]),
            (vec![2, 3], vec![filled(), KBinsDiscretizer { n_bins: 4, ..Default::default() }.into()]),
        ],
        false,
    )?;
    let pipeline = Pipeline::new(&[Spec::from(&columns), LogisticRegression::default().into()])?;
    println!("five folds: {:.3?}", cross_val_score(&pipeline, &data, 5, &ctx)?);

    // Every candidate on the same folds.
    let candidates: Vec<Spec> = [0.01, 0.1, 1.0, 10.0, 100.0]
        .map(|c| LogisticRegression { C: c, ..Default::default() })
        .into_iter()
        .map(|model| Pipeline::spec(&[Spec::from(&columns), model.into()]))
        .collect();
    let folds = Folds::usual(&data.batch().y, 5).split(&data.batch(), None, ctx.seed)?;
    let found = search::search(&ctx, &candidates, &data, &folds, metrics::metric("neg_log_loss")?)?;
    let best = found.best();
    println!("best log loss {:.4} ± {:.4} with {}", -best.mean, best.standard_error, best.spec);

    let fit = ermine::make(&best.spec)?.fit(&data, &ctx)?;
    println!("without a bill length: {}", fit.predict_labels(&[[f64::NAN, 17.0, 190.0, 3700.0]])?[0]);
    Ok(())
}
