//! How a fit went, and the proof of how good it is.
//!
//! The types keep the two together: whoever solves a problem hands over a bound and a reason to have stopped, and
//! [`FitLog::proven`] alone decides whether that is convergence. Nobody can say so of a gap above its tolerance, and a
//! closed form has one pass.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Comes with every model. Not converging is data here, a warning in Python and a line in the report; never an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct FitLog {
    /// Value of the objective after each pass, where it is known: of the problem as the model states it.
    pub objective: Vec<f64>,
    /// What the user should know: a column that was dropped, a start that was replaced.
    pub notes: Vec<String>,
    passes: usize,
    stop: Stop,
    certificate: Certificate,
}

/// Why a fit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A closed form, nothing to iterate.
    Exact,
    /// The bound on how far the objective is from its optimum is below the tolerance.
    Converged,
    /// Something else ended it.
    Halted(Halt),
}

/// What ends a fit other than a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The iterations ran out before the tolerance was met.
    MaxIter,
    /// No step lowers the objective any more: rounding is the limit.
    Rounding,
    /// The objective stands still although the tolerance is not met.
    Stalled,
    /// The objective still falls, but by less than the tolerance per pass: steps are too small.
    TooSlow,
    /// The gradient is within its tolerance, which proves no bound where nothing is strongly convex.
    Stationary,
    /// Nothing changes any more: a fixed point of a method that finds local optima.
    Settled,
    /// A held-out score stopped rising.
    EarlyStopping,
    /// All passes that were asked for are made, and no tolerance was given.
    Passes,
}

/// What proves the quality of the solution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Certificate {
    /// The method has no optimality condition to check.
    #[default]
    None,
    /// No solution is better than this one by more than the gap, in units of the objective.
    #[serde(alias = "DualityGap")]
    Bound { gap: f64, tolerance: f64 },
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

/// An upper bound on objective minus optimum, and what it may be; both in units of the objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    pub gap: f64,
    pub tolerance: f64,
}

impl Bound {
    /// `tol` of the objective, but not less than what rounding of sums of this `magnitude` leaves.
    pub fn new(gap: f64, tol: f64, objective: f64, magnitude: f64) -> Bound {
        let floor = 32.0 * f64::EPSILON * magnitude.abs().max(objective.abs());
        // A gap that rounding made negative is none; one that is no number proves nothing.
        let gap = if gap.is_nan() { f64::INFINITY } else { gap.max(0.0) };
        Bound { gap, tolerance: (tol * objective.abs()).max(floor).max(f64::MIN_POSITIVE) }
    }

    pub fn holds(&self) -> bool {
        self.gap <= self.tolerance
    }

    /// The same in other units.
    pub fn times(self, factor: f64) -> Bound {
        Bound { gap: self.gap * factor, tolerance: self.tolerance * factor }
    }

    /// Of several problems solved apart: no sum of objectives is better by more than the sum of gaps.
    pub fn sum(bounds: impl Iterator<Item = Bound>) -> Bound {
        bounds.fold(Bound { gap: 0.0, tolerance: 0.0 }, |sum, bound| Bound {
            gap: sum.gap + bound.gap,
            tolerance: sum.tolerance + bound.tolerance,
        })
    }
}

impl FitLog {
    pub fn exact(certificate: Certificate) -> Self {
        FitLog { objective: Vec::new(), notes: Vec::new(), passes: 1, stop: Stop::Exact, certificate }
    }

    /// Converged if the bound is within its tolerance, and else what ended it.
    pub fn proven(passes: usize, objective: Vec<f64>, bound: Bound, otherwise: Halt) -> Self {
        let stop = if bound.holds() { Stop::Converged } else { Stop::Halted(otherwise) };
        // An infinite bound is none.
        let certificate = match bound.gap.is_finite() {
            true => Certificate::Bound { gap: bound.gap, tolerance: bound.tolerance },
            false => Certificate::None,
        };
        FitLog { objective, notes: Vec::new(), passes: passes.max(1), stop, certificate }
    }

    /// Of a method that proves no bound.
    pub fn ended(passes: usize, objective: Vec<f64>, halt: Halt, certificate: Certificate) -> Self {
        FitLog { objective, notes: Vec::new(), passes: passes.max(1), stop: Stop::Halted(halt), certificate }
    }

    /// Of members fitted one by one: nothing is iterated between them.
    pub fn members(count: usize) -> Self {
        FitLog::ended(count, Vec::new(), Halt::Passes, Certificate::None)
    }

