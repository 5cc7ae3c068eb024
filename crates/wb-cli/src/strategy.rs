//! The strategies that a session can be condensed with, and what each allows it to weigh.

use clap::ValueEnum;
use clap::error::ErrorKind;
use wb_budget::{BudgetPolicy, CONTEXT_WINDOW_POLICY, ContextWindowPolicy, ModelCard, budget_limit};
use wb_conductor::{Ladder, LadderBudget};
use wb_passes::ArtifactCompactionConfig;
use wb_passes::three_level::ContextConfig;

use crate::number::grouped;

/// How a session is brought down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strategy {
    /// One digest of the head, the recent tail verbatim, files given back
    #[default]
    WindowBudget,
    /// Shorter tool outputs, then one line per old reply, then no middle
    ThreeLevel,
    /// Previews of oversized results, then the oldest messages dropped, then repair
    Policy,
    /// From cheap to dear: clear, shorten, digest, drop the middle
    Ladder,
}

/// A window smaller than a policy's own reserve is tried out with this part of it held back.
const TRIED_PART: usize = 4;

impl Strategy {
    pub(crate) const ALL: [Self; 4] = [Self::WindowBudget, Self::ThreeLevel, Self::Policy, Self::Ladder];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::WindowBudget => "window-budget",
            Self::ThreeLevel => "three-level",
            Self::Policy => "policy",
            Self::Ladder => "ladder",
        }
    }

    /// Tells whether it writes a digest, which is what can be forced.
    pub(crate) fn digests(self) -> bool {
        matches!(self, Self::WindowBudget | Self::Ladder)
    }

    /// Ends the program with a usage error where a strategy is forced that has nothing to force.
    pub(crate) fn check_force(self, force: bool) {
        if force && !self.digests() {
            let name = self.name();
            let why = format!(
                "--force folds the head into a digest, and the strategy {name} writes none\nhint: leave out --force, or try a smaller --window"
            );
            clap::Command::new("wb").error(ErrorKind::ArgumentConflict, why).exit();
        }
    }

    /// Returns the ladder of the strategy; the pipeline of the default has its own order.
    pub(crate) fn ladder(self) -> Option<Ladder> {
        match self {
            Self::WindowBudget => None,
            Self::ThreeLevel => Some(Ladder::three_level(&ContextConfig::default())),
            Self::Policy => Some(Ladder::policy(&CONTEXT_WINDOW_POLICY, ArtifactCompactionConfig::default())),
            Self::Ladder => Some(Ladder::default()),
        }
    }

    /// Returns what a session may weigh, and in words where that comes from.
    pub(crate) fn allowance(
        self,
        card: &ModelCard,
        budget: &BudgetPolicy,
        overhead_tokens: u64,
    ) -> Allowance {
        let window = usize::try_from(card.context_window).unwrap_or(usize::MAX);
        match self {
            Self::WindowBudget | Self::Ladder => {
                let (reserve, ratio) = (grouped(budget.reserve_tokens.unwrap_or(0)), budget.trigger_ratio);
                Allowance {
                    limit_tokens: budget_limit(card, budget),
                    budget: LadderBudget::of(card, budget, overhead_tokens),
                    formula: format!("(window − {reserve}) × {ratio}"),
                }
            }
            Self::ThreeLevel => {
                let assumed = ContextConfig::default().system_prompt_tokens.min(window / TRIED_PART) as u64;
                // What is known of the system prompt takes the place of what is assumed of it.
                let unknown = assumed.saturating_sub(overhead_tokens);
                let limit_tokens = card.context_window - unknown;
                let budget = LadderBudget::landing(limit_tokens, overhead_tokens);
                Allowance {
                    limit_tokens: limit_tokens as f64,
                    budget,
                    formula: minus(unknown, "system prompt"),
                }
            }
            Self::Policy => {
                let max_output_tokens = CONTEXT_WINDOW_POLICY.max_output_tokens.min(window / TRIED_PART);
                let policy = ContextWindowPolicy {
                    max_context_tokens: window,
                    max_output_tokens,
                    ..CONTEXT_WINDOW_POLICY
                };
                let available = policy.clamped_to(card).available_tokens(0) as u64;
                let budget = LadderBudget::flat(available, overhead_tokens);
                let formula = minus(max_output_tokens as u64, "answer");
                Allowance { limit_tokens: available as f64, budget, formula }
            }
        }
    }
}

fn minus(tokens: u64, what: &str) -> String {
    format!("window − {} for the {what}", grouped(tokens))
}

/// What a session may weigh.
#[derive(Clone, Debug)]
pub(crate) struct Allowance {
    /// Tokens above which it is over budget.
    pub(crate) limit_tokens: f64,
    /// The same for a ladder.
    pub(crate) budget: LadderBudget,
    /// The limit as a formula.
    pub(crate) formula: String,
}
