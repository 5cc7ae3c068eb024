//! Compactions, undos and branches one after the other, and what holds whatever their order.

use std::collections::HashMap;

use futures::executor::block_on;
use proptest::prelude::*;
use wb_host::{CompactError, CompactOpts, HookList, HostError, NavigateOpts, compact_session, navigate_tree};
use wb_invoke::ModelInvoker;
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_message::{Block, Message};
use wb_session::{CompactionSettings, EntryId, EntryKind, Session, SessionError};

use crate::support::{SUMMARY, assert_paired, context, empty_session};

/// What happens to a session.
#[derive(Clone, Debug)]
enum Step {
    /// A prompt, calls with results of so many characters, an answer.
    Turn(Vec<usize>),
    /// A compaction that keeps so many tokens.
    Compact(u64),
    /// The last compaction is taken back.
    Undo,
    /// The session goes to one of its entries, with a summary or without.
    Branch(usize, bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => prop::collection::vec(0_usize..4_000, 0..4).prop_map(Step::Turn),
        3 => (0_u64..3_000).prop_map(Step::Compact),
        1 => Just(Step::Undo),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(at, summarize)| Step::Branch(at, summarize)),
    ];
    prop::collection::vec(step, 50)
}

/// A session and the messages that were said in it.
struct Chain {
    session: Session,
    said: HashMap<EntryId, Message>,
    n_calls: usize,
    n_compacted: usize,
    n_undone: usize,
}

impl Chain {
    fn say(&mut self, message: Message) {
        let id = self.session.append(&message.into(), 1).unwrap();
        let EntryKind::Message(logged) = self.session.entry(&id).unwrap().kind else { panic!("{id}") };
        self.said.insert(id, logged.message);
    }

    fn turn(&mut self, results: &[usize]) {
        self.say(Message::user(format!("prompt {} {}", self.said.len(), "p".repeat(results.len() * 300))));
        for n_chars in results {
            self.n_calls += 1;
            let id = format!("call-{}", self.n_calls);
            let call =
                Block::call(&*id, "read", serde_json::json!({"path": format!("src/{}.rs", n_chars % 9)}));
            self.say(Message::Assistant { content: vec![call], error_message: None });
            self.say(Message::tool_result(id, "read", "r".repeat(*n_chars)));
        }
        self.say(Message::assistant("done ".repeat(20)));
    }

    fn step(&mut self, step: &Step, invoker: Option<&dyn ModelInvoker>) {
        let mut hooks = HookList::default();
        match step {
            Step::Turn(results) => self.turn(results),
            Step::Compact(keep_recent_tokens) => {
                let settings =
                    CompactionSettings { keep_recent_tokens: *keep_recent_tokens, ..Default::default() };
                let opts = CompactOpts::default();
                let run = compact_session(&mut self.session, &settings, invoker, &mut hooks, opts, 1);
                match block_on(run) {
                    Ok(_) => self.n_compacted += 1,
                    Err(HostError::Compact(CompactError::Nothing | CompactError::NotLighter { .. })) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            Step::Undo => match self.session.undo_compaction(1) {
                Ok(_) => self.n_undone += 1,
                Err(SessionError::NothingToUndo) => {}
                Err(error) => panic!("{error}"),
            },
            Step::Branch(at, user_wants_summary) => {
                let ids: Vec<EntryId> = self.session.tree().nodes().map(|node| node.id).collect();
                let target = &ids[at % ids.len()];
                let opts = NavigateOpts { user_wants_summary: *user_wants_summary, ..Default::default() };
                block_on(navigate_tree(&mut self.session, target, invoker, &mut hooks, opts, 1)).unwrap();
            }
        }
    }
}

fn assert_reachable(chain: &Chain) {
    for (id, message) in &chain.said {
        let EntryKind::Message(logged) = chain.session.entry(id).unwrap().kind else { panic!("{id}") };
        assert_eq!(logged.message, *message);
        let path = chain.session.tree().path(Some(id)).unwrap();
        assert_eq!(path.last().map(|node| &node.id), Some(id));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_chain_of_50_leaves_every_context_valid_and_every_message_reachable(
        steps in steps(),
        has_model in any::<bool>(),
    ) {
        let model = ScriptedInvoker::new([Script::says(SUMMARY)]);
        let model = has_model.then_some(&model as &dyn ModelInvoker);
        let (session, said) = (empty_session(), HashMap::new());
        let mut chain = Chain { session, said, n_calls: 0, n_compacted: 0, n_undone: 0 };
        chain.turn(&[500, 20]);
        for step in &steps {
            chain.step(step, model);
            assert_paired(&context(&chain.session));
        }
        assert_reachable(&chain);
    }
}

#[test]
fn the_chains_compact_and_undo_often() {
    let (session, said) = (empty_session(), HashMap::new());
    let mut chain = Chain { session, said, n_calls: 0, n_compacted: 0, n_undone: 0 };
    for at in 0..50 {
        let mut steps = vec![Step::Turn(vec![900; 3]), Step::Compact(300), Step::Turn(vec![40])];
        steps.extend((at % 3 == 0).then_some(Step::Undo));
        steps.extend((at % 5 == 0).then_some(Step::Branch(at * 7, true)));
        for step in &steps {
            chain.step(step, None);
        }
    }
    assert!(chain.n_compacted >= 25 && chain.n_undone >= 5, "{} {}", chain.n_compacted, chain.n_undone);
    assert_reachable(&chain);
}
