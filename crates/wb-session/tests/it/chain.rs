//! Small sessions written as words, one for each entry.

use serde_json::{Value, json};
use wb_session::SessionLog;

use crate::support::log_of;

/// Builds a session from words such as `u a:50 t t l c=2`, one entry each, in one chain; the first
/// has the id `1`.
///
/// `u` is a prompt, `a` an answer that makes the calls which the results `t` after it answer, `o`
/// one with one call more that no result answers, `b` a shell command, `x` a message of an
/// extension, `s` a branch summary, `l` a label, `m` a change of the model, `c=2` a compaction that
/// kept the entries from `2` on. A number after a colon is the weight in tokens, 100 without one.
pub(crate) fn chain(words: &str) -> SessionLog {
    let words: Vec<&str> = words.split_whitespace().collect();
    let (mut entries, mut calls) = (Vec::new(), Vec::new());
    for (at, word) in words.iter().enumerate() {
        let turn = words[at + 1..].iter().take_while(|word| !word.starts_with(['u', 'a', 'o']));
        let n_results = turn.filter(|word| word.starts_with('t')).count();
        let mut entry = entry(word, at + 1, n_results, &mut calls);
        entry["id"] = json!((at + 1).to_string());
        entry["parentId"] = if at == 0 { Value::Null } else { json!(at.to_string()) };
        entries.push(entry.to_string());
    }
    log_of(&entries.iter().map(String::as_str).collect::<Vec<_>>())
}

fn entry(word: &str, id: usize, n_results: usize, calls: &mut Vec<String>) -> Value {
    let (kind, weight) = word.split_once(':').unwrap_or((word, "100"));
    let body = |n_spent: usize| "x".repeat((weight.parse::<usize>().unwrap() * 4).saturating_sub(n_spent));
    let message = |message: Value| json!({"type": "message", "message": message});
    match kind.split_once('=').unwrap_or((kind, "")) {
        ("u", _) => message(json!({"role": "user", "content": body(0)})),
        ("a" | "o", _) => {
            let n_results = n_results + usize::from(kind == "o");
            *calls = (0..n_results).rev().map(|nth| format!("call-{id}-{nth}")).collect();
            let blocks = calls.iter().rev().map(
                |id| json!({"type": "toolCall", "id": id, "name": "read", "arguments": {"path": "a.rs"}}),
            );
            // Each call is its name and its arguments: 4 and 15 units.
            let text = json!({"type": "text", "text": body(19 * n_results)});
            let content: Vec<_> = [text].into_iter().chain(blocks).collect();
            message(json!({"role": "assistant", "content": content, "stopReason": "stop"}))
        }
        ("t", _) => {
            let content = json!([{"type": "text", "text": body(0)}]);
            message(
                json!({"role": "toolResult", "toolCallId": calls.pop(), "toolName": "read", "content": content}),
            )
        }
        ("b", _) => message(json!({"role": "bashExecution", "command": "", "output": body(0)})),
        ("x", _) => json!({"type": "custom_message", "customType": "note", "content": body(0)}),
        ("s", _) => json!({"type": "branch_summary", "fromId": "1", "summary": body(0)}),
        ("l", _) => json!({"type": "label", "targetId": "1", "label": "here"}),
        ("m", _) => json!({"type": "model_change", "provider": "p", "modelId": "m"}),
        ("c", kept) => json!({"type": "compaction", "summary": body(0), "firstKeptEntryId": kept}),
        _ => panic!("no entry is written as {word}"),
    }
}
