//! What the tree and the path need of a line: one parse that leaves out what the line says.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use wb_budget::Usage;
use wb_session::parse_iso_ms;

/// A value as it stands; any kind, so that an odd one does not hide the line.
type Raw<'a> = Option<&'a RawValue>;

/// The fields of a line that are looked at.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Head<'a> {
    #[serde(borrow)]
    r#type: Raw<'a>,
    #[serde(borrow)]
    subtype: Raw<'a>,
    #[serde(borrow)]
    uuid: Raw<'a>,
    #[serde(borrow)]
    parent_uuid: Raw<'a>,
    #[serde(borrow)]
    timestamp: Raw<'a>,
    #[serde(borrow)]
    message: Option<MessageFields<'a>>,
    #[serde(borrow)]
    attachment: Option<AttachmentFields<'a>>,
    #[serde(borrow)]
    compact_metadata: Raw<'a>,
    #[serde(borrow)]
    is_sidechain: Raw<'a>,
    #[serde(borrow)]
    is_compact_summary: Raw<'a>,
    #[serde(borrow)]
    is_visible_in_transcript_only: Raw<'a>,
    #[serde(borrow)]
    is_meta: Raw<'a>,
    #[serde(borrow)]
    is_api_error_message: Raw<'a>,
}

#[derive(Deserialize)]
struct MessageFields<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    model: Raw<'a>,
    #[serde(borrow)]
    usage: Raw<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
}

#[derive(Deserialize)]
struct AttachmentFields<'a> {
    #[serde(borrow)]
    r#type: Raw<'a>,
}

#[derive(Deserialize)]
struct UsageFields<'a> {
    #[serde(borrow, rename = "input_tokens")]
    input: Raw<'a>,
    #[serde(borrow, rename = "output_tokens")]
    output: Raw<'a>,
    #[serde(borrow, rename = "cache_read_input_tokens")]
    cache_read: Raw<'a>,
    #[serde(borrow, rename = "cache_creation_input_tokens")]
    cache_write: Raw<'a>,
}

/// What a line is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// What the user typed, or a tool answered, or the host put in the user's place.
    User(Origin),
    /// Blocks of one answer of the model.
    Answer(Box<Answer>),
    /// Something that the host may have shown to the model.
    Attachment,
    /// What the user typed while the model was at work.
    Queued,
    /// The conversation was compacted: only what follows is seen.
    Compaction(Box<Boundary>),
    /// The results of some calls are sent as a placeholder from here on.
    Clearing,
    /// A place in the tree that no model sees.
    Link,
}

/// Who speaks in a user line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    User,
    Host,
    Digest,
}

/// What several lines of one answer share.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Answer {
    pub(super) id: Option<Arc<str>>,
    pub(super) model: Option<Arc<str>>,
    pub(super) usage: Option<Usage>,
    /// Whether the host wrote it to say that the request failed.
    pub(super) is_failure: bool,
}

/// A compaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Boundary {
    pub(super) tokens_before: u64,
    /// Lines before the boundary that stay, in the order in which they are sent.
    pub(super) kept: Vec<usize>,
    /// The line after which they stand.
    pub(super) anchor: Option<String>,
}

