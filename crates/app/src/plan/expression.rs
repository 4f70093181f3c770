//! Arithmetic of columns, `I(weight / height^2)`: numbers, columns, `+ - * / ^`, brackets and the functions of one
//! number.

use super::terms::{Function, numbers};
use crate::table::{Schema, Table};
use ermine::{Error, Result};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Expression {
    Number(f64),
    Column(String),
    Call(Function, Box<Expression>),
    /// `+`, `-`, `*`, `/` or `^`.
    Two(char, Box<Expression>, Box<Expression>),
}

impl Expression {
    pub fn parse(text: &str, schema: &Schema) -> Result<Expression> {
        let mut parser = Parser { whole: text.trim(), rest: text, schema, depth: 0 };
        let whole = parser.sum()?;
        match parser.rest.trim().is_empty() {
            true => Ok(whole),
            false => Err(parser.wrong(parser.rest)),
        }
    }

    pub fn columns(&self) -> Vec<&String> {
        match self {
            Expression::Number(_) => Vec::new(),
            Expression::Column(name) => vec![name],
            Expression::Call(_, inner) => inner.columns(),
            Expression::Two(_, a, b) => a.columns().into_iter().chain(b.columns()).collect(),
        }
    }

    /// A value for each row; what is not finite is missing.
    pub fn values(&self, table: &Table) -> Result<Vec<f64>> {
        let clean = |value: f64| if value.is_finite() { value } else { f64::NAN };
        Ok(match self {
            Expression::Number(value) => vec![*value; table.rows()],
            Expression::Column(name) => numbers(name, table.column(name)?, false)?,
            Expression::Call(function, inner) => {
                inner.values(table)?.into_iter().map(|value| function.of(value)).collect()
            }
            Expression::Two(sign, a, b) => {
                let apply = |(a, b): (f64, f64)| match sign {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    '/' => a / b,
                    _ if a.is_nan() || b.is_nan() => f64::NAN,
                    _ => a.powf(b),
                };
                a.values(table)?.into_iter().zip(b.values(table)?).map(apply).map(clean).collect()
            }
        })
    }
}

fn wrong(text: &str, at: &str) -> Error {
    let at = if at.trim().is_empty() { "its end".into() } else { format!("'{}'", at.trim()) };
    Error::Parameter {
        model: "fit".into(),
        name: "--features".into(),
        value: format!("I({text})"),
        allowed: format!("arithmetic of columns, such as I(weight / height^2); it is not understood at {at}"),
    }
}

/// Depth of brackets that is followed.
const DEEPEST: usize = 50;

struct Parser<'a> {
    whole: &'a str,
    rest: &'a str,
    schema: &'a Schema,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn wrong(&self, at: &str) -> Error {
        wrong(self.whole, at)
    }

    fn sign(&mut self, signs: &[char]) -> Option<char> {
        let text = self.rest.trim_start();
        let sign = text.chars().next().filter(|sign| signs.contains(sign))?;
        self.rest = &text[sign.len_utf8()..];
        Some(sign)
    }

    fn sum(&mut self) -> Result<Expression> {
        let mut left = self.product()?;
        while let Some(sign) = self.sign(&['+', '-']) {
            left = Expression::Two(sign, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression> {
        let mut left = self.power()?;
        while let Some(sign) = self.sign(&['*', '/']) {
            left = Expression::Two(sign, Box::new(left), Box::new(self.power()?));
        }
        Ok(left)
    }

    fn power(&mut self) -> Result<Expression> {
        if self.sign(&['-']).is_some() {
            return Ok(Expression::Two('-', Box::new(Expression::Number(0.0)), Box::new(self.power()?)));
        }
        let base = self.atom()?;
        match self.sign(&['^']) {
            Some(sign) => Ok(Expression::Two(sign, Box::new(base), Box::new(self.power()?))),
            None => Ok(base),
        }
    }

    fn atom(&mut self) -> Result<Expression> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong(self.rest));
        }
        let found = self.inner_atom();
        self.depth -= 1;
        found
    }

    fn inner_atom(&mut self) -> Result<Expression> {
        let text = self.rest.trim_start();
        if self.sign(&['(']).is_some() {
            let inner = self.sum()?;
            return self.sign(&[')']).map(|_| inner).ok_or_else(|| self.wrong(self.rest));
        }
        if let Some(inner) = text.strip_prefix('`') {
            let (name, rest) = inner.split_once('`').ok_or_else(|| self.wrong(text))?;
            self.rest = rest;
            return Ok(Expression::Column(self.schema.field(name)?.name.clone()));
        }
        let end = text.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.')).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        if word.is_empty() {
            return Err(self.wrong(text));
        }
        self.rest = rest;
        if let Ok(value) = word.parse::<f64>() {
            return Ok(Expression::Number(value));
        }
        match Function::of_numbers(word).filter(|_| rest.trim_start().starts_with('(')) {
            Some(function) => {
                self.sign(&['(']);
                let inner = self.sum()?;
                self.sign(&[')']).ok_or_else(|| self.wrong(self.rest))?;
                Ok(Expression::Call(function, Box::new(inner)))
            }
            None => Ok(Expression::Column(self.schema.field(word)?.name.clone())),
        }
    }
}
