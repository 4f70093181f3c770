//! Kernels as values: `0.5*rbf(gamma=0.1) + poly(degree=2)[0,3]` parses, prints back, and works in every kernel model.
//!
//! | text | k(x, z) |
//! | --- | --- |
//! | `linear` | x.z; `linear(a=[[2,1],[1,2]])` is x'Az |
//! | `poly(degree=3, gamma=g, coef0=c)` | (g x.z + c)^degree |
//! | `rbf(gamma=g)`, `rbf(sigma=s)` | exp(-g \|\|x - z\|\|^2), g = 1 / (2 s^2) |
//! | `laplacian(gamma=g)` | exp(-g \|\|x - z\|\|_1) |
//! | `sigmoid(gamma=g, coef0=c)` | tanh(g x.z + c) |
//! | `cosine` | x.z / (\|\|x\|\| \|\|z\|\|) |
//! | `precomputed` | the columns of x are its values with the training rows |
//! | `2`, `k + k`, `k * k`, `k^3`, `exp(k)` | constants, sums, products, powers, exponentials |
//! | `normalize(k)` | f(x) k(x, z) f(z) with f(x) = k(x, x)^-1/2 |
//! | `k[0,2:5]` | k on columns 0, 2, 3, 4 |
//! | `sqrt(k)`, `log1p(k)`, `abs(k)`, `square(k)` | k on that function of every value: a feature map |
//!
//! What a leaf does not say (`rbf`, `poly(degree=2)`) it takes from the model's parameters `gamma`, `degree`, `coef0`. Rules of
//! construction prove most kernels positive semi-definite ([`Kernel::proved`]); the others are judged by the smallest eigenvalue
//! of their Gram matrix on rows of the data ([`Kernel::definiteness`]). Gram blocks come from one matrix product wherever the kernel
//! is a function of inner products and norms. (Shawe-Taylor and Cristianini 2004, chapter 3.)

use crate::{
    Error, Matrix, OwnedX, Result, X,
    core::{
        choice,
        linalg::Eigen,
        param::{Field, Form, Range, Value, at_least},
        simd::{add_scaled, exp, vectorised},
    },
    engine::points::{for_each_pair, products},
};
use serde::{Deserialize, Serialize};
use std::fmt;

