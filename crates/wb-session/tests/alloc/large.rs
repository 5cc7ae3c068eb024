//! Large sessions as files, and what opening them takes.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use wb_session::store::jsonl::JsonlStore;
use wb_session::{Context, IdSource, Session};

/// The history of a large session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A session compacted every two megabytes, so its context is small.
    Compacted,
    /// A session that was never compacted, so its context is all of it.
    Whole,
}

/// Bytes between two compactions.
const STRETCH: usize = 2_000_000;

/// Writes a session file of at least `n_bytes` and returns its path and the number of its entries.
pub(crate) fn large(shape: Shape, n_bytes: usize) -> (PathBuf, usize) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("large-{shape:?}-{n_bytes}.jsonl"));
    let file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).open(&path).unwrap();
    let mut out = Lines { out: BufWriter::new(file), n_bytes: 0, n_entries: 0 };
    out.line("{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/\"}");
    // The last stretch is half of one.
    let mut next_compaction = STRETCH / 2;
    while out.n_bytes < n_bytes {
        round(&mut out);
        if shape == Shape::Compacted && out.n_bytes > next_compaction {
            let kept = out.n_entries - 4;
            out.entry(&format!(
                "\"type\":\"compaction\",\"summary\":\"{}\",\"firstKeptEntryId\":\"{kept:08x}\",\"tokensBefore\":9",
                words(4_000)
            ));
            next_compaction += STRETCH;
        }
    }
    out.out.flush().unwrap();
    (path, out.n_entries)
}

struct Lines<W> {
    out: W,
    n_bytes: usize,
    n_entries: usize,
}

impl<W: Write> Lines<W> {
    fn line(&mut self, line: &str) {
        writeln!(self.out, "{line}").unwrap();
        self.n_bytes += line.len() + 1;
    }

    fn entry(&mut self, said: &str) {
        let parent = self.n_entries.checked_sub(1).map_or("null".to_owned(), |at| format!("\"{at:08x}\""));
        let id = self.n_entries;
        self.line(&format!(
            "{{{said},\"id\":\"{id:08x}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:00.000Z\"}}"
        ));
        self.n_entries += 1;
    }

    fn message(&mut self, message: &str) {
        self.entry(&format!("\"type\":\"message\",\"message\":{{{message},\"timestamp\":1767225600000}}"));
    }
}

/// A request, an answer that calls a tool, the file that it read, and a last answer.
fn round<W: Write>(out: &mut Lines<W>) {
    let answer = "\"api\":\"a\",\"provider\":\"p\",\"model\":\"m\",\"usage\":{\"input\":900,\"output\":50,\"cacheRead\":0,\
        \"cacheWrite\":0,\"totalTokens\":950,\"cost\":{\"input\":0,\"output\":0,\"cacheRead\":0,\"cacheWrite\":0,\
        \"total\":0}},\"stopReason\":\"stop\"";
    let text = |n_bytes| format!("[{{\"type\":\"text\",\"text\":\"{}\"}}]", words(n_bytes));
    out.message(&format!("\"role\":\"user\",\"content\":{}", text(300)));
    let call =
        "{\"type\":\"toolCall\",\"id\":\"c\",\"name\":\"read\",\"arguments\":{\"path\":\"src/lib.rs\"}}";
    out.message(&format!("\"role\":\"assistant\",\"content\":[{call}],{answer}"));
    out.message(&format!(
        "\"role\":\"toolResult\",\"toolCallId\":\"c\",\"toolName\":\"read\",\"content\":{},\"isError\":false",
        text(8_000)
    ));
    out.message(&format!("\"role\":\"assistant\",\"content\":{},{answer}", text(900)));
}

/// Text with as many escapes as source code has.
fn words(n_bytes: usize) -> String {
    "let line = input.next()?; // the \\\"next\\\" one\\n    "
        .chars()
        .cycle()
        .take(n_bytes / 52 * 52)
        .collect()
}

/// Opens a file and builds the context of its last entry.
pub(crate) fn opened(path: &Path) -> (Session, Context) {
    let store = JsonlStore::open_for_reading(path).unwrap();
    let session = Session::open(Box::new(store), IdSource::new(1)).unwrap();
    let context = session.context(session.leaf()).unwrap();
    (session, context)
}

/// The heap bytes that opening a session took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// The most at any time.
    pub(crate) peak: u64,
    /// The bytes of the context.
    pub(crate) context: u64,
    /// The rest of the session: the places of its entries.
    pub(crate) session: u64,
}

pub(crate) fn memory(path: &Path) -> Memory {
    let (mut all, mut context) = (None, None);
    let opening = allocation_counter::measure(|| all = Some(opened(path)));
    let rest = allocation_counter::measure(|| context = all.take().map(|(_, context)| context));
    let held = |info: allocation_counter::AllocationInfo| info.bytes_current.unsigned_abs();
    drop(context);
    let session = held(rest);
    Memory { peak: opening.bytes_max, context: held(opening).saturating_sub(session), session }
}
