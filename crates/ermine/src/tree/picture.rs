//! A tree to look at: as text, as a graph in the DOT language, as a self-contained SVG, and one prediction in words.
//!
//! Trees know columns and classes by number; the caller passes the names.

use crate::engine::tree::{Split, Test, Tree, contains, first_largest};
use std::fmt::Write;

/// Names for a picture; what is missing is shown by number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Names<'a> {
    pub features: &'a [String],
    /// Empty when leaves hold numbers.
    pub classes: &'a [String],
    /// Names of the levels of each column that is a category.
    pub levels: &'a [Vec<String>],
}

impl Names<'_> {
    fn feature(&self, j: usize) -> String {
        self.features.get(j).cloned().unwrap_or_else(|| format!("x[{j}]"))
    }

    fn class(&self, k: usize) -> String {
        self.classes.get(k).cloned().unwrap_or_else(|| format!("class {k}"))
    }

    fn level(&self, feature: usize, level: usize) -> String {
        let names = self.levels.get(feature).and_then(|levels| levels.get(level));
        names.cloned().unwrap_or_else(|| level.to_string())
    }

    /// The question of a split, or its negation.
    fn question(&self, split: &Split, yes: bool) -> String {
        let feature = self.feature(split.feature);
        match &split.test {
            Test::AtMost(threshold) if threshold.is_infinite() => {
                format!("{feature} is {}", if yes { "known" } else { "missing" })
            }
            Test::AtMost(threshold) => format!("{feature} {} {}", if yes { "<=" } else { ">" }, short(*threshold)),
            Test::Among(set) => {
                let levels = (0..set.len() * 64).filter(|&level| contains(set, level));
                let levels: Vec<String> = levels.map(|level| self.level(split.feature, level)).collect();
                format!("{feature} {} {{{}}}", if yes { "in" } else { "not in" }, levels.join(", "))
            }
        }
    }

    fn value(&self, value: &[f64], classes: bool) -> String {
        if classes {
            let best = first_largest(value);
            return format!("{} ({:.1} %)", self.class(best), 100.0 * value[best]);
        }
        value.iter().map(|v| short(*v)).collect::<Vec<_>>().join(", ")
    }
}

/// Five digits, without an exponent where that is short.
fn short(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e9).contains(&size) {
        return format!("{value:.4e}");
    }
    let decimals = if size >= 1.0 { (4 - size.log10().floor() as i32).max(0) as usize } else { 5 };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// Indented text, down to `depth` questions; `classes` says whether leaves hold shares of classes.
pub fn text(tree: &Tree, names: &Names, classes: bool, depth: usize) -> String {
    let (weights, values) = tree.summary();
    let mut out = String::new();
    let k = tree.outputs();
    // Node, depth, the answer that led here.
    let mut stack = vec![(0, 0, String::new())];
    while let Some((at, level, question)) = stack.pop() {
        let indent = "|   ".repeat(usize::max(level, 1) - 1) + if level > 0 { "|-- " } else { "" };
        let value = names.value(&values[at * k..(at + 1) * k], classes);
        let rows = short(weights[at]);
        match tree.split(at).filter(|_| level < depth) {
            Some((split, left)) => {
                if level > 0 {
                    let _ = writeln!(out, "{indent}{question}");
                }
                stack.push((left + 1, level + 1, names.question(&split, false)));
                stack.push((left, level + 1, names.question(&split, true)));
            }
            None if level == 0 => {
                let _ = writeln!(out, "{value}, {rows} rows");
            }
            None => {
                let more = if tree.split(at).is_some() { " ..." } else { "" };
                let _ = writeln!(out, "{indent}{question}: {value}, {rows} rows{more}");
            }
        }
    }
    out
}

/// A graph in the DOT language.
pub fn dot(tree: &Tree, names: &Names, classes: bool, depth: usize) -> String {
    let (weights, values) = tree.summary();
    let k = tree.outputs();
    let mut out =
        String::from("digraph tree {\n    node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n");
    let quote = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut stack = vec![(0, 0)];
    while let Some((at, level)) = stack.pop() {
        let value = &values[at * k..(at + 1) * k];
        let mut label = quote(&names.value(value, classes).to_string()) + &format!("\\n{} rows", short(weights[at]));
        let split = tree.split(at).filter(|_| level < depth);
        if let Some((split, left)) = &split {
            label = quote(&names.question(split, true)) + "\\n" + &label;
            let _ = writeln!(out, "    {at} -> {left} [label=\"yes\"];\n    {at} -> {} [label=\"no\"];", left + 1);
            stack.extend([(left + 1, level + 1), (*left, level + 1)]);
        }
        let _ = writeln!(out, "    {at} [label=\"{label}\", fillcolor=\"{}\"];", colour(value, &values[..k], classes));
    }
    out + "}\n"
}

