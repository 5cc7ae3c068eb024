//! One compaction as entries of a log.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wb_conductor::{CompactionReport, DigestSource};
use wb_facts::Finding;
use wb_message::markers::digest_body;
use wb_message::{Content, Message, Origin, Undo};
use wb_summarize::{CondenseScope, digest_message};

use crate::document2::files::FileLists;
use crate::entry::{Compaction, Custom, EntryKind, EntryTag, compaction_entries};
use crate::error::SessionError;
use crate::id::EntryId;
use crate::session::Session;

/// The type of the custom entry that begins each compaction of a driver.
const STEP_MARK: &str = "wb_agent.compaction";

/// The notes on a compaction next to its entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StepNote {
    /// The report in one line.
    pub report: String,
    /// Marks a digest that a model wrote, which was therefore audited.
    pub by_model: bool,
    /// The findings of the audit, a line each.
    pub findings: Vec<String>,
}

impl From<&CompactionReport> for StepNote {
    fn from(report: &CompactionReport) -> Self {
        let line = |it: &Finding| format!("“{}”: {}", it.text, it.why);
        let by_model = matches!(report.digest, Some(DigestSource::Model { .. }));
        Self { report: report.to_string(), by_model, findings: report.findings.iter().map(line).collect() }
    }
}

impl StepNote {
    /// Reads the note of a custom entry; nothing where it is another one.
    pub(crate) fn parse(entry: &EntryKind) -> Option<Self> {
        match entry {
            EntryKind::Custom(Custom { custom_type, data: Some(data) }) if custom_type == STEP_MARK => {
                Self::deserialize(data).ok()
            }
            _ => None,
        }
    }

    /// Appends the mark that begins a compaction.
    pub(crate) fn append(&self, session: &mut Session, now_ms: i64) -> Result<(), SessionError> {
        let mark = Custom { custom_type: STEP_MARK.to_owned(), data: serde_json::to_value(self).ok() };
        session.append(&EntryKind::Custom(mark), now_ms).map(drop)
    }
}

/// Under this key of a compaction's details is who wrote it, where that is a model.
const BY: &str = "by";

/// Returns the details of a digest: the files of the folded messages, and its writer.
pub(crate) fn details(lists: &FileLists, by_model: bool) -> Option<Value> {
    let mut details = serde_json::to_value(lists).ok()?;
    if by_model {
        details[BY] = json!("model");
    }
    Some(details)
}

/// Returns whether a model wrote a digest, by its details.
pub(crate) fn is_by_model(details: Option<&Value>) -> bool {
    details.is_some_and(|details| details[BY] == "model")
}

/// Undoes the last compaction on the path to the leaf; false where there is none. Messages after it
/// are repeated on a new branch.
pub(crate) fn undo_last(session: &mut Session, now_ms: i64) -> Result<bool, SessionError> {
    let path = session.path()?;
    let mut mark = None;
    for (at, node) in path.iter().enumerate().rev().filter(|(_, node)| node.tag == EntryTag::Custom) {
        if StepNote::parse(&session.entry(&node.id)?.kind).is_some() {
            mark = Some(at);
            break;
        }
    }
    let is_of_step = |tag| matches!(tag, EntryTag::ContextEdit | EntryTag::Compaction);
    let last = |at: usize| at + path[at + 1..].iter().take_while(|node| is_of_step(node.tag)).count();
    let compaction = path.iter().rposition(|node| node.tag == EntryTag::Compaction);
    let (first, last) = match (mark, compaction) {
        (Some(mark), Some(at)) if at > last(mark) => (at, at),
        (Some(mark), _) => (mark, last(mark)),
        (None, Some(at)) => (at, at),
        (None, None) => return Ok(false),
    };
    session.undo_entries(&path[first].id, &path[last].id, now_ms)?;
    Ok(true)
}

/// A compaction in the form of a log.
///
/// A log puts the digest first, then the kept messages. A prompt that the engine left before the
/// digest therefore follows it, and other new messages, such as a restored file, have no place and
/// are dropped.
#[derive(Debug)]
pub(crate) struct Folded {
    /// The entries to append.
    changes: Vec<EntryKind>,
    /// The entries of the messages, without the digest's, which is the first one and has none yet.
    pub(crate) entries: Vec<EntryId>,
    /// Marks messages that differ from the compaction's result.
    pub(crate) is_touched: bool,
}

impl Folded {
    /// Reads what a compaction did, and brings the messages that it left into the order of the log;
    /// `details` are those of the digest.
    pub(crate) fn new(
        undo: &Undo,
        tokens_before: u64,
        messages: &mut Vec<Message>,
        before: &[EntryId],
        details: Option<Value>,
    ) -> Self {
        let origins = undo.origins(before.len());
        let kept = origins.iter().zip(messages.iter()).filter_map(|(origin, message)| {
            let at = origin.input_index()?;
            Some((at, undo.has_new_body(at).then(|| body(message))))
        });
        let kept: Vec<_> = kept.collect();
        let is_touched = origins.contains(&Origin::New);
        let digest = without_new(messages, &origins);
        // As read again from the log, which has no field for the time that the digest reaches to.
        let message = |text: &String| digest_message(CondenseScope::Session, text, 0);
        messages.splice(..0, digest.as_ref().map(message));
        let digest =
            digest.map(|summary| Compaction { summary, tokens_before, details, ..Compaction::default() });
        let changes = compaction_entries(before, &kept, digest);
        Self { changes, entries: kept.iter().map(|(at, _)| before[*at].clone()).collect(), is_touched }
    }

    /// Appends the compaction, and puts the entry of its digest in front of the others.
    pub(crate) fn append(
        &mut self,
        session: &mut Session,
        note: &StepNote,
        now_ms: i64,
    ) -> Result<Option<EntryId>, SessionError> {
        note.append(session, now_ms)?;
        let mut digest = None;
        for kind in self.changes.drain(..) {
            let id = session.append(&kind, now_ms)?;
            if kind.tag() == EntryTag::Compaction {
                digest = Some(id);
            }
        }
        self.entries.splice(..0, digest.clone());
        Ok(digest)
    }
}

/// Removes new messages, and returns the text of the digest among them.
fn without_new(messages: &mut Vec<Message>, origins: &[Origin]) -> Option<String> {
    let mut digest = None;
    let mut next = origins.iter();
    messages.retain(|message| {
        let is_kept = next.next().is_some_and(|origin| *origin != Origin::New);
        if !is_kept {
            digest = digest_body(message).map(Cow::into_owned).or(digest.take());
        }
        is_kept
    });
    digest
}

fn body(message: &Message) -> Content {
    match message {
        Message::User { content, .. } | Message::Custom { content, .. } => content.clone(),
        Message::BashExecution { output, .. } => Content::Text(output.clone()),
        other => Content::Blocks(other.blocks().to_vec()),
    }
}
