//! The laws of every pass, over transcripts that are made up.

use proptest::prelude::*;
use wb_budget::{estimate_message_tokens, estimate_tokens};
use wb_message::markers::{CLIP_MARK, is_cleared};
use wb_message::{Message, ToolVocabulary};
use wb_passes::{MIN_PREVIEW_BYTES, Microcompact, Preview};
use wb_testkit::{pass_laws, script, strategies};

fn vocabulary() -> impl Strategy<Value = ToolVocabulary> {
    let nothing = ToolVocabulary { tools: &[], path_keys: &[], part_keys: &[] };
    prop::sample::select(vec![
        ToolVocabulary::UNIVERSAL,
        ToolVocabulary::BASIC,
        ToolVocabulary::CLAUDE_CODE,
        nothing,
    ])
}

fn target() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1..500_u64, 500..5_000_u64, 5_000..60_000_u64, Just(u64::MAX)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn microcompact_keeps_the_laws(
        messages in strategies::transcript(),
        vocabulary in vocabulary(),
        keep_recent_results in prop_oneof![0..8_usize, Just(usize::MAX)],
    ) {
        let pass = Microcompact { keep_recent_results };
        let after = pass_laws::all_under(&pass, &messages, 0, &vocabulary);
        let changed = messages.iter().zip(&after).filter(|(old, new)| old != new);
        for (old, new) in changed {
            prop_assert!(is_cleared(new.blocks()), "a body is cleared or stays");
            prop_assert!(estimate_message_tokens(new) < estimate_message_tokens(old), "each one is a gain");
        }
        prop_assert!(vocabulary.tools.is_empty() <= (after == messages), "no tool is known, none is cleared");
    }

    #[test]
    fn preview_keeps_the_laws(
        messages in strategies::transcript(),
        from in prop_oneof![Just(0), 0..40_usize],
        target_tokens in target(),
    ) {
        let after = pass_laws::all(&Preview { from }, &messages, target_tokens);
        for (at, (old, _)) in messages.iter().zip(&after).enumerate().filter(|(_, (old, new))| old != new) {
            prop_assert!(at >= from, "message {} stands before {}", at, from);
            let tool = matches!(old, Message::ToolResult { .. } | Message::BashExecution { .. });
            prop_assert!(tool, "what the user or the model wrote stays");
        }
    }
}

#[test]
fn a_preview_that_can_reach_its_target_reaches_it_and_one_that_cannot_stops_at_its_least() {
    let messages = script("u a:bash,bash,read t*9000 t*300 t*4000 b*2000 a*50");
    for target_tokens in [900, 1_500, 3_000, 9_000, 15_000] {
        let after = pass_laws::all(&Preview::default(), &messages, target_tokens);
        let tokens = estimate_tokens(&after);
        assert!(tokens <= target_tokens, "{tokens} > {target_tokens}");
        assert!(tokens + target_tokens / 8 + 60 > target_tokens, "no more than needed goes: {tokens}");
    }
    let least = pass_laws::all(&Preview::default(), &messages, 0);
    for message in &least {
        if let Message::ToolResult { content, .. } = message {
            let text = content[0].as_text().expect("a text");
            assert!(text.len() <= MIN_PREVIEW_BYTES && text.contains(CLIP_MARK), "{text}");
        }
    }
}

#[test]
fn a_preview_takes_from_the_largest_first() {
    let messages = script("u a:bash,bash t*9000 t*300");
    let after = pass_laws::all(&Preview::default(), &messages, 3_000);
    assert_ne!(after[2], messages[2]);
    assert_eq!(after[3], messages[3], "the small one stays whole");
}
