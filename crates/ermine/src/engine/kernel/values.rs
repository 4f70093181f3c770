//! The values of a kernel: blocks of a Gram matrix, and its diagonal.

use super::{Kernel, Map};
use crate::{
    Matrix, OwnedX, X,
    core::{
        data::Row,
        simd::{add_scaled, exp, vectorised},
    },
    engine::points::{for_each_pair, products},
};

impl Kernel {
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
                polynomial(a, b, (degree.unwrap_or(3.0), gamma.unwrap_or(1.0), coef0.unwrap_or(0.0)), out)
            }
            Kernel::Rbf { gamma } => gaussian(a, b, gamma.unwrap_or(1.0), out),
            Kernel::Laplacian { gamma } => laplacian(a, b, gamma.unwrap_or(1.0), out),
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
            Kernel::Precomputed => precomputed(a, ids, m, out),
            Kernel::Constant(c) => out.fill(*c),
            Kernel::Sum(parts) | Kernel::Product(parts) => self.combined(parts, a, b, out),
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

    /// The sum or the product of several.
    fn combined(&self, parts: &[Kernel], a: &X, b: &X, out: &mut [f64]) {
        let add = matches!(self, Kernel::Sum(_));
        out.fill(if add { 0.0 } else { 1.0 });
        let mut part = vec![0.0; out.len()];
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

impl Kernel {
    /// How far rounding may move k(x, z), relative to the root of k(x, x) k(z, z), for rows such as these.
    pub fn rounding(&self, x: &X) -> f64 {
        const FEW: f64 = 2.0 * f64::EPSILON;
        match self {
            Kernel::Poly { degree, .. } => FEW * degree.unwrap_or(3.0).max(1.0),
            // Of the exponent, which is a difference of norms and products.
            Kernel::Rbf { gamma } => {
                let g = gamma.unwrap_or(1.0);
                let near = FEW * g * norms(x).into_iter().fold(0.0, f64::max);
                // Rows far from zero are moved, by the mean of some.
                FEW + if near <= 2.0 * FAR { near } else { 2.0 * FAR + 4.0 * FEW * g * spread2(x) }
            }
            Kernel::Sum(parts) => parts.iter().map(|k| k.rounding(x)).fold(FEW, f64::max),
            Kernel::Product(parts) => FEW + parts.iter().map(|k| k.rounding(x)).sum::<f64>(),
            Kernel::Power(k, power) => FEW + *power as f64 * k.rounding(x),
            Kernel::Exp(k) => FEW + k.rounding(x) * k.diagonal(x).into_iter().fold(1.0, f64::max),
            Kernel::Normalize(k) => FEW + 3.0 * k.rounding(x),
            Kernel::Columns(k, columns) => k.rounding(&pick(x, columns).x()),
            Kernel::Map(map, k) => k.rounding(&image(x, *map).x()),
            _ => FEW,
        }
    }
}

/// The largest squared distance from the mean of dense rows, from zero of sparse ones.
fn spread2(x: &X) -> f64 {
    let X::Dense(rows) = x else { return norms(x).into_iter().fold(0.0, f64::max) };
    let mut mean = vec![0.0; rows.cols];
    x.iter().for_each(|row| row.add_to(1.0 / rows.rows as f64, &mut mean));
    x.iter().map(|row| row.distance2(&mean)).fold(0.0, f64::max)
}

/// `(g a_i.b_j + c)^d`
fn polynomial(a: &X, b: &X, (d, g, c): (f64, f64, f64), out: &mut [f64]) {
    products(a, b, out);
    vectorised(
        #[inline(always)]
        || match d {
            1.0 => out.iter_mut().for_each(|v| *v = g * *v + c),
            2.0 => out.iter_mut().for_each(|v| *v = (g * *v + c) * (g * *v + c)),
            3.0 => out.iter_mut().for_each(|v| {
                let base = g * *v + c;
                *v = base * base * base;
            }),
            _ if d.fract() == 0.0 && d < 1e9 => out.iter_mut().for_each(|v| *v = (g * *v + c).powi(d as i32)),
            _ => out.iter_mut().for_each(|v| *v = (g * *v + c).powf(d)),
        },
    );
}

/// What rounding may do to the exponent of a Gaussian kernel before rows are moved to their mean.
const FAR: f64 = 1e-13;

/// `exp(-g |a_i - b_j|^2)`
fn gaussian(a: &X, b: &X, g: f64, out: &mut [f64]) {
    let (mut na, mut nb) = (norms(a), norms(b));
    // Far from zero the difference of norms and products loses the distance: about the mean of b it does not.
    let most = na.iter().chain(&nb).fold(0.0f64, |most, norm| most.max(*norm));
    match (a, b) {
        (X::Dense(a), X::Dense(b)) if g * most * f64::EPSILON > FAR && b.rows > 0 => {
            let mut mean = vec![0.0; b.cols];
            b.values.chunks_exact(b.cols).for_each(|row| add_scaled(1.0 / b.rows as f64, row, &mut mean));
            let about = |x: &[f64]| -> Vec<f64> {
                x.chunks_exact(b.cols).flat_map(|row| row.iter().zip(&mean).map(|(x, m)| x - m)).collect()
            };
            let (a, b) = (Matrix::new(about(a.values), a.rows, a.cols), Matrix::new(about(b.values), b.rows, b.cols));
            let (a, b) = (OwnedX::Dense(a), OwnedX::Dense(b));
            (na, nb) = (norms(&a.x()), norms(&b.x()));
            products(&a.x(), &b.x(), out);
        }
        _ => products(a, b, out),
    }
    vectorised(
        #[inline(always)]
        || {
            for (out, na) in out.chunks_exact_mut(b.rows().max(1)).zip(&na) {
                for (v, nb) in out.iter_mut().zip(&nb) {
                    *v = exp(-g * (na + nb - 2.0 * *v).max(0.0));
                }
            }
        },
    );
}

/// `exp(-g |a_i - b_j|_1)`
fn laplacian(a: &X, b: &X, g: f64, out: &mut [f64]) {
    for (i, out) in out.chunks_exact_mut(b.rows().max(1)).enumerate() {
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

/// The columns `ids` of the rows.
fn precomputed(a: &X, ids: &[usize], m: usize, out: &mut [f64]) {
    for (i, out) in out.chunks_exact_mut(m.max(1)).enumerate() {
        match a.row(i) {
            Row::Dense(row) => {
                for (v, &id) in out.iter_mut().zip(ids) {
                    *v = row[id];
                }
            }
            Row::Sparse { columns, values } => {
                for (v, &id) in out.iter_mut().zip(ids) {
                    *v = columns.binary_search(&(id as u32)).map_or(0.0, |at| values[at]);
                }
            }
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
