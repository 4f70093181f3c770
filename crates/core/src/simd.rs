//! The few loops that everything runs on, compiled for the widest vectors of the machine and chosen at run time.
//!
//! Sums are cut into eight independent chains, so that they vectorise and always add in the same order: a result
//! depends on the numbers and their length, not on alignment or thread.

use pulp::Arch;
use std::sync::LazyLock;

static ARCH: LazyLock<Arch> = LazyLock::new(Arch::new);

/// Runs `f` compiled for the widest vectors of this machine. Worth it around a loop, not inside one. Write the closure
/// as `#[inline(always)] || ...`: left outside the dispatch by the optimiser, its `mul_add` is a call to the library,
/// many times slower.
#[inline(always)]
pub fn vectorised<R>(f: impl FnOnce() -> R) -> R {
    ARCH.dispatch(f)
}

/// Asks for a value that is needed soon, where the next addresses are known and nowhere near each other.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint about memory that is borrowed here; it reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

const LANES: usize = 8;

#[inline(always)]
fn dot_inline(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    let mut sums = [0.0; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let tail: f64 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    fold(sums) + tail
}

#[inline(always)]
fn fold(sums: [f64; LANES]) -> f64 {
    ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]))
}

/// `sum_i a[i] b[i]`
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    if a.len() < 16 {
        dot_inline(a, b)
    } else {
        vectorised(
            #[inline(always)]
            || dot_inline(a, b),
        )
    }
}

#[inline(always)]
fn distance2_inline(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    let mut sums = [0.0; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let tail: f64 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(x, y)| (x - y) * (x - y)).sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for lane in 0..LANES {
            let d = x[lane] - y[lane];
            sums[lane] += d * d;
        }
    }
    fold(sums) + tail
}

/// `sum_i (a[i] - b[i])^2`
pub fn distance2(a: &[f64], b: &[f64]) -> f64 {
    if a.len() < 16 {
        distance2_inline(a, b)
    } else {
        vectorised(
            #[inline(always)]
            || distance2_inline(a, b),
        )
    }
}

/// `out += a x`
pub fn add_scaled(a: f64, x: &[f64], out: &mut [f64]) {
    if x.len() < 16 {
        add_scaled_inline(a, x, out)
    } else {
        vectorised(
            #[inline(always)]
            || add_scaled_inline(a, x, out),
        )
    }
}

#[inline(always)]
fn add_scaled_inline(a: f64, x: &[f64], out: &mut [f64]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out += a * x;
    }
}

/// `out[i] = row_i . w` for row-major `x`.
pub fn matrix_vector(x: &[f64], cols: usize, w: &[f64], out: &mut [f64]) {
    vectorised(
        #[inline(always)]
        || {
            for (row, out) in x.chunks_exact(cols).zip(out) {
                *out = dot_inline(row, w);
            }
        },
    );
}

/// `out += sum_i r[i] row_i` for row-major `x`; four rows at a time, so that `out` is read and written a quarter as
/// often.
pub fn add_transposed_vector(x: &[f64], cols: usize, r: &[f64], out: &mut [f64]) {
    vectorised(
        #[inline(always)]
        || {
            let out = &mut out[..cols];
            let mut rows = x.chunks_exact(4 * cols);
            let mut weights = r.chunks_exact(4);
            for (x, r) in rows.by_ref().zip(weights.by_ref()) {
                let (x0, rest) = x.split_at(cols);
                let (x1, rest) = rest.split_at(cols);
                let (x2, x3) = rest.split_at(cols);
                for j in 0..cols {
                    out[j] += (r[0] * x0[j] + r[1] * x1[j]) + (r[2] * x2[j] + r[3] * x3[j]);
                }
            }
            for (x, &r) in rows.remainder().chunks_exact(cols).zip(weights.remainder()) {
                add_scaled_inline(r, x, out);
            }
        },
    );
}

/// Whether no value is NaN or infinite: `v * 0` is 0 for a finite number and NaN otherwise.
pub fn all_finite(values: &[f64]) -> bool {
    vectorised(
        #[inline(always)]
        || {
            let mut sums = [0.0; LANES];
            let chunks = values.chunks_exact(LANES);
            let tail: f64 = chunks.remainder().iter().map(|v| v * 0.0).sum();
            for chunk in chunks {
                for lane in 0..LANES {
                    sums[lane] += chunk[lane] * 0.0;
                }
            }
            fold(sums) + tail == 0.0
        },
    )
}

