//! Whose words they are, and what they ask for: users, hosts, constraints, tasks, answers and reasons.

mod host_words;
pub mod user_text;
mod sentences;
mod tokens;
mod vocabulary;
mod word_patterns;
mod constraint_words;
mod constraint_rules;
pub mod constraints;
pub mod tasks;
pub mod answers;
pub(crate) mod decisions;
