//! Calls and results that stand next to each other and do not name each other belong together: what a tool said is kept.

use serde_json::{Value, json};
use wb_dialect::{Dialect, repair, validate};

/// Repairs a request whose first answer makes calls, and returns what answers each of them then, and all of it.
fn answers(messages: &Value, dialect: Dialect) -> Vec<String> {
    let mut body = json!({ "model": "m" });
    body[dialect.messages_key()] = messages.clone();
    repair(&mut body, dialect);
    assert_eq!(validate(&body, dialect), [], "{body:#}");
    let once = body.clone();
    assert_eq!((repair(&mut body, dialect), &body), (Vec::new(), &once));
    let mended = body[dialect.messages_key()].as_array().expect("a list");
    match dialect {
        Dialect::Anthropic => {
            blocks(mended).map(|it| it["content"].as_str().expect("a text").to_owned()).collect()
        }
        Dialect::OpenaiChat => texts(mended, "content"),
        Dialect::OpenaiResponses => texts(mended, "output"),
        Dialect::Gemini => mended[2]["parts"].as_array().expect("a list").iter().map(response).collect(),
    }
}

/// Returns the results of Anthropic.
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

/// A request of chat with two calls at once, and what stands behind them.
fn chat(ids: [Value; 2], behind: &[(Value, &str)]) -> Value {
    let call = |id| json!({ "id": id, "type": "function", "function": { "name": "ls", "arguments": "{}" } });
    let mut messages = vec![json!({ "role": "user", "content": "Look." })];
    messages.push(json!({ "role": "assistant", "content": null, "tool_calls": ids.map(call) }));
    let result = |(id, text): &(Value, &str)| json!({ "role": "tool", "tool_call_id": id, "content": text });
    messages.extend(behind.iter().map(result));
    messages.push(json!({ "role": "user", "content": "Well?" }));
    json!(messages)
}

#[test]
fn what_lost_its_id_in_a_call_or_a_result_or_both_is_kept_in_chat() {
    let none = Value::Null;
    for (ids, behind) in [
        ([none.clone(), json!("b")], [none.clone(), json!("b")]),
        ([none.clone(), json!("b")], [json!("a"), json!("b")]),
        ([json!("a"), json!("b")], [none.clone(), json!("b")]),
        ([json!("a"), none.clone()], [json!("a"), json!("")]),
        ([none.clone(), none.clone()], [none.clone(), none.clone()]),
        ([json!("a"), json!("a")], [json!("a"), json!("b")]),
        ([json!(1), json!("b")], [json!(1), json!("b")]),
    ] {
        let [one, two] = behind.clone();
        let request = chat(ids.clone(), &[(one, "one"), (two, "two")]);
        assert_eq!(answers(&request, Dialect::OpenaiChat), ["one", "two"], "{ids:?} {behind:?}");
    }
}

#[test]
fn a_result_that_names_another_call_or_tool_is_not_taken_for_the_one_that_is_missing() {
    let interrupted = "[Tool execution was interrupted]";
    for (ids, of) in [
        ([json!("a"), json!("b")], [json!("c"), json!("b")]),
        ([json!("x"), json!("b")], [json!("a"), json!("b")]),
    ] {
        let [one, two] = of;
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
fn of_two_calls_that_one_result_may_answer_none_is_taken_to_be_answered() {
    let request = chat([json!("a"), json!("b")], &[(Value::Null, "one")]);
    let interrupted = "[Tool execution was interrupted]";
    assert_eq!(answers(&request, Dialect::OpenaiChat), [interrupted; 2]);
    // What stands behind the next answer belongs to no call before it.
    let mut request = chat([json!("a"), json!("b")], &[(json!("a"), "one"), (json!("z"), "two")]);
    request.as_array_mut().expect("a list").insert(3, json!({ "role": "assistant", "content": "Well." }));
    assert_eq!(answers(&request, Dialect::OpenaiChat), ["one", interrupted]);
}

#[test]
fn what_lost_its_id_is_kept_with_anthropic() {
    for (id, of) in [
        (json!(""), json!("")),
        (Value::Null, Value::Null),
        (Value::Null, json!("a")),
        (json!("a"), json!("")),
    ] {
        let call = json!({ "type": "tool_use", "id": id, "name": "ls", "input": {} });
        let result = json!({ "type": "tool_result", "tool_use_id": of, "content": "one" });
        let request = json!([
            { "role": "user", "content": "Look." },
            { "role": "assistant", "content": [call] },
            { "role": "user", "content": [result, { "type": "text", "text": "Well?" }] },
        ]);
        assert_eq!(answers(&request, Dialect::Anthropic), ["one"], "{id} {of}");
    }
}

#[test]
fn a_call_or_an_output_of_responses_without_a_call_id_is_one_still() {
    let call = |id: Value| json!({ "type": "function_call", "call_id": id, "name": "ls", "arguments": "{}" });
    let output =
        |id: Value, text: &str| json!({ "type": "function_call_output", "call_id": id, "output": text });
    for (id, of) in [(Value::Null, json!("a")), (json!("a"), Value::Null), (Value::Null, Value::Null)] {
        let request = json!([
            { "role": "user", "content": "Look." },
            call(id.clone()), call(json!("b")), output(of.clone(), "one"), output(json!("b"), "two"),
            { "role": "user", "content": "Well?" },
        ]);
        assert_eq!(answers(&request, Dialect::OpenaiResponses), ["one", "two"], "{id} {of}");
    }
}

#[test]
fn a_response_of_gemini_keeps_what_it_says_in_another_content_or_without_its_name() {
    let call = |name: &str| json!({ "functionCall": { "name": name, "args": {} } });
    let result = |name: &str, text: &str| json!({ "functionResponse": { "name": name, "response": { "output": text } } });
    let of = |role: &str, parts: Value| json!({ "role": role, "parts": parts });
    for results in [
        vec![of("user", json!([result("ls", "one")])), of("user", json!([result("cat", "two")]))],
        vec![of("user", json!([result("", "one"), result("cat", "two")]))],
        vec![of("user", json!([result("ls", "one")])), of("user", json!([result("", "two")]))],
    ] {
        let mut request =
            vec![of("user", json!([{ "text": "Look." }])), of("model", json!([call("ls"), call("cat")]))];
        request.extend(results);
        request.extend([of("model", json!([{ "text": "Seen." }])), of("user", json!([{ "text": "Well?" }]))]);
        assert_eq!(answers(&json!(request), Dialect::Gemini), ["ls one", "cat two"], "{request:?}");
    }
}

#[test]
fn fields_of_gemini_in_snake_case_get_ids_too() {
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
fn an_output_may_answer_a_call_that_the_provider_keeps() {
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
fn what_is_no_object_is_no_call_and_keeps_no_other_from_its_result() {
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
