//! Training runs, one after the other on a thread of their own. Every open page hears how they go; a page that is
//! opened in the middle is told what it has missed.

use super::asked::{self, Asked};
use ermine::{
    Cancel, Ctx, Error,
    core::ctx::{Candidate, Observer, Progress},
};
use ermine_app::{report::html, store::project::Project};
use serde::Serialize;
use serde_json::{Value, json};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Instant,
};
use tokio::sync::broadcast;

/// Runs that wait.
const WAITING: usize = 16;
/// Runs that are remembered.
const KEPT: usize = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Waiting,
    Running,
    Done,
    Cancelled,
    Failed,
}

#[derive(Clone, Serialize)]
pub struct Run {
    pub id: u64,
    pub state: State,
    pub asked: Asked,
    /// What it does now.
    pub what: String,
    pub step: usize,
    pub of: Option<usize>,
    /// Models with their scores so far, in the order in which they came.
    pub candidates: Vec<Candidate>,
    pub seconds: f64,
    /// The model that came of it.
    pub model: Option<String>,
    pub error: Option<String>,
    /// Stopped early on purpose; the best so far is kept.
    pub enough: bool,
    #[serde(skip)]
    begin: Option<Instant>,
    #[serde(skip)]
    cancel: Cancel,
    #[serde(skip)]
    stop: Cancel,
}

pub struct Work {
    threads: Option<usize>,
    runs: Arc<Runs>,
}

struct Runs {
    list: Mutex<List>,
    changed: Condvar,
    events: broadcast::Sender<String>,
}

#[derive(Default)]
struct List {
    runs: Vec<Run>,
    next: u64,
    ended: bool,
}

impl Runs {
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a run and tells every page.
    fn change(&self, id: u64, change: impl FnOnce(&mut Run)) {
        let mut list = self.list();
        if let Some(run) = list.runs.iter_mut().find(|run| run.id == id) {
            change(run);
            run.seconds = run.begin.map_or(run.seconds, |begin| begin.elapsed().as_secs_f64());
            if !matches!(run.state, State::Waiting | State::Running) {
                run.begin = None;
            }
            // Nobody may be listening.
            let _ = self.events.send(json!({ "event": "run", "run": run }).to_string());
        }
    }
}

impl Work {
    pub fn new(threads: Option<usize>) -> Work {
        let (events, _) = broadcast::channel(1024);
        Work { threads, runs: Arc::new(Runs { list: Mutex::default(), changed: Condvar::new(), events }) }
    }

    pub fn context(&self, seed: u64) -> Ctx {
        let ctx = Ctx::new(seed);
        match self.threads {
            Some(threads) => ctx.with_threads(threads),
            None => ctx,
        }
    }

    pub fn events(&self) -> broadcast::Receiver<String> {
        self.runs.events.subscribe()
    }

    /// Tells every page that something else has changed.
    pub fn tell(&self, what: &str) {
        let _ = self.runs.events.send(json!({ "event": what }).to_string());
    }

    pub fn all(&self) -> Vec<Run> {
        let now = |mut run: Run| {
            run.seconds = run.begin.map_or(run.seconds, |begin| begin.elapsed().as_secs_f64());
            run
        };
        self.runs.list().runs.iter().cloned().map(now).collect()
    }

    /// Puts a run at the end of the queue; none if there are too many.
    pub fn push(&self, asked: Asked) -> Option<u64> {
        let mut list = self.runs.list();
        let waiting = list.runs.iter().filter(|run| run.state == State::Waiting).count();
        if waiting >= WAITING || list.ended {
            return None;
        }
        list.next += 1;
        let id = list.next;
        let run = Run {
            id,
            state: State::Waiting,
            asked,
            what: "waiting".into(),
            step: 0,
            of: None,
            candidates: Vec::new(),
            seconds: 0.0,
            model: None,
            error: None,
            enough: false,
            begin: None,
            cancel: Cancel::default(),
            stop: Cancel::default(),
        };
        list.runs.push(run);
        if list.runs.len() > KEPT {
            let old = list.runs.iter().position(|run| !matches!(run.state, State::Waiting | State::Running));
            old.map(|old| list.runs.remove(old));
        }
        drop(list);
        self.runs.change(id, |_| {});
        self.runs.changed.notify_all();
        Some(id)
    }

    /// Ends a run: at once, or after the comparison with the best model so far. Whether there is such a run.
    pub fn stop(&self, id: u64, keep: bool) -> bool {
        let mut found = false;
        self.runs.change(id, |run| {
            found = true;
            match (run.state, keep) {
                (State::Waiting, _) => run.state = State::Cancelled,
                (State::Running, true) => {
                    run.stop.cancel();
                    run.enough = true;
                }
                (State::Running, false) => run.cancel.cancel(),
                _ => {}
            }
        });
        found
    }

    /// No more runs; the one under way is cancelled.
    pub fn end(&self) {
        let mut list = self.runs.list();
        list.ended = true;
        list.runs.iter().for_each(|run| run.cancel.cancel());
        drop(list);
        self.runs.changed.notify_all();
    }

    /// Works until the end.
    pub fn run(&self, project: &Project) {
        while let Some(run) = self.next() {
            let id = run.id;
            let outcome = catch_unwind(AssertUnwindSafe(|| self.train(&run, project)));
            let outcome = outcome.unwrap_or_else(|_| Err(Error::Data("the program made a mistake".into())));
            self.runs.change(id, |run| match outcome {
                Ok(name) => (run.state, run.model, run.what) = (State::Done, Some(name), "done".into()),
                Err(Error::Cancelled) => run.state = State::Cancelled,
                Err(error) => (run.state, run.error) = (State::Failed, Some(error.to_string())),
            });
        }
    }

    fn next(&self) -> Option<Run> {
        let mut list = self.runs.list();
        loop {
            if list.ended {
                return None;
            }
            if let Some(run) = list.runs.iter_mut().find(|run| run.state == State::Waiting) {
                (run.state, run.begin) = (State::Running, Some(Instant::now()));
                return Some(run.clone());
            }
            list = self.runs.changed.wait(list).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn train(&self, run: &Run, project: &Project) -> Result<String, Error> {
        let mut job = run.asked.job(project)?;
        job.enough = Some(run.stop.clone());
        let watcher = Watcher { id: run.id, runs: self.runs.clone(), told: Mutex::new(None) };
        let ctx = self.context(job.seed).with_cancel(run.cancel.clone()).with_observer(watcher);
        let (fitted, report) = job.run(&ctx)?;
        ctx.check()?;
        let name = fitted.header.target.as_ref().map_or("model", |target| target.name.as_str());
        let command = run.asked.command(&job.data, name);
        let report: Value = html::data(&report, &command);
        let python = asked::python(&run.asked, &report, &command, name);
        let about = json!({ "settings": run.asked, "command": asked::typed(&command), "python": python });
        let name = project.keep(&fitted, &report, &about)?;
        self.tell("models");
        Ok(name)
    }
}

/// Carries progress to the pages, a few times a second.
struct Watcher {
    id: u64,
    runs: Arc<Runs>,
    told: Mutex<Option<(Instant, &'static str)>>,
}

impl Observer for Watcher {
    fn progress(&self, event: Progress) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_some_and(|(when, what)| what == event.what && when.elapsed().as_millis() < 150) {
            return;
        }
        *told = Some((Instant::now(), event.what));
        self.runs.change(self.id, |run| (run.what, run.step, run.of) = (event.what.into(), event.step, event.of));
    }

    fn candidate(&self, candidate: &Candidate) {
        self.runs.change(self.id, |run| run.candidates.push(candidate.clone()));
    }
}
