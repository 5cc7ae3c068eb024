//! Document 4: a policy of the context window, and what a runtime makes of it.
//!
//! Each request is prepared by [`truncate`]: previews of giant tool outputs, the oldest history dropped, dangling calls
//! answered. Older history becomes a summary by [`maybe_spawn_compaction`], a request of the host's to a model, and
//! [`try_consume_compaction_event`]. Every recorded answer is equal but for one text: the wording of the
//! [`continuation_message`] is ours, since only its hash was recorded.
//!
//! A message of the published crate has an id, a visibility and a mark: a [`ThreadMessage`] around ours. What needs a
//! model or a task, and the plugins of the runtime, is not here: a host asks its model itself, or takes
//! `wb-conductor`.
//!
//! ```
//! use wb_compat::policy::{ContextWindowPolicy, ThreadMessage, plan_compaction};
//! use wb_message::Message;
//!
//! let policy = ContextWindowPolicy { autocompact_threshold: Some(1_000), ..ContextWindowPolicy::default() };
//! let said = [Message::user("x".repeat(8_000)), Message::assistant("Done."), Message::user("Thanks."), Message::user("Next?")];
//! let messages: Vec<_> = said.into_iter().zip(["m0", "m1", "m2", "m3"]).map(|(m, id)| ThreadMessage::new(id, m)).collect();
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
