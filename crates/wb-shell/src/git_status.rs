//! The call of `git status` in a command, and the form of its output.

use super::command::Command;
use super::git;
use super::kind::{Role, name, program};
use super::lexer::{Joint, Step};
use super::options::{has, plain};

/// A call whose output shows the state of the working copy after the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusCall<'c> {
    /// The output has one short line for each file.
    pub is_short: bool,
    /// The folder of the working copy.
    pub folder: Option<&'c str>,
}

fn git_call<'s, 'a>(step: &'s Step<'a>) -> Option<git::Call<'s, 'a>> {
    let words = program(&step.words);
    git::call(words.get(1..)?).filter(|_| name(words) == "git")
}

impl Command<'_> {
    /// Returns whether the command calls git for more than to show something.
    pub fn changes_git(&self) -> bool {
        self.steps.iter().filter_map(git_call).any(|(_, sub, words)| !git::is_view(sub, words))
    }

    /// Returns the last call of `git status`, if its output is complete and no later step may
    /// change it.
    pub fn status_call(&self) -> Option<StatusCall<'_>> {
        let is_status = |step: &Step<'_>| git_call(step).is_some_and(|(_, sub, _)| sub == "status");
        let at = self.steps.iter().rposition(is_status)?;
        let (in_folder, _, words) = git_call(&self.steps[at])?;
        let is_filtered = self.steps.get(at + 1).is_some_and(|next| next.before == Joint::Pipe);
        let is_hidden = self.steps[at].targets.iter().any(|target| !target.file.text.starts_with("/dev/"));
        let is_partial = plain(words, &[]).next().is_some();
        let may_change = |(step, role): (&Step<'_>, Role)| {
            role == Role::Acts || git_call(step).is_some_and(|(_, sub, words)| !git::is_view(sub, words))
        };
        if is_filtered || is_hidden || is_partial || self.with_roles().skip(at + 1).any(may_change) {
            return None;
        }
        let is_short =
            words.iter().any(|word| word.text.starts_with("--porcelain")) || has(words, 's', "--short");
        let is_alone = || {
            let mut others = self.with_roles().enumerate().filter(|(nth, _)| *nth != at);
            others.all(|(_, (_, role))| role == Role::Quiet)
        };
        if is_short && !is_alone() {
            return None;
        }
        let changes_folder = |step: &&Step<'_>| matches!(name(program(&step.words)), "cd" | "pushd" | "popd");
        let moves: Vec<_> = self.steps[..at].iter().filter(changes_folder).collect();
        let folder = match (moves.as_slice(), in_folder) {
            ([], folder) => folder,
            ([step], None) => Some(step.words.get(1)?),
            _ => return None,
        };
        if folder.is_some_and(|folder| !folder.is_fixed) {
            return None;
        }
        let folder = folder.map(|folder| folder.text.as_ref());
        Some(StatusCall { is_short, folder })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_counts_if_it_is_complete_and_final() {
        let check = |command: &str, expected: Option<(bool, Option<&str>)>| {
            let command = Command::parse(command);
            let found = command.status_call().map(|call| (call.is_short, call.folder));
            assert_eq!(found, expected, "{}", command.text);
        };
        check("git status", Some((false, None)));
        check("git status 2>&1", Some((false, None)));
        check("git commit -m x && git status && git log -3 --oneline", Some((false, None)));
        check("cd /repo && git add -A && git status -sb", Some((true, Some("/repo"))));
        check("git -C sub status --porcelain", Some((true, Some("sub"))));
        for other in [
            "git log",
            "git status | head -5",
            "git status -s > list.txt",
            "git status -s src",
            "git status && git add -A",
            "git status; make",
            "git diff && git status -s",
            "cd a && cd b && git status",
            "cd $D && git status",
        ] {
            check(other, None);
        }
    }

    #[test]
    fn git_changes_something_unless_it_only_shows() {
        let changes = |command| Command::parse(command).changes_git();
        assert!(
            changes("git add a.rs") && changes("ls && git fetch") && !changes("git status; git diff; make")
        );
    }
}
