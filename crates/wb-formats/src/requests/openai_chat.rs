//! Requests of Chat Completions.

use wb_record::{
    Confidence, Document, Format, FormatError, Parts, Probe, ProbedValue, View, json::text as text_at,
};

use crate::kit::json_text::body_of;
use crate::kit::list_document::open;
use crate::kit::message_list::{Layout, List, Shape, held};
use crate::kit::request_probe::{has_key, has_part, has_role, is_request, messages_of};
use crate::shapes::chat_message::ChatShape;

/// Requests of Chat Completions: a body with `messages`, or the list of them alone.
///
/// System and developer texts are pinned; messages of an unknown role are skipped,
/// with a note. Arguments that are not JSON stay unchanged. A compaction replaces the messages
/// that it folds; they are kept in the list of operations alone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpenaiChat;

impl Format for OpenaiChat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        match probe.values.as_slice() {
            [first] if is_request(first) && is_chat(first) => Confidence::Maybe,
            _ => Confidence::No,
        }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

/// Keys that only messages of Chat Completions have.
const OWN_KEYS: [&str; 6] =
    ["tool_calls", "tool_call_id", "function_call", "reasoning_content", "refusal", "audio"];

/// Recognizes a request by fields that only Chat Completions has, or by its model if its blocks do
/// not identify a provider.
fn is_chat(first: &ProbedValue) -> bool {
    let messages = messages_of(first);
    let is_own = has_role(&messages, &["system", "developer", "tool", "function"])
        || has_key(&messages, &OWN_KEYS)
        || has_part(&messages, &["image_url", "input_audio", "file", "refusal"]);
    is_own || first.has("model") || has_part(&messages, &["text"])
}

impl Layout for OpenaiChat {
    fn shape(&self) -> &dyn Shape {
        &ChatShape { other: |_, into| into.is_of_nobody = true, ..ChatShape::PLAIN }
    }

    fn complete(&self, parts: &dyn Parts, _: &List, view: &mut View) {
        view.model = model_of(held(parts));
    }
}

/// Returns the model that a body asks for.
pub(crate) fn model_of(text: &[u8]) -> Option<String> {
    let (_, json) = body_of(text);
    json.starts_with(b"{").then(|| text_at(json, &["model"])).flatten()
}
