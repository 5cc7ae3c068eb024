//! Parts of a Gemini content: their meaning in a message, and their written form.

use serde_json::{Value, json};
use wb_message::Block;
use wb_message::block::output_blocks;
use wb_record::json::set_in;

use crate::kit::fields::{take_text, text_of};

/// The meaning of a part in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GeminiPart {
    /// Content of a speaker: the part, with its signature before it.
    Blocks(Vec<Block>),
    /// The result of a tool.
    Result { id: Option<String>, name: String, content: Vec<Block>, is_error: bool },
}

impl GeminiPart {
    /// Reads a part. A call without an id gets none; it is known by its name and its order.
    pub(crate) fn parse(mut part: Value) -> Self {
        if let Some(response) = part.get_mut("functionResponse").map(Value::take) {
            return result(response);
        }
        let signature = take_text(&mut part, "thoughtSignature");
        if part.get("thought") == Some(&Value::Bool(true)) {
            let text = take_text(&mut part, "text").unwrap_or_default();
            return Self::Blocks(vec![Block::Thinking { text, signature }]);
        }
        let before = signature.map(|it| Block::Thinking { text: String::new(), signature: Some(it) });
        Self::Blocks(before.into_iter().chain(block(part)).collect())
    }
}

/// Reads a list of parts, one part or a text.
pub(crate) fn parts(content: Value) -> Vec<GeminiPart> {
    match content {
        Value::Array(parts) => parts.into_iter().map(GeminiPart::parse).collect(),
        Value::Null => Vec::new(),
        part => vec![GeminiPart::parse(part)],
    }
}

fn block(mut part: Value) -> Option<Block> {
    if let Value::String(text) = part {
        return (!text.is_empty()).then(|| Block::text(text));
    }
    if let Some(text) = take_text(&mut part, "text") {
        return (!text.is_empty()).then(|| Block::text(text));
    }
    if let Some(mut call) = part.get_mut("functionCall").map(Value::take) {
        let id = take_text(&mut call, "id").unwrap_or_default();
        let name = take_text(&mut call, "name").unwrap_or_default();
        let input = call.get_mut("args").map(Value::take).filter(Value::is_object);
        return Some(Block::ToolCall { id, name, input: input.unwrap_or_else(|| json!({})) });
    }
    if let Some(mut data) = part.get_mut("inlineData").map(Value::take) {
        let media_type = take_text(&mut data, "mimeType").unwrap_or_default();
        return Some(match take_text(&mut data, "data") {
            Some(bytes) if media_type.starts_with("image/") => Block::image(media_type, bytes),
            _ => Block::text(format!("[document: {media_type}]")),
        });
    }
    if let Some(file) = part.get("fileData") {
        return Some(Block::text(format!("[file: {}]", text_of(file.get("fileUri")))));
    }
    let is_empty = part.as_object().is_none_or(serde_json::Map::is_empty);
    (!is_empty).then(|| Block::text(part.to_string()))
}

fn result(mut response: Value) -> GeminiPart {
    let id = take_text(&mut response, "id");
    let name = take_text(&mut response, "name").unwrap_or_default();
    let pictures = response.get_mut("parts").map(Value::take).unwrap_or_default();
    let (mut content, is_error) = body(response.get_mut("response").map(Value::take).unwrap_or_default());
    content.extend(parts(pictures).into_iter().flat_map(|part| match part {
        GeminiPart::Blocks(blocks) => blocks,
        GeminiPart::Result { content, .. } => content,
    }));
    GeminiPart::Result { id, name, content, is_error }
}

/// Returns the blocks of a response that a model sees, and whether it reports an error.
fn body(mut response: Value) -> (Vec<Block>, bool) {
    let is_sole = response.as_object().is_some_and(|it| it.len() == 1);
    for (key, is_error) in [("output", false), ("error", true)] {
        if let Some(Value::String(text)) = response.get_mut(key).filter(|_| is_sole).map(Value::take) {
            return (if text.is_empty() { Vec::new() } else { vec![Block::Text { text }] }, is_error);
        }
    }
    let is_error = response.get("error").is_some_and(|it| !it.is_null());
    (output_blocks(&response), is_error)
}

