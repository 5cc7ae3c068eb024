//! Real sessions, read where they lie: every file opens, and what providers counted is found.
//!
//! The table `usage_per_request.csv` was made by another program that reads lines in file order. Its column
//! `visible_bytes` is the size of text, tool arguments and results before a request, so that equal numbers mean equal
//! messages.

use std::collections::BTreeMap;

use wb_formats::{Epoch, UsageAt, detect, epochs, read};
use wb_message::{Block, Message, Pairing};

use crate::support::{bytes_of, files_of, open, shared};

/// The file that was put together from samples of lines, all with one id: its lines form no conversation.
const SAMPLES: &str = "jazzyalex-agent-sessions__small.jsonl";

/// One request: the prompt, the answer, and the bytes before it.
type Row = (u64, u64, usize);

fn size(message: &Message) -> usize {
    match message {
        Message::BashExecution { command, output, .. } => command.len() + output.len(),
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => summary.len(),
        Message::User { content, .. } | Message::Custom { content, .. } => {
            content.texts().map(str::len).sum::<usize>()
        }
        Message::Assistant { content, .. } | Message::ToolResult { content, .. } => {
            content.iter().map(block_size).sum()
        }
    }
}

fn block_size(block: &Block) -> usize {
    match block {
        Block::Text { text } | Block::Thinking { text, .. } => text.len(),
        Block::ToolCall { name, input, .. } => name.len() + input.to_string().len(),
        _ => 0,
    }
}

/// Returns the rows of the table for the main conversation of a file, by epoch.
fn table(table: &str, format: &str, file: &str) -> BTreeMap<usize, Vec<Row>> {
    let mut rows: BTreeMap<usize, Vec<Row>> = BTreeMap::new();
    for line in table.lines() {
        let cells: Vec<&str> = line.split(',').collect();
        if cells[..3] == [format, file, "main"] {
            let number = |at: usize| cells[at].parse::<u64>().unwrap();
            let row = (number(6), number(10), usize::try_from(number(11)).unwrap());
            rows.entry(usize::try_from(number(3)).unwrap()).or_default().push(row);
        }
    }
    rows
}

fn rows_of(Epoch { messages, usage, .. }: &Epoch) -> Vec<Row> {
    let row = |it: &UsageAt| {
        let before = messages[..it.at].iter().map(size).sum();
        (it.usage.prompt_tokens(), it.usage.output_tokens, before)
    };
    usage.iter().map(row).collect()
}

fn without_sizes(rows: &[Row]) -> Vec<(u64, u64)> {
    rows.iter().map(|(prompt, output, _)| (*prompt, *output)).collect()
}

#[test]
fn every_session_opens_without_an_orphan() {
    for (folder, format, n_files) in [("claude-code", "claude-code", 18), ("pi", "pi", 7)] {
        let Some(path) = shared(&format!("sessions/{folder}")) else { return };
        let files = files_of(&path);
        assert_eq!(files.len(), n_files);
        for (name, path) in files {
            let opened = open(&bytes_of(&path)).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(opened.format, format, "{name}");
            assert!(!opened.messages.is_empty(), "{name}");
            assert_eq!(Pairing::of(&opened.messages).orphans(), [0; 0], "{name}");
        }
    }
}

/// Three of its lines are JSON but no objects, one is an object without a type, two are user lines without a body.
#[test]
fn lines_that_are_no_objects_are_counted() {
    let Some(path) = shared("sessions/claude-code/daaain-claude-code-log__edge_cases.jsonl") else { return };
    let notes = open(&bytes_of(&path)).unwrap().notes;
    assert_eq!(notes.iter().map(ToString::to_string).collect::<Vec<_>>(), ["lines ignored: 6"]);
}

