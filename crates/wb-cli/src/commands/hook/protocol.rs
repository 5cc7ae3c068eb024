//! The JSON documents that `wb hook` reads and writes.

use std::borrow::Cow;
use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use wb_facts::Finding;
use xxhash_rust::xxh3::xxh3_64;

use crate::commands::compaction_log::Entry;
use crate::terminal::number::grouped;

/// The version of both documents; it changes if a key goes or means something else.
pub(crate) const VERSION: u32 = 1;

/// The request of a host.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Request<'a> {
    /// The version of this document.
    pub(crate) version: u32,
    /// The name of the host, such as `pi`.
    #[serde(default)]
    pub(crate) host: Option<String>,
    /// The session's name in the host, for the log.
    #[serde(default)]
    pub(crate) session_id: Option<String>,
    /// The session as the model sees it, oldest message first.
    #[serde(borrow)]
    pub(crate) session: Source<'a>,
    /// The session's file; the note that `wb undo` needs is written next to it.
    #[serde(default)]
    pub(crate) session_file: Option<PathBuf>,
    /// The id of the newest record of the session; if the file does not contain it yet, nothing is
    /// noted.
    #[serde(default)]
    pub(crate) newest_record: Option<String>,
    /// The reason of the host for the compaction.
    #[serde(default)]
    pub(crate) trigger: Trigger,
    /// The instructions of the user for this compaction, such as the words after `/compact`.
    #[serde(default)]
    pub(crate) instructions: Option<String>,
    /// The context window in tokens.
    #[serde(default)]
    pub(crate) window: Option<u64>,
    /// The model.
    #[serde(default)]
    pub(crate) model: Option<String>,
    /// The working folder of the agent, which may contain settings of the project.
    #[serde(default)]
    pub(crate) cwd: Option<PathBuf>,
    /// The time limit of the answer, in milliseconds from the start of the program.
    #[serde(default)]
    pub(crate) budget_ms: Option<u64>,
    /// The cut, if the host chooses it: all messages before it are folded.
    #[serde(default)]
    pub(crate) keep_from: Option<Place>,
    /// The name of the tool with which the model looks up what is folded, if it has one.
    #[serde(default)]
    pub(crate) recall: Option<String>,
}

/// The source of the messages.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source<'a> {
    /// A list of messages of wb.
    #[serde(borrow)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<serde_json::Value>"))]
    Messages(&'a RawValue),
    /// The content of a session file of any known format.
    Text(String),
    /// A document of any known format, such as an export.
    #[serde(borrow)]
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    Content(&'a RawValue),
    /// The path of a session file of any known format.
    Path(PathBuf),
}

/// The reason for a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Trigger {
    /// The window is full.
    #[default]
    Auto,
    /// The user asked for it.
    Manual,
}

impl Trigger {
    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Manual => "manual",
        }
    }
}

/// The first message that stays.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum Place {
    /// The index of a message; past the end: keep nothing.
    Index(usize),
    /// The id of a record in the host's format.
    Id(String),
}

/// The answer to a host.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Answer {
    /// The version of this document.
    pub(crate) version: u32,
    /// The action for the host.
    #[serde(flatten)]
    pub(crate) action: Action,
    /// The measurements, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) report: Option<Report>,
    /// A line for the person, if `wb` compacted: from, to, how long, and how to undo it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) notice: Option<String>,
    /// The claims of the digest that the messages contradict; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default, with = "Vec<serde_json::Value>"))]
    pub(crate) audit: Vec<Finding>,
}

/// An action for a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "action", rename_all = "snake_case")]
pub(crate) enum Action {
    /// Replace all messages that are not kept by the digest.
    Replace {
        /// The digest, followed by the restored files.
        digest: String,
        /// The indices of the messages that stay unchanged.
        #[cfg_attr(feature = "schema", schemars(with = "Vec<MessageRange>"))]
        keep: Vec<Range<usize>>,
    },
    /// Compact without wb.
    Pass {
        /// The reason; a variable text may quote messages and is not logged.
        reason: Cow<'static, str>,
    },
}

/// A range of messages; the end is excluded.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "the schema of `Range`")]
struct MessageRange {
    start: usize,
    end: usize,
}

