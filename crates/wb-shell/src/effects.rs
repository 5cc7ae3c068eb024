//! What a shell command can do to files and to a git repository.

use std::borrow::Cow;

/// A change to a file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileEffect<'a> {
    /// Created, or overwritten as a whole.
    Wrote(Cow<'a, str>),
    /// Changed in part.
    Edited(Cow<'a, str>),
    /// Removed.
    Deleted(Cow<'a, str>),
    /// Given another path.
    Moved {
        /// The path that it had.
        from: Cow<'a, str>,
        /// The path that it has now.
        to: Cow<'a, str>,
    },
    /// Set back to what git has of it.
    Restored(Cow<'a, str>),
}

impl<'a> FileEffect<'a> {
    /// Returns the effect with texts of its own.
    pub fn into_owned<'b>(self) -> FileEffect<'b> {
        match self {
            Self::Wrote(path) => FileEffect::Wrote(own(path)),
            Self::Edited(path) => FileEffect::Edited(own(path)),
            Self::Deleted(path) => FileEffect::Deleted(own(path)),
            Self::Moved { from, to } => FileEffect::Moved { from: own(from), to: own(to) },
            Self::Restored(path) => FileEffect::Restored(own(path)),
        }
    }

    /// Returns the effect with other paths, nothing where one of them has none.
    pub fn with_paths<'b>(
        self,
        path: impl Fn(Cow<'a, str>) -> Option<Cow<'b, str>>,
    ) -> Option<FileEffect<'b>> {
        Some(match self {
            Self::Wrote(of) => FileEffect::Wrote(path(of)?),
            Self::Edited(of) => FileEffect::Edited(path(of)?),
            Self::Deleted(of) => FileEffect::Deleted(path(of)?),
            Self::Moved { from, to } => FileEffect::Moved { from: path(from)?, to: path(to)? },
            Self::Restored(of) => FileEffect::Restored(path(of)?),
        })
    }
}

fn own<'b>(text: Cow<'_, str>) -> Cow<'b, str> {
    Cow::Owned(text.into_owned())
}

/// A change to a git repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitEffect<'a> {
    /// Made a commit.
    Committed {
        /// The first line of the message, where the command has it.
        message: Option<Cow<'a, str>>,
    },
    /// Replaced the last commit.
    Amended {
        /// The first line of the message, where the command has it.
        message: Option<Cow<'a, str>>,
    },
    /// Sent commits to a remote.
    Pushed,
    /// Fetched and merged commits of a remote.
    Pulled,
    /// Merged a branch.
    Merged(Cow<'a, str>),
    /// Moved commits onto others.
    Rebased,
    /// Copied a commit.
    Picked(Cow<'a, str>),
    /// Undid a commit with another one.
    Reverted(Cow<'a, str>),
    /// Went to a branch or commit.
    CheckedOut(Cow<'a, str>),
    /// Made a branch, and went to it where the command does so.
    Branched(Cow<'a, str>),
    /// Removed a branch.
    Unbranched(Cow<'a, str>),
    /// Put changes aside.
    Stashed,
    /// Took changes back that were put aside.
    Unstashed,
    /// Moved the branch to another commit.
    Reset {
        /// The files went with it.
        hard: bool,
    },
    /// Made a tag.
    Tagged(Cow<'a, str>),
    /// Removed files that git does not know.
    Cleaned,
    /// Went on with what had stopped, which has this name.
    Continued(&'static str),
    /// Gave up what had stopped, which has this name.
    Aborted(&'static str),
}

impl GitEffect<'_> {
    /// Returns the effect with texts of its own.
    pub fn into_owned<'b>(self) -> GitEffect<'b> {
        match self {
            Self::Committed { message } => GitEffect::Committed { message: message.map(own) },
            Self::Amended { message } => GitEffect::Amended { message: message.map(own) },
            Self::Merged(name) => GitEffect::Merged(own(name)),
            Self::Picked(name) => GitEffect::Picked(own(name)),
            Self::Reverted(name) => GitEffect::Reverted(own(name)),
            Self::CheckedOut(name) => GitEffect::CheckedOut(own(name)),
            Self::Branched(name) => GitEffect::Branched(own(name)),
            Self::Unbranched(name) => GitEffect::Unbranched(own(name)),
            Self::Tagged(name) => GitEffect::Tagged(own(name)),
            Self::Pushed => GitEffect::Pushed,
            Self::Pulled => GitEffect::Pulled,
            Self::Rebased => GitEffect::Rebased,
            Self::Stashed => GitEffect::Stashed,
            Self::Unstashed => GitEffect::Unstashed,
            Self::Reset { hard } => GitEffect::Reset { hard },
            Self::Cleaned => GitEffect::Cleaned,
            Self::Continued(what) => GitEffect::Continued(what),
            Self::Aborted(what) => GitEffect::Aborted(what),
        }
    }
}

/// What a command does, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects<'a> {
    /// Changes to files.
    pub files: Vec<FileEffect<'a>>,
    /// Changes to git repositories.
    pub git: Vec<GitEffect<'a>>,
}
