//! Takes over what earlier digests say where nobody kept the facts that they were made of.

use std::borrow::Cow;

use wb_message::Untrusted;
use wb_message::markers::CLIP_MARK;
use wb_message::pairing::id_key;

use super::apply_result::{MOST_GIT, push_newest};
use super::files::Change;
use super::ledger::checks_of;
use super::turns::{RequestSource, unindented};
use super::{Constraint, Facts, Noted};
use crate::facts::mentions::Source;
use wb_digest::labels::{
    ACTIVE, ALL_DONE, APPROVED, CALLED, CHANGED_SINCE, EXCERPTS, FIRST, GIT, HOST_SUMMARY, LEFT_OUT,
    MODIFIED, NAMES, NO_TASKS, READ, RECALL_TOOL, SEEN, SINCE_COMMIT, STATUS, STOPPED, TICKED, TURN,
    UNRESOLVED, USER_MESSAGES_APPLY, elided_total, parse_answer, repeated_request, request_text,
    without_updated,
};
use wb_digest::{OmittedRequests, Section, Sections};
use wb_language::constraints::{Kind, constraints};
use wb_shell::Command;
use wb_shell::base_name;

/// Words that mark a wish or a ban of the user in a summary.
const WISHES: [&str; 8] =
    ["User prefers", "user prefers", "User wants", "user wants", "Never ", "never ", "must not", "Do not"];
/// The longest line that may contain such a wish, in bytes.
const WISH_BYTES: usize = 300;
/// Entries of others that are kept.
const MOST_FOREIGN: usize = 200;

/// Reports whether an entry has a label of our digests, so that facts say it better.
fn is_own(entry: &str) -> bool {
    const LABELS: [&str; 20] = [
        TURN,
        MODIFIED,
        ACTIVE,
        UNRESOLVED,
        GIT,
        STOPPED,
        STATUS,
        SINCE_COMMIT,
        EXCERPTS,
        SEEN,
        CALLED,
        NAMES,
        READ,
        LEFT_OUT,
        RECALL_TOOL,
        USER_MESSAGES_APPLY,
        NO_TASKS,
        ALL_DONE,
        APPROVED,
        TICKED,
    ];
    request_text(entry).is_some()
        || OmittedRequests::parse(entry).is_some()
        || elided_total(entry).is_some()
        || LABELS.iter().any(|label| entry.starts_with(label))
}

/// Returns the lasting part of a host's summary, the user's wishes first: without its draft, the
/// current work, code, and orders to the agent.
fn lasting(digest: &str) -> String {
    const DRAFTS: [&str; 2] = ["<analysis>", "Analysis:"];
    const SUMMARIES: [&str; 3] = ["</analysis>", "\nSummary:", "<summary>"];
    const MOMENTS: [&str; 15] = [
        "Current",
        "Next Step",
        "(NEXT)",
        "Pending",
        "In Progress",
        "In progress",
        "Remaining",
        "Still to",
        "To do",
        "To Do",
        "TODO",
        "Open ",
        "Unresolved",
        "Still Investigating",
        "All user messages",
    ];
    const ORDERS: [&str; 3] = [
        "Please continue the conversation",
        "If you need specific details from before",
        "Continue the conversation",
    ];
    const INTRODUCTIONS: [&str; 2] =
        ["This session is being continued from", "The summary below covers the earlier portion"];
    let start = DRAFTS.iter().filter_map(|draft| digest.find(draft)).min();
    let end = SUMMARIES.iter().filter_map(|it| digest.find(it).map(|at| at + it.len())).max();
    let text = match (start, end) {
        (Some(start), Some(end)) if start < end => [&digest[..start], &digest[end..]].concat(),
        _ => digest.to_owned(),
    };
    let is_fence = |line: &str| line.trim_start().starts_with("```");
    let has_pairs = text.lines().filter(|line| is_fence(line)).count() % 2 == 0;
    let (mut wishes, mut rest, mut is_moment, mut is_code) = (Vec::new(), Vec::new(), false, false);
    for line in text.lines() {
        if ORDERS.iter().any(|order| line.trim_start().starts_with(order)) {
            break;
        }
        if INTRODUCTIONS.iter().any(|it| line.starts_with(it)) {
            continue;
        }
        // Code is what changes first.
        if has_pairs && is_fence(line) {
            is_code = !is_code;
            continue;
        }
        let is_numbered = line.starts_with(|c: char| c.is_ascii_digit()) || line.starts_with('#');
        if is_numbered {
            is_moment = MOMENTS.iter().any(|moment| line.contains(moment));
        }
        let is_wish = line.len() < WISH_BYTES && WISHES.iter().any(|it| line.contains(it));
        match (is_moment || is_code, is_wish) {
            (true, _) => {}
            (false, true) => wishes.push(line),
            (false, false) => rest.push(line),
        }
    }
    [wishes, rest].concat().join("\n")
}

