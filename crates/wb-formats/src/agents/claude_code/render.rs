//! Records to append so that a view becomes the items: a compaction in the host's format, our
//! records, and references to the rest.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use wb_message::{Block, Message, markers};
use wb_record::json::{elements, get, set, text};
use wb_record::{ChangeSet, Item, NotExpressible, Parts, Span, Stamp, View};
use wb_session::parse_iso_ms;

use super::body::{Bodies, Body};
use super::head::Kind;
use super::record::{LineWriter, body_value, digest_text, quoted, refused};
use super::rows::{Row, Rows};
use crate::kit::appended::message_of;
use crate::kit::records::bytes_of;
use crate::shapes::anthropic_message::block;
use crate::shapes::content_value::list;

/// A view to write, with its position.
#[derive(Debug)]
pub(crate) struct Renderer<'a> {
    parts: &'a dyn Parts,
    rows: &'a Rows,
    view: &'a View,
    /// The lines of the conversation, each with its place among them.
    order: &'a [usize],
    places: HashMap<usize, usize>,
    /// The lines of each message, and the messages of each line.
    lines: Vec<Vec<usize>>,
    messages: HashMap<usize, Vec<usize>>,
    /// The calls whose results the host has cleared, for older records that are restored.
    cleared: HashSet<String>,
}

impl<'a> Renderer<'a> {
    pub(crate) fn new(
        parts: &'a dyn Parts,
        rows: &'a Rows,
        order: &'a [usize],
        view: &'a View,
    ) -> Result<Self, NotExpressible> {
        let (mut lines, mut messages) = (Vec::new(), HashMap::<usize, Vec<usize>>::new());
        for at in 0..view.messages.len() {
            let of = view.provenance.places(at).iter().map(|place| line(rows, &place.record));
            lines.push(of.collect::<Result<Vec<_>, _>>()?);
            for line in &lines[at] {
                messages.entry(*line).or_default().push(at);
            }
        }
        let places: HashMap<usize, usize> =
            order.iter().enumerate().map(|(place, line)| (*line, place)).collect();
        if !messages.keys().all(|line| places.contains_key(line)) {
            return Err(refused("a view that is not the session's present one"));
        }
        Ok(Self { parts, rows, view, order, places, lines, messages, cleared: HashSet::new() })
    }

    /// Lets results stay cleared that the host has cleared, also where their records come back.
    pub(crate) fn with_cleared(mut self) -> Result<Self, NotExpressible> {
        let mut bodies = Bodies::new(self.parts, self.rows);
        for at in 0..self.rows.all.len() {
            if matches!(self.rows.all[at].kind, Kind::Clearing) && self.rows.is_main(at) {
                bodies.load(at).map_err(NotExpressible::unreadable)?;
                if let Body::Clearing { ids } = bodies.take(at) {
                    self.cleared.extend(ids);
                }
            }
        }
        Ok(self)
    }

