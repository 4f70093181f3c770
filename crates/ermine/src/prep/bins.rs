//! KBinsDiscretizer cuts every column into intervals; SplineTransformer spans it by smooth bumps. Both give linear
//! models a way to bend.
//!
//! Bins: edges at equal distances or at quantiles; a value lies in bin `|{inner edges <= x}|`. B-splines of degree d
//! over knots t (de Boor 1978): `B_{i,0} = 1[t_i <= x < t_{i+1}]`, `B_{i,d} = (x - t_i) / (t_{i+d} - t_i) B_{i,d-1} +
//! (t_{i+d+1} - x) / (t_{i+d+1} - t_{i+1}) B_{i+1,d-1}`; they are 0 or more and add up to 1. Outside the knots the
//! value at the end is kept.

use super::{
    columns::{column_values, fill, name_of},
    extremes::{Extremes, extremes},
};
use crate::{
    Array, Certificate, Ctx, Error, Estimator, Fit, FitLog, Info, Model, Numbers, Output, OwnedCsr, Passes, Result,
    Source, Task, X,
    core::{choice, memory, param::at_least, params, reduce},
    engine::quantile,
};
use serde::{Deserialize, Serialize};

choice! {
    /// How the bin edges are chosen.
    pub enum Cuts {
        /// At equal distances.
        Uniform = "uniform",
        /// At quantiles, for equal numbers of rows.
        Quantile = "quantile",
    }
}

choice! {
    /// How bins are encoded.
    pub enum Encode {
        /// A column of 0 and 1 for each bin, sparse where that is taken.
        Onehot = "onehot",
        /// A column of 0 and 1 for each bin.
        OnehotDense = "onehot-dense",
        /// The number of the bin.
        Ordinal = "ordinal",
    }
}

params! {
    /// Cuts each column into bins.
    pub struct KBinsDiscretizer {
        /// Number of bins.
        n_bins: usize = 5, at_least(2.0);
        /// How bins are encoded.
        encode: Encode = Encode::Onehot;
        /// How the bin edges are chosen.
        strategy: Cuts = Cuts::Quantile;
    }
}

