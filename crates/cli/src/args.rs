//! The arguments. Flags of a model's parameters come from its declaration: `ermine fit --model Ridge --help` shows
//! them.

mod command;

use crate::Failure;
use clap::{ArgMatches, error::ErrorKind};
use command::{OUTPUTS, command, param_id, params_of};
use ermine::{
    Cancel, Error, Output, Spec, Task, Value, Values,
    core::{
        param::{Form, Param},
        trace::Trace,
    },
};
use ermine_app::{
    Effort, Job,
    explain::OutlierMethod,
    judge::Costs,
    plan::Split,
    read::{Format, ReadOptions},
    table::{DateFormat, Kind},
};
use std::{collections::BTreeMap, ffi::OsString, io::Write, path::PathBuf, time::Duration};

pub enum Call {
    Fit(FitCall),
    Compare {
        job: Box<Job>,
        json: bool,
        threads: Option<usize>,
    },
    Explain {
        model: PathBuf,
        inputs: Option<Inputs>,
        about: About,
        json: bool,
        threads: Option<usize>,
    },
    Predict {
        model: PathBuf,
        inputs: Inputs,
        outputs: Option<Vec<Output>>,
        /// Level of an interval around each number.
        interval: Option<f64>,
        kept: Kept,
        to: Option<PathBuf>,
        force: bool,
        threads: Option<usize>,
    },
    Outliers {
        job: Box<Job>,
        method: OutlierMethod,
        to: Option<PathBuf>,
        force: bool,
        json: bool,
        threads: Option<usize>,
    },
    Evaluate {
        model: PathBuf,
        inputs: Inputs,
        json: bool,
        threads: Option<usize>,
    },
    Summary {
        model: PathBuf,
        inputs: Inputs,
        level: f64,
        json: bool,
        threads: Option<usize>,
    },
    Models {
        name: Option<String>,
        json: bool,
    },
    Inspect {
        model: PathBuf,
        json: bool,
    },
    Card(crate::card::Call),
    Serve(Box<ermine_web::serve::Options>),
    Lab(Box<crate::lab::Call>),
    Export(crate::export::Export),
    Check {
        model: PathBuf,
        inputs: Inputs,
        limits: ermine_app::check::Limits,
        json: bool,
        threads: Option<usize>,
    },
    Diff {
        models: [PathBuf; 2],
        inputs: Inputs,
        json: bool,
        threads: Option<usize>,
    },
    Completions(clap_complete::Shell),
    /// The manual page of this command.
    Man(Option<String>),
}

/// A model to be found or fitted, and where it goes.
pub struct FitCall {
    pub job: Box<Job>,
    pub output: Option<PathBuf>,
    pub report: Option<PathBuf>,
    pub trace: Option<PathBuf>,
    pub force: bool,
    pub json: bool,
    pub threads: Option<usize>,
}

impl Call {
    /// What the first Ctrl-C raises instead of ending the program.
    pub fn enough(&self) -> Option<Cancel> {
        match self {
            Call::Fit(FitCall { job, .. }) | Call::Compare { job, .. } => job.enough.clone(),
            _ => None,
        }
    }

    /// Whether what goes to stdout is for programs.
    pub fn writes_data(&self) -> bool {
        match self {
            Call::Predict { .. }
            | Call::Serve(_)
            | Call::Lab(_)
            | Call::Export(_)
            | Call::Card(_)
            | Call::Completions(_)
            | Call::Man(_) => true,
            Call::Fit(FitCall { json, .. })
            | Call::Compare { json, .. }
            | Call::Explain { json, .. }
            | Call::Outliers { json, .. }
            | Call::Evaluate { json, .. }
            | Call::Summary { json, .. }
            | Call::Models { json, .. }
            | Call::Inspect { json, .. }
            | Call::Check { json, .. }
            | Call::Diff { json, .. } => *json,
        }
    }
}

/// Columns of a table that stand beside the predictions.
pub enum Kept {
    Some(Vec<String>),
    All,
}

