//! Reads session files and prints `docs/evaluation/formats.md` and, below `<!-- rows -->`, the rows
//! of its data file: which format a file has, whether the same bytes come back, and what providers
//! would refuse before and after compactions.
#![expect(clippy::print_stdout, reason = "that is what it is for")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use wb_budget::ModelCard;
use wb_conductor::{Compactor, CondenseOpts, compact_locally};
use wb_dialect::{Dialect, EncodedRequest};
use wb_formats::{SentAs, View, newest};
use wb_message::Message;
use wb_record::{Access, Document, Item, MemoryParts, Parts, Stamp};

const WINDOWS: [u64; 3] = [8_000, 32_000, 200_000];

/// The figures of one file.
struct Row {
    file: String,
    n_bytes: u64,
    read: Result<Read, String>,
    /// The kind of a file that is not a session, if known.
    kind: Option<&'static str>,
}

struct Read {
    format: &'static str,
    n_conversations: usize,
    n_messages: usize,
    /// Indicates that the empty change writes the same bytes.
    is_same: bool,
    /// The violations in the untouched session: in its own dialect, and in all four.
    n_found: [usize; 2],
    /// For each window: how the result was written, and the number of new violations in all four
    /// dialects.
    compacted: [(Written, usize); 3],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    /// There was nothing to do.
    Untouched,
    Native,
    Refused,
}

const HEAD: &str = "\
# Every format on real files

Real files of agents and APIs, not part of this repository, were read, written unchanged, and compacted without a model
for windows of 8,000, 32,000 and 200,000 tokens (the last one forced), each into a copy, which is read again. If the
format cannot hold it, the messages in our own form are checked instead.

- date: DATE
- commit: COMMIT
- command: `cargo xtask figures`; the rows of all files are in [`formats.tsv`](data/formats.tsv)

";

const COLUMNS: &str = "Columns:

- *same bytes*: files that an empty change leaves unchanged
- *refused before*: files in which `wb-dialect` finds a fault before any compaction
- *native*, *not native*: compactions written as the agent would, and those that its format cannot hold
- *new refusals*: findings, in any of four dialects, that the untouched session does not have

format | files | messages | same bytes | refused before | native | not native | new refusals
--- | ---: | ---: | ---: | ---: | ---: | ---: | ---:";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [date, commit, files @ ..] = &words[..] else { panic!("usage: formats_figures DATE COMMIT FILE…") };
    let files: Vec<&Path> = files.iter().map(Path::new).collect();
    let folder = common(&files);
    let rows: Vec<Row> = files.iter().map(|file| row(&folder, file)).collect();
    print!("{}", page(&rows, date, commit));
}

/// Returns the folder that contains all files.
fn common(files: &[&Path]) -> PathBuf {
    let parents = files.first().into_iter().flat_map(|file| file.ancestors().skip(1));
    let mut parents = parents.filter(|folder| files.iter().all(|file| file.starts_with(folder)));
    parents.next().map(Path::to_path_buf).unwrap_or_default()
}

fn row(folder: &Path, file: &Path) -> Row {
    let name = file.strip_prefix(folder).unwrap_or(file).display().to_string();
    let read = read(file);
    let kind = if read.is_err() { kind(file) } else { None };
    Row { file: name, n_bytes: file.metadata().map_or(0, |it| it.len()), read, kind }
}

/// Identifies a file that is not a session.
fn kind(file: &Path) -> Option<&'static str> {
    let text = std::fs::read_to_string(file).ok()?;
    let first = text.trim_start().lines().next().unwrap_or_default();
    if text.starts_with("interactions:") {
        return Some("no session: HTTP requests to a provider and its answers, as YAML");
    }
    if first.starts_with("{\"type\":\"message_start\"") {
        return Some("no session: the answer of a provider as it streamed, without its request");
    }
    if first.starts_with("{\"messages_display\"") {
        return Some("no session: each line is one text, in which calls have neither names nor arguments");
    }
    if first.starts_with("{\"method\":\"generateContentStream\"") {
        return Some("no session: answers of a provider for a test, without their requests");
    }
    let value: serde_json::Value = serde_json::from_str(&text).ok()?;
    let is_answer = value["object"] == "response" || value["type"] == "message" && value["usage"].is_object();
    is_answer.then_some("no session: the answer of a provider, without its request")
}

fn read(file: &Path) -> Result<Read, String> {
    let document = wb_formats::open_path(file, Access::Read).map_err(|error| error.to_string())?;
    let document = document.as_ref();
    let conversation = newest(document).map_err(|error| error.to_string())?;
    let view = document.view(&conversation).map_err(|error| error.to_string())?;
    let same: Vec<Item<'_>> = (0..view.messages.len()).map(Item::Same).collect();
    let set = document.render(&conversation, &view, &same, &Stamp::default());
    let n_all = refused(&view.messages).len();
    let n_own = SentAs::from_view(&view).violations(&view.messages).len();
    Ok(Read {
        format: view.format,
        n_conversations: document.conversations().map_or(0, |all| all.len()),
        n_messages: view.messages.len(),
        is_same: set.is_ok_and(|set| set.is_empty()),
        n_found: [n_own, n_all],
        compacted: WINDOWS.map(|window| compacted(document, &conversation, &view, window)),
    })
}

