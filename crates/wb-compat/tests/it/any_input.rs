//! Any transcript: nothing panics, and the same input gives the same output.

use proptest::prelude::*;
use wb_compat::overlay::{BlockCompactionStrategy, CompactionConfig, DefaultBlockCompaction, LoopMessage};
use wb_compat::policy::{
    ArtifactCompactionConfig, ContextWindowPolicy, ThreadMessage, effective_messages,
    find_compaction_boundary, strip_unpaired_tool_calls_from_view, trim_to_compaction_boundary, truncate,
    try_plan_compaction,
};
use wb_compat::three_level::{ContextConfig, compact_messages, total_tokens};
use wb_compat::{context_window, policy};
use wb_message::Message;
use wb_testkit::strategies;

use super::thread::new_id;

fn thread(messages: &[Message]) -> Vec<ThreadMessage> {
    messages
        .iter()
        .zip(0..)
        .map(|(message, n)| ThreadMessage::new(format!("m{n}"), message.clone()))
        .collect()
}

proptest! {
    #[test]
    fn three_levels_are_a_function_of_their_input(
        messages in strategies::transcript(),
        max_context_tokens in 0..500_usize,
        keep_recent in 0..6_usize,
        keep_first in 0..4_usize,
        tool_output_max_lines in 0..6_usize,
    ) {
        let config = ContextConfig {
            max_context_tokens,
            system_prompt_tokens: 20,
            keep_recent,
            keep_first,
            tool_output_max_lines,
        };
        let after = compact_messages(messages.clone(), &config);
        prop_assert_eq!(&after, &compact_messages(messages.clone(), &config));
        prop_assert!(total_tokens(&messages) > config.budget_tokens() || after == messages);
    }

    #[test]
    fn a_request_and_a_plan_are_functions_of_their_input(
        messages in strategies::transcript(),
        available in 0..500_usize,
        min_recent_messages in 0..6_usize,
    ) {
        let thread = thread(&messages);
        let limits = ArtifactCompactionConfig { threshold_tokens: 9, preview_max_chars: 20, preview_max_lines: 3 };
        let once = |thread| truncate(thread, available, min_recent_messages, &limits, &mut new_id);
        let after = once(thread.clone());
        prop_assert_eq!(&after, &once(thread.clone()));
        let is_tool = |message: &ThreadMessage| message.role() == policy::Role::Tool;
        prop_assert!(!after.first().is_some_and(is_tool) || thread.first().is_some_and(is_tool));
        let policy = ContextWindowPolicy { min_recent_messages, ..ContextWindowPolicy::default() };
        prop_assert_eq!(try_plan_compaction(&thread, &policy), try_plan_compaction(&thread, &policy));
        prop_assert_eq!(find_compaction_boundary(&thread, available, min_recent_messages.min(available)), None);
        prop_assert_eq!(effective_messages(&thread), strip_unpaired_tool_calls_from_view(thread.clone()));
        let mut trimmed = thread.clone();
        trim_to_compaction_boundary(&mut trimmed);
        prop_assert!(thread.ends_with(&trimmed));
    }

    #[test]
    fn a_window_returns_the_removed_messages(
        messages in strategies::transcript(),
        budget in 1..200_u32,
        n_recent in 0..6_usize,
    ) {
        let mut window = context_window::ContextWindow::new(budget, 0);
        for message in &messages {
            window.push(message.clone(), context_window::estimate_message_tokens(message));
        }
        window.protect_recent(n_recent);
        let mut removed = window.force_fit();
        prop_assert!(!window.needs_compaction(1.0) || window.len() <= n_recent);
        removed.extend(window.compact());
        removed.extend(window.messages_owned());
        prop_assert_eq!(removed, messages);
    }

    #[test]
    fn any_turns_give_a_block(
        messages in strategies::transcript(),
        turns in proptest::collection::vec(proptest::option::of(0..3_u32), 0..40),
        keep_first_turns in 0..4_usize,
        keep_recent_turns in 0..4_usize,
        is_most_recent: bool,
    ) {
        let turns = turns.into_iter().chain(std::iter::repeat(None));
        let messages = messages.into_iter().zip(turns);
        let messages: Vec<_> =
            messages.map(|(message, turn_index)| LoopMessage { message, turn_index }).collect();
        let config = CompactionConfig { keep_first_turns, keep_recent_turns, ..CompactionConfig::default() };
        let block = DefaultBlockCompaction.compact(&messages, &config, is_most_recent);
        prop_assert_eq!(block.keep_first.is_some(), is_most_recent && !messages.is_empty());
        prop_assert_eq!(block.keep_recent.is_some(), is_most_recent && !messages.is_empty());
    }
}
