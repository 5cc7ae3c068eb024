//! Requests for a digest that continue the conversation in the provider's cache.

use std::sync::Arc;

use futures::executor::block_on;
use wb_budget::{ModelCard, Prices, Usage};
use wb_conductor::{AgentContext, CompactionReport, Compactor, CondenseOpts, DigestSource, message_to_turn};
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_invoke::{StopReason, ThinkingLevel};
use wb_message::{Conversation, Message};
use wb_summarize::NoDigest;
use wb_testkit::script;

use crate::support::{FORCE, good_reply};

fn card(context_window: u64) -> ModelCard {
    let prices = Prices { input: 3.0, cached: 0.3, write: 3.75, output: 15.0, ..Prices::default() };
    ModelCard { id: "one".into(), prices: Some(prices), ..ModelCard::with_window(context_window) }
}

fn head() -> Conversation {
    Conversation { system: Some("You are an agent.".into()), ..Conversation::default() }
}

/// A session whose last message but one is an answer.
fn session() -> Vec<Message> {
    script(
        "u\"port it, and never touch vendor/\" [a*300:read(src/a.rs) t*900]x40 a\"Done.\" u\"and now the tests\" a\"They pass.\"",
    )
}

/// Follows a session whose provider has counted `tokens`, most of them in its cache.
fn follow(invoker: &Arc<ScriptedInvoker>, card: ModelCard, cached: u64) -> (AgentContext, Vec<Message>) {
    let context = AgentContext::from_compactor(Compactor::new().card(card).summarizer(invoker.clone()));
    let mut context = context.same_model(head(), Some(ThinkingLevel::Low));
    let messages = session();
    let tokens = context.estimate(&messages).context_tokens;
    let usage = Usage {
        input_tokens: tokens - cached,
        output_tokens: 4,
        cache_read_tokens: Some(cached / 2),
        cache_write_tokens: Some(cached - cached / 2),
    };
    context.anchor(&messages, &usage).unwrap();
    (context, messages)
}

fn compacted(replies: Vec<Script>, card: ModelCard, cached: u64) -> (Arc<ScriptedInvoker>, CompactionReport) {
    let invoker = Arc::new(ScriptedInvoker::new(replies));
    let (mut context, mut messages) = follow(&invoker, card, cached);
    let report = block_on(context.compact(&mut messages, &FORCE));
    assert!(report.is_changed(), "{report}");
    (invoker, report)
}

/// Returns the number of sent turns that are those of the session; the request follows them.
fn n_shared(invoker: &ScriptedInvoker, nth: usize) -> usize {
    let turns: Vec<_> = session().into_iter().map(message_to_turn).collect();
    let sent = &invoker.requests()[nth].0.turns;
    assert!(sent[..sent.len() - 1].iter().eq(&turns[..sent.len() - 1]), "a prefix of the session");
    sent.len() - 1
}

#[test]
fn the_cached_conversation_is_sent_again_up_to_the_cut() {
    let (invoker, report) = compacted(vec![Script::says(good_reply("port it"))], card(200_000), 14_000);
    assert_eq!(report.digest, Some(DigestSource::Model { cut_off: false }), "{report}");
    let (conversation, options) = &invoker.requests()[0];
    assert_eq!((&conversation.system, options.prompt_cache), (&head().system, true));
    assert_eq!(options.thinking, Some(ThinkingLevel::Low));
    assert_eq!(n_shared(&invoker, 0), report.cut);
    let costs = report.ask_costs.unwrap();
    assert!(costs.is_cached() && costs.cached.cache_read_tokens == Some(14_000), "{costs}");
    assert!(report.to_string().contains("; asked behind the conversation "), "{report}");
}

#[test]
fn a_background_digest_continues_the_conversation_too() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let invoker = Arc::new(ScriptedInvoker::new([Script::says(good_reply("port it"))]));
    let (mut context, mut messages) = follow(&invoker, card(200_000), 14_000);
    let report = runtime.block_on(async {
        assert!(context.start(&messages, &FORCE));
        context.wait().await;
        context.finish(&mut messages).unwrap()
    });
    assert!(report.ask_costs.unwrap().is_cached(), "{report}");
    assert_eq!(n_shared(&invoker, 0), report.cut);
}

