//! Regression tests for the findings of `cargo xtask fuzz`, written by hand.

use serde_json::{Value, json};
use wb_dialect::{Dialect, repair, validate};
use wb_message::{Message, markers};
use wb_record::{Document, Item, MemoryParts, Note, Stamp, View};
use wb_testkit::laws::content as said;

use crate::support::{claude::lines, of_parts, open};

/// Keeps some messages after a digest, writes that, and returns the messages read back.
fn kept_behind_a_digest(document: &mut dyn Document, view: &View, kept: &[usize]) -> Vec<Message> {
    let digest = Message::user(format!("{}\nAll of it.", markers::DIGEST_HEADER));
    let items: Vec<Item<'_>> =
        [Item::New(&digest)].into_iter().chain(kept.iter().map(|at| Item::Same(*at))).collect();
    let set = document.render("", view, &items, &Stamp::default()).unwrap();
    document.commit(&set).unwrap();
    document.view("").unwrap().messages
}

/// Checks that exactly these messages follow a digest.
fn is_written_as_planned(bytes: Vec<u8>, kept: &[usize]) {
    let mut document = of_parts(MemoryParts::from_bytes(bytes));
    let view = document.view("").unwrap();
    let now = kept_behind_a_digest(document.as_mut(), &view, kept);
    let planned: Vec<Message> = kept.iter().map(|at| view.messages[*at].clone()).collect();
    assert_eq!(said(&now[1..]), said(&planned));
}

/// Repairs a session, checks that it is read again as planned and that a second repair changes
/// nothing, and returns it.
fn is_repaired_as_planned(bytes: Vec<u8>) -> Vec<Message> {
    let mut document = of_parts(MemoryParts::from_bytes(bytes));
    let view = document.view("").unwrap();
    let repaired = wb_formats::repair(document.as_ref(), "", &view, &Stamp::default()).unwrap();
    document.commit(&repaired.changes).unwrap();
    let now = document.view("").unwrap();
    assert_eq!(said(&now.messages), said(&repaired.messages));
    assert!(wb_formats::repair(document.as_ref(), "", &now, &Stamp::default()).unwrap().changes.is_empty());
    repaired.messages
}

/// Checks that the repair of a session of this format is refused, and why.
fn is_left(bytes: impl Into<Vec<u8>>, format: &str, why: &str) {
    let document = of_parts(MemoryParts::from_bytes(bytes.into()));
    assert_eq!(document.format().name(), format);
    let view = document.view("").unwrap();
    let error = wb_formats::repair(document.as_ref(), "", &view, &Stamp::default()).unwrap_err();
    assert!(error.to_string().contains(why), "{error}");
}

/// Returns a line of Claude Code, of a message of its own.
#[expect(clippy::needless_pass_by_value, reason = "each is made where it is given")]
fn claude_line(id: &str, parent: &str, role: &str, content: Value) -> Value {
    let message = json!({ "id": id, "role": role, "content": content });
    json!({ "type": role, "uuid": id, "parentUuid": parent, "isSidechain": false, "message": message })
}

fn gemini(messages: &[Value]) -> Vec<u8> {
    let header = json!({ "sessionId": "s", "projectHash": "p", "startTime": "2026-01-01T00:00:00.000Z" });
    [lines(&[header]), lines(messages)].concat()
}

fn gemini_user(id: &str, text: &str) -> Value {
    json!({ "id": id, "timestamp": "2026-01-01T00:00:01.000Z", "type": "user", "content": [{ "text": text }] })
}

#[test]
fn a_line_that_goes_on_behind_its_object_is_not_read() {
    let torn = format!("{}{}", gemini_user("u2", "two"), "]}\n").into_bytes();
    let bytes = [gemini(&[gemini_user("u1", "one")]), torn, lines(&[gemini_user("u3", "three")])].concat();
    let view = open(&bytes).unwrap();
    assert_eq!(view.messages.len(), 2);
    assert!(matches!(view.notes[..], [Note::UnreadableRecords { n: 1, line: 3 }]), "{:?}", view.notes);
    is_written_as_planned(bytes, &[1]);
}

