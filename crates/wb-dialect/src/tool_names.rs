//! Names of tools in the shape that a dialect takes, on offer and in calls.

use std::borrow::Cow;

use crate::call_ids::hash;
use crate::dialect::Dialect;

/// Where a tool is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    OnOffer,
    InCall,
}

/// The most characters of a name.
fn max_chars(dialect: Dialect, named: Named) -> usize {
    match (dialect, named) {
        (Dialect::Anthropic, _) | (Dialect::OpenaiResponses, Named::InCall) => 128,
        _ => 64,
    }
}

/// Returns whether a character may stand in a name.
fn is_taken(char: char, dialect: Dialect) -> bool {
    char.is_ascii_alphanumeric()
        || matches!(char, '_' | '-')
        || dialect == Dialect::Gemini && matches!(char, '.' | ':')
}

fn begins_well(name: &str, dialect: Dialect) -> bool {
    let first = name.chars().next();
    first.is_some_and(|it| dialect != Dialect::Gemini || it.is_ascii_alphabetic() || it == '_')
}

/// Returns whether a provider takes this name.
pub(crate) fn is_good_name(name: &str, dialect: Dialect, named: Named) -> bool {
    let is_short = name.len() <= max_chars(dialect, named);
    is_short && begins_well(name, dialect) && name.chars().all(|char| is_taken(char, dialect))
}

/// Returns the name if it has the shape, else one made of it, always the same one: a `_` for each character that is
/// refused, and of a long one its start.
pub(crate) fn shaped_name(name: &str, dialect: Dialect, named: Named) -> Cow<'_, str> {
    if is_good_name(name, dialect, named) {
        return Cow::Borrowed(name);
    }
    let plain: String = name.chars().map(|char| if is_taken(char, dialect) { char } else { '_' }).collect();
    let whole = if begins_well(&plain, dialect) { plain } else { format!("_{plain}") };
    let n_max = max_chars(dialect, named);
    Cow::Owned(if whole.len() <= n_max { whole } else { with_mark(&whole, name, n_max) })
}

/// Returns the start of a name with a mark that others with this start do not have.
pub(crate) fn with_own_mark(shaped: &str, name: &str, dialect: Dialect) -> String {
    with_mark(shaped, name, max_chars(dialect, Named::OnOffer))
}

fn with_mark(shaped: &str, name: &str, n_max: usize) -> String {
    let head: String = shaped.chars().take(n_max - 9).collect();
    format!("{head}_{:08x}", hash(name))
}

/// Returns the name of a call in the shape that the provider of a dialect takes: as it is where it has the shape.
///
/// ```
/// use wb_dialect::{Dialect, call_name};
///
/// assert_eq!(call_name("fs.read", Dialect::Anthropic), "fs_read");
/// assert_eq!(call_name("fs.read", Dialect::Gemini), "fs.read");
/// ```
pub fn call_name(name: &str, dialect: Dialect) -> Cow<'_, str> {
    shaped_name(name, dialect, Named::InCall)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_provider_has_names_of_its_own_that_it_takes() {
        let takers = |name: &str, named| {
            Dialect::ALL.into_iter().filter(|it| is_good_name(name, *it, named)).collect::<Vec<_>>()
        };
        for named in [Named::OnOffer, Named::InCall] {
            assert_eq!(takers("read_file-2", named), Dialect::ALL);
            assert_eq!(takers("fs.read", named), [Dialect::Gemini]);
            let three = [Dialect::Anthropic, Dialect::OpenaiChat, Dialect::OpenaiResponses];
            assert_eq!(takers("2fa", named), three);
            for name in ["", "read file", "größe", &"a".repeat(129)] {
                assert_eq!(takers(name, named), []);
            }
        }
        let long = "a".repeat(65);
        assert_eq!(takers(&long, Named::OnOffer), [Dialect::Anthropic]);
        assert_eq!(takers(&long, Named::InCall), [Dialect::Anthropic, Dialect::OpenaiResponses]);
    }

    #[test]
    fn a_name_gets_a_shape_that_is_taken_and_keeps_what_is() {
        for name in ["", "read file", "größe", "2fa", "fs.read", "é.é", &"a.".repeat(100)] {
            for (dialect, named) in
                Dialect::ALL.into_iter().flat_map(|it| [(it, Named::OnOffer), (it, Named::InCall)])
            {
                let made = shaped_name(name, dialect, named);
                assert!(is_good_name(&made, dialect, named), "{name} in {dialect}");
                assert_eq!(shaped_name(&made, dialect, named), made);
            }
        }
        assert_eq!(call_name("2fa", Dialect::OpenaiChat), "2fa");
        assert_eq!(call_name("2fa", Dialect::Gemini), "_2fa");
        assert_eq!(call_name("multi_tool_use.parallel", Dialect::Anthropic), "multi_tool_use_parallel");
    }
}