choice! {
    /// The width of kernels that have one.
    pub enum Gamma: f64 where at_least(0.0) => {
        /// 1 / (columns x variance of all values).
        Scale = "scale",
        /// 1 / columns.
        Auto = "auto",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Kernel {
    Linear,
    /// x'Az, by the rows of A.
    Quadratic(Vec<Vec<f64>>),
    Poly {
        degree: Option<f64>,
        gamma: Option<f64>,
        coef0: Option<f64>,
    },
    Rbf {
        gamma: Option<f64>,
    },
    Laplacian {
        gamma: Option<f64>,
    },
    Sigmoid {
        gamma: Option<f64>,
        coef0: Option<f64>,
    },
    Cosine,
    Precomputed,
    Constant(f64),
    Sum(Vec<Kernel>),
    Product(Vec<Kernel>),
    Power(Box<Kernel>, u32),
    Exp(Box<Kernel>),
    Normalize(Box<Kernel>),
    Columns(Box<Kernel>, Vec<usize>),
    Map(Map, Box<Kernel>),
}

/// A function of every value, as a feature map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Map {
    Sqrt,
    Log1p,
    Abs,
    Square,
}

impl Map {
    const ALL: [(Map, &'static str); 4] =
        [(Map::Sqrt, "sqrt"), (Map::Log1p, "log1p"), (Map::Abs, "abs"), (Map::Square, "square")];

    fn name(self) -> &'static str {
        Map::ALL[Map::ALL.iter().position(|(map, _)| *map == self).unwrap_or(0)].1
    }

    /// Odd where the function has no value for negative numbers, so that every row has an image.
    fn apply(self, v: f64) -> f64 {
        match self {
            Map::Sqrt => v.abs().sqrt().copysign(v),
            Map::Log1p => v.abs().ln_1p().copysign(v),
            Map::Abs => v.abs(),
            Map::Square => v * v,
        }
    }
}

/// What leaves take that do not say it themselves.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    pub gamma: f64,
    pub degree: f64,
    pub coef0: f64,
}

/// The value of `gamma` for rows with these weights.
pub fn resolve_gamma(gamma: Gamma, x: &X, weights: Option<&[f64]>) -> f64 {
    match gamma {
        Gamma::Number(gamma) => gamma,
        Gamma::Auto => 1.0 / x.cols() as f64,
        Gamma::Scale => {
            // Weighted, so that weight 2 is the row twice.
            let (mut total, mut mean, mut scatter) = (0.0, 0.0, 0.0);
            for (i, row) in x.iter().enumerate() {
                let weight = weights.map_or(1.0, |w| w[i]);
                if weight == 0.0 {
                    continue;
                }
                let d = x.cols() as f64;
                let mut sum = 0.0;
                row.for_each(|_, v| sum += v);
                let row_mean = sum / d;
                let (mut around, mut stored) = (0.0, 0.0);
                row.for_each(|_, v| {
                    around += (v - row_mean) * (v - row_mean);
                    stored += 1.0;
                });
                around += (d - stored) * row_mean * row_mean;
                // Merge the row's moments into those of the rows before it (Chan et al. 1979).
                let (mass, delta) = (weight * d, row_mean - mean);
                scatter += weight * around + delta * delta * total * mass / (total + mass);
                mean += delta * mass / (total + mass);
                total += mass;
            }
            let variance = scatter / total;
            if variance > 0.0 { 1.0 / (x.cols() as f64 * variance) } else { 1.0 }
        }
    }
}

impl Kernel {
    pub fn parse(text: &str) -> Result<Kernel> {
        Kernel::parse_with(text, |_| None)
    }

    /// Columns may be given by any name that `column` knows: edges know names, models know numbers.
    pub fn parse_with(text: &str, column: impl Fn(&str) -> Option<usize>) -> Result<Kernel> {
        let mut parser = Parser { text, at: 0, depth: 0, column: &column };
        let kernel = parser.sum()?;
        parser.space();
        if parser.at < text.len() { Err(parser.error("the end, '+' or '*'")) } else { Ok(kernel) }
    }

    /// The same kernel with every number in place.
    pub fn resolve(&self, defaults: &Defaults) -> Kernel {
        let Defaults { gamma: g, degree: d, coef0: c } = *defaults;
        let all = |kernels: &[Kernel]| kernels.iter().map(|kernel| kernel.resolve(defaults)).collect();
        let one = |kernel: &Kernel| Box::new(kernel.resolve(defaults));
        match self {
            Kernel::Poly { degree, gamma, coef0 } => Kernel::Poly {
                degree: Some(degree.unwrap_or(d)),
                gamma: Some(gamma.unwrap_or(g)),
                coef0: Some(coef0.unwrap_or(c)),
            },
            Kernel::Rbf { gamma } => Kernel::Rbf { gamma: Some(gamma.unwrap_or(g)) },
            Kernel::Laplacian { gamma } => Kernel::Laplacian { gamma: Some(gamma.unwrap_or(g)) },
            Kernel::Sigmoid { gamma, coef0 } => {
                Kernel::Sigmoid { gamma: Some(gamma.unwrap_or(g)), coef0: Some(coef0.unwrap_or(c)) }
            }
            Kernel::Sum(parts) => Kernel::Sum(all(parts)),
            Kernel::Product(parts) => Kernel::Product(all(parts)),
            Kernel::Power(k, power) => Kernel::Power(one(k), *power),
            Kernel::Exp(k) => Kernel::Exp(one(k)),
            Kernel::Normalize(k) => Kernel::Normalize(one(k)),
            Kernel::Columns(k, columns) => Kernel::Columns(one(k), columns.clone()),
            Kernel::Map(map, k) => Kernel::Map(*map, one(k)),
            same => same.clone(),
        }
    }

    fn parts(&self) -> Vec<&Kernel> {
        match self {
            Kernel::Sum(parts) | Kernel::Product(parts) => parts.iter().collect(),
            Kernel::Power(k, _) | Kernel::Exp(k) | Kernel::Normalize(k) | Kernel::Columns(k, _) | Kernel::Map(_, k) => {
                vec![k]
            }
            _ => vec![],
        }
    }

    /// Whether x holds kernel values instead of rows: then the kernel can be nothing else.
    pub fn is_precomputed(&self) -> bool {
        *self == Kernel::Precomputed
    }

    /// Whether the kernel can be evaluated on rows of `cols` columns.
    pub fn check(&self, cols: usize) -> Result<()> {
        let within = match self {
            Kernel::Columns(k, columns) => {
                if let Some(column) = columns.iter().find(|&&column| column >= cols) {
                    return Err(Error::shape(format!("columns of the kernel {self}"), format!("below {cols}"), column));
                }
                return k.check(columns.len());
            }
            Kernel::Quadratic(a) if a.len() != cols => {
                return Err(Error::shape(format!("the matrix of {self}"), format!("{cols} x {cols}"), a.len()));
            }
            other => other.parts(),
        };
        if within.iter().any(|k| k.is_precomputed()) {
            return Err(Error::Unsupported(format!("the kernel {self}: precomputed values cannot be combined")));
        }
        within.into_iter().try_for_each(|k| k.check(cols))
    }

    /// Whether the rules of construction prove that every Gram matrix is positive semi-definite.
    pub fn proved(&self) -> bool {
        match self {
            Kernel::Linear | Kernel::Cosine => true,
            Kernel::Rbf { gamma } | Kernel::Laplacian { gamma } => gamma.is_none_or(|gamma| gamma >= 0.0),
            Kernel::Poly { degree, gamma, coef0 } => {
                degree.is_none_or(|d| d.fract() == 0.0)
                    && gamma.is_none_or(|g| g >= 0.0)
                    && coef0.is_some_and(|c| c >= 0.0)
            }
            Kernel::Quadratic(a) => {
                let n = a.len();
                let symmetric = (0..n).all(|i| (0..i).all(|j| a[i][j] == a[j][i]));
                let matrix = Matrix::from_fn(n, n, |i, j| a[i][j]);
                symmetric && Eigen::new(&matrix).is_some_and(|e| e.values[0] >= -1e-12 * e.values[n - 1].abs())
            }
            Kernel::Constant(c) => *c >= 0.0,
            Kernel::Sum(_) | Kernel::Product(_) | Kernel::Power(..) => self.parts().into_iter().all(Kernel::proved),
            Kernel::Exp(k) | Kernel::Normalize(k) | Kernel::Columns(k, _) | Kernel::Map(_, k) => k.proved(),
            Kernel::Sigmoid { .. } | Kernel::Precomputed => false,
        }
    }

    /// A note when the kernel is not proved and is not positive semi-definite on the data either.
    pub fn definiteness(&self, x: &X) -> Option<String> {
        const SAMPLE: usize = 300;
        if self.proved() {
            return None;
        }
        let step = x.rows().div_ceil(SAMPLE).max(1);
        let ids: Vec<usize> = (0..x.rows()).step_by(step).collect();
        let points = OwnedX::take(x, ids.iter().copied());
        let n = ids.len();
        let mut gram = Matrix::zeros(n, n);
        self.block_with(&points.x(), &points.x(), &ids, &mut gram.values);
        let smallest = Eigen::new(&gram)?.values[0];
        let trace: f64 = (0..n).map(|i| gram[(i, i)].abs()).sum();
        let asymmetry = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
        let asymmetry = asymmetry.map(|(i, j)| (gram[(i, j)] - gram[(j, i)]).abs()).fold(0.0, f64::max);
        let limit = 1e-9 * trace.max(f64::MIN_POSITIVE);
        if asymmetry > limit {
            return Some(format!("the kernel {self} is not symmetric on the data (by {asymmetry:.1e})"));
        }
        (smallest < -limit).then(|| {
            format!(
                "the kernel {self} is not positive semi-definite on the data (smallest eigenvalue {smallest:.1e} of a Gram matrix \
                 with trace {trace:.1e}): the optimum may be a local one"
            )
        })
    }

    /// Rows as this kernel is fastest with: inner products skip zeros, so where most numbers are zero these are left out.
    pub fn points(&self, x: &X, rows: impl IntoIterator<Item = usize>) -> OwnedX {
        let points = OwnedX::take(x, rows);
        match self {
            Kernel::Linear | Kernel::Poly { .. } | Kernel::Rbf { .. } | Kernel::Sigmoid { .. } | Kernel::Cosine => {
                points.thinned()
            }
            _ => points,
        }
    }

    /// `out[i, j] = k(a_i, b_j)`, row-major.
    pub fn block(&self, a: &X, b: &X, out: &mut [f64]) {
        self.block_with(a, b, &[], out);
    }

    /// The same, where the rows of `b` have the numbers `ids` among the training rows: what a precomputed kernel needs.
    pub fn block_with(&self, a: &X, b: &X, ids: &[usize], out: &mut [f64]) {
        let (n, m) = (a.rows(), b.rows().max(ids.len()));
        let out = &mut out[..n * m];
        match self {
            Kernel::Linear => products(a, b, out),
            Kernel::Quadratic(matrix) => {
                let flat: Vec<f64> = matrix.iter().flatten().copied().collect();
                let mut image = vec![0.0; n * a.cols()];
                a.times_matrix(&flat, a.cols(), &mut image);
                if let Ok(image) = X::dense(&image, a.cols()) {
                    products(&image, b, out);
                }
            }
            Kernel::Poly { degree, gamma, coef0 } => {
                products(a, b, out);
                let (d, g, c) = (degree.unwrap_or(3.0), gamma.unwrap_or(1.0), coef0.unwrap_or(0.0));
                vectorised(
                    #[inline(always)]
                    || match d {
                        1.0 => out.iter_mut().for_each(|v| *v = g * *v + c),
                        2.0 => out.iter_mut().for_each(|v| *v = (g * *v + c) * (g * *v + c)),
                        3.0 => out.iter_mut().for_each(|v| {
                            let base = g * *v + c;
                            *v = base * base * base;
                        }),
                        _ if d.fract() == 0.0 && d < 1e9 => {
                            out.iter_mut().for_each(|v| *v = (g * *v + c).powi(d as i32))
                        }
                        _ => out.iter_mut().for_each(|v| *v = (g * *v + c).powf(d)),
                    },
                );
            }
            Kernel::Rbf { gamma } => {
                let g = gamma.unwrap_or(1.0);
                let (mut na, mut nb) = (norms(a), norms(b));
                // Far from zero the difference of norms and products loses the distance: about the mean of b it does not.
                let most = na.iter().chain(&nb).fold(0.0f64, |most, norm| most.max(*norm));
                match (a, b) {
                    (X::Dense(a), X::Dense(b)) if g * most * f64::EPSILON > 1e-13 && b.rows > 0 => {
                        let mut mean = vec![0.0; b.cols];
                        b.values.chunks_exact(b.cols).for_each(|row| add_scaled(1.0 / b.rows as f64, row, &mut mean));
                        let about = |x: &[f64]| -> Vec<f64> {
                            x.chunks_exact(b.cols).flat_map(|row| row.iter().zip(&mean).map(|(x, m)| x - m)).collect()
                        };
                        let (a, b) = (
                            Matrix::new(about(a.values), a.rows, a.cols),
                            Matrix::new(about(b.values), b.rows, b.cols),
                        );
                        let (a, b) = (OwnedX::Dense(a), OwnedX::Dense(b));
                        (na, nb) = (norms(&a.x()), norms(&b.x()));
                        products(&a.x(), &b.x(), out);
                    }
                    _ => products(a, b, out),
                }
                vectorised(
                    #[inline(always)]
                    || {
                        for (out, na) in out.chunks_exact_mut(m.max(1)).zip(&na) {
                            for (v, nb) in out.iter_mut().zip(&nb) {
                                *v = exp(-g * (na + nb - 2.0 * *v).max(0.0));
                            }
                        }
                    },
                );
            }
            Kernel::Laplacian { gamma } => {
                let g = gamma.unwrap_or(1.0);
                for (i, out) in out.chunks_exact_mut(m.max(1)).enumerate() {
                    for (j, v) in out.iter_mut().enumerate() {
                        let mut sum = 0.0;
                        for_each_pair(a.row(i), b.row(j), |x, y| sum += (x - y).abs());
                        *v = -g * sum;
                    }
                    vectorised(
                        #[inline(always)]
                        || out.iter_mut().for_each(|v| *v = exp(*v)),
                    );
                }
            }
            Kernel::Sigmoid { gamma, coef0 } => {
                products(a, b, out);
                let (g, c) = (gamma.unwrap_or(1.0), coef0.unwrap_or(0.0));
                out.iter_mut().for_each(|v| *v = (g * *v + c).tanh());
            }
            Kernel::Cosine => {
                products(a, b, out);
                let inverse = |x: &X| norms(x).iter().map(|n| if *n > 0.0 { n.sqrt().recip() } else { 0.0 }).collect();
                scale(out, &inverse(a), &inverse(b));
            }
            Kernel::Precomputed => {
                for (i, out) in out.chunks_exact_mut(m.max(1)).enumerate() {
                    match a.row(i) {
                        crate::core::data::Row::Dense(row) => {
                            for (v, &id) in out.iter_mut().zip(ids) {
                                *v = row[id];
                            }
                        }
                        crate::core::data::Row::Sparse { columns, values } => {
                            for (v, &id) in out.iter_mut().zip(ids) {
                                *v = columns.binary_search(&(id as u32)).map_or(0.0, |at| values[at]);
                            }
                        }
                    }
                }
            }
            Kernel::Constant(c) => out.fill(*c),
            Kernel::Sum(parts) | Kernel::Product(parts) => {
                let add = matches!(self, Kernel::Sum(_));
                out.fill(if add { 0.0 } else { 1.0 });
                let mut part = vec![0.0; n * m];
                for k in parts {
                    if let (Kernel::Constant(c), false) = (k, add) {
                        out.iter_mut().for_each(|v| *v *= c);
                        continue;
                    }
                    k.block(a, b, &mut part);
                    match add {
                        true => out.iter_mut().zip(&part).for_each(|(v, p)| *v += p),
                        false => out.iter_mut().zip(&part).for_each(|(v, p)| *v *= p),
                    }
                }
            }
            Kernel::Power(k, power) => {
                k.block(a, b, out);
                out.iter_mut().for_each(|v| *v = v.powi(*power as i32));
            }
            Kernel::Exp(k) => {
                k.block(a, b, out);
                vectorised(
                    #[inline(always)]
                    || out.iter_mut().for_each(|v| *v = exp(*v)),
                );
            }
            Kernel::Normalize(k) => {
                k.block(a, b, out);
                let inverse =
                    |x: &X| k.diagonal(x).iter().map(|n| if *n > 0.0 { n.sqrt().recip() } else { 0.0 }).collect();
                scale(out, &inverse(a), &inverse(b));
            }
            Kernel::Columns(k, columns) => {
                let (a, b) = (pick(a, columns), pick(b, columns));
                k.block(&a.x(), &b.x(), out);
            }
            Kernel::Map(map, k) => {
                let (a, b) = (image(a, *map), image(b, *map));
                k.block(&a.x(), &b.x(), out);
            }
        }
    }

    /// k(x_i, x_i) of every row.
    pub fn diagonal(&self, x: &X) -> Vec<f64> {
        self.diagonal_with(x, &[])
    }

    pub fn diagonal_with(&self, x: &X, ids: &[usize]) -> Vec<f64> {
        match self {
            Kernel::Rbf { .. } | Kernel::Laplacian { .. } => vec![1.0; x.rows()],
            Kernel::Constant(c) => vec![*c; x.rows()],
            Kernel::Linear => norms(x),
            Kernel::Cosine => norms(x).iter().map(|n| f64::from(*n > 0.0)).collect(),
            Kernel::Poly { degree, gamma, coef0 } => {
                let (d, g, c) = (degree.unwrap_or(3.0), gamma.unwrap_or(1.0), coef0.unwrap_or(0.0));
                let power = |base: f64| if d.fract() == 0.0 && d < 1e9 { base.powi(d as i32) } else { base.powf(d) };
                norms(x).iter().map(|n| power(g * n + c)).collect()
            }
            Kernel::Columns(k, columns) => k.diagonal(&pick(x, columns).x()),
            Kernel::Map(map, k) => k.diagonal(&image(x, *map).x()),
            _ => (0..x.rows())
                .map(|i| {
                    let (row, mut value) = (x.slice(i..i + 1), [0.0]);
                    self.block_with(&row, &row, &ids[i.min(ids.len())..(i + 1).min(ids.len())], &mut value);
                    value[0]
                })
                .collect(),
        }
    }
}

fn norms(x: &X) -> Vec<f64> {
    x.iter().map(|row| row.norm2()).collect()
}

fn scale(out: &mut [f64], left: &Vec<f64>, right: &Vec<f64>) {
    for (out, l) in out.chunks_exact_mut(right.len().max(1)).zip(left) {
        out.iter_mut().zip(right).for_each(|(v, r)| *v *= l * r);
    }
}

/// The rows on some columns.
fn pick(x: &X, columns: &[usize]) -> OwnedX {
    let mut out = Matrix::zeros(x.rows(), columns.len());
    let mut wide = vec![0.0; x.cols()];
    for (i, row) in x.iter().enumerate() {
        row.for_each(|j, v| wide[j] = v);
        for (to, &column) in out.row_mut(i).iter_mut().zip(columns) {
            *to = wide[column];
        }
        row.for_each(|j, _| wide[j] = 0.0);
    }
    OwnedX::Dense(out)
}

/// All maps keep zero, so that sparse rows stay sparse.
fn image(x: &X, map: Map) -> OwnedX {
    let mut points = OwnedX::all(x);
    match &mut points {
        OwnedX::Dense(m) => m.values.iter_mut().for_each(|v| *v = map.apply(*v)),
        OwnedX::Sparse(csr) => csr.values.iter_mut().for_each(|v| *v = map.apply(*v)),
    }
    points
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = |f: &mut fmt::Formatter<'_>, name: &str, args: &[(&str, Option<f64>)]| {
            f.write_str(name)?;
            let given: Vec<_> =
                args.iter().filter_map(|(name, value)| value.map(|v| format!("{name}={}", number(v)))).collect();
            if given.is_empty() { Ok(()) } else { write!(f, "({})", given.join(", ")) }
        };
        // Inside a product or a power a sum needs brackets.
        let inside = |f: &mut fmt::Formatter<'_>, k: &Kernel, tight: bool| match k {
            Kernel::Sum(_) => write!(f, "({k})"),
            Kernel::Product(_) | Kernel::Constant(_) if tight => write!(f, "({k})"),
            Kernel::Power(..) | Kernel::Columns(..) if tight => write!(f, "({k})"),
            _ => write!(f, "{k}"),
        };
        match self {
            Kernel::Linear => f.write_str("linear"),
            Kernel::Quadratic(a) => {
                let rows: Vec<String> = a
                    .iter()
                    .map(|row| format!("[{}]", row.iter().map(|v| number(*v)).collect::<Vec<_>>().join(",")))
                    .collect();
                write!(f, "linear(a=[{}])", rows.join(","))
            }
            Kernel::Poly { degree, gamma, coef0 } => {
                call(f, "poly", &[("degree", *degree), ("gamma", *gamma), ("coef0", *coef0)])
            }
            Kernel::Rbf { gamma } => call(f, "rbf", &[("gamma", *gamma)]),
            Kernel::Laplacian { gamma } => call(f, "laplacian", &[("gamma", *gamma)]),
            Kernel::Sigmoid { gamma, coef0 } => call(f, "sigmoid", &[("gamma", *gamma), ("coef0", *coef0)]),
            Kernel::Cosine => f.write_str("cosine"),
            Kernel::Precomputed => f.write_str("precomputed"),
            Kernel::Constant(c) => f.write_str(&number(*c)),
            Kernel::Sum(parts) | Kernel::Product(parts) => {
                let product = matches!(self, Kernel::Product(_));
                for (i, k) in parts.iter().enumerate() {
                    if i > 0 {
                        f.write_str(if product { "*" } else { " + " })?;
                    }
                    match k {
                        Kernel::Sum(_) => write!(f, "({k})")?,
                        Kernel::Product(_) if product => write!(f, "({k})")?,
                        _ => write!(f, "{k}")?,
                    }
                }
                Ok(())
            }
            Kernel::Power(k, power) => {
                inside(f, k, true)?;
                write!(f, "^{power}")
            }
            Kernel::Exp(k) => write!(f, "exp({k})"),
            Kernel::Normalize(k) => write!(f, "normalize({k})"),
            Kernel::Map(map, k) => write!(f, "{}({k})", map.name()),
            Kernel::Columns(k, columns) => {
                inside(f, k, true)?;
                write!(f, "[{}]", columns.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
            }
        }
    }
}

