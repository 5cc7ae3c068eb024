//! Who said a message, and how the call ended that it answers.

use std::borrow::{Borrow, Cow};

use serde::Serialize;
use wb_facts::calls::{call_label, command};
use wb_language::user_text::is_request;
use wb_message::block::joined_text;
use wb_message::pairing::CallPosition;
use wb_message::{Block, Content, Message, ToolVocabulary, Untrusted};
use wb_shell::outcome::{Outcome, Reported, Verdict, judge};

use crate::message_body::body;

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Author {
    /// The user.
    User,
    /// The user, while the agent worked, in words that no message has.
    Aside,
    /// The agent: its texts and calls.
    Agent,
    /// A tool: the result of a call.
    Tool,
    /// A command that the user ran.
    Shell,
    /// The agent's program.
    Host,
}

impl Author {
    /// Returns the author in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "the user",
            Self::Aside => "the user, while the agent worked",
            Self::Agent => "the agent",
            Self::Tool => "tool result",
            Self::Shell => "shell",
            Self::Host => "note of the host",
        }
    }

    pub(crate) fn from_message(message: &Message) -> Self {
        match message {
            Message::User { content: Content::Blocks(blocks), .. }
                if blocks.iter().any(Block::is_tool_result) =>
            {
                Self::Tool
            }
            // A host may speak in the user's role.
            Message::User { .. } if is_request(message) => Self::User,
            Message::User { .. } => Self::Host,
            Message::Assistant { .. } => Self::Agent,
            Message::ToolResult { .. } => Self::Tool,
            Message::BashExecution { .. } => Self::Shell,
            Message::Custom { .. } | Message::BranchSummary { .. } | Message::CompactionSummary { .. } => {
                Self::Host
            }
        }
    }
}

/// A call with its result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered<'m> {
    pub(crate) name: &'m str,
    pub(crate) input: &'m wb_message::Value,
    /// The number of the message with the call, and of the one with its result.
    pub(crate) call: usize,
    pub(crate) result: usize,
}

impl<'m> Answered<'m> {
    pub(crate) fn new<M: Borrow<Message>>(
        messages: &'m [M],
        call: CallPosition,
        result: u32,
    ) -> Option<Self> {
        let (_, name, input) = call.find(messages)?;
        Some(Self { name, input, call: call.message as usize, result: result as usize })
    }

    pub(crate) fn label(&self, vocabulary: &ToolVocabulary) -> Untrusted {
        Untrusted::new(call_label(self.name, self.input, vocabulary))
    }

    pub(crate) fn command(&self) -> Option<Cow<'m, str>> {
        command(self.input)
    }

    /// Returns how the call ended; none if nothing says so.
    pub(crate) fn outcome(&self, result: &Message) -> Option<String> {
        self.with_verdict(result, |verdict| {
            let is_said = verdict.outcome != Outcome::Ok || self.command().is_some();
            is_said.then(|| verdict.to_string())
        })
    }

    pub(crate) fn failed(&self, result: &Message) -> bool {
        self.with_verdict(result, |verdict| verdict.outcome == Outcome::Failed)
    }

    fn with_verdict<T>(&self, result: &Message, read: impl FnOnce(&Verdict<'_>) -> T) -> T {
        let (output, is_error) = match result {
            Message::ToolResult { content, is_error, .. } => (joined_text(content), *is_error),
            _ => (body(result), false),
        };
        let reported = if is_error { Reported::Error } else { Reported::Ok };
        read(&judge(self.command().as_deref(), &output, reported))
    }
}

/// Returns how a command of the user ended.
pub(crate) fn shell_outcome(command: &str, output: &str, exit_code: Option<i32>) -> String {
    let reported = exit_code.map_or(Reported::Nothing, Reported::Exit);
    judge(Some(command), output, reported).to_string()
}
