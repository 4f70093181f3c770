//! A parameter is written once. From one declaration come the struct and its default, validation with the name in the
//! message, command-line flags and help, the Python signature, the search space and the reference page.
//!
//! ```
//! use ermine_core::{choice, params, param::{Params, Value, at_least, log}};
//!
//! choice! {
//!     /// How neighbours count.
//!     pub enum Weighting { Uniform = "uniform", Distance = "distance" }
//! }
//! params! {
//!     /// Averages what is near.
//!     pub struct Nearest {
//!         /// How many neighbours.
//!         n_neighbors: usize = 5, at_least(1.0), log(1.0, 100.0);
//!         /// How they count.
//!         weights: Weighting = Weighting::Uniform;
//!     }
//! }
//! let mut nearest = Nearest::default();
//! nearest.set("n_neighbors", &Value::Int(7)).unwrap();
//! assert_eq!(nearest.n_neighbors, 7);
//! let error = nearest.set("n_neighbors", &Value::Int(0)).unwrap_err();
//! assert_eq!(error.to_string(), "Nearest: n_neighbors is 0, but it must be an integer >= 1");
//! ```

use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// A parameter's value on its way between a door and a struct.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Value>),
    /// Another estimator, as a base or a member.
    Model(Box<Spec>),
}

pub type Values = BTreeMap<String, Value>;

/// Models in models, and lists in lists, go no deeper than this: each level takes its share of the stack in parsing,
/// fitting and loading.
pub const DEEPEST: usize = 32;

/// An estimator by name with the parameters that differ from their defaults: `DecisionTreeClassifier(max_depth=1)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    pub name: String,
    pub params: Values,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::None => f.write_str("none"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            // Debug prints 1.0 as "1.0" and 1e-9 as "1e-9".
            Value::Float(value) => write!(f, "{value:?}"),
            Value::Text(value) => f.write_str(value),
            Value::List(values) => {
                f.write_str("[")?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if i > 0 { "," } else { "" })?;
                }
                f.write_str("]")
            }
            Value::Model(spec) => write!(f, "{spec}"),
        }
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for (i, (name, value)) in self.params.iter().enumerate() {
            write!(f, "{}{name}={value}", if i == 0 { "(" } else { ", " })?;
        }
        f.write_str(if self.params.is_empty() { "" } else { ")" })
    }
}

impl Value {
    /// Reads what a person types: `0.5`, `none`, `l1`, `[10,20]`, `Ridge(alpha=2)`.
    pub fn parse(text: &str) -> Value {
        Value::parse_at(text, 0)
    }

    /// What lies deeper than any parameter may stays text; [`accept`] refuses it.
    fn parse_at(text: &str, depth: usize) -> Value {
        let text = text.trim();
        if depth > DEEPEST {
            return Value::Text(text.into());
        }
        if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let items = split_outside_brackets(inner).into_iter();
            return Value::List(items.map(|item| Value::parse_at(item, depth + 1)).collect());
        }
        if let Some(spec) = Spec::parse_at(text, depth + 1) {
            return Value::Model(Box::new(spec));
        }
        match text.to_ascii_lowercase().as_str() {
            "none" | "null" => Value::None,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            lower => match (lower.parse(), lower.parse()) {
                (Ok(int), _) => Value::Int(int),
                (_, Ok(float)) => Value::Float(float),
                _ => Value::Text(text.into()),
            },
        }
    }
}

impl Spec {
    pub fn new(name: &str) -> Self {
        Spec { name: name.into(), params: Values::new() }
    }

    /// `Name(parameter=value, ...)` or `Name` alone; `None` when the text has neither form.
    pub fn parse(text: &str) -> Option<Spec> {
        let text = text.trim();
        if is_name(text) { Some(Spec::new(text)) } else { Spec::parse_at(text, 1) }
    }

