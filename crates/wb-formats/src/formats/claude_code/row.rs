//! One line of a session file.

use serde_json::Value;
use wb_budget::Usage;
use wb_message::{Block, Content};
use wb_session::parse_iso_ms;

use super::block::{self, Part, take_text};

/// What a line says, as far as the conversation needs it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Body {
    /// What the user typed, or a tool answered, or the host put in the user's place.
    User { parts: Said, origin: Origin },
    /// Blocks of one answer of the model.
    Assistant(Answer),
    /// Something that the host showed to the model.
    Attachment { kind: String, content: Content },
    /// The conversation was compacted: only what follows is seen.
    Compaction(Boundary),
    /// The results of these calls are sent as a placeholder from here on.
    Clearing { ids: Vec<String> },
    /// A place in the tree that no model sees.
    Link,
}

/// The body of a user line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    Text(String),
    Parts(Vec<Part>),
}

/// Who speaks in a user line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    User,
    Host,
    Digest,
}

/// Blocks of one answer; several lines share its id.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Answer {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) blocks: Vec<Block>,
    pub(super) usage: Option<Usage>,
    /// Whether the host wrote it to say that the request failed.
    pub(super) is_failure: bool,
}

/// A compaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Boundary {
    pub(super) tokens_before: u64,
    /// Lines before the boundary that stay.
    pub(super) preserved: Vec<String>,
    /// The first and the last of a chain of lines before the boundary that stay.
    pub(super) preserved_chain: Option<(String, String)>,
    /// The line after which they stand.
    pub(super) anchor: Option<String>,
}

/// A line with its place in the tree.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) uuid: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) is_side: bool,
    pub(super) timestamp: i64,
    pub(super) body: Body,
}

/// The types of lines that are known; a model sees only something of the last four.
const KNOWN_TYPES: [&str; 22] = [
    "progress",
    "summary",
    "file-history-snapshot",
    "queue-operation",
    "pr-link",
    "permission-mode",
    "mode",
    "agent-name",
    "custom-title",
    "ai-title",
    "last-prompt",
    "worktree-state",
    "relocated",
    "frame-link",
    "started",
    "result",
    "bridge-session",
    "atis-latch",
    "system",
    "attachment",
    "user",
    "assistant",
];

impl Row {
    /// Reads a line; nothing for what is no line of a session.
    pub(super) fn of(mut line: Value) -> Option<Self> {
        let kind = take_text(&mut line, "type").filter(|kind| KNOWN_TYPES.contains(&kind.as_str()))?;
        let body = match kind.as_str() {
            "user" => user(&mut line)?,
            "assistant" => assistant(&mut line)?,
            "system" => system(&mut line),
            "attachment" => attachment(&mut line),
            _ => Body::Link,
        };
        Some(Self {
            uuid: take_text(&mut line, "uuid"),
            parent: take_text(&mut line, "parentUuid"),
            is_side: is_true(&line, "isSidechain"),
            timestamp: take_text(&mut line, "timestamp").and_then(|text| parse_iso_ms(&text)).unwrap_or(0),
            body,
        })
    }
}

fn is_true(line: &Value, key: &str) -> bool {
    line.get(key).is_some_and(|flag| flag == true)
}

fn user(line: &mut Value) -> Option<Body> {
    let origin = match () {
        () if is_true(line, "isCompactSummary") => Origin::Digest,
        () if is_true(line, "isVisibleInTranscriptOnly") => return Some(Body::Link),
        () if is_true(line, "isMeta") => Origin::Host,
        () => Origin::User,
    };
    let parts = match line.get_mut("message")?.get_mut("content")?.take() {
        Value::String(text) => Said::Text(text),
        Value::Array(values) => Said::Parts(block::parts(values)),
        _ => return None,
    };
    Some(Body::User { parts, origin })
}

fn assistant(line: &mut Value) -> Option<Body> {
    let is_failure = is_true(line, "isApiErrorMessage");
    let message = line.get_mut("message").filter(|message| message.is_object())?;
    Some(Body::Assistant(Answer {
        id: take_text(message, "id").filter(|id| !id.is_empty()),
        model: take_text(message, "model").filter(|model| model != "<synthetic>"),
        usage: message.get("usage").and_then(usage),
        blocks: block::blocks(message.get_mut("content").map(Value::take).unwrap_or_default()),
        is_failure,
    }))
}

