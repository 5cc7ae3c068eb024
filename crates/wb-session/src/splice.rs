//! Single members of a JSON object, replaced, removed and added in its text; all other bytes stay.
//!
//! The text must be a JSON object; of anything else the result is some text. Only members of the object itself are
//! found, not those of what it holds.

use std::ops::Range;

/// Where a member of an object stands in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    /// The key, quotation marks included.
    key: Range<usize>,
    /// The value, without white space around it.
    value: Range<usize>,
}

/// Returns the text of a member's value; of several members with one key the last.
pub(crate) fn get<'a>(object: &'a [u8], key: &str) -> Option<&'a [u8]> {
    place(object, key).and_then(|member| object.get(member.value))
}

/// Returns the object with a member set: its value replaced where it stands, or the member added at the end.
pub(crate) fn set(object: &[u8], key: &str, value: &[u8]) -> Vec<u8> {
    if let Some(Member { value: old, .. }) = place(object, key) {
        return [&object[..old.start], value, &object[old.end..]].concat();
    }
    let end = object.iter().rposition(|byte| *byte == b'}').unwrap_or(object.len());
    let is_empty = object[..end].trim_ascii_end().ends_with(b"{");
    let comma = if is_empty { "" } else { "," };
    let name = format!("{comma}\"{key}\":");
    [&object[..end], name.as_bytes(), value, &object[end..]].concat()
}

/// Returns the object without a member, and without one of the commas next to it.
pub(crate) fn remove(object: &[u8], key: &str) -> Vec<u8> {
    let Some(Member { key, value }) = place(object, key) else { return object.to_vec() };
    let before = object[..key.start].trim_ascii_end();
    if let Some(before) = before.strip_suffix(b",") {
        return [before, &object[value.end..]].concat();
    }
    let after = object[value.end..].trim_ascii_start();
    [&object[..key.start], after.strip_prefix(b",").map_or(after, <[u8]>::trim_ascii_start)].concat()
}

/// Finds the last member of a key; keys are compared as they are written, since writers escape none of ours.
fn place(object: &[u8], key: &str) -> Option<Member> {
    let is_key = |member: &Member| {
        object.get(member.key.start + 1..member.key.end.saturating_sub(1)) == Some(key.as_bytes())
    };
    Members { text: object, at: object.iter().position(|byte| *byte == b'{')? + 1 }.filter(is_key).last()
}

/// Walks over the members of an object.
struct Members<'a> {
    text: &'a [u8],
    at: usize,
}

impl Iterator for Members<'_> {
    type Item = Member;

    fn next(&mut self) -> Option<Member> {
        let start = self.skip_while(|byte| byte.is_ascii_whitespace() || byte == b',')?;
        let key = start..self.end_of_string(start)?;
        self.at = key.end;
        let start = self.skip_while(|byte| byte.is_ascii_whitespace() || byte == b':')?;
        let end = self.end_of_value(start)?;
        self.at = end;
        let n_bytes = self.text[start..end].trim_ascii_end().len();
        Some(Member { key, value: start..start + n_bytes })
    }
}

impl Members<'_> {
    fn skip_while(&mut self, is_skipped: impl Fn(u8) -> bool) -> Option<usize> {
        self.at += self.text.get(self.at..)?.iter().position(|byte| !is_skipped(*byte))?;
        Some(self.at)
    }

    /// Returns the place after the string that starts here; nothing if none does.
    fn end_of_string(&self, start: usize) -> Option<usize> {
        let mut is_escaped = false;
        let rest = self.text.get(start..)?.strip_prefix(b"\"")?;
        let n_bytes = rest.iter().position(|byte| {
            let is_end = *byte == b'"' && !is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
            is_end
        })?;
        Some(start + n_bytes + 2)
    }

    /// Returns the place of the comma or brace that ends the value that starts here.
    fn end_of_value(&self, start: usize) -> Option<usize> {
        let (mut at, mut depth) = (start, 0_usize);
        loop {
            match self.text.get(at)? {
                b'"' => {
                    at = self.end_of_string(at)?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b',' | b'}' if depth == 0 => return Some(at),
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &str = r#"{ "a" : {"b":[1,"}\"",{}],"c":0} ,"é\\":"x","b": 1.50 , "d":null}"#;

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_member_of_the_object_itself_is_found() {
        let found = |key| get(OBJECT.as_bytes(), key).map(|value| std::str::from_utf8(value).unwrap());
        assert_eq!(found("a"), Some(r#"{"b":[1,"}\"",{}],"c":0}"#));
        assert_eq!((found("b"), found("d"), found("c")), (Some("1.50"), Some("null"), None));
    }

    #[test]
    fn a_value_is_replaced_where_it_stands_or_added_at_the_end() {
        assert_eq!(text(set(br#"{"a":1, "b":2 }"#, "a", b"[3]")), r#"{"a":[3], "b":2 }"#);
        assert_eq!(text(set(br#"{"a":1}"#, "b", b"2")), r#"{"a":1,"b":2}"#);
        assert_eq!(text(set(b"{ }", "b", b"2")), r#"{ "b":2}"#);
        assert_eq!(text(set(b"{\"a\":1}\r", "b", b"2")), "{\"a\":1,\"b\":2}\r");
    }

    #[test]
    fn a_member_is_removed_with_one_comma() {
        for (key, left) in [("a", r#"{"b":2,"c":3}"#), ("b", r#"{"a":1,"c":3}"#), ("c", r#"{"a":1,"b":2}"#)] {
            assert_eq!(text(remove(br#"{"a":1,"b":2,"c":3}"#, key)), left);
        }
        assert_eq!(text(remove(br#"{"a":1}"#, "a")), "{}");
        assert_eq!(text(remove(br#"{"a":1}"#, "x")), r#"{"a":1}"#);
    }

    #[test]
    fn what_is_set_is_read_back_as_json_and_all_else_is_as_it_was() {
        let before: serde_json::Value = serde_json::from_str(OBJECT).unwrap();
        for key in ["a", "b", "d", "new"] {
            let after: serde_json::Value =
                serde_json::from_slice(&set(OBJECT.as_bytes(), key, b"[7]")).unwrap();
            let mut expected = before.clone();
            expected[key] = serde_json::json!([7]);
            assert_eq!(after, expected);
            let gone: serde_json::Value = serde_json::from_slice(&remove(OBJECT.as_bytes(), key)).unwrap();
            assert_eq!(gone.as_object().unwrap().len(), 4 - usize::from(key != "new"));
        }
    }

    #[test]
    fn text_that_is_no_object_gives_some_text() {
        for end in 0..OBJECT.len() {
            let cut = &OBJECT.as_bytes()[..end];
            assert!(set(cut, "b", b"1").len() + remove(cut, "b").len() >= cut.len());
        }
        assert_eq!(get(b"[1]", "a"), None);
    }
}