    /// With brackets: without them a value is text.
    fn parse_at(text: &str, depth: usize) -> Option<Spec> {
        let (name, inner) = text.trim().strip_suffix(')')?.split_once('(')?;
        if !is_name(name) {
            return None;
        }
        let mut params = Values::new();
        for part in split_outside_brackets(inner) {
            let (name, value) = part.split_once('=')?;
            params.insert(name.trim().into(), Value::parse_at(value, depth));
        }
        Some(Spec { name: name.into(), params })
    }
}

impl Value {
    /// How many levels of lists and models there are, counted no further than one below the deepest that is allowed.
    fn depth(&self, left: usize) -> usize {
        let below = |value: &Value| if left == 0 { 0 } else { value.depth(left - 1) };
        match self {
            Value::List(values) => 1 + values.iter().map(below).max().unwrap_or(0),
            Value::Model(spec) => 1 + spec.params.values().map(below).max().unwrap_or(0),
            _ => 0,
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Typed parameters as a spec, for a step of a pipeline or a candidate of a search.
impl<P: Params> From<P> for Spec {
    fn from(params: P) -> Spec {
        Spec { name: P::NAME.into(), params: params.values() }
    }
}

impl std::str::FromStr for Spec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Spec> {
        let problem = || Error::Data(format!("'{text}' is no model; write Name or Name(parameter=value, ...)"));
        Spec::parse(text).ok_or_else(problem)
    }
}

fn split_outside_brackets(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        parts.push(&text[start..]);
    }
    parts
}

/// Which numbers are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    pub low: f64,
    pub high: f64,
    pub low_included: bool,
    pub high_included: bool,
}

pub const fn any() -> Range {
    Range { low: f64::NEG_INFINITY, high: f64::INFINITY, low_included: false, high_included: false }
}

pub const fn at_least(low: f64) -> Range {
    Range { low, low_included: true, ..any() }
}

pub const fn above(low: f64) -> Range {
    Range { low, ..any() }
}

/// Both ends included.
pub const fn between(low: f64, high: f64) -> Range {
    Range { low, high, low_included: true, high_included: true }
}

/// From `low`, included, to below `high`.
pub const fn from_to(low: f64, high: f64) -> Range {
    Range { low, high, low_included: true, high_included: false }
}

/// Above `low` up to `high`, included.
pub const fn above_to(low: f64, high: f64) -> Range {
    Range { low, high, low_included: false, high_included: true }
}

/// Strictly between.
pub const fn within(low: f64, high: f64) -> Range {
    Range { low, high, low_included: false, high_included: false }
}

impl Range {
    pub fn contains(&self, value: f64) -> bool {
        (value > self.low || (self.low_included && value == self.low))
            && (value < self.high || (self.high_included && value == self.high))
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.low.is_finite(), self.high.is_finite()) {
            (false, false) => Ok(()),
            (true, false) => write!(f, " {} {}", if self.low_included { ">=" } else { ">" }, self.low),
            (false, true) => write!(f, " {} {}", if self.high_included { "<=" } else { "<" }, self.high),
            (true, true) => {
                let open = if self.low_included { '[' } else { '(' };
                let close = if self.high_included { ']' } else { ')' };
                write!(f, " in {open}{}, {}{close}", self.low, self.high)
            }
        }
    }
}

/// Where a search looks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Search {
    pub low: f64,
    pub high: f64,
    pub log: bool,
}

pub const fn log(low: f64, high: f64) -> Search {
    Search { low, high, log: true }
}

pub const fn linear(low: f64, high: f64) -> Search {
    Search { low, high, log: false }
}

/// One form that a value may take; a parameter allows one or several.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Form {
    None,
    Bool,
    Int(Range),
    Float(Range),
    Choice(Vec<&'static str>),
    Text,
    List(Vec<Form>),
    Model,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Form::None => f.write_str("none"),
            Form::Bool => f.write_str("true or false"),
            Form::Int(range) => write!(f, "an integer{range}"),
            Form::Float(range) => write!(f, "a number{range}"),
            Form::Choice(names) => f.write_str(&names.join(" | ")),
            Form::Text => f.write_str("text"),
            Form::List(forms) => write!(f, "a list of {}", describe_many(forms)),
            Form::Model => f.write_str("a model, as Name(parameter=value, ...)"),
        }
    }
}