/// Reports whether a digest quotes a request, whole or without its middle; a digest may write its
/// blanks otherwise.
fn is_quoted(asked: &str, quote: &str) -> bool {
    let mark = CLIP_MARK.trim();
    let (Some((start, _)), Some((_, end))) = (quote.split_once(mark), quote.rsplit_once(mark)) else {
        return letters(asked).eq(letters(quote));
    };
    let (mut from_start, mut from_end) = (letters(asked), letters(asked).rev());
    letters(start).all(|c| from_start.next() == Some(c))
        && letters(end).rev().all(|c| from_end.next() == Some(c))
}

fn letters(text: &str) -> impl DoubleEndedIterator<Item = char> + '_ {
    text.chars().filter(|c| !c.is_whitespace())
}

impl Facts {
    /// Reads an earlier digest: our entries as facts, all others verbatim. The facts are
    /// partial afterwards, and the digest counts as a message.
    pub fn observe_digest(&mut self, digest: &str) {
        let at = self.n_messages;
        if self.read_digest(digest, at) {
            self.n_messages = self.n_messages.saturating_add(1);
        }
    }

    /// Takes over the summary in a message, of a host's what lasts.
    pub(super) fn read_summary(&mut self, summary: &str, at: u32) {
        let is_ours = summary.lines().any(|line| elided_total(line).is_some());
        let is_host = !is_ours && !summary.lines().any(|line| Section::from_heading(line).is_some());
        let summary = if is_host { Cow::Owned(lasting(summary)) } else { Cow::Borrowed(summary) };
        _ = self.read_digest(&summary, at);
    }

    /// Takes over the digest in the message of that number; false where it says nothing.
    pub(super) fn read_digest(&mut self, digest: &str, at: u32) -> bool {
        let is_ours = digest.lines().any(|line| elided_total(line).is_some());
        let digest = Sections::parse(digest);
        if digest.is_empty() {
            return false;
        }
        self.is_partial = true;
        self.elided.add_earlier(digest.entries(Section::Carryover).iter().map(String::as_str));
        self.requests(digest.entries(Section::Objective), at);
        // Only our own digests hold nothing but the user's words there.
        for entry in digest.entries(Section::Guardrails) {
            if entry.starts_with(LEFT_OUT) || entry == USER_MESSAGES_APPLY {
                continue;
            }
            if is_ours {
                let text = unindented(entry.strip_prefix("- ").unwrap_or(entry));
                let (text, is_updated) = without_updated(&text);
                let forbids = constraints(text).iter().any(|found| found.kind == Kind::Forbids);
                let text = text.to_owned();
                self.keep_constraint(Constraint { text, forbids, passing: false, is_updated, at });
            } else {
                self.keep(Section::Guardrails, entry);
            }
        }
        digest.entries(Section::Turns).iter().rev().for_each(|entry| self.read_turn(entry));
        for entry in digest.entries(Section::Status).iter().rev() {
            self.read_status(entry, at);
        }
        for entry in digest.entries(Section::Rationale) {
            self.keep(Section::Rationale, entry);
        }
        for entry in digest.entries(Section::Plan) {
            if let Some(plan) = entry.strip_prefix(APPROVED) {
                self.approved = Some(Noted::new(unindented(plan), at));
            } else if let Some(list) = entry.strip_prefix(TICKED) {
                self.ticked = Some(Noted::new(list, at));
            }
        }
        for entry in digest.entries(Section::Plan).iter().filter(|entry| !is_own(entry)) {
            self.keep(Section::Plan, entry);
        }
        let mut n_sources = 0;
        for entry in digest.entries(Section::Carryover) {
            self.read_carryover(entry, at, &mut n_sources);
        }
        true
    }

