//! Addresses and what they answer.

use super::{
    Shared,
    models::Slot,
    openapi,
    predict::{Asked, Job},
};
use crate::http::{Refusal, answer, content, same_secret};
use axum::{
    Router,
    body::Body,
    extract::{Path, Request, State},
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::{self, Next},
    response::Response,
    routing::{any, get},
};
use ermine_app::wire::{Form, Media};
use futures_util::FutureExt;
use serde_json::json;
use std::{panic::AssertUnwindSafe, sync::Arc, time::Instant};
use tokio::sync::oneshot;

const PAGE: &str = include_str!("page/page.html");
const SCRIPT: &str = include_str!("page/page.js");
const STYLE: &str = include_str!("page/page.css");

const VERSION: HeaderName = HeaderName::from_static("ermine-model-version");

pub fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(async || page("text/html; charset=utf-8", PAGE)))
        .route("/page.js", get(async || page("text/javascript; charset=utf-8", SCRIPT)))
        .route("/page.css", get(async || page("text/css; charset=utf-8", STYLE)))
        .route("/healthz", get(async || answer(StatusCode::OK, "text/plain", "ok\n")))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(document))
        .route("/v1/models", get(models))
        .route("/v1/models/{call}", any(call))
        .fallback(async || Refusal::new(StatusCode::NOT_FOUND, "there is nothing at this address").into_response())
        .method_not_allowed_fallback(async || {
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this address does not take that method").into_response()
        })
        .layer(middleware::from_fn_with_state(shared.clone(), around))
        .with_state(shared)
}

/// The name of a route in the metrics.
fn route(method: &Method, path: &str) -> &'static str {
    match path {
        "/" | "/page.js" | "/page.css" => "page",
        "/healthz" => "healthz",
        "/readyz" => "readyz",
        "/metrics" => "metrics",
        "/openapi.json" => "openapi",
        "/v1/models" => "models",
        path if path.starts_with("/v1/models/") && *method == Method::POST => "predict",
        path if path.starts_with("/v1/models/") => "model",
        _ => "other",
    }
}

