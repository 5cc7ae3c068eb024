//! The reasons to refuse a patch.

use std::fmt;

/// The reason that a patch was refused; the transcript is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatchError {
    /// An edit is outside the transcript, or overlaps or precedes the previous edit.
    Misplaced {
        /// Position in [`Patch::edits`](crate::Patch::edits).
        edit: usize,
    },
    /// A fold would remove a call and leave its result, or the other way round.
    SplitPair {
        /// Message of the call.
        call: usize,
        /// Message of the result.
        result: usize,
    },
    /// A fold would remove a call that still waits for its result.
    InFlight {
        /// Message of the call.
        call: usize,
    },
    /// An edit would touch a pinned message, such as a system text.
    Pinned {
        /// Index of the message.
        at: usize,
    },
    /// A new body has other calls or results than the old one.
    CallsChanged {
        /// Index of the message.
        at: usize,
    },
    /// A fold adds a result that answers no call.
    NewOrphan {
        /// Position in [`Patch::edits`](crate::Patch::edits).
        edit: usize,
    },
    /// The result would weigh more than the input.
    Heavier {
        /// Weight of the removed messages, in tokens.
        removed_tokens: u64,
        /// Weight of the added messages, in tokens.
        added_tokens: u64,
    },
    /// The pairing belongs to a transcript of another length.
    ForeignPairing,
    /// The result would have more turns than the input.
    MoreTurns,
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misplaced { edit } => write!(f, "edit {edit} is out of range, overlaps or is out of order"),
            Self::SplitPair { call, result } => {
                write!(
                    f,
                    "the patch separates the call in message {call} from its result in message {result}"
                )
            }
            Self::InFlight { call } => write!(f, "the call in message {call} still waits for its result"),
            Self::Pinned { at } => write!(f, "message {at} is pinned"),
            Self::CallsChanged { at } => write!(f, "the new body of message {at} has other calls or results"),
            Self::NewOrphan { edit } => write!(f, "edit {edit} adds a result that answers no call"),
            Self::Heavier { removed_tokens, added_tokens } => {
                write!(f, "the patch adds {added_tokens} tokens and removes only {removed_tokens}")
            }
            Self::MoreTurns => f.write_str("the result would have more turns"),
            Self::ForeignPairing => f.write_str("the pairing belongs to another transcript"),
        }
    }
}

impl std::error::Error for PatchError {}
