//! Hindsight on real sessions: what each strategy would have kept, and what the session would have
//! cost.
//!
//! At any place in a past session the real future is known. [`replay()`] compacts the history where
//! a window would have been full, with every preset of the engine and with simple rivals of the
//! same size, without a model. It then checks what the next messages needed: which [`entities`] of
//! the history their tool calls use ([`Names::needs`]), and whether the compacted context still
//! contains them ([`Retention`]). The history is always the whole past, not the result of an
//! earlier compaction. The replay also computes what the whole session would have cost
//! ([`Spending`]). [`summarize`] sums up over sessions, with confidence intervals.
//!
//! ```
//! use serde_json::json;
//! use wb_message::{Block, Message};
//! use wb_replay::{Options, Session, replay, summarize};
//!
//! let step = |n: usize| {
//!     let id = format!("c{n}");
//!     let call = Block::call(&id, "Read", json!({"path": format!("src/part_{}.rs", n % 30)}));
//!     let result = Message::tool_result(id, "Read", "fn f() {}\n".repeat(60));
//!     [Message::assistant_blocks(vec![call]), result]
//! };
//! let prompt = [Message::user("Read all parts.")];
//! let messages = prompt.into_iter().chain((0..90).flat_map(step)).collect();
//! let options = Options { windows: vec![16_000], ..Options::default() };
//! let report = replay(&Session::new("parts", messages), &options);
//! let summaries = summarize(&[report]);
//! assert_eq!(summaries[0].strategy, "window-budget");
//! assert!(summaries[0].size.mean < 0.9 && summaries.last().unwrap().names.mean == 1.0);
//! ```
//!
//! The crate knows neither terminals nor files: sessions are documents, reports are values
//! ([`html`] renders them as a page).

mod names;
mod message_text;
mod needs;
mod retention;
mod cuts;
mod times;
mod message_log;
mod session;
mod summary_audit;
mod strategy;
mod cost;
mod rules;
mod bootstrap;
mod resized_history;
mod replay;
pub mod html;

pub use bootstrap::Interval;
pub use cost::{Point, Spending, Tally};
pub use cuts::CutRule;
pub use message_text::{body, size, total_size};
pub use names::entities;
pub use needs::{Names, Need};
pub use replay::{
    CAVEAT, CostRow, NATIVE, Options, Outcome, Replay, SessionReport, Summary, Trial, places, replay,
    summarize, summarize_strategy,
};
pub use resized_history::{ResizedHistory, TOLERANCE, digest_presets};
pub use retention::{LooseEnds, Reference, Retention, prompt_texts, retained_shares};
pub use rules::{Course, Places, RULES, Rule, Run};
pub use session::{Segment, Session, collect_facts, segments};
pub use strategy::{RIVALS, STRATEGIES, Strategy};
pub use summary_audit::{AuditedSummary, SummaryAudit, audit_summaries};

/// The recipe's example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/recipes/replay-past-sessions.md")]
struct Recipe;
