//! Token arithmetic for context windows: the weight of a transcript, the gate and the cut.
//!
//! Pure arithmetic without clocks, files or models. [`estimate_tokens`] weighs by heuristic,
//! [`is_over_budget`] decides whether to condense, and [`plan_cut`] finds a cut that never
//! separates a tool call from its result.
//!
//! ```
//! use wb_budget::{
//!     AUTO_CONDENSE_POLICY, ModelCard, TokenHeuristic, budget_limit, estimate_tokens,
//!     is_over_budget,
//! };
//! use wb_message::Message;
//!
//! let messages = vec![Message::user("x".repeat(36_000)), Message::assistant("Noted.")];
//! let card = ModelCard::with_window(12_000);
//! assert_eq!(estimate_tokens(&messages), 10_006 + 8);
//! assert_eq!(budget_limit(&card, &AUTO_CONDENSE_POLICY), 7_464.0);
//! assert!(is_over_budget(&messages, &card, &AUTO_CONDENSE_POLICY));
//! assert_eq!(TokenHeuristic::DEFAULT.chars_per_token, 3.6);
//! ```

pub mod card;
pub mod catalog;
pub mod policy;
pub mod window_policy;
pub mod count;
pub mod gate;
pub mod budget;
pub mod worth;
pub mod context_window;
pub mod transcript;
pub mod slice;
pub mod tracker;

pub use budget::{Budget, BudgetSplit};
pub use card::{ModelCard, Prices, Usage};
pub use catalog::{Catalog, CatalogEntry, ModelOverride, UnknownModel};
pub use context_window::{ContextWindow, WindowError};
pub use count::anchor::UsageRefused;
pub use count::fitted::{Family, FittedCounter};
pub use count::heuristic::TokenHeuristic;
pub use count::presets::HeuristicPreset;
pub use count::{
    TokenCounter, estimate_message_tokens, estimate_text, estimate_tokens, prefix_sums, prefix_tokens,
};
pub use gate::{DIGEST_TOKENS, Irreducible, TokenEstimate, budget_limit, is_over_budget};
pub use policy::{AUTO_CONDENSE_POLICY, BudgetPolicy, PolicyError};
pub use slice::{CondensePlan, last_user_turn_start, plan_cut, plan_slice};
pub use tracker::ContextTracker;
pub use transcript::WeighedTranscript;
pub use wb_message::{Block, Content, Conversation, Message, ToolDescriptor, Turn, json};
pub use window_policy::{CONTEXT_WINDOW_POLICY, ContextCompactionMode, ContextWindowPolicy};
pub use worth::{Prospect, Worth};
