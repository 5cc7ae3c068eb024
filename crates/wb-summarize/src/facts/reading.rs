//! Reads a message into the facts.

use std::borrow::Cow;

use serde_json::Value;
use wb_message::markers::{
    Visibility, digest_body, is_cleared, is_pinned, is_prompt, is_synthetic, visibility,
};
use wb_message::pairing::id_key;
use wb_message::text::{head, one_line};
use wb_message::{Block, Content, Message, ToolRole, ToolVocabulary};

use super::calls::{LABEL_CHARS, OpenCall, base_name, patch_of, write_json};
use super::files::Change;
use super::phrases::{git_line, told};
use super::turns::Run;
use super::{Constraint, Facts, Noted};
use crate::entries::Elided;
use crate::facts::mentions::By;
use crate::outcome::{Judged, Outcome, Reported, judge};
use crate::shell::{effects, patch_effects, subject};
use crate::words::answers::{Answer, answers};
use crate::words::constraints::{Kind, constraints};
use crate::words::decisions::is_decision;
use crate::words::user_text::{is_rejection, rejected_words, user_words};

/// Calls that may be open at once, the newest ones.
const MOST_OPEN: usize = 64;
/// Entries of each list that are kept, the newest ones.
const MOST_CONSTRAINTS: usize = 200;
pub(super) const MOST_GIT: usize = 12;
pub(super) const MOST_DECIDED: usize = 24;
const MOST_SOURCES: usize = 256;
/// Bytes of a text and of an argument that are read, half of them at each end.
const TEXT_BYTES: usize = 64 << 10;
const ARGUMENT_BYTES: usize = 20_000;
/// Bytes of a constraint that are kept.
const CONSTRAINT_BYTES: usize = 600;
const DECIDED_BYTES: usize = 300;

const REQUEST_FAILED: &str = "request failed";

/// Returns about how many bytes a message has that are read.
pub(super) fn size(message: &Message) -> usize {
    let texts = |blocks: &[Block]| blocks.iter().filter_map(Block::as_text).map(str::len).sum::<usize>();
    match message {
        Message::User { content, .. } | Message::Custom { content, .. } => {
            content.texts().map(str::len).sum()
        }
        Message::Assistant { content, .. } | Message::ToolResult { content, .. } => texts(content),
        Message::BashExecution { output, .. } => output.len(),
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => summary.len(),
    }
    .min(TEXT_BYTES)
}

/// Returns the ends of a text that are read.
fn ends(text: &str, max_bytes: usize) -> [&str; 2] {
    if text.len() <= max_bytes {
        return [text, ""];
    }
    [head(text, max_bytes / 2), wb_message::text::tail(text, max_bytes / 2)]
}

impl Facts {
    /// Takes in the next message.
    pub fn take_in(&mut self, message: &Message, vocabulary: &ToolVocabulary) {
        let at = self.n_messages;
        self.n_messages += 1;
        self.n_bytes += size(message) as u64;
        self.ledger.read(message);
        if let Some(digest) = digest_body(message) {
            return self.take_in_digest(&digest);
        }
        if is_pinned(message) || is_synthetic(message) {
            return;
        }
        self.mentions.begin(at);
        match message {
            Message::User { content, .. } => self.user(message, content, at),
            Message::Assistant { content, error_message } => {
                self.assistant(content, error_message.as_deref(), at, vocabulary);
            }
            Message::ToolResult { tool_call_id, tool_name, content, is_error } => {
                self.result(tool_call_id, tool_name, content, *is_error, at, vocabulary);
            }
            Message::BashExecution { command, output, exit_code } => {
                self.mentions.label(&["$ ", &one_line(command, LABEL_CHARS)].concat());
                self.mentions.read(command, By::User);
                self.read_ends(output, By::Tool);
                let reported = exit_code.map_or(Reported::Nothing, Reported::Exit);
                self.ran(command, output, reported, at);
            }
            Message::Custom { content, .. } if visibility(message) == Visibility::All => {
                self.mentions.label("note");
                for text in content.texts().filter(|text| !text.trim().is_empty()) {
                    self.read_ends(text, By::Tool);
                    self.decide(text, at);
                }
            }
            Message::Custom { .. } | Message::BranchSummary { .. } | Message::CompactionSummary { .. } => {}
        }
    }

