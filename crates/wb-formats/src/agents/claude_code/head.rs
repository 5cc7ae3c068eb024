//! The fields of a line that the tree and the path need, parsed without its content.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use wb_budget::Usage;
use wb_session::parse_iso_ms;

use crate::kit::loose::{Count, Flag, Text};

/// The fields of a line that are read.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Head<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    subtype: Text<'a>,
    uuid: Text<'a>,
    parent_uuid: Text<'a>,
    timestamp: Text<'a>,
    message: Option<MessageFields<'a>>,
    attachment: Option<AttachmentFields<'a>>,
    compact_metadata: Option<&'a RawValue>,
    is_sidechain: Flag,
    is_compact_summary: Flag,
    is_visible_in_transcript_only: Flag,
    is_meta: Flag,
    is_api_error_message: Flag,
    tool_denial_kind: Text<'a>,
    version: Text<'a>,
    origin: Option<OriginFields<'a>>,
    tool_use_result: Option<&'a RawValue>,
    operation: Text<'a>,
    content: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OriginFields<'a> {
    #[serde(borrow)]
    kind: Text<'a>,
}

/// The kinds of senders that are not the user. An unknown kind counts as the user, whose words
/// would be lost otherwise.
const OTHERS: [&str; 6] = ["channel", "coordinator", "hook", "injection", "peer", "task-notification"];

/// Returns whether a kind of sender is not the user.
pub(crate) fn is_of_another(kind: &str) -> bool {
    OTHERS.contains(&kind)
}

/// The host's record in place of a result that the user refused; that of an error begins with
/// `Error`.
const REFUSED: &str = "\"User rejected tool use\"";
/// The start of that record where the user said why.
const REFUSED_WITH_WORDS: &str = "\"Error: The user doesn't want to proceed with this tool use.";
/// Tools whose errors are the host's own words.
const OWN_ERRORS: [&str; 5] = ["Edit", "ExitPlanMode", "MultiEdit", "NotebookEdit", "Write"];
/// The tool for commands, and the first version seen to put an exit code before what they print.
const SHELL: &str = "Bash";
const SHOWS_EXIT_CODES: [u32; 3] = [2, 1, 12];

/// The record of the host that the user refused a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    No,
    /// The error of the call reads so; that of a command may be what it printed.
    Error {
        has_exit_codes: bool,
    },
    Yes,
}

impl Refusal {
    /// Returns whether the user refused a call of this tool.
    pub(crate) fn is_of(self, tool: &str) -> bool {
        match self {
            Self::No => false,
            Self::Error { has_exit_codes } => OWN_ERRORS.contains(&tool) || has_exit_codes && tool == SHELL,
            Self::Yes => true,
        }
    }
}

/// Returns whether a version is that one or a later one.
fn is_since(version: &str, first: [u32; 3]) -> bool {
    let numbers: Vec<u32> = version.split('.').map_while(|number| number.parse().ok()).collect();
    numbers.len() == first.len() && numbers.as_slice() >= first.as_slice()
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MessageFields<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    model: Text<'a>,
    usage: Option<UsageFields>,
    content: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AttachmentFields<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct UsageFields {
    #[serde(rename = "input_tokens")]
    input: Count,
    #[serde(rename = "output_tokens")]
    output: Count,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Count,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_write: Count,
}

/// The kind of a line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Text from the user, a tool result, or text that the host sent in the user's place.
    User(Origin),
    /// Blocks of one answer of the model.
    Answer(Box<Answer>),
    /// Something that the host may have shown to the model.
    Attachment,
    /// A user message typed while the model was at work.
    Queued,
    /// The conversation was compacted: only what follows is seen.
    Compaction(Box<Boundary>),
    /// The results of some calls are sent as a placeholder from this line on.
    Clearing,
    /// A place in the tree that no model sees.
    Link,
}

/// Who speaks in a user line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    User,
    Host,
    Digest,
}

/// Fields shared by the lines of one answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    pub(crate) id: Option<Arc<str>>,
    pub(crate) model: Option<Arc<str>>,
    pub(crate) usage: Option<Usage>,
    /// Set if the host wrote it to report a failed request.
    pub(crate) is_failure: bool,
}

/// A compaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Boundary {
    pub(crate) tokens_before: u64,
    /// Lines before the boundary that stay, in the order in which they are sent.
    pub(crate) kept: Vec<usize>,
    /// The line that they follow.
    pub(crate) anchor: Option<String>,
}

/// The lines that a compaction keeps.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct CompactMetadata {
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

