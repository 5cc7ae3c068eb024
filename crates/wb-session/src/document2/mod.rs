//! Functions with fixed names and answers, for hosts that know sessions by them: what a compaction
//! and a branch summary are prepared from, asked for and merged into. A session is compacted by the
//! [driver](crate::driver), not by these.

pub(crate) mod settings;
mod context_view;
mod accounting;
mod cut;
pub(crate) mod files;
mod convert;
mod serialize;
mod prepare;
mod branch_entries;
#[cfg(feature = "driver")]
pub(crate) mod prompt;
#[cfg(feature = "driver")]
mod chunk;
#[cfg(feature = "driver")]
mod request;
#[cfg(feature = "driver")]
pub(crate) mod compaction_result;
#[cfg(feature = "driver")]
mod summarize;
#[cfg(feature = "driver")]
pub(crate) mod compact;
#[cfg(feature = "driver")]
pub(crate) mod branch_summary;

pub use accounting::{
    ContextEstimate, calculate_context_tokens, estimate_context, last_usage, should_compact,
};
pub use branch_entries::{
    AbandonedBranch, BranchPreparation, collect_entries_for_branch_summary, prepare_branch_entries,
};
#[cfg(feature = "driver")]
pub use branch_summary::{
    BranchSummaryOpts, BranchSummaryOutcome, LeftBranch, append_branch_summary, generate_branch_summary,
    read_left_branch,
};
#[cfg(feature = "driver")]
pub use compact::{CompactOpts, append_compaction, compact};
#[cfg(feature = "driver")]
pub use compaction_result::{CompactError, CompactionOutcome, SummarySource};
pub use context_view::SESSION_PRESET;
pub use convert::{BRANCH_SUMMARY_PREFIX, COMPACTION_SUMMARY_PREFIX, convert_to_llm};
pub use cut::{CutPoint, cut_candidates, find_cut_point, find_turn_start};
pub use files::{FileLists, FileOps, compute_file_lists, format_file_operations, split_file_tags};
pub use prepare::{CompactionPreparation, prepare_compaction};
#[cfg(feature = "driver")]
pub use prompt::{SUMMARIZER_BRIEF, SummaryTask};
pub use serialize::{SerializeOpts, serialize_conversation, without_fences};
pub use settings::{BranchSummarySettings, CompactionSettings, SessionSettings, SessionSettingsError};
