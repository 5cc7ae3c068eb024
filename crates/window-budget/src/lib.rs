//! Keeps long-running LLM agents inside their model's context window.
//!
//! When a transcript is over budget, one digest replaces its head, the recent tail stays verbatim,
//! and the files that the agent was just reading are restored. No output separates a tool call from
//! its result. Without a model the digest is taken from the transcript itself, so everything here
//! works without a key or a network.
//!
//! The root has the names of the systems that this engine continues; everything else is in a
//! module per crate. [`prelude`] has the names that a host needs to keep one transcript within its
//! window.
//!
//! # Features
//!
//! All are off by default.
//!
//! | feature | what it adds |
//! |---|---|
//! | `formats` | `formats`: session files of other agents are read; and `session` |
//! | `record` | `record`: sessions as documents over their bytes, with blocks, undo and redo |
//! | `session` | `session`: sessions that are compacted automatically and on request, with hooks and branch summaries |
//! | `compat` | `compat`: other systems as they were recorded, faults included |
//! | `tokens` | `tokens`: the tokens of OpenAI's models, counted exactly |
//! | `scripted` | `summarize::scripted`, a model that plays back replies |
//!
//! # Examples
//!
//! A condenser without a network; without a card there is no window to measure, so it is the
//! identity:
//!
//! ```
//! use window_budget::{CondenserDeps, Message, create_condenser};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let messages = vec![Message::user("hello"), Message::assistant("hi")];
//! let condenser = create_condenser(CondenserDeps::default()); // no card bound
//! let out = condenser(messages.clone()).await;
//! assert_eq!(out, messages);
//! # }
//! ```
//!
//! A condenser with a model, here one that plays back a script:
//!
#![cfg_attr(feature = "scripted", doc = "```")]
#![cfg_attr(not(feature = "scripted"), doc = "```ignore")]
//! use std::sync::Arc;
//! use window_budget::summarize::scripted::{Script, ScriptedInvoker};
//! use window_budget::{AUTO_CONDENSE_POLICY, CondenserDeps, Message, ModelCard, create_condenser};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let script = Script::says("# Objective\nShip the importer.");
//! let scripted_model = Arc::new(ScriptedInvoker::new([script]));
//! let my_card = ModelCard::with_window(20_000);
//! let long_transcript: Vec<Message> =
//!     (0..40).map(|n| Message::user(format!("{n} {}", "x".repeat(2_000)))).collect();
//!
//! let condenser = create_condenser(CondenserDeps {
//!     invoke: Some(scripted_model),
//!     card: Some(my_card),
//!     policy: Some(AUTO_CONDENSE_POLICY),
//! });
//! let rebuilt = condenser(long_transcript.clone()).await; // -> [digest_message, ...recent_tail]
//! let digest = window_budget::message::markers::digest_body(&rebuilt[0]).unwrap_or_default();
//! assert!(digest.contains("- First request: 0 xxx") && digest.contains("Ship the importer."));
//! assert_eq!(rebuilt.last(), long_transcript.last());
//! # }
//! ```
//!
//! The arithmetic alone:
//!
//! ```
//! use window_budget::{
//!     AUTO_CONDENSE_POLICY, Message, ModelCard, budget_limit, estimate_tokens, is_over_budget,
//!     plan_slice,
//! };
//!
//! let card = ModelCard::with_window(8_000);
//! let messages: Vec<Message> =
//!     (0..40).map(|n| Message::user(format!("{n} {}", "x".repeat(1_000)))).collect();
//! let total = estimate_tokens(&messages); // heuristic total
//! let limit = budget_limit(&card, &AUTO_CONDENSE_POLICY); // (context_window - 2048) * 0.75
//! assert_eq!((total, limit), (11_400, 4_464.0));
//! if is_over_budget(&messages, &card, &AUTO_CONDENSE_POLICY) {
//!     let plan = plan_slice(&messages, &AUTO_CONDENSE_POLICY);
//!     assert_eq!((plan.cut, plan.dropped.len(), plan.kept.len()), (19, 19, 21));
//! }
//! ```
//!
//! A branch that was left, archived as one digest:
//!
//! ```
//! use window_budget::{Content, Message, SummarizeDeps, condense_scope, summarize};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let abandoned_branch =
//!     vec![Message::user("try it with a regex"), Message::assistant("That is too slow.")];
//! let summary = condense_scope(&abandoned_branch, SummarizeDeps::default()).await;
//! let Message::User { content: Content::Text(text), .. } = summary.message else {
//!     panic!("a user message")
//! };
//! assert!(text.starts_with("[branch digest — archived from a path not taken]"));
//!
//! // The same for the running session.
//! let whole = summarize(&abandoned_branch, SummarizeDeps::default()).await;
//! assert_eq!(whole.covered_count, 2);
//! # }
//! ```
//!
//! Clearing stale results before a cut and restoring files after it:
//!
//! ```
//! use window_budget::{
//!     DEFAULT_KEEP_RECENT, Message, RehydrateOpts, clear_stale_tool_results,
//!     rehydrate_recent_reads,
//! };
//!
//! let messages = vec![Message::user("hello")];
//! // None: nothing was stale, use the input again.
//! let lighter =
//!     clear_stale_tool_results(messages.clone(), DEFAULT_KEEP_RECENT).unwrap_or(messages);
//! let (dropped, kept) = lighter.split_at(1);
//! let restored = rehydrate_recent_reads(dropped, kept, &RehydrateOpts::default());
//! assert!(restored.is_empty());
//! ```
//!
//! A pipeline without a digest: tool outputs cut, old replies collapsed, the middle dropped:
//!
//! ```
//! use window_budget::conductor::{CondenseOpts, Compactor, Pipeline, compact_locally};
//! use window_budget::{Message, ModelCard};
//!
//! let mut messages = vec![Message::user("Why does the build fail?")];
//! let step = |n| Message::bash("make", format!("step {n}\n").repeat(300), Some(2));
//! messages.extend((0..40).map(step));
//! let pipeline = Pipeline::preset("three-level").expect("it is one of the four");
//! let settings = Compactor::new().card(ModelCard::with_window(12_000)).pipeline(pipeline);
//! let report = compact_locally(&mut messages, &settings, &CondenseOpts::default());
//! assert!(report.tokens_after <= report.target_tokens.unwrap());
//! assert_eq!(messages[0], Message::user("Why does the build fail?"));
//! ```
//!
//! A context-window policy; keys that are left out of its JSON get the same defaults:
//!
//! ```
//! use window_budget::{ContextCompactionMode, ContextWindowPolicy};
//!
//! let policy = ContextWindowPolicy {
//!     autocompact_threshold: Some(100_000),
//!     compaction_mode: ContextCompactionMode::KeepRecentRawSuffix,
//!     compaction_raw_suffix_messages: 4,
//!     ..Default::default()
//! };
//! assert_eq!(policy.available_tokens(3_616), 200_000 - 16_384 - 3_616);
//! ```
//!
//! Bound to an agent host that speaks in turns:
//!
//! ```
//! use window_budget::conductor::{CondenseFn, CondenseOpts, WindowBudgetCondense};
//! use window_budget::message::Turn;
//! use window_budget::{CondenserDeps, ModelCard};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let card = Some(ModelCard::with_window(200_000));
//! let condense = WindowBudgetCondense::new(CondenserDeps { card, ..CondenserDeps::default() });
//! let turns = vec![Turn::user("hello"), Turn::assistant("hi")];
//! let opts = CondenseOpts { context_tokens: 900, ..CondenseOpts::default() };
//! let same = condense.condense(turns.clone(), opts).await;
//! assert_eq!(same, turns);
//! # }
//! ```
//!
//! A session in a file that is compacted automatically, and an undo; with the feature `session`:
//!
#![cfg_attr(feature = "session", doc = "```")]
#![cfg_attr(not(feature = "session"), doc = "```ignore")]
//! use window_budget::session::store::jsonl::JsonlStore;
//! use window_budget::session::{
//!     Durability, IdSource, NewSession, Session, SessionDriver, read_settings,
//! };
//! use window_budget::{Message, ModelCard};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("window-budget-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let file = folder.join("session.jsonl");
//! // JsonlStore::open and Session::open continue an existing one.
//! let store = JsonlStore::create(&file, Durability::default())?;
//! let session = Session::create(Box::new(store), &NewSession::default(), IdSource::new(7))?;
//!
//! let read = read_settings(Some(&folder.join("user.json")), Some(&folder.join("project.json")))?;
//! let card = ModelCard::with_window(48_000);
//! let compactor = read.compactor(&card, None)?; // Some(model) for better digests
//! let context = read.follow(compactor, &card);
//! let mut driver = SessionDriver::new(session, context, read.settings.compaction)?;
//! // Times are milliseconds since the Unix epoch.
//! driver.append(Message::user("Port the importer."), None, 1)?;
//! driver.append(Message::assistant("Working on it. ".repeat(9_000)), None, 2)?;
//! driver.append(Message::user("Go on."), None, 3)?;
//!
//! driver.before_request(4).await?;
//! assert_eq!(driver.messages().len(), 2); // the digest, and what was asked last
//! assert!(driver.undo(5)? && driver.messages().len() == 3);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```

