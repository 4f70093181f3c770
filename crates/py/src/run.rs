//! Work without the interpreter lock, and Ctrl-C.

use ermine::{Cancel, Ctx};
use pyo3::{exceptions::PyRuntimeError, prelude::*};
use std::{
    panic::resume_unwind,
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

/// How often the waiting thread looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// Trees grow by recursion; threads of their own start with little room.
const STACK: usize = 16 << 20;

/// Runs `work` on another thread. Python's signals are handled on this one: an interrupt cancels the work, waits until
/// it has stopped (the data is borrowed) and is then raised.
pub fn apart<R: Send>(py: Python, ctx: Ctx, work: impl FnOnce(&Ctx) -> R + Send) -> PyResult<R> {
    let cancel = Cancel::default();
    let ctx = ctx.with_cancel(cancel.clone());
    py.detach(|| {
        thread::scope(|scope| {
            let (working, finished) = channel::<()>();
            let work = || {
                let result = work(&ctx);
                drop(working);
                result
            };
            let started = thread::Builder::new().name("ermine".into()).stack_size(STACK).spawn_scoped(scope, work);
            let thread = started.map_err(|error| PyRuntimeError::new_err(format!("cannot start a thread: {error}")))?;
            let mut interrupt = Ok(());
            while finished.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if interrupt.is_ok() {
                    interrupt = Python::attach(|py| py.check_signals());
                    if interrupt.is_err() {
                        cancel.cancel();
                    }
                }
            }
            let result = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            interrupt.map(|()| result)
        })
    })
}
