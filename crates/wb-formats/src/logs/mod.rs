//! Logs of evaluations and of single runs.

pub(crate) mod mini_swe_agent;
pub(crate) mod openhands_completions;
pub(crate) mod swe_agent;
pub(crate) mod tau_bench;
pub(crate) mod inspect_ai;
pub(crate) mod atif;
