//! Real sessions, read where they lie: every file opens, and what providers counted is found.
//!
//! The table `usage_per_request.csv` was made by another program that reads lines in file order.
//! Its column `visible_bytes` is the size of text, tool arguments and results before a request, so
//! that equal numbers mean equal messages.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use wb_formats::{Segment, UsageAt, read, segments};
use wb_message::{Block, Message, Pairing};

use crate::support::{bytes_of, detect, files_of, open, shared};

/// The file assembled from samples of lines, all with one id: its lines form no conversation.
const SAMPLES: &str = "jazzyalex-agent-sessions__small.jsonl";

/// One request: the prompt, the answer, and the bytes before it.
pub(crate) type Row = (u64, u64, usize);

/// The rows of the main conversation of one file, by segment.
pub(crate) type Segments = BTreeMap<usize, Vec<Row>>;

fn size(message: &Message) -> usize {
    match message {
        Message::BashExecution { command, output, .. } => command.len() + output.len(),
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => summary.len(),
        Message::User { content, .. } | Message::Custom { content, .. } => {
            content.texts().filter(|text| !stands_for_bytes(text)).map(str::len).sum::<usize>()
        }
        Message::Assistant { content, .. } | Message::ToolResult { content, .. } => {
            content.iter().map(block_size).sum()
        }
    }
}

fn block_size(block: &Block) -> usize {
    match block {
        Block::Text { text } if stands_for_bytes(text) => 0,
        Block::Text { text } | Block::Thinking { text, .. } => text.len(),
        Block::ToolCall { name, input, .. } => name.len() + input.to_string().len(),
        _ => 0,
    }
}

/// Returns whether our text replaces something that is not text.
fn stands_for_bytes(text: &str) -> bool {
    text.starts_with("[document: ")
}

/// Returns the rows of the table for a format by file. Each of these files is known to be there; a
/// file that came later has no rows yet.
pub(crate) fn table(sessions: &Path, format: &str) -> BTreeMap<String, Segments> {
    let csv = String::from_utf8(bytes_of(&sessions.join("usage_per_request.csv"))).unwrap();
    let mut files: BTreeMap<String, Segments> = BTreeMap::new();
    for cells in csv.lines().map(|line| line.split(',').collect::<Vec<_>>()) {
        if (cells[0], cells[2]) == (format, "main") {
            let number = |at: usize| cells[at].parse::<u64>().unwrap();
            let row = (number(6), number(10), usize::try_from(number(11)).unwrap());
            let segments = files.entry(cells[1].to_owned()).or_default();
            segments.entry(usize::try_from(number(3)).unwrap()).or_default().push(row);
        }
    }
    assert!(!files.is_empty(), "the table has no rows of {format}");
    files
}

/// Returns our requests of a file by segment, as the table has them, and the messages of each
/// segment.
pub(crate) fn ours(path: &Path) -> Vec<(Vec<Row>, Vec<Message>)> {
    let bytes = bytes_of(path);
    segments(&mut &*bytes).unwrap().into_iter().map(|segment| (rows_of(&segment), segment.messages)).collect()
}

fn rows_of(Segment { messages, usage, .. }: &Segment) -> Vec<Row> {
    let row = |it: &UsageAt| {
        let before = messages[..it.at].iter().map(size).sum();
        (it.usage.prompt_tokens(), it.usage.output_tokens, before)
    };
    usage.iter().map(row).collect()
}

pub(crate) fn without_sizes(rows: &[Row]) -> Vec<(u64, u64)> {
    rows.iter().map(|(prompt, output, _)| (*prompt, *output)).collect()
}

#[test]
fn every_session_opens_without_an_orphan() {
    let Some(sessions) = shared("sessions") else { return };
    for format in ["claude-code", "pi"] {
        let files = files_of(&sessions.join(format));
        for known in table(&sessions, format).keys() {
            assert!(files.iter().any(|(name, _)| name == known), "{known} is missing");
        }
        for (name, path) in files {
            let opened = open(&bytes_of(&path)).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(opened.format, format, "{name}");
            assert!(!opened.messages.is_empty(), "{name}");
            assert_eq!(Pairing::new(&opened.messages).orphans(), [0; 0], "{name}");
        }
    }
}

/// Three of its lines are JSON but no objects, one is an object without a type, two are user lines
/// without a body. The last line follows one that is not there.
#[test]
fn lines_that_are_no_objects_are_counted() {
    let Some(path) = shared("sessions/claude-code/daaain-claude-code-log__edge_cases.jsonl") else { return };
    let notes = open(&bytes_of(&path)).unwrap().notes;
    assert_eq!(
        notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "lines ignored: 6, the first is line 10",
            "line 17 follows a line that is not in the file: the agent may see nothing before it"
        ]
    );
}

