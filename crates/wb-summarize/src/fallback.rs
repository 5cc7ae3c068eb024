//! The local digest: what a reader needs to resume, taken from the transcript without a model.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::iter::{once, repeat};

use serde_json::Value;
use wb_message::marks::{Visibility, digest_body, is_pinned, is_prompt, is_synthetic, visibility};
use wb_message::text::{clip, one_line, tidy};
use wb_message::tools::normal_path;
use wb_message::{Block, Message, Pairing, ToolRole, ToolVocabulary};

pub use crate::carried::{ACTIVE, STUCK};
use crate::carried::{EARLIER, ENDED, FIRST, LATEST, N_ENTRIES, carry, elided_line, is_nod, leading};
use crate::digest::{MODIFIED, NAMES, READ, Section, Sections};
use crate::telling::{is_constraint, is_decision, is_identifier, says_something, telling_line};

/// Bytes of a user's request that are kept verbatim.
pub const REQUEST_BYTES: usize = 1200;
/// Characters of any other line.
const LINE_CHARS: usize = 200;
/// Requests kept beside the first one.
const N_REQUESTS: usize = 4;
/// Errors and decisions kept.
const N_ERRORS: usize = 6;
/// Paths kept of each kind.
const N_PATHS: usize = 40;

/// Takes the local digest of messages from a transcript; the same input gives the same sections.
///
/// `pairing` is that of the messages or of a transcript that starts with them. System texts, earlier digests
/// and restored files are not read; `prior` is the text of earlier digests, which is carried section by section.
pub fn local_sections<M: std::borrow::Borrow<Message>>(
    messages: &[M],
    pairing: &Pairing,
    vocabulary: &ToolVocabulary,
    prior: Option<&str>,
) -> Sections {
    let prior = prior.map(Sections::parse).unwrap_or_default();
    let mut notes = Notes::default();
    notes.stuck.extend(prior.entries(Section::Status).iter().filter(|entry| entry.starts_with(STUCK)));
    let mut pairs = pairing.pairs().iter().peekable();
    for (at, message) in messages.iter().map(std::borrow::Borrow::borrow).enumerate() {
        while let Some(pair) = pairs.next_if(|pair| pair.result as usize == at) {
            if let Some((_, name, input)) = pair.call.find(messages) {
                notes.answered(vocabulary.role(name), vocabulary.path(input), Call { name, input }, message);
            }
        }
        notes.message(message, vocabulary);
    }
    let n_elided = messages.iter().filter(|message| !is_pinned((*message).borrow())).count();
    notes.sections(n_elided, &prior)
}

/// Keeps the newest entries up to a bound; one that comes again moves to the end.
#[derive(Debug)]
struct Newest<T>(VecDeque<T>);

impl<T> Default for Newest<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: PartialEq> Newest<T> {
    fn push(&mut self, entry: T, bound: usize) {
        if let Some(known) = self.0.iter().position(|known| *known == entry) {
            self.0.remove(known);
        }
        if self.0.len() == bound {
            self.0.pop_front();
        }
        if self.0.capacity() == 0 {
            self.0.reserve_exact(bound);
        }
        self.0.push_back(entry);
    }

    fn newest_first(&self) -> impl Iterator<Item = &T> {
        self.0.iter().rev()
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Ok,
    Failed,
    Exit(i32),
    Unknown,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ok => f.write_str("ok"),
            Self::Failed => f.write_str("failed"),
            Self::Exit(code) => write!(f, "exit {code}"),
            Self::Unknown => f.write_str("exit n/a"),
        }
    }
}

/// What failed, on which file, and a line that tells why.
#[derive(Clone, Debug, PartialEq)]
struct Failure<'a> {
    what: &'a str,
    path: Option<Cow<'a, str>>,
    line: &'a str,
}