/// What is to be explained.
pub enum About {
    Model,
    /// The prediction of a row, counted from 1.
    Row(usize),
    /// The error, by this many refits.
    Error(usize),
}

pub struct Inputs {
    pub data: PathBuf,
    pub read: ReadOptions,
}

pub fn parse(argv: impl Iterator<Item = OsString>) -> Result<Call, clap::Error> {
    let argv: Vec<OsString> = argv.collect();
    let mut command = command(model_in(&argv).as_deref());
    let matches = command.try_get_matches_from_mut(argv)?;
    let (name, matches) = matches.subcommand().expect("a subcommand is required");
    call(name, matches).map_err(|problem| command.error(ErrorKind::ValueValidation, problem))
}

/// What a subcommand asks for, or what is wrong with its values.
fn call(name: &str, matches: &ArgMatches) -> Result<Call, String> {
    let call = match name {
        "fit" | "tune" | "compare" => job(name, matches)?,
        "explain" => Call::Explain {
            model: path(matches, "MODEL"),
            inputs: matches.contains_id("DATA").then(|| inputs(matches)).transpose()?,
            about: match (matches.get_one::<u64>("row"), matches.get_flag("bias-variance")) {
                (Some(row), _) => About::Row(*row as usize),
                (None, true) => About::Error(*matches.get_one::<u64>("refits").expect("it has a default") as usize),
                (None, false) => About::Model,
            },
            json: matches.get_flag("json"),
            threads: threads(matches),
        },
        "predict" => Call::Predict {
            model: path(matches, "MODEL"),
            inputs: inputs(matches)?,
            outputs: matches.get_many::<String>("output").map(|names| {
                let find = |name: &String| OUTPUTS.iter().find(|(known, _)| known == name).expect("a possible value").1;
                names.map(find).collect()
            }),
            interval: matches.get_one::<f64>("interval").copied(),
            kept: match (matches.get_flag("append"), matches.get_many::<String>("keep")) {
                (true, _) => Kept::All,
                (false, names) => Kept::Some(names.into_iter().flatten().cloned().collect()),
            },
            to: matches.get_one::<PathBuf>("to").cloned(),
            force: matches.get_flag("force"),
            threads: threads(matches),
        },
        "outliers" => outliers(matches)?,
        "evaluate" => Call::Evaluate {
            model: path(matches, "MODEL"),
            inputs: inputs(matches)?,
            json: matches.get_flag("json"),
            threads: threads(matches),
        },
        "summary" => Call::Summary {
            model: path(matches, "MODEL"),
            inputs: inputs(matches)?,
            level: *matches.get_one("level").expect("it has a default"),
            json: matches.get_flag("json"),
            threads: threads(matches),
        },
        "models" => Call::Models { name: matches.get_one::<String>("NAME").cloned(), json: matches.get_flag("json") },
        "inspect" => match matches.get_one::<PathBuf>("card") {
            None => Call::Inspect { model: path(matches, "MODEL"), json: matches.get_flag("json") },
            Some(to) => Call::Card(crate::card::call(path(matches, "MODEL"), to.clone(), matches)),
        },
        "serve" => Call::Serve(Box::new(crate::serve::options(matches).map_err(|error| error.to_string())?)),
        "lab" => Call::Lab(Box::new(crate::lab::call(matches))),
        "man" => Call::Man(matches.get_one::<String>("COMMAND").cloned()),
        "export" => Call::Export(crate::export::call(matches)),
        "check" => Call::Check {
            model: path(matches, "MODEL"),
            inputs: inputs(matches)?,
            limits: crate::check::limits(matches),
            json: matches.get_flag("json"),
            threads: threads(matches),
        },
        "diff" => Call::Diff {
            models: [path(matches, "MODEL"), path(matches, "OTHER")],
            inputs: inputs(matches)?,
            json: matches.get_flag("json"),
            threads: threads(matches),
        },
        "completions" => Call::Completions(*matches.get_one("SHELL").expect("required")),
        other => unreachable!("subcommand {other}"),
    };
    Ok(call)
}

