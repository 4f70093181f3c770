//! Categorical naive Bayes: columns are codes 0, 1, 2, ...; `p(x | c) = prod_j p(x_j | c)` with
//! `p(x_j = t | c) = (n_cjt + alpha) / (n_c + alpha levels_j)`.
//!
//! One pass of counts. The levels of a column are those up to its largest code (at least `min_categories`). A code that
//! no row of the fit had says nothing about the class. Fractions are cut off, as scikit-learn does, and the log says
//! so.

use super::{
    class_count,
    counts::{log_priors, refuse_negative, smoothing, unseen},
    posterior, same_classes,
};
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Model, Output, Passes, Result, Shape, Source, Task, X,
    core::{
        Batch, Reduce, memory,
        model::Property,
        param::{at_least, log},
        params, reduce, simd,
    },
};
use serde::{Deserialize, Serialize};

params! {
    /// Naive Bayes for categorical columns, given as integer codes.
    pub struct CategoricalNB {
        /// Additive (Laplace) smoothing: added to the count of every category and class.
        alpha: f64 = 1.0, at_least(0.0), log(1e-3, 10.0);
        /// If false, an alpha below 1e-10 is raised to 1e-10.
        force_alpha: bool = true;
        /// Whether to learn the class probabilities; if false they are equal.
        fit_prior: bool = true;
        /// Prior probabilities of the classes; learned from the data unless given.
        class_prior: Option<Vec<f64>> = None, at_least(0.0);
        /// Minimum number of categories of a column: one number for all columns, or one for each.
        min_categories: Option<Vec<usize>> = None, at_least(1.0);
    }
}

/// A column with more levels than this is not a category, and its table would not fit anywhere.
const MOST_LEVELS: f64 = 1e6;

impl Estimator for CategoricalNB {
    type Model = CategoricalModel;

    const INFO: Info = Info {
        resume: true,
        sparse: false,
        categories: true,
        non_negative: true,
        exceptions: &[(Property::AnyScale, "values are category codes, so a column cannot be rescaled")],
        not_compared: Some("for categorical columns only"),
        ..Info::new(
            "naive_bayes",
            Task::Classification,
            "max_c ln p(c) + sum_j ln p(x_j | c),  p(t | c) = (n_cjt + alpha) / (n_c + alpha levels_j)",
            Passes::One,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, p, classes) = shape.sizes();
        1e-9 * (1e5 + n * p * (10.0 + 0.5 * classes))
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<CategoricalModel>> {
        let shape = data.shape();
        let classes = class_count("CategoricalNB", &shape)?;
        self.finish(reduce(ctx, data, &CountLevels { classes, cols: shape.cols })?)
    }

    fn learn_more(&self, model: &CategoricalModel, data: &dyn Source, ctx: &Ctx) -> Result<Fit<CategoricalModel>> {
        let shape = data.shape();
        let classes = model.counts.class.len();
        same_classes("CategoricalNB", classes, &shape)?;
        let sum = CountLevels { classes, cols: shape.cols };
        let mut counts = model.counts.clone();
        sum.merge(&mut counts, reduce(ctx, data, &sum)?);
        self.finish(counts)
    }
}

impl CategoricalNB {
    fn finish(&self, mut counts: LevelCounts) -> Result<Fit<CategoricalModel>> {
        let (k, p) = (counts.class.len(), counts.levels.len());
        let alpha = smoothing(self.alpha, self.force_alpha);
        let least = self.min_categories.as_deref().unwrap_or(&[1]);
        if least.len() != 1 && least.len() != p {
            return Err(Error::shape("min_categories", format!("one number or {p}"), least.len()));
        }
        let class_log_prior = log_priors("CategoricalNB", self.class_prior.as_ref(), self.fit_prior, &counts.class)?;
        let mut log_prob = Vec::with_capacity(p);
        for (j, table) in counts.levels.iter_mut().enumerate() {
            let levels = (table.len() / k).max(least[j % least.len()]);
            memory::check("CategoricalNB", &format!("min_categories={levels}"), &[levels, k], 2 * 8)?;
            table.resize(levels * k, 0.0);
            let totals: Vec<f64> = counts.class.iter().map(|count| (count + alpha * levels as f64).ln()).collect();
            if let Some(at) = table.iter().position(|count| count + alpha == 0.0) {
                return Err(unseen("CategoricalNB", j, &format!("level {}", at / k), at % k));
            }
            log_prob.push(table.iter().enumerate().map(|(at, count)| (count + alpha).ln() - totals[at % k]).collect());
        }
        let mut log = FitLog::exact(Default::default());
        if let Some(column) = counts.fraction {
            log.notes.push(format!(
                "column {column} has numbers with fractions, which were cut off to get codes; GaussianNB takes such \
                 numbers as they are"
            ));
        }
        Ok(Fit::new(CategoricalModel { counts, class_log_prior, log_prob }, log))
    }
}

/// Weight of each class, and of each level of each column within it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelCounts {
    pub class: Vec<f64>,
    /// For each column: levels x classes.
    pub levels: Vec<Vec<f64>>,
    /// The first column in which a fraction was cut off.
    pub fraction: Option<usize>,
}

