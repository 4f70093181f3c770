//! Randomness by name: a stream belongs to (seed, what, index), never to a thread or a machine.

use rand::{Rng, SeedableRng, rand_core::TryRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::convert::Infallible;

/// A named random stream. Use it through `rand`'s traits or the few draws below, whose results are part of the model.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    pub fn new(seed: u64, what: &str, index: u64) -> Self {
        Stream(Xoshiro256PlusPlus::seed_from_u64(key(seed, what, index)))
    }

    /// Uniform in [0, 1), 53 bits.
    pub fn uniform(&mut self) -> f64 {
        unit(self.0.next_u64())
    }

    /// Uniform in 0..n, without bias (Lemire 2019).
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        assert!(n > 0, "an empty range has nothing to draw");
        loop {
            let wide = u128::from(self.0.next_u64()) * u128::from(n);
            if wide as u64 >= n || wide as u64 >= n.wrapping_neg() % n {
                return (wide >> 64) as usize;
            }
        }
    }

    /// Standard normal, by the polar method (Marsaglia and Bray 1964).
    pub fn normal(&mut self) -> f64 {
        loop {
            let (u, v) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                return u * (-2.0 * s.ln() / s).sqrt();
            }
        }
    }

    /// Fisher and Yates.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for i in (1..values.len()).rev() {
            values.swap(i, self.below(i + 1));
        }
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(bytes)
    }
}

/// 64 well-mixed bits of (seed, what, index): one draw where a whole stream would be too much, as for sampling a row.
pub fn key(seed: u64, what: &str, index: u64) -> u64 {
    let mut state = mix(seed ^ 0x9e37_79b9_7f4a_7c15);
    for byte in what.bytes() {
        state = mix(state ^ u64::from(byte)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    }
    mix(state ^ mix(index.wrapping_add(0x632b_e59b_d9b4_e019)))
}

/// Uniform in [0, 1) from 64 bits.
pub fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// The finaliser of splitmix64 (Stafford's variant 13).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_each_part_of_their_name() {
        let first = |seed, what, index| Stream::new(seed, what, index).uniform();
        let draws = [first(0, "tree", 0), first(1, "tree", 0), first(0, "fold", 0), first(0, "tree", 1)];
        for i in 0..4 {
            for j in 0..i {
                assert_ne!(draws[i], draws[j]);
            }
        }
        assert_eq!(first(7, "tree", 3), first(7, "tree", 3));
    }

    #[test]
    fn draws_have_their_moments() {
        let mut stream = Stream::new(1, "test", 0);
        let n = 200_000;
        let mean = |draws: &[f64]| draws.iter().sum::<f64>() / draws.len() as f64;
        let uniform: Vec<f64> = (0..n).map(|_| stream.uniform()).collect();
        assert!((mean(&uniform) - 0.5).abs() < 0.003);
        let normal: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let squares: Vec<f64> = normal.iter().map(|z| z * z).collect();
        assert!(mean(&normal).abs() < 0.01 && (mean(&squares) - 1.0).abs() < 0.02);
        let rows: Vec<f64> = (0..n).map(|row| unit(key(3, "row", row))).collect();
        assert!((mean(&rows) - 0.5).abs() < 0.003);
        let mut counts = [0; 3];
        (0..30_000).for_each(|_| counts[stream.below(3)] += 1);
        assert!(counts.iter().all(|&count| (9_500..10_500).contains(&count)), "{counts:?}");
    }
}
