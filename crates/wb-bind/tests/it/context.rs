//! A loop that is kept within its window.

use serde_json::{Value, json};
use wb_bind::Context;

fn step(n: usize) -> String {
    let arguments = json!({ "command": format!("cat {n}.txt") }).to_string();
    let function = json!({ "name": "bash", "arguments": arguments });
    let call = json!({ "id": format!("c{n}"), "type": "function", "function": function });
    let lines: Vec<String> = (0..80).map(|line| format!("{n}.{line} of the ledger")).collect();
    let result = json!({ "role": "tool", "tool_call_id": format!("c{n}"), "content": lines.join("\n") });
    json!([{ "role": "assistant", "content": null, "tool_calls": [call] }, result]).to_string()
}

fn context() -> Context {
    let settings = json!({ "format": "openai-chat", "options": { "window": 12_000 } });
    let context = Context::new(&settings.to_string()).expect("settings");
    let first = json!([{ "role": "user", "content": "Sum the ledger. Never write to 7.txt." }]);
    context.push(&first.to_string()).expect("messages");
    context
}

fn messages(context: &Context) -> Vec<Value> {
    serde_json::from_str(&context.messages().expect("JSON")).expect("a list")
}

#[test]
fn a_loop_stays_within_its_window_and_keeps_what_the_user_said() {
    let context = context();
    let mut n_compactions = 0;
    for n in 0..200 {
        context.push(&step(n)).unwrap();
        if context.is_over_budget().unwrap() {
            let answer: Value = serde_json::from_str(&context.compact()).unwrap();
            assert_eq!(answer["result"]["report"]["changed"], true, "{answer}");
            n_compactions += 1;
        }
        assert!(!context.is_over_budget().unwrap(), "step {n}");
    }
    assert!(n_compactions > 3, "{n_compactions}");
    let gate: Value = serde_json::from_str(&context.gate()).unwrap();
    assert_eq!(gate["result"]["compactions"], n_compactions);
    let messages = messages(&context);
    assert!(Value::from(messages.clone()).to_string().contains("Never write to 7.txt."), "{messages:?}");
    let call = json!({ "operation": "validate", "format": "openai-chat", "messages": messages });
    let answer: Value = serde_json::from_str(&wb_bind::call(&call.to_string())).unwrap();
    assert_eq!(answer["result"]["violations"], json!([]));
}

#[test]
fn the_last_compaction_can_be_undone_and_later_messages_stay() {
    let context = context();
    let mut n = 0;
    while !context.is_over_budget().unwrap() {
        context.push(&step(n)).unwrap();
        n += 1;
    }
    let before = messages(&context);
    context.compact();
    assert_ne!(before, messages(&context));
    context.push(&step(999)).unwrap();
    assert!(context.undo() && !context.undo());
    let now = messages(&context);
    assert_eq!((now.len(), &now[..before.len()]), (before.len() + 2, before.as_slice()));
}

#[test]
fn wrong_settings_and_messages_are_errors() {
    assert!(Context::new("{\"window\": 1}").is_err());
    let context = context();
    assert!(context.push("{}").is_err());
}
