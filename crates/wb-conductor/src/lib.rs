//! Where the stages of a compaction meet.
//!
//! A [`Pipeline`] of steps looks at a weighed transcript and gives a [`Plan`]; the plan becomes [`Ready`], without a model
//! or by asking one; and what is ready is applied as one patch, or not at all. A [`Compactor`] holds what a compaction
//! needs to know. On top of it stand the callers: [`compact_in_place`] for messages, [`WindowBudgetCondense`] for a
//! host's turns, and [`AgentContext`] for a loop of an agent, also while turns go on.
//!
//! ```
//! use wb_budget::ModelCard;
//! use wb_conductor::{Compactor, CondenseOpts, compact_locally};
//! use wb_message::Message;
//!
//! let mut messages: Vec<Message> = (0..40)
//!     .flat_map(|n| [Message::user(format!("Step {n}: {}", "x".repeat(900))), Message::assistant("Done.")])
//!     .collect();
//! let compactor = Compactor::new().card(ModelCard::with_window(12_000));
//! let report = compact_locally(&mut messages, &compactor, &CondenseOpts::default());
//! assert!(report.tokens_after <= report.target_tokens.unwrap());
//! assert_eq!(messages.len(), report.messages_after);
//!
//! report.undo.expect("it was changed").revert(&mut messages);
//! assert_eq!(messages.len(), 80);
//! ```

pub mod report;
mod draft;
pub mod pipeline;
pub mod turns;
pub mod plan;
mod engine;
pub mod compactor;
mod breaker;
pub mod compact;
pub mod condenser;
pub mod document0;
pub mod continuation;
pub mod prompt_cache;
mod session_rate;
pub mod context;
pub mod agent_settings;

pub use agent_settings::{AgentSections, AgentSettings, ContextTransform, SettingsError};
pub use breaker::{BREAKER_AFTER, BREAKER_LASTS};
pub use compact::{
    compact_in_place, compact_locally, compact_locally_with, compact_turns, condense_transcript,
};
pub use compactor::{Compactor, CondenseOpts, CondenserDeps, DEFAULT_TIMEOUT};
pub use condenser::{Condenser, condense, create_condenser};
pub use context::AgentContext;
pub use continuation::{
    CONTINUATION_PROMPT, CallDraft, DEFAULT_MAX_CONTINUATIONS, ReplyDraft, SortedCalls, TruncationState,
    continuation_message, needs_truncation_recovery,
};
pub use document0::{CondenseFn, IdentityCondense, WindowBudgetCondense};
pub use pipeline::{
    DEFAULT_MAX_RESTORED, DIGEST, DigestStep, PRESETS, Pipeline, PipelineError, RESTORE, RestoreStep, Step,
    Trigger, does,
};
pub use plan::{Plan, Ready};
pub use prompt_cache::{PromptPrefix, StablePrefix};
pub use report::{CompactionReport, DigestSource, StepReport, Unchanged};
pub use turns::{Projection, TurnsUndo, content_to_blocks, message_to_turn, project, turn_to_messages};
pub use wb_budget::Irreducible;
pub use wb_summarize::{Summarizer, from_fn};
