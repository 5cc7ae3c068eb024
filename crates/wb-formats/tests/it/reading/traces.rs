//! Spans and rows of traces: which request of each trace is read, and what a change writes.

use insta::assert_snapshot;
use serde_json::{Value, json};
use wb_message::{Block, Message};
use wb_record::{Item, MemoryParts, Stamp};

use crate::reading::composed::outline_of;
use crate::support::{detect, fixture, fixtures, of_parts, open};

#[test]
fn messages_of_opentelemetry_are_read_alone_and_in_an_export() {
    assert_snapshot!(outline_of("otel-genai/messages.json"));
    assert_snapshot!(outline_of("otel-genai/spans.json"));
    let document = of_parts(MemoryParts::from_bytes(fixture("otel-genai/spans.json")));
    assert_eq!(document.conversations().unwrap(), ["t0", "t1"]);
}

#[test]
fn the_longest_request_of_a_trace_is_read_from_langfuse_and_langsmith() {
    assert_snapshot!(outline_of("langfuse/rows.json"));
    assert_snapshot!(outline_of("langsmith/runs.jsonl"));
}

#[test]
fn session_traces_and_rows_of_sharegpt_have_calls_and_their_results() {
    assert_snapshot!(outline_of("sts/session.jsonl"));
    assert_snapshot!(outline_of("sharegpt/rows.json"));
    assert_snapshot!(outline_of("sharegpt/tags.jsonl"));
    let document = of_parts(MemoryParts::from_bytes(fixture("sharegpt/rows.json")));
    assert_eq!(document.conversations().unwrap(), ["greet", "sum"]);
    let messages = document.view("sum").unwrap().messages;
    assert!(matches!(&messages[0], Message::Custom { custom_type, .. } if &**custom_type == "system"));
    let ids = |message: &Message| match message {
        Message::ToolResult { tool_call_id, tool_name, .. } => (tool_call_id.clone(), tool_name.clone()),
        message => message.calls().map(|(id, name, _)| (id.to_owned(), name.to_owned())).next().unwrap(),
    };
    assert_eq!(ids(&messages[2]), ids(&messages[3]));
    assert_ne!(ids(&messages[3]), ids(&messages[7]));
}

#[test]
fn spans_of_openinference_are_read_flat_and_nested() {
    for name in ["spans.jsonl", "otlp.json", "nested.json", "frame.json"] {
        assert_snapshot!(outline_of(&format!("openinference/{name}")));
    }
}

#[test]
fn flat_attributes_are_numbered_again() {
    let span = folded("openinference/spans.jsonl", 1);
    let at = |key: &str| span["attributes"][format!("llm.input_messages.{key}")].clone();
    assert_eq!(at("0.message.role"), "system");
    assert_eq!((at("1.message.role"), at("1.message.content")), (json!("user"), json!("All of it.")));
    assert_eq!(at("2.message.role"), Value::Null);
    assert_eq!(span["attributes"]["llm.output_messages.0.message.content"], "The sum is 42 cents.");
    let export = folded("openinference/otlp.json", 1);
    let attributes = &export["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"];
    let all = attributes.as_array().unwrap().iter();
    let keys: Vec<&str> =
        all.map(|it| it["key"].as_str().unwrap()).filter(|key| key.contains("input_")).collect();
    assert_eq!(
        keys,
        ["0.message.role", "0.message.content", "1.message.role", "1.message.content"]
            .map(|key| format!("llm.input_messages.{key}"))
    );
    let nested = folded("openinference/nested.json", 1);
    assert_eq!(nested["attributes"]["llm"]["input_messages"][1]["message"]["content"], "All of it.");
}

