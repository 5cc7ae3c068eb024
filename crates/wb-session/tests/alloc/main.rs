//! Limits on the allocations of opening a large session.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod large;

use large::{Memory, Shape, large, memory};
use wb_message::{Block, Message};
use wb_session::store::memory::MemoryStore;
use wb_session::{IdSource, NewSession, Session};

/// Bytes that the place of an entry may take: its row, and four of the table, of which three
/// eighths are full where it has just grown.
const PER_ENTRY: u64 = 43;
/// Extra bytes: a block of rows that has just begun, the header, the leaf.
const CONSTANT_BYTES: u64 = 16 * 1024;
/// Bytes for buffers: one for reading, and two of the longest record.
const BUFFERS: u64 = 128 * 1024;

fn opening(shape: Shape, n_bytes: usize) -> Memory {
    let (path, n_entries) = large(shape, n_bytes);
    let found = memory(&path);
    std::fs::remove_file(path).unwrap();
    let Memory { peak, context, session } = found;
    let places = PER_ENTRY * n_entries as u64 + CONSTANT_BYTES;
    assert!(session <= places, "{shape:?}: {session} for {n_entries} entries");
    assert!(peak <= 2 * context + places + BUFFERS, "{shape:?}: {peak} with a context of {context}");
    found
}

#[test]
fn opening_takes_twice_the_context_and_the_places_of_entries() {
    assert!(opening(Shape::Compacted, 9_000_000).context < 100_000);
    assert!(opening(Shape::Whole, 9_000_000).context > 5_000_000);
}

#[test]
fn of_a_hundred_megabytes_it_takes_at_most_three_times_what_the_context_holds() {
    let Memory { peak, context, .. } = opening(Shape::Compacted, 100_000_000);
    assert!(peak <= 3 * context, "{peak} with a context of {context}");
}

/// Returns the bytes of an open session with `n_entries` in one chain.
fn open_session(id: impl Fn(usize) -> String, n_entries: usize) -> u64 {
    let line = |at: usize| {
        let parent = at.checked_sub(1).map_or("null".to_owned(), |at| format!("{:?}", id(at)));
        format!("{{\"type\":\"custom\",\"id\":{:?},\"parentId\":{parent}}}", id(at))
    };
    let header = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}".to_owned();
    let lines: Vec<String> = [header].into_iter().chain((0..n_entries).map(line)).collect();
    let store = Box::new(MemoryStore::of_lines(lines.join("\n").as_bytes()));
    let mut session = None;
    let opening =
        allocation_counter::measure(|| session = Some(Session::open(store, IdSource::new(1)).unwrap()));
    assert_eq!(session.unwrap().path().unwrap().len(), n_entries);
    opening.bytes_current.unsigned_abs()
}

#[test]
fn an_entry_takes_little_memory_whatever_its_id_is() {
    let pi = |at: usize| format!("{:08x}", at * 7919);
    let foreign = |at: usize| format!("{at:08x}-0000-4000-8000-000000000000");
    for n_entries in [10_000, 12_300] {
        let bound = |per_entry| per_entry * n_entries as u64 + CONSTANT_BYTES;
        assert!(open_session(pi, n_entries) <= bound(PER_ENTRY));
        // In addition to the row: the text with its two counts, and the pointer to it.
        assert!(open_session(foreign, n_entries) <= bound(PER_ENTRY + 56 + 16));
    }
}

/// Five today, among them the text of the time, the place, and the record in memory.
#[test]
fn an_append_allocates_no_more_for_a_long_message_than_for_a_short_one() {
    let store = Box::new(MemoryStore::default());
    let mut session = Session::create(store, &NewSession::default(), IdSource::new(1)).unwrap();
    for n_lines in [1, 100] {
        let text = "let line = \"next\";\n".repeat(n_lines);
        let call = Block::call("c", "edit", serde_json::json!({ "path": "a.rs", "new": text.clone() }));
        let content = vec![Block::text(text), call];
        let kind = Message::Assistant { content, error_message: None }.into();
        session.append(&kind, 0).unwrap();
        let counted = allocation_counter::measure(|| drop(session.append(&kind, 0).unwrap()));
        assert!(counted.count_total <= 8, "{} allocations for {n_lines} lines", counted.count_total);
    }
}
