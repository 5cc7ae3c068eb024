//! The facts of a context, and its digests after many compactions.

use std::sync::Arc;

use futures::executor::block_on;
use wb_conductor::{AgentContext, DigestSource, Pipeline};
use wb_facts::{Facts, FindingKind};
use wb_message::markers::{digest_body, restored_file};
use wb_message::{Message, ToolVocabulary};
use wb_testkit::script;

use crate::support::{AUTO, FORCE, good_reply, model, window};
use wb_invoke::scripted::Script;

const FIRST: &str = "Port the importer to cents, but never change its wire format.";

/// One turn of a long session: a request, a file, a command, and its result.
fn turn(n: usize) -> Vec<Message> {
    let mut messages = vec![Message::user(if n == 0 {
        FIRST.to_owned()
    } else {
        format!("Step {n}: also look at invoice {n}.")
    })];
    messages.extend(script(&format!(
        "a:read(src/part_{n}.rs) t*900 a:edit(src/part_{n}.rs) t a:bash(cargo test part_{n}) t\"test result: ok. {n} passed\" \
         a\"Part {n} keeps its totals in cents now.\""
    )));
    messages
}

/// A request of `n_lines` lines.
fn long_request(n_lines: usize) -> String {
    let lines =
        (1..=n_lines).map(|n| format!("{n}. Part {n} of the importer reads the rates of column {n} anew."));
    lines.collect::<Vec<_>>().join("\n")
}

/// Compacts a session repeatedly, and returns its last digest and the weight of it.
fn digest_after(n_compactions: usize, first: &str, mut context: AgentContext) -> (String, u64) {
    let mut messages = vec![Message::user(first)];
    let (mut digest, mut tokens) = (String::new(), 0);
    let mut n_done = 0;
    for n in 1.. {
        messages.extend(turn(n));
        let report = context.compact_locally(&mut messages, &AUTO);
        if report.cut > 0 {
            n_done += 1;
            digest = messages.iter().find_map(digest_body).expect("a digest").into_owned();
            tokens = report.digest_tokens;
        }
        if n_done == n_compactions {
            break;
        }
    }
    (digest, tokens)
}

#[test]
fn a_first_request_within_a_quarter_of_the_limit_is_quoted() {
    let first = long_request(70);
    for n_compactions in [1, 5] {
        let (digest, _) = digest_after(n_compactions, &first, AgentContext::from_compactor(window(32_000)));
        let lost: Vec<&str> = first.lines().filter(|line| !digest.contains(line)).collect();
        assert!(lost.is_empty(), "{lost:?} lost:\n{digest}");
    }
    // Here a quarter does not hold it.
    let first = long_request(140);
    let (digest, tokens) = digest_after(1, &first, AgentContext::from_compactor(window(8_000)));
    assert!(digest.contains("1. Part 1 ") && !digest.contains("35. Part 35 "), "{digest}");
    assert!(tokens < 1_500, "{tokens}");
}

#[test]
fn without_restored_files_the_digest_has_their_lines() {
    let without = Pipeline::from_settings(&serde_json::json!(["microcompact", "digest"])).expect("steps");
    for settings in [window(32_000).max_restored(0), window(32_000).pipeline(without)] {
        let (digest, tokens) = digest_after(1, FIRST, AgentContext::from_compactor(settings.clone()));
        let share = settings.budget().expect("a window").digest;
        assert!(tokens > share, "{tokens} of {share} and lines:\n{digest}");
    }
}

#[test]
fn a_context_keeps_its_first_facts_over_twenty_compactions() {
    let mut context = AgentContext::from_compactor(window(32_000));
    let (mut messages, mut all) = (Vec::new(), Vec::new());
    let (mut n_done, mut largest) = (0, 0);
    for n in 0..1_500 {
        let more = turn(n);
        all.extend(more.iter().cloned());
        messages.extend(more);
        if !context.is_over(&messages) {
            continue;
        }
        let report = context.compact_locally(&mut messages, &AUTO);
        if report.cut == 0 {
            continue;
        }
        n_done += 1;
        let digest = messages.iter().find_map(digest_body).expect("a digest");
        assert!(digest.contains(&format!("- First request: {FIRST}")), "{digest}");
        assert!(digest.contains("never change its wire format"), "{digest}");
        assert!(digest.contains(&format!("Step {n}:")) || messages.len() > 8, "{digest}");
        assert!(report.facts.is_none() && !context.facts().is_partial());
        largest = largest.max(report.digest_tokens);
        if n_done == 20 {
            break;
        }
    }
    assert_eq!(n_done, 20);
    let budget = context.budget().expect("a window");
    assert!(largest <= budget.digest + budget.floor + 2_000, "{largest}");
    let in_one_go = serde_json::to_value(Facts::default().with_messages(&all, &ToolVocabulary::default()))
        .expect("plain data");
    assert_eq!(serde_json::to_value(context.facts()).expect("plain data"), in_one_go);
}

#[test]
fn facts_survive_being_written_and_read() {
    let messages: Vec<Message> = (0..8).flat_map(turn).collect();
    let (kept, rest) = messages.split_at(30);
    let facts = Facts::default().with_messages(kept, &ToolVocabulary::default());
    let text = serde_json::to_string(&facts).expect("plain data");
    let mut context = AgentContext::from_compactor(window(32_000))
        .resume(kept, serde_json::from_str(&text).expect("what was written"));
    context.observe(&messages);
    let whole = Facts::default().with_messages(&messages, &ToolVocabulary::default());
    assert_eq!(serde_json::to_value(context.facts()).unwrap(), serde_json::to_value(&whole).unwrap());
    assert!(!rest.is_empty() && whole.n_messages() as usize == messages.len());
}

