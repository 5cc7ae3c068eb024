//! A model of the caller writes the digest.

use serde_json::{Value, json};
use wb_bind::{Context, Progress};

const DIGEST: &str = "# Objective\n- Sum the ledger.\n\n# Status\n- Pages 0 to 30 are summed.";

fn messages(pages: usize) -> Value {
    let first = json!({ "role": "user", "content": "Sum the ledger. Never write to 7.txt." });
    let page = |n: usize| {
        let lines: Vec<String> = (0..80).map(|line| format!("{n}.{line} of the ledger")).collect();
        let function = json!({ "name": "cat", "arguments": json!({ "path": n }).to_string() });
        let call = json!({ "id": format!("c{n}"), "type": "function", "function": function });
        let result = json!({ "role": "tool", "tool_call_id": format!("c{n}"), "content": lines.join("\n") });
        [json!({ "role": "assistant", "content": null, "tool_calls": [call] }), result]
    };
    std::iter::once(first).chain((0..pages).flat_map(page)).collect()
}

fn options(summarizer: &Value) -> Value {
    json!({ "target_tokens": 3_000, "summarizer": summarizer })
}

fn compact(summarizer: &Value) -> (Value, Vec<Progress>) {
    let call = json!({ "operation": "compact", "format": "openai-chat", "messages": messages(40),
                       "options": options(summarizer) });
    let mut stages = Vec::new();
    let answer =
        wb_bind::call_with_progress(&call.to_string(), &mut |stage: &Progress| stages.push(stage.clone()));
    (serde_json::from_str(&answer).expect("JSON"), stages)
}

fn answered(replies: &Value) -> Value {
    let (answer, _) = compact(&json!({ "replies": replies }));
    answer["result"].clone()
}

#[test]
fn a_call_asks_and_goes_on_with_the_reply() {
    let (answer, stages) = compact(&json!({}));
    let request = &answer["result"]["request"];
    assert_eq!(request["number"], 1, "{answer}");
    let prompt = request["prompt"].as_str().unwrap();
    assert!(prompt.contains("Sum the ledger.") && request["max_output_tokens"].as_u64().unwrap() > 100);
    assert!(request["prompt_tokens"].as_u64().unwrap() > 1_000);
    assert!(matches!(
        &stages[..],
        [
            Progress::Counted { messages: 81, .. },
            Progress::Cut { cut: Some(_), .. },
            Progress::Asking { request: 1, .. }
        ]
    ));
    let (answer, stages) = compact(&json!({ "replies": [{ "text": DIGEST }] }));
    let report = &answer["result"]["report"];
    assert_eq!((&report["degraded"], &report["requests"]), (&json!(false), &json!(1)), "{report}");
    let digest = report["digest"].as_str().unwrap();
    assert!(digest.contains("Pages 0 to 30 are summed.") && digest.contains("Never write to 7.txt."));
    assert!(matches!(&stages[..], [Progress::Applied { .. }]), "{stages:?}");
}

#[test]
fn a_model_that_fails_is_replaced_by_the_local_digest() {
    let reasons = [
        (json!([{ "error": "no route to host" }]), "the model failed: no route to host"),
        (json!([{ "text": "" }]), "the reply was blank"),
        (json!([{ "text": "Sorry." }]), "the reply had no headings"),
        (json!([{ "cut_off": "# Obj" }]), "the reply was cut off"),
    ];
    for (replies, reason) in reasons {
        let report = &answered(&replies)["report"];
        assert_eq!((&report["degraded"], &report["changed"]), (&json!(true), &json!(true)), "{report}");
        assert_eq!(report["reason"], format!("local digest: {reason}"));
        assert!(report["digest"].as_str().unwrap().contains("Never write to 7.txt."));
    }
}

