//! Reads a message into the facts.

use std::borrow::Cow;

use serde_json::Value;
use wb_message::Untrusted;
use wb_message::markers::{
    Visibility, digest_body, digest_in_text, is_cleared, is_pinned, is_prompt, is_synthetic, server_tool,
    visibility,
};
use wb_message::pairing::id_key;
use wb_message::text::{head, one_line, without_styles};
use wb_message::tools::field;
use wb_message::{Block, Content, Message, ToolRole, ToolVocabulary};

use super::apply_result::{open_file, push_newest};
use super::calls::{LABEL_CHARS, OpenCall, call_label, each_text, replaced_lines, ticked, write_line};
use super::edited_definitions::Definitions;
use super::lines::with_paths;
use super::turns::Run;
use super::wording::answer_line;
use super::{Constraint, Facts, Noted};
use crate::facts::mentions::Source;
use wb_digest::labels::Elided;
use wb_language::answers::{Answer, answers, asks_the_user, proposes_a_plan};
use wb_language::decisions::{is_decision, names_a_cause};
use wb_language::plain_words;
use wb_language::progress_notes::is_announcement;
use wb_language::short_answers::is_answer;
use wb_language::superseded_statements::Update;
use wb_language::user_text::{is_rejection, message_words, rejected_words, user_words, words_of_texts};
use wb_message::excerpt::{both_ends, excerpt};
use wb_shell::outcome::Reported;

/// Calls that may be open at once, the newest ones.
const MOST_OPEN: usize = 64;
/// Reasons that are kept, the newest ones.
const MOST_DECIDED: usize = 12;
/// Turns after which what was said of a step is forgotten, and of the first request.
const PASSING_TURNS: usize = 6;
const FIRST_TURNS: usize = 20;
const DECIDED_CHARS: usize = 300;
/// Bytes of a text and of an argument that are read, half of them at each end.
const TEXT_BYTES: usize = 64 << 10;
const ARGUMENT_BYTES: usize = 20_000;
/// Bytes of a plan that the user approved.
const PLAN_BYTES: usize = 4_000;

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

