//! Hindsight on real sessions: what each strategy would have kept of them, and what they would have cost.
//!
//! A session has a past and, at each place in it, a future that really happened. [`replay()`] compacts the past at the places
//! where a window would have been full, with every preset of the engine and with simple rivals of the same size, asks
//! no model, and looks at what the next messages really needed: which [`entities`] their tool calls use that the history
//! held ([`Names::needs`]), and whether they are still there ([`Kept`]). The past is always the whole history so far, not
//! what a compaction at an earlier place has left. Beside that it tells what the whole session would have cost
//! ([`Spent`]). [`summarize`] sums up over sessions, with intervals.
//!
//! ```
//! use serde_json::json;
//! use wb_message::{Block, Message};
//! use wb_replay::{Options, Session, replay, summarize};
//!
//! let step = |n: usize| {
//!     let id = format!("c{n}");
//!     let call = Block::call(&id, "Read", json!({"path": format!("src/part_{}.rs", n % 30)}));
//!     [Message::assistant_blocks(vec![call]), Message::tool_result(id, "Read", "fn f() {}\n".repeat(60))]
//! };
//! let messages = [Message::user("Read all parts.")].into_iter().chain((0..90).flat_map(step)).collect();
//! let options = Options { windows: vec![16_000], ..Options::default() };
//! let report = replay(&Session::of("parts", messages), &options);
//! let summaries = summarize(&[report]);
//! assert_eq!(summaries[0].strategy, "window-budget");
//! assert!(summaries[0].size.mean < 0.9 && summaries.last().unwrap().names.mean == 1.0);
//! ```
//!
//! It knows no terminal and no file: sessions come as documents, reports go as values ([`html`] renders them as a page).

mod names;
mod message_text;
mod needs;
mod kept;
mod cuts;
mod times;
mod messages_before;
mod session;
mod strategy;
mod cost;
mod rules;
mod bootstrap;
mod to_size;
mod replay;
mod equal_sizes;
mod svg;
pub mod html;

pub use bootstrap::Interval;
pub use cost::{Point, Spent, Tally};
pub use cuts::CutRule;
pub use equal_sizes::{AtSize, at_sizes};
pub use kept::{Kept, LooseEnds, prompt_texts, retained};
pub use message_text::{body, size, total_size};
pub use names::entities;
pub use needs::{Names, Need};
pub use replay::{
    CAVEAT, CostRow, NATIVE, Options, Outcome, Replay, SessionReport, Summary, Trial, replay, summarize,
};
pub use rules::{Course, Places, RULES, Rule, Run};
pub use session::{Session, Stretch, facts_of, stretches};
pub use strategy::{STRATEGIES, Strategy};
pub use to_size::{Forced, digesting};
