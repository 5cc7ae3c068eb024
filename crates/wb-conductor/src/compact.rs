//! One compaction of a transcript that a host owns, in one call: [`compact_in_place`],
//! [`compact_locally`] and [`compact_turns`].

use std::mem::take;

use futures_util::future::Either;
use wb_budget::WeighedTranscript;
use wb_message::{Message, Turn};

use crate::compactor::{Compactor, CondenseOpts};
use crate::plan::Plan;
use crate::report::CompactionReport;
use crate::turns::{Projection, TurnsUndo, project};

/// Compacts a transcript in place and reports the result.
///
/// Dropping the future before it is done leaves the transcript unchanged.
pub async fn compact_in_place(
    messages: &mut Vec<Message>,
    settings: &Compactor,
    opts: &CondenseOpts,
) -> CompactionReport {
    let summarizer = settings.summarizer_for(opts);
    let plan = settings.plan(WeighedTranscript::new(messages, &settings.counter), opts);
    match plan.map(|plan| plan.without_guard().ask(summarizer.as_ref(), opts.cancel.as_ref())) {
        Ok(reply) => reply.await.apply(messages),
        Err(report) => *report,
    }
}

/// Compacts a transcript in place without a model and without waiting; the digest is built from the
/// transcript itself, or from the facts in the options.
pub fn compact_locally(
    messages: &mut Vec<Message>,
    settings: &Compactor,
    opts: &CondenseOpts,
) -> CompactionReport {
    let plan = settings.plan(WeighedTranscript::new(messages, &settings.counter), opts);
    match plan.map(|plan| opts.local(plan.without_guard())) {
        Ok(ready) => ready.apply(messages),
        Err(report) => *report,
    }
}

/// Compacts a host's turns in place; see [`compact_in_place`]. The undo comes with the report.
///
/// The result never has more turns than before. Dropping the future before it is done leaves the
/// turns unchanged.
pub async fn compact_turns(
    turns: &mut Vec<Turn>,
    settings: &Compactor,
    opts: &CondenseOpts,
) -> (CompactionReport, Option<TurnsUndo>) {
    let split = SplitTurns { projection: project(take(turns)), turns };
    let view = WeighedTranscript::new(&split.projection.messages, &settings.counter);
    let view = view.with_turns(split.projection.turn_indices());
    let plan = settings.plan(view, opts).map(Plan::without_guard);
    let done = plan.map(|plan| match settings.summarizer_for(opts) {
        Some(summarizer) => Either::Left(plan.ask(Some(&summarizer), opts.cancel.as_ref())),
        None => Either::Right(opts.local(plan)),
    });
    match done {
        Err(report) => (*report, None),
        Ok(Either::Right(ready)) => split.change(|projection| ready.apply_to_projection(projection)),
        Ok(Either::Left(reply)) => {
            // The turns are whole while the host waits.
            drop(split);
            reply.await.apply_to_turns(turns)
        }
    }
}

/// Turns in their projected form; dropping it joins them again, however the compaction ends.
struct SplitTurns<'t> {
    projection: Projection,
    turns: &'t mut Vec<Turn>,
}

impl SplitTurns<'_> {
    fn change<R>(mut self, change: impl FnOnce(Projection) -> (Vec<Turn>, R)) -> R {
        let (after, done) = change(take(&mut self.projection));
        *self.turns = after;
        done
    }
}

impl Drop for SplitTurns<'_> {
    fn drop(&mut self) {
        if !self.projection.messages.is_empty() {
            *self.turns = take(&mut self.projection).into_turns();
        }
    }
}