#[test]
fn a_message_that_is_twice_in_a_list_is_written_twice() {
    let once = gemini_user("u1", "one");
    let list = json!({ "$set": { "messages": [once, once], "lastUpdated": "2026-01-01T00:00:02.000Z" } });
    is_written_as_planned(gemini(&[once, list, gemini_user("u2", "two")]), &[0, 1, 2]);
}

#[test]
fn a_result_whose_id_is_no_text_goes_alone() {
    let response = |id: Value| json!({ "type": "toolResponse", "id": id, "toolResult": { "status": "success", "value": [] } });
    let text = json!({ "type": "text", "text": "And hurry." });
    let line = |content: Value| json!({ "role": "user", "created": 1, "content": content });
    let bytes = lines(&[
        line(json!([{ "type": "text", "text": "Look." }])),
        line(json!([response(json!([])), text])),
    ]);
    is_written_as_planned(bytes, &[2]);
}

#[test]
fn a_second_result_does_not_come_back_when_its_call_is_folded() {
    let call = json!([{ "type": "tool_use", "id": "t1", "name": "Read", "input": {} }]);
    let result = json!({ "type": "tool_result", "tool_use_id": "t1", "content": "fn a() {}" });
    let both = json!([result, { "type": "text", "text": "and b.rs?" }]);
    let bytes = lines(&[
        claude_line("u1", "", "user", json!("look")),
        claude_line("a1", "u1", "assistant", call),
        claude_line("u2", "a1", "user", json!([result])),
        claude_line("u3", "u2", "user", both),
    ]);
    is_written_as_planned(bytes, &[3]);
}

#[test]
fn times_beyond_all_time_are_read() {
    let info = |id: &str, role: &str| json!({ "id": id, "role": role, "time": { "created": 1e300 }, "tokens": { "input": 5, "output": 1 } });
    let state = json!({ "status": "completed", "input": {}, "output": "a", "time": { "compacted": 1e300 } });
    let tool = json!([{ "id": "p1", "type": "tool", "tool": "ls", "callID": "c1", "state": state }]);
    let said = json!([{ "id": "p2", "type": "text", "text": "Look." }]);
    let messages = json!([
        { "info": info("m1", "user"), "parts": said },
        { "info": info("m2", "assistant"), "parts": tool },
        { "info": info("m3", "assistant"), "parts": said },
    ]);
    let export = json!({ "info": { "id": "s", "directory": "/w" }, "messages": messages });
    assert_eq!(open(export.to_string().as_bytes()).unwrap().messages.len(), 4);
    let text = json!([{ "type": "text", "text": "Look." }]);
    let line = json!({ "role": "user", "created": i64::MAX, "content": text });
    assert_eq!(open(&lines(&[line])).unwrap().messages.len(), 1);
}

#[test]
fn what_is_no_call_at_all_is_left_and_not_answered_again_and_again() {
    let model = json!({ "role": "model", "parts": [{ "functionCall": "a.rs" }] });
    let contents = json!([{ "role": "user", "parts": [{ "text": "Look." }] }, model]);
    let by_the_user =
        json!([{ "role": "user", "parts": [{ "functionCall": { "name": "ls", "id": "c1" } }] }]);
    let call = |id: &str| json!({ "functionCall": { "name": "ls", "args": {}, "id": id } });
    let result = |id: &str| json!({ "functionResponse": { "name": "ls", "response": {}, "id": id } });
    let twice_by_the_user = json!([
        { "role": "user", "parts": [{ "text": "Look." }] },
        { "parts": [call("c1"), { "text": "Both." }, call("c1"), call("c2")] },
        { "role": "user", "parts": [result("c1"), result("c2")] },
        { "role": "model", "parts": [{ "text": "Done." }] },
    ]);
    let in_a_list = json!([{ "role": "assistant", "content": null, "tool_calls": [[{}]] }]);
    for (dialect, key, messages) in [
        (Dialect::Gemini, "contents", contents),
        (Dialect::Gemini, "contents", by_the_user),
        (Dialect::Gemini, "contents", twice_by_the_user),
        (Dialect::OpenaiChat, "messages", in_a_list),
    ] {
        let mut body = json!({ key: messages });
        let n_before = validate(&body, dialect).len();
        repair(&mut body, dialect);
        let once = body.clone();
        assert_eq!((repair(&mut body, dialect), &body), (Vec::new(), &once));
        assert!(validate(&body, dialect).len() <= n_before);
    }
}

