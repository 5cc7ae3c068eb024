//! Reports of appends to readers. They follow a moment later and together, so that no append waits
//! for one: within the append, a report would put the commits of all sessions in a row.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, LazyLock, Weak};
use std::thread;
use std::time::Duration;

use super::connection::{Backend, notify};

/// The time between an append and its report, in which others are reported with it.
const DELAY: Duration = Duration::from_millis(5);
/// The longest time that a report takes; a reader that misses it looks by itself.
const WITHIN: Duration = Duration::from_secs(2);

/// A connection with appends to report, and their session.
type Report = (Weak<Backend>, i32);

static THREAD: LazyLock<Sender<Report>> = LazyLock::new(|| {
    let (send, due) = channel();
    // Without a thread nothing is reported, and readers look by themselves.
    let _ = thread::Builder::new().name("wb-postgres".to_owned()).spawn(move || report_all(&due));
    send
});

/// Has an append reported.
pub(super) fn notify_later(backend: &Arc<Backend>, session: i32) {
    if !backend.is_report_due.swap(true, Ordering::SeqCst) {
        let _ = THREAD.send((Arc::downgrade(backend), session));
    }
}

fn report_all(due: &Receiver<Report>) {
    while let Ok(first) = due.recv() {
        thread::sleep(DELAY);
        for (backend, session) in std::iter::once(first).chain(due.try_iter()) {
            if let Some(backend) = backend.upgrade() {
                report(&backend, session);
            }
        }
    }
}

/// Reports appends, if that was not done since.
fn report(backend: &Backend, session: i32) {
    if backend.is_report_due.swap(false, Ordering::SeqCst) {
        let _ = backend.runtime.run(WITHIN, notify(&backend.client, session));
    }
}
