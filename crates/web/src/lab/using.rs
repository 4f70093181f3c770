//! Predictions of a kept model: one row as it is typed, with an interval and an explanation, or a whole file.

use crate::{
    http::Refusal,
    serve::{
        models::Loaded,
        openapi::example,
        predict::{Asked, of_error, refusal},
    },
};
use axum::http::StatusCode;
use ermine::{Cancel, Error, Output, X};
use ermine_app::{
    check::Diff,
    explain::{can_be_followed, explain_values},
    read::{self, ReadOptions},
    store::{Width, project::Project},
    table::Kind,
    wire::{Answer, Interval, Media, prediction_columns},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Rows of a form; a file has as many as it likes.
const ROWS: usize = 1000;
/// Level of the interval around a number.
const LEVEL: f64 = 0.9;
/// An answer while one types must not take longer.
const PATIENCE: Duration = Duration::from_secs(20);
/// A comparison of two models shuffles every column for each.
const DIFF: Duration = Duration::from_secs(120);

/// Models that were used lately, loaded once.
#[derive(Default)]
pub struct Models(Mutex<Vec<(String, Arc<Loaded>)>>);

impl Models {
    const KEPT: usize = 4;

    pub fn get(&self, name: &str, project: &Project, threads: usize) -> Result<Arc<Loaded>, Refusal> {
        let path = project.model(name).map_err(|error| Refusal::new(StatusCode::NOT_FOUND, error.to_string()))?;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, loaded)) = kept.iter().find(|(known, _)| known == name) {
            return Ok(loaded.clone());
        }
        let loaded = Arc::new(Loaded::load(&path, threads).map_err(of_error)?);
        kept.push((name.into(), loaded.clone()));
        if kept.len() > Models::KEPT {
            kept.remove(0);
        }
        Ok(loaded)
    }

    pub fn forget(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(known, _)| known != name);
    }
}

/// The fields of a form: what the model takes, where its values lie, and a row to begin with.
pub fn form(loaded: &Loaded) -> Value {
    let header = &loaded.fitted.header;
    let field = |field: &ermine_app::table::Field| {
        let text = |value: f64| match field.kind {
            Kind::Date => json!(ermine_app::table::date_text(value)),
            Kind::DateTime => json!(ermine_app::table::datetime_text(value)),
            _ => json!(value),
        };
        let range = header.ranges.get(&field.name);
        let middle = |(low, high): &(f64, f64)| text(((low + high) / 2.0).floor());
        let dated = matches!(field.kind, Kind::Date | Kind::DateTime);
        let mut levels: Vec<&String> = field.levels.iter().take(200).collect();
        levels.sort();
        json!({
            "name": field.name,
            "kind": field.kind,
            "levels": levels,
            "low": range.map(|(low, _)| text(*low)),
            "high": range.map(|(_, high)| text(*high)),
            "start": range.filter(|_| dated).map_or_else(|| example(field, &loaded.fitted), middle),
        })
    };
    json!({
        "fields": header.schema.columns.iter().map(field).collect::<Vec<_>>(),
        "target": header.target.as_ref().map(|target| &target.name),
        "classes": loaded.fitted.classes(),
        "model": header.model,
        "rows": header.rows,
        "interval": loaded.fitted.width(LEVEL).is_ok(),
        "explains": explains(loaded),
    })
}

/// Whether a prediction can be taken apart: there is something to compare it with, and a number to follow.
fn explains(loaded: &Loaded) -> bool {
    let fitted = &loaded.fitted;
    loaded.background.is_some() && fitted.task().is_ok_and(|task| can_be_followed(&*fitted.model, task))
}

