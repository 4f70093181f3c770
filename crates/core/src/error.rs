//! The one error type. Every message names the thing, the value and what is allowed; a hint follows where one helps.
//!
//! Estimators know columns and classes by number only. The edges (command line, Python) know the names and put them in
//! with [`Error::with_columns`].

use std::{fmt, path::PathBuf};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A parameter has a value outside what it allows.
    Parameter {
        model: String,
        name: String,
        value: String,
        allowed: String,
    },
    /// A name that is not in a list: a model, a column, a parameter, an option.
    Unknown {
        what: &'static str,
        name: String,
        known: Vec<String>,
    },
    /// A value in the data that cannot be used.
    Value {
        row: Option<usize>,
        column: Option<Column>,
        problem: String,
    },
    /// Arrays that are inconsistent.
    Shape {
        what: String,
        expected: String,
        found: String,
    },
    /// The data as a whole cannot be fitted: too few rows, one class only, nothing to learn from.
    Data(String),
    /// Something this model, file or option cannot do.
    Unsupported(String),
    /// The method needs its rows in memory, and they are read from disk.
    NeedsMemory {
        model: String,
        reason: String,
    },
    /// The method needs all rows on one worker, and they are shared out over several.
    NeedsOneWorker {
        model: String,
        reason: String,
    },
    /// The computation left the finite numbers.
    Diverged(String),
    Cancelled,
    /// Another worker stopped with this message.
    Worker {
        rank: usize,
        message: String,
    },
    Io {
        path: PathBuf,
        action: &'static str,
        message: String,
    },
    /// A file whose content is not what its kind promises; lines count from one.
    Format {
        path: PathBuf,
        line: Option<u64>,
        problem: String,
    },
    /// A model file of a version that this program does not read.
    Version {
        path: PathBuf,
        found: u32,
        supported: u32,
    },
    /// Any of the above, with advice.
    Hinted {
        error: Box<Error>,
        hint: String,
    },
}

/// A column by number, until an edge knows its name.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    Index(usize),
    Name(String),
}

impl Error {
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Error::Hinted { error: Box::new(self), hint: hint.into() }
    }

    pub fn shape(what: impl Into<String>, expected: impl fmt::Display, found: impl fmt::Display) -> Self {
        Error::Shape { what: what.into(), expected: expected.to_string(), found: found.to_string() }
    }

    pub fn value(row: impl Into<Option<usize>>, column: impl Into<Option<usize>>, problem: impl Into<String>) -> Self {
        Error::Value { row: row.into(), column: column.into().map(Column::Index), problem: problem.into() }
    }

    pub fn io(path: impl Into<PathBuf>, action: &'static str, error: &std::io::Error) -> Self {
        Error::Io { path: path.into(), action, message: error.to_string() }
    }

    pub fn format(path: impl Into<PathBuf>, line: impl Into<Option<u64>>, problem: impl Into<String>) -> Self {
        Error::Format { path: path.into(), line: line.into(), problem: problem.into() }
    }

    /// Replaces column numbers by names.
    pub fn with_columns(self, names: &[String]) -> Self {
        match self {
            Error::Value { row, column: Some(Column::Index(index)), problem } => {
                let column = names.get(index).map_or(Column::Index(index), |name| Column::Name(name.clone()));
                Error::Value { row, column: Some(column), problem }
            }
            Error::Hinted { error, hint } => Error::Hinted { error: Box::new(error.with_columns(names)), hint },
            other => other,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Parameter { model, name, value, allowed } => {
                write!(f, "{model}: {name} is {value}, but it must be {allowed}")
            }
            Error::Unknown { what, name, known } => {
                write!(f, "there is no {what} '{name}'")?;
                match closest(name, known) {
                    Some(near) => write!(f, "; did you mean '{near}'?"),
                    None if known.is_empty() || known.len() > 24 => Ok(()),
                    None => write!(f, "; expected one of: {}", known.join(", ")),
                }
            }
            Error::Value { row, column, problem } => {
                match column {
                    Some(Column::Index(index)) => write!(f, "column {index}")?,
                    Some(Column::Name(name)) => write!(f, "column '{name}'")?,
                    None => write!(f, "the data")?,
                }
                if let Some(row) = row {
                    write!(f, ", row {row}")?;
                }
                write!(f, ": {problem}")
            }
            Error::Shape { what, expected, found } => write!(f, "{what}: expected {expected}, found {found}"),
            Error::Data(problem) | Error::Unsupported(problem) | Error::Diverged(problem) => f.write_str(problem),
            Error::NeedsMemory { model, reason } => {
                write!(f, "{model} needs its rows in memory ({reason}), but they are read from disk")
            }
            Error::NeedsOneWorker { model, reason } => {
                write!(f, "{model} needs all rows on one worker ({reason}), but they are shared by several workers")
            }
            Error::Cancelled => f.write_str("cancelled"),
            Error::Worker { rank, message } => write!(f, "worker {rank}: {message}"),
            Error::Io { path, action, message } => write!(f, "cannot {action} {}: {message}", path.display()),
            Error::Format { path, line: Some(line), problem } => write!(f, "{}:{line}: {problem}", path.display()),
            Error::Format { path, line: None, problem } => write!(f, "{}: {problem}", path.display()),
            Error::Version { path, found, supported } => write!(
                f,
                "{}: written in format {found}, but this program reads only up to format {supported}",
                path.display()
            ),
            Error::Hinted { error, hint } => write!(f, "{error}\nhint: {hint}"),
        }
    }
}

impl std::error::Error for Error {}

/// The known name nearest to a misspelt one, if it is near enough to be what was meant.
pub fn closest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let (distance, near) =
        known.iter().map(|candidate| (edit_distance(&wanted, &candidate.to_lowercase()), candidate)).min()?;
    (distance <= 1 + wanted.chars().count() / 3).then_some(near)
}

/// The names that another field, package or habit calls `name`, or that begin with it; all names if there are none.
pub fn related(name: &str, known: Vec<String>, synonyms: &[(&[&str], &[&str])]) -> Vec<String> {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-', ' '], "");
    let wanted = plain(name);
    let meant = synonyms.iter().find(|(others, _)| others.contains(&wanted.as_str()));
    let mut some: Vec<String> = match meant {
        Some((_, names)) => names.iter().map(|name| name.to_string()).collect(),
        None if wanted.len() < 3 => Vec::new(),
        None => known.iter().filter(|name| plain(name).starts_with(&wanted)).cloned().collect(),
    };
    some.truncate(6);
    if some.is_empty() { known } else { some }
}

/// Insertions, deletions and substitutions to get from `a` to `b` (Levenshtein), one row of the table at a time.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &y) in b.iter().enumerate() {
            let best = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], best);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_is_near() {
        let known: Vec<String> = ["Ridge", "KMeans", "LogisticRegression"].map(String::from).into();
        assert_eq!(closest("ridg", &known), Some("Ridge"));
        assert_eq!(closest("LogisticRegresion", &known), Some("LogisticRegression"));
        assert_eq!(closest("xyzzy", &known), None);
    }

    #[test]
    fn names_replace_numbers() {
        let error = Error::value(4, 1, "is NaN").hint("impute it").with_columns(&["a".into(), "b".into()]);
        assert_eq!(error.to_string(), "column 'b', row 4: is NaN\nhint: impute it");
    }
}
