//! Which message showed a file, the output of a command or the state of something, so that its lines are forgotten once
//! they do not hold any more.

use serde::{Deserialize, Serialize};

use super::files::{is_below, is_same_file};
use super::ledger::Deed;

/// Messages that are known, the newest ones.
const MOST_SOURCES: usize = 256;

/// What a message showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Shown {
    /// The output of a command, by what it is known by when it is run again.
    Command(u64),
    /// A file.
    File(String),
    /// What stands in a working copy: changed files, branches, what is stashed.
    WorkingCopy,
    /// How checks of these kinds failed.
    Failed(Vec<Deed>),
}

impl Shown {
    /// Tells of a file, or of one below a folder.
    pub(super) fn is_of(&self, path: &str) -> bool {
        matches!(self, Self::File(known) if is_same_file(known, path) || is_below(known, path))
    }

    /// Tells of failures that these kinds of checks would have shown again.
    pub(super) fn failed_in(&self, checks: &[Deed]) -> bool {
        matches!(self, Self::Failed(kinds) if kinds.iter().all(|kind| checks.contains(kind)))
    }
}

/// The messages that showed something, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Sources {
    kept: Vec<(Shown, u32)>,
}

impl Sources {
    /// Notes that a message showed something.
    pub(super) fn push(&mut self, shown: Shown, at: u32) {
        if self.kept.len() == MOST_SOURCES {
            self.kept.remove(0);
        }
        self.kept.push((shown, at));
    }

    /// Returns the messages that showed such a thing.
    pub(super) fn of<'s>(&'s self, is_such: impl Fn(&Shown) -> bool + 's) -> impl Iterator<Item = u32> + 's {
        self.kept.iter().filter(move |(shown, _)| is_such(shown)).map(|(_, at)| *at)
    }

    /// Takes out the messages that showed such a thing.
    pub(super) fn take(&mut self, is_such: impl Fn(&Shown) -> bool) -> Vec<u32> {
        let mut gone = Vec::new();
        self.kept.retain(|(shown, at)| {
            let goes = is_such(shown);
            gone.extend(goes.then_some(*at));
            !goes
        });
        gone
    }
}

/// Tells whether a command shows what stands in a working copy.
pub(super) fn shows_working_copy(command: &str) -> bool {
    const VIEWS: [&str; 4] = ["git status", "git stash list", "git branch", "--diff-filter"];
    const LISTS: [&str; 3] = ["--stat", "--name-only", "--name-status"];
    let lists_changes = || command.contains("git diff") && !command.contains("..");
    VIEWS.iter().any(|view| command.contains(view))
        || (lists_changes() && LISTS.iter().any(|list| command.contains(list)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_message_showed_is_found_by_file_folder_and_kind_of_check() {
        let mut sources = Sources::default();
        sources.push(Shown::File("/repo/src/tui/a.rs".to_owned()), 1);
        sources.push(Shown::File("/repo/src/b.rs".to_owned()), 2);
        sources.push(Shown::Failed(vec![Deed::Build]), 3);
        assert_eq!(sources.take(|shown| shown.is_of("src/tui")), [1]);
        assert_eq!(sources.take(|shown| shown.is_of("src/b.rs")), [2]);
        assert!(sources.take(|shown| shown.failed_in(&[Deed::Tests])).is_empty());
        assert_eq!(sources.take(|shown| shown.failed_in(&[Deed::Tests, Deed::Build])), [3]);
    }

    #[test]
    fn a_list_of_changes_is_no_comparison_of_two_commits() {
        for (command, expected) in [
            ("cd a && git status -s", true),
            ("git diff --name-only --diff-filter=U", true),
            ("git diff --stat", true),
            ("git diff main...HEAD --stat", false),
            ("git log --oneline -5", false),
        ] {
            assert_eq!(shows_working_copy(command), expected, "{command}");
        }
    }
}