#[test]
fn attributes_in_the_order_of_their_names_are_read_and_not_written() {
    let mut attributes = Vec::new();
    let mut order: Vec<usize> = (0..12).collect();
    order.sort_by_key(usize::to_string);
    for nth in order {
        let role = if nth % 2 == 0 { "user" } else { "assistant" };
        let content = format!(r#""llm.input_messages.{nth}.message.content":"{nth}""#);
        attributes.push(format!(r#"{content},"llm.input_messages.{nth}.message.role":"{role}""#));
    }
    let span = format!(r#"{{"trace_id":"t","attributes":{{{}}}}}"#, attributes.join(","));
    let document = of_parts(MemoryParts::from_bytes(span.into_bytes()));
    let view = document.view("").unwrap();
    assert_eq!(view.messages[11], Message::assistant("11"));
    let digest = Message::user("All of it.");
    let refused = document.render("", &view, &[Item::New(&digest), Item::Same(11)], &Stamp::default());
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("in the order of their messages"), "{refused}");
}

#[test]
fn only_traces_and_rows_of_these_shapes_are_taken_for_them() {
    let pi = r#"{"type":"session","version":3,"id":"s","harness":"h","cwd":"/"}"#;
    let old = r#"{"type":"session","id":"s","cwd":"/","harness":"h"}
{"type":"message","id":"e1","parentId":null,"message":{"role":"user","content":"Hi."}}"#;
    let trace = old.replace(r#""id":"e1","parentId":null,"#, "");
    let chat = r#"{"model":"gpt-4o","messages":[{"role":"system","content":""},{"role":"user","content":"the \"from\" and \"value\""}],"conversations":[]}"#;
    let bare = r#"[{"from":"human","value":"Hi."},{"from":"gpt","value":"Hello."}]"#;
    let expected = [(pi, "pi"), (old, "pi"), (&trace, "sts"), (chat, "openai-chat"), (bare, "sharegpt")];
    for (text, format) in expected {
        assert_eq!(detect(text.as_bytes()).map(wb_formats::Format::name), Some(format), "{text}");
    }
}

#[test]
fn digests_are_written_as_traces_and_rows_have_their_messages() {
    let row = folded("sharegpt/rows.json", 1);
    assert_eq!(row[1]["conversations"][0], json!({ "from": "human", "value": "All of it." }));
    assert_eq!(row[1]["conversations"].as_array().unwrap().len(), 2);
    assert_eq!(row[0]["conversations"].as_array().unwrap().len(), 2);
    let bytes = fixture("sts/session.jsonl");
    let mut document = of_parts(MemoryParts::from_bytes(bytes));
    let view = document.view("").unwrap();
    let (digest, cleared) = (Message::user("All of it."), [Block::text("[cleared]")]);
    let mut items: Vec<Item<'_>> = (0..view.messages.len()).map(Item::Same).collect();
    items[3] = Item::Body(3, (&cleared[..]).into());
    items.splice(1..2, [Item::New(&digest)]);
    let set = document.render("", &view, &items, &Stamp { now_ms: 7, ..Stamp::default() }).unwrap();
    document.commit(&set).unwrap();
    let text = String::from_utf8(document.parts().whole("").unwrap()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let new: Value = serde_json::from_str(lines[2]).unwrap();
    let message = json!({ "role": "user", "content": "All of it.", "timestamp": 7 });
    assert_eq!(new, json!({ "type": "message", "message": message }));
    assert_eq!(
        lines[4],
        r#"{"type":"message","message":{"role":"tool","toolCallId":"t1","content":"[cleared]"}}"#
    );
    let before = String::from_utf8(bytes.to_vec()).unwrap();
    let old: Vec<&str> = before.lines().collect();
    assert_eq!([&lines[..2], &lines[5..]].concat(), [&old[..2], &old[5..]].concat());
}

#[test]
fn a_row_is_recognized_before_its_end() {
    let said =
        json!([{ "role": "user", "content": "x".repeat(1 << 20) }, { "role": "assistant", "content": "y" }]);
    let said = said.to_string();
    let generation =
        format!(r#"{{"id":"g","traceId":"t","type":"GENERATION","model":"m","input":{said},"output":"z"}}"#);
    let run = format!(r#"{{"id":"r","run_type":"llm","inputs":{{"messages":{said}}},"outputs":null}}"#);
    for (row, format) in [(generation, "langfuse"), (run, "langsmith")] {
        assert_eq!(of_parts(MemoryParts::from_bytes(row.into_bytes())).format().name(), format);
    }
}

#[test]
fn a_flat_list_of_langchain_stays_flat() {
    assert_snapshot!(outline_of("langchain/flat.json"));
    let list = folded("langchain/flat.json", 1);
    assert_eq!(list["messages"][1], json!({ "content": "All of it.", "type": "human" }));
}

/// Returns a document in which a digest replaces the messages after some, up to the answer.
fn folded(name: &str, n_kept: usize) -> Value {
    let mut document = of_parts(MemoryParts::from_bytes(fixture(name)));
    let conversation = wb_formats::newest(document.as_ref()).unwrap();
    let view = document.view(&conversation).unwrap();
    let (digest, last) = (Message::user("All of it."), view.messages.len() - 1);
    let kept = (0..n_kept).map(Item::Same);
    let items: Vec<Item<'_>> = kept.chain([Item::New(&digest), Item::Same(last)]).collect();
    let set = document.render(&conversation, &view, &items, &Stamp::default()).unwrap();
    document.commit(&set).unwrap();
    let now = document.view(&conversation).unwrap();
    assert_eq!(now.messages.len(), n_kept + 2, "{:#?}", now.messages);
    let bytes = document.parts().held("").unwrap();
    serde_json::Deserializer::from_slice(bytes).into_iter::<Value>().last().unwrap().unwrap()
}

#[test]
fn a_digest_is_written_into_the_text_of_an_attribute() {
    let export = folded("otel-genai/spans.json", 1);
    let span = &export["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    let text = span["attributes"][3]["value"]["stringValue"].as_str().unwrap();
    let parts = json!([{ "type": "text", "content": "All of it." }]);
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), json!([{ "role": "user", "parts": parts }]));
    let run = folded("langsmith/runs.jsonl", 1);
    assert_eq!(run["inputs"]["messages"][0][1]["kwargs"]["content"], "All of it.");
}

#[test]
fn messages_with_parts_of_the_screen_are_still_refused() {
    let part = json!({ "type": "text", "text": "Look." });
    let list =
        json!([{ "id": "1", "role": "user", "parts": [part] }, { "role": "assistant", "parts": [part] }]);
    let error = open(list.to_string().as_bytes()).unwrap_err();
    assert!(error.to_string().contains("UIMessage"), "{error}");
}

#[test]
fn a_trace_without_messages_is_refused_with_a_hint() {
    let row = json!([{ "type": "GENERATION", "input": "How many?", "output": "12", "traceId": "t" }]);
    let error = open(row.to_string().as_bytes()).unwrap_err();
    assert!(error.to_string().contains("no request in this trace"), "{error}");
}

#[test]
fn a_request_that_was_compacted_is_read_again_next_to_longer_ones() {
    let say = |nth: usize| json!({ "role": if nth.is_multiple_of(2) { "user" } else { "assistant" }, "content": nth.to_string() });
    let row = |n: usize| {
        let input: Vec<Value> = (0..n).map(say).collect();
        json!({ "type": "GENERATION", "traceId": "t", "startTime": n.to_string(), "input": input, "output": null })
    };
    let rows = json!([row(3), row(9), row(5), row(7)]).to_string();
    let mut document = of_parts(MemoryParts::from_bytes(rows.as_bytes()));
    let view = document.view("").unwrap();
    assert_eq!(view.messages.len(), 9);
    let digest = Message::user(format!("{}\n# Goal", wb_message::markers::DIGEST_HEADER));
    let items = [Item::New(&digest), Item::Same(8)];
    let set = document.render("", &view, &items, &Stamp::default()).unwrap();
    document.commit(&set).unwrap();
    assert_eq!(document.view("").unwrap().messages, [digest, view.messages[8].clone()]);
}

#[test]
fn a_value_without_end_of_nesting_is_refused() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let row = r#"{"type":"GENERATION","input":1,"output":1}"#;
    let error = open(format!("[{row},{deep}]").as_bytes()).unwrap_err();
    assert!(error.to_string().contains("no request in this trace"), "{error}");
}

#[test]
fn every_composed_file_is_of_its_folder() {
    for (name, bytes) in fixtures() {
        let folder = name.split('/').next().unwrap();
        let found = detect(bytes).map(wb_formats::Format::name);
        assert_eq!(found, Some(folder), "{name}");
    }
}