    pub fn with_notes(mut self, notes: Vec<String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// Passes over the data, or iterations of the method.
    pub fn passes(&self) -> usize {
        self.passes
    }

    pub fn stop(&self) -> Stop {
        self.stop
    }

    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Whether the fit is what was asked for: proven within tolerance, or a fixed point of a method that has no proof.
    pub fn converged(&self) -> bool {
        match self.stop {
            Stop::Exact | Stop::Converged => true,
            Stop::Halted(halt) => matches!(halt, Halt::Settled | Halt::Stationary),
        }
    }

    /// Whether a tolerance was asked for and not met, which a user should hear.
    pub fn unfinished(&self) -> bool {
        matches!(self.stop, Stop::Halted(Halt::MaxIter | Halt::Rounding | Halt::TooSlow))
    }

    /// For methods that promise a falling objective: how they kept it.
    pub fn monotone(objective: &[f64]) -> Certificate {
        // Below this it is the rounding of the sums.
        let noise = |value: f64| 16.0 * f64::EPSILON * value.abs();
        let rise = |pair: &[f64]| if pair[1] - pair[0] <= noise(pair[0]) { 0.0 } else { pair[1] - pair[0] };
        let rise = objective.windows(2).map(rise).fold(0.0, f64::max);
        Certificate::Monotone { largest_rise: rise }
    }

    /// What is proven, relative to the objective where that is known.
    pub fn proof(&self) -> String {
        match (&self.certificate, self.objective.last()) {
            (&Certificate::Bound { gap, tolerance }, Some(&objective)) if objective > 0.0 => format!(
                "at most {:.1e} of the objective above the optimum (tolerance {:.1e})",
                gap / objective,
                tolerance / objective
            ),
            (certificate, _) => certificate.to_string(),
        }
    }
}

impl Default for FitLog {
    fn default() -> Self {
        FitLog::exact(Certificate::None)
    }
}

/// How the fit ended and what is proven, in one line.
impl fmt::Display for FitLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.stop, self.passes) {
            (Stop::Exact, _) => write!(f, "{}", self.stop)?,
            (stop, 1) => write!(f, "{stop} after 1 pass")?,
            (stop, passes) => write!(f, "{stop} after {passes} passes")?,
        }
        if self.certificate != Certificate::None {
            write!(f, "; {}", self.proof())?;
        }
        Ok(())
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::Exact => "closed form",
            Stop::Converged => "converged",
            Stop::Halted(halt) => return halt.fmt(f),
        })
    }
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Halt::MaxIter => "pass limit reached",
            Halt::Rounding => "no further step lowers the objective in double precision",
            Halt::Stalled => "objective stopped falling",
            Halt::TooSlow => "objective still falling, but by less than the tolerance per pass",
            Halt::Stationary => "gradient within tolerance",
            Halt::Settled => "settled",
            Halt::EarlyStopping => "stopped early",
            Halt::Passes => "finished",
        })
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Certificate::None => f.write_str("none"),
            Certificate::Bound { gap, tolerance } => {
                write!(f, "at most {gap:.1e} above the optimum (tolerance {tolerance:.1e})")
            }
            Certificate::Gradient { norm, tolerance } => write!(f, "gradient {norm:.1e} (tolerance {tolerance:.1e})"),
            Certificate::Monotone { largest_rise: 0.0 } => f.write_str("objective never rose"),
            Certificate::Monotone { largest_rise } => write!(f, "objective rose by up to {largest_rise:.1e}"),
            Certificate::LeastSquares { rank, columns, condition, method, .. } => {
                let condition =
                    if (1.0..1e4).contains(condition) { format!("{condition:.0}") } else { format!("{condition:.1e}") };
                write!(f, "rank {rank} of {columns}, condition {condition}, by {method}")
            }
        }
    }
}

