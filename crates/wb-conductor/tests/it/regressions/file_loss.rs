//! WA8, WA9, WA11, WA12: restored files.

use serde_json::json;
use wb_conductor::Compactor;
use wb_message::Message;
use wb_message::markers::{CLEARED_TOOL_RESULT, is_cleared};
use wb_testkit::script;

use crate::support::{AUTO, FORCE, call, condensed, digest_of, files_of, keep, lines, text_of, window};

fn read(id: &str, path: &str, body: &str) -> [Message; 2] {
    call(id, "read", json!({ "path": path }), body)
}

fn force(messages: &[Message]) -> Vec<Message> {
    let (after, report) = condensed(messages, &Compactor::new(), &FORCE);
    assert!(report.cut > 0, "{report}");
    after
}

/// [R1] Two reads, then six shell calls; published: both files come back as the mark of a cleared
/// result.
#[test]
fn wa8_a_cleared_mark_is_never_restored_as_a_file() {
    let mut messages = script("u*400");
    messages.extend(read("r1", "/src/a.rs", &lines("fn a", 10)));
    messages.extend(read("r2", "/src/b.rs", &lines("fn b", 10)));
    messages.extend(script("[a:bash t*200]x6 u\"and now\""));
    let after = force(&messages);
    let expected = [("/src/a.rs", lines("fn a", 10)), ("/src/b.rs", lines("fn b", 10))];
    assert_eq!(files_of(&after), expected.each_ref().map(|(path, body)| (*path, body.as_str())));

    // A session whose bodies were cleared before restores nothing.
    for at in [2, 4] {
        messages[at] = Message::tool_result(format!("r{}", at / 2), "read", CLEARED_TOOL_RESULT);
    }
    assert_eq!(files_of(&force(&messages)), []);
}

/// [R2] `gemini_call_0` read /a, read /b, bash ls; published: the listing is restored as the
/// content of /b.
#[test]
fn wa9_repeated_ids_do_not_mix_up_files() {
    let mut messages = script("u*400");
    messages.extend(read("gemini_call_0", "/a.rs", "the body of a"));
    messages.extend(read("gemini_call_0", "/b.rs", "the body of b"));
    messages.extend(call("gemini_call_0", "bash", json!({"command": "ls"}), "a.rs b.rs"));
    messages.extend(script("a u\"and now\""));
    let after = force(&messages);
    assert_eq!(files_of(&after), [("/a.rs", "the body of a"), ("/b.rs", "the body of b")]);
}

/// [C2] The same ids made microcompact blank the result of a tool that cannot be run again.
#[test]
fn wa9_repeated_ids_do_not_clear_what_cannot_be_had_again() {
    let mut messages = script("u");
    messages.extend(call("call_0", "todo", json!({"todos": []}), &lines("todo", 20)));
    for n in 0..9 {
        messages.extend(read("call_0", &format!("/f{n}.rs"), &lines("fn f", 20)));
    }
    messages.extend(script("a"));
    let (after, report) = condensed(&messages, &window(5_700), &AUTO);
    assert_eq!(report.cleared, [4, 6, 8], "{report}");
    assert_eq!(after[2], messages[2], "the todo result stays");
    assert!(is_cleared(after[4].blocks()));
}

/// [R4] read, edit, compact; published: the body before the edit comes back.
#[test]
fn wa11_a_body_older_than_an_edit_is_not_restored() {
    let edit = |id: &str, path: &str| call(id, "edit", json!({"path": path, "new_string": "x"}), "ok");
    let mut messages = script("u*400");
    messages.extend(read("r1", "/src/a.rs", "before the edit"));
    messages.extend(read("r2", "/src/b.rs", "never edited"));
    messages.extend(edit("e1", "/src/./a.rs"));
    messages.extend(script("u\"next\""));
    assert_eq!(files_of(&force(&messages)), [("/src/b.rs", "never edited")]);

    // Read again after the edit it is current, and a failed edit changed nothing.
    messages.pop();
    messages.extend(read("r3", "/src/a.rs", "after the edit"));
    messages.extend(edit("e2", "/src/b.rs"));
    let failed = messages.len() - 1;
    messages[failed] = Message::tool_error("e2", "edit", "no match");
    messages.extend(script("u\"next\""));
    let expected = [("/src/b.rs", "never edited"), ("/src/a.rs", "after the edit")];
    assert_eq!(files_of(&force(&messages)), expected);
}

