//! The bridge between a host's turns and the transcript that is condensed; nothing is lost on the way.
//!
//! Turns are taken apart into messages by moving: each tool-result block becomes a tool result of its own. After
//! a patch the untouched messages move back into their turns, with ids, names, flags and signatures as they were.

use std::collections::HashMap;

use serde_json::Value;
use wb_message::{Block, Content, Message, Origin, Turn};

/// The role of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
    Tool,
}

/// What a message was before it was taken out of its turn.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    turn: usize,
    role: Role,
    result: Option<ResultPart>,
}

/// What a tool-result block had beside its text.
#[derive(Clone, Debug, PartialEq)]
struct ResultPart {
    /// The output, unless it was a string: that has been moved into the message.
    output: Option<Value>,
    is_error: Option<bool>,
}

/// Turns as messages, and what is needed to go back.
#[derive(Debug)]
pub struct Projection {
    /// The messages.
    pub messages: Vec<Message>,
    parts: Vec<Part>,
}

/// Takes turns apart into messages.
///
/// Result blocks of tool turns and of user turns become tool results under the name of the call that they answer;
/// what else stands in a tool turn becomes a `toolTurn` custom message.
pub fn project(turns: Vec<Turn>) -> Projection {
    let mut projection = Projection { messages: Vec::with_capacity(turns.len()), parts: Vec::new() };
    let mut names: HashMap<String, String> = HashMap::new();
    for (turn, taken) in turns.into_iter().enumerate() {
        match taken {
            Turn::User { blocks } => projection.take_mixed(turn, Role::User, blocks, &names),
            Turn::Tool { blocks } => projection.take_mixed(turn, Role::Tool, blocks, &names),
            Turn::Assistant { blocks } => {
                let message = Message::assistant_blocks(blocks);
                names.extend(message.calls().map(|(id, name, _)| (id.to_owned(), name.to_owned())));
                projection.take(Part { turn, role: Role::Assistant, result: None }, message);
            }
        }
    }
    projection
}

impl Projection {
    fn take(&mut self, part: Part, message: Message) {
        self.parts.push(part);
        self.messages.push(message);
    }

    fn take_mixed(&mut self, turn: usize, role: Role, blocks: Vec<Block>, names: &HashMap<String, String>) {
        let mut others = Vec::new();
        let is_empty = blocks.is_empty();
        for block in blocks {
            match block {
                Block::ToolResult { call_id, output, is_error } => {
                    self.take_others(turn, role, &mut others);
                    self.take_result(turn, role, (call_id, output, is_error), names);
                }
                other => others.push(other),
            }
        }
        if is_empty {
            self.take(Part { turn, role, result: None }, plain_message(role, Vec::new()));
        }
        self.take_others(turn, role, &mut others);
    }

    fn take_others(&mut self, turn: usize, role: Role, others: &mut Vec<Block>) {
        if !others.is_empty() {
            self.take(Part { turn, role, result: None }, plain_message(role, std::mem::take(others)));
        }
    }

    fn take_result(
        &mut self,
        turn: usize,
        role: Role,
        (call_id, output, is_error): (String, Value, Option<bool>),
        names: &HashMap<String, String>,
    ) {
        let (content, output) = match output {
            Value::String(text) => (vec![Block::Text { text }], None),
            other => (shown_blocks(&other), Some(other)),
        };
        let message = Message::ToolResult {
            tool_name: names.get(&call_id).cloned().unwrap_or_default(),
            tool_call_id: call_id,
            content,
            is_error: is_error.unwrap_or(false),
        };
        self.take(Part { turn, role, result: Some(ResultPart { output, is_error }) }, message);
    }

