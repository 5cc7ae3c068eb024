//! Takes over what earlier digests say where nobody kept the facts that they were made of.

use wb_message::pairing::id_key;

use super::calls::base_name;
use super::files::Change;
use super::reading::{MOST_DECIDED, MOST_GIT, push_newest};
use super::turns::unindented;
use super::{Constraint, Facts, Noted};
use crate::digest::{Section, Sections};
use crate::entries::{
    ACTIVE, FIRST, GIT, MODIFIED, NAMES, READ, SEEN, TURN, UNRESOLVED, elided_total, request_text,
};
use crate::facts::mentions::By;
use crate::shell::subject;
use crate::words::constraints::{Kind, constraints};

/// Entries of others that are kept.
const MOST_FOREIGN: usize = 200;

/// Returns whether an entry is one that digests are told with, so that facts say it better.
fn is_own(entry: &str) -> bool {
    const LABELS: [&str; 8] = [TURN, MODIFIED, ACTIVE, UNRESOLVED, GIT, SEEN, NAMES, READ];
    request_text(entry).is_some()
        || elided_total(entry).is_some()
        || LABELS.iter().any(|label| entry.starts_with(label))
}

impl Facts {
    /// Takes over an earlier digest: its own lines as facts, all others as they stand. The facts are partial then.
    pub fn take_in_digest(&mut self, digest: &str) {
        let digest = Sections::parse(digest);
        if digest.is_empty() {
            return;
        }
        self.is_partial = true;
        self.elided.take_over(digest.entries(Section::Carryover).iter().map(String::as_str));
        self.requests(digest.entries(Section::Objective));
        // Only our own digests hold nothing but the user's words there.
        let is_ours = digest.entries(Section::Carryover).iter().any(|entry| elided_total(entry).is_some());
        for entry in digest.entries(Section::Guardrails) {
            if is_ours {
                let text = unindented(entry.strip_prefix("- ").unwrap_or(entry));
                let forbids = constraints(&text).iter().any(|found| found.kind == Kind::Forbids);
                self.keep_constraint(Constraint { text, forbids, at: self.n_messages });
            } else {
                self.keep(Section::Guardrails, entry);
            }
        }
        digest.entries(Section::Turns).iter().rev().for_each(|entry| self.turn_told(entry));
        for entry in digest.entries(Section::Status).iter().rev() {
            self.status_told(entry);
        }
        for entry in digest.entries(Section::Rationale).iter().rev() {
            let text = unindented(entry.strip_prefix("- ").unwrap_or(entry));
            push_newest(&mut self.decided, Noted { text, at: self.n_messages }, MOST_DECIDED);
        }
        for entry in digest.entries(Section::Plan) {
            self.keep(Section::Plan, entry);
        }
        for entry in digest.entries(Section::Carryover) {
            self.carryover_told(entry);
        }
    }

    /// Keeps what a model says in a digest of this session, in the place of what one said before; all else is known.
    pub fn take_in_judgement(&mut self, digest: &str) {
        let digest = Sections::parse(digest);
        self.foreign.clear();
        for section in
            [Section::Objective, Section::Guardrails, Section::Status, Section::Rationale, Section::Plan]
        {
            for entry in digest.entries(section).iter().filter(|entry| !is_own(entry)) {
                let is_told = |it: &Constraint| entry.contains(it.text.as_str());
                if !self.constraints.iter().any(is_told) {
                    self.keep(section, entry);
                }
            }
        }
        for entry in digest.entries(Section::Carryover).iter().filter(|entry| !is_own(entry)) {
            self.keep(Section::Carryover, entry);
        }
    }

    /// Takes over requests, which stand newest first behind the first one.
    fn requests(&mut self, entries: &[String]) {
        let at = self.n_messages;
        let is_request = |entry: &&String| request_text(entry).is_some();
        for entry in entries.iter().filter(|entry| !is_request(entry)) {
            self.keep(Section::Objective, entry);
        }
        let (first, others): (Vec<&String>, Vec<&String>) =
            entries.iter().filter(is_request).partition(|entry| entry.starts_with(FIRST));
        for entry in first.into_iter().chain(others.into_iter().rev()) {
            let text = unindented(request_text(entry).unwrap_or_default());
            if self.turns.iter().any(|turn| turn.asked == text) {
                continue;
            }
            let is_first = entry.starts_with(FIRST) && self.turns.iter().len() == 0;
            self.turns.begin(&text, at, self.n_bytes);
            self.has_first |= is_first;
        }
    }

    fn turn_told(&mut self, entry: &str) {
        let Some(told) = entry.strip_prefix(TURN) else { return };
        let (number, body) = told.split_once('\n').unwrap_or((told, ""));
        let n_digits = number.bytes().take_while(u8::is_ascii_digit).count();
        let (number, named) = number.split_at(n_digits);
        let Ok(number) = number.parse() else { return };
        let named = named.trim_start_matches(" (“").trim_end_matches(':').trim_end_matches("”)");
        self.turns.told(number, named, body);
    }

    fn status_told(&mut self, entry: &str) {
        let at = self.n_messages;
        if let Some(paths) = entry.strip_prefix(MODIFIED) {
            for path in paths.split(", ").collect::<Vec<_>>().into_iter().rev() {
                self.files.changed(path, Change::Edited, at, false);
            }
        } else if let Some(said) = entry.strip_prefix(ACTIVE) {
            self.turns.current().says(&unindented(said), at);
        } else if let Some(failed) = entry.strip_prefix(UNRESOLVED) {
            let (what, why) = failed.split_once(": ").unwrap_or((failed, failed));
            let (tool, path) = what.split_once(' ').unwrap_or((what, ""));
            let by_tool = id_key(&[tool, " ", base_name(path)].concat());
            self.failures.failed([subject(what), by_tool], what, why.split(" | "), at);
        } else if let Some(done) = entry.strip_prefix(GIT) {
            for text in done.split("; ") {
                push_newest(&mut self.git, Noted { text: text.to_owned(), at }, MOST_GIT);
            }
        } else {
            self.keep(Section::Status, entry);
        }
    }

    fn carryover_told(&mut self, entry: &str) {
        if let Some(paths) = entry.strip_prefix(READ) {
            for path in paths.split(", ").collect::<Vec<_>>().into_iter().rev() {
                self.files.read(path, self.n_messages);
            }
        } else if let Some(seen) = entry.strip_prefix(SEEN) {
            let (label, lines) = seen.split_once(":\n").unwrap_or((seen, ""));
            self.mentions.begin(self.n_messages);
            self.mentions.label(label);
            self.mentions.read(lines, By::Tool);
            // Each source has a number of its own.
            self.n_messages += 1;
        } else if elided_total(entry).is_none() && !entry.starts_with(NAMES) {
            self.keep(Section::Carryover, entry);
        }
    }

    fn keep(&mut self, section: Section, entry: &str) {
        let is_known = self.foreign.iter().any(|(_, known)| known == entry);
        if !is_known && self.foreign.len() < MOST_FOREIGN {
            self.foreign.push((section, entry.to_owned()));
        }
    }
}