#[test]
fn of_two_calls_with_one_id_in_one_message_each_gets_its_own_and_is_answered() {
    let call = |id: &str, name: &str| json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
    let calls = json!([call("t1", "Read"), call("t2", "Read"), call("t1", "Read"), call("t2", "Grep")]);
    let result = json!([{ "type": "tool_result", "tool_use_id": "t1", "content": "fn a() {}" }]);
    let bytes = lines(&[
        claude_line("u1", "", "user", json!("look")),
        claude_line("a1", "u1", "assistant", calls),
        claude_line("u2", "a1", "user", result),
    ]);
    let repaired = is_repaired_as_planned(bytes);
    assert!(repaired.iter().flat_map(Message::answered_ids).eq(["t1", "t2", "t1_2", "t2_2"]), "{repaired:?}");
    let line = |payload: Value| json!({ "timestamp": "2026-03-01T09:00:01Z", "type": "response_item", "payload": payload });
    let call = line(json!({ "type": "function_call", "name": "ls", "arguments": "{}", "call_id": "c1" }));
    let repaired = is_repaired_as_planned(lines(&[call.clone(), call]));
    let ids = repaired.iter().flat_map(Message::calls).map(|(id, ..)| id);
    assert!(ids.eq(["c1", "c1_2"]), "the host answers both: {repaired:?}");
}

#[test]
fn a_result_before_the_line_with_its_call_joins_the_others_of_its_answer() {
    let line = |id: &str, parent: Value, role: &str, content: Value| {
        let message = json!({ "id": "msg_1", "role": role, "content": content });
        json!({ "type": role, "uuid": id, "parentUuid": parent, "isSidechain": false, "message": message })
    };
    let call = |id: &str| json!([{ "type": "tool_use", "id": id, "name": "Read", "input": {} }]);
    let result = json!({ "type": "tool_result", "tool_use_id": "t2", "content": "fn a() {}" });
    let bytes = lines(&[
        claude_line("u1", "", "user", json!([result, { "type": "text", "text": "look" }])),
        line("a1", json!("u1"), "assistant", call("t1")),
        line("u2", json!("a1"), "user", json!([result])),
        line("a2", json!("u2"), "assistant", call("t2")),
    ]);
    let Message::ToolResult { tool_name, .. } = &open(&bytes).unwrap().messages[3] else {
        panic!("no result")
    };
    assert_eq!(tool_name, "Read");
    let repaired = is_repaired_as_planned(bytes);
    assert_eq!(repaired.iter().flat_map(Message::answered_ids).collect::<Vec<_>>(), ["t2", "t1"]);
}

#[test]
fn what_stays_is_not_kept_behind_a_copied_attachment_which_does_not_end_a_session() {
    let line = |id: &str, parent: &str, kind: &str, field: &str, value: Value| json!({ "type": kind, "uuid": id, "parentUuid": parent, "isSidechain": false, field: value });
    let by = |role: &str, content: Value| json!({ "id": "msg_1", "role": role, "content": content });
    let memory = || {
        let memory =
            json!({ "type": "nested_memory", "path": "CLAUDE.md", "content": "write short sentences" });
        line("x1", "u1", "attachment", "attachment", memory)
    };
    let orphan = json!({ "type": "tool_result", "tool_use_id": "t1", "content": "fn a() {}" });
    let look = json!([orphan, { "type": "text", "text": "look" }]);
    let look = line("u1", "", "user", "message", by("user", look));
    let says = |id, parent, kind, text: &str| line(id, parent, kind, "message", by(kind, json!(text)));
    let mut failed = says("a1", "x1", "assistant", "API Error");
    failed["isApiErrorMessage"] = true.into();
    let goes_on = [says("u2", "x1", "user", "and hurry"), memory(), says("a1", "u2", "assistant", "Seen.")];
    for (behind, n_messages) in [(&goes_on[..], 5), (&[failed, memory()], 3)] {
        let bytes = lines(&[&[look.clone(), memory()], behind].concat());
        let before = open(&bytes).unwrap().messages;
        assert_eq!((before.len(), said(&before[1..])), (n_messages, said(&is_repaired_as_planned(bytes))));
    }
}