    /// Puts messages back into turns. `origins` tells where each message comes from and `replaced` whether a
    /// kept one has a new body; a new message becomes a turn of its own.
    pub fn restore(self, origins: &[Origin], replaced: impl Fn(usize) -> bool) -> Vec<Turn> {
        let Self { messages, parts } = self;
        let mut parts: Vec<Option<Part>> = parts.into_iter().map(Some).collect();
        let mut turns: Vec<Turn> = Vec::new();
        let mut open = None;
        for (message, origin) in messages.into_iter().zip(origins) {
            let part = match *origin {
                Origin::Kept(at) => parts.get_mut(at).and_then(Option::take).map(|part| (part, replaced(at))),
                Origin::New => None,
            };
            let Some((part, replaced)) = part else {
                turns.push(message_to_turn(message));
                open = None;
                continue;
            };
            let same_turn = open.replace(part.turn) == Some(part.turn);
            let blocks = original_blocks(message, part.result, replaced);
            match turns.last_mut() {
                Some(last) if same_turn => blocks_mut(last).extend(blocks),
                _ => turns.push(turn_of(part.role, blocks)),
            }
        }
        turns
    }
}

fn plain_message(role: Role, blocks: Vec<Block>) -> Message {
    match role {
        Role::Tool => Message::custom("toolTurn", blocks),
        Role::User | Role::Assistant => Message::user(blocks),
    }
}

fn turn_of(role: Role, blocks: Vec<Block>) -> Turn {
    match role {
        Role::User => Turn::User { blocks },
        Role::Assistant => Turn::Assistant { blocks },
        Role::Tool => Turn::Tool { blocks },
    }
}

fn blocks_mut(turn: &mut Turn) -> &mut Vec<Block> {
    match turn {
        Turn::User { blocks } | Turn::Assistant { blocks } | Turn::Tool { blocks } => blocks,
    }
}

/// Returns the blocks that a message was made of; a replaced body becomes the output.
fn original_blocks(message: Message, result: Option<ResultPart>, replaced: bool) -> Vec<Block> {
    let Message::ToolResult { tool_call_id: call_id, content, .. } = message else {
        return content_to_blocks(body(message));
    };
    let Some(ResultPart { output, is_error }) = result else { return content };
    let output = match output {
        Some(output) if !replaced => output,
        _ => output_of(content),
    };
    vec![Block::ToolResult { call_id, output, is_error }]
}

fn body(message: Message) -> Content {
    match message {
        Message::User { content, .. } | Message::Custom { content, .. } => content,
        Message::Assistant { content, .. } | Message::ToolResult { content, .. } => Content::Blocks(content),
        Message::BashExecution { command, output, exit_code } => {
            let code = exit_code.map_or_else(|| "n/a".to_owned(), |code| code.to_string());
            Content::Text(format!("shell$ {command}\n[exit {code}]\n{output}"))
        }
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
            Content::Text(format!("digest: {summary}"))
        }
    }
}

/// Returns a body as blocks; plain text is one text block.
pub fn content_to_blocks(content: Content) -> Vec<Block> {
    match content {
        Content::Text(text) => vec![Block::Text { text }],
        Content::Blocks(blocks) => blocks,
    }
}

/// Builds the turn that carries a message; a tool result keeps its call id and error flag.
///
/// Shell executions, custom messages and summaries become user turns, since gateways have no role for them.
pub fn message_to_turn(message: Message) -> Turn {
    match message {
        Message::Assistant { content, .. } => Turn::Assistant { blocks: content },
        Message::ToolResult { tool_call_id, content, is_error, .. } => Turn::Tool {
            blocks: vec![Block::ToolResult {
                call_id: tool_call_id,
                output: output_of(content),
                is_error: Some(is_error),
            }],
        },
        other => Turn::User { blocks: content_to_blocks(body(other)) },
    }
}

/// Returns the messages that a turn is taken apart into; see [`project`].
pub fn turn_to_messages(turn: Turn) -> Vec<Message> {
    project(vec![turn]).messages
}

/// Returns a tool's output: a string where the body is one text, else an array of blocks.
fn output_of(mut content: Vec<Block>) -> Value {
    match content.as_mut_slice() {
        [Block::Text { text }] => Value::String(std::mem::take(text)),
        blocks => Value::Array(blocks.iter().filter_map(|block| serde_json::to_value(block).ok()).collect()),
    }
}

