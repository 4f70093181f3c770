//! A feed-forward network: layers, their forward pass, and the gradient by backpropagation.
//!
//! Rows a_0 = x go through L layers. With weights W_l, biases b_l and an activation f,
//!
//! ```text
//! z_l = a_{l-1} W_l + b_l         a_l = f(z_l) for l < L         s = z_L, the scores
//! ```
//!
//! and the head says what the scores mean and what they cost, loss(y, s). With delta_l = d loss / d z_l the chain rule
//! reads
//!
//! ```text
//! delta_L     = d loss / d s
//! delta_{l-1} = (delta_l W_l') * f'(z_{l-1})                     element by element
//! d / d W_l   = a_{l-1}' delta_l            d / d b_l = sum over rows of delta_l
//! ```
//!
//! (Rumelhart, Hinton and Williams 1986). Every step is a matrix product over the rows of a block. All weights lie in
//! one vector, layer by layer, and the gradient in another of the same order, so that optimisers need not know of
//! layers.
//!
//! Normalised hidden layers put u = g (z - mean) / sqrt(var + 1e-5) + b in the place of z, with mean and variance over
//! the rows of the block (Ioffe and Szegedy 2015; by fixed small blocks, Hoffer, Hubara and Soudry 2017), and running
//! averages of them when predicting. Dropout keeps a unit of a hidden layer with probability q and divides it by q
//! (Srivastava et al. 2014).
//!
//! Cost: about 6 flops a weight and row for a step, 2 for a prediction. It does no convolutions, recurrence or
//! attention.

use crate::{
    Error, Result, X,
    core::{
        choice,
        linalg::{View, multiply},
        rng::Stream,
        simd,
    },
    engine::loss::{Loss, PointLoss},
};
use serde::{Deserialize, Serialize};
use std::ops::Range;

choice! {
    /// Activation function of the hidden layers.
    pub enum Activation {
        /// max(0, z)
        Relu = "relu",
        /// z, or z / 100 below zero
        LeakyRelu = "leaky_relu",
        /// 1 / (1 + e^-z)
        Logistic = "logistic",
        Tanh = "tanh",
        /// ln(1 + e^z)
        Softplus = "softplus",
        /// z times the normal distribution function, in the form with tanh (Hendrycks and Gimpel 2016)
        Gelu = "gelu",
        Identity = "identity",
    }
}

choice! {
    /// Initialisation of the weights.
    pub enum Init {
        /// Uniform with variance 2 / (inputs + outputs), for activations that are straight at zero (Glorot and Bengio
        /// 2010).
        Glorot = "glorot",
        /// Uniform with variance 2 / inputs, for those that cut half of their input off (He et al. 2015).
        He = "he",
    }
}

/// What the scores mean, and what they cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Head {
    /// A score for each class, softmax, cross-entropy.
    Softmax,
    /// A loss of each score by itself: squared, Huber, Poisson, or logistic for two classes.
    Each(Loss),
    /// A yes or no for each label: the logistic loss of each score.
    Labels,
}

/// The shape of a network; its weights live elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// Width of each layer, the inputs first and the scores last.
    pub sizes: Vec<usize>,
    pub activation: Activation,
    pub head: Head,
    /// Whether hidden layers are normalised.
    pub norm: bool,
}

/// Where a layer's numbers lie in the vector of all weights.
#[derive(Clone, Debug)]
pub struct LayerSlices {
    /// Inputs x outputs, row-major.
    pub weights: Range<usize>,
    pub bias: Range<usize>,
    /// Of a normalised layer, empty otherwise.
    pub gain: Range<usize>,
    /// Means, then variances, in the vector of running averages.
    pub running: Range<usize>,
    pub inputs: usize,
    pub outputs: usize,
}

const VARIANCE_FLOOR: f64 = 1e-5;

impl Network {
    pub fn parts(&self) -> Vec<LayerSlices> {
        let (mut at, mut running) = (0, 0);
        let mut next = |length: usize| {
            at += length;
            at - length..at
        };
        let layers = self.sizes.len() - 1;
        (0..layers)
            .map(|l| {
                let (inputs, outputs) = (self.sizes[l], self.sizes[l + 1]);
                let normal = if self.norm && l + 1 < layers { outputs } else { 0 };
                running += 2 * normal;
                LayerSlices {
                    weights: next(inputs * outputs),
                    bias: next(outputs),
                    gain: next(normal),
                    running: running - 2 * normal..running,
                    inputs,
                    outputs,
                }
            })
            .collect()
    }