#[test]
fn a_session_that_is_only_read_is_not_repaired_by_leaving_records_out() {
    let line = |id: &str, role: &str, content: Value| {
        let message = json!({ "role": role, "content": content });
        json!({ "type": "message", "id": id, "message": message })
    };
    let call = json!([{ "type": "tool_use", "id": "t1", "name": "Read", "input": {} }]);
    let result = || json!([{ "type": "tool_result", "tool_use_id": "t1", "content": "fn a() {}" }]);
    let bytes = lines(&[
        json!({ "type": "session_start", "id": "d", "version": "0.81.0" }),
        line("m1", "user", json!("look")),
        line("m2", "assistant", call),
        line("m3", "user", result()),
        line("m4", "user", result()),
        line("m5", "assistant", json!([{ "type": "text", "text": "Seen." }])),
    ]);
    is_left(bytes, "droid", "the format droid cannot hold it: ");
}

#[test]
fn answers_to_calls_without_ids_are_read_in_the_order_of_their_calls() {
    let call = |name: &str| json!({ "functionCall": { "name": name, "args": {} } });
    let result =
        |name: &str| json!({ "functionResponse": { "name": name, "response": { "output": "a.rs" } } });
    let text = || json!({ "text": "And hurry." });
    let of = |role: &str, parts: Value| json!({ "role": role, "parts": parts });
    let both = || of("model", json!([call("ls"), call("ls")]));
    let first = || of("user", json!([text()]));
    let done = || of("model", json!([{ "text": "Done." }]));
    for contents in [
        json!([first(), both(), of("user", json!([result("ls"), text()]))]),
        json!([first(), both(), of("user", json!([text(), result("ls")])), done(), first()]),
        json!([
            first(),
            of("model", json!([call("ls"), call("cat"), call("ls"), call("cat")])),
            of("user", json!([result("cat"), result("ls"), text()]))
        ]),
        json!([first(), both(), of("user", json!([text()])), done(), of("user", json!([result("ls")]))]),
        json!([
            first(),
            of("model", json!([call("ls")])),
            first(),
            of("model", json!([call("ls")])),
            of("user", json!([result("ls"), text()])),
            done()
        ]),
    ] {
        let mut document = of_parts(MemoryParts::from_bytes(contents.to_string().into_bytes()));
        assert_eq!(document.format().name(), "gemini-contents");
        let view = document.view("").unwrap();
        let repaired = wb_formats::repair(document.as_ref(), "", &view, &Stamp::default()).unwrap();
        assert!(!repaired.changes.is_empty(), "{contents}");
        document.commit(&repaired.changes).unwrap();
        let now = document.view("").unwrap();
        assert_eq!(said(&now.messages), said(&repaired.messages), "{contents}");
        assert!(
            wb_formats::repair(document.as_ref(), "", &now, &Stamp::default()).unwrap().changes.is_empty(),
            "{contents}"
        );
        document.commit(&repaired.changes.inverse()).unwrap();
        assert_eq!(document.parts().whole("").unwrap(), contents.to_string().into_bytes());
    }
}

