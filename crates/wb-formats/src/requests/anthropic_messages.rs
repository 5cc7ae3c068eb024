//! Requests of the Messages API of Anthropic, and lists of its messages as agents store them.

use wb_record::{Abilities, Confidence, Document, Format, FormatError, Parts, Probe, ProbedValue, View};

use super::openai_chat::model_of;
use crate::kit::list_document::open;
use crate::kit::message_list::{Layout, List, Shape, held};
use crate::kit::request_probe::{has_key, has_part, has_role, is_request, messages_of};
use crate::shapes::anthropic_message::AnthropicShape;

/// Requests of the Messages API: a body with `messages`, or the list of them alone, such as the
/// `api_conversation_history.json` of Cline and Roo Code.
///
/// Each result is a message of its own; the rest of the same turn is another. The provider's own
/// summary hides everything before it, which is removed with it when it is folded. The system text
/// is no message here.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AnthropicMessages;

impl Format for AnthropicMessages {
    fn name(&self) -> &'static str {
        "anthropic-messages"
    }

    fn abilities(&self) -> Abilities {
        Abilities::ALL
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        match probe.values.as_slice() {
            [first] if is_request(first) && is_anthropic(first) => Confidence::Maybe,
            _ => Confidence::No,
        }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

/// Recognizes a request by blocks or keys that only Anthropic has.
fn is_anthropic(first: &ProbedValue) -> bool {
    let messages = messages_of(first);
    let is_chat = has_role(&messages, &["tool", "function", "developer"])
        || has_key(&messages, &["tool_calls", "tool_call_id"]);
    let is_own =
        has_part(&messages, &["tool_use", "tool_result", "thinking", "redacted_thinking", "compaction"]);
    let is_body = ["system", "anthropic_version", "context_management", "stop_sequences", "thinking"]
        .iter()
        .any(|key| first.has(key));
    !is_chat && (is_own || is_body)
}

impl Layout for AnthropicMessages {
    fn shape(&self) -> &dyn Shape {
        &AnthropicShape
    }

    fn complete(&self, parts: &dyn Parts, _: &List, view: &mut View) {
        view.model = model_of(held(parts));
    }
}
