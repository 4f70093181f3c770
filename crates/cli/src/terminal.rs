//! Talk: colours, complaints, the progress bar. All of it on stderr, and plain when stderr is not a terminal.

use anstyle::{AnsiColor, Style};
use ermine::{Ctx, core::ctx};
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    io::Write,
    sync::atomic::{AtomicUsize, Ordering},
    time::Instant,
};

pub const BOLD: Style = Style::new().bold();
pub const FAINT: Style = Style::new().dimmed();
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const HEADING: Style = AnsiColor::Cyan.on_default().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// `error: ...`, with hints on lines of their own. Nothing is left to do if stderr is closed.
pub fn complain(message: &str) {
    let mut lines = message.lines();
    let mut err = anstream::stderr().lock();
    let _ = writeln!(err, "{ERROR}error:{ERROR:#} {}", lines.next().unwrap_or_default());
    for line in lines {
        let _ = match line.strip_prefix("hint: ") {
            Some(hint) => writeln!(err, "{GOOD}hint:{GOOD:#} {hint}"),
            None => writeln!(err, "{line}"),
        };
    }
}

pub fn warn(message: &str) {
    let _ = writeln!(anstream::stderr(), "{WARNING}warning:{WARNING:#} {message}");
}

pub fn say(message: &str) {
    let _ = writeln!(anstream::stderr(), "{FAINT}{message}{FAINT:#}");
}

pub fn context(seed: u64, threads: Option<usize>) -> Ctx {
    let ctx = Ctx::new(seed);
    match threads {
        Some(threads) => ctx.with_threads(threads),
        None => ctx,
    }
}

/// A bar that shows itself only on a terminal and leaves nothing behind.
pub struct Progress(ProgressBar);

impl Progress {
    pub fn new(shown: bool) -> Self {
        // indicatif draws to stderr and hides itself when that is not a terminal.
        let bar = if shown { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.set_style(ProgressStyle::with_template("{spinner} {msg}").expect("a valid template"));
        bar.enable_steady_tick(std::time::Duration::from_millis(120));
        Progress(bar)
    }

    pub fn observer(&self) -> impl ctx::Observer + 'static {
        Watch { bar: self.0.clone(), rows: AtomicUsize::new(0), begin: Instant::now() }
    }

    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

struct Watch {
    bar: ProgressBar,
    /// Gone through by all workers so far.
    rows: AtomicUsize,
    begin: Instant,
}

impl ctx::Observer for Watch {
    fn progress(&self, event: ctx::Progress) {
        let step = match (event.step, event.of) {
            (0, _) => String::new(),
            (step, Some(of)) => format!(" {step}/{of}"),
            (step, None) => format!(" {step}"),
        };
        let value = event.value.map_or(String::new(), |value| format!("  {value:.6}"));
        let rows = match self.rows.load(Ordering::Relaxed) {
            0 => String::new(),
            rows => format!("  {} rows/s", rate(rows as f64 / self.begin.elapsed().as_secs_f64())),
        };
        self.bar.set_message(format!("{}{step}{value}{rows}", event.what));
    }

    fn rows(&self, count: usize) {
        self.rows.fetch_add(count, Ordering::Relaxed);
    }
}

/// Three digits are enough to see whether it is fast.
fn rate(rows: f64) -> String {
    match rows {
        rows if rows >= 1e7 => format!("{:.0} million", rows / 1e6),
        rows if rows >= 1e6 => format!("{:.1} million", rows / 1e6),
        rows if rows >= 1e4 => format!("{:.0},000", rows / 1e3),
        rows => format!("{rows:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_short() {
        let rates = [3.2, 9_999.0, 12_345.0, 999_000.0, 1_234_567.0, 23_456_789.0].map(rate);
        assert_eq!(rates, ["3", "9999", "12,000", "999,000", "1.2 million", "23 million"]);
    }
}
