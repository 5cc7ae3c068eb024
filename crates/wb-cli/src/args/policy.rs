//! The options of the budget.

use clap::Args;
use wb_budget::{AUTO_CONDENSE_POLICY, BudgetPolicy};

use crate::args::values::{ratio, tokens, window};

/// The budget of a session.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Budget")]
pub(crate) struct Policy {
    /// Context window, such as 200k [default: the file's, model's or 200k]
    ///
    /// A number of tokens, such as 200000, 200k or 1.5m.
    #[arg(long, value_name = "TOKENS", value_parser = window, allow_negative_numbers = true)]
    pub(crate) window: Option<u64>,
    /// Fraction of the usable window at which to compact, in (0, 1]
    #[arg(long, value_name = "RATIO", default_value_t = AUTO_CONDENSE_POLICY.trigger_ratio, value_parser = ratio, allow_negative_numbers = true)]
    pub(crate) trigger_ratio: f64,
    /// Tokens of the recent tail to keep verbatim
    ///
    /// With --force the tail is what follows the last prompt; this counts only if that is too
    /// large.
    #[arg(long, value_name = "TOKENS", default_value_t = AUTO_CONDENSE_POLICY.keep_recent, value_parser = tokens, allow_negative_numbers = true)]
    pub(crate) keep_recent_tokens: u64,
    /// Tokens to reserve for the answer
    #[arg(long, value_name = "TOKENS", default_value_t = AUTO_CONDENSE_POLICY.reserve_tokens.unwrap_or(0), value_parser = tokens, allow_negative_numbers = true)]
    pub(crate) reserve_tokens: u64,
    /// Compact a session that is within its budget
    ///
    /// A strategy with a digest replaces everything before the last prompt and the reply that it
    /// answers. The others go down to their target, and leave a session below it unchanged.
    #[arg(long)]
    pub(crate) force: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            window: None,
            trigger_ratio: AUTO_CONDENSE_POLICY.trigger_ratio,
            keep_recent_tokens: AUTO_CONDENSE_POLICY.keep_recent,
            reserve_tokens: AUTO_CONDENSE_POLICY.reserve_tokens.unwrap_or(0),
            force: false,
        }
    }
}

impl Policy {
    /// Returns the options of a command line that set this policy, each after a space.
    pub(crate) fn options(&self) -> String {
        let plain = Self::default();
        let unless = |is_plain: bool, option: String| if is_plain { String::new() } else { option };
        let same_ratio = (self.trigger_ratio - plain.trigger_ratio).abs() < f64::EPSILON;
        [
            self.window.map_or_else(String::new, |window| format!(" --window {window}")),
            unless(same_ratio, format!(" --trigger-ratio {}", self.trigger_ratio)),
            unless(
                self.keep_recent_tokens == plain.keep_recent_tokens,
                format!(" --keep-recent-tokens {}", self.keep_recent_tokens),
            ),
            unless(
                self.reserve_tokens == plain.reserve_tokens,
                format!(" --reserve-tokens {}", self.reserve_tokens),
            ),
            unless(!self.force, " --force".to_owned()),
        ]
        .concat()
    }

    pub(crate) fn budget(&self) -> BudgetPolicy {
        BudgetPolicy {
            trigger_ratio: self.trigger_ratio,
            keep_recent: self.keep_recent_tokens,
            reserve_tokens: Some(self.reserve_tokens),
        }
    }
}
