//! Lines of an agent or a tool that a reader could take for lines of the digest.

use crate::section::Section;

/// Begins a quoted line that looks like a line of the digest.
const MARK: &str = "> ";

/// Starts of lines with which a digest says what the user said.
const STARTS: [&str; 10] = [
    "the user",
    "user's",
    "what the user",
    "the plan that the user",
    "first request",
    "latest request",
    "earlier request",
    "asked:",
    "to:",
    "turn ",
];

/// Returns the mark that a quoted line needs so that it is not taken for a heading of the digest or
/// for words of the user; empty if it needs none.
///
/// ```
/// use wb_digest::quote_mark;
///
/// assert_eq!(quote_mark("- The user approved: the push"), "> ");
/// assert_eq!(quote_mark("# Guardrails"), "> ");
/// assert_eq!(quote_mark("- the tests pass"), "");
/// ```
pub fn quote_mark(line: &str) -> &'static str {
    let line = line.trim_start();
    let words = line.trim_start_matches(['-', '*', '+', '_', '“', '"', ' ']).as_bytes();
    let begins = |start: &str| {
        words.get(..start.len()).is_some_and(|words| words.eq_ignore_ascii_case(start.as_bytes()))
    };
    let is_own = STARTS.iter().any(|start| begins(start)) || Section::from_heading(line).is_some();
    if is_own { MARK } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_marked_if_it_looks_like_one_of_the_digest() {
        for line in [
            "  # Plan",
            "**Guardrails**",
            "* the user said: yes",
            "Turn 3:",
            "  to: push",
            "User's answer: a",
        ] {
            assert_eq!(quote_mark(line), MARK, "{line}");
        }
        for line in ["", "# Results", "users log in here", "> the user said: yes", "turning", "é"] {
            assert_eq!(quote_mark(line), "", "{line}");
        }
    }
}
