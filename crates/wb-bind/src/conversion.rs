//! A session or a request as another format has it.

use std::borrow::Cow;
use std::io;

use serde::Deserialize;
use wb_budget::Catalog;
use wb_dialect::{Dialect, EncodedRequest, Violation};
use wb_formats::{Agent, SentAs, SystemAndTools, View, format_of, newest};
use wb_message::{Block, Message};
use wb_record::{CommitError, Document, FormatError, MemoryParts, NotExpressible, Parts, Stamp};

use crate::conversion_losses::{
    lost_in_lines, lost_in_request, lost_in_session, lost_in_view, lost_when_read,
};

/// The format that a conversion writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Target {
    /// Messages of wb as JSON lines.
    Native,
    /// An Anthropic Messages request body.
    #[serde(alias = "anthropic-messages")]
    Anthropic,
    /// An `OpenAI` Chat Completions request body.
    #[serde(alias = "openai-chat")]
    #[cfg_attr(feature = "clap", value(help = "An OpenAI Chat Completions request body"))]
    Openai,
    /// An `OpenAI` Responses request body.
    #[cfg_attr(feature = "clap", value(help = "An OpenAI Responses request body"))]
    OpenaiResponses,
    /// A Gemini generateContent request body.
    #[serde(alias = "gemini-contents")]
    #[cfg_attr(feature = "clap", value(help = "A Gemini generateContent request body"))]
    Gemini,
    /// A new Claude Code session.
    ClaudeCode,
    /// A new Codex session.
    Codex,
    /// A new pi session.
    Pi,
}

/// The place and time of a new session.
#[derive(Clone, Copy, Debug)]
pub struct NewPlace<'a> {
    /// The working folder of the agent.
    pub folder: &'a str,
    /// Clock and randomness.
    pub stamp: &'a Stamp,
}

/// A conversion that was made in memory.
#[derive(Debug)]
pub struct Conversion {
    /// The format that was read.
    pub from: &'static str,
    /// The number of messages.
    pub n_messages: usize,
    /// The converted session or request.
    pub bytes: Vec<u8>,
    /// The content that the other format cannot hold.
    pub lost: Vec<String>,
    /// The violations that its provider would refuse.
    pub violations: Vec<Violation>,
}

