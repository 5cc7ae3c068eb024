//! Asked behind the conversation that the digest is taken from.

use std::sync::Arc;

use futures::executor::block_on;
use wb_budget::{ModelCard, Prices, TokenHeuristic};
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_invoke::{StopReason, ThinkingLevel};
use wb_message::{Block, Conversation, ToolDescriptor, Turn};
use wb_summarize::{
    CachedConversation, CompactionConfig, CondenseScope, Cost, DigestRequest, ModelDigest, NoDigest,
    Summarizer,
};
use wb_testkit::script;

const GOOD: &str = "# Objective\n- port it\n# Carryover\nnone";

fn request(kept: &str) -> DigestRequest {
    let prior = Some("# Plan\n- an earlier plan".to_owned());
    DigestRequest::with_verbatim(&script("u a"), CondenseScope::Session, prior, kept.to_owned(), None, 500)
}

fn conversation() -> CachedConversation {
    let tool = ToolDescriptor {
        name: "read".into(),
        description: "Reads a file.".into(),
        parameters: serde_json::json!({"type": "object"}),
    };
    let turns = vec![Turn::user("Port it."), Turn::Assistant { blocks: vec![Block::text("Done.")] }];
    let conversation =
        Conversation { system: Some("You are an agent.".into()), turns, tools: Some(vec![tool]) };
    CachedConversation {
        conversation,
        thinking: Some(ThinkingLevel::Low),
        tokens: 20_000,
        cached_tokens: 19_000,
    }
}

fn ask_scripted(reply: Script) -> (Arc<ScriptedInvoker>, Result<ModelDigest, NoDigest>) {
    let invoker = Arc::new(ScriptedInvoker::new([reply]));
    let by = Summarizer::new(invoker.clone()).instructions(Some("name each file"));
    let mut cost = Cost::default();
    let digest = block_on(request("- kept: a line").ask_cached(&conversation(), &by, None, &mut cost));
    assert_eq!(cost.n_requests, 1);
    (invoker, digest)
}

#[test]
fn the_request_follows_the_unchanged_conversation() {
    let (invoker, digest) = ask_scripted(Script::says(GOOD));
    assert_eq!(digest.unwrap().text, GOOD);
    let (mut sent, options) = invoker.requests().pop().unwrap();
    let last = sent.turns.pop().unwrap();
    assert_eq!(sent, conversation().conversation, "system text, tools and turns");
    let Turn::User { blocks } = &last else { panic!("{last:?}") };
    let text = blocks[0].as_text().unwrap();
    assert!(text.contains("<kept>\n- kept: a line\n</kept>") && text.contains("never answer it"), "{text}");
    assert!(text.contains("# Objective\n# Guardrails") && text.ends_with("name each file"), "{text}");
    assert!(!text.contains("an earlier plan"), "that stands in the conversation: {text}");
    assert_eq!((options.thinking, options.prompt_cache), (Some(ThinkingLevel::Low), true));
    assert_eq!(options.max_output_tokens, Some(750));
}

#[test]
fn a_prompt_by_itself_is_kept_out_of_the_cache() {
    let invoker = Arc::new(ScriptedInvoker::new([Script::says(GOOD)]));
    let by = Summarizer::new(invoker.clone());
    block_on(request("").ask(&by, None, &mut Cost::default())).unwrap();
    assert!(!invoker.requests()[0].1.prompt_cache);
}

#[test]
fn a_model_that_calls_a_tool_has_written_no_digest() {
    let (_, digest) = ask_scripted(Script::stops(GOOD, StopReason::ToolCalls));
    assert_eq!(digest, Err(NoDigest::CalledTools));
    let (_, digest) = ask_scripted(Script::stops(" ", StopReason::ToolCalls));
    assert_eq!(digest, Err(NoDigest::CalledTools));
}

#[test]
fn replies_are_read_as_those_to_a_prompt_by_itself() {
    let (_, cut) = ask_scripted(Script::stops("# Objective\n- port it\n- and th", StopReason::MaxOutput));
    assert_eq!(cut, Ok(ModelDigest { text: "# Objective\n- port it".into(), cut_off: true }));
    for (reply, reason) in [
        (Script::says("I go on with the work."), NoDigest::MissingHeadings),
        (Script::stops(GOOD, StopReason::Refusal), NoDigest::Refused),
        (Script::fails("429"), NoDigest::Failed("429".into())),
    ] {
        assert_eq!(ask_scripted(reply).1, Err(reason));
    }
}

#[test]
fn costs_are_known_where_prices_are_and_one_model_does_both_with_our_prompts() {
    let by = Summarizer::new(ScriptedInvoker::new([]));
    let prices = Prices { input: 3.0, cached: 0.3, write: 3.75, output: 15.0, ..Prices::default() };
    let card = ModelCard { prices: Some(prices), ..ModelCard::with_window(200_000) };
    let costs = |by: &Summarizer, card: &ModelCard| {
        request("").ask_costs(&conversation(), by, card, &TokenHeuristic::DEFAULT)
    };
    let known = costs(&by, &card).unwrap();
    assert_eq!((known.cached.cache_read_tokens, known.cached.output_tokens), (Some(19_000), 750));
    assert!(known.separate.input_tokens > 200 && known.separate.cache_read_tokens.is_none());
    assert!(!known.is_cached(), "a short transcript is cheaper to send by itself: {known}");
    assert_eq!(costs(&by, &ModelCard::with_window(200_000)), None);
    assert_eq!(costs(&by.clone().model(Some("small".into())), &card), None);
    let config =
        CompactionConfig { summarizer_system_prompt: "Be short.".into(), ..CompactionConfig::default() };
    assert_eq!(costs(&by.configured(&config).unwrap(), &card), None);
}
