//! The cut of a session and the input of its compaction: recorded answers, diagrams, and rules.

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::{Value, json};
use wb_message::Message;
use wb_session::{
    CompactionPreparation, CompactionSettings, CutPoint, Entry, EntryId, SESSION_PRESET, SessionLog,
    build_context, cut_candidates, estimate_context, find_cut_point, find_turn_start, prepare_compaction,
};
use wb_testkit::session_rows::{
    EXCLUDED, JSON, MOVED, NEWEST, PAIR, Row, SUMMARY_FILES, TOTAL, Verdict, WHOLE_TURN, are_messages,
    boundary_reason, files_reason, gives_message, has_excluded, has_special_json, judge, message_of, replay,
    splits_pair, tokens_reason, with_all_commands,
};

use crate::chain::chain;
use crate::support::{bytes_of, estimate_tokens, log_of, shared};

fn cut_json(cut: CutPoint) -> Value {
    let turn = cut.turn_start_index.map_or(json!(-1), |at| json!(at));
    json!({"firstKeptEntryIndex": cut.first_kept_entry_index, "turnStartIndex": turn, "isSplitTurn": cut.is_split_turn})
}

/// We follow the newest version: all messages count, and if only results follow, the last place is
/// the cut.
#[test]
fn cut_points_are_the_recorded_ones() {
    let reasons = [(MOVED, 294), (WHOLE_TURN, 18), (PAIR, 13), (EXCLUDED, 8), (JSON, 1)];
    replay("find_cut_point", NEWEST, (1911, 1577), &reasons, |row| {
        let path = row.path();
        let verdict = compare_cut(&row, &path);
        if verdict.is_err() && has_excluded(&path) {
            let all = with_all_commands(&path);
            return compare_cut(&row, &all.iter().collect::<Vec<_>>()).map(|_| vec![EXCLUDED]);
        }
        let is_special = path.iter().any(|entry| has_special_json(&message_of(entry)));
        verdict.or_else(|what| judge(false, JSON, is_special, what))
    });
}

fn compare_cut(row: &Row<'_>, path: &[&Entry]) -> Verdict {
    let (start, end) = (row.place("start"), row.place("end"));
    let ours = cut_json(find_cut_point(path, start..end, row.count("keepRecentTokens"), &SESSION_PRESET));
    if ours == *row.output {
        return Ok(Vec::new());
    }
    let place = |cut: &Value| usize::try_from(cut["firstKeptEntryIndex"].as_u64().unwrap()).unwrap();
    let (theirs_at, ours_at) = (place(row.output), place(&ours));
    let is_moved = theirs_at < ours_at && !path[theirs_at..ours_at].iter().any(|entry| gives_message(entry));
    let is_same_turn = ["turnStartIndex", "isSplitTurn"].iter().all(|key| ours[*key] == row.output[*key]);
    if is_moved && is_same_turn {
        return Ok(vec![MOVED]);
    }
    let starts_turn = ours["turnStartIndex"] == -1 && find_turn_start(path, ours_at, start) == Some(ours_at);
    if is_moved && starts_turn && row.output["isSplitTurn"] == true {
        return Ok(vec![WHOLE_TURN]);
    }
    let is_candidate = cut_candidates(path, start..end).contains(&ours_at);
    let theirs_splits = splits_pair(&path[start..end], theirs_at - start);
    judge(
        false,
        PAIR,
        theirs_splits && is_candidate && !splits_pair(&path[start..end], ours_at - start),
        ours,
    )
}

#[test]
fn turn_starts_are_the_recorded_ones() {
    replay("find_turn_start", NEWEST, (150, 145), &[(EXCLUDED, 5)], |row| {
        let starts = |path: &[&Entry]| {
            let found = (0..path.len()).map(|at| find_turn_start(path, at, row.place("start")));
            Value::Array(found.map(|at| at.map_or(json!(-1), |at| json!(at))).collect())
        };
        let (path, all) = (row.path(), with_all_commands(&row.path()));
        let is_excluded = has_excluded(&path) && starts(&all.iter().collect::<Vec<_>>()) == *row.output;
        judge(starts(&path) == *row.output, EXCLUDED, is_excluded, starts(&path))
    });
}

