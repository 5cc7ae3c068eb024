//! Messages without their bodies: what pairing and the check of a patch read.

use serde_json::Value;
use wb_message::block::joined_text;
use wb_message::{Block, Content, Message};

/// Returns a message that has the role, the calls and the results of another at the same blocks, and no text.
pub(crate) fn skeleton(message: &Message) -> Message {
    match message {
        Message::User { content, .. } => {
            Message::User { content: Content::Blocks(blocks(content.blocks())), timestamp: 0 }
        }
        Message::Assistant { content, .. } => Message::assistant_blocks(blocks(content)),
        Message::ToolResult { tool_call_id, content, .. } => Message::ToolResult {
            tool_call_id: tool_call_id.clone(),
            tool_name: String::new(),
            content: blocks(content),
            is_error: false,
        },
        Message::Custom { custom_type, content } => {
            Message::custom(custom_type.as_str(), Content::Blocks(blocks(content.blocks())))
        }
        Message::BashExecution { .. } | Message::BranchSummary { .. } | Message::CompactionSummary { .. } => {
            Message::bash("", "", None)
        }
    }
}

fn blocks(blocks: &[Block]) -> Vec<Block> {
    // Bodies without calls and results are empty, so that nothing is asked of the allocator for them.
    let counts = |block: &Block| matches!(block, Block::ToolCall { .. } | Block::ToolResult { .. });
    let n_blocks = blocks.iter().rposition(counts).map_or(0, |at| at + 1);
    blocks[..n_blocks].iter().map(block).collect()
}

fn block(block: &Block) -> Block {
    match block {
        Block::ToolCall { id, .. } => Block::call(id.as_str(), "", Value::Null),
        Block::ToolResult { call_id, .. } => {
            Block::ToolResult { call_id: call_id.clone(), output: Value::Null, is_error: None }
        }
        _ => Block::text(""),
    }
}

/// Returns a message with another body, as [`wb_message::Patch`] would give it.
pub(crate) fn with_body(message: &Message, new: &[Block]) -> Message {
    match message {
        Message::User { content, timestamp } => {
            Message::User { content: shaped(content, new), timestamp: *timestamp }
        }
        Message::Custom { custom_type, content } => {
            Message::Custom { custom_type: custom_type.clone(), content: shaped(content, new) }
        }
        Message::Assistant { error_message, .. } => {
            Message::Assistant { content: new.to_vec(), error_message: error_message.clone() }
        }
        Message::ToolResult { tool_call_id, tool_name, is_error, .. } => Message::ToolResult {
            tool_call_id: tool_call_id.clone(),
            tool_name: tool_name.clone(),
            content: new.to_vec(),
            is_error: *is_error,
        },
        Message::BashExecution { command, exit_code, .. } => {
            Message::bash(command.as_str(), joined_text(new), *exit_code)
        }
        Message::BranchSummary { from_id, .. } => {
            Message::BranchSummary { summary: joined_text(new).into_owned(), from_id: from_id.clone() }
        }
        Message::CompactionSummary { tokens_before, .. } => Message::CompactionSummary {
            summary: joined_text(new).into_owned(),
            tokens_before: *tokens_before,
        },
    }
}

fn shaped(old: &Content, new: &[Block]) -> Content {
    let is_text = matches!(old, Content::Text(_)) && new.iter().all(|block| block.as_text().is_some());
    if is_text { Content::Text(joined_text(new).into_owned()) } else { Content::Blocks(new.to_vec()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wb_message::markers::is_pinned;
    use wb_message::{Edit, Pairing, Patch};

    fn one_of_each() -> Vec<Message> {
        let nested = Block::ToolResult { call_id: "b".into(), output: json!("x"), is_error: None };
        vec![
            Message::user("text"),
            Message::custom("system", "be kind"),
            Message::assistant_blocks(vec![
                Block::text("look"),
                Block::call("a", "read", json!({})),
                Block::call("b", "read", json!({})),
            ]),
            Message::tool_result("a", "read", "body"),
            Message::user(vec![Block::text("and"), nested]),
            Message::custom("note", vec![Block::text("n")]),
            Message::bash("ls", "out", Some(1)),
            Message::BranchSummary { summary: "s".into(), from_id: "e".into() },
            Message::CompactionSummary { summary: "s".into(), tokens_before: 7 },
        ]
    }

    #[test]
    fn bones_are_paired_as_the_messages_are() {
        let messages = one_of_each();
        let bare: Vec<_> = messages.iter().map(skeleton).collect();
        assert_eq!(Pairing::of(&bare), Pairing::of(&messages));
        let pinned: Vec<_> = (0..bare.len()).filter(|&at| is_pinned(&bare[at])).collect();
        assert_eq!(pinned, [1]);
    }

    #[test]
    fn a_new_body_is_the_one_that_a_patch_gives() {
        let bodies =
            [vec![], vec![Block::text("a"), Block::text("b")], vec![Block::image("image/png", "AA")]];
        for (message, body) in
            one_of_each().iter().flat_map(|message| bodies.iter().map(move |b| (message, b)))
        {
            let keys = |block: &&Block| matches!(block, Block::ToolCall { .. } | Block::ToolResult { .. });
            let content: Vec<_> = message.blocks().iter().filter(keys).chain(body).cloned().collect();
            let mut patched = vec![message.clone()];
            let patch = Patch { edits: vec![Edit::Body { at: 0, content: content.clone() }] };
            if patch.apply(&mut patched).is_ok() {
                assert_eq!(with_body(message, &content), patched[0]);
            }
        }
    }
}