/// Shortest text that reads back to the same number, without a needless ".0".
fn number(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map(str::to_string).unwrap_or(text)
}

impl From<Kernel> for String {
    fn from(kernel: Kernel) -> String {
        kernel.to_string()
    }
}

impl TryFrom<String> for Kernel {
    type Error = Error;
    fn try_from(text: String) -> Result<Kernel> {
        Kernel::parse(&text)
    }
}

impl Field for Kernel {
    fn forms(_: Range) -> Vec<Form> {
        let names = vec!["linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed"];
        vec![Form::Choice(names), Form::Text]
    }
    fn to_value(&self) -> Value {
        Value::Text(self.to_string())
    }
    fn from_value(value: &Value) -> Option<Self> {
        Kernel::parse(&String::from_value(value)?).ok()
    }
}

/// Recursive descent over `sum = product {'+' product}`, `product = factor {'*' factor}`, `factor = atom {'[' columns ']' | '^' n}`.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    column: &'a dyn Fn(&str) -> Option<usize>,
}

impl<'a> Parser<'a> {
    fn error(&self, expected: &str) -> Error {
        let rest: String = self.text[self.at..].chars().take(20).collect();
        let found = if rest.is_empty() { "the end".to_string() } else { format!("'{rest}'") };
        Error::Data(format!("kernel '{}': expected {expected}, found {found}", self.text)).hint(
            "kernels are linear, poly, rbf, laplacian, sigmoid, cosine, precomputed, and +, *, ^, exp(), normalize() and [columns] of them",
        )
    }

