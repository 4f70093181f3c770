//! Clusters and components in text: how many, how large, where their middles lie, what tells them apart.

use crate::{
    show::{number, thousands},
    terminal::{FAINT, GOOD, HEADING, name},
};
use ermine_app::{
    Report,
    explain::{Group, Oddity, OutlierMethod, Outliers},
    table::{Kind, date_text, datetime_text},
};
use std::io::{self, Write};

/// At most this many clusters and columns are shown.
const CLUSTERS: usize = 20;
const COLUMNS: usize = 12;

pub fn clusters(out: &mut impl Write, report: &Report) -> io::Result<()> {
    curve(out, report)?;
    if report.clusters.is_empty() {
        return Ok(());
    }
    let sizes: Vec<String> = report.clusters.iter().take(CLUSTERS).map(|size| thousands(*size)).collect();
    let more = if report.clusters.len() > CLUSTERS { ", ..." } else { "" };
    writeln!(out, "{HEADING}groups{HEADING:#}  {} rows{more}", sizes.join(", "))?;
    let shown = &report.insight.groups[..report.insight.groups.len().min(8)];
    middles(out, report, shown)?;
    for (label, group) in shown.iter().enumerate() {
        let text: Vec<String> = group.telling.iter().map(|telling| tell(report, telling)).collect();
        if !text.is_empty() {
            writeln!(out, "        {FAINT}{label}:{FAINT:#} {}", text.join("; "))?;
        }
    }
    Ok(())
}

/// The criterion for each number, the chosen one marked.
fn curve(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let Some(curve) = &report.insight.cluster_curve else { return Ok(()) };
    let second = if curve.criterion == "bic" { "aic" } else { "inertia" };
    let titles = format!("{:>4}  {:>12}  {second:>12}", "k", curve.criterion);
    writeln!(out, "{HEADING}number{HEADING:#}  {FAINT}{titles}{FAINT:#}")?;
    let text = |value: Option<f64>| value.map_or(String::new(), number);
    for point in &curve.points {
        let line = format!("{:>4}  {:>12}  {:>12}", point.k, text(point.value), text(point.inertia.or(point.aic)));
        match point.k == curve.chosen {
            true => writeln!(out, "        {GOOD}{line}  <- chosen{GOOD:#}")?,
            false => writeln!(out, "        {line}")?,
        }
    }
    writeln!(out, "        {FAINT}{}{FAINT:#}", curve.verdict)
}

/// A column a line, a cluster a column.
fn middles(out: &mut impl Write, report: &Report, groups: &[Group]) -> io::Result<()> {
    let Some(first) = groups.first() else { return Ok(()) };
    let width = first.middle.iter().take(COLUMNS).map(|middle| name(&middle.column).chars().count()).max().unwrap_or(0);
    let titles: String = (0..groups.len()).map(|label| format!("  {label:>12}")).collect();
    writeln!(out, "{HEADING}centres{HEADING:#} {FAINT}{:width$}{titles}{FAINT:#}", "")?;
    for (j, middle) in first.middle.iter().take(COLUMNS).enumerate() {
        write!(out, "        {:width$}", name(&middle.column))?;
        for group in groups {
            let middle = &group.middle[j];
            let text = match (&middle.mean, &middle.level) {
                (Some(mean), _) => value(report, &middle.column, *mean),
                (None, Some((level, _))) => name(level).chars().take(12).collect(),
                _ => String::new(),
            };
            write!(out, "  {text:>12}")?;
        }
        writeln!(out)?;
    }
    if first.middle.len() > COLUMNS {
        writeln!(out, "        {FAINT}and {} more columns{FAINT:#}", first.middle.len() - COLUMNS)?;
    }
    Ok(())
}

/// A mean in the unit of its column.
fn value(report: &Report, column: &str, mean: f64) -> String {
    match report.data.columns.iter().find(|summary| summary.name == column).map(|summary| summary.kind) {
        Some(Kind::Date) => date_text(mean.round()),
        // Times are counted in days among the features.
        Some(Kind::DateTime) => datetime_text((mean * 86_400.0).round()),
        _ => number(mean),
    }
}

fn tell(report: &Report, telling: &ermine_app::explain::Telling) -> String {
    let column = name(&telling.column);
    match &telling.level {
        Some(level) => {
            let percent = |share: f64| format!("{:.0} %", 100.0 * share);
            format!("{column} is {} in {} (of all: {})", name(level), percent(telling.here), percent(telling.overall))
        }
        None => {
            let side = if telling.apart > 0.0 { "high" } else { "low" };
            let (here, overall) =
                (value(report, &telling.column, telling.here), value(report, &telling.column, telling.overall));
            format!("{column} {side} ({here}, of all {overall})")
        }
    }
}

/// Explained variance and what each component is made of.
pub fn components(out: &mut impl Write, report: &Report) -> io::Result<()> {
    if report.components.is_empty() {
        return Ok(());
    }
    let unit = if report.preparation.iter().any(|step| step.scaled) { " (standardised columns)" } else { "" };
    let titles = format!("{:>4}  {:>12}  {:>8}  {:>8}  made of", "", "variance", "share", "so far");
    writeln!(out, "{HEADING}parts{HEADING:#}   {FAINT}{titles}{unit}{FAINT:#}")?;
    let mut so_far = 0.0;
    for (i, component) in report.components.iter().take(10).enumerate() {
        so_far += component.share;
        let made: Vec<String> = (component.loadings.iter().take(4))
            .map(|(column, loading)| format!("{loading:+.2} {}", name(column)))
            .collect();
        let (variance, share) = (number(component.variance), format!("{:.1} %", 100.0 * component.share));
        let so_far = format!("{:.1} %", 100.0 * so_far);
        writeln!(out, "        {:>4}  {variance:>12}  {share:>8}  {so_far:>8}  {}", i + 1, made.join(" "))?;
    }
    if report.components.len() > 10 {
        writeln!(out, "        {FAINT}and {} more{FAINT:#}", report.components.len() - 10)?;
    }
    Ok(())
}

/// The rows that are farthest from the others.
pub fn outliers(out: &mut impl Write, found: &Outliers) -> io::Result<()> {
    let by = match found.method {
        OutlierMethod::Neighbours => "distance to the tenth nearest row, columns of deviation 1",
        OutlierMethod::Local => "how much thinner rows lie around the row than around its neighbours",
        OutlierMethod::Isolation => "how few random cuts set the row apart, between 0 and 1",
        OutlierMethod::Mahalanobis => "distance from the mean in deviations along the principal axes",
    };
    writeln!(out, "{HEADING}data{HEADING:#}    {} rows, {} columns", thousands(found.rows), found.columns)?;
    crate::show::notes(out, &found.notes)?;
    writeln!(out, "{HEADING}score{HEADING:#}   {by}; half of the rows are below {}", number(found.median))?;
    writeln!(out, "{HEADING}rows{HEADING:#}    {FAINT}{:>8}  {:>10}  odd in{FAINT:#}", "row", "score")?;
    for outlier in found.top.iter().take(10) {
        let odd = |odd: &Oddity| format!("{} {} ({})", name(&odd.column), name(&odd.value), odd.typical);
        let odd: Vec<String> = outlier.odd.iter().map(odd).collect();
        writeln!(out, "        {:>8}  {:>10}  {}", thousands(outlier.row), number(outlier.score), odd.join(", "))?;
    }
    writeln!(out, "        {FAINT}-o FILE writes the score of every row{FAINT:#}")
}