/// We follow the newest version: kept messages are included again, and nothing is prepared if
/// nothing is summarized.
#[test]
fn preparations_are_the_recorded_ones() {
    let reasons = [(SUMMARY_FILES, 27), (MOVED, 21), (EXCLUDED, 13), (TOTAL, 9), (PAIR, 2), (WHOLE_TURN, 1)];
    replay("prepare_compaction", NEWEST, (601, 532), &reasons, |row| {
        let path = row.path();
        let verdict = compare_preparation(&row, &path);
        if verdict.is_err() && has_excluded(&path) {
            let all = with_all_commands(&path);
            return compare_preparation(&row, &all.iter().collect::<Vec<_>>()).map(|_| vec![EXCLUDED]);
        }
        verdict
    });
}

fn settings_of(row: &Row<'_>) -> CompactionSettings {
    serde_json::from_value(row.params["settings"].clone()).unwrap()
}

fn compare_preparation(row: &Row<'_>, path: &[&Entry]) -> Verdict {
    let theirs = row.output;
    let Some(ours) = prepare_compaction(path, &settings_of(row), &SESSION_PRESET) else {
        return judge(theirs.is_null(), "", false, "nothing prepared");
    };
    assert_eq!(ours.settings, settings_of(row));
    let mut reasons = boundary_reason(
        path,
        theirs["firstKeptEntryId"].as_str().ok_or("prepared")?,
        &ours.first_kept_entry_id,
    )?;
    if reasons == [PAIR] {
        return Ok(reasons);
    }
    let ours_at = path.iter().position(|entry| entry.id == ours.first_kept_entry_id).unwrap();
    let previous = ours.previous_summary.as_deref().unwrap_or_default();
    let is_previous = theirs["previousSummary"].as_str().unwrap_or_default() == previous;
    let is_same = theirs["isSplitTurn"] == ours.is_split_turn
        && are_messages(row.log, &theirs["messagesToSummarize"], &ours.messages_to_summarize)
        && are_messages(row.log, &theirs["turnPrefixMessages"], &ours.turn_prefix_messages);
    // What they call the prefix of a split turn is a whole turn before one that is kept whole.
    let all: Vec<_> = ["messagesToSummarize", "turnPrefixMessages"]
        .iter()
        .flat_map(|key| theirs[*key].as_array().unwrap().clone())
        .collect();
    let is_whole_turn = reasons == [MOVED]
        && !ours.is_split_turn
        && find_turn_start(path, ours_at, 0) == Some(ours_at)
        && are_messages(row.log, &Value::Array(all), &ours.messages_to_summarize);
    if !is_same && is_whole_turn {
        reasons = vec![WHOLE_TURN];
    }
    if !is_previous || !(is_same || is_whole_turn) {
        return Err(format!("{ours:?}"));
    }
    reasons.extend(tokens_reason(row, path, &theirs["tokensBefore"], ours.tokens_before)?);
    reasons.extend(files_reason(&theirs["fileLists"], &path[..ours_at], &ours.file_ops.lists())?);
    Ok(reasons)
}

/// Returns a compaction that does what was prepared.
fn compaction_entry(preparation: &CompactionPreparation) -> Entry {
    let text = json!({
        "type": "compaction", "id": "new", "parentId": null, "summary": "A summary.",
        "firstKeptEntryId": preparation.first_kept_entry_id, "tokensBefore": preparation.tokens_before,
        "details": preparation.file_ops.lists(),
    });
    log_of(&[&text.to_string()]).entries()[0].clone()
}

#[test]
fn right_after_a_compaction_nothing_is_prepared() {
    replay("prepare_right_after_compaction", NEWEST, (345, 345), &[], |row| {
        let mut path = row.path();
        let first =
            prepare_compaction(&path, &settings_of(&row), &SESSION_PRESET).ok_or("nothing prepared")?;
        let compaction = compaction_entry(&first);
        path.push(&compaction);
        let second = prepare_compaction(&path, &settings_of(&row), &SESSION_PRESET);
        judge(row.output.is_null() && second.is_none(), "", false, second)
    });
}

fn keeping(keep_recent_tokens: u64) -> CompactionSettings {
    CompactionSettings { keep_recent_tokens, ..CompactionSettings::default() }
}