/// Returns what a model is shown of an output that is not a string: its texts and images where it has a form that
/// is known, else its JSON.
fn shown_blocks(output: &Value) -> Vec<Block> {
    let items = output.get("content").unwrap_or(output).as_array();
    let known = items.and_then(|items| items.iter().map(shown_block).collect::<Option<Vec<_>>>());
    match known {
        Some(blocks) => blocks,
        None if output.is_null() => Vec::new(),
        None => vec![Block::text(output.to_string())],
    }
}

fn shown_block(item: &Value) -> Option<Block> {
    let tag = item.get("kind").or_else(|| item.get("type"))?.as_str()?;
    let field = |names: [&str; 2]| names.iter().find_map(|name| item.get(name)?.as_str());
    match tag {
        "text" => Some(Block::text(field(["text", "text"])?)),
        "image" => {
            let source = item.get("source").unwrap_or(item);
            let of = |names: [&str; 4]| names.iter().find_map(|name| source.get(name)?.as_str());
            let data = of(["dataBase64", "data_base64", "data", "data"])?;
            Some(Block::image(
                of(["mediaType", "media_type", "mimeType", "mimeType"]).unwrap_or_default(),
                data,
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(id: &str, output: Value, is_error: Option<bool>) -> Block {
        Block::ToolResult { call_id: id.into(), output, is_error }
    }

    fn turns() -> Vec<Turn> {
        vec![
            Turn::user("go"),
            Turn::Assistant {
                blocks: vec![
                    Block::Thinking { text: String::new(), signature: Some("sig".into()) },
                    Block::call("a", "read", json!({"path": "x"})),
                    Block::call("b", "bash", json!({"command": "ls"})),
                ],
            },
            Turn::Tool {
                blocks: vec![
                    result("a", json!("body"), None),
                    result("b", json!({"content": [{"type": "text", "text": "out"}]}), Some(true)),
                    Block::text("note"),
                ],
            },
            Turn::User { blocks: vec![result("z", json!([1, 2]), Some(false)), Block::text("and now")] },
            Turn::Tool { blocks: vec![] },
        ]
    }

    #[test]
    fn every_turn_survives_the_round_trip() {
        let projection = project(turns());
        let origins: Vec<_> = (0..projection.messages.len()).map(Origin::Kept).collect();
        assert_eq!(projection.restore(&origins, |_| false), turns());
    }

    #[test]
    fn result_blocks_become_tool_results_under_the_name_of_their_call() {
        let messages = project(turns()).messages;
        assert_eq!(messages[2], Message::tool_result("a", "read", "body"));
        assert_eq!(messages[3], Message::tool_error("b", "bash", "out"));
        assert_eq!(wb_message::Pairing::of(&messages).orphans(), [5]);
    }

    #[test]
    fn a_replaced_body_becomes_the_output_and_the_flag_stays() {
        let mut projection = project(turns());
        let Message::ToolResult { content, .. } = &mut projection.messages[3] else { panic!("a result") };
        *content = wb_message::marks::cleared_body();
        let origins: Vec<_> = (0..projection.messages.len()).map(Origin::Kept).collect();
        let restored = projection.restore(&origins, |at| at == 3);
        let cleared = result("b", json!(wb_message::marks::CLEARED_TOOL_RESULT), Some(true));
        assert_eq!(restored[2].blocks()[1], cleared);
        assert_eq!(restored[2].blocks()[0], turns()[2].blocks()[0]);
    }

    #[test]
    fn a_tool_result_message_becomes_a_tool_turn_with_its_id_and_flag() {
        let turn = message_to_turn(Message::tool_error("c", "bash", "no"));
        assert_eq!(turn, Turn::Tool { blocks: vec![result("c", json!("no"), Some(true))] });
    }
}
