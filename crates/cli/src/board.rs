//! How comparisons and explanations look.

use crate::{
    show::{self, number, thousands, with_margin},
    terminal::{BOLD, FAINT, GOOD, HEADING, name, names},
};
use ermine_app::{
    Report,
    choose::{Comparison, Standing},
    explain::{Dependence, ErrorParts, RowExplanation, Weight},
};
use std::io::{self, Write};

/// Models in the order of their score, with intervals.
pub fn leaderboard(out: &mut impl Write, found: &Comparison, most: usize) -> io::Result<()> {
    let judged: Vec<&Standing> = found.standings.iter().filter(|standing| standing.mean.is_some()).collect();
    if judged.is_empty() {
        return Ok(());
    }
    let shown = &judged[..judged.len().min(most)];
    let width = shown.iter().map(|standing| standing.model.len()).max().unwrap_or(0);
    writeln!(
        out,
        "{HEADING}models{HEADING:#}  {FAINT}{:width$}  {:>22}{FAINT:#}",
        "",
        format!("{} ({})", found.metric, found.folding())
    )?;
    for (place, standing) in shown.iter().enumerate() {
        let (mean, margin) = (standing.mean.unwrap_or(f64::NAN), standing.margin.unwrap_or(f64::NAN));
        let score = with_margin(mean, margin);
        let params: Vec<String> =
            standing.params.iter().map(|(name, value)| format!("{name}={}", short(value))).collect();
        let mut remarks: Vec<String> = Vec::new();
        if standing.rows < found.rows {
            remarks.push(format!("on {} rows", thousands(standing.rows)));
        }
        if !params.is_empty() {
            remarks.push(params.join(", "));
        }
        let remarks =
            if remarks.is_empty() { String::new() } else { format!("  {FAINT}{}{FAINT:#}", remarks.join("; ")) };
        if place == 0 {
            writeln!(out, "        {BOLD}{:width$}{BOLD:#}  {GOOD}{score:>22}{GOOD:#}{remarks}", standing.model)?;
        } else if standing.as_good {
            writeln!(out, "      = {:width$}  {score:>22}{remarks}", standing.model)?;
        } else {
            writeln!(out, "        {:width$}  {score:>22}{remarks}", standing.model)?;
        }
    }
    if judged.len() > shown.len() {
        writeln!(out, "        {FAINT}and {} more, none better{FAINT:#}", judged.len() - shown.len())?;
    }
    if shown.iter().skip(1).any(|standing| standing.as_good) {
        writeln!(out, "        {FAINT}= tied with the chosen model; ± is a 95 % interval{FAINT:#}")?;
    } else {
        writeln!(out, "        {FAINT}± is a 95 % interval{FAINT:#}")?;
    }
    let most = shown.iter().map(|standing| standing.scores.len()).max().unwrap_or(0);
    let fewer = shown.iter().map(|standing| standing.scores.len()).filter(|folds| *folds < most).max();
    if let Some(folds) = fewer.filter(|_| found.rows == shown[0].rows) {
        writeln!(out, "        {FAINT}models that were behind after {folds} folds were not folded again{FAINT:#}")?;
    }
    for standing in found.standings.iter().filter(|standing| standing.mean.is_none()) {
        let note = standing.note.as_deref().unwrap_or("no score");
        writeln!(out, "        {FAINT}{}: {note}{FAINT:#}", standing.model)?;
    }
    Ok(())
}

/// Digits enough to recognise a parameter.
fn short(value: &str) -> String {
    match value.parse::<f64>() {
        Ok(number) if number.fract() != 0.0 => show::number(number),
        _ => value.into(),
    }
}

/// What the score falls by when a column says nothing any more.
pub fn importance(out: &mut impl Write, weights: &[Weight], metric: &str, most: usize) -> io::Result<()> {
    let shown = &weights[..weights.len().min(most)];
    let Some(largest) = shown.first().map(|weight| weight.fall).filter(|fall| *fall > 0.0) else { return Ok(()) };
    let width = shown.iter().map(|weight| name(&weight.name).chars().count()).max().unwrap_or(0);
    writeln!(out, "{HEADING}drivers{HEADING:#} {FAINT}{:width$}  drop in {metric} when shuffled{FAINT:#}", "")?;
    for weight in shown {
        let length = ((weight.fall / largest) * 24.0).round().max(0.0) as usize;
        let amount = with_margin(weight.fall, 2.0 * weight.error);
        writeln!(out, "        {:width$}  {amount:>20}  {GOOD}{}{GOOD:#}", name(&weight.name), "━".repeat(length))?;
    }
    if weights.len() > shown.len() {
        writeln!(out, "        {FAINT}and {} more{FAINT:#}", weights.len() - shown.len())?;
    }
    Ok(())
}

