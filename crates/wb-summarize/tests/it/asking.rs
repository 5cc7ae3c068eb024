//! The outcomes of asking a model.

use std::sync::Arc;
use std::time::Duration;

use futures::executor::block_on;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use tokio_util::sync::CancellationToken;
use wb_budget::{ModelCard, Usage};
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_invoke::{Emission, InvokeError, ModelInvoker, StopReason, StreamOptions, ThinkingLevel, from_fn};
use wb_message::{Conversation, Message, json};
use wb_summarize::{
    CondenseScope, Cost, DigestRequest, DigestSource, ModelDigest, NoDigest, SummarizeDeps, Summarizer,
    local_fallback_digest, summarize,
};
use wb_testkit::script;

const GOOD: &str = "# Objective\n- port it\n# Carryover\nnone";

fn request(messages: &[Message]) -> DigestRequest {
    DigestRequest::new(messages, CondenseScope::Session, None, None, 500)
}

fn model(replies: impl IntoIterator<Item = Script>) -> (Arc<ScriptedInvoker>, Summarizer) {
    let invoker = Arc::new(ScriptedInvoker::new(replies));
    (invoker.clone(), Summarizer::new(invoker))
}

fn digest_of(reply: Script) -> Result<ModelDigest, NoDigest> {
    let (_, summarizer) = model([reply]);
    block_on(request(&script("u a")).ask(&summarizer, None, &mut Cost::default()))
}

/// Returns the text of a reply that was not cut off.
fn ask_scripted(reply: Script) -> Result<String, NoDigest> {
    digest_of(reply).map(|digest| {
        assert!(!digest.cut_off, "{digest:?}");
        digest.text
    })
}

/// A request in at least four parts.
fn in_parts() -> DigestRequest {
    let card = ModelCard::with_window(8_000);
    let request = DigestRequest::new(&script("[u*1000]x40"), CondenseScope::Session, None, Some(&card), 500);
    assert!(request.parts.len() > 3);
    request
}

fn delta(text: &str) -> Emission {
    Emission::Text { delta: text.to_owned() }
}

#[test]
fn a_complete_reply_with_headings_is_a_digest() {
    assert_eq!(ask_scripted(Script::says(GOOD)).as_deref(), Ok(GOOD));
    assert_eq!(ask_scripted(Script::says(format!("\n {GOOD}\n\n"))).as_deref(), Ok(GOOD));
    assert_eq!(ask_scripted(Script::stops(GOOD, StopReason::ToolCalls)).as_deref(), Ok(GOOD));
    let streamed = GOOD.split_inclusive('\n').map(delta).collect();
    assert_eq!(ask_scripted(Script::Emit(streamed)).as_deref(), Ok(GOOD), "a stream may end without a reply");
    let looser = "## **Objective**\nport it";
    assert_eq!(ask_scripted(Script::says(looser)).as_deref(), Ok(looser));
}

#[test]
fn a_summary_in_prose_is_the_status() {
    let prose = "We ported the parser to the new lexer and ran its tests, of which two still fail because the \
                 fixture has Windows line ends; next the fixture is converted and the tests run again.";
    assert_eq!(ask_scripted(Script::says(prose)), Ok(format!("# Status\n{prose}")));
    let cut = digest_of(Script::stops(format!("{prose} After th"), StopReason::MaxOutput)).unwrap();
    assert_eq!(cut, ModelDigest { text: format!("# Status\n{prose}"), cut_off: true });
}

#[test]
fn a_summary_names_its_writer() {
    let source = |reply: Option<Script>| {
        let invoke = reply.map(|reply| -> Arc<dyn ModelInvoker> { Arc::new(ScriptedInvoker::new([reply])) });
        block_on(summarize(&script("u a"), SummarizeDeps { invoke, ..SummarizeDeps::default() })).source
    };
    assert_eq!(source(None), DigestSource::Local(NoDigest::NoModel));
    assert_eq!(source(Some(Script::says("no"))), DigestSource::Local(NoDigest::MissingHeadings));
    assert_eq!(source(Some(Script::says(GOOD))), DigestSource::Model { cut_off: false });
    let cut = Script::stops(format!("{GOOD}\n# Pl"), StopReason::MaxOutput);
    assert_eq!(source(Some(cut)), DigestSource::Model { cut_off: true });
}