/// As it stands in model files and in Python: old files must load, so fields and variants are only ever added at the
/// end.
#[derive(Serialize, Deserialize)]
struct Stored {
    passes: usize,
    stop: StoredStop,
    objective: Vec<f64>,
    certificate: Certificate,
    notes: Vec<String>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum StoredStop {
    Exact,
    Converged,
    MaxIter,
    #[serde(alias = "NoProgress")]
    Rounding,
    EarlyStopping,
    Passes,
    Stalled,
    TooSlow,
    Stationary,
    Settled,
}

impl From<Stored> for FitLog {
    fn from(stored: Stored) -> Self {
        let Stored { passes, stop, objective, certificate, notes } = stored;
        let halted = |halt| FitLog::ended(passes, objective.clone(), halt, certificate.clone());
        let log = match (stop, &certificate) {
            // Earlier versions called ensembles closed forms, and anything converged that had not run out of passes.
            (StoredStop::Exact, _) if passes > 1 => halted(Halt::Passes),
            (StoredStop::Exact, _) => FitLog { objective, ..FitLog::exact(certificate) },
            (StoredStop::Converged, &Certificate::Bound { gap, tolerance }) => {
                FitLog::proven(passes, objective, Bound { gap, tolerance }, Halt::Rounding)
            }
            (StoredStop::Converged, Certificate::Gradient { .. }) => halted(Halt::Stationary),
            (StoredStop::Converged, _) => halted(Halt::Settled),
            (StoredStop::MaxIter, _) => halted(Halt::MaxIter),
            (StoredStop::Rounding, _) => halted(Halt::Rounding),
            (StoredStop::EarlyStopping, _) => halted(Halt::EarlyStopping),
            (StoredStop::Passes, _) => halted(Halt::Passes),
            (StoredStop::Stalled, _) => halted(Halt::Stalled),
            (StoredStop::TooSlow, _) => halted(Halt::TooSlow),
            (StoredStop::Stationary, _) => halted(Halt::Stationary),
            (StoredStop::Settled, _) => halted(Halt::Settled),
        };
        log.with_notes(notes)
    }
}

impl From<FitLog> for Stored {
    fn from(log: FitLog) -> Self {
        let stop = match log.stop {
            Stop::Exact => StoredStop::Exact,
            Stop::Converged => StoredStop::Converged,
            Stop::Halted(halt) => match halt {
                Halt::MaxIter => StoredStop::MaxIter,
                Halt::Rounding => StoredStop::Rounding,
                Halt::Stalled => StoredStop::Stalled,
                Halt::TooSlow => StoredStop::TooSlow,
                Halt::Stationary => StoredStop::Stationary,
                Halt::Settled => StoredStop::Settled,
                Halt::EarlyStopping => StoredStop::EarlyStopping,
                Halt::Passes => StoredStop::Passes,
            },
        };
        let FitLog { objective, notes, passes, certificate, .. } = log;
        // Text has no way to write what is not finite.
        let objective =
            objective.into_iter().map(|value| if value.is_nan() { f64::MAX } else { value.clamp(f64::MIN, f64::MAX) });
        let objective = objective.collect();
        Stored { passes, stop, objective, certificate, notes }
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
    fn only_a_bound_within_tolerance_is_convergence() {
        let bound = |gap| Bound::new(gap, 1e-4, 10.0, 10.0);
        assert_eq!(FitLog::proven(3, vec![10.0], bound(1e-3), Halt::MaxIter).stop(), Stop::Converged);
        for gap in [1.1e-3, f64::INFINITY, f64::NAN] {
            let log = FitLog::proven(3, vec![10.0], bound(gap), Halt::MaxIter);
            assert!(!log.converged() && log.unfinished(), "{log}");
        }
        // What an earlier version would have called converged.
        let text = r#"{"passes":2,"stop":"Converged","objective":[1.0],"notes":[],
            "certificate":{"DualityGap":{"gap":1400.0,"tolerance":270.0}}}"#;
        let old: FitLog = serde_json::from_str(text).unwrap();
        assert!(!old.converged(), "{old}");
    }

    #[test]
    fn no_line_says_what_cannot_be() {
        let log = FitLog::proven(0, vec![0.0], Bound::new(0.0, 1e-4, 0.0, 0.0), Halt::MaxIter);
        assert!(log.converged() && log.passes() == 1 && !log.to_string().contains("tolerance 0"), "{log}");
        assert_eq!(FitLog::exact(Certificate::None).to_string(), "closed form");
        assert_eq!(FitLog::members(100).to_string(), "finished after 100 passes");
    }

    #[test]
    fn logs_of_every_kind_come_back_from_text() {
        use Halt::*;
        let halts = [MaxIter, Rounding, Stalled, TooSlow, Stationary, Settled, EarlyStopping, Passes];
        for halt in halts {
            let log = FitLog::ended(7, vec![2.0, 1.0], halt, FitLog::monotone(&[2.0, 1.0]));
            let back: FitLog = serde_json::from_str(&serde_json::to_string(&log).unwrap()).unwrap();
            assert_eq!(back, log);
        }
    }

    #[test]
    fn notes_speak_of_columns_by_name() {
        let note = Redundant { column: 12, of: vec![(0, 0.5), (1, -1.0)] }.note();
        assert_eq!(note, "column 12 is redundant: it equals 0.5000 x column 0 + -1.0000 x column 1");
        let names: Vec<String> = ["hours", "column 0"].map(String::from).to_vec();
        let named = name_columns(&note, &names);
        assert_eq!(named, "column 12 is redundant: it equals 0.5000 x column 'hours' + -1.0000 x column 'column 0'");
        assert_eq!(name_columns("no column at all", &names), "no column at all");
    }
}
