//! Values of an expected kind; one of another kind is skipped and does not hide the line.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A string; borrowed where it has no escapes.
#[derive(Debug, Default)]
pub(crate) struct Text<'a>(pub(crate) Option<Cow<'a, str>>);

/// A flag that is set only by the value `true`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flag(pub(crate) bool);

/// A whole number.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count(pub(crate) Option<u64>);

impl Text<'_> {
    pub(crate) fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Returns the text, or an empty one for another kind.
    pub(crate) fn into_string(self) -> String {
        self.0.map(Cow::into_owned).unwrap_or_default()
    }
}

/// A type that reads any value, with the default for one of an unexpected kind.
pub(crate) trait LooseValue<'de>: Default {
    fn of_text(_: Cow<'de, str>) -> Self {
        Self::default()
    }

    fn of_flag(_: bool) -> Self {
        Self::default()
    }

    fn of_number(_: u64) -> Self {
        Self::default()
    }

    fn of_object<A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
        IgnoredAny.visit_map(object).map(|_| Self::default())
    }
}

/// Reads a value of any kind.
pub(crate) fn loose_value<'de, T: LooseValue<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_any(Any(PhantomData))
}

/// A key; borrowed where it has no escapes.
#[derive(serde::Deserialize)]
pub(crate) struct Key<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

impl<'de> LooseValue<'de> for Text<'de> {
    fn of_text(text: Cow<'de, str>) -> Self {
        Self(Some(text))
    }
}

impl LooseValue<'_> for Flag {
    fn of_flag(flag: bool) -> Self {
        Self(flag)
    }
}

impl LooseValue<'_> for Count {
    fn of_number(number: u64) -> Self {
        Self(Some(number))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        loose_value(from)
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        loose_value(from)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        loose_value(from)
    }
}

struct Any<T>(PhantomData<T>);

impl<'de, T: LooseValue<'de>> Visitor<'de> for Any<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::of_text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::of_text(Cow::Owned(text.to_owned())))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<T, E> {
        Ok(T::of_flag(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(T::of_number(number))
    }

    fn visit_i64<E>(self, _: i64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        IgnoredAny.visit_seq(list).map(|_| T::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<T, A::Error> {
        T::of_object(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_another_kind_is_passed_over() {
        for (json, text, flag, number) in [
            (r#""a\n""#, Some("a\n"), false, None),
            ("true", None, true, None),
            ("7", None, false, Some(7)),
            (r#"[{"a":[-1,1.5,null,"x"]}]"#, None, false, None),
            ("-1", None, false, None),
        ] {
            assert_eq!(serde_json::from_str::<Text<'_>>(json).unwrap().as_str(), text, "{json}");
            assert_eq!(serde_json::from_str::<Flag>(json).unwrap().0, flag, "{json}");
            assert_eq!(serde_json::from_str::<Count>(json).unwrap().0, number, "{json}");
        }
    }
}
