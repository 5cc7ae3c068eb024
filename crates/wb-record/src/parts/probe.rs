//! The start of a session, read once for all formats: which parts, which keys, and a few words.

use std::io;

use memchr::memchr;
use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::parts::part::Parts;
use crate::parts::span::{PartId, Span};

/// The bytes of a part by which its format is recognized.
const HEAD_BYTES: u64 = 64 * 1024;
/// The factor by which more is read if the first value is longer, repeatedly, up to a limit: the
/// fields that identify a document can follow a picture or all its messages.
const LONGER: u64 = 16;
const MOST_BYTES: u64 = HEAD_BYTES * LONGER * LONGER * LONGER;
/// The values by which a format is recognized, and the elements of a list.
const MAX_VALUES: usize = 64;
/// The parts that are named.
const MAX_PARTS: usize = 64;

/// The start of a session.
#[derive(Debug, Default)]
pub struct Probe {
    /// The names of the first parts; a single file has one without a name.
    pub parts: Vec<PartId>,
    /// The first values of the first part.
    pub values: Vec<ProbedValue>,
    /// The first bytes of the first part.
    pub head: Vec<u8>,
}

impl Probe {
    /// Looks at the first parts.
    pub fn new(parts: &dyn Parts) -> io::Result<Self> {
        let mut names = parts.list("")?;
        names.truncate(MAX_PARTS);
        let (mut values, mut head) = (Vec::new(), Vec::new());
        let mut span = names.first().map(|first| Span { part: first.clone(), at: 0, len: HEAD_BYTES });
        while let Some(start) = span.take() {
            let bytes = parts.bytes(&start)?;
            let (seen, is_first_whole) = ProbedValue::all_and_first(&bytes);
            values = seen;
            let is_longer = bytes.len() as u64 == start.len && start.len < MOST_BYTES;
            if head.is_empty() {
                head = bytes.into_owned();
            }
            span = (is_longer && !is_first_whole).then(|| Span { len: start.len * LONGER, ..start });
        }
        Ok(Self { parts: names, values, head })
    }

    /// Returns the first value, if there is one.
    pub fn first(&self) -> Option<&ProbedValue> {
        self.values.first()
    }
}

/// The recognized fields of one value, even if it is cut off.
#[derive(Debug, Default)]
pub struct ProbedValue {
    /// The keys of an object, in their order.
    pub keys: Vec<String>,
    /// The value under `type`, if it is a string.
    pub r#type: String,
    /// The value under `role`, if it is a string.
    pub role: String,
    /// True if it is a list.
    pub is_list: bool,
    /// The first element of a list, or the value under `message`, `messages`, `loglines` or else
    /// `content`.
    pub inner: Option<Box<ProbedValue>>,
    /// The next elements of a list.
    pub others: Vec<ProbedValue>,
    /// The value under `contents`, `input`, `history` or `simulations`.
    pub listed: Option<Box<ProbedValue>>,
    /// The value under `parts`.
    pub parts: Option<Box<ProbedValue>>,
    /// The value under `tools`.
    pub tools: Option<Box<ProbedValue>>,
}

impl ProbedValue {
    /// Returns whether an object has a key.
    pub fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|known| known == key)
    }

    /// Visits the first elements of a list.
    pub fn elements(&self) -> impl Iterator<Item = &Self> {
        let first = self.inner.as_deref().filter(|_| self.is_list);
        first.into_iter().chain(&self.others)
    }

    /// Looks at the values at the start of a text.
    pub fn all(head: &[u8]) -> Vec<Self> {
        Self::all_and_first(head).0
    }

    /// Looks at the values at the start of a text, and returns whether the first of them ends in
    /// it; text that is not JSON does. If the first of several lines is not JSON, it does not hide
    /// the others.
    fn all_and_first(head: &[u8]) -> (Vec<Self>, bool) {
        let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
        let mut values = serde_json::Deserializer::from_slice(head);
        let mut seen = Vec::new();
        let (mut is_first_whole, mut n_whole) = (true, 0);
        while seen.len() < MAX_VALUES {
            let mut probe = Self::default();
            let looked = Look(&mut probe).deserialize(&mut values);
            if looked.is_ok() || !probe.keys.is_empty() || probe.is_list {
                let is_cut_off = looked.as_ref().is_err_and(serde_json::Error::is_eof);
                // Only the first elements of a list are read.
                is_first_whole &= !seen.is_empty() || !is_cut_off || probe.others.len() == MAX_VALUES;
                seen.push(probe);
            }
            if looked.is_err() {
                let is_document = seen.iter().any(|it| it.is_list);
                let rest = if n_whole == 0 && !is_document { behind_bad_line(head) } else { None };
                if let Some(rest) = rest {
                    seen.retain(|it| !it.r#type.is_empty() || !it.role.is_empty());
                    seen.extend(Self::all(rest));
                    is_first_whole = true;
                }
                break;
            }
            n_whole += 1;
        }
        (seen, is_first_whole)
    }
}

/// Returns the text after the first line, if the next one is a whole object.
fn behind_bad_line(head: &[u8]) -> Option<&[u8]> {
    let head = head.trim_ascii_start();
    let rest = &head[memchr(b'\n', head)? + 1..];
    let next = &rest[..memchr(b'\n', rest).unwrap_or(rest.len())];
    let is_whole = next.starts_with(b"{\"") && serde_json::from_slice::<IgnoredAny>(next).is_ok();
    is_whole.then_some(rest)
}

struct Look<'a>(&'a mut ProbedValue);

impl<'de> DeserializeSeed<'de> for Look<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.0.keys.push(key);
            let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
            match self.0.keys.last().map_or("", String::as_str) {
                "type" => self.0.r#type = text(map.next_value()?),
                "role" => self.0.role = text(map.next_value()?),
                "content" if self.0.inner.is_none() => {
                    map.next_value_seed(Look(self.0.inner.insert(Box::default())))?;
                }
                "message" | "messages" | "loglines" => {
                    map.next_value_seed(Look(self.0.inner.insert(Box::default())))?;
                }
                "contents" | "input" | "history" | "simulations" => {
                    map.next_value_seed(Look(self.0.listed.insert(Box::default())))?;
                }
                "parts" => map.next_value_seed(Look(self.0.parts.insert(Box::default())))?,
                "tools" => map.next_value_seed(Look(self.0.tools.insert(Box::default())))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.0.is_list = true;
        let mut first = ProbedValue::default();
        let seen = seq.next_element_seed(Look(&mut first));
        let is_empty = matches!(seen, Ok(None));
        self.0.inner = (!is_empty).then(|| Box::new(first));
        if seen?.is_some() {
            while self.0.others.len() < MAX_VALUES {
                let mut next = ProbedValue::default();
                let looked = seq.next_element_seed(Look(&mut next));
                if matches!(looked, Ok(None)) {
                    return Ok(());
                }
                self.0.others.push(next);
                looked?;
            }
            while seq.next_element::<IgnoredAny>()?.is_some() {}
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
