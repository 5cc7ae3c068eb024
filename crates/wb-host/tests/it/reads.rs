//! What a compaction reads of its session.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::executor::block_on;
use wb_host::{CompactOpts, CompactionJob, CompactionReason, HookList};
use wb_message::Message;
use wb_session::store::memory::MemoryStore;
use wb_session::{
    CompactionSettings, ContextGauge, EntryStore, IdSource, NewSession, Record, Session, StoreError,
    prepare_compaction,
};

use crate::support::read_path;

/// Counts how many records are read again.
#[derive(Debug, Default)]
struct Counting {
    records: MemoryStore,
    n_reads: Arc<AtomicUsize>,
}

impl EntryStore for Counting {
    fn put(&mut self, records: &[Record<'_>]) -> Result<Vec<u64>, StoreError> {
        self.records.put(records)
    }

    fn read_all(&self, each: &mut dyn FnMut(u64, &[u8])) -> Result<(), StoreError> {
        self.records.read_all(each)
    }

    fn read_at(&self, position: u64, record: &mut Vec<u8>) -> Result<(), StoreError> {
        self.n_reads.fetch_add(1, Ordering::Relaxed);
        self.records.read_at(position, record)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.records.sync()
    }
}

#[test]
fn a_compaction_reads_no_more_late_in_a_session_than_early() {
    let n_reads = Arc::<AtomicUsize>::default();
    let store = Counting { n_reads: n_reads.clone(), ..Counting::default() };
    let begin = NewSession { id: "s".into(), timestamp: 0, cwd: "/".into(), parent_session: None };
    let mut session = Session::create(Box::new(store), &begin, IdSource::new(1)).unwrap();
    let settings = CompactionSettings { keep_recent_tokens: 300, ..CompactionSettings::default() };
    let (mut reads, mut gauge) = (Vec::new(), ContextGauge::default());
    for _ in 0..40 {
        for _ in 0..10 {
            session.append(&Message::user("Go on with the next one.").into(), 1).unwrap();
            session.append(&Message::assistant("Done. ".repeat(100)).into(), 1).unwrap();
        }
        n_reads.store(0, Ordering::Relaxed);
        let (opts, reason) = (CompactOpts::default(), CompactionReason::Threshold);
        let job = CompactionJob::prepare(&session, session.leaf(), &settings, reason, opts.clone()).unwrap();
        let (job, mut hooks) = (job.unwrap(), HookList::default());
        let whole = read_path(&session, session.leaf()).unwrap();
        let whole = prepare_compaction(&whole.iter().collect::<Vec<_>>(), &settings, &*opts.counter);
        assert_eq!(Some(job.preparation()), whole.as_ref(), "the rest of the path changes nothing");
        n_reads.fetch_sub(session.path().unwrap().len(), Ordering::Relaxed);
        block_on(async { job.run(None, &mut hooks).await.append(&mut session, &mut hooks, 1).await })
            .unwrap();
        let compaction = n_reads.swap(0, Ordering::Relaxed);
        let context = session.context(session.leaf()).unwrap().messages.len();
        let estimated = gauge.read(&session, &*opts.counter).unwrap();
        assert!(estimated.tokens > 0 && context < 30);
        reads.push([compaction, n_reads.load(Ordering::Relaxed)]);
    }
    assert!(reads.iter().flatten().all(|n| *n <= 30), "{reads:?}");
    assert_eq!(reads[39], reads[2]);
}
