//! The names of tools on offer.

use std::collections::HashSet;

use serde_json::Value;

use super::Finding;
use crate::asked::Asked;
use crate::call_ids::hash;
use crate::dialect::Dialect;
use crate::place::set;

/// The most characters of a name.
fn max_chars(dialect: Dialect) -> usize {
    if dialect == Dialect::Anthropic { 128 } else { 64 }
}

fn is_good(name: &str, dialect: Dialect) -> bool {
    let is_of_gemini = dialect == Dialect::Gemini;
    let is_taken = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'-')
            || (is_of_gemini && matches!(byte, b'.' | b':'))
    };
    let begins = |byte: &u8| !is_of_gemini || byte.is_ascii_alphabetic() || *byte == b'_';
    name.len() <= max_chars(dialect)
        && name.bytes().all(is_taken)
        && name.as_bytes().first().is_some_and(begins)
}

/// Visits the tools that have names of the host's own, with the places of the objects that hold the names.
fn tools(body: &Value, dialect: Dialect) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    for (nth, tool) in list(body.get("tools")).iter().enumerate() {
        let at = format!("/tools/{nth}");
        match dialect {
            Dialect::Anthropic => found.push((at, tool)),
            Dialect::OpenaiChat => {
                found.extend(tool.get("function").map(|it| (format!("{at}/function"), it)));
            }
            Dialect::OpenaiResponses => found.extend((tool["type"] == "function").then_some((at, tool))),
            Dialect::Gemini => {
                for key in ["functionDeclarations", "function_declarations"] {
                    let all = list(tool.get(key)).iter().enumerate();
                    found.extend(all.map(|(nth, it)| (format!("{at}/{key}/{nth}"), it)));
                }
            }
        }
    }
    found.into_iter().filter_map(|(at, tool)| Some((at, tool.get("name")?.as_str()?))).collect()
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Finds names that are refused.
pub(super) fn misnamed(asked: &Asked<'_>) -> Vec<Finding> {
    let bad = tools(asked.body, asked.dialect).into_iter().filter(|(_, name)| !is_good(name, asked.dialect));
    bad.map(|(at, name)| Finding::new(at, format!("no tool may have the name `{name}`"))).collect()
}

/// Gives a tool a name that is taken and that no other has, and its calls and their results too.
pub(super) fn rename(body: &mut Value, dialect: Dialect, at: &str) -> bool {
    let all = tools(body, dialect);
    let Some((_, old)) = all.iter().find(|(place, _)| place == at) else { return false };
    let old = (*old).to_owned();
    let taken: HashSet<&str> = all.iter().map(|(_, name)| *name).collect();
    let mut new = shaped(&old, dialect);
    if taken.contains(new.as_str()) {
        let head: String = new.chars().take(max_chars(dialect) - 9).collect();
        new = format!("{head}_{:08x}", hash(&old));
    }
    let places = uses(body, dialect, &old);
    places.iter().all(|place| set(body, place, "name", new.as_str().into()))
        && set(body, at, "name", new.as_str().into())
}

/// Returns the name in a shape that is taken, always the same one.
fn shaped(name: &str, dialect: Dialect) -> String {
    let is_plain = |char: &char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    let plain: String = name.chars().map(|char| if is_plain(&char) { char } else { '_' }).collect();
    let begins = plain.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_');
    let whole = if begins { plain } else { format!("_{plain}") };
    if whole.len() <= max_chars(dialect) {
        return whole;
    }
    format!("{}_{:08x}", &whole[..max_chars(dialect) - 9], hash(name))
}

/// Returns the places of the objects in which calls and results name a tool.
fn uses(body: &Value, dialect: Dialect, name: &str) -> Vec<String> {
    let asked = Asked::of(body, dialect);
    let mut places = Vec::new();
    for (_, part) in asked.parts() {
        let keys: &[&str] = match dialect {
            Dialect::Anthropic | Dialect::OpenaiResponses => &[""],
            Dialect::OpenaiChat => &["/function"],
            Dialect::Gemini => {
                &["/functionCall", "/function_call", "/functionResponse", "/function_response"]
            }
        };
        let names = |key: &&&str| part.value.pointer(&format!("{key}/name")).is_some_and(|it| it == name);
        places.extend(keys.iter().filter(names).map(|key| format!("{}{key}", part.at)));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_provider_has_names_of_its_own_that_it_takes() {
        let takers =
            |name: &str| Dialect::ALL.into_iter().filter(|it| is_good(name, *it)).collect::<Vec<_>>();
        assert_eq!(takers("read_file-2"), Dialect::ALL);
        assert_eq!(takers("fs.read"), [Dialect::Gemini]);
        assert_eq!(takers(&"a".repeat(65)), [Dialect::Anthropic]);
        let three = [Dialect::Anthropic, Dialect::OpenaiChat, Dialect::OpenaiResponses];
        assert_eq!(takers("2fa"), three);
        for name in ["", "read file", "größe"] {
            assert_eq!(takers(name), []);
        }
    }

    #[test]
    fn a_name_gets_a_shape_that_is_taken() {
        for name in ["", "read file", "größe", "2fa", "fs.read", "é.é", &"a.".repeat(100)] {
            for dialect in Dialect::ALL {
                assert!(is_good(&shaped(name, dialect), dialect), "{name} in {dialect}");
            }
        }
    }
}