    /// Takes in what the user says in a message, and nothing else of it.
    pub(super) fn take_in_words(&mut self, message: &Message) {
        let at = self.n_messages;
        self.n_messages += 1;
        match message {
            Message::User { content, .. } if is_prompt(message) => _ = self.said_by_user(content, at),
            _ => {
                if let Some(digest) = digest_body(message) {
                    self.take_in_digest(&digest);
                }
            }
        }
    }

    fn user(&mut self, message: &Message, content: &Content, at: u32) {
        if !is_prompt(message) {
            return;
        }
        let is_user = self.said_by_user(content, at);
        content.texts().for_each(|text| self.ledger.user(text, at));
        self.mentions.label(if is_user { "the user" } else { "the host" });
        let texts: Vec<&str> = content.texts().collect();
        for text in texts.into_iter().rev() {
            self.read_ends(text, if is_user { By::User } else { By::Tool });
        }
    }

    /// Notes what the user says; false where a host speaks in the user's role.
    fn said_by_user(&mut self, content: &Content, at: u32) -> bool {
        let texts: Vec<Cow<'_, str>> = content.texts().map(user_words).collect();
        let words = texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect::<Vec<_>>();
        let words = words.join("\n");
        if words.is_empty() {
            return false;
        }
        self.has_first |= self.elided == Elided::default();
        self.turns.begin(&words, at, self.n_bytes);
        self.constrain(&words, at);
        true
    }

    fn constrain(&mut self, words: &str, at: u32) {
        for found in constraints(words) {
            let forbids = found.kind == Kind::Forbids;
            self.keep_constraint(Constraint { text: found.text.to_owned(), forbids, at });
        }
    }

    /// Keeps a constraint unless it is known; of too many the oldest that forbids nothing goes.
    pub(super) fn keep_constraint(&mut self, new: Constraint) {
        let is_known = self.constraints.iter().any(|known| known.text == new.text);
        if is_known || new.text.len() > CONSTRAINT_BYTES {
            return;
        }
        if self.constraints.len() == MOST_CONSTRAINTS {
            let oldest = self.constraints.iter().position(|known| !known.forbids).unwrap_or(0);
            self.constraints.remove(oldest);
        }
        self.constraints.push(new);
    }

    fn decide(&mut self, line: &str, at: u32) {
        let text = head(line.trim(), DECIDED_BYTES).to_owned();
        push_newest(&mut self.decided, Noted { text, at }, MOST_DECIDED);
    }

    fn assistant(&mut self, content: &[Block], error: Option<&str>, at: u32, vocabulary: &ToolVocabulary) {
        self.mentions.label("the agent");
        match error {
            Some(error) => self.failures.failed([id_key(REQUEST_FAILED); 2], REQUEST_FAILED, [error], at),
            None => self.failures.worked(id_key(REQUEST_FAILED)),
        }
        for text in content.iter().filter_map(Block::as_text).filter(|text| !text.trim().is_empty()) {
            self.turns.current().says(text, at);
            text.lines().filter(|line| is_decision(line)).for_each(|line| self.decide(line, at));
        }
        for block in content.iter().rev() {
            match block {
                // A plan is told as such.
                Block::ToolCall { name, .. } if vocabulary.role(name) == Some(ToolRole::Plan) => {}
                Block::Text { text } | Block::Thinking { text, .. } => self.read_ends(text, By::Agent),
                Block::ToolCall { name, input, .. } => self.read_call(name, input),
                _ => {}
            }
        }
        for block in content {
            if let Block::ToolCall { id, name, input } = block {
                self.called(id, name, input, vocabulary);
            }
        }
    }

    fn read_call(&mut self, name: &str, input: &Value) {
        let (mut line, mut kept) = (format!("{name} "), None);
        write_json(&mut line, input);
        self.read_value(input, &line, &mut kept);
    }

