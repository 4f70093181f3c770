//! Pooling adjacent violators (Ayer and others 1955): the rising steps that are nearest to a sequence in weighted
//! squares. O(n).

/// Neighbours that share their mean.
#[derive(Clone, Copy)]
pub struct Pool {
    /// Number of the first, and how many follow it.
    pub first: usize,
    pub count: usize,
    /// `sum w y` and `sum w`
    pub sum: f64,
    pub weight: f64,
}

impl Pool {
    pub fn mean(&self) -> f64 {
        self.sum / self.weight
    }
}

/// The steps of a sequence of (w y, w), each higher than the one before.
pub fn pools(sequence: impl Iterator<Item = (f64, f64)>) -> Vec<Pool> {
    let mut pools: Vec<Pool> = Vec::new();
    for (first, (sum, weight)) in sequence.enumerate() {
        let mut last = Pool { first, count: 1, sum, weight };
        while let Some(before) = pools.pop_if(|before| before.mean() >= last.mean()) {
            last = Pool {
                first: before.first,
                count: before.count + last.count,
                sum: before.sum + last.sum,
                weight: before.weight + last.weight,
            };
        }
        pools.push(last);
    }
    pools
}
