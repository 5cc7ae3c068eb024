//! Reading a log and walking its tree.

use wb_message::Message;
use wb_session::{EntryId, EntryKind, LogNote, SessionError, SessionLog, build_context};

use crate::support::{log_of, read};

fn ids(log: &SessionLog, leaf: Option<&str>) -> Vec<String> {
    let path = log.path(leaf.map(EntryId::from).as_ref()).unwrap();
    path.iter().map(|entry| entry.id.to_string()).collect()
}

#[test]
fn the_first_version_gets_ids_a_chain_and_the_boundary_as_an_id() {
    let log = read("v1").unwrap();
    assert_eq!((log.header().version, log.header().model_id.as_deref()), (1, Some("model-a")));
    let chain = ids(&log, log.leaf().map(EntryId::as_str));
    assert_eq!(chain, ["00000001", "00000002", "00000003", "00000004", "00000005", "00000006"]);
    assert_eq!(log.entries()[5].line, 8, "blank lines count as lines, not as records");
    let EntryKind::Compaction(compaction) = &log.entries()[4].kind else { panic!("no compaction") };
    assert_eq!(compaction.first_kept_entry_id, Some("00000002".into()), "the header is record 0");
}

#[test]
fn an_index_of_the_header_or_of_a_later_record_names_no_boundary() {
    for index in ["0", "2", "99", "-1", "\"x\"", "1.5"] {
        let text = format!(
            "{{\"type\":\"session\",\"id\":\"s\"}}\n{{\"type\":\"message\",\"message\":{{\"role\":\"user\"}}}}\n\
             {{\"type\":\"compaction\",\"summary\":\"S\",\"firstKeptEntryIndex\":{index}}}"
        );
        let log = SessionLog::read(text.as_bytes()).unwrap();
        let EntryKind::Compaction(compaction) = &log.entries()[1].kind else { panic!("no compaction") };
        assert_eq!(compaction.first_kept_entry_id, None, "{index}");
    }
}

#[test]
fn the_leaf_is_the_last_entry_whatever_it_says_and_paths_end_at_a_root() {
    let log = read("branches").unwrap();
    assert_eq!(log.leaf().unwrap().as_str(), "f1");
    assert_eq!(ids(&log, Some("u3")), ["m1", "t1", "u1", "a1", "b1", "x1", "x2", "s1", "s2", "u3"]);
    assert_eq!(ids(&log, Some("a2")), ["m1", "t1", "u1", "a1", "u2", "a2"]);
    assert!(ids(&log, None).is_empty());
}

#[test]
fn entries_of_unknown_types_are_kept_as_they_are() {
    let log = read("branches").unwrap();
    let EntryKind::Other(fields) = &log.entry(&"f1".into()).unwrap().kind else { panic!("not kept") };
    assert_eq!(fields["anything"], serde_json::json!([1, 2, 3]));
}

