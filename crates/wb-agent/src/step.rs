//! One compaction as entries of a log.

use std::borrow::Cow;

use wb_conductor::CompactionReport;
use wb_message::markers::digest_body;
use wb_message::{Content, Message, Origin};
use wb_session::EntryId;
use wb_summarize::{CondenseScope, digest_message};

/// What a compaction did to the entries of a log, so that the context that is built of them is the transcript that it left.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Step {
    /// The digest.
    pub(crate) digest: Option<String>,
    /// The first entry that stays.
    pub(crate) first_kept: Option<EntryId>,
    /// Entries behind that one which go.
    pub(crate) hidden: Vec<EntryId>,
    /// Entries with another body.
    pub(crate) edited: Vec<(EntryId, Content)>,
    /// Tokens of the context before.
    pub(crate) tokens_before: u64,
}

/// A compaction as it goes into a log.
///
/// A log puts the digest first, then what is kept. So a prompt that the engine left in front of the digest goes behind it, and
/// what else is new, such as a file that was given back, has no place and goes.
#[derive(Debug)]
pub(crate) struct Folded {
    /// What is written.
    pub(crate) step: Step,
    /// The entries of the messages, without the digest's, which is the first one and has none yet.
    pub(crate) entries: Vec<EntryId>,
    /// Whether the messages are others than the compaction left.
    pub(crate) is_touched: bool,
}

impl Folded {
    /// Reads what a compaction did, and brings the messages that it left into the order of the log.
    pub(crate) fn of(
        report: &CompactionReport,
        messages: &mut Vec<Message>,
        before: &[EntryId],
    ) -> Option<Self> {
        let undo = report.undo.as_ref()?;
        let origins = undo.origins(before.len());
        let kept: Vec<usize> = origins.iter().filter_map(|origin| origin.input_index()).collect();
        let edited = origins.iter().zip(messages.iter()).filter_map(|(origin, message)| {
            let at = origin.input_index().filter(|at| undo.has_new_body(*at))?;
            Some((before[at].clone(), body(message)))
        });
        let edited = edited.collect();
        let is_touched = origins.contains(&Origin::New);
        let digest = without_new(messages, &origins);
        // As it will be when the log is read again, which has no place for the time that it reaches to.
        let message = |told: &String| digest_message(CondenseScope::Session, told, 0);
        messages.splice(..0, digest.as_ref().map(message));
        let from = if digest.is_some() { kept.first().copied().unwrap_or(before.len()) } else { 0 };
        let is_gone = |at: &usize| kept.binary_search(at).is_err();
        let step = Step {
            digest,
            first_kept: before.get(from).cloned(),
            hidden: (from..before.len()).filter(is_gone).map(|at| before[at].clone()).collect(),
            edited,
            tokens_before: report.context_tokens,
        };
        Some(Self { step, entries: kept.iter().map(|at| before[*at].clone()).collect(), is_touched })
    }
}

/// Takes out what is new, and returns what the digest among it says.
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
        other => Content::Blocks(other.blocks().to_vec()),
    }
}