/// What the model says of rows of JSON; with `?explain=true` also why.
pub fn predict(loaded: &Loaded, query: &str, body: &[u8]) -> Result<Value, Refusal> {
    let mut asked = Asked::of(query, loaded)?;
    if asked.outputs.contains(&Output::Value) {
        asked.interval = loaded.fitted.width(LEVEL).ok();
    }
    let (table, form) = loaded.reader.read(body, Media::Json, ROWS).map_err(refusal)?;
    let frame = loaded.fitted.frame(&table).map_err(of_error)?;
    let x = X::dense(&frame.x.values, frame.x.cols.max(1)).map_err(of_error)?;
    let said = loaded.fitted.outputs_of(&loaded.ctx, &x, &frame.texts, &asked.outputs).map_err(of_error)?;
    let deviations = match asked.interval {
        Some(Width::Deviations(_)) => {
            Some(loaded.fitted.predict_with(&loaded.ctx, &x, &frame.texts, Output::Deviation).map_err(of_error)?)
        }
        _ => None,
    };
    let interval = asked.interval.map(|width| Interval { width, deviations: deviations.as_ref() });
    let mut explained = Vec::new();
    if let (true, Some(background)) = (asked.explain && explains(loaded), &loaded.background) {
        let ctx = loaded.ctx.clone().with_deadline(Instant::now() + PATIENCE);
        for row in 0..frame.x.rows.min(10) {
            let values = loaded.fitted.values_of(&table, row).map_err(of_error)?;
            let found = explain_values(&loaded.fitted, frame.x.row(row), &values, background, &frame.texts, &ctx);
            explained.push(found.map_err(of_error)?);
        }
    }
    let answer = Answer { fitted: &loaded.fitted, said: &said, rows: 0..frame.x.rows, interval, explained: &[] };
    let said: Value = serde_json::from_slice(&answer.json(form, &[])).unwrap_or_default();
    Ok(json!({ "said": said, "explanations": explained }))
}

/// The predictions of a file behind its own columns, as CSV.
pub fn predict_file(loaded: &Loaded, path: &Path) -> Result<Vec<u8>, Refusal> {
    let names = read::names(path, &ReadOptions::default()).map_err(of_error)?;
    // As strings: 007 stays 007.
    let kinds = names.iter().map(|name| (name.clone(), Kind::Category)).collect();
    let mut all = read::read(path, &ReadOptions { kinds, ..ReadOptions::default() }).map_err(of_error)?;
    let schema = Some(loaded.fitted.header.schema.clone());
    let table = read::read(path, &ReadOptions { schema, ..ReadOptions::default() }).map_err(of_error)?;
    let frame = loaded.fitted.frame(&table).map_err(of_error)?;
    let x = X::dense(&frame.x.values, frame.x.cols.max(1)).map_err(of_error)?;
    let columns = prediction_columns(&loaded.fitted, &loaded.ctx, &x, &frame.texts, &loaded.natural, None);
    for (name, column) in columns.map_err(of_error)? {
        let mut unique = name;
        while all.names().contains(&unique) {
            unique = format!("predicted {unique}");
        }
        all.push(unique, column).map_err(of_error)?;
    }
    let mut bytes = Vec::new();
    read::csv::write(&all, &mut bytes)
        .map_err(|error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok(bytes)
}

/// Two models and the rows that they are compared on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Two {
    pub first: String,
    pub second: String,
    pub table: String,
}

/// Where two models differ on the rows of a file, and what was said when it was read.
pub fn diff(models: [&Loaded; 2], path: &Path) -> Result<Value, Error> {
    let ctx = models[0].ctx.clone().with_cancel(Cancel::default()).with_deadline(Instant::now() + DIFF);
    let read = |loaded: &Loaded| loaded.fitted.known_rows(path, &ReadOptions::default());
    let [a, b] = [read(models[0])?, read(models[1])?];
    let found = Diff::of(models.map(|loaded| &loaded.fitted), [&a.rows, &b.rows], &ctx)?;
    let mut said = a.said;
    said.extend(b.said.into_iter().filter(|line| !said.contains(line)).collect::<Vec<_>>());
    Ok(json!({ "diff": found, "numbers": numbers(&found, &a.numbers), "said": said }))
}

/// The rows that are named, as the file counts them.
fn numbers(found: &Diff, numbers: &[usize]) -> Vec<usize> {
    found.examples.iter().map(|example| numbers[example.row - 1] + 1).collect()
}

/// A line of the list of models.
pub fn line(name: &str, about: &Value) -> Value {
    let report = &about["report"];
    let metric = &report["main_metric"];
    let score = report["test"].as_array().and_then(|scores| scores.iter().find(|pair| &pair[0] == metric));
    let mut line = Map::new();
    for key in ["model", "target", "task", "main_metric"] {
        line.insert(key.into(), report[key].clone());
    }
    line.insert("name".into(), json!(name));
    line.insert("table".into(), about["asked"]["settings"]["table"].clone());
    line.insert("score".into(), score.map_or(Value::Null, |pair| pair[1].clone()));
    line.into()
}