pub use wb_budget as budget;
#[cfg(feature = "compat")]
pub use wb_compat as compat;
pub use wb_conductor as conductor;
pub use wb_facts as facts;
#[cfg(feature = "formats")]
pub use wb_formats as formats;
pub use wb_invoke as invoke;
pub use wb_message as message;
pub use wb_passes as passes;
#[cfg(any(feature = "anthropic", feature = "gemini", feature = "openai", feature = "openai-responses"))]
pub use wb_providers as providers;
pub use wb_recall as recall;
#[cfg(feature = "record")]
pub use wb_record as record;
#[cfg(any(feature = "formats", feature = "session"))]
pub use wb_session as session;
pub use wb_summarize as summarize;
#[cfg(feature = "tokens")]
pub use wb_tokens as tokens;

pub use wb_budget::{
    AUTO_CONDENSE_POLICY, BudgetPolicy, CondensePlan, ContextCompactionMode, ContextWindow,
    ContextWindowPolicy, ModelCard, TokenEstimate, Usage, budget_limit, estimate_message_tokens,
    estimate_tokens, is_over_budget, last_user_turn_start, plan_slice, prefix_tokens,
};
pub use wb_conductor::{
    CondenseFn, CondenseOpts, Condenser, CondenserDeps, IdentityCondense, WindowBudgetCondense, condense,
    condense_transcript, content_to_blocks, create_condenser, message_to_turn, turn_to_messages,
};
pub use wb_invoke::{Emission, ModelInvoker, Reply, StopReason, StreamOptions, ThinkingLevel, collect_text};
pub use wb_message::{Block, Content, Conversation, Message, ToolDescriptor, Turn};
pub use wb_passes::{
    CLEARED_TOOL_RESULT, DEFAULT_KEEP_RECENT, RESTORED_FILE_PREFIX, RehydrateOpts, clear_stale_tool_results,
    compactable_tool_names, rehydrate_recent_reads,
};
pub use wb_summarize::{
    BRANCH_HEADER, CONDENSER_BRIEF, CompactionConfig, CompactionExecutionMode, CompactionRawRetention,
    CondenseScope, DIGEST_HEADER, SECTION_TEMPLATE, SummarizeDeps, Summary, TURN_MARK, build_summary_prompt,
    condense_scope, flatten_transcript, local_fallback_digest, summarize,
};

