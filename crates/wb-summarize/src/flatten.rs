//! Renders messages into the lines that a summarizer reads.

use std::borrow::{Borrow, Cow};

use wb_message::block::shown_text;
use wb_message::markers::{CLIP_MARK, Visibility, digest_body, is_dropped_mark, restored_file, visibility};
use wb_message::text::{json_into, tidy_into};
use wb_message::{Block, Content, Message, text};

/// Starts every line that names who speaks.
pub const TURN_MARK: char = '»';

/// Longest name of a tool or note in a label.
const MAX_NAME_BYTES: usize = 80;

/// Tags that fence parts of the prompt.
const FENCES: [&str; 2] = ["scrollback", "carried-digest"];

/// Renders a transcript as `» role: …` lines; messages with nothing to show are skipped.
///
/// This is the recorded rendering, in which a body may contain anything, including a mark or a
/// fence. The runner sends the rendering of [`Flattener::guarded`].
pub fn flatten_transcript(messages: &[Message]) -> String {
    let flattener = Flattener::plain();
    let mut out = String::with_capacity(flattener.rendered_hint(messages));
    flattener.flatten(&mut out, messages);
    out
}

/// Appends the result of [`flatten_transcript`] to a caller's buffer; allocates nothing if it has
/// room.
pub fn flatten_into(out: &mut String, messages: &[Message]) {
    Flattener::plain().flatten(out, messages);
}

/// The rendering of messages.
#[derive(Clone, Copy, Debug)]
pub struct Flattener {
    /// Longest body in bytes; what exceeds it keeps its head and tail.
    max_body_bytes: usize,
    /// True to make marks and fences inside bodies harmless.
    guard: bool,
}

impl Flattener {
    /// Renders as recorded: whole bodies, nothing neutralised.
    pub fn plain() -> Self {
        Self { max_body_bytes: usize::MAX, guard: false }
    }

    /// Renders for a model: bodies have at most `body_bytes` bytes, no line in them can open with
    /// the turn mark, and no fence can be closed; earlier digests are left out and restored files
    /// are named only.
    pub fn guarded(max_body_bytes: usize) -> Self {
        Self { max_body_bytes, guard: true }
    }

    /// Appends the lines of a transcript.
    pub fn flatten<M: Borrow<Message>>(self, out: &mut String, messages: &[M]) {
        let start = out.len();
        for message in messages {
            let before = out.len();
            if before > start {
                out.push('\n');
            }
            if !self.message(out, message.borrow()) {
                out.truncate(before);
            }
        }
    }

    /// Returns about how many bytes messages render to.
    pub(crate) fn rendered_hint<M: Borrow<Message>>(self, messages: &[M]) -> usize {
        messages.iter().map(|message| self.size_hint(message.borrow())).sum()
    }

