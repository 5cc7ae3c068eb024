//! What a summarizer is given: the messages that go.

use std::borrow::Cow;

use wb_budget::CompactionCut;
use wb_message::Message;
use wb_summarize::{ContextSummarizer, SummaryRequest};

/// Renders the messages that a cut takes away as the summarizer wants them; `None` where they say nothing that is not
/// carried already.
pub(crate) fn request_of(
    summarizer: &dyn ContextSummarizer,
    messages: &[Message],
    cut: &CompactionCut,
) -> Option<SummaryRequest> {
    let mut runs = cut.ranges.iter().filter_map(|range| messages.get(range.clone()));
    let first = runs.next()?;
    // What stays in between, a system text or the latest prompt, is shown to no summarizer.
    let folded = runs.fold(Cow::Borrowed(first), |mut folded, run| {
        folded.to_mut().extend_from_slice(run);
        folded
    });
    summarizer.request(&folded, None)
}
