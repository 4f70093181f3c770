//! Features made of raw columns row by row; nothing is learnt, so the same text makes the same columns of any file.
//!
//! ```text
//! formula = ["+" | "-"] term { ("+" | "-") term }
//! term    = "."                               every column that the formula does not name otherwise
//!         | column                            as it is; `odd name` in back quotes
//!         | log(c) | log1p(c) | log2(c) | log10(c) | sqrt(c) | square(c) | exp(c) | abs(c)
//!         | poly(c, degree)                   c and polynomials up to this degree, orthogonal over the rows
//!         | spline(c, knots)                  a smooth curve: natural cubic spline, knots at quantiles of the rows
//!         | factor(c)                         each value a level
//!         | I(a / b^2)                        arithmetic of columns and numbers, with the functions above
//!         | text(c)                           TF-IDF of its words
//!         | words(c)                          number of words, letters a word, sentences, words a sentence
//!         | year(c) | month(c) | day(c) | weekday(c) | hour(c) | days(c)
//!         | a:b[:c]                           product; of a number and a category one column for each level
//!         | a*b                               a + b + a:b
//! ```
//! A value that a function is not defined for (the log of a negative number) is missing, and a note counts them.

use super::expression::Expression;
use crate::table::{Category, Column, Field, Kind, MISSING, Schema, Table, Text, civil_from_days};
use ermine::{Error, Result, text::simple_features};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One step from raw columns to features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Term {
    Column(String),
    Call {
        function: Function,
        column: String,
    },
    /// Of model files before orthogonal polynomials.
    Power {
        column: String,
        degree: u32,
    },
    Polynomial {
        column: String,
        degree: u32,
        /// Empty until it is learnt from the rows.
        basis: Basis,
    },
    Text(String),
    Words(String),
    Product(Vec<String>),
    /// Natural cubic spline with these knots; before they are placed there are as many without a value.
    Spline {
        column: String,
        knots: Vec<f64>,
    },
    /// The text of an expression, which is its name, and what it means.
    Expression(String, Expression),
}

/// Orthogonal polynomials of `t = (x - centre) / scale` over the rows they were learnt from: `p_0 = 1`, `p_1 = t -
/// a_0`, `p_{k+1} = (t - a_k) p_k - b_k p_{k-1}` (Forsythe 1957). Powers of a column nearly depend on each other and
/// cost digits; these do not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Basis {
    centre: f64,
    scale: f64,
    /// `(a_k, b_k)`.
    steps: Vec<(f64, f64)>,
    /// Root mean square of each polynomial, by which it is divided.
    sizes: Vec<f64>,
}