#[test]
fn an_unknown_leaf_is_an_error_and_an_unknown_parent_makes_a_root() {
    let log = log_of(&[r#"{"type":"label","id":"a","parentId":"gone"}"#]);
    assert_eq!(ids(&log, Some("a")), ["a"]);
    let error = log.path(Some(&"nope".into())).unwrap_err();
    assert_eq!(error.to_string(), "entry nope is not in the session log");
    assert!(matches!(error, SessionError::UnknownLeaf { .. }));
}

#[test]
fn a_cycle_is_an_error_that_names_a_line_of_it() {
    let cycle = log_of(&[
        r#"{"type":"label","id":"a","parentId":"b"}"#,
        r#"{"type":"label","id":"b","parentId":"a"}"#,
        r#"{"type":"label","id":"c","parentId":"b"}"#,
    ]);
    let error = cycle.path(cycle.leaf()).unwrap_err();
    assert!(matches!(error, SessionError::Cycle { .. }), "{error}");
    assert!(error.line().is_some() && !error.hint().is_empty());
    let own = log_of(&[r#"{"type":"label","id":"a","parentId":"a"}"#]);
    assert_eq!(own.path(own.leaf()).unwrap_err().to_string(), "line 2: entry a is its own ancestor");
}

#[test]
fn of_entries_with_one_id_the_last_is_found() {
    let log = log_of(&[
        r#"{"type":"label","id":"a","parentId":null,"label":"old"}"#,
        r#"{"type":"label","id":"a","parentId":null,"label":"new"}"#,
    ]);
    let EntryKind::Other(fields) = &log.entry(&"a".into()).unwrap().kind else { panic!("no label") };
    assert_eq!((fields["label"].as_str(), log.entries().len()), (Some("new"), 2));
}

#[test]
fn a_last_line_that_was_cut_off_is_skipped_and_noted() {
    let log = read("truncated").unwrap();
    assert_eq!(log.notes(), [LogNote::TruncatedLastLine { line: 3 }]);
    assert_eq!(log.notes()[0].to_string(), "truncated last line skipped: line 3");
    assert_eq!(log.entries().len(), 1);
}

#[test]
fn any_other_bad_line_is_noted_with_its_number_and_hides_no_other() {
    let log = read("bad-middle").unwrap();
    assert_eq!(log.entries().len(), 2);
    assert!(log.notes()[0].to_string().starts_with("line 4 is no entry and was skipped: column "));
    let header = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";
    let notes = |lines: &str| {
        let log = SessionLog::read(format!("{header}{lines}").as_bytes()).unwrap();
        (log.entries().len(), log.notes()[0].to_string())
    };
    let skipped = |line: usize, what: &str| format!("line {line} is no entry and was skipped: {what}");
    let what = "not a session entry: missing field `id`";
    assert_eq!(notes("{\"type\":\"label\"}\n"), (0, skipped(2, what)));
    let what = "not a session entry: invalid type: integer `42`, expected struct Envelope";
    assert_eq!(notes("\n42\n"), (0, skipped(3, what)));
    // Its place in the tree is known, so what follows it is found.
    let what = "not a session entry: missing field `message`";
    assert_eq!(notes("{\"type\":\"message\",\"id\":\"a\"}"), (1, skipped(2, what)));
}

#[test]
fn an_entry_that_is_nested_too_deep_says_nothing_and_hides_no_other() {
    let deep = "[".repeat(200) + &"]".repeat(200);
    let log = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n\
         {{\"type\":\"message\",\"id\":\"a\",\"message\":{{\"role\":\"user\",\"content\":\"one\"}}}}\n\
         {{\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\",\"message\":{{\"role\":\"assistant\",\"content\":[\
         {{\"type\":\"toolCall\",\"id\":\"t\",\"name\":\"x\",\"arguments\":{deep}}}]}}}}\n\
         {{\"type\":\"message\",\"id\":\"c\",\"parentId\":\"b\",\"message\":{{\"role\":\"bashExecution\",\
         \"command\":\"x\",\"output\":\"\",\"exitCode\":3221225786}}}}\n"
    );
    let log = SessionLog::read(log.as_bytes()).unwrap();
    let context = build_context(&log, log.leaf()).unwrap();
    assert_eq!(context.messages.len(), 2);
    let Message::BashExecution { exit_code, .. } = context.messages[1] else { panic!("no shell command") };
    assert_eq!(exit_code, Some(-1_073_741_510));
    assert_eq!(log.notes().len(), 1);
}

#[test]
fn what_begins_without_a_header_is_refused() {
    let message = |text: &str| SessionLog::read(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(message("\n \n"), "the session log is empty");
    assert_eq!(
        message("\n{\"type\":\"message\"}"),
        "line 2: expected a session header, found an object of type \"message\""
    );
    assert_eq!(message("[]"), "line 1: expected a session header, found JSON without a \"type\"");
    assert_eq!(
        message("{\"type\":\"session\"}"),
        "line 1: expected a session header, found missing field `id`"
    );
    assert_eq!(message("hello"), "line 1, column 1: not JSON: expected value");
}

#[test]
fn a_newer_layout_is_read_and_noted() {
    let log = SessionLog::read(&b"{\"type\":\"session\",\"version\":4,\"id\":\"s\"}"[..]).unwrap();
    assert_eq!(log.notes(), [LogNote::NewerVersion { version: 4 }]);
}

#[test]
fn an_input_that_fails_is_an_error_with_the_line_that_was_read() {
    struct Failing;
    impl std::io::Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("unplugged"))
        }
    }
    let input = std::io::Read::chain(&b"{\"type\":\"session\",\"id\":\"s\"}\n{"[..], Failing);
    let error = SessionLog::read(std::io::BufReader::new(input)).unwrap_err();
    assert_eq!(error.to_string(), "line 2: the input failed: unplugged");
}

#[test]
fn a_log_is_send_and_sync() {
    fn check<T: Send + Sync>() {}
    check::<SessionLog>();
    check::<SessionError>();
}
