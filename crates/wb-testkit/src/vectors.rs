//! Recorded answers of other systems, as rows of JSON with their inputs.

use std::io::BufRead;
use std::path::PathBuf;

use serde_json::Value;
use wb_message::{Block, Content, Message, Turn};

pub mod policy;
pub mod three_level;

/// Reads the rows of `fixtures/vectors/<name>` of one kind.
///
/// # Panics
/// Panics if the file is missing or a row is not JSON.
pub fn rows(name: &str, kind: &str) -> Vec<Value> {
    all_rows(name).filter(|row| row["kind"] == kind).collect()
}

/// Reads every row of `fixtures/vectors/<name>`.
///
/// # Panics
/// Panics if the file is missing or a row is not JSON.
#[expect(clippy::disallowed_methods, reason = "a test tool reads its fixtures")]
pub fn all_rows(name: &str) -> impl Iterator<Item = Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vectors").join(name);
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = std::io::BufReader::new(file).lines();
    lines.map(|line| serde_json::from_str::<Value>(&line.expect("UTF-8")).expect("JSON"))
}

/// Reads the messages of a row from their neutral form.
pub fn messages(list: &Value) -> Vec<Message> {
    items(list).iter().map(message).collect()
}

/// Reads the turns of a row from their neutral form.
pub fn turns(list: &Value) -> Vec<Turn> {
    items(list).iter().map(turn).collect()
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a string: {value}")).to_owned()
}

fn turn(value: &Value) -> Turn {
    let blocks = blocks(&value["blocks"]);
    match value["role"].as_str() {
        Some("user") => Turn::User { blocks },
        Some("assistant") => Turn::Assistant { blocks },
        Some("tool") => Turn::Tool { blocks },
        other => panic!("unknown role {other:?}"),
    }
}

fn message(value: &Value) -> Message {
    match value["kind"].as_str() {
        Some("user") => Message::User {
            content: content(&value["content"]),
            timestamp: value["timestamp"].as_i64().unwrap_or(0),
        },
        Some("assistant") => Message::Assistant {
            content: blocks(&value["content"]),
            error_message: value["error_message"].as_str().map(str::to_owned),
        },
        Some("tool_result") => Message::ToolResult {
            tool_call_id: text(&value["tool_call_id"]),
            tool_name: text(&value["tool_name"]),
            content: blocks(&value["content"]),
            is_error: value["is_error"].as_bool().unwrap_or(false),
            is_refusal: false,
        },
        Some("bash_execution") => Message::BashExecution {
            command: text(&value["command"]),
            output: text(&value["output"]),
            exit_code: value["exit_code"]
                .as_i64()
                .map(|code| i32::try_from(code).expect("a small exit code")),
        },
        Some("custom") => Message::custom(text(&value["custom_type"]), content(&value["content"])),
        Some("branch_summary") => {
            Message::BranchSummary { summary: text(&value["summary"]), from_id: text(&value["from_id"]) }
        }
        Some("compaction_summary") => Message::CompactionSummary {
            summary: text(&value["summary"]),
            tokens_before: value["tokens_before"].as_u64().unwrap_or(0),
        },
        other => panic!("unknown kind {other:?}"),
    }
}

fn content(value: &Value) -> Content {
    match value.as_str() {
        Some(text) => Content::from(text),
        None => Content::Blocks(blocks(value)),
    }
}

/// Reads blocks in the neutral form, tagged `type`.
pub fn blocks(list: &Value) -> Vec<Block> {
    items(list).iter().map(block).collect()
}

fn block(value: &Value) -> Block {
    match value["type"].as_str() {
        Some("text") => Block::text(text(&value["text"])),
        Some("thinking") => Block::Thinking {
            text: text(&value["text"]),
            signature: value["signature"].as_str().map(str::to_owned),
        },
        Some("image") => Block::image(text(&value["media_type"]), text(&value["data_base64"])),
        Some("tool_call") => Block::call(text(&value["id"]), text(&value["name"]), value["input"].clone()),
        Some("tool_result") => Block::ToolResult {
            call_id: text(&value["call_id"]),
            output: value["output"].clone(),
            is_error: value["is_error"].as_bool(),
        },
        Some("command") => Block::Command {
            command: text(&value["command"]),
            args: value["args"].as_array().map(|args| args.iter().map(text).collect()),
        },
        other => panic!("unknown block {other:?}"),
    }
}

/// Returns whether a text equals the recorded one; of a long text, length and hash are recorded.
pub fn is_recorded(actual: &str, recorded: &Value) -> bool {
    match recorded.as_str() {
        Some(expected) => actual == expected,
        None => {
            Some(actual.chars().count() as u64) == recorded["chars"].as_u64()
                && recorded["fnv1a64"].as_str() == Some(&format!("{:016x}", fnv1a64(actual.as_bytes())))
        }
    }
}

/// Returns the FNV-1a hash of bytes, as in the recorded rows.
pub(crate) fn fnv1a64(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}
