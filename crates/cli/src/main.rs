//! The `ermine` command line: arguments in, text out. Data goes to stdout, talk to stderr; exit 0 is success, 1 a
//! failure of the work, 2 a wrong call.

mod args;
mod board;
mod card;
mod check;
mod explain;
mod export;
mod groups;
mod lab;
mod serve;
mod show;
mod terminal;
mod workers;

use args::{Call, FitCall, Inputs, Kept};
use ermine::{Ctx, Error, Output, Result, Source};
use ermine_app::{
    Fitted, Job,
    check::Known,
    explain::trace_line,
    file, judge,
    read::{self, ReadOptions},
    report::html,
    rows::{Frame, Rows},
    store::writer::{Content, Output as Place},
    table, wire,
};
use std::{
    io::{self, Write},
    path::Path,
    process::ExitCode,
};
use workers::Workers;

fn main() -> ExitCode {
    let workers = match Workers::start() {
        Ok(workers) => workers,
        Err(error) => return complain(&error),
    };
    // Everyone has the same arguments and comes to the same end: the first worker speaks for all.
    let speaks = workers.rank() == 0;
    let call = match args::parse(std::env::args_os()) {
        Ok(call) => call,
        Err(error) => {
            // clap prints help to stdout with 0 and mistakes to stderr with 2.
            let code = if error.use_stderr() { 2 } else { 0 };
            return match speaks.then(|| error.print()) {
                None => ExitCode::SUCCESS,
                Some(Err(broken)) if broken.kind() != io::ErrorKind::BrokenPipe => ExitCode::from(1),
                Some(_) => ExitCode::from(code),
            };
        }
    };
    // A server ends by its own rules.
    if !matches!(call, Call::Serve(_) | Call::Lab(_)) {
        terminal::tidy_on_signals(call.enough());
    }
    let outcome = workers.guard(|| run(call, &workers));
    ermine_app::store::writer::abandon();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(_) if !speaks => ExitCode::SUCCESS,
        Err(Failure::Write(error)) => {
            terminal::complain(&format!("cannot write the output: {error}"));
            ExitCode::from(1)
        }
        Err(Failure::Work(error)) => complain(&error),
    }
}

fn complain(error: &Error) -> ExitCode {
    terminal::complain(&error.to_string());
    ExitCode::from(if is_wrong_call(error) { 2 } else { 1 })
}

/// A name or value that the user typed and that does not exist.
fn is_wrong_call(error: &Error) -> bool {
    match error {
        Error::Parameter { .. } | Error::Unknown { .. } => true,
        Error::Hinted { error, .. } => is_wrong_call(error),
        _ => false,
    }
}