impl Form {
    /// Several values of this form: "integers >= 0".
    fn plural(&self) -> String {
        match self {
            Form::Int(range) => format!("integers{range}"),
            Form::Float(range) => format!("numbers{range}"),
            Form::Text => "texts".into(),
            Form::List(forms) => format!("lists of {}", describe_many(forms)),
            Form::Model => "models, each as Name(parameter=value, ...)".into(),
            Form::None | Form::Bool | Form::Choice(_) => self.to_string(),
        }
    }
}

/// "none or a number > 0"
pub fn describe(forms: &[Form]) -> String {
    forms.iter().map(Form::to_string).collect::<Vec<_>>().join(" or ")
}

/// "numbers > 0", for the items of a list.
fn describe_many(forms: &[Form]) -> String {
    forms.iter().map(Form::plural).collect::<Vec<_>>().join(" or ")
}

/// A declared parameter.
#[derive(Clone, Debug, Serialize)]
pub struct Param {
    pub name: &'static str,
    pub doc: &'static str,
    pub forms: Vec<Form>,
    pub default: Value,
    pub search: Option<Search>,
}

/// A type that a parameter can have.
pub trait Field: Sized {
    fn forms(range: Range) -> Vec<Form>;
    fn to_value(&self) -> Value;
    /// `None` when the value has none of the forms; ranges are checked separately.
    fn from_value(value: &Value) -> Option<Self>;
}

impl Field for f64 {
    fn forms(range: Range) -> Vec<Form> {
        vec![Form::Float(range)]
    }
    fn to_value(&self) -> Value {
        Value::Float(*self)
    }
    fn from_value(value: &Value) -> Option<Self> {
        match *value {
            Value::Float(value) => Some(value),
            Value::Int(value) => Some(value as f64),
            _ => None,
        }
    }
}

macro_rules! integer_field {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn forms(range: Range) -> Vec<Form> {
                vec![Form::Int(range)]
            }
            fn to_value(&self) -> Value {
                Value::Int(*self as i64)
            }
            fn from_value(value: &Value) -> Option<Self> {
                match *value {
                    Value::Int(value) => value.try_into().ok(),
                    Value::Float(value) if value.fract() == 0.0 && value.abs() < 9e15 => (value as i64).try_into().ok(),
                    _ => None,
                }
            }
        }
    )*};
}
integer_field!(usize, u64, u32, i64);

impl Field for bool {
    fn forms(_: Range) -> Vec<Form> {
        vec![Form::Bool]
    }
    fn to_value(&self) -> Value {
        Value::Bool(*self)
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }
}

impl Field for String {
    fn forms(_: Range) -> Vec<Form> {
        vec![Form::Text]
    }
    fn to_value(&self) -> Value {
        Value::Text(self.clone())
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.clone()),
            // What was typed as text may look like a number or a call.
            Value::Model(spec) => Some(spec.to_string()),
            _ => None,
        }
    }
}

impl Field for Spec {
    fn forms(_: Range) -> Vec<Form> {
        vec![Form::Model]
    }
    fn to_value(&self) -> Value {
        Value::Model(Box::new(self.clone()))
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Model(spec) => Some((**spec).clone()),
            Value::Text(name) => Some(Spec::new(name)),
            _ => None,
        }
    }
}

impl<T: Field> Field for Option<T> {
    fn forms(range: Range) -> Vec<Form> {
        let mut forms = vec![Form::None];
        forms.extend(T::forms(range));
        forms
    }
    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::None, T::to_value)
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::None => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}

impl<T: Field> Field for Vec<T> {
    fn forms(range: Range) -> Vec<Form> {
        vec![Form::List(T::forms(range))]
    }
    fn to_value(&self) -> Value {
        Value::List(self.iter().map(T::to_value).collect())
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::List(values) => values.iter().map(T::from_value).collect(),
            // One item needs no brackets.
            single => T::from_value(single).map(|item| vec![item]),
        }
    }
}