    /// How many weights there are in all; `None` when they cannot be counted.
    pub fn count(&self) -> Option<usize> {
        let mut total: usize = 0;
        let layers = self.sizes.len().checked_sub(1)?;
        for l in 0..layers {
            let rows = self.sizes[l].checked_add(if self.norm && l + 1 < layers { 2 } else { 1 })?;
            total = total.checked_add(rows.checked_mul(self.sizes[l + 1])?)?;
        }
        Some(total)
    }

    pub fn running_len(&self) -> usize {
        let hidden = self.sizes.len().saturating_sub(2);
        if self.norm { 2 * self.sizes.iter().skip(1).take(hidden).sum::<usize>() } else { 0 }
    }

    pub fn outputs(&self) -> usize {
        *self.sizes.last().unwrap_or(&0)
    }

    /// Random weights and biases, gains of one.
    pub fn start(&self, init: Init, mut stream: impl FnMut(usize) -> Stream) -> Vec<f64> {
        let parts = self.parts();
        let mut all = vec![0.0; parts.last().map_or(0, |part| part.gain.end)];
        for (l, part) in parts.iter().enumerate() {
            let mut rng = stream(l);
            // A sigmoid has a quarter of the slope of tanh, and scikit-learn starts it narrower.
            let numerator = if self.activation == Activation::Logistic { 2.0 } else { 6.0 };
            let bound = match init {
                Init::Glorot => (numerator / (part.inputs + part.outputs) as f64).sqrt(),
                Init::He => (numerator / part.inputs as f64).sqrt(),
            };
            for value in &mut all[part.weights.start..part.bias.end] {
                *value = bound * (2.0 * rng.uniform() - 1.0);
            }
            all[part.gain.clone()].fill(1.0);
        }
        all
    }

    /// The sum of squares of what the L2 penalty shrinks: weights, but neither biases nor gains.
    pub fn penalised(&self, weights: &[f64]) -> f64 {
        self.parts().iter().map(|part| simd::dot(&weights[part.weights.clone()], &weights[part.weights.clone()])).sum()
    }

    /// Scores of rows, row-major. `running` holds the averages of normalised layers.
    pub fn scores(&self, weights: &[f64], running: &[f64], x: &X, out: &mut [f64]) {
        let parts = self.parts();
        let (rows, last) = (x.rows(), parts.len() - 1);
        let widest = parts[..last].iter().map(|part| part.outputs).max().unwrap_or(0);
        let (mut a, mut next) = (vec![0.0; rows * widest], vec![0.0; rows * widest]);
        for (l, part) in parts.iter().enumerate() {
            let z = if l == last { &mut out[..rows * part.outputs] } else { &mut next[..rows * part.outputs] };
            if l == 0 {
                x.times_matrix(&weights[part.weights.clone()], part.outputs, z);
            } else {
                let inputs = View::rows(&a, rows, part.inputs);
                multiply(inputs, View::rows(&weights[part.weights.clone()], part.inputs, part.outputs), 0.0, z);
            }
            let bias = &weights[part.bias.clone()];
            if part.gain.is_empty() {
                add_bias(z, bias);
            } else {
                let (means, variances) = running[part.running.clone()].split_at(part.outputs);
                let gain = &weights[part.gain.clone()];
                for z in z.chunks_exact_mut(part.outputs) {
                    for j in 0..part.outputs {
                        z[j] = gain[j] * (z[j] - means[j]) / (variances[j] + VARIANCE_FLOOR).sqrt() + bias[j];
                    }
                }
            }
            if l < last {
                self.activation.values(z);
                std::mem::swap(&mut a, &mut next);
            }
        }
    }

    /// What one row of a block costs, in flops.
    pub fn work(&self) -> usize {
        self.count().unwrap_or(0).saturating_mul(6)
    }

    /// Numbers of a block's statistic: the gradient, sums of means and variances, then loss, weight and rows.
    pub fn stat_len(&self) -> usize {
        self.count().unwrap_or(0) + self.running_len() + TAIL
    }

    /// Loss and gradient, summed over the rows of a block, into `space.stat`.
    pub fn learn(&self, weights: &[f64], rows: &Rows, dropout: Option<&Dropout>, space: &mut Space) -> Result<()> {
        space.fit(self, rows.len());
        self.forward(weights, &rows.x(), dropout, space);
        self.backward(weights, rows, space);
        Ok(())
    }

