//! A model that the caller asks: an answer holds the request, and the same call comes again with
//! its reply.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wb_budget::{ModelCard, TokenCounter as _, TokenHeuristic};
use wb_conductor::Summarizer;
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_invoke::{Block, Conversation, Emission, Reply, StopReason, StreamOptions, Turn, Usage};

use crate::compaction_progress::Progress;

/// A reply of the caller's model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ModelReply {
    /// The whole text.
    Text(String),
    /// A text that reached a limit.
    CutOff(String),
    /// The reason why there is no text.
    Error(String),
}

/// A model that the caller asks.
///
/// The result of a call may be a `request` to it: the same call with the reply added goes on. A
/// model that fails is replaced by the local digest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SummarizerOptions {
    /// The window of the model in tokens; that of the messages without it.
    pub window: Option<u64>,
    /// Instructions to the model about the contents of the digest.
    pub instructions: Option<String>,
    /// The replies to the requests so far, in order.
    pub replies: Vec<ModelReply>,
}

/// A request to the caller's model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelRequest {
    /// The number of the request, from 1: a long head takes several.
    pub number: usize,
    /// The system prompt.
    pub system: String,
    /// The user's turn.
    pub prompt: String,
    /// The estimated tokens of both.
    pub prompt_tokens: u64,
    /// The most tokens of a reply.
    pub max_output_tokens: u64,
}

/// A model that gives the replies so far, and never answers the request after them.
pub(crate) struct RepliedModel {
    model: Arc<ScriptedInvoker>,
    n_replies: usize,
}

impl RepliedModel {
    pub(crate) fn new(options: &SummarizerOptions) -> Self {
        let scripts = options.replies.iter().map(script).chain([Script::Hang]);
        let mut model = ScriptedInvoker::new(scripts);
        if let Some(tokens) = options.window {
            model = model.with_card(ModelCard::with_window(tokens));
        }
        Self { model: Arc::new(model), n_replies: options.replies.len() }
    }

    /// Returns it as the writer of a digest; the caller limits the time.
    pub(crate) fn summarizer(&self) -> Summarizer {
        Summarizer::new(self.model.clone()).timeout(Duration::MAX)
    }

    /// Returns the request that has no reply yet.
    pub(crate) fn open_request(&self) -> ModelRequest {
        let open = self.model.requests().into_iter().nth(self.n_replies);
        open.map_or_else(ModelRequest::default, |asked| ModelRequest::new(self.n_replies + 1, asked))
    }
}

impl ModelRequest {
    pub(crate) fn progress(&self) -> Progress {
        let Self { number: request, prompt_tokens, max_output_tokens, .. } = *self;
        Progress::Asking { request, prompt_tokens, max_output_tokens }
    }

    fn new(number: usize, (conversation, options): (Conversation, StreamOptions)) -> Self {
        let texts = conversation.turns.iter().flat_map(Turn::blocks).filter_map(Block::as_text);
        let (prompt, system): (String, _) = (texts.collect(), conversation.system.unwrap_or_default());
        let prompt_tokens = TokenHeuristic::DEFAULT.text(&system) + TokenHeuristic::DEFAULT.text(&prompt);
        let max_output_tokens = options.max_output_tokens.unwrap_or_default();
        Self { number, system, prompt, prompt_tokens, max_output_tokens }
    }
}

fn script(reply: &ModelReply) -> Script {
    let (text, stop) = match reply {
        ModelReply::Text(text) => (text, StopReason::Complete),
        ModelReply::CutOff(text) => (text, StopReason::MaxOutput),
        ModelReply::Error(why) => return Script::fails(why),
    };
    let blocks = vec![Block::text(text)];
    let reply = Reply { model: String::new(), blocks, usage: Usage::EMPTY, stop };
    Script::Emit(vec![Emission::Done { reply }])
}
