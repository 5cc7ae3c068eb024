//! Adjacent calls and results that do not name each other are paired, so that no output is lost.

use serde_json::{Value, json};
use wb_dialect::{Dialect, repair, validate};

/// Repairs a request whose first answer makes calls, and returns the results of these calls.
fn answers(messages: &Value, dialect: Dialect) -> Vec<String> {
    let mut body = json!({ "model": "m" });
    body[dialect.messages_key()] = messages.clone();
    repair(&mut body, dialect);
    assert_eq!(validate(&body, dialect), [], "{body:#}");
    let once = body.clone();
    assert_eq!((repair(&mut body, dialect), &body), (Vec::new(), &once));
    let repaired = body[dialect.messages_key()].as_array().expect("a list");
    match dialect {
        Dialect::Anthropic => {
            blocks(repaired).map(|it| it["content"].as_str().expect("a text").to_owned()).collect()
        }
        Dialect::OpenaiChat => texts(repaired, "content"),
        Dialect::OpenaiResponses => texts(repaired, "output"),
        Dialect::Gemini => repaired[2]["parts"].as_array().expect("a list").iter().map(response).collect(),
    }
}

/// Returns Anthropic's result blocks.
fn blocks(messages: &[Value]) -> impl Iterator<Item = &Value> {
    messages[2]["content"].as_array().expect("a list").iter().filter(|it| it["type"] == "tool_result")
}

fn texts(messages: &[Value], key: &str) -> Vec<String> {
    let is_result = |it: &&Value| it["role"] == "tool" || it.get("output").is_some();
    messages.iter().filter(is_result).map(|it| it[key].as_str().expect("a text").to_owned()).collect()
}

fn response(part: &Value) -> String {
    let response = &part["functionResponse"];
    format!(
        "{} {}",
        response["name"].as_str().expect("a text"),
        response["response"]["output"].as_str().expect("a text")
    )
}

/// A chat request with two parallel calls and the given results.
fn chat(ids: [Value; 2], results: &[(Value, &str)]) -> Value {
    let call = |id| json!({ "id": id, "type": "function", "function": { "name": "ls", "arguments": "{}" } });
    let mut messages = vec![json!({ "role": "user", "content": "Look." })];
    messages.push(json!({ "role": "assistant", "content": null, "tool_calls": ids.map(call) }));
    let result = |(id, text): &(Value, &str)| json!({ "role": "tool", "tool_call_id": id, "content": text });
    messages.extend(results.iter().map(result));
    messages.push(json!({ "role": "user", "content": "Well?" }));
    json!(messages)
}

#[test]
fn chat_results_with_a_lost_id_are_kept() {
    let none = Value::Null;
    for (ids, results) in [
        ([none.clone(), json!("b")], [none.clone(), json!("b")]),
        ([none.clone(), json!("b")], [json!("a"), json!("b")]),
        ([json!("a"), json!("b")], [none.clone(), json!("b")]),
        ([json!("a"), none.clone()], [json!("a"), json!("")]),
        ([none.clone(), none.clone()], [none.clone(), none.clone()]),
        ([json!("a"), json!("a")], [json!("a"), json!("b")]),
        ([json!(1), json!("b")], [json!(1), json!("b")]),
    ] {
        let [one, two] = results.clone();
        let request = chat(ids.clone(), &[(one, "one"), (two, "two")]);
        assert_eq!(answers(&request, Dialect::OpenaiChat), ["one", "two"], "{ids:?} {results:?}");
    }
}

#[test]
fn a_result_of_another_call_or_tool_is_not_paired() {
    let interrupted = "[Tool execution was interrupted]";
    for (ids, result_ids) in [
        ([json!("a"), json!("b")], [json!("c"), json!("b")]),
        ([json!("x"), json!("b")], [json!("a"), json!("b")]),
    ] {
        let [one, two] = result_ids;
        let request = chat(ids, &[(one, "one"), (two, "two")]);
        assert_eq!(answers(&request, Dialect::OpenaiChat), ["two", interrupted]);
    }
    let part =
        |kind: &str, name: &str, more: &str, said: Value| json!({ kind: { "name": name, more: said } });
    let mut body = json!({ "contents": [
        { "role": "user", "parts": [{ "text": "Look." }] },
        { "role": "model", "parts": [part("functionCall", "read", "args", json!({}))] },
        { "role": "user", "parts": [part("functionResponse", "delete", "response", json!({ "output": "gone" }))] },
    ] });
    repair(&mut body, Dialect::Gemini);
    assert!(!body.to_string().contains("gone"), "{body}");
    assert_eq!(validate(&body, Dialect::Gemini), []);
}

#[test]
fn one_nameless_result_of_two_calls_answers_neither() {
    let request = chat([json!("a"), json!("b")], &[(Value::Null, "one")]);
    let interrupted = "[Tool execution was interrupted]";
    assert_eq!(answers(&request, Dialect::OpenaiChat), [interrupted; 2]);
    // Results after the next answer belong to no earlier call.
    let mut request = chat([json!("a"), json!("b")], &[(json!("a"), "one"), (json!("z"), "two")]);
    request.as_array_mut().expect("a list").insert(3, json!({ "role": "assistant", "content": "Well." }));
    assert_eq!(answers(&request, Dialect::OpenaiChat), ["one", interrupted]);
}