    fn forward(&self, weights: &[f64], x: &X, dropout: Option<&Dropout>, space: &mut Space) {
        let rows = x.rows();
        let last = space.parts.len() - 1;
        for (l, part) in space.parts.iter().enumerate() {
            let (before, here) = space.layers.split_at_mut(l);
            let Layer { a, slope, hat, scale, .. } = &mut here[0];
            let w = &weights[part.weights.clone()];
            match before.last() {
                None => x.times_matrix(w, part.outputs, a),
                Some(before) => {
                    multiply(View::rows(&before.a, rows, part.inputs), View::rows(w, part.inputs, part.outputs), 0.0, a)
                }
            }
            let bias = &weights[part.bias.clone()];
            if part.gain.is_empty() {
                add_bias(&mut a[..rows * part.outputs], bias);
            } else {
                let sums = self.count().unwrap_or(0) + part.running.start;
                let sums = &mut space.stat[sums..sums + 2 * part.outputs];
                normalise(&mut a[..rows * part.outputs], &weights[part.gain.clone()], bias, hat, scale, sums);
            }
            if l < last {
                self.activation.values_and_slopes(&mut a[..rows * part.outputs], &mut slope[..rows * part.outputs]);
                if let Some(dropout) = dropout {
                    dropout.apply(l, part.outputs, a, slope, rows);
                }
            }
        }
    }

    fn backward(&self, weights: &[f64], rows: &Rows, space: &mut Space) {
        let Space { parts, layers, stat, .. } = space;
        let (n, last) = (rows.len(), parts.len() - 1);
        let tail = stat.len() - TAIL;
        let Layer { a: scores, delta, .. } = &mut layers[last];
        let loss = self.head.loss(scores, rows, parts[last].outputs, delta);
        stat[tail..].copy_from_slice(&[loss, rows.weights.iter().sum(), n as f64]);
        for l in (0..parts.len()).rev() {
            let part = &parts[l];
            let (before, here) = layers.split_at_mut(l);
            let Layer { delta, hat, scale, .. } = &mut here[0];
            let delta = &mut delta[..n * part.outputs];
            sum_columns(delta, part.outputs, &mut stat[part.bias.clone()]);
            if !part.gain.is_empty() {
                let (front, gains) = stat.split_at_mut(part.gain.start);
                let gains = &mut gains[..part.outputs];
                through_normalisation(delta, hat, scale, &weights[part.gain.clone()], &front[part.bias.clone()], gains);
            }
            let deltas = View::rows(delta, n, part.outputs);
            let gradient = &mut stat[part.weights.clone()];
            match before.last_mut() {
                None => rows.transposed_times(delta, part.outputs, gradient),
                Some(Layer { a, slope, delta: delta_before, .. }) => {
                    multiply(View::rows(a, n, part.inputs).transposed(), deltas, 0.0, gradient);
                    let w = View::rows(&weights[part.weights.clone()], part.inputs, part.outputs);
                    let length = n * part.inputs;
                    multiply(deltas, w.transposed(), 0.0, &mut delta_before[..length]);
                    times(&mut delta_before[..length], &slope[..length]);
                }
            }
        }
    }

    /// Whether a network read from a file can be used.
    pub fn check(&self, weights: usize, running: usize) -> Result<()> {
        let consistent = self.sizes.len() >= 2
            && self.sizes.iter().all(|size| *size > 0)
            && self.count() == Some(weights)
            && self.running_len() == running;
        if consistent { Ok(()) } else { Err(Error::Data("the stored network is not consistent".into())) }
    }
}

/// Loss, weight and rows at the end of a statistic.
pub const TAIL: usize = 3;

/// Rows of one block, copied from wherever they lie. Sparse ones have starts and columns, dense ones a single start.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub cols: usize,
    pub values: Vec<f64>,
    pub starts: Vec<usize>,
    pub columns: Vec<u32>,
    /// Class code, or the real targets of a row.
    pub y: Vec<f64>,
    pub weights: Vec<f64>,
}

impl Rows {
    pub fn new(cols: usize) -> Self {
        Rows { cols, starts: vec![0], ..Rows::default() }
    }

