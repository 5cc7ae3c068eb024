//! Calls and results of servers' tools without the other, in sessions.

use serde_json::{Value, json};
use wb_formats::{SentAs, newest, open as open_parts};
use wb_message::outline::outline;
use wb_record::MemoryParts;

use crate::damage::corrupted::written;
use crate::support::{claude::lines, open};

/// A session of Claude Code whose answers each have the blocks of one list, on a line each.
fn of_claude_code(answers: &[Vec<Value>]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut add = |kind: &str, message: Value| {
        let (id, parent) = (format!("l{}", all.len()), all.len().checked_sub(1).map(|at| format!("l{at}")));
        all.push(
            json!({ "parentUuid": parent, "isSidechain": false, "type": kind, "uuid": id, "sessionId": "s",
            "timestamp": "2026-01-01T00:00:00.000Z", "message": message }),
        );
    };
    for (nth, blocks) in answers.iter().enumerate() {
        add("user", json!({ "role": "user", "content": format!("Question {nth}") }));
        for block in blocks {
            add("assistant", json!({ "id": format!("m{nth}"), "role": "assistant", "content": [block] }));
        }
    }
    lines(&all)
}

/// The same as the file of Cline.
fn of_cline(answers: &[Vec<Value>]) -> Vec<u8> {
    let turn = |(nth, blocks): (usize, &Vec<Value>)| {
        let asked = json!({ "role": "user", "content": [{ "type": "text", "text": format!("Question {nth}") }], "ts": nth });
        [asked, json!({ "role": "assistant", "content": blocks, "ts": nth })]
    };
    let messages: Vec<Value> = answers.iter().enumerate().flat_map(turn).collect();
    json!({ "version": 1, "messages": messages, "systemPrompt": "Garden." }).to_string().into_bytes()
}

fn rules(bytes: &[u8]) -> Vec<(Option<usize>, String)> {
    let document = open_parts(Box::new(MemoryParts::from_bytes(bytes))).unwrap();
    let view = document.view(&newest(document.as_ref()).unwrap()).unwrap();
    let found = SentAs::from_view(&view).violations_in(document.as_ref(), &view);
    found.into_iter().map(|it| (it.message, it.rule.into_owned())).collect()
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn call(id: &str) -> Value {
    json!({ "type": "server_tool_use", "id": id, "name": "web_search", "input": { "query": "beans" } })
}

fn result(id: &str) -> Value {
    json!({ "type": "web_search_tool_result", "tool_use_id": id, "content": [{ "type": "web_search_result",
        "url": "https://a.example", "title": "Beans", "encrypted_content": "Eq8C" }] })
}

#[test]
fn a_call_or_a_result_without_the_other_is_found_and_becomes_a_text() {
    let last = vec![text("Done.")];
    for (answer, rule) in [
        (vec![result("srvtoolu_1"), text("Sow.")], "server-result-orphan"),
        (vec![result("srvtoolu_1")], "server-result-orphan"),
        (vec![text("I look."), call("srvtoolu_1")], "server-call-unanswered"),
        (vec![call("srvtoolu_1")], "server-call-unanswered"),
        (
            vec![json!({ "type": "advisor_tool_result", "tool_use_id": "srvtoolu_1",
                "content": { "type": "advisor_result", "text": "Mulch." } })],
            "server-result-orphan",
        ),
    ] {
        for bytes in
            [of_claude_code(&[answer.clone(), last.clone()]), of_cline(&[answer.clone(), last.clone()])]
        {
            assert_eq!(rules(&bytes), [(Some(1), rule.to_owned())], "{answer:?}");
            let (now, is_written) = written(&bytes).unwrap();
            assert!(is_written);
            // A reader sees what it saw before.
            assert_eq!(outline(&now.messages), outline(&open(&bytes).unwrap().messages));
        }
    }
}

#[test]
fn pairs_and_a_call_that_the_model_may_continue_stay() {
    let pair = vec![call("srvtoolu_1"), result("srvtoolu_1"), text("Sow.")];
    for answers in [vec![pair.clone(), vec![text("Done.")]], vec![pair, vec![call("srvtoolu_2")]]] {
        for bytes in [of_claude_code(&answers), of_cline(&answers)] {
            assert_eq!(rules(&bytes), []);
            assert!(!written(&bytes).unwrap().1);
        }
    }
}
