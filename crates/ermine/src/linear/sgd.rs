//! What the models fitted by stochastic gradients share: their state, their prediction, and one descent for each class.

use super::model::{check_linear, coef_array, scores};
use crate::{
    Array, Certificate, Ctx, Error, Fit, FitLog, Halt, Matrix, Model, Output, Passes, Result, Shape, Source, X,
    core::{
        TargetKind,
        ctx::all_gather,
        data::{Batch, Row},
        simd,
    },
    engine::{
        loss::Loss,
        minibatch::Spread,
        sgd::{Descent, LearningRate, Rows, Sgd, State},
    },
    linear::logistic_regression::first_largest,
};
use serde::{Deserialize, Serialize};

/// Linear scores with where their descents stand, so that they can go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SgdModel {
    /// One row for a number or two classes, one for each class otherwise.
    pub coef: Matrix,
    pub intercept: Vec<f64>,
    /// 0 for a number.
    pub classes: usize,
    pub loss: Loss,
    pub states: Vec<State>,
}

/// Fits, or goes on from, `before`, for at most `limit` passes.
pub fn descend(
    sgd: &Sgd,
    name: &str,
    before: Option<&SgdModel>,
    limit: usize,
    data: &dyn Source,
    ctx: &Ctx,
) -> Result<Fit<SgdModel>> {
    // A row at a time is for one worker, minibatches are sums.
    let batch = match sgd.batch_size {
        1 => data.in_memory(name, WHY)?,
        _ => data.share_in_memory(name, WHY)?,
    };
    let (classes, outputs) = match data.shape().target {
        TargetKind::Class(2) => (2, 1),
        TargetKind::Class(classes) => (classes, classes),
        _ => (0, 1),
    };
    if let Some(before) = before.filter(|before| before.classes != classes) {
        let found = format!("{classes} classes, but the model was fitted with {}", before.classes);
        return Err(Error::shape("target", format!("{} classes", before.classes), found));
    }
    let constant = f64::from(u8::from(sgd.fit_intercept));
    let norms2 = ctx.map(batch.rows().div_ceil(BLOCK), |block| {
        let x = batch.x.slice(block * BLOCK..((block + 1) * BLOCK).min(batch.rows()));
        x.check_finite(batch.first + block * BLOCK)?;
        Ok(x.iter().map(|row| row.norm2() + constant).collect::<Vec<f64>>())
    });
    let checked = norms2.as_ref().map_err(Clone::clone).and_then(|_| Spread::new(data));
    all_gather(ctx.exchange(), checked.as_ref().map(drop).map_err(Clone::clone))?;
    let (norms2, spread) = (norms2?.concat(), checked?);
    // Descents of several classes run side by side: their steps would be mixed up.
    let ctx = &if outputs > 1 { ctx.clone().without_trace() } else { ctx.clone() };
    let own = |class: usize| -> Result<Descent> {
        let y: Vec<f64> = match classes {
            0 => batch.y.real().to_vec(),
            2 => batch.y.codes().iter().map(|&code| f64::from(code)).collect(),
            _ => batch.y.codes().iter().map(|&code| f64::from(u8::from(code as usize == class))).collect(),
        };
        let rows = Rows { x: batch.x, y: &y, weights: batch.weights, norms2: &norms2 };
        let state = before.map_or_else(|| State::new(batch.x.cols()), |before| before.states[class].clone());
        match sgd.batch_size {
            1 => sgd.run(&rows, state, ctx, limit),
            _ => sgd.run_minibatches(&rows, &spread, state, ctx, limit),
        }
    };
    // Workers meet at every step, so that all must be at the same one.
    let descents: Vec<Descent> = match ctx.exchange().size() {
        1 => ctx.map(outputs, own)?,
        _ => (0..outputs).map(own).collect::<Result<_>>()?,
    };
    let mut coef = Matrix::zeros(outputs, batch.x.cols());
    let mut intercept = vec![0.0; outputs];
    for (class, descent) in descents.iter().enumerate() {
        let (w, b) = descent.state.result();
        if !b.is_finite() || !simd::all_finite(&w) {
            return Err(Error::Diverged(format!("{name}: the weights are no longer finite"))
                .hint("scale the columns, or use a smaller eta0"));
        }
        coef.row_mut(class).copy_from_slice(&w);
        intercept[class] = b;
    }
    let passes = descents.iter().map(|descent| descent.losses.len()).max().unwrap_or(0);
    // Sum over the classes; one that stopped counts with its last pass.
    let total = |pass: usize| -> f64 {
        descents.iter().map(|descent| descent.losses[pass.min(descent.losses.len() - 1)]).sum()
    };
    // The worst of the classes speaks for all.
    let unmet = if sgd.tol.is_none() { Halt::Passes } else { Halt::MaxIter };
    let ends: Vec<Halt> = descents.iter().map(|descent| descent.halt.unwrap_or(unmet)).collect();
    let order = [Halt::MaxIter, Halt::Passes, Halt::TooSlow, Halt::Stalled, Halt::EarlyStopping];
    let halt = order.into_iter().find(|halt| ends.contains(halt)).unwrap_or(Halt::Settled);
    let mut log = FitLog::ended(passes, (0..passes).map(total).collect(), halt, Certificate::None);
    let shortened: usize = descents.iter().map(|descent| descent.shortened).sum();
    if shortened > 0 && sgd.rate != LearningRate::Optimal {
        log.notes.push(format!(
            "{shortened} steps were shortened: longer ones than 1 / (curvature |x|^2) overshoot on their own row"
        ));
    }
    if sgd.loss == Loss::Perceptron {
        let mistakes = |pass: usize| -> usize {
            descents.iter().map(|descent| descent.mistakes.get(pass).copied().unwrap_or(0)).sum()
        };
        log.objective = (0..passes).map(|pass| mistakes(pass) as f64).collect();
        log.notes.push(verdict(&batch, &coef, &intercept, &descents));
    }
    let states = descents.into_iter().map(|descent| descent.state).collect();
    Ok(Fit::new(SgdModel { coef, intercept, classes, loss: sgd.loss, states }, log))
}

