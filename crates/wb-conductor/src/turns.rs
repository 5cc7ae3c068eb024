//! The bridge between a host's turns and messages, without loss.
//!
//! [`project`] moves the blocks of turns into messages: each tool-result block becomes a separate
//! tool result. After a patch the unchanged messages move back into their turns, with the same ids,
//! names, flags and signatures.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use wb_message::block::output_blocks;
use wb_message::pairing::id_key;
use wb_message::{Block, Content, Message, Origin, Turn, Undo};

/// The role of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
    Tool,
}

/// The origin of a message in its turn.
#[derive(Clone, Debug, PartialEq)]
struct TurnPart {
    turn: usize,
    role: Role,
    result: Option<ResultPart>,
}

/// The fields of a tool-result block that its message lacks.
#[derive(Clone, Debug, PartialEq)]
struct ResultPart {
    /// The output, unless it was a string: then it is in the message.
    output: Option<Value>,
    is_error: Option<bool>,
}

/// The message of the last call of each id and the call's index in it, by the key of the id.
type Calls = HashMap<u64, (usize, usize)>;

/// Turns as messages, and the data needed to restore the turns.
#[derive(Debug, Default)]
pub struct Projection {
    /// The messages.
    pub messages: Vec<Message>,
    parts: Vec<TurnPart>,
}

/// Splits turns into messages.
///
/// Result blocks of tool turns and of user turns become tool results under the name of the call
/// that they answer; the other blocks of a tool turn become a `toolTurn` custom message.
pub fn project(turns: Vec<Turn>) -> Projection {
    let (messages, parts) = (Vec::with_capacity(turns.len()), Vec::with_capacity(turns.len()));
    let mut projection = Projection { messages, parts };
    let mut calls = Calls::default();
    for (turn, content) in turns.into_iter().enumerate() {
        match content {
            Turn::User { blocks } => projection.push_mixed(turn, Role::User, blocks, &calls),
            Turn::Tool { blocks } => projection.push_mixed(turn, Role::Tool, blocks, &calls),
            Turn::Assistant { blocks } => {
                let message = Message::assistant_blocks(blocks);
                let at = projection.messages.len();
                calls.extend(message.calls().enumerate().map(|(nth, (id, ..))| (id_key(id), (at, nth))));
                projection.push(TurnPart { turn, role: Role::Assistant, result: None }, message);
            }
        }
    }
    projection
}

impl Projection {
    fn push(&mut self, part: TurnPart, message: Message) {
        self.parts.push(part);
        self.messages.push(message);
    }

    fn push_mixed(&mut self, turn: usize, role: Role, blocks: Vec<Block>, calls: &Calls) {
        if let [Block::ToolResult { .. }] = blocks.as_slice() {
            let mut room = blocks;
            if let Some(Block::ToolResult { call_id, output, is_error }) = room.pop() {
                self.push_result(turn, role, (call_id, output, is_error), (calls, room));
            }
            return;
        }
        let mut others = Vec::new();
        let is_empty = blocks.is_empty();
        for block in blocks {
            match block {
                Block::ToolResult { call_id, output, is_error } => {
                    self.push_others(turn, role, &mut others);
                    self.push_result(turn, role, (call_id, output, is_error), (calls, Vec::new()));
                }
                other => others.push(other),
            }
        }
        if is_empty {
            self.push(TurnPart { turn, role, result: None }, plain_message(role, Vec::new()));
        }
        self.push_others(turn, role, &mut others);
    }

    fn push_others(&mut self, turn: usize, role: Role, others: &mut Vec<Block>) {
        if !others.is_empty() {
            self.push(TurnPart { turn, role, result: None }, plain_message(role, std::mem::take(others)));
        }
    }

    /// Adds a result; its body goes into `room`, which is an empty list.
    fn push_result(
        &mut self,
        turn: usize,
        role: Role,
        (call_id, output, is_error): (String, Value, Option<bool>),
        (calls, room): (&Calls, Vec<Block>),
    ) {
        let (content, output) = shown_output(output, room);
        let message = Message::ToolResult {
            tool_name: self.tool_name(&call_id, calls).to_owned(),
            tool_call_id: call_id,
            content,
            is_error: is_error.unwrap_or(false),
            is_refusal: false,
        };
        self.push(TurnPart { turn, role, result: Some(ResultPart { output, is_error }) }, message);
    }

    /// Returns the name of the tool in the last call with an id.
    fn tool_name(&self, call_id: &str, calls: &Calls) -> &str {
        let called = calls.get(&id_key(call_id)).and_then(|(at, nth)| self.messages[*at].calls().nth(*nth));
        called.map_or("", |(_, name, _)| name)
    }

    /// Returns the index of each message's turn.
    pub(crate) fn turn_indices(&self) -> Vec<usize> {
        self.parts.iter().map(|part| part.turn).collect()
    }