fn outliers(matches: &ArgMatches) -> Result<Call, String> {
    let ignore = matches.get_many::<String>("ignore").into_iter().flatten().cloned().collect();
    let seed = *matches.get_one("seed").expect("it has a default");
    let method = matches.get_one::<String>("method").expect("it has a default");
    let found = OutlierMethod::ALL.into_iter().find(|(name, _)| name == method);
    Ok(Call::Outliers {
        job: Box::new(Job { read: reading(matches)?, ignore, seed, ..Job::new(path(matches, "DATA")) }),
        method: found.map_or(OutlierMethod::default(), |(_, method)| method),
        to: matches.get_one::<PathBuf>("to").cloned(),
        force: matches.get_flag("force"),
        json: matches.get_flag("json"),
        threads: threads(matches),
    })
}

pub fn completions(shell: clap_complete::Shell, out: &mut impl Write) {
    clap_complete::generate(shell, &mut command(None), "ermine", out);
}

/// The manual page of a command, or of the program.
pub fn man(name: Option<&str>, out: &mut impl Write) -> Result<(), Failure> {
    let mut whole = command(None);
    whole.build();
    let page = match name {
        None => whole,
        Some(name) => {
            let known: Vec<String> = whole.get_subcommands().map(|command| command.get_name().to_string()).collect();
            let found = whole.find_subcommand(name).cloned();
            let unknown = || Error::Unknown { what: "command", name: name.into(), known };
            found.ok_or_else(unknown)?.name(format!("ermine-{name}")).display_name(format!("ermine-{name}"))
        }
    };
    clap_mangen::Man::new(page).render(out)?;
    Ok(())
}

/// The model that the arguments name, seen before they are parsed: its parameters become flags.
fn model_in(argv: &[OsString]) -> Option<String> {
    let mut words = argv.iter().filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        if let Some(name) = word.strip_prefix("--model=") {
            return Some(name.into());
        }
        if word == "--model" || word == "-m" {
            return words.next().map(String::from);
        }
    }
    None
}

