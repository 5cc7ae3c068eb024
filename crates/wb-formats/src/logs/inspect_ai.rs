//! Logs of evaluations by Inspect: one document with samples, each a conversation.

use std::collections::HashMap;

use serde_json::Value;
use wb_message::{Block, Content, Message};
use wb_record::json::{elements, find, get, members, text};
use wb_record::{Confidence, Document, Format, FormatError, Parts, Probe, UsageAt, View};

use crate::kit::json_text::{self, body_of};
use crate::kit::list_document::open;
use crate::kit::message_list::{Layout, List, Shape, held};
use crate::kit::usage::usage_with_cache;
use crate::shapes::chat_message::ChatShape;

/// The start of a text that refers to an attachment.
const ATTACHMENT: &str = "attachment://";

/// Logs of Inspect as JSON. Each sample is a conversation, named by its id and its epoch.
///
/// Long texts that the log keeps as attachments are read from there. Usage comes from the model
/// event whose answer is the message. The zipped `.eval` is refused with the command that unpacks
/// it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InspectAi;

impl Format for InspectAi {
    fn name(&self) -> &'static str {
        "inspect-ai"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        match probe.values.as_slice() {
            [first] if first.has("eval") && first.has("plan") && first.has("version") => Confidence::Sure,
            _ => Confidence::No,
        }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

impl Layout for InspectAi {
    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        let text = held(parts);
        let samples = List::at_path(text, &["samples"])?.records;
        samples.into_iter().map(|sample| history_path(text, &text[sample])).collect()
    }

    fn shape(&self) -> &dyn Shape {
        &ChatShape::PLAIN
    }

    fn complete(&self, parts: &dyn Parts, list: &List, view: &mut View) {
        let whole = held(parts);
        let (_, json) = body_of(whole);
        view.model = text(json, &["eval", "model"]);
        let samples = get(json, "samples").unwrap_or_default();
        let places = elements(samples).unwrap_or_default();
        let sample =
            places.into_iter().map(|place| &samples[place]).find(|sample| name_of(sample) == list.name);
        let Some(sample) = sample else { return };
        attach(sample, view);
        view.usage = counted(sample, whole, view);
    }
}

fn history_path(whole: &[u8], sample: &[u8]) -> Result<List, FormatError> {
    let messages = get(sample, "messages").filter(|list| elements(list).is_some());
    Ok(List { name: name_of(sample), ..List::of_array(whole, messages.unwrap_or(b"[]"))? })
}

fn name_of(sample: &[u8]) -> String {
    let part = |key| String::from_utf8_lossy(get(sample, key).unwrap_or(b"0")).trim_matches('"').to_owned();
    format!("{}/{}", part("id"), part("epoch"))
}

/// Replaces references by their attachments.
fn attach(sample: &[u8], view: &mut View) {
    let Some(attachments) = get(sample, "attachments") else { return };
    let all = members(attachments).unwrap_or_default();
    let read =
        |place: std::ops::Range<usize>| json_text::text(std::str::from_utf8(&attachments[place]).ok()?);
    let texts: HashMap<String, String> =
        all.into_iter().filter_map(|member| Some((member.key.into_owned(), read(member.value)?))).collect();
    let resolve = |text: &mut String| {
        let attached = text.strip_prefix(ATTACHMENT).and_then(|name| texts.get(name));
        if let Some(attached) = attached {
            text.clone_from(attached);
        }
    };
    for message in &mut view.messages {
        match message {
            Message::User { content: Content::Text(text), .. }
            | Message::Custom { content: Content::Text(text), .. } => resolve(text),
            Message::User { content: Content::Blocks(blocks), .. }
            | Message::Custom { content: Content::Blocks(blocks), .. }
            | Message::Assistant { content: blocks, .. }
            | Message::ToolResult { content: blocks, .. } => {
                for block in blocks {
                    resolve_block(block, &resolve);
                }
            }
            _ => {}
        }
    }
}

fn resolve_block(block: &mut Block, resolve: &impl Fn(&mut String)) {
    match block {
        Block::Text { text } | Block::Thinking { text, .. } => resolve(text),
        Block::ToolCall { input: Value::Object(fields), .. } => {
            for field in fields.values_mut() {
                if let Value::String(text) = field {
                    resolve(text);
                }
            }
        }
        _ => {}
    }
}

/// Returns the usage of the answers that are messages of the view.
fn counted(sample: &[u8], whole: &[u8], view: &View) -> Vec<UsageAt> {
    let events = get(sample, "events").unwrap_or_default();
    let places = elements(events).unwrap_or_default();
    let counts: HashMap<String, UsageAt> =
        places.into_iter().filter_map(|place| count_of(&events[place])).collect();
    let usage = |at: usize| {
        let place = view.provenance.places(at).first()?;
        let start = usize::try_from(place.record.at).ok()?;
        let record = whole.get(start..start + usize::try_from(place.record.len).ok()?)?;
        let counted = counts.get(&text(record, &["id"])?)?;
        let is_answer = matches!(view.messages[at], Message::Assistant { .. });
        is_answer.then(|| UsageAt { at, ..counted.clone() })
    };
    (0..view.messages.len()).filter_map(usage).collect()
}

/// Reads the event of a model: the id of its answer, and its usage.
fn count_of(event: &[u8]) -> Option<(String, UsageAt)> {
    text(event, &["event"]).filter(|kind| kind == "model")?;
    let output = get(event, "output")?;
    let choices = get(output, "choices")?;
    let first = elements(choices)?.into_iter().next()?;
    let id = text(&choices[first], &["message", "id"])?;
    let of =
        |key: &str| -> Option<u64> { serde_json::from_slice(&output[find(output, &["usage", key])?]).ok() };
    let (prompt, answer) = (of("input_tokens").filter(|n| *n > 0)?, of("output_tokens").unwrap_or(0));
    let (read, written) = (of("input_tokens_cache_read"), of("input_tokens_cache_write"));
    let cached = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
    // Some providers include cached tokens in the prompt, some count them separately; the sum shows
    // which.
    let is_in_prompt = of("total_tokens").is_none_or(|total| total <= prompt.saturating_add(answer));
    let prompt = if is_in_prompt { prompt } else { prompt.saturating_add(cached) };
    let usage = usage_with_cache(Some(prompt), Some(answer), read, written)?;
    Some((id, UsageAt { at: 0, usage, model: text(output, &["model"]) }))
}
