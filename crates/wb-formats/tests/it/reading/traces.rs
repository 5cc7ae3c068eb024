//! Spans and rows of traces: which request of each trace is read, and what a change writes.

use insta::assert_snapshot;
use serde_json::{Value, json};
use wb_message::Message;
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
