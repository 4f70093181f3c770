//! The arguments. Flags of a model's parameters come from its declaration: `ermine fit --model Ridge --help` shows them.

use clap::{Arg, ArgAction, ArgMatches, Command, builder::PossibleValuesParser, error::ErrorKind, value_parser};
use ermine::{
    Output, Spec, Task, Value, Values,
    core::param::{Form, Param, describe},
};
use ermine_app::{Effort, Job, read::ReadOptions, table::Kind};
use std::{collections::BTreeMap, ffi::OsString, io::Write, path::PathBuf, time::Duration};

pub enum Call {
    Fit {
        job: Box<Job>,
        output: Option<PathBuf>,
        report: Option<PathBuf>,
        force: bool,
        json: bool,
        threads: Option<usize>,
    },
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
    Completions(clap_complete::Shell),
}

impl Call {
    /// Whether what goes to stdout is for programs.
    pub fn writes_data(&self) -> bool {
        match self {
            Call::Predict { .. } | Call::Completions(_) => true,
            Call::Fit { json, .. }
            | Call::Compare { json, .. }
            | Call::Explain { json, .. }
            | Call::Evaluate { json, .. }
            | Call::Summary { json, .. }
            | Call::Models { json, .. }
            | Call::Inspect { json, .. } => *json,
        }
    }
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

const OUTPUTS: &[(&str, Output)] = &[
    ("value", Output::Value),
    ("class", Output::Class),
    ("probability", Output::Probability),
    ("decision", Output::Decision),
    ("transform", Output::Transform),
    ("cluster", Output::Cluster),
    ("density", Output::Density),
    ("leaf", Output::Leaf),
];

pub fn parse(argv: impl Iterator<Item = OsString>) -> Result<Call, clap::Error> {
    let argv: Vec<OsString> = argv.collect();
    let mut command = command(model_in(&argv).as_deref());
    let matches = command.try_get_matches_from_mut(argv)?;
    let (name, matches) = matches.subcommand().expect("a subcommand is required");
    let call = match name {
        "fit" | "tune" | "compare" => {
            job(name, matches).map_err(|problem| command.error(ErrorKind::ValueValidation, problem))?
        }
        "explain" => Call::Explain {
            model: path(matches, "MODEL"),
            inputs: match matches.get_one::<PathBuf>("DATA") {
                Some(data) => {
                    let read =
                        reading(matches).map_err(|problem| command.error(ErrorKind::ValueValidation, problem))?;
                    Some(Inputs { data: data.clone(), read })
                }
                None => None,
            },
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
            inputs: inputs(matches).map_err(|problem| command.error(ErrorKind::ValueValidation, problem))?,
            outputs: matches.get_many::<String>("output").map(|names| {
                let find = |name: &String| OUTPUTS.iter().find(|(known, _)| known == name).expect("a possible value").1;
                names.map(find).collect()
            }),
            threads: threads(matches),
        },
        "evaluate" => Call::Evaluate {
            model: path(matches, "MODEL"),
            inputs: inputs(matches).map_err(|problem| command.error(ErrorKind::ValueValidation, problem))?,
            json: matches.get_flag("json"),
            threads: threads(matches),
        },
        "summary" => Call::Summary {
            model: path(matches, "MODEL"),
            inputs: inputs(matches).map_err(|problem| command.error(ErrorKind::ValueValidation, problem))?,
            level: *matches.get_one("level").expect("it has a default"),
            json: matches.get_flag("json"),
            threads: threads(matches),
        },
        "models" => Call::Models { name: matches.get_one::<String>("NAME").cloned(), json: matches.get_flag("json") },
        "inspect" => Call::Inspect { model: path(matches, "MODEL"), json: matches.get_flag("json") },
        "completions" => Call::Completions(*matches.get_one("SHELL").expect("required")),
        other => unreachable!("subcommand {other}"),
    };
    Ok(call)
}

pub fn completions(shell: clap_complete::Shell, out: &mut impl Write) {
    clap_complete::generate(shell, &mut command(None), "ermine", out);
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

fn params_of(model: Option<&str>) -> Vec<Param> {
    let name = model.map(|text| Spec::parse(text).map_or(text.to_string(), |spec| spec.name));
    name.and_then(|name| ermine::entry(&name).ok()).map_or(Vec::new(), |entry| (entry.params)())
}

fn command(model: Option<&str>) -> Command {
    let data = || {
        Arg::new("DATA")
            .required(true)
            .value_parser(value_parser!(PathBuf))
            .help("CSV, IDX (also .gz) or Parquet file; - is standard input")
    };
    let table = || {
        data().num_args(1..).help(
            "CSV, IDX (also .gz) or Parquet file; several files, or a pattern such as 'part-*.csv', are one table; - is standard input",
        )
    };
    let model_file = || {
        Arg::new("MODEL").required(true).value_parser(value_parser!(PathBuf)).help("Model file made by 'ermine fit -o'")
    };
    let json = || Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print JSON instead of text");
    let reading = |command: Command| {
        command.next_help_heading("Reading").args([
            Arg::new("delimiter").long("delimiter").value_name("CHAR").help("Column separator [default: detected]"),
            Arg::new("no-header").long("no-header").action(ArgAction::SetTrue).help("The first line is data"),
            Arg::new("na")
                .long("na")
                .value_name("TEXT")
                .action(ArgAction::Append)
                .help("Treat this text as missing; may be repeated"),
            Arg::new("labels")
                .long("labels")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("File of labels for images (IDX); it becomes the target"),
        ])
    };
    let threads = || {
        Arg::new("threads")
            .long("threads")
            .value_name("N")
            .value_parser(value_parser!(u64).range(1..=1024))
            .help("Number of threads [default: all cores]")
    };

    let target = || Arg::new("target").long("target").short('t').value_name("COLUMN").help("Column to predict");
    let seed = || {
        Arg::new("seed")
            .long("seed")
            .value_name("N")
            .value_parser(value_parser!(u64))
            .default_value("0")
            .help("Random seed")
    };
    let output = || {
        Arg::new("output")
            .long("output")
            .short('o')
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("Save the model to this file")
    };
    let report = || {
        Arg::new("report")
            .long("report")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("Write an HTML report with charts to this file; it works offline")
    };
    let force = || {
        Arg::new("force")
            .long("force")
            .action(ArgAction::SetTrue)
            .help("Overwrite what is there, even if it is not a model or a report")
    };
    let with_models = |command: Command| {
        command.next_help_heading("Comparison").args([
            Arg::new("effort")
                .long("effort")
                .value_name("LEVEL")
                .value_parser(PossibleValuesParser::new(Effort::ALL.map(Effort::name)))
                .default_value(Effort::default().name())
                .help("Work to spend on the comparison: about 10 s, 1 min or 10 min on a laptop"),
            Arg::new("budget").long("budget").value_name("TIME").help(
                "Time limit, such as 90s, 5min or 1h; stops early and keeps the best model so far [default: none]",
            ),
            Arg::new("scoring")
                .long("scoring")
                .value_name("NAME")
                .help("Metric to compare by, such as roc_auc or mean_absolute_error [default: accuracy or r2]"),
            Arg::new("models")
                .long("models")
                .value_name("NAME,...")
                .help("Compare only these [default: all that make sense for the data]"),
        ])
    };
    let with_data = |command: Command| {
        command.next_help_heading("Data").args([
            Arg::new("features").long("features").value_name("FORMULA").help(
                "Features as a formula, such as \"log(income) + age:job + poly(x, 3) + text(message)\"; a dot stands for \
                 every other column [default: every column]",
            ),
            Arg::new("keep")
                .long("keep")
                .value_name("COLUMN")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .help("Use this column even if it looks like an id or leaks the target; may be repeated"),
        ])
    };
    let mut fit = Command::new("fit")
        .about("Find the best model for a table, or fit a named one; test it on held-out rows and save it")
        .after_help(
            "Examples:\n  ermine fit penguins.csv --target species --report penguins.html\n  \
             ermine fit houses.csv --target price --model Ridge --alpha 0.3 -o houses.ermine\n  \
             ermine fit points.csv --model KMeans --n-clusters 3\n  \
             ermine fit 'part-*.parquet' --target y\n  gzip -dc big.csv.gz | ermine fit - --target y --json",
        )
        .args([
            table(),
            target(),
            Arg::new("model")
                .long("model")
                .short('m')
                .value_name("NAME")
                .help("Model, see 'ermine models' [default: the best of all that make sense]"),
            output(),
            report(),
            force(),
            json(),
            seed(),
            threads(),
        ]);
    fit = with_models(fit);
    let mut tune = Command::new("tune")
        .about("Search the parameters of one model over their declared ranges")
        .after_help(
            "Example:\n  ermine tune houses.csv --target price --model HistGradientBoostingRegressor -o houses.ermine",
        )
        .args([
            table(),
            target(),
            Arg::new("model")
                .long("model")
                .short('m')
                .value_name("NAME")
                .required(true)
                .help("Model, see 'ermine models'"),
            Arg::new("draws")
                .long("draws")
                .value_name("N")
                .value_parser(value_parser!(usize))
                .default_value("30")
                .help("Number of candidates to draw"),
            output(),
            report(),
            force(),
            json(),
            seed(),
            threads(),
        ]);
    tune = with_models(tune).mut_arg("models", |arg| arg.hide(true));
    let mut compare = Command::new("compare")
        .about("Compare models on a table by cross-validation, and keep none")
        .after_help("Example:\n  ermine compare penguins.csv --target species --models LogisticRegression,SVC,KNeighborsClassifier")
        .args([table(), target(), json(), seed(), threads()]);
    compare = with_models(compare);
    let (mut fit, mut tune, mut compare) = (with_data(fit), with_data(tune), with_data(compare));
    let about_data = |command: Command| {
        command.args([
            Arg::new("ignore")
                .long("ignore")
                .value_name("COLUMN")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .help("Exclude these columns; may be repeated"),
            Arg::new("weights").long("row-weights").value_name("COLUMN").help("Column of row weights"),
            Arg::new("task")
                .long("task")
                .value_parser(["classification", "regression"])
                .help("How to treat the target [default: decided by its values]"),
            Arg::new("kind")
                .long("kind")
                .value_name("COLUMN=KIND")
                .action(ArgAction::Append)
                .help("Read a column as number, boolean, category, text, date or datetime"),
            Arg::new("test")
                .long("test")
                .value_name("SHARE")
                .value_parser(value_parser!(f64))
                .default_value("0.2")
                .help("Rows held out for the test score; 0 for none"),
            Arg::new("folds")
                .long("folds")
                .value_name("N")
                .value_parser(value_parser!(usize))
                .default_value("5")
                .help("Folds of cross-validation; 0 for none"),
            Arg::new("memory")
                .long("memory")
                .value_name("SIZE")
                .help("Memory for rows, such as 800MB or 4GB; larger tables are read from disk in blocks [default: 60 % of free memory]"),
            Arg::new("scratch")
                .long("scratch")
                .value_name("FOLDER")
                .value_parser(value_parser!(PathBuf))
                .help("Folder for temporary files when rows do not fit in memory"),
            Arg::new("checkpoint")
                .long("checkpoint")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Save the state of the fit here, and resume from it"),
        ])
    };
    for command in [&mut fit, &mut tune, &mut compare] {
        *command = reading(about_data(std::mem::take(command)));
    }
    let params = params_of(model);
    if !params.is_empty() {
        for command in [&mut fit, &mut tune] {
            let flags: Vec<Arg> = params.iter().map(param_flag).collect();
            let heading = format!("Parameters of {}", model.unwrap_or_default());
            *command = std::mem::take(command).next_help_heading(heading).args(flags);
        }
    }
    Command::new("ermine")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Classical machine learning that proves its fits")
        .after_help("Start with:  ermine fit DATA.csv --target COLUMN")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(110)
        .subcommand(fit)
        .subcommand(compare)
        .subcommand(tune)
        .subcommand(reading(
            Command::new("predict")
                .about("Predict the rows of a table, as CSV on stdout")
                .after_help("Example:\n  ermine predict houses.ermine new.csv > prices.csv")
                .args([model_file(), data()])
                .arg(
                    Arg::new("output")
                        .long("output")
                        .action(ArgAction::Append)
                        .value_delimiter(',')
                        .value_parser(PossibleValuesParser::new(OUTPUTS.iter().map(|(name, _)| *name)))
                        .help("What to write [default: the prediction, and probabilities if there are any]"),
                )
                .arg(threads()),
        ))
        .subcommand(reading(
            Command::new("evaluate")
                .about("Score a model on a table that has the target")
                .after_help("Example:\n  ermine evaluate houses.ermine sold.csv")
                .args([model_file(), data()])
                .args([json(), threads()]),
        ))
        .subcommand(reading(
            Command::new("explain")
                .about("Show what a model has learned; with a table, what drives its predictions")
                .after_help(
                    "Examples:\n  ermine explain houses.ermine\n  ermine explain houses.ermine sold.csv\n  \
                     ermine explain houses.ermine sold.csv --row 17\n  \
                     ermine explain houses.ermine sold.csv --bias-variance",
                )
                .args([
                    model_file(),
                    data().required(false),
                    Arg::new("row")
                        .long("row")
                        .value_name("N")
                        .value_parser(value_parser!(u64).range(1..))
                        .requires("DATA")
                        .help("Explain the prediction of this row, counted from 1"),
                    Arg::new("bias-variance")
                        .long("bias-variance")
                        .action(ArgAction::SetTrue)
                        .requires("DATA")
                        .conflicts_with("row")
                        .help("Split the error into bias, variance and noise by refitting on samples"),
                    Arg::new("refits")
                        .long("refits")
                        .value_name("N")
                        .value_parser(value_parser!(u64).range(2..=10_000))
                        .default_value("50")
                        .help("Number of refits for --bias-variance"),
                    json(),
                    threads(),
                ]),
        ))
        .subcommand(reading(
            Command::new("summary")
                .about("Standard errors, tests and intervals of a linear model, on the table it was fitted to")
                .after_help(
                    "Example:\n  ermine fit houses.csv --target price --model LinearRegression -o houses.ermine\n  \
                     ermine summary houses.ermine houses.csv",
                )
                .args([model_file(), data()])
                .arg(
                    Arg::new("level")
                        .long("level")
                        .value_name("SHARE")
                        .value_parser(value_parser!(f64))
                        .default_value("0.95")
                        .help("Confidence level of the intervals"),
                )
                .args([json(), threads()]),
        ))
        .subcommand(
            Command::new("models")
                .about("List all models, or show one with its objective and parameters")
                .after_help("Examples:\n  ermine models\n  ermine models Ridge")
                .args([Arg::new("NAME").help("Show this one"), json()]),
        )
        .subcommand(
            Command::new("inspect")
                .about("Show what is in a model file")
                .after_help("Example:\n  ermine inspect houses.ermine")
                .args([model_file(), json()]),
        )
        .subcommand(
            Command::new("completions")
                .about("Print completions for a shell")
                .arg(Arg::new("SHELL").required(true).value_parser(value_parser!(clap_complete::Shell))),
        )
}

/// `--n-clusters`, also as scikit-learn spells it.
fn param_flag(param: &Param) -> Arg {
    let dashed = param.name.replace('_', "-");
    let help = format!("{} ({}) [default: {}]", param.doc.replace('\n', " "), describe(&param.forms), param.default);
    let flag = Arg::new(param_id(param.name)).long(dashed.clone()).help(help).allow_negative_numbers(true);
    let flag = if dashed == param.name { flag } else { flag.alias(param.name) };
    if param.forms == [Form::Bool] {
        return flag.value_name("true|false").num_args(0..=1).default_missing_value("true");
    }
    flag.value_name("VALUE")
}

/// Parameters and our own flags live in one name space of clap.
fn param_id(name: &str) -> String {
    format!("param {name}")
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
    job.target = text("target").or_else(|| job.read.labels.as_ref().map(|_| "label".into()));
    job.checkpoint = matches.get_one::<PathBuf>("checkpoint").cloned();
    job.weights = text("weights");
    let list = |name: &str| matches.get_many::<String>(name).into_iter().flatten().cloned().collect::<Vec<_>>();
    (job.keep, job.features, job.metric) = (list("keep"), text("features"), text("scoring"));
    if let Some(time) = text("budget") {
        job.budget = Some(duration(&time).ok_or_else(|| format!("--budget takes a time such as 90s, not '{time}'"))?);
    }
    let effort = text("effort");
    job.effort = Effort::ALL.into_iter().find(|level| Some(level.name()) == effort.as_deref()).unwrap_or_default();
    for model in text("models").iter().flat_map(|text| split_names(text)) {
        job.models.push(Spec::parse(&model).unwrap_or_else(|| Spec::new(&model)));
    }
    job.ignore = matches.get_many::<String>("ignore").into_iter().flatten().cloned().collect();
    job.task = match text("task").as_deref() {
        Some("classification") => Some(Task::Classification),
        Some(_) => Some(Task::Regression),
        None => None,
    };
    job.seed = *matches.get_one("seed").expect("it has a default");
    job.test = *matches.get_one("test").expect("it has a default");
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
    let report = file("report");
    job.insight = report.is_some();
    let force = matches.get_flag("force");
    Ok(Call::Fit { job: Box::new(job), output: file("output"), report, force, json, threads })
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
fn duration(text: &str) -> Option<Duration> {
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
        Some(text) if text.len() == 1 => Some(text.as_bytes()[0]),
        Some(text) => return Err(format!("--delimiter takes one character (or tab), not '{text}'")),
    };
    Ok(ReadOptions {
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

fn threads(matches: &ArgMatches) -> Option<usize> {
    matches.get_one::<u64>("threads").map(|&threads| threads as usize)
}

/// `800MB`, `4 GB`, `1073741824`.
fn bytes(text: &str) -> Option<u64> {
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
            let Ok(Call::Fit { job, .. }) = parse(words.iter().map(OsString::from)) else { panic!("{words:?}") };
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
