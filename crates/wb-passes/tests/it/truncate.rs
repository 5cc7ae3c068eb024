//! Truncation: dropped and kept messages, and a stable cut while a transcript grows.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use wb_budget::{Irreducible, estimate_tokens};
use wb_message::markers::{
    Visibility, conversation_summary, digest_body, is_dropped_mark, is_pinned, visibility,
};
use wb_message::{Block, Message, Origin, Pairing, last_prompt_start};
use wb_passes::{INTERRUPTED, OversizedResult, Repair, STEPS_PER_TARGET, Truncate};
use wb_testkit::workload::{Script, transcript};
use wb_testkit::{pass_laws, script, strategies};

fn keep(min_recent_messages: usize) -> Truncate {
    Truncate { min_recent_messages }
}

/// Returns the indices of the kept messages.
fn kept_indices(pass: Truncate, messages: &[Message], target_tokens: u64) -> Vec<usize> {
    let patch = pass_laws::plan(&pass, messages, target_tokens).unwrap_or_default();
    patch.origins(messages.len()).into_iter().filter_map(Origin::input_index).collect()
}

fn counts(message: &Message) -> bool {
    !is_pinned(message) && visibility(message) == Visibility::All
}

proptest! {
    #![proptest_config(ProptestConfig { cases: wb_testkit::depth::cases(400), ..ProptestConfig::default() })]

    #[test]
    fn truncation_keeps_the_laws(
        messages in strategies::transcript(),
        min_recent in prop_oneof![0..3_usize, 3..30_usize, Just(usize::MAX)],
        target_tokens in prop_oneof![Just(0), 1..500_u64, 500..5_000_u64, 5_000..60_000_u64, Just(u64::MAX)],
    ) {
        let after = pass_laws::all(&keep(min_recent), &messages, target_tokens);
        let kept = kept_indices(keep(min_recent), &messages, target_tokens);
        let n_marks = after.iter().filter(|message| is_dropped_mark(message)).count();
        prop_assert!(after.len() - kept.len() <= n_marks.min(1), "only a mark is added");
        let n_counted = messages.iter().filter(|message| counts(message)).count();
        let recent = (0..messages.len()).rev().filter(|&at| counts(&messages[at])).take(min_recent.min(n_counted));
        let in_flight = Pairing::new(&messages).in_flight();
        for at in recent.chain(last_prompt_start(&messages)).chain(in_flight) {
            prop_assert!(kept.binary_search(&at).is_ok(), "message {} must stay", at);
        }
        if estimate_tokens(&messages) <= target_tokens {
            prop_assert_eq!(after.len(), messages.len());
        }
        let is_digest = |message: &Message| digest_body(message).is_some();
        let n_digests = |messages: &[Message]| messages.iter().filter(|m| is_digest(m)).count();
        if n_digests(&after) < n_digests(&messages) {
            let complete = pass_laws::plan(&keep(min_recent), &after, 0).unwrap_or_default();
            let stays = complete.origins(after.len());
            let goes = (0..after.len()).filter(|&at| !stays.contains(&Origin::Kept(at)));
            for at in goes {
                prop_assert!(is_digest(&after[at]), "a digest went before message {}", at);
            }
        }
    }
}

/// Returns the lengths at which the cut moves while a transcript grows message by message.
fn cuts(pass: Truncate, messages: &[Message], target_tokens: u64) -> Vec<usize> {
    let mut changes = Vec::new();
    let mut before: Vec<usize> = Vec::new();
    for n in 1..=messages.len() {
        let now = kept_indices(pass, &messages[..n], target_tokens);
        if !now.starts_with(&before) {
            changes.push(n);
        }
        before = now;
    }
    changes
}

/// Returns how often the cut may move: once for each step of the dropped weight.
fn n_steps(messages: &[Message], target_tokens: u64) -> u64 {
    estimate_tokens(messages).saturating_sub(target_tokens).div_ceil(target_tokens / STEPS_PER_TARGET)
}

#[test]
fn the_cut_of_a_long_transcript_moves_once_per_step() {
    let (messages, target_tokens) = (transcript(700, Script::Latin), 60_000);
    let changes = cuts(Truncate::default(), &messages, target_tokens);
    let n_steps = n_steps(&messages, target_tokens);
    assert!(n_steps > 20 && changes.len() as u64 <= n_steps, "{} of {n_steps}", changes.len());
    let n_over = messages.len() - changes[0];
    assert!(n_over > 12 * changes.len(), "{} changes over {n_over} messages", changes.len());
}

/// Builds turns of rounds; a pair is the number of calls in a round and the tokens of its bodies.
fn grown(turns: &[Vec<(usize, usize)>]) -> Vec<Message> {
    let mut messages = vec![Message::custom("system", "be kind")];
    for rounds in turns {
        messages.push(Message::user("and then?"));
        for (n_calls, n_tokens) in rounds {
            let id = |nth: usize| format!("call_{}", nth % 2);
            let call = |nth: usize| Block::call(id(nth), "read", json!({ "path": "a.rs" }));
            messages.push(Message::assistant_blocks((0..*n_calls).map(call).collect()));
            let body = "word ".repeat(*n_tokens);
            messages.extend((0..*n_calls).map(|nth| Message::tool_result(id(nth), "read", body.as_str())));
        }
        messages.push(Message::assistant("done"));
    }
    messages
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_growing_transcript_is_cut_once_for_each_step(
        turns in vec(vec((0..4_usize, 1..60_usize), 0..4), 20..50),
        min_recent in 0..12_usize,
    ) {
        let (messages, target_tokens) = (grown(&turns), 3_000);
        let n_changes = cuts(keep(min_recent), &messages, target_tokens).len() as u64;
        let n_steps = n_steps(&messages, target_tokens);
        prop_assert!(n_changes <= n_steps, "{} changes in {} steps", n_changes, n_steps);
    }
}

