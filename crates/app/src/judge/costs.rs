//! What it costs to miss a class, and the class that it costs least to name.

use ermine::{Error, Matrix, Result};
use std::str::FromStr;

/// Costs as they are asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Costs {
    /// A class costs the more the rarer it is: every class as a whole counts alike.
    Balanced,
    /// By name; others cost 1.
    Named(Vec<(String, f64)>),
}

impl FromStr for Costs {
    type Err = Error;

    /// `balanced`, or `CLASS=COST` with commas between several.
    fn from_str(text: &str) -> Result<Costs> {
        if text == "balanced" {
            return Ok(Costs::Balanced);
        }
        let pair = |piece: &str| {
            let (class, cost) = piece.rsplit_once('=')?;
            let cost = cost.trim().parse().ok().filter(|cost: &f64| *cost > 0.0 && cost.is_finite())?;
            Some((class.trim().to_string(), cost))
        };
        // A name may have a comma in it, and is then given alone.
        let all = text.split(',').map(pair).collect::<Option<Vec<_>>>().or_else(|| Some(vec![pair(text)?]));
        all.map(Costs::Named).ok_or_else(|| {
            Error::Data(format!("costs are 'balanced' or CLASS=COST with a cost above 0, such as yes=5, not '{text}'"))
        })
    }
}

impl Costs {
    /// The cost of each class, in their order; `counts` are its rows.
    pub fn of(&self, classes: &[String], counts: &[usize]) -> Result<Vec<f64>> {
        match self {
            Costs::Balanced => {
                let total: usize = counts.iter().sum();
                let each = total as f64 / classes.len().max(1) as f64;
                Ok(counts.iter().map(|&count| each / count.max(1) as f64).collect())
            }
            Costs::Named(named) => {
                let mut costs = vec![1.0; classes.len()];
                for (name, cost) in named {
                    let found = classes.iter().position(|class| class == name);
                    let unknown = || Error::Unknown { what: "class", name: name.clone(), known: classes.to_vec() };
                    costs[found.ok_or_else(unknown)?] = *cost;
                }
                Ok(costs)
            }
        }
    }
}

/// The class of least expected cost. To name class k costs the sum of `p_c cost_c` over all others, so the best is the
/// one with the largest `p_k cost_k`.
pub fn cheapest(probability: &Matrix, costs: &[f64]) -> Matrix {
    let best = |row: &[f64]| {
        let mut best = 0;
        for class in 1..row.len() {
            if row[class] * costs[class] > row[best] * costs[best] {
                best = class;
            }
        }
        best as f64
    };
    let classes = probability.values.chunks(probability.cols.max(1)).map(best).collect();
    Matrix::new(classes, probability.rows, 1)
}

/// Mean cost of a row.
pub fn mean_cost(codes: &[u32], called: &[f64], costs: &[f64], weights: Option<&[f64]>) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for (i, (&code, &called)) in codes.iter().zip(called).enumerate() {
        let weight = weights.map_or(1.0, |weights| weights[i]);
        total += weight;
        if f64::from(code) != called {
            sum += weight * costs[code as usize];
        }
    }
    sum / total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_named_has_the_least_expected_cost() {
        let costs = [1.0, 4.0, 2.5];
        let rows = [[0.7, 0.2, 0.1], [0.81, 0.19, 0.0], [0.1, 0.3, 0.6], [0.0, 0.0, 1.0]];
        let said = cheapest(&Matrix::new(rows.concat(), 4, 3), &costs);
        for (row, called) in rows.iter().zip(&said.values) {
            let expected = |k: usize| (0..3).filter(|&c| c != k).map(|c| row[c] * costs[c]).sum::<f64>();
            assert!((0..3).all(|k| expected(*called as usize) <= expected(k) + 1e-15), "{row:?}: {called}");
        }
        assert_eq!(said.values, [1.0, 0.0, 2.0, 2.0]);
        assert_eq!(mean_cost(&[1, 0, 1, 2], &said.values, &costs, None), 4.0 / 4.0);
    }

    #[test]
    fn costs_are_read() {
        let classes = ["no".to_string(), "a, b=c".to_string()];
        let read = |text: &str| text.parse::<Costs>().and_then(|costs| costs.of(&classes, &[30, 10]));
        assert_eq!(read("no=2").unwrap(), [2.0, 1.0]);
        assert_eq!(read("a, b=c=7.5").unwrap(), [1.0, 7.5]);
        assert_eq!(read("balanced").unwrap(), [20.0 / 30.0, 2.0]);
        for wrong in ["", "no", "no=0", "no=-1", "no=inf", "no=x", "other=2"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