    /// Takes over what lasts of a host's summary of messages that were read, in place of that of an
    /// earlier one. Of our own digest there is nothing to take: its facts are known.
    pub fn observe_host_summary(&mut self, summary: &str) {
        if summary.lines().any(|line| elided_total(line).is_some()) {
            return;
        }
        self.observe_judgement(&lasting(summary));
        if let Some(first) = self.foreign.iter().position(|(section, _)| *section == Section::Carryover) {
            let turn = self.turns.current().number;
            let introduction = format!("{HOST_SUMMARY}{turn}; parts may be outdated:");
            self.foreign.insert(first, (Section::Carryover, introduction));
        }
    }

    /// Replaces the earlier sentences of a model by those in a new digest of this session.
    pub fn observe_judgement(&mut self, digest: &str) {
        let digest = Sections::parse(digest);
        self.foreign.clear();
        for section in
            [Section::Objective, Section::Guardrails, Section::Status, Section::Rationale, Section::Plan]
        {
            let is_task = |entry: &str| section == Section::Plan && entry.starts_with("- [");
            for entry in digest.entries(section).iter().filter(|entry| !is_own(entry) && !is_task(entry)) {
                let words = unindented(entry);
                let is_known = |it: &Constraint| words.contains(it.text.as_str());
                if !self.constraints.iter().any(is_known) {
                    self.keep(section, entry);
                }
            }
        }
        for entry in digest.entries(Section::Carryover).iter().filter(|entry| !is_own(entry)) {
            self.keep(Section::Carryover, entry);
        }
    }

    /// Reads requests, which are newest first after the first one.
    fn requests(&mut self, entries: &[String], at: u32) {
        let is_request = |entry: &&String| request_text(entry).is_some();
        for entry in entries.iter().filter(|entry| !is_request(entry)) {
            match OmittedRequests::parse(entry) {
                Some(omitted) => self.omitted.join(&omitted),
                None => self.keep(Section::Objective, entry),
            }
        }
        let (first, others): (Vec<&String>, Vec<&String>) =
            entries.iter().filter(is_request).partition(|entry| entry.starts_with(FIRST));
        for entry in first.into_iter().chain(others.into_iter().rev()) {
            let text = unindented(request_text(entry).unwrap_or_default());
            let (text, is_updated) = without_updated(&text);
            let to = parse_answer(entry).map_or("", |(_, to)| to);
            if self.turns.iter().any(|turn| is_quoted(&turn.asked, text) && turn.to.inspect() == to) {
                continue;
            }
            let is_first = entry.starts_with(FIRST) && self.turns.iter().len() == 0;
            self.turns.begin(text, at, self.n_bytes);
            let turn = self.turns.current();
            turn.is_updated = is_updated;
            turn.to = Untrusted::new(to.to_owned());
            turn.times = repeated_request(entry).map_or(0, |(_, times)| times.saturating_sub(1));
            turn.source = RequestSource::Digest;
            self.has_first |= is_first;
        }
    }

    fn read_turn(&mut self, entry: &str) {
        let Some(text) = entry.strip_prefix(TURN) else { return };
        let (number, body) = text.split_once('\n').unwrap_or((text, ""));
        let n_digits = number.bytes().take_while(u8::is_ascii_digit).count();
        let (number, named) = number.split_at(n_digits);
        let Ok(number) = number.parse() else { return };
        let (named, is_updated) = without_updated(named.trim_end_matches(':'));
        let named = named.trim_start_matches(" (“").trim_end_matches("”)");
        self.turns.restore(number, named, body).is_updated |= is_updated;
    }