#[test]
fn a_call_of_a_step_inside_which_the_user_speaks_is_left_unanswered_by_name() {
    let event = |event: Value| json!({ "type": "context.append_loop_event", "event": event });
    let said = |text: &str| json!({ "type": "context.append_message", "message": { "role": "user", "content": [{ "type": "text", "text": text }] } });
    let part = json!({ "type": "content.part", "uuid": "p", "stepUuid": "s", "part": { "type": "text", "text": "Now." } });
    let call = json!({ "type": "tool.call", "uuid": "t", "stepUuid": "s", "toolCallId": "Read_1", "name": "Read", "args": {} });
    let step = [
        json!({ "type": "metadata", "protocol_version": "1.4" }),
        said("look"),
        event(json!({ "type": "step.begin", "uuid": "s", "turnId": "0", "step": 1 })),
        event(part),
        said("and hurry"),
        event(call),
    ];
    let undone = [json!({ "type": "context.undo", "count": 1 }), said("slowly")];
    for (behind, why) in
        [(&[][..], "inside which another message stands"), (&undone, "inside which a message was taken back")]
    {
        is_left([lines(&step), lines(behind)].concat(), "kimi-code", why);
    }
}

#[test]
fn a_summary_of_codex_that_is_no_text_is_not_written_anew() {
    let line = |kind: &str, payload: Value| json!({ "timestamp": "2026-03-01T09:00:01Z", "type": kind, "payload": payload });
    let call = json!({ "type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1" });
    let session = lines(&[
        line("session_meta", json!({ "id": "s" })),
        line("compacted", json!({ "message": {} })),
        line("response_item", json!({ "type": "function_call_output", "call_id": "c1", "output": "a.rs" })),
        line("response_item", call),
    ]);
    is_left(session, "codex", "a summary of the host without a text");
}

#[test]
fn a_compression_of_qwen_code_repeats_a_version_that_is_no_text() {
    let message = json!({ "role": "model", "parts": [{ "text": "Seen." }] });
    let bytes = lines(&[
        json!({ "uuid": "a1", "parentUuid": null, "sessionId": "s", "type": "assistant", "message": message, "version": { "of": {} } }),
    ]);
    assert_eq!(open(&bytes).unwrap().format, "qwen-code");
    assert_eq!(is_repaired_as_planned(bytes).len(), 2);
}

#[test]
fn calls_without_ids_get_none() {
    let line = |role: &str, content: Value| json!({ "role": role, "created": 1, "content": [content] });
    let call = || {
        let call = json!({ "status": "success", "value": { "name": "ls", "arguments": {} } });
        line("assistant", json!({ "type": "toolRequest", "id": null, "toolCall": call }))
    };
    let look = || line("user", json!({ "type": "text", "text": "Look." }));
    let bytes = lines(&[look(), call(), look(), call()]);
    assert_eq!(open(&bytes).unwrap().format, "goose");
    let repaired = is_repaired_as_planned(bytes);
    assert_eq!(repaired.iter().flat_map(Message::answered_ids).collect::<Vec<_>>(), ["", ""]);
}

#[test]
fn a_line_with_two_messages_says_nothing() {
    let line = |id: &str, parent: &str, role: &str, content: Value| {
        let message = json!({ "id": "msg_1", "role": role, "content": content });
        json!({ "type": role, "uuid": id, "parentUuid": parent, "isSidechain": false, "message": message })
    };
    let call = json!([{ "type": "tool_use", "id": "t1", "name": "Read", "input": {} }]);
    let once = line("a2", "a1", "assistant", json!([])).to_string();
    let twice = format!("{},\"message\":{{}}}}\n", once.strip_suffix('}').unwrap());
    let bytes = lines(&[line("u1", "", "user", json!("look")), line("a1", "u1", "assistant", call)]);
    let repaired = is_repaired_as_planned([bytes, twice.into_bytes()].concat());
    assert_eq!(repaired.len(), 3);
}

#[test]
fn an_answer_is_in_a_line_of_its_own_before_an_indented_one() {
    let line = |role: &str, content: Value| json!({ "role": role, "created": 1, "content": [content] });
    let call = json!({ "status": "success", "value": { "name": "ls", "arguments": {} } });
    let call = line("assistant", json!({ "type": "toolRequest", "id": "c1", "toolCall": call }));
    let look = || line("user", json!({ "type": "text", "text": "Look." }));
    let bytes = [lines(&[look(), call]), b"  ".to_vec(), lines(&[look()])].concat();
    assert_eq!(open(&bytes).unwrap().format, "goose");
    assert_eq!(is_repaired_as_planned(bytes).len(), 4);
}

