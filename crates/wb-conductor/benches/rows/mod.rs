//! What is measured: one row for each stage, each beside the limit that it is held against in the same run.

mod budget;
mod compact;
mod pipeline;

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

use wb_message::Message;
use wb_testkit::workload::{Script, transcript};

/// Does something so many times and tells how long that took, preparations left out.
pub(crate) type Sample<'a> = Box<dyn FnMut(u64) -> Duration + 'a>;

/// A target: the letter under which it was set, and the most that the row may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Target {
    pub(crate) letter: char,
    pub(crate) most: Most,
}

/// The most that a row may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Most {
    /// So many times its limit.
    Times(f64),
    /// So many milliseconds, whatever its limit takes.
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

/// One measured thing beside its limit.
pub(crate) struct Row<'a> {
    pub(crate) what: &'static str,
    pub(crate) limit_is: &'static str,
    pub(crate) target: Option<Target>,
    pub(crate) subject: Sample<'a>,
    pub(crate) limit: Sample<'a>,
}

/// A transcript that everything of one size is measured on.
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

/// Measures work that can be repeated as it is.
fn repeated<'a, T>(mut work: impl FnMut() -> T + 'a) -> Sample<'a> {
    Box::new(move |n| {
        let start = now();
        for _ in 0..n {
            black_box(work());
        }
        start.elapsed()
    })
}

/// Measures work that has to be taken back before it can be repeated.
fn taken_back<'a, S: 'a, T>(
    mut state: S,
    mut work: impl FnMut(&mut S) -> T + 'a,
    mut take_back: impl FnMut(&mut S, T) + 'a,
) -> Sample<'a> {
    Box::new(move |n| {
        let mut spent = Duration::ZERO;
        for _ in 0..n {
            let start = now();
            let done = black_box(work(&mut state));
            spent += start.elapsed();
            take_back(&mut state, done);
        }
        spent
    })
}

/// Counts line ends: every byte is read, and little else is done.
fn read_all(bed: &Bed) -> Sample<'_> {
    let strings = wb_testkit::workload::strings(&bed.messages);
    repeated(move || strings.iter().map(|text| bytecount::count(text.as_bytes(), b'\n')).sum::<usize>())
}
