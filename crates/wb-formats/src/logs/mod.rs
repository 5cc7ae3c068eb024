//! Logs of evaluations and single runs, and sessions as the Hugging Face Hub holds them.

pub(crate) mod mini_swe_agent;
pub(crate) mod openhands_completions;
pub(crate) mod swe_agent;
pub(crate) mod tau_bench;
pub(crate) mod inspect_ai;
pub(crate) mod atif;
pub(crate) mod sts;
pub(crate) mod sharegpt;
