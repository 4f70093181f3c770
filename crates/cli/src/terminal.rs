//! Talk: colours, complaints, the progress bar. All of it on stderr, and plain when stderr is not a terminal.

use anstyle::{AnsiColor, Style};
use ermine::{Ctx, core::ctx};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::Write;

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
        Watch(self.0.clone())
    }

    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

struct Watch(ProgressBar);

impl ctx::Observer for Watch {
    fn progress(&self, event: ctx::Progress) {
        let step = match (event.step, event.of) {
            (0, _) => String::new(),
            (step, Some(of)) => format!(" {step}/{of}"),
            (step, None) => format!(" {step}"),
        };
        let value = event.value.map_or(String::new(), |value| format!("  {value:.6}"));
        self.0.set_message(format!("{}{step}{value}", event.what));
    }
}
