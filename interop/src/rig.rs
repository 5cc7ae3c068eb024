//! Messages of rig-core, and conversations, token counters and recent messages of rig-memory.

use std::sync::Arc;

use rig_core::conversation::Conversation;
use rig_core::message::{
    AssistantContent, AssistantMessage, CallId, DocumentData, DocumentSourceKind, Image, ImageMediaType,
    Message as RigMessage, Reasoning, Text, ToolCall, ToolFunction, ToolName, ToolResult, ToolResultContent,
    UserContent,
};
use rig_memory::recent::Recent;
use rig_memory::{
    SummaryState, TokenCounter, apply_summary, summarized_prefix, summary_author, summary_state,
};
use wb_budget::{BudgetPolicy, plan_slice};
use wb_message::markers::{RESTORED_FILE_PREFIX, digest_body};
use wb_message::{Block, Content, Message};
use wb_summarize::{CondenseScope, digest_message};

use crate::{Compacted, InteropError, Owned, SYSTEM, Transcript};

/// Returns a message of Rig as messages: each result of a tool is one.
pub fn from_rig(message: &RigMessage) -> Vec<Message> {
    match message {
        RigMessage::System { content } => vec![Message::custom(SYSTEM, content.as_str())],
        RigMessage::Assistant(reply) => {
            vec![Message::assistant_blocks(reply.content.iter().filter_map(reply_block).collect())]
        }
        RigMessage::User { content } => {
            let mut messages: Vec<Message> = content.iter().filter_map(result).collect();
            let rest: Vec<Block> = content.iter().filter_map(user_block).collect();
            match &rest[..] {
                [] => {}
                [Block::Text { text }] => messages.push(Message::user(text.as_str())),
                _ => messages.push(Message::user(rest)),
            }
            messages
        }
    }
}

/// Returns a message as one of Rig; digests and host's messages are the user's.
pub fn to_rig(message: &Message) -> Result<RigMessage, InteropError> {
    Ok(match message {
        Message::Assistant { content, .. } => {
            let parts = content.iter().filter_map(|block| reply_part(block).transpose());
            RigMessage::Assistant(AssistantMessage::new(parts.collect::<Result<_, _>>()?))
        }
        Message::ToolResult { tool_call_id, tool_name, content, is_error, .. } => {
            let content = content.iter().filter_map(|block| match block {
                Block::Text { text } => Some(ToolResultContent::text(text)),
                Block::Image { media_type, data_base64 } => {
                    Some(ToolResultContent::Image(image(media_type, data_base64)))
                }
                _ => None,
            });
            let result = ToolResult {
                call: CallId::from_wire(tool_call_id),
                name: name(tool_name)?,
                content: content.collect(),
                is_error: *is_error,
            };
            RigMessage::User { content: vec![UserContent::ToolResult(result)] }
        }
        Message::Custom { custom_type, content } if custom_type == SYSTEM => {
            RigMessage::System { content: content.texts().collect() }
        }
        Message::User { content: Content::Blocks(blocks), .. }
        | Message::Custom { content: Content::Blocks(blocks), .. } => {
            RigMessage::User { content: blocks.iter().filter_map(user_part).collect() }
        }
        Message::User { content: Content::Text(text), .. }
        | Message::Custom { content: Content::Text(text), .. } => RigMessage::user(text.as_str()),
        Message::BashExecution { command, output, .. } => RigMessage::user(format!("$ {command}\n{output}")),
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
            RigMessage::user(summary.as_str())
        }
    })
}

/// Counts Rig's messages by one of our counters, for [`rig_memory`].
pub fn counter(counter: Arc<dyn wb_budget::TokenCounter>) -> impl TokenCounter + Clone {
    move |message: &RigMessage| {
        let tokens: u64 = from_rig(message).iter().map(|message| counter.message(message)).sum();
        usize::try_from(tokens).unwrap_or(usize::MAX)
    }
}

/// The newest messages that our policy keeps; never a result without its call.
#[derive(Clone, Copy, Debug)]
pub struct KeepRecent(pub BudgetPolicy);

impl Recent for KeepRecent {
    fn start(&self, messages: &[Arc<RigMessage>]) -> usize {
        let owned = owned(messages.iter().map(AsRef::as_ref));
        let cut = plan_slice(&owned.messages, &self.0).cut;
        owned.owners.get(cut).copied().unwrap_or(messages.len())
    }
}