    pub fn clear(&mut self) {
        self.values.clear();
        self.starts.truncate(1);
        self.columns.clear();
        self.y.clear();
        self.weights.clear();
    }

    pub fn len(&self) -> usize {
        self.weights.len()
    }

    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    pub fn push(&mut self, row: crate::core::Row, y: impl IntoIterator<Item = f64>, weight: f64) {
        match row {
            crate::core::Row::Dense(x) => self.values.extend_from_slice(x),
            crate::core::Row::Sparse { columns, values } => {
                self.columns.extend_from_slice(columns);
                self.values.extend_from_slice(values);
                self.starts.push(self.values.len());
            }
        }
        self.y.extend(y);
        self.weights.push(weight);
    }

    /// Dense rows that are mostly zeros (pixels, one-hot columns) become sparse, which makes a step cheaper.
    pub fn thin_out(&mut self) {
        let stored = self.values.iter().filter(|value| **value != 0.0).count();
        if self.starts.len() > 1 || 3 * stored > self.values.len() {
            return;
        }
        // Every value is written where the next one that counts goes: no branch to guess.
        self.columns.resize(self.values.len(), 0);
        let mut to = 0;
        for i in 0..self.len() {
            for j in 0..self.cols {
                let value = self.values[i * self.cols + j];
                (self.values[to], self.columns[to]) = (value, j as u32);
                to += usize::from(value != 0.0);
            }
            self.starts.push(to);
        }
        self.columns.truncate(to);
        self.values.truncate(to);
    }

    pub fn x(&self) -> X<'_> {
        if self.starts.len() > 1 {
            X::Sparse(crate::core::data::Csr {
                starts: &self.starts,
                columns: &self.columns,
                values: &self.values,
                cols: self.cols,
            })
        } else {
            X::Dense(crate::core::data::Dense { values: &self.values, rows: self.len(), cols: self.cols })
        }
    }

    /// `out = X' delta`
    fn transposed_times(&self, delta: &[f64], k: usize, out: &mut [f64]) {
        match self.x() {
            X::Dense(x) => {
                let x = View::rows(x.values, x.rows, x.cols).transposed();
                multiply(x, View::rows(delta, self.len(), k), 0.0, out);
            }
            sparse => {
                out.fill(0.0);
                sparse.add_transposed_matrix(delta, k, out);
            }
        }
    }
}

/// All that one block needs, allocated once.
#[derive(Default)]
pub struct Space {
    parts: Vec<LayerSlices>,
    layers: Vec<Layer>,
    /// See [`Network::stat_len`].
    pub stat: Vec<f64>,
    rows: usize,
}

/// Rows x outputs each.
#[derive(Default)]
struct Layer {
    a: Vec<f64>,
    /// f'(z) of a hidden layer.
    slope: Vec<f64>,
    delta: Vec<f64>,
    /// Of a normalised layer: (z - mean) / deviation, and 1 / deviation.
    hat: Vec<f64>,
    scale: Vec<f64>,
}

impl Space {
    fn fit(&mut self, network: &Network, rows: usize) {
        if self.parts.is_empty() {
            self.parts = network.parts();
            self.layers = self.parts.iter().map(|_| Layer::default()).collect();
            self.stat = vec![0.0; network.stat_len()];
        }
        if self.rows < rows {
            self.rows = rows;
            let last = self.parts.len() - 1;
            for (l, (layer, part)) in self.layers.iter_mut().zip(&self.parts).enumerate() {
                let length = rows * part.outputs;
                layer.a.resize(length, 0.0);
                layer.delta.resize(length, 0.0);
                layer.slope.resize(if l < last { length } else { 0 }, 0.0);
                layer.hat.resize(if part.gain.is_empty() { 0 } else { length }, 0.0);
                layer.scale.resize(part.gain.len(), 0.0);
            }
        }
    }
}

/// Which units are left out in a step: by seed, step and place in the minibatch, the same on any thread.
pub struct Dropout {
    pub share: f64,
    pub seed: u64,
    pub step: u64,
    /// Place of the block's first row in the minibatch.
    pub first: usize,
}

