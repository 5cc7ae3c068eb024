//! The traits of a format: its abilities, and the reading and writing of the sessions of one agent.

use std::fmt::{Debug, Display};

use crate::parts::change::{ChangeSet, CommitError};
use crate::parts::error::FormatError;
use crate::parts::part::Parts;
use crate::parts::probe::Probe;
use crate::view::missing_role::MissingRole;
use crate::view::target_view::{Item, is_unchanged};
use crate::view::{Segments, View};

/// The name of the conversation in a session that has only one.
pub const ONLY_CONVERSATION: &str = "";

/// The confidence of a format that a file belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// The file has another format.
    No,
    /// The file looks like it, as files of other formats may.
    Maybe,
    /// No other format writes this.
    Sure,
}

/// The edits that a format can write, known before a model is paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// A digest in the place of the oldest messages.
    pub fold_head: Ability,
    /// A digest in the place of messages in the middle.
    pub fold_inside: Ability,
    /// The placeholder for the body of a result.
    pub clear: Ability,
    /// Another body for a result.
    pub body: Ability,
    /// New messages next to the digest, such as restored files.
    pub insert: Ability,
    /// Another id for a call and its result, in place.
    pub call_ids: Ability,
}

/// The ability to write a kind of edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// The format can write it.
    Yes,
    /// The format cannot write it, with the reason.
    No(&'static str),
}

impl Ability {
    /// Returns whether it can be written at all.
    pub fn is_there(self) -> bool {
        self.why_not().is_none()
    }

    /// Returns why it cannot be written; nothing if it can.
    pub fn why_not(self) -> Option<&'static str> {
        match self {
            Self::Yes => None,
            Self::No(why) => Some(why),
        }
    }
}

impl Abilities {
    /// All of it can be written.
    pub const ALL: Self = Self {
        fold_head: Ability::Yes,
        fold_inside: Ability::Yes,
        clear: Ability::Yes,
        body: Ability::Yes,
        insert: Ability::Yes,
        call_ids: Ability::Yes,
    };

    /// Creates abilities that allow nothing.
    pub const fn none(why: &'static str) -> Self {
        let no = Ability::No(why);
        Self { fold_head: no, fold_inside: no, clear: no, body: no, insert: no, call_ids: no }
    }
}

/// Clock, randomness and figures, which are inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The time in milliseconds since the Unix epoch.
    pub now_ms: i64,
    /// The source of new ids.
    pub seed: u64,
    /// The tokens of the context before.
    pub tokens_before: u64,
    /// The tokens of the context after.
    pub tokens_after: u64,
    /// True if a user requested it.
    pub by_hand: bool,
}

/// The target of a change of a conversation.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The name of the conversation.
    pub conversation: &'a str,
    /// The current view of it.
    pub view: &'a View,
    /// The messages of the new view.
    pub items: &'a [Item<'a>],
    /// Clock, randomness and figures.
    pub stamp: &'a Stamp,
}

/// The reason that a view cannot be written in a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotExpressible {
    /// The format has no way to express it.
    #[error("the format {format} cannot hold it: {why}")]
    Refused {
        /// The name of the format.
        format: &'static str,
        /// The part that cannot be expressed.
        why: String,
    },
    /// The session's layout version is not the one that is written.
    #[error(
        "the session has version {version} of the layout of {format}, and only the present one is written"
    )]
    Layout {
        /// The name of the format.
        format: &'static str,
        /// The version of the session.
        version: u64,
    },
    /// A record would be split.
    #[error("the format {format} holds message {at} and its neighbour in one record")]
    SplitsRecord {
        /// The name of the format.
        format: &'static str,
        /// The message.
        at: usize,
    },
    /// A record that is needed cannot be read.
    #[error("a record that stays cannot be read again: {0}")]
    Unreadable(String),
}

impl NotExpressible {
    /// Builds the error of a session that cannot be read again.
    pub fn unreadable(error: impl Display) -> Self {
        Self::Unreadable(error.to_string())
    }

