//! Compactions of messages that a host owns: planned, asked and applied in one call.

use futures::future::{Either, ready};
use wb_budget::{Budget, PolicyError, WeighedTranscript};
use wb_message::{Message, Turn};
use wb_summarize::Facts;

use crate::compactor::{Compactor, CondenseOpts, CondenserDeps};
use crate::plan::{Plan, Ready};
use crate::report::CompactionReport;
use crate::turns::{Projection, TurnsUndo, project};

/// Condenses a transcript in place and tells what was done.
///
/// Dropping the future before it is done leaves the transcript as it was.
pub async fn compact_in_place(
    messages: &mut Vec<Message>,
    settings: &Compactor,
    opts: &CondenseOpts,
) -> CompactionReport {
    let view = WeighedTranscript::new(messages, &settings.counter).with_fixed(&*opts.fixed);
    let asked = settings.plan(&view, opts).map(|plan| settings.ask(plan.held(), opts));
    drop(view);
    match asked {
        Ok(asked) => asked.await.apply(messages),
        Err(report) => *report,
    }
}

/// Condenses a transcript in place without a model and without waiting; the digest is taken from the transcript itself.
pub fn compact_locally(
    messages: &mut Vec<Message>,
    settings: &Compactor,
    opts: &CondenseOpts,
) -> CompactionReport {
    let view = WeighedTranscript::new(messages, &settings.counter).with_fixed(&*opts.fixed);
    let ready = settings.plan(&view, opts).map(|plan| opts.local(plan.held()));
    drop(view);
    ready.map_or_else(|report| *report, |ready| ready.apply(messages))
}

/// As [`compact_locally`], with a digest that is told from the facts of a whole session, which ends with the last of these
/// messages.
pub fn compact_locally_with(
    messages: &mut Vec<Message>,
    settings: &Compactor,
    opts: &CondenseOpts,
    facts: &Facts,
) -> CompactionReport {
    let view = WeighedTranscript::new(messages, &settings.counter).with_fixed(&*opts.fixed);
    let ready = settings.plan_with(&view, opts, Some(facts)).map(|plan| opts.local(plan.held()));
    drop(view);
    ready.map_or_else(|report| *report, |ready| ready.apply(messages))
}

/// Condenses a host's turns in place; see [`compact_in_place`]. What takes it back comes with the report.
///
/// The result never has more turns than before. Dropping the future before it is done leaves the turns as they were.
pub async fn compact_turns(
    turns: &mut Vec<Turn>,
    settings: &Compactor,
    opts: &CondenseOpts,
) -> (CompactionReport, Option<TurnsUndo>) {
    let lent = Lent { projection: project(std::mem::take(turns)), turns };
    let view = WeighedTranscript::new(&lent.projection.messages, &settings.counter);
    let view = view.in_turns(lent.projection.turns_of()).with_fixed(&*opts.fixed);
    let planned = settings.plan(&view, opts).map(|plan| match settings.summarizer {
        Some(_) => Either::Left(settings.ask(plan.held(), opts)),
        None => Either::Right(opts.local(plan.held())),
    });
    drop(view);
    match planned {
        Err(report) => (*report, None),
        Ok(Either::Right(ready)) => lent.change(|projection| ready.apply_to_projection(projection)),
        Ok(Either::Left(asked)) => {
            // Nothing is taken apart while the host waits.
            drop(lent);
            asked.await.apply_to_turns(turns)
        }
    }
}

/// Turns that are taken apart; they are put together again however this ends.
struct Lent<'t> {
    projection: Projection,
    turns: &'t mut Vec<Turn>,
}

impl Lent<'_> {
    fn change<R>(mut self, change: impl FnOnce(Projection) -> (Vec<Turn>, R)) -> R {
        let (after, done) = change(std::mem::take(&mut self.projection));
        *self.turns = after;
        done
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if !self.projection.messages.is_empty() {
            *self.turns = std::mem::take(&mut self.projection).back();
        }
    }
}

impl Compactor {
    /// Plans a compaction over a transcript that is weighed already; a report with the reason comes back where there is
    /// nothing to do.
    pub fn plan<'a>(
        &self,
        view: &'a WeighedTranscript<'a>,
        opts: &CondenseOpts,
    ) -> Result<Plan<'a>, Box<CompactionReport>> {
        self.plan_with(view, opts, None)
    }

    /// As [`Self::plan`], with the facts of a session that ends with the transcript's last message.
    pub fn plan_with<'a>(
        &self,
        view: &'a WeighedTranscript<'a>,
        opts: &CondenseOpts,
        facts: Option<&'a Facts>,
    ) -> Result<Plan<'a>, Box<CompactionReport>> {
        let mut usage = (false, None);
        let budget = self.budget().map(|budget| {
            let (budget, refused) = anchored(budget, opts.context_tokens, view.total_tokens());
            usage = (opts.context_tokens > 0 && refused.is_none(), refused);
            budget
        });
        self.plan_within(view, budget, opts, usage, facts)
    }

    /// Plans within a budget; the last says whether its figures rest on what a provider counted, or why that was refused.
    pub(crate) fn plan_within<'a>(
        &self,
        view: &'a WeighedTranscript<'a>,
        budget: Result<Budget, PolicyError>,
        opts: &CondenseOpts,
        (anchored, refused): (bool, Option<String>),
        facts: Option<&'a Facts>,
    ) -> Result<Plan<'a>, Box<CompactionReport>> {
        let budget = budget.map_err(|error| Box::new(CompactionReport::of_bad_policy(view, error)))?;
        match self.pipeline.plan_with(view, &budget, opts.trigger(), facts) {
            Ok(plan) => Ok(Plan { report: CompactionReport { anchored, refused, ..plan.report }, ..plan }),
            Err(report) => Err(Box::new(CompactionReport { anchored, refused, ..*report })),
        }
    }

    /// Asks the model where there is one, and takes the local digest where not.
    pub fn ask(
        &self,
        plan: Plan<'_>,
        opts: &CondenseOpts,
    ) -> impl Future<Output = Ready> + Send + 'static + use<> {
        match self.summarizer_for(opts) {
            Some(summarizer) => Either::Left(plan.ask(&summarizer, &opts.cancel_token())),
            None => Either::Right(ready(opts.local(plan))),
        }
    }
}

/// Believes a provider's figure unless it is more than a sixteenth above the window: a prompt that was a little too long
/// was counted too, and needs the compaction most.
fn anchored(budget: Budget, context_tokens: u64, estimate: u64) -> (Budget, Option<String>) {
    if context_tokens == 0 {
        return (budget, None);
    }
    match budget.window {
        Some(window) if context_tokens > window.saturating_add(window / 16) => {
            (budget, Some(format!("usage of {context_tokens} tokens refused: the window holds {window}")))
        }
        _ => (budget.anchored(context_tokens, estimate), None),
    }
}

/// Condenses a transcript and returns it; unchanged where nothing is to be done.
///
/// Without a card the automatic path folds whatever exceeds `keep_recent`; with one, the gate decides.
pub async fn condense_transcript(
    deps: &CondenserDeps,
    mut messages: Vec<Message>,
    opts: &CondenseOpts,
) -> Vec<Message> {
    compact_in_place(&mut messages, &Compactor::from(deps.clone()), opts).await;
    messages
}