/// The names that a host needs to keep a transcript within its window.
///
/// ```
/// use window_budget::prelude::*;
///
/// let mut messages: Vec<Message> =
///     (0..60).map(|n| Message::user(format!("step {n} {}", "x".repeat(900)))).collect();
/// let compactor = Compactor::new().card(ModelCard::with_window(12_000));
/// let report = compact_locally(&mut messages, &compactor, &CondenseOpts::default());
/// assert!(report.is_changed() && messages.len() < 60);
/// ```
pub mod prelude {
    pub use wb_budget::{BudgetPolicy, ModelCard, TokenCounter};
    pub use wb_conductor::{
        AgentContext, AgentSettings, CompactionReport, Compactor, CondenseOpts, Pipeline, compact_in_place,
        compact_locally, compact_turns,
    };
    pub use wb_invoke::{ModelInvoker, from_fn};
    pub use wb_message::{Block, Content, Conversation, Message, Turn};
    pub use wb_summarize::Summarizer;
}

/// The README's example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The examples of the guide for hosts, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/write-a-host.md")]
struct WriteAHost;

/// The example of the recipe for sessions, run as a test.
#[cfg(all(doctest, feature = "session"))]
#[doc = include_str!("../../../docs/recipes/compact-a-session-by-itself.md")]
struct CompactASession;
