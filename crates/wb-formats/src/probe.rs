//! The first JSON values of a file, seen without reading them whole: which keys they have, and a few words.

use std::io::{self, BufRead, Read};

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// The bytes of a file by which its format is recognized.
pub(crate) const HEAD_BYTES: u64 = 64 * 1024;
/// The values by which a format is recognized.
const MAX_VALUES: usize = 64;

/// What was seen of one value, also where it is cut off.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    pub(crate) keys: Vec<String>,
    pub(crate) r#type: String,
    pub(crate) role: String,
    pub(crate) is_list: bool,
    /// The first element of a list, or what stands under `message`, `messages`, `loglines` or else `content`.
    pub(crate) inner: Option<Box<Probe>>,
}

impl Probe {
    pub(crate) fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|known| known == key)
    }

    /// Looks at the values at the start of a file.
    pub(crate) fn all(head: &[u8]) -> Vec<Self> {
        let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
        let mut values = serde_json::Deserializer::from_slice(head);
        let mut seen = Vec::new();
        while seen.len() < MAX_VALUES {
            let mut probe = Self::default();
            let is_whole = Look(&mut probe).deserialize(&mut values).is_ok();
            if is_whole || !probe.keys.is_empty() || probe.is_list {
                seen.push(probe);
            }
            if !is_whole {
                break;
            }
        }
        seen
    }
}

/// An input of which the start was read.
pub(crate) struct Peeked<'a> {
    head: Vec<u8>,
    input: &'a mut dyn BufRead,
}

impl<'a> Peeked<'a> {
    pub(crate) fn new(input: &'a mut dyn BufRead) -> io::Result<Self> {
        let mut head = Vec::new();
        Read::take(&mut *input, HEAD_BYTES).read_to_end(&mut head)?;
        Ok(Self { head, input })
    }

    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns the whole input, from its start.
    pub(crate) fn whole(self) -> io::Chain<io::Cursor<Vec<u8>>, &'a mut dyn BufRead> {
        io::Cursor::new(self.head).chain(self.input)
    }
}

struct Look<'a>(&'a mut Probe);

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
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.0.is_list = true;
        let mut first = Probe::default();
        let seen = seq.next_element_seed(Look(&mut first));
        let is_empty = matches!(seen, Ok(None));
        self.0.inner = (!is_empty).then(|| Box::new(first));
        if seen?.is_some() {
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
