//! Compact JSON written straight into a string.

use std::fmt::Write;

use serde_json::Value;

/// Appends a value as compact JSON, keys in order of insertion; byte for byte what `serde_json` writes.
pub fn json_into(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        // Writing into a string cannot fail.
        Value::Number(number) => _ = write!(out, "{number}"),
        Value::String(text) => string_into(out, text),
        Value::Array(items) => {
            let mut opening = '[';
            for item in items {
                out.push(std::mem::replace(&mut opening, ','));
                json_into(out, item);
            }
            out.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        Value::Object(map) => {
            let mut opening = '{';
            for (key, value) in map {
                out.push(std::mem::replace(&mut opening, ','));
                string_into(out, key);
                out.push(':');
                json_into(out, value);
            }
            out.push_str(if map.is_empty() { "{}" } else { "}" });
        }
    }
}

/// Appends a string with quotes and escapes.
fn string_into(out: &mut String, text: &str) {
    out.push('"');
    let mut copied = 0;
    while let Some(at) = find_escape(text.as_bytes(), copied) {
        out.push_str(&text[copied..at]);
        push_escape(out, text.as_bytes()[at]);
        copied = at + 1;
    }
    out.push_str(&text[copied..]);
    out.push('"');
}

fn push_escape(out: &mut String, byte: u8) {
    match byte {
        b'\n' => out.push_str("\\n"),
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b'\t' => out.push_str("\\t"),
        b'\r' => out.push_str("\\r"),
        0x08 => out.push_str("\\b"),
        0x0c => out.push_str("\\f"),
        // Writing into a string cannot fail.
        _ => _ = write!(out, "\\u{byte:04x}"),
    }
}

/// Returns the first byte at or after `from` that JSON escapes: a quote, a backslash or a control.
fn find_escape(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let found = escapes(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += size_of::<u64>();
    }
    let rest = bytes.get(at..)?.iter().position(|byte| matches!(byte, ..0x20 | b'"' | b'\\'))?;
    Some(at + rest)
}

/// Sets the top bit of each escaped byte; bits above the lowest one may be false positives.
fn escapes(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | is(b'"') | is(b'\\')) & (ONES << 7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(value: &Value) {
        let mut out = String::from("before ");
        json_into(&mut out, value);
        assert_eq!(out, format!("before {}", serde_json::to_string(value).unwrap()));
    }

    #[test]
    fn characters_are_escaped_like_serde_json_at_every_offset() {
        for code in (0..=0x2ff).chain(0x2000..=0x20ff).chain([0xd7ff, 0xffff, 0x1_f600]) {
            let Some(c) = char::from_u32(code) else { continue };
            for place in 0..=17 {
                check(&Value::String(format!("{}{c}{}", "é".repeat(place), "z".repeat(17 - place))));
            }
        }
    }

    #[test]
    fn neighbours_of_escaped_bytes_are_not_escaped() {
        let near: String =
            ['\u{1f}', ' ', '!', '"', '#', '[', '\\', ']', '\u{7f}', '\u{80}'].iter().collect();
        for shift in 0..9 {
            check(&Value::String(format!("{}{near}{near}", "x".repeat(shift))));
        }
    }

    #[test]
    fn nested_values_are_written_like_serde_json() {
        check(&json!(null));
        check(&json!([true, false, [], {}, [[]], [{}], ""]));
        check(&json!({"z": 1, "a\n": [-1, 0, u64::MAX, i64::MIN], "\"q\"": {"deep": {"er": null}}}));
        check(&json!([0.1, -0.0, 1e21, 1.5e-9, 100.0, 2.5e300, f64::MAX, 1e16, 123_456_789.0]));
    }
}