/// The three commands that begin with a table and a question.
fn job(name: &str, matches: &ArgMatches) -> Result<Call, String> {
    let text = |name: &str| matches.try_get_one::<String>(name).ok().flatten().cloned();
    let file = |name: &str| matches.try_get_one::<PathBuf>(name).ok().flatten().cloned();
    let mut files = matches.get_many::<PathBuf>("DATA").expect("it is required").cloned();
    let mut job = Job::new(files.next().expect("one at least"));
    job.more = files.collect();
    job.read = reading(matches)?;
    for pair in matches.get_many::<String>("kind").into_iter().flatten() {
        let (column, kind) = pair.split_once('=').ok_or_else(|| format!("--kind takes COLUMN=KIND, not '{pair}'"))?;
        job.read.kinds.insert(column.into(), kind.parse::<Kind>().map_err(|error| error.to_string())?);
    }
    // Names in a file lose the blanks around them.
    let column = |name: &str| text(name).map(|text| text.trim().to_string());
    job.target = column("target").or_else(|| job.read.labels.as_ref().map(|_| "label".into()));
    job.checkpoint = matches.get_one::<PathBuf>("checkpoint").cloned();
    job.weights = column("weights");
    let list = |name: &str| matches.get_many::<String>(name).into_iter().flatten().cloned().collect::<Vec<_>>();
    let columns = |name: &str| list(name).iter().map(|text| text.trim().to_string()).collect();
    (job.keep, job.ignore) = (columns("keep"), columns("ignore"));
    (job.features, job.metric) = (text("features"), text("scoring"));
    if let Some(time) = text("budget") {
        job.budget = Some(duration(&time).ok_or_else(|| format!("--budget takes a time such as 90s, not '{time}'"))?);
    }
    let effort = text("effort");
    job.effort = Effort::ALL.into_iter().find(|level| Some(level.name()) == effort.as_deref()).unwrap_or_default();
    for model in text("models").iter().flat_map(|text| split_names(text)) {
        job.models.push(Spec::parse(&model).unwrap_or_else(|| Spec::new(&model)));
    }
    job.task = match text("task").as_deref() {
        Some("classification") => Some(Task::Classification),
        Some(_) => Some(Task::Regression),
        None => None,
    };
    for text in list("cost") {
        let more = text.parse().map_err(|error: Error| error.to_string())?;
        job.costs = Some(match (job.costs.take(), more) {
            (Some(Costs::Named(mut all)), Costs::Named(more)) => {
                all.extend(more);
                Costs::Named(all)
            }
            (_, more) => more,
        });
    }
    job.positive = text("positive");
    if matches.get_flag("keep-best") {
        job.enough = Some(Cancel::default());
    }
    job.seed = *matches.get_one("seed").expect("it has a default");
    job.test = *matches.get_one("test").expect("it has a default");
    job.no_scale = matches.get_flag("no-scale");
    if let Some(column) = column("group") {
        job.split = Split::Group(column);
    } else if let Some(split) = text("split") {
        job.split = split.parse().map_err(|error: Error| error.to_string())?;
    }
    job.folds = *matches.get_one("folds").expect("it has a default");
    if let Some(size) = text("memory") {
        job.limits.memory = bytes(&size).ok_or_else(|| format!("--memory takes a size such as 800MB, not '{size}'"))?;
    }
    if let Some(folder) = matches.get_one::<PathBuf>("scratch") {
        job.limits.scratch = folder.clone();
    }
    if let Some(model) = text("model") {
        let mut spec = Spec::parse(&model).unwrap_or(Spec { name: model.clone(), params: Values::new() });
        for param in params_of(Some(&model)) {
            if let Some(value) = matches.get_one::<String>(&param_id(param.name)) {
                spec.params.insert(param.name.into(), given(&param, value));
            }
        }
        job.model = Some(spec);
    }
    let (json, threads) = (matches.get_flag("json"), threads(matches));
    if name == "compare" {
        job.draws = Some(0);
        return Ok(Call::Compare { job: Box::new(job), json, threads });
    }
    if name == "tune" {
        job.tune = true;
        job.draws = matches.get_one("draws").copied();
    }
    let (report, trace) = (file("report"), file("trace"));
    job.trace = trace.as_ref().map(|_| Trace::default());
    job.insight = report.is_some();
    let force = matches.get_flag("force");
    let job = Box::new(job);
    Ok(Call::Fit(FitCall { job, output: file("output"), report, trace, force, json, threads }))
}

/// A value as it was typed; a list may come without its brackets.
fn given(param: &Param, value: &str) -> Value {
    let is_list = |form: &Form| matches!(form, Form::List(_));
    let bare = !value.trim_start().starts_with('[');
    let several = param.forms.iter().any(is_list) && split_names(value).len() > 1;
    if bare && (several || param.forms.iter().all(is_list)) {
        return Value::parse(&format!("[{value}]"));
    }
    Value::parse(value)
}

/// Names between commas that stand outside brackets: `Ridge(alpha=2),SVR`.
fn split_names(text: &str) -> Vec<String> {
    let (mut names, mut depth) = (vec![String::new()], 0usize);
    for c in text.chars() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                names.push(String::new());
                continue;
            }
            _ => {}
        }
        names.last_mut().expect("there is one").push(c);
    }
    names.into_iter().map(|name| name.trim().to_string()).filter(|name| !name.is_empty()).collect()
}

/// `90s`, `5min`, `1.5h`, `30`.
pub fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let factor = match unit.trim() {
        "" | "s" | "sec" => 1.0,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let seconds = number.trim().parse::<f64>().ok()? * factor;
    (seconds > 0.0 && seconds < 1e7).then(|| Duration::from_secs_f64(seconds))
}

fn inputs(matches: &ArgMatches) -> Result<Inputs, String> {
    Ok(Inputs { data: path(matches, "DATA"), read: reading(matches)? })
}

