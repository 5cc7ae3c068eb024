//! The pieces of a conversation before encoding, each with the index of its source.

use std::borrow::Cow;

use serde_json::Value;
use wb_message::block::output_blocks;
use wb_message::markers::{BRANCH_HEADER, DIGEST_HEADER, is_pinned};
use wb_message::{Block, Content, Message, ToolDescriptor, Turn};

use crate::dialect::Dialect;
use crate::tool_names::call_name;

/// Custom message types that belong to the system text at the start of a transcript.
const SYSTEM_TYPES: [&str; 2] = ["system", "developer"];

#[derive(Clone, Debug)]
pub(crate) enum PieceKind<'a> {
    Text(Cow<'a, str>),
    Thinking { text: &'a str, signature: Option<&'a str> },
    Call { id: &'a str, name: Cow<'a, str>, input: &'a Value },
    Result { id: &'a str, content: Cow<'a, [Block]>, is_error: bool },
    Image { media_type: &'a str, data: &'a str },
}

/// A piece of content, and the index of the turn or message that it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) from: usize,
    pub(crate) kind: PieceKind<'a>,
}

/// A run of pieces from one side of the conversation.
#[derive(Clone, Debug)]
pub(crate) struct Round<'a> {
    pub(crate) is_model: bool,
    pub(crate) pieces: Vec<Piece<'a>>,
}

/// Collects rounds piece by piece and drops blank texts.
#[derive(Debug, Default)]
struct RoundBuilder<'a> {
    all: Vec<Round<'a>>,
    kept: KeptEmpty,
}

/// The empty content that becomes pieces; other blank texts are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum KeptEmpty {
    #[default]
    Nothing,
    /// Text blocks.
    Texts,
    /// Answers without any content.
    Answers,
}

impl<'a> RoundBuilder<'a> {
    fn push(&mut self, is_model: bool, from: usize, kind: PieceKind<'a>) {
        if !matches!(&kind, PieceKind::Text(text) if text.trim().is_empty()) {
            self.push_any(is_model, from, kind);
        }
    }

    fn push_any(&mut self, is_model: bool, from: usize, kind: PieceKind<'a>) {
        let piece = Piece { from, kind };
        match self.all.last_mut() {
            Some(round) if round.is_model == is_model => round.pieces.push(piece),
            _ => self.all.push(Round { is_model, pieces: vec![piece] }),
        }
    }

    fn blocks(&mut self, is_model: bool, from: usize, blocks: &'a [Block]) {
        for block in blocks {
            match piece_kind(block) {
                PieceKind::Text(text) if self.kept == KeptEmpty::Texts && text.is_empty() => {
                    self.push_any(is_model, from, PieceKind::Text(text));
                }
                kind => self.push(is_model, from, kind),
            }
        }
    }

    fn content(&mut self, from: usize, content: &'a Content) {
        match content {
            Content::Text(text) => self.push(false, from, PieceKind::Text(text.into())),
            Content::Blocks(blocks) => self.blocks(false, from, blocks),
        }
    }

    fn message(&mut self, from: usize, message: &'a Message) {
        let text = |text: String| PieceKind::Text(text.into());
        match message {
            Message::User { content, .. } | Message::Custom { content, .. } => self.content(from, content),
            Message::Assistant { content, .. } if self.kept == KeptEmpty::Answers && is_empty(content) => {
                self.push_any(true, from, PieceKind::Text("".into()));
            }
            Message::Assistant { content, .. } => self.blocks(true, from, content),
            Message::ToolResult { tool_call_id: id, content, is_error, .. } => {
                let content = Cow::Borrowed(content.as_slice());
                self.push(false, from, PieceKind::Result { id, content, is_error: *is_error });
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

/// Gives calls names that the dialect accepts, except calls of offered tools.
pub(crate) fn reshape_call_names(rounds: &mut [Round<'_>], dialect: Dialect, tools: &[ToolDescriptor]) {
    for piece in rounds.iter_mut().flat_map(|round| &mut round.pieces) {
        let PieceKind::Call { name, .. } = &mut piece.kind else { continue };
        let is_offered = tools.iter().any(|tool| tool.name == *name);
        if let (Cow::Owned(new), false) = (call_name(name, dialect), is_offered) {
            *name = new.into();
        }
    }
}

pub(crate) fn rounds_from_turns(turns: &[Turn]) -> Vec<Round<'_>> {
    let mut rounds = RoundBuilder::default();
    for (from, turn) in turns.iter().enumerate() {
        rounds.blocks(matches!(turn, Turn::Assistant { .. }), from, turn.blocks());
    }
    rounds.all
}

/// Splits messages into the leading system text and rounds.
pub(crate) fn rounds_from_messages(
    messages: &[Message],
    kept: KeptEmpty,
) -> (Option<String>, Vec<Round<'_>>) {
    let n_system = messages.iter().take_while(|message| is_system(message)).count();
    let texts = messages[..n_system].iter().filter_map(|message| match message {
        Message::Custom { content, .. } => Some(content.texts().collect::<Vec<_>>().join("\n")),
        _ => None,
    });
    let system = (n_system > 0).then(|| texts.collect::<Vec<_>>().join("\n\n"));
    let mut rounds = RoundBuilder { kept, ..RoundBuilder::default() };
    for (from, message) in messages.iter().enumerate().skip(n_system) {
        rounds.message(from, message);
    }
    (system, rounds.all)
}

/// Returns whether an answer has nothing but empty texts.
fn is_empty(answer: &[Block]) -> bool {
    answer.iter().all(Block::is_empty_text)
}

fn is_system(message: &Message) -> bool {
    is_pinned(message)
        && matches!(message, Message::Custom { custom_type, .. } if SYSTEM_TYPES.contains(&custom_type.as_str()))
}

fn piece_kind(block: &Block) -> PieceKind<'_> {
    match block {
        Block::Text { text } => PieceKind::Text(text.into()),
        Block::Thinking { text, signature } => PieceKind::Thinking { text, signature: signature.as_deref() },
        Block::ToolCall { id, name, input } => PieceKind::Call { id, name: name.into(), input },
        Block::ToolResult { call_id, output, is_error } => PieceKind::Result {
            id: call_id,
            content: Cow::Owned(result_blocks(output)),
            is_error: is_error.unwrap_or(false),
        },
        Block::Image { media_type, data_base64 } => PieceKind::Image { media_type, data: data_base64 },
        Block::Command { command, args } => {
            let words = [format!("/{command}")].into_iter().chain(args.iter().flatten().cloned());
            PieceKind::Text(words.collect::<Vec<_>>().join(" ").into())
        }
    }
}

fn result_blocks(output: &Value) -> Vec<Block> {
    match output {
        Value::String(text) => vec![Block::text(text.as_str())],
        output => output_blocks(output),
    }
}

impl Piece<'_> {
    pub(crate) fn is_result(&self) -> bool {
        matches!(self.kind, PieceKind::Result { .. })
    }
}

/// Returns the pieces of a round, results first.
pub(crate) fn results_first<'r, 'a>(round: &'r Round<'a>) -> impl Iterator<Item = &'r Piece<'a>> {
    let results = round.pieces.iter().filter(|piece| piece.is_result());
    results.chain(round.pieces.iter().filter(|piece| !piece.is_result()))
}
