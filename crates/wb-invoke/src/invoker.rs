//! The seam to a model: a conversation goes in, emissions stream out.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use wb_budget::{ModelCard, Usage};
use wb_message::{Block, Conversation};

/// The amount of thinking before an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    /// None.
    Off,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// The most that the model supports.
    Max,
}

impl ThinkingLevel {
    /// Returns the tokens reserved for thinking, in addition to the visible answer.
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

/// Options of one request; all are optional.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StreamOptions {
    /// Cancels the request.
    #[serde(skip)]
    pub cancel: Option<CancellationToken>,
    /// The amount of thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
    /// The maximum tokens of the visible answer. If a provider counts thinking as part of the
    /// answer, its invoker adds a reserve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Enables the prompt cache of providers that do not use it by default.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub prompt_cache: bool,
    /// The model, if the host names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl StreamOptions {
    /// Returns whether the request was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(CancellationToken::is_cancelled)
    }
}

/// The reason why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The answer is complete.
    Complete,
    /// The model calls tools.
    ToolCalls,
    /// The answer reached its limit.
    MaxOutput,
    /// The model refused.
    Refusal,
    /// The request was cancelled.
    Aborted,
    /// The provider failed.
    Error,
}

/// The whole answer of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The model's id.
    pub model: String,
    /// The content.
    pub blocks: Vec<Block>,
    /// The usage counted by the provider.
    pub usage: Usage,
    /// The reason why the model stopped.
    pub stop: StopReason,
}

/// A failure of a model or of the connection to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct InvokeError {
    /// The message of the provider or transport.
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
        /// The JSON that was added.
        args_delta: String,
    },
    /// The usage counted by the provider so far.
    Usage {
        /// The usage.
        usage: Usage,
    },
    /// The model stopped.
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
    /// Returns whether this is the last event.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Done { .. } | Self::Error { .. })
    }
}

/// A model, or a way to reach one. To retry, invoke again.
pub trait ModelInvoker: Send + Sync {
    /// Sends a conversation; failure is an emission, never a `Result`.
    fn invoke(&self, conversation: Conversation, options: StreamOptions) -> BoxStream<'static, Emission>;

    /// Returns the card of the model, so that requests fit its window.
    fn card(&self) -> Option<ModelCard> {
        None
    }
}

const _: fn(&dyn ModelInvoker) = |_| ();

impl<I: ModelInvoker + ?Sized> ModelInvoker for Arc<I> {
    fn invoke(&self, conversation: Conversation, options: StreamOptions) -> BoxStream<'static, Emission> {
        I::invoke(self, conversation, options)
    }

    fn card(&self) -> Option<ModelCard> {
        I::card(self)
    }
}

/// Collects the text of an answer: that of the last complete reply, or else the streamed text.
///
/// Returns `None` after any error and for a blank text. As recorded, it reads the stream to its end
/// and ignores why the model stopped.
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

/// Returns the text blocks of a reply, joined without a separator.
pub fn reply_text(reply: &Reply) -> String {
    reply.blocks.iter().filter_map(Block::as_text).collect()
}
