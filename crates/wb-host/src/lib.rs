//! Sessions and models joined: a compaction that was prepared is run, judged and appended.
//!
//! [`compact`] takes what [`prepare_compaction`](wb_session::prepare_compaction) made of a session's path, asks a
//! model for the summary and judges its reply; without a model, or where the reply is of no use, the local digest
//! stands in and the [`SummarySource`] says why. [`append_compaction`] writes the outcome as an entry of the session.
//! A branch that is left is summarized by [`generate_branch_summary`] and noted where the session goes on by
//! [`append_branch_summary`]. [`compact_session`] and [`navigate_tree`] go the whole way and let [`SessionHooks`] have
//! their say.
//!
//! A host that wants a session to be compacted by itself asks a [`SessionFlow`] before each request and after each
//! answer; the [`FlowAction`] that it gets says what to do. If the session must be free while a model is asked, a
//! [`CompactionJob`] is run apart from it and its outcome appended afterwards. The example `agent_loop` is such a host,
//! `custom_compaction` one with a hook of its own. What takes a compaction back is
//! [`Session::undo_compaction`](wb_session::Session::undo_compaction).
//!
//! [`read_settings`] reads the settings of a session from two files. [`is_overflow`] tells whether an answer shows that
//! the context was too large.
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
pub mod overflow;
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
pub mod context_usage;
mod answer_outcome;
pub mod shorten;
pub mod flow_action;
pub mod flow;

pub use branch::{
    BranchSummaryOpts, BranchSummaryOutcome, LeftBranch, append_branch_summary, generate_branch_summary,
    read_left_branch,
};
pub use compaction::{CompactOpts, append_compaction, compact};
pub use compaction_job::{CompactionJob, FinishedCompaction, HostError, SessionCompaction, compact_session};
pub use compaction_result::{CompactError, CompactionOutcome, SummarySource};
pub use context_usage::{ContextUsage, PendingRequest};
pub use counter::Counter;
pub use flow::{SessionFlow, UNHELPFUL_COMPACTIONS};
pub use flow_action::{Compacted, FlowAction, FlowState, Shortened, Stopped};
pub use hooks::{
    BeforeCompact, BeforeTree, CompactionReason, HookCompaction, HookError, HookFault, HookFuture, HookList,
    HookSummary, NoHooks, SessionBeforeCompactEvent, SessionBeforeTreeEvent, SessionCompactEvent,
    SessionCompactFailedEvent, SessionHooks, SessionTreeEvent, TreeOverrides, TreePreparation,
};
pub use navigate::{NavigateOpts, TreeNavigation, navigate_tree};
pub use overflow::{is_overflow, is_overflow_error};
pub use prompt::{SUMMARIZER_BRIEF, SUMMARY_FORMAT, SummaryTask, TURN_PREFIX_FORMAT};
pub use settings_files::{SettingsFileError, SettingsNote, SettingsRead, read_settings};
pub use shorten::Shortening;
/// What stops a compaction or a summary from outside; of the crate `tokio-util`.
pub use tokio_util::sync::CancellationToken;
