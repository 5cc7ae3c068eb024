//! A session as far as it was read: every message, and the requested parts.

use std::collections::HashMap;
use std::io;
use std::ops::Range;

use super::live::{Compaction, Node, Step, arranged, pairs, since_compaction};
use super::source::{MessageHead, Piece, Role, Source};
use super::tool::{Outcome, Tool};
use crate::kit::fields::Fields;
use crate::kit::json_text::text;

/// The messages of a session in the order in which they were written.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionLog {
    pub(crate) heads: Vec<MessageHead>,
    /// The parts of each message whose parts were requested.
    pieces: HashMap<usize, Vec<Piece>>,
    /// The point that the user went back to; everything from there on is not sent.
    pub(crate) reverted: Option<Revert>,
    /// The messages and parts that cannot be read: how many, and the number of the first.
    pub(crate) unreadable: (usize, usize),
    pub(crate) folder: String,
    pub(crate) session: String,
}

/// The place that the user went back to.
#[derive(Clone, Debug)]
pub(crate) struct Revert {
    /// The first message that is gone, or that loses parts.
    pub(crate) at: usize,
    /// The first part that is gone.
    part: Option<String>,
}

impl SessionLog {
    /// Reads the messages, and the parts that determine which of them the next request holds.
    pub(crate) fn read(source: &Source<'_>) -> io::Result<Self> {
        let session = match source.session() {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Vec::new(),
            session => session?,
        };
        let session = Fields::parse(&session);
        let session_text = |key| session.as_ref().and_then(|session| session.string(key)).unwrap_or_default();
        let found = source.heads()?;
        let mut log = Self {
            unreadable: (found.unreadable.len(), found.unreadable.first().copied().unwrap_or(0)),
            heads: found.all,
            folder: session_text("directory"),
            session: session_text("id"),
            ..Self::default()
        };
        log.reverted = session.as_ref().and_then(|session| log.revert(session));
        let asks = log.heads.iter().filter(|head| head.is_summary).filter_map(|head| log.asker(head));
        for at in asks.collect::<Vec<_>>() {
            log.load(source, at)?;
        }
        for at in since_compaction(&log.nodes(log.n_sent())) {
            log.load(source, at)?;
        }
        Ok(log)
    }

    /// Reads the parts of every message.
    pub(crate) fn whole(source: &Source<'_>) -> io::Result<Self> {
        let mut log = Self::read(source)?;
        for at in 0..log.heads.len() {
            log.load(source, at)?;
        }
        Ok(log)
    }

    /// Reads the parts of a message if they are not known.
    pub(crate) fn load(&mut self, source: &Source<'_>, at: usize) -> io::Result<()> {
        if self.pieces.contains_key(&at) {
            return Ok(());
        }
        let found = source.pieces(&self.heads[at])?;
        if !found.unreadable.is_empty() {
            let first = if self.unreadable.0 == 0 { at + 1 } else { self.unreadable.1 };
            self.unreadable = (self.unreadable.0 + found.unreadable.len(), first);
        }
        self.pieces.insert(at, found.all);
        Ok(())
    }

    /// Reads where the user went back to: of a database the column holds JSON as text.
    fn revert(&self, session: &Fields<'_>) -> Option<Revert> {
        let value = session.get("revert")?;
        let json =
            std::str::from_utf8(value).ok().and_then(text).map_or_else(|| value.to_vec(), String::into_bytes);
        let revert = Fields::parse(&json)?;
        let id = revert.string("messageID")?;
        let at = self.heads.iter().position(|head| head.id == id)?;
        Some(Revert { at, part: revert.string("partID") })
    }

    fn asker(&self, head: &MessageHead) -> Option<usize> {
        let parent = head.parent.as_ref()?;
        self.heads.iter().position(|head| head.id == *parent)
    }

    /// Returns the number of messages that the user has not undone.
    pub(crate) fn n_sent(&self) -> usize {
        match &self.reverted {
            Some(Revert { at, part: Some(_) }) => at + 1,
            Some(Revert { at, part: None }) => *at,
            None => self.heads.len(),
        }
    }