pub fn comparison(out: &mut impl Write, found: &Comparison, notes: &[String]) -> io::Result<()> {
    leaderboard(out, found, usize::MAX)?;
    writeln!(out, "        {}", found.verdict())?;
    show::notes(out, notes)?;
    if !found.left_out.is_empty() {
        let names: Vec<&str> = found.left_out.iter().map(|(name, _)| name.as_str()).collect();
        writeln!(out, "        {FAINT}not tried: {}{FAINT:#}", names.join(", "))?;
    }
    if !found.skipped.is_empty() {
        writeln!(out, "        {FAINT}left out at this effort: {}{FAINT:#}", found.skipped.join("; "))?;
    }
    if !found.cuts.is_empty() {
        writeln!(out, "        not finished within the budget: {}", found.cuts.join("; "))?;
    }
    writeln!(out, "{FAINT}{:.2} s{FAINT:#}", found.seconds)
}

/// One row: the mean prediction, what each column adds, the prediction.
pub fn row(out: &mut impl Write, why: &RowExplanation) -> io::Result<()> {
    let shown = &why.parts[..why.parts.len().min(12)];
    let said = |(column, value, _): &(String, String, f64)| {
        let (column, value) = (name(column), name(value));
        if value.is_empty() { format!("{column} missing") } else { format!("{column} = {value}") }
    };
    let width = shown.iter().map(|part| said(part).chars().count()).max().unwrap_or(0).max(16);
    let largest = shown.iter().map(|part| part.2.abs()).fold(0.0, f64::max);
    writeln!(
        out,
        "{HEADING}row {}{HEADING:#}   {BOLD}{} {}{BOLD:#}",
        why.row + 1,
        name(&why.of),
        number(why.prediction)
    )?;
    writeln!(out, "        {:width$}  {:>12}", "mean prediction", number(why.base))?;
    for part in shown {
        let length = if largest > 0.0 { (part.2.abs() / largest * 24.0).round() as usize } else { 0 };
        let sign = if part.2 >= 0.0 { "+" } else { "-" };
        let amount = format!("{sign} {}", number(part.2.abs()));
        writeln!(out, "        {:width$}  {amount:>12}  {GOOD}{}{GOOD:#}", said(part), "━".repeat(length))?;
    }
    let rest: f64 = why.parts[shown.len()..].iter().map(|part| part.2).sum();
    if why.parts.len() > shown.len() {
        writeln!(out, "        {:width$}  {:>12}", format!("{} others", why.parts.len() - shown.len()), number(rest))?;
    }
    Ok(())
}

/// What the error is made of, as bars of one scale.
pub fn error_parts(out: &mut impl Write, model: &str, found: &ErrorParts) -> io::Result<()> {
    let parts = &found.parts;
    writeln!(
        out,
        "{HEADING}error{HEADING:#}   {BOLD}{}{BOLD:#} {} {FAINT}{model}, {} refits on bootstrap samples of {} rows, \
         scored on {} others{FAINT:#}",
        number(parts.error),
        found.of,
        found.refits,
        thousands(found.train_rows),
        thousands(found.test_rows),
    )?;
    let classes = found.of.contains("classes");
    let lines = match classes {
        true => vec![("bias and noise", parts.bias), ("variance", parts.net_variance)],
        false => vec![("squared bias", parts.bias), ("variance", parts.variance), ("noise", parts.noise)],
    };
    for (name, part) in lines {
        let share = if parts.error > 0.0 { part / parts.error } else { 0.0 };
        let length = (share * 24.0).round().max(0.0) as usize;
        let amount = format!("{:.0} %", 100.0 * share);
        writeln!(out, "        {name:14}  {:>12}  {amount:>5}  {GOOD}{}{GOOD:#}", number(part), "━".repeat(length))?;
    }
    if classes {
        writeln!(
            out,
            "        {FAINT}a refit disagrees with the majority on {:.1} % of the rows, which helps where the \
             majority is wrong{FAINT:#}",
            100.0 * parts.variance
        )?;
    } else {
        writeln!(
            out,
            "        {FAINT}noise is estimated from pairs of nearest neighbours: an upper bound that may include some \
             bias{FAINT:#}"
        )?;
    }
    writeln!(out, "        {}", found.verdict)
}

/// The mean prediction along a column, as a line of blocks.
pub fn dependence(out: &mut impl Write, curves: &[Dependence], classes: &[String]) -> io::Result<()> {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    for curve in curves {
        let (Some(first), Some(last)) = (curve.labels.first(), curve.labels.last()) else { continue };
        let range = if curve.category { names(&curve.labels).join(", ") } else { format!("{first} to {last}") };
        writeln!(out, "{HEADING}along{HEADING:#}   {BOLD}{}{BOLD:#} {FAINT}{range}{FAINT:#}", name(&curve.name))?;
        for (c, means) in curve.means.iter().enumerate() {
            let (low, high) = means.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), m| (a.min(*m), b.max(*m)));
            let block =
                |mean: &f64| BLOCKS[if high > low { ((mean - low) / (high - low) * 7.0).round() as usize } else { 0 }];
            let class = if curve.means.len() > 1 {
                classes.get(c).map_or(String::new(), |class| name(class))
            } else {
                String::new()
            };
            let line: String = means.iter().map(block).collect();
            writeln!(out, "        {line}  {} to {} {class}", number(low), number(high))?;
        }
    }
    Ok(())
}

/// What a comparison adds to a report in text.
pub fn of_report(out: &mut impl Write, report: &Report) -> io::Result<()> {
    if let Some(found) = &report.comparison {
        leaderboard(out, found, 12)?;
    }
    Ok(())
}
