//! The entries left behind on another branch: recorded answers, diagrams, and rules.

use serde_json::{Value, json};
use wb_message::Message;
use wb_session::{
    BranchPreparation, CompactionSettings, Entry, EntryId, EntryKind, SESSION_PRESET, SessionError,
    SessionLog, collect_entries_for_branch_summary, prepare_branch_entries, prepare_compaction,
};
use wb_testkit::session_rows::{
    ALL_FILES, EXCLUDED, JSON, NEWEST, Row, Verdict, are_messages, branch_files_reason, has_excluded,
    has_special_json, judge, replay, whole_branch_files, with_all_commands,
};

use crate::chain::chain;
use crate::support::{FIXTURES, estimate_tokens, log_of};

#[test]
fn the_entries_of_a_branch_are_the_recorded_ones() {
    replay("collect_branch", NEWEST, (1632, 1632), &[], |row| {
        let found =
            collect_entries_for_branch_summary(row.log, row.id("oldLeaf").as_ref(), &target(&row)).unwrap();
        let entries: Vec<_> = found.entries.iter().map(|entry| entry.id.as_str()).collect();
        // Of many entries the count, the first and the last are recorded.
        let entries = match &row.output["entries"]["$count"] {
            Value::Null => json!(entries),
            _ => json!({"$count": entries.len(), "first": entries.first(), "last": entries.last()}),
        };
        let ours = json!({"entries": entries, "commonAncestorId": found.common_ancestor_id});
        judge(ours == *row.output, "", false, ours)
    });
}

fn target(row: &Row<'_>) -> EntryId {
    row.id("target").unwrap()
}

/// The newest version is followed, which counts the images of the user.
#[test]
fn what_the_summarizer_of_a_branch_is_given_is_recorded() {
    let reasons = [(ALL_FILES, 467), (EXCLUDED, 23), (JSON, 23)];
    replay("prepare_branch", NEWEST, (1582, 1069), &reasons, |row| {
        let found =
            collect_entries_for_branch_summary(row.log, row.id("oldLeaf").as_ref(), &target(&row)).unwrap();
        let verdict = compare(&row, &found.entries);
        if verdict.is_err() && has_excluded(&found.entries) {
            let all = with_all_commands(&found.entries);
            return compare(&row, &all.iter().collect::<Vec<_>>()).map(|_| vec![EXCLUDED]);
        }
        verdict.or_else(|what| judge(false, JSON, is_near(&row, &found.entries), what))
    });
}

/// Returns whether the difference comes from JavaScript's form of values; within a budget that may
/// change which entries fit.
fn is_near(row: &Row<'_>, entries: &[&Entry]) -> bool {
    let is_special = |entry: &&&Entry| matches!(&entry.kind, EntryKind::Message(logged) if has_special_json(&logged.message));
    let n_special = entries.iter().filter(is_special).count() as u64;
    let ours = prepare_branch_entries(
        entries,
        Some(row.count("budget")).filter(|budget| *budget > 0),
        &SESSION_PRESET,
    );
    let off = row.output["totalTokens"].as_u64().unwrap().abs_diff(ours.total_tokens);
    let is_same = are_messages(row.log, &row.output["messages"], &ours.messages);
    n_special > 0
        && ours.file_ops.lists() == whole_branch_files(entries)
        && if is_same { off < 8 * n_special } else { row.count("budget") > 0 }
}

fn compare(row: &Row<'_>, entries: &[&Entry]) -> Verdict {
    let budget = Some(row.count("budget")).filter(|budget| *budget > 0);
    let ours = prepare_branch_entries(entries, budget, &SESSION_PRESET);
    let theirs = row.output;
    let is_same = are_messages(row.log, &theirs["messages"], &ours.messages)
        && theirs["totalTokens"] == ours.total_tokens;
    let lists = ours.file_ops.lists();
    if !is_same || lists != whole_branch_files(entries) {
        return Err(format!("{ours:?}"));
    }
    branch_files_reason(&theirs["fileLists"], entries, &lists)
}

fn label(id: &str, parent: &str) -> String {
    let parent = if parent.is_empty() { Value::Null } else { json!(parent) };
    json!({"type": "label", "id": id, "parentId": parent}).to_string()
}

fn collected(log: &SessionLog, old: &str, target: &str) -> (String, Option<String>) {
    let old = EntryId::from(old);
    let found = collect_entries_for_branch_summary(log, Some(&old), &EntryId::from(target)).unwrap();
    let ids = found.entries.iter().map(|entry| entry.id.as_str()).collect();
    (ids, found.common_ancestor_id.map(|id| id.to_string()))
}