/// A drawing that needs nothing else: classes by colour, purity by strength, rows by the bar under each box.
pub fn svg(tree: &Tree, names: &Names, classes: bool, depth: usize) -> String {
    let (wide, high, gap, row) = (190.0, 58.0, 14.0, 104.0);
    let (weights, values) = tree.summary();
    let k = tree.outputs();
    // Leaves from left to right, parents over the middle of their children.
    let mut place = vec![None; tree.node_count()];
    let mut next = 0.0;
    let mut deepest = 0;
    let mut shown = Vec::new();
    let mut stack = vec![(0, 0, false)];
    while let Some((at, level, done)) = stack.pop() {
        deepest = deepest.max(level);
        match tree.split(at).filter(|_| level < depth) {
            Some((_, left)) if done => {
                let x = |child: usize| place[child].map_or(0.0, |(x, _)| x);
                place[at] = Some(((x(left) + x(left + 1)) / 2.0, level));
                shown.push((at, Some(left)));
            }
            Some((_, left)) => {
                stack.extend([(at, level, true), (left + 1, level + 1, false), (left, level + 1, false)])
            }
            None => {
                place[at] = Some((next, level));
                next += wide + gap;
                shown.push((at, None));
            }
        }
    }
    let corner = |at: usize| place[at].map_or((0.0, 0.0), |(x, level)| (x + gap, level as f64 * row + gap));
    let (width, height) = (next + gap, deepest as f64 * row + high + 2.0 * gap);
    let escape =
        |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\" text-anchor=\"middle\">\n"
    );
    for &(at, left) in &shown {
        let (x, y) = corner(at);
        for (child, answer) in left.into_iter().flat_map(|left| [(left, "yes"), (left + 1, "no")]) {
            let (to_x, to_y) = corner(child);
            let (x1, y1, x2, y2) = (x + wide / 2.0, y + high, to_x + wide / 2.0, to_y);
            let _ = writeln!(
                out,
                "<path d=\"M{x1} {y1} L{x2} {y2}\" stroke=\"#888\"/><text x=\"{}\" y=\"{}\" \
                 fill=\"#666\">{answer}</text>",
                (x1 + x2) / 2.0,
                (y1 + y2) / 2.0 - 3.0
            );
        }
    }
    for &(at, left) in &shown {
        let (x, y) = corner(at);
        let value = &values[at * k..(at + 1) * k];
        let fill = colour(value, &values[..k], classes);
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\" rx=\"6\" fill=\"{fill}\" stroke=\"#666\"/>"
        );
        let mut lines = vec![names.value(value, classes), format!("{} rows", short(weights[at]))];
        if let (Some(_), Some((split, _))) = (left, tree.split(at)) {
            lines.insert(0, names.question(&split, true));
        }
        for (i, line) in lines.iter().enumerate() {
            let clipped: String =
                if line.chars().count() > 30 { line.chars().take(29).chain(['…']).collect() } else { line.clone() };
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\">{}<title>{}</title></text>",
                x + wide / 2.0,
                y + 17.0 + 16.0 * i as f64,
                escape(&clipped),
                escape(line)
            );
        }
        let share = if weights[0] > 0.0 { weights[at] / weights[0] } else { 0.0 };
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{}\" width=\"{:.1}\" height=\"3\" fill=\"#444\"/>",
            y + high + 1.0,
            share * wide
        );
    }
    out + "</svg>\n"
}

/// Class by hue and certainty by strength; numbers by their side of the mean.
fn colour(value: &[f64], root: &[f64], classes: bool) -> String {
    const HUES: [(f64, f64, f64); 8] = [
        (229.0, 129.0, 57.0),
        (57.0, 157.0, 229.0),
        (57.0, 229.0, 129.0),
        (129.0, 57.0, 229.0),
        (229.0, 57.0, 157.0),
        (200.0, 190.0, 40.0),
        (60.0, 190.0, 190.0),
        (150.0, 110.0, 70.0),
    ];
    let (hue, strength) = if classes {
        let best = first_largest(value);
        let even = 1.0 / value.len().max(2) as f64;
        (HUES[best % HUES.len()], ((value[best] - even) / (1.0 - even)).clamp(0.0, 1.0))
    } else {
        let off = value[0] - root[0];
        (HUES[usize::from(off > 0.0)], (off.abs() / (root[0].abs() + off.abs()).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0))
    };
    let mix = |channel: f64| (255.0 - (255.0 - channel) * 0.85 * strength).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(hue.0), mix(hue.1), mix(hue.2))
}

/// The way of one row to its leaf, and what it finds there.
pub fn words(tree: &Tree, names: &Names, classes: bool, row: &[f64]) -> String {
    let (weights, values) = tree.summary();
    let k = tree.outputs();
    let path = tree.path(row);
    let mut out = String::new();
    for pair in path.windows(2) {
        if let Some((split, left)) = tree.split(pair[0]) {
            let value = row[split.feature];
            let shown = match &split.test {
                _ if value.is_nan() => "missing".to_string(),
                Test::Among(_) => names.level(split.feature, value as usize),
                Test::AtMost(_) => short(value),
            };
            let way = if value.is_nan() { "; missing values go this way" } else { "" };
            let question = names.question(&split, pair[1] == left);
            let _ = writeln!(out, "because {question} (it is {shown}{way})");
        }
    }
    let leaf = path[path.len() - 1];
    let value = names.value(&values[leaf * k..(leaf + 1) * k], classes);
    let _ = writeln!(out, "the prediction is {value}, as for {} rows like it", short(weights[leaf]));
    out
}
