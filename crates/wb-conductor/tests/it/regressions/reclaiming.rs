//! WB1 to WB9: not reclaiming, or reclaiming nothing.

use std::sync::Arc;

use futures::executor::block_on;
use serde_json::json;
use wb_budget::{BudgetPolicy, ModelCard, budget_limit, estimate_message_tokens, estimate_tokens};
use wb_conductor::{
    Compactor, CondenseFn, CondenserDeps, DigestSource, Unchanged, WindowBudgetCondense, create_condenser,
};
use wb_invoke::ModelInvoker;
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_message::outline::outline;
use wb_message::{Message, Turn};
use wb_testkit::{laws, script, script_turns};

use crate::support::{
    AUTO, FORCE, call, condensed, files_of, good_reply, keep, lines, model, window, words_of_model,
};

/// A window of 100 000 has a limit of 73 464 tokens under the seed's policy.
const WINDOW: u64 = 100_000;

/// Condenses and checks that it landed at or under its target.
fn fits(messages: &[Message]) -> Vec<Message> {
    let (after, report) = condensed(messages, &window(WINDOW), &AUTO);
    assert!(report.irreducible.is_none(), "{report}");
    assert!(report.tokens_after <= 73_464 * 7 / 8, "{report}");
    laws::no_loose_ends(&after);
    after
}

/// [S1, S1b] 106 796 tokens, the last message 6 006 of them; published: the input comes back.
#[test]
fn wb1_one_big_last_message_does_not_disable_the_automatic_path() {
    for last in [6_000, 5_994] {
        let messages = script(&format!("[u*500 a*500]x100 u*{last}"));
        let after = fits(&messages);
        assert_eq!(after.len(), 2, "{}", outline(&after));
        laws::tail_identical(&messages, &after, 1);
    }
}

/// [S2, S2b] Exactly when a huge tool output just arrived, alone or in a batch.
#[test]
fn wb1_nor_does_a_huge_tool_result_or_a_trailing_batch() {
    let single = script("[u*500 a*500]x100 u\"run it\" a:bash#big t*7000");
    let after = fits(&single);
    laws::tail_identical(&single, &after, 2);
    let batch = script("[u*500 a*500]x100 u\"read\" a:read,read,read,read t*2500 t*2500 t*2500 t*2500");
    let after = fits(&batch);
    laws::tail_identical(&batch, &after, 5);

    // A prompt larger than the whole budget is shortened in the middle, with a mark.
    let giant = script("[u*500 a*500]x100 u\"run it\" a:bash t*90000");
    let (after, report) = condensed(&giant, &window(WINDOW), &AUTO);
    assert_eq!(report.previewed, [202], "{report}");
    assert!(report.irreducible.is_none() && report.tokens_after <= 64_281, "{report}");
    laws::no_loose_ends(&after);
}

/// [S5] Window 8 000, limit 4 464, `keep_recent` 6 000: 5 620 tokens were over budget and were
/// never cut.
#[test]
fn wb2_the_tail_is_scaled_to_the_window() {
    let messages = script("[u*275 a*275]x10");
    assert_eq!(estimate_tokens(&messages), 5_620);
    let (after, report) = condensed(&messages, &window(8_000), &AUTO);
    assert!(report.tokens_after <= 4_464 * 7 / 8, "{report}");
    assert!(report.cut > 0 && after.len() < messages.len());
    let tail: u64 = messages[report.cut..].iter().map(estimate_message_tokens).sum();
    assert!(tail <= 4_464 / 2, "the tail takes at most half of the limit: {tail}");
}

/// [S6] Window 10 000, limit 5 964: 6 calls in 6 turns, four of which changed nothing.
#[test]
fn wb3_a_condensed_session_is_well_below_the_next_trigger() {
    let invoker = model(Script::says(good_reply("port it")));
    let settings = window(10_000).summarizer(invoker.clone());
    let mut messages = script("[u*300 a*300]x10");
    let mut changed = Vec::new();
    for _ in 0..12 {
        messages.extend(script("u*150 a*150"));
        let n_before = invoker.requests().len();
        let (after, report) = condensed(&messages, &settings, &AUTO);
        assert_eq!(invoker.requests().len() > n_before, report.is_changed(), "every call helps: {report}");
        if report.is_changed() {
            assert!(report.tokens_after < report.tokens_before);
            assert!(report.tokens_after <= 5_964 * 7 / 8, "{report}");
        }
        changed.push(report.is_changed());
        messages = after;
    }
    let n_changed = changed.iter().filter(|changed| **changed).count();
    assert!(changed[0] && n_changed <= 2, "2 400 tokens later it runs again at the earliest: {changed:?}");
}

