//! The lines of a session as the bytes of a file.

use wb_record::{Access, Bytes, Change, ChangeSet, CommitError, PartId, Parts};
use wb_session::EntryStore;
use wb_session::store::postgres::{PartKind, PostgresParts, PostgresUrl};

use super::{open, server, session};
use crate::store::files::texts;

fn parts(url: &PostgresUrl, kind: PartKind, access: Access) -> PostgresParts {
    PostgresParts::open(url, kind, access).unwrap()
}

fn append(at: u64, new: &str) -> ChangeSet {
    ChangeSet::append("", at, new.as_bytes().to_vec())
}

#[test]
fn lines_are_appended_and_cut_off_as_in_a_file() {
    let Some(server) = server() else { return };
    let url = session(server, "parts");
    open(&url).append(b"{\"a\":1}").unwrap();
    let mut some = parts(&url, PartKind::Entries, Access::Write);
    let set = append(8, "{\"id\":\"b\"}\n{\"id\":\"c\"}\n");
    for _ in 0..2 {
        some.commit(&set).unwrap();
        assert_eq!(some.whole("").unwrap(), b"{\"a\":1}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n");
        assert_eq!(texts(&open(&url)), ["{\"a\":1}", "{\"id\":\"b\"}", "{\"id\":\"c\"}"]);
        some.commit(&set.inverse()).unwrap();
        assert_eq!(parts(&url, PartKind::Entries, Access::Read).whole("").unwrap(), b"{\"a\":1}\n");
    }
    let mut reader = parts(&url, PartKind::Entries, Access::Read);
    assert!(matches!(reader.commit(&set), Err(CommitError::ReadOnly)));
}

#[test]
fn what_others_wrote_is_not_written_over() {
    let Some(server) = server() else { return };
    let url = session(server, "stale parts");
    let mut writer = open(&url);
    let mut some = parts(&url, PartKind::Entries, Access::Write);
    assert!(matches!(some.commit(&append(0, "{}\n")), Err(CommitError::Busy)));
    writer.append(b"{\"a\":1}").unwrap();
    drop(writer);
    assert!(matches!(some.commit(&append(0, "{}\n")), Err(CommitError::Stale { .. })));
    assert_eq!(some.whole("").unwrap(), b"{\"a\":1}\n", "it was read again");
    some.commit(&append(8, "{}\n")).unwrap();
    let old = Bytes(b"{\"a\":1}\n".to_vec());
    for change in [
        Change::Splice { at: 0, old: old.clone(), new: Bytes::default() },
        Change::Append { at: 11, new: Bytes(b"{}".to_vec()) },
    ] {
        let refused = some.commit(&ChangeSet { changes: vec![(PartId::new(), change)] });
        assert!(matches!(refused, Err(CommitError::Unsupported(_))), "{refused:?}");
    }
    let both = ChangeSet { changes: [append(11, "{\"b\":1}\n").changes, append(0, "{}\n").changes].concat() };
    assert!(some.commit(&both).is_err());
    assert_eq!(texts(&open(&url)), ["{\"a\":1}", "{}"]);
}

#[test]
fn the_list_of_operations_is_apart_and_has_one_writer() {
    let Some(server) = server() else { return };
    let url = session(server, "operations");
    open(&url).append(b"{}").unwrap();
    let mut list = parts(&url, PartKind::Operations, Access::Write);
    assert_eq!(list.len("").unwrap(), None);
    let new = Bytes(b"{\"done\":{\"id\":1}}\n".to_vec());
    list.commit(&ChangeSet { changes: vec![(PartId::new(), Change::Create { new })] }).unwrap();
    list.commit(&append(18, "{}\n")).unwrap();
    assert!(PostgresParts::open(&url, PartKind::Operations, Access::Write).is_err());
    assert_eq!(parts(&url, PartKind::Operations, Access::Read).len("").unwrap(), Some(21));
    assert_eq!(texts(&open(&url)), ["{}"], "the session has its own writer");
}
