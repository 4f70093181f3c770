//! All products of columns up to a degree: `z = prod_j x_j^a_j` with `sum a_j <= degree`, in the order of scikit-learn
//! (by degree, then by the columns). `C(p + d, d)` columns: 5 columns of degree 3 make 56.

use super::columns::{fill, name_of};
use crate::{
    Array, Certificate, Ctx, Error, Estimator, Fit, FitLog, Info, Model, Numbers, Output, Passes, Result, Source, Task,
    X,
    core::{memory, param::at_least, params, reduce, stats::ColumnMoments},
};
use serde::{Deserialize, Serialize};

params! {
    /// Adds powers and products of columns, so that linear models can fit curves and interactions.
    pub struct PolynomialFeatures {
        /// Maximum degree.
        degree: usize = 2, at_least(0.0);
        /// Whether to add only products of distinct columns.
        interaction_only: bool = false;
        /// Whether to add a column of ones.
        include_bias: bool = true;
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolynomialModel {
    pub cols: usize,
    /// The columns that each new feature multiplies, in order; empty for the ones.
    pub products: Vec<Vec<usize>>,
}

impl Estimator for PolynomialFeatures {
    type Model = PolynomialModel;
    const INFO: Info =
        Info::new("preprocessing", Task::Transformation, "z = prod_j x_j^a_j, sum_j a_j <= degree", Passes::One);

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<PolynomialModel>> {
        let cols = data.shape().cols;
        reduce(ctx, data, &ColumnMoments { cols })?;
        // Products of at most `degree` of the columns, and the factors of all of them.
        let most = if self.interaction_only { self.degree.min(cols) } else { self.degree };
        let (mut count, mut last_count, mut factors) = (1.0, 1.0, 0.0);
        for degree in 1..=most {
            let (n, k) = (cols as f64, degree as f64);
            last_count *= if self.interaction_only { (n - k + 1.0) / k } else { (n + k - 1.0) / k };
            count += last_count;
            factors += k * last_count;
            if count > f64::from(1 << 24) {
                let problem = format!("degree {} of {cols} columns makes more than 16 million features", self.degree);
                return Err(Error::Data(format!("PolynomialFeatures: {problem}")));
            }
        }
        // They stand twice in memory while they are made.
        let bytes = (2.0 * (24.0 * count + 8.0 * factors)) as usize;
        memory::check("PolynomialFeatures", &format!("degree={} of {cols} columns", self.degree), &[bytes], 1)?;
        let mut products: Vec<Vec<usize>> = if self.include_bias { vec![vec![]] } else { vec![] };
        let mut last: Vec<Vec<usize>> = vec![vec![]];
        for _ in 0..most {
            ctx.check()?;
            let mut next = Vec::new();
            for product in &last {
                let first = product.last().map_or(0, |&j| j + usize::from(self.interaction_only));
                next.extend((first..cols).map(|j| product.iter().copied().chain([j]).collect::<Vec<_>>()));
            }
            products.extend(next.iter().cloned());
            last = next;
        }
        if products.is_empty() {
            return Err(Error::Data("PolynomialFeatures: degree 0 without ones makes no features".into()));
        }
        Ok(Fit::new(PolynomialModel { cols, products }, FitLog::exact(Certificate::None)))
    }
}

impl Model for PolynomialModel {
    fn cols(&self) -> usize {
        self.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Transform, self.products.len())]
    }

    fn predict(&self, x: &X, _: Output, out: &mut [f64]) -> Result<()> {
        let mut dense = vec![0.0; self.cols];
        for (row, out) in x.iter().zip(out.chunks_exact_mut(self.products.len())) {
            fill(&row, &mut dense);
            for (out, product) in out.iter_mut().zip(&self.products) {
                *out = product.iter().map(|&j| dense[j]).product();
            }
        }
        Ok(())
    }

    fn feature_names(&self, input: &[String]) -> Option<Vec<String>> {
        let name = |product: &Vec<usize>| {
            let powers = product.chunk_by(|a, b| a == b).map(|run| match run.len() {
                1 => name_of(input, run[0]),
                n => format!("{}^{n}", name_of(input, run[0])),
            });
            let parts: Vec<String> = powers.collect();
            if parts.is_empty() { "1".into() } else { parts.join(" ") }
        };
        Some(self.products.iter().map(name).collect())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let powers = self
            .products
            .iter()
            .flat_map(|product| (0..self.cols).map(|j| product.iter().filter(|&&k| k == j).count() as i64));
        let shape = vec![self.products.len(), self.cols];
        vec![("powers_", Array { shape, values: Numbers::Int(powers.collect()) })]
    }

    fn check(&self) -> Result<()> {
        let inside = self.products.iter().flatten().all(|&j| j < self.cols);
        if self.cols > 0 && inside && !self.products.is_empty() {
            return Ok(());
        }
        Err(Error::Data("stored products name columns that are not there".into()))
    }
}
