//! Results of tools that are shortened: of which form, in which state of the session, and where that fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::executor::block_on;
use proptest::prelude::*;
use wb_budget::{ModelCard, TokenHeuristic, estimate_message_tokens};
use wb_host::{Counter, FlowAction, FlowState, HookList, HostError, PendingRequest, SessionFlow};
use wb_message::markers::CLIP_MARK;
use wb_message::{Block, Message};
use wb_session::store::memory::MemoryStore;
use wb_session::{
    CompactionSettings, ContextEdit, EntryId, EntryKind, EntryStore, IdSource, Label, Logged, NewSession,
    Record, Replacement, Request, Session, StopReason, StoreError,
};

use crate::agent::assert_sendable;
use crate::support::empty_session;

/// A window of 16 000 tokens of which 8 000 may be used: results of up to 1 000 tokens stay.
fn pending() -> PendingRequest {
    PendingRequest { card: ModelCard::with_window(16_000), ..PendingRequest::default() }
}

fn add(session: &mut Session, message: Message) -> EntryId {
    session.append(&message.into(), 1).unwrap()
}

/// Calls a tool as often as there are results; returns the results' entries.
fn calls(session: &mut Session, results: &[Vec<Block>]) -> Vec<EntryId> {
    let call = |at: usize| Block::call(format!("c{at}"), "read", serde_json::json!({"path": "a.rs"}));
    let content = (0..results.len()).map(call).collect();
    add(session, Message::Assistant { content, error_message: None });
    let result = |(at, content): (usize, &Vec<Block>)| Message::ToolResult {
        tool_call_id: format!("c{at}"),
        tool_name: "read".into(),
        content: content.clone(),
        is_error: false,
    };
    results.iter().enumerate().map(result).map(|message| add(session, message)).collect()
}

fn refused(session: &mut Session) -> EntryId {
    let request = Some(Request { stop_reason: StopReason::Error, ..Request::default() });
    let error_message = Some("prompt is too long: 70000 tokens > 16000 maximum".to_owned());
    let message = Message::Assistant { content: Vec::new(), error_message };
    session.append(&EntryKind::Message(Logged { message, request, is_excluded: false }), 1).unwrap()
}

fn shown(session: &Session, entry: &EntryId) -> Vec<Block> {
    let context = session.context(session.leaf()).unwrap();
    let at = context.entries.iter().position(|it| it == entry).unwrap();
    context.messages[at].blocks().to_vec()
}

/// Asks before a request and does what is said if that is to shorten; tells how many results were.
fn shorten(flow: &mut SessionFlow, session: &mut Session) -> usize {
    match flow.before_request(session, &pending()).unwrap() {
        FlowAction::Shorten(it) => flow.shorten(*it, session, &pending(), 1).unwrap().n_results,
        _ => 0,
    }
}

fn shortened(results: &[Vec<Block>]) -> Vec<Vec<Block>> {
    let mut session = empty_session();
    add(&mut session, Message::user("Read."));
    let entries = calls(&mut session, results);
    shorten(&mut SessionFlow::new(CompactionSettings::default()), &mut session);
    assert_sendable(&session.context(session.leaf()).unwrap().messages);
    entries.iter().map(|entry| shown(&session, entry)).collect()
}

#[test]
fn of_many_texts_the_first_and_the_last_stay_whole_and_none_is_empty() {
    let lines: Vec<Block> = (0..5_000).map(|n| Block::text(format!("line {n} of it"))).collect();
    let after = shortened(std::slice::from_ref(&lines)).remove(0);
    assert_eq!((after.first(), after.last()), (lines.first(), lines.last()));
    let marked: Vec<&str> =
        after.iter().filter_map(Block::as_text).filter(|it| it.contains(CLIP_MARK)).collect();
    assert_eq!(marked.len(), 1, "{marked:?}");
    assert!(after.iter().all(|block| block.as_text().is_some_and(|text| !text.is_empty())));
    let whole = after.iter().filter(|block| lines.contains(block)).count();
    assert!(whole >= after.len() - 2 && after.len() > 100, "{whole} of {}", after.len());
}

