//! From the body of a request to its answer: read, predict together with others, write. Runs on threads of its own.

use super::{
    metrics::Metrics,
    models::{Loaded, Slot},
};
use crate::{
    http::{Content, Refusal},
    jobs::Queue,
};
use axum::http::StatusCode;
use ermine::{Error, Matrix, Output, X, core::error::Column};
use ermine_app::{
    explain::explain_values,
    rows::Frame,
    store::Width,
    table::Table,
    wire::{Answer, BadCell, Explained, Form, Interval, Media, Refused, name_of},
};
use serde_json::json;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering},
    time::Instant,
};
use tokio::sync::oneshot;

/// At most so many rows of small requests are predicted together.
const BATCH_ROWS: usize = 4096;
const BATCH_JOBS: usize = 256;
/// Shapley values take thousands of predictions a row.
const MOST_EXPLAINED: usize = 100;

/// What a request asks for besides its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub outputs: Vec<Output>,
    pub explain: bool,
    /// An interval around each predicted number.
    pub interval: Option<Width>,
}

impl Asked {
    /// From the query of an address; the model must be able to do it.
    pub fn of(query: &str, loaded: &Loaded) -> Result<Asked, Refusal> {
        let bad = |problem: String| Refusal::new(StatusCode::BAD_REQUEST, problem);
        let mut asked = Asked { outputs: loaded.natural.clone(), explain: false, interval: None };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
            match name {
                "output" => {
                    let names = value.replace("%2C", ",").replace("%2c", ",");
                    let known = loaded.fitted.model.outputs();
                    let find = |name: &str| {
                        let found =
                            known.iter().find(|(output, _)| name_of(*output) == name).map(|(output, _)| *output);
                        // It starts from new features, not from rows.
                        found.filter(|output| *output != Output::Inverse).ok_or_else(|| {
                            let known: Vec<String> = known.iter().map(|(output, _)| name_of(*output)).collect();
                            bad(format!("this model has no output '{name}'; it has {}", known.join(", ")))
                        })
                    };
                    asked.outputs = names.split(',').map(find).collect::<Result<_, _>>()?;
                    let mut keys: Vec<Output> = asked.outputs.clone();
                    keys.sort_unstable();
                    keys.dedup();
                    if keys.len() < asked.outputs.len() {
                        return Err(bad("an output is asked for twice".into()));
                    }
                }
                "explain" => match value {
                    "true" => asked.explain = true,
                    "false" => asked.explain = false,
                    other => return Err(bad(format!("explain is true or false, not '{other}'"))),
                },
                "interval" => {
                    let level = value.parse().ok().filter(|level| (0.0..1.0).contains(level) && *level > 0.0);
                    let level = level.ok_or_else(|| bad("interval is a level such as 0.95".into()))?;
                    let width = loaded.fitted.width(level);
                    asked.interval = Some(width.map_err(|error| bad(error.to_string()))?);
                }
                other => {
                    return Err(bad(format!("there is no parameter '{other}'; there are output, explain, interval")));
                }
            }
        }
        if asked.interval.is_some() && !asked.outputs.contains(&Output::Value) {
            return Err(bad("an interval goes with the output value, which is not asked for".into()));
        }
        if asked.explain && loaded.background.is_none() {
            return Err(bad("this model file does not know what its rows looked like; fit it again to explain".into()));
        }
        Ok(asked)
    }
}

/// A request that waits.
pub struct Job {
    pub slot: Arc<[Slot]>,
    pub place: usize,
    pub loaded: Arc<Loaded>,
    pub asked: Asked,
    pub content: Content,
    pub media: Media,
    pub most_rows: usize,
    pub deadline: Instant,
    pub reply: oneshot::Sender<Reply>,
}

pub type Reply = Result<(Form, Vec<u8>), Refusal>;

