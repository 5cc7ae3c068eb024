//! Finds what gets lost when a session is converted to another format.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;
use wb_dialect::{Dialect, EncodedRequest, call_name};
use wb_formats::{Format, View};
use wb_message::markers::{is_pinned, server_tool};
use wb_message::number::grouped;
use wb_message::{Block, Content, Message, Pairing};
use wb_record::{MemoryParts, Parts};

/// The prefixes of notes that replace non-text content.
const NOTES: [&str; 3] = ["[document: ", "[file: ", "[image: "];
/// The start of the text for an attached block, which its type follows.
const ATTACHED: &str = "<attached_files>\n[";

/// Lists what is already lost on reading, because our messages cannot hold it.
pub(crate) fn lost_in_view(view: &View, parts: &dyn Parts, n_tools: usize) -> Vec<String> {
    let (mut n_notes, mut n_others, mut kinds) = (0, 0, BTreeSet::new());
    for (at, message) in view.messages.iter().enumerate() {
        let made: Vec<Made> = texts_of(message).filter_map(Made::parse).collect();
        if made.is_empty() {
            continue;
        }
        let records = view.provenance.places(at).iter().filter_map(|place| parts.bytes(&place.record).ok());
        let records: Vec<Value> = records.filter_map(|it| serde_json::from_slice(&it).ok()).collect();
        let mut said = HashSet::new();
        for record in &records {
            texts_in(record, &mut said);
        }
        for made in made.into_iter().filter(|made| !said.iter().any(|said| said.contains(made.text))) {
            match made.kind {
                None => n_notes += 1,
                Some(kind) => {
                    n_others += 1;
                    kinds.insert(kind);
                }
            }
        }
    }
    let notes = count(n_notes, "document, file or picture", "documents, files and pictures");
    let others =
        count(n_others, "block of another kind that becomes text", "blocks of other kinds that become text");
    let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
    losses([
        (n_tools, count(n_tools, "tool definition", "tool definitions")),
        (n_notes, notes + ": each replaced by a note"),
        (n_others, format!("{others}: {kinds}")),
    ])
}

/// A text that may be generated: a note, or the JSON of content without a block type.
struct Made<'a> {
    text: &'a str,
    /// The kind of a block that became its JSON.
    kind: Option<String>,
}

impl<'a> Made<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        if text.ends_with(']') && NOTES.iter().any(|note| text.starts_with(note)) {
            return Some(Self { text, kind: None });
        }
        let attached = || text.strip_prefix(ATTACHED)?.split([':', ']']).next();
        if let Some(kind) = server_tool(text).or_else(attached) {
            return Some(Self { text, kind: Some(kind.to_owned()) });
        }
        let json = Some(text).filter(|text| text.starts_with('{') && text.ends_with('}'))?;
        let block: Value = serde_json::from_str(json).ok()?;
        Some(Self { text, kind: Some(block["type"].as_str()?.to_owned()) })
    }
}

fn texts_of(message: &Message) -> impl Iterator<Item = &str> {
    let plain = match message {
        Message::User { content: Content::Text(text), .. }
        | Message::Custom { content: Content::Text(text), .. } => Some(text.as_str()),
        _ => None,
    };
    plain.into_iter().chain(message.blocks().iter().filter_map(Block::as_text))
}

fn losses<const N: usize>(counted: [(usize, String); N]) -> Vec<String> {
    counted.into_iter().filter(|(n, _)| *n > 0).map(|(_, text)| text).collect()
}

/// Lists what a new session of another agent loses in addition to what a request loses.
pub(crate) fn lost_in_session(messages: &[Message]) -> Vec<String> {
    let n_system = messages.iter().take_while(|message| is_pinned(message)).count();
    let n_orphans = Pairing::new(messages).orphans().len();
    let system = count(n_system, "system text", "system texts") + ": the agent adds its own";
    let orphans = count(n_orphans, "result that answers no call", "results that answer no call");
    losses([(n_system, system), (n_orphans, orphans)])
}

/// Lists what our messages cannot hold.
pub(crate) fn lost_in_lines(view: &View) -> Vec<String> {
    let is_foreign = usize::from(view.format != "native");
    let records = "records and fields that aren't part of a message, such as ids, tool times and settings";
    let n_usage = view.usage.len();
    losses([
        (is_foreign, records.to_owned()),
        (n_usage, count(n_usage, "provider token count", "provider token counts")),
    ])
}