/// e^x to about one unit in the last place, in a form that vectorises: x = k ln 2 + r, e^r by a polynomial, times 2^k.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    const SHIFT: f64 = 6755399441055744.0; // 1.5 * 2^52: adding it rounds to an integer held in the low bits
    const LN2_HIGH: f64 = 6.93147180369123816490e-01;
    const LN2_LOW: f64 = 1.90821492927058770002e-10;
    let clamped = x.clamp(-708.0, 709.0);
    let shifted = clamped * std::f64::consts::LOG2_E + SHIFT;
    let k = shifted - SHIFT;
    let r = (clamped - k * LN2_HIGH) - k * LN2_LOW;
    // Taylor to r^13: |r| <= 0.347, so the rest is below 1e-17.
    let mut p = 1.0 / 6227020800.0;
    for coefficient in [
        1.0 / 479001600.0,
        1.0 / 39916800.0,
        1.0 / 3628800.0,
        1.0 / 362880.0,
        1.0 / 40320.0,
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        p = p * r + coefficient;
    }
    // The integer k sits in the low bits of `shifted`; moved to the exponent it is 2^k.
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    let value = p * power;
    if x < -708.0 {
        0.0
    } else if x > 709.0 {
        f64::INFINITY
    } else {
        value
    }
}

/// 1 / (1 + e^-x), exact in both tails.
#[inline(always)]
pub fn sigmoid(x: f64) -> f64 {
    let e = exp(-x.abs());
    let s = e / (1.0 + e);
    if x < 0.0 { s } else { 1.0 - s }
}

/// Turns scores into probabilities and returns ln sum e^s.
#[inline(always)]
pub fn softmax(scores: &mut [f64]) -> f64 {
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for s in scores.iter_mut() {
        *s = exp(*s - top);
        sum += *s;
    }
    scores.iter_mut().for_each(|s| *s /= sum);
    top + sum.ln()
}

/// tanh x to a few units in the last place: (1 - e^-2|x|) / (1 + e^-2|x|), and the series where that would cancel.
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    let e = exp(-2.0 * x.abs());
    let far = ((1.0 - e) / (1.0 + e)).copysign(x);
    let square = x * x;
    let mut near = 6404582.0 / 10854718875.0;
    for coefficient in [
        -929569.0 / 638512875.0,
        21844.0 / 6081075.0,
        -1382.0 / 155925.0,
        62.0 / 2835.0,
        -17.0 / 315.0,
        2.0 / 15.0,
        -1.0 / 3.0,
        1.0,
    ] {
        near = near * square + coefficient;
    }
    if square < 0.04 { x * near } else { far }
}

/// ln(1 + e^x) without overflow or cancellation.
#[inline(always)]
pub fn softplus(x: f64) -> f64 {
    x.max(0.0) + exp(-x.abs()).ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_matches_the_library() {
        let mut worst = 0.0f64;
        for i in -70000..=70000 {
            let x = i as f64 / 100.0;
            worst = worst.max((exp(x) / x.exp() - 1.0).abs());
        }
        assert!(worst < 5e-16, "{worst:e}");
        assert_eq!(exp(-1000.0), 0.0);
        assert_eq!(exp(1000.0), f64::INFINITY);
        assert!(exp(f64::NAN).is_nan());
    }

    #[test]
    fn tanh_matches_the_library() {
        for i in -40000..=40000 {
            let x = i as f64 / 1000.0 + 1e-9;
            assert!((tanh(x) / x.tanh() - 1.0).abs() < 2e-15, "{x}");
        }
        assert_eq!((tanh(0.0), tanh(1e3), tanh(-1e3)), (0.0, 1.0, -1.0));
        assert!(tanh(f64::NAN).is_nan());
    }

    #[test]
    fn sums_agree_with_the_plain_loop() {
        for n in [0, 1, 7, 8, 15, 16, 17, 100] {
            let a: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
            let b: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).cos()).collect();
            let plain: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            assert!((dot(&a, &b) - plain).abs() < 1e-13);
            let plain: f64 = a.iter().zip(&b).map(|(x, y)| (x - y) * (x - y)).sum();
            assert!((distance2(&a, &b) - plain).abs() < 1e-12);
        }
    }

    #[test]
    fn one_bad_value_is_seen_anywhere() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for i in 0..37 {
                let mut values = [1e300; 37];
                assert!(all_finite(&values));
                values[i] = bad;
                assert!(!all_finite(&values));
            }
        }
    }
}
