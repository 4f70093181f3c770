//! What classes are called. Models know classes by number; [`Data::labels`](crate::Data::labels) numbers them and a fit
//! remembers their names.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of a class: text, a whole number, or yes and no.
///
/// ```
/// use ermine_core::Label;
/// assert_eq!(Label::from("setosa"), "setosa");
/// assert_eq!(Label::from(3), 3);
/// assert_eq!(Label::from(true).to_string(), "true");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Label {
    Bool(bool),
    Int(i128),
    Text(String),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Bool(value) => value.fmt(f),
            Label::Int(value) => value.fmt(f),
            Label::Text(text) => text.fmt(f),
        }
    }
}

macro_rules! labels {
    ($($type:ty: $value:ident => $label:expr),* $(,)?) => {$(
        impl From<$type> for Label {
            fn from($value: $type) -> Label {
                $label
            }
        }
        impl PartialEq<$type> for Label {
            fn eq(&self, $value: &$type) -> bool {
                let $value = $value.clone();
                *self == $label
            }
        }
    )*};
}

labels! {
    bool: value => Label::Bool(value),
    i8: value => Label::Int(value.into()),
    i16: value => Label::Int(value.into()),
    i32: value => Label::Int(value.into()),
    i64: value => Label::Int(value.into()),
    u8: value => Label::Int(value.into()),
    u16: value => Label::Int(value.into()),
    u32: value => Label::Int(value.into()),
    u64: value => Label::Int(value.into()),
    usize: value => Label::Int(value as i128),
    char: value => Label::Text(value.into()),
    &str: value => Label::Text(value.into()),
    String: value => Label::Text(value),
}

/// The number of each label among all that occur, and those in their order.
pub fn encode(labels: &[Label]) -> (Vec<u32>, Vec<Label>) {
    let mut names = labels.to_vec();
    names.sort_unstable();
    names.dedup();
    let code = |label| names.binary_search(label).expect("it is one of them") as u32;
    (labels.iter().map(code).collect(), names)
}
