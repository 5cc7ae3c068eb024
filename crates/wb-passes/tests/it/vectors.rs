//! The recorded answers of the passes, all equal.

use serde_json::Value;
use wb_budget::{estimate_message_tokens, estimate_tokens};
use wb_message::{Content, Message};
use wb_passes::{RehydrateOpts, clear_stale_tool_results, rehydrate_recent_reads};
use wb_testkit::vectors;

fn sessions() -> Vec<(Value, Vec<Message>)> {
    let rows = vectors::rows("window-budget.jsonl", "session");
    rows.into_iter().map(|row| (row.clone(), vectors::messages(&row["messages"]))).collect()
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

#[test]
fn every_recorded_clearing_is_equal() {
    let mut n_checked = 0;
    for (row, messages) in sessions() {
        for recorded in row["clear_stale"].as_array().unwrap() {
            let cleared = clear_stale_tool_results(messages.clone(), number(&recorded["keep_recent"]));
            let indices = cleared.as_ref().map(|after| {
                let changed = |at: &usize| after[*at] != messages[*at];
                (0..messages.len()).filter(changed).map(|at| at as u64).collect::<Vec<_>>()
            });
            let expected: Option<Vec<u64>> = serde_json::from_value(recorded["cleared"].clone()).unwrap();
            assert_eq!(indices, expected, "{} {recorded}", row["id"]);
            let total = cleared.map(|after| estimate_tokens(&after));
            assert_eq!(total, recorded["total_after"].as_u64(), "{} {recorded}", row["id"]);
            n_checked += 1;
        }
    }
    assert!(n_checked > 800, "{n_checked}");
}

fn texts(restored: &[Message]) -> Vec<&str> {
    let text = |message| match message {
        &Message::User { content: Content::Text(ref text), .. } => text.as_str(),
        other => panic!("not a restored file: {other:?}"),
    };
    restored.iter().map(text).collect()
}

fn are_recorded(restored: &[Message], recorded: &Value) -> bool {
    let recorded = recorded.as_array().unwrap();
    let texts = texts(restored);
    texts.len() == recorded.len() && texts.iter().zip(recorded).all(|(text, r)| vectors::is_recorded(text, r))
}

/// Checks the guard of the recorded pipeline: two files fewer than dropped messages, and five at
/// most.
#[test]
fn every_recorded_guarded_restore_is_equal() {
    let mut n_checked = 0;
    for (row, messages) in sessions() {
        let recorded = &row["restore_guard"];
        let (dropped, kept) = messages.split_at(number(&recorded["split"]));
        let max_files = dropped.len().saturating_sub(2).min(5);
        let restored =
            rehydrate_recent_reads(dropped, kept, &RehydrateOpts { max_files, ..RehydrateOpts::default() });
        assert!(are_recorded(&restored, &recorded["texts"]), "{}", row["id"]);
        n_checked += 1;
    }
    assert_eq!(n_checked, 234);
}

fn opts(recorded: &Value) -> RehydrateOpts {
    let mut opts = RehydrateOpts::default();
    if let Some(max_files) = recorded["max_files"].as_u64() {
        opts.max_files = usize::try_from(max_files).unwrap();
    }
    if let Some(token_budget) = recorded["token_budget"].as_u64() {
        opts.token_budget = token_budget;
    }
    if let Some(name) = recorded["read_tool_name"].as_str() {
        name.clone_into(&mut opts.read_tool_name);
    }
    opts
}

#[test]
fn every_recorded_restore_is_equal() {
    let mut n_restored = 0;
    for (row, messages) in sessions() {
        for recorded in row["rehydrate"].as_array().unwrap() {
            let (dropped, kept) = messages.split_at(number(&recorded["split"]));
            let restored = rehydrate_recent_reads(dropped, kept, &opts(&recorded["opts"]));
            assert!(
                are_recorded(&restored, &recorded["texts"]),
                "{} {:?} {recorded:#}",
                row["id"],
                texts(&restored)
            );
            let tokens: u64 = restored.iter().map(estimate_message_tokens).sum();
            assert_eq!(Some(tokens), recorded["tokens"].as_u64(), "{} {recorded}", row["id"]);
            n_restored += restored.len();
        }
    }
    assert!(n_restored > 500, "{n_restored}");
}
