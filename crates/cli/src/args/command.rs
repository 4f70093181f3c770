//! What `ermine --help` shows: a function for each command, and one for each flag that several have.

use crate::{check, export, lab, serve};
use clap::{Arg, ArgAction, Command, builder::PossibleValuesParser, value_parser};
use ermine::{
    Output, Spec,
    core::param::{Form, Param, describe},
};
use ermine_app::{Effort, explain::OutlierMethod, read::Format};
use std::path::PathBuf;

pub const OUTPUTS: &[(&str, Output)] = &[
    ("value", Output::Value),
    ("class", Output::Class),
    ("probability", Output::Probability),
    ("decision", Output::Decision),
    ("transform", Output::Transform),
    ("cluster", Output::Cluster),
    ("density", Output::Density),
    ("leaf", Output::Leaf),
];

/// All of it; the parameters of the named model are flags of `fit` and `tune`.
pub fn command(model: Option<&str>) -> Command {
    Command::new("ermine")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Classical machine learning that proves its fits")
        .after_help("Start with:  ermine fit DATA.csv --target COLUMN")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(110)
        .subcommands([fit(model), compare(), tune(model), predict(), outliers(), evaluate(), explain(), summary()])
        .subcommands([
            lab::command(),
            serve::command(),
            export::command(),
            check(),
            diff(),
            models(),
            inspect(),
            completions(),
            man(),
        ])
}

fn fit(model: Option<&str>) -> Command {
    let command = Command::new("fit")
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
            model_name().help("Model, see 'ermine models' [default: the best of all that make sense]"),
        ])
        .args([output(), report(), trace(), force(), json(), seed(), threads()]);
    with_params(reading(data_flags(comparison(command))), model)
}

fn tune(model: Option<&str>) -> Command {
    let command = Command::new("tune")
        .about("Search the parameters of one model over their declared ranges")
        .after_help(
            "Example:\n  ermine tune houses.csv --target price --model HistGradientBoostingRegressor -o houses.ermine",
        )
        .args([
            table(),
            target(),
            model_name().required(true),
            Arg::new("draws")
                .long("draws")
                .value_name("N")
                .value_parser(value_parser!(usize))
                .default_value("30")
                .help("Number of candidates to draw"),
        ])
        .args([output(), report(), trace(), force(), json(), seed(), threads()]);
    let command = comparison(command).mut_arg("models", |arg| arg.hide(true));
    with_params(reading(data_flags(command)), model)
}

fn compare() -> Command {
    let command = Command::new("compare")
        .about("Compare models on a table by cross-validation, and keep none")
        .after_help(
            "Example:\n  ermine compare penguins.csv --target species \
             --models LogisticRegression,SVC,KNeighborsClassifier",
        )
        .args([table(), target(), json(), seed(), threads()]);
    reading(data_flags(comparison(command)))
}

fn predict() -> Command {
    let command =
        Command::new("predict")
            .about("Predict the rows of a table, as CSV on stdout")
            .after_help(
                "Examples:\n  ermine predict houses.ermine new.csv > prices.csv\n  \
             ermine predict houses.ermine new.csv --keep id -o prices.csv",
            )
            .args([model_file(), data()])
            .arg(
                Arg::new("output")
                    .long("output")
                    .action(ArgAction::Append)
                    .value_delimiter(',')
                    .value_parser(PossibleValuesParser::new(OUTPUTS.iter().map(|(name, _)| *name)))
                    .help("What to write [default: the prediction, and probabilities if there are any]"),
            )
            .arg(Arg::new("interval").long("interval").value_name("LEVEL").value_parser(level).help(
                "Write also the ends of an interval that holds the true number with this probability, such as 0.9",
            ))
            .args([
                Arg::new("keep")
                    .long("keep")
                    .value_name("COLUMN")
                    .action(ArgAction::Append)
                    .value_delimiter(',')
                    .help("Write this column of the table before the predictions; may be repeated"),
                Arg::new("append")
                    .long("append")
                    .action(ArgAction::SetTrue)
                    .conflicts_with("keep")
                    .help("Write every column of the table before the predictions"),
                Arg::new("to")
                    .long("to")
                    .short('o')
                    .value_name("FILE")
                    .value_parser(value_parser!(PathBuf))
                    .help("Write to this file instead of stdout"),
            ])
            .args([force(), threads()]);
    reading(command)
}