/// What is noted while the messages are read; every list is bounded and borrows from them.
#[derive(Debug, Default)]
struct Notes<'a> {
    first_request: Option<&'a Message>,
    requests: Newest<&'a Message>,
    constraints: Newest<&'a str>,
    read: Newest<Cow<'a, str>>,
    modified: Newest<Cow<'a, str>>,
    commands: Newest<(&'a str, Outcome)>,
    errors: Newest<Failure<'a>>,
    said: Option<&'a str>,
    decided: Newest<&'a str>,
    todos: Option<&'a Value>,
    names: Newest<&'a str>,
    /// What earlier digests say is in the way, as long as it is.
    stuck: Vec<&'a String>,
}

impl<'a> Notes<'a> {
    fn message(&mut self, message: &'a Message, vocabulary: &ToolVocabulary) {
        match message {
            Message::User { content, .. } if is_prompt(message) => {
                if self.requests.0.is_empty() || !is_nod(content.texts()) {
                    self.first_request = self.first_request.or(Some(message));
                    self.requests.push(message, N_REQUESTS);
                }
                for line in content.texts().flat_map(str::lines).filter(|line| is_constraint(line)) {
                    self.constraints.push(line, N_ENTRIES);
                }
                content.texts().for_each(|text| self.name(text));
            }
            Message::Assistant { content, error_message } => {
                self.assistant(content, vocabulary);
                match error_message {
                    Some(error) => self.failed(REQUEST_FAILED, None, error),
                    None => self.worked(REQUEST_FAILED, None),
                }
            }
            Message::BashExecution { command, exit_code, output } => {
                self.ran(command, exit_code.map_or(Outcome::Unknown, Outcome::Exit));
                match (exit_code, telling_line(output)) {
                    (Some(0), _) => self.worked(command, None),
                    (Some(_), Some(line)) => self.failed(command, None, line),
                    _ => {}
                }
            }
            Message::Custom { content, .. }
                if !is_pinned(message) && visibility(message) == Visibility::All =>
            {
                for text in content.texts().filter(|text| !text.trim().is_empty()) {
                    self.decided.push(text, N_ERRORS);
                }
            }
            _ => {}
        }
    }

    fn assistant(&mut self, content: &'a [Block], vocabulary: &ToolVocabulary) {
        for block in content {
            match block {
                Block::Text { text } if !text.trim().is_empty() => {
                    self.name(text);
                    if says_something(text) || !self.said.is_some_and(says_something) {
                        self.said = Some(text);
                    }
                    for line in text.lines().filter(|line| is_decision(line)) {
                        self.decided.push(line, N_ERRORS);
                    }
                }
                Block::ToolCall { name, input, .. } if vocabulary.role(name) == Some(ToolRole::Plan) => {
                    self.todos = Some(input);
                }
                _ => {}
            }
        }
    }

    fn answered(
        &mut self,
        role: Option<ToolRole>,
        path: Option<&'a str>,
        call: Call<'a>,
        result: &'a Message,
    ) {
        let Message::ToolResult { content, is_error, .. } = result else { return };
        let path = path.map(normal_path);
        if *is_error {
            let text = content.iter().find_map(Block::as_text).unwrap_or_default();
            // A command that failed without a word is among the commands.
            let silent = (role != Some(ToolRole::Run)).then_some("no output");
            if let Some(line) = telling_line(text).or(silent) {
                self.failed(call.command(), path.clone(), line);
            }
        } else {
            self.worked(call.command(), path.as_ref());
        }
        match (role, path) {
            (Some(ToolRole::Run), _) => {
                let outcome = if *is_error { Outcome::Failed } else { Outcome::Ok };
                self.ran(call.command(), outcome);
            }
            (Some(ToolRole::Read), Some(path)) if !is_error => self.read.push(path, N_PATHS),
            (Some(ToolRole::Edit | ToolRole::Write), Some(path)) if !is_error => {
                self.modified.push(path, N_PATHS);
            }
            _ => {}
        }
    }

    fn ran(&mut self, command: &'a str, outcome: Outcome) {
        self.commands.0.retain(|(known, _)| *known != command);
        self.commands.push((command, outcome), N_ENTRIES);
    }

    fn failed(&mut self, what: &'a str, path: Option<Cow<'a, str>>, line: &'a str) {
        self.worked(what, path.as_ref());
        self.errors.push(Failure { what, path, line }, N_ERRORS);
    }

