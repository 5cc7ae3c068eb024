//! Requests of the Messages API of Anthropic, and lists of its messages as agents store them.

use wb_record::{Confidence, Document, Format, FormatError, Parts, Probe, ProbedValue, View};

use super::openai_chat::model_of;
use crate::kit::list_document::open;
use crate::kit::message_list::{Layout, List, Shape, held};
use crate::kit::request_probe::{has_key, has_role, is_request, messages_of};
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

/// Recognizes a request in which nothing is of another provider.
fn is_anthropic(first: &ProbedValue) -> bool {
    let messages = messages_of(first);
    let is_chat = has_role(&messages, &["tool", "function", "developer"])
        || has_key(&messages, &["tool_calls", "tool_call_id"]);
    !is_chat && has_anthropic_part(first)
}

/// Returns whether a request has a block, a tool or a key that only Anthropic has.
pub fn has_anthropic_part(first: &ProbedValue) -> bool {
    const KEYS: [&str; 11] = [
        "system",
        "compaction",
        "anthropic_version",
        "anthropic_beta",
        "betas",
        "container",
        "context_management",
        "mcp_servers",
        "stop_sequences",
        "thinking",
        "output_config",
    ];
    let messages = messages_of(first);
    let mut blocks =
        messages.iter().filter_map(|message| message.inner.as_deref()).flat_map(ProbedValue::elements);
    let has_key = |tool: &ProbedValue| ["input_schema", "defer_loading"].iter().any(|key| tool.has(key));
    let is_tool = |tool: &ProbedValue| has_key(tool) || is_dated(&tool.r#type);
    let has_tool = || first.tools.as_deref().is_some_and(|tools| tools.elements().any(is_tool));
    KEYS.iter().any(|key| first.has(key)) || blocks.any(is_own) || has_tool()
}

/// Returns whether only Anthropic has a block: a call, a result of a tool of its servers, and what
/// names its source.
fn is_own(block: &ProbedValue) -> bool {
    const KINDS: [&str; 9] = [
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "compaction",
        "document",
        "search_result",
        "container_upload",
        "tool_reference",
    ];
    let kind = block.r#type.as_str();
    let is_of_server = kind.ends_with("_tool_use") || kind.ends_with("_tool_result");
    KINDS.contains(&kind) || is_of_server || block.has("source") || block.has("citations")
}

/// Returns whether a tool's type ends with a date, as those of Anthropic's servers do:
/// `web_search_20250305`.
fn is_dated(kind: &str) -> bool {
    let date = kind.rsplit('_').next().unwrap_or_default();
    date.len() == 8 && date.starts_with("20") && date.bytes().all(|byte| byte.is_ascii_digit())
}

impl Layout for AnthropicMessages {
    fn shape(&self) -> &dyn Shape {
        &AnthropicShape
    }

    fn complete(&self, parts: &dyn Parts, _: &List, view: &mut View) {
        view.model = model_of(held(parts));
    }
}
