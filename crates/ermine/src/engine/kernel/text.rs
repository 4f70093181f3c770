//! A kernel as text: `0.5*rbf(gamma=0.1) + poly(degree=2)[0,3]` is read and printed back.

use super::{Kernel, Map};
use crate::{
    Error, Result,
    core::param::{Field, Form, Range, Value},
};
use std::fmt;

impl Kernel {
    pub fn parse(text: &str) -> Result<Kernel> {
        Kernel::parse_with(text, |_| None)
    }

    /// Columns may be given by any name that `column` knows: edges know names, models know numbers.
    pub fn parse_with(text: &str, column: impl Fn(&str) -> Option<usize>) -> Result<Kernel> {
        let mut parser = Parser { text, at: 0, depth: 0, column: &column };
        let kernel = parser.sum()?;
        parser.space();
        if parser.at < text.len() { Err(parser.error("the end, '+' or '*'")) } else { Ok(kernel) }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = |f: &mut fmt::Formatter<'_>, name: &str, args: &[(&str, Option<f64>)]| {
            f.write_str(name)?;
            let given: Vec<_> =
                args.iter().filter_map(|(name, value)| value.map(|v| format!("{name}={}", number(v)))).collect();
            if given.is_empty() { Ok(()) } else { write!(f, "({})", given.join(", ")) }
        };
        // Inside a product or a power a sum needs brackets.
        let inside = |f: &mut fmt::Formatter<'_>, k: &Kernel, tight: bool| match k {
            Kernel::Sum(_) => write!(f, "({k})"),
            Kernel::Product(_) | Kernel::Constant(_) if tight => write!(f, "({k})"),
            Kernel::Power(..) | Kernel::Columns(..) if tight => write!(f, "({k})"),
            _ => write!(f, "{k}"),
        };
        match self {
            Kernel::Linear => f.write_str("linear"),
            Kernel::Quadratic(a) => {
                let rows: Vec<String> = a
                    .iter()
                    .map(|row| format!("[{}]", row.iter().map(|v| number(*v)).collect::<Vec<_>>().join(",")))
                    .collect();
                write!(f, "linear(a=[{}])", rows.join(","))
            }
            Kernel::Poly { degree, gamma, coef0 } => {
                call(f, "poly", &[("degree", *degree), ("gamma", *gamma), ("coef0", *coef0)])
            }
            Kernel::Rbf { gamma } => call(f, "rbf", &[("gamma", *gamma)]),
            Kernel::Laplacian { gamma } => call(f, "laplacian", &[("gamma", *gamma)]),
            Kernel::Sigmoid { gamma, coef0 } => call(f, "sigmoid", &[("gamma", *gamma), ("coef0", *coef0)]),
            Kernel::Cosine => f.write_str("cosine"),
            Kernel::Precomputed => f.write_str("precomputed"),
            Kernel::Constant(c) => f.write_str(&number(*c)),
            Kernel::Sum(parts) | Kernel::Product(parts) => {
                let product = matches!(self, Kernel::Product(_));
                for (i, k) in parts.iter().enumerate() {
                    if i > 0 {
                        f.write_str(if product { "*" } else { " + " })?;
                    }
                    match k {
                        Kernel::Sum(_) => write!(f, "({k})")?,
                        Kernel::Product(_) if product => write!(f, "({k})")?,
                        _ => write!(f, "{k}")?,
                    }
                }
                Ok(())
            }
            Kernel::Power(k, power) => {
                inside(f, k, true)?;
                write!(f, "^{power}")
            }
            Kernel::Exp(k) => write!(f, "exp({k})"),
            Kernel::Normalize(k) => write!(f, "normalize({k})"),
            Kernel::Map(map, k) => write!(f, "{}({k})", map.name()),
            Kernel::Columns(k, columns) => {
                inside(f, k, true)?;
                write!(f, "[{}]", columns.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
            }
        }
    }
}

/// Shortest text that reads back to the same number, without a needless ".0".
fn number(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map(str::to_string).unwrap_or(text)
}

impl From<Kernel> for String {
    fn from(kernel: Kernel) -> String {
        kernel.to_string()
    }
}

impl TryFrom<String> for Kernel {
    type Error = Error;
    fn try_from(text: String) -> Result<Kernel> {
        Kernel::parse(&text)
    }
}