#[test]
fn anthropic_results_with_a_lost_id_are_kept() {
    for (id, result_id) in [
        (json!(""), json!("")),
        (Value::Null, Value::Null),
        (Value::Null, json!("a")),
        (json!("a"), json!("")),
    ] {
        let call = json!({ "type": "tool_use", "id": id, "name": "ls", "input": {} });
        let result = json!({ "type": "tool_result", "tool_use_id": result_id, "content": "one" });
        let request = json!([
            { "role": "user", "content": "Look." },
            { "role": "assistant", "content": [call] },
            { "role": "user", "content": [result, { "type": "text", "text": "Well?" }] },
        ]);
        assert_eq!(answers(&request, Dialect::Anthropic), ["one"], "{id} {result_id}");
    }
}

#[test]
fn responses_items_without_a_call_id_are_still_paired() {
    let call = |id: Value| json!({ "type": "function_call", "call_id": id, "name": "ls", "arguments": "{}" });
    let output =
        |id: Value, text: &str| json!({ "type": "function_call_output", "call_id": id, "output": text });
    for (id, result_id) in [(Value::Null, json!("a")), (json!("a"), Value::Null), (Value::Null, Value::Null)]
    {
        let request = json!([
            { "role": "user", "content": "Look." },
            call(id.clone()), call(json!("b")), output(result_id.clone(), "one"), output(json!("b"), "two"),
            { "role": "user", "content": "Well?" },
        ]);
        assert_eq!(answers(&request, Dialect::OpenaiResponses), ["one", "two"], "{id} {result_id}");
    }
}

#[test]
fn gemini_responses_in_another_content_or_unnamed_are_kept() {
    let call = |name: &str| json!({ "functionCall": { "name": name, "args": {} } });
    let result = |name: &str, text: &str| json!({ "functionResponse": { "name": name, "response": { "output": text } } });
    let content = |role: &str, parts: Value| json!({ "role": role, "parts": parts });
    for results in [
        vec![content("user", json!([result("ls", "one")])), content("user", json!([result("cat", "two")]))],
        vec![content("user", json!([result("", "one"), result("cat", "two")]))],
        vec![content("user", json!([result("ls", "one")])), content("user", json!([result("", "two")]))],
    ] {
        let mut request = vec![
            content("user", json!([{ "text": "Look." }])),
            content("model", json!([call("ls"), call("cat")])),
        ];
        request.extend(results);
        request.extend([
            content("model", json!([{ "text": "Seen." }])),
            content("user", json!([{ "text": "Well?" }])),
        ]);
        assert_eq!(answers(&json!(request), Dialect::Gemini), ["ls one", "cat two"], "{request:?}");
    }
}

#[test]
fn gemini_fields_in_snake_case_get_ids_too() {
    let request = json!([
        { "role": "user", "parts": [{ "text": "Look." }] },
        { "role": "model", "parts": [{ "function_call": { "id": "a", "name": "ls" } }] },
        { "role": "user", "parts": [{ "function_response": { "name": "", "response": {} } }] },
    ]);
    let mut body = json!({ "contents": request });
    assert_eq!(repair(&mut body, Dialect::Gemini).len(), 1);
    assert_eq!(body["contents"][2]["parts"][0]["function_response"]["id"], "a");
    assert_eq!(validate(&body, Dialect::Gemini), []);
}

#[test]
fn an_output_may_answer_a_call_stored_by_the_provider() {
    let call = json!({ "type": "function_call", "call_id": "b", "name": "ls", "arguments": "{}" });
    let output = json!({ "type": "function_call_output", "call_id": "a", "output": "one" });
    let mut body = json!({ "previous_response_id": "r", "input": [call, output] });
    repair(&mut body, Dialect::OpenaiResponses);
    let ids: Vec<&Value> =
        body["input"].as_array().expect("a list").iter().map(|it| &it["call_id"]).collect();
    assert_eq!(ids.iter().filter(|id| **id == "a").count(), 1, "{body}");
    assert_eq!(validate(&body, Dialect::OpenaiResponses), []);
}

#[test]
fn a_call_that_is_not_an_object_blocks_no_other_pair() {
    let call = json!({ "id": 900, "type": "function", "function": { "name": "ls", "arguments": "{}" } });
    let mut body = json!({ "messages": [
        { "role": "user", "content": "Look." },
        { "role": "assistant", "content": "", "tool_calls": [call] },
        { "role": "tool", "tool_call_id": "c1", "content": "a.rs" },
        { "role": "assistant", "content": "I look on.", "tool_calls": ["ls"] },
        { "role": "user", "content": "Well?" },
    ] });
    assert!(!repair(&mut body, Dialect::OpenaiChat).is_empty());
    assert_eq!(
        (&body["messages"][1]["tool_calls"][0]["id"], &body["messages"][2]["content"]),
        (&json!("c1"), &json!("a.rs"))
    );
    let once = body.clone();
    assert_eq!((repair(&mut body, Dialect::OpenaiChat), &body), (Vec::new(), &once));
}
