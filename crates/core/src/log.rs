//! How a fit went, and the proof of how good it is.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Comes with every model. Not converging is data here, a warning in Python and a line in the report; never an error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FitLog {
    /// Passes over the data, or iterations of the method.
    pub passes: usize,
    pub stop: Stop,
    /// Value of the objective after each pass, where it is known.
    pub objective: Vec<f64>,
    pub certificate: Certificate,
    /// What the user should know: a column that was dropped, a start that was replaced.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Stop {
    /// A closed form, nothing to iterate.
    #[default]
    Exact,
    Converged,
    /// The iterations ran out before the tolerance was met.
    MaxIter,
    /// No step lowers the objective any more: rounding is the limit.
    NoProgress,
    /// A held-out score stopped rising.
    EarlyStopping,
    /// The passes that were asked for are made, and no tolerance was given.
    Passes,
}

/// What proves the quality of the solution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Certificate {
    /// The method has no optimality condition to check.
    #[default]
    None,
    /// Primal minus dual objective: no solution is better than this one by more.
    DualityGap { gap: f64, tolerance: f64 },
    /// Largest component of the gradient of the (sub-)differentiable objective at the solution.
    Gradient { norm: f64, tolerance: f64 },
    /// The objective never rose from pass to pass (or where it did, by how much at most).
    Monotone { largest_rise: f64 },
    /// A linear system solved directly.
    LeastSquares { rank: usize, columns: usize, condition: f64, method: String, redundant: Vec<Redundant> },
}

/// A column that is a combination of others: `column = sum coefficient * other (+ constant)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Redundant {
    pub column: usize,
    pub of: Vec<(usize, f64)>,
}

impl FitLog {
    pub fn exact(certificate: Certificate) -> Self {
        FitLog { passes: 1, certificate, ..FitLog::default() }
    }

    pub fn converged(&self) -> bool {
        self.stop != Stop::MaxIter
    }

    /// For methods that promise a falling objective: how they kept it.
    pub fn monotone(objective: &[f64]) -> Certificate {
        let rise = objective.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
        Certificate::Monotone { largest_rise: rise }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::Exact => "closed form",
            Stop::Converged => "converged",
            Stop::MaxIter => "iterations ran out",
            Stop::NoProgress => "as far as rounding allows",
            Stop::EarlyStopping => "stopped early",
            Stop::Passes => "all passes made",
        })
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Certificate::None => f.write_str("none"),
            Certificate::DualityGap { gap, tolerance } => {
                write!(f, "duality gap {gap:.1e} (tolerance {tolerance:.1e})")
            }
            Certificate::Gradient { norm, tolerance } => write!(f, "gradient {norm:.1e} (tolerance {tolerance:.1e})"),
            Certificate::Monotone { largest_rise: 0.0 } => f.write_str("objective never rose"),
            Certificate::Monotone { largest_rise } => write!(f, "objective rose by up to {largest_rise:.1e}"),
            Certificate::LeastSquares { rank, columns, condition, method, .. } => {
                write!(f, "rank {rank} of {columns}, condition {condition:.1e}, by {method}")
            }
        }
    }
}

impl Redundant {
    /// For the notes of a log. Estimators know columns by number; the edges put in names with [`name_columns`].
    pub fn note(&self) -> String {
        let of: Vec<String> = self.of.iter().map(|(j, factor)| format!("{factor:.4} x column {j}")).collect();
        let of = if of.is_empty() { "a constant".into() } else { of.join(" + ") };
        format!("column {} is redundant: it equals {of}", self.column)
    }
}

/// Replaces column numbers by names: "column 3" becomes "column 'age'".
pub fn name_columns(note: &str, names: &[String]) -> String {
    let mut pieces = note.split("column ");
    let mut out = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        out.push_str("column ");
        match piece[..digits].parse().ok().and_then(|column: usize| names.get(column)) {
            Some(name) => out.push_str(&format!("'{name}'{}", &piece[digits..])),
            None => out.push_str(piece),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_speak_of_columns_by_name() {
        let note = Redundant { column: 12, of: vec![(0, 0.5), (1, -1.0)] }.note();
        assert_eq!(note, "column 12 is redundant: it equals 0.5000 x column 0 + -1.0000 x column 1");
        let names: Vec<String> = ["hours", "column 0"].map(String::from).to_vec();
        let named = name_columns(&note, &names);
        assert_eq!(
            named,
            "column 12 is redundant: it equals 0.5000 x column 'hours' + -1.0000 x column 'column 0'"
        );
        assert_eq!(name_columns("no column at all", &names), "no column at all");
    }
}
