//! Chat Completions of `OpenAI`.

use serde_json::{Value, json};

use super::{Item, OUTPUT_TOKENS, Reply, Tool, list, string, who, words};

pub(super) fn tool(tool: &Value) -> Tool {
    let function = &tool["function"];
    Tool { name: string(&function["name"]), properties: function["parameters"]["properties"].clone() }
}

/// Reads the messages; instructions of the host come first in this dialect and count as parts.
pub(super) fn items(body: &Value) -> Vec<Item> {
    list(&body["messages"]).iter().flat_map(message).collect()
}

fn message(message: &Value) -> Vec<Item> {
    let words = words(&message["content"]);
    if message["role"] == "tool" {
        return vec![Item::Output(string(&message["tool_call_id"]), words)];
    }
    let text = (!words.is_empty()).then(|| Item::Text(who(&message["role"]), words));
    let calls = list(&message["tool_calls"]).iter().map(|call| Item::Call(string(&call["id"])));
    text.into_iter().chain(calls).collect()
}

/// Finds outputs that do not directly follow the message with their call, as the dialect demands.
pub(super) fn faults(body: &Value) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut faults = Vec::new();
    for message in list(&body["messages"]) {
        if message["role"] == "tool" {
            let id = string(&message["tool_call_id"]);
            if !open.contains(&id) {
                faults.push(format!("an output of {id} that is not behind its call"));
            }
            continue;
        }
        open = list(&message["tool_calls"]).iter().map(|call| string(&call["id"])).collect();
    }
    faults
}

pub(super) fn events(reply: &Reply) -> Vec<Value> {
    let reason = if reply.calls.is_empty() { "stop" } else { "tool_calls" };
    let choice = |delta: Value, reason: Value| json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
    let said = choice(json!({"role": "assistant", "content": reply.text}), Value::Null);
    let called = choice(json!({"tool_calls": calls(reply)}), Value::Null);
    let mut chunks = vec![chunk(reply, &said)];
    if !reply.thought.is_empty() {
        let thought = json!({"role": "assistant", "reasoning_content": reply.thought});
        chunks.insert(0, chunk(reply, &choice(thought, Value::Null)));
    }
    if !reply.calls.is_empty() {
        chunks.push(chunk(reply, &called));
    }
    chunks.push(chunk(reply, &choice(json!({}), reason.into())));
    let mut last = chunk(reply, &json!([]));
    last["usage"] = json!({
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": reply.input_tokens + OUTPUT_TOKENS,
    });
    chunks.push(last);
    chunks
}

fn calls(reply: &Reply) -> Vec<Value> {
    let call = |(index, call): (usize, &super::Called)| {
        let function = json!({"name": call.name, "arguments": call.input.to_string()});
        json!({"index": index, "id": call.id, "type": "function", "function": function})
    };
    reply.calls.iter().enumerate().map(call).collect()
}

fn chunk(reply: &Reply, choices: &Value) -> Value {
    json!({
        "id": format!("chatcmpl-scripted-{:04}", reply.number),
        "object": "chat.completion.chunk",
        "created": 1,
        "model": reply.model,
        "choices": choices,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Who;
    use super::*;

    #[test]
    fn an_output_behind_words_is_refused() {
        let [called, output] = [
            json!({"role": "assistant", "tool_calls": [{"id": "a"}]}),
            json!({"role": "tool", "tool_call_id": "a"}),
        ];
        let words = json!({"role": "user", "content": "Go."});
        assert!(faults(&json!({"messages": [words, called, output]})).is_empty());
        let found = faults(&json!({"messages": [called, words, output]}));
        assert_eq!(found, ["an output of a that is not behind its call"]);
    }

    #[test]
    fn texts_calls_and_outputs_are_read_in_order() {
        let body = json!({"messages": [
            {"role": "system", "content": "Rules."},
            {"role": "user", "content": [{"type": "text", "text": "Go."}]},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c1"}, {"id": "c2"}]},
            {"role": "tool", "tool_call_id": "c1", "content": "out"},
        ]});
        assert_eq!(
            items(&body),
            [
                Item::Text(Who::Host, "Rules.".into()),
                Item::Text(Who::User, "Go.".into()),
                Item::Call("c1".into()),
                Item::Call("c2".into()),
                Item::Output("c1".into(), "out".into()),
            ]
        );
    }
}
