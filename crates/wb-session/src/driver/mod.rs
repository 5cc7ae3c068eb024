//! A session that the engine compacts: a transcript in a log, its hooks, and its branches.

pub(crate) mod hooks;
pub(crate) mod settings_files;
pub(crate) mod before_compact;
pub(crate) mod step;
pub(crate) mod navigate;
pub(crate) mod session_driver;

pub use before_compact::DriverError;
pub use hooks::{
    BeforeCompact, BeforeTree, CompactionReason, HookCompaction, HookError, HookFault, HookFuture, HookList,
    HookSummary, NoHooks, SessionBeforeCompactEvent, SessionBeforeTreeEvent, SessionCompactEvent,
    SessionCompactFailedEvent, SessionHooks, SessionTreeEvent, TreeOverrides, TreePreparation,
};
pub use navigate::{NavigateOpts, TreeNavigation, navigate_tree};
pub use session_driver::{Compacted, SessionDriver};
pub use settings_files::{SettingsFileError, SettingsNote, SettingsRead, read_settings};
pub use step::StepNote;
