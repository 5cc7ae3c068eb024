//! A request that the flow lets pass is within the window by the count of the whole product.

use futures::executor::block_on;
use proptest::prelude::*;
use wb_budget::{ModelCard, Usage, estimate_message_tokens, estimate_tokens};
use wb_host::{Counter, FlowAction, HookList, PendingRequest, SessionFlow};
use wb_message::{Block, Conversation, Message, ToolDescriptor};
use wb_session::{CompactionSettings, SESSION_PRESET, Session, StopReason};

use crate::agent::assert_sendable;
use crate::support::{answer, context, empty_session};

const WINDOW: u64 = 32_000;

/// Plain words, and what looks like a listing.
const TEXTS: [&str; 2] = ["Now the importer reads it. ", "12  fn read(&self) -> Row {\n"];

/// One turn: what the user says, calls with results of so many characters, and the answer.
#[derive(Clone, Debug)]
struct Turn {
    prompt: usize,
    results: Vec<usize>,
    answer: usize,
    /// Whether the provider counts the turn's requests.
    is_counted: bool,
}

fn turn() -> impl Strategy<Value = Turn> {
    let results = prop::collection::vec(0_usize..8_000, 0..5);
    (1_usize..3_000, results, 1_usize..6_000, prop::bool::weighted(0.3))
        .prop_map(|(prompt, results, answer, is_counted)| Turn { prompt, results, answer, is_counted })
}

fn text(n_chars: usize, kind: usize) -> String {
    TEXTS[kind % TEXTS.len()].chars().cycle().take(n_chars).collect()
}

/// A host that sends a system text and tools with each request.
struct Host {
    session: Session,
    flow: SessionFlow,
    pending: PendingRequest,
    /// The weight of each request that was sent.
    sent: Vec<u64>,
    n_compacted: usize,
}

impl Host {
    fn new(reserve_tokens: u64, system_chars: usize, counter: Option<Counter>) -> Self {
        let settings = CompactionSettings { reserve_tokens, ..CompactionSettings::default() };
        let mut flow = SessionFlow::new(settings);
        let parameters = serde_json::json!({"path": {"type": "string"}});
        let tools =
            vec![ToolDescriptor { name: "read".into(), description: "Reads a file.".into(), parameters }];
        let beside = Conversation {
            system: Some(text(system_chars, 0)),
            tools: Some(tools),
            ..Conversation::default()
        };
        let pending = PendingRequest { card: ModelCard::with_window(WINDOW), ..PendingRequest::default() };
        let pending = pending.with_overhead_of(&beside, flow.counter());
        if let Some(counter) = counter {
            flow.set_counter(counter);
        }
        Self { session: empty_session(), flow, pending, sent: Vec::new(), n_compacted: 0 }
    }

    fn append(&mut self, message: Message) {
        self.session.append(&message.into(), 1).unwrap();
    }

    /// Does what the flow says before a request, and sends it.
    fn ask(&mut self, says: Message, is_counted: bool) {
        match self.flow.before_request(&self.session, &self.pending).unwrap() {
            FlowAction::Compact(job) => {
                let mut hooks = HookList::default();
                block_on(self.flow.complete(*job, &mut self.session, None, &mut hooks, 1)).unwrap();
                self.n_compacted += 1;
            }
            FlowAction::Shorten(it) => {
                self.flow.shorten(*it, &mut self.session, &self.pending, 1).unwrap();
            }
            FlowAction::Proceed => {}
            other => panic!("{other:?}"),
        }
        let context = context(&self.session);
        assert_sendable(&context);
        let input_tokens = estimate_tokens(&context) + self.pending.overhead_tokens;
        self.sent.push(input_tokens);
        let output_tokens = estimate_message_tokens(&says);
        let usage = is_counted.then_some(Usage { input_tokens, output_tokens, ..Usage::EMPTY });
        answer(&mut self.session, says, usage, StopReason::Stop);
        assert!(matches!(self.flow.after_answer(&self.session, &self.pending).unwrap(), FlowAction::Proceed));
    }

    fn live(&mut self, turn: &Turn) {
        self.append(Message::user(text(turn.prompt, 0)));
        for (at, n_chars) in turn.results.iter().enumerate() {
            let id = format!("c{}-{at}", self.sent.len());
            let call = Block::call(&*id, "read", serde_json::json!({"path": "src/import.rs"}));
            self.ask(Message::Assistant { content: vec![call], error_message: None }, turn.is_counted);
            self.append(Message::tool_result(id, "read", text(*n_chars, at)));
        }
        self.ask(Message::assistant(text(turn.answer, 0)), turn.is_counted);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn never_is_a_request_that_passes_over_the_window_by_the_default_count(
        turns in prop::collection::vec(turn(), 20..50),
        reserve_tokens in 0_u64..2_000,
        system_chars in 0_usize..40_000,
    ) {
        let mut host = Host::new(reserve_tokens, system_chars, None);
        for turn in &turns {
            host.live(turn);
        }
        let most = host.sent.iter().max();
        prop_assert!(most <= Some(&(WINDOW - reserve_tokens)), "{most:?} of {WINDOW}");
    }
}

#[test]
fn with_a_small_reserve_what_the_recorded_estimate_lets_pass_is_over_the_window_and_ours_is_not() {
    let turn = Turn { prompt: 300, results: vec![3_000, 1_500], answer: 900, is_counted: false };
    let most = |counter| {
        let mut host = Host::new(1_000, 3_600, counter);
        for _ in 0..60 {
            host.live(&turn);
        }
        assert!(host.n_compacted > 1, "{}", host.n_compacted);
        host.sent.into_iter().max().unwrap()
    };
    assert!(most(None) <= WINDOW - 1_000);
    let recorded = most(Some(Counter::new(SESSION_PRESET)));
    assert!(recorded > WINDOW, "{recorded}: the script shows nothing");
}
