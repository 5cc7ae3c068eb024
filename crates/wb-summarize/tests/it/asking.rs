//! What comes of asking a model.

use futures::FutureExt;
use futures::executor::block_on;
use tokio_util::sync::CancellationToken;
use wb_budget::{ModelCard, Usage};
use wb_message::Message;
use wb_summarize::scripted::{Script, ScriptedInvoker};
use wb_summarize::{
    CondenseScope, Cost, DigestRequest, Emission, InvokeError, NoDigest, StopReason, SummarizeDeps, summarize,
};
use wb_testkit::script;

const GOOD: &str = "# Objective\n- port it\n# Carryover\nnone";

fn request(messages: &[Message]) -> DigestRequest {
    DigestRequest::new(messages, CondenseScope::Session, None, None, 500)
}

fn asked(reply: Script) -> Result<String, NoDigest> {
    let invoker = ScriptedInvoker::new([reply]);
    block_on(request(&script("u a")).ask(&invoker, None, &mut Cost::default()))
}

fn delta(text: &str) -> Emission {
    Emission::Text { delta: text.to_owned() }
}

#[test]
fn a_complete_reply_with_headings_is_a_digest() {
    assert_eq!(asked(Script::says(GOOD)).as_deref(), Ok(GOOD));
    assert_eq!(asked(Script::says(format!("\n {GOOD}\n\n"))).as_deref(), Ok(GOOD));
    assert_eq!(asked(Script::stops(GOOD, StopReason::ToolCalls)).as_deref(), Ok(GOOD));
    let streamed = GOOD.split_inclusive('\n').map(delta).collect();
    assert_eq!(asked(Script::Emit(streamed)).as_deref(), Ok(GOOD), "a stream may end without a reply");
    let looser = "## **Objective**\nport it";
    assert_eq!(asked(Script::says(looser)).as_deref(), Ok(looser));
}

#[test]
fn every_failure_has_its_reason() {
    let error = |message: &str| Emission::Error { error: InvokeError::new(message) };
    let cases = [
        (Script::fails("429"), NoDigest::Failed("429".into())),
        (Script::Emit(vec![delta(GOOD), error("reset")]), NoDigest::Failed("reset".into())),
        (Script::stops(GOOD, StopReason::Error), NoDigest::Failed("the reply ended in an error".into())),
        (Script::stops(GOOD, StopReason::Refusal), NoDigest::Refused),
        (Script::stops(GOOD, StopReason::MaxOutput), NoDigest::Truncated),
        (Script::stops(GOOD, StopReason::Aborted), NoDigest::Cancelled),
        (
            Script::Emit(vec![delta(GOOD), Emission::Stop { stop: StopReason::MaxOutput }]),
            NoDigest::Truncated,
        ),
        (Script::Emit(vec![]), NoDigest::Blank),
        (Script::says(" \n\u{a0}"), NoDigest::Blank),
        (Script::says("I would rather help you directly."), NoDigest::Headingless),
        (Script::says("Objective\nport it"), NoDigest::Headingless),
    ];
    for (reply, why) in cases {
        assert_eq!(asked(reply), Err(why));
    }
}

#[test]
fn a_failure_in_a_later_part_fails_the_whole() {
    let messages = script("[u*1000]x40");
    let card = ModelCard::with_window(8_000);
    let request = DigestRequest::new(&messages, CondenseScope::Session, None, Some(&card), 500);
    assert!(request.scrollbacks.len() > 3);
    let invoker = ScriptedInvoker::new([Script::says(GOOD), Script::says(GOOD), Script::fails("429")]);
    let mut cost = Cost::default();
    assert_eq!(block_on(request.ask(&invoker, None, &mut cost)), Err(NoDigest::Failed("429".into())));
    assert_eq!(invoker.requests().len(), 3, "nothing is asked after it");
    let usage = Usage { input_tokens: 200, output_tokens: 20, ..Usage::EMPTY };
    assert_eq!(cost, Cost { usage, n_requests: 3 }, "what it cost is known all the same");
}

#[test]
fn the_usage_of_all_parts_is_added_up() {
    let messages = script("[u*1000]x40");
    let card = ModelCard::with_window(8_000);
    let request = DigestRequest::new(&messages, CondenseScope::Session, None, Some(&card), 500);
    let invoker = ScriptedInvoker::new([Script::says(GOOD)]);
    let mut cost = Cost::default();
    block_on(request.ask(&invoker, None, &mut cost)).expect("a digest");
    let n = request.scrollbacks.len();
    assert_eq!(cost.n_requests, n);
    let n = n as u64;
    assert_eq!(cost.usage, Usage { input_tokens: 100 * n, output_tokens: 10 * n, ..Usage::EMPTY });
}

#[test]
fn a_cancel_ends_a_hanging_request_and_one_before_it_asks_nothing() {
    let cancel = CancellationToken::new();
    let invoker = ScriptedInvoker::new([Script::Hang]);
    let request = request(&script("u a"));
    let mut cost = Cost::default();
    let mut asking = Box::pin(request.ask(&invoker, Some(&cancel), &mut cost));
    assert!(asking.as_mut().now_or_never().is_none(), "it hangs");
    cancel.cancel();
    assert_eq!(block_on(asking), Err(NoDigest::Cancelled));
    let (_, options) = &invoker.requests()[0];
    assert!(options.is_cancelled(), "the token is handed on");
    assert_eq!(
        block_on(request.ask(&invoker, Some(&cancel), &mut Cost::default())),
        Err(NoDigest::Cancelled)
    );
    assert_eq!(invoker.requests().len(), 1);
}

#[test]
fn summarizing_always_gives_a_digest() {
    let messages = script("u\"port it\" a");
    for reply in [Script::fails("429"), Script::says(""), Script::says("no headings"), Script::Emit(vec![])] {
        let invoke = Some(std::sync::Arc::new(ScriptedInvoker::new([reply])) as _);
        let summary = block_on(summarize(&messages, SummarizeDeps { invoke, ..SummarizeDeps::default() }));
        let digest = wb_message::marks::digest_body(&summary.message).expect("a digest").into_owned();
        assert!(digest.starts_with("# Objective\n- First request: port it\n"), "{digest}");
        assert_eq!(summary.covered_count, 2);
    }
    let nothing = block_on(summarize(&[], SummarizeDeps::default()));
    assert_eq!(nothing.covered_count, 0);
}
