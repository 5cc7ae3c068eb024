//! Messages assembled from the parts of the next request.

use std::borrow::Cow;
use std::ops::Range;

use wb_message::{Block, Message, markers};
use wb_record::{Note, Place, Provenance, Span, UsageAt};

use super::log::SessionLog;
use super::source::{MessageHead, Piece, Role};
use super::tool::{Outcome, Tool, attachment};
use crate::kit::fields::Fields;
use crate::shapes::content_value::content_of;

/// The custom type of host content in the user's place.
const HOST_TYPE: &str = "meta";
/// The text that the host sends for a requested compaction.
const ASKED: &str = "What did we do so far?";
/// The text that the host sends when the user delegates to a subagent.
const SUBTASK: &str = "The following tool was executed by the user";
/// The error of an answer that the user stopped; its text up to then is sent.
const ABORTED: &str = "MessageAbortedError";

/// The messages of a request.
#[derive(Debug, Default)]
pub(crate) struct AssembledRequest {
    pub(crate) messages: Vec<Message>,
    pub(crate) provenance: Provenance,
    pub(crate) usage: Vec<UsageAt>,
    pub(crate) notes: Vec<Note>,
}

/// A block and its record.
type SentBlock = (Block, Span);

/// Assembles messages; `sent` are their numbers in order, and usage is taken from `counted`.
///
/// Results that were cleared after `until` are as they were before.
pub(crate) fn assemble(
    log: &SessionLog,
    sent: &[usize],
    counted: &Range<usize>,
    until: i64,
) -> AssembledRequest {
    let mut draft = RequestDraft::new(log, counted.clone(), until);
    for (at, number) in sent.iter().enumerate() {
        draft.push(*number, &sent[at + 1..]);
    }
    draft.finish()
}

/// Returns whether a message contains nothing for the model.
pub(crate) fn is_silent(log: &SessionLog, at: usize) -> bool {
    assemble(log, &[at], &(0..0), i64::MAX).messages.is_empty()
}

struct RequestDraft<'a> {
    log: &'a SessionLog,
    counted: Range<usize>,
    until: i64,
    out: AssembledRequest,
    /// The message that asked for the compaction whose summary comes next.
    asked: Vec<Place>,
    n_failures: usize,
    n_cleared: usize,
    n_ignored: usize,
}

impl<'a> RequestDraft<'a> {
    fn new(log: &'a SessionLog, counted: Range<usize>, until: i64) -> Self {
        Self {
            log,
            counted,
            until,
            out: AssembledRequest::default(),
            asked: Vec::new(),
            n_failures: 0,
            n_cleared: 0,
            n_ignored: 0,
        }
    }

    /// Adds message `at`, after which others are sent.
    fn push(&mut self, at: usize, others: &[usize]) {
        let (head, pieces) = (&self.log.heads[at], self.log.pieces(at));
        match head.role {
            Role::User => self.push_user(head, pieces, self.is_summed(at, others)),
            Role::Assistant if is_failure(head, pieces) => self.n_failures += 1,
            Role::Assistant if is_digest(head) => self.push_digest(at, head, pieces),
            Role::Assistant => self.push_answer(at, head, pieces),
            Role::Other => self.n_ignored += 1,
        }
    }

    /// Returns whether the compaction that a message requests follows as a digest.
    fn is_summed(&self, at: usize, others: &[usize]) -> bool {
        let head = |at: &usize| &self.log.heads[*at];
        let next = others.iter().find(|at| !is_failure(head(at), self.log.pieces(**at))).map(head);
        next.is_some_and(|next| is_digest(next) && next.parent.as_ref() == Some(&self.log.heads[at].id))
    }

    fn push_user(&mut self, head: &MessageHead, pieces: &[Piece], is_summed: bool) {
        if is_summed {
            let asks = pieces.iter().filter(|piece| piece.kind == "compaction").map(|piece| &piece.record);
            self.asked = [&head.record].into_iter().chain(asks).map(|record| place(record, 0..0)).collect();
        }
        let (mut run, mut is_host) = (Vec::new(), false);
        for piece in pieces {
            self.n_ignored += usize::from(!is_known(&piece.kind));
            let sent = user_content(piece, is_summed).filter(|(block, _)| !is_empty(block));
            let Some((block, by_host)) = sent else { continue };
            if by_host != is_host {
                self.say(head, std::mem::take(&mut run), is_host);
            }
            is_host = by_host;
            run.push((block, piece.record.clone()));
        }
        self.say(head, run, is_host);
    }

    /// Adds content of the user, or of the host in the user's place.
    fn say(&mut self, head: &MessageHead, sent: Vec<SentBlock>, is_host: bool) {
        if sent.is_empty() {
            return;
        }
        let places = places(head, &sent);
        let content = content_of(sent.into_iter().map(|(block, _)| block).collect());
        let message = if is_host {
            Message::custom(HOST_TYPE, content)
        } else {
            Message::User { content, timestamp: head.created }
        };
        self.add(message, places);
    }

