//! Foreign JSON texts and values, with a fast path for ordinary ones.

use memchr::memchr;
use serde_json::Value;
use wb_record::Line;

/// Returns a string; `None` for another kind.
pub(crate) fn text(json: &str) -> Option<String> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    unescaped(inner).or_else(|| parsed(json.as_bytes()))
}

/// Resolves single-character escapes, which are nearly all in long texts; `None` if there are
/// others.
fn unescaped(mut rest: &str) -> Option<String> {
    let mut out = String::with_capacity(rest.len());
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        out.push(match rest.as_bytes().get(at + 1)? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            byte @ (b'"' | b'\\' | b'/') => char::from(*byte),
            _ => return None,
        });
        rest = &rest[at + 2..];
    }
    out.push_str(rest);
    Some(out)
}

/// Returns JSON without blanks; unchanged if it is nested too deep.
pub(crate) fn compact(json: &str) -> String {
    value(json.as_bytes()).map_or_else(|| json.to_owned(), |value| value.to_string())
}

/// Parses JSON; half of a surrogate pair becomes U+FFFD.
pub(crate) fn value(json: &[u8]) -> Option<Value> {
    parsed(json)
}

fn parsed<T: serde::de::DeserializeOwned>(json: &[u8]) -> Option<T> {
    Line::alone(1, json).parse().ok()
}

/// Reads the arguments of a call; those that are nested too deep are a text.
pub(crate) fn input(json: &str) -> Value {
    value(json.as_bytes()).unwrap_or_else(|| Value::from(json))
}

/// Reads arguments: an object, or one in a string; anything else stays unchanged.
pub(crate) fn arguments(json: &str) -> Value {
    text(json).map_or_else(|| input(json), arguments_in)
}

/// Reads arguments from a text with an object; any other text stays one.
pub(crate) fn arguments_in(text: impl AsRef<str> + Into<String>) -> Value {
    match serde_json::from_str(text.as_ref()) {
        Ok(value @ Value::Object(_)) => value,
        _ => Value::String(text.into()),
    }
}

/// Returns a document without a leading byte order mark and blanks, and their length.
pub(crate) fn body_of(text: &[u8]) -> (usize, &[u8]) {
    let body = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text).trim_ascii_start();
    (text.len() - body.len(), body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_all_kinds_are_resolved() {
        for (json, expected) in [
            (r#""""#, ""),
            (r#""a\n\"b\"\\\/\t\r""#, "a\n\"b\"\\/\t\r"),
            (r#""\u00e9\b\ud83d\ude00""#, "é\u{8}😀"),
            (r#""half \ud83d""#, "half \u{FFFD}"),
            (r#""é\n""#, "é\n"),
        ] {
            assert_eq!(text(json).as_deref(), Some(expected), "{json}");
        }
        assert_eq!((text("7"), text("\""), text("\"\\\"")), (None, None, None));
    }
}
