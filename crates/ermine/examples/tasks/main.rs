//! Ten tasks, a short program each: `cargo run --release -p ermine --example tasks -- penguins`.
//!
//! | task | shows |
//! | --- | --- |
//! | `body_mass` | regression with standard errors |
//! | `penguins` | classification, held-out rows, a saved model |
//! | `messages` | text, naive Bayes, the most telling words |
//! | `groups` | clusters, and how many there are |
//! | `compress` | principal components |
//! | `novelty` | which rows do not belong |
//! | `similar` | the nearest rows |
//! | `curve` | a network for a curve |
//! | `drivers` | boosting, and what drives it |
//! | `steps` | missing values, pipelines, cross-validation, tuning |

use ermine::Result;

mod body_mass;
mod compress;
mod curve;
mod drivers;
mod groups;
mod messages;
mod novelty;
mod penguins;
mod similar;
mod steps;
mod table;

const TASKS: [(&str, fn() -> Result<()>); 10] = [
    ("body_mass", body_mass::main),
    ("penguins", penguins::main),
    ("messages", messages::main),
    ("groups", groups::main),
    ("compress", compress::main),
    ("novelty", novelty::main),
    ("similar", similar::main),
    ("curve", curve::main),
    ("drivers", drivers::main),
    ("steps", steps::main),
];

fn main() -> Result<()> {
    let asked = std::env::args().nth(1);
    for (name, task) in TASKS.iter().filter(|(name, _)| asked.as_deref().is_none_or(|asked| asked == *name)) {
        println!("## {name}");
        task()?;
    }
    Ok(())
}

#[test]
fn every_task_runs() {
    for (name, task) in TASKS {
        task().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
