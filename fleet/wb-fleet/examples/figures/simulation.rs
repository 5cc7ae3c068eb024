//! A petabyte on more cores than were measured.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::overhead::Overheads;
use crate::sessions::Chance;

/// US dollars for an hour of a core.
pub(crate) const CORE_HOUR: f64 = 0.04;
/// The MB of JSON in a file, which is a task.
pub(crate) const FILE_MB: f64 = 128.0;
/// The MB of the petabyte.
pub(crate) const PETABYTE_MB: f64 = 1e9;

/// A job on some cores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Simulated {
    pub(crate) cores: usize,
    /// From the start to the end.
    pub(crate) hours: f64,
    /// The share of the core time in which nothing is analyzed.
    pub(crate) overhead: f64,
    pub(crate) dollars: f64,
    /// The JSON that the storage delivers, in MB a second.
    pub(crate) mb_per_second: f64,
}

/// Gives each file to the next core that is free. The throughput of a file is one of those that
/// were measured; a task has the overhead of Spark.
pub(crate) fn simulate(mb: f64, cores: usize, speeds: &[f64], overheads: &Overheads) -> Simulated {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of files")]
    let n_files = (mb / FILE_MB).ceil() as usize;
    let mut chance = Chance::new(42);
    let mut free: BinaryHeap<Reverse<u64>> = (0..cores).map(|_| Reverse(0)).collect();
    let mut analyzing = 0.0;
    for _ in 0..n_files {
        let seconds = FILE_MB / speeds[chance.next(speeds.len())];
        analyzing += seconds;
        let Reverse(start) = free.pop().unwrap_or(Reverse(0));
        free.push(Reverse(start + microseconds(seconds + overheads.spark_task + overheads.file)));
    }
    let last = free.into_iter().map(|Reverse(end)| end).max().unwrap_or(0) as f64 / 1e6;
    let seconds = last + overheads.spark_start;
    let core_seconds = seconds * cores as f64;
    Simulated {
        cores,
        hours: seconds / 3600.0,
        overhead: 1.0 - analyzing / core_seconds,
        dollars: core_seconds / 3600.0 * CORE_HOUR,
        mb_per_second: mb / seconds,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time")]
fn microseconds(seconds: f64) -> u64 {
    (seconds * 1e6) as u64
}
