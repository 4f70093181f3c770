//! A report to look at: one file with its data, its style and its charts inside, so that it works offline and for ever.
//!
//! The page is drawn in the browser from the same plain data that `--json` prints. Nothing in it is code that came from
//! the data: names of columns and classes become text, never markup. Should that fail, the page's content security
//! policy lets no script run but the two that are in it, known by their hashes, and loads nothing. Charts are Apache
//! ECharts (assets/README.md).

use crate::Report;
use serde_json::Value;
use sha2::{Digest, Sha256};

const CHARTS: &str = include_str!("../../assets/echarts.common.min.js");
pub(super) const STYLE: &str = include_str!("../../assets/ui/report.css");

/// The modules of the page; each comes after those that it imports.
const MODULES: &[&str] = &[
    include_str!("../../assets/ui/dom.js"),
    include_str!("../../assets/ui/format.js"),
    include_str!("../../assets/ui/theme.js"),
    include_str!("../../assets/ui/chart.js"),
    include_str!("../../assets/ui/look.js"),
    include_str!("../../assets/ui/report/head.js"),
    include_str!("../../assets/ui/report/warnings.js"),
    include_str!("../../assets/ui/report/scores.js"),
    include_str!("../../assets/ui/report/leaderboard.js"),
    include_str!("../../assets/ui/report/confusion.js"),
    include_str!("../../assets/ui/report/classes.js"),
    include_str!("../../assets/ui/report/curves.js"),
    include_str!("../../assets/ui/report/calibration.js"),
    include_str!("../../assets/ui/report/residuals.js"),
    include_str!("../../assets/ui/report/importance.js"),
    include_str!("../../assets/ui/report/dependence.js"),
    include_str!("../../assets/ui/report/learning.js"),
    include_str!("../../assets/ui/report/model.js"),
    include_str!("../../assets/ui/report/clusters.js"),
    include_str!("../../assets/ui/report/columns.js"),
    include_str!("../../assets/ui/report/threshold.js"),
    include_str!("../../assets/ui/report/worst.js"),
    include_str!("../../assets/ui/sections.js"),
    include_str!("../../assets/ui/report.js"),
];

/// One script of all modules: a file that works by itself has nowhere to import from. Each top-level name stands in one
/// module only, and imports and exports have a line each (a test reads them).
fn bundle() -> String {
    let lines = MODULES.iter().flat_map(|module| module.lines()).filter(|line| !line.starts_with("import "));
    let plain = lines.map(|line| line.strip_prefix("export ").unwrap_or(line));
    format!("\n\"use strict\";\n(() => {{\n{}\n}})();\n", plain.collect::<Vec<_>>().join("\n"))
}

/// What a page with these scripts inside may do: run them and draw, nothing else. Charts set styles on what they draw.
pub fn policy(scripts: &[&str]) -> String {
    let hashes: Vec<String> =
        scripts.iter().map(|script| format!("'sha256-{}'", base64(&Sha256::digest(script)))).collect();
    format!(
        "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action \
         'none'",
        hashes.join(" ")
    )
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().enumerate().fold(0u32, |bits, (i, byte)| bits | u32::from(*byte) << (16 - 8 * i));
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i)) as usize & 63];
            out.push(if i <= group.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

/// The report as an HTML page; `command` is how to get it again.
pub fn page(report: &Report, command: &[String]) -> String {
    page_of(&data(report, command))
}

/// What a page draws: the report, and what only the program can say.
pub fn data(report: &Report, command: &[String]) -> Value {
    let mut data = serde_json::to_value(report).unwrap_or(Value::Null);
    if let Value::Object(data) = &mut data {
        data.insert("certificate".into(), report.log.to_string().into());
        data.insert("command".into(), shell(command).into());
    }
    data
}

/// The page of such data.
pub fn page_of(data: &Value) -> String {
    let text = |name: &str| data[name].as_str().unwrap_or_default();
    let title = escape(if data["target"].is_string() { text("target") } else { text("model") });
    let version = escape(text("version"));
    // Inside a script element only its end tag has a meaning.
    let data = data.to_string().replace("</", "<\\/").replace("<!--", "<\\u0021--");
    let script = bundle();
    let policy = policy(&[CHARTS, &script]);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"ermine {version}\">\n<link rel=\"icon\" \
         href=\"data:,\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main id=\"report\">\n<noscript>This report draws itself with \
         JavaScript.</noscript>\n</main>\n\
         <script type=\"application/json\" \
         id=\"data\">{data}</script>\n<script>{CHARTS}</script>\n<script>{script}</script>\n</body>\n</html>\n"
    )
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Arguments as one would type them: the program by its name, odd words in quotes.
pub fn shell(command: &[String]) -> String {
    let plain = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./=,:+%@".contains(c));
    let word = |(i, word): (usize, &String)| match i {
        0 => "ermine".to_string(),
        _ if plain(word) => word.clone(),
        _ => format!("'{}'", word.replace('\'', "'\\''")),
    };
    command.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    #[test]
    fn modules_can_be_joined() {
        let mut defined: BTreeMap<&str, usize> = BTreeMap::new();
        for (place, module) in super::MODULES.iter().enumerate() {
            for line in module.lines() {
                let plain = line.strip_prefix("export ").unwrap_or(line);
                let name = ["function ", "const ", "let ", "class "].iter().find_map(|kind| plain.strip_prefix(kind));
                if let Some(name) = name {
                    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
                    assert_eq!(defined.insert(&name[..end], place), None, "{} has two meanings", &name[..end]);
                }
                if let Some(import) = line.strip_prefix("import ") {
                    let (names, _) = import.split_once(" from ").unwrap_or_else(|| panic!("not on one line: {line}"));
                    for name in names.trim_matches(['{', '}', ' ']).split(", ") {
                        assert!(defined.contains_key(name), "{name} is used before its module");
                    }
                }
                assert!(!plain.starts_with("default ") && !plain.starts_with('{'), "{line}");
            }
        }
    }

    #[test]
    fn hashes_are_those_of_the_standard() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(super::base64(bytes.as_bytes()), text);
        }
        // The example of the specification (Content Security Policy Level 3, section 8.4).
        let policy = super::policy(&["alert('Hello, world.');"]);
        assert!(policy.contains("'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"), "{policy}");
    }

    #[test]
    fn commands_can_be_typed_again() {
        let words = ["/usr/bin/ermine", "fit", "a b.csv", "--features", "log(x) + y"].map(String::from);
        assert_eq!(super::shell(&words), "ermine fit 'a b.csv' --features 'log(x) + y'");
    }
}
