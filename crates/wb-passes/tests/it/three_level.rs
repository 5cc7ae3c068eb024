//! The laws of the three levels.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use wb_budget::three_level::total_tokens;
use wb_message::marks::{COLLAPSED_PREFIX, DROPPED_MARK, is_dropped_mark, is_pinned, is_prompt};
use wb_message::{Block, Message, Pairing};
use wb_passes::three_level::{CONTEXT_CONFIG, ContextConfig, compact, compact_messages};
use wb_passes::{Collapse, DropMiddle, ToolOutput, three_level};
use wb_testkit::{laws, pass_laws, script, strategies};

#[test]
fn omitted_keys_get_the_numbers_of_the_seed_and_never_0() {
    let config: ContextConfig = serde_json::from_str("{}").unwrap();
    assert_eq!(config, CONTEXT_CONFIG);
    let quoted = serde_json::json!({
        "max_context_tokens": 100_000,
        "system_prompt_tokens": 4_000,
        "keep_recent": 10,
        "keep_first": 2,
        "tool_output_max_lines": 50,
    });
    assert_eq!(serde_json::to_value(config).unwrap(), quoted);
    let error = serde_json::from_str::<ContextConfig>(r#"{"keep_last": 1}"#).unwrap_err();
    assert!(error.to_string().contains("unknown field `keep_last`"), "{error}");
}

#[test]
fn a_budget_never_wraps() {
    let with = |max_context_tokens, system_prompt_tokens| {
        ContextConfig { max_context_tokens, system_prompt_tokens, ..CONTEXT_CONFIG }.budget_tokens()
    };
    assert_eq!((with(10, 4), with(10, 50), with(0, usize::MAX)), (6, 0, 0));
}

fn target() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1..500_u64, 500..5_000_u64, 5_000..60_000_u64, Just(u64::MAX)]
}

fn few() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..12_usize, 1 => Just(usize::MAX)]
}

fn configs() -> impl Strategy<Value = ContextConfig> {
    let budget = prop_oneof![0..60_usize, 60..600_usize, 600..20_000_usize];
    (budget, few(), few(), few()).prop_map(|(max_context_tokens, keep_recent, keep_first, lines)| {
        let tool_output_max_lines = lines.saturating_mul(5);
        ContextConfig {
            max_context_tokens,
            system_prompt_tokens: 20,
            keep_recent,
            keep_first,
            tool_output_max_lines,
        }
    })
}

/// Makes a transcript in which earlier compactions have left marks and summaries.
fn aged() -> impl Strategy<Value = Vec<Message>> {
    let left = prop_oneof![
        2 => Just(Message::user(DROPPED_MARK)),
        1 => Just(Message::user(vec![Block::text(DROPPED_MARK)])),
        2 => (0..300_usize).prop_map(|n| Message::assistant(format!("{COLLAPSED_PREFIX}{}", "x".repeat(n)))),
    ];
    (strategies::transcript(), vec((any::<Index>(), left), 0..4)).prop_map(|(mut messages, left)| {
        for (at, message) in left {
            messages.insert(at.index(messages.len() + 1), message);
        }
        messages
    })
}

/// Makes a transcript without marks of clips, which the laws of passes take for ones that the pass has set.
fn unclipped() -> impl Strategy<Value = Vec<Message>> {
    strategies::transcript().prop_map(|messages| {
        let json = serde_json::to_string(&messages).unwrap().replace("[… clipped …]", "[clipped]");
        serde_json::from_str(&json).unwrap()
    })
}

