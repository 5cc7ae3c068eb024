//! Plan, ask, apply: events between the stages.

use std::time::Duration;

use futures::FutureExt;
use futures::executor::block_on;
use tokio_util::sync::CancellationToken;
use wb_budget::WeighedTranscript;
use wb_conductor::{
    CompactionReport, Compactor, CondenseOpts, DROP, DigestSource, DropStep, Pipeline, Ready, Summarizer,
    Unchanged, WindowBudgetCondense, compact_in_place, compact_locally, message_to_turn,
};
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_message::markers::{digest_body, is_pinned, restored_file};
use wb_message::outline::outline;
use wb_message::{Message, PatchError};
use wb_summarize::NoDigest;
use wb_testkit::{laws, script};

use crate::support::{AUTO, FORCE, condensed, digest_of, good_reply, keep, model, window};

fn session() -> Vec<Message> {
    script("s u\"port it\" a*300 a:read(src/a.rs) t*100 u*400 a*400 s u\"now\" a:bash t*30 a")
}

/// Plans a compaction of a transcript and asks for its digest; the future holds no transcript.
fn request(
    messages: &[Message],
    settings: &Compactor,
    summarizer: Option<&Summarizer>,
    opts: &CondenseOpts,
) -> impl Future<Output = Ready> + Send + 'static + use<> {
    let view = WeighedTranscript::new(messages, settings.token_counter());
    let plan = settings.plan(view, opts).expect("something to fold");
    plan.ask(summarizer, opts.cancel.as_ref())
}

/// Plans a forced compaction, changes the transcript meanwhile, and applies.
fn meanwhile(before: &[Message], change: impl FnOnce(&mut Vec<Message>)) -> (Vec<Message>, CompactionReport) {
    let ready = block_on(request(before, &Compactor::new(), None, &FORCE));
    let mut messages = before.to_vec();
    change(&mut messages);
    let report = ready.apply(&mut messages);
    (messages, report)
}

/// Drops messages of a transcript that is compacted on demand.
fn after_drop(
    messages: &[Message],
    dropped: &[usize],
    clears_only: bool,
) -> (Vec<Message>, CompactionReport) {
    let step = DropStep { messages: dropped.to_vec(), clears_only };
    let settings = Compactor::new().pipeline(Pipeline::new(Vec::new()).drop_first(step));
    let mut after = messages.to_vec();
    let report = compact_locally(&mut after, &settings, &FORCE);
    (after, report)
}

#[test]
fn a_drop_takes_whole_pairs_and_leaves_what_must_stay() {
    let messages = script("s u\"port it\" a:read,bash t*90 t*90 a*80 u\"now\" a:bash");
    let (after, report) = after_drop(&messages, &[3], false);
    assert_eq!(report.step_names(), [DROP]);
    assert_eq!(outline(&after).lines().count(), messages.len() - 3, "{}", outline(&after));
    laws::pairs_intact(&messages, &after);
    for stays in [0, 1, 6, 7] {
        let (same, report) = after_drop(&messages, &[stays], false);
        assert_eq!((same, report.is_changed()), (messages.clone(), false), "{stays}");
    }
    let (cleared, report) = after_drop(&messages, &[2], true);
    assert_eq!((report.cleared, cleared.len()), (vec![3, 4], messages.len()));
}

#[test]
fn nothing_that_the_user_said_is_dropped_without_a_digest() {
    let messages = script("s u\"port it\" a:read,bash t*9000 t*9000 a*4000 u\"again\" a:bash t*60 a*80");
    let compacted = |opts: &CondenseOpts| {
        let step = DropStep { messages: vec![1, 2], clears_only: false };
        let settings = window(20_000).pipeline(Pipeline::default().drop_first(step));
        let mut after = messages.clone();
        let report = compact_locally(&mut after, &settings, opts);
        (after, report)
    };
    let (after, report) = compacted(&AUTO);
    assert!(report.digest.is_none() && !report.cleared.is_empty(), "{report}");
    assert!(outline(&after).contains("port it"), "{}", outline(&after));
    let (after, report) = compacted(&FORCE);
    assert!(
        report.digest.is_some() && outline(&after).contains("First request: port it"),
        "{}",
        outline(&after)
    );
}