/// Around every request: the token, the metrics, the log; no panic gets out.
async fn around(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let begin = Instant::now();
    let (method, route) = (request.method().clone(), route(request.method(), request.uri().path()));
    let path = shared.log_requests.then(|| request.uri().path().to_string());
    let open = matches!(route, "page" | "healthz" | "readyz");
    let mut response = if open || is_known(&shared, &request) {
        match AssertUnwindSafe(next.run(request)).catch_unwind().await {
            Ok(response) => response,
            Err(_) => Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the server made a mistake").into_response(),
        }
    } else {
        let mut response = Refusal::new(StatusCode::UNAUTHORIZED, "a token is needed").into_response();
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        response
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if *shared.stop.borrow() {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let (time, status) = (begin.elapsed(), response.status());
    shared.metrics.answered(route, status.as_u16(), time);
    if let Some(path) = path {
        let ms = (time.as_secs_f64() * 1e6).round() / 1e3;
        let line = json!({
            "event": "request", "method": method.as_str(), "path": path, "status": status.as_u16(), "ms": ms,
        });
        shared.log.event(line);
    } else if status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE {
        shared.log.event(json!({ "event": "failed", "route": route, "status": status.as_u16() }));
    }
    response
}

fn is_known(shared: &Shared, request: &Request) -> bool {
    let Some(token) = &shared.token else { return true };
    let shown = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let shown = shown.and_then(|value| value.split_once(' ')).filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
    shown.is_some_and(|(_, shown)| same_secret(shown.trim().as_bytes(), token.as_bytes()))
}

fn page(kind: &'static str, text: &'static str) -> Response {
    let mut response = answer(StatusCode::OK, kind, text);
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                  form-action 'none'; frame-ancestors 'none'";
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}

async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    match *shared.stop.borrow() {
        true => Refusal::busy("the server is stopping").into_response(),
        false => answer(StatusCode::OK, "text/plain", "ready\n"),
    }
}

async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let text = shared.metrics.text(&shared.slots, shared.queue.len());
    answer(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
}

async fn document(State(shared): State<Arc<Shared>>) -> Response {
    let document = openapi::document(&shared.slots, shared.token.is_some());
    answer(StatusCode::OK, "application/json", document.to_string())
}

async fn models(State(shared): State<Arc<Shared>>) -> Response {
    let all: Vec<_> = shared.slots.iter().map(Slot::info).collect();
    answer(StatusCode::OK, "application/json", json!({ "models": all }).to_string())
}

fn place(shared: &Shared, name: &str) -> Result<usize, Refusal> {
    shared.slots.iter().position(|slot| slot.name == name).ok_or_else(|| {
        let names: Vec<&str> = shared.slots.iter().map(|slot| slot.name.as_str()).collect();
        Refusal::new(StatusCode::NOT_FOUND, format!("there is no model '{name}'; there are {}", names.join(", ")))
    })
}

/// What `/v1/models/NAME` and `/v1/models/NAME:predict` answer.
async fn call(State(shared): State<Arc<Shared>>, Path(call): Path<String>, request: Request) -> Response {
    let answered = match call.strip_suffix(":predict") {
        Some(name) => match place(&shared, name) {
            Ok(_) if request.method() != Method::POST => return other_method("POST"),
            Ok(place) => predicted(&shared, place, request).await,
            Err(refused) => Err(refused),
        },
        None => match place(&shared, &call) {
            Ok(_) if !matches!(*request.method(), Method::GET | Method::HEAD) => return other_method("GET,HEAD"),
            Ok(place) => Ok(answer(StatusCode::OK, "application/json", shared.slots[place].info().to_string())),
            Err(refused) => Err(refused),
        },
    };
    answered.unwrap_or_else(Refusal::into_response)
}

/// The address is right, and the method is not.
fn other_method(allowed: &'static str) -> Response {
    let problem = format!("this address takes {allowed}");
    let mut response = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, problem).into_response();
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

async fn predicted(shared: &Arc<Shared>, place: usize, request: Request) -> Result<Response, Refusal> {
    let begin = Instant::now();
    let loaded = shared.slots[place].current();
    let asked = Asked::of(request.uri().query().unwrap_or_default(), &loaded)?;
    let (head, body) = request.into_parts();
    let media = media(head.headers.get(header::CONTENT_TYPE))?;
    let deadline = begin + shared.limits.time;
    let content = content(&head.headers, body, &shared.limits, &shared.room, deadline.into()).await?;
    let (reply, answered) = oneshot::channel();
    let version = HeaderValue::from_str(&loaded.version);
    let (slot, most_rows) = (shared.slots.clone(), shared.rows);
    let job = Job { slot, place, loaded, asked, content, media, most_rows, deadline, reply };
    shared.queue.push(job).map_err(|_| Refusal::busy("there are too many requests"))?;
    let reply = match tokio::time::timeout_at(deadline.into(), answered).await {
        Err(_) => return Err(Refusal::busy("the answer took too long")),
        Ok(Err(_)) => return Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the server made a mistake")),
        Ok(Ok(reply)) => reply,
    };
    let (form, body) = reply?;
    let kind = match form {
        Form::Csv => "text/csv; charset=utf-8",
        Form::Arrow => ARROW,
        Form::Records | Form::Columns => "application/json",
    };
    let mut response = answer(StatusCode::OK, kind, Body::from(body));
    if let Ok(version) = version {
        response.headers_mut().insert(VERSION, version);
    }
    Ok(response)
}

const ARROW: &str = "application/vnd.apache.arrow.stream";

/// JSON, CSV or Arrow, by its media type.
fn media(kind: Option<&HeaderValue>) -> Result<Media, Refusal> {
    let kind = kind.map_or(Some("application/json"), |kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let known = [("application/json", Media::Json), ("text/csv", Media::Csv), (ARROW, Media::Arrow)];
    if let Some((_, media)) = known.into_iter().find(|(name, _)| kind.eq_ignore_ascii_case(name)) {
        return Ok(media);
    }
    let problem = format!("rows are taken as application/json, text/csv or {ARROW}");
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, problem))
}
