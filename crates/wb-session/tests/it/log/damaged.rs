//! Damaged logs give an error or a log, never a panic.

use std::fmt::Write as _;
use std::io::Write as _;

use wb_record::FileParts;
use wb_session::store::jsonl::JsonlStore;
use wb_session::store::memory::MemoryStore;
use wb_session::{EntryStore, IdSource, Session, SessionError, SessionLog, build_context};
use wb_testkit::depth::places;

use crate::support::{FIXTURES, fresh};

fn open(bytes: &[u8]) {
    if let Ok(log) = SessionLog::read(bytes) {
        let middle = log.entries().get(log.entries().len() / 2).map(|entry| &entry.id);
        let _ = build_context(&log, middle);
        let _ = log.segment_ends(log.leaf());
        let _ = build_context(&log, log.leaf());
    }
}

#[test]
fn a_log_that_is_cut_anywhere_is_read_up_to_the_cut() {
    for (name, text) in FIXTURES {
        let full = SessionLog::read(text.as_bytes());
        for end in places(0..text.len()) {
            let bytes = &text.as_bytes()[..end];
            open(bytes);
            let is_past_header = bytes.contains(&b'\n');
            if full.is_ok() && is_past_header {
                assert!(SessionLog::read(bytes).is_ok(), "{name} cut at {end}");
            }
        }
    }
}

#[test]
fn a_log_with_a_byte_changed_is_an_error_or_a_log() {
    for (_, text) in FIXTURES {
        for at in places(0..text.len()) {
            for with in [0x00, b'"', b'{', b']', b'\n', b'9', 0x80, 0xFF] {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] = with;
                open(&bytes);
            }
        }
    }
}

#[test]
fn deep_nesting_hides_no_other_entry() {
    let header = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";
    let deep =
        format!("{header}{{\"type\":\"x\",\"id\":\"a\",\"v\":{}{}}}\n", "[".repeat(5000), "]".repeat(5000));
    let log = SessionLog::read(deep.as_bytes()).unwrap();
    assert_eq!((log.entries().len(), log.notes().len()), (1, 1));
}

/// A chain of many entries is walked in linear time, and cut lines never hide a cycle.
#[test]
fn a_long_chain_is_walked() {
    let mut text = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
    for at in 0..50_000 {
        let _ = writeln!(text, "{{\"type\":\"custom\",\"id\":\"e{}\",\"parentId\":\"e{at}\"}}", at + 1);
    }
    let log = SessionLog::read(text.as_bytes()).unwrap();
    assert_eq!(log.path(log.leaf()).unwrap().len(), 50_000);
}

/// Whatever another program does to the file of an open session, no entry gets the text of another.
#[test]
fn an_entry_that_does_not_stand_in_its_place_any_more_is_an_error() {
    let entry = |id: &str, said: &str| {
        format!(
            "{{\"type\":\"message\",\"id\":\"{id}\",\"message\":{{\"role\":\"user\",\"content\":\"{said}\"}}}}\n"
        )
    };
    let header = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";
    let path = fresh("moved-under-us.jsonl");
    // The same file, read by a session that stays open.
    let write = |text: &str| {
        let file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).open(&path);
        file.unwrap().write_all(text.as_bytes()).unwrap();
    };
    let opened: [&dyn Fn() -> Box<dyn EntryStore>; 2] =
        [&|| Box::new(JsonlStore::open_for_reading(&path).unwrap()), &|| {
            Box::new(MemoryStore::over(Box::new(FileParts::open_for_reading(&path).unwrap())).unwrap())
        }];
    for open in opened {
        let text = [header, &entry("a", "mine"), &entry("b", "last")].concat();
        write(&text);
        let session = Session::open(open(), IdSource::new(1)).unwrap();
        assert_eq!(session.entry(&"a".into()).unwrap().line, 2);
        for other in [entry("c", "mine"), entry("c", "more than was there"), header.to_owned(), String::new()]
        {
            write(&[header, &other, "\n\n"].concat());
            let error = session.entry(&"a".into()).unwrap_err();
            assert!(matches!(error, SessionError::Moved { line: 2, .. }), "{error}");
            assert!(session.context(session.leaf()).is_err());
        }
        write(&text);
        assert_eq!(session.entry(&"a".into()).unwrap().line, 2);
    }
}
