//! Writers that are killed, and logs that are cut: nothing that was acknowledged is lost.

use std::env;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use wb_message::Message;
use wb_session::store::jsonl::JsonlStore;
use wb_session::store::memory::MemoryStore;
use wb_session::{Compaction, Durability, EntryKind, EntryStore, IdSource, NewSession, Session};
use wb_testkit::depth::cases;
use wb_testkit::shared::bytes_of;

use crate::support::{append_bytes, fresh};

/// The variable with the file that a child of this test writes.
const FILE: &str = "WB_SESSION_CRASH_FILE";
pub(crate) const N_KILLS: u32 = 500;
/// Kills on one file, so that it stays small enough to be read each time.
const N_KILLS_PER_FILE: u32 = 10;

/// The record of a number, most of them short and some of them of a size that takes a while to
/// write.
pub(crate) fn record(number: usize) -> Vec<u8> {
    let n_bytes = if number % 7 == 6 { 200_000 } else { number * 37 % 3_000 };
    format!("{{\"number\":{number},\"text\":\"{}\"}}", "x".repeat(n_bytes)).into_bytes()
}

/// The records of one step, which begins with a number: one to four of them.
pub(crate) fn step(first: usize) -> Vec<Vec<u8>> {
    (first..=first + first % 4).map(record).collect()
}