#[test]
fn the_oldest_goes_and_no_more_than_a_step_takes() {
    let messages = script("u*100 [a*100 u*100]x20 a*100");
    let total = estimate_tokens(&messages);
    for target_tokens in [800, 1_600, 3_200] {
        let after = pass_laws::all(&keep(2), &messages, target_tokens);
        let tokens = estimate_tokens(&after);
        assert!(tokens <= target_tokens && total > target_tokens);
        let least = target_tokens - target_tokens / STEPS_PER_TARGET - 120;
        assert!(tokens > least, "{tokens} are too few for {target_tokens}");
        let n_marks = usize::from(is_dropped_mark(&after[0]));
        assert_eq!(after[n_marks..], messages[messages.len() - after.len() + n_marks..]);
    }
}

#[test]
fn system_texts_stay_at_any_position() {
    let messages = script("s u*200 s a*200 u*200 s a*200 u");
    assert_eq!(kept_indices(keep(2), &messages, 300), [0, 2, 5, 6, 7]);
}

#[test]
fn trailing_notes_do_not_count_as_recent_messages() {
    let mut messages = script("u*300 a*300 u a s");
    messages.push(Message::custom("internal", "reminder"));
    assert_eq!(kept_indices(keep(2), &messages, 100), [2, 3, 4, 5]);
}

#[test]
fn the_latest_prompt_stays_through_a_long_turn() {
    let messages = script("u*50 a*50 u\"the task\" [a:read t*100]x200 a");
    let stays = kept_indices(keep(3), &messages, 2_000);
    assert_eq!(stays[0], 2);
    assert!(stays[1] > 300 && stays.len() > 10, "{stays:?}");
}

#[test]
fn the_latest_prompt_stays_even_without_room() {
    let messages = script("u a u*400");
    assert_eq!(kept_indices(keep(0), &messages, 40), [2]);
    let reached = estimate_tokens(&pass_laws::all(&keep(0), &messages, 40));
    assert!(Irreducible::from_weights(40, reached).is_some());
}

#[test]
fn a_mark_precedes_a_reply_after_an_empty_note() {
    let mut messages = script("u*300 a*300 a u");
    messages.insert(2, Message::custom("meta", " "));
    let after = pass_laws::all(&keep(3), &messages, 100);
    assert!(is_dropped_mark(&after[0]), "{after:?}");
    assert_eq!(after[1..], messages[2..]);
}

#[test]
fn calls_in_flight_stay_with_the_results_that_came() {
    let messages = script("u*200 a*200 a:bash,read t*50 u b*200 u");
    assert_eq!(kept_indices(keep(0), &messages, 10), [2, 3, 6]);
}

#[test]
fn a_group_of_parallel_results_is_dropped_as_a_whole() {
    let messages = script("u a:read,read,read t*10000 t*10000 t u a");
    assert_eq!(kept_indices(keep(1), &messages, 100), [5, 6]);
}

#[test]
fn big_parallel_results_that_must_stay_fit_after_previews() {
    let messages = script("u a:read,read,read t*10000 t*10000 t");
    let whole = pass_laws::all(&keep(1), &messages, 1_500);
    assert_eq!(whole, messages, "the last result keeps its group");
    assert!(Irreducible::from_weights(1_500, estimate_tokens(&whole)).is_some());
    let previewed = pass_laws::all(&OversizedResult::default(), &messages, 1_500);
    assert!(estimate_tokens(&previewed) <= 1_500);
}

#[test]
fn a_result_far_from_its_call_keeps_only_its_group() {
    let messages = script("u a:bash,read t [u*100 a*100]x10 t u a");
    assert_eq!(kept_indices(keep(3), &messages, 60), [1, 2, 23, 24, 25]);
}

#[test]
fn a_run_of_orphans_does_not_keep_the_history() {
    let messages = script("t#x*100 t#y*100 t#z*100 u a");
    assert_eq!(kept_indices(keep(2), &messages, 50), [3, 4]);
}

#[test]
fn digests_and_summaries_go_last_and_the_oldest_first() {
    let mut messages = script("k*100 d*100 u*100 a*100 u*100 a*100 u a");
    messages.insert(2, conversation_summary(&"older still ".repeat(30)));
    let tokens = |places: &[usize]| places.iter().map(|&at| estimate_tokens(&messages[at..=at])).sum::<u64>();
    let all = tokens(&[0, 1, 2, 7, 8]);
    assert_eq!(kept_indices(keep(2), &messages, all), [0, 1, 2, 7, 8]);
    assert_eq!(kept_indices(keep(2), &messages, all - 1), [1, 2, 7, 8]);
    assert_eq!(kept_indices(keep(2), &messages, 0), [7, 8]);
}

#[test]
fn a_truncated_and_repaired_transcript_has_no_loose_ends() {
    let messages = script("u*100 t#x a:write*9000 u a:bash,read t#c2 u a:grep");
    let mut after = pass_laws::all(&keep(4), &messages, 1_000);
    assert!(estimate_tokens(&after) <= 1_000, "the arguments of a call weigh too");
    Repair { in_flight: true, ..Repair::default() }.repair(&mut after);
    wb_testkit::laws::no_loose_ends(&after);
    let answered = after.iter().filter(|m| m.blocks().iter().any(|b| b.as_text() == Some(INTERRUPTED)));
    assert_eq!(answered.count(), 2);
}
