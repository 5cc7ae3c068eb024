//! The length of a value as compact JSON, counted without serializing it.

use std::fmt::{self, Write};

use serde_json::{Number, Value};
use wb_message::Block;

/// Returns the number of characters of the value as compact JSON.
pub(crate) fn value_chars(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => number_chars(number),
        Value::String(text) => string_chars(text),
        Value::Array(items) => 2 + commas(items.len()) + items.iter().map(value_chars).sum::<u64>(),
        Value::Object(map) => {
            let entries = map.iter().map(|(key, value)| string_chars(key) + 1 + value_chars(value));
            2 + commas(map.len()) + entries.sum::<u64>()
        }
    }
}

fn commas(n_items: usize) -> u64 {
    n_items.saturating_sub(1) as u64
}

/// Returns the number of characters of a string as JSON: quotes and escapes included.
pub(crate) fn string_chars(text: &str) -> u64 {
    if text.len() < STEP {
        return 2 + text.bytes().map(|byte| u64::from(CHARS[byte as usize])).sum::<u64>();
    }
    2 + text_chars(text) + escape_chars(text.as_bytes())
}

/// The characters that each byte adds to a JSON string, for texts too short for steps.
const CHARS: [u8; 256] = {
    let mut chars = [0; 256];
    let mut byte = 0_u8;
    loop {
        // A character is counted with its first byte.
        chars[byte as usize] = (byte & 0xC0 != 0x80) as u8 + escape_of(byte);
        if byte == u8::MAX {
            break chars;
        }
        byte += 1;
    }
};

/// Returns the number of Unicode scalar values.
pub(crate) fn text_chars(text: &str) -> u64 {
    bytecount::num_chars(text.as_bytes()) as u64
}

/// Bytes per step of the escape count; at most 5 per byte keeps a step's sum within a byte.
const STEP: usize = 32;

/// Returns the characters added by escapes: 1 for `"`, `\` and the controls with a short escape, 5 for the other
/// controls (`\u00XX`).
fn escape_chars(bytes: &[u8]) -> u64 {
    let mut steps = bytes.chunks_exact(STEP);
    let whole: u64 = steps.by_ref().map(|step| u64::from(step_escapes(step))).sum();
    whole + u64::from(step_escapes(steps.remainder()))
}

/// Counts one step without branches, so that the compiler can use vector instructions.
fn step_escapes(step: &[u8]) -> u8 {
    step.iter().map(|&byte| escape_of(byte)).fold(0, u8::wrapping_add)
}

const fn escape_of(byte: u8) -> u8 {
    let control = (byte < 0x20) as u8;
    // \b \t \n \f \r have two-character escapes: 8, 9, 10, 12, 13.
    let short = (byte.wrapping_sub(8) < 6) as u8 & (byte != 11) as u8;
    control * 5 - short * 4 + (byte == b'"') as u8 + (byte == b'\\') as u8
}

fn number_chars(number: &Number) -> u64 {
    if let Some(value) = number.as_u64() {
        return digits(value);
    }
    if let Some(value) = number.as_i64() {
        return 1 + digits(value.unsigned_abs());
    }
    let mut counter = Counter(0);
    // The counter never fails.
    let _ = write!(counter, "{number}");
    counter.0
}

fn digits(value: u64) -> u64 {
    u64::from(value.checked_ilog10().unwrap_or(0)) + 1
}

/// A writer that counts ASCII characters.
struct Counter(u64);

impl Write for Counter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len() as u64;
        Ok(())
    }
}

/// Returns the number of characters of a block in wire form: tag, field names and escapes included.
pub(crate) fn block_chars(block: &Block) -> u64 {
    match block {
        Block::Text { text } => wire("text", &[("text", string_chars(text))]),
        Block::Thinking { text, signature } => {
            let signature = signature.as_deref().map(string_chars);
            wire("thinking", &[("text", string_chars(text))]) + optional("signature", signature)
        }
        Block::ToolCall { id, name, input } => {
            let fields =
                [("id", string_chars(id)), ("name", string_chars(name)), ("input", value_chars(input))];
            wire("tool_call", &fields)
        }
        Block::ToolResult { call_id, output, is_error } => {
            let fields = [("callId", string_chars(call_id)), ("output", value_chars(output))];
            wire("tool_result", &fields) + optional("isError", is_error.map(|flag| if flag { 4 } else { 5 }))
        }
        Block::Image { media_type, data_base64 } => {
            let fields = [("mediaType", string_chars(media_type)), ("dataBase64", string_chars(data_base64))];
            wire("image", &fields)
        }
        Block::Command { command, args } => {
            let args = args
                .as_deref()
                .map(|args| 2 + commas(args.len()) + args.iter().map(|arg| string_chars(arg)).sum::<u64>());
            wire("command", &[("command", string_chars(command))]) + optional("args", args)
        }
    }
}

/// Returns the length of `{"kind":"…"}` with a `,"name":value` for each field.
fn wire(kind: &str, fields: &[(&str, u64)]) -> u64 {
    let fields: u64 = fields.iter().map(|(name, value)| optional(name, Some(*value))).sum();
    r#"{"kind":""}"#.len() as u64 + kind.len() as u64 + fields
}

fn optional(name: &str, value: Option<u64>) -> u64 {
    value.map_or(0, |value| r#","":"#.len() as u64 + name.len() as u64 + value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn serialized_chars(value: &impl serde::Serialize) -> u64 {
        serde_json::to_string(value).unwrap().chars().count() as u64
    }

    #[test]
    fn escaped_bytes_count_as_serde_json_writes_them() {
        for code in 0..=0x2fff_u32 {
            let Some(c) = char::from_u32(code) else { continue };
            let text = format!("{c}{}", String::from(c).repeat(40));
            assert_eq!(string_chars(&text), serialized_chars(&text), "U+{code:04X}");
            let short = format!("a{c}b{c}");
            assert_eq!(string_chars(&short), serialized_chars(&short), "U+{code:04X}");
        }
    }

    #[test]
    fn numbers_and_nested_values_count_as_serialized() {
        let values = [
            json!(null),
            json!([true, false, [], {}, [[]]]),
            json!({"a": 1, "ключ": [-1, 0, 9, 10, u64::MAX, i64::MIN], "\"q\"": "\u{1}\u{7f}\u{2028}"}),
            json!([0.1, -0.0, 1e21, 1.5e-9, 100.0, 2.5e300, f64::MAX]),
        ];
        for value in values {
            assert_eq!(value_chars(&value), serialized_chars(&value), "{value}");
        }
    }

    #[test]
    fn blocks_count_as_their_wire_form() {
        let result = |is_error| Block::ToolResult { call_id: "c\n1".into(), output: json!("ok"), is_error };
        let blocks = [
            Block::text("a\"b"),
            Block::Thinking { text: "t".into(), signature: None },
            Block::Thinking { text: "t".into(), signature: Some("s\\".into()) },
            Block::call("id", "näme", json!({"k": [1, 2]})),
            result(None),
            result(Some(true)),
            result(Some(false)),
            Block::image("image/png", "AAAA"),
            Block::Command { command: "go".into(), args: None },
            Block::Command { command: "go".into(), args: Some(vec![]) },
            Block::Command { command: "go".into(), args: Some(vec!["a".into(), "b\"".into()]) },
        ];
        for block in blocks {
            assert_eq!(block_chars(&block), serialized_chars(&block), "{block:?}");
        }
    }
}
