//! The segments of a session in which the context only grew: a new one begins at a compaction, and
//! when results were cleared between two requests.

use std::ops::Range;

use super::assemble::{AssembledRequest, assemble};
use super::log::SessionLog;

/// Requests that were made while the context only grew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentRequests {
    /// The messages of the requests.
    pub(crate) counted: Range<usize>,
    /// The number of messages at its end.
    end: usize,
    /// The time of its end; results cleared later are not cleared in it.
    until: i64,
}

/// Returns the segments of what was sent between two compactions, in order.
pub(crate) fn segment_requests(log: &SessionLog, epoch: &Range<usize>) -> Vec<SegmentRequests> {
    let clearings = log.clearings(&log.live(epoch.end));
    let requests: Vec<usize> = epoch.clone().filter(|at| log.heads[*at].usage.is_some()).collect();
    let mut start = epoch.start;
    let mut all = Vec::new();
    for (at, request) in requests.iter().enumerate() {
        let (now, next) = (log.heads[*request].created, requests.get(at + 1));
        let until = next.map_or(i64::MAX, |next| log.heads[*next].created);
        let is_cleared = |(of, since): &(usize, i64)| of < request && now < *since && *since <= until;
        if clearings.iter().any(is_cleared) {
            let end = next.copied().unwrap_or(epoch.end);
            all.push(SegmentRequests { counted: start..end, end, until: now });
            start = end;
        }
    }
    all.push(SegmentRequests { counted: start..epoch.end, end: epoch.end, until: i64::MAX });
    all
}

impl SegmentRequests {
    /// Returns the messages as they were at its end, and the usage in it.
    pub(crate) fn assembled(&self, log: &SessionLog) -> AssembledRequest {
        assemble(log, &log.live(self.end), &self.counted, self.until)
    }
}