/// Every request and every byte before it is that of the table, but for what we clear and the table
/// does not.
#[test]
fn requests_of_claude_code_are_those_of_the_table() {
    let Some(sessions) = shared("sessions") else { return };
    let mut files = table(&sessions, "claude-code");
    files.remove(SAMPLES).expect("the samples have rows too");
    for (name, theirs) in files {
        let ours = ours(&sessions.join("claude-code").join(&name));
        assert!(theirs.keys().all(|at| *at < ours.len()), "{name} has {} segments", ours.len());
        for (at, (ours, messages)) in ours.iter().enumerate() {
            let theirs = theirs.get(&at).map_or(&[][..], Vec::as_slice);
            assert_eq!(without_sizes(ours), without_sizes(theirs), "{name} segment {at}");
            if messages.iter().any(|it| wb_message::markers::is_cleared(it.blocks())) {
                let is_less = ours.iter().zip(theirs).all(|(ours, theirs)| ours.2 < theirs.2);
                assert!(is_less, "{name} segment {at}");
            } else {
                assert_eq!(ours, theirs, "{name} segment {at}");
            }
        }
    }
}

/// Aborted answers without text are not in the context, so their requests are not reported.
#[test]
fn requests_of_pi_are_those_of_the_table_but_for_aborted_ones() {
    let Some(sessions) = shared("sessions") else { return };
    for (name, theirs) in table(&sessions, "pi") {
        let path = sessions.join("pi").join(&name);
        let ours = ours(&path);
        assert!(theirs.keys().all(|at| *at < ours.len()), "{name} has {} segments", ours.len());
        let mut n_missing = 0;
        for (at, (ours, _)) in ours.iter().enumerate() {
            let ours = without_sizes(ours);
            let theirs = without_sizes(theirs.get(&at).map_or(&[], Vec::as_slice));
            let mut rest = theirs.iter();
            assert!(ours.iter().all(|row| rest.any(|other| other == row)), "{name} segment {at}");
            n_missing += theirs.len() - ours.len();
        }
        assert_eq!(n_missing, n_silent(&path), "{name}");
    }
}

/// Counts the aborted answers of a session that were paid for and hold no text.
fn n_silent(path: &Path) -> usize {
    let text = String::from_utf8(bytes_of(path)).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let messages = records.map(|mut record| record["message"].take());
    let aborted = messages.filter(|it| it["stopReason"] == "aborted" && it["usage"]["output"] != 0);
    let is_text = |block: &Value| block["type"] == "text";
    aborted.filter(|it| !it["content"].as_array().unwrap().iter().any(is_text)).count()
}

#[test]
fn the_last_segment_is_what_is_opened() {
    let Some(folder) = shared("sessions") else { return };
    for (name, path) in ["claude-code", "pi"].iter().flat_map(|format| files_of(&folder.join(format))) {
        let bytes = bytes_of(&path);
        let last = segments(&mut &*bytes).unwrap().pop().unwrap();
        let opened = read(&mut &*bytes).unwrap();
        assert!(last.messages == opened.messages && last.usage == opened.usage, "{name}");
    }
}

/// Files that have another format than their folder: `OpenClaw` writes like pi, and the oldest
/// trajectories of mini-swe-agent are bare lists of chat messages; Kimi Code came after kimi-cli.
const OF_OTHERS: [(&str, &str); 7] = [
    ("jazzyalex-agent-sessions__droid_session_store_large.jsonl", "droid"),
    ("jazzyalex-agent-sessions__qwen_system_telemetry.jsonl", "qwen-code"),
    ("jazzyalex-agent-sessions__assistant_tools.jsonl", "kimi-code"),
    ("jazzyalex-agent-sessions__copilot_small.jsonl", "copilot-cli"),
    ("jazzyalex-agent-sessions__openclaw_large.jsonl", "pi"),
    ("SWE-agent-mini-swe-agent__github_issue.traj.json", "openai-chat"),
    ("SWE-agent-mini-swe-agent__local.traj.json", "openai-chat"),
];

#[test]
fn no_session_is_taken_for_one_of_another_format() {
    let Some(folder) = shared("sessions") else { return };
    for (agent, path) in files_of(&folder).into_iter().filter(|(_, path)| path.is_dir()) {
        for (name, path) in files_of(&path) {
            let bytes = bytes_of(&path);
            let Some(format) = detect(&bytes) else { continue };
            let other = OF_OTHERS.iter().find(|(known, _)| *known == name);
            let expected = other.map_or(agent.as_str(), |(_, format)| format);
            assert!(format.name().starts_with(expected), "{agent}/{name} is taken for {}", format.name());
            assert!(open(&bytes).is_ok(), "{name}");
        }
    }
}
