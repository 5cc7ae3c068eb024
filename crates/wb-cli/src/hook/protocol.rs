//! What a host says to `wb hook` and what it is answered: one JSON document each.

use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use wb_summarize::Finding;

/// The version of both documents; it changes if a key goes or means something else.
pub(crate) const VERSION: u32 = 1;

/// What a host asks.
#[derive(Debug, Deserialize)]
pub(crate) struct Request<'a> {
    /// The version of this document.
    pub(crate) version: u32,
    /// The name of the host, such as `pi`.
    #[serde(default)]
    pub(crate) host: Option<String>,
    /// The session's name in the host, for the log.
    #[serde(default)]
    pub(crate) session_id: Option<String>,
    /// What the model sees, oldest message first.
    #[serde(borrow)]
    pub(crate) session: Source<'a>,
    /// Why the host compacts.
    #[serde(default)]
    pub(crate) trigger: Trigger,
    /// What the user asked of this compaction, such as the words behind `/compact`.
    #[serde(default)]
    pub(crate) instructions: Option<String>,
    /// The context window in tokens.
    #[serde(default)]
    pub(crate) window: Option<u64>,
    /// The model.
    #[serde(default)]
    pub(crate) model: Option<String>,
    /// The folder in which the agent works; settings of the project are looked for there.
    #[serde(default)]
    pub(crate) cwd: Option<PathBuf>,
    /// How long an answer may take, in milliseconds from the start of the program.
    #[serde(default)]
    pub(crate) budget_ms: Option<u64>,
    /// The host's own cut, where it makes one: what stands before it is folded.
    #[serde(default)]
    pub(crate) keep_from: Option<Place>,
}

/// Where the messages are.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source<'a> {
    /// In the answer's own form: a list of messages.
    #[serde(borrow)]
    Messages(&'a RawValue),
    /// In a session file of any known format, whose content is this text.
    Text(String),
    /// In a document of any known format, such as an export.
    #[serde(borrow)]
    Content(&'a RawValue),
    /// In a session file of any known format.
    Path(PathBuf),
}

/// Why a host compacts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Trigger {
    /// The window is full.
    #[default]
    Auto,
    /// The user asked for it.
    Manual,
}

/// The first message that stays.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Place {
    /// The index of a message; behind the last one nothing stays.
    Index(usize),
    /// The id of a record in the host's own form.
    Id(String),
}

/// What a host is answered.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    /// The version of this document.
    pub(crate) version: u32,
    /// What the host is to do.
    #[serde(flatten)]
    pub(crate) action: Action,
    /// What was measured, if anything was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) report: Option<Report>,
    /// What the digest says that the messages do not bear out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) audit: Vec<Finding>,
}

/// What a host is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub(crate) enum Action {
    /// Put the digest in the place of what is not kept.
    Replace {
        /// The digest, with files that are given back below it.
        digest: String,
        /// The indices of the messages that stay as they are.
        keep: Vec<Range<usize>>,
    },
    /// Compact its own way.
    Pass {
        /// Why.
        reason: String,
    },
    /// Do not compact.
    Block {
        /// Why.
        reason: String,
    },
}

/// What was measured. Tokens are estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Report {
    pub(crate) messages_before: usize,
    pub(crate) messages_after: usize,
    pub(crate) tokens_before: u64,
    pub(crate) tokens_after: u64,
    pub(crate) digest_tokens: u64,
    /// Milliseconds since the program began.
    pub(crate) ms: u64,
}

impl Answer {
    /// Leaves the host to its own way.
    pub(crate) fn pass(reason: impl Into<String>) -> Self {
        Self::of(Action::Pass { reason: reason.into() })
    }

    pub(crate) fn of(action: Action) -> Self {
        Self { version: VERSION, action, report: None, audit: Vec::new() }
    }
}