/// Returns the texts of a result as one: some hosts put their own report into a text before the
/// output.
fn whole_text(content: &[Block]) -> Cow<'_, str> {
    let mut texts = content.iter().filter_map(Block::as_text);
    match (texts.next(), texts.next()) {
        (Some(first), Some(second)) => {
            [first, second].into_iter().chain(texts).collect::<Vec<_>>().join("\n").into()
        }
        (first, _) => first.unwrap_or_default().into(),
    }
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
    pub fn observe(&mut self, message: &Message, vocabulary: &ToolVocabulary) {
        let at = self.n_messages;
        self.n_messages = self.n_messages.saturating_add(1);
        self.n_bytes = self.n_bytes.saturating_add(size(message) as u64);
        self.ledger.read(message);
        if let Some(digest) = digest_body(message) {
            self.read_summary(&digest, at);
            return;
        }
        if is_pinned(message) || is_synthetic(message) {
            return;
        }
        self.mentions.begin(at);
        match message {
            Message::User { content, .. } => self.on_user(message, content, at),
            Message::Assistant { content, error_message } => {
                self.on_assistant(content, error_message.as_deref(), at, vocabulary);
            }
            Message::ToolResult { tool_call_id, tool_name, content, is_error, is_refusal } => {
                let ended = Ended { is_error: *is_error, is_refusal: *is_refusal };
                self.on_result(tool_call_id, tool_name, content, ended, at, vocabulary);
            }
            Message::BashExecution { command, output, exit_code } => {
                self.mentions.label(&["$ ", &one_line(command, LABEL_CHARS)].concat());
                self.mentions.read(command, Source::User);
                self.read_ends(output, Source::Tool);
                let reported = exit_code.map_or(Reported::Nothing, Reported::Exit);
                self.ran(command, &without_styles(output), reported, at);
                self.turns.current().runs.iter_mut().filter(|run| run.at == at).for_each(Run::is_of_user);
            }
            Message::Custom { content, .. } if visibility(message) == Visibility::All => {
                self.mentions.label("note");
                for text in content.texts().filter(|text| !text.trim().is_empty()) {
                    self.read_ends(text, Source::Tool);
                    if is_note(text) && !user_words(text).trim().is_empty() {
                        self.decide("a note", text, at);
                    }
                }
            }
            Message::Custom { .. } | Message::BranchSummary { .. } | Message::CompactionSummary { .. } => {}
        }
    }

    /// Takes in words of the user that no message has, after the last message.
    pub fn observe_aside(&mut self, words: &str) {
        let at = self.n_messages.saturating_sub(1);
        let message = Message::user(words);
        self.ledger.words(words);
        self.mentions.begin_source(at, 1);
        if let Message::User { content, .. } = &message {
            self.on_user(&message, content, at);
        }
    }

    /// Takes in what the user says in a message, and nothing else of it.
    pub(super) fn observe_words(&mut self, message: &Message) {
        let at = self.n_messages;
        self.n_messages = self.n_messages.saturating_add(1);
        match message {
            Message::User { content, .. } if is_prompt(message) => _ = self.on_user_text(content, at),
            _ => {
                if let Some(digest) = digest_body(message) {
                    self.read_summary(&digest, at);
                }
            }
        }
    }

    fn on_user(&mut self, message: &Message, content: &Content, at: u32) {
        if !is_prompt(message) {
            return;
        }
        let is_user = self.on_user_text(content, at);
        let words = words_of_texts(content);
        content.texts().zip(&words).for_each(|(text, words)| self.ledger.user(text, words, at));
        self.mentions.label(if is_user { "the user" } else { "the host" });
        for (text, words) in content.texts().zip(&words).collect::<Vec<_>>().into_iter().rev() {
            if is_user {
                self.read_ends(words, Source::User);
            } else {
                self.read_ends(text, Source::Tool);
            }
        }
    }

    /// Notes what the user says; false where a host speaks in the user's role.
    fn on_user_text(&mut self, content: &Content, at: u32) -> bool {
        // A host may have put the user's next words into the message of a digest.
        content.texts().filter_map(digest_in_text).for_each(|digest| self.read_summary(digest, at));
        let words = message_words(content);
        if let Some(words) = &words {
            self.on_request(words, at);
        }
        words.is_some()
    }

    /// Returns the number of the first message with the same request.
    pub fn number_of(&self, request: &Message) -> Option<u32> {
        let Message::User { content, .. } = request else { return None };
        Some(self.turns.of_request(&message_words(content)?)?.start)
    }

    /// Begins a turn with what the user said.
    fn on_request(&mut self, words: &str, at: u32) {
        self.has_first |= self.elided == Elided::default();
        if withdraws(words) && self.turns.iter().len() > 1 {
            let last = self.turns.current().start;
            self.constraints.retain(|it| it.at < last);
        }
        self.turns.begin(words, at, self.n_bytes);
        self.finish_plan(words);
        self.update(words);
        let before = |n_turns: usize| self.turns.iter().rev().nth(n_turns).map_or(0, |turn| turn.start);
        let (of_first, passed) = (before(FIRST_TURNS), before(PASSING_TURNS));
        let is_first = |at: u32| self.turns.iter().nth(1).is_none_or(|second| at < second.start);
        self.constraints.retain(|it| !it.passing || it.at >= if is_first(it.at) { of_first } else { passed });
        self.constrain(words, at);
    }

    /// Marks the requests and rules that the user's words supersede.
    fn update(&mut self, words: &str) {
        let Some(update) = Update::parse(words) else { return };
        self.turns.update(&update);
        let before = self.turns.iter().rev().nth(1).map_or("", |turn| turn.asked.as_str());
        let concerns = |rule: &&mut Constraint| !update.is_correction() || before.contains(&rule.text);
        let rules = self.constraints.iter_mut().filter(concerns);
        rules.for_each(|rule| rule.is_updated |= update.supersedes(&rule.text));
    }

    /// Notes a reason. A cause of a fault replaces what was taken for one before it, unless files
    /// were changed for that.
    fn decide(&mut self, from: &str, line: &str, at: u32) {
        if names_a_cause(line) {
            let turn = self.turns.current();
            let is_open = |known: &Noted| known.at >= turn.start && !turn.has_changed_since(known.at);
            self.decided.retain(|known| !(names_a_cause(known.text.inspect()) && is_open(known)));
            turn.forget_guesses();
        }
        let line = both_ends(line.trim_start().trim_start_matches("- "), DECIDED_CHARS);
        let text = format!("({from}) {line}");
        push_newest(&mut self.decided, Noted::new(text, at), MOST_DECIDED);
    }

    fn on_assistant(&mut self, content: &[Block], error: Option<&str>, at: u32, vocabulary: &ToolVocabulary) {
        match error {
            Some(error) => {
                let checks = Vec::new();
                self.failures.failed([id_key(REQUEST_FAILED); 2], REQUEST_FAILED, [error], checks, at);
            }
            None => self.failures.forget(id_key(REQUEST_FAILED)),
        }
        let is_end = self.label_calls(content, vocabulary);
        let is_of_server = |text: &str| server_tool(text).is_some();
        let texts: Vec<&str> = content.iter().filter_map(Block::as_text).collect();
        for text in texts.iter().filter(|text| !is_of_server(text)) {
            for line in text.lines().filter(|line| is_decision(line) && !is_announcement(line)) {
                let turn = format!("turn {}", self.turns.current().number);
                self.decide(&turn, line, at);
            }
        }
        // An interrupted message is no conclusion.
        let concludes = is_end && error.is_none();
        // What is said before the last call of a server's tool is no conclusion either.
        let n_before = texts.iter().rposition(|text| is_of_server(text)).map_or(0, |nth| nth + 1);
        for (nth, text) in texts.into_iter().enumerate() {
            if text.trim().is_empty() || is_of_server(text) {
                continue;
            }
            if concludes && nth >= n_before {
                self.turns.current().says(text, at);
                self.failures.replied();
            } else if error.is_none() {
                self.turns.current().notes_progress(text, at);
            }
        }
        for block in content.iter().rev() {
            match block {
                // A plan is kept as the task list.
                Block::ToolCall { name, .. } if vocabulary.role(name) == Some(ToolRole::Plan) => {}
                Block::Text { text } if is_end => self.read_ends(text, Source::Agent),
                Block::Text { text } | Block::Thinking { text, .. } => {
                    for end in ends(text, TEXT_BYTES) {
                        self.mentions.read_names(end, Source::Agent);
                    }
                }
                Block::ToolCall { name, input, .. } => {
                    let role = vocabulary.call_role(name, input);
                    let changes = matches!(role, Some(ToolRole::Edit | ToolRole::Write));
                    self.read_call(name, input, changes);
                }
                _ => {}
            }
        }
        let mut n_calls = 0;
        for block in content {
            if let Block::ToolCall { id, name, input } = block {
                self.on_call(id, name, input, at, vocabulary);
                n_calls += 1;
            }
        }
        if let Some(call) = self.open_calls.last_mut().filter(|_| n_calls == 1) {
            call.is_alone = true;
        }
    }

    /// Labels the lines of a message of the agent. True if it ends a turn: of text next to a call
    /// only progress notes are kept.
    fn label_calls(&mut self, content: &[Block], vocabulary: &ToolVocabulary) -> bool {
        let mut calls = content.iter().filter_map(|block| match block {
            Block::ToolCall { name, input, .. } => Some((name, input)),
            _ => None,
        });
        match (calls.next(), calls.next()) {
            (Some((name, input)), None) => self.mentions.label(&call_label(name, input, vocabulary)),
            (Some(_), _) => self.mentions.label("calls of the agent"),
            (None, _) => {
                let number = self.turns.current().number;
                self.mentions.label(&format!("the agent's reply of turn {number}"));
                return true;
            }
        }
        false
    }

    /// Reads a call; of one that changes a file the lines that it writes.
    fn read_call(&mut self, name: &str, input: &Value, changes: bool) {
        let (mut line, mut kept) = (format!("{name} "), None);
        write_line(&mut line, input);
        let mut is_old = false;
        each_text(input, &mut |text, is_key| {
            if is_key {
                is_old = text.starts_with("old");
            } else if changes && !is_old && text.contains('\n') {
                ends(text, TEXT_BYTES)
                    .into_iter()
                    .rev()
                    .for_each(|end| self.mentions.read(end, Source::Call));
            } else {
                self.mentions.read_argument(head(text, ARGUMENT_BYTES), &line, &mut kept);
            }
        });
    }

    fn read_ends(&mut self, text: &str, by: Source) {
        for end in ends(&without_styles(text), TEXT_BYTES).into_iter().rev() {
            self.mentions.read(end, by);
        }
    }

    /// Keeps a call until its result comes; of its arguments what is needed then.
    fn on_call(&mut self, id: &str, name: &str, input: &Value, at: u32, vocabulary: &ToolVocabulary) {
        let changes = matches!(vocabulary.call_role(name, input), Some(ToolRole::Edit | ToolRole::Write));
        let (replaced, moves_lines) = if changes { replaced_lines(input) } else { (Vec::new(), false) };
        let ticked = changes.then(|| ticked(input)).flatten();
        let defines = if changes { Definitions::of_call(input) } else { Definitions::default() };
        let replaces_all = changes && input.get("replace_all").and_then(Value::as_bool) == Some(true);
        let input = match input {
            Value::Object(map) if changes && vocabulary.path(input).is_some() => {
                let is_needed =
                    |key: &String| key == "command" || vocabulary.path_keys.contains(&key.as_str());
                Value::Object(
                    map.iter()
                        .filter(|(key, _)| is_needed(key))
                        .map(|(k, v)| (k.clone(), v.clone()))
                        .collect(),
                )
            }
            other => other.clone(),
        };
        if self.open_calls.len() == MOST_OPEN {
            self.open_calls.remove(0);
        }
        self.open_calls.push(OpenCall {
            id: id_key(id),
            name: name.to_owned(),
            input,
            at,
            is_alone: false,
            replaced,
            moves_lines,
            replaces_all,
            ticked,
            defines,
        });
    }

    fn on_result(
        &mut self,
        id: &str,
        tool_name: &str,
        content: &[Block],
        Ended { is_error, is_refusal }: Ended,
        at: u32,
        vocabulary: &ToolVocabulary,
    ) {
        let id = id_key(id);
        let open =
            self.open_calls.iter().rposition(|call| call.id == id).map(|at| self.open_calls.remove(at));
        let mut label = open.as_ref().map_or_else(|| tool_name.to_owned(), |call| call.label(vocabulary));
        if is_cleared(content) {
            if let Some(command) = open.as_ref().filter(|_| !is_error).and_then(OpenCall::command) {
                self.ran_unseen(&command, at);
            }
            return;
        }
        let output = whole_text(content);
        let output = &*without_styles(&output);
        if label == tool_name
            && let Some(path) = open_file(output)
        {
            label.extend([" ", path]);
        }
        self.mentions.label(&label);
        let role = open
            .as_ref()
            .map_or_else(|| vocabulary.role(tool_name), |call| vocabulary.call_role(tool_name, &call.input));
        let changes = matches!(role, Some(ToolRole::Edit | ToolRole::Write));
        if let Some(call) = open.as_ref().filter(|call| changes && (is_error || is_refusal) && call.is_alone)
        {
            // What it would have written is in no file.
            self.mentions.overtake(&[call.at]);
        }
        // The task list, changes and refusals are kept as such.
        let says_nothing =
            role == Some(ToolRole::Plan) || changes && !is_error && !output.contains('\n') || is_refusal;
        for text in content.iter().rev().filter_map(Block::as_text) {
            if says_nothing {
                self.mentions.read_names(&without_styles(text), Source::Tool);
            } else {
                self.read_ends(&with_paths(text), Source::Tool);
            }
        }
        let Some(call) = open else { return };
        for answer in answers(&call.name, &call.input, output, is_error, is_refusal) {
            if matches!(answer, Answer::Approved { .. }) {
                self.turns.approved(&call.name);
                self.approved = field(&call.input, "plan")
                    .and_then(Value::as_str)
                    .map(|plan| Noted::new(excerpt(plan.trim(), PLAN_BYTES), at));
            }
            if matches!(answer, Answer::Refused { .. }) {
                // A note for a refused call is refused too.
                self.turns.current().notes.retain(|note| note.at != call.at);
            }
            let line = answer_line(&answer);
            self.ledger.answered(&answer, &line);
            self.turns.current().answered(line);
        }
        let is_answer_of_user = is_refusal || asks_the_user(&call.name) || proposes_a_plan(&call.name);
        if is_answer_of_user && let Some(words) = rejected_words(output) {
            self.ledger.refused(words, at);
            self.mentions.read(words, Source::User);
            let refused = self.turns.current().refused().filter(|_| is_answer(words)).map(str::to_owned);
            self.on_request(words, at);
            self.turns.current().to = Untrusted::new(refused.unwrap_or_default());
        }
        if is_answer_of_user && (is_refusal || is_rejection(output)) {
            return;
        }
        if self.tasks.observe(&call.name, &call.input, Some(output)) {
            self.ledger.tasks_at = Some(at);
        }
        self.answered(&call, output, is_error, at, vocabulary);
    }
}

