//! A plan to obtain a view: the messages to remove, to add and to change, tried out before it is
//! written.

use std::borrow::Cow;
use std::collections::HashSet;

use wb_message::{Block, Message, markers};
use wb_record::{ChangeSet, Item, NotExpressible, Span, Stamp, View, Wanted};

use super::assemble::is_silent;
use super::live::{Compaction, Node, Step, live, pairs};
use super::log::{SessionLog, tool};
use super::refused;
use super::source::{Piece, Source};
use super::tool::{Outcome, body, cleared, uncleared};
use super::write::{Changes, pair};

/// The reason why nothing is written after the user has gone back.
pub(crate) const REVERTED: &str = "the user has gone back: the next prompt removes what was written since";

/// Renders items of a view; folded messages are still there, so only pairs of compactions are ever
/// removed.
pub(crate) fn render(
    source: &Source<'_>,
    log: &SessionLog,
    wanted: &Wanted<'_>,
) -> Result<ChangeSet, NotExpressible> {
    let Wanted { view, items, stamp, .. } = *wanted;
    if log.reverted.is_some() {
        return Err(refused(REVERTED));
    }
    let wish = Wish::new(log, view, items)?;
    let gone = wish.gone(source, log)?;
    let tail = wish.stays.first().map(|at| log.heads[*at].id.as_str());
    let new = if wish.texts.is_empty() { Vec::new() } else { pair(source, log, &wish.texts, tail, stamp)? };
    let edit = |(at, content): &(usize, &[Block])| edited(log, view, *at, content, stamp).transpose();
    let edited = wish.edits.iter().filter_map(edit).collect::<Result<_, _>>()?;
    Changes { gone, new, edited }.written(source, log)
}

/// The wanted state, in messages of the session.
#[derive(Debug, Default)]
struct Wish<'a> {
    /// The digest and the texts that go with it.
    texts: Vec<String>,
    /// The messages that are sent after it, in order.
    stays: Vec<usize>,
    /// The messages of the view that get another body.
    edits: Vec<(usize, &'a [Block])>,
}

impl<'a> Wish<'a> {
    fn new(log: &SessionLog, view: &View, items: &'a [Item<'_>]) -> Result<Self, NotExpressible> {
        let owners = log.owners();
        let owner = |record: &Span| owners.get(&(record.part.as_str(), record.at)).copied();
        let mut wish = Self::default();
        let mut kept = HashSet::new();
        for item in items {
            let places = match item {
                Item::New(message) if wish.stays.is_empty() => {
                    wish.texts.push(text_of(message, wish.texts.is_empty())?);
                    continue;
                }
                Item::New(_) => return Err(refused("a digest precedes all that stays")),
                Item::Same(at) | Item::Body(at, _) => {
                    kept.insert(*at);
                    view.provenance.places(*at).iter().map(|place| &place.record).collect()
                }
                Item::Old(record) => vec![record],
            };
            if let Item::Body(at, content) = item {
                wish.edits.push((*at, content));
            }
            let before = wish.stays.len();
            for at in places.into_iter().filter_map(owner) {
                if wish.stays.last() != Some(&at) {
                    wish.stays.push(at);
                }
            }
            if wish.stays.len() == before && wish.stays.is_empty() {
                return Err(refused("a message that stays is not in the session"));
            }
        }
        let is_cut =
            |at: &usize| !view.provenance.is_seam(*at) && kept.contains(at) != kept.contains(&(at - 1));
        match (1..view.messages.len()).find(is_cut) {
            Some(at) => Err(NotExpressible::SplitsRecord { format: "opencode", at }),
            None => Ok(wish),
        }
    }

    /// Returns the messages to remove so that the next request is as wanted: unwanted compactions
    /// among those that stay.
    fn gone(&self, source: &Source<'_>, log: &SessionLog) -> Result<Vec<usize>, NotExpressible> {
        let nodes = log.nodes(log.heads.len());
        let wanted: HashSet<usize> = self.stays.iter().copied().collect();
        let first = self.stays.iter().copied().min().unwrap_or(usize::MAX);
        let is_over = |pair: &Vec<usize>| pair[0] > first && !pair.iter().any(|at| wanted.contains(at));
        let gone: Vec<usize> = pairs(&nodes).into_iter().filter(is_over).flatten().collect();
        let sent = self.sent(&nodes, &gone);
        let mut log = Cow::Borrowed(log);
        for at in sent.iter().filter(|at| !wanted.contains(at)) {
            if !log.is_known(*at) {
                let loaded = log.to_mut().load(source, *at);
                loaded.map_err(NotExpressible::unreadable)?;
            }
            if !is_silent(&log, *at) {
                return Err(refused("only messages at the end can stay behind a digest"));
            }
        }
        let sent = sent.into_iter().filter(|at| wanted.contains(at));
        if sent.eq(self.stays.iter().copied()) {
            Ok(gone)
        } else {
            Err(refused("messages stay in their order"))
        }
    }

    /// Returns the messages after the digest in a request without some messages and with the pair.
    fn sent(&self, nodes: &[Node], gone: &[usize]) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..nodes.len()).filter(|at| !gone.contains(at)).collect();
        let mut after: Vec<Node> = numbers.iter().map(|at| nodes[*at].clone()).collect();
        if !self.texts.is_empty() {
            let tail = self.stays.first().map(|at| nodes[*at].id.clone());
            let (id, of) = (String::new(), String::new());
            after.push(Node { id, step: Step::Asks(Some(Compaction { tail })) });
            after.push(Node { id: "summary".to_owned(), step: Step::Sums { of, is_done: true } });
            numbers.extend([usize::MAX, usize::MAX]);
        }
        let sent = live(&after).into_iter().map(|at| numbers[at]);
        sent.filter(|at| *at != usize::MAX).collect()
    }
}

