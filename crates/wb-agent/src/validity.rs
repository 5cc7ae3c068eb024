//! The last look at a request before it is sent.

use wb_dialect::{Dialect, Encoded};
use wb_message::Conversation;

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

/// What the provider would refuse, as lines.
fn findings(conversation: &Conversation, dialect: Dialect) -> Vec<String> {
    Encoded::of_conversation(conversation, dialect).validate().iter().map(ToString::to_string).collect()
}
