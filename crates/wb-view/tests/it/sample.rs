//! A composed session.

use wb_message::{Block, Message, ToolVocabulary, json, outline};
use wb_recall::Recall;
use wb_view::{
    Added, Budget, Context, Details, Fate, Growth, Item, Kind, Operation, Point, Preview, digest_lines,
};

pub(crate) const DIGEST: &str = "# Objective\n- First request: Port src/cart.rs to cents.\n# Guardrails\n- Never touch \
                                 migrations/, please.\n# Status (Shipped / Active / Stuck)\n- Turn 1 (“Port \
                                 src/cart.rs to cents.”):\n  noted: The totals are floats.\n# Plan\nnone";

/// Returns the messages of a session.
pub(crate) fn messages() -> Vec<Message> {
    let mut all = vec![Message::user("Port src/cart.rs to cents.\nNever touch migrations/, please.")];
    for n in 0..8 {
        let id = format!("c{n}");
        let call = Block::call(&id, "Read", json!({"file_path": format!("src/part_{n}.rs")}));
        let said = if n == 0 { "The totals are floats." } else { "Next." };
        all.push(Message::assistant_blocks(vec![Block::text(said), call]));
        all.push(Message::tool_result(id, "Read", format!("fn part_{n}() {{}}\n").repeat(3 + 5 * n)));
    }
    all.push(Message::user("And the tests?"));
    all.push(Message::assistant("They pass: 12 of 12."));
    all
}

/// Returns a context in which everything up to the last prompt would be folded.
pub(crate) fn context(messages: &[Message]) -> Context {
    let item = |message: &Message| Item {
        kind: match message {
            Message::User { .. } => Kind::User,
            Message::Assistant { .. } => Kind::Assistant,
            _ => Kind::ToolResults,
        },
        label: outline::line(message),
        tokens: wb_recall::body(message).len() as u64,
    };
    let items: Vec<Item> = messages.iter().map(item).collect();
    let used = 1_200 + items.iter().map(|item| item.tokens).sum::<u64>();
    Context {
        file: "work/cart.jsonl".to_owned(),
        format: "claude-code".to_owned(),
        model: Some("claude-sonnet-4-5".to_owned()),
        budget: Budget { window: 10_000, limit: 7_000, used, outside: 1_200, is_counted: true },
        items,
        notes: vec!["sidechain lines skipped: 13".to_owned()],
    }
}

/// Returns the details of a context with a digest.
pub(crate) fn details(messages: Vec<Message>, digest: &str) -> Details {
    let mut log = Recall::empty(ToolVocabulary::UNIVERSAL);
    messages.iter().cloned().for_each(|message| log.push(message));
    let n_folded = messages.len() - 4;
    let mut fates = vec![Fate::Folded; n_folded];
    fates.extend([Fate::Kept, Fate::Cleared, Fate::Kept, Fate::Kept]);
    let tokens_after = fates.iter().map(|fate| if *fate == Fate::Folded { 0 } else { 30 }).collect();
    let added = Added { before: n_folded, label: "digest \"# Objective\"".to_owned(), tokens: 120 };
    let preview = Preview {
        fates,
        tokens_after,
        added: vec![added],
        used_after: 1_900,
        digest_tokens: 120,
        unchanged: None,
        is_early: true,
    };
    let operation = |id, what: &str, is_undone| Operation {
        id,
        what: what.to_owned(),
        at: "2026-01-02T03:04:05.000Z".to_owned(),
        is_undone,
        tokens_before: 9_000,
        tokens_after: 3_000,
    };
    let points = |from: usize, to: usize| {
        (from..to).map(|n| Point { n_messages: n, tokens: 1_000 + 300 * (n - from) as u64 }).collect()
    };
    Details {
        numbers: log.numbers_of(&messages),
        n_said: log.len(),
        digest: digest_lines(digest, &log),
        messages,
        preview,
        operations: vec![operation(1, "compact", true), operation(2, "undo 1", false)],
        growth: vec![Growth { points: points(1, 9) }, Growth { points: points(9, 20) }],
        ..Details::default()
    }
}
