//! The other processes of this run, when `mpirun` (or Slurm, or a Kubernetes operator) has started several:
//! [`Exchange`](ermine::core::ctx::Exchange) over MPI.
//!
//! Everyone runs the same program on its own rows and meets the others in collective calls, so all must make the same
//! calls in the same order. A worker that fails leaves that order. Therefore every call begins with a word of each
//! worker: "going on", or "leaving" with the reason; whoever hears the latter stops with that reason, and nobody waits
//! for somebody who is gone. A process that is killed cannot say anything: then MPI ends the others, and since files
//! are written under another name and renamed, none is left half-written.
//!
//! Without the feature `mpi` there is only one process, and the program needs no MPI.

use crate::Failure;
use ermine::{Ctx, Error, Result};

#[cfg(not(feature = "mpi"))]
pub struct Workers;

#[cfg(not(feature = "mpi"))]
impl Workers {
    /// Several processes that do not know of each other would each fit the whole and write the same file.
    pub fn start() -> Result<Workers> {
        let count = |name: &&str| std::env::var(name).ok()?.parse::<usize>().ok();
        match ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"].iter().find_map(count) {
            Some(count) if count > 1 => Err(Error::Unsupported(format!(
                "{count} processes were started, but this program was built without MPI"
            ))
            .hint("build it with 'cargo build --release --features mpi'")),
            _ => Ok(Workers),
        }
    }

    pub fn rank(&self) -> usize {
        0
    }

    pub fn count(&self) -> usize {
        1
    }

    pub fn threads(&self) -> Option<usize> {
        None
    }

    pub fn guard(&self, work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        work()
    }

    pub fn run<R>(&self, ctx: Ctx, work: impl FnOnce(Ctx) -> Result<R>) -> Result<R> {
        work(ctx)
    }

    pub fn talk(&self) -> Option<String> {
        None
    }
}

#[cfg(feature = "mpi")]
pub use with_mpi::Workers;

#[cfg(feature = "mpi")]
mod with_mpi {
    use super::*;
    use ermine::core::ctx::Exchange;
    use mpi::{
        Count, Threading,
        datatype::{Partition, PartitionMut},
        environment::Universe,
        topology::SimpleCommunicator,
        traits::*,
    };
    use std::{
        ops::Range,
        panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
        sync::{Arc, Mutex, PoisonError},
        time::{Duration, Instant},
    };

    /// Bytes that all workers together bring to one call: MPI counts in 31 bits.
    const ROUND: usize = 1 << 30;

    pub struct Workers {
        meeting: Option<Arc<Meeting>>,
        /// MPI ends when this is dropped.
        _universe: Option<Universe>,
    }

    impl Workers {
        /// MPI is started only under a launcher, so that the program is an ordinary one otherwise.
        pub fn start() -> Result<Workers> {
            let launchers = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"];
            if launchers.iter().all(|name| std::env::var_os(name).is_none()) {
                return Ok(Workers { meeting: None, _universe: None });
            }
            // A fit runs in a pool of threads, and whichever of them is at the end of a pass talks to the others: one
            // at a time, which a lock sees to, but not always the same.
            let wanted = Threading::Serialized;
            let refused = || {
                Error::Unsupported(
                    "this MPI library does not support calls from several threads (MPI_THREAD_SERIALIZED)".into(),
                )
            };
            let (universe, given) = mpi::initialize_with_threading(wanted).ok_or_else(refused)?;
            if given < wanted {
                return Err(refused());
            }
            let world = universe.world();
            let (rank, size) = (world.rank() as usize, world.size() as usize);
            let meeting =
                (size > 1).then(|| Arc::new(Meeting { rank, size, over: Mutex::new(false), spent: Mutex::default() }));
            Ok(Workers { meeting, _universe: Some(universe) })
        }

        pub fn rank(&self) -> usize {
            self.meeting.as_ref().map_or(0, |meeting| meeting.rank)
        }

        pub fn count(&self) -> usize {
            self.meeting.as_ref().map_or(1, |meeting| meeting.size)
        }

        /// Processes that may use all cores of a machine share them; those that were bound to some keep these.
        pub fn threads(&self) -> Option<usize> {
            self.meeting.as_ref()?;
            let here = SimpleCommunicator::world().split_shared(0).size() as usize;
            let mine = std::thread::available_parallelism().map_or(1, |cores| cores.get());
            let bound = std::fs::read_to_string("/sys/devices/system/cpu/online").is_ok_and(|text| cores(&text) > mine);
            Some(if bound { mine } else { (mine / here).max(1) })
        }

