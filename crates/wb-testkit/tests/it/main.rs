//! The generators keep their promises, and the laws hold for unchanged transcripts.

mod workload;

use std::cell::RefCell;
use std::collections::HashSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use wb_message::markers::{is_cleared, is_pinned, is_synthetic};
use wb_message::{Block, Message, Pairing, Turn};
use wb_testkit::{laws, strategies, to_turns};

/// Draws `n` values, the same on every run.
fn sample<S: Strategy>(strategy: S, n: usize) -> Vec<S::Value> {
    let mut runner = TestRunner::deterministic();
    (0..n).map(|_| strategy.new_tree(&mut runner).expect("a value").current()).collect()
}

fn ids_repeat(messages: &[Message]) -> bool {
    let mut seen = HashSet::new();
    messages.iter().flat_map(Message::calls).any(|(id, _, _)| !seen.insert(id))
}

fn chars(messages: &[Message]) -> usize {
    format!("{messages:?}").chars().count()
}

#[test]
fn wild_transcripts_contain_all_documented_cases() {
    let all = sample(strategies::transcript(), 600);
    let some = |what: &str, found: &dyn Fn(&[Message]) -> bool| {
        let n = all.iter().filter(|messages| found(messages)).count();
        assert!(n >= 3, "{what}: {n} of {}", all.len());
    };
    let any = |found: fn(&Message) -> bool| move |m: &[Message]| m.iter().any(found);
    let block =
        |found: fn(&Block) -> bool| move |m: &[Message]| m.iter().flat_map(Message::blocks).any(found);
    some("orphans", &|m| !Pairing::new(m).orphans().is_empty());
    some("calls in flight", &|m| Pairing::new(m).in_flight().is_some());
    some("dangling calls", &|m| Pairing::new(m).dangling().len() > 3);
    some("double results", &|m| Pairing::new(m).pairs().iter().any(|pair| pair.repeated));
    some("parallel calls", &any(|m| m.calls().count() > 2));
    some("repeated ids", &ids_repeat);
    some("empty contents", &any(|m| matches!(m, Message::ToolResult { content, .. } if content.is_empty())));
    some("images", &block(|b| matches!(b, Block::Image { .. })));
    some("signatures", &block(|b| matches!(b, Block::Thinking { signature: Some(_), .. })));
    some("nested results", &block(Block::is_tool_result));
    some("cleared results", &any(|m| is_cleared(m.blocks())));
    some("digests and restored files", &any(is_synthetic));
    some("a pinned text in the middle", &|m| m.iter().skip(3).any(is_pinned));
    some("failed requests", &any(|m| matches!(m, Message::Assistant { error_message: Some(_), .. })));
    some("huge messages", &|m| chars(m) > 20_000);
    some("empty transcripts", &<[Message]>::is_empty);
    some("texts that imitate the user", &|m| format!("{m:?}").contains("» you:"));
}

#[test]
fn transcripts_have_a_moderate_length() {
    for (name, all) in [
        ("wild", sample(strategies::transcript(), 300)),
        ("valid", sample(strategies::valid_transcript(), 300)),
    ] {
        let mean = all.iter().map(Vec::len).sum::<usize>() / all.len();
        assert!((10..40).contains(&mean), "{name}: {mean} messages on average");
        assert!(all.iter().all(|messages| messages.len() < 200), "{name}: too long");
    }
}

#[test]
fn failures_shrink_to_a_few_messages() {
    let smallest = RefCell::new(Vec::new());
    let mut runner = TestRunner::deterministic();
    let failed = runner.run(&strategies::transcript(), |messages| {
        let broken = Pairing::new(&messages).pairs().iter().any(|pair| pair.repeated);
        prop_assert!(!broken, "a double result");
        Ok(())
    });
    if let Err(proptest::test_runner::TestError::Fail(_, messages)) = failed {
        smallest.replace(messages);
    }
    let smallest = smallest.into_inner();
    assert!((3..=4).contains(&smallest.len()), "{}", wb_message::outline::outline(&smallest));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: wb_testkit::depth::cases(128), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_transcript_keeps_the_laws_with_itself(messages in strategies::transcript()) {
        laws::pairs_intact(&messages, &messages);
        laws::order_preserved(&messages, &messages);
        laws::pinned_untouched(&messages, &messages);
        laws::tail_identical(&messages, &messages, messages.len());
    }

    #[test]
    fn a_legal_cut_breaks_no_pair(messages in strategies::transcript(), at in any::<prop::sample::Index>()) {
        let pairing = Pairing::new(&messages);
        if let Some(cut) = pairing.legal_at_or_before(at.index(messages.len() + 1)) {
            laws::pairs_intact(&messages, &messages[cut..]);
        }
    }

    #[test]
    fn legal_patches_keep_the_laws((messages, patch) in strategies::transcript_with_patch()) {
        laws::patch_laws(&messages, &patch);
    }

    #[test]
    fn transcripts_survive_a_round_trip_through_json(messages in strategies::transcript()) {
        let json = serde_json::to_string(&messages).expect("messages are JSON");
        prop_assert_eq!(serde_json::from_str::<Vec<Message>>(&json).expect("messages"), messages);
    }

    #[test]
    fn valid_transcripts_start_with_the_user_and_have_no_loose_ends(messages in strategies::valid_transcript()) {
        laws::no_loose_ends(&messages);
        prop_assert_eq!(Pairing::new(&messages).in_flight(), None);
        prop_assert!(!ids_repeat(&messages));
        let first = messages.iter().find(|m| !matches!(m, Message::Custom { .. }));
        prop_assert!(first.is_none_or(|m| matches!(m, Message::User { .. })), "a user message comes first");
        for text in messages.iter().flat_map(Message::blocks).filter_map(Block::as_text) {
            prop_assert!(!text.trim().is_empty());
        }
    }

    #[test]
    fn tool_turns_answer_exactly_the_previous_turn(turns in strategies::turns()) {
        let calls = |turn: &Turn| turn.blocks().iter().filter(|b| matches!(b, Block::ToolCall { .. })).count();
        for pair in turns.windows(2) {
            if let Turn::Tool { blocks } = &pair[1] {
                prop_assert!(matches!(pair[0], Turn::Assistant { .. }), "results follow a reply");
                prop_assert_eq!(blocks.len(), calls(&pair[0]));
            } else {
                prop_assert_eq!(calls(&pair[0]), 0);
            }
        }
    }

    #[test]
    fn wild_turns_are_turns(turns in strategies::wild_turns()) {
        let json = serde_json::to_string(&turns).expect("turns are JSON");
        prop_assert_eq!(serde_json::from_str::<Vec<Turn>>(&json).expect("turns"), turns);
    }

    #[test]
    fn converting_to_turns_loses_no_result(messages in strategies::transcript()) {
        let turns = to_turns(&messages);
        let results = turns.iter().flat_map(Turn::blocks).filter(|block| block.is_tool_result()).count();
        prop_assert_eq!(results, messages.iter().map(|m| m.answered_ids().count()).sum::<usize>());
    }
}