type Kinds = BTreeMap<(Dialect, String, String), usize>;

fn refused(messages: &[Message]) -> Vec<wb_dialect::Violation> {
    Dialect::ALL
        .into_iter()
        .flat_map(|dialect| EncodedRequest::next_request(messages, dialect).validate())
        .collect()
}

fn kinds(messages: &[Message]) -> Kinds {
    let mut kinds = Kinds::new();
    for violation in refused(messages) {
        let (dialect, rule, what) = violation.kind();
        *kinds.entry((dialect, rule.to_owned(), what.to_owned())).or_insert(0) += 1;
    }
    kinds
}

/// Compacts, writes the result natively into a copy, reads the copy, and counts the new violations.
fn compacted(document: &dyn Document, conversation: &str, view: &View, window: u64) -> (Written, usize) {
    let mut messages = view.messages.clone();
    let settings = Compactor::new().card(ModelCard::with_window(window)).vocabulary(view.vocabulary);
    let opts = CondenseOpts { force: window == 200_000, ..CondenseOpts::default() };
    let report = compact_locally(&mut messages, &settings, &opts);
    let Some(undo) = &report.undo else { return (Written::Untouched, 0) };
    let patch = wb_message::Patch::from_undo(undo, &messages);
    let items = wb_record::items(&patch, view.messages.len());
    let stamp = Stamp { now_ms: 1_767_225_600_000, seed: 7, ..Stamp::default() };
    let written = document.render(conversation, view, &items, &stamp).ok().and_then(|set| {
        let mut copy = MemoryParts::from_bytes(document.parts().whole("").ok()?);
        copy.commit(&set).ok()?;
        let copy = wb_formats::open(Box::new(copy)).ok()?;
        copy.view(conversation).ok()
    });
    let (state, after) = match written {
        Some(after) => (Written::Native, after.messages),
        None => (Written::Refused, messages),
    };
    let known = kinds(&view.messages);
    let new =
        kinds(&after).into_iter().map(|(kind, n)| n.saturating_sub(known.get(&kind).copied().unwrap_or(0)));
    (state, new.sum())
}

/// The counts over all files of a format.
#[derive(Default)]
struct Sum {
    files: usize,
    messages: usize,
    same: usize,
    refused: usize,
    native: usize,
    unwritten: usize,
    new: usize,
}

impl Sum {
    fn add(&mut self, it: &Read) {
        let count = |state: Written| it.compacted.iter().filter(|(written, _)| *written == state).count();
        self.files += 1;
        self.messages += it.n_messages;
        self.same += usize::from(it.is_same);
        self.refused += usize::from(it.n_found[0] > 0);
        self.native += count(Written::Native);
        self.unwritten += count(Written::Refused);
        self.new += it.compacted.iter().map(|(_, n)| n).sum::<usize>();
    }
}

fn page(rows: &[Row], date: &str, commit: &str) -> String {
    let (read, unknown): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.read.is_ok());
    let mut sums = BTreeMap::<&str, Sum>::new();
    for it in read.iter().filter_map(|row| row.read.as_ref().ok()) {
        sums.entry(it.format).or_default().add(it);
    }
    let mut page = HEAD.replace("DATE", date).replace("COMMIT", commit);
    let _ = writeln!(page, "{} files, {} of them read. {COLUMNS}", rows.len(), read.len());
    for (format, sum) in sums {
        let Sum { files, messages, same, refused, native, unwritten, new } = sum;
        let _ = writeln!(
            page,
            "{format} | {files} | {messages} | {same} | {refused} | {native} | {unwritten} | {new}"
        );
    }
    page.push_str("<!-- rows -->\n");
    page.push_str("| file | kB | format | conversations | messages | same bytes | refused: own | all | 8k | 32k | 200k |\n");
    page.push_str("|---|---:|---|---:|---:|---|---:|---:|---|---|---|\n");
    for row in &read {
        let Ok(it) = &row.read else { continue };
        let cell = |(written, n): (Written, usize)| match (written, n) {
            (Written::Untouched, _) => "–".to_owned(),
            (Written::Native, n) => format!("{n}"),
            (Written::Refused, n) => format!("{n} (ours)"),
        };
        let [own, all] = it.n_found;
        let cells = it.compacted.map(cell).join(" | ");
        let same = if it.is_same { "yes" } else { "NO" };
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {same} | {own} | {all} | {cells} |",
            row.file,
            row.n_bytes / 1000,
            it.format,
            it.n_conversations,
            it.n_messages
        );
    }
    page.push_str("\n## Not read\n\n| file | why |\n|---|---|\n");
    for row in unknown {
        let why = row.kind.or(row.read.as_ref().err().map(String::as_str)).unwrap_or_default();
        let _ = writeln!(page, "| {} | {} |", row.file, why.replace('|', "\\|").replace('\n', " "));
    }
    page
}
