//! What a summarizer is given: the messages that go, as text.

use wb_budget::CompactionCut;
use wb_message::Message;
use wb_message::marks::{digest_body, summary_text};
use wb_summarize::{Flattener, SummaryRequest};

/// The most bytes of one body in the request.
const MAX_BODY_BYTES: usize = 4000;

/// Renders the messages that a cut takes away; `None` where they say nothing that is not carried already.
///
/// Internal messages are left out; the newest conversation summary is carried, and digests of other compactions with
/// it.
pub(crate) fn request_of(messages: &[Message], cut: &CompactionCut) -> Option<SummaryRequest> {
    let runs = || cut.ranges.iter().filter_map(|range| messages.get(range.clone()));
    let mut rendered = String::new();
    for run in runs() {
        let before = rendered.len();
        if before > 0 {
            rendered.push('\n');
        }
        let start = rendered.len();
        Flattener::guarded(MAX_BODY_BYTES).flatten(&mut rendered, run);
        if rendered.len() == start {
            rendered.truncate(before);
        }
    }
    let folded: Vec<&Message> = runs().flatten().collect();
    let request = SummaryRequest { parts: vec![rendered], previous_summary: carried(&folded) };
    (!request.parts[0].trim().is_empty()).then_some(request)
}

fn carried(folded: &[&Message]) -> Option<String> {
    let is_summary = |message: &&Message| summary_text(message).is_some_and(|text| !text.is_empty());
    let newest = folded.iter().rposition(is_summary);
    let stays = |at: usize| Some(at) == newest || summary_text(folded[at]).is_none();
    let bodies = (0..folded.len()).filter(|&at| stays(at)).filter_map(|at| digest_body(folded[at]));
    let carried: Vec<_> = bodies.filter(|body| !body.trim().is_empty()).collect();
    (!carried.is_empty()).then(|| carried.join("\n\n"))
}
