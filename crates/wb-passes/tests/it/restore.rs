//! Restored files against a naive implementation of the rules.

use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;
use wb_budget::{TokenCounter, TokenHeuristic, WeighedTranscript, estimate_message_tokens};
use wb_message::markers::{CLEARED_TOOL_RESULT, CLIP_MARK, fenced_file, has_line_end, restored_file};
use wb_message::tools::normal_path;
use wb_message::{Block, Message, Pairing, ToolRole, ToolVocabulary};
use wb_passes::{RestoreLimits, restore_reads};
use wb_testkit::{script, strategies};

const VOCABULARY: ToolVocabulary = ToolVocabulary::UNIVERSAL;

/// An event of a file.
#[derive(Clone, Debug)]
enum Event {
    Read {
        path: String,
        body: String,
        whole: bool,
        at: usize,
    },
    /// A change that happened, or may have.
    Change {
        path: String,
    },
}

impl Event {
    fn path(&self) -> &str {
        match self {
            Self::Read { path, .. } | Self::Change { path } => path,
        }
    }
}

fn body(message: &Message) -> Option<String> {
    let Message::ToolResult { content, is_error: false, .. } = message else { return None };
    let texts: Vec<_> = content.iter().filter_map(Block::as_text).collect();
    let says_something = texts.iter().any(|text| !["", CLEARED_TOOL_RESULT].contains(&text.trim()));
    says_something.then(|| texts.join("\n"))
}

/// Returns the events of all files in order.
fn events(messages: &[Message], hidden: &[usize]) -> Vec<Event> {
    let pairing = Pairing::new(messages);
    let mut events = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if let Some((path, body)) = restored_file(message) {
            events.push(Event::Read { path: path.into(), body: body.into(), whole: true, at });
        }
        for call in pairing.dangling().iter().filter(|call| call.message as usize == at) {
            let (_, name, input) = call.find(messages).expect("a call");
            if matches!(VOCABULARY.role(name), Some(ToolRole::Edit | ToolRole::Write)) {
                events.extend(VOCABULARY.path(input).map(|path| Event::Change { path: path.into() }));
            }
        }
        for pair in pairing.pairs().iter().filter(|pair| pair.result as usize == at) {
            let (_, name, input) = pair.call.find(messages).expect("a call");
            let Some(path) = VOCABULARY.path(input).map(str::to_owned) else { continue };
            let failed = matches!(message, Message::ToolResult { is_error: true, .. });
            match VOCABULARY.role(name) {
                Some(ToolRole::Read) if !hidden.contains(&at) => {
                    let whole = !VOCABULARY.is_partial_read(input);
                    events.extend(body(message).map(|body| Event::Read { path, body, whole, at }));
                }
                Some(ToolRole::Edit | ToolRole::Write) if !failed => events.push(Event::Change { path }),
                _ => {}
            }
        }
    }
    events.retain(|event| !(matches!(event, Event::Read { .. }) && has_line_end(event.path())));
    events
}

/// A file that may be restored.
#[derive(Clone, Debug)]
struct File {
    path: String,
    body: String,
    fresh_at: usize,
}

/// Returns the files whose last known body is true and in the head, freshest first.
fn true_files(messages: &[Message], cut: usize, hidden: &[usize]) -> Vec<File> {
    let events = events(messages, hidden);
    let paths: HashSet<String> = events.iter().map(|event| normal_path(event.path()).into_owned()).collect();
    let mut files = Vec::new();
    for path in paths {
        let of_file: Vec<_> =
            events.iter().filter(|event| normal_path(event.path()) == path.as_str()).collect();
        let last_change = of_file.iter().rposition(|event| matches!(event, Event::Change { .. }));
        let since = &of_file[last_change.map_or(0, |at| at + 1)..];
        let shown = since.iter().filter_map(|event| match event {
            Event::Read { path, body, whole, at } => Some((path, body, *whole, *at)),
            Event::Change { .. } => None,
        });
        let shown: Vec<_> = shown.collect();
        let Some((.., fresh_at)) = shown.last().copied() else { continue };
        let whole = shown.iter().rfind(|(_, _, whole, _)| *whole).or(shown.last());
        let (path, body, _, at) = *whole.expect("shown at least once");
        if at < cut {
            files.push(File { path: path.clone(), body: body.clone(), fresh_at });
        }
    }
    files.sort_by_key(|file| std::cmp::Reverse(file.fresh_at));
    files
}

fn restore(
    messages: &[Message],
    cut: usize,
    hidden: &[usize],
    max_files: usize,
    max_tokens: u64,
) -> Vec<Message> {
    let counter: Arc<dyn TokenCounter> = Arc::new(TokenHeuristic::DEFAULT);
    let limits = RestoreLimits { max_files, max_tokens, vocabulary: &VOCABULARY, is_stale: &|_| false };
    restore_reads(&WeighedTranscript::new(messages, &counter), cut, hidden, limits)
}

fn whole_weight(file: &File) -> u64 {
    estimate_message_tokens(&Message::user(fenced_file(&file.path, &file.body)))
}