params! {
    /// B-spline basis functions of each column, so that linear models can fit curves.
    pub struct SplineTransformer {
        /// Number of knots of each column.
        n_knots: usize = 5, at_least(2.0);
        /// Degree of the splines.
        degree: usize = 3, at_least(0.0);
        /// How the knots are placed.
        knots: Cuts = Cuts::Uniform;
        /// Whether to keep the last basis function of each column, which is redundant if there is an intercept.
        include_bias: bool = true;
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BinsModel {
    /// Edges of every column, both ends included.
    pub edges: Vec<Vec<f64>>,
    pub encode: Encode,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SplineModel {
    /// Knots of every column, `degree` more on each side.
    pub knots: Vec<Vec<f64>>,
    pub degree: usize,
    pub include_bias: bool,
}

const SORTED: &str = "quantiles need sorted columns";

impl Cuts {
    fn passes(self) -> Passes {
        match self {
            Cuts::Uniform => Passes::One,
            Cuts::Quantile => Passes::Memory(SORTED),
        }
    }
}

/// `count` cuts of every column from its least to its greatest value.
fn cuts(data: &dyn Source, ctx: &Ctx, name: &str, strategy: Cuts, count: usize) -> Result<Vec<Vec<f64>>> {
    let cols = data.shape().cols;
    memory::check(name, &format!("{count} cuts of each column"), &[count, cols], 2 * 8)?;
    if strategy == Cuts::Uniform {
        let (low, high) = extremes(reduce(ctx, data, &Extremes { cols })?);
        let of_column = |j: usize| -> Result<Vec<f64>> {
            ctx.check()?;
            let at = |i: usize| {
                if i + 1 == count { high[j] } else { low[j] + (high[j] - low[j]) * i as f64 / (count - 1) as f64 }
            };
            Ok((0..count).map(at).collect())
        };
        return (0..cols).map(of_column).collect();
    }
    let batch = data.in_memory(name, SORTED)?;
    batch.x.check_finite(0)?;
    let of_column = |j: usize| -> Result<Vec<f64>> {
        ctx.check()?;
        let values = quantile::Weighted::new(&column_values(&batch.x, j), batch.weights);
        let at = |i: usize| {
            if i.is_multiple_of(1 << 14) {
                ctx.check()?;
            }
            Ok(values.at(i as f64 / (count - 1) as f64))
        };
        (0..count).map(at).collect()
    };
    ctx.map(cols, of_column)
}

impl Estimator for KBinsDiscretizer {
    type Model = BinsModel;
    const INFO: Info =
        Info::new("preprocessing", Task::Transformation, "z_jb = 1[e_jb <= x_j < e_j(b+1)]", Passes::Memory(SORTED));

    fn passes(&self) -> Passes {
        self.strategy.passes()
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<BinsModel>> {
        let mut log = FitLog::exact(Certificate::None);
        let mut edges = cuts(data, ctx, "KBinsDiscretizer", self.strategy, self.n_bins.saturating_add(1))?;
        for (j, edges) in edges.iter_mut().enumerate() {
            ctx.check()?;
            if edges[0] == edges[self.n_bins] {
                log.notes.push(format!("column {j} is constant and has one bin"));
                *edges = vec![f64::NEG_INFINITY, f64::INFINITY];
                continue;
            }
            // Bins that hold nothing are joined; edges at rounding distance are one.
            let scale = edges[self.n_bins].abs().max(edges[0].abs());
            let mut kept = vec![edges[0]];
            kept.extend(
                edges[1..]
                    .iter()
                    .copied()
                    .scan(edges[0], |last, edge| {
                        let apart = edge - *last > 1e-12 * scale;
                        *last = if apart { edge } else { *last };
                        Some(apart.then_some(edge))
                    })
                    .flatten(),
            );
            *edges = if kept.len() < 2 { vec![f64::NEG_INFINITY, f64::INFINITY] } else { kept };
        }
        Ok(Fit::new(BinsModel { edges, encode: self.encode }, log))
    }
}

impl BinsModel {
    fn bin(&self, j: usize, x: f64) -> usize {
        let edges = &self.edges[j];
        edges[1..edges.len() - 1].partition_point(|edge| *edge <= x)
    }

    fn bins(&self) -> impl Iterator<Item = usize> + '_ {
        self.edges.iter().map(|edges| edges.len() - 1)
    }
}

impl Model for BinsModel {
    fn cols(&self) -> usize {
        self.edges.len()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        match self.encode {
            Encode::Ordinal => vec![(Output::Transform, self.edges.len()), (Output::Inverse, self.edges.len())],
            _ => vec![(Output::Transform, self.bins().sum())],
        }
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let (cols, width) = (self.edges.len(), self.outputs()[0].1);
        let mut dense = vec![0.0; cols];
        out.fill(0.0);
        for (row, out) in x.iter().zip(out.chunks_exact_mut(width)) {
            fill(&row, &mut dense);
            let mut start = 0;
            for j in 0..cols {
                let edges = &self.edges[j];
                if output == Output::Inverse {
                    let b = (dense[j].max(0.0) as usize).min(edges.len() - 2);
                    out[j] = 0.5 * (edges[b] + edges[b + 1]);
                } else if self.encode == Encode::Ordinal {
                    out[j] = self.bin(j, dense[j]) as f64;
                } else {
                    out[start + self.bin(j, dense[j])] = 1.0;
                    start += edges.len() - 1;
                }
            }
        }
        Ok(())
    }

    fn transform_sparse(&self, x: &X) -> Result<Option<OwnedCsr>> {
        if self.encode != Encode::Onehot {
            return Ok(None);
        }
        let mut out = OwnedCsr::new(self.bins().sum());
        let mut dense = vec![0.0; self.edges.len()];
        for row in x.iter() {
            fill(&row, &mut dense);
            let mut start = 0;
            for (j, bins) in self.bins().enumerate() {
                out.push(start + self.bin(j, dense[j]), 1.0);
                start += bins;
            }
            out.end_row();
        }
        Ok(Some(out))
    }

    fn feature_names(&self, input: &[String]) -> Option<Vec<String>> {
        if self.encode == Encode::Ordinal {
            return Some(input.to_vec());
        }
        let name =
            |j: usize, b: usize| format!("{} in [{}, {})", name_of(input, j), self.edges[j][b], self.edges[j][b + 1]);
        Some((0..self.edges.len()).flat_map(|j| (0..self.edges[j].len() - 1).map(move |b| name(j, b))).collect())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let counts: Vec<i64> = self.bins().map(|bins| bins as i64).collect();
        let edges = self.edges.concat();
        vec![
            ("n_bins_", counts.into()),
            ("bin_edges_", Array { shape: vec![edges.len()], values: Numbers::Float(edges) }),
        ]
    }

    fn check(&self) -> Result<()> {
        let rising = |edges: &Vec<f64>| edges.len() >= 2 && edges.windows(2).all(|pair| pair[0] < pair[1]);
        if !self.edges.is_empty() && self.edges.iter().all(rising) {
            return Ok(());
        }
        Err(Error::Data("the stored bins are inconsistent".into()))
    }
}

impl Estimator for SplineTransformer {
    type Model = SplineModel;
    const INFO: Info = Info::new("preprocessing", Task::Transformation, "z_jk = B_k(x_j)", Passes::One);

    fn passes(&self) -> Passes {
        self.knots.passes()
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<SplineModel>> {
        if self.degree > 64 {
            let allowed = "at most 64".into();
            let name = "degree".into();
            return Err(Error::Parameter {
                model: "SplineTransformer".into(),
                name,
                value: self.degree.to_string(),
                allowed,
            });
        }
        let extend = |mut base: Vec<f64>| {
            ctx.check()?;
            base.dedup();
            if base.len() < 2 {
                base = vec![base[0], base[0] + 1.0];
            }
            let last = base.len() - 1;
            let (first_step, last_step) = (base[1] - base[0], base[last] - base[last - 1]);
            let before = (1..=self.degree).rev().map(|i| base[0] - first_step * i as f64);
            let after = (1..=self.degree).map(|i| base[last] + last_step * i as f64);
            Ok(before.chain(base.iter().copied()).chain(after).collect::<Vec<f64>>())
        };
        let base = cuts(data, ctx, "SplineTransformer", self.knots, self.n_knots)?;
        let model = SplineModel {
            knots: base.into_iter().map(extend).collect::<Result<_>>()?,
            degree: self.degree,
            include_bias: self.include_bias,
        };
        if model.outputs()[0].1 == 0 {
            return Err(Error::Data(
                "SplineTransformer: one piece of degree 0 without its bump makes no features".into(),
            ));
        }
        Ok(Fit::new(model, FitLog::exact(Certificate::None)))
    }
}

impl SplineModel {
    fn bumps(&self, j: usize) -> usize {
        self.knots[j].len() - self.degree - 1
    }

    fn width(&self, j: usize) -> usize {
        self.bumps(j) - usize::from(!self.include_bias)
    }

    /// The bumps that are not zero at x: number of the first, and `degree + 1` values.
    fn evaluate(&self, j: usize, x: f64, values: &mut [f64]) -> usize {
        let (t, d) = (&self.knots[j], self.degree);
        let last = t.len() - d - 1;
        let x = x.clamp(t[d], t[last]);
        // Piece t[at] <= x < t[at + 1], the last one closed.
        let at = (t[d..last].partition_point(|knot| *knot <= x) + d - 1).max(d);
        values.fill(0.0);
        values[0] = 1.0;
        for degree in 1..=d {
            let mut saved = 0.0;
            for r in 0..degree {
                let (right, left) = (t[at + r + 1], t[at + 1 + r - degree]);
                let share = if right > left { values[r] / (right - left) } else { 0.0 };
                values[r] = saved + (right - x) * share;
                saved = (x - left) * share;
            }
            values[degree] = saved;
        }
        at - d
    }
}

impl Model for SplineModel {
    fn cols(&self) -> usize {
        self.knots.len()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Transform, (0..self.knots.len()).map(|j| self.width(j)).sum())]
    }

    fn predict(&self, x: &X, _: Output, out: &mut [f64]) -> Result<()> {
        let width = self.outputs()[0].1;
        let (mut dense, mut values) = (vec![0.0; self.knots.len()], vec![0.0; self.degree + 1]);
        out.fill(0.0);
        for (row, out) in x.iter().zip(out.chunks_exact_mut(width)) {
            fill(&row, &mut dense);
            let mut start = 0;
            for (j, &x) in dense.iter().enumerate() {
                let first = self.evaluate(j, x, &mut values);
                for (k, &value) in values.iter().enumerate() {
                    if first + k < self.width(j) {
                        out[start + first + k] = value;
                    }
                }
                start += self.width(j);
            }
        }
        Ok(())
    }

    fn feature_names(&self, input: &[String]) -> Option<Vec<String>> {
        let name = |j: usize, k: usize| format!("{} sp{k}", name_of(input, j));
        Some((0..self.knots.len()).flat_map(|j| (0..self.width(j)).map(move |k| name(j, k))).collect())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let knots = self.knots.concat();
        vec![("knots_", Array { shape: vec![knots.len()], values: Numbers::Float(knots) })]
    }

    fn check(&self) -> Result<()> {
        let fits = |knots: &Vec<f64>| {
            knots.len() >= 2 * self.degree + 2
                && knots.windows(2).all(|pair| pair[0] <= pair[1])
                && knots[self.degree] < knots[knots.len() - self.degree - 1]
        };
        if self.degree <= 64 && !self.knots.is_empty() && self.knots.iter().all(fits) {
            return Ok(());
        }
        Err(Error::Data("the stored knots are inconsistent".into()))
    }
}