#[test]
fn every_failure_has_its_reason() {
    let error = |message: &str| Emission::Error { error: InvokeError::new(message) };
    let cases = [
        (Script::fails("429"), NoDigest::Failed("429".into())),
        (Script::Emit(vec![delta(GOOD), error("reset")]), NoDigest::Failed("reset".into())),
        (Script::stops(GOOD, StopReason::Error), NoDigest::Failed("the reply ended in an error".into())),
        (Script::stops(GOOD, StopReason::Refusal), NoDigest::Refused),
        (Script::stops(GOOD, StopReason::Aborted), NoDigest::Cancelled),
        (
            Script::Emit(vec![delta("# Objective\n- port"), Emission::Stop { stop: StopReason::MaxOutput }]),
            NoDigest::Truncated,
        ),
        (Script::Emit(vec![]), NoDigest::Blank),
        (Script::says(" \n\u{a0}"), NoDigest::Blank),
        (Script::says("I would rather help you directly."), NoDigest::MissingHeadings),
        (Script::says("Objective\nport it"), NoDigest::MissingHeadings),
    ];
    for (reply, why) in cases {
        assert_eq!(ask_scripted(reply), Err(why));
    }
}

#[test]
fn a_failure_in_a_later_part_fails_the_whole() {
    let request = in_parts();
    let (invoker, summarizer) = model([Script::says(GOOD), Script::says(GOOD), Script::fails("429")]);
    let mut cost = Cost::default();
    assert_eq!(block_on(request.ask(&summarizer, None, &mut cost)), Err(NoDigest::Failed("429".into())));
    assert_eq!(invoker.requests().len(), 3, "nothing is asked after it");
    let usage = Usage { input_tokens: 200, output_tokens: 20, ..Usage::EMPTY };
    assert_eq!(cost, Cost { usage, n_requests: 3 }, "what it cost is known all the same");
}

#[test]
fn the_usage_of_all_parts_is_added_up() {
    let request = in_parts();
    let (_, summarizer) = model([Script::says(GOOD)]);
    let mut cost = Cost::default();
    block_on(request.ask(&summarizer, None, &mut cost)).expect("a digest");
    let n = request.parts.len();
    assert_eq!(cost.n_requests, n);
    let n = n as u64;
    assert_eq!(cost.usage, Usage { input_tokens: 100 * n, output_tokens: 10 * n, ..Usage::EMPTY });
}

#[test]
fn a_cancel_ends_a_hanging_request_and_one_before_it_asks_nothing() {
    let cancel = CancellationToken::new();
    let (invoker, summarizer) = model([Script::Hang]);
    let request = request(&script("u a"));
    let mut cost = Cost::default();
    let mut asking = Box::pin(request.ask(&summarizer, Some(&cancel), &mut cost));
    assert!(asking.as_mut().now_or_never().is_none(), "it hangs");
    cancel.cancel();
    assert_eq!(block_on(asking), Err(NoDigest::Cancelled));
    let (_, options) = &invoker.requests()[0];
    assert!(options.is_cancelled(), "the token is handed on");
    assert_eq!(
        block_on(request.ask(&summarizer, Some(&cancel), &mut Cost::default())),
        Err(NoDigest::Cancelled)
    );
    assert_eq!(invoker.requests().len(), 1);
}

#[test]
fn credentials_become_marks_unless_they_are_to_be_kept() {
    let key = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let messages = [Message::user(format!("Deploy with {key} today.")), Message::assistant("Deployed it.")];
    let says = |_| Script::says(format!("# Objective\n- Deploy with {key}."));
    let (invoker, _) = model((0..2).map(says));
    for invoke in [None, Some(invoker as Arc<dyn ModelInvoker>)] {
        for keep_credentials in [false, true] {
            let deps = SummarizeDeps { invoke: invoke.clone(), keep_credentials, ..SummarizeDeps::default() };
            let summary = block_on(summarize(&messages, deps));
            let text = json!(summary.message).to_string();
            assert_eq!(text.contains(key), keep_credentials, "{text}");
            assert_eq!(text.contains("[redacted: GitHub token]"), !keep_credentials, "{text}");
            assert_eq!(summary.redacted > 0, !keep_credentials);
        }
    }
    assert!(!local_fallback_digest(&messages, None).contains(key));
}

