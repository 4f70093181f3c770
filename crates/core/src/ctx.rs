//! What a fit is given besides data: seed, threads, where progress goes, how it is stopped, the other workers.

use crate::{Error, Result, linalg::Matrix, rng, trace::Trace};
use rayon::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{
        Arc, Condvar, LazyLock, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

/// The circumstances of a fit. Cheap to clone; nothing global stands behind it.
#[derive(Clone)]
pub struct Ctx {
    pub seed: u64,
    threads: usize,
    observer: Arc<dyn Observer>,
    cancel: Cancel,
    exchange: Arc<dyn Exchange>,
    starts: Arc<BTreeMap<String, Matrix>>,
    checkpoint: Option<Arc<dyn Checkpoint>>,
    deadline: Option<Instant>,
    enough: Option<Cancel>,
    trace: Option<Trace>,
}

impl Default for Ctx {
    /// Seed 0, all cores, silent, alone.
    fn default() -> Self {
        Ctx {
            seed: 0,
            threads: cores(),
            observer: Arc::new(Silent),
            cancel: Cancel::default(),
            exchange: Arc::new(Alone),
            starts: Arc::default(),
            checkpoint: None,
            deadline: None,
            enough: None,
            trace: None,
        }
    }
}

impl Ctx {
    pub fn new(seed: u64) -> Self {
        Ctx { seed, ..Ctx::default() }
    }

    pub fn with_threads(self, threads: usize) -> Self {
        // Threads beyond the cores only wait for each other, and thousands of them take the machine down.
        let most = (8 * cores()).max(64);
        Ctx { threads: threads.clamp(1, most), ..self }
    }

    pub fn with_observer(self, observer: impl Observer + 'static) -> Self {
        Ctx { observer: Arc::new(observer), ..self }
    }

    pub fn with_cancel(self, cancel: Cancel) -> Self {
        Ctx { cancel, ..self }
    }

    /// Work that is not done by then is cancelled; of several deadlines the first counts.
    pub fn with_deadline(self, deadline: Instant) -> Self {
        Ctx { deadline: Some(self.deadline.map_or(deadline, |known| known.min(deadline))), ..self }
    }

    /// A second flag, for a part of the work that ends early while the rest goes on.
    pub fn with_enough(self, enough: Cancel) -> Self {
        Ctx { enough: Some(enough), ..self }
    }

    /// Where the fit records its steps. Parts of the work do not: a member of an ensemble is not a step of it.
    pub fn with_trace(self, trace: Trace) -> Self {
        Ctx { trace: Some(trace), ..self }
    }

    pub fn without_trace(self) -> Self {
        Ctx { trace: None, ..self }
    }

    /// Records a step, if anybody wants to see it; `values` is not computed otherwise.
    pub fn record(&self, what: &'static str, values: impl FnOnce() -> Vec<(&'static str, Matrix)>) {
        if let Some(trace) = &self.trace {
            trace.record(what, values());
        }
    }

    pub fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    pub fn with_exchange(self, exchange: impl Exchange + 'static) -> Self {
        Ctx { exchange: Arc::new(exchange), ..self }
    }

    /// Where the fit keeps its state between passes, so that it can be killed and go on.
    pub fn with_checkpoint(self, checkpoint: impl Checkpoint + 'static) -> Self {
        Ctx { checkpoint: Some(Arc::new(checkpoint)), ..self }
    }

    /// Array-valued starting points (centres, means, coefficients) travel beside the parameters, by name.
    pub fn with_start(mut self, name: &str, start: Matrix) -> Self {
        Arc::make_mut(&mut self.starts).insert(name.into(), start);
        self
    }

    pub fn start(&self, name: &str) -> Option<&Matrix> {
        self.starts.get(name)
    }

    /// The same circumstances for one part of the work (a fold, a tree, a member), with a seed of its own.
    pub fn child(&self, what: &str, index: u64) -> Ctx {
        Ctx {
            seed: rng::key(self.seed, what, index),
            observer: Arc::new(Silent),
            starts: Arc::default(),
            checkpoint: None,
            trace: None,
            ..self.clone()
        }
    }

    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The random stream called (`what`, `index`).
    pub fn rng(&self, what: &str, index: u64) -> rng::Stream {
        rng::Stream::new(self.seed, what, index)
    }

    /// Runs `f` where parallel work may use this context's threads and no more. Work started inside such work shares
    /// them.
    pub fn install<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        let (mut f, mut result) = (Some(f), None);
        self.install_erased(&mut || result = f.take().map(|f| f()));
        result.expect("it ran")
    }

    /// `f(0), ..., f(count - 1)` on this context's threads, in this order. After a failure no further call is begun.
    pub fn map<T: Send>(&self, count: usize, f: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
        let results: Vec<Mutex<Option<Result<T>>>> = (0..count).map(|_| Mutex::default()).collect();
        let failed = AtomicBool::new(false);
        let one = |i: usize| {
            if !failed.load(Ordering::Relaxed) {
                let result = f(i);
                failed.fetch_or(result.is_err(), Ordering::Relaxed);
                *results[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            }
        };
        let one: &(dyn Fn(usize) + Sync) = &one;
        self.install_erased(&mut || (0..count).into_par_iter().with_max_len(1).for_each(one));
        results.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// Erased, so that the machinery of handing work to a pool is compiled once and not for every closure.
    fn install_erased(&self, f: &mut (dyn FnMut() + Send)) {
        if rayon::current_thread_index().is_some() && rayon::current_num_threads() == self.threads {
            f();
        } else {
            match pool(self.threads) {
                Some(pool) => pool.install(f),
                // WebAssembly has no threads to start: everything runs on this one.
                None => f(),
            }
        }
    }

    pub fn check(&self) -> Result<()> {
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let enough = self.enough.as_ref().is_some_and(Cancel::is_cancelled);
        if late || enough || self.cancel.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    pub fn progress(&self, event: Progress) {
        self.observer.progress(event);
    }

    pub fn candidate(&self, candidate: &Candidate) {
        self.observer.candidate(candidate);
    }

    /// Says that so many rows, of all workers together, were gone through.
    pub fn rows(&self, count: usize) {
        self.observer.rows(count);
    }

    pub fn exchange(&self) -> &dyn Exchange {
        &*self.exchange
    }

    pub fn checkpoint(&self) -> Option<&dyn Checkpoint> {
        self.checkpoint.as_deref()
    }
}

/// Asked once: the answer comes from files of the system, and takes longer than predicting a row.
fn cores() -> usize {
    static CORES: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
    *CORES
}

/// Pools are kept: a caller that fits small models in a loop should not start threads each time. They belong to one
/// process: threads do not survive a fork, so a forked child (Python's multiprocessing) starts its own.
#[cfg(not(target_family = "wasm"))]
fn pool(threads: usize) -> Option<Arc<rayon::ThreadPool>> {
    static POOLS: LazyLock<Mutex<BTreeMap<(u32, usize), Arc<rayon::ThreadPool>>>> = LazyLock::new(Mutex::default);
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let start = || {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("ermine-{i}"));
        Arc::new(builder.build().expect("the system starts threads"))
    };
    Some(pools.entry((std::process::id(), threads)).or_insert_with(start).clone())
}

#[cfg(target_family = "wasm")]
fn pool(_: usize) -> Option<Arc<rayon::ThreadPool>> {
    None
}

/// The seconds that `f` takes; 0 where there is no clock (WebAssembly).
pub fn timed<T>(f: impl FnOnce() -> T) -> (T, f64) {
    let start = cfg!(not(target_family = "wasm")).then(Instant::now);
    let result = f();
    (result, start.map_or(0.0, |start| start.elapsed().as_secs_f64()))
}

/// Where a fit stands.
#[derive(Clone, Debug)]
pub struct Progress {
    pub what: &'static str,
    pub step: usize,
    /// The last step, if it is known.
    pub of: Option<usize>,
    /// Objective or score at this step.
    pub value: Option<f64>,
}

/// One of several models that are compared, once it has its score.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    pub model: String,
    /// Parameters that differ from their defaults.
    pub params: BTreeMap<String, String>,
    /// Rows that it was scored on.
    pub rows: usize,
    pub mean: Option<f64>,
    /// Half the width of a 95 % interval.
    pub margin: Option<f64>,
    pub seconds: f64,
    /// Found by a search.
    pub tuned: bool,
    /// Why it has no score.
    pub note: Option<String>,
    /// What the score is.
    pub metric: &'static str,
    pub greater_is_better: bool,
}

