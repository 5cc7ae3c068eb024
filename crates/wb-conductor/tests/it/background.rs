//! Compactions while turns go on: any order of turns, starts, ends and edits keeps the laws, and
//! nothing is paid twice.

use std::sync::{Arc, Mutex};

use futures::StreamExt;
use futures::channel::oneshot;
use futures::stream::{self, BoxStream};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use tokio::runtime::{Builder, Runtime};
use wb_budget::Usage;
use wb_conductor::{AgentContext, CompactionReport, DigestSource, Unchanged};
use wb_invoke::scripted::Script;
use wb_invoke::{Emission, InvokeError, ModelInvoker, Reply, StopReason, StreamOptions};
use wb_message::markers::is_pinned;
use wb_message::{Block, Conversation, Message};
use wb_summarize::{NoDigest, Summarizer};
use wb_testkit::{laws, script, strategies};

use crate::support::{AUTO, FORCE, good_reply, keep, model, window};

type Answer = Result<String, String>;

/// A model that answers on a signal; a dropped answer makes it panic.
#[derive(Debug, Default)]
struct Waiting {
    open: Mutex<Vec<oneshot::Sender<Answer>>>,
}

impl Waiting {
    /// Returns the number of running requests.
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

impl ModelInvoker for Waiting {
    fn invoke(&self, _: Conversation, _: StreamOptions) -> BoxStream<'static, Emission> {
        let (send, receive) = oneshot::channel();
        self.open.lock().unwrap().push(send);
        let answer = async move {
            match receive.await.expect("the model is broken") {
                Ok(text) => Emission::Done {
                    reply: Reply {
                        model: String::new(),
                        blocks: vec![Block::text(text)],
                        usage: Usage::EMPTY,
                        stop: StopReason::Complete,
                    },
                },
                Err(why) => Emission::Error { error: InvokeError::new(why) },
            }
        };
        stream::once(answer).boxed()
    }
}

/// A possible next event.
#[derive(Clone, Debug)]
enum Event {
    Append(Vec<Message>),
    BeforeRequest,
    Start,
    Answer(usize),
    Fail,
    Panic,
    Edit(Index),
    Truncate(Index),
    Finish,
    Cancel,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => strategies::transcript().prop_map(Event::Append),
        2 => (1..5_usize).prop_map(|n| Event::Append(script(&format!("[u*900 a:bash t*900 a]x{n} u")))),
        6 => Just(Event::BeforeRequest),
        6 => Just(Event::Start),
        6 => prop_oneof![4 => 1..2_000_usize, 1 => 2_000..200_000_usize].prop_map(Event::Answer),
        1 => Just(Event::Fail),
        1 => Just(Event::Panic),
        1 => any::<Index>().prop_map(Event::Edit),
        1 => any::<Index>().prop_map(Event::Truncate),
        6 => Just(Event::Finish),
        1 => Just(Event::Cancel),
    ]
}

/// An agent with its transcript.
struct Agent {
    model: Arc<Waiting>,
    context: AgentContext,
    messages: Vec<Message>,
    n_digests: usize,
}

impl Agent {
    fn new(messages: Vec<Message>) -> Self {
        let model = Arc::new(Waiting::default());
        let settings = window(12_000).policy(keep(500)).summarizer(Summarizer::new(model.clone()));
        let context = AgentContext::from_compactor(settings).start_above(Some(1_500));
        Self { model, context, messages, n_digests: 0 }
    }

    async fn meets(&mut self, event: Event) {
        match event {
            Event::Append(new) => self.messages.extend(new),
            Event::BeforeRequest => self.changes(AgentContext::before_request),
            Event::Start => {
                let before = self.messages.clone();
                self.context.start(&self.messages, &FORCE);
                assert_eq!(self.messages, before);
            }
            Event::Answer(n_chars) => {
                self.model.answer(Some(&Ok(format!("# Status\n- {}", "x".repeat(n_chars)))));
            }
            Event::Fail => self.model.answer(Some(&Err("429".to_owned()))),
            Event::Panic => self.model.answer(None),
            Event::Edit(at) if !self.messages.is_empty() => {
                let at = at.index(self.messages.len());
                if !is_pinned(&self.messages[at]) {
                    self.messages[at] = Message::custom("note", "edited");
                }
            }
            Event::Truncate(at) => self.messages.truncate(at.index(self.messages.len() + 1)),
            Event::Finish => self.changes(|context, messages| Vec::from_iter(context.finish(messages))),
            Event::Cancel => self.context.cancel(),
            Event::Edit(_) => {}
        }
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
        assert!(self.model.n_running() <= 1, "two requests at once");
    }

