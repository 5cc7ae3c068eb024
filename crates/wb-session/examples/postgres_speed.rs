//! Prints what an append to a session in PostgreSQL takes, next to a bare `INSERT` on the same
//! server, as a page of Markdown.
//!
//! `cargo run --release -p wb-session --features postgres --example postgres_speed`: starts a
//! server in a folder of its own, which waits for the disk. Both kinds of appends take turns.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls, Statement};
use wb_session::store::postgres::{PostgresStore, PostgresUrl};
use wb_session::{Durability, EntryStore};
use wb_testkit::postgres::Server;

/// The appends of each kind.
const SAMPLES: usize = 2_000;
/// The bytes of the records.
const SIZES: [usize; 3] = [300, 3_000, 30_000];
const SESSIONS: usize = 200;
const WRITERS: usize = 16;
/// The entries of each session.
const ENTRIES: usize = 50;

/// A client that inserts a row and waits for its commit.
struct Bare {
    runtime: Runtime,
    client: Client,
    insert: Statement,
    n: i64,
}

impl Bare {
    fn connect(url: &str, durability: Durability) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (client, connection) = runtime.block_on(tokio_postgres::connect(url, NoTls)).unwrap();
        runtime.spawn(connection);
        let wait = if durability == Durability::Always { "on" } else { "off" };
        let table = format!(
            "SET synchronous_commit = {wait}; DROP TABLE IF EXISTS bare;
             CREATE TABLE bare (session int, at bigint, record bytea, PRIMARY KEY (session, at))"
        );
        runtime.block_on(client.batch_execute(&table)).unwrap();
        let insert = runtime.block_on(client.prepare("INSERT INTO bare VALUES (1, $1, $2)")).unwrap();
        Self { runtime, client, insert, n: 0 }
    }

    fn insert(&mut self, record: &[u8]) {
        self.n += 1;
        self.runtime.block_on(self.client.execute(&self.insert, &[&self.n, &record])).unwrap();
    }
}

/// Returns a record of some bytes, with an id of its own.
fn record(n: usize, n_bytes: usize) -> Vec<u8> {
    let head = format!("{{\"type\":\"message\",\"id\":\"{n:08x}\",\"text\":\"");
    let text = "x".repeat(n_bytes.saturating_sub(head.len() + 2));
    format!("{head}{text}\"}}").into_bytes()
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Returns the median and the time that one in twenty exceeds, in microseconds.
fn summary(times: &mut [Duration]) -> (u128, u128) {
    times.sort_unstable();
    (times[times.len() / 2].as_micros(), times[times.len() * 19 / 20].as_micros())
}

fn latency(server: &Server, durability: Durability, n_bytes: usize, out: &mut impl Write) -> io::Result<()> {
    let name = format!("{durability:?} {n_bytes}");
    let url = PostgresUrl::parse(&server.socket_url()).unwrap().with_session(&name);
    let mut store = PostgresStore::create(&url, durability).unwrap();
    let mut bare = Bare::connect(&server.socket_url(), durability);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for n in 0..SAMPLES {
        let record = record(n, n_bytes);
        theirs.push(timed(|| bare.insert(&record)));
        ours.push(timed(|| assert!(store.append(&record).is_ok())));
    }
    let ((theirs, theirs_95), (ours, ours_95)) = (summary(&mut theirs), summary(&mut ours));
    let ratio = ours as f64 / theirs as f64;
    let waits = if durability == Durability::Always { "yes" } else { "no" };
    writeln!(out, "| {waits} | {n_bytes} | {theirs} | {theirs_95} | {ours} | {ours_95} | {ratio:.2} |")
}

/// Has several writers fill many sessions at once, and checks that each holds what was appended.
fn many(server: &Server) -> (Duration, usize) {
    let urls: Vec<PostgresUrl> = (0..SESSIONS)
        .map(|n| PostgresUrl::parse(&server.socket_url()).unwrap().with_session(&format!("many {n}")))
        .collect();
    let (next, n_stored) = (AtomicUsize::new(0), Mutex::new(0));
    let write = |url: &PostgresUrl| {
        let mut store = PostgresStore::create(url, Durability::Always).unwrap();
        let expected: Vec<Vec<u8>> = (0..ENTRIES).map(|n| record(n, 1_000)).collect();
        for record in &expected {
            store.append(record).unwrap();
        }
        let mut found = Vec::new();
        PostgresStore::open_for_reading(url).unwrap().read_all(&mut |_, it| found.push(it.to_vec())).unwrap();
        assert!(found == expected, "a session holds what was appended");
        *n_stored.lock().unwrap() += found.len();
    };
    let taken = timed(|| {
        thread::scope(|scope| {
            for _ in 0..WRITERS {
                scope.spawn(|| {
                    while let Some(url) = urls.get(next.fetch_add(1, Ordering::SeqCst)) {
                        write(url);
                    }
                });
            }
        });
    });
    let n_stored = *n_stored.lock().unwrap();
    (taken, n_stored)
}

fn main() -> io::Result<()> {
    let Some(server) = Server::start_with(&["max_connections=200"]) else { return Ok(()) };
    let mut out = io::stdout().lock();
    let version = server.sql("SHOW server_version");
    let version = version.split(' ').next().unwrap_or_default().trim();
    writeln!(
        out,
        "# Sessions in PostgreSQL\n\nWhat an append takes until it is acknowledged, next to a bare `INSERT` into a \
         table with a primary key, prepared and committed by itself; both in turn, {SAMPLES} of each, over a socket \
         to PostgreSQL {version} on the same machine. `cargo run --release -p wb-session --features postgres \
         --example postgres_speed` prints this page.\n\n| waits for the disk | bytes | `INSERT` µs | 95 % | append µs | 95 % | ratio \
         |\n|---|---:|---:|---:|---:|---:|---:|"
    )?;
    for durability in [Durability::Always, Durability::Never] {
        for n_bytes in SIZES {
            latency(&server, durability, n_bytes, &mut out)?;
        }
    }
    let (taken, n) = many(&server);
    writeln!(
        out,
        "\nAn append also checks where the session ends, keeps entry ids unique, and reports to readers.\n\n{WRITERS} \
         writers filled {SESSIONS} sessions with {ENTRIES} entries of 1,000 bytes each at once: {n} entries in {:.1} \
         s, {:.0} per second, opening and reading again included. Each session held exactly what was appended.",
        taken.as_secs_f64(),
        n as f64 / taken.as_secs_f64()
    )
}
