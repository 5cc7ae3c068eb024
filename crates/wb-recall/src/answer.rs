//! Answers: excerpts, and what was left out.

use std::fmt::{self, Write as _};

use serde::Serialize;
use wb_digest::{quote_in_line, quote_numbered, redact};
use wb_message::Untrusted;

use crate::author::Author;
use crate::excerpt::NumberedLines;
use crate::later_event::LaterEvent;

/// The characters of a call in a heading.
const LABEL_CHARS: usize = 100;
/// The message numbers of a kind that are listed.
const LISTED: usize = 8;

/// An excerpt of one message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    /// The number of the message, from 0, as in the digest and in `wb log`; of words that no
    /// message has, that of the next one.
    pub message: usize,
    /// The number of the user's message that it follows, from 1; 0 before the first.
    pub turn: usize,
    /// Its author.
    pub author: Author,
    /// The call that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Untrusted>,
    /// The outcome of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The events that overtake it.
    pub later: Vec<LaterEvent>,
    /// Earlier messages with the same lines.
    pub same: Vec<usize>,
    /// The quoted lines with their numbers, from 1.
    pub lines: NumberedLines,
    /// The number of lines that the message has.
    pub n_lines: usize,
}

/// The answer to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The excerpts, best first.
    pub excerpts: Vec<Excerpt>,
    /// The numbers of other messages that match, best first.
    pub others: Vec<usize>,
    /// The number of messages that were searched.
    pub n_messages: usize,
    /// A note: why nothing was found, or how to get the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Answer {
    /// Replaces credentials by marks.
    #[must_use]
    pub fn redacted(mut self) -> Self {
        for found in &mut self.excerpts {
            found.redact();
        }
        if let Some(note) = &mut self.note {
            *note = redact(note).text.into_owned();
        }
        self
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        for found in &self.excerpts {
            if !out.is_empty() {
                out.push('\n');
            }
            found.write(&mut out);
        }
        if !self.others.is_empty() {
            out.extend(["\nNot shown: ", &numbers(&self.others), "\n"]);
        }
        if let Some(note) = &self.note {
            out.extend([if out.is_empty() { "" } else { "\n" }, note, "\n"]);
        }
        f.write_str(&out)
    }
}

impl Excerpt {
    fn write(&self, out: &mut String) {
        // Writing to a string cannot fail.
        let place = if self.author == Author::Aside { "before " } else { "" };
        let _ = write!(out, "{place}#{} {}", self.message, self.author.as_str());
        if let Some(call) = &self.call {
            out.push_str(": ");
            quote_in_line(out, call, LABEL_CHARS);
        }
        if self.turn > 0 {
            let _ = write!(out, " · turn {}", self.turn);
        }
        if let Some(outcome) = &self.outcome {
            out.extend([" · ", outcome]);
        }
        self.write_later(out);
        if !self.same.is_empty() {
            out.extend([" · same in ", &numbers(&self.same)]);
        }
        out.push('\n');
        let mut next = self.lines.first().map_or(1, |(number, _)| *number);
        for (number, line) in &self.lines {
            if *number != next {
                out.push_str("    …\n");
            }
            quote_numbered(out, *number, line);
            next = number + 1;
        }
        if self.lines.len() < self.n_lines {
            let _ = writeln!(out, "  {} of {} lines", self.lines.len(), self.n_lines);
        }
    }

    fn redact(&mut self) {
        if let Some(call) = &mut self.call {
            *call = call.map(|text| redact(text).text.into_owned());
        }
        let lines: Vec<&str> = self.lines.iter().map(|(_, line)| line.inspect()).collect();
        let whole = lines.join("\n");
        let redacted = redact(&whole);
        if redacted.n > 0 {
            // A key of several lines becomes one mark, and the lines after it move up.
            let numbers = self.lines.iter().map(|(number, _)| *number);
            let lines = redacted.text.split('\n').map(|line| Untrusted::new(line.to_owned()));
            self.lines = numbers.zip(lines).collect();
        }
    }

    fn write_later(&self, out: &mut String) {
        for (nth, later) in self.later.iter().enumerate() {
            let kind = later.as_str();
            let is_first = self.later[..nth].iter().all(|before| before.as_str() != kind);
            if is_first {
                let of_kind = self.later.iter().filter(|later| later.as_str() == kind);
                out.extend([
                    " · ",
                    kind,
                    " since: ",
                    &numbers(&of_kind.map(LaterEvent::message).collect::<Vec<_>>()),
                ]);
            }
        }
    }
}

fn numbers(messages: &[usize]) -> String {
    let shown: Vec<String> = messages.iter().take(LISTED).map(|message| format!("#{message}")).collect();
    let list = shown.join(", ");
    match messages.len().saturating_sub(LISTED) {
        0 => list,
        more => format!("{list} and {more} more"),
    }
}