    fn changes(
        &mut self,
        change: impl FnOnce(&mut AgentContext, &mut Vec<Message>) -> Vec<CompactionReport>,
    ) {
        let before = self.messages.clone();
        let reports = change(&mut self.context, &mut self.messages);
        laws::pairs_intact(&before, &self.messages);
        laws::pinned_untouched(&before, &self.messages);
        laws::order_preserved(&before, &self.messages);
        let mut undone = self.messages.clone();
        for report in reports.into_iter().rev() {
            assert_eq!(report.is_changed(), report.undo.is_some());
            self.n_digests += usize::from(matches!(report.digest, Some(DigestSource::Model { .. })));
            if let Some(undo) = report.undo {
                assert!(report.tokens_after < report.tokens_before, "it became heavier");
                undo.revert(&mut undone);
            }
        }
        assert_eq!(undone, before, "undo is not the identity");
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: wb_testkit::depth::cases(200), max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_what_may_happen_keeps_the_laws(
        first in strategies::transcript(),
        events in vec(event(), 1..50),
    ) {
        runtime().block_on(async {
            let mut agent = Agent::new(first);
            for event in events {
                agent.meets(event).await;
            }
        });
    }
}

#[test]
fn the_events_that_are_made_up_put_digests_in() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let mut n_digests = 0;
    for _ in 0..40 {
        let events = vec(event(), 30..50).new_tree(&mut runner).unwrap().current();
        n_digests += runtime().block_on(async {
            let mut agent = Agent::new(Vec::new());
            for event in events {
                agent.meets(event).await;
            }
            agent.n_digests
        });
    }
    assert!(n_digests >= 20, "{n_digests}");
}

fn long_session() -> Vec<Message> {
    script("s u\"port it\" [u*200 a*500:read(src/a.rs) t*600 a*20]x40 u\"and now?\"")
}

#[tokio::test]
async fn a_panic_is_a_failure_and_the_digest_is_local() {
    let waiting = Arc::new(Waiting::default());
    let mut context = AgentContext::from_compactor(window(12_000).summarizer(waiting.clone()));
    let mut messages = long_session();
    assert!(context.start(&messages, &AUTO));
    tokio::task::yield_now().await;
    waiting.answer(None);
    context.wait().await;
    let report = context.finish(&mut messages).expect("it is there");
    let Some(DigestSource::Local(NoDigest::Failed(why))) = &report.digest else { panic!("{report}") };
    assert!(why.contains("the model is broken"), "{why}");
}

#[tokio::test]
async fn a_busy_task_of_the_host_gets_the_digest_at_once() {
    let mut context =
        AgentContext::from_compactor(window(12_000).summarizer(model(Script::says(good_reply("port it")))));
    let mut messages = long_session();
    assert!(context.start(&messages, &AUTO));
    while !context.is_ready() {
        tokio::task::yield_now().await;
    }
    // The host's remaining share of time does not matter.
    while tokio::task::coop::has_budget_remaining() {
        tokio::task::coop::consume_budget().await;
    }
    assert!(context.finish(&mut messages).is_some());
}

#[test]
fn a_runtime_that_shuts_down_changes_nothing() {
    let waiting = Arc::new(Waiting::default());
    let mut context = AgentContext::from_compactor(window(12_000).summarizer(waiting));
    let mut messages = long_session();
    runtime().block_on(async { assert!(context.start(&messages, &AUTO)) });
    assert!(context.finish(&mut messages).is_none());
    assert_eq!(messages, long_session());
    runtime().block_on(async { assert!(context.start(&messages, &AUTO)) });
}

#[test]
fn outside_of_a_runtime_nothing_starts() {
    let mut context = AgentContext::from_compactor(window(12_000).summarizer(model(Script::says("x"))))
        .start_above(Some(10));
    assert!(!context.start(&long_session(), &FORCE));
}

#[tokio::test]
async fn dropping_it_cancels_the_request() {
    let invoker = model(Script::Hang);
    let mut context = AgentContext::from_compactor(window(12_000).summarizer(invoker.clone()));
    assert!(context.start(&long_session(), &AUTO));
    while invoker.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(!invoker.requests()[0].1.is_cancelled());
    drop(context);
    assert!(invoker.requests()[0].1.is_cancelled());
}

