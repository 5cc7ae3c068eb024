//! Edits written into composed sessions of Claude Code.

use std::sync::Arc;

use insta::assert_snapshot;
use serde_json::{Value, json};
use wb_budget::{TokenCounter, TokenHeuristic, WeighedTranscript};
use wb_message::outline::outline;
use wb_message::{Block, Message, markers};
use wb_passes::{Goal, ImagePolicy, Images, Pass};
use wb_record::{Document, Item, NotExpressible, Note, View, items};

use crate::support::claude::{appended, digest, lines, open, write};
use crate::support::fixture;
use crate::writing::laws::said;

fn opened(name: &str) -> (Box<dyn Document>, View) {
    let document = open(fixture(name));
    let view = document.view("").unwrap();
    (document, view)
}

/// Writes items, and returns the new lines and the view after.
fn written(name: &str, items: &[Item<'_>]) -> (Vec<Value>, View) {
    let (mut document, view) = opened(name);
    let set = write(document.as_ref(), &view, items).unwrap();
    assert_eq!(set, write(document.as_ref(), &view, items).unwrap());
    document.commit(&set).unwrap();
    (appended(&set), document.view("").unwrap())
}

fn same<'a>(range: std::ops::Range<usize>) -> impl Iterator<Item = Item<'a>> {
    range.map(Item::Same)
}

fn kept_ids(lines: &[Value]) -> Value {
    lines[0]["compactMetadata"]["preservedMessages"]["uuids"].clone()
}

#[test]
fn odd_lines_and_blocks_hide_nothing_else() {
    let view = opened("claude-code/odd.jsonl").1;
    let notes: Vec<String> = view.notes.iter().map(ToString::to_string).collect();
    assert_snapshot!(format!("{}{}", outline(&view.messages), notes.join("\n")));
    assert_eq!(view.messages[1].blocks()[0], Block::redacted_thinking("b3BhcXVl"));
    let Block::ToolCall { input, .. } = &view.messages[3].blocks()[0] else { panic!("no call") };
    assert!(input.as_str().unwrap().starts_with("{\"path\":[[["));
    assert_eq!(view.messages[4].blocks()[1], Block::text(r#"{"type":"sound","hz":440}"#));
}

#[test]
fn what_a_compaction_kept_goes_before_what_hangs_below_it() {
    assert_snapshot!(outline(&opened("claude-code/kept.jsonl").1.messages));
}

/// The host loses all that was kept for one line that is not there.
#[test]
fn one_kept_line_that_is_missing_loses_them_all() {
    let text = String::from_utf8(fixture("claude-code/kept.jsonl").to_vec()).unwrap();
    let lost = text.replace("\"uuids\":[\"a2\"", "\"uuids\":[\"gone\"");
    let end = lost.find("{\"type\":\"last-prompt\"").unwrap();
    let view = open(&lost[..end]).view("").unwrap();
    assert_eq!(view.messages.len(), 1);
}

#[test]
fn what_stays_is_kept_by_reference_with_what_only_the_host_understands() {
    let digest = digest("# Goal\nShip.");
    let items: Vec<Item<'_>> = [Item::New(&digest)].into_iter().chain(same(1..8)).collect();
    let (lines, view) = written("claude-code/kept.jsonl", &items);
    assert_eq!(lines.len(), 2);
    assert_eq!(kept_ids(&lines), json!(["a2", "a3", "a4", "r1", "x1", "r2", "a5", "u3", "a6"]));
    assert_eq!(lines[0]["logicalParentUuid"], "a6");
    assert_eq!((&lines[1]["cwd"], &lines[1]["sessionId"]), (&json!("/home/dev/app"), &json!("s")));
    assert_eq!(markers::digest_body(&view.messages[0]).unwrap(), "# Goal\nShip.");
    let Message::CompactionSummary { tokens_before, .. } = view.messages[0] else { panic!("no digest") };
    assert_eq!(tokens_before, 27_060);
}

#[test]
fn another_body_copies_the_whole_pair_and_all_before_it() {
    let digest = digest("# Goal\nShip.");
    let short = Item::Body(2, vec![Block::text("short")].into());
    let items: Vec<Item<'_>> =
        [Item::New(&digest), Item::Same(1), short].into_iter().chain(same(3..8)).collect();
    let (lines, view) = written("claude-code/kept.jsonl", &items);
    // The text is in the line of the second result, which belongs to the pair.
    assert_eq!(lines.len(), 2 + 5);
    assert_eq!(kept_ids(&lines), json!(["a5", "u3", "a6"]));
    assert_eq!(lines[0]["compactMetadata"]["preservedMessages"]["anchorUuid"], lines[6]["uuid"]);
    let answer = &lines[2]["message"];
    assert_eq!(answer["content"], json!([{"type":"thinking","thinking":"both at once","signature":"c2ln"}]));
    assert_eq!((&answer["id"], &answer["usage"]["input_tokens"]), (&lines[3]["message"]["id"], &json!(0)));
    assert_ne!(answer["id"], "m2");
    assert_eq!((lines[2].get("requestId"), lines[5].get("toolUseResult")), (None, None));
    let result = json!({"type":"tool_result","tool_use_id":"t1","content":"short","is_error":false,"cache_control":{"type":"ephemeral"}});
    assert_eq!(lines[5]["message"]["content"], json!([result]));
    assert_eq!(lines[5]["sourceToolAssistantUUID"], lines[3]["uuid"]);
    assert_eq!(lines[6]["toolUseResult"], json!({"stderr": "2 warnings"}));
    assert_snapshot!(outline(&view.messages));
}

#[test]
fn a_line_of_which_a_part_stays_is_copied_with_that_part() {
    let digest = digest("# Goal\nShip.");
    let items: Vec<Item<'_>> = [Item::New(&digest)].into_iter().chain(same(4..8)).collect();
    let (lines, view) = written("claude-code/kept.jsonl", &items);
    assert_eq!(lines[2]["message"]["content"], json!([{"type":"text","text":"never mind the warnings"}]));
    assert_eq!(
        (lines.len(), lines[2].get("toolUseResult"), kept_ids(&lines)),
        (3, None, json!(["a5", "u3", "a6"]))
    );
    assert_eq!(view.messages.len(), 5);
}

#[test]
fn blocks_that_stay_in_another_body_keep_their_bytes() {
    let (_, view) = opened("claude-code/odd.jsonl");
    let mut body = view.messages[0].blocks().to_vec();
    body[1] = Block::text("read");
    let items: Vec<Item<'_>> = [Item::Body(0, body.into())].into_iter().chain(same(1..7)).collect();
    let (lines, after) = written("claude-code/odd.jsonl", &items);
    let source = json!({"type":"base64","media_type":"application/pdf","data":"aGk="});
    let document = json!({"type":"document","title":"plan","source":source});
    assert_eq!(lines[1]["message"]["content"], json!([document, {"type":"text","text":"read"}]));
    assert_eq!(said(&after.messages)[1..], said(&view.messages)[1..]);
}

#[test]
fn a_result_that_the_host_has_cleared_is_not_revived() {
    let (_, view) = opened("claude-code/microcompact.jsonl");
    assert!(view.provenance.is_altered(2) && !view.provenance.is_altered(3));
    let digest = digest("# Goal\nRead.");
    let items: Vec<Item<'_>> = [Item::New(&digest)].into_iter().chain(same(1..5)).collect();
    let (lines, after) = written("claude-code/microcompact.jsonl", &items);
    assert_eq!(lines[3]["message"]["content"][0]["content"], markers::CLEARED_TOOL_RESULT);
    assert_eq!((lines.len(), kept_ids(&lines)), (5, json!(["a2"])));
    assert_eq!(said(&after.messages)[1..], said(&view.messages)[1..]);
}

#[test]
fn an_undo_keeps_the_old_lines_and_nothing_of_ours() {
    let (document, view) = opened("claude-code/kept.jsonl");
    let places: Vec<_> = ["u1", "a1", "u2"].into_iter().map(|id| place(document.as_ref(), id)).collect();
    let old = places.into_iter().map(Item::Old);
    let items: Vec<Item<'_>> = old.chain(same(1..view.messages.len())).collect();
    let (lines, after) = written("claude-code/kept.jsonl", &items);
    assert_eq!((lines.len(), &kept_ids(&lines)[0], &kept_ids(&lines)[3]), (1, &json!("u1"), &json!("a2")));
    assert_eq!(lines[0]["compactMetadata"]["preservedMessages"]["anchorUuid"], lines[0]["uuid"]);
    assert_eq!(said(&after.messages)[3..], said(&view.messages)[1..]);
    assert!(after.notes.is_empty());
}

/// Returns the position of the line with an id.
fn place(document: &dyn Document, id: &str) -> wb_record::Span {
    let text = String::from_utf8(document.parts().whole("").unwrap()).unwrap();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.contains(&format!("\"uuid\":\"{id}\"")) {
            return wb_record::Span { at, len: line.len() as u64 - 1, ..Default::default() };
        }
        at += line.len() as u64;
    }
    panic!("no {id}")
}

#[test]
fn results_are_cleared_and_middles_folded_by_copies_below_a_compaction_without_a_digest() {
    let (_, view) = opened("claude-code/split.jsonl");
    let (digest, n) = (digest("# Goal\nCompare."), view.messages.len());
    let cleared = Item::Body(2, markers::cleared_body().into());
    let clears: Vec<Item<'_>> = same(0..2).chain([cleared]).chain(same(3..n)).collect();
    let folds: Vec<Item<'_>> = same(0..4).chain([Item::New(&digest)]).chain(same(7..n)).collect();
    let (lines, after) = written("claude-code/split.jsonl", &clears);
    assert!(markers::is_cleared(after.messages[2].blocks()));
    assert_eq!(
        (lines.iter().filter(|line| line["isCompactSummary"] == true).count(), after.messages.len()),
        (0, n)
    );
    let (lines, after) = written("claude-code/split.jsonl", &folds);
    assert_eq!(
        (after.messages.len(), markers::digest_body(&after.messages[4]).as_deref()),
        (n - 2, Some("# Goal\nCompare."))
    );
    assert_eq!(said(&after.messages)[5..], said(&view.messages)[7..]);
    assert_eq!(kept_ids(&lines), json!(["u5", "a5", "u7", "a6"]));
}

#[test]
fn messages_of_ours_are_lines_of_their_own() {
    let digest = Message::CompactionSummary { summary: "# Goal\nShip.".to_owned(), tokens_before: 0 };
    let new = [
        digest,
        Message::user("[Restored file after compaction] a.rs\nfn a() {}"),
        Message::assistant_blocks(vec![
            Block::text("x"),
            Block::call("c", "Read", json!({"file_path": "a"})),
        ]),
        Message::tool_error("c", "Read", "gone"),
        Message::custom("meta", "a caveat"),
    ];
    let items: Vec<Item<'_>> = new.iter().map(Item::New).chain(same(7..8)).collect();
    let (lines, view) = written("claude-code/kept.jsonl", &items);
    assert_eq!((lines.len(), kept_ids(&lines)), (6, json!(["a6"])));
    assert!(lines.windows(2).all(|pair| pair[1]["parentUuid"] == pair[0]["uuid"]));
    assert_eq!(said(&view.messages)[..5], said(&new));
}

#[test]
fn what_cannot_be_said_is_refused_by_name() {
    let refused = |name: &str, item: Item<'_>| {
        let (document, view) = opened(name);
        write(document.as_ref(), &view, &[item, Item::Same(1)]).unwrap_err().to_string()
    };
    let body = || Item::Body(5, vec![Block::text("x")].into());
    assert!(refused("claude-code/kept.jsonl", body()).ends_with("another body for an answer of the model"));
    assert!(refused("claude-code/odd.jsonl", body()).ends_with("another body for an attachment"));
    assert!(refused("claude-code/odd.jsonl", Item::Same(99)).contains("messages that are not there"));
    let shell = Message::bash("ls", "", None);
    assert!(refused("claude-code/kept.jsonl", Item::New(&shell)).contains("a shell command"));
    assert!(refused("claude-code/unlinked.json", Item::Same(0)).ends_with("a web export is read only"));
    let gone = Item::Old(wb_record::Span { at: 1, len: 2, ..Default::default() });
    let (document, view) = opened("claude-code/kept.jsonl");
    assert!(matches!(write(document.as_ref(), &view, &[gone]), Err(NotExpressible::Unreadable(_))));
    assert!(write(document.as_ref(), &view, &[]).is_err());
    let other = opened("claude-code/split.jsonl").1;
    assert!(write(document.as_ref(), &other, &[Item::Same(1)]).is_err());
}

#[test]
fn an_image_of_an_older_result_goes_and_the_text_next_to_it_stays() {
    let image =
        json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "aGk=" } });
    let line = |id: &str, parent: Value, role: &str, content: Value| {
        let message = json!({ "id": id, "role": role, "content": content });
        json!({ "type": role, "uuid": id, "parentUuid": parent, "isSidechain": false, "message": message })
    };
    let call = json!([{ "type": "tool_use", "id": "t1", "name": "Read", "input": { "file_path": "a.png" } }]);
    let seen = json!([{ "type": "text", "text": "two pixels" }, image]);
    let result = json!([{ "type": "tool_result", "tool_use_id": "t1", "content": seen }]);
    let shown = json!([{ "type": "text", "text": "Now like here." }, image]);
    let mut document = open(lines(&[
        line("u1", Value::Null, "user", json!("look")),
        line("a1", json!("u1"), "assistant", call),
        line("u2", json!("a1"), "user", result),
        line("u3", json!("u2"), "user", shown),
    ]));
    let view = document.view("").unwrap();
    let counter: Arc<dyn TokenCounter> = Arc::new(TokenHeuristic::DEFAULT);
    let weighed = WeighedTranscript::new(&view.messages, &counter);
    let patch = Images { policy: ImagePolicy::Marker }.plan(&weighed, Goal::target(0)).unwrap();
    let set = write(document.as_ref(), &view, &items(&patch, view.messages.len())).unwrap();
    document.commit(&set).unwrap();
    let new = appended(&set);
    let results: Vec<&Value> = new
        .iter()
        .map(|line| &line["message"]["content"][0])
        .filter(|it| it["type"] == "tool_result")
        .collect();
    assert_eq!(results.len(), 1);
    assert_eq!(results[0]["tool_use_id"], "t1");
    assert_eq!(results[0]["content"], format!("two pixels\n{}", markers::REMOVED_IMAGE));
    let after = document.view("").unwrap().messages;
    assert_eq!(after.len(), view.messages.len());
    assert_eq!(after[3], view.messages[3], "what the user showed stays");
    document.commit(&set.inverse()).unwrap();
    assert_eq!(document.view("").unwrap().messages, view.messages);
}