impl Field for Kernel {
    fn forms(_: Range) -> Vec<Form> {
        let names = vec!["linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed"];
        vec![Form::Choice(names), Form::Text]
    }
    fn to_value(&self) -> Value {
        Value::Text(self.to_string())
    }
    fn from_value(value: &Value) -> Option<Self> {
        Kernel::parse(&String::from_value(value)?).ok()
    }
}

/// Recursive descent over `sum = product {'+' product}`, `product = factor {'*' factor}`, `factor = atom {'[' columns
/// ']' | '^' n}`.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    column: &'a dyn Fn(&str) -> Option<usize>,
}

impl<'a> Parser<'a> {
    fn error(&self, expected: &str) -> Error {
        let rest: String = self.text[self.at..].chars().take(20).collect();
        let found = if rest.is_empty() { "the end".to_string() } else { format!("'{rest}'") };
        Error::Data(format!("kernel '{}': expected {expected}, found {found}", self.text)).hint(
            "kernels are linear, poly, rbf, laplacian, sigmoid, cosine, precomputed, and +, *, ^, exp(), normalize() \
             and [columns] of them",
        )
    }

    fn space(&mut self) {
        self.at += self.text[self.at..].len() - self.text[self.at..].trim_start().len();
    }

    fn eat(&mut self, symbol: char) -> bool {
        self.space();
        let found = self.text[self.at..].starts_with(symbol);
        self.at += if found { symbol.len_utf8() } else { 0 };
        found
    }

    fn expect(&mut self, symbol: char) -> Result<()> {
        if self.eat(symbol) { Ok(()) } else { Err(self.error(&format!("'{symbol}'"))) }
    }

