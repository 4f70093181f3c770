//! `ermine serve`: the arguments of the prediction server.

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use ermine::{Error, Result};
use ermine_web::{
    http::Limits,
    serve::{self, Log, Options},
};
use std::{io::Write, path::PathBuf, time::Duration};

pub fn command() -> Command {
    let size = |name: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("SIZE").default_value(default).help(help).value_parser(size)
    };
    let seconds = |name: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("TIME").default_value(default).help(help).value_parser(time)
    };
    let count = |name: &'static str, default: &'static str, help: &'static str| {
        let parser = value_parser!(u64).range(1..=1_000_000_000);
        Arg::new(name).long(name).value_name("N").default_value(default).help(help).value_parser(parser)
    };
    Command::new("serve")
        .about("Answer prediction requests over HTTP")
        .after_help(
            "Examples:\n  ermine serve houses.ermine\n  \
             ermine serve prices=houses.ermine churn.ermine --listen 0.0.0.0:8080 --token-file /run/secrets/token\n\n\
             Open the address in a browser to try it. docs/serve.md tells how to run it in production.",
        )
        .args([
            Arg::new("MODEL")
                .required(true)
                .num_args(1..)
                .help("Model files; NAME=FILE gives a model another name than its file"),
            Arg::new("listen")
                .long("listen")
                .value_name("ADDRESS")
                .default_value("127.0.0.1:8080")
                .help("Address and port; port 0 takes a free one"),
            Arg::new("token-file")
                .long("token-file")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Clients must send the token in this file [default: the variable ERMINE_TOKEN, or none]"),
            Arg::new("threads")
                .long("threads")
                .value_name("N")
                .value_parser(value_parser!(u64).range(1..=1024))
                .help("Threads that predict [default: all cores]"),
            count("rows", "100000", "Rows of one request at most"),
            count("queue", "1024", "Requests that may wait; more are answered with 503"),
            count("connections", "4096", "Connections at the same time"),
            size("body", "32MB", "Size of one request at most"),
            size("bodies", "256MB", "Size of all requests that are read or wait"),
            seconds("timeout", "30s", "Time for one request"),
            seconds("head-timeout", "10s", "Time for the head of a request, and for an idle connection"),
            seconds("drain", "1s", "After the signal to stop, requests are still taken for this time"),
            seconds("grace", "30s", "Then those that were taken have this time to end"),
            seconds("reload", "2s", "How often model files are looked at; a changed one is swapped in"),
            Arg::new("log-requests")
                .long("log-requests")
                .action(ArgAction::SetTrue)
                .help("One line in the log for each request"),
        ])
}

fn size(text: &str) -> Result<u64, String> {
    crate::args::bytes(text).ok_or_else(|| "a size such as 32MB is expected".into())
}

fn time(text: &str) -> Result<Duration, String> {
    crate::args::duration(text).ok_or_else(|| "a time such as 30s is expected".into())
}

pub fn options(matches: &ArgMatches) -> Result<Options> {
    let count = |name: &str| *matches.get_one::<u64>(name).expect("it has a default") as usize;
    let time = |name: &str| *matches.get_one::<Duration>(name).expect("it has a default");
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Options {
        models: matches.get_many::<String>("MODEL").expect("it is required").cloned().collect(),
        listen: matches.get_one::<String>("listen").expect("it has a default").clone(),
        limits: Limits {
            connections: count("connections"),
            body: count("body"),
            bodies: count("bodies"),
            head_time: time("head-timeout"),
            time: time("timeout"),
            drain: time("drain"),
            grace: time("grace"),
        },
        rows: count("rows"),
        queue: count("queue"),
        threads: crate::args::threads(matches).unwrap_or_else(cores),
        reload: time("reload"),
        token: token(matches.get_one::<PathBuf>("token-file"))?,
        log_requests: matches.get_flag("log-requests"),
    })
}

fn token(file: Option<&PathBuf>) -> Result<Option<String>> {
    let token = match file {
        Some(path) => std::fs::read_to_string(path).map_err(|error| Error::io(path, "read", &error))?,
        None => match std::env::var("ERMINE_TOKEN") {
            Ok(token) => token,
            Err(_) => return Ok(None),
        },
    };
    match token.trim() {
        "" => Err(Error::Data("the token is empty".into())),
        token => Ok(Some(token.into())),
    }
}

/// The log goes to stderr, a line for each event.
pub fn serve(options: Options) -> Result<()> {
    serve::run(options, Log::new(|line| drop(writeln!(std::io::stderr().lock(), "{line}"))))
}
