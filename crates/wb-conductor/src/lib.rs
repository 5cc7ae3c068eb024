//! The engine: the stages of a compaction, and the callers that drive them.
//!
//! A [`Pipeline`] of steps plans over a weighed transcript and returns a [`Plan`]; the plan becomes
//! [`Ready`], without a model or by asking one; and the ready change is applied as one patch, or
//! not at all. A [`Compactor`] holds the decisions of a host. The callers use it:
//! [`compact_in_place`] for messages, [`WindowBudgetCondense`] for a host's turns, and
//! [`AgentContext`] for the loop of an agent, also while turns go on.
//!
//! The files are listed in the order of their dependencies; `docs/how-a-compaction-runs.md` walks
//! one transcript along them.
//!
//! ```
//! use wb_budget::ModelCard;
//! use wb_conductor::{Compactor, CondenseOpts, compact_locally};
//! use wb_message::Message;
//!
//! let mut messages: Vec<Message> = (0..40)
//!     .map(|n| Message::user(format!("Step {n}: {}", "x".repeat(900))))
//!     .flat_map(|step| [step, Message::assistant("Done.")])
//!     .collect();
//! let compactor = Compactor::new().card(ModelCard::with_window(12_000));
//! let report = compact_locally(&mut messages, &compactor, &CondenseOpts::default());
//! assert!(report.tokens_after <= report.target_tokens.unwrap());
//! assert_eq!(messages.len(), report.messages_after);
//!
//! report.undo.expect("it was changed").revert(&mut messages);
//! assert_eq!(messages.len(), 80);
//! ```

mod report;
mod turns;
mod step;
mod draft;
mod digest_writer;
mod breaker;
mod ready;
mod plan;
mod engine;
mod pipeline;
mod target_size;
mod compactor;
mod compact;
mod document0;
mod continuation;
mod session_rate;
mod background;
mod context;
mod agent_settings;

pub use agent_settings::{AgentSections, AgentSettings, ContextTransform, SettingsError};
pub use breaker::{BREAKER_AFTER, BREAKER_LASTS};
pub use compact::{compact_in_place, compact_locally, compact_turns};
pub use compactor::{Compactor, CondenseOpts, DEFAULT_TIMEOUT};
pub use context::AgentContext;
pub use continuation::{
    CONTINUATION_PROMPT, CallDraft, DEFAULT_MAX_CONTINUATIONS, ReplyDraft, TruncationState,
    continuation_message, needs_truncation_recovery,
};
pub use document0::{
    CondenseFn, Condenser, CondenserDeps, IdentityCondense, WindowBudgetCondense, condense,
    condense_transcript, create_condenser,
};
pub use pipeline::{PRESETS, Pipeline, PipelineError, PlanInput};
pub use plan::Plan;
pub use ready::Ready;
pub use report::{CompactionReport, StepReport, Unchanged};
pub use step::{
    DEFAULT_MAX_RESTORED, DIGEST, DROP, DigestStep, DropStep, RESTORE, RestoreStep, Step, Trigger,
};
pub use tokio_util::sync::CancellationToken;
pub use turns::{Projection, TurnsUndo, content_to_blocks, message_to_turn, project, turn_to_messages};
pub use wb_budget::Irreducible;
pub use wb_budget::{
    AUTO_CONDENSE_POLICY, Budget, BudgetPolicy, ModelCard, PolicyError, TokenCounter, TokenHeuristic, Usage,
    WeighedTranscript,
};
pub use wb_facts::Facts;
pub use wb_invoke::ModelInvoker;
pub use wb_invoke::from_fn;
pub use wb_message::{Block, Content, Conversation, Message, Patch, ToolVocabulary, Turn, json};
pub use wb_summarize::{DigestSource, Summarizer};