pub trait Observer: Send + Sync {
    fn progress(&self, event: Progress);

    fn candidate(&self, _candidate: &Candidate) {}

    /// So many rows, of all workers together, were gone through.
    fn rows(&self, _count: usize) {}
}

/// Keeps the state of one fit. A model that goes through its rows many times saves after a pass; core does no I/O, so
/// where it goes is somebody else's. What comes back must be what was saved last, whole.
pub trait Checkpoint: Send + Sync {
    fn load(&self) -> Result<Option<Vec<u8>>>;
    fn save(&self, state: &[u8]) -> Result<()>;
}

struct Silent;

impl Observer for Silent {
    fn progress(&self, _: Progress) {}
}

/// A flag that another thread raises to stop a fit at its next block.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The single place where workers meet.
pub trait Exchange: Send + Sync {
    fn rank(&self) -> usize;
    fn size(&self) -> usize;
    /// Gives everyone's bytes to everyone, in the order of ranks.
    fn all_gather(&self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>>;

    /// Gives `to[rank]` to each rank, and what everyone has for this one, in the order of ranks. An engine that can
    /// address a single worker does better than this: here everyone hears everything.
    fn all_to_all(&self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        let unreadable = |error: postcard::Error| Error::Data(format!("a message: {error}"));
        let everyone = self.all_gather(postcard::to_stdvec(&to).map_err(unreadable)?)?;
        let mine = everyone.iter().map(|bytes| -> Result<Vec<u8>> {
            let mut all: Vec<Vec<u8>> = postcard::from_bytes(bytes).map_err(unreadable)?;
            Ok(all.swap_remove(self.rank()))
        });
        mine.collect()
    }

    /// Many numbers, straight into place, where everyone knows how many: `to[rank]` of `mine` goes to each rank, and
    /// what they have for this one to `from[rank]` of `received`.
    fn all_to_all_v(
        &self,
        mine: &[f64],
        to: &[Range<usize>],
        received: &mut [f64],
        from: &[Range<usize>],
    ) -> Result<()> {
        let message =
            |range: &Range<usize>| mine[range.clone()].iter().flat_map(|number| number.to_le_bytes()).collect();
        for (rank, bytes) in self.all_to_all(to.iter().map(message).collect())?.iter().enumerate() {
            let place = &mut received[from[rank].clone()];
            if bytes.len() != 8 * place.len() {
                let message = format!("{} bytes instead of {} numbers", bytes.len(), place.len());
                return Err(Error::Worker { rank, message });
            }
            place.iter_mut().zip(bytes.as_chunks().0).for_each(|(number, bytes)| *number = f64::from_le_bytes(*bytes));
        }
        Ok(())
    }
}

/// Everyone's value to everyone, in the order of ranks. A worker that failed says so instead, and then all stop with
/// its message.
pub fn all_gather<T: Serialize + DeserializeOwned>(exchange: &dyn Exchange, mine: Result<T>) -> Result<Vec<T>> {
    if exchange.size() == 1 {
        return mine.map(|mine| vec![mine]);
    }
    let message: Result<&T, String> = mine.as_ref().map_err(Error::to_string);
    let bytes = postcard::to_stdvec(&message).map_err(|error| Error::Data(format!("a message: {error}")))?;
    let everyone = exchange.all_gather(bytes)?;
    mine?;
    let read = everyone.iter().enumerate().map(|(rank, bytes)| {
        let message: Result<T, String> =
            postcard::from_bytes(bytes).unwrap_or_else(|error| Err(format!("unreadable message: {error}")));
        message.map_err(|message| Error::Worker { rank, message })
    });
    read.collect()
}

/// Gives `to[rank]` to each rank, and what everyone has for this one, in the order of ranks.
pub fn all_to_all<T: Serialize + DeserializeOwned>(exchange: &dyn Exchange, mut to: Vec<T>) -> Result<Vec<T>> {
    let unreadable = |error: postcard::Error| Error::Data(format!("a message: {error}"));
    // What stays here is not packed.
    let pack = |(rank, value)| if rank == exchange.rank() { Ok(Vec::new()) } else { postcard::to_stdvec(value) };
    let messages = to.iter().enumerate().map(pack).collect::<Result<_, _>>().map_err(unreadable)?;
    let mut mine = Some(to.swap_remove(exchange.rank()));
    let received = exchange.all_to_all(messages)?;
    let read = received.iter().enumerate().map(|(rank, bytes)| match mine.take_if(|_| rank == exchange.rank()) {
        Some(mine) => Ok(mine),
        None => postcard::from_bytes(bytes).map_err(unreadable),
    });
    read.collect()
}

/// No other workers.
pub struct Alone;

impl Exchange for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn all_gather(&self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        Ok(vec![mine])
    }
}

