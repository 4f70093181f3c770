//! `ermine lab`: the arguments of the page, and the browser that shows it.

use crate::terminal;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use ermine::Result;
use ermine_web::lab::{self, Options};
use std::{path::PathBuf, process::Stdio};

pub struct Call {
    options: Options,
    browser: bool,
}

pub fn command() -> Command {
    Command::new("lab")
        .about("Explore a table, train, and watch algorithms work, on a page in the browser")
        .after_help(
            "Examples:\n  ermine lab penguins.csv\n  ermine lab --project houses --no-browser\n\n\
             The page is served to this machine only, and to whoever has the token in its address. Ctrl-C ends it.",
        )
        .args([
            Arg::new("FILE").value_parser(value_parser!(PathBuf)).help("Table to begin with"),
            Arg::new("project")
                .long("project")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("Keep tables, models and reports in this folder [default: a temporary one]"),
            Arg::new("port")
                .long("port")
                .value_name("PORT")
                .value_parser(value_parser!(u16))
                .default_value("0")
                .help("Port on 127.0.0.1; 0 takes a free one"),
            Arg::new("no-browser").long("no-browser").action(ArgAction::SetTrue).help("Only print the address"),
            Arg::new("upload")
                .long("upload")
                .value_name("SIZE")
                .default_value("2GB")
                .value_parser(|text: &str| crate::args::bytes(text).ok_or("a size such as 500MB is expected"))
                .help("Size of a table that is dropped into the page, at most"),
            Arg::new("threads")
                .long("threads")
                .value_name("N")
                .value_parser(value_parser!(u64).range(1..=1024))
                .help("Threads that train [default: all cores]"),
        ])
}

pub fn call(matches: &ArgMatches) -> Call {
    Call {
        options: Options {
            table: matches.get_one("FILE").cloned(),
            project: matches.get_one("project").cloned(),
            port: *matches.get_one("port").expect("it has a default"),
            threads: crate::args::threads(matches),
            upload: *matches.get_one("upload").expect("it has a default"),
        },
        browser: !matches.get_flag("no-browser"),
    }
}

pub fn lab(call: Call) -> Result<()> {
    lab::run(call.options, |address| {
        terminal::say(&format!("Ermine Lab: {address}"));
        terminal::say("Ctrl-C ends it");
        if call.browser {
            open(address);
        }
    })
}

/// Shows an address in the browser, if there is a way; the address was printed anyway.
fn open(address: &str) {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let command = std::process::Command::new(program)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    drop(command);
}
