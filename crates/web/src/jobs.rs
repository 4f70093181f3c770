//! A bounded queue between requests and the threads that compute. A thread takes what is waiting as one batch: alone
//! a request
//! does not wait for others, and under load many are computed together.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

pub struct Queue<J> {
    state: Mutex<State<J>>,
    ready: Condvar,
    most: usize,
}

struct State<J> {
    waiting: VecDeque<J>,
    closed: bool,
}

impl<J> Queue<J> {
    /// At most so many jobs wait.
    pub fn new(most: usize) -> Queue<J> {
        Queue { state: Mutex::new(State { waiting: VecDeque::new(), closed: false }), ready: Condvar::new(), most }
    }

    fn state(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a job at the end, or gives it back because there are too many.
    pub fn push(&self, job: J) -> Result<(), J> {
        let mut state = self.state();
        if state.closed || state.waiting.len() >= self.most {
            return Err(job);
        }
        state.waiting.push_back(job);
        drop(state);
        self.ready.notify_one();
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.state().waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits for a job and takes it with those behind it, as long as `joins` says that they belong together. None at
    /// the end.
    pub fn take(&self, most: usize, joins: impl Fn(&J, &J) -> bool) -> Vec<J> {
        let mut state = self.state();
        loop {
            if let Some(first) = state.waiting.pop_front() {
                let mut batch = vec![first];
                while batch.len() < most && state.waiting.front().is_some_and(|next| joins(&batch[0], next)) {
                    batch.extend(state.waiting.pop_front());
                }
                return batch;
            }
            if state.closed {
                return Vec::new();
            }
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// No more jobs; those that wait are still done.
    pub fn close(&self) {
        self.state().closed = true;
        self.ready.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_queues_refuse_and_batches_keep_their_order() {
        let queue = Queue::new(4);
        for job in [1, 1, 2, 1] {
            queue.push(job).unwrap();
        }
        assert_eq!(queue.push(9), Err(9));
        assert_eq!(queue.take(10, |a, b| a == b), [1, 1]);
        assert_eq!(queue.take(10, |a, b| a == b), [2]);
        queue.close();
        assert_eq!(queue.push(9), Err(9));
        assert_eq!(queue.take(10, |a, b| a == b), [1]);
        assert!(queue.take(10, |a, b| a == b).is_empty());
    }
}
