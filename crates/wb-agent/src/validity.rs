//! The last look at a request before it is sent.

use wb_dialect::Dialect;
use wb_message::{Block, Conversation, Turn};

use crate::error::AgentError;

/// Checks a request for each dialect; what is found is a fault of this program, never of the user.
pub fn check(conversation: &Conversation, dialects: &[Dialect]) -> Result<(), AgentError> {
    for dialect in dialects {
        let findings = findings(conversation, *dialect);
        if !findings.is_empty() {
            return Err(AgentError::Invalid { dialect: *dialect, findings });
        }
    }
    Ok(())
}

/// What every provider refuses: roles out of order, and calls without their results right behind them.
fn findings(conversation: &Conversation, _: Dialect) -> Vec<String> {
    let turns = &conversation.turns;
    let mut found = Vec::new();
    if !matches!(turns.first(), Some(Turn::User { .. })) {
        found.push("turn 0: the first turn is not the user's".to_owned());
    }
    if matches!(turns.last(), None | Some(Turn::Assistant { .. })) {
        found.push("the last turn asks for nothing".to_owned());
    }
    let mut open: Vec<&str> = Vec::new();
    for (at, turn) in turns.iter().enumerate() {
        if !matches!(turn, Turn::Tool { .. }) && !open.is_empty() {
            found.push(format!("turn {at}: no result before it for {}", open.join(", ")));
            open.clear();
        }
        turn.blocks().iter().for_each(|block| look_at(block, at, &mut open, &mut found));
    }
    if !open.is_empty() {
        found.push(format!("no result for {}", open.join(", ")));
    }
    found
}

fn look_at<'a>(block: &'a Block, at: usize, open: &mut Vec<&'a str>, found: &mut Vec<String>) {
    match block {
        Block::ToolCall { id, name, input } => {
            if id.is_empty() || name.is_empty() || !input.is_object() || open.contains(&id.as_str()) {
                found.push(format!(
                    "turn {at}: call `{id}` of `{name}` has no id of its own, no name or no object"
                ));
            }
            open.push(id);
        }
        Block::ToolResult { call_id, .. } => match open.iter().position(|id| id == call_id) {
            Some(nth) => drop(open.remove(nth)),
            None => found.push(format!("turn {at}: a result for `{call_id}`, which is not asked for")),
        },
        _ => {}
    }
}
