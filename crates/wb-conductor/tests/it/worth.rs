//! A digest is written if it is worth what it leaves out, and the user's words stay in it.

use std::sync::Arc;

use wb_budget::{FittedCounter, WeighedTranscript};
use wb_conductor::{CompactionReport, CondenseOpts, Unchanged};
use wb_facts::Facts;
use wb_message::markers::digest_body;
use wb_message::{Message, ToolVocabulary};
use wb_testkit::script;

use crate::support::{AUTO, FORCE, condensed, digest_of, window};

#[test]
fn a_forced_digest_of_a_short_chat_is_not_worth_it_unless_it_saves_two_fifths() {
    for (text, is_worth_it) in [
        ("u a*60 u\"Never run it.\" a u", false),
        ("u*190 a*60 u*190 a*20 u", false),
        ("u a*900 u\"Never run it.\" a u", true),
        ("[u*300 a]x12 u", false),
        ("[u a*300]x12 u", true),
    ] {
        let messages = script(text);
        let (after, report) = condensed(&messages, &window(200_000), &FORCE);
        assert_eq!(report.is_changed(), is_worth_it, "{text}: {report}");
        if !is_worth_it {
            assert!(matches!(report.unchanged, Some(Unchanged::NotWorthIt { .. })), "{text}: {report}");
            assert_eq!(after, messages, "{text}");
        }
    }
}

#[test]
fn a_digest_next_to_one_big_request_is_written_only_if_the_window_is_nearly_full() {
    let big = |tokens: usize| script(&format!("u\"Never run it.\" a*400 u*{tokens}"));
    let (after, report) = condensed(&big(14_000), &window(20_000), &AUTO);
    assert!(matches!(report.unchanged, Some(Unchanged::NotWorthIt { .. })), "{report}");
    assert_eq!(after, big(14_000));
    let (_, report) = condensed(&big(19_000), &window(20_000), &AUTO);
    assert!(report.is_changed() && report.irreducible.is_some(), "{report}");
}

#[test]
fn each_request_that_fits_a_quarter_of_the_limit_is_whole_after_ten_compactions() {
    let mut messages = Vec::new();
    let mut said = Vec::new();
    for round in 0..10 {
        for n in 0..6 {
            let request =
                format!("Request {round}.{n}: the port of host{round}{n} is {}.", 8_000 + 10 * round + n);
            messages.push(Message::user(request.as_str()));
            said.push(request);
            messages.extend(script("a:bash t*900 a*60"));
        }
        messages = condensed(&messages, &window(12_000), &AUTO).0;
    }
    let digest = digest_of(&messages);
    let in_tail = |request: &&String| messages.iter().any(|it| *it == Message::user(request.as_str()));
    let missing: Vec<_> = said.iter().filter(|it| !digest.contains(it.as_str()) && !in_tail(it)).collect();
    assert!(missing.is_empty(), "{missing:?}\n{digest}");
}

#[test]
fn each_request_of_plain_words_is_whole_after_a_forced_compaction_of_each_turn() {
    // Plain words have more characters a token than the heuristic assumes.
    let fitted = Arc::new(FittedCounter::from_model_id("gpt-4o").unwrap());
    for per_request in ["never use the module", "goes to the list of", "rename the field"] {
        let request =
            |n: usize| format!("{per_request} {} {n} in production code", ["alpha", "bravo", "cargo"][n % 3]);
        let mut messages = Vec::new();
        for n in 0..110 {
            messages.push(Message::user(request(n)));
            messages.extend(script("a:bash t*250 a:bash t*250 a"));
            messages = condensed(&messages, &window(32_000).counter(fitted.clone()), &FORCE).0;
            let digest = messages.iter().find_map(digest_body).unwrap_or_default();
            let is_there =
                |text: &str| digest.contains(text) || messages.iter().any(|it| *it == Message::user(text));
            let lost: Vec<usize> = (0..=n).filter(|n| !is_there(&request(*n))).collect();
            assert!(lost.is_empty(), "{per_request}, after {n}: {lost:?}\n{digest}");
        }
    }
}

#[test]
fn after_a_refusal_of_the_provider_a_digest_is_written_whatever_it_saves() {
    let overflow = CondenseOpts { force: false, overflow: true, ..FORCE };
    for text in ["u*3000 a u", "u a*300 u*900 a u"] {
        let messages = script(text);
        assert!(!condensed(&messages, &window(200_000), &FORCE).1.is_changed(), "{text}");
        let (after, report) = condensed(&messages, &window(200_000), &overflow);
        assert!(report.is_changed() && report.tokens_after < report.tokens_before, "{text}: {report}");
        assert!(digest_of(&after).contains("- First request: "), "{text}");
    }
}