#[tokio::test]
async fn a_transcript_that_is_edited_each_turn_does_not_pay_each_turn() {
    let invoker = model(Script::says(good_reply("port it")));
    let settings = window(200_000).policy(keep(500)).summarizer(invoker.clone());
    let mut context = AgentContext::from_compactor(settings).start_above(Some(2_000));
    let mut messages = long_session();
    for turn in 0..10 {
        for report in context.before_request(&mut messages) {
            assert_eq!(report.unchanged, Some(Unchanged::PrefixChanged), "{report}");
        }
        messages[3] = Message::user(format!("as it is in turn {turn}"));
        context.wait().await;
    }
    assert!((2..=4).contains(&invoker.requests().len()), "{}", invoker.requests().len());
}

#[tokio::test]
async fn a_digest_that_saves_too_little_is_not_requested() {
    let invoker = model(Script::says(good_reply("port it")));
    let settings = window(60_000).policy(keep(500)).summarizer(invoker.clone());
    let mut context = AgentContext::from_compactor(settings).start_above(Some(100)).min_savings_ppm(800_000);
    let mut messages = script("u\"port it\" [u*200 a*500]x6 u");
    for _ in 0..3 {
        assert!(context.before_request(&mut messages).is_empty());
        context.wait().await;
        assert!(invoker.requests().is_empty(), "a digest may be as long as that");
        messages.extend(script("a*40 u*40"));
    }
    messages.extend(script("[u*40 a*1800]x20 u"));
    context.before_request(&mut messages);
    context.wait().await;
    assert_eq!(invoker.requests().len(), 1);
}

#[tokio::test]
async fn undo_after_a_rewind_makes_up_no_messages() {
    let mut context =
        AgentContext::from_compactor(window(12_000).summarizer(model(Script::says(good_reply("port it")))));
    let mut messages = long_session();
    assert!(context.start(&messages, &AUTO));
    context.wait().await;
    let undo = context.finish(&mut messages).and_then(|report| report.undo).expect("it was changed");
    messages.pop();
    context.undo(&mut messages, undo);
    assert_eq!(messages, long_session()[..long_session().len() - 1]);
}

#[tokio::test]
async fn a_model_that_always_fails_is_not_asked_each_turn() {
    let invoker = model(Script::fails("429"));
    let settings = window(60_000).policy(keep(500)).summarizer(invoker.clone());
    let mut context = AgentContext::from_compactor(settings).start_above(Some(4_000));
    let mut messages = script("u\"port it\"");
    for _ in 0..40 {
        messages.extend(script("a*300 u*300"));
        context.before_request(&mut messages);
        context.wait().await;
    }
    assert!((1..=8).contains(&invoker.requests().len()), "{}", invoker.requests().len());
}

#[tokio::test]
async fn a_lost_result_early_on_blocks_no_later_compaction() {
    let mut context =
        AgentContext::from_compactor(window(12_000).summarizer(model(Script::says(good_reply("port it")))));
    let mut messages = script("u a:bash u [u*200 a*500:read(src/a.rs) t*600 a*20]x40 u\"and now?\"");
    assert!(context.start(&messages, &AUTO));
    context.wait().await;
    let report = context.finish(&mut messages).expect("it is there");
    assert!(report.is_changed() && report.irreducible.is_none(), "{report}");
}

#[test]
fn one_request_with_two_hundred_steps_is_compacted_and_stays() {
    let mut context = AgentContext::from_compactor(window(12_000));
    let mut messages = script("s u\"port the importer\" [a:bash t*200]x200");
    let report = context.compact_locally(&mut messages, &AUTO);
    assert!(report.is_changed() && report.irreducible.is_none(), "{report}");
    assert!(format!("{messages:?}").contains("port the importer"));
}

#[test]
fn a_digest_and_two_words_are_not_condensed_again() {
    let mut context = AgentContext::from_compactor(window(60_000));
    let mut messages = long_session();
    assert!(context.compact_locally(&mut messages, &FORCE).is_changed());
    messages.extend(script("a\"ok\" u\"go on\""));
    let before = messages.len();
    let report = context.compact_locally(&mut messages, &AUTO);
    assert_eq!((report.unchanged, messages.len()), (Some(Unchanged::UnderBudget), before));
}
