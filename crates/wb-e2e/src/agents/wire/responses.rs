//! Responses of `OpenAI`.

use serde_json::{Value, json};

use super::{Called, Item, OUTPUT_TOKENS, Reply, Tool, list, string, who, words};

/// Returns a tool, or those of a namespace, which come under names of both.
pub(super) fn tools(tool: &Value) -> Vec<Tool> {
    let with_name =
        |name: String, tool: &Value| Tool { name, properties: tool["parameters"]["properties"].clone() };
    let name = string(&tool["name"]);
    if tool["type"] != "namespace" {
        return vec![with_name(name, tool)];
    }
    let inner = list(&tool["tools"]).iter();
    inner.map(|tool| with_name([&name, BETWEEN, &string(&tool["name"])].concat(), tool)).collect()
}

/// Separates a namespace from a tool.
const BETWEEN: &str = "__";

pub(super) fn items(body: &Value) -> Vec<Item> {
    list(&body["input"]).iter().filter_map(item).collect()
}

fn item(item: &Value) -> Option<Item> {
    match item["type"].as_str().unwrap_or("message") {
        "message" => Some(Item::Text(who(&item["role"]), words(&item["content"]))),
        "function_call" => Some(Item::Call(string(&item["call_id"]))),
        "function_call_output" => Some(Item::Output(string(&item["call_id"]), words(&item["output"]))),
        _ => None,
    }
}

/// An item with the events that are its own, between those of its beginning and its end.
type Piece = (Value, Value, Vec<Value>);

/// Writes the events, which are numbered.
pub(super) fn events(reply: &Reply) -> Vec<Value> {
    let thought = (!reply.thought.is_empty()).then(|| thought(reply));
    let text = (!reply.text.is_empty()).then(|| message(reply));
    let calls = reply.calls.iter().map(|called| call(reply, called));
    let pieces: Vec<Piece> = thought.into_iter().chain(text).chain(calls).collect();
    let items: Vec<&Value> = pieces.iter().map(|(_, item, _)| item).collect();
    let created = json!({"type": "response.created", "response": response(reply, "in_progress", &[])});
    let completed = json!({"type": "response.completed", "response": response(reply, "completed", &items)});
    let between = pieces.iter().enumerate().flat_map(|(index, piece)| item_events(index, piece));
    let events = std::iter::once(created).chain(between).chain([completed]);
    let numbered = |(number, mut event): (usize, Value)| {
        event["sequence_number"] = number.into();
        event
    };
    events.enumerate().map(numbered).collect()
}

fn item_events(index: usize, (empty, item, own): &Piece) -> Vec<Value> {
    let added = json!({"type": "response.output_item.added", "item": empty});
    let done = json!({"type": "response.output_item.done", "item": item});
    let own = own.iter().cloned().map(|mut event| {
        event["item_id"] = item["id"].clone();
        event
    });
    let placed = |mut event: Value| {
        event["output_index"] = index.into();
        event
    };
    std::iter::once(added).chain(own).chain([done]).map(placed).collect()
}

fn thought(reply: &Reply) -> Piece {
    let item = |summary: Value| {
        let id = format!("rs_scripted_{:04}", reply.number);
        json!({"type": "reasoning", "id": id, "summary": summary, "encrypted_content": "c2NyaXB0ZWQ="})
    };
    let summary = json!([{"type": "summary_text", "text": reply.thought}]);
    (item(json!([])), item(summary), Vec::new())
}

fn message(reply: &Reply) -> Piece {
    let item = |status: &str, content: Value| {
        let id = format!("msg_scripted_{:04}", reply.number);
        json!({"type": "message", "id": id, "role": "assistant", "status": status, "content": content})
    };
    let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
    let event = |name: &str, key: &str, value: Value| json!({"type": format!("response.{name}"), "content_index": 0, key: value});
    let own = vec![
        event("content_part.added", "part", part("")),
        event("output_text.delta", "delta", reply.text.clone().into()),
        event("output_text.done", "text", reply.text.clone().into()),
        event("content_part.done", "part", part(&reply.text)),
    ];
    (item("in_progress", json!([])), item("completed", json!([part(&reply.text)])), own)
}

fn call(reply: &Reply, call: &Called) -> Piece {
    let item = |status: &str, arguments: &str| {
        let id = format!("fc_scripted_{:04}_{}", reply.number, call.id);
        let (namespace, name) = match call.name.rsplit_once(BETWEEN) {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, call.name.as_str()),
        };
        let mut item = json!({
            "type": "function_call", "id": id, "call_id": call.id, "name": name,
            "status": status, "arguments": arguments,
        });
        if let Some(namespace) = namespace {
            item["namespace"] = namespace.into();
        }
        item
    };
    let arguments = call.input.to_string();
    let own = vec![
        json!({"type": "response.function_call_arguments.delta", "delta": arguments}),
        json!({"type": "response.function_call_arguments.done", "arguments": arguments}),
    ];
    (item("in_progress", ""), item("completed", &arguments), own)
}

fn response(reply: &Reply, status: &str, output: &[&Value]) -> Value {
    json!({
        "id": format!("resp_scripted_{:04}", reply.number),
        "object": "response",
        "created_at": 1,
        "model": reply.model,
        "status": status,
        "output": output,
        "usage": {
            "input_tokens": reply.input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": OUTPUT_TOKENS,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": reply.input_tokens + OUTPUT_TOKENS,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Turn, Who};
    use super::*;

    #[test]
    fn texts_calls_and_outputs_are_read_in_order() {
        let body = json!({"input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Rules."}]},
            {"role": "user", "content": "Go."},
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "out"},
        ]});
        assert_eq!(
            items(&body),
            [
                Item::Text(Who::Host, "Rules.".into()),
                Item::Text(Who::User, "Go.".into()),
                Item::Call("c1".into()),
                Item::Output("c1".into(), "out".into()),
            ]
        );
    }

    #[test]
    fn events_are_numbered_and_name_the_item_that_they_belong_to() {
        let turn = Turn { text: "Hello.".into(), ..Turn::default() };
        let reply = Reply::to(&json!({}), 1, &turn, Vec::new());
        let events = events(&reply);
        let numbers: Vec<u64> = events.iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
        assert_eq!(numbers, (0..8).collect::<Vec<u64>>());
        assert_eq!(events[3]["item_id"], events[1]["item"]["id"]);
    }
}