/// A parameter that is an array or nothing (`means_init`). Arrays travel beside the parameters, by name, and are found
/// with [`Ctx::start`](crate::Ctx::start), so that as a value it is always none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrayParam;

impl Field for ArrayParam {
    fn forms(_: Range) -> Vec<Form> {
        vec![Form::None]
    }
    fn to_value(&self) -> Value {
        Value::None
    }
    fn from_value(value: &Value) -> Option<Self> {
        (*value == Value::None).then_some(ArrayParam)
    }
}

/// Whether a value has one of the forms, ranges included.
pub fn allows(forms: &[Form], value: &Value) -> bool {
    forms.iter().any(|form| match (form, value) {
        (Form::None, Value::None) | (Form::Bool, Value::Bool(_)) | (Form::Text, Value::Text(_) | Value::Model(_)) => {
            true
        }
        (Form::Model, Value::Model(_) | Value::Text(_)) => true,
        (Form::Int(range), Value::Int(value)) => range.contains(*value as f64),
        (Form::Int(range), Value::Float(value)) => value.fract() == 0.0 && range.contains(*value),
        (Form::Float(range), Value::Float(value)) => range.contains(*value),
        (Form::Float(range), Value::Int(value)) => range.contains(*value as f64),
        (Form::Choice(names), Value::Text(text)) => names.contains(&text.as_str()),
        (Form::Choice(names), Value::None) => names.contains(&"none"),
        (Form::Choice(names), Value::Float(value)) => value.is_nan() && names.contains(&"nan"),
        (Form::List(forms), Value::List(values)) => values.iter().all(|value| allows(forms, value)),
        (Form::List(forms), single) => allows(forms, single),
        _ => false,
    })
}

/// The value of a named choice; the name "none" is the value none, as Python has it.
pub fn named(name: &str) -> Value {
    if name == "none" { Value::None } else { Value::Text(name.into()) }
}

/// What the `params!` macro gives a struct.
pub trait Params: Default + Clone + Send + Sync + 'static {
    const NAME: &'static str;
    const DOC: &'static str;

    fn declared() -> Vec<Param>;
    fn values(&self) -> Values;
    /// Sets one parameter; an unknown name or a value that is not allowed is refused by name.
    fn set(&mut self, name: &str, value: &Value) -> Result<()>;

    fn from_values(values: &Values) -> Result<Self> {
        let mut params = Self::default();
        for (name, value) in values {
            params.set(name, value)?;
        }
        Ok(params)
    }

    /// Sets one parameter whatever its value, as a struct filled in by hand may be; false where the type cannot hold
    /// it.
    #[doc(hidden)]
    fn put(&mut self, name: &str, value: &Value) -> bool;

    /// Checks every field against its declaration: a struct filled in by hand may hold anything.
    fn validate(&self) -> Result<()> {
        Self::from_values(&self.values()).map(drop)
    }
}

/// The one place where a value is judged, for `params!`.
pub fn accept<T: Field>(model: &str, name: &str, range: Range, value: &Value) -> Result<T> {
    let forms = T::forms(range);
    let refused = || Error::Parameter {
        model: model.into(),
        name: name.into(),
        value: value.to_string(),
        allowed: describe(&forms),
    };
    if value.depth(DEEPEST) > DEEPEST {
        let (value, allowed) = ("nested too deeply".into(), format!("models and lists at most {DEEPEST} deep"));
        return Err(Error::Parameter { model: model.into(), name: name.into(), value, allowed });
    }
    if !allows(&forms, value) {
        return Err(refused());
    }
    T::from_value(value).ok_or_else(refused)
}

