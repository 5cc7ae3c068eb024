//! Anthropic Messages.

use serde_json::{Value, json};

use super::{Called, Item, OUTPUT_TOKENS, Reply, Tool, list, string, who, words};

pub(super) fn tool(tool: &Value) -> Tool {
    Tool { name: string(&tool["name"]), properties: tool["input_schema"]["properties"].clone() }
}

pub(super) fn items(body: &Value) -> Vec<Item> {
    list(&body["messages"]).iter().flat_map(message).collect()
}

fn message(message: &Value) -> Vec<Item> {
    let text = |text: String| Item::Text(who(&message["role"]), text);
    let content = &message["content"];
    if content.is_string() {
        return vec![text(words(content))];
    }
    let block = |block: &Value| match block["type"].as_str() {
        Some("text") => Some(text(string(&block["text"]))),
        Some("tool_use") => Some(Item::Call(string(&block["id"]))),
        Some("tool_result") => Some(Item::Output(string(&block["tool_use_id"]), words(&block["content"]))),
        _ => None,
    };
    list(content).iter().filter_map(block).collect()
}

pub(super) fn events(reply: &Reply) -> Vec<Value> {
    let text = (!reply.text.is_empty()).then(|| text_block(&reply.text));
    let blocks = text.into_iter().chain(reply.calls.iter().map(call_block));
    let blocks = blocks.enumerate().flat_map(|(index, (start, delta))| {
        [
            json!({"type": "content_block_start", "index": index, "content_block": start}),
            json!({"type": "content_block_delta", "index": index, "delta": delta}),
            json!({"type": "content_block_stop", "index": index}),
        ]
    });
    std::iter::once(start(reply)).chain(blocks).chain(end(reply)).collect()
}

/// The empty block, and what is added to it.
fn text_block(text: &str) -> (Value, Value) {
    (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text}))
}

fn call_block(call: &Called) -> (Value, Value) {
    let block = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
    (block, json!({"type": "input_json_delta", "partial_json": call.input.to_string()}))
}

fn start(reply: &Reply) -> Value {
    let message = json!({
        "id": format!("msg_scripted_{:04}", reply.number),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": usage(reply, 1),
    });
    json!({"type": "message_start", "message": message})
}

fn end(reply: &Reply) -> [Value; 2] {
    let reason = if reply.calls.is_empty() { "end_turn" } else { "tool_use" };
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    let usage = usage(reply, OUTPUT_TOKENS);
    [json!({"type": "message_delta", "delta": delta, "usage": usage}), json!({"type": "message_stop"})]
}

fn usage(reply: &Reply, output_tokens: usize) -> Value {
    json!({
        "input_tokens": reply.input_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": output_tokens,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Who;
    use super::*;

    #[test]
    fn texts_calls_and_outputs_are_read_in_order() {
        let body = json!({"messages": [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "Yes."},
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "out"}]}]},
        ]});
        assert_eq!(
            items(&body),
            [
                Item::Text(Who::User, "Go.".into()),
                Item::Text(Who::Assistant, "Yes.".into()),
                Item::Call("t1".into()),
                Item::Output("t1".into(), "out".into()),
            ]
        );
    }
}
