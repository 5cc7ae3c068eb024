//! Requests of genai.

use genai::chat::{
    Binary, BinarySource, ChatMessage, ChatRequest, ChatRole, ContentPart, MessageContent, ToolCall,
    ToolResponse,
};
use wb_message::{Block, Content, Message};

use crate::{Compacted, InteropError, Owned, SYSTEM, Transcript};

/// Returns a message of genai as messages: each response of a tool is one.
pub fn from_genai(message: &ChatMessage) -> Vec<Message> {
    let parts = message.content.parts();
    let blocks = |parts: &[ContentPart]| parts.iter().filter_map(block).collect::<Vec<_>>();
    let results = parts.iter().filter_map(|part| part.as_tool_response().map(result));
    match message.role {
        ChatRole::System => vec![Message::custom(SYSTEM, text(parts).as_str())],
        ChatRole::Assistant => vec![Message::assistant_blocks(blocks(parts))],
        ChatRole::Tool => results.collect(),
        ChatRole::User => {
            let mut messages: Vec<Message> = results.collect();
            let rest: Vec<ContentPart> =
                parts.iter().filter(|part| part.as_tool_response().is_none()).cloned().collect();
            match &rest[..] {
                [] => {}
                [ContentPart::Text(text)] => messages.push(Message::user(text.as_str())),
                rest => messages.push(Message::user(blocks(rest))),
            }
            messages
        }
    }
}

/// Returns a message as one of genai; digests and host's messages are the user's, as genai has no
/// other role for them.
pub fn to_genai(message: &Message) -> ChatMessage {
    match message {
        Message::Assistant { content, .. } => ChatMessage::assistant(MessageContent::from_parts(
            content.iter().filter_map(part).collect::<Vec<_>>(),
        )),
        Message::ToolResult { tool_call_id, tool_name, content, .. } => {
            let text: String = content.iter().filter_map(Block::as_text).collect();
            ChatMessage::tool(ToolResponse::new(tool_call_id, text).with_fn_name(tool_name))
        }
        Message::Custom { custom_type, content } if custom_type == SYSTEM => {
            ChatMessage::system(content.texts().collect::<String>())
        }
        Message::User { content: Content::Blocks(blocks), .. }
        | Message::Custom { content: Content::Blocks(blocks), .. } => {
            ChatMessage::user(MessageContent::from_parts(blocks.iter().filter_map(part).collect::<Vec<_>>()))
        }
        Message::User { content: Content::Text(text), .. }
        | Message::Custom { content: Content::Text(text), .. } => ChatMessage::user(text.as_str()),
        Message::BashExecution { command, output, .. } => ChatMessage::user(format!("$ {command}\n{output}")),
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
            ChatMessage::user(summary.as_str())
        }
    }
}

fn text(parts: &[ContentPart]) -> String {
    parts.iter().filter_map(ContentPart::as_text).collect::<Vec<_>>().join("\n")
}

fn result(response: &ToolResponse) -> Message {
    let name = response.fn_name.as_deref().unwrap_or_default();
    Message::tool_result(&response.call_id, name, response.content.as_str())
}

fn block(part: &ContentPart) -> Option<Block> {
    Some(match part {
        ContentPart::Text(text) => Block::text(text),
        ContentPart::ToolCall(call) => Block::call(&call.call_id, &call.fn_name, call.fn_arguments.clone()),
        ContentPart::ReasoningContent(text) => Block::Thinking { text: text.clone(), signature: None },
        ContentPart::ThoughtSignature(it) => {
            Block::Thinking { text: String::new(), signature: Some(it.clone()) }
        }
        ContentPart::Binary(Binary { content_type, source: BinarySource::Base64(data), .. })
            if content_type.starts_with("image/") =>
        {
            Block::image(content_type, data.as_ref())
        }
        ContentPart::Binary(Binary { content_type, name, .. }) => {
            Block::text(format!("[{content_type} {}]", name.as_deref().unwrap_or("attached")))
        }
        ContentPart::ToolResponse(_) | ContentPart::Custom(_) => return None,
    })
}

fn part(block: &Block) -> Option<ContentPart> {
    Some(match block {
        Block::Text { text } => ContentPart::from_text(text),
        Block::Thinking { text, signature: None } => ContentPart::ReasoningContent(text.clone()),
        Block::Thinking { signature: Some(signature), .. } => {
            ContentPart::ThoughtSignature(signature.clone())
        }
        Block::ToolCall { id, name, input } => ContentPart::ToolCall(ToolCall {
            call_id: id.clone(),
            fn_name: name.clone(),
            fn_arguments: input.clone(),
            thought_signatures: None,
        }),
        Block::Image { media_type, data_base64 } => {
            ContentPart::from_binary_base64(media_type, data_base64.as_str(), None)
        }
        Block::ToolResult { call_id, output, .. } => {
            let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
            ContentPart::ToolResponse(ToolResponse::new(call_id, text))
        }
        Block::Command { command, .. } => ContentPart::from_text(format!("/{command}")),
    })
}

/// The system text of a request is its first message.
fn owned(request: &ChatRequest) -> Owned {
    Owned::new(all(request).iter().map(from_genai))
}

fn all(request: &ChatRequest) -> Vec<ChatMessage> {
    let system = request.system.as_deref().map(ChatMessage::system);
    system.into_iter().chain(request.messages.iter().cloned()).collect()
}

impl Transcript for ChatRequest {
    fn messages(&self) -> Result<Vec<Message>, InteropError> {
        Ok(owned(self).messages)
    }

    fn replace(&mut self, change: &Compacted<'_>) -> Result<(), InteropError> {
        let mut messages = owned(self).rebuilt(&all(self), change, |message| Ok(to_genai(message)))?;
        if self.system.is_some() {
            // System texts are pinned, so the first one is still that of the request.
            messages.remove(0);
        }
        self.messages = messages;
        Ok(())
    }
}