/// The end of a call, as its host records it.
#[derive(Clone, Copy, Debug)]
struct Ended {
    is_error: bool,
    /// True if the user refused it.
    is_refusal: bool,
}

/// Reports whether the user withdraws the last words: "you can undo that, it was the log".
fn withdraws(words: &str) -> bool {
    const VERBS: [&str; 2] = ["undo", "revert"];
    const WHAT: [&str; 3] = ["that", "this", "it"];
    let words: Vec<String> = plain_words(head(words, 200)).map(str::to_lowercase).collect();
    words.windows(2).any(|pair| VERBS.contains(&pair[0].as_str()) && WHAT.contains(&pair[1].as_str()))
}

/// Reports whether it is a short note of the host; long or tagged text is no reason.
fn is_note(text: &str) -> bool {
    let text = text.trim();
    text.chars().count() <= DECIDED_CHARS
        && !text.starts_with(['<', '['])
        && !text.starts_with("Caveat:")
        && !text.contains('\n')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_of_several_texts_is_read_whole() {
        let command = json!({ "command": "grep -n cart src/shop.rs" });
        let result = |texts: &[&str]| Message::ToolResult {
            tool_call_id: "c1".to_owned(),
            tool_name: "Bash".to_owned(),
            content: texts.iter().map(|text| Block::text(*text)).collect(),
            is_error: false,
            is_refusal: false,
        };
        let shown = |texts: &[&str]| {
            let call = Message::assistant_blocks(vec![Block::call("c1", "Bash", command.clone())]);
            let messages = [Message::user("find the cart"), call, result(texts)];
            let facts = Facts::default().with_messages(&messages, &ToolVocabulary::default());
            facts
                .turns()
                .iter()
                .next_back()
                .map(|turn| turn.runs.iter().map(|run| run.lines.clone()).collect())
        };
        let done = "<system>Command executed successfully.</system>";
        assert_eq!(shown(&[done, ""]), Some(vec![vec![Untrusted::new("no match".to_owned())]]));
        assert_eq!(shown(&[done, "12-\n13:let cart = 1;"]), Some(Vec::new()));
    }

    #[test]
    fn colors_are_no_part_of_a_line() {
        let message = Message::BashExecution {
            command: "pytest".to_owned(),
            output: "\u{1b}[31m\u{1b}[1mFAILED\u{1b}[0m tests/cart.py::test_sum - assert 1 == 2".to_owned(),
            exit_code: Some(1),
        };
        let facts = Facts::default().with_messages(&[message], &ToolVocabulary::default());
        let lines: Vec<_> = facts.failures().newest().flat_map(|it| it.lines.clone()).collect();
        assert_eq!(lines, [Untrusted::new("FAILED tests/cart.py::test_sum - assert 1 == 2".to_owned())]);
    }

    #[test]
    fn a_cause_replaces_guesses_and_causes_for_which_nothing_was_changed() {
        let says = |text: &str, nth: usize| {
            let (id, path) = (format!("c{nth}"), json!({ "file_path": "src/hook.rs", "content": "x" }));
            let tool = if text.contains("repaired") { "Write" } else { "Bash" };
            let input = if tool == "Write" { path } else { json!({ "command": "ls" }) };
            let call = Message::assistant_blocks(vec![Block::text(text), Block::call(&id, tool, input)]);
            [call, Message::tool_result(&id, tool, "done")]
        };
        let read = |texts: &[&str]| {
            let said = texts.iter().enumerate().flat_map(|(nth, text)| says(text, nth));
            let messages: Vec<Message> =
                std::iter::once(Message::user("Why does the hook fail?")).chain(said).collect();
            let facts = Facts::default().with_messages(&messages, &ToolVocabulary::default());
            let n_notes = facts.turns().iter().map(|turn| turn.notes.len()).sum::<usize>();
            (n_notes, facts.decided().len())
        };
        let guess = "The settings file is missing, which likely breaks the hook.";
        let first = "Found the root cause: the prompt for telemetry waits for a terminal.";
        let second = "The root cause is the branch, which is older than the settings.";
        let repaired = "The prompt is repaired in the hook now.";
        assert_eq!(read(&[guess]), (1, 0));
        assert_eq!(read(&[guess, first, second]), (2, 1));
        assert_eq!(read(&[first, repaired, second]).1, 2);
    }
}