#[test]
fn a_size_is_one_of_the_messages_and_keeps_the_words_of_the_user() {
    let messages = script("u\"Port it. Never touch the schema.\" [a:bash t*900]x24 a u\"Go on.\" a");
    let settings = window(64_000).overhead_tokens(20_000);
    let view = WeighedTranscript::new(&messages, settings.token_counter());
    let facts = Facts::default().with_messages(&messages, &ToolVocabulary::default());
    let opts = CondenseOpts { facts: Some(Arc::new(facts)), ..AUTO };
    for tokens in [200, 300, 400, 1_000, 2_000] {
        let reached = |_: &[Message], report: &CompactionReport| report.tokens_after as f64 / tokens as f64;
        let sized = settings.clone().with_target_size(tokens, &view, &opts, reached);
        let (after, report) = condensed(&messages, &sized, &opts);
        let digest = digest_of(&after);
        assert!(digest.contains("- First request: Port it."), "{tokens}: {digest}");
        assert!(digest.contains("- Never touch the schema."), "{tokens}: {digest}");
        assert!(report.tokens_after * 10 <= tokens * 11, "{tokens}: {report}");
    }
}

#[test]
fn a_size_below_that_of_the_instructions_keeps_the_words_of_the_user() {
    let mut messages = vec![Message::custom("system", "Work with care. ".repeat(2_000))];
    messages
        .extend(script("u\"Port it. Never touch the schema.\" [a:bash t*900]x24 a u\"Now the tests.\" a"));
    messages.extend(script("[a:bash t*900]x4 a"));
    let settings = window(64_000);
    let view = WeighedTranscript::new(&messages, settings.token_counter());
    let facts = Facts::default().with_messages(&messages, &ToolVocabulary::default());
    let opts = CondenseOpts { facts: Some(Arc::new(facts)), ..AUTO };
    for tokens in [2_000, 4_000, 7_000] {
        let reached = |_: &[Message], report: &CompactionReport| report.tokens_after as f64 / tokens as f64;
        let sized = settings.clone().with_target_size(tokens, &view, &opts, reached);
        let (after, report) = condensed(&messages, &sized, &opts);
        assert_eq!(after[0], messages[0], "{tokens}");
        // They take more than half of the size, so the others get half of it in addition.
        let others = report.tokens_after - view.weight(0);
        assert!(others <= tokens / 2 + tokens / 20 && others * 4 > tokens, "{tokens}: {others}");
        let digest = after.iter().find_map(digest_body).unwrap_or_default();
        for words in ["Port it. Never touch the schema.", "Now the tests."] {
            let is_there = digest.contains(words) || after.contains(&Message::user(words));
            assert!(is_there, "{tokens}: {words}\n{digest}");
        }
    }
}

#[test]
fn a_digest_that_would_lose_the_words_of_the_user_waits_for_shorter_results() {
    let mut messages = vec![Message::custom("system", "Work with care. ".repeat(2_500))];
    let requests: Vec<String> =
        (0..6).map(|n| format!("Is part {n} of the ledger stale, or is it used?")).collect();
    for request in &requests {
        messages.push(Message::user(request.as_str()));
        messages.push(Message::assistant("It is used."));
    }
    messages.extend(script("a:bash t*9000"));
    let (after, report) = condensed(&messages, &window(24_000), &AUTO);
    assert!(report.is_changed() && report.tokens_after < report.tokens_before, "{report}");
    let is_there = |words: &&String| after.contains(&Message::user(words.as_str()));
    assert!(requests.iter().all(|words| is_there(&words)), "{report}");
    assert!(after.iter().all(|message| digest_body(message).is_none()), "{report}");
}

#[test]
fn instructions_above_the_limit_leave_the_words_of_the_user() {
    let mut messages = vec![Message::custom("system", "Work with care. ".repeat(4_000))];
    let requests: Vec<String> =
        (0..6).map(|n| format!("Port part {n} of the ledger to the new schema, with its totals.")).collect();
    for request in &requests {
        messages.push(Message::user(request.as_str()));
        messages.extend(script("[a:bash t*900]x8 a"));
    }
    let (after, report) = condensed(&messages, &window(16_000), &AUTO);
    let digest = digest_of(&after);
    assert!(report.irreducible.is_some(), "{report}");
    let is_there =
        |words: &&String| digest.contains(*words) || after.contains(&Message::user(words.as_str()));
    assert!(requests.iter().all(|words| is_there(&words)), "{report}\n{digest}");
}

#[test]
fn a_request_of_8000_bytes_is_whole_and_a_longer_one_is_marked_as_cut() {
    let request =
        |n_bytes: usize| "Move each column to cents. ".chars().cycle().take(n_bytes).collect::<String>();
    for (n_bytes, is_whole) in [(8_000, true), (8_200, false)] {
        let text = request(n_bytes);
        let mut messages = script("u\"Port it.\" a");
        messages.push(Message::user(text.as_str()));
        messages.extend(script("[a:bash t*900]x40 u\"Go on.\" a"));
        let digest = digest_of(&condensed(&messages, &window(64_000), &FORCE).0);
        assert_eq!(
            (digest.contains(text.trim()), digest.contains("[… clipped …]")),
            (is_whole, !is_whole),
            "{digest}"
        );
    }
}

