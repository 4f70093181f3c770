//! The card of a model: one page for those who did not fit it, as Markdown or as HTML.

use super::{
    digits,
    html::{escape, shell},
    preparation, weights,
};
use crate::{
    Fitted, judge,
    rows::Rows,
    store::Origin,
    table::{Column, Kind, date_text, datetime_text, number_text},
};
use ermine::{Ctx, Error, Result};
use std::collections::BTreeMap;

/// A group of rows is scored by itself from this size on.
const LEAST: usize = 10;
/// At most this many lines of a table are shown.
const SHOWN: usize = 40;

/// Scores of the rows with one value in a column.
pub struct GroupScores {
    pub column: String,
    pub value: String,
    pub rows: usize,
    pub scores: Vec<(&'static str, f64)>,
}

/// The scores of a model for each value of a column, the largest group first. The column has a value for each of
/// `rows`.
pub fn group_scores(fitted: &Fitted, rows: &Rows, column: (&str, &Column), ctx: &Ctx) -> Result<Vec<GroupScores>> {
    let (name, values) = column;
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for row in 0..rows.len() {
        groups.entry(values.value_text(row)).or_default().push(row);
    }
    let mut groups: Vec<(String, Vec<usize>)> = groups.into_iter().filter(|(_, rows)| rows.len() >= LEAST).collect();
    groups.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.len()));
    let score = |(value, members): (String, Vec<usize>)| {
        let part = rows.take(&members);
        let data = part.data()?;
        let said = fitted.predictions(ctx, &data.batch().x, &part.texts)?;
        let truth = part.labels.target.as_ref().ok_or_else(|| Error::Data("the rows have no target".into()))?;
        let scores = judge::scores(truth, &said, part.labels.weights.as_deref())?;
        let value = if value.is_empty() { "(missing)".into() } else { value };
        Ok(GroupScores { column: name.into(), value, rows: members.len(), scores })
    };
    groups.into_iter().take(SHOWN).map(score).collect()
}

