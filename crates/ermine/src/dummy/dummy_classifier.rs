//! A class without a look at the columns: `max_p sum_i w_i ln p(y_i)` over shares p of the classes, which are the
//! shares of the weight. One pass that counts; the classes of a draw follow from a hash of the row.

use super::missing;
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Flexibility, Info, Model, Output, Params, Passes, Result, Shape, Source,
    Task, X,
    bayes::{class_count, first_largest},
    core::{Batch, Reduce, choice, data::Row, param::at_least, params, reduce, rng},
};
use serde::{Deserialize, Serialize};

choice! {
    /// What is predicted.
    pub enum ClassRule {
        /// The most frequent class; probabilities are the shares of the classes.
        Prior = "prior",
        /// The most frequent class, for sure.
        MostFrequent = "most_frequent",
        /// A class drawn by the shares of the classes.
        Stratified = "stratified",
        /// A class drawn with equal probabilities.
        Uniform = "uniform",
        /// The class that is given.
        Constant = "constant",
    }
}

params! {
    /// A baseline that knows how frequent the classes are and nothing else. What a model is worth is what it adds.
    pub struct DummyClassifier {
        /// What is predicted: the most frequent class with the shares of the classes as probabilities (prior) or with
        /// probability 1 (most_frequent), a draw by the shares (stratified) or with equal probabilities (uniform), or
        /// one class for all rows (constant).
        strategy: ClassRule = ClassRule::Prior;
        /// Number of the class that strategy=constant predicts, in the order of the labels.
        constant: Option<usize> = None, at_least(0.0);
    }
}

impl Estimator for DummyClassifier {
    type Model = DummyClassModel;

    const INFO: Info = Info {
        missing: true,
        categories: true,
        random: true,
        flexibility: Flexibility::Constant,
        ..Info::new("dummy", Task::Classification, "max_p sum_i ln p(y_i), p the same for every row", Passes::One)
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, _, classes) = shape.sizes();
        1e-9 * (2e4 + n * (1.5 + 0.2 * classes))
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<DummyClassModel>> {
        let shape = data.shape();
        let classes = class_count(Self::NAME, &shape)?;
        let counts = reduce(ctx, data, &Counts { classes })?;
        let total: f64 = counts.iter().sum();
        let prior: Vec<f64> = counts.iter().map(|count| count / total).collect();
        let class = match (self.strategy, self.constant) {
            (ClassRule::Constant, None) => {
                return Err(missing::<Self>("constant", "constant", format!("the number of a class below {classes}")));
            }
            (ClassRule::Constant, Some(class)) if class >= classes => {
                return Err(Error::Parameter {
                    model: Self::NAME.into(),
                    name: "constant".into(),
                    value: class.to_string(),
                    allowed: format!("the number of a class, below {classes}"),
                });
            }
            (ClassRule::Constant, Some(class)) => class,
            _ => first_largest(&prior),
        };
        let mut log = FitLog::default();
        log.objective = match self.strategy {
            ClassRule::Prior => {
                let shares = counts.iter().zip(&prior).filter(|(count, _)| **count > 0.0);
                vec![-shares.map(|(count, share)| count * share.ln()).sum::<f64>()]
            }
            // Rows of another class.
            ClassRule::MostFrequent => vec![total - counts[class]],
            _ => Vec::new(),
        };
        // A seed of its own, so that rows are drawn apart from whatever else is drawn in this run.
        let seed = rng::key(ctx.seed, "dummy", 0);
        Ok(Fit::new(DummyClassModel { cols: shape.cols, strategy: self.strategy, prior, class, seed }, log))
    }
}

/// The weight of each class.
struct Counts {
    classes: usize,
}

impl Reduce for Counts {
    type Stat = Vec<f64>;

    fn zero(&self) -> Vec<f64> {
        vec![0.0; self.classes]
    }

    fn add(&self, stat: &mut Vec<f64>, batch: &Batch) -> Result<()> {
        let codes = batch.y.codes();
        match batch.weights {
            Some(weights) => codes.iter().zip(weights).for_each(|(&class, weight)| stat[class as usize] += weight),
            None => codes.iter().for_each(|&class| stat[class as usize] += 1.0),
        }
        Ok(())
    }

    fn merge(&self, left: &mut Vec<f64>, right: Vec<f64>) {
        left.iter_mut().zip(right).for_each(|(left, right)| *left += right);
    }
}

/// Shares of classes, and what is made of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DummyClassModel {
    cols: usize,
    pub strategy: ClassRule,
    pub prior: Vec<f64>,
    /// The class that is predicted where none is drawn.
    pub class: usize,
    seed: u64,
}