/// Works until the queue is closed.
pub fn work(queue: &Queue<Job>, metrics: &Metrics) {
    loop {
        let together = |a: &Job, b: &Job| Arc::ptr_eq(&a.loaded, &b.loaded) && a.asked == b.asked && !a.asked.explain;
        let jobs = queue.take(BATCH_JOBS, together);
        if jobs.is_empty() {
            return;
        }
        // A reply that is dropped unanswered tells its request.
        let _ = catch_unwind(AssertUnwindSafe(|| answer(jobs, metrics)));
    }
}

/// A request whose rows have been read.
struct Read {
    job: Job,
    table: Table,
    frame: Frame,
    form: Form,
}

fn answer(jobs: Vec<Job>, metrics: &Metrics) {
    let mut batch: Vec<Read> = Vec::new();
    let mut rows = 0;
    for job in jobs {
        if job.reply.is_closed() {
            continue;
        }
        if Instant::now() > job.deadline {
            let _ = job.reply.send(Err(Refusal::busy("there are too many requests: this one waited too long")));
            continue;
        }
        let read = match read(job) {
            Some(read) => read,
            None => continue,
        };
        rows += read.frame.x.rows;
        batch.push(read);
        if rows >= BATCH_ROWS {
            predict(std::mem::take(&mut batch), metrics);
            rows = 0;
        }
    }
    predict(batch, metrics);
}

fn read(job: Job) -> Option<Read> {
    let read = || {
        let (table, form) = job.loaded.reader.read(&job.content.bytes, job.media, job.most_rows).map_err(refusal)?;
        let frame = job.loaded.fitted.frame(&table).map_err(of_error)?;
        if job.asked.explain && frame.x.rows > MOST_EXPLAINED {
            let problem = format!("at most {MOST_EXPLAINED} rows are explained at once");
            return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, problem));
        }
        Ok((table, form, frame))
    };
    match read() {
        Ok((table, form, frame)) => {
            job.slot[job.place].count(&job.loaded, &frame);
            Some(Read { job, table, frame, form })
        }
        Err(refused) => {
            let _ = job.reply.send(Err(refused));
            None
        }
    }
}

/// All rows at once where that is possible, each request by itself where one of them cannot be predicted.
fn predict(batch: Vec<Read>, metrics: &Metrics) {
    let (alone, together): (Vec<Read>, Vec<Read>) = batch.into_iter().partition(|read| !read.frame.texts.is_empty());
    if !together.is_empty() {
        let cols = together[0].frame.x.cols;
        let joined;
        let x = match &together[..] {
            [one] => &one.frame.x,
            several => {
                let values: Vec<f64> = several.iter().flat_map(|read| read.frame.x.values.iter().copied()).collect();
                let rows = several.iter().map(|read| read.frame.x.rows).sum();
                joined = Matrix::new(values, rows, cols);
                &joined
            }
        };
        metrics.batches.fetch_add(1, Ordering::Relaxed);
        metrics.batched.fetch_add(together.len() as u64, Ordering::Relaxed);
        match outputs(&together[0], x) {
            Ok(said) => {
                let mut first = 0;
                for read in together {
                    let rows = first..first + read.frame.x.rows;
                    first = rows.end;
                    let written = write(&read, &said, rows);
                    let _ = read.job.reply.send(written);
                }
            }
            Err(refused) if together.len() == 1 => {
                together.into_iter().for_each(|read| drop(read.job.reply.send(Err(refuse_again(&refused)))));
            }
            Err(_) => together.into_iter().for_each(by_itself),
        }
    }
    alone.into_iter().for_each(by_itself);
}

fn refuse_again(refused: &Refusal) -> Refusal {
    Refusal { status: refused.status, message: refused.message.clone(), details: refused.details.clone() }
}

fn by_itself(read: Read) {
    let said = outputs(&read, &read.frame.x);
    let written = said.and_then(|said| write(&read, &said, 0..read.frame.x.rows));
    let _ = read.job.reply.send(written);
}