#[test]
fn a_call_of_openhands_before_a_summary_is_left_unanswered_by_name() {
    let event = |id: u64, source: &str, action: &str, args: Value| json!({ "id": id, "timestamp": "2026-01-02T03:04:00", "source": source, "message": "", "action": action, "args": args });
    let mut run = event(1, "agent", "run", json!({ "command": "ls" }));
    let call =
        json!({ "id": "c1", "type": "function", "function": { "name": "execute_bash", "arguments": "{}" } });
    let answer = json!({ "message": { "role": "assistant", "content": "", "tool_calls": [call] } });
    let response = json!({ "id": "r1", "model": "m", "choices": [answer] });
    run["tool_call_metadata"] = json!({ "function_name": "execute_bash", "tool_call_id": "c1", "model_response": response, "total_calls_in_response": 1 });
    let condensation = json!({ "forgotten_event_ids": [], "summary": "Listed.", "summary_offset": 2 });
    let events = json!([
        event(0, "user", "message", json!({ "content": "Look." })),
        run,
        event(2, "agent", "condensation", condensation),
        event(3, "user", "message", json!({ "content": "Go on." })),
    ]);
    is_left(events.to_string(), "openhands-events", "a new result before a summary");
}

#[test]
fn of_calls_with_one_id_many_times_over_each_gets_one_of_its_own() {
    let line = |role: &str, content: Value| json!({ "role": role, "created": 1, "content": content });
    let call = json!({ "status": "success", "value": { "name": "ls", "arguments": {} } });
    let call = json!({ "type": "toolRequest", "id": "c1", "toolCall": call });
    let result = |text: &str| json!({ "type": "toolResponse", "id": "c1", "toolResult": { "status": "success", "value": [{ "type": "text", "text": text }] } });
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    let bytes = lines(&[
        line("user", text("Look.")),
        line("assistant", json!([call, call, call])),
        line("user", json!([result("one"), result("two")])),
        line("user", text("And hurry.")),
        line("assistant", json!([call])),
        line("user", json!([result("four"), result("three"), result("none")])),
        line("assistant", text("Seen.")),
    ]);
    let repaired = is_repaired_as_planned(bytes);
    let ids = |message: &Message| message.calls().map(|(id, ..)| id.to_owned()).collect::<Vec<_>>();
    assert_eq!(repaired.iter().flat_map(ids).collect::<Vec<_>>(), ["c1", "c1_2", "c1_3", "c1_4"]);
    let answered: Vec<&str> = repaired.iter().flat_map(Message::answered_ids).collect();
    assert_eq!(answered, ["c1", "c1_2", "c1_3", "c1_4"], "the third result moves to its call");
}

#[test]
fn of_two_answers_with_one_id_each_has_its_result_when_the_one_between_them_goes() {
    let call = || json!({ "role": "assistant", "content": "", "tool_calls": [{ "id": "c2", "type": "function", "function": { "name": "ls", "arguments": "{}" } }] });
    let result = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "a.rs" });
    let user = json!({ "role": "user", "content": "Look." });

    let messages = json!([user, call(), result("c1"), call(), result("c2"), user, result("c2")]);
    let repaired =
        is_repaired_as_planned(json!({ "model": "m", "messages": messages }).to_string().into_bytes());
    assert_eq!(repaired[2..5].iter().flat_map(Message::answered_ids).collect::<Vec<_>>(), ["c2", "c2"]);
}

