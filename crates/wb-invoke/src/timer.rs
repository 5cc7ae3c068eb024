//! A time limit that needs no runtime.

use std::future::Future;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use futures_channel::oneshot;
use futures_util::future::{Either, select};

/// The default time limit for one digest.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(2);

/// Waits for a future until the limit; returns `None` if the limit comes first.
///
/// The limit works under any executor: a thread sleeps until then, or until the future is done or
/// dropped.
pub async fn within<T>(limit: Option<Duration>, future: impl Future<Output = T>) -> Option<T> {
    let Some(limit) = limit else { return Some(future.await) };
    let (alarm, _guard) = alarm(limit);
    match select(Box::pin(future), alarm).await {
        Either::Left((value, _)) => Some(value),
        Either::Right(_) => None,
    }
}

/// Starts an alarm that rings after the limit, unless the returned sender is dropped before.
fn alarm(limit: Duration) -> (oneshot::Receiver<()>, mpsc::Sender<()>) {
    let (ring, alarm) = oneshot::channel();
    let (guard, released) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        if released.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            // The receiver may be gone.
            let _ = ring.send(());
        }
    });
    (alarm, guard)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::executor::block_on;
    use futures_util::future::{pending, ready};

    #[test]
    fn a_hanging_future_ends_at_the_limit_and_a_ready_one_at_once() {
        assert_eq!(block_on(within(Some(Duration::from_millis(5)), pending::<()>())), None);
        assert_eq!(block_on(within(Some(Duration::from_hours(1)), ready(7))), Some(7));
        assert_eq!(block_on(within(None, ready(7))), Some(7));
    }

    #[tokio::test]
    async fn the_limit_works_in_a_runtime_without_a_clock() {
        assert_eq!(within(Some(Duration::from_millis(5)), pending::<()>()).await, None);
    }
}