#[test]
fn a_cold_or_empty_cache_costs_more_than_a_separate_prompt() {
    let (invoker, report) = compacted(vec![Script::says(good_reply("x"))], card(200_000), 0);
    assert!(
        !report.ask_costs.unwrap().is_cached() && report.to_string().contains("; asked by itself "),
        "{report}"
    );
    assert!(invoker.prompts()[0].contains("<scrollback>"));

    let invoker = Arc::new(ScriptedInvoker::new([Script::says(good_reply("x"))]));
    let (mut context, mut messages) = follow(&invoker, card(200_000), 14_000);
    context.mark_cache_cold();
    let report = block_on(context.compact(&mut messages, &FORCE));
    assert_eq!(report.ask_costs.unwrap().cached.cache_read_tokens, Some(0), "{report}");
    assert!(invoker.prompts()[0].contains("<scrollback>"));
}

#[test]
fn without_room_in_the_window_the_head_is_sent_by_itself() {
    let (invoker, report) = compacted(vec![Script::says(good_reply("x"))], card(51_000), 14_000);
    assert!(report.to_string().contains("; no room behind the conversation"), "{report}");
    assert!(invoker.prompts()[0].contains("<scrollback>"));
}

#[test]
fn nothing_is_weighed_without_prices_or_for_another_model() {
    let bare = ModelCard { prices: None, ..card(200_000) };
    let (_, report) = compacted(vec![Script::says(good_reply("x"))], bare, 14_000);
    assert_eq!(report.ask_costs, None);
    let invoker = Arc::new(ScriptedInvoker::new([Script::says(good_reply("x"))]));
    let (mut context, mut messages) = follow(&invoker, card(200_000), 14_000);
    let opts = CondenseOpts { model: Some("small".into()), ..FORCE };
    let report = block_on(context.compact(&mut messages, &opts));
    assert_eq!((report.ask_costs, invoker.requests()[0].1.model.as_deref()), (None, Some("small")));
}

#[test]
fn after_a_useless_reply_the_next_request_is_separate() {
    let replies = vec![Script::stops("I read on.", StopReason::ToolCalls), Script::says(good_reply("x"))];
    let invoker = Arc::new(ScriptedInvoker::new(replies));
    let (mut context, mut messages) = follow(&invoker, card(200_000), 14_000);
    let report = block_on(context.compact(&mut messages, &FORCE));
    assert_eq!(report.digest, Some(DigestSource::Local(NoDigest::CalledTools)), "{report}");
    assert!(report.to_string().contains("local digest: the model called a tool; asked behind"), "{report}");
    assert_eq!((report.n_requests, report.usage.input_tokens), (1, 100), "it is paid for");

    context.undo(&mut messages, report.undo.unwrap());
    let usage = Usage { output_tokens: 4, cache_read_tokens: Some(14_000), ..Usage::EMPTY };
    messages.extend(script("u a"));
    context.after_response(&messages, &usage);
    let report = block_on(context.compact(&mut messages, &FORCE));
    assert_eq!((report.ask_costs, &report.digest), (None, &Some(DigestSource::Model { cut_off: false })));
}

#[test]
fn instructions_of_one_compaction_reach_the_model_either_way() {
    for cached in [14_000, 0] {
        let invoker = Arc::new(ScriptedInvoker::new([Script::says(good_reply("x"))]));
        let (mut context, mut messages) = follow(&invoker, card(200_000), cached);
        let opts = CondenseOpts { instructions: Some("name each file".into()), ..FORCE };
        let report = block_on(context.compact(&mut messages, &opts));
        assert_eq!(report.ask_costs.unwrap().is_cached(), cached > 0);
        assert!(invoker.prompts()[0].ends_with("name each file"));
    }
}
