//! A call as JSON, and its answer.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use wb_budget::{AUTO_CONDENSE_POLICY, BudgetPolicy};
use wb_dialect::Dialect;
use wb_passes::ImagePolicy;

use crate::caller_model::SummarizerOptions;
use crate::conversion::Target;
use crate::strategy::Strategy;

/// The version of calls and answers.
pub const VERSION: u32 = 1;

/// An operation of the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Operation {
    /// Weighs the messages.
    Weigh,
    /// Compacts them, if they are over budget or a size is named.
    Compact,
    /// Collects the facts that a digest is written from.
    Facts,
    /// Checks `summary` against them.
    Audit,
    /// Lists what a provider would refuse.
    Validate,
    /// Repairs what a provider would refuse.
    Repair,
    /// Writes them in another format.
    Convert,
    /// Looks up `question` in them.
    Recall,
}

/// A call: an operation, one of `messages`, `body` and `session`, and options.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Call<'a> {
    /// The version of the call, 1 without it.
    #[serde(default = "newest_version")]
    pub version: u32,
    /// The operation.
    pub operation: Operation,
    /// The format of the input, as `wb formats` lists them; detected without it.
    #[serde(default)]
    pub format: Option<String>,
    /// A list of messages, as a request of the format has it.
    #[serde(borrow, default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<Map<String, Value>>>"))]
    pub messages: Option<&'a RawValue>,
    /// A whole request.
    #[serde(borrow, default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Map<String, Value>>"))]
    pub body: Option<&'a RawValue>,
    /// The text of a session file.
    #[serde(borrow, default)]
    pub session: Option<Cow<'a, str>>,
    /// The options.
    #[serde(default)]
    pub options: Options,
    /// The summary that `audit` checks.
    #[serde(default)]
    pub summary: Option<String>,
    /// The format that `convert` writes.
    #[serde(default)]
    pub to: Option<Target>,
    /// The rules that `validate` applies; those of the format without it.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub dialects: Vec<Dialect>,
    /// The question of `recall`: one of `query`, `message`, `file`, `command`, `turn`, with `line`
    /// and `max_tokens`.
    #[serde(default)]
    pub question: Option<Map<String, Value>>,
}

fn newest_version() -> u32 {
    VERSION
}

/// The options of a call; the defaults are those of the command `wb`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Options {
    /// The model, for its window and its tokenizer; the input's without it.
    pub model: Option<String>,
    /// The context window in tokens; the model's without it.
    pub window: Option<u64>,
    /// The tokens that the resulting messages should weigh.
    pub target_tokens: Option<u64>,
    /// The tokens of what is sent outside of `messages`: system prompt and tools.
    pub overhead_tokens: u64,
    /// The fraction of the usable window at which to compact.
    pub trigger_ratio: Option<f64>,
    /// The tokens of the recent tail to keep verbatim.
    pub keep_recent_tokens: Option<u64>,
    /// The tokens to reserve for the answer.
    pub reserve_tokens: Option<u64>,
    /// Compacts messages that are within their budget, too.
    pub force: bool,
    /// The strategy.
    pub strategy: Strategy,
    /// The treatment of old images.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub images: ImagePolicy,
    /// Keeps passwords, keys and tokens in the digest.
    pub no_redact: bool,
    /// The tool with which the model looks up what is folded.
    pub recall_tool: Option<String>,
    /// The caller's model, which writes the digest of `compact`.
    pub summarizer: Option<SummarizerOptions>,
    /// The time in milliseconds since 1970, for formats that note it.
    pub now_ms: i64,
    /// A number that no other call has, for formats with ids.
    pub seed: u64,
    /// The working folder of a new session.
    pub folder: Option<String>,
}

impl Options {
    pub(crate) fn policy(&self) -> BudgetPolicy {
        let plain = AUTO_CONDENSE_POLICY;
        BudgetPolicy {
            trigger_ratio: self.trigger_ratio.unwrap_or(plain.trigger_ratio),
            keep_recent: self.keep_recent_tokens.unwrap_or(plain.keep_recent),
            reserve_tokens: self.reserve_tokens.or(plain.reserve_tokens),
        }
    }
}

/// The kind of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ErrorKind {
    /// The call is not JSON, or misses or has a field too many.
    Call,
    /// The input cannot be read.
    Input,
    /// An option has an impossible value.
    Option,
    /// The format cannot hold the result.
    NotExpressible,
    /// A provider would refuse the result.
    Refused,
}

/// The reason why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallError {
    /// The kind.
    pub kind: ErrorKind,
    /// The mistake.
    pub message: String,
    /// The next step for the caller.
    pub hint: String,
}

impl CallError {
    pub(crate) fn new(kind: ErrorKind, message: impl fmt::Display, hint: impl Into<String>) -> Self {
        Self { kind, message: message.to_string(), hint: hint.into() }
    }

    pub(crate) fn call(message: impl fmt::Display, hint: impl Into<String>) -> Self {
        Self::new(ErrorKind::Call, message, hint)
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.hint)
    }
}

impl std::error::Error for CallError {}

impl<'a> Call<'a> {
    /// Parses a call.
    pub fn parse(text: &'a str) -> Result<Self, CallError> {
        let call: Self = serde_json::from_str(text).map_err(|error| {
            CallError::call(
                error,
                r#"send a call such as {"operation": "weigh", "format": "openai-chat", "messages": []}"#,
            )
        })?;
        if call.version == VERSION {
            return Ok(call);
        }
        let what = format!("version {} of calls is not known", call.version);
        Err(CallError::call(what, format!("send version {VERSION}")))
    }
}

/// An answer.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Answer<T> {
    Done { version: u32, result: T },
    Failed { version: u32, error: CallError },
}

impl<T> From<Result<T, CallError>> for Answer<T> {
    fn from(result: Result<T, CallError>) -> Self {
        match result {
            Ok(result) => Self::Done { version: VERSION, result },
            Err(error) => Self::Failed { version: VERSION, error },
        }
    }
}
