//! The recipes of the documentation: what they show is compiled and run here, line by line.

#![expect(clippy::print_stdout, reason = "the recipes show what to print")]

use std::error::Error;
use std::sync::Arc;

use wb_budget::{CONTEXT_WINDOW_POLICY, ContextWindowPolicy, ModelCard};
use wb_conductor::{
    AgentSettings, BackgroundCompaction, CompactionEvent, CompactionState, CondenseOpts, Compactor,
    Ladder, LadderBudget, compact_in_place,
};
use wb_message::Message;
use wb_passes::ArtifactCompactionConfig;
use wb_summarize::scripted::{Script, ScriptedInvoker};
use wb_summarize::{CompactionConfig, DefaultSummarizer};

const RECIPES: [&str; 2] = [
    include_str!("../../../../docs/recipes/choose-a-strategy.md"),
    include_str!("../../../../docs/recipes/run-a-compaction-in-the-background.md"),
];

/// Visits the lines of code that the recipes show, imports apart.
fn shown() -> impl Iterator<Item = &'static str> {
    let blocks = RECIPES.iter().flat_map(|recipe| recipe.split("```rust\n").skip(1));
    let code = blocks.filter_map(|block| block.split("```").next());
    let lines = code.flat_map(str::lines).map(|line| line.split(" //").next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty() && !line.starts_with("use ") && !line.starts_with("//"))
}

#[test]
fn every_line_of_the_recipes_stands_in_this_file() {
    let squeezed = |text: &str| text.split_whitespace().collect::<String>();
    let own = squeezed(include_str!("recipes.rs"));
    let missing: Vec<_> = shown().filter(|line| !own.contains(&squeezed(line))).collect();
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(shown().count() > 20);
}

fn long_session() -> Vec<Message> {
    let turn =
        |n: usize| [Message::user(format!("step {n} {}", "x".repeat(3_000))), Message::assistant("done")];
    (0..40).flat_map(turn).collect()
}

#[tokio::test]
async fn a_digest_of_the_head() {
    let mut messages = long_session();
    let settings = Compactor::new().card(ModelCard::with_window(12_000)); // .invoke(your_model) for better digests
    let report = compact_in_place(&mut messages, &settings, &CondenseOpts::default()).await;
    println!("{report}");
    assert!(report.is_changed());
}

#[test]
fn three_levels() {
    use wb_passes::three_level::{ContextConfig, compact};
    let mut messages = long_session();
    let config = ContextConfig { max_context_tokens: 12_000, ..ContextConfig::default() };
    let report = compact(&mut messages, &config);
    assert!(report.irreducible.is_none());
    report.undo.revert(&mut messages);
    assert_eq!(messages, long_session());
}

#[tokio::test]
async fn truncation_previews_and_repair_for_one_request() {
    let (mut messages, card, overhead_tokens) = (long_session(), ModelCard::with_window(40_000), 500);
    let policy = CONTEXT_WINDOW_POLICY.clamped_to(&card);
    let ladder = Ladder::policy(&policy, ArtifactCompactionConfig::default());
    let budget = LadderBudget::flat(policy.available_tokens(0) as u64, overhead_tokens); // system prompt and tool schemas
    let done = ladder.climb(&mut messages, budget, &Compactor::new(), &CondenseOpts::default()).await;
    println!("{}", done.report);
    assert!(done.report.is_changed());
}

#[tokio::test]
async fn an_order_of_your_own() -> Result<(), Box<dyn Error>> {
    let (mut messages, card, overhead_tokens) = (long_session(), ModelCard::with_window(40_000), 500);
    let json = r#"{"ladder": [{"step": "truncate", "min_recent_messages": 3}, {"step": "repair"}]}"#;
    let settings = AgentSettings::from_json(json)?;
    let budget = LadderBudget::of(&card, &settings.budget, overhead_tokens);
    let done = settings
        .ladder
        .climb(&mut messages, budget, &Compactor::new(), &CondenseOpts::default())
        .await;
    for step in &done.steps {
        println!("{}: {} tokens", step.name, step.tokens_after);
    }
    done.undo.revert(&mut messages);
    assert_eq!(messages, long_session());
    Ok(())
}

#[tokio::test]
async fn a_compaction_in_the_background() -> Result<(), Box<dyn Error>> {
    let (mut messages, now_ms, kept_state) = (long_session(), 1_000, CompactionState::default());
    let your_model = Arc::new(ScriptedInvoker::new([Script::says("Forty steps were done.")]));
    let config = CompactionConfig::default();
    let summarizer = DefaultSummarizer::new(your_model, config.clone())?;
    let policy = ContextWindowPolicy { autocompact_threshold: Some(100_000), ..CONTEXT_WINDOW_POLICY };
    let policy = ContextWindowPolicy { autocompact_threshold: Some(10_000), ..policy };
    let mut compaction =
        BackgroundCompaction::new(policy, config).summarizer(Arc::new(summarizer)).restored(kept_state);
    let mut n_completed = 0;
    for _turn in 0..2 {
        if let Some(event) = compaction.try_consume_compaction_event(&mut messages, now_ms) {
            println!("{event}");
            if let CompactionEvent::Completed { undo, .. } = event {
                n_completed += undo.folded().count().min(1);
            }
        }
        if let Err(reason) = compaction.maybe_spawn_compaction(&messages, now_ms) {
            println!("{reason}"); // most often that the transcript is not above the threshold
        }
        compaction.settled().await; // may be dropped, as by a time limit of yours, and called again
    }
    let event = compaction.try_consume_compaction_event(&mut messages, now_ms);
    let kept = serde_json::to_string(compaction.state())?;
    assert_eq!((event.is_some(), n_completed, messages.len() < 10), (false, 1, true), "{kept}");
    Ok(())
}
