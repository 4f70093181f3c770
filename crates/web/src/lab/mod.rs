//! `ermine lab`: a page in the browser on the same engine. Data, train, understand, use, watch.
//!
//! | module | what |
//! | --- | --- |
//! | [`guard`] | who may ask: this machine, this page, this token |
//! | [`routes`] | addresses and what they answer |
//! | [`work`] | training runs, one after the other, with progress for every open page |
//! | [`asked`] | what a page asks for, as a job of the engine; the same as a command and as Python |
//! | [`using`] | predictions of a kept model |

mod asked;
mod guard;
mod routes;
mod using;
mod work;

use crate::http::{self, Limits, Room};
use ermine::{Error, Result};
use ermine_app::store::project::Project;
use std::{net::Ipv4Addr, path::PathBuf, sync::Arc, time::Duration};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
};

pub struct Options {
    /// A table to begin with.
    pub table: Option<PathBuf>,
    /// Where tables and models are kept; without it in a temporary folder.
    pub project: Option<PathBuf>,
    /// 0 takes a free one.
    pub port: u16,
    pub threads: Option<usize>,
    /// Bytes of a table that is dropped into the page.
    pub upload: u64,
}

/// Bytes of any other request.
const BODY: usize = 32 << 20;
/// Pages open at the same time, and what they load side by side.
const CONNECTIONS: usize = 256;
/// Looks at a table, predictions and traces that are computed at the same time; others wait.
const AT_ONCE: usize = 2;

/// What all requests share.
struct Lab {
    project: Project,
    work: work::Work,
    models: using::Models,
    looks: asked::Looks,
    guard: guard::Guard,
    limits: Limits,
    room: Room,
    upload: u64,
    busy: Semaphore,
    stop: watch::Receiver<bool>,
}

/// Serves until a signal says stop. `ready` hears the address.
pub fn run(options: Options, ready: impl FnOnce(&str)) -> Result<()> {
    let project = Project::open(options.project.as_deref(), options.table.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Error::Data(format!("cannot start threads: {error}")))?;
    let outcome = runtime.block_on(serve(options, project, ready));
    runtime.shutdown_timeout(Duration::from_millis(100));
    outcome
}

async fn serve(options: Options, project: Project, ready: impl FnOnce(&str)) -> Result<()> {
    let cannot = |error: std::io::Error| Error::Data(format!("cannot listen on port {}: {error}", options.port));
    // Nobody but this machine.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await.map_err(cannot)?;
    let port = listener.local_addr().map_err(cannot)?.port();
    let guard = guard::Guard::new(port)?;
    let address = guard.address();
    let (tell, stop) = watch::channel(false);
    let limits = Limits {
        connections: CONNECTIONS,
        body: BODY,
        bodies: 8 * BODY,
        drain: Duration::ZERO,
        grace: Duration::from_millis(500),
        ..Limits::default()
    };
    let lab = Arc::new(Lab {
        project,
        work: work::Work::new(options.threads),
        models: using::Models::default(),
        looks: asked::Looks::default(),
        guard,
        room: Room::new(limits.bodies),
        limits,
        upload: options.upload,
        busy: Semaphore::new(AT_ONCE),
        stop,
    });
    let worker = {
        let lab = lab.clone();
        std::thread::spawn(move || lab.work.run(&lab.project))
    };
    tokio::spawn(async move {
        crate::serve::stop_signal().await;
        let _ = tell.send(true);
        // Kept so that nobody takes the end of the sender for another signal.
        std::future::pending::<()>().await;
    });
    ready(&address);
    http::serve(listener, routes::router(lab.clone()), &lab.limits, lab.stop.clone()).await;
    lab.work.end();
    drop(worker.join());
    Ok(())
}
