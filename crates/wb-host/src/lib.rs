//! Sessions and models joined: a compaction that was prepared is run, judged and appended.
//!
//! [`compact`] takes what [`prepare_compaction`](wb_session::prepare_compaction) made of a session's path, asks a
//! model for the summary and judges its reply; without a model, or where the reply is of no use, the local digest
//! stands in and the [`SummarySource`] says why. [`append_compaction`] writes the outcome as an entry of the session.
//! A branch that is left is summarized by [`generate_branch_summary`] and noted where the session goes on by
//! [`append_branch_summary`]. [`compact_session`] and [`navigate_tree`] go the whole way and let [`SessionHooks`] have
//! their say.
//!
//! Tokens are counted by a [`Counter`], which is the heuristic of the whole product unless a host gives another. There
//! are no clocks here: times are inputs.
//!
//! ```
//! use futures::executor::block_on;
//! use wb_budget::TokenHeuristic;
//! use wb_host::{CompactOpts, append_compaction, compact};
//! use wb_message::Message;
//! use wb_session::{CompactionSettings, IdSource, NewSession, Session, prepare_compaction, store::memory::MemoryStore};
//!
//! let begin = NewSession { id: "s".into(), timestamp: 0, cwd: "/".into(), parent_session: None };
//! let mut session = Session::create(Box::new(MemoryStore::default()), &begin, IdSource::new(7))?;
//! session.append(&Message::user("Port the importer.").into(), 1)?;
//! session.append(&Message::assistant("Working on it. ".repeat(200)).into(), 2)?;
//! session.append(&Message::user("Go on.").into(), 3)?;
//! session.append(&Message::assistant("Done.").into(), 4)?;
//!
//! let entries = session.entries_in_reach(session.leaf())?;
//! let path: Vec<_> = entries.iter().collect();
//! let settings = CompactionSettings { keep_recent_tokens: 12, ..CompactionSettings::default() };
//! let preparation = prepare_compaction(&path, &settings, &TokenHeuristic::DEFAULT).expect("something to summarize");
//! let outcome = block_on(compact(preparation, None, CompactOpts::default()))?;
//! assert!(outcome.summary.starts_with("## Goal\n- First request: Port the importer."));
//! append_compaction(&mut session, outcome, 5)?;
//! assert_eq!(session.context(session.leaf())?.messages.len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod settings_files;
pub mod counter;
pub mod prompt;
mod chunk;
mod request;
pub mod compaction_result;
mod local;
mod summarize;
pub mod compaction;
pub mod branch;
pub mod hooks;
pub mod compaction_job;
pub mod navigate;

pub use branch::{
    BranchSummaryOpts, BranchSummaryOutcome, LeftBranch, append_branch_summary, generate_branch_summary,
    read_left_branch,
};
pub use compaction::{CompactOpts, append_compaction, compact};
pub use compaction_job::{CompactionJob, FinishedCompaction, HostError, SessionCompaction, compact_session};
pub use compaction_result::{CompactError, CompactionOutcome, SummarySource};
pub use counter::Counter;
pub use hooks::{
    BeforeCompact, BeforeTree, CompactionReason, HookCompaction, HookError, HookFault, HookFuture, HookList,
    HookSummary, NoHooks, SessionBeforeCompactEvent, SessionBeforeTreeEvent, SessionCompactEvent,
    SessionCompactFailedEvent, SessionHooks, SessionTreeEvent, TreeOverrides, TreePreparation,
};
pub use navigate::{NavigateOpts, TreeNavigation, navigate_tree};
pub use prompt::{SUMMARIZER_BRIEF, SUMMARY_FORMAT, SummaryTask, TURN_PREFIX_FORMAT};
pub use settings_files::{SettingsFileError, SettingsNote, SettingsRead, read_settings};
/// What stops a compaction or a summary from outside; of the crate `tokio-util`.
pub use tokio_util::sync::CancellationToken;
