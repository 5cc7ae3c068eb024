//! The last check of a request before it is sent.

use wb_dialect::{Dialect, EncodedRequest};
use wb_message::Conversation;

use crate::error::AgentError;

/// Checks a request for each dialect; a finding is a fault of this program, never of the user.
pub(crate) fn check(conversation: &Conversation, dialects: &[Dialect]) -> Result<(), AgentError> {
    for dialect in dialects {
        let findings = findings(conversation, *dialect);
        if !findings.is_empty() {
            return Err(AgentError::Invalid { dialect: *dialect, findings });
        }
    }
    Ok(())
}

/// Returns the problems that the provider would refuse, as lines.
fn findings(conversation: &Conversation, dialect: Dialect) -> Vec<String> {
    EncodedRequest::from_conversation(conversation, dialect)
        .validate()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wb_message::{Block, Turn};

    use super::*;

    #[test]
    fn a_call_without_its_result_is_valid_for_nobody() {
        let call = Turn::Assistant { blocks: vec![Block::call("c", "ls", json!({}))] };
        let result = Block::ToolResult { call_id: "c".into(), output: json!("a"), is_error: None };
        let (user, tool) = (Turn::user("Go."), Turn::Tool { blocks: vec![result] });
        let checked = |turns: &[&Turn]| {
            let turns = turns.iter().copied().cloned().collect();
            check(&Conversation { turns, ..Conversation::default() }, &Dialect::ALL)
        };
        checked(&[&user, &call, &tool]).unwrap();
        for broken in [&[&user, &call, &user][..], &[&user, &call], &[&user, &tool], &[&call, &tool]] {
            assert!(matches!(checked(broken), Err(AgentError::Invalid { .. })), "{broken:?}");
        }
    }
}
