//! Addresses and what they answer. Reading is GET and changes nothing; whatever changes something is POST.

use super::{Lab, asked::Asked, guard, using};
use crate::http::{Refusal, answer, content};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Path, Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::Response,
    routing::{get, post},
};
use ermine::{Error, core::ctx::Cancel};
use ermine_app::{
    explain::{Watched, watch},
    inspect,
    report::{assets, html},
};
use futures_util::{FutureExt, stream};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::{convert::Infallible, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::sync::broadcast::error::RecvError;

type Answered = Result<Response, Refusal>;
type Shared = State<Arc<Lab>>;

pub fn router(lab: Arc<Lab>) -> Router {
    Router::new()
        .route("/", get(async || asset("lab/index.html")))
        .route("/{*path}", get(async |Path(path): Path<String>| asset(&path)))
        .route("/api/state", get(state))
        .route("/api/events", get(events))
        .route("/api/settings", post(settings))
        .route("/api/tables/{name}", post(upload))
        .route("/api/look", post(look))
        .route("/api/points", post(points))
        .route("/api/runs", post(train))
        .route("/api/runs/{id}/cancel", post(async |lab: Shared, id: Path<u64>| stop(&lab, id.0, false)))
        .route("/api/runs/{id}/enough", post(async |lab: Shared, id: Path<u64>| stop(&lab, id.0, true)))
        .route("/api/models/{name}", get(model))
        .route("/api/models/{name}/file", get(model_file))
        .route("/api/models/{name}/page", get(model_page))
        .route("/api/models/{name}/form", get(form))
        .route("/api/models/{name}/predict", post(predict))
        .route("/api/models/{name}/predict-file/{file}", post(predict_file))
        .route("/api/models/{name}/remove", post(remove))
        .route("/api/diff", post(diff))
        .route("/api/watch", post(watched))
        .fallback(async || Refusal::new(StatusCode::NOT_FOUND, "there is nothing at this address").into_response())
        .method_not_allowed_fallback(async || {
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this address does not take that method").into_response()
        })
        .layer(middleware::from_fn_with_state(lab.clone(), around))
        .with_state(lab)
}

/// Around every request: who asks, what an answer may do in a browser; no panic gets out.
async fn around(State(lab): Shared, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let mut response = match lab.guard.check(&head) {
        Err(refused) => refused.into_response(),
        Ok(()) => {
            let run = AssertUnwindSafe(next.run(Request::from_parts(head, body)));
            let mistake = || Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the program made a mistake");
            run.catch_unwind().await.unwrap_or_else(|_| mistake().into_response())
        }
    };
    guard::seal(response.headers_mut());
    response
}

fn asset(path: &str) -> Response {
    match assets::find(path) {
        Some((_, kind, bytes)) => answer(StatusCode::OK, kind, *bytes),
        None => Refusal::new(StatusCode::NOT_FOUND, "there is nothing at this address").into_response(),
    }
}

fn as_json(value: &impl serde::Serialize) -> Response {
    let text = serde_json::to_string(value).unwrap_or_else(|_| "null".into());
    answer(StatusCode::OK, "application/json", text)
}

/// What the engine refuses is the user's to mend.
fn refused(error: Error) -> Refusal {
    match error {
        Error::Cancelled => Refusal::busy("it was cancelled"),
        error => Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()),
    }
}

async fn body(lab: &Lab, request: Request) -> Result<Bytes, Refusal> {
    let (head, body) = request.into_parts();
    let deadline = tokio::time::Instant::now() + lab.limits.time;
    Ok(content(&head.headers, body, &lab.limits, &lab.room, deadline).await?.bytes)
}

/// Runs work that takes the cores, a few at the same time.
async fn compute<T: Send + 'static>(
    lab: &Arc<Lab>,
    work: impl FnOnce(&Lab) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let _permit = lab.busy.acquire().await.map_err(|_| Refusal::busy("the program ends"))?;
    let lab = lab.clone();
    let mistake = |_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the program made a mistake");
    tokio::task::spawn_blocking(move || work(&lab)).await.map_err(mistake)?
}

fn answered(outcome: Answered) -> Response {
    outcome.unwrap_or_else(Refusal::into_response)
}

