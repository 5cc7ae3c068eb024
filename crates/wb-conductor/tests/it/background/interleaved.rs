//! Any order of turns, starts, ends and edits keeps the laws.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::BoxFuture;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use wb_conductor::{BackgroundCompaction, CompactionEvent, NotSpawned};
use wb_message::markers::{is_pinned, is_prompt, is_synthetic};
use wb_message::outline::outline;
use wb_message::{Message, last_prompt_start};
use wb_summarize::{CompactionConfig, ContextSummarizer, ContextSummary, SummarizerError, SummaryRequest};
use wb_testkit::{laws, script, strategies};

use super::support::{above, let_run};

type Answer = Result<String, SummarizerError>;

/// A summarizer that answers when it is told to; an answer that is dropped makes it panic.
#[derive(Debug, Default)]
struct Waiting {
    open: Mutex<Vec<oneshot::Sender<Answer>>>,
}

impl Waiting {
    /// Returns how many requests are being worked on.
    fn n_running(&self) -> usize {
        self.open.lock().unwrap().iter().filter(|request| !request.is_canceled()).count()
    }

    fn answer(&self, answer: Option<&Answer>) {
        let open: Vec<_> = self.open.lock().unwrap().drain(..).collect();
        for request in open {
            if let Some(answer) = answer {
                let _ = request.send(answer.clone());
            }
        }
    }
}

impl ContextSummarizer for Waiting {
    fn summarize(&self, _: SummaryRequest) -> BoxFuture<'static, Result<ContextSummary, SummarizerError>> {
        let (send, receive) = oneshot::channel();
        self.open.lock().unwrap().push(send);
        let text = async move { receive.await.expect("the summarizer is broken") };
        text.map(|answer| answer.map(|text| ContextSummary { text, ..ContextSummary::default() })).boxed()
    }
}

/// What may happen next.
#[derive(Clone, Debug)]
enum Event {
    Append(Vec<Message>),
    Spawn,
    Finish(usize),
    Fail,
    Panic,
    Edit(Index),
    Truncate(Index),
    Consume,
    Cancel,
    Pass(u64),
    Restore,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => strategies::transcript().prop_map(Event::Append),
        2 => (1..5_usize).prop_map(|n| Event::Append(script(&format!("[u*900 a:bash t*900 a]x{n} u")))),
        8 => Just(Event::Spawn),
        6 => prop_oneof![4 => 1..2_000_usize, 1 => 2_000..200_000_usize].prop_map(Event::Finish),
        1 => Just(Event::Fail),
        1 => Just(Event::Panic),
        1 => any::<Index>().prop_map(Event::Edit),
        1 => any::<Index>().prop_map(Event::Truncate),
        8 => Just(Event::Consume),
        1 => Just(Event::Cancel),
        3 => (0..4_000_000_u64).prop_map(Event::Pass),
        1 => Just(Event::Restore),
    ]
}

/// An agent with its transcript and its clock.
struct Agent {
    summarizer: Arc<Waiting>,
    compaction: BackgroundCompaction,
    messages: Vec<Message>,
    /// The transcript that the newest compaction was started on.
    started_on: Vec<Message>,
    now_ms: u64,
}

impl Agent {
    fn new(messages: Vec<Message>) -> Self {
        let summarizer = Arc::new(Waiting::default());
        let compaction = Self::compaction(&summarizer);
        Self { summarizer, compaction, messages, started_on: Vec::new(), now_ms: 0 }
    }

    fn compaction(summarizer: &Arc<Waiting>) -> BackgroundCompaction {
        let config = CompactionConfig { summary_max_tokens: Some(20), ..CompactionConfig::default() };
        let compaction = BackgroundCompaction::new(above(1_500), config);
        compaction.summarizer(summarizer.clone()).timeout(Duration::from_secs(1_000))
    }