#[test]
fn a_forced_digest_leaves_the_reply_that_the_last_prompt_answers() {
    let reply = "| 1 | rename it |\n| 2 | drop it |";
    let mut messages = script("u\"Port it.\" [a:bash t*900]x8");
    messages.extend([Message::assistant(reply), Message::user("skip 2")]);
    let (after, report) = condensed(&messages, &window(64_000), &FORCE);
    assert_eq!(after[1..], [Message::assistant(reply), Message::user("skip 2")], "{report}");
    let long = Message::assistant("It is a long story. ".repeat(9_000));
    let at = messages.len() - 2;
    messages[at] = long;
    let (after, report) = condensed(&messages, &window(64_000), &FORCE);
    assert_eq!(after[1..], [Message::user("skip 2")], "{report}");
}

/// Compacts messages to a size, and returns them with the report.
fn compacted_to(tokens: u64, messages: &[Message]) -> (Vec<Message>, CompactionReport) {
    compacted_with(tokens, messages, AUTO)
}

fn compacted_with(tokens: u64, messages: &[Message], opts: CondenseOpts) -> (Vec<Message>, CompactionReport) {
    let settings = window(64_000);
    let view = WeighedTranscript::new(messages, settings.token_counter());
    let facts = Facts::default().with_messages(messages, &ToolVocabulary::default());
    let opts = CondenseOpts { facts: Some(Arc::new(facts)), ..opts };
    let reached = |_: &[Message], report: &CompactionReport| report.tokens_after as f64 / tokens as f64;
    condensed(messages, &settings.with_target_size(tokens, &view, &opts, reached), &opts)
}

#[test]
fn a_prompt_stays_with_its_files_and_leaves_the_digest_room() {
    let messages = script("[u\"add a column\" a:bash t*400 a*200]x12 u\"what is this?\" u*3000");
    let last = messages.len() - 2;
    let joined = CondenseOpts { joined: vec![last + 1].into(), ..AUTO };
    let (after, report) = compacted_with(1_000, &messages, joined.clone());
    assert!(after.ends_with(&messages[last..]), "{report}");
    assert!(report.digest_tokens > 150, "{report}");
    let (after, _) = condensed(&messages, &window(200_000), &CondenseOpts { force: true, ..joined });
    assert!(after.ends_with(&messages[last..]));
}

#[test]
fn a_large_size_is_reached_by_clearing_the_oldest_results() {
    let messages = script("u\"Port it.\" [a:bash t*900]x40 a u\"Go on.\" a");
    let total = WeighedTranscript::new(&messages, window(64_000).token_counter()).total_tokens();
    for percent in [60, 75, 90] {
        let tokens = total * percent / 100;
        let (after, report) = compacted_to(tokens, &messages);
        assert!(report.tokens_after.abs_diff(tokens) * 20 <= tokens, "{percent}: {report}");
        let (again, second) = compacted_to(tokens, &after);
        assert_eq!(again, after, "{percent}: {second}");
    }
    let (same, report) = compacted_to(total * 2, &messages);
    assert!(same == messages && !report.is_changed(), "{report}");
}

#[test]
fn a_long_request_in_progress_stays_whole_at_any_size_with_room_for_it() {
    let long = Message::user("Then round each line of the cart once, half to even. ".repeat(120));
    let mut messages = script("u\"Port it.\" [a:bash t*900]x20 a");
    messages.push(long.clone());
    messages.extend(script("[a:bash t*900]x6"));
    for tokens in [4_000, 5_500, 7_000, 9_000] {
        let (after, report) = compacted_to(tokens, &messages);
        assert!(after.contains(&long), "{tokens}: {report}");
    }
}

#[test]
fn short_requests_stay_where_pasted_logs_leave_them_no_room() {
    const COLOURS: [&str; 10] =
        ["red", "blue", "green", "brown", "black", "white", "grey", "pink", "amber", "teal"];
    let wish = |colour: &str| format!("The cart could be {colour} as well, like the old one was.");
    let log = |n: usize| format!("$ make part_{n}\n{}", "error: a.c:3 is not what was meant\n".repeat(120));
    let wishes = COLOURS.iter().flat_map(|colour| [Message::user(wish(colour)), Message::assistant("Done.")]);
    let logs = (0..3).flat_map(|n| [Message::user(log(n)), Message::assistant("I see.")]);
    let messages: Vec<Message> = wishes.chain(logs).chain([Message::user("Go on.")]).collect();
    let (after, report) = condensed(&messages, &window(8_000), &FORCE);
    let digest = digest_of(&after);
    for colour in COLOURS {
        assert!(digest.contains(&wish(colour)), "{colour}: {report}\n{digest}");
    }
}
