//! What failed and was not seen to work since.

use serde::{Deserialize, Serialize};
use wb_message::text::{head, one_line};

/// Failures that are kept, the newest ones.
const MOST_FAILURES: usize = 12;
/// Lines that say why, and the bytes of one.
const MOST_LINES: usize = 3;
const LINE_BYTES: usize = 240;
/// Characters of what failed.
const WHAT_CHARS: usize = 100;

/// Something that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What the same thing is known by when it is tried again; where that is not certain, either of two.
    pub subjects: [u64; 2],
    /// What failed, and on which file.
    pub what: String,
    /// The lines that say why.
    pub lines: Vec<String>,
    /// The number of the message that shows it.
    pub at: u32,
}

/// What failed and was not seen to work since, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Failures {
    open: Vec<Failure>,
}

impl Failures {
    /// Returns what failed, the newest first.
    pub fn newest(&self) -> impl Iterator<Item = &Failure> {
        self.open.iter().rev()
    }

    /// Notes a failure; of the same thing the last one counts. One that nothing tells of is none.
    pub(crate) fn failed<'a>(
        &mut self,
        subjects: [u64; 2],
        what: &str,
        lines: impl IntoIterator<Item = &'a str>,
        at: u32,
    ) {
        for subject in subjects {
            self.worked(subject);
        }
        let lines: Vec<_> =
            lines.into_iter().take(MOST_LINES).map(|line| head(line.trim(), LINE_BYTES).to_owned()).collect();
        if lines.is_empty() {
            return;
        }
        if self.open.len() == MOST_FAILURES {
            self.open.remove(0);
        }
        self.open.push(Failure { subjects, what: one_line(what, WHAT_CHARS), lines, at });
    }

    /// Notes that something worked: a failure of the same is settled.
    pub(crate) fn worked(&mut self, subject: u64) {
        self.open.retain(|known| !known.subjects.contains(&subject));
    }
}
