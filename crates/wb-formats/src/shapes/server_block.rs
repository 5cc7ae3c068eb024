//! Blocks that a provider's servers write, as text for a reader: tools that run there, their
//! results, and sources.

use serde_json::{Map, Value};
use wb_message::markers::SERVER_TOOL;

/// Keys whose values no reader needs: ids, and data for the servers alone.
const OPAQUE: [&str; 7] = ["type", "id", "tool_use_id", "signature", "media_type", "cache_control", "caller"];
/// The start of the keys with encrypted data.
const ENCRYPTED: &str = "encrypted_";
/// Blocks of the user's side that hold the text of others.
const ATTACHED: [&str; 3] = ["search_result", "document", "container_upload"];

/// Returns a block of a server as one text: its type or tool, and the texts in it; nothing for one
/// that is not known to be a server's and has no encrypted data.
///
/// A text that others wrote on the user's side is marked as attached.
pub(crate) fn server_text(block: &Value) -> Option<String> {
    let kind = block.get("type")?.as_str()?;
    let is_attached = ATTACHED.contains(&kind);
    let label = block.get("name").and_then(Value::as_str).unwrap_or(kind);
    let is_of_server =
        kind == "tool_reference" || kind.ends_with("_tool_use") || kind.ends_with("_tool_result");
    if !is_attached && !is_of_server && !has_encrypted(block) {
        return None;
    }
    let mut out = [if is_attached { "[" } else { SERVER_TOOL }, label].concat();
    let mut n_texts = 0;
    each_text(block, "", &mut |text| {
        if text != label && !text.trim().is_empty() {
            out.push_str(if n_texts == 0 { ": " } else { " · " });
            out.push_str(text.trim());
            n_texts += 1;
        }
    });
    out.push(']');
    Some(if is_attached { ["<attached_files>\n", &out, "\n</attached_files>"].concat() } else { out })
}

fn has_encrypted(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().any(has_encrypted),
        Value::Object(object) => {
            object.iter().any(|(key, value)| key.starts_with(ENCRYPTED) || has_encrypted(value))
        }
        _ => false,
    }
}

/// Passes each text of a block that a reader may need, in order.
fn each_text(value: &Value, key: &str, pass: &mut impl FnMut(&str)) {
    if OPAQUE.contains(&key) || key.starts_with(ENCRYPTED) {
        return;
    }
    let is_binary = |object: &Map<String, Value>, key: &str| {
        key == "data" && object.get("type").is_none_or(|kind| kind != "text")
    };
    match value {
        Value::String(text) => pass(text),
        Value::Number(number) => pass(&number.to_string()),
        Value::Array(list) => list.iter().for_each(|each| each_text(each, "", pass)),
        Value::Object(object) => {
            let shown = object.iter().filter(|(key, _)| !is_binary(object, key));
            shown.for_each(|(key, each)| each_text(each, key, pass));
        }
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_block_shows_its_texts_and_nothing_opaque() {
        let result = json!({ "type": "web_search_tool_result", "tool_use_id": "s1", "content": [
            { "type": "web_search_result", "url": "https://a.example", "title": "Beans",
              "encrypted_content": "Eq8C", "page_age": null },
        ] });
        for (block, expected) in [
            (
                json!({ "type": "server_tool_use", "id": "s1", "name": "web_search",
                     "input": { "query": "beans" } }),
                "[server tool web_search: beans]",
            ),
            (result, "[server tool web_search_tool_result: https://a.example · Beans]"),
            (
                json!({ "type": "bash_code_execution_tool_result", "tool_use_id": "s2",
                     "content": { "stdout": "ok\n", "stderr": "", "return_code": 0, "content": [] } }),
                "[server tool bash_code_execution_tool_result: ok · 0]",
            ),
            (json!({ "type": "tool_reference", "tool_name": "grep" }), "[server tool tool_reference: grep]"),
            (
                json!({ "type": "search_result", "source": "a", "content": [{ "type": "text", "text": "b" }] }),
                "<attached_files>\n[search_result: a · b]\n</attached_files>",
            ),
            (json!({ "type": "new_block", "encrypted_index": "E", "n": 1 }), "[server tool new_block: 1]"),
        ] {
            assert_eq!(server_text(&block).as_deref(), Some(expected));
        }
        for other in [json!({ "text": "no type" }), json!({ "type": "sound", "hz": 440 })] {
            assert_eq!(server_text(&other), None);
        }
    }
}
