//! Previews of oversized tool results.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use wb_budget::{PolicyError, TokenCounter, WeighedTranscript};
use wb_message::markers::CLIP_MARK;
use wb_message::{Block, Message};
use wb_passes::{
    ARTIFACT_COMPACTION, ARTIFACT_SETTINGS_KEY, ArtifactCompactionConfig, Goal, OversizedResult, Pass,
};
use wb_testkit::vectors::policy::PolicyCounter;
use wb_testkit::{pass_laws, script, strategies};

const MARK_OPEN: &str = "\n[Content compacted: original ~";
const MARK_CLOSE: &str = " tokens, head and tail shown]\n";

fn small(threshold_tokens: usize, preview_max_chars: usize, preview_max_lines: usize) -> OversizedResult {
    OversizedResult {
        config: ArtifactCompactionConfig { threshold_tokens, preview_max_chars, preview_max_lines },
    }
}

fn configs() -> impl Strategy<Value = OversizedResult> {
    let numbers = || prop_oneof![1..5_usize, 5..200_usize, Just(usize::MAX)];
    prop_oneof![
        Just(OversizedResult::default()),
        (numbers(), numbers(), numbers()).prop_map(|(tokens, chars, lines)| small(tokens, chars, lines)),
        (0..300_usize, 0..2000_usize, 0..30_usize)
            .prop_map(|(tokens, chars, lines)| small(tokens, chars, lines)),
    ]
}

/// Removes the mark of other clips, since the law of clips relies on that mark.
fn unclipped(mut messages: Vec<Message>) -> Vec<Message> {
    for message in &mut messages {
        match message {
            Message::ToolResult { content, .. } => content.iter_mut().for_each(|block| {
                if let Block::Text { text } = block {
                    *text = text.replace(CLIP_MARK, "");
                }
            }),
            Message::BashExecution { output, .. } => *output = output.replace(CLIP_MARK, ""),
            _ => {}
        }
    }
    messages
}

fn texts(message: &Message) -> String {
    match message {
        Message::BashExecution { output, .. } => output.clone(),
        other => other.blocks().iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n"),
    }
}

/// Returns whether a text is a head and a tail of another around a mark.
fn is_preview_of(new: &str, old: &str) -> bool {
    new.match_indices(MARK_OPEN).any(|(at, _)| {
        let rest = &new[at + MARK_OPEN.len()..];
        rest.split_once(MARK_CLOSE)
            .is_some_and(|(_, tail)| old.starts_with(&new[..at]) && old.ends_with(tail))
    })
}

fn images(message: &Message) -> Vec<&Block> {
    message.blocks().iter().filter(|block| matches!(block, Block::Image { .. })).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: wb_testkit::depth::cases(400), ..ProptestConfig::default() })]

    #[test]
    fn an_artifact_preview_keeps_the_laws(
        messages in strategies::transcript().prop_map(unclipped),
        pass in configs(),
        target_tokens in prop_oneof![Just(0), 1..5_000_u64, Just(u64::MAX)],
    ) {
        let after = pass_laws::all(&pass, &messages, target_tokens);
        for (old, new) in messages.iter().zip(&after).filter(|(old, new)| old != new) {
            prop_assert!(is_preview_of(&texts(new), &texts(old)), "{:?} of {:?}", new, old);
            prop_assert!(texts(new).len() < texts(old).len());
            prop_assert_eq!(images(old), images(new), "images stay");
            let bound = pass.config.preview_max_chars.saturating_add(MARK_OPEN.len() + 20 + MARK_CLOSE.len());
            prop_assert!(texts(new).chars().count() <= bound);
        }
    }
}

fn previewed(pass: OversizedResult, messages: &[Message]) -> Vec<Message> {
    pass_laws::all(&pass, messages, u64::MAX)
}

#[test]
fn missing_keys_get_defaults_and_unknown_keys_are_refused() {
    let config: ArtifactCompactionConfig = serde_json::from_value(json!({ "threshold_tokens": 9 })).unwrap();
    assert_eq!(config, ArtifactCompactionConfig { threshold_tokens: 9, ..ARTIFACT_COMPACTION });
    let quoted = json!({ "threshold_tokens": 2048, "preview_max_chars": 1600, "preview_max_lines": 24 });
    assert_eq!(serde_json::to_value(ArtifactCompactionConfig::default()).unwrap(), quoted);
    let error = serde_json::from_value::<ArtifactCompactionConfig>(json!({ "max_chars": 1 })).unwrap_err();
    assert!(error.to_string().contains("unknown field `max_chars`"), "{error}");
}

#[test]
fn a_value_of_zero_is_refused_by_its_name() {
    assert_eq!(ARTIFACT_COMPACTION.validated(), Ok(ARTIFACT_COMPACTION));
    for field in ["threshold_tokens", "preview_max_chars", "preview_max_lines"] {
        let config: ArtifactCompactionConfig = serde_json::from_value(json!({ field: 0 })).unwrap();
        assert_eq!(config.validated(), Err(PolicyError::Zero { field }));
        let error = config.validated().unwrap_err().to_string();
        assert_eq!(error, format!("{field} is 0; it must be at least 1"));
        assert_eq!(ARTIFACT_SETTINGS_KEY, "context_transform.artifact_compaction");
    }
}