    /// Returns about how many bytes a message renders to, so that a fresh buffer seldom grows.
    fn size_hint(self, message: &Message) -> usize {
        const LABEL: usize = 24;
        let texts = |content: &Content| content.texts().map(|text| text.len() + 1).sum::<usize>();
        let bytes = match message {
            Message::User { content, .. } => {
                let results = content.blocks().iter().filter(|_| self.guard).map(result_hint);
                texts(content) + results.sum::<usize>()
            }
            Message::Custom { custom_type, content } => custom_type.len() + texts(content),
            Message::Assistant { content, error_message } => {
                let blocks = content.iter().map(|block| block_hint(block).min(self.max_body_bytes));
                let error =
                    error_message.as_ref().map_or(0, |error| error.len().min(self.max_body_bytes) + LABEL);
                return blocks.sum::<usize>() + error;
            }
            Message::ToolResult { tool_name, content, .. } => {
                tool_name.len() + content.iter().filter_map(Block::as_text).map(str::len).sum::<usize>()
            }
            Message::BashExecution { command, output, .. } => command.len() + output.len(),
            Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
                summary.len()
            }
        };
        LABEL + bytes.min(self.max_body_bytes.saturating_add(LABEL))
    }

    /// Appends one message; false if it has nothing to show.
    fn message(self, out: &mut String, message: &Message) -> bool {
        if self.guard && is_left_out(message) {
            return false;
        }
        match message {
            Message::User { content, .. } => match restored_file(message) {
                Some((path, _)) if self.guard => self.labelled(out, "» note (restored file): ", path),
                _ if self.guard && content.blocks().iter().any(Block::is_tool_result) => {
                    self.carrier(out, content)
                }
                _ => self.content(out, &["» you: "], content),
            },
            Message::Assistant { content, error_message } => {
                let error = error_message.as_deref().filter(|_| self.guard).unwrap_or_default();
                self.assistant(out, content, error)
            }
            Message::ToolResult { tool_name, content, is_error, .. } => {
                let label = if *is_error { "» tool!err (" } else { "» tool (" };
                out.extend([label, &self.name(tool_name), "): "]);
                self.blocks(out, content);
                true
            }
            Message::BashExecution { command, output, exit_code } => {
                self.shell(out, command, output, *exit_code);
                true
            }
            Message::Custom { custom_type, content } => {
                self.content(out, &["» note (", &self.name(custom_type), "): "], content)
            }
            Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
                self.labelled(out, "» digest: ", summary)
            }
        }
    }

    fn labelled(self, out: &mut String, label: &str, body: &str) -> bool {
        out.push_str(label);
        let start = out.len();
        self.body(out, body);
        out.len() > start
    }

    fn content(self, out: &mut String, label: &[&str], content: &Content) -> bool {
        out.extend(label.iter().copied());
        let start = out.len();
        match content {
            Content::Text(text) => self.body(out, text),
            Content::Blocks(blocks) => self.blocks(out, blocks),
        }
        out.len() > start
    }

    /// Appends the tool results in a user message, each under its label, then the user's words.
    fn carrier(self, out: &mut String, content: &Content) -> bool {
        for block in content.blocks() {
            let Block::ToolResult { output, is_error, .. } = block else { continue };
            out.push_str(if *is_error == Some(true) { "» tool!err: " } else { "» tool: " });
            match output.as_str() {
                Some(text) => self.body(out, text),
                None => self.json(out, output),
            }
            out.push('\n');
        }
        let before = out.len();
        if !self.content(out, &["» you: "], content) {
            out.truncate(before - 1);
        }
        true
    }

    /// Appends text blocks and `[image]` marks, one per line, tidied as one text.
    fn blocks(self, out: &mut String, blocks: &[Block]) {
        self.body(out, &shown_text(blocks));
    }

    /// A name inside a label; one that is no plain word is made one line and harmless.
    fn name(self, name: &str) -> Cow<'_, str> {
        let plain = name.len() <= MAX_NAME_BYTES && !name.contains(LINE_ENDS) && !is_harmful(name);
        if plain || !self.guard {
            return Cow::Borrowed(name);
        }
        let mut safe = String::new();
        unfence_into(&mut safe, &text::one_line(name, MAX_NAME_BYTES));
        Cow::Owned(safe.replace(TURN_MARK, ">"))
    }

    fn assistant(self, out: &mut String, content: &[Block], error: &str) -> bool {
        let start = out.len();
        for block in content {
            let before = out.len();
            if before > start {
                out.push('\n');
            }
            let shown = match block {
                Block::Text { text } => self.labelled(out, "» agent: ", text),
                Block::Thinking { text, .. } => self.labelled(out, "» agent.plan: ", text),
                Block::ToolCall { name, input, .. } => {
                    out.extend(["» agent.call ", &self.name(name), ": "]);
                    self.json(out, input);
                    true
                }
                _ => false,
            };
            if !shown {
                out.truncate(before);
            }
        }
        if !error.trim().is_empty() {
            out.push_str(if out.len() > start { "\n» agent!err: " } else { "» agent!err: " });
            self.body(out, error);
        }
        out.len() > start
    }

    fn json(self, out: &mut String, input: &serde_json::Value) {
        let start = out.len();
        json_into(out, input);
        // JSON text holds no LF, but a fence, or a mark after another line end.
        if self.guard && (out.len() - start > self.max_body_bytes || is_harmful(&out[start..])) {
            let whole = out.split_off(start);
            self.body(out, &whole);
        }
    }

    fn shell(self, out: &mut String, command: &str, output: &str, exit_code: Option<i32>) {
        out.push_str("» shell$ ");
        self.body(out, command);
        match exit_code {
            Some(code) => out.extend([" [exit ", &code.to_string(), "]\n"]),
            None => out.push_str(" [exit n/a]\n"),
        }
        self.body(out, output);
    }

    /// Appends one body: clipped, tidied, made harmless.
    fn body(self, out: &mut String, body: &str) {
        let start = out.len();
        tidy_into(out, &text::clip(body, self.max_body_bytes));
        if self.guard && is_harmful(&out[start..]) {
            let raw = out.split_off(start);
            neutralise_into(out, &raw);
        }
    }
}

