//! The content of a line, read on demand.

use std::io;

use serde_json::Value;
use wb_message::{Block, Content};
use wb_record::{Line, Parts};

use super::head::{Kind, Origin, is_of_another};
use super::line_maps::ByLine;
use super::rows::{Row, Rows};
use crate::kit::fields::take_text;
use crate::shapes::anthropic_block::{self as block, UserBody, UserPart};

/// The content of a line, as far as the conversation needs it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Body {
    /// Text from the user, a tool result, or text that the host sent in the user's place.
    User { said: UserBody, origin: Origin },
    /// Blocks of one answer of the model.
    Answer(Vec<Block>),
    /// Something that the host showed to the model.
    Attachment { kind: String, content: Content },
    /// The results of these calls are sent as a placeholder from this line on.
    Clearing { ids: Vec<String> },
    /// A line that no model sees.
    #[default]
    Silent,
}

/// The bodies of lines, each read once.
#[derive(Debug)]
pub(crate) struct Bodies<'a> {
    parts: &'a dyn Parts,
    rows: &'a Rows,
    read: ByLine<Body>,
    buffer: Vec<u8>,
}

impl<'a> Bodies<'a> {
    pub(crate) fn new(parts: &'a dyn Parts, rows: &'a Rows) -> Self {
        Self { parts, rows, read: ByLine::default(), buffer: Vec::new() }
    }

    /// Reserves capacity for `n_lines` lines.
    pub(crate) fn reserve(&mut self, n_lines: usize) {
        self.read.reserve(n_lines);
    }

    /// Reads the content of a line, unless it was read before.
    pub(crate) fn load(&mut self, at: usize) -> io::Result<()> {
        if !self.read.contains_key(&at) {
            let body = self.body(&self.rows.all[at])?;
            self.read.insert(at, body);
        }
        Ok(())
    }

    fn body(&mut self, row: &Row) -> io::Result<Body> {
        let span = match row.kind {
            Kind::User(_) | Kind::Answer(_) => row.content_span(),
            Kind::Attachment | Kind::Queued | Kind::Clearing => row.span(),
            Kind::Compaction(_) | Kind::Link => return Ok(Body::Silent),
        };
        self.buffer.clear();
        self.parts.read(&span.part, span.range(), &mut self.buffer)?;
        let json = std::str::from_utf8(&self.buffer).unwrap_or_default();
        Ok(match &row.kind {
            Kind::User(origin) => Body::User { said: block::user_body(json), origin: *origin },
            Kind::Answer(_) => Body::Answer(block::blocks(json)),
            Kind::Clearing => clearing(line(json)),
            Kind::Queued => queued(&line(json)),
            _ => attachment(line(json)),
        })
    }

    /// Returns the content of a line; of one that was not loaded nothing.
    pub(crate) fn get(&self, at: usize) -> &Body {
        self.read.get(&at).unwrap_or(&Body::Silent)
    }

    /// Takes the content of a line; of one that was not loaded nothing.
    pub(crate) fn take(&mut self, at: usize) -> Body {
        self.read.remove(&at).unwrap_or_default()
    }
}

impl Body {
    /// Visits the ids of the calls in an answer.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &str> {
        let blocks: &[Block] = match self {
            Self::Answer(blocks) => blocks,
            _ => &[],
        };
        blocks.iter().filter_map(|block| match block {
            Block::ToolCall { id, .. } => Some(id.as_str()),
            _ => None,
        })
    }

    /// Visits the ids of the calls that a line answers.
    pub(crate) fn results(&self) -> impl Iterator<Item = &str> {
        let parts: &[UserPart] = match self {
            Self::User { said: UserBody::Parts(parts), .. } => parts,
            _ => &[],
        };
        parts.iter().filter_map(|part| match part {
            UserPart::Result { call_id, .. } => Some(call_id.as_str()),
            UserPart::Block(_) => None,
        })
    }
}