    /// Adds a summary as a digest, and the files next to a digest of this crate.
    fn push_digest(&mut self, at: usize, head: &MessageHead, pieces: &[Piece]) {
        let mut texts = pieces.iter().filter_map(summed).collect::<Vec<_>>().into_iter();
        let (text, record) = texts.next().unzip();
        let text = text.unwrap_or_default();
        let body = own_digest(&text);
        let is_ours = body.is_some() || text == markers::DROPPED_MARK;
        let mut summary = body.unwrap_or(Cow::Borrowed(&text)).into_owned();
        let mut places = std::mem::take(&mut self.asked);
        places.push(place(&head.record, 0..0));
        places.extend(record.map(|record| place(&record, 0..1)));
        if !is_ours {
            for (text, record) in texts.by_ref() {
                summary = format!("{summary}\n{text}");
                places.push(place(&record, 0..1));
            }
        }
        let message = match summary {
            mark if mark == markers::DROPPED_MARK => Message::user(mark),
            summary => Message::CompactionSummary { summary, tokens_before: self.tokens_before(at) },
        };
        self.add(message, merged(places));
        for (text, record) in texts {
            self.add(Message::user(text), merged(vec![place(&head.record, 0..0), place(&record, 0..1)]));
        }
    }

    /// Returns the size of the context before a summary: from its own request, or from the previous
    /// one.
    fn tokens_before(&self, at: usize) -> u64 {
        let heads = &self.log.heads[..=at];
        let own = heads[at].usage.map(|usage| usage.prompt_tokens());
        own.or_else(|| heads.iter().rev().find_map(|head| Some(head.usage?.context_tokens()))).unwrap_or(0)
    }

    /// Adds an answer and the results of its calls; each step of the model is a message.
    fn push_answer(&mut self, number: usize, head: &MessageHead, pieces: &[Piece]) {
        let is_last = self.log.is_open_end(number);
        let mut step = AnswerStep::default();
        let mut answer = None;
        for piece in pieces {
            let Some(part) = piece.fields() else { continue };
            match piece.kind.as_str() {
                "text" => {
                    step.sent
                        .extend(part.string("text").map(|text| (Block::text(text), piece.record.clone())));
                }
                "reasoning" => step.sent.extend(thought(&part).map(|block| (block, piece.record.clone()))),
                "step-start" => answer = self.add_step(head, std::mem::take(&mut step)).or(answer),
                "tool" => match Tool::parse(&part) {
                    Some(tool) => step.call(tool, piece, self.until, is_last),
                    None => self.n_ignored += 1,
                },
                other => self.n_ignored += usize::from(!is_known(other)),
            }
        }
        let answer = self.add_step(head, step).or(answer);
        if let (Some(usage), Some(at), true) = (head.usage, answer, self.counted.contains(&number)) {
            self.out.usage.push(UsageAt { at, usage, model: head.model.clone() });
        }
    }

    /// Adds a message and its results; returns its index if there is one.
    fn add_step(&mut self, head: &MessageHead, mut step: AnswerStep) -> Option<usize> {
        step.sent.retain(|(block, _)| !is_empty(block));
        if step.sent.is_empty() {
            return None;
        }
        let at = self.out.messages.len();
        let places = places(head, &step.sent);
        self.add(Message::assistant_blocks(step.sent.into_iter().map(|(block, _)| block).collect()), places);
        for Answered { message, record, is_altered } in step.results {
            let n = message.blocks().len();
            if is_altered {
                self.n_cleared += usize::from(markers::is_cleared(message.blocks()));
                self.out.provenance.alter(self.out.messages.len());
            }
            self.add(message, merged(vec![place(&head.record, 0..0), place(&record, 0..n)]));
        }
        Some(at)
    }

    fn add(&mut self, message: Message, places: Vec<Place>) {
        self.out.messages.push(message);
        self.out.provenance.push(places);
    }

    fn finish(mut self) -> AssembledRequest {
        let counted = |n: usize, note: Note| (n > 0).then_some(note);
        let compacted = match self.out.messages.first() {
            Some(Message::CompactionSummary { tokens_before, .. }) => Some(Note::compaction(*tokens_before)),
            _ => None,
        };
        let (n, line) = self.log.unreadable;
        let n_abandoned = self.log.heads.len() - self.log.n_sent();
        let notes = [
            counted(n, Note::UnreadableRecords { n, line }),
            counted(self.n_ignored, Note::IgnoredLines { n: self.n_ignored, line: None }),
            counted(n_abandoned, Note::AbandonedLines { n: n_abandoned }),
            counted(self.n_failures, Note::FailureMessages { n: self.n_failures, last: None }),
            compacted,
            counted(self.n_cleared, Note::ClearedResults { n: self.n_cleared }),
        ];
        self.out.notes = notes.into_iter().flatten().collect();
        self.out
    }
}

/// The content of one step of the model, and the results of its tools.
#[derive(Default)]
struct AnswerStep {
    sent: Vec<SentBlock>,
    results: Vec<Answered>,
}

struct Answered {
    message: Message,
    record: Span,
    is_altered: bool,
}

