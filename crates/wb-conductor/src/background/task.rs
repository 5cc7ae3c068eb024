//! The task that makes a summary beside the agent; it holds no transcript.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinHandle};
use wb_budget::CompactionCut;
use wb_summarize::{ContextSummarizer, ContextSummary, SummarizerError, SummaryRequest};

/// Why a task ended without a summary.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Summarizer(SummarizerError),
    #[error("the summarizer timed out")]
    TimedOut,
    #[error("the summarizer panicked: {0}")]
    Panicked(String),
    /// The runtime was shut down.
    #[error("the summarizer was aborted")]
    Aborted,
}

type SummaryOutcome = Result<ContextSummary, Fault>;

/// A summary on its way; dropping it aborts the task.
#[derive(Debug)]
pub(crate) struct SummaryTask {
    /// What the summary will stand for.
    pub(crate) cut: CompactionCut,
    task: JoinHandle<SummaryOutcome>,
    landing: Option<SummaryOutcome>,
}

impl SummaryTask {
    /// Starts the task. A panic of the summarizer ends nothing but the task.
    pub(crate) fn start(
        runtime: &Handle,
        summarizer: Arc<dyn ContextSummarizer>,
        request: SummaryRequest,
        limit: Duration,
        cut: CompactionCut,
    ) -> Self {
        let work = async move { summarizer.summarize(request).await };
        let task = runtime.spawn(async move {
            match tokio::time::timeout(limit, work).await {
                Ok(Ok(summary)) if summary.text.trim().is_empty() => {
                    Err(Fault::Summarizer(SummarizerError::EmptySummary))
                }
                Ok(summary) => summary.map_err(Fault::Summarizer),
                Err(_) => Err(Fault::TimedOut),
            }
        });
        Self { cut, task, landing: None }
    }

    /// Takes the result, where there is one; never waits.
    pub(crate) fn take_outcome(&mut self) -> Option<SummaryOutcome> {
        if self.landing.is_none() && self.task.is_finished() {
            // Unconstrained, because a task that has used up its share of time would be told to come back later.
            let joined = tokio::task::unconstrained(&mut self.task).now_or_never();
            self.landing = joined.map(landed);
        }
        self.landing.take()
    }

    /// Waits until the task is done and keeps its result; may be dropped and called again.
    pub(crate) async fn settled(&mut self) {
        if self.landing.is_none() {
            self.landing = Some(landed((&mut self.task).await));
        }
    }
}

impl Drop for SummaryTask {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn landed(joined: Result<SummaryOutcome, JoinError>) -> SummaryOutcome {
    joined.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => Err(Fault::Panicked(panic_message(panic.as_ref()))),
        Err(_) => Err(Fault::Aborted),
    })
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_owned()
}