#[test]
fn summarizing_always_gives_a_digest() {
    let messages = script("u\"port it\" a");
    for reply in [Script::fails("429"), Script::says(""), Script::says("no headings"), Script::Emit(vec![])] {
        let invoke = Some(std::sync::Arc::new(ScriptedInvoker::new([reply])) as _);
        let summary = block_on(summarize(&messages, SummarizeDeps { invoke, ..SummarizeDeps::default() }));
        let digest = wb_message::markers::digest_body(&summary.message).expect("a digest").into_owned();
        assert!(digest.starts_with("# Objective\n- First request: port it\n"), "{digest}");
        assert_eq!(summary.covered_count, 2);
    }
    let nothing = block_on(summarize(&[], SummarizeDeps::default()));
    assert_eq!(nothing.covered_count, 0);
}

#[test]
fn of_a_reply_that_was_cut_off_the_whole_lines_are_kept() {
    let cut = |text: &str| digest_of(Script::stops(text, StopReason::MaxOutput));
    let kept = |text: &str| Ok(ModelDigest { text: text.to_owned(), cut_off: true });
    let goal = "# Objective\n- port it";
    assert_eq!(cut(GOOD), kept(goal), "a heading with nothing under it goes too");
    assert_eq!(cut("# Objective\n- port it\n- and then th"), kept(goal));
    assert_eq!(cut("# Objective\n- port it\n"), kept(goal), "a line end ends the last line");
    assert_eq!(cut("**Objective**\nport it\n\n**Plan:**\n\n1."), kept("**Objective**\nport it"));
    let streamed = [goal, "\n# Pl"].map(delta).into_iter();
    let stop = [Emission::Stop { stop: StopReason::MaxOutput }];
    assert_eq!(digest_of(Script::Emit(streamed.chain(stop).collect())), kept(goal));
    for text in ["# Obj", "# Objective\n- por", "# Objective\nnone\n# Plan\n- sh", "x", "# Plan\n\n"] {
        assert_eq!(cut(text), Err(NoDigest::Truncated), "{text}");
    }
    assert_eq!(cut("I would rather\nhelp you"), Err(NoDigest::MissingHeadings));
}

#[test]
fn after_a_part_that_was_cut_off_the_next_is_asked() {
    let request = in_parts();
    let (invoker, summarizer) = model([
        Script::says(GOOD),
        Script::stops("# Objective\n- port the lexer\n- and", StopReason::MaxOutput),
        Script::says(GOOD),
    ]);
    let digest = block_on(request.ask(&summarizer, None, &mut Cost::default())).expect("a digest");
    assert_eq!(digest, ModelDigest { text: GOOD.to_owned(), cut_off: true });
    assert!(
        invoker.prompts()[2].contains("<carried-digest>\n# Objective\n- port the lexer\n</carried-digest>")
    );
    assert_eq!(invoker.requests().len(), request.parts.len());
}

#[test]
fn what_a_reply_did_not_get_to_is_taken_from_the_earlier_digest() {
    let prior = "# Objective\n- old\n# Guardrails\n- no unwrap\n# Plan\n- test\n# Carryover\n- `ls` → ok\n  on two lines";
    let messages = script("u a");
    let request = DigestRequest::new(&messages, CondenseScope::Session, Some(prior.to_owned()), None, 500);
    let ask = |reply| {
        let (_, summarizer) = model([reply]);
        block_on(request.ask(&summarizer, None, &mut Cost::default())).expect("a digest").text
    };
    let new = "# Objective\n- new\n# Guardrails\nnone\n";
    assert_eq!(ask(Script::says(new)), new.trim(), "what is complete is left alone");
    let cut = Script::stops([new, "# Status\n- half of"].concat(), StopReason::MaxOutput);
    let expected = "# Objective\n- new\n# Guardrails\nnone\n# Carryover\n- `ls` → ok\n  on two lines";
    assert_eq!(ask(cut), expected);
}

