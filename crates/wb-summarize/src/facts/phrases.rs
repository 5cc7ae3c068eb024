//! The words in which answers and what was done with git are told.

use std::borrow::Cow;

use wb_message::text::one_line;

use crate::shell::GitEffect;
use crate::words::answers::Answer;

/// Characters of the message of a commit.
const MESSAGE_CHARS: usize = 100;

/// Tells what the user answered, approved or refused.
pub(super) fn told(answer: &Answer) -> String {
    match answer {
        Answer::Answered { question, answer } => format!("asked: {question} — the user answered: {answer}"),
        Answer::Approved { what } => format!("the user approved: {what}"),
        Answer::Refused { what, words: Some(words) } => {
            format!("the user refused: {what}, and said: {words}")
        }
        Answer::Refused { what, words: None } => format!("the user refused: {what}"),
    }
}

/// Tells what was done with git.
pub(super) fn git_line(effect: &GitEffect<'_>) -> String {
    let commit = |done: &str, message: &Option<Cow<'_, str>>| match message {
        Some(message) => format!("{done} “{}”", one_line(message, MESSAGE_CHARS)),
        None => done.to_owned(),
    };
    match effect {
        GitEffect::Committed { message } => commit("committed", message),
        GitEffect::Amended { message } => commit("amended the last commit", message),
        GitEffect::Merged(what) => format!("merged {what}"),
        GitEffect::Picked(what) => format!("picked {what}"),
        GitEffect::Reverted(what) => format!("reverted {what}"),
        GitEffect::CheckedOut(what) => format!("checked out {what}"),
        GitEffect::Branched(what) => format!("made branch {what}"),
        GitEffect::Unbranched(what) => format!("removed branch {what}"),
        GitEffect::Tagged(what) => format!("tagged {what}"),
        GitEffect::Pushed => "pushed".to_owned(),
        GitEffect::Pulled => "pulled".to_owned(),
        GitEffect::Rebased => "rebased".to_owned(),
        GitEffect::Stashed => "stashed".to_owned(),
        GitEffect::Unstashed => "took back what was stashed".to_owned(),
        GitEffect::Reset { hard: true } => "reset, files included".to_owned(),
        GitEffect::Reset { hard: false } => "reset".to_owned(),
        GitEffect::Cleaned => "removed files that git does not know".to_owned(),
    }
}
