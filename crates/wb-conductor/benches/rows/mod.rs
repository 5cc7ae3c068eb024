//! The measured rows: one for each stage, each with a limit that is measured in the same run.

mod budget;
mod compact;
mod pipeline;

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

use wb_message::Message;
use wb_testkit::workload::{Script, transcript};

/// Repeats an action `n` times and returns the time, without preparations.
pub(crate) type Sample<'a> = Box<dyn FnMut(u64) -> Duration + 'a>;

/// A target: its letter, and the most that the row may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Target {
    pub(crate) letter: char,
    pub(crate) most: Most,
}

/// The most that a row may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Most {
    /// A multiple of its limit.
    Times(f64),
    /// A number of milliseconds, whatever its limit takes.
    Millis(f64),
}

impl Target {
    pub(crate) fn times(letter: char, max_ratio: f64) -> Self {
        Self { letter, most: Most::Times(max_ratio) }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.most {
            Most::Times(ratio) => write!(f, "{}: ≤ {ratio:.2}", self.letter),
            Most::Millis(millis) => write!(f, "{}: ≤ {millis:.1} ms", self.letter),
        }
    }
}

/// One measured action and its limit.
pub(crate) struct Row<'a> {
    pub(crate) what: &'static str,
    pub(crate) limit_is: &'static str,
    pub(crate) target: Option<Target>,
    pub(crate) subject: Sample<'a>,
    pub(crate) limit: Sample<'a>,
}

/// The transcript for all rows of one size.
#[derive(Debug)]
pub(crate) struct Bed {
    pub(crate) n_messages: usize,
    pub(crate) script: Script,
    pub(crate) messages: Vec<Message>,
}

impl Bed {
    pub(crate) fn new(n_messages: usize, script: Script) -> Self {
        Self { n_messages, script, messages: transcript(n_messages, script) }
    }

    /// Calls `visit` with every row, one after the other so that only one holds its buffers.
    pub(crate) fn each_row(&self, visit: &mut dyn FnMut(Row<'_>)) {
        for row in budget::ROWS.iter().chain(&pipeline::ROWS).chain(&compact::ROWS) {
            visit(row(self));
        }
    }
}

/// Builds a row over a transcript.
type Build = fn(&Bed) -> Row<'_>;

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> Instant {
    Instant::now()
}

/// Measures work that can be repeated unchanged.
fn repeated<'a, T>(mut work: impl FnMut() -> T + 'a) -> Sample<'a> {
    Box::new(move |n| {
        let start = now();
        for _ in 0..n {
            black_box(work());
        }
        start.elapsed()
    })
}

/// Measures work that must be reverted before it can be repeated.
fn reverted<'a, S: 'a, T>(
    mut state: S,
    mut work: impl FnMut(&mut S) -> T + 'a,
    mut revert: impl FnMut(&mut S, T) + 'a,
) -> Sample<'a> {
    Box::new(move |n| {
        let mut spent = Duration::ZERO;
        for _ in 0..n {
            let start = now();
            let done = black_box(work(&mut state));
            spent += start.elapsed();
            revert(&mut state, done);
        }
        spent
    })
}

/// Counts line ends: every byte is read, and little else is done.
fn read_all(bed: &Bed) -> Sample<'_> {
    let strings = wb_testkit::workload::strings(&bed.messages);
    repeated(move || strings.iter().map(|text| bytecount::count(text.as_bytes(), b'\n')).sum::<usize>())
}