pub(crate) fn append_step(store: &mut dyn EntryStore, first: usize) -> usize {
    let records = step(first);
    store.append_all(&records.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap().len()
}

pub(crate) fn n_records(store: &dyn EntryStore) -> usize {
    let mut n_records = 0;
    let mut check = |_, found: &[u8]| {
        assert!(found == record(n_records), "record {n_records} is not what was appended");
        n_records += 1;
    };
    store.read_all(&mut check).unwrap();
    n_records
}

fn open(path: &Path) -> JsonlStore {
    let open = if path.exists() { JsonlStore::open } else { JsonlStore::create };
    open(path.to_owned(), Durability::OnClose).unwrap()
}

/// Appends and acknowledges until it is killed.
pub(crate) fn append_for_ever(store: &mut dyn EntryStore) {
    let mut out = std::io::stdout().lock();
    let mut number = n_records(store);
    loop {
        number += append_step(store, number);
        writeln!(out, "acknowledged {}", number - 1).unwrap();
        out.flush().unwrap();
    }
}

/// Runs a child, kills it after a while and returns how many records it acknowledged in all, if
/// any.
pub(crate) fn killed_after(name: &str, (variable, value): (&str, &OsStr), delay: Duration) -> Option<usize> {
    let mut child = Command::new(env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(variable, value)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        let lines = out.lines().map_while(Result::ok);
        let numbers = lines.filter_map(|line| line.rsplit_once("acknowledged ")?.1.parse::<usize>().ok());
        numbers.last().map(|number| number + 1)
    });
    sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a child learns from its environment that it is one")]
fn a_writer_that_is_killed_loses_nothing_that_it_acknowledged() {
    if let Some(path) = env::var_os(FILE) {
        return append_for_ever(&mut open(path.as_ref()));
    }
    let name = "store::crash::a_writer_that_is_killed_loses_nothing_that_it_acknowledged";
    let path = fresh("killed.jsonl");
    let (mut seed, mut n_before, mut n_torn, mut n_working, mut n_in_part) = (0x5EED_u64, 0, 0, 0_u32, 0);
    let n_kills = cases(N_KILLS);
    for kill in 0..n_kills {
        if kill % N_KILLS_PER_FILE == 0 {
            (n_before, n_torn) = (0, n_torn + usize::from(path.with_extension("jsonl.torn").exists()));
            fresh("killed.jsonl");
        }
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let acknowledged = killed_after(
            name,
            (FILE, path.as_os_str()),
            Duration::from_micros(5_000 + (seed >> 33) % 15_000),
        );
        n_working += u32::from(acknowledged.is_some());
        let n_acknowledged = acknowledged.unwrap_or(n_before);
        if path.exists() {
            let found = n_records(&open(&path));
            // The first records of the unacknowledged step may be present.
            let range = n_acknowledged..=n_acknowledged + step(n_acknowledged).len();
            assert!(range.contains(&found), "kill {kill}: {found} records, {n_acknowledged} acknowledged");
            n_in_part += usize::from(found > n_acknowledged && found < *range.end());
            n_before = found;
        }
    }
    assert!(
        n_working > n_kills / 20,
        "{n_working} of the writers got to work, on {n_torn} files with torn records and {n_in_part} steps in part"
    );
}

/// Whatever a kill left of the last record, the session is that before the append or that after it.
#[test]
fn a_log_cut_at_every_byte_of_its_last_record_opens_to_before_or_after_it() {
    let mut session = Session::create(Box::new(MemoryStore::default()), &begin(), IdSource::new(1)).unwrap();
    let mut log = Vec::new();
    session.append(&Message::user("é\n\"{}").into(), 0).unwrap();
    session.write_to(&mut log).unwrap();
    let before = (log.len(), session.context(session.leaf()).unwrap());
    session.append(&Message::assistant("naïve } \\ \" 漢").into(), 0).unwrap();
    log.clear();
    session.write_to(&mut log).unwrap();
    let after = session.context(session.leaf()).unwrap();
    for end in before.0..=log.len() {
        let path = fresh("cut.jsonl");
        append_bytes(&path, &log[..end]);
        let store = Box::new(JsonlStore::open(&path, Durability::Never).unwrap());
        let mut cut = Session::open(store, IdSource::new(2)).unwrap();
        let context = cut.context(cut.leaf()).unwrap();
        let is_whole = end + 1 >= log.len();
        assert_eq!(context, if is_whole { after.clone() } else { before.1.clone() }, "cut at {end}");
        assert_eq!(cut.notes().len(), usize::from(!is_whole && end > before.0), "cut at {end}");
        cut.append(&Message::user("on").into(), 0).unwrap();
        drop(cut);
        let lines = bytes_of(&path);
        assert_eq!(lines.split(|byte| *byte == b'\n').count(), if is_whole { 5 } else { 4 });
        let aside = if is_whole || end == before.0 {
            Vec::new()
        } else {
            bytes_of(&path.with_extension("jsonl.torn"))
        };
        assert!(
            aside.is_empty() || aside[..aside.len() - 1] == log[before.0..end],
            "the torn bytes are kept"
        );
        assert_eq!(aside.is_empty(), is_whole || end == before.0);
    }
}

/// A power cut may leave the length of a record that did not reach the disk, with zeros for its
/// bytes.
#[test]
fn a_log_with_zeros_in_its_last_record_opens_to_before_it() {
    let mut session = Session::create(Box::new(MemoryStore::default()), &begin(), IdSource::new(1)).unwrap();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    session.append(&Message::user("a").into(), 0).unwrap();
    session.write_to(&mut before).unwrap();
    let context = session.context(session.leaf()).unwrap();
    session.append(&Message::assistant("b").into(), 0).unwrap();
    session.write_to(&mut after).unwrap();
    for at in before.len()..after.len() {
        let (mut head, mut tail) = (after.clone(), after.clone());
        head[before.len()..=at].fill(0);
        tail[at..].fill(0);
        for log in [head, tail] {
            let path = fresh("zeros.jsonl");
            append_bytes(&path, &log);
            let store = Box::new(JsonlStore::open(&path, Durability::Never).unwrap());
            let mut session = Session::open(store, IdSource::new(2)).unwrap();
            assert_eq!(session.context(session.leaf()).unwrap(), context, "zeros at {at}");
            assert_eq!(session.notes().len(), 1, "zeros at {at}");
            session.append(&Message::user("on").into(), 0).unwrap();
            drop(session);
            let again =
                Session::open(Box::new(JsonlStore::open_for_reading(&path).unwrap()), IdSource::new(2));
            assert_eq!(again.unwrap().path().unwrap().len(), 2, "zeros at {at}");
        }
    }
}

/// After a kill during an undo, the session is on the old branch or on the first part of the new
/// one; going back and undoing again completes it.
#[test]
fn a_log_cut_at_every_byte_of_an_undo_holds_the_old_branch_and_a_part_of_the_new_one() {
    let mut session = Session::create(Box::new(MemoryStore::default()), &begin(), IdSource::new(1)).unwrap();
    session.append(&Message::user("a").into(), 0).unwrap();
    let digest = Compaction { summary: "S".into(), ..Compaction::default() };
    session.append(&EntryKind::Compaction(digest), 0).unwrap();
    session.append(&Message::user("b").into(), 0).unwrap();
    session.append(&Message::assistant("c").into(), 0).unwrap();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    session.write_to(&mut before).unwrap();
    let compacted = session.context(session.leaf()).unwrap();
    let old = session.undo_compaction(0).unwrap().old_leaf_id;
    let whole = session.context(session.leaf()).unwrap().messages;
    session.write_to(&mut after).unwrap();
    for end in before.len()..=after.len() {
        let path = fresh("cut-undo.jsonl");
        append_bytes(&path, &after[..end]);
        let store = Box::new(JsonlStore::open(&path, Durability::Never).unwrap());
        let mut cut = Session::open(store, IdSource::new(2)).unwrap();
        let seen = cut.context(cut.leaf()).unwrap();
        let is_old = cut.leaf() == Some(&old);
        assert!(if is_old { seen == compacted } else { whole.starts_with(&seen.messages) }, "cut at {end}");
        assert_eq!(cut.context(Some(&old)).unwrap(), compacted, "cut at {end}");
        cut.branch(&old).unwrap();
        cut.undo_compaction(0).unwrap();
        assert_eq!(cut.context(cut.leaf()).unwrap().messages, whole, "cut at {end}");
    }
}

fn begin() -> NewSession {
    NewSession { id: "s".into(), timestamp: 0, cwd: "/".into(), parent_session: None }
}

/// The variable with the file that a child of the next test writes under a limit of four kilobytes.
#[cfg(unix)]
const LIMITED: &str = "WB_SESSION_LIMITED_FILE";

#[cfg(unix)]
fn append_beyond_the_limit(path: &Path) {
    let mut store = JsonlStore::create(path, Durability::Never).unwrap();
    store.append(b"{\"first\":1}").unwrap();
    for _ in 0..2 {
        let error = store.append(&record(6)).unwrap_err();
        assert!(error.to_string().contains("appending to it failed"), "{error}");
        assert_eq!(bytes_of(path), b"{\"first\":1}\n", "what was written of the record is cut off again");
        store.append_all(&[b"{\"whole\":1}", &record(6)]).unwrap_err();
        assert_eq!(bytes_of(path), b"{\"first\":1}\n", "and whole lines of the same step with it");
    }
    store.append(b"{\"second\":2}").unwrap();
    drop(store);
    assert_eq!(bytes_of(path), b"{\"first\":1}\n{\"second\":2}\n");
}

/// A limit on the size of files makes the system write a part of a line, as a disk does that
/// becomes full.
#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "a child learns from its environment that it is one")]
fn a_record_that_is_written_in_part_is_removed() {
    if let Some(path) = env::var_os(LIMITED) {
        return append_beyond_the_limit(path.as_ref());
    }
    let path = fresh("limited.jsonl");
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" store::crash::a_record_that_is_written_in_part_is_removed --exact";
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(env::current_exe().unwrap())
        .env(LIMITED, &path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
    assert_eq!(n_lines(&path), 2);
}

#[cfg(unix)]
fn n_lines(path: &Path) -> usize {
    bytes_of(path).split(|byte| *byte == b'\n').count() - 1
}