enum Block {
    Heading(&'static str),
    Text(String),
    Code(String),
    Table(Vec<&'static str>, Vec<Vec<String>>),
}

/// What is on the card.
pub struct Card {
    title: String,
    blocks: Vec<Block>,
}

impl Card {
    pub fn new(fitted: &Fitted, groups: &[GroupScores]) -> Card {
        let header = &fitted.header;
        let title = match &header.target {
            Some(target) => format!("{} for {}", header.model, target.name),
            None => header.model.clone(),
        };
        let mut card = Card { title, blocks: Vec::new() };
        card.purpose(fitted);
        card.scores(fitted);
        card.groups(groups);
        card.columns(fitted);
        card.drivers(fitted);
        card.limits(fitted);
        card.origin(fitted);
        card
    }

    fn heading(&mut self, text: &'static str) {
        self.blocks.push(Block::Heading(text));
    }

    fn text(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text(text.into()));
    }

    fn purpose(&mut self, fitted: &Fitted) {
        let header = &fitted.header;
        let columns = header.schema.columns.len();
        self.text(match &header.target {
            Some(target) if target.classes.is_empty() => {
                format!("Predicts the number {} of a row from {columns} columns.", target.name)
            }
            Some(target) => format!(
                "Predicts which of {} classes of {} a row belongs to ({}) from {columns} columns.",
                target.classes.len(),
                target.name,
                some(&target.classes, 8)
            ),
            None => format!("Describes rows of {columns} columns."),
        });
        if let Some(choice) = header.origin.as_ref().and_then(|origin| origin.choice.clone()) {
            self.text(format!("How it was chosen: {choice}."));
        }
        if let Some(target) = header.target.as_ref().filter(|target| !target.costs.is_empty()) {
            let costs = target.classes.iter().zip(&target.costs);
            let costs: Vec<String> = costs.map(|(class, cost)| format!("{class} {}", digits(*cost))).collect();
            self.text(format!(
                "Classes are named for the least expected cost; to miss one costs: {}.",
                costs.join(", ")
            ));
        }
    }

    fn scores(&mut self, fitted: &Fitted) {
        let header = &fitted.header;
        if header.scores.is_empty() {
            return;
        }
        self.heading("Scores");
        let none = Origin::default();
        let origin = header.origin.as_ref().unwrap_or(&none);
        if origin.test_rows > 0 {
            self.text(format!(
                "Measured on {} rows that were held out; {} were learnt from. The model itself was then fitted on {}.",
                origin.test_rows, origin.train_rows, header.rows
            ));
        }
        let mut rows = Vec::new();
        for (part, scores) in &header.scores {
            for (metric, value) in scores {
                let stated = origin.stated.iter().find(|stated| part == "test" && stated.metric == *metric);
                let interval = stated.and_then(|stated| stated.interval);
                rows.push(vec![
                    part.clone(),
                    metric.replace('_', " "),
                    value.map_or("not defined".into(), digits),
                    interval.map_or(String::new(), |(low, high)| format!("{} to {}", digits(low), digits(high))),
                    stated.and_then(|stated| stated.baseline).map_or(String::new(), digits),
                ]);
            }
        }
        self.blocks.push(Block::Table(vec!["on", "metric", "score", "95 % interval", "baseline"], rows));
    }

    fn groups(&mut self, groups: &[GroupScores]) {
        let Some(first) = groups.first() else { return };
        self.heading("Scores by group");
        self.text(format!("Values with fewer than {LEAST} rows are not shown: their scores would say nothing."));
        let mut head = vec!["column", "value", "rows"];
        head.extend(first.scores.iter().map(|(metric, _)| *metric));
        let line = |group: &GroupScores| {
            let score = |metric: &&str| {
                let found = group.scores.iter().find(|(known, _)| known == metric);
                found.map_or(String::new(), |(_, value)| digits(*value))
            };
            let mut line = vec![group.column.clone(), group.value.clone(), group.rows.to_string()];
            line.extend(head[3..].iter().map(score));
            line
        };
        let rows = groups.iter().map(line).collect();
        self.blocks.push(Block::Table(head, rows));
    }

    fn columns(&mut self, fitted: &Fitted) {
        self.heading("Data");
        let header = &fitted.header;
        let steps = preparation(fitted);
        let what = |name: &str| steps.iter().find(|step| step.column == name);
        let rows = header.schema.columns.iter().map(|field| {
            let text = |value: f64| match field.kind {
                Kind::Date => date_text(value),
                Kind::DateTime => datetime_text(value),
                _ => number_text(value),
            };
            let values = match header.ranges.get(&field.name) {
                Some((low, high)) => format!("{} to {}", text(*low), text(*high)),
                None => some(field.levels.iter(), 6),
            };
            let step = what(&field.name);
            vec![
                field.name.clone(),
                field.kind.to_string(),
                values,
                step.map_or(String::new(), |step| step.what.clone()),
                step.and_then(|step| step.filled.clone()).unwrap_or_default(),
            ]
        });
        let rows = rows.collect();
        self.blocks.push(Block::Table(vec!["column", "kind", "values", "preparation", "if missing"], rows));
        let left_out = header.origin.iter().flat_map(|origin| &origin.left_out);
        let left_out: Vec<String> = left_out.map(|(column, why)| format!("{column} ({why})")).collect();
        if !left_out.is_empty() {
            self.text(format!("Left out: {}.", left_out.join("; ")));
        }
    }

    fn drivers(&mut self, fitted: &Fitted) {
        let (drivers, _) = weights(fitted);
        if drivers.is_empty() {
            return;
        }
        self.heading("Weights");
        let line = |driver: &super::Driver| {
            let list = |values: &[f64]| values.iter().map(|value| digits(*value)).collect::<Vec<_>>().join(", ");
            vec![driver.name.clone(), list(&driver.weights), list(&driver.standardised)]
        };
        let rows = drivers.iter().take(SHOWN).map(line).collect();
        self.blocks.push(Block::Table(vec!["column", "in its unit", "by deviation"], rows));
    }

    fn limits(&mut self, fitted: &Fitted) {
        self.heading("Limits of use");
        self.text(
            "The model knows rows like those it was fitted on. Outside the values above it extrapolates, a level that \
             is not \
             listed counts as unknown, and when the data change its scores no longer hold: 'ermine check' measures \
             that.",
        );
        self.text(
            "A weight or an importance tells what the prediction uses, not what causes the target. Scores are \
             averages: \
             look at the groups that matter to you.",
        );
        if fitted.log.unfinished() {
            self.text(format!("The fit did not meet its tolerance: {}.", fitted.log));
        }
    }

    fn origin(&mut self, fitted: &Fitted) {
        let header = &fitted.header;
        self.heading("Origin");
        let mut command: Vec<String> = ["ermine", "fit", "DATA", "--model", &header.model].map(String::from).into();
        if let Some(target) = &header.target {
            command.extend(["--target".into(), target.name.clone()]);
        }
        let entry = ermine::entry(&header.model).ok();
        let defaults = entry.map_or(Vec::new(), |entry| (entry.params)());
        for (name, value) in &header.params {
            let usual = defaults.iter().any(|param| param.name == name && param.default.to_string() == *value);
            if !usual {
                command.extend([format!("--{}", name.replace('_', "-")), value.clone()]);
            }
        }
        command.extend(["--seed".into(), header.seed.to_string()]);
        self.blocks.push(Block::Code(shell(&command)));
        self.text(format!(
            "Ermine {}; fitted on {} rows with fingerprint {:08x}. {}.",
            header.version, header.rows, header.fingerprint, fitted.log
        ));
    }

    pub fn markdown(&self) -> String {
        let clean = |text: &str| {
            let mut out = String::new();
            for c in text.chars() {
                match c {
                    '\n' | '\r' => out.push(' '),
                    '\\' | '|' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '#' => out.extend(['\\', c]),
                    c => out.push(c),
                }
            }
            out
        };
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut out = format!("# {}\n", clean(&self.title));
        for block in &self.blocks {
            out.push('\n');
            match block {
                Block::Heading(text) => out += &format!("## {text}\n"),
                Block::Text(text) => out += &format!("{}\n", clean(text)),
                Block::Code(text) => out += &format!("    {}\n", text.replace('\n', " ")),
                Block::Table(head, rows) => {
                    out += &line(head.iter().map(|name| clean(&name.replace('_', " "))).collect());
                    out += &line(vec!["---".into(); head.len()]);
                    rows.iter().for_each(|row| out += &line(row.iter().map(|cell| clean(cell)).collect()));
                }
            }
        }
        out
    }

    pub fn html(&self) -> String {
        let cell = |tag: &str, text: &str| format!("<{tag}>{}</{tag}>", escape(text));
        let mut body = cell("h1", &self.title);
        for block in &self.blocks {
            body += &match block {
                Block::Heading(text) => cell("h2", text),
                Block::Text(text) => cell("p", text),
                Block::Code(text) => cell("pre", text),
                Block::Table(head, rows) => {
                    let head: String = head.iter().map(|name| cell("th", &name.replace('_', " "))).collect();
                    let row = |cells: &Vec<String>| {
                        format!("<tr>{}</tr>", cells.iter().map(|text| cell("td", text)).collect::<String>())
                    };
                    let rows: String = rows.iter().map(row).collect();
                    format!(
                        "<div class=\"scroll\"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
                    )
                }
            };
            body.push('\n');
        }
        let policy = "default-src 'none'; style-src 'unsafe-inline'";
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"generator\" content=\"ermine {}\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{}</title>\n<style>{}{CARD_STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
            env!("CARGO_PKG_VERSION"),
            escape(&self.title),
            super::html::STYLE,
        )
    }
}

/// What a page without charts adds: the theme of the reader, tables that scroll, names that break.
const CARD_STYLE: &str = "main { max-width: 860px; } p, td { overflow-wrap: anywhere; } pre { white-space: pre-wrap; } \
    .scroll { overflow-x: auto; } @media (prefers-color-scheme: dark) { :root { --back: #14171a; --card: #1c2024; \
    --ink: #e8eaec; --soft: #9aa4ad; --line: #31373d; --accent: #6aa9ec; } }";

/// The first few of a list.
fn some<'a>(list: impl IntoIterator<Item = &'a String>, most: usize) -> String {
    let mut list = list.into_iter();
    let first: Vec<&str> = list.by_ref().take(most).map(String::as_str).collect();
    match list.count() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