/// Returns a part that holds a response with another body in it.
pub(crate) fn with_body(part: &[u8], text: &str, is_error: bool) -> Vec<u8> {
    let key = if is_error { "error" } else { "output" };
    let response = json!({ key: text }).to_string();
    let part = set_in(part, &["functionResponse", "response"], response.as_bytes());
    let pictures =
        wb_record::json::get(&part, "functionResponse").map(|it| wb_record::json::remove(it, "parts"));
    pictures.map_or_else(|| part.clone(), |it| wb_record::json::set(&part, "functionResponse", &it))
}

/// Returns blocks as parts; `None` if one is neither a text nor a picture.
pub(crate) fn parts_of(blocks: &[Block]) -> Option<Vec<Value>> {
    let part = |block: &Block| match block {
        Block::Text { text } => Some(json!({ "text": text })),
        Block::Image { media_type, data_base64 } => {
            Some(json!({ "inlineData": { "mimeType": media_type, "data": data_base64 } }))
        }
        _ => None,
    };
    blocks.iter().map(part).collect()
}

/// Returns a result as a part; without an id where its call has none.
pub(crate) fn part_of_result(id: Option<&str>, name: &str, text: &str, is_error: bool) -> Value {
    let key = if is_error { "error" } else { "output" };
    let mut response = json!({ "name": name, "response": { key: text } });
    if let Some(id) = id {
        response["id"] = id.into();
    }
    json!({ "functionResponse": response })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result_of(response: &Value) -> (Vec<Block>, bool) {
        match GeminiPart::parse(
            json!({ "functionResponse": { "id": "c", "name": "f", "response": response } }),
        ) {
            GeminiPart::Result { content, is_error, .. } => (content, is_error),
            GeminiPart::Blocks(blocks) => panic!("{blocks:?}"),
        }
    }

    #[test]
    fn a_signature_precedes_its_part() {
        let part = json!({ "functionCall": { "name": "f", "args": { "a": 1 } }, "thoughtSignature": "c2ln" });
        let signature = Block::Thinking { text: String::new(), signature: Some("c2ln".to_owned()) };
        assert_eq!(
            GeminiPart::parse(part),
            GeminiPart::Blocks(vec![signature, Block::call("", "f", json!({ "a": 1 }))])
        );
        let thought = json!({ "text": "Hm.", "thought": true });
        let thinking = Block::Thinking { text: "Hm.".to_owned(), signature: None };
        assert_eq!(GeminiPart::parse(thought), GeminiPart::Blocks(vec![thinking]));
    }

    #[test]
    fn a_response_shows_its_output_or_its_error_or_all_of_it() {
        assert_eq!(result_of(&json!({ "output": "a" })), (vec![Block::text("a")], false));
        assert_eq!(result_of(&json!({ "output": "" })), (vec![], false));
        assert_eq!(result_of(&json!({ "error": "no" })), (vec![Block::text("no")], true));
        assert_eq!(result_of(&json!({ "a": 1 })), (vec![Block::text(r#"{"a":1}"#)], false));
        assert_eq!(result_of(&Value::Null), (vec![], false));
    }

    #[test]
    fn what_is_no_text_is_shown() {
        let said = |part: Value| match GeminiPart::parse(part) {
            GeminiPart::Blocks(blocks) => blocks,
            other @ GeminiPart::Result { .. } => panic!("{other:?}"),
        };
        let picture = json!({ "inlineData": { "mimeType": "image/png", "data": "aGk=" } });
        assert_eq!(said(picture), [Block::image("image/png", "aGk=")]);
        let document = json!({ "inlineData": { "mimeType": "application/pdf", "data": "aGk=" } });
        assert_eq!(said(document), [Block::text("[document: application/pdf]")]);
        assert_eq!(said(json!({ "fileData": { "fileUri": "gs://a" } })), [Block::text("[file: gs://a]")]);
        assert_eq!(said(json!({ "x": 1 })), [Block::text(r#"{"x":1}"#)]);
        assert_eq!(
            (said(json!({})), said(json!("")), said(json!("a"))),
            (vec![], vec![], vec![Block::text("a")])
        );
    }

    #[test]
    fn another_body_keeps_the_other_members() {
        let part = br#"{"functionResponse":{"id":"c","x":1,"response":{"output":"long"},"parts":[{}]}}"#;
        let after = String::from_utf8(with_body(part, "short", false)).unwrap();
        assert_eq!(after, r#"{"functionResponse":{"id":"c","x":1,"response":{"output":"short"}}}"#);
    }
}