    /// Forgets that something failed which works now, or failed again.
    fn worked(&mut self, what: &str, path: Option<&Cow<'_, str>>) {
        self.errors.0.retain(|failure| failure.what != what || failure.path.as_ref() != path);
        if !self.stuck.is_empty() {
            let told = [STUCK, &place(what, path), ": "].concat();
            self.stuck.retain(|entry| !entry.starts_with(&told));
        }
    }

    /// Notes addresses, commit ids and issue numbers.
    fn name(&mut self, text: &'a str) {
        for word in text.split(|c: char| c.is_whitespace() || "()[]<>\"'`,;".contains(c)) {
            let word = word.trim_end_matches(['.', ':', '!', '?']);
            if is_identifier(word) {
                self.names.push(word, N_ENTRIES);
            }
        }
    }

    fn sections(&self, n_elided: usize, prior: &Sections) -> Sections {
        let mut out = Sections::default();
        self.objective(&mut out, prior);
        for line in self.constraints.newest_first() {
            out.add(Section::Guardrails, bullet(line));
        }
        self.status(&mut out, prior);
        for line in self.decided.newest_first() {
            out.add(Section::Rationale, bullet(line));
        }
        for todo in self.todos.map(open_todos).unwrap_or_default() {
            out.add(Section::Plan, todo);
        }
        self.carryover(&mut out, n_elided, prior);
        carry(&mut out, prior, |it| it.starts_with(STUCK) && !self.stuck.iter().any(|stuck| *stuck == it));
        out
    }

    /// The first request leads, since the digest that carried it may be gone; then the newest.
    fn objective(&self, out: &mut Sections, prior: &Sections) {
        let own_first = self.first_request.filter(|_| prior.is_empty());
        if let Some(first) = leading(prior) {
            out.add(Section::Objective, first.clone());
        } else if let Some(text) = own_first.and_then(verbatim) {
            out.add(Section::Objective, [FIRST, " ", &text].concat());
        }
        let newest = self.requests.newest_first().filter(|request| Some(**request) != own_first);
        for (text, label) in
            newest.filter_map(|request| verbatim(request)).zip(once(LATEST).chain(repeat(EARLIER)))
        {
            out.add(Section::Objective, [label, " ", &text].concat());
        }
    }

    fn status(&self, out: &mut Sections, prior: &Sections) {
        path_entries(out, Section::Status, MODIFIED, &self.modified, prior);
        let carried = prior.entries(Section::Status).iter().find(|entry| entry.starts_with(ACTIVE));
        let said = self.said.map(|said| [ACTIVE, &one_line(said, LINE_CHARS * 2)].concat());
        if let Some(active) = said.or_else(|| carried.cloned()) {
            out.add(Section::Status, active);
        }
        for Failure { what, path, line } in self.errors.newest_first() {
            let line = [&place(what, path.as_ref()), ": ", line].concat();
            out.add(Section::Status, [STUCK, &one_line(&line, LINE_CHARS)].concat());
        }
    }

    fn carryover(&self, out: &mut Sections, n_elided: usize, prior: &Sections) {
        out.add(Section::Carryover, elided_line(n_elided, prior));
        path_entries(out, Section::Carryover, READ, &self.read, prior);
        for (command, outcome) in self.commands.newest_first() {
            let command = one_line(command, LINE_CHARS / 2);
            out.add(Section::Carryover, format!("- `{command}{ENDED}{outcome}"));
        }
        let own = self.names.newest_first().map(|name| one_line(name, LINE_CHARS / 2));
        let carried = prior.entries(Section::Carryover).iter().filter_map(|entry| entry.strip_prefix(NAMES));
        let mut names: Vec<String> = Vec::new();
        for name in own.chain(carried.flat_map(|line| line.split(" · ")).map(str::to_owned)) {
            if !names.contains(&name) && names.len() < N_ENTRIES {
                names.push(name);
            }
        }
        if !names.is_empty() {
            out.add(Section::Carryover, [NAMES, &names.join(" · ")].concat());
        }
    }
}

/// A call as the digest names it.
#[derive(Clone, Copy, Debug)]
struct Call<'a> {
    name: &'a str,
    input: &'a Value,
}