/// Rows that are checked and measured together.
const BLOCK: usize = 4096;

pub const WHY: &str = "rows are visited one at a time in random order; with batch_size above 1 workers can share them";

/// What is demanded of the rows at this size of minibatches.
pub fn passes(batch_size: usize) -> Passes {
    if batch_size == 1 { Passes::Memory(WHY) } else { Passes::Shares("rows are visited in random order") }
}

/// Whether the perceptron separated the rows, and what Novikoff's theorem then promises.
fn verdict(batch: &Batch, coef: &Matrix, intercept: &[f64], descents: &[Descent]) -> String {
    let separated = descents.iter().all(|descent| descent.mistakes.last() == Some(&0));
    let total: usize = descents.iter().flat_map(|descent| &descent.mistakes).sum();
    if !separated {
        let last: usize = descents.iter().filter_map(|descent| descent.mistakes.last()).sum();
        return format!("not separated: {last} mistakes in the last pass, {total} in all");
    }
    if coef.rows > 1 {
        return format!("every class is separated from the others, after {total} mistakes");
    }
    let w = coef.row(0);
    let length = (simd::dot(w, w) + intercept[0] * intercept[0]).sqrt();
    let (mut margin, mut radius2) = (f64::INFINITY, 0.0f64);
    for (i, &code) in batch.y.codes().iter().enumerate() {
        let row: Row = batch.x.row(i);
        let sign = 2.0 * f64::from(code) - 1.0;
        margin = margin.min(sign * (row.dot(w) + intercept[0]) / length);
        radius2 = radius2.max(row.norm2() + 1.0);
    }
    let bound = radius2 / (margin * margin);
    format!(
        "separated after {total} mistakes with margin {margin:.3e}; with it the theorem allows at most (R/margin)^2 = \
         {bound:.3e}"
    )
}

impl Model for SgdModel {
    fn cols(&self) -> usize {
        self.coef.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        if self.classes == 0 {
            return vec![(Output::Value, 1)];
        }
        let mut outputs = vec![(Output::Class, 1), (Output::Decision, self.coef.rows)];
        if matches!(self.loss, Loss::Logistic | Loss::ModifiedHuber) {
            outputs.push((Output::Probability, self.classes));
        }
        outputs
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        if matches!(output, Output::Value | Output::Decision) {
            scores(x, &self.coef, &self.intercept, out);
            return Ok(());
        }
        let k = self.coef.rows;
        let mut raw = vec![0.0; x.rows() * k];
        scores(x, &self.coef, &self.intercept, &mut raw);
        for (i, s) in raw.chunks_exact(k).enumerate() {
            if output == Output::Class {
                out[i] = if k == 1 { f64::from(u8::from(s[0] > 0.0)) } else { first_largest(s) as f64 };
                continue;
            }
            let own = |s: f64| match self.loss {
                Loss::ModifiedHuber => (s.clamp(-1.0, 1.0) + 1.0) / 2.0,
                _ => simd::sigmoid(s),
            };
            let out = &mut out[i * self.classes..(i + 1) * self.classes];
            if k == 1 {
                (out[1], out[0]) = (own(s[0]), own(-s[0]));
                continue;
            }
            out.iter_mut().zip(s).for_each(|(out, &s)| *out = own(s));
            let total: f64 = out.iter().sum();
            if total > 0.0 {
                out.iter_mut().for_each(|out| *out /= total);
            } else {
                // No class claims the row at all.
                out.fill(1.0 / self.classes as f64);
            }
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let t = self.states.first().map_or(0.0, |state| state.t);
        vec![
            ("coef_", coef_array(&self.coef, self.classes == 0)),
            ("intercept_", (&self.intercept).into()),
            ("t_", t.into()),
        ]
    }

    fn check(&self) -> Result<()> {
        check_linear(&self.coef, &self.intercept)?;
        let rows = if self.classes <= 2 { 1 } else { self.classes };
        let fits = |state: &State| {
            let p = self.coef.cols;
            state.w.len() == p
                && (state.sum.is_empty() || state.sum.len() == p)
                && (state.velocity.is_empty() || state.velocity.len() == p + 1)
        };
        let consistent = self.coef.rows == rows && self.states.len() == rows && self.states.iter().all(fits);
        if self.classes == 1 || !consistent {
            return Err(Error::shape("stored coefficients", format!("{rows} rows"), self.coef.rows));
        }
        Ok(())
    }
}

/// Nanoseconds of a descent for each class over so many epochs as it usually takes to its tolerance, more where an
/// epoch has few rows.
pub fn cost(shape: &Shape, epochs: usize, max_iter: usize) -> f64 {
    let (n, p, classes) = shape.sizes();
    let descents = if classes > 2.0 { classes } else { 1.0 };
    let epochs = (epochs as f64 + 1e4 / n).min(max_iter as f64);
    1e5 + epochs * descents * n * (10.0 + p)
}
