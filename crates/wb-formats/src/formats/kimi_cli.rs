//! The context files of kimi-cli: chat messages in JSON lines, and lines of pseudo roles.

use serde::Deserialize;
use wb_budget::Usage;
use wb_message::{Message, ToolRole, ToolVocabulary};
use wb_record::json::text;
use wb_record::{
    Abilities, Confidence, Document, Format, FormatError, Parts, Probe, Seen, Stamp, UsageAt, View,
};

use super::chat_message::ChatShape;
use super::list_document::open;
use super::loose::{Count, Text};
use super::message_list::{Layout, List, Record, Shape};

const VOCABULARY: ToolVocabulary = ToolVocabulary {
    tools: &[
        ("ReadFile", ToolRole::Read),
        ("ReadMediaFile", ToolRole::Read),
        ("Glob", ToolRole::Search),
        ("Grep", ToolRole::Search),
        ("WriteFile", ToolRole::Write),
        ("StrReplaceFile", ToolRole::Edit),
        ("PatchFile", ToolRole::Edit),
        ("Bash", ToolRole::Run),
        ("Shell", ToolRole::Run),
        ("CMD", ToolRole::Run),
        ("SearchWeb", ToolRole::Fetch),
        ("FetchURL", ToolRole::Fetch),
        ("SetTodoList", ToolRole::Plan),
    ],
    path_keys: &["path"],
    part_keys: &["line_offset", "n_lines"],
};

/// The `context.jsonl` of kimi-cli.
///
/// The line of the system prompt is pinned. Lines of checkpoints and counts are no messages and stay; so a checkpoint
/// among messages that were folded leads back to the digest. The agent itself starts a new file for a compaction; here
/// the lines are replaced in place, and the size of the context that is now is added as a count, by which the agent
/// judges whether it must compact.
#[derive(Clone, Copy, Debug, Default)]
pub struct KimiCli;

impl Format for KimiCli {
    fn name(&self) -> &'static str {
        "kimi-cli"
    }

    fn abilities(&self) -> Abilities {
        Abilities::ALL
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_pseudo =
            |line: &Seen| matches!(line.role.as_str(), "_system_prompt" | "_checkpoint" | "_usage");
        if probe.values.iter().any(is_pseudo) { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

impl Layout for KimiCli {
    fn format(&self) -> &'static dyn Format {
        &Self
    }

    fn lists(&self, text: &[u8]) -> Result<Vec<List>, FormatError> {
        Ok(vec![List::of_lines(text)?])
    }

    fn shape(&self) -> &dyn Shape {
        &ChatShape { more: pseudo }
    }

    fn vocabulary(&self) -> ToolVocabulary {
        VOCABULARY
    }

    fn complete(&self, text: &[u8], list: &List, view: &mut View) {
        view.usage = counts(text, list, view);
    }

    fn last_line(&self, stamp: &Stamp) -> Option<String> {
        let tokens = stamp.tokens_after;
        (tokens > 0).then(|| format!("{{\"role\":\"_usage\",\"token_count\":{tokens}}}"))
    }
}

/// Reads the line of the system prompt. Whether a tool failed is told by the text of its result alone, which may be
/// replaced.
fn pseudo(record: &[u8], read: &mut Record) {
    let may_be = read.messages.is_empty() && memchr::memmem::find(record, b"_system_prompt").is_some();
    if may_be && text(record, &["role"]).is_some_and(|role| role == "_system_prompt") {
        let prompt = text(record, &["content"]).unwrap_or_default();
        read.messages.push(Message::custom("system", prompt));
    }
}

/// Returns what was counted: right before an answer its prompt, right behind it the prompt and the answer.
fn counts(text: &[u8], list: &List, view: &View) -> Vec<UsageAt> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Pseudo<'a> {
        #[serde(borrow)]
        role: Text<'a>,
        token_count: Count,
    }
    let place_of = |at: usize| view.provenance.of(at).first().map(|place| place.record.at);
    let (mut usage, mut next, mut before): (Vec<UsageAt>, usize, Option<u64>) = (Vec::new(), 0, None);
    let mut open = false;
    for place in &list.records {
        if place_of(next) == Some(place.start as u64) {
            open = matches!(view.messages[next], Message::Assistant { .. });
            if let (true, Some(prompt)) = (open, before) {
                let counted = Usage { input_tokens: prompt, ..Usage::EMPTY };
                usage.push(UsageAt { at: next, usage: counted, model: None });
            }
            (next, before) = (next + 1, None);
            continue;
        }
        let line = serde_json::from_slice::<Pseudo<'_>>(&text[place.clone()]).unwrap_or_default();
        let Some(tokens) = line.token_count.0.filter(|_| line.role.as_str() == Some("_usage")) else {
            continue;
        };
        before = Some(tokens);
        if let (true, Some(last)) = (open, usage.last_mut().filter(|last| last.at + 1 == next)) {
            last.usage.output_tokens = tokens.saturating_sub(last.usage.input_tokens);
            open = false;
        }
    }
    usage
}
