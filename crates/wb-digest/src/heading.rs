//! Headings of a digest, in any form that models write.

/// A line that may be a heading.
///
/// Known forms: `# Plan` at any level, `**Plan**`, `**Plan:**`, `1. Plan`, `Plan:` alone on a line
/// and `PLAN`, each optionally with a text in parentheses after it. List items and indented lines
/// are not headings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heading<'a> {
    words: &'a str,
    has_hash: bool,
    is_marked: bool,
    is_framed: bool,
}

/// The longest heading, in bytes.
const MAX_BYTES: usize = 160;
const BULLETS: [&str; 3] = ["- ", "* ", "+ "];

impl<'a> Heading<'a> {
    /// Parses a line; `None` if it cannot be a heading.
    pub fn parse(line: &'a str) -> Option<Self> {
        let trimmed = line.trim();
        let is_item = BULLETS.iter().any(|bullet| trimmed.starts_with(bullet));
        if line.starts_with("  ") || is_item || trimmed.len() > MAX_BYTES {
            return None;
        }
        let (words, is_marked) = without_marks(trimmed);
        let is_bold = trimmed.starts_with("**") && trimmed.ends_with("**");
        let is_framed = is_bold || trimmed.trim_end_matches('*').ends_with(':');
        (!words.is_empty()).then(|| Self { words, has_hash: trimmed.starts_with('#'), is_marked, is_framed })
    }

    /// Returns the words, without marks and a text in parentheses after them.
    pub fn words(self) -> &'a str {
        self.words
    }

    /// Returns whether the whole line is marked by a `#`, by emphasis or by a final colon.
    pub fn is_title(self) -> bool {
        self.has_hash || self.is_framed
    }

    /// Returns whether this is the heading with a name, ignoring case.
    ///
    /// After a `#` more words may follow the name unless they form a sentence. The other forms
    /// contain the name only, so a sentence that begins with it is not a heading.
    pub fn is(self, name: &str) -> bool {
        let Some((start, rest)) = self.words.split_at_checked(name.len()) else { return false };
        if !start.eq_ignore_ascii_case(name) {
            return false;
        }
        if self.has_hash {
            return rest.is_empty() || (rest.starts_with([' ', '(']) && !rest.ends_with(['.', '!', '?']));
        }
        rest.is_empty() && (self.is_marked || !start.bytes().any(|byte| byte.is_ascii_lowercase()))
    }
}

/// Strips hashes, emphasis, a number, a colon and a text in parentheses; returns whether any mark
/// but the last was found.
fn without_marks(line: &str) -> (&str, bool) {
    let (mut words, mut is_marked) = (line, false);
    loop {
        let marked = words.trim_matches(['#', '*', '_', ':', ' ']);
        let marked = without_number(marked);
        is_marked |= marked.len() < words.trim_ascii().len();
        let bare = without_parenthesis(marked);
        if bare.len() == words.len() {
            return (words, is_marked);
        }
        words = bare;
    }
}

fn without_number(words: &str) -> &str {
    let rest = words.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.strip_prefix(['.', ')']) {
        Some(rest) if words.starts_with(|c: char| c.is_ascii_digit()) => rest,
        _ => words,
    }
}

fn without_parenthesis(words: &str) -> &str {
    let inside = words.strip_suffix(')').and_then(|rest| rest.split_once('('));
    match inside {
        Some((before, inside)) if !inside.contains(['(', ')']) => before.trim_end(),
        _ => words,
    }
}

/// The six headings of a digest, one per line, in order.
pub const SECTION_TEMPLATE: &str = include_str!("templates/sections.md").trim_ascii_end();

#[cfg(test)]
mod tests {
    use super::*;

    fn is(line: &str, name: &str) -> bool {
        Heading::parse(line).is_some_and(|heading| heading.is(name))
    }

    #[test]
    fn every_usual_form_is_a_heading() {
        for line in [
            "# Status",
            "#Status",
            "### Status ###",
            "## **Status**",
            "## 3. Status:",
            "# Status (Shipped / Active / Stuck)",
            "## Status and blockers",
            "**Status**",
            "**Status:**",
            "**Status**:",
            "__Status__",
            "**Status** (shipped / active)",
            "**3. Status**",
            "3. **Status**",
            "3) Status",
            "3. Status",
            "Status:",
            " status: ",
            "STATUS",
            "STATUS (SHIPPED / ACTIVE / STUCK)",
            "Status (shipped / active / stuck):",
            "# Status\r",
        ] {
            assert!(is(line, "Status"), "{line}");
        }
        assert!(is("**Next Steps**", "Next Steps") && is("NEXT STEPS:", "Next Steps"));
    }

    #[test]
    fn a_line_that_only_begins_with_the_word_is_not_a_heading() {
        for line in [
            "Status",
            "status",
            "Status (see below)",
            "Status of the port: two of three crates are done",
            "Status: two of three crates are done",
            "# Status: two of three crates are done",
            "# Status of the port is that it works.",
            "**Status** is shown in the first column",
            "**Status update**",
            "3. Status of the port",
            "Status (a) and then (b):",
            "STATUS QUO",
            "Statuses:",
            "- Status:",
            "- **Status**",
            "* Status:",
            "  # Status",
            "> # Status",
            "`Status`:",
            "",
            "#",
            "Stat\u{fc}s:",
        ] {
            assert!(!is(line, "Status"), "{line}");
        }
        assert!(!is(&format!("# Status {}", "x".repeat(MAX_BYTES)), "Status"));
    }
}