#[test]
fn a_run_without_facts_reads_the_newest_messages() {
    let mut messages: Vec<Message> = (0..200).flat_map(turn).collect();
    let report = wb_conductor::compact_locally(&mut messages, &window(32_000), &AUTO);
    let facts = report.facts.expect("it collected them itself");
    assert!(facts.is_partial() && facts.has_first());
    let digest = messages.iter().find_map(digest_body).expect("a digest");
    assert!(digest.contains(FIRST) && digest.contains("src/part_19"), "{digest}");
}

#[test]
fn a_models_judgement_survives_in_later_local_digests() {
    let invoker = model(Script::says(good_reply("All totals are cents by Friday.")));
    let mut context = AgentContext::from_compactor(window(12_000).summarizer(invoker.clone()));
    let mut messages: Vec<Message> = (0..40).flat_map(turn).collect();
    let report = block_on(context.compact(&mut messages, &FORCE));
    assert_eq!(report.digest, Some(DigestSource::Model { cut_off: false }), "{report}");
    let digest = messages.iter().find_map(digest_body).expect("a digest").into_owned();
    assert!(digest.contains("All totals are cents by Friday."), "{digest}");
    assert!(digest.contains("never change its wire format"), "what the model left out is added:\n{digest}");
    assert!(digest.contains("- Called: "), "{digest}");
    messages.extend((40..60).flat_map(turn));
    let report = context.compact_locally(&mut messages, &FORCE);
    assert!(report.is_changed(), "{report}");
    let digest = messages.iter().find_map(digest_body).expect("a digest").into_owned();
    assert!(digest.contains("All totals are cents by Friday."), "{digest}");
    drop(Arc::clone(&invoker));
}

#[test]
fn a_models_digest_is_checked_against_the_session() {
    let mut messages = script(
        "u\"Make src/cart.rs count cents. Never touch migrations/.\" a:edit(src/cart.rs) t \
         a:bash(cargo test) t!\"test total ... FAILED\" [a*2000]x12 u\"go on\"",
    );
    let said = "# Objective\n- Count cents.\n# Status\n- `src/cart.rs` is edited. All tests pass.\n- See `src/basket.rs`.";
    let invoker = model(Script::says(said));
    let mut context = AgentContext::from_compactor(window(12_000).summarizer(invoker.clone()));
    let report = block_on(context.compact(&mut messages, &FORCE));
    assert_eq!(report.digest, Some(DigestSource::Model { cut_off: false }), "{report}");
    let found: Vec<_> = report.findings.iter().map(|it| (it.kind, it.text.as_str())).collect();
    assert_eq!(
        found,
        [
            (FindingKind::FailedSince, "All tests pass"),
            (FindingKind::UnknownPath, "src/basket.rs"),
            (FindingKind::MissingConstraint, "Never touch migrations/."),
        ]
    );
    assert!(report.to_string().contains("struck 2, missing 1"), "{report}");
    let digest = messages.iter().find_map(digest_body).expect("a digest").into_owned();
    assert!(digest.contains("- `src/cart.rs` is edited.\n") && !digest.contains("basket"), "{digest}");
    assert!(
        !digest.contains("All tests pass") && digest.contains("- Never touch migrations/.\n"),
        "{digest}"
    );
    let prompt = invoker.prompts().concat();
    let (_, kept) = prompt.split_once("<kept>").expect("what is kept is shown");
    let (kept, _) = kept.split_once("</kept>").expect("its end");
    assert!(kept.contains("- Never touch migrations/.") && kept.contains("- Stuck? cargo test"), "{prompt}");
}

#[test]
fn a_deleted_file_and_an_old_failure_are_not_current() {
    let talk = |deletes: &str| {
        script(&format!(
            "u\"clean up\" a:read(src/gone.rs) t\"one two three\" a:read(src/kept.rs) t\"four five six\" \
             a:bash(cargo test 2>&1 | tail -5) t\"test a ... FAILED\ntest result: FAILED. 1 passed; 1 failed\" {deletes} [a*600]x30 u\"go on\""
        ))
    };
    let restored = |messages: &[Message]| -> Vec<String> {
        messages.iter().filter_map(restored_file).map(|(path, _)| path.to_owned()).collect()
    };
    let mut before = talk("");
    wb_conductor::compact_locally(&mut before, &window(12_000), &FORCE);
    assert!(restored(&before).contains(&"src/gone.rs".to_owned()));
    let digest = before.iter().find_map(digest_body).expect("a digest").into_owned();
    assert!(digest.contains("- Stuck? cargo test"), "its output says so, whatever the pipe did:\n{digest}");
    let mut after =
        talk("a:bash(rm src/gone.rs) t\"\" a:bash(cargo test) t\"test result: ok. 2 passed; 0 failed\"");
    wb_conductor::compact_locally(&mut after, &window(12_000), &FORCE);
    assert_eq!(restored(&after), ["src/kept.rs"]);
    let digest = after.iter().find_map(digest_body).expect("a digest").into_owned();
    assert!(!digest.contains("Stuck?") && !digest.contains("FAILED"), "{digest}");
    assert!(digest.contains("deleted src/gone.rs"), "{digest}");
}