    fn take_while(&mut self, allowed: impl Fn(char) -> bool) -> &'a str {
        self.space();
        let rest = &self.text[self.at..];
        let end = rest.find(|c| !allowed(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn number(&mut self) -> Result<f64> {
        self.space();
        let start = self.at;
        let rest = &self.text[start..];
        let mut end = 0;
        for (i, c) in rest.char_indices() {
            let exponent = i > 0 && matches!(rest.as_bytes()[i - 1], b'e' | b'E');
            if c.is_ascii_digit()
                || c == '.'
                || (matches!(c, 'e' | 'E') && i > 0)
                || (matches!(c, '+' | '-') && (i == 0 || exponent))
            {
                end = i + c.len_utf8();
            } else {
                break;
            }
        }
        match rest[..end].parse::<f64>() {
            Ok(value) if value.is_finite() => {
                self.at = start + end;
                Ok(value)
            }
            _ => Err(self.error("a number")),
        }
    }

    fn sum(&mut self) -> Result<Kernel> {
        self.depth += 1;
        if self.depth > 50 {
            return Err(self.error("fewer than 50 levels of brackets"));
        }
        let mut parts = vec![self.product()?];
        while self.eat('+') {
            parts.push(self.product()?);
        }
        self.depth -= 1;
        Ok(if parts.len() == 1 { parts.remove(0) } else { Kernel::Sum(parts) })
    }

    fn product(&mut self) -> Result<Kernel> {
        let mut parts = vec![self.factor()?];
        while self.eat('*') {
            parts.push(self.factor()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Kernel::Product(parts) })
    }

    fn factor(&mut self) -> Result<Kernel> {
        let mut kernel = self.atom()?;
        // Each postfix nests one level deeper, as brackets do.
        for _ in 0..50 {
            if self.eat('^') {
                let power = self.number()?;
                if power.fract() != 0.0 || !(1.0..=64.0).contains(&power) {
                    return Err(self.error("an integer power from 1 to 64 before this"));
                }
                kernel = Kernel::Power(Box::new(kernel), power as u32);
            } else if self.eat('[') {
                kernel = Kernel::Columns(Box::new(kernel), self.columns()?);
            } else {
                return Ok(kernel);
            }
        }
        Err(self.error("fewer powers and column lists in a row"))
    }

    fn columns(&mut self) -> Result<Vec<usize>> {
        let mut columns = Vec::new();
        loop {
            let name = self.take_while(|c| !matches!(c, ',' | ']' | ':')).trim();
            let known = (self.column)(name).or_else(|| name.parse().ok());
            let Some(first) = known else {
                return Err(Error::Data(format!("kernel '{}': '{name}' is not a column", self.text)));
            };
            if self.eat(':') {
                let end: usize =
                    self.take_while(|c| c.is_ascii_digit()).parse().map_err(|_| self.error("the end of a range"))?;
                if end <= first || end - first > 1 << 20 {
                    return Err(self.error("a range of columns such as 2:5 before this"));
                }
                columns.extend(first..end);
            } else {
                columns.push(first);
            }
            if self.eat(']') {
                return Ok(columns);
            }
            self.expect(',')?;
        }
    }

    fn matrix(&mut self) -> Result<Vec<Vec<f64>>> {
        let mut rows = Vec::new();
        self.expect('[')?;
        loop {
            self.expect('[')?;
            let mut row = vec![self.number()?];
            while self.eat(',') {
                row.push(self.number()?);
            }
            self.expect(']')?;
            rows.push(row);
            if !self.eat(',') {
                break;
            }
        }
        self.expect(']')?;
        if rows.iter().any(|row: &Vec<f64>| row.len() != rows.len()) {
            Err(self.error("a square matrix before this"))
        } else {
            Ok(rows)
        }
    }

    fn atom(&mut self) -> Result<Kernel> {
        if self.eat('(') {
            let kernel = self.sum()?;
            self.expect(')')?;
            return Ok(kernel);
        }
        let name = self.take_while(|c| c.is_ascii_alphabetic() || c == '_' || c == '1');
        // "1" alone is a number, as in "1 + rbf"; "log1p" is a name.
        if name.is_empty() || name.starts_with('1') {
            self.at -= name.len();
            return Ok(Kernel::Constant(self.number()?));
        }
        let start = self.at - name.len();
        let of = Map::ALL.iter().find(|(_, map)| *map == name).map(|(map, _)| *map);
        if of.is_some() || matches!(name, "exp" | "normalize") {
            self.expect('(')?;
            let kernel = Box::new(self.sum()?);
            self.expect(')')?;
            return Ok(match of {
                Some(map) => Kernel::Map(map, kernel),
                None if name == "exp" => Kernel::Exp(kernel),
                None => Kernel::Normalize(kernel),
            });
        }
        let allowed: &[&str] = match name {
            "linear" => &["a"],
            "poly" | "polynomial" => &["degree", "gamma", "coef0"],
            "rbf" | "gaussian" => &["gamma", "sigma"],
            "laplacian" => &["gamma"],
            "sigmoid" => &["gamma", "coef0"],
            "cosine" | "precomputed" => &[],
            _ => {
                self.at = start;
                return Err(self.error("a kernel"));
            }
        };
        let (mut given, mut matrix) = ([None; 3], None);
        if self.eat('(') && !self.eat(')') {
            loop {
                let argument = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
                let Some(at) = allowed.iter().position(|known| *known == argument) else {
                    self.at -= argument.len();
                    return Err(self.error(&format!("one of {}", allowed.join(", "))));
                };
                self.expect('=')?;
                if argument == "a" {
                    matrix = Some(self.matrix()?);
                } else {
                    given[at] = Some(self.number()?);
                }
                if self.eat(')') {
                    break;
                }
                self.expect(',')?;
            }
        }
        Ok(match name {
            "linear" => matrix.map_or(Kernel::Linear, Kernel::Quadratic),
            "poly" | "polynomial" => {
                if given[0].is_some_and(|degree| !(0.0..=1e3).contains(&degree)) {
                    return Err(self.error("a degree from 0 to 1000 before this"));
                }
                Kernel::Poly { degree: given[0], gamma: given[1], coef0: given[2] }
            }
            "rbf" | "gaussian" => {
                if given[1].is_some_and(|sigma| sigma <= 0.0) {
                    return Err(self.error("a sigma above 0 before this"));
                }
                Kernel::Rbf { gamma: given[0].or(given[1].map(|sigma| 0.5 / (sigma * sigma))) }
            }
            "laplacian" => Kernel::Laplacian { gamma: given[0] },
            "sigmoid" => Kernel::Sigmoid { gamma: given[0], coef0: given[1] },
            "cosine" => Kernel::Cosine,
            _ => Kernel::Precomputed,
        })
    }
}
