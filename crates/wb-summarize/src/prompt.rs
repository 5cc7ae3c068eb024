//! Puts the prompt together: framing, carried digest, scrollback, headings.

use wb_message::{Message, text};

use crate::flatten::{flatten_into, neutralise_into};
use crate::scope::{CondenseScope, SECTION_TEMPLATE};

/// Builds the user turn for a summarizer from messages as recorded, blocks separated by an empty line.
///
/// `prior` is an earlier digest to be carried; a blank one is left out.
pub fn build_summary_prompt(messages: &[Message], scope: CondenseScope, prior: Option<&str>) -> String {
    assemble(scope, prior, |out| flatten_into(out, messages))
}

/// Builds the user turn around a scrollback that is rendered and guarded already; the carried digest is made
/// harmless here.
pub fn frame_prompt(scope: CondenseScope, prior: Option<&str>, scrollback: &str) -> String {
    let prior = prior.map(|prior| {
        let mut safe = String::with_capacity(prior.len());
        neutralise_into(&mut safe, prior);
        safe
    });
    assemble(scope, prior.as_deref(), |out| out.push_str(scrollback))
}

fn assemble(scope: CondenseScope, prior: Option<&str>, scrollback: impl FnOnce(&mut String)) -> String {
    let mut out = String::from(scope.framing());
    if let Some(prior) = prior.filter(|prior| !prior.trim().is_empty()) {
        out.push_str("\n\n<carried-digest>\n");
        text::tidy_into(&mut out, prior);
        out.push_str("\n</carried-digest>");
    }
    out.push_str("\n\n<scrollback>\n");
    scrollback(&mut out);
    out.push_str("\n</scrollback>\n\n");
    out.push_str(SECTION_TEMPLATE);
    out
}
