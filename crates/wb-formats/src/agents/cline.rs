//! Sessions of Cline's SDK.

use serde_json::{Value, json};
use wb_budget::Usage;
use wb_message::markers::digest_body;
use wb_message::{Message, ToolRole, ToolVocabulary};
use wb_record::json::{find, text};
use wb_record::{Confidence, Document, Format, FormatError, Numbers, Parts, Probe, Stamp};

use crate::kit::list_document::open;
use crate::kit::message_list::{Fate, Layout, List, Record, Shape, held};
use crate::kit::usage::usage_with_cache;
use crate::shapes::anthropic_message::{AnthropicShape, read};

/// The start of a summary that the agent sends.
const SUMMARY_START: &str = "Context summary:\n\n";

const VOCABULARY: ToolVocabulary = ToolVocabulary {
    tools: &[
        ("read_files", ToolRole::Read),
        ("read_file", ToolRole::Read),
        ("editor", ToolRole::Edit),
        ("replace_in_file", ToolRole::Edit),
        ("apply_patch", ToolRole::Edit),
        ("write_to_file", ToolRole::Write),
        ("run_commands", ToolRole::Run),
        ("execute_command", ToolRole::Run),
        ("search", ToolRole::Search),
        ("search_files", ToolRole::Search),
        ("search_codebase", ToolRole::Search),
        ("list_files", ToolRole::Search),
        ("fetch_web_content", ToolRole::Fetch),
    ],
    path_keys: &["path"],
    part_keys: &["start_line", "end_line"],
};

/// Sessions of Cline's SDK (`messages.json`): blocks as Anthropic has them, with the usage
/// next to each answer.
///
/// A digest is written as the agent's own, a message whose `metadata` says that it is a summary,
/// and read from there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cline;

impl Format for Cline {
    fn name(&self) -> &'static str {
        "cline"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        match probe.values.as_slice() {
            [first] if first.has("messages") && first.has("sessionId") && first.has("version") => {
                Confidence::Sure
            }
            _ => Confidence::No,
        }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

impl Layout for Cline {
    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        Ok(vec![List::at_path(held(parts), &["messages"])?])
    }

    fn shape(&self) -> &dyn Shape {
        self
    }

    fn vocabulary(&self) -> ToolVocabulary {
        VOCABULARY
    }
}

impl Shape for Cline {
    fn read(&self, record: &str, into: &mut Record) -> Result<(), serde_json::Error> {
        read(record, into)?;
        let record = record.as_bytes();
        if text(record, &["metadata", "kind"]).is_some_and(|kind| kind == "compaction_summary") {
            let summary = text(record, &["metadata", "summary"]).unwrap_or_default();
            let tokens_before = number(record, &["metadata", "tokensBefore"]).unwrap_or(0);
            into.clear();
            into.messages.push(Message::CompactionSummary { summary, tokens_before });
            return Ok(());
        }
        if let [Message::User { timestamp, .. }] = into.messages.as_mut_slice() {
            *timestamp = number(record, &["ts"]).and_then(|ms| i64::try_from(ms).ok()).unwrap_or(0);
        }
        into.usage = usage(record);
        into.model = text(record, &["modelInfo", "id"]);
        Ok(())
    }

    fn write(&self, message: &Message, stamp: &Stamp) -> Result<Vec<u8>, String> {
        let id = format!("msg_{:016x}", Numbers::new(stamp.seed).next_number());
        let record = match digest_body(message) {
            Some(summary) => digest(&summary, stamp),
            None => {
                serde_json::from_slice(&AnthropicShape.write(message, stamp)?).map_err(|it| it.to_string())?
            }
        };
        let Value::Object(mut record) = record else { return Err("a message".to_owned()) };
        record.insert("id".to_owned(), id.into());
        record.insert("ts".to_owned(), stamp.now_ms.into());
        Ok(Value::Object(record).to_string().into_bytes())
    }

    fn rewrite(&self, record: &[u8], messages: &[Message], fates: &[Fate<'_>]) -> Result<Vec<u8>, String> {
        match messages {
            [Message::CompactionSummary { .. }] => Err("another text for a summary".to_owned()),
            _ => AnthropicShape.rewrite(record, messages, fates),
        }
    }
}

/// Returns a summary as the agent writes its own.
fn digest(summary: &str, stamp: &Stamp) -> Value {
    let details = json!({ "readFiles": [], "modifiedFiles": [] });
    json!({
        "role": "user",
        "content": [{ "type": "text", "text": format!("{SUMMARY_START}{summary}") }],
        "metadata": {
            "kind": "compaction_summary",
            "summary": summary,
            "details": details,
            "tokensBefore": stamp.tokens_before,
            "generatedAt": stamp.now_ms,
        },
    })
}

fn number(record: &[u8], path: &[&str]) -> Option<u64> {
    serde_json::from_slice(&record[find(record, path)?]).ok()
}

/// Reads the usage of an answer.
fn usage(record: &[u8]) -> Option<Usage> {
    let of = |key: &str| number(record, &["metrics", key]);
    usage_with_cache(of("inputTokens"), of("outputTokens"), of("cacheReadTokens"), of("cacheWriteTokens"))
}