impl Dropout {
    fn apply(&self, layer: usize, width: usize, a: &mut [f64], slope: &mut [f64], rows: usize) {
        let kept = 1.0 / (1.0 - self.share);
        let a = a.chunks_exact_mut(width).zip(slope.chunks_exact_mut(width)).take(rows);
        for (i, (a, slope)) in a.enumerate() {
            let unit = (self.step << 24) ^ ((layer as u64) << 56) ^ (self.first + i) as u64;
            let mut rng = Stream::new(self.seed, "dropout", unit);
            for (a, slope) in a.iter_mut().zip(slope) {
                let factor = if rng.uniform() < self.share { 0.0 } else { kept };
                *a *= factor;
                *slope *= factor;
            }
        }
    }
}

/// A loop for each activation, chosen outside of it.
macro_rules! compiled_for_each {
    ($activation:expr, |$f:ident| $body:expr) => {
        compiled_for_each!(@arms $activation, $f, $body, Relu LeakyRelu Logistic Tanh Softplus Gelu Identity)
    };
    (@arms $activation:expr, $f:ident, $body:expr, $($name:ident)*) => {
        match $activation {
            $(Activation::$name => {
                const $f: Activation = Activation::$name;
                $body
            })*
        }
    };
}
impl Activation {
    /// Value and slope at z.
    #[inline(always)]
    pub fn at(self, z: f64) -> (f64, f64) {
        match self {
            Activation::Relu => (z.max(0.0), if z > 0.0 { 1.0 } else { 0.0 }),
            Activation::LeakyRelu => {
                let slope = if z > 0.0 { 1.0 } else { 0.01 };
                (slope * z, slope)
            }
            Activation::Logistic => {
                let s = simd::sigmoid(z);
                (s, s * (1.0 - s))
            }
            Activation::Tanh => {
                let t = simd::tanh(z);
                (t, 1.0 - t * t)
            }
            Activation::Softplus => (simd::softplus(z), simd::sigmoid(z)),
            Activation::Gelu => {
                const C: f64 = 0.797_884_560_802_865_4; // sqrt(2 / pi)
                const D: f64 = 0.044_715;
                let t = simd::tanh(C * (z + D * z * z * z));
                let inner = C * (1.0 + 3.0 * D * z * z);
                (0.5 * z * (1.0 + t), 0.5 * (1.0 + t) + 0.5 * z * (1.0 - t * t) * inner)
            }
            Activation::Identity => (z, 1.0),
        }
    }

    fn values(self, z: &mut [f64]) {
        compiled_for_each!(self, |F| simd::vectorised(
            #[inline(always)]
            || {
                for z in z.iter_mut() {
                    *z = F.at(*z).0;
                }
            }
        ));
    }

    fn values_and_slopes(self, z: &mut [f64], slopes: &mut [f64]) {
        compiled_for_each!(self, |F| simd::vectorised(
            #[inline(always)]
            || {
                for (z, slope) in z.iter_mut().zip(slopes.iter_mut()) {
                    (*z, *slope) = F.at(*z);
                }
            }
        ));
    }
}

impl Head {
    /// The loss of all rows; puts its slope in the scores into `delta`.
    fn loss(self, scores: &[f64], rows: &Rows, k: usize, delta: &mut [f64]) -> f64 {
        match self {
            Head::Softmax => softmax_loss(scores, rows, k, delta),
            // The code of one of two classes is 0 or 1, as the logistic loss takes it.
            Head::Each(point) => pointwise(&point, scores, rows, k, delta),
            Head::Labels => pointwise(&Loss::Logistic, scores, rows, k, delta),
        }
    }

    /// From scores to predicted numbers, or probabilities of the classes, of which two have one score.
    pub fn predictions(self, scores: &[f64], k: usize, out: &mut [f64]) {
        match self {
            Head::Softmax => {
                out[..scores.len()].copy_from_slice(scores);
                for row in out.chunks_exact_mut(k) {
                    let total = exponentials(row);
                    row.iter_mut().for_each(|p| *p /= total);
                }
            }
            Head::Each(Loss::Logistic) => {
                for (p, &s) in out.chunks_exact_mut(2).zip(scores) {
                    (p[0], p[1]) = (simd::sigmoid(-s), simd::sigmoid(s));
                }
            }
            Head::Labels => out.iter_mut().zip(scores).for_each(|(out, &s)| *out = simd::sigmoid(s)),
            Head::Each(Loss::PoissonLog) => out.iter_mut().zip(scores).for_each(|(out, &s)| *out = simd::exp(s)),
            Head::Each(_) => out[..scores.len()].copy_from_slice(scores),
        }
    }
}

