//! The seam to a model: a conversation goes in, emissions stream out.

use futures::StreamExt;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use wb_budget::{ModelCard, Usage};
use wb_message::{Block, Conversation};

/// How much a model may think before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    /// Not at all.
    Off,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// As much as the model can.
    Max,
}

impl ThinkingLevel {
    /// Returns how many tokens are held ready for what the model thinks, beside its visible answer.
    pub fn reserve_tokens(self) -> u64 {
        match self {
            Self::Off => 0,
            Self::Low => 2_048,
            Self::Medium => 8_192,
            Self::High => 16_384,
            Self::Max => 24_576,
        }
    }
}

/// What one request asks for besides the conversation; everything is optional.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StreamOptions {
    /// Stops the request when cancelled.
    #[serde(skip)]
    pub cancel: Option<CancellationToken>,
    /// How much to think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
    /// The most tokens of the visible answer. An invoker for a provider that counts reasoning as part of the answer
    /// adds what the reasoning may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Whether the provider is to keep the prompt in its cache and to read it from there, where that must be asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub prompt_cache: bool,
    /// The model to ask, if the host names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl StreamOptions {
    /// Returns whether the request was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(CancellationToken::is_cancelled)
    }
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    Complete,
    /// It wants tools to be run.
    ToolCalls,
    /// The answer reached its limit.
    MaxOutput,
    /// It refused.
    Refusal,
    /// The request was cancelled.
    Aborted,
    /// The provider failed.
    Error,
}

/// A model's whole answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The model's id.
    pub model: String,
    /// What it said.
    pub blocks: Vec<Block>,
    /// What the provider counted.
    pub usage: Usage,
    /// Why it stopped.
    pub stop: StopReason,
}

/// A failure of a model or of the way to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct InvokeError {
    /// What went wrong, as the provider or transport says it.
    pub message: String,
    /// The HTTP status, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

impl InvokeError {
    /// Builds an error without a status.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: None }
    }
}

/// One event of a model's answer; failure is an event too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Emission {
    /// More text.
    Text {
        /// The text that was added.
        delta: String,
    },
    /// More reasoning.
    Thinking {
        /// The reasoning that was added.
        delta: String,
    },
    /// A tool call begins.
    ToolCallStart {
        /// Its id.
        id: String,
        /// The tool.
        name: String,
    },
    /// More of a tool call's arguments.
    ToolCallDelta {
        /// The call's id.
        id: String,
        /// The piece of JSON that was added.
        args_delta: String,
    },
    /// What the provider counted so far.
    Usage {
        /// The count.
        usage: Usage,
    },
    /// Why the model stopped.
    Stop {
        /// The reason.
        stop: StopReason,
    },
    /// The whole answer.
    Done {
        /// The answer.
        reply: Reply,
    },
    /// The request failed.
    Error {
        /// The failure.
        error: InvokeError,
    },
}

impl Emission {
    /// Returns whether nothing follows.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Done { .. } | Self::Error { .. })
    }
}

/// A model, or what leads to one. Retrying is invoking again.
pub trait ModelInvoker: Send + Sync {
    /// Sends a conversation; failure is an emission, never a `Result`.
    fn invoke(&self, conversation: Conversation, options: StreamOptions) -> BoxStream<'static, Emission>;

    /// Returns what is known of the model, so that its input can be fitted to its window.
    fn card(&self) -> Option<ModelCard> {
        None
    }
}

const _: fn(&dyn ModelInvoker) = |_| ();

/// Collects the text of an answer: the last complete reply's, else the streamed text; `None` for an error, at
/// whatever place, and for a blank text.
///
/// The recorded behaviour: it reads to the stream's end and does not look at why the model stopped.
pub async fn collect_text(mut stream: BoxStream<'static, Emission>) -> Option<String> {
    let mut streamed = String::new();
    let mut complete = None;
    while let Some(emission) = stream.next().await {
        match emission {
            Emission::Text { delta } => streamed.push_str(&delta),
            Emission::Done { reply } => complete = Some(reply_text(&reply)),
            Emission::Error { .. } => return None,
            _ => {}
        }
    }
    let text = complete.unwrap_or(streamed);
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns a reply's text blocks, joined without a separator.
pub fn reply_text(reply: &Reply) -> String {
    reply.blocks.iter().filter_map(Block::as_text).collect()
}