impl AnswerStep {
    fn call(&mut self, tool: Tool, piece: &Piece, until: i64, is_last: bool) {
        let Tool { id, name, input, outcome } = tool;
        self.sent.push((Block::call(id.as_str(), name.as_str(), input), piece.record.clone()));
        let (answer, is_altered) = match outcome {
            // The answer may still be in progress.
            Outcome::Open if is_last => return,
            Outcome::Open => (Some(Outcome::interrupted()), true),
            Outcome::Cleared { since, .. } if since > until => (before_clearing(piece), false),
            cleared @ Outcome::Cleared { .. } => (cleared.sent(), true),
            said @ Outcome::Said { .. } => (said.sent(), false),
        };
        let Some((content, is_error)) = answer else { return };
        let message =
            Message::ToolResult { tool_call_id: id, tool_name: name, content, is_error, is_refusal: false };
        self.results.push(Answered { message, record: piece.record.clone(), is_altered });
    }
}

fn before_clearing(piece: &Piece) -> Option<(Vec<Block>, bool)> {
    Some((super::tool::body(&piece.json)?, false))
}

/// Returns the content of a part of a user message, and whether it comes from the host.
fn user_content(piece: &Piece, is_summed: bool) -> Option<(Block, bool)> {
    let part = piece.fields()?;
    match piece.kind.as_str() {
        "text" if part.is("ignored", "true") => None,
        "text" => Some((Block::text(part.string("text")?), part.is("synthetic", "true"))),
        // The host stores the text of these in separate parts.
        "file" if is_spelled_out(&part) => None,
        "file" => Some((attachment(&part)?, false)),
        "compaction" if is_summed => None,
        "compaction" => Some((Block::text(ASKED), true)),
        "subtask" => Some((Block::text(SUBTASK), true)),
        _ => None,
    }
}

/// Returns a text of a summary and its record.
fn summed(piece: &Piece) -> Option<(String, Span)> {
    let text = if piece.kind == "text" { piece.fields()?.string("text")? } else { return None };
    (!text.is_empty()).then(|| (text, piece.record.clone()))
}

/// Returns the text of our own digest, without its header.
fn own_digest(text: &str) -> Option<Cow<'_, str>> {
    let body = text.strip_prefix(markers::DIGEST_HEADER)?;
    let is_ours = body.is_empty() || body.starts_with('\n');
    is_ours.then(|| Cow::Borrowed(body.trim_start_matches('\n')))
}

pub(crate) fn is_digest(head: &MessageHead) -> bool {
    head.role == Role::Assistant && head.is_summary && head.is_finished && head.error.is_none()
}

/// Returns whether a request failed, so that the host sends nothing of it.
fn is_failure(head: &MessageHead, pieces: &[Piece]) -> bool {
    let says = |piece: &Piece| !["step-start", "reasoning"].contains(&piece.kind.as_str());
    head.error.as_ref().is_some_and(|name| name != ABORTED || !pieces.iter().any(says))
}

/// Returns whether a kind of parts is known; most of them say nothing to the model.
fn is_known(kind: &str) -> bool {
    const KINDS: [&str; 12] = [
        "text",
        "reasoning",
        "tool",
        "file",
        "step-start",
        "step-finish",
        "patch",
        "snapshot",
        "agent",
        "retry",
        "subtask",
        "compaction",
    ];
    KINDS.contains(&kind)
}

fn is_spelled_out(file: &Fields<'_>) -> bool {
    let kind = file.string("mime").unwrap_or_default();
    kind == "text/plain" || kind == "application/x-directory"
}

fn thought(part: &Fields<'_>) -> Option<Block> {
    let metadata = part.inner("metadata").and_then(|metadata| metadata.inner("anthropic"));
    let signature = metadata.and_then(|metadata| metadata.string("signature"));
    Some(Block::Thinking { text: part.string("text")?, signature })
}

fn is_empty(block: &Block) -> bool {
    match block {
        Block::Text { text } => text.is_empty(),
        Block::Thinking { text, signature } => text.is_empty() && signature.is_none(),
        _ => false,
    }
}

fn place(record: &Span, blocks: Range<usize>) -> Place {
    Place { record: record.clone(), blocks }
}

/// Returns the positions of a message's blocks: the message first, then each part.
fn places(head: &MessageHead, sent: &[SentBlock]) -> Vec<Place> {
    let parts = sent.iter().enumerate().map(|(at, (_, record))| place(record, at..at + 1));
    merged([place(&head.record, 0..0)].into_iter().chain(parts).collect())
}

/// Joins neighbours that are one record.
fn merged(places: Vec<Place>) -> Vec<Place> {
    let mut all: Vec<Place> = Vec::with_capacity(places.len());
    for next in places {
        match all.last_mut() {
            Some(last) if last.record == next.record => {
                let blocks = if last.blocks.is_empty() {
                    next.blocks.clone()
                } else {
                    last.blocks.start..next.blocks.end
                };
                last.blocks = blocks;
            }
            _ => all.push(next),
        }
    }
    all
}