/// [M7, M7b] 21 → 48 tokens on a small session, 21 → 27 803 with a long-winded model.
#[test]
fn wb4_a_result_that_is_not_lighter_in_tokens_is_never_taken() {
    let messages = script("u a u a u");
    let replies = [Script::says(good_reply("x").repeat(1_000)), Script::Echo, Script::says(good_reply("x"))];
    for reply in replies {
        let invoker = model(reply);
        let settings = Compactor::new().summarizer(invoker.clone());
        let (after, report) = condensed(&messages, &settings, &FORCE);
        assert_eq!(after, messages, "{report}");
        assert_eq!(report.unchanged, Some(Unchanged::NotWorthIt { saves: 0 }));
        assert_eq!(invoker.requests().len(), 0, "no call is paid for a digest of two dozen tokens");
    }
}

/// [M7b] A reply of 100 000 characters is cut to the digest's share.
#[test]
fn wb4_a_reply_of_100_000_characters_is_capped() {
    let messages = script("[u*400 a*400]x10 u\"now\"");
    let reply = good_reply("x").repeat(900);
    assert!(reply.len() > 100_000);
    let (after, report) =
        condensed(&messages, &Compactor::new().summarizer(model(Script::says(reply))), &FORCE);
    assert_eq!(report.digest, Some(DigestSource::Model { cut_off: false }));
    assert!(report.digest_tokens <= 2_000, "{report}");
    assert!(words_of_model(&after).starts_with("# Objective\n- x\n"));
}

/// [R3] A restored file of 400 000 characters: 111 173 → 111 178 tokens.
#[test]
fn wb4_a_giant_restored_file_is_clipped() {
    let mut messages = script("u\"read the log\"");
    messages.extend(call("r", "read", json!({"path": "/var/log/app"}), &lines("log", 8_400)));
    messages.extend(script("u\"and now?\""));
    assert!(estimate_tokens(&messages) > 100_000);
    let (after, report) = condensed(&messages, &window(128_000), &FORCE);
    assert!(report.tokens_after <= 8_000 + 2_000 + 100, "{report}");
    let files = files_of(&after);
    assert_eq!(files[0].0, "/var/log/app");
    assert!(files[0].1.starts_with("log 0000") && files[0].1.contains("[… clipped …]"));
    assert!(files[0].1.trim_end().ends_with("log 8399: the quick brown fox jumps over it all"));
}

/// [C1] Clearing ten results that say `ok` raised 310 tokens to 346.
#[test]
fn wb4_clearing_short_results_is_never_a_loss() {
    let messages = script("u [a:edit t\"ok\"]x16");
    let (after, report) = condensed(&messages, &Compactor::new().policy(keep(50)), &FORCE);
    assert!(report.cleared.is_empty(), "{report}");
    assert!(report.tokens_after <= report.tokens_before && after.len() <= messages.len());
}

/// [C5] A giant last turn: 111 143 → 111 169 tokens.
#[test]
fn wb5_force_with_a_giant_last_turn_reclaims_what_can_be_had() {
    let messages = script("u*400 a*400 u\"read all\" [a:read t*5500]x20");
    let (after, report) = condensed(&messages, &window(WINDOW), &FORCE);
    assert!(report.tokens_after <= 64_281 && report.irreducible.is_none(), "{report}");
    laws::no_loose_ends(&after);
}

/// [C3] One user turn with 20 reads of 20 000 characters: the saving was computed and thrown away.
#[test]
fn wb5_force_with_one_user_turn_keeps_what_clearing_saves() {
    let messages = script("u\"read all\" [a:read t*5500]x20");
    let (after, report) = condensed(&messages, &Compactor::new(), &FORCE);
    assert_eq!(report.cleared, (0..14).map(|n| 2 + 2 * n).collect::<Vec<_>>(), "{report}");
    assert_eq!((after.len(), report.cut), (messages.len(), 0));
    assert!(report.tokens_after < 36_000, "{report}");
}

/// [F1] After an automatic cut `/compact` folded one message and re-created it: 5 070 → 5 093.
#[test]
fn wb6_digests_and_restored_files_are_no_user_turns() {
    for text in ["d*200 r(src/a.rs)*300 a*100 a*100", "u*300 a d*200 r(src/a.rs)*300 a*100"] {
        let messages = script(text);
        let (after, report) = condensed(&messages, &Compactor::new(), &FORCE);
        assert_eq!(after, messages, "{report}\n{}", outline(&after));
    }
    let messages = script("u*30 a*900 u\"last words\" a d*200 r(src/a.rs)*300");
    let (after, report) = condensed(&messages, &Compactor::new(), &FORCE);
    assert_eq!(report.cut, 2, "the last prompt is the user's: {}", outline(&after));
    laws::tail_identical(&messages, &after, 4);
}

