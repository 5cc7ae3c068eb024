//! The evidence for checking a summary: every word that occurred, outcomes, and the user's words.

pub(crate) mod tokens;
pub(crate) mod known;
pub(crate) mod activity;
pub(crate) mod utterances;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wb_message::text::head;
use wb_message::{Block, Content, Message, ToolRole, ToolVocabulary};

pub(crate) use self::activity::{Activity, ActivityLog, LastOutcomes, checks_of};
use self::known::Known;
use self::utterances::{Assent, Utterances};
use super::calls::each_text;
use wb_language::answers::Answer;
use wb_shell::outcome::Outcome;
use wb_shell::{Command, Effects};

/// Bytes of a text that are read.
const TEXT_BYTES: usize = 1 << 20;

/// The evidence for checking a summary.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ledger {
    pub(crate) known: Known,
    #[serde(rename = "deeds")]
    pub(crate) activities: ActivityLog,
    pub(crate) said: Utterances,
    /// The number of messages read.
    pub(crate) n_messages: u32,
    /// The message that changed the list of tasks last.
    pub(crate) tasks_at: Option<u32>,
}

impl Ledger {
    /// Reads every word of a message.
    pub(crate) fn read(&mut self, message: &Message) {
        self.n_messages = self.n_messages.saturating_add(1);
        match message {
            Message::User { content, .. } | Message::Custom { content, .. } => match content {
                Content::Text(text) => self.words(text),
                Content::Blocks(blocks) => blocks.iter().for_each(|block| self.block(block)),
            },
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
            }
            Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
                self.words(summary);
            }
        }
    }

    pub(crate) fn words(&mut self, text: &str) {
        let start = head(text, TEXT_BYTES);
        self.known.read(start);
        if start.len() < text.len() {
            self.known.leave_out();
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Text { text } | Block::Thinking { text, .. } => self.words(text),
            Block::ToolCall { name, input, .. } => {
                self.words(name);
                each_text(input, &mut |text, _| self.words(text));
            }
            Block::ToolResult { output, .. } => each_text(output, &mut |text, _| self.words(text)),
            Block::Command { command, args } => {
                self.words(command);
                args.iter().flatten().for_each(|arg| self.words(arg));
            }
            Block::Image { .. } => {}
        }
    }

    /// Notes a text in the user's role, and the words of the user in it.
    pub(crate) fn user(&mut self, text: &str, words: &str, at: u32) {
        self.user_said(text, words, Assent::parse(words), at);
    }

    /// Notes the words with which the user refused something: nothing in them is a yes.
    pub(crate) fn refused(&mut self, text: &str, at: u32) {
        self.user_said(text, text, Assent::No, at);
    }

    fn user_said(&mut self, text: &str, words: &str, assent: Assent, at: u32) {
        self.known.observe_words(text);
        self.said.user(words, assent);
        self.activities.observe_claims(head(text, TEXT_BYTES), at);
        for line in text.lines().filter(|line| may_name_file(line) && reports_change(line)) {
            self.known.acted(line);
        }
    }

    /// Notes an answer, approval or refusal of the user, and its text in a digest.
    pub(crate) fn answered(&mut self, answer: &Answer, line: &str) {
        self.known.observe_words(line);
        match answer {
            Answer::Approved { .. } => self.said.user(line, Assent::Yes),
            Answer::Answered { answer, .. } => match Assent::parse(answer) {
                Assent::No => self.said.user(answer, Assent::No),
                assent => self.said.user(line, assent),
            },
            Answer::Refused { words, .. } => {
                self.said.user(words.as_deref().unwrap_or_default(), Assent::No);
            }
        }
    }

    /// Notes a call of a tool that runs no command: what it may have done to files and elsewhere.
    pub(crate) fn called(
        &mut self,
        (tool, input): (&str, &Value),
        output: &str,
        worked: bool,
        at: u32,
        vocabulary: &ToolVocabulary,
    ) {
        match vocabulary.call_role(tool, input) {
            Some(ToolRole::Read | ToolRole::Search | ToolRole::Plan) => {}
            Some(ToolRole::Edit | ToolRole::Write) if !worked => {}
            Some(ToolRole::Edit | ToolRole::Write) => match vocabulary.path(input) {
                Some(path) => self.known.acted(path),
                None => each_text(input, &mut |text, is_key| {
                    if !is_key && !text.contains(char::is_whitespace) {
                        self.known.acted(text);
                    }
                }),
            },
            _ => {
                self.acted(input);
                self.known.acted(output);
                self.activities.observe_claims(&tool.replace('_', " "), at);
                self.activities.observe_claims(head(output, TEXT_BYTES), at);
            }
        }
    }

    /// Notes a command.
    pub(crate) fn ran(
        &mut self,
        command: &Command<'_>,
        effects: &Effects<'_>,
        output: &str,
        outcome: Outcome,
        at: u32,
    ) {
        self.activities.ran(command, effects, output, outcome, at);
        if !command.kind.is_viewer {
            self.known.acted(command.text);
            self.known.acted(output);
        }
    }

    fn acted(&mut self, value: &Value) {
        each_text(value, &mut |text, is_key| {
            if !is_key {
                self.known.acted(text);
            }
        });
    }
}

/// Words that claim that a file was changed.
const CHANGES: [&str; 15] = [
    "created", "wrote", "written", "modified", "edited", "updated", "added", "changed", "rewrote", "deleted",
    "removed", "moved", "renamed", "fixed", "reverted",
];

/// Reports whether a line may contain a name with a dot inside.
fn may_name_file(line: &str) -> bool {
    line.as_bytes().windows(2).any(|pair| pair[0] == b'.' && !pair[1].is_ascii_whitespace())
}

fn reports_change(line: &str) -> bool {
    let mut words = line.split(|c: char| !c.is_alphanumeric());
    let may_be = |word: &&str| (5..=8).contains(&word.len());
    words.any(|word| may_be(&word) && CHANGES.iter().any(|known| word.eq_ignore_ascii_case(known)))
}
