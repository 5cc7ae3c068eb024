//! The context files of kimi-cli: chat messages in JSON lines, and lines of pseudo roles.

use std::io;

use wb_message::{Message, ToolRole, ToolVocabulary};
use wb_record::{Confidence, Document, Format, FormatError, Parts, Probe, ProbedValue, Stamp};

use crate::kit::list_document::open;
use crate::kit::message_list::{Layout, Record, Shape};
use crate::shapes::chat_message::{ChatShape, Other};

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
/// Results have no flag for failures. The line of the system prompt is pinned. Lines of checkpoints
/// and counts are not messages and stay; a checkpoint among folded messages therefore leads back to
/// the digest. The agent itself starts a new file for a compaction; here the lines are replaced in
/// place, and the new size of the context is added as a count, by which the agent decides whether
/// to compact.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KimiCli;

impl Format for KimiCli {
    fn name(&self) -> &'static str {
        "kimi-cli"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_pseudo =
            |line: &ProbedValue| matches!(line.role.as_str(), "_system_prompt" | "_checkpoint" | "_usage");
        if probe.values.iter().any(is_pseudo) { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

impl Layout for KimiCli {
    fn is_lines(&self, _: &dyn Parts) -> io::Result<bool> {
        Ok(true)
    }

    fn shape(&self) -> &dyn Shape {
        &ChatShape { other: pseudo, ..ChatShape::PLAIN }
    }

    fn vocabulary(&self) -> ToolVocabulary {
        VOCABULARY
    }

    fn last_line(&self, stamp: &Stamp) -> Option<String> {
        let tokens = stamp.tokens_after;
        (tokens > 0).then(|| format!("{{\"role\":\"_usage\",\"token_count\":{tokens}}}"))
    }
}

/// Reads the line of the system prompt, and a count.
fn pseudo(line: &Other<'_>, into: &mut Record) {
    match line.role {
        "_system_prompt" => into.messages.push(Message::custom("system", line.text)),
        "_usage" => into.counted = line.token_count.parse().ok(),
        _ => {}
    }
}
