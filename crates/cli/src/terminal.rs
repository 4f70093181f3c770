//! What a person reads: colours, complaints, the progress bar; plain where there is no terminal.
//!
//! Names come from files that somebody else wrote, and a terminal obeys what it is sent. So text passes through
//! [`styled`] on its way out, where nothing moves the cursor, renames the window or turns the writing round but what is
//! written here; [`name`] also makes names short enough for a table. Data (JSON, predictions) goes out as it is.

use anstyle::{AnsiColor, Reset, Style};
use ermine::{Cancel, Ctx, core::ctx};
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    fmt,
    io::{self, Write},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// A style, as one character that no text has (Unicode sets U+FDD0 to U+FDEF aside for this); `{BOLD}` begins it,
/// `{BOLD:#}` ends it.
#[derive(Clone, Copy, PartialEq)]
pub struct Ink(char);

pub const BOLD: Ink = Ink('\u{fdd0}');
pub const FAINT: Ink = Ink('\u{fdd1}');
pub const GOOD: Ink = Ink('\u{fdd2}');
pub const HEADING: Ink = Ink('\u{fdd3}');
const ERROR: Ink = Ink('\u{fdd4}');
const WARNING: Ink = Ink('\u{fdd5}');
const END: char = '\u{fdd6}';

const STYLES: [(Ink, Style); 6] = [
    (BOLD, Style::new().bold()),
    (FAINT, Style::new().dimmed()),
    (GOOD, AnsiColor::Green.on_default()),
    (HEADING, AnsiColor::Cyan.on_default().bold()),
    (ERROR, AnsiColor::Red.on_default().bold()),
    (WARNING, AnsiColor::Yellow.on_default().bold()),
];

impl fmt::Display for Ink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", if f.alternate() { END } else { self.0 })
    }
}

/// Characters that a terminal obeys, or that turn the order of others round.
fn is_command(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns
}

/// Text as a terminal may have it: styles as its codes, every other command spelt out.
fn styled(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match STYLES.iter().find(|(ink, _)| ink.0 == c) {
            Some((_, style)) => out += &style.render().to_string(),
            None if c == END => out += &Reset.render().to_string(),
            None if is_command(c) && !matches!(c, '\n' | '\t') => out.extend(c.escape_unicode()),
            None => out.push(c),
        }
    }
    out
}

