//! Locates values in JSON text, so that one is read or replaced and all other bytes stay.
//!
//! Every function looks at one object or array, without nested values. Text that is not JSON has no
//! members.

pub(crate) mod scan;
pub mod splice;
pub(crate) mod reformatted;
pub(crate) mod whole_objects;

use std::borrow::Cow;
use std::ops::Range;

use crate::json::scan::JsonScan;

/// The place of an object's member in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// The key, without escapes.
    pub key: Cow<'a, str>,
    /// The first byte of the key, its quotation mark.
    pub start: usize,
    /// The value.
    pub value: Range<usize>,
}

/// Returns the members of an object in their order; nothing if the text is no whole object.
///
/// ```
/// let text = r#"{"a": 1, "b": [2]}"#;
/// let members = wb_record::json::members(text.as_bytes()).unwrap();
/// assert_eq!((members[1].key.as_ref(), &text[members[1].value.clone()]), ("b", "[2]"));
/// ```
pub fn members(object: &[u8]) -> Option<Vec<Member<'_>>> {
    members_of(std::str::from_utf8(object).ok()?)
}

/// Returns the members of an object whose text is known to be UTF-8.
pub fn members_of(object: &str) -> Option<Vec<Member<'_>>> {
    Some(members_within(object, "")?.0)
}

/// Returns the members of an object, and those of the object under one of its keys, in one reading;
/// without the latter if there is no object under the key. Their places are places in the inner
/// object.
pub fn members_within<'a>(
    object: &'a str,
    within: &str,
) -> Option<(Vec<Member<'a>>, Option<Vec<Member<'a>>>)> {
    let (mut scan, mut inner) = (JsonScan::new(object), None);
    let all = read_members(object, &mut scan, 0, |key, scan| {
        if key != within {
            return scan.value().map(drop);
        }
        if scan.peek()? != b'{' {
            inner = None;
            return scan.value().map(drop);
        }
        let from = scan.position();
        inner = Some(read_members(object, scan, from, |_, scan| scan.value().map(drop))?);
        Some(())
    })?;
    scan.end()?;
    Some((all, inner))
}

/// Reads an object that begins at a place in a text; the closure reads its members.
fn read_members<'a>(
    text: &'a str,
    scan: &mut JsonScan<'a>,
    from: usize,
    mut read: impl FnMut(&str, &mut JsonScan<'a>) -> Option<()>,
) -> Option<Vec<Member<'a>>> {
    let (mut all, mut end) = (Vec::with_capacity(FEW), from);
    scan.object(|key, scan| {
        // There is no quotation mark between two members.
        let start = end + text.as_bytes()[end..].iter().position(|byte| *byte == b'"')?;
        scan.peek()?;
        let value = scan.position();
        read(&key, scan)?;
        end = scan.position();
        all.push(Member { key, start: start - from, value: value - from..end - from });
        Some(())
    })?;
    Some(all)
}

/// Returns the places of the elements of an array; nothing if the text is no whole array.
pub fn elements(array: &[u8]) -> Option<Vec<Range<usize>>> {
    let (mut scan, mut all) = (JsonScan::new(std::str::from_utf8(array).ok()?), Vec::new());
    scan.list(|scan| {
        let value = scan.value()?;
        all.push(scan.position() - value.len()..scan.position());
        Some(())
    })?;
    scan.end()?;
    Some(all)
}

/// Returns the place of a value by the keys that lead to it; of several members with one key it is
/// the last.
pub fn find(object: &[u8], path: &[&str]) -> Option<Range<usize>> {
    find_in(std::str::from_utf8(object).ok()?, path)
}

fn find_in(object: &str, path: &[&str]) -> Option<Range<usize>> {
    let (first, rest) = path.split_first()?;
    let found = members_of(object)?.into_iter().rfind(|member| member.key == *first)?.value;
    if rest.is_empty() {
        return Some(found);
    }
    let inner = find_in(&object[found.clone()], rest)?;
    Some(found.start + inner.start..found.start + inner.end)
}

/// Returns the text of a member's value; of several members with one key the last.
pub fn get<'a>(object: &'a [u8], key: &str) -> Option<&'a [u8]> {
    find(object, &[key]).map(|place| &object[place])
}