struct CountLevels {
    classes: usize,
    cols: usize,
}

impl Reduce for CountLevels {
    type Stat = LevelCounts;

    fn zero(&self) -> LevelCounts {
        LevelCounts { class: vec![0.0; self.classes], levels: vec![Vec::new(); self.cols], fraction: None }
    }

    fn add(&self, stat: &mut LevelCounts, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        refuse_negative("CategoricalNB", &batch.x, batch.first)?;
        let k = self.classes;
        for (i, &class) in batch.y.codes().iter().enumerate() {
            let (class, weight) = (class as usize, batch.weight(i));
            // A row without weight does not make a level known.
            if weight == 0.0 {
                continue;
            }
            stat.class[class] += weight;
            let mut odd = None;
            batch.x.row(i).for_each(|j, value| {
                if value >= MOST_LEVELS {
                    odd.get_or_insert((j, value));
                    return;
                }
                if value.fract() != 0.0 {
                    stat.fraction = Some(stat.fraction.map_or(j, |first| first.min(j)));
                }
                let at = value as usize * k + class;
                let table = &mut stat.levels[j];
                if at >= table.len() {
                    table.resize((value as usize + 1) * k, 0.0);
                }
                table[at] += weight;
            });
            if let Some((j, value)) = odd {
                let problem =
                    format!("the value is {value}, but CategoricalNB takes codes 0, 1, 2, ... below {MOST_LEVELS}");
                return Err(Error::value(batch.first + i, j, problem)
                    .hint("encode categories as codes first, or use GaussianNB for numbers"));
            }
        }
        Ok(())
    }

    fn merge(&self, left: &mut LevelCounts, right: LevelCounts) {
        simd::add_scaled(1.0, &right.class, &mut left.class);
        left.fraction = left.fraction.into_iter().chain(right.fraction).min();
        for (left, right) in left.levels.iter_mut().zip(right.levels) {
            left.resize(left.len().max(right.len()), 0.0);
            simd::add_scaled(1.0, &right, left);
        }
    }
}

/// Log-probabilities of each level of each column in each class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CategoricalModel {
    /// What was counted, from which a later fit goes on.
    pub counts: LevelCounts,
    pub class_log_prior: Vec<f64>,
    /// For each column: levels x classes.
    pub log_prob: Vec<Vec<f64>>,
}

impl CategoricalModel {
    /// `ln p(level | class)` of column j, one row for each class.
    pub fn feature_log_prob(&self, j: usize) -> Matrix {
        let k = self.class_log_prior.len();
        Matrix::from_fn(k, self.log_prob[j].len() / k, |c, level| self.log_prob[j][level * k + c])
    }
}

impl Model for CategoricalModel {
    fn cols(&self) -> usize {
        self.log_prob.len()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Class, 1), (Output::Probability, self.class_log_prior.len())]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let k = self.class_log_prior.len();
        refuse_negative("CategoricalNB", x, 0)?;
        let mut joint = vec![0.0; x.rows() * k];
        for (row, joint) in x.iter().zip(joint.chunks_exact_mut(k)) {
            joint.copy_from_slice(&self.class_log_prior);
            row.for_each(|j, value| {
                let level = value as usize;
                if level < self.log_prob[j].len() / k {
                    simd::add_scaled(1.0, &self.log_prob[j][level * k..(level + 1) * k], joint);
                }
            });
        }
        posterior(&mut joint, k, output, out);
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let k = self.class_log_prior.len();
        let levels: Vec<i64> = self.log_prob.iter().map(|table| (table.len() / k) as i64).collect();
        vec![
            ("class_count_", (&self.counts.class).into()),
            ("class_log_prior_", (&self.class_log_prior).into()),
            ("n_categories_", levels.into()),
        ]
    }

    fn check(&self) -> Result<()> {
        let k = self.class_log_prior.len();
        let table_fits = |table: &Vec<f64>| k > 0 && !table.is_empty() && table.len().is_multiple_of(k);
        let fits = !self.log_prob.is_empty()
            && self.log_prob.iter().all(table_fits)
            && self.counts.class.len() == k
            && self.counts.levels.len() == self.log_prob.len()
            && self.counts.levels.iter().zip(&self.log_prob).all(|(counts, logs)| counts.len() == logs.len());
        if fits {
            Ok(())
        } else {
            Err(Error::shape("stored tables", format!("a multiple of {k} values each"), self.log_prob.len()))
        }
    }
}
