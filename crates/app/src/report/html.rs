//! A report to look at: one file with its data, its style and its charts inside, so that it works offline and for ever.
//!
//! The page is drawn in the browser from the same plain data that `--json` prints. Nothing in it is code that came from the data:
//! names of columns and classes become text, never markup. Charts are Apache ECharts (assets/README.md).

use crate::Report;
use serde_json::Value;

const CHARTS: &str = include_str!("../../assets/echarts.common.min.js");
const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");

/// The report as an HTML page; `command` is how to get it again.
pub fn page(report: &Report, command: &[String]) -> String {
    let mut data = serde_json::to_value(report).unwrap_or(Value::Null);
    if let Value::Object(data) = &mut data {
        data.insert("certificate".into(), report.log.to_string().into());
        data.insert("command".into(), shell(command).into());
    }
    // Inside a script element only its end tag has a meaning.
    let data = data.to_string().replace("</", "<\\/").replace("<!--", "<\\u0021--");
    let title = escape(report.target.as_deref().unwrap_or(&report.model));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"ermine {}\">\n<link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main id=\"report\">\n<noscript>This report draws itself with JavaScript.</noscript>\n</main>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n<script>{CHARTS}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
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
    fn commands_can_be_typed_again() {
        let words = ["/usr/bin/ermine", "fit", "a b.csv", "--features", "log(x) + y"].map(String::from);
        assert_eq!(super::shell(&words), "ermine fit 'a b.csv' --features 'log(x) + y'");
    }
}
