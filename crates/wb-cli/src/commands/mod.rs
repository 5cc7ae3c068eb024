//! The commands, one file or folder each.

pub(crate) mod choose_session;
pub(crate) mod overview;
pub(crate) mod weigh;
pub(crate) mod compaction_log;
pub(crate) mod undo_redo;
pub(crate) mod log;
pub(crate) mod compact;
pub(crate) mod recall;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod compare;
pub(crate) mod audit;
pub(crate) mod validate;
pub(crate) mod repair;
pub(crate) mod convert;
pub(crate) mod formats;
pub(crate) mod doctor;
pub(crate) mod models;
pub(crate) mod api;
pub(crate) mod config;
pub(crate) mod statusline;
pub(crate) mod hook;
pub(crate) mod install;
pub(crate) mod replay;
pub(crate) mod session;
pub(crate) mod completions_and_man;
