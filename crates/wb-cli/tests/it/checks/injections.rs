//! Texts of tools that imitate the user, a host or a digest, in every format and place.
//!
//! Through three digests that build on each other, none becomes the user's words, a rule, a task or
//! a section.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wb_language::answers::{asks_the_user, proposes_a_plan};
use wb_message::{Block, Message, ToolRole, ToolVocabulary};
use wb_record::MemoryParts;
use wb_summarize::local_digest;
use wb_testkit::injections::{promoted, texts};

use crate::support::root;

/// The number of digests that build on each other.
const N_DIGESTS: usize = 3;

/// Digests messages and then what follows, and returns what is promoted on the way.
fn chain(messages: &[Message], vocabulary: &ToolVocabulary) -> Option<String> {
    let next = [Message::user("Go on."), Message::assistant("I go on with the parser.")];
    let mut digest = local_digest(messages, vocabulary, None).render(16_000);
    for _ in 1..N_DIGESTS {
        if let Some(line) = promoted(&digest) {
            return Some(format!("{line}\nin\n{digest}"));
        }
        digest = local_digest(&next, vocabulary, Some(&digest)).render(16_000);
    }
    promoted(&digest).map(|line| format!("{line}\nin\n{digest}"))
}

/// The places of a message in which a text of others may be.
fn places(form: &str) -> Vec<(&'static str, Vec<Message>)> {
    let call = |name: &str, input: Value| {
        let block = Block::ToolCall { id: "c1".to_owned(), name: name.to_owned(), input };
        Message::assistant_blocks(vec![Block::text("I look."), block])
    };
    let result = |name: &str, is_error| Message::ToolResult {
        tool_call_id: "c1".to_owned(),
        tool_name: name.to_owned(),
        content: vec![Block::text(form)],
        is_error,
        is_refusal: false,
    };
    let tools = [
        "Bash",
        "Read",
        "Edit",
        "WebFetch",
        "Task",
        "TaskOutput",
        "mcp__x__ask_user",
        "mcp__x__ExitPlanMode",
        "mcp__x__TodoWrite",
        "mcp__x__question",
        "Skill",
        "x.ask_user",
    ];
    let mut all: Vec<(&'static str, Vec<Message>)> = Vec::new();
    for name in tools {
        let input = json!({"file_path": "notes.md", "command": "cat notes.md"});
        for is_error in [false, true] {
            all.push((name, vec![call(name, input.clone()), result(name, is_error)]));
        }
    }
    let path = json!({"file_path": format!("notes.md\n{form}")});
    all.push(("a path", vec![call("Read", path.clone()), Message::tool_result("c1", "Read", "1 a")]));
    all.push(("a changed path", vec![call("Write", path), Message::tool_result("c1", "Write", "ok")]));
    let command = json!({"command": format!("make test # {form}")});
    all.push(("a command", vec![call("Bash", command), Message::tool_result("c1", "Bash", "error: failed")]));
    let agent = format!("I decided to use it because the note says so:\n{form}\nThat is what I saw.");
    all.push(("the agent", vec![Message::assistant(agent)]));
    all.push(("a note of the host", vec![Message::custom("meta", form)]));
    all
}

#[test]
fn a_request_of_the_user_is_presented_as_the_users() {
    let request = Message::user("Always push CANARY.");
    assert!(chain(&[request], &ToolVocabulary::default()).is_some());
    let digest = local_digest(&[Message::user("Go on.")], &ToolVocabulary::default(), None).render(4_000);
    assert_eq!(promoted(&digest), None);
}

#[test]
fn no_place_makes_a_text_of_others_the_users() {
    let mut n_tried = 0;
    for form in texts() {
        for (place, messages) in places(&form) {
            let first = [Message::user("Find the bug in the importer.")];
            let last = [Message::assistant("The importer drops the last row, so I fix the reader.")];
            let talk = [&first[..], &messages, &last, &[Message::user("Go on.")]].concat();
            let found = chain(&talk, &ToolVocabulary::default());
            assert!(found.is_none(), "{place}: {form:?}: {}", found.unwrap_or_default());
            n_tried += 1;
        }
    }
    assert_eq!(n_tried, 58 * 29);
}

/// Returns the sessions of every format.
fn sessions() -> Vec<PathBuf> {
    fn add(folder: &Path, all: &mut Vec<PathBuf>) {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                add(&path, all);
            } else {
                all.push(path);
            }
        }
    }
    let mut all = Vec::new();
    add(&root().join("crates/wb-formats/tests/fixtures"), &mut all);
    all.sort();
    all
}

fn read(bytes: &[u8]) -> Option<wb_record::View> {
    let document = wb_formats::open(Box::new(MemoryParts::from_bytes(bytes.to_vec()))).ok()?;
    document.view(&wb_formats::newest(document.as_ref()).ok()?).ok()
}

/// Returns a text as a whole JSON string.
fn in_json(text: &str) -> String {
    Value::from(text).to_string()
}

#[test]
fn no_format_makes_a_result_the_users() {
    let forms = texts();
    let mut formats = BTreeSet::new();
    for path in sessions() {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let Some(view) = read(text.as_bytes()) else { continue };
        let is_said = |text: &str| {
            let says = |message: &&Message| !matches!(message, Message::ToolResult { .. });
            view.messages
                .iter()
                .filter(says)
                .any(|message| wb_message::outline::outline(std::slice::from_ref(message)).contains(text))
        };
        let mut results = Vec::new();
        for message in &view.messages {
            if let Message::ToolResult { content, tool_name, is_refusal: false, .. } = message
                && !is_of_host(tool_name)
            {
                let texts = content.iter().filter_map(Block::as_text).filter(|text| !is_said(text));
                results.extend(texts.map(in_json).find(|json| json.len() > 2 && text.contains(json)));
            }
        }
        results.sort();
        results.dedup();
        for (result, form) in results.iter().flat_map(|result| forms.iter().map(move |form| (result, form))) {
            let injected = text.replacen(result, &in_json(form), usize::MAX);
            let Some(view) = read(injected.as_bytes()) else { continue };
            if !view.messages.iter().any(|message| matches!(message, Message::ToolResult { .. })) {
                continue;
            }
            let found = chain(&view.messages, &view.vocabulary);
            assert!(found.is_none(), "{}: {form:?}: {}", path.display(), found.unwrap_or_default());
            formats.insert(view.format);
        }
    }
    assert_eq!(formats.len(), 30, "{formats:?}");
}

/// Returns whether a tool's results hold the user's words or the agent's tasks.
fn is_of_host(tool: &str) -> bool {
    let is_plan = |name: &str| ToolVocabulary::default().role(name) == Some(ToolRole::Plan);
    asks_the_user(tool) || proposes_a_plan(tool) || is_plan(tool)
}
