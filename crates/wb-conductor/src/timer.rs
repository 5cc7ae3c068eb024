//! A time limit that works inside and outside of a tokio runtime.

use std::future::Future;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use futures::channel::oneshot;
use futures::future::{Either, select};

/// Waits for a future no longer than the limit; `None` where the limit came first.
///
/// Inside a tokio runtime its clock is used, which must be enabled as it is in `#[tokio::main]`; outside of one a
/// thread that sleeps, and that ends with the future.
pub(crate) async fn within<T>(limit: Option<Duration>, future: impl Future<Output = T>) -> Option<T> {
    let Some(limit) = limit else { return Some(future.await) };
    if tokio::runtime::Handle::try_current().is_ok() {
        return tokio::time::timeout(limit, future).await.ok();
    }
    let (alarm, _guard) = thread_alarm(limit);
    match select(Box::pin(future), alarm).await {
        Either::Left((value, _)) => Some(value),
        Either::Right(_) => None,
    }
}

fn thread_alarm(limit: Duration) -> (oneshot::Receiver<()>, mpsc::Sender<()>) {
    let (ring, alarm) = oneshot::channel();
    let (guard, released) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        if released.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            // Nobody may be waiting any more.
            let _ = ring.send(());
        }
    });
    (alarm, guard)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::executor::block_on;
    use futures::future::{pending, ready};

    #[test]
    fn outside_of_a_runtime_a_hanging_future_ends_at_the_limit() {
        assert_eq!(block_on(within(Some(Duration::from_millis(5)), pending::<()>())), None);
        assert_eq!(block_on(within(Some(Duration::from_secs(60)), ready(7))), Some(7));
        assert_eq!(block_on(within(None, ready(7))), Some(7));
    }

    #[tokio::test(start_paused = true)]
    async fn inside_a_runtime_its_own_clock_is_used() {
        assert_eq!(within(Some(Duration::from_secs(3600)), pending::<()>()).await, None);
    }
}
