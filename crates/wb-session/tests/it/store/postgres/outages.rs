//! Servers that crash and networks that are cut while a writer goes on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use wb_record::{Access, ChangeSet, CommitError, Parts};
use wb_session::store::postgres::{PartKind, PostgresParts, PostgresStore, PostgresUrl};
use wb_session::{Durability, EntryStore, StoreError};
use wb_testkit::depth::{cases, is_deep};
use wb_testkit::postgres::{Proxy, Server};

use super::{open, server, session, session_in};
use crate::store::crash::{append_step, n_records};

/// The time after which a writer takes a silent network for a cut one.
const SHORT: Duration = Duration::from_millis(400);

/// Appends until an event is over, and returns how many records were acknowledged in all.
fn append_until(store: &mut PostgresStore, is_over: &AtomicBool, mut n: usize) -> usize {
    while !is_over.load(Ordering::SeqCst) {
        n += append_step(store, n);
    }
    n + append_step(store, n)
}

/// Has a writer append while something happens to its server or network.
fn written_during(store: &mut PostgresStore, n: usize, event: impl FnOnce() + Send) -> usize {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(60));
            event();
            is_over.store(true, Ordering::SeqCst);
        });
        append_until(store, &is_over, n)
    })
}

#[test]
fn a_server_that_crashes_loses_nothing_and_the_writer_goes_on() {
    let Some(mut server) = Server::start() else { return };
    let url = session(&server, "crashed");
    let (mut store, mut n) = (open(&url), 0);
    for crash in 0..cases(12) {
        let mode = if crash % 4 == 3 { "fast" } else { "immediate" };
        n = written_during(&mut store, n, || server.restart(mode));
        assert_eq!(n_records(&PostgresStore::open_for_reading(&url).unwrap()), n, "{mode}");
    }
    assert_eq!(n_records(&store), n);
}

/// The ways in which a network is cut.
const CUTS: [fn(&Proxy); 4] = [
    Proxy::drop_all,
    Proxy::half_close,
    |proxy| {
        proxy.stall(true);
        thread::sleep(SHORT * 2);
        proxy.stall(false);
    },
    |proxy| {
        proxy.mute_after(0);
        thread::sleep(SHORT * 2);
        proxy.unmute();
    },
];

/// A server behind a proxy, and the name of a session by way of both.
fn proxied(name: &str) -> Option<(Server, Proxy, PostgresUrl)> {
    let mut server = Server::start()?;
    server.add_rule("host all all 127.0.0.1/32 trust");
    let proxy = Proxy::start(server.port());
    let database = format!("postgres://wb@127.0.0.1:{}/postgres", proxy.port());
    let url = session_in(&database, name).with_patience(SHORT, 12);
    Some((server, proxy, url))
}

/// Does something while only some answers get back, and all of them a while later.
fn unanswered_after<T>(proxy: &Proxy, n_answers: i64, act: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        proxy.mute_after(n_answers);
        scope.spawn(|| {
            thread::sleep(SHORT * 2);
            proxy.unmute();
        });
        act()
    })
}

/// Whichever answer is lost, the connection's first or that to the append itself.
#[test]
fn an_append_that_is_not_answered_is_stored_once() {
    let Some((_server, proxy, url)) = proxied("unanswered") else { return };
    for n_answers in 0..i64::from(cases(20)) {
        let (mut store, n) = (open(&url), n_records_of(&url));
        unanswered_after(&proxy, n_answers % 4, || append_step(&mut store, n));
        drop(store);
        n_records(&PostgresStore::open_for_reading(&url).unwrap());
    }
}

#[test]
fn a_change_that_is_not_answered_is_there_if_it_says_so_and_else_not() {
    let Some((_server, proxy, url)) = proxied("unanswered change") else { return };
    open(&url).append(b"{}").unwrap();
    let mut parts = PostgresParts::open(&url, PartKind::Entries, Access::Write).unwrap();
    for n_answers in (0..12).step_by(if is_deep() { 1 } else { 3 }) {
        let before = parts.len("").unwrap().unwrap();
        let set = ChangeSet::append("", before, format!("{{\"n\":{n_answers}}}\n{{}}\n").into_bytes());
        let done = unanswered_after(&proxy, n_answers, || parts.commit(&set));
        let refused = matches!(done, Err(CommitError::Io { .. }));
        assert!(done.is_ok() || refused, "{done:?}");
        let now = PostgresParts::open(&url, PartKind::Entries, Access::Read).unwrap();
        assert_eq!(now.len("").unwrap() == Some(before), refused, "after {n_answers} answers");
        assert_eq!(now.whole("").unwrap(), parts.whole("").unwrap());
    }
}

#[test]
fn a_network_that_is_cut_loses_and_repeats_nothing() {
    let Some((server, proxy, url)) = proxied("cut") else { return };
    let (mut store, mut n) = (open(&url), 0);
    for cut in (0..cases(120)).zip(CUTS.iter().cycle()).map(|(_, cut)| cut) {
        n = written_during(&mut store, n, || cut(&proxy));
    }
    let direct = PostgresUrl::parse(&server.socket_url()).unwrap().with_session(url.session().unwrap());
    assert_eq!(n_records(&PostgresStore::open_for_reading(&direct).unwrap()), n);
    assert_eq!(n_records(&store), n);
}

#[test]
fn a_server_that_stays_away_is_an_error_that_says_what_to_do() {
    let Some(mut server) = Server::start() else { return };
    let url = session(&server, "gone").with_patience(SHORT, 1);
    let mut store = open(&url);
    store.append(b"{}").unwrap();
    server.stop("immediate");
    let error = store.append(b"{\"b\":1}").unwrap_err();
    assert!(matches!(error, StoreError::Database { .. }), "{error}");
    assert!(error.to_string().contains("the connection failed") && error.hint().contains("server runs"));
    let gone = PostgresStore::open(&url, Durability::Always).unwrap_err();
    assert!(matches!(gone, StoreError::Database { .. }), "{gone}");
    server.launch();
    assert_eq!(n_records_of(&url), 1);
}

fn n_records_of(url: &PostgresUrl) -> usize {
    let mut n = 0;
    PostgresStore::open_for_reading(url).unwrap().read_all(&mut |_, _| n += 1).unwrap();
    n
}

/// A store is sync and may be used within a task of another runtime.
#[test]
fn a_store_is_used_within_another_runtime() {
    let Some(server) = server() else { return };
    let url = session(server, "within");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async { open(&url).append(b"{}").map(drop) }).unwrap();
    assert_eq!(n_records_of(&url), 1);
}

#[test]
fn what_was_not_synced_is_synced_on_request() {
    let Some(mut server) = Server::start_with(&["wal_writer_delay=10s"]) else { return };
    for durability in [Durability::OnClose, Durability::Never] {
        let url = session(&server, "relaxed");
        let mut store = PostgresStore::create(&url, durability).unwrap();
        for at in 0..20 {
            store.append(format!("{{\"at\":{at}}}").as_bytes()).unwrap();
        }
        store.sync().unwrap();
        server.restart("immediate");
        assert_eq!(n_records_of(&url), 20, "{durability:?}");
        store.append(b"{}").unwrap();
    }
}
