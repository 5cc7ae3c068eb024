//! Summarizers that are told what to do, and transcripts that are worth a summary.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use wb_budget::{CONTEXT_WINDOW_POLICY, CompactionCut, ContextWindowPolicy, Usage, estimate_tokens};
use wb_conductor::{BackgroundCompaction, CompactionEvent};
use wb_message::Message;
use wb_message::markers::summary_text;
use wb_message::outline::outline;
use wb_summarize::{CompactionConfig, ContextSummarizer, ContextSummary, SummarizerError, SummaryRequest};
use wb_testkit::script;

/// What a summarizer does with one request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Says(&'static str),
    /// A text of that many characters.
    Long(usize),
    Takes(Duration, &'static str),
    Fails,
    Hangs,
    Panics,
}

/// What every summary is said to cost.
pub(crate) const COST: Usage = Usage { input_tokens: 900, output_tokens: 60, ..Usage::EMPTY };

/// Does one act per request, the last one again and again, and remembers what it was asked.
#[derive(Debug)]
pub(crate) struct Acting {
    acts: Mutex<VecDeque<Act>>,
    asked: Mutex<Vec<SummaryRequest>>,
    /// How many requests are being worked on.
    running: Arc<AtomicUsize>,
}

/// Counts a request as long as it lives.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(crate) fn acting(acts: impl IntoIterator<Item = Act>) -> Arc<Acting> {
    let acts = Mutex::new(acts.into_iter().collect());
    Arc::new(Acting { acts, asked: Mutex::default(), running: Arc::default() })
}

impl Acting {
    pub(crate) fn n_calls(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    pub(crate) fn asked(&self) -> Vec<SummaryRequest> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn n_running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    fn next(&self) -> Act {
        let mut acts = self.acts.lock().unwrap();
        if acts.len() > 1 { acts.pop_front().unwrap() } else { acts[0].clone() }
    }
}

impl ContextSummarizer for Acting {
    fn summarize(
        &self,
        request: SummaryRequest,
    ) -> BoxFuture<'static, Result<ContextSummary, SummarizerError>> {
        self.asked.lock().unwrap().push(request);
        self.running.fetch_add(1, Ordering::SeqCst);
        let (act, running) = (self.next(), Running(self.running.clone()));
        async move {
            let _running = running;
            act.done().await.map(|text| ContextSummary { text, usage: COST })
        }
        .boxed()
    }
}

impl Act {
    async fn done(self) -> Result<String, SummarizerError> {
        match self {
            Self::Says(text) => Ok(text.to_owned()),
            Self::Long(n_chars) => Ok("x".repeat(n_chars)),
            Self::Takes(pause, text) => {
                tokio::time::sleep(pause).await;
                Ok(text.to_owned())
            }
            Self::Fails => Err(SummarizerError::Inference("429".to_owned())),
            Self::Hangs => std::future::pending().await,
            Self::Panics => panic!("the summarizer is broken"),
        }
    }
}

/// A policy with a threshold that keeps the last message raw, and the turn of the latest prompt.
pub(crate) fn above(threshold: usize) -> ContextWindowPolicy {
    ContextWindowPolicy {
        autocompact_threshold: Some(threshold),
        compaction_raw_suffix_messages: 1,
        ..CONTEXT_WINDOW_POLICY
    }
}

/// A compaction above 4000 tokens.
pub(crate) fn compaction(summarizer: Arc<Acting>) -> BackgroundCompaction {
    BackgroundCompaction::new(above(4_000), CompactionConfig::default()).summarizer(summarizer)
}

/// A pinned text, some 8000 tokens of finished turns with calls, and a prompt.
pub(crate) fn session() -> Vec<Message> {
    script(r#"s u"port it" [u*200 a*500:read(src/a.rs) t*600 a*20]x6 u"and now?""#)
}

/// Lets every task run as far as it gets.
pub(crate) async fn let_run() {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
}

/// Starts a compaction, waits for it and applies it.
pub(crate) async fn once(
    compaction: &mut BackgroundCompaction,
    messages: &mut Vec<Message>,
    now_ms: u64,
) -> CompactionEvent {
    compaction.maybe_spawn_compaction(messages, now_ms).unwrap();
    compaction.settled().await;
    compaction.try_consume_compaction_event(messages, now_ms).unwrap()
}

/// Takes one range of messages.
pub(crate) fn cut(range: std::ops::Range<usize>) -> CompactionCut {
    CompactionCut { raw_from: range.end, ranges: std::iter::once(range).collect(), tokens: 0 }
}

/// Returns what the only conversation summary of a transcript says.
pub(crate) fn summary_of(messages: &[Message]) -> String {
    let mut said: Vec<_> = messages.iter().filter_map(summary_text).collect();
    assert_eq!(said.len(), 1, "{}", outline(messages));
    said.remove(0).into_owned()
}

/// The threshold at which a transcript is exactly.
pub(crate) fn tokens_of(messages: &[Message]) -> usize {
    usize::try_from(estimate_tokens(messages)).unwrap()
}