/// The types of lines that are known; only the last four concern the conversation.
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
    pub(crate) fn uuid(&self) -> Option<&str> {
        self.uuid.as_str()
    }

    pub(crate) fn parent(&self) -> Option<&str> {
        self.parent_uuid.as_str()
    }

    /// Returns the host's record of a refusal.
    pub(crate) fn refusal(&self) -> Refusal {
        let result = self.tool_use_result.map_or("", |result| result.get());
        if self.tool_denial_kind.as_str() == Some("user-rejected") || result == REFUSED {
            Refusal::Yes
        } else if result.starts_with(REFUSED_WITH_WORDS) {
            let version = self.version.as_str().unwrap_or_default();
            Refusal::Error { has_exit_codes: is_since(version, SHOWS_EXIT_CODES) }
        } else {
            Refusal::No
        }
    }

    /// Returns what the host does with the queue of prompts, and with which.
    pub(crate) fn queue_operation(&self) -> Option<(&str, String)> {
        let is_one = self.r#type.as_str() == Some("queue-operation");
        let prompt = || self.content.and_then(|content| serde_json::from_str(content.get()).ok());
        is_one.then(|| Some((self.operation.as_str()?, prompt().unwrap_or_default()))).flatten()
    }

    pub(crate) fn is_side(&self) -> bool {
        self.is_sidechain.0
    }

    pub(crate) fn timestamp(&self) -> i64 {
        self.timestamp.as_str().and_then(parse_iso_ms).unwrap_or(0)
    }

    /// Returns the fields of a compaction; unreadable ones are empty.
    pub(crate) fn compact_metadata(&self) -> CompactMetadata {
        self.compact_metadata.and_then(|meta| serde_json::from_str(meta.get()).ok()).unwrap_or_default()
    }

    /// Returns the kind of the line and the JSON of its body; `None` if it is not a line of a
    /// session.
    pub(crate) fn kind(&self) -> Option<(Kind, Option<&'a str>)> {
        match self.r#type.as_str().filter(|kind| KNOWN_TYPES.contains(kind))? {
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
            () if self.is_compact_summary.0 => Kind::User(Origin::Digest),
            () if self.is_visible_in_transcript_only.0 => Kind::Link,
            () if self.is_meta.0 || self.is_of_another() => Kind::User(Origin::Host),
            () => Kind::User(Origin::User),
        };
        Some((kind, Some(content)))
    }

    /// Returns whether the host records that someone else than the user wrote it: an agent, a
    /// channel, a hook.
    fn is_of_another(&self) -> bool {
        let kind = self.origin.as_ref().and_then(|origin| origin.kind.as_str());
        kind.is_some_and(is_of_another)
    }

    fn assistant(&self) -> Option<(Kind, Option<&'a str>)> {
        let fields = self.message.as_ref()?;
        let answer = Answer {
            id: fields.id.as_str().filter(|id| !id.is_empty()).map(Arc::from),
            model: fields.model.as_str().filter(|model| *model != "<synthetic>").map(Arc::from),
            usage: fields.usage.and_then(UsageFields::usage),
            is_failure: self.is_api_error_message.0,
        };
        Some((Kind::Answer(Box::new(answer)), fields.content.map(RawValue::get)))
    }

    fn attachment(&self) -> Kind {
        let kind = self.attachment.as_ref().and_then(|fields| fields.r#type.as_str());
        if kind == Some("queued_command") { Kind::Queued } else { Kind::Attachment }
    }

    fn system(&self) -> Kind {
        match self.subtype.as_str() {
            Some("compact_boundary") => Kind::Compaction(Box::default()),
            Some("microcompact_boundary") => Kind::Clearing,
            _ => Kind::Link,
        }
    }
}

impl CompactMetadata {
    /// Builds the boundary; a single missing line drops all of them, as it does in the host.
    pub(crate) fn boundary(
        self,
        find: impl Fn(&str) -> Option<usize>,
        chain: impl Fn(usize, usize) -> Option<Vec<usize>>,
    ) -> Boundary {
        let messages = self.preserved_messages.unwrap_or_default();
        let segment = self.preserved_segment.unwrap_or_default();
        let uuids = if messages.uuids.is_empty() { messages.all_uuids } else { messages.uuids };
        let kept = match segment.head.zip(segment.tail) {
            Some((head, tail)) if uuids.is_empty() => {
                find(&head).zip(find(&tail)).and_then(|(head, tail)| chain(head, tail))
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

impl UsageFields {
    /// Returns the three disjoint parts of a prompt and the answer; `None` if there is no usage.
    fn usage(self) -> Option<Usage> {
        let usage = Usage {
            input_tokens: self.input.0.unwrap_or(0),
            output_tokens: self.output.0.unwrap_or(0),
            cache_read_tokens: self.cache_read.0,
            cache_write_tokens: self.cache_write.0,
        };
        (usage.prompt_tokens() > 0).then_some(usage)
    }
}