fn outliers() -> Command {
    let command = Command::new("outliers")
        .about("Find the rows of a table that are unlike the others, and say in which columns")
        .after_help(
            "Examples:\n  ermine outliers sales.csv\n  ermine outliers sales.csv --method mahalanobis -o scores.csv",
        )
        .args([
            data(),
            Arg::new("method")
                .long("method")
                .value_parser(PossibleValuesParser::new(OutlierMethod::ALL.map(|(name, _)| name)))
                .default_value("neighbours")
                .help("Distance to the tenth row or from the mean, how few cuts set a row apart, or how thin rows lie there"),
            Arg::new("ignore")
                .long("ignore")
                .value_name("COLUMN")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .help("Exclude these columns; may be repeated"),
            Arg::new("to")
                .long("to")
                .short('o')
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Write the score of every row to this file, as CSV"),
        ])
        .args([force(), json(), seed(), threads()]);
    reading(command)
}

fn evaluate() -> Command {
    let command = Command::new("evaluate")
        .about("Score a model on a table that has the target")
        .after_help("Example:\n  ermine evaluate houses.ermine sold.csv")
        .args([model_file(), data()])
        .args([json(), threads()]);
    reading(command)
}

fn explain() -> Command {
    let command = Command::new("explain")
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
        ]);
    reading(command)
}

fn summary() -> Command {
    let command = Command::new("summary")
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
        .args([json(), threads()]);
    reading(command)
}

fn models() -> Command {
    Command::new("models")
        .about("List all models, or show one with its objective and parameters")
        .after_help("Examples:\n  ermine models\n  ermine models Ridge")
        .args([Arg::new("NAME").help("Show this one"), json()])
}

fn inspect() -> Command {
    Command::new("inspect")
        .about("Show what is in a model file")
        .after_help(
            "Examples:\n  ermine inspect houses.ermine\n  ermine inspect houses.ermine --card houses.md\n  \
             ermine inspect houses.ermine --card houses.html --data new.csv --by district,year",
        )
        .args([
            model_file(),
            json(),
            Arg::new("card")
                .long("card")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with("json")
                .help("Write the card of the model to this file: Markdown, or HTML if it ends in .html; - for stdout"),
            Arg::new("data")
                .long("data")
                .value_name("DATA")
                .value_parser(value_parser!(PathBuf))
                .requires("card")
                .requires("by")
                .help("Rows with the target, for scores by group"),
            Arg::new("by")
                .long("by")
                .value_name("COLUMN")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .requires("data")
                .help("Score the values of this column apart; may be repeated"),
            force(),
        ])
}

fn man() -> Command {
    Command::new("man")
        .about("Print the manual page of a command, for man -l")
        .after_help("Examples:\n  ermine man > ermine.1\n  ermine man fit | man -l -")
        .arg(Arg::new("COMMAND").help("The command [default: ermine itself]"))
}

fn check() -> Command {
    reading(check::check_command().args([model_file(), data(), json(), threads()]))
}

fn diff() -> Command {
    reading(check::diff_command(model_file()).args([data(), json(), threads()]))
}

fn completions() -> Command {
    Command::new("completions")
        .about("Print completions for a shell")
        .arg(Arg::new("SHELL").required(true).value_parser(value_parser!(clap_complete::Shell)))
}

fn data() -> Arg {
    Arg::new("DATA").required(true).value_parser(value_parser!(PathBuf)).help(
        "Table: CSV, JSON lines, LIBSVM, columns between blanks, xlsx, ods, Arrow, Parquet or IDX; text also packed; \
             - is standard input",
    )
}

