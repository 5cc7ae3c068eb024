//! What a digest stands for, and the texts that depend on it.

use wb_message::marks::{BRANCH_HEADER, DIGEST_HEADER};

/// Whether a digest stands for the running session or for a branch that was left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CondenseScope {
    /// Older turns of the running session; a verbatim tail follows.
    #[default]
    Session,
    /// A branch that was left; nothing follows.
    Branch,
}

impl CondenseScope {
    /// Returns the first line of the digest message.
    pub fn header(self) -> &'static str {
        match self {
            Self::Session => DIGEST_HEADER,
            Self::Branch => BRANCH_HEADER,
        }
    }

    /// Returns the sentence that opens the prompt.
    pub fn framing(self) -> &'static str {
        match self {
            Self::Session => include_str!("templates/session.md").trim_ascii_end(),
            Self::Branch => include_str!("templates/branch.md").trim_ascii_end(),
        }
    }
}

/// The six headings of a digest, one per line, in order.
pub const SECTION_TEMPLATE: &str = include_str!("templates/sections.md").trim_ascii_end();

/// The system text that makes the model a recorder and not a partner.
pub const CONDENSER_BRIEF: &str = include_str!("templates/brief.md").trim_ascii_end();

/// Returns the headings without their `# `.
pub fn headings() -> impl Iterator<Item = &'static str> {
    SECTION_TEMPLATE.lines().map(|line| line.trim_start_matches("# "))
}

/// Returns the position among the six of the heading that a line is, at any level and with or without what
/// stands in parentheses.
pub fn heading_at(line: &str) -> Option<usize> {
    let title = line.trim().strip_prefix('#')?.trim_start_matches('#').trim();
    let title = title.trim_matches('*').trim_end_matches(':');
    let word = title.split([' ', '(']).next()?;
    headings()
        .position(|heading| heading.split(' ').next().is_some_and(|known| known.eq_ignore_ascii_case(word)))
}

/// Tells whether a reply holds at least one of the six headings.
pub fn has_headings(reply: &str) -> bool {
    reply.lines().any(|line| heading_at(line).is_some())
}