/// The measurements. Tokens are estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Report {
    pub(crate) messages_before: usize,
    pub(crate) messages_after: usize,
    pub(crate) tokens_before: u64,
    pub(crate) tokens_after: u64,
    pub(crate) digest_tokens: u64,
    /// Milliseconds since the program began.
    pub(crate) ms: u64,
}

/// Returns a line about a compaction: from, to, how long, and how to undo it.
pub(crate) fn notice((before, after): (u64, u64), ms: u64, session: Option<&str>) -> String {
    let is_plain = |id: &&str| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let undo = session.filter(is_plain).map_or_else(|| "wb undo".to_owned(), |id| format!("wb undo {id}"));
    let (before, after) = (grouped(before), grouped(after));
    format!("wb compacted {before} to {after} tokens in {ms} ms; to undo: {undo}")
}

/// Explains why a text is not a request: it is not JSON, has another version, or is incomplete.
pub(crate) fn why_unread(text: &[u8], error: &serde_json::Error) -> String {
    let why = match serde_json::from_slice::<Value>(text) {
        _ if text.iter().all(u8::is_ascii_whitespace) => "empty".to_owned(),
        Err(error) => format!("not valid JSON: {error}"),
        Ok(Value::Object(asked)) => match asked.get("version") {
            None => "no version".to_owned(),
            Some(version) if version.as_u64() != Some(VERSION.into()) => {
                return format!("unsupported version {version} (expected {VERSION})");
            }
            Some(_) => error.to_string(),
        },
        Ok(_) => "not a JSON object".to_owned(),
    };
    format!("can't read request: {why}")
}

impl Answer {
    /// Writes it as one line.
    pub(crate) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// Returns a line for the person who works with the agent.
    pub(crate) fn notice(&self, session: Option<&str>) -> Option<String> {
        let (Action::Replace { .. }, Some(report)) = (&self.action, &self.report) else { return None };
        Some(notice((report.tokens_before, report.tokens_after), report.ms, session))
    }

    /// Returns its entry for the log, without message content.
    pub(crate) fn entry(&self, request: &Request<'_>) -> Entry {
        let report = self.report.unwrap_or_default();
        let (action, digest, why) = match &self.action {
            Action::Replace { digest, .. } => ("replace", Some(xxh3_64(digest.as_bytes())), None),
            Action::Pass { reason: Cow::Borrowed(why) } => ("pass", None, Some((*why).to_owned())),
            Action::Pass { .. } => ("pass", None, None),
        };
        Entry {
            host: request.host.clone().unwrap_or_default(),
            session: request.session_id.clone(),
            trigger: request.trigger.name().to_owned(),
            action: action.to_owned(),
            why,
            messages_before: report.messages_before,
            messages_after: report.messages_after,
            tokens_before: report.tokens_before,
            tokens_after: report.tokens_after,
            digest,
            findings: self.audit.len(),
            ..Entry::default()
        }
    }

    /// Lets the host compact without wb.
    pub(crate) fn pass(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Action::Pass { reason: reason.into() })
    }

    pub(crate) fn new(action: Action) -> Self {
        Self { version: VERSION, action, report: None, notice: None, audit: Vec::new() }
    }
}

#[cfg(not(feature = "schema"))]
/// The JSON Schema of both documents, as `cargo xtask schema` writes it.
pub(crate) const SCHEMA: &str = include_str!("../../../hook.schema.json");

/// Builds the JSON Schema of both documents.
#[cfg(feature = "schema")]
pub(crate) fn schema() -> String {
    /// The request to `wb hook`, and its answer.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "wb hook")]
    #[expect(dead_code, reason = "the root of the schema")]
    struct Both<'a> {
        request: Request<'a>,
        answer: Answer,
    }
    let schema = serde_json::to_string_pretty(&schemars::schema_for!(Both<'_>)).unwrap_or_default();
    schema + "\n"
}

#[cfg(all(test, feature = "schema"))]
mod tests {
    #[test]
    fn the_schema_of_the_reference_is_that_of_the_code() {
        let file = include_str!("../../../hook.schema.json");
        assert_eq!(super::schema(), file, "run `cargo xtask schema`");
    }
}