    fn read_status(&mut self, entry: &str, at: u32) {
        if let Some(paths) = entry.strip_prefix(MODIFIED) {
            for path in paths.split(", ").collect::<Vec<_>>().into_iter().rev() {
                self.files.changed(path, Change::Edited, at, false);
            }
        } else if let Some(said) = entry.strip_prefix(ACTIVE) {
            self.turns.current().says(&unindented(said), at);
        } else if let Some(failed) = entry.strip_prefix(UNRESOLVED) {
            let (what, why) = failed.split_once(": ").unwrap_or((failed, failed));
            let what = what.strip_suffix(CHANGED_SINCE).unwrap_or(what);
            let (tool, path) = what.split_once(' ').unwrap_or((what, ""));
            let by_tool = id_key(&[tool, " ", base_name(path)].concat());
            let command = Command::parse(what);
            let subjects = [command.subject(), command.part().unwrap_or(by_tool)];
            self.failures.failed(subjects, what, why.split(" | "), checks_of(&command), at);
        } else if let Some(done) = entry.strip_prefix(GIT) {
            for text in done.split("; ").collect::<Vec<_>>().into_iter().rev() {
                push_newest(&mut self.git, Noted::new(text, at), MOST_GIT);
            }
        } else if let Some(text) = entry.strip_prefix(STOPPED) {
            self.git_state.stopped = Some(Noted::new(text, at));
        } else if let Some(text) = entry.strip_prefix(STATUS) {
            self.git_state.status = Some(Noted::new(text, at));
        } else if !is_own(entry) {
            self.keep(Section::Status, entry);
        }
    }

    fn read_carryover(&mut self, entry: &str, at: u32, n_sources: &mut u16) {
        if let Some(paths) = entry.strip_prefix(READ) {
            for path in paths.split(", ").collect::<Vec<_>>().into_iter().rev() {
                self.files.read(path, at);
            }
        } else if let Some(seen) = [SEEN, CALLED].iter().find_map(|label| entry.strip_prefix(label)) {
            self.mentions.begin_source(at, *n_sources);
            *n_sources = n_sources.saturating_add(1);
            match seen.split_once(":\n") {
                Some((label, lines)) => {
                    self.mentions.label(label);
                    self.mentions.read(lines, Source::Tool);
                }
                None => self.mentions.read_argument(seen, seen, &mut None),
            }
        } else if !is_own(entry) {
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

#[cfg(test)]
mod tests {
    use wb_message::{Message, ToolVocabulary};

    use super::*;

    #[test]
    fn what_lasts_of_a_summary_by_the_host_is_kept_apart() {
        let mut facts = Facts::default();
        facts.observe(&Message::user("Port the reader."), &ToolVocabulary::default());
        let summary = "This session is being continued from before.\n## Discoveries\n- The reader drops blank \
                       lines.\n## Still to verify\n- Run the tests.";
        facts.observe_host_summary("## Discoveries\n- The writer is right.");
        facts.observe_host_summary(summary);
        let kept: Vec<&str> = facts.foreign().iter().map(|(_, entry)| entry.as_str()).collect();
        let introduction = "- From an earlier summary, written in turn 1; parts may be outdated:";
        assert_eq!(kept, [introduction, "## Discoveries", "- The reader drops blank lines."]);
        assert!(!facts.is_partial());
        let ours = "# Carryover\n3 messages elided into this digest (3 in all).\n- The writer is right.";
        facts.observe_host_summary(ours);
        assert_eq!(facts.foreign().len(), 3);
    }

    #[test]
    fn a_request_before_its_digest_is_the_one_that_the_digest_clips() {
        let request = format!("Fix the reader.\n{}\nKeep the order.", "It drops blank lines. ".repeat(40));
        let is_read = |quote: &str| {
            let mut facts = Facts::default();
            facts.observe(&Message::user(request.as_str()), &ToolVocabulary::default());
            facts.observe_digest(&format!("# Objective\n- First request: {quote}\n"));
            facts.turns().iter().len()
        };
        assert_eq!(is_read("Fix the reader.\n  [… clipped …]\n  Keep the order."), 1);
        assert_eq!(is_read("Fix\tthe reader.\n\n  [… clipped …]\n  Keep the  order."), 1);
        assert_eq!(is_read("Fix the writer.\n  [… clipped …]\n  Keep the order."), 2);
        assert_eq!(is_read("Fix the reader."), 2);
    }
}
