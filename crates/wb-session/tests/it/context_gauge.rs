//! The estimate that follows a session says what an estimate of the whole path says.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use wb_budget::Usage;
use wb_message::Message;
use wb_session::store::memory::MemoryStore;
use wb_session::{
    Compaction, ContextEdit, ContextGauge, CustomMessage, Entry, EntryId, EntryKind, EntryStore, IdSource,
    Logged, NewSession, Record, Request, SESSION_PRESET, Session, StopReason, StoreError, estimate_context,
};

fn begun(store: Box<dyn EntryStore>) -> Session {
    let begin = NewSession { id: "s".into(), timestamp: 0, cwd: "/".into(), parent_session: None };
    Session::create(store, &begin, IdSource::new(1)).unwrap()
}

fn answer(tokens: Option<u64>, stop_reason: StopReason) -> EntryKind {
    let usage = tokens.map(|input_tokens| Usage { input_tokens, ..Usage::EMPTY });
    let request = Some(Request { usage, stop_reason, ..Request::default() });
    EntryKind::Message(Logged { message: Message::assistant("an answer"), request, is_excluded: false })
}

/// Does one thing to a session; `at` chooses among its entries.
fn step(session: &mut Session, what: u8, at: usize) {
    let ids: Vec<EntryId> = session.tree().nodes().map(|node| node.id.clone()).collect();
    let path: Vec<EntryId> = session.path().unwrap().iter().map(|node| node.id.clone()).collect();
    let one_of = |ids: &[EntryId]| ids.get(at % ids.len().max(1)).cloned();
    let kind = match what {
        0 | 1 => Message::user("a prompt of some length".repeat(1 + at % 7)).into(),
        2 => answer(Some(at as u64 % 50_000), StopReason::Stop),
        3 => answer(None, StopReason::ToolUse),
        4 => answer(Some(9_000), StopReason::Error),
        5 => EntryKind::Message(Logged {
            message: Message::user("kept from the model"),
            request: None,
            is_excluded: true,
        }),
        6 => EntryKind::CustomMessage(CustomMessage {
            custom_type: "note".into(),
            content: "x".repeat(at % 90).into(),
            display: true,
            details: None,
        }),
        7 => {
            let first_kept_entry_id = one_of(&path).filter(|_| !at.is_multiple_of(3));
            EntryKind::Compaction(Compaction {
                summary: "older".into(),
                first_kept_entry_id,
                ..Default::default()
            })
        }
        8 => match one_of(&ids) {
            Some(target_id) => EntryKind::ContextEdit(ContextEdit { target_id, replacement: None }),
            None => return,
        },
        9 => match one_of(&ids) {
            Some(id) => return session.branch(&id).unwrap(),
            None => return session.reset_leaf(),
        },
        _ => match one_of(&ids) {
            Some(target) => return drop(session.set_label(&target, Some("here"), 1).unwrap()),
            None => return,
        },
    };
    session.append(&kind, 1).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(wb_testkit::depth::cases(300)))]
    #[test]
    fn always_the_gauge_reads_what_the_whole_path_weighs(
        steps in prop::collection::vec((0_u8..11, 0_usize..400, any::<bool>()), 0..40),
    ) {
        let mut session = begun(Box::new(MemoryStore::default()));
        let mut gauge = ContextGauge::default();
        for (what, at, is_asked) in steps {
            step(&mut session, what, at);
            if is_asked {
                let path = session.path().unwrap().into_iter().map(|node| session.entry(&node.id).unwrap());
                let path: Vec<Entry> = path.collect();
                let whole = estimate_context(&path.iter().collect::<Vec<_>>(), &SESSION_PRESET);
                prop_assert_eq!(gauge.read(&session, &SESSION_PRESET).unwrap(), whole);
            }
        }
    }
}

/// A store in memory that counts what is read of it.
#[derive(Debug, Default)]
struct CountedStore {
    inner: MemoryStore,
    n_read: Arc<AtomicUsize>,
}

impl EntryStore for CountedStore {
    fn put(&mut self, records: &[Record<'_>]) -> Result<Vec<u64>, StoreError> {
        self.inner.put(records)
    }

    fn read_all(&self, each: &mut dyn FnMut(u64, &[u8])) -> Result<(), StoreError> {
        self.inner.read_all(each)
    }

    fn read_at(&self, position: u64, record: &mut Vec<u8>) -> Result<(), StoreError> {
        self.n_read.fetch_add(1, Ordering::Relaxed);
        self.inner.read_at(position, record)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.inner.sync()
    }
}

#[test]
fn asking_again_reads_what_is_new_and_after_a_compaction_what_it_kept() {
    let n_read = Arc::new(AtomicUsize::new(0));
    let mut session = begun(Box::new(CountedStore { n_read: n_read.clone(), ..CountedStore::default() }));
    let mut gauge = ContextGauge::default();
    let reads = || n_read.swap(0, Ordering::Relaxed);
    for _ in 0..500 {
        session.append(&Message::user("a prompt").into(), 1).unwrap();
    }
    gauge.read(&session, &SESSION_PRESET).unwrap();
    assert_eq!(reads(), 500);
    let kept = session.append(&Message::user("another").into(), 1).unwrap();
    gauge.read(&session, &SESSION_PRESET).unwrap();
    gauge.read(&session, &SESSION_PRESET).unwrap();
    assert_eq!(reads(), 1);
    let digest = Compaction { summary: "s".into(), first_kept_entry_id: Some(kept), ..Compaction::default() };
    session.append(&EntryKind::Compaction(digest), 1).unwrap();
    gauge.read(&session, &SESSION_PRESET).unwrap();
    assert!(reads() <= 3, "the compaction, twice, and what it kept");
}