#[test]
fn pictures_stay_where_they_are_and_the_text_around_them_is_shortened() {
    let picture = Block::image("image/png", "aGk=");
    let result = vec![picture.clone(), Block::text("s".repeat(60_000)), picture.clone(), Block::text("end")];
    let after = shortened(&[result]).remove(0);
    assert_eq!([&after[0], &after[2], &after[3]], [&picture, &picture, &Block::text("end")]);
    assert!(after[1].as_text().unwrap().len() < 4_000 && after.len() == 4);
    let pictures = vec![picture; 9];
    assert_eq!(
        shortened(std::slice::from_ref(&pictures)),
        std::slice::from_ref(&pictures),
        "of pictures alone there is nothing to shorten"
    );
}

#[test]
fn by_the_hosts_counter_a_session_is_over_earlier_and_results_become_as_short_as_it_says() {
    let dense = TokenHeuristic { chars_per_token: 1.0, ..TokenHeuristic::DEFAULT };
    let results: Vec<Vec<Block>> = [2_000, 7_000].map(|n| vec![Block::text("r".repeat(n))]).to_vec();
    let mut session = empty_session();
    add(&mut session, Message::user("Read."));
    let entries = calls(&mut session, &results);
    let mut flow = SessionFlow::new(CompactionSettings::default());
    assert!(
        matches!(flow.before_request(&session, &pending()).unwrap(), FlowAction::Proceed),
        "by the default"
    );
    flow.set_counter(Counter::new(dense));
    let context = session.context(session.leaf()).unwrap().messages;
    let tokens: u64 = context.iter().map(|message| dense.message_tokens(message)).sum();
    assert_eq!(flow.context_usage(&session, &pending()).unwrap().tokens, tokens);
    assert_eq!(shorten(&mut flow, &mut session), 1, "the larger one is enough");
    assert_eq!(shown(&session, &entries[0]), results[0]);
    let after = shown(&session, &entries[1]);
    let n_chars = after[0].as_text().unwrap().chars().count();
    assert!((950..=1_000).contains(&n_chars), "{n_chars}");
    assert!(!flow.context_usage(&session, &pending()).unwrap().is_over());
}

#[test]
fn in_a_window_of_next_to_nothing_a_result_still_tells_something() {
    for window in [1, 2, 100, 300] {
        let mut session = empty_session();
        add(&mut session, Message::user("Read."));
        let entries =
            calls(&mut session, &[vec![Block::text("é".repeat(9_000))], vec![Block::text("short")]]);
        let mut flow = SessionFlow::new(CompactionSettings::default());
        let pending = PendingRequest { card: ModelCard::with_window(window), ..PendingRequest::default() };
        let FlowAction::Shorten(it) = flow.before_request(&session, &pending).unwrap() else {
            panic!("{window}")
        };
        assert_eq!(flow.shorten(*it, &mut session, &pending, 1).unwrap().n_results, 1);
        let after = shown(&session, &entries[0]);
        let text = after[0].as_text().unwrap();
        assert!(text.starts_with("éééé") && text.contains(CLIP_MARK) && text.len() <= 256, "{text}");
        assert_eq!(shown(&session, &entries[1]), [Block::text("short")]);
        assert!(!matches!(flow.before_request(&session, &pending).unwrap(), FlowAction::Shorten(_)));
    }
}

fn edit(session: &mut Session, target: &EntryId, replacement: Option<&str>) {
    let replacement = replacement.map(|text| Replacement { content: text.into() });
    session
        .append(&EntryKind::ContextEdit(ContextEdit { target_id: target.clone(), replacement }), 1)
        .unwrap();
}