impl Basis {
    fn learn(values: &[f64], degree: u32) -> Option<Basis> {
        let known: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        let (low, high) = known
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| (low.min(value), high.max(value)));
        // Halves first: the difference of large numbers may overflow.
        let (centre, scale) = (0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low);
        if !(scale > 0.0 && scale.is_finite()) {
            return None;
        }
        let mut basis = Basis { centre, scale, ..Basis::default() };
        let t: Vec<f64> = known.iter().map(|value| (value - centre) / scale).collect();
        let (mut before, mut now) = (vec![0.0; t.len()], vec![1.0; t.len()]);
        let mut squares = t.len() as f64;
        let mut last = f64::INFINITY;
        for _ in 0..degree {
            let a = t.iter().zip(&now).map(|(t, p)| t * p * p).sum::<f64>() / squares;
            let b = if last.is_finite() { squares / last } else { 0.0 };
            let next: Vec<f64> = (0..t.len()).map(|i| (t[i] - a) * now[i] - b * before[i]).collect();
            (before, now, last) = (now, next, squares);
            squares = now.iter().map(|p| p * p).sum();
            // No more different values than the degree: nothing but rounding is left.
            if !(squares > 1e-26 * last) {
                return None;
            }
            basis.steps.push((a, b));
            basis.sizes.push((squares / t.len() as f64).sqrt());
        }
        Some(basis)
    }

    /// All polynomials from the second degree on; the first is the column itself.
    fn values(&self, values: &[f64]) -> Vec<Vec<f64>> {
        let t: Vec<f64> = values.iter().map(|value| (value - self.centre) / self.scale).collect();
        let (mut before, mut now) = (vec![0.0; t.len()], vec![1.0; t.len()]);
        let mut made = Vec::new();
        for (&(a, b), size) in self.steps.iter().zip(&self.sizes) {
            let next: Vec<f64> = (0..t.len()).map(|i| (t[i] - a) * now[i] - b * before[i]).collect();
            (before, now) = (now, next);
            let finite = |p: &f64| if p.is_finite() { p / size } else { f64::NAN };
            made.push(now.iter().map(finite).collect());
        }
        made.into_iter().skip(1).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Function {
    Log,
    Log1p,
    Log2,
    Log10,
    Sqrt,
    Square,
    Exp,
    Abs,
    Year,
    Month,
    Day,
    Weekday,
    Hour,
    Days,
}

const FUNCTIONS: &[(&str, Function)] = &[
    ("log", Function::Log),
    ("log1p", Function::Log1p),
    ("log2", Function::Log2),
    ("log10", Function::Log10),
    ("sqrt", Function::Sqrt),
    ("square", Function::Square),
    ("exp", Function::Exp),
    ("abs", Function::Abs),
    ("year", Function::Year),
    ("month", Function::Month),
    ("day", Function::Day),
    ("weekday", Function::Weekday),
    ("hour", Function::Hour),
    ("days", Function::Days),
];

impl Function {
    fn name(self) -> &'static str {
        FUNCTIONS.iter().find(|(_, function)| *function == self).map_or("", |(name, _)| name)
    }

    fn of_dates(self) -> bool {
        matches!(
            self,
            Function::Year | Function::Month | Function::Day | Function::Weekday | Function::Hour | Function::Days
        )
    }

    /// A function of numbers by its name.
    pub(super) fn of_numbers(name: &str) -> Option<Function> {
        FUNCTIONS.iter().find(|(known, function)| *known == name && !function.of_dates()).map(|(_, function)| *function)
    }

    /// Numbers as they are; dates in days.
    pub(super) fn of(self, value: f64) -> f64 {
        let day = value.floor();
        let civil = || civil_from_days(day as i64);
        let result = match self {
            _ if value.is_nan() => f64::NAN,
            Function::Log if value > 0.0 => value.ln(),
            Function::Log => f64::NAN,
            Function::Log1p if value > -1.0 => value.ln_1p(),
            Function::Log1p => f64::NAN,
            Function::Log2 => {
                if value > 0.0 {
                    value.log2()
                } else {
                    f64::NAN
                }
            }
            Function::Log10 => {
                if value > 0.0 {
                    value.log10()
                } else {
                    f64::NAN
                }
            }
            Function::Sqrt => value.sqrt(),
            Function::Square => value * value,
            Function::Exp => value.exp(),
            Function::Abs => value.abs(),
            Function::Year => civil().0 as f64,
            Function::Month => civil().1 as f64,
            Function::Day => civil().2 as f64,
            // 1970-01-01 was a Thursday; Monday is 1.
            Function::Weekday => (day as i64 + 3).rem_euclid(7) as f64 + 1.0,
            Function::Hour => (value - day) * 24.0,
            Function::Days => value,
        };
        if result.is_finite() { result } else { f64::NAN }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Term::Column(name) => f.write_str(name),
            Term::Call { function, column } => write!(f, "{}({column})", function.name()),
            Term::Power { column, degree } => write!(f, "{column}^{degree}"),
            Term::Polynomial { column, degree, .. } => write!(f, "poly({column}, {degree})"),
            Term::Text(column) => write!(f, "text({column})"),
            Term::Words(column) => write!(f, "words({column})"),
            Term::Product(columns) => f.write_str(&columns.join(":")),
            Term::Spline { column, knots } => write!(f, "spline({column}, {})", knots.len()),
            Term::Expression(text, _) => write!(f, "I({text})"),
        }
    }
}

