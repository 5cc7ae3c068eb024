//! Edits a settings file and preserves every other byte.

use std::ops::Range;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};
use wb_record::json::{Member, elements, members};

/// An object or array in a text, with the positions and keys of its children.
struct Container<'a> {
    text: &'a str,
    place: Range<usize>,
    children: Vec<Range<usize>>,
}

impl<'a> Container<'a> {
    /// Parses the value at a place; none if it is neither an object nor an array.
    fn parse(text: &'a str, place: Range<usize>) -> Option<Self> {
        let bytes = &text.as_bytes()[place.clone()];
        let shifted = |child: Range<usize>| place.start + child.start..place.start + child.end;
        let children = match members(bytes) {
            Some(members) => members.into_iter().map(|it: Member| shifted(it.start..it.value.end)).collect(),
            None => elements(bytes)?.into_iter().map(shifted).collect(),
        };
        Some(Self { text, place, children })
    }

    /// Returns the line feed and indent before each child; none if everything is on one line.
    fn lead(&self) -> Option<String> {
        let Some(first) = self.children.first() else {
            let is_flat = !self.text.contains('\n') && self.text.trim() != "{}";
            let (line, unit) = (indent_of(self.text, self.place.start), unit(self.text));
            return (!is_flat).then(|| format!("{}{line}{unit}", feed(self.text)));
        };
        let before = &self.text[self.place.start + 1..first.start];
        let blanks = before.rfind('\n').map(|at| &before[at + 1..])?;
        blanks.trim().is_empty().then(|| format!("{}{blanks}", feed(self.text)))
    }

    fn with(&self, key: Option<&str>, value: &impl Serialize) -> Option<String> {
        let lead = self.lead();
        let value = written(value, lead.as_ref().map(|_| unit(self.text)))?;
        let child = key.map_or_else(|| value.clone(), |key| format!("{}: {value}", Value::from(key)));
        let child = lead.as_ref().map_or_else(|| child.clone(), |lead| child.replace('\n', lead));
        let lead = lead.unwrap_or_default();
        let Range { start, end } = self.place;
        if let Some(last) = self.children.last() {
            return Some(spliced(self.text, last.end..last.end, &format!(",{lead}{child}")));
        }
        let tail = if lead.is_empty() { String::new() } else { self.closing() };
        Some(spliced(self.text, start + 1..end - 1, &format!("{lead}{child}{tail}")))
    }

    /// Returns the text before the closing bracket of a container with one child per line.
    fn closing(&self) -> String {
        format!("{}{}", feed(self.text), indent_of(self.text, self.place.start))
    }

    fn without(&self, at: usize) -> String {
        let child = &self.children[at];
        let Range { start, end } = self.place;
        let gone = match (at.checked_sub(1).map(|it| &self.children[it]), self.children.get(at + 1)) {
            (Some(before), None) => before.end..child.end,
            (_, Some(after)) => child.start..after.start,
            (None, None) => start + 1..end - 1,
        };
        spliced(self.text, gone, "")
    }
}

/// Adds a value at the end of the object or array at a place, in the style of the file.
pub(crate) fn add(
    text: &str,
    place: Range<usize>,
    key: Option<&str>,
    value: &impl Serialize,
) -> Option<String> {
    Container::parse(text, place)?.with(key, value)
}

/// Returns a value as JSON: on one line, or indented by `unit`.
fn written(value: &impl Serialize, unit: Option<&str>) -> Option<String> {
    let Some(unit) = unit else { return serde_json::to_string(value).ok() };
    let mut out = Vec::new();
    let style = PrettyFormatter::with_indent(unit.as_bytes());
    value.serialize(&mut Serializer::with_formatter(&mut out, style)).ok()?;
    String::from_utf8(out).ok()
}

/// Replaces a value by another, in the style of the file.
pub(crate) fn replaced(text: &str, place: Range<usize>, value: &impl Serialize) -> Option<String> {
    let is_flat = !text[place.clone()].contains('\n');
    let value = written(value, (!is_flat).then(|| unit(text)))?;
    let lead = format!("{}{}", feed(text), indent_of(text, place.start));
    Some(spliced(text, place, &value.replace('\n', &lead)))
}

/// Removes the child at an index of the container at a place.
pub(crate) fn remove(text: &str, place: Range<usize>, at: usize) -> Option<String> {
    let container = Container::parse(text, place)?;
    (at < container.children.len()).then(|| container.without(at))
}

/// Returns a text with a part of it replaced.
fn spliced(text: &str, place: Range<usize>, new: &str) -> String {
    [&text[..place.start], new, &text[place.end..]].concat()
}

/// Returns by how much a file indents.
fn unit(text: &str) -> &str {
    let lines = text.lines().skip(1).map(|line| &line[..line.len() - line.trim_start().len()]);
    lines.into_iter().find(|blanks| !blanks.is_empty()).unwrap_or("  ")
}

/// Returns how a file ends its lines.
fn feed(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Returns the blanks at the start of the line of a place.
fn indent_of(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |feed| feed + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Range<usize> {
        text.find('{').unwrap()..text.rfind('}').unwrap() + 1
    }

    #[test]
    fn what_is_added_looks_like_what_is_there() {
        for (before, after) in [
            ("{}", "{\n  \"k\": [\n    1\n  ]\n}"),
            ("{}\n", "{\n  \"k\": [\n    1\n  ]\n}\n"),
            ("{\n\t\"a\": 1\n}\n", "{\n\t\"a\": 1,\n\t\"k\": [\n\t\t1\n\t]\n}\n"),
            ("{\r\n  \"a\": 1\r\n}\r\n", "{\r\n  \"a\": 1,\r\n  \"k\": [\r\n    1\r\n  ]\r\n}\r\n"),
            ("{\"a\":1}", "{\"a\":1,\"k\": [1]}"),
        ] {
            assert_eq!(add(before, whole(before), Some("k"), &[1]).unwrap(), after, "{before:?}");
        }
    }

    #[test]
    fn what_is_added_and_removed_leaves_the_same_bytes() {
        for before in ["{\n  \"a\": {\"b\" : 2 } ,\n \"c\":[1,2]\n}\n", "{\"a\":1}", " {\n\t\"a\" : 1 }"] {
            let added = add(before, whole(before), Some("k"), &["x"]).unwrap();
            let last = Container::parse(&added, whole(&added)).unwrap().children.len() - 1;
            assert_eq!(remove(&added, whole(&added), last).unwrap(), before);
        }
    }

    #[test]
    fn each_child_is_removed_with_one_comma() {
        let text = "{ \"a\": 1, \"b\": 2, \"c\": 3 }";
        for (at, left) in
            [(0, "{ \"b\": 2, \"c\": 3 }"), (1, "{ \"a\": 1, \"c\": 3 }"), (2, "{ \"a\": 1, \"b\": 2 }")]
        {
            assert_eq!(remove(text, whole(text), at).as_deref(), Some(left));
        }
        assert_eq!(remove("{ \"a\": 1 }", 0..10, 0).as_deref(), Some("{}"));
        assert_eq!(remove("{}", 0..2, 0), None);
    }

    #[test]
    fn what_is_no_container_takes_nothing() {
        assert_eq!(add("{\"a\": 1}", 6..7, None, &2), None);
    }
}
