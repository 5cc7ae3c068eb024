//! The runtime of a connection, which runs in the thread that waits for an answer: a thread of its
//! own would be woken twice for each statement.

use std::future::Future;
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};

use super::fault::Fault;

/// Runs connections while somebody waits for them.
#[derive(Debug)]
pub(super) struct ConnectionRuntime(Option<Runtime>);

impl ConnectionRuntime {
    pub(super) fn new() -> Result<Self, Fault> {
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime.map(|it| Self(Some(it))).map_err(|error| Fault::Lost(format!("no runtime for it: {error}")))
    }

    /// Runs work to its end, for a limited time.
    pub(super) fn run<T: Send>(
        &self,
        within: Duration,
        work: impl Future<Output = Result<T, Fault>> + Send,
    ) -> Result<T, Fault> {
        let Some(runtime) = &self.0 else { return Err(Fault::silent(within)) };
        let limited =
            async { tokio::time::timeout(within, work).await.unwrap_or_else(|_| Err(Fault::silent(within))) };
        if Handle::try_current().is_err() {
            return runtime.block_on(limited);
        }
        // A task of another runtime may not wait for this one, but another thread may.
        thread::scope(|scope| scope.spawn(|| runtime.block_on(limited)).join())
            .unwrap_or_else(|_| Err(Fault::Lost("its thread ended".to_owned())))
    }
}

impl Drop for ConnectionRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // It may be dropped within a task of another runtime.
            runtime.shutdown_background();
        }
    }
}