        /// A bug in one process must not leave the others waiting.
        pub fn guard(&self, work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
            catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
                if self.meeting.is_some() {
                    SimpleCommunicator::world().abort(101);
                }
                resume_unwind(panic)
            })
        }

        /// Runs `work` with the others. It has succeeded when it has for all of them.
        pub fn run<R>(&self, ctx: Ctx, work: impl FnOnce(Ctx) -> Result<R>) -> Result<R> {
            let Some(meeting) = &self.meeting else { return work(ctx) };
            let outcome = work(ctx.with_exchange(meeting.clone() as Arc<dyn Exchange>));
            let reason = outcome.as_ref().err().map(Error::to_string);
            let heard = meeting.leave(reason.as_deref());
            outcome.and_then(|result| heard.map(|()| result))
        }

        /// What it took to be several: for whoever wonders whether more of them would help.
        pub fn talk(&self) -> Option<String> {
            let Meeting { size, spent, .. } = &**self.meeting.as_ref()?;
            let spent = spent.lock().unwrap_or_else(PoisonError::into_inner);
            let (megabytes, seconds) = (spent.bytes as f64 / 1e6, spent.time.as_secs_f64());
            Some(format!(
                "{size} workers, {} collective calls: {megabytes:.1} MB received, {seconds:.2} s of communication",
                spent.calls
            ))
        }
    }

    /// Cores in a list such as `0-3,8-11`.
    fn cores(list: &str) -> usize {
        let count = |range: &str| -> Option<usize> {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some(last.trim().parse::<usize>().ok()? + 1 - first.trim().parse::<usize>().ok()?)
        };
        list.split(',').filter_map(count).sum()
    }

    /// What a worker says before each call.
    const GOING_ON: u64 = 0;
    const DONE: u64 = 1;
    const FAILED: u64 = 2;

    struct Meeting {
        rank: usize,
        size: usize,
        /// Somebody has left. The lock also keeps the calls of this process apart.
        over: Mutex<bool>,
        spent: Mutex<Spent>,
    }

    #[derive(Default)]
    struct Spent {
        calls: usize,
        bytes: usize,
        time: Duration,
    }

    impl Meeting {
        /// Everyone's word and the length of what they bring. If somebody leaves, the call does not take place.
        fn open(&self, over: &mut bool, word: u64, length: usize, reason: &str) -> Result<Vec<usize>> {
            if *over {
                return Err(Error::Cancelled);
            }
            let mut words = vec![0u64; 2 * self.size];
            SimpleCommunicator::world().all_gather_into(&[word, length as u64][..], &mut words[..]);
            let word_of = |rank: usize| words[2 * rank];
            if (0..self.size).any(|rank| word_of(rank) != GOING_ON) {
                *over = true;
                let lengths: Vec<usize> = (0..self.size)
                    .map(|rank| if word_of(rank) == FAILED { words[2 * rank + 1] as usize } else { 0 })
                    .collect();
                let reasons = gather(if word == FAILED { reason.as_bytes() } else { &[] }, &lengths);
                if let Some(rank) = (0..self.size).find(|&rank| word_of(rank) == FAILED) {
                    let message = String::from_utf8_lossy(&reasons[rank]).into_owned();
                    return Err(Error::Worker { rank, message });
                }
                if let (true, Some(rank)) = (word == GOING_ON, (0..self.size).find(|&rank| word_of(rank) == DONE)) {
                    return Err(Error::Worker { rank, message: "stopped before the others".into() });
                }
            }
            Ok((0..self.size).map(|rank| words[2 * rank + 1] as usize).collect())
        }

        /// Counts a call in which so many bytes came from each rank.
        fn note(&self, begin: Instant, bytes: impl IntoIterator<Item = usize>) {
            let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
            spent.calls += 1;
            let others = bytes.into_iter().enumerate().filter(|(rank, _)| *rank != self.rank);
            spent.bytes += others.map(|(_, bytes)| bytes).sum::<usize>();
            spent.time += begin.elapsed();
        }

        /// The last word of this worker. Says whether all have come to a good end.
        fn leave(&self, reason: Option<&str>) -> Result<()> {
            let mut over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
            if *over {
                return Ok(());
            }
            match reason {
                None => self.open(&mut over, DONE, 0, "").map(drop),
                Some(reason) => self.open(&mut over, FAILED, reason.len(), reason).map(drop),
            }
        }
    }

    impl Exchange for Meeting {
        fn rank(&self) -> usize {
            self.rank
        }

        fn size(&self) -> usize {
            self.size
        }

        fn all_gather(&self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>> {
            let (begin, mut over) = (Instant::now(), self.over.lock().unwrap_or_else(PoisonError::into_inner));
            let lengths = self.open(&mut over, GOING_ON, mine.len(), "")?;
            let all = gather(&mine, &lengths);
            self.note(begin, all.iter().map(Vec::len));
            Ok(all)
        }

        fn all_to_all(&self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
            let (begin, mut over) = (Instant::now(), self.over.lock().unwrap_or_else(PoisonError::into_inner));
            let most = self.open(&mut over, GOING_ON, to.iter().map(Vec::len).sum(), "")?;
            if most.iter().any(|&length| length > ROUND) {
                let problem =
                    format!("a message of {} bytes; MPI takes {ROUND} at most", most.iter().max().unwrap_or(&0));
                return Err(Error::Unsupported(problem));
            }
            let world = SimpleCommunicator::world();
            let counts: Vec<Count> = to.iter().map(|bytes| bytes.len() as Count).collect();
            let mut theirs: Vec<Count> = vec![0; self.size];
            world.all_to_all_into(&counts[..], &mut theirs[..]);
            let mut received = space(&theirs);
            let mut sent = to.concat();
            let bytes = sent.len();
            sent.push(0);
            let (send_starts, receive_starts) = (starts(&counts), starts(&theirs));
            world.all_to_all_varcount_into(
                &Partition::new(&sent[..bytes], counts, send_starts),
                &mut PartitionMut::new(&mut received[..], &theirs[..], &receive_starts[..]),
            );
            let all = split(&received, &theirs);
            self.note(begin, all.iter().map(Vec::len));
            Ok(all)
        }

        fn all_to_all_v(
            &self,
            mine: &[f64],
            to: &[Range<usize>],
            received: &mut [f64],
            from: &[Range<usize>],
        ) -> Result<()> {
            let (begin, mut over) = (Instant::now(), self.over.lock().unwrap_or_else(PoisonError::into_inner));
            let ((to_starts, to), (from_starts, here)) = (places(to)?, places(from)?);
            self.open(&mut over, GOING_ON, 0, "")?;
            SimpleCommunicator::world().all_to_all_varcount_into(
                &Partition::new(mine, to, to_starts),
                &mut PartitionMut::new(received, here, from_starts),
            );
            self.note(begin, from.iter().map(|range| 8 * range.len()));
            Ok(())
        }
    }

    /// Starts and lengths.
    fn places(ranges: &[Range<usize>]) -> Result<(Vec<Count>, Vec<Count>)> {
        if ranges.iter().any(|range| Count::try_from(range.end).is_err()) {
            return Err(Error::Unsupported(format!("a message of more than {} numbers over MPI", Count::MAX)));
        }
        Ok(ranges.iter().map(|range| (range.start as Count, range.len() as Count)).unzip())
    }

    /// Everyone's bytes, whose lengths are known, in as many rounds as it takes.
    fn gather(mine: &[u8], lengths: &[usize]) -> Vec<Vec<u8>> {
        let world = SimpleCommunicator::world();
        let most = ROUND / lengths.len();
        let mut all: Vec<Vec<u8>> = vec![Vec::new(); lengths.len()];
        for from in (0..lengths.iter().copied().max().unwrap_or(0)).step_by(most) {
            let counts: Vec<Count> =
                lengths.iter().map(|&length| length.saturating_sub(from).min(most) as Count).collect();
            let starts = starts(&counts);
            let mut received = space(&counts);
            let piece = match &mine[from.min(mine.len())..(from + most).min(mine.len())] {
                [] => &NOTHING[..0],
                piece => piece,
            };
            world.all_gather_varcount_into(piece, &mut PartitionMut::new(&mut received[..], &counts[..], &starts[..]));
            let pieces = split(&received, &counts);
            match from {
                0 => all = pieces,
                _ => all.iter_mut().zip(pieces).for_each(|(all, piece)| all.extend(piece)),
            }
        }
        all
    }

    /// Rust points to address 1 where there are no bytes, and to Open MPI that address means "send what is in the other
    /// buffer". So there is always a byte, which is not sent.
    const NOTHING: &[u8; 1] = &[0];

    fn space(counts: &[Count]) -> Vec<u8> {
        vec![0; counts.iter().map(|&count| count as usize).sum::<usize>() + 1]
    }

    fn starts(counts: &[Count]) -> Vec<Count> {
        let before = |start: &mut Count, count: &Count| {
            *start += count;
            Some(*start - count)
        };
        counts.iter().scan(0, before).collect()
    }

    fn split(bytes: &[u8], counts: &[Count]) -> Vec<Vec<u8>> {
        let mut rest = bytes;
        let take = |&count: &Count| {
            let (piece, tail) = rest.split_at(count as usize);
            rest = tail;
            piece.to_vec()
        };
        counts.iter().map(take).collect()
    }
}
