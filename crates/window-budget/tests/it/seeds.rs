//! The published names and literals of the other seeds.

use window_budget::three_level::{self, ContextConfig};
use window_budget::{
    CompactionConfig, CompactionExecutionMode, CompactionRawRetention, ContextCompactionMode,
    ContextWindowPolicy, Message,
};

#[test]
fn the_three_levels_have_their_names_beside_those_of_the_root() {
    assert_eq!((three_level::estimate_tokens("four"), three_level::estimate_tokens("fives")), (1, 2));
    let config = ContextConfig {
        max_context_tokens: 100_000,
        system_prompt_tokens: 4_000,
        keep_recent: 10,
        keep_first: 2,
        tool_output_max_lines: 50,
    };
    assert_eq!(config, ContextConfig::default());
    let messages = vec![Message::user("hello"), Message::assistant("hi")];
    assert_eq!(three_level::compact_messages(messages.clone(), &config), messages);
    assert_eq!(three_level::level1_truncate_tool_outputs(messages.clone(), 50), messages);
    assert_eq!(three_level::level2_summarize_old_turns(messages.clone(), 10), messages);
    assert_eq!(three_level::level3_drop_middle(messages.clone(), &config, 96_000), messages);
    assert_eq!(three_level::keep_within_budget(messages.clone(), 96_000), messages);
    assert_eq!(three_level::truncate_head_tail("one\ntwo", 50), "one\ntwo");
    assert_eq!(three_level::total_tokens(&messages), three_level::message_tokens(&messages[0]) + 5);
}

#[cfg(feature = "compat")]
#[test]
fn other_systems_are_reached_by_their_names() {
    use window_budget::compat::{context_window, policy, three_level};
    let mut window = context_window::ContextWindow::new(1000, 200);
    window.push(Message::user("Hello"), 700);
    assert!(window.needs_compaction(0.8) && !window.needs_compaction(0.9));
    let messages = vec![Message::user("hello"), Message::assistant("hi")];
    let config = three_level::ContextConfig::default();
    assert_eq!(three_level::compact_messages(messages.clone(), &config), messages);
    let thread: Vec<policy::ThreadMessage> = messages.into_iter().map(Into::into).collect();
    assert_eq!(policy::plan_compaction(&thread, &policy::ContextWindowPolicy::default()), None);
}

#[test]
fn the_policy_and_its_compaction_are_built_by_literal() {
    let policy = ContextWindowPolicy {
        max_context_tokens: 200_000,
        max_output_tokens: 16_384,
        min_recent_messages: 10,
        enable_prompt_cache: true,
        autocompact_threshold: Some(100_000),
        compaction_mode: ContextCompactionMode::KeepRecentRawSuffix,
        compaction_raw_suffix_messages: 2,
    };
    assert_eq!(ContextWindowPolicy { autocompact_threshold: None, ..policy }, ContextWindowPolicy::default());
    let config = CompactionConfig {
        execution_mode: CompactionExecutionMode::Background,
        summarizer_system_prompt: "Keep the facts.".into(),
        summarizer_user_prompt: "{previous_summary}\n{messages}".into(),
        summary_max_tokens: Some(1024),
        summary_model: Some("claude-3-haiku".into()),
        min_savings_ratio: 0.3,
        raw_retention: CompactionRawRetention::PreserveDurable,
    };
    let json = serde_json::to_value(config.validated().unwrap()).unwrap();
    assert_eq!((&json["mode"], &json["raw_retention"]), (&"background".into(), &"preserve_durable".into()));
}
