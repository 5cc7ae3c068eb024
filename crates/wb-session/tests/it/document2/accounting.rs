//! Token accounting: recorded answers, and the rules one by one.

use serde_json::{Value, json};
use wb_budget::{HeuristicPreset, Usage};
use wb_message::{Block, Content, Message};
use wb_session::{
    CompactionSettings, Entry, SESSION_PRESET, SessionSettings, build_context, calculate_context_tokens,
    estimate_context, last_usage, should_compact,
};
use wb_testkit::session_rows::{
    EXCLUDED, JSON, NEWEST, OLDER, Row, TOTAL, Verdict, has_excluded, has_special_json, judge, replay,
    selected_messages, total_in_file, with_all_commands,
};

use crate::chain::chain;
use crate::support::{estimate_tokens, log_of};

fn usage_of(json: &Value) -> Usage {
    let tokens = |key: &str| json[key].as_u64().unwrap();
    Usage {
        input_tokens: tokens("input"),
        output_tokens: tokens("output"),
        cache_read_tokens: Some(tokens("cacheRead")),
        cache_write_tokens: Some(tokens("cacheWrite")),
    }
}

#[test]
fn the_tokens_of_a_context_are_the_recorded_ones() {
    let above = "a total above its parts is not read";
    replay("context_tokens", NEWEST, (6, 5), &[(above, 1)], |row| {
        let usage = &row.params["usage"];
        let ours = calculate_context_tokens(&usage_of(usage));
        judge(row.output.as_u64() == Some(ours), above, usage["totalTokens"].as_u64() > Some(ours), ours)
    });
}

#[test]
fn the_threshold_is_the_recorded_one() {
    replay("should_compact", NEWEST, (11, 11), &[], |row| {
        let settings: CompactionSettings = serde_json::from_value(row.params["settings"].clone()).unwrap();
        let ours = should_compact(row.count("contextTokens"), row.count("contextWindow"), &settings);
        judge(row.output.as_bool() == Some(ours), "", false, ours)
    });
}

/// The newest version is followed, which passes over a count of zero.
#[test]
fn the_last_usage_is_the_recorded_one() {
    replay("last_usage", NEWEST, (151, 151), &[], |row| {
        let ours = last_usage(&row.path()).map(|(_, usage)| usage);
        let theirs = (!row.output.is_null()).then(|| usage_of(row.output));
        judge(ours == theirs, "", false, ours)
    });
}

/// The newest version is followed, which counts the images of the user.
#[test]
fn the_estimates_of_messages_are_the_recorded_ones() {
    for (version, preset) in [(NEWEST, SESSION_PRESET), (OLDER, HeuristicPreset::PI)] {
        replay("estimate_tokens", version, (151, 145), &[(JSON, 6)], |row| {
            let messages = selected_messages(row.log, row.id("leaf").as_ref());
            let ours: Vec<_> = messages.iter().map(|message| preset.message_tokens(message)).collect();
            let theirs: Vec<u64> = serde_json::from_value(row.output.clone()).unwrap();
            let holds = ours.len() == theirs.len()
                && messages.iter().zip(&ours).zip(&theirs).all(|((message, ours), theirs)| {
                    ours == theirs || (theirs - ours < 8 && has_special_json(message))
                });
            judge(ours == theirs, JSON, holds, ours)
        });
    }
    let message = Message::user("four");
    assert_eq!(estimate_tokens(&message), SESSION_PRESET.message_tokens(&message));
}

const STALE: &str = "a count from before the newest compaction is not used";

#[test]
fn the_estimate_of_a_context_is_the_recorded_one() {
    let reasons = [(STALE, 21), (EXCLUDED, 5), (TOTAL, 4)];
    replay("estimate_context", NEWEST, (151, 121), &reasons, |row| compare_estimate(&row));
}

