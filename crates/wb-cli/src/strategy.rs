//! The strategies that a session can be condensed with: the presets of the pipeline.

use clap::ValueEnum;
use wb_conductor::{Pipeline, Step};
use wb_passes::{Effect, pass_entry};
use wb_record::Abilities;

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

    /// Returns whether a format can hold its result.
    pub(crate) fn is_held_by(self, able: &Abilities) -> bool {
        able.fold_head.is_there() && (self.digests() || able.fold_inside.is_there())
    }

    /// Returns its pipeline, without the steps beside the digest that a format cannot hold; where it cannot hold the result
    /// in any case, all of them run.
    pub(crate) fn within(self, able: &Abilities) -> Pipeline {
        let mut pipeline = self.pipeline();
        if !self.is_held_by(able) {
            return pipeline;
        }
        pipeline.steps.retain(|step| match step {
            Step::Restore(_) => able.insert.is_there(),
            step => pass_entry(step.name()).is_none_or(|entry| match entry.effect {
                Effect::Clears => able.clear.is_there(),
                Effect::Shortens => able.body.is_there(),
                Effect::Drops => able.fold_inside.is_there(),
            }),
        });
        for step in &mut pipeline.steps {
            if let Step::Digest(digest) = step {
                digest.keep_prompt &= able.fold_inside.is_there();
            }
        }
        pipeline
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