/// Declares an estimator's parameters: doc, type, default, allowed range and search space of each, once.
#[macro_export]
macro_rules! params {
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident {
            $(
                $(#[doc = $field_doc:literal])*
                $field:ident: $type:ty = $default:expr $(, $range:expr $(, $search:expr)?)?;
            )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        #[allow(non_snake_case)] // scikit-learn's names, such as C
        pub struct $name {
            $($(#[doc = $field_doc])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* }
            }
        }

        impl $crate::param::Params for $name {
            const NAME: &'static str = stringify!($name);
            const DOC: &'static str = concat!($($doc, "\n",)* "");

            fn declared() -> Vec<$crate::param::Param> {
                #[allow(unused_variables)]
                let default = Self::default();
                vec![$($crate::param::Param {
                    name: stringify!($field),
                    doc: concat!($($field_doc, "\n",)* "").trim(),
                    forms: <$type as $crate::param::Field>::forms($crate::params!(@range $($range)?)),
                    default: $crate::param::Field::to_value(&default.$field),
                    search: $crate::params!(@search $($($search)?)?),
                },)*]
            }

            fn values(&self) -> $crate::param::Values {
                [$((stringify!($field).to_string(), $crate::param::Field::to_value(&self.$field)),)*].into()
            }

            fn set(&mut self, name: &str, value: &$crate::param::Value) -> $crate::Result<()> {
                match name {
                    $(stringify!($field) => {
                        self.$field = $crate::param::accept(
                            stringify!($name), name, $crate::params!(@range $($range)?), value,
                        )?;
                    })*
                    _ => return Err($crate::Error::Unknown {
                        what: concat!(stringify!($name), " parameter"),
                        name: name.into(),
                        known: vec![$(stringify!($field).into(),)*],
                    }),
                }
                Ok(())
            }

            fn put(&mut self, name: &str, value: &$crate::param::Value) -> bool {
                match name {
                    $(stringify!($field) => {
                        $crate::param::Field::from_value(value).map(|value| self.$field = value).is_some()
                    })*
                    _ => false,
                }
            }
        }
    };
    (@range) => { $crate::param::any() };
    (@range $range:expr) => { $range };
    (@search) => { None };
    (@search $search:expr) => { Some($search) };
}

/// Declares named choices, or, with a number type and range, a number or a named choice (`choice! { pub enum Gamma: f64
/// where above(0.0) => { Scale = "scale", Auto = "auto" } }`, whose numbers are `Gamma::Number`).
#[macro_export]
macro_rules! choice {
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident { $($(#[doc = $variant_doc:literal])* $variant:ident = $text:literal),* $(,)? }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[doc = $variant_doc])* $variant,)* }

        impl $crate::param::Field for $name {
            fn forms(_: $crate::param::Range) -> Vec<$crate::param::Form> {
                vec![$crate::param::Form::Choice(vec![$($text,)*])]
            }
            fn to_value(&self) -> $crate::param::Value {
                $crate::param::named(match self { $($name::$variant => $text,)* })
            }
            fn from_value(value: &$crate::param::Value) -> Option<Self> {
                let text = match value {
                    $crate::param::Value::Text(text) => text.as_str(),
                    $crate::param::Value::None => "none",
                    // What is typed reads as a number.
                    $crate::param::Value::Float(value) if value.is_nan() => "nan",
                    _ => return None,
                };
                match text { $($text => Some($name::$variant),)* _ => None }
            }
        }
    };
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident: $number:ty where $range:expr => {
            $($(#[doc = $variant_doc:literal])* $variant:ident = $text:literal),* $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[doc = $variant_doc])* $variant,)* Number($number) }

        impl $crate::param::Field for $name {
            fn forms(_: $crate::param::Range) -> Vec<$crate::param::Form> {
                let mut forms = vec![$crate::param::Form::Choice(vec![$($text,)*])];
                forms.extend(<$number as $crate::param::Field>::forms($range));
                forms
            }
            fn to_value(&self) -> $crate::param::Value {
                match self {
                    $($name::$variant => $crate::param::named($text),)*
                    $name::Number(number) => $crate::param::Field::to_value(number),
                }
            }
            fn from_value(value: &$crate::param::Value) -> Option<Self> {
                let text = match value {
                    $crate::param::Value::Text(text) => text.as_str(),
                    $crate::param::Value::None => "none",
                    number => return $crate::param::Field::from_value(number).map($name::Number),
                };
                match text { $($text => Some($name::$variant),)* _ => None }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    choice! {
        /// Width of the kernel.
        pub enum Gamma: f64 where above(0.0) => { Scale = "scale", Auto = "auto" }
    }
    choice! {
        pub enum Penalty { L1 = "l1", None = "none" }
    }
    choice! {
        pub enum Beyond { Clip = "clip", Nan = "nan" }
    }
    params! {
        /// For the tests.
        pub struct Example {
            /// Strength.
            alpha: f64 = 1.0, at_least(0.0), log(1e-3, 1e3);
            gamma: Gamma = Gamma::Scale;
            penalty: Penalty = Penalty::L1;
            beyond: Beyond = Beyond::Clip;
            max_depth: Option<usize> = None, at_least(1.0);
            alphas: Vec<f64> = vec![0.1, 1.0], above(0.0);
            base: Spec = Spec::new("Tree");
            groups: Vec<Vec<usize>> = vec![], at_least(0.0);
            share: f64 = 0.5, above_to(0.0, 1.0);
        }
    }

    #[test]
    fn values_go_round() {
        let mut example = Example::default();
        let typed = [
            ("alpha", "2"),
            ("gamma", "0.25"),
            ("penalty", "none"),
            ("max_depth", "3"),
            ("alphas", "[1,2.5]"),
            ("base", "Tree(max_depth=1, base=Leaf(x=[1,2]))"),
        ];
        for (name, text) in typed {
            example.set(name, &Value::parse(text)).unwrap();
        }
        assert_eq!((example.alpha, example.gamma, example.penalty), (2.0, Gamma::Number(0.25), Penalty::None));
        assert_eq!((example.max_depth, example.alphas.as_slice()), (Some(3), [1.0, 2.5].as_slice()));
        assert_eq!(example.base.to_string(), "Tree(base=Leaf(x=[1,2]), max_depth=1)");
        assert_eq!(Example::from_values(&example.values()).unwrap(), example);
        for value in example.values().values() {
            assert_eq!(&Value::parse(&value.to_string()), value);
        }
    }

    #[test]
    fn nan_may_be_a_name() {
        let mut example = Example::default();
        example.set("beyond", &Value::parse("nan")).unwrap();
        assert_eq!(example.beyond, Beyond::Nan);
        assert!(example.set("penalty", &Value::parse("nan")).is_err());
    }

    #[test]
    fn what_is_not_allowed_is_refused_by_name() {
        let mut example = Example::default();
        for (name, text, message) in [
            ("alpha", "-1", "Example: alpha is -1, but it must be a number >= 0"),
            ("alpha", "nan", "Example: alpha is NaN, but it must be a number >= 0"),
            ("gamma", "0", "Example: gamma is 0, but it must be scale | auto or a number > 0"),
            ("gamma", "big", "Example: gamma is big, but it must be scale | auto or a number > 0"),
            ("max_depth", "0", "Example: max_depth is 0, but it must be none or an integer >= 1"),
            ("max_depth", "2.5", "Example: max_depth is 2.5, but it must be none or an integer >= 1"),
            ("alphas", "[1,0]", "Example: alphas is [1,0], but it must be a list of numbers > 0"),
            ("groups", "[[-1]]", "Example: groups is [[-1]], but it must be a list of lists of integers >= 0"),
            ("share", "0", "Example: share is 0, but it must be a number in (0, 1]"),
        ] {
            assert_eq!(example.set(name, &Value::parse(text)).unwrap_err().to_string(), message);
        }
        let error = example.set("alpah", &Value::Int(1)).unwrap_err().to_string();
        assert_eq!(error, "there is no Example parameter 'alpah'; did you mean 'alpha'?");
        assert_eq!(example, Example::default());
        assert!(Example { alpha: f64::NAN, ..Example::default() }.validate().is_err());
    }
}
