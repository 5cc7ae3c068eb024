//! WA1 to WA7, WA10: losing or corrupting the session.

use futures::executor::block_on;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use wb_budget::ModelCard;
use wb_conductor::{
    Compactor, CondenseFn, CondenseOpts, CondenserDeps, Unchanged, WindowBudgetCondense, compact_in_place,
    condense_transcript, message_to_turn, project,
};
use wb_invoke::scripted::Script;
use wb_message::markers::{CLEARED_TOOL_RESULT, DIGEST_HEADER, digest_body};
use wb_message::outline::outline;
use wb_message::{Block, Message, Pairing, Turn, last_prompt_start};
use wb_summarize::NoDigest;
use wb_testkit::{laws, script, script_turns};

use crate::support::{AUTO, FORCE, call, condensed, digest_of, good_reply, keep, lines, model, window};

/// Runs the pipeline on turns and returns them.
fn turns_after(deps: CondenserDeps, turns: &[Turn], force: bool) -> Vec<Turn> {
    let opts = if force { FORCE } else { AUTO };
    block_on(WindowBudgetCondense::new(deps).condense(turns.to_vec(), opts))
}

fn digest_turn(turn: &Turn) -> &str {
    match turn {
        Turn::User { blocks } => match blocks.as_slice() {
            [Block::Text { text }] if text.starts_with(DIGEST_HEADER) => text,
            other => panic!("not a digest: {other:?}"),
        },
        other => panic!("not the user's: {other:?}"),
    }
}

/// [B1] `/compact` right after a tool step.
#[test]
fn wa1_the_turn_bridge_keeps_calls_and_results_together() {
    let turns = script_turns("u*200 a*200 u\"fix it\" a:read#c1 t*50");
    let after = turns_after(CondenserDeps::default(), &turns, true);
    digest_turn(&after[0]);
    assert_eq!(after[1..], turns[2..], "the last prompt, the call and its result stay as they were");
}

/// [B3'] The automatic cut falls on a tool turn; published: the tail starts with an orphan.
#[test]
fn wa2_the_automatic_cut_does_not_start_with_an_orphan() {
    for text in ["u*900 a*900 u a:bash t*500 a*30", "u*900 a*900 u a:bash t*500"] {
        let turns = script_turns(text);
        let n = turns.len();
        // The tail may hold the result, but not the call as well.
        let deps = CondenserDeps { policy: Some(keep(560)), ..CondenserDeps::default() };
        let after = turns_after(deps, &turns, false);
        assert!(after.len() < n, "{text}: nothing was condensed");
        digest_turn(&after[0]);
        laws::no_loose_ends(&project(after.clone()).messages);
        assert_eq!(after[1..], turns[n + 1 - after.len()..], "the tail is the input's");
        assert!(!matches!(after[1], Turn::Tool { .. }));
    }
}

/// [B4] Kept tool turns came back as user turns, whose results the gateways drop.
#[test]
fn wa3_tool_turns_in_the_tail_keep_all_their_fields() {
    let mut turns = script_turns("u*30 a*1900 u a?\"both\":read#x,bash#y t*20 t!*20 a");
    let image = json!([{"kind": "image", "mediaType": "image/png", "dataBase64": "AAAA"}]);
    let Turn::Tool { blocks } = &mut turns[4] else { panic!("a tool turn") };
    blocks.push(Block::ToolResult { call_id: "x".into(), output: image, is_error: Some(false) });
    let after = turns_after(CondenserDeps::default(), &turns, true);
    digest_turn(&after[0]);
    assert_eq!(after[1..], turns[2..], "ids, flags, signatures and outputs that are no text survive");
}

/// [B6]
#[test]
fn wa4_a_tool_result_becomes_a_tool_turn_with_a_result_block() {
    let turn = message_to_turn(Message::tool_error("call_7", "bash", "exit 1"));
    let block = Block::ToolResult { call_id: "call_7".into(), output: json!("exit 1"), is_error: Some(true) };
    assert_eq!(turn, Turn::Tool { blocks: vec![block] });
}

