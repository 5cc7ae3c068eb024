//! Tool names in the shape that a dialect accepts.

use std::borrow::Cow;

use serde_json::Value;

use crate::call_ids::hash;
use crate::dialect::Dialect;

/// The place of a tool name in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameUse {
    Definition,
    Call,
}

fn max_chars(dialect: Dialect, place: NameUse) -> usize {
    match (dialect, place) {
        (Dialect::Anthropic, _) | (Dialect::OpenaiResponses, NameUse::Call) => 128,
        _ => 64,
    }
}

fn is_name_char(char: char, dialect: Dialect) -> bool {
    char.is_ascii_alphanumeric()
        || matches!(char, '_' | '-')
        || dialect == Dialect::Gemini && matches!(char, '.' | ':')
}

fn has_valid_start(name: &str, dialect: Dialect) -> bool {
    let first = name.chars().next();
    first.is_some_and(|it| dialect != Dialect::Gemini || it.is_ascii_alphabetic() || it == '_')
}

/// Returns whether the provider accepts the name.
pub(crate) fn is_good_name(name: &str, dialect: Dialect, place: NameUse) -> bool {
    let is_short = name.len() <= max_chars(dialect, place);
    is_short && has_valid_start(name, dialect) && name.chars().all(|char| is_name_char(char, dialect))
}

/// Returns the name if it is accepted, else a deterministic name derived from it: `_` replaces each
/// refused character, and a hash replaces the end of a long name.
pub(crate) fn shaped_name(name: &str, dialect: Dialect, place: NameUse) -> Cow<'_, str> {
    if is_good_name(name, dialect, place) {
        return Cow::Borrowed(name);
    }
    let plain: String =
        name.chars().map(|char| if is_name_char(char, dialect) { char } else { '_' }).collect();
    let whole = if has_valid_start(&plain, dialect) { plain } else { format!("_{plain}") };
    let n_max = max_chars(dialect, place);
    Cow::Owned(if whole.len() <= n_max { whole } else { with_hash_at(&whole, name, n_max) })
}

/// Returns the tool name of a call or result, with the key of the object that contains it, which is
/// empty for the part itself.
pub(crate) fn tool_name(part: &Value, dialect: Dialect) -> Option<(&'static str, &str)> {
    let keys: &[&'static str] = match dialect {
        Dialect::Anthropic | Dialect::OpenaiResponses => &[""],
        Dialect::OpenaiChat => &["function"],
        Dialect::Gemini => &["functionCall", "function_call", "functionResponse", "function_response"],
    };
    let named = |key: &&'static str| {
        let object = if key.is_empty() { part } else { part.get(key)? };
        Some((*key, object.get("name")?.as_str()?))
    };
    keys.iter().find_map(named)
}

/// Returns the tool name of a call or result at a JSON pointer, with the pointer to the object that
/// contains the name.
pub(crate) fn named_object<'a>(at: &str, part: &'a Value, dialect: Dialect) -> Option<(String, &'a str)> {
    let (key, name) = tool_name(part, dialect)?;
    Some((if key.is_empty() { at.to_owned() } else { format!("{at}/{key}") }, name))
}

/// Returns the start of a reshaped name with a hash of the original name.
pub(crate) fn with_hash(shaped: &str, name: &str, dialect: Dialect) -> String {
    with_hash_at(shaped, name, max_chars(dialect, NameUse::Definition))
}

fn with_hash_at(shaped: &str, name: &str, n_max: usize) -> String {
    let head: String = shaped.chars().take(n_max - 9).collect();
    format!("{head}_{:08x}", hash(name))
}

/// Returns the name of a call, reshaped if the provider would refuse it.
///
/// ```
/// use wb_dialect::{Dialect, call_name};
///
/// assert_eq!(call_name("fs.read", Dialect::Anthropic), "fs_read");
/// assert_eq!(call_name("fs.read", Dialect::Gemini), "fs.read");
/// ```
pub fn call_name(name: &str, dialect: Dialect) -> Cow<'_, str> {
    shaped_name(name, dialect, NameUse::Call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_names_differ_by_provider() {
        let takers = |name: &str, place| {
            Dialect::ALL.into_iter().filter(|it| is_good_name(name, *it, place)).collect::<Vec<_>>()
        };
        for place in [NameUse::Definition, NameUse::Call] {
            assert_eq!(takers("read_file-2", place), Dialect::ALL);
            assert_eq!(takers("fs.read", place), [Dialect::Gemini]);
            let three = [Dialect::Anthropic, Dialect::OpenaiChat, Dialect::OpenaiResponses];
            assert_eq!(takers("2fa", place), three);
            for name in ["", "read file", "größe", &"a".repeat(129)] {
                assert_eq!(takers(name, place), []);
            }
        }
        let long = "a".repeat(65);
        assert_eq!(takers(&long, NameUse::Definition), [Dialect::Anthropic]);
        assert_eq!(takers(&long, NameUse::Call), [Dialect::Anthropic, Dialect::OpenaiResponses]);
    }

    #[test]
    fn reshaped_names_are_accepted_and_stable() {
        for name in ["", "read file", "größe", "2fa", "fs.read", "é.é", &"a.".repeat(100)] {
            for (dialect, place) in
                Dialect::ALL.into_iter().flat_map(|it| [(it, NameUse::Definition), (it, NameUse::Call)])
            {
                let made = shaped_name(name, dialect, place);
                assert!(is_good_name(&made, dialect, place), "{name} in {dialect}");
                assert_eq!(shaped_name(&made, dialect, place), made);
            }
        }
        assert_eq!(call_name("2fa", Dialect::OpenaiChat), "2fa");
        assert_eq!(call_name("2fa", Dialect::Gemini), "_2fa");
        assert_eq!(call_name("multi_tool_use.parallel", Dialect::Anthropic), "multi_tool_use_parallel");
    }
}
