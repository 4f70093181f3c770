//! How things look: reports, lists, predictions.

use crate::terminal::{self, BOLD, FAINT, GOOD, HEADING, name, names};
use ermine::{Array, Entry, MODELS, Numbers, Passes, core::param::describe, metrics};
pub use ermine_app::report::digits as number;
use ermine_app::{
    Fitted, Report, Supervised,
    report::{self, Prepared},
};
use std::{
    io::{self, Write},
    path::Path,
};

/// At most this many prepared columns are shown.
const PREPARED: usize = 8;
/// At most this many weights are shown.
const DRIVERS: usize = 10;

pub fn report(out: &mut impl Write, report: &Report, saved: Option<&Path>) -> io::Result<()> {
    let data = &report.data;
    let from_disk = if data.from_disk { ", read from disk in blocks" } else { "" };
    writeln!(
        out,
        "{HEADING}data{HEADING:#}    {}: {} rows, {} features{from_disk}",
        data.path,
        thousands(data.rows),
        data.features
    )?;
    let missing: usize = data.columns.iter().map(|column| column.missing).sum();
    if missing > 0 {
        let columns = data.columns.iter().filter(|column| column.missing > 0).count();
        writeln!(out, "        {} missing values in {columns} columns", thousands(missing))?;
    }
    for assumed in &data.assumed {
        writeln!(out, "        {FAINT}{assumed}{FAINT:#}")?;
    }
    // Many columns for one reason, as the borders of images, are one line.
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for dropped in &data.dropped {
        match reasons.iter_mut().find(|(reason, _)| *reason == dropped.reason) {
            Some((_, columns)) => columns.push(&dropped.column),
            None => reasons.push((&dropped.reason, vec![&dropped.column])),
        }
    }
    for (reason, columns) in reasons {
        match columns[..] {
            [first, .., last] if columns.len() > 5 => {
                let (first, last, count) = (name(first), name(last), columns.len());
                writeln!(out, "        {count} columns are left out, from '{first}' to '{last}': {reason}")?
            }
            _ => {
                for column in columns {
                    writeln!(out, "        column '{}' is left out: {reason}", name(column))?;
                }
            }
        }
    }
    let params: Vec<String> = report.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let params = if params.is_empty() { String::new() } else { format!("({})", params.join(", ")) };
    let of = match &report.target {
        Some(target) if report.classes.is_empty() => format!(" of {}", name(target)),
        Some(target) => format!(" of {} ({} classes)", name(target), report.classes.len()),
        None => String::new(),
    };
    writeln!(out, "{HEADING}model{HEADING:#}   {BOLD}{}{params}{BOLD:#}, {}{of}", report.model, report.task)?;
    if let Some(choice) = &report.choice {
        writeln!(out, "        {FAINT}{choice}{FAINT:#}")?;
    }
    crate::board::of_report(out, report)?;
    scores(out, report)?;
    if let (Some(confusion), true) = (&report.confusion, report.classes.len() <= 12) {
        confusion_table(out, confusion, &report.classes)?;
    }
    crate::groups::clusters(out, report)?;
    crate::groups::components(out, report)?;
    match report.insight.importance.is_empty() {
        true => drivers(out, report)?,
        false => crate::board::importance(
            out,
            &report.insight.importance,
            report.main_metric.unwrap_or("the score"),
            DRIVERS,
        )?,
    }
    if let Some(curve) = &report.insight.curve {
        writeln!(out, "{HEADING}rows{HEADING:#}    {}", curve.verdict)?;
    }
    prepared(out, &report.preparation)?;
    writeln!(out, "{HEADING}fit{HEADING:#}     {}", report.log)?;
    notes(out, &report.notes)?;
    match saved {
        Some(path) => writeln!(
            out,
            "{HEADING}saved{HEADING:#}   {} {FAINT}(use it: ermine predict {} DATA){FAINT:#}",
            path.display(),
            path.display()
        )?,
        None => writeln!(out, "        {FAINT}not saved; add -o FILE to keep the model{FAINT:#}")?,
    }
    writeln!(out, "{FAINT}{:.2} s{FAINT:#}", report.seconds)
}

