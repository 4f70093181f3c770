//! `ermine inspect --card`: the page about a model.

use crate::{Failure, args::Inputs, known_rows, terminal};
use clap::ArgMatches;
use ermine::Result;
use ermine_app::{
    Fitted, file,
    read::{self, ReadOptions},
    report::card::{Card, GroupScores, group_scores},
    store::writer::{Content, Output as Place},
    table::Kind,
};
use std::{
    io::Write,
    path::{Path, PathBuf},
};

pub struct Call {
    model: PathBuf,
    to: PathBuf,
    data: Option<PathBuf>,
    by: Vec<String>,
    force: bool,
}

pub fn call(model: PathBuf, to: PathBuf, matches: &ArgMatches) -> Call {
    Call {
        model,
        to,
        data: matches.get_one::<PathBuf>("data").cloned(),
        by: matches.get_many::<String>("by").into_iter().flatten().cloned().collect(),
        force: matches.get_flag("force"),
    }
}

pub fn card(out: &mut impl Write, call: &Call) -> Result<(), Failure> {
    let place = match call.to == Path::new("-") {
        true => None,
        false => {
            let inputs: Vec<PathBuf> = call.data.iter().chain([&call.model]).cloned().collect();
            Some(Place::open(&call.to, Content::Card, call.force, &inputs)?)
        }
    };
    let fitted = file::load(&call.model)?;
    let groups = match &call.data {
        Some(data) => groups(&fitted, data, &call.by)?,
        None => Vec::new(),
    };
    let card = Card::new(&fitted, &groups);
    let is_page = call.to.extension().is_some_and(|ending| ending == "html" || ending == "htm");
    let text = if is_page { card.html() } else { card.markdown() };
    match place {
        Some(place) => place.write(text.as_bytes())?,
        None => out.write_all(text.as_bytes())?,
    }
    Ok(())
}

fn groups(fitted: &Fitted, data: &Path, by: &[String]) -> Result<Vec<GroupScores>> {
    let inputs = Inputs { data: data.into(), read: ReadOptions::default() };
    let (rows, known) = known_rows(fitted, &inputs)?;
    // As they are written: 007 stays 007.
    let kinds = by.iter().map(|name| (name.clone(), Kind::Category)).collect();
    let table = read::read(data, &ReadOptions { columns: Some(by.to_vec()), kinds, ..ReadOptions::default() })?;
    let table = table.take(&known);
    let ctx = terminal::context(fitted.header.seed, None);
    let mut all = Vec::new();
    for name in by {
        all.extend(group_scores(fitted, &rows, (name, table.column(name)?), &ctx)?);
    }
    Ok(all)
}