#[test]
fn what_another_edited_is_shortened_as_it_is_shown_and_what_it_hid_stays_hidden() {
    let mut session = empty_session();
    let mut flow = SessionFlow::new(CompactionSettings::default());
    add(&mut session, Message::user("Read."));
    let big = |letter: &str| vec![Block::text(letter.repeat(60_000))];
    let entries = calls(&mut session, &[big("a"), big("b"), big("c")]);
    edit(&mut session, &entries[0], Some("little"));
    edit(&mut session, &entries[1], Some(&"x".repeat(50_000)));
    assert_eq!(shorten(&mut flow, &mut session), 2);
    assert_eq!(shown(&session, &entries[0]), [Block::text("little")]);
    let second = shown(&session, &entries[1]);
    assert!(second[0].as_text().unwrap().starts_with("xxx") && second[0].as_text().unwrap().len() <= 4_000);
    assert_eq!(shorten(&mut flow, &mut session), 0, "once is enough");

    // It was hidden between question and act.
    let entries = calls(&mut session, &[big("d")]);
    let FlowAction::Shorten(it) = flow.before_request(&session, &pending()).unwrap() else {
        panic!("it is over")
    };
    edit(&mut session, &entries[0], None);
    let done = flow.shorten(*it, &mut session, &pending(), 1);
    assert!(matches!(done, Err(HostError::Moved)), "{done:?}");
    assert!(!session.context(session.leaf()).unwrap().entries.contains(&entries[0]));
}

#[test]
fn of_two_questions_before_one_act_only_the_first_is_acted_on() {
    let mut session = empty_session();
    let mut flow = SessionFlow::new(CompactionSettings::default());
    add(&mut session, Message::user("Read."));
    calls(&mut session, &[vec![Block::text("a".repeat(60_000))]]);
    let is_refused = [false, true];
    for is_refused in is_refused {
        if is_refused {
            calls(&mut session, &[vec![Block::text("b".repeat(60_000))]]);
            let answer = refused(&mut session);
            let label = Label { target_id: answer, label: Some("here".into()) };
            session.append(&EntryKind::Label(label), 1).unwrap();
        }
        let mut ask = || {
            let next = if is_refused {
                flow.after_answer(&session, &pending()).unwrap()
            } else {
                flow.before_request(&session, &pending()).unwrap()
            };
            let FlowAction::Shorten(it) = next else { panic!("{next:?}") };
            *it
        };
        let (first, second) = (ask(), ask());
        let done = flow.shorten(first, &mut session, &pending(), 1).unwrap();
        assert_eq!(done.will_retry, is_refused);
        let n_entries = session.tree().nodes().len();
        assert!(matches!(flow.shorten(second, &mut session, &pending(), 1), Err(HostError::Moved)));
        assert_eq!(session.tree().nodes().len(), n_entries);
        assert_eq!(flow.state() == FlowState::Recovering, is_refused);
        assert_sendable(&session.context(session.leaf()).unwrap().messages);
    }
}

#[test]
fn a_session_that_went_to_another_branch_is_left_alone() {
    let mut session = empty_session();
    let mut flow = SessionFlow::new(CompactionSettings::default());
    let first = add(&mut session, Message::user("Read."));
    calls(&mut session, &[vec![Block::text("a".repeat(60_000))]]);
    let FlowAction::Shorten(it) = flow.before_request(&session, &pending()).unwrap() else {
        panic!("it is over")
    };
    session.branch(&first).unwrap();
    assert!(matches!(flow.shorten(*it, &mut session, &pending(), 1), Err(HostError::Moved)));
    assert_eq!(session.leaf(), Some(&first));
}

#[test]
fn what_was_shortened_is_whole_in_no_context_after_a_compaction_is_undone_and_done_again() {
    let mut session = empty_session();
    let mut flow = SessionFlow::new(CompactionSettings::default());
    for _ in 0..3 {
        add(&mut session, Message::user("p".repeat(8_000)));
        add(&mut session, Message::assistant("a".repeat(2_000)));
    }
    let mut n_undone = 0;
    for round in 0..3 {
        let entries = calls(&mut session, &[vec![Block::text("r".repeat(60_000))]]);
        let mut steps = String::new();
        for _ in 0..4 {
            match flow.before_request(&session, &pending()).unwrap() {
                FlowAction::Compact(job) => {
                    steps.push('t');
                    let mut hooks = HookList::default();
                    block_on(flow.complete(*job, &mut session, None, &mut hooks, 1)).unwrap();
                }
                FlowAction::Shorten(it) => {
                    steps.push('s');
                    flow.shorten(*it, &mut session, &pending(), 1).unwrap();
                }
                _ => {}
            }
        }
        assert!(steps.matches('s').count() == 1 && steps.len() <= 2, "{round}: {steps}");
        let context = session.context(session.leaf()).unwrap();
        assert_sendable(&context.messages);
        assert!(context.messages.iter().all(|message| estimate_message_tokens(message) < 3_000), "{round}");
        assert!(!flow.context_usage(&session, &pending()).unwrap().is_over(), "{round}");
        if context.entries.contains(&entries[0]) && session.undo_compaction(1).is_ok() {
            n_undone += 1;
            let texts = session.context(session.leaf()).unwrap().messages;
            let largest = texts
                .iter()
                .filter(|it| matches!(it, Message::ToolResult { .. }))
                .map(estimate_message_tokens);
            assert!(largest.max() < Some(3_000), "{round}");
        }
    }
    assert!(n_undone > 0);
}