#[test]
fn an_endless_reply_is_left_and_counts_as_cut_off() {
    let line = format!("- {}\n", "and so on ".repeat(1_000));
    let lines = (0..200).map(|_| delta(&line));
    let emissions = [delta("# Objective\n")].into_iter().chain(lines).chain([delta("never heard")]);
    let digest = digest_of(Script::Emit(emissions.collect())).expect("a digest");
    assert!(digest.cut_off && digest.text.len() > 1 << 19 && !digest.text.contains("never heard"));
}

#[test]
fn a_time_limit_ends_the_request_and_what_is_known_of_its_cost_is_counted() {
    let usage = Usage { input_tokens: 7, ..Usage::EMPTY };
    let known = [Emission::Usage { usage }, delta(GOOD)];
    let endless = move || futures::stream::iter(known.clone()).chain(futures::stream::pending()).boxed();
    let summarizer = Summarizer::new(Streams(endless)).timeout(Duration::from_millis(5));
    let mut cost = Cost::default();
    let asked = block_on(request(&script("u a")).ask(&summarizer, None, &mut cost));
    assert_eq!((asked, cost), (Err(NoDigest::TimedOut), Cost { usage, n_requests: 1 }));
}

#[test]
fn a_model_that_never_stops_thinking_ends_at_the_time_limit() {
    let thought = Emission::Thinking { delta: "hm".to_owned() };
    let endless = move || futures::stream::repeat(thought.clone()).boxed();
    let summarizer = Summarizer::new(Streams(endless)).timeout(Duration::from_millis(5));
    let asked = block_on(request(&script("u a")).ask(&summarizer, None, &mut Cost::default()));
    assert_eq!(asked, Err(NoDigest::TimedOut));
}

/// A model whose answer is any stream.
struct Streams<F>(F);

impl<F: Fn() -> BoxStream<'static, Emission> + Send + Sync> ModelInvoker for Streams<F> {
    fn invoke(&self, _: Conversation, _: StreamOptions) -> BoxStream<'static, Emission> {
        (self.0)()
    }
}

#[test]
fn a_request_that_is_left_is_cancelled_and_the_callers_token_is_not() {
    let cancel = CancellationToken::new();
    let (invoker, summarizer) = model([Script::Hang]);
    let summarizer = summarizer.timeout(Duration::from_millis(5));
    let request = request(&script("u a"));
    let mut cost = Cost::default();
    assert_eq!(block_on(request.ask(&summarizer, Some(&cancel), &mut cost)), Err(NoDigest::TimedOut));
    let mut dropped = Box::pin(request.ask(&summarizer, Some(&cancel), &mut cost));
    assert!(dropped.as_mut().now_or_never().is_none(), "it hangs");
    drop(dropped);
    assert!(invoker.requests().iter().all(|(_, options)| options.is_cancelled()));
    assert!(!cancel.is_cancelled(), "it serves the next run");
    assert_eq!(cost.n_requests, 2);
}

#[test]
fn one_cancel_ends_one_call_only() {
    let (invoker, summarizer) = model([Script::says(GOOD)]);
    let request = request(&script("u a"));
    let cancel = CancellationToken::new();
    cancel.cancel();
    let mut cost = Cost::default();
    assert_eq!(block_on(request.ask(&summarizer, Some(&cancel), &mut cost)), Err(NoDigest::Cancelled));
    assert_eq!(cost, Cost::default());
    assert!(block_on(request.ask(&summarizer, None, &mut cost)).is_ok());
    assert_eq!(invoker.requests().len(), 1);
}

