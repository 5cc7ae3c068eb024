//! Digests of agent transcripts.
//!
//! [`summarize`] turns messages into one digest under six headings. With a model behind
//! [`ModelInvoker`] the digest is the model's; without one, or where the model fails, it is taken
//! from the transcript itself: last requests verbatim, constraints, files read and modified,
//! commands with their outcome, errors, open tasks. The input of a model is fitted to its window,
//! and text from tools cannot speak as the user in it. With custom prompts
//! ([`Summarizer::configured`]) a host asks for a digest in free form.
//!
//! ```
//! use futures::executor::block_on;
//! use wb_message::{Content, Message};
//! use wb_summarize::{SummarizeDeps, summarize};
//!
//! let head = vec![
//!     Message::user("Make the importer skip blank lines, but never change its public API."),
//!     Message::assistant("Done: the parser drops them because the reader counts them already."),
//! ];
//! let summary = block_on(summarize(&head, SummarizeDeps::default()));
//! let Message::User { content: Content::Text(digest), .. } = summary.message else { panic!() };
//! let start = "[session digest — older turns condensed]\n\n# Objective\n- First request: Make";
//! assert!(digest.starts_with(start));
//! let guardrail = "# Guardrails\n- Make the importer skip blank lines, but never change";
//! assert!(digest.contains(guardrail));
//! assert_eq!(summary.covered_count, 2);
//! ```

mod scope;
mod flatten;
pub mod chunking;
pub mod length;
mod prompt;
mod evidence;
mod git_entries;
mod turn_steps;
mod model_addition;
mod user_requests;
mod extractive;
mod reply;
mod compaction_config;
mod custom_prompts;
mod cached_prefix;
mod asker;
mod condense;

pub use wb_message::markers::{BRANCH_HEADER, DIGEST_HEADER};

pub use asker::{
    AskOpts, Cost, DEFAULT_THINKING, MAX_INSTRUCTIONS_BYTES, ModelDigest, Question, Summarizer, ask_in_parts,
};
pub use cached_prefix::{AskCosts, CachedConversation};
pub use chunking::ASSUMED_WINDOW_TOKENS;
pub use compaction_config::{
    COMPACTION_KEY, CompactionConfig, CompactionConfigError, CompactionExecutionMode, CompactionRawRetention,
    DEFAULT_MIN_SAVINGS_RATIO, DEFAULT_SUMMARY_TOKENS, MIN_COMPACTION_GAIN_TOKENS, savings_ratio_ppm,
};
pub use condense::{
    DigestRequest, SummarizeDeps, Summary, condense_scope, digest_message, local_fallback_digest,
    newest_timestamp, summarize,
};
pub use extractive::{LocalDigest, carried_digest, has_news, local_digest, n_elided};
pub use flatten::{Flattener, TURN_MARK, flatten_into, flatten_transcript};
pub use model_addition::Addition;
pub use prompt::{build_summary_prompt, handover_prompt};
pub use reply::{DigestSource, NoDigest, ReplyText, under_headings};
pub use scope::{CONDENSER_BRIEF, CondenseScope};
pub use tokio_util::sync::CancellationToken;
pub use user_requests::REQUEST_BYTES;
pub use wb_budget::{TokenCounter, TokenHeuristic};
pub use wb_digest::SECTION_TEMPLATE;
pub use wb_facts::Facts;
pub use wb_invoke::*;
pub use wb_message::{Content, Message, ToolVocabulary};