/// Refuses all records after a number of them.
#[derive(Debug)]
struct Full(MemoryStore, Arc<AtomicUsize>);

impl EntryStore for Full {
    fn put(&mut self, records: &[Record<'_>]) -> Result<Vec<u64>, StoreError> {
        let left =
            self.1.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(records.len()));
        if left.is_err() {
            return Err(StoreError::BadRecord { what: "the disk is full".to_owned() });
        }
        self.0.put(records)
    }

    fn read_all(&self, each: &mut dyn FnMut(u64, &[u8])) -> Result<(), StoreError> {
        self.0.read_all(each)
    }

    fn read_at(&self, position: u64, record: &mut Vec<u8>) -> Result<(), StoreError> {
        self.0.read_at(position, record)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

#[test]
fn where_the_disk_is_full_the_session_stands_where_it_stood_and_it_is_not_tried_for_ever() {
    for n_written in 0..2 {
        let left = Arc::new(AtomicUsize::new(usize::MAX));
        let begin = NewSession { id: "s".into(), timestamp: 0, cwd: "/".into(), parent_session: None };
        let store = Full(MemoryStore::default(), left.clone());
        let mut session = Session::create(Box::new(store), &begin, IdSource::new(1)).unwrap();
        let mut flow = SessionFlow::new(CompactionSettings::default());
        add(&mut session, Message::user("Read."));
        let big = vec![Block::text("a".repeat(60_000))];
        calls(&mut session, &[big.clone(), big]);
        let answer = refused(&mut session);
        left.store(n_written, Ordering::SeqCst);
        let FlowAction::Shorten(it) = flow.after_answer(&session, &pending()).unwrap() else {
            panic!("refused")
        };
        assert!(matches!(flow.shorten(*it, &mut session, &pending(), 1), Err(HostError::Session(_))));
        assert_eq!(session.leaf(), Some(&answer));
        let next = flow.after_answer(&session, &pending()).unwrap();
        assert!(!matches!(next, FlowAction::Shorten(_)), "{next:?}");
    }
}

fn block() -> impl Strategy<Value = Block> {
    let text = (prop::sample::select(vec!["a", "é", "長", "🦀", "\n", "\r\n", "a b\n"]), 0_usize..6_000);
    prop_oneof![
        6 => text.prop_map(|(piece, n)| Block::text(piece.repeat(n))),
        1 => Just(Block::image("image/png", "aGk=")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_results_hold_they_are_shortened_once_to_their_start_and_their_end(
        results in prop::collection::vec(prop::collection::vec(block(), 0..12), 1..5),
    ) {
        let after = shortened(&results);
        prop_assert_eq!(&shortened(&after), &after, "again");
        let text = |blocks: &[Block]| blocks.iter().filter_map(Block::as_text).collect::<String>();
        for (before, after) in results.iter().zip(&after).filter(|(before, after)| before != after) {
            let (whole, shown) = (text(before), text(after));
            let (head, tail) = shown.split_once(CLIP_MARK).unwrap();
            prop_assert!(whole.starts_with(head) && whole.ends_with(tail) && head.len() + 3 >= tail.len());
            prop_assert!(shown.len() <= 3_600 && shown.len() > 3_400, "{}", shown.len());
            prop_assert!(after.iter().all(|block| block.as_text() != Some("")));
            let pictures = |blocks: &[Block]| blocks.iter().filter(|it| it.as_text().is_none()).count();
            prop_assert_eq!(pictures(before), pictures(after));
        }
    }
}