/// Checks that the restored files are a subsequence of the true ones, whole except for a clipped
/// freshest one, within both limits, and that every file left out did not fit.
fn check(files: &[File], restored: &[Message], max_files: usize, max_tokens: u64) {
    let spent: u64 = restored.iter().map(estimate_message_tokens).sum();
    assert!(spent <= max_tokens, "{spent} > {max_tokens}");
    assert!(restored.len() <= max_files);
    let mut back = restored.iter().rev().peekable();
    let (mut left, mut n_back) = (max_tokens, 0);
    for file in files {
        let is_next =
            back.peek().and_then(|message| restored_file(message)).is_some_and(|(p, _)| p == file.path);
        if !is_next {
            let fits = whole_weight(file) <= left && n_back < max_files;
            assert!(!fits, "{} would have fitted into {left}", file.path);
            continue;
        }
        let message = back.next().expect("peeked");
        let (_, body) = restored_file(message).expect("peeked");
        if body != file.body {
            assert_eq!(n_back, 0, "only the freshest is clipped");
            assert!(whole_weight(file) > max_tokens, "{} was clipped without need", file.path);
            let ends = body.match_indices(CLIP_MARK).any(|(at, mark)| {
                file.body.starts_with(&body[..at]) && file.body.ends_with(&body[at + mark.len()..])
            });
            assert!(ends, "not a clip of {}", file.path);
        }
        left -= estimate_message_tokens(message);
        n_back += 1;
    }
    assert!(back.next().is_none(), "restored, but not true or out of order: {:?}", back.next());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: wb_testkit::depth::cases(600), ..ProptestConfig::default() })]

    #[test]
    fn restored_files_match_the_naive_implementation(
        messages in strategies::transcript(),
        cut in any::<Index>(),
        hidden in prop::collection::vec(any::<Index>(), 0..4),
        max_files in 0..7_usize,
        max_tokens in prop_oneof![0..300_u64, 300..9_000_u64],
    ) {
        let cut = cut.index(messages.len() + 1);
        let hidden: Vec<usize> = if messages.is_empty() {
            vec![]
        } else {
            let places: std::collections::BTreeSet<_> = hidden.iter().map(|at| at.index(messages.len())).collect();
            places.into_iter().collect()
        };
        let restored = restore(&messages, cut, &hidden, max_files, max_tokens);
        check(&true_files(&messages, cut, &hidden), &restored, max_files, max_tokens);
        prop_assert_eq!(restore(&messages, cut, &hidden, max_files, max_tokens), restored);
    }
}

#[test]
fn the_naive_implementation_finds_files() {
    let messages =
        script("u a:read(a.rs),Read(b.rs) t t a:edit(a.rs) t a:read(c.rs@1+2) t a:read(c.rs) t_ u");
    let paths: Vec<_> =
        true_files(&messages, messages.len(), &[]).into_iter().map(|file| file.path).collect();
    assert_eq!(paths, ["c.rs", "b.rs"]);
}

#[test]
fn a_cleared_result_with_an_image_is_not_restored() {
    let mut messages = script("u a:read(a.rs) t_ u");
    let Message::ToolResult { content, .. } = &mut messages[2] else { panic!("a result") };
    content.push(Block::image("image/png", "AAAA"));
    assert_eq!(restore(&messages, messages.len(), &[], 5, 8_000), []);
}

#[test]
fn an_edit_without_a_result_counts_as_a_change() {
    let messages = script("u a:read(a.rs) t a:edit(a.rs) u\"stop\" a u");
    assert_eq!(restore(&messages, messages.len(), &[], 5, 8_000), []);
}

#[test]
fn an_oversize_freshest_file_leaves_room_for_smaller_ones() {
    let messages =
        script("u a:read(a.rs) t*100 a:read(b.rs) t*9000 a:read(c.rs) t*90 a:read(d.rs) t*20000 u");
    let restored = restore(&messages, messages.len(), &[], 5, 4_000);
    let paths: Vec<_> = restored.iter().filter_map(restored_file).map(|(path, _)| path).collect();
    assert_eq!(paths, ["a.rs", "c.rs", "d.rs"]);
    let spent: u64 = restored.iter().map(estimate_message_tokens).sum();
    assert!((3_400..=4_000).contains(&spent), "{spent}");
}

#[test]
fn a_file_read_with_an_image_weighs_only_its_text() {
    let mut messages = script("u a:read(a.rs) t*100 a:read(b.rs) t*90 u");
    let Message::ToolResult { content, .. } = &mut messages[2] else { panic!("a result") };
    content.push(Block::image("image/png", "AAAA"));
    let restored = restore(&messages, messages.len(), &[], 5, 300);
    assert_eq!(restored.len(), 2, "{restored:?}");
}

#[test]
fn reads_over_a_thousand_messages_before_the_cut_are_too_old() {
    let read = [
        Message::assistant_blocks(vec![Block::call("r", "read", json!({"path": "src/a.rs"}))]),
        Message::tool_result("r", "read", "fn a() {}"),
    ];
    for (n_since, expected) in [(998, 1), (999, 1), (1_000, 0), (9_000, 0)] {
        let since = (0..n_since).map(|n| Message::user(format!("Step {n}.")));
        let messages: Vec<Message> = read.iter().cloned().chain(since).collect();
        assert_eq!(restore(&messages, messages.len(), &[], 5, 8_000).len(), expected, "{n_since}");
    }
}