#[test]
fn a_small_window_is_asked_in_parts_with_the_instructions() {
    let mut replies = Vec::new();
    let done = loop {
        let settings =
            json!({ "window": 4_000, "instructions": "Keep the names of pages.", "replies": replies });
        let (answer, _) = compact(&settings);
        let request = &answer["result"]["request"];
        if request.is_null() {
            break answer;
        }
        assert_eq!(request["number"], replies.len() + 1);
        assert!(request["prompt_tokens"].as_u64().unwrap() < 4_000, "{request}");
        assert!(request["prompt"].as_str().unwrap().ends_with("Keep the names of pages."));
        let so_far = request["prompt"].as_str().unwrap().contains("Pages 0 to 30 are summed.");
        assert_eq!(so_far, !replies.is_empty());
        replies.push(json!({ "text": DIGEST }));
    };
    assert!(replies.len() > 1);
    assert_eq!(done["result"]["report"]["requests"], replies.len());
}

#[test]
fn messages_within_their_budget_ask_nothing() {
    let call = json!({ "operation": "compact", "format": "openai-chat", "messages": messages(2),
                       "options": { "summarizer": {} } });
    let answer: Value = serde_json::from_str(&wb_bind::call(&call.to_string())).unwrap();
    assert_eq!(answer["result"]["report"]["changed"], false, "{answer}");
}

#[test]
fn a_size_below_that_of_the_instructions_is_explained() {
    let mut all = messages(30);
    let system = json!({ "role": "system", "content": "Work with care. ".repeat(2_000) });
    all.as_array_mut().unwrap().insert(0, system);
    let call = json!({ "operation": "compact", "format": "openai-chat", "messages": all,
                       "options": { "target_tokens": 2_000 } });
    let answer: Value = serde_json::from_str(&wb_bind::call(&call.to_string())).unwrap();
    let reason = answer["result"]["report"]["reason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("asked for 2000 tokens of messages, but instructions of "), "{answer}");
}

#[test]
fn a_strategy_without_a_digest_asks_nobody() {
    let call = json!({ "operation": "compact", "messages": messages(2),
                       "options": { "summarizer": {}, "strategy": "three-level" } });
    let answer: Value = serde_json::from_str(&wb_bind::call(&call.to_string())).unwrap();
    assert_eq!(answer["error"]["kind"], "option", "{answer}");
}

fn context() -> Context {
    let settings = json!({ "format": "openai-chat", "options": { "window": 12_000, "force": true } });
    let context = Context::new(&settings.to_string()).expect("settings");
    context.push(&messages(20).to_string()).expect("messages");
    context
}

fn listed(context: &Context) -> Vec<Value> {
    serde_json::from_str(&context.messages().expect("JSON")).expect("a list")
}

#[test]
fn a_context_goes_on_while_its_model_writes() {
    let context = context();
    let before = listed(&context);
    let run = context.begin().unwrap();
    let asked: Value = serde_json::from_str(&run.step(Some(r#"{"window": 100000}"#), &mut |_| {})).unwrap();
    assert!(asked["result"]["request"].is_object(), "{asked}");
    assert_eq!(listed(&context), before);
    context.push(r#"[{"role": "user", "content": "And page 99."}]"#).unwrap();
    let replies = json!({ "window": 100_000, "replies": [{ "text": DIGEST }] }).to_string();
    let done: Value = serde_json::from_str(&run.step(Some(&replies), &mut |_| {})).unwrap();
    assert_eq!(done["result"]["report"]["requests"], 1, "{done}");
    let after = listed(&context);
    assert!(after.len() < before.len());
    assert_eq!(after.last().unwrap()["content"], "And page 99.");
    assert!(context.undo());
    assert_eq!(listed(&context)[..before.len()], before[..]);
    assert_eq!(listed(&context).len(), before.len() + 1);
}

#[test]
fn the_second_of_two_compactions_is_refused() {
    let context = context();
    let (first, second) = (context.begin().unwrap(), context.begin().unwrap());
    let done: Value = serde_json::from_str(&first.step(None, &mut |_| {})).unwrap();
    assert_eq!(done["result"]["report"]["changed"], true);
    let after = listed(&context);
    let refused: Value = serde_json::from_str(&second.step(None, &mut |_| {})).unwrap();
    assert_eq!(refused["error"]["hint"], "compact it again", "{refused}");
    assert_eq!(listed(&context), after);
}