impl Term {
    fn columns(&self) -> Vec<&String> {
        match self {
            Term::Column(column) | Term::Text(column) | Term::Words(column) => vec![column],
            Term::Call { column, .. } | Term::Power { column, .. } => vec![column],
            Term::Spline { column, .. } | Term::Polynomial { column, .. } => vec![column],
            Term::Expression(_, expression) => expression.columns(),
            Term::Product(columns) => columns.iter().collect(),
        }
    }

    /// The columns that this term makes.
    fn make(&self, table: &Table) -> Result<Vec<(String, Column)>> {
        let named = |column| Ok(vec![(self.to_string(), column)]);
        match self {
            Term::Column(name) => named(table.column(name)?.clone()),
            Term::Call { function, column } => {
                let values = numbers(column, table.column(column)?, function.of_dates())?;
                named(Column::Number(values.into_iter().map(|value| function.of(value)).collect()))
            }
            Term::Power { column, degree } => {
                let values = numbers(column, table.column(column)?, false)?;
                let power = |value: f64| if value.is_nan() { value } else { value.powi(*degree as i32) };
                named(Column::Number(values.into_iter().map(power).collect()))
            }
            Term::Polynomial { column, basis, .. } => {
                let values = numbers(column, table.column(column)?, false)?;
                let bent = basis.values(&values);
                let mut made = vec![(column.clone(), Column::Number(values))];
                let name = |(k, values)| (format!("poly({column}) {}", k + 2), Column::Number(values));
                made.extend(bent.into_iter().enumerate().map(name));
                Ok(made)
            }
            Term::Spline { column, knots } => {
                let values = numbers(column, table.column(column)?, false)?;
                let mut made = vec![(column.clone(), Column::Number(values.clone()))];
                for j in 0..knots.len().saturating_sub(2) {
                    let curve = values.iter().map(|value| spline_part(*value, knots, j)).collect();
                    made.push((format!("spline({column}) {}", j + 1), Column::Number(curve)));
                }
                Ok(made)
            }
            Term::Expression(_, expression) => named(Column::Number(expression.values(table)?)),
            Term::Text(name) => Ok(vec![(name.clone(), Column::Text(strings(name, table.column(name)?)?))]),
            Term::Words(name) => {
                let facts: Vec<[f64; 4]> = strings(name, table.column(name)?)?.iter().map(simple_features).collect();
                let titles = ["words", "letters a word", "sentences", "words a sentence"];
                let column = |j: usize| Column::Number(facts.iter().map(|row| row[j]).collect());
                Ok((0..4).map(|j| (format!("{} of {name}", titles[j]), column(j))).collect())
            }
            Term::Product(names) => {
                let mut all = vec![(String::new(), table.column(&names[0])?.clone())];
                all[0].0 = names[0].clone();
                for name in &names[1..] {
                    let right = (name.clone(), table.column(name)?.clone());
                    let mut next = Vec::new();
                    for left in &all {
                        next.extend(product(left, &right)?);
                    }
                    all = next;
                }
                Ok(all)
            }
        }
    }
}

/// Part `j` of a natural cubic spline (Hastie, Tibshirani and Friedman 2009, equation 5.4), in units of the range of
/// the knots: `d_j - d_{K-2}` with `d_k = ((x - t_k)+^3 - (x - t_{K-1})+^3) / (t_{K-1} - t_k)`. Straight beyond the
/// outer knots.
fn spline_part(value: f64, knots: &[f64], j: usize) -> f64 {
    let (first, last) = (knots[0], knots[knots.len() - 1]);
    let unit = |value: f64| (value - first) / (last - first);
    let (x, end) = (unit(value), 1.0);
    let cube = |t: f64| (x - t).max(0.0).powi(3);
    let part = |k: usize| (cube(unit(knots[k])) - cube(end)) / (end - unit(knots[k]));
    if value.is_nan() { value } else { part(j) - part(knots.len() - 2) }
}

