//! The forms of values in files of pi, read whatever the file contains.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};
use wb_message::{Block, Content};

use super::timestamp::parse_iso_ms;

/// A text or a number; anything else is skipped.
enum Scalar<'a> {
    Text(Cow<'a, str>),
    Number(Number),
    Other,
}

impl Scalar<'_> {
    fn into_number(self) -> Option<Number> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }
}

/// Reads null as the default.
pub(crate) fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// A number of tokens in any JSON: a fraction is cut off, what is no number counts nothing.
pub(crate) struct Tokens(pub(crate) u64);

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // A float becomes the nearest integer that fits, NaN and negative ones become 0.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
        let rounded = |number: f64| number as u64;
        let number = Scalar::deserialize(from)?.into_number();
        let tokens = number.and_then(|it| it.as_u64().or_else(|| it.as_f64().map(rounded)));
        Ok(Self(tokens.unwrap_or(0)))
    }
}

/// Reads the exit code of a command; one of Windows that is counted without a sign gets its sign.
pub(crate) fn exit_code<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i32>, D::Error> {
    let code = Scalar::deserialize(from)?.into_number().and_then(|code| code.as_i64());
    Ok(code.and_then(|code| i32::try_from(code).ok().or(u32::try_from(code).ok().map(u32::cast_signed))))
}

pub(crate) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    Tokens::deserialize(from).map(|tokens| tokens.0)
}

/// Reads ISO text or milliseconds since the Unix epoch; 0 for anything else.
pub(crate) fn timestamp<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    Ok(match Scalar::deserialize(from)? {
        Scalar::Text(text) => parse_iso_ms(&text).unwrap_or(0),
        Scalar::Number(number) => number.as_i64().unwrap_or(0),
        Scalar::Other => 0,
    })
}

pub(crate) fn no_content() -> Content {
    Content::Blocks(Vec::new())
}

pub(crate) fn content<'de, D: Deserializer<'de>>(from: D) -> Result<Content, D::Error> {
    from.deserialize_any(Body)
}

/// Reads a body: a text, or a list of parts.
struct Body;

impl<'de> Visitor<'de> for Body {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of parts")
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Content, E> {
        Ok(Content::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content, A::Error> {
        let mut blocks = Vec::new();
        while let Some(Part(block)) = parts.next_element()? {
            blocks.push(block);
        }
        Ok(Content::Blocks(blocks))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Content, A::Error> {
        IgnoredAny.visit_map(map).map(|_| no_content())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Content, E> {
        Ok(no_content())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Content, E> {
        Ok(no_content())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Content, E> {
        Ok(no_content())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Content, E> {
        Ok(no_content())
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(no_content())
    }
}

/// A part of a body; its members are read without a map of them, since nearly all are of a known
/// kind.
struct Part(Block);

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyPart).map(Self)
    }
}

struct AnyPart;

impl<'de> Visitor<'de> for AnyPart {
    type Value = Block;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Block, A::Error> {
        let mut members: Vec<(MemberKey<'de>, Value)> = Vec::with_capacity(4);
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(block(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Block, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(seq)).map(|part| unknown(&part))
    }

    fn visit_str<E>(self, text: &str) -> Result<Block, E> {
        Ok(unknown(&text.into()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Block, E> {
        Ok(unknown(&value.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Block, E> {
        Ok(unknown(&number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Block, E> {
        Ok(unknown(&number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Block, E> {
        Ok(unknown(&number.into()))
    }

    fn visit_unit<E>(self) -> Result<Block, E> {
        Ok(unknown(&Value::Null))
    }
}

/// A key; borrowed where it has no escapes.
#[derive(Deserialize)]
struct MemberKey<'a>(#[serde(borrow)] Cow<'a, str>);

/// Turns a part into a text with its JSON.
fn unknown(part: &Value) -> Block {
    Block::text(part.to_string())
}

fn block(mut members: Vec<(MemberKey<'_>, Value)>) -> Block {
    let mut take = |key| {
        let member = members.iter_mut().rfind(|(MemberKey(of), _)| of == key);
        member.map(|(_, value)| value.take())
    };
    let kind = take("type");
    let block = match kind.as_ref().and_then(Value::as_str).unwrap_or_default() {
        "text" => take("text").and_then(into_text).map(Block::text),
        "thinking" => take("thinking").map(|text| {
            let signature = take("thinkingSignature").and_then(into_text);
            match (take("redacted"), signature) {
                (Some(Value::Bool(true)), Some(data)) => Block::redacted_thinking(data),
                (_, signature) => Block::Thinking { text: into_text(text).unwrap_or_default(), signature },
            }
        }),
        "image" => take("data")
            .and_then(into_text)
            .map(|data| Block::image(take("mimeType").and_then(into_text).unwrap_or_default(), data)),
        "toolCall" => take("name").and_then(into_text).map(|name| {
            let id = take("id").and_then(into_text).unwrap_or_default();
            Block::call(id, name, take("arguments").unwrap_or_default())
        }),
        _ => None,
    };
    block.unwrap_or_else(|| {
        let mut part: Map<String, Value> =
            members.into_iter().map(|(MemberKey(key), value)| (key.into_owned(), value)).collect();
        if let (Some(place), Some(kind)) = (part.get_mut("type"), kind) {
            *place = kind;
        }
        unknown(&Value::Object(part))
    })
}

fn into_text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyScalar)
    }
}

struct AnyScalar;

impl<'de> Visitor<'de> for AnyScalar {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar<'de>, E> {
        Ok(Number::from_f64(number).map_or(Scalar::Other, Scalar::Number))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_unit<E>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Scalar<'de>, A::Error> {
        IgnoredAny.visit_seq(seq).map(|_| Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Scalar<'de>, A::Error> {
        IgnoredAny.visit_map(map).map(|_| Scalar::Other)
    }
}