/// `scores = e^(scores - largest)`; returns their sum.
#[inline(always)]
fn exponentials(scores: &mut [f64]) -> f64 {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for s in scores.iter_mut() {
        *s = simd::exp(*s - largest);
        total += *s;
    }
    total
}

fn softmax_loss(scores: &[f64], rows: &Rows, k: usize, delta: &mut [f64]) -> f64 {
    let mut loss = 0.0;
    let each = scores.chunks_exact(k).zip(delta.chunks_exact_mut(k)).zip(rows.y.iter().zip(&rows.weights));
    simd::vectorised(
        #[inline(always)]
        || {
            for ((scores, delta), (&y, &weight)) in each {
                let y = y as usize;
                delta.copy_from_slice(scores);
                let total = exponentials(delta);
                // -ln p_y = ln(total) - (s_y - largest); e^ of the latter stands in delta, and may be 0.
                let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                loss += weight * (total.ln() - (scores[y] - largest));
                let factor = weight / total;
                delta.iter_mut().for_each(|d| *d *= factor);
                delta[y] -= weight;
            }
        },
    );
    loss
}

fn pointwise(point: &Loss, scores: &[f64], rows: &Rows, k: usize, delta: &mut [f64]) -> f64 {
    let mut loss = 0.0;
    for (i, &weight) in rows.weights.iter().enumerate() {
        for at in i * k..(i + 1) * k {
            let found = point.at(rows.y[at], scores[at]);
            loss += weight * found.value;
            delta[at] = weight * found.slope;
        }
    }
    loss
}

fn add_bias(z: &mut [f64], bias: &[f64]) {
    simd::vectorised(
        #[inline(always)]
        || {
            for z in z.chunks_exact_mut(bias.len()) {
                for (z, b) in z.iter_mut().zip(bias) {
                    *z += b;
                }
            }
        },
    );
}

fn times(values: &mut [f64], factors: &[f64]) {
    simd::vectorised(
        #[inline(always)]
        || values.iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor),
    );
}

fn sum_columns(values: &[f64], cols: usize, out: &mut [f64]) {
    out.fill(0.0);
    simd::vectorised(
        #[inline(always)]
        || {
            for row in values.chunks_exact(cols) {
                for (out, value) in out.iter_mut().zip(row) {
                    *out += value;
                }
            }
        },
    );
}

/// `z = gain hat + bias` with hat = (z - mean) / deviation over these rows. `sums` gets rows x means, rows x variances.
fn normalise(z: &mut [f64], gain: &[f64], bias: &[f64], hat: &mut [f64], scale: &mut [f64], sums: &mut [f64]) {
    let cols = gain.len();
    let rows = (z.len() / cols) as f64;
    let (means, variances) = sums.split_at_mut(cols);
    sum_columns(z, cols, means);
    means.iter_mut().for_each(|mean| *mean /= rows);
    variances.fill(0.0);
    for z in z.chunks_exact(cols) {
        for j in 0..cols {
            variances[j] += (z[j] - means[j]) * (z[j] - means[j]);
        }
    }
    for j in 0..cols {
        scale[j] = 1.0 / (variances[j] / rows + VARIANCE_FLOOR).sqrt();
    }
    for (z, hat) in z.chunks_exact_mut(cols).zip(hat.chunks_exact_mut(cols)) {
        for j in 0..cols {
            hat[j] = (z[j] - means[j]) * scale[j];
            z[j] = gain[j] * hat[j] + bias[j];
        }
    }
    means.iter_mut().for_each(|mean| *mean *= rows);
}

/// From d loss / d u to d loss / d z for u = gain hat(z) + bias, where `totals` sums d loss / d u over the rows.
fn through_normalisation(
    delta: &mut [f64],
    hat: &[f64],
    scale: &[f64],
    gain: &[f64],
    totals: &[f64],
    gains: &mut [f64],
) {
    let cols = gain.len();
    let rows = (delta.len() / cols) as f64;
    gains.fill(0.0);
    for (delta, hat) in delta.chunks_exact(cols).zip(hat.chunks_exact(cols)) {
        for j in 0..cols {
            gains[j] += delta[j] * hat[j];
        }
    }
    for (delta, hat) in delta.chunks_exact_mut(cols).zip(hat.chunks_exact(cols)) {
        for j in 0..cols {
            delta[j] = gain[j] * scale[j] * (delta[j] - (totals[j] + hat[j] * gains[j]) / rows);
        }
    }
}
