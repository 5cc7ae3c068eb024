//! Builds the prompt: framing, carried digest, transcript, length, headings; and one for a host's
//! request.

use wb_message::{Message, text};

use crate::flatten::{flatten_into, neutralise_into};
use crate::length::words_within;
use crate::scope::{CONDENSER_BRIEF, CondenseScope, HANDOVER_NOTE, KEPT_NOTE, LENGTH_NOTE};
use wb_digest::SECTION_TEMPLATE;

/// Builds the user turn for a summarizer from messages as recorded, blocks separated by an empty
/// line.
///
/// `prior` is an earlier digest to be carried; a blank one is left out.
pub fn build_summary_prompt(messages: &[Message], scope: CondenseScope, prior: Option<&str>) -> String {
    let mut out = head(scope, prior, "", |out| flatten_into(out, messages));
    out.push_str(SECTION_TEMPLATE);
    out
}

/// Builds the user turn around a rendered and guarded transcript, with the requested length; the
/// carried digest and the text kept next to the new one are made harmless here.
pub(crate) fn frame_prompt(
    scope: CondenseScope,
    prior: Option<&str>,
    kept: &str,
    transcript: &str,
    n_words: u64,
) -> String {
    let safe = |text: &str| {
        let mut safe = String::with_capacity(text.len());
        neutralise_into(&mut safe, text);
        safe
    };
    let mut out = head(scope, prior.map(safe).as_deref(), kept, |out| out.push_str(transcript));
    ending_into(&mut out, n_words);
    out
}

/// Builds the instructions for a host that asks its model for a digest itself: they are the last
/// user turn after the session as is. `room_tokens` is the room for the digest.
pub fn handover_prompt(room_tokens: u64) -> String {
    cached_prompt("", words_within(room_tokens))
}

/// Builds the user turn after a session as is, with the requested length; the text kept next to the
/// digest is made harmless here.
pub(crate) fn cached_prompt(kept: &str, n_words: u64) -> String {
    let mut out = [CONDENSER_BRIEF, HANDOVER_NOTE].join("\n\n");
    kept_into(&mut out, kept);
    out.push_str("\n\n");
    ending_into(&mut out, n_words);
    out
}

fn kept_into(out: &mut String, kept: &str) {
    if !kept.is_empty() {
        out.extend(["\n\n", KEPT_NOTE, "\n\n<kept>\n"]);
        neutralise_into(out, kept);
        out.push_str("\n</kept>");
    }
}

/// Writes the requested length and the headings, which end every prompt.
fn ending_into(out: &mut String, n_words: u64) {
    out.push_str(&LENGTH_NOTE.replace("{n_words}", &n_words.to_string()));
    out.extend(["\n\n", SECTION_TEMPLATE]);
}

/// Writes all text before the headings.
fn head(
    scope: CondenseScope,
    prior: Option<&str>,
    kept: &str,
    transcript: impl FnOnce(&mut String),
) -> String {
    let mut out = String::from(scope.framing());
    if let Some(prior) = prior.filter(|prior| !prior.trim().is_empty()) {
        out.push_str("\n\n<carried-digest>\n");
        text::tidy_into(&mut out, prior);
        out.push_str("\n</carried-digest>");
    }
    kept_into(&mut out, kept);
    out.push_str("\n\n<scrollback>\n");
    transcript(&mut out);
    out.push_str("\n</scrollback>\n\n");
    out
}