fn name(name: &str) -> Result<ToolName, InteropError> {
    let name = if name.is_empty() { "unknown" } else { name };
    ToolName::new(name).map_err(|error| InteropError::Write(error.to_string()))
}

fn reply_block(part: &AssistantContent) -> Option<Block> {
    Some(match part {
        AssistantContent::Text(text) => Block::text(&text.text),
        AssistantContent::ToolCall(call) => {
            Block::call(call.id.wire(), call.function.name.as_str(), call.function.arguments_value())
        }
        AssistantContent::Reasoning(it) => Block::Thinking { text: it.text.clone(), signature: None },
        AssistantContent::Image(image) => picture(image),
        _ => return None,
    })
}

fn reply_part(block: &Block) -> Result<Option<AssistantContent>, InteropError> {
    Ok(Some(match block {
        Block::Text { text } => AssistantContent::Text(Text::new(text)),
        Block::Thinking { text, .. } => AssistantContent::Reasoning(Reasoning::new(text)),
        Block::ToolCall { id, name: tool, input } => AssistantContent::ToolCall(ToolCall::new(
            CallId::from_wire(id),
            ToolFunction::new(name(tool)?, input.clone()),
        )),
        Block::Image { media_type, data_base64 } => AssistantContent::Image(image(media_type, data_base64)),
        Block::ToolResult { .. } | Block::Command { .. } => return Ok(None),
    }))
}

fn result(part: &UserContent) -> Option<Message> {
    let UserContent::ToolResult(result) = part else { return None };
    let blocks = result.content.iter().map(|content| match content {
        ToolResultContent::Text(text) => Block::text(&text.text),
        ToolResultContent::Json { value } => Block::text(value.to_string()),
        ToolResultContent::Image(image) => picture(image),
    });
    Some(Message::ToolResult {
        tool_call_id: result.call.wire().into_owned(),
        tool_name: result.name.as_str().to_owned(),
        content: blocks.collect(),
        is_error: result.is_error,
        is_refusal: false,
    })
}

fn user_block(part: &UserContent) -> Option<Block> {
    Some(match part {
        UserContent::Text(text) => Block::text(&text.text),
        UserContent::Image(image) => picture(image),
        UserContent::Document(document) => match &document.data {
            DocumentData::Text(text) => Block::text(text),
            DocumentData::File(_) => Block::text("[document]"),
        },
        UserContent::Audio(_) => Block::text("[audio]"),
        UserContent::Video(_) => Block::text("[video]"),
        UserContent::ToolResult(_) => return None,
    })
}

fn user_part(block: &Block) -> Option<UserContent> {
    Some(match block {
        Block::Text { text } => UserContent::text(text),
        Block::Image { media_type, data_base64 } => UserContent::Image(image(media_type, data_base64)),
        Block::Command { command, .. } => UserContent::text(format!("/{command}")),
        _ => return None,
    })
}

/// Returns a picture whose bytes are known, else a note.
fn picture(image: &Image) -> Block {
    match &image.data {
        DocumentSourceKind::Base64(data) => {
            Block::image(media_type(image.media_type.as_ref()), data.as_str())
        }
        _ => Block::text("[image]"),
    }
}

const IMAGES: [(ImageMediaType, &str); 7] = [
    (ImageMediaType::JPEG, "image/jpeg"),
    (ImageMediaType::PNG, "image/png"),
    (ImageMediaType::GIF, "image/gif"),
    (ImageMediaType::WEBP, "image/webp"),
    (ImageMediaType::HEIC, "image/heic"),
    (ImageMediaType::HEIF, "image/heif"),
    (ImageMediaType::SVG, "image/svg+xml"),
];

fn media_type(known: Option<&ImageMediaType>) -> &'static str {
    IMAGES.iter().find(|(media_type, _)| Some(media_type) == known).map_or("image/png", |(_, name)| name)
}

fn image(media_type: &str, data_base64: &str) -> Image {
    let media_type = IMAGES.iter().find(|(_, name)| *name == media_type).map(|(known, _)| known.clone());
    Image { data: DocumentSourceKind::base64(data_base64), media_type, ..Image::default() }
}