#[test]
fn what_is_appended_to_a_line_that_was_cut_off_begins_a_line() {
    let digest = digest("# Goal\nStart.");
    let (mut document, view) = opened("claude-code/truncated.jsonl");
    let set = write(document.as_ref(), &view, &[Item::New(&digest), Item::Same(0)]).unwrap();
    document.commit(&set).unwrap();
    let after = document.view("").unwrap();
    assert_eq!(after.messages.len(), 2);
    assert_eq!(after.notes[0].to_string(), "unreadable lines left as they are: 1, the first is line 2");
}

#[test]
fn a_line_that_a_compaction_keeps_twice_has_its_first_position() {
    let line = |id: &str, parent: Value, role: &str, text: &str| {
        let message = json!({ "id": "msg_1", "role": role, "content": text });
        json!({ "type": role, "uuid": id, "parentUuid": parent, "isSidechain": false, "message": message })
    };
    let kept = json!({ "anchorUuid": "b1", "uuids": ["u1", "a1", "u1"] });
    let boundary = json!({ "type": "system", "subtype": "compact_boundary", "uuid": "b1", "parentUuid": null,
        "compactMetadata": { "trigger": "auto", "preTokens": 9, "preservedMessages": kept } });
    let mut document = open(lines(&[
        line("u1", Value::Null, "user", "look"),
        line("a1", json!("u1"), "assistant", "Seen."),
        boundary,
        line("u2", json!("b1"), "user", "go on"),
    ]));
    let new = Message::user("and hurry");
    let view = document.view("").unwrap();
    let set =
        write(document.as_ref(), &view, &[Item::Same(0), Item::Same(1), Item::New(&new), Item::Same(2)]);
    document.commit(&set.unwrap()).unwrap();
    assert_snapshot!(outline(&document.view("").unwrap().messages), @r#"
       0 user      "look"
       1 assistant "Seen."
       2 user      "and hurry"
       3 user      "go on"
    "#);
}

#[test]
fn a_refusal_is_one_only_if_the_host_records_it() {
    let said = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nyes";
    let file = |tool: &str, mark: &str| {
        let call = format!(
            r#"{{"type":"assistant","uuid":"a","parentUuid":null,"message":{{"id":"m","content":[{{"type":"tool_use","id":"t","name":"{tool}","input":{{}}}}]}}}}"#
        );
        let result = serde_json::json!([{ "type": "tool_result", "tool_use_id": "t", "content": said, "is_error": true }]);
        format!(
            "{call}\n{{\"type\":\"user\",\"uuid\":\"b\",\"parentUuid\":\"a\"{mark},\"message\":{{\"role\":\"user\",\"content\":{result}}}}}\n"
        )
    };
    let with_words = format!(r#","toolUseResult":"Error: {}""#, said.replace('\n', "\\n"));
    let of_version = |version: &str| format!(r#"{with_words},"version":"{version}""#);
    for (tool, mark, expected) in [
        ("Bash", "", false),
        ("Bash", r#","toolUseResult":"Error: User rejected tool use""#, false),
        ("Bash", r#","toolUseResult":"User rejected tool use""#, true),
        ("Edit", &with_words, true),
        ("Bash", &with_words, false),
        ("Bash", &of_version("2.0.5"), false),
        ("Bash", &of_version("2.1.12"), true),
        ("mcp__notes__add", &of_version("2.1.12"), false),
        ("mcp__notes__add", r#","toolDenialKind":"user-rejected""#, true),
        ("Bash", r#","toolDenialKind":"hook""#, false),
    ] {
        let view = wb_formats::read(&mut file(tool, mark).as_bytes()).unwrap();
        let found = view
            .messages
            .iter()
            .any(|it| matches!(it, wb_message::Message::ToolResult { is_refusal: true, .. }));
        assert_eq!(found, expected, "{tool} {mark}");
    }
}

#[test]
fn a_record_of_another_sender_is_not_the_users() {
    for (kind, is_user) in
        [("human", true), ("new-kind", true), ("task-notification", false), ("channel", false)]
    {
        let file = format!(
            r#"{{"type":"user","uuid":"a","parentUuid":null,"origin":{{"kind":"{kind}"}},"message":{{"role":"user","content":"Push."}}}}"#
        );
        let view = wb_formats::read(&mut format!("{file}\n").as_bytes()).unwrap();
        assert_eq!(matches!(view.messages[0], wb_message::Message::User { .. }), is_user, "{kind}");
    }
}

#[test]
fn queued_prompts_that_no_line_repeats_are_asides_of_their_segment() {
    let queue = |operation: &str, content: Option<&str>| {
        let mut line = json!({ "type": "queue-operation", "operation": operation, "sessionId": "s" });
        line["content"] = content.map_or(Value::Null, Value::from);
        line
    };
    let user = |id: &str, parent: Option<&str>, text: &str| {
        json!({ "type": "user", "uuid": id, "parentUuid": parent, "isSidechain": false,
            "message": { "role": "user", "content": text } })
    };
    let boundary = json!({ "type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": null,
        "isSidechain": false });
    let document = open(lines(&[
        user("u1", None, "Paint."),
        queue("enqueue", Some("Never paint the roof.")),
        queue("remove", None),
        queue("enqueue", Some("Use green.")),
        user("u2", Some("u1"), "And now?"),
        queue("dequeue", None),
        user("u3", Some("u2"), "Use green."),
        boundary,
        user("u4", Some("b"), "Go on."),
        queue("enqueue", Some("Stop at five.")),
    ]));
    let asides = document.segments("").unwrap().map(|segment| {
        let asides = segment.unwrap().asides.into_iter();
        asides.map(|aside| (aside.n_before, aside.words)).collect::<Vec<_>>()
    });
    let expected = [vec![(1, "Never paint the roof.".to_owned())], vec![(1, "Stop at five.".to_owned())]];
    assert_eq!(asides.collect::<Vec<_>>(), expected);
    let view = document.view("").unwrap();
    assert_eq!(outline(&view.messages), "   0 user      \"Go on.\"\n");
    assert!(view.notes.contains(&Note::QueuedPrompts { n: 1, line: 10 }), "{:?}", view.notes);
}