/// Returns whether the pass previews a result of `n_bytes` under the recorded estimate.
fn fires(n_bytes: usize) -> bool {
    let counter: Arc<dyn TokenCounter> = Arc::new(PolicyCounter);
    let call = Message::assistant_blocks(vec![Block::call("c", "read", json!({}))]);
    let messages = [call, Message::tool_result("c", "read", "a".repeat(n_bytes))];
    let view = WeighedTranscript::new(&messages, &counter);
    OversizedResult::default().plan(&view, Goal::target(u64::MAX)).is_some()
}

#[test]
fn a_result_is_previewed_from_the_threshold_on() {
    let recorded = [8188, 8191, 8192, 8195].map(fires);
    assert_eq!(recorded, [false, false, true, true]);
}

#[test]
fn a_preview_shows_head_tail_and_the_original_size() {
    let lines = |range: std::ops::Range<usize>| {
        range.flat_map(|n| ["line ".to_owned(), n.to_string(), "\n".to_owned()]).collect::<String>()
    };
    let mut messages = script("u a:bash t a");
    messages[2] = Message::tool_result("c1", "bash", lines(0..3000));
    let after = previewed(OversizedResult::default(), &messages);
    let shown = texts(&after[2]);
    let (start, rest) = shown.split_once("[Content compacted: original ~").unwrap();
    let (tokens, end) = rest.split_once(" tokens, head and tail shown]\n").unwrap();
    assert_eq!((start, end), (lines(0..16).as_str(), lines(2992..3000).as_str()));
    assert!((7_000..9_000).contains(&tokens.parse::<u64>().unwrap()), "{tokens}");
}

#[test]
fn texts_in_many_blocks_each_below_the_threshold_count_together() {
    let mut messages = script("u a:bash t a");
    let blocks = ["a", "b", "c"].map(|unit| Block::text(unit.repeat(8_000)));
    messages[2] = Message::ToolResult {
        tool_call_id: "c1".to_owned(),
        tool_name: "bash".to_owned(),
        content: Vec::from(blocks),
        is_error: false,
        is_refusal: false,
    };
    let shown = texts(&previewed(OversizedResult::default(), &messages)[2]);
    assert!(shown.starts_with("aaaa") && shown.ends_with("cccc") && shown.len() < 1_700, "{}", shown.len());
}

#[test]
fn an_error_at_the_end_of_a_long_log_stays() {
    let log = format!("{}error[E0308]: mismatched types\n", "   Compiling crate v0.1.0\n".repeat(400));
    let mut messages = script("u a:bash,bash t t a b");
    messages[2] = Message::tool_result("c1", "bash", log.as_str());
    messages[3] = Message::tool_error("c2", "bash", log.as_str());
    messages[5] = Message::bash("cargo test", log.as_str(), Some(101));
    let after = previewed(OversizedResult::default(), &messages);
    for at in [2, 3, 5] {
        assert!(texts(&after[at]).ends_with("error[E0308]: mismatched types\n"), "{at}");
        assert!(texts(&after[at]).len() < log.len() / 4, "{at}");
    }
    let n_tail = |at: usize| texts(&after[at]).split_once("shown]\n").unwrap().1.lines().count();
    assert_eq!([2, 3, 5].map(n_tail), [8, 16, 16], "a failed result keeps more of its end");
}

#[test]
fn a_text_that_a_preview_would_not_shorten_stays() {
    let mut messages = script("u a:bash t a");
    for (pass, body) in
        [(small(1, 100, 10), "tiny text"), (small(1, 4, 1), "tool text that is short"), (small(1, 0, 0), "x")]
    {
        messages[2] = Message::tool_result("c1", "bash", body);
        assert_eq!(previewed(pass, &messages), messages, "{body}");
    }
}

#[test]
fn leading_blank_lines_do_not_hide_the_end() {
    let mut messages = script("u a:bash t a");
    messages[2] = Message::tool_result("c1", "bash", format!("{}real content", "\n".repeat(900)));
    let shown = texts(&previewed(small(1, 100, 3), &messages)[2]);
    assert!(shown.ends_with("\nreal content"), "{shown:?}");
}

#[test]
fn images_stay_and_do_not_count_as_text() {
    let mut messages = script("u a:read t a");
    let image = Block::image("image/png", "iVBORw0K".repeat(2_000));
    let result = |content| Message::ToolResult {
        tool_call_id: "c1".to_owned(),
        tool_name: "read".to_owned(),
        content,
        is_error: false,
        is_refusal: false,
    };
    messages[2] = result(vec![image.clone(), Block::text("a\n".repeat(500))]);
    assert_eq!(previewed(OversizedResult::default(), &messages), messages, "the text alone is small");
    messages[2] = result(vec![Block::text("日本語\n".repeat(9_000)), image.clone(), Block::text("end")]);
    let after = previewed(OversizedResult::default(), &messages);
    assert!(matches!(after[2].blocks(), [Block::Text { .. }, other] if *other == image));
    assert!(texts(&after[2]).ends_with("end"));
}
