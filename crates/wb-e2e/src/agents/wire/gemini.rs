//! `streamGenerateContent` of Gemini.

use serde_json::{Value, json};

use super::{Called, Item, OUTPUT_TOKENS, Reply, Tool, list, string, who};

/// Reads the tools of one entry of the list, which declares many.
pub(super) fn tools(entry: &Value) -> Vec<Tool> {
    list(&entry["functionDeclarations"]).iter().map(tool).collect()
}

fn tool(tool: &Value) -> Tool {
    let schema = [&tool["parametersJsonSchema"], &tool["parameters"]];
    let properties = schema.into_iter().map(|schema| &schema["properties"]).find(|it| !it.is_null());
    Tool { name: string(&tool["name"]), properties: properties.cloned().unwrap_or_default() }
}

pub(super) fn items(body: &Value) -> Vec<Item> {
    let parts = |turn: &Value| list(&turn["parts"]).iter().filter_map(|part| item(turn, part)).collect();
    list(&body["contents"]).iter().flat_map(|turn| -> Vec<Item> { parts(turn) }).collect()
}

fn item(turn: &Value, part: &Value) -> Option<Item> {
    let (call, output) = (&part["functionCall"], &part["functionResponse"]);
    if call.is_object() {
        return Some(Item::Call(string(&call["id"])));
    }
    if output.is_object() {
        return Some(Item::Output(string(&output["id"]), output_text(&output["response"])));
    }
    let text = part["text"].as_str().filter(|_| part["thought"] != true)?;
    Some(Item::Text(who(&turn["role"]), text.to_owned()))
}

/// Returns the text of an output, whatever its keys are.
fn output_text(response: &Value) -> String {
    let words = response.as_object().into_iter().flat_map(|it| it.values()).filter_map(Value::as_str);
    words.collect::<Vec<_>>().join("\n")
}

/// Finds faults that the provider would refuse: a first turn that is not the user's, and calls
/// whose outputs are not all in the next turn, or are there without their calls.
///
/// Duplicate outputs pass, since the host itself sends them when it resumes a session.
pub(super) fn faults(body: &Value) -> Vec<String> {
    let turns = list(&body["contents"]);
    let first = turns.first().filter(|turn| turn["role"] != "user");
    let mut faults: Vec<String> =
        first.map(|_| "the first turn is not the user's".into()).into_iter().collect();
    let mut open: Vec<&Value> = Vec::new();
    for turn in turns {
        let outputs = ids(turn, "functionResponse");
        if !outputs.iter().all(|id| open.contains(id)) || !open.iter().all(|id| outputs.contains(id)) {
            faults.push(format!("calls {open:?} have the outputs {outputs:?} in the turn behind them"));
        }
        open = ids(turn, "functionCall");
    }
    faults
}

fn ids<'a>(turn: &'a Value, kind: &'static str) -> Vec<&'a Value> {
    list(&turn["parts"]).iter().filter(|part| part[kind].is_object()).map(|part| &part[kind]["id"]).collect()
}

/// Writes an answer in two pieces, with the thought first, as in a live stream.
pub(super) fn events(reply: &Reply) -> Vec<Value> {
    let thought = json!({ "text": reply.thought, "thought": true });
    let thought = (!reply.thought.is_empty()).then(|| piece(reply, &[thought]));
    let text = (!reply.text.is_empty()).then(|| json!({ "text": reply.text }));
    let parts: Vec<Value> = text.into_iter().chain(reply.calls.iter().map(call)).collect();
    let mut last = piece(reply, &parts);
    last["candidates"][0]["finishReason"] = "STOP".into();
    last["usageMetadata"] = json!({
        "promptTokenCount": reply.input_tokens,
        "candidatesTokenCount": OUTPUT_TOKENS,
        "totalTokenCount": reply.input_tokens + OUTPUT_TOKENS,
    });
    thought.into_iter().chain([last]).collect()
}

/// Writes a call without its id: most models give none, and the host makes one up.
fn call(call: &Called) -> Value {
    json!({ "functionCall": { "name": call.name, "args": call.input } })
}

fn piece(reply: &Reply, parts: &[Value]) -> Value {
    json!({
        "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts } }],
        "modelVersion": reply.model,
        "responseId": format!("scripted-{:04}", reply.number),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Turn, Who};
    use super::*;

    fn call_of(id: &str) -> Value {
        json!({ "functionCall": { "id": id, "name": "read_file", "args": {} } })
    }

    fn output_of(id: &str) -> Value {
        json!({ "functionResponse": { "id": id, "name": "read_file", "response": { "output": "out" } } })
    }

    fn turn(role: &str, parts: &[Value]) -> Value {
        json!({ "role": role, "parts": parts })
    }

    #[test]
    fn texts_calls_and_outputs_are_read_in_order_and_thoughts_are_not() {
        let thought = json!({ "text": "Hm.", "thought": true });
        let body = json!({ "contents": [
            turn("user", &[json!({ "text": "<session_context>" }), json!({ "text": "Go." })]),
            turn("model", &[thought, json!({ "text": "Yes." }), call_of("a")]),
            turn("user", &[output_of("a")]),
        ]});
        assert_eq!(
            items(&body),
            [
                Item::Text(Who::User, "<session_context>".into()),
                Item::Text(Who::User, "Go.".into()),
                Item::Text(Who::Assistant, "Yes.".into()),
                Item::Call("a".into()),
                Item::Output("a".into(), "out".into()),
            ]
        );
    }

    #[test]
    fn what_the_provider_would_refuse_is_found() {
        let of = |turns: &[&Value]| faults(&json!({ "contents": turns }));
        let user = turn("user", &[json!({ "text": "Go." })]);
        let calls = turn("model", &[call_of("a"), call_of("b")]);
        let both = turn("user", &[output_of("a"), output_of("b")]);
        let one = turn("user", &[output_of("a")]);
        assert!(of(&[&user, &calls, &both]).is_empty());
        assert_eq!(of(&[&calls, &both]), ["the first turn is not the user's"]);
        assert_eq!(of(&[&user, &calls, &one]).len(), 1);
        assert_eq!(of(&[&user, &one]).len(), 1);
        assert_eq!(of(&[&user, &calls, &user]).len(), 1);
    }

    #[test]
    fn tools_are_declared_many_at_once() {
        let schema = json!({ "properties": { "command": {} } });
        let entry = json!({ "functionDeclarations": [
            { "name": "run_shell_command", "parametersJsonSchema": schema },
            { "name": "glob", "parameters": schema },
        ]});
        let tools = tools(&entry);
        assert_eq!(
            tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
            ["run_shell_command", "glob"]
        );
        assert!(tools.iter().all(|tool| tool.properties["command"].is_object()));
    }

    #[test]
    fn an_answer_ends_with_its_reason_and_what_it_cost() {
        let turn = Turn { thought: "Hm.".into(), text: "Hello.".into(), ..Turn::default() };
        let events = events(&Reply::to(&json!({}), 1, &turn, Vec::new()));
        assert_eq!(events.len(), 2);
        assert_eq!(events[0]["candidates"][0]["content"]["parts"][0]["thought"], true);
        assert_eq!(events[1]["candidates"][0]["finishReason"], "STOP");
        assert_eq!(events[1]["usageMetadata"]["candidatesTokenCount"], OUTPUT_TOKENS);
    }
}
