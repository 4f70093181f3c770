//! `ermine export`: a model in other programs.

use crate::Failure;
use clap::{Arg, ArgAction, ArgMatches, Command, builder::PossibleValuesParser, value_parser};
use ermine_app::{
    export::{
        code::{self, Language},
        onnx,
        sql::{self, Dialect},
    },
    file,
    store::writer::{Content, Output},
};
use std::{io::Write, path::PathBuf};

pub struct Export {
    pub model: PathBuf,
    to: String,
    output: Option<PathBuf>,
    force: bool,
    table: String,
    keep: Vec<String>,
    dialect: Dialect,
}

pub fn command() -> Command {
    Command::new("export")
        .about("Write a model for other programs: ONNX, SQL, C or Rust")
        .after_help(
            "Examples:\n  ermine export houses.ermine --to onnx -o houses.onnx\n  \
             ermine export houses.ermine --to sql --table offers --keep id\n  \
             ermine export houses.ermine --to c -o houses.c\n\n\
             The preparation goes along: raw columns in, predictions out. docs/export.md tells which model has which \
             form.",
        )
        .args([
            Arg::new("MODEL").required(true).value_parser(value_parser!(PathBuf)).help("Model file"),
            Arg::new("to")
                .long("to")
                .required(true)
                .value_parser(PossibleValuesParser::new(["onnx", "sql", "c", "rust"]))
                .help("What to write"),
            Arg::new("output")
                .long("output")
                .short('o')
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Where to [default: stdout]"),
            Arg::new("force").long("force").action(ArgAction::SetTrue).help("Replace a file that is something else"),
            Arg::new("table")
                .long("table")
                .value_name("NAME")
                .default_value("data")
                .help("Table that the SELECT reads"),
            Arg::new("keep")
                .long("keep")
                .value_name("COLUMN")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .help("Columns of the table that the SELECT hands on"),
            Arg::new("dialect")
                .long("dialect")
                .value_parser(PossibleValuesParser::new(["postgresql", "standard"]))
                .default_value("postgresql")
                .help("SQL of PostgreSQL, which SQLite and DuckDB read too, or nothing but standard SQL"),
        ])
}

pub fn call(matches: &ArgMatches) -> Export {
    Export {
        model: matches.get_one::<PathBuf>("MODEL").expect("it is required").clone(),
        to: matches.get_one::<String>("to").expect("it is required").clone(),
        output: matches.get_one::<PathBuf>("output").cloned(),
        force: matches.get_flag("force"),
        table: matches.get_one::<String>("table").expect("it has a default").clone(),
        keep: matches.get_many::<String>("keep").into_iter().flatten().cloned().collect(),
        dialect: match matches.get_one::<String>("dialect").map(String::as_str) {
            Some("standard") => Dialect::Standard,
            _ => Dialect::PostgreSql,
        },
    }
}

pub fn export(out: &mut impl Write, call: &Export) -> Result<(), Failure> {
    let fitted = file::load(&call.model)?;
    let bytes = match call.to.as_str() {
        "onnx" => onnx::model(&fitted)?,
        "sql" => sql::select(&fitted, &call.table, &call.keep, call.dialect)?.into_bytes(),
        "c" => code::source(&fitted, Language::C)?.into_bytes(),
        _ => code::source(&fitted, Language::Rust)?.into_bytes(),
    };
    match &call.output {
        Some(path) => {
            let inputs = std::slice::from_ref(&call.model);
            Output::open(path, Content::Export, call.force, inputs)?.write(&bytes)?;
        }
        None => out.write_all(&bytes)?,
    }
    Ok(())
}
