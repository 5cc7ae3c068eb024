//! The thread that runs all connections, so that a store can be used from sync and async code.

use std::future::Future;
use std::io;
use std::sync::{LazyLock, mpsc};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};

use super::fault::Fault;

static RUNTIME: LazyLock<io::Result<Handle>> = LazyLock::new(|| {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let run = move || runtime.block_on(std::future::pending::<()>());
    thread::Builder::new().name("wb-postgres".to_owned()).spawn(run)?;
    Ok(handle)
});

pub(super) fn runtime() -> Result<&'static Handle, Fault> {
    RUNTIME.as_ref().map_err(|error| Fault::Lost(format!("no thread for it: {error}")))
}

/// Runs work in the background and waits for its end, for a limited time.
pub(super) fn run<T: Send + 'static>(
    within: Duration,
    work: impl Future<Output = Result<T, Fault>> + Send + 'static,
) -> Result<T, Fault> {
    let (send, receive) = mpsc::sync_channel(1);
    runtime()?.spawn(async move {
        let done = tokio::time::timeout(within, work).await;
        let _ = send.send(done.unwrap_or_else(|_| Err(Fault::silent(within))));
    });
    receive.recv().unwrap_or_else(|_| Err(Fault::Lost("its thread ended".to_owned())))
}
