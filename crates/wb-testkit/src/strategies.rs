//! Generators of transcripts and turns for proptest.
//!
//! The wild ones hold what real logs have been seen to hold, and worse; no code may panic on them or break a pair.
//! They shrink by leaving out steps, so that a failure comes down to a few messages.

use std::ops::RangeInclusive;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use wb_message::markers::{CLEARED_TOOL_RESULT, DIGEST_HEADER, RESTORED_FILE_PREFIX, is_pinned};
use wb_message::{Block, Content, Edit, Message, Pairing, Patch, Turn};

use crate::script::to_turns;
use crate::steps::{CallStep, Fate, Ids, Reply, Step, render};
use crate::text::text;

/// Steps of a transcript by default; with their results these are up to about sixty messages, twenty on average.
const STEPS: RangeInclusive<usize> = 0..=24;

/// Tools of several vocabularies, and one that none of them knows.
const TOOLS: [&str; 14] = [
    "read",
    "Read",
    "read_file",
    "bash",
    "Bash",
    "edit",
    "Edit",
    "write",
    "Write",
    "grep",
    "todo",
    "TodoWrite",
    "mcp__shop__orders",
    "",
];

/// Paths of which some are the same file.
const PATHS: [&str; 9] = [
    "src/lib.rs",
    "./src/lib.rs",
    "src/../src/lib.rs",
    "src/cart.rs",
    "tests/checkout.rs",
    "/srv/shop/src/app.ts",
    "docs/手順.md",
    "",
    " ",
];

/// Makes a transcript as wild as logs get: parallel, interleaved, early, late, double and missing results, ids
/// that repeat, orphans, empty and huge bodies, and text that plays tricks.
pub fn transcript() -> impl Strategy<Value = Vec<Message>> {
    transcript_of(STEPS)
}

/// Makes a [`transcript()`] of so many steps; a step is a message or a reply with its results.
pub fn transcript_of(n_steps: RangeInclusive<usize>) -> impl Strategy<Value = Vec<Message>> {
    (vec(step(), n_steps), ids()).prop_map(|(steps, ids)| render(steps, ids, false))
}

/// Makes a transcript that providers accept: every call is answered right after, no id repeats, no body is
/// blank, the user comes first.
pub fn valid_transcript() -> impl Strategy<Value = Vec<Message>> {
    valid_transcript_of(STEPS)
}

/// Makes a [`valid_transcript()`] of so many steps.
pub fn valid_transcript_of(n_steps: RangeInclusive<usize>) -> impl Strategy<Value = Vec<Message>> {
    vec(step(), n_steps).prop_map(|steps| render(steps, Ids::Unique, true))
}

/// Makes a transcript and a patch that it accepts: folds between legal cuts and new bodies for results.
pub fn patched() -> impl Strategy<Value = (Vec<Message>, Patch)> {
    let cuts = vec((any::<Index>(), any::<Index>(), any::<bool>()), 0..4);
    (transcript(), cuts, vec(any::<Index>(), 0..4)).prop_map(|(messages, cuts, bodies)| {
        let patch = legal_patch(&messages, &cuts, &bodies);
        (messages, patch)
    })
}

/// Makes turns that a gateway accepts: the results of a reply stand together in the tool turn after it.
pub fn turns() -> impl Strategy<Value = Vec<Turn>> {
    valid_transcript().prop_map(|messages| to_turns(&messages))
}

/// Makes turns of a wild transcript, with stray turns between: empty ones, text in tool turns, results of any
/// JSON in user turns.
pub fn wild_turns() -> impl Strategy<Value = Vec<Turn>> {
    (transcript(), vec((any::<Index>(), stray_turn()), 0..3)).prop_map(|(messages, strays)| {
        let mut turns = to_turns(&messages);
        for (at, stray) in strays {
            turns.insert(at.index(turns.len() + 1), stray);
        }
        turns
    })
}