pub enum Failure {
    Work(Error),
    Write(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Work(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Write(error)
    }
}

fn run(call: Call, workers: &Workers) -> Result<(), Failure> {
    if workers.count() > 1 && !matches!(call, Call::Fit(_) | Call::Compare { .. }) {
        return Err(Error::Unsupported("only fit, tune and compare run on several workers".into())
            .hint("start it without mpirun")
            .into());
    }
    let mut out = terminal::Out::new(call.writes_data());
    match call {
        Call::Fit(call) => fit(&mut out, call, workers)?,
        Call::Compare { job, json, threads } => compare(&mut out, &job, json, threads, workers)?,
        Call::Explain { model, inputs, about, json, threads } => {
            explain::explain(&mut out, &model, inputs.as_ref(), about, json, threads)?;
        }
        Call::Predict { model, inputs, outputs, interval, kept, to, force, threads } => {
            let place = predictions_to(to.as_deref(), &inputs.data, force)?;
            let table = predict(&model, &inputs, (outputs, interval), &kept, threads)?;
            write_table(&mut out, &table, place.as_ref())?;
        }
        Call::Outliers { job, method, to, force, json, threads } => {
            let place = predictions_to(to.as_deref(), &job.data, force)?;
            let found = job.outliers(method, &terminal::context(job.seed, threads))?;
            if let Some(place) = &place {
                let numbers = (1..=found.rows).map(|row| row as f64).collect();
                let columns = [("row", numbers), ("score", found.scores.clone())];
                let columns = columns.map(|(name, values)| (name.to_string(), table::Column::Number(values)));
                write_table(&mut out, &table::Table::new(columns.into())?, Some(place))?;
            }
            match json {
                true => terminal::json(&mut out, &found)?,
                false => groups::outliers(&mut out, &found)?,
            }
        }
        Call::Evaluate { model, inputs, json, threads } => evaluate(&mut out, &model, &inputs, json, threads)?,
        Call::Summary { model, inputs, level, json, threads } => {
            summary(&mut out, &model, &inputs, level, json, threads)?;
        }
        Call::Models { name: None, json } => show::models(&mut out, json)?,
        Call::Models { name: Some(name), json } => show::model(&mut out, ermine::entry(&name)?, json)?,
        Call::Inspect { model, json } => show::inspect(&mut out, &file::load(&model)?, json)?,
        Call::Card(call) => card::card(&mut out, &call)?,
        Call::Serve(options) => serve::serve(*options)?,
        Call::Lab(call) => lab::lab(*call)?,
        Call::Man(name) => args::man(name.as_deref(), &mut out)?,
        Call::Export(call) => export::export(&mut out, &call)?,
        Call::Check { model, inputs, limits, json, threads } => {
            check::check(&mut out, &model, &inputs, limits, json, threads)?;
        }
        Call::Diff { models: [a, b], inputs, json, threads } => {
            check::diff(&mut out, [&a, &b], &inputs, json, threads)?;
        }
        Call::Completions(shell) => args::completions(shell, &mut out),
    }
    out.flush()?;
    Ok(())
}

/// Finds and fits a model; the first worker writes what there is to write.
fn fit(out: &mut terminal::Out, call: FitCall, workers: &Workers) -> Result<(), Failure> {
    let FitCall { job, output, report: page, trace, force, json, threads } = call;
    let fit = |ctx: Ctx| {
        // Better to hear it now than after an hour.
        let mut places = Places::default();
        if workers.rank() == 0 {
            places = places_of(&job, [output.as_deref(), page.as_deref(), trace.as_deref()], force)?;
        }
        Ok((job.run(&ctx)?, places))
    };
    let ((fitted, report), Places { model: output, report: page, trace }) = watched(&job, threads, workers, fit)?;
    if workers.rank() > 0 {
        return Ok(());
    }
    if let Some(talk) = workers.talk() {
        terminal::say(&talk);
    }
    if let Some(place) = &output {
        file::save(&fitted, place)?;
    }
    if let Some(place) = &page {
        let command: Vec<String> = std::env::args().collect();
        place.write(html::page(&report, &command).as_bytes())?;
    }
    if let (Some(place), Some(steps)) = (&trace, &job.trace) {
        let lines = steps.steps().iter().map(|step| format!("{}\n", trace_line(step))).collect::<String>();
        place.write(lines.as_bytes())?;
    }
    match json {
        true => Ok(terminal::json(out, &report)?),
        false => Ok(show::report(out, &report, output.as_ref().map(Place::path))?),
    }
}

/// Compares models and keeps none.
fn compare(
    out: &mut terminal::Out,
    job: &Job,
    json: bool,
    threads: Option<usize>,
    workers: &Workers,
) -> Result<(), Failure> {
    let (found, notes) = watched(job, threads, workers, |ctx| job.compare(&ctx))?;
    match json {
        _ if workers.rank() > 0 => Ok(()),
        true => Ok(terminal::json(out, &serde_json::json!({ "comparison": found, "notes": notes }))?),
        false => Ok(board::comparison(out, &found, &notes)?),
    }
}

/// Runs `work` on every worker; the first one shows how it goes.
fn watched<T>(job: &Job, threads: Option<usize>, workers: &Workers, work: impl FnOnce(Ctx) -> Result<T>) -> Result<T> {
    let progress = terminal::Progress::new(workers.rank() == 0);
    let threads = threads.or_else(|| workers.threads());
    let ctx = terminal::context(job.seed, threads).with_observer(progress.observer());
    let outcome = workers.run(ctx, work);
    progress.finish();
    outcome
}

/// The file for predictions of `data`, where one is named.
fn predictions_to(to: Option<&Path>, data: &Path, force: bool) -> Result<Option<Place>> {
    to.map(|path| Place::open(path, Content::Predictions, force, &[data.to_path_buf()])).transpose()
}

fn write_table(out: &mut terminal::Out, table: &table::Table, place: Option<&Place>) -> Result<(), Failure> {
    let Some(place) = place else { return Ok(read::csv::write(table, out)?) };
    let mut bytes = Vec::new();
    read::csv::write(table, &mut bytes)?;
    Ok(place.write(&bytes)?)
}

/// Where a run writes.
#[derive(Default)]
struct Places {
    model: Option<Place>,
    report: Option<Place>,
    trace: Option<Place>,
}

/// Where model, report and trace go, once it is clear that they can.
fn places_of(job: &Job, [model, report, trace]: [Option<&Path>; 3], force: bool) -> Result<Places> {
    let inputs = job.inputs()?;
    let open = |path, content, force| Place::open(path, content, force, &inputs);
    let model = model.map(|path| open(path, Content::Model, force)).transpose()?;
    let report = report.map(|path| open(path, Content::Report, force)).transpose()?;
    let trace = trace.map(|path| open(path, Content::Trace, force)).transpose()?;
    // Opened again when the run begins to keep its state.
    let checkpoint = job.checkpoint.as_deref().map(|path| open(path, Content::Checkpoint, false)).transpose()?;
    Place::check_apart(model.iter().chain(&report).chain(&trace).chain(&checkpoint))?;
    Ok(Places { model, report, trace })
}

/// The file's rows as the model takes them. Says what it did not know.
fn raw_rows(fitted: &Fitted, inputs: &Inputs, with_target: bool) -> Result<(table::Table, Frame)> {
    let (table, frame, said) = fitted.rows_of(&inputs.data, &inputs.read, with_target)?;
    said.iter().for_each(|said| terminal::warn(said));
    Ok((table, frame))
}

/// The predictions as columns, behind those of the table that are kept.
fn predict(
    model: &Path,
    inputs: &Inputs,
    (outputs, interval): (Option<Vec<Output>>, Option<f64>),
    kept: &Kept,
    threads: Option<usize>,
) -> Result<table::Table> {
    let fitted = file::load(model)?;
    let ctx = terminal::context(fitted.header.seed, threads);
    let mut all = kept_columns(inputs, kept)?;
    let (table, frame) = raw_rows(&fitted, inputs, false)?;
    warn_outside(&fitted, &table);
    let x = ermine::X::dense(&frame.x.values, frame.x.cols.max(1))?;
    let wanted = outputs.unwrap_or_else(|| fitted.natural_outputs());
    let width = interval.map(|level| fitted.width(level)).transpose()?;
    let columns = wire::prediction_columns(&fitted, &ctx, &x, &frame.texts, &wanted, width)?;
    for (name, column) in columns {
        // The table may have the target as well, or be the outcome of a prediction.
        let mut unique = name.clone();
        while all.names().contains(&unique) {
            unique = format!("predicted {unique}");
        }
        all.push(unique, column)?;
    }
    Ok(all)
}

/// Columns of the table as they stand in the file.
fn kept_columns(inputs: &Inputs, kept: &Kept) -> Result<table::Table> {
    let names = match kept {
        Kept::Some(names) if names.is_empty() => return table::Table::new(Vec::new()),
        _ if inputs.data == Path::new("-") => {
            return Err(Error::Unsupported("columns of standard input cannot be kept: it is read only once".into())
                .hint("save it to a file first"));
        }
        Kept::Some(names) => names.clone(),
        Kept::All => read::names(&inputs.data, &inputs.read)?,
    };
    // As strings: 007 stays 007.
    let kinds = names.iter().map(|name| (name.clone(), table::Kind::Category)).collect();
    read::read(&inputs.data, &ReadOptions { columns: Some(names), kinds, ..inputs.read.clone() })
}

/// Says where the model has to go beyond what it has seen.
fn warn_outside(fitted: &Fitted, table: &table::Table) {
    const SHOWN: usize = 3;
    let outside = fitted.outside(table);
    for (column, rows) in outside.iter().take(SHOWN) {
        let (low, high) = fitted.header.ranges[column];
        let kind = table.column(column).map_or(table::Kind::Number, table::Column::kind);
        let text = |value: f64| match kind {
            table::Kind::Date => table::date_text(value),
            table::Kind::DateTime => table::datetime_text(value),
            _ => table::number_text(value),
        };
        let rows = if *rows == 1 { "1 row lies".into() } else { format!("{rows} rows lie") };
        let (low, high) = (text(low), text(high));
        terminal::warn(&format!(
            "column '{column}': {rows} outside {low} to {high}, where the model was fitted; it extrapolates there"
        ));
    }
    if outside.len() > SHOWN {
        terminal::warn(&format!("{} more columns have values outside those of the fit", outside.len() - SHOWN));
    }
}

/// The file's rows with a known target, as a supervised model takes them, and which they are.
fn known_rows(fitted: &Fitted, inputs: &Inputs) -> Result<(Rows, Vec<usize>)> {
    let Known { rows, numbers, said } = fitted.known_rows(&inputs.data, &inputs.read)?;
    said.iter().for_each(|said| terminal::warn(said));
    Ok((rows, numbers))
}

fn evaluate(
    out: &mut impl Write,
    model: &Path,
    inputs: &Inputs,
    json: bool,
    threads: Option<usize>,
) -> Result<(), Failure> {
    let fitted = file::load(model)?;
    let ctx = terminal::context(fitted.header.seed, threads);
    let (rows, _) = known_rows(&fitted, inputs)?;
    let data = rows.data()?;
    let x = data.batch().x;
    let predicted = fitted.predictions(&ctx, &x, &rows.texts)?;
    let truth = rows.labels.target.as_ref().expect("just put in");
    let scores = judge::scores(truth, &predicted, None)?;
    let confusion = judge::confusion(truth, &predicted, None);
    show::evaluation(out, data.shape().rows, &scores, confusion.as_deref(), fitted.classes(), json)?;
    Ok(())
}

fn summary(
    out: &mut impl Write,
    model: &Path,
    inputs: &Inputs,
    level: f64,
    json: bool,
    threads: Option<usize>,
) -> Result<(), Failure> {
    let fitted = file::load(model)?;
    let ctx = terminal::context(fitted.header.seed, threads);
    let (rows, _) = known_rows(&fitted, inputs)?;
    if rows.len() != fitted.header.rows {
        let counts = format!("{} rows here, but the model was fitted on {}", rows.len(), fitted.header.rows);
        return Err(Error::Data(format!("{counts}: a summary needs the rows of the fit")).into());
    }
    if ermine_app::report::preparation(&fitted).iter().any(|step| step.scaled) {
        terminal::warn(
            "coefficients are for columns of mean 0 and deviation 1; fit with --no-scale for the units of the file",
        );
    }
    let found = fitted.inference(&ctx, &rows, level)?;
    if json {
        terminal::json(out, &found)?;
    } else {
        write!(out, "{}", found.table(&terminal::names(&fitted.prepared_names())))?;
    }
    Ok(())
}
