//! `ermine check` and `ermine diff`: whether a model still fits its rows, and how two models differ.

use crate::{
    Failure,
    args::Inputs,
    known_rows, raw_rows, show,
    terminal::{self, BOLD, FAINT, HEADING, name},
};
use clap::{Arg, ArgMatches, Command, value_parser};
use ermine::{Error, Task};
use ermine_app::{
    Fitted, Supervised,
    check::{Diff, Drift, Limits},
    file,
    rows::Encoded,
    table::Table,
};
use std::{
    io::Write,
    path::{Path, PathBuf},
};

pub fn check_command() -> Command {
    let limit = |name: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("NUMBER")
            .default_value(default)
            .value_parser(value_parser!(f64))
            .help(help)
    };
    Command::new("check")
        .about("Compare new rows with those that a model was fitted on; exit 1 above a limit")
        .after_help("Example:\n  ermine check houses.ermine this-week.csv")
        .args([
            limit("stability", "0.2", "Population stability index of a column"),
            limit("unseen", "0.05", "Share of rows with a level that the model does not know"),
            limit("outside", "0.05", "Share of rows outside the range of a column"),
        ])
}

/// The first model comes before the other.
pub fn diff_command(first: Arg) -> Command {
    Command::new("diff")
        .about("Compare two models on the same rows: scores with a paired test, where they differ, what drives them")
        .after_help("Example:\n  ermine diff old.ermine new.ermine sold.csv")
        .arg(first)
        .arg(Arg::new("OTHER").required(true).value_parser(value_parser!(PathBuf)).help("The other model file"))
}

pub fn limits(matches: &ArgMatches) -> Limits {
    let number = |name: &str| *matches.get_one::<f64>(name).expect("it has a default");
    let usual = Limits::default();
    Limits { stability: number("stability"), unseen: number("unseen"), outside: number("outside"), ..usual }
}

pub fn check(
    out: &mut impl Write,
    model: &Path,
    inputs: &Inputs,
    limits: Limits,
    json: bool,
    threads: Option<usize>,
) -> Result<(), Failure> {
    let fitted = file::load(model)?;
    let ctx = terminal::context(fitted.header.seed, threads);
    // Scores come along when the table has the target.
    let (table, frame, judged) = match fitted.task()?.is_supervised().then(|| raw_rows(&fitted, inputs, true)) {
        Some(Ok((table, frame))) => (table, frame, true),
        _ => {
            let (table, frame) = raw_rows(&fitted, inputs, false)?;
            (table, frame, false)
        }
    };
    let truth = if judged { Some(truth(&fitted, &table)?) } else { None };
    let found = Drift::of(&fitted, &frame, truth.as_ref(), limits, &ctx)?;
    if json {
        terminal::json(out, &found)?;
    } else {
        show_drift(out, &found)?;
    }
    out.flush()?;
    match found.alarms.len() {
        0 => Ok(()),
        1 => Err(Error::Data("1 limit is exceeded".into()).into()),
        many => Err(Error::Data(format!("{many} limits are exceeded")).into()),
    }
}

fn truth(fitted: &Fitted, table: &Table) -> Result<Encoded, Error> {
    let target = fitted.header.target.as_ref().ok_or_else(|| Error::Data("the model has no target".into()))?;
    let column = table.column(&target.name)?;
    match fitted.task()? {
        Task::Classification => Ok(Encoded::with_names(column, &target.classes)),
        _ => Encoded::real(&target.name, column),
    }
}

fn show_drift(out: &mut impl Write, found: &Drift) -> std::io::Result<()> {
    let (rows, before) = (show::thousands(found.rows), show::thousands(found.fitted_rows));
    writeln!(out, "{HEADING}columns{HEADING:#}  {FAINT}{rows} rows beside {before} of the fit{FAINT:#}")?;
    let width = found.columns.iter().map(|column| column.column.chars().count()).max().unwrap_or(0).clamp(6, 40);
    writeln!(out, "        {:width$}  stability       p  missing (before)  unseen  outside", "")?;
    for column in found.columns.iter().take(40) {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        writeln!(
            out,
            "        {:width$}  {:>9.3}  {:>6.3}  {:>7} {:>8}  {:>6}  {:>7}",
            name(&column.column),
            column.stability,
            column.p,
            percent(column.missing),
            format!("({})", percent(column.missing_before)),
            percent(column.unseen),
            percent(column.outside)
        )?;
    }
    if !found.scores.is_empty() {
        writeln!(out, "{HEADING}scores{HEADING:#}  {FAINT}now, with a 95 % interval, and at the fit{FAINT:#}")?;
        for score in &found.scores {
            let interval = match (score.low, score.high) {
                (Some(low), Some(high)) => show::interval(&score.metric, low, high),
                _ => String::new(),
            };
            let before = score.before.map_or(String::new(), |before| show::score(&score.metric, before));
            writeln!(
                out,
                "        {:24} {:>10}  {interval:>20}  {before:>10}",
                score.metric,
                show::score(&score.metric, score.now)
            )?;
        }
    }
    match found.alarms.is_empty() {
        true => writeln!(out, "nothing is above its limit"),
        false => {
            writeln!(out, "{BOLD}above the limit{BOLD:#}")?;
            found.alarms.iter().try_for_each(|alarm| writeln!(out, "        {alarm}"))
        }
    }
}

pub fn diff(
    out: &mut impl Write,
    models: [&Path; 2],
    inputs: &Inputs,
    json: bool,
    threads: Option<usize>,
) -> Result<(), Failure> {
    let fitted = [file::load(models[0])?, file::load(models[1])?];
    let ctx = terminal::context(fitted[0].header.seed, threads);
    let rows = [known_rows(&fitted[0], inputs)?.0, known_rows(&fitted[1], inputs)?.0];
    let found = Diff::of([&fitted[0], &fitted[1]], [&rows[0], &rows[1]], &ctx)?;
    if json {
        terminal::json(out, &found)?;
        return Ok(());
    }
    let [a, b] = &found.models;
    writeln!(out, "{HEADING}scores{HEADING:#}  {FAINT}{a}, {b}, on {} rows{FAINT:#}", show::thousands(found.rows))?;
    for (metric, a, b) in &found.scores {
        writeln!(out, "        {metric:24} {:>10}  {:>10}", show::score(metric, *a), show::score(metric, *b))?;
    }
    let paired = &found.paired;
    let better = match (paired.p < 0.05, paired.difference < 0.0) {
        (false, _) => "no difference that could not be chance",
        (true, true) => "the second model is better",
        (true, false) => "the first model is better",
    };
    writeln!(
        out,
        "        {}: second minus first {} ({} to {}), p = {:.3}: {better}",
        paired.of,
        show::number(paired.difference),
        show::number(paired.low),
        show::number(paired.high),
        paired.p
    )?;
    writeln!(out, "{HEADING}rows that differ{HEADING:#}  {FAINT}{} of {}{FAINT:#}", found.differing, found.rows)?;
    for found in &found.examples {
        let [a, b] = &found.said;
        writeln!(out, "        row {:<8} {:20} {}", found.row, name(a), name(b))?;
    }
    writeln!(out, "{HEADING}what drives them{HEADING:#}  {FAINT}fall of the score without the column{FAINT:#}")?;
    for (column, a, b) in found.drivers.iter().take(20) {
        writeln!(out, "        {:24} {:>10}  {:>10}", name(column), show::number(*a), show::number(*b))?;
    }
    Ok(())
}