/// Workers as threads of this process, to check what holds between machines. Returns each worker's result.
pub fn workers<R: Send>(count: usize, work: impl Fn(Arc<dyn Exchange>) -> R + Sync) -> Vec<R> {
    let table = Arc::new(Table { state: Mutex::new(Round::new(count)), changed: Condvar::new(), count });
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..count)
            .map(|rank| {
                let seat = Seat { rank, table: table.clone() };
                let work = &work;
                scope.spawn(move || work(Arc::new(seat)))
            })
            .collect();
        handles.into_iter().map(|handle| handle.join().expect("a worker panicked")).collect()
    })
}

impl Exchange for Arc<dyn Exchange> {
    fn rank(&self) -> usize {
        (**self).rank()
    }

    fn size(&self) -> usize {
        (**self).size()
    }

    fn all_gather(&self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        (**self).all_gather(mine)
    }

    fn all_to_all(&self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        (**self).all_to_all(to)
    }

    fn all_to_all_v(
        &self,
        mine: &[f64],
        to: &[Range<usize>],
        received: &mut [f64],
        from: &[Range<usize>],
    ) -> Result<()> {
        (**self).all_to_all_v(mine, to, received, from)
    }
}

struct Table {
    state: Mutex<Round>,
    changed: Condvar,
    count: usize,
}