fn prepared(log: &SessionLog, keep_recent_tokens: u64) -> Option<CompactionPreparation> {
    prepare_compaction(&log.path(log.leaf()).unwrap(), &keeping(keep_recent_tokens), &SESSION_PRESET)
}

/// Returns first kept entry, messages to summarize, messages of the turn's start, and whether a
/// turn is split.
fn in_short(preparation: &CompactionPreparation) -> (&str, usize, usize, bool) {
    let it = preparation;
    let (n_head, n_prefix) = (it.messages_to_summarize.len(), it.turn_prefix_messages.len());
    (it.first_kept_entry_id.as_str(), n_head, n_prefix, it.is_split_turn)
}

/// The first diagram, whose entry 0 is the header.
#[test]
fn a_compaction_keeps_what_its_diagram_shows() {
    let words = "u a t u a t t a t";
    let preparation = prepared(&chain(words), 600).unwrap();
    assert_eq!(in_short(&preparation), ("4", 3, 0, false));
    let after = chain(&format!("{words} c=4"));
    let context = build_context(&after, after.leaf()).unwrap();
    assert_eq!(context.entries, ["10", "4", "5", "6", "7", "8", "9"].map(EntryId::from));
}

/// The second diagram: one huge turn.
#[test]
fn a_split_turn_is_cut_as_its_diagram_shows() {
    let log = chain("u a t a t t a t");
    let path = log.path(log.leaf()).unwrap();
    let cut = find_cut_point(&path, 0..path.len(), 150, &SESSION_PRESET);
    assert_eq!((cut.first_kept_entry_index, cut.turn_start_index, cut.is_split_turn), (6, Some(0), true));
    let preparation = prepared(&log, 150).unwrap();
    assert_eq!(in_short(&preparation), ("7", 0, 6, true));
    let roles = |messages: &[Message]| -> Vec<bool> {
        messages.iter().map(|message| matches!(message, Message::ToolResult { .. })).collect()
    };
    assert_eq!(roles(&preparation.turn_prefix_messages), [false, false, true, false, true, true]);
}

#[test]
fn a_cut_is_at_a_prompt_an_answer_a_command_or_a_note() {
    let log = chain("u a t b x s l m a c=1 u");
    let path = log.path(log.leaf()).unwrap();
    assert_eq!(cut_candidates(&path, 0..path.len()), [0, 1, 3, 4, 5, 8, 10]);
    assert_eq!(cut_candidates(&path, 4..5), [4]);
    assert_eq!(cut_candidates(&path, 9..99), [10]);
    assert!(cut_candidates(&path, 20..30).is_empty());
}

#[test]
fn a_call_keeps_its_results_across_other_entries() {
    let log = chain("u a t x t u");
    let path = log.path(log.leaf()).unwrap();
    assert_eq!(cut_candidates(&path, 0..path.len()), [0, 1, 5]);
    assert_eq!(find_cut_point(&path, 0..5, 150, &SESSION_PRESET).first_kept_entry_index, 1);
    let in_flight = chain("u a u o b l");
    let path = in_flight.path(in_flight.leaf()).unwrap();
    assert_eq!(cut_candidates(&path, 0..path.len()), [0, 1, 2, 3], "the result may still come");
}

#[test]
fn results_that_exceed_the_budget_are_kept_with_their_call() {
    let log = chain("u a t u a t:900 t:900");
    let path = log.path(log.leaf()).unwrap();
    let cut = find_cut_point(&path, 0..path.len(), 500, &SESSION_PRESET);
    assert_eq!((cut.first_kept_entry_index, cut.turn_start_index), (4, Some(3)));
    assert_eq!(in_short(&prepared(&log, 500).unwrap()), ("5", 3, 1, true));
}

#[test]
fn a_range_without_a_place_to_cut_is_kept_whole() {
    let log = chain("l m u a t t");
    let path = log.path(log.leaf()).unwrap();
    for (range, start) in [(0..2, 0), (4..6, 4), (Range { start: 9, end: 4 }, 9), (3..3, 3), (50..60, 50)] {
        let cut = find_cut_point(&path, range, 1, &SESSION_PRESET);
        assert_eq!((cut.first_kept_entry_index, cut.is_split_turn), (start, false));
    }
    assert_eq!(find_turn_start(&path, 99, 0), Some(2));
    assert_eq!(find_turn_start(&path, 1, 0), None);
}