/// A name from the data on one line, without commands, cut where it is longer than a table can bear.
pub fn name(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        match c {
            _ if i >= LONGEST => return out + "…",
            '\n' | '\r' | '\t' => out.extend(c.escape_default()),
            c if is_command(c) || ('\u{fdd0}'..='\u{fdef}').contains(&c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

pub fn names<'a>(texts: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    texts.into_iter().map(|text| name(text)).collect()
}

/// Standard output: text for people, or data as it is.
pub struct Out {
    to: io::BufWriter<anstream::AutoStream<io::StdoutLock<'static>>>,
    data: bool,
}

/// Plain data, indented, on a line of its own.
pub fn json(out: &mut impl Write, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

impl Out {
    pub fn new(data: bool) -> Out {
        Out { to: io::BufWriter::new(anstream::stdout().lock()), data }
    }
}

impl Write for Out {
    /// Text comes in whole characters: the parts of a format.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.data {
            true => self.to.write_all(bytes)?,
            false => self.to.write_all(styled(&String::from_utf8_lossy(bytes)).as_bytes())?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

fn talk(line: &str) {
    // Nothing is left to do if stderr is closed.
    let _ = writeln!(anstream::stderr(), "{}", styled(line));
}

/// `error: ...`, with hints on lines of their own.
pub fn complain(message: &str) {
    let mut lines = message.lines();
    talk(&format!("{ERROR}error:{ERROR:#} {}", lines.next().unwrap_or_default()));
    for line in lines {
        match line.strip_prefix("hint: ") {
            Some(hint) => talk(&format!("{GOOD}hint:{GOOD:#} {hint}")),
            None => talk(line),
        }
    }
}

pub fn warn(message: &str) {
    talk(&format!("{WARNING}warning:{WARNING:#} {message}"));
}

pub fn say(message: &str) {
    talk(&format!("{FAINT}{message}{FAINT:#}"));
}

pub fn context(seed: u64, threads: Option<usize>) -> Ctx {
    let ctx = Ctx::new(seed);
    match threads {
        Some(threads) => ctx.with_threads(threads),
        None => ctx,
    }
}

/// Ends the program by Ctrl-C and the like as ever, but leaves no temporary file behind. The first Ctrl-C only says
/// that it is enough, where somebody listens.
#[cfg(unix)]
pub fn tidy_on_signals(enough: Option<Cancel>) {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if let (SIGINT, Some(enough)) = (signal, enough.as_ref().filter(|enough| !enough.is_cancelled())) {
                enough.cancel();
                say("no more models are compared; the best so far is fitted. Ctrl-C again ends the program");
                continue;
            }
            ermine_app::store::writer::abandon();
            // The process ends by the signal itself, so that who started it knows.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
}

#[cfg(not(unix))]
pub fn tidy_on_signals(_: Option<Cancel>) {}

/// A bar that shows itself only on a terminal and leaves nothing behind.
pub struct Progress(ProgressBar);

impl Progress {
    pub fn new(shown: bool) -> Self {
        // indicatif draws to stderr and hides itself when that is not a terminal.
        let bar = if shown { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.set_style(ProgressStyle::with_template("{spinner} {msg}").expect("a valid template"));
        bar.enable_steady_tick(Duration::from_millis(120));
        Progress(bar)
    }

    pub fn observer(&self) -> impl ctx::Observer + 'static {
        Watch { bar: self.0.clone(), rows: AtomicUsize::new(0), begin: Instant::now(), step: Mutex::default() }
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
    /// What is being done, and since when.
    step: Mutex<Option<(&'static str, Instant)>>,
}

impl Watch {
    /// How long the steps that are left will take, if they take as long as those before.
    fn left(&self, event: &ctx::Progress) -> Option<Duration> {
        let mut step = self.step.lock().ok()?;
        let (what, since) = step.get_or_insert((event.what, Instant::now()));
        if *what != event.what {
            (*what, *since) = (event.what, Instant::now());
        }
        let (done, of) = (event.step.checked_sub(1)?, event.of?);
        let each = since.elapsed().checked_div(u32::try_from(done).ok()?)?;
        each.checked_mul(u32::try_from(of.saturating_sub(done)).ok()?)
    }
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
        let left = match self.left(&event) {
            Some(left) if left.as_secs() >= 2 => format!(", about {} left", clock(left)),
            _ => String::new(),
        };
        let elapsed = clock(self.begin.elapsed());
        self.bar.set_message(format!("{}{step}{value}{rows}  {elapsed}{left}", event.what));
    }

    fn rows(&self, count: usize) {
        self.rows.fetch_add(count, Ordering::Relaxed);
    }
}

/// `7 s`, `2 min 05 s`, `1 h 03 min`.
fn clock(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..60 => format!("{seconds} s"),
        seconds @ ..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
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
    fn a_terminal_gets_no_commands_from_the_data() {
        let hostile = "a\u{1b}]0;title\u{7}\u{9b}31m\u{202e}b\r\n\u{2066}";
        assert_eq!(styled(hostile), "a\\u{1b}]0;title\\u{7}\\u{9b}31m\\u{202e}b\\u{d}\n\\u{2066}");
        assert_eq!(name("x\ny\u{fdd0}\u{1b}[2J"), "x\\ny\\u{fdd0}\\u{1b}[2J");
        assert_eq!(name(&"é".repeat(66_000)), "é".repeat(60) + "…");
        assert_eq!(styled(&format!("{BOLD}x{BOLD:#}")), "\u{1b}[1mx\u{1b}[0m");
    }

    #[test]
    fn times_are_short() {
        let times = [7, 125, 3780].map(|seconds| clock(Duration::from_secs(seconds)));
        assert_eq!(times, ["7 s", "2 min 05 s", "1 h 03 min"]);
    }

    #[test]
    fn rates_are_short() {
        let rates = [3.2, 9_999.0, 12_345.0, 999_000.0, 1_234_567.0, 23_456_789.0].map(rate);
        assert_eq!(rates, ["3", "9999", "12,000", "999,000", "1.2 million", "23 million"]);
    }
}