    /// Writes the items; those after the last one that needs our own record are kept by reference.
    pub(crate) fn render(
        &self,
        items: &[Item<'_>],
        tip: Option<usize>,
        stamp: &Stamp,
    ) -> Result<ChangeSet, NotExpressible> {
        let is_there = |item| message_of(item).is_none_or(|at| at < self.view.messages.len());
        if items.is_empty() || !items.iter().all(is_there) {
            return Err(refused("a conversation without a message, or of messages that are not there"));
        }
        let mut writer = self.writer(stamp)?;
        let leaf = tip.and_then(|tip| self.rows.all[tip].uuid.as_deref());
        let lines = if let Some((leaf, new)) = leaf.zip(self.added(items, tip)) {
            writer.go_on_from(leaf);
            self.write(new, &mut writer)?;
            writer.added()
        } else {
            let (own, kept) = items.split_at(self.n_own(items));
            self.write(own, &mut writer)?;
            let kept = self.kept_lines(kept)?;
            if kept.is_empty() && self.ends_aside(items) {
                self.copy_silent(tip, &mut writer)?;
            }
            let kept: Vec<&str> =
                kept.iter().filter_map(|line| self.rows.all[*line].uuid.as_deref()).collect();
            writer.finish(leaf, &kept, stamp)
        };
        let start = if self.rows.is_ended() { Vec::new() } else { b"\n".to_vec() };
        Ok(ChangeSet::append("", self.rows.n_bytes(), [start, lines].concat()))
    }

    /// Returns the items to add when everything else is unchanged: results after the last line,
    /// which need no compaction.
    fn added<'i>(&self, items: &'i [Item<'i>], tip: Option<usize>) -> Option<&'i [Item<'i>]> {
        let (all, new) = items.split_at_checked(self.view.messages.len())?;
        let stays = |(n, item): (usize, &Item<'_>)| {
            matches!(item, Item::Same(at) if *at == n) && !self.view.provenance.is_altered(n)
        };
        let is_result = |item: &Item<'_>| matches!(item, Item::New(Message::ToolResult { .. }));
        // A line that names the one before would part lines that name none.
        let is_at_end = self.rows.has_links
            && tip.is_some()
            && self.lines.last().and_then(|lines| lines.last()) == tip.as_ref();
        let is_all = is_at_end && all.iter().enumerate().all(stays);
        (is_all && !new.is_empty() && new.iter().all(is_result)).then_some(new)
    }

    fn writer(&self, stamp: &Stamp) -> Result<LineWriter, NotExpressible> {
        let is_like = |row: &&Row| row.uuid.is_some() && (!row.is_side || self.rows.is_subagent());
        let like = self.rows.all.iter().rfind(is_like).or(self.rows.all.last());
        let record = like.map_or(Ok(Cow::default()), |row| self.bytes(row))?;
        let last_ms = text(&record, &["timestamp"]).and_then(|time| parse_iso_ms(&time)).unwrap_or(0);
        Ok(LineWriter::new(&record, self.rows.is_subagent(), stamp, self.rows.n_bytes(), last_ms))
    }

    /// Returns the number of items that need new records: all up to the last that cannot be kept by
    /// reference, with the whole answers and lines that these belong to, up to a line that the
    /// conversation can continue from.
    fn n_own(&self, items: &[Item<'_>]) -> usize {
        let mut at_item = HashMap::new();
        for (n, item) in items.iter().enumerate() {
            if let Some(at) = message_of(item) {
                at_item.entry(at).or_insert(n);
            }
        }
        let mut last = None;
        let is_own = |item: &Item<'_>| !self.is_kept(item, &mut last, &at_item);
        let mut n_own =
            items.iter().map(is_own).collect::<Vec<_>>().iter().rposition(|own| *own).map_or(0, |n| n + 1);
        let is_bound = |n: usize, item: &Item<'_>| {
            let Item::Same(at) = item else { return false };
            self.bound_to(*at).any(|other| at_item.get(&other).is_some_and(|item| *item < n))
        };
        loop {
            n_own = match (n_own..items.len()).rfind(|n| is_bound(n_own, &items[*n])) {
                Some(n) => n + 1,
                None if n_own < items.len() && self.ends_aside(&items[..n_own]) => n_own + 1,
                None => return n_own,
            };
        }
    }

    /// Returns whether the conversation cannot continue from the last line of items, so that
    /// nothing can be kept after it.
    fn ends_aside(&self, items: &[Item<'_>]) -> bool {
        let last = match items.last() {
            Some(Item::Same(at) | Item::Body(at, _)) => self.lines[*at].last().copied(),
            Some(Item::Old(span)) => self.rows.line_at(span),
            Some(Item::New(_)) | None => None,
        };
        last.is_some_and(|line| !self.rows.all[line].is_chat())
    }

    /// Copies a line without content that a conversation continues from, such as a failed request,
    /// after an attachment, which is visible only with such a line after it.
    fn copy_silent(&self, tip: Option<usize>, writer: &mut LineWriter) -> Result<(), NotExpressible> {
        let silent = tip.filter(|tip| !self.messages.contains_key(tip));
        let silent = silent.ok_or_else(|| refused("an attachment at the end with nothing behind it"))?;
        writer.copy(&self.bytes(&self.rows.all[silent])?, None);
        Ok(())
    }

    /// Returns whether an item can be kept by reference: it is unchanged and in the order of the
    /// view, and all of its lines stay and can be found by their ids.
    fn is_kept(&self, item: &Item<'_>, last: &mut Option<usize>, at_item: &HashMap<usize, usize>) -> bool {
        match item {
            Item::Same(at) => {
                let is_behind = last.replace(*at).is_none_or(|last| last < *at);
                let is_whole = |line: &usize| self.messages[line].iter().all(|at| at_item.contains_key(at));
                let is_known = |line: &usize| self.is_addressable(*line) && is_whole(line);
                is_behind && !self.view.provenance.is_altered(*at) && self.lines[*at].iter().all(is_known)
            }
            Item::Old(span) => self.rows.line_at(span).is_some_and(|line| {
                let is_cleared =
                    || self.bytes(&self.rows.all[line]).is_ok_and(|it| self.cleared_in(line, &it).is_some());
                self.is_addressable(line) && (self.cleared.is_empty() || !is_cleared())
            }),
            Item::Body(..) | Item::New(_) => false,
        }
    }

    fn is_addressable(&self, line: usize) -> bool {
        self.rows.all[line].uuid.as_deref().and_then(|uuid| self.rows.find(uuid)) == Some(line)
    }

    /// Visits the messages that must not be parted from one: those of its lines, and a result's
    /// answer.
    fn bound_to(&self, at: usize) -> impl Iterator<Item = usize> {
        let is_answer = |other: &usize| matches!(self.view.messages[*other], Message::Assistant { .. });
        let is_result = matches!(self.view.messages[at], Message::ToolResult { .. });
        let answer = (0..at).rev().find(is_answer).filter(|_| is_result);
        self.lines[at].iter().flat_map(|line| self.messages[line].iter().copied()).chain(answer)
    }

    /// Returns the lines that are kept by reference, in the order of the request.
    fn kept_lines(&self, items: &[Item<'_>]) -> Result<Vec<usize>, NotExpressible> {
        let mut kept = Vec::new();
        for run in items.chunk_by(|a, b| matches!(a, Item::Old(_)) == matches!(b, Item::Old(_))) {
            kept.extend(if matches!(run[0], Item::Old(_)) { self.old(run)? } else { self.same(run) });
        }
        let mut seen = HashSet::new();
        kept.retain(|line| seen.insert(*line));
        Ok(kept)
    }

    /// Returns the lines of messages, with the attachments among them that say nothing to us but
    /// may to the host.
    fn same(&self, run: &[Item<'_>]) -> Vec<usize> {
        let lines = self.lines_of(run);
        let place = |line: Option<&usize>| line.and_then(|line| self.places.get(line)).copied();
        let Some((first, last)) = place(lines.first()).zip(place(lines.last())) else { return lines };
        let lines: HashSet<usize> = lines.into_iter().collect();
        let is_silent = |line: &usize| {
            self.rows.all[*line].kind == Kind::Attachment
                && !self.messages.contains_key(line)
                && self.is_addressable(*line)
        };
        let each = self.order[first..=last].iter().copied();
        each.filter(|line| lines.contains(line) || is_silent(line)).collect()
    }

    /// Returns the lines of messages in the order of the conversation.
    fn lines_of(&self, run: &[Item<'_>]) -> Vec<usize> {
        let mut lines: Vec<usize> =
            run.iter().filter_map(message_of).flat_map(|at| &self.lines[at]).copied().collect();
        lines.sort_unstable_by_key(|line| self.places.get(line));
        lines.dedup();
        lines
    }

    /// Returns older lines, each with the attachments that lead to it from the previous one.
    fn old(&self, run: &[Item<'_>]) -> Result<Vec<usize>, NotExpressible> {
        let mut lines: Vec<usize> = Vec::new();
        for item in run {
            let Item::Old(span) = item else { continue };
            let at = line(self.rows, span)?;
            let start = lines.len();
            if let Some(before) = lines.last().copied() {
                let parents = std::iter::successors(self.rows.all[at].parent, |at| self.rows.all[*at].parent);
                let is_silent =
                    |line: &usize| *line > before && self.rows.all[*line].kind == Kind::Attachment;
                lines.extend(parents.take_while(is_silent).filter(|line| self.is_addressable(*line)));
            }
            lines[start..].reverse();
            lines.push(at);
        }
        Ok(lines)
    }

    /// Writes records for items: new ones, and copies of those that stay.
    fn write(&self, items: &[Item<'_>], writer: &mut LineWriter) -> Result<(), NotExpressible> {
        let is_read = |item: &Item<'_>| matches!(item, Item::Same(_) | Item::Body(..));
        let is_digest = |message: &Message| markers::digest_body(message).is_some();
        for (n, run) in items.chunk_by(|a, b| is_read(a) && is_read(b)).enumerate() {
            match &run[0] {
                Item::New(message) if n == 0 && is_digest(message) => {
                    writer.digest(&digest_text(message).unwrap_or_default());
                }
                Item::New(message) => writer.message(message)?,
                Item::Old(span) => {
                    let line = line(self.rows, span)?;
                    let record = self.bytes(&self.rows.all[line])?;
                    writer.copy(&record, self.cleared_in(line, &record).as_deref());
                }
                Item::Same(_) | Item::Body(..) => self.copy(run, writer)?,
            }
        }
        Ok(())
    }

    /// Returns the content of a line in which the results stay cleared that the host has cleared;
    /// none if there are none.
    fn cleared_in(&self, line: usize, record: &[u8]) -> Option<Vec<u8>> {
        let content = &record[self.rows.all[line].content.clone()];
        let is_cleared =
            |part: &&[u8]| text(part, &["tool_use_id"]).is_some_and(|id| self.cleared.contains(&id));
        let parts: Vec<&[u8]> = elements(content)?.into_iter().map(|place| &content[place]).collect();
        parts.iter().any(is_cleared).then(|| {
            let mark = quoted(markers::CLEARED_TOOL_RESULT);
            let each = |part: &&[u8]| {
                if is_cleared(part) { set(part, "content", &mark) } else { part.to_vec() }
            };
            list(&parts.iter().map(each).collect::<Vec<_>>())
        })
    }

    /// Copies the lines of messages, without what of a line does not stay and with the bodies that
    /// are new.
    fn copy(&self, run: &[Item<'_>], writer: &mut LineWriter) -> Result<(), NotExpressible> {
        let mut stays: HashMap<usize, Option<&[Block]>> = HashMap::new();
        for item in run {
            match item {
                Item::Same(at) if self.view.provenance.is_altered(*at) => {
                    stays.insert(*at, Some(self.view.messages[*at].blocks()));
                }
                Item::Same(at) => drop(stays.insert(*at, None)),
                Item::Body(at, body) => drop(stays.insert(*at, Some(body))),
                Item::Old(_) | Item::New(_) => {}
            }
        }
        for line in self.lines_of(run) {
            let row = &self.rows.all[line];
            let record = self.bytes(row)?;
            let is_same = |at: &usize| stays.get(at) == Some(&None);
            let content = match &self.messages[&line] {
                messages if messages.iter().all(is_same) => None,
                messages => Some(self.content(row, &record[row.content.clone()], messages, &stays)?),
            };
            writer.copy(&record, content.as_deref());
        }
        Ok(())
    }

    /// Returns the content of a user line with what stays of it.
    fn content(
        &self,
        row: &Row,
        content: &[u8],
        messages: &[usize],
        stays: &HashMap<usize, Option<&[Block]>>,
    ) -> Result<Vec<u8>, NotExpressible> {
        match row.kind {
            Kind::User(_) => {}
            Kind::Answer(_) => return Err(refused("another body for an answer of the model")),
            _ => return Err(refused("another body for an attachment")),
        }
        let is_result = |at: &usize| matches!(self.view.messages[*at], Message::ToolResult { .. });
        let (mut results, said): (Vec<usize>, Vec<usize>) = messages.iter().partition(|at| is_result(at));
        let said = said.first().copied();
        let Some(places) = elements(content) else {
            let new = said.and_then(|at| Some((at, stays.get(&at).copied().flatten()?)));
            return new.map_or(Ok(content.to_vec()), |(at, body)| self.new_text(at, body));
        };
        let (mut parts, mut said_parts) = (Vec::new(), Vec::new());
        for part in places.into_iter().map(|place| &content[place]) {
            if text(part, &["type"]).as_deref() != Some("tool_result") {
                said_parts.push(part);
                continue;
            }
            let id = text(part, &["tool_use_id"]).unwrap_or_default();
            let is_it = |at: &usize| self.view.messages[*at].answered_ids().any(|other| other == id);
            // A repeated result is not in the view.
            let Some(nth) = results.iter().position(is_it) else { continue };
            let at = results.remove(nth);
            match stays.get(&at) {
                Some(Some(body)) => parts.push(set(part, "content", &self.result(at, body, part)?)),
                Some(None) => parts.push(part.to_vec()),
                None => {}
            }
        }
        match said.and_then(|at| Some((at, *stays.get(&at)?))) {
            Some((at, Some(body))) => {
                let old = self.view.messages[at].blocks();
                parts.extend(blocks(body, old, &said_parts)?);
            }
            Some((_, None)) => parts.extend(said_parts.into_iter().map(<[u8]>::to_vec)),
            None => {}
        }
        Ok(list(&parts))
    }

    /// Returns a new body for the content of a text.
    fn new_text(&self, at: usize, body: &[Block]) -> Result<Vec<u8>, NotExpressible> {
        let content = match self.view.messages[at].with_body(body.to_vec()) {
            Message::User { content, .. } | Message::Custom { content, .. } => body_value(&content)?,
            message => digest_text(&message).unwrap_or_default().into(),
        };
        Ok(content.to_string().into_bytes())
    }

    /// Returns a new body for a result; blocks that stay keep their bytes.
    fn result(&self, at: usize, body: &[Block], part: &[u8]) -> Result<Vec<u8>, NotExpressible> {
        if let [Block::Text { text }] = body
            && !text.is_empty()
        {
            return Ok(quoted(text));
        }
        let old = get(part, "content").unwrap_or_default();
        let places = elements(old).unwrap_or_default();
        let old: Vec<&[u8]> = places.into_iter().map(|place| &old[place]).collect();
        Ok(list(&blocks(body, self.view.messages[at].blocks(), &old)?))
    }

    fn bytes(&self, row: &Row) -> Result<Cow<'_, [u8]>, NotExpressible> {
        bytes_of(self.parts, &row.span())
    }
}

/// Returns blocks as JSON; those that were there before with their own bytes.
fn blocks(new: &[Block], old: &[Block], bytes: &[&[u8]]) -> Result<Vec<Vec<u8>>, NotExpressible> {
    let known: Vec<(&Block, &[u8])> = old.iter().zip(bytes.iter().copied()).collect();
    let known = if old.len() == bytes.len() { known } else { Vec::new() };
    let each = |it: &Block| match known.iter().find(|(old, _)| *old == it) {
        Some((_, bytes)) => Ok(bytes.to_vec()),
        None => Ok(block(it).map_err(refused)?.to_string().into_bytes()),
    };
    new.iter().map(each).collect()
}

fn line(rows: &Rows, record: &Span) -> Result<usize, NotExpressible> {
    let missing = || NotExpressible::Unreadable(format!("there is no record at byte {}", record.at));
    rows.line_at(record).ok_or_else(missing)
}
