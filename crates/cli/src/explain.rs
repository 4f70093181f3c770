//! `ermine explain`: what a model has learned, what drives it on a table, how it comes to the prediction of one row,
//! and what its error is made of.

use crate::{
    Failure,
    args::{About, Inputs},
    board, raw_rows, show, terminal,
};
use ermine::{Error, Task};
use ermine_app::{
    Fitted, Supervised, explain, file, judge,
    rows::{Encoded, Labels, Rows},
    table::Table,
};
use std::{io::Write, path::Path};

pub fn explain(
    out: &mut impl Write,
    model: &Path,
    inputs: Option<&Inputs>,
    about: About,
    json: bool,
    threads: Option<usize>,
) -> Result<(), Failure> {
    let fitted = file::load(model)?;
    let ctx = terminal::context(fitted.header.seed, threads);
    let Some(inputs) = inputs else {
        show::inspect(out, &fitted, json)?;
        if !json {
            writeln!(out, "add a table to see what drives the predictions: ermine explain {} DATA", model.display())?;
        }
        return Ok(());
    };
    let task = fitted.task()?;
    if !task.is_supervised() {
        return Err(Error::Unsupported(format!("{} has no target to explain", fitted.header.model)).into());
    }
    // Without the target a row can still be explained.
    let with_target = raw_rows(&fitted, inputs, true);
    let (table, frame, judged) = match with_target {
        Ok((table, frame)) => (table, frame, true),
        Err(_) => {
            let (table, frame) = raw_rows(&fitted, inputs, false)?;
            (table, frame, false)
        }
    };
    let target = match judged {
        true => Some(truth(&fitted, &table, task)?),
        false => None,
    };
    let mut rows = Rows {
        x: frame.x,
        features: fitted.header.features(),
        labels: Labels { target, ..Labels::default() },
        texts: frame.texts,
        one_unit: false,
    };
    if let About::Row(row) = about {
        let Some(at) = row.checked_sub(1).filter(|at| *at < rows.len()) else {
            let allowed = format!("a row from 1 to {}", rows.len());
            let (name, value) = ("--row".into(), row.to_string());
            return Err(Error::Parameter { model: "explain".into(), name, value, allowed }.into());
        };
        let values = fitted.values_of(&table, at)?;
        let why = explain::explain_row(&fitted, &rows, &values, at, &ctx)?;
        if json {
            terminal::json(out, &why)?;
        } else {
            board::row(out, &why)?;
        }
        return Ok(());
    }
    if let Some(truth) = &rows.labels.target {
        let known: Vec<usize> = (0..rows.len()).filter(|&row| !truth.is_missing(row)).collect();
        rows = rows.take(&known);
    }
    if let About::Error(refits) = about {
        if !judged {
            let target = fitted.header.target.as_ref().map_or("", |target| &target.name);
            return Err(
                Error::Data(format!("the table has no column '{target}', so there is no error to decompose")).into()
            );
        }
        let progress = terminal::Progress::new(true);
        let found = fitted.error_parts(&rows, refits, &ctx.with_observer(progress.observer()));
        progress.finish();
        let found = found?;
        if json {
            terminal::json(out, &found)?;
        } else {
            board::error_parts(out, &fitted.header.model, &found)?;
        }
        return Ok(());
    }
    let found = fitted.insight(&rows, &ctx)?;
    if json {
        terminal::json(out, &found)?;
        return Ok(());
    }
    writeln!(out, "{}, {} rows", fitted.header.model, show::thousands(rows.len()))?;
    board::importance(out, &found.importance, judge::main_metric(task), 20)?;
    board::dependence(out, &found.dependence, fitted.classes())?;
    if !judged {
        writeln!(
            out,
            "the table has no column '{}': nothing was scored",
            fitted.header.target.map_or(String::new(), |target| terminal::name(&target.name))
        )?;
    }
    Ok(())
}

fn truth(fitted: &Fitted, table: &Table, task: Task) -> Result<Encoded, Error> {
    let target = fitted.header.target.as_ref().ok_or_else(|| Error::Data("the model has no target".into()))?;
    let column = table.column(&target.name)?;
    match task {
        Task::Classification => Ok(Encoded::with_names(column, &target.classes)),
        _ => Encoded::real(&target.name, column),
    }
}
