//! Questions about what was said.

use serde::Deserialize;
use thiserror::Error;
use wb_message::Value;

/// The most tokens of an answer if the question names no other number.
pub const DEFAULT_TOKENS: u64 = 1_200;
/// The fewest and the most tokens of an answer.
const TOKENS: std::ops::RangeInclusive<u64> = 160..=20_000;

/// The subject of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Words, or a name such as `src/cart.rs`.
    Words(String),
    /// The message of this number.
    Message(usize),
    /// A file as it was last read or written.
    File(String),
    /// The last run of a command that contains this text.
    Command(String),
    /// The user's message of this number, from 1, and all until the next.
    Turn(usize),
}

/// A question about what was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its subject.
    pub subject: Subject,
    /// The line to begin with, from 1, in a long message or file.
    pub from_line: usize,
    /// The most tokens of the answer, an estimate.
    pub max_tokens: u64,
}

/// A reason why arguments are no question.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum QuestionError {
    /// The arguments do not have the expected types.
    #[error("{0}")]
    Arguments(#[from] serde_json::Error),
    /// The arguments name no subject, or several.
    #[error("name exactly one of query, message, file, command and turn")]
    Subject,
}

/// The arguments of the tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: Option<String>,
    message: Option<usize>,
    file: Option<String>,
    command: Option<String>,
    turn: Option<usize>,
    line: Option<usize>,
    max_tokens: Option<u64>,
}

impl Question {
    /// Asks about a subject.
    pub fn new(subject: Subject) -> Self {
        Self { subject, from_line: 1, max_tokens: DEFAULT_TOKENS }
    }

    /// Asks for words or a name.
    pub fn words(words: impl Into<String>) -> Self {
        Self::new(Subject::Words(words.into()))
    }

    /// Begins with a line of the message or file.
    #[must_use]
    pub fn from_line(self, line: usize) -> Self {
        Self { from_line: line.max(1), ..self }
    }

    /// Sets the most tokens of the answer, from 160 to 20,000.
    #[must_use]
    pub fn max_tokens(self, max_tokens: u64) -> Self {
        Self { max_tokens: max_tokens.clamp(*TOKENS.start(), *TOKENS.end()), ..self }
    }

    /// Reads the arguments of a call of the tool.
    pub fn from_arguments(arguments: &Value) -> Result<Self, QuestionError> {
        let given = Arguments::deserialize(arguments)?;
        let text = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let subjects = [
            text(given.query).map(Subject::Words),
            given.message.map(Subject::Message),
            text(given.file).map(Subject::File),
            text(given.command).map(Subject::Command),
            given.turn.map(Subject::Turn),
        ];
        let mut subjects = subjects.into_iter().flatten();
        let (Some(about), None) = (subjects.next(), subjects.next()) else {
            return Err(QuestionError::Subject);
        };
        let question = Self::new(about).from_line(given.line.unwrap_or(1));
        Ok(question.max_tokens(given.max_tokens.unwrap_or(DEFAULT_TOKENS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wb_message::json;

    #[test]
    fn arguments_name_one_subject() {
        let read = |arguments| Question::from_arguments(&arguments);
        let question = read(json!({"message": 3, "line": 0, "max_tokens": 5})).unwrap();
        assert_eq!(question, Question::new(Subject::Message(3)).max_tokens(160));
        for wrong in [json!({}), json!({"query": " "}), json!({"query": "a", "turn": 1})] {
            assert!(matches!(read(wrong), Err(QuestionError::Subject)));
        }
        for wrong in [json!({"query": 3}), json!({"words": "a"}), json!("a"), json!({"turn": -1})] {
            assert!(matches!(read(wrong), Err(QuestionError::Arguments(_))));
        }
    }
}