/// What a compaction says of the lines that stay.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CompactMetadata {
    pre_tokens: Option<u64>,
    preserved_segment: Option<PreservedSegment>,
    preserved_messages: Option<PreservedMessages>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PreservedSegment {
    #[serde(rename = "headUuid")]
    head: Option<String>,
    #[serde(rename = "anchorUuid")]
    anchor: Option<String>,
    #[serde(rename = "tailUuid")]
    tail: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PreservedMessages {
    anchor_uuid: Option<String>,
    uuids: Vec<String>,
    all_uuids: Vec<String>,
}

/// The types of lines that are known; a model sees only something of the last four.
const KNOWN_TYPES: [&str; 23] = [
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
    "tools-used",
    "system",
    "attachment",
    "user",
    "assistant",
];

impl<'a> Head<'a> {
    pub(super) fn uuid(&self) -> Option<Cow<'a, str>> {
        text(self.uuid)
    }

    pub(super) fn parent(&self) -> Option<Cow<'a, str>> {
        text(self.parent_uuid)
    }

    pub(super) fn is_side(&self) -> bool {
        is_true(self.is_sidechain)
    }

    pub(super) fn timestamp(&self) -> i64 {
        text(self.timestamp).and_then(|text| parse_iso_ms(&text)).unwrap_or(0)
    }

    /// Returns what a compaction says; nothing of what it cannot be read as.
    pub(super) fn compact_metadata(&self) -> CompactMetadata {
        self.compact_metadata.and_then(|meta| serde_json::from_str(meta.get()).ok()).unwrap_or_default()
    }

    /// Tells what the line is and where its body stands; nothing for what is no line of a session.
    pub(super) fn kind(&self) -> Option<(Kind, Option<&'a str>)> {
        let kind = text(self.r#type).filter(|kind| KNOWN_TYPES.contains(&kind.as_ref()))?;
        match kind.as_ref() {
            "user" => self.user(),
            "assistant" => self.assistant(),
            "attachment" => Some((self.attachment(), None)),
            "system" => Some((self.system(), None)),
            _ => Some((Kind::Link, None)),
        }
    }

    fn user(&self) -> Option<(Kind, Option<&'a str>)> {
        let fields = self.message.as_ref()?;
        let content = fields.content.map(RawValue::get).filter(|text| text.starts_with(['"', '[']))?;
        let kind = match () {
            () if is_true(self.is_compact_summary) => Kind::User(Origin::Digest),
            () if is_true(self.is_visible_in_transcript_only) => Kind::Link,
            () if is_true(self.is_meta) => Kind::User(Origin::Host),
            () => Kind::User(Origin::User),
        };
        Some((kind, Some(content)))
    }

    fn assistant(&self) -> Option<(Kind, Option<&'a str>)> {
        let fields = self.message.as_ref()?;
        let answer = Answer {
            id: text(fields.id).filter(|id| !id.is_empty()).map(Arc::from),
            model: text(fields.model).filter(|model| model != "<synthetic>").map(Arc::from),
            usage: fields.usage.and_then(usage),
            is_failure: is_true(self.is_api_error_message),
        };
        Some((Kind::Answer(Box::new(answer)), fields.content.map(RawValue::get)))
    }

    fn attachment(&self) -> Kind {
        let kind = self.attachment.as_ref().and_then(|fields| text(fields.r#type));
        if kind.as_deref() == Some("queued_command") { Kind::Queued } else { Kind::Attachment }
    }

    fn system(&self) -> Kind {
        match text(self.subtype).as_deref() {
            Some("compact_boundary") => Kind::Compaction(Box::default()),
            Some("microcompact_boundary") => Kind::Clearing,
            _ => Kind::Link,
        }
    }
}

impl CompactMetadata {
    /// Builds the boundary; one line that is not found loses all of them, as it does in the host.
    pub(super) fn boundary(
        self,
        find: impl Fn(&str) -> Option<usize>,
        chain: impl Fn(usize, usize) -> Vec<usize>,
    ) -> Boundary {
        let messages = self.preserved_messages.unwrap_or_default();
        let segment = self.preserved_segment.unwrap_or_default();
        let uuids = if messages.uuids.is_empty() { messages.all_uuids } else { messages.uuids };
        let kept = match segment.head.zip(segment.tail) {
            Some((head, tail)) if uuids.is_empty() => {
                find(&head).zip(find(&tail)).map(|(head, tail)| chain(head, tail))
            }
            _ => uuids.iter().map(|uuid| find(uuid)).collect(),
        };
        Boundary {
            tokens_before: self.pre_tokens.unwrap_or(0),
            kept: kept.unwrap_or_default(),
            anchor: messages.anchor_uuid.or(segment.anchor),
        }
    }
}

/// Returns a string; borrowed where it has no escapes.
fn text(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    let quoted = raw?.get().strip_prefix('"')?;
    match quoted.strip_suffix('"') {
        Some(plain) if !plain.contains('\\') => Some(Cow::Borrowed(plain)),
        _ => serde_json::from_str(raw?.get()).ok().map(Cow::Owned),
    }
}

fn is_true(raw: Raw<'_>) -> bool {
    raw.is_some_and(|raw| raw.get() == "true")
}

/// Reads the three disjoint parts of a prompt and the answer; nothing if none was counted.
fn usage(from: &RawValue) -> Option<Usage> {
    let fields: UsageFields<'_> = serde_json::from_str(from.get()).ok()?;
    let count = |raw: Raw<'_>| raw?.get().parse().ok();
    let usage = Usage {
        input_tokens: count(fields.input).unwrap_or(0),
        output_tokens: count(fields.output).unwrap_or(0),
        cache_read_tokens: count(fields.cache_read),
        cache_write_tokens: count(fields.cache_write),
    };
    (usage.prompt_tokens() > 0).then_some(usage)
}