fn ids() -> impl Strategy<Value = Ids> {
    select(&[Ids::Unique, Ids::PerReply, Ids::Mixed][..])
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => user().prop_map(Step::Plain),
        14 => reply().prop_map(Step::Reply),
        2 => Just(Step::Late),
        2 => (any::<bool>(), result_body())
            .prop_map(|(repeats, content)| Step::Stray { repeats, content }),
        4 => aside().prop_map(Step::Plain),
    ]
}

fn user() -> impl Strategy<Value = Message> {
    let blocks = vec(user_block(), 0..4).prop_map(Content::Blocks);
    let content = prop_oneof![3 => text().prop_map(Content::Text), 1 => blocks];
    let timestamp = prop_oneof![2 => Just(0_i64), 1 => 1_760_000_000_000..1_790_000_000_000_i64];
    (content, timestamp).prop_map(|(content, timestamp)| Message::User { content, timestamp })
}

fn user_block() -> impl Strategy<Value = Block> {
    prop_oneof![
        6 => text().prop_map(Block::text),
        2 => image(),
        1 => (text(), option::of(vec(text(), 0..3)))
            .prop_map(|(command, args)| Block::Command { command, args }),
    ]
}

fn image() -> impl Strategy<Value = Block> {
    (select(&["image/png", "image/jpeg", "image/webp"][..]), 0..400_usize)
        .prop_map(|(media_type, n)| Block::image(media_type, "iVBORw0K".repeat(n)))
}

/// Messages besides the conversation: shell commands, hosts' notes, pinned texts, what compactions left.
fn aside() -> impl Strategy<Value = Message> {
    prop_oneof![
        3 => (text(), text(), option::of(-1..256_i32))
            .prop_map(|(command, output, code)| Message::bash(command, output, code)),
        2 => (select(&["system", "developer"][..]), text())
            .prop_map(|(kind, text)| Message::custom(kind, text)),
        2 => (select(&["note", "reminder", ""][..]), text())
            .prop_map(|(kind, text)| Message::custom(kind, text)),
        1 => text().prop_map(|text| Message::user(format!("{DIGEST_HEADER}\n\n{text}"))),
        2 => (select(&PATHS[..]), text())
            .prop_map(|(path, text)| Message::user(format!("{RESTORED_FILE_PREFIX} {path}\n{text}"))),
        1 => (text(), any::<u32>()).prop_map(|(summary, tokens)| {
            Message::CompactionSummary { summary, tokens_before: tokens.into() }
        }),
        1 => (text(), "[0-9a-f]{8}")
            .prop_map(|(summary, from_id)| Message::BranchSummary { summary, from_id }),
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    let calls = prop_oneof![2 => vec(call(), 0..1), 5 => vec(call(), 1..2), 3 => vec(call(), 2..6)];
    let rare = |p: f64, s| option::weighted(p, s);
    let manner = (option::weighted(0.2, thinking()), option::weighted(0.6, text().prop_map(Block::text)));
    (
        manner,
        calls,
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.1),
        rare(0.06, text()),
        rare(0.04, text()),
    )
        .prop_map(|((thinking, said), calls, reversed, nested, steered, error)| {
            let blocks = thinking.into_iter().chain(said).collect();
            let nested = nested && calls.iter().any(|call| call.fate == Fate::Answered);
            Reply { blocks, calls, reversed, nested, steered, error }
        })
}

fn thinking() -> impl Strategy<Value = Block> {
    (text(), option::of("[A-Za-z0-9+/]{8,40}={0,2}"))
        .prop_map(|(text, signature)| Block::Thinking { text, signature })
}

fn call() -> impl Strategy<Value = CallStep> {
    let fate = prop_oneof![
        40 => Just(Fate::Answered),
        2 => Just(Fate::Twice),
        3 => Just(Fate::Late),
        3 => Just(Fate::Never),
        1 => Just(Fate::Early),
    ];
    let outcome = (result_body(), prop::bool::weighted(0.15));
    (select(&TOOLS[..]), input(), any::<bool>(), fate, outcome).prop_map(
        |(tool, input, same_id, fate, (result, failed))| CallStep {
            tool,
            input,
            same_id,
            fate,
            result,
            failed,
        },
    )
}

