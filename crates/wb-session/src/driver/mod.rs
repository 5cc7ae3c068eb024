//! A session that is compacted by the engine: the transcript in a log, with the hooks of extensions.

pub mod hooks;
pub mod settings_files;
pub mod compaction_job;
pub mod navigate;

pub use compaction_job::{CompactionJob, FinishedCompaction, HostError, SessionCompaction, compact_session};
pub use hooks::{
    BeforeCompact, BeforeTree, CompactionReason, HookCompaction, HookError, HookFault, HookFuture, HookList,
    HookSummary, NoHooks, SessionBeforeCompactEvent, SessionBeforeTreeEvent, SessionCompactEvent,
    SessionCompactFailedEvent, SessionHooks, SessionTreeEvent, TreeOverrides, TreePreparation,
};
pub use navigate::{NavigateOpts, TreeNavigation, navigate_tree};
pub use settings_files::{SettingsFileError, SettingsNote, SettingsRead, read_settings};
