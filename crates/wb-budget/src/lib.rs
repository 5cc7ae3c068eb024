//! Token arithmetic for context windows: what a transcript weighs, whether it is over budget, and where to cut.
//!
//! Pure arithmetic without clocks, files or models. [`estimate_tokens`] weighs by heuristic, [`is_over_budget`]
//! tells whether to condense, [`plan_cut`] tells where, without separating a tool call from its result.
//!
//! ```
//! use wb_budget::{AUTO_CONDENSE_POLICY, ModelCard, Tariff, budget_limit, estimate_tokens, is_over_budget};
//! use wb_message::Message;
//!
//! let messages = vec![Message::user("x".repeat(36_000)), Message::assistant("Noted.")];
//! let card = ModelCard::with_window(12_000);
//! assert_eq!(estimate_tokens(&messages), 10_006 + 8);
//! assert_eq!(budget_limit(&card, &AUTO_CONDENSE_POLICY), 7_464.0);
//! assert!(is_over_budget(&messages, &card, &AUTO_CONDENSE_POLICY));
//! assert_eq!(Tariff::SEED.chars_per_token, 3.6);
//! ```

pub mod card;
pub mod policy;
pub mod window_policy;
pub mod weigh;
pub mod gate;
pub mod budget;
pub mod weighed;
pub mod slice;
pub mod ledger;

pub use budget::{Budget, BudgetSplit, landing};
pub use card::{ModelCard, Prices, Usage};
pub use gate::{
    DIGEST_TOKENS, Irreducible, RESTORED_TOKENS, TokenEstimate, budget_limit, is_over, is_over_budget,
};
pub use ledger::{Ledger, StepError, one_step_errors};
pub use policy::{
    AUTO_CONDENSE_POLICY, BudgetPolicy, CompactionPolicy, FRAMEWORK_COMPACTION_POLICY, PolicyError,
};
pub use slice::{CompactionCut, CondensePlan, last_user_turn_start, plan_compaction, plan_cut, plan_slice};
pub use weigh::anchor::{Calibrated, Calibration, UsageRefused};
pub use weigh::lineage::LineageTariff;
pub use weigh::tariff::{Meter, Tariff};
pub use weigh::three_level;
pub use weigh::{
    Weigher, estimate_message_tokens, estimate_text, estimate_tokens, prefix_sums, prefix_tokens,
};
pub use weighed::WeighedTranscript;
pub use window_policy::{
    CONTEXT_WINDOW_POLICY, ContextCompactionMode, ContextWindowPolicy, WindowPolicyError,
};
