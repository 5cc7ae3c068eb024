//! The laws of the passes over generated transcripts.

use proptest::prelude::*;
use wb_budget::{estimate_message_tokens, estimate_tokens};
use wb_message::block::joined_text;
use wb_message::markers::{CLIP_MARK, REMOVED_IMAGE, is_cleared};
use wb_message::{Block, Content, Message, ToolVocabulary, last_prompt_start};
use wb_passes::{DEFAULT_KEEP_RECENT, ImagePolicy, Images, MIN_PREVIEW_BYTES, Microcompact, Preview};
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

fn has_images(message: &Message) -> bool {
    let is_image = |block: &Block| matches!(block, Block::Image { .. });
    matches!(message, Message::ToolResult { content, .. } if content.iter().any(is_image))
}

fn target() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1..500_u64, 500..5_000_u64, 5_000..60_000_u64, Just(u64::MAX)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: wb_testkit::depth::cases(400), ..ProptestConfig::default() })]

    #[test]
    fn microcompact_keeps_the_laws(
        messages in strategies::transcript(),
        vocabulary in vocabulary(),
        keep_recent_results in prop_oneof![0..8_usize, Just(usize::MAX)],
    ) {
        let pass = Microcompact { keep_recent_results };
        let after = pass_laws::all_with_vocabulary(&pass, &messages, 0, &vocabulary);
        let changed = messages.iter().zip(&after).filter(|(old, new)| old != new);
        for (old, new) in changed {
            prop_assert!(is_cleared(new.blocks()), "a body is cleared or stays");
            prop_assert!(estimate_message_tokens(new) < estimate_message_tokens(old), "each one is a gain");
        }
        prop_assert!(vocabulary.tools.is_empty() <= (after == messages), "results of unknown tools stay");
    }

    #[test]
    fn images_keep_the_laws(
        messages in strategies::transcript(),
        policy in prop::sample::select(vec![ImagePolicy::Keep, ImagePolicy::Marker, ImagePolicy::Drop]),
    ) {
        let after = pass_laws::all(&Images { policy }, &messages, 0);
        prop_assert!(policy != ImagePolicy::Keep || after == messages, "kept images stay");
        let turn = last_prompt_start(&messages).unwrap_or(0);
        for (at, (old, new)) in messages.iter().zip(&after).enumerate().filter(|(_, (old, new))| old != new) {
            prop_assert!(has_images(old) && !has_images(new), "only results with images change, and none is left");
            prop_assert!(!joined_text(new.blocks()).trim().is_empty(), "no result becomes empty");
            let n_newer = messages[at + 1..].iter().filter(|it| has_images(it)).count();
            prop_assert!(at < turn || n_newer >= DEFAULT_KEEP_RECENT, "message {} is still in use", at);
        }
    }

    #[test]
    fn preview_keeps_the_laws(
        messages in strategies::transcript(),
        from in prop_oneof![Just(0), 0..40_usize],
        target_tokens in target(),
    ) {
        let after = pass_laws::all(&Preview { from }, &messages, target_tokens);
        for (at, (old, _)) in messages.iter().zip(&after).enumerate().filter(|(_, (old, new))| old != new) {
            prop_assert!(at >= from, "message {} is before {}", at, from);
            let tool = matches!(old, Message::ToolResult { .. } | Message::BashExecution { .. });
            prop_assert!(tool, "texts of the user and the model stay");
        }
    }
}

#[test]
fn a_preview_reaches_its_target_or_its_least_size() {
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
fn a_preview_shortens_the_largest_bodies_first() {
    let messages = script("u a:bash,bash t*9000 t*300");
    let after = pass_laws::all(&Preview::default(), &messages, 3_000);
    assert_ne!(after[2], messages[2]);
    assert_eq!(after[3], messages[3], "the small one stays whole");
}

/// Builds two turns in which the user shows an image and the tools return the given numbers of
/// screenshots.
fn with_screenshots(n_each_turn: [usize; 2]) -> Vec<Message> {
    let image = || Block::image("image/png", "iVBORw0K");
    let mut messages = Vec::new();
    for (turn, n) in n_each_turn.into_iter().enumerate() {
        messages.push(Message::user(Content::Blocks(vec![Block::text("Like here."), image()])));
        for nth in 0..n {
            let id = format!("c{turn}-{nth}");
            messages.push(Message::assistant_blocks(vec![Block::call(
                &id,
                "screenshot",
                serde_json::json!({}),
            )]));
            let content = vec![Block::text(format!("shot {turn}-{nth}")), image()];
            let (tool_call_id, tool_name) = (id, "screenshot".to_owned());
            messages.push(Message::ToolResult {
                tool_call_id,
                tool_name,
                content,
                is_error: false,
                is_refusal: false,
            });
        }
    }
    messages
}

#[test]
fn images_of_older_turns_go_and_the_newest_and_the_users_stay() {
    let messages = with_screenshots([2, 8]);
    let after = pass_laws::all(&Images::default(), &messages, 0);
    let lost: Vec<String> = messages
        .iter()
        .zip(&after)
        .filter(|(old, new)| old != new)
        .map(|(_, new)| joined_text(new.blocks()).into_owned())
        .collect();
    let marked = ["0-0", "0-1", "1-0", "1-1"].map(|shot| format!("shot {shot}\n{REMOVED_IMAGE}"));
    assert_eq!(lost, marked);
    let dropped = pass_laws::all(&Images { policy: ImagePolicy::Drop }, &messages, 0);
    assert_eq!(dropped[2].blocks(), [Block::text("shot 0-0")]);
}
