//! From a step to the messages in it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use wb_budget::Usage;
use wb_message::{Block, Message};
use wb_record::json::{get, text as text_at};
use wb_session::parse_iso_ms;

use crate::kit::json_text::{arguments, compact};
use crate::kit::loose::{Count, Text};
use crate::kit::message_list::Record;
use crate::kit::picture::picture;
use crate::kit::usage::usage_with_cache;
use crate::shapes::content_value::{blocks_of, body_of, raw_list};

/// The kind of message that shows an observation without a call.
pub(super) const OBSERVATION: &str = "observation";

/// The keys with which agents mark a failed result in their additional fields.
const FAILURES: [&str; 2] = ["is_error", "tool_result_is_error"];

#[derive(Default, Deserialize)]
#[serde(default)]
struct StepMembers<'a> {
    #[serde(borrow)]
    source: Text<'a>,
    message: Option<&'a RawValue>,
    reasoning_content: Text<'a>,
    tool_calls: Option<&'a RawValue>,
    observation: Option<&'a RawValue>,
    metrics: Option<&'a RawValue>,
    model_name: Text<'a>,
    timestamp: Text<'a>,
    llm_call_count: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StepMetrics {
    #[serde(rename = "prompt_tokens")]
    prompt: Count,
    #[serde(rename = "completion_tokens")]
    completion: Count,
    #[serde(rename = "cached_tokens")]
    cached: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StepCall<'a> {
    #[serde(borrow)]
    tool_call_id: Text<'a>,
    function_name: Text<'a>,
    arguments: Option<&'a RawValue>,
    extra: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StepResult<'a> {
    #[serde(borrow)]
    source_call_id: Text<'a>,
    content: Option<&'a RawValue>,
    extra: Option<&'a RawValue>,
}

/// Reads a step: what is said, and a message for each result.
pub(super) fn read(record: &str, into: &mut Record) -> Result<(), serde_json::Error> {
    let step: StepMembers<'_> = serde_json::from_str(record)?;
    let calls: Vec<StepCall<'_>> = raw_list(step.tool_calls).into_iter().map(parsed).collect();
    let results = results(&step);
    match step.source.as_str() {
        Some("system") => into.messages.extend(system(&step, results.is_empty())),
        Some("user") => {
            let timestamp = step.timestamp.as_str().and_then(parse_iso_ms).unwrap_or(0);
            into.messages.push(Message::User { content: body_of(step.message, part), timestamp });
        }
        Some("agent") => {
            (into.usage, into.model) = (usage(&step), step.model_name.0.clone().map(Cow::into_owned));
            into.messages.push(Message::assistant_blocks(answer(&step, &calls)));
        }
        _ => {
            into.is_of_nobody = true;
            return Ok(());
        }
    }
    into.messages.extend(result_messages(results, &calls));
    Ok(())
}

fn parsed<'a, T: Default + Deserialize<'a>>(json: &'a RawValue) -> T {
    serde_json::from_str(json.get()).unwrap_or_default()
}

fn results<'a>(step: &StepMembers<'a>) -> Vec<StepResult<'a>> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Observation<'a> {
        #[serde(borrow)]
        results: Option<&'a RawValue>,
    }
    let observation: Observation<'a> = step.observation.map(parsed).unwrap_or_default();
    raw_list(observation.results).into_iter().map(parsed).collect()
}

/// Returns the text of a step of the system; `None` if it only has an observation.
fn system(step: &StepMembers<'_>, is_alone: bool) -> Option<Message> {
    let body = body_of(step.message, part);
    (is_alone || body.texts().any(|text| !text.is_empty())).then(|| Message::custom("system", body))
}

/// Returns the blocks of an answer: its reasoning, what it says, its calls.
fn answer(step: &StepMembers<'_>, calls: &[StepCall<'_>]) -> Vec<Block> {
    let thinking = step.reasoning_content.as_str().filter(|text| !text.is_empty());
    let thinking = thinking.map(|text| Block::Thinking { text: text.to_owned(), signature: None });
    let calls = calls.iter().map(|call| Block::ToolCall {
        id: call.tool_call_id.as_str().unwrap_or_default().to_owned(),
        name: call.function_name.as_str().unwrap_or_default().to_owned(),
        input: call.arguments.map_or_else(|| json!({}), |json| arguments(json.get())),
    });
    thinking.into_iter().chain(blocks_of(step.message, part)).chain(calls).collect()
}

/// Returns the messages of results. One that does not name its call answers the call at its
/// position; if all are like that and fewer than the calls, the other calls returned nothing.
fn result_messages(results: Vec<StepResult<'_>>, calls: &[StepCall<'_>]) -> Vec<Message> {
    let is_shared = !results.is_empty() && results.iter().all(|result| name_of(result).is_none());
    let n_other = if is_shared { calls.len().saturating_sub(results.len()) } else { 0 };
    let others = (0..n_other).map(|_| StepResult::default());
    let results = results.into_iter().chain(others).enumerate();
    results.map(|(nth, result)| result_message(&result, nth, calls)).collect()
}

/// Returns the id of the call that a result names.
fn name_of<'r>(result: &'r StepResult<'_>) -> Option<&'r str> {
    result.source_call_id.as_str().filter(|id| !id.is_empty())
}

fn result_message(result: &StepResult<'_>, nth: usize, calls: &[StepCall<'_>]) -> Message {
    let content = blocks_of(result.content, part);
    let named = name_of(result);
    let id = named.or_else(|| calls.get(nth).and_then(|call| call.tool_call_id.as_str()));
    let Some(id) = id else { return Message::custom(OBSERVATION, content) };
    let is_its = |call: &&StepCall<'_>| call.tool_call_id.as_str() == Some(id);
    let call = if named.is_some() { calls.iter().find(is_its) } else { calls.get(nth) };
    let extras = [result.extra, call.and_then(|call| call.extra)];
    Message::ToolResult {
        tool_call_id: id.to_owned(),
        tool_name: call.and_then(|call| call.function_name.as_str()).unwrap_or_default().to_owned(),
        content,
        is_error: extras.into_iter().flatten().any(is_failure),
        is_refusal: false,
    }
}

fn is_failure(extra: &RawValue) -> bool {
    FAILURES.iter().any(|key| get(extra.get().as_bytes(), key) == Some(b"true"))
}

/// Reads a part; one without a matching block becomes a text with its JSON.
fn part(json: &str) -> Block {
    let bytes = json.as_bytes();
    let known = match text_at(bytes, &["type"]).as_deref() {
        Some("text") => text_at(bytes, &["text"]).map(Block::text),
        Some("image") => text_at(bytes, &["source", "path"]).map(|path| picture(&path)),
        Some("audio") => {
            text_at(bytes, &["source", "path"]).map(|path| Block::text(format!("[audio: {path}]")))
        }
        _ => None,
    };
    known.unwrap_or_else(|| Block::text(compact(json)))
}

/// Reads the usage of a step that is one request; cached tokens are part of its prompt.
fn usage(step: &StepMembers<'_>) -> Option<Usage> {
    let counted: StepMetrics = parsed(step.metrics.filter(|_| step.llm_call_count.0.is_none_or(|n| n == 1))?);
    usage_with_cache(counted.prompt.0, counted.completion.0, counted.cached.0, None)
}
