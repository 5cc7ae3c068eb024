//! The lines of a turn about its commands and the remarks between them.

use wb_digest::labels::{ARROW, COMMAND, PROGRESS};
use wb_digest::{quote_behind_label, quote_in_line};
use wb_facts::{Noted, Run};

/// Characters of any other line.
pub(crate) const LINE_CHARS: usize = 200;

/// A line of a turn, in addition to its files and its reply.
pub(crate) enum Step<'a> {
    Run(&'a Run),
    Note(&'a Noted),
}

impl Step<'_> {
    pub(crate) fn message(&self) -> u32 {
        match self {
            Self::Run(run) => run.at,
            Self::Note(note) => note.at,
        }
    }

    pub(crate) fn push_line(&self, body: &mut String) {
        match self {
            Self::Run(run) => run_line(body, run),
            Self::Note(note) => {
                body.extend(["\n  ", PROGRESS]);
                quote_behind_label(body, &note.text);
            }
        }
    }
}

fn run_line(body: &mut String, run: &Run) {
    body.extend(["\n  ", COMMAND]);
    quote_in_line(body, &run.command, LINE_CHARS);
    body.extend([ARROW, &run.outcome]);
    for (nth, line) in run.lines.iter().enumerate() {
        body.push_str(if nth == 0 { ": " } else { " | " });
        quote_in_line(body, line, LINE_CHARS);
    }
}