/// The terms with what they take from a sample of the rows: knots of splines at its quantiles, polynomials orthogonal
/// over it.
pub fn learn(terms: Vec<Term>, table: &Table) -> Result<Vec<Term>> {
    let place = |term: Term| match term {
        Term::Polynomial { column, degree, .. } => {
            let values = numbers(&column, table.column(&column)?, false)?;
            let basis = Basis::learn(&values, degree).ok_or_else(|| {
                Error::Data(format!("'{column}' has too few values for a polynomial of degree {degree}"))
            })?;
            Ok(Term::Polynomial { column, degree, basis })
        }
        Term::Spline { column, knots } => {
            let mut values = numbers(&column, table.column(&column)?, false)?;
            values.retain(|value| !value.is_nan());
            values.sort_by(f64::total_cmp);
            let quantile = |k: usize| {
                // The outer knots stand a little inside, as is usual.
                let share = 0.05 + 0.9 * k as f64 / (knots.len() - 1) as f64;
                values.get((share * values.len().saturating_sub(1) as f64).round() as usize).copied()
            };
            let mut placed: Vec<f64> = (0..knots.len()).filter_map(quantile).collect();
            placed.dedup();
            if placed.len() < 3 {
                return Err(Error::Data(format!(
                    "'{column}' has too few values for a spline of {} knots",
                    knots.len()
                )));
            }
            Ok(Term::Spline { column, knots: placed })
        }
        term => Ok(term),
    };
    terms.into_iter().map(place).collect()
}

/// Where terms turn values into missing ones, in a sample of the rows.
pub fn made_missing(terms: &[Term], table: &Table, rows: usize) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    for term in terms.iter().filter(|term| matches!(term, Term::Call { .. } | Term::Expression(..))) {
        let columns = term.columns();
        let known = |row: usize| columns.iter().all(|name| table.column(name).is_ok_and(|c| !c.is_missing(row)));
        let made = term.make(table)?;
        let count = (0..table.rows()).filter(|&row| made[0].1.is_missing(row) && known(row)).count();
        if count > 0 {
            let of =
                if table.rows() < rows { format!("{} sampled rows", table.rows()) } else { format!("{rows} rows") };
            let hint = match term {
                Term::Call { function: Function::Log, column } => format!("; log1p({column}) is defined at 0"),
                _ => String::new(),
            };
            notes.push(format!("{term} is not defined in {count} of {of}, where it is missing{hint}"));
        }
    }
    Ok(notes)
}

/// The columns that a formula calls factors: they are read as categories.
pub fn factors(formula: &str) -> Vec<String> {
    let terms = split(formula, &['+', '-']).into_iter().flat_map(|(_, term)| split(term, &['*', ':']));
    let factor = |(_, term): (bool, &str)| {
        let inner = term.trim().strip_prefix("factor(")?.strip_suffix(')')?;
        Some(unquoted(inner.trim()).to_string())
    };
    terms.filter_map(factor).collect()
}

pub(super) fn numbers(name: &str, column: &Column, dates: bool) -> Result<Vec<f64>> {
    match column {
        Column::Number(values) if !dates => Ok(values.clone()),
        Column::Date(values) if dates => Ok(values.clone()),
        Column::DateTime(values) if dates => Ok(values.iter().map(|seconds| seconds / 86_400.0).collect()),
        Column::Boolean(values) if !dates => {
            Ok(values.iter().map(|value| value.map_or(f64::NAN, |value| f64::from(u8::from(value)))).collect())
        }
        other => {
            let wanted = if dates { "a date" } else { "a number" };
            Err(Error::Data(format!("the formula needs {wanted} in column '{name}', but it holds {}", other.kind())))
        }
    }
}