/// What was asked for, and deviations at the end where an interval was.
fn outputs(read: &Read, x: &Matrix) -> Result<Vec<(Output, Matrix)>, Refusal> {
    let loaded = &read.job.loaded;
    let x = X::dense(&x.values, x.cols.max(1)).map_err(of_error)?;
    let mut wanted = read.job.asked.outputs.clone();
    if matches!(read.job.asked.interval, Some(Width::Deviations(_))) {
        wanted.push(Output::Deviation);
    }
    loaded.fitted.outputs_of(&loaded.ctx, &x, &read.frame.texts, &wanted).map_err(of_error)
}

fn write(read: &Read, said: &[(Output, Matrix)], rows: std::ops::Range<usize>) -> Reply {
    let Job { loaded, asked, slot, place, .. } = &read.job;
    let explained = if asked.explain { explain(read)? } else { Vec::new() };
    let (said, interval) = match (asked.interval, said) {
        (Some(width @ Width::Deviations(_)), [said @ .., (Output::Deviation, of)]) => {
            (said, Some(Interval { width, deviations: Some(of) }))
        }
        (width, said) => (said, width.map(|width| Interval { width, deviations: None })),
    };
    let answer = Answer { fitted: &loaded.fitted, said, rows, interval, explained: &explained };
    let body = match read.form {
        Form::Csv => answer.csv().map_err(of_error)?,
        Form::Arrow => answer.arrow().map_err(of_error)?,
        form => answer.json(form, &[("model", &slot[*place].name), ("version", &loaded.version)]),
    };
    Ok((read.form, body))
}

fn explain(read: &Read) -> Result<Vec<Explained>, Refusal> {
    let Read { job, table, frame, .. } = read;
    let background = job.loaded.background.as_ref().expect("checked when it was asked for");
    let explain = |row: usize| {
        let values = job.loaded.fitted.values_of(table, row)?;
        let ctx = job.loaded.ctx.clone().with_deadline(job.deadline);
        explain_values(&job.loaded.fitted, frame.x.row(row), &values, background, &frame.texts, &ctx)
    };
    (0..frame.x.rows).map(explain).collect::<ermine::Result<_>>().map_err(of_error)
}

/// Cells that cannot be read.
pub fn refusal(refused: Refused) -> Refusal {
    match refused {
        Refused::Syntax(problem) => Refusal::new(StatusCode::BAD_REQUEST, problem),
        Refused::TooMany(most) => {
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("at most {most} rows are taken at once"))
        }
        Refused::Cells(cells, count) => {
            let what = if count == 1 { "1 value".into() } else { format!("{count} values") };
            let message = format!("{what} cannot be used; {}", in_words(&cells[0]));
            let details = Some(("cells", json!(cells)));
            Refusal { status: StatusCode::UNPROCESSABLE_ENTITY, message, details }
        }
    }
}

fn in_words(cell: &BadCell) -> String {
    let row = cell.row.map_or(String::new(), |row| format!("row {row}, "));
    let column = cell.column.as_ref().map_or(String::new(), |name| format!("column '{name}': "));
    format!("{row}{column}{}", cell.problem)
}

/// What a model cannot predict.
pub fn of_error(error: Error) -> Refusal {
    let message = error.to_string();
    match error {
        Error::Hinted { error, .. } => of_error(*error),
        Error::Value { row, column, problem } => {
            let column = column.map(|column| match column {
                Column::Name(name) => name,
                Column::Index(index) => index.to_string(),
            });
            let cell = BadCell { row: row.map(|row| row + 1), column, value: None, problem };
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            Refusal { status, message: in_words(&cell), details: Some(("cells", json!([cell]))) }
        }
        Error::Cancelled => Refusal::busy("the answer took too long"),
        Error::Data(_) | Error::Unsupported(_) | Error::Unknown { .. } | Error::Shape { .. } => {
            Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, message)
        }
        _ => Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, message),
    }
}
