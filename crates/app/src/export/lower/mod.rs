//! Every model as a formula.

mod combined;
mod curves;
mod distances;
mod encoders;
mod linear;
mod normal;
mod transformers;
mod trees;

use super::formula::{Formula, Id};
use ermine::{AnyModel, Error, Feature, Output, Result};

/// What a formula computes of rows, by output.
pub type Said = Vec<(Output, Id)>;

/// A model on rows that stand at `x`, with what each column means. `name` is for messages.
pub fn model(name: &str, model: &dyn AnyModel, x: Id, features: &[Feature], f: &mut Formula) -> Result<Said> {
    let any = model.as_any();
    let said = linear::lower(any, x, f)
        .or_else(|| trees::lower(any, x, features, f))
        .or_else(|| normal::lower(any, x, f))
        .or_else(|| transformers::lower(any, x, f))
        .or_else(|| encoders::lower(any, x, f))
        .or_else(|| curves::lower(any, x, f));
    let said = match said {
        Some(said) => Some(Ok(said)),
        None => distances::lower(name, any, x, f).or_else(|| combined::lower(name, any, x, features, f)),
    };
    said.unwrap_or_else(|| Err(none(name)))
}

fn none(name: &str) -> Error {
    Error::Unsupported(format!("{name} has no form outside Ermine: its prediction is more than a formula of the row"))
}

/// Of one score for two classes, or one for each.
fn classes_of(scores: Id, f: &mut Formula) -> Id {
    if f.width(scores) == 1 { f.is_positive(scores) } else { f.arg_largest(scores) }
}

/// The largest and the softmax of log joint probabilities.
fn posterior(joint: Id, f: &mut Formula) -> Said {
    let class = f.arg_largest(joint);
    vec![(Output::Class, class), (Output::Probability, f.softmax(joint))]
}

/// What is said for an output.
fn find(said: &Said, wanted: Output) -> Option<Id> {
    said.iter().find(|(output, _)| *output == wanted).map(|(_, id)| *id)
}