impl<'a> Call<'a> {
    fn command(self) -> &'a str {
        self.input.get("command").and_then(Value::as_str).unwrap_or(self.name)
    }
}

/// Returns what failed and on which file, as it is told.
fn place(what: &str, path: Option<&Cow<'_, str>>) -> String {
    let path = path.map(|path| [" ", path].concat()).unwrap_or_default();
    one_line(&[what, path.as_str()].concat(), LINE_CHARS / 2)
}

fn bullet(line: &str) -> String {
    let line = line.trim().trim_start_matches("- ");
    ["- ", &one_line(line, LINE_CHARS)].concat()
}

/// Returns the user's words, clipped, with further lines indented; nothing for a blank request.
fn verbatim(request: &Message) -> Option<String> {
    let Message::User { content, .. } = request else { return None };
    // Twice the bound of each text is more than the clip keeps.
    let mut texts = content.texts().map(|text| clip(text, REQUEST_BYTES * 2));
    let mut words = texts.next().unwrap_or_default();
    for text in texts {
        words.to_mut().push('\n');
        words.to_mut().push_str(&text);
    }
    let words = tidy(&words);
    (!words.is_empty()).then(|| indented(&clip(&words, REQUEST_BYTES)))
}

/// Indents all lines but the first and the empty ones.
fn indented(words: &str) -> String {
    let mut out = String::with_capacity(words.len() + words.matches('\n').count() * 2);
    for (nth, line) in words.split('\n').enumerate() {
        if nth > 0 {
            out.push_str(if line.is_empty() { "\n" } else { "\n  " });
        }
        out.push_str(line);
    }
    out
}

const REQUEST_FAILED: &str = "request failed";

/// Adds paths, newest first and then those that earlier digests list, a few per line so that some fit where not
/// all do.
fn path_entries(
    out: &mut Sections,
    section: Section,
    label: &str,
    newest: &Newest<Cow<'_, str>>,
    prior: &Sections,
) {
    let carried = prior.entries(section).iter().filter_map(|entry| entry.strip_prefix(label));
    let mut paths: Vec<&str> = Vec::with_capacity(N_PATHS);
    for path in newest.newest_first().map(Cow::as_ref).chain(carried.flat_map(|line| line.split(", "))) {
        if !path.is_empty() && !path.contains('\n') && !paths.contains(&path) && paths.len() < N_PATHS {
            paths.push(path);
        }
    }
    for some in paths.chunks(8) {
        out.add(section, [label, &some.join(", ")].concat());
    }
}

/// Returns the tasks of a plan call that are not done: `todos[{content,status}]` or `plan[{step,status}]`.
fn open_todos(input: &Value) -> Vec<String> {
    let list = input.get("todos").or_else(|| input.get("plan")).and_then(Value::as_array);
    let open = list.into_iter().flatten().filter_map(|todo| {
        let what = ["content", "step", "title"].iter().find_map(|key| todo.get(key)?.as_str())?;
        let status = todo.get("status").and_then(Value::as_str).unwrap_or("pending");
        let done = matches!(status, "completed" | "done" | "cancelled");
        (!done).then(|| format!("- [{status}] {}", one_line(what, LINE_CHARS)))
    });
    open.take(N_ENTRIES).collect()
}

/// Returns what the earlier digests among messages say, oldest first, nothing where there is none.
pub fn carried_digest<M: std::borrow::Borrow<Message>>(messages: &[M]) -> Option<String> {
    let bodies: Vec<_> = messages.iter().filter_map(|m| digest_body(m.borrow())).collect();
    let said = bodies.iter().map(|body| body.trim()).filter(|body| !body.is_empty());
    let carried = said.collect::<Vec<_>>().join("\n\n");
    (!carried.is_empty()).then_some(carried)
}

/// Tells whether folding these messages would say anything that digests and restored files do not say already.
pub fn has_news<M: std::borrow::Borrow<Message>>(messages: &[M]) -> bool {
    messages.iter().any(|message| !is_synthetic(message.borrow()) && !is_pinned(message.borrow()))
}
