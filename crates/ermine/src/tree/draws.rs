//! The rows that the trees of a forest draw, by the generator that numpy's `RandomState` has (Mersenne Twister, Matsumoto
//! and Nishimura 1998) and in the order in which scikit-learn asks it.
//!
//! Tools that look at the rows which a tree did not see draw them again from the tree's seed, with scikit-learn's own
//! functions. They can here too: of one seed, trees of both have the same rows.

/// Words of the generator's state, and how far apart those are that make a new one.
const WORDS: usize = 624;
const APART: usize = 397;

struct Twister {
    words: [u32; WORDS],
    next: usize,
}

impl Twister {
    fn new(seed: u32) -> Self {
        let mut words = [seed; WORDS];
        for i in 1..WORDS {
            let before = words[i - 1];
            words[i] = (before ^ (before >> 30)).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        Twister { words, next: WORDS }
    }

    fn turn(&mut self) {
        for i in 0..WORDS {
            let both = (self.words[i] & 0x8000_0000) | (self.words[(i + 1) % WORDS] & 0x7fff_ffff);
            let odd = if both & 1 == 1 { 0x9908_b0df } else { 0 };
            self.words[i] = self.words[(i + APART) % WORDS] ^ (both >> 1) ^ odd;
        }
        self.next = 0;
    }

    fn word(&mut self) -> u32 {
        if self.next == WORDS {
            self.turn();
        }
        let mut word = self.words[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// Uniform in 0..n: the low bits, drawn again when they are too large. A range of one takes no draw.
    fn below(&mut self, n: u64) -> u64 {
        let most = n - 1;
        if most == 0 {
            return 0;
        }
        let mask = u64::MAX >> most.leading_zeros();
        loop {
            let high = if most > u64::from(u32::MAX) { u64::from(self.word()) << 32 } else { 0 };
            let drawn = (high | u64::from(self.word())) & mask;
            if drawn <= most {
                return drawn;
            }
        }
    }
}

/// The seeds of the trees of a forest, each below 2^31 - 1.
pub fn seeds(seed: u64, trees: usize) -> Vec<u64> {
    let mut twister = Twister::new(seed as u32);
    (0..trees).map(|_| twister.below(i32::MAX as u64)).collect()
}

/// How often a tree draws each row.
pub fn bootstrap(seed: u64, rows: usize, draws: usize) -> Vec<u32> {
    let mut twister = Twister::new(seed as u32);
    let mut counts = vec![0; rows];
    (0..draws).for_each(|_| counts[twister.below(rows as u64) as usize] += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// numpy 2.4: `RandomState(0).randint(np.iinfo(np.int32).max, size=4)`, and `bincount` of
    /// `RandomState(209652396).randint(0, 10, 10)`.
    #[test]
    fn draws_are_those_of_numpy() {
        assert_eq!(seeds(0, 4), SEEDS);
        assert_eq!(bootstrap(SEEDS[0], 10, 10), ROWS);
        assert_eq!(bootstrap(5, 1, 3), [3]);
    }

    const SEEDS: [u64; 4] = [209652396, 398764591, 924231285, 1478610112];
    const ROWS: [u32; 10] = [2, 0, 2, 2, 0, 0, 1, 1, 0, 2];
}