/// A tree whose two branches part at A.
#[test]
fn a_branch_is_collected_down_to_where_it_parts() {
    let pairs = [("A", ""), ("B", "A"), ("C", "B"), ("D", "C"), ("E", "A"), ("F", "E"), ("R", "")];
    let lines: Vec<_> = pairs.iter().map(|(id, parent)| label(id, parent)).collect();
    let log = log_of(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(collected(&log, "D", "F"), ("BCD".to_owned(), Some("A".to_owned())));
    assert_eq!(collected(&log, "D", "B"), ("CD".to_owned(), Some("B".to_owned())), "to an ancestor");
    assert_eq!(collected(&log, "B", "D"), (String::new(), Some("B".to_owned())), "to a descendant");
    assert_eq!(collected(&log, "D", "R"), ("ABCD".to_owned(), None), "to another root");
    assert_eq!(collected(&log, "D", "D"), (String::new(), Some("D".to_owned())));
    let nothing = collect_entries_for_branch_summary(&log, None, &"F".into()).unwrap();
    assert!(nothing.entries.is_empty() && nothing.common_ancestor_id.is_none());
    let unknown = collect_entries_for_branch_summary(&log, Some(&"D".into()), &"Z".into());
    assert!(matches!(unknown, Err(SessionError::UnknownLeaf { .. })));
}

fn prepared(words: &str, budget: Option<u64>) -> (BranchPreparation, Vec<u64>) {
    let log = chain(words);
    let preparation = prepare_branch_entries(&log.path(log.leaf()).unwrap(), budget, &SESSION_PRESET);
    let weights = preparation.messages.iter().map(estimate_tokens).collect();
    (preparation, weights)
}

#[test]
fn the_newest_messages_are_taken_first_and_results_are_left_out() {
    let words = "u:10 a:20 t:900 l u:30 a:40";
    for (budget, weights) in [
        (None, vec![10, 20, 30, 40]),
        (Some(99), vec![20, 30, 40]),
        (Some(100), vec![10, 20, 30, 40]),
        (Some(70), vec![30, 40]),
        (Some(69), vec![40]),
        (Some(39), vec![]),
        (Some(0), vec![]),
    ] {
        let (preparation, taken) = prepared(words, budget);
        assert_eq!(taken, weights, "{budget:?}");
        assert_eq!(preparation.total_tokens, weights.iter().sum::<u64>());
        let files = preparation.file_ops.lists();
        assert_eq!(files.read_files, ["a.rs"], "the call may not fit, its file is noted: {budget:?}");
    }
}

#[test]
fn a_summary_that_does_not_fit_is_taken_while_there_is_room() {
    assert_eq!(prepared("u:10 s:500 u:80", Some(100)).1, [500, 80]);
    assert_eq!(prepared("u:10 s:500 u:90", Some(100)).1, [90], "nine tenths are used");
    assert_eq!(prepared("u:10 c=1:500 u:80", Some(100)).1, [500, 80]);
    assert_eq!(prepared("u:10 u:500 u:80", Some(100)).1, [80]);
    let (nested, _) = prepared("s:5 u:5", None);
    assert!(matches!(nested.messages[0], Message::BranchSummary { .. }));
}

#[test]
fn a_long_branch_is_walked_in_linear_time() {
    let words = "u:1 a:1 t:1 s:1 ".repeat(25_000);
    assert_eq!(prepared(&words, None).0.messages.len(), 75_000);
}

#[test]
fn every_composed_log_is_prepared_at_every_leaf_without_a_panic() {
    let mut n_prepared = 0;
    for (_, text) in FIXTURES {
        let Ok(log) = SessionLog::read(text.as_bytes()) else { continue };
        for old in log.entries() {
            let path = log.path(Some(&old.id)).unwrap();
            for keep_recent_tokens in [0, 1, 5, u64::MAX] {
                let settings = CompactionSettings { keep_recent_tokens, ..CompactionSettings::default() };
                if let Some(preparation) = prepare_compaction(&path, &settings, &SESSION_PRESET) {
                    assert!(path.iter().any(|entry| entry.id == preparation.first_kept_entry_id));
                    n_prepared += 1;
                }
            }
            for target in log.entries() {
                let found = collect_entries_for_branch_summary(&log, Some(&old.id), &target.id).unwrap();
                let all = prepare_branch_entries(&found.entries, None, &SESSION_PRESET);
                let some = prepare_branch_entries(&found.entries, Some(1), &SESSION_PRESET);
                assert!(some.messages.len() <= all.messages.len() && some.file_ops == all.file_ops);
            }
        }
    }
    assert!(n_prepared > 20, "{n_prepared}");
}