#[test]
fn a_dropped_file_is_not_restored() {
    let messages = script("s u\"port it\" a:read(src/a.rs) t*100 a*3000 u*400 a*400 u\"now\" a*10");
    let restored = |dropped: &[usize]| {
        let step = DropStep { messages: dropped.to_vec(), clears_only: false };
        let settings = Compactor::new().pipeline(Pipeline::default().drop_first(step));
        compact_locally(&mut messages.clone(), &settings, &FORCE).restored
    };
    assert_eq!((restored(&[]).len(), restored(&[2]).len()), (1, 0));
}

#[test]
fn messages_appended_meanwhile_stay() {
    let before = session();
    let appended = script("u\"one more\" a:edit(src/a.rs) t a*40");
    let (after, report) = meanwhile(&before, |messages| messages.extend(appended.clone()));
    assert!(report.is_changed(), "{report}");
    laws::tail_identical(&appended, &after, appended.len());
    assert_eq!(report.messages_before, before.len() + appended.len());
    assert_eq!(report.messages_after, after.len());
    assert_eq!(report.tokens_after, wb_budget::estimate_tokens(&after));
    let mut undone = after;
    report.undo.expect("changed").revert(&mut undone);
    assert_eq!(undone, [before, appended].concat());
}

#[test]
fn the_three_steps_do_what_the_one_function_does() {
    let before = session();
    let (stepped, report) = meanwhile(&before, |_| {});
    let (at_once, other) = condensed(&before, &Compactor::new(), &FORCE);
    assert_eq!(stepped, at_once);
    assert_eq!((report.cut, report.digest_tokens), (other.cut, other.digest_tokens));
}

#[test]
fn a_changed_prefix_is_refused_and_nothing_changes() {
    let before = session();
    let edits: [fn(&mut Vec<Message>); 5] = [
        |messages| messages[1] = Message::user("port something else"),
        |messages| messages.insert(3, Message::user("steer")),
        |messages| drop(messages.remove(2)),
        |messages| messages.truncate(4),
        |messages| {
            let last = messages.len() - 1;
            messages[last] = Message::assistant("another end of the tail");
        },
    ];
    for change in edits {
        let mut changed = before.clone();
        change(&mut changed);
        let (after, report) = meanwhile(&before, change);
        assert_eq!(report.unchanged, Some(Unchanged::PrefixChanged));
        assert!(report.undo.is_none() && report.steps.is_empty() && report.restored.is_empty());
        assert_eq!(after, changed);
    }
}

#[test]
fn a_proposal_that_was_applied_already_is_refused() {
    let mut messages = session();
    let ready = |messages: &[Message]| block_on(request(messages, &Compactor::new(), None, &FORCE));
    let (first, second) = (ready(&messages), ready(&messages));
    assert!(first.apply(&mut messages).is_changed());
    let once = messages.clone();
    assert_eq!(second.apply(&mut messages).unchanged, Some(Unchanged::PrefixChanged));
    assert_eq!(messages, once);
}

#[test]
fn a_late_result_for_a_call_of_the_head_is_not_orphaned() {
    let before = script("u*300 a:bash#late u\"never mind\" a*300 u*300 a u\"now\" a");
    let late = Message::tool_result("late", "bash", "took an hour");
    let (after, report) = meanwhile(&before, |messages| messages.push(late.clone()));
    let refused = PatchError::SplitPair { call: 1, result: before.len() };
    assert_eq!(report.unchanged, Some(Unchanged::Refused(refused)), "{report}");
    assert_eq!(after, [before.clone(), vec![late.clone()]].concat());

    // The next compaction keeps the pair together.
    let (next, report) = condensed(&after, &Compactor::new(), &FORCE);
    laws::pairs_intact(&after, &next);
    assert!(report.cut <= 1, "{}", outline(&next));
}

#[test]
fn a_result_for_a_call_in_flight_arrives_at_its_call() {
    let before = script("u*300 a*300 u\"now\" a:bash#one,bash#two t#one");
    let late = Message::tool_result("two", "bash", "done");
    let (after, report) = meanwhile(&before, |messages| messages.push(late.clone()));
    assert!(report.is_changed(), "{report}");
    assert_eq!(after[1..], [&before[2..], &[late]].concat());
    laws::no_loose_ends(&after);
}