impl DummyClassModel {
    fn class_of(&self, row: Row) -> usize {
        let k = self.prior.len();
        match self.strategy {
            ClassRule::Prior | ClassRule::MostFrequent | ClassRule::Constant => self.class,
            ClassRule::Uniform => ((self.draw(row) * k as f64) as usize).min(k - 1),
            ClassRule::Stratified => {
                let (mut left, mut last) = (self.draw(row), 0);
                for (class, share) in self.prior.iter().enumerate().filter(|(_, share)| **share > 0.0) {
                    last = class;
                    left -= share;
                    if left < 0.0 {
                        break;
                    }
                }
                last
            }
        }
    }

    /// Uniform in [0, 1), of the numbers of a row; a zero is one whether it is stored or not.
    fn draw(&self, row: Row) -> f64 {
        let mut state = self.seed;
        row.for_each(|j, value| {
            if value != 0.0 {
                state = rng::key(rng::key(state, "", j as u64), "", value.to_bits());
            }
        });
        rng::unit(state)
    }
}

impl Model for DummyClassModel {
    fn cols(&self) -> usize {
        self.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Class, 1), (Output::Probability, self.prior.len())]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let k = self.prior.len();
        if output == Output::Class {
            out.iter_mut().enumerate().for_each(|(i, out)| *out = self.class_of(x.row(i)) as f64);
            return Ok(());
        }
        for (i, out) in out.chunks_exact_mut(k).enumerate() {
            match self.strategy {
                ClassRule::Prior => out.copy_from_slice(&self.prior),
                ClassRule::Uniform => out.fill(1.0 / k as f64),
                _ => out[self.class_of(x.row(i))] = 1.0,
            }
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![("class_prior_", (&self.prior).into())]
    }

    fn check(&self) -> Result<()> {
        let shares = self.prior.iter().all(|share| (0.0..=1.0).contains(share));
        if self.cols == 0 || self.class >= self.prior.len() || !shares {
            return Err(Error::shape(
                "stored classes",
                format!("shares of more than {} classes", self.class),
                "others",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Data;

    fn fit(strategy: ClassRule, constant: Option<usize>) -> Fit<DummyClassModel> {
        let x: Vec<f64> = (0..6).map(f64::from).collect();
        let data = Data::new(X::dense(&x, 1).unwrap()).classes(vec![2, 0, 2, 1, 2, 0], 3).unwrap();
        DummyClassifier { strategy, constant }.fit(&data, &Ctx::new(4)).unwrap()
    }

    /// No other shares are likelier, and no other class is right more often.
    #[test]
    fn is_optimal() {
        let counts = [2.0, 1.0, 3.0];
        let prior = fit(ClassRule::Prior, None);
        let loss = |p: &[f64]| -counts.iter().zip(p).map(|(count, p)| count * p.ln()).sum::<f64>();
        assert_eq!(prior.log.objective, [loss(&prior.model.prior)]);
        let mut rng = Ctx::new(1).rng("shares", 0);
        for _ in 0..200 {
            let parts: Vec<f64> = (0..3).map(|_| rng.uniform()).collect();
            let total: f64 = parts.iter().sum();
            let other: Vec<f64> = parts.iter().map(|part| part / total).collect();
            assert!(loss(&other) >= prior.log.objective[0]);
        }
        let frequent = fit(ClassRule::MostFrequent, None);
        assert_eq!((frequent.model.class, frequent.log.objective.as_slice()), (2, [3.0].as_slice()));
        assert_eq!(frequent.predict_proba(&[[9.0]]).unwrap().values, [0.0, 0.0, 1.0]);
        assert_eq!(fit(ClassRule::Constant, Some(1)).predict(&[[9.0]]).unwrap(), [1.0]);
    }

    #[test]
    fn draws_by_row_in_the_shares_of_the_classes() {
        let x: Vec<[f64; 1]> = (0..30_000).map(|i| [f64::from(i)]).collect();
        for (strategy, shares) in
            [(ClassRule::Stratified, [2.0 / 6.0, 1.0 / 6.0, 3.0 / 6.0]), (ClassRule::Uniform, [1.0 / 3.0; 3])]
        {
            let fit = fit(strategy, None);
            let drawn = fit.predict(&x).unwrap();
            assert_eq!(drawn[17], fit.predict(&x[17..18]).unwrap()[0]);
            for (class, share) in shares.iter().enumerate() {
                let found = drawn.iter().filter(|&&drawn| drawn == class as f64).count() as f64 / x.len() as f64;
                assert!((found - share).abs() < 0.01, "{strategy:?}: {found} of class {class}");
            }
        }
    }

    #[test]
    fn a_constant_is_a_class_that_is_there() {
        let data = Data::new(X::dense(&[1.0, 2.0], 1).unwrap()).classes(vec![0, 1], 2).unwrap();
        for constant in [None, Some(2)] {
            let error = DummyClassifier { strategy: ClassRule::Constant, constant }.fit(&data, &Ctx::new(0)).err();
            assert!(error.unwrap().to_string().contains("constant is "));
        }
    }
}