    fn read_value(&mut self, value: &Value, call: &str, kept: &mut Option<crate::facts::mentions::Kept>) {
        match value {
            Value::String(text) => self.mentions.read_argument(head(text, ARGUMENT_BYTES), call, kept),
            Value::Array(items) => items.iter().for_each(|item| self.read_value(item, call, kept)),
            Value::Object(map) => {
                for (key, value) in map {
                    self.mentions.read_argument(key, call, kept);
                    self.read_value(value, call, kept);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn read_ends(&mut self, text: &str, by: By) {
        for end in ends(text, TEXT_BYTES).into_iter().rev() {
            self.mentions.read(end, by);
        }
    }

    /// Keeps a call until its result comes; of its arguments what is needed then.
    fn called(&mut self, id: &str, name: &str, input: &Value, vocabulary: &ToolVocabulary) {
        let changes = matches!(vocabulary.role(name), Some(ToolRole::Edit | ToolRole::Write));
        let input = match input {
            Value::Object(map) if changes && vocabulary.path(input).is_some() => {
                let is_path = |key: &String| vocabulary.path_keys.contains(&key.as_str());
                Value::Object(
                    map.iter().filter(|(key, _)| is_path(key)).map(|(k, v)| (k.clone(), v.clone())).collect(),
                )
            }
            other => other.clone(),
        };
        if self.open_calls.len() == MOST_OPEN {
            self.open_calls.remove(0);
        }
        self.open_calls.push(OpenCall { id: id_key(id), name: name.to_owned(), input });
    }

    fn result(
        &mut self,
        id: &str,
        tool_name: &str,
        content: &[Block],
        is_error: bool,
        at: u32,
        vocabulary: &ToolVocabulary,
    ) {
        let id = id_key(id);
        let open =
            self.open_calls.iter().rposition(|call| call.id == id).map(|at| self.open_calls.remove(at));
        self.mentions
            .label(&open.as_ref().map_or_else(|| tool_name.to_owned(), |call| call.label(vocabulary)));
        if is_cleared(content) {
            return;
        }
        for text in content.iter().rev().filter_map(Block::as_text) {
            self.read_ends(text, By::Tool);
        }
        let Some(call) = open else { return };
        let output = content.iter().find_map(Block::as_text).unwrap_or_default();
        if is_error && let Some(words) = rejected_words(output) {
            self.constrain(words, at);
            self.ledger.answered(words, false);
        }
        for answer in answers(&call.name, &call.input, output, is_error) {
            let told = told(&answer);
            self.ledger.answered(&told, !matches!(answer, Answer::Refused { .. }));
            self.turns.current().answered(told);
        }
        if is_rejection(output) {
            return;
        }
        if self.tasks.take_in(&call.name, &call.input, Some(output)) {
            self.ledger.tasks_at = Some(at);
        }
        self.answered(&call, output, is_error, at, vocabulary);
    }

    /// Notes what a call did and how it ended.
    fn answered(
        &mut self,
        call: &OpenCall,
        output: &str,
        is_error: bool,
        at: u32,
        vocabulary: &ToolVocabulary,
    ) {
        let role = vocabulary.role(&call.name);
        let reported = if is_error { Reported::Error } else { Reported::Ok };
        let command = call.command();
        let diff = patch_of(call, command.as_deref());
        if let Some(command) = command.as_deref().filter(|_| diff.is_none()) {
            self.ran(command, output, reported, at);
            return;
        }
        self.ledger.called(&call.name, &call.input, output, at, vocabulary);
        let on = call.path(vocabulary);
        let what = [call.name.as_str(), " ", on.as_deref().unwrap_or_default()].concat();
        let subject = id_key(&[call.name.as_str(), " ", on.as_deref().map_or("", base_name)].concat());
        let judged = judge(None, output, reported);
        if !self.settle(subject, what.trim(), &judged, output, at) {
            return;
        }
        if let Some(diff) = diff {
            for effect in patch_effects(diff) {
                self.file_changed(&effect, at, false);
            }
            return;
        }
        let Some(path) = on else { return };
        match role {
            Some(ToolRole::Read) => {
                self.files.read(&path, at);
                self.shows(id_key(&path), at, false);
            }
            Some(ToolRole::Edit) => self.changed(&path, Change::Edited, "edited", at),
            Some(ToolRole::Write) => self.changed(&path, Change::Written, "written", at),
            _ => {}
        }
    }

    /// Notes that a command or a file showed something; what it showed before does not hold any more where it was shown
    /// as a whole.
    fn shows(&mut self, source: u64, at: u32, is_whole: bool) {
        if is_whole {
            let mentions = &mut self.mentions;
            self.sources.retain(|(known, before)| {
                let goes = *known == source;
                if goes {
                    mentions.overtake(*before);
                }
                !goes
            });
        }
        if self.sources.len() == MOST_SOURCES {
            self.sources.remove(0);
        }
        self.sources.push((source, at));
    }

    fn changed(&mut self, path: &str, change: Change, how: &str, at: u32) {
        if change == Change::Written {
            self.shows(id_key(path), at, true);
        }
        self.files.changed(path, change, at, false);
        self.turns.current().changes(path, how);
    }

    fn file_changed(&mut self, effect: &crate::shell::FileEffect<'_>, at: u32, by_shell: bool) {
        use crate::shell::FileEffect as Effect;
        match effect {
            Effect::Wrote(path)
            | Effect::Deleted(path)
            | Effect::Restored(path)
            | Effect::Moved { from: path, .. } => {
                self.shows(id_key(path), at, true);
            }
            Effect::Edited(_) => {}
        }
        self.files.take_in(effect, at, by_shell);
        let turn = self.turns.current();
        match effect {
            Effect::Wrote(path) => turn.changes(path, "written"),
            Effect::Edited(path) => turn.changes(path, "edited"),
            Effect::Deleted(path) => turn.changes(path, "deleted"),
            Effect::Restored(path) => turn.changes(path, "restored"),
            Effect::Moved { from, to } => turn.changes(from, &["moved to ", to].concat()),
        }
    }

    /// Notes whether something failed; true where it worked, for all that is known.
    fn settle(&mut self, subject: u64, what: &str, judged: &Judged<'_>, output: &str, at: u32) -> bool {
        match judged.outcome {
            Outcome::Failed => {
                let last = || output.lines().map(str::trim).rfind(|line| !line.is_empty());
                let lines =
                    if judged.why.is_empty() { last().into_iter().collect() } else { judged.why.clone() };
                self.failures.failed([subject; 2], what, lines, at);
                false
            }
            Outcome::NotThere => false,
            Outcome::Ok => {
                self.failures.worked(subject);
                true
            }
            Outcome::Unknown => true,
        }
    }

    /// Notes a command, how it ended, and what it did.
    fn ran(&mut self, command: &str, output: &str, reported: Reported, at: u32) {
        let judged = judge(Some(command), output, reported);
        self.ledger.ran(command, output, judged.outcome, at);
        let subject = subject(command);
        let worked = self.settle(subject, command, &judged, output, at);
        // Of what merely shows something every part may still hold.
        self.shows(subject, at, !worked || judged.shown.is_some());
        let effects = effects(command);
        let outcome = match (judged.outcome, judged.exit) {
            (Outcome::Failed, Some(code)) if code != 0 => format!("failed (exit {code})"),
            (Outcome::Failed, _) => "failed".to_owned(),
            (Outcome::Ok, _) => "ok".to_owned(),
            (Outcome::NotThere, _) => "not there".to_owned(),
            (Outcome::Unknown, _) => "end unknown".to_owned(),
        };
        let lines: Vec<&str> = judged.why.iter().copied().chain(judged.shown).take(3).collect();
        let mut run = Run::new(command, subject, at).ended(outcome, lines);
        run.tells = !worked || judged.shown.is_some() || !effects.git.is_empty() || !effects.files.is_empty();
        self.turns.current().ran(run);
        if !worked {
            return;
        }
        for effect in &effects.files {
            self.file_changed(effect, at, true);
        }
        for effect in &effects.git {
            push_newest(&mut self.git, Noted { text: git_line(effect), at }, MOST_GIT);
        }
    }
}

pub(super) fn push_newest(list: &mut Vec<Noted>, new: Noted, most: usize) {
    list.retain(|known| known.text != new.text);
    if list.len() == most {
        list.remove(0);
    }
    list.push(new);
}
