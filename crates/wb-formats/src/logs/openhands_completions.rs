//! Logs of completions that `OpenHands` writes: one whole request and its answer.

use wb_message::{Message, ToolRole, ToolVocabulary};
use wb_record::json::{elements, find, get, text};
use wb_record::{Confidence, Document, Format, FormatError, Parts, Probe, UsageAt, View};

use crate::kit::json_text::body_of;
use crate::kit::list_document::open;
use crate::kit::message_list::{Layout, List, Shape, held};
use crate::shapes::chat_message::{ChatShape, usage};

/// The tools of `OpenHands`.
pub(crate) const VOCABULARY: ToolVocabulary = ToolVocabulary {
    tools: &[
        ("execute_bash", ToolRole::Run),
        ("terminal", ToolRole::Run),
        ("execute_ipython_cell", ToolRole::Run),
        ("task_tracker", ToolRole::Plan),
    ],
    path_keys: &["path"],
    part_keys: &["view_range"],
};

/// Logs of completions of `OpenHands`, of the server and of the SDK.
///
/// The messages are the request, followed by the answer, which is outside of the list and stays
/// unchanged: where calls are written as texts, the raw answer. The whole prompt was counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpenhandsCompletions;

impl Format for OpenhandsCompletions {
    fn name(&self) -> &'static str {
        "openhands-llm-completions"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let has = |key: &str| probe.values.iter().all(|first| first.has(key));
        let is_log = has("messages") && has("response") && (has("kwargs") || has("args"));
        if probe.values.len() == 1 && is_log { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

impl Layout for OpenhandsCompletions {
    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        let text = held(parts);
        let mut list = List::at_path(text, &["messages"])?;
        let (offset, json) = body_of(text);
        let answer = answer_in(json, "raw_response").or_else(|| answer_in(json, "response"));
        list.behind = answer.map(|place| offset + place.start..offset + place.end);
        Ok(vec![list])
    }

    fn shape(&self) -> &dyn Shape {
        &ChatShape::PLAIN
    }

    fn vocabulary(&self) -> ToolVocabulary {
        VOCABULARY
    }

    fn complete(&self, parts: &dyn Parts, list: &List, view: &mut View) {
        let (_, json) = body_of(held(parts));
        view.model = text(json, &["response", "model"]);
        view.context_window = get(json, "context_window").and_then(|it| serde_json::from_slice(it).ok());
        let counted = find(json, &["response", "usage"]).and_then(|place| usage(&json[place]));
        let Some(at) = view.messages.len().checked_sub(1) else { return };
        let start = view.provenance.places(at).first().map(|place| place.record.at);
        let is_behind = list.behind.as_ref().is_some_and(|behind| start == Some(behind.start as u64));
        let is_answer = matches!(view.messages[at], Message::Assistant { .. });
        if let (Some(usage), true) = (counted, is_behind && is_answer) {
            view.usage.push(UsageAt { at, usage, model: view.model.clone() });
        }
    }
}

/// Returns the place of the message of an answer.
fn answer_in(json: &[u8], key: &str) -> Option<std::ops::Range<usize>> {
    let choices = find(json, &[key, "choices"])?;
    let first = elements(&json[choices.clone()])?.into_iter().next()?;
    let start = choices.start + first.start;
    let message = find(&json[start..choices.start + first.end], &["message"])?;
    Some(start + message.start..start + message.end)
}
