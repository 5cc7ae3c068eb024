//! One compaction as entries of a log.

use wb_conductor::CompactionReport;
use wb_message::markers::digest_body;
use wb_message::undo::Origin;
use wb_message::{Content, Message};
use wb_session::EntryId;

/// What a compaction did to the entries of a log, so that the context that is built of them is the transcript that it left.
///
/// A log puts the digest first, then what is kept. A prompt that the engine left in front of the digest goes behind it.
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

impl Step {
    /// Reads what a compaction did; the messages are brought into the order of the log. Returns the step, the entries of the
    /// messages (none for the digest, which has no entry yet), and whether the messages were touched.
    pub(crate) fn of(
        report: &CompactionReport,
        messages: &mut Vec<Message>,
        entries: &[EntryId],
    ) -> Option<(Self, Vec<Option<EntryId>>, bool)> {
        let undo = report.undo.as_ref()?;
        let mut step = Self { tokens_before: report.context_tokens, ..Self::default() };
        let mut is_kept = vec![false; entries.len()];
        let mut digest = None;
        let (mut kept, mut names) = (Vec::with_capacity(messages.len()), Vec::new());
        let n_before = messages.len();
        let mut is_touched = false;
        for (message, origin) in std::mem::take(messages).into_iter().zip(undo.origins(entries.len())) {
            let Some(at) = origin.kept() else {
                // The last digest counts. What else is new, such as a file that was given back, a log has no place for.
                match digest_body(&message) {
                    Some(text) if origin == Origin::New => step.digest = Some(text.into_owned()),
                    _ => is_touched = true,
                }
                is_touched |= !kept.is_empty();
                digest = step.digest.is_some().then_some(message).or(digest);
                continue;
            };
            is_kept[at] = true;
            if undo.replaced(at) {
                step.edited.push((entries[at].clone(), body(&message)));
            }
            kept.push(message);
            names.push(Some(entries[at].clone()));
        }
        let from = if step.digest.is_some() { is_kept.iter().position(|kept| *kept) } else { Some(0) };
        let from = from.unwrap_or(entries.len());
        step.first_kept = entries.get(from).cloned();
        let gone = (from..entries.len()).filter(|at| !is_kept[*at]);
        step.hidden = gone.map(|at| entries[at].clone()).collect();
        if let Some(digest) = digest {
            messages.push(digest);
            names.insert(0, None);
        }
        messages.extend(kept);
        is_touched |= messages.len() != n_before;
        Some((step, names, is_touched))
    }
}

fn body(message: &Message) -> Content {
    match message {
        Message::User { content, .. } | Message::Custom { content, .. } => content.clone(),
        other => Content::Blocks(other.blocks().to_vec()),
    }
}
