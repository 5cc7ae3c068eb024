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

/// The signature of every thought.
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

/// Finds faults that the provider would refuse: a first message that is not the user's, thoughts
/// that are unsigned or follow other blocks, and outputs that do not begin the message after their
/// calls.
pub(super) fn faults(body: &Value) -> Vec<String> {
    let messages = list(&body["messages"]);
    let first = messages.first().filter(|message| message["role"] != "user");
    let mut faults: Vec<String> =
        first.map(|_| "the first message is not the user's".into()).into_iter().collect();
    let mut open: Vec<&Value> = Vec::new();
    for message in messages {
        let blocks = list(&message["content"]);
        let outputs: Vec<&Value> =
            of_type(blocks, "tool_result").map(|block| &block["tool_use_id"]).collect();
        if outputs.len() != open.len() || !open.iter().all(|id| outputs.contains(id)) {
            faults.push(format!("calls {open:?} have the outputs {outputs:?} in the message behind them"));
        }
        if !blocks.iter().take(outputs.len()).all(|block| block["type"] == "tool_result") {
            faults.push("outputs do not begin their message".to_owned());
        }
        let thoughts: Vec<&Value> = of_type(blocks, "thinking").collect();
        if !blocks.iter().take(thoughts.len()).all(|block| block["type"] == "thinking")
            || thoughts.iter().any(|block| block["signature"] != SIGNATURE)
        {
            faults.push("a thought is not signed, or not first".to_owned());
        }
        open = of_type(blocks, "tool_use").map(|block| &block["id"]).collect();
    }
    if must_think(body) && is_without_its_thought(messages) {
        faults.push("calls that are underway have lost the thought that they began with".to_owned());
    }
    faults
}

/// Returns whether every answer has to begin with a thought.
pub(super) fn must_think(body: &Value) -> bool {
    body["thinking"]["type"] == "enabled"
}

/// Returns whether a request answers calls without a thought before them.
fn is_without_its_thought(messages: &[Value]) -> bool {
    let Some([calls, outputs]) = messages.last_chunk::<2>() else { return false };
    let has = |message: &Value, kind| of_type(list(&message["content"]), kind).next().is_some();
    has(outputs, "tool_result") && has(calls, "tool_use") && calls["content"][0]["type"] != "thinking"
}

fn of_type<'a>(blocks: &'a [Value], kind: &'static str) -> impl Iterator<Item = &'a Value> {
    blocks.iter().filter(move |block| block["type"] == kind)
}

pub(super) fn events(reply: &Reply) -> Vec<Value> {
    let text = (!reply.text.is_empty()).then(|| text_block(&reply.text));
    let thought = (!reply.thought.is_empty()).then(|| thought_block(&reply.thought));
    let blocks = thought.into_iter().chain(text).chain(reply.calls.iter().map(call_block));
    let blocks = blocks.enumerate().flat_map(|(index, (start, deltas))| {
        let start = json!({"type": "content_block_start", "index": index, "content_block": start});
        let delta = move |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
        let stop = json!({"type": "content_block_stop", "index": index});
        std::iter::once(start).chain(deltas.into_iter().map(delta)).chain([stop])
    });
    std::iter::once(start(reply)).chain(blocks).chain(end(reply)).collect()
}

/// The empty block, and what is added to it.
type Block = (Value, Vec<Value>);

fn thought_block(thought: &str) -> Block {
    let block = json!({"type": "thinking", "thinking": "", "signature": ""});
    let signature = json!({"type": "signature_delta", "signature": SIGNATURE});
    (block, vec![json!({"type": "thinking_delta", "thinking": thought}), signature])
}

fn text_block(text: &str) -> Block {
    (json!({"type": "text", "text": ""}), vec![json!({"type": "text_delta", "text": text})])
}

fn call_block(call: &Called) -> Block {
    let block = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
    (block, vec![json!({"type": "input_json_delta", "partial_json": call.input.to_string()})])
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
    fn what_the_provider_would_refuse_is_found() {
        let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a"}]});
        let output = json!({"type": "tool_result", "tool_use_id": "a"});
        let words = json!({"type": "text", "text": "Go."});
        let user = |blocks: &[&Value]| json!({"role": "user", "content": blocks});
        let of = |messages: &[&Value]| faults(&json!({"messages": messages}));
        let fine = [&user(&[&words]), &call, &user(&[&output, &words])];
        assert!(of(&fine).is_empty());
        assert_eq!(of(&fine[1..]), ["the first message is not the user's"]);
        assert_eq!(of(&[fine[0], &call, &user(&[&words, &output])]), ["outputs do not begin their message"]);
        assert_eq!(of(&[fine[0], &call, fine[0]]).len(), 1);
        let thought = json!({"type": "thinking", "signature": SIGNATURE});
        let late = json!({"role": "assistant", "content": [words, thought]});
        assert_eq!(of(&[fine[0], &late]), ["a thought is not signed, or not first"]);
        let thinking = json!({"thinking": {"type": "enabled"}, "messages": fine});
        assert_eq!(faults(&thinking), ["calls that are underway have lost the thought that they began with"]);
    }

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
