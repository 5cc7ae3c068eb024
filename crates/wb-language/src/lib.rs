//! The language of users, agents and hosts: who speaks, and constraints, tasks, answers, reasons
//! and progress notes.

mod host_words;
pub mod user_text;
pub mod short_answers;
mod pasted;
pub mod sentences;
mod tokens;
mod vocabulary;
mod word_patterns;
mod constraint_words;
mod constraint_rules;
mod one_time_requests;
mod rule_score;
pub mod constraints;
mod unspaced_scripts;
pub mod superseded_statements;
pub mod tasks;
pub mod answers;
pub mod decisions;
pub mod progress_notes;

/// The bytes of one utterance of the user that are read or kept.
pub const UTTERANCE_BYTES: usize = 1200;

/// Returns the words of a text: runs of letters and digits.
pub fn plain_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}
