//! Integration tests of the summarizer.

mod caps;
mod local;
mod answers;
mod git_state;
mod asking;
mod cached_prefix;
mod audit;
mod mutate;
mod custom_prompts;
mod config_vectors;
mod false_claims;
mod withdrawn_plans;
mod digest_limits;
mod requests;
mod snapshots;
mod superseded_statements;
mod vectors;