fn block_hint(block: &Block) -> usize {
    const LABEL: usize = 24;
    match block {
        Block::Text { text } | Block::Thinking { text, .. } => text.len() + LABEL,
        Block::ToolCall { name, input, .. } => name.len() + json_hint(input) + LABEL,
        _ => 0,
    }
}

fn result_hint(block: &Block) -> usize {
    match block {
        Block::ToolResult { output, .. } => json_hint(output),
        _ => 0,
    }
}

/// Returns about how many bytes a value has as JSON: strings with a tenth for escapes.
fn json_hint(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    match value {
        Value::String(text) => text.len() + text.len() / 10 + 3,
        Value::Array(items) => 2 + items.iter().map(json_hint).sum::<usize>(),
        Value::Object(map) => {
            2 + map.iter().map(|(key, value)| key.len() + 4 + json_hint(value)).sum::<usize>()
        }
        _ => 8,
    }
}

/// Returns whether a message is hidden from a summarizer: digests are carried, marks are empty, and
/// internal texts are inserted anew each turn.
fn is_left_out(message: &Message) -> bool {
    let internal = visibility(message) == Visibility::Internal;
    internal || is_dropped_mark(message) || digest_body(message).is_some()
}

fn is_harmful(body: &str) -> bool {
    body.contains(TURN_MARK) || has_tag(body, &FENCES)
}

/// Returns whether a text contains a tag of one of these names.
fn has_tag(text: &str, names: &[&str]) -> bool {
    text.match_indices('<').any(|(at, _)| tag_end(text, at, names).is_some())
}

/// Returns the end of a tag of one of these names that starts at a `<`, as a model may read it: in
/// any case, and with blanks inside.
pub(crate) fn tag_end(text: &str, at: usize, names: &[impl AsRef<str>]) -> Option<usize> {
    let inner = text[at + 1..].trim_start();
    let inner = inner.strip_prefix('/').unwrap_or(inner).trim_start();
    let is_name = |name: &&str| inner.get(..name.len()).is_some_and(|word| word.eq_ignore_ascii_case(name));
    let name = names.iter().map(AsRef::as_ref).find(is_name)?;
    let rest = inner[name.len()..].trim_start().strip_prefix('>')?;
    Some(text.len() - rest.len())
}

/// Appends a body in which a mark that opens a line becomes `>` and a fence loses its angle
/// bracket.
///
/// A line opens after any character that a model may take for a line end; white space or characters
/// without width before the mark do not hide it.
pub(crate) fn neutralise_into(out: &mut String, body: &str) {
    let start = out.len();
    let mut opens = true;
    for c in body.chars() {
        out.push(if opens && c == TURN_MARK { '>' } else { c });
        opens = LINE_ENDS.contains(&c) || (opens && (c.is_whitespace() || is_widthless(c)));
    }
    if has_tag(&out[start..], &FENCES) {
        let fenced = out.split_off(start);
        unfence_into(out, &fenced);
    }
}

const LINE_ENDS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
/// Characters without width: joiners, marks of direction, the soft hyphen.
fn is_widthless(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Appends a text in which each fence loses its angle bracket.
fn unfence_into(out: &mut String, text: &str) {
    let mut copied = 0;
    for (at, _) in text.match_indices('<').filter(|(at, _)| tag_end(text, *at, &FENCES).is_some()) {
        out.push_str(&text[copied..at]);
        out.push_str("&lt;");
        copied = at + 1;
    }
    out.push_str(&text[copied..]);
}

/// The least `max_body_bytes` of a caller: a clipped body keeps some text on both sides.
pub(crate) const MIN_BODY_BYTES: usize = CLIP_MARK.len() * 8;