/// Parses a whole line; one that is nested too deep has no content.
fn line(json: &str) -> Value {
    Line::alone(1, json.as_bytes()).parse().unwrap_or_default()
}

fn clearing(mut line: Value) -> Body {
    let ids = line.pointer_mut("/microcompactMetadata/compactedToolIds").map(Value::take);
    let Some(Value::Array(ids)) = ids else { return Body::Clearing { ids: Vec::new() } };
    Body::Clearing { ids: ids.iter().filter_map(Value::as_str).map(str::to_owned).collect() }
}

/// Reads an attachment; one without text is only a node of the tree.
fn attachment(mut line: Value) -> Body {
    // Newer versions record the text that is sent.
    let rendered = line.get_mut("rendered").and_then(|list| joined(list, "\n"));
    let Some(attachment) = line.get_mut("attachment") else { return Body::Silent };
    let kind = take_text(attachment, "type").unwrap_or_default();
    match rendered.or_else(|| shown_by_kind(&kind, attachment)) {
        Some(content) => Body::Attachment { kind, content },
        None => Body::Silent,
    }
}

fn queued(line: &Value) -> Body {
    const MODES_OF_HOST: [&str; 2] = ["orphaned-permission", "task-notification"];
    let field = |path: &str| line.pointer(path);
    let text = |path: &str| field(path).and_then(Value::as_str).unwrap_or_default();
    let is_of_host = MODES_OF_HOST.contains(&text("/attachment/commandMode"))
        || [text("/origin/kind"), text("/attachment/origin/kind")].iter().any(|kind| is_of_another(kind))
        || [field("/isMeta"), field("/attachment/isMeta")].contains(&Some(&Value::Bool(true)));
    let origin = if is_of_host { Origin::Host } else { Origin::User };
    let prompt = line.pointer("/attachment/prompt").map(Value::to_string);
    match prompt.and_then(|prompt| block::content(&prompt)) {
        Some(content) => Body::User { said: user_body(content), origin },
        None => Body::Silent,
    }
}

/// Returns the texts of a list, joined; `None` if there are none.
fn joined(list: &mut Value, separator: &str) -> Option<Content> {
    let texts = list.as_array_mut()?.iter_mut().filter_map(|each| take_text(each, "content"));
    let text = texts.collect::<Vec<_>>().join(separator);
    (!text.is_empty()).then_some(Content::Text(text))
}

fn shown_by_kind(kind: &str, attachment: &mut Value) -> Option<Content> {
    match kind {
        // Notices for the screen.
        "hook_non_blocking_error" | "command_permissions" | "hook_cancelled" => None,
        "hook_blocking_error" => {
            take_text(attachment.get_mut("blockingError")?, "blockingError").map(Content::from)
        }
        "invoked_skills" => joined(attachment.get_mut("skills")?, "\n\n"),
        _ => {
            let name = ["filename", "path"].iter().find_map(|key| take_text(attachment, key));
            let text = ["content", "text", "snippet"]
                .iter()
                .find_map(|key| shown_text(attachment.get_mut(*key)?))?;
            Some(Content::Text(name.into_iter().chain([text]).collect::<Vec<_>>().join("\n")))
        }
    }
}

fn user_body(content: Content) -> UserBody {
    match content {
        Content::Text(text) => UserBody::Text(text),
        Content::Blocks(blocks) => UserBody::Parts(blocks.into_iter().map(UserPart::Block).collect()),
    }
}

/// Returns what a field of an attachment shows: a text, the text of the file or memory in it, or a
/// list as JSON.
fn shown_text(field: &mut Value) -> Option<String> {
    let text = match field {
        Value::String(text) => std::mem::take(text),
        Value::Array(items) if items.is_empty() => return None,
        Value::Array(_) => field.to_string(),
        Value::Object(fields) => match fields.get_mut("file") {
            Some(file) => take_text(file, "content")?,
            None => take_text(field, "content")?,
        },
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}