    fn space(&mut self) {
        self.at += self.text[self.at..].len() - self.text[self.at..].trim_start().len();
    }

    fn eat(&mut self, symbol: char) -> bool {
        self.space();
        let found = self.text[self.at..].starts_with(symbol);
        self.at += if found { symbol.len_utf8() } else { 0 };
        found
    }

    fn expect(&mut self, symbol: char) -> Result<()> {
        if self.eat(symbol) { Ok(()) } else { Err(self.error(&format!("'{symbol}'"))) }
    }

    fn take_while(&mut self, allowed: impl Fn(char) -> bool) -> &'a str {
        self.space();
        let rest = &self.text[self.at..];
        let end = rest.find(|c| !allowed(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn number(&mut self) -> Result<f64> {
        self.space();
        let start = self.at;
        let rest = &self.text[start..];
        let mut end = 0;
        for (i, c) in rest.char_indices() {
            let exponent = i > 0 && matches!(rest.as_bytes()[i - 1], b'e' | b'E');
            if c.is_ascii_digit()
                || c == '.'
                || (matches!(c, 'e' | 'E') && i > 0)
                || (matches!(c, '+' | '-') && (i == 0 || exponent))
            {
                end = i + c.len_utf8();
            } else {
                break;
            }
        }
        match rest[..end].parse::<f64>() {
            Ok(value) if value.is_finite() => {
                self.at = start + end;
                Ok(value)
            }
            _ => Err(self.error("a number")),
        }
    }

    fn sum(&mut self) -> Result<Kernel> {
        self.depth += 1;
        if self.depth > 50 {
            return Err(self.error("fewer than 50 levels of brackets"));
        }
        let mut parts = vec![self.product()?];
        while self.eat('+') {
            parts.push(self.product()?);
        }
        self.depth -= 1;
        Ok(if parts.len() == 1 { parts.remove(0) } else { Kernel::Sum(parts) })
    }

    fn product(&mut self) -> Result<Kernel> {
        let mut parts = vec![self.factor()?];
        while self.eat('*') {
            parts.push(self.factor()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Kernel::Product(parts) })
    }

    fn factor(&mut self) -> Result<Kernel> {
        let mut kernel = self.atom()?;
        // Each postfix nests one level deeper, as brackets do.
        for _ in 0..50 {
            if self.eat('^') {
                let power = self.number()?;
                if power.fract() != 0.0 || !(1.0..=64.0).contains(&power) {
                    return Err(self.error("an integer power from 1 to 64 before this"));
                }
                kernel = Kernel::Power(Box::new(kernel), power as u32);
            } else if self.eat('[') {
                kernel = Kernel::Columns(Box::new(kernel), self.columns()?);
            } else {
                return Ok(kernel);
            }
        }
        Err(self.error("fewer powers and column lists in a row"))
    }

    fn columns(&mut self) -> Result<Vec<usize>> {
        let mut columns = Vec::new();
        loop {
            let name = self.take_while(|c| !matches!(c, ',' | ']' | ':')).trim();
            let known = (self.column)(name).or_else(|| name.parse().ok());
            let Some(first) = known else {
                return Err(Error::Data(format!("kernel '{}': '{name}' is not a column", self.text)));
            };
            if self.eat(':') {
                let end: usize =
                    self.take_while(|c| c.is_ascii_digit()).parse().map_err(|_| self.error("the end of a range"))?;
                if end <= first || end - first > 1 << 20 {
                    return Err(self.error("a range of columns such as 2:5 before this"));
                }
                columns.extend(first..end);
            } else {
                columns.push(first);
            }
            if self.eat(']') {
                return Ok(columns);
            }
            self.expect(',')?;
        }
    }

    fn matrix(&mut self) -> Result<Vec<Vec<f64>>> {
        let mut rows = Vec::new();
        self.expect('[')?;
        loop {
            self.expect('[')?;
            let mut row = vec![self.number()?];
            while self.eat(',') {
                row.push(self.number()?);
            }
            self.expect(']')?;
            rows.push(row);
            if !self.eat(',') {
                break;
            }
        }
        self.expect(']')?;
        if rows.iter().any(|row: &Vec<f64>| row.len() != rows.len()) {
            Err(self.error("a square matrix before this"))
        } else {
            Ok(rows)
        }
    }

    fn atom(&mut self) -> Result<Kernel> {
        if self.eat('(') {
            let kernel = self.sum()?;
            self.expect(')')?;
            return Ok(kernel);
        }
        let name = self.take_while(|c| c.is_ascii_alphabetic() || c == '_' || c == '1');
        // "1" alone is a number, as in "1 + rbf"; "log1p" is a name.
        if name.is_empty() || name.starts_with('1') {
            self.at -= name.len();
            return Ok(Kernel::Constant(self.number()?));
        }
        let start = self.at - name.len();
        let of = Map::ALL.iter().find(|(_, map)| *map == name).map(|(map, _)| *map);
        if of.is_some() || matches!(name, "exp" | "normalize") {
            self.expect('(')?;
            let kernel = Box::new(self.sum()?);
            self.expect(')')?;
            return Ok(match of {
                Some(map) => Kernel::Map(map, kernel),
                None if name == "exp" => Kernel::Exp(kernel),
                None => Kernel::Normalize(kernel),
            });
        }
        let allowed: &[&str] = match name {
            "linear" => &["a"],
            "poly" | "polynomial" => &["degree", "gamma", "coef0"],
            "rbf" | "gaussian" => &["gamma", "sigma"],
            "laplacian" => &["gamma"],
            "sigmoid" => &["gamma", "coef0"],
            "cosine" | "precomputed" => &[],
            _ => {
                self.at = start;
                return Err(self.error("a kernel"));
            }
        };
        let (mut given, mut matrix) = ([None; 3], None);
        if self.eat('(') && !self.eat(')') {
            loop {
                let argument = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
                let Some(at) = allowed.iter().position(|known| *known == argument) else {
                    self.at -= argument.len();
                    return Err(self.error(&format!("one of {}", allowed.join(", "))));
                };
                self.expect('=')?;
                if argument == "a" {
                    matrix = Some(self.matrix()?);
                } else {
                    given[at] = Some(self.number()?);
                }
                if self.eat(')') {
                    break;
                }
                self.expect(',')?;
            }
        }
        Ok(match name {
            "linear" => matrix.map_or(Kernel::Linear, Kernel::Quadratic),
            "poly" | "polynomial" => {
                if given[0].is_some_and(|degree| !(0.0..=1e3).contains(&degree)) {
                    return Err(self.error("a degree from 0 to 1000 before this"));
                }
                Kernel::Poly { degree: given[0], gamma: given[1], coef0: given[2] }
            }
            "rbf" | "gaussian" => {
                if given[1].is_some_and(|sigma| sigma <= 0.0) {
                    return Err(self.error("a sigma above 0 before this"));
                }
                Kernel::Rbf { gamma: given[0].or(given[1].map(|sigma| 0.5 / (sigma * sigma))) }
            }
            "laplacian" => Kernel::Laplacian { gamma: given[0] },
            "sigmoid" => Kernel::Sigmoid { gamma: given[0], coef0: given[1] },
            "cosine" => Kernel::Cosine,
            _ => Kernel::Precomputed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ctx;

    const KERNELS: [&str; 20] = [
        "linear",
        "linear(a=[[2,1,0],[1,2,0],[0,0,1]])",
        "poly(degree=3, gamma=0.5, coef0=1)",
        "rbf(gamma=0.1)",
        "laplacian(gamma=0.7)",
        "cosine",
        "2*linear",
        "1 + linear",
        "linear + rbf(gamma=2)",
        "linear*rbf(gamma=2)",
        "(1 + linear)^3",
        "exp(linear)",
        "exp(0.1*poly(degree=2, gamma=1, coef0=0))",
        "normalize(poly(degree=2, gamma=1, coef0=1))",
        "rbf(gamma=1)[0]",
        "rbf(gamma=1)[0] + linear[1,2]",
        "rbf(gamma=1)[0]*linear[1,2]",
        "sqrt(linear)",
        "log1p(rbf(gamma=1))",
        "(linear[0])^2 + square(0.5*cosine)",
    ];

    fn sample(n: usize, d: usize) -> Matrix {
        let mut rng = Ctx::new(3).rng("kernel", 0);
        Matrix::from_fn(n, d, |_, _| if rng.uniform() < 0.3 { 0.0 } else { rng.normal() })
    }

    #[test]
    fn text_parses_and_prints_back() {
        for text in KERNELS {
            let kernel = Kernel::parse(text).unwrap();
            assert_eq!(kernel.to_string(), text);
            assert_eq!(Kernel::parse(&kernel.to_string()).unwrap(), kernel);
        }
        let names = |name: &str| ["age", "income"].iter().position(|known| *known == name);
        let kernel = Kernel::parse_with("0.5 * gaussian(sigma=2) + poly(degree=2)[age, income]", names).unwrap();
        assert_eq!(kernel.to_string(), "0.5*rbf(gamma=0.125) + poly(degree=2)[0,1]");
        assert_eq!(Kernel::parse("rbf[2:5]").unwrap().to_string(), "rbf[2,3,4]");
        let defaults = Defaults { gamma: 0.25, degree: 4.0, coef0: 0.5 };
        let resolved = Kernel::parse("poly + rbf(gamma=9)").unwrap().resolve(&defaults);
        assert_eq!(resolved.to_string(), "poly(degree=4, gamma=0.25, coef0=0.5) + rbf(gamma=9)");
        for (bad, part) in [
            ("", "the end"),
            ("rbff", "'rbff'"),
            ("rbf(gama=1)", "gamma, sigma"),
            ("rbf + ", "a number"),
            ("poly^0", "power"),
            ("linear[x]", "'x' is not a column"),
            ("(linear", "')'"),
            ("linear(a=[[1,2]])", "square"),
            ("rbf(gamma=nan)", "a number"),
        ] {
            let error = Kernel::parse(bad).unwrap_err().to_string();
            assert!(error.contains(part), "{bad}: {error}");
        }
        assert!(Kernel::parse(&"(".repeat(10_000)).is_err());
        assert!(Kernel::parse(&format!("linear{}", "^2".repeat(10_000))).is_err());
    }

    #[test]
    fn every_rule_gives_a_symmetric_positive_kernel() {
        let points = sample(40, 3);
        let x = X::dense(&points.values, 3).unwrap();
        for text in KERNELS {
            let kernel = Kernel::parse(text).unwrap();
            kernel.check(3).unwrap();
            assert!(kernel.proved(), "{text}");
            let mut gram = Matrix::zeros(40, 40);
            kernel.block(&x, &x, &mut gram.values);
            let scale = (0..40).map(|i| gram[(i, i)].abs()).sum::<f64>();
            for i in 0..40 {
                assert!((gram[(i, i)] - kernel.diagonal(&x)[i]).abs() < 1e-12 * scale, "{text}: diagonal");
                for j in 0..i {
                    assert!((gram[(i, j)] - gram[(j, i)]).abs() < 1e-12 * scale, "{text}: symmetry");
                }
            }
            assert!(Eigen::new(&gram).unwrap().values[0] > -1e-12 * scale, "{text}: eigenvalue");
            assert_eq!(kernel.definiteness(&x), None);
        }
    }

    #[test]
    fn what_is_not_positive_is_noticed() {
        let points = sample(60, 3);
        let x = X::dense(&points.values, 3).unwrap();
        for text in [
            "-1*rbf(gamma=1)",
            "sigmoid(gamma=1, coef0=-1)",
            "rbf(gamma=1) + -2*linear",
            "poly(degree=2, gamma=1, coef0=-1)",
        ] {
            let kernel = Kernel::parse(text).unwrap();
            assert!(!kernel.proved(), "{text}");
            let note = kernel.definiteness(&x).unwrap_or_else(|| panic!("{text} passed"));
            assert!(note.contains("not positive semi-definite") && note.contains(text), "{note}");
        }
        let product = Kernel::parse("precomputed*linear").unwrap();
        assert!(product.check(3).unwrap_err().to_string().contains("precomputed"));
        assert!(Kernel::parse("rbf[7]").unwrap().check(3).is_err());
    }

    #[test]
    fn sparse_blocks_equal_dense_blocks() {
        let points = sample(30, 3);
        let dense = X::dense(&points.values, 3).unwrap();
        let (mut starts, mut columns, mut values) = (vec![0], vec![], vec![]);
        for row in points.values.chunks(3) {
            for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                columns.push(j as u32);
                values.push(v);
            }
            starts.push(values.len());
        }
        let sparse = X::csr(&starts, &columns, &values, 3).unwrap();
        for text in KERNELS {
            let kernel = Kernel::parse(text).unwrap();
            let mut expected = vec![0.0; 30 * 10];
            kernel.block(&dense, &dense.slice(0..10), &mut expected);
            for (a, b) in [(sparse, sparse), (dense, sparse), (sparse, dense)] {
                let mut found = vec![0.0; 30 * 10];
                kernel.block(&a, &b.slice(0..10), &mut found);
                let scale = expected.iter().fold(1.0, |s: f64, v| s.max(v.abs()));
                assert!(expected.iter().zip(&found).all(|(e, f)| (e - f).abs() < 1e-12 * scale), "{text}");
            }
        }
    }
}
