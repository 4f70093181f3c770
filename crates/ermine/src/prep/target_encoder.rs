//! Every category becomes the mean target of its rows, drawn towards the overall mean where they are few (Micci-Barreca
//! 2001): `e_c = l m_c + (1 - l) m`, `l = n_c V / (n_c V + v_c)` with v_c the variance of the target within the
//! category and V the overall one (`smooth` auto), or `l = n_c / (n_c + smooth)`.
//!
//! Cross-fitting: the rows that the encoder is fitted on get encodings learned from the other folds, so that no row is
//! described by its own target; the fit hands these over as `transform`, and pipelines use them. New rows get the
//! encodings of all rows. With three or more classes there is one column for each class.

use super::{
    columns::{column_values, name_of},
    levels::{self, find},
    one_hot_encoder::categories_attribute,
};
use crate::{
    Array, Certificate, Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Model, Output, Passes, Result, Source,
    Target, Task, X,
    core::{choice, param::at_least, params},
    engine::folds,
    split::{Fold, Folds},
};
use serde::{Deserialize, Serialize};

choice! {
    /// Smoothing towards the overall mean.
    pub enum Smooth: f64 where at_least(0.0) => {
        /// By the variances within and between.
        Auto = "auto",
    }
}

params! {
    /// Encodes categories by the mean target of their rows, cross-fitted so that no row sees its own target.
    pub struct TargetEncoder {
        /// Smoothing towards the overall mean: auto, or a number of rows.
        smooth: Smooth = Smooth::Auto;
        /// Number of folds for cross-fitting.
        cv: usize = 5, at_least(2.0);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetModel {
    pub categories: Vec<Vec<f64>>,
    /// Encoding of each category: for every column, categories x targets.
    pub encodings: Vec<Matrix>,
    pub target_mean: Vec<f64>,
}

impl Estimator for TargetEncoder {
    type Model = TargetModel;

    const INFO: Info = Info {
        supervised: true,
        missing: true,
        categories: true,
        weights: false,
        random: true,
        ..Info::new(
            "preprocessing",
            Task::Transformation,
            "z_j = l mean(y | x_j) + (1 - l) mean(y)",
            Passes::Memory("training rows are encoded without their own targets"),
        )
    };

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<TargetModel>> {
        let batch = data.in_memory("TargetEncoder", "training rows are encoded without their own targets")?;
        // Targets as numbers: 0 and 1 for two classes, one indicator for each of several.
        let y: Vec<Vec<f64>> = match batch.y {
            Target::Real { values, cols } => {
                (0..cols).map(|t| values.iter().skip(t).step_by(cols).copied().collect()).collect()
            }
            Target::Class { codes, classes } => {
                let of = |c: usize| codes.iter().map(|&code| f64::from(u8::from(code as usize == c))).collect();
                if classes == 2 { vec![of(1)] } else { (0..classes).map(of).collect() }
            }
            Target::None => return Err(Error::Data("TargetEncoder needs a target".into())),
        };
        let levels = levels::levels(data, ctx)?;
        let categories: Vec<Vec<f64>> =
            levels.into_iter().map(|column| column.into_iter().map(|l| l.0).collect()).collect();
        let rows = batch.rows();
        let codes: Vec<Vec<u32>> = ctx.map(categories.len(), |j| {
            let values = column_values(&batch.x, j);
            Ok(values.iter().map(|&value| find(&categories[j], value).unwrap_or(0) as u32).collect())
        })?;
        let all: Vec<usize> = (0..rows).collect();
        let target_mean = means(&y, &all);
        let sizes: Vec<usize> = categories.iter().map(Vec::len).collect();
        let encode = |rows: &[usize]| -> Result<Vec<Matrix>> {
            ctx.check()?;
            Ok((0..sizes.len()).map(|j| self.encodings(&codes[j], sizes[j], &y, rows)).collect())
        };
        let encodings = encode(&all)?;
        let mut fit = Fit::new(TargetModel { categories, encodings, target_mean }, FitLog::exact(Certificate::None));
        // Fewer rows than folds: nothing to cross.
        let folds = match folds::given(ctx, rows)? {
            Some(runs) => Ok(runs.into_iter().map(|run| Fold::of_run(rows, run)).collect()),
            None => Folds::usual(&batch.y, self.cv)
                .split(&batch, None, ctx.seed)
                .or_else(|_| Folds::KFold { n_splits: self.cv, shuffle: true }.split(&batch, None, ctx.seed)),
        };
        if let Ok(folds) = folds {
            let (cols, targets) = (codes.len(), y.len());
            let learned = ctx.map(folds.len(), |fold| encode(&folds[fold].train))?;
            let mut crossed = Matrix::zeros(rows, cols * targets);
            for (fold, learned) in folds.iter().zip(&learned) {
                for &row in &fold.test {
                    for j in 0..cols {
                        let place = &mut crossed.row_mut(row)[j * targets..(j + 1) * targets];
                        place.copy_from_slice(learned[j].row(codes[j][row] as usize));
                    }
                }
            }
            fit.rows.push(("transform", (&crossed).into()));
        }
        Ok(fit)
    }
}

fn means(y: &[Vec<f64>], rows: &[usize]) -> Vec<f64> {
    y.iter().map(|y| rows.iter().map(|&i| y[i]).sum::<f64>() / rows.len().max(1) as f64).collect()
}

impl TargetEncoder {
    fn encodings(&self, codes: &[u32], levels: usize, y: &[Vec<f64>], rows: &[usize]) -> Matrix {
        let mut out = Matrix::zeros(levels, y.len());
        for (t, y) in y.iter().enumerate() {
            let mean = rows.iter().map(|&i| y[i]).sum::<f64>() / rows.len().max(1) as f64;
            let overall = rows.iter().map(|&i| (y[i] - mean).powi(2)).sum::<f64>() / rows.len().max(1) as f64;
            let (mut count, mut sum, mut within) = (vec![0.0; levels], vec![0.0; levels], vec![0.0; levels]);
            for &i in rows {
                count[codes[i] as usize] += 1.0;
                sum[codes[i] as usize] += y[i];
            }
            for &i in rows {
                let c = codes[i] as usize;
                within[c] += (y[i] - sum[c] / count[c]).powi(2);
            }
            for c in 0..levels {
                out[(c, t)] = if count[c] == 0.0 {
                    mean
                } else {
                    match self.smooth {
                        Smooth::Auto => {
                            let share = overall * count[c] / (overall * count[c] + within[c] / count[c]);
                            if share.is_nan() { mean } else { share * sum[c] / count[c] + (1.0 - share) * mean }
                        }
                        Smooth::Number(smooth) => (sum[c] + smooth * mean) / (count[c] + smooth),
                    }
                };
            }
        }
        out
    }
}

impl Model for TargetModel {
    fn cols(&self) -> usize {
        self.categories.len()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Transform, self.categories.len() * self.target_mean.len())]
    }

    fn predict(&self, x: &X, _: Output, out: &mut [f64]) -> Result<()> {
        let (cols, targets) = (self.categories.len(), self.target_mean.len());
        let mut dense = vec![0.0; cols];
        for (row, out) in x.iter().zip(out.chunks_exact_mut(cols * targets)) {
            super::columns::fill(&row, &mut dense);
            for j in 0..cols {
                let known = find(&self.categories[j], dense[j]).map(|c| self.encodings[j].row(c));
                out[j * targets..(j + 1) * targets].copy_from_slice(known.unwrap_or(&self.target_mean));
            }
        }
        Ok(())
    }

    fn feature_names(&self, input: &[String]) -> Option<Vec<String>> {
        let targets = self.target_mean.len();
        let name = |j: usize, t: usize| {
            let name = name_of(input, j);
            if targets == 1 { format!("mean target of {name}") } else { format!("share of class {t} in {name}") }
        };
        Some((0..self.categories.len()).flat_map(|j| (0..targets).map(move |t| name(j, t))).collect())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let encodings: Vec<f64> = self.encodings.iter().flat_map(|matrix| matrix.values.iter().copied()).collect();
        let mut all = categories_attribute(&self.categories);
        all.extend([("encodings_", (&encodings).into()), ("target_mean_", (&self.target_mean).into())]);
        all
    }

    fn check(&self) -> Result<()> {
        levels::check(&self.categories)?;
        let fits = |(levels, encoding): (&Vec<f64>, &Matrix)| {
            encoding.is_consistent() && encoding.rows == levels.len() && encoding.cols == self.target_mean.len()
        };
        let same = self.categories.len() == self.encodings.len() && !self.target_mean.is_empty();
        if same && self.categories.iter().zip(&self.encodings).all(fits) {
            return Ok(());
        }
        Err(Error::Data("the stored encoder is inconsistent".into()))
    }
}
