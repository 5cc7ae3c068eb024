//! The limits of what the stages allocate.
//!
//! The counter counts every byte that the test's thread requests, and the whole new size of a list
//! each time that it grows.

mod figures;

use figures::{Case, Figure, cases};
use wb_conductor::compact_locally;
use wb_message::{Block, Content, Message, Origin};
use wb_testkit::depth::is_deep;
use wb_testkit::workload::{Script, transcript};

fn check(figures: &[Figure]) {
    for figure in figures {
        let Figure { what, found, limit, limit_is } = figure;
        assert!(figure.holds(), "{what}: {found} allocated, {limit} allowed ({limit_is})");
    }
}

#[test]
fn appends_allocate_nothing_but_growth() {
    for n in [100, 1_000, 10_000] {
        check(&figures::appends(&transcript(n, Script::Latin)));
    }
}

#[test]
fn an_estimate_and_a_cut_allocate_nothing() {
    for script in [Script::Latin, Script::Cjk] {
        let messages = transcript(1_000, script);
        check(&[figures::estimate(&messages), figures::cut(&messages)]);
    }
}

#[test]
fn a_flattened_transcript_is_allocated_at_most_once() {
    for script in [Script::Latin, Script::Cjk] {
        for n in [100, 1_000, 10_000] {
            check(&figures::flatten(&transcript(n, script)));
        }
    }
}

/// Builds the tables of words, which are built once.
fn build_tables() {
    for script in [Script::Latin, Script::Cjk] {
        let _ = figures::facts(&transcript(100, script));
    }
}

#[test]
fn a_compaction_allocates_a_fraction_of_the_payload() {
    build_tables();
    let long = is_deep().then_some((10_000, Script::Latin));
    for (n, script) in [(1_000, Script::Latin), (1_000, Script::Cjk)].into_iter().chain(long) {
        let messages = transcript(n, script);
        let figures: Vec<_> = cases().iter().map(|case| figures::condensed(case, messages.clone())).collect();
        check(&figures);
    }
}

#[test]
fn facts_take_a_tenth_of_a_long_transcript_at_the_most() {
    build_tables();
    for script in [Script::Latin, Script::Cjk].into_iter().take(if is_deep() { 2 } else { 1 }) {
        check(&[figures::facts(&transcript(10_000, script))]);
    }
}

/// Returns the address of a message's first text or id on the heap.
fn heap_of(message: &Message) -> *const u8 {
    match message {
        Message::User { content: Content::Text(text), .. } => text.as_ptr(),
        Message::ToolResult { tool_call_id, .. } => tool_call_id.as_ptr(),
        other => match other.blocks().first() {
            Some(Block::Text { text }) => text.as_ptr(),
            Some(Block::ToolCall { id, .. }) => id.as_ptr(),
            _ => std::ptr::null(),
        },
    }
}

fn heaps(messages: &[Message]) -> Vec<*const u8> {
    messages.iter().map(heap_of).collect()
}

fn moves_what_it_keeps(case: &Case) {
    let mut messages = transcript(1_000, Script::Latin);
    let before = heaps(&messages);
    let opts = case.opts_with_facts(&messages);
    let report = compact_locally(&mut messages, &case.settings, &opts);
    let undo = report.undo.expect("it was changed");
    let after = heaps(&messages);
    let mut n_kept = 0;
    for (origin, now) in undo.origins(before.len()).into_iter().zip(after) {
        if let Origin::Kept(at) = origin {
            assert_eq!(now, before[at], "message {at} was copied ({})", case.name);
            n_kept += 1;
        }
    }
    assert!(n_kept > 0, "{}", case.name);
    undo.revert(&mut messages);
    assert_eq!(heaps(&messages), before, "{}", case.name);
}

#[test]
fn a_compaction_and_its_undo_move_every_message_that_stays() {
    cases().iter().for_each(moves_what_it_keeps);
}