/// Lists what the body of a request cannot hold.
pub(crate) fn lost_in_request(view: &View, encoded: &EncodedRequest) -> Vec<String> {
    let blocks = || view.messages.iter().flat_map(Message::blocks);
    let n_thinking = blocks().filter(|block| matches!(block, Block::Thinking { .. })).count();
    let n_thinking = n_thinking.saturating_sub(thinking_in(&encoded.body, encoded.dialect));
    let n_as_prompt = view.messages.iter().filter(|message| is_sent_as_prompt(message)).count();
    let becomes =
        if n_as_prompt == 1 { "becomes a plain user message" } else { "become plain user messages" };
    let as_prompt = count(n_as_prompt, "command, digest or note", "commands, digests or notes");
    let ids: HashSet<&str> = view.messages.iter().flat_map(Message::calls).map(|(id, ..)| id).collect();
    let mut known = HashSet::new();
    texts_in(&encoded.body, &mut known);
    let n_other = ids.difference(&known).count();
    let names: BTreeSet<&str> =
        view.messages.iter().flat_map(Message::calls).map(|(_, name, _)| name).collect();
    let n_names = names.iter().filter(|name| call_name(name, encoded.dialect) != **name).count();
    let lost = losses([
        (n_thinking, count(n_thinking, "thought", "thoughts") + " that this provider has not signed"),
        (n_as_prompt, format!("{as_prompt} {becomes}")),
        (
            n_other,
            count(n_other, "id of a call", "ids of calls") + " in a shape that this provider does not take",
        ),
        (
            n_names,
            count(n_names, "name of a tool", "names of tools")
                + " in calls, of a shape that this provider does not take",
        ),
    ]);
    lost_in_lines(view).into_iter().chain(lost).collect()
}

/// Lists what is missing when the written file is read back.
pub(crate) fn lost_when_read(messages: &[Message], format: &dyn Format, bytes: &[u8]) -> Vec<String> {
    let n_before = n_failed(messages);
    if n_before == 0 {
        return Vec::new();
    }
    let again =
        format.open(Box::new(MemoryParts::from_bytes(bytes.to_vec()))).and_then(|again| again.view(""));
    let n_lost = n_before.saturating_sub(again.map_or(0, |again| n_failed(&again.messages)));
    let results = count(n_lost, "result", "results");
    losses([(n_lost, format!("error flags of {results} (text kept)"))])
}

/// Counts the answers of calls that say that the tool failed.
fn n_failed(messages: &[Message]) -> usize {
    let is_failed = |at: u32| matches!(messages[at as usize], Message::ToolResult { is_error: true, .. });
    Pairing::new(messages).pairs().iter().filter(|pair| is_failed(pair.result)).count()
}

fn is_sent_as_prompt(message: &Message) -> bool {
    use Message::{BashExecution, BranchSummary, CompactionSummary, Custom};
    matches!(message, BashExecution { .. } | BranchSummary { .. } | CompactionSummary { .. } | Custom { .. })
        && !is_pinned(message)
}

/// Counts the thoughts in the body of a request.
fn thinking_in(body: &Value, dialect: Dialect) -> usize {
    let is_thought = |value: &Value| match dialect {
        Dialect::Anthropic => value["type"] == "thinking" || value["type"] == "redacted_thinking",
        Dialect::OpenaiResponses => value["type"] == "reasoning" || value["type"] == "compaction",
        Dialect::OpenaiChat => false,
        Dialect::Gemini => value["thoughtSignature"].is_string(),
    };
    let within = match body {
        Value::Array(all) => all.iter().map(|value| thinking_in(value, dialect)).sum(),
        Value::Object(members) => members.values().map(|value| thinking_in(value, dialect)).sum(),
        _ => 0,
    };
    within + usize::from(body.is_object() && is_thought(body))
}

/// Collects all texts in a value.
fn texts_in<'a>(value: &'a Value, out: &mut HashSet<&'a str>) {
    match value {
        Value::String(text) => _ = out.insert(text),
        Value::Array(all) => all.iter().for_each(|value| texts_in(value, out)),
        Value::Object(members) => members.values().for_each(|value| texts_in(value, out)),
        _ => {}
    }
}

/// Returns `1 message`, `2 messages`.
fn count(n: usize, one: &str, several: &str) -> String {
    format!("{} {}", grouped(n as u64), if n == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wb_message::ToolVocabulary;

    use super::*;

    fn lost(messages: Vec<Message>, dialect: Dialect) -> String {
        let mut view = View::new("native", ToolVocabulary::BASIC);
        view.messages = messages;
        lost_in_request(&view, &EncodedRequest::from_messages(&view.messages, dialect)).join("; ")
    }

    #[test]
    fn what_a_request_does_not_hold_is_listed() {
        let thought = Block::Thinking { text: "Hm.".into(), signature: None };
        let call = Block::call("a|b", "ls", json!({}));
        let messages = vec![
            Message::user("Look."),
            Message::assistant_blocks(vec![thought, call]),
            Message::tool_result("a|b", "ls", "x"),
            Message::CompactionSummary { summary: "They looked.".into(), tokens_before: 9 },
        ];
        let chat = lost(messages.clone(), Dialect::OpenaiChat);
        assert!(
            chat.contains("1 thought that") && chat.contains("1 command, digest or note becomes"),
            "{chat}"
        );
        assert!(lost(messages, Dialect::Anthropic).contains("1 id of a call in a shape"));
        let call = Message::assistant_blocks(vec![Block::call("c", "fs.read", json!({}))]);
        assert!(lost(vec![call.clone()], Dialect::Anthropic).contains("1 name of a tool in calls"));
        assert_eq!(lost(vec![call], Dialect::Gemini), "");
        assert_eq!(lost(vec![Message::user("Look.")], Dialect::Gemini), "");
    }
}
