//! What a summary of the session can be held against: every word that occurred, how things ended, what the user said.

pub(crate) mod known;
pub mod deeds;
pub(crate) mod said;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wb_message::text::head;
use wb_message::{Block, Message, ToolRole, ToolVocabulary};

pub use self::deeds::{Deed, Deeds, Ends};
use self::known::Known;
use self::said::Said;
use crate::outcome::Outcome;

/// Bytes of a text that are read.
const TEXT_BYTES: usize = 1 << 20;

/// What a summary can be held against.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ledger {
    pub(crate) known: Known,
    pub(crate) deeds: Deeds,
    pub(crate) said: Said,
    /// How many messages were read.
    pub(crate) n_messages: u32,
    /// The message that changed the list of tasks last.
    pub(crate) tasks_at: Option<u32>,
}

impl Ledger {
    /// Reads every word of a message.
    pub(crate) fn read(&mut self, message: &Message) {
        self.n_messages += 1;
        match message {
            Message::User { content, .. } | Message::Custom { content, .. } => {
                content.texts().for_each(|text| self.words(text));
            }
            Message::Assistant { content, .. } => {
                for block in content {
                    self.block(block);
                }
                let text: Vec<&str> = content.iter().filter_map(Block::as_text).collect();
                if text.iter().any(|text| !text.trim().is_empty()) {
                    self.said.agent(&text.join("\n"));
                }
            }
            Message::ToolResult { content, .. } => content.iter().for_each(|block| self.block(block)),
            Message::BashExecution { command, output, .. } => {
                self.words(command);
                self.words(output);
                self.known.acted(command);
            }
            Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
                self.words(summary);
            }
        }
    }

    fn words(&mut self, text: &str) {
        self.known.read(head(text, TEXT_BYTES));
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Text { text } | Block::Thinking { text, .. } => self.words(text),
            Block::ToolCall { name, input, .. } => {
                self.words(name);
                self.value(input);
            }
            _ => {}
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.words(text),
            Value::Array(items) => items.iter().for_each(|item| self.value(item)),
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                self.words(key);
                self.value(value);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Notes what the user says, or what a host says in the user's name.
    pub(crate) fn user(&mut self, text: &str, at: u32) {
        self.known.said(text);
        self.said.user(text, false);
        self.deeds.told(head(text, TEXT_BYTES), at);
        self.known.acted(text);
    }

    /// Notes what the user answered or approved.
    pub(crate) fn answered(&mut self, text: &str, nods: bool) {
        self.known.said(text);
        self.said.user(text, nods);
    }

    /// Notes a call of a tool that is no command: what it may have done to files and elsewhere.
    pub(crate) fn called(
        &mut self,
        tool: &str,
        input: &Value,
        output: &str,
        at: u32,
        vocabulary: &ToolVocabulary,
    ) {
        match vocabulary.role(tool) {
            Some(ToolRole::Read | ToolRole::Search) => {}
            Some(ToolRole::Edit | ToolRole::Write) => self.acted(input),
            _ => {
                self.acted(input);
                self.known.acted(output);
                self.deeds.told(&tool.replace('_', " "), at);
                self.deeds.told(head(output, TEXT_BYTES), at);
            }
        }
    }

    /// Notes a command.
    pub(crate) fn ran(&mut self, command: &str, output: &str, outcome: Outcome, at: u32) {
        self.deeds.ran(command, output, outcome, at);
        if !crate::shell::kind::kind(command).shows {
            self.known.acted(command);
            self.known.acted(output);
        }
    }

    fn acted(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.known.acted(text),
            Value::Array(items) => items.iter().for_each(|item| self.acted(item)),
            Value::Object(map) => map.values().for_each(|value| self.acted(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns about how many bytes of memory are taken.
    pub(crate) fn n_bytes(&self) -> usize {
        self.known.n_bytes() + self.said.n_bytes()
    }
}
