//! The local digest: what a reader needs to resume, taken from the transcript without a model.

use std::borrow::{Borrow, Cow};
use std::fmt::Write;
use std::iter::{once, repeat};

use serde_json::Value;
use wb_message::markers::{digest_body, is_pinned, is_synthetic};
use wb_message::text::{clip, one_line, one_line_into, tidy};
use wb_message::{Message, Pairing, ToolVocabulary};

use crate::digest::{MODIFIED, NAMES, READ, Section, Sections};
pub use crate::digest_merge::{ACTIVE, UNRESOLVED};
use crate::digest_merge::{EARLIER, ENDED, FIRST, LATEST, N_ENTRIES, carry, elided_line, leading};
use crate::notes::{Failure, N_PATHS, Newest, Words, Work, place};

/// Bytes of a user's request that are kept verbatim.
pub const REQUEST_BYTES: usize = 1200;
/// Characters of any other line.
const LINE_CHARS: usize = 200;

/// Takes the local digest of messages from a transcript; the same input gives the same sections.
///
/// `pairing` is that of the messages or of a transcript that starts with them. System texts, earlier digests
/// and restored files are not read; `prior` is the text of earlier digests, which is carried section by section.
/// Messages are read from the newest back, and no further than what the digest has room for.
pub fn local_sections<M: Borrow<Message>>(
    messages: &[M],
    pairing: &Pairing,
    vocabulary: &ToolVocabulary,
    prior: Option<&str>,
) -> Sections {
    let prior = prior.map(Sections::parse).unwrap_or_default();
    let unresolved = prior.entries(Section::Status).iter().map(String::as_str);
    let unresolved = unresolved.filter(|entry| entry.starts_with(UNRESOLVED)).collect();
    let notes = Notes {
        words: Words::of(messages, vocabulary),
        work: Work::of(messages, pairing, vocabulary, unresolved),
    };
    let n_elided = messages.iter().filter(|message| !is_pinned((*message).borrow())).count();
    notes.sections(n_elided, &prior)
}

/// What the sections are made of.
#[derive(Debug)]
struct Notes<'a, 'p> {
    words: Words<'a>,
    work: Work<'a, 'p>,
}

impl Notes<'_, '_> {
    fn sections(&self, n_elided: usize, prior: &Sections) -> Sections {
        let mut out = Sections::default();
        self.objective(&mut out, prior);
        for line in self.words.constraints.iter() {
            out.add(Section::Guardrails, bullet(line));
        }
        self.status(&mut out, prior);
        for line in self.words.decided.iter() {
            out.add(Section::Rationale, bullet(line));
        }
        for todo in self.words.todos.map(open_todos).unwrap_or_default() {
            out.add(Section::Plan, todo);
        }
        self.carryover(&mut out, n_elided, prior);
        carry(&mut out, prior, |it| it.starts_with(UNRESOLVED) && !self.work.unresolved.contains(&it));
        out
    }

    /// The first request leads, since the digest that carried it may be gone; then the newest.
    fn objective(&self, out: &mut Sections, prior: &Sections) {
        let own_first = self.words.first_request.filter(|_| prior.is_empty());
        if let Some(first) = leading(prior) {
            out.add(Section::Objective, first.clone());
        } else if let Some(text) = own_first.and_then(verbatim) {
            out.add(Section::Objective, [FIRST, " ", &text].concat());
        }
        let newest = self.words.requests.iter().filter(|request| Some(**request) != own_first);
        for (text, label) in
            newest.filter_map(|request| verbatim(request)).zip(once(LATEST).chain(repeat(EARLIER)))
        {
            out.add(Section::Objective, [label, " ", &text].concat());
        }
    }

    fn status(&self, out: &mut Sections, prior: &Sections) {
        path_entries(out, Section::Status, MODIFIED, &self.work.modified, prior);
        let carried = prior.entries(Section::Status).iter().find(|entry| entry.starts_with(ACTIVE));
        let said = self.words.said.map(|said| labelled(ACTIVE, said, LINE_CHARS * 2));
        if let Some(active) = said.or_else(|| carried.cloned()) {
            out.add(Section::Status, active);
        }
        for Failure { what, path, line } in self.work.errors.iter() {
            let line = [&place(what, path.as_ref()), ": ", line].concat();
            out.add(Section::Status, labelled(UNRESOLVED, &line, LINE_CHARS));
        }
    }

    fn carryover(&self, out: &mut Sections, n_elided: usize, prior: &Sections) {
        out.add(Section::Carryover, elided_line(n_elided, prior));
        path_entries(out, Section::Carryover, READ, &self.work.read, prior);
        for (command, outcome) in self.work.commands.iter() {
            let mut entry = labelled("- `", command, LINE_CHARS / 2);
            // Writing into a string cannot fail.
            _ = write!(entry, "{ENDED}{outcome}");
            out.add(Section::Carryover, entry);
        }
        let own = self.words.names.iter().map(|name| one_line(name, LINE_CHARS / 2));
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

fn bullet(line: &str) -> String {
    labelled("- ", line.trim().trim_start_matches("- "), LINE_CHARS)
}

/// Returns a text on one line behind a label.
fn labelled(label: &str, text: &str, max_chars: usize) -> String {
    let mut line = String::with_capacity(label.len() + text.len().min(max_chars + '…'.len_utf8()));
    line.push_str(label);
    one_line_into(&mut line, text, max_chars);
    line
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
    for path in newest.iter().map(Cow::as_ref).chain(carried.flat_map(|line| line.split(", "))) {
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

/// Returns what the earlier digests among messages say, oldest first, nothing if there is none.
pub fn carried_digest<M: Borrow<Message>>(messages: &[M]) -> Option<String> {
    let bodies: Vec<_> = messages.iter().filter_map(|message| digest_body(message.borrow())).collect();
    let said = bodies.iter().map(|body| body.trim()).filter(|body| !body.is_empty());
    let carried = said.collect::<Vec<_>>().join("\n\n");
    (!carried.is_empty()).then_some(carried)
}

/// Returns whether folding these messages would say anything that digests and restored files do not say already.
pub fn has_news<M: Borrow<Message>>(messages: &[M]) -> bool {
    let is_new = |message: &Message| !is_synthetic(message) && !is_pinned(message);
    messages.iter().any(|message| is_new(message.borrow()))
}