/// Reads the three disjoint parts of a prompt and the answer; nothing if none was counted.
fn usage(from: &Value) -> Option<Usage> {
    let count = |key| from.get(key).and_then(Value::as_u64);
    let usage = Usage {
        input_tokens: count("input_tokens").unwrap_or(0),
        output_tokens: count("output_tokens").unwrap_or(0),
        cache_read_tokens: count("cache_read_input_tokens"),
        cache_write_tokens: count("cache_creation_input_tokens"),
    };
    (usage.prompt_tokens() > 0).then_some(usage)
}

fn system(line: &mut Value) -> Body {
    match line.get("subtype").and_then(Value::as_str) {
        Some("compact_boundary") => {
            Body::Compaction(line.get_mut("compactMetadata").map(boundary).unwrap_or_default())
        }
        Some("microcompact_boundary") => {
            let ids = line.get_mut("microcompactMetadata").map(|meta| texts(meta, "compactedToolIds"));
            Body::Clearing { ids: ids.unwrap_or_default() }
        }
        _ => Body::Link,
    }
}

fn boundary(meta: &mut Value) -> Boundary {
    let mut boundary = Boundary {
        tokens_before: meta.get("preTokens").and_then(Value::as_u64).unwrap_or(0),
        ..Boundary::default()
    };
    if let Some(preserved) = meta.get_mut("preservedSegment") {
        boundary.anchor = take_text(preserved, "anchorUuid");
        boundary.preserved_chain = take_text(preserved, "headUuid").zip(take_text(preserved, "tailUuid"));
    }
    if let Some(kept) = meta.get_mut("preservedMessages") {
        boundary.anchor = take_text(kept, "anchorUuid").or(boundary.anchor);
        boundary.preserved = texts(kept, "allUuids");
        boundary.preserved.extend(texts(kept, "uuids"));
    }
    boundary
}

fn texts(from: &mut Value, key: &str) -> Vec<String> {
    let Some(Value::Array(values)) = from.get_mut(key).map(Value::take) else { return Vec::new() };
    let texts = values.into_iter().filter_map(|value| match value {
        Value::String(text) => Some(text),
        _ => None,
    });
    texts.collect()
}

/// Reads an attachment; what has no text in it is no more than a place in the tree.
fn attachment(line: &mut Value) -> Body {
    let Some(attachment) = line.get_mut("attachment") else { return Body::Link };
    let kind = take_text(attachment, "type").unwrap_or_default();
    let seen = match kind.as_str() {
        // Notices for the screen.
        "hook_non_blocking_error" | "command_permissions" | "hook_cancelled" => None,
        // What the user typed while the model was at work.
        "queued_command" => attachment.get_mut("prompt").map(Value::take).and_then(block::content),
        "hook_blocking_error" => attachment
            .get_mut("blockingError")
            .and_then(|error| take_text(error, "blockingError"))
            .map(Content::from),
        "invoked_skills" => attachment.get_mut("skills").and_then(skills),
        _ => {
            let name = ["filename", "path"].iter().find_map(|key| take_text(attachment, key));
            let text = ["content", "text", "snippet"].iter().find_map(|key| shown(attachment.get_mut(*key)?));
            text.map(|text| Content::Text(name.into_iter().chain([text]).collect::<Vec<_>>().join("\n")))
        }
    };
    match seen {
        Some(content) if kind == "queued_command" => {
            Body::User { parts: said(content), origin: Origin::User }
        }
        Some(content) => Body::Attachment { kind, content },
        None => Body::Link,
    }
}

fn said(content: Content) -> Said {
    match content {
        Content::Text(text) => Said::Text(text),
        Content::Blocks(blocks) => Said::Parts(blocks.into_iter().map(Part::Said).collect()),
    }
}

/// Returns what a field of an attachment shows: a text, the text of the file or memory in it, or a list as JSON.
fn shown(field: &mut Value) -> Option<String> {
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

fn skills(skills: &mut Value) -> Option<Content> {
    let each = skills.as_array_mut()?.iter_mut().filter_map(|skill| take_text(skill, "content"));
    let text = each.collect::<Vec<_>>().join("\n\n");
    (!text.is_empty()).then_some(Content::Text(text))
}
