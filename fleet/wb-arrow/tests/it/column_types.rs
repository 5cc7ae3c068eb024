use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BinaryViewArray, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch,
    StringArray, StringViewArray,
};
use arrow_json::ReaderBuilder;
use arrow_schema::{DataType, Field, Fields, Schema};
use serde_json::json;
use wb_arrow::analyze;

use crate::common::{batch, error, options, session, text};

fn answer(messages: ArrayRef) -> RecordBatch {
    analyze(&batch(vec![("messages".to_owned(), messages)]), &options(&json!({}))).unwrap()
}

#[test]
fn every_type_of_text_has_the_same_answer() {
    let list = session(6).to_string();
    let rows = vec![Some(list.as_str()), None];
    let bytes = vec![Some(list.as_bytes()), None];
    let plain = answer(Arc::new(StringArray::from(rows.clone())));
    let others: [ArrayRef; 5] = [
        Arc::new(LargeStringArray::from(rows.clone())),
        Arc::new(StringViewArray::from(rows)),
        Arc::new(BinaryArray::from_opt_vec(bytes.clone())),
        Arc::new(LargeBinaryArray::from_opt_vec(bytes.clone())),
        Arc::new(BinaryViewArray::from_iter(bytes)),
    ];
    for other in others {
        assert_eq!(answer(other), plain);
    }
}

#[test]
fn nested_messages_are_those_of_their_json() {
    let text_field = |name: &str| Field::new(name, DataType::Utf8, true);
    let list_of = |name: &str, item| Field::new_list(name, Field::new("item", item, true), true);
    let function = DataType::Struct(Fields::from(vec![text_field("name"), text_field("arguments")]));
    let call = vec![text_field("id"), text_field("type"), Field::new("function", function, true)];
    let calls = list_of("tool_calls", DataType::Struct(Fields::from(call)));
    let message = vec![text_field("role"), text_field("content"), calls, text_field("tool_call_id")];
    let messages = list_of("messages", DataType::Struct(Fields::from(message)));
    let schema = Arc::new(Schema::new(vec![messages]));
    let mut decoder = ReaderBuilder::new(schema).build_decoder().unwrap();
    decoder.serialize(&[json!({ "messages": session(6) })]).unwrap();
    let nested = decoder.flush().unwrap().unwrap();
    let nested = analyze(&nested, &options(&json!({}))).unwrap();
    assert_eq!(error(&nested, "message", 0), None);
    // An export has no nulls, so a call without a text has no content.
    let mut list = session(6);
    for message in list.as_array_mut().unwrap() {
        message.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    }
    assert_eq!(
        nested["tokens"].as_ref(),
        answer(Arc::new(StringArray::from(vec![list.to_string()])))["tokens"].as_ref()
    );
    assert_eq!(text(&nested, "format", 0), Some("openai-chat"));
}

#[test]
fn an_id_of_any_type_is_copied_as_text() {
    let messages: ArrayRef = Arc::new(StringArray::from(vec!["[]", "[]"]));
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None]));
    let answer = analyze(
        &batch(vec![("id".to_owned(), ids), ("messages".to_owned(), messages)]),
        &options(&json!({ "parts": [] })),
    );
    let answer = answer.unwrap();
    assert_eq!((text(&answer, "id", 0), text(&answer, "id", 1)), (Some("7"), None));
}
