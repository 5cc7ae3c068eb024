//! One compaction as entries of a log.

use std::borrow::Cow;

use wb_conductor::CompactionReport;
use wb_message::markers::{DIGEST_HEADER, digest_body};
use wb_message::{Content, Message, Origin, text};
use wb_session::EntryId;

/// The most bytes of the first prompt that a digest keeps word for word, about 550 tokens.
pub(crate) const FIRST_PROMPT_BYTES: usize = 2_000;
/// How a digest begins that has the headings it was asked for.
const OBJECTIVE: &str = "# Objective\n";

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
    /// Reads what a compaction did, and brings the messages that it left into the order of the log. The first prompt of the
    /// session is put into a digest that leaves it out, as those of models may.
    pub(crate) fn of(
        report: &CompactionReport,
        messages: &mut Vec<Message>,
        before: &[EntryId],
        first_prompt: &str,
    ) -> Option<Self> {
        let undo = report.undo.as_ref()?;
        let origins = undo.origins(before.len());
        let kept: Vec<usize> = origins.iter().filter_map(|origin| origin.kept()).collect();
        let edited = origins.iter().zip(messages.iter()).filter_map(|(origin, message)| {
            let at = origin.kept().filter(|at| undo.replaced(*at))?;
            Some((before[at].clone(), body(message)))
        });
        let edited = edited.collect();
        let is_touched = origins.contains(&Origin::New);
        let digest = without_new(messages, &origins)
            .map(|told| if tells(&told, first_prompt) { told } else { with_first(&told, first_prompt) });
        // As it will be when the log is read again, which has no place for the time that it reaches to.
        messages.splice(..0, digest.as_deref().map(digest_message));
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

/// Builds the message that stands for folded ones.
pub(crate) fn digest_message(told: &str) -> Message {
    Message::user(format!("{DIGEST_HEADER}\n\n{told}"))
}

/// Tells whether a digest holds a prompt word for word; blanks do not count, since a list indents its lines.
fn tells(digest: &str, prompt: &str) -> bool {
    let words = |text: &str| text::one_line(text, usize::MAX);
    words(digest).contains(&words(&text::clip(prompt.trim(), FIRST_PROMPT_BYTES)))
}

fn with_first(digest: &str, prompt: &str) -> String {
    let prompt = text::clip(prompt.trim(), FIRST_PROMPT_BYTES).replace('\n', "\n  ");
    let (heading, rest) = digest.strip_prefix(OBJECTIVE).map_or(("", digest), |rest| (OBJECTIVE, rest));
    format!("{heading}- First request: {prompt}\n{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_prompt_is_put_into_a_digest_that_leaves_it_out() {
        let prompt = "Port the importer.\nKeep its names.";
        let told = with_first("# Objective\n- Port it.", prompt);
        assert_eq!(told, "# Objective\n- First request: Port the importer.\n  Keep its names.\n- Port it.");
        assert!(tells(&told, prompt) && !tells("# Objective\n- Port it.", prompt));
        assert_eq!(with_first("Free words.", "Go."), "- First request: Go.\nFree words.");
    }

    #[test]
    fn of_a_long_first_prompt_the_start_and_the_end_are_kept() {
        let told = with_first("# Objective\n", &"ä".repeat(3_000));
        assert!(told.len() < FIRST_PROMPT_BYTES + 100);
    }
}
