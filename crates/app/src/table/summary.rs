//! One column in a few numbers, from values that come piece by piece.

use super::{Column, Kind, MAX_LEVELS, MISSING, UNSEEN, date_text, datetime_text, dictionary::hash, number_text};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

/// One column in a few numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub name: String,
    pub kind: Kind,
    pub rows: usize,
    pub missing: usize,
    /// Rows whose level the schema does not know.
    pub unseen: usize,
    /// `None` means more than [`MAX_LEVELS`].
    pub distinct: Option<usize>,
    /// Of numbers and dates; dates as [`Kind`] counts them, [`Summary::text_of`] writes them out.
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// Also of booleans, where it is the share of true.
    pub mean: Option<f64>,
}

impl Summary {
    /// A minimum, maximum or mean of this column for people.
    pub fn text_of(&self, value: f64) -> String {
        match self.kind {
            Kind::Date => date_text(value.floor()),
            Kind::DateTime => datetime_text(value.floor()),
            _ => number_text(value),
        }
    }
}

/// A summary in the making. Values are added in row order, so that pieces of a file give the same bits as the whole.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    rows: usize,
    missing: usize,
    unseen: usize,
    distinct: Distinct,
    range: Option<(f64, f64)>,
    total: Total,
}

/// A sum with what rounding takes from it, so that the mean is the same however the rows are divided.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Total {
    sum: f64,
    rest: f64,
}

impl Total {
    fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        if sum.is_finite() {
            // What the sum has lost (Knuth 1969).
            let kept = sum - self.sum;
            self.rest += (self.sum - (sum - kept)) + (value - kept);
        }
        self.sum = sum;
    }

    fn value(self) -> f64 {
        if self.sum.is_finite() { self.sum + self.rest } else { self.sum }
    }
}

#[derive(Serialize, Deserialize)]
enum Distinct {
    Hashes(FxHashSet<u64>),
    /// Counted elsewhere; `None` is too many.
    Known(Option<usize>),
}

impl Default for Distinct {
    fn default() -> Self {
        Distinct::Hashes(FxHashSet::default())
    }
}

impl Distinct {
    fn add(&mut self, hash: u64) {
        if let Distinct::Hashes(seen) = self {
            seen.insert(hash);
            if seen.len() > MAX_LEVELS {
                *self = Distinct::Known(None);
            }
        }
    }
}

impl Tally {
    pub(crate) fn add(&mut self, column: &Column) {
        self.rows += column.len();
        match column {
            Column::Number(values) | Column::Date(values) | Column::DateTime(values) => {
                for &value in values {
                    if value.is_nan() {
                        self.missing += 1;
                        continue;
                    }
                    let (low, high) = self.range.unwrap_or((value, value));
                    self.range = Some((low.min(value), high.max(value)));
                    self.total.add(value);
                    self.distinct.add((value + 0.0).to_bits());
                }
            }
            Column::Boolean(values) => {
                for value in values {
                    match value {
                        None => self.missing += 1,
                        Some(value) => {
                            self.total.add(f64::from(u8::from(*value)));
                            self.distinct.add(u64::from(*value));
                        }
                    }
                }
            }
            Column::Category(category) => {
                let mut used = vec![false; category.levels.len()];
                for &code in &category.codes {
                    match code {
                        MISSING => self.missing += 1,
                        UNSEEN => self.unseen += 1,
                        code => used[code as usize] = true,
                    }
                }
                let used = used.iter().enumerate().filter(|(_, used)| **used);
                used.for_each(|(code, _)| self.distinct.add(code as u64));
            }
            Column::Text(text) => text.iter().for_each(|value| {
                if value.is_empty() {
                    self.missing += 1;
                } else {
                    self.distinct.add(hash(value.as_bytes()));
                }
            }),
        }
    }

    /// Adds what was counted in the rows that follow.
    pub(crate) fn merge(&mut self, other: Tally) {
        self.rows += other.rows;
        self.missing += other.missing;
        self.unseen += other.unseen;
        self.total.add(other.total.sum);
        self.total.rest += other.total.rest;
        self.range = match (self.range, other.range) {
            (Some((low, high)), Some((lower, higher))) => Some((low.min(lower), high.max(higher))),
            (range, None) | (None, range) => range,
        };
        match other.distinct {
            Distinct::Hashes(seen) => seen.into_iter().for_each(|hash| self.distinct.add(hash)),
            known => self.distinct = known,
        }
    }

    /// Rows of a string column whose levels are counted elsewhere.
    pub(crate) fn add_codes(&mut self, codes: &[u32]) {
        self.rows += codes.len();
        self.missing += codes.iter().filter(|&&code| code == MISSING).count();
    }

    pub(crate) fn set_distinct(&mut self, distinct: Option<usize>) {
        self.distinct = Distinct::Known(distinct);
    }

    pub(crate) fn finish(self, name: &str, kind: Kind) -> Summary {
        let known = self.rows - self.missing;
        let ordered = matches!(kind, Kind::Number | Kind::Date | Kind::DateTime);
        Summary {
            name: name.into(),
            kind,
            rows: self.rows,
            missing: self.missing,
            unseen: self.unseen,
            distinct: match self.distinct {
                Distinct::Hashes(seen) => Some(seen.len()),
                Distinct::Known(count) => count,
            },
            min: self.range.map(|(low, _)| low),
            max: self.range.map(|(_, high)| high),
            mean: (known > 0 && (ordered || kind == Kind::Boolean)).then(|| self.total.value() / known as f64),
        }
    }
}
