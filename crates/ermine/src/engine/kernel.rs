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
//! What a leaf does not say (`rbf`, `poly(degree=2)`) it takes from the model's parameters `gamma`, `degree`, `coef0`.
//! Rules of construction prove most kernels positive semi-definite ([`Kernel::proved`]); the others are judged by the
//! smallest eigenvalue of their Gram matrix on rows of the data ([`Kernel::definiteness`]). Gram blocks come from one
//! matrix product wherever the kernel is a function of inner products and norms. (Shawe-Taylor and Cristianini 2004,
//! chapter 3.)

mod text;
mod values;

use crate::{
    Error, Matrix, OwnedX, Result, X,
    core::{choice, linalg::Eigen, param::at_least, simd::add_scaled},
};
use serde::{Deserialize, Serialize};

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
            scale_gamma(x.cols() as f64, variance)
        }
    }
}

/// `1 / (cols variance)`; 1 where there is no variance, or so little that no number is large enough.
pub fn scale_gamma(cols: f64, variance: f64) -> f64 {
    Some(1.0 / (cols * variance)).filter(|gamma| gamma.is_finite()).unwrap_or(1.0)
}

impl Kernel {
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
                "the kernel {self} is not positive semi-definite on the data (smallest eigenvalue {smallest:.1e} of a \
                 Gram matrix \
                 with trace {trace:.1e}): the optimum may be a local one"
            )
        })
    }

    /// Rows as this kernel is fastest with: inner products skip zeros, so where most numbers are zero these are left
    /// out.
    pub fn points(&self, x: &X, rows: impl IntoIterator<Item = usize>) -> OwnedX {
        let points = OwnedX::take(x, rows);
        match self {
            Kernel::Linear | Kernel::Poly { .. } | Kernel::Rbf { .. } | Kernel::Sigmoid { .. } | Kernel::Cosine => {
                points.thinned()
            }
            _ => points,
        }
    }

    /// The mean of the rows where the kernel is linear and they are dense, and nothing otherwise. A machine with an
    /// intercept is the same about any point, and about the mean its products keep the digits that offsets would take.
    pub fn centre(&self, x: &X, rows: &[usize]) -> Vec<f64> {
        let Kernel::Linear = self else { return Vec::new() };
        let OwnedX::Dense(points) = self.points(x, rows.iter().copied()) else { return Vec::new() };
        let mut mean = vec![0.0; points.cols];
        points
            .values
            .chunks_exact(points.cols.max(1))
            .for_each(|row| add_scaled(1.0 / points.rows as f64, row, &mut mean));
        mean
    }

    /// Rows about a centre; where there is none, as they are.
    pub fn points_about(&self, x: &X, rows: impl IntoIterator<Item = usize>, centre: &[f64]) -> OwnedX {
        if centre.is_empty() {
            return self.points(x, rows);
        }
        let mut points = OwnedX::take(x, rows);
        if let OwnedX::Dense(points) = &mut points {
            let each = points.values.chunks_exact_mut(centre.len());
            each.for_each(|row| row.iter_mut().zip(centre).for_each(|(value, mean)| *value -= mean));
        }
        points
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
