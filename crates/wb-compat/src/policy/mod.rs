//! Document 4: a policy of the context window, and a runtime that applies it.
//!
//! [`truncate`] prepares each request: it previews giant tool outputs, drops the oldest history and
//! answers dangling calls. Older history becomes a summary by [`maybe_spawn_compaction`], the
//! host's request to a model, and [`try_consume_compaction_event`]. Every recorded answer is equal
//! except the text of the [`continuation_message`], of which only a hash was recorded.
//!
//! The published crate's messages have an id, a visibility and a mark: a [`ThreadMessage`] around
//! ours. Models, tasks and the plugins of the runtime are not included: a host asks its model
//! itself, or uses `wb-conductor`.
//!
//! ```
//! use wb_compat::policy::{ContextWindowPolicy, ThreadMessage, plan_compaction};
//! use wb_message::Message;
//!
//! let policy = ContextWindowPolicy {
//!     autocompact_threshold: Some(1_000),
//!     ..ContextWindowPolicy::default()
//! };
//! let messages = [
//!     ThreadMessage::new("m0", Message::user("x".repeat(8_000))),
//!     ThreadMessage::new("m1", Message::assistant("Done.")),
//!     ThreadMessage::new("m2", Message::user("Thanks.")),
//!     ThreadMessage::new("m3", Message::user("Next?")),
//! ];
//!
//! let plan = plan_compaction(&messages, &policy).unwrap();
//! assert_eq!((plan.boundary_message_id.as_str(), plan.pre_tokens), ("m1", 2_009));
//! assert!(plan.transcript.ends_with("[Assistant]: Done."));
//! ```

mod message;
mod estimate;
mod settings;
mod config;
mod artifact;
mod repair;
mod truncation;
mod summary;
mod plan;
mod view;
mod state;
mod recovery;

pub use artifact::{artifact_preview, compact_tool_results};
pub use config::{
    ArtifactCompactionConfig, CompactionConfig, CompactionExecutionMode, CompactionRawRetention,
    ContextTransformConfig, DEFAULT_SUMMARY_TOKENS, ZeroLimit,
};
pub use estimate::{message_tokens, tool_schema_tokens, total_tokens};
pub use message::{CompactionMark, Role, ThreadMessage, Visibility};
pub use plan::{
    CompactionPlan, MIN_COMPACTION_GAIN_TOKENS, find_compaction_boundary, plan_compaction,
    try_plan_compaction,
};
pub use recovery::{
    DEFAULT_MAX_CONTINUATION_RETRIES, InferenceEnd, StopReason, TruncationState, continuation_message,
    needs_truncation_recovery, should_retry,
};
pub use repair::{INTERRUPTED, patch_dangling_tool_calls, strip_unpaired_tool_calls_from_view};
pub use settings::{ContextCompactionMode, ContextWindowPolicy, effective_policy};
pub use state::{
    CompactionBoundary, CompactionEvent, CompactionFailure, CompactionInFlight, CompactionSkipped,
    CompactionState, maybe_spawn_compaction, try_consume_compaction_event,
};
pub use summary::{
    AppliedSummary, SummaryTagsError, apply_summary, extract_previous_summary, render_transcript,
    savings_ratio_ppm, summary_message, trim_to_compaction_boundary, try_extract_previous_summary,
};
pub use truncation::{adjust_split, find_split, truncate};
pub use view::effective_messages;