/// Whatever a model does, asking ends, with a digest that says something or with a reason.
#[test]
fn asking_always_ends() {
    let request = in_parts();
    let long = GOOD.repeat(10_000);
    for first in [
        Script::says(""),
        Script::Echo,
        Script::says(long.as_str()),
        Script::stops(long, StopReason::MaxOutput),
        Script::stops("# Obj", StopReason::MaxOutput),
        Script::Hang,
        Script::fails("429"),
    ] {
        for then in [Script::says(GOOD), Script::Hang, Script::Echo] {
            let (invoker, summarizer) = model([first.clone(), then]);
            let summarizer = summarizer.timeout(Duration::from_millis(20));
            let mut cost = Cost::default();
            let digest = block_on(request.ask(&summarizer, None, &mut cost));
            assert!(digest.is_ok_and(|digest| !digest.text.trim().is_empty()) || cost.n_requests > 0);
            assert!(cost.n_requests <= request.parts.len());
            assert_eq!(cost.n_requests, invoker.requests().len());
        }
    }
}

#[test]
fn who_is_asked_and_how_is_a_setting() {
    let (invoker, summarizer) = model([Script::says(GOOD)]);
    let request = request(&script("u a"));
    let ask = |by: &Summarizer| block_on(request.ask(by, None, &mut Cost::default())).expect("a digest");
    ask(&summarizer);
    ask(&summarizer.clone().model(Some("small".to_owned())).thinking(None).timeout(Duration::MAX));
    let asked: Vec<_> = invoker.requests().into_iter().map(|(_, options)| options).collect();
    assert_eq!((asked[0].model.as_deref(), asked[0].thinking), (None, Some(ThinkingLevel::High)));
    assert_eq!((asked[1].model.as_deref(), asked[1].thinking), (Some("small"), None));
}

#[test]
fn a_reply_may_be_longer_than_the_words_that_are_asked_for() {
    let (invoker, summarizer) = model([Script::says(GOOD)]);
    let request = request(&script("u a"));
    block_on(request.ask(&summarizer, None, &mut Cost::default())).expect("a digest");
    assert!(invoker.prompts()[0].contains("Write at most about 250 words in all"));
    assert_eq!(
        invoker.requests()[0].1.max_output_tokens,
        Some(750),
        "half as much more than the room of 500"
    );
}

#[test]
fn a_closure_is_a_model() {
    let prefix = "# Objective\n- ".to_owned();
    let echo = from_fn(move |conversation: Conversation| {
        let prefix = prefix.clone();
        async move { Ok::<_, String>(format!("{prefix}{} turn", conversation.turns.len())) }
    });
    let fails = from_fn(async |_| -> Result<String, std::fmt::Error> { Err(std::fmt::Error) });
    let card = ModelCard::with_window(9_000);
    let ask = |by: Summarizer| block_on(request(&script("u a")).ask(&by, None, &mut Cost::default()));
    let echo = Summarizer::new(echo.with_card(card.clone()));
    assert_eq!(echo.card(), Some(card));
    assert_eq!(ask(echo).map(|digest| digest.text).as_deref(), Ok("# Objective\n- 1 turn"));
    let why = std::fmt::Error.to_string();
    assert_eq!(ask(Summarizer::new(fails)), Err(NoDigest::Failed(why)));
}

#[test]
fn a_question_can_be_asked_from_another_thread() {
    fn crosses_threads<T: Send>(_: T) {}
    let (_, summarizer) = model([]);
    crosses_threads(request(&[]).ask(&summarizer, None, &mut Cost::default()));
    crosses_threads(summarize(&[], SummarizeDeps::default()));
}

struct Panics;

impl ModelInvoker for Panics {
    fn invoke(&self, _: Conversation, _: StreamOptions) -> BoxStream<'static, Emission> {
        panic!("the client is broken")
    }
}

#[test]
fn a_panic_of_the_invoker_is_a_failure_with_its_message() {
    let mut cost = Cost::default();
    let asked = block_on(request(&script("u a")).ask(&Summarizer::new(Panics), None, &mut cost));
    assert_eq!(asked, Err(NoDigest::Failed("it panicked: the client is broken".to_owned())));
    assert_eq!(cost.n_requests, 1);
}
