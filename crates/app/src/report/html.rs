//! A report to look at: one file with its data, its style and its charts inside, so that it works offline and for ever.
//!
//! The page is drawn in the browser from the same plain data that `--json` prints. Nothing in it is code that came from the data:
//! names of columns and classes become text, never markup. Should that fail, the page's content security policy lets no script run but
//! the two that are in it, known by their hashes, and loads nothing. Charts are Apache ECharts (assets/README.md).

use crate::Report;
use serde_json::Value;
use sha2::{Digest, Sha256};

const CHARTS: &str = include_str!("../../assets/echarts.common.min.js");
const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");

/// What a page with these scripts inside may do: run them and draw, nothing else. Charts set styles on what they draw.
pub fn policy(scripts: &[&str]) -> String {
    let hashes: Vec<String> =
        scripts.iter().map(|script| format!("'sha256-{}'", base64(&Sha256::digest(script)))).collect();
    format!(
        "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'",
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
    let mut data = serde_json::to_value(report).unwrap_or(Value::Null);
    if let Value::Object(data) = &mut data {
        data.insert("certificate".into(), report.log.to_string().into());
        data.insert("command".into(), shell(command).into());
    }
    // Inside a script element only its end tag has a meaning.
    let data = data.to_string().replace("</", "<\\/").replace("<!--", "<\\u0021--");
    let script = format!("\n{SCRIPT}");
    let policy = policy(&[CHARTS, &script]);
    let title = escape(report.target.as_deref().unwrap_or(&report.model));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"ermine {}\">\n<link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main id=\"report\">\n<noscript>This report draws itself with JavaScript.</noscript>\n</main>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n<script>{CHARTS}</script>\n<script>{script}</script>\n</body>\n</html>\n",
        report.version
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Arguments as one would type them: the program by its name, odd words in quotes.
fn shell(command: &[String]) -> String {
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
