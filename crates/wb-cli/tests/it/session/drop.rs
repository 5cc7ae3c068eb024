//! `wb drop`: messages that each later compaction folds first.

use std::fs;

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::wb_in;

const DROPPED: &str = "The log of the whole night.";

/// Returns a session whose last turn is kept, and has a call with a long result.
fn home(format: &str) -> Home {
    let home = Home::new();
    let mut lines: Vec<Value> = (0..40)
        .flat_map(|n| [format!("Step {n}."), format!("Done {n}. {}", "I looked. ".repeat(150))])
        .enumerate()
        .map(|(at, text)| json!({"role": if at % 2 == 0 { "user" } else { "assistant" }, "content": text}))
        .collect();
    let call =
        json!([{"kind": "tool_call", "id": "c1", "name": "bash", "input": {"command": "cat night.log"}}]);
    lines.push(json!({"role": "user", "content": "Why did it fail?"}));
    lines.push(json!({"role": "assistant", "content": call}));
    lines.push(json!({"role": "toolResult", "toolCallId": "c1", "toolName": "bash",
        "content": format!("{DROPPED} {}", "line ".repeat(400)), "isError": false}));
    lines.push(json!({"role": "assistant", "content": "The disk is full."}));
    let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n";
    home.lay("project/native.jsonl", &text);
    if format != "native" {
        home.done(&format!("convert native.jsonl --to {format} -o project.jsonl"));
    }
    home
}

#[test]
fn a_dropped_call_is_folded_with_its_result_although_its_turn_stays() {
    let home = home("native");
    let file = "native.jsonl";
    let added = home.json(&format!("drop {file} 82"));
    assert_eq!(added["added"], json!([81, 82]));
    assert_eq!(home.json(&format!("drop {file} 81"))["added"], json!([]), "it was dropped before");
    assert!(home.text("project/native.jsonl.wb-pins").contains("\"drops\""));
    let plan = home.json(&format!("plan {file} --force"));
    assert_eq!((&plan["dropped"], &plan["steps"][0]), (&json!(2), &json!("drop")));
    home.done(&format!("compact {file} --force --in-place --allow-open"));
    let visible = home.done(&format!("convert {file} --to native"));
    assert!(visible.contains("Why did it fail?") && visible.contains("The disk is full."), "{visible}");
    assert!(!visible.contains(DROPPED) && !visible.contains("\"c1\""), "{visible}");
    home.done(&format!("undo {file} --allow-open"));
    assert!(home.text("project/native.jsonl").contains(DROPPED));
    assert_eq!(home.json(&format!("drop --undo {file} 81"))["removed"], json!([81, 82]));
    assert!(!home.path("project/native.jsonl.wb-pins").exists());
}

#[test]
fn a_format_without_gaps_has_the_result_cleared() {
    let home = home("pi");
    home.done("drop project.jsonl 82");
    let plan = home.json("plan project.jsonl --force");
    assert_eq!((&plan["dropped"], &plan["steps"][0]), (&json!(1), &json!("drop")), "{plan}");
    let shown = home.done("plan project.jsonl --force");
    assert!(shown.contains("drop         clears 1 result that you dropped"), "{shown}");
}

#[test]
fn an_agents_compaction_drops_what_it_sends_in_its_own_pieces() {
    let home = home("native");
    home.done("drop native.jsonl 81");
    let messages: Vec<Value> =
        home.text("project/native.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let file = home.path("project/native.jsonl");
    let question = json!({"version": 1, "host": "claude-code", "session_file": file,
        "session": {"messages": messages}});
    let answer = wb_in(home.folder.path(), &[], &["hook"], question.to_string().as_bytes());
    let answer: Value = serde_json::from_str(&answer.stdout).unwrap();
    let kept = |at: u64| {
        let range = |it: &Value| it["start"].as_u64() <= Some(at) && Some(at) < it["end"].as_u64();
        answer["keep"].as_array().unwrap().iter().any(range)
    };
    assert_eq!([80, 81, 82, 83].map(kept), [true, false, false, true], "{answer}");
}

#[test]
fn what_cannot_be_dropped_is_refused() {
    let home = home("native");
    for (line, reason) in [
        ("drop native.jsonl 500", "there is no message 500"),
        ("drop native.jsonl x", "`x` is not a number"),
        ("drop -", "standard input cannot have pins"),
        ("drop --undo native.jsonl 3", "message 3 is not dropped"),
    ] {
        assert!(home.refused(line).contains(reason), "{line}: {}", home.refused(line));
    }
    let call = json!([{"kind": "tool_call", "id": "c9", "name": "bash", "input": {"command": "ls"}}]);
    let open = json!({"role": "assistant", "content": call});
    home.lay("project/open.jsonl", &format!("{}\n{open}\n", json!({"role": "user", "content": "Go."})));
    assert!(home.refused("drop open.jsonl 1").contains("has a call without its result yet"));
    fs::write(home.path("project/native.jsonl.wb-pins"), "{\"version\": 1, \"pins\": []}").unwrap();
    assert!(home.done("drop native.jsonl").contains("nothing is dropped"));
}
