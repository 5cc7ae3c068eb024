//! [`BackgroundTask`] asks for a digest while turns go on; dropping it cancels the request.

use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::ready::Ready;

/// A digest that a model is asked for while turns go on.
#[derive(Debug)]
pub(crate) struct BackgroundTask {
    running: JoinHandle<Ready>,
    /// The result, after a caller waited for it.
    ready: Option<Ready>,
    cancel: CancellationToken,
}

impl BackgroundTask {
    /// Starts a request on a runtime; `cancel` is the token that cancels it.
    pub(crate) fn spawn(
        runtime: &Handle,
        reply: impl Future<Output = Ready> + Send + 'static,
        cancel: CancellationToken,
    ) -> Self {
        Self { running: runtime.spawn(reply), ready: None, cancel }
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.ready.is_some() || self.running.is_finished()
    }

    /// Waits until the request is finished.
    pub(crate) async fn wait(&mut self) {
        if !self.is_finished() {
            self.ready = (&mut self.running).await.ok();
        }
    }

    /// Returns the result of a finished request; `None` if it panicked.
    pub(crate) fn into_ready(mut self) -> Option<Ready> {
        // Unconstrained, because a caller that used up its share of time would get no result yet.
        let ready = self
            .ready
            .take()
            .or_else(|| tokio::task::unconstrained(&mut self.running).now_or_never().and_then(Result::ok));
        // The drop must not cancel the result.
        self.cancel = CancellationToken::new();
        ready
    }
}

impl Drop for BackgroundTask {
    fn drop(&mut self) {
        self.cancel.cancel();
        self.running.abort();
    }
}