fn ends<'a>(messages: &'a [Message]) -> Vec<&'a Message> {
    let prompts: Vec<&'a Message> = messages.iter().filter(|message| is_prompt(message)).collect();
    prompts.first().into_iter().chain(prompts.last()).copied().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn tool_output_keeps_the_laws(
        messages in unclipped(),
        max_lines in few(),
        target_tokens in target(),
    ) {
        let after = pass_laws::all(&ToolOutput { max_lines }, &messages, target_tokens);
        for (old, _) in messages.iter().zip(&after).filter(|(old, new)| old != new) {
            let tool = matches!(old, Message::ToolResult { .. } | Message::BashExecution { .. });
            prop_assert!(tool, "what the user or the model wrote stays");
        }
    }

    #[test]
    fn collapse_keeps_the_laws(
        messages in aged(),
        keep_recent in few(),
        target_tokens in target(),
    ) {
        let after = pass_laws::all(&Collapse { keep_recent }, &messages, target_tokens);
        laws::tail_identical(&messages, &after, keep_recent.min(messages.len()));
        let stays = |message: &&Message| is_prompt(message) || matches!(message, Message::Custom { .. });
        prop_assert!(messages.iter().filter(stays).eq(after.iter().filter(stays)));
        prop_assert_eq!(Pairing::of(&messages).in_flight().is_some(), Pairing::of(&after).in_flight().is_some());
    }

    #[test]
    fn drop_middle_keeps_the_laws(
        messages in aged(),
        keep_first in few(),
        keep_recent in few(),
        target_tokens in target(),
    ) {
        let after = pass_laws::all(&DropMiddle { keep_first, keep_recent }, &messages, target_tokens);
        prop_assert_eq!(ends(&messages), ends(&after), "the task and the latest request stay");
        let changed = after.len() != messages.len();
        let n_marks = after.iter().filter(|message| is_dropped_mark(message)).count();
        prop_assert!(!changed || n_marks == 1, "{} marks", n_marks);
        let only_marks = |messages: &[Message]| messages.iter().all(is_dropped_mark);
        prop_assert_eq!(only_marks(&after), only_marks(&messages), "more than the mark stays");
    }

    #[test]
    fn compaction_keeps_the_laws(messages in aged(), config in configs()) {
        let mut after = messages.clone();
        let report = compact(&mut after, &config);
        let (weight, budget) = (total_tokens(&after), config.budget_tokens() as u64);
        prop_assert_eq!((report.tokens_before, report.tokens_after), (total_tokens(&messages), weight));
        prop_assert_eq!(report.levels.is_empty(), after == messages);
        prop_assert!(report.levels.is_empty() || weight < report.tokens_before, "strictly lighter");
        prop_assert_eq!(report.irreducible.is_some(), weight > budget);
        prop_assert!(report.tokens_before > budget || after == messages, "what fits is not touched");
        prop_assert_eq!(ends(&messages), ends(&after), "the task and the latest request stay");
        laws::pairs_intact(&messages, &after);
        laws::pinned_untouched(&messages, &after);
        laws::order_preserved(&messages, &after);
        prop_assert_eq!(&compact_messages(messages.clone(), &config), &after);
        let mut again = after.clone();
        let second = compact(&mut again, &config);
        prop_assert!(second.levels.is_empty(), "{:?}", second.levels);
        prop_assert_eq!(second.irreducible, report.irreducible);
        report.undo.revert(&mut after);
        prop_assert_eq!(after, messages);
    }
}

#[test]
fn the_levels_run_in_order_and_no_further_than_needed() {
    let messages = script("u [a*60:bash t]x20 a:bash t*4000 u");
    let levels = |max_context_tokens| {
        let config =
            ContextConfig { max_context_tokens, system_prompt_tokens: 0, keep_recent: 3, ..CONTEXT_CONFIG };
        let mut after = messages.clone();
        compact(&mut after, &config).levels
    };
    assert_eq!(levels(9_000), [""; 0]);
    assert_eq!(levels(5_000), ["tool-output"]);
    assert_eq!(levels(2_000), ["tool-output", "collapse"]);
    assert_eq!(levels(1_500), ["tool-output", "collapse", "preview", "drop-middle"]);
}

#[test]
fn only_as_many_of_the_oldest_replies_collapse_as_are_needed() {
    let messages = script("u [a*60:bash t]x20 u");
    let after = pass_laws::all(&Collapse { keep_recent: 1 }, &messages, 1_600);
    let collapsed = |message: &&Message| {
        let text = message.blocks().iter().find_map(Block::as_text);
        text.is_some_and(|text| text.starts_with(COLLAPSED_PREFIX))
    };
    let n_collapsed = after[1..].iter().take_while(collapsed).count();
    assert!((1..20).contains(&n_collapsed), "{n_collapsed}");
    assert_eq!(after.iter().filter(collapsed).count(), n_collapsed, "the oldest");
    assert_eq!(after[1 + n_collapsed..], messages[1 + 2 * n_collapsed..]);
}

#[test]
fn the_wrappers_do_what_their_passes_do() {
    let messages = script("s u a:bash t*4000 u b*3000 [a*80:read t*80]x9 u a:read");
    let tokens = total_tokens(&messages);
    for (after, n_expected) in [
        (three_level::level1_truncate_tool_outputs(messages.clone(), 10), messages.len()),
        (three_level::level2_summarize_old_turns(messages.clone(), 2), messages.len() - 10),
        (three_level::level3_drop_middle(messages.clone(), &CONTEXT_CONFIG, 2_000), 24),
        (three_level::keep_within_budget(messages.clone(), 2_000), 24),
    ] {
        assert_eq!(after.len(), n_expected);
        assert!(total_tokens(&after) <= tokens);
        assert!(after.iter().filter(|message| is_pinned(message)).eq(&messages[..1]));
        laws::pairs_intact(&messages, &after);
    }
}

#[test]
fn many_messages_and_many_results_of_one_reply_cost_linear_time() {
    let n = 30_000;
    let call = |at: usize| Block::call(at.to_string(), "bash", serde_json::json!({}));
    let mut messages = vec![Message::user("task"), Message::assistant_blocks((0..n).map(call).collect())];
    messages.extend((0..n).map(|at| Message::tool_error(at.to_string(), "bash", "no such file\n".repeat(9))));
    messages.extend((0..n).map(|at| Message::user(format!("request {at}"))));
    messages.push(Message::assistant("done"));
    let levels = |max_context_tokens| {
        let mut after = messages.clone();
        let config = ContextConfig { max_context_tokens, system_prompt_tokens: 0, ..CONTEXT_CONFIG };
        compact(&mut after, &config).levels
    };
    assert_eq!(levels(400_000), ["collapse"]);
    assert_eq!(levels(4_000), ["collapse", "drop-middle"]);
}