/// The reason why a conversion failed.
#[derive(Debug, thiserror::Error)]
pub enum ConversionError {
    /// The session cannot be read.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The system text or the converted bytes cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The other format cannot hold the messages.
    #[error(transparent)]
    NotExpressible(#[from] NotExpressible),
    /// The new session cannot be assembled.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The request cannot be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// The bytes, the losses, and what the provider would refuse.
type Written = (Vec<u8>, Vec<String>, Vec<Violation>);

impl Target {
    fn agent(self) -> Option<Agent> {
        match self {
            Self::ClaudeCode => Some(Agent::ClaudeCode),
            Self::Codex => Some(Agent::Codex),
            Self::Pi => Some(Agent::Pi),
            _ => None,
        }
    }

    fn dialect(self) -> Option<Dialect> {
        match self {
            Self::Anthropic => Some(Dialect::Anthropic),
            Self::Openai => Some(Dialect::OpenaiChat),
            Self::OpenaiResponses => Some(Dialect::OpenaiResponses),
            Self::Gemini => Some(Dialect::Gemini),
            _ => None,
        }
    }
}

/// Converts the newest conversation of a document.
pub fn convert_document(
    document: &dyn Document,
    to: Target,
    place: NewPlace<'_>,
) -> Result<Conversion, ConversionError> {
    let mut view = document.view(&newest(document)?)?;
    let outside = SystemAndTools::from_document(document)?;
    let lost_before = lost_in_view(&view, document.parts(), outside.n_tools);
    let n_messages = view.messages.len();
    take_in(&mut view, outside.system);
    let (bytes, lost, violations) = match (to.agent(), to.dialect()) {
        (Some(agent), _) => session(&view, agent, place)?,
        (None, Some(dialect)) => request(&view, dialect)?,
        (None, None) => (lines(&view)?, lost_in_lines(&view), Vec::new()),
    };
    let lost = lost.into_iter().chain(lost_before).collect();
    Ok(Conversion { from: view.format, n_messages, bytes, lost, violations })
}

/// Inserts the system text of a request before its messages.
fn take_in(view: &mut View, system: Option<Message>) {
    if let Some(system) = system {
        view.messages.insert(0, system);
        view.usage.iter_mut().for_each(|usage| usage.at += 1);
    }
}

fn lines(view: &View) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    wb_formats::write_jsonl(&view.messages, &mut bytes)?;
    Ok(bytes)
}

/// Writes the messages as a new session of an agent.
fn session(view: &View, agent: Agent, place: NewPlace<'_>) -> Result<Written, ConversionError> {
    let messages = agent.dialect().map_or(Cow::Borrowed(&*view.messages), |it| without_foreign(view, it));
    let set = agent.create(&messages, place.folder, place.stamp)?;
    let mut parts = MemoryParts::default();
    parts.commit(&set)?;
    let bytes = parts.whole("")?;
    let encoded = agent.dialect().map(|dialect| EncodedRequest::from_messages(&messages, dialect));
    let mut lost = encoded.as_ref().map_or_else(|| lost_in_lines(view), |it| lost_in_request(view, it));
    lost.extend(lost_when_read(&messages, agent.format(), &bytes));
    lost.extend(lost_in_session(&messages));
    // A session waits for its user, whom a request must have at its end.
    let next = agent.dialect().map(|dialect| EncodedRequest::next_request(&messages, dialect));
    let violations = next.map_or_else(Vec::new, |next| next.validate());
    Ok((bytes, lost, violations))
}

/// Encodes the messages as a request body, with the session's model if the provider offers it.
fn request(view: &View, dialect: Dialect) -> Result<Written, ConversionError> {
    let messages = without_foreign(view, dialect);
    let mut encoded = EncodedRequest::from_messages(&messages, dialect);
    let model = view.model.as_ref().filter(|model| maker_of_model(model) == Some(maker(dialect.name())));
    if let (Some(model), Some(body)) = (model, encoded.body.as_object_mut()) {
        body.insert("model".to_owned(), model.as_str().into());
    }
    let mut lost = lost_in_request(view, &encoded);
    let violations = encoded.validate();
    let mut bytes = serde_json::to_vec_pretty(&encoded.body)?;
    bytes.push(b'\n');
    lost.extend(lost_when_read(&messages, format_of(dialect), &bytes));
    Ok((bytes, lost, violations))
}

/// Returns the messages without reasoning that is known to be signed by another provider than that
/// of a dialect.
fn without_foreign(view: &View, dialect: Dialect) -> Cow<'_, [Message]> {
    let is_foreign = |at| signer(view, at).is_some_and(|signer| signer != maker(dialect.name()));
    let foreign: Vec<bool> = (0..view.messages.len()).map(is_foreign).collect();
    if !foreign.contains(&true) {
        return Cow::Borrowed(&view.messages);
    }
    let mut messages = view.messages.clone();
    for (message, _) in messages.iter_mut().zip(foreign).filter(|(_, is_foreign)| *is_foreign) {
        if let Message::Assistant { content, .. } = message {
            content.retain(|block| !matches!(block, Block::Thinking { .. }));
        }
    }
    Cow::Owned(messages)
}

/// Returns the signer of an answer's reasoning, by the session's format or by the model that
/// answered.
fn signer(view: &View, at: usize) -> Option<&'static str> {
    let thinks = view.messages[at].blocks().iter().any(|block| matches!(block, Block::Thinking { .. }));
    match SentAs::from_format(view.format, None).dialects {
        _ if !thinks => None,
        // Servers of Chat Completions may run any model.
        [dialect] if *dialect != Dialect::OpenaiChat => Some(maker(dialect.name())),
        _ => {
            let answer =
                view.usage.iter().find(|usage| usage.at == at).and_then(|usage| usage.model.as_ref());
            answer.or(view.model.as_ref()).and_then(|model| maker_of_model(model))
        }
    }
}

fn maker_of_model(model: &str) -> Option<&'static str> {
    Catalog::built_in().find(model).map(|known| maker(&known.dialect))
}

/// Returns the maker that a dialect is named after.
fn maker(dialect: &str) -> &str {
    dialect.split('-').next().unwrap_or_default()
}