/// [B5', B8] Three of five stages were dead behind the bridge.
#[test]
fn wa5_every_stage_works_on_turns() {
    let mut turns = vec![Turn::user("look around")];
    for n in 0..12 {
        let id = format!("c{n}");
        let call = Block::call(&id, "read", json!({"path": format!("src/f{n}.rs")}));
        turns.push(Turn::Assistant { blocks: vec![call] });
        let output = json!(lines(&format!("body of f{n}"), 40));
        turns.push(Turn::Tool { blocks: vec![Block::ToolResult { call_id: id, output, is_error: None }] });
    }
    turns.extend([Turn::assistant("read them all"), Turn::user("go on")]);
    let invoker = model(Script::says(good_reply("look around")));
    let engine =
        WindowBudgetCondense::with_settings(window(6_000).policy(keep(2_500)).summarizer(invoker.clone()));
    let mut after = turns.clone();
    let (report, undo) = block_on(engine.compact_in_place(&mut after, &AUTO));

    let sent = invoker.prompts().concat();
    assert!(sent.contains("» tool (read): body of f0 0000: the quick"), "{sent}");
    assert!(!report.restored.is_empty(), "{report}");
    assert!(after.len() < turns.len());
    undo.unwrap().revert(&mut after);
    assert_eq!(after, turns);

    // Without a prompt after the reads nothing can be folded, and clearing has to be enough.
    let engine = WindowBudgetCondense::with_settings(window(11_000));
    let (report, _) = block_on(engine.compact_in_place(&mut after, &AUTO));
    assert!(!report.cleared.is_empty(), "{report}");
    assert_eq!(after.len(), turns.len());
    let Turn::Tool { blocks } = &after[2] else { panic!("a tool turn") };
    let cleared = json!(CLEARED_TOOL_RESULT);
    assert_eq!(blocks, &[Block::ToolResult { call_id: "c0".into(), output: cleared, is_error: None }]);
}

/// A session of 8 371 tokens, as in [M1].
fn session() -> Vec<Message> {
    let mut messages = script("u\"port the importer, but never touch the API\" a*300");
    messages.extend(script("a:edit(src/import.rs) t*60 a:bash(cargo test) t!\"error[E0308]: mismatched\""));
    messages.extend(script("[u*900 a*900]x4 u\"latest words\" a*500 u\"and now?\""));
    messages
}

/// [M1, M2] A 429 turned the history into a stub that blames a missing model.
#[test]
fn wa6_a_failing_model_does_not_destroy_the_head() {
    let messages = session();
    let settings = window(8_000).policy(keep(1_000)).summarizer(model(Script::fails("429: slow down")));
    let (after, report) = condensed(&messages, &settings, &AUTO);
    let digest = digest_of(&after);
    for fact in [
        "port the importer",
        "never touch the API",
        "src/import.rs",
        "Stuck? cargo test: error[E0308]",
        "E0308",
    ] {
        assert!(digest.contains(fact), "{fact} is lost:\n{digest}");
    }
    assert_eq!(report.fallback_reason(), Some(&NoDigest::Failed("429: slow down".into())));
    assert!(report.to_string().ends_with("; local digest: the model failed: 429: slow down"), "{report}");
}

#[test]
fn wa6_a_cancel_returns_the_input() {
    let messages = session();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let invoker = model(Script::says(good_reply("port")));
    let settings = window(8_000).policy(keep(1_000)).summarizer(invoker.clone());
    let opts = CondenseOpts { cancel: Some(cancel), ..AUTO };
    let (after, report) = condensed(&messages, &settings, &opts);
    assert_eq!(report.unchanged, Some(Unchanged::Cancelled));
    assert_eq!(after, messages);
    assert_eq!(invoker.requests().len(), 0, "nothing is asked, nothing is paid");
}

/// [M8] The second compaction replaced the first digest by a count.
#[test]
fn wa7_an_earlier_digest_is_carried_without_a_model() {
    let (mut messages, _) = condensed(&session(), &window(8_000).policy(keep(1_000)), &AUTO);
    messages.extend(script("[u*700 a*700]x5"));
    let (after, report) = condensed(&messages, &window(8_000).policy(keep(1_000)), &AUTO);
    let digest = digest_of(&after);
    assert!(report.cut > 0);
    for fact in ["- First request: port the importer", "never touch the API", "src/import.rs", "E0308"] {
        assert!(digest.contains(fact), "{fact} is lost:\n{digest}");
    }
}

