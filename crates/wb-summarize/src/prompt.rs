//! Puts the prompt together: framing, carried digest, transcript, length, headings.

use wb_message::{Message, text};

use crate::flatten::{flatten_into, neutralise_into};
use crate::scope::{CondenseScope, LENGTH_NOTE, SECTION_TEMPLATE};

/// Builds the user turn for a summarizer from messages as recorded, blocks separated by an empty line.
///
/// `prior` is an earlier digest to be carried; a blank one is left out.
pub fn build_summary_prompt(messages: &[Message], scope: CondenseScope, prior: Option<&str>) -> String {
    let mut out = head(scope, prior, |out| flatten_into(out, messages));
    out.push_str(SECTION_TEMPLATE);
    out
}

/// Builds the user turn around a transcript that is rendered and guarded already, with the length that is wanted; the
/// carried digest is made harmless here.
pub(crate) fn frame_prompt(
    scope: CondenseScope,
    prior: Option<&str>,
    transcript: &str,
    n_words: u64,
) -> String {
    let prior = prior.map(|prior| {
        let mut safe = String::with_capacity(prior.len());
        neutralise_into(&mut safe, prior);
        safe
    });
    let mut out = head(scope, prior.as_deref(), |out| out.push_str(transcript));
    out.push_str(&LENGTH_NOTE.replace("{n_words}", &n_words.to_string()));
    out.extend(["\n\n", SECTION_TEMPLATE]);
    out
}

/// Writes all that stands before the headings.
fn head(scope: CondenseScope, prior: Option<&str>, transcript: impl FnOnce(&mut String)) -> String {
    let mut out = String::from(scope.framing());
    if let Some(prior) = prior.filter(|prior| !prior.trim().is_empty()) {
        out.push_str("\n\n<carried-digest>\n");
        text::tidy_into(&mut out, prior);
        out.push_str("\n</carried-digest>");
    }
    out.push_str("\n\n<scrollback>\n");
    transcript(&mut out);
    out.push_str("\n</scrollback>\n\n");
    out
}