/// Returns the text of a value by the keys that lead to it, if it is a string.
pub fn text(object: &[u8], path: &[&str]) -> Option<String> {
    serde_json::from_slice(&object[find(object, path)?]).ok()
}

/// Returns the object with a member set: its value replaced in place, or the member added at the
/// end.
pub fn set(object: &[u8], key: &str, value: &[u8]) -> Vec<u8> {
    if let Some(old) = find(object, &[key]) {
        return [&object[..old.start], value, &object[old.end..]].concat();
    }
    let end = object.iter().rposition(|byte| *byte == b'}').unwrap_or(object.len());
    let is_empty = object[..end].trim_ascii_end().ends_with(b"{");
    let comma = if is_empty { "" } else { "," };
    let name = format!("{comma}{}:", serde_json::Value::from(key));
    [&object[..end], name.as_bytes(), value, &object[end..]].concat()
}

/// Returns the object with a value set by the keys that lead to it; objects that are not there are
/// added.
pub fn set_in(object: &[u8], path: &[&str], value: &[u8]) -> Vec<u8> {
    match path {
        [] => value.to_vec(),
        [key] => set(object, key, value),
        [key, rest @ ..] => set(object, key, &set_in(get(object, key).unwrap_or(b"{}"), rest, value)),
    }
}

/// Returns the object without the members of a key, and without one of the commas next to each.
pub fn remove(object: &[u8], key: &str) -> Vec<u8> {
    let all = members(object).unwrap_or_default().into_iter().filter(|member| member.key == key);
    all.rev().fold(object.to_vec(), |object, member| remove_member(&object, &member))
}

fn remove_member(object: &[u8], Member { start, value, .. }: &Member<'_>) -> Vec<u8> {
    let start = *start;
    let before = object[..start].trim_ascii_end();
    if let Some(before) = before.strip_suffix(b",") {
        return [before, &object[value.end..]].concat();
    }
    let after = object[value.end..].trim_ascii_start();
    [&object[..start], after.strip_prefix(b",").map_or(after, <[u8]>::trim_ascii_start)].concat()
}

/// Returns the place in a text of a part that was borrowed from it.
///
/// ```
/// use wb_record::json::place_in;
/// let text = b"a bc";
/// assert_eq!(place_in(text, "bc"), None);
/// assert_eq!(place_in(text, std::str::from_utf8(&text[2..]).unwrap()), Some(2..4));
/// ```
pub fn place_in(text: &[u8], part: &str) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let end = start + part.len();
    (end <= text.len()).then_some(start..end)
}

/// The members that most objects have at most.
const FEW: usize = 8;

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
    fn a_value_is_replaced_in_place_or_added_at_the_end() {
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
        assert_eq!(text(remove(br#"{"a":1,"b":2,"a":3}"#, "a")), r#"{"b":2}"#);
        assert_eq!(text(remove(br#"{"a":1, "a":3 , "a":4}"#, "a")), "{}");
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
    fn the_members_of_an_object_and_of_one_in_it_are_those_of_two_readings() {
        for text in [
            OBJECT,
            r#"{"a":{}}"#,
            r#" {"x":[{}], "a" : { "k" : "}" , "l":{"m":1} } } "#,
            r#"{"a":7,"b":{"c":1}}"#,
            r#"{"a":"{","b":1}"#,
            r#"{"a":{"b":1},"a":null}"#,
            r#"{"a":{"b":1},"a":{"c":2}}"#,
            r#"{"\u0061":{"b":"\ud83d"}}"#,
            "{}",
        ] {
            let (outer, inner) = members_within(text, "a").unwrap();
            assert_eq!(Some(&outer), members_of(text).as_ref(), "{text}");
            let place = outer.iter().rfind(|member| member.key == "a").map(|member| member.value.clone());
            let alone = place.and_then(|place| members_of(&text[place]));
            assert!(inner.is_none() || inner == alone, "{text}");
            assert_eq!(inner.is_some(), alone.is_some(), "{text}");
        }
        for cut in (0..OBJECT.len()).filter(|at| OBJECT.is_char_boundary(*at)) {
            assert_eq!(members_within(&OBJECT[..cut], "a"), None);
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