#[test]
fn a_cancel_before_or_while_the_model_runs_returns_the_input() {
    let before = session();
    for cancel_at in ["before prepare", "before run", "while it runs", "before apply"] {
        let cancel = CancellationToken::new();
        let reply = if cancel_at == "while it runs" { Script::Hang } else { Script::says(good_reply("x")) };
        let invoker = model(reply);
        let summarizer = Summarizer::new(invoker.clone()).timeout(Duration::MAX);
        let opts = CondenseOpts { cancel: Some(cancel.clone()), ..FORCE };
        let at = |now: &str| {
            if now == cancel_at {
                cancel.cancel();
            }
        };
        at("before prepare");
        let mut running = Box::pin(request(&before, &Compactor::new(), Some(&summarizer), &opts));
        at("before run");
        let ready = if cancel_at == "while it runs" {
            assert!(running.as_mut().now_or_never().is_none(), "it waits for the model");
            cancel.cancel();
            block_on(running)
        } else {
            block_on(running)
        };
        at("before apply");
        let mut messages = before.clone();
        let report = ready.apply(&mut messages);
        assert_eq!(report.unchanged, Some(Unchanged::Cancelled), "{cancel_at}");
        assert_eq!(messages, before, "{cancel_at}");
        let n_asked = usize::from(!matches!(cancel_at, "before prepare" | "before run"));
        assert_eq!(invoker.requests().len(), n_asked, "{cancel_at}");
    }
}

fn timed_out(report: &CompactionReport, after: &[Message]) {
    assert_eq!(report.fallback_reason(), Some(&NoDigest::TimedOut), "{report}");
    assert!(digest_of(after).contains("- First request: port it"));
}

fn hanging() -> Compactor {
    Compactor::new().summarizer(Summarizer::new(model(Script::Hang)).timeout(Duration::from_millis(2)))
}

#[tokio::test]
async fn a_hanging_model_ends_at_the_timeout_inside_a_runtime() {
    let mut messages = session();
    let report = compact_in_place(&mut messages, &hanging(), &FORCE).await;
    timed_out(&report, &messages);
}

#[test]
fn a_hanging_model_ends_at_the_timeout_outside_of_a_runtime() {
    let (after, report) = condensed(&session(), &hanging(), &FORCE);
    timed_out(&report, &after);
}

#[test]
fn dropping_the_future_leaves_the_transcript_untouched() {
    let before = session();
    let mut messages = before.clone();
    let invoker = model(Script::Hang);
    let settings = Compactor::new().summarizer(Summarizer::new(invoker.clone()).timeout(Duration::MAX));
    let waiting = compact_in_place(&mut messages, &settings, &FORCE).now_or_never();
    assert!(waiting.is_none() && invoker.requests().len() == 1, "the model was asked and hangs");
    assert_eq!(messages, before);
}

#[test]
fn pinned_messages_survive_and_the_digest_precedes_the_tail() {
    let before = script("s\"be kind\" s u*300 a*300 s\"in the middle\" a:read(src/a.rs) t*60 s u\"now\" a");
    let (after, report) = condensed(&before, &Compactor::new(), &FORCE);
    laws::pinned_untouched(&before, &after);
    assert_eq!(report.cut, 8);
    assert_eq!(after[..3], [before[0].clone(), before[1].clone(), before[4].clone()]);
    assert!(digest_body(&after[3]).is_some() && restored_file(&after[4]).is_some(), "{}", outline(&after));
    assert!(is_pinned(&after[5]), "a pinned text right before the tail stays there");
    assert_eq!(after[6..], before[8..]);

    let before = script("s u*300 a*300 s u*300 a*300 u\"now\" a");
    let (after, report) = condensed(&before, &Compactor::new(), &FORCE);
    assert!(
        digest_body(&after[after.len() - (before.len() - report.cut) - 1]).is_some(),
        "{}",
        outline(&after)
    );
    laws::tail_identical(&before, &after, before.len() - report.cut);
}

/// Runs one compaction of a session over budget, and returns whether the model was asked.
fn run_once(host: &WindowBudgetCondense, invoker: &ScriptedInvoker, force: bool) -> (bool, CompactionReport) {
    let before = invoker.requests().len();
    let report = run(host, "[u*300 a*300]x10 u\"now\"", if force { &FORCE } else { &AUTO });
    (invoker.requests().len() > before, report)
}