fn owned<'a>(messages: impl Iterator<Item = &'a RigMessage>) -> Owned {
    Owned::new(messages.map(from_rig))
}

impl Transcript for Vec<RigMessage> {
    fn messages(&self) -> Result<Vec<Message>, InteropError> {
        Ok(owned(self.iter()).messages)
    }

    fn replace(&mut self, change: &Compacted<'_>) -> Result<(), InteropError> {
        *self = owned(self.iter()).rebuilt(self, change, to_rig)?;
        Ok(())
    }
}

/// The messages of a conversation; its summary is a digest, without the files that a compaction
/// restored below it.
fn conversation_messages(conversation: &Conversation) -> Owned {
    let n_summaries = summarized_prefix(conversation);
    let mut summary = summary_state(conversation).summary;
    if let Some(end) = summary.find(&format!("\n\n{RESTORED_FILE_PREFIX}")) {
        summary.truncate(end);
    }
    let digest = (n_summaries > 0 && !summary.is_empty())
        .then(|| vec![digest_message(CondenseScope::Session, summary, 0)]);
    let messages = conversation.messages().iter().enumerate().map(|(at, message)| match &digest {
        Some(digest) if at + 1 == n_summaries => digest.clone(),
        Some(_) if at < n_summaries => Vec::new(),
        _ => from_rig(message),
    });
    Owned::new(messages)
}

/// A conversation gets the digest as its summary, as from Rig's own compaction:
/// [`rig_memory::undo_summary`] takes it back. Results that the engine shortened are spliced under
/// their ids.
impl Transcript for Conversation {
    fn messages(&self) -> Result<Vec<Message>, InteropError> {
        Ok(conversation_messages(self).messages)
    }

    fn replace(&mut self, change: &Compacted<'_>) -> Result<(), InteropError> {
        let owned = conversation_messages(self);
        let n_head = change.origins.iter().take_while(|origin| origin.input_index().is_none()).count();
        if change.origins[n_head..].iter().any(|origin| origin.input_index().is_none()) {
            let why =
                "a summary is the first message of a conversation, and a system message would stay before it";
            return Err(InteropError::Write(why.to_owned()));
        }
        let mut changed = self.clone();
        for (origin, after) in change.origins.iter().zip(change.after) {
            let Some(from) = origin.input_index().filter(|from| change.before[*from] != *after) else {
                continue;
            };
            let owner = owned.owners[from];
            let Some(mut entry) = changed.entry(owner) else { continue };
            entry.message = Arc::new(edited(&entry.message, &owned, owner, from, after)?);
            changed.splice(owner..=owner, [entry], summary_author());
        }
        if n_head > 0 {
            let texts = change.after[..n_head].iter().map(|message| {
                digest_body(message).map_or_else(|| message_text(message), std::borrow::Cow::into_owned)
            });
            let state =
                SummaryState { summary: texts.collect::<Vec<_>>().join("\n\n"), ..summary_state(self) };
            let first = change.origins.get(n_head).and_then(|origin| origin.input_index());
            let keep_from = first.and_then(|from| changed.id(owned.owners[from]));
            apply_summary(&mut changed, keep_from, &state);
        }
        *self = changed;
        Ok(())
    }
}

fn message_text(message: &Message) -> String {
    match message {
        Message::User { content, .. } | Message::Custom { content, .. } => content.texts().collect(),
        other => other.blocks().iter().filter_map(Block::as_text).collect(),
    }
}

/// Replaces the part of a message that a shortened message of the engine was read from.
fn edited(
    message: &RigMessage,
    owned: &Owned,
    owner: usize,
    from: usize,
    after: &Message,
) -> Result<RigMessage, InteropError> {
    let part = from - owned.owners.iter().position(|it| *it == owner).unwrap_or(from);
    let (RigMessage::User { content }, RigMessage::User { content: new }) = (message, to_rig(after)?) else {
        return to_rig(after);
    };
    let mut content = content.clone();
    let places: Vec<usize> =
        (0..content.len()).filter(|at| matches!(content[*at], UserContent::ToolResult(_))).collect();
    match places.get(part) {
        Some(at) => content.splice(*at..=*at, new),
        None => content.splice(.., new),
    };
    Ok(RigMessage::User { content })
}