/// All that a page needs to show itself.
async fn state(State(lab): Shared) -> Response {
    let models: Vec<Value> = lab
        .project
        .models()
        .iter()
        .filter_map(|name| Some(using::line(name, &lab.project.about(name).ok()?)))
        .collect();
    let supervised =
        |entry: &&ermine::Entry| matches!(entry.info.task, ermine::Task::Regression | ermine::Task::Classification);
    let known: Vec<Value> = ermine::MODELS
        .iter()
        .filter(supervised)
        .map(|entry| json!({ "name": entry.name, "task": entry.info.task, "compared": entry.info.not_compared.is_none() }))
        .collect();
    as_json(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "project": lab.project.folder().display().to_string(),
        "temporary": lab.project.is_temporary(),
        "tables": lab.project.tables(),
        "settings": lab.project.settings(),
        "runs": lab.work.all(),
        "models": models,
        "known": known,
        "upload": lab.upload,
    }))
}

/// Everything that happens, as it happens (server-sent events).
async fn events(State(lab): Shared) -> Response {
    let parts = (lab.work.events(), lab.stop.clone());
    let next = async |(mut events, mut stop): (tokio::sync::broadcast::Receiver<String>, _)| {
        let stop_: &mut tokio::sync::watch::Receiver<bool> = &mut stop;
        let text = tokio::select! {
            // Nothing to say is said too, so that both ends know that the other is there.
            () = tokio::time::sleep(Duration::from_secs(10)) => ": still here\n\n".to_string(),
            _ = stop_.wait_for(|stop| *stop) => return None,
            event = events.recv() => match event {
                Ok(event) => format!("data: {event}\n\n"),
                // A page that missed something asks for everything.
                Err(RecvError::Lagged(_)) => "data: {\"event\":\"state\"}\n\n".into(),
                Err(RecvError::Closed) => return None,
            },
        };
        Some((Ok::<Bytes, Infallible>(text.into()), (events, stop)))
    };
    let first = stream::once(async { Ok(Bytes::from_static(b": here\n\n")) });
    let body = futures_util::StreamExt::chain(first, stream::unfold(parts, next));
    answer(StatusCode::OK, "text/event-stream", Body::from_stream(body))
}

async fn settings(State(lab): Shared, request: Request) -> Response {
    let store = async || -> Answered {
        let asked = Asked::of(&body(&lab, request).await?).map_err(refused)?;
        lab.project.set_settings(&json!(asked)).map_err(refused)?;
        Ok(as_json(&asked))
    };
    answered(store().await)
}

/// Takes a table in, piece by piece: none is larger in memory than what the network brings at once.
async fn upload(State(lab): Shared, Path(name): Path<String>, request: Request) -> Response {
    let take = async || -> Answered {
        let too_large = || {
            let problem =
                format!("the table is larger than {} bytes: open it by its name, 'ermine lab FILE'", lab.upload);
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, problem)
        };
        let mut body = request.into_body();
        let mut upload = lab.project.upload(&name).map_err(refused)?;
        let mut length = 0u64;
        loop {
            let frame = tokio::time::timeout(lab.limits.time, body.frame());
            let frame = match frame.await {
                Err(_) => return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "the table came too slowly")),
                Ok(None) => break,
                Ok(Some(Err(error))) => return Err(Refusal::new(StatusCode::BAD_REQUEST, error.to_string())),
                Ok(Some(Ok(frame))) => frame,
            };
            let Ok(bytes) = frame.into_data() else { continue };
            length += bytes.len() as u64;
            if length > lab.upload {
                return Err(too_large());
            }
            upload.write(&bytes).map_err(refused)?;
        }
        let name = upload.finish().map_err(refused)?;
        lab.work.tell("state");
        Ok(as_json(&json!({ "table": name })))
    };
    answered(take().await)
}

async fn look(State(lab): Shared, request: Request) -> Response {
    let see = async || -> Answered {
        let asked = Asked::of(&body(&lab, request).await?).map_err(refused)?;
        let found = compute(&lab, move |lab| {
            lab.looks.look(&asked, &lab.project, &lab.work.context(asked.seed)).map_err(refused)
        });
        Ok(as_json(&*found.await?))
    };
    answered(see().await)
}

/// Two columns of a table, to watch an algorithm on.
async fn points(State(lab): Shared, request: Request) -> Response {
    let see = async || -> Answered {
        let asked = Asked::of(&body(&lab, request).await?).map_err(refused)?;
        let found = compute(&lab, move |lab| {
            let ctx = lab.work.context(asked.seed);
            let (job, opened) = asked.open(&lab.project, &ctx).map_err(refused)?;
            inspect::points(&job, &opened, &ctx).map_err(refused)
        });
        Ok(as_json(&found.await?))
    };
    answered(see().await)
}

async fn train(State(lab): Shared, request: Request) -> Response {
    let begin = async || -> Answered {
        let asked = Asked::of(&body(&lab, request).await?).map_err(refused)?;
        // What cannot be is said now.
        asked.job(&lab.project).map_err(refused)?;
        let id = lab.work.push(asked).ok_or_else(|| Refusal::busy("too many runs are waiting"))?;
        Ok(as_json(&json!({ "run": id })))
    };
    answered(begin().await)
}