fn compare_estimate(row: &Row<'_>) -> Verdict {
    let path = row.path();
    if estimate_json(&path) == *row.output {
        return Ok(Vec::new());
    }
    let all: Vec<Entry> = with_all_commands(&path);
    if has_excluded(&path) && estimate_json(&all.iter().collect::<Vec<_>>()) == *row.output {
        return Ok(vec![EXCLUDED]);
    }
    let ours = estimate_context(&path, &SESSION_PRESET);
    let stale = last_usage(&path).filter(|_| ours.last_usage_index.is_none());
    if let Some((_, usage)) = stale {
        let messages = selected_messages(row.log, row.id("leaf").as_ref());
        let is_sum = ours.tokens == messages.iter().map(estimate_tokens).sum::<u64>();
        let is_stale = row.output["usageTokens"].as_u64() == Some(calculate_context_tokens(&usage));
        return judge(false, STALE, is_sum && is_stale, ours);
    }
    let (at, usage) = last_usage(&path).ok_or("no usage")?;
    let total = total_in_file(row.file, &path[at].id);
    let is_total =
        total == row.output["usageTokens"].as_u64() && total < Some(calculate_context_tokens(&usage));
    let is_rest = row.output["trailingTokens"] == ours.trailing_tokens;
    judge(false, TOTAL, is_total && is_rest, ours)
}

fn estimate_json(path: &[&Entry]) -> Value {
    let it = estimate_context(path, &SESSION_PRESET);
    json!({
        "tokens": it.tokens, "usageTokens": it.usage_tokens, "trailingTokens": it.trailing_tokens,
        "lastUsageIndex": it.last_usage_index,
    })
}

