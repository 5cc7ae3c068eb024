//! The strategies that a session can be condensed with: the presets of the pipeline.

use clap::ValueEnum;
use wb_conductor::{Pipeline, Step};

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

    /// Returns the preset of this name.
    pub(crate) fn pipeline(self) -> Pipeline {
        Pipeline::preset(self.name()).unwrap_or_default()
    }

    /// Returns whether it writes a digest.
    pub(crate) fn digests(self) -> bool {
        self.pipeline().steps.iter().any(|step| matches!(step, Step::Digest(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_is_a_preset() {
        assert_eq!(Strategy::ALL.map(Strategy::name), wb_conductor::PRESETS);
    }
}
