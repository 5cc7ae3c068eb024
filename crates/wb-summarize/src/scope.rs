//! The scope of a digest, and the texts that depend on it.

use wb_message::markers::{BRANCH_HEADER, DIGEST_HEADER};

/// The scope of a digest: the running session or an abandoned branch.
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

/// The text about the length of a digest, `{n_words}`, before the headings.
pub(crate) const LENGTH_NOTE: &str = include_str!("templates/length.md").trim_ascii_end();

/// The text about the content kept next to a digest, before that content.
pub(crate) const KEPT_NOTE: &str = include_str!("templates/kept.md").trim_ascii_end();

/// The description of the material for a host that asks after a session.
pub(crate) const HANDOVER_NOTE: &str = include_str!("templates/handover.md").trim_ascii_end();

/// The text at the end of a prompt, before the user's instructions.
pub(crate) const INSTRUCTIONS_NOTE: &str = include_str!("templates/instructions.md").trim_ascii_end();

/// The system text that makes the model a recorder and not a partner.
pub const CONDENSER_BRIEF: &str = include_str!("templates/brief.md").trim_ascii_end();