    async fn meets(&mut self, event: Event) {
        match event {
            Event::Append(new) => self.messages.extend(new),
            Event::Spawn => self.spawn(),
            Event::Finish(n_chars) => self.summarizer.answer(Some(&Ok("x".repeat(n_chars)))),
            Event::Fail => self.summarizer.answer(Some(&Err(SummarizerError::Truncated))),
            Event::Panic => self.summarizer.answer(None),
            Event::Edit(at) if !self.messages.is_empty() => {
                let at = at.index(self.messages.len());
                if !is_pinned(&self.messages[at]) {
                    self.messages[at] = Message::custom("note", "edited");
                }
            }
            Event::Truncate(at) => self.messages.truncate(at.index(self.messages.len() + 1)),
            Event::Consume => self.consume(),
            Event::Cancel => {
                self.compaction.cancel();
            }
            Event::Pass(ms) => self.now_ms += ms,
            Event::Restore => {
                let json = serde_json::to_string(self.compaction.state()).unwrap();
                let state = serde_json::from_str(&json).unwrap();
                self.compaction = Self::compaction(&self.summarizer).restored(state);
            }
            Event::Edit(_) => {}
        }
        let_run().await;
        assert!(self.summarizer.n_running() <= 1, "two requests at once");
    }

    fn spawn(&mut self) {
        let (before, was_compacting) = (self.messages.len(), self.compaction.state().is_compacting());
        let told = self.compaction.maybe_spawn_compaction(&self.messages, self.now_ms);
        assert_eq!(self.messages.len(), before);
        if told.is_ok() {
            self.started_on.clone_from(&self.messages);
        }
        assert!(!was_compacting || told == Err(NotSpawned::InFlight), "{told:?}");
        assert_eq!(self.compaction.state().is_compacting(), was_compacting || told.is_ok());
    }

    fn consume(&mut self) {
        let before = self.messages.clone();
        let event = self.compaction.try_consume_compaction_event(&mut self.messages, self.now_ms);
        let told = || format!("{}\n→\n{}", outline(&before), outline(&self.messages));
        let Some(CompactionEvent::Completed { boundary, undo, .. }) = event else {
            assert_eq!(self.messages, before, "only a completion changes anything");
            return;
        };
        let summarized = 0..boundary.raw_from;
        assert_eq!(before[summarized.clone()], self.started_on[summarized], "{}", told());
        laws::pairs_intact(&before, &self.messages);
        laws::pinned_untouched(&before, &self.messages);
        laws::order_preserved(&before, &self.messages);
        laws::tail_identical(&before, &self.messages, before.len() - boundary.raw_from);
        let prompt = |messages: &[Message]| messages.iter().rfind(|message| is_prompt(message)).cloned();
        assert_eq!(prompt(&before), prompt(&self.messages), "{}", told());
        let new = self.messages.iter().position(|message| is_synthetic(message) && !before.contains(message));
        assert!(new <= last_prompt_start(&self.messages).or(new), "{}", told());
        assert!(boundary.post_tokens + 1_024 <= boundary.pre_tokens);
        let mut undone = std::mem::take(&mut self.messages);
        let after = undone.clone();
        undo.revert(&mut undone);
        assert_eq!(undone, before, "undo is not the identity");
        self.messages = after;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_what_may_happen_keeps_the_laws(
        first in strategies::transcript(),
        events in vec(event(), 1..50),
    ) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut agent = Agent::new(first);
            for event in events {
                agent.meets(event).await;
            }
        });
    }
}

#[test]
fn the_events_that_are_made_up_complete_compactions() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().unwrap();
    let mut n_applied = 0;
    for _ in 0..40 {
        let events = vec(event(), 30..50).new_tree(&mut runner).unwrap().current();
        n_applied += runtime.block_on(async {
            let mut agent = Agent::new(Vec::new());
            for event in events {
                agent.meets(event).await;
            }
            agent.compaction.state().total_compactions
        });
    }
    assert!(n_applied >= 20, "the test looks at too little: {n_applied}");
}