fn run(host: &WindowBudgetCondense, said: &str, opts: &CondenseOpts) -> CompactionReport {
    let mut turns = script(said).into_iter().map(message_to_turn).collect();
    block_on(host.compact_in_place(&mut turns, opts)).0
}

#[test]
fn the_breaker_opens_after_two_useless_runs_and_closes_on_help() {
    let replies = [Script::fails("429"), Script::fails("429"), Script::says(good_reply("x"))];
    let invoker = std::sync::Arc::new(ScriptedInvoker::new(replies));
    let settings = window(8_000).policy(keep(1_000)).summarizer(invoker.clone());
    let host = WindowBudgetCondense::with_settings(settings);

    let (was_asked, report) = run_once(&host, &invoker, false);
    assert!(was_asked && !report.breaker_open && !host.is_breaker_open());
    let (was_asked, _) = run_once(&host, &invoker, false);
    assert!(was_asked && host.is_breaker_open(), "two in a row");

    // A forced run asks anyway, and closes the breaker since it helps.
    let clone = host.clone();
    let (was_asked, report) = run_once(&clone, &invoker, true);
    assert!(was_asked && !report.breaker_open);
    assert_eq!(report.digest, Some(DigestSource::Model { cut_off: false }));
    assert!(!host.is_breaker_open(), "clones share the memory");
}

#[test]
fn an_open_breaker_asks_no_model_and_then_tries_again() {
    let invoker = model(Script::fails("429"));
    let settings = window(8_000).policy(keep(1_000)).summarizer(invoker.clone());
    let host = WindowBudgetCondense::with_settings(settings);
    let mut was_asked = Vec::new();
    for _ in 0..11 {
        let (asked, report) = run_once(&host, &invoker, false);
        assert_eq!(asked, !report.breaker_open, "{report}");
        assert_eq!(report.to_string().ends_with("; breaker open: no model is asked"), report.breaker_open);
        assert!(report.is_changed(), "the local digest helps all the same");
        was_asked.push(u8::from(asked));
    }
    assert_eq!(was_asked, [1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0]);
}

#[test]
fn runs_without_a_request_do_not_open_the_breaker() {
    let host = WindowBudgetCondense::with_settings(window(100_000));
    for _ in 0..4 {
        let report = run(&host, "u a", &AUTO);
        assert_eq!(report.unchanged, Some(Unchanged::UnderBudget));
    }
    assert!(!host.is_breaker_open());
    let irreducible = WindowBudgetCondense::with_settings(window(3_000));
    for _ in 0..2 {
        let report = run(&irreducible, "u*2000", &AUTO);
        assert!(report.irreducible.is_some(), "{report}");
    }
    assert!(irreducible.is_breaker_open(), "what cannot be brought down is not tried with a model again");
}

#[test]
fn digests_alone_are_folded_only_if_they_do_not_fit() {
    let digests: Vec<Message> = (0..60)
        .map(|n| Message::CompactionSummary {
            summary: format!("{n}: {}", "fact ".repeat(120)),
            tokens_before: 0,
        })
        .collect();
    let (after, report) = condensed(&digests, &window(8_000), &AUTO);
    assert!(report.is_changed() && report.irreducible.is_none(), "{report}");
    let (again, second) = condensed(&after, &window(8_000), &FORCE);
    assert_eq!(again, after, "{second}");
}

#[test]
fn a_user_who_quotes_a_header_is_still_a_user() {
    let quote = format!("{} appears in my log; why?", wb_message::markers::DIGEST_HEADER);
    let messages = vec![Message::user("first"), Message::assistant("x".repeat(4_000)), Message::user(quote)];
    let (after, report) = condensed(&messages, &Compactor::new(), &FORCE);
    assert_eq!((report.cut, after.last()), (2, messages.last()), "{report}");
}

#[test]
fn if_nothing_can_fit_the_request_stays() {
    let messages = vec![Message::user("Port the parser to nom."), Message::assistant("x".repeat(80_000))];
    let messages = [script("u*600"), messages].concat();
    let (after, report) = condensed(&messages, &window(20_000), &AUTO);
    assert!(report.irreducible.is_some(), "{report}");
    assert!(digest_of(&after).contains("- Latest request: Port the parser to nom."), "{}", digest_of(&after));
}