fn table() -> Arg {
    data().num_args(1..).help(
        "Table: CSV, JSON lines, LIBSVM, columns between blanks, xlsx, ods, Arrow, Parquet or IDX; text also packed; \
             several files, or a pattern such as 'part-*.csv', are one table; - is standard input",
    )
}

fn model_file() -> Arg {
    Arg::new("MODEL").required(true).value_parser(value_parser!(PathBuf)).help("Model file made by 'ermine fit -o'")
}

fn target() -> Arg {
    Arg::new("target").long("target").short('t').value_name("COLUMN").help("Column to predict")
}

fn output() -> Arg {
    Arg::new("output")
        .long("output")
        .short('o')
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Save the model to this file")
}

fn report() -> Arg {
    Arg::new("report")
        .long("report")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Write an HTML report with charts to this file; it works offline")
}

fn trace() -> Arg {
    Arg::new("trace")
        .long("trace")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Write the steps of the fit on all rows to this file: weights, centres, splits, as a JSON object a line")
}

fn force() -> Arg {
    Arg::new("force")
        .long("force")
        .action(ArgAction::SetTrue)
        .help("Overwrite what is there, even if it is not a model or a report")
}

fn json() -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print JSON instead of text")
}

fn seed() -> Arg {
    Arg::new("seed")
        .long("seed")
        .value_name("N")
        .value_parser(value_parser!(u64))
        .default_value("0")
        .help("Random seed")
}

fn threads() -> Arg {
    Arg::new("threads")
        .long("threads")
        .value_name("N")
        .value_parser(value_parser!(u64).range(1..=1024))
        .help("Number of threads [default: all cores]")
}

/// A probability above 0 and below 1.
fn level(text: &str) -> Result<f64, String> {
    let level = text.parse().ok().filter(|level: &f64| *level > 0.0 && *level < 1.0);
    level.ok_or_else(|| "a level is a number above 0 and below 1, such as 0.9".into())
}

fn model_name() -> Arg {
    Arg::new("model").long("model").short('m').value_name("NAME").help("Model, see 'ermine models'")
}

/// How a file is read.
fn reading(command: Command) -> Command {
    command.next_help_heading("Reading").args([
        Arg::new("delimiter")
            .long("delimiter")
            .value_name("CHAR")
            .help("Column separator: a character, tab, space (any number of blanks) or fixed [default: detected]"),
        Arg::new("no-header").long("no-header").action(ArgAction::SetTrue).help("The first line is data"),
        Arg::new("na")
            .long("na")
            .value_name("TEXT")
            .action(ArgAction::Append)
            .help("Treat this text as missing; may be repeated"),
        Arg::new("not-na")
            .long("not-na")
            .value_name("TEXT")
            .action(ArgAction::Append)
            .help("Do not treat this text as missing, such as None where it is a level; may be repeated"),
        Arg::new("format")
            .long("format")
            .value_name("NAME")
            .value_parser(PossibleValuesParser::new(Format::ALL.map(|(name, _)| name)))
            .help("What kind of file it is [default: detected]"),
        Arg::new("encoding")
            .long("encoding")
            .value_name("NAME")
            .help("Encoding of a text, such as latin-1, cp1252 or utf-16 [default: UTF-8, or detected]"),
        Arg::new("sheet").long("sheet").value_name("NAME").help("Sheet of a workbook [default: the first with rows]"),
        Arg::new("decimal")
            .long("decimal")
            .value_name("MARK")
            .value_parser(["comma", "point"])
            .help("What decimals come after [default: decided by the column]"),
        Arg::new("date-format").long("date-format").value_name("[COLUMN=]FORMAT").action(ArgAction::Append).help(
            "How dates are written: d/m/y, m/d/y, y/m/d, y-m, 'd month y', yyyymmdd, epoch, epoch_ms \
             [default: decided by the column]",
        ),
        Arg::new("labels")
            .long("labels")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("File of labels for images (IDX); it becomes the target"),
    ])
}

