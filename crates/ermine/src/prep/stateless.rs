//! Models of transformers that work row by row and learn nothing but the number of columns.

use super::columns::fill;
use crate::{Array, Error, Model, Output, Result, X};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowModel {
    pub cols: usize,
    pub what: RowFunction,
}

/// What happens to a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum RowFunction {
    /// Divided by its sum of absolute values, its length, or its largest absolute value.
    L1,
    L2,
    Max,
    /// 1 above the threshold, 0 otherwise.
    Above(f64),
    /// `sign(x) ln(1 + |x|)`
    SignedLog,
    /// `ln(1 + x)`
    Log,
}

impl Model for RowModel {
    fn cols(&self) -> usize {
        self.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        let mut outputs = vec![(Output::Transform, self.cols)];
        if matches!(self.what, RowFunction::SignedLog | RowFunction::Log) {
            outputs.push((Output::Inverse, self.cols));
        }
        outputs
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        for (i, (row, out)) in x.iter().zip(out.chunks_exact_mut(self.cols)).enumerate() {
            fill(&row, out);
            let length = match self.what {
                RowFunction::L1 => out.iter().map(|x| x.abs()).sum(),
                RowFunction::L2 => out.iter().map(|x| x * x).sum::<f64>().sqrt(),
                RowFunction::Max => out.iter().fold(0.0, |largest: f64, x| largest.max(x.abs())),
                _ => 0.0,
            };
            for (j, x) in out.iter_mut().enumerate() {
                *x = match (self.what, output) {
                    (RowFunction::Above(threshold), _) => f64::from(u8::from(*x > threshold)),
                    (RowFunction::SignedLog, Output::Inverse) => x.signum() * x.abs().exp_m1(),
                    (RowFunction::SignedLog, _) => x.signum() * x.abs().ln_1p(),
                    (RowFunction::Log, Output::Inverse) => x.exp_m1(),
                    (RowFunction::Log, _) if *x <= -1.0 => {
                        return Err(Error::value(i, j, format!("ln(1 + x) needs x above -1, and it is {x}")));
                    }
                    (RowFunction::Log, _) => x.ln_1p(),
                    _ if length > 0.0 => *x / length,
                    _ => *x,
                };
            }
        }
        Ok(())
    }

    fn feature_names(&self, input: &[String]) -> Option<Vec<String>> {
        let log = matches!(self.what, RowFunction::SignedLog | RowFunction::Log);
        Some(input.iter().map(|name| if log { format!("log({name})") } else { name.clone() }).collect())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        Vec::new()
    }

    fn check(&self) -> Result<()> {
        if self.cols > 0 { Ok(()) } else { Err(Error::Data("a stored transformer has no columns".into())) }
    }
}