#[test]
fn an_answer_between_replies_in_a_row_parts_none_from_its_results() {
    let line = |role: &str, content: Value| json!({ "role": role, "created": 1, "content": [content] });
    let call = |id: &str| json!({ "type": "toolRequest", "id": id, "toolCall": { "status": "success", "value": { "name": "ls" } } });
    let result =
        json!({ "type": "toolResponse", "id": "c1", "toolResult": { "status": "success", "value": [] } });
    let look = line("user", json!({ "type": "text", "text": "Look." }));
    let calls = ["c1", "c2"].map(|id| line("assistant", call(id)));
    let repaired = is_repaired_as_planned(lines(&[&[look], &calls[..], &[line("user", result)]].concat()));
    assert_eq!(repaired.iter().flat_map(Message::answered_ids).collect::<Vec<_>>(), ["c1", "c2"]);
}

#[test]
fn a_call_without_an_id_and_a_name_is_left_unanswered_by_name() {
    let call = |call: Value| json!({ "functionCall": call });
    let result = json!({ "functionResponse": { "name": "ls", "response": { "output": "one" } } });
    let of = |role: &str, parts: Value| json!({ "role": role, "parts": parts });
    let contents = json!([
        of("user", json!([{ "text": "Look twice." }])),
        of("model", json!([call(json!({ "name": "ls", "args": {} })), call(json!({ "text": "Go on." }))])),
        of("user", json!([result, result])),
    ]);
    is_left(contents.to_string(), "gemini-contents", "a new result of a call without an id and a name");
}

#[test]
fn an_answer_at_the_end_of_lines_that_name_none_before_them_parts_none() {
    let line = |id: &str, role: &str, content: Value| {
        let message = json!({ "id": "msg_1", "role": role, "content": content });
        json!({ "type": role, "uuid": id, "isSidechain": false, "message": message })
    };
    let call = json!([{ "type": "tool_use", "id": "t1", "name": "Read", "input": {} }]);
    let bytes = lines(&[line("u1", "user", json!("look")), line("a1", "assistant", call)]);
    assert_eq!(is_repaired_as_planned(bytes).len(), 3);
}

#[test]
fn a_message_that_follows_a_later_one_is_left_there_by_name() {
    let answer = |id: &str, text: &str| json!({ "id": id, "timestamp": "2026-01-01T00:00:02.000Z", "type": "gemini", "content": text });
    let mut call = answer("g2", "Two.");
    call["toolCalls"] = json!([{ "id": "c1", "name": "ls", "args": {}, "status": "success" }]);
    let object = json!({
        "sessionId": "s", "projectHash": "p", "startTime": "2026-01-01T00:00:00.000Z",
        "messages": [answer("g1", "One."), call, answer("g1", "One again."), gemini_user("u1", "And then?")],
    });
    is_left(object.to_string(), "gemini-cli", "a message that stands behind a later one");
}

#[test]
fn adjacent_contents_of_one_side_stay_apart_behind_a_digest() {
    let of = |role: &str, text: &str| json!({ "role": role, "parts": [{ "text": text }] });
    let contents =
        json!([of("user", "Look."), of("model", "Done."), of("user", "Well?"), of("user", "Go on.")]);
    is_written_as_planned(contents.to_string().into_bytes(), &[2, 3]);
}

#[test]
fn a_repair_is_for_the_model_that_readable_lines_name() {
    let line = |kind: &str, data: Value| json!({ "type": kind, "data": data, "id": kind, "timestamp": "2026-01-01T00:00:00.000Z", "parentId": null });
    let start = line(
        "session.start",
        json!({ "sessionId": "s", "version": 1, "producer": "copilot-agent", "selectedModel": "gpt-x" }),
    );
    let answer =
        json!({ "messageId": "m1", "model": "claude-x", "content": "Both of them.", "toolRequests": [] });
    let answer = line("assistant.message", answer).to_string().replace("Both of", "Both\nof");
    let asked = line("user.message", json!({ "content": "Go on.", "attachments": [] }));
    let repaired = is_repaired_as_planned(format!("{start}\n{answer}\n{asked}\n").into_bytes());
    assert!(
        matches!(repaired[..], [Message::User { .. }, Message::Assistant { .. }, Message::User { .. }]),
        "{repaired:?}"
    );
}
