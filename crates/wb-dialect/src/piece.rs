//! What a conversation is made of before a dialect gives it its shape: pieces, each with where it comes from.

use std::borrow::Cow;

use serde_json::Value;
use wb_message::block::output_blocks;
use wb_message::markers::{BRANCH_HEADER, DIGEST_HEADER, is_pinned};
use wb_message::{Block, Content, Message, ToolDescriptor, Turn};

use crate::dialect::Dialect;
use crate::tool_names::call_name;

/// The custom types of messages that are part of the system text where they come first.
const SYSTEM_TYPES: [&str; 2] = ["system", "developer"];

/// One thing that somebody says.
#[derive(Clone, Debug)]
pub(crate) enum Said<'a> {
    Text(Cow<'a, str>),
    Thinking { text: &'a str, signature: Option<&'a str> },
    Call { id: &'a str, name: Cow<'a, str>, input: &'a Value },
    Result { id: &'a str, content: Cow<'a, [Block]>, is_error: bool },
    Image { media_type: &'a str, data: &'a str },
}

/// One thing that somebody says, and the turn or message that it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) from: usize,
    pub(crate) said: Said<'a>,
}

/// What one side says until the other speaks.
#[derive(Clone, Debug)]
pub(crate) struct Round<'a> {
    pub(crate) is_model: bool,
    pub(crate) pieces: Vec<Piece<'a>>,
}

/// Rounds that grow piece by piece; what says nothing is left out.
#[derive(Debug, Default)]
struct Rounds<'a> {
    all: Vec<Round<'a>>,
    /// Whether a block with an empty text stays.
    has_empty: bool,
}

impl<'a> Rounds<'a> {
    fn push(&mut self, is_model: bool, from: usize, said: Said<'a>) {
        if !matches!(&said, Said::Text(text) if text.trim().is_empty()) {
            self.push_any(is_model, from, said);
        }
    }

    fn push_any(&mut self, is_model: bool, from: usize, said: Said<'a>) {
        let piece = Piece { from, said };
        match self.all.last_mut() {
            Some(round) if round.is_model == is_model => round.pieces.push(piece),
            _ => self.all.push(Round { is_model, pieces: vec![piece] }),
        }
    }

    fn blocks(&mut self, is_model: bool, from: usize, blocks: &'a [Block]) {
        for block in blocks {
            match said(block) {
                Said::Text(text) if self.has_empty && text.is_empty() => {
                    self.push_any(is_model, from, Said::Text(text));
                }
                said => self.push(is_model, from, said),
            }
        }
    }

    fn content(&mut self, from: usize, content: &'a Content) {
        match content {
            Content::Text(text) => self.push(false, from, Said::Text(text.into())),
            Content::Blocks(blocks) => self.blocks(false, from, blocks),
        }
    }

    fn message(&mut self, from: usize, message: &'a Message) {
        let text = |text: String| Said::Text(text.into());
        match message {
            Message::User { content, .. } | Message::Custom { content, .. } => self.content(from, content),
            Message::Assistant { content, .. } => self.blocks(true, from, content),
            Message::ToolResult { tool_call_id: id, content, is_error, .. } => {
                let content = Cow::Borrowed(content.as_slice());
                self.push(false, from, Said::Result { id, content, is_error: *is_error });
            }
            Message::BashExecution { command, output, .. } => {
                self.push(false, from, text(format!("$ {command}\n{output}")));
            }
            Message::BranchSummary { summary, .. } => {
                self.push(false, from, text(format!("{BRANCH_HEADER}\n\n{summary}")));
            }
            Message::CompactionSummary { summary, .. } => {
                self.push(false, from, text(format!("{DIGEST_HEADER}\n\n{summary}")));
            }
        }
    }
}

/// Gives calls the names that a dialect takes, but for those of tools on offer.
pub(crate) fn with_names_of(rounds: &mut [Round<'_>], dialect: Dialect, tools: &[ToolDescriptor]) {
    for piece in rounds.iter_mut().flat_map(|round| &mut round.pieces) {
        let Said::Call { name, .. } = &mut piece.said else { continue };
        let is_offered = tools.iter().any(|tool| tool.name == *name);
        if let (Cow::Owned(new), false) = (call_name(name, dialect), is_offered) {
            *name = new.into();
        }
    }
}

/// Takes turns apart into rounds.
pub(crate) fn rounds_of_turns(turns: &[Turn]) -> Vec<Round<'_>> {
    let mut rounds = Rounds::default();
    for (from, turn) in turns.iter().enumerate() {
        rounds.blocks(matches!(turn, Turn::Assistant { .. }), from, turn.blocks());
    }
    rounds.all
}

/// Takes messages apart into rounds, those apart that are the system text; blocks with an empty text may stay.
pub(crate) fn rounds_of_messages(messages: &[Message], has_empty: bool) -> (Option<String>, Vec<Round<'_>>) {
    let n_system = messages.iter().take_while(|message| is_system(message)).count();
    let texts = messages[..n_system].iter().filter_map(|message| match message {
        Message::Custom { content, .. } => Some(content.texts().collect::<Vec<_>>().join("\n")),
        _ => None,
    });
    let system = (n_system > 0).then(|| texts.collect::<Vec<_>>().join("\n\n"));
    let mut rounds = Rounds { has_empty, ..Rounds::default() };
    for (from, message) in messages.iter().enumerate().skip(n_system) {
        rounds.message(from, message);
    }
    (system, rounds.all)
}

fn is_system(message: &Message) -> bool {
    is_pinned(message)
        && matches!(message, Message::Custom { custom_type, .. } if SYSTEM_TYPES.contains(&custom_type.as_str()))
}

fn said(block: &Block) -> Said<'_> {
    match block {
        Block::Text { text } => Said::Text(text.into()),
        Block::Thinking { text, signature } => Said::Thinking { text, signature: signature.as_deref() },
        Block::ToolCall { id, name, input } => Said::Call { id, name: name.into(), input },
        Block::ToolResult { call_id, output, is_error } => Said::Result {
            id: call_id,
            content: Cow::Owned(shown(output)),
            is_error: is_error.unwrap_or(false),
        },
        Block::Image { media_type, data_base64 } => Said::Image { media_type, data: data_base64 },
        Block::Command { command, args } => {
            let words = [format!("/{command}")].into_iter().chain(args.iter().flatten().cloned());
            Said::Text(words.collect::<Vec<_>>().join(" ").into())
        }
    }
}

fn shown(output: &Value) -> Vec<Block> {
    match output {
        Value::String(text) => vec![Block::text(text.as_str())],
        output => output_blocks(output),
    }
}

impl Piece<'_> {
    pub(crate) fn is_result(&self) -> bool {
        matches!(self.said, Said::Result { .. })
    }
}

/// Returns the pieces of a round with the results before everything else.
pub(crate) fn results_first<'r, 'a>(round: &'r Round<'a>) -> impl Iterator<Item = &'r Piece<'a>> {
    let results = round.pieces.iter().filter(|piece| piece.is_result());
    results.chain(round.pieces.iter().filter(|piece| !piece.is_result()))
}