/// What to worry about. A note may quote names, and names may be long.
pub fn notes(out: &mut impl Write, notes: &[String]) -> io::Result<()> {
    for (i, note) in notes.iter().enumerate() {
        let head = if i == 0 { format!("{HEADING}note{HEADING:#}    ") } else { "        ".into() };
        let cut: String = note.chars().map(|c| if c == '\n' { ' ' } else { c }).take(600).collect();
        let more = if cut.len() < note.len() { "…" } else { "" };
        writeln!(out, "{head}{cut}{more}")?;
    }
    Ok(())
}

/// One line a metric: held-out score, cross-validation, and the baseline.
fn scores(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let names: Vec<&str> = match (&report.test, &report.folds) {
        (Some(test), _) => test.iter().map(|(name, _)| *name).collect(),
        (None, Some(folds)) => folds.scores.iter().map(|(name, _, _)| *name).collect(),
        _ => return Ok(()),
    };
    let width = names.iter().map(|name| name.len()).max().unwrap_or(0);
    let mut titles = format!("{:width$}", "");
    if report.test.is_some() {
        titles += &format!("  {:>10}", "test");
    }
    if !report.intervals.is_empty() {
        titles += &format!("  {:>20}", "95 % interval");
    }
    if let Some(folds) = &report.folds {
        titles += &format!("  {:>20}", format!("{}-fold mean ± sd", folds.folds));
    }
    if report.baseline.is_some() {
        titles += &format!("  {:>10}", "baseline");
    }
    writeln!(out, "{HEADING}scores{HEADING:#}  {FAINT}{titles}{FAINT:#}")?;
    for (m, name) in names.iter().enumerate() {
        let main = report.main_metric == Some(name);
        write!(out, "        {name:width$}")?;
        if let Some(test) = &report.test {
            let text = score(name, test[m].1);
            if main { write!(out, "  {GOOD}{text:>10}{GOOD:#}")? } else { write!(out, "  {text:>10}")? }
        }
        if !report.intervals.is_empty() {
            let found = report.intervals.iter().find(|interval| interval.metric == *name);
            let text = found.map_or(String::new(), |found| interval(name, found.low, found.high));
            write!(out, "  {text:>20}")?;
        }
        if let Some(folds) = &report.folds {
            let (_, mean, spread) = folds.scores[m];
            write!(out, "  {:>20}", with_margin(mean, spread))?;
        }
        if let Some(baseline) = &report.baseline {
            let text =
                baseline.iter().find(|(known, _)| known == name).map_or("".into(), |(_, value)| score(name, *value));
            write!(out, "  {FAINT}{text:>10}{FAINT:#}")?;
        }
        writeln!(out)?;
    }
    if let Some(rows) = Some(report.data.test_rows).filter(|rows| *rows > 0) {
        let (test, train) = (thousands(rows), thousands(report.data.train_rows));
        writeln!(
            out,
            "        {FAINT}test: {test} held-out rows; {} on the other {train}{FAINT:#}",
            if report.comparison.is_some() { "models compared" } else { "cross-validation" }
        )?;
    }
    Ok(())
}

