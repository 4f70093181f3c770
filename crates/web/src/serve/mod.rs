//! `ermine serve`: model files behind HTTP endpoints.
//!
//! A request is read by the threads of the runtime, its rows are predicted by threads that do nothing else
//! ([`predict`]), in batches
//! of whatever waits ([`crate::jobs`]). What cannot be held is refused before it is read ([`crate::http`]).

mod metrics;
pub(crate) mod models;
pub(crate) mod openapi;
pub(crate) mod predict;
mod routes;

use crate::{
    http::{self, Limits, Room},
    jobs::Queue,
};
use ermine::{Error, Result};
use metrics::Metrics;
use models::Slot;
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::{net::TcpListener, sync::watch};

pub struct Options {
    /// Files, or `NAME=FILE`.
    pub models: Vec<String>,
    pub listen: String,
    pub limits: Limits,
    /// Rows of one request.
    pub rows: usize,
    /// Requests that wait for a thread.
    pub queue: usize,
    /// Threads that predict, and as many that read and write.
    pub threads: usize,
    /// How often a model file is looked at.
    pub reload: Duration,
    /// Clients must show it.
    pub token: Option<String>,
    /// Whether each request gets a line in the log.
    pub log_requests: bool,
}

/// Lines of JSON for whoever keeps them.
#[derive(Clone)]
pub struct Log(Arc<dyn Fn(&str) + Send + Sync>);

impl Log {
    pub fn new(write: impl Fn(&str) + Send + Sync + 'static) -> Log {
        Log(Arc::new(write))
    }

    /// Puts the time in front.
    pub fn event(&self, event: Value) {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        let time = ermine_app::table::datetime_text((seconds * 1e3).round() / 1e3);
        let mut line = json!({ "time": time });
        line.as_object_mut().expect("a map").extend(event.as_object().cloned().unwrap_or_default());
        (self.0)(&line.to_string());
    }
}

/// What all requests share.
pub(crate) struct Shared {
    slots: Arc<[Slot]>,
    queue: Queue<predict::Job>,
    metrics: Metrics,
    limits: Limits,
    room: Room,
    rows: usize,
    token: Option<String>,
    log: Log,
    log_requests: bool,
    stop: watch::Receiver<bool>,
}

/// Serves until a signal says stop.
pub fn run(options: Options, log: Log) -> Result<()> {
    let mut slots = Vec::new();
    for text in &options.models {
        let (name, path) = models::named(text)?;
        if slots.iter().any(|slot: &Slot| slot.name == name) {
            return Err(Error::Data(format!("there are two models '{name}'")).hint("give names: NAME=FILE"));
        }
        slots.push(Slot::open(name, path, options.threads)?);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(options.threads).enable_all().build();
    let runtime = runtime.map_err(|error| Error::Data(format!("cannot start threads: {error}")))?;
    let (tell, stop) = watch::channel(false);
    let shared = Arc::new(Shared {
        slots: slots.into(),
        queue: Queue::new(options.queue),
        metrics: Metrics::default(),
        room: Room::new(options.limits.bodies),
        limits: options.limits,
        rows: options.rows,
        token: options.token,
        log,
        log_requests: options.log_requests,
        stop,
    });
    let workers: Vec<_> = (0..options.threads)
        .map(|_| {
            let shared = shared.clone();
            std::thread::spawn(move || predict::work(&shared.queue, &shared.metrics))
        })
        .collect();
    let outcome = runtime.block_on(serve(&shared, &options.listen, options.reload, tell));
    shared.queue.close();
    workers.into_iter().for_each(|worker| drop(worker.join()));
    // A file that is being loaded has no one to serve any more.
    runtime.shutdown_timeout(Duration::from_millis(100));
    outcome
}

async fn serve(shared: &Arc<Shared>, listen: &str, reload: Duration, tell: watch::Sender<bool>) -> Result<()> {
    let cannot = |error: std::io::Error| Error::Data(format!("cannot listen on {listen}: {error}"));
    let listener = TcpListener::bind(listen).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    let names: Vec<&str> = shared.slots.iter().map(|slot| slot.name.as_str()).collect();
    let open = open_to_all(address, shared.token.is_some());
    shared.log.event(json!({ "event": "listening", "address": address.to_string(), "models": names }));
    if open {
        let problem = "anybody who reaches this address may use the models: there is no token";
        shared.log.event(json!({ "event": "warning", "problem": problem }));
    }
    let signalled = shared.clone();
    tokio::spawn(async move {
        stop_signal().await;
        signalled.log.event(json!({ "event": "stopping" }));
        let _ = tell.send(true);
        // Kept so that nobody takes the end of the sender for another signal.
        std::future::pending::<()>().await;
    });
    let watching = shared.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(reload).await;
            let shared = watching.clone();
            let look = move || shared.slots.iter().for_each(|slot| slot.refresh(&shared.log));
            let _ = tokio::task::spawn_blocking(look).await;
        }
    });
    let whole = http::serve(listener, routes::router(shared.clone()), &shared.limits, shared.stop.clone()).await;
    shared.log.event(json!({ "event": "stopped", "all_answered": whole }));
    Ok(())
}

fn open_to_all(address: SocketAddr, guarded: bool) -> bool {
    !address.ip().is_loopback() && !guarded
}

#[cfg(unix)]
pub(crate) async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}

#[cfg(not(unix))]
pub(crate) async fn stop_signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