fn answer(id: &str, parent: &str, stop: &str, tokens: u64) -> String {
    json!({
        "type": "message", "id": id, "parentId": parent, "message": {
            "role": "assistant", "content": [{"type": "text", "text": "12345678"}], "stopReason": stop,
            "usage": {"input": tokens, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        },
    })
    .to_string()
}

#[test]
fn failed_and_empty_counts_are_passed_over_and_estimated() {
    let entries = [
        r#"{"type":"message","id":"u","parentId":null,"message":{"role":"user","content":"hello"}}"#
            .to_owned(),
        answer("a", "u", "stop", 500),
        answer("b", "a", "error", 900),
        answer("c", "b", "aborted", 900),
        answer("d", "c", "stop", 0),
    ];
    let log = log_of(&entries.iter().map(String::as_str).collect::<Vec<_>>());
    let path = log.path(log.leaf()).unwrap();
    assert_eq!(last_usage(&path).map(|(at, usage)| (at, usage.input_tokens)), Some((1, 500)));
    let estimate = estimate_context(&path, &SESSION_PRESET);
    assert_eq!((estimate.tokens, estimate.trailing_tokens, estimate.last_usage_index), (506, 6, Some(1)));
}

#[test]
fn a_path_without_counts_is_estimated_whole() {
    let log = chain("u:10 a:20 t:30 l b:40 x:50 s:60");
    let estimate = estimate_context(&log.path(log.leaf()).unwrap(), &SESSION_PRESET);
    assert_eq!((estimate.tokens, estimate.usage_tokens, estimate.last_usage_index), (210, 0, None));
    assert_eq!(estimate_context(&[], &SESSION_PRESET).tokens, 0);
}

#[test]
fn after_a_compaction_its_digest_and_what_it_kept_are_estimated() {
    let log = chain("u:1000 a:1000 u:20 c=1:900 u:7 c=3:30 a:40");
    let path = log.path(log.leaf()).unwrap();
    assert_eq!(
        estimate_context(&path, &SESSION_PRESET).tokens,
        97,
        "20 kept, 7 after, 30 of the digest, 40 new"
    );
    let context = build_context(&log, log.leaf()).unwrap();
    assert_eq!(context.messages.iter().map(estimate_tokens).sum::<u64>(), 97);
}

#[test]
fn an_image_of_the_user_costs_what_one_in_a_result_does() {
    let blocks = vec![Block::image("image/png", "AAAA")];
    let user = Message::User { content: Content::Blocks(blocks.clone()), timestamp: 0 };
    assert_eq!(estimate_tokens(&user), 1200);
    assert_eq!(estimate_tokens(&Message::custom("note", Content::Blocks(blocks))), 1200);
}

#[test]
fn the_limit_itself_is_not_above_the_limit() {
    let settings = CompactionSettings::default();
    assert!(!should_compact(183_616, 200_000, &settings));
    assert!(should_compact(183_617, 200_000, &settings));
    assert!(should_compact(0, 16_383, &settings), "a window below the reserve has no room at all");
    assert!(should_compact(u64::MAX, u64::MAX - 1, &settings));
    assert!(!should_compact(u64::MAX, 0, &CompactionSettings { enabled: false, ..settings }));
}

#[test]
fn the_defaults_are_those_of_the_older_and_keys_that_are_left_out_get_them() {
    let settings = CompactionSettings { enabled: true, reserve_tokens: 16_384, keep_recent_tokens: 20_000 };
    assert_eq!(CompactionSettings::default(), settings);
    let file = json!({"theme": "dark", "compaction": {"keepRecentTokens": 5, "keepRecent": 1}, "branchSummary": {"x": 0}});
    let (read, unknown) = SessionSettings::from_value(&file).unwrap();
    assert_eq!(read.compaction, CompactionSettings { keep_recent_tokens: 5, ..settings });
    assert_eq!(read.branch_summary.reserve_tokens, 16_384);
    assert_eq!(unknown, ["compaction.keepRecent", "branchSummary.x"]);
    assert_eq!(SessionSettings::from_value(&json!({})).unwrap(), (SessionSettings::default(), Vec::new()));
    assert_eq!(
        serde_json::to_value(SessionSettings::default()).unwrap(),
        json!({
            "compaction": {"enabled": true, "reserveTokens": 16_384, "keepRecentTokens": 20_000},
            "branchSummary": {"reserveTokens": 16_384},
        })
    );
}

#[test]
fn a_key_that_belongs_to_the_host_is_not_unknown() {
    let file = json!({"branchSummary": {"skipPrompt": true, "skip": 1}, "compaction": {"skipPrompt": true}});
    let (settings, unknown) = SessionSettings::from_value(&file).unwrap();
    assert_eq!(settings, SessionSettings::default());
    assert_eq!(unknown, ["compaction.skipPrompt", "branchSummary.skip"]);
}

#[test]
fn settings_that_are_overridden_keep_what_the_file_leaves_out() {
    let file =
        json!({"compaction": {"enabled": false, "reserveTokens": 1}, "branchSummary": {"reserveTokens": 2}});
    let (settings, _) = SessionSettings::from_value(&file).unwrap();
    let (settings, _) = settings.overridden_by(&json!({"compaction": {"reserveTokens": 3}})).unwrap();
    assert_eq!((settings.compaction.enabled, settings.compaction.reserve_tokens), (false, 3));
    assert_eq!((settings.compaction.keep_recent_tokens, settings.branch_summary.reserve_tokens), (20_000, 2));
}

#[test]
fn bad_settings_are_refused_by_their_key() {
    let message = |file: Value| SessionSettings::from_value(&file).unwrap_err().to_string();
    let tokens = |value: Value| message(json!({"compaction": {"reserveTokens": value}}));
    for (value, found) in [
        (json!(-1), "-1"),
        (json!(1.5), "1.5"),
        (json!("9"), "\"9\""),
        (json!(null), "null"),
        (json!(1_u64 << 53), "9007199254740992"),
    ] {
        let expected = format!(
            "compaction.reserveTokens: expected a whole number of tokens, not negative, found {found}"
        );
        assert_eq!(tokens(value), expected);
    }
    assert_eq!(
        message(json!({"compaction": {"enabled": 1}})),
        "compaction.enabled: expected true or false, found 1"
    );
    assert_eq!(message(json!({"branchSummary": 7})), "branchSummary: expected an object, found 7");
    assert_eq!(message(json!([])), "settings: expected an object, found []");
    assert!(message(json!({"compaction": "x".repeat(5000)})).len() < 200);
}