fn confusion_table(out: &mut impl Write, confusion: &[Vec<f64>], classes: &[String]) -> io::Result<()> {
    let cells: Vec<Vec<String>> =
        confusion.iter().map(|row| row.iter().map(|cell| thousands(*cell as usize)).collect()).collect();
    let width = |text: &str| text.chars().count();
    let classes = &names(classes);
    let name_width = classes.iter().map(|name| width(name)).max().unwrap_or(0).min(24);
    let widths: Vec<usize> = (0..classes.len())
        .map(|j| cells.iter().map(|row| row[j].len()).max().unwrap_or(1).max(width(&classes[j]).min(12)))
        .collect();
    let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    write!(out, "{HEADING}tested{HEADING:#}  {FAINT}{:name_width$}", "")?;
    for (name, width) in classes.iter().zip(&widths) {
        write!(out, "  {:>width$}", cut(name, 12))?;
    }
    writeln!(out, "   <- predicted{FAINT:#}")?;
    for (i, row) in cells.iter().enumerate() {
        write!(out, "        {:name_width$}", cut(&classes[i], name_width))?;
        for (j, (cell, width)) in row.iter().zip(&widths).enumerate() {
            match (i == j, cell.as_str()) {
                (true, _) => write!(out, "  {GOOD}{cell:>width$}{GOOD:#}")?,
                (false, "0") => write!(out, "  {FAINT}{:>width$}{FAINT:#}", ".")?,
                (false, _) => write!(out, "  {cell:>width$}")?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

fn drivers(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let shown = &report.drivers[..report.drivers.len().min(DRIVERS)];
    if shown.is_empty() {
        return Ok(());
    }
    let width = shown.iter().map(|driver| name(&driver.name).chars().count()).max().unwrap_or(0).max(11);
    let columns = shown[0].weights.len();
    let titled = columns > 1 && columns == report.classes.len() && columns <= 8;
    let titles: String = match titled {
        true => {
            let cut = |class: &String| format!("  {:>12}", name(class).chars().take(12).collect::<String>());
            report.classes.iter().map(cut).collect()
        }
        false => String::new(),
    };
    let beside = columns == 1 && !shown[0].standardised.is_empty();
    let titles = if beside { format!("  {:>12}  {:>12}", "per unit", "per deviation") } else { titles };
    writeln!(out, "{HEADING}weights{HEADING:#} {FAINT}{:width$}{titles}{FAINT:#}", "")?;
    if !report.intercept.is_empty() {
        write!(out, "        {:width$}", "(intercept)")?;
        report.intercept.iter().take(8).try_for_each(|value| write!(out, "  {:>12}", number(*value)))?;
        writeln!(out)?;
    }
    for driver in shown {
        write!(out, "        {:width$}", name(&driver.name))?;
        for weight in driver.weights.iter().take(8) {
            write!(out, "  {:>12}", number(*weight))?;
        }
        if beside {
            write!(out, "  {FAINT}{:>13}{FAINT:#}", number(driver.standardised[0]))?;
        }
        writeln!(out)?;
    }
    if report.drivers.len() > shown.len() {
        writeln!(
            out,
            "        {FAINT}and {} more; 'ermine inspect' shows all{FAINT:#}",
            report.drivers.len() - shown.len()
        )?;
    }
    Ok(())
}

/// What was done to the columns: a line for each, those of one kind together where there are many.
pub fn prepared(out: &mut impl Write, steps: &[Prepared]) -> io::Result<()> {
    let changed: Vec<&Prepared> =
        steps.iter().filter(|step| step.scaled || step.columns != 1 || step.reference.is_some()).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let scaled = changed.iter().filter(|step| step.scaled).count();
    let levels = changed.iter().filter(|step| !step.scaled).count();
    let mut parts = Vec::new();
    if scaled > 0 {
        parts.push(format!("{} standardised (--no-scale leaves them)", thousands(scaled)));
    }
    if levels > 0 {
        parts.push(format!("{} made of levels or words", thousands(levels)));
    }
    writeln!(out, "{HEADING}columns{HEADING:#} {}", parts.join(", "))?;
    let width = changed.iter().take(PREPARED).map(|step| name(&step.column).chars().count()).max().unwrap_or(0);
    for step in changed.iter().take(PREPARED) {
        let filled = step.filled.as_ref().map_or(String::new(), |value| format!("; missing: {value}"));
        writeln!(out, "        {FAINT}{:width$}  {}{filled}{FAINT:#}", name(&step.column), step.what)?;
    }
    if changed.len() > PREPARED {
        writeln!(out, "        {FAINT}and {} more; 'ermine inspect' shows all{FAINT:#}", changed.len() - PREPARED)?;
    }
    Ok(())
}

pub fn models(out: &mut impl Write, json: bool) -> io::Result<()> {
    if json {
        let all: Vec<serde_json::Value> = MODELS.iter().map(entry_json).collect();
        return terminal::json(out, &all);
    }
    let width = MODELS.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let mut tasks: Vec<&str> = Vec::new();
    for entry in MODELS {
        if !tasks.contains(&entry.info.task.name()) {
            tasks.push(entry.info.task.name());
        }
    }
    for task in tasks {
        writeln!(out, "{HEADING}{task}{HEADING:#}")?;
        for entry in MODELS.iter().filter(|entry| entry.info.task.name() == task) {
            writeln!(out, "  {BOLD}{:width$}{BOLD:#}  {}", entry.name, first_sentence(entry.doc))?;
        }
    }
    writeln!(out, "{FAINT}\n'ermine models NAME' shows one with its objective and parameters{FAINT:#}")
}

fn entry_json(entry: &Entry) -> serde_json::Value {
    serde_json::json!({
        "name": entry.name,
        "doc": entry.doc.trim(),
        "info": entry.info,
        "params": (entry.params)(),
    })
}

fn first_sentence(doc: &str) -> String {
    let line = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    line.split_inclusive(['.', ':']).next().unwrap_or_default().trim_end_matches([':', '.']).to_string()
}

pub fn model(out: &mut impl Write, entry: &Entry, json: bool) -> io::Result<()> {
    if json {
        return terminal::json(out, &entry_json(entry));
    }
    writeln!(out, "{BOLD}{}{BOLD:#}, {}", entry.name, entry.info.task.name())?;
    writeln!(out, "{}\n", entry.doc.split_whitespace().collect::<Vec<_>>().join(" "))?;
    writeln!(out, "{HEADING}objective{HEADING:#}  {}", entry.info.objective)?;
    let rows = match entry.info.passes {
        Passes::One => "one pass over the rows; tables larger than memory are read from disk".into(),
        Passes::Many => "several passes over the rows; tables larger than memory are read from disk".into(),
        Passes::Shares(reason) => format!("all rows in memory, on one worker or shared by several: {reason}"),
        Passes::Memory(reason) => format!("all rows in memory: {reason}"),
    };
    writeln!(out, "{HEADING}rows{HEADING:#}       {rows}")?;
    let takes = [
        (entry.info.sparse, "sparse rows"),
        (entry.info.missing, "missing values"),
        (entry.info.categories, "categories"),
        (entry.info.weights, "weights"),
        (entry.info.multi_target, "several targets"),
    ];
    let takes: Vec<&str> = takes.iter().filter(|(takes, _)| *takes).map(|(_, what)| *what).collect();
    writeln!(out, "{HEADING}supports{HEADING:#}   {}", takes.join(", "))?;
    let params = (entry.params)();
    if !params.is_empty() {
        writeln!(out, "{HEADING}parameters{HEADING:#}")?;
    }
    for param in params {
        let flag = format!("--{}", param.name.replace('_', "-"));
        writeln!(out, "  {BOLD}{flag}{BOLD:#} {FAINT}[{}]{FAINT:#}  {}", param.default, describe(&param.forms))?;
        writeln!(out, "      {}", param.doc.split_whitespace().collect::<Vec<_>>().join(" "))?;
    }
    let target = if entry.info.task.is_supervised() { " --target COLUMN" } else { "" };
    writeln!(out, "{FAINT}\nermine fit DATA.csv{target} --model {}{FAINT:#}", entry.name)
}

pub fn inspect(out: &mut impl Write, fitted: &Fitted, json: bool) -> io::Result<()> {
    let header = &fitted.header;
    if json {
        let attributes: serde_json::Map<String, serde_json::Value> =
            fitted.model.attributes().iter().map(|(name, array)| (name.to_string(), array_json(array))).collect();
        let all = serde_json::json!({
            "header": header,
            "features": fitted.prepared_names(),
            "preparation": report::preparation(fitted),
            "weights": report::weights(fitted).0,
            "intercept": report::weights(fitted).1,
            "attributes": attributes,
            "log": fitted.log,
        });
        return terminal::json(out, &all);
    }
    let params: Vec<String> = header.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    writeln!(out, "{BOLD}{}{BOLD:#}({})", header.model, params.join(", "))?;
    if let Some(target) = &header.target {
        let classes = match target.classes.len() {
            0 => String::new(),
            n if n <= 12 => format!(": {}", names(&target.classes).join(", ")),
            n => format!(": {n} classes"),
        };
        writeln!(out, "{HEADING}predicts{HEADING:#}  {} ({}){classes}", name(&target.name), target.kind)?;
    }
    writeln!(
        out,
        "{HEADING}from{HEADING:#}      {} columns, {} rows",
        header.schema.columns.len(),
        thousands(header.rows)
    )?;
    for field in &header.schema.columns {
        let levels = match field.levels.len() {
            0 => String::new(),
            n if n <= 8 => format!(": {}", names(field.levels.iter()).join(", ")),
            n => format!(": {n} levels"),
        };
        writeln!(out, "          {} ({}){levels}", name(&field.name), field.kind)?;
    }
    for (part, scores) in &header.scores {
        let score = |(metric, value): (&String, &Option<f64>)| {
            format!("{} {}", name(metric), value.map_or("undefined".into(), number))
        };
        let (part, scores) = (name(part), scores.iter().map(score).collect::<Vec<_>>());
        writeln!(out, "{HEADING}{part}{HEADING:#}  {}", scores.join(", "))?;
    }
    let steps = report::preparation(fitted);
    let width = steps.iter().map(|step| name(&step.column).chars().count()).max().unwrap_or(0);
    for (i, step) in steps.iter().enumerate() {
        let head = if i == 0 { format!("{HEADING}prepared{HEADING:#}  ") } else { "          ".into() };
        let filled = step.filled.as_ref().map_or(String::new(), |value| format!("; missing: {value}"));
        writeln!(out, "{head}{:width$}  {}{filled}", name(&step.column), step.what)?;
    }
    writeln!(out, "{HEADING}fit{HEADING:#}       {}", fitted.log)?;
    let (drivers, intercept) = report::weights(fitted);
    if drivers.iter().any(|driver| !driver.standardised.is_empty()) {
        let list = |values: &[f64]| values.iter().map(|value| number(*value)).collect::<Vec<_>>().join(", ");
        writeln!(
            out,
            "{HEADING}weights{HEADING:#}   {FAINT}in the units of the file; coef_ below is per deviation{FAINT:#}"
        )?;
        if !intercept.is_empty() {
            writeln!(out, "          (intercept)  {}", list(&intercept))?;
        }
        for driver in &drivers {
            writeln!(out, "          {}  {}", name(&driver.name), list(&driver.weights))?;
        }
    }
    let (columns, classes) = (names(&fitted.prepared_names()), names(fitted.classes()));
    for (name, array) in fitted.model.attributes() {
        attribute(out, name, &array, &columns, &classes)?;
    }
    writeln!(
        out,
        "{FAINT}written by ermine {}, seed {}, data fingerprint {:08x}{FAINT:#}",
        header.version, header.seed, header.fingerprint
    )
}

/// Attributes whose last axis is the columns, or the classes. An array is not known by its length: there may be as many
/// classes as columns.
const BY_COLUMN: &[&str] = &[
    "coef_",
    "feature_importances_",
    "components_",
    "cluster_centers_",
    "means_",
    "mean_",
    "var_",
    "scale_",
    "theta_",
    "xbar_",
    "center_",
    "min_",
    "data_min_",
    "data_max_",
    "data_range_",
    "max_abs_",
    "statistics_",
    "lambdas_",
    "feature_log_prob_",
    "feature_count_",
    "feature_all_",
    "n_categories_",
    "n_bins_",
    "scores_",
    "pvalues_",
    "ranking_",
];
const BY_CLASS: &[&str] = &["class_count_", "class_prior_", "class_log_prior_", "priors_", "n_support_", "intercept_"];

/// Arrays with one value for each column or class are shown beside the names; others as they are, cut short.
fn attribute(
    out: &mut impl Write,
    name: &str,
    array: &Array,
    columns: &[String],
    classes: &[String],
) -> io::Result<()> {
    let names = match name {
        name if BY_COLUMN.contains(&name) => columns,
        name if BY_CLASS.contains(&name) && classes.len() > 1 => classes,
        _ => &[],
    };
    let texts: Vec<String> = match &array.values {
        Numbers::Float(values) => values.iter().map(|value| number(*value)).collect(),
        Numbers::Int(values) => values.iter().map(i64::to_string).collect(),
        Numbers::Text(values) => terminal::names(values),
        Numbers::List(arrays) => {
            return arrays
                .iter()
                .enumerate()
                .try_for_each(|(i, array)| attribute(out, &format!("{name}[{i}]"), array, &[], &[]));
        }
    };
    let shape: Vec<String> = array.shape.iter().map(usize::to_string).collect();
    let by_column = array.shape.last() == Some(&names.len()) && !names.is_empty() && texts.len() <= 12 * names.len();
    if !by_column {
        let shown = texts.iter().take(12).cloned().collect::<Vec<_>>().join(" ");
        let more = if texts.len() > 12 { " ..." } else { "" };
        let shape = if shape.is_empty() { String::new() } else { format!(" {FAINT}({}){FAINT:#}", shape.join(" x ")) };
        return writeln!(out, "{HEADING}{name}{HEADING:#}{shape}  {shown}{more}");
    }
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    // A row for each class has its class above it.
    let titled = names.len() == columns.len() && classes.len() > 1 && array.shape == [classes.len(), columns.len()];
    let title = |class: &String| format!("  {:>12}", class.chars().take(12).collect::<String>());
    let titles: String = if titled { classes.iter().map(title).collect() } else { String::new() };
    let pad = if titled { (width + 2).saturating_sub(name.chars().count()) } else { 0 };
    writeln!(out, "{HEADING}{name}{HEADING:#}{:pad$}{FAINT}{titles}{FAINT:#}", "")?;
    for (j, column) in names.iter().enumerate() {
        let row: String = texts.iter().skip(j).step_by(names.len()).map(|text| format!("  {text:>12}")).collect();
        writeln!(out, "  {column:width$}{row}")?;
    }
    Ok(())
}

fn array_json(array: &Array) -> serde_json::Value {
    serde_json::json!({ "shape": array.shape, "values": match &array.values {
        Numbers::Float(values) => serde_json::json!(values),
        Numbers::Int(values) => serde_json::json!(values),
        Numbers::Text(values) => serde_json::json!(values),
        Numbers::List(arrays) => serde_json::json!(arrays.iter().map(array_json).collect::<Vec<_>>()),
    }})
}

pub fn evaluation(
    out: &mut impl Write,
    rows: usize,
    scores: &[(&'static str, f64)],
    confusion: Option<&[Vec<f64>]>,
    classes: &[String],
    json: bool,
) -> io::Result<()> {
    if json {
        let scores: serde_json::Map<String, serde_json::Value> =
            scores.iter().map(|(name, value)| (name.to_string(), serde_json::json!(value))).collect();
        let all = serde_json::json!({ "rows": rows, "scores": scores, "confusion": confusion, "classes": classes });
        return terminal::json(out, &all);
    }
    let width = scores.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    writeln!(out, "{HEADING}scores{HEADING:#}  {FAINT}on {} rows{FAINT:#}", thousands(rows))?;
    for (name, value) in scores {
        writeln!(out, "        {name:width$}  {:>10}", score(name, *value))?;
    }
    match confusion {
        Some(confusion) if classes.len() <= 12 => confusion_table(out, confusion, classes),
        _ => Ok(()),
    }
}

/// A score as people print it: three decimals (0.983), fewer for large numbers (326.1), more for small ones.
pub fn score(metric: &str, value: f64) -> String {
    // A score whose best is 1 is read against it: the rest of a rounding is 0.000.
    if metrics::metric(metric).is_ok_and(|metric| metric.greater_is_better) && value.abs() < 1.0 {
        let text = format!("{value:.3}");
        return if text == "-0.000" { "0.000".into() } else { text };
    }
    if is_large(value) { format!("{value:.*}", decimals(value)) } else { number(value) }
}

pub fn interval(metric: &str, low: f64, high: f64) -> String {
    format!("{} to {}", score(metric, low), score(metric, high))
}

/// A value and its margin with the same decimals: 0.993 ± 0.012.
pub fn with_margin(value: f64, margin: f64) -> String {
    let larger = value.abs().max(margin.abs());
    match is_large(larger) {
        true => format!("{value:.0$} ± {margin:.0$}", decimals(larger)),
        false => format!("{} ± {}", number(value), number(margin)),
    }
}

/// Whether it can be read with three decimals, or fewer.
fn is_large(value: f64) -> bool {
    value == 0.0 || (5e-3..1e7).contains(&value.abs())
}

fn decimals(value: f64) -> usize {
    if value.abs() < 10.0 { 3 } else { (3.0 - value.abs().log10().floor()).max(0.0) as usize }
}

/// 1234567 as 1,234,567.
pub fn thousands(value: usize) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
