//! Effects of a shell command on files and git repositories.

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
    /// Restored from git.
    Restored(Cow<'a, str>),
}

impl<'a> FileEffect<'a> {
    /// Returns the path of the file, of one that was moved the path that it had.
    pub fn path(&self) -> &str {
        let (Self::Wrote(path)
        | Self::Edited(path)
        | Self::Deleted(path)
        | Self::Moved { from: path, .. }
        | Self::Restored(path)) = self;
        path
    }

    /// Returns the effect with owned paths.
    pub(crate) fn into_owned<'b>(self) -> FileEffect<'b> {
        match self {
            Self::Wrote(path) => FileEffect::Wrote(to_owned_text(path)),
            Self::Edited(path) => FileEffect::Edited(to_owned_text(path)),
            Self::Deleted(path) => FileEffect::Deleted(to_owned_text(path)),
            Self::Moved { from, to } => {
                FileEffect::Moved { from: to_owned_text(from), to: to_owned_text(to) }
            }
            Self::Restored(path) => FileEffect::Restored(to_owned_text(path)),
        }
    }

    /// Maps the paths of the effect; `None` if one of them has no image.
    pub(crate) fn with_paths<'b>(
        self,
        path: impl Fn(Cow<'a, str>) -> Option<Cow<'b, str>>,
    ) -> Option<FileEffect<'b>> {
        Some(match self {
            Self::Wrote(it) => FileEffect::Wrote(path(it)?),
            Self::Edited(it) => FileEffect::Edited(path(it)?),
            Self::Deleted(it) => FileEffect::Deleted(path(it)?),
            Self::Moved { from, to } => FileEffect::Moved { from: path(from)?, to: path(to)? },
            Self::Restored(it) => FileEffect::Restored(path(it)?),
        })
    }
}

fn to_owned_text<'b>(text: Cow<'_, str>) -> Cow<'b, str> {
    Cow::Owned(text.into_owned())
}

/// A change to a git repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitEffect<'a> {
    /// Created a commit.
    Committed {
        /// The first line of the message, if the command contains it.
        message: Option<Cow<'a, str>>,
    },
    /// Replaced the last commit.
    Amended {
        /// The first line of the message, if the command contains it.
        message: Option<Cow<'a, str>>,
    },
    /// Sent commits to a remote.
    Pushed,
    /// Opened a pull request.
    Proposed,
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
    /// Checked out a branch or commit.
    CheckedOut(Cow<'a, str>),
    /// Created a branch, and checked it out if the command does so.
    Branched(Cow<'a, str>),
    /// Created a working copy in a folder.
    AddedWorktree(Cow<'a, str>),
    /// Deleted a branch.
    Unbranched(Cow<'a, str>),
    /// Stashed changes.
    Stashed,
    /// Restored stashed changes.
    Unstashed,
    /// Moved the branch to another commit.
    Reset {
        /// The files were reset too.
        hard: bool,
    },
    /// Created a tag.
    Tagged(Cow<'a, str>),
    /// Deleted untracked files.
    Cleaned,
    /// Continued the interrupted subcommand of this name.
    Continued(&'static str),
    /// Gave up the interrupted subcommand of this name.
    Aborted(&'static str),
}

impl GitEffect<'_> {
    /// Returns the effect with owned texts.
    pub(crate) fn into_owned<'b>(self) -> GitEffect<'b> {
        match self {
            Self::Committed { message } => GitEffect::Committed { message: message.map(to_owned_text) },
            Self::Amended { message } => GitEffect::Amended { message: message.map(to_owned_text) },
            Self::Merged(name) => GitEffect::Merged(to_owned_text(name)),
            Self::Picked(name) => GitEffect::Picked(to_owned_text(name)),
            Self::Reverted(name) => GitEffect::Reverted(to_owned_text(name)),
            Self::CheckedOut(name) => GitEffect::CheckedOut(to_owned_text(name)),
            Self::Branched(name) => GitEffect::Branched(to_owned_text(name)),
            Self::AddedWorktree(path) => GitEffect::AddedWorktree(to_owned_text(path)),
            Self::Unbranched(name) => GitEffect::Unbranched(to_owned_text(name)),
            Self::Tagged(name) => GitEffect::Tagged(to_owned_text(name)),
            Self::Pushed => GitEffect::Pushed,
            Self::Proposed => GitEffect::Proposed,
            Self::Pulled => GitEffect::Pulled,
            Self::Rebased => GitEffect::Rebased,
            Self::Stashed => GitEffect::Stashed,
            Self::Unstashed => GitEffect::Unstashed,
            Self::Reset { hard } => GitEffect::Reset { hard },
            Self::Cleaned => GitEffect::Cleaned,
            Self::Continued(name) => GitEffect::Continued(name),
            Self::Aborted(name) => GitEffect::Aborted(name),
        }
    }
}

/// The effects of a command, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects<'a> {
    /// Changes to files.
    pub files: Vec<FileEffect<'a>>,
    /// Changes to git repositories.
    pub git: Vec<GitEffect<'a>>,
}

/// Returns the last part of a path.
pub fn base_name(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}