fn strings(name: &str, column: &Column) -> Result<Text> {
    match column {
        Column::Text(text) => Ok(text.clone()),
        Column::Category(category) => {
            Ok((0..category.codes.len()).map(|row| category.get(row).unwrap_or_default()).collect())
        }
        other => Err(Error::Data(format!("the formula needs text in column '{name}', but it holds {}", other.kind()))),
    }
}

/// Two columns multiplied; a category stands for one column of 0 and 1 for each level.
fn product(left: &(String, Column), right: &(String, Column)) -> Result<Vec<(String, Column)>> {
    let name = format!("{}:{}", left.0, right.0);
    match (&left.1, &right.1) {
        (Column::Category(a), Column::Category(b)) => {
            let width = b.levels.len();
            if a.levels.len().saturating_mul(width) > 10_000 {
                return Err(Error::Data(format!("the product {name} has more than 10,000 levels")));
            }
            let known = |code: u32, levels: usize| (code as usize) < levels;
            let code = |(&i, &j): (&u32, &u32)| match known(i, a.levels.len()) && known(j, width) {
                true => i * width as u32 + j,
                false => MISSING,
            };
            let codes = a.codes.iter().zip(&b.codes).map(code).collect();
            let levels: Vec<String> =
                a.levels.iter().flat_map(|x| b.levels.iter().map(move |y| format!("{x}:{y}"))).collect();
            Ok(vec![(name, Column::Category(Category { codes, levels: levels.into() }))])
        }
        (Column::Category(category), number) | (number, Column::Category(category)) => {
            let other = if matches!(left.1, Column::Category(_)) { &right.0 } else { &left.0 };
            let cname = if matches!(left.1, Column::Category(_)) { &left.0 } else { &right.0 };
            let values = numbers(other, number, false)?;
            let column = |level: usize| {
                let cell = |(code, value): (&u32, &f64)| if *code as usize == level { *value } else { 0.0 };
                Column::Number(category.codes.iter().zip(&values).map(cell).collect())
            };
            let named = |level: usize| (format!("{other}:{cname}={}", category.levels[level]), column(level));
            Ok((0..category.levels.len()).map(named).collect())
        }
        (a, b) => {
            let (a, b) = (numbers(&left.0, a, false)?, numbers(&right.0, b, false)?);
            Ok(vec![(name, Column::Number(a.iter().zip(&b).map(|(a, b)| a * b).collect()))])
        }
    }
}

/// The features that the terms make of a table.
pub fn derive(terms: &[Term], table: &Table) -> Result<Table> {
    let mut columns: Vec<(String, Column)> = Vec::new();
    for term in terms {
        for (name, column) in term.make(table)? {
            if !columns.iter().any(|(known, _)| *known == name) {
                columns.push((name, column));
            }
        }
    }
    Table::new(columns)
}

/// Without a formula: every column, and the parts of dates that differ from row to row.
pub fn usual(schema: &Schema, table: &Table) -> Result<Vec<Term>> {
    let mut terms = Vec::new();
    for field in &schema.columns {
        terms.push(Term::Column(field.name.clone()));
        for term in date_parts(field) {
            if let [_, _] = different_rows(&term, table)?[..] {
                terms.push(term);
            }
        }
    }
    Ok(terms)
}

/// Rows that show which parts of dates differ, as well as the whole table does.
pub fn telling_rows(schema: &Schema, table: &Table) -> Result<Vec<usize>> {
    let mut rows = Vec::new();
    for term in schema.columns.iter().flat_map(date_parts) {
        rows.extend(different_rows(&term, table)?);
    }
    Ok(rows)
}

fn date_parts(field: &Field) -> Vec<Term> {
    let parts = [Function::Year, Function::Month, Function::Day, Function::Weekday, Function::Hour];
    match field.kind {
        Kind::Date | Kind::DateTime => {
            parts.map(|function| Term::Call { function, column: field.name.clone() }).to_vec()
        }
        _ => Vec::new(),
    }
}