/// How models are compared.
fn comparison(command: Command) -> Command {
    command.next_help_heading("Comparison").args([
        Arg::new("effort")
            .long("effort")
            .value_name("LEVEL")
            .value_parser(PossibleValuesParser::new(Effort::ALL.map(Effort::name)))
            .default_value(Effort::default().name())
            .help("Work to spend on the comparison: about 10 s, 1 min or 10 min on a laptop"),
        Arg::new("budget")
            .long("budget")
            .value_name("TIME")
            .help("Time limit, such as 90s, 5min or 1h; stops early and keeps the best model so far [default: none]"),
        Arg::new("keep-best")
            .long("keep-best")
            .action(ArgAction::SetTrue)
            .help("Ctrl-C ends the comparison and keeps the best model so far; a second one ends the program"),
        Arg::new("scoring")
            .long("scoring")
            .value_name("NAME")
            .help("Metric to compare by, such as roc_auc or mean_absolute_error [default: accuracy or r2]"),
        Arg::new("models")
            .long("models")
            .value_name("NAME,...")
            .help("Compare only these [default: all that make sense for the data]"),
    ])
}

/// What is learnt from, and where rows go.
fn data_flags(command: Command) -> Command {
    command.next_help_heading("Data").args([
            Arg::new("features").long("features").value_name("FORMULA").help(
                "Features as a formula, such as \"log(income) + age:job + poly(x, 3) + text(message)\"; a dot stands \
                 for \
                 every other column [default: every column]",
            ),
            Arg::new("keep")
                .long("keep")
                .value_name("COLUMN")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .help("Use this column even if it looks like an id or leaks the target; may be repeated"),
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
            Arg::new("cost")
                .long("cost")
                .visible_alias("class-weight")
                .value_name("CLASS=COST")
                .action(ArgAction::Append)
                .help(
                    "What it costs to miss a class, such as yes=5, or 'balanced': the class of the least expected \
                     cost is \
                     predicted, and probabilities stay as they are; may be repeated",
                ),
            Arg::new("positive")
                .long("positive")
                .value_name("CLASS")
                .help("The class that is asked about: the second of two in weights, thresholds and curves"),
            Arg::new("kind")
                .long("kind")
                .value_name("COLUMN=KIND")
                .action(ArgAction::Append)
                .help("Read a column as number, boolean, category, text, date or datetime"),
            Arg::new("no-scale")
                .long("no-scale")
                .action(ArgAction::SetTrue)
                .help("Leave columns in their units, also for models that want them alike"),
            Arg::new("split").long("split").value_name("HOW").help(
                "How rows are held out: random, group:COLUMN (groups stay together) or time:COLUMN (the latest rows) \
                 [default: random]",
            ),
            Arg::new("group")
                .long("group")
                .value_name("COLUMN")
                .conflicts_with("split")
                .help("Rows with the same value here stay together in every split; short for --split group:COLUMN"),
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
}

/// The parameters of a model as flags.
fn with_params(command: Command, model: Option<&str>) -> Command {
    let params = params_of(model);
    // Ridge's own --positive is about its weights.
    let command = match params.iter().any(|param| param.name == "positive") {
        true => command.mut_arg("positive", |flag| flag.long("positive-class")),
        false => command.mut_arg("positive", |flag| flag.alias("positive-class")),
    };
    if params.is_empty() {
        return command;
    }
    let heading = format!("Parameters of {}", model.unwrap_or_default());
    command.next_help_heading(heading).args(params.iter().map(param_flag))
}

pub fn params_of(model: Option<&str>) -> Vec<Param> {
    let name = model.map(|text| Spec::parse(text).map_or(text.to_string(), |spec| spec.name));
    name.and_then(|name| ermine::entry(&name).ok()).map_or(Vec::new(), |entry| (entry.params)())
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
pub fn param_id(name: &str) -> String {
    format!("param {name}")
}
