//! The published names and literals of other systems.

use window_budget::{
    CompactionConfig, CompactionExecutionMode, CompactionRawRetention, ContextCompactionMode,
    ContextWindowPolicy,
};

#[test]
fn the_example_of_the_buffer_runs_as_published() {
    use window_budget::{ContextWindow, Message as ChatMessage};
    let mut window = ContextWindow::new(1000, 200);
    window.push(ChatMessage::user("Hello"), 700);
    assert!(window.needs_compaction(0.8));
    assert!(!window.needs_compaction(0.9));
}

#[cfg(feature = "compat")]
#[test]
fn other_systems_are_reached_by_their_names() {
    use window_budget::Message;
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