/// The first row in which a term has a value, and the first in which it has another, as far as there are such.
fn different_rows(term: &Term, table: &Table) -> Result<Vec<usize>> {
    let made = term.make(table)?;
    let Column::Number(values) = &made[0].1 else { return Ok(Vec::new()) };
    let first = values.iter().position(|value| !value.is_nan());
    let other = first.and_then(|first| values.iter().position(|value| !value.is_nan() && *value != values[first]));
    Ok(first.into_iter().chain(other).collect())
}

/// The raw columns that the terms read, in the order of the schema.
pub fn used(terms: &[Term], schema: &Schema) -> Schema {
    let read: std::collections::HashSet<&String> = terms.iter().flat_map(Term::columns).collect();
    let reads = |field: &&Field| read.contains(&field.name);
    Schema { columns: schema.columns.iter().filter(reads).cloned().collect(), na: schema.na.clone() }
}

/// Reads a formula over the columns of a schema.
pub fn parse(formula: &str, schema: &Schema) -> Result<Vec<Term>> {
    let wrong = |found: &str| Error::Parameter {
        model: "fit".into(),
        name: "--features".into(),
        value: found.into(),
        allowed: "terms joined by +, such as log(income) + age:job + poly(x, 3) + text(message)".into(),
    };
    let mut terms: Vec<Term> = Vec::new();
    let mut rest_of_columns = false;
    let mut removed: Vec<String> = Vec::new();
    for (minus, text) in split(formula, &['+', '-']) {
        let text = text.trim();
        if text.is_empty() {
            return Err(wrong(formula));
        }
        if minus {
            removed.push(schema.field(unquoted(text))?.name.clone());
            continue;
        }
        if text == "." {
            rest_of_columns = true;
            continue;
        }
        let factors: Vec<&str> = split(text, &['*']).into_iter().map(|(_, part)| part.trim()).collect();
        if factors.len() > 1 {
            let names = factors.iter().map(|name| Ok(schema.field(unquoted(name))?.name.clone()));
            let names: Vec<String> = names.collect::<Result<_>>()?;
            terms.extend(names.iter().cloned().map(Term::Column));
            terms.push(Term::Product(names));
            continue;
        }
        let factors: Vec<&str> = split(text, &[':']).into_iter().map(|(_, part)| part.trim()).collect();
        if factors.len() > 1 {
            let names = factors.iter().map(|name| Ok(schema.field(unquoted(name))?.name.clone()));
            terms.push(Term::Product(names.collect::<Result<_>>()?));
            continue;
        }
        // A column may have brackets in its name; it comes before a function.
        if let Ok(field) = schema.field(unquoted(text)) {
            terms.push(Term::Column(field.name.clone()));
            continue;
        }
        let Some((function, inner)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) else {
            schema.field(unquoted(text))?;
            continue;
        };
        if function.trim() == "I" {
            terms.push(Term::Expression(inner.trim().into(), Expression::parse(inner, schema)?));
            continue;
        }
        let (inner, degree) = match (function.trim(), inner.rsplit_once(',')) {
            ("poly" | "spline", Some((inner, degree))) => {
                (inner, degree.trim().parse::<u32>().map_err(|_| wrong(text))?)
            }
            _ => (inner, 0),
        };
        let column = schema.field(unquoted(inner.trim()))?.name.clone();
        match function.trim() {
            "poly" if (1..=20).contains(&degree) => {
                terms.push(Term::Polynomial { column, degree, basis: Basis::default() });
            }
            "poly" => return Err(wrong(text)),
            // Five knots are enough for most curves (Harrell 2015).
            "spline" if degree == 0 || (3..=20).contains(&degree) => {
                let knots = if degree == 0 { 5 } else { degree as usize };
                terms.push(Term::Spline { column, knots: vec![f64::NAN; knots] });
            }
            "spline" => return Err(wrong(text)),
            "factor" => terms.push(Term::Column(column)),
            "text" => terms.push(Term::Text(column)),
            "words" => terms.push(Term::Words(column)),
            name => match FUNCTIONS.iter().find(|(known, _)| *known == name) {
                Some(&(_, function)) => terms.push(Term::Call { function, column }),
                None => {
                    let known = FUNCTIONS
                        .iter()
                        .map(|(name, _)| *name)
                        .chain(["poly", "spline", "factor", "I", "text", "words"]);
                    return Err(Error::Unknown {
                        what: "function",
                        name: name.into(),
                        known: known.map(String::from).collect(),
                    });
                }
            },
        }
    }
    if rest_of_columns {
        let named: std::collections::HashSet<String> = terms
            .iter()
            .filter_map(|term| if let Term::Column(name) = term { Some(name.clone()) } else { None })
            .collect();
        let mut all: Vec<Term> = schema
            .columns
            .iter()
            .filter(|field| field.kind != Kind::Text && !named.contains(&field.name) && !removed.contains(&field.name))
            .map(|field| Term::Column(field.name.clone()))
            .collect();
        all.append(&mut terms);
        terms = all;
    }
    terms.dedup();
    Ok(terms)
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('`').and_then(|text| text.strip_suffix('`')).unwrap_or(text)
}