/// [B7, S9w, S9] One model call, and the input came back: every head of one turn, also one of 40
/// 000 characters.
#[test]
fn wb7_no_call_is_paid_for_a_result_that_is_thrown_away() {
    let deps = |invoker: &Arc<ScriptedInvoker>| CondenserDeps {
        invoke: Some(invoker.clone()),
        ..CondenserDeps::default()
    };
    let invoker = model(Script::says(good_reply("x")));
    let small = vec![Turn::user("one"), Turn::user("two")];
    let engine = WindowBudgetCondense::new(deps(&invoker));
    assert_eq!(block_on(engine.condense(small.clone(), FORCE)), small);
    let one = script_turns("u*11111 u\"two\"");
    assert_eq!(block_on(engine.condense(one.clone(), FORCE)), one, "a digest would be as many turns");
    assert_eq!(invoker.requests().len(), 0);

    let big = script_turns("u*5555 a*5555 u\"two\"");
    let after = block_on(engine.condense(big.clone(), FORCE));
    assert_eq!(invoker.requests().len(), 1);
    assert_eq!((after.len(), &after[1]), (2, &big[2]));
    let Turn::User { blocks } = &after[0] else { panic!("a digest") };
    assert!(blocks[0].as_text().is_some_and(|text| text.len() < 2_000), "{blocks:?}");
}

/// [S9] The bare condenser takes the same session from 11 152 tokens to 75.
#[test]
fn wb7_the_bare_condenser_does_the_same() {
    let condenser = create_condenser(CondenserDeps {
        card: Some(ModelCard::with_window(10_000)),
        policy: Some(keep(20)),
        ..CondenserDeps::default()
    });
    let one = script("u*11111 u\"two\"");
    assert_eq!(block_on(condenser(one.clone())), one, "a digest would be as many messages");
    let messages = script("u*5555 a*5555 u\"two\"");
    let after = block_on(condenser(messages.clone()));
    assert!(estimate_tokens(&after) <= 5_964 * 7 / 8, "{}", outline(&after));
    laws::tail_identical(&messages, &after, 1);
    let bare = create_condenser(CondenserDeps::default());
    assert_eq!(block_on(bare(messages.clone())), messages, "without a card there is no window");
}

/// [M6, M6'] 300 messages gave one prompt of 1 082 634 characters, one tool body of 2 MB went in
/// whole.
#[test]
fn wb8_the_summarizers_input_is_fitted_to_its_window() {
    for (messages, least) in
        [(script("[u*1000]x300 u\"now\""), 2), (script("u\"run\" a:bash t*550000 u\"now\""), 1)]
    {
        let card = ModelCard::with_window(64_000);
        let invoker = Arc::new(ScriptedInvoker::new([Script::says(good_reply("x"))]).with_card(card));
        let settings = Compactor::new().summarizer(invoker.clone() as Arc<dyn ModelInvoker>);
        let (_, report) = condensed(&messages, &settings, &FORCE);
        assert_eq!(report.digest, Some(DigestSource::Model { cut_off: false }), "{report}");
        let prompts = invoker.prompts();
        assert!(prompts.len() >= least && report.n_requests == prompts.len(), "{report}");
        for (prompt, (conversation, options)) in prompts.iter().zip(invoker.requests()) {
            let sent = prompt.len() + conversation.system.map_or(0, |system| system.len());
            assert!(sent * 10 / 36 + 3_000 <= 64_000, "{sent} bytes");
            assert!(prompt.contains("at most about 1000 words"), "2 000 tokens are for the digest");
            assert_eq!(options.max_output_tokens, Some(3_000), "the reply is capped above that");
        }
    }
}

/// [R6, R6b] The first file that did not fit ended the list; an oversize freshest one blocked all
/// others.
#[test]
fn wb9_a_file_that_does_not_fit_makes_room_for_smaller_ones() {
    let read = |path: &str, n_lines| call(path, "read", json!({"path": path}), &lines(path, n_lines));
    let mut messages = script("u*14000");
    for (path, n_lines) in [("/small.rs", 5), ("/large.rs", 400), ("/fresh.rs", 20)] {
        messages.extend(read(path, n_lines));
    }
    messages.extend(script("u\"now\""));
    let (after, _) = condensed(&messages, &Compactor::new(), &FORCE);
    let paths: Vec<_> = files_of(&after).into_iter().map(|(path, _)| path.to_owned()).collect();
    assert_eq!(paths, ["/small.rs", "/large.rs", "/fresh.rs"], "7 700 tokens fit into 8 000");

    messages.truncate(messages.len() - 1);
    messages.extend(script("a:read(/larger.rs) t*3000 u\"now\""));
    let policy = BudgetPolicy { reserve_tokens: None, ..keep(500) };
    let card = ModelCard::with_window(16_000);
    assert!(budget_limit(&card, &policy) > 11_999.0);
    let (after, _) = condensed(&messages, &Compactor::new().card(card).policy(policy), &AUTO);
    let paths: Vec<_> = files_of(&after).into_iter().map(|(path, _)| path.to_owned()).collect();
    assert_eq!(paths, ["/small.rs", "/fresh.rs", "/larger.rs"], "the freshest first, then what still fits");
}
