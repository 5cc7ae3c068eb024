//! Policies as data: the trigger of a compaction and the size of the tail.

use serde::{Deserialize, Serialize};

/// The policy of the gate and the slicer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct BudgetPolicy {
    /// Fraction of the usable window, in (0, 1], above which the transcript is over budget.
    pub trigger_ratio: f64,
    /// The recent tail to keep verbatim, in **tokens**.
    pub keep_recent: u64,
    /// Tokens reserved before the ratio applies; `None` is 0.
    pub reserve_tokens: Option<u64>,
}

/// The policy that the gate and the slicer share by default.
pub const AUTO_CONDENSE_POLICY: BudgetPolicy =
    BudgetPolicy { trigger_ratio: 0.75, keep_recent: 6000, reserve_tokens: Some(2048) };

impl Default for BudgetPolicy {
    fn default() -> Self {
        AUTO_CONDENSE_POLICY
    }
}

/// The reason that a policy or a size in settings was refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The ratio is not a number in (0, 1].
    #[error("trigger ratio {0} is not in (0, 1]; 0.75 compacts once three quarters of the window are used")]
    Ratio(f64),
    /// The window is empty.
    #[error("max_context_tokens is 0; it must be at least 1")]
    NoWindow,
    /// The answer takes the whole window.
    #[error("max_output_tokens ({output}) must be less than max_context_tokens ({window})")]
    NoInput {
        /// Tokens of the window.
        window: usize,
        /// Tokens reserved for the answer.
        output: usize,
    },
    /// A size is 0.
    #[error("{field} is 0; it must be at least 1")]
    Zero {
        /// The field's name.
        field: &'static str,
    },
}

impl BudgetPolicy {
    /// Returns the policy if its values make sense: a ratio in (0, 1].
    ///
    /// The arithmetic accepts any value; validate a policy from outside here first.
    pub fn validated(self) -> Result<Self, PolicyError> {
        // NaN and the infinities fail the comparison.
        if self.trigger_ratio > 0.0 && self.trigger_ratio <= 1.0 {
            Ok(self)
        } else {
            Err(PolicyError::Ratio(self.trigger_ratio))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preset_has_its_numbers() {
        let auto = AUTO_CONDENSE_POLICY;
        assert_eq!((auto.trigger_ratio, auto.keep_recent, auto.reserve_tokens), (0.75, 6000, Some(2048)));
    }

    #[test]
    fn only_ratios_above_0_and_up_to_1_pass() {
        let with = |trigger_ratio| BudgetPolicy { trigger_ratio, ..AUTO_CONDENSE_POLICY }.validated();
        assert!(with(1.0).is_ok() && with(f64::MIN_POSITIVE).is_ok());
        for bad in [0.0, -1.0, 1.000_1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(with(bad).is_err(), "{bad}");
        }
    }
}