/// Every request and every byte before it is that of the table, but for what we clear and the table does not.
#[test]
fn requests_of_claude_code_are_those_of_the_table() {
    let Some(folder) = shared("sessions") else { return };
    let csv = String::from_utf8(bytes_of(&folder.join("usage_per_request.csv"))).unwrap();
    let mut n_requests = 0;
    for (name, path) in files_of(&folder.join("claude-code")).into_iter().filter(|(name, _)| name != SAMPLES)
    {
        let theirs = table(&csv, "claude-code", &name);
        for (at, epoch) in epochs(&mut &*bytes_of(&path)).unwrap().enumerate() {
            let (ours, theirs) = (rows_of(&epoch), theirs.get(&at).cloned().unwrap_or_default());
            assert_eq!(without_sizes(&ours), without_sizes(&theirs), "{name} epoch {at}");
            let n_cleared =
                epoch.messages.iter().filter(|it| wb_message::marks::is_cleared(it.blocks())).count();
            if n_cleared == 0 {
                assert_eq!(ours, theirs, "{name} epoch {at}");
            } else {
                assert!(
                    ours.iter().zip(&theirs).all(|(ours, theirs)| ours.2 < theirs.2),
                    "{name} epoch {at}"
                );
            }
            n_requests += ours.len();
        }
    }
    assert_eq!(n_requests, 325);
}

/// Aborted answers that said nothing are not in the context, so that their four requests are not told; neither is
/// what they thought counted.
#[test]
fn requests_of_pi_are_those_of_the_table_but_for_aborted_ones() {
    let Some(folder) = shared("sessions") else { return };
    let csv = String::from_utf8(bytes_of(&folder.join("usage_per_request.csv"))).unwrap();
    let (mut n_requests, mut n_missing) = (0, 0);
    for (name, path) in files_of(&folder.join("pi")).into_iter().filter(|(name, _)| !name.contains(".v3.")) {
        let theirs = table(&csv, "pi", &name);
        for (at, epoch) in epochs(&mut &*bytes_of(&path)).unwrap().enumerate() {
            let ours = without_sizes(&rows_of(&epoch));
            let theirs = without_sizes(theirs.get(&at).map_or(&[], Vec::as_slice));
            let mut rest = theirs.iter();
            assert!(ours.iter().all(|row| rest.any(|other| other == row)), "{name} epoch {at}");
            n_requests += ours.len();
            n_missing += theirs.len() - ours.len();
        }
    }
    assert_eq!((n_requests, n_missing), (942, 4));
}

#[test]
fn the_last_epoch_is_what_is_opened() {
    let Some(folder) = shared("sessions") else { return };
    for (name, path) in ["claude-code", "pi"].iter().flat_map(|format| files_of(&folder.join(format))) {
        let bytes = bytes_of(&path);
        let last = epochs(&mut &*bytes).unwrap().last().unwrap();
        let opened = read(&mut &*bytes).unwrap();
        assert!(last.messages == opened.messages && last.usage == opened.usage, "{name}");
    }
}

/// `OpenClaw` writes like pi. One agent's export looks like ours up to its first tool message, which is named then.
#[test]
fn sessions_of_other_agents_are_not_taken_for_these() {
    let Some(folder) = shared("sessions") else { return };
    let mut taken = Vec::new();
    for (agent, path) in files_of(&folder).into_iter().filter(|(_, path)| path.is_dir()) {
        for (name, path) in files_of(&path) {
            let bytes = bytes_of(&path);
            let opened = open(&bytes);
            if detect(&bytes).is_some_and(|format| format.name() != agent) {
                let outcome =
                    opened.map_or_else(|error| error.to_string(), |opened| opened.format.to_owned());
                taken.push(format!("{name}: {outcome}"));
            }
        }
    }
    let [hermes, openclaw] = taken.as_slice() else { panic!("{taken:?}") };
    assert!(hermes.contains("hermes_large.json: line ") && hermes.contains("not a message: "), "{hermes}");
    assert_eq!(openclaw, "jazzyalex-agent-sessions__openclaw_large.jsonl: pi");
}
