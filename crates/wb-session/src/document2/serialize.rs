//! A conversation as plain text for a summarizer, so that no model takes it for one to go on with.

use std::borrow::Cow;

use wb_message::text::{head, tail};
use wb_message::{Block, Message, markers};

/// The most bytes of one result that the text shows by default: pi shows as many UTF-16 units.
const DEFAULT_RESULT_BYTES: usize = 2000;

/// Options for the text of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SerializeOpts {
    /// Shows the model's thinking.
    pub include_thinking: bool,
    /// The most bytes of one result, its head and its tail with a constant mark between; none shows
    /// all.
    pub max_result_bytes: Option<usize>,
    /// Escapes lines of a body that look like a label, and the tags that this crate writes, so that
    /// no tool can speak as the user.
    pub guarded: bool,
}

impl SerializeOpts {
    /// Shows everything unchanged.
    pub const WHOLE: Self = Self { include_thinking: true, max_result_bytes: None, guarded: false };
}

impl Default for SerializeOpts {
    fn default() -> Self {
        Self { include_thinking: true, max_result_bytes: Some(DEFAULT_RESULT_BYTES), guarded: true }
    }
}

/// Writes prompts, answers and results as text in labelled parts with blank lines between.
///
/// The labels are `[User]: `, `[Assistant thinking]: `, `[Assistant]: `, `[Assistant tool calls]: `
/// with `name(key=JSON, …)` joined by `; `, and `[Tool result]: `. Other messages are to be
/// [converted](crate::convert_to_llm) first; they and pictures are not shown.
pub fn serialize_conversation(messages: &[Message], opts: SerializeOpts) -> String {
    let mut text = Parts { out: String::new(), opts };
    for message in messages {
        match message {
            Message::User { content, .. } => text.push("[User]: ", &content.texts().collect::<String>()),
            Message::Assistant { content, .. } => text.push_answer(content),
            Message::ToolResult { content, .. } => text.push_result(content),
            _ => {}
        }
    }
    text.out
}

/// The beginnings of lines that name the speaker.
const LABEL_STARTS: [&str; 3] = ["[User]", "[Assistant", "[Tool result]"];
/// The names of the tags around the input of a summarizer.
const FENCES: [&str; 2] = ["conversation", "previous-summary"];
/// The characters that end a line for some reader.
const LINE_ENDS: [char; 5] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

/// The text as it grows.
struct Parts {
    out: String,
    opts: SerializeOpts,
}

impl Parts {
    /// Adds a part unless it is empty.
    fn push(&mut self, label: &str, body: &str) {
        if !body.is_empty() {
            self.push_joined(label, "", [body].into_iter(), String::push_str);
        }
    }

    fn push_answer(&mut self, content: &[Block]) {
        let include_thinking = self.opts.include_thinking;
        let thinking = content.iter().filter(|_| include_thinking).filter_map(|block| match block {
            Block::Thinking { text, .. } => Some(text.as_str()),
            _ => None,
        });
        self.push_joined("[Assistant thinking]: ", "\n", thinking, String::push_str);
        let texts = content.iter().filter_map(Block::as_text);
        self.push_joined("[Assistant]: ", "\n", texts, String::push_str);
        let calls = content.iter().filter(|block| matches!(block, Block::ToolCall { .. }));
        self.push_joined("[Assistant tool calls]: ", "; ", calls, push_call);
    }

    fn push_result(&mut self, content: &[Block]) {
        let mut body: String = content.iter().filter_map(Block::as_text).collect();
        if let Some(max) = self.opts.max_result_bytes.filter(|max| body.len() > *max) {
            let room = max.saturating_sub(markers::CLIP_MARK.len());
            body = [head(&body, room - room / 2), markers::CLIP_MARK, tail(&body, room / 2)].concat();
        }
        self.push("[Tool result]: ", &body);
    }

    /// Adds a part made of items, unless there is none.
    fn push_joined<T>(
        &mut self,
        label: &str,
        between: &str,
        items: impl Iterator<Item = T>,
        push: impl Fn(&mut String, T),
    ) {
        let mut start = None;
        for item in items {
            if start.is_some() {
                self.out.push_str(between);
            } else {
                self.out.push_str(if self.out.is_empty() { "" } else { "\n\n" });
                self.out.push_str(label);
                start = Some(self.out.len());
            }
            push(&mut self.out, item);
        }
        if let Some(start) = start.filter(|start| self.opts.guarded && is_harmful(&self.out[*start..])) {
            let body = self.out.split_off(start);
            push_harmless(&mut self.out, &body);
        }
    }
}

fn is_harmful(body: &str) -> bool {
    LABEL_STARTS.iter().any(|label| body.contains(label)) || fences(body).next().is_some()
}

/// Returns a text in which no tag can close the fence of a summarizer's input: such a tag gets `‹`
/// for its bracket, in any case of letters and with blanks inside too.
pub fn without_fences(text: &str) -> Cow<'_, str> {
    let (mut out, mut copied) = (String::new(), 0);
    for at in fences(text) {
        out.extend([&text[copied..at], "‹"]);
        copied = at + 1;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Returns where our tags begin in a text.
fn fences(text: &str) -> impl Iterator<Item = usize> {
    text.match_indices('<').map(|(at, _)| at).filter(|at| {
        let inner = text[at + 1..].trim_start();
        let inner = inner.strip_prefix('/').unwrap_or(inner).trim_start();
        let is_name =
            |name: &str| inner.get(..name.len()).is_some_and(|word| word.eq_ignore_ascii_case(name));
        FENCES.into_iter().any(is_name)
    })
}

/// Adds a body with `> ` before each line but the first that looks like a label, and our tags
/// spoiled.
fn push_harmless(out: &mut String, body: &str) {
    let body = without_fences(body);
    for (nth, line) in body.split_inclusive(LINE_ENDS).enumerate() {
        if nth > 0 && LABEL_STARTS.iter().any(|label| line.trim_start().starts_with(label)) {
            out.push_str("> ");
        }
        out.push_str(line);
    }
}

fn push_call(out: &mut String, call: &Block) {
    let Block::ToolCall { name, input, .. } = call else { return };
    out.push_str(name);
    out.push('(');
    let arguments = input.as_object().into_iter().flatten();
    for (at, (key, value)) in arguments.enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        out.push_str(key);
        out.push('=');
        wb_message::text::json_into(out, value);
    }
    out.push(')');
}
