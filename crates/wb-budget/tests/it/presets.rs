//! The recorded estimates of other programs.

use std::collections::HashMap;

use serde_json::{Value, json};
use wb_budget::HeuristicPreset;
use wb_message::{Block, Content, Message};
use wb_testkit::shared::{bytes_of, shared};
use wb_testkit::vectors;

const THREE_LEVEL: HeuristicPreset = HeuristicPreset::THREE_LEVEL;

fn numbers(list: &Value) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|value| value.as_u64().unwrap()).collect()
}

/// Returns the tokens of a message's content; the recording has none for extensions.
fn content(message: &Message) -> Option<u64> {
    match message {
        Message::Custom { .. } => None,
        other => Some(THREE_LEVEL.blocks_tokens(other.blocks())),
    }
}

#[test]
fn every_recorded_three_level_estimate_is_equal() {
    let cases = vectors::three_level::cases("estimate");
    for case in &cases {
        let each: Vec<_> = case.messages.iter().map(|message| THREE_LEVEL.message_tokens(message)).collect();
        assert_eq!(each, numbers(&case.expect["per_message"]), "{}", case.id);
        assert_eq!(each.iter().sum::<u64>(), case.expect["total"].as_u64().unwrap());
        let texts = case.request["texts"].as_array().unwrap();
        let each: Vec<_> = texts.iter().map(|text| THREE_LEVEL.text_tokens(text.as_str().unwrap())).collect();
        assert_eq!(each, numbers(&case.expect["texts"]), "{}", case.id);
        let each: Vec<_> = case.messages.iter().map(content).collect();
        let recorded: Vec<_> = case.expect["content"].as_array().unwrap().iter().map(Value::as_u64).collect();
        assert_eq!(each, recorded, "{}", case.id);
    }
    assert_eq!(cases.len(), 17);
}

/// The recorded contexts with other estimates than ours, by file and leaf, each with the reason.
const OTHER_SESSIONS: [(&str, &str, &str); 1] = [(
    "session-cases/edge-args-json.jsonl",
    "e0000003",
    "a number that JavaScript writes out in digits and we with an exponent",
)];

/// Reads the records of a session file by id, without those that contain half a surrogate pair.
fn records(file: &str) -> HashMap<String, Value> {
    let Some(path) = shared(&format!("vectors/{file}")) else { return HashMap::new() };
    let bytes = bytes_of(&path);
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let known = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    known.filter_map(|record| Some((record["id"].as_str()?.to_owned(), record))).collect()
}

/// Reads a message of a session: inline, or by the id of an entry.
fn recorded_message(value: &Value, records: &HashMap<String, Value>) -> Option<Message> {
    let Some(entry) = value["entry"].as_str() else { return session_message(value) };
    let record = records.get(entry)?;
    session_message(if record["message"].is_object() { &record["message"] } else { record })
}

fn session_message(value: &Value) -> Option<Message> {
    let text = |key: &str| value[key].as_str().unwrap_or_default();
    let blocks = || value["content"].as_array().map(|list| list.iter().filter_map(session_block).collect());
    let content = || value["content"].as_str().map(Content::from).or_else(|| blocks().map(Content::Blocks));
    Some(match value["role"].as_str().or_else(|| value["type"].as_str())? {
        "user" => Message::user(content()?),
        "assistant" => Message::assistant_blocks(blocks()?),
        "toolResult" => Message::ToolResult {
            tool_call_id: text("toolCallId").to_owned(),
            tool_name: text("toolName").to_owned(),
            content: blocks()?,
            is_error: false,
            is_refusal: false,
        },
        "bashExecution" => Message::bash(text("command"), text("output"), None),
        "custom" | "custom_message" | "hookMessage" => Message::custom(text("customType"), content()?),
        "branchSummary" | "branch_summary" => Message::BranchSummary {
            summary: value["summary"].as_str()?.to_owned(),
            from_id: text("fromId").to_owned(),
        },
        "compactionSummary" => {
            Message::CompactionSummary { summary: value["summary"].as_str()?.to_owned(), tokens_before: 0 }
        }
        _ => return None,
    })
}

fn session_block(value: &Value) -> Option<Block> {
    let text = |key: &str| value[key].as_str().unwrap_or_default();
    Some(match value["type"].as_str()? {
        "text" => Block::text(text("text")),
        "thinking" => Block::Thinking { text: text("thinking").to_owned(), signature: None },
        "image" => Block::image(text("mimeType"), text("data")),
        "toolCall" => Block::call(text("id"), text("name"), value["arguments"].clone()),
        _ => return None,
    })
}

/// The messages and estimates of each recorded context, by file and leaf.
type Contexts = HashMap<(String, String), (Vec<Value>, Vec<u64>)>;

fn recorded_contexts() -> Contexts {
    let Some(path) = shared("vectors/session.jsonl") else { return HashMap::new() };
    let bytes = bytes_of(&path);
    let mut contexts = Contexts::new();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let row: Value = serde_json::from_slice(line).unwrap();
        let is_older = row["versions"].as_array().unwrap().contains(&json!("0.55.4"));
        let Some(leaf) = row["params"]["leaf"].as_str().filter(|_| is_older) else { continue };
        let key = (row["file"].as_str().unwrap().to_owned(), leaf.to_owned());
        match row["op"].as_str() {
            Some("build_context") => {
                contexts.entry(key).or_default().0.clone_from(row["output"]["messages"].as_array().unwrap());
            }
            Some("estimate_tokens") => contexts.entry(key).or_default().1 = numbers(&row["output"]),
            _ => {}
        }
    }
    contexts.retain(|_, (messages, estimates)| !messages.is_empty() && !estimates.is_empty());
    assert!(!contexts.is_empty(), "no contexts with estimates");
    contexts
}

#[test]
#[expect(clippy::print_stdout, reason = "prints the number of compared contexts")]
fn only_the_listed_estimates_of_sessions_differ() {
    let contexts = recorded_contexts();
    let (mut n_checked, mut differ) = (0, Vec::new());
    for ((file, leaf), (messages, estimates)) in &contexts {
        let records = records(file);
        let known: Option<Vec<_>> = messages.iter().map(|value| recorded_message(value, &records)).collect();
        let Some(known) = known else { continue };
        n_checked += 1;
        let tokens = known.iter().map(|message| HeuristicPreset::PI.message_tokens(message));
        if !tokens.eq(estimates.iter().copied()) {
            differ.push((file.as_str(), leaf.as_str()));
        }
    }
    println!("{n_checked} of {} recorded contexts", contexts.len());
    if !contexts.is_empty() {
        assert_eq!(differ, OTHER_SESSIONS.map(|(file, leaf, _)| (file, leaf)));
        assert_eq!(n_checked, 124);
    }
}