#[test]
fn nothing_is_prepared_where_nothing_would_be_summarized() {
    assert!(prepare_compaction(&[], &keeping(1), &SESSION_PRESET).is_none());
    for words in ["u a t", "l m", "u", "t", "u a c=1", "l u:9"] {
        assert!(prepared(&chain(words), 10_000).is_none(), "{words}");
    }
    assert!(prepared(&chain("u a u a c=3 u:1"), 10_000).is_none(), "what was kept still fits");
    assert!(prepared(&chain("u a u a c=3"), 1).is_none());
}

#[test]
fn the_first_kept_entry_is_one_with_a_message() {
    let preparation = prepared(&chain("u a l m u a"), 150).unwrap();
    assert_eq!(in_short(&preparation), ("5", 2, 0, false));
}

/// Compacting again and again, each message is summarized once, and kept until then.
#[test]
fn every_message_is_summarized_once_or_kept() {
    let mut words = String::from("u:11 a:12 t:13 l u:14 a:15 t:16 t:17 x:18 a:19 u:21 a:22 t:23 u:24 a:25");
    let n_steps = 8;
    let mut summarized = Vec::new();
    for step in 0..n_steps {
        let log = chain(&words);
        let path = log.path(log.leaf()).unwrap();
        let preparation = prepare_compaction(&path, &keeping(60), &SESSION_PRESET).unwrap();
        let given = [&preparation.messages_to_summarize[..], &preparation.turn_prefix_messages].concat();
        summarized.extend(given.iter().map(estimate_tokens));
        let next = 30 + step * 3;
        let kept = &preparation.first_kept_entry_id;
        let _ = write!(words, " c={kept}:1 u:{next} a:{} t:{}", next + 1, next + 2);
    }
    let log = chain(&words);
    let kept = build_context(&log, log.leaf()).unwrap();
    let all = words.split(' ').filter(|word| !word.starts_with(['c', 'l']));
    let all: Vec<u64> = all.map(|word| word.split_once(':').unwrap().1.parse().unwrap()).collect();
    summarized.extend(kept.messages[1..].iter().map(estimate_tokens));
    assert_eq!(summarized, all);
}

/// A command kept from the model, a hidden prompt of 900 tokens, and a prompt that was 900 tokens
/// and is 2 now.
#[test]
fn what_the_model_does_not_see_counts_for_nothing() {
    let body = "x".repeat(3600);
    let message = |id: &str, parent: &str, message: Value| {
        json!({"type": "message", "id": id, "parentId": parent, "message": message}).to_string()
    };
    let shell = json!({"role": "bashExecution", "command": "ls", "output": body, "excludeFromContext": true});
    let edit = |id: &str, parent: &str, target: &str, new: Value| {
        json!({"type": "context_edit", "id": id, "parentId": parent, "targetId": target, "replacement": new})
            .to_string()
    };
    let entries = [
        message("u1", "", json!({"role": "user", "content": "begin"})),
        message("u2", "u1", json!({"role": "user", "content": body})),
        message("b", "u2", shell),
        message("u3", "b", json!({"role": "user", "content": body})),
        edit("e1", "u3", "u2", Value::Null),
        edit("e2", "e1", "u3", json!({"content": "replaced"})),
        message("u4", "e2", json!({"role": "user", "content": "on"})),
    ];
    let log = log_of(&entries.iter().map(String::as_str).collect::<Vec<_>>());
    let path = log.path(log.leaf()).unwrap();
    assert_eq!(cut_candidates(&path, 0..path.len()), [0, 3, 6]);
    assert_eq!(estimate_context(&path, &SESSION_PRESET).tokens, 2 + 2 + 1);
    let first = |keep| find_cut_point(&path, 0..path.len(), keep, &SESSION_PRESET).first_kept_entry_index;
    assert_eq!([1, 2, 3, 4, 5].map(first), [6, 3, 3, 0, 0]);
    let preparation = prepared(&log, 1).unwrap();
    assert_eq!(preparation.first_kept_entry_id, EntryId::from("u4"));
    let texts: Vec<_> = preparation.messages_to_summarize.iter().map(wb_message::outline::line).collect();
    assert_eq!(texts, ["user      \"begin\"", "user      \"replaced\""]);
}