fn reading(matches: &ArgMatches) -> Result<ReadOptions, String> {
    let delimiter = match matches.get_one::<String>("delimiter").map(String::as_str) {
        None => None,
        Some("\\t" | "tab") => Some(b'\t'),
        Some(" " | "space" | "blanks" | "fixed") => None,
        Some(text) if text.len() == 1 => Some(text.as_bytes()[0]),
        Some(text) => return Err(format!("--delimiter takes one character, tab, space or fixed, not '{text}'")),
    };
    let format = match matches.get_one::<String>("delimiter").map(String::as_str) {
        Some(" " | "space" | "blanks") => Some(Format::Blanks),
        Some("fixed") => Some(Format::Fixed),
        _ => matches
            .get_one::<String>("format")
            .and_then(|wanted| Format::ALL.into_iter().find(|(name, _)| name == wanted).map(|(_, format)| format)),
    };
    let (mut date_format, mut date_formats) = (None, BTreeMap::new());
    for text in matches.get_many::<String>("date-format").into_iter().flatten() {
        let parse = |text: &str| DateFormat::parse(text).map_err(|error| error.to_string());
        match text.rsplit_once('=') {
            Some((column, format)) => drop(date_formats.insert(column.to_string(), parse(format)?)),
            None => date_format = Some(parse(text)?),
        }
    }
    Ok(ReadOptions {
        format,
        encoding: matches.get_one::<String>("encoding").cloned(),
        sheet: matches.get_one::<String>("sheet").cloned(),
        levels: matches.get_many::<String>("not-na").into_iter().flatten().cloned().collect(),
        decimal_comma: matches.get_one::<String>("decimal").map(|mark| mark == "comma"),
        date_format,
        date_formats,
        delimiter,
        header: matches.get_flag("no-header").then_some(false),
        na: matches.get_many::<String>("na").into_iter().flatten().cloned().collect(),
        kinds: BTreeMap::new(),
        labels: matches.get_one::<PathBuf>("labels").cloned(),
        ..ReadOptions::default()
    })
}

fn path(matches: &ArgMatches, name: &str) -> PathBuf {
    matches.get_one::<PathBuf>(name).expect("it is required").clone()
}

pub fn threads(matches: &ArgMatches) -> Option<usize> {
    matches.get_one::<u64>("threads").map(|&threads| threads as usize)
}

/// `800MB`, `4 GB`, `1073741824`.
pub fn bytes(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_uppercase();
    let (number, unit) = match text.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) => text.split_at(at),
        None => (text.as_str(), ""),
    };
    let factor = match unit.trim_end_matches("IB").trim_end_matches('B') {
        "" => 1.0,
        "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => return None,
    };
    let number: f64 = number.trim().parse().ok()?;
    (number > 0.0).then_some((number * factor) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_consistent() {
        command(None).debug_assert();
        for entry in ermine::MODELS {
            command(Some(entry.name)).debug_assert();
        }
    }

    #[test]
    fn lists_with_and_without_brackets() {
        let typed = |model: &str, flag: &str, value: &str| {
            let words = ["ermine", "fit", "x.csv", "--target", "y", "--model", model, flag, value];
            let Ok(Call::Fit(FitCall { job, .. })) = parse(words.iter().map(OsString::from)) else {
                panic!("{words:?}")
            };
            job.model.unwrap().params
        };
        for (model, flag, plain) in [
            ("VotingRegressor", "--estimators", "Ridge(alpha=2),SVR"),
            ("VotingRegressor", "--estimators", "Ridge"),
            ("RidgeCV", "--alphas", "0.1,1,10"),
            ("MLPClassifier", "--hidden-layer-sizes", "32,16"),
        ] {
            assert_eq!(typed(model, flag, plain), typed(model, flag, &format!("[{plain}]")), "{model} {flag} {plain}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(bytes("800MB"), Some(800_000_000));
        assert_eq!(bytes("1.5 gib"), Some(1_500_000_000));
        assert_eq!(bytes("12"), Some(12));
        assert_eq!(bytes("many"), None);
        assert_eq!(bytes("-1MB"), None);
    }
}