    /// Joins unchanged messages into their turns again.
    pub fn into_turns(self) -> Vec<Turn> {
        let origins: Vec<_> = (0..self.messages.len()).map(Origin::Kept).collect();
        self.join(&origins, |_| false).0
    }

    /// Joins messages after a patch into turns; the second value reverts both.
    pub(crate) fn into_turns_with_undo(self, undo: Undo, n_before: usize) -> (Vec<Turn>, TurnsUndo) {
        let origins = undo.origins(n_before);
        let (turns, rest) = self.join(&origins, |at| undo.has_new_body(at));
        (turns, TurnsUndo { undo, origins, rest })
    }

    /// Joins messages into turns. `origins` has the origin of each message, and `is_replaced` is
    /// true for a kept one with a new body; a new message becomes a separate turn.
    fn join(self, origins: &[Origin], is_replaced: impl Fn(usize) -> bool) -> (Vec<Turn>, TurnsRest) {
        let Self { messages, mut parts } = self;
        let mut turns: Vec<Turn> = Vec::new();
        let mut layout: Vec<PieceLayout> = Vec::with_capacity(messages.len());
        let mut open = None;
        for (message, origin) in messages.into_iter().zip(origins) {
            let part =
                origin.input_index().and_then(|at| parts.get_mut(at).map(|part| (part, is_replaced(at))));
            let (turn, (role, blocks)) = match part {
                None => (None, role_and_blocks(message_to_turn(message))),
                Some((part, replaced)) => {
                    let blocks = original_blocks(message, part.result.as_mut(), replaced);
                    (Some(part.turn), (part.role, blocks))
                }
            };
            let same_turn = turn.is_some() && open == turn;
            open = turn;
            let n_blocks = blocks.len();
            layout.push(PieceLayout { opens_turn: !same_turn, n_blocks });
            match turns.last_mut() {
                Some(last) if same_turn => blocks_mut(last).extend(blocks),
                _ => turns.push(build_turn(role, blocks)),
            }
        }
        (turns, TurnsRest { parts, layout })
    }
}

/// The data of the turns before that the turns after lack.
#[derive(Debug)]
struct TurnsRest {
    /// The parts before, with the outputs of messages that were removed or have another body.
    parts: Vec<TurnPart>,
    /// The place in its turn of each message after.
    layout: Vec<PieceLayout>,
}

#[derive(Clone, Copy, Debug)]
struct PieceLayout {
    opens_turn: bool,
    n_blocks: usize,
}

/// The undo of a compaction of turns.
#[derive(Debug)]
#[must_use = "dropping it makes the compaction final"]
pub struct TurnsUndo {
    undo: Undo,
    origins: Vec<Origin>,
    rest: TurnsRest,
}

impl TurnsUndo {
    /// Restores the turns before the compaction. Turns appended since stay at the end, and turns
    /// removed from the end since stay removed.
    pub fn revert(self, turns: &mut Vec<Turn>) {
        let Self { undo, origins, rest: TurnsRest { mut parts, layout } } = self;
        let n_turns = layout.iter().filter(|piece| piece.opens_turn).count();
        let later = turns.split_off(n_turns.min(turns.len()));
        let (mut messages, mut outputs) = (Vec::new(), Vec::new());
        let pieces = layout.chunk_by(|_, next| !next.opens_turn);
        for (turn, pieces) in std::mem::take(turns).into_iter().zip(pieces) {
            split_turn(turn, pieces, &mut messages, &mut outputs);
        }
        let n_left = messages.len();
        for (origin, output) in origins.iter().zip(outputs) {
            if let Some(at) = origin.input_index().filter(|at| !undo.has_new_body(*at))
                && let Some(result) = &mut parts[at].result
            {
                result.output = output;
            }
        }
        undo.revert(&mut messages);
        let lost: HashSet<usize> =
            origins.iter().skip(n_left).filter_map(|origin| origin.input_index()).collect();
        let remaining = parts.into_iter().enumerate().filter(|(at, _)| !lost.contains(at));
        let parts = remaining.map(|(_, part)| part).collect();
        *turns = Projection { messages, parts }.into_turns();
        turns.extend(later);
    }
}

/// Splits a turn into the messages that it was joined from.
fn split_turn(
    turn: Turn,
    pieces: &[PieceLayout],
    messages: &mut Vec<Message>,
    outputs: &mut Vec<Option<Value>>,
) {
    let (role, blocks) = role_and_blocks(turn);
    let mut blocks = blocks.into_iter();
    for (nth, PieceLayout { n_blocks, .. }) in pieces.iter().enumerate() {
        let is_last = nth + 1 == pieces.len();
        let piece: Vec<Block> = blocks.by_ref().take(if is_last { usize::MAX } else { *n_blocks }).collect();
        let (message, output) = piece_message(role, piece);
        messages.push(message);
        outputs.push(output);
    }
}

