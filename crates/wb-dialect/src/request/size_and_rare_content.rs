//! The size of a request and the rare kinds of content in it, found in one walk: rules on a kind
//! that is nowhere check nothing.

use serde_json::Value;

/// A rare kind of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rare {
    Picture,
    /// A block of a provider's tool, or a compaction.
    ServerBlock,
    Breakpoint,
}

/// The size of a request, and the kinds of content that may be in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Contents {
    /// The bytes of the request as JSON.
    pub(crate) n_bytes: usize,
    kinds: [bool; 3],
}

impl Contents {
    pub(super) fn new(body: &Value) -> Self {
        let mut contents = Self::default();
        contents.add(body);
        contents
    }

    pub(crate) fn may_have(&self, kind: Rare) -> bool {
        self.kinds[kind as usize]
    }

    fn add(&mut self, value: &Value) {
        self.n_bytes += match value {
            Value::Null | Value::Bool(true) => 4,
            Value::Bool(false) => 5,
            Value::Number(number) => number.to_string().len(),
            Value::String(text) => n_text_bytes(text),
            Value::Array(list) => {
                for each in list {
                    self.add(each);
                }
                list.len().max(1) + 1
            }
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.n_bytes += n_text_bytes(key) + 1;
                    self.find(key, value);
                    self.add(value);
                }
                fields.len().max(1) + 1
            }
        };
    }

    fn find(&mut self, key: &str, value: &Value) {
        let kind = match key {
            "inlineData" | "inline_data" => Rare::Picture,
            "cache_control" => Rare::Breakpoint,
            "type" => match value.as_str().unwrap_or_default() {
                "tool_use" | "tool_result" | "text" => return,
                "image" | "image_url" | "input_image" => Rare::Picture,
                "compaction" => Rare::ServerBlock,
                kind if kind.ends_with("_tool_use") || kind.ends_with("_tool_result") => Rare::ServerBlock,
                _ => return,
            },
            _ => return,
        };
        self.kinds[kind as usize] = true;
    }
}

fn n_text_bytes(text: &str) -> usize {
    let escape = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 1,
        0..0x20 => 5,
        _ => 0,
    };
    text.len() + 2 + text.bytes().map(escape).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sizes_match_the_serialized_json() {
        for text in [
            "null",
            "true",
            "false",
            "[]",
            "{}",
            "-1.5",
            r#""a\n\"\\\u0001é/""#,
            r#"[1,[],{"a":{}},"b"]"#,
            r#"{"k\"":[null,{"a":1,"b":"c\td"}]}"#,
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(Contents::new(&value).n_bytes, value.to_string().len(), "{text}");
        }
    }

    #[test]
    fn a_kind_is_found_wherever_it_is() {
        let kinds = |value: Value| Contents::new(&json!({ "messages": [{ "content": [value] }] })).kinds;
        assert_eq!(kinds(json!({ "type": "text", "text": "image" })), [false; 3]);
        for picture in ["image", "image_url", "input_image"] {
            assert_eq!(kinds(json!({ "content": [{ "type": picture }] })), [true, false, false]);
        }
        assert_eq!(kinds(json!({ "inline_data": {} })), [true, false, false]);
        for block in ["server_tool_use", "web_search_tool_result", "compaction"] {
            assert_eq!(kinds(json!({ "type": block })), [false, true, false], "{block}");
        }
        assert_eq!(kinds(json!({ "type": "tool_use", "cache_control": {} })), [false, false, true]);
    }
}
