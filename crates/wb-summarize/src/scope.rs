//! What a digest stands for, and the texts that depend on it.

use wb_message::markers::{BRANCH_HEADER, DIGEST_HEADER};

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

/// Says how long a digest may be, in place of `{n_words}`; it stands before the headings.
pub(crate) const LENGTH_NOTE: &str = include_str!("templates/length.md").trim_ascii_end();

/// Says what is kept beside a digest; it stands before the block that shows it.
pub(crate) const KEPT_NOTE: &str = include_str!("templates/kept.md").trim_ascii_end();

/// Says what the material is where a host puts its own request behind a session.
pub(crate) const HANDOVER_NOTE: &str = include_str!("templates/handover.md").trim_ascii_end();

/// Says what the user wants besides; it stands at the end of a prompt, before the user's words.
pub(crate) const INSTRUCTIONS_NOTE: &str = include_str!("templates/instructions.md").trim_ascii_end();

/// The system text that makes the model a recorder and not a partner.
pub const CONDENSER_BRIEF: &str = include_str!("templates/brief.md").trim_ascii_end();