/// An edit in the kept tail makes the body of the head stale as well.
#[test]
fn wa11_an_edit_in_the_tail_counts_too() {
    let mut messages = script("u*400");
    messages.extend(read("r1", "/src/a.rs", "before the edit"));
    messages.extend(script("u\"change it\" a:write(/src/a.rs) t"));
    assert_eq!(files_of(&force(&messages)), []);
}

/// [R5] A partial re-read replaced the full body; ./a.rs and a.rs were two files.
#[test]
fn wa11_a_partial_read_does_not_replace_a_full_one() {
    let mut messages = script("u*400");
    messages.extend(read("r1", "src/a.rs", "the whole file"));
    messages.extend(call("r2", "read", json!({"path": "./src/a.rs", "offset": 3, "limit": 1}), "whole"));
    messages.extend(script("u\"next\""));
    assert_eq!(files_of(&force(&messages)), [("src/a.rs", "the whole file")]);
}

/// [R7, R7b, R7c] A read call in the tail prevented the restore even if its result shows nothing.
#[test]
fn wa12_a_read_call_in_the_tail_does_not_hold_a_file_back() {
    let head = || {
        let mut messages = script("u*400");
        messages.extend(read("r1", "/a.rs", "the body of a"));
        messages.extend(script("u\"next\""));
        messages
    };
    let again = |result: Option<Message>| {
        let mut messages = head();
        messages.push(read("again", "/a.rs", "")[0].clone());
        messages.extend(result);
        messages.extend(script("a"));
        files_of(&force(&messages)).iter().map(|(path, body)| format!("{path}: {body}")).collect::<Vec<_>>()
    };
    let restored = ["/a.rs: the body of a"];
    assert_eq!(again(None), restored, "missing");
    assert_eq!(again(Some(Message::tool_error("again", "read", "EBUSY"))), restored, "failed");
    let cleared = Message::tool_result("again", "read", CLEARED_TOOL_RESULT);
    assert_eq!(again(Some(cleared)), restored, "cleared");
    let shown = Message::tool_result("again", "read", "the body of a");
    assert_eq!(again(Some(shown)), [""; 0], "still visible");
}

/// A result of the tail that the same run clears is no longer visible either.
#[test]
fn wa12_a_file_cleared_in_the_tail_in_the_same_run_is_restored() {
    let mut messages = script("u*40 a*1500");
    messages.extend(read("r1", "/a.rs", &lines("fn a", 10)));
    messages.extend(script("u\"next\""));
    messages.extend(read("r2", "/a.rs", &lines("fn a", 10)));
    messages.extend(script("[a:bash t*200]x6"));
    let (after, report) = condensed(&messages, &Compactor::new(), &FORCE);
    assert_eq!(report.cleared.len(), 1, "{report}");
    assert_eq!(files_of(&after), [("/a.rs", lines("fn a", 10).as_str())]);
}

/// [R13] A restored file is plain user text, and the next compaction forgot it.
#[test]
fn wa12_a_restored_file_survives_until_it_is_edited() {
    let settings = Compactor::new().policy(keep(300));
    let mut messages = script("u*400");
    messages.extend(read("r1", "/a.rs", "the body of a"));
    messages.extend(script("u\"next\" a"));
    let (mut messages, _) = condensed(&messages, &settings, &FORCE);
    for _ in 0..3 {
        messages.extend(script("u*400 a*400 u\"next\" a"));
        let (after, report) = condensed(&messages, &settings, &FORCE);
        assert!(report.cut > 0, "{report}");
        assert_eq!(files_of(&after), [("/a.rs", "the body of a")]);
        digest_of(&after);
        messages = after;
    }
    messages.extend(script("u*400 a:edit(/a.rs) t u\"next\""));
    let (after, _) = condensed(&messages, &settings, &FORCE);
    assert_eq!(files_of(&after), []);
    assert_eq!(text_of(&after[after.len() - 1]), "next");
}