/// [M8b'] With a model the old digest went in as the user's words.
#[test]
fn wa7_an_earlier_digest_is_not_the_users_words() {
    let mut messages = vec![Message::user(format!("{DIGEST_HEADER}\n\n{}", good_reply("port the importer")))];
    messages.extend(script("u*900 a*900 u\"now\""));
    let invoker = model(Script::says(good_reply("port the importer")));
    let deps = CondenserDeps { invoke: Some(invoker.clone()), ..CondenserDeps::default() };
    let after = block_on(condense_transcript(&deps, messages, &FORCE));
    let prompt = &invoker.prompts()[0];
    let (carried, rest) = prompt.split_once("</carried-digest>").expect("a carried digest");
    assert!(carried.contains("<carried-digest>\n# Objective\n- port the importer\n"), "{prompt}");
    assert!(!rest.contains("port the importer") && !prompt.contains(DIGEST_HEADER), "{prompt}");
    assert_eq!(digest_of(&after), good_reply("port the importer"));
}

/// [M8c] The digest was the only dropped message, and was lost to a count of one.
#[test]
fn wa7_a_digest_alone_is_not_digested_again() {
    let messages = script("d*400 u\"go on\" a u*2000");
    for settings in [window(4_000).policy(keep(1_500)), window(4_000).summarizer(model(Script::Echo))] {
        let (after, _) = condensed(&messages[..1], &settings, &FORCE);
        assert_eq!(after, messages[..1]);
        let (after, report) = condensed(&messages[..2], &settings, &FORCE);
        assert_eq!(after, messages[..2], "{report}");
        assert_eq!((report.unchanged, report.n_requests), (Some(Unchanged::NothingToFold), 0));
    }
}

/// [S3] A cut at the steering message was legal, so result b stayed without its call.
#[test]
fn wa10_interleaved_results_stay_with_their_call() {
    let messages = script("u*40 a*1400 u a:bash#a,bash#b t*40#a u\"steer\" t*40#b a*20");
    let steer = 5;
    assert!(!Pairing::new(&messages).is_legal(steer));
    assert_eq!(last_prompt_start(&messages), Some(steer));
    let (after, report) = condensed(&messages, &window(1_000_000), &FORCE);
    assert_eq!(report.cut, 3, "the cut steps back before the call: {}", outline(&after));
    assert_eq!(after[1..], messages[3..]);
    for kept_tokens in [30, 60, 120, 200, 300] {
        let settings = Compactor::new().policy(keep(kept_tokens));
        let (after, report) = condensed(&messages, &settings, &AUTO);
        assert!(digest_body(&after[0]).is_some(), "{report}");
        laws::no_loose_ends(&after);
        assert!(!(4..7).contains(&report.cut), "{kept_tokens}: {}", outline(&after));
        assert_eq!(after[1..], messages[report.cut..]);
    }
}

#[test]
fn a_latest_request_too_long_for_a_digest_stays_verbatim() {
    let specification = lines("requirement", 60);
    let mut messages = vec![Message::user(specification.as_str())];
    for step in 0..300 {
        let id = format!("c{step}");
        messages.extend(call(&id, "mcp__x", json!({ "n": step }), &"output ".repeat(400)));
    }
    let settings = Compactor::new().card(ModelCard::with_window(200_000));
    let report = block_on(compact_in_place(&mut messages, &settings, &CondenseOpts::default()));
    assert_eq!(messages[0], Message::user(specification), "{report}");
    assert!(digest_body(&messages[1]).is_some(), "{report}");
    assert!(report.irreducible.is_none() && report.folded > 400, "{report}");
    let again = block_on(compact_in_place(&mut messages, &settings, &CondenseOpts::default()));
    assert!(!again.is_changed(), "{again}");
}