fn stop(lab: &Lab, id: u64, keep: bool) -> Response {
    match lab.work.stop(id, keep) {
        true => as_json(&json!({ "run": id })),
        false => Refusal::new(StatusCode::NOT_FOUND, format!("there is no run {id}")).into_response(),
    }
}

fn about(lab: &Lab, name: &str) -> Result<Value, Refusal> {
    lab.project.about(name).map_err(|error| Refusal::new(StatusCode::NOT_FOUND, error.to_string()))
}

async fn model(State(lab): Shared, Path(name): Path<String>) -> Response {
    answered(about(&lab, &name).map(|about| as_json(&about)))
}

/// As a file to keep.
fn download(kind: &'static str, bytes: impl Into<Body>) -> Response {
    let mut response = answer(StatusCode::OK, kind, bytes);
    response.headers_mut().insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    response
}

async fn model_file(State(lab): Shared, Path(name): Path<String>) -> Response {
    let not_found = |error: Error| Refusal::new(StatusCode::NOT_FOUND, error.to_string());
    answered(lab.project.model_bytes(&name).map(|bytes| download("application/octet-stream", bytes)).map_err(not_found))
}

/// The report as one file that works by itself.
async fn model_page(State(lab): Shared, Path(name): Path<String>) -> Response {
    answered(about(&lab, &name).map(|about| download("text/html; charset=utf-8", html::page_of(&about["report"]))))
}

async fn form(State(lab): Shared, Path(name): Path<String>) -> Response {
    let show = compute(&lab, move |lab| Ok(using::form(&*lab.loaded(&name)?)));
    answered(show.await.map(|form| as_json(&form)))
}

async fn predict(State(lab): Shared, Path(name): Path<String>, request: Request) -> Response {
    let say = async || -> Answered {
        let query = request.uri().query().unwrap_or_default().to_string();
        let body = body(&lab, request).await?;
        let said = compute(&lab, move |lab| using::predict(&*lab.loaded(&name)?, &query, &body)).await?;
        Ok(as_json(&said))
    };
    answered(say().await)
}

async fn predict_file(State(lab): Shared, Path((name, table)): Path<(String, String)>) -> Response {
    let say = compute(&lab, move |lab| {
        let path = lab.project.table(&table).map_err(|e| Refusal::new(StatusCode::NOT_FOUND, e.to_string()))?;
        using::predict_file(&*lab.loaded(&name)?, &path)
    });
    answered(say.await.map(|csv| download("text/csv; charset=utf-8", csv)))
}

/// Two models on the same rows.
async fn diff(State(lab): Shared, request: Request) -> Response {
    let see = async || -> Answered {
        let body = body(&lab, request).await?;
        let asked: using::Two = serde_json::from_slice(&body)
            .map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, format!("not what this address takes: {error}")))?;
        let found = compute(&lab, move |lab| {
            let not_found = |error: Error| Refusal::new(StatusCode::NOT_FOUND, error.to_string());
            let path = lab.project.table(&asked.table).map_err(not_found)?;
            using::diff([&*lab.loaded(&asked.first)?, &*lab.loaded(&asked.second)?], &path).map_err(refused)
        });
        Ok(as_json(&found.await?))
    };
    answered(see().await)
}

async fn remove(State(lab): Shared, Path(name): Path<String>) -> Response {
    let gone = || -> Answered {
        about(&lab, &name)?;
        lab.project.remove_model(&name).map_err(refused)?;
        lab.models.forget(&name);
        lab.work.tell("models");
        Ok(as_json(&json!({ "removed": name })))
    };
    answered(gone())
}

async fn watched(State(lab): Shared, request: Request) -> Response {
    let see = async || -> Answered {
        let body = body(&lab, request).await?;
        let asked: Watched = serde_json::from_slice(&body)
            .map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, format!("not what this address takes: {error}")))?;
        let seen = compute(&lab, move |lab| {
            let limit = std::time::Instant::now() + Duration::from_secs(20);
            let ctx = lab.work.context(asked.seed).with_cancel(Cancel::default()).with_deadline(limit);
            watch(&asked, &ctx).map_err(refused)
        });
        Ok(as_json(&seen.await?))
    };
    answered(see().await)
}

impl Lab {
    fn loaded(&self, name: &str) -> Result<Arc<crate::serve::models::Loaded>, Refusal> {
        self.models.get(name, &self.project, self.work.context(0).threads())
    }
}
