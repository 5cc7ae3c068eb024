//! Requests to the model: which model, how much, in how many requests.

use std::sync::Arc;

use futures::executor::block_on;
use wb_budget::{ModelCard, Usage};
use wb_conductor::{CompactionReport, Compactor, CondenseOpts, DigestSource, compact_in_place};
use wb_invoke::ThinkingLevel;
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_message::Message;
use wb_message::markers::CLIP_MARK;
use wb_testkit::script;

use crate::support::{FORCE, condensed, digest_of, good_reply, model, words_of_model};

fn with_card(context_window: u64, replies: Vec<Script>) -> Arc<ScriptedInvoker> {
    Arc::new(ScriptedInvoker::new(replies).with_card(ModelCard::with_window(context_window)))
}

fn forced(messages: &[Message], invoker: &Arc<ScriptedInvoker>) -> (Vec<Message>, CompactionReport) {
    condensed(messages, &Compactor::new().summarizer(invoker.clone()), &FORCE)
}

#[test]
fn the_model_that_the_host_names_is_asked() {
    let invoker = model(Script::says(good_reply("x")));
    let settings = Compactor::new().summarizer(invoker.clone());
    for name in [Some("small-and-cheap".to_owned()), None] {
        let opts = CondenseOpts { model: name.clone(), ..FORCE };
        block_on(compact_in_place(&mut script("u*400 a*400 u\"now\""), &settings, &opts));
        let (conversation, options) = invoker.requests().pop().expect("it was asked");
        assert_eq!(options.model, name);
        assert_eq!(options.thinking, Some(ThinkingLevel::High));
        assert!(conversation.tools.is_none() && conversation.turns.len() == 1);
        assert_eq!(conversation.system.as_deref(), Some(wb_summarize::CONDENSER_BRIEF));
    }
}

#[test]
fn a_long_head_is_sent_in_parts_with_the_digest_so_far() {
    let replies = (0..200).map(|n| Script::says(good_reply(&format!("part {n}")))).collect();
    let invoker = with_card(16_000, replies);
    let messages = script("[u*1000]x100 u\"now\"");
    let (after, report) = forced(&messages, &invoker);
    let prompts = invoker.prompts();
    assert!(prompts.len() > 5, "{}", prompts.len());
    assert!(!prompts[0].contains("<carried-digest>"));
    for (nth, prompt) in prompts.iter().enumerate().skip(1) {
        let carried =
            format!("<carried-digest>\n{}\n</carried-digest>", good_reply(&format!("part {}", nth - 1)));
        assert!(prompt.contains(&carried), "request {nth}");
    }
    let all = prompts.concat();
    for nth in 0..100 {
        assert!(all.contains(&format!("» you: user {nth} ")), "message {nth} was not sent");
    }
    assert_eq!(words_of_model(&after), good_reply(&format!("part {}", prompts.len() - 1)));
    let n = prompts.len() as u64;
    assert_eq!(report.usage, Usage { input_tokens: 100 * n, output_tokens: 10 * n, ..Usage::EMPTY });
}

/// No prompt may exceed the summarizer's window minus the reply's room, at 2.5 bytes a token.
fn prompts_fit(invoker: &ScriptedInvoker, context_window: u64) {
    let requests = invoker.requests();
    assert!(!requests.is_empty(), "it was asked");
    for (prompt, (_, options)) in invoker.prompts().iter().zip(requests) {
        let reply = options.max_output_tokens.expect("a cap");
        let tokens = prompt.len() as u64 * 10 / 25;
        assert!(tokens + reply <= context_window, "{tokens} + {reply} > {context_window}");
    }
}

#[test]
fn an_answer_of_any_length_leaves_the_next_request_small() {
    let long = good_reply("x").repeat(3_000);
    for reply in [Script::says(long), Script::Echo] {
        let invoker = with_card(16_000, vec![reply]);
        forced(&script("[u*1000]x60 u\"now\""), &invoker);
        prompts_fit(&invoker, 16_000);
    }
}

#[test]
fn a_carried_digest_leaves_room_for_the_transcript() {
    let summary =
        format!("first words of it\n{}\nlast words of it", "an old fact of the session\n".repeat(40_000));
    let mut messages = vec![Message::CompactionSummary { summary, tokens_before: 0 }];
    messages.extend(script("u\"what is new\" a*400 u\"now\""));
    let invoker = with_card(16_000, vec![Script::says(good_reply("x"))]);
    let (_, report) = forced(&messages, &invoker);
    assert_eq!(report.digest, Some(DigestSource::Model { cut_off: false }), "{report}");
    prompts_fit(&invoker, 16_000);
    let prompt = &invoker.prompts()[0];
    assert!(prompt.contains("» you: what is new") && prompt.contains("first words of it"), "{prompt}");
}

#[test]
fn every_kind_of_giant_message_is_fitted() {
    let giant = "word ".repeat(100_000);
    let json = serde_json::json!({ "command": giant });
    let messages = [
        Message::user(giant.as_str()),
        Message::assistant(giant.as_str()),
        Message::assistant_blocks(vec![wb_message::Block::call("c", "bash", json)]),
        Message::tool_result("c", "bash", giant.as_str()),
        Message::bash(giant.as_str(), giant.as_str(), Some(0)),
        Message::custom("note", giant.as_str()),
        Message::assistant_blocks(vec![wb_message::Block::text(giant.as_str()); 30]),
        Message::user("now"),
    ];
    let invoker = with_card(32_000, vec![Script::says(good_reply("x"))]);
    forced(&messages, &invoker);
    prompts_fit(&invoker, 32_000);
    assert!(invoker.prompts()[0].contains(CLIP_MARK.trim()), "bodies keep their head and tail");
}

#[test]
fn the_reply_is_capped_in_the_request_and_in_the_result() {
    let messages = script("[u*40 a*760]x10 u\"now\"");
    let invoker = model(Script::says(good_reply("x").repeat(800)));
    let settings = Compactor::new().card(ModelCard::with_window(12_000)).summarizer(invoker.clone());
    let (after, report) = condensed(&messages, &settings, &FORCE);
    let cap = invoker.requests()[0].1.max_output_tokens.expect("a cap");
    assert!(cap / 3 * 2 <= 7_464 / 8, "an eighth of the limit and half as much again: {cap}");
    assert!(report.digest_tokens <= 7_464 / 8 + 7_464 / 4, "a quarter is for the user's words: {report}");
    assert!(words_of_model(&after).lines().all(|line| !line.contains("clipped")), "{}", digest_of(&after));
}
