//! JSON inside of a document: a value of it, or the text of one of its strings.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;
use serde_json::Value;

use super::json_text::text;

/// Bytes of a value that follow each other in the document too: from its start, or from behind an
/// escape.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The index in the value.
    start: usize,
    /// The place in the document.
    place: usize,
}

/// A value in a document, and the origin of its bytes if it is the text of a string.
#[derive(Debug)]
pub(crate) struct InnerJson<'a> {
    json: Cow<'a, [u8]>,
    runs: Vec<Run>,
    is_escaped: bool,
}

impl<'a> InnerJson<'a> {
    /// Reads the value at a place of a document. Of a string it is the text, if that begins like an
    /// object or a list.
    pub(crate) fn new(document: &'a [u8], place: Range<usize>) -> Option<Self> {
        let value = document.get(place.clone())?;
        if !value.starts_with(b"\"") {
            return Some(Self {
                json: value.into(),
                runs: vec![Run { start: 0, place: place.start }],
                is_escaped: false,
            });
        }
        let (json, runs) = unescaped(value, place.start)?;
        let begin = json.trim_ascii_start();
        let is_value = begin.starts_with(b"[") || begin.starts_with(b"{");
        is_value.then(|| Self { json: json.into(), runs, is_escaped: true })
    }

    pub(crate) fn json(&self) -> &[u8] {
        &self.json
    }

    pub(crate) fn is_escaped(&self) -> bool {
        self.is_escaped
    }

    /// Returns the place in the document of a part of the value.
    pub(crate) fn place(&self, part: Range<usize>) -> Range<usize> {
        let at = |at: usize| {
            let nth = self.runs.partition_point(|run| run.start <= at);
            let Run { start, place } = self.runs[nth.saturating_sub(1)];
            place + at - start
        };
        at(part.start)..at(part.end)
    }
}

/// Returns the text of a string that begins at a place, and its runs.
fn unescaped(string: &[u8], start: usize) -> Option<(Vec<u8>, Vec<Run>)> {
    let inner = string.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let (mut out, mut runs, mut at) =
        (Vec::with_capacity(inner.len()), vec![Run { start: 0, place: start + 1 }], 0);
    while at < inner.len() {
        let n = match escape_len(&inner[at..]) {
            0 => {
                let plain = memchr(b'\\', &inner[at..]).unwrap_or(inner.len() - at);
                out.extend_from_slice(&inner[at..at + plain]);
                at += plain;
                continue;
            }
            n => n,
        };
        out.extend(text(&format!("\"{}\"", str::from_utf8(inner.get(at..at + n)?).ok()?))?.bytes());
        at += n;
        runs.push(Run { start: out.len(), place: start + 1 + at });
    }
    Some((out, runs))
}

/// Returns the length of the escape at the start of a text, or 0 without one; a surrogate pair is
/// one escape.
fn escape_len(text: &[u8]) -> usize {
    match text {
        [b'\\', b'u', b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', _, _, b'\\', b'u', ..] => 12,
        [b'\\', b'u', ..] => 6,
        [b'\\', ..] => 2,
        _ => 0,
    }
}

/// Returns the JSON of a record of a list in a string; unchanged if it is not escaped.
pub(crate) fn plain(record: &[u8]) -> Cow<'_, [u8]> {
    let begin = record.trim_ascii_start();
    let begin = begin.strip_prefix(b"[").unwrap_or(begin).trim_ascii_start();
    let begin = begin.strip_prefix(b"{").unwrap_or(begin).trim_ascii_start();
    if !begin.starts_with(b"\\") {
        return record.into();
    }
    let json = str::from_utf8(record).ok().and_then(|record| text(&format!("\"{record}\"")));
    json.map_or(record.into(), |json| json.into_bytes().into())
}

/// Returns JSON as a part of a string.
pub(crate) fn escaped(json: &[u8]) -> Vec<u8> {
    let string = Value::from(String::from_utf8_lossy(json)).to_string();
    string.as_bytes()[1..string.len() - 1].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_text_are_found_where_they_are_escaped() {
        let document = r#"{"a":"[{\"b\":\"\\n\u00e9\ud83d\ude00é\"}, {\"c\":1}]"}"#.as_bytes();
        let value = InnerJson::new(document, 5..document.len() - 1).unwrap();
        assert!(value.is_escaped());
        let places = wb_record::json::elements(value.json()).unwrap();
        for (place, expected) in places.into_iter().zip(["{\"b\":\"\\né😀é\"}", r#"{"c":1}"#]) {
            let part = &document[value.place(place.clone())];
            assert_eq!((&value.json()[place], &*plain(part)), (expected.as_bytes(), expected.as_bytes()));
            assert_eq!(&*plain(&escaped(expected.as_bytes())), expected.as_bytes());
        }
        assert!(InnerJson::new(br#""plain""#, 0..7).is_none());
    }
}
