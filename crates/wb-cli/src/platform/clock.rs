//! The time in the format of sessions, and ids based on it.

use std::time::{SystemTime, UNIX_EPOCH};

use wb_record::Stamp;
use wb_session::IdSource;

/// Returns a time in milliseconds since the Unix epoch.
pub(crate) fn unix_ms(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the stamp of an operation requested now.
pub(crate) fn stamp() -> Stamp {
    let now = SystemTime::now();
    Stamp { now_ms: unix_ms(now), seed: seed(now), by_hand: true, ..Stamp::default() }
}

/// Returns ids that another run does not make.
pub(crate) fn ids() -> IdSource {
    IdSource::new(seed(SystemTime::now()))
}

/// Returns a number that another run does not get, now.
pub(crate) fn new_seed() -> u64 {
    seed(SystemTime::now())
}

/// Returns a number that another run does not get.
fn seed(now: SystemTime) -> u64 {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanos = since.as_secs().wrapping_mul(1_000_000_000).wrapping_add(u64::from(since.subsec_nanos()));
    nanos ^ u64::from(std::process::id()).rotate_right(16)
}