    /// Returns the parts of a message that are sent; none if they were not requested.
    pub(crate) fn pieces(&self, at: usize) -> &[Piece] {
        let all = self.pieces.get(&at).map_or(&[][..], Vec::as_slice);
        let Some(Revert { at: last, part: Some(part) }) = &self.reverted else { return all };
        let is_first_gone = |piece: &Piece| {
            piece.fields().and_then(|it| it.string("id")).as_ref() == Some(part)
                || piece.record.part.ends_with(part.as_str())
        };
        let end = all.iter().position(is_first_gone).filter(|_| at == *last);
        &all[..end.unwrap_or(all.len())]
    }

    /// Returns whether there is such a session at all.
    pub(crate) fn is_there(&self) -> bool {
        !self.session.is_empty() || !self.heads.is_empty() || self.unreadable.0 > 0
    }

    pub(crate) fn is_known(&self, at: usize) -> bool {
        self.pieces.contains_key(&at)
    }

    /// Returns the first `n` messages as nodes of the order.
    pub(crate) fn nodes(&self, n: usize) -> Vec<Node> {
        (0..n.min(self.heads.len())).map(|at| self.node(at)).collect()
    }

    fn node(&self, at: usize) -> Node {
        let head = &self.heads[at];
        let step = match (head.role, &head.parent) {
            (Role::User, _) => Step::Asks(self.pieces(at).iter().find_map(compaction)),
            (Role::Assistant, Some(of)) if head.is_summary => {
                Step::Sums { of: of.clone(), is_done: head.is_finished && head.error.is_none() }
            }
            _ => Step::Says,
        };
        Node { id: head.id.clone(), step }
    }

    /// Returns whether nothing but compactions follows a message, so that its calls may still be
    /// answered.
    pub(crate) fn is_open_end(&self, at: usize) -> bool {
        let is_apart = |at: usize| matches!(self.node(at).step, Step::Asks(Some(_)) | Step::Sums { .. });
        (at + 1..self.n_sent()).all(is_apart)
    }

    /// Returns the messages of a request that is made after the first `n`, in their order.
    pub(crate) fn live(&self, n: usize) -> Vec<usize> {
        let nodes = self.nodes(n);
        let live = since_compaction(&nodes);
        arranged(&nodes, live)
    }

    /// Returns the segments between compactions; the last one is the current one.
    pub(crate) fn epochs(&self) -> Vec<Range<usize>> {
        let n = self.n_sent();
        let mut starts: Vec<usize> = pairs(&self.nodes(n)).iter().map(|pair| pair[0]).collect();
        starts.insert(0, 0);
        starts.dedup();
        let ends = starts[1..].iter().copied().chain([n]).collect::<Vec<_>>();
        starts.into_iter().zip(ends).map(|(start, end)| start..end).collect()
    }

    /// Returns when each result of these messages was cleared, with its message.
    pub(crate) fn clearings(&self, live: &[usize]) -> Vec<(usize, i64)> {
        let of = |at: usize| {
            self.pieces(at).iter().filter_map(move |piece| match tool(piece)?.outcome {
                Outcome::Cleared { since, .. } => Some((at, since)),
                _ => None,
            })
        };
        live.iter().copied().flat_map(of).collect()
    }

    /// Returns the message of each record by where the record begins: its own, and those of its
    /// parts.
    pub(crate) fn owners(&self) -> HashMap<(&str, u64), usize> {
        let heads = self.heads.iter().enumerate().map(|(at, head)| (&head.record, at));
        let pieces = self.pieces.iter().flat_map(|(at, all)| all.iter().map(|piece| (&piece.record, *at)));
        pieces.chain(heads).map(|(record, at)| ((record.part.as_str(), record.at), at)).collect()
    }
}

/// Reads the settings of a part that requests a compaction.
fn compaction(piece: &Piece) -> Option<Compaction> {
    let is_one = piece.kind == "compaction";
    is_one.then(|| Compaction { tail: piece.fields().and_then(|part| part.string("tail_start_id")) })
}

/// Reads a part that is the call of a tool.
pub(crate) fn tool(piece: &Piece) -> Option<Tool> {
    if piece.kind == "tool" { Tool::parse(&piece.fields()?) } else { None }
}