fn result_body() -> impl Strategy<Value = Vec<Block>> {
    prop_oneof![
        20 => text().prop_map(|text| vec![Block::text(text)]),
        2 => Just(vec![Block::text(CLEARED_TOOL_RESULT)]),
        2 => vec(prop_oneof![3 => text().prop_map(Block::text), 1 => image()], 0..4),
    ]
}

fn input() -> impl Strategy<Value = Value> {
    let part = option::weighted(0.3, (0..500_u32, 1..500_u32));
    let key = select(&["path", "file_path", "filePath"][..]);
    let file = (key, select(&PATHS[..]), part).prop_map(|(key, path, part)| match part {
        Some((offset, limit)) => json!({ key: path, "offset": offset, "limit": limit }),
        None => json!({ key: path }),
    });
    prop_oneof![
        10 => file,
        3 => text().prop_map(|text| json!({ "command": text })),
        3 => (select(&PATHS[..]), text(), text())
            .prop_map(|(path, old, new)| json!({ "path": path, "old_string": old, "new_string": new })),
        2 => (select(&PATHS[..]), text())
            .prop_map(|(path, content)| json!({ "file_path": path, "content": content })),
        2 => vec((text(), select(&["pending", "in_progress", "completed"][..])), 0..4)
            .prop_map(|todos| json!({ "todos": todos.iter().map(todo).collect::<Vec<_>>() })),
        1 => select(vec![json!(null), json!({}), json!([]), json!("free text"), json!(7), json!({ "path": 3 })]),
    ]
}

fn todo((content, status): &(String, &str)) -> Value {
    json!({ "content": content, "status": status })
}

fn stray_turn() -> impl Strategy<Value = Turn> {
    let output = select(vec![
        json!(null),
        json!(""),
        json!(12),
        json!({ "ok": false }),
        json!(["a", 1]),
        json!([{ "kind": "text", "text": "block" }, { "kind": "unknown" }]),
    ]);
    let result = (output, option::of(any::<bool>())).prop_map(|(output, is_error)| Block::ToolResult {
        call_id: "call_0".to_owned(),
        output,
        is_error,
    });
    prop_oneof![
        select(vec![
            Turn::User { blocks: vec![] },
            Turn::Assistant { blocks: vec![] },
            Turn::Tool { blocks: vec![] },
        ]),
        text().prop_map(|text| Turn::Tool { blocks: vec![Block::text(text)] }),
        result.clone().prop_map(|result| Turn::User { blocks: vec![result, Block::text("and go on")] }),
        result.prop_map(|result| Turn::Tool { blocks: vec![result] }),
    ]
}

fn legal_patch(messages: &[Message], cuts: &[(Index, Index, bool)], bodies: &[Index]) -> Patch {
    let pairing = Pairing::new(messages);
    let legal: Vec<usize> = (0..=messages.len()).filter(|&at| pairing.is_legal(at)).collect();
    let mut edits: Vec<Edit> = Vec::new();
    let mut taken = vec![false; messages.len()];
    for (one, other, with) in cuts {
        let (one, other) = (*one.get(&legal), *other.get(&legal));
        let range = one.min(other)..one.max(other);
        let free = range.clone().all(|at| !taken[at] && !is_pinned(&messages[at]));
        if free && !range.is_empty() {
            taken[range.clone()].fill(true);
            let with = if *with { vec![Message::user("[digest]")] } else { vec![] };
            edits.push(Edit::Fold { range, with });
        }
    }
    for at in bodies.iter().filter(|_| !messages.is_empty()).map(|at| at.index(messages.len())) {
        if !taken[at] && matches!(messages[at], Message::ToolResult { .. }) {
            taken[at] = true;
            edits.push(Edit::Body { at, content: vec![Block::text("[cleared]")] });
        }
    }
    Patch::new(edits)
}
