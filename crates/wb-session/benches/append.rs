//! Prints the cost of appending an entry and of writing its message as JSON, as a Markdown table.
//!
//! `cargo bench -p wb-session --bench append`: each time is the median of its samples, taken in
//! turn, without waiting for the disk; allocations are those of one entry.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use wb_message::{Block, Message};
use wb_session::store::jsonl::JsonlStore;
use wb_session::store::memory::MemoryStore;
use wb_session::{Durability, EntryKind, EntryStore, IdSource, Logged, NewSession, Request, Session};

const SAMPLES: usize = 41;
const ENTRIES: u32 = 100;

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "| message | bytes | to_vec µs | memory µs | ratio | file µs | ratio | a bare write µs | allocations |"
    )?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|---:|---:|---:|")?;
    for (name, message) in messages() {
        let request = matches!(message, Message::Assistant { .. }).then(Request::default);
        let kind = EntryKind::Message(Logged { message: message.clone(), request, is_excluded: false });
        let json = serde_json::to_vec(&message)?;
        let [path, bare] =
            ["append.jsonl", "append.bare"].map(|name| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
        let _ = (std::fs::remove_file(&path), std::fs::remove_file(&bare));
        let mut in_memory = session(Box::new(MemoryStore::default()));
        let mut in_file = session(Box::new(JsonlStore::create(&path, Durability::Never).unwrap()));
        let mut file = File::options().append(true).create(true).open(&bare)?;
        let [to_vec, memory, store, write] = medians([
            &mut || drop(black_box(serde_json::to_vec(&message).unwrap())),
            &mut || drop(in_memory.append(&kind, 0).unwrap()),
            &mut || drop(in_file.append(&kind, 0).unwrap()),
            &mut || assert_eq!(file.write(&json).unwrap(), json.len()),
        ]);
        let counted = allocation_counter::measure(|| drop(in_file.append(&kind, 0).unwrap()));
        let (n_bytes, n_allocations) = (json.len(), counted.count_total);
        let [of_memory, of_store] = [memory, store].map(|us| us / to_vec);
        writeln!(
            out,
            "| {name} | {n_bytes} | {to_vec:.2} | {memory:.2} | {of_memory:.1} | {store:.2} | {of_store:.1} | {write:.2} | \
             {n_allocations} |"
        )?;
        std::fs::remove_file(bare)?;
        std::fs::remove_file(path)?;
    }
    Ok(())
}

fn session(store: Box<dyn EntryStore>) -> Session {
    Session::create(store, &NewSession::default(), IdSource::new(1)).unwrap()
}

/// A question, an answer that edits a file, and the result of reading one.
fn messages() -> Vec<(&'static str, Message)> {
    let code = |n: usize| "let line = input.next()?; // the \"next\" one\n    ".repeat(n);
    let input = serde_json::json!({ "path": "src/lib.rs", "old": code(20), "new": code(24) });
    let answer = vec![Block::text(code(10)), Block::call("call_1", "edit", input)];
    vec![
        ("prompt", Message::user("Let the reader skip blank lines, and add a test.")),
        ("answer", Message::Assistant { content: answer, error_message: None }),
        ("result", Message::tool_result("call_1", "read", code(170))),
    ]
}

/// Returns the median time of each run in microseconds.
fn medians<const N: usize>(mut runs: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut samples = [const { Vec::new() }; N];
    for _ in 0..SAMPLES {
        for (run, samples) in runs.iter_mut().zip(&mut samples) {
            let start = Instant::now();
            (0..ENTRIES).for_each(|_| run());
            samples.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(ENTRIES));
        }
    }
    samples.map(|mut samples| {
        samples.sort_by(f64::total_cmp);
        samples[samples.len() / 2]
    })
}