    /// Returns what the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Refused { .. } | Self::SplitsRecord { .. } => {
                "another --window or another --strategy may plan what the format can hold"
            }
            Self::Layout { .. } => {
                "open the session in its agent once, which writes it in the present layout"
            }
            Self::Unreadable(_) => "check that the file can be read to its end",
        }
    }
}

impl WriteError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> &str {
        match self {
            Self::Commit(error) => error.hint(),
            Self::Format(error) => error.hint(),
            Self::NotExpressible(error) => error.hint(),
        }
    }
}

/// The format in which an agent writes its sessions.
pub trait Format: Send + Sync + Debug {
    /// Returns the name of the format, in kebab-case.
    fn name(&self) -> &'static str;

    /// Returns what can be written: everything, unless the format says otherwise.
    fn abilities(&self) -> Abilities {
        Abilities::ALL
    }

    /// Returns whether parts that begin like this have the format.
    fn detect(&self, probe: &Probe) -> Confidence;

    /// Reads the session far enough to know its conversations.
    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError>;
}

/// A session over its own bytes.
pub trait Document: Send + Sync + Debug {
    /// Returns the format.
    fn format(&self) -> &'static dyn Format;

    /// Returns what can be written: no more than the format can.
    fn abilities(&self) -> Abilities {
        self.format().abilities()
    }

    /// Returns the conversations by name, the last written one at the end.
    fn conversations(&self) -> Result<Vec<String>, FormatError> {
        Ok(vec![ONLY_CONVERSATION.to_owned()])
    }

    /// Returns a conversation as its next request would send it.
    fn view(&self, conversation: &str) -> Result<View, FormatError>;

    /// Returns every segment of a conversation, each read on demand; a format without compactions
    /// has one.
    ///
    /// A new segment begins where the agent compacted the conversation or cleared tool results.
    /// Together they hold every request of the continued conversation once.
    fn segments(&self, conversation: &str) -> Result<Segments<'_>, FormatError> {
        Ok(Segments::one(self.view(conversation)?.into()))
    }

    /// Returns the records of a conversation that are messages in all but their role, which its
    /// view leaves out.
    fn lost_roles(&self, _conversation: &str) -> Result<Vec<MissingRole>, FormatError> {
        Ok(Vec::new())
    }

    /// Returns the changes that turn the view of a conversation into the items; nothing is written.
    ///
    /// Items that equal the view lead to no changes.
    fn render(
        &self,
        conversation: &str,
        view: &View,
        items: &[Item<'_>],
        stamp: &Stamp,
    ) -> Result<ChangeSet, NotExpressible> {
        if is_unchanged(items, view.messages.len()) {
            return Ok(ChangeSet::default());
        }
        self.render_changed(&Wanted { conversation, view, items, stamp })
    }

    /// Returns the changes for items that differ from the view.
    fn render_changed(&self, wanted: &Wanted<'_>) -> Result<ChangeSet, NotExpressible>;

    /// Returns the parts.
    fn parts(&self) -> &dyn Parts;

    /// Returns the parts, to be changed.
    fn parts_mut(&mut self) -> &mut dyn Parts;

    /// Reads what others wrote since.
    fn refresh(&mut self) -> Result<(), FormatError>;

    /// Writes changes and refreshes the document. After an error the bytes are unchanged.
    fn commit(&mut self, set: &ChangeSet) -> Result<(), WriteError> {
        self.parts_mut().commit(set)?;
        let Err(error) = self.refresh() else { return Ok(()) };
        self.parts_mut().commit(&set.inverse())?;
        self.refresh()?;
        Err(error.into())
    }
}

const _: fn(&dyn Format, &dyn Document) = |_, _| ();

/// The reason that a change of a session failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The change was not written.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The written session cannot be read.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The format cannot express it.
    #[error(transparent)]
    NotExpressible(#[from] NotExpressible),
}