/// Returns our message as a text of the summary: a digest, or a text that can go with one.
fn text_of(message: &Message, is_first: bool) -> Result<String, NotExpressible> {
    match (markers::digest_body(message), markers::sole_user_text(message)) {
        (Some(body), _) if is_first => Ok(format!("{}\n{body}", markers::DIGEST_HEADER)),
        (_, Some(text)) if is_first && markers::is_dropped_mark(message) => Ok(text.to_owned()),
        (_, Some(text)) if !is_first && markers::restored_file(message).is_some() => Ok(text.to_owned()),
        _ if is_first => Err(refused("what precedes all that stays must be a digest")),
        _ => Err(refused("next to a digest only restored files can be written")),
    }
}

/// Returns the part of a result with another body; `None` if it has it already.
fn edited(
    log: &SessionLog,
    view: &View,
    at: usize,
    content: &[Block],
    stamp: &Stamp,
) -> Result<Option<(Piece, Vec<u8>)>, NotExpressible> {
    if view.messages.get(at).is_some_and(|message| message.blocks() == content) {
        return Ok(None);
    }
    let piece =
        part_of(log, view, at).ok_or_else(|| refused(format!("message {at} is no result of a tool")))?;
    let after = if markers::is_cleared(content) {
        cleared(&piece.json, stamp.now_ms)
    } else {
        uncleared(&piece.json).filter(|_| body(&piece.json).as_deref() == Some(content))
    };
    let after =
        after.ok_or_else(|| refused(format!("the result at message {at} is sent as it was or cleared")))?;
    Ok(Some((piece.clone(), after)))
}

/// Returns the part that contains a result: the results follow an answer in the order of their
/// parts.
fn part_of<'a>(log: &'a SessionLog, view: &View, at: usize) -> Option<&'a Piece> {
    let is_result = |at: usize| matches!(view.messages[at], Message::ToolResult { .. });
    let record = |at: usize| view.provenance.places(at).first().map(|place| &place.record);
    if at >= view.messages.len() || !is_result(at) {
        return None;
    }
    let n_before = (0..at).filter(|before| is_result(*before) && record(*before) == record(at)).count();
    let own = record(at)?;
    let owner = *log.owners().get(&(own.part.as_str(), own.at))?;
    let is_last = log.is_open_end(owner);
    let answers = |piece: &&Piece| match tool(piece).map(|tool| tool.outcome) {
        Some(Outcome::Open) => !is_last,
        other => other.is_some(),
    };
    log.pieces(owner).iter().filter(answers).nth(n_before)
}