fn piece_message(role: Role, mut piece: Vec<Block>) -> (Message, Option<Value>) {
    if role == Role::Assistant {
        return (Message::assistant_blocks(piece), None);
    }
    match piece.as_mut_slice() {
        [Block::ToolResult { call_id, output, is_error }] => {
            let (content, output) = shown_output(std::mem::take(output), Vec::new());
            let message = Message::ToolResult {
                tool_call_id: std::mem::take(call_id),
                tool_name: String::new(),
                content,
                is_error: is_error.unwrap_or(false),
                is_refusal: false,
            };
            (message, output)
        }
        _ => (plain_message(role, piece), None),
    }
}

fn role_and_blocks(turn: Turn) -> (Role, Vec<Block>) {
    match turn {
        Turn::User { blocks } => (Role::User, blocks),
        Turn::Assistant { blocks } => (Role::Assistant, blocks),
        Turn::Tool { blocks } => (Role::Tool, blocks),
    }
}

/// Returns the part of an output that a model reads, and the output unless it is a string: that
/// moves.
fn shown_output(output: Value, mut room: Vec<Block>) -> (Vec<Block>, Option<Value>) {
    match output {
        Value::String(text) => {
            room.push(Block::Text { text });
            (room, None)
        }
        other => (output_blocks(&other), Some(other)),
    }
}

fn plain_message(role: Role, blocks: Vec<Block>) -> Message {
    match role {
        Role::Tool => Message::custom("toolTurn", blocks),
        Role::User | Role::Assistant => Message::user(blocks),
    }
}

fn build_turn(role: Role, blocks: Vec<Block>) -> Turn {
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

/// Returns the blocks that a message had in its turn; a replaced body becomes the output.
fn original_blocks(message: Message, result: Option<&mut ResultPart>, is_replaced: bool) -> Vec<Block> {
    let Message::ToolResult { tool_call_id: call_id, mut content, .. } = message else {
        return content_to_blocks(body(message));
    };
    let Some(result) = result else { return content };
    let output = if is_replaced { None } else { result.output.take() };
    let output = output.unwrap_or_else(|| take_output(&mut content));
    content.clear();
    content.push(Block::ToolResult { call_id, output, is_error: result.is_error });
    content
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
/// Shell executions, custom messages and summaries become user turns, since gateways have no role
/// for them.
pub fn message_to_turn(message: Message) -> Turn {
    match message {
        Message::Assistant { content, .. } => Turn::Assistant { blocks: content },
        Message::ToolResult { tool_call_id, mut content, is_error, .. } => Turn::Tool {
            blocks: vec![Block::ToolResult {
                call_id: tool_call_id,
                output: take_output(&mut content),
                is_error: Some(is_error),
            }],
        },
        other => Turn::User { blocks: content_to_blocks(body(other)) },
    }
}

/// Splits a turn into messages; see [`project`].
pub fn turn_to_messages(turn: Turn) -> Vec<Message> {
    project(vec![turn]).messages
}

/// Takes a tool's output: a string if the body is one text, else an array of blocks.
fn take_output(content: &mut [Block]) -> Value {
    match content {
        [Block::Text { text }] => Value::String(std::mem::take(text)),
        blocks => Value::Array(blocks.iter().filter_map(|block| serde_json::to_value(block).ok()).collect()),
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
    fn turns_survive_the_round_trip() {
        assert_eq!(project(turns()).into_turns(), turns());
    }

    #[test]
    fn result_blocks_become_tool_results_with_the_tools_name() {
        let messages = project(turns()).messages;
        assert_eq!(messages[2], Message::tool_result("a", "read", "body"));
        assert_eq!(messages[3], Message::tool_error("b", "bash", "out"));
        assert_eq!(wb_message::Pairing::new(&messages).orphans(), [5]);
    }

    #[test]
    fn a_replaced_body_becomes_the_output_and_the_flag_stays() {
        let mut projection = project(turns());
        let Message::ToolResult { content, .. } = &mut projection.messages[3] else { panic!("a result") };
        *content = wb_message::markers::cleared_body();
        let origins: Vec<_> = (0..projection.messages.len()).map(Origin::Kept).collect();
        let restored = projection.join(&origins, |at| at == 3).0;
        let cleared = result("b", json!(wb_message::markers::CLEARED_TOOL_RESULT), Some(true));
        assert_eq!(restored[2].blocks()[1], cleared);
        assert_eq!(restored[2].blocks()[0], turns()[2].blocks()[0]);
    }

    #[test]
    fn a_tool_result_becomes_a_tool_turn_with_its_id_and_flag() {
        let turn = message_to_turn(Message::tool_error("c", "bash", "no"));
        assert_eq!(turn, Turn::Tool { blocks: vec![result("c", json!("no"), Some(true))] });
    }
}
