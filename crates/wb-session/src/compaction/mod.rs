//! What a compaction of a session needs before a model is asked: when, where it is cut, what is summarized.

mod settings;
mod context_view;
mod accounting;
mod cut;
pub mod files;
mod convert;
mod serialize;
mod prepare;
mod branch_summary;

pub use accounting::{
    ContextEstimate, calculate_context_tokens, estimate_context, estimate_tokens, last_usage, should_compact,
};
pub use branch_summary::{
    AbandonedBranch, BranchPreparation, collect_entries_for_branch_summary, prepare_branch_entries,
};
pub use context_view::{SESSION_PRESET, kept_from};
pub use convert::{BRANCH_SUMMARY_PREFIX, COMPACTION_SUMMARY_PREFIX, convert_to_llm};
pub use cut::{CutPoint, cut_candidates, find_cut_point, find_turn_start};
pub use files::{FileLists, FileOps, compute_file_lists, format_file_operations, split_file_tags};
pub use prepare::{CompactionPreparation, prepare_compaction, prepare_compaction_within};
pub use serialize::{SerializeOpts, serialize_conversation, without_fences};
pub use settings::{BranchSummarySettings, CompactionSettings, SessionSettings, SessionSettingsError};