/// Parts between separators that stand outside brackets and back quotes; whether a minus stood in front.
fn split<'a>(text: &'a str, at: &[char]) -> Vec<(bool, &'a str)> {
    let (mut parts, mut depth, mut quoted, mut start, mut minus) = (Vec::new(), 0usize, false, 0, false);
    for (place, c) in text.char_indices() {
        match c {
            '`' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.saturating_sub(1),
            c if at.contains(&c) && depth == 0 && !quoted => {
                if place > 0 && !text[start..place].trim().is_empty() {
                    parts.push((minus, &text[start..place]));
                }
                minus = c == '-';
                start = place + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push((minus, &text[start..]));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table::new(vec![
            ("income".into(), Column::Number(vec![1.0, std::f64::consts::E, -1.0])),
            ("age".into(), Column::Number(vec![20.0, f64::NAN, 40.0])),
            ("job".into(), Column::categories(["smith", "baker", "smith"])),
            ("town".into(), Column::categories(["york", "york", "bath"])),
            ("born".into(), Column::Date(vec![0.0, 365.0, f64::NAN])),
            ("odd + name".into(), Column::Number(vec![1.0, 2.0, 3.0])),
            ("note".into(), Column::Text(["Red fox. Runs!", "", "dog"].into_iter().collect())),
        ])
        .unwrap()
    }

    fn made(formula: &str) -> Vec<(String, Vec<String>)> {
        let table = table();
        let terms = learn(parse(formula, &table.schema()).unwrap(), &table).unwrap();
        let made = derive(&terms, &table).unwrap();
        let texts = |column: &Column| (0..column.len()).map(|row| column.value_text(row)).collect();
        made.columns().map(|(name, column)| (name.to_string(), texts(column))).collect()
    }

    fn column(name: &str, values: [&str; 3]) -> (String, Vec<String>) {
        (name.into(), values.map(String::from).into())
    }

    #[test]
    fn terms_make_the_columns_they_name() {
        assert_eq!(made("log(income)"), [column("log(income)", ["0", "1", ""])]);
        let poly = made("poly(income, 2)");
        assert_eq!(poly[0], column("income", ["1", "2.718281828459045", "-1"]));
        assert_eq!(poly[1].0, "poly(income) 2");
        let products = made("age:job");
        assert_eq!(products[0], column("age:job=smith", ["20", "0", "40"]));
        assert_eq!(products[1], column("age:job=baker", ["0", "", "0"]));
        assert_eq!(made("job:town")[0], column("job:town", ["smith:york", "baker:york", "smith:bath"]));
        assert_eq!(made("year(born) + weekday(born)")[1], column("weekday(born)", ["4", "5", ""]));
        assert_eq!(made("`odd + name` + age*income").len(), 4);
        assert_eq!(made("words(note)")[0].1, ["3", "0", "1"]);
        let all: Vec<String> = made(". - age - job + log(income)").into_iter().map(|(name, _)| name).collect();
        assert_eq!(all, ["income", "town", "born", "odd + name", "log(income)"]);
    }

    /// Filip of NIST, whose powers are nearly dependent (condition 1e10 when standardised): a fit by powers has 7.6
    /// digits, for their rounding; by orthogonal polynomials it has all. The last coefficient has the t value of the
    /// highest power.
    #[test]
    fn polynomials_keep_their_digits() {
        let sets: serde_json::Value =
            serde_json::from_str(include_str!("../../../ermine/tests/reference/nist.json")).unwrap();
        let list = |value: &serde_json::Value| -> Vec<f64> {
            value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
        };
        let off = |found: f64, exact: f64| (found / exact - 1.0).abs();
        for (name, set) in sets.as_object().unwrap() {
            let degree = set["degree"].as_u64().unwrap();
            if degree == 0 {
                continue;
            }
            let table = Table::new(vec![("x".into(), Column::Number(list(&set["base"])))]).unwrap();
            let terms = learn(parse(&format!("poly(x, {degree})"), &table.schema()).unwrap(), &table).unwrap();
            let made = derive(&terms, &table).unwrap();
            let columns: Vec<Vec<f64>> =
                made.columns().map(|(name, column)| numbers(name, column, false).unwrap()).collect();
            let rows = 0..table.rows();
            let x: Vec<f64> = rows.flat_map(|i| columns.iter().map(move |column| column[i])).collect();
            let (ctx, y) = (ermine::Ctx::new(0), list(&set["y"]));
            let x = ermine::X::dense(&x, columns.len()).unwrap();
            let data = ermine::Data::new(x).real(&y).unwrap();
            let fit = ermine::Estimator::fit(&ermine::linear::LinearRegression::default(), &data, &ctx).unwrap();
            let found = ermine::predict(&ctx, &fit.model, &x, ermine::Output::Value, false).unwrap();
            let largest = y.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
            for (value, exact) in found.values.iter().zip(list(&set["fitted"])) {
                assert!((value - exact).abs() <= 2e-15 * largest, "{name}: {value} is not {exact}");
            }
            let summary = ermine::linear::summary(&fit.model, true, 0.95, &data, &ctx).unwrap();
            let certified = |what: &str| list(&set["certified"][what]);
            assert!(off(summary.r2, certified("r2")[0]) < 1e-13, "{name}: R2 {}", summary.r2);
            let (estimate, error) = (*certified("estimate").last().unwrap(), *certified("std_error").last().unwrap());
            if error > 0.0 {
                let statistic = summary.terms.last().unwrap().statistic;
                let digits = -off(statistic, estimate / error).log10();
                assert!(digits > 12.0, "{name}: t value {statistic}, {digits:.1} digits");
            }
        }
    }

    #[test]
    fn mistakes_are_named() {
        let schema = table().schema();
        for (formula, expected) in [
            ("log(incom)", "did you mean 'income'?"),
            ("lgo(income)", "did you mean 'log'?"),
            ("poly(income, x)", "--features"),
            ("income +", "--features"),
            ("", "--features"),
        ] {
            let error = parse(formula, &schema).unwrap_err().to_string();
            assert!(error.contains(expected), "{formula}: {error}");
        }
        let error = learn(parse("poly(income, 3)", &schema).unwrap(), &table()).unwrap_err().to_string();
        assert_eq!(error, "'income' has too few values for a polynomial of degree 3");
        let terms = parse("log(job)", &schema).unwrap();
        assert!(derive(&terms, &table()).unwrap_err().to_string().contains("'job'"));
    }
}
