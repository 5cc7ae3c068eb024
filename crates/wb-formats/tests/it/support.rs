//! Where test data lies.

use std::path::{Path, PathBuf};

use wb_formats::{Document, Format, FormatError, View};
use wb_record::{MemoryParts, Probe};
pub(crate) use wb_testkit::shared::{bytes_of, shared};

macro_rules! fixtures {
    ($($name:literal),* $(,)?) => {
        /// The composed files by their path.
        pub(crate) const FIXTURES: &[(&str, &[u8])] = &[$(($name, include_bytes!(concat!("../fixtures/", $name)))),*];
    };
}

fixtures![
    "claude-code/split.jsonl",
    "claude-code/sidechain.jsonl",
    "claude-code/subagent.jsonl",
    "claude-code/compact.jsonl",
    "claude-code/microcompact.jsonl",
    "claude-code/rewound.jsonl",
    "claude-code/bad-middle.jsonl",
    "claude-code/truncated.jsonl",
    "claude-code/unlinked.json",
    "codex/current.jsonl",
    "codex/world.jsonl",
    "codex/items.jsonl",
    "codex/compacted.jsonl",
    "codex/rolled-back.jsonl",
    "codex/summary.jsonl",
    "codex/bare.jsonl",
    "codex/bad-middle.jsonl",
    "codex/truncated.jsonl",
    "claude-code/odd.jsonl",
    "claude-code/kept.jsonl",
    "pi/tree.jsonl",
    "pi/compactions.jsonl",
    "pi/v1.jsonl",
    "pi/truncated.jsonl",
    "pi/bad-middle.jsonl",
    "opencode/session.json",
    "opencode/failures.json",
    "opencode/compacted.json",
    "opencode/digest.json",
    "opencode/reverted.json",
    "gemini-cli/session.jsonl",
    "gemini-cli/resumed.jsonl",
    "gemini-cli/old.json",
    "copilot-cli/events.jsonl",
    "copilot-cli/compacted.jsonl",
    "goose/session.jsonl",
    "gemini-contents/body.json",
    "gemini-contents/saved.json",
    "gemini-contents/array.json",
    "qwen-code/session.jsonl",
    "droid/session.jsonl",
    "openai-responses/body.json",
    "openai-responses/array.json",
    "openai-chat/body.json",
    "openai-chat/array.json",
    "anthropic-messages/body.json",
    "anthropic-messages/compacted.json",
    "mini-swe-agent/run.traj.json",
    "openhands-llm-completions/step.json",
    "openhands-events/events.json",
    "openhands-events/runs.jsonl",
    "cline/session.messages.json",
    "kimi-cli/context.jsonl",
    "kimi-code/wire.jsonl",
    "swe-agent/run.traj",
    "tau-bench/runs.json",
    "tau-bench/simulations.json",
    "inspect-ai/log.json",
    "ai-sdk/messages.json",
    "pydantic-ai/messages.json",
    "native/lines.jsonl",
    "native/object.json",
    "native/array.json",
    "native/bad-middle.jsonl",
    "native/truncated.jsonl",
];

pub(crate) fn fixture(name: &str) -> &'static [u8] {
    FIXTURES.iter().find(|(known, _)| *known == name).unwrap().1
}

pub(crate) fn open(mut bytes: &[u8]) -> Result<View, FormatError> {
    wb_formats::read(&mut bytes)
}

/// Opens a session whose bytes stay reachable.
pub(crate) fn of_parts(parts: MemoryParts) -> Box<dyn Document> {
    wb_formats::open(Box::new(parts)).unwrap()
}

/// Returns the format that the bytes are recognized as.
pub(crate) fn detect(bytes: &[u8]) -> Option<&'static dyn Format> {
    wb_formats::detect(&Probe::of(&MemoryParts::of(bytes)).unwrap())
}

/// Returns the files of a folder in order, with their names.
pub(crate) fn files_of(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.map(|path| (path.file_name().unwrap().display().to_string(), path)).collect();
    files.sort();
    files
}

/// What tests of Claude Code share.
pub(crate) mod claude {
    use serde_json::Value;
    use wb_message::{Message, markers};
    use wb_record::{Change, ChangeSet, Document, Item, MemoryParts, NotExpressible, Stamp, View};

    pub(crate) fn stamp(seed: u64) -> Stamp {
        Stamp { now_ms: 1_800_000_000_000, seed, tokens_before: 27_060, tokens_after: 90, by_hand: true }
    }

    pub(crate) fn open(bytes: impl Into<Vec<u8>>) -> Box<dyn Document> {
        wb_formats::open(Box::new(MemoryParts::of(bytes))).unwrap()
    }

    pub(crate) fn write(
        document: &dyn Document,
        view: &View,
        items: &[Item<'_>],
    ) -> Result<ChangeSet, NotExpressible> {
        document.render("", view, items, &stamp(7))
    }

    /// Returns the lines that a change set appends.
    pub(crate) fn appended(set: &ChangeSet) -> Vec<Value> {
        let [(_, Change::Append { new, .. })] = set.changes.as_slice() else { panic!("{set:?}") };
        let text = String::from_utf8(new.0.clone()).unwrap();
        let lines = text.lines().filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns values as lines.
    pub(crate) fn lines(values: &[Value]) -> Vec<u8> {
        values.iter().flat_map(|value| format!("{value}\n").into_bytes()).collect()
    }

    pub(crate) fn digest(text: &str) -> Message {
        Message::user(format!("{}\n{text}", markers::DIGEST_HEADER))
    }
}
