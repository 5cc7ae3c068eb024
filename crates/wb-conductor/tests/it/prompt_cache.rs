//! The stable part of a request.

use proptest::prelude::*;
use serde_json::json;
use wb_conductor::{PromptPrefix, StablePrefix};
use wb_message::prefix_fingerprint as fingerprint;
use wb_message::{Block, Message, Pairing};
use wb_testkit::{script, strategies};

use crate::support::{FORCE, call, condensed, window};

fn sent(state: &mut PromptPrefix, messages: &[Message]) -> usize {
    let prefix = state.stable_prefix(messages, true).expect("caching is on");
    assert_eq!(prefix.fingerprint, fingerprint(&messages[..prefix.messages]), "it can be checked");
    prefix.messages
}

#[test]
fn of_a_first_request_all_but_the_last_prompt_is_stable() {
    for (request, stable) in [("", 0), ("u", 0), ("s u", 1), ("s u a u", 3), ("u a:read t u", 3), ("s c", 2)]
    {
        assert_eq!(sent(&mut PromptPrefix::default(), &script(request)), stable, "{request}");
    }
    let mid_turn = script("u a u a:read t a:bash t");
    assert_eq!(sent(&mut PromptPrefix::default(), &mid_turn), 2, "what follows the prompt waits a request");
}

#[test]
fn the_prefix_grows_with_every_append_and_stays_until_a_compaction() {
    let mut state = PromptPrefix::default();
    let mut messages = script("s u*300");
    sent(&mut state, &messages);
    let mut earlier: Vec<StablePrefix> = Vec::new();
    for turn in 0..20 {
        let n_before = messages.len();
        messages.extend(call(&format!("c{turn}"), "bash", json!({"n": turn}), &"out ".repeat(50)));
        messages.extend(script("a*40 u*60"));
        let prefix = state.stable_prefix(&messages, true).unwrap();
        assert_eq!(prefix.messages, n_before, "all that was sent the turn before");
        for before in earlier.iter().copied() {
            assert_eq!(fingerprint(&messages[..before.messages]), before.fingerprint, "{turn}");
        }
        earlier.push(prefix);
    }
    let (mut after, report) = condensed(&messages, &window(20_000), &FORCE);
    assert!(report.is_changed());
    assert_eq!(sent(&mut state, &after), 1, "the digest stands behind the system text");
    let n_before = after.len();
    after.extend(script("a u"));
    assert_eq!(sent(&mut state, &after), n_before, "then it grows again");
}

#[test]
fn where_caching_is_off_nothing_is_reported_and_what_was_sent_is_forgotten() {
    let mut state = PromptPrefix::default();
    let messages = script("s u a u");
    assert_eq!(state.stable_prefix(&messages, false), None);
    sent(&mut state, &messages);
    assert_eq!(state.stable_prefix(&messages, false), None);
    assert_eq!(state, PromptPrefix::default());
    assert_eq!(sent(&mut state, &messages), 3, "as a first request");
}

#[test]
fn a_prefix_never_ends_between_a_call_and_its_result() {
    let mut state = PromptPrefix::default();
    let mut messages = script("s u a:read,bash t t u");
    sent(&mut state, &messages);
    messages[4] = Message::tool_result("other", "bash", "cleared");
    assert_eq!(sent(&mut state, &messages), 2, "the group that was changed is left out whole");
}

#[test]
fn the_same_request_again_is_stable_as_a_whole() {
    let mut state = PromptPrefix::default();
    let messages = script("s u a:read t");
    sent(&mut state, &messages);
    assert_eq!(sent(&mut state, &messages), messages.len());
    assert_eq!(sent(&mut state, &messages[..2]), 2, "one that was taken back too");
}

#[test]
fn a_change_of_a_single_byte_or_of_the_order_of_keys_ends_the_prefix() {
    let with = |input| {
        let [asked, answered] = call("c", "write", input, "ok");
        vec![Message::user("u"), asked, answered, Message::user("v"), Message::assistant("w")]
    };
    let before = with(json!({"path": "a", "body": {"x": 1, "y": [{"p": 1, "q": 2}]}}));
    for changed in [
        json!({"path": "b", "body": {"x": 1, "y": [{"p": 1, "q": 2}]}}),
        json!({"body": {"x": 1, "y": [{"p": 1, "q": 2}]}, "path": "a"}),
        json!({"path": "a", "body": {"x": 1, "y": [{"q": 2, "p": 1}]}}),
    ] {
        let mut state = PromptPrefix::default();
        sent(&mut state, &before);
        assert_eq!(sent(&mut state, &with(changed)), 1);
    }
    let nested = |output| {
        vec![
            Message::user("u"),
            Message::user(vec![Block::ToolResult { call_id: "c".to_owned(), output, is_error: None }]),
        ]
    };
    let mut state = PromptPrefix::default();
    sent(&mut state, &nested(json!({"a": 1, "b": 2})));
    assert_eq!(sent(&mut state, &nested(json!({"b": 2, "a": 1}))), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: wb_testkit::depth::cases(100), ..ProptestConfig::default() })]

    #[test]
    fn a_prefix_is_what_two_requests_share_up_to_a_legal_cut(
        before in strategies::transcript(),
        after in strategies::transcript(),
        n_kept in 0..40_usize,
    ) {
        let mut after = after;
        after.splice(0..0, before.iter().take(n_kept).cloned());
        let mut state = PromptPrefix::default();
        state.stable_prefix(&before, true);
        let n_stable = state.stable_prefix(&after, true).expect("caching is on").messages;
        prop_assert!(Pairing::new(&after).is_legal(n_stable));
        if !before.is_empty() {
            let n_same = before.iter().zip(&after).take_while(|(one, two)| one == two).count();
            prop_assert!(n_stable <= n_same);
            prop_assert!((n_stable + 1..=n_same).all(|cut| !Pairing::new(&after).is_legal(cut)));
        }
    }
}
