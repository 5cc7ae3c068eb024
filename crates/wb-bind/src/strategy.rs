//! The strategies that a session can be condensed with: the presets of the pipeline.

use serde::Deserialize;
use wb_conductor::{Pipeline, Step};
use wb_passes::{Effect, ImagePolicy, pass_entry};
use wb_record::Abilities;

/// A compaction strategy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Strategy {
    /// Replace the head with one digest, keep the recent tail, restore files
    #[default]
    WindowBudget,
    /// Shorten tool outputs, then old replies, then drop the middle
    ThreeLevel,
    /// Truncate oversized results, then drop the oldest messages, then repair
    Policy,
    /// Clear, shorten, digest, then drop the middle, as far as needed
    Ladder,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::WindowBudget, Self::ThreeLevel, Self::Policy, Self::Ladder];

    /// Returns its name, that of the preset.
    pub fn name(self) -> &'static str {
        match self {
            Self::WindowBudget => "window-budget",
            Self::ThreeLevel => "three-level",
            Self::Policy => "policy",
            Self::Ladder => "ladder",
        }
    }

    /// Returns the preset of this name.
    pub fn pipeline(self) -> Pipeline {
        Pipeline::preset(self.name()).unwrap_or_default()
    }

    /// Returns why a format cannot hold its result; nothing if it can.
    pub fn why_not_held(self, able: &Abilities) -> Option<&'static str> {
        let inside = || if self.digests() { None } else { able.fold_inside.why_not() };
        able.fold_head.why_not().or_else(inside)
    }

    /// Returns its pipeline after a policy for images, without the steps that a format cannot hold
    /// in addition to the digest; all steps if the format cannot hold the result in any case.
    pub fn within(self, images: ImagePolicy, able: &Abilities) -> Pipeline {
        let mut pipeline = self.pipeline().images(images);
        if self.why_not_held(able).is_some() {
            return pipeline;
        }
        if able.insert.why_not().is_some() {
            pipeline = pipeline.max_restored(0);
        }
        let is_held = |step: &Step| matches!(step, Step::Restore(_)) || why_left_out(step, able).is_none();
        pipeline.steps.retain(is_held);
        for step in &mut pipeline.steps {
            if let Step::Digest(digest) = step {
                digest.keep_prompt &= able.fold_inside.is_there();
            }
        }
        pipeline
    }

    /// Returns the steps that a format cannot hold in addition to the digest, and why.
    pub fn left_out(self, images: ImagePolicy, able: &Abilities) -> Vec<(String, &'static str)> {
        if self.why_not_held(able).is_some() {
            return Vec::new();
        }
        let steps = self.pipeline().images(images).steps.into_iter();
        steps.filter_map(|step| Some((step.name().to_owned(), why_left_out(&step, able)?))).collect()
    }

    /// Returns whether it writes a digest.
    pub fn digests(self) -> bool {
        self.pipeline().steps.iter().any(|step| matches!(step, Step::Digest(_)))
    }
}

/// Returns why a format cannot hold what a step does.
fn why_left_out(step: &Step, able: &Abilities) -> Option<&'static str> {
    if matches!(step, Step::Restore(_)) {
        return able.insert.why_not();
    }
    match pass_entry(step.name())?.effect {
        Effect::Clears => able.clear.why_not(),
        Effect::Shortens => able.body.why_not(),
        Effect::Drops => able.fold_inside.why_not(),
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