/// Everyone puts, everyone takes, and only then the next round begins. A worker that leaves early is noticed.
struct Round {
    put: Vec<Option<Vec<u8>>>,
    taken: usize,
    left: Option<usize>,
}

impl Round {
    fn new(count: usize) -> Self {
        Round { put: vec![None; count], taken: 0, left: None }
    }
}

struct Seat {
    rank: usize,
    table: Arc<Table>,
}

impl Exchange for Seat {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.table.count
    }

    fn all_gather(&self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        let wait = |state, until: &dyn Fn(&Round) -> bool| {
            let waited =
                self.table.changed.wait_while(state, |round: &mut Round| !until(round) && round.left.is_none());
            waited.unwrap_or_else(PoisonError::into_inner)
        };
        let mut state = self.table.state.lock().unwrap_or_else(PoisonError::into_inner);
        state = wait(state, &|round| round.put[self.rank].is_none());
        state.put[self.rank] = Some(mine);
        self.table.changed.notify_all();
        state = wait(state, &|round| round.put.iter().all(Option::is_some));
        if let (Some(rank), false) = (state.left, state.put.iter().all(Option::is_some)) {
            return Err(Error::Worker { rank, message: "stopped before the others".into() });
        }
        let all = state.put.iter().flatten().cloned().collect();
        state.taken += 1;
        if state.taken == self.table.count {
            state.put.fill(None);
            state.taken = 0;
            self.table.changed.notify_all();
        }
        Ok(all)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.table.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.left.get_or_insert(self.rank);
        self.table.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_to_their_places() {
        let number = |from: usize, to: usize, i: usize| (100 * from + 10 * to + i) as f64;
        workers(3, |exchange| {
            let me = exchange.rank();
            // Rank r has r + to numbers for rank `to`; they need not stand one after the other.
            let mine: Vec<f64> = (0..3).rev().flat_map(|to| (0..me + to).map(move |i| number(me, to, i))).collect();
            let (mut to, mut end) = (vec![], mine.len());
            for rank in 0..3 {
                to.push(end - (me + rank)..end);
                end -= me + rank;
            }
            let expected: Vec<f64> = (0..3).flat_map(|from| (0..from + me).map(move |i| number(from, me, i))).collect();
            let from = [0..me, me..2 * me + 1, 2 * me + 1..3 * me + 3];
            let mut received = vec![f64::NAN; expected.len()];
            exchange.all_to_all_v(&mine, &to, &mut received, &from).unwrap();
            assert_eq!(received, expected);
            let one = std::array::from_fn::<_, 3, _>(|rank| rank..rank + 1);
            assert!(exchange.all_to_all_v(&mine, &to, &mut [0.0; 3], &one).is_err());
        });
    }

    #[test]
    fn everyone_gets_what_is_meant_for_them() {
        let received = workers(3, |exchange| {
            let to = (0..3).map(|to| vec![exchange.rank() as u8; to + exchange.rank()]).collect();
            exchange.all_to_all(to).unwrap()
        });
        for (rank, received) in received.iter().enumerate() {
            let expected: Vec<Vec<u8>> = (0..3).map(|from| vec![from as u8; rank + from]).collect();
            assert_eq!(*received, expected);
        }
    }

    #[test]
    fn values_are_dealt_like_bytes() {
        let received = workers(3, |exchange| {
            let mine = exchange.rank();
            all_to_all(&exchange, (0..3).map(|to| (mine, vec![0.5; to + 1])).collect()).unwrap()
        });
        for (rank, received) in received.into_iter().enumerate() {
            assert_eq!(received, (0..3).map(|from| (from, vec![0.5; rank + 1])).collect::<Vec<_>>());
        }
    }

    #[test]
    fn one_failure_is_everyones() {
        let outcomes = workers(3, |exchange| {
            let mine = if exchange.rank() == 1 { Err(Error::Data("no rows".into())) } else { Ok(exchange.rank()) };
            (all_gather(&exchange, mine), all_gather(&exchange, Ok(exchange.rank())))
        });
        for (rank, (failed, again)) in outcomes.into_iter().enumerate() {
            let expected = if rank == 1 { "no rows" } else { "worker 1: no rows" };
            assert_eq!(failed.unwrap_err().to_string(), expected);
            assert_eq!(again, Ok(vec![0, 1, 2]));
        }
    }
}