/// All sessions of six entries: the places to cut are those that the pairing of messages allows.
#[test]
fn places_to_cut_are_those_that_pairing_allows() {
    let kinds = ["u", "a", "t", "x", "o"];
    let n_sessions = kinds.len().pow(6);
    for nth in (0..n_sessions).step_by(3) {
        let words: Vec<_> = (0..6).map(|at| kinds[nth / kinds.len().pow(at) % kinds.len()]).collect();
        let log = chain(&words.join(" "));
        let path = log.path(log.leaf()).unwrap();
        let legal = (0..6).filter(|at| words[*at] != "t" && !splits_pair(&path, *at));
        let expected: Vec<_> = legal.collect();
        assert_eq!(cut_candidates(&path, 0..6), expected, "{words:?}");
        for keep in [1, 150, 250, 100_000] {
            let cut = find_cut_point(&path, 0..6, keep, &SESSION_PRESET).first_kept_entry_index;
            assert!(cut == 0 || expected.contains(&cut), "{words:?} at {keep}: {cut}");
            let Some(it) = prepared(&log, keep) else { continue };
            let n_given = it.messages_to_summarize.len() + it.turn_prefix_messages.len();
            assert_eq!(
                (n_given, it.is_split_turn),
                (cut, !it.turn_prefix_messages.is_empty()),
                "{words:?} at {keep}"
            );
        }
    }
}

/// Figures of two real sessions, which all recorded versions agree on.
#[test]
fn real_sessions_are_cut_where_the_recorded_ones_cut_them() {
    let Some(folder) = shared("sessions/pi") else { return };
    for (name, tokens, usage, cut, turn, after) in [
        ("large-session", 177_657, None, 837, 834, (182, Some(20_630))),
        ("before-compaction", 180_820, Some((168_018, 12_802)), 946, 939, (56, None)),
    ] {
        let file = folder.join(format!("badlogic-pi-mono__{name}.jsonl"));
        let log = SessionLog::read(bytes_of(&file).as_slice()).unwrap();
        let path = log.path(log.leaf()).unwrap();
        let estimate = estimate_context(&path, &SESSION_PRESET);
        assert_eq!(estimate.tokens, tokens, "{name}");
        if let Some(usage) = usage {
            assert_eq!((estimate.usage_tokens, estimate.trailing_tokens), usage, "{name}");
        }
        let found = find_cut_point(&path, 0..path.len(), 20_000, &SESSION_PRESET);
        let expected = (cut, Some(turn), true);
        assert_eq!(
            (found.first_kept_entry_index, found.turn_start_index, found.is_split_turn),
            expected,
            "{name}"
        );
        let kept: Vec<_> = path[cut..].iter().filter(|entry| gives_message(entry)).collect();
        let preparation = prepare_compaction(&path, &CompactionSettings::default(), &SESSION_PRESET).unwrap();
        let summary = format!(
            "LLM-REPLY-1\n\n---\n\n**Turn Context (split turn):**\n\nLLM-REPLY-2{}",
            preparation.file_ops.tags()
        );
        let digest = Message::CompactionSummary { summary, tokens_before: 0 };
        let sum: u64 = kept.iter().map(|entry| estimate_tokens(&message_of(entry))).sum();
        assert_eq!(kept.len() + 1, after.0, "{name}");
        if let Some(tokens) = after.1 {
            assert_eq!(sum + estimate_tokens(&digest), tokens, "{name}");
        }
        assert_eq!(preparation.first_kept_entry_id, path[cut].id, "{name}");
        assert_eq!(preparation.tokens_before, tokens, "{name}");
    }
}

/// A walk that is not linear would not come to an end here.
#[test]
fn a_hundred_thousand_entries_are_prepared_in_linear_time() {
    let words = "u:1 a:1 t:1 l ".repeat(25_000);
    let log = chain(&words);
    for keep in [1, 30_000, 74_000] {
        let preparation = prepared(&log, keep).unwrap();
        let n_given = preparation.messages_to_summarize.len() + preparation.turn_prefix_messages.len();
        let n_kept = u64::try_from(75_000 - n_given).unwrap();
        // A turn of three messages weighs 7 tokens.
        assert!((n_kept * 7 / 3).abs_diff(keep) < 10, "{n_kept} messages of {keep} tokens");
    }
}
